"""Measurements of memory: answers, facts, imports, years of use.

In: conversations, questions, simulated events. Out: recall, precision, seconds and bytes.
Here: `memory_questions`, `memory_at_scale` (and its fits), `answer_fitting`, `fact_precision`, `import_cost`,
`memory_years`, `passage_weights` (fits what weighs passages).
Not here: measurements that users run (`suites.recall_suite`, `suites.answers_suite`).
"""
