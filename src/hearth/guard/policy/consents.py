"""Keeps the owner's standing answers, "always this" and "never this": narrow, expiring, listed and revocable.

A consent holds for one tool, the same things wherever a value decides what is acted on (recipients, records, files,
devices, choices; for a draft, its recipients and files), amounts not above the one agreed to, no source that was not
there then, and the same reason for asking: the same rule by content, not by name. A value that stands for recipients (a
draft) has the sources of everything they get. Free text and times may differ. A consent never lifts a `deny`. A "never"
belongs to no rule, overrides every yes, and holds whatever the files, amounts and sources; where nothing decides what
is acted on (a note), it holds for the very same words.

Covered: everything above; a consent that has expired or was revoked counts for nothing.
Not covered: what a text says; what another program makes of a draft; how often a consent is used (rules with a rate
count that); another thing that takes the place of one agreed to, under its very name.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hearth.errors import NotFound
from hearth.formats.plan_json import decode_argument, encode_argument
from hearth.guard.flow.labels import Value, item_type, told
from hearth.guard.flow.provenance import normalised
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, label_text, moment_text, parse_moment
from hearth.types import WORDING, Asked, Parameter, Plain, Referent, Ruling, Step, ToolSpec

LASTS = dt.timedelta(days=30)
AMOUNT_TYPES = frozenset({"integer", "number"})
FREE_TYPES = frozenset({"text", "date", "time", "datetime", "duration"})
"""Types whose values may differ from one time to the next, if they are neither a sink nor an enum."""
_FILES = ".files"
"""Suffix to an argument's name: the files that go with what it stands for. No parameter has a dot in its name."""
_TOLD = ".told"
"""The same: whom a server writes to by itself."""
_SETS = ".sets"
"""The same: the calls that a thing sets off, so that a scene that became another one is asked about again."""


@dataclass(frozen=True, slots=True)
class Consent:
    """One standing answer."""

    number: int
    tool: str
    verdict: Literal["allow", "deny"]
    fixed: Mapping[str, Plain]
    """Values that must be the same, by argument."""
    amounts: Mapping[str, float]
    """The most that was agreed to, by argument."""
    sources: Mapping[str, frozenset[str]]
    """Sources that each argument may come from."""
    rules: frozenset[str]
    """The rules that asked; another one asks again."""
    at: dt.datetime
    expires: dt.datetime
    episode: str = ""
    n_used: int = 0
    is_revoked: bool = False

    def covers(self, spec: ToolSpec, arguments: Mapping[str, Value], rule: str, now: dt.datetime) -> bool:
        """Return whether a call is covered by this answer."""
        if self.is_revoked or now >= self.expires or spec.name != self.tool:
            return False
        if self.verdict == "deny":
            return self._refuses(spec, arguments)
        if any(value.is_open for value in arguments.values()):
            return False
        fixed, amounts = pattern_of(spec, arguments)
        return (
            rule in self.rules
            and fixed == self.fixed
            and amounts.keys() == self.amounts.keys()
            and all(_is_within(amount, self.amounts[name]) for name, amount in amounts.items())
            and arguments.keys() <= self.sources.keys()
            and all(_sources(value) <= self.sources[name] for name, value in arguments.items())
        )

    def _refuses(self, spec: ToolSpec, arguments: Mapping[str, Value]) -> bool:
        """Return whether a "never" is about these things, or about some of them: all that it was said of must be there.
        One said before things were resolved is about their names. What is left out and what is spelled out as it is by
        default are the same."""
        defaults = {p.name: _normal(p.default) for p in spec.parameters if not p.is_required}
        wanted = {**defaults, **refused(spec, arguments)}
        told = {name: value for name, value in self.fixed.items() if defaults.get(name) != value} or self.fixed
        return bool(told) and all(
            name in wanted
            and _is_among(self.fixed[name], wanted[name], arguments[name].things if name in arguments else ())
            for name in told
        )

    def said(self) -> str:
        """Describe the consent in one line, for a list."""
        parts = [f"{name} = {_shown(value)}" for name, value in self.fixed.items()]
        parts += [f"{name} up to {amount:g}" for name, amount in self.amounts.items()]
        return f"{self.tool}({', '.join(parts)})"


