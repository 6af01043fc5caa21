"""Measure what Hearth costs and how well it plans, as the command line runs it."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `hearth.cli.root` does, before numpy is imported
