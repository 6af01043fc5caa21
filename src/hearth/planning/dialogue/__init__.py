"""Dialogue: what a request means beside the one before, and where it goes when no tool serves it.

In: a request, the last episodes, a planner's refusal. Out: a complete request, a question, a plan for memory or cloud.
Here: `coreference` ("same for tomorrow", "the second one"), `relative_anchors` ("an hour before that"),
`clarification` (asks for missing values),
`memory_fallback` (requests about the owner), `answer_steps` (a step that finds the value to send),
`cloud_fallback` (general knowledge), `footage_questions` (how an answer about home video is put together).
Not here: the words of an answer (`execution.answer`), the tool that asks the cloud (`edge.answers`).
"""
