from __future__ import annotations

import datetime as dt

import pytest

from hearth.errors import NotFound, ToolError
from hearth.formats.tool_signature import FunctionTool
from hearth.protocols import CallContext
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, InMemoryWorkspace, check_tool, make_call
from hearth.tools.pim.ical import Repeat
from hearth.tools.pim.reminders import (
    MAX_REMINDERS,
    TOOLS,
    Reminder,
    ReminderId,
    add_reminder,
    complete_reminder,
    delete_reminder,
    find_reminders,
    move_reminder,
    set_timer,
)
from hearth.types import Plain

ZONE = FIXED_NOW.tzinfo


def at(day: int, hour: int = 0, minute: int = 0, month: int = 11, year: int = 2026) -> dt.datetime:
    return dt.datetime(year, month, day, hour, minute, tzinfo=ZONE)


class Home:
    """One owner's folder; every call gets a key of its own, and `now` may be set forward."""

    def __init__(self, files: dict[str, str] | None = None) -> None:
        self.workspace = InMemoryWorkspace({f"reminders/{name}": data for name, data in (files or {}).items()})
        self.now = FIXED_NOW
        self.n_calls = 0
        self.notices: list[str] = []

    def call(self) -> CallContext:
        self.n_calls += 1
        call = make_call(f"k{self.n_calls}", self.now, self.workspace)
        self.notices = call.notices
        return call

    def text(self, name: str) -> str:
        return self.workspace.read(f"reminders/{name}").decode().replace("\r\n", "\n")


def tasks(*todos: str) -> str:
    body = "".join(f"BEGIN:VTODO\n{todo.strip()}\nEND:VTODO\n" for todo in todos)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//other//EN\n{body}END:VCALENDAR\n"


SAMPLES: list[tuple[FunctionTool, dict[str, Plain]]] = [
    (add_reminder, {"text": "water the plants", "at": at(21, 9).isoformat(), "repeat": "weekly"}),
    (set_timer, {"length": "PT12M", "text": "eggs"}),
    (find_reminders, {"query": "pills", "start": at(20).isoformat(), "end": at(30).isoformat()}),
    (complete_reminder, {"reminder": "pills"}),
    (complete_reminder, {"reminder": "once"}),
    (move_reminder, {"reminder": "pills", "at": at(25, 9).isoformat()}),
    (delete_reminder, {"reminder": "once"}),
]
PILLS = "UID:pills\nDTSTART:20261101T080000\nDUE:20261101T080000\nRRULE:FREQ=DAILY\nSUMMARY:pills\nX-KEEP;P=1:as  is"
ONCE = "UID:once\nDUE:20261123T100000Z\nSUMMARY:passport"


@pytest.mark.parametrize(
    ("tool", "arguments"), SAMPLES, ids=lambda value: getattr(value, "spec", None) and value.spec.name
)
def test_contract(tool: FunctionTool, arguments: dict[str, Plain]) -> None:
    check_tool(tool, arguments, Home({"a.ics": tasks(PILLS), "b.ics": tasks(ONCE)}).call())


def test_every_tool_is_described_for_planners() -> None:
    for t in TOOLS:
        assert 2 <= len(t.spec.examples) <= 4
        assert t.spec.answer
        assert t.spec.effect == ("none" if t.spec.name == "find_reminders" else "change")


def test_a_reminder_is_a_task_with_an_alarm_that_other_programs_read() -> None:
    import icalendar

    home = Home()
    reminder = add_reminder(home.call(), "call Änna;\nabout, 🎉", at(23, 9))
    assert home.workspace.list() == (f"reminders/{reminder.id}.ics",)
    data = home.workspace.read(f"reminders/{reminder.id}.ics")
    (todo,) = icalendar.Calendar.from_ical(data).todos
    assert str(todo["SUMMARY"]) == "call Änna;\nabout, 🎉"
    assert todo.end == at(23, 9)
    (alarm,) = todo.walk("VALARM")
    assert alarm.to_ical().splitlines()[-2] == b"TRIGGER;RELATED=END:P0D", "it rings when the task is due"
    assert reminder == Reminder(reminder.id, "call Änna;\nabout, 🎉", at(23, 9), "none", is_done=False)
    assert find_reminders(home.call()) == [reminder]


