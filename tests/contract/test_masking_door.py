"""The masking door: the only caller of the masker, and nothing leaves past it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import cast

import pytest

from hearth.edge.cloud_link import Link
from hearth.errors import EgressError
from hearth.formats import edge_protocol
from hearth.guard.deidentify.masker import Masker
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.guard.egress.gateway import Egress
from hearth.guard.egress.masking_door import MaskingDoor, Part, sending
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, PUBLIC, Label

ROOT = Path(__file__).parents[2]
DOOR = MaskingDoor(Masker(names=OwnerNames([OwnName("Mia Berger", "person"), OwnName("Mia", "person")])))
SENDERS = {
    "src/hearth/edge/ask_cloud.py",
    "src/hearth/edge/cloud_teacher.py",
    "src/hearth/edge/outbox.py",
    "src/hearth/guard/egress/masking_door.py",
    "packages/hearth-cloud/hearth_cloud/sedna/sedna_planning.py",
}
"""All that send masked texts, each after `MaskingDoor.masked`; `outbox` sends what waited masked in the outbox."""


def test_nobody_else_sends_masked_texts() -> None:
    """Who may import the masker is a contract of import-linter (`pyproject.toml`)."""
    senders = {
        path.relative_to(ROOT).as_posix()
        for folder in (ROOT / "src" / "hearth", *(ROOT / "packages").glob("*/hearth_*"))
        for path in folder.rglob("*.py")
        if re.search(r"with .*\bsending\(", path.read_text())
    }
    assert senders == SENDERS


def test_what_hearth_wrote_keeps_all_but_the_owners_names() -> None:
    said = "Find the events with Mia Berger or Tom Baker in Ghent, 030 1234567."
    masked = DOOR.masked([Part(said, PUBLIC), Part(said, OWNER)])
    assert masked.texts[0] == "Find the events with Person1 or Tom Baker in Ghent, 030 1234567."
    assert "1234567" not in masked.texts[1]
    assert all(masked.unmask(text) == said for text in masked.texts)


def test_a_personal_value_is_replaced_whatever_its_form() -> None:
    masked = DOOR.masked([Part("water xaver plants", OWNER), Part("xaver", OWNER, "person")]).everywhere()
    assert masked.texts == ("water person1 plants", "person1")


@pytest.mark.parametrize(
    "part", ["Mia", ("Mia", OWNER), Part("Mia", cast("Label", None)), Part("Mia", cast("Label", "owner"))]
)
def test_a_part_without_a_label_is_refused(part: object) -> None:
    with pytest.raises(EgressError, match=r"without a label, nothing was sent; give a Part"):
        DOOR.masked([Part("x", OWNER), cast("Part", part)])


def test_nothing_is_given_out_when_masking_fails() -> None:
    class Broken(Masker):
        def mask(self, *texts: str, **_: object) -> None:  # type: ignore[override]
            raise RuntimeError("no memory")

    with pytest.raises(EgressError, match=r"nothing was sent, since masking failed \(RuntimeError: no memory\)"):
        MaskingDoor(Broken()).masked([Part("Mia", OWNER)])


def test_a_message_that_was_not_masked_is_refused_by_the_link(store: Store) -> None:
    egress = Egress(["cloud.example"], store, lambda: FIXED_NOW)
    asked = edge_protocol.AnswerAsked(id="a" * 24, question="what does Mia like")
    with Link("https://cloud.example", egress, lambda: "t", "edge-1") as link:
        with pytest.raises(EgressError, match="was not masked, nothing was sent"):
            link.answer(asked)
        with pytest.raises(EgressError, match="was not masked, nothing was sent"):
            link.give("/v1/demonstrations", "b-1", b"{}")
    assert not list(egress.ledger.entries())


def test_the_ledger_notes_what_the_stand_ins_stand_for(store: Store) -> None:
    egress = Egress(["home.local"], store, lambda: FIXED_NOW)
    masked = DOOR.masked([Part("write to Mia", OWNER)])
    with sending(masked.values), egress.permit("home.local", 25, "test"):
        egress.record("home.local", masked.text.encode(), "test")
    assert [dict(entry.stands_for or {}) for entry in egress.ledger.entries()][-1] == {"Person1": "Mia"}
    assert masked.restore("dear Person1", "home.local") == "dear Mia"
