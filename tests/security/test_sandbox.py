"""No path leads out of the owner's folder, and no file of another kind is opened: allowed and refused, row by row."""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.errors import NotFound, SandboxError, ToolError
from hearth.storage.workspace import Folder, KeyedFolder, Sandbox

SECRET = b"secret of the machine"


@pytest.fixture
def call(folder: Folder, home: Path) -> KeyedFolder:
    """A folder with `docs/a.txt`, and beside it `outside/secret.txt`."""
    (folder.root / "docs").mkdir()
    (folder.root / "docs" / "a.txt").write_bytes(b"mine")
    (home / "outside").mkdir()
    (home / "outside" / "secret.txt").write_bytes(SECRET)
    (folder.root.parent / "owner-too").mkdir()
    (folder.root.parent / "owner-too" / "secret.txt").write_bytes(SECRET)
    return folder.for_call("k")


def everything(call: KeyedFolder, path: str) -> tuple[tuple[str, Callable[[], object]], ...]:
    return (
        ("read", lambda: call.read(path)),
        ("write", lambda: call.write(path, b"x")),
        ("delete", lambda: call.delete(path)),
        ("exists", lambda: call.exists(path)),
        ("stat", lambda: call.stat(path)),
        ("modified", lambda: call.modified(path)),
    )


def outside(home: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in ("outside", "owner-too"):
        found |= {str(p.relative_to(home)): p.read_bytes() for p in (home / part).rglob("*") if p.is_file()}
    return found


@pytest.mark.parametrize(
    "path", ["docs/a.txt", "./docs//a.txt", "docs/./a.txt", "docs/..a", "docs/...", "~/a", "a\\b", "-rf"]
)
def test_allowed_paths(call: KeyedFolder, path: str) -> None:
    call.write(path, b"x")
    assert call.read(path) == b"x"
    assert call.exists(path)
    call.delete(path)


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret.txt", "docs/../../outside/secret.txt", "..", "docs/..", "docs/../docs/a.txt",
        "../owner-too/secret.txt", "/etc/passwd", "//etc/passwd", "/", "", ".", "docs/a.txt\0", "\0", "\ud800",
        "docs/\udcff", "x" * 256, "é" * 128, "/".join(["d"] * 2001), ".hearth-tmp-1", "docs/.hearth-tmp-1/a",
    ],
)  # fmt: skip
def test_refused_paths(call: KeyedFolder, home: Path, path: str) -> None:
    before = outside(home), call.list()
    for name, act in everything(call, path):
        with pytest.raises(SandboxError):
            print(name, act())
    if path not in ("", "."):
        with pytest.raises(SandboxError):
            call.list(path)
    assert (outside(home), call.list()) == before


LINKS = {
    "absolute": ("link", "/etc/passwd"),
    "absolute into the folder": ("link", "{root}/docs/a.txt"),
    "file outside": ("link", "../outside/secret.txt"),
    "nothing outside": ("link", "../outside/new.txt"),
    "sibling with the same beginning": ("link", "../owner-too/secret.txt"),
    "parent outside": ("link/secret.txt", "../outside"),
    "parent outside, new file": ("link/new.txt", "../outside"),
    "parent absolute": ("link/secret.txt", "{home}/outside"),
    "in and out again": ("link", "docs/../../outside/secret.txt"),
    "a loop": ("link", "link"),
    "a loop of folders": ("link/a/b", "link"),
}


@pytest.mark.parametrize("case", LINKS)
def test_symlinks_that_leave_are_refused(call: KeyedFolder, folder: Folder, home: Path, case: str) -> None:
    path, target = LINKS[case]
    (folder.root / "link").symlink_to(target.format(root=folder.root, home=home))
    before = outside(home)
    for name, act in everything(call, path):
        with pytest.raises(SandboxError, match="symlink"):
            print(name, act())
    assert outside(home) == before
    assert call.list() == ("docs/a.txt",)


def test_a_chain_of_links_that_ends_outside_is_refused(call: KeyedFolder, folder: Folder) -> None:
    (folder.root / "docs" / "one").symlink_to("two")
    (folder.root / "docs" / "two").symlink_to("../three/secret.txt")
    (folder.root / "three").symlink_to("../outside")
    for _, act in everything(call, "docs/one"):
        with pytest.raises(SandboxError):
            act()


def test_symlinks_that_stay_inside_lead_to_their_target(call: KeyedFolder, folder: Folder) -> None:
    (folder.root / "link").symlink_to("docs/a.txt")
    (folder.root / "docs" / "up").symlink_to("../docs/../docs/a.txt")
    (folder.root / "folder").symlink_to("./docs/")
    assert call.read("link") == call.read("docs/up") == call.read("folder/a.txt") == b"mine"
    assert call.list() == ("docs/a.txt", "docs/up", "link"), "a linked folder is not entered, its files stand elsewhere"
    call.write("link", b"changed")
    assert (folder.root / "link").is_symlink()
    assert (folder.root / "docs" / "a.txt").read_bytes() == b"changed"
    call.write("folder/new.txt", b"new")
    assert (folder.root / "docs" / "new.txt").read_bytes() == b"new"
    assert folder.changes("k") == ("docs/a.txt", "docs/new.txt")
    folder.undo("k")
    assert call.list() == ("docs/a.txt", "docs/up", "link")
    assert call.read("link") == b"mine"
    with pytest.raises(ToolError, match="is a folder"):
        call.read("folder")


def test_a_dangling_link_is_no_file_and_no_way_to_make_one(call: KeyedFolder, folder: Folder) -> None:
    (folder.root / "link").symlink_to("docs/later.txt")
    (folder.root / "far").symlink_to("nowhere/later.txt")
    for path in ("link", "far", "far/x"):
        assert not call.exists(path)
        with pytest.raises(NotFound):
            call.read(path)
        with pytest.raises(SandboxError, match="symlink to nothing"):
            call.write(path, b"x")
    assert call.list() == ("docs/a.txt",)


