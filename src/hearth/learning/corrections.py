"""Harvest demonstrations from finished requests: only those that stood, and none that a stranger's text had a hand in.

A request is learnt from when the owner corrected it, or when its plan changed or sent something, ended well, was not
taken back and was not asked again differently for a while. A request that only reads proves nothing, as nobody objects
to a wrong answer that goes unnoticed; a teacher is asked about it.

Covered: refusals, denials, failures, repairs, parts left out, undone and corrected episodes, recipients that come from
a message or a page, words that look like passwords, keys, card or account numbers. Not covered: secrets in no form
known here, and plans the owner let pass although they were wrong.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from hearth.errors import HearthError, NotFound, PlanError, RequestError
from hearth.formats.plan_json import plan_to_json
from hearth.formats.plan_validation import check_plan, only_reads
from hearth.guard.capability.unsaid import source_of
from hearth.guard.flow.injection import INJECTION
from hearth.guard.flow.labels import PlannedStep, origins, predict
from hearth.language.values.check_digits import is_iban, is_luhn
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry, entry_of, hold, why_not
from hearth.learning.learned_state import State
from hearth.learning.teacher import Origin, entry_from, words_of
from hearth.planning.deferral import comparison
from hearth.planning.deferral import note as note_agreement
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.storage.database import Store
from hearth.storage.trace import CallRecord, Trace
from hearth.types import UNTRUSTED_SOURCES, Episode, Label, Plan, Refusal, ToolSpec

# ── The harvest of requests ────────────────────────────────────────────────────────────────────────────


ONLY_READ = "it only read something"
UNANSWERED = "unanswered"
"""Outcome of a question to which the teacher gave no usable answer."""
_N_ATTEMPTS = 3
N_LOOKED_THROUGH = 1000
"""Number of newest episodes considered; older ones had their chance."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision on one finished request."""

    episode: str
    kind: Literal["success", "teacher", "waiting", "question", "no"]
    """`success`: learn its plan. `teacher`: the same, a model planned it. `waiting`: it must stand a while longer.
    `question`: a teacher could say what would have been right. `no`: never."""
    reason: str


@dataclass(frozen=True, slots=True)
class Harvest:
    """Judgement of the newest episodes."""

    entries: tuple[Entry, ...]
    """Demonstrations to be learnt."""
    settled: tuple[Episode, ...]
    """Episodes the demonstrations come from."""
    questions: tuple[Episode, ...]
    """Episodes to ask a teacher about, oldest first."""
    touched: tuple[Entry, ...]
    """Demonstrations with a stranger's text in a place that matters: to be quarantined."""
    verdicts: tuple[Verdict, ...]
    """Decisions on every episode that was not looked at before, oldest first."""


def harvest(
    store: Store, tools: Mapping[str, ToolSpec], now: dt.datetime, settled_after: dt.timedelta = dt.timedelta(days=1)
) -> Harvest:
    """Judge the finished requests that were not judged for good before. Writes nothing: see `note`.

    Args:
        now: With time zone.
        settled_after: Time a finished request must stand.
    """
    trace = Trace(store)
    episodes = trace.episodes(N_LOOKED_THROUGH, is_owners=True)[::-1]
    judged = {row[0] for row in store.query("SELECT episode FROM looked_at WHERE outcome NOT LIKE 'unanswered%'")}
    corrected = {row[0] for row in store.query("SELECT episode FROM demonstration WHERE source = 'owner'")}
    corrected |= {row[0] for row in store.query("SELECT episode FROM set_aside WHERE source = 'owner'")}
    entries, settled, questions, touched, verdicts = [], [], [], [], []
    for place, episode in enumerate(episodes):
        if episode.id in judged:
            continue
        if episode.id in corrected:
            verdict = Verdict(episode.id, "no", "the owner corrected it")
        else:
            verdict = judge(episode, trace.calls(episode.id), tools, now, settled_after, episodes[place + 1 :])
        verdicts.append(verdict)
        if verdict.kind == "no" and episode.plan is not None and (sources := _strange_sources(episode, tools)):
            origin = Origin(f"no:{episode.id}", "success", episode.id)
            entry = entry_from(episode.request, episode.plan, "success", origin, tools)
            touched.append(replace(entry, label=Label(entry.label.sources | sources, frozenset())))
        if verdict.kind == "question":
            questions.append(episode)
        elif verdict.kind in ("success", "teacher"):
            assert episode.plan is not None
            settled.append(episode)
            by = episode.plan.planner if verdict.kind == "teacher" else "success"
            origin = Origin(f"{verdict.kind}:{episode.id}", verdict.kind, episode.id)
            entries.append(entry_from(episode.request, episode.plan, by, origin, tools))
    return Harvest(tuple(entries), tuple(settled), tuple(questions), tuple(touched), tuple(verdicts))


