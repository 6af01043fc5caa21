"""Fills the parameters of tools that were never shown, by a trained reader that is asked for each."""

from __future__ import annotations

import datetime as dt
import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hearth.errors import ConfigError, MissingExtraError
from hearth.formats.plans import canonical, fits
from hearth.models.lora_encoder import Array
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.models.span_extractor import (
    ABSENT,
    GIVEN,
    N_SIGNS,
    NO,
    OPTION,
    SPAN,
    TURN,
    YES,
    Answer,
    Form,
    Question,
    Reading,
    SpanReader,
)
from hearth.planning.arguments.value_extraction import NUMBERS, Saying
from hearth.protocols import Encoder
from hearth.types import TYPE_NAMES, Argument, Context, Demonstration, Parameter, Ref, ToolSpec

# ── Slot questions ────────────────────────────────────────────────────────────────────────────────────────
# Phrases tools as questions to a text: parameters, options and fields of earlier results in the form the reader sees.
#
# Training and planning build their forms here, so that the reader always sees what it was trained on.

_MOST_FIELDS = 10
"""Number of fields of earlier results shown beside one call: the most similar."""
_MOST_STEPS = 12
_MOST_FIELDS_READ = 200
_TYPE_WORDS = {
    "text": "",
    "any": "",
    "integer": "number",
    "boolean": "yes or no",
    "datetime": "date and time",
}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_QUOTED_VALUE = re.compile(r"(?<!\w)(?:'([^'\n]{1,30})'|\"([^\"\n]{1,30})\"|`([^`\n]{1,30})`)(?!\w)")
_NUMBER_MEANT = re.compile(
    r"(?<![\w'.])(\d{1,4})(?= (?:for|is|represents|means|corresponds to|refers to) | ?[=:(] ?[a-z])", re.I
)
_IS_MEANT = re.compile(
    r"['\"`]?\s*(?:[=:(-]|(?:is|are|for|to|as|gives?|represents|means|meaning|corresponds to|refers to|provides|"
    r"indicates|stands for)\b)\s*(?:an? |the )?([^'\"`.;,()]{2,60})",
    re.IGNORECASE,
)
"""What stands behind a value in a description and says what it means: `'2' for ironing`, `1 = Monday`."""
_FORM_LETTERS = re.compile(r"[{}<>\[\]]|\b[YMDHhms]{2,4}\b|^n(?:ull|one)$", re.IGNORECASE)
_OF_FORM = re.compile(r"\bformat(?:ted)?(?: of| as| like| is|:)? ?\(?$", re.IGNORECASE)
_MOST_CHOICES = 40


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an earlier step's result, or (no name) the result itself."""

    step: int
    name: str
    type: str
    tool: str
    description: str = ""

    @property
    def text(self) -> str:
        rest = f": {self.description}" if self.description else ""
        return f"step {self.step + 1} {words(self.tool)} gives {words(self.name) or 'its result'}{rest}"


def words(name: str) -> str:
    """Return an identifier as words: `Hotels_1.checkInDate` is `hotels check in date`."""
    apart = re.sub(r"[\W_]+", " ", _CAMEL.sub(" ", name)).lower()
    return " ".join(word for word in apart.split() if not word.isdigit())


def is_yes_or_no(parameter: Parameter) -> bool:
    """Return whether a parameter is boolean, by its type or by its two options."""
    if parameter.enum:
        return {option.lower() for option in parameter.enum} == {"true", "false"}
    return canonical(parameter.type) == "boolean"


@dataclass(frozen=True, slots=True)
class Option:
    """A value that a parameter's options or description name."""

    value: str
    text: str
    """The value as words, with what the description says it means."""


@functools.lru_cache(maxsize=4096)
def choices(kind: str, enum: tuple[str, ...], description: str) -> tuple[Option, ...]:
    """Return the values a parameter may have by its options, else those that its description quotes or numbers.

    A single quoted value is an example or a default, and forms (`YYYY-MM-DD`) are no values. What a description quotes
    need not be all that is allowed.
    """
    quoted = [m for m in _QUOTED_VALUE.finditer(description) if _OF_FORM.search(description, 0, m.start()) is None]
    named = {m[1] or m[2] or m[3]: m.end() for m in reversed(quoted)}
    if enum:
        meant = [Option(one, _with_meaning(one, description, named)) for one in enum]
        return tuple(meant[:_MOST_CHOICES])
    if canonical(kind) in ("integer", "number"):
        named = {one: at for one, at in named.items() if one.isdecimal()}
        named = {m[1]: m.end() for m in reversed(list(_NUMBER_MEANT.finditer(description)))} | named
        found = [Option(one, _with_meaning(one, description, named)) for one in reversed(named)]
        found = [one for one in found if one.text != one.value]
    elif canonical(kind) == "text":
        able = [one for one in reversed(named) if "," not in one and _FORM_LETTERS.search(one) is None]
        found = [Option(one, _with_meaning(one, description, named)) for one in able]
    else:
        return ()
    return tuple(found[:_MOST_CHOICES]) if len(found) > 1 else ()


