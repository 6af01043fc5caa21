"""The hand-labelled messages: what is shipped is sound, and what is wrong is refused with file and line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.errors import RequestError
from hearth_bench.data.labelled_messages import SPAN_TYPES, Message, Span, read_messages, shipped_sha256

GOOD: Mapping[str, Any] = {
    "id": "m1",
    "text": "pay Ann on gb82 zzzz 9995 4762 0075 32",
    "kind": "chat",
    "language": "en",
    "spans": [{"start": 4, "end": 7, "type": "PERSON"}, {"start": 11, "end": 38, "type": "IBAN"}],
}


def _write(folder: Path, *lines: object) -> Path:
    path = folder / "messages.jsonl"
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines), encoding="utf-8")
    return path


def test_a_good_line_is_read(tmp_path: Path) -> None:
    (message,) = read_messages(_write(tmp_path, GOOD))
    assert message == Message("m1", str(GOOD["text"]), "chat", "en", (Span(4, 7, "PERSON"), Span(11, 38, "IBAN")))
    assert message.values() == (("PERSON", "Ann"), ("IBAN", "gb82 zzzz 9995 4762 0075 32"))


def test_the_shipped_set_is_sound() -> None:
    messages = read_messages()
    languages = Counter(message.language for message in messages)
    types = Counter(span.type for message in messages for span in message.spans)
    assert len(messages) >= 300
    assert sum(not message.spans for message in messages) >= 60
    assert len(messages) - languages["en"] >= 60
    assert set(types) == set(SPAN_TYPES)
    assert len(shipped_sha256()) == 64


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"spans": [{"start": 4, "end": 99, "type": "PERSON"}]}, "does not lie in the text of 38"),
        ({"spans": [{"start": 7, "end": 7, "type": "PERSON"}]}, "does not lie in the text"),
        ({"spans": [{"start": 4, "end": 6, "type": "PERSON"}]}, "'An' cuts a word"),
        ({"spans": [{"start": 4, "end": 8, "type": "PERSON"}]}, "white space"),
        ({"spans": [{"start": 4, "end": 7, "type": "NAME"}]}, "spans.0.type"),
        ({"spans": [{"start": 11, "end": 38, "type": "IBAN"}, {"start": 4, "end": 7, "type": "PERSON"}]}, "overlaps"),
        ({"spans": [{"start": 16, "end": 38, "type": "IBAN"}]}, "wrong check digits"),
        ({"spans": [{"start": 26, "end": 38, "type": "CARD"}]}, "wrong check digits for a card"),
        ({"spans": [{"start": 4, "end": 7, "type": "EMAIL"}]}, "holds no '@'"),
        ({"spans": [{"start": "4", "end": 7, "type": "PERSON"}]}, "spans.0.start"),
        ({"text": ""}, "text"),
        ({"kind": "song"}, "kind"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    path = _write(tmp_path, {**GOOD, "id": "m0", "text": "nothing in it", "spans": []}, {**GOOD, **change})
    with pytest.raises(RequestError, match=r"messages\.jsonl:2: ") as caught:
        read_messages(path)
    assert reason in str(caught.value)


@pytest.mark.parametrize("line", ["{", "[]", '"x"', "\x00"])
def test_what_is_no_object_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(RequestError, match=r"messages\.jsonl:2: "):
        read_messages(_write(tmp_path, GOOD, line))


def test_an_id_twice_and_nearly_the_same_text_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r":2: the id 'm1' was given in line 1"):
        read_messages(_write(tmp_path, GOOD, {**GOOD, "text": "quite another thing", "spans": []}))
    with pytest.raises(RequestError, match=r":2: message 'm2' is nearly message 'm1' \(line 1\)"):
        read_messages(_write(tmp_path, GOOD, {**GOOD, "id": "m2", "text": GOOD["text"] + " please"}))


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="holds no message"):
        read_messages(_write(tmp_path, ""))
    with pytest.raises(RequestError, match="cannot read"):
        read_messages(tmp_path / "none.jsonl")


@given(st.lists(st.text("ab é😀", min_size=1, max_size=6).filter(str.strip), min_size=1, max_size=5))
def test_offsets_count_characters(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    """Whatever stands around it, a span read back covers the words it was written for."""
    clean = [" ".join(word.split()) for word in words]
    text = " / ".join(clean)
    spans, at = [], 0
    for word in clean:
        spans.append({"start": at, "end": at + len(word), "type": "PERSON"})
        at += len(word) + 3
    path = _write(tmp_path_factory.mktemp("m"), {**GOOD, "text": text, "spans": spans})
    assert [value for _, value in read_messages(path)[0].values()] == clean
