"""After a crash only what was agreed to is done, to the very things; what has changed since is asked about again.

Run as a script, this file is the harness of the kills: a child per trial begins a request of four agreed steps and is
killed before or after its n-th commit, for every n until it comes to its end; in between, in half of the trials, other
things are put in the place of what was agreed to; a second child carries on with nobody to ask.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth.execution.executor import Executor
from hearth.guard.decision import Occasion, Records
from hearth.guard.labels import Value
from hearth.guard.monitor import Monitor
from hearth.guard.policy.question import Agreement, Agreements, RefusingApprover, YesApprover
from hearth.guard.policy.rules import Policy
from hearth.protocols import Approver, CallContext
from hearth.storage.database import Store
from hearth.storage.trace import StartedStep, Trace
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover, make_call
from hearth.types import OWNER, Answer, Asked, Episode, Plan, Referent, Request, Ruling, Step, StepResult
from tests.security.test_referents import TOOLS, World, _event

ID = "e1"


class Home:
    """A home whose process ends and begins again: the files and the database stay, the monitor does not."""

    def __init__(self, root: Path, tools: Mapping[str, Any] = TOOLS) -> None:
        self.store = Store.open(root / "hearth.db")
        self.folder = Folder(root / "owner", self.store)
        self.world = World(self.folder) if not (root / "owner/documents").exists() else None
        self.trace = Trace(self.store)
        self.tools = tools

    def context(self, key: str, now: Any) -> CallContext:
        return make_call(key, now, workspace=self.folder.for_call(key))

    def monitor(self, approver: Approver) -> Monitor:
        return Monitor(self.tools, Policy(), approver, Records.of(self.store))

    def agreed(self, *steps: Step, approver: Approver | None = None) -> Plan:
        """A plan that was agreed to when the process ended, with nothing of it begun."""
        plan = Plan(steps, 1.0)
        monitor = self.monitor(approver or YesApprover())
        self.trace.begin(Request("do it", FIXED_NOW), ID)
        call = self.context("", FIXED_NOW)
        ruling = monitor.rule(plan, occasion=Occasion(FIXED_NOW, call.workspace, ID, call=call))
        self.trace.planned(ID, plan, None, ruling, 0.0)
        return plan

    def carried_on(self, approver: Approver) -> tuple[StepResult, ...]:
        (left,) = self.trace.unfinished()
        executor = Executor(self.monitor(approver), self.trace, self.context, self.folder)
        try:
            return executor.resume(left)
        finally:
            executor.close()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    made.store.close()


def statuses(results: Sequence[StepResult]) -> list[str]:
    return [result.status for result in results]


# ── The very things ───────────────────────────────────────────────────────────────────────────────────────

CONTACT = "BEGIN:VCARD\r\nUID:anna\r\nFN:Anna Berg\r\nEMAIL:{}\r\nEND:VCARD\r\n"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete_file", {"path": "2025.txt"}),
        ("delete_file", {"path": "tax/2025.txt"}),
        ("delete_note", {"note": "diary"}),
        ("cancel_event", {"event": "dentist"}),
        ("copy_file", {"path": "ideas.md", "to": "letters"}),
    ],
)
def test_what_was_agreed_to_is_done_without_a_second_question(home: Home, tool: str, arguments: Any) -> None:
    home.agreed(Step(tool, arguments))
    assert statuses(home.carried_on(RefusingApprover())) == ["done"]


@pytest.mark.parametrize(
    ("tool", "arguments", "path", "text", "change"),
    [
        (
            *("delete_file", {"path": "2025.txt"}, "documents/tax/2025.txt", "another"),
            "'tax/2025.txt' is not what it was when you agreed: its size was '6 bytes' and is '7 bytes'",
        ),
        (
            *("delete_note", {"note": "diary"}, "notes/diary.md", "# Diary\n\nnever lose this\n"),
            "'Diary' is not what it was when you agreed: its text was 'dear' and is 'never lose this'",
        ),
        (
            *("cancel_event", {"event": "dentist"}, "calendar/dentist.ics"),
            *(_event("dentist", "Dentist", "20261124T091500", "LOCATION:Berg 3"),),
            "“Dentist”, Tue 24 Nov 2026 09:15' is not what it was when you agreed: its place was empty and is 'Berg 3'",
        ),
        (
            *("cancel_event", {"event": "dentist"}, "calendar/dentist.ics"),
            *(_event("dentist", "Wedding", "20261124T091500"),),
            "'event' was '“Dentist”, Tue 24 Nov 2026 09:15' when you agreed, and is '“Wedding”, Tue 24 Nov 2026 09:15' now",
        ),
        (
            *("delete_contact", {"contact": "anna"}, "contacts/a.vcf", CONTACT.format("anna@ash.example")),
            "'contact' was 'Anna Berg (anna@berg.example)' when you agreed, and is 'Anna Berg (anna@ash.example)' now",
        ),
    ],
)
def test_what_changed_since_is_asked_about_again_and_named(
    home: Home, tool: str, arguments: Any, path: str, text: str, change: str
) -> None:
    home.agreed(Step(tool, arguments))
    (home.folder.root / path).write_text(text, newline="")
    asked = FixedApprover("nobody")
    (result,) = home.carried_on(asked)
    assert result.status == "denied"
    assert change in asked.questions[0][0]
    assert change in result.error
    assert (home.folder.root / path).exists()


def test_words_that_mean_another_thing_now_are_no_yes_to_it(home: Home) -> None:
    home.agreed(Step("delete_file", {"path": "2025.txt"}))
    for path in ("documents/tax/2025.txt", "documents/a.txt"):
        (home.folder.root / path).unlink()
    other = home.folder.root / "documents/letters/2025.txt"
    other.write_text("another")
    asked = FixedApprover("no")
    assert statuses(home.carried_on(asked)) == ["denied"]
    assert "'path' was 'tax/2025.txt' when you agreed, and is 'letters/2025.txt' now" in asked.questions[0][0]
    assert other.exists()


def test_a_yes_to_the_changed_thing_is_a_yes_to_it_alone(home: Home) -> None:
    home.agreed(Step("delete_file", {"path": "2025.txt"}))
    (home.folder.root / "documents/tax/2025.txt").write_text("another")
    assert statuses(home.carried_on(FixedApprover("once"))) == ["done"]
    assert not (home.folder.root / "documents/tax/2025.txt").exists()


def test_without_an_agreement_on_record_it_is_asked_as_if_for_the_first_time(home: Home) -> None:
    home.agreed(Step("delete_file", {"path": "2025.txt"}))
    with home.store.transaction() as cursor:
        cursor.execute("DELETE FROM agreed_step")
    asked = FixedApprover("nobody")
    assert statuses(home.carried_on(asked)) == ["denied"]
    assert 'path: "tax/2025.txt"' in asked.questions[0][0]


def test_a_step_that_is_another_one_has_no_agreement(home: Home) -> None:
    home.agreed(Step("delete_file", {"path": "2025.txt"}))
    other = Plan((Step("delete_file", {"path": "ideas.md"}),), 1.0)
    home.trace.planned(ID, other, None, Ruling("allow", "you agreed"), 0.0)
    assert statuses(home.carried_on(RefusingApprover())) == ["denied"]
    assert (home.folder.root / "documents/ideas.md").exists()


def test_what_the_request_itself_changed_before_the_crash_is_not_asked_about(home: Home) -> None:
    home.agreed(
        Step("append_to_note", {"note": "diary", "text": "more"}), Step("delete_note", {"note": "diary"}, after=(0,))
    )
    home.context(f"{ID}-0", FIXED_NOW).workspace.write("notes/diary.md", b"# Diary\n\ndear\nmore\n")
    done = StepResult(0, "done", {"id": "diary"}, OWNER, key=f"{ID}-0")
    started = StartedStep(
        *(0, "append_to_note", f"{ID}-0", {"note": "diary", "text": "more"}, FIXED_NOW, "change"),
        *(Ruling("ask", "it changes"), {}, ("diary",)),
    )
    home.trace.steps(ID, finished=(), started=[started])
    home.trace.steps(ID, finished=[done], started=())
    assert statuses(home.carried_on(RefusingApprover())) == ["done", "done"]


def test_what_others_changed_after_it_is_asked_about(home: Home) -> None:
    home.agreed(
        Step("append_to_note", {"note": "diary", "text": "more"}), Step("delete_note", {"note": "diary"}, after=(0,))
    )
    home.context(f"{ID}-0", FIXED_NOW).workspace.write("notes/diary.md", b"# Diary\n\ndear\nmore\n")
    started = StartedStep(
        *(0, "append_to_note", f"{ID}-0", {"note": "diary", "text": "more"}, FIXED_NOW, "change"),
        *(Ruling("ask", "it changes"), {}, ("diary",)),
    )
    home.trace.steps(ID, finished=(), started=[started])
    home.trace.steps(ID, finished=[StepResult(0, "done", {"id": "diary"}, OWNER, key=f"{ID}-0")], started=())
    (home.folder.root / "notes/diary.md").write_text("# Diary\n\ndear\nmore\nby hand\n")
    asked = FixedApprover("nobody")
    assert statuses(home.carried_on(asked)) == ["done", "denied"]
    assert "its text was 'dear' and is 'dear more by hand'" in asked.questions[0][0]


def test_a_yes_to_real_values_outlives_the_process(home: Home) -> None:
    """The second question, about what the words turned out to be, is on record like the first."""
    plan = home.agreed(Step("delete_file", {"path": "2025.txt"}))
    file = home.folder.root / "documents/tax/2025.txt"
    file.write_text("another")
    call = home.context(f"{ID}-0", FIXED_NOW)
    occasion = Occasion(FIXED_NOW, call.workspace, ID, call=call)
    given = {"path": Value("2025.txt", OWNER)}
    monitor = home.monitor(FixedApprover("once"))
    monitor.readmit(plan, Ruling("allow", "you agreed"), occasion)
    assert monitor.confirm(plan, 0, given, call, monitor.admit(plan, 0, given, call)).verdict == "allow"
    again = home.monitor(RefusingApprover())
    again.readmit(plan, Ruling("allow", "you agreed"), occasion)
    assert again.admit(plan, 0, given, call).rule == "confirmed"
    file.write_text("yet another")
    later = home.monitor(RefusingApprover())
    later.readmit(plan, Ruling("allow", "you agreed"), occasion)
    assert "its size was '7 bytes' and is '11 bytes'" in later.admit(plan, 0, given, call).reason


def test_an_always_is_kept_after_the_crash_and_once(home: Home) -> None:
    home.agreed(Step("delete_file", {"path": "2025.txt"}), approver=FixedApprover("always"))
    assert statuses(home.carried_on(RefusingApprover())) == ["done"]
    (consent,) = Records.of(home.store).consents.all()
    assert consent.said() == "delete_file(path = documents/tax/2025.txt)"


def test_rules_that_deny_now_do_deny(home: Home) -> None:
    home.agreed(Step("delete_file", {"path": "2025.txt"}))
    assert home.world is not None
    strict = home.world.monitor(
        "[[rule]]\ntools = ['delete_file']\nruling = 'deny'\nwhen.path = { matches = 'documents/tax/.*' }\n",
        records=Records.of(home.store),
    )
    (left,) = home.trace.unfinished()
    results = Executor(strict, home.trace, home.context, home.folder).resume(left)
    assert statuses(results) == ["denied"]


def test_agreements_go_with_the_end_of_the_request(home: Home) -> None:
    plan = home.agreed(Step("delete_file", {"path": "2025.txt"}))
    assert len(Agreements(home.store).of(ID)) == 1
    home.trace.finish(Episode(ID, Request("do it", FIXED_NOW), plan, None, None, (), Answer("done", "done")))
    assert Agreements(home.store).of(ID) == {}


def test_agreements_go_with_a_request_that_is_deleted(home: Home) -> None:
    home.agreed(Step("delete_file", {"path": "2025.txt"}))
    with home.store.transaction() as cursor:
        cursor.execute("DELETE FROM episode")
    assert home.store.query("SELECT * FROM agreed_step") == []


def test_an_agreement_is_read_as_it_was_written(home: Home) -> None:
    thing = Referent("i", "n \ud800", ("s",), ("a",), "t\n", (("its size", "6"),))
    one = Agreement(
        Step("delete_file", {"path": "<node-0.x>", "n": [1, None, {"k": True}]}, (2,), "", 1),
        Ruling("ask", "it changes", "default"),
        Asked("May I?", "always"),
        {"path": Value("i", OWNER, things=(thing,)), "other": Value("w", OWNER, is_open=True)},
        is_planned=False,
        kept=frozenset({"default"}),
        confirmed={"path": ["i"]},
    )
    Agreements(home.store).keep(ID, {3: one})
    assert Agreements(home.store).of(ID) == {3: one}


# ── Killed at every commit ────────────────────────────────────────────────────────────────────────────────

KILLED = (
    Step("delete_file", {"path": "2025.txt"}),
    Step("append_to_note", {"note": "diary", "text": "more"}, after=(0,)),
    Step("delete_file", {"path": "council.txt"}, after=(1,)),
    Step("cancel_event", {"event": "dentist"}, after=(2,)),
)
OTHERS = {
    "documents/letters/2025.txt": "another",
    "documents/letters/council.txt": "another letter",
    "calendar/dentist.ics": _event("dentist", "Wedding", "20261124T091500"),
}


def begun(root: Path, n_kill: int) -> None:
    """Agree to the plan and run it; be killed at the n-th commit, before it where n is even and after it where odd."""
    n = 0
    home = Home(root)
    really = home.store.transaction

    @contextmanager
    def counted(*, is_synced: bool = True) -> Iterator[Any]:
        nonlocal n
        with really(is_synced=is_synced) as cursor:
            yield cursor
            n += 1
            if n == n_kill:
                os.kill(os.getpid(), signal.SIGKILL)
        n += 1
        if n == n_kill:
            os.kill(os.getpid(), signal.SIGKILL)

    home.store.transaction = counted  # type: ignore[method-assign]
    plan = Plan(KILLED, 1.0)
    monitor = home.monitor(YesApprover())
    home.trace.begin(Request("do it", FIXED_NOW), ID)
    call = home.context("", FIXED_NOW)
    ruling = monitor.rule(plan, occasion=Occasion(FIXED_NOW, call.workspace, ID, call=call))
    home.trace.planned(ID, plan, None, ruling, 0.0)
    results = Executor(monitor, home.trace, home.context, home.folder).run(ID, plan, monitor.specs, FIXED_NOW)
    home.trace.finish(Episode(ID, Request("do it", FIXED_NOW), plan, None, ruling, results, Answer("", "done")))


def forked(act: Any) -> bool:
    """Act in a child; True when it came to its end. Raises: RuntimeError: It failed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            act()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("a child failed")
    return os.WIFEXITED(status)


