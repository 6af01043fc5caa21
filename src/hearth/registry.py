"""Load plug-ins: parts of installed distributions by entry point, and tools of the home folder.

* Built-in and installed parts are entry points of the groups in `GROUPS`; the built-ins use the same groups.
* A one-file plug-in is a `*.py` in `<home>/tools/`: every tool at its top level is taken.

A part that cannot be loaded is left out and named among the faults; the others work, whatever it raises, and whatever
is wrong with the record of its installation. Not covered: plug-ins run with the agent's own rights inside its process
(one that hangs while it is loaded hangs the start), so a file that others can write, or put there, is refused.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import (
    Distribution,
    EntryPoint,
    EntryPoints,
    PackageNotFoundError,
    distribution,
    distributions,
    entry_points,
)
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from hearth.errors import HearthError, MissingExtraError, RegistryError
from hearth.permissions import is_shared, replaceable_at
from hearth.protocols import Resolving, Tool
from hearth.types import ToolSpec
from hearth.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import SelectableGroups  # what all entry points are before Python 3.12

TOOLS = "hearth.tools"
COMMANDS = "hearth.commands"
ENTITIES = "hearth.entities"
FOOTAGE = "hearth.footage"
HOLDERS = "hearth.holders"
CHECKS = "hearth.checks"
LISTENERS = "hearth.listeners"
WATCHERS = "hearth.watchers"
SCENES = "hearth.scenes"
READERS = "hearth.readers"
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        TOOLS: "a tool, or a tuple of tools",
        COMMANDS: "a click command; `edge.point` is the command `point` of the group `edge`",
        ENTITIES: "`entities(call) -> tuple[Entity, ...]`: names that a planner may know",
        FOOTAGE: "`open_footage(store, memory, settings) -> Footage`: home video",
        READERS: "`read(data, options) -> Iterator[bytes]`: the text in a file of the kind that it is called by",
        HOLDERS: "`open_holder(store) -> Holder`: a store of the owner's data that takes part in forgetting",
        CHECKS: "`check(home) -> str`: a line of `hearth doctor`; raises a HearthError that says what is wrong",
        LISTENERS: "`listen(home, environ, asked, stop, say)`: a thread of `hearth edge run` that hears of news",
        WATCHERS: "`watch(home, environ, memory, stop, say)`: a thread of `hearth up` that remembers what is sensed",
        SCENES: "`add(agent, folder, now, footage) -> Iterable[str | FileRequest]`: something more for the demo home",
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
COMPANION_TOOLS = frozenset(
    {
        *("close_blinds", "device_state", "list_devices", "lock_door", "open_blinds", "set_brightness"),
        *("set_temperature", "set_volume", "start_scene", "turn_off", "turn_on", "unlock_door"),
        *("check_activity", "compare_days", "count_people", "describe_period", "detect_people", "detect_sounds"),
        *("find_video", "identify_people", "measure_presence", "read_text", "read_total", "recognise_activity"),
        *("show_frames", "transcribe_speech"),
    }
)
"""The tools of hearth-home and hearth-video: rules of a home may name them while these are not installed."""
INSTALL_COMMANDS: Mapping[str, str] = MappingProxyType(
    {
        "hearth-bench": "pip install hearth-bench",
        "hearth-cloud": "pip install hearth-cloud",
        "hearth-home": "pip install 'hearth-home[mqtt]'",
        "hearth-video": "pip install 'hearth-video[experts]'",
    }
)
_NAME = re.compile(r"[a-z][a-z0-9_]{1,63}")
_NAMED = re.compile(r"[\w.-]+")
"""The distribution that a requirement begins with."""


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

    def invoke(self, *given: object) -> object:
        """Call what it names.

        Raises:
            HearthError: What it raised itself; RegistryError for anything else but Ctrl-C, with what to do.
        """
        with blamed(f"{self.name!r} of {self.origin}"):
            return cast("Callable[..., object]", self.value)(*given)


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of one group."""

    loaded: tuple[Part, ...] = ()
    """Built-ins first, then by place and name; no name twice."""
    faults: tuple[str, ...] = ()
    """Parts that could not be loaded, each with its reason and what to do."""


