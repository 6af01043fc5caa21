"""What the cloud offers: carried on, verified, never an older one, never half."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hearth.edge import enrolment
from hearth.edge.cloud_link import MAX_BYTES, Link, Taken, TakenKind, Wanted, artifact_folder, fetch, taken
from hearth.errors import LinkError, StoreFullError, WireError
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from tests.small_cloud import AWAY, LOST, TOKEN, URL, DoorTo, SmallCloud

DATA = bytes(range(256)) * 400


class Cutting(httpx.SyncByteStream):
    """A body that breaks off."""

    def __init__(self, data: bytes, n_bytes: int) -> None:
        self._data, self._n_bytes = data, n_bytes

    def __iter__(self) -> Iterator[bytes]:
        yield self._data[: self._n_bytes]
        raise httpx.ReadError("the connection was cut")


def as_it_is(answer: httpx.Response) -> httpx.Response:
    return answer


def cut_after(n_bytes: int) -> Callable[[httpx.Response], httpx.Response]:
    def cut(answer: httpx.Response) -> httpx.Response:
        kept = {name: value for name, value in answer.headers.items() if name == "content-range"}
        return httpx.Response(answer.status_code, headers=kept, stream=Cutting(answer.content, n_bytes))

    return cut


class Home:
    def __init__(self, store: Store, path: Path) -> None:
        self.store, self.path = store, path
        self.cloud = SmallCloud()
        enrolment.join(store, path, enrolment.Cloud(URL, "small", self.cloud.public_key), "edge-1", TOKEN, FIXED_NOW)

    def fetch(self, most_bytes: int | None = None, kind: TakenKind = "prior") -> Taken | None:
        link = Link(URL, DoorTo(self.cloud), lambda: TOKEN, "edge-1")
        wanted = Wanted(kind, "small", most_bytes)
        return fetch(link, self.store, self.path, wanted, self.cloud.public_key, lambda: FIXED_NOW)

    def files(self) -> list[str]:
        return (
            sorted(one.name for one in artifact_folder(self.path).iterdir())
            if artifact_folder(self.path).exists()
            else []
        )


@pytest.fixture
def edge(store: Store, home: Path) -> Home:
    return Home(store, home)


def test_what_is_there_is_fetched_once(edge: Home) -> None:
    assert edge.fetch() is None
    manifest = edge.cloud.offer("prior", DATA)
    found = edge.fetch()
    assert found is not None
    assert found.path.read_bytes() == DATA
    assert taken(edge.store, edge.path, "prior") == found
    n = len(edge.cloud.requests)
    edge.fetch()
    assert len(edge.cloud.requests) == n + 1, "the manifest alone is asked for again"
    assert edge.files() == [manifest.sha256]


def test_a_newer_one_takes_the_place_of_the_older(edge: Home) -> None:
    edge.cloud.offer("prior", DATA)
    edge.fetch()
    newer = edge.cloud.offer("prior", DATA + b"more", 2)
    edge.fetch()
    assert edge.files() == [newer.sha256]


def test_of_other_features_the_numbers_are_others(edge: Home) -> None:
    edge.cloud.offer("prior", DATA, 5)
    edge.fetch()
    other = edge.cloud.offer("prior", DATA + b"more", 3).model_copy(update={"fingerprint": "g"})
    edge.cloud.manifests["prior"] = other.signed(edge.cloud.key)
    found = edge.fetch()
    assert found is not None
    assert found.manifest.serial == 3


def test_an_older_one_is_not_taken_although_it_is_signed(edge: Home) -> None:
    edge.cloud.offer("prior", DATA + b"more", 5)
    edge.fetch()
    for serial in (4, 5):
        edge.cloud.offer("prior", DATA, serial)
        with pytest.raises(WireError, match="an older one is not taken"):
            edge.fetch()
    found = taken(edge.store, edge.path, "prior")
    assert found is not None
    assert found.manifest.serial == 5


def test_the_servers_clock_does_not_say_what_is_newer(edge: Home) -> None:
    edge.cloud.offer("prior", DATA, 1)
    edge.fetch()
    manifest = edge.cloud.offer("prior", DATA + b"more", 2).model_copy(
        update={"made": dt.datetime(1999, 1, 1, tzinfo=dt.UTC), "signature": ""}
    )
    edge.cloud.manifests["prior"] = manifest.signed(edge.cloud.key)
    found = edge.fetch()
    assert found is not None
    assert found.manifest.serial == 2


@pytest.mark.parametrize(
    "changes", [{"n_bytes": 7}, {"n_edges": 9}, {"fingerprint": "other"}, {"epsilon": 0.0}, {"signature": ""}]
)
def test_a_manifest_that_was_changed_is_not_believed(edge: Home, changes: dict[str, Any]) -> None:
    edge.cloud.offer("prior", DATA, **changes)
    with pytest.raises(WireError, match="not signed by the service this device joined"):
        edge.fetch()
    assert edge.files() == []


def test_another_key_is_not_believed(edge: Home) -> None:
    edge.cloud.key = Ed25519PrivateKey.generate()
    edge.cloud.offer("prior", DATA)
    link = Link(URL, DoorTo(edge.cloud), lambda: TOKEN, "edge-1")
    pinned = edge.store.query("SELECT public_key FROM edge_link")[0][0]
    with pytest.raises(WireError, match="not signed"):
        fetch(link, edge.store, edge.path, Wanted("prior"), pinned, lambda: FIXED_NOW)


def test_another_kind_is_not_taken_for_it(edge: Home) -> None:
    edge.cloud.offer("adapter", DATA)
    edge.cloud.manifests["prior"] = edge.cloud.manifests["adapter"]
    with pytest.raises(WireError, match="asked for was: prior, offered was: adapter"):
        edge.fetch()


@pytest.mark.parametrize("data", [DATA[:-1] + b"x", DATA[:-5], DATA + b"more", b""])
def test_other_bytes_than_were_signed_are_thrown_away(edge: Home, data: bytes) -> None:
    manifest = edge.cloud.offer("prior", DATA)
    edge.cloud.blobs[manifest.sha256] = data
    with pytest.raises((WireError, LinkError)):
        edge.fetch()
    assert manifest.sha256 not in edge.files()
    edge.cloud.blobs[manifest.sha256] = DATA
    found = edge.fetch()
    assert found is not None
    assert found.path.read_bytes() == DATA


@pytest.mark.parametrize("resumes", [True, False])
def test_cut_off_it_is_carried_on(edge: Home, resumes: bool) -> None:
    manifest = edge.cloud.offer("prior", DATA)
    edge.cloud.resumes = resumes
    for n in (1000, 30_000):
        edge.cloud.faults = [as_it_is, cut_after(n)]
        with pytest.raises(LinkError):
            edge.fetch()
    assert edge.files() == [f"{manifest.sha256}.part"]
    found = edge.fetch()
    assert found is not None
    assert found.path.read_bytes() == DATA
    ranges = [request.headers.get("range") for request in edge.cloud.requests if "blobs" in request.url.path]
    assert ranges == ([None, "bytes=1000-", "bytes=31000-"] if resumes else [None, "bytes=1000-", "bytes=30000-"])


@pytest.mark.parametrize("fault", [AWAY, LOST])
@pytest.mark.parametrize("place", [0, 1])
def test_away_it_is_fetched_next_time(edge: Home, fault: str, place: int) -> None:
    edge.cloud.offer("prior", DATA)
    edge.cloud.faults = [*([as_it_is] * place), fault]
    with pytest.raises(LinkError):
        edge.fetch()
    assert edge.fetch() is not None


def test_what_is_too_large_stays_there(edge: Home) -> None:
    edge.cloud.offer("prior", DATA)
    with pytest.raises(WireError, match="at most 1,000 are taken"):
        edge.fetch(most_bytes=1000)
    assert len(edge.cloud.requests) == 1


@pytest.mark.parametrize("kind", ["prior", "adapter"])
def test_a_kind_has_its_own_bound_and_the_profile_is_asked_for(edge: Home, kind: TakenKind) -> None:
    edge.cloud.offer(kind, DATA)
    said = edge.cloud.manifests[kind]
    edge.cloud.manifests[kind] = said.model_copy(update={"n_bytes": MAX_BYTES[kind] + 1}).signed(edge.cloud.key)
    with pytest.raises(WireError, match=f"at most {MAX_BYTES[kind]:,} are taken"):
        edge.fetch(kind=kind)
    edge.cloud.manifests[kind] = said
    assert edge.fetch(kind=kind) is not None
    assert edge.cloud.requests[0].url.query == b"profile=small"
    assert MAX_BYTES["adapter"] < MAX_BYTES["prior"]


def test_an_adapter_is_numbered_apart_from_priors_and_never_older(edge: Home) -> None:
    edge.cloud.offer("prior", DATA, 7)
    edge.fetch()
    first = edge.cloud.offer("adapter", DATA[:1000], 2)
    assert edge.fetch(kind="adapter") is not None
    for serial in (1, 2):
        edge.cloud.offer("adapter", DATA[:500], serial)
        with pytest.raises(WireError, match="an older one is not taken"):
            edge.fetch(kind="adapter")
    kept = taken(edge.store, edge.path, "adapter")
    assert kept is not None
    assert kept.manifest.sha256 == first.sha256
    assert len(edge.files()) == 2


def test_a_prior_is_not_taken_for_an_adapter(edge: Home) -> None:
    edge.cloud.manifests["adapter"] = edge.cloud.offer("prior", DATA)
    with pytest.raises(WireError, match="asked for was: adapter, offered was: prior"):
        edge.fetch(kind="adapter")


def test_a_full_disk_leaves_the_one_before(edge: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    edge.cloud.offer("prior", DATA)
    before = edge.fetch()
    edge.cloud.offer("prior", DATA + b"more", 2)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreFullError, match="no space left for the prior"):
            edge.fetch()
    assert taken(edge.store, edge.path, "prior") == before
    found = edge.fetch()
    assert found is not None
    assert found.manifest.serial == 2


@pytest.mark.parametrize("harm", ["changed", "cut", "gone"])
def test_a_file_that_was_changed_here_is_noticed_and_fetched_again(edge: Home, harm: str) -> None:
    edge.cloud.offer("prior", DATA)
    found = edge.fetch()
    assert found is not None
    if harm == "gone":
        found.path.unlink()
    else:
        found.path.write_bytes(DATA[:-1] + b"y" if harm == "changed" else DATA[:-1])
    with pytest.raises(WireError, match="is not what was fetched"):
        taken(edge.store, edge.path, "prior")
    again = edge.fetch()
    assert again is not None
    assert again.path.read_bytes() == DATA


def test_nothing_is_taken_where_nothing_was(edge: Home) -> None:
    assert taken(edge.store, edge.path, "prior") is None
