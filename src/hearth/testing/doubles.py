"""Test doubles for every protocol: deterministic, without disk or network."""

from __future__ import annotations

import dataclasses
import datetime as dt
import fnmatch
import hashlib
import re
import sqlite3
import ssl
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn
from zoneinfo import ZoneInfo

import httpx
import numpy as np
from numpy.typing import NDArray

from hearth.errors import CancelledError, EgressError, NotFound, RequestError, ToolError
from hearth.protocols import (
    CallContext,
    Cause,
    Count,
    Egress,
    EnrolledPerson,
    ExpertCard,
    FileStat,
    Footage,
    Heard,
    Held,
    HomeAnswer,
    Memory,
    MemoryHit,
    Message,
    Observation,
    Reading,
    Recalled,
    Recording,
    Reply,
    Said,
    Sighting,
    Thing,
    Wanted,
    Witness,
    Workspace,
    WrittenLine,
)
from hearth.storage.workspace import folder_parts, path_parts
from hearth.types import Context, Label, Plain, Plan, Refusal, Request, Ruling, ToolSpec

FIXED_NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=ZoneInfo("Europe/Berlin"))
"""A Friday morning, used as the clock of every test that does not bring its own."""


class InMemoryWorkspace:
    """A `protocols.Workspace` without a disk; a test may set and read `files` and `times` freely."""

    def __init__(self, files: Mapping[str, bytes | str] | None = None, now: dt.datetime = FIXED_NOW) -> None:
        self.files: dict[str, bytes] = {}
        self.times: dict[str, dt.datetime] = {}
        self._now = now.astimezone(dt.UTC)
        for path, data in (files or {}).items():
            self.write(path, data.encode() if isinstance(data, str) else data)

    def read(self, path: str) -> bytes:
        return self.files[self._existing(path)]

    def write(self, path: str, data: bytes) -> None:
        parts = path_parts(path)
        name = "/".join(parts)
        if any(other.startswith(name + "/") for other in self.files):
            raise ToolError(f"cannot write {path!r}: it is a folder; give the name of a file")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in self.files:
                raise ToolError(f"cannot write {path!r}: {'/'.join(parts[:depth])!r} is a file, not a folder")
        self.files[name] = bytes(data)
        self.times[name] = self._now

    def delete(self, path: str) -> None:
        name = self._existing(path)
        del self.files[name]
        self.times.pop(name, None)

    def exists(self, path: str) -> bool:
        return "/".join(path_parts(path)) in self.files

    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        prefix = "".join(f"{part}/" for part in folder_parts(folder))
        return tuple(
            sorted(
                name
                for name in self.files
                if name.startswith(prefix) and fnmatch.fnmatchcase(name.rpartition("/")[2], pattern)
            )
        )

    def modified(self, path: str) -> dt.datetime:
        return self.times[self._existing(path)]

    def stat(self, path: str) -> FileStat:
        name = self._existing(path)
        fingerprint = hashlib.sha256(name.encode() + b"\0" + self.files[name]).hexdigest()
        return FileStat(len(self.files[name]), self.times[name], fingerprint)

    def real_path(self, path: str) -> str:
        return "/".join(path_parts(path))

    def _existing(self, path: str) -> str:
        name = "/".join(path_parts(path))
        if any(other.startswith(name + "/") for other in self.files):
            raise ToolError(f"{path!r} is a folder, not a file; give the name of a file")
        if name not in self.files:
            raise NotFound(f"no file {path!r} in the owner's folder")
        return name


class InMemoryMemory:
    """A `protocols.Memory` that keeps events in a list and matches by counting words."""

    def __init__(self) -> None:
        self.events: list[MemoryHit] = []
        self.labels: dict[str, Label] = {}

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        if key not in self.labels:
            self.events.append(MemoryHit(id=key, text=text, kind=kind, at=at, score=0.0, label=label))
            self.labels[key] = label
        return key

    def search(self, query: str, *, limit: int = 5, now: dt.datetime | None = None) -> tuple[MemoryHit, ...]:  # noqa: ARG002
        words = set(re.findall(r"\w+", query.casefold()))
        hits = []
        for event in self.events:
            n_shared = len(words & set(re.findall(r"\w+", event.text.casefold())))
            if n_shared:
                hits.append(replace(event, score=float(n_shared)))
        return tuple(sorted(hits, key=lambda hit: (-hit.score, -hit.at.timestamp()))[:limit])

    def answer(self, question: str, *, now: dt.datetime) -> Recalled:
        hits = self.search(question, limit=1, now=now)
        if not hits:
            return Recalled("unknown", "Nothing I remember says that.", chance=0.0)
        return Recalled("said", hits[0].text, hits, label=hits[0].label)

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        hits = self.search(question, limit=1, now=call.now)
        if not hits:
            return HomeAnswer("unknown", "", "nothing", chance=0.0)
        first = hits[0]
        witness = Witness(first.id, "memory", first.text, "memory", first.at, label=first.label)
        return HomeAnswer("text", first.text, "", (witness,))

    def forget(self, id: str) -> None:
        if id not in self.labels:
            raise NotFound(f"no event {id!r} in memory")
        del self.labels[id]
        self.events = [event for event in self.events if event.id != id]


