"""What waits: in order, once, through kills, clocks and full disks; what is dropped first; what may leave of it."""

from __future__ import annotations

import datetime as dt
import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.edge import enrolment
from hearth.edge.outbox import (
    LONGEST_WAIT_S,
    Kept,
    Outbox,
    Pace,
    Said,
    Shareable,
    Sharer,
    _masked,
    note_all_demonstrations,
    note_demonstrations,
    put,
    stable_id,
    trim,
)
from hearth.errors import StoreFullError
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.guard.egress.masking_door import MaskingDoor
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Demonstration, Label, Parameter, Plan, Ref, Step, ToolSpec

KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
TOOLS = {
    spec.name: spec
    for spec in (
        ToolSpec(
            "send_mail",
            "Send.",
            (
                Parameter("to", "list[EmailAddress]", is_sink=True),
                Parameter("cc", "PersonName"),
                Parameter("text", "text"),
                Parameter("at", "datetime"),
                Parameter("folder", "text", enum=("Drafts", "Anna")),
            ),
            effect="send",
        ),
        ToolSpec("find_mail", "Find.", (Parameter("sender", "text"),), returns="list[Mail]"),
    )
}


@pytest.fixture
def box(store: Store, home: Path) -> Outbox:
    enrolment.join(store, home, enrolment.Cloud("https://a.example", "A", KEY), "edge-1", "token-1", FIXED_NOW)
    return Outbox(store, lambda: FIXED_NOW)


def entry(
    id: str = "owner:1", request: str = "find mail from Anna", source: str = "owner", sender: str = "Anna"
) -> Entry:
    plan = Plan((Step("find_mail", {"sender": sender}),))
    return Entry(Demonstration(id, request, plan, source=source, now=FIXED_NOW), Label(frozenset({"owner"})), "owner")


def learn(store: Store, *entries: Entry) -> None:
    with store.transaction() as cursor:
        rows.keep(cursor, entries, None)


def waiting(box: Outbox) -> list[str]:
    return [message.about for message in box.head("demonstration", 1000)]


# ── In the transaction of the learning ────────────────────────────────────────────────────────────────────


def test_nothing_is_noted_before_a_cloud_was_joined(store: Store) -> None:
    learn(store, entry())
    assert not store.query("SELECT 1 FROM outbox")


def test_what_is_learnt_is_noted_in_the_same_transaction(store: Store, box: Outbox) -> None:
    def killed() -> None:
        with store.transaction() as cursor:
            rows.keep(cursor, [entry()], None)
            assert cursor.execute("SELECT count(*) FROM outbox").fetchone()[0] == 1
            raise RuntimeError("before the commit")

    with pytest.raises(RuntimeError, match="before the commit"):
        killed()
    assert waiting(box) == []
    assert not store.query("SELECT 1 FROM demonstration")
    learn(store, entry())
    assert waiting(box) == ["owner:1"]


def test_learnt_again_word_for_word_it_is_noted_once(store: Store, box: Outbox) -> None:
    learn(store, entry())
    learn(store, entry())
    with store.transaction() as cursor:
        note_all_demonstrations(cursor, FIXED_NOW)
    assert waiting(box) == ["owner:1"]


def test_those_from_before_joining_are_noted_when_it_is_joined(store: Store, home: Path) -> None:
    learn(store, entry("owner:1"), entry("owner:2"), entry("t:1", source="teacher"), entry("s:1", source="shipped"))
    enrolment.join(store, home, enrolment.Cloud("https://a.example", "A", KEY), "edge-1", "token-1", FIXED_NOW)
    with store.transaction() as cursor:
        note_all_demonstrations(cursor, FIXED_NOW)
    assert waiting(Outbox(store, lambda: FIXED_NOW)) == ["owner:1", "owner:2"]


def test_what_waited_for_one_cloud_waits_once_for_the_next(store: Store, box: Outbox, home: Path) -> None:
    learn(store, entry("owner:1"), entry("owner:2"))
    (first, _) = box.head("demonstration", 9)
    box.fix([replace(first, payload=b"masked for the other")])
    enrolment.join(store, home, enrolment.Cloud("https://b.example", "B", KEY), "edge-2", "token-2", FIXED_NOW)
    with store.transaction() as cursor:
        note_all_demonstrations(cursor, FIXED_NOW)
    assert waiting(box) == ["owner:1", "owner:2"]
    assert {message.payload for message in box.head("demonstration", 9)} == {None}


@pytest.mark.parametrize(("source", "n"), [("owner", 1), ("success", 1), ("teacher", 0), ("shipped", 0), ("tool:x", 0)])
def test_whose_demonstrations_are_shared(store: Store, box: Outbox, source: str, n: int) -> None:
    learn(store, entry(source=source))
    assert len(waiting(box)) == n


