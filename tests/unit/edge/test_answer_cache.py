"""The cloud is not asked twice for one masked form."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping

import pytest

from hearth.edge.cloud_teacher import KEPT, N_KEPT, Answered, CloudTeacher
from hearth.errors import PlannerError
from hearth.formats import edge_protocol
from hearth.guard.deidentify.masker import Masker
from hearth.guard.egress.masking_door import MaskingDoor
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Context, Parameter, Plan, Refusal, Request, ToolSpec

TOOLS = {
    "call_up": ToolSpec("call_up", "Call somebody up.", (Parameter("who", "text"),), effect="send"),
    "note_down": ToolSpec("note_down", "Write something down.", (Parameter("text", "text"),), effect="change"),
}
CALL = {"task_nodes": [{"task": "call_up", "arguments": [{"name": "who", "value": "mail1@masked.example"}]}]}


class Cloud:
    """Satisfies what `CloudTeacher` needs of a link; says the same to every question."""

    host = "cloud.example"

    def __init__(self, plan: Mapping[str, object] | None, refusal: edge_protocol.Refused | None = None) -> None:
        self.asked: list[str] = []
        self._plan, self._refusal = dict(plan) if plan else None, refusal

    def plan(self, asked: edge_protocol.PlanAsked) -> edge_protocol.PlanGiven:
        self.asked.append(asked.request)
        return edge_protocol.PlanGiven(id=asked.id, plan=self._plan, refusal=self._refusal, confidence=0.9, n_tokens=7)

    def close(self) -> None:
        """Nothing is held."""


def teacher(cloud: Cloud, store: Store) -> CloudTeacher:
    return CloudTeacher(cloud, MaskingDoor(Masker()), store=store)  # type: ignore[arg-type]


def ask(one: CloudTeacher, text: str, now: dt.datetime = FIXED_NOW) -> Plan | Refusal:
    return one.plan(Request(text, now), Context(), TOOLS)


def test_two_people_one_form_one_question(store: Store) -> None:
    cloud = Cloud(CALL)
    one = teacher(cloud, store)
    first, second = ask(one, "call up anna@example.com"), ask(one, "call  up ben@example.com")
    assert isinstance(first, Plan)
    assert isinstance(second, Plan)
    assert [dict(plan.steps[0].arguments) for plan in (first, second)] == [
        {"who": "anna@example.com"},
        {"who": "ben@example.com"},
    ]
    assert cloud.asked == ["call up mail1@masked.example"]
    assert one.n_tokens == 0, "what is known costs nothing"
    again = teacher(cloud, store)
    third = next(again.label([Request("call up cleo@example.com", FIXED_NOW)], TOOLS))
    assert third.planner == "cloud:cloud.example"
    assert len(cloud.asked) == 1


def test_other_words_and_other_tools_are_asked_about(store: Store) -> None:
    cloud = Cloud(CALL)
    one = teacher(cloud, store)
    ask(one, "call up anna@example.com")
    ask(one, "phone anna@example.com")
    one.plan(Request("call up anna@example.com", FIXED_NOW), Context(), {"call_up": TOOLS["call_up"]})
    assert len(cloud.asked) == 3


@pytest.mark.parametrize(
    ("request_text", "value", "n_asked"),
    [
        ("note the rent", "the rent", 1),
        ("note that it is 18:30", "it is 18:30", 1),
        ("note the moment in an hour", "18:30", 2),
        ("note tomorrow's date", "2026-11-21", 2),
    ],
)
def test_an_answer_with_a_moment_of_its_own_is_not_kept(
    store: Store, request_text: str, value: str, n_asked: int
) -> None:
    cloud = Cloud({"task_nodes": [{"task": "note_down", "arguments": [{"name": "text", "value": value}]}]})
    one = teacher(cloud, store)
    ask(one, request_text)
    ask(one, request_text, FIXED_NOW + dt.timedelta(hours=2))
    assert len(cloud.asked) == n_asked


@pytest.mark.parametrize(("kind", "n_asked"), [("out_of_scope", 1), ("needs", 2), ("unreadable", 2)])
def test_of_refusals_only_that_no_tool_serves_it_is_kept(store: Store, kind: str, n_asked: int) -> None:
    cloud = Cloud(None, edge_protocol.Refused(kind=kind, reason="I cannot"))  # type: ignore[arg-type]
    one = teacher(cloud, store)
    ask(one, "fly")
    ask(one, "fly")
    assert len(cloud.asked) == n_asked


def test_a_plan_that_cannot_be_used_is_not_kept(store: Store) -> None:
    cloud = Cloud({"task_nodes": [{"task": "wire_money", "arguments": []}]})
    one = teacher(cloud, store)
    for _ in range(2):
        with pytest.raises(PlannerError, match="wire_money"):
            ask(one, "call up anna@example.com")
    assert len(cloud.asked) == 2


@pytest.mark.parametrize("moved", [KEPT + dt.timedelta(minutes=1), -dt.timedelta(days=1)])
def test_an_old_answer_or_one_of_the_future_is_asked_for_again(store: Store, moved: dt.timedelta) -> None:
    cloud = Cloud(CALL)
    one = teacher(cloud, store)
    ask(one, "call up anna@example.com")
    ask(one, "call up anna@example.com", FIXED_NOW + moved)
    assert len(cloud.asked) == 2


def _delete_episode(store: Store) -> None:
    with store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO episode (id, request, request_id, said, now, status, began_unix_s)"
            " VALUES ('e', 'x', '', '', '2026-11-20', 'begun', 0)"
        )
        cursor.execute("DELETE FROM episode")


def test_forgetting_anything_empties_the_record(store: Store) -> None:
    cloud = Cloud(CALL)
    ask(teacher(cloud, store), "call up anna@example.com")
    _delete_episode(store)
    assert store.query("SELECT * FROM cloud_answer") == []


def _asked(text: str) -> edge_protocol.PlanAsked:
    return edge_protocol.PlanAsked(id="q", request=text, now=FIXED_NOW, tools=(), tools_sha256="0" * 64)


@pytest.fixture
def full(store: Store) -> Answered:
    given = edge_protocol.PlanGiven(id="q", plan=CALL)
    answered = Answered(store, "cloud.example")
    with store.transaction() as cursor:
        cursor.executemany(
            "INSERT INTO cloud_answer (form, answer, at) VALUES (?, ?, ?)",
            [
                (f"{k}", given.model_dump_json().encode(), (FIXED_NOW - dt.timedelta(seconds=k)).isoformat())
                for k in range(1, N_KEPT + 1)
            ],
        )
    return answered


def test_the_oldest_answers_make_room(full: Answered, store: Store) -> None:
    full.keep(_asked("one more"), edge_protocol.PlanGiven(id="q", plan=CALL), FIXED_NOW)
    assert store.query("SELECT COUNT(*) AS n FROM cloud_answer")[0]["n"] == N_KEPT
    assert full.find(_asked("one more"), FIXED_NOW) is not None


def test_another_clouds_answers_and_unreadable_ones_are_not_taken(store: Store) -> None:
    answered = Answered(store, "cloud.example")
    answered.keep(_asked("call"), edge_protocol.PlanGiven(id="q", plan=CALL), FIXED_NOW)
    assert Answered(store, "other.example").find(_asked("call"), FIXED_NOW) is None
    with store.transaction() as cursor:
        cursor.execute("UPDATE cloud_answer SET answer = X'00'")
    assert answered.find(_asked("call"), FIXED_NOW) is None
