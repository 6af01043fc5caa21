"""What the owner asked to be remembered, kept until it is forgotten; found as what is held true, then what was said.

Taking back a `remember` forgets the item for good. What is remembered already is not stored again: an answer that was
looked up never becomes a second memory. Not covered: changing what is remembered, and where a text came from before it
was remembered: what is found counts as a stranger's words.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NewType

from hearth.errors import NotFound, ToolError
from hearth.functions import tool
from hearth.protocols import CallContext
from hearth.tools.contentlines import checked_text
from hearth.types import Label, Plain

MemoryId = NewType("MemoryId", str)

KEPT = Label(frozenset({"device"}), frozenset())
"""Records on this device, for nobody else."""
REMEMBERED = "remembered"
N_MAX_CHARACTERS = 10_000
N_MAX_HITS = 5


@dataclass(frozen=True, slots=True)
class MemoryItem:
    id: MemoryId
    text: str
    at: dt.datetime
    """When it was said."""


def _forget(arguments: Mapping[str, object], result: Plain, call: CallContext) -> None:  # noqa: ARG001 - the seam's
    if isinstance(result, dict) and result.get("id") == call.key:  # else it was there before
        try:
            call.memory.forget(str(result["id"]))
        except NotFound:
            return  # taken back already: the aim is reached


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


@tool(unconfirmed="memory", answer="{text} ({at}).", answer_none="I remember nothing about that.")
def search_memory(query: str, call: CallContext) -> list[MemoryItem]:
    """Look up what the owner asked to be remembered, and earlier conversations.

    Args:
        query: Words of what is looked for, e.g. "locker" or "Lotte's allergies".
    Examples:
        what do you remember about the boiler
        where did I say I parked
        have I told you my shirt size
    """
    words = checked_text(query, "query", N_MAX_CHARACTERS)
    if not words:
        raise ToolError("the query is empty; say what to look for in memory, e.g. 'locker'")
    hits = call.memory.search(words, limit=N_MAX_HITS, now=call.now)
    return [MemoryItem(MemoryId(hit.id), hit.text, hit.at) for hit in hits]


TOOLS = (remember, search_memory)
