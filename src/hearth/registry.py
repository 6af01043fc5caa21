"""Load plug-ins: parts of installed distributions by entry point, and tools of the home folder.

* Built-in and installed parts are entry points of the groups in `GROUPS`; the built-ins use the same groups.
* A one-file plug-in is a `*.py` in `<home>/tools/`: every tool at its top level is taken.

A part that cannot be loaded is left out and named among the faults; the others work. Not covered: plug-ins run with
the agent's own rights inside its process (one that hangs while it is loaded hangs the start), so a file that others
can write, or put there, is refused.
"""

from __future__ import annotations

import importlib.util
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType

from hearth.errors import MissingExtraError, RegistryError
from hearth.protocols import Tool
from hearth.types import ToolSpec
from hearth.version import __version__

TOOLS = "hearth.tools"
COMMANDS = "hearth.commands"
ENTITIES = "hearth.entities"
FOOTAGE = "hearth.footage"
HOLDERS = "hearth.holders"
CHECKS = "hearth.checks"
LISTENERS = "hearth.listeners"
SCENES = "hearth.scenes"
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        TOOLS: "a tool, or a tuple of tools",
        COMMANDS: "a click command; `edge.point` is the command `point` of the group `edge`",
        ENTITIES: "`entities(call) -> tuple[Entity, ...]`: names that a planner may know",
        FOOTAGE: "`open_footage(store, memory, settings) -> Footage`: home video",
        HOLDERS: "`open_holder(store) -> Holder`: a store of the owner's data that takes part in forgetting",
        CHECKS: "`check(home) -> str`: a line of `hearth doctor`; raises a HearthError that says what is wrong",
        LISTENERS: "`listen(home, environ, asked, stop, say)`: a thread of `hearth edge run` that hears of news",
        SCENES: "`add(agent, folder, now, footage) -> (said, requests)`: something more for the demo home",
    }
)
"""Everything a plug-in can add: entry-point group -> what each of its entry points names."""
COMPANIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "hearth-bench": ("bench", "fleet"),
        "hearth-cloud": ("cloud", "sedna"),
        "hearth-home": ("devices", "edge.point"),
        "hearth-video": ("people", "video"),
    }
)
"""The distributions that are released together with this one -> the commands they bring."""
INSTALL_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "hearth-bench": "pip install hearth-bench",
        "hearth-cloud": "pip install hearth-cloud",
        "hearth-home": "pip install 'hearth-home[mqtt]'",
        "hearth-video": "pip install 'hearth-video[experts]'",
    }
)
_NAME = re.compile(r"[a-z][a-z0-9_]{1,63}")


@dataclass(frozen=True, slots=True)
class Tools:
    """What can be called on this home."""

    by_name: Mapping[str, Tool]
    origin: Mapping[str, str]
    """Tool name → where it came from."""
    faults: tuple[str, ...] = ()
    """Parts that could not be loaded, each with its reason."""

    @property
    def specs(self) -> dict[str, ToolSpec]:
        return {name: tool.spec for name, tool in self.by_name.items()}


@dataclass(frozen=True, slots=True)
class Part:
    """What one entry point names."""

    name: str
    value: object
    origin: str
    """Distribution and place, for messages."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one group."""

    loaded: tuple[Part, ...] = ()
    """Built-ins first, then by place and name; no name twice."""
    faults: tuple[str, ...] = ()
    """Parts that could not be loaded, each with its reason and what to do."""


def load_parts(group: str, name: str | None = None) -> Parts:
    """Load the parts of a group, or only those called `name`. Never raises for a part."""
    loaded: dict[str, Part] = {}
    faults: list[str] = []
    for point in _points(group):
        if name is None or point.name == name:
            try:
                part = Part(point.name, _load(point), _origin(point))
                if part.name in loaded:
                    raise RegistryError(
                        f"{part.origin}: {group} {part.name!r} exists already (from {loaded[part.name].origin}); "
                        "uninstall one of the two"
                    )
                loaded[part.name] = part
            except RegistryError as error:
                faults.append(str(error))
    return Parts(tuple(loaded.values()), tuple(faults))


def part_names(group: str) -> tuple[str, ...]:
    """Return the names of a group's parts, without loading them."""
    return tuple(dict.fromkeys(point.name for point in _points(group)))


def missing_companion(command: str) -> MissingExtraError | None:
    """Return the error that says how to install the distribution which brings `command`; None when none does."""
    for distribution, commands in COMPANIONS.items():
        if command in commands:
            said = " ".join(["hearth", *command.split(".")])
            return MissingExtraError(f"`{said}` is a command of {distribution}, which", INSTALL_COMMANDS[distribution])
    return None


