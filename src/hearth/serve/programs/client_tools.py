"""Plans over the tools that a program brings with its request: which to call with what, from the words it sent alone.

Nothing of the home goes into a call, nothing of it is changed, and nothing runs here: the program gets back what it
could have read out of its own words, runs its tool by its own rules, and hands the result in to be told. So no rule of
the owner's is asked. What fits none of its tools is Hearth's own request.

Covered: several calls in one request; a required value that is not said is asked for. Not covered: a call that takes
another's result, values that must be worked out, objects, a request that wants a tool of the program's and one of
Hearth's.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import BaseModel, Field

from hearth.config import cache_folder
from hearth.errors import ConfigError, RequestError
from hearth.language.reading import Utterance
from hearth.language.text.thesaurus import POLITE, QUESTIONS
from hearth.planning.arguments.schema_filler import Filled, Filler
from hearth.tools.foreign.json_schemas import one_line, parameters_of
from hearth.types import Context, Parameter, ToolSpec

MOST_TOOLS = 128
_MOST_PARAMETERS = 64
_MOST_CLAUSES = 12
_LEAST_SURE = 0.5
"""Least chance at which a value is taken: one that is more likely wrong is asked for, or left out where it may be."""
_NEEDS = re.compile(r"To call (\S+) I need to know .+\.")
_WORD = re.compile(r"[^\W_]+")
_ARTICLES = frozenset({"a", "an", "the"})
_LEADING = _ARTICLES | {"in", "at", "on", "for", "to", "from", "it's"}
_MOST_BARE_WORDS = 5


class Function(BaseModel):
    """A tool as the program describes it."""

    name: str = Field(min_length=1, max_length=64)
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Named(BaseModel):
    name: str = ""


class Choice(BaseModel):
    """The one function that is to be called, in either form of the protocol; other kinds of choice have no effect."""

    type: str = ""
    name: str = ""
    function: _Named | None = None


ToolChoice = Literal["none", "auto", "required"] | Choice | None


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the program is asked to make."""

    id: str
    name: str
    arguments: str
    """As JSON."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a program lets be called."""

    functions: tuple[Function, ...] = ()
    choice: Literal["none", "auto", "required"] = "auto"
    named: str = ""
    """The one function that is to be called; empty: whichever fits."""
    is_parallel: bool = True
    """False: one call at a time."""

    @classmethod
    def of(cls, functions: Sequence[Function], choice: ToolChoice, is_parallel: bool | None) -> Offer:
        """Read what the protocol says. Raises: RequestError: The function that is to be called is not offered."""
        if not isinstance(choice, Choice):
            return cls(tuple(functions), choice or "auto", "", is_parallel is not False)
        named = choice.name or (choice.function.name if choice.function else "")
        if named and all(one.name != named for one in functions):
            raise RequestError(f"the tool {named!r} is to be called and is not among the tools offered")
        return cls(tuple(functions), "auto", named, is_parallel is not False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """What was said and done since the user asked for what stands open."""

    text: str
    """The last words of the user."""
    before: str = ""
    """The words with which the user began, where the last ones answer a question about them; else empty."""
    answers: tuple[tuple[str, str], ...] = ()
    """What the program was asked about them, and what the user said to it; `text` is the last."""
    results: tuple[str, ...] = ()
    """What the calls made since brought, in their order."""

    @classmethod
    def of(cls, messages: Sequence[tuple[str, str]]) -> Exchange:
        """Read a conversation, as roles and words."""
        of_user = [k for k, (role, _) in enumerate(messages) if role == "user"]
        if not of_user:
            return cls("")
        first, answers = of_user[-1], list[tuple[str, str]]()
        for earlier, k in zip(reversed(of_user[:-1]), reversed(of_user)):
            role, said = messages[k - 1]
            question = said.rpartition("\n")[2]
            if role != "assistant" or not _NEEDS.fullmatch(question) or not messages[earlier][1].strip():
                break
            first, answers = earlier, [(question, messages[k][1]), *answers]
        results = tuple(text for role, text in messages[first + 1 :] if role == "tool")
        return cls(messages[of_user[-1]][1], messages[first][1] if answers else "", tuple(answers), results)


@dataclass(frozen=True, slots=True)
class ToolTurn:
    """What the program is told next: calls to make, or words."""

    text: str = ""
    calls: tuple[Call, ...] = field(default=())


class ClientTools:
    """Plans over programs' tools. May be used from several threads; the reader is loaded when it is first needed."""

    def __init__(self) -> None:
        self._opening = threading.Lock()
        self._filler: Filler | None = None
        self._last_s = time.monotonic()

    def turn(self, said: Exchange, offer: Offer) -> ToolTurn | None:
        """Return what comes next; None where no tool of the program's fits, so that the request is Hearth's own."""
        if offer.choice == "none" or not offer.functions or not said.text.strip():
            return ToolTurn(_told(said.results)) if said.results else None
        wanted = self._wanted(said, offer)
        if said.answers and _question(wanted) == said.answers[-1][0]:
            said = Exchange(said.text)  # it answers nothing: a request of its own
            wanted = self._wanted(said, offer)
        left = wanted[len(said.results) :]
        if not offer.is_parallel:
            left = left[:1]
        if not left:
            return ToolTurn(_told(said.results)) if said.results else None
        if question := _question(left):
            return ToolTurn("\n".join(filter(None, (_told(said.results), question))))
        return ToolTurn(calls=tuple(_call(spec, filled) for spec, filled in left))

    def _wanted(self, said: Exchange, offer: Offer) -> list[tuple[ToolSpec, Filled]]:
        """Return the calls that are asked for, clause by clause where several clauses ask for some."""
        specs = _specs(offer)
        if not specs:
            return []
        filler = self._opened()
        if not filler.is_trained:
            return []  # without the reader nobody can say which fits
        now = dt.datetime.now().astimezone()
        text = said.before or said.text
        parts = [act.text for act in Utterance(text, now).acts]
        if 1 < len(parts) <= _MOST_CLAUSES:
            asked = [(part, filler.asked_for(part, specs)) for part in parts]
            if sum(bool(names) for _, names in asked) > 1:
                return [call for part, names in asked for call in _filled(filler, part, said, names, specs, now)]
        names = filler.asked_for(text, specs)
        if not names and (offer.named or offer.choice == "required"):
            chances = filler.match(text, specs)
            names = (max(zip(chances, specs), key=lambda one: one[0])[1].name,)
        return _filled(filler, text, said, names, specs, now)

    @property
    def last_s(self) -> float:
        """When a program's functions were last planned over, by the monotonic clock."""
        return self._last_s

    def rest(self) -> None:
        """Hand the reader's memory back; the next request opens it again."""
        with self._opening:
            self._filler = None

    def _opened(self) -> Filler:
        with self._opening:
            self._last_s = time.monotonic()
            if self._filler is None:
                self._filler = Filler.open(cache_folder(os.environ), is_referring=False)
            return self._filler


def _specs(offer: Offer) -> list[ToolSpec]:
    """Return the functions that a plan can express, each name once."""
    found: dict[str, ToolSpec] = {}
    for one in offer.functions:
        if offer.named and one.name != offer.named:
            continue
        try:
            parameters = parameters_of(one.parameters or {})
        except ConfigError:
            continue
        if len(parameters) <= _MOST_PARAMETERS:
            text = one_line(one.description or "") or one_line(one.name)
            found.setdefault(one.name, ToolSpec(one.name, text, parameters, returns="text", source="web"))
    return list(found.values())


def _filled(
    filler: Filler, text: str, said: Exchange, names: Sequence[str], specs: Sequence[ToolSpec], now: dt.datetime
) -> list[tuple[ToolSpec, Filled]]:
    """Return the calls with what the text gives them; where that is not enough, with the answers beside it."""
    by_name = {spec.name: spec for spec in specs}
    steps = [by_name[name] for name in names]
    calls = [(spec, _sure(spec, one)) for spec, one in zip(steps, filler.fill(text, steps, now, Context()))]
    for k, (spec, one) in enumerate(calls):
        answers = [(q, answer) for q, answer in said.answers if _NEEDS.sub(r"\1", q) == spec.name]
        if one.missing and answers:
            talk = "\n".join([f"user: {text}", *(f"agent: {q}\nuser: {answer}" for q, answer in answers)])
            (filled,) = filler.fill(talk, [spec], now, Context())
            found, answer = _sure(spec, filled), answers[-1][1]
            is_bare = bool(found.missing) and not filler.asked_for(answer, specs)
            calls[k] = spec, _with_bare(spec, found, answer) if is_bare else found
    return [one for k, one in enumerate(calls) if one not in calls[:k]]  # one answer for two of them makes them one


def _with_bare(spec: ToolSpec, filled: Filled, answer: str) -> Filled:
    """Take a short answer that the reader made nothing of as the one text that was asked for."""
    said = [word for word in answer.split() if word.casefold().strip(",.!?") not in POLITE]
    while said and said[0].casefold() in _LEADING:
        del said[0]
    asked = [p for p in spec.parameters if p.name in filled.missing]
    if len(asked) != 1 or asked[0].type != "text" or asked[0].enum or not 0 < len(said) <= _MOST_BARE_WORDS:
        return filled
    return replace(filled, arguments={**filled.arguments, asked[0].name: " ".join(said).strip(",.!?")}, missing=())


def _sure(spec: ToolSpec, filled: Filled) -> Filled:
    """Leave out what is not surely said: words that only ask ("how") or name the tool or what it takes ("the weather"),
    and what is more likely wrong than right.
    """
    names = " ".join([spec.name, *(p.name for p in spec.parameters)])
    empty = QUESTIONS | POLITE | _ARTICLES | set(_WORD.findall(names.casefold().replace("_", " ")))

    def holds(one: Parameter) -> bool:
        value = filled.arguments.get(one.name)
        is_word = not isinstance(value, str) or bool(one.enum) or not empty.issuperset(_WORD.findall(value.casefold()))
        return value is not None and is_word and filled.confidences.get(one.name, 1.0) >= _LEAST_SURE

    kept = {p.name: filled.arguments[p.name] for p in spec.parameters if holds(p)}
    missing = tuple(p.name for p in spec.parameters if p.is_required and p.name not in kept)
    return replace(filled, arguments=kept, missing=missing)


def _question(calls: Sequence[tuple[ToolSpec, Filled]]) -> str:
    """Return what has to be known before the calls can be made; empty where everything is."""
    for spec, filled in calls:
        if filled.missing:
            return f"To call {spec.name} I need to know {_listed([name.replace('_', ' ') for name in filled.missing])}."
    return ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _call(spec: ToolSpec, filled: Filled) -> Call:
    arguments = json.dumps(dict(filled.arguments), ensure_ascii=False)
    return Call(f"call_{secrets.token_hex(8)}", spec.name, arguments)


def _told(results: Sequence[str]) -> str:
    """Return what the calls brought, in words, one a line."""
    return "\n".join(_in_words(one) for one in results)


def _in_words(result: str) -> str:
    """Return a record as `name: value, …`, a list of them as lines, and anything else as it is."""
    try:
        found = json.loads(result)
    except (ValueError, RecursionError):
        return result.strip()
    rows = found if isinstance(found, list) else [found]
    return "\n".join(_row(one) for one in rows)


def _row(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_plain(one)}" for name, one in value.items())
    return _plain(value)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
