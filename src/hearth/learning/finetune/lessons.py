"""Lessons of tier two: what demonstrations teach it, how it is trained, and what a run gives."""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from hearth.protocols import Encoder, Proposal
from hearth.types import Demonstration, ToolSpec


@dataclass(frozen=True, slots=True)
class Lesson:
    """One request and the plans teachers gave for it."""

    id: str
    request: str
    plans: tuple[tuple[tuple[str, ...], float], ...]
    """Tools in order, each plan with its weight: of several teachers, or of one with its probabilities."""
    steps: tuple[str, ...] = ()
    """Text of each step of the first plan; made requests are put together from them."""
    ranking: tuple[tuple[tuple[str, ...], float], ...] = ()
    """The teacher's candidates with its scores, as log-probabilities up to a constant: their order is learnt."""
    wrong: frozenset[int] = frozenset()
    """Places of wrong steps in the first plan: seen as context of later steps, never learnt."""


Shares = Sequence[tuple[tuple[str, ...], float]]
"""Tools of plans, in order, each with its share."""


def lesson_of(demonstration: Demonstration, held_likely: Shares = ()) -> Lesson | None:
    """Make a lesson of a demonstration; None for an empty plan. A tool used twice counts only where it is first.

    Args:
        held_likely: All plans its teacher held likely, its own first: learnt by their shares, and ranked by them.
    """
    steps = demonstration.plan.steps
    said = demonstration.task_steps if len(demonstration.task_steps) == len(steps) else ()
    tools = tuple(dict.fromkeys(step.tool for step in steps))
    if not tools:
        return None
    first = [next(k for k, step in enumerate(steps) if step.tool == tool) for tool in tools]
    texts = tuple(steps[k].text or (said[k] if said else "") for k in first)
    plans: dict[tuple[str, ...], float] = {}
    for names, share in held_likely or ((tools, 1.0),):
        once = tuple(dict.fromkeys(names))
        plans[once] = plans.get(once, 0.0) + share
    ranking = tuple((names, math.log(share)) for names, share in plans.items()) if len(plans) > 1 else ()
    return Lesson(demonstration.id, demonstration.request, tuple(plans.items()), texts if all(texts) else (), ranking)


def reflected(id: str, request: str, failed: Sequence[str], corrected: Sequence[str]) -> Lesson:
    """Make a lesson of a failed plan and the right one: the first wrong step stays as context, masked out.

    Source:
        STeP: training on self-reflected trajectories with partial masking, 2025.
    """
    right = tuple(dict.fromkeys(corrected))
    start = next((k for k, (a, b) in enumerate(zip(failed, right)) if a != b), min(len(failed), len(right)))
    if start < len(failed) and failed[start] not in right:
        trajectory = (*right[:start], failed[start], *right[start:])
        return Lesson(id, request, ((trajectory, 1.0),), wrong=frozenset({start}))
    return Lesson(id, request, ((right, 1.0),))


@dataclass(frozen=True, slots=True)
class AdapterOptions:
    """Options of tier two's training."""

    n_epochs: int = 6
    n_epochs_more: int = 1
    """Epochs with all lessons, after the proposals for the held-back part were made; 0 leaves that part unlearnt."""
    held_share: float = 0.12
    """Share of the lessons held back at first; 0 makes no held proposals."""
    made_share: float = 0.7
    """Made requests for each taught one, new in every epoch."""
    rate: float = 1e-3
    encoder_rate: float = 1.2e-4
    batch: int = 24
    smoothing: float = 0.05
    set_share: float = 0.3
    chance_share: float = 0.3
    ranking_share: float = 0.3
    """Weights of the losses beside that of the sequence: which tools come first, each tool's chance, candidates."""
    delta_dropout: float = 0.3
    """Share of cases in which a tool's learnt part is left out, so that its text alone must suffice."""
    dropout: float = 0.1
    width: int = 256
    n_blocks: int = 2
    n_upper: int = 2
    rank: int = 16
    """Rank of the change kept for each matrix of the encoder."""
    n_threads: int = 1