def _is_among(agreed: Plain, value: Plain, things: Sequence[Referent]) -> bool:
    """Return whether a value is the one that was agreed on, or holds all its things beside others, by whatever name."""
    if agreed == value:
        return True
    one, other = (each if isinstance(each, list) else [each] for each in (agreed, value))
    named = {text for thing in things for text in (thing.name, *thing.spellings, *thing.aliases)}
    return bool(one) and all(thing not in (None, "") and (thing in other or thing in named) for thing in one)


def _is_within(amount: float, agreed: float) -> bool:
    """Return whether an amount is not above the agreed one, and of the same sign: paying is not taking back."""
    return 0 <= amount <= agreed or agreed <= amount <= 0


def _shown(value: Plain) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def is_fixed(spec: ToolSpec, parameter: Parameter) -> bool:
    """Return whether a value decides what is acted on, so that a consent holds for this value only."""
    kind = item_type(parameter.type)
    if parameter.is_sink or parameter.enum or kind not in AMOUNT_TYPES | FREE_TYPES:
        return True
    return (kind == "text" and parameter.name not in WORDING) or parameter is _naming(spec)


def deciding(spec: ToolSpec, names: Iterable[str]) -> frozenset[str]:
    """Select the arguments that a "never" holds for: the fixed ones, or all if none is fixed."""
    given = [p for p in spec.parameters if p.name in set(names)]
    return frozenset(p.name for p in given if is_fixed(spec, p)) or frozenset(p.name for p in given)


def refused(spec: ToolSpec, arguments: Mapping[str, Value]) -> dict[str, Plain]:
    """The values of a call that a "never" holds for, normalised."""
    wanted = deciding(spec, arguments)
    return {name: _normal(value.data) for name, value in arguments.items() if name in wanted}


def _naming(spec: ToolSpec) -> Parameter | None:
    """The text parameter that names the record a tool acts on, if no id does: which list, say."""
    if not spec.unconfirmed or any(parameter.type.endswith("Id") for parameter in spec.parameters):
        return None
    return next((p for p in spec.parameters if p.is_required and p.type == "text"), None)


def pattern_of(spec: ToolSpec, arguments: Mapping[str, Value]) -> tuple[dict[str, Plain], dict[str, float]]:
    """The values of a call that a consent fixes, normalised, and its amounts."""
    fixed: dict[str, Plain] = {}
    amounts: dict[str, float] = {}
    for parameter in spec.parameters:
        value = arguments.get(parameter.name)
        if value is None:
            continue
        if is_fixed(spec, parameter):
            fixed[parameter.name] = _normal(value.data)
            if value.files:
                fixed[f"{parameter.name}{_FILES}"] = [*sorted(value.files)]
            if written_to := told({parameter.name: value}):
                fixed[f"{parameter.name}{_TOLD}"] = [*sorted(written_to)]
            if set_off := [_said_step(step) for one in value.things for step in one.sets_off]:
                fixed[f"{parameter.name}{_SETS}"] = [*sorted(set_off)]
        elif item_type(parameter.type) in AMOUNT_TYPES:
            items = value.data if isinstance(value.data, list) else [value.data]
            numbers = [float(item) for item in items if isinstance(item, int | float)]
            amounts[parameter.name] = max(numbers, key=abs, default=0.0)
    return fixed, amounts


def _said_step(step: Step) -> str:
    given = (f"{name}={json.dumps(literal, default=str)}" for name, literal in sorted(step.arguments.items()))
    return f"{step.tool}({', '.join(given)})"


def _sources(value: Value) -> frozenset[str]:
    """Sources of a value and of all that goes with it: a draft stands for recipients, its text comes from elsewhere."""
    return value.label.sources.union(*(label.sources for label in value.fields.values()))


def _normal(value: Plain) -> Plain:
    """Normalise addresses to ignore case, and lists to ignore order and repeats."""
    if isinstance(value, list):
        items = sorted((_normal(item) for item in value), key=repr)
        return [item for k, item in enumerate(items) if not k or item != items[k - 1]]
    return normalised(value) if isinstance(value, str) and "@" in value else value


