"""Questions about the owner's things: what the passages that speak to them answer, what is worked out over records.

In: a question, passages, records. Out: an answer with its type, the words it stands on, and how likely it is.
Here: `answer_reading` (what one passage says: the trained reader and its calibration, whose value a line is, who a
pronoun means), `answer_telling` (sources that repeat or disagree, whole lists, whose card is meant), `table_programs`
and `table_answers` (what is asked of a table, learnt), `grouped_sums` (by buyer, by month), `record_answers` (clashes,
sums, counts, ages, the last and next of events), `asking_mails` (what a mail asks for, whose turn it is),
`later_mails` (a mail by which an event has moved),
`price_comparisons` (which offer is cheaper); room
`reckoning` (operations over typed records).
Not here: how files become passages (`memory.search`), what is held true or was said (`memory.answers`).
"""
