"""Where data come from and who may read them, through every step and after it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from types import MappingProxyType

from hearth.errors import BadReference, Cycle, UnknownTool
from hearth.formats.plans import dependence_order
from hearth.protocols import CallContext, HomeAnswer, Memory, MemoryHit, Recalled, Workspace
from hearth.storage.database import FIRST_LOOK, Store
from hearth.storage.trace import moment_text
from hearth.tools.pim.contacts import Card, labels_of, read_cards
from hearth.types import (
    ANYONE,
    BETWEEN_TEXTS,
    OWNER,
    PUBLIC,
    TRUSTED_SOURCES,
    Argument,
    Effect,
    FieldOrigin,
    Label,
    Plain,
    Plan,
    Ref,
    Referent,
    Step,
    ToolSpec,
    Whence,
)

# ── Labels ────────────────────────────────────────────────────────────────────────────────────────────────
# Propagates labels with the data: no step, field or argument has fewer sources than the values it was made from.
#
# Pure functions over a plan and its tools. A result has one label for the whole and one for each field that its tool
# declares separately (`ToolSpec.origins`): `<node-2.sender>` carries the label of the sender, not of the mail.
# `predict` says before anything runs which labels values will carry; the monitor computes those of real values by the
# same join.
#
# The nature of a record is known only when it is read: a sender may be in the owner's contacts, a note may have been
# made through Hearth. `predict` therefore gives two labels, the worst and the best there can be.
#
# Covered: flows through arguments, fields, nested lists and records; several records join into one label per field.
# Not covered: what a step reveals by running at all (a plan is fixed before any result is seen, so a result decides
# whether a later step runs only by failing); which of several records was chosen, when a stranger's text decided a
# search.

NO_FIELDS: Mapping[str, Label] = MappingProxyType({})
VOUCHED_TYPES = frozenset({"EmailAddress", "PhoneNumber"})
"""Types of values that the contact book can vouch for."""


@dataclass(frozen=True, slots=True)
class Value:
    """Plain data with its label: what the monitor takes and returns."""

    data: Plain
    label: Label
    fields: Mapping[str, Label] = field(default_factory=lambda: NO_FIELDS)
    """Labels of its fields where they differ from `label`."""
    files: tuple[str, ...] = ()
    """For a value that stands for recipients: the files they would get."""
    things: tuple[Referent, ...] = ()
    """The things that the value names, in the order of `data`, which then holds their ids."""
    is_open: bool = False
    """Which thing the value names is not known yet; `data` holds the words."""
    whence: tuple[Whence, ...] = ()
    """The records of strangers that it comes from, as far as they are known."""

    def field_label(self, name: str) -> Label:
        """Return the label of one field; for one not declared separately, that of the whole."""
        return self.fields.get(name, self.label)


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of a plan, with the tools the plan is made of."""

    plan: Plan
    index: int
    tools: Mapping[str, ToolSpec]

    @property
    def step(self) -> Step:
        return self.plan.steps[self.index]

    @property
    def spec(self) -> ToolSpec:
        return self.tools[self.step.tool]

    def is_sink(self, name: str) -> bool:
        """Return whether an argument decides where data goes."""
        parameter = self.spec.parameter(name)
        return parameter is not None and parameter.is_sink


@dataclass(frozen=True, slots=True)
class StepLabels:
    """The labels a step will have at worst."""

    arguments: Mapping[str, Label]
    """By parameter name."""
    result: Label
    best: Mapping[str, Label] = field(default_factory=lambda: NO_FIELDS)
    """For arguments that may turn out more trustworthy once the record is read: their label in that case."""
    declared: Mapping[str, Label] = field(default_factory=lambda: NO_FIELDS)
    """For arguments from records that count as the owner's only if they are known: their label in that case."""

    def expected(self, name: str) -> Label:
        """Return the label of an argument if every record is what its tool declares, as the owner may assume."""
        return self.declared.get(name, self.arguments[name])

    def may_turn_out_trusted(self, name: str) -> bool:
        """Return whether the argument counts as a stranger's only until its record is known."""
        return name in self.best and self.best[name].is_trusted