class _ClosedTransport(httpx.BaseTransport):
    def handle_request(self, request: httpx.Request) -> NoReturn:
        _refuse(request.url.host)


def _refuse(host: str) -> NoReturn:
    raise EgressError(f"the network door is closed for host {host!r} in a test; nothing was sent; inject a transport")


class ClosedEgress:
    """A `protocols.Egress` that lets nothing out."""

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:  # noqa: ARG002 - the seam's
        return _ClosedTransport()

    @contextmanager
    def permit(self, host: str, port: int, reason: str) -> Iterator[None]:  # noqa: ARG002
        _refuse(host)
        yield

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None:  # noqa: ARG002
        _refuse(host)

    def tls(self, host: str) -> ssl.SSLContext:  # noqa: ARG002
        return ssl.create_default_context()

    def spent(self, host: str, n_tokens: int, reason: str) -> None:  # noqa: ARG002
        _refuse(host)

    def on_behalf(self, cause: Cause) -> ClosedEgress:  # noqa: ARG002
        return self


class FixedApprover:
    """A `protocols.Approver` that always gives the same answer and keeps what it was asked."""

    def __init__(self, answer: bool | Reply) -> None:
        """`True` is `once`, `False` is `no`."""
        self.answer: Reply = answer if isinstance(answer, str) else "once" if answer else "no"
        self.questions: list[tuple[str, Ruling]] = []

    def approve(self, question: str, ruling: Ruling) -> Reply:
        self.questions.append((question, ruling))
        return self.answer


@dataclass(frozen=True, slots=True)
class ScriptedSound:
    """What is to be heard in scripted recordings."""

    said: Sequence[Said] = ()
    heard: Sequence[Heard] = ()


