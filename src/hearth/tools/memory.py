"""Tools to remember what the owner asks for, and to answer questions about it, with who said it and when, or with "I
don't know".

Undoing a `remember` forgets the item permanently. An item already remembered is not stored again: an answer that was
looked up never becomes a second memory. Not covered: changing an item, and the origin of a text before it was
remembered: what is found counts as a stranger's words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NewType

from hearth.errors import NotFound, ToolError
from hearth.formats.content_lines import checked_text
from hearth.formats.terminal_text import short
from hearth.formats.tool_signature import tool
from hearth.protocols import CallContext, HomeAnswer, MemoryHit, Witness
from hearth.tools.mail.mailbox import look_at, place_of
from hearth.types import Label, Plain, Whence

MemoryId = NewType("MemoryId", str)

KEPT = Label(frozenset({"device"}), frozenset())
"""Label of records on this device that nobody else may read."""
REMEMBERED = "remembered"
N_MAX_CHARACTERS = 10_000
N_MAX_HITS = 5
N_MAX_QUOTED = 200
_ITEM_MARKS = " -*•·"
N_MAX_NAME = 40
N_WAITING_NAMED = 3
"""Most of what waits for an import that is named."""


@dataclass(frozen=True, slots=True)
class MemoryItem:
    id: MemoryId
    text: str
    """Text that was said; for a question, its answer."""
    at: dt.datetime | None
    """Time when it was said; none where that is not known."""
    person: str = "you"
    """Person who said it."""
    quote: str = ""
    """Words that an answer rests on; empty: `text` itself."""


def _forget(arguments: Mapping[str, object], result: Plain, call: CallContext) -> None:  # noqa: ARG001 - the seam's
    if isinstance(result, dict) and result.get("id") == call.key:  # otherwise it was there before
        try:
            call.memory.forget(str(result["id"]))
        except NotFound:
            return  # already forgotten: nothing left to undo


@tool(effect="change", answer="I'll remember: {text}.", undo=_forget)
def remember(text: str, call: CallContext) -> MemoryItem:
    """Keep something in mind for the owner: a fact, a preference, where something is.

    Args:
        text: What to remember, as a sentence that can be understood later.
    Examples:
        remember that my locker number is 48
        keep in mind that Lotte is allergic to hazelnuts
        don't forget: my shoe size is 39
    """
    clean = checked_text(text, "text to remember", N_MAX_CHARACTERS)
    if not clean:
        raise ToolError("there is nothing to remember; say what, e.g. 'the fuse box is behind the coats'")
    clean = clean.rstrip(".")
    for hit in call.memory.search(clean, limit=N_MAX_HITS):
        if hit.text == clean and hit.kind in (REMEMBERED, "fact"):
            return MemoryItem(MemoryId(hit.id), hit.text, hit.at)
    id = call.memory.remember(clean, kind=REMEMBERED, at=call.now, label=KEPT, key=call.key)
    return MemoryItem(MemoryId(id), clean, call.now)


@tool(
    unconfirmed="memory",
    answer="{text} ({person}[: “{quote}”][, {at}]).",
    answer_none="I don't know: nothing I remember says that.",
)
def search_memory(query: str, call: CallContext) -> list[MemoryItem]:
    """Look up what the owner told, asked to be remembered or said earlier, about himself, his people and his things.

    Args:
        query: Words of what is looked for, e.g. "locker" or "Lotte's allergies".
    Examples:
        what do you remember about the boiler
        where did I say I parked
        have I told you my shirt size
        what is my locker number
        what is Lotte allergic to
        when did I last see the dentist
    """
    words = checked_text(query, "query", N_MAX_CHARACTERS)
    if not words:
        raise ToolError("the query is empty; say what to look for in memory, e.g. 'locker'")
    # A query is a piece of the question: "the dentist" does not tell that the last time is asked for.
    asked = call.words if words.casefold() in call.words.casefold() else words
    said = call.memory.answer(asked[:N_MAX_CHARACTERS], now=call.now)
    if said.kind == "unknown":
        found = _found_at_home(asked[:N_MAX_CHARACTERS], call)
        if found is None:
            return []
        said_so = f"perhaps: {found.value}" if found.doubt else found.value
        return [MemoryItem(MemoryId(found.id), said_so, None, found.source, found.quote)]
    if said.kind == "listed":
        return [
            _item(hit, _capital(hit.text) if hit.kind == "fact" else hit.text) for hit in said.evidence[:N_MAX_HITS]
        ]
    first = said.evidence[0]
    if said.kind == "fact" and len(said.evidence) > 1:
        return [_item(said.evidence[1], _capital(said.text), first.id)]
    return [_item(first, _capital(said.text) if said.kind == "fact" else said.text)]


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    id: MemoryId
    value: str
    """The answer alone: words, a number, an amount with its currency, a date, yes or no."""
    kind: str
    """`text`, `number`, `amount`, `date`, `yesno` or `list`."""
    source: str
    """The place where it stands: which mail, note, document, card or event."""
    quote: str
    """Words that the answer rests on."""
    doubt: str
    """Said before an answer that may well be wrong; else empty."""
    elsewhere: str
    """What other places say instead, the newest first; else empty."""
    rests_on: list[dict[str, str]]
    """The first places that were used, with their words; of an answer that was counted, the rows."""
    behind: str
    """What is said behind the answer: source and quote in parentheses, or below a list the source alone."""
    is_named: bool
    """True if the place where it stands names what was asked about."""
    at: dt.datetime | None
    """The date that it names, with its time if one is said; midnight else."""


@tool(
    unconfirmed="memory",
    answer="[{doubt} ]{value}{behind}.[ Elsewhere: {elsewhere}.]",
    answer_none="I don't know: I found nothing in your things that says so.",
    timeout_s=60,
)
def find_answer(question: str, call: CallContext) -> FoundAnswer | None:
    """Answer a question from everything the owner has: mails, notes, documents, events, cards, what was remembered.

    Args:
        question: The whole question in the owner's words.
    """
    words = checked_text(question, "question", N_MAX_CHARACTERS)
    if not words:
        raise ToolError("the question is empty; say what to find out, e.g. 'how much is the electricity bill'")
    return _found_at_home(words, call)


def _found_at_home(question: str, call: CallContext) -> FoundAnswer | None:
    """Find the answer, and note who may have written each record that it rests on."""
    found = call.memory.find_answer(question, call)
    if found.kind == "unknown":
        call.notices.append(f"I looked through {found.looked}{_near(found.nearest)}")
        call.notices.extend(_said_of_waiting(found.waiting))
        return None
    call.notices.extend(_said_of_rows(found))
    rows = [{"source": one.where, "text": _shortened(one.quote)} for one in found.witnesses[:N_SHOWN]]
    first = found.witnesses[0] if found.witnesses else None
    id = first.record if first is not None else call.key
    _note_writers(found.witnesses, id, call)
    source = first.where if first is not None else "your things"
    elsewhere = "; ".join(f"{one.value} ({_dated(one)})" for one in found.witnesses if one.value)
    if len(found.witnesses) > 1 and not elsewhere:
        source += f" and {len(found.witnesses) - 1} more"
    quote, doubt = (_shortened(first.quote) if first else ""), (NOT_SURE if found.chance < LEAST_SURE else "")
    is_list = "\n" in found.value
    # The same words are not said twice, be they cut short or without their full stop.
    is_quoted = bool(quote) and not found.value.rstrip(".").endswith(quote.lstrip(_ITEM_MARKS).rstrip("."))
    is_quoted = is_quoted and not (quote.endswith("…") and found.value.startswith(quote.rstrip("…")))
    behind = f"\nFrom {source}" if is_list else f" ({source}: “{quote}”)" if is_quoted else f" ({source})"
    behind = "" if found.value.startswith(NOTHING_THERE) else behind  # no one place says so
    about = (source, quote, doubt, elsewhere, rows, behind, found.is_named, found.at)
    return FoundAnswer(MemoryId(id), found.value, found.kind, *about)


def _note_writers(witnesses: Iterable[Witness], id: str, call: CallContext) -> None:
    """Note who may have written what the answer called `id` rests on: of several sources the least trusted."""
    sources = set()
    for one in witnesses:
        is_made = one.kind in _MADE_HERE and one.source == "file"
        if is_made:
            call.rests_on.update({(_MADE_HERE[one.kind], name): "file" for name in _named(one)})
        if not is_made or one.kind == "note":  # a note is easily written on elsewhere, and stays a file's, too
            sources.add(one.source)
        if one.source == "message":
            call.whence.append(_whence_of(one, id, call))
    call.origins[id] = next((source for source in _LEAST_TRUSTED if source in sources), "device")


def _named(one: Witness) -> tuple[str, ...]:
    """Return what its tool calls a record: a note that is a list, by the list's name."""
    return (one.record, one.record.rpartition("/")[2].replace("-", " ")) if one.kind == "note" else (one.record,)


