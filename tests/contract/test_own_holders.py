"""The core's own stores keep the contract of holders: demonstrations, recorded requests, comparisons, questions, bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hearth.edge.outbox import QuestionHolder, put
from hearth.formats import edge_protocol
from hearth.guard.egress.ledger import Draft, Ledger, LedgerHolder
from hearth.learning.demonstration_store import Buffer, Entry
from hearth.learning.taught_holder import TaughtHolder
from hearth.memory.event_memory import EventMemory
from hearth.memory.facts import FactStore, NewFact
from hearth.memory.forgetting import MemoryHolder
from hearth.planning.deferral import AgreementHolder
from hearth.protocols import Held, Holder, Wanted
from hearth.storage.database import Store
from hearth.storage.trace import RecordHolder, Trace
from hearth.testing import FIXED_NOW, check_holder
from hearth.types import OWNER, PUBLIC, Answer, Demonstration, Episode, Plan, Request, Step

ANNA, BEN = "write to Anna Quill of the boat", "write to Ben Mossop of the roof"
COMPARED = (
    "INSERT INTO agreement (at, episode, request, planner, confidence, plan_json, teacher, teacher_json, is_right, share,"
    " is_drawn) VALUES ('2026-01-01', ?, ?, 'p', 1, '{}', 't', '{}', 1, 1, 1)"
)


def fill(store: Store, *into: str) -> Store:
    """Put both requests into each of these stores."""
    for id, text in (("anna", ANNA), ("ben", BEN)):
        plan, request = Plan((Step("send_mail", {"text": text}),)), Request(text, FIXED_NOW)
        if "demonstrations" in into:
            shown = Entry(Demonstration(f"d-{id}", text, plan, ("send_mail",)), PUBLIC, "", None, id)
            Buffer(store).keep([shown])
            Buffer(store).hold([shown], "waiting")
        if "memories" in into:
            EventMemory(store).remember(text, kind="request", at=FIXED_NOW, label=OWNER, key=id)
            FactStore(store).add(NewFact("me", "wrote to", text.removeprefix("write to "), events=(id,)), FIXED_NOW)
        if "requests" in into:
            trace = Trace(store)
            trace.begin(request, id)
            trace.finish(Episode(id, request, plan, None, None, (), Answer(text, "done")))
        if "ledger" in into:
            draft = Draft("sent", "mail.example", "mail", payload=text.encode(), n_bytes=9, episode=id)
            Ledger(store, lambda: FIXED_NOW).append(draft)
        with store.transaction() as cursor:
            if "comparisons" in into:
                cursor.execute(COMPARED, (id, text))
            if "questions" in into:
                asked = edge_protocol.PlanAsked(id=f"q-{id}", request=text, now=FIXED_NOW, tools=())
                put(cursor, "question", f"q-{id}", asked.model_dump_json().encode(), FIXED_NOW, {})
    return store


OWN: dict[str, tuple[Callable[[Store], Holder], set[str]]] = {
    "demonstrations": (TaughtHolder, {"demonstration"}),
    "memories": (MemoryHolder, {"event", "fact"}),
    "requests": (RecordHolder, {"episode", "step"}),
    "comparisons": (AgreementHolder, set()),
    "questions": (QuestionHolder, set()),
    "ledger": (LedgerHolder, {"meta"}),
}


@pytest.fixture
def filled(store: Store) -> Store:
    return fill(store, *OWN)


@pytest.mark.parametrize("name", OWN)
def test_each_keeps_the_contract(store: Store, name: str) -> None:
    open_holder, owns = OWN[name]
    fill(store, name)
    found = check_holder(open_holder, store, "anna quill", "BEN MOSSOP", owns)
    assert (found.holder, sum(count.n for count in found.counts)) == (name, 2 if name == "memories" else 1)
    data = store.path.read_bytes()
    assert (ANNA.encode() in data, BEN.encode() in data) == (False, True)


@pytest.mark.parametrize("name", ["demonstrations", "memories", "requests", "comparisons", "ledger"])
def test_what_belongs_to_a_request_goes_with_it(filled: Store, name: str) -> None:
    holder = OWN[name][0](filled)
    assert holder.find(["anna"], None, "") == holder.find((), None, "Anna Quill")
    assert holder.find(["nobody"], None, "").is_empty


@pytest.mark.parametrize(
    ("holder", "others", "n"),
    [
        (AgreementHolder, [Held("demonstrations", texts=(ANNA,))], 1),
        (AgreementHolder, [Held("demonstrations", texts=(ANNA[:-1],))], 0),
        (LedgerHolder, [Held("requests", events=("anna",))], 1),
        (LedgerHolder, [Held("memories", texts=("Anna Quill", "Mossop"))], 1),
        (LedgerHolder, [Held("memories", texts=("a boat in the harbour", "Quill"))], 0),
        (RecordHolder, [Held("mails", texts=(ANNA,))], 0),
        (MemoryHolder, [Held("requests", events=("anna",))], 2),
        (MemoryHolder, [Held("requests", texts=(ANNA,), events=("nobody",))], 0),
    ],
)
def test_what_depends_on_others_is_found_with_them_and_nothing_else(
    filled: Store,
    holder: Callable[[Store], AgreementHolder | LedgerHolder | MemoryHolder | RecordHolder],
    others: list[Held],
    n: int,
) -> None:
    nothing = holder(filled).find((), None, "")
    widened = holder(filled).find_with(nothing, others)
    assert sum(count.n for count in widened.counts) == n
    assert holder(filled).find_with(widened, ()) == widened


def test_questions_go_with_anything(filled: Store) -> None:
    holder = QuestionHolder(filled)
    (one,) = holder.find((), None, "mossop").counts
    (all_,) = holder.find_with(holder.find((), None, ""), (holder.find((), None, "mossop"),)).counts
    assert (one.n, all_.n) == (1, 2)


def test_memories_are_meant_by_person_and_topic_as_they_are_by_words(store: Store) -> None:
    fill(store, "memories")
    found = check_holder(MemoryHolder, store, Wanted(topic="boat"), Wanted(person="Ben Mossop"), {"event", "fact"})
    assert found.events == ("anna",)
