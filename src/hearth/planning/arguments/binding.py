"""Fills the steps of a remembered plan with the values of a new request.

Nothing of the old request enters: a value is words of this request, the meaning of one of its slots, the result of an
earlier step, or a constant that belongs to the way of speaking. What cannot be found is reported as missing, never
guessed.
"""

from __future__ import annotations

import datetime as dt
import functools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from hearth.formats.plans import canonical
from hearth.language.reading import DOWN, UP, direction
from hearth.language.tokens import listed
from hearth.language.values.slots import Slot
from hearth.planning.arguments.alignment import (
    FUNCTION_WORDS,
    OUTSIDE,
    Constant,
    LessonStep,
    Result,
    Said,
    Several,
    Slotted,
    Source,
    Token,
    said_text,
    split_items,
)
from hearth.planning.arguments.span_boundaries import (
    CONSTANT,
    JOINTS,
    SAID,
    HeardWords,
    Manner,
    Manners,
    Reading,
    ReadSpans,
    SpanScorer,
    Stretch,
    Wanted,
    best_stretches,
    content_odds,
    kind_odds,
    left_odds,
    looks_like_a_value,
    signs_of,
    telling_constant,
    wanted,
)
from hearth.types import Argument, Parameter, Plain, Ref, Step, ToolSpec

_VIEWS = {
    "datetime": ("datetime", "start"),
    "date": ("date", "start"),
    "time": ("time",),
    "duration": ("duration",),
    "number": ("number",),
    "integer": ("number",),
    "EmailAddress": ("email",),
    "PhoneNumber": ("phone",),
    "Url": ("url",),
    "FilePath": ("path",),
}
"""Views that fit a type when demonstrations say nothing more."""
_END_NAMES = frozenset({"end", "until", "to", "before", "due", "finish"})
_START_NAMES = frozenset({"start", "from", "since", "after", "begin"})

_W_EDGE, _W_USED = 0.8, 2.0
_NEEDED = 2.0
"""How much surer an argument is of its words where it, or another like it, has to be given."""
_SLOT_BAR = -3.0
"""Least log-odds of an optional value; a less likely one is left out."""
_SHARED_SLOT = 4.0
"""Price of a slot that another step uses already."""
TEXT_TYPES = frozenset({"text", "list[text]", "PersonName", "list[PersonName]", "any"})
_SENDER = "sender"
_NAMES_OF_PEOPLE = frozenset({_SENDER, "from", "recipient", "author", "person", "who", "with"})
"""Text parameters that hold a person: `my husband` is replaced with the name there."""
_NO_NAMES = frozenset(
    listed(
        "i we you me us my our the a an any all some new get got have had receive received come came mail mails email "
        "emails e-mail e-mails message messages post inbox last latest recent unread not haven't havent hasn't hasnt "
        "didn't yet still read"
    )
)
_DECIDING = frozenset({"EmailAddress", "PhoneNumber", "PersonName", "FilePath", "Url"})
_NO_CHOICE = frozenset({"none", "any", "text"})


_CALLED_ALIKE: Mapping[str, frozenset[str]] = {
    "mail": frozenset(listed("mail mails email emails e-mail message messages send write reply text answer new know")),
    "reply": frozenset(listed("mail email e-mail message reply answer respond send write")),
    "reminder": frozenset(listed("reminder reminders remind new repeating recurring")),
    "note": frozenset(listed("note notes new")),
}
"""By the last word of a tool's name: what people call the thing that it makes."""
_TELLS_ITSELF: Mapping[tuple[str, str], Mapping[str, str]] = {
    ("add_reminder", "text"): {"alarm": "alarm", "wake": "wake up", "waking": "wake up"},
}
"""What need not be said: an alarm is for being an alarm."""
_NO_LIST = frozenset(
    listed(
        "list lists new fresh available current open saved item items entry what which kind kinds name names contain me"
    )
)
"""Words that name no list by themselves."""
_TRIMMINGS = frozenset(listed(", . ! ? please now new"))


