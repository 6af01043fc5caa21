"""Video files as they come: rotated, cut off, of a variable rate, without pictures, without length, hostile."""

from __future__ import annotations

import datetime as dt
import os
import socket
import struct
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("av", reason="PyAV is not installed: pip install 'hearth-video[experts]'")

from small_video import RED, Walk, is_of, write_video

from hearth.errors import HearthError, NotFound, ToolError
from hearth_video.footage import video_decode as part
from hearth_video.footage.video_decode import frames, probe

WALK = Walk(RED, 0, 100)


def times(path: Path, *range_s: float, rate: float = 2.0) -> list[float]:
    return [round(frame.at_s, 3) for frame in frames(path, *range_s, frames_per_s=rate)]


def test_a_file_is_probed_by_its_timestamps(tmp_path: Path) -> None:
    found = probe(write_video(tmp_path / "a.mp4", [WALK], created="2026-11-19T17:00:00.000000Z"))
    assert (found.width, found.height, found.codec, found.container) == (160, 120, "mpeg4", "mov")
    assert found.duration_s == pytest.approx(3.0, abs=0.01)
    assert found.created == dt.datetime(2026, 11, 19, 17, tzinfo=dt.UTC)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.avi", "a.ts", "a.mov"])
def test_pictures_come_at_the_rate_asked_for(tmp_path: Path, name: str) -> None:
    path = write_video(tmp_path / name, [WALK])
    assert times(path) == pytest.approx([0, 0.5, 1, 1.5, 2, 2.5], abs=0.11)
    assert probe(path).duration_s == pytest.approx(3.0, abs=0.15)