def _with_meaning(value: str, description: str, named: Mapping[str, int]) -> str:
    said = value.replace("_", " ")
    meant = _IS_MEANT.match(description, named[value]) if value in named else None
    if meant is None:
        return said
    return f"{said} {re.split(r' (?:and|or)$| (?:and|or) (?=[0-9])', meant[1].strip())[0]}"


def choices_of(parameter: Parameter) -> tuple[Option, ...]:
    """Return the values that a parameter's options or description name; none of a yes or no."""
    if is_yes_or_no(parameter):
        return ()
    return choices(parameter.type, parameter.enum, parameter.description)


def question(parameter: Parameter, *, is_named: bool = True, is_described: bool = True) -> Question:
    kind = canonical(parameter.type)
    hint = "yes or no" if is_yes_or_no(parameter) else _TYPE_WORDS.get(kind, kind)
    if kind.startswith("list["):
        hint = "list"
    elif kind not in TYPE_NAMES:
        hint = words(kind)
    parts = [
        "required" if parameter.is_required else "optional",
        words(parameter.name) if is_named or not parameter.description else "",
        f"({hint})" if hint else "",
        parameter.description if is_described or not is_named else "",
    ]
    options = choices_of(parameter) if is_described else choices_of(replace(parameter, description=""))
    return Question(" ".join(part for part in parts if part), tuple(choice.text for choice in options))


def tool_text(spec: ToolSpec) -> str:
    return f"{words(spec.name)}: {spec.description}"


def form(spec: ToolSpec, fields: Sequence[Field] = ()) -> Form:
    """Return the questions of one call."""
    questions = tuple(question(parameter) for parameter in spec.parameters)
    return Form(tool_text(spec), questions, tuple(f.text for f in fields))


def match_text(spec: ToolSpec) -> str:
    """Return a tool as a text that requests are compared with."""
    asked = ", ".join(words(parameter.name) for parameter in spec.parameters)
    return f"{tool_text(spec)}. {asked}" if asked else tool_text(spec)


def fields_of(steps: Sequence[ToolSpec], place: int) -> list[Field]:
    """Return the fields that the steps before `place` give; the nearest steps when there are very many."""
    found: list[Field] = []
    for k in range(max(0, place - _MOST_STEPS), place):
        spec = steps[k]
        if not spec.fields:
            found.append(Field(k, "", spec.returns, spec.name, spec.description))
        for name, kind in spec.fields.items():
            found.append(Field(k, name, kind, spec.name, spec.field_texts.get(name, "")))
    return found[-_MOST_FIELDS_READ:]


