"""Learning from plans that were right, reversibly: nothing plans before it has passed the gate.

In: finished requests, corrections, a teacher's plans. Out: versions, skills, receipts of forgetting.
Here: `demonstration_store`, `corrections` (the owner's word, requests that stood, what a stranger may have had a hand
in), `teacher` (who says which plan is right, within a budget), `stream` (the loop over finished requests),
`learned_state` (versions through the gate), `tasks` (clusters), `skills` (recurring tasks), `drafting` (the student,
solved when it is asked for), `tier_files`, `unlearning` (forgetting for good, all stores asked); rooms `versions`
(lineage and gate), `finetune` and `llm` (training with torch).
Not here: what plans (`planning.retrieval`), the student's mathematics (`planning.ranking`), the teacher's network.
"""
