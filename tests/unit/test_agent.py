"""An agent on a bad day: crashes that come again, plug-ins that are gone, ids that are drawn twice."""

from __future__ import annotations

import datetime as dt
import os
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hearth import tool
from hearth.agent import UNDO_KEPT, Agent, make_home, replayed
from hearth.errors import CancelledError, NotFound
from hearth.execution.executor import MAX_RESUMES
from hearth.guard.policy.question import RefusingApprover, YesApprover
from hearth.planning.deferral import Cascade
from hearth.protocols import CallContext, Tool
from hearth.testing import FIXED_NOW, FixedApprover, HashEncoder, ScriptedPlanner
from hearth.types import Plan, Refusal, Step


class Died(BaseException):
    """Stands for a process that ends in the middle: nothing is tidied up."""


@pytest.fixture
def made_home(tmp_path: Path) -> Path:
    make_home(
        tmp_path / "made", {"name": "Mira", "email": "m@example.org", "time_zone": "Europe/Berlin", "country": ""}
    )
    return tmp_path / "made"


@contextmanager
def opened(home: Path, tools: Iterable[Tool], *names: str, now: dt.datetime = FIXED_NOW) -> Iterator[Agent]:
    """An agent whose plan for "go" is one step for each of `names`."""
    agent = Agent.open(
        home,
        YesApprover(),
        environ=os.environ,
        clock=lambda: now,
        encoder=HashEncoder(),
        extra_tools=tools,
    )
    plan = Plan(tuple(Step(name, {}, after=(k - 1,) if k else ()) for k, name in enumerate(names)), 1.0, "scripted")
    agent.planner = Cascade([ScriptedPlanner({"go": plan})], confident=0.0)
    try:
        yield agent
    finally:
        agent.close()


def test_a_closed_agent_leaves_no_thread(made_home: Path) -> None:
    before = set(threading.enumerate())
    with opened(made_home, [], "current_time") as agent:
        assert agent.run(agent.request("go")).answer.status == "done"
        left = set(threading.enumerate()) - before
    assert left
    for thread in left:
        thread.join(10)
        assert not thread.is_alive()


def begin(agent: Agent, *names: str) -> str:
    """A plan of which the first step was begun when the process ended."""
    from hearth.storage.trace import StartedStep  # beside its one use

    request = agent.request("go")
    plan = Plan(tuple(Step(name, {}) for name in names), planner="scripted", confidence=1.0)
    agent.trace.begin(request, "e1")
    ruling = agent.monitor.rule(plan, occasion=agent.occasion(request, plan, "e1"))
    agent.trace.planned("e1", plan, None, ruling, 1.0)
    effect = agent.tools.specs[names[0]].effect
    agent.trace.steps("e1", finished=(), started=[StartedStep(0, names[0], "e1-0", {}, request.now, effect)])
    return "e1"


@tool(effect="change")
def write_twice(call: CallContext) -> str:
    """Add a line to a file."""
    old = call.workspace.read("notes/log.md") if call.workspace.exists("notes/log.md") else b""
    call.workspace.write("notes/log.md", old + b"line\n")
    return "written"


@pytest.mark.parametrize("effect", ["none", "change"])
def test_a_step_that_ends_the_process_each_time_does_not_end_every_start(made_home: Path, effect: str) -> None:
    n_calls = 0

    @tool(effect=effect)  # type: ignore[arg-type]
    def doom() -> str:
        """End the process."""
        nonlocal n_calls
        n_calls += 1
        return "not ended"

    with opened(made_home, [doom, write_twice]) as agent:
        begin(agent, "doom", "write_twice")
    for attempt in range(MAX_RESUMES):
        with opened(made_home, [doom, write_twice]) as agent:

            def die(left: object, occasion: object, agent: Agent = agent) -> None:
                agent.folder.for_call("e1-0").write("notes/doom.md", b"half")
                raise Died

            agent.executor.resume = die  # type: ignore[method-assign,assignment]
            with pytest.raises(Died):
                agent.recover()
            assert agent.trace.unfinished()[0].n_resumed == attempt + 1
    with opened(made_home, [doom, write_twice]) as agent:
        (line,) = agent.recover()
        assert f"cut off {MAX_RESUMES + 1} times and is not tried any more; doom may be at fault" in line
        assert agent.trace.unfinished() == ()
        first, second = agent.trace.episode("e1").results
        assert (first.status, second.status) == ({"none": "failed", "change": "unknown"}[effect], "done")
        assert agent.folder.for_call("").read("notes/log.md") == b"line\n"
        assert agent.folder.for_call("").exists("notes/doom.md") is (effect == "none")
        assert agent.recover() == ()
    assert n_calls == 0


