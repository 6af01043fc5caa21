"""Files among the owner's documents: found, read in many encodings, written, moved without loss."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from hearth.errors import Ambiguous, Conflict, NotFound, ToolError
from hearth.formats.tool_signature import FunctionTool
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, InMemoryWorkspace, check_tool, make_call
from hearth.tools.files import File, copy_file, delete_file, find_files, move_file, read_file, write_file

DOCUMENTS: dict[str, bytes | str] = {
    "documents/rental-contract.txt": "The rent is 900 euros.",
    "documents/house/roof-report.md": "# Roof\nTwo tiles are loose.",
    "documents/house/plan.csv": "room,size\nkitchen,12",
    "documents/photos/fuse_box.JPG": b"\xff\xd8\xff\xe0 picture",
    "documents/insurance/letter.txt": "The expired policy of the bike.",
    "documents/old/letter.txt": "Dear council,",
    "documents/.cache/roof.txt": "hidden",
    "documents/song.mp3": b"ID3\x03\0\0",
    "notes/roof.md": "not a document",
}


@pytest.fixture
def call() -> CallContext:
    workspace = InMemoryWorkspace(DOCUMENTS)
    for days, path in enumerate(sorted(workspace.files)):
        workspace.times[path] = FIXED_NOW.astimezone(dt.UTC) - dt.timedelta(days=days)
    return make_call(workspace=workspace)


def paths(found: list[File]) -> list[str]:
    return [str(file.path).removeprefix("documents/") for file in found]


# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rental contract", ["rental-contract.txt"]),
        ("the Rental Contracts file", ["rental-contract.txt"]),
        ("roof report", ["house/roof-report.md"]),
        ("fuse box", ["photos/fuse_box.JPG"]),
        ("a photo of the fuse box", ["photos/fuse_box.JPG"]),
        ("letter", ["insurance/letter.txt", "old/letter.txt"]),
        ("expired insurance letter", ["insurance/letter.txt"]),
        ("loose tiles", ["house/roof-report.md"]),
        ("hous", ["house/plan.csv", "house/roof-report.md"]),
        ("swimming pool", []),
    ],
)
def test_files_are_found_by_name_and_by_text(query: str, expected: list[str], call: CallContext) -> None:
    assert paths(find_files(query=query, call=call)) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("image", ["photos/fuse_box.JPG"]),
        ("spreadsheet", ["house/plan.csv"]),
        ("audio", ["song.mp3"]),
        ("video", []),
        ("document", ["house/roof-report.md", "insurance/letter.txt", "old/letter.txt", "rental-contract.txt"]),
    ],
)
def test_files_are_found_by_kind(kind: str, expected: list[str], call: CallContext) -> None:
    assert paths(find_files(kind=kind, call=call)) == expected


def test_files_come_newest_first_and_within_a_time(call: CallContext) -> None:
    found = find_files(call=call)
    times = [file.modified for file in found]
    assert times == sorted(times, reverse=True)
    assert all(file.modified.tzinfo is FIXED_NOW.tzinfo for file in found)
    assert len(found) == 7, "hidden files and notes are not listed"
    start, end = FIXED_NOW - dt.timedelta(days=2), FIXED_NOW - dt.timedelta(days=1)
    inside = find_files(start=start, end=end, call=call)
    assert [file.modified for file in inside] == [start], "start counts, end does not"


def test_accents_and_case_make_no_difference() -> None:
    call = make_call(workspace=InMemoryWorkspace({"documents/Übergabe-Protokoll.txt": "x"}))
    assert paths(find_files(query="ubergabe PROTOKOLL", call=call)) == ["Übergabe-Protokoll.txt"]


def test_more_than_can_be_listed_is_said() -> None:
    files = {f"documents/{n:03d}.txt": "x" for n in range(130)}
    call = make_call(workspace=InMemoryWorkspace(files))
    assert len(find_files(call=call)) == 100
    assert call.notices == ["130 files were found; the newest 100 are given."]


def test_a_search_stops_when_cancelled(call: CallContext) -> None:
    call.cancelled.set()
    with pytest.raises(ToolError, match="stopped before all files"):
        find_files(call=call)


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße, 東京 🔥".encode(), "Grüße, 東京 🔥"),
        ("Grüße".encode("utf-8-sig"), "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        ("Grüße".encode("utf-32"), "Grüße"),
        ("Grüße – 5 €".encode("cp1252"), "Grüße – 5 €"),
        (b"", ""),
        (b"a\r\nb", "a\r\nb"),
        (b"x" * 150_000 + b"\0y", "x" * 150_000 + "\ufffdy"),
    ],
)
def test_text_is_read_whatever_its_encoding(data: bytes, text: str) -> None:
    call = make_call(workspace=InMemoryWorkspace({"documents/a.txt": data}))
    assert read_file("a.txt", call=call).text == text


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.pdf", b"%PDF-1.7\0\1\2", "a PDF document"),
        ("a.docx", b"PK\x03\x04\0\0", "a packed file"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0", "a picture"),
        ("a.mkv", b"\x1aE\xdf\xa3\0", "a video"),
        ("a.dat", bytes(range(256)) * 10, "a binary file .2.6 kB."),
        ("bad16.txt", b"\xff\xfe\x00", "a binary file"),
    ],
)
def test_what_is_no_text_is_refused_with_its_kind(name: str, data: bytes, said: str) -> None:
    call = make_call(workspace=InMemoryWorkspace({f"documents/{name}": data}))
    with pytest.raises(ToolError, match=f"{said}.*not text; I can read text files only"):
        read_file(name, call=call)


def test_a_long_text_is_cut_and_that_is_said() -> None:
    call = make_call(workspace=InMemoryWorkspace({"documents/log.txt": "x" * 250_000}))
    assert len(read_file("log.txt", call=call).text) == 200_000
    assert call.notices == ["documents/log.txt has 250,000 characters; only the first 200,000 were read."]


def test_a_huge_file_is_not_even_read() -> None:
    call = make_call(workspace=InMemoryWorkspace({"documents/log.txt": bytes(51_000_000)}))
    with pytest.raises(ToolError, match="has 51 MB; I read text files up to 50 MB"):
        read_file("log.txt", call=call)


@pytest.mark.parametrize(
    "said",
    [
        "rental-contract.txt",
        "documents/rental-contract.txt",
        "./rental-contract.txt",
        "Rental-Contract",
        " rental-contract.txt ",
    ],
)
def test_a_file_is_known_by_its_name(said: str, call: CallContext) -> None:
    assert read_file(said, call=call).text == "The rent is 900 euros."


def test_a_name_alone_finds_a_file_in_a_folder(call: CallContext) -> None:
    assert read_file("roof-report.md", call=call).path == "documents/house/roof-report.md"


def test_two_files_of_a_name_ask_which(call: CallContext) -> None:
    with pytest.raises(Ambiguous, match=r"'documents/insurance/letter.txt', 'documents/old/letter.txt'; say which"):
        read_file("letter.txt", call=call)
    assert read_file("old/letter.txt", call=call).text == "Dear council,"


def test_a_missing_file_names_the_nearest(call: CallContext) -> None:
    with pytest.raises(
        NotFound, match=r"no file 'rental-contact.txt' in your documents; near it: 'rental-contract.txt'"
    ):
        read_file("rental-contact.txt", call=call)
    with pytest.raises(NotFound, match=r"near it: 'house/roof-report.md'"):
        read_file("roof", call=call)
    with pytest.raises(NotFound, match="find_files lists"):
        read_file("zzz", call=call)


# ── Changing ──────────────────────────────────────────────────────────────────────────────────────────────


def files_of(call: CallContext) -> dict[str, bytes]:
    assert isinstance(call.workspace, InMemoryWorkspace)
    return call.workspace.files


def test_a_text_is_saved_exactly(call: CallContext) -> None:
    file = write_file("ideas.txt", "call it Hazel 🔥\n\tשלום", call=call)
    assert (file.path, file.name, file.modified) == ("documents/ideas.txt", "ideas.txt", FIXED_NOW)
    assert files_of(call)["documents/ideas.txt"].decode() == "call it Hazel 🔥\n\tשלום"
    assert file.size_bytes == len(files_of(call)["documents/ideas.txt"])


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("letters/", "x", "names a folder"),
        ("a.pdf", "x", "cannot be saved as a .pdf file; use .txt"),
        ("a.txt", "a\0b", "NUL"),
        ("a.txt", "\ud800", "half of a character"),
        ("a.txt", "x" * 5_000_001, "has 5 MB; expected at most 5 MB"),
        ("invoice\u202efdp.txt", "x", "invisible character"),
        ("a\nb.txt", "x", "invisible character"),
    ],
)
def test_what_is_not_saved(path: str, text: str, message: str, call: CallContext) -> None:
    before = dict(files_of(call))
    with pytest.raises(ToolError, match=message):
        write_file(path, text, call=call)
    assert files_of(call) == before


@pytest.mark.parametrize(
    ("path", "to", "target"),
    [
        ("rental-contract.txt", "contract-old.txt", "contract-old.txt"),
        ("rental-contract.txt", "contract-old", "contract-old.txt"),
        ("roof-report.md", "roof.md", "house/roof.md"),
        ("house/roof-report.md", "documents/roof.md", "roof.md"),
        ("rental-contract.txt", "taxes/rent.txt", "taxes/rent.txt"),
        ("rental-contract.txt", "taxes/", "taxes/rental-contract.txt"),
        ("rental-contract.txt", "house", "house/rental-contract.txt"),
        ("rental-contract.txt", "house/", "house/rental-contract.txt"),
    ],
)
def test_where_a_moved_file_comes_to_lie(path: str, to: str, target: str, call: CallContext) -> None:
    before = dict(files_of(call))
    source = read_file(path, call=call).path
    file = move_file(path, to, call=call)
    assert file.path == f"documents/{target}"
    assert files_of(call)[file.path] == before.pop(source)
    assert {p: d for p, d in files_of(call).items() if p != file.path} == before


def test_a_copy_leaves_the_original(call: CallContext) -> None:
    before = dict(files_of(call))
    file = copy_file("house/plan.csv", "plan-b.csv", call=call)
    assert file.path == "documents/house/plan-b.csv"
    assert files_of(call) == {**before, file.path: before["documents/house/plan.csv"]}


@pytest.mark.parametrize("act", [move_file, copy_file])
def test_no_file_is_replaced(act: FunctionTool, call: CallContext) -> None:
    before = dict(files_of(call))
    with pytest.raises(Conflict, match=r"'documents/old/letter.txt' exists already and is not replaced"):
        act("insurance/letter.txt", "old/letter.txt", call=call)
    with pytest.raises(Conflict, match="there already under that name"):
        act("old/letter.txt", "old/letter.txt", call=call)
    assert files_of(call) == before


def test_deleting_answers_what_was_deleted(call: CallContext) -> None:
    file = delete_file("song.mp3", call=call)
    assert (file.path, file.size_bytes) == ("documents/song.mp3", 6)
    assert "documents/song.mp3" not in files_of(call)
    with pytest.raises(NotFound):
        delete_file("song.mp3", call=call)


@pytest.mark.parametrize("tool", [move_file, copy_file, delete_file, write_file])
def test_changes_are_taken_back_by_the_journal(tool: FunctionTool, tmp_path: Path) -> None:
    store = Store.open(tmp_path / "hearth.db")
    folder = Folder(tmp_path / "owner", store)
    folder.for_call("setup").write("documents/a.txt", b"old")
    call = make_call(key="k2", workspace=folder.for_call("k2"))
    arguments = {move_file: ("a.txt", "b.txt"), copy_file: ("a.txt", "b.txt"), write_file: ("a.txt", "new")}
    tool(*arguments.get(tool, ("a.txt",)), call=call)
    assert folder.changes("k2")
    folder.undo("k2")
    left = folder.for_call("k3")
    assert left.list() == ("documents/a.txt",)
    assert left.read("documents/a.txt") == b"old"
    store.close()


def test_contract(call: CallContext) -> None:
    check_tool(find_files, {"query": "roof", "kind": "any"}, call)
    check_tool(read_file, {"path": "rental-contract.txt"}, call)
    check_tool(write_file, {"path": "ideas.txt", "text": "call it Hazel"}, call)
    check_tool(move_file, {"path": "rental-contract.txt", "to": "old/rent.txt"}, call)
    check_tool(copy_file, {"path": "rental-contract.txt", "to": "old/rent.txt"}, call)
    check_tool(delete_file, {"path": "rental-contract.txt"}, call)
