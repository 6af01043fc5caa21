"""Answers that are reckoned from the owner's records by one operation over typed rows: spans of time, ages, counts of
times, filters and orders, prices times numbers.

In: a question and the records. Out: an answer with the records that it was reckoned from, or nothing.
Here: `dated_things` (what has a time, and which of it, or which moment, words mean), `time_spans` (differences, ages,
ends, the next of a series, how often, how long together), `record_lists` (filter, sort, count and group; which of all
is tried first), `amount_steps` (amounts in texts; numbers times prices, sums, differences, shares).
Not here: questions whose answer stands in one place (`memory.inquiry.answer_reading`).
"""
