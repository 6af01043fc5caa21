"""English as owners write it: texts in, typed values with their places out. Nothing here is trained or stored.

In: a request, the names that the owner knows. Out: an `Utterance`: the request with its words mended, and what is found
in it (tokens, names, values, acts), each found once.
Here: `reading` (`read` makes the utterance that is carried along: may it be read, what is asked, what the words settle
about a deed), `tokens` (words and spans, the same word, the same name), `thesaurus` (everyday words to concepts, words
typed wrongly), `clauses` (cuts, what is forbidden), `request_sketch` (words as numbers, for the learnt readers); rooms
`values` (numbers, names, identifiers, all slots of a request), `temporal` (dates, times, durations, repeats),
`discourse` (corrections, references to what was said before, what is told to somebody).
Not here: which tool is meant (`planning`), personal data to hide (`guard.deidentify`), facts (`memory.facts`).
"""
