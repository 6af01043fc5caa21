"""python -m pytest tests/unit/guard/test_masking.py"""

from __future__ import annotations

import pytest

from hearth.config import MASK_KINDS, MASKED_KINDS
from hearth.errors import UnknownStandInError
from hearth.guard.deidentify.masker import Masked, Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.language.values.identifying import Found
from hearth.testing import FIXED_NOW
from hearth.types import Plan, Refusal, Request, Step
from tests.work import grows_in_step

NAMES = OwnerNames(
    [
        *(OwnName(name, "person") for name in ("Mia Berger", "Mia", "Berger", "Jonas Müller", "Müller", "Jonas")),
        OwnName("Acme Widgets GmbH", "organisation"),
    ]
)
MASKER = Masker(names=NAMES, country="DE")


def mask(text: str) -> Masked:
    masked = MASKER.mask(text)
    assert masked.unmask(masked.text) == text
    return masked


# ── What does not leave ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("mail mia@berger.example the plan", "mail mail1@masked.example the plan"),
        ("call +49 170 1234567 tomorrow", "call +1 202 555 0100 tomorrow"),
        ("remind me to call Mia at nine", "remind me to call Person1 at nine"),
        ("remind Mia Berger's sister", "remind Person1's sister"),
        ("open https://bank.example/account/77", "open https://site1.masked.example"),
        ("attach tax return 2025.pdf", "attach tax return File1.pdf"),
        ('send Mia "my number is 0170 1234567"', 'send Person1 "my number is +1 202 555 0100"'),
        ("MIA and mia and Mia", "PERSON1 and person1 and Person1"),
        ("Mia, then Mia", "Person1, then Person1"),
        ("tell Person1 that Mia is late", "tell Person1 that Person2 is late"),
        ("pay 4111 1111 1111 1111", "pay 9999 0000 0000 0012"),
        ("pay DE89 3704 0044 0532 0130 00", "pay ZZ39000000000000000001"),
        ("I was born on 12.03.1985", "I was born on 13.01.1900"),
        ("customer number 4711-2233", "customer number 9900-0001"),
        ("ping 10.0.0.7", "ping 240.0.0.1"),
        ("write to Acme Widgets GmbH", "write to Company1"),
        ("打电话给Mia吧", "打电话给Person1吧"),
        ("Mia2 and mia2026 and 7Mia", "Person1 and person2 and Person3"),
        ("a link to Mia%20Berger", "a link to Person1%Person2"),
        ("tell M i a and m.i.a. that I waited", "tell Person1 and person2. that I waited"),
        ("call a M-i-a  B-e-r-g-e-r", "call a Person1"),
    ],
)
def test_what_tells_who_somebody_is_has_a_stand_in(text: str, masked: str) -> None:
    assert mask(text).text == masked


@pytest.mark.parametrize(
    "text",
    [
        "remind me to water the plants tomorrow at nine",
        "set a timer for 12 minutes and 30 seconds",
        "what is 1,234.56 times 17",
        "move the meeting to 2026-11-20 at 18:30",
        "order 4711-2233 of 12 items for 19.99 €",
        "mail the summary in 3 days",
        "I may mark it as read",
        "option A, B or C, rows a b c, the U.S.A. and R2D2, room mias3x",
        "write file2 and v2mia1x",
    ],
)
def test_what_tells_nobody_stays(text: str) -> None:
    assert mask(text).text == text


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (
            "my number is oh one five one, two three four five, six seven eight",
            "oh one five one, two three four five, six seven eight",
        ),
        ("card four one one one one one one one", "four one one one one one one one"),
        ("count one two three four", ""),
        ("two eggs, three apples, four pears, five nuts, six figs, seven plums, eight beans", ""),
        ("one, two, three. Then we go.", ""),
    ],
)
def test_numbers_that_are_spelled_out_are_masked(text: str, number: str) -> None:
    masked = Masker(MASKED_KINDS).mask(text)
    assert list(masked.values.values()) == ([number] if number else [])
    assert masked.unmask(masked.text) == text


