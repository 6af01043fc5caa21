"""The attacks on priors: they succeed on exact sums, and on priors with noise no better than a guess."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from hearth.planning.ranking.features import ReadingOptions
from hearth.planning.ranking.ranker import RankerOptions
from hearth.testing import HashEncoder
from hearth_bench.suites.prior_privacy_suite import Attacked, measure_prior_privacy, privacy_lines
from tests.merging_world import OPTIONS
from tests.small_world import TOOLS, lessons


def _word(drawn: random.Random) -> str:
    return "".join(drawn.choice("bdfgklmnprst") + drawn.choice("aeiou") for _ in range(3))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    asked = Attacked(n_founders=3, n_each=40, n_canaries=60, epsilons=(4.0,))
    drawn = random.Random(5)
    # Numbers are stand-ins, so that words have to tell one sentence from another.
    shown = [replace(one, request=f"{one.request} {_word(drawn)} {_word(drawn)}") for one in lessons(400)]
    return measure_prior_privacy(
        HashEncoder(48), TOOLS, shown, RankerOptions(reading=ReadingOptions(32, 512), n_fit=60), asked
    )


def test_exact_sums_tell_who_gave_what(document: dict[str, Any]) -> None:
    exact = document["attacks"]["exact"]
    assert exact["difference_auc"] > 0.9
    assert exact["canaries_back"] > 10


def test_priors_of_many_owners_tell_no_more_than_those_of_others(document: dict[str, Any]) -> None:
    private, oracle = (document["attacks"][name] for name in ("epsilon 4", "nobody's part"))
    for attack in ("difference_auc", "membership_auc"):
        assert private[attack] <= 0.5 + 0.12  # 120 sentences and two ways of scoring
        assert oracle[attack] <= 0.5 + 0.12
    assert private["canaries_back"] == 0
    assert privacy_lines(document)[0].split() == ["prior", "difference", "membership", "inversion", "canaries", "back"]


def test_too_few_demonstrations_are_refused() -> None:
    with pytest.raises(ValueError, match="half of them nobody's; there are 100"):
        measure_prior_privacy(HashEncoder(48), TOOLS, lessons(100), OPTIONS, Attacked(3, 40))
