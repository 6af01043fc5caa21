"""Build the prior that a service would publish from what a fleet's founders learnt, and plan with it on a new edge.

Each founder contributes what a device would (`planning.ranking.sufficient_statistics.summed`: bounded, and
nothing from too few demonstrations); the sums are merged. A new edge's student (profile `small`) was taught the shipped
demonstrations, as on every device, and takes the prior beside them. Its output for every text that newcomers may say is
kept in the folder, so that parts of the simulation can run anywhere. A prior holds no arguments: a device reads them
from the request as its agent does (`planning.arguments.binding`), using the shipped demonstrations to learn how each is
said and which result feeds which step.

Covered: the prior's exact sums, whatever the number of processes; it holds no text, value or name of a founder. Not
covered: judging contributions (`hearth_bench.measure.learning.prior_gain` does), secret rounds, renewing a prior during
the simulation.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hearth.cli.invocation import SILENT, Progress
from hearth.language.reading import Utterance
from hearth.planning.arguments.alignment import Lesson, LessonStep, Result, Several, Source, explain, tokens_of
from hearth.planning.arguments.binding import Unit, bind
from hearth.planning.arguments.span_boundaries import Manners
from hearth.planning.ranking.features import Reading, Taught, asked_by_acts, step_texts, taught_of
from hearth.planning.ranking.ranker import PROFILES, Ranker, Ranking
from hearth.planning.ranking.sufficient_statistics import (
    Statistics,
    encode,
    merged,
    public_sequences,
    public_tools,
    summed,
)
from hearth.protocols import Encoder
from hearth.types import Argument, Demonstration, Plan, Ref, Step, ToolSpec
from hearth_bench.fleet.habits import Asked
from hearth_bench.run_record import write_json
from hearth_cloud.statistics.private_sums import Budget
from hearth_cloud.statistics.public_acts import share_of
from hearth_cloud.statistics.robust_merge import evidence_of, noisy, shared
from hearth_cloud.statistics.shipped_statistics import acts_of

Links: TypeAlias = tuple[tuple[int, int], ...]
MOST, LEAST = 400, 30
"""Most demonstrations counted per founder, and fewest for it to contribute, as in a service's `[statistics]`."""
_RHO = Budget(4.0, 1e-6, 2).rho / len(PROFILES)
"""Privacy loss of one prior, as in a service's `[statistics]`: its ε and δ, shared by two priors of each profile."""
_SEED = b"a fleet of simulated, no real ow"
_N_KEPT = 4
"""Candidates kept for each text: a device may lack the tools of the first."""
_CHUNK = 64


@dataclass(frozen=True, slots=True)
class Likely:
    """Tools that a prior holds to be wanted."""

    tools: tuple[str, ...]
    links: Links
    """Pairs of steps of which the first feeds or precedes the second."""
    confidence: float
    """Probability of exactly these tools."""


# ── What founders give ────────────────────────────────────────────────────────────────────────────────────


def shape_of(plan: Plan) -> str:
    """Return the part of a plan that a prior may hold, as JSON: tools, the words of each step, and the steps it
    needs."""
    return json.dumps([[step.tool, step.text, sorted(step.needs())] for step in plan.steps])


def shaped(text: str, shape: str) -> Demonstration:
    """Rebuild a demonstration from such a line, without arguments."""
    steps = tuple(Step(tool, {}, tuple(needs), said) for tool, said, needs in json.loads(shape))
    return Demonstration("", text, Plan(steps))


