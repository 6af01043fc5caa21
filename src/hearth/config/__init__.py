"""Read `hearth.toml` into checked settings; a fault gives a message that names file, key and fix.

Secrets are never written in the file: a key ending in `_env` names an environment variable, one ending in `_file` a
file that only the owner can read; both are resolved when settings are handed to a tool.
Here: reading. `setting_tables` has what can be set, what is where without settings, and the secrets; `settings_edit`
changes single settings.
"""

from __future__ import annotations

import difflib
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel, ValidationError

from hearth.config.setting_tables import MASK_KINDS as MASK_KINDS
from hearth.config.setting_tables import MASKED_KINDS as MASKED_KINDS
from hearth.config.setting_tables import Budget as Budget
from hearth.config.setting_tables import Home as Home
from hearth.config.setting_tables import HomeDevice as HomeDevice
from hearth.config.setting_tables import Host as Host
from hearth.config.setting_tables import LanguageModelSettings as LanguageModelSettings
from hearth.config.setting_tables import McpServer as McpServer
from hearth.config.setting_tables import MemoryKept as MemoryKept
from hearth.config.setting_tables import Network as Network
from hearth.config.setting_tables import OrderedRule as OrderedRule
from hearth.config.setting_tables import Rate as Rate
from hearth.config.setting_tables import Rule as Rule
from hearth.config.setting_tables import Settings as Settings
from hearth.config.setting_tables import Video as Video
from hearth.config.setting_tables import When as When
from hearth.config.setting_tables import cache_folder as cache_folder
from hearth.config.setting_tables import home_folder as home_folder
from hearth.config.setting_tables import host_and_port as host_and_port
from hearth.config.setting_tables import secret as secret
from hearth.errors import ConfigError

MAX_FILE_BYTES = 1_000_000
"""Largest size of a `hearth.toml`; nobody writes more settings than that."""


def read_settings(path: Path) -> Settings:
    """Read and check `hearth.toml`.

    Raises:
        ConfigError: Missing, unreadable, not TOML (with the line), or a key or value that is wrong (with the key and
            what was expected). Nothing was changed.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            what = f"has {status.st_size} bytes" if stat.S_ISREG(status.st_mode) else "is no plain file"
            raise ConfigError(
                f"cannot read {str(path)!r}: it {what}; expected a text file of at most {MAX_FILE_BYTES} bytes"
            )
        raw = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"no {path.name} in {str(path.parent)!r}; make a home there with `hearth init`") from None
    except OSError as error:
        raise ConfigError(
            f"cannot read {str(path)!r}: {error.strerror}; mend its permissions or choose another home"
        ) from None
    try:
        return parse_settings(raw.decode("utf-8-sig"), path)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8") from None


def parse_settings(text: str, path: Path) -> Settings:
    """Check the text of a `hearth.toml`; `path` is named in messages. Raises: ConfigError."""
    lines = _table_lines(text)
    settings = parse_toml(Settings, text, path, lines)
    settings._lines = lines
    _check_hosts(settings.network, path)
    return settings


T = TypeVar("T", bound=BaseModel)


def parse_toml(model: type[T], text: str, path: Path, lines: Mapping[str, int] | None = None) -> T:
    """Check the text of a settings file against any model that forbids unknown keys.

    Args:
        lines: Lines at which tables of rules begin, for messages.
    Raises:
        ConfigError: Not TOML, an unknown key (with the nearest known one), or a wrong value; names file and key.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: {error}; mend that line (see docs/reference/config.md)") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply; no setting is a list of lists") from None
    try:
        return model.model_validate(data)
    except ValidationError as error:
        faults = [_fault(path, fault, lines or {}, model) for fault in error.errors()[:5]]
        raise ConfigError("\n".join(faults)) from None


