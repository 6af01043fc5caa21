"""Listen to recordings, minute by minute, and index what is said and heard.

A minute is committed in one transaction, so an interruption loses at most the current minute. Listening reaches
somewhat beyond the minute, so that a sentence over its border is whole; it is stored once. The sound of a minute and a
half is held at a time, however long the recording is.

What was said does not become an event of memory: one word in four or more is misheard, and memory is for what can be
relied on. It is found by time, with the recording, and is forgotten with the recording, with its period, by its words,
and by age.

Covered: recordings without sound, damaged ones (their fault is told, the others go on), being cancelled between two
minutes, two processes at once (one waits).
Not covered: sentences from one file into the next.
"""

from __future__ import annotations

import datetime as dt
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hearth.errors import CancelledError, MissingExtraError, NotFound, ToolError
from hearth.protocols import Expert, Heard, Said
from hearth.storage.database import Store
from hearth_video.experts.expert_values import SAMPLES_PER_S, Sound, SoundEvent, Utterance
from hearth_video.footage.audio_decode import sound_between
from hearth_video.footage.footage_retention import FORGOTTEN
from hearth_video.footage.indexing import only_one
from hearth_video.footage.recordings import CHUNK_S, Kept, at

_MARGIN_S = 13.0
"""Extra sound listened to on either side of a minute: somewhat more than the longest sentence."""
_LEAST_GAP_S = 0.05
_JOINED_S = 1.0
"""Sounds with a pause this short, or that go on over the border of two minutes, are joined."""


@dataclass(frozen=True, slots=True)
class Ears:
    """The experts that listen."""

    speech: Expert[Sound, tuple[Utterance, ...]]
    sound: Expert[Sound, tuple[SoundEvent, ...]]


@dataclass(frozen=True, slots=True)
class Listened:
    """A minute that was listened to, or the reason why a recording cannot be."""

    recording: str
    chunk: int
    fault: str = ""


