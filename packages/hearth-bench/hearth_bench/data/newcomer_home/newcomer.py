"""Writes the homes of nine invented people as their programs would: 26 mails, 28 events, 26 cards, 8 notes and 4
documents in Markdown, PDF, Word and Excel, for the tiler half of that; reads what they ask.

Homes and questions were written before anything was asked of them: the piano tuner's by somebody who had read no code,
the beekeeper's after answering had been mended by the piano tuner's, the retired midwife's and the sound engineer's
(mails in HTML and in threads among them) after both, by somebody who had read the README and the guides alone, and the
tiler's after these by the same hand. The ferry engineer and the dental nurse (by two more such people) ask in words
that their things do not have, and so do the night baker and the parish clerk with the allotments (by two more).
"""

from __future__ import annotations

import datetime as dt
import io
import json
import textwrap
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.utils import format_datetime, formataddr
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

Entry = Mapping[str, Any]
_WIDTH = 88
NEWCOMERS = (
    *("piano_tuner", "beekeeper", "retired_midwife", "sound_engineer", "tiler", "ferry_engineer", "dental_nurse"),
    *("night_baker", "allotment_clerk"),
)


class NewcomerQuestion(BaseModel):
    """A question with what an answer must say."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    kind: Literal["read", "computed", "nowhere"]
    question: str
    says: tuple[str, ...]
    """Words that the answer must hold, all of them; none: nothing answers, and that must be said."""
    without: tuple[str, ...] = Field(alias="not")
    """Words that would make it wrong: last month's bill, another child's passport."""
    source: str
    """The title that must be named as its place; empty: whichever."""


def read_newcomer_questions(who: str) -> list[NewcomerQuestion]:
    """Read what one of `NEWCOMERS` asks."""
    lines = (files(__package__) / f"{who}_questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [NewcomerQuestion.model_validate_json(line) for line in lines]


def write_newcomer_home(who: str, home: Path) -> dt.datetime:
    """Write the home of one of `NEWCOMERS` into a folder; return the moment at which it is asked."""
    return write_home(json.loads((files(__package__) / f"{who}.json").read_text(encoding="utf-8")), home)


def write_home(content: Entry, home: Path) -> dt.datetime:
    """Write a home of the form of this folder's files; return the moment at which it is asked."""
    owner, zone = content["owner"], ZoneInfo(content["owner"]["time_zone"])
    _write(home / "hearth.toml", "[owner]\n" + "".join(f'{key} = "{value}"\n' for key, value in owner.items()))
    root = home / "owner"
    for number, entry in enumerate(content["mails"]):
        _write(root / f"mail/new/{number:02}.host", _mail({**entry, "to": owner}, f"m{number}", zone))
    for number, entry in enumerate(content["sent"]):
        _write(root / f"mail/.Sent/cur/{number:02}.host:2,S", _mail({**entry, "from": owner}, f"s{number}", zone))
    for number, entry in enumerate(content["contacts"]):
        _write(root / f"contacts/{number:02}.vcf", _card(entry, f"card-{number}"))
    for number, entry in enumerate(content["events"]):
        _write(root / f"calendar/{number:02}.ics", _event(entry, f"event-{number}", owner["time_zone"]))
    for name, text in content["notes"].items():
        _write(root / "notes" / name, text)
    for name, rows in content["documents"].items():
        _write(root / "documents" / name, _DOCUMENTS[name.rpartition(".")[2]](rows))
    return dt.datetime.fromisoformat(content["now"]).astimezone(zone)


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def _mail(entry: Entry, key: str, zone: dt.tzinfo) -> bytes:
    mail = EmailMessage()
    for header in ("from", "to"):
        given = entry.get(header, "")
        mail[header.title()] = given if isinstance(given, str) else formataddr((given["name"], given["email"]))
    mail["Subject"] = entry["subject"]
    mail["Date"] = format_datetime(dt.datetime.fromisoformat(entry["at"]).replace(tzinfo=zone))
    mail["Message-ID"] = f"<{key}@newcomer.example>"
    if "answers" in entry:
        answered = entry["answers"]  # a number: one of the mails; "s0": the first one sent
        earlier = f"m{answered}" if isinstance(answered, int) else answered
        mail["In-Reply-To"] = mail["References"] = f"<{earlier}@newcomer.example>"
    if "html" in entry:
        mail.set_content(entry["html"], subtype="html")
    else:
        mail.set_content(entry["text"])
    return mail.as_bytes()


