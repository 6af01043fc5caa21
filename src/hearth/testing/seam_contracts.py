"""Check the contracts of workspaces, footage, experts, sensors and holders."""

from __future__ import annotations

import datetime as dt
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

from hearth.errors import NotFound, SandboxError, ToolError
from hearth.protocols import (
    SETTABLE,
    Expert,
    Footage,
    Found,
    Given,
    Held,
    Holder,
    Message,
    Observation,
    Sensor,
    Sighting,
    Thing,
    Wanted,
    Workspace,
)
from hearth.storage.database import Store
from hearth.storage.workspace import N_MAX_NAME_BYTES


def check_workspace(make: Callable[[], Workspace]) -> None:
    """Check a workspace against `protocols.Workspace`; `make` gives a fresh empty one each time.

    Raises:
        AssertionError: The contract is broken.
    """
    _check_files(make())
    _check_listing(make())
    workspace = make()
    workspace.write("kept.txt", b"kept")
    long_name = "n" * (N_MAX_NAME_BYTES + 1)
    hostile = ("", ".", "/", "/etc/passwd", "../x", "a/../../x", "..", "a\0b", "\ud800", long_name, "d/" * 3000 + "f")
    for path in hostile:
        for act in (workspace.read, workspace.delete, workspace.modified, workspace.stat, workspace.exists):
            _expect(SandboxError, act, path)
        try:
            workspace.write(path, b"x")
        except SandboxError:
            continue
        raise AssertionError(f"write({path[:40]!r}) was accepted; expected SandboxError")
    assert workspace.list() == ("kept.txt",), f"a refused path left files: {workspace.list()}"


def _check_files(workspace: Workspace) -> None:
    for act in (workspace.read, workspace.delete, workspace.modified, workspace.stat):
        _expect(NotFound, act, "absent.txt")
        _expect(NotFound, act, "absent/deep.txt")
    assert not workspace.exists("absent.txt")
    for data in (b"", b"first", bytes(range(256)) * 300, b"last"):
        workspace.write("a/b/c.txt", data)
        assert workspace.read("a/b/c.txt") == data, "a file read back differs from what was written"
        assert workspace.read("./a//b/./c.txt") == data, "'.' and '//' in a path must not matter"
    assert workspace.exists("a/b/c.txt")
    assert not workspace.exists("a/b"), "exists() is about files; 'a/b' is a folder"
    _expect(ToolError, workspace.read, "a/b")
    for path in ("a/b", "a/b/c.txt/d.txt"):
        try:
            workspace.write(path, b"x")
        except ToolError:
            continue
        raise AssertionError(f"write({path!r}) was accepted although a file or folder is in the way")
    stat = workspace.stat("a/b/c.txt")
    assert stat.modified == workspace.modified("a/b/c.txt"), "stat() and modified() differ"
    assert stat.modified.utcoffset() == dt.timedelta(0), f"modified() gave {stat.modified!r}; expected UTC"
    assert stat.size_bytes == 4, f"stat() gave {stat.size_bytes} bytes; expected 4"
    assert workspace.stat("a/b/c.txt") == stat, "the fingerprint of an unchanged file changed"
    for data in (b"tsal", b"salt", b"alts"):
        workspace.write("a/b/c.txt", data)
        kept, stat = stat, workspace.stat("a/b/c.txt")
        assert stat.fingerprint != kept.fingerprint, "two contents of the same length have one fingerprint"
    workspace.write("a/b/other.txt", b"alts")
    assert workspace.stat("a/b/other.txt").fingerprint != stat.fingerprint, "two files have one fingerprint"
    workspace.delete("a/b/c.txt")
    assert not workspace.exists("a/b/c.txt")
    _expect(NotFound, workspace.read, "a/b/c.txt")
    workspace.write("a/b/c.txt", b"again")
    assert workspace.read("a/b/c.txt") == b"again"


