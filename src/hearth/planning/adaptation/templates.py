"""Makes a template of a demonstration: which values are fixed, which depend on the day, which are read anew.

Every value of the plan is one of four. *Said*: its words, its number or its time stand in the request. *Unsaid*: they
do not, so the owner always means them with these words. A *moment* that was not said is counted from the day of asking
("yesterday at ten in the evening"). The *content* is the text that the plan writes and the request holds ("tell the
band that …", "log: …"): for another request it is that request's own.

Covered: one content per plan, moments by day and clock, values in lists, requests that explain what they mean.
Not covered: contents in other words than the request's, moments counted in hours from now, months.
"""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hearth import patterns as re
from hearth.formats.plan_validation import is_moment, literals
from hearth.language.reading import Utterance
from hearth.language.text.word_match import folded, stem
from hearth.language.values.identifiers import find_quoted
from hearth.types import Argument, Demonstration, Plan, Ref, Step, ToolSpec

SMALL = frozenset(
    re.findall(
        r"[\w']+",
        "an a the my our your to for of on in at with and or please pls plz ok okay now then so um uh yeah hey hi ta "
        "thanks just again all it is that this i im i'm we me us you go do as always ever from here be get got today "
        "tonight",
    )
)
"""Words that carry no meaning of their own."""
_CONTENTS = frozenset(("text", "title", "subject", "body", "message"))
"""Names of parameters that take text to be written; others name things that exist."""
_MARKS = tuple(",.;:!?)")
_WORD = re.compile(r"\w+(?:['’]\w+\b)?")
_EXPLAINS = re.compile(
    r"\b(?:that'?s|that is|means|meaning|i mean|is what|i\.e\.|aka|as in|for me that|from (?:now|today)(?: on)?|"
    r"includes?|for good|new rule|learn it|(?:when(?:ever)?) i say)(?=[\s,:.;]|$)|=",
    re.IGNORECASE,
)
"""Matches a request that says what is to hold from then on, not only what is wanted once."""


@dataclass(frozen=True, slots=True)
class Word:
    stem: str
    start: int
    end: int
    is_last: bool = False
    """True when a punctuation mark follows."""


@dataclass(frozen=True, slots=True)
class Content:
    """Place in a request of the text that its plan writes."""

    step: int
    parameter: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Template:
    """A demonstration with an analysis of its values."""

    id: str
    now: dt.datetime | None
    text: str
    words: tuple[Word, ...]
    """Words of the request, without those of the content."""
    plan: Plan
    unsaid: frozenset[tuple[int, str]]
    """Step and parameter of each value that the request does not say."""
    content: Content | None
    explains: bool
    """True when it says what is to hold from then on."""

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(word.stem for word in self.words)

    def constants(self) -> frozenset[tuple[str, str, str]]:
        """Return tool, parameter and value of all values except moments and content: what two of one kind share."""
        found: set[tuple[str, str, str]] = set()
        for index, step in enumerate(self.plan.steps):
            for name, value in step.arguments.items():
                if not self.is_content(index, name) and not is_moment(value):
                    found.update((step.tool, name, folded(str(one))) for one in literals(value))
        return frozenset(found)

    def is_content(self, step: int, parameter: str) -> bool:
        return self.content is not None and (self.content.step, self.content.parameter) == (step, parameter)

    def said_words(self) -> frozenset[str]:
        """Return the words of the values that the request says, without its content."""
        return frozenset(
            word
            for index, step in enumerate(self.plan.steps)
            for name, value in step.arguments.items()
            if (index, name) not in self.unsaid and not self.is_content(index, name)
            for one in literals(value)
            for word in words_of(str(one))
        )

    @property
    def has_moments(self) -> bool:
        return any(is_moment(one) for step in self.plan.steps for v in step.arguments.values() for one in literals(v))

    @property
    def adds_to_lists(self) -> bool:
        """Return whether the request adds something of its own to a list."""
        values = (value for step in self.plan.steps for value in step.arguments.values())
        return any(isinstance(value, list) and self.without_extras(value) != value for value in values)

    def without_extras(self, value: Argument) -> Argument:
        """Return a list without the items that the request says, if it has others ("pixel food and bin bags")."""
        if self.explains or not isinstance(value, list):
            return value
        said = set(self.stems)
        left = [one for one in value if isinstance(one, Ref) or not _is_said(one, said, ())]
        return left or value

    def added_words(self) -> frozenset[str]:
        """Return the words of what the request adds to a list."""
        lists = (value for step in self.plan.steps for value in step.arguments.values() if isinstance(value, list))
        added = (one for value in lists for one in literals(value) if one not in literals(self.without_extras(value)))
        return frozenset(word for one in added for word in words_of(str(one)) if word not in SMALL)

    @property
    def written(self) -> str:
        return self.text[self.content.start : self.content.end] if self.content else ""


