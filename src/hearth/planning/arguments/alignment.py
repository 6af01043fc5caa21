"""Which words of a request explain which argument of its plan, in shipped demonstrations too."""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, TypeAlias

from hearth.formats.plans import plan_to_json
from hearth.formats.tool_signature import parse_duration
from hearth.language.reading import Utterance
from hearth.language.thesaurus import KNOWN_WORDS
from hearth.language.tokens import Clause, Slot, listed
from hearth.types import Argument, Context, Demonstration, Entity, Plain, Plan, Ref

# ── Alignment ─────────────────────────────────────────────────────────────────────────────────────────────
# Aligns a demonstration: finds, for each argument of its plan, where in the request it was said.
#
# A lesson keeps the form of the request (words, with each typed value replaced by its kind) and, per step, the source
# of every argument: words said, a slot's value, a constant, or an earlier result. Values themselves are forgotten, so
# that a lesson can be bound to a new request without anything of the old one leaking in. Lessons are plain data and
# round-trip through JSON.

LESSON_VERSION = 8
"""Version stored beside each lesson; raised when the form of a lesson changes, so that old ones are aligned anew."""

OUTSIDE = -1
"""Step number of a result from an earlier clause: -1 is the last step with that tool, -2 the one before."""

ANY_TIME = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)
"""Time used for demonstrations in which nothing depends on the time."""

# ── A request as tokens ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Token:
    word: str
    """Word in lower case; `<kind>` for a slot."""
    start: int
    end: int
    slot: Slot | None = None


_WORD = re.compile(r"[^\W_]+(?:[-_.@/'’](?!s\b)[^\W_]+)*(?:[^\W_]['’](?=\s|$))?|['’]s\b|[^\w\s]|_+", re.UNICODE)
MAX_TOKENS = 6_000
"""Number of tokens read of a request; it bounds the time binding takes."""


def tokens_of(text: str, slots: Sequence[Slot], start: int = 0, end: int | None = None) -> tuple[Token, ...]:
    """Return the words of `text[start:end]` in order, each slot as one token; a name in capitals is one `<name>`."""
    stop = len(text) if end is None else end
    found: list[Token] = []
    place = start
    for slot in [*(s for s in slots if s.start >= start and s.end <= stop), None]:
        limit = stop if slot is None else slot.start
        for match in _WORD.finditer(text, place, limit):
            word = match[0].lower().replace("’", "'")
            before = found[-1] if found else None
            if (
                before
                and match[0][:1].isupper()
                and len(word) > 1
                and word not in KNOWN_WORDS
                and before.word not in ".!?"
            ):
                if before.word == "<name>" and before.slot is None and match.start() == before.end + 1:
                    found[-1] = Token("<name>", before.start, match.end())
                else:
                    found.append(Token("<name>", match.start(), match.end()))
            else:
                found.append(Token(word, match.start(), match.end()))
            if len(found) >= MAX_TOKENS:
                return tuple(found)
        if slot is not None:
            found.append(Token(slot_word(slot), slot.start, slot.end, slot))
            place = slot.end
    return tuple(found)


def slot_word(slot: Slot) -> str:
    """Return a slot's kind as a word of the request's form, a bare day as `<day>` and a clock time as `<time>`."""
    if slot.kind == "time":
        return "<time>" if slot.is_timed else "<day>"
    return "<name>" if slot.kind in ("person", "unknown_person") else f"<{slot.kind}>"


_STAND_INS = {
    "<time>": "tomorrow at nine",
    "<day>": "tomorrow",
    "<duration>": "ten minutes",
    "<name>": "Anna",
    "<email>": "anna@example.org",
    "<phone>": "555 1234",
    "<url>": "example.org",
    "<file>": "file.txt",
    "<quoted>": '"something"',
    "<number>": "5",
    "<quantity>": "5 km",
    "<unit>": "km",
    "<expression>": "3 + 4",
}
SLOT_WORDS = tuple(_STAND_INS)


