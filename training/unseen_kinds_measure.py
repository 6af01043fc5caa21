"""Measure how many requests of kinds never shown the tool heads refuse: `python -m training.unseen_kinds_measure`.

Kinds of requests that no tool serves (music, taxis, stocks …: the corpora's intents, those of one subject together)
are left out of what is learnt, a fifth of them at a time (by seed), with every demonstration of a refusal whose nearest
real one is of such a kind. The heads are fitted anew to the rest, as `tool_heads_train` fits what ships. Measured on
requests that no fit saw: tenth 0, which nothing learns from; ways are chosen on tenth 1 (`--part 1`). `never_shown` is
the share of the left-out kinds' requests that is refused, `shown` that of the other unserved kinds, `tools` the share
of the served ones that go to a right tool. A request is refused where its best tool is not ahead of nothing and talk by
a threshold: `at_0.88` sets it, fold by fold, as high as .88 of the served ones allow; `carried_over` takes the one that
.88 of the other tenth's allow; `as_shipped` refuses where nothing or talk is likeliest.

Kinds with a request that a tool serves are never left out, and not measured. The classifier that is added to the heads
in homes (`models.intent_classifier`) is left out, since it was learnt from all kinds: what is measured is the heads
alone, and not what a plan makes of them. Intervals (95 %) are over requests, not over kinds.
Writes packages/hearth-bench/results/unseen_kinds.json (twenty minutes). `--keep FILE` keeps the heads' scores, and what
is written from them says that nothing was fitted in its time.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth.language.request_sketch import drawn_cosines
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.tool_heads import NOTHING, TALK
from hearth_bench.data.request_corpus import RealRequest, is_held_out, read_real_requests
from hearth_bench.measure.result_file import write_result
from hearth_bench.report.run_comparison import paired_interval
from training.tool_heads_train import (
    Row,
    asked_rows,
    data_folder,
    features_of,
    logistic_weights,
    mistyped,
    outputs_of,
    requests_to_learn,
    rows_shown,
)

SEED = 0
N_FOLDS = 5
SHARES_OF_TOOLS = (0.88, 0.9, 0.92)
"""Shares of the served requests that are to go to a right tool; the first is the one asked for."""
PARTS = (0, 1)
"""Tenths that no fit sees: what is told is measured on the first, ways are chosen on the second."""
_LEAST_TOLD = 10
"""Fewest requests of a kind that is told by itself."""
_SUBJECTS = (
    ("weather", "weather_query"),
    ("media-player.play ", "play_music"),
    ("playmusic", "play_music"),
    ("mediasearchandplay", "play_music"),
    ("media-player", "music_settings"),
    ("hassmedia", "music_settings"),
    ("media-source", "music_query"),
    ("tunein", "play_radio"),
    ("alphavantage", "qa_stock"),
    ("cryptonator", "qa_currency"),
    ("top_stories", "news_query"),
    ("nytimes", "news_query"),
    ("wsj", "news_query"),
    ("washingtonpost", "news_query"),
    ("smartnews", "news_query"),
    ("hackernews", "news_query"),
    ("rss.get_post", "news_query"),
    ("joke", "general_joke"),
    ("home_timeline", "social_query"),
    ("channel_history", "social_query"),
    ("direct_messages", "social_query"),
    ("instagram", "social_query"),
    ("reddit", "social_query"),
    ("twitter", "social_post"),
    ("facebook", "social_post"),
    ("linkedin", "social_post"),
    ("uber", "transport_taxi"),
    ("yelp", "recommendation_locations"),
    ("places", "recommendation_locations"),
    ("bookrestaurant", "recommendation_locations"),
    ("screening", "recommendation_movies"),
    ("omdbapi", "recommendation_movies"),
    ("owlbot", "qa_definition"),
    ("wikidata", "qa_factoid"),
    ("trivia", "qa_factoid"),
    ("navigation", "transport_query"),
    ("light-bulb", "iot_hue_lightchange"),
    ("lightset", "iot_hue_lightchange"),
    ("cooking", "cooking_recipe"),
    ("thecatapi", "pictures"),
    ("thedogapi", "pictures"),
    ("giphy", "pictures"),
    ("imgflip", "pictures"),
    ("image_search", "pictures"),
    ("xkcd", "pictures"),
    ("phdcomics", "pictures"),
    ("nasa", "pictures"),
    ("tesla", "car"),
    ("yandex", "translation"),
    ("youtube", "video_search"),
    ("goal_smart", "sports"),
)
"""Part of an intent's name, and the kind that it is of: what another corpus calls by another name. The first counts."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Judged:
    """One held-out request under the heads of one fold."""

    kind: str
    """Empty for a request that a tool serves."""
    margin: float
    """How far the best tool is ahead of nothing and talk, in log-odds."""
    is_right: bool
    """True where the best tool is one that serves it."""
    is_left_out: bool = False
    """True where the heads saw no request of its kind."""

    def is_refused(self, threshold: float) -> bool:
        return self.margin < threshold


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--part", type=int, choices=PARTS, default=0, help="the tenth to measure; only 0 is written")
    options.add_argument("--keep", type=Path, metavar="FILE.npz", help="scores kept between runs")
    chosen = options.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    held = held_out_requests()
    kinds = unserved_kinds(read_real_requests(data_folder()))
    folds = folds_of(kinds)
    is_kept = chosen.keep is not None and chosen.keep.exists()
    if is_kept:
        kept = np.load(chosen.keep)
        outputs, scores = tuple(str(name) for name in kept["outputs"]), kept["scores"]
    else:
        outputs, scores = scores_without_each(folds, held)
        if chosen.keep is not None:
            np.savez(chosen.keep, outputs=np.array(outputs), scores=scores)
    by_part = {}
    for part in PARTS:
        places = [k for k, one in enumerate(held) if is_held_out(one, part)]
        requests = [held[k] for k in places]
        by_part[part] = [judged_of(requests, said[places], outputs, kinds, gone) for said, gone in zip(scores, folds)]
    other = next(part for part in PARTS if part != chosen.part)
    found = {**summary(by_part[chosen.part], by_part[other]), "fitted_in_this_run": not is_kept}
    if chosen.part != 0:
        print(found)
        return 0
    write_result("unseen_kinds", found, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)
    return 0


