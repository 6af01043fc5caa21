"""Keeps what the owner agreed to of a request that is being carried out, so that a crash between the yes and the step
loses nothing of it: after it, only what was agreed to is done, to the very things that were shown.

A row for each step, with the step itself, the things it named, what they were like, and the question. It is on disk
before the step begins, and goes with the end of the request; the question and its answer stay in the record.

Covered: plans and single calls that were asked about; a step that is another one now has no agreement.
Not covered: what was asked in another process's memory only; standing answers (`guard.policy.consents`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth.formats.plan_json import decode_argument, encode_argument
from hearth.guard.flow.labels import Value
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, label_text
from hearth.types import Asked, Plain, Referent, Ruling, Step


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
