"""What all footage keeps: the double, and the library over recordings; the contract itself fails for one that does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest
import small_video as room

from hearth.protocols import Recording, Sighting
from hearth.storage.database import Store
from hearth.testing import ScriptedFootage, check_footage
from hearth_video.footage import indexing

RECORDING = Recording("r1", "kitchen", "kitchen", room.START, room.at(120), True)
ANNA = Sighting("s1", "kitchen", "kitchen", room.at(5), room.at(90), 0.9, "Anna", 0.95, "walk", 0.8)


def test_the_double_keeps_the_contract() -> None:
    (one,) = check_footage(ScriptedFootage([RECORDING], [ANNA]), "kitchen", room.at(0), room.at(60))
    assert (one.name, one.end) == ("Anna", room.at(60))


def test_the_library_keeps_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks = (room.Walk(room.RED, 5, 90), room.Walk(room.GREEN, 40, 200))
    monkeypatch.setattr(indexing, "frames", room.drawn(walks, 120.0))
    with Store.open(tmp_path / "hearth.db") as store:
        room.put_recording(store, tmp_path / "a.mp4", duration_s=120.0)
        room.enroll(store, "Anna", room.RED)
        done = check_footage(room.library(store), "kitchen", room.at(0), room.at(60))
    assert [one.name for one in done] == ["Anna", ""]


def test_footage_that_does_not_cut_is_found() -> None:
    class Uncut(ScriptedFootage):
        def named(self, ids: Sequence[str]) -> tuple[Sighting, ...]:
            return tuple(dataclasses.replace(one, end=room.at(90)) for one in super().named(ids))

    with pytest.raises(AssertionError):
        check_footage(Uncut([RECORDING], [ANNA]), "kitchen", room.at(0), room.at(60))
