"""The record of requests: on disk when it says so, complete for resuming, growing with the steps and no faster."""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hearth.errors import NotFound, StoreError
from hearth.storage.database import Store
from hearth.storage.trace import (
    CallRecord,
    StartedStep,
    Trace,
    UnfinishedEpisode,
    as_read,
    label_from_text,
    label_text,
    moment_text,
    parse_moment,
)
from hearth.testing import FIXED_NOW
from hearth.types import (
    OWNER,
    PUBLIC,
    Answer,
    Disclosure,
    Episode,
    Evidence,
    Label,
    Offer,
    Plan,
    Record,
    Ref,
    Refusal,
    Request,
    Ruling,
    Step,
    StepResult,
)

REQUEST = Request("move the dentist to Friday", FIXED_NOW, "line-7")
PLAN = Plan(
    (Step("find_events", {"query": "dentist"}), Step("move_event", {"event": Ref(0, ("id",)), "start": "2026-11-27"})),
    confidence=0.123456789,
    planner="recall",
    rests_on=("d1",),
    unserved=("and sing",),
    offer=Offer("add_note", "write it down"),
)
RULING = Ruling("allow", "said yes", "policy.move_event")
FOUND = StepResult(0, "done", [{"id": "dentist.ics"}], Label(frozenset({"device"}), frozenset()), key="e1-0")
MOVED = StepResult(1, "done", {"id": "dentist.ics"}, OWNER, key="e1-1", duration_ms=1.5, n_attempts=2)
EPISODE = Episode(
    "e1", REQUEST, PLAN, None, RULING, (FOUND, MOVED), Answer("Moved.", "done", (Evidence(1, "moved", "move_event"),)),
    (Disclosure("example.org", 12, "calendar", FIXED_NOW),), 12.5, 3.25, 1,
)  # fmt: skip


def started(step: int, key: str = "") -> StartedStep:
    return StartedStep(
        step, f"tool{step}", key or f"e1-{step}", {"query": "dentist", "n": [1, None]}, FIXED_NOW, "change"
    )


@pytest.fixture
def trace(store: Store) -> Trace:
    return Trace(store)


def test_an_episode_read_back_equals_the_one_finished(trace: Trace, store: Store) -> None:
    trace.begin(REQUEST, "e1")
    trace.planned("e1", PLAN, None, RULING, 3.25)
    trace.steps("e1", finished=(), started=(started(0),))
    trace.steps("e1", finished=(FOUND,), started=(started(1),))
    trace.steps("e1", finished=(MOVED,), started=())
    trace.finish(EPISODE)
    for reader in (trace, Trace(store)):
        assert reader.episode("e1") == EPISODE
        assert reader.episodes() == (EPISODE,)
        assert reader.unfinished() == ()
        assert reader.calls("e1") == (CallRecord(started(0), FOUND), CallRecord(started(1), MOVED))


def test_a_refusal_and_results_that_were_never_steps(trace: Trace) -> None:
    refusal = Refusal("needs", "at what time?", ("add_reminder.at",), Offer("add_note", "note it"), "recall")
    refused = Episode("e1", REQUEST, None, refusal, None, (), Answer("At what time?", "needs"))
    trace.begin(REQUEST, "e1")
    trace.planned("e1", None, refusal, None, 1.0)
    trace.finish(refused)
    assert trace.episode("e1") == refused

    denied = StepResult(0, "denied", error="not allowed", error_kind="DeniedError")
    episode = Episode("e2", REQUEST, PLAN, None, RULING, (denied,), Answer("No.", "denied"))
    trace.begin(REQUEST, "e2")
    trace.finish(episode)
    assert trace.episode("e2") == episode
    assert trace.calls("e2") == (CallRecord(None, denied),)
    assert trace.episodes(limit=1) == (episode,)


def test_what_finish_finds_changed_is_written_and_the_rest_is_not_written_twice(trace: Trace, store: Store) -> None:
    trace.begin(REQUEST, "e1")
    trace.steps("e1", finished=(FOUND, dataclasses.replace(MOVED, status="failed")), started=())
    times = store.query("SELECT finished_unix_s FROM step ORDER BY place")
    trace.finish(EPISODE)
    again = store.query("SELECT finished_unix_s FROM step ORDER BY place")
    assert again[0][0] == times[0][0]
    assert again[1][0] > times[1][0]
    assert trace.episode("e1") == EPISODE


def test_finish_by_a_process_that_did_not_begin(trace: Trace, store: Store) -> None:
    trace.begin(REQUEST, "e1")
    trace.steps("e1", finished=(FOUND,), started=(started(0), started(1)))
    Trace(store).finish(EPISODE)
    assert trace.episode("e1") == EPISODE


