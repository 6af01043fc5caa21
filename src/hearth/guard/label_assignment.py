"""Assigns labels to real values, from what is known of their records and from the owner's contact book.

Only the monitor uses this. It joins what a tool declares, what a tool noted of single records (`CallContext.origins`),
what is remembered of them (`guard.flow.provenance`) and what went into the call; then it lets the contact book vouch
for addresses. Records made or changed through Hearth are remembered here.

Covered: as in `guard.flow.labels`, on real records.
Not covered: records without an id, a path or a name cannot be recognised, so only their tool's declaration counts;
the text and files of a draft that another program changed since Hearth wrote it (its recipients are covered).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from hearth.guard.flow.labels import (
    NO_FIELDS,
    VOUCHED_TYPES,
    ResultLabels,
    Value,
    item_type,
    join_all,
    label_of,
    result_labels,
    vouchable,
    vouched,
    with_vouched,
)
from hearth.guard.flow.provenance import (
    DOMAIN,
    KEYS,
    AddressBook,
    Confirmed,
    KnownAddresses,
    Origin,
    normalised,
    records,
    standing_for,
)
from hearth.guard.guard_state import Records
from hearth.protocols import CallContext, Workspace
from hearth.types import OWNER, TRUSTED_SOURCES, Label, Plain, ToolSpec, Whence

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