SAID_SECRETS = [
    ("the wifi password is correct horse battery staple", "correct horse battery staple"),
    ("my wifi password is sunshine seven bananas", "sunshine seven bananas"),
    ("the password is open sesame", "open sesame"),
    ("password: open sesame my friend", "open sesame my friend"),
    ("the password is sunshine", "sunshine"),
    ("the password is wrong turn ahead", "wrong turn ahead"),
    ("the password for the router in the hall is blue moon river, tell Mia", "blue moon river"),
    ("change the wifi password to blue seven banana", "blue seven banana"),
    ("my passphrase is four words of mine", "four words of mine"),
    ("seed phrase: legal winner thank year wave sausage", "legal winner thank year wave sausage"),
    ("recovery words: witch, collapse, practice, feed, shame", "witch, collapse, practice, feed, shame"),
    ("my mother's maiden name is schmidt", "schmidt"),
    ("the answer to the security question is fluffy", "fluffy"),
    ("my bank login is nora77 and kaesekuchen", "nora77 and kaesekuchen"),
    ("log in with nora and the word swordfish", "swordfish"),
    ("unlock the laptop with the passphrase green tea at dawn", "green tea at dawn"),
    ("das Passwort ist blauer mond", "blauer mond"),
    ("the pin of my card is 1 2 3 4", "1 2 3 4"),
    ("pin 1 2 3 4", "1 2 3 4"),
    ("my pin is four eight two one", "four eight two one"),
    ("the alarm code 9981", "9981"),
    ("unlock code 2580", "2580"),
    ("gate code 4711#", "4711#"),
    ("bike lock 4711", "4711"),
    ("the code of the bike lock is 123", "123"),
    ("the combination is 7-14-21", "7-14-21"),
    ("my locker combination 34 12 28", "34 12 28"),
    ("my phone unlocks with 2580", "2580"),
    ("the gate opens with 4711", "4711"),
    ("open the garage with code 482", "482"),
    ("use 482910 to log in", "482910"),
    ("482910 is your login code", "482910"),
    ("my password's Tr0mb", "Tr0mb"),
    ("the pass phrase I use is correct horse battery staple", "correct horse battery staple"),
    ("the password that we've always used is sunshine", "sunshine"),
    ("use hunter22 as the password", "hunter22"),
    ("take swordfish as my new wifi password", "swordfish"),
    ("password for netflix hunter22", "hunter22"),
    ("code 2580 for the garage", "2580"),
    ("type 7391 into the lock", "7391"),
    ("key in 7391", "7391"),
    ("punch in 7391 and wait", "7391"),
    ("change the code of the front door to 7391", "7391"),
]


@pytest.mark.parametrize(("text", "secret"), SAID_SECRETS)
def test_what_is_said_to_be_a_secret_is_masked_whole(text: str, secret: str) -> None:
    masked = Masker(["secret"]).mask(text)
    assert list(masked.values.values()) == [secret]
    assert masked.text.casefold() == text.replace(secret, "secret1").casefold()
    assert masked.unmask(masked.text) == text


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("change my password from hunter22 to Tr0mb9", "hunter22", "Tr0mb9"),
        ("SIM pin 0000 changed to 7391", "0000", "7391"),
    ],
)
def test_the_old_secret_and_the_new_one_are_masked(text: str, old: str, new: str) -> None:
    masked = Masker(["secret"]).mask(text)
    assert set(masked.values.values()) == {old, new}
    assert masked.unmask(masked.text) == text


