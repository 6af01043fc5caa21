"""Measurements: programs that each write one result file on how well Hearth works and what it costs.

In: data sets, or made-up load. Out: JSON in `packages/hearth-bench/results`, and `docs/scorecard.md` made of it.
Here: `result_file` (commit, machine, versions), `scorecard` with `scorecard_tables` and `scorecard_run`; `structure`
(the code in numbers), `installs` (wheels in empty environments); rooms by what is measured: `agent`, `planning`,
`memory`, `learning`, `guard`, `video`, `cloud`. Run by `python -m hearth_bench.measure.…`.
Not here: measurements that users run with `hearth bench` (`hearth_bench.suites`).
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `hearth.cli.root` does, before numpy is imported
