"""Commands that look back: why something was done, and what left the device."""

from __future__ import annotations

import base64
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, bar_from, print_json
from hearth.formats.terminal_text import argument_text, clean, mark, moment_text, short, wrapped
from hearth.types import Argument, Asked, Episode, Label, Plain, Plan, Ref, Ruling, Step, StepResult

if TYPE_CHECKING:
    from hearth.guard.egress.ledger import Entry, Head, Ledger, Verdict
    from hearth.guard.egress.masking_door import Masked
    from hearth.storage.database import Store
    from hearth.storage.trace import CallRecord, StartedStep, Trace


# ── Ledger commands ───────────────────────────────────────────────────────────────────────────────────────
# `hearth ledger`: show what left this device, byte for byte, and check that the record of it is complete.

_N_FAULTS_SHOWN = 10
_MANY = 20_000
"""Number of entries from which on a bar is shown."""


@click.group()
def ledger() -> None:
    """Show and check the record of what left this device.

    Every message out is written down before it is sent: the exact bytes, to whom, when, why, how and under which rule.
    Each entry is chained to the one before it, so that a change is found.
    """


@ledger.command()
@click.option("--episode", default="", metavar="ID", help="Only what left for this request.")
@click.option("--bytes", "n_bytes", type=click.IntRange(min=0), default=0, metavar="N", help="Also the first N bytes.")
@click.option(
    "--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="How many, the latest ones."
)
@as_json
@click.pass_obj
def show(invocation: Invocation, episode: str, n_bytes: int, limit: int, as_json: bool) -> None:
    """List what left: when, to whom, how much, why, and what stand-ins stood for."""
    with _opened(invocation.home) as record:
        if episode:
            entries = list(record.entries(episode=episode))
            if not entries:
                _check_episode(invocation.home, episode)
        else:
            entries = list(record.entries(after=max(0, record.head().count - limit)))
    if as_json:
        print_json([_json(entry, n_bytes) for entry in entries])
        return
    for entry in entries:
        click.echo("\n".join(entry_lines(entry, n_bytes)))
    if not entries:
        click.echo("Nothing left this device for that request." if episode else "Nothing has left this device.")


@ledger.command()
@click.option("--file", "path", type=click.Path(path_type=Path), metavar="FILE", help="Check an export instead.")
@click.option("--head", "kept", default="", metavar="COUNT:HASH", help="A head you kept elsewhere: it must still fit.")
@as_json
@click.pass_obj
def verify(invocation: Invocation, path: Path | None, kept: str, as_json: bool) -> int:
    """Check that no byte of the ledger was changed, and no entry taken out, put in or cut off.

    Exits with 1 when something was, and names the first entry that is broken.
    """
    from hearth.guard.egress.ledger import head_from_text, verify_file

    known: Head | None = None
    if kept:
        try:
            known = head_from_text(kept)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    if path is not None:
        with bar_from(_MANY, _n_lines(path), "Checking") as progress:
            verdict = verify_file(path, progress, known)
    else:
        with _opened(invocation.home) as record, bar_from(_MANY, record.head().count, "Checking") as progress:
            verdict = record.verify(progress, known)
    if as_json:
        print_json({"whole": verdict.is_whole, **asdict(verdict), "head": str(verdict.head)})
    else:
        _say(verdict)
    return 0 if verdict.is_whole else 1


