"""The question for a plan, and who answers it."""

from __future__ import annotations

import io
import os

import pytest

from hearth.guard.labels import KnownAddresses, PlannedStep, Value
from hearth.guard.policy.question import (
    MAX_TEXT_CHARS,
    PROMPT,
    UNFORESEEN,
    RefusingApprover,
    TerminalApprover,
    YesApprover,
    difference,
    question,
    quoted,
    said_address,
    source_words,
)
from hearth.guard.policy.rules import Policy, Rule
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Label, Parameter, Plan, Ref, Referent, Ruling, Step, ToolSpec, Whence

TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec("find_mail", "Find mail.", (Parameter("query", "text"),), source="message"),
        ToolSpec(
            "draft_mail",
            "Draft a mail.",
            (Parameter("to", "list[EmailAddress]", is_sink=True), Parameter("text", "text")),
            effect="change",
        ),
        ToolSpec("send_mail", "Send a draft.", (Parameter("draft", "DraftId"),), effect="send"),
    )
}
PLAN = Plan(
    (
        Step("find_mail", {"query": "invoice"}),
        Step("draft_mail", {"to": ["a@example.org", Ref(0, ("sender",))], "text": 'Hi "you"'}),
        Step("send_mail", {"draft": Ref(1, ("id",))}),
    )
)
ASK = Ruling("ask", "it sends", "default")


def test_the_question_says_what_to_whom_with_which_values_and_what_can_be_undone() -> None:
    assert str(question(PLAN, TOOLS, Policy().judge(PLAN, TOOLS))) == (
        "This is what I would do:\n"
        "  1. find_mail (only reads)\n"
        '       query: "invoice"\n'
        "  2. draft_mail (changes your data; can be undone)\n"
        '       to (decides where it goes): "a@example.org", the sender from 1 (find_mail)'
        " [a stranger may have written this: find_mail (message)]\n"
        '       text: "Hi \\"you\\""\n'
        "  3. send_mail (cannot be undone)\n"
        "       draft: the id from 2 (draft_mail) [from a message you received, your own records, your request]\n"
        "I ask because draft_mail would change your data; send_mail would send something that cannot be taken back."
    )


def test_steps_agreed_to_before_are_left_out() -> None:
    text = str(question(PLAN, TOOLS, Policy().judge(PLAN, TOOLS, n_consented=2)))
    assert "3. send_mail" in text
    assert "invoice" not in text


def test_the_label_is_the_reason_when_the_tool_itself_is_allowed() -> None:
    rules = {"draft_mail": Rule("allow"), "send_mail": Rule("allow")}
    text = str(question(PLAN, TOOLS, Policy(rules).judge(PLAN, TOOLS)))
    assert text.endswith("comes from find_mail (message), which a stranger may have written.")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", '"plain"'),
        ("two\nlines", '"two\\nlines"'),
        ("\x1b[2J gone", '"\\x1b[2J gone"'),
        ("\u202egnp.exe", '"\\u202egnp.exe"'),
        ("Grüße 🎂", '"Grüße 🎂"'),
        ('end" yes', '"end\\" yes"'),
        ("x" * (MAX_TEXT_CHARS + 3), '"' + "x" * MAX_TEXT_CHARS + '…" (and 3 more characters)'),
        ("a\u3164b\u2800c\u2003d", '"a\\u3164b\\u2800c\\u2003d"'),
        ("שלום", '"שלום" (holds right-to-left letters, so it may read in another order than it is)'),
        ("anna@example.org." + "x" * 200 + ".evil.net", '"anna@example.org.' + "x" * 200 + '.evil.net"'),
    ],
)
def test_a_value_cannot_pass_for_the_question(value: str, shown: str) -> None:
    assert quoted(value) == shown


SECRETS = "the alarm code is 4711, IBAN DE89370400440532013000, see http://evil.example/x"


def _asked_with(thing: Referent) -> str:
    arguments = {"query": Value(thing.id, OWNER, things=(thing,))}
    return str(difference(PlannedStep(Plan((Step("find_mail", {"query": Ref(0)}),)), 0, TOOLS), arguments, ASK))


@pytest.mark.parametrize("n_words", [2, 60, 140])
def test_words_that_name_no_record_are_shown_whole(n_words: int) -> None:
    text = f"{'bla ' * n_words}{SECRETS}{' blub' * n_words}"
    assert f'query: "{text}"' in _asked_with(Referent(text))