PUBLIC_SOURCES = frozenset({"web"})
"""Sources whose results anyone may read; those of all others are for this device alone."""


def join_all(labels: Iterable[Label]) -> Label:
    """The least label that is at least as restrictive as each; `PUBLIC` if there is none."""
    return reduce(Label.join, labels, PUBLIC)


@cache
def label_of(source: str) -> Label:
    """The label of data from one source."""
    return Label(frozenset({source}), ANYONE if source in PUBLIC_SOURCES else frozenset())


@cache
def _label_of_all(sources: frozenset[str]) -> Label:
    return join_all(label_of(source) for source in sorted(sources))


def vouched(label: Label) -> Label:
    """Return `label` for a value found in the owner's own contacts: a stranger may have named it, but cannot own it.

    This is the one place where a source is removed from a label; only the monitor calls it, after looking the value up.
    A suspicion that the text around it was an instruction stays.
    """
    return Label((label.sources & (TRUSTED_SOURCES | {"injection"})) | {"contacts"}, label.readers)


# ── Results ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class ResultLabels:
    """Labels of one result: of the whole, and of the fields that differ."""

    whole: Label
    fields: Mapping[str, Label]


def result_labels(
    spec: ToolSpec, arguments: Mapping[str, Label], sources: frozenset[str] | None = None
) -> ResultLabels:
    """Compute the labels of a result from its origin and everything it was made from.

    Args:
        sources: The known sources of its records, instead of the tool's own source. A stranger's record taints all its
            fields, except those made of nothing (`made_of=()`): an id is only a key, whoever chose it.
    """
    origin = label_of(spec.source) if sources is None else _label_of_all(sources or frozenset({spec.source}))
    made_of = join_all(arguments.values())
    whole = made_of.join(origin)
    if not spec.origins:
        return ResultLabels(whole, NO_FIELDS)
    taint = origin if sources is not None and not origin.is_trusted else PUBLIC
    fields: dict[str, Label] = {}
    for name in _named(spec):
        declared = spec.origins.get(_followed(spec, name))
        parts = declared.made_of if declared is not None else None
        own = label_of(declared.source) if declared is not None and declared.source else origin
        if parts != ():
            own = own.join(taint)
        inputs = made_of if parts is None else join_all(arguments[part] for part in parts if part in arguments)
        fields[name] = inputs.join(own)
    whole = join_all((whole, *fields.values()))
    return ResultLabels(whole, fields)


@cache
def _names(fields: tuple[str, ...], origins: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*fields, *origins)))


def _named(spec: ToolSpec) -> tuple[str, ...]:
    """The fields with a label of their own: all, so that one without a declaration does not take the join."""
    return _names(tuple(spec.fields), tuple(spec.origins))


def _followed(spec: ToolSpec, name: str) -> str:
    """The field whose declaration counts for `name`."""
    declared = spec.origins.get(name)
    return declared.same_as if declared is not None and declared.same_as else name


def with_vouched(spec: ToolSpec, labels: ResultLabels, names: Iterable[str]) -> ResultLabels:
    """Return `labels` after the contact book vouched for all values of the fields `names`, and those that follow
    them."""
    wanted = frozenset(names)
    fields = {
        name: vouched(label) if _followed(spec, name) in wanted else label for name, label in labels.fields.items()
    }
    return ResultLabels(labels.whole, fields)


def vouchable(spec: ToolSpec) -> tuple[str, ...]:
    """Fields whose values the contact book can vouch for."""
    return tuple(name for name, kind in spec.fields.items() if item_type(kind) in VOUCHED_TYPES)


