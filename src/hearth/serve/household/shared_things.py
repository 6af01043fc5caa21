"""What people of a household share: devices that are lent, and lists that are kept alike."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from hearth.agent import Agent
from hearth.config import HomeDevice, Settings
from hearth.errors import HearthError
from hearth.language.text.word_match import by_same_name, fold, same_name
from hearth.serve.desk import Desk
from hearth.storage.database import Store
from hearth.storage.fault_log import note_fault
from hearth.tools.notes import ROOT, ListItem, list_items, put_list_items

# ── Devices lent ───────────────────────────────────────────────────────────────────────────────────────
# Lends connected devices between people of a household: by the lender's rule, exact names, nothing else. A borrowed
# device is among the borrower's, who speaks with it over the lender's connection; the borrower's own rules say what
# runs, asks or is denied. Covered: devices on a broker, twins, entities of Home Assistant. Not covered: devices that
# are only written down, two people with different brokers, seeing in the lender's history what a borrower switched.


def with_borrowed(settings: Mapping[str, Settings]) -> tuple[dict[str, Settings], tuple[str, ...]]:
    """Return everybody's settings with what is lent to them, and why other things that are named are not.

    Args:
        settings: By the name of each person.
    """
    found = dict(settings)
    refused: list[str] = []
    known = by_same_name(settings)
    for lender, own in settings.items():
        for other, share in own.share.items():
            borrower = known.get(same_name(other))
            if borrower is None or borrower == lender:
                continue  # said where lists are agreed
            for name in share.devices:
                devices = [one for one in own.home.device if same_name(one.name) == same_name(name)]
                if len(devices) != 1:
                    n = "there is no" if not devices else "there is more than one"
                    refused.append(f"the device {name!r} of {lender}: {n} [[home.device]] of that name")
                    continue
                lent = _lent(found[borrower], own, devices[0])
                if isinstance(lent, str):
                    refused.append(f"the device {name!r} of {lender} for {borrower}: {lent}")
                else:
                    found[borrower] = lent
    return found, tuple(refused)


def _lent(to: Settings, own: Settings, device: HomeDevice) -> Settings | str:
    """Return somebody's settings with a device of another's, or why it is not lent."""
    if any((fold(one.room), fold(one.name)) == (fold(device.room), fold(device.name)) for one in to.home.device):
        return "they have one of that name in that room already"
    home = to.home
    if device.entity and own.home.assistant is not None:
        theirs = own.home.assistant
        if home.assistant is None:
            home = home.model_copy(update={"assistant": theirs.model_copy(update={"entities": (device.entity,)})})
        elif home.assistant.url != theirs.url:
            return "they have another Home Assistant"
        elif home.assistant.entities:
            entities = tuple(dict.fromkeys((*home.assistant.entities, device.entity)))
            home = home.model_copy(update={"assistant": home.assistant.model_copy(update={"entities": entities})})
        parts = urlsplit(theirs.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 8123)
    elif (device.mqtt or device.twin) and own.home.mqtt is not None:
        broker = own.home.mqtt
        if home.mqtt is None:
            home = home.model_copy(update={"mqtt": broker.model_copy(update={"discover": False})})
        elif (home.mqtt.host, home.mqtt.port) != (broker.host, broker.port):
            return "they have another broker"
        host, port = broker.host, broker.port or (8883 if broker.security == "tls" else 1883)
    else:
        return "it is not connected, so there is nothing to lend"
    network = to.network
    hosts = {**network.host, **({host: own.network.host[host]} if host in own.network.host else {})}
    allow = tuple(dict.fromkeys((*network.allow, f"{f'[{host}]' if ':' in host else host}:{port}")))
    network = network.model_copy(update={"allow": allow, "host": hosts})
    home = home.model_copy(update={"device": (*home.device, device)})
    return to.model_copy(update={"home": home, "network": network})


# ── Lists kept alike ───────────────────────────────────────────────────────────────────────────────────
# Keeps lists that people of a household share alike: what one puts on or takes off, the others find so.
# Each person has a list of their own, in their own home; what is shared is the items. A list is shared where both
# people name it for each other, and among more than two only where each names it for each. What others put on it is
# noted as another person's words, not the owner's.
# Covered: changes on several sides at once (all are taken over; what somebody takes off is off), a home whose agent
# waits for an answer (it follows later), a process that is killed in between, a list that somebody deleted (it comes
# back: who wants it no more stops sharing it). Not covered: the order of items, lines that are no items, undoing what
# others did.


TICK_S = 1.0
WAITS_S = 2.0
"""How long a home is waited for; one that is at work follows later."""
MOST_ITEMS = 500
"""Of a shared list; one with more is not followed."""
LOOK_EVERY = 15
"""How many ticks pass until homes are looked into although nothing shows a change."""
KEY = "shared-lists"
_STATE = "shared_lists"
_OTHERS = frozenset({"message"})

Items = dict[str, ListItem]


@dataclass(frozen=True, slots=True)
class SharedList:
    """A list and who shares it."""

    name: str
    people: tuple[str, ...]

    @property
    def key(self) -> str:
        return json.dumps([same_name(self.name), *self.people])


def agreed(settings: Mapping[str, Settings]) -> tuple[tuple[SharedList, ...], tuple[str, ...]]:
    """Return the lists that people share, and why others that somebody names are not.

    Args:
        settings: By the name of each person.
    """
    said: dict[str, dict[str, set[str]]] = {}
    names: dict[str, str] = {}
    refused: list[str] = []
    known = by_same_name(settings)
    for person, own in settings.items():
        for other, share in own.share.items():
            if (them := known.get(same_name(other))) is None or them == person:
                refused.append(f"[share.{other}] of {person}: nobody else of that name lives here")
                continue
            for name in share.lists:
                names.setdefault(same_name(name), name)
                said.setdefault(same_name(name), {}).setdefault(person, set()).add(them)
    lists: list[SharedList] = []
    for key, wants in said.items():
        mutual = {a: {b for b in bs if a in wants.get(b, ())} for a, bs in wants.items()}
        for person, others in wants.items():
            for one_sided in sorted(others - mutual[person]):
                refused.append(f"the list {names[key]!r} of {person}: {one_sided} does not share it with {person}")
        left = {person for person, others in mutual.items() if others}
        while left:
            group = _reached(min(left), mutual)
            left -= group
            gaps = [(a, b) for a, b in itertools.combinations(sorted(group), 2) if b not in mutual[a]]
            if gaps:
                a, b = gaps[0]
                refused.append(f"the list {names[key]!r}: {a} and {b} would see each other's, and do not share it")
            else:
                lists.append(SharedList(names[key], tuple(sorted(group))))
    return tuple(lists), tuple(refused)


def _reached(start: str, mutual: Mapping[str, set[str]]) -> set[str]:
    found, rest = {start}, [start]
    while rest:
        new = mutual.get(rest.pop(), set()) - found
        found |= new
        rest += new
    return found


def merged(shared: Items, before: Items, now: Items) -> Items:
    """Return the shared items after one person's changes: from what they had to what they have now."""
    after = {key: item for key, item in shared.items() if key in now or key not in before}
    for key, item in now.items():
        was = before.get(key)
        if was is None or was.is_done != item.is_done:
            after[key] = replace(item, text=after[key].text) if key in after else item
    return after


