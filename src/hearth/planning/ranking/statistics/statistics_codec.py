"""Encodes statistics as bytes: what an edge sends, a service keeps, and a prior is. `docs/reference/statistics.md`.

Eight bytes of magic, the header's length, the header (JSON), then the parts, one after the other: whole numbers of the
smallest type that holds them, low bytes first, then the next, deflated. Nothing in it is run or unpickled.

Covered, before anything large is made: the writer is not trusted; the header's fields, sizes and names; other features
than expected; parts whose size differs from what the header says (a zip bomb stops at the size said, and that is
bounded); sums that no demonstrations can have (`faults_of`). NaN cannot be written. Not covered: wrong sums that some
demonstrations could have (`hearth_cloud.statistics.robust_merge`).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.errors import StatisticsError
from hearth.models.random_features import UNIT
from hearth.planning.ranking.candidates import ENDS
from hearth.planning.ranking.examples import targets_of
from hearth.planning.ranking.features import ReadingOptions, fingerprint_of
from hearth.planning.ranking.statistics.sufficient_statistics import (
    LARGEST,
    MOST_LENGTH,
    MOST_ROWS,
    MOST_STEPS,
    Statistics,
    Sums,
    Whole,
    upper_place,
)

MAGIC = b"HRTHSTAT"
FORMAT_VERSION = 2
MOST_HEADER_BYTES = 4 * 2**20
MOST_RAW_BYTES = 192 * 2**20
"""Greatest size of all parts unpacked; the largest profile has 60 MB."""
_START = struct.Struct("<8sI")
_TYPES: dict[str, type[np.signedinteger]] = {"i1": np.int8, "i2": np.int16, "i4": np.int32, "i8": np.int64}
_PARTS = ("gram", "moments", "mass")

_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")]
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Size = Annotated[int, Field(ge=1, le=8_192)]
_Tool = Annotated[int, Field(ge=-1, lt=4_096)]


_Floats = Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(max_length=256)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _Part(_Strict):
    type: Literal["i1", "i2", "i4", "i8"]
    n_bytes: Annotated[int, Field(ge=0, le=MOST_RAW_BYTES)]
    """Size when deflated."""


class _Header(_Strict):
    version: Literal[2]
    encoder: _Name
    n_inputs: _Size
    n_cosines: _Size
    n_words: _Size
    seed: Annotated[int, Field(ge=0, lt=2**32)]
    is_noisy: bool
    n_edges: _Count
    n_demonstrations: _Count
    n_rows: _Count
    tools: Annotated[list[_Name], Field(max_length=4_096)]
    outputs: Annotated[list[list[_Tool]], Field(max_length=50_000)]
    """Outputs: [0, tool], [1, tool, tool] (−1: an end), [2, number of steps], [3, tool asked for]."""
    sequences: Annotated[list[tuple[list[_Tool], _Count]], Field(max_length=200_000)]
    links: Annotated[list[tuple[_Tool, _Tool, bool, bool, _Count]], Field(max_length=200_000)]
    joining: Annotated[list[Annotated[list[_Floats], Field(min_length=3, max_length=3)]], Field(max_length=2)] = []
    parts: Annotated[list[_Part], Field(min_length=len(_PARTS), max_length=len(_PARTS))]

    def reading(self) -> ReadingOptions:
        return ReadingOptions(self.n_cosines, self.n_words, self.seed)


def encode(statistics: Statistics) -> bytes:
    """Encode statistics; the same statistics give the same bytes."""
    s, o = statistics, statistics.reading
    tools = list(s.tools)
    place = {**{tool: k for k, tool in enumerate(tools)}, ENDS: -1}
    arrays = [s.sums.gram, s.sums.moments, s.sums.mass]
    types = [_smallest(array) for array in arrays]
    bodies = [_deflated(array.astype(_TYPES[kind])) for array, kind in zip(arrays, types)]
    header = _Header(
        version=2,
        encoder=s.encoder, n_inputs=s.n_inputs, n_cosines=o.n_cosines, n_words=o.n_words, seed=o.seed,
        is_noisy=s.is_noisy, n_edges=s.n_edges, n_demonstrations=s.n_demonstrations, n_rows=s.sums.n_rows,
        tools=tools,
        outputs=[_listed(output, place) for output in s.sums.outputs],
        sequences=[([place[tool] for tool in sequence], n) for sequence, n in sorted(s.sequences.items())],
        links=[(place[a], place[b], is_next, is_used, n) for (a, b, is_next, is_used), n in sorted(s.links.items())],
        joining=[[list(part) for part in one] for one in s.joining],
        parts=[_Part(type=kind, n_bytes=len(body)) for kind, body in zip(types, bodies)],  # type: ignore[arg-type]
    )  # fmt: skip
    head = json.dumps(header.model_dump(mode="json"), separators=(",", ":")).encode()
    return b"".join([_START.pack(MAGIC, len(head)), head, *bodies])


def decode(data: bytes, fingerprints: Collection[str] | None = None) -> Statistics:
    """Decode statistics from untrusted bytes.

    Args:
        fingerprints: Features that are expected; None takes any.

    Raises:
        StatisticsError: They are not such a file, of other features, or no demonstrations can have such sums; says why.
    """
    header, start = _header(data)
    try:
        reading = header.reading()
    except ValueError as error:
        raise StatisticsError(f"the statistics are of no profile: {error}") from None
    try:
        empty = _built(header, reading, None)
    except IndexError:
        raise StatisticsError("the statistics name a tool by a number that they do not list") from None
    if fingerprints is not None and empty.fingerprint not in fingerprints:
        raise StatisticsError(
            f"the statistics are over features {empty.fingerprint!r}; expected is one of {sorted(fingerprints)!r}: "
            "send those of another profile, or update Hearth"
        )
    found = _built(header, reading, _arrays(data, start, header, empty))
    fault = next(faults_of(found), "")
    if fault:
        raise StatisticsError(f"no demonstrations have such sums: {fault}")
    return found


def fingerprint_in(data: bytes) -> str:
    """Return the fingerprint of the statistics' features, from the header alone. Raises: StatisticsError."""
    header, _ = _header(data)
    return f"{header.encoder}; {fingerprint_of(header.reading(), header.n_inputs)}"