def form_of(text: str, tokens: Sequence[Token], steps: Sequence[LessonStep] = ()) -> str:
    """Write a request for the encoder: plain words, a stand-in for each value, `something` for each span said."""
    hidden = {
        place
        for step in steps
        for source in flat(step.sources)
        if isinstance(source, Said)
        for place in range(source.first, source.last)
    }
    parts: list[str] = []
    for place, token in enumerate(tokens):
        if token.word.startswith("<") and len(token.word) > 1:
            parts.append(_STAND_INS.get(token.word, token.word.strip("<>")))
        elif place not in hidden:
            parts.append(text[token.start : token.end])
        elif place - 1 not in hidden:
            parts.append("something")
    return " ".join(parts).replace(" 's", "'s").replace(" ?", "?").replace(" ,", ",")


# ── Where an argument comes from ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Said:
    """Words of the request as they stand: tokens `first` up to, not including, `last`."""

    first: int
    last: int
    is_list: bool = False
    """True when the words name several things (`milk, eggs and bread`)."""


@dataclass(frozen=True, slots=True)
class Slotted:
    """The value of a slot, in one of these views (several when they were equal)."""

    token: int
    views: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that was not said: it belongs to the way of speaking."""

    value: Plain


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an earlier step."""

    step: int
    path: tuple[str, ...]
    tool: str


@dataclass(frozen=True, slots=True)
class Several:
    """A list, element by element."""

    items: tuple[Source, ...]


Source: TypeAlias = Said | Slotted | Constant | Result | Several


@dataclass(frozen=True, slots=True)
class LessonStep:
    tool: str
    sources: Mapping[str, Source]
    after: tuple[int, ...] = ()
    is_many: bool = False
    """True when it stands for one or several similar steps whose results form one list (`mail Anna, Ben and Mia`)."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The content that one demonstration, or one clause of it, teaches."""

    demonstration: str
    text: str
    """Text of the request or clause, as written."""
    form: str
    """Form of it: plain words, a stand-in for each value and `something` for each span that was said."""
    plain: str
    """The same with all words that were said: what the form of a request is before its plan is known."""
    words: tuple[str, ...]
    steps: tuple[LessonStep, ...]
    """Steps of the plan; empty for a lesson that teaches a refusal."""
    is_part: bool = False
    """True for a clause of a longer request."""
    n_clauses: int = 1

    @property
    def has_outside(self) -> bool:
        return any(isinstance(s, Result) and s.step <= OUTSIDE for step in self.steps for s in flat(step.sources))


def flat(sources: Mapping[str, Source]) -> Iterator[Source]:
    """Return every source, those in lists included."""
    for source in sources.values():
        if isinstance(source, Several):
            yield from source.items
        else:
            yield source


# ── Explaining a demonstration ────────────────────────────────────────────────────────────────────────────


def explain(demonstration: Demonstration) -> tuple[Lesson, ...]:
    """Return a demonstration's lessons: the whole request, then its clauses when each has steps of its own."""
    text = demonstration.request
    said = Utterance(text, demonstration.now or ANY_TIME, context=Context(entities=named_in(demonstration.plan)))
    parts, tokens = said.acts, tokens_of(text, said.slots)
    steps = _folded(_explained_steps(tokens, text, demonstration.plan))
    words = tuple(token.word for token in tokens)
    form = form_of(text, tokens, steps)
    whole = Lesson(demonstration.id, text, form, form_of(text, tokens), words, steps, n_clauses=max(1, len(parts)))
    return (whole, *_clause_lessons(whole, tokens, parts, demonstration.plan))


def named_in(plan: Plan) -> tuple[Entity, ...]:
    """Return short capitalised arguments as names, even where a capital alone would not show it (`Karin moved`)."""
    found: dict[str, Entity] = {}
    for step in plan.steps:
        for value in step.arguments.values():
            words = value.split() if isinstance(value, str) else []
            if 0 < len(words) <= 3 and words[0] not in ("The", "A") and all(word[:1].isupper() for word in words):
                found[" ".join(words)] = Entity(" ".join(words), "person")
    return tuple(found.values())


