"""Answers that are reckoned from the owner's records by one operation over typed rows: spans of time, ages, counts of
times, filters and orders, prices times numbers.

In: a question and the records. Out: an answer with the records that it was reckoned from, or nothing.
Here: `dated_things` (what has a time, and which of it words mean), `meant_moments` (the moment words mean),
`time_spans` (differences, ages, ends), `repeated_times` (the next of a series, how often, how long together),
`record_lists` (filter, sort, count and group), `stated_amounts` (amounts in texts, and which of them words mean),
`amount_steps` (numbers times prices, sums, differences, shares).
Not here: questions whose answer stands in one place (`reading`).
"""
