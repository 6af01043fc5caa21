"""What goes on beside the requests: fetching mail and calendars, hearing sensors, resting, learning."""

from __future__ import annotations

import contextlib
import ctypes
import datetime as dt
import functools
import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from hearth.agent import Agent
from hearth.config import Settings
from hearth.errors import CancelledError, HearthError
from hearth.formats.terminal_text import clean
from hearth.guard.egress.gateway import Egress
from hearth.guard.labels import AddressBook, Provenance
from hearth.protocols import CallContext
from hearth.registry import WATCHERS, Part, blamed, load_parts
from hearth.serve.background.learning_process import Waiting, learn_aside
from hearth.serve.desk import Desk
from hearth.serve.programs.openai_api import ClientTools
from hearth.storage.database import Store
from hearth.storage.fault_log import note_fault
from hearth.storage.workspace import Folder
from hearth.tools.mail import imap_smtp
from hearth.tools.mail.mailbox import INBOX, every_unique_name, look, places
from hearth.tools.pim.servers import subscriptions
from hearth.tools.pim.servers.mirror import Kind, Mirror
from hearth.types import Label

# ── Background sync ───────────────────────────────────────────────────────────────────────────────────────
# Keeps what comes from elsewhere up to date while `hearth up` runs: mail, calendar, address book, published
# calendars.
#
# Mail has a thread of its own: it waits until the server tells of something new (IDLE), and looks in between where a
# server cannot tell. The rest has another: each part is asked when its `sync_s` is over. What is fetched so is read
# by the next request without a word to a server.
#
# Covered: servers that are away or refuse (asked again, at growing intervals; the page says so), connections that end
# or say nothing, ending in the middle. Not covered: folders other than the INBOX.

# ── New mail ───────────────────────────────────────────────────────────────────────────────────────────
# Tells of mail that came while the home is up: on the page, and by the desktop outside quiet hours.
# Only that of people on cards that vouch for their address, unless the owner wants to hear of everybody's, so that no
# stranger can make a home ring. Phones are not told.
# Covered: the first fetching of a mailbox (nothing of it is new), many at once (counted), what came while the home
# was down (told once it is fetched). Not covered: a sender's address that is forged.


Whom = Literal["nobody", "known", "everybody"]
MOST_KEPT = 50
"""Of which letters stand on the page; of more the oldest go."""
_MOST_LETTERS = 120


@dataclass(frozen=True, slots=True)
class Letter:
    """A mail as it is told of: a stranger's words."""

    writer: str
    subject: str


class NewMail:
    """What came and was not seen. Safe to use from several threads."""

    def __init__(self, whom: Whom, store: Store, tell: Callable[[Sequence[Letter]], None]) -> None:
        """Begin with nothing.

        Args:
            whom: Whose mail is told of.
            store: Says which cards vouch.
            tell: Called with what came at once, beside the page.
        """
        self._whom = whom
        self._store = store
        self._tell = tell
        self._lock = threading.Lock()
        self._letters: tuple[Letter, ...] = ()

    @property
    def letters(self) -> tuple[Letter, ...]:
        """What was not seen yet, oldest first."""
        return self._letters

    def seen(self) -> None:
        """Let what stands there be seen."""
        with self._lock:
            self._letters = ()

    def there(self, call: CallContext) -> frozenset[str]:
        """Return what is in the mailbox now, to be compared with later; nothing where nobody's mail is told of."""
        return every_unique_name(call.workspace) if self._whom != "nobody" else frozenset()

    def came(self, before: frozenset[str], call: CallContext) -> bool:
        """Tell of what is in the mailbox and was not there before; return whether there is any."""
        if self._whom == "nobody":
            return False
        new = [
            place for place in places(call.workspace, INBOX) if place.unique not in before and "S" not in place.flags
        ]
        seen = [one for place in new if (one := look(place, call)) is not None]
        if self._whom == "known" and seen:
            book = AddressBook(Provenance(self._store)).read(call.workspace, call.now)
            seen = [one for one in seen if one.head.sender and book.vouches(one.head.sender)]
        seen.sort(key=lambda one: one.received)
        letters = tuple(
            Letter(_short(one.head.sender_name or one.head.sender), _short(one.head.subject or "no subject"))
            for one in seen
        )
        if letters:
            with self._lock:
                self._letters = (*self._letters, *letters)[-MOST_KEPT:]
            self._tell(letters)
        return bool(letters)


