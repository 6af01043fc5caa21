"""Measure that no file of a stranger stops a question: mutated mails, calendars, cards and texts, by a seed.

    python -m hearth_bench.measure.guard.hostile_inputs         writes packages/hearth-bench/results/hostile_inputs.json

Each input is one of the forms that once stopped Hearth, or a plain file, changed at some places: bytes exchanged,
pieces doubled, numbers made huge, encodings and properties renamed. It lies among good files of its kind, and the tool
that answers from them is asked. Counted: what is no answer and no error in words, questions whose good file was not
found, the longest processor time of one, and by how much this process grew over all of them. The same for a few files
as large as are read at all. Of the process in which what is not small is read: its start, its memory, what a mail costs
there and here.
Not covered: what needs more than one file to do harm; tools that ask a server.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hearth.errors import HearthError
from hearth.formats.bounded_reading import IN_PROCESS_BYTES, end_readers, readers_usage
from hearth.protocols import CallContext
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.files import find_files, read_file
from hearth.tools.mail.mail import find_mail
from hearth.tools.mail.mime import body_of, read_body
from hearth.tools.notes import find_notes
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.contacts import list_contacts
from hearth.tools.pim.reminders import find_reminders
from hearth_bench.measure.result_file import write_result

N_INPUTS = 20_000
LIMIT_S = 5.0
_DAY = f"{FIXED_NOW:%Y%m%d}"
_CHARSETS = (
    "utf-8",
    "punycode",
    "idna",
    "utf-7",
    "utf-16",
    "iso-2022-jp",
    "unicode_escape",
    "x" * 50,
    "",
    "hz",
    "\x00",
)
_RULES = (
    "FREQ=DAILY;COUNT=1000000000",
    "FREQ=DAILY;INTERVAL=0",
    "FREQ=DAILY;INTER\r\n \r \r\n VAL=0",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=DAILY;BYHOUR=" + ",".join(map(str, range(24))) + ";BYMINUTE=" + ",".join(map(str, range(60))),
    "FREQ=WEEKLY;BYDAY=MO,XX;UNTIL=99999999",
    "FREQ=MONTHLY;BYSETPOS=400;BYDAY=MO",
    "FREQ=SECONDLY",
    "FREQ=YEARLY;BYWEEKNO=53;BYDAY=MO;COUNT=300",
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file, the tool that answers from it, and a good file that it must find."""

    path: str
    seeds: tuple[bytes, ...]
    good: bytes
    ask: Callable[[CallContext], object]


def _ics(component: str, *lines: str, more: str = "") -> bytes:
    inner = "\r\n".join(lines)
    return f"BEGIN:VCALENDAR\r\n{more}BEGIN:{component}\r\n{inner}\r\nEND:{component}\r\nEND:VCALENDAR\r\n".encode()


def _vcf(*lines: str) -> bytes:
    return "\r\n".join(("BEGIN:VCARD", *lines, "END:VCARD", "")).encode()


def _mail(charset: str, subject: str = "Boiler") -> bytes:
    head = f"From: A <a@b.example>\nTo: me@x.example\nSubject: {subject}\nDate: Fri, 20 Nov 2026 08:00:00 +0000\n"
    kind = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: quoted-printable\n\n"
    return (head + kind + "the boiler =C3=BC comes\n" * 5).encode()


def _parts(n: int) -> bytes:
    head = "From: a@b.example\nSubject: parts\nMIME-Version: 1.0\n"
    nested = "".join(f'Content-Type: multipart/mixed; boundary="b{k}"\n\n--b{k}\n' for k in range(n))
    return (head + nested + "Content-Type: text/html\n\n<p>boiler<b>" + "<i>" * n).encode()