class Likeness:
    """Similarity of parameters and fields, by a sentence encoder; texts of tools are embedded once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._kept: dict[str, NDArray[np.float32]] = {}

    def fields(self, spec: ToolSpec, fields: Sequence[Field]) -> tuple[list[Field], NDArray[np.float32]]:
        """Return the fields to show beside a call, likeliest first, and their similarity features to its parameters.

        Returns:
            Signs of shape [n_parameters, n_fields, N_SIGNS]: likeness of name and description, of names, of the
            parameter with tool and field; whether names are the same, whether descriptions are, whether types fit,
            whether the field is of the step just before.
        """
        if not fields or not spec.parameters:
            return [], np.zeros((len(spec.parameters), 0, N_SIGNS), np.float32)
        full = [f"{words(p.name)}: {p.description}" for p in spec.parameters]
        named = [words(p.name) for p in spec.parameters]
        of_full = [f"{words(f.name or f.tool)}: {f.description}" for f in fields]
        of_named = [words(f.name or f.tool) for f in fields]
        of_tool = [f"{words(f.tool)} {words(f.name)}" for f in fields]
        self._keep({*full, *named, *of_full, *of_named, *of_tool})
        signs = np.zeros((len(full), len(fields), N_SIGNS), np.float32)
        signs[:, :, 0] = self._rows(full) @ self._rows(of_full).T
        signs[:, :, 1] = self._rows(named) @ self._rows(of_named).T
        signs[:, :, 2] = self._rows(named) @ self._rows(of_tool).T
        last = max(f.step for f in fields)
        for i, parameter in enumerate(spec.parameters):
            for j, one in enumerate(fields):
                signs[i, j, 3] = one.name != "" and of_named[j] == named[i]
                signs[i, j, 4] = one.description != "" and one.description.lower() == parameter.description.lower()
                signs[i, j, 5] = fits(one.type, parameter.type)
                signs[i, j, 6] = one.step == last
        best = signs[:, :, :6].sum(axis=2)
        shown = np.argsort(-best.max(axis=0), kind="stable")[:_MOST_FIELDS].tolist()
        return [fields[j] for j in shown], signs[:, shown]

    def of_texts(self, text: str, others: Sequence[str]) -> list[float]:
        """Return the likeness of a text, which is not kept, to others, which are."""
        self._keep(set(others))
        return [float(one) for one in self._rows(others) @ self._encoder.encode([text])[0]] if others else []

    def _keep(self, texts: set[str]) -> None:
        new = sorted(texts - self._kept.keys())
        if len(self._kept) + len(new) > 50_000:
            self._kept.clear()
            new = sorted(texts)
        if new:
            self._kept.update(zip(new, self._encoder.encode(new)))

    def _rows(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._kept[text] for text in texts])


# ── Joint decoding ────────────────────────────────────────────────────────────────────────────────────────
# Chooses the arguments of a call together, or of several calls of one tool, from what each might be.
#
# Of two parameters that point at the same words, the less sure one takes its next likeliest; an optional one that
# only repeats another's words stays unsaid. Several calls of one tool share what is said once and take turns with
# what is said several times. Not covered: calls whose values are worked out from each other.

_SHARED_PRICE = 4.0
"""Log-probability by which words that no other parameter of the call has may be less likely."""
_ORDER_GAIN = 0.3
"""Log-probability of two values that stand in the order of their parameters, against the other order."""
_N_BEAM = 48
_LEAST_FURTHER = math.log(0.5)
"""Least log-probability, against the likeliest value, of a value that shows a further call."""
_LEAST_IN_TURN = math.log(0.0025)
"""The same where the number of calls is known."""
_MOST_CALLS = 12
_SURE_MISSING = math.log(0.97 / 0.03)
"""Log-odds of "not said" from which on a required parameter is missing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a parameter may have."""

    value: Argument
    score: float
    """Log-probability against the likeliest of its kind, plus that of the kind."""
    confidence: float
    place: tuple[int, int] | None = None
    """Characters that say it; None of what stands nowhere."""
    is_number: bool = False
    is_piece: bool = False
    """One of several things named together, where the likeliest value is all of them."""

    def overlaps(self, other: Choice) -> bool:
        """Return whether two values are read from the same words. A number may stand in a longer text."""
        if self.place is None or other.place is None or self.is_number != other.is_number:
            return False
        return self.place[0] < other.place[1] and other.place[0] < self.place[1]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the text says of one parameter."""

    parameter: Parameter
    choices: tuple[Choice, ...]
    """Likeliest first."""
    unsaid: float
    """Log-probability that it is not said."""


Chosen = dict[str, Choice | None]


def choose(evidence: Sequence[Evidence]) -> Chosen:
    """Return the likeliest values of one call, None of what is unsaid."""
    order = sorted(evidence, key=lambda e: -e.choices[0].confidence if e.choices else 0.0)
    place = {one.parameter.name: k for k, one in enumerate(evidence)}
    beam: list[tuple[float, tuple[Choice | None, ...]]] = [(0.0, ())]
    for one in order:
        longer = []
        for score, taken in beam:
            for choice in (*one.choices, None):
                longer.append(
                    (score + _worth(one, choice, taken) + _order(one, choice, order, taken, place), (*taken, choice))
                )
        longer.sort(key=lambda pair: -pair[0])
        beam = longer[:_N_BEAM]
    return {one.parameter.name: choice for one, choice in zip(order, beam[0][1])}


def _worth(evidence: Evidence, choice: Choice | None, taken: Sequence[Choice | None]) -> float:
    if choice is None:
        is_required = evidence.parameter.is_required
        return evidence.unsaid - (_SURE_MISSING if is_required else 0.0) if evidence.choices else 0.0
    n_shared = sum(other is not None and choice.overlaps(other) for other in taken)
    return choice.score - _SHARED_PRICE * n_shared


