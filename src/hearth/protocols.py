"""The seams: everything that can be replaced, each one Protocol with the least a replacement must do.

A shipped tool or planner uses only this module, `types`, `errors` and `functions`. Each seam has a double and a
contract test in `hearth.testing`.
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

from hearth.types import (
    OWNER,
    PUBLIC,
    Context,
    Effect,
    Label,
    Plain,
    Plan,
    Referent,
    Refusal,
    Request,
    Ruling,
    Step,
    ToolSpec,
    Whence,
)

if TYPE_CHECKING:
    import sqlite3
    import ssl
    from pathlib import Path

    import httpx
    import numpy as np
    from numpy.typing import NDArray


class Planner(Protocol):
    """Turns a request into a plan. It sees tool descriptions, never tool results."""

    name: str

    def plan(self, request: Request, context: Context, tools: Mapping[str, ToolSpec]) -> Plan | Refusal:
        """Plan `request` with `tools`.

        Returns:
            A plan that has passed `formats.plans`, or a refusal with its reason.
        Raises:
            PlannerError: The planner itself failed (model unreachable, output unusable after repair).
        """
        ...


class Encoder(Protocol):
    """A frozen sentence encoder."""

    dim: int

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed `texts`.

        Returns:
            Unit vectors, shape [n, dim].
        """
        ...


class LanguageModel(Protocol):
    """Any chat model that can be asked for JSON."""

    name: str

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Answer `messages` (`role`, `content`), constrained to JSON `schema` when one is given.

        Raises:
            PlannerError: Unreachable, refused, or not answered in time.
        """
        ...


@runtime_checkable
class SamplingModel(Protocol):
    """A language model that can be asked for several answers at once."""

    name: str

    def sample(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None, n: int = 1
    ) -> tuple[str, ...]:
        """Up to `n` answers, at least one; drawn, so that they may differ.

        Raises:
            PlannerError: As `LanguageModel.complete`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Written:
    """A line a model wrote under a grammar."""

    text: str
    log_probability: float
    """Natural log, among what the grammar allowed."""


@runtime_checkable
class GrammarModel(Protocol):
    """A language model whose writing can be held to a grammar."""

    name: str

    def write(self, messages: Sequence[Mapping[str, str]], grammar: str, n_best: int = 1) -> tuple[Written, ...]:
        """Up to `n_best` different lines of the Lark `grammar`, most probable first, at least one.

        Raises:
            PlannerError: The grammar cannot be used, or no line was finished within length and time.
        """
        ...


class Workspace(Protocol):
    """The owner's folder as tools see it: sandboxed, atomic, journalled, undoable.

    All paths are relative to the folder, with forward slashes. A path that leaves it, by `..`, an absolute path or a
    symlink, raises SandboxError. Every write is atomic (temporary file, fsync, rename), and its before-image is
    journalled under the call's key first, so that a crash in the middle of a call is rolled back and `hearth undo`
    restores it.
    """

    def read(self, path: str) -> bytes:
        """Raises: NotFound: no such file. SandboxError."""
        ...

    def write(self, path: str, data: bytes) -> None:
        """Create or replace a file; parent folders are made. Raises: SandboxError, StoreFullError (nothing changed)."""
        ...

    def delete(self, path: str) -> None:
        """Remove a file (its content stays in the journal until undo is no longer possible). Raises: NotFound."""
        ...

    def exists(self, path: str) -> bool: ...

    def list(self, folder: str = "", pattern: str = "*") -> tuple[str, ...]:
        """Files below `folder` whose name matches `pattern` (fnmatch), sorted; recursive; symlinks that leave the
        folder are left out."""
        ...

    def modified(self, path: str) -> dt.datetime:
        """Time of last change, UTC."""
        ...

    def real_path(self, path: str) -> str:
        """The one path of what `path` leads to, through symlinks and `.`, also of a file that is not there yet.

        Raises:
            SandboxError.
        """
        ...

    def stat(self, path: str) -> FileStat:
        """Size, time and fingerprint of a file without reading it. Raises: NotFound, SandboxError."""
        ...


