"""Work counted instead of timed: the calls of functions, Python's and C's, which are the same on every machine.

What happens within one call of C, such as a search with a regular expression, is not seen; what texts made to be slow
cost in seconds is measured by `python -m hearth_bench.measure.planning.speed.hostile_texts`.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable


def calls_of(run: Callable[[], object]) -> int:
    """Number of calls while `run` runs, itself included."""
    profile = cProfile.Profile()
    profile.enable()
    try:
        run()
    finally:
        profile.disable()
    return sum(int(entry.callcount) for entry in profile.getstats())


def grows_in_step(run: Callable[[int], object], small: int, large: int, *, spare: int = 2_000) -> bool:
    """Whether `run(large)` takes no more calls for its size than `run(small)` does, give or take a quarter.

    Args:
        spare: Calls that do not depend on the size, such as an import; in step with the square it would not matter.
    """
    run(small)  # fills caches
    n_small = calls_of(lambda: run(small))
    n_large = calls_of(lambda: run(large))
    return n_large <= 1.25 * n_small * large / small + spare
