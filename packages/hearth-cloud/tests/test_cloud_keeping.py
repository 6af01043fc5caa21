"""What the service keeps of what it was asked and given, for how long, and what it gives back to the disk."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sa
from cloud_fixtures import Clock, Serve
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from test_cloud_service import LINE, Counting, code, plan, sent

from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import Manifest, Profile
from hearth_cloud.cloud_settings import CloudSettings, Limits
from hearth_cloud.service import artifact_routes
from hearth_cloud.service.general_answers import RecordedAnswers
from hearth_cloud.service.service import tidy
from hearth_cloud.statistics.artifacts import MadeOf, OfferedKind, n_offered, newest, offer, offered_bytes
from hearth_cloud.storage import tables
from hearth_cloud.storage.cloud_storage import Answered, NewPart, Storage

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
    assert rows(served.storage) == {"edge": 1, "token": 1, "instance": 1, "used": 4}  # plans, answers, bytes, tools


def test_a_receipt_is_kept_two_days_and_what_was_taken_for_ever(serve: Serve, clock: Clock) -> None:
    served = serve(clock=clock)
    with served.client(served.token()) as client:
        said = [client.post("/v1/demonstrations", json=sent("m1", LINE)).content]
        for seconds in (1.9 * DAY_S, 0.2 * DAY_S):
            clock.wait(seconds)
            tidy(served.storage)
            said.append(client.post("/v1/demonstrations", json=sent("m1", LINE)).content)
    receipts = [edge_protocol.read(edge_protocol.Receipt, one) for one in said]
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


def test_an_agent_that_came_while_its_device_was_forgotten_goes(storage: Storage) -> None:
    storage.add_token("t-1", "kitchen", "0" * 64, None)
    for token in ("t-1", "t-gone"):
        storage.seen(token, "edge-1")
    tidy(storage)
    assert storage.n_agents() == {"t-1": 1}


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


# ── What is offered ───────────────────────────────────────────────────────────────────────────────────────

KEY = Ed25519PrivateKey.from_private_bytes(b"k" * 32)


def offers(storage: Storage, body: bytes, kind: OfferedKind = "prior", profile: Profile = "large") -> Manifest:
    return offer(storage, KEY, kind, profile, body, MadeOf("f"))


def test_the_newest_three_stay_and_older_ones_go_with_their_bytes(storage: Storage) -> None:
    made = [offers(storage, b"prior %d" % k) for k in range(5)]
    assert [one.serial for one in made] == [1, 2, 3, 4, 5]
    assert [storage.blob_size(one.sha256) for one in made] == [None, None, 7, 7, 7]
    assert newest(storage, "prior", "large") == made[-1].model_dump_json()
    assert n_offered(storage, "prior", "large") == 5
    assert offered_bytes(storage, made[1].sha256) is None
    assert offered_bytes(storage, made[2].sha256) == 7


def test_each_kind_and_profile_is_numbered_and_kept_apart(storage: Storage) -> None:
    other = [offers(storage, b"small", profile="small"), offers(storage, b"adapter", "adapter")]
    for k in range(4):
        offers(storage, b"prior %d" % k)
    assert [one.serial for one in other] == [1, 1]
    assert all(offered_bytes(storage, one.sha256) for one in other)


def test_the_same_bytes_again_stay_as_long_as_something_names_them(storage: Storage) -> None:
    storage.add_token("t", "kitchen", "0" * 64, None)
    first = offers(storage, b"the same")
    for k in range(2):
        offers(storage, b"prior %d" % k)
    assert offers(storage, b"the same").sha256 == first.sha256  # number 1 goes, number 4 names them
    assert offered_bytes(storage, first.sha256) == 8
    storage.put_round("plain", "open", {})
    given = storage.put_blob(b"prior 9")
    storage.put_part(NewPart("plain", "kitchen", "statistics", "s", {}, given))
    for k in range(9, 14):
        offers(storage, b"prior %d" % k)
    assert storage.read_blob(given) == b"prior 9"  # an edge gave them, too
    assert offered_bytes(storage, given) is None


def test_several_that_offer_at_once_are_numbered_one_after_the_other(storage: Storage) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda k: offers(storage, b"%d" % k), range(4)))
    assert sorted(one.serial for one in made) == [1, 2, 3, 4]


def test_only_what_is_offered_may_be_fetched(serve: Serve) -> None:
    served = serve()
    storage = served.storage
    token, _ = served.token(), served.token("attic")
    made = [offers(storage, b"prior %d" % k) for k in range(5)]
    adapter = offers(storage, b"adapter", "adapter", "small")
    storage.put_round("plain", "open", {})
    of_another = storage.put_blob(b"what another edge gave")
    storage.put_part(NewPart("plain", "attic", "statistics", "s", {}, of_another))
    of_a_round = storage.put_blob(b"the sum of a round")
    storage.put_manifest("sum", 1, "{}", of_a_round)
    nobodys = storage.put_blob(b"nobody's")
    with served.client(token) as client:
        for one in (*made[2:], adapter):
            assert client.get(f"/v1/blobs/{one.sha256}").status_code == 200
        for sha256 in (made[0].sha256, made[1].sha256, of_another, of_a_round, nobodys, "0" * 64, "x"):
            answer = client.get(f"/v1/blobs/{sha256}")
            assert (answer.status_code, code(answer)) == (404, "missing")
            assert client.get(f"/v1/blobs/{sha256}", headers={"range": "bytes=1-"}).status_code == 404
    with served.client() as client:
        assert client.get(f"/v1/blobs/{made[4].sha256}").status_code == 401


def test_an_adapter_is_told_by_profile_to_who_has_a_token(serve: Serve) -> None:
    served = serve()
    made = offers(served.storage, b"adapter", "adapter", "small")
    with served.client(served.token()) as client:
        assert client.get("/v1/adapter?profile=small").content == made.model_dump_json().encode()
        for profile, status, said in (("large", 404, "no_adapter"), ("", 404, "no_adapter"), ("huge", 422, "shape")):
            answer = client.get("/v1/adapter", params={"profile": profile} if profile else {})
            assert (answer.status_code, code(answer)) == (status, said)
        assert "adapter" in client.get("/v1/hello").json()["features"]
        assert client.get("/v1/prior?profile=small").status_code == 404
    with served.client() as client:
        assert client.get("/v1/adapter?profile=small").status_code == 401


def test_what_is_received_and_sent_in_a_day_has_a_bound(
    serve: Serve, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifact_routes, "_PIECE_BYTES", 100)
    limits = Limits(received_bytes_per_day=1_000, sent_bytes_per_day=1_000)
    served = serve(CloudSettings(limits=limits), clock=clock)
    made = offers(served.storage, b"x" * 600)
    with served.client(served.token()) as client, served.client(served.token("attic")) as attic:
        body = sent("m1", LINE)
        n_bytes = len(json.dumps(body, separators=(",", ":")))
        answers = [client.post("/v1/demonstrations", json=body) for _ in range(1_000 // n_bytes + 1)]
        assert [answer.status_code for answer in answers] == [200] * (1_000 // n_bytes) + [429]
        assert code(answers[-1]) == "quota"
        assert "received_bytes_per_day" in answers[-1].json()["detail"]
        assert client.get("/v1/tasks").status_code == 200  # without a body it goes on
        assert attic.post("/v1/demonstrations", json=body).status_code == 200

        whole = f"/v1/blobs/{made.sha256}"
        assert client.get(whole).content == b"x" * 600
        assert client.get(whole, headers={"range": "bytes=300-"}).status_code == 206
        with pytest.raises(httpx.HTTPError):  # cut off where the day's bytes end: it goes on tomorrow
            client.get(whole)
        spent = client.get(whole)
        assert (spent.status_code, code(spent), spent.json()["retry_after_s"]) == (
            429,
            "quota",
            pytest.approx(55_800, abs=5),
        )
        assert attic.get(whole).content == b"x" * 600
        clock.wait(DAY_S)
        assert client.get(whole).status_code == 200
        assert client.post("/v1/demonstrations", json=sent("m2", LINE)).status_code == 200
