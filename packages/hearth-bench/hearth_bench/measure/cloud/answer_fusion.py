"""Measure how answers are joined with private facts, on a set written before the rules.

    python -m hearth_bench.measure.cloud.answer_fusion

The rules decide which names are left out, which are marked unsure, and the order of the rest. They are compared with
the cloud's unchanged order (floor) and the right one (oracle). `--show SPLIT` prints the cases of a split that went
wrong; only `dev` is looked at while rules are written.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from hearth.edge.ask_cloud import STRICT, Fused, Private, eaters_for, fuse
from hearth.formats.edge_protocol import AnswerGiven, Item
from hearth_bench.measure.result_file import OWN_DATA, write_result
from hearth_bench.run_record import Stopwatch

CASES = OWN_DATA / "fusion.txt"


@dataclass
class Case:
    """One question with the cloud's items, the facts held true, and the right result."""

    split: str
    question: str
    facts: list[tuple[str, str, str]] = field(default_factory=list)
    place: str = ""
    free_minutes: int | None = None
    items: list[Item] = field(default_factory=list)
    tiers: list[int] = field(default_factory=list)
    """Rank by item; 0: left out."""
    unsure: list[bool] = field(default_factory=list)


RELATIONS = ("allergic to", "diet", "likes", "dislikes", "avoids", "health", "sister", "partner")


def read_cases(path: Path = CASES) -> list[Case]:
    """Read the set. Raises: ValueError: A line has none of its forms."""
    cases: list[Case] = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        head, _, rest = line.partition(": " if line.split(":")[0] in ("facts", "place", "free") else " | ")
        if line.startswith("? "):
            cases.append(Case(head[2:].strip(), rest.strip()))
        elif head == "facts":
            cases[-1].facts += [_fact(part.strip()) for part in rest.split(";")]
        elif head == "place":
            cases[-1].place = rest.strip()
        elif head == "free":
            cases[-1].free_minutes = int(rest)
        elif head.strip().rstrip("?").isdigit() or head.strip() == "x":
            name, _, tags = rest.partition("|")
            listed = tuple(tag.strip() for tag in tags.split(",") if tag.strip())
            cases[-1].items.append(Item(name=name.strip(), tags=listed))
            cases[-1].tiers.append(0 if head.strip() == "x" else int(head.strip().rstrip("?")))
            cases[-1].unsure.append(head.strip().endswith("?"))
        else:
            raise ValueError(f"{path.name}:{number}: {line!r} is none of the forms at the top of the file")
    return cases


def _fact(text: str) -> tuple[str, str, str]:
    subject, _, rest = text.partition(" ")
    relation = next(one for one in RELATIONS if rest.startswith(one + " "))
    return subject, relation, rest[len(relation) + 1 :]


@dataclass(frozen=True)
class Said:
    """Answer to a case: names in order, names left out, names that are unsure."""

    order: tuple[str, ...]
    left_out: frozenset[str]
    unsure: frozenset[str]
    warned: frozenset[str] = frozenset()
    """Names with a warning that nobody declared their allergens or ingredients."""


def by_rule(case: Case) -> Said:
    names = [name for name in ("Lotte", "Ben", "Ana", "Iris", "Sam", "Kim", "Jo") if name in case.question]
    private = Private(eaters_for(case.question, case.facts, names), case.place, case.free_minutes)
    return _of(fuse(AnswerGiven(id="1", text="", items=tuple(case.items)), private, case.question))


def _of(fused: Fused) -> Said:
    return Said(
        tuple(one.name for one in fused.kept),
        frozenset(one.name for one in fused.left_out),
        frozenset(one.name for one in fused.kept if one.unsure),
        frozenset(one.name for one in fused.kept if one.unsure or one.is_undeclared),
    )


def as_given(case: Case) -> Said:
    """Return the floor: the cloud's answer unchanged."""
    return Said(tuple(item.name for item in case.items), frozenset(), frozenset())


def as_right(case: Case) -> Said:
    """Return the oracle's answer."""
    kept = [k for k, tier in enumerate(case.tiers) if tier]
    kept.sort(key=lambda k: (case.unsure[k], case.tiers[k], k))
    return Said(
        tuple(case.items[k].name for k in kept),
        frozenset(item.name for item, tier in zip(case.items, case.tiers, strict=True) if not tier),
        frozenset(item.name for item, unsure in zip(case.items, case.unsure, strict=True) if unsure),
    )


