"""Train tier two, an adapted encoder and a pointer over tools, from demonstrations; only this needs torch.

A run yields a report for each epoch and last what it made. Nothing is on disk before the end and everything after it: a
run that is stopped leaves no trace. The same lessons, seed, processor and version of torch give the same files. Part of
the lessons is held back at first, and the model's proposals for them are kept, so that whoever combines this tier with
others knows how it does on requests it has not learnt; then training goes on with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hearth.errors import MissingExtraError, RequestError
from hearth.learning.finetune.lessons import AdapterOptions, Epoch, Lesson, Task, Trained, lesson_of
from hearth.protocols import Encoder
from hearth.types import Demonstration, ToolSpec

INSTALL_COMMAND = "pip install 'hearth-agent[train]'"
_FEWEST = 4


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
        lessons: Skipped when the first plan is empty, uses a tool twice or one that is not on offer. Further plans and
            candidates of a ranking with such faults are left out.
        folder: Must not exist; appears whole at the end.
        start_from: Folder of an earlier training to go on from.
        replay: Earlier lessons mixed in, so that going on does not forget. Leave them out only to measure forgetting.
        graph: Links that are possible, for the held proposals.
        encoder: For texts of tools; the shipped one is opened when left out.
    Raises:
        MissingExtraError: torch is not installed.
        RequestError: Fewer than four lessons, or the folder exists; nothing was changed.
        StoreCorruptError: The training to start from is damaged.
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
