"""Home video for the demo home: the owner's own recording and photographed visits, or a composed clip.

Without the experts the demo runs on, and says that video was left out and how to have it.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from hearth.agent import Agent
from hearth.demo.day import FileRequest, shipped
from hearth.errors import MissingExtraError, RequestError, ToolError
from hearth_video.demo.composed_clip import compose_clip
from hearth_video.demo.photo_visits import enrolment_photos, film_visits, gallery_in
from hearth_video.footage.library import Library

ROOM, OTHER_ROOM, DOOR = "living room", "hall", "front door"
EVENING = dt.time(18, 59, 30)
"""When the clip began, yesterday."""
DOOR_EVENING = dt.time(18, 30)
_ABOUT_FOOTAGE = (
    "how many people were in the hall yesterday evening",
    "did anyone fall in the hall yesterday evening?",
    "what were people doing in the hall yesterday evening",
    "what was said in the hall yesterday evening",
)
_ABOUT_VISITS = (
    "who was at the front door yesterday evening?",
    "when was Alex at the front door yesterday evening?",
    "show me who was at the front door yesterday evening",
)


def add_video(agent: Agent, folder: Path, now: dt.datetime, footage: Path | None) -> Iterator[str | FileRequest]:
    """Add recordings of yesterday evening, enroll who is on them, look at them, and ask about them.

    Real footage goes before what is composed: `footage` is taken to be of the hall; photographs of people that lie
    beside it become visits at the front door, otherwise two portraits walk through a drawn living room.

    Args:
        folder: Where clips are written.
        footage: A recording of the owner's own.
    Yields:
        What to say of it as it goes on, and the requests about it: none where the experts are not installed.
    Raises:
        RequestError: `footage` cannot be read.
    """
    zone = agent.settings.zone()
    day = now.astimezone(zone).date() - dt.timedelta(days=1)
    gallery = gallery_in(footage.parent) if footage is not None else None
    said: list[str] = []
    requests: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if gallery is not None:
            said.append(_film_door(agent, gallery, folder, dt.datetime.combine(day, DOOR_EVENING, zone)))
            requests += _ABOUT_VISITS
        else:
            said.append(_film_room(agent, folder, dt.datetime.combine(day, EVENING, zone)))
    except MissingExtraError as error:
        yield f"Home video was left out: {error}"
        return
    if footage is not None:
        said.append(_added(agent, footage, dt.datetime.combine(day, EVENING, zone)))
        requests = [*_ABOUT_FOOTAGE, *requests]
    composed = (
        shipped((files("hearth_video") / "demo" / "requests_video.jsonl").read_bytes()) if gallery is None else ()
    )
    asked = (FileRequest(f"video-{k}", text) for k, text in enumerate(requests, 1))
    yield f"{'; '.join(said)}."
    yield "Video is looked at when it is first asked about, or ahead with `hearth video index`, as now:"
    library = _library(agent)
    for progress in library.looked_at(library.kept.all(), threading.Event()):
        yield f"looked at {progress.done_s:.0f} of {progress.total_s:.0f} s{progress.fault and ': '}{progress.fault}"
    yield from (*composed, *asked)


def _film_room(agent: Agent, folder: Path, start: dt.datetime) -> str:
    """Compose the clip of two portraits. Raises: MissingExtraError."""
    clip = compose_clip(folder)
    _enroll(agent, {name: [portrait] for name, portrait in clip.portraits.items()}, start)
    _library(agent).kept.add(clip.path, ROOM, ROOM, start)
    return f"A minute of video of the {ROOM} from yesterday evening, with {' and '.join(clip.portraits)} enrolled"


def _film_door(agent: Agent, gallery: Path, folder: Path, start: dt.datetime) -> str:
    """Make visits of photographs. Raises: MissingExtraError."""
    path = folder / "front-door.mp4"
    film_visits(gallery, path)
    photos = enrolment_photos(gallery)
    _enroll(agent, photos, start)
    _library(agent).kept.add(path, DOOR, DOOR, start)
    names = ", ".join(photos)
    return f"Photographs of people as visits at the {DOOR} yesterday evening; enrolled by other photographs: {names}"


def _added(agent: Agent, footage: Path, start: dt.datetime) -> str:
    try:
        _library(agent).kept.add(footage, OTHER_ROOM, OTHER_ROOM, start)
    except ToolError as error:
        raise RequestError(f"{footage}: {error}") from None
    return f"{footage.name} as video of the {OTHER_ROOM}, in which nobody is known"


def _library(agent: Agent) -> Library:
    assert isinstance(agent.footage, Library)
    return agent.footage


def _enroll(agent: Agent, photos: Mapping[str, Sequence[Path]], at: dt.datetime) -> None:
    from hearth_video.experts.identity import IdentityExpert
    from hearth_video.footage.people import Consent, People

    people, faces = People(agent.store), IdentityExpert()
    for name, paths in photos.items():
        people.enroll(name, list(paths), faces, Consent(name, at))
