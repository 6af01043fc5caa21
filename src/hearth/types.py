"""The core types of Hearth: immutable values that every other module may use.

Only the standard library is imported here. Values have no behaviour beyond what follows from their own fields; reading
files, calling models and deciding what is allowed live elsewhere.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NewType, TypeAlias

# ── Argument and result types ─────────────────────────────────────────────────────────────────────────────

EmailAddress = NewType("EmailAddress", str)
PhoneNumber = NewType("PhoneNumber", str)
Url = NewType("Url", str)
PersonName = NewType("PersonName", str)
FilePath = NewType("FilePath", str)
"""A path inside the owner's folder, relative to it, with forward slashes."""

TYPE_NAMES = (
    "text", "integer", "number", "boolean", "date", "time", "datetime", "duration", "EmailAddress", "PhoneNumber",
    "Url", "PersonName", "FilePath", "any",
)  # fmt: skip
"""Type names a parameter or a result field may have. Any other name (`EventId`, `Mail`) is nominal: it fits only
itself. `list[X]` is a list of X. Public tool files use free names (`string`, `str`, `float`); `types.canonical_type`
maps the usual spellings and leaves the rest nominal."""

NAMING_TYPES = frozenset({"EmailAddress", "PhoneNumber", "Url", "FilePath"})
"""Types whose values name a thing, as every nominal type does."""
_SPELLINGS = {
    "string": "text", "str": "text", "int": "integer", "float": "number", "double": "number", "bool": "boolean",
    "array": "list[any]", "list": "list[any]", "object": "any", "dict": "any", "email": "EmailAddress",
    "phone": "PhoneNumber", "url": "Url", "timedelta": "duration", "enum": "text",
    **{name: name for name in ("text", "integer", "number", "boolean", "date", "time", "datetime", "duration", "any")},
}  # fmt: skip


def canonical_type(name: str) -> str:
    """Map the usual spellings of a type (`string`, `Number`, `array`) to Hearth's name; leave others as they are."""
    return _SPELLINGS.get(name.strip().lower(), name.strip())


Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""Values that pass between steps and into files: JSON's types and nothing else. Dates are ISO 8601 text, durations ISO
8601 (`PT90M`), so that a plan resumed from disk sees exactly what a live one saw."""

# ── Information-flow labels ───────────────────────────────────────────────────────────────────────────────

ANYONE: None = None


@dataclass(frozen=True, slots=True)
class Label:
    """The sources of a value and who may read it (Denning 1976): never an ML target.

    `sources` grows and `readers` shrinks when values are combined: see `join`.
    """

    sources: frozenset[str] = frozenset()
    """Origins: `owner` (typed by the owner), `device` (records made here), `contacts` (cards the owner keeps),
    `message` (incoming mail, chat or invitation), `web`, `file` (what was found on the disk), `sensor`, `teacher`,
    `model`, `memory`, or `tool:NAME`."""
    readers: frozenset[str] | None = ANYONE
    """Readers who may see the value; None is anyone, an empty set is nobody but this device."""

    def join(self, other: Label) -> Label:
        """Return the least label that is at least as restrictive as both. Associative, commutative, idempotent."""
        if other.sources <= self.sources and other.readers == self.readers:
            return self  # the usual case, at a third of the cost
        if self.readers is None:
            readers = other.readers
        elif other.readers is None:
            readers = self.readers
        else:
            readers = self.readers & other.readers
        return Label(self.sources | other.sources, readers)

    @property
    def is_trusted(self) -> bool:
        """True when every source is one that only the owner can write; an unknown source is not."""
        return self.sources <= TRUSTED_SOURCES

    @property
    def strangers(self) -> frozenset[str]:
        """The sources that a stranger can write."""
        return self.sources - TRUSTED_SOURCES


TRUSTED_SOURCES = frozenset({"owner", "device", "contacts"})
"""Sources that only the owner writes. Any other, including unknown names, may be a stranger's."""
UNTRUSTED_SOURCES = frozenset({"message", "web", "file", "sensor", "teacher", "model", "memory", "injection"})
"""Sources that a stranger can write. Memory is one: what was remembered may have been a stranger's words. `injection`
marks a suspicion rather than a place: a text that reads like an instruction (`guard.injection`)."""
OWNER = Label(frozenset({"owner"}), frozenset())
PUBLIC = Label()

