"""What is wrong with a home, in words, and how to mend it. Examining changes nothing."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hearth.config import OrderedRule, cache_folder, read_settings
from hearth.config.setting_tables import has_key
from hearth.edge import enrolment
from hearth.errors import HearthError, HomeBusyError, StoreCorruptError
from hearth.guard.egress.ledger import Ledger
from hearth.guard.egress.speculative_reads import ShutEgress
from hearth.guard.labels import item_type
from hearth.guard.policy.rules import Policy
from hearth.guard.referents import Referents
from hearth.language.tokens import fold
from hearth.memory.answers.home_answers import things_text
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory
from hearth.memory.facts import FactStore
from hearth.memory.forgetting import open_holders
from hearth.memory.search.passage_store import PassageStore
from hearth.memory.transfer.archives import waiting_beside
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.permissions import is_disk_encrypted, openings
from hearth.protocols import CallContext
from hearth.registry import (
    CHECKS,
    COMPANIONS,
    FOOTAGE,
    GROUPS,
    TOOLS,
    Part,
    companion_faults,
    load_parts,
    load_tools,
    second_footage,
    version_of,
)
from hearth.storage.database import HomeLock, Store, lock_holder, refuse_plain
from hearth.storage.workspace import Folder, Sandbox
from hearth.tools.pim.calendar import Events
from hearth.tools.pim.contacts import read_cards
from hearth.types import ToolSpec

MIN_FREE_BYTES = 200_000_000
MAX_NAMED = 20
"""Most files, or reasons why some are not read, that are named."""
MAX_NAMED_EACH = 5
"""Most files of one reason that are named."""


@dataclass(frozen=True, slots=True)
class Finding:
    part: str
    is_ok: bool
    says: str


def examine(home: Path, environ: Mapping[str, str], unreachable: Sequence[str] = ()) -> list[Finding]:
    """Look at every part on which an agent depends; one finding each, never an exception.

    Args:
        unreachable: What is wrong with the commands of plug-ins, as far as only the command line knows it.
    """
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("home", lambda: _home(home)),
        ("settings", lambda: _settings(home, environ)),
        ("encryption", lambda: _encryption(home)),
        ("database", lambda: _store(home)),
        ("ledger", lambda: _ledger(home)),
        ("tools", lambda: _tools(home)),
        ("policy", lambda: _policy(home, environ)),
        ("encoder", lambda: _encoder(environ)),
        ("plug-ins", lambda: _plug_ins(unreachable)),
        ("things", lambda: _things(home)),
        ("forgetting", lambda: _forgetting(home)),
        ("cloud", lambda: _cloud(home)),
        ("disk", lambda: _disk(home)),
    )
    plugged_in: list[tuple[str, Callable[[], str]]] = [
        (part.name, partial(_said, part, home)) for part in load_parts(CHECKS).loaded
    ]
    findings = []
    for part, check in (*checks, *plugged_in):
        try:
            findings.append(Finding(part, True, check()))
        except (HearthError, OSError) as error:
            findings.append(Finding(part, False, str(error)))
    return findings


def repair_store(home: Path) -> Iterator[str]:
    """Save what can be read of the home's database into a fresh one; the damaged file is kept beside it.

    Yields:
        Lines that say what was saved and what was lost.
    Raises:
        HomeBusyError: An agent runs on this home; nothing was changed.
        StoreError: It is not damaged but another program's, or of a newer Hearth; nothing was changed.
    """
    with HomeLock(home):
        if _is_sound(home / "hearth.db"):
            yield "The database is sound: there is nothing to repair"
            return
        report = Store.salvage(home / "hearth.db")
        yield f"The damaged database is kept as {report.backup}"
        for name, table in report.tables.items():
            lost = "" if table.is_complete else ", the rest could not be read"
            yield f"{name}: {table.n_rows} rows saved{lost}"


def _is_sound(path: Path) -> bool:
    """Whether a database needs no repair. Raises: StoreError: Repairing would destroy what is not ours, or newer."""
    if not path.exists():
        return False
    try:
        with Store.open(path) as store:
            return bool(store.query("PRAGMA integrity_check(1)")[0][0] == "ok")
    except StoreCorruptError:
        return False


def _home(home: Path) -> str:
    if not home.is_dir():
        raise HearthError(f"no folder {str(home)!r}; make a home with `hearth init`")
    if open_to_others := openings(home):
        raise HearthError("; ".join(open_to_others))
    try:
        HomeLock(home).acquire().release()
    except HomeBusyError as error:  # no fault: an agent is at work
        return f"{home}, served by this process" if lock_holder(home) == os.getpid() else f"{home} ({error})"
    return str(home)


def _settings(home: Path, environ: Mapping[str, str]) -> str:
    settings = read_settings(home / "hearth.toml")
    settings.for_tools(environ)
    hosts = ", ".join(settings.network.allow) or "none"
    return f"hearth.toml is valid; time zone {settings.zone()}; hosts allowed: {hosts}"


def _store(home: Path) -> str:
    path = home / "hearth.db"
    if not path.exists():
        return "none yet; it is made on first use"
    with Store.open(path) as store:
        fault = store.query("PRAGMA integrity_check(1)")[0][0]
        if fault != "ok":
            raise HearthError(f"{path} is damaged ({fault}); run `hearth doctor --repair`")
        (n_episodes,) = store.query("SELECT count(*) FROM episode")[0]
        (n_demonstrations,) = store.query("SELECT count(*) FROM demonstration")[0]
        (library,) = store.query("SELECT sqlite_version()")[0]
    size = path.stat().st_size / 1e6
    held = f"{n_episodes} episodes, {n_demonstrations} demonstrations"
    return f"sound; {held}, {size:.1f} MB, SQLite {library}"


def _encryption(home: Path) -> str:
    """Say what of a home is encrypted, and whether the disk below it is, where that can be told."""
    disk = "; its disk is encrypted by the system" if is_disk_encrypted(home) else ""
    if not has_key(home):
        advice = "" if disk else "; `hearth encrypt` does it, or an encrypted disk"
        return f"the home is not encrypted{disk}{advice}"
    from hearth.storage.encryption import plain_beside, plain_files  # what opens an encrypted home is an extra
    from hearth.storage.home_key import home_key

    key = home_key(home)
    if key.is_turning or not key.is_on:
        command = "hearth encrypt" if key.is_on else "hearth decrypt"
        raise HearthError(f"turning the home over was cut off; nothing is lost, and `{command}` finishes it")
    refuse_plain(home / "hearth.db")
    left = plain_files(home, with_files=key.with_files)
    if left:
        named = ", ".join(repr(path) for path in left[:MAX_NAMED])
        raise HearthError(f"{len(left)} files came in plain ({named}); `hearth encrypt` takes them in")
    what = "database and your folder" if key.with_files else "database"
    beside = plain_beside(home, with_files=key.with_files)
    plain = f"; plain beside it: {', '.join(beside)}" if beside else ""
    return f"{what}; opened by {', '.join(key.ways).replace('recovery', 'recovery code')}{disk}{plain}"


def _ledger(home: Path) -> str:
    if not (home / "hearth.db").exists():
        return "nothing has left this device"
    with Store.open(home / "hearth.db") as store:
        verdict = Ledger(store).verify()
    if not verdict.is_whole:
        raise HearthError(
            f"entry {verdict.faults[0].number or verdict.n_entries}: {verdict.faults[0].what}; "
            "`hearth ledger verify` says all of it"
        )
    return f"whole; {verdict.n_entries} {'entry' if verdict.n_entries == 1 else 'entries'}"


def _tools(home: Path) -> str:
    tools = load_tools(home)
    if tools.faults:
        raise HearthError("; ".join(tools.faults))
    return f"{len(tools.by_name)} loaded"


def _plug_ins(unreachable: Sequence[str]) -> str:
    faults = [fault for group in GROUPS if group != TOOLS for fault in load_parts(group).faults]
    if len(filmed := load_parts(FOOTAGE).loaded) > 1:
        faults.append(second_footage(filmed))
    faults += [*companion_faults(), *unreachable]
    if faults:
        raise HearthError("; ".join(dict.fromkeys(faults)))
    installed = {name: version_of(name) for name in COMPANIONS}
    absent = [name for name, version in installed.items() if not version]
    said = ", ".join(f"{name} {version}" for name, version in installed.items() if version) or "none of the companions"
    return f"{said}; not installed: {', '.join(absent)}" if absent else said


def _forgetting(home: Path) -> str:
    if not (home / "hearth.db").exists():
        return "nothing is held yet"
    with Store.open(home / "hearth.db") as store:
        holders = open_holders(store)
    if holders.faults:
        raise HearthError(f"`hearth forget` is refused: {'; '.join(holders.faults)}")
    return f"reaches {', '.join(['what Hearth itself keeps', *holders.by_name])}"


def _things(home: Path) -> str:
    """Count what questions are answered from; names what cannot be read, which keeps nothing else from it."""
    passed_by, beside = _looked_through(home) if (home / "owner").is_dir() else ({}, {})
    counts: Mapping[str, int] = {}
    faults: Mapping[str, str] = {}
    n_waiting = 0
    if (home / "hearth.db").exists():
        with Store.open(home / "hearth.db") as store:
            passages = PassageStore(store, None)
            counts, faults, n_waiting = passages.counts(), passages.faults(), passages.n_waiting()
    said = f"{things_text(counts)}, in {counts.get('passage', 0)} passages"
    if n_waiting:
        said += f", {n_waiting:,} of them found by their words alone until `hearth memory tend`"
    if not counts:
        yet = "nothing is read yet; the first question about your own things reads them"
        said = "nothing could be read" if faults else yet
    unread = (("not read", {**beside, **faults}), ("not looked at", passed_by))
    parts = [said, *(f"{what}: {_named(reasons)}" for what, reasons in unread if reasons)]
    return "; ".join(parts)


def _looked_through(home: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return what of the owner's folder is never read, and what lies beside its folders and can be brought in."""
    seal = None
    if has_key(home):
        from hearth.storage.home_key import seal_of  # what opens an encrypted home is an extra

        seal = seal_of(home)
    sandbox = Sandbox(home / "owner", seal)
    return dict(sandbox.unlisted()), waiting_beside(sandbox.files(), sandbox)