class SharedLists:
    """Lists of several homes; `tick` it about once a second."""

    def __init__(
        self, lists: tuple[SharedList, ...], desks: Mapping[str, Desk], homes: Mapping[str, Path], store: Store
    ):
        """Follow them.

        Args:
            store: Where it is kept what each home was seen to have.
        """
        self._lists = lists
        self._desks = desks
        self._homes = homes
        self._store = store
        self._changed: dict[str, int] = {}
        self._n_ticks = 0

    def tick(self) -> None:
        """Take over what anybody changed. Raises: StoreError."""
        self._n_ticks += 1
        times = {name: _modified(home) for name, home in self._homes.items()}
        if times == self._changed and self._n_ticks % LOOK_EVERY:
            return
        is_whole = [self._follow(one) for one in self._lists]
        self._changed = times if all(is_whole) else {}

    def _follow(self, one: SharedList) -> bool:
        """Bring the homes of one list together; say whether all could be reached."""
        state = self._state()
        mine = state.get(one.key, {})
        shared = _read(mine.get("", []))
        found: dict[str, Items] = {}
        for person in one.people:
            had = _read(mine.get(person, []))
            now = self._use(person, one.name, None, had)
            if now is None:
                continue
            found[person] = now
            shared = merged(shared, had, now)
        mine = {**mine, "": _write(shared), **{person: _write(items) for person, items in found.items()}}
        self._keep(state, one, mine)
        for person, items in found.items():
            if items != shared and len(shared) <= MOST_ITEMS and self._use(person, one.name, shared, items) is not None:
                mine = {**mine, person: _write(shared)}
        self._keep(state, one, mine)
        return len(found) == len(one.people)

    def _use(self, person: str, name: str, items: Items | None, had: Items) -> Items | None:
        """Read somebody's list, or with `items` write it where it still is as it was read; None: not now."""

        def work(agent: Agent) -> Items | None:
            call = replace(agent.call_context(), key=KEY, workspace=agent.folder.for_call(KEY))
            now = list_items(name, call)
            if now is not None and len(now) > MOST_ITEMS:
                return None  # left as it is, rather than cut
            if items is None:
                return had if now is None else now
            if now is not None and now != had:
                return None
            records = put_list_items(name, items, call)
            agent.folder.settle(KEY)
            agent.monitor.note_origin("notes", records, _OTHERS, call.now)
            return items

        doing = self._desks[person].use(work)
        try:
            return doing.result(WAITS_S)
        except Late:
            doing.cancel()
            return None
        except HearthError:
            return None

    def _state(self) -> dict[str, dict[str, list[list[object]]]]:
        rows = self._store.query("SELECT value FROM meta WHERE name = ?", (_STATE,))
        try:
            found = json.loads(rows[0]["value"]) if rows else {}
        except ValueError:
            found = {}
        return found if isinstance(found, dict) else {}

    def _keep(
        self, state: dict[str, dict[str, list[list[object]]]], one: SharedList, mine: dict[str, list[list[object]]]
    ) -> None:
        if state.get(one.key) == mine:
            return
        state[one.key] = mine
        with self._store.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_STATE, json.dumps(state)))


def _read(rows: list[list[object]]) -> Items:
    return {str(key): ListItem(str(text), bool(is_done)) for key, text, is_done in rows}


def _write(items: Items) -> list[list[object]]:
    return [[key, item.text, item.is_done] for key, item in items.items()]


def _modified(home: Path) -> int:
    """Return the latest change of a home's notes."""
    latest = 0
    with contextlib.suppress(OSError):
        folder = home / "owner" / ROOT
        latest = max((path.stat().st_mtime_ns for path in (folder, *folder.glob("*.md"))), default=0)
    return latest


@contextlib.contextmanager
def following(
    lists: tuple[SharedList, ...], desks: Mapping[str, Desk], homes: Mapping[str, Path], kept_in: Path
) -> Iterator[None]:
    """Keep shared lists alike until the block ends."""
    stopped = threading.Event()

    def follow() -> None:
        with Store.open(kept_in / "hearth.db") as store:
            shared = SharedLists(lists, desks, homes, store)
            while not stopped.wait(TICK_S):
                try:
                    shared.tick()
                except HearthError:
                    continue  # a full disk, say
                except Exception as error:
                    note_fault(kept_in, error)

    if not lists:
        yield
        return
    thread = threading.Thread(target=follow, name="hearth-shared-lists")
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
