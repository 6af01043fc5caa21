"""python -m pytest tests/unit/learning/test_teacher.py"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.errors import PlannerError, RequestError
from hearth.formats.plans import plan_to_json
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.guard.egress.masking_door import MaskedModel, MaskingDoor
from hearth.learning.corrections import (
    Budget,
    BudgetSpent,
    EndpointTeacher,
    FirstOf,
    Limits,
    MeteredModel,
    Origin,
    OwnerTeacher,
    RecordedTeacher,
    Spent,
    entry_from,
)
from hearth.learning.demonstration_store import Buffer
from hearth.models.llm.scripted import ScriptedModel
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, ScriptedTeacher, check_teacher
from hearth.types import Context, Entity, Parameter, Plan, Ref, Refusal, Request, Step, ToolSpec

TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec("find_mail", "Find mail.", (Parameter("sender", "text", is_required=False),), returns="list[Mail]"),
        ToolSpec(
            "draft_mail",
            "Draft a mail.",
            (Parameter("to", "EmailAddress", is_sink=True), Parameter("text", "text")),
            effect="change",
        ),
        ToolSpec("read_mail", "Read a mail.", (Parameter("mail", "Mail"),)),
    )
}
FIND = Plan((Step("find_mail", {"sender": "Mia"}),))


def request(text: str) -> Request:
    return Request(text, FIXED_NOW)


def said(*nodes: dict[str, object], **more: object) -> str:
    return json.dumps({"outcome": "plan", "task_nodes": list(nodes), "task_steps": [], **more})


def node(tool: str, **arguments: object) -> dict[str, object]:
    return {"task": tool, "arguments": [{"name": name, "value": value} for name, value in arguments.items()]}


GOOD = said(node("find_mail", sender="Mia"))


@pytest.fixture
def budget(store: Store) -> Budget:
    return Budget(store, "t", Limits(), lambda: FIXED_NOW)


def endpoint(budget: Budget, *replies: str | Exception, context: Context | None = None) -> EndpointTeacher:
    return EndpointTeacher(ScriptedModel(replies), budget, context=context)


def ask(teacher: EndpointTeacher, *texts: str) -> list[Plan | Refusal]:
    return list(teacher.label([request(text) for text in texts], TOOLS))


# ── The contract ──────────────────────────────────────────────────────────────────────────────────────────


def recorded(folder: Path, *lines: object) -> RecordedTeacher:
    path = folder / "gold.jsonl"
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return RecordedTeacher(path)


LINE = {"id": "a", "user_request": "mail from Mia", **plan_to_json(FIND)}


def test_every_teacher_keeps_the_contract(store: Store, budget: Budget, tmp_path: Path) -> None:
    entry = entry_from(request("mail from Mia"), FIND, "owner", Origin("owner:1", "owner", "1"))
    Buffer(store).keep([entry])
    teachers = (
        endpoint(budget, *[GOOD] * 40),
        endpoint(budget, *["no idea"] * 40),
        endpoint(budget),
        recorded(tmp_path, LINE),
        OwnerTeacher(store),
        FirstOf([OwnerTeacher(store), endpoint(budget, *[GOOD] * 40)]),
        FirstOf([]),
        ScriptedTeacher({"mail from Mia": FIND}),
    )
    for teacher in teachers:
        check_teacher(teacher, TOOLS, ["mail from Mia", "book a flight"])


# ── A language model ──────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_is_checked_and_named(budget: Budget) -> None:
    (answer,) = ask(endpoint(budget, GOOD), "find mail from mia")
    assert isinstance(answer, Plan)
    assert answer.planner == "scripted"
    assert [step.tool for step in answer.steps] == ["find_mail"]


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("I would look for mails, if I were you.", id="prose"),
        pytest.param("", id="nothing"),
        pytest.param(said(), id="an empty plan"),
        pytest.param(said(node("send_rocket")), id="an unknown tool"),
        pytest.param(said(node("find_mail", colour="red")), id="an unknown argument"),
        pytest.param(said(node("draft_mail", to="a@b.org")), id="a missing argument"),
        pytest.param(said(node("read_mail", mail="<node-1>"), node("read_mail", mail="<node-0>")), id="a cycle"),
        pytest.param(said(node("draft_mail", to="evil@example.org", text="x")), id="an invented recipient"),
        pytest.param("{" + "x" * 10_000_000, id="10 MB"),
        pytest.param("[" * 50_000, id="deep brackets"),
    ],
)
def test_an_unusable_answer_is_no_answer_and_the_next_is_asked_for(budget: Budget, reply: str) -> None:
    first, second = ask(endpoint(budget, reply, reply, GOOD), "find mail from mia", "find mail from mia")
    assert isinstance(first, Refusal)
    assert first.kind == "unreadable"
    assert first.planner == "scripted", "it was asked, and answered"
    assert "no usable plan in two attempts" in first.reason
    assert isinstance(second, Plan)


def test_a_faulty_answer_may_be_mended_once(budget: Budget) -> None:
    (answer,) = ask(endpoint(budget, said(node("send_rocket")), GOOD), "find mail from mia")
    assert isinstance(answer, Plan)
    assert budget.spent().n_calls == 2


def test_that_nothing_serves_a_request_is_an_answer(budget: Budget) -> None:
    reply = json.dumps({"outcome": "out_of_scope", "reason": "no tool flies"})
    assert ask(endpoint(budget, reply), "book a flight") == [
        Refusal("out_of_scope", "no tool flies", planner="scripted")
    ]


def test_a_model_that_is_down_is_asked_three_times_and_no_more(budget: Budget) -> None:
    model = ScriptedModel([PlannerError("nobody there")] * 9)
    answers = ask(EndpointTeacher(model, budget), *["find mail"] * 6)
    assert [isinstance(a, Refusal) and a.planner == "" for a in answers] == [True] * 6
    assert len(model.asked) == 3
    assert "nobody there" in answers[-1].reason  # type: ignore[union-attr]
    assert "was not asked any more" in answers[-1].reason  # type: ignore[union-attr]


# ── The budget ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(n_calls=2), "2 of 2 questions were asked today; raise questions_per_day"),
        (Limits(n_tokens=1), "0 of 1 tokens were used today; raise tokens_per_day"),
        (Limits(usd=0.01, usd_per_call=0.004), "0.0080 of 0.01 USD were spent today; raise usd_per_day"),
    ],
)
def test_a_budget_ends_the_questions(store: Store, limits: Limits, message: str) -> None:
    budget = Budget(store, "t", limits, lambda: FIXED_NOW)
    answers = ask(endpoint(budget, *[GOOD] * 9), *["find mail from mia"] * 4)
    last = answers[-1]
    assert isinstance(last, Refusal)
    assert last.planner == ""
    assert message in last.reason
    assert "[learning] in hearth.toml" in last.reason


def test_the_budget_outlives_the_process_and_ends_with_the_day(home: Path) -> None:
    day = [FIXED_NOW]

    def clock() -> dt.datetime:
        return day[0]

    for n in (1, 2):
        with Store.open(home / "hearth.db") as store:
            budget = Budget(store, "t", Limits(n_calls=2), clock)
            budget.take(10)
            assert budget.spent() == Spent(n, 10 * n, 0.0)
    with Store.open(home / "hearth.db") as store:
        budget = Budget(store, "t", Limits(n_calls=2), clock)
        with pytest.raises(BudgetSpent):
            budget.take(10)
        Budget(store, "another", Limits(n_calls=2), clock).take(10)
        day[0] += dt.timedelta(days=1)
        budget.take(10)


def test_a_call_is_counted_before_it_is_made(budget: Budget) -> None:
    """A process killed while it waits has asked, and paid."""
    seen = []

    class Model(ScriptedModel):
        def complete(self, *args: object) -> str:
            seen.append(budget.spent().n_calls)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(EndpointTeacher(Model([]), budget), "find mail")
    assert seen == [1]


def test_the_servers_own_count_takes_the_place_of_the_estimate(store: Store) -> None:
    budget = Budget(store, "t", Limits(usd=100.0, usd_per_million_tokens=1000.0), lambda: FIXED_NOW)

    class Counting(ScriptedModel):
        n_tokens = 123

    MeteredModel(Counting(["{}"]), budget).complete([{"role": "user", "content": "x" * 3000}])
    assert budget.spent().n_tokens == 123
    assert budget.spent().usd == pytest.approx(0.123)
    MeteredModel(ScriptedModel(["y" * 300]), budget).complete([{"role": "user", "content": "x" * 3000}])
    assert 123 + 1100 <= budget.spent().n_tokens <= 123 + 1103


# ── What leaves ───────────────────────────────────────────────────────────────────────────────────────────

CONTEXT = Context("Ada", (Entity("Mia Berger", "person", ("Mia",)), Entity("Jonas Roth", "person", ("Jonas",))))


def test_what_a_model_on_another_machine_is_told_is_masked_and_comes_back_in_the_plan(budget: Budget) -> None:
    text = 'write mia@berger.example "call Mia at +49 170 1234567"'
    model = ScriptedModel([said(node("draft_mail", to="mail1@masked.example", text="call Person1 at +1 202 555 0100"))])
    names = tuple(OwnName(name, "person") for name in ("Mia Berger", "Mia", "Jonas Roth", "Jonas", "Ada"))
    hidden = MaskedModel(model, MaskingDoor(Masker(names=OwnerNames(names), country="DE")))
    (answer,) = ask(EndpointTeacher(hidden, budget, context=CONTEXT), text)
    assert isinstance(answer, Plan)
    assert answer.steps[0].arguments == {"to": "mia@berger.example", "text": "call Mia at +49 170 1234567"}
    sent = json.dumps(model.asked)
    for secret in ("mia@berger.example", "Mia", "Berger", "1234567", "Jonas", "Ada"):
        assert secret not in sent


def test_a_stand_in_that_the_model_made_up_is_no_answer(budget: Budget) -> None:
    model = ScriptedModel([said(node("draft_mail", to="mail7@masked.example", text="x"))])
    (answer,) = ask(EndpointTeacher(MaskedModel(model, MaskingDoor(Masker())), budget), "write mia@berger.example x")
    assert isinstance(answer, Refusal)
    assert "mail7@masked.example" in answer.reason


def test_a_model_on_this_machine_may_read_the_request_as_it_is(budget: Budget) -> None:
    model = ScriptedModel([said(node("draft_mail", to="mia@berger.example", text="x"))])
    (answer,) = ask(EndpointTeacher(model, budget, context=CONTEXT), "write mia@berger.example x")
    assert isinstance(answer, Plan)
    assert "mia@berger.example" in json.dumps(model.asked)


# ── On record ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_answers_by_the_words_of_the_request(tmp_path: Path) -> None:
    teacher = recorded(tmp_path, LINE)
    first, second = teacher.label([request("Mail  from MIA"), request("mail from Jonas")], TOOLS)
    assert isinstance(first, Plan)
    assert first.steps == FIND.steps
    assert first.planner == "file:gold.jsonl"
    assert second == Refusal("unreadable", "no plan is on record for that request", planner="file:gold.jsonl")


def test_of_contradicting_plans_the_most_frequent_counts_then_the_first(tmp_path: Path) -> None:
    other = {"user_request": "mail from Mia", **plan_to_json(Plan((Step("read_mail", {"mail": "1"}),)))}
    teacher = recorded(tmp_path, {**other, "id": "1"}, {**LINE, "id": "2"}, {**LINE, "id": "3"})
    assert [step.tool for step in _plan(teacher).steps] == ["find_mail"]
    teacher = recorded(tmp_path, {**other, "id": "1"}, {**LINE, "id": "2"})
    assert [step.tool for step in _plan(teacher).steps] == ["read_mail"]


def _plan(teacher: RecordedTeacher) -> Plan:
    (answer,) = teacher.label([request("mail from Mia")], TOOLS)
    assert isinstance(answer, Plan)
    return answer


def test_bad_lines_are_passed_over_and_named(tmp_path: Path) -> None:
    unknown = {"id": "u", "user_request": "fly", **plan_to_json(Plan((Step("fly"),)))}
    circle = {"id": "c", "user_request": "turn", **plan_to_json(Plan((Step("read_mail", {"mail": Ref(0)}),)))}
    strange = {**LINE, "id": "s", "user_request": "strange", "label": ["message"]}
    teacher = recorded(tmp_path, "not json", LINE, "x" * 5_000_000, unknown, circle, strange)
    assert [fault.line for fault in teacher.faults] == [1, 3]
    fly, turn, odd, right = teacher.label([request(t) for t in ("fly", "turn", "strange", "mail from Mia")], TOOLS)
    assert isinstance(fly, Refusal)
    assert "'fly'" in fly.reason
    assert isinstance(turn, Refusal)
    assert isinstance(odd, Refusal)
    assert "only what no stranger wrote" in odd.reason
    assert isinstance(right, Plan)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="cannot read"):
        RecordedTeacher(tmp_path / "absent.jsonl")


def test_the_newest_correction_of_the_owner_counts(store: Store) -> None:
    buffer = Buffer(store)
    read = Plan((Step("read_mail", {"mail": "1"}),))
    buffer.keep([entry_from(request("mail from Mia"), FIND, "owner", Origin("owner:1", "owner", "1"))])
    buffer.keep([entry_from(request("mail from Mia"), read, "owner", Origin("owner:2", "owner", "2"))])
    buffer.keep([entry_from(request("other"), read, "x", Origin("teacher:3", "teacher", "3"))])
    first, second = OwnerTeacher(store).label([request("MAIL from Mia"), request("other")], TOOLS)
    assert isinstance(first, Plan)
    assert [step.tool for step in first.steps] == ["read_mail"]
    assert isinstance(second, Refusal)


def test_the_first_with_an_answer_counts(budget: Budget) -> None:
    makers: list[Callable[[], ScriptedTeacher]] = [
        lambda: ScriptedTeacher({"a": FIND}, "one"),
        lambda: ScriptedTeacher({"a": FIND, "b": FIND, "c": Refusal("out_of_scope", "no", planner="two")}, "two"),
    ]
    one, two = (make() for make in makers)
    answers = list(FirstOf([one, two]).label([request(text) for text in "abcd"], TOOLS))
    assert [isinstance(answer, Plan) for answer in answers] == [True, True, False, False]
    assert one.asked == list("abcd")
    assert two.asked == list("bcd")


# ── Several answers ───────────────────────────────────────────────────────────────────────────────────────

READ = said(node("find_mail", sender="Mia"), node("read_mail", mail="<node-0>"))


def test_of_several_answers_the_commonest_counts_and_the_others_are_learnt_from(budget: Budget) -> None:
    model = ScriptedModel([READ, "no idea", GOOD, GOOD])
    (answer,) = ask(EndpointTeacher(model, budget, n_answers=4), "mail from Mia")
    assert isinstance(answer, Plan)
    assert answer.steps == FIND.steps
    assert [tools for tools, _ in answer.considered] == [("find_mail",), ("find_mail", "read_mail")]
    assert [share for _, share in answer.considered] == pytest.approx([2 / 3, 1 / 3])
    assert budget.spent().n_calls == 1, "drawn by one question"
    entry = entry_from(request("mail from Mia"), answer, "t", Origin("1", "teacher"))
    assert entry.demonstration.plan.considered == ()
    assert [tools for tools, _ in entry.held_likely] == [("find_mail",), ("find_mail", "read_mail")]


@pytest.mark.parametrize("replies", [[GOOD, GOOD, GOOD], [GOOD, "no idea", json.dumps({"outcome": "needs"})]])
def test_answers_that_agree_leave_nothing_to_consider(budget: Budget, replies: list[str]) -> None:
    (answer,) = ask(EndpointTeacher(ScriptedModel(replies), budget, n_answers=3), "mail from Mia")
    assert isinstance(answer, Plan)
    assert answer.considered == ()
    assert entry_from(request("mail from Mia"), answer, "t", Origin("1", "teacher")).candidates is None


def test_plans_on_record_for_one_request_are_all_considered(tmp_path: Path) -> None:
    other = {**LINE, **plan_to_json(Plan((*FIND.steps, Step("read_mail", {"mail": Ref(0)}))))}
    teacher = recorded(tmp_path, {**LINE, "id": "1"}, {**other, "id": "2"}, {**LINE, "id": "3"})
    (answer,) = teacher.label([request("mail from Mia")], TOOLS)
    assert isinstance(answer, Plan)
    assert [tools for tools, _ in answer.considered] == [("find_mail",), ("find_mail", "read_mail")]
    assert answer.considered[0][1] == pytest.approx(2 / 3)
    shares = [{"tools": ["find_mail"], "share": 0.7}, {"tools": ["draft_mail"], "share": 0.3}]
    (answer,) = recorded(tmp_path, {**LINE, "candidates": shares}).label([request("mail from Mia")], TOOLS)
    assert isinstance(answer, Plan)
    assert answer.considered == ((("find_mail",), 0.7), (("draft_mail",), 0.3))
