"""Home video for the demo home: the composed clip and who is on it, or the owner's own recording.

Without the experts the demo runs on, and says that video was left out and how to have it.
"""

from __future__ import annotations

import datetime as dt
from importlib.resources import files
from pathlib import Path

from hearth.agent import Agent
from hearth.demo.demo_run import FileRequest, shipped
from hearth.errors import MissingExtraError, RequestError, ToolError
from hearth_video.demo.composed_clip import Clip, compose_clip
from hearth_video.footage.library import Library

ROOM, OTHER_ROOM = "living room", "hall"
EVENING = dt.time(18, 59, 30)
"""When the clip began, yesterday."""
_ABOUT_FOOTAGE = ("how many people were in the hall yesterday evening", "who was in the hall yesterday evening")


def add_video(
    agent: Agent, folder: Path, now: dt.datetime, footage: Path | None
) -> tuple[str, tuple[FileRequest, ...]]:
    """Compose the clip, enroll its people, add it as a recording of yesterday evening; `footage` as one of the hall.

    Args:
        folder: Where the clip is written.
        footage: A recording of the owner's own.
    Returns:
        What to say of it, and the requests about it: none where the experts are not installed.
    Raises:
        RequestError: `footage` cannot be read.
    """
    zone = agent.settings.zone()
    start = dt.datetime.combine(now.astimezone(zone).date() - dt.timedelta(days=1), EVENING, zone)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        clip = compose_clip(folder)
        _enroll(agent, clip, now)
    except MissingExtraError as error:
        return f"Home video was left out: {error}", ()
    assert isinstance(agent.footage, Library)
    agent.footage.kept.add(clip.path, ROOM, ROOM, start)
    requests = shipped((files("hearth_video") / "demo" / "requests_video.jsonl").read_bytes())
    said = f"A minute of video of the {ROOM} from yesterday evening, with {' and '.join(clip.portraits)} enrolled"
    if footage is not None:
        try:
            agent.footage.kept.add(footage, OTHER_ROOM, OTHER_ROOM, start)
        except ToolError as error:
            raise RequestError(f"{footage}: {error}") from None
        said += f"; {footage.name} as video of the {OTHER_ROOM}"
        requests += tuple(FileRequest(f"v-{4 + k}", text) for k, text in enumerate(_ABOUT_FOOTAGE))
    return f"{said}.", requests


def _enroll(agent: Agent, clip: Clip, now: dt.datetime) -> None:
    from hearth_video.experts.identity import IdentityExpert
    from hearth_video.footage.people import Consent, People

    people, faces = People(agent.store), IdentityExpert()
    for name, portrait in clip.portraits.items():
        people.enroll(name, [portrait], faces, Consent(name, now))