def _short(text: str) -> str:
    return clean(" ".join(text.split()))[:_MOST_LETTERS]


# ── Keeping up to date ─────────────────────────────────────────────────────────────────────────────────


KEY = "background-sync"
"""Under which its writes are journalled, and forgotten at once."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 5.0, 900.0
"""After a fault; doubled with each that follows."""
LEAST_POLL_S = 60.0
"""How often mail is looked for where the server cannot tell of it, at most."""
LEAST_BETWEEN_S = 2.0
"""Between two lookings for mail, however often a server says that there is some."""
ENDS_WITHIN_S = 5.0
"""How long the end of the home waits for a server that does not answer."""
_WAITS_S = 1500.0


@dataclass(frozen=True, slots=True)
class SyncState:
    """How one source of things from elsewhere stands."""

    name: str
    says: str
    at: dt.datetime | None = None
    """When it was last asked with success."""
    is_fault: bool = False


class BackgroundSync:
    """What runs beside a home; made by `running`."""

    def __init__(
        self, home: Path, settings: Settings, call: CallContext, changed: Callable[[], None], mail: NewMail
    ) -> None:
        """Prepare it.

        Args:
            call: What a call would get; its settings and memory are used.
            changed: Called when something new came.
            mail: Told of mail that came.
        """
        self._mail = mail
        self._home = home
        self._settings = settings
        self._call = call
        self._changed = changed
        self._zone = settings.zone()
        self._stopped = threading.Event()
        self._states: dict[str, SyncState] = {}

    @property
    def states(self) -> tuple[SyncState, ...]:
        """How each source stands, by name; empty: there is none."""
        return tuple(self._states[name] for name in sorted(self._states))

    def start(self) -> list[threading.Thread]:
        """Start a thread for mail, where a server is named, and one for the rest, where there is any."""
        jobs: list[tuple[str, Callable[[CallContext, Folder], None]]] = []
        if self._settings.mail.imap is not None:
            self._states["Mail"] = SyncState("Mail", "not asked yet")
            jobs.append(("mail", self._follow_mail))
        sources = self._sources()
        if sources:
            self._states |= {name: SyncState(name, "not asked yet") for name in sources}
            jobs.append(("calendars", functools.partial(self._follow, sources)))
        threads = [
            threading.Thread(target=self._run, args=(job,), name=f"hearth-sync-{name}", daemon=True)
            for name, job in jobs
        ]
        for thread in threads:
            thread.start()
        return threads

    def stop(self, threads: list[threading.Thread]) -> None:
        """End them; one that waits for a server is left to its time limit."""
        self._stopped.set()
        ends = time.monotonic() + ENDS_WITHIN_S
        for thread in threads:
            thread.join(max(0.0, ends - time.monotonic()))

    def _run(self, job: Callable[[CallContext, Folder], None]) -> None:
        """Do a job with a database and a door of its own until the home ends."""
        with contextlib.suppress(HearthError), Store.open(self._home / "hearth.db") as store:
            folder = Folder(self._home / "owner", store)
            egress = Egress.from_settings(self._settings, store, functools.partial(dt.datetime.now, self._zone))
            job(replace(self._call, egress=egress, cancelled=self._stopped), folder)

    def _call_now(self, call: CallContext, folder: Folder) -> CallContext:
        now = dt.datetime.now(self._zone)
        return replace(call, key=KEY, now=now, workspace=folder.for_call(KEY), notices=[], origins={})

    # ── Mail ──────────────────────────────────────────────────────────────────────────────────────────────

    def _follow_mail(self, call: CallContext, folder: Folder) -> None:
        n_faults = n_empty = 0
        is_told = True
        before = (0, 0)
        while not self._stopped.is_set():
            now = self._call_now(call, folder)
            can_tell: bool | None = None
            try:
                is_first = not imap_smtp.position(now)[0]
                had = self._mail.there(now)
                imap_smtp.fetch(now, is_told=is_told)
                folder.settle(KEY)
                fault = next((note for note in now.notices if "not fetched" in note), "")
                if not fault:
                    there = imap_smtp.position(now)
                    if there != before and not is_first:
                        self._mail.came(had, now)
                    n_empty = n_empty + 1 if is_told and there == before else 0
                    if there != before:
                        self._changed()
                    before = there
                    can_tell = self._await_mail(now)
            except HearthError as error:
                fault = str(error)
            except Exception as error:
                note_fault(self._home, error)
                fault = "a fault of Hearth's own; `hearth doctor` tells of it"
            n_faults = n_faults + 1 if fault else 0
            if fault:
                self._states["Mail"] = replace(self._states["Mail"], says=clean(fault), is_fault=True)
            is_told = bool(can_tell) or bool(fault)
            # A server that tells of mail again and again where there is none is not followed at its own pace.
            empty_s = min(LEAST_BETWEEN_S * 2.0 ** min(n_empty, 20), LONGEST_PAUSE_S) if n_empty else 0.0
            self._stopped.wait(max(empty_s, self._pause_s(n_faults, can_tell=can_tell)))

    def _await_mail(self, call: CallContext) -> bool | None:
        """Wait for mail; None: the server cannot tell, or was asked just now. Raises: HearthError."""
        self._states["Mail"] = SyncState("Mail", "up to date; the server tells of new mail", call.now)
        told = imap_smtp.await_mail(call, _WAITS_S)
        if told is None:
            every_s = max(self._settings.mail.sync_s, LEAST_POLL_S)
            said = f"up to date; looked for every {every_s:g} s, as the server does not tell of new mail"
            self._states["Mail"] = SyncState("Mail", said, call.now)
        return told

    def _pause_s(self, n_faults: int, *, can_tell: bool | None) -> float:
        if n_faults:
            return min(FIRST_PAUSE_S * 2.0 ** min(n_faults - 1, 20), LONGEST_PAUSE_S)
        return LEAST_BETWEEN_S if can_tell is not None else max(self._settings.mail.sync_s, LEAST_POLL_S)

    # ── The rest ──────────────────────────────────────────────────────────────────────────────────────────

    def _sources(self) -> Mapping[str, tuple[float, Callable[[CallContext], bool]]]:
        """Return, by name, how often each source is asked, and what asks it."""
        found: dict[str, tuple[float, Callable[[CallContext], bool]]] = {}
        kinds: tuple[tuple[str, Kind], ...] = (("Calendar", "calendar"), ("Contacts", "contacts"))
        for name, kind in kinds:
            table = self._settings.calendar if kind == "calendar" else self._settings.contacts
            if table.url:
                found[name] = (max(table.sync_s, LEAST_POLL_S), functools.partial(_mirrored, kind))
        if self._settings.calendar.subscription:
            # Each has its own interval, which `subscriptions` knows.
            found["Published calendars"] = (LEAST_POLL_S, subscriptions.refresh)
        return found

    def _follow(
        self, sources: Mapping[str, tuple[float, Callable[[CallContext], bool]]], call: CallContext, folder: Folder
    ) -> None:
        due = dict.fromkeys(sources, 0.0)
        n_faults = dict.fromkeys(sources, 0)
        while not self._stopped.is_set():
            for name, (every_s, ask) in sources.items():
                if time.monotonic() < due[name] or self._stopped.is_set():
                    continue
                fault = self._ask(name, ask, self._call_now(call, folder))
                folder.settle(KEY)
                n_faults[name] = n_faults[name] + 1 if fault else 0
                pause_s = self._pause_s(n_faults[name], can_tell=True) if fault else every_s
                due[name] = time.monotonic() + pause_s
            self._stopped.wait(max(0.1, min(due.values()) - time.monotonic()))

    def _ask(self, name: str, ask: Callable[[CallContext], bool], call: CallContext) -> str:
        """Ask a source once; return what went wrong."""
        try:
            is_changed = ask(call)
        except HearthError as error:
            call.notices.append(str(error))
        except Exception as error:
            note_fault(self._home, error)
            call.notices.append("a fault of Hearth's own; `hearth doctor` tells of it")
        else:
            if is_changed:
                self._changed()
        fault = " ".join(call.notices)
        before = self._states[name]
        said = SyncState(name, clean(fault) or "up to date", before.at if fault else call.now, is_fault=bool(fault))
        self._states[name] = said
        return fault


def _mirrored(kind: Kind, call: CallContext) -> bool:
    """Fetch what changed on a configured server; say whether anything may have. Raises: HearthError."""
    mirror = Mirror.configured(call, kind)
    if mirror is not None:
        mirror.refresh()
    return mirror is not None


@contextlib.contextmanager
def running(
    home: Path, settings: Settings, call: CallContext, changed: Callable[[], None], mail: NewMail
) -> Iterator[BackgroundSync]:
    """Keep a home's copies up to date until the block ends."""
    sync = BackgroundSync(home, settings, call, changed, mail)
    threads = sync.start()
    try:
        yield sync
    finally:
        sync.stop(threads)