def test_a_secret_ends_with_its_clause() -> None:
    masked = Masker(["secret"])
    text = "the gate code is 4711 and the alarm code 9981, the password is open sesame but don't tell anyone"
    assert masked.mask(text).text == (
        "the gate code is Secret1 and the alarm code Secret2, the password is secret3 but don't tell anyone"
    )
    text = "the pw is hunter2 for the guests, login: nora77 password: kuchen-blau7 (on the router)"
    assert (
        masked.mask(text).text == "the pw is secret1 for the guests, login: secret2 password: secret3 (on the router)"
    )


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong",
        "the password is wrong again",
        "the password is too short",
        "the password is the same as before",
        "the password is on the fridge",
        "the password was changed yesterday",
        "the password is eight characters long",
        "I forgot the password",
        "what's the wifi password",
        "what is the wifi password",
        "change the password to something safer",
        "my password's length is fine",
        "the password I use is wrong",
        "use it as the password",
        "use this as my password please",
        "the password for netflix is wrong",
        "change the password from time to time",
        "the password for the meeting in room 12",
        "code 2580 for the assignment",
        "key in the numbers",
        "type 200 words into the report",
        "change the code review to the afternoon",
        "send the pin to grandma",
        "is the password still valid",
        "the password policy meeting is at two",
        "the login page is slow",
        "log in with google",
        "the key is under the mat",
        "the magic word is missing",
        "change the alarm to 7",
        "set the alarm for 0730",
        "the code review is at 3",
        "the code was reviewed by a friend",
        "pin this note",
        "pin 3 photos to the board",
        "the shop opens at 0900",
        "the show opens with 300 dancers",
        "the combination of red and blue is lovely",
        "use 200 g of flour",
        "use 3 eggs to make the cake",
        "lock the door at 2200",
        "unlock the door with the key",
        "open the report with 2026 in its name",
        "show every open reminder with the word insurance in it",
    ],
)
def test_ordinary_talk_of_secrets_stays(text: str) -> None:
    assert Masker(["secret"]).mask(text).text == text


def test_only_the_kinds_that_are_chosen_are_replaced() -> None:
    text = "mail mia@berger.example or call 0170 1234567, I am 41"
    assert Masker(["phone"], country="DE").mask(text).text == "mail mia@berger.example or call +1 202 555 0100, I am 41"
    assert set(MASKED_KINDS) < set(MASK_KINDS)


def test_several_texts_of_a_conversation_share_their_stand_ins() -> None:
    masked = MASKER.mask("call Mia", "Mia did not answer, call Jonas")
    assert masked.texts == ("call Person1", "Person1 did not answer, call Person2")


def test_of_what_a_model_is_told_only_the_owners_names_are_hidden_and_no_tools() -> None:
    masker = Masker(names=OwnerNames([OwnName("Mia", "person"), OwnName("Alarm", "person")]))
    masked = masker.mask("set_alarm(id): calls 0170 1234567 of Mia", told=[True])
    assert masked.text == "set_alarm(id): calls 0170 1234567 of Person1"


def test_overlapping_finds_are_one_and_the_surer_kind_names_them() -> None:
    def tag(texts: object) -> list[list[Found]]:
        return [[Found(5, 14, "organisation", "tagger")]]

    masked = Masker(names=NAMES, tag=tag).mask("mail mia@berger.example")
    assert masked.text == "mail mail1@masked.example"


def test_long_texts_take_work_in_step_with_their_length() -> None:
    piece = "Mia called 0170 1234567 and wrote to mia@berger.example, then ordinary words went on and on for a while. "
    masked = MASKER.mask(piece * 2_000)
    assert masked.unmask(masked.text) == piece * 2_000
    assert len(masked.values) == 3
    assert grows_in_step(lambda n: MASKER.mask(piece * n), 200, 800)


