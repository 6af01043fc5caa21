"""Lets `hearth forget` reach the passages of the owner's things: their rows, words and vectors.

The owner's files stay as they are (they are the owner's to delete), so a keyed digest of each forgotten passage is
kept, and the passage is not read from its file again while its words are the same.

Not covered: a passage whose words were changed by hand afterwards, or that is cut elsewhere since.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Collection
from pathlib import Path

from hearth.memory.forgetting import is_meant
from hearth.memory.passages.passage_store import digest_of, salt_of
from hearth.protocols import Count, Held, Wanted
from hearth.storage.database import Store
from hearth.storage.trace import parse_moment

NAME = "passages"
_STAYS = "the files in the owner's folder that held it, and their names: delete or rename them yourself"


class PassageHolder:
    """A `protocols.Holder` of the passages in the home's database."""

    name = NAME

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, events: Collection[str], wanted: Wanted | None, words: str) -> Held:  # noqa: ARG002 - the seam's
        """Find the passages that are wanted forgotten, or hold `words`."""
        numbers: list[int] = []
        texts: list[str] = []
        for row in self._store.query("SELECT number, title, person, at, text FROM passage"):
            said = f"{row['title']} {row['text']}"
            is_wanted = wanted is not None and is_meant(wanted, _unix_s(row["at"]), row["person"], said)
            if is_wanted or (words and words.casefold() in said.casefold()):
                numbers.append(row["number"])
                texts.append(row["text"])
        count = Count(len(numbers), "passage of your files", "passages of your files")
        return Held(NAME, (count,), tuple(texts), stays=_STAYS if numbers else "", rows=tuple(numbers) or None)

    def remove(self, cursor: sqlite3.Cursor, held: Held) -> None:
        """Remove what `find` found, and keep the digests by which it stays out."""
        numbers = [int(number) for number in held.rows] if isinstance(held.rows, tuple) else []
        if not numbers:
            return
        salt = salt_of(self._store)
        if not salt:
            salt = secrets.token_bytes(32)
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES ('passage_salt', ?)", (salt.hex(),))
        digests = [(digest_of(salt, text),) for text in held.texts]
        cursor.executemany("INSERT OR IGNORE INTO passage_forgotten (digest) VALUES (?)", digests)
        cursor.executemany("DELETE FROM passage WHERE number = ?", [(number,) for number in numbers])
        # FTS5 marks words as deleted and drops them when segments are merged: merge them now.
        cursor.execute("INSERT INTO passage_words (passage_words) VALUES ('optimize')")

    def sweep(self, home: Path, held: Held) -> None:
        """Remove nothing: no file of Hearth's own shows a passage."""


def _unix_s(at: str) -> float:
    return parse_moment(at).timestamp() if at else 0.0
