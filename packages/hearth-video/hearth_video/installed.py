"""Find the parts of the extra `experts`: the command that installs it, and the model files its packages contain."""

from __future__ import annotations

import importlib.util
import platform
import sys
from pathlib import Path

from hearth.errors import ConfigError, MissingExtraError

MODELS_VERSION = "0.10.18" if platform.machine() == "aarch64" else "0.10.21"
"""Version of mediapipe: the last one for this machine that contains its models. It is never imported; its dependencies
conflict with the core."""
PIP_COMMAND = (
    "pip install 'hearth-video[experts]' && "
    f"pip install --no-deps mediapipe=={MODELS_VERSION} rapidocr-onnxruntime==1.4.4 scikit-image==0.26.0"
)


def install_command() -> str:
    """Return what installs it here: `make video` in an environment that the checkout's Makefile made, else pip."""
    return "make video" if (Path(sys.prefix) / ".core").is_file() else PIP_COMMAND


INSTALL_COMMAND = install_command()


def carried_file(package: str, path: str, feature: str) -> Path:
    """Return a file inside an installed package, without importing it.

    Args:
        package: Its import name: "mediapipe".
        path: Below the package's folder: "modules/pose_landmark/pose_landmark_full.tflite".
        feature: What needs it, for the error.
    Raises:
        MissingExtraError: The package is not installed.
        ConfigError: Another version is installed, without that file.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(feature, INSTALL_COMMAND)
    file = Path(spec.submodule_search_locations[0]) / path
    if not file.is_file():
        raise ConfigError(
            f"{feature} needs {path!r}, which the installed {package!r} does not carry; "
            f"install the version that does: {INSTALL_COMMAND}"
        )
    return file
