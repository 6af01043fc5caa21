"""Mask a demonstration for sharing: request, words of the steps and literal values, and send nothing else of it.

What leaves: the masked request, when it was said, the masked words and arguments of the plan's steps, the names of the
tools it calls. What stays: every name, number, address and file (`guard.deidentify.masker`); the id (the cloud gets one
that tells nothing); which other tools there are; who planned it and how sure.

Covered: a label that keeps the demonstration here, or says that a stranger's text touched it; a demonstration that was
taken back or replaced meanwhile; a value whose type says that it is personal (a person, an address, a number, a file),
whether or not masking finds it by its form; a masked value that occurs again in another text, as a key or as a number.
Not covered: what a request tells through its matter and its time; names of the owner's own tools; what masking does not
find (`guard.deidentify.masker` says what).
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.errors import EgressError, PlanError
from hearth.formats.plan_json import plan_from_json
from hearth.guard.egress.masking_door import MaskingDoor, Part
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text
from hearth.types import TRUSTED_SOURCES, Label, ToolSpec, canonical_type

_KINDS = {"PersonName": "person", "EmailAddress": "email", "PhoneNumber": "phone", "Url": "url", "FilePath": "file"}
"""Types of personal values, with the kinds masking knows them by."""
_TIMES = ("date", "time", "datetime", "duration")
_TIME_FORM = re.compile(r"[0-9TPZWYMDHS:.+-]{1,40}")
"""Forms of times in a plan; masking takes some of their digits for a personal number."""


@dataclass(frozen=True, slots=True)
class Shareable:
    """A demonstration as it is sent."""

    payload: bytes
    """A line of the plan format."""
    stands_for: Mapping[str, str]
    """Pseudonym → the value it stands for. Never leaves."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The reason a demonstration stays here."""

    reason: str
    is_gone: bool = False
    """True when it no longer counts here; nothing is said of it."""


@dataclass(frozen=True, slots=True)
class Sharer:
    """Masks demonstrations of one home for one host."""

    store: Store
    host: str
    door: MaskingDoor
    tools: Mapping[str, ToolSpec]

    def shareable(self, id: str, about: str, digest: str) -> Shareable | Kept:
        """Return the demonstration `about`, masked, for the host under the name `id`; or why it stays."""
        rows = self.store.query("SELECT * FROM demonstration WHERE id = ? AND digest = ?", (about, digest))
        return _shareable(rows, id, self.host, self.door, self.tools)


def _shareable(
    rows: Sequence[sqlite3.Row], id: str, host: str, door: MaskingDoor, tools: Mapping[str, ToolSpec]
) -> Shareable | Kept:
    if not rows:
        return Kept("it was taken back, or replaced by another", is_gone=True)
    row = rows[0]
    try:
        label = label_from_text(row["label"])
        data = json.loads(row["plan_json"])
        plan = plan_from_json(data)
    except (ValueError, PlanError) as error:
        return Kept(f"it cannot be read ({error})")
    if label.readers is not None and host not in label.readers:
        return Kept("its label keeps it on this device")
    if strangers := sorted(label.sources - TRUSTED_SOURCES):
        return Kept(f"text from {', '.join(strangers)} touched it")
    if not plan.steps:
        return Kept("it says that nothing is to be done, which teaches others nothing")
    try:
        return _masked(Said(row["request"], row["now"], label), data, id, door, tools)
    except EgressError as error:
        return Kept(str(error))


@dataclass(frozen=True, slots=True)
class Said:
    """A request, when it was said, and the label of its words."""

    text: str
    now: str | None
    label: Label


def _masked(
    said: Said, data: Mapping[str, Any], id: str, door: MaskingDoor, tools: Mapping[str, ToolSpec]
) -> Shareable:
    """Mask all texts in one conversation, so that a value has the same stand-in in request and plan."""
    nodes: list[dict[str, Any]] = []
    told = [said.text, *map(str, data.get("task_steps") or ())]
    parts = [Part(text, said.label) for text in told]
    for node in data["task_nodes"]:
        arguments = [dict(argument) for argument in node["arguments"] if isinstance(argument, dict)]
        nodes.append({**{k: node[k] for k in ("task", "after") if k in node}, "arguments": arguments})
        spec = tools.get(node["task"])
        for argument in arguments:
            argument["plain"] = _is_plain(argument["value"], spec, argument["name"])
            if not argument["plain"]:
                kind = _kind(spec, argument["name"])
                parts += [Part(text, said.label, kind) for text in _literals(argument["value"])]
    masked = door.masked(parts).everywhere()
    rest = iter(masked.texts[len(told) :])
    for node in nodes:
        node["arguments"] = [
            {"name": a["name"], "value": a["value"] if a["plain"] else _filled(a["value"], rest, masked.values)}
            for a in node["arguments"]
        ]
    line = {
        "id": id,
        "user_request": masked.texts[0],
        **({"now": said.now} if said.now else {}),
        "tools": sorted({node["task"] for node in nodes}),
        "task_steps": list(masked.texts[1 : len(told)]),
        "task_nodes": nodes,
        "task_links": data.get("task_links") or [],
    }
    return Shareable(json.dumps(line, ensure_ascii=False).encode(errors="replace"), dict(masked.values))


def _kind(spec: ToolSpec | None, name: str) -> str:
    """Return the kind of value an argument holds, where its type says that it is personal; empty otherwise."""
    parameter = spec.parameter(name) if spec is not None else None
    kind = canonical_type(parameter.type) if parameter is not None else ""
    return _KINDS.get(kind.removeprefix("list[").removesuffix("]"), "")


def _is_plain(value: object, spec: ToolSpec | None, name: str) -> bool:
    """Say whether a value tells nothing of anybody: a time, or one of the options its parameter has."""
    parameter = spec.parameter(name) if spec is not None else None
    if parameter is None or not isinstance(value, str):
        return False
    is_time = canonical_type(parameter.type) in _TIMES and _TIME_FORM.fullmatch(value) is not None
    return is_time or value in parameter.enum


_REFERENCE = re.compile(r"<node-\d{1,9}(?:\.[A-Za-z0-9_]+)*>")


_SOMEBODYS_NUMBER = 100_000
"""Numbers from here on may be personal: an account, a telephone, a code; smaller ones are counts and amounts."""


def _literals(value: object) -> list[str]:
    """Return the texts written out in an encoded argument, with keys and long numbers, without references."""
    if isinstance(value, str):
        return [] if _REFERENCE.fullmatch(value) else [value]
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_literals(item))]
    if isinstance(value, int | float):
        return [str(value)] if _SOMEBODYS_NUMBER <= abs(value) < math.inf else []
    return [text for item in value for text in _literals(item)] if isinstance(value, list) else []


def _filled(value: object, texts: Iterator[str], values: Mapping[str, str]) -> object:
    """Return `value` with its texts, in order, replaced by masked ones."""
    if isinstance(value, str):
        return value if _REFERENCE.fullmatch(value) else next(texts)
    if isinstance(value, list):
        return [_filled(item, texts, values) for item in value]
    if isinstance(value, dict):
        return {next(texts): _filled(item, texts, values) for item in value.values()}
    if isinstance(value, int | float) and _SOMEBODYS_NUMBER <= abs(value) < math.inf:
        text = next(texts)
        return text if text != str(value) else _of_digits(value, values)
    return value


def _of_digits(value: float, values: Mapping[str, str]) -> object:
    """Return the stand-in of a value with the digits of this number, however it was written; else the number."""
    digits = re.sub(r"\D", "", str(int(value)))
    held = (stand_in for stand_in, text in values.items() if digits in re.sub(r"\D", "", text))
    return next(held, value)
