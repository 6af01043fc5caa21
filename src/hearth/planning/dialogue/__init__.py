"""Dialogue: what a request means beside the one before, and where it goes when no tool serves it.

In: a request, the last episodes, a planner's answer. Out: a complete request, a question, a plan for memory or cloud.
Here: `plain_request` (said plainly), `questions` (asked, and their answers), `references` (to what was said before, or
counted from something else), `amendments` (to a plan, by its request's words), `fallbacks` (what no tool serves).
Not here: the words of an answer (`execution.answer`), the tool that asks the cloud (`edge.answers.ask_cloud`).
"""
