"""Turns of the outbox against a cloud that breaks the protocol in every way: once, in order, nothing lost."""

from __future__ import annotations

import datetime as dt
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.edge import enrolment
from hearth.edge.cloud_link import Link
from hearth.edge.outbox import Kind, Outbox, Sender, Sharer, Turn, one_at_a_time, put
from hearth.errors import HomeBusyError, StoreFullError
from hearth.guard.deidentify.masker import Masker
from hearth.guard.egress.masking_door import MaskingDoor
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Demonstration, Label, Parameter, Plan, Step, ToolSpec
from tests.small_cloud import AWAY, LOST, TOKEN, URL, DoorTo, Fault, SmallCloud, problem

TOOLS = {"find_mail": ToolSpec("find_mail", "Find.", (Parameter("sender", "text"),))}


@dataclass
class Edge:
    """A home that joined a small cloud."""

    store: Store
    cloud: SmallCloud = field(default_factory=SmallCloud)
    skew: dt.timedelta = dt.timedelta()
    seed: int = 0
    n_learnt: int = 0

    def learn(self, n: int = 1, about: str = "") -> None:
        made = []
        for k in range(self.n_learnt, self.n_learnt + n):
            plan = Plan((Step("find_mail", {"sender": f"word{k}"}),))
            one = Demonstration(f"owner:{k}", f"find what word{k} sent {about}", plan, source="owner", now=FIXED_NOW)
            made.append(Entry(one, Label(frozenset({"owner"}))))
        self.n_learnt += n
        with self.store.transaction() as cursor:
            rows.keep(cursor, made, None)

    def now(self) -> dt.datetime:
        return FIXED_NOW + self.skew

    @property
    def box(self) -> Outbox:
        return Outbox(self.store, self.now)

    def turn(self, *kinds: Kind, is_patient: bool = False) -> Turn:
        """One turn, as of a process that has just started."""
        self.seed += 1
        link = Link(URL, DoorTo(self.cloud), lambda: TOKEN, "edge-1")
        sharer = Sharer(self.store, link.host, MaskingDoor(Masker(())), TOOLS)
        sender = Sender(self.store, link, sharer, self.now, random.Random(self.seed))
        return sender.turn(kinds or ("demonstration",), is_patient=is_patient)

    def arrived(self) -> list[str]:
        """What the cloud took, in order."""
        return [line["user_request"].split()[2] for line in self.cloud.taken.values()]

    def expected(self) -> list[str]:
        return [f"word{k}" for k in range(self.n_learnt)]


@pytest.fixture
def edge(store: Store, home: Path) -> Edge:
    cloud = SmallCloud()
    enrolment.join(store, home, enrolment.Cloud(URL, "small", cloud.public_key), "edge-1", TOKEN, FIXED_NOW)
    return Edge(store, cloud)


def test_everything_arrives_once_in_order_in_few_requests(edge: Edge) -> None:
    edge.learn(300)
    assert edge.turn() == Turn(n_delivered=300, n_requests=2)
    assert edge.arrived() == edge.expected()
    assert edge.turn() == Turn()
    assert edge.cloud.n_taken == 300


JUNK = httpx.Response(200, content=b"<html>", headers={"content-type": "text/html"})


@pytest.mark.parametrize(
    "fault",
    [
        AWAY,
        LOST,
        JUNK,
        problem(500, "fault", ""),
        problem(503, "busy", "", retry_after="1"),
        problem(429, "rate", ""),
        problem(401, "token", ""),
        problem(409, "identity", ""),
        problem(426, "protocol", ""),
        problem(404, "missing", ""),
        httpx.Response(302, headers={"location": "https://elsewhere.example"}),
        lambda answer: httpx.Response(200, content=answer.content[:-9], headers=answer.headers),
        lambda answer: httpx.Response(200, content=answer.content * 2, headers=answer.headers),
        lambda answer: httpx.Response(200, content=answer.content.replace(b"b-", b"c-"), headers=answer.headers),
        lambda answer: httpx.Response(200, content=answer.content.replace(b"d-", b"x-"), headers=answer.headers),
    ],
)
def test_after_any_fault_it_is_sent_again_and_has_its_effect_once(edge: Edge, fault: Fault) -> None:
    edge.learn(3)
    edge.cloud.faults = [fault]
    turn = edge.turn()
    assert turn.n_delivered == turn.n_dead == 0
    assert [kind for kind, _ in turn.held] == ["demonstration"]
    assert len(edge.box.head("demonstration", 9)) == 3
    assert edge.box.pace("demonstration").n_failures == 1
    while edge.box.head("demonstration", 1):
        edge.turn()
    assert edge.arrived() == edge.expected()
    assert edge.cloud.n_taken == 3


