"""Changes single settings of `hearth.toml` and leaves the rest of its text as it is."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel

from hearth.atomic_files import replacing
from hearth.config import parse_settings, read_settings
from hearth.config.setting_tables import Settings
from hearth.errors import ConfigError, Conflict, NotFound, RequestError

# ── TOML text ─────────────────────────────────────────────────────────────────────────────────────────────
# Change values in the text of `hearth.toml` by tomlkit; the rest, comments included, stays as the owner wrote it.
#
# The new text is read again: if it says anything else than the old one with these values changed, it is not used. Not
# covered: entries of tables in lists (`[[rule]]`).

TomlValue: TypeAlias = bool | int | float | str | Sequence[str]
Values: TypeAlias = Mapping[tuple[str, ...], TomlValue | None]
"""By the names of its tables and its own: a value, or None where it is taken out."""


def with_values(path: Path, text: str, values: Values) -> str:
    """Return the text of the file at `path` with these values; itself where it says so already.

    Raises:
        ConfigError: It is written in a way in which these alone cannot be changed; says what to write by hand.
    """
    import tomlkit  # 20 ms; most starts change nothing
    from tomlkit.exceptions import TOMLKitError

    wanted = tomllib.loads(text)
    try:
        document = tomlkit.parse(text)
        for (*tables, key), value in values.items():
            _put(wanted, tables, key, value)
            _put(document, tables, key, value)
        changed = tomlkit.dumps(document)
        is_as_wanted = _filled(tomllib.loads(changed)) == _filled(wanted)
    # tomlkit's own errors, and what it raises where a table is not what it looks like.
    except (TOMLKitError, tomllib.TOMLDecodeError, AttributeError, LookupError, TypeError, ValueError):
        is_as_wanted = False
    if not is_as_wanted:
        raise ConfigError(
            f"{path}: is written in a way that is not changed here; nothing was changed; {_by_hand(values)} yourself"
        )
    return text if _filled(tomllib.loads(text)) == _filled(wanted) else changed


def _put(data: Any, tables: Sequence[str], key: str, value: TomlValue | None) -> None:
    """Put a value into nested tables, plain ones or tomlkit's; missing ones are made where there is a value."""
    for name in tables:
        if name not in data:
            if value is None:
                return
            data[name] = {}
        data = data[name]
    if value is None:
        data.pop(key, None)
    elif isinstance(value, bool | int | float | str):
        data[key] = value
    elif isinstance(old := data.get(key), list) and list(value[: len(old)]) == old:
        old.extend(value[len(old) :])  # so that comments between its lines stay
    else:
        data[key] = list(value)


def _filled(data: Any) -> Any:
    """Return data without its empty tables: whether one of these is named says nothing."""
    if not isinstance(data, dict):
        return data
    found = {key: _filled(value) for key, value in data.items()}
    return {key: value for key, value in found.items() if value != {}}


def _by_hand(values: Values) -> str:
    lines = []
    for (*tables, key), value in values.items():
        said = f"take {key!r} out" if value is None else f"write {key} = {json.dumps(value, ensure_ascii=False)}"
        lines.append(f"{said} under [{'.'.join(tables)}]")
    return "; ".join(lines)


# ── Settings edit ─────────────────────────────────────────────────────────────────────────────────────────
# Changes one setting in the text of `hearth.toml` (`config.settings_edit`).
#
# Covered: settings of one value or of a list of texts, in tables that can be left out or stand as `[table]`. Not
# covered: tables that need several keys at once (a mail server), tables in lists, rules; they are written by hand.

Kind: TypeAlias = Literal["bool", "int", "float", "text", "choice", "list"]
Value: TypeAlias = bool | int | float | str | list[str]
MAX_CHARACTERS = 5_000
NOT_HERE = ("policy", "rule", "tools", "mcp")
"""Tables that have pages or commands of their own, or start programs."""
POINTERS = ("_env", "_file")
"""Settings that name a variable or a file of this machine. Who may use a page need not be who may read those: in a
household, one would name another's password and send it to a server of their own."""


