"""English as owners write it: times, numbers, units, names, addresses and clauses, read without training.

`language.values.slots` is the door: what it finds is what the rest of planning sees. One reading for one text: the same
words, time and context give the same values.
"""