@pytest.mark.parametrize(
    ("text", "when", "message"),
    [
        ("", at(21), "a reminder needs a text; say what to be reminded of"),
        ("\n ", at(21), "a reminder needs a text"),
        ("x" * 2001, at(21), "the text has 2001 characters; expected at most 2000"),
        ("a\x07", at(21), "the text holds the character"),
        ("late", at(20, 9), r"2026-11-20T09:00:00\+01:00 has passed \(it is 2026-11-20T09:30:00\+01:00\)"),
        ("far", at(31, month=12, year=9999), "is out of range; expected a year between 1900 and 2200"),
    ],
)
def test_what_cannot_be_set_says_why(text: str, when: dt.datetime, message: str) -> None:
    home = Home()
    with pytest.raises(ToolError, match=message):
        add_reminder(home.call(), text, when)
    assert home.workspace.list() == ()


def test_a_timer_is_up_after_its_length() -> None:
    home = Home()
    assert set_timer(home.call(), dt.timedelta(minutes=12)).at == FIXED_NOW + dt.timedelta(minutes=12)
    assert set_timer(home.call(), dt.timedelta(seconds=45), "eggs").text == "eggs"
    for wrong in (dt.timedelta(0), dt.timedelta(seconds=-1), dt.timedelta(days=367), dt.timedelta(days=999999)):
        with pytest.raises(ToolError, match="cannot be set; expected more than 0 seconds and at most a year"):
            set_timer(home.call(), wrong)


def test_a_repeating_reminder_whose_first_time_has_passed_starts_with_the_next() -> None:
    home = Home()
    assert add_reminder(home.call(), "pills", at(20, 8), "daily").at == at(21, 8)
    assert add_reminder(home.call(), "bins", at(17, 8), "weekly").at == at(24, 8)


@pytest.mark.parametrize(
    ("repeat", "first", "expected"),
    [
        ("daily", at(23, 9), [at(24, 9), at(25, 9)]),
        ("every 2 days", at(23, 9), [at(25, 9), at(27, 9)]),
        ("weekly", at(23, 9), [at(30, 9), at(7, 9, month=12)]),
        ("every 2 weeks", at(23, 9), [at(7, 9, month=12), at(21, 9, month=12)]),
        ("on weekdays", at(27, 9), [at(30, 9), at(1, 9, month=12)]),
        ("on weekends", at(28, 9), [at(29, 9), at(5, 9, month=12)]),
        ("monthly", at(31, 9, month=12), [at(31, 9, 0, 1, 2027), at(28, 9, 0, 2, 2027), at(31, 9, 0, 3, 2027)]),
        ("yearly", at(23, 9), [at(23, 9, 0, 11, 2027), at(23, 9, 0, 11, 2028)]),
    ],
)
def test_doing_a_repeating_reminder_moves_it_on(
    repeat: Repeat, first: dt.datetime, expected: list[dt.datetime]
) -> None:
    home = Home()
    reminder = add_reminder(home.call(), "x", first, repeat)
    for following in expected:
        reminder = complete_reminder(home.call(), reminder.id)
        assert (reminder.at, reminder.is_done, reminder.repeat) == (following, False, repeat)
        assert find_reminders(home.call()) == [reminder]


def test_doing_an_overdue_repeating_reminder_moves_it_past_now() -> None:
    home = Home({"a.ics": tasks(PILLS)})
    done = complete_reminder(home.call(), ReminderId("pills"))
    assert (done.at, done.is_done) == (at(21, 8), False)
    text = home.text("a.ics")
    assert "DTSTART:20261121T080000\nDUE:20261121T080000\nRRULE:FREQ=DAILY\n" in text
    assert "X-KEEP;P=1:as  is\n" in text


def test_a_counted_reminder_ends() -> None:
    home = Home({"a.ics": tasks(PILLS.replace("FREQ=DAILY", "FREQ=DAILY;COUNT=22"))})
    home.now = at(20, 7)
    assert [complete_reminder(home.call(), ReminderId("pills")).at for _ in range(3)] == [
        at(20, 8),
        at(21, 8),
        at(22, 8),
    ]
    last = complete_reminder(home.call(), ReminderId("pills"))
    assert last.is_done
    assert find_reminders(home.call()) == []


