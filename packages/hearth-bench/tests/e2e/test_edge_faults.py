"""The harness of `hearth_bench.measure.cloud.edge_faults` on a few faults of each kind, with a fixed seed."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from hearth_bench.measure.cloud import edge_faults


@pytest.mark.slow
def test_whatever_breaks_requests_are_answered_and_demonstrations_arrive_once(tmp_path: Path, home: Path) -> None:
    with edge_faults.Run(tmp_path, 5, with_namespaces=False, home=home) as run:
        said = {"503", "429", "500", "html", "redirect", "stalled"}  # `test_edge_sending` has those
        every = [kind for kind in edge_faults.SHARES if kind not in {*edge_faults.NAMESPACE_FAULTS, *said}]
        for kind in [*every, "edge killed", "edge killed", "disk full", "answer lost"]:
            run.fault(kind)
        healed = run.heal()
        with contextlib.closing(sqlite3.connect(run.service.folder / "cloud.db")) as connection, connection:
            connection.execute("DELETE FROM demonstration WHERE rowid = 1")
            connection.execute(
                "INSERT INTO demonstration SELECT edge, 'd-other', task, line, at FROM demonstration WHERE rowid = 2"
            )
        harmed = run.compared()
    tally = run.tally
    assert tally.problems == []
    assert tally.n_answered == tally.n_asked > 12
    assert sum(tally.n_faults.values()) >= 12, tally.n_faults
    assert healed["n_demonstrations"] == tally.n_learnt > 7
    assert tally.n_known > 0, "an answer was lost after its effect"
    assert (healed["n_lost"], healed["n_doubled"], healed["n_strange"]) == (0, 0, 0)
    assert healed["in_order"]
    assert healed["n_dead_letters"] == 0
    assert healed["n_entries_with_a_name"] == 0
    assert healed["ledger_is_whole"]
    assert (harmed["n_lost"], harmed["n_doubled"], harmed["n_strange"]) == (1, 1, 1), "it would have been seen"
    assert not harmed["in_order"]


def test_runs_are_added_up() -> None:
    one = {"seed": 1, "n_faults": 3, "by_kind": {"a": 3}, "slowest_request_ms": 9.0, "in_order": True, "problems": []}
    two = {
        "seed": 2,
        "n_faults": 4,
        "by_kind": {"b": 4},
        "slowest_request_ms": 2.0,
        "in_order": False,
        "problems": ["x"],
    }
    assert edge_faults.together([one, two]) == {
        "n_faults": 7,
        "by_kind": {"a": 3, "b": 4},
        "slowest_request_ms": 9.0,
        "in_order": False,
        "problems": ["x"],
    }