def _explained_steps(tokens: Sequence[Token], text: str, plan: Plan) -> list[LessonStep]:
    steps = []
    for step in plan.steps:
        taken: list[tuple[int, int]] = []
        sources = {name: _source(name, value, tokens, text, plan, taken) for name, value in step.arguments.items()}
        steps.append(LessonStep(step.tool, sources, step.after))
    return steps


def _source(
    name: str, value: Argument, tokens: Sequence[Token], text: str, plan: Plan, taken: list[tuple[int, int]]
) -> Source:
    """Find a source of `value` in the request; `taken` are the words used by other arguments of the step."""
    if isinstance(value, Ref):
        return Result(value.step, value.path, plan.steps[value.step].tool)
    if isinstance(value, list):
        said = _said_list(value, tokens, text)
        return said or Several(tuple(_source(name, item, tokens, text, plan, taken) for item in value))
    if isinstance(value, dict):
        return Constant(json.loads(json.dumps(value, default=str)))
    if isinstance(value, str) and value.strip():
        spans = _spans(value, tokens, text)
        free = [s for s in spans if not any(s[0] < b and a < s[1] for a, b in taken)] or spans
        if free:
            taken.append(free[0])
            return Said(*free[0])
    if not isinstance(value, bool) and value is not None:
        slots = ((index, token.slot) for index, token in enumerate(tokens) if token.slot is not None)
        found = [Slotted(index, views) for index, slot in slots if (views := _views_of(slot, value))]
        if found:  # Thursday ends when Friday begins: only an end is read from one, where it can be
            return min(found, key=lambda one: (one.views == ("end",)) != (name == "end"))
    return Constant(value)


def _views_of(slot: Slot, value: Argument) -> tuple[str, ...]:
    """Return the forms in which a slot says a value."""
    views = [*slot.views.items(), *slot.ahead.items()]
    same = [name for name, view in views if _same(view, value) or _is_same_written(name, view, value)]
    return tuple(dict.fromkeys(same))


def _spans(value: str, tokens: Sequence[Token], text: str) -> list[tuple[int, int]]:
    """Return the token ranges that read as `value`; whole slots (a quoted text, a name) count by their meaning."""
    wanted = _squeezed(value)
    found = []
    for first, token in enumerate(tokens):
        if token.slot is not None:
            meant = (token.slot.views.get(name) for name in ("text", "name"))
            if any(isinstance(view, str) and _squeezed(view) == wanted for view in meant):
                found.append((first, first + 1))
                continue
        if not wanted.startswith(_squeezed(text[token.start : token.end])):
            continue
        for last in range(first, len(tokens)):
            said = _squeezed(text[token.start : tokens[last].end])
            if said == wanted:
                found.append((first, last + 1))
            if len(said) >= len(wanted):
                break
    return found


def _said_list(value: Sequence[Argument], tokens: Sequence[Token], text: str) -> Said | None:
    """Find the stretch of the request whose items are exactly `value`."""
    if not value or not all(isinstance(item, str) and item.strip() for item in value):
        return None
    first_spans = _spans(str(value[0]), tokens, text)
    last_spans = _spans(str(value[-1]), tokens, text)
    wanted = [_squeezed(str(item)) for item in value]
    for first, _ in first_spans:
        for _, last in last_spans:
            if first < last and [_squeezed(i) for i in split_items(tokens, first, last, text)] == wanted:
                return Said(first, last, is_list=True)
    return None


FUNCTION_WORDS = frozenset(
    listed(
        "a an the my our your his her their its of to in on at for with and or is are was were be been will would "
        "should could can has have had do does did i you we he she it they that this not no so as by from but if up "
        "out off about"
    )
)
"""Words that carry grammar rather than content."""
_JOINTS = {",", "and", "&", "n", "+", "plus", ";", "or"}


