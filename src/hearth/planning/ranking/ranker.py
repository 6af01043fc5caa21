"""The ranker, solved rather than trained, that ranks tool sequences for a request; its options and its file."""

from __future__ import annotations

import copy
import io
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hearth.atomic_files import replacing
from hearth.errors import StatisticsError, StoreCorruptError, StoreError, StoreVersionError, ToolError
from hearth.models.ridge import UNIT, Heads, packed, unpacked
from hearth.planning.ranking.features import (
    Counts,
    Evidence,
    FloatRows,
    Grounds,
    Neighbourhood,
    Reader,
    Reading,
    ReadingOptions,
    Sequence_,
    Taught,
    asked_by_acts,
    candidates,
    features,
    possible,
    rows_of,
    step_texts,
    taught_of,
)
from hearth.planning.ranking.sufficient_statistics import PairLink, Statistics, pair_links, summed
from hearth.planning.ranking.weight_fitting import (
    LEAST_TAUGHT,
    N_CHOSEN,
    UNTAUGHT,
    Case,
    Joining,
    Lessons,
    Outcome,
    ToolTexts,
    View,
    ViewOptions,
    Weigher,
    as_taught,
    chance,
    fit,
    joining_of,
    least_risk,
    one_by_one,
    overlap,
    sureness_signs,
    tool_name,
    tool_text,
)
from hearth.protocols import Encoder, Proposal, Proposer
from hearth.storage.database import opened_bytes, sealed_bytes
from hearth.types import Demonstration, ToolSpec

# ── Ranker options ────────────────────────────────────────────────────────────────────────────────────────
# Defines the options of the ranker: its features, its ridge penalties, how it weighs evidence; and those by device.
#
# `[learning] profile` in hearth.toml chooses a device profile. The features of a smaller profile are an exact image
# of a larger one's (`ReadingOptions`), so sums made on any device serve every smaller one, to the last bit; a prior
# for small devices uses what all devices learned.


@dataclass(frozen=True, slots=True)
class RankerOptions:
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    ridge: float = 0.1
    n_free: int = 15
    """Number of new combinations proposed beside known ones."""
    use_heads: bool = True
    use_neighbours: bool = True
    n_fit: int = 800
    """Number of demonstrations from which the combining weights are fitted."""
    text_trust: float = 3.0
    """Number of uses of a tool that count as much as what its text suggests."""
    hides_tools: bool = True
    """True to fit on tools hidden for the purpose, too: better with new tools, and takes several times as long."""
    weight_bits: int = 7
    """Significant bits of the heads' weights; fewer make the ranker's file smaller."""


ProfileName = Literal["small", "medium", "large"]

PROFILES: Mapping[ProfileName, RankerOptions] = MappingProxyType(
    {
        "small": RankerOptions(reading=ReadingOptions(128, 256), n_fit=200, hides_tools=False, weight_bits=5),
        "medium": RankerOptions(reading=ReadingOptions(256, 1024), n_fit=400, hides_tools=False, weight_bits=6),
        "large": RankerOptions(),
    }
)
"""`small`: 5 MB of sums while learning, for a board with 512 MB; `medium`: 22 MB; `large`: 70 MB."""


# ── Ranker file ───────────────────────────────────────────────────────────────────────────────────────────
# Stores a ranker as one file: all it was taught and the weights solved from it, written at once or not at all.
#
# Statistics are left out: they are sums over the readings kept, and are restored from them to the last bit. Requests
# are left out too; what is kept of them are rounded vectors and hashed words.

FILE_NAME = "student.npz"
"""As the first version of this file was called, so that homes and models of then are still read."""
FORMAT_VERSION = 4
_NOTHING = np.zeros((0, 0), dtype=np.int16)
Solved = tuple[Sequence[str], FloatRows]
"""Names of outputs, and weights as `Heads.solved` gives them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """All parts of a ranker, except the encoder and the tools on offer."""

    options: RankerOptions
    fingerprint: str
    """Fingerprint of the reader."""
    taught: Mapping[str, Taught]
    heads: Solved
    text_vectors: Mapping[str, FloatRows]
    """Vectors of the tools' texts."""
    joining: Sequence[Weigher | None] | None
    n_since_fit: int


