"""Measure whether memory retrieves the preference that matters, and the one that holds now.

PrefEval (Zhao et al. 2025): preferences said once, and questions whose good answer depends on one of them. All of them
are remembered in one store; measured are the rank of the right one, and which of four answers fits the preference that
was found. In its files the first of the four is the fitting one: they are shuffled, by a seed, before anything looks at
them.

Changed preferences are our own (`hearth_bench/data/changed_preferences.jsonl`): something said, something later said
that changes it, among all the others, and a question. They go through facts and events as the agent's do; a case is
right when the first result comes from the later words and holds the new value.

Covered: retrieval among all topics, multiple choice without a language model, changed preferences, with floors.
Not covered: answers written by a language model; implicit preferences.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from hearth.errors import RequestError
from hearth.memory.answers.recollection import FACT, Recollection
from hearth.memory.event_memory import EventMemory, NewEvent
from hearth.memory.fact_extraction import Told, facts_in, known_from, learn_from
from hearth.memory.facts import FactStore
from hearth.protocols import Encoder
from hearth.storage.database import Store
from hearth.types import OWNER
from hearth_bench.suites.answers_suite import ranked_by_words

START = dt.datetime(2024, 1, 1, 9, tzinfo=dt.UTC)
_AGAINST = re.compile(
    r"\b(?:dislike|hate|detest|despise|loathe|avoid|never|refuse|fear|afraid|phobi\w+|allerg\w+|intoleran\w+|avers\w+"
    r"|not|n't|no|don't|can't|cannot|won't|without|against|uncomfortable|steer clear|oppos\w+|stay away|bother\w*"
    r"|struggle|too|overwhelm\w*)\b",
    re.IGNORECASE,
)
_FOR = re.compile(
    r"\b(?:only|prefer\w*|exclusively|love|enjoy|favou?r\w*|always|strictly|adore|passionate|must)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PreferenceCase:
    preference: str
    question: str
    options: tuple[str, ...]
    """Options, the fitting one first; empty: no multiple choice."""


@dataclass(frozen=True, slots=True)
class ChangedCase:
    id: str
    old: str
    new: str
    question: str
    right: str
    """Name of the value that holds."""

    @property
    def is_changed(self) -> bool:
        """True if `new` changes what `old` says; otherwise it is about something else, and `old` still holds."""
        return self.id.startswith("c")


def read_preferences(folder: Path) -> tuple[PreferenceCase, ...]:
    """Read `explicit_*.json` of a folder in PrefEval's form, with the options of `mcq_*.json`.

    Raises:
        RequestError: There is no such file, or it has another form; names the file.
    """
    paths = sorted(folder.glob("explicit_*.json"))
    if not paths:
        raise RequestError(f"no `explicit_*.json` in {str(folder)!r}; expected files of PrefEval's benchmark_dataset")
    found = []
    for path in paths:
        choices = folder / path.name.replace("explicit_", "mcq_")
        try:
            options = {
                (entry["preference"], entry["question"]): tuple(map(str, entry["classification_task_options"]))
                for entry in (json.loads(choices.read_text()) if choices.exists() else ())
            }
            for entry in json.loads(path.read_text()):
                key = (entry["preference"], entry["question"])
                found.append(PreferenceCase(str(key[0]), str(key[1]), options.get(key, ())))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RequestError(
                f"{str(path)!r} is not in PrefEval's form ({type(error).__name__}: {error}); expected a list of "
                "objects with `preference` and `question`, and `classification_task_options` in the file of choices"
            ) from None
    return tuple(found)


def shipped_changes(*, is_newer: bool = False) -> tuple[ChangedCase, ...]:
    """Return our own cases. None is unseen: all were looked at while working.

    Args:
        is_newer: Return those written and frozen before the last rules were tried. Their totals were looked at several
            times, and one of these looks led to a rule.
    """
    name = "changed_preferences_newer.jsonl" if is_newer else "changed_preferences.jsonl"
    lines = (files("hearth_bench") / "data" / name).read_text(encoding="utf-8").splitlines()
    return tuple(
        ChangedCase(*(entry[k] for k in ("id", "old", "new", "question", "right"))) for entry in map(json.loads, lines)
    )


# ── PrefEval ──────────────────────────────────────────────────────────────────────────────────────────────


SHUFFLE_SEED = 20261122


def _recall_at(k: int, places: Sequence[int]) -> float:
    return round(sum(place < k for place in places) / max(1, len(places)), 4)


def measure_preferences(cases: Sequence[PreferenceCase], encoder: Encoder, seed: int = SHUFFLE_SEED) -> dict[str, Any]:
    """Return flat figures: the rank of the right preference among all, and the share of right choices.

    Args:
        seed: Seed of the order in which options are presented.
    """
    draw = random.Random(seed)  # noqa: S311 - a reproducible order
    texts = list(dict.fromkeys(case.preference for case in cases))
    place_of = {text: place for place, text in enumerate(texts)}
    ranks: dict[str, list[int]] = {"": [], "floor_words_": [], "floor_meaning_": []}
    chosen: dict[str, list[bool]] = {name: [] for name in ("", "given_", "floor_question_", "floor_odd_one_")}
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        memory = EventMemory(store, encoder)
        memory.remember_all(
            NewEvent(f"p{k}", text, "request", START + k * dt.timedelta(hours=5), thread=f"p{k}")
            for k, text in enumerate(texts)
        )
        for _ in memory.embed():
            pass
        vectors = encoder.encode(texts)
        for case in cases:
            right = place_of[case.preference]
            hits = memory.look_closely(case.question, limit=50)
            keys = [int(hit.id[1:]) for hit in hits]
            ranks[""].append(keys.index(right) if right in keys else len(texts))
            near = vectors @ encoder.encode([case.question])[0]
            ranks["floor_meaning_"].append((-near).argsort(kind="stable").tolist().index(right))
            by_words = ranked_by_words(store, case.question, limit=50)
            ranks["floor_words_"].append(by_words.index(f"p{right}") if f"p{right}" in by_words else len(texts))
            if case.options:
                found = texts[keys[0]] if keys else ""
                options = draw.sample(case.options, len(case.options))
                fitting = options.index(case.options[0])
                for name, chooser in (("", found), ("given_", case.preference), ("floor_question_", "")):
                    chosen[name].append(choose(encoder, chooser, case.question, options) == fitting)
                chosen["floor_odd_one_"].append(_odd_one(encoder, options) == fitting)
    result: dict[str, Any] = {
        "prefeval_n": len(cases),
        "prefeval_n_preferences": len(texts),
        "prefeval_n_choices": len(chosen[""]),
        "prefeval_shuffle_seed": seed,
    }
    for name, places in ranks.items():
        result |= {f"{name}preference_recall_at_{k}": _recall_at(k, places) for k in (1, 5, 10)}
    for name, rights in chosen.items():
        result[f"{name}choice_right"] = round(sum(rights) / len(rights), 4) if rights else None
    n_options = [len(case.options) for case in cases if case.options]
    result["floor_chance_choice_right"] = (
        round(sum(1 / n for n in n_options) / len(n_options), 4) if n_options else None
    )
    return result


def choose(encoder: Encoder, preference: str, question: str, options: Sequence[str]) -> int:
    """Choose an option: the one furthest from what the preference is against, or nearest to what it is for.

    Without a preference, choose the one nearest to the question. Ties go to the middle of the list.
    """
    if not preference:
        vectors = encoder.encode([question, *options])
        return _greatest(vectors[1:] @ vectors[0])
    clauses = [part for part in re.split(r"(?<=[.!?;])\s+|, (?:so|and|but|as) ", preference) if part.strip()]
    vectors = encoder.encode([*clauses, *options])
    said, given = vectors[: len(clauses)], vectors[len(clauses) :]
    signs = np.array([leaning(clause) for clause in clauses])
    if not signs.any():
        signs = np.ones(len(clauses))
    return _greatest(np.asarray(given @ said.T @ signs))


def leaning(clause: str) -> float:
    """Return -1 for a clause against something, 1 for one in favour, 0 for neither or both."""
    return float(_FOR.search(clause) is not None) - float(_AGAINST.search(clause) is not None)


def _odd_one(encoder: Encoder, options: Sequence[str]) -> int:
    """Return the option least like the others: what the options' form gives away without any preference."""
    vectors = encoder.encode(list(options))
    return _greatest(-(vectors @ vectors.T).sum(axis=1))


