"""Measure facts read from an owner's words: precision and recall on hand-written utterances, preferences, time.

`facts_seen.txt` was looked at while the rules were made; `facts_unseen.txt`, written at the same time and before them,
was not measured until they were done. PrefEval's explicit preferences (Zhao et al. 2025) are only a measure: from how
many of them any fact is read about what is liked, disliked, avoided, preferred, eaten or borne. Requests to an agent,
which seldom state anything, show invented facts.

    python -m hearth_bench.measure.memory.fact_precision [--data FOLDER]
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from hearth.memory.fact_extraction import facts_in
from hearth.memory.facts import PREFERENCES
from hearth_bench.measure.result_file import OWN_DATA, ROOT, write_result

NOW = dt.datetime(2026, 11, 20, 10, 0, tzinfo=ZoneInfo("Europe/Berlin"))
Said = tuple[str, str, str, bool]
"""Subject, relation, value in lower case, and whether the fact ends."""


def utterances(path: Path) -> list[tuple[str, frozenset[Said]]]:
    """Read each utterance with the facts it holds."""
    found = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            text, _, facts = line.partition("=>")
            found.append((text.strip(), frozenset(_fact(fact.strip()) for fact in facts.split(";") if fact.strip())))
    return found


def _fact(text: str) -> Said:
    subject, relation, value = text.removeprefix("-").split(" | ")
    return subject.casefold(), relation, value.casefold(), text.startswith("-")


def measured(path: Path) -> dict[str, object]:
    """Return precision and recall of exact facts, and the share of utterances without facts that gave none."""
    n_right = n_found = n_held = n_empty = n_empty_right = 0
    wrong = []
    for text, held in utterances(path):
        found = {
            (read.subject.casefold(), read.relation, read.value.casefold(), read.is_over)
            for read in facts_in(text, NOW)
        }
        n_right, n_found, n_held = n_right + len(found & held), n_found + len(found), n_held + len(held)
        n_empty, n_empty_right = n_empty + (not held), n_empty_right + (not held and not found)
        if found != held:
            wrong.append({"text": text, "missed": sorted(held - found), "invented": sorted(found - held)})
    return {
        "n_utterances": len(utterances(path)),
        "n_facts": n_held,
        "precision": round(n_right / max(1, n_found), 4),
        "recall": round(n_right / max(1, n_held), 4),
        "n_without_facts": n_empty,
        "without_facts_kept_empty": round(n_empty_right / max(1, n_empty), 4),
        "wrong": wrong,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def preferences(folder: Path) -> dict[str, object] | None:
    """Return the share of explicit preferences from which a fact is read, by topic; None without the data."""
    paths = sorted(folder.glob("explicit_*.json"))
    if not paths:
        return None
    by_topic: dict[str, float] = {}
    n_all = n_kept = n_any = 0
    for path in paths:
        texts = [entry["preference"] for entry in json.loads(path.read_text())]
        read = [{fact.relation for fact in facts_in(text, NOW)} for text in texts]
        kept = [bool(r & PREFERENCES or any(name.startswith("favourite") for name in r)) for r in read]
        by_topic[path.stem.removeprefix("explicit_")] = round(sum(kept) / len(kept), 4)
        n_all, n_kept, n_any = n_all + len(kept), n_kept + sum(kept), n_any + sum(map(bool, read))
    return {
        "n": n_all,
        "captured_as_preference": round(n_kept / n_all, 4),
        "any_fact": round(n_any / n_all, 4),
        "by_topic": by_topic,
        "sha256": hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest(),
    }


def requests() -> dict[str, object]:
    """Read facts from requests to an agent, and return each of them, since hardly any request states one."""
    paths = (ROOT / "src/hearth/data/demonstrations.jsonl", OWN_DATA / "held_out_requests.jsonl")
    texts = [json.loads(line)["user_request"] for path in paths for line in path.read_text().splitlines() if line]
    read = {text: [(r.subject, r.relation, r.value) for r in facts_in(text, NOW)] for text in texts}
    return {"n": len(texts), "with_facts": {text: facts for text, facts in read.items() if facts}}


def per_text_ms(texts: Sequence[str]) -> dict[str, float]:
    spent = []
    for text in [*texts, *list(texts) * 10]:
        began = time.perf_counter()
        facts_in(text, NOW)
        spent.append((time.perf_counter() - began) * 1000)
    spent = sorted(spent[len(texts) :])
    return {
        "p50_ms": round(statistics.median(spent), 3),
        "p95_ms": round(spent[int(0.95 * len(spent))], 3),
        "max_ms": round(spent[-1], 3),
        "hostile_4000_characters_ms": round(_hostile_ms(), 1),
    }


def _hostile_ms() -> float:
    worst = 0.0
    for text in ("my " * 1400, "I like " + "A " * 2000, "my sister " + "Ab " * 1300, "I put the " + "a " * 1900):
        began = time.perf_counter()
        facts_in(text, NOW)
        worst = max(worst, (time.perf_counter() - began) * 1000)
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("HEARTH_DATA", ROOT.parent / "shared" / "data"))
    )
    given = parser.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    texts = [text for half in ("seen", "unseen") for text, _ in utterances(OWN_DATA / f"facts_{half}.txt")]
    results = {
        "seen": measured(OWN_DATA / "facts_seen.txt"),
        "unseen": measured(OWN_DATA / "facts_unseen.txt"),
        "prefeval": preferences(given.data / "memory" / "prefeval"),
        "requests": requests(),
        "time": per_text_ms(texts),
    }
    write_result("facts", results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


if __name__ == "__main__":
    main()