@dataclass(frozen=True, slots=True)
class Epoch:
    """Report on one pass over the lessons."""

    number: int
    n_epochs: int
    n_texts: int
    """Number of taught and made texts."""
    loss: float
    sequence_loss: float
    """Nats a step."""
    cpu_s: float
    """CPU seconds since the start."""


@dataclass(frozen=True, slots=True)
class Trained:
    folder: Path
    held: Mapping[str, Proposal]
    """Proposals for held-back lessons by id, made before they were learnt."""
    record: Mapping[str, object]
    """Record of the run: hash of the lessons, seed, command, options, losses, scores on the held-back part, parent."""


@dataclass(frozen=True, slots=True)
class Task:
    """Input of a training."""

    lessons: Sequence[Demonstration | Lesson]
    """Skipped when the first plan is empty, uses a tool twice or one that is not on offer. Further plans and candidates
    of a ranking with such faults are left out."""
    tools: Mapping[str, ToolSpec]
    encoder: Encoder
    """For texts of tools."""
    folder: Path
    """Must not exist; appears whole at the end."""
    options: AdapterOptions = field(default_factory=AdapterOptions)
    seed: int = 0
    start_from: Path | None = None
    """Folder of an earlier training to go on from."""
    replay: Sequence[Demonstration | Lesson] = ()
    """Earlier lessons mixed in, so that going on does not forget. Leave them out only to measure forgetting."""
    graph: frozenset[tuple[str, str]] | None = None
    """Links that are possible, for the held proposals."""
    command: tuple[str, ...] = ()


