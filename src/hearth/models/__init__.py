"""Models that turn text into vectors or into more text. Nothing is imported here, so that a start pays only for what it
uses."""

import os

# onnxruntime (1.31, for one) counts its use and sends that to its maker, from C code that the network guard
# cannot see. It reads this once, when it is loaded; every module that loads it lies below this package.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