def _said_of_rows(found: HomeAnswer) -> Iterator[str]:
    """Say how much of what was reckoned with strangers wrote, and what of theirs was not counted."""
    n, n_strangers = len(found.witnesses), sum(one.is_strangers for one in found.witnesses)
    if found.is_reckoned and n > 1 and n_strangers:
        were = "was" if n_strangers == 1 else "were"
        which = "All of this was" if n_strangers == n else f"{n_strangers} of the {n} places this comes from {were}"
        yield f"{which} written by senders who are not in your contacts"
    for place in dict.fromkeys(found.left_out):
        yield f"I did not count {place}: it reads like an instruction"


def _said_of_waiting(names: Sequence[str]) -> Iterator[str]:
    """Say that the answer may stand in what is not read before the owner imports it."""
    if not names:
        return
    wait = "1 thing waits" if len(names) == 1 else f"{len(names)} things wait"
    named = ", ".join(short(name, N_MAX_NAME) for name in names[:N_WAITING_NAMED])
    more = ", …" if len(names) > N_WAITING_NAMED else ""
    yield f"{wait} to be brought in ({named}{more}): say `hearth import PATH` (see `hearth doctor`)"


def _whence_of(one: Witness, id: str, call: CallContext) -> Whence:
    """Name a stranger's record by what cannot be forged as easily as a name: a mail by its sender's address."""
    try:
        seen = look_at(place_of(one.record, call.workspace), call)
    except ToolError:  # an invitation, or a mail that is gone meanwhile
        return Whence("message", id, "record", one.where, "", one.at)
    received = seen.received.astimezone(call.now.tzinfo)
    return Whence("message", id, "mail", seen.head.subject, seen.head.sender, received)


