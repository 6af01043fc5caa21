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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth.errors import PlanError
from hearth.formats.plan_json import plan_from_json
from hearth.guard.deidentify.masked_llm import OwnersMask
from hearth.guard.deidentify.masker import Masked, Masker
from hearth.guard.deidentify.pseudonyms import StandIns
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text
from hearth.types import TRUSTED_SOURCES, ToolSpec, canonical_type

_KINDS = {
    "PersonName": "person",
    "EmailAddress": "email",
    "PhoneNumber": "phone",
    "Url": "url",
    "FilePath": "file",
}
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
    mask: OwnersMask | Masker
    tools: Mapping[str, ToolSpec]

    def shareable(self, id: str, about: str, digest: str) -> Shareable | Kept:
        """Return the demonstration `about`, masked, for the host under the name `id`; or why it stays."""
        rows = self.store.query("SELECT * FROM demonstration WHERE id = ? AND digest = ?", (about, digest))
        return _shareable(rows, id, self.host, self.mask, self.tools)


def _shareable(
    rows: Sequence[sqlite3.Row], id: str, host: str, mask: OwnersMask | Masker, tools: Mapping[str, ToolSpec]
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
    return _masked(row["request"], row["now"], data, id, mask, tools)


def _masked(
    request: str, now: str | None, data: Mapping[str, Any], id: str, mask: OwnersMask | Masker,
    tools: Mapping[str, ToolSpec],
) -> Shareable:  # fmt: skip
    """Mask all texts in one conversation, so that a value has the same pseudonym in request and plan."""
    nodes: list[dict[str, Any]] = []
    texts = [request, *map(str, data.get("task_steps") or ())]
    n_told = len(texts)
    for node in data["task_nodes"]:
        arguments = [dict(argument) for argument in node["arguments"] if isinstance(argument, dict)]
        nodes.append({**{k: node[k] for k in ("task", "after") if k in node}, "arguments": arguments})
        for argument in arguments:
            argument["plain"] = _is_plain(argument["value"], tools.get(node["task"]), argument["name"])
            texts += [] if argument["plain"] else _literals(argument["value"])
    masked = mask.masker().mask(*texts)
    stand_ins = masked.stand_ins
    for node in nodes:  # first, so that each pseudonym replaces its value everywhere
        for argument in node["arguments"]:
            if not argument["plain"]:
                _give_stand_ins(argument["value"], _kind(tools.get(node["task"]), argument["name"]), masked)
    rest = iter(masked.texts[n_told:])
    for node in nodes:
        spec = tools.get(node["task"])
        node["arguments"] = [
            {
                "name": a["name"],
                "value": a["value"] if a["plain"] else _filled(a["value"], rest, _kind(spec, a["name"]), stand_ins),
            }
            for a in node["arguments"]
        ]
    told = [_without_values(text, stand_ins) for text in masked.texts[:n_told]]
    line = {
        "id": id,
        "user_request": told[0],
        **({"now": now} if now else {}),
        "tools": sorted({node["task"] for node in nodes}),
        "task_steps": told[1:],
        "task_nodes": nodes,
        "task_links": data.get("task_links") or [],
    }
    return Shareable(json.dumps(line, ensure_ascii=False).encode(errors="replace"), dict(stand_ins.values))


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


def _give_stand_ins(value: object, kind: str, masked: Masked) -> None:
    """Give a pseudonym to every text of a personal `value` that masking did not find."""
    for text in _literals(value) if kind else ():
        if text.strip() and text in masked.texts and text not in masked.values:
            masked.stand_ins.of(kind, text)


def _filled(value: object, texts: Any, kind: str, stand_ins: StandIns) -> object:
    """Return `value` with its texts, in order, replaced; personal ones as a whole."""
    if isinstance(value, str):
        if _REFERENCE.fullmatch(value):
            return value
        text: str = next(texts)
        if kind and text == value and text.strip():
            return stand_ins.of(kind, value)
        return _without_values(text, stand_ins)
    if isinstance(value, list):
        return [_filled(item, texts, kind, stand_ins) for item in value]
    if isinstance(value, dict):
        return {_without_values(next(texts), stand_ins): _filled(value[key], texts, kind, stand_ins) for key in value}
    if isinstance(value, int | float) and _SOMEBODYS_NUMBER <= abs(value) < math.inf:
        text = _without_values(next(texts), stand_ins)
        return text if text != str(value) else _of_digits(value, stand_ins)
    return value


def _of_digits(value: float, stand_ins: StandIns) -> object:
    """Return the pseudonym of a value with the digits of this number, however it was written; else the number."""
    digits = re.sub(r"\D", "", str(int(value)))
    held = (stand_in for stand_in, text in stand_ins.values.items() if digits in re.sub(r"\D", "", text))
    return next(held, value)


def _without_values(text: str, stand_ins: StandIns) -> str:
    """Return `text` without the values that have a pseudonym elsewhere: masking does not always find a name alone."""
    by_value = {value.casefold(): stand_in for stand_in, value in stand_ins.values.items() if len(value.strip()) > 1}
    if not by_value:
        return text

    def put(found: re.Match[str]) -> str:
        return found[0] if found[0] in stand_ins.values else by_value.get(found[0].casefold(), found[0])

    words = sorted({*stand_ins.values, *by_value}, key=len, reverse=True)
    return re.sub(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", put, text, flags=re.IGNORECASE)
