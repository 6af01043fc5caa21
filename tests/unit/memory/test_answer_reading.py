"""What an answer's words must be, before any model is asked how likely they are."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from hearth import patterns as re
from hearth.memory.inquiry.answer_reading import (
    SIGNS,
    AnswerReader,
    People,
    _cuts_word,
    _had,
    _person_meant,
    _takes_back,
    asked_of,
    asks_yes_or_no,
    chance_of,
    deed_asked,
    is_pronoun,
    lacks_kind,
    lacks_noun,
    lacks_thing,
    lines_of_others,
    of_the_writer,
    people_of,
    read_passages,
    who_told,
    with_apostrophes,
    worded_for,
)
from hearth.memory.search.passage_store import Candidate, Passage
from hearth.memory.search.search_words import key_of, keys_of
from hearth.models.span_extractor import KINDS, SPAN, Answer
from hearth.tools.memory import DOUBTED


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("what is Amund's salary", "Amund Lie\ntitle: Apprentice", True),
        ("what is the notice period of the flat", "Rent 18 600, notice three months", True),
        ("what is the notice period of the flat", "The notice period is three months", False),
        ("what is the fee of the gig", "6 000 CZK for 50 minutes", False),  # an amount says what it is
        ("which hotel does Gunn stay in", "Gunn Solheim, my sister", True),
        ("which cake does Signe want", "the cake, mamma: the almond one", False),
        ("what is the name of Darren's dog", "Darren Swift, window cleaner", True),
        ("what did the doctor say about my knee", "The knee operation of Bono", True),
        ("who fetches the cake", "I can fetch it", False),
    ],
)
def test_a_text_that_does_not_name_what_is_asked_for(question: str, text: str, lacks: bool) -> None:
    assert lacks_noun(question, text) is lacks


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("what time does Ana's plane get in", "Collect Ana: Tuesday 14:00, at the airport", True),
        ("when is Ana's eye test", "Choir practice Ana", True),
        ("where is my sister's concert", "Lunch with my sister", True),
        ("what day is Ben's dress rehearsal", "Ben swimming", True),
        ("what time does Ana's plane get in", "Plane of Ana: Tuesday 14:00", False),
        ("what day is Ben's dress rehearsal", "Nutcracker rehearsal Ben", False),
        ("when is it's turn", "Choir practice Ana", False),
        ("when's the concert", "Carol singing", False),  # of nobody
        ("what is Ana's number", "Ana Costa", False),  # asks for no time
    ],
)
def test_an_event_that_does_not_name_the_thing_of_somebody(question: str, text: str, *, lacks: bool) -> None:
    assert lacks_thing(question, text) is lacks


@pytest.mark.parametrize(
    ("question", "deed"),
    [
        ("where do I park for the meeting", "park"),
        ("what should we bring to the party", "bring"),
        ("what do I need to wear at the gala", "wear"),
        ("where do I go for the meeting", ""),
        ("where do I turn the gas off", "turn"),
        ("where do I turn up for the meeting", ""),
        ("where is the meeting", ""),
        ("what do we have on Friday", ""),
    ],
)
def test_the_deed_for_which_a_place_or_a_thing_is_asked(question: str, deed: str) -> None:
    assert deed_asked(question) == deed


@pytest.mark.parametrize(
    ("question", "had"),
    [
        ("Which of our breads has hazelnuts in it?", "hazelnuts"),
        ("What contains sesame", "sesame"),
        ("which loaf is made with hazelnuts", "hazelnuts"),
        ("who is allergic to nuts", "nuts"),
        ("who has the spare key", ""),
        ("which room has been booked", ""),
        ("what has Petra written", ""),
        ("which hotel did we book with Ana", ""),
    ],
)
def test_what_the_thing_has_that_is_asked_for(question: str, had: str) -> None:
    assert _had(question) == keys_of(had)


def test_questions_for_yes_or_no() -> None:
    assert asks_yes_or_no("is Ana vegetarian")
    assert not asks_yes_or_no("what is Ana")


def test_a_passage_that_lacks_the_questions_names_is_less_likely() -> None:
    signs = dict.fromkeys(SIGNS, 0.5) | {"bias": 1.0}
    assert chance_of(tuple((signs | {"unnamed": 2.0}).values())) < chance_of(tuple(signs.values()))


@pytest.mark.parametrize(
    ("question", "text", "lacks"),
    [
        ("what's my national insurance number", "Your van insurance, policy number TW-55", True),
        ("what's my national insurance number", "National Insurance: QQ 12 34 56 C", False),
        ("what is the guest wifi password", "wifi: plum-88", True),
        ("what is the wifi password", "wifi: plum-88", False),
        ("what is the number of our stand", "Stand 14, next to the stage", False),
        ("what is the code of the shop's safe", "The alarm code of the shop ends in 58", True),
        ("what's the code for the key safe in Whitby", "The key safe is beside the door, its code is 4471", False),
    ],
)
def test_a_text_that_has_another_kind_of_number(question: str, text: str, lacks: bool) -> None:
    assert lacks_kind(question, text) is lacks


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("dads", "dad", True),
        ("bins", "bin", True),
        ("ref", "reference", True),
        ("leccy", "electricity", True),
        ("boss", "bos", False),
        ("bus", "bu", False),
        ("gas", "ga", False),
        ("news", "new", False),
    ],
)
def test_several_or_somebodys_is_compared_as_one(one: str, other: str, is_alike: bool) -> None:
    assert (key_of(one) == key_of(other)) is is_alike


def note(text: str, title: str = "Papers", kind: str = "note", person: str = "") -> Passage:
    return Passage("r", kind, "file", title, person, None, text, 1, "p")


PEOPLE = people_of("Tilda Berg", ["Tilda Berg", "Oskar Berg", "Mona Lund"])


@pytest.mark.parametrize(
    ("question", "text", "told_of_others"),
    [
        (
            "when does oskar's licence expire",
            "Tilda licence 44, expires 2030\nOskar licence 45, expires 2027",
            ["Tilda"],
        ),
        ("when does my licence expire", "Tilda licence 44, expires 2030\nOskar licence 45, expires 2027", ["Oskar"]),
        ("what are pim's shoes", "Pim: shoes 30\nBo: shoes 28", ["Bo:"]),  # neither has a card
        ("when does mona's licence expire", "Oskar licence 45, expires 2027", ["Oskar"]),
        ("when is my jab", "book Oskar's jab on Friday", ["book"]),
        ("when is the jab", "Oskar: jab on Friday", []),
        ("what is my shoe size", "Mona: 38\nOskar: 44\nme: 40", ["Mona:", "Oskar:"]),
        ("who has oskar's keys", "Mona has the keys", []),
        ("what must the girls wear to mona's party", "The party is on 12 May. Girls in white.\nMona", []),
    ],
)
def test_lines_of_somebody_else_are_no_answer(question: str, text: str, told_of_others: list[str]) -> None:
    passage = note(text)
    lines = [passage.read[a:b].split()[0] for a, b in lines_of_others(question, passage, PEOPLE)]
    assert lines == told_of_others


def test_an_apostrophe_left_out_is_written_behind_known_names_alone() -> None:
    assert with_apostrophes("whats monas blood group and the cats name", PEOPLE).endswith(
        "mona's blood group and the cats name"
    )


@pytest.mark.parametrize(
    ("question", "text", "kind", "person", "name"),
    [
        (
            "who has the tent",
            "I have got the tent, and so has Idris. Ruben brings wood.",
            "mail",
            "Mona Lund",
            "Mona Lund and Idris",
        ),
        ("who brings the wood", "i bring the wood, Bo the bread", "note", "", "you"),
        ("who opens up on friday", "In short: you open up on Friday. Bo locks.", "mail", "Mona Lund", "you"),
        ("who can't eat fish", "Pim comes on Sunday. He can't eat fish.", "mail", "Mona Lund", "Pim"),
        ("who rings the caterer", "We ring the caterer.", "mail", "Mona Lund", ""),
        ("who would feed the cat", "Happy to feed the cat in June.", "mail", "Mona Lund", "Mona Lund"),
        ("who cannot come on sunday", "Sorry, can't come on Sunday.", "mail", "Mona Lund", "Mona Lund"),
        ("who offered to feed the cat", "Tell Bo. Happy to feed the cat.", "mail", "Mona Lund", "Mona Lund"),
        ("who wants to swap weeks", "Can you swap weeks with me?", "mail", "Mona Lund", "Mona Lund"),
        ("who asked to borrow the tent", "Could I borrow the tent?", "mail", "Mona Lund", "Mona Lund"),
    ],
)
def test_a_pronoun_that_says_who_is_resolved(question: str, text: str, kind: str, person: str, name: str) -> None:
    who = who_told(question, note(text, kind=kind, person=person))
    assert who is not None
    assert who.name == name


def test_a_name_that_says_who_stands() -> None:
    assert who_told("who brings wood", note("I have the tent. Ruben brings wood.", kind="mail", person="Mona")) is None
    assert who_told("who feeds the cat", note("Happy to feed the cat.")) is None  # of a note nobody else is the writer
    asked = who_told("who comes on sunday", note("Can you come on Sunday?", kind="mail"))
    assert asked is not None
    assert asked.name == "you"
    mail = note("Ruben offered to bring wood.", kind="mail", person="Mona")
    assert who_told("who offered to bring wood", mail) is None
    mail = note("Ruben is ill and can't come on Sunday.", kind="mail", person="Mona")
    assert who_told("who can't come on sunday", mail) is None
    mail = note("Will Ruben come on Sunday?", kind="mail", person="Mona")
    assert who_told("who wants to come on sunday", mail) is None
    mail = note("Ruben wants my old tent.", kind="mail", person="Mona")
    assert who_told("who wants the old tent", mail) is None
    assert not is_pronoun("Ruben")
    assert is_pronoun("she too")


@pytest.mark.parametrize(
    ("text", "read", "told"),
    [
        ("Ruben wants the old sofa and Idris offered the trailer.", "Ruben", ""),
        ("Ruben wants the old sofa and Idris offered the trailer.", "Idris", DOUBTED),
        ("Ruben wants the old sofa and Idris offered the old sofa bed.", "Idris", DOUBTED),
        ("The old sofa goes to Idris, who wants it.", "Idris", ""),
    ],
)
def test_a_name_of_another_clause_than_what_is_asked_is_doubted(text: str, read: str, told: float | str) -> None:
    mail = note(text, kind="mail", person="Mona")
    name, _, chance = _person_meant("who wants the old sofa", mail, read, mail.read.index(read), 0.9)
    assert (name, chance) == ((text, told) if told else (read, 0.9))


def test_a_value_that_is_taken_back_is_known() -> None:
    assert _takes_back("£350, no, only joking, £250")
    assert not _takes_back("only joking, £250")
    assert not _takes_back("£350\nonly joking")
    assert not _takes_back("1 wait " * 200)


def test_my_mother_of_a_mail_is_its_writers() -> None:
    mail = note("my mum drives", kind="mail", person="Oskar Berg")
    assert of_the_writer("mum", "my ", mail) == "Oskar Berg's mum"
    assert of_the_writer("mum", "the ", mail) == "mum"
    assert of_the_writer("mum", "my ", note("my mum drives")) == "your mum"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("mixes", "mix"),
        ("house", "home"),
        ("taking", "took"),
        ("starts", "begin"),
        ("closed", "shut"),
        ("boxes", "box"),
    ],
)
def test_common_words_for_the_same_are_compared_as_one(one: str, other: str) -> None:
    assert key_of(one) == key_of(other)


def test_a_phrase_is_compared_as_its_single_word() -> None:
    assert keys_of("when does the lease run out") == keys_of("lease expires")


def test_a_mails_greeting_of_the_owner_is_no_line_of_theirs() -> None:
    greeted = note("Tilda, I've got your wet tent 2", kind="mail", person="Mona Lund")
    assert worded_for("who has my tent", greeted, PEOPLE) == "who has my tent"
    listed = note("Tilda: tent 2\nOskar: tent 3")
    assert worded_for("which is my tent", listed, PEOPLE) == "which is Tilda's tent"


TEAMS = "team | played | won | lost | drawn | for | against | points\n" + "\n".join(
    f"Team {name} | 18 | {n} | {18 - n} | 0 | {30 + n} | {40 - n} | {3 * n}"
    for n, name in enumerate(
        [
            "Ash",
            "Bay",
            "Cob",
            "Dot",
            "Elm",
            "Fig",
            "Gum",
            "Hay",
            "Ivy",
            "Jay",
            "Kit",
            "Low",
            "Nut",
            "Oak",
            "Rye",
            "Tea",
            "Yew",
            "Zed",
        ]
    )
)


@pytest.mark.parametrize(
    "text", ["Name | St\nAna | 9\nBen       | 12\nCleo | 7", TEAMS, "fee | adult | child\nswim | 9 | 4\ngym | 12 | 6"]
)
def test_words_of_a_table_are_those_of_its_text(text: str) -> None:
    said = AnswerReader().read("who is last", text)
    words = [text[first:last] for first, last in said.spans]
    assert all(word == word.strip() and word for word in words)
    assert said.spans[-1, 1] == len(text.rstrip())
    assert len(said.start) == len(said.end) == len(words)


@pytest.mark.parametrize(
    ("question", "whose"),
    [
        ("where's the stopcock", set()),
        ("what's the wifi password", set()),
        ("what is Tom's shoe size", {"tom"}),
        ("where's Tom's passport", {"tom"}),
    ],
)
def test_a_question_word_is_nobody(question: str, whose: set[str]) -> None:
    assert asked_of(question, people_of("Ana", ["Tom Maes"])) == {key_of(name) for name in whose}


@pytest.mark.parametrize(
    ("text", "words", "is_cut"),
    [
        ("pw tangerine-42-goose", "tangerine-42", True),
        ("pw tangerine-42-goose", "42-goose", True),
        ("pw tangerine-42-goose", "tangerine-42-goose", False),
        ("net Otter_5G", "Otter", True),
        ("open until half-term", "half", False),  # no digit: two words
        ("the 2-bedroom flat - 640", "640", False),
    ],
)
def test_a_code_is_told_whole(text: str, words: str, is_cut: bool) -> None:
    start = text.index(words)
    assert _cuts_word(text, start, start + len(words)) is is_cut


LEASE = (
    "Lessor: Omar Reyes. Lessee: Freya Lund.\n1. The lessee may end the lease with six weeks' notice.\n"
    "2. The lessor must give two days' notice before a visit.\n"
)


@pytest.mark.parametrize(
    ("question", "of_others"),
    [
        ("how much notice does Freya have to give me", ["2."]),
        ("how much notice do I have to give Freya", ["1."]),
        ("how much notice does the lessor have to give", []),
        ("how much notice does Freya get before a visit", []),
    ],
)
def test_what_binds_the_other_party_is_no_answer(question: str, of_others: list[str]) -> None:
    people = People("omar", frozenset({"freya", "priya"}), frozenset({"freya", "priya"}))
    passage = note(LEASE, "Lease", "document")
    assert [passage.read[a:b].split()[0] for a, b in lines_of_others(question, passage, people)] == of_others


class Told:
    """A reader that finds the first amount of a text, surely, and notes what it was asked of."""

    def __init__(self) -> None:
        self.read_texts: list[str] = []

    def read(self, question: str, text: str) -> Answer:
        self.read_texts.append(text)
        words = [(found.start(), found.end()) for found in re.finditer(r"\S+", text)]
        place = next((k for k, (start, _) in enumerate(words) if text[start] == "£"), 0)
        logs = np.full(len(words), -12.0, np.float32)
        logs[place] = 0.0
        kinds = np.full(len(KINDS), -9.0, np.float32)
        kinds[SPAN] = 0.0
        return Answer(kinds, logs, logs, np.zeros(0, np.float32), np.zeros(0, np.float32), np.array(words, np.int32))


def mail_of(number: int, text: str, person: str = "", kind: str = "mail") -> Candidate:
    person = person or f"P{number}"
    passage = Passage(f"r{number}", kind, "message", "", person, None, text, number, f"p{number}")
    return Candidate(passage, 10.0 - number, 0.6)


@pytest.mark.parametrize(
    ("second", "is_own", "n_read"),
    [
        (mail_of(2, "The blue tent costs £30."), [], 1),
        (mail_of(2, "The red tent is £30."), [], 1),
        (mail_of(2, "The red tent costs £30, says Bo."), [], 2),  # a rival
        (mail_of(2, "The blue tent costs £30.", "P1"), [], 2),  # of the same series, perhaps
        (mail_of(2, "blue tent | £30"), [], 2),
        (mail_of(2, "The blue tent costs £30.", kind="note"), [], 2),
        (mail_of(2, "The blue tent costs £30."), [2], 2),  # the owner's own beside a stranger's
        (mail_of(2, "The blue tent costs £30."), [1, 2], 1),
    ],
)
def test_beside_a_sure_answer_only_what_may_change_it_is_read(
    second: Candidate, is_own: list[int], n_read: int
) -> None:
    reader, first = Told(), mail_of(1, "The red tent costs £25.")
    found = read_passages(
        "how much does the red tent cost",
        [first, second],
        cast(AnswerReader, reader),
        is_own=lambda passage: passage.number in is_own,
    )
    assert found[0].text == "£25"
    assert found[0].chance > 0.9
    assert len(reader.read_texts) == n_read
    assert len(read_passages("how much does the red tent cost", [first, second], cast(AnswerReader, Told()))) == 2
    polar = read_passages("is the red tent £25", [first, second], cast(AnswerReader, Told()), is_own=lambda _: False)
    assert len(polar) == 2


def test_what_will_not_be_told_settles_nothing() -> None:
    reader, first, second = Told(), mail_of(1, "The red tent costs £25."), mail_of(2, "The blue tent costs £30.")
    question = "how much does the red tent cost"
    read_passages(
        question,
        [first, second],
        cast(AnswerReader, reader),
        is_own=lambda _: False,
        is_told=lambda one: one.candidate is not first,
    )
    assert len(reader.read_texts) == 2