def words_at(text: str) -> list[Word]:
    """Return the stems of a text's words with their places."""
    return [
        Word(stem(folded(m[0])), m.start(), m.end(), text[m.end() : m.end() + 1] in _MARKS)
        for m in _WORD.finditer(text)
    ]


def words_of(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words, in order."""
    return tuple(word.stem for word in words_at(text))


def template_of(demonstration: Demonstration, tools: Mapping[str, ToolSpec]) -> Template | None:
    """Make a demonstration's template; None when its plan has no step, or moments and no time to count from."""
    text, steps = demonstration.request, demonstration.plan.steps
    explains = _EXPLAINS.search(text) is not None
    content = _content(text, steps, tools)
    inside = range(content.start, content.end) if content else range(0)
    words = tuple(word for word in words_at(text) if word.start not in inside)
    said = {word.stem for word in words}
    views = [view for slot in Utterance(text, demonstration.now or _ANY).slots for view in slot.views.values()]
    unsaid = set()
    for index, step in enumerate(steps):
        for name, value in step.arguments.items():
            if content and (index, name) == (content.step, content.parameter):
                continue
            if is_moment(value) and demonstration.now is None:
                return None
            if literals(value) and not all(_is_said(one, said, views) for one in literals(value)):
                unsaid.add((index, name))
    if not steps:
        return None
    return Template(
        demonstration.id,
        demonstration.now,
        text,
        words,
        demonstration.plan,
        frozenset(unsaid),
        content,
        explains,
    )


_ANY = dt.datetime(2026, 1, 5, 9, tzinfo=dt.UTC)


def _is_said(value: object, said: set[str], views: Sequence[object]) -> bool:
    """Return whether a request says a value; for a value of several words, most of them."""
    if is_moment(value):
        return any(isinstance(view, str) and view[:16] == str(value)[:16] for view in views)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}" in said or value in [view for view in views if isinstance(view, int | float)]
    if value in views or ((length := _length_s(value)) and length in map(_length_s, views)):
        return True
    words = words_of(str(value))
    telling = [word for word in words if word not in SMALL] or list(words)
    n_said = sum(word in said or any(is_alike(word, one) for one in said) for word in telling)
    return bool(telling) and n_said > len(telling) / 2


_LENGTH = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


def _length_s(value: object) -> int:
    """Return the seconds of a duration; 0 when it is none."""
    match = _LENGTH.fullmatch(value) if isinstance(value, str) else None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0, 0)
    return 86_400 * days + 3_600 * hours + 60 * minutes + seconds


def _content(text: str, steps: Sequence[Step], tools: Mapping[str, ToolSpec]) -> Content | None:
    """Find the longest text that the plan writes and the request holds."""
    low = text.lower().replace("’", "'")
    best: Content | None = None
    for index, step in enumerate(steps):
        spec = tools.get(step.tool)
        if spec is None or spec.effect == "none":
            continue
        for name, value in step.arguments.items():
            if name not in _CONTENTS or not isinstance(value, str) or len(value) < 2:
                continue
            start = low.find(value.lower().replace("’", "'"))
            place = (start, start + len(value)) if start >= 0 else _nearly(value, text)
            if place and (best is None or place[1] - place[0] > best.end - best.start):
                best = Content(index, name, *place)
    return best


def _nearly(value: str, text: str) -> tuple[int, int] | None:
    """Find a text in the request that has typing errors which the plan's text lacks."""
    wanted, words = words_of(value), words_at(text)
    for first in range(len(words) - len(wanted) + 1):
        here = words[first : first + len(wanted)]
        n_alike = sum(is_alike(a, b.stem) for a, b in zip(wanted, here, strict=True))
        if len(wanted) > _LEAST_NEARLY and n_alike >= len(wanted) - 1:
            return here[0].start, here[-1].end
    return None


_LEAST_NEARLY = 3


# ── Filling ───────────────────────────────────────────────────────────────────────────────────────────────


def filled(template: Template, steps: Sequence[int], now: dt.datetime | None, written: str) -> Plan:
    """Build the plan of some of a template's steps, its moments counted from `now`, with `written` as its content.

    Args:
        steps: Indices of the steps kept, ascending; the steps they need must be among them.
    """
    place = {old: new for new, old in enumerate(steps)}
    made = []
    for old in steps:
        step = template.plan.steps[old]
        arguments = {
            name: written
            if template.is_content(old, name) or (written and value == template.written)
            else _placed(template.without_extras(value), place, template.now, now)
            for name, value in step.arguments.items()
        }
        made.append(Step(step.tool, arguments, tuple(place[k] for k in step.after if k in place), step.text))
    return Plan(tuple(made))


