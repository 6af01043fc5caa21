"""Find and follow people in view, frame after frame, in constant memory.

Each frame is searched as a whole, and closer where somebody was expected or something changed; what looks like a person
from afar must look like one from near too, with a person's outline. A person who was found stays, sitting still or half
out of view, as long as their place differs from the empty room. Scenes come out some frames late, so that a person who
is only recognised after a few steps is present from the start, and a false detection never appears.

Covered: people from behind and from the side, still people, people half in view at the edge; small views (looked at
enlarged where something moves); the light changing, shadows, empty rooms, the camera being moved; a picture of a person
on the wall (what never moves in half a minute is nobody); times that stand still or go back, frames that change size.
Not covered: more than about five people at once in a crowd; people smaller than about 40 pixels; a person who does not
move at all for half a minute from when the camera starts; people on a screen, who move.

Source:
    Bazarevsky et al., BlazePose (2020) for the detector; the outline network is MediaPipe's selfie segmentation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hearth.errors import MissingExtraError, ToolError
from hearth.protocols import ExpertCard
from hearth_video.experts.background_subtraction import Background, Change
from hearth_video.experts.blaze import Detector, Find, Network, person_detector
from hearth_video.experts.expert_values import Box, Frame, Pixels, Scene, TrackedBox
from hearth_video.experts.identity import clothes
from hearth_video.experts.tracking import Seen, Track, Tracker
from hearth_video.installed import INSTALL_COMMAND, carried_file

_FEATURE = "finding people"
_LEAST_FAR = 0.35
"""Score in the whole frame from which on a closer look is taken."""
_LEAST_NEAR = 0.5
_SEEN_FROM_AFAR = 0.15
"""A person this high, as a share of the frame's longer side, is also visible in the whole frame; one that is not is
more likely a cat, unless it scores `_LEAST_UNSEEN`."""
_LEAST_UNSEEN = 0.62
_LEAST_EXPECTED = 0.4
"""Least score where a followed person was expected."""
_KNOWN_FAR = 0.6
"""Score from which on the whole frame is believed where somebody was expected."""
_LEAST_OUTLINE = 0.03
"""Least share of the closer look that is a person's outline."""
_HALF_WIDTH = 0.8
"""Half the width of a person with their arms, in radii of the circle around the body."""
_LEAST_CHANGED = 0.1
"""Least share of the closer look that differs from the room, when there is no outline."""
_N_CLOSER = 4
"""Closer looks per frame, in addition to those at what the whole frame showed; limits the cost of a frame."""
_N_FAR = 6
_LONGEST_PX = 1280
"""Longest side of frames as processed; larger ones are shrunk."""
_LEAST_SIDE_PX = 24
_LATE_S = 2.0
_LATE_FRAMES = 8
_HELD_S = 60.0
"""Time that an undetected person is assumed present, while their place differs from the room."""
_HELD_SHARE = 0.25
_STARTS_AFRESH_S = 30.0
_PICTURE_S = 30.0
_STIRRED = 0.004
_STIR_LEVELS = 12


@dataclass(slots=True, eq=False)
class _Waiting:
    """A frame whose list of people may still change."""

    frame: Frame
    change: Change
    people: list[tuple[Track, Box]] = field(default_factory=list)

    def scene(self) -> Scene:
        boxes = {track.number: box for track, box in self.people if track.is_person}
        return Scene(self.frame, tuple(TrackedBox(number, box) for number, box in sorted(boxes.items())))

    def has(self, track: Track) -> bool:
        return any(track is one for one, _ in self.people)


class PersonExpert:
    """Finds people in frames given in order of time, each with the number of their track."""

    card = ExpertCard(
        name="person",
        takes="Frames of one camera in the order of time (Iterable[Frame])",
        gives="a Scene for each: the frame and a TrackedBox for each person in it (Iterator[Scene])",
        extra="video",
        cpu_ms=45.0,
        memory_bytes=350_000_000,
        cannot=(
            "It does not see people smaller than about 40 pixels or in the dark.",
            "It loses count in crowds: more than about five people at once.",
            "It takes a lifelike picture or a doll for a person until it has not moved for half a minute.",
            "It takes two people in the same clothes for one when they change places out of view.",
        ),
    )

    def __init__(self) -> None:
        self._eyes: _Eyes | None = None

    def look(self, given: Iterable[Frame]) -> Iterator[Scene]:
        """Yield a scene for each frame, up to two seconds of frames late; runs only as far as the iterator is read.

        Raises:
            MissingExtraError. ToolError: A frame's pixels are not RGB.
        """
        if self._eyes is None:
            self._eyes = _Eyes()
        return _scenes(self._eyes, given)


