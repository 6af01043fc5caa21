"""Other readings of a request, judged by its words."""

from __future__ import annotations

import pytest

from hearth.formats.plans import shifted
from hearth.language.values.slots import find_slots
from hearth.planning.dialogue.fallbacks import (
    got_things,
    is_called_just,
    is_entitled,
    is_of_found_things,
    left_open,
    named_share,
    other_queries,
    replied_to,
    says_only_a_name,
    taken_off,
    takes_away,
    ticked_on_list,
    ticked_reminder,
    ticked_thing,
    to_newest_of_thread,
    with_named_file,
    with_named_note,
    with_said_title,
)
from hearth.registry import load_tools
from hearth.testing import FIXED_NOW
from hearth.types import OWNERS_WORD, Argument, Context, Plan, Ref, Refusal, Request, Step, ToolSpec

TOOLS = {
    "find_events": ToolSpec("find_events", "Find events."),
    "cancel_event": ToolSpec("cancel_event", "Cancel.", effect="change"),
    "add_note": ToolSpec("add_note", "Note.", effect="change"),
    "set_temperature": ToolSpec("set_temperature", "Set.", effect="change"),
    "set_brightness": ToolSpec("set_brightness", "Set.", effect="change"),
    "find_answer": ToolSpec("find_answer", "Ask."),
}
NOTHING = Refusal("out_of_scope", "I'm not sure what you mean.")


def _cancel(query: str) -> Plan:
    return Plan((Step("find_events", {"query": query}), Step("cancel_event", {"event": Ref(0, ("id",))})))


def test_what_takes_something_away_is_known() -> None:
    assert takes_away(_cancel("kiln firing"), TOOLS)
    assert not takes_away(Plan((Step("add_note", {"text": "cancel it"}),)), TOOLS)
    assert not takes_away(Plan((Step("find_events", {"query": "cancel"}),)), TOOLS)


def test_what_a_reading_leaves_out_counts_against_it() -> None:
    assert named_share("cancel the kiln firing", _cancel("kiln firing"), ()) == 1.0
    assert (
        named_share("find me the Patterson blueprint", Plan((Step("find_events", {"query": "Patterson"}),)), ()) == 0.5
    )
    assert named_share("cancel it", _cancel("x"), ()) == 1.0


def test_who_it_is_from_may_be_all_that_is_sought() -> None:
    step = Step("find_mail", {"query": "scam", "sender": "Nexo"})
    found = other_queries("bin that Nexo mail its a scam", Plan((step,)), ())
    assert Step("find_mail", {"sender": "Nexo"}) in [plan.steps[0] for plan in found]
    about = other_queries("bin the Nexo mail about the scam", Plan((step,)), ())
    assert all("query" in plan.steps[0].arguments for plan in about)
    only = Step("find_mail", {"query": "scam"})
    assert all(plan.steps[0].arguments for plan in other_queries("bin the scam mail", Plan((only,)), ()))


def test_other_words_are_sought_where_the_first_are_not_there() -> None:
    found = other_queries("cancel pilates, elbow hurts", _cancel("elbow hurts"), ())
    assert [plan.steps[0].arguments["query"] for plan in found] == ["pilates"]
    assert other_queries("cancel pilates", Plan((Step("add_note", {"text": "pilates"}),)), ()) == []
    forward = Step("draft_forward", {"mail": Ref(0, ("id",)), "to": [Ref(1, ("email",))]})
    plan = Plan((Step("find_mail", {"query": "quote"}), Step("find_contact", {"name": "Martin"}), forward))
    assert other_queries("forward mossys quote to martin", plan, ()) == []


@pytest.mark.parametrize(
    ("reading", "found", "may"),
    [
        (_cancel("kiln firing"), NOTHING, True),
        (_cancel("check"), NOTHING, False),
        (_cancel(""), NOTHING, False),
        (Plan((Step("add_note", {"text": "kiln"}),)), NOTHING, False),
        (Plan((Step("find_answer", {"question": "kiln"}),)), NOTHING, False),
        (Plan((Step("set_temperature", {"temperature": 21}),)), NOTHING, False),
        (Plan((Step("set_temperature", {"temperature": 21}),)), Plan((Step("set_brightness", {"percent": 21}),)), True),
        (Plan((Step("set_temperature", {"temperature": 21}),)), _cancel("heating"), False),
    ],
)
def test_only_what_is_there_is_changed(reading: Plan, found: Plan | Refusal, may: bool) -> None:
    assert is_of_found_things(reading, found, TOOLS) is may


