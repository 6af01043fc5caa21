"""Find skills in the record, tasks the owner does again and again; propose them, and use them only once accepted.

`propose` looks through what was done and stood: sequences of steps, within one request or over consecutive requests,
that recurred in at least three sittings on two days. What a later step takes from an earlier one is part of the
pattern; an argument that was always the same is kept, one that varied is left open. An accepted skill needs no new
machinery: its name becomes a demonstration of the owner's, with its plan, and is planned, judged and confirmed like
every request.

Covered: steps of others in between, sequences that are part of longer ones as frequent (left out), requests that were
undone, repaired, denied or touched by strangers (ignored). Not covered: patterns by the hour or the day.

Source: closed sequential patterns by pattern growth: Pei et al. 2001 (PrefixSpan); Yan et al. 2003 (CloSpan).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hearth.errors import NotFound, RequestError
from hearth.formats.plans import only_reads, plan_from_json, plan_to_json, with_refs
from hearth.learning.corrections import judge
from hearth.learning.demonstration_store import Entry
from hearth.learning.versions.learned_state import State
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.types import Argument, Demonstration, Episode, Plan, Ref, Step, ToolSpec

N_LOOKED_THROUGH = 2000
"""Number of newest episodes that are looked through."""
LEAST_TIMES = 3
LEAST_DAYS = 2
MAX_STEPS = 8
MAX_NAME_CHARACTERS = 60
_PAUSE = dt.timedelta(minutes=15)
"""A longer pause between requests begins another sitting."""
_MAX_GAP = 3
"""Most other steps between two of a pattern."""
_MOST_PATTERNS = 2000
_CONSTANT_SHARE = 0.8
_ENDINGS = ("!", " please")
"""Forms of a name beside the bare one."""
_N_SHOWN_OPEN = 3
"""Number of example values with which a skill with open arguments is taught."""


@dataclass(frozen=True, slots=True)
class _Done:
    """One step that was done."""

    step: Step
    place: int
    """Its position in its plan."""
    episode: str
    now: dt.datetime
    sources: tuple[int, ...]
    """Places in the sitting of the steps its references point at, in the order of `Step.refs`."""
    symbol: str
    """Key under which two steps count as the same: the tool, and from where its references take what."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A recurring plan, proposed, accepted or dismissed."""

    number: int
    name: str
    """Empty while it is proposed."""
    state: str
    plan: Plan
    """The plan, with an example of the open arguments."""
    open: tuple[tuple[int, str], ...]
    """Step and parameter of each argument that varied."""
    n_times: int
    first: str
    last: str
    """Days, ISO 8601."""
    episodes: tuple[str, ...]
    demonstrations: tuple[str, ...] = ()
    """Ids of the demonstrations that teach it, once accepted."""


# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────


def propose(store: Store, tools: Mapping[str, ToolSpec], now: dt.datetime) -> tuple[Skill, ...]:
    """Look for patterns, and keep new ones as proposals; those with the most use first.

    Raises:
        StoreError: Nothing was written.
    """
    found = list(_patterns(_sittings(store, tools, now)))
    with store.transaction() as cursor:
        digests = json.dumps([digest for digest, _, _ in found])
        cursor.execute(
            "DELETE FROM skill WHERE state='proposed' AND digest NOT IN (SELECT value FROM json_each(?))", (digests,)
        )
        for digest, plan, evidence in found:
            cursor.execute(
                "INSERT INTO skill (digest, state, plan_json, evidence_json, at) VALUES (?, 'proposed', ?, ?, ?)"
                " ON CONFLICT (digest) DO UPDATE SET plan_json=excluded.plan_json, evidence_json=excluded.evidence_json"
                " WHERE state='proposed'",
                (digest, json.dumps(plan_to_json(plan), ensure_ascii=False), json.dumps(evidence), now.isoformat()),
            )
    return tuple(skill for skill in skills(store) if skill.state == "proposed")


def skills(store: Store) -> tuple[Skill, ...]:
    """Return all that were proposed, accepted or dismissed, by number."""
    return tuple(_skill(row) for row in store.query("SELECT * FROM skill ORDER BY number"))


def _skill(row: Any) -> Skill:
    evidence = json.loads(row["evidence_json"])
    return Skill(
        row["number"],
        row["name"],
        row["state"],
        plan_from_json(json.loads(row["plan_json"])),
        tuple((int(step), str(name)) for step, name in evidence["open"]),
        evidence["n_times"],
        evidence["first"],
        evidence["last"],
        tuple(evidence["episodes"]),
        tuple(json.loads(row["demonstrations_json"])),
    )