def lessons_sha256(lessons: Iterable[Lesson]) -> str:
    """Hash lessons, whatever their order."""
    lines = sorted(
        json.dumps([one.id, one.request, one.plans, one.steps, one.ranking, sorted(one.wrong)]) for one in lessons
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# ── Synthetic requests ─────────────────────────────────────────────────────────────────────────────────
# Make synthetic requests from those that were taught, so that training meets new combinations of tools: text, by
# seed.
# Three ways: two requests joined, a request with a foreign step said before or after it, and a request put together
# from the texts of steps, along taught links or with a step cut, spliced or added. Steps without a text are skipped,
# so demonstrations without texts of steps are only joined.


_PREFIX = re.compile(r"^step \d+[:.]? *(call \S+ *(to )?)?", re.IGNORECASE)
_OPENINGS = ("Please ", "I need to ", "Please help me ", "I want to ", "Could you ", "", "I would like to ", "Help me ")
_LINKS = (
    *(" and then ", ", and also ", ", then ", " and ", ", and "),
    *("; also ", ". Also, ", ". Then ", ". After that, ", ", and finally "),
)
_BREAKS = (". ", ". Also, ", ". Then ", "; and ", ". In addition, ")
_FIRST_BREAKS = (". Then ", ". Also, ", ". After that, ", ", and then ")
_MOST_STEPS = 5
_LEAST_CHARACTERS = 8
_N_TRIES = 30
"""Tries for each request wanted; after that, fewer are made (too few texts, or all of one tool)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A request with its tools in order and the text of each step ("" where there is none)."""

    request: str
    tools: tuple[str, ...]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of the ways in which requests are made."""

    joined: float = 0.2
    with_foreign_step: float = 0.3
    from_steps: float = 0.5


def step_text(text: str) -> str:
    """Return a step's text without its number and tool."""
    return _PREFIX.sub("", text).strip().rstrip(".")


class Synthesis:
    """Makes requests from texts. The same texts and seed give the same requests."""

    def __init__(self, texts: Sequence[Text], seed: int, shares: Mixture | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311  nothing secret
        self._shares = shares or Mixture()
        self._texts = [text for text in texts if text.tools]
        self._said = [(t.tools, tuple(map(step_text, t.steps))) for t in self._texts if len(t.steps) == len(t.tools)]
        self._steps: list[tuple[str, str]] = []
        self._of_tool: dict[str, list[str]] = defaultdict(list)
        self._after: dict[str, list[str]] = defaultdict(list)
        for tools, steps in self._said:
            for tool, step in zip(tools, steps):
                if len(step) > _LEAST_CHARACTERS:
                    self._steps.append((tool, step))
                    self._of_tool[tool].append(step)
            for before, after in pairwise(tools):
                self._after[before].append(after)

    def make(self, n: int) -> list[Text]:
        """Make `n` requests, fewer where the texts do not give so many."""
        ways = [(self._joined, self._shares.joined if len(self._texts) > 1 else 0.0)]
        if self._steps:
            ways.append((self._with_foreign_step, self._shares.with_foreign_step))
            ways.append((self._from_steps, self._shares.from_steps))
        makers, weights = [way for way, _ in ways], [share for _, share in ways]
        made: list[Text] = []
        if not sum(weights):
            return made
        for _ in range(_N_TRIES * n):
            if len(made) == n:
                break
            text = self._random.choices(makers, weights)[0]()
            if text is not None:
                made.append(text)
        return made

    def _joined(self) -> Text | None:
        first, second = self._random.sample(self._texts, 2)
        if set(first.tools) & set(second.tools) or len(first.tools) + len(second.tools) > _MOST_STEPS + 1:
            return None
        request = first.request.rstrip(". ") + self._random.choice(_BREAKS) + _inside(second.request)
        return Text(request, first.tools + second.tools)

    def _with_foreign_step(self) -> Text | None:
        text = self._random.choice(self._texts)
        tool, step = self._random.choice(self._steps)
        if tool in text.tools or len(text.tools) >= _MOST_STEPS:
            return None
        if self._random.random() < 0.7:
            request = text.request.rstrip(". ") + self._random.choice(_LINKS) + _inside(step) + "."
            return Text(request, (*text.tools, tool))
        opening, link = self._random.choice(_OPENINGS[:4]), self._random.choice(_FIRST_BREAKS)
        return Text(opening + _inside(step) + link + _inside(text.request), (tool, *text.tools))

    def _from_steps(self) -> Text | None:
        tools, steps = (list(part) for part in self._random.choice(self._said))
        way = self._random.random()
        if way < 0.35:
            self._go_on(tools, steps)
        elif way > 0.7:
            place = self._random.randrange(len(tools))
            if len(tools) > 2 and self._random.random() < 0.5:
                del tools[place], steps[place]
            else:
                tool, step = self._random.choice(self._steps)
                if tool not in tools:
                    tools.insert(place, tool)
                    steps.insert(place, step)
        if len(tools) > _MOST_STEPS or any(len(step) < _LEAST_CHARACTERS / 2 for step in steps):
            return None
        request = self._random.choice(_OPENINGS) + _inside(steps[0])
        for step in steps[1:]:
            request += self._random.choice(_LINKS) + _inside(step)
        return Text(request[:1].upper() + request[1:] + ".", tuple(tools))

    def _go_on(self, tools: list[str], steps: list[str]) -> None:
        """Cut somewhere and continue with one or two other steps, mostly along links that were taught."""
        end = self._random.randrange(1, len(tools) + 1)
        del tools[end:], steps[end:]
        for _ in range(self._random.choice((1, 1, 2))):
            known = [tool for tool in self._after[tools[-1]] if tool not in tools and self._of_tool[tool]]
            if known and self._random.random() < 0.6:
                tool = self._random.choice(known)
                step = self._random.choice(self._of_tool[tool])
            else:
                tool, step = self._random.choice(self._steps)
                if tool in tools:
                    return
            tools.append(tool)
            steps.append(step)


def _inside(text: str) -> str:
    """Return text as it is written inside a sentence."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