MAILING = load_tools(None).specs


def _mail(text: str, **more: list[Argument]) -> Plan:
    to = [Ref(0, ("email",))]
    return Plan((Step("find_contact", {"name": "Ida"}), Step("draft_mail", {"to": [*to], "text": text, **more})))


def test_a_document_is_sent_instead_of_its_name() -> None:
    found = with_named_file(Request("email Ida the boiler quote", FIXED_NOW), _mail("boiler quote"), MAILING)
    assert found is not None
    assert found.steps[0] == Step("find_files", {"query": "boiler quote"})
    assert found.steps[2].arguments["attachments"] == [Ref(0, ("path",))]
    assert found.steps[2].arguments["to"] == [Ref(1, ("email",))]


@pytest.mark.parametrize(
    ("said", "plan"),
    [
        ("tell Ida the boiler quote is here", _mail("the boiler quote is here")),
        ("email Ida happy birthday", _mail("happy birthday")),
        ("email Ida the boiler quote", _mail("boiler quote", attachments=[Ref(0, ("path",))])),
        ("email Ida the boiler quote", Plan((Step("find_contact", {"name": "Ida"}),))),
        ("email Ida the boiler quote", Refusal("out_of_scope", "No.")),
    ],
)
def test_what_is_no_name_of_a_thing_stays(said: str, plan: Plan | Refusal) -> None:
    assert with_named_file(Request(said, FIXED_NOW), plan, MAILING) is None


@pytest.mark.parametrize(
    ("said", "plan", "place"),
    [
        ("email Ida the boiler sheet", _mail("boiler sheet"), 0),
        ("can you send Ida that boiler sheet again", _mail("boiler sheet again", attachments=[Ref(0, ("path",))]), 0),
    ],
)
def test_what_a_note_says_is_sent_instead_of_its_name(said: str, plan: Plan, place: int) -> None:
    looked = (Step("find_files", {"query": "boiler sheet"}), *shifted(plan.steps, 1)) if "again" in said else plan.steps
    looking = Plan(looked) if "again" not in said else Plan((*looked[:-1], _attaching(looked[-1])))
    found = with_named_note(Request(said, FIXED_NOW), looking, load_tools(None).specs)
    assert found is not None
    assert found.steps[place] == Step("find_notes", {"query": "boiler sheet"})
    assert found.steps[-1].arguments == {"to": [Ref(1, ("email",))], "text": Ref(place, ("text",))}


def _attaching(step: Step) -> Step:
    return Step(step.tool, {**step.arguments, "attachments": [Ref(0, ("path",))]})


@pytest.mark.parametrize(
    ("title", "is_meant"), [("home boiler sheet", True), ("the news", False), ("", False), ("boiler", False)]
)
def test_only_a_note_of_that_title_is_sent(title: str, is_meant: bool) -> None:
    plan = Plan((Step("find_notes", {"query": "boiler sheet"}),))
    assert is_entitled(plan, [{"title": title, "text": "the boiler sheet"}]) is is_meant
    assert not is_entitled(plan, [])


@pytest.mark.parametrize(
    ("sought", "title", "name", "is_meant"),
    [
        ("packing", "packing", "packing-list-school.txt", True),
        ("packing", "Packing list", "", True),
        ("gift ideas", "Gift ideas", "gifts.md", True),
        ("roof report", "Roof report", "roof-report.md", False),
        ("packing", "packing the van", "", False),
        ("packing for school", "packing", "", False),
    ],
)
def test_a_note_called_just_so_goes_before_a_file(sought: str, title: str, name: str, is_meant: bool) -> None:
    plan = Plan((Step("find_notes", {"query": sought}),))
    assert is_called_just(plan, [{"title": title}], [{"name": name}]) == is_meant
    assert not is_called_just(plan, [{"title": title}, {"title": "other"}], [])


def test_a_mail_that_says_only_what_would_be_sent_tells_nobody_of_it() -> None:
    found = Plan((Step("find_files", {"query": "boiler sheet"}),))
    assert says_only_a_name(_mail("the boiler sheet again"), found)
    assert not says_only_a_name(_mail("I have it"), found)
    assert not says_only_a_name(_mail("the boiler sheet"), _mail("the boiler sheet"))
    with_note = with_named_note(
        Request("email Ida happy birthday", FIXED_NOW), _mail("happy birthday"), load_tools(None).specs
    )
    assert with_note is None