@dataclass(frozen=True, slots=True)
class FileStat:
    size_bytes: int
    modified: dt.datetime
    """Time of last change, UTC."""
    fingerprint: str
    """Differs between files and whenever the content may have changed (device, inode, size, time in ns): what a cache
    of parsed files is keyed by."""


class Remembering(Protocol):
    """Where what was sensed is put down."""

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Append an event; the same `key` twice appends once.

        Returns:
            The event's id.
        """
        ...


class Memory(Protocol):
    """What the agent remembers (v1: events with full-text search)."""

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Append an event; the same `key` twice appends once.

        Returns:
            The event's id.
        """
        ...

    def search(self, query: str, *, limit: int = 5, now: dt.datetime | None = None) -> tuple[MemoryHit, ...]:
        """Best matches first; empty when nothing matches.

        Args:
            now: The moment from which times in `query` ("last Tuesday") are read; without it they count for nothing.
        """
        ...

    def answer(self, question: str, *, now: dt.datetime) -> Recalled:
        """The answer to `question` as of `now` with what it rests on; what there is on a matter that is only named
        ("Ana's boiler"); or that memory does not say."""
        ...

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """The answer to `question` from everything in the owner's folder; kind `unknown` where nothing says it."""
        ...

    def forget(self, id: str) -> None:
        """Remove an event for good, from the search too. Raises: NotFound: no such event."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryHit:
    id: str
    text: str
    kind: str
    at: dt.datetime
    score: float
    person: str = ""
    """Who said or did it, as it was remembered; empty: the owner, or nobody known."""
    label: Label = OWNER
    """The label it was remembered with."""

    @property
    def is_owners(self) -> bool:
        """Whether it is the owner's own word: a kind that says so counts only of what no stranger may have written."""
        return "owner" in self.label.sources if self.kind == "fact" else self.label.sources <= OWN_SOURCES

    @property
    def speaker(self) -> str:
        """Who said it, for the owner to read: nobody else is called "you", whatever the name that came with it."""
        if self.kind == "observation":
            return self.person or "a sensor"
        if self.is_owners:
            return self.person or "you"
        by = next((said for source, said in _SAID_IN.items() if source in self.label.sources), "somebody")
        if self.person.casefold().split()[:1] and self.person.casefold().split()[0].strip(".,:;!'’") in _OWNER_WORDS:
            return f"“{self.person}” in {by}"
        return self.person or by


_SAID_IN: Mapping[str, str] = {
    "message": "a message",
    "web": "a web page",
    "file": "a file",
    "sensor": "a sensor",
    "model": "a language model",
    "teacher": "a teacher",
}
_OWNER_WORDS = frozenset({"you", "your", "me", "my", "i", "myself", "yourself", "owner", "the"})
OWN_SOURCES = frozenset({"owner", "device"})
"""Sources of what the owner said or had remembered; anything else is another's word."""


RecalledKind = Literal["fact", "said", "time", "ago", "span", "order", "listed", "unknown"]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What memory says to a question."""

    kind: RecalledKind
    """`listed`: what there is on a matter, `text` is empty; `unknown`: memory does not say."""
    text: str
    """The answer alone; of `unknown`, why there is none."""
    evidence: tuple[MemoryHit, ...] = ()
    """What it rests on, best first; of `unknown`, nothing."""
    chance: float = 1.0
    """That the evidence answers the question, in [0, 1]."""
    label: Label = PUBLIC
    """The labels of all that the answer rests on, joined."""


ValueKind = Literal["text", "yesno", "number", "amount", "date", "list", "unknown"]


@dataclass(frozen=True, slots=True)
class Witness:
    """A place in the owner's things on which an answer rests."""

    record: str
    """Id of the mail, note, event or card as its tool names it; of a document, its path."""
    where: str
    """The place in words: `mail “Tax return” from Hugh Dunn, Wednesday 18 November 2026`."""
    quote: str
    source: str
    """Who may have written it, as a label's source."""
    at: dt.datetime | None = None
    value: str = ""
    """What it answers, where that is not what the answer says."""
    label: Label = PUBLIC
    """Of something remembered: the label that it was remembered with."""
    kind: str = ""
    """`event`, `reminder` or `note`, where the record is one that Hearth may have made itself; else empty."""
    is_strangers: bool = False
    """Whether somebody may have written it whom the owner has no card of."""


