"""Turn a plain Python function into a tool, and values into plain data and back.

    @tool(effect="change", source="device")
    def add_reminder(text: str, at: datetime, call: CallContext) -> Reminder:
        '''Remind the owner of something at a time.

        Args:
            text: What to be reminded of.
            at: When.
        Examples:
            remind me to water the plants tomorrow at nine
        '''

The signature gives names, types, defaults and enums (`Literal`); the docstring gives the descriptions and the
examples; `Annotated[str, Sink]` marks a parameter that decides where data goes, `Annotated[FilePath, Names(resolve)]`
says how what it names is found, `Annotated[float, Unit("celsius")]` gives its unit. A parameter annotated
`CallContext` is passed in and is not part of the signature that planners see.
Not covered: overloads, `*args`, `**kwargs`, positional-only parameters (refused with RegistryError).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import inspect
import re
import types as pytypes
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hearth.errors import BadResult, RegistryError, WrongType
from hearth.protocols import CallContext, Resolver
from hearth.types import Effect, FieldOrigin, Parameter, Plain, Referent, Step, ToolSpec

# ── Markers ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Unit:
    name: str


@dataclass(frozen=True, slots=True)
class LevelOr:
    """Marks a level that may also be how far one is changed: `Annotated[float, LevelOr("change")]`, see `Parameter`."""

    parameter: str


class _SinkMark:
    def __repr__(self) -> str:
        return "Sink"


Sink = _SinkMark()


@dataclass(frozen=True, slots=True)
class Names:
    """Marks a parameter that names a thing: `Annotated[FilePath, Names(resolve_file)]`."""

    resolve: Resolver


def as_written(value: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    """A `Resolver` for text that is itself what is written down, such as a postal address."""
    return Referent(str(value), " ".join(str(value).split()))


ID_IS_A_KEY: Mapping[str, FieldOrigin] = {"id": FieldOrigin("device", ())}
"""Origins of a record whose `id` only names it: the id is this device's, whoever wrote the rest."""

# ── Values ────────────────────────────────────────────────────────────────────────────────────────────────

_DURATION = re.compile(
    r"^(?P<sign>-)?P(?:(?P<weeks>\d+(?:\.\d+)?)W)?(?:(?P<days>\d+(?:\.\d+)?)D)?"
    r"(?:T(?:(?P<hours>\d+(?:\.\d+)?)H)?(?:(?P<minutes>\d+(?:\.\d+)?)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?$"
)


def duration_text(value: dt.timedelta) -> str:
    """Write a duration as ISO 8601 text: 90 minutes is `PT1H30M`."""
    seconds = value.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    day_part = f"{int(days)}D" if days else ""
    time_part = "".join(f"{n:g}{unit}" for n, unit in ((hours, "H"), (minutes, "M"), (round(rest, 6), "S")) if n)
    return f"{sign}P{day_part}{'T' + time_part if time_part else ''}" if day_part or time_part else "PT0S"


def parse_duration(text: str) -> dt.timedelta:
    """Parse what `duration_text` wrote. Raises: ValueError."""
    match = _DURATION.match(text)
    if not match or text.endswith(("P", "T")):
        raise ValueError(f"{text!r} is not an ISO 8601 duration such as 'PT1H30M'")
    parts = {name: float(n) for name, n in match.groupdict().items() if n and name != "sign"}
    value = dt.timedelta(**parts)
    return -value if match["sign"] else value


def to_plain(value: object) -> Plain:
    """Encode a tool's result as JSON types. Raises: BadResult for anything that is not data."""
    if value is None or isinstance(value, bool | int | float | str):
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            raise BadResult(f"{value!r} is not a number that can be written down; return a finite one or None")
        return value
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return duration_text(value)
    if isinstance(value, list | tuple | frozenset | set):
        items = sorted(value, key=repr) if isinstance(value, frozenset | set) else value
        return [to_plain(item) for item in items]
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    raise BadResult(
        f"a tool returned a {type(value).__name__}; return JSON types, dates, durations or frozen dataclasses"
    )


