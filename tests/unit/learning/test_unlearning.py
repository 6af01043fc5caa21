"""Forgetting: the weights equal those that never saw it, and no file holds a word of it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hearth.errors import NotFound
from hearth.guard.egress.ledger import Draft, Ledger
from hearth.guard.labels import Value
from hearth.guard.policy.question import Consents
from hearth.learning.demonstration_store import Entry
from hearth.learning.unlearning import Found, Receipt, Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.memory.event_memory import EventMemory
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.types import OWNER, Answer, Demonstration, Episode, Parameter, Plan, Request, Step, ToolSpec
from tests.small_world import ENCODER, first, lessons, opened, recall, shown
from tests.small_world import few_features as few_features

NOW = dt.datetime(2026, 11, 20, 9, 30, tzinfo=dt.UTC)
SECRET = "call my lawyer Xanthippe about the Quillfeather affair"


def secret(id: str = "secret") -> Demonstration:
    return replace(shown(id, "order_pizza", "cancel_train", source="owner"), request=SECRET, task_steps=())


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with opened(tmp_path / "state") as state:
        yield state


def hold(folder: Path, text: str) -> list[str]:
    """Files that hold `text`."""
    wanted = text.encode()
    return [p.name for p in folder.rglob("*") if p.is_file() and wanted in p.read_bytes()]


def forgotten(state: State, **what: object) -> Receipt:
    return forget(state, find(state.store, Sought(**what)))  # type: ignore[arg-type]


def test_the_weights_equal_those_of_one_that_never_saw_it(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as with_it, opened(tmp_path / "b") as without:
        with_it.learn(lessons(40))
        with_it.learn([secret(), *lessons(20, 40)], must_pass=False)
        with_it.learn(lessons(4, 60), must_pass=False)
        without.learn(lessons(40))
        without.learn(lessons(20, 40), must_pass=False)
        without.learn(lessons(4, 60), must_pass=False)
        assert with_it.digest() != without.digest()
        receipt = forgotten(with_it, demonstrations=["secret"])
        assert with_it.digest() == without.digest()
        assert with_it.buffer.ids() == without.buffer.ids()
        assert with_it.tasks() == without.tasks()
        assert with_it.lineage.samples(3).keys() == without.lineage.samples(3).keys()
        assert receipt.held_after == _held(without)
        for number in (1, 2, 3):
            assert with_it.lineage.members(number) == without.lineage.members(number)
        assert receipt.versions_rewritten == (2, 3)
        assert first(with_it, SECRET) == first(without, SECRET)


def _held(state: State) -> str:
    import hashlib

    return hashlib.sha256("\n".join(sorted(state.buffer.ids().values())).encode()).hexdigest()


def test_every_version_it_was_in_is_rewritten_and_can_still_be_gone_back_to(state: State) -> None:
    state.learn([*lessons(40), secret()])
    state.learn(lessons(20, 40), must_pass=False)
    forgotten(state, demonstrations=["secret"])
    state.rollback(1)
    assert recall(state).ids() == tuple(d.id for d in lessons(40))
    for number in (1, 2):
        assert "secret" not in state.lineage.samples(number)
        assert all("secret" not in task.members for task in state.lineage.tasks(number))
        assert "order_pizza" not in str(state.lineage.tasks(number))


def test_no_file_holds_a_word_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with opened(folder) as state:
        for start in range(0, 40, 10):
            state.learn(lessons(10, start), must_pass=False)
        RecallPlanner(ENCODER, state.store)
        state.learn([secret()], must_pass=False)
        state.rollback(3)
        state.learn([replace(secret(), plan=Plan((Step("set_alarm"),)))], must_pass=False)
        assert "secret" in recall(state).ids()
        assert hold(folder, "Quillfeather")
        receipt = forgotten(state, matching="quillfeather")
        assert (receipt.n_demonstrations, receipt.found_in) == (1, ())
        assert receipt.searched > 2
        assert hold(folder, "Quillfeather") == []
        assert hold(folder, "Xanthippe") == []
        assert "secret" not in recall(state).ids()
    assert hold(folder, "Quillfeather") == []


def test_the_receipt_repeats_nothing_and_says_what_was_done(state: State) -> None:
    state.learn([*lessons(), secret()])
    receipt = forgotten(state, demonstrations=["secret"])
    (path,) = (state.folder / "receipts").iterdir()
    written = path.read_text()
    assert "Quillfeather" not in written
    assert "secret" not in written
    assert json.loads(written)["n_demonstrations"] == 1
    assert receipt.weights_before != receipt.weights_after
    assert len(receipt.weights_after) == 64
    assert receipt.n_held == 40
    assert receipt.rebuilt == (
        "what is known of the current version: its tasks and scores",
        "the weights of what plans, solved anew",
        "the episodic memory and its index",
        "the database file, written anew",
    )


def episode(id: str, text: str) -> Episode:
    return Episode(id, Request(text, NOW), Plan((Step("set_alarm"),)), None, None, (), Answer("Done.", "done"))


def record(state: State, id: str, text: str) -> None:
    trace = Trace(state.store)
    trace.begin(Request(text, NOW), id)
    trace.finish(episode(id, text))
    EventMemory(state.store).remember(text, kind="request", at=NOW, label=OWNER, key=id)


def test_the_request_it_came_from_leaves_the_record_and_the_memory(state: State) -> None:
    record(state, "e1", SECRET)
    record(state, "e2", "wake me at seven")
    EventMemory(state.store).remember("Quillfeather pays in coins", kind="note", at=NOW, label=OWNER, key="n1")
    spec = ToolSpec("call", "Call.", (Parameter("whom", "PersonName", is_sink=True),), effect="send")
    whom = {"whom": Value("Quillfeather", OWNER)}
    Consents(state.store).keep(spec, whom, "allow", frozenset({"default"}), NOW, "e1")
    state.learn([*lessons(), secret()])
    state.teach([Entry(replace(secret("other"), request="ring the bell"), episode="e1")])
    found = find(state.store, Sought(episode="e1"))
    assert [entry.id for entry in found.demonstrations] == ["other"]
    assert [id for id, _ in found.episodes] == ["e1"]
    found = find(state.store, Sought(matching="QUILLFEATHER"))
    assert [entry.id for entry in found.demonstrations] == ["secret"]
    assert [id for id, _ in found.events] == ["e1", "n1"]
    receipt = forget(state, found)
    assert (receipt.n_demonstrations, receipt.n_events, receipt.n_episodes) == (1, 2, 1)
    assert [e.id for e in Trace(state.store).episodes()] == ["e2"]
    assert EventMemory(state.store).search("lawyer coins") == ()
    assert Consents(state.store).all() == ()
    assert hold(state.folder, "Quillfeather") == []


def test_images_of_files_that_its_steps_changed_go_with_it(state: State) -> None:
    record(state, "e1", "write the note")
    (state.folder / "owner").mkdir()
    folder = Folder(state.folder / "owner", state.store)
    for call, text in (("e1-0", "Quillfeather " * 30_000), ("e1-1", "short"), ("e2-0", "kept")):
        folder.for_call(call).write("note.md", text.encode())
    assert hold(state.folder / "journal", "Quillfeather")
    forgotten(state, episode="e1")
    assert [row["key"] for row in state.store.query("SELECT key FROM journal")] == ["e2-0"]
    assert not list((state.folder / "journal").iterdir())
    assert (state.folder / "owner" / "note.md").read_text() == "kept"


def test_one_that_was_cut_off_is_not_touched(state: State) -> None:
    Trace(state.store).begin(Request(SECRET, NOW), "open")
    assert find(state.store, Sought(matching="Quillfeather")).is_empty


def test_the_record_can_be_kept(state: State) -> None:
    record(state, "e1", SECRET)
    state.teach([Entry(secret(), episode="e1")])
    found = find(state.store, Sought(demonstrations=["secret"], with_record=False))
    assert found.episodes == ()
    forget(state, found)
    assert Trace(state.store).has("e1")


def test_a_memory_is_forgotten_by_its_id(state: State) -> None:
    EventMemory(state.store).remember("Quillfeather pays in coins", kind="note", at=NOW, label=OWNER, key="n1")
    receipt = forgotten(state, events=["n1"])
    assert receipt.n_events == 1
    assert receipt.weights_after == receipt.weights_before == ""
    assert hold(state.folder, "Quillfeather") == []


def test_all_of_a_source_is_forgotten(state: State) -> None:
    state.learn([*lessons(), secret()])
    assert forgotten(state, source="teacher").n_demonstrations == 40
    assert recall(state).ids() == ("secret",)


def test_what_is_nowhere_is_said(state: State) -> None:
    with pytest.raises(NotFound, match="no demonstration 'x'; it may have been forgotten already"):
        find(state.store, Sought(demonstrations=["x"]))
    with pytest.raises(NotFound, match="no event 'x' in memory"):
        find(state.store, Sought(events=["x"]))
    with pytest.raises(NotFound, match="no episode 'x'"):
        find(state.store, Sought(episode="x"))
    assert find(state.store, Sought(matching="nowhere")).is_empty
    assert Found().is_empty


def test_a_copy_that_still_holds_it_is_named(state: State) -> None:
    state.teach([secret()])
    copy = state.folder / "hearth.db.damaged-1"
    copy.write_bytes(b"\0\0" + SECRET.encode())
    assert forgotten(state, demonstrations=["secret"]).found_in == ("hearth.db.damaged-1",)


@pytest.mark.parametrize("is_there", [True, False])
def test_the_name_of_a_file_that_is_still_there_is_not_blamed_on_the_database(state: State, is_there: bool) -> None:
    path = state.folder / "owner" / "documents" / f"{SECRET}.md"
    path.parent.mkdir(parents=True)
    path.write_text("words")
    state.teach([secret()])
    with state.store.transaction() as cursor:
        cursor.execute(
            "INSERT INTO passage_file (path, fingerprint, fault) VALUES (?, '', '')", (f"documents/{SECRET}.md",)
        )
    (state.folder / "hearth.lock").write_text(f"hearth forget --matching {SECRET}")
    if not is_there:
        path.unlink()
    assert forgotten(state, demonstrations=["secret"]).found_in == (() if is_there else ("hearth.db",))


def test_of_what_left_the_device_the_bytes_are_forgotten_and_the_chain_still_holds(state: State) -> None:
    state.teach([secret()])
    ledger = Ledger(state.store)
    ledger.append(Draft("sent", "teacher.example", "teacher", f'{{"content": "{SECRET}"}}'.encode(), 60))
    ledger.append(Draft("sent", "teacher.example", "teacher", b"something else", 14))
    first, *words = SECRET.split(" ")
    hidden = f'{{"content": "[X1] {" ".join(words)}"}}'.encode()
    ledger.append(Draft("sent", "teacher.example", "teacher", hidden, 60, {"[X1]": first}))
    receipt = forgotten(state, demonstrations=["secret"])
    assert (receipt.n_erased, receipt.disclosures, receipt.found_in) == (2, 0, ())
    first_entry, other, masked, erasure = ledger.entries()
    assert (first_entry.payload, first_entry.host, first_entry.n_bytes) == (None, "teacher.example", 60)
    assert (other.payload, masked.stands_for, erasure.payload) == (b"something else", None, b"[1, 3]")
    verdict = ledger.verify()
    assert (verdict.is_whole, verdict.n_erased) == (True, 2)
    assert hold(state.folder, "Quillfeather") == []


def test_what_only_the_ledger_holds_is_forgotten_too(state: State) -> None:
    ledger = Ledger(state.store)
    ledger.append(Draft("sent", "h", "r", "call Zoë about the QUILLFEATHER affair".encode(), 5))
    assert find(state.store, Sought(matching="quillfeather", with_record=False)).is_empty
    receipt = forgotten(state, matching="quillfeather")
    assert (receipt.n_erased, receipt.found_in) == (1, ())
    assert find(state.store, Sought(matching="quillfeather")).is_empty
    assert ledger.verify().is_whole


def test_what_left_the_device_stays_whole_when_the_record_is_kept(state: State) -> None:
    state.teach([secret()])
    ledger = Ledger(state.store)
    ledger.append(Draft("sent", "h", "r", f'{{"content": "{SECRET}"}}'.encode(), 5))
    receipt = forgotten(state, demonstrations=["secret"], with_record=False)
    assert (receipt.n_erased, receipt.disclosures, receipt.found_in) == (0, 1, ())
    assert next(ledger.entries()).payload is not None


def test_an_erasing_cut_off_is_finished_at_the_next_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as state:
        state.learn([*lessons(), secret()])
        monkeypatch.setattr(State, "erase", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            forgotten(state, demonstrations=["secret"])
    monkeypatch.undo()
    with opened(tmp_path) as state:
        assert not state.store.query("SELECT 1 FROM meta WHERE name='erase'")
        assert "secret" not in recall(state).ids()
    assert hold(tmp_path, "Quillfeather") == []