def test_taken_back_before_it_was_sent_it_does_not_wait_any_more(store: Store, box: Outbox) -> None:
    learn(store, entry("owner:1"), entry("owner:2"))
    with store.transaction() as cursor:
        rows.take_out(cursor, ["owner:1"], "rolled back", "")
    assert waiting(box) == ["owner:2"]


def test_replaced_before_it_was_sent_the_newer_one_waits(store: Store, box: Outbox) -> None:
    learn(store, entry())
    (first,) = box.head("demonstration", 9)
    learn(store, entry(sender="Ben"))
    (second,) = box.head("demonstration", 9)
    assert second.id != first.id
    assert second.about == "owner:1"


def test_delivered_it_stays_known_although_it_is_taken_back(store: Store, box: Outbox) -> None:
    learn(store, entry())
    (message,) = box.head("demonstration", 9)
    box.settle("demonstration", [message.id], {})
    with store.transaction() as cursor:
        rows.take_out(cursor, ["owner:1"], "rolled back", "")
        rows.keep(cursor, [entry()], None)
    assert waiting(box) == [], "the very same came back: the cloud has it"


def test_ids_are_the_same_whenever_they_are_made_and_tell_nothing() -> None:
    id = stable_id(b"secret", "demonstration", "owner:20261120-093000-ab12", "digest")
    assert id == stable_id(b"secret", "demonstration", "owner:20261120-093000-ab12", "digest")
    assert id != stable_id(b"other", "demonstration", "owner:20261120-093000-ab12", "digest")
    assert "owner" not in id


def test_with_a_forgotten_request_the_questions_go(store: Store, box: Outbox) -> None:
    with store.transaction() as cursor:
        put(cursor, "question", "q-1", b"call Person1", FIXED_NOW)
        cursor.execute(
            "INSERT INTO episode (id, request, request_id, now, status, began_unix_s) VALUES ('e', 'call Anna', '', '', '', 0)"
        )
        cursor.execute("DELETE FROM episode WHERE id = 'e'")
    assert box.counts() == {}


# ── Bounds ────────────────────────────────────────────────────────────────────────────────────────────────


def fill(store: Store, box: Outbox) -> None:
    learn(store, *(entry(f"owner:{k}") for k in range(4)))
    with store.transaction() as cursor:
        for k in range(3):
            put(cursor, "question", f"q-{k}", b"x" * 100, FIXED_NOW)
            put(cursor, "statistics", f"s-{k}", b"x" * 100, FIXED_NOW)
    box.bury("demonstration", {box.head("demonstration", 1)[0].id: "no"})


@pytest.mark.parametrize(
    ("most", "left"),
    [
        (8, {"dead": 1, "demonstration": 3, "question": 3, "statistics": 1}),
        (7, {"dead": 0, "demonstration": 3, "question": 3, "statistics": 1}),
        (5, {"dead": 0, "demonstration": 3, "question": 1, "statistics": 1}),
        (4, {"dead": 0, "demonstration": 3, "question": 0, "statistics": 1}),
        (2, {"dead": 0, "demonstration": 1, "question": 0, "statistics": 1}),
        (0, {"dead": 0, "demonstration": 0, "question": 0, "statistics": 0}),
    ],
)
def test_what_is_dropped_first_and_that_it_is_counted(
    store: Store, box: Outbox, most: int, left: dict[str, int]
) -> None:
    fill(store, box)
    assert box.trim(most, 10**9) == 8 - most
    counts = box.counts()
    assert {
        "dead": counts.get(("demonstration", "dead"), 0),
        **{kind: counts.get((kind, "waiting"), 0) for kind in ("demonstration", "question", "statistics")},
    } == left
    assert sum(n for _, _, n, _ in box.dropped()) == 8 - most
    assert [one.id for one in box.head("statistics", 9)] == ["s-2"] * left["statistics"], "the newest takes all places"


def test_bytes_are_bounded_too(store: Store, box: Outbox) -> None:
    fill(store, box)
    assert box.trim(1000, 250) == 3, "a dead letter without bytes, then questions"
    assert [message.id for message in box.head("question", 9)] == ["q-2"]
    assert box.trim(1000, 250) == 0


def test_what_was_dropped_is_never_the_newest_that_was_learnt(store: Store, box: Outbox) -> None:
    learn(store, *(entry(f"owner:{k}") for k in range(5)))
    with store.transaction() as cursor:
        assert trim(cursor, FIXED_NOW, 2) == 3
    assert waiting(box) == ["owner:3", "owner:4"]
    assert box.dropped() == (("demonstration", "too many waiting", 3, FIXED_NOW.isoformat(timespec="seconds")),)


