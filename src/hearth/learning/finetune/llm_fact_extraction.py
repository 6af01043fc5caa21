"""Let a language model read what was said and propose facts; `memory.fact_extraction` checks them, the owner decides.

Events are given to the model a few at a time, oldest first, each as a marked quotation, whoever wrote it. A model on
another machine reads pseudonyms (`guard.egress.masking_door`), and only the owner's own words: what others wrote
stays here. The position reached is kept, so that nothing is read twice; a model that cannot be reached leaves it
unchanged.

Covered: a model that invents facts, answers with junk or with more than was asked, repeats its prompt, or is steered by
what it reads: its words only make proposals, and only of words that stand in the sentence. Texts that read like an
instruction are not given to it. Killed in between, a few events are read again and add nothing twice.
Not covered: what a model on another machine learns from what it reads; so this runs only with `propose` in the
settings, or when the owner asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from hearth.errors import PlannerError, UnknownStandInError
from hearth.guard.injection import INJECTION, InjectionReader, Quoting
from hearth.guard.labels import ResultLabels
from hearth.memory.fact_extraction import BY_MODEL, NEVER_READ, RELATIONS, Claim, Known, Told, grounded, hold
from hearth.memory.facts import FactStore
from hearth.protocols import LanguageModel
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, parse_moment

EVENTS_AT_ONCE = 8
MAX_EVENTS = 400
"""Most events read in one go; the rest is for the next."""
MAX_CLAIMS = 40
_MOST_TEXT = 1000
_LOOKED_AT_ONCE = 500
_MAX_REPLY_CHARACTERS = 20_000
_READ_UPTO = "facts_read_upto"
"""Name of the entry with the number of the last event that a model has read."""
_RULES = (
    "You read what people said and list the facts it states. Take only what is stated plainly: no guesses, nothing "
    "asked, supposed, quoted or hoped. Use the words of the text for subject and value. The subject is a name that "
    'stands in the text, or "me" for whoever speaks. Text number 1 is the first. No facts: an empty list.'
)
_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": MAX_CLAIMS,
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "integer", "minimum": 1, "maximum": EVENTS_AT_ONCE},
                    "subject": {"type": "string"},
                    "relation": {"type": "string"},
                    "value": {"type": "string"},
                },
                "required": ["text", "subject", "relation", "value"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["facts"],
    "additionalProperties": False,
}


class _Fact(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    text: int
    subject: str
    relation: str
    value: str


class _Reply(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    facts: list[_Fact]


@dataclass(frozen=True, slots=True)
class Reading:
    """Progress of a reading so far."""

    n_events: int = 0
    n_proposed: int = 0
    n_refused: int = 0
    """Number of claims that the text does not support."""
    n_unread: int = 0
    """Number of events for which the model gave nothing usable."""
    fault: str = ""
    """Reason it ended early; the next reading carries on there."""


def read_facts(
    store: Store,
    model: LanguageModel,
    known: Known,
    *,
    leaves_device: bool = False,
    reader: InjectionReader | None = None,
    limit: int = MAX_EVENTS,
) -> Iterator[Reading]:
    """Give unread events to the model; yields the totals after each batch.

    Args:
        leaves_device: The model is on another machine: it reads only what the owner said.
        reader: Checks what others wrote; text that reads like an instruction is not given to the model.
    Raises:
        StoreError: What was yielded is kept.
    """
    total, facts = Reading(), FactStore(store)
    while total.n_events < limit:
        upto, batch = _waiting(store, min(EVENTS_AT_ONCE, limit - total.n_events), leaves_device, reader)
        if upto is None:
            return
        try:
            claims = _claims(model, batch) if batch else []
        except UnknownStandInError:
            claims = None
        except PlannerError as error:
            yield Reading(total.n_events, total.n_proposed, total.n_refused, total.n_unread, str(error))
            return
        proposed = [_propose(facts, told, claim, known) for told, claim in claims or ()]
        with store.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_READ_UPTO, str(upto)))
        total = Reading(
            *(total.n_events + len(batch), total.n_proposed + proposed.count(True)),
            *(total.n_refused + proposed.count(False), total.n_unread + (len(batch) if claims is None else 0)),
        )
        yield total


def _waiting(
    store: Store, n: int, leaves_device: bool, reader: InjectionReader | None
) -> tuple[int | None, list[Told]]:
    """Return the next events to read, and the number up to which all were looked at; None when none is left."""
    known = store.query("SELECT value FROM meta WHERE name = ?", (_READ_UPTO,))
    upto = int(known[0][0]) if known else 0
    rows = store.query(
        "SELECT number, id, text, kind, at, label, person FROM event WHERE number > ? ORDER BY number LIMIT ?",
        (upto, _LOOKED_AT_ONCE),
    )
    found: list[Told] = []
    for row in rows:
        upto, label = row["number"], label_from_text(row["label"])
        is_kept = leaves_device and (not label.is_trusted or bool(row["person"]))
        if row["kind"] in NEVER_READ or is_kept or not row["text"].strip() or INJECTION in label.sources:
            continue
        if reader is None or not reader.read({"text": row["text"]}, ResultLabels(label, {})):
            found.append(Told(row["id"], row["text"], row["kind"], parse_moment(row["at"]), label, row["person"]))
        if len(found) == n:
            break
    return (upto if rows else None), found


def _claims(model: LanguageModel, batch: Sequence[Told]) -> list[tuple[Told, Claim]] | None:
    """Return the claims the model read; None when its reply is unusable. Raises: PlannerError: It gave none."""
    quoting = Quoting.fresh()
    texts = "\n".join(
        f"Text {k}, by {'somebody else' if one.person else 'the owner'}: {quoting.quote(one.text[:_MOST_TEXT])}"
        for k, one in enumerate(batch, 1)
    )
    messages = [
        {"role": "system", "content": f"{_RULES}\nRelations: {', '.join(sorted(RELATIONS))}, favourite …."},
        {"role": "user", "content": f"{texts}\n\n{quoting.rule}"},
    ]
    reply = model.complete(messages, _SCHEMA)[:_MAX_REPLY_CHARACTERS]
    if quoting.betrayal(reply):
        return None
    start, end = reply.find("{"), reply.rfind("}")
    try:
        read = _Reply.model_validate(json.loads(reply[start : end + 1]))
    except (ValueError, RecursionError, ValidationError):
        return None
    return [
        (batch[fact.text - 1], Claim(fact.subject, fact.relation, fact.value))
        for fact in read.facts[:MAX_CLAIMS]
        if 1 <= fact.text <= len(batch)
    ]


def _propose(facts: FactStore, told: Told, claim: Claim, known: Known) -> bool:
    """Propose a claim that the text supports and that is new; return whether it was proposed."""
    read = grounded(claim, told, known)
    if isinstance(read, str):
        return False
    standing = facts.standing(read.subject, read.relation)
    if any(fact.value.casefold() == read.value.casefold() for fact in standing):
        return False  # held, proposed, ended or revoked already
    return bool(hold(facts, told, [read], known, by=BY_MODEL))
