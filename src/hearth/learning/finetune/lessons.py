"""Lessons of tier two: what demonstrations teach it, how it is trained, and what a run gives."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
    step_chances: tuple[Mapping[str, float], ...] = ()
    """The teacher's chances of each tool at each step of the first plan and then of the end (`""`)."""
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