def held_out_requests() -> list[RealRequest]:
    """Return the requests of `PARTS` that a tool serves, or no tool."""
    every = [one for one in read_real_requests(data_folder()) if one.kind in ("tool", "none")]
    return [one for one in every if any(is_held_out(one, part) for part in PARTS)]


def kind_of(request: RealRequest) -> str:
    """Return what a request is about: its intent, by one name in all corpora."""
    intent = request.intent.lower()
    return next((kind for part, kind in _SUBJECTS if part in intent), request.intent)


def unserved_kinds(asked: Iterable[RealRequest]) -> frozenset[str]:
    """Return the kinds that no tool serves one request of."""
    asked = list(asked)
    served = {kind_of(one) for one in asked if one.kind == "tool"}
    return frozenset(kind_of(one) for one in asked if one.kind == "none") - served


def folds_of(kinds: Collection[str], n: int = N_FOLDS) -> list[frozenset[str]]:
    """Divide kinds into parts, by seed; each kind is in one."""
    drawn = np.random.default_rng(SEED).permutation(sorted(kinds)).tolist()
    return [frozenset(drawn[k::n]) for k in range(n)]


def scores_without_each(
    folds: Sequence[Collection[str]], held: Sequence[RealRequest]
) -> tuple[tuple[str, ...], NDArray[np.float32]]:
    """Return the heads' outputs, and what they say of held-out requests once fitted without each fold of kinds, shape
    [folds, requests, outputs], in log-odds."""
    asked = requests_to_learn(PARTS)
    pairs = mistyped(asked)
    shown = rows_shown()
    rows = [*shown, *asked_rows(asked), *asked_rows(typed for _, typed in pairs), *asked_rows(held)]
    print(f"reading {len(rows):,} requests …", file=sys.stderr)
    encoder = MiniLMEncoder.open()
    features = features_of(rows, encoder, *drawn_cosines(encoder.dim))
    learnt, known, asked_about = rows[: -len(held)], features[: -len(held)], features[-len(held) :]
    kinds = [kind_of(one) if one.kind == "none" else "" for one in (*asked, *(one for one, _ in pairs))]
    vectors = known[:, 1 : 1 + encoder.dim]
    kinds = [*kinds_of_shown(shown, vectors[: len(shown)], kinds, vectors[len(shown) :]), *kinds]
    outputs = outputs_of(learnt)
    found = []
    for number, left_out in enumerate(folds, 1):
        stays = [k for k, kind in enumerate(kinds) if kind not in left_out]
        print(f"fold {number}: {len(stays):,} of {len(learnt):,} learnt, without {sorted(left_out)}", file=sys.stderr)
        weights, _ = logistic_weights(known[stays], [learnt[k] for k in stays], outputs)
        found.append(asked_about @ weights)
    return outputs, np.stack(found)


def kinds_of_shown(shown: Sequence[Row], vectors: Floats, kinds: Sequence[str], real_vectors: Floats) -> list[str]:
    """Return the kind of each demonstration of a refusal: that of the nearest real request that no tool serves.

    Args:
        vectors: Of the demonstrations, each of length 1.
        kinds: Of real requests; empty for one that a tool serves.
        real_vectors: Of real requests.
    """
    found = [""] * len(shown)
    refusals = [k for k, row in enumerate(shown) if row.outputs == (NOTHING,)]
    unserved = [k for k, kind in enumerate(kinds) if kind]
    nearest = (vectors[refusals] @ real_vectors[unserved].T).argmax(axis=1)
    for place, near in zip(refusals, nearest):
        found[place] = kinds[unserved[near]]
    return found


