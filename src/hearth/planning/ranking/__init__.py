"""Ranking: the student, solved rather than trained, that ranks tool sequences for a request.

In: demonstrations, then a request. Out: candidates with probabilities, and how sure they are.
Here: `ranker` (learn, forget, rank), `features`, `examples` (what it was taught), `neighbours`, `candidates`,
`evidence_features`, `unseen_tools`, `leave_out` (held-out evidence), `logistic` (weights), `ranker_file` (on disk),
`ranker_options`; rooms `heads` (which tool is meant, by what people said), `calibration` and `statistics`.
Not here: arguments (`planning.arguments`), versions and gate (`learning.versions`).
"""
