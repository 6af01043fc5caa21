"""The report says what happened, loads nothing from anywhere, and no word in it becomes markup."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from hearth.errors import HearthError
from hearth.formats.terminal_text import table_lines
from hearth.serve.history import MAX_FULL, Chapter, milliseconds, outcome, render_report, write_report
from hearth.types import (
    Answer,
    Disclosure,
    Episode,
    Evidence,
    Label,
    Offer,
    Plain,
    Plan,
    Ref,
    Refusal,
    Request,
    Ruling,
    Step,
    StepResult,
    ToolSpec,
)

NOW = dt.datetime(2026, 11, 20, 9, 5, tzinfo=dt.UTC)
TOOLS = {
    "find_contact": ToolSpec("find_contact", "Find one."),
    "draft_mail": ToolSpec("draft_mail", "Draft.", effect="change"),
    "find_mail": ToolSpec("find_mail", "Find mail."),
}
HOSTILE = '</script><script>alert(1)</script><img src=x onerror=alert(2)>"\u202e\x1b[31m'
ALLOW = Ruling("allow", "both only change what can be undone", "policy.draft_mail")


def _done(request: str = "email Ben that the felt is green", value: str = "ben@example.org") -> Episode:
    plan = Plan(
        (
            Step("find_contact", {"name": "Ben"}),
            Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "the felt is green"}),
        ),
        0.9,
        "recall",
    )
    results = (
        StepResult(
            0, "done", {"id": "1", "name": "Ben", "email": value}, Label(frozenset({"contacts"})), duration_ms=2
        ),
        StepResult(1, "done", {"id": "2", "to": [value], "text": "the felt is green"}, duration_ms=4),
    )
    answer = Answer("Draft written.", "done", (Evidence(1, "the felt is green", "draft_mail: 2"),))
    return Episode("ep-1", Request(request, NOW), plan, None, ALLOW, results, answer, (), 12.5, 8.0)


def _refused() -> Episode:
    refusal = Refusal("out_of_scope", "no tool books tables", offer=Offer("add_reminder", "I can remind you"))
    answer = Answer("I can't do that yet.", "refused")
    return Episode("ep-2", Request("book a table", NOW), None, refusal, None, (), answer, (), 9, 8)


def _failed() -> Episode:
    plan = Plan(
        (Step("find_contact", {"name": "Anna"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "hi"}))
    )
    results = (
        StepResult(0, "failed", error="2 contacts match 'Anna'; say which one", error_kind="Ambiguous", n_attempts=1),
        StepResult(1, "skipped"),
    )
    answer = Answer("That did not work.", "failed")
    return Episode("ep-3", Request("email Anna hi", NOW), plan, None, ALLOW, results, answer, (), 20, 8, 1)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def _page(html: str) -> _Page:
    page = _Page()
    page.feed(html)
    return page


def _rows(html: str) -> list[list[object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    rows: list[list[object]] = json.loads(found[1])
    return rows


def test_an_episode_is_told_in_full() -> None:
    html = render_report([_done()], TOOLS, {"started": NOW, "wall_s": 2.345, "n_tools": 46})
    words = " ".join(_page(html).words)
    for said in (
        "email Ben that the felt is green",
        "recall, confidence 0.90",
        "① find_contact",
        'text: "the felt is green"',
        "allow",
        ALLOW.reason,
        "ben@example.org",
        "Draft written.",
        "draft_mail: 2",
        "Nothing left the device",
        "12.5 ms",
        "2.3 s",
        "Fri 20 Nov 2026, 09:05",
    ):
        assert said in words


def test_chapters_stand_under_their_headings_with_what_was_said_between() -> None:
    one, other = replace(_done(), id="one"), replace(_refused(), id="other")
    chapters = (
        Chapter("Morning & noon", ("a teacher was joined", one, "went out as: “<b>”")),
        Chapter("Night", (other, replace(_failed(), id="elsewhere"))),
    )
    html = render_report([one, other], TOOLS, {}, chapters)
    marks = ["Morning &amp; noon", "a teacher was joined", 'id="e1"', "went out as: “&lt;b&gt;”", "Night", 'id="e2"']
    assert sorted(marks, key=html.index) == marks
    assert html.count('<section class="chapter">') == 2
    assert html.count('<details class="episode"') == 2, "only what the report is of"
    assert '<section class="chapter">' not in render_report([one, other], TOOLS, {})


@pytest.mark.parametrize("folder", ["a home", 'o\'b & "c" <d>'])
def test_a_report_calls_the_home_by_its_name(tmp_path: Path, folder: str) -> None:
    home = tmp_path / folder / "mine"
    seen = replace(_done(), request=Request(f"show {home}/video/s7.jpg", NOW))
    write_report(tmp_path / "r.html", [seen], TOOLS, {"home": home}, home=home)
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert str(tmp_path) not in html
    assert _rows(html)[0][1] == "show mine/video/s7.jpg"
    assert "show mine/video/s7.jpg" in " ".join(_page(html).words)


def test_a_revision_is_shown_as_it_was_typed_with_its_reading_below() -> None:
    revised = replace(_done(), request=Request("add a reminder the boiler service", NOW, said="no, as a reminder"))
    html = render_report([revised], TOOLS, {})
    assert _rows(html)[0][1] == "no, as a reminder"
    words = " ".join(_page(html).words)
    assert words.index("no, as a reminder") < words.index("read as: add a reminder the boiler service")
    line = table_lines([revised])[1]
    assert "no, as a reminder" in line
    assert "boiler" not in line


def test_the_graph_has_its_boxes_and_arrows() -> None:
    page = _page(render_report([_done()], TOOLS, {}))
    assert sum(tag == "path" and a.get("class") == "arrow" for tag, a in page.tags) == 1
    assert sum(tag == "g" and a.get("class") == "node done" for tag, a in page.tags) == 2


def test_a_long_plan_is_text() -> None:
    steps = tuple(Step("find_contact", {"name": f"p{k}"}) for k in range(13))
    episode = Episode("e", Request("all", NOW), Plan(steps), None, ALLOW, (), Answer("ok", "done"))
    page = _page(render_report([episode], TOOLS, {}))
    assert not any(tag == "g" for tag, _ in page.tags)
    assert "13 find_contact" in " ".join(page.words)


def test_words_never_become_markup() -> None:
    episodes = [_done(HOSTILE, HOSTILE) for _ in range(MAX_FULL + 1)]
    html = render_report(episodes, TOOLS, {"home": HOSTILE})
    page = _page(html)
    assert [a for tag, a in page.tags if tag == "script"] == [{"type": "application/json", "id": "data"}, {}]
    assert not any(tag == "img" for tag, _ in page.tags)
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert all("<script>" in str(row[1]) for row in _rows(html))


def test_nothing_is_loaded_from_anywhere() -> None:
    html = render_report([_done(), _refused(), _failed()], TOOLS, {})
    page = _page(html)
    linked = {
        value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href", "action")
    }
    assert linked <= {"#main", "#numbers"}
    assert "url(" not in re.sub(r"url\(#tip\)", "", html)
    assert "@import" not in html
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "'sha256-" in policy


def test_the_summary_counts_and_gives_reasons() -> None:
    words = " ".join(
        " ".join(_page(render_report([_done(), _refused(), _refused(), _failed()], TOOLS, {})).words).split()
    )
    assert "4 requests" in words
    assert "no tool for it; offered add_reminder 2 book a table" in words
    assert "find_contact: Ambiguous 1 email Anna hi" in words
    assert "50.0 %" in words


def test_what_left_is_summed_by_host() -> None:
    done = _done()
    sent = Disclosure("api.example.org", 1500, "language model", NOW)
    episode = Episode(
        "e", done.request, done.plan, None, ALLOW, done.results, done.answer, (sent, sent), done.duration_ms
    )
    words = " ".join(" ".join(_page(render_report([episode], TOOLS, {})).words).split())
    assert "3,000 bytes left the device" in words
    assert "api.example.org language model 2 3,000" in words


def test_a_long_run_stays_small_and_complete() -> None:
    episodes = [(_done, _refused, _failed)[k % 3]() for k in range(4320)]
    html = render_report(episodes, TOOLS, {})
    assert len(html.encode()) < 15_000_000
    rows = _rows(html)
    assert len(rows) == 4320
    assert html.count('<details class="episode"') == MAX_FULL
    assert rows[MAX_FULL][6] == "That did not work."
    assert "find_contact" in str(rows[MAX_FULL][7])
    assert rows[0][6:8] == ["", ""]


def test_no_requests() -> None:
    words = " ".join(" ".join(_page(render_report([], TOOLS, {})).words).split())
    assert "0 requests" in words
    assert "There were no requests." in words


def test_results_of_every_shape() -> None:
    plan = Plan(tuple(Step("find_mail") for _ in range(4)))
    record: Plain = {
        "id": "m",
        "subject": "Roof",
        "tags": ["a", "b"],
        "empty": "",
        "sender": {"name": "Ben"},
        "received": "2026-11-20",
    }
    values: list[Plain] = [[record] * 9, [], "only text", [1, 2]]
    results = tuple(StepResult(k, "done", value) for k, value in enumerate(values))
    episode = Episode("e", Request("x", NOW), plan, None, ALLOW, results, Answer("ok", "done"))
    words = " ".join(" ".join(_page(render_report([episode], TOOLS, {})).words).split())
    assert "subject tags sender received" in words
    assert "Roof a; b name Ben Fri 20 Nov 2026" in words
    assert "and 3 more" in words
    assert "nothing found" in words
    assert "only text" in words


def test_outcomes_group_alike() -> None:
    assert outcome(_failed()) == "find_contact: Ambiguous"
    assert outcome(_refused()) == "no tool for it; offered add_reminder"
    needs = Refusal("needs", "when?", ("add_reminder.at",))
    asked = Episode("e", Request("x", NOW), None, needs, None, (), Answer("When?", "needs"))
    assert outcome(asked) == "something is missing (add_reminder.at)"
    denied = Episode("e", Request("x", NOW), _done().plan, None, Ruling("deny", "no"), (), Answer("no", "denied"))
    assert outcome(denied) == "no"
    partly = Episode("e", Request("x", NOW), Plan((), unserved=("fly",)), None, ALLOW, (), Answer("a", "partly"))
    assert outcome(partly) == "a part has no tool"
    assert outcome(_done()) == "done"


def test_times_in_words() -> None:
    assert [milliseconds(t) for t in (7.44, 320.2, 2100)] == ["7.4 ms", "320 ms", "2.1 s"]


def test_writing_replaces_at_once(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    write_report(path, [_done()], TOOLS, {})
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_a_report_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    target = tmp_path / "missing" / "report.html"
    with pytest.raises(
        HearthError, match=r"cannot write the report to '.*report.html': No such file.*; choose another"
    ):
        write_report(target, [_done()], TOOLS, {})
