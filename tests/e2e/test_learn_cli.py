"""Stories of learning through the command line: a file is learnt, judged, looked at, taken back, forgotten."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth import cli
from hearth.agent import make_home
from hearth.formats.plans import plan_to_json, tool_to_json
from hearth.learning.versions.learned_state import State
from hearth.planning.ranking import ranker
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.types import Answer, Demonstration, Episode, Plan, Request, Ruling, Step, StepResult
from tests.small_world import ENCODER, OPTIONS, TOOLS, lessons, shown, wrong_trains
from tests.small_world import few_features as few_features
from tests.story import Ran

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


class Line:
    """The command line on one folder."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capfd = folder, capfd

    def __call__(self, *arguments: str, state: bool = True) -> Ran:
        self._capfd.readouterr()
        more = ["--state", str(self.folder / "state")] if state else []
        code = cli.run(["--home", str(self.folder / "home"), *arguments, *more])
        captured = self._capfd.readouterr()
        return Ran(code, captured.out, captured.err)

    def file(self, demonstrations: list[Demonstration], *lines: str, name: str = "given.jsonl") -> str:
        found = [
            json.dumps({"id": d.id, "user_request": d.request, "source": d.source, **plan_to_json(d.plan)})
            for d in demonstrations
        ]
        path = self.folder / name
        path.write_text("\n".join([*found, *lines]) + "\n")
        return str(path)

    @property
    def tools(self) -> str:
        path = self.folder / "tools.json"
        path.write_text(json.dumps({"nodes": [tool_to_json(spec) for spec in TOOLS.values()]}))
        return str(path)


