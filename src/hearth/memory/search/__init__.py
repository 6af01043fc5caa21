"""Search: the events that may answer a question, best first.

In: a question as words, vector, people and times. Out: ranked events.
Here: `memory_index` (events as arrays, scanned exactly), `terms` (features of words), `memory_ranking` (all signs
weighed), `time_mentions` (the periods that a question names), `reranking` (word by word, in context), `supersession`
(whether a later statement replaces an earlier one), `word_forms` (words compared by their beginnings).
Not here: the answer's words (`memory.answers`), what is kept and how long (`memory.retention`).
"""
