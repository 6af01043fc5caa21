"""Reads the text and the attachments of a mail: of a small one here, of any other in the process for strangers' bytes.

What small is, `bounded_reading` says; the worst that such a mail can do to the reader was measured (decision
16). Heads are read here, as no more than 64,000 bytes are looked at. What comes from the other process is cleaned once
more: it had a stranger's bytes in its hands.
"""

from __future__ import annotations

import json

from hearth.errors import Unreadable
from hearth.formats.untrusted.bounded_reading import IN_PROCESS_BYTES, Bounds, read_bounded
from hearth.tools.mail.mime import (
    N_MAX_PARSED_BYTES,
    N_MAX_PARTS,
    N_MAX_TEXT_CHARACTERS,
    Attachment,
    Body,
    attachment_name,
    attachments_of,
    body_of,
    clean_line,
    clean_text,
)

_READERS = "hearth.tools.mail.mime"
_FOR_TEXT = Bounds(cpu_s=5, wait_s=20, n_most_bytes=4_000_000)


def read_body(raw: bytes) -> Body:
    """Return the text of a mail. Never fails: a fault is in the answer."""
    raw = raw[:N_MAX_PARSED_BYTES]
    if len(raw) <= IN_PROCESS_BYTES:
        return body_of(raw)
    try:
        said = json.loads(read_bounded(f"{_READERS}:body_piece", raw, _FOR_TEXT))
    except (Unreadable, ValueError) as error:
        return Body("", (), is_cut=False, fault=str(error))
    match said:
        case {"text": str(text), "attachments": [*names], "is_cut": bool(is_cut)}:
            shown = tuple(attachment_name(str(name)) for name in names[:N_MAX_PARTS])
            return Body(clean_text(text)[:N_MAX_TEXT_CHARACTERS], shown, is_cut)
    return Body("", (), is_cut=False, fault="damaged: what was read of it is no text")


def read_attachments(raw: bytes) -> list[Attachment]:
    """Return the files a mail carries, in order. Raises: Unreadable: It takes too much to take it apart."""
    if len(raw) <= IN_PROCESS_BYTES:
        return attachments_of(raw)
    bounds = Bounds(cpu_s=25, wait_s=30, n_most_bytes=2 * len(raw) + 1_000_000)
    head, _, data = read_bounded(f"{_READERS}:attachment_pieces", raw, bounds).partition(b"\n")
    try:
        rows = json.loads(head)
    except ValueError:
        rows = [None]
    found: list[Attachment] = []
    start = 0
    for row in rows:
        match row:
            case [str(name), str(kind), int(n_bytes)] if n_bytes >= 0:
                found.append(Attachment(attachment_name(name), clean_line(kind), data[start : start + n_bytes]))
                start += n_bytes
            case _:
                raise Unreadable("damaged: what was read of it are no attachments")
    return found
