"""Resolves what arguments name before anything is judged: rules, consents and questions see the thing, not the words.

"2025.txt", a symlink and `documents/tax/2025.txt` are one file; "the hall door" is a device; a display name around an
address is nothing. A tool declares how an argument is resolved (`protocols.Resolving`); addresses are resolved here.
The tool is then handed the thing, so that nothing can come in between.

Covered: every argument with a resolver, of tools that read, too; resolvers that raise, hang, write or want to send.
Not covered: arguments of reading tools without a resolver; a tool that does something else than it was told.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hearth.config import OrderedRule
from hearth.errors import Conflict, HearthError, NotFound, SandboxError, ToolCrashed, ToolError, ToolTimeout
from hearth.formats.record_places import canonical_address, canonical_url, in_letters
from hearth.formats.tool_signature import from_plain
from hearth.guard.egress.speculative_reads import ShutEgress
from hearth.guard.labels import Value, item_type, literal_label, refs_in
from hearth.protocols import CallContext, Resolver, Resolving, Tool, Workspace
from hearth.registry import COMPANIONS
from hearth.types import OWNER, Parameter, Plain, Referent, Step

RESOLVE_S = 10.0
"""Longest that finding what one argument names may take."""
_SPELLED: Mapping[str, Callable[[str], str]] = {"EmailAddress": canonical_address, "Url": canonical_url}
"""Types whose values are brought to one spelling here, whatever their tool."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The arguments of one call, resolved."""

    values: Mapping[str, Value]
    """As they are judged: ids of things in place of words."""
    received: Mapping[str, Plain]
    """As the tool receives them."""


class Referents:
    """Resolver of the arguments of all tools."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._resolvers: dict[str, tuple[tuple[Parameter, Resolver | None], ...]] = {}
        for name, tool in tools.items():
            own = tool.resolvers if isinstance(tool, Resolving) else {}
            found = tuple(
                (p, own.get(p.name)) for p in tool.spec.parameters if p.name in own or item_type(p.type) in _SPELLED
            )
            if found:
                self._resolvers[name] = found

    def of_call(self, tool: str, arguments: Mapping[str, Value], context: CallContext) -> Resolved:
        """Resolve the arguments of a call that is about to be made.

        Raises:
            NotFound, Ambiguous, ToolError: As the tool says. ToolCrashed, ToolTimeout: Its resolver failed or hung.
            WrongType: An argument is not of its parameter's type.
        """
        resolvers = self._resolvers.get(tool)
        received = {name: value.data for name, value in arguments.items()}
        if not resolvers:
            return Resolved(arguments, received)
        values = dict(arguments)
        for parameter, resolver in resolvers:
            if resolver is not None and parameter.name not in values and parameter.default not in (None, ""):
                values[parameter.name] = Value(parameter.default, OWNER)  # "the blinds": which, is to be judged, too
        with_own = [one for one in resolvers if one[0].name in values and values[one[0].name].data is not None]
        quiet = _quiet(context)
        if any(resolver is not None and not _is_shipped(resolver) for _, resolver in with_own):
            _in_time(tool, quiet, lambda: _resolve(tool, with_own, values, received, quiet))
        else:
            _named(tool, lambda: _resolve(tool, with_own, values, received, quiet))
        return Resolved(values, received)

    def of_steps(self, steps: Mapping[int, Step], context: CallContext) -> dict[int, Mapping[str, Value]]:
        """Resolve the literals of planned steps, as far as that can be done before they run; the rest stays open.

        Where a tool's resolver hung once, it is not waited for again.
        """
        found: dict[int, Mapping[str, Value]] = {}
        hung: set[str] = set()
        for index, step in steps.items():
            things: dict[str, Value] = {}
            for parameter, _ in self._resolvers.get(step.tool, ()):
                self._of_literal(step, parameter, things, context, hung)
            if things:
                found[index] = things
        return found

    def _of_literal(
        self, step: Step, parameter: Parameter, found: dict[str, Value], context: CallContext, hung: set[str]
    ) -> None:
        """Add to `found` what one argument of a step names, or that it is not known yet."""
        argument = step.arguments.get(parameter.name)
        if refs_in(argument):
            return
        known = {name: value for name, value in found.items() if not value.is_open}
        if argument is not None:
            known[parameter.name] = Value(_plain(argument), literal_label(step, parameter.name))
        try:
            values = self.of_call(step.tool, known, context).values if step.tool not in hung else {}
            found |= {name: value for name, value in values.items() if value.things or value.is_open}
        except HearthError as error:
            if isinstance(error, ToolTimeout):
                hung.add(step.tool)
        if argument is not None and parameter.name not in found:
            label = literal_label(step, parameter.name)
            found[parameter.name] = Value(_plain(argument), label, is_open=True)

    def check_still(self, tool: str, resolved: Resolved, context: CallContext) -> None:
        """Check that what a tool is about to be handed still is what was judged. Raises: Conflict: It is not."""
        handed = {name: Value(data, OWNER) for name, data in resolved.received.items()}
        try:
            now = self.of_call(tool, handed, context).values
        except ToolError:
            now = {}
        for name, value in resolved.values.items():
            if value.things and [one.id for one in value.things] != [
                one.id for one in (now[name].things if name in now else ())
            ]:
                said = ", ".join(repr(one.said) for one in value.things)
                raise Conflict(f"{said} is not there any more as it was a moment ago; nothing was done; ask again")

    def absent(self, rules: Sequence[OrderedRule], context: CallContext) -> tuple[str, ...]:
        """Say which files, devices, notes and lists that rules name by `one_of` are not there (any more)."""
        found: dict[str, None] = {}
        for place, rule in enumerate(rules):
            for tool, (name, when) in itertools.product(rule.tools, rule.when.items()):
                parameter = next((p for p, own in self._resolvers.get(tool, ()) if own and p.name == name), None)
                if parameter is None or item_type(parameter.type) not in ("FilePath", "NoteId", "text"):
                    continue  # other things are named by their titles, too
                for choice in when.one_of or ():
                    try:
                        self.of_call(tool, {name: Value(choice, OWNER)}, context)
                    except NotFound:
                        said = f"rule {rule.name!r}" if rule.name else f"rule {place + 1}"
                        found[f"{said} names {name} {choice!r}, which is not there"] = None
                    except HearthError:
                        continue
        return tuple(found)


def _resolve(
    tool: str,
    resolvers: Iterable[tuple[Parameter, Resolver | None]],
    values: dict[str, Value],
    received: dict[str, Plain],
    context: CallContext,
) -> None:
    """Put what the arguments name in place of their words, in `values` and `received`."""
    named = {parameter.name for parameter, _ in resolvers}
    given: dict[str, object] = {name: data for name, data in received.items() if name not in named}
    for parameter, resolver in resolvers:
        value = values[parameter.name]
        found = _things(tool, parameter, resolver, value.data, given, context)
        if found is None:
            values[parameter.name] = replace(value, is_open=True)
            continue
        ids: list[Plain] = [one.id for one in found]
        is_list = parameter.type.startswith("list[")
        values[parameter.name] = replace(value, data=ids if is_list or len(ids) != 1 else ids[0], things=found)
        given[parameter.name] = received[parameter.name] = ids if is_list else "\n".join(one.id for one in found)


def _things(
    tool: str,
    parameter: Parameter,
    resolver: Resolver | None,
    data: Plain,
    given: Mapping[str, object],
    context: CallContext,
) -> tuple[Referent, ...] | None:
    decoded = from_plain(data, parameter.type, context.now.tzinfo)
    things: list[Referent] = []
    for item in decoded if isinstance(decoded, list) else [decoded]:
        if resolver is None and not str(item).strip():
            things.append(Referent(str(item)))
            continue
        found = resolver(item, context, given) if resolver else _spelled(item_type(parameter.type), str(item))
        if found is None:
            return None
        several = found if isinstance(found, tuple) else (found,)
        if not several or not all(isinstance(one, Referent) and one.id for one in several):
            raise ToolCrashed(f"{tool!r} found {str(found)[:60]!r} for {str(item)[:60]!r}; expected a Referent")
        if any(step.refs() for one in several for step in one.sets_off):
            raise ToolCrashed(
                f"{tool!r} found that {str(item)[:60]!r} sets off calls with references; expected literals"
            )
        things.extend(several)
    return tuple(things)


def _spelled(kind: str, text: str) -> Referent | None:
    """Bring an address to its one spelling; None, which passes no rule, where it is none."""
    try:
        id = _SPELLED[kind](text)
    except ValueError:
        return None
    if kind != "EmailAddress":
        return Referent(id, id)
    mailbox, tag, _ = id.rpartition("@")[0].partition("+")
    aliases = (f"{mailbox}@{id.rpartition('@')[2]}",) if tag and mailbox else ()  # `anna+news` is mostly read by anna
    return Referent(id, in_letters(id), aliases=aliases)


def _plain(argument: object) -> Plain:
    return [_plain(item) for item in argument] if isinstance(argument, list) else argument  # type: ignore[return-value]


def _is_shipped(resolver: Resolver) -> bool:
    """Return whether a resolver is Hearth's own: it reads what is bounded, and need not be watched from a thread."""
    return getattr(resolver, "__module__", "").partition(".")[0].replace("_", "-") in ("hearth", *COMPANIONS)


