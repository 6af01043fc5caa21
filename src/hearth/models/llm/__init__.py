"""Language models: at an endpoint, or on this machine.

In: messages, perhaps with a JSON schema. Out: a completion, or several.
Here: `openai_endpoint` (opens the one that `hearth.toml` names, too), `local_models` (extras `hf` and `gguf`),
`scripted` (prepared replies).
Not here: prompts (`planning.llm`, `learning.finetune`), the mask of a remote one (`guard.egress.masking_door`).
"""