def test_of_words_beyond_what_is_shown_the_telling_ones_are_listed() -> None:
    asked = _asked_with(Referent("bla " * 600 + SECRETS))
    assert "DE89370400440532013000" in asked
    assert "http://evil.example/x" in asked


@pytest.mark.parametrize("title", ["Lunch", "Lunch " * 40])
def test_a_thing_is_shown_by_its_name(title: str) -> None:
    assert f'query: "{title}"' in _asked_with(Referent("id", title))


def test_what_is_left_out_of_a_long_name_is_said() -> None:
    asked = _asked_with(Referent("id", f"{'Lunch ' * 40}{SECRETS}{' with Anna' * 40}, Tue 24 Nov 2026 09:15"))
    assert 'Tue 24 Nov 2026 09:15" (between them 4' in asked
    assert "more characters, with “DE89370400440532013000”, “http://evil.example/x”" in asked


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", "once"),
        (" YES \n", "once"),
        ("a\n", "always"),
        ("Always\n", "always"),
        ("n\n", "no"),
        ("\n", "no"),
        ("", "no"),
        ("never\n", "never"),
        ("nev\n", "no"),
        ("maybe\ny\n", "once"),
        ("maybe\n", "no"),
    ],
)
def test_only_a_clear_yes_on_a_terminal_is_a_yes(typed: str, answer: str) -> None:
    shown = io.StringIO()
    assert TerminalApprover(Terminal(typed), shown).approve("May I?", ASK) == answer
    assert shown.getvalue().startswith(f"May I?\n{PROMPT}")


def test_what_was_pasted_before_the_question_is_no_answer_to_it() -> None:
    keyboard, seen = os.openpty()
    os.write(keyboard, b"y\ny\n")  # the rest of a pasted text

    class Screen(io.StringIO):
        def flush(self) -> None:
            os.write(keyboard, b"n\n")  # typed by whoever has read the question

    with os.fdopen(seen, "r") as answers:
        assert TerminalApprover(answers, Screen()).approve("May I?", ASK) == "no"
    os.close(keyboard)


def test_input_that_is_no_terminal_is_nobody_and_nothing_is_shown() -> None:
    shown = io.StringIO()
    assert TerminalApprover(io.StringIO("y\n"), shown).approve("May I?", ASK) == "nobody"
    assert shown.getvalue() == ""


def test_nobody_and_yes_beforehand() -> None:
    assert RefusingApprover().approve("?", ASK) == "nobody"
    assert YesApprover().approve("?", ASK) == "once"
    assert YesApprover().approve("?", Ruling("ask", "a stranger's, unexpectedly", UNFORESEEN)) == "nobody"


def test_the_difference_shows_the_real_value_and_nothing_in_it_acts() -> None:
    hostile = Value(["x\x1b[2J\n@evil.example\u202e", "anna@example.org"], Label(frozenset({"message", "owner"})))
    arguments = {"to": hostile, "text": Value('Hi "you"', Label(frozenset({"owner"})))}
    book = KnownAddresses({"anna@example.org": frozenset()}, {"anna@example.org": "Anna\nI ask because nothing."})
    ruling = Ruling("ask", "it is 'x\x1b[2J'", "label")
    text = str(difference(PlannedStep(PLAN, 1, TOOLS), arguments, ruling, book))
    assert text == (
        "Before I go on with 2. draft_mail (changes your data; can be undone):\n"
        '       to (decides where it goes): "x\\x1b[2J\\n@evil.example\\u202e" (WARNING, its letters may look like others; '
        "in ASCII x\\x1b[2J\\n@evil.example\\u202e; not in your contacts), "
        '"anna@example.org" ("Anna\\nI ask because nothing." in your contacts), as "a@example.org", '
        "the sender from 1 (find_mail) [from a message you received, your request]\n"
        "I ask because it is 'x\\x1b[2J'."
    )


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({"owner"}, "your request"),
        ({"contacts", "web", "owner"}, "a web page, your contacts, your request"),
        ({"tool:bank"}, "tool:bank"),
        (set(), "nowhere in particular"),
    ],
)
def test_sources_in_words_name_strangers_first(sources: set[str], said: str) -> None:
    assert source_words(Label(frozenset(sources))) == said


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("anna@example.org", '"anna@example.org" ("Anna" in your contacts)'),
        ("ben@example.org", '"ben@example.org" (not in your contacts)'),
        (
            "anna@xn--exmple-4nf.org",
            '"anna@exаmple.org" (WARNING, its letters may look like others; in ASCII anna@xn--exmple-4nf.org; '
            "not in your contacts)",
        ),
        (
            "anna@xn--bcher-kva.example",
            '"anna@bücher.example" (in ASCII anna@xn--bcher-kva.example; not in your contacts)',
        ),
    ],
)
def test_an_address_is_shown_in_letters_with_a_warning_where_they_may_be_taken_for_others(
    address: str, shown: str
) -> None:
    book = KnownAddresses({"anna@example.org": frozenset()}, {"anna@example.org": "Anna"})
    assert said_address(address, book) == shown


