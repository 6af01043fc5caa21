"""Keep the best of each watched number with the commit it was measured at, and say what was lost by more than a fifth.

    python -m hearth_bench.measure.best_results [--history]     reads and writes packages/hearth-bench/results/best.json

`make bench` runs it after measuring, and `docs/scorecard.md` has a table of what is lost. `--history` looks through
every result file that was ever committed, for numbers that were reached before anybody kept them. A number that is
better lower is lost when it is over 1.2 times the best, one that is better higher when it is below the best divided by
1.2.

Not covered: numbers measured on another machine or beside other work, which a time may be lost to: measure again before
looking for a cause; data that were changed since (the same name may then be another number); shares near one, where a
fifth is much: their errors are watched instead, where a file has them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hearth_bench.measure.result_file import RESULTS, ROOT

LOST = 1.2
"""A number that is worse than the best by this factor is lost."""
NAME = "best"
LOWER = {
    "start": ("ask_first_output_p50_s", "ask_whole_p50_s", "idle_rss_mb", "rss_after_one_request_mb"),
    "walks": tuple(f"{walk}/{n}" for walk in ("mask", "ask", "correct", "forget") for n in ("n_files", "n_calls")),
    "structure": (
        *("now/core_lines", "now/n_core_files", "now/n_too_complex", "now/n_many_parameters", "now/n_circles"),
        "now/n_patterns_elsewhere",
    ),
    "agent_loop": ("cpu_ratio_hearth_to/1_tools/smolagents", "cpu_ratio_hearth_to/100_tools/smolagents"),
    "real_requests": (
        "all/served_requests/acts_wrongly",
        "all/unserved_requests/acts_wrongly",
        "plan_ms/p50",
        "plan_ms/p95",
    ),
    "requests": ("held_out_requests/recall/wrong_side_effect", "blind_requests/recall/wrong_side_effect"),
    "natural_requests": ("dev/all/wrong_silent", "blind/all/wrong_silent"),
    "home_questions": ("held_out/wrong_without_doubt", "held_out/p95_ms"),
    "bench_injection_own": ("approvals_per_task", "asr_worst", "write_beyond_task"),
    "corrections": ("changed_elsewhere",),
    "serving": ("page_p50_ms", "question_after_plan_p50_ms", "openai_above_agent_p50_ms", "resident_mb"),
    "facts": ("time/p50_ms", "time/hostile_4000_characters_ms"),
    "memory_years": ("file_mb", "start_s"),
    "learning": ("forget_thirty_cpu_s", "rollback_cpu_s", "teach_ms"),
}
"""Result file → numbers that are better lower, by their place in the file's results."""
HIGHER = {
    "real_requests": ("all/served_requests/good", "all/unserved_requests/good"),
    "requests": ("held_out_requests/recall/right", "blind_requests/recall/right", "blind_requests/recall/node_f1"),
    "natural_requests": ("dev/all/right", "blind/all/right"),
    "conversations": ("dev/all/right", "blind/all/right"),
    "home_questions": ("held_out/right", "tuned/right"),
    "corrections": ("rephrasings", "siblings"),
    "bench_changed": ("changed_right", "unchanged_right"),
    "bench_recall": ("recall_at_5", "recall_at_10"),
    "bench_injection_own": ("utility_no_ask",),
    "privacy_messages": ("masked_share", "structured_recall", "char_precision", "chars_per_s"),
    "masking_speed": ("times_presidio",),
    "facts": ("seen/recall", "unseen/precision", "unseen/recall", "prefeval/captured_as_preference"),
    "asking": ("right", "refused"),
    "bench_planning_ultratool": ("node_f1", "link_f1"),
}


@dataclass(frozen=True, slots=True)
class Best:
    """The best value of a number, and where it was measured."""

    value: float
    commit: str
    at: str

    def is_lost_at(self, now: float, *, is_lower_better: bool) -> bool:
        """Return whether `now` is worse by more than a fifth."""
        return now > self.value * LOST if is_lower_better else now < self.value / LOST


def watched() -> Iterator[tuple[str, str, bool]]:
    """Yield file, place and whether lower is better, for each number that is watched."""
    for table, is_lower_better in ((LOWER, True), (HIGHER, False)):
        for file, places in table.items():
            yield from ((file, place, is_lower_better) for place in places)


def updated(best: Mapping[str, Best], file: str, document: Mapping[str, Any]) -> dict[str, Best]:
    """Return the best numbers with those of a result file that are better."""
    found = dict(best)
    for name, place, is_lower_better in watched():
        value = value_of(document, place) if name == file else None
        if value is None:
            continue
        key = f"{file}/{place}"
        known = found.get(key)
        if known is None or (value < known.value if is_lower_better else value > known.value):
            found[key] = Best(value, str(document.get("commit", "")), str(document.get("at", "")))
    return found


def value_of(document: Mapping[str, Any], place: str) -> float | None:
    """Return the number at a place of a file's results; None where there is none."""
    at: Any = document.get("results", document)
    for name in place.split("/"):
        at = at.get(name) if isinstance(at, dict) else None
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None


def lost(best: Mapping[str, Best], folder: Path) -> list[tuple[str, Best, float]]:
    """Return what is worse now than the best by more than a fifth: key, best, and the value now."""
    found = []
    for file, place, is_lower_better in watched():
        known, document = best.get(f"{file}/{place}"), _read(folder / f"{file}.json")
        now = value_of(document, place)
        if known is not None and now is not None and known.is_lost_at(now, is_lower_better=is_lower_better):
            found.append((f"{file}/{place}", known, now))
    return found


def kept(folder: Path) -> dict[str, Best]:
    """Return the best numbers as they were written last."""
    return {key: Best(**row) for key, row in _read(folder / f"{NAME}.json").items()}


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def from_history(best: Mapping[str, Best]) -> dict[str, Best]:
    """Look through every committed version of the watched files, under the names they have had."""
    found = dict(best)
    for file in sorted({file for file, _, _ in watched()}):
        path = f"packages/hearth-bench/results/{file}.json"
        names = _git("log", "--follow", "--format=@%h", "--name-only", "--diff-filter=AMR", "--", path).split()
        for commit, name in zip(names[::2], names[1::2], strict=True):
            try:
                document = json.loads(_git("show", f"{commit.removeprefix('@')}:{name}"))
            except ValueError:
                continue
            found = updated(found, file, {**document, "commit": commit.removeprefix("@")})
    return found


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m hearth_bench.measure.best_results", description="Keep the best.")
    parser.add_argument("--history", action="store_true", help="look through the committed result files, too")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where the result files are")
    chosen = parser.parse_args(arguments)
    best = from_history(kept(chosen.folder)) if chosen.history else kept(chosen.folder)
    for file in {file for file, _, _ in watched()}:
        best = updated(best, file, _read(chosen.folder / f"{file}.json"))
    rows = {key: asdict(best[key]) for key in sorted(best)}
    (chosen.folder / f"{NAME}.json").write_text(json.dumps(rows, indent=2) + "\n")
    gone = lost(best, chosen.folder)
    for key, known, now in gone:
        print(f"LOST  {key}: {now:g}, and was {known.value:g} at {known.commit} ({known.at[:10]})", file=sys.stderr)
    print(f"{len(best)} numbers watched, {len(gone)} lost by more than a fifth")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
