"""One judgement of a plan or a call, the labels that it rests on, and what the guard remembers for the next."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from hearth.errors import HearthError, ToolError
from hearth.guard.labels import (
    DOMAIN,
    KEYS,
    NO_FIELDS,
    VOUCHED_TYPES,
    AddressBook,
    Confirmed,
    KnownAddresses,
    Origin,
    Provenance,
    ResultLabels,
    StepLabels,
    Value,
    item_type,
    join_all,
    label_of,
    normalised,
    records,
    result_labels,
    standing_for,
    told,
    vouchable,
    vouched,
    with_vouched,
)
from hearth.guard.policy.question import UNFORESEEN, Agreements, Consent, Consents, deciding, source_words
from hearth.guard.policy.rules import (
    SEVERITY,
    Circumstances,
    Decision,
    Judgement,
    Policy,
    literal,
    literals,
    stranger_reason,
    strictest,
)
from hearth.guard.policy.warrant import Warrant, unsaid_in
from hearth.guard.referents import Referents
from hearth.protocols import CallContext, Workspace
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, parse_moment
from hearth.types import OWNER, TRUSTED_SOURCES, Label, Plain, Plan, Ruling, Step, ToolSpec, Whence

# ── Guard state ───────────────────────────────────────────────────────────────────────────────────────────
# Keeps what the guard remembers between requests and over a crash: origins, contacts, consents, what was agreed to,
# how often tools were called.

MAX_COUNTED = 100_000
"""Most calls of one tool that are looked back at."""


class CallCounts:
    """Counts of each tool's calls: from the trace for the time before this process, then as the monitor calls."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._times: dict[str, deque[dt.datetime]] = {}
        self._lock = threading.Lock()

    def within(self, tool: str, periods: Iterable[dt.timedelta], now: dt.datetime) -> dict[dt.timedelta, int]:
        """Count the calls of `tool` within each length of time before `now`. Raises: StoreError."""
        lengths = tuple(periods)
        if not lengths:
            return {}
        with self._lock:
            times = self._all(tool)
            return {length: sum(1 for moment in times if now - length < moment) for length in lengths}

    def note(self, tool: str, now: dt.datetime) -> None:
        """Count a call that is about to be made."""
        with self._lock:
            if tool in self._times:
                self._times[tool].append(now)

    def watch(self, tool: str) -> None:
        """Count the calls of a tool from now on, and those in the trace. Raises: StoreError."""
        with self._lock:
            self._all(tool)

    def _all(self, tool: str) -> deque[dt.datetime]:
        if tool not in self._times:
            rows = []
            if self._store is not None:  # a call that was cut off has no status: it counts when it is made again
                rows = self._store.query(
                    "SELECT started FROM step WHERE tool=? AND started IS NOT NULL AND status <> 'denied'"
                    " ORDER BY place DESC LIMIT ?",
                    (tool, MAX_COUNTED),
                )
            self._times[tool] = deque((parse_moment(row["started"]) for row in rows), MAX_COUNTED)
        return self._times[tool]


@dataclass(frozen=True, slots=True)
class PastResult:
    """Result of an earlier call, with the labels of its fields."""

    tool: str
    value: Plain
    fields: Mapping[str, Label]


class PastResults:
    """Results that tools returned before this process, from the trace; none without a store."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store

    def of(self, tools: Collection[str], limit: int) -> tuple[PastResult, ...]:
        """The last results of these tools that were not undone, oldest first. Raises: StoreError."""
        if self._store is None or not tools:
            return ()
        rows = self._store.query(
            "SELECT tool, fields_json, coalesce(value_json, json) AS text FROM step"
            " LEFT JOIN large_value ON hash = value_hash"
            " WHERE tool IN (SELECT value FROM json_each(?)) AND status = 'done' AND NOT is_undone AND text IS NOT NULL"
            " ORDER BY place DESC LIMIT ?",
            (json.dumps(sorted(tools)), limit),
        )
        return tuple(
            PastResult(
                row["tool"],
                json.loads(row["text"]),
                {name: label_from_text(text) for name, text in json.loads(row["fields_json"]).items()},
            )
            for row in reversed(rows)
        )


@dataclass(frozen=True, slots=True)
class Records:
    """State that outlives a request. Without a store it lasts as long as the process."""

    provenance: Provenance = field(default_factory=Provenance)
    consents: Consents = field(default_factory=Consents)
    counts: CallCounts = field(default_factory=CallCounts)
    results: PastResults = field(default_factory=PastResults)
    agreements: Agreements = field(default_factory=Agreements)

    @property
    def book(self) -> AddressBook:
        return AddressBook(self.provenance)

    @classmethod
    def of(cls, store: Store) -> Records:
        return cls(Provenance(store), Consents(store), CallCounts(store), PastResults(store), Agreements(store))


# ── Label assignment ──────────────────────────────────────────────────────────────────────────────────────
# Assigns labels to real values, from what is known of their records and from the owner's contact book.
#
# Only the monitor uses this. It joins what a tool declares, what a tool noted of single records
# (`CallContext.origins`), what is remembered of them (`guard.labels`) and what went into the call; then it lets the
# contact book vouch for addresses. Records made or changed through Hearth are remembered here.
#
# Covered: as in `guard.labels`, on real records. Not covered: records without an id, a path or a name cannot be
# recognised, so only their tool's declaration counts; the text and files of a draft that another program changed
# since Hearth wrote it (its recipients are covered).

MAX_STANDING_IN = 1000
"""Most ids standing for recipients that are remembered, from this process and earlier ones."""

MAX_CONTENTS = 32
"""Most contents of one record that are known as Hearth's writing: one that was undone is again what it was before."""