@pytest.mark.parametrize(
    "piece",
    ["1", "a", "@", "1 ", "-", "+(", " ", "a.b", "Mia", "call ", "street ", ":", "pin ", "9999 ", "王", "a@", "12.", "1900-01-13", "Person1 ", "a ", "M.i.a ", "mia1", "password is ", "password: a ", "open with ", "1 2 ", "use 1 to ", "he hits ", "code of a "],
)  # fmt: skip
def test_no_run_of_anything_takes_long(piece: str) -> None:
    """In step with the square of the length, 100 kB would take minutes."""
    mask(piece * (100_000 // len(piece)))
    assert grows_in_step(lambda n: mask(piece * (n // len(piece))), 2_500, 10_000)


# ── What comes back ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Person1", "Mia"),
        ("person1 and PERSON1", "Mia and Mia"),
        ("Person1's and Person1s", "Mia's and Mias"),
        ("Person 1, Person_1, person-1", "Mia, Mia, Mia"),
        ("Person12 stays", "Person12 stays"),
        ("MAIL1@MASKED.EXAMPLE", "mia@berger.example"),
        ("+12025550100 or (202) 555-0100", "0170 1234567 or 0170 1234567"),
        ("9999000000000012", "4111 1111 1111 1111"),
        ("site1.masked.example/page", "https://b.example/x/page"),
        ("1900-01-13", "1985-03-12"),
        ("13.01.1900", "12.03.1985"),
        ("File1.txt", "plan.txt"),
        ("ZZ39 0000 0000 0000 0000 01", "DE89 3704 0044 0532 0130 00"),
    ],
)
def test_a_stand_in_that_was_changed_a_little_is_put_back(said: str, meant: str) -> None:
    masked = mask(
        "Mia, mia@berger.example, call 0170 1234567, card 4111 1111 1111 1111, https://b.example/x, born 12.03.1985, "
        "plan.pdf, DE89 3704 0044 0532 0130 00"
    )
    assert masked.unmask(said) == meant


@pytest.mark.parametrize(
    "said", ["Person7", "call Person12 now", "mail3@masked.example", "https://site9.masked.example", "+1 202 555 0199", "9999 0000 0000 9999"]
)  # fmt: skip
def test_a_stand_in_that_was_never_given_out_is_an_error(said: str) -> None:
    masked = mask("mail Mia")
    with pytest.raises(UnknownStandInError, match="stands for nothing it was told"):
        masked.restore(said, "gpt")
    with pytest.raises(UnknownStandInError):
        masked.unmask_answer(Plan((Step("t", {"to": [{"x": said}]}),)))


def test_what_the_owner_said_is_no_unknown_stand_in() -> None:
    masked = mask("tell Person7 and Mia")
    assert masked.restore("Person7 and Person1, on day 1 of number 5", "gpt") == "Person7 and Mia, on day 1 of number 5"


def test_a_plan_gets_its_values_back_wherever_they_stand() -> None:
    masked = mask("mail Mia")
    (name,) = masked.values
    plan = Plan(
        (Step("t", {"a": name, "b": [f"to {name}", 3], "c": {"d": name}}, text=f"mail {name}"),), unserved=(name,)
    )
    answer = masked.unmask_answer(plan)
    assert isinstance(answer, Plan)
    assert answer.steps[0].arguments == {"a": "Mia", "b": ["to Mia", 3], "c": {"d": "Mia"}}
    assert answer.steps[0].text == "mail Mia"
    assert answer.unserved == ("Mia",)
    refusal = masked.unmask_answer(Refusal("needs", f"which {name}?"))
    assert isinstance(refusal, Refusal)
    assert refusal.reason == "which Mia?"


def test_a_planner_knows_stand_ins_of_people_and_nothing_else() -> None:
    masked = mask("mail Mia at mia@berger.example about the kitchen")
    context = masked.names()
    assert context.owner == ""
    assert [entity.name for entity in context.entities] == ["Person1"]
    sent = masked.request(Request("mail Mia at …", FIXED_NOW, "line 7"))
    assert (sent.text, sent.id, sent.now) == (masked.text, "", FIXED_NOW)


def test_a_text_made_of_stand_ins_is_masked_with_words_it_does_not_hold() -> None:
    masked = mask("DE89 3704 0044 0532 0130 00ssn 123-45-6789 Mia Xbbbbb")
    assert masked.stand_ins.nonce == "Xbbbbc"
    assert "Mia" not in masked.text