def _barred(episode: Episode) -> str:
    """Return why a request must never be learnt, whatever came of it."""
    if episode.refusal is not None and episode.refusal.kind == "unreadable":
        return "it could not be read"
    if episode.request.is_pressed:
        return "a button was pressed"
    if secret := secret_in(_said(episode)):
        return f"it holds what looks like {secret}"
    is_denied = episode.ruling is not None and episode.ruling.verdict != "allow"
    return "it was not allowed" if is_denied else ""


def _doubt(episode: Episode, plan: Plan, calls: Sequence[CallRecord]) -> str:
    """Return why it is doubtful that the plan was right, from what came of it."""
    if episode.rounds or any(step.replaces is not None for step in plan.steps):
        return "it was mended after a step had failed"
    if any(call.is_undone for call in calls):
        return "it was taken back"
    if plan.unserved:
        return "a part of it was not served"
    is_done = episode.answer.status == "done" and all(result.status == "done" for result in episode.results)
    return "" if is_done else "it did not end well"


def _is_planned_otherwise(episode: Episode, plan: Plan, later: Iterable[Episode]) -> bool:
    again = next((e for e in later if words_of(e.request.text) == words_of(episode.request.text)), None)
    return again is not None and again.plan is not None and _nodes(again.plan) != _nodes(plan)


def judge(
    episode: Episode,
    calls: Sequence[CallRecord],
    tools: Mapping[str, ToolSpec],
    now: dt.datetime,
    settled_after: dt.timedelta,
    later: Iterable[Episode] = (),
) -> Verdict:
    """Decide on one finished request that the owner did not correct."""
    plan, verdict = episode.plan, partial(Verdict, episode.id)
    if fault := _barred(episode):
        return verdict("no", fault)
    if plan is None:
        return verdict("question", "it was not planned")
    if fault := _strange(plan, tools) or _suspected(episode, tools):
        return verdict("no", fault)
    if doubt := _doubt(episode, plan, calls):
        return verdict("question", doubt)
    if only_reads(plan, tools):
        return verdict("question", ONLY_READ)
    if _is_planned_otherwise(episode, plan, later):
        return verdict("question", "it was asked again and planned otherwise")
    if now - episode.request.now < settled_after:
        return verdict("waiting", "it may still be taken back or corrected")
    return verdict("teacher" if source_of(plan.planner) else "success", "it was done and stood")


def _strange(plan: Plan, tools: Mapping[str, ToolSpec]) -> str:
    """Return why a plan cannot be the owner's wish (a recipient that strangers name, a tool that is gone), or ""."""
    try:
        found = next(_from_strangers(plan, tools), None)
    except PlanError as error:
        return f"its plan no longer fits the tools: {error}"
    if found is None:
        return ""
    by = ", ".join(origins(PlannedStep(plan, found[0], tools), found[1]))
    return f"who gets what was taken from a stranger's text: {by}"


def _from_strangers(plan: Plan, tools: Mapping[str, ToolSpec]) -> Iterator[tuple[int, str, frozenset[str]]]:
    """Yield step, argument and strangers where they say where something goes. Raises: PlanError: It fits no tools."""
    for index, (step, label) in enumerate(zip(plan.steps, predict(plan, tools))):
        for name, of_argument in label.arguments.items():
            parameter = tools[step.tool].parameter(name)
            if parameter is not None and parameter.is_sink and (by := of_argument.sources & UNTRUSTED_SOURCES):
                yield index, name, by


def _suspected(episode: Episode, tools: Mapping[str, ToolSpec]) -> str:
    """Return a reason if text that reads like an instruction went into a changing or sending step; empty otherwise."""
    assert episode.plan is not None
    for result in episode.results:
        spec = tools.get(episode.plan.steps[result.step].tool)
        if INJECTION in result.label.sources and spec is not None and spec.effect != "none":
            return f"text that reads like an instruction went into {spec.name}"
    return ""


def _strange_sources(episode: Episode, tools: Mapping[str, ToolSpec]) -> frozenset[str]:
    """Return the strangers who had a hand in a plan that can still be made; none where that is not its fault."""
    assert episode.plan is not None
    if _suspected(episode, tools):
        return frozenset({INJECTION})
    try:
        return frozenset[str]().union(*(by for *_, by in _from_strangers(episode.plan, tools)))
    except PlanError:
        return frozenset()


