"""Learning from plans that were right, reversibly: nothing plans before it has passed the gate.

In: finished requests, corrections, a teacher's plans. Out: versions, skills, receipts of forgetting.
Here: `demonstration_store`, `corrections` (the owner's word, a teacher's within a budget, requests that stood, what a
stranger may have had a hand in), `stream` (the loop over finished requests), `skills` (recurring tasks), `unlearning`
(forgetting for good, all stores asked) with `taught_holder` (what was made of demonstrations goes with them); rooms
`versions` (what was learnt, and the gate) and `finetune` (training with torch).
Not here: what plans (`planning.retrieval`), the ranker's mathematics (`planning.ranking`), the teacher's network.
"""