# ── Requests and what is known when planning ──────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Record:
    """A thing that the owner pointed at: "the second one" of an answer, or of several that fit a name."""

    kind: str
    """Type of the record's id, e.g. `EventId`; of one of several that fit a name, the type of that name."""
    id: str
    """Its id, or all that it is called: never a part of the request's text, as others may have written it."""
    words: str = ""
    """The words of the request that stand for it ("the event", "Anna"); empty: none do."""

    @property
    def is_name(self) -> bool:
        """Whether `id` is what a thing is called, and stands for it only where the request named it so."""
        return not self.kind.endswith("Id") and self.kind != "FilePath"

    def is_said_in(self, text: str) -> bool:
        """Whether a text still says what stands for it."""
        return bool(self.words) and re.search(rf"(?<!\w){re.escape(self.words)}(?!\w)", text, re.IGNORECASE) is not None


@dataclass(frozen=True, slots=True)
class Request:
    """A request, of the owner or of a program."""

    text: str
    now: dt.datetime
    """Time of the request, with time zone; all relative times are read against it."""
    id: str = ""
    """The caller's own name for it (a line of a file), kept in the trace; may be empty."""
    said: str = ""
    """Text as typed, when `text` is its fuller reading in the light of the request before; with an empty `text`, what
    pressing a button does, in words that nobody said."""
    records: tuple[Record, ...] = ()
    """Things that the owner pointed at and that the request is about."""
    revises: str = ""
    """Episode whose changes are taken back before this is done; with an empty `text`, that is all."""
    asked_by: str = ""
    """Name of the program that asks; empty: the owner. What a program asks is no part of the owner's conversation, and
    nothing is learnt from it."""

    @property
    def typed(self) -> str:
        """The words as the owner typed them."""
        return self.said or self.text

    @property
    def is_pressed(self) -> bool:
        """Whether it is the press of a button: its words may be a stranger's (a reminder's, a device's name), so they
        are shown, and neither read again nor remembered nor learnt from."""
        return bool(self.said) and not self.text and not self.revises


@dataclass(frozen=True, slots=True)
class Entity:
    """Something the owner knows by name: a person in the contacts, a room, a list."""

    name: str
    kind: str
    """`person`, `room`, `file`, …"""
    aliases: tuple[str, ...] = ()
    """Other words for it, first name and nickname included."""


@dataclass(frozen=True, slots=True)
class Context:
    """The data a planner may see besides the request. It never holds the contents of mails, files or web pages."""

    owner: str = ""
    entities: tuple[Entity, ...] = ()
    country: str = ""
    """ISO 3166 code for phone numbers written without a country, e.g. `DE`; empty when unknown."""


# ── Tools as they are described to planners and policies ──────────────────────────────────────────────────

Effect = Literal["none", "change", "send"]
"""`none` reads only; `change` alters the owner's own data on this device (undoable); `send` lets something leave
the device or cannot be taken back."""


WORDING = frozenset({
    "text", "body", "content", "message", "subject", "title", "description", "note", "comment", "summary", "items",
    "place",
})  # fmt: skip
"""Names of text parameters that hold words to be written. Any other text names what is acted on (`device`, `list`)."""