def note(cursor: sqlite3.Cursor, episode: str, outcome: str) -> None:
    """Record that a request need not be looked at again; after `unanswered` it is, a few times."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    if outcome == UNANSWERED:
        rows = cursor.execute("SELECT outcome FROM looked_at WHERE episode = ?", (episode,)).fetchall()
        n = int(rows[0][0].rpartition(" ")[2]) + 1 if rows and rows[0][0].startswith(UNANSWERED) else 1
        outcome = f"{UNANSWERED} {n}" if n < _N_ATTEMPTS else "no"
    cursor.execute("INSERT OR REPLACE INTO looked_at (episode, outcome, at) VALUES (?, ?, ?)", (episode, outcome, at))


def _nodes(plan: Plan) -> object:
    return plan_to_json(plan)["task_nodes"]


def _said(episode: Episode) -> str:
    plan = json.dumps(plan_to_json(episode.plan), ensure_ascii=False) if episode.plan else ""
    return f"{episode.request.text}\n{plan}"


# ── Secrets ───────────────────────────────────────────────────────────────────────────────────────────────

_NAMED = re.compile(
    r"(?i)\b(?:pass ?words?|pass ?phrase|passwort|passcode|pin(?: code| number)?|tan|secret|api[ _-]?keys?|"
    r"access[ _-]?keys?|(?:access |auth |bearer )?tokens?|cvv|cvc|security code)\b\W{0,3}(?:is|was|=|:|to|ist)?\W{0,3}"
    r"(?=\S*\d|\S*[!@#$%^&*_~+=]\S)\S{3,}"
)
_KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\beyJ[\w-]{8,}\.[\w-]{8,}\.|\bAKIA[0-9A-Z]{12,}|"
    r"\b(?:sk|pk|ghp|gho|xox[abp])[-_][\w-]{12,}"
)
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_WORD = re.compile(r"[A-Za-z0-9+/_=-]{20,}")


def secret_in(text: str) -> str:
    """Name the kind of secret a text seems to hold; empty when none."""
    if _NAMED.search(text):
        return "a password or code"
    if _KEYS.search(text):
        return "a key"
    if any(_is_card(match[0]) for match in _CARD.finditer(text)):
        return "the number of a card"
    if any(_is_iban(match[0]) for match in _IBAN.finditer(text)):
        return "the number of an account"
    if any(_is_random(match[0]) for match in _WORD.finditer(text)):
        return "a key"
    return ""


def _is_card(text: str) -> bool:
    return is_luhn(text) and len({int(c) for c in text if c.isdecimal()}) > 1


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "")
    return 15 <= len(plain) <= 34 and is_iban(plain)


def _is_random(word: str) -> bool:
    """Say whether a word looks random: letters of both cases and digits, more evenly mixed than in any real word."""
    kinds = (any(c.islower() for c in word), any(c.isupper() for c in word), any(c.isdigit() for c in word))
    counts = Counter(word)
    bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts.values())
    return all(kinds) and bits > 3.8


# ── A correction ───────────────────────────────────────────────────────────────────────────────────────
# Learn the owner's corrections: they count from the next request on.
# A correction replaces what was learnt from the same request before. Covered: plans that cannot be run, requests that
# hold secrets, a process killed in the middle (the correction counts or does not). Not covered: undoing what the
# wrong plan did; `hearth undo` does that.


OWNER = "owner"


def correct(
    state: State, recall: RecallPlanner, episode: Episode, plan: Plan | None, tools: Mapping[str, ToolSpec]
) -> Entry:
    """Teach the plan that would have been right for a finished request.

    Args:
        plan: None when nothing should have been done.
    Returns:
        The demonstration.
    Raises:
        PlanError: The plan cannot be run; nothing was learnt.
        RequestError: It may not be learnt from; nothing was learnt.
        StoreError: Nothing was learnt.
    """
    if episode.request.is_pressed:
        raise RequestError(f"{episode.id!r} was the press of a button, not said in words; nothing was learnt from it")
    steps = check_plan(plan, tools) if plan is not None else Plan(())
    origin = Origin(f"{OWNER}:{episode.id}", OWNER, episode.id)
    entry = entry_from(episode.request, replace(steps, unserved=()), OWNER, origin, tools)
    if secret := secret_in(episode.request.text):
        raise RequestError(f"the request of {episode.id!r} holds what looks like {secret}; nothing was learnt from it")
    if plan is not None and (fault := why_not(entry, tools)):
        raise RequestError(f"{fault}; nothing was learnt")
    former = _former(state, episode, entry.id)
    with state.store.transaction() as cursor:
        rows.take_out(cursor, former, "replaced", f"the owner corrected {episode.id}")
        cursor.execute("UPDATE set_aside SET why='replaced' WHERE why='waiting' AND episode=?", (episode.id,))
        rows.keep(cursor, [entry], None)
        note(cursor, episode.id, "corrected")
        if episode.plan is not None:
            answer = steps if plan is not None else Refusal("out_of_scope", "nothing should have been done")
            made = comparison(episode.request, episode.plan, OWNER, answer, tools)
            note_agreement(cursor, replace(made, episode=episode.id))
    recall.remove(*former)
    recall.add([entry.demonstration])
    return entry


def learn_revision(state: State, recall: RecallPlanner, before: Episode, revised: Episode) -> bool:
    """Learn from a request that was done with other tools in place of the last one: "no, as a reminder".

    Other values for the same tools teach nothing: the owner has changed their mind, and was understood.

    Args:
        before: What was asked first; it teaches the plan of `revised`.
    Returns:
        Whether anything was learnt; nothing is where `correct` refuses.
    """
    if revised.plan is None or not revised.plan.steps or revised.answer.status != "done":
        return False
    if before.plan and {step.tool for step in before.plan.steps} == {step.tool for step in revised.plan.steps}:
        return False
    with suppress(HearthError):  # a secret in it, say
        correct(state, recall, before, revised.plan, state.tools)
        return True
    return False


def _former(state: State, episode: Episode, own: str) -> list[str]:
    """Return ids of demonstrations from this request or with its words, that are neither owner's nor shipped."""
    words = words_of(episode.request.text)
    found = []
    for row in state.store.query("SELECT id, request, episode, source FROM demonstration WHERE id <> ?", (own,)):
        is_same = row["episode"] == episode.id or words_of(row["request"]) == words
        if is_same and row["source"] not in ("shipped", OWNER):
            found.append(row["id"])
    return found


