"""A connection of SQLCipher that behaves as one of `sqlite3`: its errors are those of `sqlite3`, too.

Importing this needs the extra `encryption`. Raises: MissingExtraError.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from hearth.errors import MissingExtraError

try:
    from sqlcipher3 import dbapi2
except ModuleNotFoundError:
    raise MissingExtraError("an encrypted home", "pip install 'hearth-agent[encryption]'") from None

Row = cast("type[sqlite3.Row]", dbapi2.Row)


@contextlib.contextmanager
def _as_sqlite3() -> Iterator[None]:
    try:
        yield
    except dbapi2.Error as error:
        kind = getattr(sqlite3, type(error).__name__, sqlite3.DatabaseError)
        same: sqlite3.Error = kind(*error.args)
        same.sqlite_errorcode = getattr(error, "sqlite_errorcode", 0)
        same.sqlite_errorname = getattr(error, "sqlite_errorname", "")
        raise same from None


class _Cursor(dbapi2.Cursor):  # type: ignore[misc]
    """A cursor whose errors are those of `sqlite3`."""

    def execute(self, *arguments: Any) -> Any:
        with _as_sqlite3():
            return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        with _as_sqlite3():
            return super().executemany(*arguments)

    def fetchone(self) -> Any:
        with _as_sqlite3():
            return super().fetchone()

    def fetchall(self) -> Any:
        with _as_sqlite3():
            return super().fetchall()

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except dbapi2.Error:
            with _as_sqlite3():
                raise


class _Connection(dbapi2.Connection):  # type: ignore[misc]
    def cursor(self, factory: type[Any] = _Cursor) -> Any:
        return super().cursor(factory)

    def backup(self, target: Any, **how: Any) -> None:
        with _as_sqlite3():
            super().backup(target, **how)

    def close(self) -> None:
        with _as_sqlite3():
            super().close()


def connected(path: Path, key: str, timeout_s: float) -> sqlite3.Connection:
    """Open a database with a key in hex; with an empty one, a plain database. Nothing is read yet. Raises:
    sqlite3.Error."""
    with _as_sqlite3():
        connection = dbapi2.connect(
            str(path), timeout=timeout_s, isolation_level=None, check_same_thread=False, factory=_Connection
        )
    connection.execute("PRAGMA cipher_log_level=NONE")  # it would write to standard error
    if key:
        connection.execute(f"PRAGMA key = \"x'{key}'\"")
    return cast(sqlite3.Connection, connection)
