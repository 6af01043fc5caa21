"""Bytes outside the database: one contract for stores in memory, in a folder and of the S3 kind; and what the service
makes of a store that is gone or holds half an object."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import obstore
import pytest
from cloud_fixtures import Clock, s3_running

from hearth.errors import ConfigError, NotFound, StoreError
from hearth_cloud.storage.cloud_storage import NewPart, Storage
from hearth_cloud.storage.objects import Objects


@pytest.fixture(params=["memory", "folder", "s3"])
def objects(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Objects]:
    if request.param == "memory":
        yield Objects.open("memory:///")
    elif request.param == "folder":
        yield Objects.open(f"file://{tmp_path / 'objects'}")
    else:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "hearth")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "for tests")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        with s3_running() as endpoint:
            yield Objects.open("s3://hearth/town", endpoint)


def test_what_is_written_comes_back_until_it_is_dropped(objects: Objects) -> None:
    objects.ping()
    data = bytes(range(256)) * 1_000
    objects.put("ab/one", data)
    objects.put("ab/two", b"")
    assert objects.get("ab/one") == data
    assert objects.get("ab/two") == b""
    objects.drop(["ab/one", "ab/never"])
    with pytest.raises(NotFound, match="ab/one"):
        objects.get("ab/one")
    assert objects.get("ab/two") == b""


@pytest.mark.parametrize("url", ["nonsense", "ftp://x/y", "s3:"])
def test_an_address_that_is_none_says_what_one_is(url: str) -> None:
    with pytest.raises(ConfigError, match="s3://BUCKET/PREFIX"):
        Objects.open(url)


def test_a_store_that_is_gone_is_said_without_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "hearth")
    gone = Objects.open("s3://hearth/town", "http://127.0.0.1:9")
    with pytest.raises(StoreError, match="object store failed") as fault:
        gone.get("ab/one")
    assert "s3cret" not in str(fault.value)


# ── In the service's storage ──────────────────────────────────────────────────────────────────────────────


class Failing(Objects):
    """A store that fails when it is told to."""

    def __init__(self) -> None:
        self.memory = obstore.store.MemoryStore()
        super().__init__(self.memory)
        self.fails: set[str] = set()

    @property
    def names(self) -> set[str]:
        return {str(one["path"]) for page in obstore.list(self.memory) for one in page}

    def put(self, name: str, data: bytes) -> None:
        if "put" in self.fails:
            super().put(name, data[: len(data) // 2])
            raise StoreError("gone in the middle")
        super().put(name, data)

    def drop(self, names: object) -> None:
        if "drop" in self.fails:
            raise StoreError("gone")
        super().drop(names)  # type: ignore[arg-type]


@pytest.fixture
def failing() -> Failing:
    return Failing()


@pytest.fixture
def kept(tmp_path: Path, clock: Clock, failing: Failing) -> Iterator[Storage]:
    with Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}", clock, objects=failing) as storage:
        storage.add_token("1", "kitchen", "1" * 64, None)
        yield storage


def test_bytes_lie_in_the_store_and_go_with_what_named_them(kept: Storage, failing: Failing) -> None:
    kept.replace_part(NewPart("plain", "kitchen", "statistics", "1", {}), b"first")
    kept.replace_part(NewPart("plain", "kitchen", "statistics", "2", {}), b"second")
    (part,) = kept.parts("plain")
    assert kept.read_blob(part.blob) == b"second"
    assert len(failing.names) == 1  # the first went at once
    kept.drop_edge("kitchen")
    assert failing.names == set()


def test_the_same_bytes_are_kept_once(kept: Storage, failing: Failing) -> None:
    assert kept.put_blob(b"same") == kept.put_blob(b"same")
    assert len(failing.names) == 1


def test_an_object_that_a_killed_process_left_is_deleted_and_none_that_is_named(
    kept: Storage, failing: Failing, clock: Clock
) -> None:
    kept.replace_part(NewPart("plain", "kitchen", "statistics", "1", {}), b"named")
    failing.fails = {"put"}
    with pytest.raises(StoreError):
        kept.put_blob(b"half of it is there")
    assert len(failing.names) == 2
    assert kept.drop_loose_objects() == 0  # somebody may be at work
    clock.wait(3_601)
    assert kept.drop_loose_objects() == 1
    assert kept.read_blob(kept.parts("plain")[0].blob) == b"named"
    assert len(failing.names) == 1


def test_what_a_store_that_is_gone_cannot_delete_is_deleted_later(
    kept: Storage, failing: Failing, clock: Clock
) -> None:
    kept.replace_part(NewPart("plain", "kitchen", "statistics", "1", {}), b"data")
    failing.fails = {"drop"}
    assert kept.drop_part("plain", "kitchen", "statistics")
    assert len(failing.names) == 1
    failing.fails = set()
    clock.wait(3_601)
    assert kept.drop_loose_objects() == 1
    assert failing.names == set()


def test_half_an_object_is_noticed(kept: Storage, failing: Failing) -> None:
    sha256 = kept.put_blob(b"a whole object")
    (name,) = failing.names
    obstore.put(failing.memory, name, b"a whole")
    with pytest.raises(StoreError, match="other bytes"):
        kept.read_blob(sha256)


def test_blobs_written_before_there_was_a_store_are_still_read(tmp_path: Path, clock: Clock, failing: Failing) -> None:
    url = f"sqlite:///{tmp_path / 'cloud.db'}"
    with Storage.open(url, clock) as before:
        sha256 = before.put_blob(b"old")
    with Storage.open(url, clock, objects=failing) as now:
        assert now.read_blob(sha256) == b"old"
        new = now.put_blob(b"new")
    with Storage.open(url, clock) as without, pytest.raises(StoreError, match="objects"):
        without.read_blob(new)