def from_plain(value: Plain, type_name: str, zone: dt.tzinfo | None = None) -> object:
    """Decode plain data to the Python type a parameter asks for.

    Args:
        value: What stands in the plan.
        type_name: One of `types.TYPE_NAMES`, `list[X]`, or a nominal name (passed through).
        zone: Given to a datetime that has none.
    Raises:
        WrongType: The value is not one of that type.
    """
    if type_name.startswith("list[") and type_name.endswith("]"):
        items = value if isinstance(value, list) else [value]
        return [from_plain(item, type_name[5:-1], zone) for item in items]
    decode = _DECODERS.get(type_name)
    if decode is None:
        return value
    try:
        decoded = decode(value)
    except (ValueError, TypeError, OverflowError):
        raise WrongType(f"{value!r} is not a {type_name}; expected {_FORMS[type_name]}") from None
    if isinstance(decoded, dt.datetime) and decoded.tzinfo is None:
        return decoded.replace(tzinfo=zone)
    return decoded


def _text(value: object) -> str:
    if isinstance(value, str):
        value.encode()  # a lone surrogate, which JSON can carry but no file can hold, raises UnicodeEncodeError
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError
    return str(value)


def _integer(value: object) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError
    return int(typing.cast(Any, value))


def _number(value: object) -> float:
    if isinstance(value, bool):
        raise ValueError
    number = float(typing.cast(Any, value))
    if number != number or abs(number) == float("inf"):
        raise ValueError
    return number


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise ValueError


def _date(value: object) -> dt.date:
    text = typing.cast(str, value)
    return dt.datetime.fromisoformat(text).date() if len(text) > 10 else dt.date.fromisoformat(text)


def _datetime(value: object) -> dt.datetime:
    text = typing.cast(str, value)
    if len(text) < 11:
        raise ValueError
    return dt.datetime.fromisoformat(text)


_DECODERS: dict[str, Callable[[Any], object]] = {
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
    "time": lambda value: dt.time.fromisoformat(value),
    "datetime": _datetime,
    "duration": lambda value: parse_duration(value),
    "EmailAddress": _text,
    "PhoneNumber": _text,
    "Url": _text,
    "PersonName": _text,
    "FilePath": _text,
}
_FORMS = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "date": "a date such as '2026-11-20'",
    "time": "a time such as '18:30'",
    "datetime": "a date and time such as '2026-11-20T18:30:00+01:00'",
    "duration": "a duration such as 'PT1H30M'",
    "EmailAddress": "an e-mail address",
    "PhoneNumber": "a phone number",
    "Url": "a web address",
    "PersonName": "a person's name",
    "FilePath": "a file path",
}

# ── Functions as tools ────────────────────────────────────────────────────────────────────────────────────

Undo = Callable[[Mapping[str, object], Plain, CallContext], None]
UndoSteps = Callable[[Plain], tuple[Step, ...]]
"""What taking back the call with this result amounts to (`protocols.Reverting`)."""


@dataclass(frozen=True, slots=True)
class _Signature:
    """What the parameters of a function say."""

    parameters: tuple[Parameter, ...]
    """Those that a plan gives."""
    context_name: str
    """The parameter that takes the context of a call; empty: none does."""
    resolvers: Mapping[str, Resolver]


class FunctionTool:
    """A function with its spec; satisfies `protocols.Tool` and can still be called as the function it was."""

    def __init__(
        self,
        function: Callable[..., object],
        spec: ToolSpec,
        signature: _Signature,
        undo: Undo | None,
        undo_steps: UndoSteps | None,
    ) -> None:
        self.function = function
        self.spec = spec
        self.resolvers = signature.resolvers
        self._context_name = signature.context_name
        self._undo = undo
        self._undo_steps = undo_steps
        self.__doc__ = function.__doc__

    def call(self, arguments: Mapping[str, object], context: CallContext) -> object:
        if self._context_name:
            return self.function(**arguments, **{self._context_name: context})
        return self.function(**arguments)

    def undo(self, arguments: Mapping[str, object], result: Plain, context: CallContext) -> None:
        if self._undo is not None:
            self._undo(arguments, result, context)

    def undo_steps(self, result: Plain) -> tuple[Step, ...]:
        return self._undo_steps(result) if self._undo_steps is not None else ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"FunctionTool({self.spec.name!r})"


