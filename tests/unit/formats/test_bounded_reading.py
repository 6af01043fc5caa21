"""What a stranger's bytes do to the process that reads them is that item's fault, and nobody else's."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.errors import Unreadable
from hearth.formats.bounded_reading import Bounds, _Workers, read_bounded
from hearth.formats.reading_worker import IDLE_S

READERS = """
import json, os, signal, socket, time
from hearth.errors import Unreadable

def read(data, options):
    match options["how"]:
        case "well":
            yield json.dumps({"pid": os.getpid(), "variables": sorted(os.environ), "data": data.decode()}).encode()
        case "in words":
            raise Unreadable("it is encrypted")
        case "spin":
            while True:
                pass
        case "sleep":
            time.sleep(60)
        case "swell":
            yield bytes(bytearray(2_000_000_000))
        case "answer":
            while True:
                yield b"x" * 300_000
        case "fall":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "leave":
            os._exit(0)
        case "recurse":
            yield from read(data, options)
        case "write":
            open(options["path"], "w").write("here")
        case "connect":
            socket.create_connection(("127.0.0.1", 9))
        case "start":
            os.system("true")
"""
BOUNDS = Bounds(cpu_s=0, wait_s=10, n_most_bytes=1_000_000)


@pytest.fixture
def workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Workers]:
    (tmp_path / "hostile_readers.py").write_text(READERS)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("HEARTH_HOME_PASSPHRASE", "tulip")
    workers = _Workers()
    yield workers
    workers.end()


def read(workers: _Workers, how: str, data: bytes = b"", bounds: Bounds = BOUNDS, path: str = "") -> bytes:
    return workers.read("hostile_readers:read", {"how": how, "path": path}, data, bounds)


def test_items_are_read_by_one_process_that_knows_no_secret(workers: _Workers) -> None:
    first, second = (json.loads(read(workers, "well", text.encode())) for text in ("one", "two" * 200_000))
    assert first["pid"] == second["pid"] != os.getpid()
    assert (first["data"], second["data"]) == ("one", "two" * 200_000)
    assert "HEARTH_HOME_PASSPHRASE" not in first["variables"]


@pytest.mark.parametrize(
    ("how", "bounds", "why"),
    [
        ("in words", BOUNDS, "it is encrypted"),
        ("spin", BOUNDS, "more than 0 s of the processor"),
        ("sleep", Bounds(cpu_s=5, wait_s=0.3, n_most_bytes=1_000_000), "takes longer than 0 s"),
        ("swell", BOUNDS, "more memory"),
        ("recurse", BOUNDS, "more memory"),
        ("answer", BOUNDS, "over 1,000,000 bytes"),
        ("fall", BOUNDS, "its reader broke on it"),
        ("leave", BOUNDS, "no process could be kept alive"),
        ("write", BOUNDS, "PermissionError"),
        ("connect", BOUNDS, "PermissionError"),
        ("start", BOUNDS, "PermissionError"),
    ],
)
def test_what_breaks_a_reader_is_named_and_the_next_item_is_read(
    workers: _Workers, tmp_path: Path, how: str, bounds: Bounds, why: str
) -> None:
    with pytest.raises(Unreadable, match=why):
        read(workers, how, bounds=bounds, path=str(tmp_path / "written"))
    assert not (tmp_path / "written").exists()
    assert json.loads(read(workers, "well", b"next"))["data"] == "next"


def test_a_process_that_ended_while_idle_is_replaced(workers: _Workers) -> None:
    first = json.loads(read(workers, "well"))["pid"]
    os.kill(first, 9)
    for _ in range(1_000):
        if Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.002)
    assert json.loads(read(workers, "well"))["pid"] != first
    assert IDLE_S > 0


def test_a_reader_that_there_is_not_reads_nothing() -> None:
    with pytest.raises(Unreadable, match="damaged: ModuleNotFoundError"):
        read_bounded("hearth.no_such_module:read", b"", BOUNDS)