class Consents:
    """The standing answers of a home; without a store they last as long as the process."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._known: list[Consent] | None = None
        self._version = -1

    def all(self) -> tuple[Consent, ...]:
        """Every consent, also expired and revoked ones, oldest first."""
        if self._known is None:
            rows = self._store.query("SELECT * FROM consent ORDER BY number") if self._store is not None else []
            self._known = [_read(row) for row in rows]
        return tuple(self._known)

    def find(self, spec: ToolSpec, arguments: Mapping[str, Value], rule: str, now: dt.datetime) -> Consent | None:
        """Find the consent that covers a call; denials first. One that another process revoked covers none."""
        for _ in range(2):
            found = [c for c in self.all() if c.tool == spec.name and c.covers(spec, arguments, rule, now)]
            if not found or not self._is_outdated():
                break
        return min(found, key=lambda consent: consent.verdict != "deny", default=None)

    def may_cover(self, tool: str, rule: str, now: dt.datetime) -> bool:
        """Return whether some consent could allow a call of a tool whose values are not known yet."""
        return any(
            c.tool == tool and c.verdict == "allow" and not c.is_revoked and now < c.expires and rule in c.rules
            for c in self.all()
        )

    def _is_outdated(self) -> bool:
        """Return whether another process wrote since the last check; then all are read again at the next need."""
        if self._store is None:
            return False
        before, self._version = self._version, self._store.query("PRAGMA data_version")[0][0]
        if before == self._version:
            return False
        self._known = None
        return True

    def keep(
        self,
        spec: ToolSpec,
        arguments: Mapping[str, Value],
        verdict: Literal["allow", "deny"],
        rules: frozenset[str],
        now: dt.datetime,
        episode: str = "",
    ) -> Consent:
        """Record a new consent. Raises: StoreError: Nothing is kept."""
        fixed, amounts = pattern_of(spec, arguments)
        if verdict == "deny":
            fixed = refused(spec, arguments)
        sources = {name: _sources(value) for name, value in arguments.items()}
        known = self.all()
        number = max((consent.number for consent in known), default=0) + 1
        consent = Consent(number, spec.name, verdict, fixed, amounts, sources, rules, now, now + LASTS, episode)
        if self._store is not None:
            pattern = {
                "fixed": fixed,
                "amounts": amounts,
                "sources": {name: sorted(several) for name, several in sources.items()},
                "rules": sorted(rules),
            }
            times = moment_text(now), moment_text(consent.expires)
            with self._store.transaction() as cursor:
                cursor.execute(
                    "INSERT INTO consent (number, tool, verdict, pattern_json, at, expires, episode)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (number, spec.name, verdict, json.dumps(pattern), *times, episode),
                )
        self._known = [*known, consent]
        return consent

    def used(self, consent: Consent) -> None:
        """Count one use. Raises: StoreError."""
        if self._store is not None:
            with self._store.transaction(is_synced=False) as cursor:
                cursor.execute("UPDATE consent SET n_used = n_used + 1 WHERE number = ?", (consent.number,))

    def revoke(self, number: int) -> Consent:
        """Revoke a consent. Raises: NotFound: No valid consent has that number."""
        found = next((c for c in self.all() if c.number == number and not c.is_revoked), None)
        if found is None:
            raise NotFound(f"there is no consent {number}; `hearth policy consents` lists the ones there are")
        if self._store is not None:
            with self._store.transaction() as cursor:
                cursor.execute("UPDATE consent SET is_revoked = 1 WHERE number = ?", (number,))
            self._known = None
        else:
            self._known = [replace(c, is_revoked=True) if c.number == number else c for c in self.all()]
        return found


def _read(row: Any) -> Consent:
    pattern = json.loads(row["pattern_json"])
    return Consent(
        number=row["number"],
        tool=row["tool"],
        verdict=row["verdict"],
        fixed=pattern["fixed"],
        amounts=pattern["amounts"],
        sources={name: frozenset(several) for name, several in pattern["sources"].items()},
        rules=frozenset(pattern["rules"]),
        at=parse_moment(row["at"]),
        expires=parse_moment(row["expires"]),
        episode=row["episode"],
        n_used=row["n_used"],
        is_revoked=bool(row["is_revoked"]),
    )


# ── What was agreed to of one request ──────────────────────────────────────────────────────────────────
# Keeps what the owner agreed to of a request that is being carried out, so that a crash between the yes and the step
# loses nothing of it: after it, only what was agreed to is done, to the very things that were shown.
# A row for each step, with the step itself, the things it named, what they were like, and the question. It is on disk
# before the step begins, and goes with the end of the request; the question and its answer stay in the record.
# Covered: plans and single calls that were asked about; a step that is another one now has no agreement.
# Not covered: what was asked in another process's memory only; standing answers (`guard.policy.consents`).


@dataclass(frozen=True, slots=True)
class Agreement:
    """The owner's yes to one step."""

    step: Step
    ruling: Ruling
    """The ruling it was shown with."""
    asked: Asked
    things: Mapping[str, Value]
    """What its arguments named when it was shown, as far as that was known."""
    is_planned: bool = True
    """Whether it was agreed to with its plan; a single call may be asked about that no question was about before."""
    kept: frozenset[str] = frozenset()
    """The rules that asked, where the answer was "always"."""
    confirmed: Mapping[str, Plain] | None = None
    """Its real values, where it was asked about with these."""

    def is_for(self, step: Step) -> bool:
        return _step_text(self.step) == _step_text(step)