# ── Watchers ──────────────────────────────────────────────────────────────────────────────────────────────
# Runs what plug-ins watch while `hearth up` runs (`registry.WATCHERS`): sensors, say. What they report is remembered.
#
# Events are written by the desk's thread, as the running agent's memory is read into RAM once: so the next question
# finds them.
#
# Covered: a plug-in that cannot be loaded, that fails or ends (the page says so; the rest goes on). Not covered: one
# that does not end when it is told to: the process leaves it.

WATCHERS_END_WITHIN_S = 2.0


class DeskMemory:
    """Puts down what was sensed, by the desk (a `protocols.Remembering`)."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Put it down once the desk is free. Returns: The key, by which it is kept."""
        self._desk.use_later(lambda agent: agent.memory.remember(text, kind=kind, at=at, label=label, key=key))
        return key


class Watchers:
    """What watches beside a home; made by `watching`."""

    def __init__(self, now: Callable[[], dt.datetime]) -> None:
        self._now = now
        self._states: dict[str, SyncState] = {}

    @property
    def states(self) -> tuple[SyncState, ...]:
        """How each stands, by name; none of those that have nothing to watch."""
        return tuple(self._states[name] for name in sorted(self._states))

    def say(self, name: str, fault: str) -> None:
        """Note how one stands; an empty text: it is well."""
        title = name.replace("_", " ").capitalize()
        self._states[name] = SyncState(title, clean(fault) or "listened to", self._now(), bool(fault))

    def watch(
        self, part: Part, home: Path, environ: Mapping[str, str], memory: DeskMemory, stop: threading.Event
    ) -> None:
        """Let one watch until it ends; what it fails of is said."""
        try:
            with blamed(f"{part.name!r} of {part.origin}"):
                part.invoke(home, environ, memory, stop, lambda fault: self.say(part.name, fault))
        except HearthError as error:
            if not stop.is_set():
                self.say(part.name, f"no longer listened to: {error}")