def _check_listing(workspace: Workspace) -> None:
    assert workspace.list() == ()
    names = ("b.txt", "a.md", "f/z.txt", "f/g/Y.TXT", "f2/q.txt", ".h/i.txt", "mail/cur/1:2,S", "ü/ß.txt")
    for name in names:
        workspace.write(name, b"x")
    assert workspace.list() == tuple(sorted(names)), f"list() gave {workspace.list()}"
    assert workspace.list("f") == ("f/g/Y.TXT", "f/z.txt"), f"list('f') gave {workspace.list('f')}"
    assert workspace.list("f/", "*.txt") == ("f/z.txt",), "the pattern is matched against the name, case counts"
    assert workspace.list("absent") == ()
    assert workspace.list("b.txt") == ()
    assert workspace.list("", "[ab].*") == ("a.md", "b.txt")
    for folder in ("..", "/", "/etc", "f/../..", "a\0b"):
        _expect(SandboxError, workspace.list, folder)


def _expect(expected: type[Exception], act: Callable[[str], object], path: str) -> None:
    name = getattr(act, "__name__", "call")
    try:
        found = act(path)
    except expected:
        return
    except Exception as error:
        raise AssertionError(
            f"{name}({path[:40]!r}) raised {type(error).__name__}: {error}; expected {expected.__name__}"
        ) from error
    raise AssertionError(f"{name}({path[:40]!r}) gave {found!r}; expected {expected.__name__}")


# ── What footage must keep ─────────────────────────────────────────────────────────────────────────────


def check_footage(footage: Footage, room: str, start: dt.datetime, end: dt.datetime) -> tuple[Sighting, ...]:
    """Check footage in which somebody was seen in `room` between two times.

    Returns:
        The sightings with names and activities, for further checks.
    """
    assert room in footage.rooms(), f"{room!r} is no room of {footage.rooms()}"
    _expect(NotFound, footage.recordings, "no such room")
    found = footage.recordings(room, start, end)
    assert found, f"no recording of {room!r} between {start} and {end}"
    assert list(found) == sorted(found, key=lambda one: one.start), "recordings come in order of time"
    assert all(one.room == room and one.start < end and one.end > start for one in found)
    seen = footage.people(room, start, end, threading.Event())
    assert seen, f"nobody was seen in {room!r} between {start} and {end}"
    assert list(seen) == sorted(seen, key=lambda one: one.start), "sightings come in order of time"
    assert len({one.id for one in seen}) == len(seen), "each sighting has an id of its own"
    for one in seen:
        assert start <= one.start <= one.end <= end, f"sighting {one.id!r} is not cut to the time asked about"
        assert one.start.tzinfo is not None, "times have a zone"
        assert (one.name, one.activity) == ("", ""), "people() neither names nor tells what they do"
        assert 0 <= one.confidence <= 1
    again = footage.people(room, start, end, threading.Event())
    assert [one.id for one in again] == [one.id for one in seen], "the same question has the same answer"
    ids = [one.id for one in seen]
    named = footage.named(ids)
    assert [(one.id, one.start, one.end) for one in named] == [(one.id, one.start, one.end) for one in seen]
    done = footage.doing(ids)
    assert len(done) >= len(seen), "doing() tells at least one stretch of each sighting"
    assert all(start <= one.start <= one.end <= end for one in done), "a stretch reaches out of its sighting"
    assert {one.name for one in done} == {one.name for one in named}, "doing() names whom named() names"
    assert footage.named([one.id for one in done]), "a stretch has an id that can be asked about again"
    assert footage.named(ids[::-1]) == named[::-1], "answers come in the order of the ids"
    _expect(NotFound, lambda id: footage.named([id]), "no such sighting")
    _expect(NotFound, lambda id: footage.pictures([id]), "no such sighting")
    return done


# ── What an expert must keep ───────────────────────────────────────────────────────────────────────────


