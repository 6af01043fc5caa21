"""Make exercises for the argument reader from calls of public data with the places of their values, varied each time.

Public data hold hardly any "no" and few corrected values, so both are made here from sentences written for Hearth: a
yes-or-no parameter is added to a real call and affirmed, denied or corrected in the conversation; a value said is
replaced by a later one. Everything follows from the seed of the generator passed in.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hearth.formats.plan_json import decode_argument, read_jsonl
from hearth.language.values.slots import find_slots
from hearth.models.span_extractor import ABSENT, GIVEN, NO, OPTION, SPAN, YES, Form
from hearth.planning.arguments.slot_questions import Field, fields_of, is_yes_or_no, question, tool_text, words
from hearth.types import Context, Parameter, Ref, ToolSpec

Span = tuple[int, int]
_NOW = dt.datetime(2019, 3, 1, 9, 0, tzinfo=dt.UTC)
"""Date on which the public conversations take place; it only decides which words are numbers and dates."""


@dataclass(frozen=True, slots=True)
class Told:
    """Right answer for one parameter."""

    kind: int
    """Index in `models.span_extractor.KINDS`; -1 if the data do not say."""
    spans: tuple[Span, ...] = ()
    """Every right mention, as characters of the text; empty if the value is not said word for word. For a yes or no,
    the words that say so."""
    option: int = -1
    fields: tuple[int, ...] = ()
    """Right places in the sample's fields."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One call and the sources of its arguments."""

    spec: ToolSpec
    text: str
    told: Mapping[str, Told]
    """Answers by parameter; parameters not named are absent."""
    fields: tuple[Field, ...] = ()
    group: str = ""
    """Service or data set that it belongs to."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """A sample as varied for one reading."""

    form: Form
    text: str
    told: tuple[Told, ...]
    parameters: tuple[Parameter, ...]
    sample: Sample
    is_fit: bool = True
    """False: the form belongs to another tool, and only the fit is taught."""


@dataclass(slots=True)
class Corpus:
    """All samples, and the values that their variation draws from."""

    samples: list[Sample]
    tools: dict[str, ToolSpec]
    values: dict[str, list[str]] = field(default_factory=dict)
    """Values said somewhere, by parameter name."""


# ── Reading the data ──────────────────────────────────────────────────────────────────────────────────────


def read_samples(path: Path, tools: Mapping[str, ToolSpec], group: str = "") -> list[Sample]:
    """Read every call of a file of plans, with the steps before it, except calls of tools without description."""
    found: list[Sample] = []
    for _, line in read_jsonl(path):
        found += samples_of(line, tools, group)
    return found


def samples_of(line: Mapping[str, Any], tools: Mapping[str, ToolSpec], group: str = "") -> list[Sample]:
    """Return every call of one line of a file of plans."""
    nodes = line["task_nodes"]
    now = dt.datetime.fromisoformat(line["now"]) if line.get("now") else _NOW
    specs = [tools.get(node["task"]) or ToolSpec(node["task"], "") for node in nodes]
    found = []
    text = str(line["user_request"])
    for place, node in enumerate(nodes):
        spec = specs[place]
        if not spec.parameters or node["task"] not in tools:
            continue
        fields = tuple(fields_of(specs, place))
        told = {}
        for argument in node["arguments"]:
            parameter = spec.parameter(argument["name"])
            if parameter is not None:
                values = list(dict.fromkeys(map(json.dumps, [argument["value"], *argument.get("accept", ())])))
                told[parameter.name] = _told(parameter, [json.loads(v) for v in values], text, fields, now)
        found.append(Sample(spec, text, told, fields, group or str(node["task"]).partition(".")[0]))
    return found


def _told(parameter: Parameter, values: Sequence[Any], text: str, fields: Sequence[Field], now: dt.datetime) -> Told:
    decoded = decode_argument(values[0])
    if isinstance(decoded, list) and len(decoded) == 1 and isinstance(decoded[0], Ref):
        decoded = decoded[0]  # a list of one
    if isinstance(decoded, Ref):
        name = decoded.path[0] if decoded.path else None
        right = [j for j, f in enumerate(fields) if f.step == decoded.step and name in (None, f.name)]
        right = right or [j for j, f in enumerate(fields) if f.step == decoded.step]
        return Told(GIVEN, fields=tuple(right))
    if "<node-" in json.dumps(values[0]):
        return Told(-1)
    if is_yes_or_no(parameter):
        answer = str(values[0]).lower()
        return Told({"true": YES, "false": NO}.get(answer, -1))
    if parameter.enum:
        for value in values:
            if str(value) in parameter.enum:
                return Told(OPTION, option=parameter.enum.index(str(value)))
        return Told(-1)
    return Told(SPAN, _mentions(values, text, now))


def _mentions(values: Sequence[Any], text: str, now: dt.datetime) -> tuple[Span, ...]:
    found: set[Span] = set()
    for value in values:
        if isinstance(value, list):
            found.update(_list_mention(value, text))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found.update(said(str(value), text))
            if isinstance(value, float) and value.is_integer():
                found.update(said(str(int(value)), text))
    if not found and len(text) < 4000:
        found.update(_meant(values, text, now))
    return tuple(sorted(found))


def said(value: str, text: str) -> list[Span]:
    """Return every place where the value stands as whole words, whatever its case."""
    if not value.strip():
        return []
    return [m.span() for m in re.finditer(rf"(?<!\w){re.escape(value.strip())}(?!\w)", text, re.IGNORECASE)]


def _list_mention(values: Sequence[Any], text: str) -> list[Span]:
    """Return the span from the first item to the last, if all are said near each other."""
    places = [said(str(value), text) for value in values]
    if not values or not all(places):
        return []
    best = None
    for start, end in places[0]:
        first, last = start, end
        for others in places[1:]:
            near = min(others, key=lambda span: abs(span[0] - last))
            first, last = min(first, near[0]), max(last, near[1])
        if best is None or last - first < best[1] - best[0]:
            best = (first, last)
    longest = sum(len(str(v)) for v in values) + 12 * len(values)
    return [best] if best is not None and best[1] - best[0] <= longest else []


def _meant(values: Sequence[Any], text: str, now: dt.datetime) -> list[Span]:
    """Return spans of typed values said in other words: a date, a number in words, a quantity with its unit."""
    wanted = {str(v).lower() for v in values} | {
        repr(float(v)) for v in values if isinstance(v, int | float) and not isinstance(v, bool)
    }
    found = []
    for slot in find_slots(text, now, Context()):
        views = {str(v).lower() for v in slot.views.values()}
        views |= {repr(float(v)) for v in slot.views.values() if isinstance(v, int | float)}
        if views & wanted:
            found.append((slot.start, slot.end))
    return found


def pool(samples: Iterable[Sample]) -> dict[str, list[str]]:
    """Collect the values said, by parameter name."""
    values: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        for name, told in sample.told.items():
            values[name].update(sample.text[a:b] for a, b in told.spans)
    return {name: sorted(v) for name, v in sorted(values.items())}


# ── Variation ─────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Variation:
    """Amount of speech added to the data."""

    matters: float = 0.3
    """Chance, tried twice, of adding a yes-or-no parameter to a conversation's own."""
    fates: tuple[int, int, int, int] = (3, 2, 4, 2)
    """Odds that it is left unsaid, affirmed, denied, or said and then reversed."""
    turned: tuple[int, int] = (1, 2)
    """Odds that a reversed answer ends as yes and as no."""


