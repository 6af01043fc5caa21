"""Adds the label of a call's arguments to everything remembered in that call, whatever label the tool gives.

Covered: events. A memory so marked counts as no fact of the owner's until the owner says so, and never as an example.
Not covered: records a tool writes elsewhere (`guard.flow.provenance` remembers those).
"""

from __future__ import annotations

import datetime as dt

from hearth.protocols import CallContext, HomeAnswer, Memory, MemoryHit, Recalled
from hearth.types import Label


class MarkedMemory:
    """A memory for one call; satisfies `protocols.Memory`."""

    def __init__(self, memory: Memory, label: Label) -> None:
        """Wrap `memory`; `label` is that of everything the call was given."""
        self._memory = memory
        self._label = label

    def remember(self, text: str, *, kind: str, at: dt.datetime, label: Label, key: str) -> str:
        """Do as the wrapped memory, with the call's label joined to `label`."""
        return self._memory.remember(text, kind=kind, at=at, label=label.join(self._label), key=key)

    def search(self, query: str, *, limit: int = 5, now: dt.datetime | None = None) -> tuple[MemoryHit, ...]:
        """Do as the wrapped memory."""
        return self._memory.search(query, limit=limit, now=now)

    def answer(self, question: str, *, now: dt.datetime) -> Recalled:
        """Do as the wrapped memory."""
        return self._memory.answer(question, now=now)

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Do as the wrapped memory."""
        return self._memory.find_answer(question, call)

    def forget(self, id: str) -> None:
        """Do as the wrapped memory. Raises: NotFound."""
        self._memory.forget(id)
