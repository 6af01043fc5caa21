"""Detect sounds other than words by rules on level and spectrum: silence, a voice, something loud, knocking, ringing.

Every level is relative to the recording's own background, the level that a fifth of it stays under. There is no model
of sounds: their shape is known, their cause is not. Knocking is two or more short strokes at the pace of knuckles;
ringing is one or a few steady tones that last.

Covered: recordings of any loudness, a steady hum or noise (it is the background), digital silence, sound of no length.
Not covered: what made a sound (a fall, a dog, breaking glass are `loud`); sounds while somebody speaks, other than the
voice; music, whose long tones are taken for ringing; hammering, which is taken for knocking; doorbells that play a
melody of short notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearth.protocols import ExpertCard
from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples, Sound, SoundEvent
from hearth_video.experts.voice_activity import Voice, checked

SOUNDS = ("silence", "speech", "loud", "knock", "ring")
"""Names of the events that can be detected."""
_STEP = 160
_STEP_S = _STEP / SAMPLES_PER_S
_FRAME = 512
_FLOOR_DB = -75.0
"""Lowest level: the noise of a cheap microphone."""
_QUANTILE = 0.2
_SILENT_DB = 6.0
"""Highest level of silence, above the background."""
_SILENT_LEVEL_DB = -35.0
_SILENCE_S = 5.0
_LOUD_DB, _LOUD_LEVEL_DB = 25.0, -40.0
_LOUD_S = 0.15
_JOINED_S = 0.5
_STROKE_DB = 15.0
"""Least rise of a stroke within two steps …"""
_STROKE_S = 0.12
"""… which has halved again after this long."""
_PACE_S = (0.08, 0.45)
_WOODEN_SHARE = 0.4
"""Least share of a stroke's energy between 150 and 1200 Hz: keys click higher, steps thud lower."""
_WOODEN_BINS = slice(5, 39)
_TONE_DB = 12.0
_TONE_SHARE = 0.7
"""Least share of the energy from 300 Hz on that is in the three strongest peaks of a tone."""
_TONE_S = 0.35
_TONE_BINS = slice(10, 200)
"""About 300 Hz to 6 kHz."""


@dataclass(frozen=True, slots=True, eq=False)
class _Heard:
    """Features of a sound in steps of 10 ms."""

    level_db: NDArray[np.float64]
    background_db: float
    is_tone: NDArray[np.bool_]
    peak: NDArray[np.int64]
    """Bin of the spectrum's peak."""
    is_wooden: NDArray[np.bool_]
    has_voice: NDArray[np.bool_]


class SoundExpert:
    """Finds stretches of silence, speech, loudness, knocking and ringing in a sound."""

    card = ExpertCard(
        name="sound",
        takes="a Sound; some ten seconds at least, so that its background is known",
        gives="a SoundEvent for each stretch: silence, speech, loud, knock or ring, with start and end; in order",
        extra="video",
        cpu_ms=12.0,
        memory_bytes=120_000_000,
        cannot=(
            "It does not know what made a sound: a fall, a dog and breaking glass are all loud.",
            "It takes long tones of music for ringing, and hammering for knocking.",
            "It does not hear knocking and ringing while somebody speaks, or under loud noise.",
            "It does not tell shouting from talking, or a voice from the radio's.",
        ),
    )
    """`cpu_ms` is for one second of sound."""

    def __init__(self) -> None:
        self._voice = Voice()

    def look(self, given: Sound) -> tuple[SoundEvent, ...]:
        """Return the sound events in order of time.

        Raises:
            MissingExtraError: The voice detector is not installed. ToolError: The samples are no sound of one channel.
        """
        samples = checked(given)
        if len(samples) < _FRAME:
            return ()
        voices = self._voice.stretches(samples)
        heard = _measured(samples, [(one.start_s, one.end_s) for one in voices])
        tones = _tones(heard)
        knocks = _knocks(heard, tones)
        taken = _marked(len(heard.level_db), [*tones, *knocks])
        events = [SoundEvent("speech", one.start_s, one.end_s, round(one.score, 3)) for one in voices]
        events += [SoundEvent("ring", a * _STEP_S, b * _STEP_S, 0.7) for a, b in tones]
        events += [SoundEvent("knock", a * _STEP_S, b * _STEP_S, 0.7) for a, b in knocks]
        events += [SoundEvent("loud", a * _STEP_S, b * _STEP_S, 0.8) for a, b in _loud(heard, taken)]
        events += [SoundEvent("silence", a * _STEP_S, b * _STEP_S, 0.9) for a, b in _silent(heard)]
        length_s = len(samples) / SAMPLES_PER_S
        placed = [
            SoundEvent(one.name, given.at_s + one.start_s, given.at_s + min(one.end_s, length_s), one.score)
            for one in events
        ]
        return tuple(sorted(placed, key=lambda one: (one.start_s, one.name)))