@contextlib.contextmanager
def watching(home: Path, environ: Mapping[str, str], desk: Desk, now: Callable[[], dt.datetime]) -> Iterator[Watchers]:
    """Let everything that is installed watch until the block ends."""
    watchers = Watchers(now)
    parts = load_parts(WATCHERS)
    for fault in parts.faults:
        watchers.say(fault.partition(":")[0][:40], fault)
    stop = threading.Event()
    given = (home, environ, DeskMemory(desk), stop)
    threads = [
        threading.Thread(target=watchers.watch, args=(part, *given), name=f"hearth-{part.name}", daemon=True)
        for part in parts.loaded
    ]
    for thread in threads:
        thread.start()
    try:
        yield watchers
    finally:
        stop.set()
        ends = time.monotonic() + WATCHERS_END_WITHIN_S
        for thread in threads:
            thread.join(max(0.0, ends - time.monotonic()))


# ── Resting ───────────────────────────────────────────────────────────────────────────────────────────────
# Hands memory back while nobody asks: the readers that answers and programs' functions open at first use.
#
# Covered: after some quiet minutes, once for each time of work. Not covered: what every request needs, which stays.

AFTER_S = 300.0
"""How long nobody must have asked."""
_LOOK_EVERY_S = 30.0


class Resting:
    """What looks whether it has been quiet; made by `letting_go`."""

    def __init__(self, desk: Desk, client_tools: ClientTools) -> None:
        self._desk = desk
        self._client_tools = client_tools
        self._rested_s = time.monotonic()

    def look(self, at_s: float) -> bool:
        """Hand memory back, if it has been quiet for long enough since the last work; return whether it was.

        Args:
            at_s: The monotonic clock.
        """
        last_s = max(self._desk.last_s, self._client_tools.last_s)
        if at_s - last_s < AFTER_S or last_s <= self._rested_s:
            return False
        self._client_tools.rest()
        self._desk.use_later(_rest)
        self._rested_s = at_s
        return True