@dataclass(frozen=True, slots=True)
class Installed:
    """The entry points of Hearth's groups."""

    points: tuple[EntryPoint, ...] = ()
    faults: tuple[str, ...] = ()
    """Distributions whose entry points cannot be read."""


@functools.cache
def installed() -> Installed:
    """Read what is installed, once in a process: it takes some ten milliseconds."""
    try:
        return Installed(_of_our_groups(entry_points()))
    except Exception:  # one distribution's record is damaged, which must not take away the others
        return _readable()


def load_parts(group: str, name: str | None = None) -> Parts:
    """Load the parts of a group, or only those called `name`. Never raises for a part."""
    loaded: dict[str, Part] = {}
    faults = list(installed().faults)
    for point in _points(group):
        if name is None or point.name == name:
            try:
                if point.name in loaded:
                    raise RegistryError(
                        f"{_origin(point)}: {group} {point.name!r} exists already (from {loaded[point.name].origin}); "
                        "uninstall one of the two"
                    )
                loaded[point.name] = Part(point.name, _fitting(group, _load(point), point), _origin(point))
            except RegistryError as error:
                faults.append(str(error))
    return Parts(tuple(loaded.values()), tuple(dict.fromkeys(faults)))


def part_names(group: str) -> tuple[str, ...]:
    """Return the names of a group's parts, without loading them."""
    return tuple(dict.fromkeys(point.name for point in _points(group)))


def place_of(group: str, name: str) -> str:
    """Return where a part is, `module:function`, without loading it; empty where there is none."""
    return next((point.value for point in _points(group) if point.name == name), "")


def third_party(group: str, name: str) -> str:
    """Return the distribution that a part comes from, without loading it; empty for a part of Hearth's own."""
    point = next(point for point in _points(group) if point.name == name)
    return "" if _companion(point) in ("hearth", *COMPANIONS) else _origin(point).split(" (")[0]


def half_installed(group: str, name: str, error: ImportError) -> RegistryError:
    """Return the error that says what to do about a part which could not import what it needs when it was used."""
    point = next(point for point in _points(group) if point.name == name)
    return RegistryError(f"{name!r} of {_origin(point)} cannot run: {_short(error)}; {_remedy(_companion(point))}")


def missing_companion(command: str) -> HearthError | None:
    """Return the error that says how to get the distribution which brings `command`; None when none does."""
    for name, commands in COMPANIONS.items():
        if command in commands:
            said = " ".join(["hearth", *command.split(".")])
            if version := version_of(name):
                return RegistryError(f"{name} {version} is installed, but has no `{said}`; {_remedy(name)}")
            return MissingExtraError(f"`{said}`, a command of {name},", INSTALL_COMMANDS[name])
    return None


def companion_faults() -> tuple[str, ...]:
    """Return what is wrong with the companions' installations: another version than this one's, or a part missing."""
    faults = []
    for name in COMPANIONS:
        if version := version_of(name):
            if version != __version__:
                faults.append(_other_version(name, version))
            elif lacking := _lacking(name):
                faults.append(f"{name} {version} lacks {', '.join(map(repr, lacking))}; {_remedy(name)}")
    return tuple(faults)


def version_of(name: str) -> str:
    """Return the installed version of a distribution; empty without it."""
    try:
        return _metadata(distribution(name))[1]
    except PackageNotFoundError:
        return ""


def second_footage(filmed: Sequence[Part]) -> str:
    """Say that several plug-ins offer home video, of which a home can have one: the first."""
    ignored = ", ".join(part.origin for part in filmed[1:])
    return f"home video is taken from {filmed[0].origin}, so {ignored} is not used; uninstall all but one"


@contextlib.contextmanager
def blamed(who: str, *passed: type[Exception]) -> Iterator[None]:
    """Turn whatever a plug-in raises in the block into a RegistryError about it.

    Args:
        who: What the message begins with.
        passed: What is left as it is, beside HearthErrors and Ctrl-C.
    """
    try:
        yield
    except BaseException as error:  # SystemExit, too
        if isinstance(error, (HearthError, KeyboardInterrupt, *passed)):
            raise
        raise RegistryError(f"{who} failed: {_short(error)}; update it, or uninstall it") from error


