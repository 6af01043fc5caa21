"""Laws of inference: questions hold no fact, values stand in the text, any text is safe, strangers make no belief."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth.memory.fact_extraction import Told, facts_in, learn_from
from hearth.memory.facts import ME, FactStore
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import UNTRUSTED_SOURCES, Label

NAMES = st.sampled_from(["Ana", "Ben", "Lotte", "Dr Weiss", "Karin Holm"])
KINDS = st.sampled_from(["sister", "boss", "dentist", "neighbour", "uncle"])
THINGS = st.sampled_from(["olives", "jazz", "long meetings", "the sea", "hiking in the mountains"])
TOWNS = st.sampled_from(["Ghent", "Porto", "New York"])
STATEMENTS = st.one_of(
    st.builds("my {} is {}".format, KINDS, NAMES),
    st.builds("{} lives in {}".format, NAMES, TOWNS),
    st.builds("I like {}".format, THINGS),
    st.builds("I don't like {}".format, THINGS),
    st.builds("I am allergic to {}".format, THINGS),
    st.builds("I moved to {} last year".format, TOWNS),
    st.builds("my {} {} lives in {} and likes {}".format, KINDS, NAMES, TOWNS, THINGS),
    st.builds("{}'s birthday is {} May".format, NAMES, st.integers(1, 31)),
)
WORDS = re.compile(r"\w+")


@given(STATEMENTS)
def test_a_statement_holds_a_fact_and_the_same_as_a_question_none(text: str) -> None:
    assert facts_in(text, FIXED_NOW)
    for question in (f"{text}?", f"do you know that {text}", f"is it true that {text}", f"{text}, right?!"):
        assert facts_in(question, FIXED_NOW) == ()


@given(STATEMENTS, st.sampled_from(["if", "suppose", "Ana says", "I wish", "imagine", "I doubt that", "as if"]))
def test_what_is_supposed_wished_or_reported_holds_none(text: str, opening: str) -> None:
    assert facts_in(f"{opening} {text}", FIXED_NOW) == ()


@given(STATEMENTS)
def test_what_is_quoted_or_sent_to_others_holds_none(text: str) -> None:
    for quoted in (f'"{text}"', f"“{text}.”", f"> {text}", f"reply to Eva: thanks. {text}. {text}"):
        assert facts_in(quoted, FIXED_NOW) == ()


@given(st.one_of(STATEMENTS, st.text(max_size=200), st.lists(STATEMENTS, max_size=4).map(". ".join)))
def test_any_text_is_safe_and_every_value_stands_in_it(text: str) -> None:
    words = set(WORDS.findall(text.casefold()))
    for read in facts_in(text, FIXED_NOW):
        assert read.relation == "birthday" or words.issuperset(WORDS.findall(read.value.casefold()))
        assert 0 < read.confidence <= 1
        assert read.subject.strip()
        assert read.value.strip()


@pytest.mark.parametrize("source", sorted(UNTRUSTED_SOURCES))
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(STATEMENTS, min_size=1, max_size=4), person=st.sampled_from(["", "Ben"]))
def test_a_strangers_text_is_never_believed_and_ends_nothing(
    tmp_path_factory: pytest.TempPathFactory, source: str, texts: list[str], person: str
) -> None:
    path: Path = tmp_path_factory.mktemp("facts") / "a.db"
    with Store.open(path) as store:
        facts = FactStore(store)
        label = Label(frozenset({source, "owner"}), frozenset())
        for k, text in enumerate(texts):
            learn_from(facts, Told(f"e{k}", text, "message", FIXED_NOW, label, person))
        assert facts.believed() == ()
        assert facts.believed(ME) == ()
