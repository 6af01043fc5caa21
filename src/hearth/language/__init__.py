"""English as owners write it: texts in, typed values with their places out. Nothing here is trained or stored.

In: a request, the names that the owner knows. Out: an `Utterance`: the request with its words mended, and what is found
in it (tokens, names, values, acts), each found once.
Here: `reading` (`read` makes the utterance that is carried along); rooms `text` (words and spans), `acts` (may it be
read, its parts, its "not"), `values` (numbers, names, identifiers, all slots of a request), `temporal` (dates, times,
durations, repeats), `discourse` (corrections, references to what was said before, what is told to somebody).
Not here: which tool is meant (`planning`), personal data to hide (`guard.deidentify`), facts (`memory.facts`).
"""
