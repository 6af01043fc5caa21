"""Devices, recordings, skills, settings and attached files on the page, over a real home."""

from __future__ import annotations

import datetime as dt
import functools
import html
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hearth.agent import Agent
from hearth.memory.facts import ME, NewFact
from hearth.protocols import Recording, Sighting
from hearth.testing import ScriptedFootage
from hearth.types import Answer, Episode, Plan, Request, Ruling, Step, StepResult
from tests.served_home import Served, made, served, until

DEVICES = """
[[home.device]]
name = "ceiling lamp"
room = "kitchen"
kind = "lamp"

[[home.device]]
name = "front door"
room = "hall"
kind = "lock"
"""
NOTED = "note it"
PLANS = {NOTED: Plan((Step("add_note", {"title": "Day", "text": "over"}), Step("current_time")), 1.0, "scripted")}


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Served]:
    home = made(tmp_path / "home")
    with (home / "hearth.toml").open("a") as settings:
        settings.write(DEVICES)
    with served(home, PLANS) as running:
        yield running


@pytest.fixture
def browser(up: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=up.address, follow_redirects=True, headers={"origin": up.address}) as client:
        client.get(up.house.link)
        yield client


def buttons(browser: httpx.Client) -> dict[str, str]:
    """Tool → device of the buttons on the page Home."""
    found = re.findall(r'data-tool="(\w+)" data-device="([^"]+)"', browser.get("/home").text)
    return {tool: html.unescape(device) for tool, device in found}


@pytest.mark.companions
def test_a_device_is_switched_by_its_button_and_taken_back(up: Served, browser: httpx.Client) -> None:
    found = buttons(browser)
    assert set(found) == {"turn_on", "turn_off", "lock_door"}  # a door is opened in words alone
    done = browser.post("/switch", json={"tool": "turn_on", "device": found["turn_on"], "name": "ceiling lamp"})
    assert done.status_code == 200
    page = browser.get("/home").text
    assert re.search(r"ceiling lamp</td><td[^>]*>on", page), page
    assert "ceiling lamp: on" in browser.get("/history").text
    up.desk.undo(None).result(20)
    assert not re.search(r"ceiling lamp</td><td[^>]*>on", browser.get("/home").text)


@pytest.mark.companions
@pytest.mark.parametrize(
    "body",
    [
        {"tool": "unlock_door", "device": "front door"},
        {"tool": "delete_file", "device": "x"},
        {"tool": "turn_on"},
        {"tool": "turn_on", "device": "x" * 301},
    ],
)
def test_a_button_does_nothing_else(browser: httpx.Client, body: dict[str, str]) -> None:
    assert browser.post("/switch", json=body).status_code == 404
    assert browser.post("/switch", json={"tool": "turn_on", "device": "no such"}).status_code == 409


def noted(agent: Agent, day: int) -> None:
    """Put a request on record that was done some days ago."""
    at = agent.clock() - dt.timedelta(days=day + 10)
    plan = PLANS[NOTED]
    results = tuple(StepResult(k, "done") for k in range(len(plan.steps)))
    request = Request(NOTED, at)
    done = Episode(f"e{day}", request, plan, None, Ruling("allow", "yes"), results, Answer("Done.", "done"))
    agent.trace.begin(request, done.id)
    agent.trace.finish(done)


