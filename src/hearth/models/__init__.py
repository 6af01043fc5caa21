"""Models: texts in, vectors, spans, tags or more text out. Nothing is imported here: a start pays for what it uses.

In: texts and shipped weights. Out: numbers; no decision is taken here.
Here: `sentence_encoder` (all-MiniLM-L6-v2 without torch, its verified weights and a faster graph), `lora_encoder` (with
an adapter merged in), `transformer_layers` (the published layers as arrays), `ner` (names), `injection_classifier`
(instructions in data), `intent_classifier`, `span_extractor` (arguments of a call), `pointer` and `pointer_graph` (tier
two), `ridge` (heads solved in closed form); room `llm` (language models).
Not here: training (`learning.finetune`, `training/`), experts for video and sound (`hearth-video`).
"""

import os

# onnxruntime (1.31, for one) counts its use and sends that to its maker, from C code that the network guard
# cannot see. It reads this once, when it is loaded; every module that loads it lies below this package.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
