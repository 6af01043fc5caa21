"""What leaves the index of home video: by age, with a recording, or because a person, a period or words are forgotten.

With a sighting go its boxes, poses, faces, small picture and activities, by the database's own rules, and its event.
Annotated pictures and timelines are a cache: all of them are removed whenever anything is forgotten. The minutes of a
forgotten period are marked, so that asking about them again does not look or listen to them again. What was said goes
with its recording, with a period that it reaches into, by its words, and by the name of somebody it names.

Covered: sightings that reach into a period, and those whose event memory has folded into a summary already.
Not covered: the recordings themselves, which are the owner's files; somebody who was seen and not recognised is not
found by their name; who said something is not known, and words that were misheard are not found by what was said.
"""

from __future__ import annotations

import datetime as dt
import math
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from hearth.config import Video
from hearth.memory import forgetting as memories
from hearth.memory.event_memory import EventMemory
from hearth.protocols import Count, Held, Wanted
from hearth.storage.database import Store
from hearth_video.footage.recordings import CHUNK_S, Recordings
from hearth_video.footage.sightings import event_key

PICTURES = Path("video") / "pictures"
"""Under the home: annotated pictures and timelines."""
FORGOTTEN = "forgotten"
"""State of a minute that is not to be looked at again."""


@dataclass(frozen=True, slots=True)
class Meant:
    """What of footage is to be forgotten."""

    sightings: tuple[int, ...] = ()
    chunks: tuple[tuple[int, int], ...] = ()
    """Recording and minute: not to be looked at or listened to again."""
    said: tuple[tuple[int, str], ...] = ()
    """Number and words of what was said."""
    sounds: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.sightings or self.said or self.sounds)

    @property
    def events(self) -> tuple[str, ...]:
        return tuple(event_key(number) for number in self.sightings)


class FootageHolder:
    """Forgets what was seen and heard in recordings; satisfies `protocols.Holder`."""

    name = "footage"

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:
        found = meant(self._store, events, wanted, words)
        return Held(
            holder=self.name,
            counts=(
                Count(
                    len(found.sightings),
                    "sighting with its pictures",
                    "sightings with their pictures",
                ),
                Count(len(found.said), "sentence heard in recordings", "sentences heard in recordings"),
                Count(len(found.sounds), "sound heard in recordings", "sounds heard in recordings"),
            ),
            texts=tuple(text for _, text in found.said),
            events=found.events,
            stays="the recordings: they are your own files",
            rows=found if found != Meant() else None,
        )

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        if isinstance(held.rows, Meant):
            remove(cursor, held.rows)

    def sweep(self, home: Path, held: Held) -> None:
        if isinstance(held.rows, Meant):
            remove_pictures(home)  # they are drawn again when asked for


def meant(store: Store, events: Collection[str], wanted: Wanted | None, words: str = "") -> Meant:
    """What goes with these events of memory, and what a person and a period name of footage themselves.

    Words (`wanted.topic`) are looked for in the events, and in what was said; where one is given, only they say what is
    meant.

    Args:
        words: Of what was said, beside `wanted`.
    """
    found = {row["number"] for row in store.query("SELECT number FROM sighting") if event_key(row["number"]) in events}
    chunks: list[tuple[int, int]] = []
    if wanted is not None and not wanted.topic and not wanted.is_empty:
        since = -math.inf if wanted.since is None else wanted.since.timestamp()
        until = math.inf if wanted.until is None else wanted.until.timestamp()
        found |= {
            row["number"]
            for row in store.query(
                "SELECT s.number, s.name, r.start_unix_s + s.start_s AS first, r.start_unix_s + s.end_s AS last"
                " FROM sighting s JOIN recording r ON r.number = s.recording"
            )
            if row["first"] < until
            and row["last"] > since
            and (not wanted.person or row["name"].casefold() == wanted.person.casefold())
        }
        if not wanted.person:
            chunks = _chunks(store, since, until)
    said = dict(_said(store, Wanted(topic=words))) if words else {}
    sounds: list[int] = []
    if wanted is not None and not wanted.is_empty:
        said |= dict(_said(store, wanted))
        if not wanted.topic and not wanted.person:
            sounds = [row["number"] for row in _overlapping(store, "sound_event", wanted)]
    return Meant(tuple(sorted(found)), tuple(chunks), tuple(sorted(said.items())), tuple(sounds))


def _said(store: Store, wanted: Wanted) -> Iterator[tuple[int, str]]:
    by_words = Wanted(person=wanted.person, topic=wanted.topic)
    for row in _overlapping(store, "utterance", wanted):
        if by_words.is_empty or memories.is_meant(by_words, row["first"], "", row["text"]):
            yield row["number"], row["text"]


def _overlapping(store: Store, table: str, wanted: Wanted) -> list[sqlite3.Row]:
    """Rows of what was heard in a period."""
    since = -math.inf if wanted.since is None else wanted.since.timestamp()
    until = math.inf if wanted.until is None else wanted.until.timestamp()
    rows = store.query(
        "SELECT u.*, r.start_unix_s + u.start_s AS first, r.start_unix_s + u.end_s AS last"  # noqa: S608 - names of this module
        f" FROM {table} u JOIN recording r ON r.number = u.recording"
    )
    return [row for row in rows if row["first"] < until and row["last"] > since]


