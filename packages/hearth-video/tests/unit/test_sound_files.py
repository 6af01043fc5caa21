"""Sound as files hold it: with and without pictures, of any rate, begun late, cut off, none at all."""

from __future__ import annotations

import threading
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="PyAV is not installed: pip install 'hearth-video[experts]'")

from small_sound import write_sound
from small_video import SETTINGS, START, at, write_video

from hearth.errors import HearthError, NotFound, ToolError
from hearth.memory.event_memory import EventMemory
from hearth.storage.database import Store
from hearth_video.experts.expert_values import SAMPLES_PER_S, Samples
from hearth_video.footage.audio_decode import has_sound, sound_between, sounds
from hearth_video.footage.library import Library


def beeps(length_s: float, rate: int = SAMPLES_PER_S) -> Samples:
    """A tenth of a second of 1 kHz at each full second."""
    t = np.arange(int(length_s * rate)) / rate
    return np.where(t % 1 < 0.1, 0.5 * np.sin(2 * np.pi * 1000 * t), 0).astype(np.float32)


def heard_at(path: Path, start_s: float = 0.0, end_s: float = 30.0) -> list[float]:
    """When beeps begin."""
    found: list[float] = []
    for block in sounds(path, start_s, end_s):
        for place in np.flatnonzero(np.abs(block.samples) > 0.2):
            at_s = block.at_s + place / SAMPLES_PER_S
            if not found or at_s - found[-1] > 0.5:
                found.append(at_s)
    return [round(at_s, 2) for at_s in found]


@pytest.mark.parametrize(
    ("name", "codec", "rate"),
    [
        ("a.wav", "pcm_s16le", 16000),
        ("a.wav", "pcm_s16le", 44100),
        ("a.flac", "flac", 48000),
        ("a.m4a", "aac", 48000),
        ("a.mkv", "flac", 8000),
    ],
)
def test_sound_alone_of_any_rate(tmp_path: Path, name: str, codec: str, rate: int) -> None:
    path = write_sound(tmp_path / name, beeps(4, rate), codec=codec, rate=rate)
    assert heard_at(path) == pytest.approx([0, 1, 2, 3], abs=0.06)
    assert heard_at(path, 1.5, 2.5) == pytest.approx([2], abs=0.06)


def test_wherever_reading_begins_a_sample_has_the_same_time(tmp_path: Path) -> None:
    path = write_sound(tmp_path / "a.wav", beeps(20))
    whole = sound_between(path, 0, 20).samples
    for start_s, end_s in ((0, 3), (7.3, 9.1), (15, 99)):
        part = sound_between(path, start_s, end_s).samples
        expected = whole[round(start_s * SAMPLES_PER_S) : round(end_s * SAMPLES_PER_S)]
        assert len(part) == len(expected)
        assert np.abs(part - expected).max() < 1e-3


def test_a_file_without_sound_and_one_that_is_silent(tmp_path: Path) -> None:
    assert list(sounds(write_video(tmp_path / "a.mp4"))) == []
    assert len(sound_between(write_video(tmp_path / "b.mp4"), 0, 3).samples) == 0
    silent = sound_between(write_video(tmp_path / "c.mp4", with_sound=True), 0, 3).samples
    assert len(silent) > 2 * SAMPLES_PER_S
    assert not silent.any()


def test_a_track_of_sound_is_told_from_none(tmp_path: Path) -> None:
    assert not has_sound(write_video(tmp_path / "a.mp4"))
    assert has_sound(write_video(tmp_path / "b.mp4", with_sound=True))


def test_a_clip_without_sound_says_that_it_has_none(tmp_path: Path) -> None:
    path = write_video(tmp_path / "hall.mp4")
    with Store.open(tmp_path / "hearth.db") as store:
        home = Library(store, EventMemory(store), SETTINGS)
        home.kept.add(path, "hall", "hall", START)
        assert home.said("hall", START, at(3), threading.Event()) == ()
        assert not home.has_sound("hall", START, at(3))
        path.unlink()
        assert home.has_sound("hall", START, at(3)), "nobody can say of a file that is gone"


