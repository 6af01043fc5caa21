"""What every expert keeps; the contract itself fails for one that does not."""

from __future__ import annotations

import dataclasses

import pytest

from hearth.testing import ScriptedExpert, check_expert


def test_the_double_keeps_the_contract() -> None:
    assert check_expert(lambda: ScriptedExpert("a person"), "a picture") == "a person"


def test_an_expert_that_says_no_limits_is_found() -> None:
    class Boastful(ScriptedExpert):
        card = dataclasses.replace(ScriptedExpert.card, cannot=())

    with pytest.raises(AssertionError, match="every model has limits"):
        check_expert(lambda: Boastful("a person"), "a picture")


def test_an_expert_that_wavers_is_found() -> None:
    answers = iter(["one", "two"])
    with pytest.raises(AssertionError, match="different things"):
        check_expert(lambda: ScriptedExpert(next(answers)), "a picture")
