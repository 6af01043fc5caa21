"""python -m pytest tests/unit/planning/test_memory_fallback.py"""

from __future__ import annotations

import pytest

from hearth.language.discourse.coreference import corrected
from hearth.language.reading import Utterance, asks_for_value, names_matter, question_of
from hearth.memory.search.search_words import keys_of
from hearth.planning.dialogue.fallbacks import (
    Grounds,
    asked_beyond_card,
    asked_beyond_device,
    asked_beyond_listed,
    asked_beyond_nothing,
    asked_elsewhere,
    asked_of_memory,
    events_then,
    first_alone,
    told_to_memory,
)
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import Context, Entity, Plain, Plan, Ref, Refusal, Step, StepResult, StepStatus

NO_LIST = StepResult(0, "failed", error="no list", error_kind="NotFound")
TOOLS = load_tools(None).specs
NOTHING = Refusal("out_of_scope", "I can't do that yet.")
BENS_CARD: Plain = {
    "name": "Ben Maes",
    "email": "",
    "phone": "+32 470 555 012",
    "address": "",
    "birthday": "1990-03-02",
}
KNOWN = Context(entities=(Entity("Ben Maes", "person", ("Ben",)), Entity("Dr Peeters (dentist)", "person")))


def asked(text: str, found: Plan | Refusal = NOTHING) -> str | None:
    plan = asked_of_memory(Utterance(text, FIXED_NOW, context=KNOWN), found, TOOLS, Grounds({"me", "Ana"}))
    return None if plan is None else str(next(iter(plan.steps[0].arguments.values())))


@pytest.mark.parametrize(
    ("text", "tool", "value"),
    [
        ("what was the temperature in the cellar this morning?", "search_memory", "what was the temperature in the cellar this morning"),
        ("how warm was it in the bedroom last night", "search_memory", "how warm was it in the bedroom last night"),
        ("was it cold in Anna's room yesterday", "search_memory", "was it cold in Anna's room yesterday"),
        ("what is the temperature in the cellar", "device_state", "temperature in the cellar"),
        ("how humid is it in the bathroom", "device_state", "humidity in the bathroom"),
        ("what is the temperature in Berlin", "", ""),
        ("how warm is it in the city", "", ""),
        ("what was the temperature in the sun", "", ""),
        ("is the soup warm", "", ""),
    ],
)  # fmt: skip
@pytest.mark.companions
def test_what_is_measured_at_home(text: str, tool: str, value: str) -> None:
    plan = asked_of_memory(Utterance(text, FIXED_NOW, context=KNOWN), NOTHING, TOOLS, Grounds(set()))
    assert (plan is not None) == bool(tool)
    if plan is not None:
        assert (plan.steps[0].tool, list(plan.steps[0].arguments.values())) == (tool, [value])
    other = Plan((Step("device_state", {"device": "x"}),))
    assert asked_of_memory(Utterance(text, FIXED_NOW, context=KNOWN), other, TOOLS, Grounds(set())) is None


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("what's my shoe size?", "what's my shoe size"),
        ("when did I last see the dentist", "when did I last see the dentist"),
        ("do you remember where I parked", "where I parked"),
        ("how do I like my steak", "how do I like my steak"),
        ("am I allergic to nuts", "am I allergic to nuts"),
        ("what is Ben allergic to", "what is Ben allergic to"),
        ("what does Ana eat", "what does Ana eat"),
        ("is grandma allergic to cats", "is grandma allergic to cats"),
        ("what is the wifi password", "what is the wifi password"),
        ("can I give Ana a slice of walnut cake", "can I give Ana a slice of walnut cake"),
        ("should I feed Ben's cat", "should I feed Ben's cat"),
        ("may we bring Ana to the hall", "may we bring Ana to the hall"),
        ("could I serve Ben fish", "could I serve Ben fish"),
        ("can I get me a pizza", None),
        ("can you give Ana a lift", None),
        ("could I boil an egg in the microwave", None),
        ("can I talk to a human", None),
        ("how do I cook risotto", None),
        ("where can I get a cheap bicycle", None),
        ("what should I cook tonight", None),
        ("who invented the zipper", None),
        ("who is Zork?", "who is Zork"),
        ("who's Zork Maller", "who's Zork Maller"),
        ("who is the president of France", None),
        ("who is online", None),
        ("who was Napoleon", None),
        ("what did you believe last Tuesday?", "what did you believe last Tuesday"),
        (
            "what did you think about Zork two weeks ago, and why",
            "what did you think about Zork two weeks ago, and why",
        ),
        ("what did you think of the film", None),
        ("what did you do yesterday", None),
        ("what did Zork write", None),
        ("what is Zoltan allergic to", None),
        ("are you a human", None),
        ("play my favourite song", None),
        ("I live in Ghent", None),
        ("", None),
    ],
)
def test_questions_about_the_owner_go_to_memory(text: str, query: str | None) -> None:
    assert asked(text) == query


