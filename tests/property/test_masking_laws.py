"""Masking never fails and always comes back, whatever the owner's calendar, contacts and files are called."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hearth.config import MASKED_KINDS, Settings
from hearth.guard.deidentify.masker import OwnersMask
from hearth.guard.deidentify.names import OwnerNames, gathered
from hearth.testing import InMemoryWorkspace

_OWNER = ("Emma", "Müller", "O'Brien", "d’Arc", "Dr. Who", "Ana-María", "李", "Ольга", "I", "4nna", "Max", "Will")
_BETWEEN = ("'s", "’s", " with ", "w/", " Dr. ", " & ", ";", ",", "\\n", ":", "#", " ", "-", "\t", "'", '"', "\u202e")
_WORD = st.one_of(st.sampled_from(_OWNER), st.sampled_from(_BETWEEN), st.text(max_size=8))
_TITLE = st.one_of(st.lists(_WORD, max_size=8).map("".join), st.text(max_size=60))


def _ics(title: str, place: str, guest: str) -> bytes:
    event = f"SUMMARY:{title}\r\nLOCATION:{place}\r\nATTENDEE;CN={guest}:mailto:x@y.example\r\nDTSTART:20261120T190000Z"
    return f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\n{event}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n".encode("utf-8", "replace")


def _vcf(name: str, nickname: str, organisation: str) -> bytes:
    card = f"FN:{name}\r\nN:{name}\r\nNICKNAME:{nickname}\r\nORG:{organisation}\r\nADR:;;{name};{nickname};;{organisation};"
    return f"BEGIN:VCARD\r\n{card}\r\nEND:VCARD\r\n".encode("utf-8", "replace")


@given(title=_TITLE, name=_TITLE, other=_TITLE)
@settings(max_examples=300, deadline=None)
def test_every_title_name_and_place_can_be_gathered_and_masked(title: str, name: str, other: str) -> None:
    files = {"calendar/a.ics": _ics(title, other, name), "contacts/b.vcf": _vcf(name, other, title)}
    workspace, own = InMemoryWorkspace(files), Settings()
    names = gathered(workspace, own)
    assert all(isinstance(one.text, str) for one in names)
    OwnerNames(names)
    text = f"move {title} to friday and tell {name} about {other}"
    masked = OwnersMask(workspace, own, MASKED_KINDS).masker().mask(text)
    assert masked.unmask(masked.text) == text


def test_the_possessive_of_a_guest_is_a_name() -> None:
    workspace = InMemoryWorkspace({"calendar/a.ics": _ics("Emma's party", "", "Tom")})
    assert "Emma" in {one.text for one in gathered(workspace, Settings())}
    masked = OwnersMask(workspace, Settings(), MASKED_KINDS).masker().mask("what should I bring to Emma's party")
    assert "Emma" not in masked.text
