"""Texts are turned to the one who is told."""

from __future__ import annotations

import datetime as dt

import pytest

from hearth.language.discourse.relative_anchors import as_question, said_to
from hearth.language.reading import Utterance
from hearth.planning.dialogue.amendments import said_directly, turned_to_told
from hearth.registry import load_tools
from hearth.types import Argument, Context, Entity, Plan, Ref, Refusal, Request, Step

_NOW = dt.datetime(2026, 11, 23, 9, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "told", "turned"),
    [
        ("she can come", "Ivy", "you can come"),
        ("we'll pick her up at six", "Ivy", "we'll pick you up at six"),
        ("her parcel is here", "Ivy", "your parcel is here"),
        ("the boiler makes that noise again and can he get someone out", "Graham", None),
        ("he's late again", "Tom", "you're late again"),
        ("he's got until Friday", "Tom", "you've got until Friday"),
        ("she needs to bring her own towel", "Ivy", "you need to bring your own towel"),
        ("she never replies", "Ivy", "you never reply"),
        ("if she watches it herself, it is hers", "Ivy", "if you watch it yourself, it is yours"),
        ("is he in on Monday", "Tom", "are you in on Monday"),
        ("I saw him", "Tom", "I saw you"),
        ("He was right", "Tom", "You were right"),
    ],
)
def test_what_is_said_of_the_one_told_is_said_to_them(text: str, told: str, turned: str | None) -> None:
    if turned is None:
        turned = text.replace("can he", "can you")
    assert said_to(text, told, {"ivy", "tom", "graham"}) == turned


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Mia says she is ill", "Ivy"),  # somebody else was named
        ("she will see him", "Ivy"),  # two people
        ("he is asleep", "mum"),  # not of her
        ("the class begins at nine", "Ivy"),  # of nobody
        ("they can come", "Ivy"),  # not covered
        ("my brother lost his key", "Ivy"),
    ],
)
def test_what_may_be_of_somebody_else_stays(text: str, told: str) -> None:
    assert said_to(text, told, {"ivy", "mia"}) == text