@pytest.fixture
def hearth(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Line:
    """With an encoder that counts words and few features, so that learning takes no time."""
    options = ranker.RankerOptions
    for module in ("memory.forget_command", "learning.learn_commands"):  # the one that takes it from the other first
        monkeypatch.setattr(f"hearth.cli.{module}.open_encoder", lambda: ENCODER)
    monkeypatch.setattr(ranker, "RankerOptions", lambda **given: options(**given) if given else OPTIONS)
    return Line(tmp_path, capfd)


def learnt(hearth: Line, n: int = 40) -> None:
    ran = hearth("learn", "--from", hearth.file(lessons(n)), "--tools", hearth.tools, "--fast")
    assert ran.code == 0, ran.err


def document(ran: Ran) -> Any:
    return json.loads(ran.out)


def test_a_file_is_learnt_and_looked_at(hearth: Line) -> None:
    ran = hearth("learn", "--from", hearth.file(lessons(40)), "--tools", hearth.tools, "--fast")
    assert ran.code == 0
    assert ran.out.startswith("Learnt 40 demonstrations in ")
    assert "version 1." in ran.out
    ran = hearth("learn", "status")
    assert "learnt 40 from teacher" in ran.out
    assert "demonstrations 40, 0 waiting" in ran.out
    assert "find_train + book_train" in ran.out
    again = hearth("learn", "--from", hearth.file(lessons(40)), "--fast")
    assert (again.code, again.out) == (0, "Nothing new to learn.\n  known     40 demonstrations, word for word\n")
    found = document(hearth("learn", "status", "--json"))
    assert found["version"]["number"] == 1
    assert found["waiting"] == 0
    assert sum(len(task["members"]) for task in found["tasks"]) == 40


def test_what_is_refused_is_said_with_its_reason(hearth: Line) -> None:
    learnt(hearth)
    bad = [
        "no json",
        '{"id": "u", "user_request": "fly", "task_nodes": [{"task": "fly"}]}',
        '{"id": "e", "user_request": "nothing"}',
        '{"id": "w", "user_request": "wake me", "task_nodes": [{"task": "set_alarm"}], "label": ["web"]}',
        json.dumps(
            {
                "id": "c",
                "user_request": "round and round",
                "task_nodes": [{"task": "find_train", "after": [1]}, {"task": "book_train", "after": [0]}],
            }
        ),
    ]
    good = replace(shown("mine", "order_pizza", source="owner"), request="the usual")
    ran = hearth("learn", "--from", hearth.file([good], *bad), "--fast")
    assert ran.code == 6
    for said in (
        "version 2",
        "refused   5 demonstrations",
        "line 2: not a JSON object",
        "'u': step 0 calls 'fly', which is no tool",
        "'e': the plan is empty",
        "'w': text from web touched its plan",
        "'c': steps 0 (find_train), 1 (book_train) wait for each other",
    ):
        assert said in ran.out
    ran = hearth("learn", "--from", hearth.file([], *bad), "--fast", "--json")
    assert ran.code == 1
    assert len(document(ran)["refused"]) == 5


def test_a_batch_that_harms_is_not_learnt_unless_told_to(hearth: Line) -> None:
    learnt(hearth, 80)
    ran = hearth("learn", "--from", hearth.file(wrong_trains()), "--fast")
    assert ran.code == 1
    assert ran.out.startswith("Not learnt: its plans do not follow from one another or from what is known: ")
    assert "The version that plans is as it was." in ran.out
    assert "refused        20, kept aside" in hearth("learn", "status").out
    assert hearth("learn", "--from", hearth.file(wrong_trains()), "--fast", "--anyway").code == 0


def test_going_back_and_comparing(hearth: Line) -> None:
    learnt(hearth)
    mine = replace(shown("mine", "order_pizza", source="owner"), request="the usual")
    assert hearth("learn", "--from", hearth.file([mine]), "--fast").code == 0
    ran = hearth("learn", "compare", "1", "2")
    assert "added         1  mine" in ran.out
    assert document(hearth("learn", "compare", "1", "2", "--json"))["added"] == ["mine"]
    ran = hearth("learn", "rollback", "1")
    assert ran.out == "Version 1 plans again (learnt 40 from teacher).\n"
    rows = hearth("learn", "history").out.splitlines()
    assert [row[0] for row in rows] == ["*", " "]
    assert document(hearth("learn", "history", "--json"))["current"] == 1
    ran = hearth("learn", "rollback", "9")
    assert (ran.code, ran.err) == (4, "hearth: no version 9; the last is 2; see `hearth learn history`\n")


def test_the_curve_is_a_picture(hearth: Line) -> None:
    learnt(hearth)
    path = hearth.folder / "curve.png"
    ran = hearth("learn", "history", "--picture", str(path))
    assert f"The curve is in {path}" in ran.out
    assert path.read_bytes().startswith(b"\x89PNG")
    ran = hearth("learn", "history", "--picture", str(hearth.folder / "curve.xyz"))
    assert ran.code == 74
    assert "name a .png or .svg file" in ran.err


def test_before_anything_was_learnt(hearth: Line) -> None:
    ran = hearth("learn", "status")
    assert ran.code == 78
    assert "nothing was learnt in" in ran.err
    ran = hearth("learn", "--from", hearth.file(lessons(2)))
    assert ran.code == 78
    assert "knows no tools yet; give them with --tools tool_desc.json" in ran.err
    ran = hearth("learn", state=False)
    assert ran.code == 78
    assert "make one with `hearth init`, or name a folder with --state" in ran.err
    ran = hearth("learn", "--from", str(hearth.folder / "absent"), "--tools", hearth.tools)
    assert ran.code == 3
    assert "cannot read" in ran.err
    assert hearth("learn", "--fast", "--tier", "two").code == 2


def test_stopped_in_the_middle_nothing_is_lost(hearth: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    learnt(hearth)
    mine = replace(shown("mine", "order_pizza", source="owner"), request="the usual")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(State, "_described", stop)
    ran = hearth("learn", "--from", hearth.file([mine]), "--fast")
    assert ran.code == 130
    assert "The version that plans is as it was; what was read waits: `hearth learn`." in ran.err
    monkeypatch.undo()
    for module in ("memory.forget_command", "learning.learn_commands"):  # the one that takes it from the other first
        monkeypatch.setattr(f"hearth.cli.{module}.open_encoder", lambda: ENCODER)
    assert "40, 1 waiting" in hearth("learn", "status").out
    ran = hearth("learn", "--fast")
    assert "Learnt 1 demonstration " in ran.out


def test_forgetting_is_shown_first_and_then_done(hearth: Line) -> None:
    learnt(hearth)
    secret = replace(shown("mine", "order_pizza", source="owner"), request="call Quillfeather about the will")
    hearth("learn", "--from", hearth.file([secret], name="secret.jsonl"), "--fast")
    (hearth.folder / "secret.jsonl").unlink()
    ran = hearth("forget", "--matching", "quillfeather")
    assert ran.code == 5
    assert "demonstration mine  call Quillfeather about the will" in ran.out
    assert "Nothing was forgotten; --yes forgets it." in ran.err
    ran = hearth("forget", "--matching", "quillfeather", "--yes")
    assert ran.code == 0
    assert ran.out.startswith(
        "Forgotten: 1 demonstration.\n  rebuilt   what is known of the current version: its tasks"
    )
    files = [p for p in (hearth.folder / "state").rglob("*") if p.is_file()]
    assert not [p for p in files if b"Quillfeather" in p.read_bytes()]
    ran = hearth("forget", "demonstration", "mine", "--yes")
    assert (ran.code, ran.err) == (4, "hearth: no demonstration 'mine'; it may have been forgotten already\n")
    receipt = document(hearth("forget", "demonstration", "d000", "d001", "--yes", "--json"))
    assert receipt["n_demonstrations"] == 2
    assert receipt["found_in"] == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (),
            "say what: demonstration ID…, event ID…, --matching, --person, --since, --until, --topic, --source or --from-episode",
        ),
        (("event",), "say which: hearth forget event ID…"),
    ],
)
def test_what_to_forget_must_be_said(hearth: Line, arguments: tuple[str, ...], message: str) -> None:
    ran = hearth("forget", *arguments)
    assert ran.code == 2
    assert message in ran.err


