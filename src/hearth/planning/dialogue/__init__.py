"""Dialogue: what becomes of a plan by the words of its request, and where these go when no tool serves them.

In: an utterance, a planner's answer. Out: the answer amended, a question, a plan for memory or the cloud.
Here: `clarification` (asks for missing values, and which of two that were said); amendments to a plan, by its request's
words: `contradictions` (what it does against them; a question changes nothing), `amended_steps` (each of several, what
is written to somebody, a reminder, further recipients); what no tool serves as it was read: `memory_fallback` (the
owner's things), `answer_steps` (a question to them as a step of a plan), `dated_reminders` (their dates for reminders),
`outside_questions` (home video, general knowledge), `other_readings` (what else it may mean).
Not here: what a request means after the one before (`language.discourse`), the words of an answer (`execution.answer`),
the tool that asks the cloud (`edge.answers.ask_cloud`).
"""