def _placed(value: Argument, place: Mapping[int, int], then: dt.datetime | None, now: dt.datetime | None) -> Argument:
    if isinstance(value, Ref):
        return Ref(place[value.step], value.path)
    if isinstance(value, list):
        return [_placed(item, place, then, now) for item in value if not isinstance(item, Ref) or item.step in place]
    if isinstance(value, str) and is_moment(value) and then is not None and now is not None:
        return _counted(value, then, now)
    return value


def _counted(value: str, then: dt.datetime, now: dt.datetime) -> str:
    """Return the same clock time, as many days from `now` as it was from `then`."""
    days = dt.date.fromisoformat(value[:10]) - then.date()
    day = now.date() + days
    if len(value) == 10:
        return day.isoformat()
    clock = dt.datetime.fromisoformat(value).time().replace(tzinfo=None)
    return dt.datetime.combine(day, clock, now.tzinfo).isoformat()


# ── What another request writes ───────────────────────────────────────────────────────────────────────────

_OPENS = re.compile(
    r"(?:[\s,:;–—-]|\([^()]*\)|\b(?:should|must|ought to|that|saying|know|um|uh|er|please|pls|to say)\b)*",
    re.IGNORECASE,
)
"""Matches what stands between the phrase and the text to write."""
_COLON = re.compile(r"[^.!?:\"“]{0,24}:\s")
_CLOSING = frozenset(
    re.findall(
        r"[\w']+",
        "send sends sent snd sedn it now please pls plz straight away right off go goes gone out post yes mail them "
        "that tonight thanks thank you let know cheers ok okay tell do and at once",
    )
)
_LAST = re.compile(r"[.!?;,]+\s*([^.!?;,]*)[.!?;,\s]*$")


def written_in(text: str, end: int) -> str:
    """Return what a request writes after the phrase that ends at `end`: a text in quotation marks, else what follows.

    Returns:
        The words as they stand, without words that only ask for sending; empty when nothing follows.
    """
    opened = _OPENS.match(text, end)
    first = opened.end() if opened else end
    colon = _COLON.match(text, end)
    if colon:
        first = max(first, colon.end())
    quoted = [slot for slot in find_quoted(text) if slot.start >= end]
    if len(quoted) == 1 and (not colon or quoted[0].start <= first + 1):
        return str(quoted[0].views.get("text", quoted[0].text))
    rest = text[first:]
    while (last := _LAST.search(rest)) and all(word in _CLOSING for word in _plain(last[1])):
        rest = rest[: last.start()]
    return "" if all(word in _CLOSING for word in _plain(rest)) else rest.strip(" \t\n.,;:")


def _plain(text: str) -> Iterator[str]:
    return (folded(word[0]) for word in _WORD.finditer(text))


SENDS = frozenset(("send", "sent", "snd", "sedn", "post", "out", "off", "go", "goe", "gone", "dispatch"))
"""Stems of words that ask for sending what was written."""


# ── Words that read alike ─────────────────────────────────────────────────────────────────────────────────

_LEAST_FUZZY, _LEAST_CHANGED, _LEAST_LOOSE = 5, 7, 8
_LIKE = 0.8


def _has_one_more(longer: str, shorter: str) -> bool:
    """Return whether one letter was left out: any of a long word, of a shorter one only half of a double letter."""
    gone = [k for k in range(len(longer)) if longer[:k] + longer[k + 1 :] == shorter]
    is_double = any(longer[k] in (longer[k - 1 : k], longer[k + 1 : k + 2]) for k in gone)
    is_long = len(shorter) + is_double >= _LEAST_FUZZY or (is_double and len(longer) == _LEAST_FUZZY - 1)
    return bool(gone) and is_long


def is_alike(known: str, word: str) -> bool:
    """Return whether two words are the same except for a typing error or an ending.

    Typing errors are: swapped letters or a double letter written once; in words of five letters one missing or extra
    letter; in longer ones one wrong letter.
    """
    if known == word or bare_of(known) == bare_of(word):
        return True
    if known.endswith("ing") or word.endswith("ing"):
        known, word = bare_of(known), bare_of(word)
    if not known or not word or known[0] != word[0] or abs(len(known) - len(word)) > 2:
        return False
    shorter, longer = sorted((known, word), key=len)
    if len(shorter) == len(longer):
        at = [k for k in range(len(known)) if known[k] != word[k]]
        if len(at) == 2 and at[1] == at[0] + 1 and len(known) > 3 and known[at[0]] == word[at[1]]:
            return known[at[1]] == word[at[0]]
        if len(at) == 1 and len(known) >= _LEAST_CHANGED:
            return True
    elif _has_one_more(longer, shorter):
        return True
    if len(shorter) < _LEAST_LOOSE:
        return False
    return difflib.SequenceMatcher(None, known, word).ratio() >= _LIKE


def bare_of(word: str) -> str:
    """Strip the ending that distinguishes "closing" from "close"."""
    return (word[:-3] if len(word) > 6 and word.endswith("ing") else word).removesuffix("e")