def check_expert(make: Callable[[], Expert[Given, Found]], given: Given, heavy_modules: Sequence[str] = ()) -> Found:
    """Check one expert: a complete card, made without loading its model, the same answer twice.

    Args:
        make: Makes the expert.
        given: Something it takes; the same object is given twice, so no iterator.
        heavy_modules: Modules that only using it may import.
    Returns:
        What it found, for further checks; an iterator's items as a tuple.
    """
    before = set(sys.modules)
    expert = make()
    loaded = [name for name in heavy_modules if name in sys.modules and name not in before]
    assert not loaded, f"making the expert imports {', '.join(loaded)}; import them where the model is first used"
    card = expert.card
    for field in ("name", "takes", "gives"):
        assert getattr(card, field), f"the card says no {field!r}; its users need to know"
    assert card.cannot, f"the card of {card.name!r} names nothing it cannot do; every model has limits"
    assert all(text.endswith(".") for text in card.cannot), f"the limits of {card.name!r} are sentences"
    first, second = expert.look(given), make().look(given)
    if isinstance(first, Iterator) and isinstance(second, Iterator):
        first, second = cast(Found, tuple(first)), cast(Found, tuple(second))
    assert repr(first) == repr(second), f"{card.name!r} says different things of the same input; fix its seed"
    return first


# ── What a sensor must keep ────────────────────────────────────────────────────────────────────────────


_HOSTILE_PAYLOADS = (
    *(
        b"",
        b"{",
        b"[" * 5_000,
        b"\xff\xfe",
        b"\0" * 100,
        b"null",
        b"[]",
        b'{"twin": null}',
        b"NaN",
        b"1e999",
        b"\x1b[2J",
    ),
    *(b"x" * 100_000, b'{"name": "\\ud800"}', b'{"a": ' * 900 + b"1" + b"}" * 900, b"true", b'{"twin": {"": {}}}'),
)


def check_sensor(make: Callable[[], Sensor], told: Sequence[Message], thing: str, at: dt.datetime) -> Sensor:
    """Check a sensor against `protocols.Sensor`.

    Args:
        make: Makes a sensor that has heard nothing yet.
        told: Messages after which `thing` is known and has said something.
    Returns:
        A sensor that took them, for further checks.
    """
    sensor = make()
    topics, found = list(sensor.topics()), list[Observation]()
    for message in told:
        found += sensor.take(message, at)
        now = sensor.topics()
        assert list(dict.fromkeys(now)) == list(now), f"{sensor.name} listens to a topic twice"
        topics += now
    assert not any(topic in ("", "#", "+/#") for topic in topics), f"{sensor.name} listens to everything"
    assert thing in sensor.things, f"{thing!r} is not known; there is {', '.join(sensor.things) or 'nothing'}"
    assert found, f"{sensor.name} made no observation of what it was told"
    for one in found:
        assert one.thing in sensor.things, f"an observation is of {one.thing!r}, which is no thing"
        assert one.at == at, "an observation has the time it was given"
    known = sensor.things[thing]
    assert known.id == thing, f"the thing {thing!r} has the id {known.id!r}"
    assert known.confirms <= known.settable <= set(SETTABLE), "what is settable is of protocols.SETTABLE"
    assert not known.reads & known.settable, "what can be set is no measurement"
    _check_orders(sensor, known)
    before = dict(sensor.things)
    for topic in dict.fromkeys(topics):
        for payload in _HOSTILE_PAYLOADS:
            told_there = topic.replace("+", "x")
            sensor.take(Message(told_there, payload, is_retained=bool(len(payload) % 2)), at)
    assert all(line.isprintable() and len(line) <= 400 for line in sensor.refused), "refusals are short lines"
    assert len(sensor.refused) <= 100, "refusals are the last few only"
    assert sensor.things.get(thing) == before[thing], "garbage changed what is known of a thing"
    assert sensor.take(Message("another/topic", b"on"), at) == (), "what is said elsewhere is none of its business"
    return sensor