def _dated(one: Witness) -> str:
    """Write a place with its date."""
    day = f"{one.at:%A} {one.at.day} {one.at:%B} {one.at.year}" if one.at is not None else ""
    return one.where if not day or day in one.where else f"{one.where}, {day}"


N_SHOWN = 12
"""Most places, or rows, that an answer shows. It rests on all that were counted, and is labelled by all of them."""
NOTHING_THERE = "No: nothing"
"""How an answer begins that rests on none of the records it was looked for in."""
NOT_SURE = "I am not sure, perhaps:"
LEAST_SURE = 0.65
"""Least probability of an answer that is told without doubt."""
DOUBTED = 0.6
"""The probability of an answer that is likely, and still told with doubt: not all that was asked is said, say."""
_MADE_HERE = {"event": "calendar", "reminder": "reminders", "note": "notes"}
"""Domain of the tools that make records of a kind."""
_LEAST_TRUSTED = ("message", "web", "file", "memory")
"""Sources of witnesses, the least trusted first: the answer counts as the least trusted one's."""


def _item(hit: MemoryHit, text: str, id: str = "") -> MemoryItem:
    is_same = " ".join(text.split()).strip(". ").casefold() == " ".join(hit.text.split()).strip(". ").casefold()
    quote = "" if is_same else hit.text
    return MemoryItem(MemoryId(id or hit.id), text.rstrip(" ."), hit.at, hit.speaker, _shortened(quote))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _near(places: Sequence[Witness]) -> str:
    """Say which places come nearest to an answer, with their words where they are quoted, each on a line of its own."""
    said = [f"{one.where}: “{_shortened(one.quote)}”" if one.quote else one.where for one in places]
    if len(said) < 2:
        return "".join(f"; nearest comes {one}" for one in said)
    return "".join(("; nearest come", *(f"\n  · {one}" for one in said)))


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= N_MAX_QUOTED else f"{text[: N_MAX_QUOTED - 1].rstrip()}…"


TOOLS = (remember, search_memory, find_answer)
