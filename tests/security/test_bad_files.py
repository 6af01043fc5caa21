"""One file that cannot be read, among the owner's many, never keeps the others from being found."""

from __future__ import annotations

import os

import pytest

from hearth.formats.tool_signature import FunctionTool
from hearth.storage.workspace import N_MAX_READ_BYTES, Folder
from hearth.testing import FIXED_NOW, make_call
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.contacts import entities, list_contacts
from hearth.tools.pim.reminders import find_reminders

CARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Anna Berg\nEND:VCARD\n"
DAY = f"{FIXED_NOW:%Y%m%d}"
EVENT = f"BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:1\nSUMMARY:Choir\nDTSTART:{DAY}T190000Z\nEND:VEVENT\nEND:VCALENDAR\n"
TASK = f"BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VTODO\nUID:1\nSUMMARY:Water\nDUE:{DAY}T190000Z\nEND:VTODO\nEND:VCALENDAR\n"


@pytest.mark.parametrize(
    ("tool", "path", "text"),
    [
        (list_contacts, "contacts/anna.vcf", CARD),
        (find_events, "calendar/choir.ics", EVENT),
        (find_reminders, "reminders/water.ics", TASK),
    ],
)
def test_a_file_too_large_to_read_is_named_and_the_others_are_found(
    folder: Folder, tool: FunctionTool, path: str, text: str
) -> None:
    file = folder.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text.replace("\n", "\r\n"))
    huge = file.with_name(f"huge{file.suffix}")
    huge.touch()
    os.truncate(huge, N_MAX_READ_BYTES + 1)
    os.mkfifo(file.with_name(f"pipe{file.suffix}"))
    file.with_name(f"out{file.suffix}").symlink_to("/etc/passwd")
    call = make_call(workspace=folder.for_call(""))
    found = tool(call=call)
    assert len(found) == 1
    assert any("huge" in notice and "at most 67 MB can be read" in notice for notice in call.notices)
    assert not any("root:" in notice for notice in call.notices)
    assert [entity.name for entity in entities(folder.for_call(""))] == (["Anna Berg"] if tool is list_contacts else [])
