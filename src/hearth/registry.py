"""Tools by name, from three places that follow one rule: built-ins, installed packages, files in the home folder.

* Built-in and installed tools are entry points of the group `hearth.tools`; each names a tool or a tuple of tools.
* A one-file plug-in is a `*.py` in `<home>/tools/`: every tool at its top level is taken.

A part that cannot be loaded is left out and named in `Tools.faults`; the others work. Not covered: plug-ins run with
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

from hearth.errors import RegistryError
from hearth.protocols import Tool
from hearth.types import ToolSpec

GROUP = "hearth.tools"
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
        (f"{point.name} ({point.value})", point) for point in sorted(entry_points(group=GROUP), key=_rank)
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


def _rank(point: EntryPoint) -> tuple[bool, str, str]:
    """Built-ins first, so that no package can take the name of one."""
    return (not point.value.startswith("hearth."), point.value, point.name)


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
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # a plug-in may raise anything at import; the others must still load
        raise RegistryError(f"tools {point.name!r} ({point.value}) cannot be loaded: {_short(error)}") from error
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
