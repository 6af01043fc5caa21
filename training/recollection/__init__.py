"""What memory learnt before it came home: which statements replace others, what questions for advice have in common.

In: written pairs of statements, public questions. Out: `hearth/data/supersession.json`, `advice_vector.json`.
Here: `supersession_train`, `advice_vector_make`.
"""