def test_yes_to_this_request_is_no_yes_to_what_was_cut_off(made_home: Path) -> None:
    file = made_home / "owner/documents/old.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("as agreed")
    plan = Plan((Step("delete_file", {"path": "old.txt"}),), planner="scripted", confidence=1.0)
    with opened(made_home, []) as agent:
        request = agent.request("tidy up")
        agent.trace.begin(request, "e1")
        ruling = agent.monitor.rule(plan, occasion=agent.occasion(request, plan, "e1"))
        agent.trace.planned("e1", plan, None, ruling, 1.0)
    file.write_text("other words since")
    with opened(made_home, []) as agent:  # whose own requests are all answered with yes
        asked = FixedApprover("nobody")
        agent.recover(asked)
        assert file.exists()
        episode = agent.trace.episode("e1")
    text = asked.questions[0][0]
    assert text.startswith('I was stopped while I did this: "tidy up".\n')
    assert "its size was '9 bytes' and is '17 bytes'" in text
    assert [one.answer for one in episode.asked] == ["once", "nobody"]


def test_an_open_change_is_taken_back_even_if_it_is_older_than_what_is_kept_for_undo(
    made_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(made_home, [write_twice]) as agent:
        key = f"{begin(agent, 'write_twice')}-0"
        agent.folder.for_call(key).write("notes/log.md", b"line\n")  # and then the process was killed
        with agent.store.transaction() as cursor:
            cursor.execute("UPDATE journal SET at_unix_s = at_unix_s - ?", (UNDO_KEPT.total_seconds() + 60,))
    with opened(made_home, [write_twice]) as agent:
        agent.recover()
        assert agent.folder.for_call("").read("notes/log.md") == b"line\n"


def test_records_of_a_plug_in_that_is_gone_can_be_read_answered_and_finished(made_home: Path) -> None:
    @tool(effect="change", answer="Painted {value}.")
    def paint(call: CallContext) -> str:
        """Paint the fence."""
        call.workspace.write("notes/fence.md", b"green")
        return "green"

    with opened(made_home, [paint], "paint") as agent:
        done = agent.run(agent.request("go"))
        assert done.answer.text == "Painted green."
        begin(agent, "paint")
    with opened(made_home, []) as agent:
        (line,) = agent.recover()
        assert line.startswith("e1 ")
        assert agent.trace.episode("e1").results[0].status in ("unknown", "denied")
        assert replayed(agent.trace.episode(done.id), agent.tools.specs).text == "green"
        report = agent.undo(done.id)
        assert report.undone == ()
        assert report.kept == (
            "paint: notes/fence.md put back, but cannot undo 'paint': it is not registered any more; "
            "install its plug-in",
        )


def test_an_id_that_was_drawn_before_is_drawn_again(made_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = iter(["aaaa", "aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr(secrets, "token_hex", lambda n: next(letters))
    with opened(made_home, [write_twice], "write_twice") as agent:
        first = agent.refuse(agent.request(""), "empty")
        second = agent.run(agent.request("go"))
    assert (first.id[-4:], second.id[-4:]) == ("aaaa", "bbbb")


def test_an_empty_or_wrongly_encoded_id_is_no_episode(made_home: Path) -> None:
    with opened(made_home, [write_twice], "write_twice") as agent:
        agent.run(agent.request("go"))
        for id in ("", "\udcff", "x' OR '1'='1"):
            with pytest.raises(NotFound, match="no episode"):
                agent.undo(id)
            with pytest.raises(NotFound, match="no episode"):
                agent.trace.episode(id)


@pytest.mark.parametrize("place", ["plan", "rule", "run"])
def test_what_the_owner_stopped_is_not_carried_on_by_the_next_start(
    made_home: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with opened(made_home, [write_twice], "write_twice") as agent:
        part = {"plan": agent, "rule": agent.monitor, "run": agent.executor}[place]
        monkeypatch.setattr(part, place, stop)
        with pytest.raises(KeyboardInterrupt):
            agent.run(agent.request("go"))
        (episode,) = agent.trace.episodes()
        assert "You stopped" in episode.answer.text or "you stopped" in episode.answer.text
        assert episode.answer.status == ("failed" if place == "run" else "refused")
        assert replayed(episode, agent.tools.specs) == episode.answer
    with opened(made_home, [write_twice], "write_twice") as agent:
        assert agent.recover() == ()
        assert not agent.folder.for_call("").exists("notes/log.md")


def test_what_was_done_before_the_owner_stopped_it_stays_done_and_is_said(made_home: Path) -> None:
    @tool()
    def halt() -> str:
        """Have the run stopped from elsewhere."""
        agent.executor.cancel()
        time.sleep(0.3)
        return "late"

    names = ("write_twice", "halt", "write_twice")
    with opened(made_home, [write_twice, halt], *names) as agent:
        with pytest.raises(CancelledError):
            agent.run(agent.request("go"))
        (episode,) = agent.trace.episodes()
        assert episode.answer.status == "partly"
        assert episode.answer.text.startswith("You stopped this before it was over.\nwritten")
        assert agent.undo(None).undone == ("write twice (notes/log.md)",)


class _Broken:
    """A planner with a bug."""

    name = "broken"

    def plan(self, *_: object) -> Plan:
        raise IndexError("no such group")


def test_a_planner_that_fails_in_a_way_it_does_not_declare_ends_in_an_answer(made_home: Path) -> None:
    with opened(made_home, ()) as agent:
        agent.planner = Cascade([_Broken(), ScriptedPlanner({})], confident=0.0)
        assert agent.run(agent.request("go")).answer.status == "refused"  # the other planner's answer
        agent.planner = Cascade([_Broken()])
        answer = agent.run(agent.request("go")).answer
        assert answer.status == "refused"
        assert "broken failed with IndexError: no such group" in answer.text


def test_a_bug_outside_the_planners_ends_in_an_answer_and_a_closed_record(
    made_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(effect="change")
    def write_something(call: CallContext) -> str:
        """Write."""
        call.workspace.write("documents/a.txt", b"a")
        return "written"

    with opened(made_home, [write_something], "write_something") as agent:
        monkeypatch.setattr("hearth.agent.compose", lambda *_, is_owners: 10**30 / 0)
        episode = agent.run(agent.request("go"))
        assert episode.answer.status == "failed"
        assert "this is a fault in Hearth, ZeroDivisionError" in episode.answer.text
        assert [result.status for result in episode.results] == ["done"]
        assert agent.trace.unfinished() == ()
        assert agent.undo(episode.id).undone
    log = made_home / "faults.txt"
    assert "ZeroDivisionError" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


@tool(effect="change")
def write_note(text: str, call: CallContext) -> str:
    """Write."""
    call.workspace.write("notes/log.md", text.encode())
    return f"written: {text}"


@contextmanager
def writing(home: Path) -> Iterator[Agent]:
    """An agent that writes down the day a request names."""
    with opened(home, [write_note]) as agent:
        plans = {f"write it {day}": Plan((Step("write_note", {"text": day}),)) for day in ("on Monday", "on Friday")}
        agent.planner = Cascade([ScriptedPlanner(plans)], confident=0.0)
        yield agent


def test_a_revision_takes_back_what_was_done_and_is_taken_back_itself(made_home: Path) -> None:
    note = made_home / "owner" / "notes" / "log.md"
    with writing(made_home) as agent:
        agent.run(agent.request("write it on Monday"))
        revised = agent.run(agent.request_after("no, on Friday"))
        assert revised.answer.text == "Taken back: “write it on Monday”.\nwritten: on Friday"
        assert note.read_text() == "on Friday"
        gone = agent.run(agent.request_after("take that back"))
        assert (gone.answer.text, gone.answer.status) == ("Taken back: “no, on Friday”.", "done")
        assert not note.exists()


def test_a_revision_that_is_not_understood_or_not_allowed_takes_nothing_back(made_home: Path) -> None:
    note = made_home / "owner" / "notes" / "log.md"
    with writing(made_home) as agent:
        agent.run(agent.request("write it on Monday"))
        assert agent.run(agent.request_after("no, on Tuesday")).refusal is not None
        assert note.read_text() == "on Monday"
        agent.monitor.approver = RefusingApprover()
        assert agent.run(agent.request_after("no, on Friday")).answer.status == "denied"
        assert note.read_text() == "on Monday"


def test_what_cannot_be_taken_back_is_not_done_again(made_home: Path) -> None:
    note = made_home / "owner" / "notes" / "log.md"
    with writing(made_home) as agent:
        agent.run(agent.request("write it on Monday"))
        note.write_text("the owner wrote on")
        answer = agent.run(agent.request_after("no, on Friday")).answer
        assert answer.status == "denied"
        assert "could not be taken back" in answer.text
        assert note.read_text() == "the owner wrote on"


def test_the_question_names_the_thing_that_is_meant_and_not_the_words(made_home: Path) -> None:
    (made_home / "owner" / "documents" / "tax").mkdir()
    (made_home / "owner" / "documents" / "tax" / "2025.txt").write_text("x")
    approver = FixedApprover("no")
    agent = Agent.open(made_home, approver, environ=os.environ, clock=lambda: FIXED_NOW, encoder=HashEncoder())
    plan = Plan((Step("delete_file", {"path": "2025.txt"}),), 1.0, "scripted")
    agent.planner = Cascade([ScriptedPlanner({"go": plan})], confident=0.0)
    try:
        assert agent.run(agent.request("go")).answer.status == "denied"
    finally:
        agent.close()
    ((asked, _),) = approver.questions
    assert 'path: "tax/2025.txt"' in asked


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("tell me the day and the time", "tell me the day and the time"),
        ("Tell me your bank PIN at https://bank.evil.example", "its words are left out, since they hold a link"),
        ("what is the PIN of your card", "never type one here"),
        ("write to help@evil.example first", "its words are left out, since they hold a link, an address"),
        ("shall I open https://mine.example", "shall I open https://mine.example"),  # the owner's own link
    ],
)
def test_a_model_that_asks_for_a_secret_or_sends_somewhere_is_not_quoted(
    made_home: Path, words: str, shown: str
) -> None:
    class Teacher:
        name = "stranger"

        def plan(self, *_: object) -> Refusal:
            return Refusal("needs", words, planner=self.name)

    with opened(made_home, ()) as agent:
        agent.planner = Cascade([ScriptedPlanner({})], teacher=Teacher(), confident=1.0)
        answer = agent.run(agent.request("go to https://mine.example"))
        assert shown.lower() in answer.answer.text.lower()
        assert "evil" not in answer.answer.text


def test_a_time_is_counted_from_the_one_event_that_is_named(made_home: Path) -> None:
    folder = made_home / "owner" / "calendar"
    for number, title in enumerate(("Dentist", "Lunch with Ann", "Lunch with Ben")):
        event = f"UID:{number}\r\nDTSTART:20261203T09{number}000Z\r\nDTEND:20261203T100000Z\r\nSUMMARY:{title}\r\n"
        text = f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//t//EN\r\nBEGIN:VEVENT\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n"
        (folder / f"{number}.ics").write_bytes(text.encode())
    with opened(made_home, []) as agent:
        counted = agent.request_after("remind me an hour before the dentist to go")
        assert counted.text == "remind me on 3 December 2026 at 09:00 to go"
        assert counted.said == "remind me an hour before the dentist to go"
        moved = agent.request_after("push the dentist back by a week")
        assert moved.text == "move the dentist to 10 December 2026 at 10:00"
        assert [record.id for record in moved.records] == ["0"]
        for unclear in ("push lunch back by an hour", "remind me an hour before the wedding", "delay it an hour"):
            assert agent.request_after(unclear).text == unclear
    with (made_home / "hearth.toml").open("a") as settings:
        settings.write('\n[policy.find_events]\nruling = "ask"\n')
    with opened(made_home, []) as agent:  # what may not be read unasked is not looked up
        assert agent.request_after("push the dentist back by a week").records == ()


def test_what_is_due_on_a_day_is_told_beside_its_events(made_home: Path) -> None:
    task = "UID:r1\r\nDUE:20261121T080000Z\r\nSUMMARY:tea\r\n"
    text = (
        f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//t//t//EN\r\nBEGIN:VTODO\r\n{task}END:VTODO\r\nEND:VCALENDAR\r\n"
    )
    folder = made_home / "owner" / "reminders"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "r1.ics").write_bytes(text.encode())

    def answered(agent: Agent, day: int, text: str = "what is on") -> str:
        span = {"start": f"2026-11-{day}T00:00:00+01:00", "end": f"2026-11-{day + 1}T00:00:00+01:00"}
        plan = Plan((Step("find_events", dict(span)),), 1.0, "scripted")
        agent.planner = Cascade([ScriptedPlanner({text: plan})], confident=0.0)
        return agent.run(agent.request(text)).answer.text

    with opened(made_home, []) as agent:
        assert answered(agent, 21) == "No events found (I looked for tomorrow).\n1 reminder: tea, tomorrow at 09:00"
        assert answered(agent, 22) == "No events found (I looked for Sunday 22 November)."
        for of_events in ("what events are on", "what meetings do i have", "which appointments", "how many are on"):
            assert answered(agent, 21, of_events) == "No events found (I looked for tomorrow)."
    with (made_home / "hearth.toml").open("a") as settings:
        settings.write('\n[policy.find_reminders]\nruling = "ask"\n')
    with opened(made_home, []) as agent:  # what may not be read unasked is left out
        assert answered(agent, 21) == "No events found (I looked for tomorrow)."
