"""Pages about what the home has: devices, recordings, skills; and files that are attached.

A device is switched by its button, which is the owner's yes to just that, on record and taken back like any request.

Covered: what there is and how it is. Not covered: opening doors, which is asked for in words.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import re
import secrets
import tempfile
import threading
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth.agent import Agent
from hearth.errors import HearthError, NotFound, RequestError, ToolError
from hearth.execution.speculation import ReadAhead
from hearth.formats.terminal_text import clean, plan_lines
from hearth.learning import skills
from hearth.protocols import EnrolledPerson, Footage, Recording, Sighting, Workspace
from hearth.serve.desk import Desk
from hearth.serve.door import MOST_ATTACHED_BYTES
from hearth.serve.pages.page_parts import Home, Templates, caller_of, done_soon, field, fields, number_in
from hearth.types import Plan, Step

# ── Files that are attached ────────────────────────────────────────────────────────────────────────────
# Files that the owner drops onto the page, pastes or photographs: typed by what they hold, bounded, kept as documents.
# A file's own name and type are a stranger's word: the type is read from its bytes, the name is cleaned, and nothing is
# ever replaced. What Hearth cannot read is turned away. A kept file is one of the owner's documents like any other.
# Covered: pictures, PDF, office documents, mails, calendars, cards, plain text; names that would leave the folder or
# hide. Not covered: what a document contains (it is read as a stranger's text, like every file); sound and video.


FOLDER = "documents/attached"
_MOST_NAME = 80
_MOST_ALIKE = 100
_MAGIC = (
    (b"\xff\xd8\xff", "jpg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"%PDF-", "pdf"),
)
_OFFICE = (("word/document.xml", "docx"), ("xl/workbook.xml", "xlsx"))
_OPEN_OFFICE = {
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
}
_TEXTS = ((r"\s*BEGIN:VCALENDAR\r?\n", "ics"), (r"\s*BEGIN:VCARD\r?\n", "vcf"))
_MAIL = re.compile(r"(?:[A-Za-z][A-Za-z-]{1,40}:[^\n]*\n(?:[ \t][^\n]*\n)*){3,}\r?\n")
KINDS = "a picture (JPEG, PNG, GIF, WebP), PDF, Word, Excel, OpenDocument, mail, calendar, card or plain text"


def kind_of(data: bytes) -> str:
    """Return the ending that fits what a file holds. Raises: RequestError: Nothing that Hearth reads."""
    for magic, ending in _MAGIC:
        if data.startswith(magic):
            return ending
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    if data.startswith(b"PK\x03\x04"):
        return _packed(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _unknown() from None
    if not text.strip() or re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text):
        raise _unknown()
    for form, ending in _TEXTS:
        if re.match(form, text):
            return ending
    head = text[:20_000].replace("\r\n", "\n")
    is_mail = _MAIL.match(head) and re.search(r"^(?:From|Date|Message-ID):", head, re.MULTILINE | re.IGNORECASE)
    return "eml" if is_mail else "txt"


def _packed(data: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            names = set(packed.namelist())
            for member, ending in _OFFICE:
                if member in names:
                    return ending
            said = packed.getinfo("mimetype") if "mimetype" in names else None
            # What is packed in other ways may ask for gigabytes of memory before its first byte.
            is_plain = said is not None and said.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            if said is not None and is_plain and said.file_size < 100:
                kind = packed.read("mimetype").strip()
                if kind in _OPEN_OFFICE:
                    return _OPEN_OFFICE[kind]
    except Exception as error:  # zipfile raises more than it says, of what strangers made
        raise _unknown() from error
    raise _unknown()


def _unknown() -> RequestError:
    return RequestError(f"this is no file that Hearth reads; expected {KINDS}")


def keep(workspace: Workspace, name: str, data: bytes, now: dt.datetime) -> str:
    """Keep a file among the owner's documents, and return its path in the owner's folder.

    Raises:
        RequestError: It is empty, too large, or nothing that Hearth reads; nothing was kept.
        StoreError: The disk is full, say; nothing was kept.
    """
    if not data or len(data) > MOST_ATTACHED_BYTES:
        raise RequestError(f"a file has 1 to {MOST_ATTACHED_BYTES:,} bytes, not {len(data):,}; nothing was kept")
    ending = kind_of(data)
    stem = _cleaned(name) or f"{now:%Y-%m-%d %H.%M}"
    for k in range(1, _MOST_ALIKE):
        path = f"{FOLDER}/{stem}{f' {k}' if k > 1 else ''}.{ending}"
        if not workspace.exists(path):
            workspace.write(path, data)
            return path
        if workspace.read(path) == data:
            return path  # the same once more
    raise RequestError(f"there are {_MOST_ALIKE} files called {stem!r}; give it another name")


def drop(workspace: Workspace, path: str) -> None:
    """Remove a file that was attached. Raises: NotFound: It is none."""
    place = PurePosixPath(path)
    if str(place.parent) != FOLDER or not workspace.exists(path):
        raise NotFound(f"{path[:200]!r} is no attached file; reload the page")
    workspace.delete(path)


def key(now: dt.datetime) -> str:
    """Return a key under which a file is journalled."""
    return f"attached:{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def _cleaned(name: str) -> str:
    """Return the name without folders, ending and what could hide in it."""
    last = re.split(r"[/\\]", clean(name))[-1]
    stem = last.rpartition(".")[0] or last
    stem = re.sub(r"[^\w \-.,()&'+]", " ", stem)
    return " ".join(stem.split())[:_MOST_NAME].strip(" .-")


# ── The pages ──────────────────────────────────────────────────────────────────────────────────────────


SWITCHES: Mapping[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(("lamp", "plug", "fan", "tv", "speaker", "heating"), (("turn_on", "On"), ("turn_off", "Off"))),
    "blinds": (("open_blinds", "Open"), ("close_blinds", "Close")),
    "lock": (("lock_door", "Lock"),),
}
"""Tool and word of the buttons of a device, by its kind. What opens a door has none."""
_DEVICES = "list_devices"
_DAY_S = 86_400
PHOTOS = ("jpg", "png", "webp")
_N_SIGHTINGS = 500


@dataclass(frozen=True, slots=True)
class Bar:
    """A sighting in the picture of a day, in percent of its width."""

    row: int
    left: float
    width: float
    sighting: Sighting


class HousePages:
    """The routes of these pages, over one desk."""

    def __init__(self, desk: Desk, home: Home, templates: Templates) -> None:
        self._desk = desk
        self._home = home
        self._templates = templates

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/home", self.devices),
            Route("/switch", self.switch, methods=["POST"]),
            Route("/video", self.video),
            Route("/video/picture/{id}", self.picture),
            Route("/video/enroll", self.enroll, methods=["POST"]),
            Route("/video/forget", self.forget_face, methods=["POST"]),
            Route("/skills", self.skills),
            Route("/skills/{what}", self.change_skill, methods=["POST"]),
            Route("/attach", self.attach, methods=["POST"]),
            Route("/detach", self.detach, methods=["POST"]),
        ]

    # ── Devices ───────────────────────────────────────────────────────────────────────────────────────────

    async def devices(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """List the devices by room, with their states and buttons."""
        devices: Sequence[Any] = ()
        says = ""
        if _DEVICES in self._home.specs:
            try:
                devices = await done_soon(self._desk.use(_devices))
            except HearthError as error:
                says = clean(str(error))
        rooms: dict[str, list[Any]] = {}
        for device in sorted(devices, key=lambda one: (one.room, one.name)):
            rooms.setdefault(device.room, []).append(device)
        has_tools = _DEVICES in self._home.specs
        return self._templates.page(
            "home.html", "Home", rooms=rooms, switches=SWITCHES, says=says, has_tools=has_tools, clean=clean
        )

    async def switch(self, request: Request) -> Response:
        """Switch a device by its button."""
        given = await fields(request)
        tool, device = given.get("tool", ""), given.get("device", "")
        words = {name: word for pairs in SWITCHES.values() for name, word in pairs}
        if tool not in words or tool not in self._home.specs or not device or len(device) > 300:
            raise NotFound("no such device or button; reload the page")
        plan = Plan((Step(tool, {"device": device}),), planner="page")
        text = f"{given.get('name', '')[:200] or device}: {words[tool].lower()}"
        episode = await asyncio.wrap_future(self._desk.carry_out(text, plan, caller_of(request)))
        return JSONResponse({"says": clean(episode.answer.text)}, 200 if episode.answer.status == "done" else 409)

    # ── Recordings ────────────────────────────────────────────────────────────────────────────────────────

    async def video(self, request: Request) -> Response:
        """Show a day: who was seen where, as a picture and as a table."""
        try:
            footage = await done_soon(self._desk.use(lambda agent: agent.footage))
        except HearthError as error:
            return self._templates.page("video.html", "Video", waits=clean(str(error)))
        if footage is None:
            return self._templates.page("video.html", "Video", has_footage=False)
        asked = request.query_params.get("day", "")
        day, recordings, sightings, says = await done_soon(
            self._desk.use(lambda agent: _day(footage, asked, agent.clock()))
        )
        people = await done_soon(self._desk.use(lambda _: footage.enrolled()))
        rows, bars = _drawn(sightings, day)
        waiting = [one for one in recordings if not one.is_indexed]
        return self._templates.page(
            "video.html", "Video", has_footage=True, day=day, recordings=recordings, sightings=sightings, rows=rows,
            bars=bars, waiting=waiting, says=says, one_day=dt.timedelta(days=1), people=people,
        )  # fmt: skip

    async def picture(self, request: Request) -> Response:
        """A picture of one sighting, the faces of strangers blurred."""
        id = request.path_params["id"]
        data = await done_soon(self._desk.use(lambda agent: _picture(agent, id)))
        kind = "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"
        return Response(data, media_type=kind)

    async def enroll(self, request: Request) -> Response:
        """Recognise somebody from a photo, its bytes being the body; it is read once and not kept."""
        given = request.query_params
        name, by = given.get("name", "").strip(), given.get("by", "").strip()
        if given.get("agreed") != "yes" or not by:
            raise RequestError(f"nobody said yes to recognising {name[:80]!r}; ask them, then say who agreed")
        if len(by) > _MOST_NAME or not by.isprintable():
            raise RequestError(f"who agreed has at most {_MOST_NAME} letters; write a name")
        data = await request.body()
        if len(data) > MOST_ATTACHED_BYTES or kind_of(data) not in PHOTOS:
            raise RequestError("this is no photo; give a picture (JPEG, PNG, WebP) that shows the face alone")

        def enrolled(agent: Agent) -> EnrolledPerson:
            with tempfile.TemporaryDirectory(prefix="hearth-photo-") as folder:
                photo = Path(folder) / "photo"
                photo.write_bytes(data)
                try:
                    return _footage_of(agent).enroll(name, photo, by)
                except RequestError as error:  # the owner knows no such file
                    raise RequestError(str(error).replace(repr(str(photo)), "the photo")) from None

        done = await done_soon(self._desk.use(enrolled))
        more = " More photos, from other days and in other light, make it surer." if done.n_photos < 3 else ""
        alike = f" Looks like {', '.join(done.looks_like)}: where the face does not decide, neither is named."
        said = f"{done.name} is recognised from {_photos(done.n_photos)}; {by} agreed.{more}"
        return JSONResponse({"says": clean(said + (alike if done.looks_like else "")), "goto": "/video"})

    async def forget_face(self, request: Request) -> Response:
        """Forget somebody's face for good."""
        name = await field(request, "name")
        await done_soon(self._desk.use(lambda agent: _footage_of(agent).forget_face(name)))
        return JSONResponse({"says": clean(f"The face of {name} is forgotten."), "goto": "/video"})

    # ── Skills ────────────────────────────────────────────────────────────────────────────────────────────

    async def skills(self, request: Request) -> Response:  # noqa: ARG002
        """What comes back again and again, and the names that were given."""
        specs = self._home.specs

        def look() -> tuple[list[Any], list[Any]]:
            proposed = skills.propose(self._home.store, specs, self._home.now())
            return [_shown(s, specs) for s in proposed], [
                _shown(s, specs) for s in skills.skills(self._home.store) if s.state == "accepted"
            ]

        proposed, accepted = await run_in_threadpool(look)
        return self._templates.page("skills.html", "Skills", proposed=proposed, accepted=accepted)

    async def change_skill(self, request: Request) -> Response:
        """Give a proposal a name, never propose it again, or take a skill away."""
        given = await fields(request)
        what = request.path_params["what"]
        number = number_in(given.get("number", "")) or 0
        if what == "accept":
            name = (await done_soon(self._desk.accept_skill(number, given.get("name", "")))).name
            return JSONResponse({"says": f"Say “{clean(name)}” from now on.", "goto": "/skills"})
        if what == "dismiss":
            await done_soon(self._desk.use(lambda agent: skills.dismiss(agent.store, number)))
            return JSONResponse({"says": "It will not be proposed again."})
        if what == "remove":
            gone = await done_soon(self._desk.remove_skill(given.get("name", "")))
            return JSONResponse({"says": f"“{clean(gone.name)}” is not a skill any more."})
        raise NotFound("no such page")

    # ── Attachments ───────────────────────────────────────────────────────────────────────────────────────

    async def attach(self, request: Request) -> Response:
        """Keep a file, its bytes being the body."""
        name = request.query_params.get("name", "")
        data = await request.body()

        def kept() -> str:
            now = self._home.now()
            workspace = self._home.owned(key(now))
            return keep(workspace, name, data, now)

        path = await run_in_threadpool(kept)
        return JSONResponse({"path": path, "name": Path(path).name, "says": f"Kept as {path}."})

    async def detach(self, request: Request) -> Response:
        """Remove a file that was attached."""
        path = await field(request, "path")
        await run_in_threadpool(lambda: drop(self._home.owned(key(self._home.now())), path))
        return JSONResponse({"says": "Removed."})


