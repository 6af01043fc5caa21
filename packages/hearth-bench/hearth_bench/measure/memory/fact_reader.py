"""Compare the rules that read facts with the trained span reader, asked for each relation as if it were a parameter.

    python -m hearth_bench.measure.memory.fact_reader          writes packages/hearth-bench/results/facts_reader.json

The reader is given every advantage that the rules do not have: it is asked only for relations that occur in the files,
the subject is taken from the truth, and the least log-odds at which it counts is the best on `facts_seen.txt`. A fact
counts if relation and value are exactly right. The rules are counted in the same way.

Not covered: a reader trained for this: there are no sentences with facts to train on but those of these files.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib.resources import as_file, files

import numpy as np

from hearth.memory.fact_extraction import facts_in
from hearth.models.span_extractor import Form, Question, SpanReader
from hearth_bench.measure.memory.fact_precision import NOW, Said, utterances
from hearth_bench.measure.result_file import OWN_DATA, write_result

MAX_TOKENS = 12
ASKED = {
    "lives in": "the city where the person lives",
    "likes": "what the person likes",
    "dislikes": "what the person does not like",
    "avoids": "what the person never does or eats",
    "prefers": "what the person prefers",
    "allergic to": "what the person is allergic to",
    "birthday": "the date of birth",
    "works at": "the company where the person works",
    "job": "the occupation of the person",
    "located at": "the place where the thing is",
    "speaks": "the languages the person speaks",
    "diet": "the diet of the person",
    "called": "the nickname of the person",
    "name": "the full name of the person",
    "car": "the car of the person",
    "habit": "what the person does regularly",
}
"""Relation → the words that describe it as a parameter; other relations are asked for by their own name."""
Read = tuple[str, str]
"""Relation and value, in lower case."""


def scored(reader: SpanReader, text: str, relations: Sequence[str]) -> list[tuple[float, Read]]:
    """Return the best span for each relation with its log-odds against the relation being absent."""
    form = Form("remember_fact", tuple(Question(f"{one}: {ASKED.get(one, f'the {one}')}") for one in relations))
    found = []
    for relation, answer in zip(relations, reader.read(form, text).answers, strict=True):
        if not len(answer.spans):
            continue
        sums = answer.start[:, None] + answer.end[None, :]
        near = np.triu(np.ones_like(sums)) * np.tril(np.ones_like(sums), MAX_TOKENS)
        start, end = np.unravel_index(np.argmax(np.where(near > 0, sums, -np.inf)), sums.shape)
        value = text[answer.spans[start][0] : answer.spans[end][1]].strip(" .,!").casefold()
        found.append((float(answer.kinds[1] - answer.kinds[0]), (relation, value)))
    return found


def counted(found: Sequence[frozenset[Read]], held: Sequence[frozenset[Read]]) -> dict[str, float]:
    n_right = sum(len(a & b) for a, b in zip(found, held, strict=True))
    n_found, n_held = sum(map(len, found)), sum(map(len, held))
    kept = [not a for a, b in zip(found, held, strict=True) if not b]
    return {
        "precision": round(n_right / max(1, n_found), 4),
        "recall": round(n_right / max(1, n_held), 4),
        "without_facts_kept_empty": round(sum(kept) / max(1, len(kept)), 4),
    }


def _bare(facts: frozenset[Said]) -> frozenset[Read]:
    return frozenset((relation, value) for _, relation, value, is_over in facts if not is_over)


def main() -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    halves = {half: utterances(OWN_DATA / f"facts_{half}.txt") for half in ("seen", "unseen")}
    relations = sorted({relation for rows in halves.values() for _, facts in rows for _, relation, _, _ in facts})
    with as_file(files("hearth.data") / "reader.npz") as path:
        reader = SpanReader.open(path)
    results: dict[str, object] = {"n_relations": len(relations)}
    best = 0.0
    for half, rows in halves.items():
        held = [_bare(facts) for _, facts in rows]
        began = time.perf_counter()
        scores = [scored(reader, text, relations) for text, _ in rows]
        read_ms = (time.perf_counter() - began) * 1000 / len(rows)
        by_odds = {
            odds: counted([frozenset(read for s, read in one if s >= odds) for one in scores], held)
            for odds in (round(0.5 * k, 1) for k in range(-4, 25))
        }
        if half == "seen":
            best = max(by_odds, key=lambda odds: _f1(by_odds[odds]))
        began = time.perf_counter()
        rules = [
            frozenset((r.relation, r.value.casefold()) for r in facts_in(text, NOW) if not r.is_over)
            for text, _ in rows
        ]
        results[half] = {
            "n_utterances": len(rows),
            "rules": counted(rules, held) | {"ms": round((time.perf_counter() - began) * 1000 / len(rows), 3)},
            "reader": by_odds[best] | {"ms": round(read_ms, 1)},
        }
    results["least_log_odds"] = best
    write_result("facts_reader", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


def _f1(row: dict[str, float]) -> float:
    total = row["precision"] + row["recall"]
    return 2 * row["precision"] * row["recall"] / total if total else 0.0


if __name__ == "__main__":
    main()