def _header(data: bytes) -> tuple[_Header, int]:
    if len(data) < _START.size or not data.startswith(MAGIC):
        raise StatisticsError("these bytes are no statistics: they begin otherwise; send a file that Hearth wrote")
    _, n_header = _START.unpack_from(data)
    if n_header > MOST_HEADER_BYTES or _START.size + n_header > len(data):
        raise StatisticsError(
            f"the statistics' header would have {n_header} bytes, which is too much or more than came"
        )
    raw = data[_START.size : _START.size + n_header]
    try:
        said = json.loads(raw)
    except (ValueError, RecursionError):
        raise StatisticsError("the statistics' header is not JSON; it is damaged") from None
    if isinstance(said, dict) and said.get("version") != FORMAT_VERSION:
        raise StatisticsError(
            f"the statistics have version {said.get('version')!r}, this Hearth reads {FORMAT_VERSION}; "
            "update the older one"
        )
    try:
        return _Header.model_validate_json(raw), _START.size + n_header
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise StatisticsError(f"the statistics' header is not right at {where or 'its top'}: {first['msg']}") from None


def _arrays(data: bytes, start: int, header: _Header, empty: Statistics) -> list[Whole]:
    shapes = _shapes(empty.sums.n_features, len(empty.sums.outputs))
    sizes = [int(np.prod(shape)) * int(part.type[1:]) for shape, part in zip(shapes, header.parts)]
    if sum(sizes) > MOST_RAW_BYTES:
        raise StatisticsError(f"the statistics would have {sum(sizes)} bytes, at most {MOST_RAW_BYTES} are read")
    if start + sum(part.n_bytes for part in header.parts) != len(data):
        raise StatisticsError("the statistics' parts have other lengths than their header says; they are damaged")
    found = []
    for name, shape, size, part in zip(_PARTS, shapes, sizes, header.parts):
        kind = _TYPES[part.type]
        values = _inflated(memoryview(data)[start : start + part.n_bytes], size, np.dtype(kind).itemsize, name)
        found.append(values.view(kind).astype(np.int64).reshape(shape))
        start += part.n_bytes
    return found