def harness(root: Path) -> None:
    for n_kill in range(1, 200):
        for is_changed in (False, True):
            place = root / f"{n_kill}-{is_changed}"
            place.mkdir()
            is_whole = forked(lambda place=place, n_kill=n_kill: begun(place, n_kill))
            home = Home(place)
            gone = {p for p in ("documents/tax/2025.txt", "documents/letters/council.txt", "calendar/dentist.ics")
                    if not (place / "owner" / p).exists()}  # fmt: skip
            if is_changed:
                for path, text in OTHERS.items():
                    if path not in gone:
                        (place / "owner" / path).write_text(text, newline="")
                if "documents/tax/2025.txt" not in gone:
                    (place / "owner/documents/tax/2025.txt").unlink()
                    (place / "owner/documents/a.txt").unlink()
            asked = FixedApprover("nobody")
            left = home.trace.unfinished()
            results = home.carried_on(asked) if left else ()
            print(
                json.dumps(
                    {
                        "n": n_kill,
                        "is_changed": is_changed,
                        "is_whole": is_whole,
                        "was_planned": bool(left and left[0].plan) or bool(home.trace.episodes()),
                        "statuses": statuses(results),
                        "questions": [question for question, _ in asked.questions],
                        "gone": sorted(gone),
                        "files": {
                            str(p.relative_to(place / "owner")): p.read_text()
                            for p in sorted((place / "owner").rglob("*"))
                            if p.is_file() and not p.is_symlink()
                        },
                    }
                )
            )
            home.store.close()
        if is_whole:
            return