def test_unfinished_gives_all_that_resuming_needs(trace: Trace, store: Store) -> None:
    trace.begin(Request("first", FIXED_NOW), "e0")
    trace.begin(REQUEST, "e1")
    trace.planned("e1", PLAN, None, RULING, 3.25)
    trace.steps("e1", finished=(), started=(started(0),))
    trace.steps("e1", finished=(FOUND,), started=(started(1),))
    first, second = Trace(store).unfinished()
    assert first == UnfinishedEpisode("e0", Request("first", FIXED_NOW), None, None, None, 0.0, (), ())
    assert second == UnfinishedEpisode("e1", REQUEST, PLAN, None, RULING, 3.25, (FOUND,), (started(1),))
    assert second.started[0].at.tzinfo == ZoneInfo("Europe/Berlin")


def test_a_step_started_again_keeps_its_first_time_and_loses_its_old_result(trace: Trace) -> None:
    trace.begin(REQUEST, "e1")
    trace.steps("e1", finished=(), started=(started(0),))
    trace.steps("e1", finished=(StepResult(0, "unknown", "old", OWNER, "cut off", "X", key="e1-0"),), started=())
    later = dataclasses.replace(started(0), at=FIXED_NOW + dt.timedelta(hours=1))
    trace.steps("e1", finished=(), started=(later,))
    (left,) = trace.unfinished()
    assert left.started == (started(0),)
    assert left.results == ()


def test_a_plan_that_grows_by_repair(trace: Trace) -> None:
    trace.begin(REQUEST, "e1")
    trace.planned("e1", PLAN, None, RULING, 3.25)
    trace.steps("e1", finished=(FOUND, dataclasses.replace(MOVED, status="failed")), started=())
    grown = dataclasses.replace(PLAN, steps=(*PLAN.steps, Step("add_event", {"title": "dentist"}, replaces=1)))
    trace.planned("e1", grown, None, RULING, 4.5)
    trace.steps("e1", finished=(), started=(started(2),))
    (left,) = trace.unfinished()
    assert left.plan == grown
    assert [r.status for r in left.results] == ["done", "failed"]
    assert [s.step for s in left.started] == [2]


