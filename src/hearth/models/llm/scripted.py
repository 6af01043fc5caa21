"""Provide a language model with prepared replies; it is deterministic, needs no files and understands nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hearth.errors import PlannerError


class ScriptedModel:
    """Gives its replies one after the other; satisfies `protocols.LanguageModel`."""

    name = "scripted"

    def __init__(self, replies: Sequence[str | Exception]) -> None:
        """Prepare the replies: texts to answer with; an exception among them is raised in its turn."""
        self._replies = list(replies)
        self.asked: list[tuple[tuple[Mapping[str, str], ...], Mapping[str, object] | None]] = []
        """Calls so far: messages and schema of each."""

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Return the next reply.

        Raises:
            PlannerError: All replies were given.
        """
        self.asked.append((tuple(dict(message) for message in messages), schema))
        if len(self.asked) > len(self._replies):
            raise PlannerError(f"the scripted model has {len(self._replies)} replies and was asked once more; add one")
        reply = self._replies[len(self.asked) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    def sample(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None, n: int = 1
    ) -> tuple[str, ...]:
        """Return the next `n` replies, fewer when there are no more; satisfies `protocols.SamplingModel`.

        Raises:
            PlannerError: All replies were given.
        """
        left = max(1, min(n, len(self._replies) - len(self.asked)))
        return tuple(self.complete(messages, schema) for _ in range(left))
