"""The service's storage: edges and their tokens, demonstrations, statistics and priors, in SQLite or PostgreSQL.

Every method is one transaction, or joins that of the `Connection` it is given, and takes effect whole or not at all.
Safe to use from several threads and processes. Blobs are rows, or lie in an object store. An object is noted as loose
before it is written, and no more in the transaction that names it: one that a killed process left is found and deleted,
and none that is named is ever deleted.

Covered: half an object (its hash is compared), two processes that begin at once (one migrates, the other waits), a
database of a newer Hearth (refused), a transaction that conflicts with another (`StoreLockedError`, to be tried again),
a full disk. Not covered: backups, which the database's own tools do; an owner of the database who reads it (see
docs/howto/cloud.md for what it contains).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy.dialects import postgresql, sqlite

from hearth.errors import NotFound, StoreError, StoreFullError, StoreLockedError, StoreVersionError
from hearth_cloud.storage import tables as t
from hearth_cloud.storage.engines import engine_of
from hearth_cloud.storage.objects import Objects

_MIGRATIONS = Path(__file__).parents[1] / "migrations"
_MOST_PAGES_GIVEN_BACK = 10_000
"""Pages of SQLite's file given back at a time, some 40 MB; writers wait that long."""
_MOST_AGENTS = 16
"""Agents remembered per token, so that one that draws a new name each time cannot fill the database."""
_LOCK = 8_420_001
"""PostgreSQL's advisory lock for migrations."""
PATH_LENGTH = 8
GIVEN = "given"
"""Round under whose name it is kept which edges gave to a secret sum; not what was given."""
_LOOSE_S = 3_600.0
"""Age at which a loose object belongs to no transaction any more."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as it is stored, without its secret."""

    id: str
    edge: str
    made: dt.datetime
    expires: dt.datetime | None
    revoked: dt.datetime | None


@dataclass(frozen=True, slots=True)
class Answered:
    """The earlier answer to the same key."""

    body_sha256: str
    """Hash of the request that was answered."""
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Kept:
    """A demonstration to be stored."""

    id: str
    task: tuple[str, ...]
    line: str


@dataclass(frozen=True, slots=True)
class TaskRow:
    task: tuple[str, ...]
    n_demonstrations: int
    n_edges: int


@dataclass(frozen=True, slots=True)
class Round:
    """A round of collecting statistics; `about` belongs to the code that merges."""

    id: str
    state: str
    about: Mapping[str, Any]
    made: dt.datetime


@dataclass(frozen=True, slots=True)
class NewPart:
    """One edge's contribution to a round that is to be stored; `blob` as in `Part`."""

    round: str
    edge: str
    kind: str
    id: str
    about: Mapping[str, Any]
    blob: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One edge's contribution to a round; `blob` is the hash of its bytes, empty where it has none."""

    round: str
    edge: str
    kind: str
    id: str
    state: str
    about: Mapping[str, Any]
    blob: str
    made: dt.datetime


@dataclass(frozen=True, slots=True)
class Piece:
    """Sums over some contributions; `about` belongs to the code that merges."""

    key: str
    """Hash of what went in."""
    about: Mapping[str, Any]
    blob: str


@dataclass(frozen=True, slots=True)
class RoundEnd:
    """How a round ends."""

    state: str
    about: Mapping[str, Any]
    drops: Sequence[str]
    """Kinds of its parts that are deleted."""
    summed: tuple[str, str, bytes] | None = None
    """Kind, body and bytes of a manifest that becomes known in the same moment."""
    given: Collection[str] = ()
    """Edges of whom it is kept that they gave."""


