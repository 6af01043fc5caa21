"""What a ranker is made of, as exact sums that add and subtract: as objects, bytes, one row, a prior's file."""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.atomic_files import replacing
from hearth.errors import StatisticsError, StoreError
from hearth.models.ridge import UNIT, Heads, NormalEquations
from hearth.planning import tool_heads
from hearth.planning.ranking.features import (
    ENDS,
    HALF,
    Reader,
    ReadingOptions,
    Sequence_,
    Taught,
    fingerprint_of,
    rows_of,
    targets_of,
)
from hearth.planning.ranking.weight_fitting import digest
from hearth.planning.tool_heads import HeadPrior, shipped_prior
from hearth.protocols import Encoder

# ── Sufficient statistics ─────────────────────────────────────────────────────────────────────────────────
# Computes what rankers can exchange: exact sums over demonstrations, in whole numbers.
#
# `Statistics` are the sums from which heads are solved (A = Σ φφᵀ and B = Σ φyᵀ over the whole-number features of
# whole requests and of their acts) and the counts of tool sequences that say what may be proposed. Adding two edges'
# statistics equals having learned both's demonstrations at once, to the last bit; subtracting one again leaves no
# trace of it.
#
# Only demonstrations whose every tool is public are summed; the sums hold nothing of a demonstration but the features
# of its request (hand over masked requests), which tools, and in what order. Not covered: sums of few demonstrations
# can be taken apart (the Gram matrix of one request is that request), which is why a giver waits until it has many,
# and why a service is best shown sums over several edges alone (`edge.federation`).

Whole: TypeAlias = NDArray[np.int64]
PairLink: TypeAlias = tuple[str, str, bool, bool]
"""Two tools of one plan: whether the second directly follows the first, whether it uses its result."""

MOST_LENGTH = 1.5
"""Greatest squared length of a row of features, in units of UNIT²."""
MOST_STEPS, MOST_ACTS = 12, 4
"""Demonstrations with longer rows, more steps or more acts are left out of sums, so that none counts for more."""
MOST_ROWS = 1 + MOST_ACTS
"""Most rows of a demonstration: of the whole request, and of each act."""
LARGEST = 2**52
"""Sums stay below this: float64 holds them exactly."""


@dataclass(frozen=True)
class Sums:
    """The statistics of one set of heads."""

    outputs: tuple[str, ...]
    """Names of the outputs, sorted."""
    n_rows: int
    gram: Whole
    """A, its upper triangle row by row, shape [D (D + 1) / 2]."""
    moments: Whole
    """B, shape [D, n_outputs]."""
    mass: Whole
    """Number of rows that want each output."""

    @property
    def n_features(self) -> int:
        return len(self.moments)

    def square(self) -> Whole:
        """Return the full matrix A, shape [D, D]."""
        return self._square().astype(np.int64)

    def _square(self) -> NDArray[np.float64]:
        """Return A as floats, which hold these sums exactly; built by rows, as index lists are three times as large."""
        n = self.n_features
        found, start = np.zeros((n, n)), 0
        for row in range(n):
            found[row, row:] = found[row:, row] = self.gram[start : start + n - row]
            start += n - row
        return found

    def heads(self, ridge: float, fingerprint: str) -> Heads:
        """Return heads that learned exactly this."""
        moments, mass = (part.astype(np.float64) for part in (self.moments, self.mass))
        sums = NormalEquations(self.outputs, self._square(), moments)
        return Heads.of_statistics(sums, mass, float(self.n_rows), ridge=ridge, fingerprint=fingerprint)

    def solved(self, ridge: float, fingerprint: str, n_bits: int) -> Heads:
        """Return heads that learned exactly this and learn no more."""
        sums = NormalEquations(self.outputs, self._square(), self.moments.astype(np.float64))
        return Heads.solved_from(sums, ridge=ridge, fingerprint=fingerprint, n_bits=n_bits)

    def plus(self, other: Sums, sign: int = 1) -> Sums:
        """Add another's sums, or subtract them; outputs that no row wants any more are dropped."""
        if self.n_features != other.n_features:
            raise StatisticsError(
                f"sums over {other.n_features} features cannot be added to sums over {self.n_features}"
            )
        outputs = tuple(sorted({*self.outputs, *other.outputs}))
        moments = np.zeros((self.n_features, len(outputs)), dtype=np.int64)
        mass = np.zeros(len(outputs), dtype=np.int64)
        place = {name: k for k, name in enumerate(outputs)}
        for one, times in ((self, 1), (other, sign)):
            columns = [place[name] for name in one.outputs]
            moments[:, columns] += times * one.moments
            mass[columns] += times * one.mass
        gram = self.gram + sign * other.gram
        if max(int(np.abs(gram).max(initial=0)), int(np.abs(moments).max(initial=0))) > LARGEST:
            raise StatisticsError("the sums would exceed what can be added exactly; merge fewer demonstrations")
        used = mass != 0
        kept = tuple(name for name, is_used in zip(outputs, used) if is_used)
        return Sums(kept, self.n_rows + sign * other.n_rows, gram, moments[:, used], mass[used])

    def image(self, blocks: Sequence[tuple[int, int, int, int]]) -> Sums:
        """Apply a linear map to the features.

        Args:
            blocks: For each run of features: its length, the number kept, their factor, and 1 when the others are
                added to those kept, in turns (0: left out).
        """
        square = _mapped(_mapped(self.square(), blocks).T, blocks)
        upper = np.triu_indices(len(square))
        return replace(self, gram=square[upper], moments=_mapped(self.moments, blocks))


