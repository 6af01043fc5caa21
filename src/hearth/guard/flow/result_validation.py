"""Converts a tool's result to plain data of the declared type and of bounded size, or raises BadResult.

The size is counted before anything is encoded and counting stops at the limit, so a tool that returns gigabytes costs
no more than one that returns a megabyte. Covered: size, nesting, text no file can hold, type of scalars, lists and
record fields. Not covered: whether a value is true; None fits any type, as a signature's `| None` is not in the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hearth.errors import BadResult, WrongType
from hearth.formats.tool_signature import from_plain, to_plain
from hearth.types import TYPE_NAMES, Plain, ToolSpec

MAX_RESULT_BYTES = 1_000_000
MAX_INTEGER_BITS = 1024


def checked(value: object, spec: ToolSpec) -> Plain:
    """Return `value` as plain data.

    Raises:
        BadResult: Too large, not data, or not what `spec.returns` and `spec.fields` say; names the tool and the fault.
    """
    _check_size(value, spec.name)
    try:
        plain = to_plain(value)
    except BadResult as error:
        raise BadResult(f"{spec.name!r}: {error}") from None
    except RecursionError:
        raise BadResult(f"{spec.name!r} returned data nested too deeply to write down; flatten it") from None
    _check_type(plain, spec.returns, spec)
    return plain


def _check_size(value: object, tool: str) -> None:
    n_bytes = 0
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            n_bytes += len(item) + 2
            if not item.isascii() and n_bytes <= MAX_RESULT_BYTES:
                n_bytes += _n_utf8(item, tool) - len(item)
        elif isinstance(item, Mapping):
            n_bytes += 2 + 2 * len(item)
            if n_bytes <= MAX_RESULT_BYTES:
                waiting.extend(item.keys())
                waiting.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            n_bytes += 2 + len(item)
            if n_bytes <= MAX_RESULT_BYTES:
                waiting.extend(item)
        elif isinstance(item, int) and item.bit_length() > MAX_INTEGER_BITS:
            raise BadResult(f"{tool!r} returned a whole number of {item.bit_length()} bits; at most {MAX_INTEGER_BITS}")
        elif names := getattr(type(item), "__dataclass_fields__", None):
            n_bytes += 2 + sum(len(name) + 4 for name in names)
            waiting.extend(getattr(item, name) for name in names)
        else:
            n_bytes += 8
        if n_bytes > MAX_RESULT_BYTES:
            raise BadResult(
                f"{tool!r} returned {_size(item)}; a result may hold at most {MAX_RESULT_BYTES:,} bytes, "
                "so ask for less (a shorter range, fewer records)"
            )


def _n_utf8(text: str, tool: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise BadResult(f"{tool!r} returned text with a lone surrogate, which no file can hold; return UTF-8") from None


def _size(item: object) -> str:
    if isinstance(item, str):
        return f"a text of {len(item):,} characters"
    if isinstance(item, Mapping | list | tuple | set | frozenset):
        return f"{len(item):,} items in one {type(item).__name__}, or more bytes than are allowed in all"
    return "more bytes than are allowed"


# ── Types ─────────────────────────────────────────────────────────────────────────────────────────────────


def _is_number(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decodes_to(kind: str) -> Callable[[Plain], bool]:
    def check(value: Plain) -> bool:
        if not isinstance(value, str):
            return False
        try:
            from_plain(value, kind)
        except WrongType:
            return False
        return True

    return check


_FITS: Mapping[str, Callable[[Plain], bool]] = {
    **{
        kind: lambda value: isinstance(value, str)
        for kind in ("text", "EmailAddress", "PhoneNumber", "Url", "PersonName", "FilePath")
    },
    **{kind: _decodes_to(kind) for kind in ("date", "time", "datetime", "duration")},
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "none": lambda value: value is None,
}


def _check_type(value: Plain, kind: str, spec: ToolSpec) -> None:
    if value is None:
        return
    if kind.startswith("list["):
        if not isinstance(value, list):
            raise _wrong(spec, value, f"declared {spec.returns}")
        for item in value:
            _check_type(item, kind[5:-1], spec)
    elif spec.fields and kind not in TYPE_NAMES:
        _check_record(value, spec, kind)
    elif not _fits(value, kind):
        raise _wrong(spec, value, f"declared {spec.returns}")


def _check_record(item: Plain, spec: ToolSpec, kind: str) -> None:
    if not isinstance(item, dict):
        raise _wrong(spec, item, f"declared {spec.returns}, a record with {', '.join(spec.fields)}")
    for name, field_kind in spec.fields.items():
        if name not in item:
            declared = ", ".join(spec.fields)
            raise BadResult(f"{spec.name!r} returned {kind} records without {name!r}; declared {declared}")
        if not _fits(item[name], field_kind):
            raise _wrong(spec, item[name], f"declared {field_kind}", f" as {name!r}")


def _fits(value: Plain, kind: str) -> bool:
    if value is None:
        return True
    if kind.startswith("list["):
        return isinstance(value, list) and all(_fits(item, kind[5:-1]) for item in value)
    check = _FITS.get(kind)
    return check is None or check(value)


def _wrong(spec: ToolSpec, value: Plain, declared: str, place: str = "") -> BadResult:
    shown = repr(value[:60] if isinstance(value, str) else value)[:80]
    return BadResult(f"{spec.name!r} returned {shown} ({type(value).__name__}){place}; {declared}")
