"""Verdicts kept and compared: paired by id, with intervals, and errors that say what is wrong with a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from hearth.errors import RequestError
from hearth_bench.measure.kept_verdicts import Kept, compared, kept_file, main, read_kept, write_kept


def rows(verdicts: Sequence[str], first: int = 0) -> list[Kept]:
    return [
        Kept(f"r{k}", verdict, verdict == "right", verdict == "harmful", {"half": "low" if k < 20 else "high"})
        for k, verdict in enumerate(verdicts, first)
    ]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    write_kept(a, "toy", rows(["right"] * 10 + ["refused"] * 28 + ["harmful"] * 2))
    write_kept(b, "toy", rows(["right"] * 25 + ["refused"] * 15 + ["right"] * 3))
    return a, b


def test_what_is_kept_is_read_again(files: tuple[Path, Path]) -> None:
    measure, found = read_kept(files[0])
    assert measure == "toy"
    assert found["r39"] == Kept("r39", "harmful", False, True, {"half": "high"})
    assert len(found) == 40


def test_requests_are_paired_by_id_and_the_difference_has_an_interval(files: tuple[Path, Path]) -> None:
    found, moved = compared(*files)
    right, harmful = found.measures
    assert (found.n_pairs, found.n_only_a, found.n_only_b) == (40, 0, 3)
    assert (right.a, right.b, right.winner) == (0.25, 0.625, "B")
    assert right.low is not None
    assert right.high is not None
    assert 0 < right.low < 0.375 < right.high
    assert (harmful.a, harmful.b, harmful.winner) == (0.05, 0.0, "")
    assert {one.name: (one.n, one.a, one.b) for one in found.groups["half"]} == {
        "low": (20, 0.5, 1.0),
        "high": (20, 0.0, 0.25),
    }
    assert moved == {("refused", "right"): 15, ("harmful", "refused"): 2}


def test_fewer_harmful_ones_are_better(tmp_path: Path) -> None:
    write_kept(tmp_path / "a.json", "toy", rows(["harmful"] * 20 + ["refused"] * 20))
    write_kept(tmp_path / "b.json", "toy", rows(["refused"] * 40))
    found, _ = compared(tmp_path / "a.json", tmp_path / "b.json")
    assert [one.winner for one in found.measures] == ["", "B"]


def test_the_program_prints_and_writes(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    assert main([*map(str, files), "--json", str(out)]) == 0
    said = capsys.readouterr().out
    assert "40 samples of both, 3 of one alone are left out" in said
    assert "15 from refused to right" in said
    document = json.loads(out.read_text())
    assert document["measures"]["right"]["better"] == "B"
    assert document["moved"][0] == {"from": "refused", "to": "right", "n": 15}


def test_files_that_cannot_be_compared_are_errors(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other, none, broken = tmp_path / "other.json", tmp_path / "none.json", tmp_path / "broken.json"
    write_kept(other, "another", rows(["right"]))
    write_kept(none, "toy", rows(["right"], first=900))
    broken.write_text('{"verdicts": [{"id": "x"}], "measure": "toy"}')
    with pytest.raises(RequestError, match=r"is of 'toy' and .* of 'another'; compare files of one measure"):
        compared(files[0], other)
    with pytest.raises(RequestError, match="have no request in common"):
        compared(files[0], none)
    with pytest.raises(RequestError, match=r"holds no verdicts .* expected a file that `--keep`"):
        read_kept(broken)
    assert main([str(files[0]), str(tmp_path / "absent.json")]) == 2
    assert "holds no verdicts" in capsys.readouterr().err
    with pytest.raises(argparse.ArgumentTypeError, match="there is no folder"):
        kept_file(str(tmp_path / "no" / "such.json"))
    assert kept_file(str(tmp_path / "new.json")) == tmp_path / "new.json"
    with pytest.raises(RequestError, match="cannot write the verdicts to"):
        write_kept(tmp_path / "no" / "such.json", "toy", [])
