"""Questions that wait for the cloud, when something is forgotten: they go, whatever is done with the record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth import cli
from hearth.edge.outbox import Outbox, put
from hearth.formats import edge_protocol
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.testing import FIXED_NOW
from hearth.types import OWNER
from tests.small_world import few_features as few_features
from tests.small_world import opened, shown


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with opened(tmp_path / "state") as state:
        with state.store.transaction() as cursor:
            for id, text, name in (("q-1", "tell Person1 about the harbour", "Zorana Quill"), ("q-2", "light on", "")):
                asked = edge_protocol.PlanAsked(id=id, request=text, now=FIXED_NOW, tools=())
                values = {"Person1": name} if name else {}
                put(cursor, "question", id, asked.model_dump_json().encode(), FIXED_NOW, values)
        box = Outbox(state.store, lambda: FIXED_NOW)
        box.answered("q-2", b'{"id": "q-2", "refusal": {"kind": "out_of_scope", "reason": "no lamp"}}')
        EventMemory(state.store).remember_all([NewEvent("e", "Quillfeather sings", "message", FIXED_NOW, OWNER, "Ana")])
        state.learn([shown("d", "order_pizza", source="owner")], must_pass=False)
        yield state


def left(state: State) -> list[str]:
    return [row["id"] for row in state.store.query("SELECT id FROM outbox ORDER BY id")]


@pytest.mark.parametrize("with_record", [True, False])
@pytest.mark.parametrize("what", [{"demonstrations": ["d"]}, {"events": ["e"]}, {"matching": "Quillfeather"}])
def test_all_go_with_whatever_else_is_forgotten(state: State, what: dict[str, Any], with_record: bool) -> None:
    found = find(state.store, Sought(with_record=with_record, **what))
    assert [text for _, text in found.questions] == ["tell Zorana Quill about the harbour", ""]
    assert forget(state, found).n_questions == 2
    assert left(state) == []
    assert b"harbour" not in (state.folder / "hearth.db").read_bytes()


@pytest.mark.parametrize("text", ["zorana quill about", "HARBOUR"])
def test_one_that_matches_goes_though_nothing_else_does(state: State, text: str) -> None:
    found = find(state.store, Sought(matching=text, with_record=False))
    assert [id for id, _ in found.questions] == ["q-1"]
    assert not found.is_empty
    assert forget(state, found).n_questions == 1
    assert left(state) == ["q-2"]


@pytest.mark.parametrize("text", ["Person1", "mangowood", "no lamp"])
def test_what_nothing_holds_takes_none(state: State, text: str) -> None:
    found = find(state.store, Sought(matching=text))
    assert found.is_empty
    assert left(state) == ["q-1", "q-2"]


def test_it_is_shown_before_and_said_after(tmp_path: Path, state: State, capsys: pytest.CaptureFixture[str]) -> None:
    state.close()
    command = ["forget", "--matching", "harbour", "--keep-record", "--state", str(tmp_path / "state")]
    assert cli.run(command) == 5
    assert "waits" in (shown_first := capsys.readouterr().out)
    assert "tell Zorana Quill about the harbour" in shown_first
    assert cli.run([*command, "--yes"]) == 0
    assert "1 question that waited for the cloud" in capsys.readouterr().out
