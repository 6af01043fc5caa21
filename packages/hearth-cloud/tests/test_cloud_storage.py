"""What the service keeps, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import datetime as dt
import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from cloud_fixtures import Clock

from hearth.errors import ConfigError, NotFound, StoreError, StoreLockedError, StoreVersionError
from hearth_cloud.storage import tables
from hearth_cloud.storage.cloud_storage import Answered, Kept, NewPart, Piece, Storage, path_of, versions


def token(storage: Storage, edge: str = "kitchen") -> None:
    storage.add_token(
        hashlib.sha256(edge.encode()).hexdigest()[:16], edge, hashlib.sha256(edge.encode()).hexdigest(), None
    )


# ── Migrations ────────────────────────────────────────────────────────────────────────────────────────────


def test_from_empty_to_the_newest_and_the_tables_are_those_of_the_code(url: str) -> None:
    with Storage.open(url) as storage:
        assert storage.version() == versions()[-1]
        with storage.begin() as connection:
            apart = compare_metadata(
                MigrationContext.configure(connection, opts={"compare_type": True}), tables.metadata
            )
    assert apart == []


@pytest.mark.parametrize("before", versions()[:-1])
def test_from_each_version_before_with_what_it_held(url: str, before: str) -> None:
    with Storage.open(url, migrates=False) as storage:
        storage.migrate(before)
        assert storage.version() == before
        token(storage)
        with storage.begin() as connection:
            storage.keep_demonstrations(connection, "kitchen", [Kept("1", ("a",), "{}")])
    with Storage.open(url) as storage:
        assert storage.version() == versions()[-1]
        assert storage.n_demonstrations() == 1
        assert [row.edge for row in storage.tokens()] == ["kitchen"]


def test_a_database_of_a_newer_hearth_is_refused_and_left_alone(url: str) -> None:
    with Storage.open(url) as storage:
        token(storage)
        with storage.begin() as connection:
            connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreVersionError, match="newer one"):
        Storage.open(url)
    with Storage.open(url, migrates=False) as storage:
        assert len(storage.tokens()) == 1


def test_several_that_begin_at_once_migrate_once(url: str) -> None:
    faults: list[Exception] = []

    def begin() -> None:
        try:
            Storage.open(url).close()
        except Exception as error:
            faults.append(error)

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


@pytest.mark.parametrize("address", ["", "cloud.db", "mysql://x/y", "http://example.org"])
def test_no_address_of_a_database(address: str) -> None:
    with pytest.raises(ConfigError, match="sqlite"):
        Storage.open(address)


def test_a_database_that_is_not_there_is_said_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="database failed") as fault:
        Storage.open(f"postgresql://hearth:s3cret@/x?host={tmp_path}")
    assert "s3cret" not in str(fault.value)


def test_a_fault_says_nothing_of_what_was_kept(storage: Storage) -> None:
    token(storage)
    with pytest.raises(StoreError) as fault, storage.begin() as connection:
        connection.execute(sa.text("SELECT 'the owner''s words' FROM nowhere"))
    assert "owner's words" not in str(fault.value)


# ── Demonstrations, tasks ─────────────────────────────────────────────────────────────────────────────────


def keep(storage: Storage, edge: str, *many: Kept) -> tuple[str, ...]:
    with storage.begin() as connection:
        return storage.keep_demonstrations(connection, edge, many)


def test_a_demonstration_is_kept_once_for_each_edge(storage: Storage) -> None:
    token(storage)
    token(storage, "attic")
    assert keep(storage, "kitchen", Kept("1", ("a",), "{}"), Kept("2", ("a",), "{}")) == ("1", "2")
    assert keep(storage, "kitchen", Kept("2", ("b",), "{}"), Kept("3", ("b",), "{}")) == ("3",)
    assert keep(storage, "attic", Kept("1", ("a",), "{}")) == ("1",)
    assert storage.n_demonstrations() == 4
    assert [edge for edge, _ in storage.demonstrations()] == ["attic", "kitchen", "kitchen", "kitchen"]


def test_only_tasks_of_enough_edges_are_told(storage: Storage) -> None:
    for edge in ("a", "b", "c"):
        token(storage, edge)
        keep(storage, edge, Kept("1", ("find", "send"), "{}"))
    keep(storage, "a", *(Kept(f"x{k}", ("own",), "{}") for k in range(9)))
    keep(storage, "b", Kept("y", ("send", "find"), "{}"))
    assert [(row.task, row.n_demonstrations, row.n_edges) for row in storage.tasks(3)] == [(("find", "send"), 3, 3)]
    assert {row.task for row in storage.tasks(1)} == {("find", "send"), ("own",), ("send", "find")}


def test_what_is_not_committed_was_not_kept(storage: Storage) -> None:
    token(storage)
    with pytest.raises(sa.exc.IntegrityError), storage.begin() as connection:  # noqa: PT012 one transaction
        storage.keep_demonstrations(connection, "kitchen", [Kept("1", ("a",), "{}")])
        storage.keep_demonstrations(connection, "no such edge", [Kept("1", ("a",), "{}")])
    assert storage.n_demonstrations() == 0


def test_a_dropped_edge_leaves_nothing(storage: Storage) -> None:
    token(storage)
    keep(storage, "kitchen", Kept("1", ("a",), "{}"))
    storage.seen(storage.tokens()[0].id, "i1")
    storage.use({("kitchen", "2026-01-01", "plans"): 1})
    storage.put_round("r1", "open", {})
    sums = storage.put_blob(b"sums")
    storage.put_part(NewPart("r1", "kitchen", "sums", "p1", {}, sums))
    assert storage.drop_edge("kitchen") == 1
    assert storage.tokens() == ()
    assert storage.n_agents() == {}
    assert storage.parts("r1") == ()
    assert storage.blob_size(sums) is None
    assert storage.drop_unused_blobs() == 0
    with pytest.raises(NotFound, match="token list"):
        storage.drop_edge("kitchen")


# ── Counts, answers, agents ───────────────────────────────────────────────────────────────────────────────


def test_counts_of_several_threads_add_up(storage: Storage) -> None:
    key = ("kitchen", "2026-01-01", "plans")
    threads = [threading.Thread(target=lambda: [storage.use({key: 2}) for _ in range(10)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.use({key: 0}) == {key: 80}
    assert storage.drop_used("2026-01-02") == 1


def test_an_answer_is_kept_until_it_is_old(storage: Storage, clock: Clock) -> None:
    token(storage)
    with storage.begin() as connection:
        assert storage.answered(connection, "kitchen", "k") is None
        storage.keep_answer(connection, "kitchen", "k", Answered("0" * 64, 200, b"\x00\xff"))
    with storage.begin() as connection:
        assert storage.answered(connection, "kitchen", "k") == Answered("0" * 64, 200, b"\x00\xff")
        assert storage.answered(connection, "attic", "k") is None
    with pytest.raises(sa.exc.IntegrityError), storage.begin() as connection:
        storage.keep_answer(connection, "kitchen", "k", Answered("1" * 64, 200, b""))
    assert storage.drop_answers(clock.at) == 0
    clock.wait(1)
    assert storage.drop_answers(clock.at) == 1


@pytest.mark.parametrize(("order", "are_two"), [("AAA", False), ("AAB", False), ("ABB", False), ("ABA", True)])
def test_two_agents_by_turns_are_noticed_and_a_new_one_is_not(
    storage: Storage, clock: Clock, order: str, are_two: bool
) -> None:
    noticed = []
    for agent in order:
        clock.wait(1)
        noticed.append(storage.seen("token-1", agent))
    assert noticed[-1] is are_two
    assert not any(noticed[:-1])
    assert storage.n_agents() == {"token-1": len(set(order))}
    assert not storage.seen("token-2", "A"), "another token has agents of its own"


def test_an_agent_with_ever_new_names_fills_nothing(storage: Storage, clock: Clock) -> None:
    for k in range(40):
        clock.wait(1)
        assert not storage.seen("token-1", f"agent-{k}")
    assert storage.n_agents() == {"token-1": 16}
    clock.wait(1)
    assert storage.seen("token-1", "agent-38"), "of the last ones it is still known that there are two"
    assert not storage.seen("token-1", "agent-0")


# ── Blobs, rounds ─────────────────────────────────────────────────────────────────────────────────────────


def test_bytes_come_back_whole(storage: Storage) -> None:
    data = bytes(range(256)) * 5_000
    sha256 = storage.put_blob(data)
    assert sha256 == hashlib.sha256(data).hexdigest() == storage.put_blob(data)
    assert storage.blob_size(sha256) == len(data)
    assert storage.read_blob(sha256) == data
    assert storage.blob_size("0" * 64) is None
    with pytest.raises(NotFound):
        storage.read_blob("0" * 64)


def test_a_round_takes_one_part_of_a_kind_from_each_edge(storage: Storage, clock: Clock) -> None:
    for edge in ("a", "b"):
        token(storage, edge)
    storage.put_round("r1", "open", {"k": 2})
    clock.wait(1)
    storage.put_round("r2", "open", {})
    assert storage.put_part(NewPart("r1", "b", "sums", "p1", {"n": 1}, storage.put_blob(b"x")))
    assert not storage.put_part(NewPart("r1", "b", "sums", "p2", {"n": 2}))
    assert storage.put_part(NewPart("r1", "b", "shares", "p1", {}))
    assert storage.put_part(NewPart("r1", "a", "sums", "p9", {}))
    storage.set_part_state("r1", "a", "sums", "quarantined")
    parts = storage.parts("r1", "sums")
    assert [(p.edge, p.id, p.state, p.about) for p in parts] == [
        ("a", "p9", "quarantined", {}),
        ("b", "p1", "new", {"n": 1}),
    ]
    storage.put_round("r1", "closed", {"k": 3})
    assert [(r.id, r.about) for r in storage.rounds()] == [("r2", {}), ("r1", {"k": 3})]
    assert [r.id for r in storage.rounds("open")] == ["r2"]


def test_bytes_go_with_the_last_part_that_names_them(storage: Storage) -> None:
    token(storage, "a")
    token(storage, "b")
    storage.put_round("r1", "open", {})
    same = storage.put_blob(b"x")
    for edge in ("a", "b"):
        storage.put_part(NewPart("r1", edge, "sums", "p1", {}, same))
    assert storage.drop_part("r1", "a", "sums")
    assert storage.blob_size(same) == 1
    assert storage.drop_part("r1", "b", "sums")
    assert storage.blob_size(same) is None
    assert not storage.drop_part("r1", "b", "sums")


def test_the_newest_manifest_is_told_and_its_bytes_stay(storage: Storage) -> None:
    old, new = storage.put_blob(b"old"), storage.put_blob(b"new")
    storage.put_blob(b"nobody names this")
    assert storage.manifest("prior") is None
    storage.put_manifest("prior", 2, "two", new)
    storage.put_manifest("prior", 1, "one", old)
    with pytest.raises(sa.exc.IntegrityError):
        storage.put_manifest("prior", 2, "again", old)
    assert storage.manifest("prior") == "two"
    assert storage.drop_unused_blobs() == 1
    assert storage.blob_size(old) == 3


def test_times_come_back_as_they_were(storage: Storage, clock: Clock) -> None:
    expires = dt.datetime(2027, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=9)))
    storage.add_token("t", "kitchen", "0" * 64, expires)
    row = storage.token_by_hash("0" * 64)
    assert row is not None
    assert (row.made, row.expires, row.revoked) == (clock.at, expires, None)
    assert storage.revoke("kitchen") == 1
    assert storage.revoke("kitchen") == 0


def test_a_piece_takes_the_place_of_the_one_before_and_goes_with_those_in_it(storage: Storage) -> None:
    for edge in ("kitchen", "attic"):
        token(storage, edge)
        storage.replace_part(NewPart("plain", edge, "statistics", "s", {}), edge.encode())
    path = path_of("kitchen")[:1]
    old = storage.put_piece(path, "small", "k1", {}, b"old")
    new = storage.put_piece(path, "small", "k2", {}, b"new")
    storage.put_piece("", "", "k3", {"judged": []}, None)
    assert storage.blob_size(old) is None
    assert storage.pieces() == {
        (path, "small"): Piece("k2", {}, new),
        ("", ""): Piece("k3", {"judged": []}, ""),
    }
    assert storage.drop_unused_blobs() == 0
    storage.drop_edge("kitchen")
    assert storage.pieces() == {}
    assert storage.blob_size(new) is None
    kept = storage.put_piece("f", "small", "k4", {}, b"kept")
    storage.put_piece("0", "small", "k5", {}, b"gone")
    storage.drop_pieces({("f", "small")})
    assert [piece.blob for piece in storage.pieces().values()] == [kept]


def test_two_that_store_the_same_bytes_while_they_are_dropped_lose_nothing(storage: Storage) -> None:
    """A part is there with its bytes, or its giver was told to try again."""
    for k in range(4):
        token(storage, f"e{k}")

    def give(edge: str) -> int:
        n = 0
        for _ in range(10):
            try:
                storage.replace_part(NewPart("plain", edge, "statistics", "s", {}), b"the same")
                n += 1
                storage.drop_part("plain", edge, "statistics")
            except StoreLockedError:
                continue
        storage.replace_part(NewPart("plain", edge, "statistics", "s", {}), b"the same")
        return n

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(give, [f"e{k}" for k in range(4)])) > 0
    assert {storage.read_blob(part.blob) for part in storage.parts("plain")} == {b"the same"}
    assert len(storage.parts("plain")) == 4