@dataclass(frozen=True, slots=True)
class HomeAnswer:
    """What the owner's own things say to a question."""

    kind: ValueKind
    value: str
    """The answer alone; of `unknown`, empty."""
    looked: str = ""
    """Of `unknown`: where it was looked for."""
    witnesses: tuple[Witness, ...] = ()
    """What it rests on, best first; other records that say something else come behind it."""
    chance: float = 1.0
    """That this is the answer, in [0, 1]."""
    nearest: tuple[Witness, ...] = ()
    """Of `unknown`: the places that come nearest to an answer, likeliest first, without a quote where a stranger may
    have written it; empty where none is near."""
    is_reckoned: bool = False
    """Whether it was worked out over records, and stands in none of them."""
    is_named: bool = False
    """Whether the first place it rests on names what was asked about."""
    left_out: tuple[str, ...] = ()
    """Places that were not counted, as their words read like an instruction."""
    waiting: tuple[str, ...] = ()
    """Of `unknown`: the names of files and folders that are not read before they are imported."""
    at: dt.datetime | None = None
    """The first day of a month, with its time if one is said, that the answer names; else the only one that the words
    name on which it rests."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A stretch of video by one camera."""

    id: str
    camera: str
    room: str
    start: dt.datetime
    end: dt.datetime
    is_indexed: bool


@dataclass(frozen=True, slots=True)
class Sighting:
    """One person in view for a while, or for as long as they did one thing."""

    id: str
    camera: str
    room: str
    start: dt.datetime
    end: dt.datetime
    confidence: float
    """That it is a person; in [0, 1]."""
    name: str = ""
    """Of an enrolled person; empty: unknown."""
    name_confidence: float = 0.0
    activity: str = ""
    """Empty: not told."""
    activity_confidence: float = 0.0


@dataclass(frozen=True, slots=True)
class Said:
    """Something said within hearing of a camera, as a recogniser understood it."""

    text: str
    start: dt.datetime
    end: dt.datetime
    room: str
    confidence: float
    """That the words are right, on average; in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A sound within hearing of a camera."""

    name: str
    """`silence`, `speech`, `loud`, `knock`, `ring`."""
    start: dt.datetime
    end: dt.datetime
    room: str


@dataclass(frozen=True, slots=True)
class WrittenLine:
    """A line of writing in a picture."""

    text: str
    confidence: float
    """In [0, 1]."""


@dataclass(frozen=True, slots=True)
class EnrolledPerson:
    """Somebody who is recognised in home video, as the owner sees it."""

    name: str
    n_photos: int
    quality: float
    """Of the best photo, in [0, 1]."""
    consent_by: str
    """Who said yes: themselves, or somebody who may for a child."""
    consent_at: dt.datetime
    looks_like: tuple[str, ...] = ()
    """Just enrolled: others so alike that neither may be named by the face alone."""


