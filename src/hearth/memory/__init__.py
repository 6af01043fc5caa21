"""Memory: what happened (events) and what is held true (facts), with source and time.

In: requests, imports, readings of sensors. Out: events and facts found, answers, what is to be forgotten.
Here: `event_memory` (events by words, meaning, people, time; habits proposed as facts), `facts` (kept with source and
validity, a closed vocabulary of relations), `fact_extraction` (reads them from the owner's words, checks a model's),
`forgetting` (finds what is meant, with all that rests on it, here and in the other stores that forget; summaries within
a budget); rooms `search` (events, and everything in the owner's folder), `answers`, `inquiry` (questions about the
owner's things), `transfer`.
Not here: tools that ask it (`tools.memory`), forgetting across all stores (`learning.unlearning`).
"""
