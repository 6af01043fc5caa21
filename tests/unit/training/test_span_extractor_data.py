"""What the reader is taught from: places of values are right, and stay right however an example is varied."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from hearth.models.span_extractor import ABSENT, GIVEN, NO, OPTION, SPAN, YES
from hearth.planning.arguments.schema_filler import ADAPTER_FILE
from hearth.types import Parameter, ToolSpec
from hearth_bench.measure.planning.nested_split import nested_split, offered_folds
from training.span_extractor_data import (
    Corpus,
    Sample,
    corrected,
    exercise,
    held_matters,
    offered_samples,
    other_tool,
    plain_exercise,
    pool,
    read_matters,
    read_samples,
    renumbered,
    said,
    spoken_samples,
    turned_down,
    with_yes_or_no,
)

FIND = ToolSpec(
    "find_table",
    "Find a table",
    (
        Parameter("place", "text", "Where"),
        Parameter("seats", "integer", "How many"),
        Parameter("kind", "text", "Cuisine", False, enum=("Thai", "Greek")),
        Parameter("outside", "enum", "Whether outside", False, enum=("True", "False")),
        Parameter("day", "text", "Day", False),
        Parameter("dishes", "list[text]", "", False),
    ),
    fields={"id": "TableId", "price": "number"},
)
BOOK = ToolSpec("book_table", "Book it", (Parameter("table", "TableId"), Parameter("guests", "list[EmailAddress]")))
TOOLS = {"find_table": FIND, "book_table": BOOK}
TEXT = "user: Greek food in Athens for two, outside, on 2027-05-15, with olives, bread and wine.\nagent: In Athens?\nuser: Yes"
LINE = {
    "id": "1",
    "user_request": TEXT,
    "task_nodes": [
        {
            "task": "find_table",
            "arguments": [
                {"name": "place", "value": "athens"},
                {"name": "seats", "value": 2},
                {"name": "kind", "value": "Greek", "accept": ["Greek", "greek food"]},
                {"name": "outside", "value": "True"},
                {"name": "day", "value": "May 15", "accept": ["2027-05-15"]},
                {"name": "dishes", "value": ["olives", "bread", "wine"]},
                {"name": "unknown", "value": "x"},
            ],
        },
        {
            "task": "book_table",
            "arguments": [{"name": "table", "value": "<node-0.id>"}, {"name": "guests", "value": ["<node-0>"]}],
        },
    ],
}


@pytest.fixture
def samples(tmp_path: Path) -> list[Sample]:
    path = tmp_path / "plans.jsonl"
    path.write_text(json.dumps(LINE) + "\n")
    return read_samples(path, TOOLS, "test")


def words_of(sample: Sample, name: str) -> set[str]:
    return {sample.text[a:b] for a, b in sample.told[name].spans}


def test_values_are_found_where_they_are_said(samples: list[Sample]) -> None:
    find, book = samples
    assert words_of(find, "place") == {"Athens"}
    assert len(find.told["place"].spans) == 2
    assert words_of(find, "seats") == {"two"}
    assert words_of(find, "day") == {"2027-05-15"}
    assert words_of(find, "dishes") == {"olives, bread and wine"}
    assert (find.told["kind"].kind, find.told["kind"].option) == (OPTION, 1)
    assert find.told["outside"].kind == YES
    assert "unknown" not in find.told
    assert [book.fields[j].name for j in book.told["table"].fields] == ["id"]
    assert book.told["guests"].kind == GIVEN
    assert len(book.told["guests"].fields) == 2  # the whole result: any of its fields


@pytest.mark.parametrize(("value", "n"), [("one", 1), ("on", 0), ("", 0), ("A+", 1), ("one two", 1)])
def test_words_of_its_own(value: str, n: int) -> None:
    assert len(said(value, "one two, a+ clones")) == n


@pytest.mark.parametrize("seed", range(40))
def test_variation_keeps_places(samples: list[Sample], seed: int) -> None:
    rng = random.Random(seed)
    values = {"place": ["Rome", "Paris", "Oslo", "Bern"], "day": ["Monday", "May 2", "today", "the 9th"]}
    corpus = Corpus(samples, TOOLS, values)
    for sample in samples:
        one = exercise(sample, corpus, rng)
        assert len(one.form.questions) == len(one.told) == len(one.parameters)
        for parameter, told, asked in zip(one.parameters, one.told, one.form.questions):
            for a, b in told.spans:
                assert 0 <= a < b <= len(one.text)
                assert one.text[a:b].strip() == one.text[a:b]
            if told.kind == OPTION:
                assert set(asked.options) == set(parameter.enum)
                assert asked.options[told.option] == "Greek"
            if parameter.name == "seats" and told.spans:
                assert {one.text[a:b] for a, b in told.spans} == {"two"}


def test_the_same_seed_varies_the_same(samples: list[Sample]) -> None:
    corpus = Corpus(samples, TOOLS, pool(samples))
    one, other = (exercise(samples[0], corpus, random.Random(7)) for _ in range(2))
    assert one == other


def test_a_corrected_value_is_the_later_one(samples: list[Sample]) -> None:
    values = {"place": ["Rome", "Paris", "Oslo", "Bern"]}
    changed = corrected(samples[0], values, random.Random(1))
    (span,) = changed.told["place"].spans
    assert changed.text[span[0] : span[1]] in values["place"]
    assert changed.text.startswith(TEXT)


def test_what_is_turned_down_is_a_no(samples: list[Sample]) -> None:
    refused = turned_down(samples[0], random.Random(1))
    assert refused.told["outside"].kind == NO
    assert "outside" in refused.text[len(TEXT) :]
    assert turned_down(samples[1], random.Random(1)) == samples[1]  # nothing to refuse


@pytest.mark.parametrize("seed", range(30))
def test_a_matter_is_said_as_it_is_told(samples: list[Sample], seed: int) -> None:
    (matter,) = [m for m in read_matters() if m.name == "add_insurance"]
    told = with_yes_or_no(samples[0], random.Random(seed), [matter])
    right = told.told.get("add_insurance")
    parameter = told.spec.parameter("add_insurance")
    assert parameter is not None
    assert (right is None) == (told.text == TEXT)
    if right is None:
        assert not parameter.is_required
        return
    assert right.kind in (YES, NO)
    last = max(told.text.rfind(p) for p in matter.yes), max(told.text.rfind(p) for p in matter.no)
    if "insurance with that?" not in told.text and max(last) >= 0:
        assert (last[0] > last[1]) == (right.kind == YES)


def test_a_wrong_tool_teaches_fit_alone(samples: list[Sample]) -> None:
    one = other_tool(samples[0], BOOK)
    assert not one.is_fit
    assert all(told.kind == -1 for told in one.told)
    assert plain_exercise(samples[0], None).told[4].kind == SPAN
    assert plain_exercise(samples[1], None).is_fit


def test_what_is_not_told_is_absent() -> None:
    assert plain_exercise(Sample(FIND, "user: hello", {}), None).told[0].kind == ABSENT


def test_held_matters_are_apart() -> None:
    names = [m.name for m in read_matters()]
    assert len(set(names)) == len(names) > 60
    held = {m.name for m in held_matters()}
    assert 8 <= len(held) <= 12
    for matter in read_matters():
        assert not set(matter.yes) & set(matter.no)
        assert all(phrase == phrase.strip(" .") for phrase in (*matter.yes, *matter.no))


def test_held_rows_are_a_fifth() -> None:
    kept, held = nested_split(500)
    assert len(kept) == 400
    assert len(held) == 100
    assert not set(kept) & set(held)


def test_the_shipped_adapter_is_the_one_recorded() -> None:
    record = json.loads(ADAPTER_FILE.with_suffix(".json").read_text(encoding="utf-8"))
    data = ADAPTER_FILE.read_bytes()
    assert record["sha256"] == hashlib.sha256(data).hexdigest()
    assert len(data) < 5_000_000
    assert "CC BY-SA" in record["licence"]
    assert {"command", "options", "data_sha256", "final_losses"} <= record.keys()


# ── Functions offered, and what people say ────────────────────────────────────────────────────────────────

WORK = ToolSpec(
    "work",
    "Work done by a force",
    (
        Parameter("force", "number", "Force in newtons"),
        Parameter("distance", "integer", "Distance in meters"),
        Parameter("unit", "text", "Either 'joule' or 'calorie'", False),
    ),
)
OFFERED_LINE = {
    "user_request": "The work of 5 N over 20 and over 30 meters",
    "tools": ["work", "find_table"],
    "task_nodes": [
        {"task": "work", "arguments": [{"name": "force", "value": 5.0}, {"name": "distance", "value": 20},
                                       {"name": "unit", "value": "joule", "accept": ["joule", ""]}]},
        {"task": "work", "arguments": [{"name": "force", "value": 5.0}, {"name": "distance", "value": 30}]},
    ],
}  # fmt: skip


def test_a_tool_offered_is_told_with_all_its_calls() -> None:
    work, table = offered_samples(OFFERED_LINE, {"work": WORK, **TOOLS})
    assert (work.is_fit, table.is_fit) == (True, False)
    far = work.told["distance"]
    assert [[work.text[a:b] for a, b in one.spans] for one in (far, *far.others)] == [["20"], ["30 meters"]]
    assert "unit" not in work.told  # may be left out, and is not said
    one = exercise(table, Corpus([], {}), random.Random(0))
    assert not one.is_fit
    assert one.form.tool.startswith("find table")


def test_other_numbers_stand_in_the_same_places() -> None:
    work = offered_samples(OFFERED_LINE, {"work": WORK, **TOOLS})[0]
    other = renumbered(work, random.Random(3))
    assert len(other.text) == len(work.text)
    assert other.text != work.text
    assert other.told == work.told


def test_folds_keep_functions_together() -> None:
    def line(*names: str) -> dict[str, Any]:
        return {"tools": list(names), "task_nodes": [{"task": name} for name in names]}

    lines = [line("a"), line("a__2", "b"), line("b__3"), {"tools": ["c"], "task_nodes": []}]
    folds = offered_folds(lines)
    assert len(set(folds[:3])) == 1
    assert all(0 <= fold < 5 for fold in folds)


def test_peoples_slots_are_parameters(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    rows = [
        {"text": "Wake me at six on Monday or friday", "intent": "alarm_set",
         "slots": {"time": ["six"], "date": ["monday", "friday"], "_time": ["x"]}},
        {"text": "hello", "intent": "greet"},
        {"text": "play it", "intent": "play", "slots": {"song": ["not said"]}},
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    (sample,) = spoken_samples(path, random.Random(0))
    assert [p.name for p in sample.spec.parameters][:2] == ["time", "date"]
    days = sample.told["date"]
    assert [sample.text[a:b] for one in (days, *days.others) for a, b in one.spans] == ["Monday", "friday"]