def _sittings(store: Store, tools: Mapping[str, ToolSpec], now: dt.datetime) -> list[list[_Done]]:
    """Return the steps that were done, in the order of the requests, cut where the owner paused."""
    trace = Trace(store)
    sittings: list[list[_Done]] = []
    last: dt.datetime | None = None
    for episode in sorted(trace.episodes(N_LOOKED_THROUGH, is_owners=True), key=lambda e: (e.request.now, e.id)):
        if not _stood(episode, trace, tools, now):
            continue
        assert episode.plan is not None
        if last is None or episode.request.now - last > _PAUSE:
            sittings.append([])
        last = episode.request.now
        start = len(sittings[-1])
        for place, step in enumerate(episode.plan.steps):
            refs = step.refs()
            sources = tuple(start + ref.step for ref in refs)
            taken = sorted(f"{episode.plan.steps[ref.step].tool}.{'.'.join(ref.path)}" for ref in refs)
            symbol = json.dumps([step.tool, taken])
            sittings[-1].append(_Done(step, place, episode.id, episode.request.now, sources, symbol))
    return sittings


def _stood(episode: Episode, trace: Trace, tools: Mapping[str, ToolSpec], now: dt.datetime) -> bool:
    plan = episode.plan
    if plan is None or any(step.tool not in tools for step in plan.steps):
        return False
    calls = trace.calls(episode.id)
    verdict = judge(episode, calls, tools, now, dt.timedelta(0))
    if verdict.kind in ("success", "teacher"):
        return True
    is_whole = not plan.unserved and not episode.rounds and episode.answer.status == "done"
    return verdict.kind == "question" and is_whole and only_reads(plan, tools)


Occurrence = tuple[int, tuple[int, ...]]
"""A sitting, and the places of the pattern's steps in it."""


def _patterns(sittings: Sequence[Sequence[_Done]]) -> Iterator[tuple[str, Plan, dict[str, object]]]:
    """Yield closed patterns with digest, plan and evidence; the most useful first."""
    found = _frequent(sittings)
    closed = []
    for symbols, occurrences in found.items():
        kept = _agreeing(sittings, [one for one in occurrences if _is_whole(sittings, one)])
        days = {sittings[s][places[0]].now.date() for s, places in kept}
        if len(kept) >= LEAST_TIMES and len(days) >= LEAST_DAYS:
            closed.append((symbols, kept))
    closed = [
        (symbols, kept)
        for symbols, kept in closed
        if not any(
            len(other) > len(symbols) and len(theirs) >= len(kept) and _is_inside(symbols, other)
            for other, theirs in closed
        )
    ]
    closed.sort(key=lambda item: (-len(item[1]) * (len(item[0]) - 1), item[0]))
    for symbols, kept in closed:
        yield _generalised(sittings, symbols, kept)


def _frequent(sittings: Sequence[Sequence[_Done]]) -> dict[tuple[str, ...], list[Occurrence]]:
    """Find sequences of two steps or more in enough sittings, grown a step at a time; one occurrence per sitting."""
    starts: dict[tuple[str, ...], dict[int, list[tuple[int, ...]]]] = {}
    for s, sitting in enumerate(sittings):
        for place, done in enumerate(sitting):
            starts.setdefault((done.symbol,), {}).setdefault(s, []).append((place,))
    waiting = {k: v for k, v in starts.items() if len(v) >= LEAST_TIMES}
    found: dict[tuple[str, ...], list[Occurrence]] = {}
    while waiting and len(found) < _MOST_PATTERNS:
        grown: dict[tuple[str, ...], dict[int, list[tuple[int, ...]]]] = {}
        for symbols, by_sitting in sorted(waiting.items()):
            if len(symbols) > 1:
                found[symbols] = [(s, matches[0]) for s, matches in sorted(by_sitting.items())]
            if len(symbols) == MAX_STEPS:
                continue
            for s, matches in by_sitting.items():
                for places in matches[:MAX_STEPS]:
                    for place in range(places[-1] + 1, min(places[-1] + 2 + _MAX_GAP, len(sittings[s]))):
                        longer = (*symbols, sittings[s][place].symbol)
                        grown.setdefault(longer, {}).setdefault(s, []).append((*places, place))
        waiting = {k: v for k, v in grown.items() if len(v) >= LEAST_TIMES}
    return found


