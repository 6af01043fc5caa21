"""Rankings: columns that stay, rows that replace themselves, and the table as prettytable prints it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hearth.errors import RequestError
from hearth_bench.ianvs.job import RankOptions
from hearth_bench.ianvs.rank import Row, rank_table, save_rank

ALL = ("all",)


def options(**changes: Any) -> RankOptions:
    return RankOptions(**{"sort_by": (("acc", False),), "paradigms": ALL, "modules": ALL, "hyperparameters": ALL,
                          "metrics": ALL, "saves_all": True, "prints": True, **changes})  # fmt: skip


def row(url: str, acc: float | None, lr: str = "0.1", **metrics: Any) -> Row:
    return Row(
        "toy", "singletasklearning", {"acc": acc, **metrics}, {"basemodel": "m"}, {"basemodel-lr": lr}, "now", url
    )


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_the_best_comes_first_and_what_is_no_number_last(tmp_path: Path) -> None:
    save_rank(tmp_path, [row("a", None), row("b", 0.5), row("c", 0.75)], ["acc"], options())
    assert lines(tmp_path / "all_rank.csv") == [
        "rank,algorithm,acc,paradigm,basemodel,basemodel-lr,time,url",
        "1,toy,0.75,singletasklearning,m,0.1,now,c",
        "2,toy,0.5,singletasklearning,m,0.1,now,b",
        "3,toy,nan,singletasklearning,m,0.1,now,a",
    ]
    save_rank(tmp_path, [row("c", 0.1)], ["acc"], options(sort_by=(("acc", True), ("none", False))))
    assert [line[-1] for line in lines(tmp_path / "all_rank.csv")[1:]] == ["c", "b", "a"]


def test_columns_stay_where_they_are_from_run_to_run(tmp_path: Path) -> None:
    save_rank(tmp_path, [row("a", 0.5, f1=0.1)], ["acc", "f1"], options())
    save_rank(tmp_path, [row("b", 0.6, speed=3)], ["acc", "speed"], options())
    assert lines(tmp_path / "all_rank.csv") == [
        "rank,algorithm,acc,speed,f1,paradigm,basemodel,basemodel-lr,time,url",
        "1,toy,0.6,3,,singletasklearning,m,0.1,now,b",
        "2,toy,0.5,,0.1,singletasklearning,m,0.1,now,a",
    ]


def test_selected_are_the_columns_named_without_what_is_there_already(tmp_path: Path) -> None:
    rows = [row("a", 0.5, "1"), row("b", 0.5, "1"), row("c", 0.5, "2")]
    path = save_rank(tmp_path, rows, ["acc"], options(hyperparameters=("basemodel-lr",), saves_all=False))
    assert [line.split(",")[-1] for line in lines(path)[1:]] == ["a", "c"]
    assert not (tmp_path / "all_rank.csv").exists()
    assert len(lines(save_rank(tmp_path, rows, ["acc"], options(paradigms=("jointinference",))))) == 1


def test_the_table_is_prettytables(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(
        "rank,algorithm,acc,time,paradigm,url\n".replace("time,paradigm", "paradigm,time")
        + "1,toy,0.25,p,t,/a\n2,toys,1.0,p,t,x\n"
    )
    assert rank_table(tmp_path / "r.csv").splitlines() == [
        "+------+-----------+------+----------+------+-----+",
        "| rank | algorithm | acc  | paradigm | time | url |",
        "+------+-----------+------+----------+------+-----+",
        "|  1   |    toy    | 0.25 |    p     |  t   |  /a |",
        "|  2   |    toys   | 1.0  |    p     |  t   |  x  |",
        "+------+-----------+------+----------+------+-----+",
    ]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "\x00\xff"])
def test_a_file_that_is_no_ranking_is_left_alone(text: str, tmp_path: Path) -> None:
    (tmp_path / "all_rank.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(RequestError, match="move it away"):
        save_rank(tmp_path, [row("a", 0.5)], ["acc"], options())
    assert (tmp_path / "all_rank.csv").read_bytes() == text.encode("latin-1")
