"""The owner's folder: what a call wrote can be taken back, exactly, and nothing else is touched."""

from __future__ import annotations

import datetime as dt
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from hearth.errors import Conflict, SandboxError, ToolError
from hearth.storage.database import Store
from hearth.storage.workspace import TEMPORARY_PREFIX, Folder, RollbackReport, path_parts

LARGE = bytes(range(256)) * 4096  # 1 MB: its before-image is kept as a file


def disk(folder: Folder) -> dict[str, bytes]:
    """Every file below the folder as it lies on disk, unfinished writes included."""
    return {str(p.relative_to(folder.root)): p.read_bytes() for p in folder.root.rglob("*") if p.is_file()}


def put(folder: Folder, path: str, data: bytes) -> None:
    """A file of the owner's, written without Hearth."""
    target = folder.root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def test_rollback_puts_back_every_kind_of_change_in_reverse_order(folder: Folder) -> None:
    put(folder, "changed.txt", b"old")
    put(folder, "deleted.txt", b"gone")
    put(folder, "large.bin", LARGE)
    put(folder, "twice.txt", b"0")
    os.chmod(folder.root / "changed.txt", 0o640)
    os.utime(folder.root / "changed.txt", ns=(1_000_000_007, 1_000_000_007))
    before = disk(folder)
    call = folder.for_call("k")
    call.write("changed.txt", b"new")
    call.delete("deleted.txt")
    call.write("deleted.txt/inside.txt", b"a folder where a file was")
    call.write("large.bin", b"small")
    call.write("new/deep/file.txt", b"made")
    call.write("twice.txt", b"1")
    call.write("twice.txt", b"2")
    call.write("brief.txt", b"x")
    call.delete("brief.txt")
    assert folder.changes("k")[0] == "changed.txt"

    report = folder.rollback("k")
    assert disk(folder) == before
    assert set(report.restored) == {
        "changed.txt", "deleted.txt", "deleted.txt/inside.txt", "large.bin", "new/deep/file.txt", "twice.txt",
    }  # fmt: skip
    assert report.conflicts == ()
    assert not (folder.root / "new").exists(), "folders that the call made are removed"
    status = (folder.root / "changed.txt").stat()
    assert (status.st_mode & 0o777, status.st_mtime_ns) == (0o640, 1_000_000_007)
    assert folder.rollback("k") == RollbackReport((), ())
    assert folder.undo("k") == ()


def test_a_call_run_again_after_a_rollback_can_be_rolled_back_again(folder: Folder) -> None:
    put(folder, "a.txt", b"old")
    for _ in range(2):
        folder.for_call("k").write("a.txt", b"new")
        folder.rollback("k")
        assert disk(folder) == {"a.txt": b"old"}
    folder.for_call("k").write("a.txt", b"new")
    assert folder.undo("k") == ("a.txt",)


def test_undo_survives_closing_and_opening(home: Path) -> None:
    with Store.open(home / "hearth.db") as store:
        folder = Folder(home / "owner", store)
        put(folder, "large.bin", LARGE)
        folder.for_call("k").write("large.bin", b"small")
    with Store.open(home / "hearth.db") as store:
        folder = Folder(home / "owner", store)
        assert folder.undo("k") == ("large.bin",)
        assert disk(folder) == {"large.bin": LARGE}


def test_undo_refuses_what_was_changed_since_and_touches_nothing(folder: Folder) -> None:
    folder.for_call("k").write("mine.txt", b"made")
    folder.for_call("k").write("other.txt", b"made")
    put(folder, "mine.txt", b"edited by hand")
    with pytest.raises(Conflict, match=r"cannot undo: 'mine.txt' was changed since by the owner .*nothing was changed"):
        folder.undo("k")
    assert disk(folder) == {"mine.txt": b"edited by hand", "other.txt": b"made"}