def _named(reasons: Mapping[str, str]) -> str:
    """Name paths with their reasons; those of one reason together, the first of them by their names."""
    paths: dict[str, list[str]] = {}
    for path, why in reasons.items():
        paths.setdefault(why, []).append(path)
    named = []
    for why, of in paths.items():
        more = f" and {len(of) - MAX_NAMED_EACH:,} more" if len(of) > MAX_NAMED_EACH else ""
        named.append(f"{', '.join(of[:MAX_NAMED_EACH])}{more} ({why})")
    left = f"; and {len(named) - MAX_NAMED} more reasons" if len(named) > MAX_NAMED else ""
    return "; ".join(named[:MAX_NAMED]) + left


def _said(part: Part, home: Path) -> str:
    """The line of a plug-in's check."""
    return str(part.invoke(home))


def _policy(home: Path, environ: Mapping[str, str]) -> str:
    settings = read_settings(home / "hearth.toml")
    tools = load_tools(home)
    Policy.of(settings, tools.specs, str(home / "hearth.toml"))
    n_rules = len(settings.policy) + len(settings.rule)
    said = "1 rule" if n_rules == 1 else f"{n_rules} rules"
    if settings.rule and (home / "hearth.db").exists():
        with Store.open(home / "hearth.db") as store:
            context = CallContext(
                key="",
                now=dt.datetime.now(settings.zone()),
                workspace=Folder(home / "owner", store).for_call(""),
                memory=Recollection(EventMemory(store), FactStore(store)),
                egress=ShutEgress(),
                settings=settings.for_tools(environ),
                cancelled=threading.Event(),
            )
            absent = (
                *Referents(tools.by_name).absent(settings.rule, context),
                *_absent_records(settings.rule, tools.specs, context),
            )
            if absent:
                raise HearthError(f"{'; '.join(absent)}; mend it in hearth.toml, or take it out")
    return f"{said}; everything else that changes or sends something asks"