def _measured(samples: Samples, voices: Sequence[tuple[float, float]]) -> _Heard:
    n_steps = len(samples) // _STEP
    rows = samples[: n_steps * _STEP].reshape(n_steps, _STEP).astype(np.float64)
    rows = rows - rows.mean(axis=1, keepdims=True)
    level = np.maximum(_FLOOR_DB, 10 * np.log10((rows**2).mean(axis=1) + 1e-12))
    background = float(np.quantile(level, _QUANTILE))
    is_tone = np.zeros(n_steps, np.bool_)
    peak = np.zeros(n_steps, np.int64)
    is_wooden = np.zeros(n_steps, np.bool_)
    window = np.hanning(_FRAME)
    for k in np.flatnonzero(level > background + _TONE_DB):
        part = samples[k * _STEP : k * _STEP + _FRAME]
        if len(part) < _FRAME:
            continue
        power = np.abs(np.fft.rfft(part * window)) ** 2
        is_wooden[k] = float(power[_WOODEN_BINS].sum()) >= _WOODEN_SHARE * float(power[1:].sum())
        heard, rest = power[_TONE_BINS].copy(), float(power[_TONE_BINS].sum())
        share, peak[k] = 0.0, int(np.argmax(heard))
        for _ in range(3):
            top = int(np.argmax(heard))
            near = slice(max(0, top - 2), top + 3)
            share += float(heard[near].sum())
            heard[near] = 0.0
        is_tone[k] = rest > 0.5 * float(power[3:].sum()) and share >= _TONE_SHARE * rest
    has_voice = _marked(n_steps, [(int(a / _STEP_S), int(b / _STEP_S)) for a, b in voices])
    return _Heard(level, background, is_tone, peak, is_wooden, has_voice)


def _marked(n_steps: int, spans: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    marks = np.zeros(n_steps, np.bool_)
    for first, last in spans:
        marks[first:last] = True
    return marks


def _runs(marks: NDArray[np.bool_], joined_s: float = 0.0) -> list[tuple[int, int]]:
    """Return runs of marked steps, joining those with a shorter gap between them; the end is excluded."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marks, [False]]).astype(np.int8)))
    found: list[tuple[int, int]] = []
    for first, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if found and (first - found[-1][1]) * _STEP_S < joined_s:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def _tones(heard: _Heard) -> list[tuple[int, int]]:
    """Return where steady tones last; a voice has tones, too, but none that keep their pitch."""
    steady = heard.is_tone.copy()
    steady[1:] &= np.abs(np.diff(heard.peak)) <= 1
    found = [(a, b) for a, b in _runs(steady, 0.03) if (b - a) * _STEP_S >= _TONE_S]
    joined = _runs(_marked(len(steady), found), 1.5)
    return [(a, b) for a, b in joined if heard.has_voice[a:b].mean() < 0.5]


def _knocks(heard: _Heard, tones: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return where two or more strokes follow one another."""
    level, n_long = heard.level_db, int(_STROKE_S / _STEP_S)
    is_tone = _marked(len(level), tones)
    strokes: list[int] = []
    for k in range(2, len(level) - 2):
        top = float(level[k : k + 2].max())
        is_rise = top - float(level[k - 2 : k].min()) >= _STROKE_DB and top >= heard.background_db + _STROKE_DB
        if not is_rise or (strokes and k - strokes[-1] < 4) or heard.has_voice[k] or is_tone[k]:
            continue
        after = level[k + n_long : k + n_long + 5]
        is_wooden = bool(heard.is_wooden[k : k + 3].any())
        if is_wooden and len(after) and float(after.min()) <= top - _STROKE_DB / 2:
            strokes.append(k)
    found: list[list[int]] = []
    for k in strokes:
        if found and _PACE_S[0] <= (k - found[-1][-1]) * _STEP_S <= _PACE_S[1]:
            found[-1].append(k)
        else:
            found.append([k])
    return [(one[0], one[-1] + n_long) for one in found if len(one) > 1]


def _loud(heard: _Heard, taken: NDArray[np.bool_]) -> list[tuple[int, int]]:
    is_loud = (heard.level_db >= heard.background_db + _LOUD_DB) & (heard.level_db >= _LOUD_LEVEL_DB)
    is_loud &= ~heard.has_voice & ~taken
    return [(a, b) for a, b in _runs(is_loud, _JOINED_S) if int(is_loud[a:b].sum()) * _STEP_S >= _LOUD_S]


def _silent(heard: _Heard) -> list[tuple[int, int]]:
    limit = min(heard.background_db + _SILENT_DB, _SILENT_LEVEL_DB)
    is_silent = (heard.level_db <= limit) & ~heard.has_voice
    return [(a, b) for a, b in _runs(is_silent, 0.05) if (b - a) * _STEP_S >= _SILENCE_S]
