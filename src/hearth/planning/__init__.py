"""Planning: a request becomes a checked plan, or an honest refusal.

In: a request, what may be seen of the owner's world, the tools' descriptions; never contents. Out: a plan or a
refusal.
Here: `plan_drafting` (plans for files of requests), `warm_start` (fits a student to a prior); rooms
`retrieval` (the home's planner), `adaptation`, `ranking`, `arguments`, `llm`, `deferral` (who is asked, when it is
sure), `dialogue`.
Not here: permission (`guard`), running (`execution`), learning's loop and gate (`learning`).
"""
