"""Runs as reports read them, the report, and two runs compared."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth import cli
from hearth.errors import RequestError
from hearth_bench.report.html_report import (
    confused_tools,
    leaderboard_csv,
    markdown,
    section_of,
    seen_scores,
    suite_rows,
    tool_confusion,
    write_report,
)
from hearth_bench.report.report_figures import NOTHING
from hearth_bench.report.run_comparison import Difference, compare_runs, paired_interval
from hearth_bench.report.runs import Run, judged, read_run

EVIL = "<script>alert(1)</script> | `x` ![p](http://e.org/p.png)"


def plan(*tools: str, **arguments: Any) -> dict[str, Any]:
    given = [{"name": name, "value": value} for name, value in arguments.items()]
    return {"task_steps": list(tools), "task_nodes": [{"task": t, "arguments": given} for t in tools], "task_links": []}


def make_case(
    workspace: Path,
    name: str,
    samples: list[tuple[str, Any, Any]],
    *,
    paradigm: str = "singletasklearning",
    status: str = "done",
    continual: dict[str, Any] | None = None,
    **hyperparameters: object,
) -> Path:
    """A case as `hearth bench run` leaves it."""
    folder = workspace / name / f"id-{len(list(workspace.glob('*/*/case.json')))}"
    folder.mkdir(parents=True)
    modules = [{"type": "basemodel", "name": "M", "url": "", "hyperparameters": hyperparameters}]
    (folder / "case.json").write_text(json.dumps({"algorithm": name, "paradigm": paradigm, "modules": modules}))
    outcome: dict[str, Any] = {
        "status": status, "stage": "" if status == "done" else "run", "error": "" if status == "done" else EVIL,
        "metrics": {"acc": 0.5, "MATRIX": {"all": []}, "odd": None}, "faults": [], "continual": continual or {},
        "cost": {"wall_s": 1.5}, "at": "2026-01-01 00:00:00",
    }  # fmt: skip
    (folder / "outcome.json").write_text(json.dumps(outcome))
    lines = [
        json.dumps({"index": k, "question": q, "answer": a, "prediction": p}) for k, (q, a, p) in enumerate(samples)
    ]
    (folder / "predictions.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def rank(workspace: Path, *folders: Path) -> None:
    (workspace / "rank").mkdir(exist_ok=True)
    rows = [f"{k},a,0.5,p,2026,/gone/elsewhere/{f.parent.name}/{f.name}" for k, f in enumerate(folders, 1)]
    (workspace / "rank" / "all_rank.csv").write_text("rank,algorithm,acc,paradigm,time,url\n" + "\n".join(rows) + "\n")


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("answer", "prediction", "right", "tools"),
    [
        ("call_mail(1)", {"completion": "call_mail(1)"}, 1.0, ("call_mail",)),
        ("call_mail(1)", ["call_mail(2)"], 0.0, ("call_mail",)),
        ("the red one", "the red one", 1.0, None),
        ("the red one", "the blue one", 0.0, None),
        (plan("find", who="Mia"), json.dumps(plan("find", who="Mia")), 1.0, ("find",)),
        (plan("find", who="Mia"), {"result": plan("find", who="Mia")}, 1.0, ("find",)),
        (plan("find", who="Mia"), plan("find", who="Tom"), 0.0, ("find",)),
        (plan("find"), plan("find", "find"), 0.0, ("find",)),
        (plan("find"), "no plan at all", 0.0, ("find",)),
        (plan(), plan(), 1.0, ()),
        (plan(), plan("find"), 0.0, ()),
    ],
)
def test_a_prediction_is_right_where_it_says_the_same(
    answer: Any, prediction: Any, right: float, tools: tuple[str, ...] | None
) -> None:
    found = judged("k", "q", answer, prediction, {})
    assert (found.scores["right"], found.right_tools) == (right, tools)


def test_a_workspace_that_was_moved_keeps_its_order_and_names_what_failed(tmp_path: Path) -> None:
    first = make_case(tmp_path, "a", [("q", "x", "x")], lr=1)
    second = make_case(tmp_path, "a", [("q", "x", "y")], lr=2)
    make_case(tmp_path, "b", [], status="failed")
    rank(tmp_path, second, first)
    run = read_run(tmp_path)
    assert [(case.label, case.mean("right")) for case in run.done] == [("a (lr=2)", 0.0), ("a (lr=1)", 1.0)]
    assert [(case.label, case.error) for case in run.cases if case.error] == [("b", f"run: {EVIL}")]


def test_a_case_that_failed_and_then_went_well_did_not_fail(tmp_path: Path) -> None:
    make_case(tmp_path, "a", [], status="failed", lr=1)
    make_case(tmp_path, "a", [("q", "x", "x")], lr=1)
    assert not [case for case in read_run(tmp_path).cases if case.error]


def test_lines_that_are_no_samples_are_counted(tmp_path: Path) -> None:
    folder = make_case(tmp_path, "a", [("q", "x", "x")])
    with (folder / "predictions.jsonl").open("a") as file:
        file.write('{"index": 1}\nnot json\n')
    (case,) = read_run(folder).cases
    assert (len(case.samples), case.n_unread) == (1, 2)


def test_what_goes_to_the_cloud_is_read_out_of_joint_inference(tmp_path: Path) -> None:
    samples = [("a", "x", [True, "x", None, "x"]), ("b", "x", [False, "y", "y", None])]
    (case,) = read_run(make_case(tmp_path, "j", samples, paradigm="jointinference")).cases
    assert (case.mean("cloud"), case.mean("right")) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [("[1]", "holds list"), ("{", "is no JSON"), (None, "there is no"), ("[" * 100_000, "is no JSON")],
)
def test_a_file_that_is_no_result_is_said(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(RequestError, match=said):
        read_run(path)


def test_a_folder_of_jobs_names_them(tmp_path: Path) -> None:
    make_case(tmp_path / "job1", "a", [])
    with pytest.raises(RequestError, match="it holds job1"):
        read_run(tmp_path)
    with pytest.raises(RequestError, match="holds no cases"):
        read_run(tmp_path / "job1" / "a")


def test_plans_are_matched_by_id(tmp_path: Path) -> None:
    gold = [{"id": str(k), "user_request": f"r{k}", **plan("find")} for k in range(4)]
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, gold)))
    (tmp_path / "mine.jsonl").write_text(json.dumps(gold[2]))
    (case,) = read_run(tmp_path / "mine.jsonl", tmp_path / "gold.jsonl").cases
    assert case.mean("right") == 0.25  # what was not planned is not right
    (tmp_path / "mine.jsonl").write_text(json.dumps({**gold[0], "id": "z"}))
    with pytest.raises(RequestError, match="none of its 1 ids"):
        read_run(tmp_path / "mine.jsonl", tmp_path / "gold.jsonl")
    with pytest.raises(RequestError, match="--gold"):
        read_run(tmp_path / "mine.jsonl")


# ── The report ────────────────────────────────────────────────────────────────────────────────────────────


def test_tools_left_over_are_laid_side_by_side() -> None:
    samples = [
        judged("1", "q", plan("find", "mail"), plan("find", "note"), {}),
        judged("2", "q", plan("find"), plan(), {}),
        judged("3", "q", plan(), plan("note", "note"), {}),
        judged("4", "q", "words only", "other words", {}),
    ]
    assert tool_confusion(samples) == Counter(
        {("find", "find"): 1, ("mail", "note"): 1, ("find", NOTHING): 1, (NOTHING, "note"): 2}
    )
    assert confused_tools(tool_confusion(samples)) == ["find", "mail", "note", NOTHING]


@given(st.lists(st.tuples(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc"))), max_size=8))
@settings(max_examples=40, deadline=None)
def test_every_call_is_counted_once_in_its_row_and_column(pairs: list[tuple[list[str], list[str]]]) -> None:
    counts = tool_confusion([judged("k", "q", plan(*right), plan(*made), {}) for right, made in pairs])
    for tool in "abc":
        assert sum(n for (right, _), n in counts.items() if right == tool) == sum(r.count(tool) for r, _ in pairs)
        assert sum(n for (_, made), n in counts.items() if made == tool) == sum(m.count(tool) for _, m in pairs)


def test_suites_stand_between_floor_and_oracle() -> None:
    flat = {"node_f1": 0.5, "floor_node_f1": 0.1, "floor_copy_node_f1": 0.2, "oracle_node_f1": 0.9, "n": 3, "seed": 0}
    assert [(row.name, row.kind, row.numbers) for row in suite_rows("r", flat)] == [
        ("floor", "floor", {"node_f1": 0.1}),
        ("floor_copy", "floor", {"node_f1": 0.2}),
        ("measured", "measured", {"node_f1": 0.5}),
        ("oracle", "oracle", {"node_f1": 0.9}),
    ]
    ways = {"floor_nearest.right": 0.2, "shared.right": 0.6, "oracle.right": 1.0, "mara.shared.right": 0.1, "n": 5}
    assert [row.name for row in suite_rows("r", ways)] == ["floor_nearest", "shared", "oracle"]
    methods = {"methods": {"student": {"acc": 0.5}, "joint": {"acc": 0.6}}}
    assert [(row.name, row.numbers) for row in suite_rows("r", methods)] == [
        ("student", {"acc": 0.5}),
        ("joint", {"acc": 0.6}),
    ]


def test_what_was_learnt_so_far() -> None:
    assert seen_scores([[0.5, 0.0, 0.0], [0.4, 0.8, 0.0], [0.3, 0.6, None]]) == pytest.approx([0.5, 0.6, 0.45])


class _Loads(HTMLParser):
    """What a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "iframe", "object", "embed"):
            self.found.append(tag)
        self.found += [
            v or "" for k, v in attrs if k in ("src", "srcset", "href") and not (v or "").startswith(("data:", "#"))
        ]


