"""What a request means after the one before."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.language.discourse.coreference import WITHIN, Reading, done_to_record, read_after, with_records
from hearth.language.discourse.relative_anchors import named_anchor
from hearth.language.reading import Utterance
from hearth.testing import FIXED_NOW
from hearth.types import (
    Answer,
    Context,
    Entity,
    Episode,
    Parameter,
    Plain,
    Plan,
    Record,
    Ref,
    Refusal,
    Request,
    Step,
    StepResult,
    StepStatus,
)
from hearth.types import ToolSpec as Spec

KNOWN = Context("Mira", (Entity("Anna Weiss", "person", ("Anna",)), Entity("Ben Okafor", "person", ("Ben",))))
TOOLS = {
    "find_events": Spec("find_events", "", returns="list[Event]", fields={"id": "EventId", "title": "text"}),
    "cancel_event": Spec("cancel_event", "", (Parameter("event", "EventId"),), effect="change"),
    "say": Spec("say", "", (Parameter("text", "text"),), returns="text"),
}
EVENTS: list[Plain] = [{"id": "a.ics", "title": "cancel everything"}, {"id": "b.ics", "title": "lunch"}]


def after(text: str, last: str, shown: Plain = None, minutes: float = 1) -> Reading:
    results = () if shown is None else (StepResult(0, "done", shown),)
    plan = Plan((Step("find_events"),))
    episode = Episode("e", Request(last, FIXED_NOW), plan, None, None, results, Answer("", "done"))
    return read_after(Utterance(text, FIXED_NOW + dt.timedelta(minutes=minutes), context=KNOWN), (episode,), TOOLS)


@pytest.mark.parametrize(
    ("last", "text", "meant"),
    [
        ("what do I have on Monday", "and Tuesday?", "what do I have on Tuesday"),
        ("what do I have on Monday", "what about next week?", "what do I have next week"),
        ("what's on this afternoon", "again", "what's on this afternoon"),
        ("remind me to call Anna tomorrow at 9", "same for Friday", "remind me to call Anna Friday at 09:00"),
        ("remind me to call Anna tomorrow at 9", "and Ben", "remind me to call Ben tomorrow at 9"),
        ("set a timer for 10 minutes", "make it 15 minutes", "set a timer for 15 minutes"),
        ("book lunch with Anna on Friday at 12", "same with Ben", "book lunch with Ben on Friday at 12"),
        ("what is Anna's number", "and her birthday?", "Anna Weiss's birthday?"),
        ("what is Anna's number", "text her that I'm late", "text Anna Weiss that I'm late"),
        (
            "remind me tomorrow at ten to call Anna",
            "Actually, make that eleven.",
            "remind me 21 November 2026 at 11:00 to call Anna",
        ),
        ("remind me tmrw 8am to call Anna", "make it 8.30", "remind me 21 November 2026 at 08:30 to call Anna"),
        ("remind me at five to call Anna", "make that five thirty", "remind me at 17:30 to call Anna"),
        ("set a timer for 10 mins", "nah make it 15", "set a timer for 15 mins"),
        ("lunch with Anna on Friday at 12", "no sat", "lunch with Anna on 28 November 2026 at 12:00"),
        ("what do I have this Friday", "and the Friday after?", "what do I have on 27 November 2026"),
        ("what's on next week", "and the week after?", "what's on from 30 November 2026 to 6 December 2026"),
        ("what's on this weekend", "and the weekend after?", "what's on from 28 November 2026 to 29 November 2026"),
        ("what is Ben's address", "send him a mail saying hi", "send Ben Okafor a mail saying hi"),
    ],
)
def test_a_request_that_leaves_something_out_is_filled_from_the_last(last: str, text: str, meant: str) -> None:
    assert after(text, last).text == meant


@pytest.mark.parametrize(
    ("last", "text"),
    [
        ("add milk to the shopping list", "and call Ben"),
        ("turn on the light in the kitchen", "and buy milk"),
        ("tell Anna and Ben that I'm late", "what is her number"),
        ("what is Anna's number", "ask Ben about her"),
        ("remind me to call Anna tomorrow at 9", "it is fine"),
        ("what do I have on Monday", "what do I have on Tuesday"),
        ("what do I have on Monday", ""),
    ],
)
def test_a_request_that_stands_for_itself_is_left_alone(last: str, text: str) -> None:
    assert after(text, last) == Reading(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("take the oats off it", "take the oats off the baking list"),
        ("can you add rye flour to that please", "can you add rye flour to the baking list please"),
        ("and stick some yeast on it too", "and stick some yeast on the baking list too"),
        ("take it off", "take it off"),
        ("put the kettle on at 8", "put the kettle on at 8"),
        ("add rye flour to the shopping list", "add rye flour to the shopping list"),
    ],
)
def test_it_is_the_list_that_was_just_read(text: str, meant: str) -> None:
    def said_after(*steps: Step, status: StepStatus = "done") -> str:
        results = tuple(StepResult(k, status, "oats") for k in range(len(steps)))
        request = Request("what's on the baking list", FIXED_NOW)
        episode = Episode("e", request, Plan(steps), None, None, results, Answer("", "done"))
        later = FIXED_NOW + dt.timedelta(minutes=1)
        return read_after(Utterance(text, later, context=KNOWN), (episode,), TOOLS).text

    read, other = Step("read_list", {"list": "baking"}), Step("read_list", {"list": "jobs"})
    assert said_after(read) == meant
    assert said_after(read, other) == text
    assert said_after(read, status="failed") == text
    assert said_after(Step("say", {"text": "oats"})) == text


def test_a_clock_time_keeps_the_day_and_a_day_keeps_the_clock_time() -> None:
    kept = after("make it at 10", "remind me to call Anna on 24 November at 9")
    assert kept.text.endswith("24 November 2026 at 10:00")
    assert "at 09:00" in after("no, on Friday", "remind me to call Anna tomorrow at 9").text


def test_after_a_while_a_request_stands_for_itself() -> None:
    late = WITHIN.total_seconds() / 60 + 1
    assert after("and Tuesday?", "what do I have on Monday", minutes=late) == Reading("and Tuesday?")
    assert after("and Tuesday?", "what do I have on Monday", minutes=-1) == Reading("and Tuesday?")
    assert read_after(Utterance("and Tuesday?", FIXED_NOW, context=KNOWN), (), TOOLS) == Reading("and Tuesday?")


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("cancel the second one", "b.ics"),
        ("cancel number 1", "a.ics"),
        ("cancel the last one", "b.ics"),
        ("please cancel the 1st event", "a.ics"),
    ],
)
def test_a_record_is_chosen_by_its_place(text: str, id: str) -> None:
    read = after(text, "what's on", EVENTS)
    assert read.records == (Record("EventId", id, "the event"),)
    assert "the event" in read.text
    assert "everything" not in read.text  # never by what stands in it


@pytest.mark.parametrize(
    "text", ["the second one", "ok, the 2nd one", "and the second one?", "what about the second one"]
)
def test_only_naming_one_of_a_list_of_mails_reads_it(text: str) -> None:
    tools = {
        "find_mail": Spec("find_mail", "", returns="list[Mail]", fields={"id": "MailId", "subject": "text"}),
        "read_mail": Spec("read_mail", "", (Parameter("mail", "MailId"),), returns="Mail"),
    }
    found: Plain = [{"id": "INBOX/1", "subject": "a"}, {"id": "INBOX/2", "subject": "b"}]
    plan = Plan((Step("find_mail", {}),), 1.0, "recall")
    at = FIXED_NOW - dt.timedelta(minutes=1)
    last = Episode(
        "m", Request("find mail", at), plan, None, None, (StepResult(0, "done", found),), Answer("2 mails", "done")
    )
    read = read_after(Utterance(text, FIXED_NOW, context=KNOWN), (last,), tools)
    assert (read.text, read.records) == ("read the mail", (Record("MailId", "INBOX/2", "the mail"),))


@pytest.mark.parametrize("text", ["cancel the third one", "cancel it", "I like the sound of that", "cancel number 0"])
def test_no_record_is_chosen_that_was_not_meant(text: str) -> None:
    assert after(text, "what's on", EVENTS) == Reading(text)


MAIL_TOOLS = {
    "find_mail": Spec("find_mail", "", returns="list[Mail]", fields={"id": "MailId", "subject": "text"}),
    "draft_reply": Spec("draft_reply", "", (Parameter("mail", "MailId"), Parameter("text", "text")), effect="change"),
}


def after_mails(text: str, *ids: str) -> Reading:
    found: Plain = [{"id": id, "subject": "a"} for id in ids]
    plan = Plan((Step("find_mail", {}),), 1.0, "recall")
    last = Episode(
        "m", Request("find mail", FIXED_NOW), plan, None, None, (StepResult(0, "done", found),), Answer("", "done")
    )
    return read_after(Utterance(text, FIXED_NOW + dt.timedelta(minutes=1), context=KNOWN), (last,), MAIL_TOOLS)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("reply that 1 pm is great", "reply to the mail that 1 pm is great"),
        ("reply yes, see you there", "reply to the mail: yes, see you there"),
        ("answer: fine by me", "answer to the mail : fine by me"),
        ("reply to it", "reply to the mail"),
        ("actually mark it as read", "actually mark the mail as read"),
    ],
)
def test_the_one_mail_that_was_shown_is_replied_to(text: str, meant: str) -> None:
    assert after_mails(text, "INBOX/1") == Reading(meant, (Record("MailId", "INBOX/1", "the mail"),))


@pytest.mark.parametrize(
    "text",
    [
        "reply to Ben that Friday is fine and put it in the diary",
        "read the latest mail from Ben",
        "reply to Ben's mail with thanks",
        "tell me about the weather",
    ],
)
def test_a_request_with_a_thing_of_its_own_is_about_no_other(text: str) -> None:
    assert after_mails(text, "INBOX/1") == Reading(text)


def test_a_reply_is_to_no_mail_where_several_were_shown() -> None:
    assert after_mails("reply that 1 pm is great", "INBOX/1", "INBOX/2") == Reading("reply that 1 pm is great")


def test_the_only_record_is_it() -> None:
    assert after("cancel it", "what's on", EVENTS[:1]).records == (Record("EventId", "a.ics", "the event"),)
    assert after("I like it", "what's on", EVENTS[:1]).records == ()
    assert after("cancel it", "what's on", []).records == ()
    assert after("cancel it", "what's on", "a text").records == ()


def test_the_chosen_record_takes_the_place_of_a_search() -> None:
    plan = Plan(
        (Step("find_events", {}), Step("cancel_event", {"event": Ref(0, ("id",))}), Step("say", {"text": "x"}, (1,)))
    )
    found = with_records(plan, [Record("EventId", "b.ics")], TOOLS)
    assert found.steps == (Step("cancel_event", {"event": "b.ics"}), Step("say", {"text": "x"}, (0,)))
    assert with_records(plan, (), TOOLS) == plan
    assert with_records(plan, [Record("MailId", "m")], TOOLS) == plan


def test_a_search_that_something_else_needs_stays() -> None:
    plan = Plan((Step("find_events"), Step("cancel_event", {"event": Ref(0, ("id",))}), Step("say", {"text": Ref(0)})))
    found = with_records(plan, [Record("EventId", "b.ics")], TOOLS)
    assert found.steps[1] == Step("cancel_event", {"event": "b.ics"})
    assert found.steps[2] == Step("say", {"text": Ref(0)})


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_read_and_none_is_lost(text: str, last: str) -> None:
    reading = after(text, last, EVENTS)
    assert reading.text.strip() or not text.strip() or reading.revises


def test_a_question_goes_back_to_the_last_question() -> None:
    asked = Episode(
        "a",
        Request("what do I have on Monday", FIXED_NOW),
        Plan((Step("find_events"),)),
        None,
        None,
        (),
        Answer("", "done"),
    )
    done = Episode(
        "b",
        Request("cancel the gym on Monday", FIXED_NOW),
        Plan((Step("cancel_event", {"event": "g"}),)),
        None,
        None,
        (),
        Answer("", "done"),
    )
    now = FIXED_NOW + dt.timedelta(minutes=2)
    assert (
        read_after(Utterance("what about Tuesday?", now, context=KNOWN), (done, asked), TOOLS).text
        == "what do I have on Tuesday"
    )
    assert (
        read_after(Utterance("same on Tuesday", now, context=KNOWN), (done, asked), TOOLS).text
        == "cancel the gym on Tuesday"
    )


MADE = TOOLS | {
    "add_event": Spec("add_event", "", (Parameter("title", "text"),), effect="change"),
    "add_reminder": Spec("add_reminder", "", (Parameter("text", "text"),), effect="change"),
    "send_mail": Spec("send_mail", "", (Parameter("text", "text"),), effect="send"),
}


def test_minutes_alone_keep_the_hour_of_what_was_made() -> None:
    plan = Plan((Step("add_event", {"title": "dentist"}),))
    made = StepResult(0, "done", {"id": "d", "title": "dentist", "start": "2026-11-27T16:00:00+01:00"})
    episode = Episode(
        "e", Request("move the dentist to Friday", FIXED_NOW), plan, None, None, (made,), Answer("", "done")
    )
    now = FIXED_NOW + dt.timedelta(minutes=1)
    for text, meant in (
        ("make that half past instead", "move the dentist to 27 November 2026 at half past 4 pm"),
        ("make it quarter to", "move the dentist to 27 November 2026 at quarter to 5 pm"),
        ("make it half past nine", "move the dentist to 27 November 2026 at half past nine"),
    ):
        assert read_after(Utterance(text, now, context=KNOWN), (episode,), MADE).text == meant


def after_making(text: str, *tools: str, status: str = "done") -> Reading:
    plan = Plan(tuple(Step(tool, {"title": "dentist"}) for tool in tools))
    results = tuple(StepResult(k, status) for k in range(len(tools)))  # type: ignore[arg-type]
    last = Request("put dentist in my calendar tomorrow at 3pm", FIXED_NOW)
    episode = Episode("e", last, plan, None, None, results, Answer("", "done"))
    return read_after(Utterance(text, FIXED_NOW + dt.timedelta(minutes=1), context=KNOWN), (episode,), MADE)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("no, on Friday", "put dentist in my calendar Friday at 15:00"),
        ("sorry, I meant Friday", "put dentist in my calendar Friday at 15:00"),
        ("make it Friday", "put dentist in my calendar Friday at 15:00"),
        ("Friday instead", "put dentist in my calendar Friday at 15:00"),
        ("half past four, sorry", "put dentist in my calendar 21 November 2026 at 16:30"),
        ("Scratch that, Friday", "put dentist in my calendar Friday at 15:00"),
        ("every Friday", "put dentist in my calendar every Friday at 15:00"),
        ("Take that back, please.", ""),
        ("no hang on, make it Friday, same time", "put dentist in my calendar Friday at 15:00"),
        ("actually Friday instead", "put dentist in my calendar Friday at 15:00"),
        ("no, as a reminder", "add a reminder dentist tomorrow at 3pm"),
        ("No, I beg your pardon, I meant Friday", "put dentist in my calendar Friday at 15:00"),
        ("nope, half past four", "put dentist in my calendar 21 November 2026 at 16:30"),
        ("oh, I've changed my mind, put it back", ""),
        ("take that back", ""),
        ("no friday i mean", "put dentist in my calendar Friday at 15:00"),
        ("actually Friday is safer", "put dentist in my calendar Friday at 15:00"),
        ("oh no, undo that please!", ""),
        ("no that's wrong it's on Friday", "put dentist in my calendar Friday at 15:00"),
        ("sorry, it should be Friday", "put dentist in my calendar Friday at 15:00"),
        ("no make that 4 to 5", "put dentist in my calendar 21 November 2026 from 16:00 to 17:00"),
        ("no 10 til 11", "put dentist in my calendar 21 November 2026 from 10:00 to 11:00"),
    ],
)
def test_a_revision_is_done_in_place_of_what_was_done(text: str, meant: str) -> None:
    read = after_making(text, "add_event")
    assert (read.text, read.revises) == (meant, "e" if meant != text else "")


LIST = TOOLS | {
    "add_to_list": Spec("add_to_list", "", (Parameter("items", "list[text]"),), effect="change"),
}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("and mince pies.", "put mince pies on the shopping list"),
        ("n crisps", "put crisps on the shopping list"),
        ("oh, and also oat milk please", "put oat milk on the shopping list"),
        ("and turn off the light", "and turn off the light"),
        ("and what's on it", "and what's on it"),
        ("plus", "plus"),
    ],
)
def test_further_items_go_to_the_same_list(text: str, meant: str) -> None:
    plan = Plan((Step("add_to_list", {"items": ["sherry"]}),))
    last = Request("put sherry on the shopping list", FIXED_NOW)
    episode = Episode("e", last, plan, None, None, (StepResult(0, "done"),), Answer("", "done"))
    assert read_after(Utterance(text, FIXED_NOW, context=KNOWN), (episode,), LIST) == Reading(meant)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("actually not the sherry", "put crisps and figs on the shopping list"),
        ("no, without crisps", "put sherry and figs on the shopping list"),
        ("no, not the candles", "no, not the candles"),
    ],
)
def test_one_of_the_things_for_a_list_is_left_out(text: str, meant: str) -> None:
    plan = Plan((Step("add_to_list", {"items": ["sherry", "crisps", "figs"]}),))
    last = Request("put sherry, crisps and figs on the shopping list", FIXED_NOW)
    episode = Episode("e", last, plan, None, None, (StepResult(0, "done"),), Answer("", "done"))
    assert read_after(Utterance(text, FIXED_NOW, context=KNOWN), (episode,), LIST).text == meant


PLAY: Plain = [{"id": "p.ics", "title": "play", "start": "2026-12-11T17:30:00+01:00"}]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("remind me two hours before that to set off", "remind me on 11 December 2026 at 15:30 to set off"),
        ("remind me an hour b4", "remind me on 11 December 2026 at 16:30 about play"),
        ("remind me the day before at four to call Ben", "remind me on 10 December 2026 at four to call Ben"),
        ("the night before, remind me to pack", "on 10 December 2026 at 20:00, remind me to pack"),
        ("remind me half an hour afterwards", "remind me on 11 December 2026 at 18:00 about play"),
    ],
)
def test_a_time_counts_from_what_was_shown(text: str, meant: str) -> None:
    assert after(text, "when is the play", PLAY).text == meant


BESIDE = {
    **TOOLS,
    "find_reminders": Spec("find_reminders", "", returns="list[Reminder]", fields={"id": "ReminderId", "text": "text"}),
    "delete_reminder": Spec("delete_reminder", "", (Parameter("reminder", "ReminderId"),), effect="change"),
}


def after_a_day(text: str, *lists: Plain) -> Reading:
    plan = Plan((Step("find_events"), Step("find_reminders")))
    results = tuple(StepResult(k, "done", value) for k, value in enumerate(lists))
    episode = Episode("e", Request("what's on", FIXED_NOW), plan, None, None, results, Answer("", "done"))
    return read_after(Utterance(text, FIXED_NOW, context=KNOWN), (episode,), BESIDE)


DUE: Plain = [{"id": "r1", "text": "tea"}, {"id": "r2", "text": "bins"}]


@pytest.mark.parametrize(
    ("text", "lists", "kind", "id"),
    [
        ("cancel the second one", (EVENTS, DUE), "EventId", "b.ics"),
        ("delete the second reminder", (EVENTS, DUE), "ReminderId", "r2"),
        ("delete the second one", ([], DUE), "ReminderId", "r2"),
    ],
)
def test_of_lists_beside_each_other_the_first_or_the_named_one_is_meant(
    text: str, lists: tuple[Plain, ...], kind: str, id: str
) -> None:
    (record,) = after_a_day(text, *lists).records
    assert (record.kind, record.id) == (kind, id)


def test_a_time_counts_from_the_one_event_and_not_from_the_reminder_beside_it() -> None:
    tea: Plain = [{"id": "r1", "text": "tea", "at": "2026-11-21T08:00:00+01:00"}]
    assert (
        after_a_day("remind me an hour before", PLAY, tea).text == "remind me on 11 December 2026 at 16:30 about play"
    )
    assert after_a_day("remind me an hour before", EVENTS, tea).text == "remind me an hour before"


def test_a_time_that_counts_from_something_else_is_left() -> None:
    named = "remind me an hour before the dentist"
    assert after(named, "when is the play", PLAY).text == named
    assert after("remind me an hour before that", "what is on", EVENTS).text == "remind me an hour before that"
    assert after("remind me an hour before that", "what time is it", "17:30").text == "remind me an hour before that"


@pytest.mark.parametrize(
    ("text", "tools", "status"),
    [
        ("and Friday", ["add_event"], "done"),  # beside it
        ("same for Friday", ["add_event"], "done"),
        ("no thanks", ["add_event"], "done"),
        ("no, on Friday", ["find_events"], "done"),  # nothing was changed
        ("no, on Friday", ["add_event", "send_mail"], "done"),  # what was sent cannot be called back
        ("no, on Friday", ["add_event"], "failed"),
        ("take that back", ["find_events"], "done"),
        ("take that box back", ["add_event"], "done"),
    ],
)
def test_what_is_no_revision_takes_nothing_back(text: str, tools: list[str], status: str) -> None:
    assert after_making(text, *tools, status=status).revises == ""


@pytest.mark.parametrize(
    ("last", "text", "meant"),
    [
        ("add milk to the shopping list", "no, to the hardware list", "add milk to the hardware list"),
        ("add milk to the shopping list", "make it oat milk", "add oat milk to the shopping list"),
        ("add whole milk and eggs", "no, oat milk", "add oat milk and eggs"),
        ("turn on the light in the kitchen", "no, in the bedroom", "turn on the light in the bedroom"),
        ("put gym in my calendar tomorrow at 6pm", "no, at 7", "put gym in my calendar 21 November 2026 at 19:00"),
        (
            "put gym in my calendar tomorrow from 10 to 1",
            "make that 9.30 instead",
            "put gym in my calendar 21 November 2026 from 09:30 to 12:30",
        ),
        ("put gym in my calendar tomorrow at 9", "no, at 8", "put gym in my calendar 21 November 2026 at 08:00"),
        ("put gym in my calendar tomorrow at 6pm", "no, to 7", "put gym in my calendar 21 November 2026 at 19:00"),
        ("put gym in my calendar Monday at 9", "and tuesday instead", "put gym in my calendar Tuesday at 09:00"),
        ("put gym in my calendar Monday at 9", "no wait, tuesday", "put gym in my calendar Tuesday at 09:00"),
        ("put gym in my calendar tomorrow at 9", "no, at 8 pm", "put gym in my calendar 21 November 2026 at 8 pm"),
        ("add milk to the shopping list", "no, nothing like that", "no, nothing like that"),
        ("add milk to the shopping list", "no", "no"),
    ],
)
def test_a_revision_exchanges_the_words_that_begin_or_end_alike(last: str, text: str, meant: str) -> None:
    plan = Plan((Step("add_event", {"title": "gym"}),))
    episode = Episode("e", Request(last, FIXED_NOW), plan, None, None, (StepResult(0, "done"),), Answer("", "done"))
    read = read_after(Utterance(text, FIXED_NOW + dt.timedelta(minutes=1), context=KNOWN), (episode,), MADE)
    assert (read.text, read.revises) == (meant, "e" if meant != text else "")


def said_from(text: str, start: str = "2026-12-08T09:40:00+01:00") -> str:
    anchor = named_anchor(Utterance(text, FIXED_NOW, context=KNOWN))
    return f"{anchor.words}: {anchor.said_from(dt.datetime.fromisoformat(start))}" if anchor is not None else ""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("put the dentist back to the week after", "dentist: move the dentist to 15 December 2026 at 09:40"),
        ("shift the dentist to the day after, same time", "dentist: move the dentist to 9 December 2026 at 09:40"),
        ("move the dentist to the day before", "dentist: move the dentist to 7 December 2026 at 09:40"),
        ("push my dentist to the next day please", "dentist: move the dentist to 9 December 2026 at 09:40"),
        ("dentist is at noon now, change it", "dentist: move the dentist to 8 December 2026 at 12:00"),
        ("the dentist is at 11 not 10 so please move it", "dentist: move the dentist to 8 December 2026 at 11:00"),
        ("move dentist to the following week, same time", "dentist: move the dentist to 15 December 2026 at 09:40"),
        ("the dentist is at 11 not 10", "dentist: move the dentist to 8 December 2026 at 11:00"),
        ("dentist starts at half 4, not at 3", "dentist: move the dentist to 8 December 2026 at 16:30"),
        ("the dentist is at half 4 now not 3", "dentist: move the dentist to 8 December 2026 at 16:30"),
        ("dentist is now at half 4 rather than 3", "dentist: move the dentist to 8 December 2026 at 16:30"),
        ("the dentist is at half 4 instead of 3", "dentist: move the dentist to 8 December 2026 at 16:30"),
        ("dentist needs moving to next week, same time", "dentist: move the dentist to 15 December 2026 at 09:40"),
        ("the dentist wants pushing back an hour", "dentist: move the dentist to 8 December 2026 at 10:40"),
        (
            "shift dentist to next week same day and same time if you can",
            "dentist: move the dentist to 15 December 2026 at 09:40",
        ),
        (
            "remind me to brush the night before the dentist, 7ish",
            "dentist: remind me to brush on 7 December 2026 at 19:00",
        ),
        (
            "remind me the evening before the dentist to brush",
            "dentist: remind me on 7 December 2026 at 18:00 to brush",
        ),
        (
            "remind me to brush the morning before my dentist at 8.30",
            "dentist: remind me to brush on 7 December 2026 at 08:30",
        ),
        (
            "remind me the night before the dentist at 12am to brush",
            "dentist: remind me on 8 December 2026 at 00:00 to brush",
        ),
        (
            "the night before the dentist at 12 remind me to brush",
            "dentist: on 8 December 2026 at 00:00 remind me to brush",
        ),
        (
            "remind me the night before the dentist at 2am to brush",
            "dentist: remind me on 8 December 2026 at 02:00 to brush",
        ),
        (
            "remind me the night before the dentist at 11 to brush",
            "dentist: remind me on 7 December 2026 at 23:00 to brush",
        ),
        (
            "remind me the morning before the dentist at 12 to brush",
            "dentist: remind me on 7 December 2026 at 12:00 to brush",
        ),
        ("push the dentist back by a week", "dentist: move the dentist to 15 December 2026 at 09:40"),
        ("Could you move my dentist an hour later please?", "dentist: move the dentist to 8 December 2026 at 10:40"),
        ("bring the dentist forward half an hour", "dentist: move the dentist to 8 December 2026 at 09:10"),
        ("delay dentist by 15 mins", "dentist: move the dentist to 8 December 2026 at 09:55"),
        ("push the dentist back to thursday", "dentist: move the dentist to 10 December 2026 at 09:40"),
        ("postpone my dentist to the mon, same time", "dentist: move the dentist to 14 December 2026 at 09:40"),
        ("can you put off the dentist till tuesday please", "dentist: move the dentist to 15 December 2026 at 09:40"),
        ("push the dentist back to friday at 2", "dentist: move the dentist to 11 December 2026 at 14:00"),
        ("move the dentist to 11", "dentist: move the dentist to 8 December 2026 at 11:00"),
        ("move the dentist to 3 pm", "dentist: move the dentist to 8 December 2026 at 15:00"),
        ("dentist moved to 3", "dentist: move the dentist to 8 December 2026 at 15:00"),
        ("the dentist's been moved to half 4", "dentist: move the dentist to 8 December 2026 at 16:30"),
        ("my dentists been pushed back to 11", "dentist: move the dentist to 8 December 2026 at 11:00"),
        ("the dentist is at 3 now", "dentist: move the dentist to 8 December 2026 at 15:00"),
        ("dentist is now at 3 pm", "dentist: move the dentist to 8 December 2026 at 15:00"),
        ("remind me an hour before the dentist", "dentist: remind me on 8 December 2026 at 08:40 about dentist"),
        ("move the dentist to 11 instead of 20 to 10", ""),
        ("push the dentist to 11 instead of 9.40", "dentist: move the dentist to 8 December 2026 at 11:00"),
        ("move the dentist to half 10 rather than half 9", "dentist: move the dentist to 8 December 2026 at 10:30"),
        (
            "check when the dentist is and set a reminder an hour ahead to brush",
            "dentist: check when the dentist is and set a reminder on 8 December 2026 at 08:40 to brush",
        ),
        (
            "when's the dentist and remind me half an hour beforehand",
            "dentist: when's the dentist and remind me on 8 December 2026 at 09:10 about dentist",
        ),
        (
            "when's the dentist coming and remind me the evening before to brush",
            "dentist: when's the dentist coming and remind me on 7 December 2026 at 18:00 to brush",
        ),
        ("tell Ben when the dentist is and put lunch an hour ahead of the bank", ""),
        ("remind me 30 min before dentist to brush", "dentist: remind me on 8 December 2026 at 09:10 to brush"),
        (
            "remind me the day before my dentist at 8 to brush",
            "dentist: remind me on 7 December 2026 at 8 to brush",
        ),
    ],
)
def test_a_time_counts_from_what_the_request_names(text: str, meant: str) -> None:
    assert said_from(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        "move the dentist forward an hour",  # English leaves open which way
        "move the dentist an hour",
        "move the dentist to Friday",
        "move the dentist to next week",
        "remind me to brush the night before Friday",
        "remind me to brush the night before",
        "push the dentist back to this Friday",
        "push the dentist back to Friday the 18th",
        "push the dentist back to next Friday",
        "push it back to Friday",
        "move the dentist to the day after tomorrow",
        "the dentist is at noon, change it",
        "move it to 3 pm",
        "has the dentist moved to 3",
        "the dentist is at 3",
        "the dentist is at the gym not far away",
        "I moved to 3",
        "Ana moved to 12 Alder Close",
        "dentist moved to Friday",
        "remind me an hour before noon to eat",
        "remind me an hour before that",
        "remind me 10 minutes before 5 pm",
        "move the sofa to the cellar",
        "turn the heating up by two degrees",
    ],
)
def test_no_time_counts_from_a_thing_where_none_is_meant(text: str) -> None:
    assert said_from(text) == ""


@pytest.mark.parametrize(
    ("text", "sought"),
    [
        ("move the pills to 8", {"find_events": "pills", "find_reminders": "pills"}),
        ("the pills have been moved to 8", {"find_events": "pills", "find_reminders": "pills"}),
        ("push the pills back by an hour", {"find_events": "pills", "find_reminders": "pills"}),
        ("change the pills reminder to 8", {"find_reminders": "pills"}),
        ("change the heating to 20", {"find_events": "heating"}),
        ("change the heating to 20 instead of 18", {}),
        ("put the heating to 20", {"find_events": "heating"}),
        ("the heating is at 20 now", {"find_events": "heating"}),
        ("move the dentist to Friday instead of 9", {}),  # says no time of its own day: nothing is looked up
    ],
)
def test_reminders_are_looked_up_only_where_a_time_is_moved(text: str, sought: dict[str, str]) -> None:
    anchor = named_anchor(Utterance(text, FIXED_NOW, context=KNOWN))
    assert (dict(anchor.looked_up) if anchor is not None else {}) == sought


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("the dentist needs moving to Friday", "move the dentist to Friday"),
        ("ok so my lunch with Bo needs moving to Friday", "move my lunch with Bo to Friday"),
        ("eye test needs moving to Friday", "move eye test to Friday"),
        ("what needs moving to Friday", None),
        ("tell Kev the sofa needs moving on Friday", None),
        ("tell Kev sofa needs moving to Friday", None),
        ("remind me tomorrow at 9 that the car needs moving", None),
        ("email Rob: the piano needs moving to Friday", None),
        ("email Ben that the shed roof needs shifting to Saturday", None),
        ("add car needs moving to the jobs list", None),
        ("the car needs moving to the drive, remind me at 9", None),
        ("Ana says the walk needs postponing to Sunday", None),
        ("maybe the dentist needs moving to Friday", None),
        ("I think the dentist needs moving to Friday", None),
        ("the dentist needs moving to Friday?", None),
        ("the dentist no longer needs moving to Friday", None),
    ],
)
def test_what_a_thing_needs_is_an_order_where_the_thing_stands_first(text: str, order: str | None) -> None:
    anchor = named_anchor(Utterance(text, FIXED_NOW, context=KNOWN))
    assert (anchor and (dict(anchor.looked_up), anchor.order)) == (order and ({}, order))


def test_the_time_of_what_is_moved_is_no_part_of_its_name() -> None:
    anchor = named_anchor(Utterance("move lunch with Anna on Monday to 2 pm", FIXED_NOW, context=KNOWN))
    assert anchor is not None
    assert (anchor.words, anchor.start[:10], anchor.end[:10]) == ("lunch with Anna", "2026-11-23", "2026-11-24")


def test_the_day_of_several_times_is_exchanged_for_a_day_and_the_hours_for_hours() -> None:
    step = Step("add_event", {"title": "tiling"})
    request = Request("block Friday morning for tiling 8 to 9.30", FIXED_NOW)
    last = Episode("e", request, Plan((step,)), None, None, (StepResult(0, "done", {}),), Answer("", "done"))
    tools = TOOLS | {"add_event": Spec("add_event", "", effect="change")}

    def revised(text: str) -> str:
        return read_after(Utterance(text, FIXED_NOW, context=KNOWN), (last,), tools).text

    assert revised("no 10 to 11") == "block Friday morning for tiling from 10:00 to 11:00"
    assert revised("actually Thursday").startswith("block Thursday")
    assert "8 to 9.30" in revised("actually Thursday")


def test_what_is_done_to_what_was_picked_takes_it() -> None:
    draft = Spec("send_mail", "", (Parameter("draft", "DraftId"),), effect="send")
    tools = {"send_mail": draft, "read_mail": Spec("read_mail", "", (Parameter("mail", "MailId"),))}
    nothing = Refusal("out_of_scope", "I can't do that yet.")
    record = Record("DraftId", "Drafts/1", "the draft")

    def planned(text: str, *records: Record, found: Plan | Refusal = nothing) -> Plan | None:
        return done_to_record(Request(text, FIXED_NOW, records=records), found, tools)

    for text in ("send the draft", "great, send the draft now please", "oh actually, send the draft"):
        plan = planned(text, record)
        assert plan is not None
        assert [(step.tool, step.arguments) for step in plan.steps] == [("send_mail", {"draft": "Drafts/1"})]
    assert planned("send the draft") is None  # nothing was picked
    assert planned("send the draft to Ben", record) is None
    assert planned("delete the draft", record) is None
    assert planned("send the draft", Record("MailId", "INBOX/1", "the draft")) is None
    assert planned("read the mail", Record("MailId", "INBOX/1", "the mail")) is None  # only what changes something
    assert planned("send the draft", record, found=Plan((Step("say", {}),))) is None


MAILING = {
    "draft_mail": Spec("draft_mail", "", effect="change", fields={"id": "DraftId"}),
    "send_mail": Spec("send_mail", "", (Parameter("draft", "DraftId"),), effect="send"),
    "find_mail": Spec("find_mail", "", returns="list[Mail]", fields={"id": "MailId"}),
}


def drafted(minutes: float, *ids: str, tool: str = "draft_mail") -> Episode:
    plan = Plan(tuple(Step(tool) for _ in ids))
    results = tuple(StepResult(k, "done", {"id": id}) for k, id in enumerate(ids))
    at = FIXED_NOW - dt.timedelta(minutes=minutes)
    return Episode("e", Request("mail Ben", at), plan, None, None, results, Answer("", "done"))


@pytest.mark.parametrize(
    ("text", "before", "sent"),
    [
        ("send them", (drafted(1, "a", "b"),), ["a", "b"]),
        ("actually send them both", (drafted(1, "a", "b"),), ["a", "b"]),
        ("actually send them to Ben", (drafted(1, "a", "b"),), []),
        ("great, send them both please", (drafted(1, "b"), drafted(2, "a")), ["a", "b"]),
        ("send the drafts", (drafted(1, "b"), drafted(2, "a"), drafted(99, "old")), ["a", "b"]),
        ("send them", (drafted(1, "b"), drafted(2, "x", tool="send_mail"), drafted(3, "a")), []),
        ("send them", (drafted(1, "b"),), []),
        ("send them", (drafted(1, "m", "n", tool="find_mail"),), []),
        ("send them to Ben", (drafted(1, "a", "b"),), []),
        ("delete them", (drafted(1, "a", "b"),), []),
    ],
)
def test_all_drafts_that_were_just_made_are_sent(text: str, before: tuple[Episode, ...], sent: list[str]) -> None:
    read = read_after(Utterance(text, FIXED_NOW, context=KNOWN), before, MAILING)
    assert [one.id for one in read.records if one.kind == "DraftId"] == sent
    if sent:
        request = Request(read.text, FIXED_NOW, records=read.records)
        plan = done_to_record(request, Refusal("needs", "To whom?", ("draft_mail.to",)), MAILING)
        assert plan is not None
        plan = with_records(plan, read.records, MAILING)
        assert [(step.tool, step.arguments) for step in plan.steps] == [("send_mail", {"draft": id}) for id in sent]


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("cancel the event", "b.ics"),
        ("move the event to Friday", "b.ics"),
        ("cancel the reminder", None),  # of another kind
        ("cancel the event with Ben", None),
        ("when is the event", None),
        ("tell Ben the event", None),
    ],
)
def test_the_only_one_of_its_kind_that_was_shown_is_meant(text: str, id: str | None) -> None:
    assert next((one.id for one in after(text, "what's on", EVENTS[1:]).records), None) == id
    assert after(text, "what's on", EVENTS).records == ()


def test_who_is_told_is_the_one_of_the_last_request_whoever_else_is_named() -> None:
    read = after("tell her yes and Ben will come too", "what is Anna's number")
    assert read.text == "tell Anna Weiss yes and Ben will come too"
    assert after("is she coming with Ben", "what is Anna's number").text == "is she coming with Ben"


def test_what_was_pointed_at_stays_meant_in_what_is_made_from_the_request() -> None:
    pointed = (Record("EventId", "b.ics", "the event"), Record("PersonName", "Anna Berg", "Anna"))
    last = Request("move the event with Anna to Friday", FIXED_NOW, records=pointed)
    plan, results = Plan((Step("cancel_event", {"event": "b.ics"}),)), (StepResult(0, "done"),)
    episode = Episode("e", last, plan, None, None, results, Answer("", "done"))
    for text, kept in (
        ("no, Saturday", pointed),
        ("and Saturday", pointed),
        ("again", pointed),
        ("no, with Ben", pointed[:1]),
    ):
        assert read_after(Utterance(text, FIXED_NOW, context=KNOWN), (episode,), TOOLS).records == kept, text
    asked = Refusal("needs", "when?", missing=("move_event.start",))
    last = Request("move the event", FIXED_NOW, records=pointed)
    episode = Episode("e", last, None, asked, None, (), Answer("", "needs"))
    assert read_after(Utterance("Saturday", FIXED_NOW, context=KNOWN), (episode,), TOOLS).records == pointed[:1]


def test_a_picked_name_stands_where_its_words_stood_and_nowhere_else() -> None:
    tools = {
        "find_contact": Spec("find_contact", "", (Parameter("name", "PersonName"),)),
        "add_event": Spec("add_event", "", (Parameter("title", "text"), Parameter("people", "list[PersonName]"))),
    }
    plan = Plan(
        (
            Step("find_contact", {"name": "anna"}),
            Step("add_event", {"title": "Anna", "people": ["Anna", "Ben"]}),
        )
    )
    found = with_records(plan, [Record("PersonName", "Anna Berg", "Anna")], tools)
    assert [step.arguments for step in found.steps] == [
        {"name": "Anna Berg"},
        {"title": "Anna", "people": ["Anna Berg", "Ben"]},
    ]
