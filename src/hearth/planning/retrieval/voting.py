"""The nearest demonstrations, and the tools' own examples, vote for a plan."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import math
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.formats.plans import canonical, fits
from hearth.language.reading import Utterance
from hearth.planning.arguments.alignment import (
    ANY_TIME,
    LESSON_VERSION,
    LessonStep,
    Result,
    Several,
    Source,
    Token,
    tokens_of,
)
from hearth.planning.retrieval.episodic_index import Likeness, Remembered, leaves_of
from hearth.planning.tool_heads import NOTHING, TALK, Said
from hearth.types import TYPE_NAMES, Parameter, ToolSpec

# ── Tool index ────────────────────────────────────────────────────────────────────────────────────────────
# Indexes the tools on offer for the retrieval planner: their own texts, and their examples.
#
# Forms are made once per text and kept in the cache folder by hash, so that ten thousand tools cost a start of a
# second and not of minutes. A cache that cannot be read or written costs time and nothing else.

_BATCH = 256


class Offered:
    """Forms of one set of tools."""

    def __init__(self, likeness: Likeness, tools: Mapping[str, ToolSpec], cache: Path | None, fingerprint: int) -> None:
        self.tools = dict(tools)
        self.alone: dict[str, tuple[LessonStep, ...]] = {}
        """Tool → the steps that plan it alone, as far as they were asked for."""
        self._specs = list(tools.values())
        self.names = tuple(tools)
        self.place = {name: index for index, name in enumerate(self.names)}
        examples = [(name, text) for name, spec in tools.items() for text in spec.examples]
        self.example_texts = tuple(text for _, text in examples)
        self.example_tools = tuple(name for name, _ in examples)
        path = cache / f"tool-forms-{LESSON_VERSION}-{fingerprint:08x}-{likeness.dim}.npz" if cache else None
        kept = _KeptForms(path, likeness.dim)
        tool_keys = [_key("tool", spec.name, spec.description) for spec in self._specs]
        for batch in kept.missing(tool_keys):
            kept.put([tool_keys[i] for i in batch], likeness.of_tools([self._specs[i] for i in batch]))
        example_keys = [_key("example", text) for text in self.example_texts]
        for batch in kept.missing(example_keys):
            texts = [self.example_texts[i] for i in batch]
            kept.put([example_keys[i] for i in batch], likeness.of_requests(texts, [example_tokens(t) for t in texts]))
        kept.write()
        self.forms = kept.matrix(tool_keys)
        """One row per tool, in the order of `names`."""
        self.example_forms = kept.matrix(example_keys)
        """One row per example, in the order of `example_texts`."""

    def is_of(self, tools: Mapping[str, ToolSpec]) -> bool:
        """Return whether these forms are of `tools`."""
        return len(tools) == len(self._specs) and list(tools.values()) == self._specs


def example_tokens(text: str) -> tuple[Token, ...]:
    """Return the tokens of a tool's example, read at some fixed time: only its form matters."""
    return tokens_of(text, Utterance(text, ANY_TIME).slots)


def _key(*parts: str) -> int:
    digest = hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


class _KeptForms:
    """Forms in one file, by the hash of their texts."""

    def __init__(self, path: Path | None, dim: int) -> None:
        self._path = path
        self._place: dict[int, int] = {}
        self._forms = np.zeros((0, dim), dtype=np.float16)
        self._is_changed = False
        if path is None or not path.is_file():
            return
        try:
            with np.load(path, allow_pickle=False) as file:
                keys, forms = file["keys"], file["forms"]
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return  # damaged: made anew
        if forms.ndim == 2 and forms.shape == (len(keys), dim) and forms.dtype == np.float16:
            self._place = {key: index for index, key in enumerate(keys.tolist())}
            self._forms = forms

    def missing(self, keys: Sequence[int]) -> list[list[int]]:
        """Return the indices of the keys without a form, in batches; of equal keys only the first."""
        first: dict[int, int] = {}
        for index, key in enumerate(keys):
            if key not in self._place:
                first.setdefault(key, index)
        places = list(first.values())
        return [places[start : start + _BATCH] for start in range(0, len(places), _BATCH)]

    def put(self, keys: Sequence[int], forms: NDArray[np.float32]) -> None:
        for key in keys:
            self._place[key] = len(self._place)
        self._forms = np.vstack([self._forms, forms.astype(np.float16)])
        self._is_changed = True

    def matrix(self, keys: Sequence[int]) -> NDArray[np.float32]:
        return self._forms[[self._place[key] for key in keys]].astype(np.float32)

    def write(self) -> None:
        """Replace the file whole; a folder that cannot be written is left alone."""
        if self._path is None or not self._is_changed:
            return
        keys = np.array(list(self._place), dtype=np.uint64)
        part = self._path.with_name(f"{self._path.name}.{os.getpid()}.part")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                np.savez(file, keys=keys, forms=self._forms)
            part.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                part.unlink()


