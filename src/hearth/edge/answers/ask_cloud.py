"""Provide the tool `ask_cloud`: a general question is asked of the cloud and joined with what this device knows.

It exists only where this home joined a cloud and the owner lets it answer (`[edge] answers`). Only the question leaves:
without what tells of health or conviction (`redaction.outgoing`), then masked as all that goes to the cloud, including
the names that facts hold. Facts, contacts and calendar are looked at on the device.

Covered: a question about the owner's own health (it stays here), a cloud that cannot be reached (what is known here is
said), pseudonyms in the answer (replaced by the real values), an answer with a pseudonym that nobody gave it (not
used).
Not covered: what a question tells by being asked; facts of taste that the owner's own question names.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from hearth.edge import enrolment
from hearth.edge.answers import personalise
from hearth.edge.answers.personalise import Eater, Private
from hearth.edge.answers.redaction import outgoing, stated
from hearth.errors import HearthError, LinkError, ToolError, UnknownStandInError
from hearth.formats import edge_protocol
from hearth.formats.tool_signature import FunctionTool, tool
from hearth.guard.egress.masking_door import MaskingDoor, Part, sending
from hearth.memory.facts.fact_store import ME, FactStore
from hearth.memory.facts.relations import KIN
from hearth.protocols import CallContext
from hearth.storage.open_home import Home
from hearth.tools.pim.calendar import find_events
from hearth.tools.pim.person_lookup import entities
from hearth.types import OWNER

ASK_CLOUD = "ask_cloud"
HEALTH = frozenset({"allergic to", "health", "diet", "avoids"})
"""Relations whose values never leave, in whatever form."""
_NAMES: Mapping[str, str] = {
    "lives in": "place",
    "from": "place",
    "works at": "organisation",
    "studies at": "organisation",
    "name": "person",
    "called": "person",
    "phone": "phone",
    "email": "email",
    "address": "address",
    "partner": "person",
    "spouse": "person",
}
"""Relations whose values are names, with the kind they are masked as."""
_SOON = re.compile(r"\b(?:tonight|now|quick\w*|today|this (?:morning|afternoon|evening)|before)\b", re.IGNORECASE)
MAX_QUESTION_CHARS = 4_000
_EVENING = dt.timedelta(hours=8)


@dataclass(frozen=True, slots=True)
class Rest:
    """A source an answer rests on, and what it says."""

    source: str
    text: str


@dataclass(frozen=True, slots=True)
class JoinedAnswer:
    """The cloud's answer, joined with what is known here."""

    text: str
    asked: str
    """The question as it was sent; empty when nothing left the device."""
    rests_on: list[Rest] = field(default_factory=list)
    """The sources of the answer's parts."""


def answering_tool(home: Home) -> FunctionTool | None:
    """Return the tool of a home that joined a cloud and lets it answer; None for any other home."""
    if not home.settings.edge.answers or enrolment.joined(home.store, home.path) is None:
        return None

    @tool(source="teacher", domain="knowledge", answer="{text}", answer_none="Nothing is known of that.", timeout_s=60)
    def ask_cloud(question: str, call: CallContext) -> JoinedAnswer:
        """Answer a question of general knowledge, or propose things: dishes, places, films, gifts.

        Args:
            question: The question, as it was said.
        """
        return answer(question, call, home)

    return ask_cloud


def answer(question: str, call: CallContext, at: Home) -> JoinedAnswer:
    """Ask the cloud and join its answer with local facts. Raises: ToolError: Nothing may leave, or nothing is known."""
    question = question[:MAX_QUESTION_CHARS]
    facts = [(fact.subject, fact.relation, fact.value) for fact in FactStore(at.store).believed()]
    facts += [fact for fact in stated(question) if fact not in facts]
    hidden = [value for _, relation, value in facts if relation in HEALTH]
    private = _private(question, facts, call)
    sent = outgoing(question, hidden)
    if not sent:
        reason = "the question itself tells of somebody's health or conviction, so it was not sent"
        return _local(reason, private, question)
    try:
        given, asked = _asked(sent, call, at)
    except LinkError as error:
        return _local(f"the cloud was not asked: {error}", private, question)
    fused = personalise.fuse(given, private, question)
    rests = [Rest("cloud", personalise.said_of_cloud(fused, given.teacher))]
    if mine := personalise.said_of_facts(fused):
        rests.append(Rest("your facts", mine))
    text = personalise.answer_text(fused) or "The cloud knows nothing of that."
    where = "; ".join([f"From the cloud{f' ({given.teacher})' if given.teacher else ''}", *([mine] if mine else [])])
    return JoinedAnswer(f"{text}\n{where}.", asked, rests)