def load_tools(home: Path | None, extra: Iterable[Tool] = ()) -> Tools:
    """Load every tool there is for `home`.

    Args:
        home: Home folder whose `tools/` is read; None for installed tools only.
        extra: Tools handed in by the caller (tests, embedding programs); they come last.
    """
    found: dict[str, Tool] = {}
    origin: dict[str, str] = {}
    faults: list[str] = []
    sources: list[tuple[str, Path | EntryPoint]] = [
        (f"{point.name} ({point.value})", point) for point in _points(TOOLS)
    ]
    if home is not None and (home / "tools").is_dir():
        if _is_shared(home / "tools"):
            faults.append(f"{home / 'tools'}: others can put files here, so none is run; do `chmod go-w` on it")
        else:
            sources += [(str(path), path) for path in sorted((home / "tools").glob("*.py"))]
    for where, source in sources:
        try:
            tools = _from_file(source) if isinstance(source, Path) else _from_entry_point(source)
            for tool in tools:
                _add(tool, where, found, origin)
        except RegistryError as error:
            faults.append(str(error))
    for tool in extra:
        _add(tool, "given", found, origin)
    return Tools(MappingProxyType(found), MappingProxyType(origin), tuple(faults))


def _points(group: str) -> list[EntryPoint]:
    """Built-ins first, then those of the companions, so that no other package can take the name of one."""
    return sorted(entry_points(group=group), key=_rank)


def _rank(point: EntryPoint) -> tuple[int, str, str]:
    package = point.value.partition(".")[0]
    is_ours = package.replace("_", "-") in COMPANIONS
    return (0 if package == "hearth" else 1 if is_ours else 2, point.value, point.name)


def _origin(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version} ({point.value})" if point.dist else point.value


def _load(point: EntryPoint) -> object:
    """Raises: RegistryError: It is of another version than this one, or cannot be imported."""
    if point.dist and point.dist.name in COMPANIONS and point.dist.version != __version__:
        raise RegistryError(
            f"{point.dist.name} {point.dist.version} does not go with hearth-agent {__version__}; bring both to one "
            f"version: `pip install --upgrade hearth-agent {point.dist.name}`"
        )
    try:
        return point.load()
    except (Exception, SystemExit) as error:  # a plug-in may raise anything at import; the others must still load
        raise RegistryError(
            f"{point.name!r} of {_origin(point)} cannot be loaded: {_short(error)}; install it anew or remove it"
        ) from error


def _is_shared(path: Path) -> bool:
    """Whether somebody but the owner (or root) can write the file or folder, or owns it. Raises: OSError."""
    status = path.stat()
    return bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)) or status.st_uid not in (0, os.geteuid())


def _add(tool: Tool, where: str, found: dict[str, Tool], origin: dict[str, str]) -> None:
    if not isinstance(tool.spec, ToolSpec):
        raise RegistryError(
            f"{where}: the spec of {tool!r} is {tool.spec!r}; expected a ToolSpec, as @hearth.tool() makes"
        )
    name = tool.spec.name
    if not _NAME.fullmatch(name):
        raise RegistryError(f"{where}: tool name {name!r} is not lower-case letters, digits and '_'; rename it")
    if name in found:
        raise RegistryError(f"{where}: tool {name!r} exists already (from {origin[name]}); rename one of them")
    found[name] = tool
    origin[name] = where


def _from_entry_point(point: EntryPoint) -> tuple[Tool, ...]:
    loaded = _load(point)
    return _tools_in(loaded if isinstance(loaded, tuple | list) else (loaded,), point.value)


def _from_file(path: Path) -> tuple[Tool, ...]:
    try:
        is_shared = _is_shared(path)
    except OSError as error:
        raise RegistryError(f"{path}: cannot be read ({error.strerror}); mend or remove it") from None
    if not path.is_file():
        raise RegistryError(f"{path}: not a plain file; a plug-in is one Python file, so move it elsewhere")
    if is_shared:
        raise RegistryError(f"{path}: others can write this file, so it is not run; do `chmod go-w` on it")
    spec = importlib.util.spec_from_file_location(f"hearth_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise RegistryError(f"{path}: not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and type hints look their module up while it is loaded
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # as above
        del sys.modules[spec.name]
        raise RegistryError(f"{path}: {_short(error)}; mend or remove the file") from error
    own = [value for value in vars(module).values() if isinstance(value, Tool) and not isinstance(value, type)]
    if not own:
        raise RegistryError(f"{path}: no tool in it; put `@hearth.tool()` above a function")
    return tuple(own)


def _tools_in(values: Iterable[object], where: str) -> tuple[Tool, ...]:
    tools = []
    for value in values:
        if not isinstance(value, Tool):
            raise RegistryError(f"{where}: {value!r} is no tool; expected functions under `@hearth.tool()`")
        tools.append(value)
    return tuple(tools)


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
