"""Every page in a real browser: usable by everybody (axe), and nothing that a stranger wrote becomes markup or runs."""

from __future__ import annotations

import datetime as dt
import functools
import importlib.util
import itertools
import json
import re
import shutil
from collections.abc import Iterator
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

import httpx
import pytest

from hearth.agent import Agent
from hearth.formats.plans import plan_to_json
from hearth.memory.facts import NewFact
from hearth.protocols import Recording, Sighting
from hearth.serve.desk import Caller
from hearth.serve.pages import page_parts
from hearth.serve.pages.page import PAGES
from hearth.storage.database import Store
from hearth.testing import ScriptedFootage
from hearth.tools.pim.calendar import add_event
from hearth.tools.pim.reminders import add_reminder
from hearth.types import Answer, Episode, Evidence, Plan, Request, Ruling, Step, StepResult
from tests.e2e.test_page import Elements
from tests.served_home import ASKS, PLANS, Served, made, served

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(
        CHROMIUM is None or importlib.util.find_spec("playwright") is None,
        reason="needs Chromium and Playwright: apt install chromium; pip install playwright",
    ),
    pytest.mark.companions,
]
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, Theme] = ("light", "dark")
OWNER = Caller("page", is_owner=True)
PATHS = tuple(path for _, path in PAGES)
RUNS = (
    "<script>hit(1)</script>",
    "<img src=x onerror=hit(1)>",
    "<svg onload=hit(1)>",
    "<svg><animate onbegin=hit(1) attributeName=x dur=1s>",
    "<body onload=hit(1)>",
    "<details open ontoggle=hit(1)>",
    "<input autofocus onfocus=hit(1)>",
    "<video><source onerror=hit(1)></video>",
    "<iframe srcdoc='<script>parent.hit(1)</script>'></iframe>",
    "<a href='javascript:hit(1)'>x</a>",
    "<form action='javascript:hit(1)'><button>x</button></form>",
    "<math><mi xlink:href='javascript:hit(1)'>x</mi></math>",
    "<object data='javascript:hit(1)'></object>",
    "<link rel=stylesheet href='//evil.example/x.css'>",
    "<meta http-equiv=refresh content='0;url=javascript:hit(1)'>",
    "<style>@import '//evil.example/x.css';</style>",
    "<template><script>hit(1)</script></template>",
)
BREAKS = ("", '">', "'>", "</textarea>", "</title></style>", "-->", "]]>", '" autofocus onfocus=hit(1) x="', "\\';hit(1)//",
          "{{7*7}}{% raw %}", "&lt;", "\u202e\u2028")  # fmt: skip
PNG = (files("hearth.serve") / "static" / "icon-192.png").read_bytes()
STRINGS = [before + run for before, run in itertools.product(BREAKS, RUNS)]
"""204 of them: each way to break out of a context before each way to run."""


def put_everywhere(agent: Agent, strings: list[str]) -> None:
    """Let strangers' texts stand in every field that a page shows."""
    now = agent.clock()
    for k, text in enumerate(strings):
        plan = Plan((Step("add_note", {"title": text, "text": text}, text=text),))
        request = Request(text, now - dt.timedelta(minutes=k + 1))
        answer = Answer(text, "done", (Evidence(0, text, text),))
        result = StepResult(0, "done", {"title": text, "id": text})
        done = Episode(f"x{k:03}", request, plan, None, Ruling("ask", text, rule=text), (result,), answer)
        agent.trace.begin(request, done.id)
        agent.trace.finish(done)
        agent.facts.add(NewFact("owner", "likes", text, now), now)
        plan_json = json.dumps(plan_to_json(plan))
        evidence = json.dumps({"n_times": 3, "first": text, "last": text, "episodes": [], "open": [], "examples": []})
        with agent.store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO ring (reminder, due, text, rings_at, state) VALUES (?, ?, ?, ?, 'ringing')",
                (text, now.isoformat(), text, now.isoformat()),
            )
            cursor.execute(
                "INSERT INTO phone (name, digest, added_at, seen_at) VALUES (?, ?, ?, ?)", (text, text, text, text)
            )
            cursor.execute(
                "INSERT INTO skill (name, digest, state, plan_json, evidence_json, at) VALUES (?, ?, ?, ?, ?, ?)",
                (text, text, "accepted" if k % 2 else "proposed", plan_json, evidence, text),
            )
    for k, text in enumerate(strings[::8]):
        call = agent._call_context(f"k{k}", now)
        add_event.function(call, text, now.replace(hour=23, minute=0))
        add_reminder.function(call, text, now + dt.timedelta(days=1))
    agent.egress.record("x.example", "\n".join(strings).encode(), strings[0])
    begins = now.replace(hour=0, minute=0)
    recording = Recording("r", strings[1], strings[2], begins, begins + dt.timedelta(hours=1), is_indexed=True)
    seen = [
        Sighting(text, strings[1], strings[2], begins, begins + dt.timedelta(minutes=k + 1), 0.9, text, 0.9)
        for k, text in enumerate(strings)
    ]
    agent.footage = ScriptedFootage([recording], seen)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = made(tmp_path_factory.mktemp("quality") / "home")
    settings = (home / "hearth.toml").read_text()
    odd = json.dumps(STRINGS[3])
    devices = "".join(
        f'\n[[home.device]]\nname = {json.dumps(text[:100])}\nroom = {odd}\nkind = "lamp"\n' for text in STRINGS[:40]
    )
    rules = f'\n[[rule]]\ntools = ["turn_on"]\nruling = "allow"\nreason = {json.dumps(STRINGS[1])}\n'
    (home / "hearth.toml").write_text(settings + 'phones_port = 0\nphones_host = "127.0.0.1"\n' + rules + devices)
    with served(home, PLANS) as running:
        yield running