NAMED = frozenset({"message"})
"""Sources whose records are named to the owner one by one."""

_KEYS_ONLY = OWNER.sources | {"device"}
"""An id from these sources alone says nothing of the record: the owner typed it, or a list gave it."""


class Labelling:
    """Assigns labels to results and to bound arguments."""

    def __init__(self, specs: Mapping[str, ToolSpec], records: Records) -> None:
        self._records = records
        self._book = AddressBook(records.provenance)
        self._known: KnownAddresses | None = None
        self._tracked = frozenset(spec.domain for spec in specs.values() if spec.unconfirmed)
        """Domains whose records are remembered: those where it matters when they are read."""
        self._standing_in = frozenset(
            spec.fields[name]
            for spec in specs.values()
            for name, origin in spec.origins.items()
            if origin.same_as and name in spec.fields
        )
        """Types of ids that stand for recipients."""
        self._makers = {
            name: spec for name, spec in specs.items() if any(origin.same_as for origin in spec.origins.values())
        }
        self._is_past_known = False
        self._stands_for: dict[str, Value] = {}
        """Id (of a draft, say) → its recipients, with the labels of the draft's fields and the files sent with it."""

    def book(self, workspace: Workspace, now: dt.datetime) -> KnownAddresses:
        """Return the confirmed addresses; read again after the contacts changed or were read again."""
        if self._known is None:
            self._known = self._book.read(workspace, now)
        return self._known

    def forget_book(self) -> None:
        """Read the contacts again at the next need."""
        self._known = None

    @property
    def stand_ins(self) -> Mapping[str, Value]:
        """Values that ids stand for, by id; those made before this process are read from the trace."""
        if not self._is_past_known:
            found: dict[str, Value] = {}
            for past in self._records.results.of(self._makers.keys(), MAX_STANDING_IN):
                found |= _stand_ins(self._makers[past.tool], past.value, past.fields)
            self._stands_for, self._is_past_known = found | self._stands_for, True
        return self._stands_for

    def unconfirmed_names(self, value: Plain) -> tuple[str, ...]:
        """List the names on cards that hold one of these addresses and do not vouch for it."""
        if self._known is None:
            return ()
        wanted = {normalised(item) for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)}
        return tuple(
            card.name
            for card in self._known.unconfirmed
            if wanted & {normalised(address) for address in (card.email, card.phone) if address}
        )

    def unconfirmed_ids(self, spec: ToolSpec, workspace: Workspace, now: dt.datetime) -> frozenset[str]:
        """Ids of the cards that do not vouch, for a tool that looks for contacts."""
        if spec.domain != DOMAIN:
            return frozenset()
        return frozenset(card.id for card in self.book(workspace, now).unconfirmed if card.email or card.phone)

    # ── Arguments ─────────────────────────────────────────────────────────────────────────────────────────

    def resolved(
        self, spec: ToolSpec, arguments: Mapping[str, Value], workspace: Workspace, now: dt.datetime
    ) -> Mapping[str, Value]:
        """Replace sinks in `arguments` by what they stand for, vouched for by the contact book if it can.

        A value that stands for recipients carries, as its fields, the labels of what they would get. An id that no
        recorded call made (the owner named it, "send it", or a list gave it) is treated as a file's: its recipients'
        origin is unknown.
        """
        found = dict(arguments)
        for parameter in spec.parameters:
            value = found.get(parameter.name)
            if value is None or not parameter.is_sink:
                continue
            is_address = item_type(parameter.type) in VOUCHED_TYPES
            if isinstance(value.data, str) and (behind := self._behind(parameter.type, value.data)) is not None:
                value, is_address = standing_for(value, behind), True
            elif parameter.type in self._standing_in and value.label.sources <= _KEYS_ONLY:
                # picked by its id: its recipients are in the record
                value = replace(value, label=value.label.join(label_of("file")))
            if is_address and value.label.strangers and self.book(workspace, now).vouches(value.data):
                value = replace(value, label=vouched(value.label))
            found[parameter.name] = value
        return found

    def _behind(self, kind: str, id: str) -> Value | None:
        known = self._stands_for.get(id)
        return self.stand_ins.get(id) if known is None and kind in self._standing_in else known

    # ── Results ───────────────────────────────────────────────────────────────────────────────────────────

    def labelled(
        self,
        spec: ToolSpec,
        data: Plain,
        arguments: Mapping[str, Value],
        context: CallContext,
        lent: frozenset[str] = frozenset(),
    ) -> Value:
        """Label the result of a call; remember what was made. Raises: StoreError.

        Args:
            lent: Sources of what the result has from memory.
        """
        if spec.domain == DOMAIN:
            if spec.effect != "none":
                self.forget_book()
            self.book(context.workspace, context.now)
        if spec.effect != "none" and spec.domain in self._tracked:
            self._note_made(spec, data, arguments, context)
        sources = self._sources(spec, data, context, lent)
        labels = result_labels(spec, {name: value.label for name, value in arguments.items()}, sources)
        whence: tuple[Whence, ...] = ()
        if not labels.whole.sources.isdisjoint(NAMED):
            own = result_labels(spec, {}, sources).whole.sources & NAMED
            whence = _whence(context, own, lent | self._made_of(spec, data, context), arguments.values())
        labels = self._with_vouched(spec, data, labels, context)
        if spec.origins:
            self._stands_for |= _stand_ins(spec, data, labels.fields, whence)
            while len(self._stands_for) > 2 * MAX_STANDING_IN:
                del self._stands_for[next(iter(self._stands_for))]
        return Value(data, labels.whole, labels.fields or NO_FIELDS, whence=whence)

    def _sources(
        self, spec: ToolSpec, data: Plain, context: CallContext, lent: frozenset[str]
    ) -> frozenset[str] | None:
        """Find the known sources of the records in a result; None when their tool's declaration stands."""
        if not (context.origins or context.rests_on or lent) and spec.domain not in self._tracked:
            return None
        found = set(lent)
        for (domain, name), source in context.rests_on.items():
            made = self._records.provenance.of(domain, name)
            found |= made.sources if made is not None else {source}
        first_read: dict[str, Origin] = {}
        for name, record in records(data):
            if name in context.origins:
                found.add(context.origins[name])
            origin = self._records.provenance.of(spec.domain, name)
            if origin is not None:
                found |= origin.sources
                if not origin.digest and name in context.contents:  # made before its content was noted
                    origin = first_read[name] = Origin(origin.sources, context.contents[name][-1])
            if spec.unconfirmed and (origin is None or not _is_as_noted(spec, origin, name, record, context)):
                found.add(spec.unconfirmed)
        self._records.provenance.note(spec.domain, first_read, context.now)
        return frozenset(found | {spec.source}) if found else None

    def _made_of(self, spec: ToolSpec, data: Plain, context: CallContext) -> frozenset[str]:
        """Return what went into the records of a result when they were made here: from which, is not kept."""
        keys = (*context.rests_on, *((spec.domain, name) for name, _ in records(data)))
        origins = (self._records.provenance.of(*key) for key in keys) if spec.effect == "none" else ()
        return frozenset(source for origin in origins if origin is not None for source in origin.sources)

    def _with_vouched(self, spec: ToolSpec, data: Plain, labels: ResultLabels, context: CallContext) -> ResultLabels:
        names = [name for name in vouchable(spec) if not labels.fields.get(name, labels.whole).is_trusted]
        if not names or data in (None, []):
            return labels
        book = self.book(context.workspace, context.now)
        good = [name for name in names if book.vouches(_values(data, name))]
        if not good:
            return labels
        if not labels.fields:
            labels = ResultLabels(labels.whole, dict.fromkeys(spec.fields, labels.whole))
        return with_vouched(spec, labels, good)

    def _note_made(self, spec: ToolSpec, data: Plain, arguments: Mapping[str, Value], context: CallContext) -> None:
        """Remember what went into the records that a call made or changed."""
        sources = join_all(value.label for value in arguments.values()).sources
        keys = {spec.fields.get(key) for key in KEYS}
        given = {  # what was there before the call: it is named by a parameter of the same type as the record's key
            str(arguments[p.name].data) for p in spec.parameters if p.name in arguments and p.type in keys
        }
        noted: dict[str, Origin] = {}
        for name, record in records(data):
            before = self._records.provenance.of(spec.domain, name)
            if before is not None:
                own = {key for key, value in arguments.items() if value.data} if sources <= TRUSTED_SOURCES else set()
                noted[name] = Origin(before.sources | sources, _noted(spec, name, record, context, before, own))
            elif name not in given:
                noted[name] = Origin(sources or frozenset({"device"}), _noted(spec, name, record, context))
        self._records.provenance.note(spec.domain, noted, context.now)


