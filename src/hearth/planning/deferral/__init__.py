"""Deferral: which planner answers, and when the teacher is asked.

In: answers of the device's planners with their confidence. Out: one answer; comparisons with the teacher, on record.
Here: `cascade` (planners in turn), `thresholds` (how sure is sure enough, learnt), `agreement_log` (what it is learnt
from).
Not here: the planners and teachers themselves (`planning`, `edge.cloud_teacher`, `models.llm`).
"""
