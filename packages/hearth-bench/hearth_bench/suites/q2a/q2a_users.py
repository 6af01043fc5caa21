"""Measure Q2A's owners side by side, each in a process of its own, here or on a Ray cluster.

`run_user` is the program of one owner; an engine (`hearth_bench.ianvs.cases.local_processes`,
`hearth_bench.ianvs.cases.ray_engine`) starts it. A folder for each owner holds `user.json` (the order),
`result.json` (the result, with every plan), `outcome.json` and `log.txt`.

Covered: the same numbers to the bit however many run at once, and wherever, except times; an owner whose process fails
is named, and the others are on disk.
Not covered: copying code to other machines: they see the same files under the same paths.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hearth.cli.invocation import Progress
from hearth.errors import HearthError, RequestError, StoreError
from hearth.formats.plans import plan_from_json, plan_to_json
from hearth.types import Plan
from hearth_bench.data.q2a_instructions import Sample, read_owner
from hearth_bench.ianvs.case_outcome import Outcome, Report, read_outcome, write_outcome
from hearth_bench.ianvs.cases.local_processes import Case, Engine, Event
from hearth_bench.run_record import write_json
from hearth_bench.suites.q2a.q2a_suite import WAYS, Judged, Part, UserResult, measure_user

PROGRAM = "hearth_bench.suites.q2a.q2a_users:run_user"
_SCORES = (
    "is_planned", "node_f1", "link_f1", "tools_right", "is_exact", "is_executed", "wrong_side_effect", "rouge", "ms",
)  # fmt: skip


def users_side_by_side(engine: Engine, folder: Path, part: Part, progress: Progress) -> list[UserResult]:
    """Measure every owner, as many at once as the engine runs.

    Args:
        folder: Folder that holds a folder for each owner; it is created.
    Raises:
        RequestError: Some owners could not be measured; names all of them, after the others were measured.
        StoreError: Nothing can be written (full disk).
    """
    cases = []
    owners = part.owners
    for number, owner in enumerate(owners, 1):
        place = folder / owner
        asked = {
            "owner": owner,
            "owners": list(owners),
            "split": part.split,
            "n_each": part.n_each,
        }
        try:
            place.mkdir(parents=True, exist_ok=True)
            (place / "outcome.json").unlink(missing_ok=True)  # of an earlier run
        except OSError as error:
            raise StoreError(f"cannot make {str(place)!r}: {error.strerror}; choose another folder") from None
        write_json(place / "user.json", asked)
        cases.append(Case(number, owner, place))
    failed: dict[str, str] = {}
    events = engine.run(cases)
    try:
        with progress.stage(f"Q2A, {len(owners)} owners", 1000 * len(owners), counts=False) as advance:
            for event, gained in _shares(events):
                advance(gained)
                if event.has_ended:
                    _note(event, failed)
                    progress.say(f"{event.case.label}: {failed.get(event.case.label, 'done')}")
    finally:
        events.close()  # type: ignore[attr-defined]
    if failed:
        raise RequestError("; ".join(f"{owner}: {why}" for owner, why in failed.items()))
    return [result_from_json(json.loads((folder / owner / "result.json").read_text())) for owner in owners]


def _shares(events: Iterator[Event]) -> Iterator[tuple[Event, int]]:
    """Yield each event with the progress it brings, in thousandths of an owner."""
    done: dict[int, int] = {}
    for event in events:
        before = done.get(event.case.number, 0)
        done[event.case.number] = max(before, 1000 if event.has_ended else int(1000 * event.share))
        yield event, done[event.case.number] - before


def _note(event: Event, failed: dict[str, str]) -> None:
    """Record why an owner was not measured. Raises: StoreError, if nothing can be written."""
    if not event.could_write:
        raise StoreError(f"{event.case.label}: {event.fault}")
    outcome = read_outcome(event.case.folder)
    if outcome is None or outcome.status != "done":
        why = outcome.error if outcome is not None else event.fault
        failed[event.case.label] = f"{why or 'it ended without a result'}; see {event.case.folder / 'log.txt'}"


# ── As JSON ───────────────────────────────────────────────────────────────────────────────────────────────


def result_to_json(result: UserResult) -> dict[str, Any]:
    """Convert a result to JSON, floats exact to the bit."""
    return {
        "owner": result.owner,
        "judged": {way: [_judged_to_json(one) for one in result.judged[way]] for way in WAYS},
        "rows": dict(result.rows),
        "before": result.before,
        "floor": [_judged_to_json(one) for one in result.floor],
    }


def _judged_to_json(judged: Judged) -> dict[str, Any]:
    scores = {name: getattr(judged, name) for name in _SCORES}
    request = {"id": judged.sample.id, "user_request": judged.sample.request.text}
    return {**request, **scores, "plan": plan_to_json(Plan(judged.steps))}


def result_from_json(document: Mapping[str, Any]) -> UserResult:
    """Convert a result back from JSON."""
    samples = {sample.id: sample for sample in read_owner(document["owner"])}
    return UserResult(
        document["owner"],
        {way: tuple(_judged(line, samples) for line in document["judged"][way]) for way in WAYS},
        {way: document["rows"][way] for way in WAYS if way in document["rows"]},
        document["before"],
        tuple(_judged(line, samples) for line in document["floor"]),
    )


def _judged(line: Mapping[str, Any], samples: Mapping[str, Sample]) -> Judged:
    steps = plan_from_json(line["plan"]).steps
    return Judged(sample=samples[line["id"]], steps=steps, **{name: line[name] for name in _SCORES})


# ── The program of one owner ──────────────────────────────────────────────────────────────────────────────


def run_user(folder: Path, report: Report) -> None:
    """Measure the owner that `folder/user.json` names, and write the result. Raises: StoreError."""
    from hearth.models.sentence_encoder import MiniLMEncoder

    outcome = Outcome()
    try:
        asked = json.loads((folder / "user.json").read_text())
        outcome.stage = "run"
        part = Part(asked["split"], asked["owners"], asked["n_each"])
        result = measure_user(MiniLMEncoder.open(), asked["owner"], part, report)
        write_json(folder / "result.json", result_to_json(result))
        outcome.status, outcome.stage = "done", ""
    except StoreError:
        raise
    except HearthError as error:
        outcome.error = str(error)
    write_outcome(folder, outcome)
