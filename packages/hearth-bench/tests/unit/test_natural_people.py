"""Three people's homes and requests are whole, and changes in a home are told as what happened."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from hearth import config
from hearth.errors import RequestError
from hearth_bench.data.natural_homes import natural_people
from hearth_bench.data.natural_homes.natural_people import (
    PEOPLE,
    moment_of,
    read_requests_of,
    write_person_home,
)
from hearth_bench.scoring.home_records import Change, changes_between, read_records


def test_each_person_has_a_hundred_requests_a_third_of_them_blind() -> None:
    for person in PEOPLE:
        requests = read_requests_of(person)
        assert Counter(one.side for one in requests) == {"dev": 67, "blind": 33}
        assert len({one.id for one in requests}) == len(requests)


def test_a_line_with_an_unknown_check_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    line = {"kind": "list", "say": "add milk", "right": {"efects": []}}
    (tmp_path / "zoe_requests.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.setattr(natural_people, "files", lambda _: tmp_path)
    with pytest.raises(RequestError, match=r"zoe_requests.jsonl:1: a way has \['efects'\]"):
        read_requests_of("zoe")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("natural") / "home"
    write_person_home("margaret", path)
    return path


def test_a_home_is_read_back_whole(home: Path) -> None:
    settings = config.read_settings(home / "hearth.toml")
    assert settings.owner.name == "Margaret Ashworth"
    kinds = Counter(one.kind for one in read_records(home))
    assert kinds == {
        "event": 21, "reminder": 7, "contact": 17, "mail_in": 18, "item": 11, "note": 5, "file": 6, "device": 8,
    }  # fmt: skip
    starts = {one.fields["title"]: one.fields["start"] for one in read_records(home) if one.kind == "event"}
    assert starts["Hip check"] == "2026-12-02 11:20"
    assert moment_of("rick").isoformat() == "2026-11-24T10:15:00-06:00"


def _edited(home: Path, path: Path, old: str, new: str) -> list[Change]:
    before, text = read_records(home), path.read_bytes().decode()
    assert old in text
    path.write_bytes(text.replace(old, new, 1).encode())
    changes = changes_between(before, read_records(home))
    path.write_bytes(text.encode())
    return changes


def test_an_occurrence_that_was_taken_out_went_and_the_series_did_not(home: Path) -> None:
    (series,) = (home / "owner" / "calendar").glob("aqua*.ics")
    rule = "RRULE:FREQ=WEEKLY\r\n"
    gap = f"{rule}EXDATE;TZID=Europe/London:20261130T103000\r\n"
    (change,) = _edited(home, series, rule, gap)
    assert (change.do, change.kind, change.fields["start"]) == ("-", "event", "2026-11-30 10:30")
    assert not change.fields["repeat"]


def test_an_item_that_is_ticked_went(home: Path) -> None:
    shopping = home / "owner" / "notes" / "shopping.md"
    changes = _edited(home, shopping, "- [ ] eggs", "- [x] eggs")
    assert changes == [Change("-", "item", {"list": "shopping", "item": "eggs"})]


def test_a_file_of_another_name_is_the_same_file(home: Path) -> None:
    before, path = read_records(home), home / "owner" / "documents" / "tablets.txt"
    moved = path.rename(path.with_name("medicines.txt"))
    (change,) = changes_between(before, read_records(home))
    moved.rename(path)
    assert (change.do, change.kind, change.fields["path"]) == ("~", "file", "medicines.txt")