def _tick(query: str) -> Plan:
    done = Step("complete_reminder", {"reminder": Ref(0, ("id",))})
    return Plan((Step("find_reminders", {"query": query}), done), confidence=0.9, planner="recall")


def _off(device: str) -> Plan:
    return Plan((Step("turn_off", {"device": device}),), confidence=0.9, planner="recall")


@pytest.mark.parametrize(
    ("text", "found", "thing"),
    [
        ("tick off pitta bread", _tick("pitta bread"), "pitta bread"),
        ("tick the oats off", NOTHING, "oats"),
        ("please cross off the washing powder.", NOTHING, "washing powder"),
        ("tick off the oats, we've got some", NOTHING, "oats"),
        ("cross off the lamp oil, bought it today", _off("lamp oil"), "lamp oil"),
        ("turn off the lamp, got it", _off("lamp"), ""),
        ("tick off the oats, tell Ana", NOTHING, ""),
        ("tick off the pitta bread reminder", _tick("pitta bread"), ""),
        ("tick oats off the shopping list", NOTHING, ""),
        ("tick it off", NOTHING, ""),
        ("take the oats", NOTHING, ""),
        ("cancel the kiln firing", _cancel("kiln firing"), ""),
    ],
)
def test_what_is_ticked_off_by_its_name(text: str, found: Plan | Refusal, thing: str) -> None:
    assert ticked_thing(text, found) == thing


@pytest.mark.parametrize(
    ("text", "name", "query"),
    [
        ("tick off gym shoes", "shoes", "gym shoes"),
        ("tick the pitta bread off", "", "pitta bread"),
        ("tick off oats on shopping", "shopping", ""),
        ("tick off the gym shoes from the list", "shoes", ""),
        ("tick off gym from shoes", "shoes", ""),
        ("take gym shoes away", "shoes", ""),
    ],
)
def test_a_list_that_nobody_said_is_none(text: str, name: str, query: str) -> None:
    tools = load_tools(None).specs
    step = Step("remove_from_list", {"list": name, "items": ["gym"]} if name else {"items": ["bread"]})
    plan = ticked_reminder(text, Plan((step,), planner="recall"), tools)
    assert (plan.steps if plan is not None else ()) == (_tick(query).steps if query else ())
    taught = Plan((step,), planner="recall", rests_on=("owner:1",))
    assert ticked_reminder(text, taught, tools) is None


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("I've bought the nails", ("nails",)),
        ("got the rye flour", ("rye flour",)),
        ("we've just picked up the apples and some pears", ("apples", "pears")),
        ("the butter's bought", ("butter",)),
        ("oh, the oats have been ordered already", ("oats",)),
        ("I haven't bought the nails", ()),
        ("did I buy the nails", ()),
        ("got the nails?", ()),
        ("have we got nails", ()),
        ("buy the nails", ()),
    ],
)
def test_what_a_remark_says_was_got(text: str, things: tuple[str, ...]) -> None:
    tools = load_tools(None).specs
    assert got_things(text, NOTHING, tools) == things
    asked = Plan((Step("find_answer", {"question": text}),), planner="memory")
    assert got_things(text, asked, tools) == things
    assert got_things(text, _tick("nails"), tools) == ()
    assert got_things(text, Refusal("out_of_scope", "no", planner=OWNERS_WORD), tools) == ()


def test_what_was_got_is_taken_off_its_list() -> None:
    plan = taken_off(("nails",), "hardware", load_tools(None).specs)
    assert plan is not None
    assert plan.steps == (Step("remove_from_list", {"list": "hardware", "items": ["nails"]}),)
    assert taken_off(("nails",), "hardware", {}) is None


def test_what_is_ticked_off_beside_other_deeds() -> None:
    tools = load_tools(None).specs
    ticks, reads = _tick("oats"), Step("read_list", {"list": "shopping"})
    found = Plan((reads, *shifted(ticks.steps, 1), reads), confidence=0.9, planner="recall")
    text = "what's on the shopping, tick off the oats and read it again"
    assert ticked_thing("read it, tick off the oats, read it again", found) == "oats"
    assert ticked_thing(text, found) == "oats"
    plan = ticked_on_list("oats", ["shopping"], False, found, tools)
    assert isinstance(plan, Plan)
    assert [step.tool for step in plan.steps] == ["read_list", "remove_from_list", "read_list"]
    assert [step.after for step in plan.steps] == [(), (), (1,)]
    twice = Plan((*ticks.steps, *shifted(ticks.steps, 2)), planner="recall")
    assert ticked_thing("tick off the oats and the bread", twice) == ""