def _named(tool: str, work: Callable[[], None]) -> None:
    """Run resolvers. Raises: HearthError: As they raise. ToolCrashed: One failed otherwise."""
    try:
        work()
    except HearthError:
        raise
    except BaseException as error:  # a plug-in may raise anything
        raise ToolCrashed(
            f"{tool!r} failed with {type(error).__name__} while it looked for what is meant; this is a fault of the "
            "tool, not of yours"
        ) from error


def _in_time(tool: str, context: CallContext, work: Callable[[], None]) -> None:
    """Run resolvers in a thread of their own; one that hangs is left behind. Raises: As `_named`; ToolTimeout."""
    failed: list[HearthError] = []

    def run() -> None:
        try:
            _named(tool, work)
        except HearthError as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="hearth-resolve", daemon=True)
    thread.start()
    thread.join(RESOLVE_S)
    if thread.is_alive():
        context.cancelled.set()
        raise ToolTimeout(f"{tool} did not find what is meant within {RESOLVE_S:g} s; nothing was done")
    if failed:
        raise failed[0]


def _quiet(context: CallContext) -> CallContext:
    """The context of a call that is not made yet: nothing can be written, sent or noted in it."""
    return replace(
        context,
        workspace=_ReadOnly(context.workspace),
        egress=ShutEgress(),
        notices=[],
        origins={},
        cancelled=threading.Event(),
    )


class _ReadOnly:
    """A workspace that cannot be changed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.read, self.exists, self.list = workspace.read, workspace.exists, workspace.list
        self.modified, self.stat, self.real_path = workspace.modified, workspace.stat, workspace.real_path

    def write(self, path: str, data: bytes) -> None:  # noqa: ARG002 - the seam's
        """Raises: SandboxError."""
        raise SandboxError(f"{path!r} was to be changed while it was looked for; nothing is written before the call")

    def delete(self, path: str) -> None:
        """Raises: SandboxError."""
        self.write(path, b"")