def _absent_records(rules: Sequence[OrderedRule], specs: Mapping[str, ToolSpec], call: CallContext) -> Iterator[str]:
    """Say which events and contacts rules name by `one_of` that nothing is called (any more)."""
    for kind, what, names_of in (("EventId", "event", _event_names), ("ContactId", "contact", _contact_names)):
        named = {s.name: {p.name for p in s.parameters if item_type(p.type) == kind} for s in specs.values()}
        wanted = {
            (rule.name or f"{place + 1}", parameter, str(choice))
            for place, rule in enumerate(rules)
            for tool in rule.tools
            for parameter, when in rule.when.items()
            if parameter in named.get(tool, ())
            for choice in when.one_of or ()
        }
        known = names_of(call) if wanted else None
        for rule, parameter, choice in sorted(wanted):
            if known is None:
                break  # it may stand in what cannot be read
            if fold(choice) not in known and fold(choice.partition("#")[0]) not in known:
                yield f"rule {rule!r} names {parameter} {choice!r}, which no {what} is called"


def _event_names(call: CallContext) -> frozenset[str] | None:
    """What events can be called by; None where some cannot be read."""
    events = Events(call).read(refresh=False)
    entries = [entry for file in events.files.values() for entry in file.entries]
    names = (text for one in entries for text in (one.title, one.uid, one.organiser, *one.invited))
    return None if events.faults else frozenset(map(fold, names))


def _contact_names(call: CallContext) -> frozenset[str] | None:
    """What contacts can be called by; None where some cannot be read."""
    files = read_cards(call.workspace)
    names = (
        text
        for path, file in files.items()
        for card in file.cards
        for text in (card.name, *card.nicknames, card.email, card.uid, f"{path}#{card.index}")
    )
    return None if any(file.fault for file in files.values()) else frozenset(map(fold, names))


def _encoder(environ: Mapping[str, str]) -> str:
    encoder = MiniLMEncoder.open(cache_folder(environ))
    vector = encoder.encode(["Is the encoder well?"])
    if vector.shape != (1, encoder.dim):
        raise HearthError(f"the encoder answered shape {vector.shape}; remove {cache_folder(environ)} and try again")
    return f"all-MiniLM-L6-v2, {encoder.dim} dimensions, graph in {cache_folder(environ)}"


def _cloud(home: Path) -> str:
    if not (home / "hearth.db").exists():
        return "not joined"
    with Store.open(home / "hearth.db") as store:
        found = enrolment.joined(store, home)
        if found is None:
            return "not joined"
        enrolment.kept_token(store, home)()
    return f"{found.url}, heard {found.heard_at or 'not yet'}{f'; {found.fault}' if found.fault else ''}"


def _disk(home: Path) -> str:
    folder = next(p for p in (home, *home.parents) if p.exists())
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        raise HearthError(f"{free / 1e6:.0f} MB free at {folder}; Hearth needs {MIN_FREE_BYTES / 1e6:.0f} MB")
    return f"{free / 1e9:.1f} GB free"