_ZONE = (
    "BEGIN:VTIMEZONE\r\nTZID:X\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\nTZOFFSETFROM:+0100\r\n"
    "TZOFFSETTO:+0200\r\nRRULE:FREQ=YEARLY\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
)
KINDS: dict[str, Kind] = {
    "mail": Kind(
        "mail/new/{}",
        (
            *(_mail(name) for name in _CHARSETS[:8]),
            *(_mail("utf-8", f"=?{name}?Q?a=C3-b?=") for name in _CHARSETS[:8]),
            _parts(30),
        ),
        _mail("utf-8", "good one"),
        lambda call: find_mail(call=call, query="good"),
    ),
    "calendar": Kind(
        "calendar/{}.ics",
        (
            _ics("VEVENT", "UID:1", f"DTSTART:{_DAY}T190000Z", "SUMMARY;ENCODING=QUOTED-PRINTABLE:a=\r\nb"),
            _ics("VEVENT", "UID:2", "SUMMARY:Zone", f"DTSTART;TZID=X:{_DAY}T190000", more=_ZONE),
            *(_ics("VEVENT", "UID:3", "SUMMARY:Rule", f"DTSTART:{_DAY}T190000", f"RRULE:{rule}") for rule in _RULES),
        ),
        _ics("VEVENT", "UID:good", "SUMMARY:good one", f"DTSTART:{_DAY}T200000Z"),
        lambda call: find_events(call=call),
    ),
    "reminders": Kind(
        "reminders/{}.ics",
        tuple(_ics("VTODO", "UID:1", "SUMMARY:Water", f"DUE:{_DAY}T190000", f"RRULE:{rule}") for rule in _RULES),
        _ics("VTODO", "UID:good", "SUMMARY:good one", f"DUE:{_DAY}T200000Z"),
        lambda call: find_reminders(call=call),
    ),
    "contacts": Kind(
        "contacts/{}.vcf",
        (
            _vcf("VERSION:2.1", "N;ENCODING=QUOTED-PRINTABLE;CHARSET=punycode:B=C3=A9rg;Anna"),
            _vcf("FN:Émma O'Neil's", "BDAY:--0229", "NICKNAME:a\\,b", "PHOTO:" + "A" * 500),
        ),
        _vcf("FN:good one"),
        lambda call: list_contacts(call=call),
    ),
    "notes": Kind(
        "notes/{}.md",
        (b"# A list\n\n- [ ] milk\n- [x] eggs\n", b"---\ntitle: x\n---\ntext \xff\xfe\n"),
        b"# good one\n\ntext\n",
        lambda call: find_notes(call=call),
    ),
    "files": Kind(
        "documents/{}.txt",
        (b"some words", b"\xff\xfea\x00b\x00", b"PK\x03\x04" + b"\x00" * 50),
        b"good one",
        lambda call: [read_file(path=found.path, call=call) for found in find_files(call=call) if "good" in found.path],
    ),
}


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return a file changed at one to six places."""
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 4, 40, 400)))
        match rng.randrange(8):
            case 0:
                data = data[:at] + bytes(rng.randrange(256) for _ in range(rng.choice((1, 3, 9)))) + data[at:]
            case 1:
                data = data[:at] + data[to:]
            case 2:
                data = data[:to] + data[at:to] * rng.choice((1, 5, 500)) + data[to:]
            case 3:
                data = (
                    data[:at]
                    + rng.choice((b"=\n", b";", b'"', b"\r\n ", b"(", b"<", b"=?", b"\\", b"\x00"))
                    * rng.choice((1, 50, 5_000))
                    + data[at:]
                )
            case 4:
                charset = rng.choice(_CHARSETS).encode()
                data = data.replace(b"utf-8", charset, 1) if b"utf-8" in data else data + b"charset=" + charset
            case 5:
                digits = str(rng.choice((0, -1, 99, 10**9, 10**30))).encode()
                data = data[:at] + digits + data[to:]
            case 6:
                data = data.replace(b"DTSTART:2026", b"DTSTART:" + rng.choice((b"0001", b"9999", b"1583", b"x")), 1)
            case _:
                data = data.replace(b"RRULE:", b"RRULE:" + rng.choice(_RULES).encode() + b"\r\nRRULE:", 1)
    return data[:2_000_000]


def inputs(n: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield kind and content of `n` files; the same for the same seed."""
    rng = random.Random(seed)
    for number in range(n):
        name = list(KINDS)[number % len(KINDS)]
        yield name, mutated(rng.choice(KINDS[name].seeds), rng)