class Footage(Protocol):
    """Home video as tools see it, and the eyes and ears it is understood with.

    Whatever is asked about a time that was not looked at or listened to yet is looked at or listened to first.
    """

    def rooms(self) -> tuple[str, ...]:
        """Rooms that have a camera."""
        ...

    def recordings(
        self, room: str = "", start: dt.datetime | None = None, end: dt.datetime | None = None
    ) -> tuple[Recording, ...]:
        """Those of a room (empty: of all) that overlap a time, in order.

        Raises:
            NotFound: No camera has that room; the message names those that are.
        """
        ...

    def people(
        self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event
    ) -> tuple[Sighting, ...]:
        """Everyone seen between two times, cut to them, in order; neither named nor told what they do.

        Raises:
            NotFound: As `recordings`. ToolError: A recording cannot be read, or the experts are not installed.
            CancelledError: `cancelled` was set; what was looked at so far is kept.
        """
        ...

    def named(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        """The same sightings with names, by the people who are enrolled now. Raises: NotFound: No such sighting."""
        ...

    def doing(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
        """The same with names and activities, a sighting for each stretch of one activity. Raises: NotFound."""
        ...

    def pictures(self, ids: Sequence[str], *, shows_strangers: bool = False) -> tuple[str, ...]:
        """Files with one annotated picture of each sighting: boxes, names, skeletons.

        Args:
            shows_strangers: Leave the faces of unknown people as they are instead of blurring them.
        Raises:
            NotFound: No such sighting, or its recording is gone.
        """
        ...

    def enrolled(self) -> tuple[EnrolledPerson, ...]:
        """Who is recognised, by name."""
        ...

    def enroll(self, name: str, photo: Path, consent_by: str) -> EnrolledPerson:
        """Recognise somebody from a photo that shows their face alone; the photo is read once and not kept.

        Raises:
            RequestError: No name, nobody who said yes, or a photo without just one good face; nobody was enrolled.
            MissingExtraError: The expert is not installed.
        """
        ...

    def forget_face(self, name: str) -> None:
        """Forget somebody's face for good. Raises: NotFound: Nobody of that name is enrolled. StoreFullError."""
        ...

    def timeline(self, sightings: Sequence[Sighting]) -> str:
        """File with a picture of who was where when, doing what."""
        ...

    def said(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Said, ...]:
        """Everything said between two times, whole where it reaches beyond them, in order; by whom is not known.

        Raises:
            As `people`. Recordings without sound hold nothing.
        """
        ...

    def heard(self, room: str, start: dt.datetime, end: dt.datetime, cancelled: threading.Event) -> tuple[Heard, ...]:
        """Sounds between two times, cut to them, in order. Raises: As `people`."""
        ...

    def has_sound(self, room: str, start: dt.datetime, end: dt.datetime) -> bool:
        """Whether any recording of a time has a track of sound. Raises: NotFound: As `recordings`."""
        ...

    def tend(self, now: dt.datetime) -> None:
        """Let go of what is older than the owner keeps, for a moment; what is not done now is left for later."""
        ...

    def spoken(self, path: Path) -> str:
        """What is said in a file of sound, as a recogniser understood it: a request that was recorded.

        Raises:
            NotFound: No such file, or nothing is said in it. ToolError: It is no sound, or too long.
            MissingExtraError: The experts are not installed.
        """
        ...

    def writing(self, picture: bytes) -> tuple[WrittenLine, ...]:
        """What is written in the picture that a file holds, from the top down.

        Raises:
            ToolError: It is no picture that can be read, or the reader is not installed.
        """
        ...


Given = TypeVar("Given", contravariant=True)
Found = TypeVar("Found", covariant=True)


@dataclass(frozen=True, slots=True)
class ExpertCard:
    """An expert as its users should know it."""

    name: str
    takes: str
    """What it is given, in words, with its type."""
    gives: str
    extra: str
    """The extra of this package that installs what it needs; empty: nothing beyond the core."""
    cpu_ms: float
    """Of one core, for one of what it is given, as measured."""
    memory_bytes: int
    cannot: tuple[str, ...]
    """What it is not able to do, a sentence each."""


class Expert(Protocol[Given, Found]):
    """A model that looks or listens, offline, on the processor. Made at no cost; loads its model when first used."""

    card: ExpertCard

    def look(self, given: Given) -> Found:
        """What it finds.

        Raises:
            MissingExtraError: What it needs is not installed; says the pip command.
        """
        ...


Reading: TypeAlias = "bool | float | str"
"""What a sensor can say: yes or no, a number, a few words."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a message broker carries."""

    topic: str
    payload: bytes
    is_retained: bool = False
    """It was kept by the broker: it says how things were, not that they just became so."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A sensor's reading in the common form."""

    thing: str
    """Id of the thing that said it."""
    quantity: str
    """One of `SETTABLE`, `reachable`, `moving` (`opening`, `closing`), or what is measured: `temperature`."""
    value: Reading
    at: dt.datetime
    unit: str = ""
    is_retained: bool = False


SETTABLE = ("is_on", "brightness", "volume", "set_temperature", "position", "is_locked")
"""Quantities that can be ordered, too. Brightness, volume and position are percent, `set_temperature` degrees Celsius;
a position of 100 is open."""


@dataclass(frozen=True, slots=True)
class Thing:
    """A device or sensor of the home, as it was announced on a broker."""

    id: str
    name: str
    """Words of whoever announced it: never instructions, never shown to a planner."""
    room: str
    kind: str
    """As in `[[home.device]]`; `sensor` for what only tells."""
    settable: frozenset[str] = frozenset()
    confirms: frozenset[str] = frozenset()
    """Of what is settable, what it says back."""
    reads: frozenset[str] = frozenset()
    """What it measures."""


class Sensor(Protocol):
    """What speaks for things of a home on a message broker: what to listen to, what the messages say, and which
    messages order a thing to change. It opens no connection."""

    name: str

    @property
    def things(self) -> Mapping[str, Thing]:
        """Those known so far, by id."""
        ...

    @property
    def refused(self) -> tuple[str, ...]:
        """What was said and not taken, with the reason; the last few only."""
        ...

    def topics(self) -> tuple[str, ...]:
        """What to listen to; may grow with every message taken."""
        ...

    def asks(self) -> tuple[Message, ...]:
        """What makes things say how they are, and changes nothing."""
        ...

    def take(self, message: Message, at: dt.datetime) -> tuple[Observation, ...]:
        """What a message says. Never raises: what is garbled, too large or too much is `refused`."""
        ...

    def order(
        self, thing: str, wanted: Mapping[str, bool | float], known: Mapping[str, Reading]
    ) -> tuple[Message, ...]:
        """Messages that order a thing to become so.

        Args:
            known: How it is, as far as it said.
        Raises:
            NotFound: No such thing. ToolError: It cannot be set that way, and what it can; nothing is to be sent.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cause:
    """On whose behalf something leaves: the step of the plan, what its data are, under which rule it runs."""

    step: int | None = None
    tool: str = ""
    effect: Effect = "none"
    """What a step sends whose effect is a change or a sending was ruled on with the plan, by name and value."""
    rule: str = ""
    label: Label = PUBLIC
    """Of all the call was handed: what it sends can hold no more."""


SECRET_PATH = "hearth_secret_path"  # noqa: S105 - the name of an extension
"""Extension of a GET request whose path is a secret, as that of a calendar published for its owner alone: what is
recorded of it is a digest."""


class Egress(Protocol):
    """The only door to the network. Closed unless the owner's policy names the host."""

    def transport(self, reason: str, *, is_web: bool = False) -> httpx.BaseTransport:
        """An httpx transport that refuses hosts not in policy and writes every request into the ledger first.

        Args:
            is_web: The addresses asked for may be a stranger's words: public hosts over TLS only.
        Raises (on use):
            EgressError: The host is not allowed, may not read the data, or its budget is used up; nothing was sent.
        """
        ...

    def permit(self, host: str, port: int, reason: str) -> AbstractContextManager[None]:
        """Let a library that opens its own sockets (IMAP, SMTP) reach one host while the block runs.

        Raises:
            EgressError: As for `transport`; nothing was sent.
        """
        ...

    def record(self, host: str, payload: bytes, reason: str, *, tls: str = "") -> None:
        """Write down bytes that a library is about to send inside a permit.

        Args:
            tls: Version and cipher of its connection, where known.
        Raises:
            EgressError: As for `transport`; they must not be sent.
        """
        ...

    def tls(self, host: str) -> ssl.SSLContext:
        """For a library that opens its own sockets: certificates checked, with the authority the owner trusts for this
        host beside the public ones."""
        ...

    def spent(self, host: str, n_tokens: int, reason: str) -> None:
        """Write down what an answer cost, towards the host's budget."""
        ...

    def on_behalf(self, cause: Cause) -> Egress:
        """The same door for one call; only the guard's monitor says whose."""
        ...


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a tool gets beside its arguments."""

    key: str
    """Idempotency key: the same for every attempt at this step, also after a crash. Derive record ids from it."""
    now: dt.datetime
    """When the step first started, with the owner's time zone; the same on a resumed attempt."""
    workspace: Workspace
    memory: Memory
    egress: Egress
    settings: Mapping[str, Mapping[str, Plain]]
    """Tool settings from `hearth.toml`, by table name (`mail`, `calendar`, `owner`); secrets already resolved."""
    cancelled: threading.Event
    """Set when the owner stops the run or the step timed out: a long tool looks at it between units of work."""
    notices: list[str] = field(default_factory=list)
    """A tool adds sentences that the owner must see beside the result: what was left out (an unreadable file, more than
    can be listed) or is not current (the server was unreachable). Fresh for every call."""
    footage: Footage | None = None
    """The owner's video; None where the caller has none to give."""
    words: str = ""
    """The owner's own words that the step serves, where the plan holds them."""
    origins: dict[str, str] = field(default_factory=dict)
    """A tool notes records of its result that come from elsewhere than its spec says: id → source (an invitation is a
    `message` in a calendar). Fresh for every call."""
    rests_on: dict[tuple[str, str], str] = field(default_factory=dict)
    """A tool notes records of other tools that its result rests on: domain and id → the source that counts unless
    Hearth is known to have made the record. Fresh for every call."""
    contents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """A tool notes digests of all that records of its result say on the disk: id → as it was found, and as it was left
    where it was changed. One that another program wrote since Hearth did is another program's. Fresh for every call."""
    whence: list[Whence] = field(default_factory=list)
    """A tool notes the records of strangers that its result comes from, so that a question can name them. Fresh for
    every call."""
    unconfirmed: frozenset[str] = frozenset()
    """Ids of contacts that turned up without the owner: of several that fit, they are not the one that is meant."""

    def serving(self, words: str) -> CallContext:
        """Return the context of a step that serves these words of the owner's."""
        return self._with(words, self.egress, self.memory, self.unconfirmed)

    def guarded(self, egress: Egress, memory: Memory, unconfirmed: frozenset[str]) -> CallContext:
        """Return the context as a tool gets it: with what the guard puts in place of the way out and of memory."""
        return self._with(self.words, egress, memory, unconfirmed)

    def _with(self, words: str, egress: Egress, memory: Memory, unconfirmed: frozenset[str]) -> CallContext:
        return CallContext(  # each call needs two: `dataclasses.replace` takes six times as long
            self.key, self.now, self.workspace, memory, egress, self.settings, self.cancelled, self.notices,
            self.footage, words, self.origins, self.rests_on, self.contents, self.whence, unconfirmed,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the owner wants forgotten; all conditions that are given must hold."""

    person: str = ""
    """Who said it, or is named in it."""
    since: dt.datetime | None = None
    until: dt.datetime | None = None
    """Exclusive."""
    topic: str = ""
    """Words that must all occur, small ones aside; or what they mean."""

    @property
    def is_empty(self) -> bool:
        return not (self.person or self.topic or self.since or self.until)


@dataclass(frozen=True, slots=True)
class Count:
    """A number of things, with their name."""

    n: int
    one: str
    many: str

    def __str__(self) -> str:
        return f"{self.n} {self.one if self.n == 1 else self.many}"


@dataclass(frozen=True, slots=True)
class Held:
    """The part of what is wanted forgotten that one holder keeps."""

    holder: str
    counts: tuple[Count, ...] = ()
    """What would be removed, by name, for the question and the receipt."""
    texts: tuple[str, ...] = ()
    """Words that it keeps: shown first, and looked for in all files afterwards."""
    events: tuple[str, ...] = ()
    """Ids of memory's events that go with it."""
    stays: str = ""
    """What is left on purpose, as the receipt says it."""
    rows: object = None
    """The holder's own account of what to remove; None where nothing is."""

    @property
    def is_empty(self) -> bool:
        return not any(count.n for count in self.counts)


class Holder(Protocol):
    """A store of the owner's data that takes part in forgetting."""

    name: str

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:
        """Find what is kept of events of memory, of what is wanted, and of words.

        Args:
            events: Ids of events that go.
            words: Looked for in any case, beside `wanted`; empty for none.
        """
        ...

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove from the database what `find` found, inside the caller's transaction."""
        ...

    def sweep(self, home: Path, held: Held) -> None:
        """Remove files that show what is found; called before the transaction, so that none outlives it."""
        ...


@runtime_checkable
class Dependent(Protocol):
    """A holder of what was made from, repeats or rests on what other holders keep: it is asked again once they were."""

    def find_with(self, found: Held, others: Sequence[Held]) -> Held:
        """Return `found`, widened by what goes with what the others found; `found` itself where nothing does.

        Args:
            found: What `find` of this holder returned.
            others: What the others found: their `texts`, and in `events` the ids of memories and requests that go.
        """
        ...


@runtime_checkable
class Tool(Protocol):
    """Something the agent can call. Only the guard's monitor calls it."""

    spec: ToolSpec

    def call(self, arguments: Mapping[str, object], context: CallContext) -> object:
        """Do the work.

        Args:
            arguments: By parameter name, already decoded to the Python type of the parameter (`datetime`, `date`,
                `timedelta`, `str`, …); absent optional ones are left out.
        Returns:
            Data that `formats.tool_signature.to_plain` can encode: JSON types, dates, durations, frozen dataclasses,
            lists of them.
        Raises:
            ToolError: It could not be done; the owner's data are as before.
        """
        ...

    def undo(self, arguments: Mapping[str, object], result: Plain, context: CallContext) -> None:
        """Compensate an effect outside the workspace (a draft on a server, an event in a remote calendar).

        Changes made through `CallContext.workspace` are undone by the journal and need nothing here.

        Args:
            arguments: As in the call.
            result: What the call returned.
            context: With the key of the call that is undone; its workspace has been restored by the journal already.

        Raises:
            ToolError: It cannot be undone, and why.
        """
        ...


Resolver: TypeAlias = Callable[[object, CallContext, Mapping[str, object]], "Referent | tuple[Referent, ...] | None"]
"""Finds what an argument names: the decoded value (of a list, one item), a context that can neither send nor write, and
the arguments before it, resolved. Several referents where several are meant; None where only the call itself can tell.
Raises ToolError as the tool would: NotFound where there is none, Ambiguous where the owner must say which."""


@runtime_checkable
class Resolving(Protocol):
    """A tool that says how arguments which name a thing are resolved to it, before anything is judged."""

    resolvers: Mapping[str, Resolver]
    """By parameter name. The tool is then handed the referent's id (several: a line each, where it takes one text)."""


@runtime_checkable
class Reverting(Protocol):
    """A tool that says what taking one of its calls back amounts to, so that this is judged, too: a lock that is set
    back opens a door."""

    def undo_steps(self, result: Plain) -> tuple[Step, ...]:
        """Return the calls, with literals, that would do the same as taking back the call with this result."""
        ...


Reply = Literal["once", "always", "no", "never", "nobody"]
"""What the owner says to a question: yes this time, yes to all like it (for a while), no, never; or that there is
nobody to ask."""


class Approver(Protocol):
    """Asks the owner, once per plan, and again only where something turns out different."""

    def approve(self, question: str, ruling: Ruling) -> Reply:
        """Show `question` and wait for an answer. Without anyone to ask, answer `nobody` at once."""
        ...


class Teacher(Protocol):
    """Labels requests with plans for the student to learn from."""

    name: str

    def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterable[Plan | Refusal]:
        """One answer per request, in order; a request is asked about when its answer is taken. Never raises for one.

        Returns:
            Plans that call offered tools only. A refusal of kind `out_of_scope` says that no tool serves the request;
            of any other kind, that there is no answer, and why: nothing is learnt from it. Where nobody was asked, its
            `planner` is empty.
        """
        ...


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a trained model says of one request."""

    tools: Mapping[str, float]
    """Chance that the tool is in the plan; those below about 0.01 are left out."""
    sequences: tuple[tuple[tuple[str, ...], float], ...]
    """Its beam: tools in order with log-probability, best first."""
    link: Mapping[tuple[str, str], float]
    """Log-probability that the second tool directly follows the first, for likely pairs; `""` stands for the end."""


class Proposer(Protocol):
    """A trained model that proposes plans, for the student to weigh beside what else it knows."""

    fingerprint: str
    """Says which model it is: what was fitted on one's proposals is not used with another's."""

    def propose(self, texts: Sequence[str]) -> list[Proposal]:
        """One proposal for each request."""
        ...
