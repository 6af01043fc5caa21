"""Planning by a language model, local or remote.

In: a request, tools and examples, in a prompt. Out: a checked plan or a refusal.
Here: `json_planner` (any model, by a JSON schema), `line_planner` (one short line, for small models that were taught),
`self_consistency` (as sure as its answers agree).
Not here: running the model (`models.llm`), masking its input (`guard.egress.masking_door`), training
(`learning.llm`).
"""