# ── Voting ────────────────────────────────────────────────────────────────────────────────────────────────
# Finds the remembered plan that fits a request: the nearest demonstrations vote.
#
# Each neighbour votes for its own steps. Beside what they vote for, the tools that the heads find likeliest and those
# whose own texts are nearest are tried: a tool added today can be chosen today. Which of all these is best is weighed
# by what was learnt (`OptionOdds`).

N_NEIGHBOURS = 25
N_CANDIDATES = 8
_SHARPNESS = 8.0
"""Power of a likeness in its vote: near neighbours count far more than far ones."""
_OWNERS_VOTES, _LEAST_OWN = 6.0, 0.7
"""How many votes the owner's own demonstration has, and the likeness from which on."""
_N_MEANT, _N_DESCRIBED = 3, 3
"""Number of tools that the heads find likeliest, and of those whose texts are nearest, each of which is tried."""
_LEAST_MEANT = 0.02
"""Score below which a tool is as unlikely as can be."""
_SAME = 0.9
"""Likeness from which on a demonstration votes whatever its number of clauses."""

Skeleton = tuple[tuple[str, bool, tuple[tuple[str, tuple[object, ...]], ...]], ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Steps to try, with the evidence for them."""

    steps: tuple[LessonStep, ...]
    """Steps of the plan; empty to refuse."""
    likeness: float
    """Likeness to the nearest demonstration, example or tool text it rests on."""
    rests_on: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Words of that demonstration's form."""
    votes: float = 0.0
    """Share of the neighbours that did exactly this."""
    text: float = 0.0
    """Likeness to the texts of the tools."""
    meant: float = 0.0
    """Mean score of these tools in the heads, about 0 to 1."""
    odds: float = 0.0
    """Mean logarithm of that score."""
    rival: float = 0.0
    """Highest score in the heads of a tool that is not among these."""
    unmeant: float = 0.0
    """Score in the heads of nothing that a tool does, or of talk."""
    is_untaught: bool = False
    """True when the heads know none of these tools; their scores are those of nothing."""
    worth: float = 0.0
    """Log-odds of its readings, before it is filled; 0 of what is the only one."""

    @property
    def readings(self) -> dict[str, float]:
        """Return what speaks for it before it is filled, by the names of `READINGS`."""
        return {
            "votes": self.votes,
            "text": self.text,
            "meant": self.meant,
            "odds": self.odds,
            "rival": self.rival,
            "unmeant": self.unmeant,
            "untaught": float(self.is_untaught),
            "described": self.text if self.is_untaught else 0.0,
        }

    @property
    def leaves(self) -> tuple[str, ...]:
        """Return the tools whose results no other step uses: what is asked for."""
        return leaves_of(self.steps)


def skeleton(steps: Sequence[LessonStep]) -> Skeleton:
    """Return the structure that two plans share when only their values differ."""
    return tuple(
        (
            step.tool,
            step.is_many,
            tuple(sorted((name, _links(source)) for name, source in step.sources.items() if _links(source))),
        )
        for step in steps
    )


def _links(source: Source) -> tuple[object, ...]:
    items = source.items if isinstance(source, Several) else (source,)
    return tuple((i.step, *(p for p in i.path if not p.isdigit()), i.tool) for i in items if isinstance(i, Result))


class Ballot:
    """Likenesses of one request (and its clauses) to everything that can vote."""

    def __init__(
        self,
        remembered: Remembered,
        offered: Offered,
        usable: NDArray[np.bool_],
        forms: NDArray[np.float32],
        said: Said,
    ) -> None:
        self._remembered = remembered
        self._offered = offered
        self._usable = usable
        self._demonstrations = remembered.likenesses(forms)
        self._examples = offered.example_forms @ forms.T
        self._texts = offered.forms @ forms.T
        self._meant = remembered.meant(said)
        self._ranked: dict[int, list[str]] = {}
        self.said = said

    def candidates(
        self, unit: int, words: tuple[str, ...], *, is_long: bool | None, may_refer: bool
    ) -> list[Candidate]:
        """Return the best ways to serve one unit, best first; one of them may be to refuse.

        Args:
            unit: Row of the forms.
            words: Words of the unit's form.
            is_long: True for a whole request of several clauses: only such requests vote; None where it is said that
                clauses are one act: any vote.
            may_refer: Results of earlier clauses may be used.
        """
        rows = self._remembered.rows
        likeness = np.where(self._usable, self._demonstrations[:, unit], -1.0)
        if not may_refer:
            likeness = np.where(self._remembered.refers, -1.0, likeness)
        if is_long is not None:
            likeness = np.where((self._remembered.is_long == is_long) | (likeness > _SAME), likeness, -1.0)
        near = _largest(likeness, N_NEIGHBOURS)
        examples = self._examples[:, unit]
        near_examples = _largest(np.where(examples > _SAME, examples, -1.0) if is_long else examples, N_NEIGHBOURS)
        voters = sorted(
            [(float(likeness[i]), i, -1) for i in near]
            + [(float(self._examples[i, unit]), -1, i) for i in near_examples],
            key=lambda v: (-v[0], v[1], v[2]),
        )[:N_NEIGHBOURS]
        weights = np.array([self._n_votes(value, row) * max(0.0, value) ** _SHARPNESS for value, row, _ in voters])
        weights = weights / weights.sum() if weights.sum() > 0 else weights
        self._remembered.fetch(rows[i].id for _, i, _ in voters if i >= 0)
        same = [row for row in self._remembered.that_read(words) if likeness[row] > 0][:3]
        return self._tallied(unit, is_long, same, list(zip(voters, weights.tolist())), likeness)

    def _tallied(
        self,
        unit: int,
        is_long: bool | None,
        same: Sequence[int],
        votes: Sequence[tuple[tuple[float, int, int], float]],
        likeness: NDArray[np.float32],
    ) -> list[Candidate]:
        own: dict[Skeleton, float] = {}
        candidate: Candidate | None
        best: dict[Skeleton, Candidate] = {}
        for row in same:
            candidate = self._of_row(row, 1.0)
            if self._remembered.is_owners(row):  # the owner's correction of these very words ends the vote
                return [replace(candidate, votes=1.0, text=1.0, meant=1.0)]
            best.setdefault(skeleton(candidate.steps), candidate)
        for (value, row, example), weight in votes:
            if row >= 0:
                candidate = self._of_row(row, value)
            else:
                tool = self._offered.example_tools[example]
                candidate = self._best_of(tool, likeness) or self._of_tool(tool, value)
                if candidate is None:
                    continue
                candidate = replace(candidate, likeness=value)
            key = skeleton(candidate.steps)
            own[key] = own.get(key, 0.0) + weight
            best[key] = _merged(best.get(key), candidate)
        for tool in [] if is_long else self._likely_tools(unit):
            extra = self._best_of(tool, likeness) or self._of_tool(tool, float(self._texts[self._place(tool), unit]))
            if extra is not None:
                best.setdefault(skeleton(extra.steps), extra)
        found = []
        for key, candidate in best.items():
            leaves = candidate.leaves
            texts = [float(self._texts[self._place(tool), unit]) for tool in leaves]
            found.append(
                self._with_heads(
                    unit,
                    replace(
                        candidate,
                        votes=own.get(key, 0.0),
                        text=sum(texts) / len(texts) if texts else 0.0,
                    ),
                )
            )
        worth = shipped_odds().of_each([candidate.readings for candidate in found])
        found = [replace(candidate, worth=one) for candidate, one in zip(found, worth, strict=True)]
        found.sort(key=lambda c: (-c.worth, c.rests_on, c.leaves))
        alike = {self._remembered.rows[row].id for row in same}
        return [c for rank, c in enumerate(found) if rank < N_CANDIDATES or alike & set(c.rests_on)]

    def _with_heads(self, unit: int, candidate: Candidate) -> Candidate:
        """Return the candidate with what the heads say of its tools."""
        said, leaves = self._meant[unit], candidate.leaves
        scores = [said[tool] for tool in leaves if tool in said]
        if not scores:  # what speaks against all that was taught speaks against a tool that nobody taught no more
            scores = [max(said.get(NOTHING, 0.0), said.get(TALK, 0.0))]
        logarithms = [math.log(min(1.0, max(_LEAST_MEANT, score))) for score in scores]
        is_untaught = bool(leaves) and not any(tool in said for tool in leaves)
        meant, odds = sum(scores) / len(scores), sum(logarithms) / len(scores)
        unmeant = max(said.get(NOTHING, 0.0), said.get(TALK, 0.0))
        rival = next((said[tool] for tool in self._likeliest(unit) if tool not in leaves), 0.0)
        return replace(candidate, meant=meant, odds=odds, rival=rival, unmeant=unmeant, is_untaught=is_untaught)

    def _likeliest(self, unit: int) -> list[str]:
        """Return the tools on offer that the heads know, likeliest first."""
        found = self._ranked.get(unit)
        if found is None:
            said = self._meant[unit]
            here = (tool for tool in said if tool in self._offered.place)
            found = self._ranked[unit] = sorted(here, key=lambda tool: (-said[tool], tool))
        return found

    def _n_votes(self, likeness: float, row: int) -> float:
        is_own = row >= 0 and likeness >= _LEAST_OWN and self._remembered.is_owners(row)
        return _OWNERS_VOTES if is_own else 1.0

    def of_sequence(self, unit: int, tools: Sequence[str], links: Sequence[tuple[int, int]]) -> Candidate:
        """Return what is to be done where these tools are called in this order: as the most similar demonstration does,
        else one after another as linked."""
        likeness = self._demonstrations[:, unit]
        rows = [k for k, row in enumerate(self._remembered.rows) if row.tools == tuple(tools) and likeness[k] > 0]
        if rows:
            row = max(rows, key=lambda k: (float(likeness[k]), -k))
            return self._with_heads(unit, self._of_row(row, float(likeness[row])))
        after = [tuple(a for a, b in links if b == place) for place in range(len(tools))]
        steps = tuple(LessonStep(tool, {}, mine) for tool, mine in zip(tools, after, strict=True))
        return self._with_heads(unit, Candidate(steps, 0.0))

    # ── Parts ─────────────────────────────────────────────────────────────────────────────────────────────

    def _place(self, tool: str) -> int:
        return self._offered.place[tool]

    def _of_row(self, row: int, likeness: float) -> Candidate:
        lesson = self._remembered.lesson(self._remembered.rows[row])
        return Candidate(lesson.steps, likeness, (lesson.demonstration,), lesson.words)

    def _of_tool(self, tool: str, likeness: float) -> Candidate | None:
        steps = self._offered.alone.get(tool)
        if steps is None:
            steps = self._offered.alone[tool] = steps_for(tool, self._offered.tools)
        return Candidate(steps, likeness, (f"tool:{tool}",)) if steps else None

    def _best_of(self, tool: str, likeness: NDArray[np.float32]) -> Candidate | None:
        """Return the most similar demonstration that asked for `tool` alone."""
        rows = [
            r
            for r in self._remembered.with_leaf(tool)
            if likeness[r] > 0 and self._remembered.rows[r].leaves == (tool,)
        ]
        if not rows:
            return None
        row = max(rows, key=lambda r: (float(likeness[r]), -r))
        return self._of_row(row, float(likeness[row]))

    def _likely_tools(self, unit: int) -> list[str]:
        """Return the tools that the heads find likeliest, then those whose own texts are nearest."""
        described = [self._offered.names[k] for k in _largest(self._texts[:, unit], _N_DESCRIBED)]
        return list(dict.fromkeys([*self._likeliest(unit)[:_N_MEANT], *described]))


def _largest(values: NDArray[np.float32], n: int) -> list[int]:
    """Return the indices of the largest positive values, largest first."""
    if not len(values):
        return []
    places = np.argpartition(-values, min(n, len(values) - 1))[:n] if len(values) > n else np.arange(len(values))
    return [int(i) for i in sorted(places, key=lambda i: (-values[i], i)) if values[i] > 0]


def _merged(older: Candidate | None, newer: Candidate) -> Candidate:
    if older is None:
        return newer
    rests_on = tuple(dict.fromkeys((*older.rests_on, *newer.rests_on)))[:5]
    return replace(older, rests_on=rests_on)


# ── Plans nobody showed ───────────────────────────────────────────────────────────────────────────────────


def steps_for(tool: str, tools: Mapping[str, ToolSpec]) -> tuple[LessonStep, ...]:
    """Plan `tool` alone, after the look-ups its ids need (`delete_note` needs `find_notes`); empty when none fits."""
    spec = tools[tool]
    before: list[LessonStep] = []
    sources: dict[str, Source] = {}
    for parameter in spec.parameters:
        if not parameter.is_required or not is_id(parameter):
            continue
        found = producer_of(parameter, spec, tools)
        if found is None:
            return ()
        sources[parameter.name] = Result(len(before), (found[1],) if found[1] else (), found[0].name)
        before.append(LessonStep(found[0].name, {}))
    return (*before, LessonStep(tool, sources))


def is_id(parameter: Parameter) -> bool:
    """Return whether only another tool's result can give the value."""
    kind = canonical(parameter.type)
    return (kind[5:-1] if kind.startswith("list[") else kind) not in TYPE_NAMES


def producer_of(parameter: Parameter, user: ToolSpec, tools: Mapping[str, ToolSpec]) -> tuple[ToolSpec, str] | None:
    """Return the look-up that gives what `parameter` takes, and the field that holds it."""
    wanted = canonical(parameter.type)
    wanted = wanted[5:-1] if wanted.startswith("list[") else wanted
    found: list[tuple[tuple[bool, bool, bool, str], ToolSpec, str]] = []
    for spec in tools.values():
        if spec.effect != "none" or spec.name == user.name or any(p.is_required and is_id(p) for p in spec.parameters):
            continue
        field = next((name for name, kind in spec.fields.items() if canonical(kind) == wanted), None)
        if field is None and not (canonical(spec.returns) == wanted and fits(spec.returns, parameter.type)):
            continue
        is_search = spec.name.startswith(("find", "search", "list", "get", "look"))
        rank = (spec.domain != user.domain, not is_search, not canonical(spec.returns).startswith("list["), spec.name)
        found.append((rank, spec, field or ""))
    if not found:
        return None
    _, spec, field = min(found, key=lambda f: f[0])
    return spec, field


# ── What speaks for a way, weighed ──────────────────────────────────────────────────────────────────────
# Says how likely a way to serve a request is, from what was read of it: a small net whose sums are log-odds.
#
# A conditional logit over the ways to serve one request: the score of a way is linear in its readings plus one layer of
# tanh over them; the probability is the score's share after exponentials. `training.option_weights_train` fits it.
#
# Not covered: whether the arguments are right beyond what the readings count.
#
# Source: McFadden 1974, "Conditional logit analysis of qualitative choice behavior".


READINGS = (
    "votes",
    "text",
    "meant",
    "odds",
    "rival",
    "unmeant",
    "untaught",
    "described",
    "missing",
    "askable",
    "unused",
    "strange",
    "doubt",
    "idle",
    "doubled",
    "steps",
    "acts",
    "nothing",
)
"""What is read of an option, beside `alike`: that it reads like a demonstration, which counts as `ALIKE`."""
ALIKE = 8.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OptionOdds:
    """The net; without hidden units it is a sum."""

    linear: Floats
    """Shape [readings]."""
    hidden: Floats
    """Shape [readings, units]."""
    bias: Floats
    """Shape [units]."""
    outer: Floats
    """Shape [units]."""

    def of(self, readings: Mapping[str, float]) -> float:
        """Return the score of one option."""
        return self.of_each([readings])[0]

    def of_each(self, many: Sequence[Mapping[str, float]]) -> list[float]:
        """Return the score of each of some options."""
        rows = [[readings.get(name, 0.0) for name in READINGS] for readings in many]
        scores = self.of_rows(np.array(rows).reshape(-1, len(READINGS)))
        return [float(score) + ALIKE * readings.get("alike", 0.0) for score, readings in zip(scores, many, strict=True)]

    def of_rows(self, rows: Floats) -> Floats:
        """Return scores without `alike`; `rows` has the shape [options, readings]."""
        scores: Floats = rows @ self.linear + np.tanh(rows @ self.hidden + self.bias) @ self.outer
        return scores


@functools.cache
def shipped_odds() -> OptionOdds:
    """Return the net that comes with Hearth."""
    given: dict[str, Sequence[float]] = json.loads((files("hearth.data") / "option_weights.json").read_bytes())["odds"]
    parts = [np.array(given[name], dtype=np.float64) for name in ("linear", "hidden", "bias", "outer")]
    return OptionOdds(*parts)