def _is_whole(sittings: Sequence[Sequence[_Done]], occurrence: Occurrence) -> bool:
    """Say whether the references of an occurrence stay inside it."""
    s, places = occurrence
    return all(source in places for place in places for source in sittings[s][place].sources)


def _is_inside(short: Sequence[str], long: Sequence[str]) -> bool:
    rest = iter(long)
    return all(symbol in rest for symbol in short)


def _texts(step: Step) -> dict[str, str]:
    plain = {n: with_refs(v, lambda ref: {"ref": [ref.step, *ref.path]}) for n, v in step.arguments.items()}
    return {name: json.dumps(value, sort_keys=True) for name, value in plain.items()}


def _steps(sittings: Sequence[Sequence[_Done]], occurrence: Occurrence) -> list[Step]:
    """Return an occurrence's steps as a plan of their own: references and orderings by place in the pattern."""
    s, places = occurrence
    at = {place: k for k, place in enumerate(places)}

    def moved(start: int, ref: Ref) -> Ref:
        return Ref(at.get(start + ref.step, -1), ref.path)

    steps = []
    for k, place in enumerate(places):
        done = sittings[s][place]
        start = place - done.place
        arguments = {name: with_refs(value, partial(moved, start)) for name, value in done.step.arguments.items()}
        after = {at[start + n] for n in done.step.after if start + n in at}
        if k and sittings[s][places[k - 1]].episode != done.episode:
            after.add(k - 1)  # it was asked for after the one before
        steps.append(Step(done.step.tool, arguments, tuple(sorted(after)), done.step.text))
    return steps


def _agreeing(sittings: Sequence[Sequence[_Done]], occurrences: Sequence[Occurrence]) -> list[Occurrence]:
    """Keep the occurrences that share the value of each argument that is nearly always the same."""
    kept = list(occurrences)
    texts = {one: [_texts(step) for step in _steps(sittings, one)] for one in kept}
    if not kept:
        return kept
    for k in range(len(texts[kept[0]])):
        for name in sorted({name for one in kept for name in texts[one][k]}):
            counts = Counter(texts[one][k].get(name) for one in kept)
            value, n = min(counts.items(), key=lambda item: (-item[1], str(item[0])))
            if _CONSTANT_SHARE * len(kept) <= n < len(kept):
                kept = [one for one in kept if texts[one][k].get(name) == value]
    return kept


def _generalised(
    sittings: Sequence[Sequence[_Done]], symbols: tuple[str, ...], kept: Sequence[Occurrence]
) -> tuple[str, Plan, dict[str, object]]:
    """Return the plan of the newest occurrence, the open arguments, and the evidence."""
    texts = [[_texts(step) for step in _steps(sittings, one)] for one in kept]
    opened = []
    for k in range(len(symbols)):
        for name in sorted({name for one in texts for name in one[k]}):
            if len({one[k].get(name) for one in texts}) > 1:
                opened.append([k, name])
    moments = [sittings[s][places[0]].now for s, places in kept]
    newest = kept[-1]
    evidence: dict[str, object] = {
        "n_times": len(kept),
        "first": min(moments).date().isoformat(),
        "last": max(moments).date().isoformat(),
        "episodes": sorted({sittings[s][place].episode for s, places in kept for place in places}),
        "open": opened,
        "examples": [_example(sittings, one, opened) for one in kept[-_N_SHOWN_OPEN:]] if opened else [],
    }
    return hashlib.sha256(json.dumps(symbols).encode()).hexdigest(), Plan(tuple(_steps(sittings, newest))), evidence


def _example(
    sittings: Sequence[Sequence[_Done]], occurrence: Occurrence, opened: Sequence[Sequence[Any]]
) -> dict[str, object]:
    steps = _steps(sittings, occurrence)
    s, places = occurrence
    return {
        "plan": plan_to_json(Plan(tuple(steps))),
        "now": sittings[s][places[0]].now.isoformat(),
        "said": ", ".join(_in_words(steps[k].arguments[name]) for k, name in opened if name in steps[k].arguments),
    }


def _in_words(value: Argument) -> str:
    """Write a value as the owner would type it."""
    if isinstance(value, list):
        return " and ".join(_in_words(item) for item in value)
    if isinstance(value, str):
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            return value
        return f"{moment.day} {moment:%B %Y}" + (f" at {moment:%H:%M}" if len(value) > 10 else "")
    return "" if isinstance(value, Ref | dict) or value is None else str(value)