def test_a_home_learns_what_waits_and_skills_are_proposed(hearth: Line) -> None:
    home = hearth.folder / "home"
    make_home(home, {"name": "", "email": "", "time_zone": "", "country": ""})
    with Store.open(home / "hearth.db") as store:
        trace = Trace(store)
        for day in range(3):
            steps = Step("add_note", {"text": "tired"}), Step("set_timer", {"length": "PT30M"})
            at = NOW - dt.timedelta(days=5 - day)
            results = (StepResult(0, "done"), StepResult(1, "done"))
            episode = Episode(
                f"e{day}",
                Request("note it", at),
                Plan(steps),
                None,
                Ruling("allow", ""),
                results,
                Answer("Done.", "done"),
            )
            trace.begin(episode.request, episode.id)
            trace.finish(episode)
    ran = hearth("skills", state=False)
    assert ran.code == 0, ran.err
    assert "3 times from 2026-11-15 to 2026-11-17" in ran.out
    number = document(hearth("skills", "--json", state=False))["proposed"][0]["number"]
    ran = hearth("skills", "accept", str(number), "--name", "good night", state=False)
    assert "Say “good night”" in ran.out
    assert "“good night”" in hearth("skills", state=False).out
    ran = hearth("learn", "--fast", state=False)
    assert "Learnt 6 demonstrations " in ran.out  # three forms of the name, and the three evenings
    assert hearth("skills", "remove", "good night", state=False).code == 0
    ran = hearth("skills", "dismiss", "99", state=False)
    assert (ran.code, ran.err) == (4, "hearth: no proposal 99; `hearth skills` lists them\n")
    ran = hearth("learn", "--fast", state=False)
    assert "what was taken out is learnt no more" in hearth("learn", "history", state=False).out


def test_half_a_surrogate_pair_is_said_as_json(hearth: Line) -> None:
    odd = json.dumps({"id": "odd\ud800", "user_request": "x", "task_nodes": [{"task": "nope"}], "task_links": []})
    ran = hearth("learn", "--from", hearth.file(lessons(10), odd), "--tools", hearth.tools, "--fast", "--json")
    assert ran.code == 6, ran.err
    assert document(ran)["refused"][0]["id"] == "odd\ud800"


def test_a_tool_file_without_tools_does_not_take_those_there_are(hearth: Line) -> None:
    learnt(hearth)
    none = hearth.folder / "none.json"
    none.write_text('{"nodes": []}')
    ran = hearth("learn", "--from", hearth.file(lessons(10)), "--tools", str(none))
    assert ran.code == 78
    assert "describes no tool" in ran.err
    assert json.loads((hearth.folder / "state" / "tools.json").read_text())["nodes"]


def test_a_graph_with_half_a_surrogate_pair_is_kept(hearth: Line) -> None:
    graph = hearth.folder / "graph.json"
    graph.write_text(json.dumps({"links": [{"source": "a\ud800", "target": "b"}]}))
    given = ("learn", "--from", hearth.file(lessons(10)), "--tools", hearth.tools, "--graph", str(graph), "--fast")
    assert hearth(*given).code == 0
    assert hearth(*given).code == 0  # read again


