"""Documents that cannot be read, change, or come while the disk is full: named by the doctor, and the others answer."""

from __future__ import annotations

import datetime as dt
import io
import os
import random
import subprocess
import sys
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest

from hearth.doctor import examine
from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.memory.search.passage_store import NewPassage, PassageStore
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import CallContext, HomeAnswer
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call

GOOD = "documents/wifi.txt"
TOLD = "The wifi password is tulip-4417-basin."
ASKED = "what is the wifi password"
OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(1_500)
ENCRYPTED = "it is encrypted; save it without a password"


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    return MiniLMEncoder.open()


@pytest.fixture(scope="module")
def reader() -> AnswerReader:
    return AnswerReader()


@pytest.fixture
def answers(store: Store, encoder: MiniLMEncoder, reader: AnswerReader) -> HomeAnswers:
    return HomeAnswers(store, encoder, reader)


def put(home: Path, path: str, data: bytes) -> Path:
    place = home / "owner" / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return place


def ask(answers: HomeAnswers, folder: Folder) -> tuple[HomeAnswer, CallContext]:
    call = make_call(workspace=folder.for_call(""), now=FIXED_NOW)
    return answers.find_answer(ASKED, call), call


def told_by_doctor(home: Path) -> str:
    (home / "hearth.toml").write_text('[owner]\ntime_zone = "UTC"\n')
    return next(one.says for one in examine(home, {}) if one.part == "things")


# ── Files that cannot be read ─────────────────────────────────────────────────────────────────────────────


def encrypted_pdf(algorithm: str) -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(200, 200)
    writer.encrypt("secret", algorithm=algorithm)
    return written(writer)


def blank_pdf() -> bytes:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(200, 200)
    return written(writer)


def written(writer: object) -> bytes:
    kept = io.BytesIO()
    writer.write(kept)  # type: ignore[attr-defined]
    return kept.getvalue()


def encrypted_odt() -> bytes:
    """As LibreOffice writes it: the archive is plain, its parts are not, and only the manifest says so."""
    pytest.importorskip("odf")
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", random.Random(1).randbytes(900))
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml" manifest:size="900">'
            '<manifest:encryption-data manifest:checksum="x"/></manifest:file-entry></manifest:manifest>',
        )
    return kept.getvalue()


def bomb_docx() -> bytes:
    pytest.importorskip("docx")
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as part:
        for _ in range(210):
            part.write(bytes(1_000_000))
    return kept.getvalue()


def mail_with(name: str, data: bytes) -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Ana <ana@kiln.example>", "me@home.example", "Papers"
    made["Date"] = f"{FIXED_NOW:%a, %d %b %Y %H:%M:%S +0000}"
    made.set_content("See below.")
    made.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return made.as_bytes()


def refused() -> dict[str, tuple[str, bytes, str]]:
    """By what is wrong: the path, the file, and what the doctor says of it."""
    mail = "mail/cur/1.a:2,S"
    rows = {
        "DOCX with a password": ("a.docx", OLD_OFFICE + "EncryptedPackage".encode("utf-16-le"), ENCRYPTED),
        "old Word file": ("a.doc", OLD_OFFICE, "a file of an old Office program (.doc, .xls, .ppt); save it anew as"),
        "ODT with a password": ("a.odt", encrypted_odt(), ENCRYPTED),
        "PDF with a password": ("a.pdf", encrypted_pdf("RC4-128"), ENCRYPTED),
        "PDF with a newer password": ("a.pdf", encrypted_pdf("AES-256"), ENCRYPTED),
        "PDF without text": ("a.pdf", blank_pdf(), "a document without text"),
        "DOCX that unpacks to too much": ("a.docx", bomb_docx(), "it unpacks to more than 200 MB"),
        "RTF of too many groups": ("a.rtf", b"{\\rtf1" + b"{" * 9_000, "damaged: more than 1,000 groups within"),
        "a program": ("a.bin", bytes(5_000), "no text: pictures, sound and programs are not read"),
    }
    attached = {
        f"{what}, attached": (mail, mail_with(name, data), f"{name}: {why}")
        for what, (name, data, why) in rows.items()
        if what != "a program"
    }
    return {what: (f"documents/{name}", data, why) for what, (name, data, why) in rows.items()} | attached


REFUSED = refused()


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_named_and_the_rest_answers(
    case: str, home: Path, folder: Folder, answers: HomeAnswers
) -> None:
    path, data, why = REFUSED[case]
    put(home, GOOD, TOLD.encode())
    put(home, path, data)
    assert "tulip" in ask(answers, folder)[0].value
    faults = answers.passages.faults()
    assert list(faults) == [path]
    assert faults[path].startswith(why)
    assert f"not read: {path} ({why}" in told_by_doctor(home)


def test_a_document_of_two_gigabytes_is_named_unread(home: Path, folder: Folder, answers: HomeAnswers) -> None:
    put(home, GOOD, TOLD.encode())
    os.truncate(put(home, "documents/films.pdf", b"%PDF-1.7"), 2_000_000_000)
    assert "tulip" in ask(answers, folder)[0].value
    assert "not read: documents/films.pdf (it has 2000.0 MB; at most 50 MB are read)" in told_by_doctor(home)