def test_what_is_not_looked_at_is_named_with_what_it_is(call: KeyedFolder, folder: Folder, home: Path) -> None:
    root = folder.root
    targets: dict[str, str | Path] = {
        "out": home / "outside",
        "gone": "nowhere",
        "loop": "loop",
        "folder": "docs",
        "inside": "docs/a.txt",
    }
    for name, target in targets.items():
        (root / name).symlink_to(target)
    os.mkfifo(root / "docs" / "pipe")
    (root / "docs").joinpath(os.fsdecode(b"\xff.txt")).write_text("x")
    found = dict(Sandbox(root).unlisted())
    assert {path: what.partition(";")[0] for path, what in found.items()} == {
        "docs/pipe": "a pipe",
        "docs/?.txt": "a name that is no UTF-8",
        "out": "a symbolic link that leads out of the home",
        "gone": "a symbolic link to nothing",
        "loop": "a symbolic link to nothing",
        "folder": "a symbolic link to a folder",
    }
    assert call.list() == ("docs/a.txt", "inside")
    assert found.keys().isdisjoint(call.list())


def test_pipes_sockets_and_devices_are_refused_without_waiting(call: KeyedFolder, folder: Folder) -> None:
    os.mkfifo(folder.root / "pipe")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(folder.root)  # a socket's path must be short
    server.bind("socket")
    os.chdir(here)
    kinds = ["pipe", "socket"]
    if os.geteuid() == 0:
        os.mknod(folder.root / "device", 0o20600, os.makedev(1, 5))  # /dev/zero, which never ends
        kinds.append("device")
    try:
        for path in kinds:
            assert not call.exists(path)
            for act in (lambda p=path: call.read(p), lambda p=path: call.write(p, b"x"), lambda p=path: call.delete(p)):
                with pytest.raises(SandboxError, match="pipe, socket or device; only plain files"):
                    act()
        assert call.list() == ("docs/a.txt",)
    finally:
        server.close()


def test_a_folder_swapped_for_a_link_while_it_is_used_never_leads_out(call: KeyedFolder, folder: Folder) -> None:
    """The race between checking a path and using it, run for real: one thread swaps, the other reads and writes."""
    root = folder.root
    (root / "way").mkdir()
    (root / "way" / "secret.txt").write_bytes(b"mine")
    (root / "trap").symlink_to("../outside")
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    stop = threading.Event()
    faults: list[int] = []

    def swap() -> None:
        while not stop.is_set():
            if exchange(-100, os.fsencode(root / "way"), -100, os.fsencode(root / "trap"), 2):
                faults.append(ctypes.get_errno())
                return

    thread = threading.Thread(target=swap)
    thread.start()
    n_read = n_refused = 0
    try:
        for number in range(3000):
            try:
                assert call.read("way/secret.txt") == b"mine"
                n_read += 1
                if number % 10 == 0:
                    call.write("way/new.txt", f"{number}".encode())
            except ToolError:
                n_refused += 1
    finally:
        stop.set()
        thread.join()
    assert not faults
    assert n_refused, "the link was never met"
    assert n_read, "the race was never near"
    assert outside(root.parent) == {"outside/secret.txt": SECRET, "owner-too/secret.txt": SECRET}


# ── Listings that are kept ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def settled(folder: Folder, call: KeyedFolder, monkeypatch: pytest.MonkeyPatch) -> KeyedFolder:
    """The folder as if nothing had been changed in it for a minute."""
    (folder.root / "docs/deep").mkdir()
    for place in (folder.root, folder.root / "docs", folder.root / "docs/deep"):
        os.utime(place, ns=(0, 0))
    later_ns = time.time_ns() + 60_000_000_000
    monkeypatch.setattr("hearth.storage.workspace.time.time_ns", lambda: later_ns)
    return call


def _swap(root: Path) -> None:
    (root / "docs/deep").rmdir()
    (root / "docs/deep").symlink_to(root.parent / "outside")


@pytest.mark.parametrize(
    ("change", "now"),
    [
        (lambda root: (root / "docs/b.txt").write_text("x"), ["docs/a.txt", "docs/b.txt"]),
        (lambda root: (root / "docs/deep/c.txt").write_text("x"), ["docs/a.txt", "docs/deep/c.txt"]),
        (lambda root: (root / "docs/a.txt").rename(root / "a.txt"), ["a.txt"]),
        (lambda root: (root / "docs/a.txt").unlink(), []),
        (_swap, ["docs/a.txt"]),
    ],
)
def test_what_was_listed_is_listed_again_until_a_folder_changes(
    settled: KeyedFolder, folder: Folder, change: Callable[[Path], object], now: list[str]
) -> None:
    before = settled.list()
    assert before == ("docs/a.txt",)
    assert settled.list() is before
    change(folder.root)
    assert list(settled.list()) == now


def test_a_listing_is_not_kept_while_a_change_may_not_show(call: KeyedFolder, settled: KeyedFolder) -> None:
    (settled._folder.root / "docs/link.txt").symlink_to("a.txt")  # what it leads to goes without a trace here
    os.utime(settled._folder.root / "docs", ns=(0, 0))
    before = settled.list()
    assert before == ("docs/a.txt", "docs/link.txt")
    (settled._folder.root / "docs/a.txt").rename(settled._folder.root / "docs/c.txt")
    os.utime(settled._folder.root / "docs", ns=(0, 0))
    assert settled.list() == ("docs/c.txt",)


def test_a_listing_of_a_folder_that_has_just_changed_is_not_kept(call: KeyedFolder) -> None:
    assert call.list() is not call.list()
