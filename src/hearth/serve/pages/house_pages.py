"""Pages about the house: devices, recordings, skills, files, phones that are let in, settings."""

from __future__ import annotations

import ast
import asyncio
import datetime as dt
import functools
import inspect
import io
import re
import secrets
import tempfile
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, get_args
from urllib.parse import urlsplit

import segno
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth import config
from hearth.agent import Agent
from hearth.config import setting_tables, settings_edit
from hearth.config.settings_edit import Editable
from hearth.errors import DeniedError, HearthError, NotFound, RequestError, ToolError
from hearth.execution.executor import ReadAhead
from hearth.formats.terminal_text import clean, plan_lines
from hearth.learning import skills
from hearth.protocols import EnrolledPerson, Footage, Recording, Sighting, Workspace
from hearth.serve.desk import Desk
from hearth.serve.door import MOST_ATTACHED_BYTES, Invitations, Phone, Phones, Subscription
from hearth.serve.pages.page_parts import Home, Templates, caller_of, done_soon, field, fields, is_phone, number_in
from hearth.serve.phone_server import Authority, Pusher, bytes64
from hearth.types import Plan, Step

# ── House pages ───────────────────────────────────────────────────────────────────────────────────────────
# Pages about what the home has: devices, recordings, skills; and files that are attached.
#
# A device is switched by its button, which is the owner's yes to just that, on record and taken back like any
# request.
#
# Covered: what there is and how it is. Not covered: opening doors, which is asked for in words.

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


# ── Phone pages ───────────────────────────────────────────────────────────────────────────────────────────
# The page that lets phones in and takes them out, what a phone sees on its way in, and its notifications.
#
# A phone installs the home's authority first, so that its browser knows whom it speaks to, and comes in by an
# invitation after that. Phones are managed at the machine itself alone: a phone sees only itself there.

PHONE_COOKIE = "__Host-hearth-phone"
OPEN = ("/pair", "/authority", "/hearth-authority.crt")
"""What a phone sees before it is let in."""
_YEAR_S = 31_536_000
_MOST_ENDPOINT = 1000


@dataclass(frozen=True, slots=True)
class Way:
    """How phones come here."""

    addresses: tuple[str, ...]
    """Names with port, the likeliest first: `192.168.1.20:8471`."""
    authority: Authority
    pusher: Pusher
    allows: Callable[[str], bool]
    """Whether the owner allowed a host to be reached."""

    @property
    def address(self) -> str:
        """`https://192.168.1.20:8471`"""
        return f"https://{self.addresses[0]}"