def _plan(text: str) -> Plan:
    return Plan(
        (Step("find_contact", {"name": "Ivy"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": text})),
        planner="recall",
    )


@pytest.mark.parametrize(
    ("said", "text", "turned"),
    [
        ("tell Ivy that she can come", "she can come", "you can come"),
        ("let ivy know she can come", "she can come", "you can come"),
        ('email Ivy "she can come"', "she can come", "she can come"),  # her own words
        ("my note about Ivy: she can come", "she can come", "she can come"),  # nobody is told
    ],
)
def test_a_draft_is_turned_where_the_request_tells(said: str, text: str, turned: str) -> None:
    context = Context(entities=(Entity("Ivy Lang", "person", ("Ivy",)),))
    found = turned_to_told(_plan(text), Utterance(said, _NOW, context=context))
    assert found.steps[1].arguments["text"] == turned
    assert found.steps[0] == _plan(text).steps[0]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("if you can come on Friday", "Can you come on Friday?"),
        ("whether you still want the bike", "Do you still want the bike?"),
        ("if you're in", "Are you in?"),
        ("if we could swap.", "Could we swap?"),
        ("if it fits", "Can you tell me if it fits?"),
        ("whether the shop is open.", "Can you tell me whether the shop is open?"),
        ("when you are home", "Can you tell me when you are home?"),
        ("what time dinner is", "Can you tell me what time dinner is?"),
        ("what time is dinner", "What time is dinner?"),
        ("who else is coming", "Who else is coming?"),
        ("what's for lunch?", "What's for lunch?"),
        ("can you mind the kids", "Can you mind the kids?"),
        ("to bring the cake", "Can you bring the cake?"),
        ("not to ring before nine", "Please don't ring before nine."),
        ("for the recipe", "Could I have the recipe, please?"),
        ("to dinner on Sunday", "Would you like to come to dinner on Sunday?"),
        ("round for a coffee", "Would you like to come round for a coffee?"),
        ("about the deposit", "Can you tell me about the deposit?"),
        ("for lunch money", "Could I have lunch money, please?"),
        ("for lunch on Friday", "Would you like to come for lunch on Friday?"),
        ("to a party", "Would you like to come to a party?"),
        ("to drink more", "Can you drink more?"),
        ("whether you and Ida can come", "Can you tell me whether you and Ida can come?"),
        ("if you'd seen it", "Can you tell me if you'd seen it?"),
        ("can't you come earlier", "Can't you come earlier?"),
        ("for your drill. Mine is broken.", "Could I have your drill, please? Mine is broken."),
        ("for the recipe, I lost it", "Could I have the recipe, please? I lost it."),
        ("for the scores because mine are gone", "Could I have the scores, please? Mine are gone."),
        ("if you can come, the car is broken", "Can you come? The car is broken."),
        ("what time you are home, I'm cooking", "Can you tell me what time you are home? I'm cooking."),
        (
            "when practice is and can you bring the music",
            "Can you tell me when practice is? And can you bring the music?",
        ),
        ("what it costs and when it comes", "Can you tell me what it costs and when it comes?"),
        ("for the scores, the dates and the address", "Could I have the scores, the dates and the address, please?"),
        ("the deposit, I lost it", "the deposit, I lost it"),
        ("to come so I can show you the roof", "Can you come so I can show you the roof?"),
        ("for the recipe, please", "Could I have the recipe, please?"),
        ("if you can come please", "Can you come?"),
        ("the deposit", "the deposit"),
        ("for 20", "for 20"),
    ],
)
def test_what_somebody_is_asked_is_a_question(text: str, question: str) -> None:
    assert as_question(text) == question


@pytest.mark.parametrize(
    ("said", "text", "written"),
    [
        ("ask Tom if hes coming", "if hes coming", "Are you coming?"),
        ("tell Tom I'll see if he can", "I'll see if he can", "I'll see if you can"),
        # The words of the question that a planner leaves before the text are of it.
        ("ask Tom what the deposit is", "the deposit is", "Can you tell me what the deposit is?"),
        ("ask Tom who else is coming and send it", "else is coming", "Who else is coming?"),
        ("mail Tom and ask when he can come", "he can come", "Can you tell me when you can come?"),
        ("email Tom can he mind the dog on Friday", "the dog on Friday", "Can you mind the dog on Friday?"),
        ("write Tom an email can he mind the dog", "the dog", "Can you mind the dog?"),
        ("ask Tom what's the best time to call", "the best time to call", "What's the best time to call?"),
        ("ask Tom, could he bring his drill?", "bring his drill", "Could you bring your drill?"),
        ("ask Tom about the tent", "the tent", "Can you tell me about the tent?"),
        ("email Tom the notes", "the notes", "the notes"),
    ],
)
def test_a_question_is_written_only_where_somebody_is_asked(said: str, text: str, written: str) -> None:
    steps = (Step("find_contact", {"name": "Tom"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": text}))
    known = Context("Mira", (Entity("Tom", "person"),))
    assert turned_to_told(Plan(steps), Utterance(said, _NOW, context=known)).steps[1].arguments["text"] == written


SPECS = load_tools(None).specs
KNOWN = Context("Mira", (Entity("Ivy Marsh", "person", ("Ivy",)), Entity("Tom", "person")))
UNSURE = Refusal("out_of_scope", "I'm not sure what you mean.", planner="recall")


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            "tell Ivy yeah I'll get you from college at one and I've got change",
            "yeah I'll get you from college at one and I've got change",
        ),
        ("text ivy marsh sorry can't make it", "sorry can't make it"),
        ("let Tom know I'm running late", "I'm running late"),
        ("please tell Tom that we're at the gate", "we're at the gate"),
        ("write ivy a quick mail: boxes are nearly all packed, more by the 4th", "boxes are nearly all packed, more by the 4th"),
        ("email Tom: the drill is back, come and get it", "the drill is back, come and get it"),
        ("text Tom are you home", "are you home"),
    ],
)  # fmt: skip
def test_direct_speech_is_written_whole(said: str, text: str) -> None:
    found = said_directly(Utterance(said, _NOW, context=KNOWN), UNSURE, SPECS)
    assert isinstance(found, Plan)
    assert [step.tool for step in found.steps] == ["find_contact", "draft_mail"]
    assert found.steps[1].arguments["text"] == text
    short = Plan(
        (found.steps[0], Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "college"})), planner="recall"
    )
    whole = said_directly(Utterance(said, _NOW, context=KNOWN), short, SPECS)
    assert isinstance(whole, Plan)
    assert whole.steps == found.steps
    assert said_directly(Utterance(said, _NOW, context=KNOWN), found, SPECS) is None