def load_tools(home: Path | None, extra: Iterable[Tool] = ()) -> Tools:
    """Load every tool there is for `home`.

    Args:
        home: Home folder whose `tools/` is read; None for installed tools only.
        extra: Tools handed in by the caller (tests, embedding programs); they come last.
    """
    found: dict[str, Tool] = {}
    origin: dict[str, str] = {}
    faults = list(installed().faults)
    sources: list[tuple[str, Path | EntryPoint]] = [(_origin(point), point) for point in _points(TOOLS)]
    if home is not None and (home / "tools").is_dir():
        if is_shared(home / "tools"):
            faults.append(f"{home / 'tools'}: others can put files here, so none is run; do `chmod go-w` on it")
        else:
            sources += [(str(path), path) for path in sorted((home / "tools").glob("*.py"))]
    for where, source in sources:
        tools: tuple[Tool, ...] = ()
        try:
            with blamed(where):
                tools = _from_file(source) if isinstance(source, Path) else _from_entry_point(source)
        except RegistryError as error:
            faults.append(str(error))
        for tool in tools:  # one that is refused takes no other with it
            try:
                with blamed(where):
                    _add(tool, where, found, origin)
            except RegistryError as error:
                faults.append(str(error))
    for tool in extra:
        _add(tool, "given", found, origin)
    return Tools(MappingProxyType(found), MappingProxyType(origin), tuple(dict.fromkeys(faults)))


def _of_our_groups(found: EntryPoints | SelectableGroups) -> tuple[EntryPoint, ...]:
    return tuple(point for group in GROUPS for point in found.select(group=group))


def _readable() -> Installed:
    """What `installed` reads, one distribution after the other."""
    points: dict[EntryPoint, None] = {}
    faults = []
    for one in distributions():
        try:
            points.update(dict.fromkeys(_of_our_groups(one.entry_points)))
        except Exception as error:  # its record may hold anything
            faults.append(
                f"what {_named(one)} adds to Hearth, if anything, cannot be read: {_short(error)}; install it anew or "
                "uninstall it"
            )
    return Installed(tuple(points), tuple(faults))


def _points(group: str) -> list[EntryPoint]:
    """Built-ins first, then those of the companions, so that no other package can take the name of one."""
    return sorted((point for point in installed().points if point.group == group), key=_rank)


def _rank(point: EntryPoint) -> tuple[int, str, str]:
    name = _companion(point)
    return (0 if name == "hearth" else 1 if name in COMPANIONS else 2, point.value, point.name)


def _companion(point: EntryPoint) -> str:
    """Name of the distribution, if it is one of ours: told by its package, as its record may be damaged."""
    return re.split(r"[.:]", point.value, maxsplit=1)[0].replace("_", "-")


@functools.cache
def _metadata(found: Distribution | None) -> tuple[str, str]:
    """Name and version of a distribution; each empty where its record does not say it."""
    try:
        return (found.metadata["Name"] or "", found.metadata["Version"] or "") if found else ("", "")
    except Exception:  # a record without metadata
        return "", ""


def _named(found: Distribution) -> str:
    """Name and version for messages, or at least where its record lies."""
    return " ".join(_metadata(found)).strip() or f"the distribution at {str(found.locate_file(''))!r}"


def _origin(point: EntryPoint) -> str:
    said = " ".join(_metadata(point.dist)).strip()
    return f"{said} ({point.value})" if said else point.value


def _load(point: EntryPoint) -> object:
    """Raises: RegistryError: It is of another version than this one, or cannot be imported."""
    name, version = _companion(point), _metadata(point.dist)[1]
    if name in COMPANIONS and point.dist and version != __version__:
        raise RegistryError(_other_version(name, version))
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for answers
            return point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a plug-in may raise anything at import; the others must still load
        raise RegistryError(
            f"{point.name!r} of {_origin(point)} cannot be loaded: {_short(error)}; {_remedy(name)}"
        ) from error


