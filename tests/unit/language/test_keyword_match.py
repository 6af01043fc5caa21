"""Words that find texts: every telling one must occur, whatever its case, accents or plural."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.tokens import NONE_HAS_ALL, Query, Wanted, excerpt, ignored, names, says_nothing, wanted
from tests.work import grows_in_step


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("the keys", "A key lies there"),
        ("key", "all keys"),
        ("party", "two parties"),
        ("GRÜSSE", "viele Grusse, gruesse sind anders"),
        ("Straße", "die STRASSE"),
        ("garden", "gardening"),
        ("anna's mail", "from anna: mail"),
        ("2027", "plan-2027.csv"),
        ("box", "the box."),
        ("fuse box", "fuse_box.jpg"),
        ("日本", "日本語のメモ"),
        ("the of", "the first of all"),
        ("burrens quote", "Burren: quotation"),
        ("the roofer's invoice", "roofer, bill of May"),
        ("", "anything"),
        (" ?! ", "anything"),
    ],
)
def test_what_is_found(query: str, text: str) -> None:
    assert not wanted(query).missing_in(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("key", "monkey, keyboard"),
        ("roof report", "roof"),
        ("ann", "anna"),
        ("garden", "kindergarden"),
        ("box", "boxing"),
        ("water", "wat er"),
        ("Bill", "invoice"),
        ("the quote", "the quota"),
    ],
)
def test_what_is_not_found(query: str, text: str) -> None:
    assert wanted(query).missing_in(text)


def test_generic_words_do_not_count() -> None:
    generic = frozenset(["mail"])
    assert not wanted("mails about keys", generic).missing_in("keys")
    assert not wanted("mail", generic).missing_in("anything")
    assert wanted("mail").missing_in("anything")


def test_what_is_missing_may_be_sought_elsewhere() -> None:
    missing = wanted("roof report anna").missing_in("report on the roof")
    assert missing
    assert not missing.missing_in("from Anna")


@given(st.text(max_size=50), st.text(max_size=200))
def test_any_query_fits_or_not(query: str, text: str) -> None:
    words = wanted(query)
    assert bool(words.missing_in(text)) in (True, False)
    assert words.count_in(text) <= 10 * len(words.patterns)
    assert len(excerpt(text, words, 40)) <= 42
    assert not words.missing_in(query)


def test_long_texts_take_no_long_time() -> None:
    """In step with the square of the length, they would take minutes."""
    assert wanted("x" * 1_000_000).missing_in("y" * 1_000_000)
    assert wanted("a b c " * 100_000).missing_in("é" * 200_000)
    assert grows_in_step(lambda n: wanted("a b c " * n).missing_in("é" * n), 1_000, 4_000)


def test_an_excerpt_shows_the_place() -> None:
    text = "one two three " * 50 + "needle " + "four five " * 50
    shown = excerpt(text, wanted("needle"), 100)
    assert "needle" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= 102
    assert excerpt("short", wanted("needle"), 100) == "short"
    assert excerpt(text, wanted(""), 20).startswith("one two")


def test_a_few_names_stand_for_many() -> None:
    assert names(["a", "b"]) == "'a', 'b'"
    assert names(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"


def test_a_word_for_one_left_out_is_not_sought_where_nothing_has_it() -> None:
    texts = ["The wifi code", "Things to buy", "Tape"]
    known = wanted("the wifi thing").known_in(texts)
    assert [text for text in texts if known and not known.missing_in(text)] == ["The wifi code"]
    assert not wanted("thing").known_in(texts)
    assert not wanted("wifi").known_in(texts)  # nothing less to look for
    assert not wanted("radio thing").known_in(texts)
    assert Query("the tape thing").matches_loosely("ring about the tape")
    assert not Query("the tape thing").matches("ring about the tape")
    assert not Query("the thing").matches_loosely("ring about the tape")


def test_an_article_alone_names_nothing() -> None:
    assert not Query("the").words
    assert Query("the who").words, "who is no article"
    assert Query("the dentist").words == {"dentist"}


@pytest.mark.parametrize(
    ("query", "is_empty"),
    [("the", True), ("is it", True), ("of my", True), ("The", False), ("the who", False), ("tea", False), ("", False)],
)
def test_small_words_alone_say_nothing(query: str, is_empty: bool) -> None:
    assert says_nothing(query) is is_empty


@pytest.mark.parametrize(
    ("asked", "known", "told"),
    [
        ("lunch at the swan lake with Priya", Query("lunch Priya"), ": I ignored “swan lake”."),
        ("otter lunch with a swan", wanted("lunch"), ": I ignored “otter”, “swan”."),
        ("the Café appointment", Query("cafe"), "."),  # a word people say but do not write
        ("x" * 100 + " lunch", Query("lunch"), f": I ignored “{'x' * 60}”."),
        (
            "a1 lunch b2 lunch c3 lunch d4 lunch e5 lunch f6",
            Query("lunch"),
            ": I ignored “a1”, “b2”, “c3”, “d4”, “e5”.",
        ),
    ],
)
def test_words_that_nothing_has_are_named(asked: str, known: Query | Wanted, told: str) -> None:
    assert ignored(asked, known) == f"{NONE_HAS_ALL}{told}"
