"""python -m pytest tests/unit/learning/test_stream.py"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.errors import PlanError, PlannerError, RequestError, StoreFullError
from hearth.learning.corrections import correct, harvest
from hearth.learning.demonstration_store import Buffer
from hearth.learning.stream import LoopOptions, LoopReport, gather_waiting
from hearth.learning.versions.learned_state import Offer, State
from hearth.planning.deferral import Agreements
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Teacher
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, HashEncoder, ScriptedPlanner, ScriptedTeacher
from hearth.types import Context, Plan, Refusal, Request, Step, ToolSpec
from tests.unit.learning.test_harvest import LATER, NOTE, TOOLS, episode, record

READ = Plan((Step("find_notes"),), confidence=0.9, planner="recall")
UNSURE = replace(READ, confidence=0.3)
GOLD = Plan((Step("find_notes", {"query": "x"}),))
ALL = LoopOptions(compared_share=1.0)
NONE = LoopOptions(compared_share=0.0)


@pytest.fixture
def encoder() -> HashEncoder:
    return HashEncoder(dim=64)


@pytest.fixture
def state(home: Path, store: Store, encoder: HashEncoder) -> State:
    return State.open(home, encoder, Offer(TOOLS), store=store)


def run(state: State, teacher: Teacher | None, options: LoopOptions = NONE) -> LoopReport:
    *_, last = gather_waiting(state, teacher, now=LATER, options=options)
    assert last.report is not None
    return last.report


def waiting(state: State) -> list[str]:
    return sorted(entry.id for entry in state.buffer.set_aside("waiting"))


def test_what_was_done_and_stood_waits_to_be_learnt(state: State) -> None:
    record(state.store, episode("a"), episode("b", None, text="fly"))
    report = run(state, None)
    assert (report.n_looked_at, report.n_done, report.n_asked) == (2, 1, 0)
    assert waiting(state) == ["success:a"]
    assert run(state, None).n_looked_at == 1, "the one that was not planned may still be asked about"
    assert waiting(state) == ["success:a"]


def test_what_went_wrong_is_put_to_the_teacher(state: State) -> None:
    record(
        state.store, episode("b", None, text="fly"), episode("c", READ, text="sure"), episode("d", UNSURE, text="hm")
    )
    teacher = ScriptedTeacher({"fly": GOLD, "hm": GOLD})
    report = run(state, teacher)
    assert teacher.asked == ["fly", "hm"], "what was planned surely and only read is not asked about"
    assert (report.n_asked, report.n_answered, report.n_compared, report.n_agreed) == (2, 2, 1, 1)
    assert waiting(state) == ["teacher:b", "teacher:d"]
    entry = state.buffer.set_aside("waiting")[0]
    assert entry.teacher == "scripted"
    assert entry.demonstration.source == "teacher"
    assert entry.label.sources == {"owner", "teacher"}
    assert run(state, teacher).n_asked == 0


def test_by_lot_sure_plans_are_compared_too(state: State) -> None:
    record(state.store, episode("a"), episode("c", READ, text="sure"))
    run(state, ScriptedTeacher({"note milk": NOTE, "sure": Refusal("out_of_scope", "no", planner="s")}), ALL)
    seen = Agreements(state.store).outcomes("recall")
    assert [(o.confidence, o.is_right, o.is_drawn) for o in seen] == [(0.8, True, True), (0.9, False, True)]


def test_plans_of_the_student_are_compared_beside(state: State) -> None:
    record(state.store, episode("b", None, text="fly"))
    planner = ScriptedPlanner({"fly": replace(GOLD, confidence=0.6, planner="student")}, "student")
    list(gather_waiting(state, ScriptedTeacher({"fly": GOLD}), now=LATER, options=NONE, planner=planner))
    assert [o.is_right for o in Agreements(state.store).outcomes("student")] == [True]


def test_that_nothing_serves_it_is_noted_and_not_learnt(state: State) -> None:
    record(state.store, episode("b", None, text="fly"))
    teacher = ScriptedTeacher({"fly": Refusal("out_of_scope", "no", planner="s")})
    assert run(state, teacher).n_answered == 1
    assert waiting(state) == []
    assert run(state, teacher).n_asked == 0


def test_a_plan_for_a_part_is_not_learnt(state: State) -> None:
    record(state.store, episode("b", None, text="fly"))
    run(state, ScriptedTeacher({"fly": replace(GOLD, unserved=("and sing",))}))
    assert waiting(state) == []


def test_plans_with_unknown_tools_are_not_learnt(state: State) -> None:
    class Careless(ScriptedTeacher):
        def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
            for _ in requests:
                yield Plan((Step("rocket"),), planner="careless")

    record(state.store, episode("b", None, text="fly"))
    run(state, Careless({}))
    assert waiting(state) == []


def test_an_unusable_answer_is_asked_for_again_a_few_times(state: State) -> None:
    record(state.store, episode("b", None, text="fly"))
    teacher = ScriptedTeacher({})
    assert [run(state, teacher).n_asked for _ in range(5)] == [1, 1, 1, 0, 0]


def test_when_nobody_can_be_asked_the_rest_waits(state: State) -> None:
    record(state.store, *(episode(f"b{k}", None, text=f"fly {k}") for k in range(4)))

    class Down(ScriptedTeacher):
        def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
            raise PlannerError("the line is cut")

    class Spent(ScriptedTeacher):
        def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
            for request in requests:
                yield GOLD if request.text.endswith("0") else Refusal("unreadable", "the budget is spent")

    class Silent(ScriptedTeacher):
        def label(self, requests: Iterable[Request], tools: Mapping[str, ToolSpec]) -> Iterator[Plan | Refusal]:
            return iter(())

    assert run(state, Down({})).unasked == "the line is cut"
    assert "gave no answer at all" in run(state, Silent({})).unasked
    report = run(state, Spent({}))
    assert (report.n_asked, report.unasked) == (1, "the budget is spent")
    teacher = ScriptedTeacher({})
    run(state, teacher)
    assert teacher.asked == ["fly 1", "fly 2", "fly 3"]


@pytest.mark.parametrize("k", range(4))
def test_killed_between_any_two_requests_the_next_run_carries_on(state: State, k: int) -> None:
    record(state.store, episode("a"), *(episode(f"b{n}", None, text=f"fly {n}") for n in range(3)))
    teacher = ScriptedTeacher({f"fly {n}": GOLD for n in range(3)})
    stages = gather_waiting(state, teacher, now=LATER, options=NONE)
    for _ in range(k + 1):
        next(stages)
    stages.close()  # type: ignore[attr-defined]
    run(state, teacher)
    assert sorted(teacher.asked) == ["fly 0", "fly 1", "fly 2"], "nothing is asked twice"
    assert waiting(state) == ["success:a", "teacher:b0", "teacher:b1", "teacher:b2"]


def test_a_write_that_fails_leaves_the_request_as_it_was(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """Demonstration, agreement and mark are written together or not at all."""
    record(state.store, episode("d", UNSURE, text="hm"))

    def full(*_: object) -> None:
        raise StoreFullError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr("hearth.learning.corrections.note", full)
        with pytest.raises(StoreFullError):
            run(state, ScriptedTeacher({"hm": GOLD}))
    assert waiting(state) == []
    assert Agreements(state.store).outcomes("recall") == ()
    run(state, ScriptedTeacher({"hm": GOLD}))
    assert waiting(state) == ["teacher:d"]
    assert len(Agreements(state.store).outcomes("recall")) == 1


def test_what_was_gathered_is_learnt_in_one_batch(state: State) -> None:
    record(state.store, episode("a"), episode("b", None, text="fly"))
    stages = list(gather_waiting(state, ScriptedTeacher({"fly": GOLD}), now=LATER, options=NONE))
    assert [stage.name for stage in stages] == ["looking", "asking", "gathered"]
    assert state.learn().version == 1
    assert set(state.buffer.ids()) == {"success:a", "teacher:b"}


# ── Corrections ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def recall(store: Store, encoder: HashEncoder) -> RecallPlanner:
    return RecallPlanner(encoder, store)


RIGHT = Plan((Step("find_notes", {"query": "milk"}),))


def test_a_correction_counts_at_once(state: State, recall: RecallPlanner) -> None:
    one = episode("a")
    record(state.store, one)
    entry = correct(state, recall, one, RIGHT, TOOLS)
    assert entry.id == "owner:a"
    request = Request("note milk", LATER)
    from_recall = recall.plan(request, Context(), TOOLS)
    assert isinstance(from_recall, Plan)
    assert [step.tool for step in from_recall.steps] == ["find_notes"]
    (row,) = state.store.query("SELECT source, episode, teacher, vector FROM demonstration")
    assert tuple(row)[:3] == ("owner", "a", "owner")
    assert row["vector"] is not None
    assert {v.episode: v.kind for v in harvest(state.store, TOOLS, LATER).verdicts} == {}
    assert Agreements(state.store).n_right() == {"recall": (0, 1)}


def test_a_correction_replaces_what_was_learnt_from_the_request(state: State) -> None:
    one = episode("a")
    record(state.store, one, episode("b", None, text="fly"))
    run(state, ScriptedTeacher({"fly": GOLD}))
    state.learn()
    recall = RecallPlanner(HashEncoder(dim=64), state.store)
    correct(state, recall, one, RIGHT, TOOLS)
    assert set(state.buffer.ids()) == {"owner:a", "teacher:b"}
    assert set(recall.ids()) == {"owner:a", "teacher:b"}
    assert [e.id for e in state.buffer.set_aside("replaced")] == ["success:a"]


def test_what_waits_of_a_corrected_request_is_dropped(state: State, recall: RecallPlanner) -> None:
    one = episode("a")
    record(state.store, one)
    run(state, None)
    correct(state, recall, one, RIGHT, TOOLS)
    assert waiting(state) == []


def test_a_correction_may_be_corrected(state: State, recall: RecallPlanner) -> None:
    one = episode("a")
    record(state.store, one)
    correct(state, recall, one, RIGHT, TOOLS)
    correct(state, recall, one, NOTE, TOOLS)
    assert set(state.buffer.ids()) == {"owner:a"}
    assert [s.tool for s in state.buffer.all()[0].demonstration.plan.steps] == ["add_note"]
    assert recall.remembered.tools_of("owner:a") == ("add_note",)


def test_that_nothing_should_have_been_done_is_taught_too(state: State, recall: RecallPlanner) -> None:
    one = episode("a")
    record(state.store, one)
    correct(state, recall, one, None, TOOLS)
    answer = recall.plan(Request("note milk", LATER), Context(), TOOLS)
    assert isinstance(answer, Refusal)
    assert (answer.kind, answer.planner) == ("out_of_scope", "owner")


@pytest.mark.parametrize(
    ("plan", "text", "error", "message"),
    [
        (Plan((Step("rocket"),)), "note milk", PlanError, "'rocket'"),
        (Plan(()), "note milk", PlanError, "the plan has no steps"),
        (Plan((Step("add_note"),)), "note milk", PlanError, "needs 'text'"),
        (RIGHT, "my password is hunter2!", RequestError, "what looks like a password or code; nothing was learnt"),
    ],
)
def test_what_may_not_be_learnt_is_said_and_changes_nothing(
    state: State, recall: RecallPlanner, plan: Plan, text: str, error: type[Exception], message: str
) -> None:
    one = episode("a", text=text)
    record(state.store, one)
    with pytest.raises(error, match=message):
        correct(state, recall, one, plan, TOOLS)
    assert len(Buffer(state.store)) == 0
    assert len(recall) == 0


def test_waiting_time_is_that_of_the_settings(state: State) -> None:
    record(state.store, episode("a"))
    options = LoopOptions(settled_after=dt.timedelta(days=7))
    *_, last = gather_waiting(state, None, now=LATER, options=options)
    assert last.report is not None
    assert last.report.n_done == 0
    assert FIXED_NOW < LATER