def test_steps_are_one_transaction(trace: Trace, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    trace.begin(REQUEST, "e1")
    with pytest.raises(ValueError, match="Out of range float"):
        trace.steps("e1", finished=(dataclasses.replace(FOUND, value=float("nan")),), started=(started(1),))
    assert trace.calls("e1") == ()
    n_commits: list[str] = []
    store._connection.set_trace_callback(n_commits.append)
    trace.steps("e1", finished=(FOUND,), started=(started(1),))
    store._connection.set_trace_callback(None)
    assert [text for text in n_commits if text.startswith(("BEGIN", "COMMIT"))] == ["BEGIN IMMEDIATE", "COMMIT"]


def test_unknown_open_and_doubled_ids(trace: Trace) -> None:
    with pytest.raises(NotFound, match="no episode 'e9'; `hearth history`"):
        trace.episode("e9")
    with pytest.raises(NotFound, match="no episode 'e9'"):
        trace.steps("e9", finished=(), started=(started(0),))
    trace.begin(REQUEST, "e1")
    with pytest.raises(NotFound, match="episode 'e1' was not finished; the next start"):
        trace.episode("e1")
    with pytest.raises(StoreError, match="UNIQUE"):
        trace.begin(REQUEST, "e1")


def test_a_large_result_is_stored_once(trace: Trace, home: Path, store: Store) -> None:
    large = "x" * 300_000
    trace.begin(REQUEST, "e1")
    store.erase_traces()
    before = (home / "hearth.db").stat().st_size
    results = tuple(StepResult(k, "done", large, key=f"e1-{k}") for k in range(5))
    for result in results:
        trace.steps("e1", finished=(result,), started=())
    episode = dataclasses.replace(EPISODE, results=results)
    trace.finish(episode)
    assert trace.episode("e1") == episode
    store.erase_traces()
    assert (home / "hearth.db").stat().st_size - before < 2 * 300_000
    with store.transaction() as cursor:
        cursor.execute("DELETE FROM large_value")
    with pytest.raises(StoreError, match="of a step is missing; run `hearth doctor`"):
        trace.episode("e1")


def n_bytes(home: Path, n_steps: int) -> int:
    """Bytes in use after one episode of that many steps, each with 800 bytes of arguments and result."""
    path = home / f"{n_steps}.db"
    with Store.open(path) as store:
        trace = Trace(store)
        trace.begin(REQUEST, "e")
        trace.planned("e", PLAN, None, RULING, 1.0)
        previous: tuple[StepResult, ...] = ()
        for k in range(n_steps):
            call = dataclasses.replace(started(k), arguments={"text": "x" * 400})
            trace.steps("e", finished=previous, started=(call,))
            previous = (StepResult(k, "done", "y" * 400, OWNER, key=call.key),)
        results = tuple(dataclasses.replace(previous[0], step=k, key=f"e1-{k}") for k in range(n_steps))
        trace.finish(Episode("e", REQUEST, PLAN, None, RULING, results, Answer("", "done")))
        size, n, n_free = (
            store.query(f"PRAGMA {name}")[0][0] for name in ("page_size", "page_count", "freelist_count")
        )
    return int(size * (n - n_free))


def test_the_record_grows_linearly_with_the_steps(home: Path) -> None:
    empty, *sizes = (n_bytes(home, n_steps) for n_steps in (0, 10, 20, 40, 80))
    per_step = [(size - empty) / n_steps for size, n_steps in zip(sizes, (10, 20, 40, 80), strict=True)]
    assert max(per_step) < 1.5 * min(per_step), per_step
    assert max(per_step) < 1600, "at most twice what the step holds"


KILLED = """
    import datetime as dt, os, signal, sys
    from pathlib import Path
    from hearth.storage.database import Store
    from hearth.storage.trace import StartedStep, Trace
    from hearth.types import Request, StepResult

    trace = Trace(Store.open(Path(sys.argv[1])))
    now = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
    trace.begin(Request("x", now), "e")
    for k in range(int(sys.argv[2])):
        trace.steps("e", finished=(), started=(StartedStep(k, "t", f"k{k}", {}, now, "none"),))
        trace.steps("e", finished=(StepResult(k, "done", k, key=f"k{k}"),), started=())
    trace.steps("e", finished=(), started=(StartedStep(k + 1, "t", "last", {}, now, "send"),))
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_was_recorded_survives_a_killed_process(home: Path) -> None:
    path = home / "hearth.db"
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), path, "5"], check=False)
    assert done.returncode == -9
    with Store.open(path) as store:
        (left,) = Trace(store).unfinished()
    assert [r.value for r in left.results] == [0, 1, 2, 3, 4]
    assert [s.key for s in left.started] == ["last"]


def test_moments_keep_their_zone() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    for moment in (
        FIXED_NOW,
        dt.datetime(2026, 10, 25, 2, 30, tzinfo=berlin),
        dt.datetime(2026, 10, 25, 2, 30, tzinfo=berlin, fold=1),
        dt.datetime(2026, 3, 29, 2, 30, tzinfo=berlin),
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=45))),
        dt.datetime(2026, 1, 1),
    ):
        back = parse_moment(moment_text(moment))
        assert (back, back.tzinfo, back.utcoffset()) == (moment, moment.tzinfo, moment.utcoffset())
    assert parse_moment("2026-11-20T09:30:00+01:00[Atlantis/Center]") == FIXED_NOW
    with pytest.raises(ValueError, match="is not a moment such as"):
        parse_moment("[Europe/Berlin]")


def test_labels_as_text() -> None:
    for label in (PUBLIC, OWNER, Label(frozenset({"web"}), frozenset({"a", "b"})), Label(frozenset(), frozenset())):
        assert label_from_text(label_text(label)) == label
    assert label_text(PUBLIC) == ""


def test_wrongly_encoded_requests_are_kept(trace: Trace) -> None:
    request = Request(os.fsdecode(b"caf\xe9\0"), FIXED_NOW)
    trace.begin(request, "e1")
    assert trace.unfinished()[0].request == request


def test_what_a_request_pointed_at_is_read_back(trace: Trace) -> None:
    pointed = (Record("EventId", "a.ics#2", "the event"), Record("PersonName", "Ana “Łucja” Ó", "Ana"))
    request = Request("move the event with Ana", FIXED_NOW, records=pointed)
    trace.begin(request, "pointed")
    assert trace.unfinished()[0].request.records == pointed


@pytest.mark.parametrize(
    ("stored", "read"),
    [
        (r'{"text": "the shed code is \ud83e\udd8ax9"}', '{"text": "the shed code is 🦊x9"}'),
        (r"the file is in C:\users\zanzibar\plan", r"the file is in C:\users\zanzibar\plan"),
        (r'"C:\\u00e9"', r'"C:\\u00e9"'),
        (r"lone \ud83e", "lone \ufffd"),
        (None, ""),
    ],
)
def test_a_column_is_read_as_a_person_reads_it(stored: str | None, read: str) -> None:
    assert as_read(stored) == read
