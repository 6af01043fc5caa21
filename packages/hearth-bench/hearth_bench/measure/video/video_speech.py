"""Measure speech and sounds: word error rate, cost, and the sounds recognised, on recordings with known truth.

    python -m hearth_bench.measure.video.video_speech --clips DIR          writes results/video_speech.json

`DIR` is `test/data` of PocketSphinx' source (`pip download --no-deps --no-binary :all: pocketsphinx==5.1.1`): read
sentences of LibriVox, clips about playing cards, a command. Those clips are the recogniser's own tests, so other speech
will do worse. If `espeak-ng` is installed it speaks household sentences as well: a synthetic voice, clear but unlike
people. Each is heard unchanged, with noise 20 and 10 dB below the voice, and as from across a room (an echo of half a
second, 10 dB below). The floor hears nothing: a word error rate of 1.

Sounds are synthesised (`small_sound`), so their truth is known; they are no recordings of real knocking, ringing
or crashes. Sounds that must not be reported are there, too: typing, footsteps, a running tap, music, speech.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import resource
import shutil
import subprocess
import time
import wave
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from small_sound import Wave, crash, knocking, noise, put, ringing, seconds

from hearth_bench.measure.result_file import write_result
from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples, Sound
from hearth_video.experts.sound_events import SoundExpert
from hearth_video.experts.speech import SpeechExpert
from hearth_video.experts.voice_activity import Voice

SEED = 0
SPOKEN = (
    "turn on the light in the kitchen",
    "what time is it",
    "remind me to call the doctor tomorrow",
    "please close the door",
    "the dinner is ready",
    "where did you put the keys",
    "add milk and bread to the shopping list",
    "set a timer for ten minutes",
    "good morning everybody",
    "can you help me with the dishes",
    "the parcel came this afternoon",
    "i am going to the garden now",
    "did you take your medicine today",
    "help me i have fallen",
    "somebody is at the front door",
    "we need to leave at half past seven",
)
VOICES = ("en-us", "en-gb")
Clip = tuple[Samples, list[str]]


# ── Speech ────────────────────────────────────────────────────────────────────────────────────────────────


def of_wave(data: bytes) -> Samples:
    with wave.open(io.BytesIO(data)) as file:
        rate = file.getframerate()
        heard = np.frombuffer(file.readframes(1 << 30), "<i2") / 32768
    t = np.arange(int(len(heard) * SAMPLES_PER_S / rate)) * rate / SAMPLES_PER_S
    return np.asarray(np.interp(t, np.arange(len(heard)), heard), dtype=np.float32)


def recorded(folder: Path) -> dict[str, list[Clip]]:
    found: dict[str, list[Clip]] = {}
    for part, name in (("cards", "cards/cards.transcription"), ("read_aloud", "librivox/transcription")):
        for said, clip in re.findall(r"<s>(.*)</s> \((.*)\)", (folder / name).read_text()):
            data = (folder / Path(name).parent / f"{clip}.wav").read_bytes()
            found.setdefault(part, []).append((of_wave(data), said.split()))
    command = np.frombuffer((folder / "goforward.raw").read_bytes(), "<i2") / 32768
    found["cards"].append((command.astype(np.float32), ["go", "forward", "ten", "meters"]))
    return found


def synthesised() -> list[Clip]:
    program = shutil.which("espeak-ng")
    if program is None:
        return []
    clips = []
    for k, text in enumerate(SPOKEN):
        command = [program, "-v", VOICES[k % 2], "-s", "150", "--stdout", text]
        data = subprocess.run(command, capture_output=True, check=True).stdout
        clips.append((of_wave(_with_lengths(data)), text.split()))
    return clips


def _with_lengths(data: bytes) -> bytes:
    """Restore the lengths in the header, which are missing because `espeak-ng` writes to a pipe."""
    place = data.index(b"data")
    return data[: place + 4] + (len(data) - place - 8).to_bytes(4, "little") + data[place + 8 :]


def with_noise(samples: Samples, below_db: float, rng: np.random.Generator) -> Samples:
    level_db = 20 * np.log10(float(samples.std()) + 1e-9) - below_db
    added = noise(len(samples) / SAMPLES_PER_S + 1, float(level_db), rng)[: len(samples)]
    return np.asarray(np.clip(samples + added, -1, 1), dtype=np.float32)


def across_a_room(samples: Samples, rng: np.random.Generator) -> Samples:
    t = seconds(0.5)
    echo = rng.standard_normal(len(t)) * np.exp(-t / 0.12)
    echo = echo / np.sqrt((echo**2).sum()) * 10 ** (-10 / 20)
    echo[0] = 1.0
    n = 1 << (len(samples) + len(echo)).bit_length()
    heard = np.fft.irfft(np.fft.rfft(samples, n) * np.fft.rfft(echo, n), n)[: len(samples) + len(echo)]
    return with_noise((heard / max(1.0, np.abs(heard).max()) * 0.3).astype(np.float32), 25, rng)


def distance(truth: Sequence[str], heard: Sequence[str]) -> int:
    row = list(range(len(heard) + 1))
    for i, word in enumerate(truth, 1):
        before, row = row, [i]
        for j, other in enumerate(heard, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other)))
    return row[-1]


def hear(expert: SpeechExpert, clips: Sequence[Clip], heard_as: Callable[[Samples], Samples]) -> dict[str, object]:
    n_words = n_wrong = n_whole = 0
    sound_s, began = 0.0, time.process_time()
    sure: list[tuple[float, bool]] = []
    for samples, truth in clips:
        pause = np.zeros(SAMPLES_PER_S // 2, np.float32)
        found = expert.look(Sound(heard_as(np.concatenate([pause, samples, pause]))))
        words = " ".join(one.text for one in found).split()
        wrong = distance(truth, words)
        n_words, n_wrong, n_whole = n_words + len(truth), n_wrong + wrong, n_whole + (wrong == 0)
        sound_s += len(samples) / SAMPLES_PER_S + 1
        if found:
            sure.append((float(np.mean([one.score for one in found])), wrong == 0))
    cpu_s = time.process_time() - began
    right, bad = ([score for score, is_right in sure if is_right is kind] for kind in (True, False))
    return {
        "n_clips": len(clips),
        "n_words": n_words,
        "word_error_rate": round(n_wrong / n_words, 3),
        "clips_all_right": n_whole,
        "sound_s": round(sound_s, 1),
        "cpu_s_per_s": round(cpu_s / sound_s, 3),
        "mean_score_all_right": round(float(np.mean(right)), 2) if right else None,
        "mean_score_with_errors": round(float(np.mean(bad)), 2) if bad else None,
    }


def speech(folder: Path) -> dict[str, object]:
    expert = SpeechExpert()
    expert.look(Sound(np.zeros(SAMPLES_PER_S, np.float32)))
    parts = recorded(folder)
    made = synthesised()
    if made:
        parts["synthetic_voice_household"] = made
    results: dict[str, object] = {}
    for part, clips in parts.items():
        rng = np.random.default_rng(SEED)
        results[part] = {
            "as_it_is": hear(expert, clips, lambda samples: samples),
            "noise_20_db_below": hear(expert, clips, lambda samples, rng=rng: with_noise(samples, 20, rng)),  # type: ignore[misc]
            "noise_10_db_below": hear(expert, clips, lambda samples, rng=rng: with_noise(samples, 10, rng)),  # type: ignore[misc]
            "across_a_room": hear(expert, clips, lambda samples, rng=rng: across_a_room(samples, rng)),  # type: ignore[misc]
        }
    began = time.process_time()
    rng = np.random.default_rng(SEED)
    n_said = sum(len(expert.look(Sound(noise(60, level, rng)))) for level in (-60.0, -40.0, -25.0))
    results["three_minutes_of_noise"] = {
        "n_utterances": n_said,
        "cpu_s_per_s": round((time.process_time() - began) / 180, 4),
    }
    return results


# ── Sounds ────────────────────────────────────────────────────────────────────────────────────────────────


def typing(rng: np.random.Generator) -> Wave:
    wave = np.zeros(int(4 * SAMPLES_PER_S))
    for at in np.cumsum(rng.uniform(0.08, 0.35, 15)):
        t = seconds(0.02)
        first = int(at * SAMPLES_PER_S)
        part = rng.standard_normal(len(t)) * np.exp(-t / 0.003) * rng.uniform(0.5, 1)
        wave[first : first + len(t)] += part[: max(0, len(wave) - first)]
    return np.asarray(wave / np.abs(wave).max())


def footsteps(rng: np.random.Generator) -> Wave:
    wave = np.zeros(int(5 * SAMPLES_PER_S))
    for k in range(7):
        t = seconds(0.2)
        thud = sum(np.sin(2 * np.pi * rng.uniform(50, 200) * t) * np.exp(-t / 0.05) for _ in range(3))
        first = int((k * 0.55 + rng.uniform(0, 0.05)) * SAMPLES_PER_S)
        wave[first : first + len(t)] += thud * np.minimum(1, t / 0.02)
    return np.asarray(wave / np.abs(wave).max())


def tap(rng: np.random.Generator) -> Wave:
    wave = rng.standard_normal(6 * SAMPLES_PER_S) * np.minimum(1, seconds(6.0) / 0.5)
    return np.asarray(wave / np.abs(wave).max())


def music(rng: np.random.Generator) -> Wave:
    parts = []
    for _ in range(16):
        t = seconds(0.3)
        note = 220 * 2 ** (rng.integers(0, 24) / 12)
        parts.append(sum(np.sin(2 * np.pi * note * h * t) / h for h in range(1, 6)) * np.exp(-t / 0.4))
    wave = np.concatenate(parts)
    return np.asarray(wave / np.abs(wave).max())


def talk(rng: np.random.Generator, clips: Sequence[Clip]) -> Wave:
    samples = clips[int(rng.integers(len(clips)))][0].astype(np.float64)
    return np.asarray(samples / np.abs(samples).max())


def sounds(clips: Sequence[Clip], n_recordings: int = 40) -> dict[str, object]:
    """Measure on recordings of a minute with five things in each, ten seconds apart."""
    rng, expert = np.random.default_rng(SEED), SoundExpert()
    made: Mapping[str, Callable[[np.random.Generator], Wave]] = {
        "knock": lambda rng: knocking(rng, int(rng.integers(2, 6))),
        "ring": ringing,
        "loud": crash,
        "speech": lambda rng: talk(rng, clips),
        "typing": typing,
        "footsteps": footsteps,
        "tap": tap,
        "music": music,
    }
    told: dict[str, dict[str, int]] = {name: {"n": 0} for name in made}
    n_elsewhere: dict[str, int] = {}
    began = time.process_time()
    for _ in range(n_recordings):
        samples = noise(60, rng.uniform(-65, -48), rng)
        truth = []
        for k, name in enumerate(rng.permutation(list(made))[:5]):
            at_s = 4.0 + 11 * k + rng.uniform(0, 2)
            level_db = rng.uniform(-12, -2) if name == "loud" else rng.uniform(-25, -5)
            truth.append((str(name), *put(samples, made[name](rng), at_s, level_db)))
        found = [one for one in expert.look(Sound(np.clip(samples, -1, 1))) if one.name != "silence"]
        for name, start_s, end_s in truth:
            told[name]["n"] += 1
            for what in {one.name for one in found if one.start_s < end_s + 0.3 and one.end_s > start_s - 0.3}:
                told[name][what] = told[name].get(what, 0) + 1
        for one in found:
            if not any(one.start_s < end_s + 0.3 and one.end_s > start_s - 0.3 for _, start_s, end_s in truth):
                n_elsewhere[one.name] = n_elsewhere.get(one.name, 0) + 1
    return {
        "n_recordings_of_a_minute": n_recordings,
        "told_as": told,
        "told_where_nothing_was": n_elsewhere,
        "cpu_ms_per_s": round((time.process_time() - began) * 1000 / (60 * n_recordings), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=Path, required=True)
    folder: Path = parser.parse_args().clips
    wall, cpu = time.perf_counter(), time.process_time()
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("cards/*"), *folder.glob("librivox/*"), folder / "goforward.raw"]):
        digest.update(path.read_bytes())
    results = {"data_sha256": digest.hexdigest(), "has_espeak_ng": shutil.which("espeak-ng") is not None}
    results |= {"floor_hears_nothing": {"word_error_rate": 1.0}, "speech": speech(folder)}
    results["sounds"] = sounds([clip for part in recorded(folder).values() for clip in part])
    began = time.process_time()
    Voice().chances(noise(60, -40, np.random.default_rng(SEED)))
    results["voice_cpu_s_per_s"] = round((time.process_time() - began) / 60, 4)
    results["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    write_result("video_speech", results, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)


if __name__ == "__main__":
    main()