def test_a_spoken_request_is_a_sound_of_at_most_a_minute(tmp_path: Path) -> None:
    with Store.open(tmp_path / "hearth.db") as store:
        home = Library(store, EventMemory(store), SETTINGS)
        with pytest.raises(NotFound, match="there is no sound in"):
            home.spoken(write_video(tmp_path / "mute.mp4"))
        with pytest.raises(ToolError, match="lasts longer than 60 s"):
            home.spoken(write_sound(tmp_path / "long.wav", beeps(62)))
        with pytest.raises(NotFound, match="nothing that I could understand"):
            home.spoken(write_sound(tmp_path / "beeps.wav", beeps(2)))
        with pytest.raises(NotFound):
            home.spoken(tmp_path / "gone.wav")


def test_sound_that_begins_after_the_pictures_keeps_its_time(tmp_path: Path) -> None:
    import av

    path = tmp_path / "late.mkv"
    with av.open(str(path), "w") as container:
        pictures = container.add_stream("mpeg4", rate=10)
        pictures.width, pictures.height, pictures.pix_fmt = 64, 48, "yuv420p"
        sound = container.add_stream("pcm_s16le", rate=SAMPLES_PER_S, layout="mono")
        for k in range(60):
            frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
            frame.pts, frame.time_base = k, Fraction(1, 10)
            container.mux(pictures.encode(frame))
        samples = beeps(3)
        for k in range(0, len(samples), 1024):
            part = av.AudioFrame.from_ndarray(
                (samples[None, k : k + 1024] * 32767).astype(np.int16), format="s16", layout="mono"
            )
            part.sample_rate, part.pts, part.time_base = SAMPLES_PER_S, k + 2 * SAMPLES_PER_S, Fraction(1, 16000)
            container.mux(sound.encode(part))
        container.mux(sound.encode())
        container.mux(pictures.encode())
    assert heard_at(path) == pytest.approx([2, 3, 4], abs=0.06)
    assert sound_between(path, 0, 6).samples[: SAMPLES_PER_S * 19 // 10].any() is np.False_


def test_what_is_cut_off_gives_what_is_there(tmp_path: Path) -> None:
    whole = write_sound(tmp_path / "a.mkv", beeps(8), codec="flac")
    data = whole.read_bytes()
    (tmp_path / "b.mkv").write_bytes(data[: len(data) // 2])
    assert len(heard_at(tmp_path / "b.mkv")) in (3, 4, 5)


def test_random_damage_never_ends_in_anything_but_a_message(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = write_sound(tmp_path / "a.m4a", beeps(3, 48000), codec="aac", rate=48000).read_bytes()
    for k in range(12):
        broken = bytearray(data)
        for place in rng.integers(0, len(broken), 40):
            broken[place] = int(rng.integers(256))
        path = tmp_path / f"{k}.m4a"
        path.write_bytes(broken)
        try:
            sound = sound_between(path, 0, 3)
            assert np.isfinite(sound.samples).all()
        except HearthError:
            pass


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="cannot read"):
        list(sounds(tmp_path / "none.wav"))
    (tmp_path / "a.wav").write_bytes(b"")
    with pytest.raises(ToolError, match="is empty; expected a video or sound file"):
        list(sounds(tmp_path / "a.wav"))
    (tmp_path / "b.wav").write_bytes(b"#EXTM3U\nhttp://127.0.0.1/x.ts\n" * 20)
    with pytest.raises(ToolError, match="no video or sound that can be read"):
        list(sounds(tmp_path / "b.wav"))


def test_memory_stays_the_same_however_long_the_file_is(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = write_sound(tmp_path / "a.wav", (rng.standard_normal(120 * SAMPLES_PER_S) * 0.1).astype(np.float32))
    tracemalloc.start()
    n = sum(len(block.samples) for block in sounds(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == pytest.approx(120 * SAMPLES_PER_S, rel=0.001)
    assert peak < 4_000_000