@pytest.fixture(scope="module")
def trials(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    root = tmp_path_factory.mktemp("agreed")
    command = [sys.executable, "-W", "error", "-m", "tests.security.test_agreements", str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_killed_anywhere_all_that_was_agreed_to_is_done_without_a_question(trials: list[dict[str, Any]]) -> None:
    same = [one for one in trials if not one["is_changed"]]
    assert len(same) >= 20, "too few commits to be killed at"
    for one in same:
        assert one["questions"] == [], one
        if one["was_planned"]:
            assert "documents/tax/2025.txt" not in one["files"], one
            assert "documents/letters/council.txt" not in one["files"], one
            assert one["files"]["notes/diary.md"].count("more") == 1, one
        else:
            assert one["statuses"] == [], one
            assert one["files"]["documents/tax/2025.txt"] == "secret", one


def test_killed_anywhere_nothing_but_the_very_things_is_touched(trials: list[dict[str, Any]]) -> None:
    changed = [one for one in trials if one["is_changed"]]
    n_asked = 0
    for one in changed:
        for path, text in OTHERS.items():
            if path not in one["gone"]:
                assert one["files"].get(path, "").replace("\r", "") == text.replace("\r", ""), (path, one)
        n_asked += bool(one["questions"])
    assert n_asked >= 10, "too few trials had a question"


if __name__ == "__main__":
    harness(Path(sys.argv[1]))