@pytest.fixture(scope="module")
def chromium(up: Served) -> Iterator[Page]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_context(
            bypass_csp=True, reduced_motion="reduce", ignore_https_errors=True
        ).new_page()  # axe is put into the page
        page.goto(up.house.link)
        yield page
        browser.close()


def violations(page: Page) -> list[str]:
    """Return what axe finds in a page, with everything on it opened."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.add_script_tag(content=(files("axe_playwright_python") / "axe.min.js").read_text())
    found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.fixture(scope="module")
def lively(up: Served) -> Served:
    """Let there be a finished request, a ring and a phone."""
    with up.answering("once"):
        id = up.desk.ask(ASKS, OWNER).result(20).id
    up.desk.correct(id, "").result(20)
    up.desk.use(lambda agent: agent.facts.add(NewFact("me", "lives in", "Ghent"), agent.clock())).result(20)
    up.desk.use(lambda agent: agent.facts.add(NewFact("me", "is", "tall"), agent.clock(), is_proposed=True)).result(20)
    scores = ((1, '{"node_f1": 0.6}'), (2, '{"node_f1": 0.8}'))
    now = dt.datetime.now(dt.UTC).isoformat()
    with Store.open(up.house.home / "hearth.db") as store, store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO ring (reminder, due, text, rings_at, state) VALUES ('r', ?, 'tea', ?, 'ringing')", (now, now)
        )
        cursor.execute("INSERT INTO phone (name, digest, added_at, seen_at) VALUES ('p', 'd', ?, ?)", (now, now))
        for number, record in scores:
            cursor.execute(
                "INSERT INTO version (number, at, reason, record_json) VALUES (?, ?, 'why', ?)",
                (number, now, record),
            )
    return up


def open_forms(page: Page, episode: str) -> None:
    """Open the form of the question's steps, and that of a correction."""
    page.click(".question [data-into=change]")
    page.wait_for_selector("#change form")
    page.click(f"#turn-{episode} .wrong summary")
    page.click(f"[data-into=wrong-{episode}]")
    page.wait_for_selector(f"#wrong-{episode} form")


def open_one(page: Page, path: str) -> None:
    """Open the first form of this path."""
    page.click(f"[data-post='{path}']")
    page.wait_for_selector("#change .card")