@dataclass(frozen=True, slots=True)
class Editable:
    """A setting that can be changed here."""

    name: str
    """`serve.quiet_hours`"""
    kind: Kind
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A change that was checked, and written nowhere yet."""

    name: str
    before: Value | None
    """None: it was not set."""
    after: Value | None
    """None: it is left to the default."""
    text: str
    """The whole file after it."""
    digest: str
    """Of the file before it."""


def editable(name: str) -> Editable | None:
    """Return how a setting is changed; None where it is changed by hand."""
    *tables, key = name.split(".")
    model: Any = Settings
    if not tables or tables[0] in NOT_HERE or key.endswith(POINTERS):
        return None
    for table in tables:
        model = _table(model.model_fields[table].annotation) if table in model.model_fields else None
        if model is None:
            return None
    if key not in model.model_fields:
        return None
    return _editable(name, model.model_fields[key].annotation)


def _editable(name: str, annotation: Any) -> Editable | None:
    kind = _plain(annotation)
    if get_origin(kind) is Literal:
        return Editable(name, "choice", tuple(str(one) for one in get_args(kind)))
    if get_origin(kind) is tuple:
        inner = _plain(get_args(kind)[0])
        is_choice = get_origin(inner) is Literal
        if inner is str or is_choice:
            return Editable(name, "list", tuple(map(str, get_args(inner))) if is_choice else ())
        return None
    kinds: Mapping[Any, Kind] = {bool: "bool", int: "int", float: "float", str: "text"}
    return Editable(name, kinds[kind]) if kind in kinds else None


def _plain(annotation: Any) -> Any:
    """Return what an annotation is about, without checks and without None."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [one for one in get_args(annotation) if one is not type(None)]
        return _plain(rest[0]) if len(rest) == 1 else annotation
    return annotation


def _table(annotation: Any) -> Any:
    kind = _plain(annotation)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def typed(setting: Editable, said: str) -> Value | None:
    """Read what somebody typed as a value of a setting; None for nothing: the default.

    Raises:
        RequestError: It is none.
    """
    text = said.strip()
    if len(text) > MAX_CHARACTERS:
        raise RequestError(f"a setting has at most {MAX_CHARACTERS:,} characters, not {len(text):,}")
    if setting.kind == "list":
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        _check_printable(setting, "".join(lines))
        return lines
    if not text:
        return None
    _check_printable(setting, text)
    if setting.kind == "bool":
        if text.lower() not in ("yes", "no"):
            raise RequestError(f"{setting.name} is yes or no, not {text[:40]!r}")
        return text.lower() == "yes"
    if setting.kind in ("int", "float"):
        try:
            number = int(text) if setting.kind == "int" and len(text) < 20 else float(text)
        except ValueError:
            raise RequestError(f"{setting.name} is a number, not {text[:40]!r}") from None
        if not math.isfinite(number):
            raise RequestError(f"{setting.name} is a number, not {text[:40]!r}")
        return number
    return text


def _check_printable(setting: Editable, text: str) -> None:
    if not text.isprintable():
        raise RequestError(f"{setting.name} holds a character that cannot be shown; type it anew")


def changed(path: Path, setting: Editable, value: Value | None) -> Change:
    """Check a change of one setting; nothing is written.

    Args:
        value: None takes the line out, so that the default counts.
    Raises:
        ConfigError: The value is wrong, or the file is written in a way that is not changed here.
        RequestError: It is so already.
    """
    read_settings(path)
    text = path.read_text(encoding="utf-8-sig")
    before = _at(tomllib.loads(text), setting.name)
    if before == value and type(before) is type(value):
        raise RequestError(f"{setting.name} is so already")
    after = with_values(path, text, {tuple(setting.name.split(".")): value})
    try:
        parse_settings(after, path)
    except ConfigError as error:
        raise ConfigError(f"{error}; nothing was changed") from None
    return Change(setting.name, before, value, after, _digest(text))


def write(path: Path, change: Change, digest: str) -> None:
    """Put a checked change into the file; whole, or not at all.

    Args:
        digest: Of the file as it was when the owner was shown the change.
    Raises:
        Conflict: It was changed since. StoreError, StoreFullError: It cannot be written; it is as before.
    """
    if _digest(path.read_text(encoding="utf-8-sig")) != digest or change.digest != digest:
        raise Conflict(f"{path.name} was changed meanwhile; nothing was written; look at the change again")
    with replacing(path, keeps_mode=True) as file:
        file.write(change.text.encode())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _at(data: Mapping[str, Any], name: str) -> Any:
    found: Any = data
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def named(name: str) -> Editable:
    """Return a setting that can be changed here. Raises: NotFound."""
    found = editable(name) if len(name) <= 100 else None
    if found is None:
        raise NotFound(f"{name[:100]!r} is not changed here; write it into hearth.toml")
    return found