def test_the_page_has_everything_and_loads_nothing(tmp_path: Path) -> None:
    job, rows = tmp_path / "job", [[0.9, 0.1], [0.7, 0.8]]
    good = make_case(
        job, EVIL.replace("/", "")[:40], [(EVIL, plan("find"), plan("mail"))], continual={"r_matrix": rows}
    )
    joint = make_case(job, "j", [("a", "x", [True, "x", None, "x"])], paradigm="jointinference", word="$x")
    make_case(job, "b", [], status="failed")
    rank(job, good, joint)
    out = tmp_path / "out"
    write_report([read_run(job)], out)
    pictures = sorted(path.name for path in (out / "pictures").iterdir())
    assert pictures == ["1-calls.png", "1-learning.png", "1-matrix-1.png", "1-tools-1.png", "1-tools-2.png"]
    page, text = (out / "report.html").read_text(), (out / "report.md").read_text()
    loads = _Loads()
    loads.feed(page)
    assert loads.found == []
    assert page.count("data:image/png;base64,") == len(pictures)
    assert "<script" not in text
    assert "&lt;script>" in text
    assert "\\!\\[p]" in text
    assert "did not end well" in page
    assert "mail()" in page
    table = list(csv.DictReader(io.StringIO((out / "leaderboard.csv").read_text())))
    assert [(row["rank"], row["acc"], row["odd"]) for row in table] == [("1", "0.5", ""), ("2", "0.5", "")]


