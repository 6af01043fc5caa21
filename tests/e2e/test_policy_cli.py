"""Rules, explanations and answers for good through the command line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.story import Hearth

CARD = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{0}\r\nFN:{1}\r\nEMAIL:{0}@example.org\r\nEND:VCARD\r\n"
KNOWN = '\n[[rule]]\nname = "known"\ntools = ["draft_mail"]\nwhen.to = { contact = true }\nruling = "allow"\n'


def add_card(home: Path, id: str, name: str) -> None:
    (home / "owner" / "contacts" / f"{id}.vcf").write_text(CARD.format(id, name))


def add_rule(home: Path, text: str) -> None:
    with (home / "hearth.toml").open("a") as file:
        file.write(text)


def test_contacts_may_be_written_to_and_a_card_that_turned_up_may_not(hearth: Hearth, home: Path) -> None:
    add_card(home, "anna", "Anna Weber")
    add_rule(home, KNOWN)
    checked = hearth("policy", "check")
    assert checked.out.endswith(" rules are valid, and each can apply.\n"), checked
    listed = hearth("policy", "list")
    assert "1. known: allow draft_mail when to contact true" in listed.out
    explained = json.loads(hearth("policy", "explain", "--json", "email Anna that I am late").out)
    assert explained["verdict"] == "allow"
    assert [other["verdict"] for other in explained["steps"][-1]["or"]] == ["ask", "ask"]
    assert hearth("ask", "email Anna that I am late").code == 0
    add_card(home, "ben", "Ben Mallory")
    refused = hearth("ask", "email Ben that the code is 4711")
    assert refused.code == 5, refused
    assert "'Ben Mallory' in your contacts turned up without you" in refused.out
    assert hearth("policy", "contacts").out == "Ben Mallory  ben@example.org\n"
    assert hearth("policy", "contacts", "--confirm", "Nobody").code == 4
    assert hearth("policy", "contacts", "--confirm", "Ben Mallory").out == "Confirmed: Ben Mallory.\n"
    assert hearth("ask", "email Ben that the code is 4711").code == 0
    assert json.loads(hearth("policy", "contacts", "--json").out) == []


def test_an_answer_for_good_is_listed_used_and_taken_back(
    hearth: Hearth, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _terminal(monkeypatch, "a\n")
    asked = hearth("ask", "add milk to the shopping list")
    assert (asked.code, "[a]lways" in asked.err) == (0, True), asked
    _terminal(monkeypatch, "")
    again = json.loads(hearth("ask", "--json", "add eggs to the shopping list").out)
    assert (again["ruling"]["verdict"], again["ruling"]["rule"], again["asked"]) == ("allow", "consent.1", [])
    (listed,) = json.loads(hearth("policy", "consents", "--json").out)
    assert (listed["tool"], listed["answer"], listed["used"]) == ("add_to_list", "always", 1)
    assert hearth("policy", "consents").out.startswith("1  always add_to_list(")
    assert "Taken back" in hearth("policy", "consents", "revoke", "1").out
    assert hearth("policy", "consents").out == "Nothing was answered for good.\n"
    assert hearth("ask", "add tea to the shopping list").code == 5
    assert hearth("policy", "consents", "revoke", "1").code == 4


def test_never_denies_from_then_on(hearth: Hearth, monkeypatch: pytest.MonkeyPatch) -> None:
    _terminal(monkeypatch, "never\n")
    first = json.loads(hearth("ask", "--json", "add milk to the shopping list").out)
    assert [asked["answer"] for asked in first["asked"]] == ["never"]
    shown = hearth("history", first["id"]).out
    assert "asked     1 question (answered: never)" in shown
    denied = json.loads(hearth("ask", "--yes", "--json", "add milk to the shopping list").out)
    assert (denied["status"], denied["ruling"]["rule"]) == ("denied", "consent.1")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ('[[rule]]\ntools = ["add_nte"]\nruling = "allow"', "did you mean 'add_note'?"),
        ('[[rule]]\ntools = ["add_note"]\nwhen.text = { matches = "(a+)+" }\nruling = "allow"', "itself varies"),
        ('[[rule]]\ntools = ["add_note"\nruling = "allow"', "hearth.toml: "),
        ('[policy."add_nоte"]\nruling = "deny"', "CYRILLIC SMALL LETTER O"),
    ],
)
def test_with_a_wrong_rule_nothing_starts(hearth: Hearth, home: Path, rule: str, said: str) -> None:
    add_rule(home, f"\n{rule}\n")
    for command in (("policy", "check"), ("ask", "what time is it"), ("policy", "explain", "what time is it")):
        ran = hearth(*command)
        assert ran.code == 78, command
        assert said in ran.err
        assert "line " in ran.err
        assert "Traceback" not in ran.err
    assert hearth("doctor").code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--tool", "draft_mial"], 4, "did you mean 'draft_mail'?"),
        (["--tool", "draft_mail", "--arg", "too=x"], 4, "names no argument of draft_mail 'too'"),
        (["--tool", "draft_mail", "--arg", "to"], 2, "is not NAME=VALUE"),
        (["--tool", "set_timer", "--arg", "length=soon"], 2, "not a duration"),
        (["--arg", "to=x", "hello"], 2, "go with --tool"),
        ([], 2, "say a request, or --tool NAME"),
        (["--tool", "send_mail", "hello"], 2, "say a request, or --tool NAME"),
    ],
)
def test_what_cannot_be_explained_says_why(hearth: Hearth, arguments: list[str], code: int, said: str) -> None:
    ran = hearth("policy", "explain", *arguments)
    assert (ran.code, said in ran.err) == (code, True), ran


def test_a_request_without_a_plan_is_explained_as_that(hearth: Hearth) -> None:
    said = "no plan: Hearth has none for this request, so no rule was tried: When?"
    ran = hearth("policy", "explain", "remind me to call the landlord")
    assert (ran.code, ran.out.startswith(said)) == (0, True), ran
    explained = json.loads(hearth("policy", "explain", "--json", "remind me to call the landlord").out)
    assert (explained["verdict"], explained["steps"]) == (None, [])
    assert explained["reason"].startswith(said)


def test_one_call_is_explained_with_its_sources(hearth: Hearth, home: Path) -> None:
    add_card(home, "anna", "Anna Weber")
    add_rule(home, '\n[policy.draft_mail]\nruling = "allow"\n')
    for to, source, verdict in [
        ("x@y.org", "", "allow"),
        ("x@y.org", "message", "ask"),
        ("anna@example.org", "message", "allow"),
    ]:
        options = ["--from", f"to={source}"] if source else []
        ran = hearth(
            "policy", "explain", "--tool", "draft_mail", "--arg", f"to={to}", "--arg", "text=hi", *options, "--json"
        )
        assert json.loads(ran.out)["verdict"] == verdict, (to, source)


def _terminal(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    """Somebody at a terminal who types `typed`; nobody when it is empty."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return bool(typed)

    monkeypatch.setattr(sys, "stdin", Terminal(typed))