def test_doing_a_single_reminder_ends_it() -> None:
    home = Home({"b.ics": tasks(ONCE)})
    done = complete_reminder(home.call(), ReminderId("once"))
    assert (done.text, done.at, done.is_done) == ("passport", at(23, 11), True)
    assert "STATUS:COMPLETED\nCOMPLETED:20261120T083000Z\nPERCENT-COMPLETE:100\n" in home.text("b.ics")
    assert find_reminders(home.call()) == []


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, [("overdue", at(1, 9)), ("pills", at(21, 8)), ("passport", at(23, 11)), ("some day", None)]),
        (at(20), at(21), [("pills", at(20, 8))]),
        (at(21), at(22), [("pills", at(21, 8))]),
        (at(1), at(2), [("overdue", at(1, 9)), ("pills", at(1, 8))]),
        (at(24), None, [("pills", at(24, 8))]),
        (None, at(22), [("overdue", at(1, 9)), ("pills", at(21, 8))]),
    ],
)
def test_finding_by_time(
    start: dt.datetime | None, end: dt.datetime | None, expected: list[tuple[str, dt.datetime | None]]
) -> None:
    other = (
        "UID:o\nDUE:20261101T080000Z\nSUMMARY:overdue",
        "UID:s\nSUMMARY:some day",
        "UID:d\nSTATUS:COMPLETED\nSUMMARY:done",
    )
    home = Home({"a.ics": tasks(PILLS, *other), "b.ics": tasks(ONCE, "UID:p\nPERCENT-COMPLETE:100\nSUMMARY:done too")})
    found = find_reminders(home.call(), start=start, end=end)
    assert sorted((r.text, r.at) for r in found if r.at) == sorted((t, w) for t, w in expected if w)
    assert [r.text for r in found if r.at is None] == [t for t, w in expected if w is None]


def test_finding_by_words() -> None:
    home = Home({"a.ics": tasks(PILLS, "UID:x\nDUE:20261123T080000Z\nSUMMARY:Café\nDESCRIPTION:ask Zoë")})
    assert [r.text for r in find_reminders(home.call(), "my pill reminder")] == ["pills"]
    assert [r.text for r in find_reminders(home.call(), "cafe zoe")] == ["Café"]
    assert find_reminders(home.call(), "plumber") == []
    with pytest.raises(ToolError, match="is not after the start"):
        find_reminders(home.call(), "", at(22), at(21))


def test_words_that_no_reminder_has_are_named() -> None:
    home = Home({"a.ics": tasks(PILLS, "UID:x\nDUE:20261123T080000Z\nSUMMARY:water the garden shed roof")})
    call = home.call()
    assert [r.text for r in find_reminders(call, "the garden roof volcano")] == ["water the garden shed roof"]
    assert call.notices == ["Nothing has all of the words: I ignored “volcano”."]
    call = home.call()
    find_reminders(call, "garden roof")
    assert not call.notices


def test_more_than_can_be_listed_is_said() -> None:
    home = Home({"a.ics": tasks(*(f"UID:u{n}\nSUMMARY:x" for n in range(MAX_REMINDERS + 2)))})
    assert len(find_reminders(home.call())) == MAX_REMINDERS
    assert home.notices == ["2 more reminders were found; ask for a shorter time."]