def test_what_is_no_reminder_is_ticked_on_its_list() -> None:
    tools = load_tools(None).specs
    lamp = ticked_on_list("lamp oil", ["shopping"], False, _off("lamp oil"), tools)
    assert isinstance(lamp, Plan)
    assert [step.tool for step in lamp.steps] == ["remove_from_list"]
    found = _tick("oats")
    plan = ticked_on_list("oats", ["shopping"], False, found, tools)
    assert isinstance(plan, Plan)
    assert [(step.tool, step.arguments) for step in plan.steps] == [
        ("remove_from_list", {"list": "shopping", "items": ["oats"]})
    ]
    both = ticked_on_list("oats", ["shopping"], True, found, tools)
    assert isinstance(both, Refusal)
    assert both.kind == "needs"
    assert ticked_on_list("oats", [], False, found, tools) is None
    assert ticked_on_list("oats", ["shopping", "party"], False, found, tools) is None


@pytest.mark.parametrize(
    ("text", "subjects", "query"),
    [
        ("reply to neil and say yes please to the hellebores", ("hellebores", "Invoice 2231"), "hellebores"),
        ("reply to neil saying the invoice is paid", ("hellebores", "Invoice 2231"), "invoice"),
        ("reply to neil saying thanks", ("hellebores", "Invoice 2231"), None),
        ("reply to neil and say yes to the hellebores", ("hellebores", "Re: hellebores"), None),
        ("reply to neil's mail", ("A mail by Neil", "Invoice 2231"), None),
    ],
)
def test_what_is_written_about_is_the_one_whose_title_is_said(
    text: str, subjects: tuple[str, ...], query: str | None
) -> None:
    reply = Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "x"})
    plan = Plan((Step("find_mail", {"sender": "Neil Sharples"}), reply))
    assert left_open(plan, load_tools(None).specs) == [0]
    found = with_said_title(text, plan, 0, [{"id": "x", "subject": subject} for subject in subjects])
    assert (None if found is None else found.steps[0].arguments.get("query")) == query


def test_nothing_is_left_open_where_a_thing_is_named_or_would_be_gone() -> None:
    tools = load_tools(None).specs
    named = Step("find_mail", {"query": "hellebores"})
    reply = Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "x"})
    assert left_open(Plan((named, reply)), tools) == []
    assert (
        left_open(Plan((Step("find_mail", {"sender": "Neil"}), Step("delete_mail", {"mail": Ref(0, ("id",))}))), tools)
        == []
    )


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("delete that easter mail from the bakery", "easter"),
        ("forward ida's october email to tom", "october"),
        ("delete the friday mail from the bakery", None),
        ("delete last week's mail from the bakery", None),
        ("delete the mail of easter monday", None),
    ],
)
def test_words_read_as_when_a_mail_came_may_be_what_it_is_about(text: str, query: str | None) -> None:
    look = Step(
        "find_mail", {"sender": "bakery", "start": "2027-03-28T00:00:00+00:00", "end": "2027-03-29T00:00:00+00:00"}
    )
    found = other_queries(
        text, Plan((look, Step("delete_mail", {"mail": Ref(0, ("id",))}))), find_slots(text, FIXED_NOW, Context())
    )
    assert [plan.steps[0].arguments for plan in found] == ([{"sender": "bakery", "query": query}] if query else [])


@pytest.mark.parametrize(
    ("subjects", "sender", "is_one"),
    [
        (("Re: The shed", "the shed"), "bo@x.example", True),
        (("The shed", "Re: The roof"), "bo@x.example", False),
        (("Re: The shed", "The shed"), "", False),
        (("The shed",), "bo@x.example", False),
    ],
)
def test_a_reply_answers_the_newest_mail_of_one_thread(subjects: tuple[str, ...], sender: str, is_one: bool) -> None:
    reply = Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "fine"})
    plan = Plan((Step("find_mail", {"sender": "bo"}), reply))
    assert replied_to(plan) == [0]
    found = to_newest_of_thread(plan, 0, [{"subject": subject, "sender": sender} for subject in subjects])
    assert (found.steps[1].arguments["mail"] if found is not None else None) == (
        Ref(0, ("0", "id")) if is_one else None
    )
    binned = Plan((plan.steps[0], Step("delete_mail", {"mail": Ref(0, ("id",))})))
    assert replied_to(binned) == []
