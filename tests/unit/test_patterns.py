"""Patterns compiled at their first use: the same as `re`'s, and every one of the tree well formed."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re

import pytest

import hearth
from hearth import patterns

PATTERN, TEXT = r"(?P<day>\w+)day\b", "Monday and tuesday"


def test_a_pattern_answers_as_that_of_re() -> None:
    ours, theirs = patterns.compile(PATTERN, patterns.I), re.compile(PATTERN, re.I)
    assert ours.pattern == theirs.pattern
    assert ours.search(TEXT)["day"] == "Mon"  # type: ignore[index]
    assert ours.match(TEXT, 7) is theirs.match(TEXT, 7) is None
    assert ours.findall(TEXT) == theirs.findall(TEXT) == ["Mon", "tues"]
    assert [m.span() for m in ours.finditer(TEXT)] == [m.span() for m in theirs.finditer(TEXT)]
    assert (ours.sub("x", TEXT), ours.subn("x", TEXT), ours.split(TEXT)) == (
        "x and x",
        ("x and x", 2),
        theirs.split(TEXT),
    )
    assert (ours.groups, dict(ours.groupindex)) == (1, {"day": 1})
    assert ours.fullmatch("Friday")
    assert not ours.fullmatch("on Friday")


def test_nothing_is_compiled_before_the_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    real = re.compile

    def counted(pattern: str, flags: int = 0) -> re.Pattern[str]:
        made.append(pattern)
        return real(pattern, flags)

    monkeypatch.setattr(re, "compile", counted)
    pattern = patterns.compile(r"\d+")
    assert made == []
    assert pattern.match("12")
    assert pattern.match("3")
    assert made == [r"\d+"]


def test_a_malformed_pattern_raises_what_re_raises_and_an_unknown_attribute_is_none_of_a_pattern() -> None:
    with pytest.raises(re.error):
        patterns.compile("(").match("")
    with pytest.raises(AttributeError, match="no attribute 'scan'"):
        patterns.compile("a").scan  # type: ignore[attr-defined]  # noqa: B018


def test_every_pattern_of_the_core_is_well_formed() -> None:
    for module in pkgutil.walk_packages(hearth.__path__, "hearth."):
        if not module.name.startswith(
            ("hearth.models.llm", "hearth.learning.finetune", "hearth.serve", "hearth.__main__")
        ):
            importlib.import_module(module.name)
    gc.unfreeze()  # where something froze what was imported, it is not listed
    found = [thing for thing in gc.get_objects() if type(thing) is patterns._AtFirstUse]
    assert len(found) > 500
    for pattern in found:
        re.compile(pattern.pattern, pattern.flags)
