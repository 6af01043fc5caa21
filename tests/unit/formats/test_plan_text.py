"""Plans as text: the drawing shows exactly the dependencies, values are readable, long plans stay usable."""

from __future__ import annotations

from hearth.formats.terminal_text import argument_text, mark, plan_lines
from hearth.types import Offer, Parameter, Plan, Ref, Step, ToolSpec

TOOLS = {
    "find_contact": ToolSpec("find_contact", "Find one."),
    "draft_mail": ToolSpec("draft_mail", "Draft.", effect="change"),
    "send_mail": ToolSpec("send_mail", "Send.", effect="send"),
}


def test_two_branches_join() -> None:
    plan = Plan(
        (
            Step("find_contact", {"name": "Anna Berg"}),
            Step("find_contact", {"name": "Ben"}),
            Step("draft_mail", {"to": [Ref(0, ("email",)), Ref(1, ("email",))], "text": "dinner is at eight"}),
            Step("send_mail", {"draft": Ref(2, ("id",))}),
        )
    )
    assert plan_lines(plan, TOOLS) == [
        '●        1 find_contact  name="Anna Berg"',
        '│ ●      2 find_contact  name="Ben"',
        '╰─┴─●    3 draft_mail    to=[①.email, ②.email]  text="dinner is at eight"  · changes',
        "    ╰─●  4 send_mail     draft=③.id  · sends",
    ]


def test_unrelated_steps_are_not_joined() -> None:
    plan = Plan((Step("set_timer", {"length": "PT8M"}), Step("calculate", {"expression": "2+2"})))
    assert plan_lines(plan, {}) == ["●  1 set_timer  length=8 min", '●  2 calculate  expression="2+2"']


def test_a_result_used_twice_runs_on_and_an_unrelated_one_is_crossed() -> None:
    plan = Plan(
        (
            Step("find_mail"),
            Step("find_notes"),
            Step("draft_reply", {"mail": Ref(0, ("0", "id"))}),
            Step("mark_read", {"mail": Ref(0, ("0", "id"))}),
            Step("append_to_note", {"note": Ref(1, ("id",))}),
        )
    )
    assert plan_lines(plan, {}) == [
        "●      1 find_mail",
        "│ ●    2 find_notes",
        "├─│─●  3 draft_reply     mail=①.0.id",
        "╰─│─●  4 mark_read       mail=①.0.id",
        "  ╰─●  5 append_to_note  note=②.id",
    ]


def test_order_without_data_is_said() -> None:
    plan = Plan((Step("copy_file"), Step("delete_file", {"path": "a.md"}, after=(0,))))
    assert plan_lines(plan, {})[1] == '╰─●  2 delete_file  path="a.md"  after ①'


def test_long_arguments_wrap_with_the_columns_kept() -> None:
    long = dict.fromkeys(("one", "two", "three"), "words " * 8)
    plan = Plan((Step("find_notes"), Step("write", long), Step("append_to_note", {"note": Ref(0)})))
    lines = plan_lines(plan, {})
    assert len(lines) == 5
    assert all(len(line) <= 110 for line in lines)
    assert lines[2].startswith("│ ")
    assert lines[3].startswith("│ ")
    assert "●" not in lines[2] + lines[3]


def test_a_plan_too_wide_to_draw_is_listed() -> None:
    finds = tuple(Step("find_contact", {"name": f"p{i}"}) for i in range(20))
    plan = Plan((*finds, Step("draft_mail", {"to": [Ref(i, ("email",)) for i in range(20)]})))
    lines = plan_lines(plan, {})
    assert lines[0] == ' 1 find_contact  name="p0"'
    assert len(lines) >= 21


def test_what_is_not_served_is_said() -> None:
    plan = Plan((Step("find_mail"),), unserved=("book a taxi",), offer=Offer("add_reminder", "a reminder to book it"))
    assert plan_lines(plan, {})[1:] == ["✗ I can't do this part yet: “book a taxi”", "  a reminder to book it"]


def test_a_record_that_was_pointed_at_is_not_shown_by_its_id() -> None:
    tools = {"cancel_event": ToolSpec("cancel_event", "", (Parameter("event", "EventId"),), effect="change")}
    picked = Plan((Step("cancel_event", {"event": "dh-ev-18"}),))
    assert plan_lines(picked, tools) == ["●  1 cancel_event  event=the one that was shown  · changes"]
    assert plan_lines(picked, {}) == ['●  1 cancel_event  event="dh-ev-18"']
    referred = Plan((Step("find_events"), Step("cancel_event", {"event": Ref(0, ("id",))})))
    assert plan_lines(referred, tools)[1].endswith("event=①.id  · changes")


def test_empty_plan() -> None:
    assert plan_lines(Plan(()), {}) == []


def test_values_in_words() -> None:
    assert argument_text("2026-12-03T09:00:00+01:00") == "Thu 3 Dec 2026 09:00"
    assert argument_text("2026-12-03") == "Thu 3 Dec 2026"
    assert argument_text("2026-99-99") == '"2026-99-99"'
    assert argument_text("PT1H30M") == "1 h 30 min"
    assert argument_text("PT90S") == "1 min 30 s"
    assert argument_text("P1W") == "7 d"
    assert argument_text("PT0S") == "0 s"
    assert argument_text("PARTY") == '"PARTY"'
    assert argument_text("a\n b") == '"a b"'
    assert argument_text("x" * 60) == '"' + "x" * 47 + '…"'
    assert argument_text(True) == "yes"
    assert argument_text(None) == "nothing"
    assert argument_text(2.5) == "2.5"
    assert argument_text({"a": [Ref(0), 1]}) == "{a: [①, 1]}"
    assert mark(20) == "(21)"
