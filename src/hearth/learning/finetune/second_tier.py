"""Tier two of a state: a trained model's proposals, made from all that was learnt and promoted only through the gate.

The model lies in a folder of its own below `learned/`, beside what it proposed for demonstrations that were held back
from it: by those alone it is judged, and trusted. Without torch nothing is trained, and what was trained still plans.
"""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.atomic_files import replacing
from hearth.errors import HearthError, StoreError
from hearth.formats.plan_json import plan_from_json
from hearth.learning.demonstration_store import Entry
from hearth.learning.finetune.trainer import Lesson, lesson_of, reflected
from hearth.learning.tasks import grouped
from hearth.learning.versions import promotion_gate
from hearth.learning.versions.promotion_gate import Verdict, node_f1
from hearth.protocols import Proposal, Proposer
from hearth.types import Demonstration, ToolSpec

if TYPE_CHECKING:
    from hearth.learning.learned_state import Progress, State

LEAST_TAUGHT = 200
"""With fewer demonstrations tier one and the neighbours are as good, and training is not worth its minutes."""
_DUE_SHARE = 0.1
_HELD = "held.json"


def opened(folder: Path, tools: Mapping[str, ToolSpec], graph: frozenset[tuple[str, str]] | None) -> Proposer | None:
    """The trained model in `folder`; None when it is damaged: the rest plans without it."""
    from hearth.models.pointer import Pointer  # with onnxruntime's session, for those who trained one

    try:
        return Pointer.open(folder, tools, graph=graph)
    except StoreError:
        return None


def fault(folder: Path) -> str:
    """What is wrong with the files of a trained model: "gone", "damaged", or nothing."""
    if not folder.exists():
        return "gone"
    from hearth.models.pointer import read_record

    try:
        read_record(folder)
    except StoreError:
        return "damaged"
    return ""


def lost(state: State) -> str:
    """For a person: the trained model in use takes no part any more, and why; empty when it does, or there is none."""
    current = state.lineage.current()
    what = fault(state.path(current.adapter)) if current is not None and current.adapter else ""
    return f"tier two takes no part: its files are {what}; `hearth learn --tier two` trains another" if what else ""


def held(folder: Path) -> dict[str, Proposal]:
    """What the model proposed for demonstrations it had not learnt, by id."""
    try:
        data: Any = json.loads((folder / _HELD).read_bytes())
        return {
            id: Proposal(
                tools,
                tuple((tuple(sequence), log) for sequence, log in sequences),
                {(a, b): value for a, b, value in links},
            )
            for id, (tools, sequences, links) in data.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _write_held(folder: Path, proposals: Mapping[str, Proposal]) -> None:
    data = {
        id: [dict(p.tools), [[list(s), log] for s, log in p.sequences], [[*pair, v] for pair, v in p.link.items()]]
        for id, p in sorted(proposals.items())
    }
    with replacing(folder / _HELD) as file:
        file.write(json.dumps(data).encode())


def is_due(state: State) -> bool:
    """Whether training pays now: enough was learnt, and a tenth of it since the model in use was trained."""
    current = state.lineage.current()
    if current is None or len(state.student) < LEAST_TAUGHT:
        return False
    if not current.adapter or fault(state.path(current.adapter)):
        return True
    trained = next(v for v in state.lineage.versions() if v.adapter == current.adapter)
    before, now = state.lineage.members(trained.number), state.lineage.members(current.number)
    return sum(before.get(id) != digest for id, digest in now.items()) >= _DUE_SHARE * len(before)


def train(state: State, progress: Progress) -> tuple[int | None, Verdict]:
    """Train on all that the current version was made from; a new version weighs it, if the gate lets it.

    Stopped in the middle, nothing has changed.

    Returns:
        The number of the version made, None when the gate refused it; and the gate's word.
    Raises:
        MissingExtraError: torch is not installed. HearthError: There is too little to learn from.
    """
    from hearth.learning.finetune.trainer import Trained, train as train_adapter  # noqa: I001 - with torch behind it

    current = state.lineage.current()
    if current is None or len(state.student) < LEAST_TAUGHT:
        raise HearthError(f"tier two is trained from {LEAST_TAUGHT} demonstrations on; there are {len(state.student)}")
    started_s = time.process_time()
    members = state.lineage.members(current.number)
    shown = [_lesson(state, entry) for entry in state.buffer.of(members).values()]
    name = f"pointer-{secrets.token_hex(4)}"
    folder = state.path(name)
    folder.parent.mkdir(exist_ok=True)
    try:
        made: Trained | None = None
        for part in train_adapter(shown, state.tools, folder, graph=state.graph, encoder=state.encoder):
            if isinstance(part, Trained):
                made = part
            else:
                progress("tier two", part.number, part.n_epochs)
        assert made is not None
        _write_held(folder, made.held)
        return _judged(state, name, made.held, made.record, members, progress, started_s)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _lesson(state: State, entry: Entry) -> Demonstration | Lesson:
    """A demonstration; with all that its teacher held likely, or, where it corrects a recorded plan, together with the
    step that was wrong first."""
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
    # A step the owner did not want may be of a tool that is gone; then the right plan alone is learnt.
    return lesson if lesson.wrong and set(failed) <= set(state.tools) else given


def _judged(
    state: State,
    name: str,
    proposals: Mapping[str, Proposal],
    made: Mapping[str, object],
    members: Mapping[str, str],
    progress: Progress,
    started_s: float,
) -> tuple[int | None, Verdict]:
    """Compare plans for what was held back from the model, with it and without."""
    current = state.lineage.current()
    assert current is not None
    student = state.student
    ids = sorted(proposals.keys() & set(student.ids))
    gold = {id: student.taught(id).sequence for id in ids}

    def scores() -> dict[str, float]:
        found = student.rank_left_out(ids)
        return {id: node_f1(r.candidates[0].tools if r.candidates else (), gold[id]) for id, r in zip(ids, found)}

    before = scores()
    state.adopt(student, name)
    student.renew()
    after = scores()
    groups = grouped(state.lineage.tasks(current.number), ids, promotion_gate.LEAST_SAMPLES)
    verdict = promotion_gate.judge(before, after, groups, taught_new=False)
    if not verdict.is_promoted:
        state.refresh()
        return None, verdict
    described = state.describe(student, members, state.lineage.samples(current.number), progress)
    number = state.promote(
        student,
        members,
        described,
        (),
        parent=current.number,
        reason="tier two trained",
        verdict=verdict,
        cpu_s=time.process_time() - started_s,
        adapter=name,
        tier_two=made,
    )
    return number, verdict
