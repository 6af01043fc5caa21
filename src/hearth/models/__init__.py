"""Models: texts in, vectors, spans, tags or more text out. Nothing is imported here: a start pays for what it uses.

In: texts and shipped weights. Out: numbers; no decision is taken here.
Here: `ner` (names), `injection_classifier` (instructions in data), `span_extractor` (arguments of a call), `pointer`
and `pointer_graph` (tier two), `ridge` (heads solved in closed form), `random_features` (units), `quantize`; rooms
`encoder` (the sentence encoder) and `llm` (language models).
Not here: training (`learning.finetune`, `training/`), experts for video and sound (`hearth-video`).
"""

import os

# onnxruntime (1.31, for one) counts its use and sends that to its maker, from C code that the network guard
# cannot see. It reads this once, when it is loaded; every module that loads it lies below this package.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