def tool(
    *,
    effect: Effect = "none",
    source: str = "device",
    origins: Mapping[str, FieldOrigin] | None = None,
    unconfirmed: str = "",
    domain: str = "",
    name: str = "",
    timeout_s: float = 30.0,
    n_retries: int = 0,
    is_idempotent: bool = True,
    answer: str = "",
    answer_none: str = "",
    undo: Undo | None = None,
    undo_steps: UndoSteps | None = None,
) -> Callable[[Callable[..., object]], FunctionTool]:
    """Make a tool of the function below (see the module's example).

    Raises:
        RegistryError: No docstring, a parameter without annotation, a signature a plan cannot express, or origins of
            fields or parameters that are not there.
    """

    def wrap(function: Callable[..., object]) -> FunctionTool:
        signature = _signature(function)
        summary, _, examples = _docstring(function)
        returns, fields = _returns(function)
        _check_origins(function.__name__, origins or {}, fields, [p.name for p in signature.parameters])
        spec = ToolSpec(
            name=name or function.__name__,
            description=summary,
            parameters=signature.parameters,
            returns=returns,
            fields=fields,
            effect=effect,
            source=source,
            origins=origins or {},
            unconfirmed=unconfirmed,
            domain=domain or function.__module__.rpartition(".")[2],
            timeout_s=timeout_s,
            n_retries=n_retries,
            is_idempotent=is_idempotent,
            examples=examples,
            answer=answer,
            answer_none=answer_none,
        )
        return FunctionTool(function, spec, signature, undo, undo_steps)

    return wrap


def _check_origins(
    tool_name: str, origins: Mapping[str, FieldOrigin], fields: Mapping[str, str], parameters: list[str]
) -> None:
    """Check that origins name existing fields; a misspelled one would silently carry the label of something else."""
    for name, origin in origins.items():
        absent = [f for f in (name, origin.same_as) if f and f not in fields]
        absent += [p for p in origin.made_of or () if p not in parameters]
        if absent:
            known = ", ".join([*fields, *parameters]) or "none"
            raise RegistryError(f"tool {tool_name!r}: origins name {absent[0]!r}; its fields and parameters: {known}")


def _docstring(function: Callable[..., object]) -> tuple[str, dict[str, str], tuple[str, ...]]:
    """Return first paragraph, descriptions by parameter, and examples."""
    text = inspect.getdoc(function)
    if not text:
        raise RegistryError(
            f"tool {function.__name__!r} has no docstring; its first sentence is what planners read, so write one"
        )
    summary = " ".join(text.split("\n\n", 1)[0].split())
    section, described, examples = "", dict[str, str](), list[str]()
    current = ""
    for line in text.split("\n"):
        heading = re.match(r"^(Args|Examples|Returns|Raises|Source):\s*$", line)
        if heading:
            section = heading[1]
        elif section == "Args" and (match := re.match(r"^ {4}(\w+): (.*)$", line)):
            current = match[1]
            described[current] = match[2].strip()
        elif section == "Args" and line.startswith(" " * 8) and current:
            described[current] += " " + line.strip()
        elif section == "Examples" and line.strip():
            examples.append(line.strip())
    return summary, described, tuple(examples)