@pytest.mark.parametrize("is_pdf", [True, False])
def test_a_file_with_the_ending_of_another_is_read_by_what_it_holds(
    is_pdf: bool, home: Path, folder: Folder, answers: HomeAnswers
) -> None:
    put(home, GOOD if not is_pdf else "notes/wifi.md", TOLD.encode())
    other = ("documents/a.txt", blank_pdf()) if is_pdf else ("documents/a.pdf", b"The gate code is 4471.")
    put(home, *other)
    assert "tulip" in ask(answers, folder)[0].value
    said = told_by_doctor(home)
    if is_pdf:
        assert "not read: documents/a.txt (a document without text)" in said
    else:
        assert "not read" not in said
        assert [one.text for one in answers.passages.of_record("documents/a.pdf")] == ["The gate code is 4471."]


# ── While files are read ──────────────────────────────────────────────────────────────────────────────────


def test_a_full_disk_answers_from_what_is_kept_and_says_so(
    home: Path, store: Store, folder: Folder, answers: HomeAnswers
) -> None:
    put(home, GOOD, TOLD.encode())
    for k in range(20):  # read, but without vectors as yet: they take room, too
        put(home, f"documents/{k}.txt", f"The wifi of locker {k}. {'It has no password. ' * 30}".encode())
    list(answers.refresh(folder.for_call(""), dt.UTC))
    assert not store.query("SELECT 1 FROM passage_vector")
    put(home, "documents/long.txt", "\n\n".join(f"Entry {k}: the kiln was fired." for k in range(600)).encode())
    store.query("VACUUM")  # no page is left free
    n_pages = store.query("PRAGMA page_count")[0][0]
    store.query(f"PRAGMA max_page_count={n_pages}")
    found, call = ask(answers, folder)
    assert "tulip" in found.value
    assert any(line.startswith("The newest files could not be read: no space left") for line in call.notices)
    assert answers.passages.n_waiting() > 0  # some vectors may have found room, not all
    assert "21 documents" in told_by_doctor(home)
    store.query("PRAGMA max_page_count=1000000")
    found, call = ask(answers, folder)
    assert "tulip" in found.value
    assert call.notices == []
    assert answers.passages.of_record("documents/long.txt")


N_WRITES = 60


def write(home: Path, who: str) -> None:
    """Write the passages of the same files again and again; the program of each of two processes."""
    with Store.open(home / "hearth.db", busy_timeout_s=60) as store:
        passages = PassageStore(store, None)
        for k in range(N_WRITES):
            texts = (f"The code of {who} is {k}.", f"{who} says so.", f"{who} ends here.")
            made = [NewPassage("r", "document", "file", "t", "", None, text) for text in texts]
            passages.put(f"documents/{k % 5}.txt", f"{who}{k}", made, who)


def test_two_processes_write_passages_at_once_and_none_is_of_both(
    home: Path, store: Store, folder: Folder, answers: HomeAnswers
) -> None:
    put(home, GOOD, TOLD.encode())
    commands = [[sys.executable, __file__, str(home), who] for who in ("anna", "berta")]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait() for process in processes] == [0, 0]
    for k in range(5):
        (who,) = store.query("SELECT fault FROM passage_file WHERE path = ?", (f"documents/{k}.txt",))
        texts = store.query("SELECT text FROM passage WHERE path = ? ORDER BY number", (f"documents/{k}.txt",))
        expected = [f"The code of {who[0]} is {N_WRITES - 5 + k}.", f"{who[0]} says so.", f"{who[0]} ends here."]
        assert [row[0] for row in texts] == expected
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO passage_words (passage_words) VALUES ('integrity-check')")
    assert "documents/4.txt" in told_by_doctor(home)
    assert "tulip" in ask(answers, folder)[0].value
    assert "not read" not in told_by_doctor(home)  # those files were never there


class Changing(InMemoryWorkspace):
    """A folder in which somebody saves a file just as it is read."""

    def read(self, path: str) -> bytes:
        data = super().read(path)
        if path == "documents/gate.txt" and b"1111" in data:
            self.write(path, b"The gate code is 2222.")
        return data


def test_a_file_that_changes_while_it_is_read_is_read_again(answers: HomeAnswers, home: Path) -> None:
    workspace = Changing({GOOD: TOLD, "documents/gate.txt": "The gate code is 1111."})
    call = make_call(workspace=workspace, now=FIXED_NOW)
    assert answers.find_answer("what is the gate code", call).value == "1111"
    assert answers.find_answer("what is the gate code", call).value == "2222"
    assert "tulip" in answers.find_answer(ASKED, call).value
    assert "not read" not in told_by_doctor(home)


def test_reading_that_was_stopped_carries_on_where_it_was(
    home: Path, store: Store, folder: Folder, encoder: MiniLMEncoder, reader: AnswerReader
) -> None:
    for k in range(6):
        put(home, f"documents/a{k}.txt", f"The code of locker {k} is {k * 1111}.".encode())
    put(home, "documents/broken.pdf", b"%PDF-1.7 nonsense")
    put(home, GOOD, TOLD.encode())
    first = HomeAnswers(store, encoder, reader).refresh(folder.for_call(""), dt.UTC)
    assert [next(first), next(first)] == [(1, 8), (2, 8)]
    del first  # the process ends here
    later = HomeAnswers(store, encoder, reader)
    assert [n for _, n in later.refresh(folder.for_call(""), dt.UTC)] == [6] * 6
    assert "tulip" in ask(later, folder)[0].value
    assert later.passages.counts()["document"] == 7
    assert "not read: documents/broken.pdf (damaged" in told_by_doctor(home)


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2])
