"""python -m pytest tests/unit/test_masking.py"""

from __future__ import annotations

import dataclasses

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hearth.learn.masking import Masked, known_names, masked
from hearth.testing import FIXED_NOW
from hearth.types import Context, Entity, Plan, Refusal, Request, Step

CONTEXT = Context("Ada", (Entity("Mia Berger", "person", ("Mia",)), Entity("kitchen", "room")), "DE")


def mask(text: str) -> Masked:
    return masked(Request(text, FIXED_NOW, "line 7"), CONTEXT)


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("mail mia@berger.example the plan", ["mia@berger.example"]),
        ("call +49 170 1234567 tomorrow", ["1234567"]),
        ("remind me to call Mia at nine", ["Mia"]),
        ("remind Mia Berger's sister", ["Mia", "Berger"]),
        ("open https://bank.example/account/77", ["bank.example", "77"]),
        ("attach tax return 2025.pdf", ["2025.pdf"]),
        ('send Mia "my number is +49 170 1234567"', ["Mia", "1234567"]),
        ("MIA and mia and Mia", ["MIA", "mia", "Mia"]),
    ],
)
def test_what_names_someone_does_not_leave(text: str, hidden: list[str]) -> None:
    found = mask(text)
    for value in hidden:
        assert value not in found.request.text
    assert found.unmask(found.request.text) == text
    assert found.request.id == ""
    assert found.request.now == FIXED_NOW


def test_the_same_value_has_the_same_stand_in() -> None:
    found = mask("call Mia, then mail Mia")
    assert list(found.values.values()) == ["Mia"]
    (stand_in,) = found.values
    assert found.request.text == f"call {stand_in}, then mail {stand_in}"


def test_stand_ins_never_collide_with_what_was_said() -> None:
    found = mask("tell Person1 that Mia is late")
    assert found.unmask(found.request.text) == "tell Person1 that Mia is late"


def test_many_values_are_told_apart() -> None:
    text = " ".join(f"p{k}@x.example" for k in range(25))
    found = mask(text)
    assert found.unmask(found.request.text) == text
    assert len(found.values) == 25


def test_a_plan_gets_its_values_back_wherever_they_stand() -> None:
    found = mask("mail Mia")
    (name,) = found.values
    plan = Plan(
        (Step("t", {"a": name, "b": [f"to {name}", 3], "c": {"d": name}}, text=f"mail {name}"),), unserved=(name,)
    )
    answer = found.unmask_answer(plan)
    assert isinstance(answer, Plan)
    assert answer.steps[0].arguments == {"a": "Mia", "b": ["to Mia", 3], "c": {"d": "Mia"}}
    assert answer.steps[0].text == "mail Mia"
    assert answer.unserved == ("Mia",)
    refusal = found.unmask_answer(Refusal("needs", f"which {name}?"))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "which Mia?"


def test_the_teacher_knows_stand_ins_of_people_and_nothing_else() -> None:
    found = mask("mail Mia at mia@berger.example about the kitchen")
    context = known_names(found)
    assert context.owner == ""
    assert [entity.kind for entity in context.entities] == ["person"]
    assert all(entity.name in found.request.text for entity in context.entities)


@given(st.text(max_size=200))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    found = mask(text)
    assert found.unmask(found.request.text) == text


def test_a_time_without_a_zone_is_no_obstacle() -> None:
    request = dataclasses.replace(Request("mail Mia", FIXED_NOW), now=FIXED_NOW.replace(tzinfo=None))
    assert "Mia" not in masked(request, CONTEXT).request.text