def _rest(agent: Agent) -> None:
    agent.rest()
    let_go()


def let_go() -> None:
    """Hand freed memory to the system."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # only glibc keeps freed memory, and has this
        ctypes.CDLL(None).malloc_trim(0)


@contextlib.contextmanager
def letting_go(desk: Desk, client_tools: ClientTools) -> Iterator[None]:
    """Look now and then, until the block ends."""
    resting = Resting(desk, client_tools)
    stopped = threading.Event()

    def watch() -> None:
        while not stopped.wait(_LOOK_EVERY_S):
            with contextlib.suppress(RuntimeError):  # the desk closes at this moment
                resting.look(time.monotonic())

    threading.Thread(target=watch, name="hearth-resting", daemon=True).start()
    try:
        yield
    finally:
        stopped.set()


# ── Idle learning ─────────────────────────────────────────────────────────────────────────────────────────
# Learns what waits while nobody asks for anything: what `hearth learn` does, without its second tier.
#
# Whoever asks meanwhile does not wait: learning is ended, what was gathered stays, and it begins anew after the next
# quiet while.
#
# Covered: a teacher that is away or too dear (its budget holds), a run that finds nothing, a fault. Not covered: tier
# two, which needs minutes and torch.

BETWEEN_S = 3600.0
"""Least time between two runs that ended."""
_NAME = "Learning"


class IdleLearning:
    """What learns beside a home; made by `learning_idly`."""

    def __init__(self, home: Path, desk: Desk, after_s: float, now: Callable[[], dt.datetime]) -> None:
        """Prepare it.

        Args:
            after_s: How long nobody must have asked for anything.
        """
        self._home = home
        self._desk = desk
        self._after_s = after_s
        self._now = now
        self._next_s = 0.0
        self._waits: Waiting = frozenset()
        """What the last run left waiting, as the gate turned it away: no reason for another one."""
        self.states: tuple[SyncState, ...] = (SyncState(_NAME, f"waits for {after_s / 60:g} quiet minutes"),)
        """How it stands."""

    def look(self, at_s: float) -> bool:
        """Learn, if it has been quiet for long enough; return whether a run came to its end.

        Args:
            at_s: The monotonic clock.
        """
        if at_s < self._next_s or self._desk.quiet_s < self._after_s:
            return False
        try:
            learnt = self._desk.use(
                lambda agent: learn_aside(agent.home, agent.opened.environ, self._waits, lambda: self._desk.is_wanted)
            ).result()
        except CancelledError:
            return False
        except HearthError as error:
            says, is_fault = clean(str(error)), True
        except Exception as error:
            note_fault(self._home, error)
            says, is_fault = "a fault of Hearth's own; `hearth doctor` tells of it", True
        else:
            self._waits = learnt.waits
            says, is_fault = clean(learnt.says), False
        self._next_s = at_s + BETWEEN_S
        self.states = (SyncState(_NAME, says, self._now(), is_fault),)
        return True


@contextlib.contextmanager
def learning_idly(home: Path, desk: Desk, after_s: float, now: Callable[[], dt.datetime]) -> Iterator[IdleLearning]:
    """Learn while a home is quiet, until the block ends; not at all where `after_s` is 0."""
    learning = IdleLearning(home, desk, after_s, now)
    if not after_s:
        learning.states = ()
        yield learning
        return
    stopped = threading.Event()

    def watch() -> None:
        while not stopped.wait(_LOOK_EVERY_S):
            learning.look(time.monotonic())

    thread = threading.Thread(target=watch, name="hearth-learning", daemon=True)
    thread.start()
    try:
        yield learning
    finally:
        stopped.set()