def test_undo_names_the_later_call_and_works_from_the_last_backwards(folder: Folder) -> None:
    for key in ("first", "second", "third"):
        folder.for_call(key).write("list.txt", key.encode())
    with pytest.raises(Conflict, match="changed again by a later call \\('third'\\): undo that first"):
        folder.undo("first")
    for key, left in (("third", b"second"), ("second", b"first"), ("first", None)):
        assert folder.undo(key) == ("list.txt",)
        assert disk(folder).get("list.txt") == left


def test_rollback_leaves_a_changed_file_alone_and_restores_the_others(folder: Folder) -> None:
    put(folder, "a.txt", b"a")
    put(folder, "gone.txt", b"g")
    call = folder.for_call("k")
    call.write("a.txt", b"A")
    call.write("b.txt", b"B")
    call.write("gone.txt", b"G")
    put(folder, "b.txt", b"edited")
    (folder.root / "gone.txt").unlink()
    (folder.root / "gone.txt").mkdir()
    report = folder.rollback("k")
    assert report == RollbackReport(("a.txt",), ("gone.txt", "b.txt"))
    assert disk(folder) == {"a.txt": b"a", "b.txt": b"edited"}


def test_an_edit_between_two_writes_of_one_call_is_never_lost(folder: Folder) -> None:
    put(folder, "a.txt", b"old")
    folder.for_call("k").write("a.txt", b"new")
    put(folder, "a.txt", b"edited")
    folder.for_call("k").write("a.txt", b"newer")
    assert folder.rollback("k").conflicts == ("a.txt",)
    assert disk(folder) == {"a.txt": b"newer"}


def test_writing_what_is_there_already_changes_nothing(folder: Folder) -> None:
    put(folder, "a.txt", b"same")
    fingerprint = folder.for_call("").stat("a.txt")
    folder.for_call("k").write("a.txt", b"same")
    assert folder.for_call("").stat("a.txt") == fingerprint
    assert folder.changes("k") == ()


def test_a_file_replaced_while_it_is_written_is_a_conflict(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, "a.txt", b"old")
    journal = Folder._journal

    def meanwhile(*arguments: object) -> int:
        put(folder, "a.txt", b"edited by another program")
        return journal(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Folder, "_journal", meanwhile)
    with pytest.raises(Conflict, match="is being changed by another program; nothing was written; try again"):
        folder.for_call("k").write("a.txt", b"new")
    with pytest.raises(Conflict, match="is being changed"):
        folder.for_call("k").delete("a.txt")
    assert disk(folder) == {"a.txt": b"edited by another program"}
    assert folder.changes("k") == ()