def _devices(agent: Agent) -> Sequence[Any]:
    """Return the devices, as the guard lets them be read unasked. Raises: ToolError: It does not, or they cannot be."""
    request, plan = agent.request("list my devices"), Plan((Step(_DEVICES, {}),))
    specs, occasion = agent.tools.specs, agent.occasion(request, plan)
    ahead = ReadAhead.begin(agent.monitor, plan, specs, occasion, lambda *_: agent.call_context())
    result = ahead.finish(specs[_DEVICES].timeout_s).get(0) if ahead is not None else None
    if ahead is not None:
        ahead.settle(None)
    if result is None or not isinstance(result.value, list):
        raise ToolError("the devices could not be read, or your rules do not let them be read unasked")
    return [SimpleNamespace(**one) for one in result.value if isinstance(one, dict)]


def _shown(skill: skills.Skill, specs: Mapping[str, Any]) -> dict[str, object]:
    lines = [clean(line) for line in plan_lines(skill.plan, specs)]
    return {"skill": skill, "lines": lines, "suggested": skills.suggested_name(skill)}


# ── A day of recordings ───────────────────────────────────────────────────────────────────────────────────


def _day(
    footage: Footage, asked: str, now: dt.datetime
) -> tuple[dt.date, tuple[Recording, ...], tuple[Sighting, ...], str]:
    """Return the day, what was recorded, who is known to have been seen, and what is to be said about it.

    Only what was looked at already: to look takes minutes, and is asked for.
    """
    kept = footage.recordings()
    try:
        day = dt.date.fromisoformat(asked) if asked else max((one.start.date() for one in kept), default=now.date())
        start = dt.datetime.combine(day, dt.time(), now.tzinfo)
        _, end = start - dt.timedelta(days=1), start + dt.timedelta(days=1)  # the page leads to both neighbours
    except (ValueError, OverflowError):
        raise RequestError(f"{asked[:40]!r} is no day; write it like 2026-11-19") from None
    recordings = tuple(one for one in kept if one.start < end and one.end > start)
    seen: list[Sighting] = []
    says = ""
    for one in recordings:
        if one.is_indexed:
            try:
                seen += footage.people(one.room, max(one.start, start), min(one.end, end), threading.Event())
            except ToolError as error:
                says = clean(str(error))
    ids = list(dict.fromkeys(one.id for one in seen))[:_N_SIGHTINGS]
    return day, recordings, footage.named(ids) if ids else (), says