def test_a_lost_answer_is_known_as_such(edge: Edge) -> None:
    edge.learn(2)
    edge.cloud.faults = [LOST]
    edge.turn()
    assert edge.cloud.n_taken == 2
    done = Turn()
    while edge.box.head("demonstration", 1):
        done = done.plus(edge.turn())
    assert (done.n_delivered, done.n_known) == (2, 2)
    assert edge.cloud.n_taken == 2


def test_the_same_request_is_sent_to_the_byte(edge: Edge) -> None:
    edge.learn(3)
    edge.cloud.faults = [AWAY]
    edge.turn()
    edge.cloud.faults = [LOST]
    edge.turn()
    again = edge.cloud.requests[1:]
    edge.turn()
    bodies = {request.headers["idempotency-key"]: request.content for request in [*again, edge.cloud.requests[-1]]}
    for request in edge.cloud.requests[1:]:
        assert bodies[request.headers["idempotency-key"]] == request.content


def test_patience_waits_until_it_is_due_and_says_why(edge: Edge) -> None:
    edge.learn()
    edge.cloud.faults = [problem(429, "rate", "slower", retry_after="100")]
    edge.turn()
    turn = edge.turn(is_patient=True)
    assert turn.n_requests == 0
    assert "slower" in turn.held[0][1]
    edge.skew = dt.timedelta(seconds=120)
    assert edge.turn(is_patient=True).n_delivered == 1


def test_kinds_do_not_wait_for_each_other(edge: Edge) -> None:
    edge.learn()
    with edge.store.transaction() as cursor:
        put(cursor, "statistics", "s-0", b"\0older sums", FIXED_NOW)
        put(cursor, "statistics", "s-1", b"\0sums", FIXED_NOW)
    edge.cloud.faults = [AWAY]
    turn = edge.turn("demonstration", "statistics")
    assert [kind for kind, _ in turn.held] == ["demonstration"]
    assert turn.n_delivered == 1
    assert edge.cloud.taken == {"s-1": {"sums": b"\0sums"}}, "the newest alone"
    assert edge.cloud.requests[-1].headers["content-type"] == "application/octet-stream"


def test_a_day_offline_loses_nothing(edge: Edge) -> None:
    edge.cloud.faults = [AWAY] * 10_000
    for hour in range(24):
        edge.skew = dt.timedelta(hours=hour)
        edge.learn(10)
        edge.turn(is_patient=True)
    assert len(edge.cloud.requests) <= 24, "it does not call all the time"
    edge.cloud.faults = []
    edge.skew = dt.timedelta(hours=26)
    assert edge.turn(is_patient=True).n_delivered == 240
    assert edge.arrived() == edge.expected()


# ── What is never taken ───────────────────────────────────────────────────────────────────────────────────


def test_what_is_refused_is_a_dead_letter_with_the_reason(edge: Edge) -> None:
    edge.learn(2)
    edge.learn(1, "POISON")
    edge.learn(2)
    edge.cloud.turns_away = {"POISON": "this tool is not known here"}
    assert edge.turn() == Turn(n_delivered=4, n_dead=1, n_requests=1)
    (letter,) = edge.box.dead()
    assert (letter.about, letter.reason) == ("owner:2", "this tool is not known here")
    edge.cloud.turns_away = {}
    edge.box.revive()
    assert edge.turn().n_delivered == 1


@pytest.mark.parametrize("status", [400, 413, 422])
def test_the_one_that_is_wrong_is_found_by_halving(edge: Edge, status: int) -> None:
    edge.learn(5)
    edge.learn(1, "POISON")
    edge.learn(10)

    def handle(request: httpx.Request) -> httpx.Response:
        if b"POISON" in request.content:
            return problem(status, "shape", "not like that")
        return right(request)

    right = edge.cloud.handle
    edge.cloud.handle = handle  # type: ignore[method-assign]
    turn = edge.turn()
    assert (turn.n_delivered, turn.n_dead) == (15, 1)
    assert [letter.about for letter in edge.box.dead()] == ["owner:5"]
    assert edge.arrived() == [word for word in edge.expected() if word != "word5"]


