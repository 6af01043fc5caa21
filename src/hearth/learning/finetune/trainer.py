"""Training of tier two, an adapted encoder and a pointer over tools, from demonstrations; it alone needs torch.

A run yields what it did epoch by epoch and last what it made. Nothing is on disk before the end and everything after
it: a run that is stopped leaves no trace. The same lessons, seed, processor and version of torch give the same files.
Part of the lessons is held back at first, and the model's proposals for them are kept, so that whoever joins this tier
with others sees it as it is with requests it has not learnt; then it goes on with all of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth.errors import MissingExtraError, RequestError
from hearth.protocols import Encoder, Proposal
from hearth.types import Demonstration, ToolSpec

INSTALL_COMMAND = "pip install 'hearth-agent[train]'"
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class Lesson:
    """One request and what teachers said of it."""

    id: str
    request: str
    plans: tuple[tuple[tuple[str, ...], float], ...]
    """Tools in order, each with its weight: several teachers' plans, or several of one teacher with their chances."""
    steps: tuple[str, ...] = ()
    """What each step of the first plan was said to do; made requests are put together from them."""
    ranking: tuple[tuple[tuple[str, ...], float], ...] = ()
    """The teacher's candidates with its scores, as log-probabilities up to a constant: their order is learnt."""
    step_chances: tuple[Mapping[str, float], ...] = ()
    """The teacher's chances of each tool at each step of the first plan and then of the end (`""`)."""
    wrong: frozenset[int] = frozenset()
    """Places in the first plan of steps that were wrong: seen as what came before, never learnt."""


Shares = Sequence[tuple[tuple[str, ...], float]]
"""Tools of plans, in order, each with its share."""


def lesson_of(demonstration: Demonstration, held_likely: Shares = ()) -> Lesson | None:
    """What a demonstration teaches; None of an empty plan. A tool used twice counts where it is first.

    Args:
        held_likely: All that its teacher held likely, its own plan first: learnt by their shares, and ranked by them.
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
    """A plan that failed and the one that was right: the first wrong step is kept as what came before, masked out.

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
    """How tier two is trained."""

    n_epochs: int = 6
    n_epochs_more: int = 1
    """With all lessons, after the proposals for the held-back part were made; 0 leaves the held-back part unlearnt."""
    held_share: float = 0.12
    """Of the lessons, held back at first; 0 makes no held proposals."""
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
    """How often what was learnt of a tool beyond its text is left out, so that the text alone must do."""
    dropout: float = 0.1
    width: int = 256
    n_blocks: int = 2
    n_upper: int = 2
    rank: int = 16
    """Of what is kept of the change to each matrix of the encoder."""
    n_threads: int = 1


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one pass over the lessons did."""

    number: int
    n_epochs: int
    n_texts: int
    """Taught and made."""
    loss: float
    sequence_loss: float
    """Nats a step."""
    cpu_s: float
    """Since the start."""


@dataclass(frozen=True, slots=True)
class Trained:
    folder: Path
    held: Mapping[str, Proposal]
    """Proposals for held-back lessons by id, made before they were learnt."""
    record: Mapping[str, object]
    """How it was made: hash of the lessons, seed, command, options, losses, scores on the held-back part, parent."""


@dataclass(frozen=True, slots=True)
class Task:
    """All that a run works on; made by `train`."""

    lessons: tuple[Lesson, ...]
    tools: Mapping[str, ToolSpec]
    encoder: Encoder
    folder: Path
    options: AdapterOptions
    seed: int
    start_from: Path | None = None
    graph: frozenset[tuple[str, str]] | None = None
    command: tuple[str, ...] = field(default=())

    def sha256(self) -> str:
        """Hash of the lessons, whatever their order."""
        lines = sorted(
            json.dumps([one.id, one.request, one.plans, one.steps, one.ranking, sorted(one.wrong)])
            for one in self.lessons
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def train(
    lessons: Sequence[Demonstration | Lesson],
    tools: Mapping[str, ToolSpec],
    folder: Path,
    *,
    seed: int = 0,
    options: AdapterOptions | None = None,
    start_from: Path | None = None,
    replay: Sequence[Demonstration | Lesson] = (),
    graph: frozenset[tuple[str, str]] | None = None,
    encoder: Encoder | None = None,
    command: Sequence[str] = (),
) -> Iterator[Epoch | Trained]:
    """Train a pointer; yields each epoch and last what was made, in `folder`.

    Args:
        lessons: Passed over when the first plan is empty, uses a tool twice or one that is not on offer. Such further
            plans and candidates of a ranking are left out.
        folder: Must not exist; appears whole at the end.
        start_from: Folder of an earlier training to go on from.
        replay: Earlier lessons mixed in, so that going on does not forget. Leave them out only to measure forgetting.
        graph: Links that are possible, for the held proposals.
        encoder: For texts of tools; the shipped one is opened when left out.
    Raises:
        MissingExtraError: torch is not installed.
        RequestError: Fewer than four lessons, or the folder exists; nothing was changed.
        StoreCorruptError: What to start from is damaged.
    """
    try:
        # The one heavy library that only training needs.
        from hearth.learning.finetune.pointer_training import run
    except ImportError as error:
        if error.name != "torch":
            raise
        raise MissingExtraError("training of the planner's second tier", INSTALL_COMMAND) from None
    if folder.exists():
        raise RequestError(f"the folder {str(folder)!r} exists; name one that does not")
    read: dict[str, Lesson] = {}
    for one in (*replay, *lessons):
        lesson = lesson_of(one) if isinstance(one, Demonstration) else one
        if lesson is not None and _is_usable(lesson, tools):
            read[lesson.id] = _without_unusable(lesson, tools)
    if len(read) < _FEWEST:
        raise RequestError(f"{len(read)} lessons with known tools; training needs at least {_FEWEST}")
    if encoder is None:
        from hearth.models.encoder.sentence_encoder import MiniLMEncoder

        encoder = MiniLMEncoder.open()
    chosen = tuple(read[id] for id in sorted(read))
    task = Task(chosen, tools, encoder, folder, options or AdapterOptions(), seed, start_from, graph, tuple(command))
    return run(task)


def _is_usable(lesson: Lesson, tools: Mapping[str, ToolSpec]) -> bool:
    first = next((plan for plan, weight in lesson.plans if weight > 0), ())
    return _is_plan(first, tools)


def _is_plan(plan: Sequence[str], tools: Mapping[str, ToolSpec]) -> bool:
    return 0 < len(plan) == len(set(plan)) and all(tool in tools for tool in plan)


def _without_unusable(lesson: Lesson, tools: Mapping[str, ToolSpec]) -> Lesson:
    plans = tuple((tuple(plan), weight) for plan, weight in lesson.plans if weight > 0 and _is_plan(plan, tools))
    ranking = tuple((tuple(plan), score) for plan, score in lesson.ranking if _is_plan(plan, tools))
    return replace(lesson, plans=plans, ranking=ranking)