def _drawn(sightings: Sequence[Sighting], day: dt.date) -> tuple[list[str], list[Bar]]:
    """Lay out a day: a row for each name and room, a bar for each sighting."""
    rows = sorted({_row(one) for one in sightings})
    bars = []
    for one in sightings:
        begin = dt.datetime.combine(day, dt.time(), one.start.tzinfo)
        left = max((one.start - begin).total_seconds() / _DAY_S, 0.0)
        width = min((one.end - begin).total_seconds() / _DAY_S, 1.0) - left
        bars.append(Bar(rows.index(_row(one)), round(100 * left, 3), round(max(100 * width, 0.3), 3), one))
    return rows, bars


def _row(sighting: Sighting) -> str:
    return f"{sighting.room}: {sighting.name or 'somebody'}"


def _footage_of(agent: Agent) -> Footage:
    """Raises: NotFound."""
    if agent.footage is None:
        raise NotFound("home video is not installed")
    return agent.footage


def _photos(n: int) -> str:
    return f"{n} photo{'s' * (n != 1)}"


def _picture(agent: Agent, id: str) -> bytes:
    """Raises: NotFound, ToolError."""
    (path,) = _footage_of(agent).pictures([id])
    place = Path(path)
    return place.read_bytes() if place.is_absolute() else agent.call_context().workspace.read(path)