def split_items(tokens: Sequence[Token], first: int, last: int, text: str, *, by_name: bool = False) -> list[str]:
    """Return the things named in a stretch of a request: cut at commas and `and`; a quoted thing stays whole.

    Args:
        by_name: They are people: whoever is known stands with the full name.
    """
    items: list[str] = []
    start: int | None = None
    for index in range(first, last + 1):
        is_joint = index == last or tokens[index].word in _JOINTS
        if not is_joint and start is None:
            start = index
        elif is_joint and start is not None:
            items.append(said_text(tokens, start, index, text, by_name=by_name))
            start = None
    return items


def said_text(tokens: Sequence[Token], first: int, last: int, text: str, *, by_name: bool = True) -> str:
    """Return the words of a stretch as written; for a single quoted text, its content.

    Args:
        by_name: Replace a description of a person (`my husband`) with the name.
    """
    slot = tokens[first].slot
    if last - first == 1 and slot is not None and not slot.is_ambiguous:
        meaning = slot.views.get("text") if slot.kind == "quoted" else slot.views.get("name") if by_name else None
        if isinstance(meaning, str):
            return meaning
    return " ".join(text[tokens[first].start : tokens[last - 1].end].split())


def _squeezed(text: str) -> str:
    return " ".join(text.lower().replace("’", "'").split())


def _is_same_written(name: str, view: Plain, value: Argument) -> bool:
    """Return whether a view says a value that is written otherwise: a phone number, PT36H, "6 * 18.50", a day."""
    if not (isinstance(view, str) and isinstance(value, str)):
        return False
    if name == "duration":
        return _seconds(view) == _seconds(value) is not None
    if name == "start":
        return len(value) == 10 and view[:10] == value
    if name == "expression":
        return _bare_sum(view) == _bare_sum(value)
    return name == "phone" and _is_one_number(view, value)


def _seconds(duration: str) -> float | None:
    try:
        return parse_duration(duration).total_seconds()
    except (ValueError, OverflowError):
        return None


_ZEROS = re.compile(r"\.0+(?!\d)|(?P<kept>\.\d*?[1-9])0+(?!\d)")


def _bare_sum(expression: str) -> str:
    """Return a sum without spaces and without zeros that add nothing."""
    return _ZEROS.sub(r"\g<kept>", "".join(expression.split()))


_N_TELLING_DIGITS = 7


def _is_one_number(view: Plain, value: Argument) -> bool:
    """Return whether two writings are of one phone number: with or without its country, with or without spaces."""
    if not (isinstance(view, str) and isinstance(value, str)):
        return False
    one, other = ("".join(c for c in text if c.isdigit()).lstrip("0") for text in (view, value))
    return min(len(one), len(other)) >= _N_TELLING_DIGITS and (one.endswith(other) or other.endswith(one))


def _same(view: Plain, value: Argument) -> bool:
    if isinstance(view, bool) or isinstance(value, bool):
        return view is value
    if view == value:
        return True
    if not (isinstance(view, str) and isinstance(value, str) and len(view) > 10 and view[:10] == value[:10]):
        return False
    if len(value) == 10:
        return view[11:19] == "00:00:00"
    # The wall-clock time counts: `now` of a demonstration may have an offset in place of a zone.
    return view[10:11] == "T" and view[:19] == value[:19]


# ── Steps that are alike ──────────────────────────────────────────────────────────────────────────────────