def _card(entry: Entry, uid: str) -> str:
    first, _, last = entry["name"].rpartition(" ")
    lines = ["BEGIN:VCARD", "VERSION:3.0", f"UID:{uid}", f"FN:{entry['name']}", f"N:{last};{first};;;"]
    address = entry.get("address", "").replace(", ", ";")
    forms = {
        "EMAIL;TYPE=INTERNET": entry.get("email"),
        "TEL;TYPE=CELL": entry.get("phone"),
        "BDAY": entry.get("birthday"),
        "ADR;TYPE=HOME": address and f";;{address};",
        "ORG": entry.get("organisation"),
        "NOTE": entry.get("note", "").replace(",", "\\,"),
    }
    lines += [f"{name}:{value}" for name, value in forms.items() if value]
    return "\r\n".join([*lines, "END:VCARD", ""])


def _event(entry: Entry, uid: str, zone: str) -> str:
    start, end = (f"{dt.datetime.fromisoformat(entry[name]):%Y%m%dT%H%M%S}" for name in ("start", "end"))
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Hearth//newcomer//EN", "BEGIN:VEVENT", f"UID:{uid}"]
    lines += ["DTSTAMP:20261101T000000Z", f"DTSTART;TZID={zone}:{start}", f"DTEND;TZID={zone}:{end}"]
    lines += [f"SUMMARY:{entry['title']}", *entry.get("rules", ())]
    if "place" in entry:
        lines.append(f"LOCATION:{entry['place']}")
    return "\r\n".join([*lines, "END:VEVENT", "END:VCALENDAR", ""])


# ── Documents ─────────────────────────────────────────────────────────────────────────────────────────────


def _markdown(lines: Sequence[str]) -> bytes:
    return "\n".join([*lines, ""]).encode()


def _word(paragraphs: Sequence[str]) -> bytes:
    import docx  # an extra of the agent's, which only needs it to read

    document = docx.Document()
    document.add_heading(paragraphs[0])
    for paragraph in paragraphs[1:]:
        document.add_paragraph(paragraph)
    written = io.BytesIO()
    document.save(written)
    return written.getvalue()


def _excel(rows: Sequence[Sequence[object]]) -> bytes:
    import openpyxl  # an extra of the agent's, which only needs it to read

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = str(rows[1][0])[:4]
    for row in rows:
        sheet.append(row)
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def _pdf(paragraphs: Sequence[str]) -> bytes:
    """Return a page of text, an empty line behind each paragraph."""
    lines = [line for one in paragraphs for line in (*textwrap.wrap(one, _WIDTH), "")]
    escaped = [line.translate({ord(c): f"\\{c}" for c in "\\()"}) for line in lines]
    page = "BT /F1 11 Tf 56 780 Td 15 TL " + " ".join(f"({line}) Tj T*" for line in escaped) + " ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(page)} >>\nstream\n{page}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    )
    written, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(written))
        written += f"{number} 0 obj\n{one}\nendobj\n".encode("cp1252")
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    n_objects = len(objects) + 1
    return (
        written
        + f"xref\n0 {n_objects}\n0000000000 65535 f \n{table}trailer << /Size {n_objects} /Root 1 0 R >>\n".encode()
        + f"startxref\n{len(written)}\n%%EOF\n".encode()
    )


_DOCUMENTS = {"md": _markdown, "docx": _word, "xlsx": _excel, "pdf": _pdf}
