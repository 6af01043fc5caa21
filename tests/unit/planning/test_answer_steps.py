"""A value that a request only names is found first; nothing but a text ever takes it."""

from __future__ import annotations

import pytest

from hearth.errors import BadReference, WrongType
from hearth.formats.plans import faults
from hearth.planning.dialogue.answer_steps import FIND, with_answer
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Context, Entity, Plan, Ref, Refusal, Request, Step, ToolSpec

TOOLS = load_tools(None).specs
KNOWN = Context("Nora", (Entity("Ben Ashworth", "person", ("Ben",)), Entity("Sam Ode", "person", ("Sam",))))
BEN = Step("find_contact", {"name": "Ben Ashworth"})


def drafted(text: str | Ref) -> Step:
    return Step("draft_mail", {"to": [Ref(0, ("email",))], "text": text})


def planned(text: str, *steps: Step) -> Plan | None:
    found = Plan(steps) if steps else Refusal("out_of_scope", "?")
    return with_answer(Request(text, FIXED_NOW), found, KNOWN, TOOLS)


def question_and_draft(plan: Plan | None) -> tuple[object, Step]:
    assert plan is not None
    asked = next(k for k, step in enumerate(plan.steps) if step.tool == FIND)
    draft = next(step for step in plan.steps if step.tool == "draft_mail")
    assert draft.arguments["text"] == Ref(asked, ("value",))
    return plan.steps[asked].arguments["question"], draft


@pytest.mark.parametrize("named", ["the wifi password", "my locker number", "Ana's shoe size", "the date of the play"])
def test_a_mail_tells_the_value_and_not_its_name(named: str) -> None:
    question, draft = question_and_draft(planned(f"email Ben {named}", BEN, drafted(named)))
    assert question == f"what is {named}"
    assert str(draft.arguments["subject"]).casefold() == named.removeprefix("the ").removeprefix("my ").casefold()


@pytest.mark.parametrize("said", ["the good news", "the code is 4417", "see you at the usual place", "time"])
def test_words_that_are_meant_are_told_as_they_are(said: str) -> None:
    assert planned(f"email Ben {said}", BEN, drafted(said)) is None


def test_what_no_contact_is_called_is_looked_for_everywhere() -> None:
    nobody = Step("find_contact", {"name": "Pasture"})
    mail = Step("draft_mail", {"to": [Ref(1, ("email",))], "text": Ref(0, ("address",))})
    question, draft = question_and_draft(planned("email Sam the address of Pasture", nobody, BEN, mail))
    assert question == "what is the address of Pasture"
    assert draft.arguments["to"] != [Ref(0, ("email",))]
    known = Step("find_contact", {"name": "Sam Ode"})
    assert planned("email Ben the address of Sam", known, BEN, mail) is None


def test_a_mail_goes_to_whom_it_is_written_to_and_not_to_whom_it_is_about() -> None:
    sam = Step("find_contact", {"name": "Sam Ode"})
    turned = Step("draft_mail", {"to": [Ref(1, ("email",))], "text": Ref(0, ("address",))})
    plan = planned("email Ben Sam's phone number", BEN, sam, turned)
    assert plan is not None
    assert plan.steps[2].arguments == {"to": [Ref(0, ("email",))], "text": Ref(1, ("phone",))}
    nobody = Step("find_contact", {"name": "Pasture"})
    question, draft = question_and_draft(planned("email Ben Pasture's address", BEN, nobody, turned))
    assert question == "what is the address of Pasture"
    assert draft.arguments["to"] == [Ref(0, ("email",))]


@pytest.mark.parametrize(
    ("said", "field"), [("phone number", "phone"), ("number", "phone"), ("email address", "email")]
)
def test_what_a_card_has_is_taken_from_its_own_field(said: str, field: str) -> None:
    sam = Step("find_contact", {"name": "Sam Ode"})
    wrong = Step("draft_mail", {"to": [Ref(1, ("email",))], "text": Ref(0, ("address",))})
    plan = planned(f"email Ben Sam's {said}", sam, BEN, wrong)
    assert plan is not None
    assert plan.steps[2].arguments == {"to": [Ref(1, ("email",))], "text": Ref(0, (field,))}
    words = planned(f"email Ben Sam's {said}", BEN, drafted(f"Sam's {said}"))
    assert words is not None
    told = next(step for step in words.steps if step.tool == "draft_mail").arguments
    whose, to = told["text"], told["to"]
    assert isinstance(whose, Ref)
    assert whose.path == (field,)
    assert isinstance(to, list)
    assert isinstance(to[0], Ref)
    assert [words.steps[k].arguments for k in (whose.step, to[0].step)] == [sam.arguments, BEN.arguments]


def test_whose_value_is_told_does_not_get_the_mail() -> None:
    sam = Step("find_contact", {"name": "Sam Ode"})
    plan = planned("email Ben Sam's birthday", sam, drafted("birthday"))
    assert plan is not None
    assert [step.arguments.get("name") for step in plan.steps] == ["Sam Ode", "Ben Ashworth", None]
    assert plan.steps[2].arguments["to"] == [Ref(1, ("email",))]
    assert plan.steps[2].arguments["text"] == Ref(0, ("birthday",))


def test_words_about_somebody_go_to_whom_they_are_written_to() -> None:
    sam = Step("find_contact", {"name": "Sam Ode"})
    plan = planned("email Ben Sam's birthday is on Friday", sam, drafted("birthday is on Friday"))
    assert plan is not None
    assert plan.steps[0].arguments == BEN.arguments
    assert plan.steps[1].arguments == {"to": [Ref(0, ("email",))], "text": "Sam's birthday is on Friday"}


def test_an_unknown_recipient_stays_a_contact() -> None:
    nobody = Step("find_contact", {"name": "Pasture"})
    assert planned("email Pasture that I am late", nobody, drafted("I am late")) is None


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("email Ben when the school play is", "when is the school play"),
        ("write to Sam what the kiln rent costs", "what does the kiln rent cost"),
    ],
)
def test_a_clause_is_asked_as_a_question(text: str, question: str) -> None:
    assert question_and_draft(planned(text))[0] == question


def test_a_clause_for_nobody_known_is_left_alone() -> None:
    assert planned("email Zoltan when the school play is") is None


GUARDED = ("EmailAddress", "PhoneNumber", "PersonName", "FilePath", "Url", "number", "integer", "datetime", "date")


def _typed() -> list[tuple[ToolSpec, str]]:
    return [(spec, p.name) for spec in TOOLS.values() for p in spec.parameters if any(g in p.type for g in GUARDED)]


@pytest.mark.parametrize(("spec", "name"), _typed(), ids=lambda one: getattr(one, "name", one))
def test_no_recipient_amount_or_number_takes_an_answer(spec: ToolSpec, name: str) -> None:
    step = Step(spec.name, {name: Ref(0, ("value",))})
    found = faults(Plan((Step(FIND, {"question": "who"}), step)), TOOLS)
    assert [fault for fault in found if isinstance(fault, BadReference | WrongType) and name in str(fault)]