def _large() -> dict[str, bytes]:
    """Files of many megabytes, by kind: one long line, many short ones, one huge value."""
    lines = b"\r\n".join(b"X-L%d: %d" % (k, k) for k in range(400_000))
    value = b"A" * 12_000_000
    return {
        "mail": b"From: a@b.example\r\n" + lines + b"\r\nSubject: " + value + b"\r\n\r\n" + value,
        "calendar": _ics("VEVENT", "UID:1", f"DTSTART:{_DAY}T190000", "SUMMARY:" + value.decode()),
        "reminders": _ics("VTODO", "UID:1", "SUMMARY:x", *(f"X-{k}:{k}" for k in range(400_000))),
        "contacts": _vcf("FN:x", "PHOTO:" + value.decode(), *(f"NICKNAME:n{k}" for k in range(100_000))),
        "notes": b"# x\n\n" + value,
        "files": value,
    }


def answered(name: str, data: bytes) -> tuple[str, float]:
    """Ask about the good file with the other one beside it: what became of it, and the processor time in seconds.

    Returns:
        `found`, `not found`, `error in words`, or the name of an exception.
    """
    kind = KINDS[name]
    files = {kind.path.format("1.bad"): data, kind.path.format("2.good"): kind.good}
    call = make_call(workspace=InMemoryWorkspace(files, now=FIXED_NOW))
    began = _cpu_s()
    try:
        outcome = "found" if "good" in repr(kind.ask(call)) else "not found"
    except HearthError:
        outcome = "error in words"
    except Exception as error:
        outcome = type(error).__name__
    return outcome, _cpu_s() - began


def _cpu_s() -> float:
    """Return the processor time of this process and of those that read for it, ended ones among them."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + readers_usage().cpu_s + ended.ru_utime + ended.ru_stime


def measure(n: int, seed: int = 0) -> dict[str, object]:
    """Ask `n` questions with a hostile file among the good ones."""
    outcomes: Counter[str] = Counter()
    slowest: dict[str, float] = {}
    slowest_small_s = 0.0
    worst: list[str] = []
    n_over = 0
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, (name, data) in enumerate(inputs(n, seed)):
        outcome, spent_s = answered(name, data)
        outcomes[outcome] += 1
        slowest[name] = max(slowest.get(name, 0.0), spent_s)
        if len(data) <= IN_PROCESS_BYTES:
            slowest_small_s = max(slowest_small_s, spent_s)
        n_over += spent_s > LIMIT_S
        if outcome != "found" or spent_s > LIMIT_S:
            worst.append(f"{number} {name}: {outcome}, {spent_s:.2f} s")
    large = {name: answered(name, data) for name, data in sorted(_large().items())}
    worst += [f"large {name}: {outcome}" for name, (outcome, _) in large.items() if outcome != "found"]
    return {
        "n": n,
        "grew_mb": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb) / 1024, 1),
        "large_s": {name: round(spent, 3) for name, (_, spent) in large.items()},
        "outcomes": dict(outcomes),
        "n_over_limit": n_over,
        "limit_s": LIMIT_S,
        "slowest_s": {name: round(spent, 3) for name, spent in slowest.items()},
        "slowest_small_s": round(slowest_small_s, 3),
        "not_answered": worst[:50],
    }


def process_cost() -> dict[str, object]:
    """Measure the process for strangers' bytes: its start, its memory, and a mail read there and here."""
    end_readers()
    one = _mail("utf-8") + b"the boiler comes\n" * (IN_PROCESS_BYTES // 17)
    began = time.perf_counter()
    read_body(one)
    started_ms = 1e3 * (time.perf_counter() - began)
    costs: dict[str, dict[str, float]] = {}
    for name, text in (("70 kB", one), ("1 MB", one * 15)):
        costs[name] = {"here_ms": _median_ms(body_of, text), "there_ms": _median_ms(read_body, text)}
    return {"first_ms": round(started_ms, 1), "mail": costs, "memory_mb": round(readers_usage().n_bytes / 1e6, 1)}


def _median_ms(read: Callable[[bytes], object], text: bytes) -> float:
    times: list[float] = []
    for _ in range(50):
        began = time.perf_counter()
        read(text)
        times.append(time.perf_counter() - began)
    return round(1e3 * statistics.median(times), 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=N_INPUTS)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    started, cpu = time.perf_counter(), os.times()
    results = measure(chosen.inputs, chosen.seed) | {"process": process_cost()}
    cpu_s = sum(os.times()[:4]) - sum(cpu[:4])
    write_result("hostile_inputs", results, seed=chosen.seed, cpu_s=cpu_s, wall_s=time.perf_counter() - started)


if __name__ == "__main__":
    main()