def test_a_write_that_fails_leaves_nothing_behind(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(ToolError, match=r"cannot write 'new/a.txt': Input/output error; nothing was changed"):
        folder.for_call("k").write("new/a.txt", b"x")
    assert list(folder.root.rglob("*")) == []
    assert folder.changes("k") == ()


def test_a_file_without_permission_is_a_tool_error(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    put(folder, "closed.txt", b"x")
    really_open = os.open

    def refuse(path: str, *arguments: int, **keywords: int) -> int:
        if path == "closed.txt":  # file modes would not stop a test that runs as root
            raise PermissionError(13, "Permission denied")
        return really_open(path, *arguments, **keywords)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ToolError, match=r"cannot open 'closed.txt': Permission denied; nothing was changed; check its"):
        folder.for_call("").read("closed.txt")


def test_a_file_too_large_to_read_says_so(folder: Folder) -> None:
    with (folder.root / "film.bin").open("wb") as file:
        file.truncate(70_000_000)
    with pytest.raises(ToolError, match=r"'film.bin' has 70 MB; at most 67 MB can be read"):
        folder.for_call("").read("film.bin")
    assert folder.for_call("").stat("film.bin").size_bytes == 70_000_000


def test_deleting_a_very_large_file_can_be_undone(folder: Folder) -> None:
    with (folder.root / "film.bin").open("wb") as file:
        file.truncate(70_000_000)
    folder.for_call("k").delete("film.bin")
    assert folder.undo("k") == ("film.bin",)
    assert (folder.root / "film.bin").stat().st_size == 70_000_000


def test_a_damaged_or_missing_before_image_is_never_restored(folder: Folder, home: Path) -> None:
    put(folder, "large.bin", LARGE)
    folder.for_call("k").write("large.bin", b"small")
    (image,) = (home / "journal").iterdir()
    image.write_bytes(b"damaged")
    assert folder.rollback("k").conflicts == ("large.bin",)
    with pytest.raises(ToolError, match=r"the journal's copy of 'large.bin' is damaged"):
        folder.undo("k")
    image.unlink()
    with pytest.raises(ToolError, match=r"the journal's copy of 'large.bin' is gone"):
        folder.undo("k")
    assert disk(folder) == {"large.bin": b"small"}


def test_prune_forgets_old_entries_and_their_files(folder: Folder, home: Path) -> None:
    put(folder, "large.bin", LARGE)
    folder.for_call("old").write("large.bin", b"small")
    assert folder.prune(dt.timedelta(days=1)) == 0
    assert len(list((home / "journal").iterdir())) == 1
    assert folder.prune(dt.timedelta(seconds=-1)) == 1
    assert list((home / "journal").iterdir()) == []
    assert folder.undo("old") == ()


def test_without_a_key_the_folder_is_read_only(folder: Folder) -> None:
    put(folder, "a.txt", b"a")
    reader = folder.for_call("")
    assert reader.read("a.txt") == b"a"
    with pytest.raises(ToolError, match="without a key, for reading only"):
        reader.write("a.txt", b"b")
    with pytest.raises(ToolError, match="without a key, for reading only"):
        reader.delete("a.txt")
    assert disk(folder) == {"a.txt": b"a"}


def test_a_root_that_is_a_file_is_refused(home: Path, store: Store) -> None:
    (home / "owner").write_text("")
    with pytest.raises(ToolError, match=r"cannot use .* as the owner's folder: File exists"):
        Folder(home / "owner", store)


def test_files_are_private_and_keep_the_mode_they_had(folder: Folder) -> None:
    folder.for_call("k").write("new/a.txt", b"x")
    assert (folder.root / "new/a.txt").stat().st_mode & 0o777 == 0o600
    assert (folder.root / "new").stat().st_mode & 0o777 == 0o700
    put(folder, "script.sh", b"x")
    os.chmod(folder.root / "script.sh", 0o755)
    folder.for_call("k").write("script.sh", b"y")
    assert (folder.root / "script.sh").stat().st_mode & 0o777 == 0o755


def test_names_that_are_not_unicode_are_left_out_of_listings(folder: Folder) -> None:
    (folder.root / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"x")
    put(folder, "café.txt", b"x")
    assert folder.for_call("").list() == ("café.txt",)


def test_what_a_killed_write_left_is_never_listed_and_cleaned_on_the_next_start(home: Path) -> None:
    with Store.open(home / "hearth.db") as store:
        folder = Folder(home / "owner", store)
        put(folder, f"a/b/{TEMPORARY_PREFIX}1", b"half")
        put(folder, f"c/{TEMPORARY_PREFIX}2", b"half")
        folder.for_call("k").write("c/file.txt", b"x")
        assert folder.for_call("").list() == ("c/file.txt",)
        with pytest.raises(SandboxError, match="reserved"):
            folder.for_call("").read(f"a/b/{TEMPORARY_PREFIX}1")
        assert folder.rollback("k").restored == ("c/file.txt",)
        assert set(disk(folder)) == {f"a/b/{TEMPORARY_PREFIX}1"}, "a rollback cleans the folders it touches"
        with store.transaction() as cursor:
            cursor.execute("INSERT INTO meta VALUES ('unclean', 'now')")
        assert disk(Folder(home / "owner", store)) == {}
        assert not store.query("SELECT 1 FROM meta WHERE name='unclean'")


def test_path_parts() -> None:
    assert path_parts("a/./b//c.txt") == ("a", "b", "c.txt")
    for path, fault in (("../x", "leaves"), ("/x", "absolute"), ("", "names no file"), ("a\0", "NUL")):
        with pytest.raises(SandboxError, match=fault):
            path_parts(path)
    with pytest.raises(SandboxError, match="not a file path"):
        path_parts(12)  # type: ignore[arg-type]


# ── Killed at random moments ──────────────────────────────────────────────────────────────────────────────

WRITER = """
    import sys
    from pathlib import Path
    from hearth.storage.database import Store
    from hearth.storage.workspace import Folder

    home, first = Path(sys.argv[1]), int(sys.argv[2])
    folder = Folder(home / "owner", Store.open(home / "hearth.db"))
    for number in range(first, first + 1000):
        key = f"k{number}"
        call = folder.for_call(key)
        print("start", number, flush=True)
        call.write("small.txt", f"{number}".encode() * 50)
        call.write(f"new/{number}.txt", f"{number}".encode())
        call.write("large.bin", f"{number:06d}".encode() * 60_000)
        if number % 2:
            call.delete("turn.txt")
        else:
            call.write("turn.txt", b"here")
        print("end", number, flush=True)
"""


def _expected(last: int) -> dict[str, bytes]:
    """The folder after calls 0 to `last`."""
    files = {f"new/{k}.txt": f"{k}".encode() for k in range(last + 1)}
    if last >= 0:
        files |= {"small.txt": f"{last}".encode() * 50, "large.bin": f"{last:06d}".encode() * 60_000}
        if last % 2 == 0:
            files["turn.txt"] = b"here"
    return files


def test_a_killed_process_leaves_whole_files_and_a_journal_that_restores_them(home: Path) -> None:
    rng = random.Random(7)
    script = home / "writer.py"
    script.write_text(textwrap.dedent(WRITER))
    last, n_cut = -1, 0
    for _ in range(32):
        process = subprocess.Popen(
            [sys.executable, str(script), str(home), str(last + 1)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        said = [process.stdout.readline()]
        time.sleep(rng.uniform(0.0, 0.06))
        process.send_signal(signal.SIGKILL)
        said += process.communicate()[0].splitlines(keepends=True)
        whole = [line.split() for line in said if line.endswith("\n") and line.strip()]
        last = max([last, *(int(number) for word, number in whole if word == "end")])
        begun = max(int(number) for word, number in whole if word == "start")

        with Store.open(home / "hearth.db") as store:
            folder = Folder(home / "owner", store)
            found = disk(folder)
            assert not [path for path in found if TEMPORARY_PREFIX in path]
            old, new = _expected(last), _expected(last + 1)
            for path in found.keys() | old.keys():
                assert found.get(path) in (old.get(path), new.get(path)), f"{path} is neither old nor new"
            if begun > last:
                n_cut += 1
                report = folder.rollback(f"k{begun}")
                assert report.conflicts == ()
                found = disk(folder)
            assert found == old
    assert n_cut >= 16, "the kills hardly ever hit a call"


def test_a_rollback_that_was_cut_off_before_it_was_noted_can_be_repeated(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "kept.txt", b"0")
    for path in ("kept.txt", "made.txt"):
        folder.for_call("k").write(path, b"1")
        folder.for_call("k").write(path, b"12")

    def cut_off(numbers: list[int]) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(folder, "_close", cut_off)
        with pytest.raises(KeyboardInterrupt):
            folder.rollback("k")
    assert folder.rollback("k") == RollbackReport((), ())
    assert disk(folder) == {"kept.txt": b"0"}
    folder.for_call("k").write("made.txt", b"1")
    assert folder.rollback("k") == RollbackReport(("made.txt",), ())
