"""Parts of the planner left out: what is noted, what is put in their place, and what is counted."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from hearth_bench.measure.planning.parts_left_out import Left, Outcome, document_of, keep, kept_in, measure
from hearth_bench.measure.planning.planner_parts import ALL, PARTS, Part, leaving_out, noting, owner_of

ADDS = Part("adds", "toy_planner", 0)
TRIES = Part("tries", "toy_planner", 1, is_handed_back=False)
TELLS = Part("tells", "toy_planner", None, is_handed_back=False, nothing="")
OFTEN = Part("often", "toy_planner.Toy", 1)


@pytest.fixture(autouse=True)
def toy() -> Iterator[types.ModuleType]:
    module = types.ModuleType("toy_planner")
    exec(
        """
def adds(found, said):
    return found + ("added",) if "add" in said else found
def tries(said, found):
    return ("tried",) if "try" in said else found if "same" in said else None
def tells(said):
    return "told" if "tell" in said else ""
class Toy:
    def often(self, said, found):
        return (*found, "often")
def plan(said):
    found = adds((), said)
    found = tries(said, found) or found
    return Toy().often(said, (*found, tells(said)))
""",
        module.__dict__,
    )
    sys.modules["toy_planner"] = module
    yield module
    del sys.modules["toy_planner"]


@dataclass
class Toys:
    """Requests of the toy planner; right is a plan with something added or tried."""

    ids: Sequence[str]
    n_asked: int = 0

    def ask(self, id: str) -> Outcome:
        self.n_asked += 1
        plan = sys.modules["toy_planner"].plan(id)
        return Outcome("added" in plan or "tried" in plan, "told" in plan)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_every_part_is_looked_up_where_it_is_called(part: Part) -> None:
    assert callable(getattr(owner_of(part), part.name))


def test_names_of_parts_are_told_apart() -> None:
    names = [part.name for part in PARTS]
    assert len(set(names)) == len(names)
    assert ALL not in names


def test_a_part_that_is_gone_is_an_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match=r"toy_planner has no 'gone'; name in PARTS"):
        owner_of(Part("gone", "toy_planner", 0))


@pytest.mark.parametrize(
    ("said", "touched"),
    [
        ("add", {"adds", "often"}),
        ("try", {"tries", "often"}),
        ("same", {"often"}),
        ("tell", {"tells", "often"}),
    ],
)
def test_what_changes_anything_is_noted(toy: types.ModuleType, said: str, touched: set[str]) -> None:
    before = toy.plan(said)
    with noting([ADDS, TRIES, TELLS, OFTEN]) as names:
        assert toy.plan(said) == before
    assert names == touched


def test_a_part_left_out_gives_back_what_it_was_given(toy: types.ModuleType) -> None:
    with leaving_out([ADDS]):
        assert toy.plan("add") == ("", "often")
    with leaving_out([TRIES, TELLS]):
        assert toy.plan("try add tell") == ("added", "", "often")
    with leaving_out([OFTEN]):
        assert toy.plan("x") == ("",)
    assert toy.plan("add try") == ("tried", "", "often")


def test_only_what_a_part_touches_is_planned_anew() -> None:
    asked = Toys(["add", "add too", "tell", "nothing"])
    with_it, left = measure(asked, [ADDS, TRIES, TELLS])
    assert [one.is_right for one in with_it.values()] == [True, True, False, False]
    assert asked.n_asked == 4 + 2 + 0 + 1 + 3  # all once, then those of each part, then those of any
    assert left["adds"].without_it == {"add": Outcome(False, False), "add too": Outcome(False, False)}
    assert left["tries"].n_touched == 0
    summary = left["adds"].summary()
    assert (summary["n_touched"], summary["right_with"], summary["right_without"]) == (2, 2, 0)
    assert summary["worth"] == 0.5
    assert summary["worth_interval_95"] == [0.0, 1.0]
    told = left["tells"].summary()
    assert (told["harmful_with"], told["harmful_without"], told["harm"]) == (1, 0, 0.25)
    assert left[ALL].n_touched == 3


def test_the_results_name_what_touches_nothing() -> None:
    right = {"a": Outcome(True, False)}
    nothing = Left(0, right, {})
    left = {**{part.name: nothing for part in PARTS}, ALL: Left(1, right, {"a": Outcome(False, False)})}
    left["with_answer"] = left[ALL]
    results = document_of({"real": (right, left)})
    assert results["touches_nothing"] == [part.name for part in PARTS if part.name != "with_answer"]
    assert results["sets"] == {"real": {"n": 1, "right": 1.0, "harmful": 0.0}}


def test_a_set_that_is_done_is_kept_for_the_same_code_alone(tmp_path: Path) -> None:
    measured = measure(Toys(["add", "tell", "nothing"]), [ADDS, TELLS])
    path = tmp_path / "kept" / "real-all.json"
    assert kept_in(path, "abc") is None
    keep(path, "abc", *measured)
    assert kept_in(path, "abc") == measured
    assert kept_in(path, "abd") is None