class Founders:
    """Texts taught to each founder with the shapes of their plans, by edge and persona."""

    def __init__(self, taught: Mapping[int, Sequence[tuple[str, str]]], persona: Mapping[int, str]) -> None:
        self.taught, self.persona = taught, persona

    def statistics(self, student: Ranker) -> dict[str, Statistics]:
        """Sum the founders' contributions by persona, leaving out personas without enough demonstrations."""
        known = self._read(student)
        allowed = frozenset(student.tools) | public_tools()
        found: dict[str, Statistics] = {}
        for edge in sorted(self.taught):
            mine = {f"{k}": known[one] for k, one in enumerate(self.taught[edge])}
            if len(mine) < LEAST:
                continue
            given = summed(student.reader, mine, allowed, MOST)
            persona = self.persona[edge]
            found[persona] = found[persona].plus(given) if persona in found else given
        return found

    def _read(self, student: Ranker) -> dict[tuple[str, str], Taught]:
        pairs = sorted({one for mine in self.taught.values() for one in mine})
        readings = read_all(student, sorted({text for text, _ in pairs}))
        said = {pair: step_texts(shaped(*pair), student.tools) for pair in pairs}
        texts = sorted({text for mine in said.values() for text in mine})
        vectors = dict(zip(texts, student.reader.vectors(texts), strict=True)) if texts else {}

        def taught(pair: tuple[str, str]) -> Taught:
            shown, reading = shaped(*pair), readings[pair[0]]
            return taught_of(shown, reading, asked_by_acts(shown, reading, np.array([vectors[t] for t in said[pair]])))

        return {pair: taught(pair) for pair in pairs}


def read_all(student: Ranker, texts: Sequence[str]) -> dict[str, Reading]:
    """Read texts, and return the readings by text."""
    return {
        text: reading
        for start in range(0, len(texts), _CHUNK)
        for text, reading in zip(
            texts[start : start + _CHUNK], student.read(texts[start : start + _CHUNK]), strict=True
        )
    }


@dataclass(frozen=True, slots=True)
class Fresh:
    """What an edge begins with before any prior."""

    encoder: Encoder
    tools: Mapping[str, ToolSpec]
    shipped: Sequence[Demonstration]


def write_likely(
    path: Path,
    founders: Founders,
    fresh: Fresh,
    asked: Mapping[str, Sequence[str]],
    progress: Progress = SILENT,
    *,
    is_private: bool = False,
) -> None:
    """Make a student for each prior and write its output for texts.

    Args:
        founders: Without founders, or without any that has enough, the student knows only the shipped demonstrations.
        asked: Texts by the persona whose founders are left out of the prior; the empty name leaves nobody out.
        is_private: The prior has the noise of a service of many owners, by its default settings.
    """
    shown = Ranker(fresh.encoder, fresh.tools, PROFILES["small"])
    shown.learn([one for one in fresh.shipped if one.plan.steps])
    given = founders.statistics(shown)
    found: dict[str, object] = {}
    with progress.stage(f"What a new edge of {path.stem} knows", sum(map(len, asked.values()))) as advance:
        for without, texts in sorted(asked.items()):
            others = [one for persona, one in sorted(given.items()) if persona != without]
            prior = merged(others) if others else None
            if is_private and prior is not None:
                prior = _published(prior, shown, fresh)
            student = shown.blank()
            student.know(shown.taught_in(shown.ids))
            student.take_prior(prior)
            student.settle()
            likely: dict[str, object] = {}
            for start in range(0, len(texts), _CHUNK):
                some = texts[start : start + _CHUNK]
                rankings = student.rank_readings(student.read(some))
                likely |= {text: _kept(ranking) for text, ranking in zip(some, rankings, strict=True)}
                advance(len(some))
            found[without] = {"n_bytes": len(encode(prior)) if prior is not None else 0, "likely": likely}
    write_json(path, found)


def _published(exact: Statistics, shown: Ranker, fresh: Fresh) -> Statistics | None:
    """Return a sum as a service of many owners publishes it: with noise, held to public acts; None where no share of it
    leaves these alone."""
    hidden = noisy(exact, _RHO, MOST, public_sequences(), _SEED)
    public = shown.statistics(public_tools())
    acts = acts_of(fresh.encoder, fresh.tools, fresh.shipped, public)
    share = share_of(evidence_of(hidden), evidence_of(public), acts)
    return shared(hidden, share) if share else None


