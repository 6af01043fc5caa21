"""Change values in the text of `hearth.toml` by tomlkit; the rest, comments included, stays as the owner wrote it.

The new text is read again: if it says anything else than the old one with these values changed, it is not used.
Not covered: entries of tables in lists (`[[rule]]`).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hearth.errors import ConfigError

Value: TypeAlias = bool | int | float | str | Sequence[str]
Values: TypeAlias = Mapping[tuple[str, ...], Value | None]
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


def _put(data: Any, tables: Sequence[str], key: str, value: Value | None) -> None:
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