@dataclass(frozen=True, slots=True)
class Referent:
    """The one thing that an argument names, however it is spelled: what rules, consents and questions are about."""

    id: str
    """Canonical identity, and what the tool is handed in place of the words: a real path, an address, a record's id."""
    name: str = ""
    """The thing as people tell it from others: title and time, path below the documents. Empty: the id."""
    spellings: tuple[str, ...] = ()
    """Other texts that name this thing and no other."""
    aliases: tuple[str, ...] = ()
    """Texts that name it and perhaps others, such as a file's name; a rule that allows does not heed them."""
    text: str = ""
    """What is sent or set with it and its name does not say, such as the text of a draft: shown in whole."""
    state: tuple[tuple[str, str], ...] = ()
    """What else of it may change, such as a file's size and time, with what it is now. Not shown; a yes is to the thing
    as it was, and where that has changed since, the change is."""
    sets_off: tuple[Step, ...] = ()
    """Calls of other tools that using it amounts to, with literals: what a scene sets. Rules about them hold for it."""
    told: tuple[str, ...] = ()
    """Addresses that somebody's server writes to by itself when this is changed: a change of it is sent."""
    addressed: tuple[str, ...] = ()
    """Addresses that it goes to when it is sent: the recipients of a draft as they are now, whoever wrote them; of a
    mail that is answered, whom the answer is written to."""

    @property
    def said(self) -> str:
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    type: str
    description: str = ""
    is_required: bool = True
    default: Any = None
    enum: tuple[str, ...] = ()
    unit: str = ""
    is_sink: bool = False
    """True for a recipient, address or target: such a value decides where data goes, so the monitor checks its
    sources."""
    is_resolved: bool = False
    """True when its tool resolves what it names to a `Referent`."""
    level_or: str = ""
    """Parameter that says how this number is meant: `to` a level, or `up_by` or `down_by` so much from what it is."""

    @property
    def names_a_thing(self) -> bool:
        """True when the value names what is acted on, in words that may be spelled in many ways."""
        kind = self.type[5:-1] if self.type.startswith("list[") else self.type
        if self.enum:
            return False
        if kind == "text":
            return self.is_sink or self.name not in WORDING
        return kind in NAMING_TYPES or kind not in TYPE_NAMES


@dataclass(frozen=True, slots=True)
class FieldOrigin:
    """The origin of one field of a result, where it differs from that of the whole result."""

    source: str = ""
    """Source of the field; empty: the tool's."""
    made_of: tuple[str, ...] | None = None
    """Parameters that the field is made of, so that labels of others do not flow into it; None: all."""
    same_as: str = ""
    """Field whose label this one shares: a draft's id is as trusted as the recipients it stands for."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the planner, the policy and the owner see it, without its code."""

    name: str
    description: str
    parameters: tuple[Parameter, ...] = ()
    returns: str = "any"
    """Type name of the result, e.g. `list[Event]`."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """For a record (or a list of records): field name → type name."""
    effect: Effect = "none"
    source: str = "device"
    """Source label of the tool's results, in addition to those of its arguments."""
    origins: Mapping[str, FieldOrigin] = field(default_factory=dict)
    """Origins of fields that differ from that of the whole result."""
    unconfirmed: str = ""
    """Source of a record that the owner neither made through Hearth nor confirmed; empty: as `source`."""
    domain: str = ""
    timeout_s: float = 30.0
    n_retries: int = 0
    """Number of retries after a `TransientToolError`."""
    is_idempotent: bool = True
    """True when calling twice with the same `CallContext.key` has one effect. A `send` tool that cannot promise this is
    False: after a crash it is reported, never repeated."""
    examples: tuple[str, ...] = ()
    """Requests that this one tool serves, in an owner's words; they help retrieval on the first day."""
    answer: str = ""
    """Template for telling a result to the owner, over the record's fields (`Reminder set: {text}, {at}.`); used for
    one record and for each record of a list; `{value}` is a result that is no record. Empty: fields are listed."""
    answer_none: str = ""
    """Text for an empty list or None, e.g. `No events found.` Without it, the notices of that call are the answer."""
    field_texts: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of the result's fields, where the tool's file gives them."""

    def parameter(self, name: str) -> Parameter | None:
        return next((p for p in self.parameters if p.name == name), None)


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Ref:
    """The result of an earlier step, or a field of it: `<node-2.email>` is `Ref(2, ("email",))`."""

    step: int
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"<node-{'.'.join((str(self.step), *self.path))}>"


Argument: TypeAlias = "bool | int | float | str | Ref | list[Argument] | dict[str, Argument] | None"


@dataclass(frozen=True, slots=True)
class Whence:
    """A record from which a value comes that a stranger may have written."""

    source: str
    """As in a label: `message`."""
    record: str = ""
    """Id of the record of a result that it is about; empty: of all of it."""
    kind: str = ""
    """What it is, as a person calls it: `mail`; empty: which record it is, is not known."""
    title: str = ""
    by: str = ""
    """The writer's address, else name."""
    at: dt.datetime | None = None
    """With the owner's time zone."""


