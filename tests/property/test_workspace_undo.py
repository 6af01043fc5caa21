"""Any sequence of calls can be taken back, call by call, and the folder and its double agree throughout."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.errors import ToolError
from hearth.protocols import Workspace
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import InMemoryWorkspace

paths = st.sampled_from(["a.txt", "b.txt", "d", "d/a.txt", "d/e/a.txt", "d/e", "x/y/z.txt"])
contents = st.sampled_from([b"", b"1", b"2", b"3" * 300_000])
operations = st.tuples(paths, st.none() | contents)
calls = st.lists(st.lists(operations, max_size=6), max_size=5)
numbers = itertools.count()


@pytest.fixture(scope="module")
def open_store() -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "hearth.db") as store:
        yield store


def act(workspace: Workspace, path: str, data: bytes | None) -> str:
    """What came of writing `data`, or of deleting when it is None."""
    try:
        workspace.delete(path) if data is None else workspace.write(path, data)
    except ToolError as error:
        return type(error).__name__
    return "done"


def files(workspace: Workspace) -> dict[str, bytes]:
    return {path: workspace.read(path) for path in workspace.list()}


@settings(max_examples=120)
@given(calls=calls, rolls_back=st.booleans())
def test_calls_are_taken_back_from_the_last_to_the_first(
    open_store: Store, calls: list[list[tuple[str, bytes | None]]], rolls_back: bool
) -> None:
    number = next(numbers)
    folder = Folder(open_store.path.parent / str(number), open_store)
    double = InMemoryWorkspace()
    snapshots = []
    for index, operations in enumerate(calls):
        snapshots.append(files(double))
        workspace = folder.for_call(f"{number}-{index}")
        for path, data in operations:
            if not (folder.root / path).is_dir():  # the double keeps no empty folders
                assert act(workspace, path, data) == act(double, path, data)
        assert files(workspace) == files(double)
    for index in reversed(range(len(calls))):
        key = f"{number}-{index}"
        if rolls_back:
            assert folder.rollback(key).conflicts == ()
        else:
            folder.undo(key)
        assert files(folder.for_call("")) == snapshots[index]
    assert [path for path in folder.root.rglob("*") if path.is_file()] == []