def _scenes(eyes: _Eyes, frames: Iterable[Frame]) -> Iterator[Scene]:
    view = _View(eyes)
    before: Frame | None = None
    for frame in frames:
        _check(frame)
        if before is not None and _is_cut(before, frame):
            yield from view.finish()
            view = view.after_cut()
        yield from view.see(frame)
        before = frame
    yield from view.finish()


def _check(frame: Frame) -> None:
    shape, kind = frame.pixels.shape, frame.pixels.dtype
    if len(shape) != 3 or shape[2] != 3 or min(shape[:2]) < 1 or kind != np.uint8:
        raise ToolError(
            f"the frame at {frame.at_s:g} s has pixels of shape {shape} and type {str(kind)!r}; "
            "expected [height, width, 3] of 'uint8', RGB: convert it first"
        )


def _is_cut(before: Frame, frame: Frame) -> bool:
    passed = frame.at_s - before.at_s
    return before.pixels.shape != frame.pixels.shape or passed < 0 or passed > _STARTS_AFRESH_S


# ── One view through time ─────────────────────────────────────────────────────────────────────────────────


class _View:
    """The state while one camera is followed without a cut."""

    def __init__(self, eyes: _Eyes, n_before: int = 0) -> None:
        self._eyes = eyes
        self._background = Background()
        self._tracker = Tracker(n_before)
        self._waiting: deque[_Waiting] = deque()
        self._pictures = _Pictures()

    def after_cut(self) -> _View:
        """Return a new view that continues the numbering of tracks."""
        return _View(self._eyes, self._tracker.n_tracks)

    def see(self, frame: Frame) -> Iterator[Scene]:
        """Take the next frame; yield scenes that nothing can change any more."""
        pixels, scale = _workable(frame.pixels)
        change = self._background.change(pixels)
        now = _Waiting(frame, change)
        passed = frame.at_s - self._waiting[-1].frame.at_s if self._waiting else 0.0
        if min(pixels.shape[:2]) >= _LEAST_SIDE_PX:
            self._find(now, pixels, scale)
        self._pictures.watch(self._tracker, pixels, frame.at_s)
        kept = tuple(_grown(track.box, 0.15) for track in self._tracker.tracks if track.is_person)
        self._background.learn(pixels, change, kept, passed)
        self._waiting.append(now)
        while len(self._waiting) > _LATE_FRAMES or frame.at_s - self._waiting[0].frame.at_s > _LATE_S:
            yield self._waiting.popleft().scene()

    def finish(self) -> Iterator[Scene]:
        """Yield all waiting scenes."""
        while self._waiting:
            yield self._waiting.popleft().scene()

    def _find(self, now: _Waiting, pixels: Pixels, scale: float) -> None:
        at_s, size = now.frame.at_s, (pixels.shape[1], pixels.shape[0])
        found = [
            box for box in self._eyes.look(pixels, now.change, self._expected(at_s)) if not self._pictures.has(box)
        ]
        frame = Frame(pixels, at_s)
        seen = [Seen(box, clothes(frame, box)) for box in found]
        known = {track: (track.seen_s, track.box, track.is_person) for track in self._tracker.tracks}
        for track, find in zip(self._tracker.follow(seen, at_s, size), seen, strict=True):
            now.people.append((track, _scaled(find.box, scale)))
            seen_s, box, was_person = known.get(track, (at_s, find.box, False))
            self._fill(track, (seen_s, box), (at_s, find.box), scale)
            if track.is_person and not was_person:
                self._fill_before(track, scale)
        for track in self._tracker.tracks:
            if track.is_person and not now.has(track) and (box_held := self._held(track, now)):
                track.hold(box_held, at_s)
                now.people.append((track, _scaled(box_held, scale)))
        self._tracker.lose(at_s, size)

    def _expected(self, at_s: float) -> list[Box]:
        return [track.expected(at_s) for track in self._tracker.tracks if track.is_person]

    def _held(self, track: Track, now: _Waiting) -> Box | None:
        """Return the place of a person who was not detected, from where their surroundings differ from the room."""
        at_s = now.frame.at_s
        if at_s - track.seen_s > _HELD_S or now.change.is_new_view:
            return None
        place = max((track.box, track.expected(at_s)), key=now.change.share)
        others = [box for other, box in now.people if other is not track]
        if now.change.share(place) < _HELD_SHARE or any(place.overlap(other) > 0.3 for other in others):
            return None
        around = now.change.around(_grown(place, 0.1))
        return replace(around, score=0.4) if around else None

    def _fill(self, track: Track, before: tuple[float, Box], after: tuple[float, Box], scale: float) -> None:
        """Fill the frames in which a person was missed, by interpolation between two times with their places."""
        (seen_s, box), (at_s, now) = before, after
        for waiting in self._waiting:
            if seen_s < waiting.frame.at_s < at_s and not waiting.has(track):
                share = (waiting.frame.at_s - seen_s) / (at_s - seen_s)
                waiting.people.append((track, _scaled(_between(box, now, share), scale)))

    def _fill_before(self, track: Track, scale: float) -> None:
        """Fill the frames before a person was recognised, by the moving change that led to their place."""
        box = next((box for waiting in self._waiting for one, box in waiting.people if one is track), None)
        box = _scaled(box, 1 / scale) if box else track.box
        for waiting in reversed(self._waiting):
            if waiting.has(track):
                continue
            taken = [_scaled(other, 1 / scale) for _, other in waiting.people]
            patch = _came_from(box, waiting.change, taken)
            if patch is None:
                return
            waiting.people.append((track, _scaled(replace(patch, score=0.4), scale)))
            box = patch