def test_a_run_without_numbers_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="nothing to report"):
        write_report([Run("r", tmp_path, document={"suite": "x"})], tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="cannot make"):
        write_report([Run("r", tmp_path, document={"acc": 1.0})], tmp_path / "file" / "out")


def test_results_of_a_suite_without_a_form_are_shown_as_they_are() -> None:
    section = section_of(Run("r", Path("r"), document={"methods": "none", "rows": [], "acc": 0.25, "r_matrix": "no"}))
    assert section.rows[0].numbers == {"acc": 0.25}
    assert section.pictures == ()
    assert "0.25" in leaderboard_csv([section])
    assert "0.25" in markdown([section])


# ── Comparing ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_interval_is_that_of_drawing_pairs_again() -> None:
    drawn = np.random.default_rng(5)
    a = drawn.integers(0, 2, 200).astype(float)
    b = np.where(drawn.random(200) < 0.15, 1.0, a)
    low, high = paired_interval(list(a), list(b), seed=1, n_draws=4000)
    rows = drawn.integers(0, 200, (4000, 200))
    assert (low, high) == pytest.approx(np.percentile((b - a)[rows].mean(axis=1), [2.5, 97.5]), abs=0.012)
    assert paired_interval(list(a), list(b), seed=1, n_draws=4000) == (low, high)
    assert paired_interval(list(a), list(a), seed=1, n_draws=100) == (0.0, 0.0)
    with pytest.raises(ValueError, match="expected as many"):
        paired_interval([1.0], [], seed=0)


def test_the_interval_holds_the_truth_nineteen_times_of_twenty() -> None:
    drawn = np.random.default_rng(0)
    held = 0
    for k in range(200):
        a = drawn.normal(0, 1, 60)
        low, high = paired_interval(list(a), list(a + drawn.normal(0.3, 1, 60)), seed=k, n_draws=400)
        held += low <= 0.3 <= high
    assert 0.88 <= held / 200 <= 0.99


