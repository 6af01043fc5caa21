"""Language models: at an endpoint, or on this machine.

In: messages, perhaps with a JSON schema. Out: a completion, or several.
Here: `from_settings` (opens the one that `hearth.toml` names), `openai_endpoint`, `huggingface` (extra `hf`),
`llamacpp` (extra `gguf`), `scripted` (prepared replies).
Not here: prompts (`planning.llm`, `learning.llm`), the mask of a remote one (`guard.egress.masking_door`).
"""