def _check_orders(sensor: Sensor, known: Thing) -> None:
    for quantity in known.settable:
        value: bool | float = True if quantity.startswith("is_") else 20.0
        messages = sensor.order(known.id, {quantity: value}, {})
        assert messages, f"no message orders {quantity}"
        for message in messages:
            assert message.topic, "an order goes nowhere"
            assert not set("+#") & set(message.topic), f"an order goes to {message.topic!r}"
            assert message.payload, "an order says something"
            assert not message.is_retained, "an order that is kept is carried out again later"
        assert sensor.order(known.id, {quantity: value}, {}) == messages, "the same order is the same messages"
    _expect(NotFound, lambda id: sensor.order(id, {"is_on": True}, {}), "no such thing")
    _expect(ToolError, lambda quantity: sensor.order(known.id, {quantity: 1.0}, {}), "no such quantity")


# ── What a holder must keep ────────────────────────────────────────────────────────────────────────────


_OF_THE_CORE = ("demonstration", "episode", "step", "event", "summary_line", "fact", "meta")
"""Tables that forgetting clears itself: no holder's."""


def check_holder(open_holder: Callable[[Store], Holder], store: Store, wanted: Wanted, stays: Wanted) -> Held:
    """Check a holder against `protocols.Holder`; what is `wanted` is gone from the store afterwards.

    Args:
        open_holder: What the entry point names.
        store: Holds something that is `wanted`, and something that is not.
        stays: Means only what is not `wanted`.
    Returns:
        What was found, for further checks.
    """
    home = store.path.parent
    holder = open_holder(store)
    assert holder.name, "a holder has a name, for the question and the receipt"
    before = _rows(store)
    nothing = holder.find((), None, "")
    assert nothing.is_empty, f"{holder.name!r} finds {_said(nothing)} where nothing is asked for"
    assert (nothing.texts, nothing.events) == ((), ()), f"{holder.name!r} finds texts or events of nothing"
    _remove(holder, store, home, nothing)
    assert _rows(store) == before, f"{holder.name!r} removes something for an empty find"

    found, kept = holder.find((), wanted, ""), holder.find((), stays, "")
    assert not found.is_empty, f"{holder.name!r} finds nothing of {wanted}"
    assert not kept.is_empty, f"{holder.name!r} finds nothing of {stays}, so that nobody sees whether it stays"
    assert found.holder == holder.name, f"what {holder.name!r} finds says that {found.holder!r} keeps it"
    assert holder.find((), wanted, "") == found, "the same question has the same answer"
    assert _rows(store) == before, "find() changes the database"
    _remove(holder, store, home, found)
    after = _rows(store)
    for table in _OF_THE_CORE:
        assert after[table] == before[table], f"remove() changes {table!r}, which is not the holder's"
    left = open_holder(store).find((), wanted, "")
    assert left.is_empty, f"{_said(left)} of {wanted} are left after remove()"
    assert holder.find((), stays, "") == kept, f"with {wanted} goes something of {stays}"
    _remove(holder, store, home, found)
    assert _rows(store) == after, "removing twice removes more than once"

    store.rewrite()
    for path in sorted(home.rglob("*")):
        inside = path.relative_to(home).parts
        data = path.read_bytes() if path.is_file() and inside[0] not in ("owner", "tools") else b""
        for text in found.texts:
            assert text.encode() not in data, f"the text {text[:60]!r} is still in {str(path.relative_to(home))!r}"
    return found


def _remove(holder: Holder, store: Store, home: Path, held: Held) -> None:
    """As forgetting does it."""
    holder.sweep(home, held)
    with store.transaction() as cursor:
        holder.remove(cursor, held)


def _rows(store: Store) -> dict[str, list[tuple[object, ...]]]:
    """All that a database holds, by table."""
    tables = [row["name"] for row in store.query("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
    return {table: [tuple(row) for row in store.query(f'SELECT * FROM "{table}"')] for table in tables}  # noqa: S608 - its own names


def _said(held: Held) -> str:
    return ", ".join(str(count) for count in held.counts if count.n)
