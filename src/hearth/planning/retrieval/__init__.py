"""Retrieval: the nearest demonstrations vote for a plan.

In: a request and all demonstrations. Out: their plan with the request's own values, or a question.
Here: `recall_planner` (the planner), `episodic_index` (what is searched, and how like it is), `voting` (which ways
there are, and how the evidence for each is weighed; tools by their own examples), `plan_assembly` (one plan from
clauses), `taught_sequences` (which tools that a home alone knows go together).
Not here: filling arguments (`planning.arguments`), plans said again (`planning.repeat_planner`).
"""
