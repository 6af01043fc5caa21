"""Train tier two, an adapted encoder and a pointer over tools, from demonstrations; only this needs torch.

A run yields a report for each epoch and last what it made. Nothing is on disk before the end and everything after it: a
run that is stopped leaves no trace. The same lessons, seed, processor and version of torch give the same files. Part of
the lessons is held back at first, and the model's proposals for them are kept, so that whoever combines this tier with
others knows how it does on requests it has not learnt; then training goes on with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from hearth.errors import MissingExtraError, RequestError
from hearth.learning.finetune.lessons import Epoch, Lesson, Task, Trained, lesson_of
from hearth.types import Demonstration, ToolSpec

INSTALL_COMMAND = "pip install 'hearth-agent[train]'"
_FEWEST = 4


def train(task: Task) -> Iterator[Epoch | Trained]:
    """Train a pointer; yields each epoch and last what was made.

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
    if task.folder.exists():
        raise RequestError(f"the folder {str(task.folder)!r} exists; name one that does not")
    read: dict[str, Lesson] = {}
    for one in (*task.replay, *task.lessons):
        lesson = lesson_of(one) if isinstance(one, Demonstration) else one
        if lesson is not None and _is_usable(lesson, task.tools):
            read[lesson.id] = _without_unusable(lesson, task.tools)
    if len(read) < _FEWEST:
        raise RequestError(f"{len(read)} lessons with known tools; training needs at least {_FEWEST}")
    return run(task, tuple(read[id] for id in sorted(read)))


def _is_usable(lesson: Lesson, tools: Mapping[str, ToolSpec]) -> bool:
    first = next((plan for plan, weight in lesson.plans if weight > 0), ())
    return _is_plan(first, tools)


def _is_plan(plan: Sequence[str], tools: Mapping[str, ToolSpec]) -> bool:
    return 0 < len(plan) == len(set(plan)) and all(tool in tools for tool in plan)


def _without_unusable(lesson: Lesson, tools: Mapping[str, ToolSpec]) -> Lesson:
    plans = tuple((tuple(plan), weight) for plan, weight in lesson.plans if weight > 0 and _is_plan(plan, tools))
    ranking = tuple((tuple(plan), score) for plan, score in lesson.ranking if _is_plan(plan, tools))
    return replace(lesson, plans=plans, ranking=ranking)
