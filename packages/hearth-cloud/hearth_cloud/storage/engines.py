"""SQLAlchemy engines for the service: SQLite, private to its owner and safe against power loss, or PostgreSQL."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from hearth.errors import ConfigError

_BUSY_S = 10.0
_MOST_LOG_BYTES = 4_000_000
"""Size limit of SQLite's write-ahead log after a checkpoint."""


def engine_of(url: str) -> sa.Engine:
    """Make an engine for SQLite or PostgreSQL. Raises: ConfigError: No address of either."""
    if url.startswith(("postgresql://", "postgres://")):
        url = "postgresql+psycopg://" + url.partition("://")[2]
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise ConfigError(
            "the database under [service] is no address; write 'sqlite:///cloud.db' or 'postgresql://USER@HOST/NAME'"
        ) from None
    if parsed.get_backend_name() == "sqlite":
        if parsed.database and parsed.database != ":memory:":
            _make_private(Path(parsed.database))
        engine = sa.create_engine(parsed, connect_args={"timeout": _BUSY_S, "check_same_thread": False})
        sa.event.listen(engine, "connect", _prepare_sqlite)
        sa.event.listen(engine, "begin", _begin_sqlite)
        return engine
    if parsed.get_backend_name() == "postgresql":
        return sa.create_engine(parsed, pool_pre_ping=True, connect_args={"connect_timeout": int(_BUSY_S)})
    raise ConfigError(
        f"a database of kind {parsed.get_backend_name()!r} is named under [service]; expected sqlite or postgresql"
    )


def _prepare_sqlite(connection: Any, _: object) -> None:
    """Set SQLite's pragmas. Every transaction reaches the disk, so what was acknowledged survives power loss. Deleted
    data is overwritten, and `give_back` can shrink the file (only possible if set before the first table is made)."""
    connection.isolation_level = None  # transactions are begun below: the driver's own begin comes too late
    for line in (
        *("auto_vacuum = INCREMENTAL", "journal_mode = WAL", f"journal_size_limit = {_MOST_LOG_BYTES}"),
        *("synchronous = FULL", "foreign_keys = ON", "secure_delete = ON"),
    ):
        connection.execute(f"PRAGMA {line}")


def _begin_sqlite(connection: sa.Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if not connection.get_execution_options().get("reads") else "BEGIN")


def _make_private(path: Path) -> None:
    """Create the file, readable only by its owner, if it is missing; a failure is reported by the database."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