class Listener:
    """Listens to the recordings of one home, and returns what was heard in them."""

    def __init__(self, store: Store, ears: Ears) -> None:
        self._store = store
        self._ears = ears

    # ── Listening ─────────────────────────────────────────────────────────────────────────────────────────

    def listen(self, wanted: Sequence[tuple[Kept, range]], cancelled: threading.Event) -> Iterator[Listened]:
        """Listen to chunks of recordings that were not listened to yet.

        Yields:
            After each chunk, and once for each recording that cannot be read.
        Raises:
            MissingExtraError: An expert is not installed. CancelledError: What is done is kept.
        """
        with only_one(self._store.path.with_name("video.lock"), cancelled):
            for kept, chunks in wanted:
                done = states(self._store, kept)
                try:
                    path = kept.checked_path()
                    for chunk in chunks:
                        if chunk in done:
                            continue
                        if cancelled.is_set():
                            raise CancelledError("listening was stopped; what was listened to so far is kept")
                        self._listen(kept, path, chunk)
                        yield Listened(kept.id, chunk)
                except ToolError as error:
                    yield Listened(kept.id, chunks.start, str(error))

    def listen_all(
        self, recorded: Sequence[Kept], start: dt.datetime, end: dt.datetime, cancelled: threading.Event
    ) -> None:
        """Listen to every part of a time that was not listened to yet.

        Raises:
            NotFound: All of it was forgotten. ToolError: None of these recordings can be read, or the experts are not
                installed. CancelledError.
        """
        asked = [(kept, kept.chunks_between(start, end)) for kept in recorded]
        known = {kept.number: states(self._store, kept) for kept in recorded}
        missing = [(kept, chunks) for kept, chunks in asked if set(chunks) - set(known[kept.number])]
        n_asked = sum(len(chunks) for _, chunks in asked)
        n_forgotten = sum(known[kept.number].get(chunk) == FORGOTTEN for kept, chunks in asked for chunk in chunks)
        if asked and n_forgotten == n_asked:
            raise NotFound(
                "what was heard at that time was forgotten or is older than it is kept; nothing is left of it"
            )
        faults = {}
        try:
            for one in self.listen(missing, cancelled) if missing else ():
                if one.fault:
                    faults[one.recording] = one.fault
        except MissingExtraError as error:
            raise ToolError(str(error)) from None
        if faults and len(faults) == len(asked):
            raise ToolError("; ".join(faults.values()))

    def _listen(self, kept: Kept, path: Path, chunk: int) -> None:
        first_s, last_s = chunk * CHUNK_S, min((chunk + 1) * CHUNK_S, max(kept.duration_s, CHUNK_S))
        sound = sound_between(path, max(0.0, first_s - _MARGIN_S), last_s + _MARGIN_S)
        events = [
            replace(one, start_s=max(one.start_s, first_s), end_s=min(one.end_s, last_s))
            for one in (self._ears.sound.look(sound) if len(sound.samples) else ())
            if one.start_s < last_s and one.end_s > first_s
        ]
        said: list[Utterance] = []
        if any(one.name == "speech" for one in events):
            heard = self._ears.speech.look(self._unheard(kept, sound, first_s, last_s))
            said = [one for one in heard if one.start_s < last_s and one.end_s > first_s]
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO listened_chunk (recording, chunk, state) VALUES (?, ?, 'done')", (kept.number, chunk)
            )
            cursor.executemany(
                "INSERT INTO utterance (recording, start_s, end_s, text, score) VALUES (?, ?, ?, ?, ?)",
                [(kept.number, one.start_s, one.end_s, one.text, one.score) for one in said],
            )
            cursor.executemany(
                "INSERT INTO sound_event (recording, chunk, name, start_s, end_s, score) VALUES (?, ?, ?, ?, ?, ?)",
                [(kept.number, chunk, one.name, one.start_s, one.end_s, one.score) for one in events],
            )

    def _unheard(self, kept: Kept, sound: Sound, first_s: float, last_s: float) -> Sound:
        """Return the sound without sentences over the minute's borders that were heard with the minutes beside it."""
        rows = self._store.query(
            "SELECT start_s, end_s FROM utterance WHERE recording = ? AND start_s < ? AND end_s > ?",
            (kept.number, last_s + _MARGIN_S, first_s - _MARGIN_S),
        )
        starts_s, ends_s = sound.at_s, last_s + _MARGIN_S
        for row in rows:
            if row["start_s"] < first_s:
                starts_s = max(starts_s, row["end_s"])
            elif row["end_s"] > last_s:
                ends_s = min(ends_s, row["start_s"])
        a, b = (round((moment_s - sound.at_s) * SAMPLES_PER_S) for moment_s in (starts_s, ends_s))
        return Sound(sound.samples[a : max(a, b)], starts_s)

    # ── What was heard ────────────────────────────────────────────────────────────────────────────────────

    def said(self, kept: Kept, start: dt.datetime, end: dt.datetime) -> Iterator[Said]:
        """Yield what was said between two times, whole where it reaches beyond them."""
        for row in self._rows("utterance", kept, start, end):
            begins, ends = at(kept.start, row["start_s"]), at(kept.start, row["end_s"])
            yield Said(row["text"], begins, ends, kept.room, row["score"])

    def heard(self, kept: Kept, start: dt.datetime, end: dt.datetime) -> Iterator[Heard]:
        """Yield sounds between two times, cut to them."""
        open_: dict[str, tuple[float, float]] = {}
        spans: list[tuple[float, float, str]] = []
        for row in self._rows("sound_event", kept, start, end):
            name, begins_s, ends_s = row["name"], row["start_s"], row["end_s"]
            before = open_.get(name)
            joined_s = _LEAST_GAP_S if name == "silence" else _JOINED_S  # whatever interrupts a silence ends it
            if before is not None and begins_s - before[1] <= joined_s:
                open_[name] = (before[0], max(before[1], ends_s))
                continue
            if before is not None:
                spans.append((*before, name))
            open_[name] = (begins_s, ends_s)
        spans += [(*span, name) for name, span in open_.items()]
        for begins_s, ends_s, name in sorted(spans):
            begins, ends = max(start, at(kept.start, begins_s)), min(end, at(kept.start, ends_s))
            if begins < ends:
                yield Heard(name, begins, ends, kept.room)

    def _rows(self, table: str, kept: Kept, start: dt.datetime, end: dt.datetime) -> Iterable[sqlite3.Row]:
        return self._store.query(
            f"SELECT * FROM {table} WHERE recording = ? AND start_s < ? AND end_s > ? ORDER BY start_s",  # noqa: S608 - names of this module
            (kept.number, kept.offset_s(end), kept.offset_s(start)),
        )


def states(store: Store, kept: Kept) -> dict[int, str]:
    """Return the chunks that were listened to, or are not to be, with their state."""
    rows = store.query("SELECT chunk, state FROM listened_chunk WHERE recording = ?", (kept.number,))
    return {row["chunk"]: row["state"] for row in rows}
