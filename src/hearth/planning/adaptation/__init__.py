"""Plans made from a plan that was right before: the owner's own words, and requests made again.

In: a request and demonstrations like it. Out: their plan, with times moved and values exchanged.
Here: `owner_macros` with `macro_phrases` and `macro_meanings` ("goodnight", once taught), `repeat_planner` and
`case_adaptation` (nearly the same words again), `templates` (what of a plan varies), `word_alignment`.
Not here: voting among many neighbours (`planning.retrieval`), filling arguments of unlike requests (`arguments`).
"""