@pytest.mark.parametrize(
    ("name", "n", "low", "high", "winner"),
    [
        ("right", 50, 0.01, 0.2, "B"),
        ("right", 50, -0.01, 0.2, ""),
        ("cloud", 50, 0.01, 0.2, "A"),  # less is better
        ("right", 9, 0.01, 0.2, ""),  # too few
        ("right", 0, None, None, ""),
    ],
)
def test_who_wins(name: str, n: int, low: float | None, high: float | None, winner: str) -> None:
    assert Difference(name, n, 0.5, 0.6, low, high).winner == winner


def test_samples_are_matched_by_what_was_asked(tmp_path: Path) -> None:
    asked = [(f"find {k}", "find(1)", "find(1)") for k in range(12)] + [
        (f"mail {k}", "mail(1)", "no") for k in range(12)
    ]
    other = [(q, a, "no" if q.startswith("find") else a) for q, a, _ in reversed(asked)] + [("new", "x", "x")]
    a, b = make_case(tmp_path / "a", "m", asked), make_case(tmp_path / "b", "m", other)
    (found,) = compare_runs(read_run(a), read_run(b), n_draws=500)
    assert (found.n_pairs, found.n_only_a, found.n_only_b) == (24, 0, 1)
    assert {one.name: one.winner for one in found.groups["right tool"]} == {"find": "A", "mail": "B"}
    assert found.measures[0].winner == ""
    assert (len(found.only_a_right), len(found.only_b_right)) == (12, 12)


def test_the_same_question_twice_is_two_samples(tmp_path: Path) -> None:
    a = make_case(tmp_path / "a", "m", [("q", "x", "x"), ("q", "x", "y")])
    b = make_case(tmp_path / "b", "m", [("q", "x", "x")])
    (found,) = compare_runs(read_run(a), read_run(b), n_draws=100)
    assert (found.n_pairs, found.n_only_a) == (1, 1)


def test_unlike_runs_are_not_compared(tmp_path: Path) -> None:
    case, suite = read_run(make_case(tmp_path, "m", [])), Run("s", tmp_path, document={"acc": 1.0})
    with pytest.raises(RequestError, match="compare like"):
        compare_runs(case, suite)
    with pytest.raises(RequestError, match="no number of the same name"):
        compare_runs(suite, Run("t", tmp_path, document={"f1": 1.0}))
    with pytest.raises(RequestError, match="no case is done"):
        compare_runs(read_run(make_case(tmp_path / "f", "m", [], status="failed")), case)


# ── The commands ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    samples = [(f"q{k}", "find(1)", "find(1)" if k % 3 else "mail(1)") for k in range(20)]
    a, b = make_case(tmp_path / "a", "m", samples), make_case(tmp_path / "b", "m", [(q, r, r) for q, r, _ in samples])
    out, png = tmp_path / "c.json", tmp_path / "c.png"
    assert cli.run(["bench", "compare", str(a), str(b), "--json", str(out), "--png", str(png), "--draws", "200"]) == 0
    said = capfd.readouterr().out
    assert "20 samples of both" in said
    assert "right in B alone: 7" in said
    (found,) = json.loads(out.read_text())["comparisons"]
    assert found["measures"]["right"]["better"] == "B"
    assert len(found["right_in_b_alone"]) == 7
    assert png.read_bytes().startswith(b"\x89PNG")
    assert cli.run(["bench", "report", str(tmp_path / "a"), "--out", str(tmp_path / "r")]) == 0
    make_case(tmp_path / "a", "z", [], status="failed")
    assert cli.run(["bench", "report", str(tmp_path / "a"), "--out", str(tmp_path / "r")]) == 6
    assert cli.run(["bench", "report", str(tmp_path / "nothing"), "--out", str(tmp_path / "r")]) == 3
    assert "there is no" in capfd.readouterr().err


# ── What it cost ──────────────────────────────────────────────────────────────────────────────────────────