def test_moving() -> None:
    home = Home(
        {
            "a.ics": tasks(PILLS),
            "b.ics": tasks(ONCE, "UID:day\nDUE;VALUE=DATE:20261125\nSUMMARY:day", "UID:s\nSUMMARY:s"),
        }
    )
    assert move_reminder(home.call(), ReminderId("once"), at(24, 9)).at == at(24, 9)
    assert move_reminder(home.call(), ReminderId("once"), at(26)).at == at(26, 9), "midnight means the day alone"
    assert move_reminder(home.call(), ReminderId("day"), at(26)).at == at(26)
    assert "DUE;VALUE=DATE:20261126\n" in home.text("b.ics")
    assert move_reminder(home.call(), ReminderId("day"), at(26, 10)).at == at(26, 10)
    assert move_reminder(home.call(), ReminderId("s"), at(26, 10)).at == at(26, 10)
    moved = move_reminder(home.call(), ReminderId("pills"), at(25, 21))
    assert (moved.at, moved.repeat) == (at(25, 21), "daily")
    assert find_reminders(home.call(), "pills", at(27), at(28))[0].at == at(27, 21)
    with pytest.raises(ToolError, match="has passed"):
        move_reminder(home.call(), ReminderId("once"), at(1, 9))
    with pytest.raises(ToolError, match="out of range"):
        move_reminder(home.call(), ReminderId("once"), at(1, year=9999))


def test_a_rule_that_names_days_cannot_move_to_another() -> None:
    home = Home({"a.ics": tasks(PILLS.replace("FREQ=DAILY", "FREQ=MONTHLY;BYDAY=1SU"))})
    before = home.text("a.ics")
    with pytest.raises(ToolError, match="which fits its day only"):
        move_reminder(home.call(), ReminderId("pills"), at(25, 9))
    assert home.text("a.ics") == before


def test_deleting_leaves_what_else_is_in_the_file() -> None:
    home = Home({"a.ics": tasks(PILLS, ONCE)})
    assert delete_reminder(home.call(), ReminderId("pills")).text == "pills"
    assert home.text("a.ics") == tasks(ONCE)
    delete_reminder(home.call(), ReminderId("once"))
    assert home.workspace.list() == ()


def test_tasks_without_a_uid_can_be_changed() -> None:
    home = Home({"a.ics": tasks("SUMMARY:one", "SUMMARY:two")})
    two = next(r for r in find_reminders(home.call()) if r.text == "two")
    assert two.id == "reminders/a.ics#1"
    assert complete_reminder(home.call(), two.id).is_done
    assert [r.text for r in find_reminders(home.call())] == ["one"]


def test_broken_files_are_named_and_unknown_ids_not_found() -> None:
    home = Home(
        {
            "cut.ics": "BEGIN:VCALENDAR\n",
            "often.ics": tasks("UID:o\nDUE:20261101T080000Z\nRRULE:FREQ=MINUTELY\nSUMMARY:x"),
            "rule.ics": tasks(
                "UID:r\nDUE:20261101T080000Z\nDTSTART:20261101T080000Z\nRRULE:FREQ=DAILY;BYDAY=XX\nSUMMARY:x"
            ),
            "fine.ics": tasks(ONCE),
        }
    )
    assert [r.text for r in find_reminders(home.call())] == ["passport"]
    (notice,) = home.notices
    assert "reminders/cut.ics (BEGIN:VCALENDAR has no END; the file is cut off)" in notice
    assert "often.ics (it repeats by 'FREQ=MINUTELY'; Hearth reads daily, weekly, monthly and yearly rules)" in notice
    assert "rule.ics (its repetition cannot be read" in notice
    with pytest.raises(NotFound, match=r"there is no reminder 'zzz'; look for it with find_reminders first .*cut.ics"):
        complete_reminder(home.call(), ReminderId("zzz"))
    with pytest.raises(ToolError, match="the reminder 'x' cannot be moved to its next time: its repetition cannot"):
        complete_reminder(home.call(), ReminderId("r"))


def test_every_change_is_undone_by_the_journal(folder: Folder) -> None:
    def call(key: str) -> CallContext:
        return make_call(key, workspace=folder.for_call(key))

    reminder = add_reminder(call("add"), "pills", at(21, 9), "daily")
    states = [find_reminders(call("r"))]
    complete_reminder(call("done"), reminder.id)
    states.append(find_reminders(call("r")))
    move_reminder(call("move"), reminder.id, at(25, 9))
    states.append(find_reminders(call("r")))
    delete_reminder(call("delete"), reminder.id)
    assert find_reminders(call("r")) == []
    for key in ("delete", "move", "done"):
        folder.undo(key)
        assert find_reminders(call("r")) == states.pop()
    folder.undo("add")
    assert find_reminders(call("r")) == []
