"""Carries labels into memory and out of it, whatever a tool says of them.

What is remembered in a call gets the label of the call's arguments; what a call was given from memory lends its result
the labels it was remembered with: words of a chat, a camera's sighting, lines of a file stay theirs.

Covered: events and facts. A memory so marked counts as no fact of the owner's until the owner says so, and never as an
example. A result that names what was found has the labels of these; one that names none of it, of all that was found.
Not covered: records a tool writes elsewhere (`guard.flow.provenance` remembers those).
"""

from __future__ import annotations

import datetime as dt
from functools import reduce

from hearth.guard.flow.provenance import records
from hearth.protocols import CallContext, HomeAnswer, Memory, MemoryHit, Recalled
from hearth.types import PUBLIC, Label, Plain


class MarkedMemory:
    """A memory for one call; satisfies `protocols.Memory`."""

    def __init__(self, memory: Memory, label: Label) -> None:
        """Wrap `memory`; `label` is that of everything the call was given."""
        self._memory = memory
        self._label = label
        self._answers = PUBLIC
        self._found: dict[str, Label] = {}

    def lent_to(self, result: Plain) -> frozenset[str]:
        """Return the sources that a result has from what the call was given from memory."""
        named = [self._found[name] for name, _ in records(result) if name in self._found]
        return reduce(Label.join, named or self._found.values(), self._answers).sources

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Do as the wrapped memory; where strangers wrote what the call was given, with its label joined to `label`."""
        whole = label.join(self._label) if self._label.strangers else label
        self._found[key] = whole
        return self._memory.remember(text, kind=kind, at=at, label=whole, key=key)

    def search(self, query: str, *, limit: int = 5, now: dt.datetime | None = None) -> tuple[MemoryHit, ...]:
        """Do as the wrapped memory."""
        hits = self._memory.search(query, limit=limit, now=now)
        self._found.update({hit.id: hit.label for hit in hits})
        return hits

    def answer(self, question: str, *, now: dt.datetime) -> Recalled:
        """Do as the wrapped memory."""
        said = self._memory.answer(question, now=now)
        self._answers = self._answers.join(said.label)
        return said

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Do as the wrapped memory."""
        found = self._memory.find_answer(question, call)
        self._answers = reduce(Label.join, (one.label for one in found.witnesses), self._answers)
        return found

    def forget(self, id: str) -> None:
        """Do as the wrapped memory. Raises: NotFound."""
        self._memory.forget(id)
