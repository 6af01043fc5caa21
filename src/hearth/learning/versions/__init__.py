"""Versions of what was learnt: each knows its demonstrations, its parent and its scores.

In: what plans now, and with what is new. Out: a verdict, a promotion or the old version kept.
Here: `lineage` (the versions), `promotion_gate` (no task worse, some use), `rehearsal` (what the gate judges by),
`version_report`, `learning_curve`. Not here: adapters of language models (`learning.llm`).
"""