PLAIN = Variation()


def exercise(sample: Sample, corpus: Corpus, rng: random.Random, variation: Variation = PLAIN) -> Exercise:
    """Vary a sample: drop parts of its description, shuffle it, and sometimes add to the conversation."""
    is_conversation = sample.text.startswith("user:")
    if is_conversation and "\n" not in sample.text and rng.random() < 0.5:
        sample, is_conversation = _bare(sample), False
    if is_conversation and rng.random() < 0.12:
        sample = corrected(sample, corpus.values, rng)
    if is_conversation and rng.random() < 0.12:
        sample = turned_down(sample, rng)
    for _ in range(2):
        if rng.random() < variation.matters * (1.0 if is_conversation else 0.2):
            sample = with_yes_or_no(sample, rng, _taught_matters(), variation)
    return plain_exercise(sample, rng)


def _bare(sample: Sample) -> Sample:
    """Remove `user: ` from a single turn, as a request is written."""
    n = len("user: ")
    told = {name: replace(t, spans=tuple((a - n, b - n) for a, b in t.spans)) for name, t in sample.told.items()}
    return replace(sample, text=sample.text[n:], told=told)


def plain_exercise(sample: Sample, rng: random.Random | None) -> Exercise:
    """Drop and shuffle parts of the description; without `rng`, take the sample unchanged."""
    parameters = list(sample.spec.parameters)
    if rng is not None:
        rng.shuffle(parameters)
        parameters = [p for p in parameters if len(parameters) < 2 or rng.random() > 0.08]
        parameters = parameters or list(sample.spec.parameters)[:1]
    questions, told = [], []
    for parameter in parameters:
        right = sample.told.get(parameter.name, Told(ABSENT))
        if rng is not None and parameter.enum and not is_yes_or_no(parameter):
            order = list(range(len(parameter.enum)))
            rng.shuffle(order)
            if right.option >= 0:
                right = replace(right, option=order.index(right.option))
            parameter = replace(parameter, enum=tuple(parameter.enum[k] for k in order))
        is_named = rng is None or rng.random() > 0.2
        is_described = rng is None or rng.random() > 0.15
        questions.append(question(parameter, is_named=is_named, is_described=is_described))
        told.append(right)
    tool = "" if rng is not None and rng.random() < 0.25 else tool_text(sample.spec)
    form = Form(tool, tuple(questions), tuple(f.text for f in sample.fields))
    return Exercise(form, sample.text, tuple(told), tuple(parameters), sample)


