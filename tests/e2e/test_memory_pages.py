"""The pages Memory and Learning over a home that is up: facts put right, versions rolled back, things forgotten for good."""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
from collections.abc import Iterator
from email.utils import format_datetime

import httpx
import pytest

from hearth.agent import Agent
from hearth.errors import RequestError
from hearth.learning.unlearning import Sought
from hearth.learning.versions.learned_state import Version
from hearth.memory.facts import NewFact
from hearth.serve.desk import Caller
from hearth.serve.pages import memory_pages
from hearth.serve.pages.memory_pages import curve_of
from hearth.types import OWNER as OWNERS
from hearth.types import Demonstration, Plan, Step
from tests.served_home import ASKS, READS, Served, made, served

OWNER = Caller("page", is_owner=True)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = made(tmp_path_factory.mktemp("memory") / "home")
    with (home / "hearth.toml").open("a") as settings:
        settings.write('\n[learning]\nprofile = "small"\n')
    with served(home) as running:
        yield running


@pytest.fixture
def browser(up: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=up.address, follow_redirects=True, headers={"origin": up.address}, timeout=60) as client:
        client.get(up.house.link)
        yield client


def said(answer: httpx.Response) -> str:
    return str(answer.json()["says"])


def held(up: Served, value: str, *, is_sure: bool = True) -> int:
    def add(agent: Agent) -> int:
        now = agent.clock()
        return agent.facts.add(
            NewFact("me", "lives in", value, now.replace(year=2019)), now, is_proposed=not is_sure
        ).id

    return up.desk.use(add).result(20)


def test_a_fact_is_put_right_with_its_history_and_ended(up: Served, browser: httpx.Client) -> None:
    number = held(up, "Ghent")
    form = browser.post("/memory/form", json={"id": str(number)}).json()["html"]
    assert 'value="Ghent"' in form
    assert "Bruges" in said(browser.post("/memory/amend", json={"id": str(number), "value": " Bruges "}))
    page = browser.get("/memory").text
    assert "Bruges" in page
    assert "Ghent" not in page
    (now,) = re.findall(r'data-post="/memory/form" data-id="(\d+)"', page)
    history = browser.post("/memory/form", json={"id": now}).json()["html"]
    assert "Ghent" in history
    assert "you corrected it" in history
    assert browser.post("/memory/amend", json={"id": str(number), "value": "x"}).status_code == 404  # no longer stands
    assert said(browser.post("/memory/end", json={"id": now, "on": "2024-01-01"})).startswith("It was so: ")
    assert "Bruges" not in browser.get("/memory").text


def test_what_was_only_proposed_waits_for_a_word(up: Served, browser: httpx.Client) -> None:
    number = held(up, "Antwerp", is_sure=False)
    assert f'data-post="/memory/confirm" data-id="{number}"' in browser.get("/memory").text
    assert said(browser.post("/memory/confirm", json={"id": str(number)})) == "Held true."
    assert browser.post("/memory/confirm", json={"id": str(number)}).status_code == 404
    assert re.findall(r'data-post="/memory/form" data-id="\d+" [^>]*Antwerp', browser.get("/memory").text)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/memory/form", {"id": "77777"}, 404),
        ("/memory/form", {"id": "x"}, 404),
        ("/memory/form", {"id": "9" * 5000}, 404),
        ("/memory/amend", {"id": "77777", "value": "y"}, 404),
        ("/memory/end", {"id": "1", "on": "soon"}, 400),
        ("/memory/end", {}, 404),
        ("/memory/confirm", {"id": "77777"}, 404),
        ("/learning/rollback", {"id": "77777"}, 404),
        ("/learning/rollback", {"id": "-1"}, 404),
        ("/forget/look", {"kind": "everything", "what": "x"}, 400),
        ("/forget/look", {"kind": "words", "what": " a "}, 400),
        ("/forget/look", {"kind": "words", "what": "x" * 201}, 400),
        ("/forget/look", {"kind": "words", "what": "nowhere at all"}, 404),
        ("/forget/look", {"kind": "fact", "what": "x"}, 404),
        ("/forget/look", {"kind": "demonstration", "what": "' OR 1=1 --"}, 404),
        ("/forget/look", {"kind": "request", "what": "nothing"}, 404),
        ("/forget", {"kind": "request", "what": "nothing", "digest": ""}, 404),
        ("/ask", {"text": "half \ud800"}, 400),
    ],
)
def test_what_is_not_there_is_said(browser: httpx.Client, path: str, body: dict[str, str], status: int) -> None:
    answer = browser.post(path, content=json.dumps(body))
    assert (answer.status_code, bool(said(answer))) == (status, True), answer.text