@ledger.command()
@click.argument("target", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@as_json
@click.pass_obj
def export(invocation: Invocation, target: Path, as_json: bool) -> None:
    """Write the whole ledger into FILE as JSON lines; keep the head it prints somewhere else.

    It holds everything that left, and what stand-ins stood for: only you can read the file.
    """
    with _opened(invocation.home) as record, bar_from(_MANY, record.head().count, "Writing") as progress:
        head = record.export(target, progress)
    if as_json:
        print_json({"file": str(target), "count": head.count, "head": str(head)})
    else:
        click.echo(f"{head.count} {_entries(head.count)} in {clean(str(target))}")
        click.echo(f"head {head}")


# ── Lines ─────────────────────────────────────────────────────────────────────────────────────────────────


def entry_lines(entry: Entry, n_bytes: int = 0) -> list[str]:
    """Format one entry for a person."""
    where = f"{entry.host}:{entry.port}" if entry.port else entry.host
    if entry.address and entry.address != entry.host:
        where += f" ({entry.address})"
    size = {
        "sent": f"{entry.n_bytes} bytes",
        "used": f"{entry.n_tokens} tokens" + (f", {entry.usd:.4f} USD" if entry.usd else ""),
    }.get(entry.kind, "")
    parts = [f"{entry.number:>5}  {entry.at[:19].replace('T', ' ')}", entry.kind, where, size, entry.tls]
    lines = ["  ".join(clean(part) for part in parts if part)]
    why = [entry.reason, f"request {entry.episode}" if entry.episode else ""]
    why += [f"step {entry.step + 1}" if entry.step is not None else "", f"rule {entry.rule}" if entry.rule else ""]
    lines.append(f"       why: {clean(' · '.join(part for part in why if part))}")
    if entry.payload is None:
        lines.append("       what was in it was forgotten")
    for name, value in sorted((entry.stands_for or {}).items()):
        lines.append(f"       {clean(name)} stood for {short(value, 80)}")
    if n_bytes and entry.payload and entry.kind == "sent":
        shown = clean(entry.payload[:n_bytes].decode("utf-8", "backslashreplace").replace("\r\n", "\n"))
        lines += [f"       | {line}" for line in shown.split("\n")]
        if len(entry.payload) > n_bytes:
            lines.append(f"       … and {len(entry.payload) - n_bytes} bytes more (--bytes {len(entry.payload)})")
    return lines


def _json(entry: Entry, n_bytes: int) -> dict[str, object]:
    document = {name: value for name, value in asdict(entry).items() if name != "payload"}
    document["is_forgotten"] = entry.payload is None
    if n_bytes and entry.payload is not None:
        document["payload_base64"] = base64.b64encode(entry.payload[:n_bytes]).decode()
    return document


def _say(verdict: Verdict) -> None:
    n = verdict.n_entries
    if verdict.is_whole:
        click.echo(f"Whole: {n} {_entries(n)}, none of them changed, missing or added.")
    else:
        first = min((fault.number for fault in verdict.faults if fault.number), default=0)
        where = f", the first at entry {first}" if first else ""
        click.echo(f"Broken: {verdict.n_faults} fault{'' if verdict.n_faults == 1 else 's'}{where}.")
        for fault in verdict.faults[:_N_FAULTS_SHOWN]:
            click.echo(f"  {f'entry {fault.number}' if fault.number else 'the ledger'}: {clean(fault.what)}")
        if verdict.n_faults > _N_FAULTS_SHOWN:
            click.echo(f"  … and {verdict.n_faults - _N_FAULTS_SHOWN} more")
    for note in verdict.notes:
        click.echo(f"  note: {note}")
    if verdict.n_erased:
        click.echo(f"  {verdict.n_erased} {_entries(verdict.n_erased)} had their bytes forgotten; the chain holds them")
    click.echo(f"head {verdict.head}")


def _entries(n: int) -> str:
    return "entry" if n == 1 else "entries"


# ── Shared ────────────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def opened_record(home: Path) -> Iterator[Store]:
    """Open the database of a home, also while an agent runs on it. Raises: ConfigError: There is none."""
    from hearth.storage.database import Store

    if not (home / "hearth.db").exists():
        raise errors.ConfigError(f"no record in {str(home)!r}; make a home there with `hearth init`")
    with Store.open(home / "hearth.db") as store:
        yield store


@contextlib.contextmanager
def _opened(home: Path) -> Iterator[Ledger]:
    from hearth.guard.egress.ledger import Ledger

    with opened_record(home) as store:
        yield Ledger(store)


def _check_episode(home: Path, id: str) -> None:
    from hearth.storage.trace import Trace

    with opened_record(home) as store:
        if not Trace(store).has(id):
            raise errors.NotFound(f"no episode {id!r}; `hearth history` lists the ones there are")


def _n_lines(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0  # reading it reports what is wrong


# ── `hearth mask` ──────────────────────────────────────────────────────────────────────────────────────


MAX_BYTES = 50_000_000


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "--kinds",
    metavar="LIST",
    help="Which kinds, with commas between; `all` for every one (default: `kinds` under [mask] in hearth.toml).",
)
@click.option("--no-tagger", is_flag=True, help="Find by form and the owner's own names only.")
@as_json
@click.pass_obj
def mask(invocation: Invocation, text: tuple[str, ...], kinds: str | None, no_tagger: bool, as_json: bool) -> None:
    """Show what would leave of TEXT, and what each stand-in stands for.

    `-` or no TEXT reads standard input. Nothing is sent. In a home, its contacts, calendar and settings are used;
    without one, only what is found by form, and by the tagger if it is installed.
    """
    said = " ".join(text)
    if said in ("", "-"):
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise errors.RequestError(f"the text has more than {MAX_BYTES:,} bytes; give it in parts")
        said = raw.decode("utf-8", "surrogateescape")
    if not said.strip():
        raise click.UsageError("there is no text to mask; give one, or a file: hearth mask - < FILE")
    masked = _masked(invocation, said, kinds, no_tagger)
    if as_json:
        kinds_of = masked.stand_ins.kinds
        shown = [
            {"stand_in": name, "kind": kinds_of[name], "stands_for": value} for name, value in masked.values.items()
        ]
        print_json({"text": masked.text, "stand_ins": shown, "comes_back": masked.unmask(masked.text) == said})
        return
    click.echo(clean(masked.text))
    if not masked.values:
        click.echo("\nNothing in this text needs masking.", err=True)
        return
    click.echo("\nOn this device only:", err=True)
    width = max(map(len, masked.values))
    for name, value in masked.values.items():
        click.echo(f"  {name:<{width}}  {masked.stand_ins.kinds[name]:<12}  {clean(' '.join(value.split()))}", err=True)


def _masked(invocation: Invocation, said: str, kinds: str | None, no_tagger: bool) -> Masked:
    """Mask by the home's settings, or without a home by form alone. Raises: ConfigError, UsageError."""
    from hearth import config
    from hearth.guard.egress.masking_door import MaskingDoor, Part
    from hearth.models.ner import TAGGER_FILE
    from hearth.storage.database import Store
    from hearth.storage.workspace import Home
    from hearth.types import OWNER

    chosen: tuple[str, ...] | None = None
    if kinds is not None:
        chosen = (
            config.MASK_KINDS if kinds == "all" else tuple(kind.strip() for kind in kinds.split(",") if kind.strip())
        )
        unknown = next((kind for kind in chosen if kind not in config.MASK_KINDS), None)
        if unknown is not None:
            raise click.UsageError(f"unknown kind {unknown!r}; known are {', '.join(config.MASK_KINDS)}")
    if not no_tagger and not TAGGER_FILE.exists():
        click.echo("the tagger is not installed: names you do not know are found by cues alone", err=True)
    parts, cache = [Part(said, OWNER)], config.cache_folder(os.environ)
    if not (invocation.home / "hearth.toml").exists():
        kinds_found = chosen or config.MASKED_KINDS
        return MaskingDoor.of_nobody(cache, kinds_found, is_tagged=not no_tagger).masked(parts)
    settings = config.read_settings(invocation.home / "hearth.toml")
    with Store.open(invocation.home / "hearth.db") as store:
        home = Home(invocation.home, settings, store, os.environ)
        return MaskingDoor.of_owner(home, kinds=chosen or None, is_tagged=not no_tagger).masked(parts)


# ── Why command ───────────────────────────────────────────────────────────────────────────────────────────
# `hearth why`: explain one request from its record; each sentence rests on a field that was written down.

_WIDTH = 100
_SOURCES: Mapping[str, str] = {
    "owner": "your request",
    "device": "your own records",
    "contacts": "your contacts",
    "message": "a message that came in",
    "web": "a web page",
    "file": "a file",
    "sensor": "a sensor",
    "teacher": "the teacher",
    "model": "a language model",
    "memory": "what was remembered",
}
_ANSWERS: Mapping[str, str] = {
    "once": "you agreed, this once",
    "always": "you agreed, for this pattern from then on",
    "no": "you said no",
    "never": "you said never",
    "nobody": "there was nobody to ask",
}


@dataclass(frozen=True, slots=True)
class Record:
    """Everything written down about one request."""

    episode: Episode
    calls: Mapping[int, CallRecord]
    demonstrations: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Request and source, by id, of the demonstrations the plan rests on, as far as they are still held."""
    left: tuple[Entry, ...] = ()
    """The ledger's entries."""


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    says: tuple[str, ...]


@click.command()
@click.argument("id", required=False)
@click.argument("step", type=click.IntRange(min=1), required=False)
@as_json
@click.pass_obj
def why(invocation: Invocation, id: str | None, step: int | None, as_json: bool) -> None:
    """Explain episode ID (default: the last), or its step number STEP: why this plan, who allowed it, where each value
    came from.

    Every sentence rests on what was written down while it happened; nothing is asked of a model.
    """
    record = record_of(invocation.home, id)
    episode = record.episode
    id = episode.id
    n_steps = len(episode.plan.steps) if episode.plan else 0
    if step is not None and step > n_steps:
        raise errors.NotFound(f"{id} has {n_steps} steps, there is no step {step}; `hearth history {id}` shows them")
    sections = explained(record) if step is None else (explained_step(record, step - 1),)
    if as_json:
        print_json(
            {"id": id, "request": episode.request.text, "why": [{"about": s.title, "says": s.says} for s in sections]}
        )
        return
    click.echo(f"“{short(episode.request.text)}”")
    for section in sections:
        click.secho(section.title, bold=True)
        for sentence in section.says:
            first, *more = wrapped(clean(" ".join(sentence.split())), _WIDTH - 4)
            click.echo("\n".join([f"  · {first}", *(f"    {line}" for line in more)]))


def record_of(home: Path, id: str | None) -> Record:
    """Return everything written down about an episode, or the last. Raises: NotFound."""
    from hearth.guard.egress.ledger import Ledger
    from hearth.storage.trace import Trace

    with opened_record(home) as store:
        trace = Trace(store)
        id = id or _last_id(trace)
        episode, calls = trace.episode(id), trace.calls(id)
        rests_on = episode.plan.rests_on if episode.plan else ()
        left = tuple(Ledger(store).entries(episode=id))
        by_step = {(kept.step if (kept := call.started or call.result) else -1): call for call in calls}
        return Record(episode, by_step, _demonstrations(store, rests_on), left)


def _last_id(trace: Trace) -> str:
    for episode in trace.episodes(limit=1):
        return episode.id
    raise errors.NotFound("nothing was asked yet in this home; `hearth ask` something first")


# ── The whole ─────────────────────────────────────────────────────────────────────────────────────────────


def explained(record: Record) -> tuple[Section, ...]:
    """Explain a request: what was asked, the plan, who agreed, each step, what left, how to take it back."""
    episode = record.episode
    who = f"The program “{short(episode.request.asked_by, 60)}”" if episode.request.asked_by else "You"
    at = episode.request.now.isoformat()
    sections = [Section("Asked", (f"{who} asked this on {moment_text(at) or at}.",))]
    if episode.plan is not None:
        sections.append(Section("The plan", tuple(_plan_says(episode.plan, record.demonstrations))))
    elif episode.refusal is not None:
        sections.append(Section("No plan", (f"{episode.refusal.reason} ({episode.refusal.kind.replace('_', ' ')})",)))
    if episode.ruling is not None:
        sections.append(Section("Who agreed", (_ruling_says("The plan", episode.ruling), *_asked(episode.asked))))
    if episode.plan is not None:
        sections += [explained_step(record, index) for index in range(len(episode.plan.steps))]
        if repaired := tuple(_repairs(episode)):
            sections.append(Section("Repaired", repaired))
    sections.append(Section("What left this device", tuple(_left_says(record.left, is_step=False))))
    sections.append(Section("Taking it back", tuple(_undo_says(record))))
    return tuple(sections)


def _values_say(record: Record, step: Step, started: StartedStep | None) -> Iterator[str]:
    """Say of each argument what it was and where it came from."""
    for name, value in step.arguments.items():
        bound: Any = started.arguments.get(name) if started else None
        label = started.labels.get(name) if started else None
        origin = _origin(record, value, bound, label)
        if name in step.unsaid:
            source = step.unsaid[name]
            origin = f"made up by {_SOURCES.get(source, source)}; your request does not say it"
        yield f"{name} = {argument_text(value if bound is None else bound)}: {origin}."


def explained_step(record: Record, index: int) -> Section:
    """Explain one step: what it did, under which rule, where its values came from, what left for it."""
    episode = record.episode
    assert episode.plan is not None
    step, call = episode.plan.steps[index], record.calls.get(index)
    result = next((r for r in episode.results if r.step == index), None)
    says = [_outcome(result)]
    if step.text:
        says.append(f"It serves: “{short(step.text)}”.")
    started = call.started if call else None
    if started is not None:
        if started.ruling is not None:
            says.append(_ruling_says("It", started.ruling))
        says.append({
            "none": "It only reads.", "change": "It changes your data.", "send": "It sends, or cannot be taken back."
        }[started.effect])  # fmt: skip
    says += _values_say(record, step, started)
    if waits := sorted(set(step.after) - {ref.step for ref in step.refs()}):
        says.append(f"It waited for step {', '.join(str(k + 1) for k in waits)}, without taking data from it.")
    if result is not None and result.n_attempts > 1:
        says.append(f"It was tried {result.n_attempts} times.")
    says += [notice if notice.endswith(".") else f"{notice}." for notice in (result.notices if result else ())]
    says += _left_says(tuple(entry for entry in record.left if entry.step == index), is_step=True)
    if call is not None and call.is_undone:
        says.append("You took it back.")
    return Section(f"Step {index + 1}: {step.tool}", tuple(says))


# ── Sentences ─────────────────────────────────────────────────────────────────────────────────────────────


def _plan_says(plan: Plan, known: Mapping[str, tuple[str, str]]) -> list[str]:
    by = f"It was made by {plan.planner}" if plan.planner else "Who made it was not recorded"
    says = [f"{by}, with a confidence of {plan.confidence:.2f}."]
    if plan.expected_f1 is not None:
        says.append(f"Expected share of its tools that is right: {plan.expected_f1:.2f}.")
    for tools, share in plan.considered:
        says.append(f"Of the plans that the teacher gave, {share:.0%} called {', '.join(tools) or 'no tool'}.")
    for id in plan.rests_on:
        if id in known:
            request, source = known[id]
            says.append(f"It rests on “{short(request, 80)}” (demonstration {id}, from {_source_of(source)}).")
        else:
            says.append(f"It rests on demonstration {id}, which is not held any more.")
    if not plan.rests_on:
        says.append("No demonstration is on record for it.")
    says += [f"Not planned, as no tool serves it: “{short(part)}”." for part in plan.unserved]
    return says


def _source_of(source: str) -> str:
    said = {
        "shipped": "what comes with Hearth",
        "owner": "you",
        "teacher": "a teacher",
        "success": "what worked before",
    }
    return said.get(source, source)


def _ruling_says(what: str, ruling: Ruling) -> str:
    verb = {"allow": "was allowed", "ask": "had to be asked about", "deny": "was denied"}[ruling.verdict]
    by = f" by the rule {ruling.rule}" if ruling.rule else ""
    return f"{what} {verb}{by}: {ruling.reason}."


def _asked(asked: Sequence[Asked]) -> list[str]:
    return [f"You were asked “{short(a.question, 160)}”; {_ANSWERS.get(a.answer, a.answer)}." for a in asked]


def _outcome(result: StepResult | None) -> str:
    if result is None:
        return "It was not run."
    if result.status == "done":
        return f"It was done in {result.duration_ms:.0f} ms."
    said = {"failed": "It failed", "skipped": "It was left out", "denied": "It was denied"}
    lead = said.get(result.status, "Whether it had its effect is not known")
    return f"{lead}: {result.error}." if result.error else f"{lead}."


def _origin(record: Record, value: Argument, bound: Plain, label: Label | None) -> str:
    """Return the origin of one argument, in words."""
    refs = Step("", {"": value}).refs()
    if refs:
        says = "; ".join(dict.fromkeys(_ref_says(record, ref, bound) for ref in refs))
    elif _is_said(value, record.episode.request.text):
        says = "your own words"
    else:
        says = "taken from your request by the planner, though not word for word"
    if label is not None and label.sources - {"owner"}:
        said = ", ".join(_SOURCES.get(source, source) for source in sorted(label.sources))
        says += f" (made from {said})"
        if label.strangers:
            says += ", which somebody else may have written"
    return says


def _ref_says(record: Record, ref: Ref, bound: Plain) -> str:
    plan = record.episode.plan
    assert plan is not None
    tool = plan.steps[ref.step].tool if ref.step < len(plan.steps) else "?"
    what = f"the field {'.'.join(ref.path)} of" if ref.path else "the whole of"
    result = next((r for r in record.episode.results if r.step == ref.step), None)
    name = _record_with(result.value, ref.path, bound) if result is not None else ""
    return f"{what} what step {mark(ref.step)} ({tool}) found" + (f", in “{short(name, 60)}”" if name else "")


def _record_with(value: Plain, path: Sequence[str], bound: Plain) -> str:
    """Return the name of the record among `value` that holds `bound` in that field; empty when there is none."""
    for record in value if isinstance(value, list) else [value]:
        if isinstance(record, dict) and path and record.get(path[0]) == bound:
            name = next((record[k] for k in ("name", "title", "subject", "path", "id") if record.get(k)), "")
            return str(name)
    return ""


def _is_said(value: Argument, request: str) -> bool:
    if isinstance(value, list):
        return bool(value) and all(_is_said(item, request) for item in value)
    if isinstance(value, bool) or value is None or isinstance(value, dict | Ref):
        return False
    return " ".join(str(value).casefold().split()) in " ".join(request.casefold().split())


def _repairs(episode: Episode) -> list[str]:
    assert episode.plan is not None
    says = []
    if episode.rounds:
        says.append(f"The rest was planned anew {episode.rounds} time{'' if episode.rounds == 1 else 's'}.")
    for index, step in enumerate(episode.plan.steps):
        if step.replaces is not None:
            says.append(f"Step {index + 1} ({step.tool}) replaces step {step.replaces + 1}, which failed.")
    return says


def _left_says(left: Sequence[Entry], *, is_step: bool) -> list[str]:
    says = []
    for entry in left:
        if entry.kind == "sent":
            how = f" over {entry.tls}" if entry.tls else ""
            says.append(
                f"{entry.n_bytes} bytes went to {entry.host}{how} ({entry.reason}; ledger entry {entry.number}"
                + (f", under the rule {entry.rule}" if entry.rule else "")
                + f"){_stood_for(entry)}."
            )
        elif entry.kind == "used":
            says.append(f"{entry.host} counted {entry.n_tokens} tokens ({entry.reason}; ledger entry {entry.number}).")
        elif entry.kind == "refused":
            says.append(f"Kept from leaving: {entry.reason} (ledger entry {entry.number}).")
        elif entry.kind == "permitted" and not is_step:
            says.append(f"A connection to {entry.host} was permitted ({entry.reason}; ledger entry {entry.number}).")
    if not says and not is_step:
        says.append("Nothing: the ledger has no entry for this request.")
    return says


def _stood_for(entry: Entry) -> str:
    if entry.payload is None:
        return ", since forgotten"
    n = len(entry.stands_for or {})
    return f", with {n} value{'' if n == 1 else 's'} masked" if n else ""


def _undo_says(record: Record) -> list[str]:
    says, id = [], record.episode.id
    for index, call in sorted(record.calls.items()):
        if call.started is None or call.result is None or call.result.status != "done":
            continue
        name = f"step {index + 1} ({call.started.tool})"
        if call.is_undone:
            says.append(f"{name}: you took it back.")
        elif call.started.effect == "change":
            says.append(f"{name}: `hearth undo {id}` takes it back, for 30 days.")
        elif call.started.effect == "send":
            says.append(f"{name}: what was sent cannot be called back.")
    return [said[0].upper() + said[1:] for said in says] or ["Nothing was changed or sent."]


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


def _demonstrations(store: Store, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for id in ids:
        for table in ("set_aside", "demonstration"):
            rows = store.query(f"SELECT request, source FROM {table} WHERE id=?", (id,))  # noqa: S608 - one of two names
            for row in rows:
                found[id] = (_text(row["request"]), row["source"])
    return found


def _text(stored: Any) -> str:
    return stored.decode(errors="replace") if isinstance(stored, bytes) else str(stored)
