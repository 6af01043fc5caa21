"""Learn the owner's corrections: they count from the next request on.

A correction replaces what was learnt from the same request before. Covered: plans that cannot be run, requests that
hold secrets, a process killed in the middle (the correction counts or does not). Not covered: undoing what the wrong
plan did; `hearth undo` does that.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from hearth.errors import HearthError, RequestError
from hearth.formats.plan_validation import check_plan
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry, why_not
from hearth.learning.learned_state import State
from hearth.learning.teaching import harvest
from hearth.learning.teaching.harvest import secret_in
from hearth.learning.teaching.teacher import Origin, entry_from, words_of
from hearth.planning.deferral.agreement_log import comparison
from hearth.planning.deferral.agreement_log import note as note_agreement
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.types import Episode, Plan, Refusal, ToolSpec

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
        harvest.note(cursor, episode.id, "corrected")
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
