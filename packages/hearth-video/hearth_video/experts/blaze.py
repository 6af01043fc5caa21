"""Run TensorFlow Lite networks on one core, and decode the two-dimensional detectors of the Blaze family.

`Network` runs one file; `Detector` reads the outputs of a single-shot detector: for each anchor a probability, a box
and points. `person_detector` is BlazePose's: it looks for the face and the torso of people a few metres away, from
behind as well, and gives the middle of the hips and a circle around the body.

Covered: pictures of any size and shape (they are fitted into the square that the network takes). Not covered: people
far smaller than the picture; pass the part of the picture where they may be.

Source:
    Bazarevsky et al., BlazePose (2020); Bazarevsky et al., BlazeFace (2019). Anchors as in MediaPipe 0.10.21.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError
from hearth_video.experts.expert_values import Pixels
from hearth_video.installed import INSTALL_COMMAND, carried_file

_N_MOST = 40
"""Number of anchors considered; there are never so many people."""
_SAME_BODY = 0.6
"""Two detections whose middles are nearer than this share of the radius are one body."""


class Network:
    """One TensorFlow Lite file with one input, ready to run; safe in several threads, one after the other."""

    def __init__(self, file: Path, feature: str) -> None:
        """Load the file. Raises: MissingExtraError: the interpreter is not installed."""
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise MissingExtraError(feature, INSTALL_COMMAND) from None
        with _without_chatter():
            self._interpreter = Interpreter(model_path=str(file), num_threads=1)
            self._interpreter.allocate_tensors()
        given = self._interpreter.get_input_details()[0]
        self._given: int = given["index"]
        self._found: list[int] = [int(details["index"]) for details in self._interpreter.get_output_details()]
        self._lock = threading.Lock()
        self.side = int(given["shape"][1])
        """Side of the square input picture, in pixels."""

    def run(self, values: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Return the outputs in the file's order, without the first axis.

        Args:
            values: Shape [side, side, 3], scaled as the network was trained.
        """
        with self._lock:
            self._interpreter.set_tensor(self._given, values[None])
            self._interpreter.invoke()
            return [np.asarray(self._interpreter.get_tensor(index)[0], dtype=np.float32) for index in self._found]


@contextlib.contextmanager
def _without_chatter() -> Iterator[None]:
    """Silence the line of information that the library writes past Python's own streams when a model is loaded."""
    sys.stderr.flush()
    kept = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


@dataclass(frozen=True, slots=True, eq=False)
class Find:
    """The output of one anchor."""

    score: float
    points: NDArray[np.float32]
    """Points in pixels of the given picture, shape [n_points, 2]. For a person: middle of the hips, top of the circle
    around the body, middle of the shoulders, top of the circle around the upper body."""

    @property
    def radius(self) -> float:
        """Radius of the circle around the body, in pixels."""
        return float(np.linalg.norm(self.points[1] - self.points[0]))


class Detector:
    """A single-shot detector."""

    def __init__(self, network: Network, strides: tuple[int, ...], n_at: tuple[int, ...]) -> None:
        """
        Args:
            strides: Strides of the anchor grids, in pixels of the network's input.
            n_at: Number of anchors at each place of each grid.
        """
        self._network = network
        self._anchors = np.concatenate([_grid(network.side, s, n) for s, n in zip(strides, n_at, strict=True)])

    def find(self, pixels: Pixels, least_score: float) -> list[Find]:
        """Return the detections, best first, one for each body."""
        square, scale, left, top = fitted(pixels, self._network.side)
        outputs = self._network.run(square.astype(np.float32) / 127.5 - 1)
        places = next(output for output in outputs if output.shape[-1] > 1)
        scores = 1 / (
            1 + np.exp(-np.clip(next(o for o in outputs if o.shape[-1] == 1)[:, 0].astype(np.float64), -80, 80))
        )
        found: list[Find] = []
        for index in np.argsort(-scores)[:_N_MOST]:
            if scores[index] < least_score:
                break
            points = places[index, 4:].reshape(-1, 2) + self._anchors[index] * self._network.side
            find = Find(float(scores[index]), ((points - [left, top]) / scale).astype(np.float32))
            if not any(_is_same_body(find, other) for other in found):
                found.append(find)
        return found


def person_detector(feature: str) -> Detector:
    """Load BlazePose's person detector. Raises: MissingExtraError."""
    file = carried_file("mediapipe", "modules/pose_detection/pose_detection.tflite", feature)
    return Detector(Network(file, feature), (8, 16, 32), (2, 2, 6))


def fitted(pixels: Pixels, side: int) -> tuple[Pixels, float, int, int]:
    """Scale a picture into the middle of a black square.

    Returns:
        The square, the scale, and the place of the picture's left top corner in it.
    """
    import cv2

    height, width = pixels.shape[:2]
    scale = side / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    shrunk: Any = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    square = np.zeros((side, side, 3), np.uint8)
    left, top = (side - size[0]) // 2, (side - size[1]) // 2
    square[top : top + size[1], left : left + size[0]] = shrunk
    return square, scale, left, top


def _grid(side: int, stride: int, n_at: int) -> NDArray[np.float32]:
    n = -(-side // stride)
    rows, columns = np.mgrid[0:n, 0:n]
    middles = np.stack([(columns.ravel() + 0.5) / n, (rows.ravel() + 0.5) / n], axis=1)
    return np.repeat(middles, n_at, axis=0).astype(np.float32)


def _is_same_body(find: Find, other: Find) -> bool:
    apart = float(np.linalg.norm(find.points[0] - other.points[0]))
    return apart < _SAME_BODY * max(find.radius, other.radius)