def _signature(function: Callable[..., object]) -> _Signature:
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise RegistryError(f"tool {function.__name__!r}: {error}; import the annotation at module level") from None
    _, described, _ = _docstring(function)
    parameters: list[Parameter] = []
    resolvers: dict[str, Resolver] = {}
    context_name = ""
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise RegistryError(
                f"tool {function.__name__!r} takes {parameter}; a plan can only give arguments by name, "
                "so list them one by one"
            )
        if parameter.name not in hints:
            raise RegistryError(
                f"parameter {parameter.name!r} of tool {function.__name__!r} has no type; annotate it, e.g. "
                f"`{parameter.name}: str`"
            )
        if hints[parameter.name] is CallContext:
            context_name = parameter.name
            continue
        marks = _annotation(hints[parameter.name], function.__name__)
        if marks.names is not None:
            resolvers[parameter.name] = marks.names.resolve
        is_required = parameter.default is parameter.empty
        parameters.append(
            Parameter(
                name=parameter.name,
                type=marks.type,
                description=described.get(parameter.name, ""),
                is_required=is_required,
                default=None if is_required else to_plain(parameter.default),
                enum=marks.enum,
                unit=marks.unit,
                is_sink=marks.is_sink,
                is_resolved=marks.names is not None,
                level_or=marks.level_or,
            )
        )
    return _Signature(tuple(parameters), context_name, resolvers)


@dataclass(frozen=True, slots=True)
class _Marks:
    """What an annotation says of a parameter."""

    type: str
    enum: tuple[str, ...] = ()
    unit: str = ""
    is_sink: bool = False
    names: Names | None = None
    level_or: str = ""


def _annotation(hint: Any, where: str) -> _Marks:
    marks: tuple[Any, ...] = ()
    if typing.get_origin(hint) is typing.Annotated:
        hint, *rest = typing.get_args(hint)
        marks = tuple(rest)
    if typing.get_origin(hint) in (typing.Union, pytypes.UnionType):
        options = [a for a in typing.get_args(hint) if a is not type(None)]
        if len(options) != 1:
            raise RegistryError(f"tool {where!r}: {hint} is a union; a parameter has one type (or that type and None)")
        found = _annotation(options[0], where)
    elif typing.get_origin(hint) in (list, tuple) and typing.get_args(hint):
        found = dataclasses.replace(_annotation(typing.get_args(hint)[0], where), type=_type_name(hint), enum=())
    elif typing.get_origin(hint) is Literal:
        found = _Marks("text", tuple(str(a) for a in typing.get_args(hint)))
    else:
        found = _Marks(_type_name(hint))
    return dataclasses.replace(
        found,
        unit=next((m.name for m in marks if isinstance(m, Unit)), found.unit),
        is_sink=found.is_sink or any(m is Sink for m in marks),
        names=next((m for m in marks if isinstance(m, Names)), found.names),
        level_or=next((m.parameter for m in marks if isinstance(m, LevelOr)), found.level_or),
    )


_PYTHON_TYPES: dict[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    dt.datetime: "datetime",
    dt.date: "date",
    dt.time: "time",
    dt.timedelta: "duration",
    type(None): "none",
}


def _type_name(hint: Any) -> str:
    if typing.get_origin(hint) is typing.Annotated:
        return _type_name(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, pytypes.UnionType):
        options = [a for a in typing.get_args(hint) if a is not type(None)]
        return _type_name(options[0]) if len(options) == 1 else "any"
    if typing.get_origin(hint) in (list, tuple, set, frozenset):
        arguments = [a for a in typing.get_args(hint) if a is not Ellipsis]
        return f"list[{_type_name(arguments[0])}]" if arguments else "list[any]"
    if hint in _PYTHON_TYPES:
        return _PYTHON_TYPES[hint]
    if isinstance(hint, typing.NewType) or dataclasses.is_dataclass(hint):
        return str(typing.cast(Any, hint).__name__)
    return "any"


def _returns(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    hint = typing.get_type_hints(function, include_extras=True).get("return", Any)
    record = hint
    while typing.get_origin(record) in (list, tuple, typing.Union, pytypes.UnionType):
        inner = [a for a in typing.get_args(record) if a is not type(None) and a is not Ellipsis]
        record = inner[0] if inner else Any
    fields: dict[str, str] = {}
    if dataclasses.is_dataclass(record) and isinstance(record, type):
        hints = typing.get_type_hints(record, include_extras=True)
        fields = {f.name: _type_name(hints[f.name]) for f in dataclasses.fields(record)}
    return _type_name(hint), fields
