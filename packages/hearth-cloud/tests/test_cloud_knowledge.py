"""Demonstrations are taken exactly once, on SQLite and PostgreSQL, whatever arrives at once or is cut off."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from cloud_fixtures import Clock, serving
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_cloud_service import LINE, Counting

from hearth.errors import PlanError, RequestError
from hearth.formats.edge_protocol import DemonstrationsSent, Receipt
from hearth_cloud.cloud_settings import CloudSettings
from hearth_cloud.problems import Fault
from hearth_cloud.service.access.limits import Buckets
from hearth_cloud.storage import knowledge
from hearth_cloud.storage.access_tokens import issue
from hearth_cloud.storage.cloud_storage import Kept, Storage


def sent(*ids: str) -> tuple[DemonstrationsSent, bytes]:
    body = json.dumps({"id": "m", "demonstrations": [{**LINE, "id": id} for id in ids]}).encode()
    return DemonstrationsSent.model_validate_json(body), body


def test_the_same_message_from_many_threads_at_once(storage: Storage) -> None:
    issue(storage, "kitchen", None)
    message, body = sent("a", "b")

    def take(_: int) -> bytes | str:
        try:
            return knowledge.take(storage, "kitchen", "key", message, body)[0]
        except Fault as fault:
            return fault.code

    with ThreadPoolExecutor(6) as pool:
        told = set(pool.map(take, range(12)))
    told.discard("busy")  # to be sent again, as the answer says
    (receipt,) = told
    assert isinstance(receipt, bytes)
    assert Receipt.model_validate_json(receipt).accepted == ("a", "b")
    assert storage.n_demonstrations() == 2


def test_different_messages_with_the_same_lines_at_once(storage: Storage) -> None:
    issue(storage, "kitchen", None)
    message, body = sent(*(f"d{k}" for k in range(20)))

    def take(k: int) -> Receipt:
        return Receipt.model_validate_json(knowledge.take(storage, "kitchen", f"key-{k}", message, body)[0])

    with ThreadPoolExecutor(4) as pool:
        receipts = list(pool.map(take, range(4)))
    accepted = [id for receipt in receipts for id in receipt.accepted]
    assert sorted(accepted) == sorted(f"d{k}" for k in range(20))
    assert storage.n_demonstrations() == 20


def test_an_edge_that_was_dropped_meanwhile(storage: Storage) -> None:
    message, body = sent("a")
    with pytest.raises(Fault, match="again") as fault:
        knowledge.take(storage, "nobody", "key", message, body)
    assert fault.value.status == 503
    assert storage.n_demonstrations() == 0


def test_the_whole_service_on_either_database(storage: Storage, clock: Clock) -> None:
    with (
        serving(CloudSettings(), storage, teacher=Counting()) as served,
        served.client(served.token(), "agent") as client,
    ):
        assert client.get("/readyz").status_code == 200
        for _ in range(2):
            body = {"id": "m", "demonstrations": [LINE]}
            assert client.post("/v1/demonstrations", json=body).json()["accepted"] == ["d1"]
        plan = {"id": "a", "request": "lamp", "now": "2026-09-07T08:00:00Z", "tools": [{"id": "lamp"}]}
        assert client.post("/v1/plans", json=plan).status_code == 200
        assert client.get("/v1/tasks").json()["tasks"] == []
    assert storage.use({("kitchen", clock.at.date().isoformat(), "plans"): 0}).popitem()[1] == 1


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=12,
)
_LINES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "user_request", "task_nodes", "task_steps", "task_links", "tools", "now"), _JSON)
)  # fmt: skip


@given(line=_LINES)
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_any_line_is_kept_whole_or_turned_away(line: dict[str, object]) -> None:
    try:
        kept: Kept | None = knowledge.kept_of("id", line)
    except (RequestError, PlanError):
        kept = None  # turned away
    if kept is not None:
        assert json.loads(kept.line)["id"] == "id"
        assert kept.task


@given(st.lists(st.floats(0, 3), max_size=60))
def test_a_bucket_never_gives_more_than_its_rate_and_burst(waits_s: list[float]) -> None:
    at = [0.0]
    buckets = Buckets(2.0, 5, lambda: at[0])

    async def given_() -> int:
        n = 0
        for wait_s in waits_s:
            at[0] += wait_s
            try:
                await buckets.take("x")
                n += 1
            except Fault:
                continue
        return n

    assert asyncio.run(given_()) <= 5 + 2.0 * at[0] + 1e-6