class PhonePages:
    """The routes for phones; without a way for them, one page that says how to open it."""

    def __init__(self, templates: Templates, phones: Phones, now: Callable[[], dt.datetime], way: Way | None) -> None:
        self._templates = templates
        self._phones = phones
        self._now = now
        self._way = way
        self.invitations = Invitations(lambda: now().timestamp())

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/phones", self.listed),
            Route("/phones/invite", self.invite, methods=["POST"]),
            Route("/phones/revoke", self.revoke, methods=["POST"]),
            Route("/phones/subscribe", self.subscribe, methods=["POST"]),
            Route("/phones/try", self.try_out, methods=["POST"]),
            Route("/pair", self.pair, methods=["GET", "POST"]),
            Route("/authority", self.authority),
            Route("/hearth-authority.crt", self.certificate),
            Route("/worker.js", self.worker),
        ]

    # ── At the machine itself ─────────────────────────────────────────────────────────────────────────────

    async def listed(self, request: Request) -> Response:
        """List the phones; to a phone, itself."""
        own: Phone | None = request.scope.get("hearth.phone")
        phones = [] if own else self._phones.listed()
        key = self._way.pusher.public_key if self._way and own else ""
        return self._templates.page("phones.html", "Phones", own=own, phones=phones, way=self._way, push_key=key)

    async def invite(self, request: Request) -> Response:
        """Open an invitation, shown as pictures for the phone's camera."""
        way = self._managing(request)
        code = self.invitations.invite()
        links = (f"{way.address}/authority", f"{way.address}/pair?code={code}")
        pictures = [
            segno.make(link, micro=False).svg_data_uri(scale=4, border=2, dark="#000", light="#fff") for link in links
        ]
        known_by = way.authority.fingerprint
        return self._templates.piece("invitation.html", links=links, pictures=pictures, fingerprint=known_by)

    async def revoke(self, request: Request) -> Response:
        """Take a phone out: at the machine any, on a phone itself."""
        number = number_in(await field(request, "number"))
        own: Phone | None = request.scope.get("hearth.phone")
        if number is None or (own is not None and own.number != number):
            raise NotFound("no such phone; reload the page")
        phone = self._phones.revoke(number)
        return JSONResponse({"says": f"{phone.name} is let in no more."})

    # ── On the phone ──────────────────────────────────────────────────────────────────────────────────────

    async def authority(self, request: Request) -> Response:
        """Say how the phone comes to know this home."""
        way = self._arriving(request)
        return self._templates.page("authority.html", "This home", fingerprint=way.authority.fingerprint)

    async def certificate(self, request: Request) -> Response:
        """Hand out the authority's certificate."""
        head = {"content-disposition": 'attachment; filename="hearth-authority.crt"'}
        return Response(self._arriving(request).authority.pem, media_type="application/x-x509-ca-cert", headers=head)

    async def pair(self, request: Request) -> Response:
        """Let a phone in that shows an open invitation, and give it its key."""
        self._arriving(request)
        if request.method == "GET":
            code = request.query_params.get("code", "")
            is_open = self.invitations.is_open(code)
            return self._templates.page("pair.html", "Come in", code=code, is_open=is_open)
        given = await fields(request)
        if not self.invitations.is_open(given.get("code", "")):
            raise DeniedError("this invitation is over; make a new one at the computer")
        key = self._phones.add(given.get("name", ""), self._now())
        self.invitations.close()
        answer = JSONResponse({"goto": "/phones"})
        answer.set_cookie(PHONE_COOKIE, key, max_age=_YEAR_S, httponly=True, secure=True, samesite="strict")
        return answer

    async def subscribe(self, request: Request) -> Response:
        """Note where this phone takes notifications, or that it wants none."""
        phone: Phone | None = request.scope.get("hearth.phone")
        if phone is None or self._way is None:
            raise DeniedError("notifications are turned on at a phone that was let in")
        given = await fields(request)
        if not given.get("endpoint"):
            self._phones.subscribe(phone.number, None)
            return JSONResponse({"says": "No notifications here any more."})
        subscription = _read(given)
        host = urlsplit(subscription.endpoint).hostname or ""
        if not self._way.allows(host):
            raise RequestError(
                f"notifications of this browser go through {host!r}, encrypted; allow it at the computer first, under "
                f'[network] of hearth.toml: allow = ["{host}"], and start `hearth up` again'
            )
        self._phones.subscribe(phone.number, subscription)
        self._way.pusher.try_out()
        return JSONResponse({"says": "Notifications are on: one comes now."})

    async def try_out(self, request: Request) -> Response:
        """Send every phone a notification."""
        self._managing(request).pusher.try_out()
        return JSONResponse({"says": "Sent."})

    async def worker(self, request: Request) -> Response:  # noqa: ARG002 - every route is handed the request
        """The script that shows notifications: from the root, so that it may open every page."""
        text = (files("hearth.serve") / "static" / "worker.js").read_text()
        return Response(text, media_type="text/javascript")

    def _managing(self, request: Request) -> Way:
        """Raises: DeniedError: From a phone. HearthError: No phones here."""
        if is_phone(request):
            raise DeniedError("phones are let in and out at the computer itself")
        if self._way is None:
            raise HearthError("phones are not let in here; set `phones_port` under [serve] in hearth.toml")
        return self._way

    def _arriving(self, request: Request) -> Way:
        """Raises: NotFound: Not at the entrance for phones."""
        if self._way is None or "hearth.phones" not in request.scope:
            raise NotFound("this page is for phones; scan the picture on the page Phones")
        return self._way


def _read(given: dict[str, str]) -> Subscription:
    """Raises: RequestError: It is no subscription."""
    endpoint, key, secret = (given.get(name, "") for name in ("endpoint", "key", "secret"))
    try:
        place = urlsplit(endpoint)
        is_good = place.scheme == "https" and bool(place.hostname) and len(endpoint) <= _MOST_ENDPOINT
        is_good = is_good and (len(bytes64(key)), len(bytes64(secret))) == (65, 16)
    except ValueError:
        is_good = False
    if not is_good:
        raise RequestError("that is no subscription of a browser; turn notifications on again")
    return Subscription(endpoint, key, secret)


