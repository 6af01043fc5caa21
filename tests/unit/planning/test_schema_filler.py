"""Arguments are words of the request in the form their types ask for; without the trained reader finders fill them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pytest

from hearth.models.span_extractor import KINDS, Answer
from hearth.planning.arguments.schema_filler import (
    Filler,
    Likeness,
    choices_of,
    fields_of,
    form,
    is_yes_or_no,
    match_text,
    question,
    words,
)
from hearth.planning.arguments.value_extraction import Saying
from hearth.testing import HashEncoder
from hearth.types import Context, Demonstration, Parameter, Plan, Ref, Step, ToolSpec

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


def saying(text: str) -> Saying:
    return Saying(text, NOW, Context())


def pointing(text: str, said: str, *, others: float = -9.0) -> Answer:
    """An answer that points at `said`, word by word."""
    spans = []
    place = 0
    for word in text.split():
        at = text.index(word, place)
        place = at + len(word)
        spans.append((at, place))
    array = np.array(spans, dtype=np.int32)
    first, last = text.index(said), text.index(said) + len(said)
    start = np.where(array[:, 0] <= first, np.where(array[:, 1] > first, 0.0, others), others).astype(np.float32)
    end = np.where(array[:, 0] < last, np.where(array[:, 1] >= last, 0.0, others), others).astype(np.float32)
    kinds = np.full(len(KINDS), -9.0, dtype=np.float32)
    return Answer(kinds, start, end, np.zeros(0, np.float32), np.zeros(0, np.float32), array)


def value(text: str, said: str, parameter: Parameter) -> object:
    found = saying(text).mentions(parameter, pointing(text, said))
    return found[0].value if found else None


@pytest.mark.parametrize(
    ("text", "said", "kind", "description", "expected"),
    [
        ("book the Blue Hotel, please", "Blue Hotel,", "text", "", "Blue Hotel"),
        ("find John (the tall one).", "John (the tall one).", "text", "", "John (the tall one)"),
        ('say "see you soon".', '"see you soon".', "text", "", "see you soon"),
        ("a flat in Washington D.C.", "Washington D.C.", "text", "", "Washington D.C."),
        ("for three people", "three", "integer", "", 3),
        ("for three people", "people", "integer", "", 3),
        ("a 25-year-old patient", "25-year-old", "integer", "", 25),
        ("pay $5,000 now", "$5,000", "number", "", 5000),
        ("mix 2.5 kg of it", "2.5", "number", "", 2.5),
        ("mix 2.5 kg of it", "2.5", "integer", "", None),
        ("come on May 15, 2027 at noon", "May 15, 2027", "text", "", "May 15, 2027"),
        ("come on May 15, 2027", "May 15, 2027", "text", "in YYYY-MM-DD format", "2027-05-15"),
        ("come on May 15, 2027", "May 15, 2027", "date", "", "2027-05-15"),
        ("write to mia@example.org today", "mia@example.org", "EmailAddress", "", "mia@example.org"),
        ("wait two hours", "two hours", "duration", "", "PT2H"),
        ("buy flour, sugar, and cocoa powder", "flour, sugar, and cocoa powder", "list[text]", "",
         ["flour", "sugar", "cocoa powder"]),
        ("add 3, 5 and 7", "3, 5 and 7", "list[any]", "", [3, 5, 7]),
        ("add 3, 5 and 7", "3, 5 and 7", "list[integer]", "", [3, 5, 7]),
        ("no number here", "number", "integer", "", None),
        ("at an efficiency of 85%", "85%", "number", "ranges from 0 to 1.0", 0.85),
        ("at 90% of it", "90%", "number", "efficiency, default 0.8", 0.9),
        ("with 15% off", "15%", "number", "discount percentage", 15),
        ("from 2022-01-01 to 2022-12-31", "2022-12-31", "text", "in YYYY-MM-DD format", "2022-12-31"),
        ("convert 50 dollars to euros", "euros", "text", "The currency to convert to", "EUR"),
        ("depths of 2000 to 4000", "2000 to 4000", "list[any]", "", [2000, 4000]),
        ("for 3 minutes", "3 minutes", "integer", "Length of the track in seconds", 180),
        ("over the next five years", "five years", "integer", "Number of years", 5),
        ("in theaters for the next week", "next week", "integer", "The number of days", 7),
        ("a coil of 50mH", "50mH", "number", "The inductance in henries", 0.05),
        ("it is 298K warm", "298K", "integer", "The temperature of the gas in Kelvin", 298),
        ("at 5% a year", "5%", "number", "The yearly interest rate", 0.05),
        ("at 5% a year", "5%", "number", "The yield as a percentage", 5),
        ("a delay of 3 rooms", "3", "integer", "The delay in seconds", 3),
        ("at 10 pm", "10", "integer", "The distance in meters", 10),
        ("scores of [22,33,42] and [1,2]", "33", "list[any]", "", [22, 33, 42]),
        ("from x=1 to x=3", "x=1 to x=3", "list[any]", "The two limits", [1, 3]),
    ],
)  # fmt: skip
def test_a_mention_takes_the_form_of_its_type(
    text: str, said: str, kind: str, description: str, expected: object
) -> None:
    assert value(text, said, Parameter("x", kind, description)) == expected


def test_words_never_cross_a_turn() -> None:
    text = "user: I like Rome\nagent: Rome it is"
    answer = pointing(text, "Rome")
    answer.end[:] = -9.0
    answer.end[-1] = 0.0  # "is", in the next turn
    answer.end[3] = -1.0
    found = saying(text).mentions(Parameter("city", "text"), answer)
    assert found
    assert not any("\n" in str(one.value) for one in found)


def test_a_span_seldom_reaches_beyond_its_sentence() -> None:
    text = "Order wood from Miller. Paint it red today"
    answer = pointing(text, "Miller.")
    answer.end[5] = 0.5  # "it": a little likelier as an end
    assert saying(text).mentions(Parameter("supplier", "text"), answer)[0].value == "Miller"


def test_what_is_quoted_is_taken_whole() -> None:
    text = "please say 'Let's meet at 10 there' to her soon"
    answer = pointing(text, "meet")
    answer.start[2] = answer.end[6] = -1.2  # "'Let's", "there'"
    assert saying(text).mentions(Parameter("text", "text"), answer)[0].value == "Let's meet at 10 there"
    whole = '"find a red bike in Rome"'  # the request itself
    assert saying(whole).mentions(Parameter("what", "text"), pointing(whole, "red bike"))[0].value == "red bike"


def test_a_clock_time_takes_the_day_named_beside_it() -> None:
    text = "It is on May 15, 2027. The bus leaves at 10:00"
    asked = Parameter("departure", "text", "in format 'yyyy-mm-dd HH:MM'")
    assert value(text, "10:00", asked) == "2027-05-15 10:00"
    assert value("The bus leaves at 10:00", "10:00", asked) == "10:00"


@pytest.mark.parametrize(
    ("kind", "enum", "description", "expected"),
    [
        ("text", ("asc", "desc"), "Either 'asc' for ascending or 'desc' for descending.",
         ["asc ascending", "desc descending"]),
        ("integer", ("1", "2"), "'1' represents a cleaning service, and '2' for an ironing service.",
         ["1 cleaning service", "2 ironing service"]),
        ("integer", (), "For example, 1 for Bangkok, 2 for Chiang Mai.", ["1 Bangkok", "2 Chiang Mai"]),
        ("text", (), "The phase: 'melting' or 'freezing'.", ["melting", "freezing"]),
        ("text", (), "In the format 'YYYY-MM-DD' or 'City, State', default 'all'.", []),
        ("integer", (), "From 1 to 5.", []),
        ("list[text]", (), "Such as 'a' or 'b'.", []),
        ("boolean", (), "Either 'yes' or 'no'.", []),
    ],
)  # fmt: skip
def test_choices_are_those_a_description_names(
    kind: str, enum: tuple[str, ...], description: str, expected: list[str]
) -> None:
    assert [choice.text for choice in choices_of(Parameter("x", kind, description, enum=enum))] == expected


def test_a_person_is_given_by_name() -> None:
    from hearth.types import Entity

    context = Context(entities=(Entity("Anna Berg", "person", ("Anna",)),))
    text = "call Anna today"
    found = Saying(text, NOW, context).mentions(Parameter("who", "PersonName"), pointing(text, "Anna"))
    assert found[0].value == "Anna Berg"


# ── Without the reader ────────────────────────────────────────────────────────────────────────────────────

RIDE = ToolSpec(
    "book_ride",
    "Book a ride",
    (
        Parameter("at", "datetime"),
        Parameter("seats", "integer"),
        Parameter("kind", "text", enum=("Pool", "Luxury"), is_required=False),
        Parameter("note", "text", is_required=False),
    ),
    returns="Ride",
    fields={"id": "RideId", "driver": "PersonName"},
)
CANCEL = ToolSpec("cancel_ride", "Cancel a ride", (Parameter("ride", "RideId"),))


def test_finders_alone_fill_what_types_tell() -> None:
    booked, cancelled = Filler(None, None).fill(
        'a Luxury ride for 3 people tomorrow at 8am, note "ring twice"', [RIDE, CANCEL], NOW, Context()
    )
    assert booked.arguments == {
        "at": "2026-11-21T08:00:00+00:00",
        "seats": 3,
        "kind": "Luxury",
        "note": "ring twice",
    }
    assert cancelled.arguments == {"ride": Ref(0, ("id",))}
    assert booked.missing == cancelled.missing == ()


def test_what_is_not_said_is_missing() -> None:
    (filled,) = Filler(None, None).fill("a ride please", [RIDE], NOW, Context())
    assert filled.arguments == {}
    assert filled.missing == ("at", "seats")


def test_without_adapter_the_finders_remain(tmp_path: Path) -> None:
    filler = Filler.open(adapter=tmp_path / "none.npz")
    assert not filler.is_trained
    assert filler.match("a ride", [RIDE, CANCEL]) == pytest.approx([-0.6931, -0.6931], abs=1e-3)
    assert filler.match("a ride", []) == []


@pytest.mark.parametrize(("path", "expected"), [((), Ref(0)), (("id",), Ref(0, ("id",)))])
def test_references_are_like_those_shown(path: tuple[str, ...], expected: Ref) -> None:
    shown = Demonstration("1", "x", Plan((Step("book_ride"), Step("cancel_ride", {"ride": Ref(0, path)}))))
    _, filled = Filler(None, None).referring_like([shown]).fill("cancel it", [RIDE, CANCEL], NOW, Context())
    assert filled.arguments == {"ride": expected}


# ── Questions ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Hotels_1.checkInDate", "hotels check in date"), ("is_unisex", "is unisex"), ("URLPath", "url path"), ("_", "")],
)
def test_identifiers_as_words(name: str, expected: str) -> None:
    assert words(name) == expected


def test_a_parameter_as_a_question() -> None:
    asked = question(Parameter("seat_class", "enum", "Class of seat", False, enum=("Economy", "Economy_Extra")))
    assert asked.text == "optional seat class Class of seat"
    assert asked.options == ("Economy", "Economy Extra")
    truth = Parameter("refundable", "enum", enum=("True", "False"))
    assert is_yes_or_no(truth)
    assert question(truth).options == ()
    assert "(number)" in question(Parameter("n", "integer")).text
    assert "(ride id)" in question(Parameter("ride", "RideId")).text
    assert match_text(CANCEL) == "cancel ride: Cancel a ride. ride"


def test_fields_like_a_parameter_come_first() -> None:
    fields = fields_of([RIDE, CANCEL, CANCEL], 2)
    assert [(f.step, f.name) for f in fields] == [(0, "id"), (0, "driver"), (1, "")]
    shown, signs = Likeness(HashEncoder()).fields(CANCEL, fields)
    assert set(shown) == set(fields)
    assert signs.shape == (1, 3, 7)
    assert [bool(s) for s in signs[0, :, 5]] == [f.name != "driver" for f in shown]  # a name does not fit RideId
    assert "step 1 book ride gives id" in form(CANCEL, shown).given


def test_only_the_likest_of_many_fields_are_shown() -> None:
    many = ToolSpec("big", "Gives much", fields={f"f{k}": "text" for k in range(60)} | {"ride": "text"})
    shown, signs = Likeness(HashEncoder()).fields(CANCEL, fields_of([many, CANCEL], 1))
    assert len(shown) == 10
    assert "ride" in {f.name for f in shown}
    assert signs.shape[1] == 10


# ── With the shipped reader ───────────────────────────────────────────────────────────────────────────────

TABLE = ToolSpec(
    "reserve_table",
    "Reserve a table at a restaurant",
    (
        Parameter("restaurant", "text", "Name of the restaurant"),
        Parameter("guests", "integer", "How many people come"),
        Parameter("time", "text", "Time of the reservation"),
        Parameter("date", "date", "Day of the reservation", False),
        Parameter("outdoor", "boolean", "Whether to sit outside", False),
        Parameter("occasion", "text", "What is celebrated", False, enum=("birthday", "anniversary", "business")),
    ),
)
CAR = ToolSpec(
    "rent_car",
    "Rent a car",
    (
        Parameter("city", "text", "Where it is picked up"),
        Parameter("car_type", "text", "Kind of car", enum=("Compact", "Standard", "SUV")),
        Parameter("insurance", "enum", "Whether to buy insurance", False, enum=("True", "False")),
    ),
)
FIND_HOTEL = ToolSpec(
    "find_hotel",
    "Find a hotel in a city",
    (Parameter("city", "text", "Where"),),
    fields={"hotel_id": "HotelId", "name": "text", "price": "number"},
)
BOOK_HOTEL = ToolSpec(
    "book_hotel",
    "Book a hotel",
    (Parameter("hotel", "HotelId", "Which hotel"), Parameter("nights", "integer", "How many nights")),
)


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Filler:
    filler = Filler.open(tmp_path_factory.mktemp("cache"), n_threads=1)
    assert filler.is_trained
    return filler


@pytest.mark.parametrize(
    ("text", "tools", "expected"),
    [
        (
            "Please reserve a table for four at Gino's Trattoria tomorrow at half past seven, it is for our anniversary "
            "and we'd like to sit outside.",
            [TABLE],
            [{"restaurant": "Gino's Trattoria", "guests": 4, "time": "half past seven", "date": "2026-11-21",
              "outdoor": True, "occasion": "anniversary"}],
        ),
        (
            "user: I need a table at the Blue Door\nagent: For how many people and when?\nuser: Two people, 8 pm. Not "
            "outside please.\nagent: A table for 2 at the Blue Door at 8 pm, inside?\nuser: Make that three people.",
            [TABLE],
            [{"restaurant": "Blue Door", "guests": 3, "time": "8 pm", "outdoor": False}],
        ),
        ("Rent me a compact car in Lyon, no need for insurance.", [CAR],
         [{"city": "Lyon", "car_type": "Compact", "insurance": "False"}]),
        ("user: I want an SUV in Porto\nagent: Would you like insurance?\nuser: Yes please.", [CAR],
         [{"city": "Porto", "car_type": "SUV", "insurance": "True"}]),
        ("user: I want an SUV in Porto\nagent: Would you like insurance?\nuser: No thanks.", [CAR],
         [{"city": "Porto", "car_type": "SUV", "insurance": "False"}]),
        ("Find a hotel in Ghent and book it for three nights", [FIND_HOTEL, BOOK_HOTEL],
         [{"city": "Ghent"}, {"hotel": Ref(0, ("hotel_id",)), "nights": 3}]),
    ],
)  # fmt: skip
def test_tools_never_seen_are_filled(
    shipped: Filler, text: str, tools: list[ToolSpec], expected: list[dict[str, object]]
) -> None:
    assert [dict(filled.arguments) for filled in shipped.fill(text, tools, NOW, Context())] == expected


def test_the_tool_asked_for_is_the_likeliest(shipped: Filler) -> None:
    tools = [TABLE, CAR, FIND_HOTEL, RIDE]
    chances = shipped.match("I need a car in Turin from Monday", tools)
    assert tools[chances.index(max(chances))] is CAR
    assert sum(np.exp(chances)) == pytest.approx(1.0)
