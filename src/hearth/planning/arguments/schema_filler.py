"""Fills arguments of plan steps for unseen tools: takes words of the request in the form that their types ask for.

Values come only from the request (words of it, or what typed finders read there), a parameter's own options, and the
results of earlier steps; each fits its parameter's type, and what cannot be found is reported as missing, never
guessed. With the trained reader the choice is learned; without it (its file or the encoder's package is missing) typed
finders alone fill what they can. Not covered: values that must be computed, lists given in several places, records.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hearth.errors import ConfigError, MissingExtraError
from hearth.formats.plan_validation import canonical, fits
from hearth.models.encoder.lora_encoder import Array
from hearth.models.encoder.sentence_encoder import MiniLMEncoder
from hearth.models.span_extractor import ABSENT, GIVEN, NO, OPTION, SPAN, TURN, YES, Answer, SpanReader
from hearth.planning.arguments.slot_questions import Field, Likeness, fields_of, form, is_yes_or_no, match_text, words
from hearth.planning.arguments.value_extraction import Saying
from hearth.types import TYPE_NAMES, Argument, Context, Demonstration, Parameter, Ref, ToolSpec

ADAPTER_FILE = Path(__file__).parents[2] / "data" / "reader.npz"
_VISIBLE_CHARACTERS = 8000
_MOST_MISSING = 0.97
"""A required parameter is taken as missing when the reader is at least this sure that nothing was said."""
_LEAST_OPTIONAL = 0.5
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


@dataclass(frozen=True, slots=True)
class _Choice:
    value: Argument
    confidence: float
    place: tuple[int, int] | None = None
    """Place of free words."""


@dataclass(slots=True)
class _Step:
    """State of filling one call."""

    spec: ToolSpec
    saying: Saying
    fields: Sequence[Field]
    signs: Array
    is_field_named: bool
    taken: list[tuple[int, int]] = field(default_factory=list)


class Filler:
    """Fills the arguments of plans. May be used from several threads at once."""

    def __init__(self, reader: SpanReader | None, likeness: Likeness | None, *, is_field_named: bool = True) -> None:
        """Keep the reader; without one, finders alone are used. `likeness` is needed with a reader.

        Args:
            is_field_named: False refers to an earlier result as a whole (`<node-0>`), as some data sets do.
        """
        self._reader = reader
        self._likeness = likeness
        self._is_field_named = is_field_named
        self._vectors: dict[str, Array] = {}

    @classmethod
    def open(cls, cache_dir: Path | None = None, *, adapter: Path = ADAPTER_FILE, n_threads: int = 0) -> Filler:
        """Load the reader; when its file or the encoder's package is missing, finders alone are used.

        Args:
            cache_dir: As for the encoder.
            n_threads: 0 takes the machine's cores, at most four.
        """
        try:
            reader = SpanReader.open(adapter, cache_dir, n_threads=n_threads)
            return cls(reader, Likeness(MiniLMEncoder.open(cache_dir)))
        except (MissingExtraError, ConfigError):
            return cls(None, None)

    def referring_like(self, demonstrations: Iterable[Demonstration]) -> Filler:
        """Return a filler that refers as `demonstrations` do: to whole results when none names a field."""
        refs = [ref for d in demonstrations for step in d.plan.steps for ref in step.refs()]
        is_field_named = not refs or any(ref.path for ref in refs)
        return Filler(self._reader, self._likeness, is_field_named=is_field_named)

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
        return [self._filled(steps, k, saying) for k in range(len(steps))]

    def _filled(self, steps: Sequence[ToolSpec], place: int, saying: Saying) -> Filled:
        spec = steps[place]
        if not spec.parameters:
            return Filled({}, {})
        fields: Sequence[Field] = fields_of(steps, place)
        signs = np.zeros((len(spec.parameters), len(fields), 1), np.float32)
        if self._likeness is not None:
            fields, signs = self._likeness.fields(spec, fields)
        step = _Step(spec, saying, fields, signs, self._is_field_named)
        if self._reader is None:
            chosen = {p.name: _found(p, step) for p in sorted(spec.parameters, key=lambda p: not p.is_required)}
        else:
            answers = self._reader.read(form(spec, fields), saying.text, signs)
            chosen = _read_all(spec.parameters, answers, step)
        arguments: dict[str, Argument] = {}
        confidences: dict[str, float] = {}
        missing = []
        for parameter in spec.parameters:
            choice = chosen[parameter.name]
            if choice is not None:
                arguments[parameter.name] = choice.value
                confidences[parameter.name] = choice.confidence
            elif parameter.is_required:
                missing.append(parameter.name)
        return Filled(arguments, confidences, tuple(missing))

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

    def _asked(self, spec: ToolSpec, text: str) -> float:
        """Score how far the text holds what a tool requires; 0 is in full."""
        if self._reader is None:
            return 0.0
        answers = self._reader.read(form(spec), text)
        required = [(p, a) for p, a in zip(spec.parameters, answers) if p.is_required]
        if not required:
            return 0.0
        said = sum(math.log1p(-min(math.exp(float(a.kinds[ABSENT])), 0.9999)) for _, a in required)
        sure = sum(_sureness(p, a) for p, a in required)
        return (_W_ASKED * said + _W_SURE * sure) / len(required)


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


def _read_all(parameters: Sequence[Parameter], answers: Sequence[Answer], step: _Step) -> dict[str, _Choice | None]:
    """Read every argument; of two with the same words, the less sure one looks elsewhere first."""
    chosen = {p.name: _read(p, a, step) for p, a in zip(parameters, answers)}
    order = sorted(zip(parameters, answers), key=lambda pa: -_sure(chosen[pa[0].name]))
    for parameter, answer in order:
        choice = chosen[parameter.name]
        if choice is None or choice.place is None:
            continue
        if any(choice.place[0] < b and choice.place[1] > a for a, b in step.taken):
            choice = chosen[parameter.name] = _read(parameter, answer, step)
        if choice is not None and choice.place is not None:
            step.taken.append(choice.place)
    return chosen


def _sure(choice: _Choice | None) -> float:
    return choice.confidence if choice is not None else 0.0


def _read(parameter: Parameter, answer: Answer, step: _Step) -> _Choice | None:
    """Return the argument that the reader's answer leads to; None when it is not given."""
    chances = np.exp(answer.kinds.astype(np.float64))
    able = _able(parameter, step)
    total = sum(chances[k] for k in (ABSENT, *able)) or 1.0
    p_absent = float(chances[ABSENT] / total)
    if p_absent > (_MOST_MISSING if parameter.is_required else 1 - _LEAST_OPTIONAL):
        return None
    choices = {kind: _of_kind(kind, parameter, answer, step) for kind in able if chances[kind] > _LEAST_KIND}
    if not parameter.is_required and choices.get(max(able, key=lambda k: chances[k])) is None:
        return None
    found = [(chances[kind] * choice.confidence, kind, choice) for kind, choice in choices.items() if choice]
    if not found:
        return None
    _, kind, choice = max(found, key=lambda one: one[0])
    sure = float(chances[kind] / max(1e-9, total - chances[ABSENT]))
    return _Choice(choice.value, round(min(1.0, sure * choice.confidence * (1 - p_absent)), 4), choice.place)


