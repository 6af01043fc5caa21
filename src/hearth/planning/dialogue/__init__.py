"""Dialogue: what becomes of a plan by the words of its request, and where these go when no tool serves them.

In: an utterance, a planner's answer. Out: the answer amended, a question, a plan for memory or the cloud.
Here: `clarification` (asks for missing values, and which of two that were said), `amendments` (to a plan, by its
request's words), `fallbacks` (what no tool serves).
Not here: what a request means after the one before (`language.discourse`), the words of an answer (`execution.answer`),
the tool that asks the cloud (`edge.answers.ask_cloud`).
"""