def _built(header: _Header, reading: ReadingOptions, arrays: list[Whole] | None) -> Statistics:
    tools = [*header.tools, ENDS]
    outputs = tuple(_named(output, tools) for output in header.outputs)
    if arrays is None:  # only the names and shapes are wanted
        none = np.zeros(0, dtype=np.int64)
        arrays = [none, np.zeros((reading.n_features(header.n_inputs), 0), dtype=np.int64), none]
    return Statistics(
        header.encoder,
        header.n_inputs,
        reading,
        header.n_edges,
        header.n_demonstrations,
        Sums(outputs, header.n_rows, *arrays),
        {tuple(tools[tool] for tool in sequence): n for sequence, n in header.sequences},
        {(tools[a], tools[b], is_next, is_used): n for a, b, is_next, is_used, n in header.links},
        header.is_noisy,
        tuple(tuple(tuple(part) for part in one) for one in header.joining),
    )


def _shapes(n_features: int, n_outputs: int) -> tuple[tuple[int, ...], ...]:
    return (n_features * (n_features + 1) // 2,), (n_features, n_outputs), (n_outputs,)


def _listed(output: str, place: dict[str, int]) -> list[int]:
    kind, _, rest = output.partition(" ")
    if kind in "ta":
        return [0 if kind == "t" else 3, place[rest]]
    if kind == "n":
        return [2, int(rest)]
    first, _, second = rest.partition(" > ")
    return [1, place[first], place[second]]


def _named(output: list[int], tools: list[str]) -> str:
    match output:
        case [0, tool] if tool >= 0:
            return f"t {tools[tool]}"
        case [1, first, second]:
            return f"l {tools[first]} > {tools[second]}"
        case [2, n] if 1 <= n <= 6:
            return f"n {n}"
        case [3, tool] if tool >= 0:
            return f"a {tools[tool]}"
    raise StatisticsError(f"the statistics' header names no output by {output!r}")


def _smallest(values: Whole) -> str:
    largest = int(np.abs(values).max(initial=0))
    return next(kind for kind, whole in _TYPES.items() if largest <= np.iinfo(whole).max)


def _deflated(values: NDArray[np.signedinteger]) -> bytes:
    raw = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<")).view(np.uint8)
    return zlib.compress(np.ascontiguousarray(raw.reshape(-1, values.itemsize).T).tobytes(), 1)


def _inflated(data: memoryview, n_bytes: int, width: int, name: str) -> NDArray[np.uint8]:
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(data, n_bytes + 1)
    except zlib.error:
        raise StatisticsError(f"the statistics' part {name!r} is damaged") from None
    if len(raw) != n_bytes or not reader.eof or reader.unused_data:
        raise StatisticsError(f"the statistics' part {name!r} has another size than its header says ({n_bytes} bytes)")
    return np.ascontiguousarray(np.frombuffer(raw, dtype=np.uint8).reshape(width, -1).T).reshape(-1)


# ── What sums can be ──────────────────────────────────────────────────────────────────────────────────────


def faults_of(statistics: Statistics) -> Iterator[str]:
    """Yield reasons why no demonstrations can have these sums, as far as single numbers show it; the cheap ones first.

    Covered: names twice or without counts; counts that do not add up; lengths; Cauchy-Schwarz for every entry of A and
    B; and that each demonstration has one beginning, one end and one number of steps, which ties columns of B together.
    Of sums with noise, sizes and names alone. Not covered: whether A is positive semidefinite
    (`hearth_cloud.statistics.robust_merge` checks that), whether plans are right.
    """
    s = statistics
    n = s.n_demonstrations
    sums = s.sums
    if len(set(sums.outputs)) != len(sums.outputs):
        yield "an output stands there twice"
        return
    if any(int(np.abs(part).max(initial=0)) > LARGEST for part in (sums.gram, sums.moments, sums.mass)):
        yield "a number is larger than can be added exactly"
        return
    yield from _count_faults(s)
    if s.is_noisy:
        return
    if not n <= sums.n_rows <= MOST_ROWS * n:
        yield f"there are fewer rows than demonstrations, or more than {MOST_ROWS} to each"
    diagonal = sums.gram[upper_place(sums.n_features)].astype(np.float64)
    if (diagonal < 0).any():
        yield "a sum of squares of the features is negative"
        return
    if diagonal.sum() > MOST_LENGTH * UNIT**2 * sums.n_rows:
        yield f"the features are longer than {sums.n_rows} rows can be"
    if (sums.mass < 1).any() or (sums.mass > sums.n_rows).any():
        yield "an output is wanted by fewer than one row or by more than there are"
    roots = np.sqrt(diagonal)
    if (np.abs(sums.moments) > roots[:, None] * np.sqrt(np.maximum(sums.mass, 0)) * (1 + 1e-9) + 0.5).any():
        yield "moments exceed what the features allow"
    if _has_too_large_products(sums.gram, roots):
        yield "products of the features exceed what their squares allow"
    if n:
        yield from _tie_faults(s)


def _has_too_large_products(gram: Whole, roots: NDArray[np.float64]) -> bool:
    """Check row by row: all bounds at once would be five times as large as the sums themselves."""
    start = 0
    for row in range(len(roots)):
        end = start + len(roots) - row
        if (np.abs(gram[start:end]) > roots[row] * roots[row:] * (1 + 1e-9) + 0.5).any():
            return True
        start = end
    return False


def _count_faults(s: Statistics) -> Iterator[str]:
    known = set(s.tools)
    if any(not sequence or len(sequence) > MOST_STEPS or ENDS in sequence for sequence in s.sequences):
        yield f"a sequence has no steps, more than {MOST_STEPS}, or an end in it"
        return
    if any(n < 1 for n in (*s.sequences.values(), *s.links.values())):
        yield "a count is not positive"
    if s.is_noisy:
        return
    if sum(s.sequences.values()) != s.n_demonstrations:
        yield "there are not as many sequences as demonstrations"
    said = dict(zip(s.sums.outputs, s.sums.mass.tolist()))
    counts = {output: n for output, n in said.items() if not output.startswith(("t ", "a "))}
    wanted, least = Counter[str](), Counter[str]()
    for sequence, n in s.sequences.items():
        for output in targets_of(sequence):
            (least if output.startswith("t ") else wanted)[output] += n
    if counts != wanted or any(said.get(output, 0) < n for output, n in least.items()):
        yield "the outputs are not wanted as often as the sequences say"
    if not {output[2:] for output in s.sums.outputs if output.startswith(("t ", "a "))} <= known:
        yield "a row wants a tool that no sequence has"
    if _linked(s) != _pairs(s):
        yield "the links are not as many as the sequences say"


def _pairs(s: Statistics) -> dict[tuple[str, str, bool], int]:
    """Count the pairs of steps in all sequences, with whether one follows the other at once."""
    pairs: dict[tuple[str, str, bool], int] = {}
    for sequence, n in s.sequences.items():
        for a, first in enumerate(sequence):
            for b in range(a + 1, len(sequence)):
                pair = (first, sequence[b], b == a + 1)
                pairs[pair] = pairs.get(pair, 0) + n
    return pairs


def _linked(s: Statistics) -> dict[tuple[str, str, bool], int]:
    """Count the pairs of steps that the links speak of, linked or not."""
    linked: dict[tuple[str, str, bool], int] = {}
    for (first, second, is_next, _), n in s.links.items():
        linked[first, second, is_next] = linked.get((first, second, is_next), 0) + n
    return linked


def _tie_faults(s: Statistics) -> Iterator[str]:
    """Check that Σ φ agrees in three ways: each demonstration has one number of steps, one first and one last tool."""

    def total(outputs: Iterable[bool]) -> Whole:
        return np.asarray(s.sums.moments[:, np.fromiter(outputs, dtype=np.bool_)].sum(axis=1), dtype=np.int64)

    names = s.sums.outputs
    sizes = total(name.startswith("n ") for name in names)
    firsts = total(name.startswith(f"l {ENDS} > ") for name in names)
    lasts = total(name.endswith(f" > {ENDS}") for name in names)
    if not (np.array_equal(sizes, firsts) and np.array_equal(sizes, lasts)):
        yield "the moments of first tools, last tools and numbers of steps do not come from the same demonstrations"