def test_the_same_pictures_come_wherever_reading_begins(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", [WALK], duration_s=20)
    whole = times(path)
    for start_s, end_s in ((0, 7), (3.2, 11), (7, 100), (19.4, 100), (12.5, 12.6)):
        assert times(path, start_s, end_s) == [at_s for at_s in whole if start_s <= at_s < end_s]
    assert times(path, 30.0) == []


def test_a_variable_rate_is_read_by_its_real_times(tmp_path: Path) -> None:
    at = [0, 0.1, 0.2, 3.0, 3.1, 9.0, 9.7]
    path = write_video(tmp_path / "a.mkv", [WALK], times=at)
    assert times(path) == [0, 3.0, 9.0, 9.7]
    assert probe(path).duration_s == pytest.approx(10.4, abs=0.75)


def test_large_pictures_are_made_small(tmp_path: Path) -> None:
    path = write_video(tmp_path / "4k.mp4", [WALK], size=(3840, 2160), times=[0.0, 0.5])
    found = list(frames(path, longest_side=640))
    assert [frame.pixels.shape for frame in found] == [(360, 640, 3)] * 2
    assert (probe(path).width, probe(path).height) == (3840, 2160)
    assert tuple(found[0].pixels[100, 40]) == pytest.approx(RED, abs=12)


@pytest.mark.parametrize(
    ("matrix", "corner"), [((0, 1, -1, 0), (0, -1)), ((0, -1, 1, 0), (-1, 0)), ((-1, 0, 0, -1), (-1, -1))]
)
def test_a_turned_camera_is_turned_back(tmp_path: Path, matrix: tuple[int, ...], corner: tuple[int, int]) -> None:
    """The display matrix of a telephone held upright: a red corner lies where it belongs."""
    path = write_video(tmp_path / "a.mp4", [Walk(RED, 0, 1e9)], duration_s=1)
    data = bytearray(path.read_bytes())
    place = data.index(b"tkhd") + 4 + 40
    a, b, c, d = (value * 0x10000 for value in matrix)
    data[place : place + 20] = struct.pack(">iiiii", a, b, 0, c, d)
    path.write_bytes(data)
    first = next(frames(path))
    turned = matrix[0] == 0
    assert first.pixels.shape == ((160, 120, 3) if turned else (120, 160, 3))
    assert (probe(path).width, probe(path).height) == ((120, 160) if turned else (160, 120))
    height, width = first.pixels.shape[:2]
    rows = slice(0, height // 2) if corner[0] == 0 else slice(height // 2, height)
    columns = slice(0, width // 2) if corner[1] == 0 else slice(width // 2, width)
    red = is_of(first.pixels, RED)
    assert red[rows, columns].sum() >= 0.5 * red.sum() > 500


@pytest.mark.parametrize("share", [0.9, 0.5, 0.2])
@pytest.mark.parametrize("name", ["a.mkv", "a.ts", "a.avi"])
def test_a_cut_off_file_gives_what_is_there(tmp_path: Path, name: str, share: float) -> None:
    path = write_video(tmp_path / name, [WALK], duration_s=20)
    whole = times(path)
    os.truncate(path, int(path.stat().st_size * share))
    found = times(path)
    assert 1 <= len(found) <= len(whole)
    assert share > 0.2 or len(found) < len(whole)
    assert found == whole[: len(found)]
    assert probe(path).duration_s < 20.5


def test_a_damaged_middle_is_left_out(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", [WALK], duration_s=20)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 300] = os.urandom(300)
    path.write_bytes(data)
    found = times(path)
    assert len(found) > 10
    assert found == sorted(found)


def no_video(tmp_path: Path) -> dict[str, Path]:
    files = {
        "empty": b"",
        "text": b"dear diary " * 100,
        "noise": np.random.default_rng(7).bytes(50_000),
        "mp4 without index": b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + b"\0\0\xff\xffmdat" + bytes(60_000),
    }
    paths = {}
    for name, data in files.items():
        paths[name] = tmp_path / f"{name.replace(' ', '-')}.mp4"
        paths[name].write_bytes(data)
    whole = write_video(tmp_path / "whole.mp4", [WALK])
    paths["mp4 cut off"] = tmp_path / "cut.mp4"
    paths["mp4 cut off"].write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    paths["sound alone"] = write_video(tmp_path / "sound.mp4", with_sound=True, with_pictures=False)
    paths["folder"] = tmp_path / "folder.mp4"
    paths["folder"].mkdir()
    paths["pipe"] = tmp_path / "pipe.mp4"
    os.mkfifo(paths["pipe"])
    return paths


def test_what_is_no_video_is_refused_with_a_reason(tmp_path: Path) -> None:
    said = {}
    for name, path in no_video(tmp_path).items():
        with pytest.raises(ToolError) as error:
            probe(path)
        said[name] = str(error.value)
        assert path.name in said[name]
        assert "expected" in said[name]
    assert "holds sound alone" in said["sound alone"]
    assert "is empty" in said["empty"]
    assert "no plain file" in said["pipe"]
    with pytest.raises(NotFound):
        probe(tmp_path / "absent.mp4")


def test_sound_beside_pictures_does_no_harm(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", [WALK], with_sound=True)
    assert len(times(path)) == 6


def test_pictures_of_too_many_pixels_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "a.avi", [WALK], codec="ffv1")
    monkeypatch.setattr(part, "MAX_PIXELS", 160 * 120 - 1)
    with pytest.raises(ToolError, match="expected at most 19199 pixels"):
        list(frames(path))
    monkeypatch.setattr(part, "MAX_PIXELS", 2 * 160 * 120)
    assert len(times(path)) == 6
    data = path.read_bytes()
    for number in (160, 120):  # in the headers: width, height
        data = data.replace(struct.pack("<I", number), struct.pack("<I", 60_000))
    path.write_bytes(data)
    with pytest.raises(ToolError, match="no size that can be decoded"):
        probe(path)


def test_no_file_makes_the_decoder_open_another_or_the_network(tmp_path: Path) -> None:
    """Playlists and lists of files are no containers of pictures, whatever they are called."""
    secret = write_video(tmp_path / "secret.mp4", [WALK])
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x.ts"
        hostile = {
            "list.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{address}\n#EXT-X-ENDLIST\n",
            "list.mp4": f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{secret}\n#EXT-X-ENDLIST\n",
            "join.mp4": f"ffconcat version 1.0\nfile {secret.name}\n",
            "dash.mp4": f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>{address}</BaseURL></MPD>',
            "session.mp4": "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 4000 RTP/AVP 96\n",
        }
        for name, text in hostile.items():
            (tmp_path / name).write_text(text)
            with pytest.raises(ToolError, match="no video that can be read"):
                probe(tmp_path / name)
        with pytest.raises(TimeoutError):
            server.accept()
    for name in (address, f"concat:{secret}", "pipe:0", f"subfile,,start,0,end,9,,:{secret}"):
        with pytest.raises(NotFound):
            probe(Path(name))


def test_random_damage_never_ends_in_anything_but_a_message(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    whole = write_video(tmp_path / "a.mp4", [WALK], duration_s=2).read_bytes()
    path = tmp_path / "b.mp4"
    n_read, said = 0, []
    for _ in range(60):
        data = bytearray(whole)
        for place in draw.integers(0, len(data), 12):
            data[place] = int(draw.integers(0, 256))
        path.write_bytes(data)
        try:
            probe(path)
            n_read += len(times(path))
        except HearthError as error:
            said.append(str(error))
    assert all(str(path) in message for message in said)
    assert n_read > 20


def test_memory_stays_the_same_however_long_the_film(tmp_path: Path) -> None:
    import tracemalloc

    path = write_video(tmp_path / "a.mkv", [WALK], duration_s=60)
    tracemalloc.start()
    for frame in frames(path, frames_per_s=10):
        assert frame.pixels.shape == (120, 160, 3)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_000_000


def test_reading_can_be_left_at_any_picture(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", [WALK])
    before = threading.active_count()
    for _ in range(20):
        next(frames(path)).pixels.sum()
    assert threading.active_count() <= before + 1