# ── Pace ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_waits_grow_with_full_jitter_and_are_bounded(store: Store, box: Outbox) -> None:
    lot = random.Random(7)
    waits = [box.back_off("demonstration", "away", lot).wait_s for _ in range(40)]
    assert all(0 <= wait <= min(LONGEST_WAIT_S, 2.0 * 2.0**k) for k, wait in enumerate(waits))
    assert max(waits) > LONGEST_WAIT_S / 2
    assert min(waits[15:]) < LONGEST_WAIT_S / 2, "spread, not in step"
    again = random.Random(7)
    other = Outbox(store, lambda: FIXED_NOW)
    with store.transaction() as cursor:
        cursor.execute("DELETE FROM outbox_pace")
    assert [other.back_off("demonstration", "away", again).wait_s for _ in range(40)] == waits


def test_what_the_cloud_asks_for_is_waited(box: Outbox) -> None:
    pace = box.back_off("demonstration", "slower", random.Random(1), 120.0)
    assert 120.0 <= pace.wait_s <= 133.0
    assert not pace.is_due(FIXED_NOW + dt.timedelta(seconds=119))
    assert pace.is_due(FIXED_NOW + dt.timedelta(seconds=134))


@given(
    wait_s=st.floats(0, LONGEST_WAIT_S),
    steps=st.lists(st.tuples(st.floats(-3600, 3600), st.floats(0, 600)), max_size=30),
)
@settings(max_examples=60)
def test_no_wait_outlives_its_length_by_more_than_the_clock_is_off(
    wait_s: float, steps: list[tuple[float, float]]
) -> None:
    """However the clock jumps within an hour either way, what waits is due once its wait and that hour are over."""
    start = FIXED_NOW.timestamp()
    pace = Pace(1, start + wait_s, wait_s, "away")
    true_s = 0.0
    for skew_s, passed_s in steps:
        true_s += passed_s
        is_due = pace.is_due(FIXED_NOW + dt.timedelta(seconds=true_s + skew_s))
        assert is_due or true_s + skew_s < wait_s + 1e-3
    assert pace.is_due(FIXED_NOW + dt.timedelta(seconds=wait_s + 3600.001))
    assert pace.is_due(FIXED_NOW - dt.timedelta(days=400)), "set back by a year, it does not wait for a year"


def test_dead_letters_wait_again_behind_all_others(store: Store, box: Outbox) -> None:
    learn(store, entry("owner:1"), entry("owner:2"))
    first = box.head("demonstration", 1)[0]
    box.bury("demonstration", {first.id: "too large"})
    assert [letter.reason for letter in box.dead()] == ["too large"]
    assert box.revive() == 1
    assert waiting(box) == ["owner:2", "owner:1"]
    assert box.dead() == ()


def test_a_full_disk_writes_nothing_by_halves(store: Store, box: Outbox) -> None:
    learn(store, entry("owner:1"))
    (message,) = box.head("demonstration", 9)
    n_pages = store.query("PRAGMA page_count")[0][0]
    store.query(f"PRAGMA max_page_count={n_pages}")
    with pytest.raises(StoreFullError):
        box.fix([replace(message, payload=b"x" * 1_000_000)])
    with pytest.raises(StoreFullError):
        learn(store, *(entry(f"owner:{k}", "x" * 4000) for k in range(2, 50)))
    store.query("PRAGMA max_page_count=1000000")
    assert waiting(box) == ["owner:1"]
    assert box.head("demonstration", 9)[0].payload is None


def test_what_nobody_knows_yet_is_noted_without_a_cloud_as_nothing(store: Store) -> None:
    with store.transaction() as cursor:
        note_demonstrations(cursor, [("a", "d", "owner")], FIXED_NOW)
    assert not store.query("SELECT 1 FROM outbox")


# ── What may leave of a demonstration ─────────────────────────────────────────────────────────────────────


def shared(store: Store, demonstration: Demonstration, label: Label | None = None) -> Shareable | Kept:
    with store.transaction() as cursor:
        rows.keep(cursor, [Entry(demonstration, label or Label(frozenset({"owner"})))], None)
    digest = store.query("SELECT digest FROM demonstration WHERE id = ?", (demonstration.id,))[0][0]
    names = OwnerNames([OwnName("Anna Bergmann", "person")])
    return Sharer(store, "a.example", MaskingDoor(Masker(names=names)), TOOLS).shareable(
        "d-1", demonstration.id, digest
    )


