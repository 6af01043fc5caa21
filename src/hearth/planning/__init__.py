"""Planning: a request becomes a checked plan, or an honest refusal.

In: a request, what may be seen of the owner's world, the tools' descriptions; never contents. Out: a plan or a
refusal.
Here: `learned_planner` (the student), `stored_planner` (a home's student, loaded when needed), `plan_drafting`,
`out_of_scope` (requests of no taught task), `warm_start` (fits a student to a prior); rooms `retrieval`, `adaptation`,
`ranking`, `arguments`, `llm` (ways to a plan), `deferral` (who is asked, when it is sure), `dialogue` (around it).
Not here: permission (`guard`), running (`execution`), learning's loop and gate (`learning`).
"""
