"""What the reader is taught from: places of values are right, and stay right however an example is varied."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest

from hearth.models.span_extractor import ABSENT, GIVEN, NO, OPTION, SPAN, YES
from hearth.planning.arguments.schema_filler import ADAPTER_FILE
from hearth.types import Parameter, ToolSpec
from hearth_bench.measure.planning.nested_split import nested_split
from training.span_extractor_data import (
    Corpus,
    Sample,
    corrected,
    exercise,
    held_matters,
    other_tool,
    plain_exercise,
    pool,
    read_matters,
    read_samples,
    said,
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
