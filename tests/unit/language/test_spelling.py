from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.thesaurus import Spelling, one_slip_from, two_slips_price

SHIPPED = Spelling.shipped()
SMALL = Spelling(["remind", "reminder", "milk", "tomorrow", "shopping"], ["meeting", "meting", "make", "bake"])


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("remnid me tommorow to buy mlik", "remind me tomorrow to buy milk"),
        ("whats on my calender on wendesday", "whats on my calendar on wednesday"),
        ("set a timmer for 10 minuts", "set a timer for 10 minutes"),
        ("emial anna that im late", "email anna that im late"),
        ("delet the dentist apointment", "delete the dentist appointment"),
        ("Remnid me", "Remind me"),
        ("set an alrm for the shoping", "set an alarm for the shopping"),
        ("who is comin to the meetin", "who is coming to the meeting"),
    ],
)
def test_slips_of_the_hand_are_mended(typed: str, meant: str) -> None:
    assert SHIPPED.mended(typed).text == meant


@pytest.mark.parametrize(
    "text",
    [
        "remind me to bake on thurs",
        "add ghee and naan to the shopping list",  # known, or like nothing that is known
        'note "remnid me"',
        "open notes/remnid.md",
        "write to remnid@example.org",
        "call Remnid",  # a name in capitals
        "at ib by ad",  # too short to tell
        "isnt it dont wont",
        "what did we pay for the new cooker and the toaster",
        "the lodger put leeks and swede on the compost, with gravy",
        "a thin basin in the cabin, a muffin for robin",
        "",
        "\ud800 \x00 ١٢",
    ],
)
def test_what_is_no_clear_slip_stays(text: str) -> None:
    assert SHIPPED.mended(text).text == text


def test_the_owners_words_stay_and_are_meant() -> None:
    assert SHIPPED.mended("turn on the glow lamp in the snug", {"snug"}).text == "turn on the glow lamp in the snug"
    assert SHIPPED.mended("play it in the solarum").text == "play it in the solarum"
    mended = SHIPPED.mended("play it in the solarum", {"solarium"})
    assert mended.text == "play it in the solarium"
    assert mended.as_typed("solarium") == "solarium"  # a name of the owner's is kept


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("forward gareths quote to tom", "forward gareth's quote to tom"),
        ("Gareths quote", "Gareth's quote"),
        ("the marks of gareth", "the marks of gareth"),  # a word of its own
        ("ask thomas", "ask thomas"),  # a name of its own
        ("dinner with zoltans", "dinner with zoltans"),
    ],
)
def test_the_apostrophe_behind_a_name_is_written(typed: str, meant: str) -> None:
    people = {"gareth", "tom", "mark", "thoma", "thomas"}
    mended = SHIPPED.mended(typed, people, people)
    assert (mended.text, mended.as_typed(mended.text)) == (meant, typed)


def test_what_is_said_can_be_kept_as_typed() -> None:
    mended = SMALL.mended("remnid me to get mlik")
    assert mended.text == "remind me to get milk"
    assert mended.as_typed("get milk") == "get mlik"
    assert mended.as_typed("milkshake") == "milkshake"


def test_two_words_as_likely_leave_it_alone() -> None:
    assert Spelling([], ["bald", "bold"]).meant("btld") == "btld"
    assert Spelling([], ["bald"]).meant("btld") == "bald"


def test_a_long_text_of_slips_and_one_long_word_cost_little() -> None:
    for one in ("x", "“", '"', "x.", "“x "):
        assert SHIPPED.mended(one * 50_000).text == one * 50_000
    many = "remnid " * 5_000
    assert SHIPPED.mended(many).text.count("remind") == 5_000
    assert SHIPPED.mended(" ".join(f"q{'wxz'[k % 3]}j{'abc' * (k % 3)}v{'ly' * (k % 5)}" for k in range(20_000)))


def test_two_slips_are_mended_only_towards_words_of_the_field() -> None:
    assert SMALL.meant("tommorow") == "tomorrow"
    assert Spelling([], ["tomorrow"]).meant("tommorow") == "tommorow"


@given(st.sampled_from(["remind", "tomorrow", "shopping", "meeting"]), st.data())
def test_one_slip_from_a_word_has_that_word_one_slip_away(word: str, data: st.DataObject) -> None:
    slipped = data.draw(st.sampled_from(sorted(one_slip_from(word))))
    assert word in one_slip_from(slipped)


@given(st.text(max_size=60))
def test_any_text_is_read_and_a_mended_one_stays(text: str) -> None:
    once = SHIPPED.mended(text).text
    assert SHIPPED.mended(once).text == once or len(once) == len(SHIPPED.mended(once).text)
    assert text.count("\n") == once.count("\n")


def test_a_price_of_two_slips_is_for_two_and_no_more() -> None:
    assert two_slips_price("tommorow", "tomorrow") < 100
    assert two_slips_price("tommorow", "timorous") == float("inf")


def test_words_of_no_known_vocabulary_are_strange() -> None:
    spelling = Spelling.shipped()
    assert spelling.strange("ring breda about the shoping, 12 “qzx” Kfz") == {"breda", "shoping"}
    assert spelling.strange("ring breda", {"breda"}) == frozenset()
