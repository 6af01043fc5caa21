"""A database that is gone, read-only or full, clocks that differ by a day: nothing acknowledged is lost, and the service
goes on by itself when it is over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from cloud_fixtures import Clock, Served, serving, wait_until

from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.storage.cloud_storage import Storage

Statement = Callable[[str], None]


@pytest.fixture
def on_postgres(postgres: str, clock: Clock) -> Iterator[tuple[Served, Statement]]:
    """A service on PostgreSQL, and what runs a statement of its keeper."""
    with psycopg.connect(f"host={postgres} user=hearth dbname=postgres", autocommit=True) as keeper:
        keeper.execute("CREATE DATABASE outage")

        def run(statement: str) -> None:
            keeper.execute(statement.encode())
            keeper.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'outage'")

        with (
            Storage.open(f"postgresql://hearth@/outage?host={postgres}", clock) as storage,
            serving(CloudSettings(), storage) as served,
        ):
            yield served, run
        run("ALTER DATABASE outage WITH ALLOW_CONNECTIONS true")
        keeper.execute("DROP DATABASE outage WITH (FORCE)")


def send(client: httpx.Client, id: str, text: str = "water") -> httpx.Response:
    line = {"id": id, "user_request": text, "task_nodes": [{"task": "sprinkler_on", "arguments": []}]}
    return client.post("/v1/demonstrations", json={"id": f"m{id}", "demonstrations": [line]})


@pytest.mark.parametrize(
    ("outage", "over"),
    [
        ("WITH ALLOW_CONNECTIONS false", "WITH ALLOW_CONNECTIONS true"),
        ("SET default_transaction_read_only = on", "RESET default_transaction_read_only"),
    ],
    ids=["gone", "read-only"],
)
def test_a_database_that_is_away_is_waited_for(on_postgres: tuple[Served, Statement], outage: str, over: str) -> None:
    served, run = on_postgres
    with served.client(served.token()) as client:
        assert send(client, "before").status_code == 200
        run(f"ALTER DATABASE outage {outage}")
        answer = send(client, "during")
        assert (answer.status_code, answer.json()["code"]) == (503, "busy")
        assert client.get("/healthz").status_code == 200
        if "CONNECTIONS" in outage:
            assert client.get("/readyz").status_code == 503
        run(f"ALTER DATABASE outage {over}")
        wait_until(lambda: client.get("/readyz").status_code == 200)
        wait_until(lambda: send(client, "during").status_code == 200)
        assert send(client, "before").json()["accepted"] == ["before"]  # the answer of before, word for word
    assert served.storage.n_demonstrations() == 2


def test_a_full_disk_refuses_what_is_new_and_keeps_what_was(tmp_path: Path, clock: Clock) -> None:
    most = [0]  # pages; 0: as many as there is room for

    def bound(connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {most[0] or 1_000_000}")

    with Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}", clock) as storage:
        sa.event.listen(storage._engine, "begin", bound)
        with serving(CloudSettings(), storage) as served, served.client(served.token()) as client:
            assert send(client, "before").status_code == 200
            most[0] = 1  # no smaller than the file is
            n = next(k for k in range(60) if send(client, f"d{k}", "water " * 300).status_code != 200)
            answer = send(client, f"d{n}", "water " * 300)
            assert (answer.status_code, answer.json()["code"]) == (503, "busy")
            most[0] = 0
            assert send(client, f"d{n}").status_code == 200
        assert storage.n_demonstrations() == n + 2


def test_replicas_whose_clocks_differ_by_a_day_agree_on_who_may_merge(postgres: str) -> None:
    with psycopg.connect(f"host={postgres} user=hearth dbname=postgres", autocommit=True) as keeper:
        keeper.execute("CREATE DATABASE skew")
    url = f"postgresql://hearth@/skew?host={postgres}"
    with Storage.open(url) as one, Storage.open(url) as other:
        other._clock = lambda: dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
        assert one.lease("merging", "one", 60.0)
        assert not other.lease("merging", "other", 60.0)
        with one.begin() as first, other.begin() as second:
            assert abs(one.shared_now(first) - other.shared_now(second)) < dt.timedelta(seconds=60)