def test_names_addresses_and_numbers_stay(store: Store) -> None:
    plan = Plan(
        (
            Step("find_mail", {"sender": "Anna Bergmann"}, text="find the mail of Anna Bergmann"),
            Step(
                "send_mail",
                {
                    "to": ["anna@bergmann.example", Ref(0, ("sender",))],
                    "cc": "Xaver",
                    "text": "xaver says: call +49 170 1234567",
                    "at": "2026-11-21T09:00:00+01:00",
                    "folder": "Anna",
                },
            ),
        )
    )
    said = "send anna@bergmann.example what Anna Bergmann wrote, from xaver"
    found = shared(store, Demonstration("owner:1", said, plan, source="owner", now=FIXED_NOW))
    assert isinstance(found, Shareable)
    text = found.payload.decode()
    for secret in ("Bergmann", "bergmann", "Xaver", "xaver", "1234567", "owner:1"):
        assert secret not in text, secret
    line = json.loads(text)
    assert line["id"] == "d-1"
    arguments = {one["name"]: one["value"] for one in line["task_nodes"][1]["arguments"]}
    assert arguments["at"] == "2026-11-21T09:00:00+01:00", "a time is nobody's"
    assert arguments["folder"] == "Anna", "an option of the tool's own"
    assert arguments["to"][1] == "<node-0.sender>"
    assert arguments["to"][0] in line["user_request"], "the same stand-in wherever it stands"
    assert line["tools"] == ["find_mail", "send_mail"]
    assert set(found.stands_for.values()) >= {"Anna Bergmann", "anna@bergmann.example", "Xaver"}
    assert set(line) == {"id", "user_request", "now", "tools", "task_steps", "task_nodes", "task_links"}


def test_what_is_hidden_in_the_request_is_hidden_as_a_key_and_as_a_number_too(store: Store) -> None:
    plan = Plan((Step("keep", {"table": {"Anna Bergmann": "x", "line": 1701234567, "n": 3}, "code": 1701234567.0}),))
    said = "keep 0170 1234567 for Anna Bergmann"
    found = shared(store, Demonstration("owner:1", said, plan, source="owner", now=FIXED_NOW))
    assert isinstance(found, Shareable)
    assert not [secret for secret in ("Bergmann", "1701234567", "0170") if secret in found.payload.decode()]
    (table, _) = (one["value"] for one in json.loads(found.payload)["task_nodes"][0]["arguments"])
    assert table["n"] == 3, "a count is nobody's"


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (Label(frozenset({"owner"}), frozenset()), "its label keeps it on this device"),
        (Label(frozenset({"owner"}), frozenset({"b.example"})), "its label keeps it on this device"),
        (Label(frozenset({"owner", "message"})), "text from message touched it"),
        (Label(frozenset({"owner", "somewhere new"})), "text from somewhere new touched it"),
    ],
)
def test_a_label_keeps_it_here(store: Store, label: Label, reason: str) -> None:
    found = shared(store, entry().demonstration, label)
    assert found == Kept(reason)


@pytest.mark.parametrize(
    "label", [Label(frozenset({"owner"})), Label(frozenset({"owner", "contacts"}), frozenset({"a.example"}))]
)
def test_a_label_lets_it_go(store: Store, label: Label) -> None:
    assert isinstance(shared(store, entry().demonstration, label), Shareable)


def test_that_nothing_is_to_be_done_teaches_others_nothing(store: Store) -> None:
    found = shared(store, Demonstration("owner:1", "order a pizza", Plan(()), source="owner"))
    assert isinstance(found, Kept)
    assert not found.is_gone


def test_what_is_gone_is_gone(store: Store) -> None:
    found = Sharer(store, "a.example", MaskingDoor(Masker()), TOOLS).shareable("d-1", "owner:1", "x")
    assert isinstance(found, Kept)
    assert found.is_gone


_NAMES = ("Anna Bergmann", "anna@bergmann.example", "+49 170 1234567", "DE89 3704 0044 0532 0130 00")


@given(
    words=st.lists(
        st.sampled_from((*_NAMES, "send", "to", "Person1", "masked", "mail1@masked.example", "the", "“", "<node-0>")),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=80)
def test_whatever_is_said_no_name_leaves(words: list[str]) -> None:
    text = " ".join(words)
    names = OwnerNames([OwnName("Anna Bergmann", "person")])
    data = {
        "task_steps": [text],
        "task_nodes": [{"task": "find_mail", "arguments": [{"name": "sender", "value": word} for word in words]}],
    }
    found = _masked(Said(text, None, OWNER), data, "d-1", MaskingDoor(Masker(names=names)), TOOLS)
    for name in _NAMES:
        assert name not in found.payload.decode()
    json.loads(found.payload)