def acted_on(spec: ToolSpec, arguments: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the ids of the things that a call acts on: records, files, devices; not where it sends to."""
    return tuple(
        one.id
        for name, value in arguments.items()
        if (parameter := spec.parameter(name)) is None or item_type(parameter.type) not in ("EmailAddress", "Url")
        for one in value.things
    )


def told(arguments: Mapping[str, Value]) -> tuple[str, ...]:
    """Return whom servers write to by themselves when the things of a call are changed."""
    return tuple(dict.fromkeys(one for value in arguments.values() for thing in value.things for one in thing.told))


def effect_on(spec: ToolSpec, arguments: Mapping[str, Value]) -> Effect:
    """Return the effect of a call on these things: a change that a server tells others of is sent."""
    return "send" if spec.effect == "change" and told(arguments) else spec.effect


def item_type(kind: str) -> str:
    """The `X` of `list[X]`, else `kind` itself."""
    return kind[5:-1] if kind.startswith("list[") else kind


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def is_made_of(texts: Sequence[Argument], value: str) -> bool:
    """Return whether one text is made of these: the words of the plan stand there as they are, and something for each
    reference, of which there is at least one. In one pass: a text may be long, and anybody's."""
    said = [""]  # the plan's words before the first reference, between each two, and behind the last
    for place, one in enumerate(texts):
        said[-1] += BETWEEN_TEXTS if place else ""
        if isinstance(one, Ref):
            said.append("")
        elif isinstance(one, str):
            said[-1] += one
        else:
            return False
    if len(said) == 1 or not (value.startswith(said[0]) and value.endswith(said[-1])):
        return False
    read, end = len(said[0]), len(value) - len(said[-1])
    for words in said[1:-1]:
        found = value.find(words, read, end)
        if found < 0:
            return False
        read = found + len(words)
    return read <= end


def refs_in(value: Argument) -> tuple[Ref, ...]:
    """Every reference in one argument, in order."""
    if isinstance(value, Ref):
        return (value,)
    return Step("", {"": value}).refs() if isinstance(value, list | dict) else ()


def field_of(ref: Ref) -> str:
    """The field of the result that a reference points at; empty for the whole. Positions in a list are not fields."""
    return next((part for part in ref.path if not part.lstrip("-").isdigit()), "")


def label_at(ref: Ref, results: Mapping[int, ResultLabels]) -> Label:
    """The label of what a reference points at."""
    labels = results[ref.step]
    return labels.fields.get(field_of(ref), labels.whole)


def argument_label(step: Step, name: str, results: Mapping[int, ResultLabels]) -> Label:
    """Compute the label of one argument, given the labels of the results it may refer to."""
    value = step.arguments[name]
    if isinstance(value, Ref):
        return label_at(value, results)
    return reduce(Label.join, (label_at(ref, results) for ref in refs_in(value)), literal_label(step, name))


def literal_label(step: Step, name: str) -> Label:
    """Return the label of the literals in one argument: read in the owner's request, as planners see nothing a stranger
    wrote, or made up by a planner that is not this device's."""
    return label_of(step.unsaid[name]) if name in step.unsaid else OWNER


def predict(plan: Plan, tools: Mapping[str, ToolSpec]) -> tuple[StepLabels, ...]:
    """Predict the labels of every step by following its references.

    Raises:
        UnknownTool: A step calls a tool that is not in `tools`.
        BadReference: A reference points outside the plan.
        Cycle: Steps wait for each other.
    """
    worst: dict[int, ResultLabels] = {}
    best: dict[int, ResultLabels] = {}
    declared: dict[int, ResultLabels] = {}
    found: dict[int, StepLabels] = {}
    for index in run_order(plan):
        step = plan.steps[index]
        spec = tools.get(step.tool)
        if spec is None:
            raise UnknownTool(f"step {index} calls {step.tool!r}, which is no tool", step=index)
        arguments = {name: argument_label(step, name, worst) for name in step.arguments}
        is_sure = all(worst[ref.step] is best[ref.step] is declared[ref.step] for ref in step.refs())
        if is_sure and not (spec.unconfirmed or spec.origins or vouchable(spec)):
            # Nothing here could be found to be better or worse than it is: most steps of most plans.
            worst[index] = best[index] = declared[index] = result_labels(spec, arguments)
            found[index] = StepLabels(arguments, worst[index].whole, NO_FIELDS, NO_FIELDS)
            continue
        at_best = {name: argument_label(step, name, best) for name in step.arguments}
        as_declared = {name: argument_label(step, name, declared) for name in step.arguments}
        worst[index] = _worst_result(spec, arguments)
        best[index] = _best_result(spec, at_best)
        declared[index] = result_labels(spec, as_declared)
        found[index] = StepLabels(
            arguments, worst[index].whole, _differing(at_best, arguments), _differing(as_declared, arguments)
        )
    return tuple(found[index] for index in range(len(plan.steps)))


def _differing(labels: Mapping[str, Label], others: Mapping[str, Label]) -> Mapping[str, Label]:
    return {name: label for name, label in labels.items() if label != others[name]} or NO_FIELDS


def _worst_result(spec: ToolSpec, arguments: Mapping[str, Label]) -> ResultLabels:
    if not spec.unconfirmed:
        return result_labels(spec, arguments)
    return result_labels(spec, arguments, frozenset({spec.source, spec.unconfirmed}))


def _best_result(spec: ToolSpec, arguments: Mapping[str, Label]) -> ResultLabels:
    labels = result_labels(spec, arguments)
    names = vouchable(spec)
    if not names:
        return labels
    if not spec.origins:
        labels = ResultLabels(labels.whole, dict.fromkeys(spec.fields, labels.whole))
    return with_vouched(spec, labels, names)


def run_order(plan: Plan, needs: Sequence[frozenset[int]] | None = None) -> tuple[int, ...]:
    """Order the steps so that each comes after those it needs; otherwise as given.

    Args:
        needs: `Step.needs` of each step, where the caller has them.
    Raises:
        BadReference: A step needs one that does not exist.
        Cycle: Steps wait for each other.
    """
    found = [step.needs() for step in plan.steps] if needs is None else needs
    for index, before in enumerate(found):
        if absent := [k for k in before if not 0 <= k < len(plan.steps)]:
            raise BadReference(f"step {index} needs step {absent[0]}, which is not in the plan", step=index)
    order = dependence_order(found)
    if waiting := sorted(set(range(len(found))).difference(order)):
        circle = ", ".join(f"{index} ({plan.steps[index].tool})" for index in waiting)
        raise Cycle(f"steps {circle} wait for each other", step=waiting[0])
    return tuple(order)


def origins(planned: PlannedStep, name: str) -> tuple[str, ...]:
    """Name an argument's untrusted sources and the steps they enter by, in words: `sender of find_mail (message)`."""
    seen: set[tuple[int, str]] = set()
    waiting = [(ref.step, field_of(ref)) for ref in refs_in(planned.step.arguments[name])]
    found = [f"the plan ({source})" for given, source in planned.step.unsaid.items() if given == name]
    while waiting:
        k, part = waiting.pop(0)
        if (k, part) in seen:
            continue
        seen.add((k, part))
        step = planned.plan.steps[k]
        spec = planned.tools[step.tool]
        declared = spec.origins.get(_followed(spec, part)) if part else None
        sources = _own_sources(spec, declared, is_whole=not part)
        if strangers := sorted(sources - TRUSTED_SOURCES):
            what = f"{part.replace('_', ' ')} of " if part in spec.origins else ""
            found.append(f"{what}{step.tool} ({', '.join(strangers)})")
        parts = declared.made_of if declared is not None else None
        for parameter, value in step.arguments.items():
            if parts is None or parameter in parts:
                if parameter in step.unsaid:
                    found.append(f"{parameter} of {step.tool} ({step.unsaid[parameter]})")
                waiting.extend((ref.step, field_of(ref)) for ref in refs_in(value))
    return tuple(dict.fromkeys(found))


def _own_sources(spec: ToolSpec, declared: FieldOrigin | None, *, is_whole: bool) -> frozenset[str]:
    """Sources that a tool itself may add to a field, or to the whole of its result."""
    found = {declared.source if declared is not None and declared.source else spec.source}
    if spec.unconfirmed and (declared is None or declared.made_of != ()):
        found.add(spec.unconfirmed)
    if is_whole:
        found.update(origin.source for origin in spec.origins.values() if origin.source)
    return frozenset(found)


# ── Provenance ────────────────────────────────────────────────────────────────────────────────────────────
# Remembers what went into each record that Hearth made, for the next time it is read.
#
# A note made from a stranger's mail is still a stranger's when it is found again a week later; one made from the
# owner's own words is the owner's. Records made, and their sources, are stored by domain (a tool's) and id; cards of
# the contact book also with digests of their addresses, notes of what Hearth wrote there, so that one that was
# changed elsewhere, or took the place of one that was deleted, counts as another program's.
#
# Covered: records with an `id`, a `path` or a `name`, made or changed through Hearth. Not covered: what another
# program writes into an event or a reminder that Hearth made, or into a document.

KEYS = ("id", "path", "name")
"""Fields that name a record, in this order."""
_RECURRENCE = "#"
"""Separator: the part after it names one occurrence of a repeating event, the part before it the record."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Sources known of one record."""

    sources: frozenset[str]
    digest: str = ""
    """Of a card, digests of what is confirmed of it; of a note, of what Hearth wrote there; empty where neither is
    known."""


class Provenance:
    """Origins of records; without a store they last as long as the process."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._known: dict[tuple[str, str], Origin] | None = None
        self._lock = threading.Lock()

    def of(self, domain: str, record: str) -> Origin | None:
        """Return the origin of a record, or of the series it is an occurrence of; None when unknown."""
        known = self._all()
        found = known.get((domain, record))
        return found or known.get((domain, record.partition(_RECURRENCE)[0]))

    def is_empty(self, domain: str) -> bool:
        """Return whether nothing was ever noted for the domain."""
        return all(key[0] != domain for key in self._all())

    def note(self, domain: str, origins: Mapping[str, Origin], now: dt.datetime) -> None:
        """Remember what went into records. Raises: StoreError: It could not be written; nothing is remembered."""
        if not origins:
            return
        known = self._all()
        if self._store is not None:
            rows = [
                (domain, record, json.dumps(sorted(origin.sources)), origin.digest, moment_text(now))
                for record, origin in origins.items()
            ]
            with self._store.transaction(is_synced=False) as cursor:
                cursor.executemany("INSERT OR REPLACE INTO record_origin VALUES (?, ?, ?, ?, ?)", rows)
        with self._lock:
            known.update({(domain, record): origin for record, origin in origins.items()})

    def _all(self) -> dict[tuple[str, str], Origin]:
        with self._lock:
            if self._known is None:
                rows = self._store.query("SELECT * FROM record_origin") if self._store is not None else []
                self._known = {
                    (row["domain"], row["record"]): Origin(frozenset(json.loads(row["sources_json"])), row["digest"])
                    for row in rows
                }
            return self._known


def records(value: Plain) -> Iterator[tuple[str, Mapping[str, Plain]]]:
    """The records in a result, each with its name."""
    for item in value if isinstance(value, list) else (value,):
        if isinstance(item, dict):
            for key in KEYS:
                name = item.get(key)
                if isinstance(name, str) and name:
                    yield name, item
                    break


def digest_of(addresses: Iterable[object]) -> str:
    """A digest of a card's addresses and numbers, exactly as written."""
    said = "\n".join(str(address or "").strip() for address in addresses)
    return hashlib.sha256(said.encode(errors="surrogatepass")).hexdigest()[:32] if said.strip() else ""


# ── Through memory ─────────────────────────────────────────────────────────────────────────────────────
# Carries labels into memory and out of it, whatever a tool says of them.
# What is remembered in a call gets the label of the call's arguments; what a call was given from memory lends its
# result the labels it was remembered with: words of a chat, a camera's sighting, lines of a file stay theirs.
# Covered: events and facts. A memory so marked counts as no fact of the owner's until the owner says so, and never as
# an example. A result that names what was found has the labels of these; one that names none of it, of all that was
# found.
# Not covered: records a tool writes elsewhere (`guard.labels` remembers those).


class MarkedMemory:
    """A memory for one call; satisfies `protocols.Memory`."""

    def __init__(self, memory: Memory, label: Label) -> None:
        """Wrap `memory`; `label` is that of everything the call was given."""
        self._memory = memory
        self._label = label
        self._answers = PUBLIC
        self._found: dict[str, Label] = {}

    def lent_to(self, result: Plain) -> frozenset[str]:
        """Return the sources that a result has from what the call was given from memory."""
        named = [self._found[name] for name, _ in records(result) if name in self._found]
        return reduce(Label.join, named or self._found.values(), self._answers).sources

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Do as the wrapped memory; where strangers wrote what the call was given, with its label joined to `label`."""
        whole = label.join(self._label) if self._label.strangers else label
        self._found[key] = whole
        return self._memory.remember(text, kind=kind, at=at, label=whole, key=key)

    def search(self, query: str, *, limit: int = 5, now: dt.datetime | None = None) -> tuple[MemoryHit, ...]:
        """Do as the wrapped memory."""
        hits = self._memory.search(query, limit=limit, now=now)
        self._found.update({hit.id: hit.label for hit in hits})
        return hits

    def answer(self, question: str, *, now: dt.datetime) -> Recalled:
        """Do as the wrapped memory."""
        said = self._memory.answer(question, now=now)
        self._answers = self._answers.join(said.label)
        return said

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Do as the wrapped memory."""
        found = self._memory.find_answer(question, call)
        self._answers = reduce(Label.join, (one.label for one in found.witnesses), self._answers)
        return found

    def forget(self, id: str) -> None:
        """Do as the wrapped memory. Raises: NotFound."""
        self._memory.forget(id)


# ── People the owner knows ─────────────────────────────────────────────────────────────────────────────
# Decides which addresses and numbers belong to people the owner knows: the one reason to trust a stranger's value.
# A card vouches for its address, its number and its groups, each by itself, when the owner gave it through Hearth,
# confirmed it, or had it when Hearth first looked. A card that turns up later (an import, a synchronisation, an
# attachment) does not, nor does what was changed on one elsewhere, until it is confirmed (`hearth policy contacts`).
# Addresses are compared exactly except for case: look-alike letters are different letters.
# Covered: cards added or changed by others after the first look, field by field; look-alikes of known addresses.
# Not covered: a card that was poisoned before Hearth first looked; a known person whose mailbox was taken over; what
# a card calls its person, which is believed as it stands.


DOMAIN = "contacts"
CONFIRMED = frozenset({"contacts"})


@dataclass(frozen=True, slots=True)
class Unconfirmed:
    """What a card claims and does not vouch for."""

    id: str
    name: str
    email: str = ""
    phone: str = ""
    groups: tuple[str, ...] = ()


_UNKNOWN = "?"
"""Stands for an address that was not confirmed."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What of a card is confirmed: digests of its address, its number and its groups."""

    email: str = _UNKNOWN
    phone: str = _UNKNOWN
    groups: frozenset[str] = frozenset()
    has_groups: bool = True
    """False for what was noted before groups were."""

    @classmethod
    def of(cls, email: object, phone: object, groups: Iterable[str] = ()) -> Confirmed:
        """Confirm these values."""
        return cls(digest_of((email,)), digest_of((phone,)), frozenset(map(_group_digest, groups)))

    @classmethod
    def read(cls, text: str, email: object, phone: object) -> Confirmed:
        """Read what was noted of a card, which now has this address and number: before each was noted by itself, one
        digest stood for both."""
        parts = text.split(".")
        if len(parts) == 3:
            return cls(parts[0], parts[1], frozenset(parts[2].split()))
        if text == digest_of((email, phone)):
            return replace(cls.of(email, phone), has_groups=False)
        return cls(has_groups=False)

    def __str__(self) -> str:
        return f"{self.email}.{self.phone}.{' '.join(sorted(self.groups))}"

    def has_both(self, email: object, phone: object) -> bool:
        """Return whether this address and this number are confirmed."""
        return (self.email, self.phone) == (digest_of((email,)), digest_of((phone,)))

    def after(self, email: object, phone: object, given: Collection[str]) -> Confirmed:
        """Return what is confirmed once the owner gave the card this address or number; what was not given stays."""
        now = Confirmed.of(email, phone)
        return replace(self, **{name: getattr(now, name) for name in ("email", "phone") if name in given})


@dataclass(frozen=True, slots=True)
class KnownAddresses:
    """Addresses and numbers of confirmed cards, normalised, with the groups of their cards."""

    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """Address → name on the card, for questions."""
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Address → what else the card calls its owner: nicknames, what they are by trade and to the owner."""
    unconfirmed: tuple[Unconfirmed, ...] = ()

    def vouches(self, value: Plain) -> bool:
        """Return whether every address and number in `value` belongs to a confirmed card; False if there is none."""
        items = value if isinstance(value, list) else [value]
        return bool(items) and all(isinstance(item, str) and normalised(item) in self.groups for item in items)

    def is_in_group(self, value: Plain, group: str) -> bool:
        """Return the same for cards of one category."""
        items = value if isinstance(value, list) else [value]
        wanted = group.casefold()
        return bool(items) and all(
            isinstance(item, str) and wanted in self.groups.get(normalised(item), frozenset()) for item in items
        )

    def name_of(self, address: str) -> str:
        """Name on the card that has the address; empty if none has."""
        return self.names.get(normalised(address), "")


def normalised(address: str) -> str:
    """Normalise: an address to lower case, a number to digits with `+`; letters are never mapped to other letters."""
    text = address.strip()
    if "@" in text:
        return _lower(text)
    if re.fullmatch(r"[+\d()/.\-\s]+", text) and text.isascii():
        digits = re.sub(r"\D", "", text)
        is_international = text.startswith("+") or digits.startswith("00")
        return f"+{digits.removeprefix('00')}" if is_international else digits
    return _lower(text)


def _lower(text: str) -> str:
    """Lower the case, except of letters that would become another alphabet's: the Kelvin sign is no `k`."""
    if text.isascii():
        return text.lower()
    return "".join(c if not c.isascii() and c.lower().isascii() else c.lower() for c in text)


def has_lookalike_letters(address: str) -> bool:
    """Return whether an address holds letters of another script, or invisible ones, as imitations of others do."""
    return not address.isascii() and any(
        unicodedata.category(c) in ("Cf", "Cc") or not unicodedata.name(c, "").startswith("LATIN")
        for c in address
        if not c.isascii()
    )


def standing_for(value: Value, behind: Value) -> Value:
    """Return the recipients that an id stands for, with the thing itself: those it was made with, or, where another
    program changed them, those it has now, of which nobody knows where they come from."""
    addressed = sorted({address for one in value.things for address in one.addressed})
    made_for = {normalised(str(item)) for item in (behind.data if isinstance(behind.data, list) else [behind.data])}
    if value.things and {normalised(address) for address in addressed} != made_for:
        label = value.label.join(behind.label).join(label_of("file"))
        return replace(behind, data=[*addressed], label=label, things=value.things)
    return replace(behind, label=value.label.join(behind.label), things=value.things)


class AddressBook:
    """The owner's contact book, as far as the guard trusts it."""

    def __init__(self, provenance: Provenance) -> None:
        self._provenance = provenance

    def read(self, workspace: Workspace, now: dt.datetime) -> KnownAddresses:
        """Read the confirmed addresses; the first cards ever seen count as confirmed. Raises: StoreError."""
        cards = list(_cards(workspace))
        self._look_first(cards, now)
        groups: dict[str, frozenset[str]] = {}
        names: dict[str, str] = {}
        roles: dict[str, tuple[str, ...]] = {}
        unconfirmed: list[Unconfirmed] = []
        for id, card in cards:
            known = self._confirmed(id, card)
            addresses = {"email": card.email, "phone": card.phone}
            vouched = {name: one for name, one in addresses.items() if one and _vouches(known, name, one)}
            open_groups = tuple(one for one in card.categories if _group_digest(one) not in known.groups)
            left = {name: one for name, one in addresses.items() if one and name not in vouched}
            if left or (vouched and open_groups):
                unconfirmed.append(Unconfirmed(id, card.name, **left, groups=open_groups))
            for address in vouched.values():
                key = normalised(address)
                confirmed = {one.casefold() for one in card.categories if one not in open_groups}
                groups[key] = groups.get(key, frozenset()) | confirmed
                names.setdefault(key, card.name)
                roles.setdefault(key, (*card.nicknames, *labels_of(card)))
        return KnownAddresses(groups, names, roles, tuple(unconfirmed))

    def _look_first(self, cards: Sequence[tuple[str, Card]], now: dt.datetime) -> None:
        """Confirm the first cards that are ever seen; of those confirmed before groups were noted, their groups."""
        if not cards:
            return
        noted: dict[str, Origin] = {}
        if self._provenance.of(DOMAIN, FIRST_LOOK) is None:
            noted = {id: Origin(CONFIRMED, card_digest(card)) for id, card in cards if not self._is_made(id)}
            noted[FIRST_LOOK] = Origin(CONFIRMED)
        for id, card in cards:
            before = self._provenance.of(DOMAIN, id)
            if before is None or id in noted:
                continue
            known = Confirmed.read(before.digest, card.email, card.phone)
            if not known.has_groups and known.has_both(card.email, card.phone):
                noted[id] = Origin(before.sources, card_digest(card))
        self._provenance.note(DOMAIN, noted, now)

    def confirm(self, workspace: Workspace, ids: Iterable[str], now: dt.datetime) -> tuple[str, ...]:
        """Let cards vouch as they are now; return the names of those that exist. Raises: StoreError."""
        wanted = set(ids)
        found = [(id, card) for id, card in _cards(workspace) if id in wanted]
        self._provenance.note(DOMAIN, {id: Origin(CONFIRMED, card_digest(card)) for id, card in found}, now)
        return tuple(card.name for _, card in found)

    def _is_made(self, id: str) -> bool:
        """Return whether the card was made through Hearth, so that its sources are known already."""
        return self._provenance.of(DOMAIN, id) is not None

    def _confirmed(self, id: str, card: Card) -> Confirmed:
        """Return what of a card is confirmed: nothing of one that a stranger's words went into."""
        origin = self._provenance.of(DOMAIN, id)
        if origin is None or not origin.sources <= TRUSTED_SOURCES:
            return Confirmed()
        return Confirmed.read(origin.digest, card.email, card.phone)


def card_digest(card: Card) -> str:
    """What is noted of a card that is confirmed as it is."""
    return str(Confirmed.of(card.email, card.phone, card.categories))


def _group_digest(group: str) -> str:
    return digest_of((group.casefold(),))


def _vouches(known: Confirmed, name: str, address: str) -> bool:
    is_same = (known.email if name == "email" else known.phone) == digest_of((address,))
    return is_same and not has_lookalike_letters(address)


def _cards(workspace: Workspace) -> Iterator[tuple[str, Card]]:
    """Every card with the id by which the tools know it."""
    seen: set[str] = set()
    for path, file in read_cards(workspace).items():
        for card in file.cards:
            id = card.uid if card.uid and card.uid not in seen else f"{path}#{card.index}"
            seen.add(id)
            yield id, card