@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_on_any_page(
    lively: Served, chromium: Page, theme: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a question and a request that waits; narrow and light, wide and dark."""
    up = lively
    monkeypatch.setattr(page_parts, "PAGE_WAITS_S", 0.2)
    chromium.set_viewport_size({"width": 390 if theme == "light" else 1100, "height": 800})
    newest = up.desk.use(lambda agent: agent.trace.episodes(1)[0].id).result(20)
    first, second = up.desk.begin(ASKS, OWNER), up.desk.begin(ASKS, OWNER)
    question = up.question()
    chromium.emulate_media(color_scheme=theme)
    up_paths = [f"{up.address}{path}" for path in PATHS]
    for_phones = [f"{up.house.phones}{path}" for path in ("/authority", "/pair?code=x")]
    forms = {
        f"{up.address}/": functools.partial(open_forms, chromium, newest),
        f"{up.address}/memory": functools.partial(open_one, chromium, "/memory/form"),
    }
    found = {}
    for link in (*up_paths, *for_phones):
        chromium.goto(link)
        if link.endswith("/phones"):
            chromium.click("text=Add a phone")
            chromium.wait_for_selector(".steps img")
        if link in forms:
            forms[link]()
        if bad := violations(chromium):
            found[link] = bad
    assert up.desk.drop(second.number)
    assert up.desk.answer(question.id, "no")
    first.done.result(20)
    for link in (
        f"{up.address}/history/{newest}",
        f"{up.address}/home",
        f"{up.address}/video",
        f"{up.address}/learning",
        f"{up.address}/today",
    ):
        chromium.goto(link)
        if link.endswith("/learning"):
            open_one(chromium, "/forget/look")
        if link.endswith("/today"):
            chromium.wait_for_selector("text=Waits for your answer")
        if bad := violations(chromium):
            found[link] = bad
    assert found == {}


def test_nothing_that_strangers_wrote_runs_or_becomes_markup(up: Served, chromium: Page) -> None:
    assert len(set(STRINGS)) >= 200
    up.desk.use(lambda agent: put_everywhere(agent, STRINGS)).result(60)
    inbox = up.house.home / "owner" / "mail" / "cur"
    inbox.mkdir(parents=True, exist_ok=True)
    for k, text in enumerate(STRINGS[::20]):  # who waits for an answer stands on the page Today
        flat = " ".join(text.split())
        (inbox / f"{k}:2,S").write_text(f"From: a@x.example\nSubject: {flat}\n\nCould you please answer {flat}?\n")
    page = chromium.context.browser.new_context().new_page()  # type: ignore[union-attr]  # with the policy of the page
    page.add_init_script("window.hits = []; window.hit = (what) => window.hits.push(what);")
    strange: list[str] = []
    page.on("request", lambda request: strange.append(request.url) if "evil.example" in request.url else None)
    page.goto(up.house.link)
    with httpx.Client(base_url=up.address, follow_redirects=True) as http:
        http.get(up.house.link)
        more = http.get("/today/more").text
        assert "Could you please answer" in more
        assert Elements(more).strange == []
        history = [f"/history/x{k:03}" for k in range(0, len(STRINGS), 25)]
        for path in (*PATHS, *history, "/pair?code=x"):
            if path != "/pair?code=x":
                answer = http.get(path)
                assert answer.status_code == 200, path
                assert Elements(answer.text).strange == [], path
            page.goto(f"{up.address}{path}")
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert page.evaluate("window.hits") == [], path
        for text in STRINGS[::5]:
            for path in ("/history", "/memory", "/video"):
                answer = http.get(path, params={"q": text, "day": text})
                assert Elements(answer.text).strange == [], (path, text)
        facts = re.findall(r'data-post="/memory/form" data-id="(\d+)"', http.get("/memory").text)
        for number in facts[::20]:
            for path, body in (("/memory/form", {"id": number}), ("/forget/look", {"kind": "fact", "what": number})):
                form = http.post(path, json=body, headers={"origin": up.address}).json()["html"]
                assert Elements(form).strange == [], number
        for k, text in enumerate(STRINGS):  # a stranger's words in each field of a form of the plan's steps
            form = http.post("/correct/form", json={"id": f"x{k:03}"}, headers={"origin": up.address}).json()["html"]
            assert Elements(form).strange == [], text
            if k % 25 == 0:
                page.evaluate("(html) => fill('told', html)", form)
                assert page.evaluate("[...document.querySelectorAll('#told textarea')].map((one) => one.value)")[
                    :2
                ] == [text, text]
                assert page.evaluate("window.hits") == [], text
    assert strange == []
    with httpx.Client(base_url=up.address, headers={"origin": up.address}) as http:
        http.get(up.house.link)
        for text in STRINGS[::5]:  # what is answered is data for the script, which writes it as text
            for path in (
                "/ask",
                "/answer",
                "/undo",
                "/correct",
                "/correct/form",
                "/correct/plan",
                "/change/form",
                "/change",
                "/ring",
                "/drop",
                "/switch",
                "/detach",
                "/skills/remove",
            ):
                body = dict.fromkeys(("id", "reply", "turn", "number", "tool", "device", "path", "name"), text)
                body |= {"tool-0": "add_note", "arg-0-title": text, "after-0": text}
                answer = http.post(path, json=body)
                assert answer.headers["content-type"].startswith("application/json"), path
                assert answer.status_code < 500, (path, text)
            assert http.post("/attach", params={"name": text}, content=text.encode()).status_code < 500
    assert page.evaluate("window.hits") == []
    page.context.close()


def test_files_are_taken_by_drop_by_paste_and_by_choice(lively: Served, chromium: Page) -> None:
    page = chromium
    page.goto(lively.address)
    dropped = """([event, name]) => {
        const given = new DataTransfer();
        given.items.add(new File(["the boiler was serviced"], name));
        const made = event === "drop" ? new DragEvent("drop", { dataTransfer: given, cancelable: true })
                                      : new ClipboardEvent("paste", { clipboardData: given, cancelable: true });
        document.dispatchEvent(made);
    }"""
    for event, name in (("drop", "dropped.txt"), ("paste", "pasted.txt")):
        page.evaluate(dropped, [event, name])
        page.wait_for_selector(f".chip:has-text('{name}')")
    assert "image/*" in (page.get_attribute("#file", "accept") or "")  # on a phone this offers the camera
    page.set_input_files("#file", {"name": "photo.png", "mimeType": "image/png", "buffer": PNG})
    page.wait_for_selector(".chip:has-text('photo.png')")
    assert page.input_value("#text") == "“dropped.txt” “pasted.txt” “photo.png” "
    kept = lively.house.home / "owner" / "documents" / "attached"
    named = {"dropped.txt", "pasted.txt", "photo.png"}
    assert {path.name for path in kept.iterdir()} & named == named
    page.click("button[aria-label='Remove: dropped.txt']")
    page.wait_for_selector(".chip:has-text('dropped.txt')", state="detached")
    assert {path.name for path in kept.iterdir()} & named == named - {"dropped.txt"}
