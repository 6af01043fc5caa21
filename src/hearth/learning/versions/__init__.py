"""Versions of what was learnt: each knows its demonstrations, its parent and its scores.

In: what plans now, and with what is new. Out: a verdict, a promotion or the old version kept.
Here: `learned_state` (the versions on disk, their lineage and curve), `promotion_gate` (no task worse, some use; what
it judges by, and the report of a version), `drafting` (the ranker, solved when it is asked for).
Not here: adapters of language models (`learning.finetune`).
"""
