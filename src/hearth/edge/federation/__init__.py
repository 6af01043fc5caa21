"""The edge's part in statistics that many edges sum.

In: a home's demonstrations, masked. Out: rows of sums, hidden in a secret round or given plainly.
Here: `contribution` (which sums, on whose terms), `secure_aggregation` (masks that cancel in the total; the service
uses its arithmetic, too).
Not here: the sums' contents (`planning.ranking.statistics`), rounds and merging (`hearth_cloud.statistics`).
"""
