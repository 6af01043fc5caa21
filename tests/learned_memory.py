"""Explain each demonstration once per process: what is read of a lesson, and counted over lessons, is kept.

Homes that know the shipped demonstrations are opened by hundreds of tests. Reading 5,757 of them takes a tenth of a second,
counting how arguments are said in them another, hearing which phrases others use three, learning them over two seconds. All that is
kept here is a function of what is given to it, and nothing changes it afterwards; who reads something else is given
something else. Real processes, as `hearth` is, keep nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from hearth import agent
from hearth.planning import owner_macros
from hearth.planning.arguments import span_boundaries
from hearth.planning.arguments.alignment import Lesson
from hearth.planning.retrieval import episodic_index
from hearth.planning.retrieval.episodic_index import Likeness
from hearth.protocols import Encoder
from hearth.types import Demonstration

_explained, _general, _others = episodic_index._explained, span_boundaries._General, owner_macros.Others
_MANY = 100
"""Fewer demonstrations than that are a test's own."""


class _ByIdentity:
    """What was made of some objects, found by the very objects; the latest are kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: dict[tuple[int, ...], tuple[Sequence[object], Any]] = {}

    def get(self, given: Sequence[object]) -> Any:
        found = self._made.get(tuple(map(id, given)))
        return None if found is None else found[1]

    def keep(self, given: Sequence[object], made: Any) -> None:
        """Also hold what was given: no other object is at its place."""
        while len(self._made) >= self._most:
            del self._made[next(iter(self._made))]
        self._made[tuple(map(id, given))] = given, made


@contextmanager
def remembering() -> Iterator[None]:
    """Within, lessons are read, explained and counted once."""
    explained, counted = _ByIdentity(64), _ByIdentity(8)

    def explain(fresh: Sequence[Demonstration], likeness: Likeness, encoder: Encoder) -> Any:
        if len(fresh) < _MANY:
            return _explained(fresh, likeness, encoder)
        found = explained.get([*fresh, encoder])
        if found is None:
            explained.keep([*fresh, encoder], found := _explained(fresh, likeness, encoder))
        lessons, forms, plain, texts = found
        return dict(lessons), forms, plain, dict(texts)

    def count(lessons: Iterable[Lesson]) -> Any:
        given = list(lessons)
        if len(given) < _MANY:
            return _general(given)
        found = counted.get(given)
        if found is None:
            counted.keep(given, found := _general(given))
        return found

    @functools.lru_cache(8)
    def heard(texts: tuple[str, ...]) -> Any:
        return _others(texts)

    def hear(texts: Sequence[str]) -> Any:
        return heard(tuple(texts)) if len(texts) >= _MANY else _others(texts)

    with (
        mock.patch.object(owner_macros, "Others", hear),
        mock.patch.object(agent, "shipped_demonstrations", functools.cache(agent.shipped_demonstrations)),
        mock.patch.object(span_boundaries, "_General", count),
        mock.patch.multiple(
            episodic_index,
            _explained=explain,
            _lessons_in=functools.lru_cache(20_000)(episodic_index._lessons_in),
            _row_of=functools.lru_cache(20_000)(episodic_index._row_of),
        ),
    ):
        yield
