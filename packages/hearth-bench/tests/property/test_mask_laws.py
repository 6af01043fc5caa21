"""python -m pytest packages/hearth-bench/tests/property/test_mask_laws.py"""

from __future__ import annotations

import json
import random

import hypothesis.strategies as st
from hypothesis import given, settings

from hearth.config import MASK_KINDS
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.guard.egress.masking_door import MaskedModel, MaskingDoor
from hearth.language.values.identifying import fold, plain, words
from hearth.models.llm.scripted import ScriptedModel
from hearth.types import Plan, Step
from hearth_bench.suites.privacy_suite import Gold, Sample, fuzzed, round_trips

VALUES = ("Mia Berger", "Mia", "Berger", "Zoë Müller", "王伟", "Acme Widgets GmbH", "+49 170 1234567", "mia@berger.example",
          "DE89 3704 0044 0532 0130 00", "4111 1111 1111 1111", "https://b.example/x", "10.0.0.7", "00:1b:44:11:3a:b7",
          "born 12.03.1985", "12 Main Street", "my password is S3cret!", "account number 12345678", "plan.pdf")  # fmt: skip
HOSTILE = ("Person1", "person 2", "Person12", "mail1@masked.example", "+1 202 555 0100", "9999 0000 0000 0012", "99", "0",
           "ZZ39000000000000000001", "13.01.1900", "240.0.0.1", "2001:db8::1", "File1.pdf", "Xbbbbb1", "Xbbbbb", "\u200b",
           "\ud800", "\u0301", "М", "\x00", "@", ".", "/", "'s", "_", "-", "\n", " ", " ")  # fmt: skip
NAMES = OwnerNames(
    [OwnName(name, "person") for name in VALUES[:5]] + [OwnName(VALUES[5], "organisation"), OwnName(VALUES[6], "phone")]
)
MASKER = Masker(MASK_KINDS, names=NAMES, country="DE")

texts = st.lists(
    st.one_of(st.sampled_from(VALUES), st.sampled_from(HOSTILE), st.text(max_size=12)), max_size=14
).flatmap(lambda parts: st.sampled_from(("", " ")).map(lambda gap: gap.join(parts)))


@given(texts)
@settings(max_examples=200)
def test_what_was_masked_comes_back_exactly(text: str) -> None:
    masked = MASKER.mask(text)
    assert masked.unmask(masked.text) == text


@given(st.lists(texts, max_size=4))
def test_texts_of_one_conversation_come_back_exactly(parts: list[str]) -> None:
    masked = MASKER.mask(*parts)
    assert [masked.unmask(text) for text in masked.texts] == parts


@given(texts)
def test_every_stand_in_stands_for_one_value_and_every_value_has_one(text: str) -> None:
    masked = MASKER.mask(text)
    kinds = masked.stand_ins.kinds
    assert len({(kinds[name], value) for name, value in masked.values.items()}) == len(masked.values)
    assert all(name not in text for name in masked.values)


@given(texts)
def test_a_plan_made_of_the_masked_text_is_the_plan_of_the_text(text: str) -> None:
    masked = MASKER.mask(text)
    plan = Plan((Step("t", {"a": masked.text, "b": [{"c": masked.text}]}, text=masked.text),), unserved=(masked.text,))
    assert masked.unmask_answer(plan) == Plan(
        (Step("t", {"a": text, "b": [{"c": text}]}, text=text),), unserved=(text,)
    )


@given(texts)
def test_a_model_behind_the_mask_that_repeats_what_it_was_told_is_read_right(text: str) -> None:
    class Parrot(ScriptedModel):
        def complete(self, messages: object, schema: object = None) -> str:
            return str(messages[-1]["content"])  # type: ignore[index]

    model = MaskedModel(Parrot([]), MaskingDoor(MASKER))
    asked = json.dumps({"request": text, "now": "2026-11-20T10:00:00+01:00", "names": [{"name": text}]})
    answered = model.complete([{"role": "system", "content": "plan"}, {"role": "user", "content": asked}])
    assert json.loads(answered)["request"] == text
    assert json.loads(answered)["names"] == [{"name": text}]


@given(st.sampled_from(VALUES[:5]), st.integers(0, 2**16), st.text(" ,.!?\n", min_size=1, max_size=3))
def test_no_way_of_writing_a_name_leaves(name: str, seed: int, gap: str) -> None:
    draw = random.Random(seed)
    written = name
    if draw.random() < 0.5:
        written = draw.choice((str.upper, str.title, str))(written)
    if draw.random() < 0.5:
        at = draw.randrange(1, len(written))
        written = f"{written[:at]}\u200b{written[at:]}"
    if draw.random() < 0.5:
        written = written.translate(str.maketrans("aeoM", "аеоМ"))
    masked = MASKER.mask(f"call {written}{gap}today")
    left = set(words(plain(masked.text).text).folded)
    assert not left & {fold(part) for part in name.split()}


@given(st.text(max_size=200))
def test_reading_plain_keeps_the_way_back(text: str) -> None:
    read = plain(text)
    for start, end in zip(words(read.text).starts, words(read.text).ends):
        first, last = read.original(start, end)
        assert 0 <= first < last <= len(text)


def test_fuzzed_texts_come_back_exactly() -> None:
    samples = [Sample(value, (Gold(0, len(value), "PERSON"),)) for value in VALUES]
    assert round_trips(fuzzed(samples, 1_500, seed=1), MASKER) == (1_500, 1_500)
