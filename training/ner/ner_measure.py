"""Measure the tagger of names alone, without patterns and dictionaries: what it hides, wrongly hides, and how fast.

Needs the extra `train` (Faker fills the forms it is compared with).

    python -m training.ner.ner_measure               everything, into packages/hearth-bench/results/tagger.json
    python -m training.ner.ner_measure --half dev --show 20   the dev half only, with what was missed; writes nothing

Sentence forms: `privacy/pii_synth_v2.json`, split by `template_id` into a half that was looked at during development
and one that never was; neither was trained on. Forms that read like one of Hearth's own (names, digits and stops aside)
are also counted apart. Ordinary requests: twice 200 from UltraTool's dev split and TaskBench's requests that training
left out, whose true names were marked by hand (`packages/hearth-bench/hearth_bench/measure/data/tagger_requests.json`:
character offsets only). Messages: the hand-labelled ones of `hearth_bench`, if present.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hearth.formats.plans import read_jsonl
from hearth.models.ner import NAMES, TAGGER_FILE, Span, Tagger
from hearth_bench.data.sampled_requests import sampled_requests
from hearth_bench.measure.result_file import OWN_DATA, ROOT, write_result
from training.ner import ner_data, ner_values

REQUESTS_FILE = OWN_DATA / "tagger_requests.json"
SEED = 20260
DATA = Path(os.environ.get("HEARTH_DATA", ROOT.parent / "shared" / "data"))
MESSAGES_FILE = ROOT / "packages/hearth-bench/hearth_bench/data/messages.jsonl"
HIDDEN_SHARE = 0.8
"""Share of a span's characters that must be hidden for it to count as masked."""
TYPES = {
    "PERSON": "person",
    "ORGANIZATION": "organisation",
    "GPE": "place",
    "STREET_ADDRESS": "address",
    "ZIP_CODE": "address",
    "LOCATION": "place",
    "ADDRESS": "address",
}
"""Types in the files that are names, with their kinds; the others are better known to patterns."""