class Unit:
    """The request, or one clause of it, that steps are filled from."""

    def __init__(self, text: str, tokens: tuple[Token, ...], manners: Manners, heard: HeardWords | None = None) -> None:
        """Keep a clause; `text` is the whole request, in which token positions count. Without its words in context
        (`heard`), free text is found by counts alone."""
        self.text = text
        self.tokens = tokens
        self.words = tuple(token.word for token in tokens)
        spans = ReadSpans(SpanScorer.shipped(), tokens, heard) if heard is not None else None
        self.reading = Reading(self.words, manners, spans)
        self._parts = (manners, heard)

    @functools.cached_property
    def ahead(self) -> Unit:
        """The same with the times ahead that only the tense puts in the past: what is to be changed is not over
        ("karate got moved, it's Tuesday at five")."""
        if not any(token.slot is not None and token.slot.ahead for token in self.tokens):
            return self
        turned = (
            replace(one, slot=replace(one.slot, views=one.slot.ahead)) if one.slot and one.slot.ahead else one
            for one in self.tokens
        )
        return Unit(self.text, tuple(turned), *self._parts)

    def said(self) -> str:
        """Return the words as written."""
        return self.text[self.tokens[0].start : self.tokens[-1].end] if self.tokens else ""


@dataclass(frozen=True, slots=True)
class Opening:
    """An argument that waits for the result of a step in another clause."""

    step: int
    parameter: str
    result: Result
    is_list: bool
    is_exact: bool = False
    """True when the path is to be used as it is."""


@dataclass(slots=True)
class Bound:
    """Steps with their arguments, and how well the request filled them."""

    steps: list[Step]
    missing: tuple[tuple[str, str], ...] = ()
    """(tool, parameter) of required arguments the request does not give."""
    openings: tuple[Opening, ...] = ()
    used: frozenset[int] = frozenset()
    """Tokens that went into arguments."""
    scores: tuple[float, ...] = ()
    """Log-odds of each stretch of words that was taken for free text."""


