"""Make two changes to `hearth.toml` that the owner agreed to: allow a host, and write the table `[edge]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.atomic_files import replacing
from hearth.config import Settings, host_and_port, parse_settings, read_settings
from hearth.config.toml_text import Value, with_values


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
    values: dict[tuple[str, ...], Value | None] = {}
    if not is_allowed(before, entry):
        values[("network", "allow")] = [*before.network.allow, entry]
    now = before.edge.model_dump(mode="json")
    for key, value in edge.items():
        wanted = value if isinstance(value, bool) else list(value)
        if now[key] != wanted:
            values[("edge", key)] = wanted
    after = with_values(path, text, values)
    if after == text:
        return False
    parse_settings(after, path)
    with replacing(path, keeps_mode=True) as file:
        file.write(after.encode())
    return True
