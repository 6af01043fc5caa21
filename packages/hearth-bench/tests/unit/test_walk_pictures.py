"""The walks on the architecture's page are those that were measured, fit one picture each, and name files that are there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hearth.language.tokens import listed
from hearth_bench.measure.result_file import RESULTS, ROOT
from hearth_bench.measure.walk_pictures import MOST_LINES, PAGE, PICTURES, WIDTH, Walks, drawn, picture, with_pictures
from hearth_bench.measure.walks import Watch

ENTERED = [
    ("agent.py", ""),
    ("guard/monitor.py", "agent.py"),
    ("guard/policy/rules.py", "guard/monitor.py"),
    ("guard/__init__.py", "agent.py"),
    ("guard/labels.py", "guard/policy/rules.py"),
    ("storage/trace.py", "agent.py"),
    ("hearth_cloud/service/routing.py", "hearth_cloud/service/service.py"),
    ("hearth_cloud/service/service.py", ""),
]


@pytest.fixture(scope="module")
def walks() -> Walks:
    return Walks.read(RESULTS / "walks.json")


def test_a_room_stands_below_the_one_that_first_called_it() -> None:
    """One that was called by what ran already stands for itself."""
    shown = [line.split() for line in picture(ENTERED).splitlines()]
    assert shown == [
        ["agent"],
        ["├─", "guard", "monitor,", "labels"],
        ["│", "└─", "guard.policy", "rules"],
        ["└─", "storage", "trace"],
        ["hearth_cloud.service", "routing,", "service"],
    ]


def test_many_files_of_a_room_go_on_below() -> None:
    lines = picture([("agent.py", ""), *((f"room/module_number_{k}.py", "agent.py") for k in range(9))]).splitlines()
    assert len(lines) == 4
    assert all(len(line) <= WIDTH for line in lines)
    assert "module_number_8" in lines[-1]


def test_only_marked_places_of_a_page_are_drawn_anew(walks: Walks) -> None:
    page = "# A\n<!-- walk: request -->\nold\n<!-- end -->\nstays\n"
    again = with_pictures(page, walks)
    assert again == f"# A\n<!-- walk: request -->\n```text\n{drawn(walks, 'request')}\n```\n<!-- end -->\nstays\n"
    assert with_pictures(again, walks) == again


def test_the_page_has_the_walks_that_were_measured_last(walks: Walks) -> None:
    page = PAGE.read_text()
    assert all(f"<!-- walk: {mark} -->" in page for mark in PICTURES)
    assert page == with_pictures(page, walks), "run `python -m hearth_bench.measure.walk_pictures`"


@pytest.mark.parametrize("mark", PICTURES)
def test_each_walk_fits_one_picture(walks: Walks, mark: str) -> None:
    lines = drawn(walks, mark).splitlines()
    assert 10 < len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= WIDTH


def test_every_file_of_a_walk_is_still_there(walks: Walks) -> None:
    """Where files moved, the walks are to be taken anew."""
    core, cloud = ROOT / "src" / "hearth", ROOT / "packages" / "hearth-cloud"
    files = {file for entered in walks.entered.values() for file, _ in entered}
    gone = sorted(file for file in files if not (core / file).exists() and not (cloud / file).exists())
    assert gone == [], "run `python -m hearth_bench.measure.walks` (two minutes)"


def test_every_room_of_a_walk_is_drawn(walks: Walks) -> None:
    for entered in walks.entered.values():
        shown = picture(entered)
        assert [
            file for file, _ in entered if Path(file).stem not in ("__init__", *shown.replace(",", "").split())
        ] == []


def test_a_walk_is_counted_the_second_time_alone() -> None:
    taken: list[int] = []

    def step(k: int) -> None:
        taken.append(k)
        listed("a b")

    row = Watch().walked(step)
    assert taken == [0, 1]
    assert (row["n_files"], row["files"], row["entered"]) == (
        1,
        {"language/tokens.py": 1},
        [["language/tokens.py", ""]],
    )
    assert sys.getprofile() is None
