"""Sounds made up from numbers: knocking, ringing, crashes, beside a background; and files of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples

Wave = NDArray[np.float64]


def seconds(length_s: float) -> Wave:
    return np.arange(int(length_s * SAMPLES_PER_S)) / SAMPLES_PER_S


def noise(length_s: float, level_db: float, rng: np.random.Generator) -> Samples:
    """Noise as of a quiet room: weaker towards high tones."""
    white = rng.standard_normal(int(length_s * SAMPLES_PER_S))
    spectrum = np.fft.rfft(white) / np.sqrt(np.maximum(1.0, np.arange(len(white) // 2 + 1) / 40))
    shaped = np.fft.irfft(spectrum, len(white))
    return np.asarray(shaped / shaped.std() * 10 ** (level_db / 20), dtype=np.float32)


def knocking(rng: np.random.Generator, n_strokes: int = 3) -> Wave:
    """Knuckles on a door: short strokes of a wooden sound."""
    pace_s = rng.uniform(0.15, 0.4)
    wave = np.zeros(int((pace_s * n_strokes + 0.3) * SAMPLES_PER_S))
    for k in range(n_strokes):
        t = seconds(0.15)
        tones = sum(
            np.sin(2 * np.pi * rng.uniform(120, 900) * t) * np.exp(-t / rng.uniform(0.008, 0.03)) for _ in range(5)
        )
        stroke = tones + rng.standard_normal(len(t)) * np.exp(-t / 0.004)
        first = int(k * pace_s * rng.uniform(0.95, 1.05) * SAMPLES_PER_S)
        wave[first : first + len(t)] += stroke * rng.uniform(0.7, 1.0)
    return np.asarray(wave / np.abs(wave).max())


def ringing(rng: np.random.Generator, kind: str = "") -> Wave:
    """A doorbell of two tones, a telephone of two at once, or an alarm that beeps."""
    kind = kind or str(rng.choice(["doorbell", "telephone", "alarm"]))
    if kind == "doorbell":
        high, t = rng.uniform(550, 900), seconds(1.0)
        wave = np.concatenate([np.sin(2 * np.pi * f * t) * np.exp(-t / 0.5) for f in (high, high * 0.8)])
    elif kind == "telephone":
        t = seconds(rng.uniform(1.0, 2.0))
        wave = np.sin(2 * np.pi * 440 * t) + np.sin(2 * np.pi * 480 * t)
    else:
        t, pitch = seconds(0.5), rng.uniform(1800, 3200)
        beep = np.concatenate([np.sin(2 * np.pi * pitch * t), np.zeros(len(t) // 2)])
        wave = np.tile(beep, 3)
    return np.asarray(wave / np.abs(wave).max())


def crash(rng: np.random.Generator) -> Wave:
    """Something falls: a burst of noise that dies away."""
    t = seconds(rng.uniform(0.4, 1.2))
    wave = rng.standard_normal(len(t)) * np.exp(-t / rng.uniform(0.15, 0.4))
    return np.asarray(wave / np.abs(wave).max())


def put(samples: Samples, wave: Wave, at_s: float, level_db: float) -> tuple[float, float]:
    """Add a sound to a background, its loudest sample so loud; says from when to when it is there."""
    first = int(at_s * SAMPLES_PER_S)
    part = (wave * 10 ** (level_db / 20)).astype(np.float32)[: len(samples) - first]
    samples[first : first + len(part)] += part
    return at_s, at_s + len(part) / SAMPLES_PER_S


def write_sound(
    path: Path, samples: Samples, *, codec: str = "pcm_s16le", rate: int = SAMPLES_PER_S, starts_s: float = 0.0
) -> Path:
    """A file with nothing but sound, by PyAV."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate, layout="mono")
        for k in range(0, len(samples), 1024):
            frame = av.AudioFrame.from_ndarray(
                (np.clip(samples[None, k : k + 1024], -1, 1) * 32767).astype(np.int16), format="s16", layout="mono"
            )
            frame.sample_rate, frame.pts = rate, k + int(starts_s * rate)
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return path
