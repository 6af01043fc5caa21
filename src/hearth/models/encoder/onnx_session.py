"""Import onnxruntime, or say how to get it: some platforms have no wheel of it, and a broken one cannot be loaded.

Importing this raises MissingExtraError where the library is missing or its compiled part cannot be loaded.
"""

from __future__ import annotations

from hearth.errors import MissingExtraError

INSTALL_COMMAND = "pip install 'onnxruntime>=1.20'"

try:
    import onnxruntime as onnxruntime
except ImportError:
    raise MissingExtraError("the sentence encoder", INSTALL_COMMAND) from None
