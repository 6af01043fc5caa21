"""Statistics: what a student is made of, as exact sums that add and subtract.

In: demonstrations. Out: sums in whole numbers, as objects, bytes, one row, or a prior's file.
Here: `sufficient_statistics`, `statistics_codec` (bytes), `vector_layout` (one row, agreed by many), `prior_file`.
Not here: giving them away (`edge.federation`), merging many (`hearth_cloud.statistics`).
"""
