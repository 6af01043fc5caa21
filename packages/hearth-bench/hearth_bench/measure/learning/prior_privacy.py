"""Measure what priors tell of who gave what: `hearth bench prior-privacy` in full.

    python -m hearth_bench.measure.learning.prior_privacy

Writes packages/hearth-bench/results/prior_privacy.json in some two minutes.
"""

from __future__ import annotations

import time

from hearth.agent import shipped_demonstrations
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.ranking.ranker import PROFILES
from hearth.registry import load_tools
from hearth_bench.measure.result_file import write_result
from hearth_bench.suites.prior_privacy_suite import Attacked, measure_prior_privacy


def main() -> None:
    began, cpu = time.perf_counter(), time.process_time()
    asked = Attacked(epsilons=(1.0, 4.0, 16.0))
    specs = load_tools(None).specs
    found = measure_prior_privacy(MiniLMEncoder.open(), specs, list(shipped_demonstrations()), PROFILES["small"], asked)
    wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
    write_result("prior_privacy", found, seed=asked.seed, cpu_s=cpu_s, wall_s=wall_s)


if __name__ == "__main__":
    main()
