"""Measure masking on 200 natural messages, both ways: what is found, by kind, and how many harmless words go with it.

    python -m hearth_bench.measure.guard.masking_messages            # into results/masking_messages.json
    python -m hearth_bench.measure.guard.masking_messages --show tune     # and say what was missed on that half

The messages (`hearth_bench/data/masking_messages.jsonl`) were written and split before anything was tuned on them: 100
to tune on, 100 never looked at. The owner's contacts are empty, so names are found by form, cue and tagger alone. A
span counts as found when every letter and digit of it is masked, whatever kind it was taken for. A harmless word is
one outside all spans, the names of countries, large cities and well-known firms among them.
"""

from __future__ import annotations

import argparse
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from hearth.guard.deidentify.masker import Masker, shipped_tag
from hearth_bench.measure.result_file import write_result
from hearth_bench.run_record import Stopwatch

Half = Literal["tune", "blind"]
FAMILIES: Mapping[str, frozenset[str]] = {
    "structured": frozenset(["PHONE", "EMAIL", "URL", "IBAN", "CARD", "ID", "DATE_OF_BIRTH", "PASSWORD"]),
    "names": frozenset(["PERSON", "ORGANIZATION", "LOCATION", "ADDRESS"]),
    "special": frozenset(["HEALTH", "RELIGION", "POLITICS", "SEXUALITY", "UNION", "ETHNICITY", "FINANCE", "CHILDREN"]),
}
"""Types of spans that a target is about together."""


class _Span(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    start: int
    end: int
    type: str


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    id: str
    split: Half
    text: str
    spans: list[_Span]


@dataclass(slots=True)
class _Counts:
    """What was found on one half."""

    n: Counter[str]
    n_found: Counter[str]
    n_harmless: int = 0
    n_masked_harmless: int = 0


def read() -> tuple[list[_Message], str]:
    """Read the messages and the hash of their file. Raises: ValidationError: A line is no such message."""
    data = (files("hearth_bench") / "data" / "masking_messages.jsonl").read_bytes()
    return [_Message.model_validate_json(line) for line in data.splitlines()], hashlib.sha256(data).hexdigest()


def measure(messages: list[_Message], masker: Masker, *, is_shown: bool = False) -> dict[str, object]:
    """Measure one half; `is_shown` prints each span that was missed and each harmless word that was masked."""
    counts = _Counts(Counter(), Counter())
    for message in messages:
        found = masker.find(message.text)
        masked = {k for one in found for k in range(one.start, one.end)}
        personal = {k for span in message.spans for k in range(span.start, span.end)}
        for span in message.spans:
            letters = {k for k in range(span.start, span.end) if message.text[k].isalnum()}
            counts.n[span.type] += 1
            counts.n_found[span.type] += letters <= masked
            if is_shown and not letters <= masked:
                print(f"{message.id} missed {span.type}: {message.text[span.start : span.end]!r} in {message.text!r}")
        for word in re.finditer(r"\w+", message.text):
            place = set(range(*word.span()))
            if place & personal:
                continue
            counts.n_harmless += 1
            counts.n_masked_harmless += bool(place & masked)
            if is_shown and place & masked:
                kinds = [f"{one.kind}/{one.by}" for one in found if one.start <= word.start() < one.end]
                print(f"{message.id} masked harmless {word[0]!r} as {kinds} in {message.text!r}")
    return _shares(counts)


def _shares(counts: _Counts) -> dict[str, object]:
    by_family: dict[str, object] = {}
    for family, types in FAMILIES.items():
        n = sum(counts.n[kind] for kind in types)
        by_family[family] = {"n": n, "recall": round(sum(counts.n_found[kind] for kind in types) / n, 4)}
    return {
        **by_family,
        "by_type": {
            kind: {"n": n, "recall": round(counts.n_found[kind] / n, 4)} for kind, n in sorted(counts.n.items())
        },
        "n_harmless_words": counts.n_harmless,
        "over_masking": round(counts.n_masked_harmless / counts.n_harmless, 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", choices=("tune", "blind"), help="say what was missed on this half, write nothing")
    chosen = parser.parse_args()
    messages, digest = read()
    masker = Masker(tag=shipped_tag())
    halves: dict[Half, list[_Message]] = {
        "tune": [one for one in messages if one.split == "tune"],
        "blind": [one for one in messages if one.split == "blind"],
    }
    if chosen.show:
        print(measure(halves[chosen.show], masker, is_shown=True))
        return
    watch = Stopwatch()
    results: dict[str, object] = {half: measure(several, masker) for half, several in halves.items()}
    write_result("masking_messages", {"data_sha256": digest, **results}, seed=17, **watch.read())


if __name__ == "__main__":
    main()
