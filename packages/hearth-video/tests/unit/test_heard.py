"""What is said and heard in recordings: listened to once, kept whole over borders, forgotten."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_video as room
from small_video import START, at

from hearth.config import Video
from hearth.errors import CancelledError, NotFound, ToolError
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.memory.event_memory import EventMemory
from hearth.protocols import Wanted
from hearth.testing import ScriptedExpert
from hearth_video.experts.expert_values import SAMPLES_PER_S, Sound, SoundEvent, Utterance
from hearth_video.footage import heard as listening
from hearth_video.footage.footage_retention import forget_recording, let_go
from hearth_video.footage.heard import Ears
from hearth_video.footage.library import Library
from hearth_video.footage.recordings import Recordings
from tests.small_world import opened

NEVER = threading.Event()
SPOKEN = ((3.0, 6.0, "the harbour is closed"), (56.0, 64.0, "ask Ben about the boiler"), (130.0, 133.0, "okay"))
RINGS = ((20.0, 21.0), (119.5, 120.5))


def marked(start_s: float, end_s: float) -> Sound:
    """Silent, but where somebody speaks (1, 2, 3 by the sentence) or it rings (-1)."""
    times = np.arange(round(start_s * 100), round(min(end_s, 180.0) * 100)) / 100
    samples = np.zeros(len(times), np.float32)
    for first_s, last_s in RINGS:
        samples[(times >= first_s) & (times < last_s)] = -1
    for k, (first_s, last_s, _) in enumerate(SPOKEN):
        samples[(times >= first_s) & (times < last_s)] = k + 1
    return Sound(np.repeat(samples, SAMPLES_PER_S // 100), start_s)


def spans(sound: Sound, value: int) -> tuple[float, float] | None:
    found = np.flatnonzero(sound.samples == value)
    if not len(found):
        return None
    return sound.at_s + found[0] / SAMPLES_PER_S, sound.at_s + (found[-1] + 1) / SAMPLES_PER_S


class Speech:
    card = ScriptedExpert.card

    def __init__(self) -> None:
        self.n_looks = 0

    def look(self, given: Sound) -> tuple[Utterance, ...]:
        self.n_looks += 1
        found = []
        for k, (_, _, text) in enumerate(SPOKEN):
            span = spans(given, k + 1)
            if span is not None:
                found.append(Utterance(text, *span, 0.7))
        return tuple(found)


class Sounds:
    card = ScriptedExpert.card

    def look(self, given: Sound) -> tuple[SoundEvent, ...]:
        found = [
            SoundEvent("silence", max(a, given.at_s), b, 0.9) for a, b in ((70.0, 80.0), (80.7, 90.0)) if b > given.at_s
        ]
        for value, name in ((-1, "ring"), (1, "speech"), (2, "speech"), (3, "speech")):
            places = np.flatnonzero(given.samples == value)
            for part in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else ():
                first_s, last_s = (given.at_s + part[k] / SAMPLES_PER_S for k in (0, -1))
                found.append(SoundEvent(name, first_s, last_s, 0.9))
        return tuple(found)


@pytest.fixture
def speech(monkeypatch: pytest.MonkeyPatch) -> Speech:
    def sound_between(path: Path, start_s: float, end_s: float) -> Sound:
        return marked(start_s, end_s)

    monkeypatch.setattr(listening, "sound_between", sound_between)
    return Speech()


@pytest.fixture
def state(tmp_path: Path) -> Iterator[State]:
    with opened(tmp_path / "state") as state:
        room.put_recording(state.store, tmp_path / "kitchen.mp4")
        yield state


def library(state: State, speech: Any) -> Library:
    return Library(state.store, EventMemory(state.store), room.SETTINGS, ears=Ears(speech, Sounds()))


def texts(home: Library, start_s: float = 0.0, end_s: float = 180.0) -> list[str]:
    return [one.text for one in home.said("kitchen", at(start_s), at(end_s), NEVER)]


def held(state: State, table: str) -> int:
    return int(state.store.query(f"SELECT count(*) FROM {table}")[0][0])


# ── Listening ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_was_said_and_heard_when_and_where(state: State, speech: Speech) -> None:
    home = library(state, speech)
    said = home.said("", START, at(180), NEVER)
    assert [one.text for one in said] == [text for _, _, text in SPOKEN]
    assert (said[0].start, said[0].end, said[0].room, said[0].confidence) == (at(3), at(6), "kitchen", 0.7)
    rings = [one for one in home.heard("kitchen", START, at(180), NEVER) if one.name == "ring"]
    assert len(rings) == 2
    assert abs((rings[1].start - at(119.5)).total_seconds()) < 0.01
    assert abs((rings[1].end - at(120.5)).total_seconds()) < 0.01, "one ring over the border of two minutes"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_sentence_over_the_border_of_two_minutes_is_kept_once_and_whole(
    state: State, speech: Speech, order: tuple[int, ...]
) -> None:
    home = library(state, speech)
    for chunk in order:
        home.said("kitchen", at(chunk * 60 + 20), at(chunk * 60 + 21), NEVER)
    assert texts(home) == [text for _, _, text in SPOKEN]
    (over,) = home.said("", at(60), at(61), NEVER)
    assert (over.start, over.end) == (at(56), at(64))


def test_only_what_is_asked_about_is_listened_to_and_once(state: State, speech: Speech) -> None:
    home = library(state, speech)
    assert texts(home, 0, 30) == ["the harbour is closed"]
    assert held(state, "listened_chunk") == 1
    n = speech.n_looks
    assert texts(home, 10, 50) == []
    assert texts(library(state, speech), 0, 30) == ["the harbour is closed"]
    assert speech.n_looks == n, "the second question is answered from the index"


def test_what_interrupts_a_silence_ends_it(state: State, speech: Speech) -> None:
    heard = library(state, speech).heard("", at(60), at(119), NEVER)
    assert [(one.start, one.end) for one in heard if one.name == "silence"] == [(at(70), at(80)), (at(80.7), at(90))]


def test_nothing_is_recognised_where_nobody_speaks(state: State, speech: Speech) -> None:
    home = library(state, speech)
    home.heard("", at(70), at(110), NEVER)
    home.heard("", at(150), at(170), NEVER)
    assert speech.n_looks == 2
    assert held(state, "utterance") == 2


def test_stopped_it_keeps_what_is_done(state: State, speech: Speech) -> None:
    stop = threading.Event()

    class Stopping(Speech):
        def look(self, given: Sound) -> tuple[Utterance, ...]:
            stop.set()
            return super().look(given)

    with pytest.raises(CancelledError, match="is kept"):
        library(state, Stopping()).said("", START, at(180), stop)
    assert held(state, "listened_chunk") == 1
    assert texts(library(state, speech)) == [text for _, _, text in SPOKEN]


def test_a_file_that_is_gone_is_told_and_the_others_answer(state: State, speech: Speech, tmp_path: Path) -> None:
    (tmp_path / "kitchen.mp4").unlink()
    with pytest.raises(ToolError, match="put it back"):
        library(state, speech).said("", START, at(180), NEVER)
    room.put_recording(state.store, tmp_path / "hall.mp4", camera="hall", room="hall")
    assert len(library(state, speech).said("", START, at(180), NEVER)) == 3


def test_experts_that_are_not_installed_say_the_command(state: State, speech: Speech) -> None:
    with pytest.raises(ToolError, match="pip install 'hearth-video\\[experts\\]'"):
        library(state, room.Absent()).said("", START, at(30), NEVER)
    assert held(state, "listened_chunk") == 0
    with pytest.raises(NotFound, match="no camera is in 'attic'"):
        library(state, speech).said("attic", START, at(30), NEVER)


# ── Forgetting ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        (Wanted(topic="the harbour"), ["ask Ben about the boiler", "okay"]),
        (Wanted(person="ben"), ["the harbour is closed", "okay"]),
        (Wanted(since=at(5), until=at(7)), ["ask Ben about the boiler", "okay"]),
        (Wanted(since=at(120)), ["the harbour is closed", "ask Ben about the boiler"]),
        (Wanted(since=at(120), topic="harbour"), None),
        (Wanted(person="Anna"), None),
    ],
)
def test_what_was_said_is_forgotten_by_words_name_and_time(
    state: State, speech: Speech, wanted: Wanted, left: list[str] | None
) -> None:
    assert len(texts(library(state, speech))) == 3
    found = find(state.store, Sought(wanted=wanted))
    assert found.is_empty == (left is None)
    if left is None:
        return
    receipt = forget(state, found)
    n = 3 - len(left)
    assert f"{n} {'sentence' if n == 1 else 'sentences'} heard in recordings" in receipt.held
    assert receipt.found_in == ()
    rows = state.store.query("SELECT text FROM utterance ORDER BY start_s")
    assert [row["text"] for row in rows] == left
    data = (state.folder / "hearth.db").read_bytes()
    for _, _, text in SPOKEN[:2]:
        assert (text.encode() in data) is (text in left)


def test_a_forgotten_time_is_not_listened_to_again(state: State, speech: Speech) -> None:
    home = library(state, speech)
    texts(home)
    forget(state, find(state.store, Sought(wanted=Wanted(since=at(-1), until=at(55)))))
    with pytest.raises(NotFound, match="was forgotten"):
        texts(home, 0, 50)
    assert texts(home) == ["ask Ben about the boiler", "okay"]
    assert all(one.start >= at(119) for one in home.heard("", START, at(180), NEVER) if one.name == "ring")


def test_with_a_recording_goes_what_was_heard_in_it(state: State, speech: Speech) -> None:
    texts(library(state, speech))
    recordings = Recordings(state.store, dt.UTC)
    forget_recording(state.store, EventMemory(state.store), recordings, recordings.all()[0].id)
    assert [held(state, table) for table in ("utterance", "sound_event", "listened_chunk")] == [0, 0, 0]
    assert b"harbour is closed" not in (state.folder / "hearth.db").read_bytes()


def test_what_was_heard_leaves_by_its_age(state: State, speech: Speech) -> None:
    home = library(state, speech)
    texts(home)
    settings = Video(keep_heard_days=10)
    assert let_go(state.store, settings, START + dt.timedelta(days=9)).n_said == 0
    assert let_go(state.store, settings, START + dt.timedelta(days=11)).n_said == 3
    assert held(state, "sound_event") == 0
    with pytest.raises(NotFound, match="older than it is kept"):
        texts(home)
