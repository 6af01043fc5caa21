"""Owners of Q2A in processes of their own: what comes back is what was measured, and what fails is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hearth import cli
from hearth.cli.invocation import SILENT
from hearth.errors import RequestError, StoreError, StoreFullError
from hearth.types import Plan, Refusal
from hearth_bench.data.q2a_instructions import read_owner
from hearth_bench.ianvs.case_outcome import Outcome, read_outcome, write_outcome
from hearth_bench.ianvs.cases.local_processes import Case, Conditions, Event, LocalEngine
from hearth_bench.run_record import write_json
from hearth_bench.suites.q2a import q2a_users
from hearth_bench.suites.q2a.q2a_suite import OwnerRun, Part, UserResult, Way, q2a_document
from hearth_bench.suites.q2a.q2a_users import PROGRAM, result_from_json, result_to_json, run_user, users_side_by_side

WAYS: tuple[Way, ...] = ("untaught", "shared", "personal")


def result_of(owner: str, n: int = 3, ms: float = 1.5) -> UserResult:
    """As if the first instructions were planned right, the others refused."""
    run = OwnerRun.of(owner, n)
    samples = run.asked("dev")
    answers: list[Plan | Refusal] = [one.plan or Refusal("out_of_scope", "no") for one in samples]
    right = tuple(run.judge(one, answer, ms) for one, answer in zip(samples, answers, strict=True))
    wrong = tuple(run.judge(one, Refusal("out_of_scope", "no"), ms) for one in samples)
    judged: Mapping[Way, tuple[object, ...]] = {"untaught": wrong, "shared": right[:1] + wrong[1:], "personal": right}
    rows: Mapping[Way, list[list[float]]] = {"personal": [[1 / 3] * 4] * 4, "shared": [[0.1] * 4] * 4}
    floor = tuple(replace(one, ms=None) for one in wrong)
    return UserResult(owner, judged, rows, [0.0] * 4, floor)  # type: ignore[arg-type]


class ScriptedEngine:
    """Writes a result where a process would; `faults` end without one."""

    def __init__(self, faults: Mapping[str, Event] | None = None) -> None:
        self.faults = faults or {}

    def run(self, cases: Sequence[Case]) -> Iterator[Event]:
        for case in reversed(cases):  # whichever ends first
            yield Event(case, "half", 0.5)
            if case.label in self.faults:
                yield replace(self.faults[case.label], case=case)
                continue
            write_json(case.folder / "result.json", result_to_json(result_of(case.label)))
            write_outcome(case.folder, Outcome("done", ""))
            yield Event(case, has_ended=True)


def test_a_result_comes_back_to_the_bit() -> None:
    result = result_of("jun")
    there = json.loads(json.dumps(result_to_json(result)))
    assert result_from_json(there) == result
    assert q2a_document([result_from_json(there)], "dev") == q2a_document([result], "dev")


def test_owners_come_back_in_the_order_asked(tmp_path: Path) -> None:
    found = users_side_by_side(ScriptedEngine(), tmp_path, Part("dev", ["tomas", "aisha"], n_each=3), SILENT)
    assert found == [result_of("tomas"), result_of("aisha")]
    assert json.loads((tmp_path / "aisha" / "user.json").read_text()) == {
        "owner": "aisha", "owners": ["tomas", "aisha"], "split": "dev", "n_each": 3,
    }  # fmt: skip
    document = q2a_document(found, "dev")
    assert (document["n"], document["personal.right"], document["tomas.personal.right"]) == (6, 1.0, 1.0)
    assert document["personal.latency_p95_ms"] == 1.5
    assert "floor_nearest.latency_p50_ms" not in document  # nobody was asked


def test_an_owner_who_fails_is_named_and_the_others_are_on_disk(tmp_path: Path) -> None:
    blank = Case(0, "", tmp_path)
    fault = Event(blank, has_ended=True, fault="its process was ended by SIGKILL")
    with pytest.raises(RequestError, match=r"tomas: its process was ended by SIGKILL; see .*log.txt"):
        users_side_by_side(ScriptedEngine({"tomas": fault}), tmp_path, Part("dev", ["tomas", "aisha"]), SILENT)
    done = read_outcome(tmp_path / "aisha")
    assert done is not None
    assert done.status == "done"
    full = Event(blank, has_ended=True, fault="cannot write: No space left", could_write=False)
    with pytest.raises(StoreError, match="tomas: cannot write: No space left"):
        users_side_by_side(ScriptedEngine({"tomas": full}), tmp_path, Part("dev", ["tomas", "aisha"]), SILENT)


def test_what_an_earlier_run_left_does_not_count(tmp_path: Path) -> None:
    users_side_by_side(ScriptedEngine(), tmp_path, Part("dev", ["jun"]), SILENT)
    gone = Event(Case(0, "", tmp_path), has_ended=True, fault="its process ended with code 1")
    with pytest.raises(RequestError, match="jun: its process ended with code 1"):
        users_side_by_side(ScriptedEngine({"jun": gone}), tmp_path, Part("dev", ["jun"]), SILENT)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "users").write_text("a file")
    with pytest.raises(StoreError, match=r"cannot make .*choose another folder"):
        users_side_by_side(ScriptedEngine(), tmp_path / "users", Part("dev", ["jun"]), SILENT)


def test_the_program_writes_what_came_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"owner": "jun", "owners": ["jun"], "split": "dev", "n_each": 3}
    (tmp_path / "user.json").write_text(json.dumps(asked))
    monkeypatch.setattr(q2a_users, "measure_user", lambda _encoder, owner, part, _report: result_of(owner, part.n_each))
    run_user(tmp_path, lambda _doing, _share: None)
    assert result_from_json(json.loads((tmp_path / "result.json").read_text())) == result_of("jun")

    def broken(*_: object, **__: object) -> UserResult:
        raise RequestError("no such home")

    monkeypatch.setattr(q2a_users, "measure_user", broken)
    run_user(tmp_path, lambda _doing, _share: None)
    outcome = read_outcome(tmp_path)
    assert outcome is not None
    assert (outcome.status, outcome.error) == ("failed", "no such home")

    def full(*_: object, **__: object) -> UserResult:
        raise StoreFullError("No space left on device")

    monkeypatch.setattr(q2a_users, "measure_user", full)
    with pytest.raises(StoreFullError):
        run_user(tmp_path, lambda _doing, _share: None)


def test_real_processes_say_why_they_end(tmp_path: Path) -> None:
    """Two at once, who have no home."""
    with pytest.raises(RequestError) as raised:
        users_side_by_side(
            LocalEngine(2, Conditions(program=PROGRAM)), tmp_path, Part("dev", ["nobody", "noone"]), SILENT
        )
    assert "nobody: cannot read nobody.world.json: No such file" in str(raised.value)
    assert "noone: cannot read noone.world.json" in str(raised.value)
    assert (tmp_path / "noone" / "log.txt").exists()


def test_sums_are_made_by_one_thread_unless_more_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Mapping[str, str]] = []
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr(
        "hearth_bench.ianvs.cases.local_processes.subprocess.Popen", lambda *_, env, **__: given.append(env)
    )
    LocalEngine(conditions=Conditions(program=PROGRAM))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "8")
    LocalEngine(2, Conditions(seed=2**32 + 7))
    assert [(env["OPENBLAS_NUM_THREADS"], env["PYTHONHASHSEED"]) for env in given] == [("1", "0"), ("8", "7")]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--owner", "nobody"], 3, "no owner 'nobody' in Q2A; there are mara"),
        (["--jobs", "0"], 2, "0 is not in the range"),
        (["--limit", "0"], 2, "0 is not in the range"),
        (["--engine", "spark"], 2, "'spark' is not one of"),
    ],
)
def test_what_cannot_be_asked_is_said(
    arguments: list[str], code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["bench", "q2a", *arguments, "--json", str(tmp_path / "out.json")]) == code
    assert message in capsys.readouterr().err


def test_only_the_first_of_each_are_asked() -> None:
    all_of = [one for one in read_owner("sam") if one.split == "dev"]
    assert [one.id for one in OwnerRun.of("sam", 2).asked("dev")] == [one.id for one in all_of[:2]]
    assert len(OwnerRun.of("sam").asked("dev")) == len(all_of)


def test_without_ray_its_engine_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "hearth_bench.ianvs.cases.ray_engine", raising=False)
    assert cli.run(["bench", "q2a", "--engine", "ray", "--json", str(tmp_path / "out.json")]) == 78
    assert "pip install 'hearth-bench[ray]'" in capsys.readouterr().err
