"""An utterance is read once, carried as the request it is, and holds for any text."""

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language import reading
from hearth.language.reading import Utterance, read
from hearth.language.values.slots import find_slots
from hearth.testing import FIXED_NOW
from hearth.types import Context, Entity, Record, Request

HOME = Context(
    "Owner",
    (
        Entity("Anna Keller", "person", ("Anna",)),
        Entity("Jhon Smiht", "person"),
        Entity("hall", "room"),
        Entity("hall lamp", "device"),
        Entity("groceries", "list"),
    ),
    "DE",
)


def test_words_are_mended_but_for_those_of_the_owner() -> None:
    said = read(Request("remnid jhon smiht of the milk", FIXED_NOW), HOME)
    assert said.text == "remind jhon smiht of the milk"
    assert said.typed == "remnid jhon smiht of the milk"
    assert said.as_typed("remind jhon") == "remnid jhon"
    assert read(Request("do the wrokout", FIXED_NOW), HOME, {"wrokout"}).text == "do the wrokout"


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("anna's birthday is 3 may", "Anna's birthday is 3 may"),
        ("anna keller is allergic to nuts", "Anna Keller is allergic to nuts"),
        ("Anna's birthday is 3 May", "Anna's birthday is 3 May"),
        ("hannah's birthday is 3 may", "hannah's birthday is 3 may"),
        ("the hall is cold", "the hall is cold"),
    ],
)
def test_names_of_known_people_are_written_as_on_their_cards(said: str, written: str) -> None:
    assert read(Request(said, FIXED_NOW), HOME).with_names == written


def test_what_was_read_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []

    def counted(text: str, *rest: object) -> object:
        searched.append(text)
        return find_slots(text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(reading, "find_slots", counted)
    said = read(Request("call Anna tomorrow at 5 and add milk to the groceries", FIXED_NOW), HOME)
    assert [act.text for act in said.acts] == ["call Anna tomorrow at 5", "add milk to the groceries"]
    assert said.times == tuple(slot for slot in said.slots if slot.kind == "time")
    assert read(said, HOME) is said
    assert Utterance.of(said, HOME) is said
    assert said.saying(said.text) is said
    assert searched == [said.text]


def test_it_is_the_request_it_was_read_from() -> None:
    picked = (Record("EventId", "e1", "the event"),)
    request = Request("move the evnet to Friday", FIXED_NOW, "7", records=picked, revises="e0", asked_by="a program")
    said = read(request, HOME)
    assert isinstance(said, Request)
    assert replace(request, text=said.text, said=request.text) == Request(
        said.text, said.now, said.id, said.said, said.records, said.revises, said.asked_by
    )


def test_another_text_of_it_is_read_in_its_place() -> None:
    said = read(Request("tell Anna at 5 about the meetign", FIXED_NOW), HOME)
    rest = said.saying("tell Anna about the meeting")
    assert said.times
    assert not rest.times
    assert rest.context is HOME
    assert rest.as_typed("meeting") == "meetign"


def test_names_are_found_with_whom_they_mean_and_things_stay_words() -> None:
    said = read(Request("turn off the hall lamp and call Anna", FIXED_NOW), HOME)
    assert [(one.kind, one.text, one.views["name"]) for one in said.mentions] == [
        ("device", "hall lamp", "hall lamp"),
        ("person", "Anna", "Anna Keller"),
    ]
    assert [slot.kind for slot in said.slots] == ["person"]


def test_the_name_of_a_new_card_is_the_only_one() -> None:
    known = Context(entities=(Entity("Ida Sund", "person", ("Ida",)),))
    said = read(Request("new contact Ida Berg, 030 123456", FIXED_NOW), known)
    assert [slot.views["name"] for slot in said.slots if slot.kind == "person"] == ["Ida Berg"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("x" * 100_000, "characters long"),
        ("\x00\x01\x02" * 100, "binary"),
        ("erinnere mich bitte morgen um neun an die Milch", "English"),
        ("напомни мне завтра", "English"),
        ("?!", "no words"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    said = read(Request(text, FIXED_NOW), HOME)
    assert reason in said.unreadable
    assert said.text == text


@pytest.mark.parametrize(
    "text",
    ["r e m i n d me to call Anna", "c.a.l.l Anna", "CALL ANNA", "call\tAnna\n\n", "the remindmetocallanna file"],
)
def test_strangely_written_words_beside_others_are_taken_as_they_stand(text: str) -> None:
    said = read(Request(text, FIXED_NOW), HOME)
    assert not said.unreadable
    assert said.text == text


def test_a_hundred_acts_are_a_hundred() -> None:
    text = ", then ".join(f"remind me to water plant {k} at {k % 12 + 1} pm" for k in range(100))
    said = read(Request(text, FIXED_NOW), HOME)
    assert len(said.acts) == 100
    assert all(said.text[act.start : act.end] == act.text for act in said.acts)


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        _ = Utterance("at five", dt.datetime(2026, 1, 1)).slots


@given(st.text(max_size=200))
def test_parts_lie_in_the_text_of_any_request(text: str) -> None:
    said = read(Request(text, FIXED_NOW), HOME)
    for slot in (*said.slots, *said.mentions):
        assert said.text[slot.start : slot.end] == slot.text
    assert all(said.text[act.start : act.end] == act.text for act in said.acts)
    held = [slot for act in said.acts for slot in act.slots]
    assert held == list(said.slots)
    assert said.unreadable == Utterance.of(Request(said.text, FIXED_NOW), HOME).unreadable
