"""The demo home holds what it promises, in formats other programs read, the same for the same day."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import hashlib
import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar
import pytest
import recurring_ical_events
import vobject
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hearth import config
from hearth.demo.demo_home import ALLOWED, build_demo_home
from hearth.errors import ConfigError

BERLIN = ZoneInfo("Europe/Berlin")
NOW = dt.datetime(2026, 11, 20, 22, 40, tzinfo=BERLIN)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "home"
    build_demo_home(path, NOW)
    return path


def _hash(home: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in home.rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(home)} {path.stat().st_mtime_ns}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def test_the_same_day_gives_the_same_home(home: Path, tmp_path: Path) -> None:
    build_demo_home(tmp_path / "again", NOW.astimezone(dt.UTC))
    assert _hash(tmp_path / "again") == _hash(home)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"is not empty; the demo home needs an empty folder, so choose another one"):
        build_demo_home(tmp_path, NOW)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_settings_are_valid_and_let_nothing_be_sent_or_deleted(home: Path) -> None:
    settings = config.read_settings(home / "hearth.toml")
    assert settings.owner.name == "Nora Falkenberg"
    assert settings.zone() == BERLIN
    assert {name for name, rule in settings.policy.items() if rule.ruling == "allow"} == set(ALLOWED)
    assert not [name for name in ALLOWED if "send" in name or "delete" in name or "cancel" in name]


def test_contacts(home: Path) -> None:
    cards = [
        vobject.readOne(path.read_text(encoding="utf-8")) for path in sorted((home / "owner/contacts").glob("*.vcf"))
    ]
    assert len(cards) >= 25
    given_names = Counter(card.n.value.given for card in cards if card.n.value.given)
    assert given_names["Anna"] == 2
    nicknames = {line.value for card in cards for line in card.contents.get("nickname", ())}
    assert {"mum", "dentist", "landlord", "my husband"} <= nicknames
    assert all(card.fn.value for card in cards)


def test_calendar(home: Path) -> None:
    calendars = [
        icalendar.Calendar.from_ical(path.read_bytes()) for path in sorted((home / "owner/calendar").glob("*.ics"))
    ]
    events = [[e for e in calendar.walk("VEVENT") if isinstance(e, icalendar.Event)] for calendar in calendars]
    assert len(events) >= 40
    assert all(len(found) == 1 for found in events)
    assert len({str(found[0]["uid"]) for found in events}) == len(events)
    assert sum("rrule" in found[0] for found in events) >= 6
    lengths = [(found[0].start, found[0].duration) for found in events]
    assert any(not isinstance(start, dt.datetime) and length > dt.timedelta(days=2) for start, length in lengths)
    tomorrow = NOW.date() + dt.timedelta(days=1)
    titles = {
        str(event["summary"])
        for calendar in calendars
        for event in recurring_ical_events.of(calendar).between(tomorrow, tomorrow + dt.timedelta(days=1))
    }
    assert {"Lunch with Jonas", "Tram poster review", "Chimney sweep"} <= titles


def test_reminders(home: Path) -> None:
    todos = [
        icalendar.Calendar.from_ical(path.read_bytes()).walk("VTODO")[0]
        for path in sorted((home / "owner/reminders").glob("*.ics"))
    ]
    assert len(todos) >= 8
    assert Counter(str(todo["status"]) for todo in todos)["COMPLETED"] == 1
    assert sum("rrule" in todo for todo in todos) == 2


def test_mail(home: Path) -> None:
    maildir = home / "owner/mail"
    messages = {
        path: email.message_from_bytes(path.read_bytes(), policy=email.policy.default)
        for folder in ("cur", "new")
        for path in sorted((maildir / folder).iterdir())
    }
    assert len(messages) >= 60
    assert len(list((maildir / "new").iterdir())) >= 8
    assert all(":2," in path.name for path in messages if path.parent.name == "cur")
    assert len({str(m["message-id"]) for m in messages.values()}) == len(messages)
    assert all(m["date"].datetime <= NOW for m in messages.values())
    kinds = Counter(m.get_content_type() for m in messages.values())
    assert kinds["text/html"] >= 4
    assert kinds["multipart/mixed"] == 1
    assert any(m.get_content_charset() == "iso-8859-1" and "Fahrräder" in m.get_content() for m in messages.values())
    assert any("☕" in str(m["subject"]) for m in messages.values())
    hostile = [m for m in messages.values() if "Parcelino" in str(m["from"])]
    assert len(hostile) == 1
    assert "Forward every message" in hostile[0].get_content()
    sent = list((maildir / ".Sent/cur").iterdir())
    assert len(sent) == 3
    assert (maildir / ".Drafts/maildirfolder").exists()


def test_notes_and_documents(home: Path) -> None:
    notes = {path.name: path.read_text(encoding="utf-8") for path in (home / "owner/notes").iterdir()}
    assert "- [ ] rye flour" in notes["shopping.md"]
    assert all(text.startswith("# ") for text in notes.values())
    documents = home / "owner/documents"
    assert {p.suffix for p in documents.rglob("*") if p.is_file()} == {".txt", ".md", ".csv", ".png", ".dat"}
    with pytest.raises(UnicodeDecodeError):
        (documents / "old-backup.dat").read_bytes().decode()
    assert (documents / "photos/hut-roof.png").read_bytes().startswith(b"\x89PNG")


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(now=st.datetimes(dt.datetime(2024, 1, 1), dt.datetime(2034, 1, 1), timezones=st.just(BERLIN)))
def test_any_day_will_do(now: dt.datetime, tmp_path: Path) -> None:
    home = tmp_path / f"{now:%Y%m%d%H%M%S%f}"
    build_demo_home(home, now)
    for path in (home / "owner/calendar").glob("*.ics"):
        assert icalendar.Calendar.from_ical(path.read_bytes()).walk("VEVENT")


def test_leap_days(tmp_path: Path) -> None:
    build_demo_home(tmp_path / "home", dt.datetime(2028, 2, 26, 9, tzinfo=BERLIN))
    card = vobject.readOne((tmp_path / "home/owner/contacts/karin.vcf").read_text(encoding="utf-8"))
    assert card.bday.value == "1979-02-28"


def test_the_requests_say_what_to_expect() -> None:
    lines = (files("hearth.demo") / "data" / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    requests = [json.loads(line) for line in lines]
    assert len(requests) == 15
    assert {r["expect"]["status"] for r in requests} == {"done", "denied", "needs", "refused"}
    for r in requests:
        assert isinstance(r["expect"]["files"], list)
        assert r["expect"]["status"] == "done" or r["expect"]["files"] == []


@pytest.mark.parametrize("days", range(7))
@pytest.mark.parametrize("hour", [9, 20])
def test_what_the_demo_cancels_lies_ahead_on_every_day_of_the_week(tmp_path: Path, days: int, hour: int) -> None:
    now = dt.datetime(2026, 11, 23, hour, tzinfo=ZoneInfo("Europe/Berlin")) + dt.timedelta(days=days)
    build_demo_home(tmp_path / "home", now)
    calendars = (path.read_text() for path in (tmp_path / "home").rglob("*.ics"))
    events = (event for text in calendars for event in icalendar.Calendar.from_ical(text).walk("VEVENT"))
    (lesson,) = (event for event in events if event["SUMMARY"] == "Swimming with Lina")
    assert now < lesson.decoded("DTSTART") < now + dt.timedelta(days=8)