def test_what_is_too_large_together_goes_apart(edge: Edge) -> None:
    edge.learn(40, "x" * 500)
    edge.cloud.most_bytes = 9_000
    turn = edge.turn()
    assert (turn.n_delivered, turn.n_dead) == (40, 0)
    assert edge.arrived() == edge.expected()


def test_one_that_breaks_the_service_again_and_again_is_passed(edge: Edge) -> None:
    edge.learn(1, "POISON")
    edge.learn(3)
    edge.cloud.breaks_on = {"POISON"}
    for _ in range(30):
        edge.turn()
    (letter,) = edge.box.dead()
    assert letter.about == "owner:0"
    assert "took the one after it" in letter.reason
    assert edge.arrived() == edge.expected()[1:]


def test_a_service_that_is_broken_for_all_loses_nothing(edge: Edge) -> None:
    edge.learn(4)
    edge.cloud.breaks_on = {"word"}
    for _ in range(50):
        edge.turn()
    assert edge.box.dead() == ()
    edge.cloud.breaks_on = set()
    for _ in range(3):
        edge.turn()
    assert edge.arrived() == edge.expected()


def test_what_its_label_keeps_here_is_told_and_not_sent(edge: Edge) -> None:
    edge.learn()
    with edge.store.transaction() as cursor:
        cursor.execute("UPDATE demonstration SET label = ?", ('{"sources": ["owner"], "readers": []}',))
    assert edge.turn() == Turn(n_dead=1)
    assert "its label keeps it" in edge.box.dead()[0].reason
    assert not edge.cloud.requests


# ── Two senders, a full disk, questions ───────────────────────────────────────────────────────────────────


def test_only_one_sends_at_a_time(home: Path) -> None:
    with one_at_a_time(home), pytest.raises(HomeBusyError, match="nothing was sent twice"), one_at_a_time(home):
        pass
    with one_at_a_time(home):
        pass


def test_a_full_disk_after_the_effect_sends_again_and_the_cloud_knows(edge: Edge) -> None:
    edge.learn(3)
    settle = Outbox.settle

    def full(*_: object) -> None:
        raise StoreFullError("no space left")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Outbox, "settle", full)
        with pytest.raises(StoreFullError):
            edge.turn()
    assert Outbox.settle is settle
    assert edge.cloud.n_taken == 3
    assert edge.turn().n_known == 3
    assert edge.cloud.n_taken == 3


def test_a_question_that_waited_is_answered_and_the_answer_kept(edge: Edge) -> None:
    asked = {"id": "q-1", "request": "what", "now": FIXED_NOW.isoformat(), "tools": [{"id": "find_mail"}]}
    with edge.store.transaction() as cursor:
        assert put(cursor, "question", "q-1", json.dumps(asked).encode(), FIXED_NOW, {"Person1": "Anna"})
        assert not put(cursor, "question", "q-1", json.dumps(asked).encode(), FIXED_NOW)
    edge.cloud.plans = [{"plan": {"task_nodes": []}, "confidence": 0.5}]
    assert edge.turn("question") == Turn(n_answered=1, n_requests=1)
    answer = edge.box.answer_to("q-1")
    assert answer is not None
    assert json.loads(answer)["confidence"] == 0.5
    assert edge.box.answer_to("q-2") is None


FAULTS: tuple[Fault, ...] = (
    *(AWAY, LOST, JUNK, problem(500, "fault", ""), problem(429, "rate", "", retry_after="5")),
    lambda answer: httpx.Response(200, content=answer.content[: len(answer.content) // 2], headers=answer.headers),
)


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([None, *range(len(FAULTS))]), st.sampled_from([-3600, 0, 3600])),
        max_size=12,
    )
)
@settings(max_examples=15)
def test_whatever_happens_everything_arrives_once_in_order(
    steps: list[tuple[int, int | None, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    with Store.open(home / "hearth.db") as store:
        cloud = SmallCloud()
        enrolment.join(store, home, enrolment.Cloud(URL, "small", cloud.public_key), "edge-1", TOKEN, FIXED_NOW)
        edge = Edge(store, cloud)
        for n, fault, skew_s in steps:
            edge.skew = dt.timedelta(seconds=skew_s)
            edge.learn(n)
            cloud.faults = [] if fault is None else [FAULTS[fault]]
            edge.turn()
        cloud.faults = []
        for _ in range(4):
            edge.turn()
        assert edge.arrived() == edge.expected()
        assert cloud.n_taken == edge.n_learnt
        assert edge.box.dead() == ()
