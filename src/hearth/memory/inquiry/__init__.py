"""Questions about the owner's things: what the passages that speak to them answer, what is worked out over records.

In: a question, passages, records. Out: an answer with its type, the words it stands on, and how likely it is.
Here: `home_answers` (one question from end to end), `reading` (what one passage says: the trained reader and its
calibration, whose value a line is, who a pronoun means), `two_questions`, `joint_amounts`, `table_sums`,
`answer_telling` (sources that repeat or disagree), `record_answers` (clashes, sums, counts, who waits),
`date_answers` (ages, days until, the last and next of events), `summaries` (texts, days and weeks),
`asking_sentences` (what a mail asks for), `table_counts`, `money`.
Not here: how files become passages (`passages`), what is held true or was said (`answers`).
"""
