"""The sentence encoder all-MiniLM-L6-v2, run by onnxruntime without torch.

In: texts. Out: vectors of 384 numbers, or the contextual states of their tokens.
Here: `sentence_encoder` (what others use), `minilm` (the verified weights), `int8_graph` (a faster graph),
`lora_encoder` (with an adapter merged in), `transformer_layers` (the published layers as arrays), `onnx_session` (the
import of onnxruntime).
Not here: heads and readers on top of it (`hearth.models`), its fine-tuning (`learning.finetune`).
"""
