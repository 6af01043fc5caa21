"""Training with torch, on the device: a second tier, and adapters of a local language model.

In: demonstrations, perhaps a local model. Out: a model file or an adapter that the gate lets in, facts that are
proposed.
Here: `second_tier` (train and use in a state), `lessons` (what is trained on, synthetic requests too),
`pointer_training` (network and losses), `adapters` (samples, training, versions, one file of them to offer or take),
`llm_fact_extraction` (facts by a model, checked against the text).
Needs the extra `train`, adapters `hf`. Not here: running what was trained (`models.pointer`, `models.llm`).
"""
