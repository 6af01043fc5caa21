"""How much waits at an edge, from its outbox over a real broker to the service, as KubeEdge would pass it on.

python -m pytest -q tests/whole/test_pointers.py
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from cloud_fixtures import Serve
from cloud_fixtures import clock as clock
from cloud_fixtures import serve as serve
from cloud_fixtures import small_storage as small_storage

from hearth import cli
from hearth.agent import make_home
from hearth.edge.enrolment import Cloud, join
from hearth.edge.outbox import Outbox, put
from hearth.errors import ConfigError, WireError
from hearth.formats import edge_protocol
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth_cloud.cloud_settings import CloudSettings, Service
from hearth_home.kubeedge.twin_reporter import TOPIC, pointers, topic_of
from tests import ROOT
from tests.mqtt_broker import BROKERS, Things, running

KEY = "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
RULES = ROOT / "deploy/kubeedge/devices/rules.yaml"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(BROKERS[0], tmp_path_factory.mktemp("broker")) as port:
        yield port


@pytest.fixture
def joined_home(home: Path, port: int) -> Path:
    """A home that joined a cloud, for which two things wait, and that knows its node's broker."""
    make_home(home, {"name": "", "email": "", "time_zone": "", "country": ""})
    (home / "hearth.toml").write_text(
        f'[home.mqtt]\nhost = "127.0.0.1"\nport = {port}\nsecurity = "none"\n[network]\nallow = ["127.0.0.1:{port}"]\n'
    )
    with Store.open(home / "hearth.db") as store:
        join(store, home, Cloud("https://cloud.example.org", "cloud", KEY), "edge-1", "t0ken", FIXED_NOW)
        with store.transaction() as cursor:
            for k in range(2):
                put(cursor, "question", f"q-{k}", b"where does Person1 live", FIXED_NOW)
    return home


def test_what_waits_is_told_and_none_of_it(joined_home: Path, port: int, capfd: pytest.CaptureFixture[str]) -> None:
    things = Things(port)
    try:
        things.answer("edge-home-anna/user/#")
        assert cli.run(["--home", str(joined_home), "edge", "point", "--node", "edge-home-anna", "--json"]) == 0
        (told,) = json.loads(capfd.readouterr().out)
        until = time.monotonic() + 10
        while not things.heard and time.monotonic() < until:
            time.sleep(0.02)
        ((topic, payload),) = things.heard
    finally:
        things.close()
    assert (topic, payload) == (told["topic"], told["payload"])
    said = edge_protocol.read(edge_protocol.Pointer, payload.encode())
    assert (said.kind, said.waiting) == ("question", 2)
    assert "Person1" not in payload
    assert len(payload.encode()) < 512
    with Store.open(joined_home / "hearth.db") as store:
        (row,) = store.query("SELECT count(*) AS n FROM outbox WHERE state = 'waiting'")
    assert row["n"] == 2


def test_the_topic_is_the_one_of_the_rule() -> None:
    rules = [rule["spec"] for rule in yaml.safe_load_all(RULES.read_text()) if rule["kind"] == "Rule"]
    (upward,) = [rule["sourceResource"] for rule in rules if "topic" in rule["sourceResource"]]
    assert upward["topic"] == TOPIC
    assert topic_of(upward["node_name"]) == f"{upward['node_name']}/user/{TOPIC}"


@pytest.mark.parametrize("node", ["", "+", "#", "a/b", "$hw", "Node", "x" * 254])
def test_a_name_that_would_be_another_topic_is_refused(node: str) -> None:
    with pytest.raises(ConfigError, match="is no name of a node"):
        topic_of(node)


def test_nothing_waits_nothing_is_told(store: Store) -> None:
    assert pointers(Outbox(store, lambda: FIXED_NOW), "edge-1", "node", FIXED_NOW) == ()


def test_without_a_broker_it_says_so(joined_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (joined_home / "hearth.toml").write_text("")
    assert cli.run(["--home", str(joined_home), "edge", "point", "--node", "n"]) == 78
    assert "[home.mqtt] names no broker" in capfd.readouterr().err


def test_a_pointer_stays_below_what_passes() -> None:
    largest = edge_protocol.Pointer(edge="x" * 100, kind="a" * 40, waiting=10_000_000, at=FIXED_NOW)
    assert len(largest.to_bytes()) <= edge_protocol.MAX_POINTER_BYTES
    huge = edge_protocol.Pointer.model_construct(edge="x" * 600, kind="a", waiting=1, at=FIXED_NOW)
    with pytest.raises(WireError, match="at most 511 pass"):
        huge.to_bytes()


def test_the_service_counts_pointers(serve: Serve) -> None:
    served = serve(CloudSettings(service=Service(pointers=True)))
    body = edge_protocol.Pointer(edge="edge-1", kind="question", waiting=2, at=FIXED_NOW).to_bytes()
    strange = edge_protocol.Pointer(edge="edge-1", kind="another", waiting=2, at=FIXED_NOW).to_bytes()
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.post("/v1/pointers", content=body).status_code == 204
        assert client.post("/v1/pointers", content=strange).status_code == 204
        assert client.post("/v1/pointers", content=b"{}").status_code == 422
        assert client.post("/v1/pointers", content=b" " * 512).status_code == 413
        numbers = client.get("/metrics").text
    assert 'hearth_pointers_total{kind="question"} 1.0' in numbers
    assert 'hearth_pointers_total{kind="other"} 1.0' in numbers


def test_the_service_takes_none_unless_it_is_told_to(serve: Serve) -> None:
    served = serve(CloudSettings())
    body = edge_protocol.Pointer(edge="edge-1", kind="question", waiting=2, at=FIXED_NOW).to_bytes()
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.post("/v1/pointers", content=body).status_code in (401, 426)
