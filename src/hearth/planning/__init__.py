"""Planning: a request becomes a checked plan, or an honest refusal.

In: a request, what may be seen of the owner's world, the tools' descriptions; never contents. Out: a plan or a refusal.
Here: `deferral` (who is asked, when it is sure), `tool_heads` (which tool is meant, by what people said),
`owner_macros` ("goodnight", once taught), `repeat_planner` (nearly the same words again), `adaptation` (what was taught
with another request's values), `llm` (by a language model), `plan_drafting` (plans for files of requests); rooms
`retrieval` (the home's planner), `ranking`, `arguments`, `dialogue`.
Not here: permission (`guard`), running (`execution`), learning's loop and gate (`learning`).
"""
