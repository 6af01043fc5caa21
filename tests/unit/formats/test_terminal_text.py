"""What a person reads in a terminal: broken between words, free of control characters, nothing said twice."""

from __future__ import annotations

import datetime as dt

from hearth.formats.terminal_text import answer_lines, clean, episode_lines, evidence_lines, wrapped
from hearth.types import Answer, Episode, Evidence, Request

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)


def episode(text: str, *evidence: Evidence) -> Episode:
    return Episode("e1", Request("what", NOW), None, None, None, (), Answer(text, "done", evidence))


def test_lines_break_between_words_and_keep_their_indentation() -> None:
    assert wrapped("  · Run with Leo, tomorrow at 08:30", 24) == ["  · Run with Leo,", "    tomorrow at 08:30"]
    assert wrapped("one\n\ntwo", 40) == ["one", "", "two"]
    assert wrapped("https://example.org/" + "x" * 60, 30) == ["https://example.org/" + "x" * 60]


def test_escape_sequences_of_a_mail_stay_text() -> None:
    assert "\x1b" not in "\n".join(answer_lines(episode("red \x1b[31m and \u202eback")))
    assert clean("a\tb") == "a·b"


def test_evidence_that_the_answer_says_is_not_said_again() -> None:
    said = Evidence(1, "Draft to ben@example.org", "draft_mail: Drafts/1")
    new = Evidence(0, "Ben Ashworth, ben@example.org", "find_contact: demo-ben")
    both = episode("Draft to ben@example.org", new, said)
    assert evidence_lines(both, is_new=True) == ["[1] find_contact: Ben Ashworth, ben@example.org"]
    assert len(evidence_lines(both)) == 2
    assert "  evidence  1 record, said above" in episode_lines(episode("Draft to ben@example.org", said), {})
    many = episode("2 events", Evidence(0, "A", "find_events: a"), Evidence(0, "B", "find_events: b"))
    assert evidence_lines(many) == ["[1] find_events: 2 records: A; B"]
