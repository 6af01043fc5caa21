"""Ranking: the ranker, solved rather than trained, that ranks tool sequences for a request.

In: demonstrations, then a request. Out: candidates with probabilities, and how sure they are.
Here: `ranker` (learn, forget, rank; on disk), `features` (with what it was taught, its neighbours, candidates and their
evidence), `weight_fitting` (weights by held-out evidence, the choice of least risk, tools not seen),
`sufficient_statistics` (exact sums that add and subtract, as objects, bytes, one row, or a prior's file).
Not here: arguments (`planning.arguments`), versions and gate (`learning.versions`).
"""