# ── Quarantine ─────────────────────────────────────────────────────────────────────────────────────────
# Quarantine demonstrations that a stranger may have had a hand in: kept apart, shown, and learnt only once released.
# They lie in `set_aside` under `quarantined`, apart from those that count or wait; no version, index or neighbour
# search ever sees them. Covered: release and dropping by the owner, after seeing the whole plan; forgetting finds
# them like any other. Not covered: an owner who releases without reading.


RELEASED = Label(frozenset({"owner"}), frozenset())
"""Label of a demonstration that its owner has read and released."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A demonstration in quarantine, with the reason."""

    entry: Entry
    reason: str


class Quarantine:
    """The quarantined demonstrations in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self) -> tuple[Quarantined, ...]:
        """Return everything in quarantine, oldest first."""
        rows = self._store.query("SELECT * FROM set_aside WHERE why='quarantined' ORDER BY number")
        return tuple(Quarantined(entry_of(row), row["reason"]) for row in rows)

    def one(self, id: str) -> Quarantined:
        """Return the demonstration of that id, the newest of several. Raises: NotFound."""
        found = [kept for kept in self.all() if kept.entry.id == id]
        if not found:
            raise NotFound(f"no demonstration {id!r} is in quarantine; `hearth learn quarantine` lists what is")
        return found[-1]

    def release(self, id: str, tools: Mapping[str, ToolSpec]) -> Entry:
        """Release one, on the owner's word: it waits for the next `hearth learn`.

        Raises:
            NotFound: It is not in quarantine. RequestError: It could not be learnt in any case; says why.
        """
        entry = replace(self.one(id).entry, label=RELEASED)
        if fault := why_not(entry, tools):
            raise RequestError(f"{fault}; it stays in quarantine, or drop it")
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM set_aside WHERE id=? AND why='quarantined'", (id,))
            hold(cursor, [entry], "waiting", "")
        return entry

    def drop(self, id: str) -> int:
        """Remove it for good; return how many there were of that id. Raises: NotFound."""
        self.one(id)
        with self._store.transaction() as cursor:
            n = cursor.execute("DELETE FROM set_aside WHERE id=? AND why='quarantined'", (id,)).rowcount
        self._store.erase_traces()
        return int(n)