def write_ranker(folder: Path, kept: Kept) -> None:
    """Write a ranker to `folder`. Raises: StoreFullError, StoreError: The folder is as before."""
    parts, header = _parts(kept)
    parts["header"] = np.frombuffer(json.dumps(header).encode("utf-8", "surrogatepass"), dtype=np.uint8)
    path = folder / FILE_NAME
    packed = io.BytesIO()
    np.savez(packed, allow_pickle=False, **parts)
    with replacing(path, "save the ranker to") as file:
        file.write(sealed_bytes(path, packed.getvalue()))


def read_ranker(folder: Path) -> Kept:
    """Read a ranker. Raises: StoreError, StoreCorruptError, StoreVersionError."""
    path = folder / FILE_NAME
    try:
        raw = opened_bytes(path)
        with np.load(io.BytesIO(raw), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes().decode("utf-8", "surrogatepass"))
            if header["version"] != FORMAT_VERSION:
                raise StoreVersionError(
                    f"{str(path)!r} has version {header['version']!r}, this Hearth reads {FORMAT_VERSION} "
                    "alone; learn again from the demonstrations"
                )
            return _kept(header, {name: _loosened(file[name], header["shapes"][name]) for name in _PARTS})
    except OSError as error:
        raise StoreError(f"cannot read a ranker from {str(path)!r}: {error.strerror or error}") from None
    except (ToolError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise StoreCorruptError(
            f"{str(path)!r} is damaged ({error}); remove it and learn again from the demonstrations"
        ) from None


def check_fingerprint(folder: Path, found: str, wanted: str) -> None:
    """Compare the fingerprints. Raises: StoreVersionError: the file's readings were made otherwise."""
    if found != wanted:
        raise StoreVersionError(
            f"{str(folder / FILE_NAME)!r} was learnt over {found!r}, requests are now read as {wanted!r}; "
            "learn again from the demonstrations"
        )


_PARTS = ("vectors", "words", "tools", "weights")


def _parts(kept: Kept) -> tuple[dict[str, NDArray[np.uint8]], dict[str, object]]:
    taught = dict(sorted(kept.taught.items()))
    exponent, halves = packed(kept.heads[1])
    arrays = {
        **_encoded([one.reading for one in taught.values()]),
        "tools": np.array(list(kept.text_vectors.values()), dtype=np.float32).view(np.int16),
        "weights": _key(halves),
    }
    header: dict[str, object] = {
        "version": FORMAT_VERSION,
        "shapes": {name: array.shape for name, array in arrays.items()},
        "exponent": exponent,
        "options": asdict(kept.options),
        "fingerprint": kept.fingerprint,
        **_lessons(taught),
        "outputs": list(kept.heads[0]),
        "tool_texts": list(kept.text_vectors),
        "joining": [_listed(weigher) for weigher in kept.joining] if kept.joining is not None else None,
        "n_since_fit": kept.n_since_fit,
    }
    return {name: _squeezed(array) for name, array in arrays.items()}, header


def _encoded(readings: Sequence[Reading]) -> dict[str, NDArray[np.int16]]:
    """Put together the encoder's vectors of the requests that are taught."""
    return {
        "vectors": np.concatenate([reading.vectors for reading in readings]) if readings else _NOTHING,
        "words": np.concatenate([reading.words for reading in readings]) if readings else _NOTHING,
    }


def _lessons(taught: Mapping[str, Taught]) -> dict[str, object]:
    """Write down what is taught, each tool as its place among the names."""
    names = sorted({tool for one in taught.values() for tool in one.sequence})
    place = {name: k for k, name in enumerate(names)}
    return {
        "names": names,
        "ids": list(taught),
        "sequences": [[place[tool] for tool in one.sequence] for one in taught.values()],
        "links": [sorted(one.links) for one in taught.values()],
        "acts": [[[place[tool] for tool in tools] for tools in one.act_tools] for one in taught.values()],
        "asked": [sorted(place[tool] for tool in one.asked) for one in taught.values()],
    }


def _kept(header: Mapping[str, Any], parts: Mapping[str, NDArray[np.int16]]) -> Kept:
    options = RankerOptions(**{**header["options"], "reading": ReadingOptions(**header["options"]["reading"])})
    return Kept(
        options,
        header["fingerprint"],
        dict(sorted(_taught(header, parts).items())),
        _weights(header["outputs"], header["exponent"], parts["weights"]),
        dict(zip(header["tool_texts"], parts["tools"].view(np.float32), strict=True)),
        [_weigher(listed) for listed in header["joining"]] if header["joining"] is not None else None,
        int(header["n_since_fit"]),
    )


def _taught(header: Mapping[str, Any], parts: Mapping[str, NDArray[np.int16]]) -> dict[str, Taught]:
    names, vectors, words = header["names"], parts["vectors"], parts["words"]
    taught, start = {}, 0
    for k, id in enumerate(header["ids"]):
        act_tools = tuple(tuple(names[place] for place in tools) for tools in header["acts"][k])
        end = start + len(act_tools) + (len(act_tools) > 1)
        if end > min(len(vectors), len(words)):
            raise ValueError("parts do not fit each other")
        sequence = tuple(names[place] for place in header["sequences"][k])
        links = frozenset((int(a), int(b)) for a, b in header["links"][k])
        asked = frozenset(names[place] for place in header["asked"][k])
        taught[id] = Taught(sequence, links, Reading(vectors[start:end], words[start:end]), act_tools, asked)
        start = end
    return taught


# ── Weights ───────────────────────────────────────────────────────────────────────────────────────────────


def _weights(outputs: Sequence[str], exponent: int, keys: NDArray[np.int16]) -> Solved:
    if keys.ndim != 2 or keys.shape[1] != len(outputs):
        raise ValueError("parts do not fit each other")
    bits = np.where(keys < 0, np.abs(keys.astype(np.int32)) | 0x8000, keys).astype(np.uint16)
    return outputs, unpacked(exponent, bits.view(np.float16))


def _key(halves: NDArray[np.float16]) -> NDArray[np.int16]:
    """Return weights as whole numbers in the order of their values, which pack better."""
    bits = halves.view(np.uint16).astype(np.int32)
    return np.where(bits & 0x8000, -(bits & 0x7FFF), bits).astype(np.int16)


def _listed(weigher: Weigher | None) -> list[list[float]] | None:
    return None if weigher is None else [part.tolist() for part in (weigher.mean, weigher.spread, weigher.weights)]


def _weigher(listed: Sequence[Sequence[float]] | None) -> Weigher | None:
    return None if listed is None else Weigher(*(np.array(part, dtype=np.float64) for part in listed))


def _squeezed(values: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Pack the low bytes, then the high bytes: the latter are nearly all the same."""
    raw = np.ascontiguousarray(values).astype("<i2").view(np.uint8).reshape(-1, 2)
    return np.frombuffer(zlib.compress(raw.T.tobytes(), 1), dtype=np.uint8)


def _loosened(part: NDArray[np.uint8], shape: Sequence[int]) -> NDArray[np.int16]:
    raw = np.frombuffer(zlib.decompress(part.tobytes()), dtype=np.uint8).reshape(2, -1)
    return np.ascontiguousarray(raw.T).view("<i2").astype(np.int16).reshape(shape)


# ── Ranker ────────────────────────────────────────────────────────────────────────────────────────────────
# Learns from demonstrations exactly and ranks plans: solved heads and remembered neighbours, weighed together.
#
# Learning is order-free and reversible: the heads are solved from sums of whole numbers (`models.ridge`), the
# neighbours are the demonstrations themselves, and the few weights that combine the two are fitted from what is
# remembered now. So a ranker taught in any order, or having forgotten something, plans as one taught the same things
# at once. A trained model (`protocols.Proposer`) may be adopted: its proposals are weighed beside the rest, as far as
# they proved right. Tools unlike anything taught are scored by their text alone. Covered: which tools, in what order,
# linked how, how sure. Not covered: arguments (`language.values.slots` and `planning.arguments.binding` fill them),
# and requests that no tool serves.

__all__ = ["Candidate", "Proposal", "Proposer", "Ranker", "Ranking"]

_STALE_SHARE = 0.1
_MANY = 64
"""Number of changed demonstrations above which the neighbourhood is rebuilt."""
_N_AT_ONCE = 1024
"""Demonstrations summed at once, so that the rows of ten thousand take no more memory than these."""
_LEAST_OWN = 40
"""With fewer own demonstrations, a prior's weights combine the evidence, if it has any."""
_N_NAMED = 3
"""Number of demonstrations named as what a plan rests on."""


class Candidate(NamedTuple):
    tools: Sequence_
    """Tools of the plan, in order."""
    links: tuple[tuple[int, int], ...]
    """Pairs of steps of which the first feeds or precedes the second."""
    probability: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """Plans for one request: the chosen one first, then by probability."""

    candidates: tuple[Candidate, ...]
    confidence: float
    """Calibrated probability that the first has the right set of tools."""
    rests_on: tuple[str, ...]
    """Ids of the demonstrations nearest to the request."""

    def expected_f1(self) -> float:
        """Return the expected share of right tools in the first, under the probabilities of all; 0 without any."""
        return sum(one.probability * overlap(self.candidates[0].tools, one.tools) for one in self.candidates)


class Ranker:
    """The learning ranker: heads, neighbours and, once adopted, a trained model. Not thread-safe."""

    name = "ranker"

    def __init__(
        self,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        options: RankerOptions | None = None,
        graph: frozenset[tuple[str, str]] | None = None,
    ) -> None:
        """Start with the tools and nothing taught.

        Args:
            graph: Links that are possible; None allows any.
        """
        self.options = options or RankerOptions()
        self._reader = Reader(encoder, self.options.reading)
        self._graph = graph
        self._taught: dict[str, Taught] = {}
        self._counts = Counts()
        self._pair_links: Counter[tuple[str, str, bool, bool]] = Counter()
        self._text_vectors: dict[str, FloatRows] = {}
        self._prior: Statistics | None = None
        self._proposer: Proposer | None = None
        self._held: dict[str, Proposal] = {}
        self._joining: Joining | None = None
        self._neighbourhood: Neighbourhood | None = None
        self._n_since_fit = 0
        self._start_heads()
        self.set_tools(tools)

    def _start_heads(self) -> None:
        o, fingerprint = self.options, self._reader.fingerprint
        if self._prior is not None and o.use_heads:
            self.heads = self._prior.sums.heads(o.ridge, fingerprint)
        else:
            self.heads = Heads(self._reader.n_features, ridge=o.ridge, fingerprint=fingerprint)
        self.heads.n_bits = o.weight_bits

    # ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────

    def set_tools(self, tools: Mapping[str, ToolSpec]) -> None:
        """Offer these tools from now on; new ones can be chosen at once, by their text."""
        self.tools = dict(tools)
        texts = [form(spec) for form in (tool_text, tool_name) for spec in tools.values()]
        fresh = [text for text in dict.fromkeys(texts) if text not in self._text_vectors]
        known = {**self._text_vectors, **dict(zip(fresh, self._reader.vectors(fresh)))}
        self._text_vectors = {text: known[text] for text in texts}
        self.__dict__.pop("_tool_texts", None)
        self._changed()

    def offering(self, tools: Mapping[str, ToolSpec], text_vectors: Mapping[str, FloatRows]) -> Ranker:
        """Return the same ranker with other tools on offer, sharing all it learned: neither may be taught afterwards.

        Args:
            text_vectors: Vectors of texts of tools that are known already, as `text_vectors` gives them.
        """
        self.fit()
        self._view  # noqa: B018 what both share is made before they part
        other = copy.copy(self)
        other._text_vectors = {**self._text_vectors, **text_vectors}
        other.set_tools(tools)
        return other

    @property
    def text_vectors(self) -> Mapping[str, FloatRows]:
        """Return the vectors of the texts of the tools on offer."""
        return self._text_vectors

    def _changed(self) -> None:
        """Drop what follows from tools and demonstrations; it is rebuilt when next needed."""
        self.__dict__.pop("_view", None)

    # ── Learning ──────────────────────────────────────────────────────────────────────────────────────────

    def __len__(self) -> int:
        return len(self._taught)

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of the demonstrations learned, sorted."""
        return tuple(sorted(self._taught))

    def read(self, texts: Sequence[str]) -> list[Reading]:
        """Read requests; hand the readings to `learn` and `rank_readings` when they are needed more than once."""
        return self._reader.read(texts)

    def step_vectors(self, demonstrations: Sequence[Demonstration]) -> list[FloatRows]:
        """Return vectors of each step's text, else of its tool's text; for `learn`."""
        texts = [step_texts(d, self.tools) for d in demonstrations]
        flat = self._reader.vectors([text for mine in texts for text in mine])
        ends = np.cumsum([len(mine) for mine in texts])
        return [flat[end - len(mine) : end] for mine, end in zip(texts, ends)]

    def learn(
        self,
        demonstrations: Sequence[Demonstration],
        readings: Sequence[Reading] | None = None,
        step_vectors: Sequence[FloatRows] | None = None,
    ) -> None:
        """Learn demonstrations; one with a known id replaces the older, of one id given twice the last counts.

        Empty plans are ignored; a tool that is not on offer is learned and waits until it is.

        Args:
            readings, step_vectors: As `read` and `step_vectors` give them; made here when left out.
        """
        readings = readings if readings is not None else self.read([d.request for d in demonstrations])
        vectors = step_vectors if step_vectors is not None else self.step_vectors(demonstrations)
        fresh: dict[str, Taught] = {}
        for demonstration, reading, mine in zip(demonstrations, readings, vectors):
            if demonstration.plan.steps:
                fresh[demonstration.id] = taught_of(demonstration, reading, asked_by_acts(demonstration, reading, mine))
        self._take_back([id for id in fresh if id in self._taught])
        self._learn_anew()
        self._taught.update(fresh)
        self._change(fresh, 1)
        self._n_since_fit += len(fresh)
        if self._n_since_fit > _STALE_SHARE * len(self._taught):
            self._joining = None

    def know(self, taught: Mapping[str, Taught]) -> None:
        """Learn what was read before, by id, over the same features; known ids are ignored."""
        fresh = {id: taught[id] for id in sorted(taught.keys() - self._taught.keys())}
        if not fresh:
            return
        self._learn_anew()
        self._taught.update(fresh)
        self._change(fresh, 1)
        self._joining = None

    def blank(self) -> Ranker:
        """Return a ranker with the same options that was taught nothing."""
        return Ranker(self._reader.encoder, self.tools, self.options, self._graph)

    def remove(self, *ids: str) -> None:
        """Forget demonstrations: the ranker is then as if it had never seen them. Unknown ids are ignored."""
        known = [id for id in dict.fromkeys(ids) if id in self._taught]
        self._take_back(known)
        if known:  # the combining weights, too, must be as if it had never been seen
            self._joining = None

    def _take_back(self, ids: Sequence[str]) -> None:
        if ids:
            self._learn_anew()
        gone = {id: self._taught.pop(id) for id in ids}
        self._change(gone, -1)
        for id in ids:
            self._held.pop(id, None)

    def _change(self, changed: Mapping[str, Taught], sign: int) -> None:
        if not changed:
            return
        self._changed()
        if len(changed) > _MANY:
            self._neighbourhood = None
        if self._neighbourhood is not None and sign > 0:
            self._neighbourhood.add(changed)
        elif self._neighbourhood is not None:
            self._neighbourhood.drop(changed)
        for one in changed.values():
            self._count(one, sign)
        if self.options.use_heads:
            self._move_heads(list(changed.values()), sign)

    def _count(self, one: Taught, sign: int) -> None:
        self._counts.add(one.sequence, sign)
        for link in pair_links(one):
            self._count_link(link, sign)

    def _count_link(self, link: PairLink, n: int) -> None:
        self._pair_links[link] += n
        if not self._pair_links[link]:
            del self._pair_links[link]

    def _move_heads(self, taught: Sequence[Taught], sign: int) -> None:
        change = self.heads.learn if sign > 0 else self.heads.remove
        for start in range(0, len(taught), _N_AT_ONCE):
            part = taught[start : start + _N_AT_ONCE]
            change(self._reader.features([one.reading for one in part]), [row for one in part for row in rows_of(one)])

    def _learn_anew(self) -> None:
        """Restore the statistics of a loaded ranker, which has only solved weights, from its demonstrations."""
        if not self.heads.can_learn:
            self._start_heads()
            self._move_heads(list(self._taught.values()), 1)

    # ── What other devices know ───────────────────────────────────────────────────────────────────────────

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of its features, encoder included: only statistics with the same one can be taken."""
        return f"{self.encoder_name}; {self._reader.fingerprint}"

    @property
    def reader(self) -> Reader:
        """Return the reader that turns texts into its features."""
        return self._reader

    @property
    def encoder_name(self) -> str:
        return self._reader.encoder_name

    @property
    def prior(self) -> Statistics | None:
        """Return the prior it began with, beside its own demonstrations."""
        return self._prior

    def take_prior(self, prior: Statistics | None) -> None:
        """Use what others learned beside what was taught here, instead of the prior before; None uses no prior.

        The two are kept apart: forgetting one's own demonstrations, or the prior, leaves the other exactly.

        Raises:
            StatisticsError: It is over other features; nothing was changed.
        """
        self.check_prior(prior)
        if self.options.use_heads and self.heads.can_learn:
            self._move_prior(prior)
        self._count_prior(self._prior, -1)
        self._prior = prior
        self._count_prior(prior, 1)
        if self.options.use_heads and not self.heads.can_learn:
            self._start_heads()
            self._move_heads(list(self._taught.values()), 1)
        self._joining = None
        self._changed()

    def check_prior(self, prior: Statistics | None) -> None:
        """Raise a StatisticsError where a prior is over other features than the ranker's."""
        if prior is not None and prior.fingerprint != self.fingerprint:
            raise StatisticsError(
                f"the prior is over features {prior.fingerprint!r}, this ranker's are {self.fingerprint!r}; "
                "take one of the same encoder and profile"
            )

    def _move_prior(self, prior: Statistics | None) -> None:
        o, fingerprint = self.options, self._reader.fingerprint
        for one, change in ((prior, Heads.merge), (self._prior, Heads.part)):
            if one is not None:
                change(self.heads, one.sums.heads(o.ridge, fingerprint))

    def _count_prior(self, prior: Statistics | None, sign: int) -> None:
        if prior is None:
            return
        for sequence, n in prior.sequences.items():
            self._counts.add(sequence, sign * n)
        for link, n in prior.links.items():
            self._count_link(link, sign * n)

    def statistics(
        self, public: Collection[str], *, ids: Collection[str] | None = None, most: int | None = None
    ) -> Statistics:
        """Return what was taught here, as sums; never the prior. Args: as for `sufficient_statistics.summed`.

        Args:
            ids: Only these demonstrations.
        """
        mine = self._taught if ids is None else {id: self._taught[id] for id in self._taught.keys() & set(ids)}
        return summed(self._reader, mine, public, most)

    @classmethod
    def of_prior(cls, encoder: Encoder, options: RankerOptions, prior: Statistics) -> Ranker:
        """Return a ranker that plans by a prior alone and is not taught any more.

        It plans as after `take_prior`, is made in a third of the time and memory, and keeps a tenth of the prior.

        Raises:
            StatisticsError: It is over other features.
        """
        ranker = cls(encoder, {}, options)
        ranker.check_prior(prior)
        ranker._count_prior(prior, 1)
        ranker._prior = prior
        ranker.fit()
        if options.use_heads:
            fingerprint = ranker._reader.fingerprint
            ranker.heads = prior.sums.solved(options.ridge, fingerprint, options.weight_bits)
        ranker._prior = None  # its sequences and links are counted already
        ranker._changed()
        return ranker

    def settle(self) -> None:
        """Bring all weights up to date now rather than at some later request; seconds, for idle time."""
        if self.options.use_heads:
            self.heads.settle()
        if self._n_since_fit:
            self._joining = None
        self.fit()

    def renew(self) -> None:
        """Do as `settle`, but compute all weights from nothing; seconds, for idle time.

        The same demonstrations give the same weights to the last bit, in whatever order they came and whatever was
        forgotten since.
        """
        self._learn_anew()
        if self.options.use_heads:
            self.heads.renew()
        self._changed()
        self._joining = None
        self.fit()
        self._n_since_fit = 0

    def difference(self, other: Ranker) -> float:
        """Return the largest difference of two rankers' head weights, at feature length 1; inf for other outputs."""
        self._learn_anew()
        other._learn_anew()
        mine, theirs = self.heads, other.heads
        if set(mine.outputs) != set(theirs.outputs):
            return float("inf")
        place = {name: k for k, name in enumerate(theirs.outputs)}
        columns = np.array([place[name] for name in mine.outputs], dtype=np.int64)
        return float(np.abs(mine.weights - theirs.weights[:, columns]).max(initial=0.0) * UNIT)

    def adopt(self, proposer: Proposer | None, held: Mapping[str, Proposal]) -> None:
        """Weigh a trained model's proposals from now on; None stops it.

        Args:
            held: By demonstration id, what a model that was not trained on the demonstration proposes for it. How far
                proposals are trusted is fitted on these alone; with fewer than 20 they are not trusted at all.
        """
        self._proposer = proposer
        self._held = {id: held[id] for id in sorted(held.keys() & self._taught.keys())} if proposer else {}
        self._joining = None

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────

    def save(self, folder: Path) -> None:
        """Write everything to `folder`, at once or not at all; the loaded ranker plans the same to the last bit.

        Raises:
            StatisticsError: It rests on a prior or a trained model, which are kept elsewhere; nothing was written.
            StoreFullError: No space left; the folder is as before.
            StoreError: It cannot be written; the folder is as before.
        """
        if self._prior is not None or self._proposer is not None:
            raise StatisticsError("this ranker rests on a prior or a trained model; save it before it takes them")
        self.fit()
        write_ranker(
            folder,
            Kept(
                self.options,
                self._reader.fingerprint,
                self._taught,
                (self.heads.outputs, self.heads.solved()),
                self._text_vectors,
                (self._joining.weigher, self._joining.sureness, self._joining.strangers) if self._joining else None,
                self._n_since_fit,
            ),
        )

    @classmethod
    def load(
        cls,
        folder: Path,
        encoder: Encoder,
        tools: Mapping[str, ToolSpec],
        graph: frozenset[tuple[str, str]] | None = None,
    ) -> Ranker:
        """Load the ranker that `save` wrote, with its options.

        Raises:
            StoreError: Nothing was saved there, or it cannot be read.
            StoreCorruptError: Damaged.
            StoreVersionError: Of another version of Hearth, or learned with another encoder.
        """
        kept = read_ranker(folder)
        ranker = cls(encoder, {}, kept.options, graph)
        check_fingerprint(folder, kept.fingerprint, ranker._reader.fingerprint)
        ranker._text_vectors = dict(kept.text_vectors)
        ranker._taught = dict(kept.taught)
        for one in ranker._taught.values():
            ranker._count(one, 1)
        if kept.options.use_heads and ranker._taught:
            outputs, weights = kept.heads
            ranker.heads = Heads.of_solved(outputs, weights, ridge=kept.options.ridge, fingerprint=kept.fingerprint)
        ranker.set_tools(tools)
        ranker._n_since_fit = kept.n_since_fit
        joining = Joining(*kept.joining) if kept.joining and len(kept.joining) == 3 else None
        ranker._joining = joining if joining is not None and joining.fits() else None  # else fitted at first need
        return ranker

    # ── Planning ──────────────────────────────────────────────────────────────────────────────────────────

    def rank(self, text: str) -> Ranking:
        """Rank plans for one request; without any demonstration, by the tools' texts alone."""
        return self.rank_readings(self.read([text]))[0]

    def rank_readings(self, readings: Sequence[Reading]) -> list[Ranking]:
        """Rank plans for requests already read."""
        self.fit()  # does nothing unless the weights must be fitted
        proposals: Sequence[Proposal | None] = [None] * len(readings)
        if self._proposer is not None and self._is_trusting:
            proposals = self._proposer.propose([reading.request for reading in readings])
        return [self._ranking(evidence, ids) for evidence, ids in self._evidence(readings, proposals)]

    def rank_left_out(self, ids: Sequence[str]) -> list[Ranking]:
        """Rank plans for taught requests, each as if it alone had not been taught: how well it would be planned.

        Raises:
            KeyError: An id that was not taught.
        """
        self.fit()
        self._learn_anew()
        strangers = self._joining.strangers if self._joining else None
        rankings = []
        for case in one_by_one(self._lessons(), ids) if ids else ():
            evidence, nearest = self._view.evidence(case, strangers)
            rankings.append(self._ranking(evidence, self._named(nearest)))
        return rankings

    def nearest(self, reading: Reading, n: int, without: str | None = None) -> list[tuple[str, float]]:
        """Return the ids of the `n` demonstrations most similar to a request with their likeness, nearest first."""
        neighbourhood = self._view.neighbourhood
        hidden = np.array([id == without for id in neighbourhood.ids]) if without is not None else None
        rows, alike = neighbourhood.nearest(reading, n, hidden)
        return [(neighbourhood.ids[row], float(likeness)) for row, likeness in zip(rows, alike)]

    def taught(self, id: str) -> Taught:
        """Return what was learned from one demonstration. Raises: KeyError."""
        return self._taught[id]

    def taught_in(self, ids: Iterable[str]) -> dict[str, Taught]:
        """Return what was learned from some demonstrations, to be known elsewhere. Raises: KeyError."""
        return {id: self._taught[id] for id in ids}

    @property
    def _is_trusting(self) -> bool:
        return self._proposer is not None and len(self._held) >= LEAST_TAUGHT

    def outcomes(self, of: Sequence[Taught]) -> list[Outcome]:
        """Return the candidates for demonstrations that were not taught here."""
        found = []
        for (evidence, _), one in zip(self._evidence([t.reading for t in of], [None] * len(of)), of):
            grounds = Grounds(evidence, self._counts)
            choices = possible(candidates(grounds, self.options.n_free), self._graph)
            found.append(Outcome(one.sequence, choices, features(choices, grounds), evidence))
        return found

    def _ranking(self, evidence: Evidence, ids: tuple[str, ...]) -> Ranking:
        found, p = self._weighed(evidence)
        if not found:
            return Ranking((), 0.0, ())
        order = np.argsort(-p, kind="stable")[:N_CHOSEN]
        kept, chances = [found[i] for i in order.tolist()], p[order]
        first = least_risk(kept, chances)
        ranked = [first, *(i for i in range(len(kept)) if i != first)]
        sureness = self._joining.sureness if self._joining else None
        signs = sureness_signs(kept[first], found, p, evidence)
        sure = float(chance(sureness, signs[None])[0]) if sureness else float(chances[first])
        return Ranking(tuple(Candidate(kept[i], self._links_of(kept[i]), float(chances[i])) for i in ranked), sure, ids)

    def _weighed(self, evidence: Evidence) -> tuple[list[Sequence_], NDArray[np.float64]]:
        grounds = Grounds(evidence, self._counts)
        found = possible(candidates(grounds, self.options.n_free), self._graph)
        if not found:
            return [], np.zeros(0)
        weigher = self._joining.weigher if self._joining else None
        p = (weigher or UNTAUGHT).probabilities(features(found, grounds))
        return found, as_taught(found, p, evidence) if evidence.proposal is not None else p

    def _links_of(self, sequence: Sequence_) -> tuple[tuple[int, int], ...]:
        """Return links between steps, each as its pair was linked most often; neighbours in doubt are linked."""
        links = []
        for a, b in combinations(range(len(sequence)), 2):
            is_next = b == a + 1
            yes = self._pair_links.get((sequence[a], sequence[b], is_next, True), 0)
            no = self._pair_links.get((sequence[a], sequence[b], is_next, False), 0)
            if yes + 0.5 * is_next > no + 0.5 * (not is_next):
                links.append((a, b))
        return tuple(links)

    # ── Evidence ──────────────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _view(self) -> View:
        if self._neighbourhood is None:
            self._neighbourhood = Neighbourhood(self._taught)
        names, outputs = list(self.tools), self.heads.outputs
        return View(names, self._tool_texts, outputs, self._counts, self._neighbourhood, self._view_options)

    @cached_property
    def _tool_texts(self) -> ToolTexts:
        specs = self.tools.values()
        texts, names = (self._vectors_of([form(spec) for spec in specs]) for form in (tool_text, tool_name))
        return ToolTexts(self.tools, texts, names, self.options.reading.n_words)

    @property
    def _view_options(self) -> ViewOptions:
        o = self.options
        return ViewOptions(o.use_heads, o.use_neighbours, o.text_trust)

    def _vectors_of(self, texts: Sequence[str]) -> FloatRows:
        vectors = [self._text_vectors[text] for text in texts]
        return np.array(vectors, dtype=np.float32).reshape(len(vectors), self._reader.dim)

    def _evidence(
        self, readings: Sequence[Reading], proposals: Sequence[Proposal | None]
    ) -> list[tuple[Evidence, tuple[str, ...]]]:
        if not readings:
            return []
        predicted = self.heads.predict(self._reader.features(readings))
        strangers = self._joining.strangers if self._joining else None
        found, start = [], 0
        for reading, proposal in zip(readings, proposals):
            end = start + len(reading.vectors)
            evidence, nearest = self._view.evidence(Case(predicted[start:end], reading, proposal), strangers)
            found.append((evidence, self._named(nearest)))
            start = end
        return found

    def _named(self, nearest: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(self._view.neighbourhood.ids[row] for row in nearest[:_N_NAMED])

    def fit(self) -> None:
        """Fit the weights that combine the evidence, on demonstrations each judged as if it had not been taught.

        Kept until something is removed, a tenth was added, or `settle` is called: one more example counts at once in
        the evidence itself, and hardly in how it is weighed.
        """
        if self._joining is not None:
            return
        if self._prior is not None and self._prior.joining and len(self._taught) < _LEAST_OWN:
            given = joining_of(self._prior.joining)
            self._joining = given if given is not None and given.fits() else None
            return
        if len(self._taught) < LEAST_TAUGHT:
            return
        self._learn_anew()
        self._n_since_fit = 0
        self._joining = fit(self._lessons())

    def _lessons(self) -> Lessons:
        o, held = self.options, self._held if self._is_trusting else {}
        sizes = (o.n_fit, o.n_free)
        options = self._view_options
        others = self._prior.sequences if self._prior is not None else {}
        return Lessons(
            self._taught,
            held,
            self._reader,
            self.heads,
            self._view,
            options,
            *sizes,
            self._graph,
            o.hides_tools,
            others,
        )
