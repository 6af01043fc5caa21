"""Data that ship with Hearth: demonstrations, weights and their cards; no code.

In: nothing at run time; `training/` and fits of `hearth-bench` write these files. Out: files, read as resources.
Here: `demonstrations.jsonl` (what planning knows on the first day), weights of the detector of injections, the reader
of arguments and the tagger of names, weights of recall and of answers, and a README that says how each was made.
Not here: the sentence encoder (an installed package), weights of video (`hearth-video`), data sets (`hearth-bench`).
"""