BETWEEN_TEXTS = "\n\n"
"""Stands between the texts of an argument that is one text and is given as several."""


@dataclass(frozen=True, slots=True)
class Step:
    """One node of a plan. Its name (`node-k`) is its position in `Plan.steps`."""

    tool: str
    arguments: Mapping[str, Argument] = field(default_factory=dict)
    after: tuple[int, ...] = ()
    """Steps that must finish first although no data comes from them."""
    text: str = ""
    """Words of the request that the step serves, or a sentence saying what it does."""
    replaces: int | None = None
    """In a repaired plan: the earlier step that ended badly and that this one replaces."""
    unsaid: Mapping[str, str] = field(default_factory=dict)
    """Arguments that another planner made up, with their source (`teacher`, `model`): the request does not say their
    literals. All other literals are the owner's words."""
    said_in: Mapping[str, Whence] = field(default_factory=dict, compare=False)
    """Of such arguments: the record that says the literal, where one does. It is shown to the owner and never written
    down with the plan, which may be learnt from and shared."""

    def refs(self) -> tuple[Ref, ...]:
        """All references in the arguments, in order, including those in lists."""
        found: list[Ref] = []
        for value in self.arguments.values():
            if isinstance(value, Ref):
                found.append(value)
            elif not isinstance(value, str) and isinstance(value, list | dict):
                found.extend(_refs_within(value))
        return tuple(found)

    def needs(self) -> frozenset[int]:
        """Indices of the steps that must be done before this one."""
        refs = self.refs()
        return frozenset((*self.after, *[ref.step for ref in refs])) if refs or self.after else _NOTHING

    def given(self, arguments: Mapping[str, Argument]) -> Step:
        """Return the step with these arguments in place of its own."""
        return Step(self.tool, arguments, self.after, self.text, self.replaces, self.unsaid, self.said_in)


_NOTHING: frozenset[int] = frozenset()


def _refs_within(value: list[Argument] | dict[str, Argument]) -> list[Ref]:
    """Return the references in a value of several parts, however deep: a plan is data, and may be hostile."""
    found: list[Ref] = []
    waiting: list[Argument] = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, Ref):
            found.append(inner)
        elif isinstance(inner, list):
            waiting.extend(inner[::-1])
        elif isinstance(inner, dict):
            waiting.extend(list(inner.values())[::-1])
    return found


@dataclass(frozen=True, slots=True)
class Offer:
    """The nearest thing Hearth can do in place of something it cannot."""

    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A DAG of steps. A plan is data: it is checked by `formats.plans` and ruled on by the guard before it
    runs.
    """

    steps: tuple[Step, ...]
    confidence: float = 0.0
    """Confidence in [0, 1]; calibrated where the planner can."""
    planner: str = ""
    rests_on: tuple[str, ...] = ()
    """Ids of the demonstrations that the plan was made from."""
    unserved: tuple[str, ...] = ()
    """Parts of the request that no step serves, in the owner's words; the answer says so."""
    ignored: tuple[str, ...] = ()
    """Words of a request to look something up that went into no look-up, as they were said; the answer says so."""
    offer: Offer | None = None
    """With `unserved`: the nearest thing offered for those parts."""
    expected_f1: float | None = None
    """Expected share of correct tools (Node-F1), where the planner weighed several plans; in [0, 1]."""
    considered: tuple[tuple[tuple[str, ...], float], ...] = ()
    """Plans of a teacher that gave several: the tools of each, in order, with its share; the chosen one first."""


