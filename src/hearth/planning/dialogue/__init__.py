"""Dialogue: what becomes of a plan by the words of its request, and where these go when no tool serves them.

In: an utterance, a planner's answer. Out: the answer amended, a question, a plan for memory or the cloud.
Here: `amendments` (what a plan does against its request's words; each of several, what is written to somebody, a
reminder, further recipients; asks for missing values, and which of two that were said), `fallbacks` (what no tool
serves as it was read: the owner's things, home video, general knowledge, what else it may mean), `answer_steps` (a
question to the owner's things as a step of a plan, their dates for reminders and events), `kept_answers` (their values
in notes and on lists).
Not here: what a request means after the one before (`language.discourse`), the words of an answer
(`execution.results`), the tool that asks the cloud (`edge.ask_cloud`).
"""