def test_forgetting_what_a_longer_request_says_too(hearth: Line) -> None:
    """The longer one stays, and the database that holds it is not called a copy to be removed."""
    learnt(hearth)
    short = replace(shown("short", "order_pizza", source="owner"), request="call Quillfeather")
    longer = replace(shown("longer", "order_pizza", source="owner"), request="call Quillfeather about the will")
    given = hearth.file([short, longer], name="two.jsonl")
    assert hearth("learn", "--from", given, "--fast").code == 0
    (hearth.folder / "state" / "stray.txt").write_text("call Quillfeather")
    ran = hearth("forget", "demonstration", "short", "--yes", "--json")
    assert document(ran)["found_in"] == ["stray.txt"]
    assert ran.code == 6


def test_what_would_be_forgotten_as_json(hearth: Line) -> None:
    learnt(hearth)
    ran = hearth("forget", "demonstration", "d000", "--json")
    assert ran.code == 5
    assert [d["id"] for d in document(ran)["demonstrations"]] == ["d000"]
    assert document(ran)["forgotten"] is False


def test_a_version_that_was_forgotten_says_how_much_is_left(hearth: Line) -> None:
    learnt(hearth)
    assert hearth("forget", "--source", "teacher", "--yes").code == 0
    assert "Node-F1" not in hearth("learn", "status").out  # of nothing there is no score
    ran = hearth("learn", "rollback", "1")
    assert "some of it was forgotten since: 0 demonstrations left" in ran.out
    assert document(hearth("learn", "rollback", "1", "--json"))["n"] == 0


@pytest.mark.parametrize("number", ["0", str(2**63), "9" * 30])
def test_numbers_that_are_no_version(hearth: Line, number: str) -> None:
    learnt(hearth)
    for arguments in (("rollback", number), ("compare", "1", number)):
        ran = hearth("learn", *arguments)
        assert ran.code == 4
        assert f"no version {number}; the last is 1" in ran.err


def test_a_second_tier_whose_files_are_gone_is_said(hearth: Line) -> None:
    learnt(hearth)
    with Store.open(hearth.folder / "state" / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("UPDATE version SET adapter='pointer-gone'")
    assert (
        "pointer-gone (its files are gone: `hearth learn --tier two` trains another)" in hearth("learn", "status").out
    )


def test_a_second_tier_whose_files_are_damaged_is_said(hearth: Line) -> None:
    learnt(hearth)
    with Store.open(hearth.folder / "state" / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("UPDATE version SET adapter='pointer-broken'")
    folder = hearth.folder / "state" / "learned" / "pointer-broken"
    folder.mkdir(parents=True)
    (folder / "record.json").write_text("{}")
    assert "pointer-broken (its files are damaged: `hearth learn --tier two`" in hearth("learn", "status").out
    assert "with pointer-broken" in hearth("learn", "history").out
    ran = hearth("learn", "--from", hearth.file(lessons(8, 100)), "--fast")
    assert "tier two takes no part: its files are damaged" in ran.out


def test_elsewhere_than_on_a_terminal_a_long_run_says_a_line_now_and_then(
    hearth: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "judging" not in hearth("learn", "--from", hearth.file(lessons(40)), "--tools", hearth.tools, "--fast").err
    monkeypatch.setattr("hearth.cli.learning.learn_commands._SAY_EVERY_S", 0.0)
    ran = hearth("learn", "--from", hearth.file(lessons(8, 100)), "--fast", "--json")
    assert "judging: 32 of " in ran.err
    assert document(ran)["gate"]


def test_a_tool_file_in_another_encoding_is_refused_by_its_name(hearth: Line) -> None:
    path = hearth.folder / "utf16.json"
    path.write_bytes(Path(hearth.tools).read_text().encode("utf-16"))
    for option in ("--tools", "--graph"):
        ran = hearth("learn", "--from", hearth.file(lessons(40)), "--tools", hearth.tools, option, str(path), "--fast")
        assert ran.code != 0
        assert ran.err.strip() == f"hearth: {path}: is written in UTF-16; save it as UTF-8"
    path.write_bytes(b'{"nodes": [{"id": "gr\xfc\xdfe"}]}')
    ran = hearth("learn", "--from", hearth.file(lessons(40)), "--tools", str(path), "--fast")
    assert "is not UTF-8 (byte 21 is 0xfc); save it as UTF-8" in ran.err