def _came_from(box: Box, change: Change, taken: Sequence[Box]) -> Box | None:
    near = _grown(box, 0.5)
    for patch in change.patches:
        is_like = patch.area < 2 * box.area and patch.overlap(near) > 0
        if is_like and not any(patch.overlap(other) > 0.1 for other in taken):
            return patch
    return None


class _Pictures:
    """Detects what looks like a person but never moves: a picture on the wall."""

    def __init__(self) -> None:
        self._known: list[Box] = []
        self._before: Pixels | None = None
        self._still_since: dict[int, float] = {}

    def has(self, box: Box) -> bool:
        return any(box.overlap(known) > 0.6 for known in self._known)

    def watch(self, tracker: Tracker, pixels: Pixels, at_s: float) -> None:
        """Mark those that did not move at all in `_PICTURE_S` since they were first seen."""
        before, self._before = self._before, pixels
        tracks = {track.number: track for track in tracker.tracks}
        self._still_since = {number: since for number, since in self._still_since.items() if number in tracks}
        for track in tracks.values():
            if track.has_stirred:
                continue
            since = self._still_since.setdefault(track.number, at_s)
            if before is not None and before.shape == pixels.shape and _stirs(before, pixels, track.box):
                track.has_stirred = True
            elif at_s - since > _PICTURE_S:
                self._known = [*self._known[-20:], track.box]
                tracker.drop(track)