def judged_of(
    held: Sequence[RealRequest],
    scores: Floats,
    outputs: Sequence[str],
    kinds: Collection[str],
    left_out: Collection[str],
) -> list[Judged]:
    """Return held-out requests as the heads of one fold judge them, without unserved ones of a kind that is served.

    Args:
        kinds: Kinds that no tool serves.
        left_out: Those of them that the heads did not see.
    """
    tools = [k for k, name in enumerate(outputs) if name not in (NOTHING, TALK)]
    others = [k for k, name in enumerate(outputs) if name in (NOTHING, TALK)]
    best = scores[:, tools].argmax(axis=1)
    margins = scores[:, tools].max(axis=1) - scores[:, others].max(axis=1)
    found = []
    for one, place, margin in zip(held, best, margins):
        kind = kind_of(one) if one.kind == "none" else ""
        if not kind or kind in kinds:
            is_right = one.kind == "tool" and outputs[tools[place]] in one.accept
            found.append(Judged(kind, float(margin), is_right, kind in left_out))
    return found


def threshold_at(judged: Iterable[Judged], share: float) -> float:
    """Return the highest threshold at which a share of the served requests goes to a right tool; minus infinity, which
    refuses nothing, where no threshold reaches it."""
    served = [one for one in judged if not one.kind]
    right = sorted((one.margin for one in served if one.is_right), reverse=True)
    wanted = math.ceil(share * len(served))
    return right[wanted - 1] if 0 < wanted <= len(right) else -math.inf


def counted(folds: Sequence[Sequence[Judged]], thresholds: Sequence[float]) -> dict[str, object]:
    """Return what is refused, and what goes to a right tool, at one threshold for each fold.

    A request counts once, with its mean over the folds that it is counted in.

    Args:
        folds: The same requests in the same order, under the heads of each.
    """
    by_request: dict[str, dict[int, list[float]]] = {"never_shown": {}, "shown": {}, "tools": {}}
    for judged, threshold in zip(folds, thresholds, strict=True):
        for place, one in enumerate(judged):
            is_refused = one.is_refused(threshold)
            name = "tools" if not one.kind else "never_shown" if one.is_left_out else "shown"
            is_good = one.is_right and not is_refused if name == "tools" else is_refused
            by_request[name].setdefault(place, []).append(float(is_good))
    found: dict[str, object] = {}
    for name, shares in by_request.items():
        means = [float(np.mean(told)) for told in shares.values()]
        interval = paired_interval([0.0] * len(means), means, seed=SEED)
        found[name] = round(float(np.mean(means)), 4)
        found[f"{name}_interval_95"] = [round(end, 4) for end in interval]
        found[f"n_{name}"] = len(means)
    return found


def summary(folds: Sequence[Sequence[Judged]], other: Sequence[Sequence[Judged]]) -> dict[str, object]:
    """Return the counts at each threshold, and at the first the refused share of each kind that has enough requests.

    Args:
        other: Requests that are not counted, under the same heads: the thresholds of `carried_over` are theirs.
    """
    asked_for, *_ = SHARES_OF_TOOLS
    thresholds = {f"at_{share}": [threshold_at(judged, share) for judged in folds] for share in SHARES_OF_TOOLS}
    thresholds["carried_over"] = [threshold_at(judged, asked_for) for judged in other]
    thresholds["as_shipped"] = [0.0] * len(folds)
    found: dict[str, object] = {
        name: {**counted(folds, chosen), "thresholds": [round(one, 3) for one in chosen]}
        for name, chosen in thresholds.items()
    }
    found["refuses_nothing"] = counted(folds, [-math.inf] * len(folds))
    found["by_kind"] = by_kind(folds, thresholds[f"at_{asked_for}"])
    return found


def by_kind(folds: Sequence[Sequence[Judged]], thresholds: Sequence[float]) -> Mapping[str, Mapping[str, float]]:
    """Return the refused share of each kind by heads that never saw it, the least refused first."""
    n, refused = Counter[str](), Counter[str]()
    for judged, threshold in zip(folds, thresholds, strict=True):
        for one in judged:
            if one.is_left_out:
                n[one.kind] += 1
                refused[one.kind] += one.is_refused(threshold)
    shares = {
        kind: {"n": n[kind], "refused": round(refused[kind] / n[kind], 4)} for kind in n if n[kind] >= _LEAST_TOLD
    }
    return dict(sorted(shares.items(), key=lambda item: (item[1]["refused"], item[0])))


if __name__ == "__main__":
    sys.exit(main())
