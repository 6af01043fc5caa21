"""Operations over typed records: each is reckoned where all it needs is known, and left alone where it is not.

python -m pytest tests/unit/memory/test_reckoned_answers.py
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hearth.memory.answers.home_answers import HomeAnswers
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.memory.inquiry.reckoning import dated_things
from hearth.memory.inquiry.reckoning.record_lists import reckoned_answer
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.protocols import CallContext, HomeAnswer
from hearth.storage.database import Store
from hearth.testing import InMemoryWorkspace, make_call
from hearth.tools.memory import LEAST_SURE
from hearth.tools.pim.reminders import times_between

NOW = dt.datetime(2026, 10, 21, 9, tzinfo=dt.UTC)
Ask = Callable[[str], HomeAnswer | None]


def event(uid: str, title: str, start: str, end: str, rule: str = "") -> str:
    times = f"DTSTART:{start}00Z\nDTEND:{end}00Z\n{rule}"
    return f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{uid}\n{times}SUMMARY:{title}\nEND:VEVENT\nEND:VCALENDAR\n"


def reminder(uid: str, text: str, due: str, rule: str = "") -> str:
    return f"BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:{uid}\nDUE:{due}00Z\n{rule}SUMMARY:{text}\nEND:VTODO\nEND:VCALENDAR\n"


def card(name: str, born: str = "", more: str = "") -> str:
    first, _, last = name.rpartition(" ")
    birth = f"BDAY:{born}\n" if born else ""
    return f"BEGIN:VCARD\nVERSION:3.0\nUID:{name}\nFN:{name}\nN:{last};{first};;;\n{birth}{more}END:VCARD\n"


def mail(sender: str, subject: str, text: str, at: str) -> str:
    head = f"From: {sender}\nTo: me@home.example\nSubject: {subject}\nMessage-ID: <{subject}@x>\n"
    return f"{head}Date: {at} 08:00:00 +0000\nContent-Type: text/plain\n\n{text}\n"


HOME = {
    "calendar/1.ics": event("yoga", "Yoga", "20260907T1800", "20260907T1915", "RRULE:FREQ=WEEKLY\n"),
    "calendar/2.ics": event("eye", "Optician", "20261005T0900", "20261005T0930"),
    "calendar/3.ics": event("regatta", "Regatta", "20261024T1000", "20261024T1600"),
    "calendar/4.ics": event("supper", "Club supper", "20261024T1830", "20261024T2230"),
    "calendar/5.ics": event("vote", "Vote on the jetty", "20260917T1900", "20260917T2000"),
    "calendar/6.ics": event("shift1", "Shift", "20260908T0600", "20260908T1200"),
    "calendar/7.ics": event("shift2", "Shift", "20260911T0600", "20260911T1200"),
    "reminders/1.ics": reminder("pump", "Empty the bilge pump", "20260902T0700", "RRULE:FREQ=MONTHLY\n"),
    "reminders/2.ics": reminder("flag", "Hoist the flag", "20261024T1000"),
    "contacts/1.vcf": card("Ada Brand", "1950-03-02", "NICKNAME:my mother\nTEL:1\n"),
    "contacts/2.vcf": card("Nils Brand", "1988-11-12", "NICKNAME:my brother\nEMAIL:nils@b.example\nTEL:2\n"),
    "contacts/3.vcf": card("Hedda Lund", "", "EMAIL:hedda@l.example\nTITLE:Sailmaker\n"),
    "mail/cur/1.a:2,S": mail("Hedda Lund <hedda@l.example>", "New sail", "I need the deposit of 400 by 9 October.", "28 Sep 2026"),
    "mail/cur/2.b:2,S": mail("Hedda Lund <hedda@l.example>", "Sail finished", "All done, invoice 1 600 follows.", "19 Oct 2026"),
    "mail/cur/3.c:2,": mail("Jetty office <office@j.example>", "Berth", "Please move the boat.", "12 Oct 2026"),
    "mail/cur/4.d:2,S": mail("Club <club@c.example>", "Pontoon", "The pontoon is closed from 2 to 6 November.", "14 Oct 2026"),
    "mail/cur/5.e:2,S": mail("Bakery <b@b.example>", "Order", "We send 30 buns every Monday to the yoga.", "1 Sep 2026"),
    "notes/mast.md": "# Mast\n\nThe old mast broke in 1987.\n",
    "notes/boat.md": "# Boat\n\nThe boat was built in 1961.\n",
    "documents/price-list.txt": "Bun 3.50, roll 6",
    "documents/lease.txt": "Rent 900 kr a month",
    "documents/crane.txt": "Crane: 120 kr per day",
    "documents/contract.txt": "Commission 15 percent",
    "documents/receipts/2026-08-rope.txt": "Rope 300 kr",
    "documents/receipts/2026-09-rope.txt": "Rope 420 kr",
    "documents/receipts/2026-09-paint.txt": "Paint 180 kr",
}  # fmt: skip


@contextmanager
def home_of(
    folder: Path, files: Mapping[str, str], now: dt.datetime = NOW
) -> Iterator[tuple[HomeAnswers, CallContext]]:
    with Store.open(folder / "hearth.db") as store:
        home = HomeAnswers(store, MiniLMEncoder.open(), AnswerReader())
        call = make_call(
            workspace=InMemoryWorkspace(dict(files)), now=now, settings={"owner": {"email": "me@home.example"}}
        )
        for _ in home.refresh(call.workspace, now.tzinfo):
            pass
        yield home, call


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HomeAnswers, CallContext]]:
    with home_of(tmp_path_factory.mktemp("home"), HOME) as opened:
        yield opened


@pytest.fixture(scope="module")
def ask(home: tuple[HomeAnswers, CallContext]) -> Ask:
    return lambda question: reckoned_answer(question, home[0].passages, home[1])


def check(found: HomeAnswer | None, value: str) -> HomeAnswer:
    assert found is not None
    assert found.value == value
    assert found.is_reckoned
    assert found.witnesses
    return found


SPANS = [
    ("How many days lie between the vote and the regatta?", "37 days"),
    ("how many weeks from the optician to the club supper", "2.7 weeks (19 days)"),
    ("how long was it from the end of yoga on 7 September to the shift on 8 September", "10 hours 45 minutes"),
    ("on the 24th, how long is it between the regatta and the supper", "2 hours 30 minutes"),
    ("how many minutes are there between the regatta and the club supper", "150 minutes"),
    ("how many days after the vote did Hedda write about the new sail", "11 days"),
    ("how many days did Hedda leave me between her mail and her deadline for the deposit", "11 days"),
    ("days since the optician", "16 days"),
    ("how many days have I left until the regatta", "3 days"),
    ("how long have I got till the regatta", "3 days"),
    ("how long is it until Nils's birthday", "22 days"),
    ("how many days to my mothers birthday", "132 days"),
    ("how many weeks until the regatta", "0.4 weeks (3 days)"),
    ("by how many days am I past the date for the deposit", "12 days"),
    ("how many years separate the building of the boat from the broken mast", "26 years"),
    ("how many days passed between the two shifts", "3 days"),
    ("how many days after the regatta is Nils's birthday", "19 days"),
    ("how many nights is the pontoon closed", "4 nights"),
    ("in how many days is the regatta", "3 days"),
    ("how long ago was Nils's birthday", "343 days"),
    ("how many days between Nils's and my mother's birthdays", "110 days"),
    ("how many minutes after yoga on 5 October did I see the optician", "510 minutes"),
]  # fmt: skip


@pytest.mark.parametrize(("question", "value"), SPANS)
def test_a_span_is_reckoned_between_two_moments(ask: Ask, question: str, value: str) -> None:
    check(ask(question), value)


def test_what_is_waited_for_has_its_own_time_and_what_there_is_time_for_a_deadline(tmp_path: Path) -> None:
    files = {
        "calendar/1.ics": event("regatta", "Regatta", "20261124T1000", "20261124T1600"),
        "mail/cur/1.a:2,S": mail("Club <club@c.example>", "Regatta", "Enter your boat by 1 November.", "1 Oct 2026"),
    }
    call = make_call(workspace=InMemoryWorkspace(files), now=NOW)
    with Store.open(tmp_path / "hearth.db") as store:
        home = HomeAnswers(store, None, AnswerReader())
        for _ in home.refresh(call.workspace, dt.UTC):
            pass
        check(reckoned_answer("how many days until the regatta", home.passages, call), "34 days")
        check(reckoned_answer("how many days have I got for the regatta", home.passages, call), "11 days")


@pytest.mark.parametrize(
    "question",
    [
        "how many days until the moon landing",
        "how many days to my uncles birthday",
        "how many days between the burglary and the fire",
        "how many hours between Nils's birthday and the regatta",  # a birthday has no hour
        "how many years between the flood and the drought",
        "how many days between the two regattas",  # there is one
        "how long is the notice period",
        "how many days did the regatta take from start to finish",  # it is on one
        "how long after Halloween starts is it over",
    ],
)
def test_no_span_is_guessed(ask: Ask, question: str) -> None:
    assert ask(question) is None


AGES = [
    ("How old was my mother when Nils was born?", "38"),
    ("how old was Ada when she had Nils", "38"),
    ("how old will my mother be on the day of the regatta", "76"),
    ("my brother's next bday, what's he turning", "38"),
    ("how many years older is Ada than Nils", "38 years"),
    ("what is the age difference between my mother and my brother", "38 years"),
    ("who is older, Nils or Ada", "Ada Brand"),
    ("is Nils older than Ada", "No: Ada Brand is older"),
    ("in which year does Nils turn fifty", "Friday 12 November 2038"),
    ("who's the oldest person I have a birthday for", "Ada Brand (my mother), 2 March 1950"),
    ("once Nils's birthday is over, whose birthday is next", "Ada Brand: Tuesday 2 March 2027, turns 77"),
]


@pytest.mark.parametrize(("question", "value"), AGES)
def test_an_age_is_reckoned(ask: Ask, question: str, value: str) -> None:
    check(ask(question), value)


@pytest.mark.parametrize(
    "question",
    [
        "how old was Hedda when Nils was born",
        "how old was Nils when the bakery opened",
        "in which year does Hedda turn 50",
    ],
)
def test_no_age_is_guessed(ask: Ask, question: str) -> None:
    assert ask(question) is None


TIMES = [
    ("when should the regatta be over", "Saturday 24 October 2026 at 16:00"),
    ("till when is the regatta", "Saturday 24 October 2026 at 16:00"),
    ("at what time does the club supper end", "Saturday 24 October 2026 at 22:30"),
    ("how long does the regatta last", "6 hours"),
    ("how many hours of yoga did I have in September", "5 hours"),
    ("when must the bilge pump be emptied the next time", "Monday 2 November 2026 at 07:00"),
    ("when is yoga", "Monday 26 October 2026 at 18:00"),
    ("how many yoga lessons were there in September", "4 yoga lessons"),
    ("how often has there been yoga so far", "7 times"),
    ("how many more yoga evenings are there before 10 November", "3 yoga evenings"),
    ("how many buns went to the yoga in September", "120 buns (4 × 30)"),
]


@pytest.mark.parametrize(("question", "value"), TIMES)
def test_the_times_of_things_are_reckoned_with(ask: Ask, question: str, value: str) -> None:
    check(ask(question), value)


@pytest.mark.parametrize(
    "question",
    [
        "when does the lease end",
        "when is the regatta",  # it does not come again: it is read
        "how many judo lessons are there before the regatta",
        "how many yoga evenings are left before the regatta",  # none, which nothing shows
        "how long does the warranty last",
        "how many buns do we eat before the regatta",
    ],
)
def test_times_of_nothing_known_are_left_alone(ask: Ask, question: str) -> None:
    assert ask(question) is None


LISTS = [
    ("who was the last one to mail me", "Hedda Lund"),
    ("what comes right after the optician", "Yoga, Monday 5 October 2026 at 18:00"),
    ("which event comes before the regatta", "Yoga, Monday 19 October 2026 at 18:00"),
    ("what was the first thing in my calendar in October", "Optician, Monday 5 October 2026 at 09:00"),
    ("what is the last event this month", "Yoga, Monday 26 October 2026 at 18:00"),
    ("who mailed me most recently", "Hedda Lund"),
    ("what's the newest mail I haven't read", "“Berth” from Jetty office"),
    ("which mail have I left unread the longest", "“Berth” from Jetty office"),
    ("how many unread mails do I have", "1 mail"),
    ("how many mails have I not read", "1 mail"),
    ("how many mails haven't I opened", "1 mail"),
    ("how many events are left this week", "2 events"),
    ("how many mails came in since the optician", "3 mails"),
    ("how many people wrote to me in October", "3 people"),
    ("who has written to me more than once", "Hedda Lund (2)"),
    ("which was the first mail from Hedda", "“New sail” from Hedda Lund"),
    ("who can I only call, without an e-mail address", "Ada Brand"),
    ("how many of my contacts have a phone number", "2 contacts"),
    ("how many people in my address book have no birthday", "1 contact"),
    ("how many contacts have no birthday", "1 contact"),
    ("whose birthday is after my brother's", "Ada Brand: Tuesday 2 March 2027, turns 77"),
    ("which day this week is the fullest", "Saturday 24 October 2026 (2 events)"),
    ("which is the fuller month, October or November", "October 2026 (7 events)"),
    ("what was the longest thing in my calendar in September", "Shift (6 hours)"),
    ("how many things are still on my calendar this month", "3 events"),
    ("what else did I have on the day of the optician", "Yoga (18:00)"),
    ("which reminder rings when the regatta starts", "Hoist the flag (10:00)"),
    ("what weekday is Nils's birthday on", "Thursday 12 November 2026"),
]


@pytest.mark.parametrize(("question", "value"), LISTS)
def test_records_are_filtered_ordered_and_counted(ask: Ask, question: str, value: str) -> None:
    check(ask(question), value)


@pytest.mark.parametrize(
    "question",
    [
        "what was the last mail from Hedda about",
        "how many mails came in since the burglary",
        "who has written about the mast",
        "how many people come to the supper",
        "which reminder rings when the opera starts",
        "which day is the market",
        "what comes after the opera",
        "on how many days in October do I have two things",
        "which is the fuller month, September or October",  # they are alike
        "who is the oldest sailor",
    ],
)
def test_lists_that_ask_for_more_than_records_have_are_left_alone(ask: Ask, question: str) -> None:
    assert ask(question) is None


AMOUNTS = [
    ("what are 12 buns worth at my price", "42.00 (3.50 × 12)"),
    ("what do ten buns and two rolls come to", "47.00 (3.50 × 10 + 6.00 × 2)"),
    ("what would the crane cost for 4 days", "480.00 kr (120.00 kr × 4)"),
    ("how much cheaper is a bun than a roll", "2.50 (3.50 and 6.00)"),
    ("what do a bun and a roll cost together", "9.50 (3.50 + 6.00)"),
    ("what will Hedda have had altogether, deposit and invoice", "2,000.00 (400.00 + 1,600.00)"),
    ("what percentage of the invoice was the deposit", "25.0% (400 of 1,600)"),
    ("by how many per cent is the invoice dearer than the deposit", "300.0% (1,600 against 400)"),
    ("what is the commission on €2,000 of sales", "€300.00 (15% of €2,000.00)"),
    ("how much more did I give for rope in September than in August", "120.00 kr (420.00 kr and 300.00 kr)"),
    ("what do I spend on rope on average, by the receipts", "360.00 kr (2 amounts)"),
    ("what is half of the deposit", "200.00 (50% of 400.00)"),
    ("how much would 20 percent of the invoice be", "320.00 (20% of 1,600.00)"),
    ("which receipt is the largest one I have", "Rope 420 kr (420.00 kr)"),
    ("which two receipts were the largest", "2026 09 rope (420.00 kr); 2026 08 rope (300.00 kr)"),
    (
        "list my receipts sorted by amount, lowest first",
        "2026 09 paint (180.00 kr); 2026 08 rope (300.00 kr); 2026 09 rope (420.00 kr)",
    ),
    ("which receipts were over 200 kr", "2026 08 rope (300.00 kr); 2026 09 rope (420.00 kr)"),
    ("how many of my receipts were under 200 kr", "1 of 3: 2026 09 paint (180.00 kr)"),
    ("which receipts were over 900 kr", "0 of 3"),
    ("what do the receipts of September come to", "600.00 kr (2 amounts)"),
    ("what does the invoice come to per head, with 8 of us", "200.00 (1,600.00 ÷ 8)"),
    ("how much rent do I pay in a year", "10,800.00 kr (900.00 kr × 12)"),
    ("what does the rent come to from November to March", "4,500.00 kr (900.00 kr × 5)"),
]


@pytest.mark.parametrize(("question", "value"), AMOUNTS)
def test_amounts_are_reckoned(ask: Ask, question: str, value: str) -> None:
    check(ask(question), value)


@pytest.mark.parametrize(
    "question",
    [
        "what do 12 croissants cost",
        "which receipts were over 200 euros",
        "which three quotes were the largest",
        "what do 12 buns cost every day",  # for how many days is not known
        "what percentage of the members voted",
        "what is half of the ransom",
        "what do the crane and the opera cost together",
        "what are 3 nights at the hotel",
        "by how many per cent is the lease dearer than the ferry",
    ],
)
def test_no_amount_is_guessed(ask: Ask, question: str) -> None:
    assert ask(question) is None


@pytest.mark.parametrize(
    ("question", "is_sure"),
    [
        ("how many days until the regatta", True),
        ("how many days until the great regatta of champions", False),
        ("how many days between the stretching class and the regatta", False),
        ("what are 12 buns worth at my price", False),  # every amount
    ],
)
def test_what_is_meant_without_all_its_words_is_told_with_doubt(ask: Ask, question: str, *, is_sure: bool) -> None:
    found = ask(question)
    assert found is not None
    assert (found.chance >= LEAST_SURE) is is_sure


def test_every_time_of_a_reminder_is_known() -> None:
    files = {
        "reminders/a.ics": reminder("a", "tablet", "20261001T0800", "RRULE:FREQ=DAILY\n"),
        "reminders/b.ics": reminder("b", "passport", "20261003T1200"),
        "reminders/c.ics": "BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:c\nSUMMARY:some day\nEND:VTODO\nEND:VCALENDAR\n",
    }
    call = make_call(workspace=InMemoryWorkspace(files), now=NOW)
    start = dt.datetime(2026, 10, 2, tzinfo=dt.UTC)
    found = times_between(call, start, start + dt.timedelta(days=2))
    assert [(one.text, one.at and one.at.day) for one in found] == [("tablet", 2), ("tablet", 3), ("passport", 3)]


@pytest.mark.parametrize(("question", "value"), [*SPANS, *AGES, *TIMES, *LISTS, *AMOUNTS])
def test_no_other_way_to_an_answer_comes_before(
    home: tuple[HomeAnswers, CallContext], question: str, value: str
) -> None:
    found = home[0].find_answer(question, home[1])
    assert found.value == value


# ── What is easily told wrong ─────────────────────────────────────────────────────────────────────────────

BERLIN = ZoneInfo("Europe/Berlin")
SENT = "20 Oct 2026"
ROPE = "what is the sum of my rope receipts"


def days(uid: str, title: str, first: str, behind: str) -> str:
    times = f"DTSTART;VALUE=DATE:{first}\nDTEND;VALUE=DATE:{behind}\n"
    return f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:{uid}\n{times}SUMMARY:{title}\nEND:VEVENT\nEND:VCALENDAR\n"


ODD_HOME = {
    "calendar/1.ics": event("dent1", "Dentist", "20260310T0900", "20260310T0930"),
    "calendar/2.ics": event("dent2", "Dentist", "20261105T0900", "20261105T0930"),
    "calendar/3.ics": event("exam1", "Exam", "20261020T0900", "20261020T1200"),
    "calendar/4.ics": event("exam2", "Exam", "20261222T0900", "20261222T1200"),
    "calendar/5.ics": days("fair", "Book fair", "20261022", "20261023"),
    "calendar/6.ics": days("rome", "Holiday in Rome", "20261102", "20261109"),
    "calendar/7.ics": event("night", "Night shift", "20261024T2000", "20261025T0500"),
    "calendar/8.ics": event("yoga", "Yoga", "20240102T1800", "20240102T1900", "RRULE:FREQ=WEEKLY\n"),
    "calendar/9.ics": event("old", "Moon landing", "00010102T0900", "00010102T1000"),
    "contacts/1.vcf": card("Tom Berger", "1990-10-21", "EMAIL:tom@b.example\n"),
    "contacts/2.vcf": card("Anna Berger", "1990-10-20"),
    "contacts/3.vcf": card("Mia Berger", "2019-12-31"),
    "contacts/4.vcf": card("Zoe Far", "9999-12-31"),
    "mail/cur/1.a:2,S": mail("Tax office <t@tax.example>", "Tax", "Your tax must be paid by 30 October.", SENT),
    "mail/cur/2.a:2,S": mail("Shop <s@s.example>", "Rope", f"Rope {'9' * 400} kr", SENT),
}  # fmt: skip


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    with home_of(tmp_path_factory.mktemp("odd"), ODD_HOME, NOW.astimezone(BERLIN)) as (home, call):
        yield lambda question: reckoned_answer(question, home.passages, call)


@pytest.mark.parametrize(
    ("question", "value", "is_sure"),
    [
        ("what weekday was the dentist", "Tuesday 10 March 2026 at 10:00", True),
        ("what weekday is the dentist", "Thursday 5 November 2026 at 10:00", True),
        ("what weekday was the first dentist appointment", "Tuesday 10 March 2026 at 10:00", True),
        ("how many days after the exam is the dentist", "16 days", False),
        ("how many days after the dentist is the exam", "47 days", False),
        ("how many days between the exam and the dentist", "47 days", False),
        ("how old was Tom on Mia's birthday", "35", True),
        ("how many days between Tom's birthday and Anna's birthday", "1 day", True),
        ("how many days after Tom's birthday is Anna's birthday", "364 days", True),
        ("when does the book fair end", "Thursday 22 October 2026", True),
        ("how long is the holiday in Rome", "7 days", True),
        ("what is the first event tomorrow", "Book fair, Thursday 22 October 2026", True),
        ("how long is the night shift", "9 hours", True),
        ("what weekday is the night shift in March", "Saturday 24 October 2026 at 22:00", False),
        ("how many hours until the exam", "1488 hours", True),
        ("how many hours of yoga did I have in 2025", "52 hours", True),
        ("how many things are on my calendar in 2027", "52 events", True),
    ],
)
def test_of_several_times_the_one_is_told_that_is_asked_for(
    odd: Ask, question: str, value: str, *, is_sure: bool
) -> None:
    found = check(odd(question), value)
    assert (found.chance >= LEAST_SURE) is is_sure


@pytest.mark.parametrize(
    "question",
    [
        "how often has there been yoga so far",  # also before what is looked at
        "how many yoga lessons are there before 2090",
        "how old was Zoe when Tom was born",
        "in which year does Zoe turn 50",
        "how many hours is the holiday in Rome",
        "how much more is the rope than the tax",
        "what comes before the moon landing",
        "how many days between the moon landing and the dentist",
    ],
)
def test_what_lies_beyond_what_is_known_is_not_told(odd: Ask, question: str) -> None:
    assert odd(question) is None


def test_a_deadline_lies_after_the_mail_that_sets_it(odd: Ask) -> None:
    found = odd("what weekday is the tax deadline")
    assert found is None or found.value == "Friday 30 October 2026"


@pytest.mark.parametrize(
    ("files", "question"),
    [
        ({}, "how many mails are about the boiler"),  # it may be said otherwise
        ({"mail/cur/1.a:2,S": mail("Shop <s@s.example>", "Receipt", "Receipt rope 90000 kr", SENT)}, ROPE),
    ],
)  # fmt: skip
def test_what_words_may_not_mean_is_told_with_doubt(tmp_path: Path, files: dict[str, str], question: str) -> None:
    with home_of(tmp_path, {**HOME, **files}) as (home, call):
        assert home.find_answer(question, call).chance < LEAST_SURE


def test_nothing_left_is_told(home: tuple[HomeAnswers, CallContext]) -> None:
    assert home[0].find_answer("how many events are left today", home[1]).value == "0 events"


def test_what_cards_say_is_still_counted(tmp_path: Path) -> None:
    files = {
        "contacts/1.vcf": card("Ada Brand", "", "ADR:;;1 Mill Road;Leeds;;;\n"),
        "contacts/2.vcf": card("Nils Brand", "", "ADR:;;2 Quay;York;;;\n"),
    }
    with home_of(tmp_path, files) as (home, call):
        assert home.find_answer("how many contacts have an address in Leeds", call).value == "1 contact"
        assert home.find_answer("how many contacts have an address", call).value == "2 contacts"


def test_an_amount_has_no_exponent(tmp_path: Path) -> None:
    files = {"notes/a.md": "# Boat\n\nCrane costs 1234567 kr.\nHarbour costs 2500000 kr.\n"}
    with home_of(tmp_path, files) as (home, call):
        found = reckoned_answer("what percentage of the harbour is the crane", home.passages, call)
    assert check(found, "49.4% (1,234,567 of 2,500,000)").kind == "number"


def test_of_many_mails_only_the_last_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dated_things, "_N_MAILS", 3)
    with home_of(tmp_path, HOME) as (home, call):
        assert reckoned_answer("how many unread mails do I have", home.passages, call) is None
        check(reckoned_answer("who mailed me most recently", home.passages, call), "Hedda Lund")