def _asked(question: str, call: CallContext, at: Home) -> tuple[edge_protocol.AnswerGiven, str]:
    """Return the cloud's answer with the owner's own names put back, and the text sent. Raises: LinkError."""
    from hearth.edge.cloud_teacher import open_link  # needed by few requests

    link = open_link(at, call.egress)
    if link is None:
        raise LinkError("this home has left its cloud", code="closed")
    masked = _door(at).masked([Part(question, OWNER)])
    try:
        with link, sending(masked.values):
            given = link.answer(edge_protocol.AnswerAsked(id=secrets.token_hex(12), question=masked.text))
    except LinkError as error:
        # That nothing is known of it is an answer, too.
        enrolment.note_heard(at.store, call.now, "" if error.status == 404 else str(error))
        raise
    enrolment.note_heard(at.store, call.now)
    try:
        items = tuple(
            item.model_copy(
                update={
                    "name": masked.restore(item.name, link.host),
                    "text": masked.restore(item.text, link.host),
                    "tags": tuple(masked.restore(tag, link.host) for tag in item.tags),
                }
            )
            for item in given.items
        )
        text = masked.restore(given.text, link.host)
    except UnknownStandInError as error:
        raise LinkError(str(error), code="shape") from None
    return given.model_copy(update={"text": text, "items": items}), masked.text


def _door(at: Home) -> MaskingDoor:
    """Return the way out, which knows the names that facts hold beside those of contacts and calendar."""
    held = FactStore(at.store).believed()
    names = [(fact.subject, "person") for fact in held if fact.subject != ME]
    names += [(fact.value, _NAMES[fact.relation]) for fact in held if fact.relation in _NAMES]
    names += [(fact.value, "person") for fact in held if fact.relation in KIN.values()]
    return MaskingDoor.of_owner(at, names=names)


def _local(reason: str, private: Private, question: str) -> JoinedAnswer:
    """Answer from local facts where nothing was asked of the cloud. Raises: ToolError: Nothing is known here."""
    known = _known(private)
    if not known:
        raise ToolError(f"{reason}; nothing here answers {question.strip()[:100]!r} either")
    said = "; ".join(known)
    text = f"I can't propose anything now: {reason}. What is known here: {said}."
    return JoinedAnswer(text, "", [Rest("your facts", f"from your facts: {said}")])


def _known(private: Private) -> list[str]:
    return [line for who in private.eaters for line in _lines(who)] + (
        [f"you have {private.free_minutes} minutes before {private.until}"] if private.free_minutes is not None else []
    )


def _lines(who: Eater) -> list[str]:
    found = [f"{who.being} allergic to {one}" for one in who.allergies]
    found += [f"{who.being} {one}" for one in (*who.conditions, *who.diets)]
    found += [f"{who.does('avoid')} {one}" for one in who.avoids]
    found += [f"{who.does('like')} {one}" for one in who.likes]
    return found + [f"{who.does('dislike')} {one}" for one in who.dislikes]


# ── What is known here ────────────────────────────────────────────────────────────────────────────────────


def _private(question: str, facts: list[tuple[str, str, str]], call: CallContext) -> Private:
    people = [one for one in entities(call.workspace) if one.kind == "person"]
    names = [one.name for one in people]
    called = [one.name for one in people if any(_is_word(alias, question) for alias in one.aliases)]
    place = next((value for who, relation, value in facts if who == ME and relation == "lives in"), "")
    free_minutes, until = _free(question, call)
    return Private(
        personalise.eaters_for(" ".join((question, *called)), facts, names),
        place.split(",")[0].strip(),
        free_minutes,
        until,
    )


def _is_word(alias: str, question: str) -> bool:
    return re.search(rf"\b{re.escape(alias)}\b", question, re.IGNORECASE) is not None


def _free(question: str, call: CallContext) -> tuple[int | None, str]:
    """Return minutes until the next event, and its title; None and "" where the question is not about now."""
    if not _SOON.search(question):
        return None, ""
    try:
        coming = find_events(call, start=call.now, end=call.now + _EVENING)
    except HearthError:  # an answer without the calendar is still an answer
        return None, ""
    for event in coming:
        if event.start > call.now:
            return int((event.start - call.now).total_seconds() // 60), f"“{event.title}”"
    return None, ""