def test_what_is_forgotten_is_shown_first_and_is_in_no_page_afterwards(up: Served, browser: httpx.Client) -> None:
    with up.answering("no"):
        id = up.desk.ask(ASKS, OWNER).result(20).id
    assert said(browser.post("/correct", json={"id": id, "say": ""})) == "Learnt: I will do nothing next time."
    assert ASKS in browser.get("/learning").text
    shown = browser.post("/forget/look", json={"kind": "request", "what": id}).json()["html"]
    assert shown.count(ASKS) >= 2  # what was taught, and what was asked
    assert shown.count(f'"forget-{id}"') == 2  # where it is shown, and its outcome after it
    (digest,) = re.findall(r'data-digest="(\w+)"', shown)
    wrong = browser.post("/forget", json={"kind": "request", "what": id, "digest": "0" * 32})
    assert (wrong.status_code, "look again" in said(wrong)) == (400, True)
    assert ASKS in browser.get("/history").text
    done = browser.post("/forget", json={"kind": "request", "what": id, "digest": digest})
    assert said(done).startswith("Forgotten, ")
    for path in ("/", "/history", "/learning", "/memory"):
        assert ASKS not in browser.get(path).text, path
    assert browser.get(f"/history/{id}").status_code == 404
    assert up.desk.ask("what time is it", OWNER).result(20).answer.status == "done"  # the agent goes on


def test_where_the_last_request_is_forgotten_older_ones_are_not_told_as_new(up: Served, browser: httpx.Client) -> None:
    last = [up.desk.ask(READS, OWNER).result(20).id for _ in range(2)][-1]
    told: list[str] = []
    with browser.stream("GET", f"/events?last={last}") as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: now"
        found = up.desk.use(lambda agent: memory_pages.would_go(agent, Sought(episode=last))).result(20)
        up.desk.use(lambda agent: memory_pages.forgotten(agent, Sought(episode=last), found.digest)).result(60)
        new = up.desk.ask(READS, OWNER).result(20).id
        for line in lines:
            if '"id": ' in line:
                told.append(json.loads(line.removeprefix("data: "))["id"])
            if new in told:
                break
    assert told == [new]


def test_a_memory_that_was_forgotten_is_not_found_by_the_running_agent(up: Served) -> None:
    def remembered(agent: Agent) -> int:
        agent.memory.remember("the safe opens with 4711", kind="note", at=agent.clock(), label=OWNERS, key="k")
        return len(agent.memory.search("safe"))

    assert up.desk.use(remembered).result(20) == 1
    sought = Sought(matching="safe opens with")
    found = up.desk.use(lambda agent: memory_pages.would_go(agent, sought)).result(20)
    with pytest.raises(RequestError, match="look again"):
        up.desk.use(lambda agent: memory_pages.forgotten(agent, sought, "")).result(20)
    up.desk.use(lambda agent: memory_pages.forgotten(agent, sought, found.digest)).result(60)
    assert up.desk.use(lambda agent: len(agent.memory.search("safe"))).result(20) == 0


def test_versions_are_drawn_and_an_earlier_one_plans_again(up: Served, browser: httpx.Client) -> None:
    def learn(agent: Agent, text: str) -> int | None:
        with memory_pages.opened_state(agent) as state:
            return state.learn([demonstration(text)]).version

    first, second = (up.desk.use(functools.partial(learn, text=text)).result(60) for text in ("one", "two"))
    page = browser.get("/learning").text
    assert f'aria-label="Let version {first} plan"' in page
    assert f'aria-label="Let version {second} plan"' not in page
    assert said(browser.post("/learning/rollback", json={"id": str(first)})) == f"Version {first} plans again."
    assert f'aria-label="Let version {second} plan"' in browser.get("/learning").text


def test_today_says_who_waits_for_an_answer_and_what_is_suggested(up: Served, browser: httpx.Client) -> None:
    inbox = up.house.home / "owner" / "mail" / "cur"
    inbox.mkdir(parents=True, exist_ok=True)
    sent = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    (inbox / "1.eml:2,S").write_text(
        f"From: <b>Anna</b> <anna@x.example>\nTo: mira@example.org\nSubject: Lunch\nDate: {format_datetime(sent)}\n"
        "Message-ID: <1@x>\nContent-Type: text/plain\n\nHello Mira,\n\nCould you bring the cake on Sunday?\n\nAnna\n"
    )
    held(up, "Liège", is_sure=False)
    assert 'data-load="/today/more"' in browser.get("/today").text
    more = browser.get("/today/more").text
    assert "Could you bring the cake on Sunday?" in more
    assert "<b>" not in more
    assert "It seems that you live in Liège" in more


def demonstration(text: str) -> Demonstration:
    return Demonstration(text, f"tell me {text}", Plan((Step("current_time"),)), source="owner")


def test_a_curve_has_a_point_for_each_version_that_was_judged() -> None:
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    versions = [
        Version(number, number - 1, at, "", 1, 0, record={"node_f1": score} if score else {})
        for number, score in ((1, None), (2, 0.5), (3, 0.75), (5, 1.0))
    ]
    curve = curve_of(versions)
    assert curve is not None
    assert [point[2:] for point in curve.points] == [(2, 0.5), (3, 0.75), (5, 1.0)]
    heights = [y for _, y, _, _ in curve.points]
    assert heights == sorted(heights, reverse=True)
    assert curve_of(versions[:2]) is None
