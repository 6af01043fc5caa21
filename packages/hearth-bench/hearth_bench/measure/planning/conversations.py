"""Measure what becomes of conversations: 150 revisions and follow-ups of three people, each in a home of their own.

    python -m hearth_bench.measure.planning.conversations [--side dev|blind] [--show]

Writes packages/hearth-bench/results/conversations.json, each side beside the other. Every conversation (two or three
turns) runs in a fresh copy of its person's home, with a fixed clock and an owner who says yes; the home's files and the
last answer are judged, as `natural_requests` does. `floor_reads_alone` asks the last turn alone, without the turns
before. The blind half is only counted: `--show` prints conversations of the development side alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import Encoder
from hearth_bench.data.natural_homes.natural_people import PEOPLE, SIDES, Side, conversations_hash, read_conversations
from hearth_bench.measure.planning.natural_requests import Judged, asked_at_home, shares, show_failed
from hearth_bench.measure.result_file import RESULTS, write_result

_NAME = "conversations"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--side", choices=SIDES, default="dev", help="the side to measure; only dev is ever shown")
    options.add_argument("--show", action="store_true", help="print what did not go right, of dev only")
    chosen = options.parse_args()
    side = cast("Side", chosen.side)
    started, cpu = time.perf_counter(), time.process_time()
    encoder = MiniLMEncoder.open()
    judged = _held(side, encoder, is_alone=False)
    if chosen.show and side == "dev":
        show_failed(judged)
    counted = {
        "all": shares(judged),
        **{name: shares([one for one in judged if one.request.person == name]) for name in PEOPLE},
        "floor_reads_alone": shares(_held(side, encoder, is_alone=True)),
    }
    print(json.dumps(counted["all"]), file=sys.stderr)
    results = {**_results_before(), side: counted, "data_sha256": conversations_hash()}
    write_result(_NAME, results, seed=0, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - started)


def _held(side: Side, encoder: Encoder, *, is_alone: bool) -> list[Judged]:
    held = [one for one in read_conversations() if one.side == side]
    if is_alone:
        held = [replace(one, turns=one.turns[-1:]) for one in held]
    return [judged for name in PEOPLE for judged in asked_at_home(name, [o for o in held if o.person == name], encoder)]


def _results_before() -> Mapping[str, object]:
    """Return what was written of both sides, where it is of the same conversations."""
    path = RESULTS / f"{_NAME}.json"
    if not path.exists():
        return {}
    results: dict[str, object] = json.loads(path.read_text())["results"]
    return results if results.get("data_sha256") == conversations_hash() else {}


if __name__ == "__main__":
    main()
