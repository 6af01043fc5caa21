"""English as owners write it: texts in, typed values with their places out. Nothing here is trained or stored.

In: a text, the time, the names that the owner knows. Out: tokens, clauses, spans, dates, numbers, names.
Here: rooms `text` (words and spans), `acts` (may it be read, its parts, its "not"), `values` (numbers, names,
identifiers, all slots of a request), `temporal` (dates, times, durations, repeats).
Not here: which tool is meant (`planning`), personal data to hide (`guard.deidentify`), facts (`memory.facts`).
"""
