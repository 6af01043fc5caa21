"""Who is meant when home video is asked about somebody by another word than their name."""

from __future__ import annotations

import pytest

from hearth.testing import InMemoryWorkspace, make_call
from hearth_video.tools.people_seen import names_meant

CARD = "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:f\r\nFN:Frank Doyle\r\nN:Doyle;Frank;;;\r\nNICKNAME:dad,my father\r\nEND:VCARD\r\n"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("dad", True),
        ("my father", True),
        ("Dad's", True),
        ("Frank", True),
        ("father", True),
        ("Maeve", False),
        ("my sister", False),
    ],
)
def test_a_word_for_somebody_in_the_contacts_means_their_name(asked: str, found: bool) -> None:
    call = make_call(workspace=InMemoryWorkspace({"contacts/f.vcf": CARD}))
    assert ("Frank Doyle" in names_meant(call, asked)) is found
    assert names_meant(call, asked)[0] == asked


def test_me_is_the_owner() -> None:
    call = make_call(settings={"owner": {"name": "Sam Doyle"}})
    assert names_meant(call, "me") == ("Sam Doyle",)
    assert names_meant(make_call(), "me") == ("me",)