def _chunks(store: Store, since: float, until: float) -> list[tuple[int, int]]:
    found = []
    for row in store.query("SELECT number, start_unix_s, duration_s FROM recording"):
        first = max(0, math.floor((since - row["start_unix_s"]) / CHUNK_S)) if since > -math.inf else 0
        end_s = min(row["duration_s"], until - row["start_unix_s"])
        found += [(row["number"], chunk) for chunk in range(first, max(0, math.ceil(end_s / CHUNK_S - 1e-6)))]
    return found


def remove(cursor: sqlite3.Cursor, gone: Meant) -> None:
    """Take it out, within a transaction of the caller's, who removes the events and the pictures."""
    cursor.executemany("DELETE FROM sighting WHERE number = ?", [(number,) for number in gone.sightings])
    cursor.executemany("DELETE FROM utterance WHERE number = ?", [(number,) for number, _ in gone.said])
    cursor.executemany("DELETE FROM sound_event WHERE number = ?", [(number,) for number in gone.sounds])
    for table in ("recording_chunk", "listened_chunk"):
        cursor.executemany(
            f"INSERT OR REPLACE INTO {table} (recording, chunk, state) VALUES (?, ?, ?)",  # noqa: S608 - names of this module
            [(recording, chunk, FORGOTTEN) for recording, chunk in gone.chunks],
        )


def remove_pictures(home: Path) -> int:
    """Remove all annotated pictures and timelines; says how many there were."""
    n = 0
    for path in sorted((home / PICTURES).glob("*")):
        path.unlink(missing_ok=True)
        n += 1
    return n


def forget_recording(store: Store, memory: EventMemory, recordings: Recordings, id: str) -> int:
    """Take a recording and all that was seen in it out of the index, for good; its file stays.

    Returns:
        How many sightings went with it.
    Raises:
        NotFound: No such recording.
    """
    kept = recordings.one(id)
    rows = store.query("SELECT number FROM sighting WHERE recording = ?", (kept.number,))
    gone = Meant(tuple(row["number"] for row in rows))
    with_them = memories.attached(store, gone.events)
    with store.transaction() as cursor:
        memories.remove(cursor, store, gone.events, with_them)
        remove(cursor, gone)
        cursor.execute("DELETE FROM recording WHERE number = ?", (kept.number,))
        cursor.execute("DELETE FROM camera WHERE name NOT IN (SELECT camera FROM recording)")
    remove_pictures(store.path.parent)
    memory.erase()
    store.rewrite()
    return len(gone.sightings)


@dataclass(frozen=True, slots=True)
class Aged:
    """What was let go for its age."""

    n_thumbnails: int
    n_faces: int
    n_sightings: int
    n_said: int = 0


def let_go(store: Store, settings: Video, now: dt.datetime) -> Aged:
    """Let go of what is older than the settings keep it. What memory says of a sighting stays memory's."""

    def before(days: float) -> float:
        return now.timestamp() - days * 86_400

    old = (
        "IN (SELECT s.number FROM sighting s JOIN recording r ON r.number = s.recording"
        " WHERE r.start_unix_s + s.end_s < ?)"
    )
    with store.transaction() as cursor:
        counts = [
            cursor.execute(f"DELETE FROM {table} WHERE {column} {old}", (before(days),)).rowcount  # noqa: S608 - names of this module
            for table, column, days in (
                ("sighting_thumbnail", "sighting", settings.keep_thumbnails_days),
                ("sighting_face", "sighting", settings.keep_faces_days),
                ("sighting", "number", settings.keep_sightings_days),
            )
        ]
        heard = _let_go_of_heard(cursor, before(settings.keep_heard_days))
        if counts[2]:
            cursor.executemany(
                "UPDATE recording_chunk SET state = ? WHERE recording = ? AND chunk = ?",
                [
                    (FORGOTTEN, recording, chunk)
                    for recording, chunk in _chunks(store, -math.inf, before(settings.keep_sightings_days))
                ],
            )
    if any(counts):
        remove_pictures(store.path.parent)
    if any(counts) or heard:
        store.erase_traces()
    return Aged(counts[0], counts[1], counts[2], heard)


def _let_go_of_heard(cursor: sqlite3.Cursor, before_unix_s: float) -> int:
    """Words and sounds of recordings before a time; says how many sentences went."""
    gone = [
        cursor.execute(
            f"DELETE FROM {table} WHERE number IN (SELECT u.number FROM {table} u JOIN recording r"  # noqa: S608 - names of this module
            " ON r.number = u.recording WHERE r.start_unix_s + u.end_s < ?)",
            (before_unix_s,),
        ).rowcount
        for table in ("utterance", "sound_event")
    ]
    cursor.execute(
        "UPDATE listened_chunk SET state = ? WHERE (SELECT r.start_unix_s + ? * (chunk + 1) FROM recording r"
        " WHERE r.number = recording) <= ?",
        (FORGOTTEN, CHUNK_S, before_unix_s),
    )
    return gone[0]
