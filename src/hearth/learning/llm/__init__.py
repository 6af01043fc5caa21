"""Language students: adapters of a local language model, learnt from the home's demonstrations.

In: demonstrations, a local model. Out: versions of an adapter, and facts that a model proposes.
Here: `distillation` (samples and training), `adapter_versions` (and one file of them to offer or take),
`llm_fact_extraction` (facts, checked against the text).
Needs the extra `hf`. Not here: running language models (`models.llm`).
"""
