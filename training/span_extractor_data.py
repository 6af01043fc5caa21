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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hearth.formats.plans import canonical, decode_argument, read_jsonl
from hearth.language.values.slots import find_slots
from hearth.models.span_extractor import ABSENT, GIVEN, NO, OPTION, SPAN, YES, Form
from hearth.planning.arguments.schema_filler import (
    Field,
    choices_of,
    fields_of,
    is_yes_or_no,
    question,
    tool_text,
    words,
)
from hearth.planning.arguments.value_extraction import Saying
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
    others: tuple[Told, ...] = ()
    """Answers for further calls of the same tool, each to be found as well."""

    def moved(self, move: Callable[[int], int]) -> Told:
        """Return the answer with its places moved."""
        spans = tuple((move(a), move(b - 1) + 1) for a, b in self.spans)
        return replace(self, spans=spans, others=tuple(other.moved(move) for other in self.others))


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
    is_fit: bool = True
    """False: the tool was offered and is not what the text asks for."""


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


OFFERED = "offered"
"""Group of requests that are offered several tools, need several calls, or none."""


def offered_samples(line: Mapping[str, Any], tools: Mapping[str, ToolSpec]) -> list[Sample]:
    """Return a sample for each tool that a line offers: with all its calls, or as one not asked for."""
    calls: dict[str, list[Mapping[str, Any]]] = {name: [] for name in line["tools"]}
    for node in line["task_nodes"]:
        calls[node["task"]].append({a["name"]: [a["value"], *a.get("accept", ())] for a in node["arguments"]})
    text = str(line["user_request"])
    found = []
    for name, made in calls.items():
        told = {}
        for parameter in tools[name].parameters:
            each = [_told_or_left_out(parameter, call.get(parameter.name, [""]), text) for call in made]
            given = [one for one in each if one.kind not in (ABSENT, -1)]
            if given:
                told[parameter.name] = replace(given[0], others=tuple(o for o in given[1:] if o.kind == given[0].kind))
            elif any(one.kind == -1 for one in each):
                told[parameter.name] = Told(-1)
        found.append(Sample(tools[name], text, told, (), OFFERED, is_fit=bool(made)))
    return found


def _told_or_left_out(parameter: Parameter, values: Sequence[Any], text: str) -> Told:
    """Return the answer for a value; one that may be left out (`""`) counts where the text says it."""
    kept = [value for value in values if value != "" and value is not None]
    if len(kept) == len(values):
        return _told(parameter, kept, text, (), _NOW)
    if not kept or is_yes_or_no(parameter):
        return Told(ABSENT)
    told = _told(parameter, kept, text, (), _NOW)
    if told.kind == OPTION:
        return told if any(said(str(value), text) for value in kept) else Told(ABSENT)
    return told if told.spans else Told(ABSENT)


def renumbered(sample: Sample, rng: random.Random) -> Sample:
    """Replace the numbers of a text by others of as many digits, so that places stay and values do not."""
    new: dict[str, str] = {}

    if any(told.kind == OPTION for told in sample.told.values()):
        return sample

    def other(found: re.Match[str]) -> str:
        if found[0] not in new:
            first = rng.choice("123456789") if found[0][0] != "0" else "0"
            new[found[0]] = first + "".join(rng.choice("0123456789") for _ in found[0][1:])
        return new[found[0]]

    return replace(sample, text=re.sub(r"\d+", other, sample.text))


def spoken_samples(path: Path, rng: random.Random) -> list[Sample]:
    """Read people's requests with the texts of their slots: the kinds of slot are the parameters, some unsaid."""
    lines = [line for _, line in read_jsonl(path)]
    kinds = sorted({kind for line in lines for kind in line.get("slots") or {} if not kind.startswith("_")})
    found = []
    for line in lines:
        slots = {k: v for k, v in (line.get("slots") or {}).items() if not k.startswith("_")}
        text = str(line["text"])
        told = {}
        for kind, values in slots.items():
            mentions = [tuple(said(str(value), text)) for value in values]
            if all(mentions):
                told[kind] = Told(SPAN, mentions[0], others=tuple(Told(SPAN, one) for one in mentions[1:]))
        if not told or len(told) < len(slots):
            continue
        unsaid = [kind for kind in rng.sample(kinds, min(3, len(kinds))) if kind not in told]
        parameters = tuple(
            Parameter(kind, "text", is_required=kind in told and rng.random() < 0.5) for kind in (*told, *unsaid)
        )
        found.append(Sample(ToolSpec(str(line["intent"]), "", parameters), text, told, (), "spoken"))
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
    named = [choice.value.casefold() for choice in choices_of(parameter)]
    for value in values:
        if str(value).casefold() in named:
            return Told(OPTION, option=named.index(str(value).casefold()))
    if parameter.enum:
        return Told(-1)
    return Told(SPAN, _mentions(parameter, values, text, now))


def _mentions(parameter: Parameter, values: Sequence[Any], text: str, now: dt.datetime) -> tuple[Span, ...]:
    found: set[Span] = set()
    if canonical(parameter.type) in ("integer", "number") and len(text) < 4000:
        # The places where the value extraction reads the value: percentages, other units and words included.
        for spoken in Saying(text, now, Context()).numbers(parameter):
            if any(spoken.value == value for value in values):
                found.add((spoken.start, spoken.end))
        return tuple(sorted(found))
    for value in values:
        if isinstance(value, list):
            found.update(_list_mention(value, text))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found.update(said(str(value), text))
            if isinstance(value, float) and value.is_integer():
                found.update(said(str(int(value)), text))
    if not found and len(text) < 4000:
        found.update(_meant(values, text, now))
    if not found:  # "Lyon" where "Lyon, France" is the form asked for
        found.update(span for value in values if isinstance(value, str) for span in said(value.partition(",")[0], text))
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
    if not sample.is_fit:
        return other_tool(sample, sample.spec)
    if sample.group == OFFERED and rng.random() < 0.6:
        sample = renumbered(sample, rng)
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
    told = {name: t.moved(lambda at: at - n) for name, t in sample.told.items()}
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
        is_named = rng is None or rng.random() > 0.2
        is_described = rng is None or bool(choices_of(parameter)) or rng.random() > 0.15
        asked = question(parameter, is_named=is_named, is_described=is_described)
        if rng is not None and asked.options:
            order = list(range(len(asked.options)))
            rng.shuffle(order)
            right = _reordered(right, order)
            asked = replace(asked, options=tuple(asked.options[k] for k in order))
        questions.append(asked)
        told.append(right)
    tool = "" if rng is not None and rng.random() < 0.25 else tool_text(sample.spec)
    form = Form(tool, tuple(questions), tuple(f.text for f in sample.fields))
    return Exercise(form, sample.text, tuple(told), tuple(parameters), sample)


def _reordered(told: Told, order: Sequence[int]) -> Told:
    option = order.index(told.option) if told.option >= 0 else -1
    return replace(told, option=option, others=tuple(_reordered(other, order) for other in told.others))


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
    moved = {name: one.moved(lambda place: place + len(added) if place >= at else place) for name, one in told.items()}
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
