"""Memory: what happened (events) and what is held true (facts), with source and time.

In: requests, imports, readings of sensors. Out: events and facts found, answers, what is to be forgotten.
Here: `event_memory` (events by words, meaning, people, time), `forgetting` (finds what is meant, with all that rests on
it, here and in the other stores that forget), `retention` (summaries within a budget), `maintenance` (a moment
after each request), `routines` (habits proposed as facts); rooms `search`, `facts`, `answers`, `passages` (everything
in the owner's folder), `inquiry` (questions about it), `transfer`.
Not here: tools that ask it (`tools.memory`), forgetting across all stores (`learning.unlearning`).
"""