def _kept(ranking: Ranking) -> list[object]:
    most = max((one.probability for one in ranking.candidates), default=0.0)
    return [
        [list(one.tools), [list(link) for link in one.links], round(ranking.confidence * one.probability / most, 6)]
        for one in ranking.candidates[:_N_KEPT]
        if one.tools and most
    ]


# ── What a new edge plans ─────────────────────────────────────────────────────────────────────────────────


class _Book:
    """Lessons by the tools they use."""

    def __init__(self, lessons: Iterable[Lesson]) -> None:
        self._with: dict[str, list[Lesson]] = {}
        for lesson in lessons:
            for tool in {step.tool for step in lesson.steps}:
                self._with.setdefault(tool, []).append(lesson)

    def newest_with(self, tool: str, n: int) -> Sequence[Lesson]:
        return self._with.get(tool, [])[: -n - 1 : -1]

    def sample(self, n_per_tool: int, n: int) -> Sequence[Lesson]:
        some = {id(one): one for tool in sorted(self._with) for one in self._with[tool][-n_per_tool:]}
        return list(some.values())[:n]


class Arguments:
    """Patterns, from the shipped demonstrations, of how arguments are said and which result feeds which step."""

    def __init__(self, shipped: Sequence[Demonstration]) -> None:
        planned = [one for one in shipped if one.plan.steps]
        self._manners = Manners(_Book(lesson for one in planned for lesson in explain(one)))
        self._feeds: dict[tuple[str, str], Counter[tuple[str, tuple[str, ...], bool]]] = {}
        for one in planned:
            for target in one.plan.steps:
                for name, value in target.arguments.items():
                    for ref in _refs(value):
                        pair = one.plan.steps[ref.step].tool, target.tool
                        self._feeds.setdefault(pair, Counter())[name, ref.path, isinstance(value, list)] += 1

    def plan(self, likely: Likely, asked: Asked, tools: Mapping[str, ToolSpec]) -> Plan:
        """Build a plan of these tools with the arguments that the request says, leaving out the others."""
        text = asked.wording.text
        tokens = tokens_of(text, Utterance(text, asked.now).slots)
        return Plan(tuple(bind(self._steps(likely), Unit(text, tokens, self._manners), tools).steps))

    def _steps(self, likely: Likely) -> list[LessonStep]:
        sources: list[dict[str, Source]] = [{} for _ in likely.tools]
        for first, second in likely.links:
            known = self._feeds.get((likely.tools[first], likely.tools[second]))
            if not known:
                continue
            name, path, is_list = max(known, key=lambda way: (known[way], way))
            result = Result(first, path, likely.tools[first])
            before = sources[second].get(name)
            items = before.items if isinstance(before, Several) else ()
            sources[second][name] = Several((*items, result)) if is_list else result
        return [LessonStep(tool, mine) for tool, mine in zip(likely.tools, sources, strict=True)]


def _refs(value: Argument) -> list[Ref]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, Ref)]


class Guide:
    """A device's view of a prior: the likeliest tools it has, with the arguments that a request says."""

    def __init__(self, likely: Mapping[str, Any], arguments: Arguments, tools: Mapping[str, ToolSpec]) -> None:
        """
        Args:
            likely: Likely tools by text, as `write_likely` wrote them.
            tools: The device's tools.
        """
        self._likely, self._arguments, self._tools = likely, arguments, tools

    def likely(self, text: str) -> Likely | None:
        """Return the likeliest tools that the device has. Raises: KeyError: The prior was not asked about this text."""
        for tools, links, confidence in self._likely[text]:
            found = Likely(tuple(tools), tuple((a, b) for a, b in links), confidence)
            if self._tools.keys() >= set(found.tools):
                return found
        return None

    def plan(self, likely: Likely, asked: Asked) -> Plan:
        return self._arguments.plan(likely, asked, self._tools)
