"""A workspace on a leash: whole until it is cut, then closed for writing."""

from __future__ import annotations

import threading

import pytest

from hearth.errors import CancelledError
from hearth.execution.executor import Leash
from hearth.testing import InMemoryWorkspace


class SlowWorkspace(InMemoryWorkspace):
    """A write takes until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.began = threading.Event()
        self.may_end = threading.Event()

    def write(self, path: str, data: bytes) -> None:
        self.began.set()
        self.may_end.wait(10)
        super().write(path, data)


def test_until_it_is_cut_it_is_the_workspace() -> None:
    inner = InMemoryWorkspace({"a.txt": "a"})
    leash = Leash(inner)
    leash.write("b/c.txt", b"c")
    leash.delete("a.txt")
    assert inner.files == {"b/c.txt": b"c"}
    assert leash.read("b/c.txt") == b"c"
    assert leash.exists("b/c.txt")
    assert not leash.exists("a.txt")
    assert leash.list("b", "*.txt") == ("b/c.txt",)
    assert leash.modified("b/c.txt") == inner.modified("b/c.txt")
    assert leash.stat("b/c.txt") == inner.stat("b/c.txt")


def test_once_cut_it_can_be_read_but_not_written() -> None:
    inner = InMemoryWorkspace({"a.txt": "a"})
    leash = Leash(inner)
    assert leash.cut(1.0)
    with pytest.raises(CancelledError, match="this call was stopped; nothing more is written for it"):
        leash.write("a.txt", b"b")
    with pytest.raises(CancelledError):
        leash.delete("a.txt")
    assert inner.files == {"a.txt": b"a"}
    assert leash.read("a.txt") == b"a"


@pytest.mark.parametrize("ends", [True, False])
def test_cutting_waits_for_a_write_that_is_going_on(ends: bool) -> None:
    inner = SlowWorkspace()
    leash = Leash(inner)
    writer = threading.Thread(target=leash.write, args=("a.txt", b"a"), daemon=True)
    writer.start()
    assert inner.began.wait(5)
    if ends:
        inner.may_end.set()
    assert leash.cut(0.05 if not ends else 5) is ends
    inner.may_end.set()
    writer.join(5)
    assert inner.files == {"a.txt": b"a"}
    with pytest.raises(CancelledError):
        leash.write("b.txt", b"b")