def _folded(steps: Sequence[LessonStep]) -> tuple[LessonStep, ...]:
    """Merge steps whose results only fill one list into one step that may stand for any number."""
    group_of: dict[int, int] = {}
    for consumer in steps:
        for source in consumer.sources.values():
            if not isinstance(source, Several):
                continue
            results = [i for i in source.items if isinstance(i, Result)]
            members = [r.step for r in results]
            if (
                len(results) == len(source.items)
                and len({(r.tool, r.path) for r in results}) == 1
                and all(_is_single(steps[k]) and _n_uses(steps, k) == 1 for k in members)
            ):
                group_of.update(dict.fromkeys(members, members[0]))
    place: dict[int, int] = {}
    kept: list[LessonStep] = []
    for index, step in enumerate(steps):
        if group_of.get(index, index) != index:
            place[index] = place[group_of[index]]
            continue
        place[index] = len(kept)
        members = [k for k, first in group_of.items() if first == index]
        if members:
            name = next(iter(step.sources))
            said = Several(tuple(steps[k].sources[name] for k in sorted(members)))
            step = replace(step, is_many=True, sources={name: said if len(members) > 1 else step.sources[name]})
        kept.append(step)
    return tuple(_renumbered(step, place) for step in kept)


def _is_single(step: LessonStep) -> bool:
    return len(step.sources) == 1 and not step.after and isinstance(next(iter(step.sources.values())), Said | Slotted)


def _n_uses(steps: Sequence[LessonStep], index: int) -> int:
    return sum(isinstance(s, Result) and s.step == index for step in steps for s in flat(step.sources)) + sum(
        index in step.after for step in steps
    )


def _renumbered(step: LessonStep, place: Mapping[int, int]) -> LessonStep:
    def moved(source: Source) -> Source:
        if isinstance(source, Result):
            return replace(source, step=place.get(source.step, OUTSIDE))
        if isinstance(source, Several):
            items = tuple(dict.fromkeys(moved(item) for item in source.items))
            return Several(items)
        return source

    sources = {name: moved(source) for name, source in step.sources.items()}
    return replace(step, sources=sources, after=tuple(place[k] for k in step.after if place.get(k, OUTSIDE) >= 0))


# ── Clauses ───────────────────────────────────────────────────────────────────────────────────────────────


def _clause_lessons(whole: Lesson, tokens: Sequence[Token], parts: Sequence[Clause], plan: Plan) -> tuple[Lesson, ...]:
    """Make one lesson per clause, when every clause has steps of its own."""
    if len(parts) < 2 or not whole.steps:
        return ()
    ranges = [_token_range(tokens, part) for part in parts]
    owner = _owners(whole.steps, ranges, [step.text for step in plan.steps], [part.text for part in parts])
    if owner is None or _is_only_written_to(whole.steps, owner):
        return ()
    lessons = []
    for number, (part, (first, last)) in enumerate(zip(parts, ranges)):
        mine = [k for k, clause in enumerate(owner) if clause == number]
        place = {k: i for i, k in enumerate(mine)}
        before = [k for k, clause in enumerate(owner) if clause < number]
        steps = tuple(
            _moved_to_clause(_renumbered(whole.steps[k], place | _outside(whole.steps, before)), first, last)
            for k in mine
        )
        mine_tokens = tokens[first:last]
        words = tuple(token.word for token in mine_tokens)
        form = form_of(whole.text, mine_tokens, steps)
        plain = form_of(whole.text, mine_tokens)
        lessons.append(Lesson(whole.demonstration, part.text, form, plain, words, steps, is_part=True))
    return tuple(lessons)


_ADDRESS = ("email",)


def _is_only_written_to(steps: Sequence[LessonStep], owner: Sequence[int]) -> bool:
    """Return whether a clause does no more than name whom a later one writes to: "email Fiona and attach the plan".

    Alone it would teach that who says "email Fiona" wants to see her card.
    """
    written_to = {
        (owner[source.step], owner[index])
        for index, step in enumerate(steps)
        for value in step.sources.values()
        if isinstance(value, Several)
        for source in value.items
        if isinstance(source, Result) and source.path == _ADDRESS and source.step >= 0
    }
    alone = {clause for clause in owner if owner.count(clause) == 1}
    return any(asked in alone and asked != writing for asked, writing in written_to)


