"""Versions of what was learnt: each knows its demonstrations, its parent and its scores.

In: a newly learnt student and the one that plans now. Out: a verdict, a promotion or the old version kept.
Here: `lineage` (the versions), `promotion_gate` (no task worse, some use), `version_report`, `learning_curve`.
Not here: files of a version (`learning.learned_state`), adapters of language models (`learning.llm`).
"""
