"""Statistics of many edges become one signed prior per device profile.

In: edges' sums, plain or in secret rounds. Out: priors, signed and numbered; contributions that were refused.
Here: `statistics_desk` (takes, judges, publishes), `aggregation_rounds` (secret sums), `robust_merge` (outliers,
noise), `shipped_statistics`, `artifacts` (offers with manifests), `signing`.
Not here: the sums' arithmetic (`hearth.planning.ranking.sufficient_statistics`), the edge's part
(`hearth.edge.federation`).
"""
