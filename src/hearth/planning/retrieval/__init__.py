"""Retrieval: the nearest demonstrations vote for a plan.

In: a request and all demonstrations. Out: their plan with the request's own values, or a question.
Here: `recall_planner` (the planner), `episodic_index` and `tool_index` (what is searched), `similarity`, `voting`,
`plan_assembly` (one plan from clauses), `option_odds` (how evidence is weighed), `taught_sequences` (which tools that a
home alone knows go together).
Not here: filling arguments (`planning.arguments`), plans said again (`planning.adaptation`).
"""