def test_the_clock_answers_no_question_of_a_thing() -> None:
    clock = Plan((Step("current_time", {}),), planner="model")
    assert asked("what time does the boiler man come", clock) == "what time does the boiler man come"
    assert asked("time of the boiler man", clock) == "what is the time of the boiler man"
    assert asked("what time is it now", clock) is None
    assert asked("zorble the quux", clock) is None, "it asks nothing: who planned it knows what the word means"


def wrote(text: str, found: Plan | Refusal, said: set[str]) -> list[str] | None:
    plan = asked_of_memory(Utterance(text, FIXED_NOW, context=KNOWN), found, TOOLS, Grounds(said))
    return None if plan is None else [step.tool for step in plan.steps]


def test_what_somebody_wrote_is_looked_up_in_chats_beside_the_mail() -> None:
    mail = Plan((Step("find_mail", {"sender": "Tom"}),))
    assert wrote("what did Tom write", mail, {"Tom"}) == ["find_mail", "search_memory"]
    assert wrote("what did Tom write in the chat", mail, {"Tom"}) == ["search_memory"]
    assert wrote("what did Tom say yesterday", NOTHING, {"Tom"}) == ["search_memory"]
    assert wrote("what did Tom write", mail, {"Ana"}) is None  # who never said a thing: mail alone
    assert wrote("what did Tom write", Plan((Step("find_mail", {"sender": "Tom", "query": "tiles"}),)), {"Tom"}) is None
    assert wrote("what did Tom write in his last email", mail, {"Tom"}) is None
    assert wrote("what did Tom write", Plan((Step("find_notes", {"query": "Tom"}),)), {"Tom"}) is None
    assert wrote("what did Tom write", Refusal("needs", "Which Tom?", ("find_mail.sender",)), {"Tom"}) is None


def test_a_question_back_stands_unless_it_was_misplaced() -> None:
    assert asked("how long ago did we go to Oslo", Refusal("needs", "Which day?", ("time_until.date",))) is not None
    assert asked("when do we meet", Refusal("needs", "When?", ("add_event.start",))) is None
    assert asked("what's my size", Refusal("unreadable", "x")) is None


@pytest.mark.parametrize(
    ("text", "tool", "name", "is_asked"),
    [
        ("what is my locker number", "find_contact", "my locker", True),
        ("where do I live", "list_contacts", "live", True),
        ("where does Ana live", "find_contact", "Ana", True),
        ("where does Ben live", "find_contact", "Ben", False),
        ("what's my dentist's number", "find_contact", "my dentist", False),
        ("what is the number of Zoltan, my friend", "find_contact", "Zoltan", False),
        ("what's on my list", "read_list", "my list", False),
    ],
)
def test_a_plan_stands_but_for_one_that_looks_up_nobody(text: str, tool: str, name: str, is_asked: bool) -> None:
    argument = {"find_contact": "name", "list_contacts": "query", "read_list": "list"}[tool]
    assert (asked(text, Plan((Step(tool, {argument: name}),))) is not None) is is_asked


@pytest.mark.parametrize(
    ("text", "found", "is_kept"),
    [
        ("my locker number is 48", NOTHING, True),
        ("I live in Leuven", Plan((Step("list_contacts", {"query": "Leuven"}),)), True),
        ("I live in Leuven", Plan((Step("add_note", {"text": "I live in Leuven"}),)), False),
        ("I live in Leuven", Refusal("needs", "Where?", ("add_event.start",)), False),
        ("where do I live", NOTHING, False),
        ("remind me to live", NOTHING, False),
    ],
)
def test_what_is_told_is_kept(text: str, found: Plan | Refusal, is_kept: bool) -> None:
    assert (told_to_memory(Utterance(text, FIXED_NOW), found, TOOLS) is not None) is is_kept


