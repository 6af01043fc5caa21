"""The page over a real home: what is shown, what its forms do, that strangers' text stays text, and in a real browser."""

from __future__ import annotations

import datetime as dt
import functools
import importlib.util
import itertools
import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn

from hearth.serve import desk as desk_module
from hearth.serve import door, house, phone_server
from hearth.serve.background.background_sync import Letter
from hearth.serve.desk import Caller
from hearth.serve.door import KEYS_FILE, Keys
from hearth.serve.house import House
from hearth.serve.pages import page as pages
from hearth.serve.pages import page_parts
from hearth.storage.database import Store
from hearth.testing import make_call
from hearth.types import Episode

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAGES = tuple(path for _, path in pages.PAGES)
ATTACKS = [
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    '"><svg onload=window.hit=1>',
    "'><iframe srcdoc='<script>parent.hit=1</script>'>",
    "</textarea><script>window.hit=1</script>",
    "</title></style><script>window.hit=1</script>",
    "{{ 7*7 }}{% raw %}{{ self }}",
    "<a href='javascript:window.hit=1'>x</a>",
    "<details open ontoggle=window.hit=1>",
    "<math><mi//xlink:href='data:x,<script>window.hit=1</script>'>",
    "&lt;script&gt;window.hit=1&lt;/script&gt;",
    "\u202e<script>\u2028window.hit=1</script>",
    "]]><script>window.hit=1</script>",
    'data: x\n\nevent: turn\ndata: {"id":"x","html":"<script>window.hit=1</script>"}\n\n',
]


@pytest.fixture
def up(home: Path) -> Iterator[House]:
    """A home that serves at a free port."""
    with house.opened(home, {}, house.Address(port=0)) as opened:
        options = uvicorn.Config(opened.door, log_level="warning", access_log=False, ws="none", lifespan="off")
        server = uvicorn.Server(options)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [opened.listening]})
        thread.start()
        yield opened
        server.should_exit = server.force_exit = True
        thread.join()


@pytest.fixture
def browser(up: House) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=up.address, follow_redirects=True, headers={"origin": up.address}) as client:
        assert client.get(up.link).status_code == 200
        yield client


def until(is_so: Callable[[], object]) -> None:
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.01)


ALL, READING = Caller("test", is_owner=True), Caller("test", may_change=False)


def agreed(up: House, text: str) -> Episode:
    """Ask for something, and say yes where that is asked."""
    done = up.desk.ask(text, ALL)
    until(lambda: up.desk.view.asked or done.done())
    if up.desk.view.asked is not None:
        assert up.desk.answer(up.desk.view.asked.id, "once")
    return done.result(60)


def said(answer: httpx.Response) -> str:
    return str(answer.json().get("says", ""))


