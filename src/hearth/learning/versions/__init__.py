"""Versions of what was learnt: each knows its demonstrations, its parent and its scores.

In: what plans now, and with what is new. Out: a verdict, a promotion or the old version kept.
Here: `lineage` (the versions and their curve), `promotion_gate` (no task worse, some use; what it judges by, and the
report of a version). Not here: adapters of language models (`learning.llm`).
"""
