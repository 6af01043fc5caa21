"""Requests are cut where acts are said to begin, and what wishes nothing is dropped."""

from __future__ import annotations

import datetime as dt
import itertools

from hypothesis import given
from hypothesis import strategies as st

from hearth.language.reading import Utterance
from hearth.models.intent_classifier import IntentClassifier, MarkedToken
from hearth.planning.retrieval.plan_assembly import acts_of
from hearth.types import Context

NOW = dt.datetime(2026, 11, 24, 9, 30, tzinfo=dt.UTC)


class Marks(IntentClassifier):
    """Says that acts begin at some words, and that others belong to none."""

    def __init__(self, begins: tuple[str, ...] = (), asides: tuple[str, ...] = (), *, low: float = 0.0) -> None:
        self._begins, self._asides, self._low = begins, asides, low

    def marked(self, text: str) -> tuple[MarkedToken, ...]:
        return tuple(
            MarkedToken(token.start, 0.9 if token.low in self._begins else self._low, float(token.low in self._asides))
            for token in Utterance(text, NOW).tokens[:64]
        )


def acts(text: str, classifier: IntentClassifier | None) -> list[str]:
    found = acts_of(Utterance(text, NOW, context=Context(country="DE")), classifier)
    return [act.text for place, act in enumerate(found.pieces) if place not in found.asides]


def test_a_cut_stands_where_an_act_begins_without_the_words_that_join_it() -> None:
    said = "yo led strip off, n also wake me at 7!"
    assert acts(said, Marks(("and",))) == ["yo led strip off", "wake me at 7"]
    assert acts(said, Marks(("yo",))) == ["yo led strip off, n also wake me at 7"]


def test_no_cut_stands_within_a_value() -> None:
    assert acts("wake me tomorrow at nine", Marks(("at", "nine"))) == ["wake me tomorrow at nine"]


def test_a_cut_of_the_rules_stands_unless_the_marks_speak_against_it() -> None:
    said = "turn off the lamp and remind me to call mum"
    assert acts(said, Marks(low=0.2)) == ["turn off the lamp", "remind me to call mum"]
    assert acts(said, Marks(low=0.05)) == [said]


def test_behind_the_words_that_are_marked_and_without_a_classifier_the_rules_stand_alone() -> None:
    long = "add " + "oat milk, " * 40 + "tea to the list and remind me to call mum"
    assert acts(long, Marks(low=0.01))[-1] == "remind me to call mum"
    assert acts("call Tom. wake me at 7", None) == ["call Tom", "wake me at 7"]


def test_what_wishes_nothing_is_no_act_unless_there_is_nothing_else() -> None:
    said = "freezing again, heating on please"
    freezing = Marks(("heating",), ("freezing", "again", ","))
    assert acts(said, freezing) == ["heating on please"]
    assert acts("freezing again", freezing) == ["freezing again"]


def test_what_holds_a_value_is_never_dropped() -> None:
    said = "it says 3 bar, boss wants it as psi"
    assert acts(said, Marks(("boss",), ("it", "says", "3", "bar"))) == ["it says 3 bar", "boss wants it as psi"]
    marks = Marks(("lamp",), ("long", "one", "today", "tomorrow"))
    assert acts("long one today. lamp off", marks) == ["lamp off"]
    assert acts("long one tomorrow. lamp off", marks) == ["long one tomorrow", "lamp off"]


def test_two_things_under_one_verb_are_one_act() -> None:
    assert acts("turn off the lamp and the heater", Marks(("and",))) == ["turn off the lamp and the heater"]
    assert acts("turn off the lamp and heater", Marks(("and",))) == ["turn off the lamp and heater"]
    assert acts("turn off the lamp and the heater on", Marks(("and",))) == ["turn off the lamp", "the heater on"]
    assert acts("turn off the lamp n get the heater", Marks(("and",))) == ["turn off the lamp", "get the heater"]


@given(st.text(max_size=200))
def test_acts_lie_in_order_within_any_text(text: str) -> None:
    said = Utterance(text, NOW, context=Context(country="DE"))
    found = acts_of(said, Marks(("a", "0"), ("b",), low=0.3)).pieces
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
    assert all(text[act.start : act.end] == act.text for act in found)
    assert bool(found) >= bool(said.acts) or all(token.kind == "mark" for token in said.tokens)