# ── Settings page ─────────────────────────────────────────────────────────────────────────────────────────
# The page that tells every setting with what it means, and changes those of one value.
#
# A change is shown first, with what stood there, and is made once it was said yes to; it is checked as the file is,
# and the file is whole at each moment. It counts from the next start, which the page can bring about.
#
# Covered: settings of one value or a list of texts. Not covered: mail servers, devices, rules and the like, which are
# written in hearth.toml; changing anything from a phone.


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as the page tells it."""

    name: str
    value: str
    is_own: bool
    """The owner set it; else it is what it is by itself."""
    meaning: str
    how: Editable | None
    """How it is changed on the page; None: by hand."""


class SettingsPage:
    """The routes of this page."""

    def __init__(self, desk: Desk, home: Home, templates: Templates, restart: Callable[[], None] | None) -> None:
        """Make them.

        Args:
            restart: Starts the home anew with what the file says; None where that cannot be done from here.
        """
        self._desk = desk
        self._home = home
        self._templates = templates
        self._restart = restart
        self._path = home.folder / "hearth.toml"

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/settings", self.settings),
            Route("/settings/form", self.form, methods=["POST"]),
            Route("/settings/try", self.try_out, methods=["POST"]),
            Route("/settings/set", self.change, methods=["POST"]),
            Route("/settings/restart", self.restart, methods=["POST"]),
        ]

    async def settings(self, request: Request) -> Response:
        """Every setting with its value and what it means."""
        found = await run_in_threadpool(config.read_settings, self._path)
        return self._templates.page(
            "settings.html", "Settings", tables=told(found), path=str(self._path), is_changeable=not is_phone(request),
            can_restart=self._restart is not None,
        )  # fmt: skip

    async def form(self, request: Request) -> Response:
        """What a setting is changed with."""
        setting = settings_edit.named(await self._asked_for(request))
        found = await run_in_threadpool(config.read_settings, self._path)
        own = next((one for _, _, rows in told(found) for one in rows if one.name == setting.name), None)
        if own is None:  # of a table that the file has not: a mail server, say
            raise RequestError(f"{setting.name} needs others beside it; write them by hand in {self._path.name}")
        value = _value_at(found, setting.name)
        return self._templates.piece("setting_form.html", one=own, how=setting, value=_typed_as(value))

    async def try_out(self, request: Request) -> Response:
        """Show a change, and what it takes to make it."""
        given = await self._given(request)
        setting = settings_edit.named(given.get("name", ""))
        value = None if given.get("default") else settings_edit.typed(setting, given.get("value", ""))
        change = await run_in_threadpool(settings_edit.changed, self._path, setting, value)
        found = await run_in_threadpool(config.read_settings, self._path)
        after = config.parse_settings(change.text, self._path)
        return self._templates.piece(
            "setting_change.html", change=change, before=_said(_value_at(found, setting.name)),
            after=_said(_value_at(after, setting.name)), typed=given.get("value", ""), is_default=value is None,
        )  # fmt: skip

    async def change(self, request: Request) -> Response:
        """Make a change that was shown."""
        given = await self._given(request)
        setting = settings_edit.named(given.get("name", ""))
        value = None if given.get("default") else settings_edit.typed(setting, given.get("value", ""))

        def write() -> None:
            change = settings_edit.changed(self._path, setting, value)
            settings_edit.write(self._path, change, given.get("digest", ""))

        await run_in_threadpool(write)
        shown = self._templates.fragment(
            "setting_changed.html", name=setting.name, can_restart=self._restart is not None
        )
        return JSONResponse({"says": f"{setting.name} is changed; it counts from the next start.", "html": shown})

    async def restart(self, request: Request) -> Response:
        """Start the home anew, so that changes count."""
        await self._given(request)
        if self._restart is None:
            raise RequestError("this home is started anew where it was started, at the terminal or by its service")
        if self._desk.view.turns:
            raise RequestError("a request is being worked on, or waits for your answer; then start anew")
        self._restart()
        return JSONResponse({"says": "Hearth starts anew; a moment.", "again": "/settings"})

    async def _given(self, request: Request) -> dict[str, str]:
        """Raises: DeniedError: From a phone."""
        if is_phone(request):
            raise DeniedError("settings are changed at the computer itself, not from a phone")
        return await fields(request)

    async def _asked_for(self, request: Request) -> str:
        await self._given(request)
        return await field(request, "name")


# ── Settings and what they mean ───────────────────────────────────────────────────────────────────────────


def told(model: BaseModel) -> list[tuple[str, str, list[Setting]]]:
    """Return each table with what it is about and its settings, in order; those of rules and lists are left to their
    own pages."""
    found: list[tuple[str, str, list[Setting]]] = []
    for name, table in model:
        if isinstance(table, BaseModel):
            found.append((name, inspect.getdoc(type(table)) or "", _settings(table, name)))
    return found


def _settings(table: BaseModel, where: str) -> list[Setting]:
    known = _meanings()
    meanings = {name: said for kind in type(table).__mro__ for name, said in known.get(kind.__name__, {}).items()}
    rows: list[Setting] = []
    for name, value in table:
        if isinstance(value, BaseModel):
            rows += _settings(value, f"{where}.{name}")
        else:
            rows.append(
                Setting(
                    f"{where}.{name}",
                    _said(value),
                    name in table.model_fields_set,
                    meanings.get(name) or _about(type(table).model_fields[name].annotation),
                    settings_edit.editable(f"{where}.{name}"),
                )
            )
    return rows


def _about(annotation: object) -> str:
    """Return what a table says of itself that may be left out."""
    for kind in get_args(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return ""


def _said(value: object) -> str:
    if value is None or value in ("", (), {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list | frozenset | set | Mapping):
        return ", ".join(clean(str(one)) for one in value)[:500]
    return clean(str(value))[:500]


@functools.cache
def _meanings() -> dict[str, dict[str, str]]:
    """Read what stands below each setting in `config.setting_tables`, by class and name."""
    tree = ast.parse(inspect.getsource(setting_tables))
    found: dict[str, dict[str, str]] = {}
    for table in tree.body:
        if isinstance(table, ast.ClassDef):
            own = found.setdefault(table.name, {})
            for before, after in zip(table.body, table.body[1:]):
                is_field = isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
                is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if is_field and is_text:
                    own[before.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found


def _value_at(model: BaseModel, name: str) -> object:
    found: object = model
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _typed_as(value: object) -> str:
    """Return a value as it is typed into a form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "\n".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