def _able(parameter: Parameter, step: _Step) -> tuple[int, ...]:
    """Return the kinds of source a parameter of that type can have."""
    kind = canonical(parameter.type)
    given = (GIVEN,) if step.fields else ()
    if is_yes_or_no(parameter):
        return (YES, NO, *given)
    if parameter.enum:
        return (OPTION, *given)
    inner = kind[5:-1] if kind.startswith("list[") else kind
    return (SPAN, *given) if inner in TYPE_NAMES else given


def _of_kind(kind: int, parameter: Parameter, answer: Answer, step: _Step) -> _Choice | None:
    if kind in (YES, NO):
        return _Choice(_truth(parameter, kind == YES), 1.0)
    if kind == OPTION:
        if not len(answer.options):
            return None
        best = int(np.argmax(answer.options))
        return _Choice(parameter.enum[best], float(np.exp(answer.options[best])))
    if kind == GIVEN:
        return _given(parameter, answer.given, step)
    spoken = step.saying.best(parameter, answer, step.taken)
    if spoken is None:
        return None
    is_free = canonical(parameter.type) in ("text", "any")
    return _Choice(spoken.value, spoken.confidence, (spoken.start, spoken.end) if is_free else None)


def _truth(parameter: Parameter, is_yes: bool) -> Argument:
    if not parameter.enum:
        return is_yes
    return next(option for option in parameter.enum if option.lower() == str(is_yes).lower())


def _given(parameter: Parameter, scores: Array, step: _Step) -> _Choice | None:
    """Return the likeliest field of an earlier result that fits."""
    n = len(scores)
    fitting = [j for j, one in enumerate(step.fields[:n]) if fits(one.type, parameter.type) or not step.is_field_named]
    if not fitting:
        return None
    if step.is_field_named:
        best = max(fitting, key=lambda j: float(scores[j]))
        one = step.fields[best]
        return _Choice(Ref(one.step, (one.name,) if one.name else ()), float(np.exp(scores[best])))
    by_step: dict[int, float] = {}
    for j in fitting:
        by_step[step.fields[j].step] = by_step.get(step.fields[j].step, 0.0) + float(np.exp(scores[j]))
    likeliest = max(by_step, key=lambda k: by_step[k])
    return _Choice(Ref(likeliest), min(1.0, by_step[likeliest]))


# ── Finders alone ─────────────────────────────────────────────────────────────────────────────────────────

_UNSURE = 0.3


def _found(parameter: Parameter, step: _Step) -> _Choice | None:
    """Find a value with the typed finders, without training."""
    same = [
        f
        for f in step.fields
        if fits(f.type, parameter.type)
        and (words(f.name) == words(parameter.name) or canonical(f.type) not in TYPE_NAMES)
    ]
    if same and (canonical(same[-1].type) not in ("any", "text") or words(same[-1].name) == words(parameter.name)):
        one = same[-1]
        return _Choice(Ref(one.step, (one.name,) if one.name and step.is_field_named else ()), _UNSURE)
    if is_yes_or_no(parameter):
        return None
    if parameter.enum:
        said = [
            o for o in parameter.enum if re.search(rf"(?<!\w){re.escape(o)}(?!\w)", step.saying.text, re.IGNORECASE)
        ]
        return _Choice(said[0], _UNSURE) if len(said) == 1 else None
    spoken = step.saying.first(parameter, step.taken)
    if spoken is None:
        return None
    step.taken.append((spoken.start, spoken.end))
    return _Choice(spoken.value, _UNSURE)
