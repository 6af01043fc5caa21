"""Patterns of a policy cannot run away, whatever text they meet."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.guard.policy.rules import MAX_TEXT_CHARS, checked_pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "ok",
        r"[a-z.]+@example\.org",
        r"INV-\d{4}-\d{1,6}",
        "(?:yes|no|later)",
        r"\+49\d{5,12}",
        "(ab)*",
        "(?:foo|bar)*",
        ".*invoice.*",
        "(?i:hello) world?",
        "",
    ],
)
def test_usual_patterns_pass(pattern: str) -> None:
    assert checked_pattern(pattern).text == pattern


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+b",
        "(a*)*",
        "(a|a)*b",
        "(a|ab)*c",
        "(a?){30}a{30}",
        "a?" * 30 + "a" * 30,
        ".*.*.*x",
        r"(a)\1",
        "(?=a)b",
        "(?<!a)b",
        "(a+){2,3}",
        "x" * 501,
        "[",
        "a{5,2}",
        "(?:a{0,900}){0,900}",
    ],
)
def test_what_could_run_away_or_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"pattern|regular expression|too long"):
        checked_pattern(pattern)


def test_nesting_alone_does_no_harm() -> None:
    assert checked_pattern("(" * 80 + "a" + ")" * 80).fits("a")


def test_the_whole_text_has_to_match_and_a_long_one_is_not_looked_at() -> None:
    pattern = checked_pattern("a+")
    assert pattern.fits("aaa") is True
    assert pattern.fits("aaab") is False
    assert pattern.fits("a" * (MAX_TEXT_CHARS + 1)) is None


pieces = st.sampled_from(
    ["a", "b", ".", "[ab]", "a*", "a+", "b?", "(a|b)", "(a*)", "(ab)*", "(a|ba)*", "a{0,20}", "(b?a)*"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(pieces, min_size=1, max_size=6))
def test_no_pattern_that_passes_takes_long(parts: list[str]) -> None:
    """One that did would take hours here, in step with a power of the text's length."""
    try:
        pattern = checked_pattern("".join(parts) + "c")
    except ValueError:
        return
    for text in ("a" * MAX_TEXT_CHARS, "ab" * (MAX_TEXT_CHARS // 2), "b" * MAX_TEXT_CHARS):
        assert pattern.fits(text) is False
    assert re.compile(pattern.text)
