"""Who gets a copy of a mail becomes a recipient, and no words of it."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.relative_anchors import copied_in, several_told, told_of
from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import to_those_told, with_copied, with_her_named
from hearth.registry import load_tools
from hearth.types import Argument, Context, Entity, Plan, Ref, Request, Step

_NOW = dt.datetime(2026, 11, 23, 9, tzinfo=dt.UTC)
_KNOWN = Context("Mira", (Entity("Ivy Marsh", "person", ("Ivy",)), Entity("Tom", "person"), Entity("Zoe", "person")))
_SPECS = load_tools(None).specs


@pytest.mark.parametrize(
    ("said", "rest", "names"),
    [
        ("email tom that the roof leaks and cc ivy", "email tom that the roof leaks", ("Ivy Marsh",)),
        ("mail tom the date, cc zoe at the gym", "mail tom the date", ("Zoe",)),
        ("mail tom the date, cc zoe and ivy", "mail tom the date", ("Zoe", "Ivy Marsh")),
        ("write to zoe that it is booked and copy in Tom please", "write to zoe that it is booked", ("Tom",)),
    ],
)
def test_who_gets_a_copy_is_read_from_the_end(said: str, rest: str, names: tuple[str, ...]) -> None:
    copied = copied_in(Utterance(said, _NOW, context=_KNOWN))
    assert copied is not None
    assert (copied.rest, copied.names) == (rest, names)


@pytest.mark.parametrize(
    "said",
    [
        "email tom about the cc camera",
        "email tom the date, cc zoe at the gym so he knows",
        "email tom and cc uma",
        "copy ivy's note",
        "tell tom to copy the key for us",
    ],
)
def test_other_copies_stay_words(said: str) -> None:
    assert copied_in(Utterance(said, _NOW, context=_KNOWN)) is None


def test_a_copy_goes_to_a_further_recipient() -> None:
    request = Request("email tom that the roof leaks and cc ivy", _NOW)
    copied = copied_in(Utterance.of(request, _KNOWN))
    assert copied is not None
    draft = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "the roof leaks"})
    plan = with_copied(Plan((Step("find_contact", {"name": "Tom"}), draft)), copied, _SPECS)
    assert plan is not None
    assert [step.arguments.get("name") for step in plan.steps] == ["Tom", "Ivy Marsh", None]
    assert plan.steps[2].arguments["to"] == [Ref(0, ("email",)), Ref(1, ("email",))]
    assert with_copied(Plan((Step("add_note", {"text": "x"}),)), copied, _SPECS) is None


@pytest.mark.parametrize(
    ("said", "names", "left"),
    [
        ("email tom, zoe and ivy that it is booked", ("Tom", "Zoe", "Ivy Marsh"), ()),
        ("email all three of them, tom zoe and ivy, that it rains", ("Tom", "Zoe", "Ivy Marsh"), ()),
        ("please write to zoe and tom: it is booked", ("Zoe", "Tom"), ()),
        ("tell Tom, Sigrun and Zoe about the roof", ("Tom", "Zoe"), ("Sigrun",)),
        ("tell tom and Sigrun that it rains", ("Tom",), ("Sigrun",)),
        ("email tom and the landlord that it rains", ("Tom",), ("the landlord",)),
        ("email tom and bcc zoe that it rains", ("Tom",), ("bcc zoe",)),
    ],
)
def test_several_people_in_a_row_are_told(said: str, names: tuple[str, ...], left: tuple[str, ...]) -> None:
    several = several_told(Utterance(said, _NOW, context=_KNOWN))
    assert several is not None
    assert (several.names, several.left) == (names, left)


@pytest.mark.parametrize(
    "said",
    [
        "email tom that zoe and ivy are coming",
        "email tom and book the court",
        "email tom and let ivy know that it rains",
        "email the crew, tom and zoe that it rains",
        "tell Sigrun and Sven that it rains",
        "remind me to email tom and zoe that it rains",
        "email tom, zoe and ivy",
        "tell Tom, please, that the hall is booked",
        "email Tom, please, about the rent",
        "email Tom, urgent: it rains",
        "email Tom, Urgent: it rains",
        "email Tom, again, about the tape",
        "email Tom, asap, about the tape",
        "email Tom, ok about the rent",
        "email Tom, love, that it rains",
        "email Tom, Sigrun, that it rains",
        "tell Tom and myself that it rains",
        "tell Tom and Monday that it rains",
        "tell tom and sigrun that it rains",
        "email Tom, FYI: it rains",
        "ask Tom, Zoe or Ivy to lock up",
        "email tom that the gutter and the roof leaks",
    ],
)
def test_one_who_is_told_is_no_row(said: str) -> None:
    assert several_told(Utterance(said, _NOW, context=_KNOWN)) is None


def _mail(*names: str) -> Plan:
    to: list[Argument] = [Ref(k, ("email",)) for k in range(len(names))]
    return Plan(
        (*(Step("find_contact", {"name": name}) for name in names), Step("draft_mail", {"to": to, "text": "x"}))
    )


def _told(said: str, found: Plan) -> tuple[list[object], tuple[str, ...]] | None:
    plan = to_those_told(Utterance(said, _NOW, context=_KNOWN), found, _SPECS)
    if plan is None:
        return None
    assert len(plan.steps[-1].refs()) == len(plan.steps) - 1
    return [step.arguments["name"] for step in plan.steps[:-1]], plan.unserved


def test_a_mail_goes_to_all_who_are_told() -> None:
    assert _told("email tom and zoe that it rains", _mail("Tom")) == (["Tom", "Zoe"], ())
    assert _told("email tom and zoe that it rains", _mail("Zoe")) == (["Zoe", "Tom"], ())
    assert _told("email tom and Sigrun that it rains", _mail("Tom")) == (["Tom"], ("Sigrun",))
    assert _told("email tom and the landlord that it rains", _mail("Tom")) == (["Tom"], ("the landlord",))
    assert _told("email tom and zoe that it rains", _mail("Tom", "Zoe")) is None
    assert _told("email tom, please, that it rains", _mail("Tom")) is None
    assert _told("email tom and zoe that it rains", Plan((Step("add_note", {"text": "it rains"}),))) is None


@pytest.mark.parametrize("said", ["tell Tom, Zoe said no", "tell Tom, Zoe is asleep", "tell tom, zoe's at the gym"])
def test_who_is_told_of_gets_no_mail(said: str) -> None:
    assert _told(said, _mail("Tom", "Zoe")) == (["Tom"], ())


@pytest.mark.parametrize(
    "said", ["tell Tom, Zoe that it rains", "tell Tom, Zoe and Ivy said no", "tell Tom and Zoe no"]
)
def test_who_stands_in_a_row_is_not_told_of(said: str) -> None:
    assert told_of(Utterance(said, _NOW, context=_KNOWN)) == ""


def test_who_is_told_of_need_not_be_known() -> None:
    assert _told("tell Tom, Sigrun is asleep", _mail("Tom", "Sigrun")) == (["Tom"], ())
    assert told_of(Utterance("tell Tom, please is a nice word", _NOW, context=_KNOWN)) == ""


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("cancel Ivy's lesson and mail her that I am ill", "Ivy"),
        ("cancel the lesson and mail her that I am ill", "her"),
        ("cancel Ivy's lesson with Tom and mail her that I am ill", "her"),
    ],
)
def test_her_is_the_one_whom_the_request_names(said: str, name: str) -> None:
    plan = Plan((Step("find_contact", {"name": "her"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "x"})))
    found = with_her_named(plan, Utterance(said, _NOW, context=_KNOWN)).steps[0].arguments["name"]
    assert str(found).partition(" ")[0] == name
