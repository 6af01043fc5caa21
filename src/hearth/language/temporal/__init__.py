"""Reads time expressions in requests: dates, clock times, durations, repeats and tenses, without training.

Callers use `language.values.slots`: what it finds is what the rest of planning sees. Reading is deterministic: the same
words, time and context give the same values.
"""
