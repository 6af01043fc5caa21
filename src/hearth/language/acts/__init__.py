"""The acts of a request: whether it can be read, the parts that each ask for one thing, what it forbids.

In: a request's text. Out: a refusal with its reason, clauses, negations.
Here: `admissibility` (empty, too long, no text, not English; what no tool serves), `clauses` (cuts, forms without
values, what is forbidden), `questions` (what is asked, of whom, and what is asked for without a question), `deeds_said`
(what the words settle about a deed).
Not here: values inside the clauses (`language.values`), the tools they ask for (`planning`).
"""