def test_without_the_tools_nothing_changes() -> None:
    request = Utterance("what's my shoe size?", FIXED_NOW)
    assert asked_of_memory(Utterance.of(request, KNOWN), NOTHING, {}, Grounds()) is None
    assert told_to_memory(Utterance("my shoe size is 39", FIXED_NOW), NOTHING, {}) is None


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        ("what is my locker number", "no, it's 48 now", "my locker number is 48 now"),
        ("where's the spare key?", "nope, that's under the mat", "the spare key is under the mat"),
        ("remember that my locker number is 46", "no, it is 48", "my locker number is 48"),
        ("what is my locker number", "no", None),
        ("what is my locker number", "no, that's wrong", None),
        ("what is my locker number", "it's raining", None),
        ("add milk to the list", "no, it's bread", None),
    ],
)
def test_what_was_said_is_put_right(before: str, text: str, expected: str | None) -> None:
    assert corrected(before, text) == expected


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("give me a rundown of my week", "give me a rundown of my week"),
        ("summarise the mail from Ben about the roof.", "summarise the mail from Ben about the roof"),
        ("summarise world history", None),
    ],
)
def test_a_summary_is_asked_of_the_owners_things(text: str, question: str | None) -> None:
    assert asked(text) == question
    sends = Plan((Step("send_mail", {"draft": "1"}),))
    assert asked(text, sends) is None


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("wifi password at the flat?", "what is the wifi password at the flat"),
        ("the code for the gate", "what is the code for the gate"),
        ("key safe code?", "what is the key safe code"),
        ("library card number kuba", "what is the library card number kuba"),
        ("dads attendance allowance?", "what is the dads attendance allowance"),
        ("flight home, what time does it leave?", "what time does it leave flight home"),
        ("change the wifi password", "change the wifi password"),
        ("whats the code for the gate", "what's the code for the gate"),
        ("who got elected steward?", "who got elected steward"),
    ],
)
def test_what_is_only_named_is_asked_for(text: str, question: str) -> None:
    assert question_of(text) == question


def test_what_somebody_known_can_do_is_no_question_of_anyone() -> None:
    assert asked("what can Ben not eat?") == "what can Ben not eat"
    assert asked("what can people not eat?") is None


@pytest.mark.parametrize(
    ("text", "is_beyond", "is_lacking"),
    [
        ("what would Ben like for his birthday", True, False),
        ("when is Ben's birthday", False, False),
        ("what's Ben's address", False, True),
        ("what's Ben's phone number", False, False),
        ("show me Ben's card", False, False),
    ],
)
def test_what_a_card_does_not_tell_is_asked_of_everything(text: str, is_beyond: bool, is_lacking: bool) -> None:
    plan = Plan((Step("find_contact", {"name": "Ben"}),))
    results = (StepResult(0, "done", BENS_CARD),)
    request = Utterance(text, FIXED_NOW)
    beyond = asked_beyond_card(request, plan, results, TOOLS)
    elsewhere = asked_elsewhere(request, plan, results, TOOLS)
    assert (beyond is not None, elsewhere is not None) == (is_beyond, is_lacking)
    assert all(one is None or one.steps[1].replaces == 0 for one in (beyond, elsewhere))


def test_a_place_that_is_no_time_zone_is_asked_of_everything() -> None:
    plan = Plan((Step("current_time", {"zone": "church for the concert"}),))
    failed = (StepResult(0, "failed", error="No time zone", error_kind="NotFound"),)
    request = Utterance("what time must I be at church for the concert", FIXED_NOW)
    found = asked_elsewhere(request, plan, failed, TOOLS)
    assert found is not None
    assert found.steps[1].tool == "find_answer"


@pytest.mark.parametrize(
    ("text", "is_value", "is_matter"),
    [
        ("key safe code?", True, True),
        ("booking ref for the hotel", True, True),
        ("dads allowance?", False, True),
        ("colour of the hall", False, True),
        ("read the notes of the meeting", False, False),
        ("dads allowance", False, False),
        ("change the door code", False, False),
        ("password", False, False),
        ("what is the door code", False, False),
        ("is the door code new?", False, False),
    ],
)
def test_a_value_or_a_matter_that_is_only_named(text: str, is_value: bool, is_matter: bool) -> None:
    assert (asks_for_value(text), names_matter(text)) == (is_value, is_matter)