def _outside(steps: Sequence[LessonStep], before: Sequence[int]) -> dict[int, int]:
    """Map each step to its number as a result of an earlier clause: the last with its tool is -1, the one before -2."""
    n_of: dict[str, int] = {}
    place: dict[int, int] = {}
    for index in reversed(before):
        n_of[steps[index].tool] = n_of.get(steps[index].tool, 0) + 1
        place[index] = -n_of[steps[index].tool]
    return place


def _token_range(tokens: Sequence[Token], part: Clause) -> tuple[int, int]:
    inside = [i for i, token in enumerate(tokens) if token.start >= part.start and token.end <= part.end]
    return (inside[0], inside[-1] + 1) if inside else (0, 0)


def _owners(
    steps: Sequence[LessonStep], ranges: Sequence[tuple[int, int]], texts: Sequence[str], parts: Sequence[str]
) -> list[int] | None:
    """Return the clause each step belongs to, or None when a clause has no step or a step spans clauses."""
    owner: list[int | None] = []
    for step in steps:
        said = {_clause_at(ranges, s) for s in flat(step.sources) if isinstance(s, Said | Slotted)}
        if len(said) > 1:
            return None
        owner.append(next(iter(said)) if said else None)
    silent = [index for index in range(len(steps)) if owner[index] is None]
    for index in silent:
        owner[index] = _clause_like(texts[index] if index < len(texts) else "", parts)
    for index in reversed([index for index in silent if owner[index] is None]):
        least = max((owner[s.step] or 0 for s in _results(steps[index])), default=0)
        vacant = [k for k in range(least, len(parts)) if k not in owner]
        owner[index] = vacant[-1] if vacant else least
    settled = [clause for clause in owner if clause is not None]
    if len(settled) < len(steps) or set(settled) != set(range(len(parts))) or _needs_later(steps, settled):
        return None
    return settled


def _needs_later(steps: Sequence[LessonStep], settled: Sequence[int]) -> bool:
    """Return whether a clause would need a result of a later one."""
    return any(
        isinstance(s, Result) and settled[s.step] > settled[index]
        for index, step in enumerate(steps)
        for s in flat(step.sources)
    )


def _results(step: LessonStep) -> list[Result]:
    return [s for s in flat(step.sources) if isinstance(s, Result) and s.step >= 0]


def _clause_like(text: str, parts: Sequence[str]) -> int | None:
    """Return the clause that shares most content words with the text of a step without said arguments."""
    words = set(text.lower().split()) - FUNCTION_WORDS
    shared = [len(words & set(part.lower().split())) for part in parts]
    best = max(shared)
    return shared.index(best) if best > 0 and shared.count(best) == 1 else None


def _clause_at(ranges: Sequence[tuple[int, int]], source: Said | Slotted) -> int:
    token = source.first if isinstance(source, Said) else source.token
    return next((k for k, (first, last) in enumerate(ranges) if first <= token < last), -1)


def _moved_to_clause(step: LessonStep, first: int, last: int) -> LessonStep:
    """Return the step with token numbers counted from the clause's first."""

    def moved(source: Source) -> Source:
        if isinstance(source, Said):
            return replace(source, first=source.first - first, last=min(source.last, last) - first)
        if isinstance(source, Slotted):
            return replace(source, token=source.token - first)
        if isinstance(source, Several):
            return Several(tuple(moved(item) for item in source.items))
        return source

    return replace(step, sources={name: moved(source) for name, source in step.sources.items()})


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────────────────


def lesson_to_json(lesson: Lesson) -> dict[str, Plain]:
    """Convert to plain data with short keys: ten thousand of these are read when needed."""
    return {
        "text": lesson.text,
        "form": lesson.form,
        "plain": lesson.plain,
        "words": list(lesson.words),
        "steps": [
            {
                "tool": step.tool,
                "args": {name: _source_to_json(source) for name, source in step.sources.items()},
                "after": list(step.after),
                "many": step.is_many,
            }
            for step in lesson.steps
        ],
        "part": lesson.is_part,
        "clauses": lesson.n_clauses,
    }