def other_tool(sample: Sample, spec: ToolSpec) -> Exercise:
    """Combine the sample's text with the form of a tool it does not ask for."""
    form = Form(tool_text(spec), tuple(question(p) for p in spec.parameters))
    told = tuple(Told(-1) for _ in spec.parameters)
    return Exercise(form, sample.text, told, spec.parameters, sample, is_fit=False)


_CHANGES = (
    "Actually, change the {name} to {value}.",
    "Sorry, I meant {value} for the {name}.",
    "No, make the {name} {value} instead.",
    "Wait, the {name} should be {value}.",
    "I changed my mind, {value} for the {name} please.",
    "Let's make that {value} as the {name}.",
)
_BARE_CHANGES = ("No, make that {value}.", "Actually, {value} instead.", "Sorry, I meant {value}.", "Rather {value}.")


def corrected(sample: Sample, values: Mapping[str, Sequence[str]], rng: random.Random) -> Sample:
    """Replace one value said before by another at the end."""
    able = [n for n, t in sample.told.items() if t.kind == SPAN and t.spans and len(values.get(n, ())) > 3]
    if not able:
        return sample
    name = rng.choice(able)
    old = {sample.text[a:b].lower() for a, b in sample.told[name].spans}
    value = rng.choice(list(values[name]))
    if value.lower() in old or said(value, sample.text):
        return sample
    is_alone = sum(t.kind == SPAN for t in sample.told.values()) == 1
    form = rng.choice(_BARE_CHANGES if is_alone and rng.random() < 0.6 else _CHANGES)
    text = f"{sample.text}{_joint(sample.text, rng)}{form.format(name=words(name), value=value)}"
    start = text.rindex(value)
    told = {**sample.told, name: Told(SPAN, ((start, start + len(value)),))}
    return replace(sample, text=text, told=told)


def _joint(text: str, rng: random.Random) -> str:
    """Return the text between the last turn and the user's addition."""
    if text.rpartition("\n")[2].startswith("agent:"):
        return "\nuser: "
    if rng.random() < 0.5:
        return rng.choice(["\nagent: Anything else?\nuser: ", "\nagent: Is that all?\nuser: Almost. "])
    return " "


_NOS = (
    "Actually, no {noun} please.",
    "I don't need {noun} after all.",
    "No {noun}, thanks.",
    "And it doesn't need {noun}.",
    "Please leave out {noun}.",
    "I'd rather not have {noun}.",
    "Without {noun}, please.",
    "Forget about {noun}, I don't want that.",
)


def turned_down(sample: Sample, rng: random.Random) -> Sample:
    """Add a "no" to one of the tool's own yes-or-no parameters at the end."""
    able = [p for p in sample.spec.parameters if is_yes_or_no(p)]
    if not able:
        return sample
    parameter = rng.choice(able)
    noun = re.sub(r"^(?:is|has|offers|serves|with|add|includes?) ", "", words(parameter.name))
    text = f"{sample.text}{_joint(sample.text, rng)}"
    refusal = rng.choice(_NOS).format(noun=noun)
    told = Told(NO, ((len(text), len(text) + len(refusal)),))
    return replace(sample, text=text + refusal, told={**sample.told, parameter.name: told})