# ── Deciding ──────────────────────────────────────────────────────────────────────────────────────────────


def suggested_name(skill: Skill) -> str:
    """Suggest a name: its tools in words."""
    return " and ".join(dict.fromkeys(step.tool.replace("_", " ") for step in skill.plan.steps))


def accept(state: State, number: int, name: str = "") -> Skill:
    """Install a proposed skill: saying its name plans it.

    Args:
        name: Its name; its tools in words when left out.
    Raises:
        NotFound: No such proposal. RequestError: The name is unusable, taken, or means something else.
    """
    skill = _proposed(state.store, number)
    name = " ".join((name or suggested_name(skill)).split())
    if not name or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise RequestError(f"the name {name[:80]!r} must have 1 to {MAX_NAME_CHARACTERS} printable characters")
    for other in skills(state.store):
        if other.state == "accepted" and other.name.casefold() == name.casefold():
            raise RequestError(f"there is a skill {other.name!r} already; choose another name, or remove that one")
    entries = _demonstrations(state.store, skill, name)
    taken = state.store.query(
        "SELECT id FROM demonstration WHERE request = ? COLLATE NOCASE AND source <> 'shipped'", (name,)
    )
    if taken:
        raise RequestError(
            f"{name!r} means something else already (demonstration {taken[0]['id']!r}); choose another name"
        )
    checked = state.teach(entries)
    if checked.refused:
        raise RequestError(f"it cannot be learnt: {checked.refused[0].reason}")
    with state.store.transaction() as cursor:
        cursor.execute(
            "UPDATE skill SET state='accepted', name=?, demonstrations_json=? WHERE number=?",
            (name, json.dumps([entry.id for entry in entries]), number),
        )
    return replace(skill, name=name, state="accepted", demonstrations=tuple(entry.id for entry in entries))


def _demonstrations(store: Store, skill: Skill, name: str) -> list[Entry]:
    """Make demonstrations of the name with the plan, in a few forms; with open arguments, with some values."""
    if not skill.open:
        forms = [name, *(name + ending for ending in _ENDINGS)]
        return [
            Entry(Demonstration(_id(name, k), form, _with_text(skill.plan, form), source="owner"), teacher="owner")
            for k, form in enumerate(forms)
        ]
    (row,) = store.query("SELECT evidence_json FROM skill WHERE number=?", (skill.number,))
    examples: dict[str, Entry] = {}
    for example in json.loads(row["evidence_json"])["examples"]:
        request = f"{name} {example['said']}".strip()
        plan = _with_text(plan_from_json(example["plan"]), request)
        said = Demonstration(
            _id(name, len(examples)), request, plan, source="owner", now=dt.datetime.fromisoformat(example["now"])
        )
        examples.setdefault(request, Entry(said, teacher="owner"))
    return list(examples.values())


def _id(name: str, place: int) -> str:
    return f"skill:{name}" + (f":{place + 1}" if place else "")


def _with_text(plan: Plan, text: str) -> Plan:
    return Plan(tuple(replace(step, text=text) for step in plan.steps))


def dismiss(store: Store, number: int) -> Skill:
    """Never propose it again. Raises: NotFound: No such proposal."""
    skill = _proposed(store, number)
    with store.transaction() as cursor:
        cursor.execute("UPDATE skill SET state='dismissed' WHERE number=?", (number,))
    return replace(skill, state="dismissed")


def remove(store: Store, name: str) -> Skill:
    """Remove an accepted skill: its name means nothing any more; it may be proposed again.

    Raises:
        NotFound: No skill of that name.
    """
    for skill in skills(store):
        if skill.state == "accepted" and skill.name.casefold() == name.casefold():
            with store.transaction() as cursor:
                for id in skill.demonstrations:
                    cursor.execute("DELETE FROM demonstration WHERE id=?", (id,))
                cursor.execute("DELETE FROM skill WHERE number=?", (skill.number,))
            return skill
    known = ", ".join(repr(s.name) for s in skills(store) if s.state == "accepted") or "none"
    raise NotFound(f"no skill {name!r}; there are: {known}")


def _proposed(store: Store, number: int) -> Skill:
    for skill in skills(store):
        if skill.number == number and skill.state == "proposed":
            return skill
    raise NotFound(f"no proposal {number}; `hearth skills` lists them")
