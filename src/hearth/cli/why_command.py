"""`hearth why`: explain one request from its record; each sentence rests on a field that was written down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from hearth import errors
from hearth.cli.guard.ledger_commands import opened_record
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.formats.terminal_text import argument_text, clean, mark, moment_text, short, wrapped
from hearth.types import Argument, Asked, Episode, Label, Plain, Plan, Ref, Ruling, Step, StepResult

if TYPE_CHECKING:
    from pathlib import Path

    from hearth.guard.egress.ledger import Entry
    from hearth.storage.database import Store
    from hearth.storage.trace import CallRecord, StartedStep, Trace

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