DAYS = Step("time_until", {"date": "2026-10-01"})
NEXT = Step("next_event", {})
UNTIL_NEXT = (NEXT, Step("time_until", {"date": Ref(0, ("start",))}))


@pytest.mark.parametrize(
    ("text", "steps", "is_lost"),
    [
        ("how many hours has aisha had since october", (DAYS,), True),
        ("how many days have passed since october", (DAYS,), False),
        ("how many days has it been since the wedding", (DAYS,), False),
        ("how long have I got till me standards check", UNTIL_NEXT, True),
        ("how long till my check", (Step("next_event", {"query": "check"}), UNTIL_NEXT[1]), False),
        ("how long till the policy runs out", (Step("next_event", {"query": "policy"}), UNTIL_NEXT[1]), True),
        ("how many days to mums birthday", (Step("next_event", {"query": "mums"}), UNTIL_NEXT[1]), True),
        ("how many days to mums birthday", (Step("next_event", {"query": "mums birthday"}), UNTIL_NEXT[1]), False),
        ("how long till the dentist appointment", (Step("next_event", {"query": "dentist"}), UNTIL_NEXT[1]), False),
        ("how long till the party at Ana's", (Step("next_event", {"query": "party"}), UNTIL_NEXT[1]), False),
        ("how long is the notice period in the lease", UNTIL_NEXT, True),
        ("how long does the guarantee on the bike last", UNTIL_NEXT, True),
        ("how long's the choir practice", (Step("next_event", {"query": "choir"}), UNTIL_NEXT[1]), True),
        ("how long is it to the concert", (Step("next_event", {"query": "concert"}), UNTIL_NEXT[1]), False),
        ("how long is it until the concert", (Step("next_event", {"query": "concert"}), UNTIL_NEXT[1]), False),
        ("how long is it till Easter", (DAYS,), False),
    ],
)
def test_days_are_counted_only_to_what_is_named(text: str, steps: tuple[Step, ...], is_lost: bool) -> None:
    assert (asked(text, Plan(steps)) is not None) is is_lost


@pytest.mark.parametrize(
    ("text", "tool", "status", "is_beyond"),
    [
        ("is the school closed on friday", "device_state", "failed", True),
        ("is the lamp on", "device_state", "done", False),
        ("turn the lamp on", "device_state", "failed", False),
        ("is the school closed on friday", "find_events", "failed", False),
    ],
)
@pytest.mark.companions
def test_a_question_of_no_device_may_be_asked_of_everything(
    text: str, tool: str, status: StepStatus, is_beyond: bool
) -> None:
    plan = Plan((Step(tool, {"device": "school"} if tool == "device_state" else {}),))
    found = asked_beyond_device(Utterance(text, FIXED_NOW), plan, (StepResult(0, status),), TOOLS)
    assert (found is not None) is is_beyond


@pytest.mark.parametrize(
    ("text", "step", "result", "is_beyond"),
    [
        ("is the school closed on friday", Step("find_events", {"query": "school"}), StepResult(0, "done", []), True),
        ("what do we need for the boat", Step("read_list", {"list": "boat"}), NO_LIST, True),
        ("show me the school events", Step("find_events", {"query": "school"}), StepResult(0, "done", []), False),
        ("am i busy on friday", Step("find_events", {"start": "2026-12-04"}), StepResult(0, "done", []), False),
        ("is the school on friday", Step("find_events", {"query": "school"}), StepResult(0, "done", [{}]), False),
    ],
)
@pytest.mark.companions
def test_a_question_whose_thing_is_not_there_may_be_asked_of_everything(
    text: str, step: Step, result: StepResult, is_beyond: bool
) -> None:
    found = asked_beyond_nothing(Utterance(text, FIXED_NOW), Plan((step,)), (result,), TOOLS)
    assert (found is not None) is is_beyond


@pytest.mark.parametrize(
    ("text", "event", "open_word"),
    [
        ("when do the judo lessons start again after easter", {"title": "Judo lessons", "place": "Gym"}, "easte"),
        ("when do the museum tickets have to be paid", {"title": "Museum party", "place": ""}, "ticke"),
        ("when is my haircut", {"title": "Haircut", "place": ""}, ""),
        ("when is the next judo lesson", {"title": "Judo lessons", "place": "Gym"}, ""),
    ],
)
def test_an_event_that_leaves_words_open_is_asked_of_everything(
    text: str, event: dict[str, Plain], open_word: str
) -> None:
    plan = Plan((Step("next_event", {"query": "some"}),))
    found = asked_beyond_listed(Utterance(text, FIXED_NOW), plan, (StepResult(0, "done", event),), TOOLS)
    assert (found is not None) is bool(open_word)
    if found is not None:
        assert found.plan.steps[1].tool == "find_answer"
        assert open_word in found.open