def _order(
    evidence: Evidence,
    choice: Choice | None,
    order: Sequence[Evidence],
    taken: Sequence[Choice | None],
    place: Mapping[str, int],
) -> float:
    """Return what a value gains by standing as its parameter does before or after the others."""
    if choice is None or choice.place is None:
        return 0.0
    gain = 0.0
    for other, value in zip(order, taken):
        if value is None or value.place is None or value.is_number != choice.is_number or choice.overlaps(value):
            continue
        is_before = place[evidence.parameter.name] < place[other.parameter.name]
        gain += _ORDER_GAIN if is_before == (choice.place < value.place) else -_ORDER_GAIN
    return gain


def n_calls(evidence: Sequence[Evidence]) -> int:
    """Return how many calls of the tool the text asks for: as many as its values come in turns, at least one."""
    telling = [one for one in evidence if one.parameter.is_required]
    turns = _turns(telling, choose(evidence)).values()
    # What is a list names several things in one call.
    return min(_MOST_CALLS, _n_of([len(values) for values in turns if not isinstance(values[0].value, list)]))


def _n_of(turns: Sequence[int]) -> int:
    several = sorted({n for n in turns if n > 1})
    if len(several) == 2 and turns.count(several[0]) == turns.count(several[1]) == 1:
        return several[0] * several[1]  # each of these with each of those
    return several[-1] if several else 1


