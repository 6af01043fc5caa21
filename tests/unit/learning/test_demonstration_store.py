"""What is let into the buffer, what is not and why, and what is kept of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth.errors import RequestError, StoreError
from hearth.learning.demonstration_store import MAX_LINE_BYTES, Buffer, Entry, read_entries
from hearth.storage.database import Store
from hearth.types import Demonstration, Label, Plain, Plan, Ref, Step
from tests.small_world import TOOLS, lessons, shown


@pytest.fixture
def buffer(store: Store) -> Buffer:
    return Buffer(store)


def line(id: str = "a", **more: Any) -> str:
    return json.dumps({"id": id, "user_request": "wake me", "task_nodes": [{"task": "set_alarm"}], **more})


def file_of(path: Path, *lines: str) -> Path:
    found = path / "given.jsonl"
    found.write_text("\n".join(lines) + "\n")
    return found


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_read_and_bad_lines_are_named(tmp_path: Path) -> None:
    path = file_of(
        tmp_path,
        line("a", teacher="big", candidates=[1], episode="e", label=["owner"]),
        "{not json",
        "[1]",
        line("b", task_nodes="x"),
        "",
        line("a"),
        line("c", label="web"),
        line("d", label={"sources": ["web"]}, source="owner"),
    )
    entries, refused = read_entries(path)
    assert [e.id for e in entries] == ["a", "d"]
    assert (entries[0].teacher, entries[0].candidates, entries[0].episode) == ("big", [1], "e")
    assert [e.demonstration.source for e in entries] == ["teacher", "owner"]
    assert entries[1].label == Label(frozenset({"web"}))
    assert [r.line for r in refused] == [2, 3, 4, 6, 7]
    assert refused[0].reason.startswith("line 2: not a JSON object in UTF-8")
    assert refused[1].reason == "line 3: a list, expected a JSON object per line"
    assert refused[2].reason.startswith("line 4: task_nodes: ")
    assert refused[3].reason == "line 6: the id 'a' is that of line 1, too; ids must differ"
    assert refused[4].reason == "line 7: label 'web' is no list of sources; expected the fields of the plan format"


def test_an_oversized_line_is_refused_and_the_next_is_read(tmp_path: Path) -> None:
    path = file_of(tmp_path, line("big", user_request="x" * (MAX_LINE_BYTES + 5_000_000)), line("b"))
    entries, refused = read_entries(path)
    assert [e.id for e in entries] == ["b"]
    assert refused[0].reason == "line 1: longer than 4,000,000 bytes; a request holds 1,000,000"


def test_a_line_without_an_id_gets_one_and_an_empty_file_is_an_error(tmp_path: Path) -> None:
    entries, _ = read_entries(file_of(tmp_path, line(""), line("")))
    assert [e.id for e in entries] == ["given-1", "given-2"]
    with pytest.raises(RequestError, match="holds no demonstration; expected one JSON object per line"):
        read_entries(file_of(tmp_path))
    with pytest.raises(RequestError, match=r"cannot read '.*absent': No such file"):
        read_entries(tmp_path / "absent")


# ── Letting in ────────────────────────────────────────────────────────────────────────────────────────────


def steps(*found: Step) -> Plan:
    return Plan(found)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (Entry(shown("a", "find_train")), ""),
        (
            Entry(replace(shown("a", "find_train"), plan=steps(Step("find_trian")))),
            "'a': step 0 calls 'find_trian', which is no tool; did you mean 'find_train'?",
        ),
        (
            Entry(
                replace(
                    shown("a", "find_train"), plan=steps(Step("find_train", after=(1,)), Step("set_alarm", after=(0,)))
                )
            ),
            "'a': steps 0 (find_train), 1 (set_alarm) wait for each other; "
            "a step may only use results of steps before it",
        ),
        (
            Entry(replace(shown("a", "find_train"), plan=steps(Step("find_train", {"x": Ref(4)})))),
            "'a': step 0 needs step 4, but the plan has steps 0 to 0",
        ),
        (
            Entry(replace(shown("a", "find_train"), plan=steps(Step("find_train", after=(4,))))),
            "'a': step 0 needs step 4, but the plan has steps 0 to 0",
        ),
        (
            Entry(replace(shown("a", "find_train"), plan=Plan(()))),
            "'a': the plan is empty; a demonstration shows at least one step",
        ),
        (
            Entry(replace(shown("a", "find_train"), plan=Plan((Step("set_alarm"),) * 65))),
            "'a': the plan has 65 steps; at most 64 are run, so split the request",
        ),
        (Entry(replace(shown("a", "find_train"), request=" \n")), "'a': the request is empty"),
        (
            Entry(replace(shown("a", "find_train"), request="x" * 10_000_000)),
            "'a': request and plan have 10,000,146 bytes; at most 1,000,000 are learnt from",
        ),
        (
            Entry(replace(shown("a", "find_train"), request="\ud800 train")),
            "'a': holds text that is not Unicode (lone surrogates); save it as UTF-8",
        ),
        (
            Entry(shown("b" * 201, "find_train")),
            f"the id {'b' * 40!r} must have 1 to 200 characters",
        ),
    ],
)
def test_what_may_come_in(buffer: Buffer, entry: Entry, reason: str) -> None:
    checked = buffer.check([entry], TOOLS)
    assert [r.reason for r in checked.refused] == ([reason] if reason else [])
    assert len(checked.entries) == (not reason)


@pytest.mark.parametrize(
    ("sources", "is_let_in"),
    [
        ({"owner"}, True),
        ({"device", "contacts"}, True),
        ({"teacher"}, True),
        ({"model", "owner"}, True),
        ({"message"}, False),
        ({"owner", "file"}, False),
        ({"owner", "web"}, False),
        ({"teacher", "web"}, False),
        ({"sensor"}, False),
        ({"memory"}, False),
    ],
)
def test_what_a_stranger_touched_stays_out(buffer: Buffer, sources: set[str], is_let_in: bool) -> None:
    checked = buffer.check([Entry(shown("a", "find_train"), Label(frozenset(sources)))], TOOLS)
    assert len(checked.entries) == is_let_in
    if not is_let_in:
        (refused,) = checked.refused
        named = ", ".join(sorted(sources - {"owner", "teacher"}))
        assert refused.reason == f"'a': text from {named} touched its plan; only what no stranger wrote is learnt from"


def test_an_id_given_twice_is_let_in_once(buffer: Buffer) -> None:
    checked = buffer.check([Entry(shown("a", "find_train")), Entry(shown("a", "set_alarm"))], TOOLS)
    assert [e.demonstration.plan.steps[0].tool for e in checked.entries] == ["find_train"]
    assert checked.refused[0].reason == "'a' was given twice; ids must differ"


def test_contradicting_teachers_are_both_kept_and_said(buffer: Buffer) -> None:
    a, b = shown("a", "find_train"), shown("b", "set_alarm")
    same = [Entry(replace(d, request="The usual")) for d in (a, b)]
    checked = buffer.check(same, TOOLS)
    assert [(c.id, c.other) for c in checked.contradictions] == [("b", "a")]
    assert len(checked.entries) == 2
    buffer.keep(checked.entries)
    later = buffer.check([Entry(replace(shown("c", "order_pizza"), request="the USUAL"))], TOOLS)
    assert [c.id for c in later.contradictions] == ["c"]
    assert buffer.check([Entry(replace(shown("d", "find_train"), request="other"))], TOOLS).contradictions == ()


# ── Keeping ───────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_kept_comes_back_as_it_was(buffer: Buffer) -> None:
    plan = steps(
        Step("find_train", {"to": "Ulm"}), Step("book_train", {"train": Ref(0, ("id",))}, after=(0,), text="seat")
    )
    given = Entry(
        Demonstration("a", "to Ulm", plan, ("find_train",), "success", None, ("find", "book")),
        Label(frozenset({"owner"}), frozenset()),
        "big",
        {"plans": [1]},
        "e1",
    )
    buffer.keep([given])
    (kept,) = buffer.all()
    assert replace(kept, added="") == given
    assert kept.digest == given.digest
    assert buffer.ids() == {"a": given.digest}
    assert buffer.check([given], TOOLS).n_known == 1


def test_a_newer_content_sets_the_older_aside(buffer: Buffer) -> None:
    old, new = Entry(shown("a", "find_train")), Entry(shown("a", "set_alarm"))
    buffer.keep([old])
    buffer.keep([new])
    assert len(buffer) == 1
    assert buffer.of(["a"])["a"].digest == new.digest
    assert buffer.n_set_aside() == {"replaced": 1}
    former = buffer.former("a", old.digest)
    assert former is not None
    assert former.demonstration.plan == old.demonstration.plan
    buffer.keep([old])
    assert buffer.former("a", old.digest) is None
    assert buffer.former("a", new.digest) is not None


def test_they_are_found_by_text_source_and_episode(buffer: Buffer) -> None:
    buffer.keep([Entry(shown("a", "find_train"), episode="e1"), Entry(shown("b", "set_alarm", source="owner"))])
    buffer.hold([Entry(shown("c", "order_pizza"))], "refused", "because")
    assert buffer.find(matching="ULM") == ("a",)
    assert buffer.find(matching="order_PIZZA") == ("c",)
    assert buffer.find(source="owner") == ("b",)
    assert buffer.find(episode="e1") == ("a",)
    assert buffer.find(source="teacher", matching="alarm") == ()
    assert [e.id for e in buffer.set_aside("refused")] == ["c"]


def test_a_row_that_cannot_be_read_is_named(buffer: Buffer, store: Store) -> None:
    buffer.keep([Entry(d) for d in lessons(2)])
    with store.transaction() as cursor:
        cursor.execute("UPDATE demonstration SET plan_json='{' WHERE id='d001'")
    with pytest.raises(StoreError, match=r"the demonstration 'd001' cannot be read .*; forget it, or restore the home"):
        buffer.all()


@pytest.mark.parametrize(
    "candidates",
    [None, "as I said", [], [{"tools": ["x"]}], [{"tools": ["x"], "share": -1}], [{"tools": ["x"], "share": 1e999}], 3],
)
def test_what_a_teacher_held_likely_in_another_form_is_not_learnt_from(candidates: Plain) -> None:
    assert Entry(Demonstration("1", "r", Plan((Step("x"),))), candidates=candidates).held_likely == ()
    shares: Plain = [{"tools": ["y"], "share": 1}, {"tools": ["x"], "share": 2}]
    assert Entry(Demonstration("1", "r", Plan((Step("x"),))), candidates=shares).held_likely == (
        (("x",), 2.0),
        (("y",), 1.0),
    )
    assert Entry(Demonstration("1", "r", Plan((Step("z"),))), candidates=shares).held_likely == ()
