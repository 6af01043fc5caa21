"""Execution: runs an allowed plan and writes the answer.

In: a plan, its ruling, the monitor that makes each call. Out: results on record, and an answer that rests on them.
Here: `executor` (steps side by side, recorded before and after; a late call changes no file; reads ahead while a
teacher is asked, before the owner is, and to tell what of a plan is there), `results` (values for later steps, does a
result fit, the words of the answer), `repair` (plans the rest anew after a failure).
Not here: permission (`guard`), planning, the files' journal (`storage.workspace`).
"""