@pytest.mark.parametrize(
    ("text", "is_beyond"),
    [
        ("is Gwen spending Christmas with me", True),
        ("will gwen be here on the 25th", True),
        ("does Gwen eat with us on Christmas day", True),
        ("has Gwen asked for a bed at Christmas", True),
        ("is Lorna staying at Christmas", False),
        ("is Luca coming for Christmas", False),  # takes part
        ("is anything on at Christmas with Gwen", True),
        ("is the hall open at Christmas", False),
        ("am I free at Christmas for Gwen", False),
    ],
)
def test_whether_somebody_comes_is_told_by_no_event_without_them(text: str, is_beyond: bool) -> None:
    plan = Plan((Step("find_events", {"start": "2026-12-25"}),))
    event: Plain = {"title": "Lorna to stay", "place": "", "attendees": ["Luca Ferri"]}
    request, done = Utterance(text, FIXED_NOW), (StepResult(0, "done", [event]),)
    found = asked_beyond_listed(request, plan, done, TOOLS, keys_of("Gwen Arkle Lorna Ferri Luca Ferri"))
    assert (found is not None) is is_beyond


@pytest.mark.parametrize(
    ("text", "is_beyond"),
    [
        ("which ship am I on the week of 14 December", True),
        ("which practice is in the week of 14 December", False),  # one that is listed
        ("what's on the week of 14 December", False),
        ("am I free in the week of 14 December", False),
        ("what have I on in the week of 14 December", False),
        ("who is covering for bernie on the 15th", True),
        ("whos cooking on the 15th and whats it gonna be", True),
        ("do I have hockey on the 15th", False),
        ("who practises hockey on the 15th", False),  # in another form
        ("who brings oranges on the 15th", True),  # the notes are not told
    ],
)
def test_events_of_a_time_stand_only_where_events_are_asked_for(text: str, is_beyond: bool) -> None:
    plan = Plan((Step("find_events", {"start": "2026-12-14", "end": "2026-12-21"}),))
    events: Plain = [
        {
            "id": "a",
            "title": "Hockey practice",
            "start": "2026-12-15T17:30:00+00:00",
            "place": "Sportsplex",
            "notes": "Ben brings oranges",
        }
    ]
    found = asked_beyond_listed(Utterance(text, FIXED_NOW), plan, (StepResult(0, "done", events),), TOOLS)
    assert (found is not None) is is_beyond


@pytest.mark.parametrize(
    ("said", "is_said"),
    [
        ("mail from Bernie: Dolores will cover for me on the 15th", True),
        ("note: I cover hockey", True),
        ("mail from Bernie", False),
        ("Hockey practice on the 15th", False),
        ("", False),
    ],
)
def test_what_a_list_leaves_open_is_said_by_what_says_more_of_it(said: str, is_said: bool) -> None:
    plan = Plan((Step("find_events", {"start": "2026-12-15", "end": "2026-12-16"}),))
    events: Plain = [{"id": "a", "title": "Hockey practice", "start": "2026-12-15T17:30:00+00:00", "place": ""}]
    request = Utterance("who is covering for bernie at hockey on the 15th", FIXED_NOW)
    beyond = asked_beyond_listed(request, plan, (StepResult(0, "done", events),), TOOLS)
    assert beyond is not None
    assert beyond.is_said_by(said) is is_said


