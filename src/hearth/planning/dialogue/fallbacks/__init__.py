"""Fallbacks for a request that no tool serves as it was read.

Here: `memory_fallback` (the owner's things), `answer_steps` (a question to them as a step of a plan),
`dated_reminders` (their dates for reminders),
`footage_questions` (home video), `cloud_fallback` (general knowledge), `other_readings` (what else it may mean).
"""