@dataclass(slots=True)
class _Filling:
    """State of filling one unit: the values each (step, parameter) got so far."""

    unit: Unit
    words: tuple[str, ...]
    values: dict[tuple[int, str], Argument] = field(default_factory=dict)
    taken: dict[int, set[int]] = field(default_factory=dict)
    """Token → steps that use it."""
    views_taken: set[tuple[int, str]] = field(default_factory=set)
    missing: list[tuple[str, str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    runs: dict[int, list[Argument]] = field(default_factory=dict)
    """For a step that stands for several: the value of its argument for each."""
    named: set[int] = field(default_factory=set)
    """Tokens that name a person."""
    changed_by: Mapping[int, frozenset[int]] = field(default_factory=dict)
    """For a look-up: the steps that change what it finds."""
    openings: list[Opening] = field(default_factory=list)
    """Results of an earlier clause that are asked for."""

    def take(self, step: int, tokens: Iterable[int]) -> None:
        for token in tokens:
            self.taken.setdefault(token, set()).add(step)

    def is_free(self, token: int, step: int) -> bool:
        return step not in self.taken.get(token, ())

    def sharing_cost(self, token: int, view: str, step: int, *, is_usual: bool) -> float | None:
        """Return what it costs to use a token once more; None where one value cannot be two arguments of a step.

        Args:
            is_usual: Whether such a token often fills what it is to fill.
        """
        is_free = self.is_free(token, step)
        if (token, view) in self.views_taken:
            return 4.0 if is_free else None
        if not is_free:
            return 0.0 if is_usual else 4.0
        return _SHARED_SLOT if token in self.taken else 0.0


def bind(steps: Sequence[LessonStep], unit: Unit, tools: Mapping[str, ToolSpec]) -> Bound:
    """Fill `steps` from `unit`.

    Args:
        steps: From a lesson; only their tools and the results they use matter, never what was said in the lesson.
    """
    manners = unit.reading.manners
    filling = _Filling(unit, unit.words, changed_by=_changed_by(steps, tools))
    texts: list[Wanted] = []
    slots: list[tuple[int, Parameter]] = []
    for index, step in enumerate(steps):
        for parameter in tools[step.tool].parameters:
            source = step.sources.get(parameter.name)
            if source is not None and _has_result(source):
                _fill_result(index, step, parameter, source, filling, manners)
            elif parameter.enum or canonical(parameter.type) == "boolean":
                _fill_choice(index, step.tool, parameter, filling, manners)
            elif _slot_views(parameter) or _is_slotted(manners.of(step.tool, parameter.name)):
                slots.append((index, parameter))
            elif canonical(parameter.type) in TEXT_TYPES:
                texts.append(wanted(index, step.tool, parameter, tools[step.tool].effect == "none"))
            elif parameter.is_required:
                filling.missing.append((step.tool, parameter.name))
    _fill_moments(steps, filling, tools)
    for index, parameter in sorted(slots, key=lambda s: not s[1].is_required):
        if parameter.name in _STRETCH and (index, _MOMENT) in filling.values:
            continue
        _fill_slot(index, steps[index].tool, parameter, filling, manners)
    _fill_texts(steps, texts, filling, manners)
    _fill_bare_changes(steps, texts, filling, tools, manners)
    _fill_writers(steps, filling, tools)
    _fill_unread(steps, filling, tools)
    _fill_beside_results(steps, filling, tools)
    _fill_ends(steps, filling, tools)
    return _assembled(steps, filling)


_MOMENT, _STRETCH = "at", frozenset(["at", "start", "end"])


def _fill_moments(steps: Sequence[LessonStep], filling: _Filling, tools: Mapping[str, ToolSpec]) -> None:
    """Give a look-up that takes a stretch or one moment the moment that is said: "who came at 6:20 this morning"."""
    for index, step in enumerate(steps):
        if not all(tools[step.tool].parameter(name) for name in _STRETCH):
            continue
        for place, token in enumerate(filling.unit.tokens):
            if token.slot is not None and _is_moment(token.slot):
                filling.values[index, _MOMENT] = cast(Argument, token.slot.views["datetime"])
                filling.take(index, [place])
                filling.views_taken.add((place, "datetime"))
                break


def _fill_ends(steps: Sequence[LessonStep], filling: _Filling, tools: Mapping[str, ToolSpec]) -> None:
    """Give a look-up the end of the one time that is said: where it needs one ("am I free at 4"), and where that is the
    rest of a day ("what's on friday after 3")."""
    times = [token.slot for token in filling.unit.tokens if token.slot is not None and token.slot.kind == "time"]
    for index, step in enumerate(steps):
        if tools[step.tool].parameter("end") is None or tools[step.tool].effect != "none" or len(times) != 1:
            continue
        is_missing, start = (step.tool, "end") in filling.missing, filling.values.get((index, "start"))
        is_rest = "after" in f"{times[0].cue} {times[0].text.lower()}".split() and not _is_moment(times[0])
        is_rest = is_rest and (index, "end") not in filling.values
        if (is_missing or is_rest) and start in times[0].views.values() and isinstance(times[0].views.get("end"), str):
            filling.values[index, "end"] = cast(Argument, times[0].views["end"])
            filling.missing = [one for one in filling.missing if one != (step.tool, "end")]


def _is_moment(slot: Slot) -> bool:
    """Return whether a clock time is said alone: no range, nothing until, since or after it."""
    views = slot.views
    if "time" not in views or "duration" in views or "start" not in views or "end" not in views:
        return False
    start, end = (dt.datetime.fromisoformat(str(views[name])) for name in ("start", "end"))
    return end - start == dt.timedelta(minutes=1)


def _is_whole_day(slot: Slot) -> bool:
    """Return whether a day is said, and no hour or part of it."""
    start, end = (str(slot.views.get(name, "")) for name in ("start", "end"))
    return "date" in slot.views and "T00:00:00" in start and "T00:00:00" in end and start[:10] < end[:10]


_MAILS = frozenset(listed("mail mails email emails e-mail e-mails message messages"))
_READ, _NOT = frozenset(listed("read opened seen")), frozenset(listed("haven't havent not never didn't didnt"))
_UNREAD_ONLY = "unread_only"
_WHICH = frozenset(listed("'s s last latest newest new recent most first unread long other next"))


def _fill_writers(steps: Sequence[LessonStep], filling: _Filling, tools: Mapping[str, ToolSpec]) -> None:
    """Fill in whose mails are looked up where no words for it were found: "read Ida's last mail" is of nobody else."""
    words = filling.words
    for index, step in enumerate(steps):
        if tools[step.tool].parameter(_SENDER) is None or (index, _SENDER) in filling.values:
            continue
        for place, word in enumerate(words):
            after = place + 1
            while after < len(words) and words[after] in _WHICH:
                after += 1
            if word == "<name>" and words[after : after + 1] and words[after] in _MAILS and place not in filling.taken:
                tokens = filling.unit.tokens
                filling.values[index, _SENDER] = said_text(tokens, place, place + 1, filling.unit.text)
                filling.take(index, [place])
                break


def _fill_unread(steps: Sequence[LessonStep], filling: _Filling, tools: Mapping[str, ToolSpec]) -> None:
    """Look up only mails not read yet where the words say so: "any new emails", "mail I haven't read"."""
    words = filling.words
    is_new = any(word == "new" and _MAILS.intersection(words[k + 1 : k + 2]) for k, word in enumerate(words))
    is_unopened = any(word in _READ and _NOT.intersection(words[max(0, k - 3) : k]) for k, word in enumerate(words))
    if not (is_new or is_unopened or "unread" in words):
        return
    for index, step in enumerate(steps):
        if tools[step.tool].parameter(_UNREAD_ONLY) is not None:
            filling.values[index, _UNREAD_ONLY] = True


def _changed_by(steps: Sequence[LessonStep], tools: Mapping[str, ToolSpec]) -> dict[int, frozenset[int]]:
    """Return, for each step, the changing steps that use its result."""
    users: dict[int, frozenset[int]] = {}
    for index, step in enumerate(steps):
        if tools[step.tool].effect == "none":
            continue
        for source in step.sources.values():
            for item in source.items if isinstance(source, Several) else (source,):
                if isinstance(item, Result) and item.step >= 0:
                    users[item.step] = users.get(item.step, frozenset()) | {index}
    return users


def bind_alike(steps: Sequence[LessonStep], unit: Unit, tools: Mapping[str, ToolSpec]) -> Bound:
    """Fill the steps of a lesson that reads word for word like `unit`: each value is at the lesson's place."""
    filling = _Filling(unit, unit.words)
    for index, step in enumerate(steps):
        for name, source in step.sources.items():
            parameter = tools[step.tool].parameter(name)
            if parameter is None:
                continue
            several = source.items if isinstance(source, Several) else (source,)
            values: list[Argument] = []
            for item in several:
                if not isinstance(item, Result):
                    values += _values_at(index, item, parameter, filling)
                elif item.step <= OUTSIDE:
                    filling.openings.append(Opening(index, name, item, isinstance(source, Several), is_exact=True))
                else:
                    values.append(Ref(item.step, item.path))
            is_list = canonical(parameter.type).startswith("list[") and not isinstance(source, Result)
            if step.is_many and not is_list and values:
                filling.runs[index] = values
            if values:
                filling.values[index, name] = values if is_list else values[0]
            elif parameter.is_required and not any(o.step == index and o.parameter == name for o in filling.openings):
                filling.missing.append((step.tool, name))
    return _assembled(steps, filling)


def _values_at(index: int, source: Source, parameter: Parameter, filling: _Filling) -> list[Argument]:
    """Read the request at the place a lesson took the value from."""
    tokens, text = filling.unit.tokens, filling.unit.text
    if isinstance(source, Constant):
        return [] if _decides(parameter) else [cast(Argument, source.value)]
    if isinstance(source, Slotted):
        filling.take(index, [source.token])
        read = (_converted(tokens[source.token], view, parameter) for view in source.views)
        return [cast(Argument, value) for value in read if value is not None][:1]
    if not isinstance(source, Said):
        return []
    filling.take(index, range(source.first, source.last))
    if source.is_list:
        is_people = "PersonName" in canonical(parameter.type)
        return list(split_items(tokens, source.first, source.last, text, by_name=is_people))
    kind = canonical(parameter.type).removeprefix("list[").removesuffix("]")
    meant = (_converted(tokens[source.first], view, parameter) for view in _VIEWS.get(kind, ()))
    found = [cast(Argument, value) for value in meant if value is not None]
    by_name = kind == "PersonName" or parameter.name in _NAMES_OF_PEOPLE
    return found[:1] or [said_text(tokens, source.first, source.last, text, by_name=by_name)]


def _decides(parameter: Parameter) -> bool:
    """Return whether a value decides to whom or where something goes: it is said in the request, or asked for.

    What was taught for one person never goes to another; the owner's exact words are `adaptation`'s to repeat.
    """
    return parameter.is_sink or canonical(parameter.type).removeprefix("list[").removesuffix("]") in _DECIDING


# ── Results of earlier steps ──────────────────────────────────────────────────────────────────────────────


def _has_result(source: Source) -> bool:
    return isinstance(source, Result) or (
        isinstance(source, Several) and any(isinstance(item, Result) for item in source.items)
    )


def _fill_result(
    index: int,
    step: LessonStep,
    parameter: Parameter,
    source: Source,
    filling: _Filling,
    manners: Manners,
) -> None:
    items = source.items if isinstance(source, Several) else (source,)
    manner = manners.of(step.tool, parameter.name)
    values: list[Argument] = []
    for item in items:
        if not isinstance(item, Result):
            continue
        path = _path(item, manner, filling.words)
        if item.step <= OUTSIDE:
            opening = Result(item.step, path, item.tool)
            filling.openings.append(Opening(index, parameter.name, opening, isinstance(source, Several)))
        else:
            values.append(Ref(item.step, path))
    if values:
        filling.values[index, parameter.name] = values if isinstance(source, Several) else values[0]


def _path(result: Result, manner: Manner | None, words: tuple[str, ...]) -> tuple[str, ...]:
    """Choose a result's path by the words of this request, among the forms that demonstrations know.

    `last` takes the first of a list (they come newest first), else the only one.
    """
    if manner is None:
        return result.path
    field_name = _without_indices(result.path)
    known = [path for path in manner.n_paths if _without_indices(path) == field_name]
    is_last = "thing:last" in signs_of(words)
    fitting = [path for path in known if (path != field_name) == is_last] or known or [result.path]
    return max(sorted(fitting), key=lambda path: manner.n_paths[path])


def _without_indices(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(part for part in path if not part.isdigit())


# ── Choices ───────────────────────────────────────────────────────────────────────────────────────────────


def _fill_choice(index: int, tool: str, parameter: Parameter, filling: _Filling, manners: Manners) -> None:
    """Fill an option or a yes/no: from its own word or a slot, else as demonstrations have it."""
    if _fill_said_choice(index, tool, parameter, filling):
        return
    manner = manners.of(tool, parameter.name)
    chosen = _shown_choice(manner, filling) if manner is not None else None
    if chosen is not None:
        filling.values[index, parameter.name] = chosen
    elif parameter.is_required:
        filling.missing.append((tool, parameter.name))


def _fill_said_choice(index: int, tool: str, parameter: Parameter, filling: _Filling) -> bool:
    """Fill an option that the request says; return whether it says one, were it one that cannot be done."""
    for place, token in enumerate(filling.unit.tokens):
        if token.slot is not None:
            rhythm = _rhythm_of(token.slot, parameter.enum)
            views = [rhythm] if rhythm and "daily" in parameter.enum else list(token.slot.views.values())
            for view in views:
                if isinstance(view, str) and view in parameter.enum:
                    filling.values[index, parameter.name] = view
                    filling.take(index, [place])
                    return True
            if views == [rhythm]:  # "every two hours": what was said cannot be done, so nothing else is taken for it
                filling.missing.append((tool, parameter.name))
                return True
        option = next((o for o in (token.word, token.word.removesuffix("s")) if o in parameter.enum), "")
        if option and option not in _NO_CHOICE:
            if option != parameter.default:
                filling.values[index, parameter.name] = option
            filling.take(index, [place])
            return True
    return False


def _shown_choice(manner: Manner, filling: _Filling) -> Argument | None:
    """Return the option that demonstrations take for such words; None for none."""
    best = telling_constant(manner, filling.words)
    if not best:
        odds = kind_odds(manner, filling.words)
        best = max(sorted(odds), key=lambda kind: odds[kind])
    chosen = json.loads(best.removeprefix(CONSTANT)) if best.startswith(CONSTANT) else None
    if chosen in (UP, DOWN) and direction(filling.unit.said()) != chosen:
        return None  # "the greenhouse should be 16 degrees" is no change by 16, however alike such were said
    return cast("Argument | None", chosen)


_UNITS_OF_RHYTHM = {"daily": "days", "weekly": "weeks", "monthly": "months", "yearly": "years"}


_DAYS_OF_RHYTHM = {("MO", "TU", "WE", "TH", "FR"): "on weekdays", ("SA", "SU"): "on weekends"}


def _rhythm_of(slot: Slot, options: Sequence[str]) -> str:
    """Return how often a slot says that something is: "weekly", "every 2 weeks", "on weekdays" where that is an option;
    empty where it says nothing."""
    repeat, every, days = slot.views.get("repeat"), slot.views.get("repeat_every", 1), slot.views.get("repeat_days")
    if not isinstance(repeat, str):
        return ""
    if every == 1:
        together = _DAYS_OF_RHYTHM.get(tuple(map(str, days)), "") if isinstance(days, list) else ""
        return together if together in options else repeat
    return f"every {every} {_UNITS_OF_RHYTHM.get(repeat, repeat)}"


def _fill_beside_results(steps: Sequence[LessonStep], filling: _Filling, tools: Mapping[str, ToolSpec]) -> None:
    """Add unused addresses to the results that fill a list of addresses (`to Anna and ben@example.org`)."""
    for (index, name), value in filling.values.items():
        parameter = tools[steps[index].tool].parameter(name)
        if parameter is None or canonical(parameter.type) != "list[EmailAddress]" or not isinstance(value, list):
            continue
        for place, token in enumerate(filling.unit.tokens):
            if token.word == "<email>" and place not in filling.taken and token.slot is not None:
                filling.take(index, [place])
                value.append(cast(Argument, token.slot.views["email"]))


# ── Values of slots ───────────────────────────────────────────────────────────────────────────────────────


def _slot_views(parameter: Parameter) -> tuple[str, ...]:
    kind = canonical(parameter.type)
    kind = kind[5:-1] if kind.startswith("list[") else kind
    views = _VIEWS.get(kind, ())
    if kind in ("datetime", "date"):
        if parameter.name in _END_NAMES:
            return ("end", *views)
        if parameter.name in _START_NAMES:
            return ("start", *views)
    return views


def _is_slotted(manner: Manner | None) -> bool:
    """Return whether demonstrations take a text from slots (`mile` of `26 miles`) rather than from words."""
    if manner is None:
        return False
    return 2 * sum(max(counts.values()) for counts in manner.views.values()) > manner.kinds[SAID] > 0


_BEFORE = frozenset(listed("before beforehand b4 earlier ahead prior"))


def _best_slot(
    index: int, tool: str, parameter: Parameter, filling: _Filling, manners: Manners
) -> tuple[float, int, str] | None:
    """Return the slot that fits a parameter best: its score, its token, and which of its values is meant."""
    manner = manners.of(tool, parameter.name)
    levels = manners.levels(tool, parameter.name)
    best: tuple[float, int, str] | None = None
    for place, token in enumerate(filling.unit.tokens):
        view = _view_of(token, parameter, manner)
        if view is None or (view == "duration" and _BEFORE.intersection(filling.words[place + 1 : place + 2])):
            continue  # "30 minutes before" is how far from something, and no length
        if filling.changed_by.get(index, frozenset()) & filling.taken.get(place, set()):
            continue  # "move the class to Friday": Friday is where it goes, not where it is
        if index in filling.changed_by and parameter.name in _STRETCH and token.slot and _is_moment(token.slot):
            continue  # "cancel my alarm for 5pm": the one at five, none that is later
        if parameter.name in _END_NAMES and view != "end" and not filling.is_free(place, index):
            continue  # "who came after 6": nothing ends when it begins
        score = _W_EDGE * left_odds(levels, filling.words, place)
        score += _W_USED * content_odds(levels[-1:], token.word) if manner else 0.0
        is_usual = manner is not None and bool(manner.views.get(token.word))
        cost = filling.sharing_cost(place, view, index, is_usual=is_usual)
        if cost is not None and (best is None or score - cost > best[0]):
            best = (score - cost, place, view)
    return best


def _fill_slot(index: int, tool: str, parameter: Parameter, filling: _Filling, manners: Manners) -> None:
    """Fill a parameter from the slot that fits best by kind, by the words around it and by order."""
    manner = manners.of(tool, parameter.name)
    best = _best_slot(index, tool, parameter, filling, manners)
    if (
        best is not None
        and best[2] == "end"
        and (best[1], "start") in filling.views_taken
        and (manner is None or "end" in manner.views.get(filling.words[best[1]], {}))
    ):
        best = (0.0, best[1], "end")  # a stretch of time is given by both its ends
    if best is None or (not parameter.is_required and best[0] < _optional_bar(manner)):
        _fill_unsaid(index, tool, parameter, filling, manner)
        return
    _, place, view = best
    is_list = canonical(parameter.type).startswith("list[")
    places = _run(filling, place) if is_list else [place]
    values: list[Argument] = [
        cast(Argument, value)
        for p in places
        if (value := _converted(filling.unit.tokens[p], view, parameter)) is not None
    ]
    filling.values[index, parameter.name] = values if is_list else values[0]
    filling.take(index, places)
    filling.views_taken.add((place, view))


def _optional_bar(manner: Manner | None) -> float:
    return _SLOT_BAR if manner else 0.0


def _view_of(token: Token, parameter: Parameter, manner: Manner | None) -> str | None:
    """Return the view of a slot that the parameter takes: the one demonstrations took, else one by type."""
    if token.slot is None:
        return None
    views = token.slot.views
    allowed = _slot_views(parameter)
    if manner is not None and (counts := manner.views.get(token.word)):
        ranked = sorted(counts, key=lambda name: (-counts[name], (*allowed, name).index(name), name))
        for name in ranked:
            if name == "end" and "time" in views and "duration" not in views:
                continue
            if name in views and _converted(token, name, parameter) is not None:
                return name
    for name in allowed:
        if name == "end" and "time" in views and "duration" not in views:
            continue  # a clock time is no range
        if name in views and _converted(token, name, parameter) is not None:
            return name
    return None


def _converted(token: Token, view: str, parameter: Parameter) -> Plain:
    """Convert the slot's value to the parameter's type; None when it has none."""
    if token.slot is None or token.slot.is_ambiguous:
        return None
    value = token.slot.views.get(view)
    if view == "datetime" and parameter.name in _START_NAMES and _is_whole_day(token.slot):
        value = token.slot.views["start"]  # of what begins on a day, the hour is not said
    kind = canonical(parameter.type)
    kind = kind[5:-1] if kind.startswith("list[") else kind
    if kind == "date" and isinstance(value, str):
        return value[:10]
    if kind == "datetime" and isinstance(value, str) and len(value) == 10:
        return None
    if kind == "integer" and isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value


def _run(filling: _Filling, place: int) -> list[int]:
    """Find the slots of one kind that are named together with the one at `place` (`Anna, Ben and Mia`)."""
    words = filling.words
    places = [place]
    for step in (1, -1):
        at = place
        while True:
            following = at + step
            while 0 <= following < len(words) and words[following] in JOINTS:
                following += step
            if abs(following - at) < 2 or not 0 <= following < len(words) or words[following] != words[place]:
                break
            places.append(following)
            at = following
    return sorted(places)


def _fill_unsaid(index: int, tool: str, parameter: Parameter, filling: _Filling, manner: Manner | None) -> None:
    """Fill an unsaid argument: with a constant that the way of speaking implies, else report it missing if required."""
    if manner is not None and not _decides(parameter):
        odds = kind_odds(manner, filling.words)
        best = max(sorted(odds), key=lambda kind: odds[kind])
        if best.startswith(CONSTANT) and odds[best] > 0.5 and not looks_like_a_value(best):
            filling.values[index, parameter.name] = json.loads(best.removeprefix(CONSTANT))
            return
    told = _TELLS_ITSELF.get((tool, parameter.name), {})
    if called := next((told[word] for word in filling.words if word in told), ""):
        filling.values[index, parameter.name] = called
        return
    if parameter.is_required:
        filling.missing.append((tool, parameter.name))


# ── Free text ─────────────────────────────────────────────────────────────────────────────────────────────


def _fill_texts(steps: Sequence[LessonStep], texts: Sequence[Wanted], filling: _Filling, manners: Manners) -> None:
    for one, stretch in zip(texts, best_stretches(texts, filling.unit.reading, filling.taken)):
        is_empty = stretch is not None and one.parameter.is_required and _says_nothing(one, stretch, filling)
        if stretch is None or is_empty or _names_nobody(one, stretch, filling):
            _fill_unsaid(one.step, one.tool, one.parameter, filling, manners.of(one.tool, one.parameter.name))
        else:
            _fill_text(steps[one.step], one, stretch, filling, manners)


def _fill_text(step: LessonStep, one: Wanted, stretch: Stretch, filling: _Filling, manners: Manners) -> None:
    tokens, text = filling.unit.tokens, filling.unit.text
    place = (one.step, one.parameter.name)
    filling.scores.append(stretch.score)
    filling.take(one.step, range(stretch.first, stretch.last))
    filling.named |= set(range(stretch.first, stretch.last)) if one.is_name else set()
    view = _text_view(filling, stretch, manners.of(one.tool, one.parameter.name))
    if view is not None:
        filling.values[place] = view
    elif one.is_list:
        filling.values[place] = list(split_items(tokens, stretch.first, stretch.last, text, by_name=one.is_name))
    elif step.is_many and stretch.last - stretch.first == 1:
        named = _run(filling, stretch.first)
        filling.take(one.step, named)
        filling.named |= set(named) if one.is_name else set()
        filling.runs[one.step] = [said_text(tokens, p, p + 1, text) for p in named]
        filling.values[place] = filling.runs[one.step][0]
    else:
        by_name = one.is_name or one.parameter.name in _NAMES_OF_PEOPLE
        last = _with_companion(filling, one, stretch)
        filling.values[place] = said_text(tokens, stretch.first, last, text, by_name=by_name)


def _fill_bare_changes(
    steps: Sequence[LessonStep],
    texts: Sequence[Wanted],
    filling: _Filling,
    tools: Mapping[str, ToolSpec],
    manners: Manners,
) -> None:
    """Give a step that always takes more than one thing, and for which one at most was found, the likeliest of its
    texts among the words that no step took; without such words it lacks what it may be given first."""
    for index, step in enumerate(steps):
        n_given = sum(place == index for place, _ in (*filling.values, *((o.step, "") for o in filling.openings)))
        lacks = any(tool == step.tool for tool, _ in filling.missing)
        if n_given > 1 or lacks or tools[step.tool].effect == "none" or not manners.is_always_told(step.tool):
            continue
        taken = {place: {index} for place, steps_there in filling.taken.items() if steps_there}
        needed = [
            replace(one, parameter=replace(one.parameter, is_required=True)) for one in texts if one.step == index
        ]
        found = [(one, best_stretches([one], filling.unit.reading, taken)[0]) for one in needed]
        said = [(one, stretch) for one, stretch in found if stretch and not _says_nothing(one, stretch, filling)]
        if said:
            one, stretch = max(said, key=lambda pair: pair[1].score)
            _fill_text(step, one, replace(stretch, score=stretch.score + _NEEDED), filling, manners)
        elif unsaid := [one for one in tools[step.tool].parameters if (index, one.name) not in filling.values]:
            filling.missing.append((step.tool, next((one.parameter.name for one in needed), unsaid[0].name)))


def _says_nothing(wanted: Wanted, stretch: Stretch, filling: _Filling) -> bool:
    """Return whether a text to be written would be words that serve as something else: the person it goes to ("email
    Ana"), or what it is called ("set a reminder for Friday")."""
    places = range(stretch.first, stretch.last)
    if wanted.parameter.name == "list":
        is_named_otherwise = wanted.tool == "remove_from_list"  # what stands on it tells which
        return not is_named_otherwise and all(filling.words[k] in FUNCTION_WORDS | _NO_LIST for k in places)
    if wanted.is_lookup or wanted.is_name or wanted.is_list:
        return False
    told = [filling.words[place] for place in places if place not in filling.named]
    own = _CALLED_ALIKE.get(wanted.tool.rpartition("_")[2], frozenset())
    if len(told) > 2 and told[0] in ("i", "we"):
        return False  # "tell her I can do it"
    return all(word in FUNCTION_WORDS or word in own or word in _TRIMMINGS for word in told)


def _names_nobody(wanted: Wanted, stretch: Stretch, filling: _Filling) -> bool:
    """Return whether words that should name a person are of the kind that no name is made of: "any new mails"."""
    is_person = wanted.parameter.name in _NAMES_OF_PEOPLE
    return is_person and _NO_NAMES.issuperset(filling.words[stretch.first : stretch.last])


def _with_companion(filling: _Filling, wanted: Wanted, stretch: Stretch) -> int:
    """Return where the stretch ends when an unused person belongs to it (`lunch` … `with Ben`)."""
    words, last = filling.words, stretch.last
    if wanted.is_lookup or words[last : last + 2] != ("with", "<name>") or last + 1 in filling.taken:
        return last
    filling.take(wanted.step, (last, last + 1))
    return last + 2


def _text_view(filling: _Filling, stretch: Stretch, manner: Manner | None) -> str | None:
    """Return the view that demonstrations use of a slot as text (the unit of `26 miles`); None for its own words."""
    token = filling.unit.tokens[stretch.first]
    if stretch.last - stretch.first > 1 or token.slot is None or manner is None:
        return None
    counts = manner.views.get(token.word) or Counter[str]()
    for name in sorted(counts, key=lambda n: (-counts[n], n)):
        value = token.slot.views.get(name)
        if isinstance(value, str):
            return value
    return None


# ── Putting it together ───────────────────────────────────────────────────────────────────────────────────


def _assembled(steps: Sequence[LessonStep], filling: _Filling) -> Bound:
    """Build the plan's steps: those that stand for several are repeated, references renumbered."""
    places: dict[int, list[int]] = {}
    n = 0
    for index in range(len(steps)):
        count = len(filling.runs.get(index, ())) or 1
        places[index] = list(range(n, n + count))
        n += count
    said = filling.unit.said()
    result: list[Step] = []
    for index, step in enumerate(steps):
        arguments = {name: _placed(value, places) for (owner, name), value in filling.values.items() if owner == index}
        after = tuple(places[k][-1] for k in step.after if k in places)
        for number in range(len(places[index])):
            mine = dict(arguments)
            if index in filling.runs:
                name = next(name for (owner, name) in filling.values if owner == index)
                mine[name] = filling.runs[index][number]
            result.append(Step(step.tool, mine, after, said))
    moved = tuple(replace(o, step=places[o.step][0]) for o in filling.openings)
    return Bound(result, tuple(filling.missing), moved, frozenset(filling.taken), tuple(filling.scores))


def _placed(value: Argument, places: Mapping[int, list[int]]) -> Argument:
    if isinstance(value, Ref):
        return Ref(places[value.step][0], value.path)
    if isinstance(value, list):
        found: list[Argument] = []
        for item in value:
            if isinstance(item, Ref):
                found += [Ref(place, item.path) for place in places[item.step]]
            else:
                found.append(item)
        return found
    return value