@pytest.mark.parametrize(
    ("text", "steps", "is_asked"),
    [
        ("till when is the pool open on sunday", (DAYS,), True),
        ("what time does the pool close", (Step("current_time", {"zone": "pool"}),), True),
        ("until when is the pool open", (Step("next_event", {"query": "pool"}),), True),
        ("when is the pool party", (Step("next_event", {"query": "pool party"}),), False),
        ("who sets the timer at the hall", (Step("set_timer", {"length": "1 h"}),), True),
        ("how much is the phone bill and when do they take it", (NEXT,), True),
        ("how much has the club spent on balls", (Step("find_events", {"query": "balls"}),), True),
        ("how old will Ben be on his birthday", (Step("find_contact", {"name": "Ben Maes"}),), True),
        ("how much pension do I get a month from January", (DAYS,), True),
        ("how many trestles are there on Saturday", (DAYS,), True),
        ("how much do we owe Dov by Friday", (NEXT, DAYS), True),
        ("how much will the rent be after April", (DAYS,), True),
        ("how much time is there till January", (DAYS,), False),
        ("how much of the year is left", (DAYS,), False),
        ("how many more sleeps to Christmas", (DAYS,), False),
        ("how many working days until April", (DAYS,), False),
    ],
)
def test_what_a_tool_only_comes_near_is_asked_of_everything(text: str, steps: tuple[Step, ...], is_asked: bool) -> None:
    assert (asked(text, Plan(steps)) is not None) is is_asked


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("did gwen say what time the match starts?", "what time did gwen say the match starts"),
        ("has the plumber mentioned how much it costs", "how much did the plumber say it costs"),
        ("till what time is the shop open", "till what time is the shop open"),
    ],
)
def test_what_somebody_said_is_asked_for_itself(text: str, question: str) -> None:
    assert question_of(text) == question


NEXT_EVENT = Plan((Step("next_event", {}),))
CLOCK = Step("current_time", {})
FILMED = Plan((Step("find_video", {}), Step("identify_people", {"sightings": Ref(0)})))
BIRTHDAYS = Plan((Step("upcoming_birthdays", {}),))
ADDED = Plan((Step("add_note", {"text": "x"}),))


@pytest.mark.parametrize(
    ("grounds", "found", "is_asked"),
    [
        (Grounds(own_chance=0.95), NOTHING, True),
        (Grounds(own_chance=0.9), NOTHING, False),
        (Grounds(own_chance=0.95), Refusal("unreadable", "I read English."), False),
        (Grounds(own_chance=0.95), NEXT_EVENT, False),
        (Grounds(worked_out="count_events"), NOTHING, True),
        (Grounds(worked_out="count_events"), NEXT_EVENT, True),
        (Grounds(worked_out="count_events"), Plan((Step("find_events", {}),)), False),
        (Grounds(worked_out="count_events"), Plan((Step("next_event", {}),), rests_on=("owner:1",)), False),
        (Grounds(worked_out="count_events"), Plan((Step("next_event", {}), Step("find_mail", {}))), False),
        (Grounds(worked_out="clash"), Refusal("needs", "When?", missing=("add_reminder.at",)), False),
        (Grounds(own_chance=0.95), Plan((Step("current_time", {}),)), True),
        (Grounds(own_chance=0.95), Plan((Step("current_time", {}),), rests_on=("owner:1",)), False),
        (Grounds(own_chance=0.6), Plan((CLOCK,)), False),
        (Grounds(own_chance=0.6), Plan((CLOCK,), unserved=("when are my ears looked at",)), True),
        (Grounds(own_chance=0.4), Plan((CLOCK,), unserved=("when are my ears looked at",)), False),
        (Grounds(own_chance=0.95, is_filmed=False), FILMED, True),
        (Grounds(own_chance=0.95), FILMED, False),
        (Grounds(own_chance=0.9, is_filmed=False), FILMED, False),
        (Grounds(worked_out="next_time"), NEXT_EVENT, False),
        (Grounds(worked_out="next_birthday"), BIRTHDAYS, False),
        (Grounds(worked_out="clash"), BIRTHDAYS, True),
        (Grounds(worked_out="clash"), ADDED, False),
        (Grounds(worked_out="clash"), Refusal("unreadable", "I read English."), False),
    ],
)
def test_what_is_learnt_of_questions_puts_them_to_the_owners_things(
    grounds: Grounds, found: Plan | Refusal, is_asked: bool
) -> None:
    request = Utterance("hens laying this month, the lot", FIXED_NOW, context=KNOWN)
    plan = asked_of_memory(request, found, TOOLS, grounds)
    assert (plan is not None and plan.steps[0].tool == "find_answer") == is_asked


