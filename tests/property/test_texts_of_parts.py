"""One text that is made of several holds the plan's words, as the pattern of them would tell it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hearth.guard.labels import is_made_of
from hearth.types import BETWEEN_TEXTS, Argument, Ref

words = st.text("ab\n", max_size=3)
parts = st.lists(words | st.integers(0, 2).map(Ref), min_size=1, max_size=5)


def pattern_of(texts: list[str | Ref]) -> str:
    return BETWEEN_TEXTS.join(re.escape(one) if isinstance(one, str) else "(?s:.*)" for one in texts)


@given(parts, st.data())
def test_the_words_of_a_plan_stand_in_a_text_as_their_pattern_says(texts: list[str | Ref], data: st.DataObject) -> None:
    filled = [data.draw(words) if isinstance(one, Ref) or data.draw(st.integers(0, 9)) == 0 else one for one in texts]
    value = BETWEEN_TEXTS.join(filled) + data.draw(st.sampled_from(["", "", "a"]))
    given_texts: list[Argument] = [*texts]
    is_brought = any(isinstance(one, Ref) for one in texts)
    assert is_made_of(given_texts, value) == (is_brought and re.fullmatch(pattern_of(texts), value) is not None)


def test_a_long_text_of_anybody_is_gone_through_once() -> None:
    texts: list[Argument] = [Ref(0), "x", Ref(1), "x", Ref(2), "x", Ref(3), "z"]
    assert not is_made_of(texts, "\n\nx\n\n" * 200_000)  # a pattern with as many gaps would never end
    assert is_made_of(texts, "\n\nx\n\n" * 200_000 + "z")
    assert not is_made_of(["a", 3, Ref(0)], "a\n\n3\n\nb")
