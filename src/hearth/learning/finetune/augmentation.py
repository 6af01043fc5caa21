"""Make synthetic requests from those that were taught, so that training meets new combinations of tools: text, by seed.

Three ways: two requests joined, a request with a foreign step said before or after it, and a request put together from
the texts of steps, along taught links or with a step cut, spliced or added. Steps without a text are skipped, so
demonstrations without texts of steps are only joined.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_PREFIX = re.compile(r"^step \d+[:.]? *(call \S+ *(to )?)?", re.IGNORECASE)
_OPENINGS = ("Please ", "I need to ", "Please help me ", "I want to ", "Could you ", "", "I would like to ", "Help me ")
_LINKS = (
    " and then ",
    ", and also ",
    ", then ",
    " and ",
    ", and ",
    "; also ",
    ". Also, ",
    ". Then ",
    ". After that, ",
    ", and finally ",
)
_BREAKS = (". ", ". Also, ", ". Then ", "; and ", ". In addition, ")
_FIRST_BREAKS = (". Then ", ". Also, ", ". After that, ", ", and then ")
_MOST_STEPS = 5
_LEAST_CHARACTERS = 8
_N_TRIES = 30
"""Tries for each request wanted; after that, fewer are made (too few texts, or all of one tool)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A request with its tools in order and the text of each step ("" where there is none)."""

    request: str
    tools: tuple[str, ...]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of the ways in which requests are made."""

    joined: float = 0.2
    with_foreign_step: float = 0.3
    from_steps: float = 0.5


def step_text(text: str) -> str:
    """Return a step's text without its number and tool."""
    return _PREFIX.sub("", text).strip().rstrip(".")


class Synthesis:
    """Makes requests from texts. The same texts and seed give the same requests."""

    def __init__(self, texts: Sequence[Text], seed: int, shares: Shares | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311  nothing secret
        self._shares = shares or Shares()
        self._texts = [text for text in texts if text.tools]
        self._said = [(t.tools, tuple(map(step_text, t.steps))) for t in self._texts if len(t.steps) == len(t.tools)]
        self._steps: list[tuple[str, str]] = []
        self._of_tool: dict[str, list[str]] = defaultdict(list)
        self._after: dict[str, list[str]] = defaultdict(list)
        for tools, steps in self._said:
            for tool, step in zip(tools, steps):
                if len(step) > _LEAST_CHARACTERS:
                    self._steps.append((tool, step))
                    self._of_tool[tool].append(step)
            for before, after in pairwise(tools):
                self._after[before].append(after)

    def make(self, n: int) -> list[Text]:
        """Make `n` requests, fewer where the texts do not give so many."""
        ways = [(self._joined, self._shares.joined if len(self._texts) > 1 else 0.0)]
        if self._steps:
            ways.append((self._with_foreign_step, self._shares.with_foreign_step))
            ways.append((self._from_steps, self._shares.from_steps))
        makers, weights = [way for way, _ in ways], [share for _, share in ways]
        made: list[Text] = []
        if not sum(weights):
            return made
        for _ in range(_N_TRIES * n):
            if len(made) == n:
                break
            text = self._random.choices(makers, weights)[0]()
            if text is not None:
                made.append(text)
        return made

    def _joined(self) -> Text | None:
        first, second = self._random.sample(self._texts, 2)
        if set(first.tools) & set(second.tools) or len(first.tools) + len(second.tools) > _MOST_STEPS + 1:
            return None
        request = first.request.rstrip(". ") + self._random.choice(_BREAKS) + _inside(second.request)
        return Text(request, first.tools + second.tools)

    def _with_foreign_step(self) -> Text | None:
        text = self._random.choice(self._texts)
        tool, step = self._random.choice(self._steps)
        if tool in text.tools or len(text.tools) >= _MOST_STEPS:
            return None
        if self._random.random() < 0.7:
            request = text.request.rstrip(". ") + self._random.choice(_LINKS) + _inside(step) + "."
            return Text(request, (*text.tools, tool))
        opening, link = self._random.choice(_OPENINGS[:4]), self._random.choice(_FIRST_BREAKS)
        return Text(opening + _inside(step) + link + _inside(text.request), (tool, *text.tools))

    def _from_steps(self) -> Text | None:
        tools, steps = (list(part) for part in self._random.choice(self._said))
        way = self._random.random()
        if way < 0.35:
            self._go_on(tools, steps)
        elif way > 0.7:
            place = self._random.randrange(len(tools))
            if len(tools) > 2 and self._random.random() < 0.5:
                del tools[place], steps[place]
            else:
                tool, step = self._random.choice(self._steps)
                if tool not in tools:
                    tools.insert(place, tool)
                    steps.insert(place, step)
        if len(tools) > _MOST_STEPS or any(len(step) < _LEAST_CHARACTERS / 2 for step in steps):
            return None
        request = self._random.choice(_OPENINGS) + _inside(steps[0])
        for step in steps[1:]:
            request += self._random.choice(_LINKS) + _inside(step)
        return Text(request[:1].upper() + request[1:] + ".", tuple(tools))

    def _go_on(self, tools: list[str], steps: list[str]) -> None:
        """Cut somewhere and continue with one or two other steps, mostly along links that were taught."""
        end = self._random.randrange(1, len(tools) + 1)
        del tools[end:], steps[end:]
        for _ in range(self._random.choice((1, 1, 2))):
            known = [tool for tool in self._after[tools[-1]] if tool not in tools and self._of_tool[tool]]
            if known and self._random.random() < 0.6:
                tool = self._random.choice(known)
                step = self._random.choice(self._of_tool[tool])
            else:
                tool, step = self._random.choice(self._steps)
                if tool in tools:
                    return
            tools.append(tool)
            steps.append(step)


def _inside(text: str) -> str:
    """Return text as it is written inside a sentence."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
