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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from hearth.errors import ConfigError, MissingExtraError
from hearth.formats.plan_validation import canonical, fits
from hearth.models.encoder.lora_encoder import Array
from hearth.models.encoder.sentence_encoder import MiniLMEncoder
from hearth.models.span_extractor import ABSENT, GIVEN, NO, OPTION, SPAN, TURN, YES, Answer, Reading, SpanReader
from hearth.planning.arguments.joint_decoding import Choice, Chosen, Evidence, choose, choose_each, n_calls
from hearth.planning.arguments.number_readings import NUMBERS
from hearth.planning.arguments.slot_questions import (
    Field,
    Likeness,
    choices_of,
    fields_of,
    form,
    is_yes_or_no,
    match_text,
    words,
)
from hearth.planning.arguments.value_extraction import Saying
from hearth.types import TYPE_NAMES, Argument, Context, Demonstration, Parameter, Ref, ToolSpec

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
