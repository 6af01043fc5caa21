"""The acts of a request: whether it can be read, the parts that each ask for one thing, what it forbids.

In: a request's text. Out: a refusal with its reason, clauses, negations.
Here: `admissibility` (empty, too long, no text, not English), `clauses` (cuts, and forms without values), `negation`,
`beyond_tools` (feelings, programs to be written, deeds that come again), `questions` (what is asked, of whom, and what
is asked for without a question), `deeds_said` (what the words settle about a deed).
Not here: values inside the clauses (`language.values`), the tools they ask for (`planning`).
"""