def choose_each(evidence: Sequence[Evidence], n: int) -> list[Chosen]:
    """Return the values of `n` calls, in the order of the text."""
    first = choose(evidence)
    if n <= 1:
        return [first]
    turns = _turns(evidence, first, n)
    crossed = sorted((name for name, values in turns.items() if 1 < len(values) < n), key=lambda name: len(turns[name]))
    is_crossed = len(crossed) == 2 and len(turns[crossed[0]]) * len(turns[crossed[1]]) == n
    anchors = next((values for values in turns.values() if len(values) == n), ())
    calls: list[Chosen] = []
    for k in range(n):
        call = dict(first)
        for name, values in turns.items():
            if is_crossed and name in crossed:
                outer = max(crossed, key=lambda c: turns[c][0].place or (0, 0))
                inner = len(turns[outer])
                call[name] = values[k % inner] if name == outer else values[k // inner]
            else:
                call[name] = _in_turn(values, k, n, anchors)
        calls.append(call)
    return calls


def _in_turn(values: Sequence[Choice], k: int, n: int, anchors: Sequence[Choice]) -> Choice:
    """Return the value of call `k`: its own, or the last said before the call's; or before the next call's, where such
    values follow what they belong to."""
    if len(values) == n:
        return values[k]
    if not anchors:
        return values[min(k, len(values) - 1)]
    places = [one.place or (0, 0) for one in anchors]
    is_leading = (values[0].place or (0, 0)) < places[0]
    if is_leading:
        before = [v for v in values if (v.place or (0, 0)) <= places[k]]
    else:
        before = [v for v in values if k + 1 == n or (v.place or (0, 0)) < places[k + 1]]
    return before[-1] if before else values[0]


def _free_pieces(one: Evidence, first: Choice, taken: Mapping[str, Sequence[Choice]]) -> list[Choice]:
    """Return the pieces of a list that its parameter may take in turn: those that no other parameter uses."""
    pieces = [choice for choice in one.choices if choice.is_piece]
    if not pieces or not (first.is_piece or first.overlaps(pieces[0])):
        return []
    others = [value for name, values in taken.items() if name != one.parameter.name for value in values]
    return [piece for piece in pieces if not any(piece.overlaps(other) for other in others)]


def _turns(evidence: Sequence[Evidence], first: Mapping[str, Choice | None], most: int = 0) -> dict[str, list[Choice]]:
    """Return the values that each parameter takes in turn, in the order of the text.

    Args:
        most: Number of calls, where it is known: weaker values then count as well, up to so many.
    """
    taken = {name: [choice] for name, choice in first.items() if choice is not None}
    for one in sorted(evidence, key=lambda e: -e.choices[0].confidence if e.choices else 0.0):
        mine = taken.get(one.parameter.name)
        if not mine or mine[0].place is None:
            continue
        if len(pieces := _free_pieces(one, mine[0], taken)) > 1:
            taken[one.parameter.name] = pieces
            continue
        least = mine[0].score + (_LEAST_IN_TURN if most else _LEAST_FURTHER)
        for choice in one.choices:
            if choice.place is None or choice.score < least or (most and len(mine) >= most):
                continue
            if not any(choice.overlaps(other) for values in taken.values() for other in values):
                mine.append(choice)
    return {name: sorted(values, key=lambda v: v.place or (0, 0)) for name, values in taken.items() if len(values) > 1}


# ── Schema filler ─────────────────────────────────────────────────────────────────────────────────────────
# Fills arguments of plan steps for unseen tools: takes words of the request in the form that their types ask for.
#
# Values come only from the request (words of it, or what typed finders read there), a parameter's own options, and
# the results of earlier steps; each fits its parameter's type, and what cannot be found is reported as missing, never
# guessed. With the trained reader the choice is learned; without it (its file or the encoder's package is missing)
# typed finders alone fill what they can. Not covered: values that must be computed, lists given in several places,
# records.

ADAPTER_FILE = Path(__file__).parents[2] / "data" / "call_reader.npz"
_VISIBLE_CHARACTERS = 8000
_MOST_OFFERED = 8
"""Number of the tools offered that are read, the likeliest by their texts."""
FIT_WEIGHTS = (0.151, 7.165, 0.616, -2.528)
"""Weights of `fit_signs`, and a constant: the log-odds that a tool is asked for. Solved by `training.fit_weights_train`
on requests whose functions the reader was never trained on."""
_LEAST_FIT, _LEAST_BESIDE = 0.0, 1.0
"""Least log-odds that a tool is asked for, of the likeliest and of a further one."""
_MANY_PLANS = 20
_SAID_GAIN = 1.5
"""Log-probability that an option gains when the text says its very words."""
_UNSAID_PRICE = 1.0
_STEM = 5
_LEAST_KIND = 1e-9
_MATCH_SCALE = 20.0
_N_READ = 4
_W_ASKED, _W_SURE = 2.0, 0.3
"""Weights, for the likeliest tools, of whether the text holds what they require, and of how surely it is found."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The arguments of one step."""

    arguments: Mapping[str, Argument]
    confidences: Mapping[str, float]
    """Confidence of each argument, in [0, 1]."""
    missing: tuple[str, ...] = ()
    """Required parameters for which nothing was found."""


@dataclass(slots=True)
class _Step:
    """State of filling one call."""

    spec: ToolSpec
    saying: Saying
    fields: Sequence[Field]
    signs: Array
    is_field_named: bool
    taken: list[tuple[int, int]] = field(default_factory=list)


class Filling(Protocol):
    """Finds the arguments of calls; `Filler` does."""

    def fill(
        self, text: str, steps: Sequence[ToolSpec], now: dt.datetime | None, context: Context
    ) -> Sequence[Filled]: ...


class Filler:
    """Fills the arguments of plans. May be used from several threads at once."""

    def __init__(
        self,
        reader: SpanReader | None,
        likeness: Likeness | None,
        *,
        is_field_named: bool = True,
        is_referring: bool = True,
    ) -> None:
        """Keep the reader; without one, finders alone are used. `likeness` is needed with a reader.

        Args:
            is_field_named: False refers to an earlier result as a whole (`<node-0>`), as some data sets do.
            is_referring: False takes no value from an earlier result.
        """
        self._is_referring = is_referring
        self._reader = reader
        self._likeness = likeness
        self._is_field_named = is_field_named
        self._vectors: dict[str, Array] = {}

    @classmethod
    def open(
        cls,
        cache_dir: Path | None = None,
        *,
        adapter: Path = ADAPTER_FILE,
        n_threads: int = 0,
        is_referring: bool = True,
    ) -> Filler:
        """Load the reader; when its file or the encoder's package is missing, finders alone are used.

        Args:
            cache_dir: As for the encoder.
            n_threads: 0 takes the machine's cores, at most four.
            is_referring: As for the class.
        """
        try:
            reader = SpanReader.open(adapter, cache_dir, n_threads=n_threads)
            return cls(reader, Likeness(MiniLMEncoder.open(cache_dir)), is_referring=is_referring)
        except (MissingExtraError, ConfigError):
            return cls(None, None)

    def referring_like(self, demonstrations: Iterable[Demonstration]) -> Filler:
        """Return a filler that refers as `demonstrations` do: to whole results when none names a field, to none when
        many plans of several steps do without."""
        plans = [d.plan for d in demonstrations]
        refs = [ref for plan in plans for step in plan.steps for ref in step.refs()]
        is_referring = bool(refs) or sum(len(plan.steps) > 1 for plan in plans) < _MANY_PLANS
        is_field_named = not refs or any(ref.path for ref in refs)
        return Filler(self._reader, self._likeness, is_field_named=is_field_named, is_referring=is_referring)

    @property
    def is_trained(self) -> bool:
        """Return whether the reader is loaded."""
        return self._reader is not None

    def fill(
        self,
        text: str,
        steps: Sequence[ToolSpec],
        now: dt.datetime | None,
        context: Context,
    ) -> list[Filled]:
        """Return the arguments of each step, in order.

        Args:
            text: The request, or a conversation (`user: …` and `agent: …` lines). Of a very long one only the end of a
                conversation, or the beginning and end of a request, are read.
            now: Time against which relative times are read; None is the present.
        """
        saying = Saying(_visible(text), now or dt.datetime.now(dt.UTC), context)
        n_times = Counter(spec.name for spec in steps)
        in_turn: dict[str, Iterator[Chosen]] = {}
        filled = []
        for place, spec in enumerate(steps):
            step = self._step(steps, place, saying)
            if n_times[spec.name] == 1 or self._reader is None or step.fields:
                chosen = self._chosen(step)
            else:
                if spec.name not in in_turn:
                    in_turn[spec.name] = iter(choose_each(self._evidence(step), n_times[spec.name]))
                chosen = next(in_turn[spec.name])
            filled.append(_filled(spec, chosen))
        return filled

    def _step(self, steps: Sequence[ToolSpec], place: int, saying: Saying) -> _Step:
        spec = steps[place]
        # A tool that is called again is seldom given its own result.
        found = fields_of(steps, place) if self._is_referring else []
        fields: Sequence[Field] = [one for one in found if steps[one.step].name != spec.name]
        signs = np.zeros((len(spec.parameters), len(fields), 1), np.float32)
        if self._likeness is not None:
            fields, signs = self._likeness.fields(spec, fields)
        return _Step(spec, saying, fields, signs, self._is_field_named)

    def _chosen(self, step: _Step) -> Chosen:
        if self._reader is None:
            ordered = sorted(step.spec.parameters, key=lambda p: not p.is_required)
            return {p.name: _found(p, step) for p in ordered}
        return choose(self._evidence(step))

    def _evidence(self, step: _Step) -> list[Evidence]:
        if self._reader is None or not step.spec.parameters:
            return []
        reading = self._reader.read(form(step.spec, step.fields), step.saying.text, step.signs)
        return [_evidence(p, a, step) for p, a in zip(step.spec.parameters, reading.answers)]

    # ── Which tool ────────────────────────────────────────────────────────────────────────────────────────

    def match(self, text: str, tools: Sequence[ToolSpec]) -> list[float]:
        """Return the log-probability that a request or conversation end asks for each tool, by texts alone.

        Returns:
            One value per tool; all equal without the reader.
        """
        if self._reader is None or not tools:
            return [-math.log(max(1, len(tools)))] * len(tools)
        seen = _visible(text)
        new = {match_text(spec): spec for spec in tools if match_text(spec) not in self._vectors}
        if len(self._vectors) + len(new) > 20_000:
            self._vectors.clear()
        if new:
            self._vectors.update(zip(new, self._reader.vectors(list(new))))
        matrix = np.stack([self._vectors[match_text(spec)] for spec in tools])
        scores = matrix @ self._reader.vectors([seen])[0] * _MATCH_SCALE
        scores -= scores.max() + np.log(np.exp(scores - scores.max()).sum())
        for k in np.argsort(-scores, kind="stable")[:_N_READ]:
            scores[k] += self._asked(tools[int(k)], seen)
        scores -= scores.max() + np.log(np.exp(scores - scores.max()).sum())
        return [float(s) for s in scores]

    def asked_for(self, text: str, tools: Sequence[ToolSpec]) -> tuple[str, ...]:
        """Return the tools that a request asks for, in the order of its words, each as often as it is called.

        Returns:
            Nothing when none of the tools fits; without the reader, the first tool alone.
        """
        if self._reader is None or not tools:
            return tuple(spec.name for spec in tools[:1])
        if len(tools) > _MOST_OFFERED:
            chances = self.match(text, tools)
            tools = [tools[k] for k in sorted(np.argsort(chances)[::-1][:_MOST_OFFERED].tolist())]
        saying = Saying(_visible(text), dt.datetime.now(dt.UTC), Context())
        likeness = self._likeness.of_texts(saying.text, [match_text(spec) for spec in tools]) if self._likeness else []
        fits: dict[str, float] = {}
        calls: dict[str, tuple[int, int]] = {}
        for spec, alike in zip(tools, likeness):
            reading = self._reader.read(form(spec), saying.text)
            fits[spec.name] = float(np.dot(FIT_WEIGHTS, (*fit_signs(spec, reading, alike), 1.0)))
            step = _Step(spec, saying, (), np.zeros((len(spec.parameters), 0, 1), np.float32), self._is_field_named)
            evidence = [_evidence(p, a, step) for p, a in zip(spec.parameters, reading.answers)]
            places = [c.place[0] for c in choose(evidence).values() if c is not None and c.place is not None]
            calls[spec.name] = (min(places, default=0), n_calls(evidence))
        best = max(fits.values(), default=-math.inf)
        if best < _LEAST_FIT:
            return ()
        asked = [name for name, fit in fits.items() if fit == best or fit >= _LEAST_BESIDE]
        return tuple(name for name in sorted(asked, key=lambda name: calls[name]) for _ in range(calls[name][1]))

    def _asked(self, spec: ToolSpec, text: str) -> float:
        """Score how far the text holds what a tool requires; 0 is in full."""
        if self._reader is None:
            return 0.0
        answers = self._reader.read(form(spec), text).answers
        required = [(p, a) for p, a in zip(spec.parameters, answers) if p.is_required]
        if not required:
            return 0.0
        said = sum(math.log1p(-min(math.exp(float(a.kinds[ABSENT])), 0.9999)) for _, a in required)
        sure = sum(_sureness(p, a) for p, a in required)
        return (_W_ASKED * said + _W_SURE * sure) / len(required)


def fit_signs(spec: ToolSpec, reading: Reading, alike: float) -> tuple[float, float, float]:
    """Return what speaks for a tool being asked for: the reader's log-odds, the likeness of its texts to the request,
    and the log-chance that the least sure of the values it requires is said at all."""
    required = [answer for parameter, answer in zip(spec.parameters, reading.answers) if parameter.is_required]
    said = (math.log1p(-min(math.exp(float(answer.kinds[ABSENT])), 0.9999)) for answer in required)
    return float(reading.fit), float(alike), min(said, default=0.0)


def _filled(spec: ToolSpec, chosen: Chosen) -> Filled:
    found = {p.name: choice for p in spec.parameters if (choice := chosen.get(p.name)) is not None}
    missing = tuple(p.name for p in spec.parameters if p.is_required and p.name not in found)
    return Filled({n: c.value for n, c in found.items()}, {n: c.confidence for n, c in found.items()}, missing)


def _sureness(parameter: Parameter, answer: Answer) -> float:
    """Return the log-probability of the likeliest option or span."""
    if parameter.enum:
        return float(answer.options.max()) if len(answer.options) else 0.0
    return float(answer.start.max() + answer.end.max()) if len(answer.start) else 0.0


def _visible(text: str) -> str:
    if len(text) <= _VISIBLE_CHARACTERS:
        return text
    if TURN.match(text):
        return text[-_VISIBLE_CHARACTERS:]
    half = _VISIBLE_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


# ── What the reader says ──────────────────────────────────────────────────────────────────────────────────


def _evidence(parameter: Parameter, answer: Answer, step: _Step) -> Evidence:
    """Return what a parameter may be, likeliest first."""
    chances = np.maximum(np.exp(answer.kinds.astype(np.float64)), _LEAST_KIND)
    able = _able(parameter, step)
    total = sum(chances[k] for k in (ABSENT, *able))
    p_absent = float(chances[ABSENT] / total)
    by_kind = [(chances[kind], _of_kind(kind, parameter, answer, step)) for kind in able if chances[kind] > _LEAST_KIND]
    weights = [chance * max(c.confidence for c in choices) for chance, choices in by_kind if choices]
    found: list[Choice] = []
    for chance, choices in by_kind:
        if not choices:
            continue
        best = max(choice.confidence for choice in choices)
        against = math.log(max(chance * best, 1e-12) / max(*weights, 1e-12))
        for choice in choices:
            sure = min(1.0, float(chance / total) * choice.confidence)
            score = choice.score + against + math.log(max(1 - p_absent, _LEAST_KIND))
            found.append(replace(choice, score=score, confidence=round(sure, 4)))
    found.sort(key=lambda choice: -choice.score)
    return Evidence(parameter, tuple(found), math.log(max(p_absent, _LEAST_KIND)))


def _able(parameter: Parameter, step: _Step) -> tuple[int, ...]:
    """Return the kinds of source a parameter of that type can have."""
    kind = canonical(parameter.type)
    given = (GIVEN,) if step.fields else ()
    if is_yes_or_no(parameter):
        return (YES, NO, *given)
    if parameter.enum:
        return (OPTION, *given)
    inner = kind[5:-1] if kind.startswith("list[") else kind
    named = (OPTION,) if choices_of(parameter) else ()
    return (SPAN, *named, *given) if inner in TYPE_NAMES else given


def _of_kind(kind: int, parameter: Parameter, answer: Answer, step: _Step) -> list[Choice]:
    if kind in (YES, NO):
        return [Choice(_truth(parameter, kind == YES), 0.0, 1.0)]
    if kind == OPTION:
        return _options(parameter, answer, step.saying.text)
    if kind == GIVEN:
        return _given(parameter, answer.given, step)
    said = step.saying.mentions(parameter, answer)
    is_number = canonical(parameter.type) in NUMBERS
    best = max((one.confidence for one in said), default=1.0)
    return [
        Choice(
            s.value, math.log(max(s.confidence, 1e-12) / max(best, 1e-12)), s.confidence, (s.start, s.end), is_number
        )
        for s in said
    ]


def _options(parameter: Parameter, answer: Answer, text: str) -> list[Choice]:
    """Return the options by how likely they are; one whose words the text says gains by it, and one that nothing says
    is seldom an optional value."""
    named = choices_of(parameter)[: len(answer.options)]
    if not named:
        return []
    places = [_said(choice.value, text) for choice in named]
    hints = [place is not None or _is_hinted(choice.text, text) for choice, place in zip(named, places)]
    gains = [_SAID_GAIN * ((place is not None) + hint) / 2 for place, hint in zip(places, hints)]
    scores = answer.options[: len(named)].astype(np.float64) + np.array(gains)
    scores -= np.log(np.exp(scores - scores.max()).sum()) + scores.max()
    best = float(scores.max())
    found = []
    for choice, score, place, hint in zip(named, scores.tolist(), places, hints):
        is_whole = not parameter.enum and canonical(parameter.type) == "integer"
        value: Argument = int(choice.value) if is_whole else choice.value
        price = 0.0 if hint or parameter.is_required else _UNSAID_PRICE
        found.append(Choice(value, score - best - price, math.exp(score), place))
    return sorted(found, key=lambda choice: -choice.score)


def _said(option: str, text: str) -> tuple[int, int] | None:
    """Return where the text says an option's words."""
    said = re.search(rf"(?<![\w'.]){re.escape(option.replace('_', ' '))}(?![\w])", text, re.IGNORECASE)
    return said.span() if said is not None and not option.isdecimal() else None


def _is_hinted(option: str, text: str) -> bool:
    """Return whether the text has a word that begins as a longer word of the option does."""
    return any(
        re.search(rf"\b{re.escape(word[:_STEM])}", text, re.IGNORECASE) for word in re.findall(r"[^\W\d_]{4,}", option)
    )


def _truth(parameter: Parameter, is_yes: bool) -> Argument:
    if not parameter.enum:
        return is_yes
    return next(option for option in parameter.enum if option.lower() == str(is_yes).lower())


def _given(parameter: Parameter, scores: Array, step: _Step) -> list[Choice]:
    """Return the likeliest field of an earlier result that fits."""
    n = len(scores)
    fitting = [j for j, one in enumerate(step.fields[:n]) if fits(one.type, parameter.type) or not step.is_field_named]
    if not fitting:
        return []
    if step.is_field_named:
        best = max(fitting, key=lambda j: float(scores[j]))
        one = step.fields[best]
        return [Choice(Ref(one.step, (one.name,) if one.name else ()), 0.0, float(np.exp(scores[best])))]
    by_step: dict[int, float] = {}
    for j in fitting:
        by_step[step.fields[j].step] = by_step.get(step.fields[j].step, 0.0) + float(np.exp(scores[j]))
    likeliest = max(by_step, key=lambda k: by_step[k])
    return [Choice(Ref(likeliest), 0.0, min(1.0, by_step[likeliest]))]


# ── Finders alone ─────────────────────────────────────────────────────────────────────────────────────────

_UNSURE = 0.3


def _found(parameter: Parameter, step: _Step) -> Choice | None:
    """Find a value with the typed finders, without training."""
    same = [
        f
        for f in step.fields
        if fits(f.type, parameter.type)
        and (words(f.name) == words(parameter.name) or canonical(f.type) not in TYPE_NAMES)
    ]
    if same and (canonical(same[-1].type) not in ("any", "text") or words(same[-1].name) == words(parameter.name)):
        one = same[-1]
        return Choice(Ref(one.step, (one.name,) if one.name and step.is_field_named else ()), 0.0, _UNSURE)
    if is_yes_or_no(parameter):
        return None
    if parameter.enum:
        said = [
            o for o in parameter.enum if re.search(rf"(?<!\w){re.escape(o)}(?!\w)", step.saying.text, re.IGNORECASE)
        ]
        return Choice(said[0], 0.0, _UNSURE) if len(said) == 1 else None
    spoken = step.saying.first(parameter, step.taken)
    if spoken is None:
        return None
    step.taken.append((spoken.start, spoken.end))
    return Choice(spoken.value, 0.0, _UNSURE)
