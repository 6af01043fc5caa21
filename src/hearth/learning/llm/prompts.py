"""Build training samples for a language student: demonstrations as prompt and line, in batches, varied each epoch."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from hearth.models.llm.huggingface import prompt_tokens, reads_tools
from hearth.planning.llm.line_planner import N_TOOLS, plan_line, plan_messages
from hearth.types import Demonstration, Plan, Step, ToolSpec

LEAST_REPLAYED = 32
"""Least replayed: a single new demonstration must not dominate the training."""
_STEP_PREFIX = re.compile(r"^\s*(?:step\s*\d+\s*[:.)]?\s*)?(?:call\s+)?", re.IGNORECASE)
_JOINTS = (", then ", " and then ", ". After that, ", ", and ", "; ", ". Also ", ". ")


@dataclass(frozen=True, slots=True)
class LanguageOptions:
    """Options of learning. The defaults suit LoRA on a model that already speaks."""

    method: Literal["lora", "full"] = "lora"
    """`full` changes all weights: for small models trained from scratch."""
    n_epochs: float = 3.0
    lr: float = 2e-4
    rank: int = 16
    batch: int = 16
    weight_decay: float = 0.01
    warm_up: float = 0.05
    """Share of all updates."""
    smoothing: float = 0.0
    request_loss: float = 0.0
    """Weight of predicting the request's own words, beside the plan's."""
    word_dropout: float = 0.0
    """Share of the request's words left out, drawn anew each epoch."""
    step_texts: float = 0.0
    """Extra samples per epoch, as a share of the demonstrations, made of the steps' own texts."""
    replay: float = 1.0
    """Earlier demonstrations per new one, drawn anew each epoch; at least `LEAST_REPLAYED`, where there are so many."""
    tool_tokens: bool = False
    """Give each tool's name a token of its own; else names are written in pieces."""
    n_offered: int = N_TOOLS
    """Number of tools described to the model, including those the plan uses."""
    max_tokens: int = 1024
    """Most tokens of prompt and plan together; longer samples are left out."""


class Samples:
    """Demonstrations as tokens, with variants drawn anew each epoch."""

    def __init__(
        self,
        tokenizer: Any,
        tools: Mapping[str, ToolSpec],
        options: LanguageOptions,
        drawn: random.Random,
        own: frozenset[str] = frozenset(),
    ) -> None:
        """Prepare the samples. `own`: ids of the demonstrations taught to the adapter that is gone on from."""
        self._own = own
        self._tokenizer = tokenizer
        self._tools = tools
        self.options = options
        self.drawn = drawn
        self._reads_tools = reads_tools(tokenizer)

    def _prompt(self, request: str, offered: Sequence[str]) -> list[int]:
        return prompt_tokens(self._tokenizer, plan_messages(request, {name: self._tools[name] for name in offered}))

    def tokens(self, demonstration: Demonstration, drop: float = 0.0) -> tuple[list[int], list[int]] | None:
        """Return prompt and plan; None when they are too long together."""
        request = demonstration.request
        if drop:
            words = request.split(" ")
            request = " ".join(word for word in words if self.drawn.random() >= drop) or request
        prompt = self._prompt(request, self._offered(demonstration))
        line = self._tokenizer.encode(plan_line(demonstration.plan), add_special_tokens=False)
        line.append(self._tokenizer.eos_token_id)
        return None if len(prompt) + len(line) > self.options.max_tokens else (prompt, line)

    def _offered(self, demonstration: Demonstration) -> list[str]:
        if not self._reads_tools:
            return []
        used = [step.tool for step in demonstration.plan.steps]
        others = [name for name in demonstration.tools or self._tools if name in self._tools and name not in used]
        n = max(0, self.options.n_offered - len(set(used)))
        offered = [*dict.fromkeys(used), *self.drawn.sample(others, min(n, len(others)))]
        self.drawn.shuffle(offered)
        return offered

    def epoch(
        self, new: Sequence[Demonstration], old: Sequence[Demonstration]
    ) -> Iterator[list[tuple[list[int], list[int]]]]:
        """Yield the batches of one epoch: all new, some old, variants; samples of similar length together."""
        options = self.options
        chosen = [*new, *self._replayed(old, self._n_old(new, old))]
        for d in self.drawn.choices(chosen, k=round(options.step_texts * len(chosen))) if options.step_texts else []:
            chosen.append(self._from_steps(d))
        found = [tokens for d in chosen if (tokens := self.tokens(d, options.word_dropout)) is not None]
        self.drawn.shuffle(found)
        pool = 20 * options.batch
        batches = []
        for start in range(0, len(found), pool):
            part = sorted(found[start : start + pool], key=lambda pair: len(pair[0]) + len(pair[1]))
            batches += [part[k : k + options.batch] for k in range(0, len(part), options.batch)]
        self.drawn.shuffle(batches)
        yield from batches

    def _n_old(self, new: Sequence[Demonstration], old: Sequence[Demonstration]) -> int:
        if not self.options.replay:
            return 0
        return min(len(old), max(LEAST_REPLAYED, round(self.options.replay * len(new))))

    def _replayed(self, old: Sequence[Demonstration], n: int) -> list[Demonstration]:
        """Draw half of them from what the adapter itself was taught, which only it holds, the others from before it."""
        own = [d for d in old if d.id in self._own]
        rest = [d for d in old if d.id not in self._own]
        n_own = max(min(len(own), n // 2), n - len(rest))
        return [*self.drawn.sample(own, n_own), *self.drawn.sample(rest, n - n_own)]

    def n_batches(self, new: Sequence[Demonstration], old: Sequence[Demonstration]) -> int:
        n = len(new) + self._n_old(new, old)
        return math.ceil((n + round(self.options.step_texts * n)) / self.options.batch)

    def _from_steps(self, demonstration: Demonstration) -> Demonstration:
        """Make a request from the words of the plan's steps, of all of them or of some that stand together."""
        steps = demonstration.plan.steps
        if not steps or any(not step.text or step.refs() for step in steps):
            return demonstration
        is_chain = all(step.after == ((k - 1,) if k else ()) for k, step in enumerate(steps))
        first, last = 0, len(steps)
        if is_chain and self.drawn.random() < 0.6:
            first = self.drawn.randrange(len(steps))
            last = self.drawn.randint(first + 1, len(steps))
        part = steps[first:last]
        said = [_said(step) for step in part]
        request = said[0] + "".join(self.drawn.choice(_JOINTS) + text for text in said[1:])
        plan = Plan(tuple(replace(s, after=(k - 1,) if k else ()) for k, s in enumerate(part)) if is_chain else steps)
        return replace(demonstration, request=request, plan=plan)


def _said(step: Step) -> str:
    """Return a step's text without its number and the tool's name."""
    text = _STEP_PREFIX.sub("", step.text)
    if text.startswith(step.tool):
        text = re.sub(r"^\s*(?:to|for)\s+", "", text[len(step.tool) :])
    return text.strip().rstrip(".") or step.text
