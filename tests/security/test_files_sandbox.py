"""No path that a plan can name leads a file tool out of the owner's documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hearth.errors import NotFound, SandboxError, ToolError
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import make_call
from hearth.tools.files import copy_file, delete_file, find_files, move_file, read_file, write_file

OUTSIDE = [
    "../notes/secret.md",
    "../../etc/passwd",
    "a/../../notes/secret.md",
    "documents/../notes/secret.md",
    "/etc/passwd",
    "//etc/passwd",
    "~/secret",
    "~root/.ssh/id_rsa",
    "C:\\Windows\\win.ini",
    "C:/Windows/win.ini",
    "..\\..\\secret",
    "link-out/secret.txt",
    "link-file.txt",
    "loop/loop/x",
    "a\0b.txt",
    "x" * 300 + ".txt",
    "d/" * 3000 + "f.txt",
    "",
    ".",
    "documents",
    "..",
]


@pytest.fixture
def real(tmp_path: Path) -> Iterator[CallContext]:
    """A real folder whose documents hold symlinks to the outside, beside things that must not be touched."""
    root = tmp_path / "owner"
    (root / "documents").mkdir(parents=True)
    (root / "notes").mkdir()
    (root / "notes" / "secret.md").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    (root / "documents" / "link-out").symlink_to(tmp_path / "outside")
    (root / "documents" / "link-file.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (root / "documents" / "loop").symlink_to(root / "documents" / "loop")
    (root / "documents" / "a.txt").write_text("fine")
    store = Store.open(tmp_path / "hearth.db")
    yield make_call(workspace=Folder(root, store).for_call("k1"))
    store.close()


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path[:24] or "empty")
def test_no_path_leaves_the_documents(path: str, real: CallContext, tmp_path: Path) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: read_file(path, call=real),
        lambda: write_file(path, "overwritten", call=real),
        lambda: delete_file(path, call=real),
        lambda: move_file("a.txt", path, call=real),
        lambda: copy_file("a.txt", path, call=real),
        lambda: move_file(path, "b.txt", call=real),
        lambda: copy_file(path, "b.txt", call=real),
    )
    for attempt in attempts:
        with pytest.raises(ToolError) as caught:
            attempt()
        assert isinstance(caught.value, SandboxError | NotFound), f"{path!r}: {caught.value!r}"
    assert (tmp_path / "outside" / "secret.txt").read_text() == "secret"
    assert (tmp_path / "owner" / "notes" / "secret.md").read_text() == "secret"
    assert (tmp_path / "owner" / "documents" / "a.txt").read_text() == "fine"
    assert sorted(p.name for p in (tmp_path / "outside").iterdir()) == ["secret.txt"]


def test_links_that_lead_out_are_not_found(real: CallContext) -> None:
    assert [file.path for file in find_files(call=real)] == ["documents/a.txt"]
    assert find_files(query="secret", call=real) == []


@pytest.mark.parametrize("name", ["．．/x.txt", "‥/x.txt", "%2e%2e/x.txt", "⁄etc⁄passwd", "a.txt\u200d"])
def test_look_alikes_of_dots_and_slashes_are_plain_names(name: str, real: CallContext, tmp_path: Path) -> None:
    file = write_file(name, "inside", call=real)
    assert read_file(file.path, call=real).text == "inside"
    written = [p for p in (tmp_path / "owner" / "documents").rglob("*") if p.is_file() and p.read_text() == "inside"]
    assert len(written) == 1