OWNERS_WORD = "owner"
"""Planner name of a refusal that the owner taught; no other planner is asked then."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An honest "I can't do that yet": no plan, and why."""

    kind: Literal["out_of_scope", "needs", "unreadable"]
    """`needs` is a question back: something required is missing or ambiguous. `unreadable` is an empty, binary or
    oversized request, or a language Hearth cannot read."""
    reason: str
    missing: tuple[str, ...] = ()
    """For `needs`: `tool.parameter` of each missing value."""
    offer: Offer | None = None
    planner: str = ""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """A request with the plan that was right for it, as used for learning. An empty plan teaches a refusal."""

    id: str
    request: str
    plan: Plan
    tools: tuple[str, ...] = ()
    """Names of the tools offered when it was labelled; empty when unknown."""
    source: str = "shipped"
    """`shipped`, `owner`, `teacher`, `success`, or `tool:NAME` for a tool's own examples."""
    now: dt.datetime | None = None
    """Time of the request, needed to read its relative times. None when no argument depends on it."""
    task_steps: tuple[str, ...] = ()


# ── Acting ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Ruling:
    """The guard's decision on a plan or a call, always with a reason."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str
    rule: str = ""
    """The rule that decided, e.g. `policy.send_mail` or `default`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that was asked of the owner."""

    question: str
    answer: Literal["once", "always", "no", "never", "nobody"]
    """`nobody`: there was nobody to ask, so nothing was agreed to."""


StepStatus = Literal["done", "failed", "skipped", "denied", "unknown"]
"""`unknown`: a sending step was cut off and may or may not have had its effect. `skipped`: a step it needs did not end
well, or the run was cancelled."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The outcome of one step."""

    step: int
    status: StepStatus
    value: Plain = None
    label: Label = PUBLIC
    error: str = ""
    """Message for a person: what happened, what was expected, what to do."""
    error_kind: str = ""
    """Class name of the error, for repair and for reports."""
    duration_ms: float = 0.0
    n_attempts: int = 1
    key: str = ""
    """Idempotency key of the call."""
    notices: tuple[str, ...] = ()
    """Notices for the owner beside the result: what was left out, or is out of date."""
    fields: Mapping[str, Label] = field(default_factory=dict)
    """Labels of single fields of the value (of all its records together); a field that is absent has `label`."""
    whence: tuple[Whence, ...] = ()
    """The records of strangers that it comes from, as far as they are known; lost with the process."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One thing an answer rests on."""

    step: int
    text: str
    source: str
    """Tool and record that it came from, e.g. `find_events: dentist.ics`."""


AnswerStatus = Literal["done", "partly", "refused", "needs", "denied", "failed"]


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    status: AnswerStatus
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Disclosure:
    """One message that left the device."""

    host: str
    n_bytes: int
    reason: str
    at: dt.datetime


@dataclass(frozen=True, slots=True)
class Episode:
    """One finished request with all its outcomes."""

    id: str
    request: Request
    plan: Plan | None
    refusal: Refusal | None
    ruling: Ruling | None
    results: tuple[StepResult, ...]
    answer: Answer
    disclosures: tuple[Disclosure, ...] = ()
    duration_ms: float = 0.0
    planning_ms: float = 0.0
    rounds: int = 0
    """Number of repair rounds used."""
    asked: tuple[Asked, ...] = ()
    """Questions the owner was asked before and while it ran."""
