"""Reads from a tool's spec what its parameters and result fields mean to a guard.

A parameter is a recipient, a target (a record to act on), a link, an amount, a secret, a name (a title for something
new), a place in the owner's folder, a venue, items of a list, content, a moment, a repetition, or free (switches,
counts). Types decide first, then `is_sink`, then the parameter's name. A poorly described tool gets the stricter
reading: an unknown nominal type is a target.

Covered: nested lists and records (an attachment's `file_id` is a target).
Not covered: what a free text means; switches and choices from a list (read or write rights), which are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from hearth.types import TYPE_NAMES, Plain, ToolSpec, canonical_type

Role = Literal[
    "recipient", "target", "link", "amount", "secret", "name", "place", "content", "items", "venue", "when", "repeat",
    "query", "free",
]  # fmt: skip

ADDRESS_TYPES = frozenset({"EmailAddress", "PhoneNumber", "Account", "Handle", "PostalAddress"})
"""Types whose values say where something goes."""
_NAME_WORDS = frozenset({"title", "subject", "name", "filename", "file_name", "label", "heading", "list"})
_THING_WORDS = frozenset({"device", "scene"})
"""Names of text parameters that name a thing in the house: only one that the request names is allowed."""
AMOUNT_WORDS = frozenset({"amount", "price", "sum", "total"})
_ADDRESS_WORDS = frozenset({"address", "street", "city"})
_REPEAT_WORDS = frozenset({"repeat", "recurring", "recurrence", "frequency"})
_SECRET_WORDS = frozenset({"password", "passcode", "pin", "secret", "token", "passphrase"})
_ROLES_BY_TYPE: Mapping[str, Role] = {
    "Secret": "secret",
    "Money": "amount",
    "FilePath": "place",
    **dict.fromkeys(ADDRESS_TYPES, "recipient"),
}
_FREE_TYPES = frozenset({"integer", "number", "boolean", "date", "time", "datetime", "duration"})
_PLACE_WORDS = frozenset({"place", "location", "venue"})
_AUTHOR_WORDS = frozenset({"sender", "owner", "organizer", "organiser", "from", "author", "creator", "shared_by"})
"""Names of fields that say who made the record."""


@dataclass(frozen=True, slots=True)
class Sensitive:
    """One value of a call that the guard checks."""

    parameter: str
    role: Role
    value: Plain


@cache
def element_type(name: str) -> str:
    """The type inside `list[…]`, in Hearth's spelling."""
    name = name.strip()
    while name.startswith("list[") and name.endswith("]"):
        name = name[5:-1].strip()
    return canonical_type(name)


@cache
def _role(name: str, type_name: str, is_sink: bool, effect: str, source: str) -> Role:
    kind, low = element_type(type_name), name.lower()
    if kind == "Url":
        return "link"
    if effect == "none":
        return "query" if source == "web" and kind not in _FREE_TYPES else "free"
    if low in _SECRET_WORDS:
        return "secret"
    if low in AMOUNT_WORDS and kind in ("number", "integer"):
        return "amount"
    if kind in _ROLES_BY_TYPE:
        return _ROLES_BY_TYPE[kind]
    if kind not in TYPE_NAMES and kind.endswith("Id"):
        return "target"
    if is_sink or (kind == "text" and low in _ADDRESS_WORDS):
        return "recipient"
    if low in _REPEAT_WORDS:
        return "repeat"
    if kind in ("date", "datetime"):
        return "when"
    if kind in _FREE_TYPES:
        return "free"
    if kind == "PersonName":
        return "name"
    if kind == "text":
        return _text_role(low, is_list=type_name.strip().startswith("list["))
    return "content" if kind in ("any", "list[any]") else "target"


def _text_role(name: str, *, is_list: bool) -> Role:
    if name in _NAME_WORDS:
        return "name"
    if is_list or name in _THING_WORDS:
        return "items"
    return "venue" if name in _PLACE_WORDS else "content"


def sensitive_values(spec: ToolSpec, arguments: Mapping[str, Plain]) -> Iterator[Sensitive]:
    """Yield every scalar of a call that has a role other than `free`."""
    for name, value in arguments.items():
        if value is None:
            continue
        parameter = spec.parameter(name)
        if parameter is None:
            yield Sensitive(name, "target", value)  # not in the signature: judged by the strictest rule
            continue
        if parameter.enum and name.lower() not in _REPEAT_WORDS:
            continue
        role = _role(name, parameter.type, parameter.is_sink, spec.effect, spec.source)
        if role != "free":
            yield from _scalars(name, role, value)


def _scalars(name: str, role: Role, value: Plain) -> Iterator[Sensitive]:
    if isinstance(value, list):
        for item in value:
            yield from _scalars(name, role, item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _scalars(f"{name}.{key}", _role_of_key(key, role), item)
    elif value is not None and (role == "repeat" or not isinstance(value, bool)):
        yield Sensitive(name, role, value)


def _role_of_key(key: str, outer: Role) -> Role:
    low = key.lower()
    if low == "id" or low.endswith(("_id", "path")):
        return "target"
    if low in ("email", "recipient", "recipients", "to", "participants", "account", "phone"):
        return "recipient"
    return "link" if low == "url" else outer


# ── Results ───────────────────────────────────────────────────────────────────────────────────────────────


def field_type(spec: ToolSpec, name: str) -> str:
    """The element type of a result field; `""` is the result itself if it is not a record."""
    if name:
        return element_type(spec.fields.get(name, "any"))
    return element_type(spec.returns)


def is_structured(kind: str) -> bool:
    """Return whether a value of this type is an address, an id or a name rather than prose."""
    return kind in ADDRESS_TYPES or kind in ("PersonName", "FilePath", "Url") or kind not in TYPE_NAMES


def is_label(name: str, kind: str) -> bool:
    """Return whether a field names its record: a title, a file name, a person."""
    low = name.lower()
    return (
        low in _NAME_WORDS
        or low.endswith("name")
        or kind in ("PersonName", "FilePath", "EmailAddress", "Handle")
        or (not name and is_structured(kind))
    )


def is_author(name: str) -> bool:
    """Return whether a field says who made its record."""
    return name.lower() in _AUTHOR_WORDS


def is_place(name: str) -> bool:
    """Return whether a field says where something takes place."""
    return name.lower() in _PLACE_WORDS
