"""Each due time rings once, through restarts, kills and clocks that jump."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from hearth.config.setting_tables import Serve
from hearth.serve.background import ringing
from hearth.serve.background.ringing import LATE, Aside, DesktopNotifier, Ring, Ringing, open_rings
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.pim.reminders import (
    Reminder,
    add_reminder,
    complete_reminder,
    delete_reminder,
    due_between,
    move_reminder,
    still_due,
)

MINUTE = dt.timedelta(minutes=1)
DAY = dt.timedelta(days=1)


class Told:
    """A notifier that keeps what it was told."""

    def __init__(self) -> None:
        self.rings: list[Ring] = []

    def tell(self, ring: Ring) -> None:
        self.rings.append(ring)

    @property
    def texts(self) -> list[str]:
        return [ring.text for ring in self.rings]


class House:
    """Reminders of one home, and processes that ring them."""

    def __init__(self, store: Store, quiet_hours: str = "") -> None:
        self.store = store
        self.quiet_hours = quiet_hours
        self.workspace = InMemoryWorkspace()
        self.told = Told()
        self.n_changes = 0
        self.started()

    def started(self) -> None:
        """A new process on the same home."""
        call = make_call(workspace=self.workspace)
        self.ringing = Ringing(self.store, call, lambda: self.n_changes, [self.told], self.quiet_hours)

    def remind(self, text: str, at: dt.datetime, repeat: str = "none") -> str:
        self.n_changes += 1
        call = make_call(f"{text}{at}", workspace=self.workspace)
        made = add_reminder.function(call, text, at, repeat)
        assert isinstance(made, Reminder)
        return str(made.id)

    def tick(self, *moments: dt.datetime) -> list[str]:
        return [ring.text for moment in moments for ring in self.ringing.tick(moment)]


@pytest.fixture
def house(store: Store) -> House:
    made = House(store)
    assert made.tick(FIXED_NOW) == []
    return made


def test_it_rings_when_it_is_due_once_and_is_told(house: House) -> None:
    house.remind("oven", FIXED_NOW + 5 * MINUTE)
    assert house.tick(FIXED_NOW + 4 * MINUTE) == []
    assert house.tick(FIXED_NOW + 5 * MINUTE, FIXED_NOW + 6 * MINUTE) == ["oven"]
    assert house.told.texts == ["oven"]
    (ring,) = open_rings(house.store)
    assert (ring.text, ring.due, ring.is_late) == ("oven", FIXED_NOW + 5 * MINUTE, False)


def test_what_was_due_before_hearth_ever_ran_does_not_ring(store: Store) -> None:
    house = House(store)
    house.remind("long ago", FIXED_NOW + MINUTE)
    assert house.tick(FIXED_NOW + DAY, FIXED_NOW + DAY + MINUTE) == []


def test_what_was_missed_rings_on_return_as_late_and_nothing_older_than_a_week(house: House) -> None:
    house.remind("missed", FIXED_NOW + DAY)
    house.remind("stale", FIXED_NOW + MINUTE)
    house.started()
    assert house.tick(FIXED_NOW + 8 * DAY - MINUTE) == ["missed"]
    assert [ring.is_late for ring in house.told.rings] == [True]


def test_a_repeating_one_rings_each_time(house: House) -> None:
    house.remind("tablets", FIXED_NOW + MINUTE, "daily")
    assert house.tick(*(FIXED_NOW + k * DAY + MINUTE for k in range(3))) == ["tablets"] * 3


def test_one_that_is_done_or_deleted_does_not_ring(house: House) -> None:
    done, gone = (house.remind(text, FIXED_NOW + MINUTE) for text in ("done", "gone"))
    complete_reminder.function(make_call("c", workspace=house.workspace), done)
    delete_reminder.function(make_call("d", workspace=house.workspace), gone)
    house.n_changes += 1
    assert house.tick(FIXED_NOW + MINUTE) == []


def test_snoozed_it_rings_again_and_over_it_does_not(house: House) -> None:
    house.remind("oven", FIXED_NOW + MINUTE)
    house.tick(FIXED_NOW + MINUTE)
    (ring,) = open_rings(house.store)
    assert ringing.snooze(house.store, ring.number, FIXED_NOW + 11 * MINUTE)
    assert open_rings(house.store) == ()
    assert not ringing.end(house.store, ring.number)  # it is silent: there is nothing to end
    house.started()
    assert house.tick(FIXED_NOW + 10 * MINUTE, FIXED_NOW + 11 * MINUTE, FIXED_NOW + 12 * MINUTE) == ["oven"]
    assert ringing.end(house.store, ring.number)
    assert not ringing.end(house.store, ring.number)
    assert house.tick(FIXED_NOW + 20 * MINUTE) == []


def test_a_clock_set_back_rings_nothing_twice(house: House) -> None:
    house.remind("oven", FIXED_NOW + MINUTE)
    assert house.tick(FIXED_NOW + MINUTE) == ["oven"]
    house.started()
    assert house.tick(FIXED_NOW - DAY, FIXED_NOW, FIXED_NOW + MINUTE, FIXED_NOW + 2 * MINUTE) == []


def test_after_a_clock_set_back_what_comes_rings(house: House) -> None:
    house.tick(FIXED_NOW + 60 * MINUTE)  # remembers that everything until then rang
    house.started()
    house.tick(FIXED_NOW)
    house.remind("oven", FIXED_NOW + 20 * MINUTE)
    seconds = (dt.timedelta(seconds=s + 0.5) for s in range(0, 25 * 60, 59))
    assert house.tick(*(FIXED_NOW + s for s in seconds)) == ["oven"]


def test_what_came_due_between_two_ticks_rings_though_reminders_are_read_again(house: House) -> None:
    house.tick(FIXED_NOW + 60 * MINUTE)
    house.remind("oven", FIXED_NOW + 5 * MINUTE)
    house.tick(FIXED_NOW + 4 * MINUTE)
    house.n_changes += 1
    assert house.tick(FIXED_NOW + 9 * MINUTE) == ["oven"]


def test_a_file_that_arrives_a_little_late_rings_and_one_that_is_much_too_late_does_not(house: House) -> None:
    house.tick(FIXED_NOW + 30 * MINUTE, FIXED_NOW + 60 * MINUTE)
    house.remind("just now", FIXED_NOW + 60 * MINUTE - dt.timedelta(seconds=90))
    house.remind("long ago", FIXED_NOW + 57 * MINUTE)
    assert house.tick(FIXED_NOW + 60 * MINUTE) == ["just now"]


def test_of_one_missed_several_times_the_first_and_the_last_ring(house: House) -> None:
    house.remind("tablets", FIXED_NOW + MINUTE, "daily")
    house.started()
    back = FIXED_NOW + 3 * DAY + MINUTE + dt.timedelta(seconds=30)
    assert house.tick(back, back + MINUTE, back + 20 * MINUTE) == ["tablets", "tablets"]
    rung = [(ring.due, ring.is_late) for ring in open_rings(house.store)]
    assert rung == [(FIXED_NOW + MINUTE, True), (FIXED_NOW + 3 * DAY + MINUTE, False)]
    assert house.tick(FIXED_NOW + 4 * DAY + MINUTE) == ["tablets"]


def test_one_done_ends_all_cards_of_its_reminder_and_of_no_other(house: House) -> None:
    house.remind("tablets", FIXED_NOW + MINUTE, "daily")
    house.remind("bins", FIXED_NOW + MINUTE)
    house.tick(*(FIXED_NOW + k * DAY + MINUTE for k in range(3)))
    first, second, third = (ring for ring in open_rings(house.store) if ring.text == "tablets")
    assert ringing.snooze(house.store, third.number, FIXED_NOW + 4 * DAY)
    assert ringing.end(house.store, second.number)
    assert not ringing.end(house.store, first.number)
    assert [ring.text for ring in open_rings(house.store)] == ["bins"]
    assert house.tick(FIXED_NOW + 4 * DAY) == ["tablets"]  # the next day's, not the snoozed one


@pytest.mark.parametrize("is_snoozed", [False, True])
@pytest.mark.parametrize("ended_by", ["done", "deleted", "moved"])
def test_cards_of_what_is_done_deleted_or_moved_go(house: House, ended_by: str, is_snoozed: bool) -> None:
    id = house.remind("oven", FIXED_NOW + MINUTE)
    house.remind("bins", FIXED_NOW + MINUTE)
    house.tick(FIXED_NOW + MINUTE)
    if is_snoozed:
        for ring in open_rings(house.store):
            ringing.snooze(house.store, ring.number, FIXED_NOW + 3 * MINUTE)
    call = make_call("c", workspace=house.workspace)
    if ended_by == "done":
        complete_reminder.function(call, id)
    elif ended_by == "deleted":
        delete_reminder.function(call, id)
    else:
        move_reminder.function(call, id, FIXED_NOW + DAY)
    house.n_changes += not is_snoozed  # what is snoozed is looked at again when it is to ring, even unchanged
    assert house.tick(FIXED_NOW + 3 * MINUTE) == (["bins"] if is_snoozed else [])
    assert [ring.text for ring in open_rings(house.store)] == ["bins"]
    assert house.ringing.n_dropped == 1


def test_a_card_stays_while_its_file_cannot_be_read(house: House) -> None:
    house.remind("oven", FIXED_NOW + MINUTE)
    house.tick(FIXED_NOW + MINUTE)
    (path,) = house.workspace.list("reminders", "*.ics")
    house.workspace.write(path, b"half a file")
    house.n_changes += 1
    house.tick(FIXED_NOW + 2 * MINUTE)
    assert [ring.text for ring in open_rings(house.store)] == ["oven"]


def test_of_a_repeating_one_only_what_is_not_past_is_still_due(house: House) -> None:
    id = house.remind("tablets", FIXED_NOW + MINUTE, "daily")
    times = [(id, FIXED_NOW + MINUTE), (id, FIXED_NOW + MINUTE + DAY)]
    call = make_call("c", workspace=house.workspace)
    assert still_due(call, times) == set(times)
    complete_reminder.function(replace(call, now=FIXED_NOW + 2 * MINUTE), id)
    assert still_due(call, times) == set(times[1:])


def test_texts_are_shown_without_what_steers_a_screen(house: House) -> None:
    todo = f"BEGIN:VTODO\nUID:a\nSUMMARY:a\u202eb\x1b[2J\nDUE:{FIXED_NOW + MINUTE:%Y%m%dT%H%M%S}\nEND:VTODO\n"
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//other//EN\n{todo}END:VCALENDAR\n"
    house.workspace.write("reminders/x.ics", text.encode())
    house.n_changes += 1
    assert house.tick(FIXED_NOW + MINUTE) == ["a·b·[2J"]


@pytest.mark.parametrize("hours", ["99:99-07:00", "22:00-24:01", "24:00-07:00", "22:00", "22-07", "٢٢:00-07:00"])
def test_hours_that_are_none_are_refused_with_the_settings(hours: str) -> None:
    with pytest.raises(ValidationError, match="like '22:00-07:00'"):
        Serve(quiet_hours=hours)


@pytest.mark.parametrize("hours", ["22:00-24:00", "22:00-00:00"])
def test_hours_may_end_at_midnight(store: Store, hours: str) -> None:
    house = House(store, Serve(quiet_hours=hours).quiet_hours)
    house.tick(FIXED_NOW)
    house.remind("late", FIXED_NOW + MINUTE)
    house.started()
    midnight = dt.datetime.combine(FIXED_NOW.date() + DAY, dt.time(), FIXED_NOW.tzinfo)
    assert house.tick(midnight - 119 * MINUTE, midnight - MINUTE) == []
    assert house.tick(midnight) == ["late"]


def test_a_notifier_that_hangs_or_fails_holds_nothing_up() -> None:
    released, told = threading.Event(), threading.Event()

    class Hanging:
        def tell(self, ring: Ring) -> None:
            if ring.number == 0:
                assert released.wait(30)
                raise RuntimeError("no desktop")
            told.set()

    ring = Ring(0, "r", "oven", FIXED_NOW, is_late=False)
    aside = Aside(Hanging())
    for number in range(300):
        aside.tell(replace(ring, number=number))
    released.set()
    assert told.wait(30)
    aside.close()


def test_in_quiet_hours_what_is_late_waits_and_what_was_set_for_them_rings(store: Store) -> None:
    house = House(store, "22:00-07:00")
    night = FIXED_NOW.replace(hour=23, minute=0)
    house.tick(FIXED_NOW)
    house.remind("late", FIXED_NOW + MINUTE)
    house.remind("tablet", night)
    house.started()
    assert house.tick(night) == ["tablet"]
    assert house.tick(night + 8 * 60 * MINUTE - MINUTE) == []
    assert house.tick(night + 8 * 60 * MINUTE) == ["late"]


def test_a_whole_day_rings_at_nine_and_midnight_at_midnight() -> None:
    day = FIXED_NOW.date() + DAY
    todo = f"BEGIN:VTODO\nUID:a\nSUMMARY:passport\nDUE;VALUE=DATE:{day:%Y%m%d}\nEND:VTODO\n"
    todo += f"BEGIN:VTODO\nUID:b\nSUMMARY:fireworks\nDUE:{day:%Y%m%d}T000000\nEND:VTODO\n"
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//other//EN\n{todo}END:VCALENDAR\n"
    call = make_call(workspace=InMemoryWorkspace({"reminders/x.ics": text}))
    midnight = dt.datetime.combine(day, dt.time(), FIXED_NOW.tzinfo)
    found = due_between(call, midnight, midnight + DAY)
    assert [(one.text, one.at) for one in found] == [
        ("fireworks", midnight),
        ("passport", midnight + dt.timedelta(hours=9)),
    ]


def test_many_in_a_minute_ring_once_each_over_fifty_kills_and_jumps(house: House) -> None:
    wanted = {f"r{k}": FIXED_NOW + dt.timedelta(seconds=60 + k * 0.4) for k in range(150)}
    for text, at in wanted.items():
        house.remind(text, at.replace(microsecond=0))
    rung: list[str] = []
    moment = FIXED_NOW + dt.timedelta(seconds=58)
    for k in range(50):
        house.started()  # killed, and up again
        jump = dt.timedelta(hours=(-1) ** k) if k % 7 == 3 else dt.timedelta(0)  # a clock that is put right again
        rung += house.tick(moment + min(jump, dt.timedelta(0)))
        moment += dt.timedelta(seconds=1.3)
        rung += house.tick(moment)
    assert sorted(rung) == sorted(wanted)
    assert sorted(house.told.texts) == sorted(wanted)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    due=st.lists(st.integers(1, 3000), min_size=1, max_size=8),
    ticks=st.lists(st.integers(-600, 4000), min_size=1, max_size=30),
)
def test_whatever_the_clock_does_each_rings_at_most_once_and_never_early(
    due: list[int], ticks: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("ring") / "hearth.db"
    with Store.open(path) as store:
        house = House(store)
        house.tick(FIXED_NOW)
        at = {f"r{k}": FIXED_NOW + dt.timedelta(seconds=s) for k, s in enumerate(due)}
        for text, moment in at.items():
            house.remind(text, moment)
        rung: list[str] = []
        for k, seconds in enumerate(ticks):
            if k % 3 == 0:
                house.started()
            now = FIXED_NOW + dt.timedelta(seconds=seconds)
            for text in house.tick(now):
                assert at[text] <= now
                rung.append(text)
        rung += house.tick(FIXED_NOW + dt.timedelta(seconds=5000))
        assert sorted(rung) == sorted(at)


def test_the_desktop_is_told_without_its_options_being_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = tmp_path / "heard"
    command = tmp_path / "notify-send"
    command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {heard}\n')
    command.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    ring = Ring(1, "r", "--help me", FIXED_NOW, is_late=False)
    DesktopNotifier().tell(ring)
    assert heard.read_text().splitlines()[1:3] == ["--", "--help me"]
    DesktopNotifier().tell(replace(ring, is_late=FIXED_NOW + LATE > FIXED_NOW))
    assert heard.read_text().splitlines()[2] == "Late: --help me"
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    DesktopNotifier().tell(ring)


@pytest.mark.parametrize(
    ("said", "below", "summary", "body"),
    [
        ("Tea & biscuits <3", "Tea & biscuits <3", "Tea & biscuits ‹3", "Tea &amp; biscuits &lt;3"),
        (
            "<b>Bank</b>",
            'please <a href="http://evil.example">look</a> <img src="file:///x">',
            "‹b›Bank‹/b›",
            'please &lt;a href="http://evil.example"&gt;look&lt;/a&gt; &lt;img src="file:///x"&gt;',
        ),
        ("a", r"\074b\076 and C:\new", "a", r"\\074b\\076 and C:\\new"),
        ("a", "&lt;b&gt;", "a", "&amp;lt;b&amp;gt;"),
    ],
)
def test_a_strangers_words_are_no_markup_of_the_desktop(
    said: str, below: str, summary: str, body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "notify-send"
    command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/said\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    DesktopNotifier().show(said, below)
    assert (tmp_path / "said").read_text().split("\n")[2:4] == [summary, body]