class Agreements:
    """The agreements of requests that are not over yet; without a store they last as long as the process."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._known: dict[tuple[str, int], Agreement] = {}

    def keep(self, episode: str, agreements: Mapping[int, Agreement]) -> None:
        """Record the owner's yes to steps of a request; on disk with the next record of a step, before which nothing is
        done. Raises: StoreError."""
        if self._store is None:
            self._known |= {(episode, index): one for index, one in agreements.items()}
            return
        rows = [(episode, index, _dumps(one)) for index, one in agreements.items()]
        with self._store.transaction(is_synced=False) as cursor:
            cursor.executemany(
                "INSERT INTO agreed_step (episode, step, what_json) VALUES (?, ?, ?)"
                " ON CONFLICT (episode, step) DO UPDATE SET what_json=excluded.what_json",
                rows,
            )

    def of(self, episode: str) -> dict[int, Agreement]:
        """The agreements to steps of a request that is not over, by step. Raises: StoreError."""
        if self._store is None:
            return {index: one for (id, index), one in self._known.items() if id == episode}
        rows = self._store.query("SELECT step, what_json FROM agreed_step WHERE episode=? ORDER BY step", (episode,))
        return {row["step"]: _loads(row["what_json"]) for row in rows}


# ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────────


def _step_text(step: Step) -> str:
    return json.dumps(_step(step), sort_keys=True)


def _step(step: Step) -> list[Any]:
    arguments = {name: encode_argument(value) for name, value in step.arguments.items()}
    return [step.tool, arguments, sorted(step.after), step.replaces]


def _dumps(one: Agreement) -> str:
    return json.dumps(
        {
            "step": _step(one.step),
            "ruling": [one.ruling.verdict, one.ruling.reason, one.ruling.rule],
            "asked": [one.asked.question, one.asked.answer],
            "things": {name: _value(value) for name, value in one.things.items()},
            "is_planned": one.is_planned,
            "kept": sorted(one.kept),
            "confirmed": one.confirmed,
        }
    )


def _value(value: Value) -> dict[str, Any]:
    things = [
        [o.id, o.name, list(o.spellings), list(o.aliases), o.text, list(map(list, o.state)), list(o.told)]
        for o in value.things
    ]
    return {"data": value.data, "label": label_text(value.label), "things": things, "is_open": value.is_open}


def _loads(text: str) -> Agreement:
    data = json.loads(text)
    tool, arguments, after, replaces = data["step"]
    return Agreement(
        step=Step(
            tool, {name: decode_argument(value) for name, value in arguments.items()}, tuple(after), "", replaces
        ),
        ruling=Ruling(*data["ruling"]),
        asked=Asked(*data["asked"]),
        things={name: _read_value(value) for name, value in data["things"].items()},
        is_planned=data["is_planned"],
        kept=frozenset(data["kept"]),
        confirmed=data["confirmed"],
    )


def _read_value(data: Mapping[str, Any]) -> Value:
    things = tuple(
        Referent(
            id,
            name,
            tuple(spellings),
            tuple(aliases),
            text,
            tuple((what, was) for what, was in state),
            told=tuple(addresses for several in told for addresses in several),
        )
        for id, name, spellings, aliases, text, state, *told in data["things"]
    )
    return Value(data["data"], label_from_text(data["label"]), things=things, is_open=data["is_open"])
