"""Units of features in whole numbers, the same to the last bit alone, in a batch, or on any machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.floating] | NDArray[np.signedinteger]

UNIT = 4096
"""Length to which a feature vector of length one is stretched before rounding."""
INPUT_GRAIN = 512
"""Inputs are rounded to multiples of 1/INPUT_GRAIN."""
