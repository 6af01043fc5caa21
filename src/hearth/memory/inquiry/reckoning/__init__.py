"""Answers that are reckoned from the owner's records by one operation over typed rows: spans of time, ages, counts of
times, filters and orders, prices times numbers.

In: a question and the records. Out: an answer with the records that it was reckoned from, or nothing.
Here: `dated_things` (what has a time, and which of it words mean), `moments` (the moment that words mean), `time_spans`
(differences, ages, lengths), `repeated_times` (the next of a series, how often, all together), `record_lists` (filter,
sort, count and group), `stated_amounts` (numbers times prices, sums, shares, percentages).
Not here: questions whose answer stands in one place (`reading`).
"""