def _whence(
    context: CallContext, own: frozenset[str], unnamed: frozenset[str], arguments: Iterable[Value]
) -> tuple[Whence, ...]:
    """Return the strangers' records that a result comes from: its own, and those that went into its arguments.

    Args:
        own: The sources of the result without its arguments. What of them the tool has not named is marked as not
            known, so that no named record stands for all there is.
        unnamed: Sources of what the result holds beside the records that the tool named.
    """
    noted = tuple(one for one in context.whence if one.source in own)
    unknown = (own - {one.source for one in noted}) | (unnamed & NAMED)
    brought = (replace(one, record="") for value in arguments for one in value.whence)
    return tuple(dict.fromkeys((*map(Whence, sorted(unknown)), *noted, *brought)))


def _stand_ins(
    spec: ToolSpec, data: Plain, labels: Mapping[str, Label], whence: tuple[Whence, ...] = ()
) -> dict[str, Value]:
    """Ids in a result that stand for recipients in it, with these and the files sent with them."""
    found: dict[str, Value] = {}
    files = [name for name, kind in spec.fields.items() if item_type(kind) == "FilePath"]
    for name, origin in spec.origins.items():
        label = labels.get(origin.same_as) if origin.same_as else None
        if label is not None and isinstance(data, dict) and isinstance(data.get(name), str):
            carried = tuple(sorted({str(value) for part in files for value in _values(data, part)}))
            found[str(data[name])] = Value(data.get(origin.same_as), label, labels, carried, whence=whence)
    return found


