"""Answers say what the results say, and nothing else."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from hearth.execution.results import compose, fill, human, is_unknown, listed, reword, said_duration, say
from hearth.models.llm.scripted import ScriptedModel
from hearth.types import (
    Answer,
    Argument,
    Evidence,
    Label,
    Offer,
    Parameter,
    Plain,
    Plan,
    Ref,
    Refusal,
    Ruling,
    Step,
    StepResult,
    ToolSpec,
)

ZONE = ZoneInfo("Europe/Berlin")
NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=ZONE)
EVENT: dict[str, Plain] = {"id": "dentist", "title": "Dentist", "start": "2026-11-21T15:00:00+01:00", "place": ""}
FIND = ToolSpec(
    "find_events",
    "Find events.",
    returns="list[Event]",
    fields={"id": "EventId", "title": "text", "start": "datetime", "place": "text"},
    answer="{title}, {start}[ at {place}]",
    answer_none="No events found.",
)
MOVE = ToolSpec(
    "move_event", "Move.", returns="Event", fields=FIND.fields, effect="change", answer="Moved {title} to {start}."
)
TOOLS = {"find_events": FIND, "move_event": MOVE}
PLAN = Plan((Step("find_events"), Step("move_event", {"event": Ref(0, ("id",))}, (), "move the dentist")))
ALLOW = Ruling("allow", "you said yes")


def done(step: int, value: object) -> StepResult:
    return StepResult(step, "done", value)  # type: ignore[arg-type]


def test_the_result_that_was_used_up_is_evidence_only() -> None:
    answer = compose(PLAN, None, ALLOW, [done(0, [EVENT]), done(1, EVENT)], TOOLS, NOW)
    assert answer.text == "Moved Dentist to tomorrow at 15:00."
    assert answer.status == "done"
    assert [e.source for e in answer.evidence] == ["find_events: dentist", "move_event: dentist"]


def test_a_failed_step_is_said_with_its_reason_and_what_follows() -> None:
    failed = StepResult(0, "failed", error="no event matches 'dentist'", error_kind="NotFound")
    answer = compose(PLAN, None, ALLOW, [failed, StepResult(1, "skipped")], TOOLS, NOW)
    assert answer.text == "No event matches 'dentist'.\nNot done because of that: “move the dentist”."
    assert answer.status == "failed"


def test_where_nothing_was_found_and_no_text_is_set_for_that_the_notice_is_the_answer() -> None:
    listen = ToolSpec("listen", "Listen.", returns="list[Said]")
    plan = Plan((Step("find_events"), Step("listen", {"video": Ref(0, ("id",))})))
    heard = StepResult(1, "done", [], notices=("the video has no sound",))
    found = StepResult(0, "done", [EVENT], notices=("only one hour was filmed",))
    answer = compose(plan, None, ALLOW, [found, heard], {**TOOLS, "listen": listen}, NOW)
    assert answer.text == "the video has no sound.\nNote: only one hour was filmed."
    silent = compose(plan, None, ALLOW, [found, done(1, [])], {**TOOLS, "listen": listen}, NOW)
    assert silent.text == "Nothing found.\nNote: only one hour was filmed."


def test_a_change_whose_search_found_nothing_says_what_was_looked_for() -> None:
    plan = Plan(
        (Step("find_events", {"query": "dentist"}), Step("move_event", {"event": Ref(0, ("id",))}, (), "move it!"))
    )
    failed = StepResult(1, "failed", error="find_events found nothing, which move_event needs", error_kind="NotFound")
    answer = compose(plan, None, ALLOW, [done(0, []), failed], TOOLS, NOW)
    assert answer.text == "Not done: “move it”. No events found (I looked for “dentist”)."


@pytest.mark.parametrize(
    ("arguments", "sought"),
    [
        ({}, ""),
        ({"query": "bins", "limit": True}, " (I looked for “bins”)"),
        ({"start": "2026-11-16T00:00:00+01:00", "end": "2026-11-23T00:00:00+01:00", "query": "bins"},
         " (I looked for “bins”, Monday 16 November to Sunday 22 November)"),
        ({"start": "2026-11-21T00:00:00+01:00", "end": "2026-11-22T00:00:00+01:00"}, " (I looked for tomorrow)"),
        ({"start": "2026-11-21T09:00:00+01:00", "end": "2026-11-21T12:00:00+01:00"},
         " (I looked for tomorrow at 09:00 to 12:00)"),
        ({"start": "2026-11-21T09:00:00+01:00", "end": "2026-11-21T09:01:00+01:00"},
         " (I looked for tomorrow at 09:00)"),
        ({"end": "2026-11-21T09:00:00+01:00"}, " (I looked for until tomorrow at 09:00)"),
        ({"start": "soon"}, " (I looked for soon to )"),
    ],
)  # fmt: skip
def test_a_look_up_that_found_nothing_says_what_it_looked_for(arguments: dict[str, Argument], sought: str) -> None:
    answer = compose(Plan((Step("find_events", arguments),)), None, ALLOW, [done(0, [])], TOOLS, NOW)
    assert answer.text == f"No events found{sought}."


PERSON = ToolSpec(
    "find_contact",
    "",
    returns="Contact",
    fields={"id": "ContactId", "name": "PersonName", "email": "EmailAddress", "birthday": "date"},
    answer="{name}[, {email}][, birthday {birthday}]",
)
HELGA: dict[str, Plain] = {"id": "h", "name": "Helga", "email": "h@x.example", "birthday": "1970-12-04"}


def test_evidence_of_a_person_who_was_looked_up_for_another_step_says_what_was_taken_alone() -> None:
    tools = {"find_contact": PERSON, "draft_mail": DRAFT}
    mail = Plan((Step("find_contact"), Step("draft_mail", {"to": [Ref(0, ("email",))]})))
    written = [done(0, HELGA), done(1, {"id": "d1", "text": "hello"})]
    answer = compose(mail, None, ALLOW, written, tools, NOW)
    assert [one.text for one in answer.evidence] == ["Helga, h@x.example", "Draft: hello"]
    change = Plan((Step("find_contact"), Step("draft_mail", {"to": Ref(0, ("id",))})))
    assert compose(change, None, ALLOW, written, tools, NOW).evidence[0].text == "Helga"


def test_evidence_of_a_person_who_was_asked_for_says_all() -> None:
    answer = compose(Plan((Step("find_contact"),)), None, ALLOW, [done(0, HELGA)], {"find_contact": PERSON}, NOW)
    assert [one.text for one in answer.evidence] == ["Helga, h@x.example, birthday Friday 4 December 1970"]


DRAFT = ToolSpec(
    "draft_mail", "", returns="Draft", fields={"id": "DraftId", "text": "text"}, effect="change", answer="Draft: {text}"
)
SEND = ToolSpec("send_mail", "", (Parameter("draft", "DraftId"),), effect="send", answer="Sent.")


def test_a_draft_is_told_as_not_sent_yet_once() -> None:
    tools = {"draft_mail": DRAFT, "send_mail": SEND}
    written = [done(0, {"id": "d1", "text": "hello"}), done(1, {"id": "d2", "text": "again"})]
    one = compose(Plan((Step("draft_mail"),)), None, ALLOW, written[:1], tools, NOW)
    assert one.text == "Draft: hello\nNot sent yet: say “send it”."
    two = compose(Plan((Step("draft_mail"), Step("draft_mail"))), None, ALLOW, written, tools, NOW)
    assert two.text.endswith("Draft: again\nNone of them is sent yet: say “send them”.")


def test_a_program_is_not_told_what_to_say_next() -> None:
    tools = {"draft_mail": DRAFT, "send_mail": SEND}
    written = [done(0, {"id": "d1", "text": "hello"})]
    assert (
        compose(Plan((Step("draft_mail"),)), None, ALLOW, written, tools, NOW, is_owners=False).text == "Draft: hello"
    )


def test_what_is_sent_or_cannot_be_sent_is_not_told_as_unsent() -> None:
    plan = Plan((Step("draft_mail"), Step("send_mail", {"draft": Ref(0, ("id",))})))
    sent = [done(0, {"id": "d1", "text": "hello"}), done(1, {"to": "x"})]
    assert compose(plan, None, ALLOW, sent, {"draft_mail": DRAFT, "send_mail": SEND}, NOW).text == "Draft: hello\nSent."
    alone = compose(Plan((Step("draft_mail"),)), None, ALLOW, sent[:1], {"draft_mail": DRAFT}, NOW)
    assert alone.text == "Draft: hello"


def test_the_only_one_of_its_kind_is_told_with_its_kind_beside_others() -> None:
    due = ToolSpec("find_reminders", "", returns="list[Reminder]", fields={"text": "text"}, answer="{text}")
    tools = {"find_events": FIND, "find_reminders": due}
    plan = Plan((Step("find_events"), Step("find_reminders")))
    answer = compose(plan, None, ALLOW, [done(0, [EVENT]), done(1, [{"text": "tea"}])], tools, NOW)
    assert answer.text == "1 event: Dentist, tomorrow at 15:00\n1 reminder: tea"
    alone = compose(Plan((Step("find_reminders"),)), None, ALLOW, [done(0, [{"text": "tea"}])], tools, NOW)
    assert alone.text == "tea"


def test_a_part_is_not_called_undone_twice() -> None:
    plan = Plan((Step("find_events", {}, (), "move it"), Step("move_event", {"event": Ref(0)}, (), "move it")))
    failed = StepResult(0, "failed", error="find_events is out of order", error_kind="ToolError")
    answer = compose(plan, None, ALLOW, [failed, StepResult(1, "skipped")], TOOLS, NOW)
    assert answer.text == "Not done: “move it”. find_events is out of order."


def test_lines_to_be_copied_into_a_file_end_as_they_must() -> None:
    failed = StepResult(0, "failed", error='write into hearth.toml:\n[network]\nallow = ["a.example"]')
    text = compose(PLAN, None, ALLOW, [failed, StepResult(1, "skipped")], TOOLS, NOW).text
    assert '\nallow = ["a.example"]\n' in text


def test_a_read_that_only_served_the_failed_step_is_no_success() -> None:
    failed = StepResult(1, "failed", error="read-only calendar", error_kind="ToolError")
    answer = compose(PLAN, None, ALLOW, [done(0, [EVENT]), failed], TOOLS, NOW)
    assert answer.status == "failed"
    assert answer.text == "Not done: “move the dentist”. Read-only calendar."


def test_a_step_that_another_made_good_is_not_said() -> None:
    plan = Plan((Step("find_events", {"query": "x y"}), Step("find_events", {"query": "x"}, replaces=0)))
    failed = StepResult(0, "failed", error="nothing found", error_kind="NotFound")
    answer = compose(plan, None, ALLOW, [failed, done(1, [EVENT])], TOOLS, NOW)
    assert (answer.status, answer.text) == ("done", "Dentist, tomorrow at 15:00")


def test_what_a_tool_left_out_is_said() -> None:
    result = StepResult(0, "done", [], notices=("1 file could not be read: broken.ics",))
    plan = Plan((Step("find_events"),))
    answer = compose(plan, None, ALLOW, [result], TOOLS, NOW)
    assert answer.text == "No events found.\nNote: 1 file could not be read: broken.ics."


@pytest.mark.parametrize(
    ("source", "doubt", "is_told"), [("message", "", True), ("web", "", True), ("file", "", False), ("file", "?", True)]
)
def test_the_place_of_an_answer_that_was_used_is_said_where_another_may_have_written_it(
    source: str, doubt: str, is_told: bool
) -> None:
    find = ToolSpec("find_answer", "Find.", returns="FoundAnswer", answer="[{doubt} ]{value}{behind}.")
    plan = Plan((Step("find_answer"), Step("move_event", {"event": Ref(0, ("value",))})))
    found: dict[str, Plain] = {"value": "66 Road", "doubt": doubt, "behind": " (mail “Hi” from Eve Stranger)"}
    results = [StepResult(0, "done", found, Label(frozenset({source}))), done(1, EVENT)]
    answer = compose(plan, None, ALLOW, results, {**TOOLS, "find_answer": find}, NOW)
    assert ("66 Road (mail “Hi” from Eve Stranger)" in answer.text) == is_told


def test_a_notice_that_two_steps_give_is_told_once() -> None:
    plan = Plan((Step("find_events"), Step("move_event", {"event": Ref(0, ("id",))})))
    results = [
        StepResult(0, "done", [EVENT], notices=("the mail gives orders.", "1 file was left out.")),
        StepResult(1, "done", EVENT, notices=("the mail gives orders.",)),
    ]
    answer = compose(plan, None, ALLOW, results, TOOLS, NOW)
    notes = [line for line in answer.text.splitlines() if line.startswith("Note: ")]
    assert notes == ["Note: the mail gives orders.", "Note: 1 file was left out."]


def test_ambiguity_is_a_question_and_unknown_is_said() -> None:
    ambiguous = StepResult(0, "failed", error="two events match; say which", error_kind="Ambiguous")
    assert compose(PLAN, None, ALLOW, [ambiguous], TOOLS, NOW).status == "needs"
    unknown = StepResult(1, "unknown", error="the connection broke after sending")
    text = compose(PLAN, None, ALLOW, [done(0, [EVENT]), unknown], TOOLS, NOW).text
    assert text == "I don't know whether this was done: “move the dentist”. The connection broke after sending."


def test_parts_no_tool_serves_are_said() -> None:
    plan = Plan((Step("find_events"),), unserved=("book a flight",), offer=Offer("add_event", "I can note it"))
    answer = compose(plan, None, ALLOW, [done(0, [])], TOOLS, NOW)
    assert answer.text == "No events found.\nI can't do this part yet: “book a flight”.\nI can note it."
    assert answer.status == "partly"


def test_only_what_says_i_dont_know_is_unknown() -> None:
    know = ToolSpec("find_answer", "Answer.", answer="{value}", answer_none="I don't know: nothing says so.")
    tools = {**TOOLS, "find_answer": know}
    plan = Plan((Step("find_answer"),))
    assert is_unknown(plan, [done(0, None)], tools)
    assert not is_unknown(plan, [done(0, {"value": "4711"})], tools)
    assert not is_unknown(Plan((Step("find_events"),)), [done(0, [])], tools)  # an empty list is an answer
    assert not is_unknown(replace(plan, unserved=("book a flight",)), [done(0, None)], tools)
    assert not is_unknown(None, [], tools)
    instead = Plan((Step("find_events"), Step("find_answer", replaces=0)))
    assert is_unknown(instead, [done(0, []), done(1, None)], tools)
    both = Plan((Step("find_events"), Step("find_answer")))
    assert not is_unknown(both, [done(0, [EVENT]), done(1, None)], tools)


def test_words_that_went_into_no_look_up_are_told_unless_the_answer_holds_them() -> None:
    plan = Plan((Step("find_events", {"query": "lunch with Priya"}),), ignored=("swan lake", "7", "Priya", "dentist"))
    answer = compose(plan, None, ALLOW, [done(0, [EVENT])], TOOLS, NOW)
    assert "Dentist" in answer.text
    assert answer.text.endswith("\nNote: I ignored “swan lake” and “7”.")
    assert "ignored" not in compose(replace(plan, ignored=()), None, ALLOW, [done(0, [EVENT])], TOOLS, NOW).text


def test_refusal_and_denial() -> None:
    refusal = Refusal("out_of_scope", "I can't book flights yet", offer=Offer("add_event", "I can put it down"))
    answer = compose(None, refusal, None, [], TOOLS, NOW)
    assert (answer.status, answer.text) == ("refused", "I can't book flights yet.\nI can put it down.")
    assert compose(None, Refusal("needs", "When?"), None, [], TOOLS, NOW).status == "needs"
    denied = compose(PLAN, None, Ruling("deny", "nobody to ask"), [], TOOLS, NOW)
    assert (denied.status, denied.text) == ("denied", "I did nothing: nobody to ask.")


def test_lists_are_counted_and_capped() -> None:
    text = say(FIND, [EVENT] * 25, NOW)
    assert text.startswith("25 events:\n  · Dentist, tomorrow at 15:00\n")
    assert text.endswith("… and 5 more")
    assert say(FIND, [EVENT], NOW) == "Dentist, tomorrow at 15:00"


@pytest.mark.parametrize(
    ("value", "type_name", "said"),
    [
        ("2026-11-20T18:00:00+01:00", "datetime", "today at 18:00"),
        ("2026-11-20T18:00:00+00:00", "datetime", "today at 19:00"),
        ("2026-11-27T00:00:00+01:00", "datetime", "Friday 27 November"),
        ("2027-01-01", "date", "Friday 1 January 2027"),
        ("2026-11-19", "date", "yesterday"),
        ("PT1H30M", "duration", "1 h 30 min"),
        ("P1D", "duration", "1 day"),
        ("18:30:00", "time", "18:30"),
        (True, "boolean", "yes"),
        (0.1 + 0.2, "number", "0.3"),
        (["a", "b", "c"], "list[text]", "a, b and c"),
        ("not a date", "date", "not a date"),
        ([], "list[text]", ""),
    ],
)
def test_values_are_said_as_people_say_them(value: object, type_name: str, said: str) -> None:
    assert human(value, type_name, NOW) == said  # type: ignore[arg-type]


def test_what_would_be_said_twice_is_said_once() -> None:
    note = ToolSpec("n", "N.", fields={"title": "text", "text": "text"}, answer="Noted: {title}[: {text}]")
    assert (
        say(note, {"title": "the tuner costs…", "text": "the tuner costs 95 euros"}, NOW)
        == "Noted: the tuner costs 95 euros"
    )
    assert say(note, {"title": "Tuner", "text": "95 euros"}, NOW) == "Noted: Tuner: 95 euros"
    reminder = ToolSpec("r", "R.", fields={"at": "datetime"}, answer="{text}[, then {repeat}]")
    assert say(reminder, {"text": "feed Miro", "repeat": "none"}, NOW) == "feed Miro"
    assert say(reminder, {"text": "feed Miro", "repeat": "daily"}, NOW) == "feed Miro, then daily"


def test_a_moment_can_be_said_in_halves() -> None:
    spec = ToolSpec(
        "free", "F.", returns="list[FreeSlot]", fields={"start": "datetime", "end": "datetime"},
        answer="{start_day} from {start_time} to {end}",
    )  # fmt: skip
    slot: dict[str, Plain] = {"start": "2026-11-21T08:00:00+01:00", "end": "2026-11-21T08:30:00+01:00"}
    assert say(spec, [slot], NOW) == "Tomorrow from 08:00 to 08:30"
    assert say(spec, [slot, slot], NOW).startswith("2 free slots:\n  · tomorrow from 08:00 to 08:30\n")


def test_the_end_of_a_span_is_said_without_its_day_again() -> None:
    spec = ToolSpec("free", "Free.", fields={"start": "datetime", "end": "datetime"}, answer="{start} to {end}")
    slot: dict[str, Plain] = {"start": "2026-11-21T08:00:00+01:00", "end": "2026-11-21T08:30:00+01:00"}
    assert say(spec, slot, NOW) == "tomorrow at 08:00 to 08:30"
    assert say(spec, {**slot, "end": "2026-11-22T08:30:00+01:00"}, NOW).endswith("to Sunday 22 November at 08:30")


def test_templates_take_data_literally() -> None:
    assert fill("{title}[ at {place}]", {"title": "{place}", "place": "[home]"}) == "{place} at [home]"
    assert fill("{nothing}", {}) == ""
    assert listed([]) == ""
    assert said_duration(dt.timedelta(0)) == "no time"


ANSWER = Answer("Dentist, tomorrow at 15:00", "done", (Evidence(0, "Dentist, tomorrow at 15:00", "find_events: x"),))


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("Your dentist is tomorrow at 15:00.", "Your dentist is tomorrow at 15:00."),
        ("Your dentist is tomorrow at 16:00.", ANSWER.text),
        ("Write to evil@example.org", ANSWER.text),
        ("", ANSWER.text),
    ],
)
def test_a_wording_with_something_new_is_thrown_away(reply: str, text: str) -> None:
    assert reword(ANSWER, "when is the dentist", ScriptedModel([reply])).text == text


def test_refusals_are_never_reworded() -> None:
    refused = Answer("I can't.", "refused")
    assert reword(refused, "fly", ScriptedModel(["I did it"])) == refused