class ScriptedFootage:
    """A `protocols.Footage` of scripted recordings and sightings.

    Every sighting of the script is one stretch of one activity; `looked` keeps what was looked at, `shown` what was
    drawn. Pictures are names of files that do not exist.
    """

    def __init__(
        self,
        recordings: Sequence[Recording] = (),
        sightings: Sequence[Sighting] = (),
        *,
        sound: ScriptedSound | None = ScriptedSound(),
        lines: Sequence[WrittenLine] = (),
    ) -> None:
        """Args: sound: None where the recordings have none."""
        self._has_sound = sound is not None
        self._sound, self._lines = sound or ScriptedSound(), tuple(lines)
        self._recordings = tuple(sorted(recordings, key=lambda one: (one.start, one.id)))
        self._sightings = tuple(sorted(sightings, key=lambda one: (one.start, one.id)))
        self._cut: dict[str, Sighting] = {one.id: one for one in self._sightings}
        self.looked: list[tuple[str, dt.datetime, dt.datetime]] = []
        self.shown: list[tuple[tuple[str, ...], bool]] = []
        self._enrolled: dict[str, EnrolledPerson] = {}

    def rooms(self) -> tuple[str, ...]:
        return tuple(sorted({one.room for one in self._recordings}))

    def recordings(
        self, room: str = "", start: dt.datetime | None = None, end: dt.datetime | None = None
    ) -> tuple[Recording, ...]:
        if room and room not in self.rooms():
            raise NotFound(f"no camera is in {room!r}; there are {', '.join(self.rooms())}")
        return tuple(
            one
            for one in self._recordings
            if one.room == (room or one.room)
            and (start is None or one.end > start)
            and (end is None or one.start < end)
        )

    def people(
        self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event
    ) -> tuple[Sighting, ...]:
        if cancelled.is_set():
            raise CancelledError("stopped while looking at video")
        self.recordings(room)
        self.looked.append((room, start, end))
        found = []
        for one in self._sightings:
            if one.room == (room or one.room) and one.end > start and one.start < end:
                cut = dataclasses.replace(one, start=max(one.start, start), end=min(one.end, end))
                self._cut[one.id] = cut
                plain = dataclasses.replace(cut, name="", name_confidence=0.0, activity="", activity_confidence=0.0)
                found.append(plain)
        return tuple(found)

    def named(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        return tuple(dataclasses.replace(one, activity="", activity_confidence=0.0) for one in self.doing(ids))

    def doing(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        for id_ in ids:
            if id_ not in self._cut:
                raise NotFound(f"there is no sighting {id_[:100]!r}")
        return tuple(self._cut[id_] for id_ in ids)

    def pictures(self, ids: Sequence[str], *, shows_strangers: bool = False) -> tuple[str, ...]:
        self.doing(ids)
        self.shown.append((tuple(ids), shows_strangers))
        return tuple(f"/pictures/{id_}.png" for id_ in ids)

    def enrolled(self) -> tuple[EnrolledPerson, ...]:
        return tuple(self._enrolled[name] for name in sorted(self._enrolled))

    def enroll(self, name: str, photo: Path, consent_by: str) -> EnrolledPerson:
        """Take any picture that holds the word `face`."""
        if not name.strip() or not consent_by.strip() or b"face" not in photo.read_bytes():
            raise RequestError(f"{photo.name!r} shows no face that can be recognised; nothing was enrolled")
        before = self._enrolled.get(name)
        n_photos = 1 + (before.n_photos if before else 0)
        self._enrolled[name] = EnrolledPerson(name, n_photos, 0.9, consent_by, FIXED_NOW)
        return self._enrolled[name]

    def forget_face(self, name: str) -> None:
        if self._enrolled.pop(name, None) is None:
            raise NotFound(f"nobody named {name!r} is enrolled")

    def tend(self, now: dt.datetime) -> None:
        """Do nothing: all of the script is kept."""

    def timeline(self, sightings: Sequence[Sighting]) -> str:
        return f"/pictures/timeline-{len(sightings)}.png"

    def said(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Said, ...]:
        if cancelled.is_set():
            raise CancelledError("stopped while listening to video")
        self.recordings(room)
        return tuple(
            one for one in self._sound.said if one.room == (room or one.room) and one.end > start and one.start < end
        )

    def heard(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Heard, ...]:
        if cancelled.is_set():
            raise CancelledError("stopped while listening to video")
        self.recordings(room)
        return tuple(
            dataclasses.replace(one, start=max(one.start, start), end=min(one.end, end))
            for one in self._sound.heard
            if one.room == (room or one.room) and one.end > start and one.start < end
        )

    def has_sound(self, room: str, start: dt.datetime, end: dt.datetime) -> bool:
        self.recordings(room, start, end)
        return self._has_sound

    def spoken(self, path: Path) -> str:
        if not path.exists():
            raise NotFound(f"no file {str(path)!r}")
        return " ".join(one.text for one in self._sound.said)

    def writing(self, picture: bytes) -> tuple[WrittenLine, ...]:
        if not picture:
            raise ToolError("the file is empty; expected a picture")
        return self._lines


class ScriptedPlanner:
    """A `protocols.Planner` with a plan for each request's text; `requests` keeps what it was asked."""

    def __init__(self, plans: Mapping[str, Plan | Refusal], name: str = "scripted") -> None:
        self.name = name
        self._plans = dict(plans)
        self.requests: list[Request] = []

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:  # noqa: ARG002
        self.requests.append(request)
        unknown = Refusal("out_of_scope", f"no plan is scripted for {request.text[:80]!r}", planner=self.name)
        return self._plans.get(request.text, unknown)


def make_call(
    key: str = "k1",
    now: dt.datetime = FIXED_NOW,
    workspace: Workspace | None = None,
    settings: Mapping[str, Mapping[str, Plain]] | None = None,
    memory: Memory | None = None,
    egress: Egress | None = None,
    words: str = "",
    footage: Footage | None = None,
) -> CallContext:
    """Make a `CallContext` for a test: an empty in-memory workspace and memory, a closed network, no settings."""
    return CallContext(
        key=key,
        now=now,
        workspace=InMemoryWorkspace(now=now) if workspace is None else workspace,
        memory=InMemoryMemory() if memory is None else memory,
        egress=ClosedEgress() if egress is None else egress,
        settings=MappingProxyType(dict(settings or {})),
        cancelled=threading.Event(),
        words=words,
        footage=footage,
    )


class ScriptedTeacher:
    """A `protocols.Teacher` with an answer to each request's text; `asked` keeps what it was asked."""

    def __init__(self, answers: Mapping[str, Plan | Refusal], name: str = "scripted") -> None:
        self.name = name
        self.asked: list[str] = []
        self._answers = dict(answers)

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
        for request in requests:
            self.asked.append(request.text)
            unknown = Refusal("unreadable", f"no answer is scripted for {request.text[:80]!r}", planner=self.name)
            answer = self._answers.get(request.text, unknown)
            fits = isinstance(answer, Refusal) or all(step.tool in tools for step in answer.steps)
            yield answer if fits else unknown


class ScriptedExpert:
    """An expert that gives scripted answers one after the other, and repeats the last one."""

    card = ExpertCard("scripted", "anything", "what the script says", "", 0.0, 0, ("It sees nothing.",))

    def __init__(self, *found: object) -> None:
        self._found = list(found)
        self.given: list[object] = []

    def look(self, given: object) -> object:
        self.given.append(given)
        return self._found.pop(0) if len(self._found) > 1 else self._found[0]


class ScriptedSensor:
    """A `protocols.Sensor` with one device: `lamp`, `on` or `off` on `scripted/lamp`, ordered on
    `scripted/lamp/set`."""

    name = "scripted"

    def __init__(self) -> None:
        self._lamp = Thing("lamp", "lamp", "", "lamp", frozenset({"is_on"}), frozenset({"is_on"}))
        self._refused: list[str] = []

    @property
    def things(self) -> Mapping[str, Thing]:
        return {"lamp": self._lamp}

    @property
    def refused(self) -> tuple[str, ...]:
        return tuple(self._refused[-10:])

    def topics(self) -> tuple[str, ...]:
        return ("scripted/lamp",)

    def asks(self) -> tuple[Message, ...]:
        return ()

    def take(self, message: Message, at: dt.datetime) -> tuple[Observation, ...]:
        if message.topic != "scripted/lamp":
            return ()
        if message.payload not in (b"on", b"off"):
            self._refused.append(f"{message.payload[:40]!r} is neither on nor off")
            return ()
        return (Observation("lamp", "is_on", message.payload == b"on", at, "", message.is_retained),)

    def order(
        self,
        thing: str,
        wanted: Mapping[str, bool | float],
        known: Mapping[str, Reading],  # noqa: ARG002
    ) -> tuple[Message, ...]:
        if thing != "lamp":
            raise NotFound(f"no thing {thing!r}; there is: lamp")
        if set(wanted) != {"is_on"}:
            raise ToolError(f"the lamp takes no order for {sorted(wanted)}; it takes is_on")
        return (Message("scripted/lamp/set", b"on" if wanted["is_on"] else b"off"),)


class ScriptedHolder:
    """A `protocols.Holder` of texts by the id of the event of memory that each goes with.

    `texts` is what it still keeps, `swept` what it was asked to sweep for. A person is meant by their name in a text.
    """

    def __init__(self, texts: Mapping[str, str], name: str = "scripted") -> None:
        self.name = name
        self.texts = dict(texts)
        self.swept: list[Held] = []

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:
        sought = [part.casefold() for part in ((wanted.person, wanted.topic) if wanted else ()) if part]
        found = {
            id: text
            for id, text in self.texts.items()
            if id in events
            or (sought and all(part in text.casefold() for part in sought))
            or (words and words.casefold() in text.casefold())
        }
        count = Count(len(found), "scripted text", "scripted texts")
        return Held(self.name, (count,), tuple(found.values()), tuple(found), rows=tuple(found) or None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:  # noqa: ARG002
        for id in held.rows if isinstance(held.rows, tuple) else ():
            self.texts.pop(id, None)

    def sweep(self, home: Path, held: Held) -> None:  # noqa: ARG002
        self.swept.append(held)


class ScriptedDependent(ScriptedHolder):
    """A `protocols.Dependent` holder, too: a text goes with any text of another holder that it repeats."""

    def find_with(self, found: Held, others: Sequence[Held]) -> Held:
        said = [text.casefold() for other in others for text in other.texts]
        repeating = [id for id, text in self.texts.items() if any(one in text.casefold() for one in said)]
        return self.find({*found.events, *repeating}, None, "")


class HashEncoder:
    """A bag-of-words encoder; satisfies `protocols.Encoder`. Each word has a fixed direction drawn from its hash, and a
    text is their sum: texts that share words are near, order and meaning are lost."""

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return unit vectors, shape [n, dim]."""
        if isinstance(texts, str):
            raise TypeError(f"encode takes a list of texts, got one string {texts[:40]!r}; write encode([text])")
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.casefold()):
                vectors[row] += self._direction(word)
            if not vectors[row].any():
                vectors[row] = self._direction("")
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _direction(self, word: str) -> NDArray[np.float32]:
        """Return entries +1 and -1 from the bits of the word's hash, shape [dim]."""
        digest = hashlib.shake_128(word.encode("utf-8", "surrogatepass")).digest((self.dim + 7) // 8)
        bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[: self.dim]
        return bits.astype(np.float32) * 2 - 1
