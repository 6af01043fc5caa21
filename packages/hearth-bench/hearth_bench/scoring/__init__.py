"""Scoring: predicted plans in files beside right ones.

In: predictions, truths, a record of costs. Out: every metric of plans, in three groups.
Here: `plan_scoring` (the file as a whole), `sample_answers` (JSON in whatever a model wraps around it),
`system_metrics` (latency, tokens, bytes sent, leaks, energy), `home_records` and `outcome_judge` (what became of a
request in a home).
Not here: the formulas (`metrics`), the planning that is scored (`suites`, `ianvs`).
"""