def test_who_is_asked_for_a_file_is_sent_none() -> None:
    said = Utterance("ask Tom for the recipe", _NOW, context=KNOWN)
    draft: dict[str, Argument] = {"to": [Ref(1, ("email",))], "text": "recipe", "attachments": [Ref(0, ("path",))]}
    attached = Plan(
        (Step("find_files", {"query": "recipe"}), Step("find_contact", {"name": "Tom"}), Step("draft_mail", draft))
    )
    plan = said_directly(said, attached, SPECS)
    assert isinstance(plan, Plan)
    assert [step.tool for step in plan.steps] == ["find_contact", "draft_mail"]
    assert plan.steps[1].arguments["text"] == "Could I have the recipe, please?"
    sent = Utterance("email Tom the recipe", _NOW, context=KNOWN)
    assert said_directly(sent, attached, SPECS) is None


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("ask Tom for the recipe, I lost it", "Could I have the recipe, please? I lost it."),
        ("ask Tom for his number, he changed it", "Could I have your number, please? You changed it."),
        ("ask Tom when the talk starts and where it is", "Can you tell me when the talk starts and where it is?"),
        ("ask Tom how long the ham takes and what temperature", "Can you tell me how long the ham takes and what temperature?"),
        ("ask Tom for the recipe and remind me to buy flour at five", ""),
        ("ask Tom for the recipe, remind me to buy flour at five", ""),
        ("ask Tom when the talk starts and add it to my calendar", ""),
        ("ask Tom for the recipe and what is the weather tomorrow", ""),
    ],
)  # fmt: skip
def test_what_is_stated_or_asked_behind_a_question_goes_with_it(said: str, text: str) -> None:
    looked = Plan((Step("find_contact", {"name": "Tom"}),), planner="recall")
    utterance = Utterance(said, _NOW, context=KNOWN)
    found = said_directly(utterance, looked, SPECS)
    assert (found.steps[1].arguments["text"] if isinstance(found, Plan) else "") == text


@pytest.mark.parametrize(
    "said",
    [
        "tell Ivy about the party",
        "tell Zoe I'm late",
        "tell me I'm great",
        "let Ivy have it",
        "tell Ivy I'm late and remind me to buy bread at five",
        "tell Ivy I'm fine with the plan and ask Tom if he can open up",
        "email Tom the notes: they are in my files",
        "email Tom: the drill is back. and remind me to buy bread at five",
        "tell Ivy",
        "did I tell Ivy I'm late",
    ],
)
def test_what_is_no_direct_speech_to_somebody_known_stays(said: str) -> None:
    assert said_directly(Utterance(said, _NOW, context=KNOWN), UNSURE, SPECS) is None


def test_what_the_owner_refused_or_something_else_is_not_written() -> None:
    request = Request("tell Ivy I'm late", _NOW)
    assert said_directly(Utterance.of(request, KNOWN), Refusal("out_of_scope", "", planner="owner"), SPECS) is None
    assert (
        said_directly(
            Utterance.of(request, KNOWN), Refusal("needs", "When?", ("add_reminder.at",), planner="recall"), SPECS
        )
        is None
    )
    assert said_directly(Utterance.of(request, KNOWN), Plan((Step("add_reminder", {"text": "x"}),)), SPECS) is None


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("reply to ivy no that is too early", "no that is too early"),
        ("reply tom yes do order it for saturday", "yes do order it for saturday"),
        (
            "answer Ivy that the rent is due on the 1st and tom will collect it",
            "the rent is due on the 1st and tom will collect it",
        ),
        ("write back to ivy marsh: of course, see you on sunday", "of course, see you on sunday"),
        ("reply to Tom monday works, see you at 12", "monday works, see you at 12"),
        ("reply to tom thanks", "thanks"),
    ],
)
def test_what_is_replied_to_somebody_known_is_the_whole_text(said: str, text: str) -> None:
    short = Plan((Step("find_mail", {"sender": "ivy no"}), Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "x"})))
    for found in (short, UNSURE):
        plan = said_directly(Utterance(said, _NOW, context=KNOWN), found, SPECS)
        assert isinstance(plan, Plan)
        assert [step.tool for step in plan.steps] == ["find_mail", "draft_reply"]
        assert plan.steps[0].arguments == {"sender": "Tom" if "tom" in said.lower().split()[1:3] else "Ivy Marsh"}
        assert plan.steps[1].arguments["text"] == text


@pytest.mark.parametrize(
    "said",
    [
        "reply to ivy about the party",
        "reply to Ivy's last mail saying yes",
        "reply to zoe that I'm late",
        "reply to Tom",
        "reply to Tom yes please and remind me to buy bread at five",
    ],
)
def test_a_reply_whose_text_is_not_marked_off_is_left_to_the_planner(said: str) -> None:
    assert said_directly(Utterance(said, _NOW, context=KNOWN), UNSURE, SPECS) is None


def test_nobody_else_who_is_named_is_written_to_in_the_place_of_her() -> None:
    request = Request("tell her yes and tom will bring the chairs", _NOW)
    guessed = Plan(
        (Step("find_contact", {"name": "Tom"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "x"}))
    )
    asked = said_directly(Utterance.of(request, KNOWN), guessed, SPECS)
    assert isinstance(asked, Refusal)
    assert asked.kind == "needs"
    assert asked.reason == "Who is “her”? I need to know that to draft a mail."
    assert said_directly(Utterance.of(request, KNOWN), UNSURE, SPECS) is None


def test_who_is_met_by_somebody_named_is_the_one_told() -> None:
    people = {"ron", "joan"}
    assert said_to("fine and ron will meet her at the gate", "Joan", people) == "fine and ron will meet you at the gate"
    assert said_to("ron says her car is here", "Joan", people) == "ron says her car is here"
