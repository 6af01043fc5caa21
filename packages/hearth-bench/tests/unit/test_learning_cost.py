"""What learning costs: only examples that can be run are taken, each an owner's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.formats.plans import check_plan
from hearth.registry import load_tools
from hearth_bench.measure.learning.learning_cost import N_EXAMPLES, N_LEARNT, taken


def test_there_are_enough_examples_that_can_be_run(tmp_path: Path) -> None:
    examples = taken(N_EXAMPLES + N_LEARNT, tmp_path)
    specs = load_tools(tmp_path).specs
    assert len({one.id for one in examples}) == N_EXAMPLES + N_LEARNT
    assert all(one.source == "owner" and one.now is not None for one in examples)
    assert all(check_plan(one.plan, specs).steps for one in examples)


def test_too_many_examples_are_an_error_that_says_how_many_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"100000 examples wanted, and varied_requests.jsonl and week_requests.jsonl hold"
    ):
        taken(100_000, tmp_path)
