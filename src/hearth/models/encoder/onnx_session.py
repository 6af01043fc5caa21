"""Import onnxruntime, or say how to get it: some platforms have no wheel of it, and a broken one cannot be loaded.
`session_options` sets it as an agent that mostly waits needs it.

Importing this raises MissingExtraError where the library is missing or its compiled part cannot be loaded.
"""

from __future__ import annotations

from hearth.errors import MissingExtraError

INSTALL_COMMAND = "pip install 'onnxruntime>=1.20'"

try:
    import onnxruntime as onnxruntime
except ImportError:
    raise MissingExtraError("the sentence encoder", INSTALL_COMMAND) from None


def session_options(n_threads: int) -> onnxruntime.SessionOptions:
    """Return options under which a waiting agent keeps neither cores nor freed buffers."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Worker threads sleep at once, there is no arena, and no allocation plan is kept for every text length met.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return options