class Storage:
    """The service's database. Open it with `Storage.open`; close it."""

    def __init__(
        self, engine: sa.Engine, clock: Callable[[], dt.datetime] | None, objects: Objects | None = None
    ) -> None:
        """Use `open`, which checks and migrates."""
        self._engine = engine
        self._clock = clock or _utc
        self._has_own_clock = clock is not None
        self._objects = objects

    @classmethod
    def open(
        cls,
        url: str,
        clock: Callable[[], dt.datetime] | None = None,
        *,
        migrates: bool = True,
        objects: Objects | None = None,
    ) -> Storage:
        """Open the database, bringing its tables up to this version.

        Args:
            clock: Gives UTC; replaced in tests.
            migrates: False where another process of the same service has done it.
            objects: Where blobs lie; None: in the database. Those written before stay where they are.
        Raises:
            ConfigError: No database address. StoreVersionError: Of a newer Hearth. StoreError: Cannot be reached.
        """
        storage = cls(engine_of(url), clock, objects)
        try:
            if migrates:
                storage.migrate()
        except BaseException:
            storage.close()
            raise
        return storage

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Storage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def now(self) -> dt.datetime:
        return self._clock()

    def shared_now(self, connection: sa.Connection) -> dt.datetime:
        """Return the time that all replicas share: PostgreSQL's, whatever their own clocks say."""
        if self._has_own_clock or connection.dialect.name != "postgresql":
            return self._clock()
        told: dt.datetime = connection.execute(sa.select(sa.func.clock_timestamp())).scalar_one()
        return told.astimezone(dt.UTC)

    def ping(self) -> None:
        """Check that the database and the object store answer. Raises: StoreError: One of them does not."""
        with self.begin(reads=True) as connection:
            connection.execute(sa.select(1))
        if self._objects is not None:
            self._objects.ping()

    def give_back(self) -> int:
        """Return unused space to the disk after a checkpoint of the log; return the number of bytes. PostgreSQL does so
        by itself: 0."""
        if self._engine.dialect.name != "sqlite":
            return 0
        with self.begin() as connection:
            free = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
            for _ in range(min(free, _MOST_PAGES_GIVEN_BACK)):  # one each: the driver runs only the first step
                connection.exec_driver_sql("PRAGMA incremental_vacuum(1)")
            left = connection.exec_driver_sql("PRAGMA freelist_count").scalar_one()
            page_bytes: int = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        return int(free - left) * page_bytes

    # ── Migrations ────────────────────────────────────────────────────────────────────────────────────────

    def migrate(self, to: str = "head") -> None:
        """Bring the tables up to a version; do nothing where they are.

        Raises:
            StoreVersionError: They are of a newer one. StoreError.
        """
        with self.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            else:
                connection.execute(sa.text("CREATE TABLE IF NOT EXISTS migrating (only INTEGER)"))  # takes the lock
                connection.execute(sa.text("DROP TABLE migrating"))
            config = migration_config()
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, to)
            except CommandError as error:
                raise StoreVersionError(
                    f"the service's database is of a version this Hearth does not know ({error}); "
                    "install the Hearth that wrote it, or a newer one"
                ) from None

    def version(self) -> str:
        """Version of the tables; empty before the first migration."""
        from alembic.runtime.migration import MigrationContext

        with self.begin(reads=True) as connection:
            return MigrationContext.configure(connection).get_current_revision() or ""

    @contextlib.contextmanager
    def begin(self, *, reads: bool = False) -> Iterator[sa.Connection]:
        """Run one transaction; one that only `reads` waits for no other.

        Raises: StoreError and its kinds, in the place of the database's own; sa.exc.IntegrityError as it is.
        """
        try:
            with self._engine.connect().execution_options(reads=reads) as connection, connection.begin():
                yield connection
        except sa.exc.IntegrityError:
            raise
        except (sa.exc.OperationalError, sa.exc.DatabaseError, sa.exc.TimeoutError) as error:
            raise _as_ours(error) from None

    # ── Edges and tokens ──────────────────────────────────────────────────────────────────────────────────

    def add_token(self, id: str, edge: str, sha256: str, expires: dt.datetime | None) -> None:
        """Store a token of an edge; a new edge is created."""
        now = _text(self._clock())
        with self.begin() as connection:
            connection.execute(_insert(connection, t.edge).values(name=edge, made=now).on_conflict_do_nothing())
            connection.execute(
                sa.insert(t.token).values(
                    id=id, edge=edge, sha256=sha256, made=now, expires=_text(expires) if expires else None
                )
            )

    def token_by_hash(self, sha256: str) -> TokenRow | None:
        with self.begin(reads=True) as connection:
            row = connection.execute(sa.select(t.token).where(t.token.c.sha256 == sha256)).first()
        return _token(row) if row else None

    def tokens(self) -> tuple[TokenRow, ...]:
        """Return all tokens, by edge and age."""
        with self.begin(reads=True) as connection:
            rows = connection.execute(sa.select(t.token).order_by(t.token.c.edge, t.token.c.made, t.token.c.id)).all()
        return tuple(map(_token, rows))

    def revoke(self, edge: str) -> int:
        """Revoke every token of an edge; return how many still held. Raises: NotFound: No such edge."""
        with self.begin() as connection:
            _check_edge(connection, edge)
            held = sa.update(t.token).where(t.token.c.edge == edge, t.token.c.revoked.is_(None))
            return connection.execute(held.values(revoked=_text(self._clock()))).rowcount

    def seen(self, token: str, instance: str) -> bool:
        """Note that an agent used a token (its id); return whether another one used it since this agent's last use.

        Uses of one token do not affect other tokens of the same edge. The last `_MOST_AGENTS` are remembered.
        """
        now = _text(self._clock())
        c = t.instance.c
        with self.begin() as connection:
            rows = connection.execute(sa.select(c.id, c.first, c.last).where(c.token == token)).all()
            mine = next((row for row in rows if row.id == instance), None)
            note = _insert(connection, t.instance).values(token=token, id=instance, first=now, last=now)
            connection.execute(note.on_conflict_do_update(index_elements=["token", "id"], set_={"last": now}))
            others = sorted((row for row in rows if row is not mine), key=lambda row: row.last)
            for row in others[: max(0, len(others) + 1 - _MOST_AGENTS)]:
                connection.execute(sa.delete(t.instance).where(c.token == token, c.id == row.id))
        if mine is None:
            return False
        return any(other.last >= mine.last for other in others)

    def n_agents(self) -> dict[str, int]:
        """Return how many agents used each token, by its id; at most `_MOST_AGENTS`."""
        c = t.instance.c
        with self.begin(reads=True) as connection:
            rows = connection.execute(sa.select(c.token, sa.func.count()).group_by(c.token)).all()
        return {row[0]: row[1] for row in rows}

    def drop_agents(self) -> int:
        """Delete agents of tokens that no longer exist (one may be noted while its edge is dropped); return how
        many."""
        with self.begin() as connection:
            strangers = t.instance.c.token.not_in(sa.select(t.token.c.id))
            return connection.execute(sa.delete(t.instance).where(strangers)).rowcount

    # ── Answered before, and counted ──────────────────────────────────────────────────────────────────────

    def answered(self, connection: sa.Connection, edge: str, key: str) -> Answered | None:
        """Return the earlier answer to this key of this edge."""
        c = t.answered.c
        row = connection.execute(sa.select(c.body_sha256, c.status, c.body).where(c.edge == edge, c.key == key)).first()
        return Answered(row.body_sha256, row.status, bytes(row.body)) if row else None

    def keep_answer(self, connection: sa.Connection, edge: str, key: str, answer: Answered) -> None:
        """Store an answer under a key. Raises: sa.exc.IntegrityError: The same key was answered in the meantime: roll
        back, and look again."""
        connection.execute(
            sa.insert(t.answered).values(
                edge=edge,
                key=key,
                body_sha256=answer.body_sha256,
                status=answer.status,
                body=answer.body,
                at=_text(self._clock()),
            )
        )

    def drop_answers(self, before: dt.datetime) -> int:
        """Delete answers that are older; return how many."""
        with self.begin() as connection:
            return connection.execute(sa.delete(t.answered).where(t.answered.c.at < _text(before))).rowcount

    def use(self, amounts: Mapping[tuple[str, str, str], int]) -> dict[tuple[str, str, str], int]:
        """Add to the counts of what edges used, by edge, day and kind; return the new sums over all processes."""
        sums = {}
        with self.begin() as connection:
            for (edge, day, kind), n in sorted(amounts.items()):
                insert = _insert(connection, t.used).values(edge=edge, day=day, kind=kind, n=n)
                more = insert.on_conflict_do_update(
                    index_elements=["edge", "day", "kind"], set_={"n": t.used.c.n + insert.excluded.n}
                )
                sums[edge, day, kind] = connection.execute(more.returning(t.used.c.n)).scalar_one()
        return sums

    def drop_used(self, before_day: str) -> int:
        with self.begin() as connection:
            return connection.execute(sa.delete(t.used).where(t.used.c.day < before_day)).rowcount

    # ── Demonstrations and tasks ──────────────────────────────────────────────────────────────────────────

    def keep_demonstrations(self, connection: sa.Connection, edge: str, many: Sequence[Kept]) -> tuple[str, ...]:
        """Store the demonstrations whose ids are new for this edge; return these ids."""
        now = _text(self._clock())
        new = []
        for one in many:
            insert = _insert(connection, t.demonstration).values(
                edge=edge, id=one.id, task=json.dumps(one.task), line=one.line, at=now
            )
            kept = connection.execute(insert.on_conflict_do_nothing().returning(t.demonstration.c.id)).first()
            new += [one.id] if kept is not None else []
        return tuple(new)

    def n_demonstrations(self) -> int:
        with self.begin(reads=True) as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(t.demonstration)).scalar_one()

    def demonstrations(self, edge: str | None = None) -> Iterator[tuple[str, str]]:
        """Yield edge and line of each demonstration, in the order of edge and id."""
        c = t.demonstration.c
        chosen = sa.select(c.edge, c.line).order_by(c.edge, c.id)
        with self.begin(reads=True) as connection:
            for row in connection.execute(chosen if edge is None else chosen.where(c.edge == edge)):
                yield row.edge, row.line

    def tasks(self, k: int) -> tuple[TaskRow, ...]:
        """Return tasks that at least `k` edges share, the most shared first."""
        c = t.demonstration.c
        n_edges = sa.func.count(sa.distinct(c.edge))
        chosen = (
            sa.select(c.task, sa.func.count().label("n"), n_edges.label("n_edges"))
            .group_by(c.task)
            .having(n_edges >= k)
            .order_by(n_edges.desc(), sa.func.count().desc(), c.task)
        )
        with self.begin(reads=True) as connection:
            rows = connection.execute(chosen).all()
        return tuple(TaskRow(tuple(json.loads(row.task)), row.n, row.n_edges) for row in rows)

    def drop_edge(self, edge: str) -> int:
        """Forget all contributions of an edge and its tokens; return the number of demonstrations. What was merged
        stays.

        Raises: NotFound: No such edge.
        """
        with self.begin() as connection:
            _check_edge(connection, edge)
            n = connection.execute(sa.delete(t.demonstration).where(t.demonstration.c.edge == edge)).rowcount
            given = connection.execute(sa.select(t.part.c.blob).where(t.part.c.edge == edge)).scalars().all()
            mine = sa.select(t.token.c.id).where(t.token.c.edge == edge)
            connection.execute(sa.delete(t.instance).where(t.instance.c.token.in_(mine)))
            for table in (t.part, t.answered, t.used, t.token):
                connection.execute(sa.delete(table).where(table.c.edge == edge))
            connection.execute(sa.delete(t.edge).where(t.edge.c.name == edge))
            loose = self._drop_blobs(connection, [*given, *self._without_pieces(connection, edge)])
        self._drop_objects(loose)
        return n

    # ── Blobs ─────────────────────────────────────────────────────────────────────────────────────────────

    def put_blob(self, data: bytes) -> str:
        """Store bytes under their hash, and return it."""
        with self.storing(data) as (_, sha256):
            return sha256

    @contextlib.contextmanager
    def storing(self, data: bytes) -> Iterator[tuple[sa.Connection, str]]:
        """Run a transaction in which these bytes become a blob; yields it and their hash.

        Raises:
            StoreError: Nothing was stored.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        name = self._put_object(sha256, data)
        with self.begin() as connection:
            insert = _insert(connection, t.blob).values(
                sha256=sha256, n_bytes=len(data), data=None if name else data, made=_text(self._clock()), object=name
            )
            # The same again locks the row that is there, so that nobody deletes it before it is named.
            same = insert.on_conflict_do_update(index_elements=["sha256"], set_={"n_bytes": insert.excluded.n_bytes})
            kept = connection.execute(same.returning(t.blob.c.object)).scalar()
            if name and kept == name:
                connection.execute(sa.delete(t.loose).where(t.loose.c.object == name))
            yield connection, sha256
        if name and kept != name:
            self._drop_objects([name])

    def _put_object(self, sha256: str, data: bytes) -> str | None:
        """Write bytes to the object store under a new name, noted as loose; None where there is no store."""
        if self._objects is None:
            return None
        name = f"{sha256[:2]}/{sha256}.{secrets.token_hex(8)}"
        with self.begin() as connection:
            connection.execute(sa.insert(t.loose).values(object=name, made=_text(self._clock())))
        self._objects.put(name, data)
        return name

    def _drop_blobs(self, connection: sa.Connection, hashes: Sequence[str | None]) -> list[str]:
        """Delete those of these blobs that nothing names any more; return their objects, which are loose now."""
        mine = [sha256 for sha256 in hashes if sha256]
        return self._dropped(connection, t.blob.c.sha256.in_(mine)) if mine else []

    def _dropped(self, connection: sa.Connection, which: sa.ColumnElement[bool]) -> list[str]:
        b = t.blob.c
        is_named = sa.or_(*(sa.exists().where(names.c.blob == b.sha256) for names in (t.part, t.manifest, t.piece)))
        # Locked first, and looked at again after that: somebody may be naming one (`storing` holds its row meanwhile).
        mine = sa.select(b.sha256).where(which, sa.not_(is_named)).order_by(b.sha256).with_for_update()
        locked = connection.execute(mine).scalars().all()
        chosen = sa.delete(t.blob).where(b.sha256.in_(locked), sa.not_(is_named)).returning(b.object)
        gone = connection.execute(chosen).scalars()
        found = [name for name in gone.all() if name]
        if found:
            now = _text(self._clock())
            connection.execute(sa.insert(t.loose), [{"object": name, "made": now} for name in found])
        return found

    def _drop_objects(self, names: Sequence[str]) -> None:
        """Delete loose objects; where the store does not answer, they stay loose, and are deleted later."""
        if self._objects is None or not names:
            return
        with contextlib.suppress(StoreError):
            self._objects.drop(names)
            with self.begin() as connection:
                connection.execute(sa.delete(t.loose).where(t.loose.c.object.in_(names)))

    def drop_loose_objects(self) -> int:
        """Delete objects that nothing has named for an hour; return how many. Raises: StoreError."""
        if self._objects is None:
            return 0
        before = _text(self._clock() - dt.timedelta(seconds=_LOOSE_S))
        with self.begin(reads=True) as connection:
            names = connection.execute(sa.select(t.loose.c.object).where(t.loose.c.made < before)).scalars().all()
        self._objects.drop(names)
        with self.begin() as connection:
            connection.execute(sa.delete(t.loose).where(t.loose.c.object.in_(names)))
        return len(names)

    def blob_size(self, sha256: str) -> int | None:
        """Return the size of a blob in bytes; None if there is none."""
        with self.begin(reads=True) as connection:
            return connection.execute(sa.select(t.blob.c.n_bytes).where(t.blob.c.sha256 == sha256)).scalar()

    def named_size(self, sha256: str, kinds: Sequence[str]) -> int | None:
        """Return the size of a blob that a manifest of one of these kinds names; None if none does."""
        b, m = t.blob.c, t.manifest.c
        named = sa.select(m.blob).where(m.blob == sha256, m.kind.in_(kinds))
        with self.begin(reads=True) as connection:
            return connection.execute(sa.select(b.n_bytes).where(b.sha256.in_(named))).scalar()

    def read_blob(self, sha256: str) -> bytes:
        """Read a blob. Raises: NotFound; StoreError: Also where the object store holds other bytes, or half of them."""
        b = t.blob.c
        with self.begin(reads=True) as connection:
            found = connection.execute(sa.select(b.data, b.object).where(b.sha256 == sha256)).first()
        if found is None:
            raise NotFound(f"no blob {sha256!r}")
        if found.object is None:
            return bytes(found.data)
        if self._objects is None:
            raise StoreError("a blob lies in an object store, and none is named; write `objects` under [service]")
        data = self._objects.get(found.object)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StoreError(f"the object store holds other bytes under {found.object!r} than were written; restore it")
        return data

    def drop_unused_blobs(self, unused_s: float = 0.0) -> int:
        """Delete blobs that nothing names; return how many.

        Args:
            unused_s: Only those so old that nobody is about to name them.
        """
        made = _text(self._clock() - dt.timedelta(seconds=unused_s))
        with self.begin() as connection:
            n = connection.execute(sa.select(sa.func.count()).select_from(t.blob)).scalar_one()
            loose = self._dropped(connection, t.blob.c.made <= made)
            n -= connection.execute(sa.select(sa.func.count()).select_from(t.blob)).scalar_one()
        self._drop_objects(loose)
        return n

    # ── Rounds of statistics ──────────────────────────────────────────────────────────────────────────────

    def put_round(self, id: str, state: str, about: Mapping[str, Any], connection: sa.Connection | None = None) -> None:
        """Create a round or change one."""
        with self._within(connection) as within:
            insert = _insert(within, t.round_).values(
                id=id, state=state, about=json.dumps(about), made=_text(self._clock())
            )
            new = {"state": insert.excluded.state, "about": insert.excluded.about}
            within.execute(insert.on_conflict_do_update(index_elements=["id"], set_=new))

    def ensure_round(self, connection: sa.Connection, id: str) -> None:
        """Create a round where there is none of that id."""
        new = _insert(connection, t.round_).values(id=id, state="open", about="{}", made=_text(self._clock()))
        connection.execute(new.on_conflict_do_nothing())

    def locked_round(self, connection: sa.Connection, id: str) -> Round | None:
        """Return a round that nobody else changes until the transaction ends; None if there is none."""
        row = connection.execute(sa.select(t.round_).where(t.round_.c.id == id).with_for_update()).first()
        return Round(row.id, row.state, json.loads(row.about), _time(row.made)) if row else None

    def drop_round(self, connection: sa.Connection, id: str) -> None:
        """Delete a round with all its parts; their bytes go with `drop_unused_blobs`."""
        connection.execute(sa.delete(t.part).where(t.part.c.round == id))
        connection.execute(sa.delete(t.round_).where(t.round_.c.id == id))

    @contextlib.contextmanager
    def _within(self, connection: sa.Connection | None, *, reads: bool = False) -> Iterator[sa.Connection]:
        """Join a transaction, or run one."""
        if connection is not None:
            yield connection
            return
        with self.begin(reads=reads) as own:
            yield own

    def note(self, name: str) -> str:
        """Return what was noted under a name; empty before."""
        with self.begin(reads=True) as connection:
            return connection.execute(sa.select(t.note.c.text).where(t.note.c.name == name)).scalar() or ""

    def put_note(self, name: str, text: str) -> None:
        """Note a text under a name, in place of the one before."""
        with self.begin() as connection:
            insert = _insert(connection, t.note).values(name=name, text=text, made=_text(self._clock()))
            new = {"text": insert.excluded.text, "made": insert.excluded.made}
            connection.execute(insert.on_conflict_do_update(index_elements=["name"], set_=new))

    def lease(self, name: str, holder: str, for_s: float) -> bool:
        """Take or keep the right to do what only one process may do at a time; return whether this one has it.

        It ends after `for_s`, if its holder was killed, or with `put_note(name, "")`.
        """
        with self.begin() as connection:
            now = self.shared_now(connection)
            text = f"{_text(now + dt.timedelta(seconds=for_s))} {holder}"
            insert = _insert(connection, t.note).values(name=name, text=text, made=_text(now))
            is_free = sa.or_(t.note.c.text < _text(now), t.note.c.text.endswith(f" {holder}", autoescape=True))
            taken = insert.on_conflict_do_update(
                index_elements=["name"], set_={"text": text, "made": _text(now)}, where=is_free
            )
            return connection.execute(taken.returning(t.note.c.name)).first() is not None

    def rounds(self, *states: str) -> tuple[Round, ...]:
        """Return rounds, the newest first; of these states alone, where any is named."""
        chosen = sa.select(t.round_).order_by(t.round_.c.made.desc(), t.round_.c.id.desc())
        with self.begin(reads=True) as connection:
            rows = connection.execute(chosen.where(t.round_.c.state.in_(states)) if states else chosen).all()
        return tuple(Round(row.id, row.state, json.loads(row.about), _time(row.made)) for row in rows)

    def put_part(self, part: NewPart, connection: sa.Connection | None = None) -> bool:
        """Store an edge's contribution to a round; return False, changing nothing, if it has already given one of this
        kind."""
        with self._within(connection) as within:
            insert = _insert(within, t.part).values(
                round=part.round,
                edge=part.edge,
                kind=part.kind,
                id=part.id,
                state="new",
                about=json.dumps(part.about),
                blob=part.blob or None,
                made=_text(self._clock()),
            )
            return within.execute(insert.on_conflict_do_nothing().returning(t.part.c.id)).first() is not None

    def parts(self, round: str, kind: str | None = None, connection: sa.Connection | None = None) -> tuple[Part, ...]:
        """Return the parts of a round, in the order of their edges."""
        c = t.part.c
        chosen = sa.select(t.part).where(c.round == round).order_by(c.edge, c.kind)
        with self._within(connection, reads=True) as within:
            rows = within.execute(chosen if kind is None else chosen.where(c.kind == kind)).all()
        return tuple(map(_part, rows))

    def part(self, round: str, edge: str, kind: str) -> Part | None:
        """Return an edge's contribution of a kind to a round."""
        c = t.part.c
        with self.begin(reads=True) as connection:
            chosen = sa.select(t.part).where(c.round == round, c.edge == edge, c.kind == kind)
            row = connection.execute(chosen).first()
        return _part(row) if row else None

    def parts_of(self, edge: str, kind: str, connection: sa.Connection | None = None) -> tuple[Part, ...]:
        """Return an edge's contributions of a kind to all rounds, the newest first."""
        c = t.part.c
        chosen = sa.select(t.part).where(c.edge == edge, c.kind == kind).order_by(c.made.desc(), c.round)
        with self._within(connection, reads=True) as within:
            return tuple(map(_part, within.execute(chosen).all()))

    def set_part_state(self, round: str, edge: str, kind: str, state: str) -> None:
        c = t.part.c
        with self.begin() as connection:
            chosen = sa.update(t.part).where(c.round == round, c.edge == edge, c.kind == kind)
            connection.execute(chosen.values(state=state))

    def replace_part(self, part: NewPart, data: bytes) -> None:
        """Store an edge's contribution with its bytes in place of the one before; the round is made where it is none.

        Raises:
            StoreLockedError: The same bytes were dropped at the same moment; nothing was changed.
        """
        try:
            with self.storing(data) as (connection, sha256):
                self.ensure_round(connection, part.round)
                loose = self.drop_parts(connection, part.round, (part.kind,), part.edge)
                self.put_part(replace(part, blob=sha256), connection)
        except sa.exc.IntegrityError:
            raise StoreLockedError("the same bytes were dropped meanwhile; try again") from None
        self._drop_objects(loose)

    def drop_part(self, round: str, edge: str, kind: str) -> bool:
        """Delete an edge's contribution with its bytes; return whether there was any."""
        c = t.part.c
        with self.begin() as connection:
            chosen = sa.select(c.id).where(c.round == round, c.edge == edge, c.kind == kind)
            was = connection.execute(chosen).first() is not None
            loose = self.drop_parts(connection, round, (kind,), edge)
            loose += self._drop_blobs(connection, self._without_pieces(connection, edge))
        self._drop_objects(loose)
        return was

    def drop_parts(
        self, connection: sa.Connection, round: str, kinds: Sequence[str], edge: str | None = None
    ) -> list[str]:
        """Delete parts of a round with their bytes, of one edge or of all; return the objects that are loose now, which
        are deleted within two hours."""
        c = t.part.c
        chosen = sa.delete(t.part).where(c.round == round, c.kind.in_(kinds))
        chosen = chosen if edge is None else chosen.where(c.edge == edge)
        return self._drop_blobs(connection, connection.execute(chosen.returning(c.blob)).scalars().all())

    def close_round(self, id: str, was: str, end: RoundEnd) -> bool:
        """End a round that is in the state `was`; return False, changing nothing, if somebody else ended it.

        Raises:
            StoreLockedError: Another round was ended in the same moment; nothing was changed.
        """
        try:
            with contextlib.ExitStack() as open_:
                sha256 = ""
                if end.summed is not None:
                    connection, sha256 = open_.enter_context(self.storing(end.summed[2]))
                else:
                    connection = open_.enter_context(self.begin())
                round = self.locked_round(connection, id)
                if round is None or round.state != was:
                    return False
                if end.summed is not None:
                    kind, body, _ = end.summed
                    serial = self._last_serial(connection, kind) + 1
                    self._insert_manifest(connection, kind, serial, body, sha256)
                self.put_round(id, end.state, end.about, connection)
                self.ensure_round(connection, GIVEN)
                for edge in end.given:
                    self.put_part(NewPart(GIVEN, edge, GIVEN, id, {}), connection)
                loose = self.drop_parts(connection, id, end.drops)
        except sa.exc.IntegrityError:
            raise StoreLockedError("another round was ended at the same moment; try again") from None
        self._drop_objects(loose)
        return True

    # ── Pieces of sums ────────────────────────────────────────────────────────────────────────────────────

    def pieces(self) -> dict[tuple[str, str], Piece]:
        """Return all pieces, by path and profile."""
        with self.begin(reads=True) as connection:
            rows = connection.execute(sa.select(t.piece)).all()
        return {(r.path, r.profile): Piece(r.key, json.loads(r.about), r.blob or "") for r in rows}

    def put_piece(self, path: str, profile: str, key: str, about: Mapping[str, Any], data: bytes | None) -> str:
        """Store a piece in place of the one before; return the hash of its bytes, empty where it has none.

        Raises:
            StoreLockedError: The same bytes were dropped at the same moment; nothing was changed.
        """
        c, sha256 = t.piece.c, ""
        try:
            with contextlib.ExitStack() as open_:
                if data is not None:
                    connection, sha256 = open_.enter_context(self.storing(data))
                else:
                    connection = open_.enter_context(self.begin())
                old = connection.execute(sa.select(c.blob).where(c.path == path, c.profile == profile)).scalar()
                values = {"key": key, "about": json.dumps(about), "blob": sha256 or None, "made": _text(self._clock())}
                insert = _insert(connection, t.piece).values(path=path, profile=profile, **values)
                connection.execute(insert.on_conflict_do_update(index_elements=["path", "profile"], set_=values))
                loose = self._drop_blobs(connection, [old])
        except sa.exc.IntegrityError:
            raise StoreLockedError("the same bytes were dropped meanwhile; try again") from None
        self._drop_objects(loose)
        return sha256

    def drop_pieces(self, all_but: Collection[tuple[str, str]]) -> None:
        """Delete all pieces but these, by path and profile."""
        c = t.piece.c
        gone = [place for place in self.pieces() if place not in all_but]
        with self.begin() as connection:
            blobs: list[str | None] = []
            for path, profile in gone:
                chosen = sa.delete(t.piece).where(c.path == path, c.profile == profile)
                blobs += connection.execute(chosen.returning(c.blob)).scalars()
            loose = self._drop_blobs(connection, blobs)
        self._drop_objects(loose)

    def _without_pieces(self, connection: sa.Connection, edge: str) -> list[str | None]:
        """Delete the pieces that an edge is in; return their blobs."""
        paths = [path_of(edge)[:depth] for depth in range(PATH_LENGTH + 1)]
        chosen = sa.delete(t.piece).where(t.piece.c.path.in_(paths)).returning(t.piece.c.blob)
        return list(connection.execute(chosen).scalars().all())

    # ── Manifests ─────────────────────────────────────────────────────────────────────────────────────────

    def manifests(self, kind: str) -> tuple[tuple[int, str, str], ...]:
        """Return serial, body and blob of every manifest of a kind, oldest first."""
        c = t.manifest.c
        chosen = sa.select(c.serial, c.body, c.blob).where(c.kind == kind).order_by(c.serial)
        with self.begin(reads=True) as connection:
            return tuple((row.serial, row.body, row.blob) for row in connection.execute(chosen).all())

    def put_manifest(self, kind: str, serial: int, body: str, blob: str, *, keeps: int | None = None) -> None:
        """Store a manifest; with `keeps`, delete all but the newest so many of its kind, with their bytes.

        Raises:
            sa.exc.IntegrityError: There is one of this serial, or no such blob; nothing was changed.
        """
        c = t.manifest.c
        with self.begin() as connection:
            self._insert_manifest(connection, kind, serial, body, blob)
            if keeps is None:
                return
            kept = sa.select(c.serial).where(c.kind == kind).order_by(c.serial.desc()).limit(keeps)
            old = sa.delete(t.manifest).where(c.kind == kind, c.serial.not_in(kept)).returning(c.blob)
            loose = self._drop_blobs(connection, connection.execute(old).scalars().all())
        self._drop_objects(loose)

    def _insert_manifest(self, connection: sa.Connection, kind: str, serial: int, body: str, blob: str) -> None:
        row = sa.insert(t.manifest).values(kind=kind, serial=serial, body=body, blob=blob, made=_text(self._clock()))
        connection.execute(row)

    def last_serial(self, kind: str) -> int:
        """Return the highest serial of a kind; 0 if there is none."""
        with self.begin(reads=True) as connection:
            return self._last_serial(connection, kind)

    def _last_serial(self, connection: sa.Connection, kind: str) -> int:
        c = t.manifest.c
        return connection.execute(sa.select(sa.func.max(c.serial)).where(c.kind == kind)).scalar() or 0

    def manifest(self, kind: str) -> str | None:
        """Return the newest manifest of a kind, as it was stored."""
        c = t.manifest.c
        with self.begin(reads=True) as connection:
            chosen = sa.select(c.body).where(c.kind == kind).order_by(c.serial.desc()).limit(1)
            return connection.execute(chosen).scalar()


