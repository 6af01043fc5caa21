"""A file is replaced whole, or not at all; what a fault leaves behind is nothing."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hearth.atomic_files import replacing
from hearth.errors import StoreError, StoreFullError


def test_it_takes_the_place_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    with replacing(path) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    with replacing(path) as file:
        file.write(b"other")
        assert path.read_bytes() == b"half and half"
    assert path.read_bytes() == b"other"
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("fault", [ValueError("bad"), KeyboardInterrupt()])
def test_a_fault_inside_leaves_the_old_one(tmp_path: Path, fault: BaseException) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def write() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise fault

    with pytest.raises(type(fault)):
        write()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, StoreFullError), (errno.EDQUOT, StoreFullError), (errno.EIO, StoreError)]
)
def test_a_disk_that_takes_no_more_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[StoreError]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"cannot save it to '.*file': .*; it is as before") as caught, replacing(path, "save it to") as file:  # fmt: skip
        file.write(b"new")
    assert type(caught.value) is kind
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_place_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="cannot write"), replacing(tmp_path / "file" / "in it"):
        pass
    with pytest.raises(StoreError, match="Is a directory"), replacing(tmp_path) as file:
        file.write(b"x")


def test_the_mode_of_the_old_one_is_kept_where_that_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for keeps_mode in (True, False):
        path.chmod(0o600)
        with replacing(path, keeps_mode=keeps_mode) as file:
            file.write(b"new")
        assert (path.stat().st_mode & 0o777 == 0o600) == keeps_mode


def test_what_is_soon_written_anew_does_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    monkeypatch.setattr(os, "fsync", waited.append)
    with replacing(tmp_path / "file", is_lasting=False) as file:
        file.write(b"new")
    assert not waited
    with replacing(tmp_path / "file") as file:
        file.write(b"new")
    assert len(waited) == 2  # the file, and the folder that names it