def _greatest(values: np.ndarray[Any, np.dtype[Any]]) -> int:
    best = np.flatnonzero(values == values.max())
    return int(best[len(best) // 2])


# ── Changed preferences ───────────────────────────────────────────────────────────────────────────────────


def measure_changes(cases: Sequence[ChangedCase], encoder: Encoder) -> dict[str, Any]:
    """Return flat figures: how often the first result is the new value; floors are events alone, and words alone."""
    outcomes: dict[str, list[str]] = {"": [], "floor_events_": [], "floor_words_": []}
    failed = []
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "a.db") as store:
        facts = FactStore(store)
        memory = Recollection(EventMemory(store, encoder), facts)
        n_read = _say(memory, facts, cases)
        now = START + dt.timedelta(days=200)
        events, by_words = EventMemory(store, encoder), EventMemory(store)
        for case in cases:
            for name, hits in (
                ("", memory.search(case.question, now=now)),
                ("floor_events_", events.search(case.question, now=now)),
                ("floor_words_", by_words.search(case.question, now=now)),
            ):
                outcome = "nothing"
                if hits:
                    outcome = _outcome(case, hits[0].text, _events_of(hits[0].id, facts))
                outcomes[name].append(outcome)
            if outcomes[""][-1] != "right":
                failed.append(f"{case.id}: {outcomes[''][-1]}")
    n_changed = sum(case.is_changed for case in cases)
    result: dict[str, Any] = {"changed_n": n_changed, "unchanged_n": len(cases) - n_changed}
    result["changed_read_as_fact"] = n_read
    for name, several in outcomes.items():
        for kind in (True, False):
            picked = [said for said, case in zip(several, cases, strict=True) if case.is_changed is kind]
            kinds = ("right", "old", "other", "nothing") if kind else ("right",)
            for outcome in kinds:
                share = round(picked.count(outcome) / max(1, len(picked)), 4)
                result[f"{name}{'changed' if kind else 'unchanged'}_{_SAID[outcome]}"] = share
        halves = [said == "right" for said, case in zip(several, cases, strict=True) if case.is_changed]
        result[f"{name}changed_right_odd"] = round(sum(halves[::2]) / max(1, len(halves[::2])), 4)
        result[f"{name}changed_right_even"] = round(sum(halves[1::2]) / max(1, len(halves[1::2])), 4)
    return result | {"changed_failed": failed}


_SAID = {"right": "right", "old": "old_won", "other": "other_first", "nothing": "nothing"}


def _say(memory: Recollection, facts: FactStore, cases: Sequence[ChangedCase]) -> int:
    """Remember everything old, then everything new, as requests; return how many new ones were read as facts."""
    n_read = 0
    for late, part in enumerate(("old", "new")):
        for number, case in enumerate(cases):
            at = START + dt.timedelta(days=100 * late, minutes=20 * number)
            text = case.old if part == "old" else case.new
            key = f"{case.id}-{part}"
            memory.remember(text, kind="request", at=at, label=OWNER, key=key)
            if facts_in(text, at):
                n_read += part == "new" and case.is_changed
                learn_from(facts, Told(key, text, "request", at, OWNER), known_from(facts))
    return n_read


def _events_of(id: str, facts: FactStore) -> tuple[str, ...]:
    if not id.startswith(FACT):
        return (id,)
    return tuple(event for fact in facts.history(int(id[len(FACT) :])) for event in fact.events)


def _outcome(case: ChangedCase, text: str, events: Sequence[str]) -> str:
    holds = f"{case.id}-{'new' if case.is_changed else 'old'}"
    if holds in events and case.right.casefold() in text.casefold():
        return "right"
    if f"{case.id}-old" in events:
        return "old"
    return "other"


def preference_lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Format the figures for a reader."""
    if "prefeval_n" in document:
        yield f"{document['prefeval_n']} questions, {document['prefeval_n_preferences']} preferences; right one among"
        for label, name in (("words alone", "floor_words_"), ("meaning alone", "floor_meaning_"), ("ranked", "")):
            shares = [document[f"{name}preference_recall_at_{k}"] for k in (1, 5, 10)]
            yield f"  {label:<24}" + "".join(f"  first {k}: {v}" for k, v in zip((1, 5, 10), shares, strict=True))
        yield (
            f"multiple choice: {document['choice_right']} (preference given: {document['given_choice_right']}; by the "
            f"question alone {document['floor_question_choice_right']}, the odd one out "
            f"{document['floor_odd_one_choice_right']}, chance {document['floor_chance_choice_right']})"
        )
    if "changed_n" in document:
        yield f"{document['changed_n']} changed preferences"
        for label, name in (("words alone", "floor_words_"), ("events alone", "floor_events_"), ("facts first", "")):
            right, old = document[f"{name}changed_right"], document[f"{name}changed_old_won"]
            yield f"  {label:<24}  new value first: {right}  old value first: {old}"
        if "newer_changed_n" in document:
            right, both = document["newer_changed_right"], document["newer_unchanged_right"]
            yield f"  of {document['newer_changed_n']} newer ones, also looked at while working: {right}"
            yield f"  where both hold: {document['unchanged_right']}, of the newer {both}"