# ── Rows and faults ───────────────────────────────────────────────────────────────────────────────────────


def path_of(edge: str) -> str:
    """Return where an edge's contribution is added: the first digits of its hashed name."""
    return hashlib.sha256(edge.encode()).hexdigest()[:PATH_LENGTH]


def migration_config() -> Config:
    """Return the configuration for Alembic's commands; a connection is put into its attributes."""
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    return config


def versions() -> tuple[str, ...]:
    """Return the versions of the tables, oldest first."""
    walked = ScriptDirectory.from_config(migration_config()).walk_revisions()
    return tuple(script.revision for script in walked)[::-1]


def _check_edge(connection: sa.Connection, edge: str) -> None:
    """Check that an edge exists. Raises: NotFound."""
    if connection.execute(sa.select(t.edge.c.name).where(t.edge.c.name == edge)).first() is None:
        raise NotFound(f"no edge {edge!r}; `hearth cloud token list` names those there are")


def _insert(connection: sa.Connection, table: sa.Table) -> Any:
    """Return an INSERT that supports ON CONFLICT, which both databases write alike."""
    return postgresql.insert(table) if connection.dialect.name == "postgresql" else sqlite.insert(table)


def _as_ours(error: sa.exc.SQLAlchemyError) -> StoreError:
    """Turn a database error into a `StoreError` without the statement and its values, which must not be logged."""
    said = " ".join(str(getattr(error, "orig", None) or error).split())[:200]
    low = said.lower()
    if "locked" in low or "deadlock" in low or "could not serialize" in low or isinstance(error, sa.exc.TimeoutError):
        return StoreLockedError(f"the service's database is busy ({said}); try again")
    if "full" in low or "no space" in low:
        return StoreFullError(f"no space left for the service's database ({said}); free some")
    return StoreError(f"the service's database failed ({said}); check that it runs and that `database` is right")


def _part(r: Any) -> Part:
    return Part(r.round, r.edge, r.kind, r.id, r.state, json.loads(r.about), r.blob or "", _time(r.made))


def _token(row: Any) -> TokenRow:
    expires = _time(row.expires) if row.expires else None
    return TokenRow(row.id, row.edge, _time(row.made), expires, _time(row.revoked) if row.revoked else None)


def _utc() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _text(at: dt.datetime) -> str:
    return at.astimezone(dt.UTC).isoformat(timespec="microseconds")


def _time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)
