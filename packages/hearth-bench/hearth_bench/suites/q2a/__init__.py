"""Q2A: instructions of invented owners with homes of their own, planned and judged by what becomes of the home.

In: owners, their streams and held-out instructions. Out: one document of flat results.
Here: `q2a_suite` (an owner's weeks), `q2a_users` (many owners side by side), `few_shot_suite` (a language model that is
shown a few examples).
Not here: the instructions (`data.q2a_instructions`), the homes (`data.q2a_homes`).
"""
