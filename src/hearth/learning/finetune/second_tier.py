"""Trains the second tier in a process of its own, and has it judged."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hearth.errors import HearthError, MissingExtraError, RequestError
from hearth.formats.plans import plan_from_json
from hearth.learning.demonstration_store import Entry
from hearth.learning.finetune.lessons import Epoch, Lesson, Task, Trained, lesson_of, reflected
from hearth.learning.versions.drafting import Drafts, adopt, compared, solved
from hearth.learning.versions.learned_state import Promotion, tier_fault, write_held
from hearth.learning.versions.promotion_gate import Verdict, scored
from hearth.types import Demonstration, ToolSpec

if TYPE_CHECKING:
    from hearth.learning.versions.learned_state import Progress, State


# ── Second tier ───────────────────────────────────────────────────────────────────────────────────────────
# Train tier two of what drafts: a model trained on all that was learnt and promoted only through the gate.
#
# The model lies in a folder of its own below `learned/`, beside its proposals for demonstrations that were held back
# from it: it is judged, and trusted, by those alone. Without torch nothing is trained, but an earlier model still
# plans.

LEAST_TAUGHT = 200
"""Fewest demonstrations that training pays for: with fewer, tier one and the neighbours are as good."""
_DUE_SHARE = 0.1


def is_due(state: State) -> bool:
    """Say whether training pays now: enough was learnt, and a tenth of it since the model in use was trained."""
    current = state.lineage.current()
    if current is None or len(state.buffer) < LEAST_TAUGHT:
        return False
    if not current.adapter or tier_fault(state.path(current.adapter)):
        return True
    trained = next(v for v in state.lineage.versions() if v.adapter == current.adapter)
    before, now = state.lineage.members(trained.number), state.lineage.members(current.number)
    return sum(before.get(id) != digest for id, digest in now.items()) >= _DUE_SHARE * len(before)


def train(state: State, progress: Progress) -> tuple[int | None, Verdict]:
    """Train on all that the current version was made from; if the gate lets it, a new version uses the model.

    Stopped in the middle, nothing has changed.

    Returns:
        The number of the version made, None when the gate refused it; and the gate's verdict.
    Raises:
        MissingExtraError: torch is not installed. HearthError: There is too little to learn from.
    """

    current = state.lineage.current()
    if current is None or len(state.buffer) < LEAST_TAUGHT:
        raise HearthError(f"tier two is trained from {LEAST_TAUGHT} demonstrations on; there are {len(state.buffer)}")
    started_s = time.process_time()
    members = state.lineage.members(current.number)
    shown = [_lesson(state, entry) for entry in state.buffer.of(members).values()]
    name = f"pointer-{secrets.token_hex(4)}"
    folder = state.path(name)
    folder.parent.mkdir(exist_ok=True)
    try:
        made: Trained | None = None
        for part in train_pointer(Task(shown, state.tools, state.encoder, folder, graph=state.graph)):
            if isinstance(part, Trained):
                made = part
            else:
                progress("tier two", part.number, part.n_epochs)
        assert made is not None
        write_held(folder, made.held)
        return _judged(state, name, made, progress, started_s)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _lesson(state: State, entry: Entry) -> Demonstration | Lesson:
    """Turn a stored demonstration into a lesson: with all plans its teacher held likely, or, where it corrects a
    recorded plan, together with the step that was wrong first."""
    given = entry.demonstration
    if entry.held_likely:
        return lesson_of(given, entry.held_likely) or given
    if given.source != "owner" or not entry.episode or not given.plan.steps:
        return given
    rows = state.store.query("SELECT plan_json FROM episode WHERE id = ? AND plan_json IS NOT NULL", (entry.episode,))
    if not rows:
        return given
    failed = [step.tool for step in plan_from_json(json.loads(rows[0]["plan_json"])).steps]
    lesson = reflected(given.id, given.request, failed, [step.tool for step in given.plan.steps])
    # A step the owner did not want may be of a tool that is gone; then only the right plan is learnt.
    return lesson if lesson.wrong and set(failed) <= set(state.tools) else given


def _judged(state: State, name: str, made: Trained, progress: Progress, started_s: float) -> tuple[int | None, Verdict]:
    """Compare drafts for the held-back demonstrations, with the model and without."""
    current = state.lineage.current()
    assert current is not None
    ranker = solved(state)
    ids = sorted(made.held.keys() & set(ranker.ids))
    before = scored(Drafts(ranker), ids)
    adopt(state, ranker, name)
    ranker.renew()
    verdict = compared(state, before, scored(Drafts(ranker), ids))
    if not verdict.is_promoted:
        state.sweep()
        return None, verdict
    prior = str(current.record.get("prior", ""))
    cpu_s = time.process_time() - started_s
    why = Promotion(current.number, "tier two trained", verdict, cpu_s, name, prior, made.record)
    return state.promote_with(why, progress), verdict


# ── Trainer ───────────────────────────────────────────────────────────────────────────────────────────────
# Train tier two, an adapted encoder and a pointer over tools, from demonstrations; only this needs torch.
#
# A run yields a report for each epoch and last what it made. Nothing is on disk before the end and everything after
# it: a run that is stopped leaves no trace. The same lessons, seed, processor and version of torch give the same
# files. Part of the lessons is held back at first, and the model's proposals for them are kept, so that whoever
# combines this tier with others knows how it does on requests it has not learnt; then training goes on with all of
# them.

INSTALL_COMMAND = "pip install 'hearth-agent[train]'"
_FEWEST = 4


def train_pointer(task: Task) -> Iterator[Epoch | Trained]:
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