def _fitting(group: str, value: object, point: EntryPoint) -> object:
    """Raises: RegistryError: It is nothing that parts of this group are."""
    if group == COMMANDS:
        import click  # not needed by programs that only embed the agent

        if isinstance(value, click.Command):
            return value
        raise RegistryError(f"{_origin(point)}: {value!r} is no click command; update or uninstall the plug-in")
    if callable(value):
        return value
    raise RegistryError(
        f"{_origin(point)}: {value!r} cannot be called; expected {GROUPS[group]}; update or uninstall the plug-in"
    )


def _other_version(name: str, version: str) -> str:
    return (
        f"{name} {version or 'of an unknown version'} does not go with hearth-agent {__version__}; bring both to one "
        f"version: `pip install --upgrade hearth-agent {name}`"
    )


def _remedy(name: str) -> str:
    """What to do about a distribution that is not whole."""
    return f"do `{INSTALL_COMMANDS[name]}`, or uninstall it" if name in COMPANIONS else "install it anew or remove it"


def _lacking(name: str) -> list[str]:
    """Distributions that this one always needs, and that are not installed."""
    needed = [
        found[0] for text in distribution(name).requires or () if ";" not in text and (found := _NAMED.match(text))
    ]
    return [name for name in needed if not version_of(name)]


def _add(tool: Tool, where: str, found: dict[str, Tool], origin: dict[str, str]) -> None:
    if not isinstance(tool.spec, ToolSpec):
        raise RegistryError(
            f"{where}: the spec of {tool!r} is {tool.spec!r}; expected a ToolSpec, as @hearth.tool() makes"
        )
    name = tool.spec.name
    if not _NAME.fullmatch(name):
        raise RegistryError(f"{where}: tool name {name!r} is not lower-case letters, digits and '_'; rename it")
    if unresolved := unresolved_parameters(tool):
        raise RegistryError(
            f"{where}: tool {name!r} changes or sends something, and does not say which thing {unresolved[0]!r} names; "
            f"annotate it `Annotated[…, hearth.Names(resolve)]` (docs/howto/write-a-tool.md)"
        )
    if name in found:
        raise RegistryError(f"{where}: tool {name!r} exists already (from {origin[name]}); rename or uninstall one")
    found[name] = tool
    origin[name] = where


def unresolved_parameters(tool: Tool) -> tuple[str, ...]:
    """Return the parameters of a tool that changes or sends something which name a thing nobody resolves: rules and
    questions would be about their words. Addresses need no resolver of their own."""
    if tool.spec.effect == "none":
        return ()
    resolved = tool.resolvers if isinstance(tool, Resolving) else {}
    return tuple(
        p.name
        for p in tool.spec.parameters
        if p.names_a_thing and p.name not in resolved and not p.type.endswith(_SPELLED_TYPES)
    )


_SPELLED_TYPES = tuple(f"{name}{end}" for name in ("EmailAddress", "PhoneNumber", "Url") for end in ("", "]"))


def _from_entry_point(point: EntryPoint) -> tuple[Tool, ...]:
    loaded = _load(point)
    return _tools_in(loaded if isinstance(loaded, tuple | list) else (loaded,), _origin(point))


def _from_file(path: Path) -> tuple[Tool, ...]:
    try:
        can_write, elsewhere = is_shared(path), replaceable_at(path)
    except OSError as error:
        raise RegistryError(f"{path}: cannot be read ({error.strerror}); mend or remove it") from None
    if not path.is_file():
        raise RegistryError(f"{path}: not a plain file; a plug-in is one Python file, so move it elsewhere")
    if can_write:
        raise RegistryError(f"{path}: others can write this file, so it is not run; do `chmod go-w` on it")
    if elsewhere:
        raise RegistryError(
            f"{path}: others can put another file in its place, because they may write {elsewhere}, so it is not run; "
            f"copy it into the folder itself, or do `chmod o-w {elsewhere}`"
        )
    spec = importlib.util.spec_from_file_location(f"hearth_plugin_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise RegistryError(f"{path}: not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and type hints look their module up while it is loaded
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as in `_load`
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
    try:
        lines = str(error).splitlines()
    except Exception:  # a plug-in's own
        lines = []
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"
