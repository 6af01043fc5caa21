"""Planners that Hearth is compared with, and that plan nothing at home.

In: demonstrations and requests. Out: plans or refusals.
Here: `student_planner` (tool sequences ranked by the student, arguments by the reader of calls), `task_scope` (which
requests are of no taught task).
Not here: the planner of a home (`hearth.planning.retrieval`), and the student itself (`hearth.planning.ranking`).
"""