def costly(workspace: Path, name: str, calls: list[int], score: float, mask: str = "", threshold: int = 0) -> Path:
    """A case of joint inference whose lines say their usage."""
    question = json.dumps({"id": "1", "user_request": "tell <Anna>", "now": "2026-01-01T00:00:00+00:00"})
    samples: list[tuple[str, Any, Any]] = [
        (question, plan("tell"), [bool(n), plan("tell" if k else "ask"), {}, None]) for k, n in enumerate(calls)
    ]
    folder = make_case(workspace, name, samples, paradigm="jointinference", mask=mask, threshold=threshold)
    path = folder / "predictions.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line, n in zip(lines, calls, strict=True):
        line["usage"] = {
            "latency_ms": 10.0,
            "prompt_tokens": 3,
            "completion_tokens": 2,
            "cloud_calls": n,
            "bytes_out": 40 * n,
        }
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    outcome = json.loads((folder / "outcome.json").read_text())
    outcome["metrics"] = {"node_f1": score, "cloud_calls": sum(calls) / len(calls), "energy_j": None}
    outcome["absent"] = {"energy_j": "there is no energy counter here"}
    (folder / "outcome.json").write_text(json.dumps(outcome))
    return folder


def test_what_it_cost_stands_beside_how_good_it_is(tmp_path: Path) -> None:
    costly(tmp_path / "job", "joint", [0, 0], 0.2, mask="names", threshold=0)
    costly(tmp_path / "job", "joint", [1, 1], 0.9, mask="names", threshold=1)
    run = read_run(tmp_path / "job")
    section = section_of(run)
    first = section.rows[0].numbers
    assert (first["tokens"], first["bytes_out"], first["cloud_calls"], first["energy_j"]) == (5, 0, 0, None)
    assert "to the cloud" not in first  # the job's own metric says it
    assert section.absent == ("energy_j: there is no energy counter here",)
    assert "* not measured: energy_j: there is no energy counter here" in markdown([section])
    (calls,) = [one for one in section.pictures if one.file.endswith("calls.png")]
    assert calls.png.startswith(b"\x89PNG")
    assert section.failures[0].shown[0][0] == "tell <Anna>"  # what was asked, not the line it came in
    (found,) = [one for one in compare_runs(run, run)[0].measures if one.name == "bytes_out"]
    assert (found.n, found.winner) == (2, "")


def test_nobody_who_asks_no_cloud_has_a_curve_of_it(tmp_path: Path) -> None:
    folder = costly(tmp_path / "job", "alone", [0, 0], 0.2)
    document = json.loads((folder / "case.json").read_text())
    (folder / "case.json").write_text(json.dumps({**document, "paradigm": "singletasklearning"}))
    assert not [one for one in section_of(read_run(tmp_path / "job")).pictures if "calls" in one.file]


def test_a_case_that_cannot_be_read_loses_no_other(tmp_path: Path) -> None:
    good, bad = make_case(tmp_path, "a", [("q", "x", "x")]), make_case(tmp_path, "b", [("q", "x", "x")])
    rank(tmp_path, bad, good)
    for text in ("[]", "{broken", "", "null", '{"modules": 3}'):
        (bad / "case.json").write_text(text)
        run = read_run(tmp_path)
        assert [case.label for case in run.done] == ["a"]
        assert run.cases[-1].error.startswith("it cannot be read: ")
    (bad / "case.json").write_text('{"modules": [{"hyperparameters": [1]}]}')
    assert len(read_run(tmp_path).done) == 2
    for name in ("metrics", "cost", "faults", "continual", "absent"):
        outcome = json.loads((good / "outcome.json").read_text())
        (bad / "outcome.json").write_text(json.dumps({**outcome, name: 3}))
        assert [case.error for case in read_run(tmp_path).cases] == ["", "it was not finished"]
    (bad / "case.json").unlink()
    assert [case.label for case in read_run(tmp_path).cases] == ["a"]


def test_usage_that_is_none_is_left_out(tmp_path: Path) -> None:
    folder = costly(tmp_path / "job", "joint", [1], 0.2)
    path = folder / "predictions.jsonl"
    for odd in ('"free"', "[]", '{"cloud_calls": "one", "bytes_out": null}'):
        line = json.loads(path.read_text())
        path.write_text(json.dumps({**line, "usage": json.loads(odd)}) + "\n")
        (case,) = read_run(tmp_path / "job").cases
        assert not {"tokens", "bytes_out"} & case.samples[0].scores.keys()


def test_outcomes_of_before_are_read(tmp_path: Path) -> None:
    """What is newer than a file is as if it were empty; a file without its status is none."""
    folder = costly(tmp_path / "job", "joint", [1], 0.2)
    outcome = json.loads((folder / "outcome.json").read_text())
    del outcome["absent"]
    (folder / "outcome.json").write_text(json.dumps(outcome))
    assert read_run(tmp_path / "job").done
    del outcome["status"]
    (folder / "outcome.json").write_text(json.dumps(outcome))
    assert not read_run(tmp_path / "job").done
