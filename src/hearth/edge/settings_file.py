"""Make two changes to `hearth.toml` that the owner agreed to: allow a host, and write the table `[edge]`.

The rest of the text, comments included, stays as the owner wrote it. The new text is read again before it is written:
if it changes any other setting, nothing is written and the owner is told which lines to add.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.atomic_files import replacing
from hearth.config import Settings, host_and_port, parse_settings, read_settings
from hearth.errors import ConfigError

_HEADER = re.compile(r"(?m)^[ \t]*\[network\][ \t]*(?:#.*)?$")
_TABLE = re.compile(r"(?m)^[ \t]*\[")
_ALLOW = re.compile(r"(?m)^[ \t]*allow[ \t]*=[ \t]*\[")


def is_allowed(settings: Settings, entry: str) -> bool:
    """Say whether `host:port` may be reached already."""
    allowed = {host_and_port(one) for one in settings.network.allow}
    host, port = host_and_port(entry)
    return (host, port) in allowed or (host, 0) in allowed


def change(path: Path, entry: str, edge: Mapping[str, bool | Sequence[str]]) -> bool:
    """Let `entry` (`host:port`) be reached, and write `[edge]`; return whether anything had to be changed.

    Args:
        edge: Keys of `[edge]` with their values; none leaves the table as it is.
    Raises:
        ConfigError: The file is wrong, or cannot be changed without guessing: says what to write. StoreFullError.
    """
    before = read_settings(path)
    text = path.read_text(encoding="utf-8-sig")
    after = text
    if not is_allowed(before, entry):
        after = _with_host(after, entry, path)
    wanted = {key: list(value) if not isinstance(value, bool) else value for key, value in edge.items()}
    now = before.edge.model_dump(mode="json", include=set(wanted))
    if any(now[key] != value for key, value in wanted.items()):
        after = _with_edge(after, wanted, path)
    if after == text:
        return False
    _check(before, parse_settings(after, path), entry, wanted, path)
    _write(path, after)
    return True


def _with_host(text: str, entry: str, path: Path) -> str:
    header = _HEADER.search(text)
    said = json.dumps(entry)
    if header is None:
        if re.search(r"(?m)^[ \t]*network[ \t]*[.=]|^[ \t]*\[[ \t]*['\"]", text):
            raise _by_hand(path, f"allow = [{said}]", "[network]")
        return f"{text.rstrip()}\n\n[network]\nallow = [{said}]\n"
    end = _TABLE.search(text, header.end())
    allow = _ALLOW.search(text, header.end(), end.start() if end else len(text))
    if allow is None:
        return f"{text[: header.end()]}\nallow = [{said}]{text[header.end() :]}"
    close, is_empty, has_comma = _closing(text, allow.end())
    if close < 0:
        raise _by_hand(path, f"allow = [{said}]", "[network]")
    lead = "" if is_empty else " " if has_comma else ", "
    return f"{text[:close].rstrip() if is_empty else text[:close]}{lead}{said}{text[close:]}"


def _closing(text: str, start: int) -> tuple[int, bool, bool]:
    """Find the end of the list that begins before `start` (-1: there is none), whether it is empty, and whether it ends
    in a comma. Strings and comments are skipped."""
    at, is_empty, has_comma = start, True, False
    while at < len(text):
        character = text[at]
        if character == "]":
            return at, is_empty, has_comma
        if character == "#":
            return -1, is_empty, has_comma  # an entry put behind it would be a comment: left to the owner
        if character in "\"'":
            at = text.find(character, at + 1)
            if at < 0:
                return -1, is_empty, has_comma
            is_empty, has_comma = False, False
        elif character == ",":
            has_comma = True
        elif not character.isspace():
            return -1, is_empty, has_comma
        at += 1
    return -1, is_empty, has_comma


def _with_edge(text: str, edge: Mapping[str, bool | list[str]], path: Path) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in edge.items()]
    if re.search(r"(?m)^[ \t]*(?:\[edge\]|edge[ \t]*[.=])", text):
        raise _by_hand(path, "; ".join(lines), "[edge]")
    return "\n".join([text.rstrip(), "", "[edge]", *lines, ""])


def _check(before: Settings, after: Settings, entry: str, edge: Mapping[str, bool | list[str]], path: Path) -> None:
    """Check that exactly the wanted settings changed. Raises: ConfigError: More changed, or less."""
    kept = {"network": {"allow"}, "edge": set(edge)}
    same = before.model_dump(exclude=kept) == after.model_dump(exclude=kept)
    old, new = set(before.network.allow), set(after.network.allow)
    added = old <= new and new - old <= {entry}
    said = after.edge.model_dump(mode="json", include=set(edge))
    if not same or not added or not is_allowed(after, entry) or any(said[key] != value for key, value in edge.items()):
        raise _by_hand(path, f"allow = [{json.dumps(entry)}]", "[network]")


def _by_hand(path: Path, lines: str, table: str) -> ConfigError:
    return ConfigError(
        f"{path}: is written in a way that is not changed here; nothing was changed; write {lines} under {table} "
        "yourself, and run this again"
    )


def _write(path: Path, text: str) -> None:
    with replacing(path, keeps_mode=True) as file:
        file.write(text.encode())