def with_yes_or_no(
    sample: Sample, rng: random.Random, matters: Sequence[Matter], variation: Variation = PLAIN
) -> Sample:
    """Add a yes-or-no parameter from `matters` to the tool's own, and answer it in the text or leave it unsaid."""
    matter = rng.choice(matters)
    if sample.spec.parameter(matter.name) is not None or re.search(matter.word, sample.text, re.IGNORECASE):
        return sample
    fate = rng.choices(["unsaid", "yes", "no", "turned"], variation.fates)[0]
    is_enum = rng.random() < 0.6
    parameter = Parameter(
        matter.name,
        "enum" if is_enum else "boolean",
        matter.description if rng.random() < 0.85 else "",
        is_required=fate != "unsaid" and rng.random() < 0.35,
        enum=("True", "False") if is_enum else (),
    )
    spec = replace(sample.spec, parameters=(*sample.spec.parameters, parameter))
    sample = replace(sample, spec=spec)
    if fate == "unsaid":
        return sample
    answer = {"yes": YES, "no": NO}.get(fate) or rng.choices([YES, NO], variation.turned)[0]
    phrases, others = (matter.yes, matter.no) if answer == YES else (matter.no, matter.yes)
    text, told = sample.text, sample.told
    if fate == "turned":
        text, told, _ = _said_within(text, told, _sentence(rng.choice(others), rng), rng)
        text += _joint(text, rng) + rng.choice(["Actually, ", "On second thought, ", "Sorry, ", "No wait, "])
        words_said = rng.choice(phrases) + "."
        place = len(text)
        text += words_said
    elif text.startswith("user:") and rng.random() < 0.4:
        words_said = rng.choice(_CONSENTS if answer == YES else _REFUSALS)
        if rng.random() < 0.35:
            words_said = f"{words_said.rstrip('.')}, {rng.choice(phrases)}."
        joint = "" if text.rpartition("\n")[2].startswith("user:") else "\nuser: Okay."
        text = f"{text}{joint}\nagent: {matter.question}\nuser: "
        place = len(text)
        text += words_said
    else:
        words_said = _sentence(rng.choice(phrases), rng)
        text, told, place = _said_within(text, told, words_said, rng)
    right = Told(answer, ((place, place + len(words_said)),))
    return replace(sample, text=text, told={**told, matter.name: right})


_CONSENTS = (
    "Yes please.",
    "Yes.",
    "Sure.",
    "That would be great.",
    "Yeah.",
    "Yes, do that.",
    "Okay, yes.",
    "Of course.",
)
_REFUSALS = ("No.", "No thanks.", "Not this time.", "No, that's not needed.", "Nope.", "I'd rather not.", "No need.")
_OPENINGS = ("", "", "", "Also, ", "And ", "Please note: ", "By the way, ", "One more thing, ", "I want it ")


def _sentence(phrase: str, rng: random.Random) -> str:
    opening = rng.choice(_OPENINGS)
    if opening == "I want it " and not re.match(r"with|without|no |private|public", phrase):
        opening = ""
    sentence = f"{opening}{phrase}."
    return sentence[0].upper() + sentence[1:]


def _said_within(
    text: str, told: Mapping[str, Told], sentence: str, rng: random.Random
) -> tuple[str, Mapping[str, Told], int]:
    """Add the sentence at the end of a turn; return the text, the answers with later spans moved, and the sentence's
    place."""
    ends = [m.start() for m in re.finditer(r"\n|\Z", text)]
    users = [
        e for e in ends if text[text.rfind("\n", 0, e) + 1 : e].startswith("user:") or not text.startswith("user:")
    ]
    agents = [e for e in ends if e not in users]
    at = rng.choice(agents[-1:] if agents and rng.random() < 0.3 else users)
    added = f" {sentence}"
    moved = {
        name: replace(one, spans=tuple((a + len(added), b + len(added)) if a >= at else (a, b) for a, b in one.spans))
        for name, one in told.items()
    }
    return text[:at] + added + text[at:], moved, at + 1


@dataclass(frozen=True, slots=True)
class Matter:
    """A yes-or-no parameter with ways to say either; written for Hearth."""

    name: str
    description: str
    word: str
    """Pattern of texts that speak of it already."""
    question: str
    yes: tuple[str, ...]
    no: tuple[str, ...]


@functools.cache
def read_matters() -> tuple[Matter, ...]:
    lines = json.loads((Path(__file__).parent / "data" / "reader_matters.json").read_text(encoding="utf-8"))
    return tuple(
        Matter(m["name"], m["description"], m["word"], m["question"], tuple(m["yes"]), tuple(m["no"])) for m in lines
    )


def held_matters() -> tuple[Matter, ...]:
    """Return one matter in six, never trained on, to measure generalisation to matters never seen."""
    return read_matters()[5::6]


@functools.cache
def _taught_matters() -> tuple[Matter, ...]:
    held = {matter.name for matter in held_matters()}
    return tuple(matter for matter in read_matters() if matter.name not in held)
