"""Who gets a copy of a mail becomes a recipient, and no words of it."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.additions import copied_in, several_told
from hearth.language.reading import Utterance
from hearth.planning.dialogue.amended_steps import with_copied, writes_to_fewer
from hearth.registry import load_tools
from hearth.types import Context, Entity, Plan, Ref, Request, Step

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
    ("said", "rest", "names"),
    [
        ("email tom, zoe and ivy that it is booked", "email tom that it is booked", ("Zoe", "Ivy Marsh")),
        ("email all three of them, tom zoe and ivy, that it rains", "email tom that it rains", ("Zoe", "Ivy Marsh")),
        ("please write to zoe and tom: it is booked", "please write to zoe: it is booked", ("Tom",)),
        ("tell tom, uma and zoe about the roof", "tell tom about the roof", ("uma", "Zoe")),
    ],
)
def test_several_people_in_a_row_are_told(said: str, rest: str, names: tuple[str, ...]) -> None:
    several = several_told(Utterance(said, _NOW, context=_KNOWN))
    assert several is not None
    assert (several.rest, several.names) == (rest, names)


@pytest.mark.parametrize(
    "said",
    [
        "email tom that zoe and ivy are coming",
        "email tom and book the court",
        "email tom and let ivy know that it rains",
        "email the crew, tom and zoe that it rains",
        "tell uma and sven that it rains",
        "remind me to email tom and zoe that it rains",
        "email tom, zoe and ivy",
    ],
)
def test_one_who_is_told_is_no_row(said: str) -> None:
    assert several_told(Utterance(said, _NOW, context=_KNOWN)) is None


def test_a_mail_to_fewer_than_are_named_is_known() -> None:
    several = several_told(Utterance("email tom and zoe that it rains", _NOW, context=_KNOWN))
    assert several is not None
    draft = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "it rains"})
    assert writes_to_fewer(Plan((Step("find_contact", {"name": "Tom"}), draft)), several)
    both = Step("draft_mail", {"to": [Ref(0, ("email",)), "zoe@court.example"], "text": "it rains"})
    assert not writes_to_fewer(Plan((Step("find_contact", {"name": "Tom"}), both)), several)
    assert not writes_to_fewer(Plan((Step("add_note", {"text": "it rains"}),)), several)