@pytest.mark.parametrize(
    ("text", "is_asked"),
    [
        ("who waters the plants", True),
        ("remind me who waters the plants", False),
        ("water the plants", False),
        ("summarise my mails of this week", False),
        ("how many mails did I get this week", False),
    ],
)
def test_a_plan_that_changes_something_stands_unless_it_is_asked_who_does_so(text: str, is_asked: bool) -> None:
    changes = Plan((Step("add_note", {"text": "the plants"}),))
    found = asked_of_memory(Utterance(text, FIXED_NOW), changes, TOOLS, Grounds())
    assert (found is not None) is is_asked


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("after tomorrow when am i seeing margaret next", "2026-11-22T00:00:00+01:00"),
        ("when is my next appointment with margaret in december", "2026-12-01T00:00:00+01:00"),
        ("when am i seeing margaret next", None),
        ("when do i see margaret again after tomorrow", None),  # is read in everything else
        ("when did i see margaret yesterday", None),
    ],
)
def test_the_next_event_is_that_of_the_time_said(text: str, start: str | None) -> None:
    said = Utterance(text, FIXED_NOW)
    plan = events_then(said, Plan((Step("next_event", {"query": "margaret"}),)), TOOLS)
    assert (None if plan is None else plan.steps[0].arguments["start"]) == start
    for found in (NOTHING, Plan((Step("next_event", {}),)), Plan((Step("find_events", {"query": "margaret"}),))):
        assert events_then(said, found, TOOLS) is None


def test_the_next_of_events_from_a_time_on_is_one_of_them() -> None:
    listed = Plan((Step("find_events", {"query": "choir", "start": "2026-12-11T00:00:00+01:00"}),))
    assert events_then(Utterance("next choir after the 10th of December", FIXED_NOW), listed, TOOLS) == listed
    assert events_then(Utterance("choir after the 10th of December", FIXED_NOW), listed, TOOLS) is None


def test_of_events_from_a_time_on_the_first_is_told() -> None:
    plan = Plan((Step("find_events", {"query": "choir", "start": "2026-12-11T00:00:00+01:00"}),))
    found = [{"end": "2026-12-16T21:00:00+01:00"}, {"end": "2026-12-23T21:00:00+01:00"}]
    assert first_alone(plan, found).steps[0].arguments["end"] == "2026-12-16T21:00:00+01:00"
    ended = first_alone(plan, found)
    assert first_alone(ended, found[1:]) == ended
    assert first_alone(plan, []) == plan


def test_events_of_a_time_that_is_said_are_not_the_next_time() -> None:
    said, grounds = Utterance("when is choir in January", FIXED_NOW), Grounds(worked_out="next_time")
    then = Plan((Step("find_events", {"query": "choir", "start": "2027-01-01T00:00:00+01:00"}),))
    assert asked_of_memory(said, then, TOOLS, grounds) is None
    assert asked_of_memory(said, Plan((Step("find_events", {"query": "choir"}),)), TOOLS, grounds) is not None


@pytest.mark.parametrize(
    ("text", "is_beside"),
    [
        ("where do I park for the trustees meeting", True),
        ("what should we bring to the trustees meeting", True),
        ("where do I go for the trustees meeting", None),
        ("when is the trustees meeting", None),
        ("who chairs the trustees meeting", False),
    ],
)
def test_where_a_thing_is_does_not_tell_what_is_done_for_it(text: str, is_beside: bool | None) -> None:
    plan = Plan((Step("next_event", {"query": "trustees"}),))
    event: Plain = {"id": "a", "title": "Trustees meeting", "start": "2026-12-15T17:30:00+00:00", "place": "Town Hall"}
    found = asked_beyond_listed(Utterance(text, FIXED_NOW), plan, (StepResult(0, "done", event),), TOOLS)
    assert (None if found is None else found.is_beside) == is_beside


@pytest.mark.parametrize(
    ("text", "found", "question"),
    [
        ("where do I turn the heating off", Plan((Step("device_state", {"device": "heating"}),)), True),
        ("where is the heating on", Plan((Step("device_state", {"device": "heating"}),)), False),
        (
            "what do his jobs come to in all, lamp and plug",
            Plan((Step("find_answer", {"question": "lamp and plug"}),), unserved=("what do his jobs come to in all",)),
            True,
        ),
        (
            "what do his jobs come to in all, who is he",
            Plan((Step("find_answer", {"question": "who is he"}),), unserved=("what do his jobs come to in all",)),
            False,
        ),
    ],
)
def test_a_question_that_a_plan_serves_beside_its_point_is_asked_whole(text: str, found: Plan, question: bool) -> None:
    plan = asked_of_memory(Utterance(text, FIXED_NOW), found, TOOLS, Grounds())
    assert (plan is not None and plan.steps[0].arguments == {"question": text}) == question