def _noted(
    spec: ToolSpec,
    name: str,
    record: Mapping[str, Plain],
    context: CallContext,
    before: Origin | None = None,
    given: Collection[str] = (),
) -> str:
    """What is noted of a record besides its origin. Of a card, what is confirmed of it: all that a new one holds, and
    what the owner gave to one that was there `before`. Of others, what Hearth wrote there, where their tool says so; in
    one that another program wrote to since, nothing becomes Hearth's."""
    email, phone = record.get("email"), record.get("phone")
    if spec.domain == DOMAIN:
        new = Confirmed.of(email, phone)
        return str(new if before is None else Confirmed.read(before.digest, email, phone).after(email, phone, given))
    contents = context.contents.get(name, ())
    known = before.digest.split() if before is not None else []
    if not contents or (known and contents[0] not in known):
        return " ".join(known)
    return " ".join([*(one for one in known if one != contents[-1]), contents[-1]][-MAX_CONTENTS:])


def _is_as_noted(spec: ToolSpec, origin: Origin, name: str, record: Mapping[str, Plain], context: CallContext) -> bool:
    """Whether a record is as Hearth left it: of a card, its address and its number; of a note, all of it."""
    if spec.domain == DOMAIN:
        email, phone = record.get("email"), record.get("phone")
        return Confirmed.read(origin.digest, email, phone).has_both(email, phone)
    contents = context.contents.get(name)
    return not contents or contents[-1] in origin.digest.split()


def _values(data: Plain, name: str) -> list[Plain]:
    """Every value of one field in a result."""
    found: list[Plain] = []
    for item in data if isinstance(data, list) else (data,):
        value = item.get(name) if isinstance(item, dict) else None
        found.extend(value if isinstance(value, list) else [value] if value not in (None, "") else [])
    return found


# ── Decision ──────────────────────────────────────────────────────────────────────────────────────────────
# Judges a plan or a call by the owner's rules, its values' sources, the request's licence and standing consents.
#
# `of_plan` judges before anything runs; `against` judges one call with its real values. This module asks nothing and
# calls nothing: the monitor does both.
#
# Covered: rules, labels of sinks, warrant and standing consents, joined into one ruling for each step. Not covered:
# whether the owner agrees.