def pairs(case: Case, said: Said) -> Iterator[bool]:
    """Yield, for every two names that rightly stay and have an order, whether the answer keeps that order."""
    rank = {name: place for place, name in enumerate(said.order)}
    tiers = {i.name: (u, t) for i, t, u in zip(case.items, case.tiers, case.unsure, strict=True) if t}
    for one, other in itertools.combinations(tiers, 2):
        if tiers[one] != tiers[other]:
            first, second = sorted((one, other), key=lambda name: tiers[name])
            yield first in rank and (second not in rank or rank[first] < rank[second])


def _overlap(found: Sequence[tuple[Set[str], Set[str]]]) -> tuple[int, int, int]:
    """Count the names that are rightly said, all that are said and all that are right; each pair: right, said."""
    n_right = sum(len(gold & one) for gold, one in found)
    return n_right, sum(len(one) for _, one in found), sum(len(gold) for gold, _ in found)


def score(cases: Sequence[Case], said: Sequence[Said]) -> dict[str, object]:
    right = [as_right(case) for case in cases]
    removed = [(gold.left_out, one.left_out) for gold, one in zip(right, said, strict=True)]
    n_right, n_said, n_gold = _overlap(removed)
    n_unsure_right, n_unsure_said, n_unsure = _overlap(
        [(gold.unsure, one.unsure) for gold, one in zip(right, said, strict=True)]
    )
    ordered = [ok for case, one in zip(cases, said, strict=True) for ok in pairs(case, one)]
    whole = [
        gold.left_out == one.left_out and gold.unsure == one.unsure and all(pairs(case, one))
        for case, gold, one in zip(cases, right, said, strict=True)
    ]
    strict = [bool({relation for _, relation, _ in case.facts} & {"allergic to", "health"}) for case in cases]
    unsafe = sum(len(gold - one) for (gold, one), is_strict in zip(removed, strict, strict=True) if is_strict)
    silent = [gold.left_out - one.left_out - one.warned for gold, one in zip(right, said, strict=True)]
    return {
        "n": len(cases),
        "n_must_go": n_gold,
        "left_out_recall": round(n_right / max(n_gold, 1), 4),
        "left_out_precision": round(n_right / n_said, 4) if n_said else None,
        "n_unsafe_kept": unsafe,
        "n_unsafe_kept_without_a_warning": sum(
            len(g) for g, is_strict in zip(silent, strict, strict=True) if is_strict
        ),
        "unsure_recall": _share(n_unsure_right, n_unsure),
        "unsure_precision": _share(n_unsure_right, n_unsure_said),
        "ordered_pairs": round(sum(ordered) / max(1, len(ordered)), 4),
        "n_pairs": len(ordered),
        "wholly_right": round(sum(whole) / len(whole), 4),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", choices=("dev", "test", "hard", "unseen"))
    options = parser.parse_args()
    watch = Stopwatch()
    cases = read_cases()
    results: dict[str, object] = {
        "data": CASES.name,
        "data_sha256": hashlib.sha256(CASES.read_bytes()).hexdigest(),
        "strict_rules": sorted(STRICT),
    }
    for split in ("dev", "test", "hard", "unseen"):
        chosen = [case for case in cases if case.split == split]
        ways = {"floor": as_given, "by_rule": by_rule, "oracle": as_right}
        results[split] = {name: score(chosen, [way(case) for case in chosen]) for name, way in ways.items()}
        if options.show == split:
            for case in chosen:
                said, gold = by_rule(case), as_right(case)
                if said.left_out != gold.left_out or said.unsure != gold.unsure or not all(pairs(case, said)):
                    print(f"{case.question} | {case.facts} {case.place}\n  said {said}\n  gold {gold}")
    if options.show:
        print(results[options.show])
        return
    spent = watch.read()
    write_result("fusion", results, seed=0, cpu_s=spent["cpu_s"], wall_s=spent["wall_s"])


if __name__ == "__main__":
    main()
