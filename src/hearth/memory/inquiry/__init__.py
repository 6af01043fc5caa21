"""Questions about the owner's things: what the passages that speak to them answer, what is worked out over records.

In: a question, passages, records. Out: an answer with its type, the words it stands on, and how likely it is.
Here: `home_answers` (one question from end to end), `reading` (what one passage says: the trained reader and its
calibration, whose value a line is, who a pronoun means), `people_meant` (whose card is meant, over two records where
one does not say it), `amounts` (prices together, changes), `table_programs` and
`table_answers` (what is asked of a table, learnt), `reckoning` (operations over typed records),
`answer_telling` (sources that repeat or disagree, whole lists), `record_answers` (clashes, sums, counts, who waits),
`date_answers` (ages, the last and next of events), `summaries` (texts, days and weeks), `asking_sentences` (what a mail
asks for), `awaited_mails` (whose turn it is), `money`.
Not here: how files become passages (`passages`), what is held true or was said (`answers`).
"""