def test_of_a_long_text_everything_that_identifies_is_shown() -> None:
    text = "Dear Anna,\n" + "all is well. " * 200 + "\nPay to DE89 3704 0044 0532 0130 00 or see http://evil.example/x"
    plan = Plan((Step("draft_mail", {"to": ["a@example.org"], "text": text}),))
    asked = str(question(plan, TOOLS, Policy().judge(plan, TOOLS), book=KnownAddresses()))
    assert "\n         | Dear Anna," in asked
    assert "“DE89 3704 0044 0532 0130 00”" in asked
    assert "“http://evil.example/x”" in asked
    assert '"a@example.org" (not in your contacts)' in asked


def test_many_numbers_hide_no_account_in_the_part_that_is_not_shown() -> None:
    numbers = " ".join(f"+49 30 4407{k:04}," for k in range(80))
    asked = quoted("x" * MAX_TEXT_CHARS + f" {numbers} pay to DE89370400440532013000 or see https://evil.example/pay")
    assert "“DE89370400440532013000”, “https://evil.example/pay”" in asked
    assert " more in them" in asked or " more " in asked


def test_many_steps_that_do_the_same_are_one_line_with_every_thing() -> None:
    plan = Plan(tuple(Step("send_mail", {"draft": f"d{k}"}) for k in range(61)))
    lines = str(question(plan, TOOLS, Policy().judge(plan, TOOLS))).split("\n")
    assert len(lines) == 4
    assert lines[1] == "  1–61. send_mail (cannot be undone), 61 times"
    assert lines[2].startswith('       draft, 61 of them: "d0", "d1", ')
    assert all(f'"d{k}"' in lines[2] for k in range(61))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("see https://\u0430pple.com/login", "in ASCII https://\\u0430pple.com/login"),
        ("K\u0430rin Vogt", "in ASCII K\\u0430rin"),
        ("mail \u03bfwen@example.org", "in ASCII \\u03bfwen@example.org"),
        ("hi\ufe00 there", "\\ufe00"),
        ("hi\U000e0041", "\\U000e0041"),
    ],
)
def test_a_shown_text_says_what_a_reader_would_not_see(text: str, said: str) -> None:
    assert said in quoted(text)


@pytest.mark.parametrize(
    "text", ["a 5 kΩ resistor", "see you \u2764\ufe0f", "Привет, мама", "café at naïve.example", "日本語"]
)
def test_an_ordinary_text_is_shown_as_it_is(text: str) -> None:
    assert quoted(text) == f'"{text}"'


INVOICE = Whence("message", "INBOX/1", "mail", 'Invoice 12" by "ana@kiln.example', "billing@pasture.example", FIXED_NOW)


@pytest.mark.parametrize(
    ("whence", "said"),
    [
        ((), "a message you received, your request"),
        (
            (INVOICE,),
            'the mail "Invoice 12\\" by \\"ana@kiln.example" by "billing@pasture.example" of 20 November 2026, your request',
        ),
        ((Whence("message"),), "a message you received, your request"),
        ((Whence("web", kind="page", title="x"),), "a message you received, your request"),
        (
            tuple(Whence("message", str(n), "mail", f"Mail {n}", "a@b.example") for n in range(5)),
            ", ".join(f'the mail "Mail {n}" by "a@b.example"' for n in range(3)) + ", 2 more, your request",
        ),
    ],
)
def test_a_strangers_value_is_said_with_its_record(whence: tuple[Whence, ...], said: str) -> None:
    assert source_words(Label(frozenset({"message", "owner"})), whence) == said


def test_a_record_that_is_not_known_is_said_beside_one_that_is() -> None:
    said = source_words(Label(frozenset({"message"})), (INVOICE, Whence("message")))
    assert said.endswith("of 20 November 2026, a message you received")


def test_no_record_is_named_of_a_source_that_the_value_has_not() -> None:
    assert source_words(OWNER, (INVOICE,)) == "your request"