def upper_place(n_features: int) -> Whole:
    """Return the indices of the diagonal in an upper triangle stored row by row."""
    rows = np.arange(n_features, dtype=np.int64)
    return rows * n_features - rows * (rows - 1) // 2


def _mapped(rows: Whole, blocks: Sequence[tuple[int, int, int, int]]) -> Whole:
    parts, start = [], 0
    for n, n_kept, times, is_folded in blocks:
        part = rows[start : start + n]
        part = part.reshape(-1, n_kept, part.shape[1]).sum(axis=0) if is_folded else part[:n_kept]
        parts.append(part * times)
        start += n
    return np.ascontiguousarray(np.vstack(parts))


@dataclass(frozen=True)
class Statistics:
    """Sums over demonstrations of one edge or of many."""

    encoder: str
    """Name of the sentence encoder; vectors of another cannot be added."""
    n_inputs: int
    """Dimension of the encoder."""
    reading: ReadingOptions
    n_edges: int
    n_demonstrations: int
    sums: Sums
    sequences: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    links: Mapping[PairLink, int] = field(default_factory=dict)
    is_noisy: bool = False
    """True when noise was added: the sums are near what demonstrations have, and no longer tied to each other."""
    joining: tuple[tuple[tuple[float, ...], ...], ...] = ()
    """Weights of the evidence in a prior, for a ranker with few demonstrations of its own; fitted on public ones.

    Mean, spread and weights of candidates, and the same of how sure to be (`learning.versions.drafting`).
    """

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the features; only statistics with the same one can be added."""
        return f"{self.encoder}; {fingerprint_of(self.reading, self.n_inputs)}"

    @cached_property
    def digest(self) -> str:
        """Return a hash that is equal for equal statistics alone."""
        said = (self.fingerprint, self.n_edges, self.n_demonstrations, self.is_noisy, self.joining)
        found = hashlib.sha256(repr(said).encode())
        found.update(repr((self.sums.outputs, self.sums.n_rows)).encode())
        for part in (self.sums.gram, self.sums.moments, self.sums.mass):
            found.update(np.ascontiguousarray(part).data)
        found.update(repr((sorted(self.sequences.items()), sorted(self.links.items()))).encode())
        return found.hexdigest()

    @property
    def tools(self) -> tuple[str, ...]:
        """Return every tool that is named."""
        return tuple(sorted({tool for sequence in self.sequences for tool in sequence}))

    def plus(self, other: Statistics, sign: int = 1) -> Statistics:
        """Add another's statistics; with sign −1, remove them as if they had never been added.

        Raises:
            StatisticsError: Of other features; or more would be taken away than there is.
        """
        if self.fingerprint != other.fingerprint:
            raise StatisticsError(
                f"statistics over {other.fingerprint!r} cannot be added to those over {self.fingerprint!r}; "
                "both need the same encoder and profile"
            )
        sequences, links = Counter(self.sequences), Counter(self.links)
        for name, n in other.sequences.items():
            sequences[name] += sign * n
        for link, n in other.links.items():
            links[link] += sign * n
        n_demonstrations = self.n_demonstrations + sign * other.n_demonstrations
        if n_demonstrations < 0 or any(n < 0 for n in (*sequences.values(), *links.values())):
            raise StatisticsError("more would be taken away than was added; nothing was changed")
        return replace(
            self,
            n_edges=max(self.n_edges + sign * other.n_edges, 0),
            n_demonstrations=n_demonstrations,
            sums=self.sums.plus(other.sums, sign),
            sequences={name: n for name, n in sorted(sequences.items()) if n},
            links={link: n for link, n in sorted(links.items()) if n},
            is_noisy=self.is_noisy or other.is_noisy,
            joining=(),
        )

    def minus(self, other: Statistics) -> Statistics:
        """Subtract another's statistics."""
        return self.plus(other, -1)

    def seen_by(self, reading: ReadingOptions) -> Statistics:
        """Return what an edge with fewer features would have summed from the same requests, to the last bit.

        Raises:
            StatisticsError: Its features are no image of these.
        """
        if reading == self.reading:
            return self
        mine = self.reading
        sizes = ((mine.n_cosines, reading.n_cosines), (mine.n_words, reading.n_words))
        if mine.seed != reading.seed or reading.times % mine.times or any(a < b or a % b for a, b in sizes):
            raise StatisticsError(
                f"features {fingerprint_of(reading, self.n_inputs)!r} are no part of {self.fingerprint!r}; "
                "only profiles nested in it can use its statistics"
            )
        n_vector = 1 + self.n_inputs
        blocks = (
            (n_vector, n_vector, 1, 0),
            (mine.n_words, reading.n_words, 1, 1),
            (mine.n_cosines, reading.n_cosines, reading.times // mine.times, 0),
        )
        return replace(self, reading=reading, sums=self.sums.image(blocks))

    def of_tools(self, tools: Collection[str]) -> bool:
        """Return whether only these tools are named."""
        return set(self.tools) <= set(tools)


def merged(several: Iterable[Statistics]) -> Statistics:
    """Return the sum: as if one ranker had learned the demonstrations of all, in whatever order.

    Raises:
        StatisticsError: None were given, or their features differ.
    """
    total: Statistics | None = None
    for one in several:
        total = one if total is None else total.plus(one)
    if total is None:
        raise StatisticsError("there are no statistics to merge; give at least one")
    return total


def summed(
    reader: Reader, taught: Mapping[str, Taught], public: Collection[str], most: int | None = None
) -> Statistics:
    """Sum demonstrations whose every tool is in `public`; the others leave no trace in the statistics.

    Args:
        most: Greatest number of demonstrations, chosen by lot from their ids: it bounds what one edge counts for.
    """
    allowed = frozenset(public)
    ids = sorted(
        (id for id, one in taught.items() if _is_bounded(one) and allowed.issuperset(one.sequence)), key=digest
    )
    chosen = [taught[id] for id in ids]
    rows = reader.features([one.reading for one in chosen])
    owner = np.repeat(np.arange(len(chosen)), [len(one.reading.vectors) for one in chosen])
    is_long = np.zeros(len(chosen), dtype=np.bool_)
    is_long[owner[_length(rows) > MOST_LENGTH]] = True
    kept = np.flatnonzero(~is_long)[:most]
    chosen, rows = [chosen[k] for k in kept], rows[np.isin(owner, kept)]
    links: Counter[PairLink] = Counter()
    for one in chosen:
        links.update(pair_links(one))
    return Statistics(
        reader.encoder_name,
        reader.dim,
        reader.options,
        1,
        len(chosen),
        _sums(rows, [row for one in chosen for row in rows_of(one)]),
        dict(sorted(Counter(one.sequence for one in chosen).items())),
        dict(sorted(links.items())),
    )


def _is_bounded(one: Taught) -> bool:
    return len(one.sequence) <= MOST_STEPS and len(one.act_tools) <= MOST_ACTS


def _length(rows: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the squared lengths of rows, in units of UNIT²."""
    return np.asarray((rows.astype(np.float64) ** 2).sum(axis=1) / UNIT**2, dtype=np.float64)


def pair_links(one: Taught) -> list[PairLink]:
    """Return the link of every two steps of a plan."""
    pairs = combinations(range(len(one.sequence)), 2)
    return [(one.sequence[a], one.sequence[b], b == a + 1, (a, b) in one.links) for a, b in pairs]


def _sums(features: NDArray[np.floating], wanted: Sequence[Iterable[str]]) -> Sums:
    rows = np.asarray(features, dtype=np.float64)
    names = sorted({name for mine in wanted for name in mine})
    place = {name: k for k, name in enumerate(names)}
    targets = np.zeros((len(rows), len(names)))
    for row, mine in enumerate(wanted):
        targets[row, [place[name] for name in set(mine)]] = 1.0
    upper = np.triu_indices(rows.shape[1])
    gram = (rows.T @ rows)[upper].astype(np.int64)  # sums of whole numbers below 2⁵³ are exact
    moments = (rows.T @ targets).astype(np.int64)
    return Sums(tuple(names), len(rows), gram, moments, targets.sum(axis=0).astype(np.int64))


# ── Statistics codec ──────────────────────────────────────────────────────────────────────────────────────
# Encodes statistics as bytes: what an edge sends, a service keeps, and a prior is. `docs/reference/statistics.md`.
#
# Eight bytes of magic, the header's length, the header (JSON), then the parts, one after the other: whole numbers of
# the smallest type that holds them, low bytes first, then the next, deflated. Nothing in it is run or unpickled.
#
# Covered, before anything large is made: the writer is not trusted; the header's fields, sizes and names; other
# features than expected; parts whose size differs from what the header says (a zip bomb stops at the size said, and
# that is bounded); sums that no demonstrations can have (`faults_of`). NaN cannot be written. Not covered: wrong sums
# that some demonstrations could have (`hearth_cloud.statistics.robust_merge`).

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


# ── Vector layout ─────────────────────────────────────────────────────────────────────────────────────────
# Lays out statistics as one row of numbers, in an order that many edges agree on beforehand.
#
# For sums of which only the total is seen, each number needs the same place on every edge. So the names come from a
# public list of tool sequences, and demonstrations with other sequences are left out. All that follows from the
# sequences (outputs, tools, pairs) is derived here and never sent.

Row = NDArray[np.uint64]
"""Whole numbers modulo 2⁶⁴."""


@dataclass(frozen=True)
class Layout:
    """Places of all numbers, in the order in which they are listed here."""

    encoder: str
    n_inputs: int
    reading: ReadingOptions
    sequences: tuple[Sequence_, ...]
    """Tool sequences, sorted."""

    @property
    def fingerprint(self) -> str:
        return f"{self.encoder}; {fingerprint_of(self.reading, self.n_inputs)}"

    @cached_property
    def tools(self) -> tuple[str, ...]:
        return tuple(sorted({tool for sequence in self.sequences for tool in sequence}))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """Return the names of all outputs; how often those in `derived` are wanted follows from the sequences."""
        return tuple(sorted({*self.derived, *(f"{kind} {tool}" for kind in "at" for tool in self.tools)}))

    @cached_property
    def derived(self) -> tuple[str, ...]:
        return tuple(sorted(masses_of(dict.fromkeys(self.sequences, 1))))

    @cached_property
    def counted(self) -> tuple[str, ...]:
        return tuple(output for output in self.outputs if output not in set(self.derived))

    @cached_property
    def links(self) -> tuple[PairLink, ...]:
        pairs = {
            (first, sequence[b], b == a + 1)
            for sequence in self.sequences
            for a, first in enumerate(sequence)
            for b in range(a + 1, len(sequence))
        }
        return tuple((a, b, is_next, is_used) for a, b, is_next in sorted(pairs) for is_used in (False, True))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of: numbers of demonstrations and rows, A, B, masses that sequences do not say, sequences, links."""
        d = self.reading.n_features(self.n_inputs)
        counts = (len(self.counted), len(self.sequences), len(self.links))
        return 2, d * (d + 1) // 2, d * len(self.outputs), *counts

    @property
    def n_values(self) -> int:
        return sum(self.sizes)

    def over(self, statistics: Statistics) -> Statistics:
        """Return the statistics with a place for every name listed, and none for others."""
        if statistics.fingerprint != self.fingerprint:
            raise StatisticsError(f"statistics over {statistics.fingerprint!r} do not fit {self.fingerprint!r}")
        s = statistics
        return Statistics(
            s.encoder,
            s.n_inputs,
            s.reading,
            s.n_edges,
            s.n_demonstrations,
            _wide(s.sums, self.outputs),
            {sequence: s.sequences.get(sequence, 0) for sequence in self.sequences},
            {link: s.links.get(link, 0) for link in self.links},
            s.is_noisy,
        )

    def counted_mass(self, wide: Statistics) -> Whole:
        """Return how often each output in `counted` is wanted, of statistics over this layout."""
        is_counted = np.isin(np.array(self.outputs), np.array(self.counted))
        return np.asarray(wide.sums.mass[is_counted], dtype=np.int64)

    def row(self, statistics: Statistics) -> Row:
        """Return the row. Raises: StatisticsError: Of other features, or with demonstrations that have no place."""
        if not statistics.sequences.keys() <= set(self.sequences):
            raise StatisticsError("some demonstrations have sequences that are not listed; sum without them")
        wide = self.over(statistics)
        parts = (
            np.array([wide.n_demonstrations, wide.sums.n_rows]),
            wide.sums.gram,
            wide.sums.moments.reshape(-1),
            self.counted_mass(wide),
            np.array(list(wide.sequences.values())),
            np.array(list(wide.links.values())),
        )
        return np.concatenate([np.asarray(part, dtype=np.int64) for part in parts]).view(np.uint64)

    def statistics(self, row: Row, n_edges: int) -> Statistics:
        """Return the statistics in `row`; not checked.

        Raises:
            StatisticsError: It has another length.
        """
        if row.shape != (self.n_values,):
            raise StatisticsError(f"a row of {self.n_values} numbers was expected, got {row.shape}")
        parts = np.split(row.view(np.int64), np.cumsum(self.sizes)[:-1])
        (n, n_rows), gram, moments, counted, counts, links = parts
        sequences = {one: int(k) for one, k in zip(self.sequences, counts) if k}
        mass = masses_of(sequences) | {output: int(k) for output, k in zip(self.counted, counted) if k}
        used = np.array([output in mass for output in self.outputs], dtype=np.bool_)
        outputs = tuple(output for output in self.outputs if output in mass)
        wanted = np.array([mass[output] for output in outputs], dtype=np.int64)
        return Statistics(
            self.encoder,
            self.n_inputs,
            self.reading,
            n_edges,
            int(n),
            Sums(outputs, int(n_rows), gram, moments.reshape(-1, len(self.outputs))[:, used], wanted),
            sequences,
            {link: int(k) for link, k in zip(self.links, links) if k},
        )


def masses_of(sequences: Mapping[Sequence_, int]) -> dict[str, int]:
    """Return how often each link and each size is wanted, given how often each sequence was taught.

    Tools are wanted by acts, too, of which sequences say nothing.
    """
    found: dict[str, int] = {}
    for sequence, n in sequences.items():
        for output in targets_of(sequence):
            if not output.startswith("t "):
                found[output] = found.get(output, 0) + n
    return found


def _wide(sums: Sums, outputs: tuple[str, ...]) -> Sums:
    place = {output: k for k, output in enumerate(sums.outputs)}
    known = [k for k, output in enumerate(outputs) if output in place]
    columns = [place[outputs[k]] for k in known]
    moments: Whole = np.zeros((sums.n_features, len(outputs)), dtype=np.int64)
    mass: Whole = np.zeros(len(outputs), dtype=np.int64)
    moments[:, known], mass[known] = sums.moments[:, columns], sums.mass[columns]
    return Sums(outputs, sums.n_rows, sums.gram, moments, mass)


@cache
def public_sequences() -> tuple[Sequence_, ...]:
    """Return the tool sequences of the demonstrations shipped with every Hearth, which are public."""
    with (files("hearth.data") / "demonstrations.jsonl").open(encoding="utf-8") as lines:
        plans = (json.loads(line).get("task_nodes", ()) for line in lines if line.strip())
        found = {tuple(str(node["task"]) for node in nodes) for nodes in plans}
    return tuple(sorted(one for one in found if 0 < len(one) <= MOST_STEPS))


@cache
def public_tools() -> frozenset[str]:
    """Return the tools of the public sequences: an owner's own tools, whatever their names, are never among them."""
    return frozenset(tool for sequence in public_sequences() for tool in sequence)


# ── Prior file ────────────────────────────────────────────────────────────────────────────────────────────
# Stores a prior as a file in the folder of learned state: named by its content, written at once or not at all.
#
# Beside it lie the heads that plan at home with it (`planning.tool_heads`): those that ship, joined with the prior's
# sums. They are made when a prior is taken, and again (`renew_prior`) where they are missing or of other shipped
# heads. Sums over fewer features than the heads have, of a smaller profile, cannot be joined: they count where files
# of requests are drafted.


def keep_prior(folder: Path, prior: Statistics, heads: HeadPrior | None = None) -> str:
    """Write a prior to `folder` unless it is there, with the heads joined from it, and return its file's name.

    Raises:
        StoreFullError, StoreError: It cannot be written; the folder is as before.
    """
    name = f"prior-{prior.digest[:16]}"
    path = folder / name
    if not path.exists():
        with replacing(path, "write the prior to") as file:
            file.write(encode(prior))
    if heads is not None:
        _keep_heads(folder, name, heads)
    return name


def read_prior(path: Path) -> Statistics:
    """Read the statistics in a file: a prior that was fetched, or one kept here.

    Raises:
        StoreError: It cannot be read. StatisticsError: It is no such file, or damaged.
    """
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise StoreError(f"cannot read a prior from {str(path)!r}: {error.strerror}") from None


def prior_joined(prior: Statistics, encoder: Encoder) -> HeadPrior | None:
    """Return the shipped heads joined with a prior's sums; None where these are over other features or texts."""
    base = shipped_prior()
    is_whole = prior.reading == ReadingOptions() and prior.n_inputs == encoder.dim
    if base is None or not is_whole or not base.fits(encoder):
        return None
    asked = [column for column, output in enumerate(prior.sums.outputs) if output.startswith("a ")]
    outputs = [prior.sums.outputs[column].removeprefix("a ") for column in asked]
    gram = (prior.sums.square() / HALF**2).astype(np.float32)
    moments = (prior.sums.moments[:, asked] / HALF).astype(np.float32)
    return replace(base.joined(outputs, gram, moments), base=base.digest)


def renew_prior(folder: Path, name: str, encoder: Encoder) -> None:
    """Join the heads of a prior again where they are missing, or of other heads than those that ship now.

    Raises:
        StoreError: They cannot be written.
    """
    base = shipped_prior()
    is_due = bool(name) and base is not None and base.fits(encoder) and tool_heads.read_taken(folder, name) is None
    if not is_due:
        return
    with contextlib.suppress(StatisticsError):
        if (folder / name).exists() and (made := prior_joined(read_prior(folder / name), encoder)) is not None:
            _keep_heads(folder, name, made)


def _keep_heads(folder: Path, name: str, heads: HeadPrior) -> None:
    with replacing(tool_heads.path_of(folder, name), "write the heads to") as file:
        heads.write(file)
