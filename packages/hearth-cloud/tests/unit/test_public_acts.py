"""What others add moves no public act to a stronger effect, whoever they are and however many."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from hearth.planning.ranking.sufficient_statistics import decode, encode, merged
from hearth_cloud.cloud_settings import StatisticsSettings
from hearth_cloud.statistics.public_acts import Acts, Evidence, share_of
from hearth_cloud.statistics.robust_merge import Terms, evidence_of, noisy, refusal, shared
from hearth_cloud.statistics.shipped_statistics import Public
from tests.merging_world import ENCODER, OPTIONS, PUBLIC, edges
from tests.small_world import PLANS, TOOLS, lessons

EFFECTS = {"look": "none", "write": "change", "unlock": "send"}
ROWS = np.eye(3)


def evidence(wanted: dict[int, str], times: float = 1.0) -> Evidence:
    """So many requests alike of each kind, and the tool they want."""
    tools = tuple(sorted(set(wanted.values())))
    gram, moments = np.zeros((3, 3)), np.zeros((3, len(tools)))
    for k, tool in wanted.items():
        gram[k, k] += 10 * times
        moments[k, tools.index(tool)] += 10 * times
    return Evidence(tools, gram, moments)


RIGHT = {0: "look", 1: "write", 2: "unlock"}
ACTS = Acts(ROWS, tuple((tool,) for tool in RIGHT.values()), EFFECTS)
SHOWN = evidence(RIGHT)


@pytest.mark.parametrize(
    ("others", "most"),
    [
        (evidence(RIGHT, 1_000), 1.0),
        (evidence({2: "look"}, 1_000), 1.0),  # a weaker effect harms nobody
        (evidence({0: "unlock"}, 100), 1 / 128),
        (evidence({0: "write"}, 3), 0.25),
        (evidence({1: "unlock"}, 1e9), 0.0),
        (evidence({1: "opens what nobody knows"}, 1e9), 0.0),
    ],
)
def test_others_count_as_far_as_no_act_gets_a_stronger_effect(others: Evidence, most: float) -> None:
    share = share_of(others, SHOWN, ACTS)
    assert share == most
    tools = tuple(sorted({*SHOWN.tools, *others.tools}))
    mine, theirs = SHOWN.over(tools), others.over(tools)
    both = Evidence(tools, mine.gram + share * theirs.gram, mine.moments + share * theirs.moments)
    assert not ACTS.moved(tuple(RIGHT.values()), ACTS.chosen(both))


def test_what_was_wrong_before_is_nobodys_fault() -> None:
    assert ACTS.moved(("unlock", "unlock", "unlock"), ("unlock", "unlock", "unlock")) == 0
    assert ACTS.moved(("look", "look", "unlock"), ("write", "write", "unlock")) == 1


def test_a_share_of_noisy_sums_is_a_prior_like_any_other() -> None:
    found = noisy(merged(edges(4).values()), 1e7, 40, list(PLANS), b"s" * 32)
    half = shared(found, 0.5)
    assert decode(encode(half)).digest == half.digest
    assert half.sequences.keys() == found.sequences.keys()
    assert np.abs(2 * half.sums.gram - found.sums.gram).max() <= 1
    assert "noise" in refusal(half, Terms(most=60, least=1))
    public = Public.of(ENCODER, TOOLS, lessons(100, 80_000), PUBLIC, (OPTIONS, OPTIONS))
    assert public.acts.rows.shape == (100, 1 + 48 + 64 + 128)
    assert share_of(evidence_of(found), evidence_of(public.given), public.acts) == 1.0


def test_priors_of_many_owners_need_public_acts() -> None:
    with pytest.raises(ValidationError, match="held to what public requests mean"):
        StatisticsSettings(mode="secret", with_public=False)
    assert StatisticsSettings(mode="secret", owners="one", with_public=False).mode == "secret"
