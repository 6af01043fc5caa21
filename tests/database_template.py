"""New databases are copied from one in memory, instead of being migrated from nothing: 1 ms instead of 15.

Thousands of tests make a home of their own. What migrating itself does is tested in `test_database`, and by every
process that is started.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from unittest import mock

from hearth.storage import database
from hearth.storage.migrations import migrate


@contextlib.contextmanager
def copying() -> Iterator[None]:
    """Within, `Store.open` copies the database as the last migration leaves it where there is none yet."""
    lock = threading.Lock()
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)) as template:
        migrate(template)

        def migrate_or_copy(connection: sqlite3.Connection) -> None:
            with lock:  # two threads may make one file
                if connection.execute("PRAGMA user_version").fetchone()[0]:
                    migrate(connection)
                else:
                    template.backup(connection)

        with mock.patch.object(database, "migrate", migrate_or_copy):
            yield


@contextlib.contextmanager
def migrating() -> Iterator[None]:
    """Within, every new database is migrated from nothing again."""
    with mock.patch.object(database, "migrate", migrate):
        yield
