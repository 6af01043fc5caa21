"""Teaching: where demonstrations come from, and which may count.

In: finished requests, the owner's corrections, teachers' plans. Out: entries of the demonstration store.
Here: `corrections` (the owner's word), `harvest` (requests that stood), `teacher` (who says which plan is right,
within a budget), `quarantine` (what a stranger may have had a hand in).
Not here: keeping (`learning.demonstration_store`), learning from them (`learning.stream`).
"""