Rights = Literal["all", "asks", "reads"]
"""What whoever asks may do: all that the owner may, what the owner then says yes to, or only read."""
CHANGED = "changed"
"""The rule that asks again when what was agreed to is no longer what the words mean."""
READS_ONLY = "reads only"
"""The rule that denies a change to whoever may only read."""
OF_A_PROGRAM = "program"
"""The rule that asks about what another program wants changed, whatever else is allowed."""
SETS_OFF = "sets off"
"""The rule that asks about a thing because another rule asks about what it sets off."""
TOLD = "told"
"""The rule that asks about a change that a server tells others of, even where changes are allowed."""
CONSENT_OPEN = "consent.open"
"""The rule that allows a plan because a consent may cover a call of it, once its values are known."""
MAX_TOLD = 10
"""Most addresses that are named in a reason; the question names more."""
MADE_UP = "made up"
"""The rule that asks about what another planner made up, even where the owner's own words are allowed."""
NEVER_CONSENTED = frozenset({"repair", CHANGED, OF_A_PROGRAM, SETS_OFF, MADE_UP})
"""Rules that ask each time, even when a consent stands."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """Facts the guard has about the request that a plan serves."""

    now: dt.datetime
    workspace: Workspace
    episode: str = ""
    warrant: Warrant | None = None
    call: CallContext | None = None
    """What a call would get now; without it nothing that a plan names is looked for before it runs."""
    left_over: str = ""
    """The request in its words, where it is carried on after a crash: its questions begin with it."""
    takes_back: str = ""
    """An earlier request in its words, in whose place this one is: what it did is taken back first."""
    restores: bool = False
    """Whether taking that back may bring what this request looks for."""
    undoes: str = ""
    """An earlier request in its words, where this is what taking back what it did amounts to."""


@dataclass(frozen=True, slots=True)
class Call:
    """A step of an allowed plan with its data bound."""

    step: Step
    labels: StepLabels
    """As predicted when the plan was allowed."""
    arguments: Mapping[str, Value]
    """With the things they name."""
    words: Mapping[str, Value]
    """The arguments as the plan has them, which is what the request licenses."""
    context: CallContext


@dataclass(frozen=True, slots=True)
class Against:
    """Objections to a call; none when the call is as it was agreed to."""

    rulings: tuple[Ruling, ...]
    consent: Consent | None = None
    """Standing consent that lets the call run."""


@dataclass(frozen=True, slots=True)
class Agreed:
    """A step that the owner saw and agreed to."""

    ruling: Ruling | None
    """The ruling it was seen with; None where that is not on record."""
    is_literal: bool
    """Whether all its values were seen."""
    seen: Mapping[str, Value] = field(default_factory=dict)
    """The things that stood in the question."""

    def was_for(self, ruling: Ruling) -> bool:
        """Return whether the yes was to what this ruling asks about: another rule may ask once the values are known."""
        return self.is_literal or self.ruling is None or self.ruling.rule == ruling.rule or ruling.rule == "default"

    def saw(self, arguments: Mapping[str, Value]) -> bool:
        """Return whether all that comes with these things stood in the question."""
        shown = {(one.id, one.text, one.told) for value in self.seen.values() for one in value.things}
        things = (one for value in arguments.values() for one in value.things)
        return all((one.id, one.text, one.told) in shown for one in things if one.sets_off or one.told)


class Judge:
    """Judge of plans and calls for the guard."""

    def __init__(
        self,
        specs: Mapping[str, ToolSpec],
        policy: Policy,
        records: Records,
        referents: Referents,
        clock: Callable[[], dt.datetime] | None = None,
    ) -> None:
        """Set up the judge.

        Args:
            clock: Says when a call is made: a question may stand for half an hour, and rules about hours and rates are
                about the call. Without it a call is made when it was asked for.
        """
        self.policy = policy
        self._clock = clock
        self._referents = referents
        self._specs = specs
        self._records = records
        self.labelling = Labelling(specs, records)
        """Labels of real values, and the owner's contact book."""
        self._sinks = {name: tuple(p.name for p in spec.parameters if p.is_sink) for name, spec in specs.items()}
        self._only_read = frozenset(
            name
            for name, spec in specs.items()
            if spec.effect == "none" and not self._sinks[name] and not policy.needs_values(name)
        )

    def moment(self, asked: dt.datetime) -> dt.datetime:
        """Return what time it is now, in the zone of the request, which was made at `asked`."""
        return asked if self._clock is None else self._clock().astimezone(asked.tzinfo)

    # ── A plan ────────────────────────────────────────────────────────────────────────────────────────────

    def of_plan(self, plan: Plan, n_consented: int = 0, occasion: Occasion | None = None) -> Judgement:
        """Judge `plan` by policy, warrant and standing consents, before the owner is asked. Nothing is asked here."""
        things = self._things(plan, n_consented, occasion)
        judgement = self.policy.judge(plan, self._specs, n_consented, self._circumstances(plan, occasion), things)
        if not judgement.steps or occasion is None:
            return judgement
        decisions = tuple(
            decision if index < n_consented else self._with_occasion(plan, index, decision, judgement, occasion)
            for index, decision in enumerate(judgement.decisions)
        )
        steps = tuple(decision.ruling for decision in decisions)
        return replace(judgement, ruling=strictest(steps), steps=steps, decisions=decisions)

    def _with_occasion(
        self, plan: Plan, index: int, decision: Decision, judgement: Judgement, occasion: Occasion
    ) -> Decision:
        """Reconsider a step's decision by the request's warrant and the standing consents."""
        step = plan.steps[index]
        spec = self._specs[step.tool]
        values = literals(step, judgement.labels[index].arguments)
        things = judgement.things.get(index, {})
        is_literal = len(values) == len(step.arguments)
        if is_literal and decision.ruling.verdict == "allow" and occasion.warrant is not None and spec.effect != "none":
            warranted = occasion.warrant.judge(step.tool, values, judgement.things.get(index))
            if warranted.verdict != "allow":
                decision = replace(decision, ruling=warranted)
        if spec.effect != "none" and decision.ruling.verdict != "deny":
            decision = replace(decision, ruling=_made_up(plan, index) or decision.ruling)
        if occasion.call is not None:
            coming = self._what_comes_along(spec, things, occasion.call)
            decision = replace(decision, ruling=_with_what_comes(decision.ruling, coming))
        if decision.ruling.verdict == "deny" or decision.ruling.rule in NEVER_CONSENTED:
            return decision
        return self._with_consents(step, {**values, **things}, decision, occasion)

    def _with_consents(
        self, step: Step, values: Mapping[str, Value], decision: Decision, occasion: Occasion
    ) -> Decision:
        """Reconsider a decision by the standing consents, as far as they can be told before the plan runs."""
        spec = self._specs[step.tool]
        values = {name: value for name, value in values.items() if self._is_known(spec, name, value)}
        is_known = step.arguments.keys() <= values.keys()
        rule, now = self.policy.key_of(spec.name, decision.ruling.rule), self.moment(occasion.now)
        is_fixed_known = deciding(spec, step.arguments) <= values.keys()
        consents = self._records.consents
        if is_fixed_known and self._sinks[spec.name]:
            values = self.labelling.resolved(spec, values, occasion.workspace, occasion.now)
        consent = consents.find(spec, values, rule, now) if is_fixed_known else None
        if consent is not None and (consent.verdict == "deny" or (decision.ruling.verdict == "ask" and is_known)):
            return replace(decision, ruling=_by_consent(consent.number, consent.verdict), possible=())
        if decision.ruling.verdict == "ask" and not is_known and consents.may_cover(spec.name, rule, now):
            allowed = Ruling("allow", f"you may have agreed to this for good ({spec.name})", CONSENT_OPEN)
            return replace(decision, ruling=allowed, possible=(*decision.possible, decision.ruling))
        return decision

    def with_found(
        self, judgement: Judgement, plan: Plan, found: Mapping[int, Mapping[str, Value]], occasion: Occasion | None
    ) -> Judgement:
        """Add what references were found to name to a judgement, with what comes along and whether a rule denies it."""
        things = {**judgement.things}
        steps = [*judgement.steps]
        for index, values in found.items():
            things[index] = {**things.get(index, {}), **values}
            if occasion is not None and occasion.call is not None and steps and steps[index].rule != "consent":
                spec = self._specs[plan.steps[index].tool]
                steps[index] = _with_what_comes(steps[index], self._what_comes_along(spec, values, occasion.call))
                steps[index] = self._as_found(plan, index, steps[index], replace(judgement, things=things), occasion)
        ruling = strictest(steps) if steps != [*judgement.steps] else judgement.ruling
        return replace(judgement, things=things, steps=tuple(steps), ruling=ruling)

    def _as_found(self, plan: Plan, index: int, ruling: Ruling, judgement: Judgement, occasion: Occasion) -> Ruling:
        """Return the ruling on a step with what it was found to be about, as it is ruled on when called: a rule or
        a "never" denies it, or an "always" does not cover it. Where all is not known yet, the ruling stays."""
        step, spec = plan.steps[index], self._specs[plan.steps[index].tool]
        values = {**literals(step, judgement.labels[index].arguments), **judgement.things[index]}
        if not step.arguments.keys() <= values.keys() or any(value.is_open for value in values.values()):
            return ruling
        resolved = self.labelling.resolved(spec, values, occasion.workspace, occasion.now)
        if self.policy.needs_values(spec.name):
            known = self._circumstances_of(spec.name, occasion.now, occasion.workspace)
            found = self.policy.judge_call(spec, resolved, known).ruling
            ruling = found if SEVERITY[found.verdict] > SEVERITY[ruling.verdict] else ruling
        asks = judgement.decisions[index].possible[-1] if ruling.rule == CONSENT_OPEN else ruling
        rule, now = self.policy.key_of(spec.name, asks.rule), self.moment(occasion.now)
        consent = self._records.consents.find(spec, resolved, rule, now) if spec.effect != "none" else None
        if consent is not None and (consent.verdict == "deny" or ruling.rule == CONSENT_OPEN):
            return _by_consent(consent.number, consent.verdict)
        return asks

    # ── What comes along ──────────────────────────────────────────────────────────────────────────────────

    def _what_comes_along(
        self, spec: ToolSpec, things: Mapping[str, Value], context: CallContext
    ) -> tuple[Ruling, ...]:
        """Return what is to be said against all that a call on these things amounts to besides: the owner's own rules
        on calls that they set off, and that a server writes to others. That a tool asks by default counts for its own
        calls alone."""
        if not any(value.things for value in things.values()):
            return ()
        found: list[Ruling] = []
        n_before: Counter[str] = Counter()
        for thing, other, values in self._set_off(things, context):
            never = self._records.consents.find(other, values, "", self.moment(context.now))
            if never is not None and never.verdict == "deny":
                found.append(_by_consent(never.number, "deny"))
                continue
            known = self._circumstances_of(other.name, context.now, context.workspace)
            known = replace(known, n_planned=n_before[other.name])
            n_before[other.name] += 1
            ruling = self.policy.judge_call(other, values, known).ruling
            if ruling.verdict == "deny":
                found.append(replace(ruling, reason=f"it is part of {thing!r}: {ruling.reason}"))
            elif ruling.verdict == "ask" and ruling.rule != "default":
                found.append(Ruling("ask", f"it is part of {thing!r}: {ruling.reason}", SETS_OFF))
        if spec.effect != "none" and (addresses := told(things)):
            found.append(Ruling("ask", told_reason(addresses), TOLD))
        return tuple(found)

    def _set_off(
        self, things: Mapping[str, Value], context: CallContext
    ) -> Iterator[tuple[str, ToolSpec, Mapping[str, Value]]]:
        """Yield the calls that things set off, each with its thing and its arguments as the things they name; what
        cannot be told stays open, and passes no rule about it."""
        for value in things.values():
            for thing in value.things:
                for step in thing.sets_off:
                    spec = self._specs.get(step.tool)
                    if spec is None:
                        continue  # no rule can be about it
                    words = {name: Value(literal(one), value.label) for name, one in step.arguments.items()}
                    try:
                        yield thing.said, spec, self._referents.of_call(step.tool, words, context).values
                    except HearthError:
                        open_words = {
                            name: replace(one, is_open=not self._is_known(spec, name, one))
                            for name, one in words.items()
                        }
                        yield thing.said, spec, open_words

    def rules_answered(self, tool: str, rule: str) -> frozenset[str]:
        """Return the rules, by what a standing answer stores of them, that a yes to a question of `rule` answers: that
        a change is sent stands in the place of asking about changes at all."""
        return frozenset({self.policy.key_of(tool, rule), *(("default",) if rule == TOLD else ())})

    def set_off_by(self, things: Mapping[str, Value]) -> tuple[str, ...]:
        """Return the tools whose calls these things set off."""
        steps = (step for value in things.values() for thing in value.things for step in thing.sets_off)
        return tuple(step.tool for step in steps if step.tool in self._specs)

    @staticmethod
    def _is_known(spec: ToolSpec, name: str, value: Value) -> bool:
        """Return whether a value is known as the thing it names."""
        parameter = spec.parameter(name)
        return not value.is_open and (bool(value.things) or parameter is None or not parameter.is_resolved)

    def _things(self, plan: Plan, n_consented: int, occasion: Occasion | None) -> dict[int, Mapping[str, Value]]:
        """Resolve what the literals of a plan name."""
        if occasion is None or occasion.call is None:
            return {}
        steps = {index: step for index, step in enumerate(plan.steps) if index >= n_consented}
        return self._referents.of_steps(steps, occasion.call)

    def _circumstances(self, plan: Plan, occasion: Occasion | None) -> dict[str, Circumstances]:
        """Facts that rules need besides the arguments, by tool; only for tools with such rules."""
        if occasion is None:
            return {}
        tools = {step.tool for step in plan.steps if step.tool in self._specs and self.policy.needs_values(step.tool)}
        return {tool: self._circumstances_of(tool, occasion.now, occasion.workspace) for tool in tools}

    def _circumstances_of(self, tool: str, now: dt.datetime, workspace: Workspace) -> Circumstances:
        moment = self.moment(now)
        counts = self._records.counts.within(tool, self.policy.rates(tool), moment)
        return Circumstances(moment, self.labelling.book(workspace, now), counts)

    # ── One call ──────────────────────────────────────────────────────────────────────────────────────────

    def is_lasting(self, spec: ToolSpec, things: Mapping[str, Value]) -> bool:
        """Return whether the same call is judged the same whenever it is made, as long as no other result is known: it
        changes and sends nothing, itself or by what its things set off, and no rule asks for its values, for the time,
        for who is in the contacts or for how often it was called."""
        return spec.name in self._only_read and not any(value.things for value in things.values())

    def against(self, call: Call, *, agreed: Agreed | None, warrant: Warrant | None) -> Against:
        """Collect the objections to a call.

        Args:
            agreed: What the owner saw of the step and agreed to; None where nobody was asked.
        """
        now, context = self.moment(call.context.now), call.context
        spec = self._specs[call.step.tool]
        resolved = call.arguments
        if self._sinks[spec.name]:
            resolved = self.labelling.resolved(spec, resolved, context.workspace, context.now)
        if spec.effect != "none":
            never = self._records.consents.find(spec, resolved, "", now)
            if never is not None and never.verdict == "deny":
                return Against((_by_consent(never.number, "deny"),))
        rulings = [
            *self._sink_fault(call.labels, spec, resolved, is_agreed=agreed is not None),
            *self._by_rules(spec, resolved, context, agreed),
        ]
        coming = self._what_comes_along(spec, call.arguments, context)
        rulings += [one for one in coming if one.verdict == "deny" or not (agreed and agreed.saw(call.arguments))]
        if warrant is not None and call.step.refs():  # literals were judged with the plan
            ruling = warrant.judge(spec.name, call.words, call.arguments)
            if ruling.verdict != "allow" and not (agreed is not None and ruling.rule == "warrant.licence"):
                rulings.append(ruling)
        consents = {
            ruling: self._records.consents.find(spec, resolved, self.policy.key_of(spec.name, ruling.rule), now)
            for ruling in rulings
            if ruling.verdict == "ask"
        }
        given = {ruling: consent for ruling, consent in consents.items() if consent and consent.verdict == "allow"}
        left = tuple(ruling for ruling in rulings if ruling not in given)
        return Against(left, next(iter(given.values()), None))

    def _by_rules(
        self, spec: ToolSpec, values: Mapping[str, Value], context: CallContext, agreed: Agreed | None
    ) -> Iterator[Ruling]:
        """Yield the owner's rule against a call, as far as nobody agreed to it."""
        if self.policy.needs_values(spec.name):
            known = self._circumstances_of(spec.name, context.now, context.workspace)
            ruling = self.policy.judge_call(spec, values, known).ruling
            if ruling.verdict == "deny" or (ruling.verdict == "ask" and not (agreed and agreed.was_for(ruling))):
                yield ruling
        elif agreed is None and spec.effect != "none":
            ruling = self.policy.rule_tool(spec)
            if ruling.verdict == "ask":  # a standing consent allowed the plan, perhaps not for these values
                yield ruling

    def _sink_fault(
        self, labels: StepLabels, spec: ToolSpec, arguments: Mapping[str, Value], *, is_agreed: bool
    ) -> Iterator[Ruling]:
        """Yield the objection if a value that decides where data goes has an unforeseen source."""
        for name in self._sinks[spec.name]:
            value = arguments.get(name)
            if value is None or name not in labels.arguments:
                continue
            expected = labels.expected(name).strangers
            came_from = f"{name!r} of {spec.name} decides where data goes; its value comes from "
            if unforeseen := value.label.strangers - expected:
                if names := self.labelling.unconfirmed_names(value.data):
                    said = (
                        f"{names[0]!r} in your contacts turned up without you, so its address is a stranger's until you"
                    )
                    said = f"{said} confirm it (`hearth policy contacts`)"
                else:
                    sources = ", ".join(sorted(unforeseen))
                    said = f"{came_from}{sources}, which was not foreseen when the plan was allowed"
                yield Ruling("ask", said, UNFORESEEN)
                return
            if value.label.strangers and not is_agreed:
                said = f"{', '.join(sorted(value.label.strangers))}, and is not in your contacts"
                yield Ruling("ask", came_from + said, "label")
                return

    def explain_call(self, tool: str, arguments: Mapping[str, Value], context: CallContext) -> Decision:
        """Judge one call with these values, without regard to a plan. Nothing is called or asked."""
        spec = self._specs[tool]
        try:
            things: Mapping[str, Value] = self._referents.of_call(tool, arguments, context).values
        except ToolError:  # it is judged as what is not there yet
            things = {
                name: replace(value, is_open=not self._is_known(spec, name, value)) for name, value in arguments.items()
            }
        resolved = self.labelling.resolved(spec, things, context.workspace, context.now)
        decision = self.policy.judge_call(spec, resolved, self._circumstances_of(tool, context.now, context.workspace))
        coming = self._what_comes_along(spec, things, context)
        decision = replace(decision, ruling=_with_what_comes(decision.ruling, coming))
        if decision.ruling.verdict != "allow":
            return decision
        for name in self._sinks[tool]:
            if name in resolved and (strangers := sorted(resolved[name].label.strangers)):
                asks = Ruling("ask", stranger_reason(name, tool, ", ".join(strangers)), "label")
                return replace(decision, ruling=asks)
        return decision