def _stirs(before: Pixels, pixels: Pixels, box: Box) -> bool:
    rows, columns = _inside(box, pixels)
    one, other = before[rows, columns].astype(np.int16), pixels[rows, columns].astype(np.int16)
    if one.size == 0:
        return False
    # Averaged over 4 pixels a side, the camera's noise is below a level or two.
    height, width = one.shape[0] // 4 * 4, one.shape[1] // 4 * 4
    apart = (one - other)[:height, :width].reshape(height // 4, 4, width // 4, 4, 3).mean(axis=(1, 3, 4))
    return bool((np.abs(apart) > _STIR_LEVELS).mean() > _STIRRED) if apart.size else False


# ── One frame ─────────────────────────────────────────────────────────────────────────────────────────────


class _Eyes:
    """The networks, and the search of a frame with them."""

    def __init__(self) -> None:
        try:
            import cv2  # noqa: F401
        except ImportError:
            raise MissingExtraError(_FEATURE, INSTALL_COMMAND) from None
        self._detector: Detector = person_detector(_FEATURE)
        outline = carried_file("mediapipe", "modules/selfie_segmentation/selfie_segmentation.tflite", _FEATURE)
        self._outline = Network(outline, _FEATURE)

    def look(self, pixels: Pixels, change: Change, expected: Sequence[Box]) -> list[Box]:
        """Return a box around each person in a frame, surest first.

        Args:
            expected: Expected places of people who are followed.
        """
        found: list[Box] = []
        for find in self._detector.find(pixels, _LEAST_FAR)[:_N_FAR]:
            box = self._confirmed(pixels, find, change, expected)
            if box and not _is_among(box, found):
                found.append(box)
        places = [(box, _LEAST_EXPECTED) for box in expected]
        large = _SEEN_FROM_AFAR * max(pixels.shape)
        places += [(box, _LEAST_NEAR if box.height < large else _LEAST_UNSEEN) for box in change.patches]
        n_closer = 0
        for place, least in places:
            if n_closer < _N_CLOSER and not _is_seen(place, found) and place.height >= _LEAST_SIDE_PX:
                n_closer += 1
                box = self._closer(pixels, _square(place, 1.5), change, least)
                if box and not _is_among(box, found):
                    found.append(box)
        return sorted(found, key=lambda box: -box.score)

    def _confirmed(self, pixels: Pixels, far: Find, change: Change, expected: Sequence[Box]) -> Box | None:
        """Return a box around a detection in the whole frame, if a closer look also shows a person."""
        place = _around(far, pixels)
        crop = self._crop(pixels, place)
        # The outline costs half of what the detector does; most false detections are dropped here.
        if crop is None or (crop.outline.mean() < _LEAST_OUTLINE and change.share(place) < _LEAST_CHANGED):
            return None
        if far.score >= _KNOWN_FAR and any(_shared(place, box) > 0.7 * box.area for box in expected):
            return _person(crop, Find(far.score, far.points - crop.corner), far.score, change, pixels)
        near = self._detector.find(crop.pixels, _LEAST_NEAR)
        return _person(crop, near[0], near[0].score, change, pixels) if near else None

    def _closer(self, pixels: Pixels, place: Box, change: Change, least: float) -> Box | None:
        """Return a box around the person in one place of the frame, if there is one."""
        crop = self._crop(pixels, place)
        near = self._detector.find(crop.pixels, least) if crop else []
        return _person(crop, near[0], near[0].score, change, pixels) if crop and near else None

    def _crop(self, pixels: Pixels, place: Box) -> _Crop | None:
        import cv2

        rows, columns = _inside(place, pixels)
        part = pixels[rows, columns]
        if min(part.shape[:2]) < _LEAST_SIDE_PX:
            return None
        side = self._outline.side
        small = cv2.resize(part, (side, side), interpolation=cv2.INTER_AREA).astype(np.float32) / 255
        outline = (self._outline.run(small)[0][..., 0] > 0.5).astype(np.uint8)
        return _Crop(part, np.array([columns.start, rows.start], np.float32), outline)


@dataclass(frozen=True, slots=True, eq=False)
class _Crop:
    pixels: Pixels
    corner: NDArray[np.float32]
    """Position in the frame of the crop's top left corner."""
    outline: NDArray[np.uint8]
    """1 where a person is, at the network's size."""


def _person(crop: _Crop, near: Find, score: float, change: Change, pixels: Pixels) -> Box | None:
    """Return a box around a person found in a crop: their outline, else the change near them."""
    outlined = _outlined(crop, near)
    if outlined:
        box = _moved_by(outlined, float(crop.corner[0]), float(crop.corner[1]))
    else:
        body = _around(Find(near.score, near.points + crop.corner), pixels)
        if score < _LEAST_NEAR or change.share(body) < _LEAST_CHANGED:
            return None
        box = change.around(body) or body
    return replace(_clipped(box, pixels), score=min(1.0, score)) if box.width > 0 else None


def _outlined(crop: _Crop, find: Find) -> Box | None:
    """Return a box around the outline of the person in a crop; None when there is next to none."""
    import cv2

    if crop.outline.mean() < _LEAST_OUTLINE:
        return None
    side = crop.outline.shape[0]
    _, labels, stats, _ = cv2.connectedComponentsWithStats(crop.outline, connectivity=8)
    scale = np.array([side / crop.pixels.shape[1], side / crop.pixels.shape[0]])
    torso = [find.points[2] + share * (find.points[0] - find.points[2]) for share in (0.0, 0.3, 0.6)]
    places = [np.clip(np.round(point * scale), 0, side - 1).astype(int) for point in torso]
    hits = [int(labels[row, column]) for column, row in places]
    label = next((hit for hit in hits if hit), 0) or 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    left, top, width, height, area = (int(value) for value in stats[label])
    if area < _LEAST_OUTLINE * crop.outline.size:
        return None
    across, down = 1 / scale[0], 1 / scale[1]
    # Two people side by side have one outline; nobody is wider than this about their middle.
    middles = [float(point[0]) for point in (find.points[0], find.points[2])]
    leftmost, rightmost = min(middles) - _HALF_WIDTH * find.radius, max(middles) + _HALF_WIDTH * find.radius
    return Box(max(left * across, leftmost), top * down, min((left + width) * across, rightmost), (top + height) * down)


# ── Boxes ─────────────────────────────────────────────────────────────────────────────────────────────────


def _workable(pixels: Pixels) -> tuple[Pixels, float]:
    """Return the frame small enough to process, and the factor by which it was shrunk."""
    scale = max(pixels.shape[:2]) / _LONGEST_PX
    if scale <= 1:
        return pixels, 1.0
    import cv2

    size = (max(1, round(pixels.shape[1] / scale)), max(1, round(pixels.shape[0] / scale)))
    return np.asarray(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA), dtype=np.uint8), scale


