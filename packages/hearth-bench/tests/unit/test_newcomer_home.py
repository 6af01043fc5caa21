"""A newcomer's home: as many things as were asked for, every answer in it, and files that other programs read."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from hearth.memory.search.collecting import text_of
from hearth_bench.data.newcomer_home.newcomer import NEWCOMERS, read_newcomer_questions, write_newcomer_home
from hearth_bench.measure.memory.newcomer_questions import Answered, figures

N_SENT = {"piano_tuner": 1, "beekeeper": 1, "retired_midwife": 2, "sound_engineer": 3}
N_IN_SMALL = {"mail": 13, "contacts": 5, "calendar": 12, "notes": 5, "documents": 2}
N_FILES = {"mail": 26, "contacts": 26, "calendar": 28, "notes": 8, "documents": 4}
N_IN_OTHERS = {
    "tiler": N_IN_SMALL,
    "ferry_engineer": {"mail": 32, "contacts": 24, "calendar": 26, "notes": 8, "documents": 4},
    "dental_nurse": {"mail": 34, "contacts": 24, "calendar": 26, "notes": 8, "documents": 4},
    "night_baker": {"mail": 32, "contacts": 24, "calendar": 26, "notes": 8, "documents": 4},
    "allotment_clerk": {"mail": 31, "contacts": 24, "calendar": 26, "notes": 8, "documents": 4},
}


@pytest.mark.parametrize("who", NEWCOMERS)
def test_the_home_holds_what_is_asked(who: str, tmp_path: Path) -> None:
    write_newcomer_home(who, tmp_path)
    counted = {f.name: sum(p.is_file() for p in f.rglob("*")) for f in (tmp_path / "owner").iterdir()}
    full = {**N_FILES, "mail": N_FILES["mail"] + N_SENT.get(who, 0)}
    assert counted == N_IN_OTHERS.get(who, full)
    held = (files("hearth_bench") / "data/newcomer_home" / f"{who}.json").read_text(encoding="utf-8")
    read = [one for one in read_newcomer_questions(who) if one.kind == "read"]
    assert len(read_newcomer_questions(who)) == (10 if who == "tiler" else 20)
    assert all(word.casefold() in held.casefold() for one in read for word in one.says)
    assert json.loads(held)["owner"]["email"] in (tmp_path / "hearth.toml").read_text()


def test_its_documents_can_be_read(tmp_path: Path) -> None:
    write_newcomer_home("piano_tuner", tmp_path)
    said = {p.suffix: text_of(p.name, p.read_bytes()).text for p in (tmp_path / "owner/documents").iterdir()}
    assert "two months' notice" in " ".join(said[".pdf"].split())
    assert "£1,150 a term" in said[".docx"]
    assert "Petrol Tesco" in said[".xlsx"]
    assert "8 June 2027" in said[".md"]


def test_an_answer_counts_with_its_source_alone() -> None:
    first, *_, last = read_newcomer_questions("piano_tuner")
    told = "£131.46 (mail “Your November statement”)"
    said = [told, "£131.46", f"{told}. Elsewhere: £118.02", "I don't know: I found nothing in your things that says so"]
    found = [Answered(first, one, 1.0).is_right for one in said]
    assert found == [True, False, False, False]
    assert Answered(last, said[3], 1.0).is_right
    assert figures([Answered(first, said[1], 1.0), Answered(last, said[3], 1.0)])["n_right"] == 1