def _check_hosts(network: Network, path: Path) -> None:
    """Check that hosts with settings are allowed. Raises: ConfigError: Settings of a host that is not allowed, most
    likely a typo."""
    allowed = {host_and_port(entry)[0] for entry in network.allow}
    for name in network.host:
        if host_and_port(name)[0] not in allowed:
            near = difflib.get_close_matches(name, allowed, 1)
            fix = f"did you mean {near[0]!r}?" if near else f"add {name!r} to `allow` under [network]"
            raise ConfigError(f'{path}: [network.host."{name}"] is about a host that is not allowed; {fix}')


_TABLE = re.compile(r"""\s*\[(?:\[\s*(rule)\s*\]|\s*policy\s*\.\s*["']?([^"'\]\s]+)["']?\s*)\]""")


def _table_lines(text: str) -> dict[str, int]:
    """Return the lines at which tables of rules begin, by `policy.NAME` and `rule.N`; also finds headers inside
    multi-line strings."""
    lines: dict[str, int] = {}
    n_rules = 0
    for number, line in enumerate(text.splitlines(), 1):
        match = _TABLE.match(line)
        if match and match[1]:
            lines[f"rule.{n_rules}"] = number
            n_rules += 1
        elif match:
            lines.setdefault(f"policy.{match[2]}", number)
    return lines


def _fault(path: Path, fault: Mapping[str, object], lines: Mapping[str, int], model: type[BaseModel]) -> str:
    place = tuple(str(part) for part in cast(tuple[object, ...], fault["loc"]))
    table = ".".join(place[:2])
    if place[0] in ("rule", "policy") and table in lines:
        path = Path(f"{path}, line {lines[table]}")
    key = ".".join(place)
    if place[0] == "rule" and len(place) <= 2 and fault["type"] in ("tuple_type", "model_type"):
        return f"{path}: rules are tables of their own; write [[rule]] on a line and its keys below it"
    if fault["type"] == "extra_forbidden":
        known = known_keys(place[:-1], model)
        near = difflib.get_close_matches(place[-1], known, 1)
        fix = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        return f"{path}: unknown key {key!r}; {fix}"
    if fault["type"] == "missing":
        return f"{path}: key {key!r} is missing; add it"
    if fault["type"] == "model_type":
        return (
            f"{path}: {key} = {fault['input']!r}, but {key} is a table; write [{key}] on its own line and keys below it"
        )
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "bool_type":
        message = "expected true or false; write it without quotation marks"
    if isinstance(fault["input"], Mapping):  # input is a whole table
        return f"{path}: [{key}] {message}"
    return f"{path}: {key} = {fault['input']!r}: {message}"


def known_keys(place: tuple[str, ...] = (), settings: type[BaseModel] = Settings) -> list[str]:
    """Return the names of the keys allowed in the table at `place`."""
    model: object = settings
    for part in place:
        if isinstance(model, type) and issubclass(model, BaseModel) and part in model.model_fields:
            model = _table_of(model.model_fields[part].annotation)
        elif model not in (Rule, Host) and place[0] != "rule":  # place is a rule's number or an argument's name
            model = Rule if place[0] == "policy" else None
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _table_of(annotation: object) -> object:
    """Return the model class in `Server | None` or `Server`."""
    options = getattr(annotation, "__args__", (annotation,))
    tables = [o for o in options if isinstance(o, type) and issubclass(o, BaseModel)]
    return tables[0] if tables else None


STARTER = """\
# Hearth's settings. Every key is described in docs/reference/config.md.

[owner]
name = {name}
email = {email}
time_zone = {time_zone}   # empty: the machine's
country = {country}     # two letters, for phone numbers and date order

# What may happen without asking, by exact tool name: allow, ask or deny. Reading tools run; everything that changes
# or sends something asks unless a rule says otherwise.
[policy.add_reminder]
ruling = "allow"
reason = "only I see it, and it can be undone"

[policy.set_timer]
ruling = "allow"
reason = "only I see it, and it can be undone"

[network]
allow = []   # hosts Hearth may reach: none
"""