def _around(find: Find, pixels: Pixels) -> Box:
    """Return the square that contains the whole body, within the picture."""
    half = 1.25 * find.radius
    across, down = (float(value) for value in find.points[0])
    return _clipped(Box(across - half, down - half, across + half, down + half), pixels)


def _square(box: Box, growth: float) -> Box:
    half = max(box.width, box.height, 2 * _LEAST_SIDE_PX) * growth / 2
    across, down = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    return Box(across - half, down - half, across + half, down + half, box.score)


def _grown(box: Box, share: float) -> Box:
    more = share * max(box.width, box.height)
    return Box(box.left - more, box.top - more, box.right + more, box.bottom + more, box.score)


def _clipped(box: Box, pixels: Pixels) -> Box:
    height, width = pixels.shape[:2]
    left, right = (float(np.clip(edge, 0, width)) for edge in (box.left, box.right))
    top, bottom = (float(np.clip(edge, 0, height)) for edge in (box.top, box.bottom))
    return Box(left, top, right, bottom, box.score)


def _inside(box: Box, pixels: Pixels) -> tuple[slice, slice]:
    clipped = _clipped(box, pixels)
    return slice(int(clipped.top), round(clipped.bottom)), slice(int(clipped.left), round(clipped.right))


def _moved_by(box: Box, right: float, down: float) -> Box:
    return Box(box.left + right, box.top + down, box.right + right, box.bottom + down, box.score)


def _scaled(box: Box, scale: float) -> Box:
    return Box(box.left * scale, box.top * scale, box.right * scale, box.bottom * scale, box.score)


def _between(one: Box, other: Box, share: float) -> Box:
    return Box(
        one.left + share * (other.left - one.left),
        one.top + share * (other.top - one.top),
        one.right + share * (other.right - one.right),
        one.bottom + share * (other.bottom - one.bottom),
        0.5 * min(one.score, other.score),
    )


def _shared(one: Box, other: Box) -> float:
    width = min(one.right, other.right) - max(one.left, other.left)
    height = min(one.bottom, other.bottom) - max(one.top, other.top)
    return max(0.0, width) * max(0.0, height)


def _is_among(box: Box, found: Sequence[Box]) -> bool:
    """Say whether the box is one of those found, or lies mostly inside one."""
    return any(
        box.overlap(other) > 0.55 or _shared(box, other) > 0.85 * max(1.0, min(box.area, other.area)) for other in found
    )


def _is_seen(place: Box, found: Sequence[Box]) -> bool:
    return any(_shared(place, box) > 0.4 * max(1.0, min(place.area, box.area)) for box in found)