def lesson_from_json(demonstration: str, data: Mapping[str, Any]) -> Lesson:
    """Read a lesson that `lesson_to_json` wrote."""
    return Lesson(
        demonstration,
        data["text"],
        data["form"],
        data["plain"],
        tuple(data["words"]),
        tuple(
            LessonStep(
                step["tool"],
                {name: _source_from_json(source) for name, source in step["args"].items()},
                tuple(step["after"]),
                step["many"],
            )
            for step in data["steps"]
        ),
        data["part"],
        data["clauses"],
    )


def _source_to_json(source: Source) -> list[Plain]:
    match source:
        case Said(first, last, is_list):
            return ["said", first, last, is_list]
        case Slotted(token, views):
            return ["slot", token, list(views)]
        case Constant(value):
            return ["constant", value]
        case Result(step, path, tool):
            return ["result", step, list(path), tool]
        case Several(items):
            return ["several", *(_source_to_json(item) for item in items)]


def _source_from_json(data: Sequence[Any]) -> Source:
    kind, *rest = data
    if kind == "said":
        return Said(*rest)
    if kind == "slot":
        return Slotted(rest[0], tuple(rest[1]))
    if kind == "constant":
        return Constant(rest[0])
    if kind == "result":
        return Result(rest[0], tuple(rest[1]), rest[2])
    return Several(tuple(_source_from_json(item) for item in rest))


# ── Shipped lessons ───────────────────────────────────────────────────────────────────────────────────────
# Lessons of the demonstrations that ship, explained once (`training.shipped_vectors_make`), so that no home has to.
#
# A new home learns some seven thousand demonstrations: to explain them takes most of the time, to find them here a
# tenth. Known by a hash of the whole demonstration: one that differs in anything is explained as ever, and so are all
# where the file is damaged or missing.

LESSONS_FILE = "shipped_lessons.jsonl.gz"


def lessons_of(demonstration: Demonstration) -> tuple[Lesson, ...]:
    """Return a demonstration's lessons, as `explain` does."""
    line = _lines().get(_key(demonstration)) if demonstration.source == "shipped" else None
    with contextlib.suppress(ValueError, KeyError, TypeError):
        return tuple(lesson_from_json(demonstration.id, one) for one in json.loads(line or ""))
    return explain(demonstration)


def release_lessons() -> None:
    """Give back the memory of the file (5 MB): a home learns from it once."""
    _lines.cache_clear()


def packed_lessons(demonstrations: Iterable[Demonstration]) -> bytes:
    """Return the file: the version of lessons, then a line each of key and lessons."""
    lines = [str(LESSON_VERSION)]
    for one in demonstrations:
        lessons = json.dumps([lesson_to_json(lesson) for lesson in explain(one)], separators=(",", ":"))
        lines.append(f"{_key(one)} {lessons}")
    return gzip.compress("\n".join(lines).encode(), mtime=0)


@functools.cache
def _lines() -> dict[str, str]:
    """Return the lessons of each key as they stand in the file; none of another version."""
    try:
        version, *lines = gzip.decompress((files("hearth.data") / LESSONS_FILE).read_bytes()).decode().split("\n")
    except (OSError, EOFError, ValueError, zlib.error):
        return {}
    pairs = (line.partition(" ") for line in lines)
    return {key: lessons for key, _, lessons in pairs} if version == str(LESSON_VERSION) else {}


def _key(demonstration: Demonstration) -> str:
    plan = json.dumps(plan_to_json(demonstration.plan), sort_keys=True)
    told = f"{demonstration.id}\n{demonstration.now}\n{demonstration.request}\n{plan}"
    return hashlib.blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()
