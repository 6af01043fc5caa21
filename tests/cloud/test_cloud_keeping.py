"""What the service keeps of what it was asked and given, for how long, and what it gives back to the disk."""

from __future__ import annotations

import json
from pathlib import Path

import sqlalchemy as sa

from hearth import wire
from hearth.cloud import tables
from hearth.cloud.answering import RecordedAnswers
from hearth.cloud.service import tidy
from hearth.cloud.storage import Answered, Storage
from tests.cloud.conftest import Clock, Serve
from tests.cloud.test_cloud_service import LINE, Counting, plan, sent

DAY_S = 86_400.0


def rows(storage: Storage) -> dict[str, int]:
    """How many there are of each table; those that hold none are left out."""
    with storage.begin(reads=True) as connection:
        counts = {
            table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
            for table in tables.metadata.sorted_tables
        }
    return {name: n for name, n in counts.items() if n}


def test_of_plans_and_answers_nothing_is_kept_but_a_count(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(json.dumps({"question": "What to cook?", "text": "Vegetables."}))
    served = serve(teacher=Counting(), answering=RecordedAnswers(path))
    with served.client(served.token(), "edge-1") as client:
        for k in range(15):
            assert client.post("/v1/plans", json=plan(f"a{k}", f"lamp {k}")).status_code == 200
            asked = {"id": f"q{k}", "question": "What to cook?"}
            assert client.post("/v1/answers", json=asked).status_code == 200
    assert rows(served.storage) == {"edge": 1, "token": 1, "instance": 1, "used": 3}  # plans, answers, new_tools


def test_a_receipt_is_kept_two_days_and_what_was_taken_for_ever(serve: Serve, clock: Clock) -> None:
    served = serve(clock=clock)
    with served.client(served.token()) as client:
        said = [client.post("/v1/demonstrations", json=sent("m1", LINE)).content]
        for seconds in (1.9 * DAY_S, 0.2 * DAY_S):
            clock.wait(seconds)
            tidy(served.storage)
            said.append(client.post("/v1/demonstrations", json=sent("m1", LINE)).content)
    receipts = [wire.read(wire.Receipt, one) for one in said]
    assert said[0] == said[1]
    assert [(one.accepted, one.known) for one in receipts] == [(("d1",), ()), (("d1",), ()), ((), ("d1",))]
    assert served.storage.n_demonstrations() == 1


def test_counts_are_kept_thirty_days(storage: Storage, clock: Clock) -> None:
    today = clock.at.date().isoformat()
    storage.use({("kitchen", today, "plans"): 3})
    for days, left in ((29, 1), (2, 0)):
        clock.wait(days * DAY_S)
        tidy(storage)
        assert rows(storage).get("used", 0) == left


def test_space_that_is_free_goes_back_to_the_disk_and_what_is_kept_stays(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "cloud.db"
    with Storage.open(f"sqlite:///{path}", clock) as storage:
        storage.add_token("t", "kitchen", "0" * 64, None)
        kept = storage.put_blob(b"k" * 200_000)
        storage.put_manifest("prior large", 1, "one", kept)
        storage.put_blob(b"x" * 8_000_000)
        assert storage.drop_unused_blobs() == 1
        assert storage.give_back() > 7_900_000
        assert storage.give_back() == 0
        assert storage.read_blob(kept) == b"k" * 200_000
    assert 200_000 < path.stat().st_size < 500_000


def test_many_receipts_that_come_and_go_make_the_database_no_larger(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "cloud.db"
    sizes = []
    with Storage.open(f"sqlite:///{path}", clock) as storage:
        storage.add_token("t", "kitchen", "0" * 64, None)
        for day in range(8):
            with storage.begin() as connection:
                for k in range(400):
                    storage.keep_answer(connection, "kitchen", f"{day}-{k}", Answered("0" * 64, 200, b"r" * 200))
            clock.wait(DAY_S)
            tidy(storage)
            with storage.begin(reads=True) as connection:
                sizes.append(connection.exec_driver_sql("PRAGMA page_count").scalar_one())
    assert max(sizes[3:]) <= sizes[2] * 1.05


def test_what_was_deleted_is_not_left_in_the_file(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "cloud.db"
    with Storage.open(f"sqlite:///{path}", clock) as storage:
        storage.add_token("t", "kitchen", "0" * 64, None)
        with storage.begin() as connection:
            storage.keep_answer(connection, "kitchen", "m1", Answered("0" * 64, 200, b"the words of an owner"))
        storage.drop_edge("kitchen")
    assert b"the words of an owner" not in path.read_bytes()


def test_postgresql_gives_back_by_itself(storage: Storage) -> None:
    assert storage.give_back() == 0