class Elements(HTMLParser):
    """The elements of a page, with what they load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.strange: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"] or ""] if "id" in given else []
        own = (given.get("src") or given.get("href") or "").startswith(("/", "#", "data:image/"))
        is_data = tag == "script" and dict(attrs) == {"type": "application/json", "id": "data"}
        is_loading = not is_data and tag in ("script", "iframe", "object", "embed", "img", "link", "a") and not own
        if is_loading or any(name.startswith("on") or name in ("style", "srcdoc") for name in given):
            self.strange.append(self.get_starttag_text() or tag)


def test_every_page_opens_is_well_formed_and_loads_nothing_from_elsewhere(browser: httpx.Client) -> None:
    for path in PAGES:
        answer = browser.get(path)
        assert answer.status_code == 200, path
        found = Elements(answer.text)
        assert found.strange == [], path
        assert len(found.ids) == len(set(found.ids)), path
    assert browser.get("/nothing").status_code == 404
    assert browser.get("/history/nothing").status_code == 404


def test_the_history_shows_requests_in_full_and_leads_to_each(up: House, browser: httpx.Client) -> None:
    id = up.desk.ask("what is 15% of 80", READING).result(60).id
    text = browser.get("/history").text
    assert '<details class="episode" id="e1" data-status="done">' in text
    assert "15% of 80 = 12." in text
    assert f'<a href="/history/{id}">Take back, or say what was wrong</a>' in text
    assert "Only what holds “zzz”" in browser.get("/history?q=zzz").text


def test_what_is_loaded_is_small(browser: httpx.Client) -> None:
    import gzip

    texts = [browser.get(path).content for path in ("/", "/static/page.css", "/static/page.js", "/static/icon.svg")]
    assert sum(len(gzip.compress(text)) for text in texts) < 100_000


def test_asked_answered_undone_and_taught_by_its_forms(up: House, browser: httpx.Client, home: Path) -> None:
    assert browser.post("/ask", json={"text": "take a note: the boiler was serviced"}).status_code == 202
    until(lambda: up.desk.view.asked)
    page = browser.get("/").text
    id = re.findall(r'data-asked="(\w+)"', page)[0]
    assert "add_note" in page
    assert browser.post("/answer", json={"id": id, "reply": "yes"}).status_code == 200
    again = browser.post("/answer", json={"id": id, "reply": "no"})
    assert (again.status_code, said(again)) == (409, "That was answered already, or is asked no more.")
    until(lambda: not up.desk.view.turns)
    notes = list((home / "owner" / "notes").glob("*.md"))
    assert len(notes) == 1
    episode = re.findall(r'data-post="/undo" data-id="([\w-]+)"', browser.get("/").text)[0]
    assert "Taken back" in said(browser.post("/undo", json={"id": episode}))
    assert "taken back" in browser.get(f"/history/{episode}").text
    assert not notes[0].exists()
    learnt = browser.post(
        "/correct", json={"id": episode, "say": "remind me tomorrow at 9 that the boiler was serviced"}
    )
    assert said(learnt) == "Learnt: I will add reminder next time."
    assert said(browser.post("/correct", json={"id": episode, "say": ""})) == "Learnt: I will do nothing next time."


def test_while_a_question_stands_nothing_else_hangs(
    up: House, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_parts, "PAGE_WAITS_S", 0.05)
    browser.post("/ask", json={"text": "take a note: the boiler was serviced"})
    until(lambda: up.desk.view.asked)
    waits = browser.post("/undo", json={"id": "x"})
    assert (waits.status_code, "waits for your answer" in said(waits)) == (400, True)
    assert "waiting for your answer" in browser.get("/today").text
    assert all(browser.get(path).status_code == 200 for path in PAGES)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/ask", b"", 400),
        ("/ask", b"[1]", 400),
        ("/ask", b'{"text": 1}', 400),
        ("/ask", b'{"other": "x"}', 400),
        ("/ask", b'{"text": "  "}', 400),
        ("/ask", b"\xff\xfe", 400),
        ("/answer", b'{"id": "x", "reply": "maybe"}', 400),
        ("/answer", b'{"id": "x", "reply": "yes"}', 409),
        ("/undo", b'{"id": "x"}', 400),
        ("/correct", b'{"id": "x", "say": "y"}', 404),
        ("/correct/form", b'{"id": "x"}', 404),
        ("/correct/form", b"{}", 404),
        ("/correct/plan", b'{"id": "x", "tool-0": "add_note"}', 400),
        ("/correct/plan", b'{"id": "x", "tool-0": "format_disk"}', 400),
        ("/correct/plan", b'{"id": "x"}', 400),
        ("/change/form", b'{"id": "x"}', 409),
        ("/change", b'{"id": "x", "tool-0": "current_time"}', 409),
        ("/change", b'{"id": "x"}', 400),
        ("/ring", b'{"number": "x"}', 400),
        ("/ring", b'{"number": "99999999999999999999"}', 409),
        ("/forget-fact", b'{"id": "-1"}', 404),
        ("/forget-fact", b'{"id": "4000"}', 404),
    ],
)
def test_odd_bodies_are_answered_and_nothing_breaks(browser: httpx.Client, path: str, body: bytes, status: int) -> None:
    answer = browser.post(path, content=body)
    assert answer.status_code in (status, 404), answer.text
    assert said(answer)


def test_a_fact_is_listed_found_and_no_longer_held_true(up: House, browser: httpx.Client) -> None:
    agreed(up, "I'm allergic to peanuts")
    assert "peanuts" in browser.get("/memory?q=PEANUTS").text
    assert "peanuts" not in browser.get("/memory?q=walnuts").text.replace("walnuts", "")
    id = re.findall(r'data-post="/forget-fact" data-id="(\d+)"', browser.get("/memory").text)[0]
    assert said(browser.post("/forget-fact", json={"id": id})) == "No longer held true."
    assert f'id="fact-{id}"' not in browser.get("/memory").text


def rung(home: Path, text: str, reminder: str, repeat: str = "") -> None:
    """Put a reminder in the home, and its ring."""
    todo = f"BEGIN:VTODO\nUID:{reminder}\nSUMMARY:see the ring\nDTSTART:20250303T090000Z\nDUE:20250303T090000Z\n{repeat}END:VTODO\n"
    text_of_file = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//other//EN\n{todo}END:VCALENDAR\n"
    (home / "owner" / "reminders").mkdir(exist_ok=True)
    (home / "owner" / "reminders" / f"{reminder}.ics").write_text(text_of_file)
    due = dt.datetime(2025, 3, 3, 9, tzinfo=dt.UTC).isoformat()
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO ring (reminder, due, text, rings_at, state) VALUES (?, ?, ?, ?, 'ringing')",
            (reminder, due, text, due),
        )


def test_a_ring_is_shown_snoozed_and_ended_with_its_reminder_done(up: House, browser: httpx.Client, home: Path) -> None:
    rung(home, "water the plants", "plants")
    number = re.findall(r'data-ring="(\d+)"', browser.get("/").text)[0]
    assert browser.post("/ring", json={"number": number, "minutes": "10"}).status_code == 200
    assert "data-ring" not in browser.get("/").text
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute("UPDATE ring SET state = 'ringing' WHERE number = ?", (int(number),))
    assert 'aria-label="Reminder: water the plants, Mon 3 Mar, ' in browser.get("/").text
    assert browser.post("/ring", json={"number": number}).status_code == 200
    until(lambda: not up.desk.view.turns)
    assert "COMPLETED" in (home / "owner" / "reminders" / "plants.ics").read_text()
    assert said(browser.post("/ring", json={"number": number})) == "That one is over already."


def test_a_reminder_missed_twice_is_done_once(up: House, browser: httpx.Client, home: Path) -> None:
    rung(home, "tablets", "tablets", "RRULE:FREQ=DAILY\n")
    with Store.open(home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO ring (reminder, due, text, rings_at, state)"
            " SELECT reminder, '2025-03-04T09:00:00+00:00', text, rings_at, state FROM ring"
        )
    older, newer = re.findall(r'data-ring="(\d+)"', browser.get("/").text)
    assert browser.post("/ring", json={"number": older}).status_code == 200
    assert browser.post("/ring", json={"number": newer}).status_code == 409
    until(lambda: not up.desk.view.turns)
    todo = (home / "owner" / "reminders" / "tablets.ics").read_text()
    moved = dt.datetime.strptime(re.findall(r"DUE[^:]*:(\d{8})", todo)[0], "%Y%m%d").date()
    assert abs(moved - dt.datetime.now(dt.UTC).date()) <= dt.timedelta(days=1)


def test_what_could_not_be_marked_as_done_rings_on(
    up: House, browser: httpx.Client, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung(home, "water the plants", "plants")
    number = re.findall(r'data-ring="(\d+)"', browser.get("/").text)[0]
    monkeypatch.setattr(desk_module, "MAX_WAITING", 0)
    refused = browser.post("/ring", json={"number": number})
    assert (refused.status_code, "requests wait already" in said(refused)) == (400, True)
    assert f'data-ring="{number}"' in browser.get("/").text
    monkeypatch.setattr(desk_module, "MAX_WAITING", 20)
    assert browser.post("/ring", json={"number": number}).status_code == 200
    until(lambda: not up.desk.view.turns)
    assert f'data-ring="{number}"' not in browser.get("/").text


def test_a_program_called_like_the_page_is_told_apart_and_what_waits_is_dropped(
    up: House, browser: httpx.Client
) -> None:
    up.desk.ask("take a note: the boiler was serviced", Caller("page"))
    browser.post("/ask", json={"text": "what is 2 + 3"})
    until(lambda: up.desk.view.asked)
    page = browser.get("/").text
    assert "Asked by the program “page”." in page
    turn = re.findall(r'data-post="/drop" data-turn="(\d+)"', page)[0]
    assert said(browser.post("/drop", json={"turn": turn})) == "Taken out of line."
    assert browser.post("/drop", json={"turn": turn}).status_code == 409
    assert browser.post("/drop", json={"turn": "9" * 5000}).status_code == 409
    assert len(up.desk.view.turns) == 1


def test_what_a_program_asked_is_told_from_what_the_owner_said(up: House, browser: httpx.Client) -> None:
    up.desk.ask("what is 2 + 3", Caller("cook <b>book</b>", may_change=False)).result(60)
    up.desk.ask("what is 4 + 5", Caller("page", is_owner=True)).result(60)
    page = browser.get("/").text
    assert page.count("Asked by the program “cook &lt;b&gt;book&lt;/b&gt;”.") == 1
    assert page.count("Asked by the program") == 1
    assert page.index("2 + 3") < page.index("Asked by the program") < page.index("4 + 5")


def test_connections_that_say_nothing_or_say_it_slowly_are_ended(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phone_server, "HEAD_WITHIN_S", 0.2)
    monkeypatch.setattr(door, "BODY_WITHIN_S", 0.2)
    with house.opened(home, {}, house.Address(port=0)) as opened:
        thread = threading.Thread(target=opened.serve)
        thread.start()
        until(lambda: opened.server.started)
        place = opened.listening.getsockname()
        head = f"POST /ask HTTP/1.1\r\nHost: 127.0.0.1:{place[1]}\r\nOrigin: {opened.address}\r\n"
        keys = Keys(home / KEYS_FILE)
        head += f"Cookie: {keys.cookie_name}={keys.cookie}\r\nContent-Length: 50\r\n\r\n"
        for begun, answer in ((b"", b""), (b"GET / HT", b""), (head.encode() + b'{"text"', b"HTTP/1.1 408")):
            with socket.create_connection(place, timeout=20) as silent:
                silent.sendall(begun)
                assert silent.recv(1000).startswith(answer)
                while silent.recv(1000):
                    pass
        opened.stop()
        thread.join(20)


def test_events_tell_what_goes_on(up: House, browser: httpx.Client) -> None:
    names: list[str] = []
    with browser.stream("GET", "/events?last=") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: now"
        up.desk.ask("what is 15% of 80", READING)
        for line in lines:
            names += [line.removeprefix("event: ")] if line.startswith("event: ") else []
            if line.startswith("data: ") and names[-1:] == ["turn"]:
                assert "15% of 80 = 12." in json.loads(line.removeprefix("data: "))["html"]
                break
    assert "turn" in names


def test_text_of_strangers_never_becomes_markup(up: House, browser: httpx.Client, home: Path) -> None:
    """Through requests, answers, facts, notes found, events, reminders and rings, as the agent itself puts them there;
    every field and 204 strings: `test_page_quality`."""
    for k, attack in enumerate(ATTACKS):
        flat = " ".join(attack.split())
        (home / "owner" / "notes" / "odd.md").write_text(f"# {flat}\n\nboiler {flat}\n")
        up.desk.ask(f"find my note about the boiler {flat}", READING).result(60)
        up.desk.ask("find my note about the boiler", READING).result(60)
        up.desk.use(functools.partial(_put, text=flat)).result(60)
        rung(home, flat, f"r{k}")
        for path in (f"/history?q={flat}", f"/memory?q={flat}"):
            assert Elements(browser.get(path).text).strange == [], path
    for path in PAGES:
        assert Elements(browser.get(path).text).strange == [], path
    with browser.stream("GET", "/events?last=") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: now"
        assert Elements(json.loads(next(lines).removeprefix("data: "))["html"]).strange == []


def test_mail_that_came_is_told_in_strangers_words_that_stay_text(up: House) -> None:
    letters = tuple(Letter(attack, attack) for attack in ATTACKS)
    made = page_parts.Templates(pages.PAGES).fragment(
        "now.html", view=up.desk.view, rings=[], picture=None, letters=letters, n_mails=len(letters)
    )
    assert Elements(made).strange == []
    assert f"{len(ATTACKS)} new mails" in made


def _put(agent: Any, text: str) -> None:
    from hearth.tools.pim.calendar import add_event
    from hearth.tools.pim.reminders import add_reminder

    call = make_call("k", agent.clock(), agent.folder.for_call("k"))
    add_event.function(call, text, agent.clock().replace(hour=23, minute=0))
    add_reminder.function(call, text, agent.clock() + dt.timedelta(days=1))


# ── In a real browser ─────────────────────────────────────────────────────────────────────────────────────────

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
in_a_browser = pytest.mark.skipif(
    CHROMIUM is None or importlib.util.find_spec("playwright") is None,
    reason="needs Chromium and Playwright: apt install chromium; pip install playwright",
)


@pytest.fixture
def chromium(up: House) -> Iterator[Page]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = opened.new_context().new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
        page.goto(up.link)
        yield page
        opened.close()
    assert faults == []


@in_a_browser
def test_a_newcomer_asks_agrees_undoes_and_teaches(chromium: Page, home: Path) -> None:
    page = chromium
    page.fill("#text", "take a note: the boiler was serviced")
    page.keyboard.press("Enter")
    page.wait_for_selector(".question")
    assert "add_note" in page.inner_text(".asks")
    assert page.title().startswith("●")
    page.click("button[data-reply=yes]")
    page.wait_for_selector(".turn .answer")
    page.wait_for_selector(".running", state="detached")
    assert page.input_value("#text") == ""
    assert len(list((home / "owner" / "notes").glob("*.md"))) == 1
    page.click("button[data-post='/undo']")
    page.wait_for_selector("text=Taken back")
    below = (
        "(() => { const at = told.getBoundingClientRect(); return document.elementFromPoint(at.x + 9, at.y + 9).id })()"
    )
    assert page.evaluate(below) != "told", "what lies under a message can be clicked"
    assert list((home / "owner" / "notes").glob("*.md")) == []
    page.click("summary:has-text('That was wrong')")
    page.fill("input[name=say]", "remind me tomorrow at 9 that the boiler was serviced")
    page.click("text=Learn that")
    page.wait_for_selector("text=Learnt: I will add reminder")
    page.click("nav >> text=Learning")
    row = page.locator("tr:has-text('take a note: the boiler was serviced')")
    row.locator("text=Forget").click()
    page.wait_for_selector("text=Forget this for good?")
    page.click("text=Forget it for good")
    page.wait_for_selector("h2:has-text('Forgotten')")
    page.click("text=Look again")
    page.wait_for_selector("text=Nothing yet.")


@in_a_browser
def test_steps_are_put_right_by_a_form_before_and_after_they_are_done(chromium: Page, home: Path) -> None:
    page = chromium
    page.fill("#text", "take a note: the boiler was serviced")
    page.keyboard.press("Enter")
    page.wait_for_selector(".running .plan .node")
    page.click(".question button:text-is('Change')")
    page.fill("#change-0-1", "Boiler")
    page.click("text=Add a step")
    page.select_option("#change-1-tool", "add_note")
    page.wait_for_selector("#change-1-1")
    page.click("text=Remove step 2")
    page.wait_for_selector("#change-1-tool", state="detached")
    assert page.input_value("#change-0-1") == "Boiler"
    page.click("text=Do it this way")
    page.wait_for_selector(".asks:has-text('Boiler')")
    page.wait_for_selector("#change form", state="detached")
    page.click("button[data-reply=yes]")
    page.wait_for_selector(".answer.done")
    (note,) = (home / "owner" / "notes").glob("*.md")
    assert note.read_text().startswith("Boiler")
    changed = page.locator(".turn").last
    changed.locator("summary:has-text('That was wrong')").click()
    changed.locator("text=Show me the steps").click()
    changed.locator("select.shapes").select_option("add_reminder")
    changed.locator("[name=arg-0-text]").fill("the boiler was serviced")
    changed.locator("[name=arg-0-at]").fill("2099-01-01T09:00:00+01:00")
    changed.locator("[name=arg-0-at]").press("Enter")
    page.wait_for_selector("#told:has-text('Learnt: I will add reminder next time.')")


@in_a_browser
def test_two_browsers_see_one_question_and_markup_of_strangers_does_not_run(
    chromium: Page, up: House, home: Path
) -> None:
    from playwright.sync_api import expect

    other = chromium.context.new_page()
    other.goto(up.address)
    chromium.evaluate(
        """() => { window.inert = []; new MutationObserver(() => {
            const buttons = document.querySelector(".question .buttons");
            if (buttons) window.inert.push(buttons.inert);
        }).observe(document.getElementById("now"), { childList: true }) }"""
    )
    up.desk.ask(f"take a note: {ATTACKS[0]} {ATTACKS[1]}", ALL)
    for page in (chromium, other):
        page.wait_for_selector(".question")
    chromium.click("button[data-reply=yes]")
    for page in (chromium, other):
        page.wait_for_selector(".turn .answer")
        expect(page.locator(".question")).to_have_count(0)
        assert page.evaluate("window.hit") is None
    assert chromium.evaluate("window.inert")[0] is True  # a click meant for what stood there is no answer
    levels = chromium.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert 2 in levels
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
