"""Dialogue: what a request means beside the one before, and where it goes when no tool serves it.

In: a request, the last episodes, a planner's answer. Out: a complete request, a question, a plan for memory or cloud.
Here: `plain_request` (said plainly), `coreference` ("same for tomorrow", "the second one"), `relative_anchors`,
`relative_levels`, `event_leads` (counted from something else), `clarification`, `question_answers` (missing values),
`several_devices`, `several_days` (each of several), `told_text`, `told_filters` (what is written to somebody),
`asked_states`, `contradictions` (what a plan does against its request's words), `other_readings`, `memory_fallback`,
`answer_steps`, `cloud_fallback`, `footage_questions` (what no tool serves).
Not here: the words of an answer (`execution.answer`), the tool that asks the cloud (`edge.answers`).
"""