DAY = dt.datetime(2026, 11, 19, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def seen() -> ScriptedFootage:
    def at(hour: float) -> dt.datetime:
        return DAY + dt.timedelta(hours=hour)

    recordings = [
        Recording("k1", "kitchen cam", "kitchen", at(18), at(19), is_indexed=True),
        Recording("h1", "hall cam", "hall", at(18), at(19), is_indexed=False),
    ]
    sightings = [
        Sighting("s1", "kitchen cam", "kitchen", at(18.1), at(18.2), 0.9, "Mira", 0.9),
        Sighting("s2", "kitchen cam", "kitchen", at(18.5), at(18.6), 0.9),
        Sighting("s3", "hall cam", "hall", at(18.5), at(18.6), 0.9),
    ]
    return ScriptedFootage(recordings, sightings)


def test_a_day_of_video_shows_what_was_looked_at_and_blurs_strangers(
    up: Served, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    footage = seen()
    up.desk.use(lambda agent: setattr(agent, "footage", footage)).result(20)
    page = browser.get("/video").text  # the last day that has recordings
    assert "19 November 2026" in page
    assert page.count("<rect") == 2
    assert "Mira" in page
    assert "somebody" in page
    assert footage.looked
    assert all(room == "kitchen" for room, _, _ in footage.looked)  # the hall was not looked at yet, and is not now
    assert "not yet" in page
    drawn = tmp_path / "s1.png"
    drawn.write_bytes(b"\x89PNG\r\n\x1a\nx")
    asked: list[tuple[str, ...]] = []

    def pictures(ids: list[str], *, shows_strangers: bool = False) -> tuple[str, ...]:
        assert not shows_strangers
        asked.append(tuple(ids))
        return (str(drawn),)

    monkeypatch.setattr(footage, "pictures", pictures)
    answer = browser.get("/video/picture/s1")
    assert (answer.status_code, answer.headers["content-type"], asked) == (200, "image/png", [("s1",)])
    assert "Nothing was recorded" in browser.get("/video?day=2026-11-20").text
    for odd in ("soon", "0000-00-00", "0001-01-01", "9999-12-31", "2026-13-01", "1" * 5000):
        assert browser.get(f"/video?day={odd}").status_code in (200, 400), odd


def test_without_home_video_the_page_says_what_installs_it(up: Served, browser: httpx.Client) -> None:
    up.desk.use(lambda agent: setattr(agent, "footage", None)).result(20)
    assert "hearth-agent[video]" in browser.get("/video").text
    assert browser.get("/video/picture/s1").status_code == 404


def test_what_comes_back_gets_a_name_and_loses_it(up: Served, browser: httpx.Client) -> None:
    for day in (2, 3, 4):
        up.desk.use(functools.partial(noted, day=day)).result(20)
    page = browser.get("/skills").text
    number = re.findall(r'name="number" value="(\d+)"', page)[0]
    kept = browser.post("/skills/accept", json={"number": number, "name": "end of the day"})
    assert kept.json()["says"] == "Say “end of the day” from now on."
    assert "“end of the day”" in browser.get("/skills").text
    assert up.desk.use(lambda agent: "skill:end of the day" in agent.recall.ids()).result(20)
    assert browser.post("/skills/dismiss", json={"number": number}).status_code == 404  # it is no proposal any more
    assert browser.post("/skills/remove", json={"name": "end of the day"}).status_code == 200
    assert not up.desk.use(lambda agent: "skill:end of the day" in agent.recall.ids()).result(20)
    for what, body in (("accept", {}), ("remove", {"name": "x"}), ("burn", {}), ("accept", {"number": "9" * 40})):
        assert browser.post(f"/skills/{what}", json=body).status_code == 404


def test_every_setting_is_told_with_what_it_means(browser: httpx.Client) -> None:
    page = browser.get("/settings").text
    rows = re.findall(r'<th scope="row"><code>([\w.]+)</code></th><td>(.*?)</td><td>(.*?)</td>', page)
    told = {name: (value, meaning) for name, value, meaning in rows}
    assert told["owner.name"] == ("Mira <b>yours</b>", "Name that signs drafts.")
    assert told["serve.port"][0] == "8470"
    assert [name for name, (_, meaning) in told.items() if not meaning] == []
    assert len(told) > 60


def test_a_file_is_attached_named_in_the_request_and_removed(up: Served, browser: httpx.Client) -> None:
    answer = browser.post("/attach?name=bill.pdf", content=b"%PDF-1.7 bill")
    assert answer.json() == {
        "path": "documents/attached/bill.pdf", "name": "bill.pdf", "says": "Kept as documents/attached/bill.pdf.",
    }  # fmt: skip
    kept = up.house.home / "owner" / "documents" / "attached" / "bill.pdf"
    assert kept.read_bytes() == b"%PDF-1.7 bill"
    assert browser.post("/attach?name=x", content=b"MZ\x90\x00").status_code == 400
    assert browser.post("/attach?name=x", content=b"").status_code == 400
    large = browser.post("/attach?name=x", content=b"%PDF-" + b"x" * 20_000_000)
    assert large.status_code == 413
    assert browser.post("/attach?name=large", content=b"%PDF-" + b"x" * 2_000_000).status_code == 200
    assert browser.post("/ask", content=b"x" * 2_000_000).status_code == 413
    assert browser.post("/detach", json={"path": "documents/attached/bill.pdf"}).status_code == 200
    assert not kept.exists()
    assert browser.post("/detach", json={"path": "../hearth.toml"}).status_code == 404
    until(lambda: not up.desk.view.turns or None)


# ── Settings ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_setting_is_changed_once_it_was_seen_and_agreed_to(up: Served, browser: httpx.Client) -> None:
    path = up.house.home / "hearth.toml"
    before = path.read_text()
    form = browser.post("/settings/form", json={"name": "serve.quiet_hours"}).json()["html"]
    assert "In these hours nothing rings" in form or "nothing rings that is late" in form
    asked = {"name": "serve.quiet_hours", "value": "22:00-07:00"}
    shown = browser.post("/settings/try", json=asked).json()["html"]
    assert path.read_text() == before, "looking changes nothing"
    digest = re.findall(r'data-digest="(\w+)"', shown)[0]
    assert browser.post("/settings/set", json={**asked, "digest": "0" * 64}).status_code == 400
    assert path.read_text() == before
    assert browser.post("/settings/set", json={**asked, "digest": digest}).status_code == 200
    assert 'quiet_hours = "22:00-07:00"' in path.read_text()
    assert "22:00-07:00 <b>yours</b>" in browser.get("/settings").text
    again = {"name": "serve.quiet_hours", "default": "yes"}
    digest = re.findall(r'data-digest="(\w+)"', browser.post("/settings/try", json=again).json()["html"])[0]
    assert browser.post("/settings/set", json={**again, "digest": digest}).status_code == 200
    assert path.read_text() == before
    by_hand = browser.post("/settings/form", json={"name": "mail.imap.host"})
    assert (by_hand.status_code, "by hand in hearth.toml" in by_hand.text) == (400, True)


@pytest.mark.parametrize(
    "body",
    [
        {"name": "serve.port", "value": "99999"}, {"name": "policy.x.ruling", "value": "allow"}, {"name": ""}, {},
        {"name": "owner.name", "value": "<script>alert(1)</script>\n"}, {"name": "mcp.servers", "value": "x"},
    ],
)  # fmt: skip
def test_a_wrong_change_says_so_and_changes_nothing(up: Served, browser: httpx.Client, body: dict[str, str]) -> None:
    before = (up.house.home / "hearth.toml").read_text()
    found = browser.post("/settings/try", json=body)
    assert found.status_code in (200, 400, 404)
    assert "<script>" not in found.text
    assert browser.post("/settings/set", json={**body, "digest": "x"}).status_code in (400, 404)
    assert (up.house.home / "hearth.toml").read_text() == before


def test_the_home_is_started_anew_from_the_page(up: Served, browser: httpx.Client) -> None:
    assert browser.post("/settings/restart", json={}).json()["again"] == "/settings"
    assert up.house.is_again.is_set()
    until(lambda: up.house.server.should_exit or None)


# ── Enrolling ─────────────────────────────────────────────────────────────────────────────────────────────

FACE, NO_FACE = b"\xff\xd8\xff a face", b"\xff\xd8\xff a wall"


def test_somebody_who_agreed_is_enrolled_on_the_page_and_forgotten(up: Served, browser: httpx.Client) -> None:
    footage = seen()
    up.desk.use(lambda agent: setattr(agent, "footage", footage)).result()
    given = {"name": "Anna <b>", "by": "Anna", "agreed": "yes"}
    assert browser.post("/video/enroll", params=given, content=FACE).json()["goto"] == "/video"
    assert browser.post("/video/enroll", params=given, content=FACE).status_code == 200
    page = browser.get("/video").text
    assert "Anna &lt;b&gt;" in page
    assert "Anna <b>" not in page
    assert [one.n_photos for one in footage.enrolled()] == [2]
    assert browser.post("/video/forget", json={"name": "Anna <b>"}).status_code == 200
    assert footage.enrolled() == ()
    assert browser.post("/video/forget", json={"name": "Anna"}).status_code == 404


@pytest.mark.parametrize(
    ("change", "body"),
    [
        ({"agreed": ""}, FACE), ({"by": " "}, FACE), ({"name": ""}, FACE), ({}, NO_FACE), ({}, b""), ({}, b"MZ face"),
        ({}, b"%PDF- face"), ({}, b"a face"),
    ],
)  # fmt: skip
def test_nobody_is_enrolled_without_a_yes_or_a_face(
    up: Served, browser: httpx.Client, change: dict[str, str], body: bytes
) -> None:
    footage = seen()
    up.desk.use(lambda agent: setattr(agent, "footage", footage)).result()
    given = {"name": "Anna", "by": "Anna", "agreed": "yes", **change}
    assert browser.post("/video/enroll", params=given, content=body).status_code == 400
    assert footage.enrolled() == ()


def test_without_home_video_nobody_can_be_enrolled(up: Served, browser: httpx.Client) -> None:
    up.desk.use(lambda agent: setattr(agent, "footage", None)).result()
    given = {"name": "Anna", "by": "Anna", "agreed": "yes"}
    assert browser.post("/video/enroll", params=given, content=FACE).status_code == 404


# ── Rules tried, memory of another day ────────────────────────────────────────────────────────────────────


def test_a_request_is_tried_against_the_rules_and_nothing_runs(up: Served, browser: httpx.Client) -> None:
    found = browser.post("/rules/try", json={"text": NOTED}).json()["html"]
    assert re.search(r'verdict ask">ask</span> add_note', found), found
    assert re.search(r'verdict allow">allow</span> current_time', found), found
    assert not up.notes
    assert "Nothing" in browser.get("/history").text or NOTED not in browser.get("/history").text
    assert "No plan" in browser.post("/rules/try", json={"text": "<b>unplanned</b>"}).json()["html"]
    assert "<b>unplanned" not in browser.post("/rules/try", json={"text": "<b>unplanned</b>"}).json()["html"]
    assert browser.post("/rules/try", json={"text": " "}).status_code == 400


def test_memory_is_shown_as_it_was_believed_on_a_day(up: Served, browser: httpx.Client) -> None:
    now = up.house.desk.use(lambda agent: agent.clock()).result()
    up.desk.use(lambda agent: agent.facts.add(NewFact(ME, "likes", "liquorice"), now)).result()
    assert "liquorice" in browser.get("/memory").text
    assert "liquorice" in browser.get(f"/memory?on={now:%Y-%m-%d}").text
    assert "liquorice" not in browser.get(f"/memory?on={now - dt.timedelta(days=3):%Y-%m-%d}").text
    for odd in ("yesterday", "9999-12-31", "0001-01-01", "2026-02-30"):
        assert browser.get("/memory", params={"on": odd}).status_code in (200, 400), odd