def _with_what_comes(ruling: Ruling, coming: tuple[Ruling, ...]) -> Ruling:
    """Return the ruling on a call with what comes along: the strictest, and that something is sent rather than that a
    tool asks by default."""
    if not coming:
        return ruling
    worst = strictest(coming)
    if SEVERITY[worst.verdict] > SEVERITY[ruling.verdict] or (
        worst.verdict == ruling.verdict == "ask" and ruling.rule == "default"
    ):
        return worst
    return ruling


def _made_up(plan: Plan, index: int) -> Ruling | None:
    """Return the ruling on a step that is given what another planner made up, or what that finds; None for others."""
    found = unsaid_in(plan, index) if any(step.unsaid for step in plan.steps) else None
    if found is None:
        return None
    (place, name), tool = found, plan.steps[index].tool
    step = plan.steps[place]
    record = step.said_in.get(name)
    words = source_words(label_of(step.unsaid[name]), (record,) if record is not None else ())
    said = f"{name!r} of {step.tool} comes from {words}"
    given = "" if place == index else f", and what it finds goes to {tool}"
    return Ruling("ask", f"{said}{given}: your request does not say it", MADE_UP)


def _by_consent(number: int, verdict: Literal["allow", "deny"]) -> Ruling:
    said = "agreed to this for good" if verdict == "allow" else "said never to this"
    return Ruling(
        verdict, f"you {said} (consent {number}; `hearth policy consents` lists and revokes)", f"consent.{number}"
    )


def told_reason(addresses: Sequence[str]) -> str:
    """Say whom a server may write to about a change."""
    n_more = len(addresses) - MAX_TOLD
    said = ", ".join(addresses[:MAX_TOLD]) + (f" and {n_more} more" if n_more > 0 else "")
    return f"the calendar server may write to {said} about it, which cannot be taken back"