Marks = Sequence[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class Document:
    text: str
    marks: tuple[tuple[int, int, str], ...]
    """First character, the one after the last, and type."""
    form: int = 0


def halves(path: Path) -> dict[str, list[Document]]:
    """Read the public file as two halves: `dev` was looked at, `held` never."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    forms = sorted({entry["template_id"] for entry in entries})
    random.Random(SEED).shuffle(forms)
    dev = set(forms[: len(forms) // 2])
    found: dict[str, list[Document]] = {"dev": [], "held": []}
    for entry in entries:
        marks = tuple((s["start_position"], s["end_position"], s["entity_type"]) for s in entry["spans"])
        document = Document(entry["full_text"], marks, entry["template_id"])
        found["dev" if entry["template_id"] in dev else "held"].append(document)
    return found


def covered(start: int, end: int, spans: Iterable[Span]) -> float:
    """Return the share of a range's characters that spans hide."""
    return sum(max(0, min(end, s.end) - max(start, s.start)) for s in spans) / max(1, end - start)


def recall_and_precision(
    documents: Sequence[Document], found: Sequence[Sequence[Span]], names: bool
) -> dict[str, object]:
    """Return the share of spans masked by type, and the share of hidden characters that any mark covers.

    Args:
        names: Hide and count names only; otherwise every kind the tagger knows.
    """
    masked: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    hidden_characters = right_characters = n_found = n_false = 0
    for document, all_spans in zip(documents, found):
        spans = [s for s in all_spans if not names or s.kind in NAMES]
        for start, end, kind in document.marks:
            if names and kind not in TYPES:
                continue
            name = TYPES[kind] if names else kind
            total[name] += 1
            masked[name] += covered(start, end, spans) >= HIDDEN_SHARE
        marked = {c for start, end, _ in document.marks for c in range(start, end)}
        for span in spans:
            # White space between two marked parts of one address is no error.
            characters = [c for c in range(span.start, span.end) if not document.text[c].isspace()]
            right = sum(c in marked for c in characters)
            hidden_characters += len(characters)
            right_characters += right
            n_found += 1
            n_false += not right
    return {
        "n_documents": len(documents),
        "n_spans": sum(total.values()),
        "masked_share": _share(sum(masked.values()), sum(total.values())),
        "masked_by_type": {k: {"n": total[k], "share": _share(masked[k], total[k])} for k in sorted(total)},
        "character_precision": _share(right_characters, hidden_characters),
        "spans_off_any_mark": _share(n_false, n_found),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def own_skeletons(values: ner_values.Values) -> set[str]:
    """Return the skeletons of a large sample of the sentences trained on."""
    alone = ner_data.Shares(plain=0.2, request=0, several=0)
    sentences = ner_data.Sentences(values, shares=alone)
    found = set()
    for seed in range(15_000):
        one = sentences.example(random.Random(f"skeleton {seed}"), wear=False)
        found.add(ner_data.skeleton(one.text, one.spans))
    return found


def forms(tagger: Tagger, documents: Sequence[Document], skeletons: set[str]) -> dict[str, object]:
    found = tagger.spans([d.text for d in documents])
    fresh = [ner_data.skeleton(d.text, d.marks) not in skeletons for d in documents]
    kept = [i for i, is_fresh in enumerate(fresh) if is_fresh]
    return {
        "names": recall_and_precision(documents, found, True),
        "every_kind": recall_and_precision(documents, found, False),
        "names_in_forms_unlike_own": recall_and_precision([documents[i] for i in kept], [found[i] for i in kept], True),
        "n_documents_like_own": len(documents) - len(kept),
    }


def own_held_forms(tagger: Tagger, values: ner_values.Values) -> dict[str, object]:
    """Measure Hearth's own forms that were kept out of training, varied as people write."""
    sentences = ner_data.Sentences(values)
    examples = [sentences.example(random.Random(f"held {seed}"), held=True) for seed in range(600)]
    documents = [Document(e.text, e.spans) for e in examples]
    found = tagger.spans([d.text for d in documents])
    return recall_and_precision(documents, found, False)


def false_finds(
    tagger: Tagger, requests: Mapping[str, str], marks: Mapping[str, Sequence[Sequence[int]]]
) -> dict[str, object]:
    """Count requests in which the tagger hides something as a name that is none."""
    found = tagger.spans(list(requests.values()))
    n_false = n_named = n_missed = n_true = 0
    kinds: dict[str, int] = defaultdict(int)
    for key, spans in zip(requests, found):
        names = [s for s in spans if s.kind in NAMES]
        true = [(a, b) for a, b in marks[key]]
        wrong = [s for s in names if not any(s.start < b and a < s.end for a, b in true)]
        for span in wrong:
            kinds[span.kind] += 1
        n_false += bool(wrong)
        n_named += bool(names)
        n_true += len(true)
        n_missed += sum(covered(a, b, names) < HIDDEN_SHARE for a, b in true)
    return {
        "n_requests": len(requests),
        "with_a_false_name": _share(n_false, len(requests)),
        "false_by_kind": dict(kinds),
        "with_any_name_hidden": _share(n_named, len(requests)),
        "n_true_names": n_true,
        "true_names_masked": _share(n_true - n_missed, n_true),
    }


def speed(tagger: Tagger, values: ner_values.Values) -> dict[str, object]:
    """Measure time on one core: a request of 200 characters, messages one after another, one long text."""
    sentences = ner_data.Sentences(values)
    texts = [sentences.example(random.Random(f"speed {seed}")).text for seed in range(300)]
    joined = " ".join(texts)
    requests = [joined[at : at + 200] for at in range(0, 20_000, 200)]
    tagger.spans(requests[:20])
    found: dict[str, object] = {}
    for name, group in (
        ("request_200", requests),
        ("own_sentences", texts),
        ("long_text", [joined * (60_000 // len(joined) + 1)]),
    ):
        best = float("inf")
        for _ in range(3 if name != "long_text" else 1):
            began = time.process_time()
            tagger.spans(group)
            best = min(best, time.process_time() - began)
        found[f"{name}_chars_per_cpu_s"] = round(sum(map(len, group)) / best)
        if name == "request_200":
            found["request_200_cpu_ms"] = round(best / len(group) * 1000, 2)
    return found


def messages(tagger: Tagger) -> dict[str, object] | None:
    """Measure the hand-labelled messages, which are only for this."""
    if not MESSAGES_FILE.exists():
        return None
    documents = []
    for _, row in read_jsonl(MESSAGES_FILE):
        marks = tuple((int(s["start"]), int(s["end"]), str(s["type"])) for s in row["spans"])
        documents.append(Document(str(row["text"]), marks))
    return recall_and_precision(documents, tagger.spans([d.text for d in documents]), True)


def show(tagger: Tagger, documents: Sequence[Document], n: int) -> None:
    """Print what was missed and what was hidden wrongly. Only for data that may be looked at."""
    missed, wrong = [], []
    for document, all_spans in zip(documents, tagger.spans([d.text for d in documents])):
        spans = [s for s in all_spans if s.kind in NAMES]
        for start, end, kind in document.marks:
            if kind in TYPES and covered(start, end, spans) < HIDDEN_SHARE:
                missed.append(f"{kind:15} {_around(document.text, start, end)}")
        for span in spans:
            if not any(span.start < b and a < span.end for a, b, _ in document.marks):
                wrong.append(f"{span.kind:12} {span.chance} {_around(document.text, span.start, span.end)}")
    for title, lines in (("missed", missed), ("wrong", wrong)):
        print(f"── {title}: {len(lines)} ──", *random.Random(1).sample(lines, min(n, len(lines))), sep="\n")


def _around(text: str, start: int, end: int) -> str:
    return f"{text[start:end]!r}  in  {text[max(0, start - 60) : end + 40]!r}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the tagger of names.")
    parser.add_argument("--half", choices=("dev", "held", "both"), default="both")
    parser.add_argument("--tagger", type=Path, default=TAGGER_FILE)
    parser.add_argument("--show", type=int, default=0, help="print so many faults of the half that may be looked at")
    given = parser.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    tagger = Tagger.open(given.tagger)
    parts = halves(DATA / "privacy" / "pii_synth_v2.json")
    chosen = parts if given.half == "both" else {given.half: parts[given.half]}
    values = ner_values.Values(SEED)
    skeletons = own_skeletons(values)
    results: dict[str, object] = {name: forms(tagger, documents, skeletons) for name, documents in chosen.items()}
    results["own_held_forms"] = own_held_forms(tagger, values)
    results["speed"] = speed(tagger, values)
    if REQUESTS_FILE.exists():
        marks = json.loads(REQUESTS_FILE.read_text())
        results["requests"] = {
            name: false_finds(tagger, requests, marks[name])
            for name, requests in sampled_requests(DATA / "plans", SEED).items()
            if name in marks
        }
    if given.half != "both" or given.tagger != TAGGER_FILE:
        print(json.dumps(results, indent=1))
        if given.show:
            show(tagger, parts["dev"], given.show)
        return 0
    results["messages"] = messages(tagger)
    results["tagger_sha256"] = hashlib.sha256(TAGGER_FILE.read_bytes()).hexdigest()
    results["data_sha256"] = hashlib.sha256((DATA / "privacy" / "pii_synth_v2.json").read_bytes()).hexdigest()
    write_result("tagger", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)
    return 0


if __name__ == "__main__":
    sys.exit(main())
