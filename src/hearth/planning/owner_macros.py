"""The owner's own words for a plan ("goodnight"): taught once, understood when they are said again."""

from __future__ import annotations

import datetime as dt
import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.formats.plans import is_moment, literals
from hearth.language.reading import Utterance
from hearth.language.tokens import folded, stem
from hearth.language.values.slots import find_quoted
from hearth.planning.adaptation import is_contrary, moved, nearest_particle
from hearth.types import Argument, Demonstration, Plan, Ref, Step, ToolSpec

# ── Templates ─────────────────────────────────────────────────────────────────────────────────────────────
# Makes a template of a demonstration: which values are fixed, which depend on the day, which are read anew.
#
# Every value of the plan is one of four. *Said*: its words, its number or its time stand in the request. *Unsaid*:
# they do not, so the owner always means them with these words. A *moment* that was not said is counted from the day
# of asking ("yesterday at ten in the evening"). The *content* is the text that the plan writes and the request holds
# ("tell the band that …", "log: …"): for another request it is that request's own.
#
# Covered: one content per plan, moments by day and clock, values in lists, requests that explain what they mean. Not
# covered: contents in other words than the request's, moments counted in hours from now, months.

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
    return tuple(stem(folded(word)) for word in _WORD.findall(text))


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
    taught = template.plan
    today = moved(taught, template.now, now) if template.now is not None and now is not None else taught
    made = []
    for old in steps:
        step, before = today.steps[old], taught.steps[old].arguments
        arguments = {
            name: written
            if template.is_content(old, name) or (written and before[name] == template.written)
            else _placed(template.without_extras(value), place)
            for name, value in step.arguments.items()
        }
        made.append(Step(step.tool, arguments, tuple(place[k] for k in step.after if k in place), step.text))
    return Plan(tuple(made))


def _placed(value: Argument, place: Mapping[int, int]) -> Argument:
    """Return a value with its references renumbered; without the items of a list whose step is left out."""
    if isinstance(value, Ref):
        return Ref(place[value.step], value.path)
    if isinstance(value, list):
        return [_placed(item, place) for item in value if not isinstance(item, Ref) or item.step in place]
    return value


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


# ── Macro phrases ─────────────────────────────────────────────────────────────────────────────────────────
# Finds which demonstrations of the owner define a macro, and the phrase by which it is known.
#
# A macro is a phrase of the owner's that stands for a fixed plan. A demonstration defines one when its plan has
# values that its request does not say, or when it explains a phrase ("from now on the usual is …"). The phrase is
# what such requests share and others lack; one that was heard once must be the whole of what was said.
#
# Covered: phrases of up to three words, explained or not, typing errors, changed meanings. Not covered: phrases that
# ordinary requests use as well, follow-ups ("ok, send that"), separated words ("close … up").

Gram = tuple[str, ...]
_LONGEST = 3
_LEAST_PURITY = 0.75
_MOST_OWN, _MOST_COMPARED = 1_000, 60
"""Bounds on the time: the newest demonstrations of the owner, the newest of a phrase."""
_MANY = 4
"""With so many requests of others, a phrase is an ordinary one, although the owner explained it."""
_MOST_TEXT = 3
"""Most words of a value that is a name; a longer one is a text."""
_LEANS = SENDS | frozenset(
    re.findall(r"\w+", "him her it that them he she they those these this mail one other he's it's")
)
"""Words by which a request refers to the one before it."""
_DEFINES = re.compile(
    r"\s*[,.;:(=–—-]*\s*(?:and |which |for you |to you |by which |for me )*"
    r"(?:that'?s|that is|means|meaning|i mean|is what|i\.?e\.|aka|as in|=)(?=[\s,:])",
    re.IGNORECASE,
)
_MOST_DEFINED = 6
_NEWLY = re.compile(
    r"\bfrom (?:now on|today)(?: on)?,? (?:the )?(?P<phrase>\w+(?: \w+)??) (?:also )?(?:means?|includes?|is|are)\b",
    re.IGNORECASE,
)
"""Matches a new meaning: "from now on the usual is …"."""
_SHORTEST = 2


@dataclass(frozen=True, slots=True)
class Held:
    """A demonstration that defines a macro."""

    template: Template
    defined: tuple[str, ...] = ()
    """The phrase that the request explains ("close up, by which I mean …"); empty when it explains none."""
    is_short: bool = False
    """True when it says some of its values, and is hardly more than its phrase ("fall check")."""
    is_once: bool = False
    """True when it explains a phrase while asking for something of that day: not a plan to follow."""
    is_head: bool = False
    """True when its values are said in the words that open its text ("garden diary: …")."""

    def words(self) -> list[str]:
        """Return the stems that may hold its phrase: if its plan writes a text, those before it in the sentence."""
        content, text = self.template.content, self.template.text
        if content is None or self.template.explains:
            return list(self.template.stems)
        start = sentence_start(text, content.start)
        return [word.stem for word in self.template.words if start <= word.start and word.end <= content.start]

    def is_of(self, now: dt.datetime | None) -> bool:
        then = self.template.now
        return now is None or then is None or then <= now

    def may_be_known_by(self, gram: Gram) -> bool:
        """Return whether words differ from the values that the request itself says."""
        telling = {word for word in gram if word not in SMALL}
        named = self.template.said_words()
        is_apart = self.is_short and not named - SMALL <= telling
        return self.is_head or not (telling <= named or self.template.added_words() & telling or is_apart)


class Others:
    """Statistics of everybody else's requests."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = list(texts)
        self._read = [words_of(text) for text in texts]
        begun = Counter(words[0] for words in self._read if len(words) > _SHORTEST)
        self.commands = frozenset(word for word, n in begun.items() if n > 1 and word not in SMALL)
        """Words that several of them begin with."""
        self.opening = Counter(tuple(words[:n]) for words in self._read for n in range(1, _LONGEST + 1))
        self._bare = {word: bare_of(word) for words in self._read for word in words}
        self._with: dict[str, list[int]] = {}
        """Per word without its ending, the requests that have it."""
        for place, words in enumerate(self._read):
            for word in dict.fromkeys(self._bare[word] for word in words):
                self._with.setdefault(word, []).append(place)
        self._found: dict[Gram, tuple[int, bool]] = {}

    def n_that_say(self, gram: Gram) -> int:
        """Return how many of them say a phrase."""
        return self._counted(gram)[0]

    def say_about(self, gram: Gram) -> bool:
        """Return whether one of them says a phrase, whatever the endings of its words."""
        return self._counted(gram)[1]

    def _counted(self, gram: Gram) -> tuple[int, bool]:
        # Of the phrases that the owner says: to count all that others say takes a second.
        if gram not in self._found:
            bare, n, is_alike = tuple(map(bare_of, gram)), 0, False
            places = min((self._with.get(word, []) for word in bare), key=len)
            for words in (self._read[place] for place in places):
                like = set(self._that_are_like(bare, words))
                n += gram in like
                is_alike |= any(not SMALL.issuperset(way) for way in like)
            self._found[gram] = n, is_alike
        return self._found[gram]

    def _that_are_like(self, bare: Gram, words: Gram) -> Iterator[Gram]:
        for start in range(len(words) - len(bare) + 1):
            if all(self._bare[words[start + k]] == word for k, word in enumerate(bare)):
                yield words[start : start + len(bare)]


class Phrases:
    """The phrases of some demonstrations; built anew when these change."""

    def __init__(
        self,
        own: Sequence[Demonstration],
        others: Sequence[str],
        tools: Mapping[str, ToolSpec],
        before: Phrases | None = None,
    ) -> None:
        """Find the phrases.

        Args:
            own: Demonstrations of the owner, oldest first; the newest thousand are used.
            others: Requests of everybody else's demonstrations: a phrase they use is no macro.
            tools: Tools on offer; for any other tool it is not known what it writes.
            before: An earlier result with the same tools: demonstrations in both are not read again.
        """
        own = own[-_MOST_OWN:]
        known = before._read if before is not None else {}
        self._read: dict[str, tuple[Demonstration, Template | None]] = {
            d.id: known[d.id] if d.id in known and known[d.id][0] == d else (d, template_of(d, tools)) for d in own
        }
        templates = [made for _, made in self._read.values() if made is not None]
        self.others: Others = before.others if before is not None and before.others.texts == others else Others(others)
        self.commands = self.others.commands
        self.held = [one for template in templates if (one := _held(template)) is not None]
        alike = _spellings([word for one in self.held for word in one.template.stems])
        said: dict[Gram, list[Held]] = {}
        for one in self.held:
            for gram in set(_grams([alike.get(word, word) for word in one.words()])):
                if one.may_be_known_by(gram):
                    said.setdefault(gram, []).append(one)
        beside = self._beside(own, templates, alike, said)
        self.spoken = frozenset(gram for gram in said if self.others.say_about(gram))
        """Phrases that others use, too."""
        self.found: Mapping[Gram, list[Held]] = _whole(
            {
                gram: found
                for gram, found in said.items()
                if _is_phrase(gram, found, self._n_of_others(gram, found), beside.get(gram, []))
            }
        )

    def _n_of_others(self, gram: Gram, found: Sequence[Held]) -> int:
        return self.others.opening[gram] if opens(gram, found) else self.others.n_that_say(gram)

    def _beside(
        self,
        own: Sequence[Demonstration],
        templates: Sequence[Template],
        alike: Mapping[str, str],
        said: Mapping[Gram, object],
    ) -> dict[Gram, list[frozenset[tuple[str, str, str]]]]:
        """Collect the constants of the plans for which a phrase was said without defining its macro."""
        ids = {one.template.id for one in self.held}
        constants = {template.id: template.constants() for template in templates}
        found: dict[Gram, list[frozenset[tuple[str, str, str]]]] = {}
        for d in own:
            if d.id not in ids:
                for gram in set(_grams([alike.get(word, word) for word in words_of(d.request)])) & said.keys():
                    found.setdefault(gram, []).append(constants.get(d.id, frozenset()))
        return found


def is_fixed(template: Template) -> bool:
    """Return whether a plan has values that its request does not say, and no other values."""
    has_some = False
    for index, step in enumerate(template.plan.steps):
        for name, value in step.arguments.items():
            if literals(value) and not template.is_content(index, name):
                if (index, name) not in template.unsaid:
                    return False
                has_some = True
    return has_some


def _held(template: Template) -> Held | None:
    """Return the macro that a demonstration defines, if any; one that explains itself may also say its values."""
    if is_fixed(template):
        return Held(template, _defined(template))
    is_lasting = bool(_defined(template)) if template.content is not None else not _has_text(template)
    if template.explains and template.constants() and is_lasting:
        return Held(template, _defined(template), is_once=template.content is not None and bool(template.unsaid))
    if _is_short(template):
        return Held(template, is_short=True)
    content = template.content
    if content is None or not template.constants() or template.unsaid or template.has_moments:
        return None
    head = [word.stem for word in template.words if word.end <= content.start and word.stem not in SMALL]
    named = {word for _, _, value in template.constants() for word in words_of(value)}
    return Held(template, is_head=True) if 0 < len(head) <= _LONGEST and named <= {*head, *SMALL} else None


def _is_short(template: Template) -> bool:
    """Return whether a request is hardly more than a phrase and its plan says more; a request with a number is not."""
    values = [x for step in template.plan.steps for value in step.arguments.values() for x in literals(value)]
    is_numbered = any(isinstance(x, int | float) and not isinstance(x, bool) for x in values)
    telling = [word for word in template.stems if word not in SMALL]
    return bool(template.unsaid) and template.content is None and len(telling) <= _LONGEST and not is_numbered


def _defined(template: Template) -> tuple[str, ...]:
    """Return the last words before "that is", "means" and the like."""
    newly = _NEWLY.search(template.text)
    if newly:
        return tuple(word for word in words_of(newly["phrase"]) if word not in SMALL or word == "up")
    match = _DEFINES.search(template.text)
    words = list(words_of(template.text[: match.start()])) if match else []
    while words and words[-1] in SMALL:
        words.pop()
    if not 0 < len(words) <= _MOST_DEFINED:
        return ()
    return tuple(words[-2:] if len(words) > 1 and words[-2] not in SMALL else words[-1:])


def _has_text(template: Template) -> bool:
    """Return whether a value is a text of its own, like that of a mail: such a plan is meant once."""
    values = [value for step in template.plan.steps for value in step.arguments.values()]
    return any(isinstance(x, str) and len(x.split()) > _MOST_TEXT for value in values for x in literals(value))


def sentence_start(text: str, place: int) -> int:
    return max((match.end() for match in _SENTENCE.finditer(text, 0, place)), default=0)


_SENTENCE = re.compile(r"[.!?;](?=\s)|\n")


def opens(gram: tuple[str, ...], found: Sequence[Held]) -> bool:
    """Return whether the phrase is the first thing said, and a text follows."""
    return all(one.template.content is not None and place_of(gram, one.words()) == 0 for one in found)


def _grams(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    for n in range(1, _LONGEST + 1):
        for start in range(len(words) - n + 1):
            gram = tuple(words[start : start + n])
            if not SMALL.issuperset(gram):
                yield gram


def _telling(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in SMALL)


def _is_phrase(
    gram: tuple[str, ...],
    found: Sequence[Held],
    n_spoken: int,
    beside: Sequence[frozenset[tuple[str, str, str]]],
) -> bool:
    """Return whether a phrase is said of one macro and hardly of anything else.

    A phrase heard once must be the whole of what was said.

    Args:
        n_spoken: Number of requests of others that have it.
        beside: Constants of the owner's other plans whose requests have it: those that explain it share some.
    """
    newest = found[-_MOST_COMPARED:]
    alike = max(([other for other in newest if _are_alike(one, other)] for one in newest), key=len)
    constants = frozenset[tuple[str, str, str]]().union(*(one.template.constants() for one in alike))
    n_explained = sum(bool(constants & one) for one in beside)
    is_defined = any(one.defined == gram for one in alike)
    n_beside = len(beside) + n_spoken
    if is_defined and n_spoken < _MANY:  # a phrase the owner explained is known, whatever else it was refused for
        n_beside = sum(map(bool, beside))
    if len(alike) + n_explained < _LEAST_PURITY * (len(newest) + n_beside):
        return False
    if heads := {_telling(one.words()) for one in found if one.is_head}:
        return heads == {_telling(gram)}
    telling = set(_telling(gram))
    if len(found) > 1 or is_defined:
        return not _LEANS.issuperset(telling)
    if found[0].template.content is None and (_has_text(found[0].template) or telling <= _all_words(found[0].template)):
        return False  # a text of that day, or a thing by its name
    if n_explained:
        return not _LEANS.issuperset(telling)
    return _may_be_heard_once(found[-1].template, set(_telling(found[-1].words())), gram)


def _whole(phrases: Mapping[tuple[str, ...], list[Held]]) -> dict[tuple[str, ...], list[Held]]:
    """Drop parts of phrases: "tell the" of what was always "tell the house"."""
    telling = {gram: frozenset(word for word in gram if word not in SMALL) for gram in phrases}
    ids = {gram: [one.template.id for one in found] for gram, found in phrases.items()}
    return {
        gram: found
        for gram, found in phrases.items()
        if not any(telling[gram] < telling[other] and ids[gram] == ids[other] for other in phrases)
    }


def _may_be_heard_once(template: Template, telling: Set[str], gram: tuple[str, ...]) -> bool:
    """Return whether one demonstration is enough.

    Its request must be the phrase and refer to no other ("ok, send that"), and its plan must hold no text of that day.
    """
    if not telling <= set(gram) or _LEANS & {*template.stems}:
        return False
    return template.content is not None or not _has_text(template)


def _are_alike(one: Held, other: Held) -> bool:
    """Return whether two plans share a constant or, when neither writes a text, begin with the same tool."""
    if one.template.constants() & other.template.constants():
        return True
    if one.template.content is not None or other.template.content is not None:
        return False
    return one.template.plan.steps[0].tool == other.template.plan.steps[0].tool


def _all_words(template: Template) -> set[str]:
    return set[str]().union(*(words_for(template, k) for k in range(len(template.plan.steps))))


def words_for(template: Template, index: int) -> set[str]:
    """Return the words by which a step would be asked for: those of its tool's name and of its values."""
    step = template.plan.steps[index]
    words = set(words_of(step.tool.replace("_", " ")))
    for name, value in step.arguments.items():
        if not template.is_content(index, name):
            words.update(word for one in literals(value) for word in words_of(str(one)))
    return words - SMALL


def _spellings(words: Sequence[str]) -> dict[str, str]:
    """Map each word that looks like an earlier one to that one, so that a typing error is no word of its own."""
    known: dict[str, list[str]] = {}  # by the first letter, which similar words share
    found: dict[str, str] = {}
    for word in dict.fromkeys(words):
        first = next((one for one in known.get(word[:1], ()) if is_alike(one, word)), None)
        if first is None:
            known.setdefault(word[:1], []).append(word)
        else:
            found[word] = first
    return found


def place_of(gram: tuple[str, ...], words: Sequence[str]) -> int | None:
    if not {word[:1] for word in gram} <= {word[:1] for word in words}:
        return None  # similar words begin with the same letter
    for start in range(len(words) - len(gram) + 1):
        if all(is_alike(a, b) for a, b in zip(gram, words[start:], strict=False)):
            return start
    return None


# ── Macro meanings ────────────────────────────────────────────────────────────────────────────────────────
# Decides which part of the owner's demonstrations a phrase stands for: its steps, whether it sends, its list items.
#
# Covered: other business in a demonstration left out, meanings told later, sending that was or was not asked for,
# things added to a list, the part of the day. Not covered: changes that only take something away, quantities ("twice
# the usual").


def kept_steps(newest: Held, found: Sequence[Held], phrase: Set[str], *, is_later: bool) -> list[int]:
    """Return the indices of the steps that belong to the macro.

    These are steps that another such plan has, steps of which nothing is said beside the phrase, and what both need.

    Args:
        is_later: True when it was taught after the request: what it explains did not hold yet.
    """
    template = newest.template
    steps = template.plan.steps
    if template.explains:
        unsaid = [k for k, step in enumerate(steps) if all((k, name) in template.unsaid for name in step.arguments)]
        is_closed = unsaid and all(set(steps[k].needs()) <= set(unsaid) for k in unsaid)
        return unsaid if is_later and is_closed else list(range(len(steps)))
    beside = {word for word in template.stems if word not in SMALL} - phrase
    others = {
        _key(other.template, k) for other in found if other is not newest for k in range(len(other.template.plan.steps))
    }
    kept = {k for k in range(len(steps)) if _key(template, k) in others or not beside & words_for(template, k)}
    return sorted(_with_needed(template, kept)) or list(range(len(steps)))


def _with_needed(template: Template, kept: set[int]) -> set[int]:
    """Add the step that writes, those that use what it writes, and all that the kept steps need."""
    steps, content = template.plan.steps, template.content
    if content is not None:
        kept = kept | {content.step} | {k for k, step in enumerate(steps) if content.step in step.needs()}
    while (needed := kept | {need for k in kept for need in steps[k].needs()}) != kept:
        kept = needed
    return kept


def _key(template: Template, index: int) -> tuple[object, ...]:
    step = template.plan.steps[index]
    values = [(name, str(literals(v))) for name, v in step.arguments.items() if not template.is_content(index, name)]
    return (step.tool, *sorted((name, text) for name, text in values if not re.search(r"\d{4}-\d\d-\d\d", text)))


def effect_of_step(one: Held, index: int, tools: Mapping[str, ToolSpec]) -> str:
    spec = tools.get(one.template.plan.steps[index].tool)
    return spec.effect if spec is not None else "change"


def sending(found: Sequence[Held], is_asked: bool, tools: Mapping[str, ToolSpec]) -> tuple[Held, bool]:
    """Return the demonstration to follow, and whether its sending is kept.

    Sending is kept when it is asked for, or was taught for a request that did not ask.
    """
    sends = {
        one.template.id: any(effect_of_step(one, k, tools) == "send" for k in range(len(one.template.plan.steps)))
        for one in found
    }
    unasked = [one for one in found if sends[one.template.id] and not SENDS & set(one.template.stems)]
    plain = [one for one in found if not sends[one.template.id]]
    newest = found[-1]
    if is_asked:
        sending = [one for one in found if sends[one.template.id]]
        same = [one for one in sending if one.template.constants() == newest.template.constants()]
        return (same or [newest])[-1], True
    if unasked and (not plain or found.index(unasked[-1]) > found.index(plain[-1])):
        return newest, True
    return newest, False


_PLUS = re.compile(r"\s*(?:,?\s*(?:and|plus|also|with)\b|[,+&])\s*", re.IGNORECASE)


def with_more(plan: Plan, found: Sequence[Held], text: str, phrase: Sequence[Word]) -> Plan | None:
    """Return the plan with what the request adds to its list ("basics, and beer"), if the owner was seen to add to it.

    Returns:
        None: something is added, and it is not known to what.
    """
    lists = [
        (k, name) for k, step in enumerate(plan.steps) for name, v in step.arguments.items() if isinstance(v, list)
    ]
    lists = [(k, name) for k, name in lists if literals(plan.steps[k].arguments[name])]
    if not lists:
        return plan
    added = _PLUS.split(text[phrase[-1].end :])[1:]
    listed = {
        word for k, name in lists for one in literals(plan.steps[k].arguments[name]) for word in words_of(str(one))
    }
    items = [one for part in added if (one := _item(part)) and not set(words_of(one)) <= {*listed, *SMALL}]
    if not items:
        return plan
    if len(lists) > 1 or not any(one.template.adds_to_lists for one in found):
        return None
    (k, name) = lists[0]
    old = plan.steps[k].arguments[name]
    more = replace(
        plan.steps[k], arguments={**plan.steps[k].arguments, name: [*(old if isinstance(old, list) else []), *items]}
    )
    return replace(plan, steps=(*plan.steps[:k], more, *plan.steps[k + 1 :]))


def _item(part: str) -> str:
    """Return a thing to add, without words that only belong to the asking; empty when it is none."""
    words = words_at(re.split(r"[.;!?]|\b(?:for|please|pls|on the|to the)\b", part)[0])
    return part[words[0].start : words[-1].end] if words and len(words) <= _MOST_ADDED else ""


_MOST_ADDED = 5


_PARTS_OF_DAY = (("morning", 4, 12), ("afternoon", 12, 17), ("evening", 17, 22), ("night", 22, 28))


def of_part_of_day(plan: Plan, found: Sequence[Held], said: Sequence[str], now: dt.datetime | None) -> Plan:
    """Use the part of the day that is said, else the present one, when demonstrations differ only in it."""
    names = [name for name, _, _ in _PARTS_OF_DAY]
    used = {
        name for one in found for _, _, value in one.template.constants() for name in names if name in value.split()
    }
    if len(used) < 2 or now is None:
        return plan
    hour = (now.hour - 4) % 24 + 4
    apart = {name: max(first - hour, hour + 1 - last, 0) for name, first, last in _PARTS_OF_DAY if name in used}
    here = next((name for name in names if name in said), "") or min(apart, key=lambda name: apart[name])
    if here not in used:
        return plan
    pattern = re.compile(rf"\b(?:{'|'.join(names)})\b")
    steps = tuple(
        replace(
            step, arguments={n: pattern.sub(here, v) if isinstance(v, str) else v for n, v in step.arguments.items()}
        )
        for step in plan.steps
    )
    return replace(plan, steps=steps)


# ── Owner macros ──────────────────────────────────────────────────────────────────────────────────────────
# Plans requests that use an owner's own words: "goodnight" means the lamp, the door and seventeen degrees once
# taught.
#
# `planning.owner_macros` finds these words. A request that says such a phrase, and little beside it, gets the newest
# plan of its time: moments are counted from now and, where the plan writes something, it writes what this request
# says ("tell the band that …"). What else is asked for beside it is handed back, to be planned otherwise.
#
# Covered: one or several words, typing errors, meanings that change (the newest holds), texts, days and parts of the
# day read anew, things added to a list, other business before or after the phrase. Not covered: exceptions
# ("goodnight, but leave the lamp"), moments that a request says itself.

OWNERS = ("owner", "success")
"""Sources of demonstrations that are in the owner's own words."""
CONFIDENCE = 0.9
"""Confidence of a plan whose phrase stood for nothing else; calibrated on the development half of Q2A."""
_MOST_BESIDE = 5
"""Most content words beside the phrase; with more, the request asks for something else, too."""
_MOST_IN_PART = 1
"""The same limit within one part of a request that asks for more."""
_MOST_BEFORE = 2
"""The same limit before a phrase that opens a text, in its sentence."""
_EXCEPT = frozenset(
    re.findall(
        r"[\w']+",
        "but except without not no don't dont leave keep only instead cancel stop what when who why how include mean "
        "means",
    )
)
"""Words that, beside the phrase, add a condition to it or ask about it."""
_ASKS = frozenset(re.findall(r"\w+", "did does has have had is are was were will would can could should which whose"))
"""Words that, before a phrase that opens a text, ask about it."""
_ELSEWHERE = frozenset(re.findall(r"\w+", "attach attached attachment attaching below forward forwarded fwd"))
"""Words that show that a text is about something that comes with it."""
_BEFORE_CLAUSES = frozenset(re.findall(r"\w+", "and then also plus please pls you to now so ok can could"))
_IS = frozenset(("is", "are", "mean", "shall", "include"))
_CARRIES = frozenset(("do", "run", "give", "start"))
"""Words that, before a phrase, ask for it."""
_THIS_DAY = frozenset(("today", "tonight", "this", "now", "morning", "afternoon", "evening", "night", "the"))
_JOINT = re.compile(r"[.!?;:]+\s+|\n+|,?\s+(?:and then|and|then|plus|also|with)\s+|\s*[,+]\s*", re.IGNORECASE)
"""Matches what stands between one thing that is asked for and another."""


@dataclass(frozen=True, slots=True)
class Meant:
    """Meaning of a request that uses a macro."""

    plan: Plan
    id: str
    """Id of the demonstration it rests on."""
    before: str = ""
    after: str = ""
    """Text beside the phrase, to be planned otherwise; it is small talk when no plan can be made of it."""
    is_asked: bool = False
    """True when the text beside the phrase surely asks for something."""


@dataclass(frozen=True, slots=True)
class _Request:
    """A request with a phrase in it."""

    text: str
    words: Sequence[Word]
    now: dt.datetime | None
    is_part: bool = False
    """True when it is only a part of what was said."""
    is_rest: bool = False
    """True when nothing more is said after it."""
    gram: Gram = ()
    phrase: Sequence[Word] = ()

    @property
    def start(self) -> int:
        return self.phrase[0].start

    @property
    def end(self) -> int:
        return self.phrase[-1].end

    def is_explained(self) -> bool:
        """Return whether it says what the phrase is to mean ("the basics are …")."""
        after = next((word.stem for word in self.words if word.start >= self.end), "")
        return after in _IS and not self.phrase[-1].is_last

    def own_words(self) -> set[str]:
        return {*self.gram, *(word.stem for word in self.phrase)}


class Conventions:
    """The macros among some demonstrations, oldest first; built anew when these change."""

    def __init__(
        self,
        own: Sequence[Demonstration],
        others: Sequence[str],
        tools: Mapping[str, ToolSpec] | None = None,
        before: Conventions | None = None,
    ) -> None:
        """Find the macros of the owner.

        Args:
            own: Demonstrations of the owner, oldest first.
            others: Requests of everybody else's demonstrations: a phrase they use is no macro.
            tools: Tools on offer; without them it is not known what plans write.
            before: The macros of an earlier time, with the same tools: building on them takes a fraction of the time.
        """
        self._tools = tools or {}
        self._phrases: Phrases = Phrases(own, others, self._tools, before._phrases if before is not None else None)

    def __len__(self) -> int:
        return len(self._phrases.held)

    def meant(self, said: Utterance) -> Meant | None:
        """Return the meaning of a request; None when it uses no macro. Of what was taught after it, only what nothing
        older stands for counts."""
        if not self._phrases.found:
            return None
        text = said.text
        whole = self._best(_Request(text, words_at(text), said.now), said)
        if whole is not None:
            return whole
        words = words_at(text)
        stems = [word.stem for word in words]
        if _EXCEPT & set(stems):
            return None
        places = [(k, len(gram)) for gram in self._phrases.found if (k := place_of(gram, stems)) is not None]
        for place, n in sorted(places, key=lambda one: (-one[1], one[0])):
            start, end = _part(text, words[place].start, words[place + n - 1].end)
            for stop in (end, len(text)):  # the text to write may have joints of its own
                part = text[start:stop]
                if (start, stop) == (0, len(text)):
                    continue
                is_rest = stop == len(text)
                inner = self._best(_Request(part, words_at(part), said.now, is_part=True, is_rest=is_rest), said)
                if inner is not None:
                    is_asked = self._asks(said, 0, start) or self._asks(said, stop, len(text))
                    return replace(inner, before=text[:start], after=text[stop:], is_asked=is_asked)
        return None

    def _asks(self, said: Utterance, start: int, end: int) -> bool:
        """Return whether what stands beside a phrase asks for something."""
        words = words_at(said.text[start:end])
        begins = (k == 0 or words[k - 1].stem in _BEFORE_CLAUSES or words[k - 1].is_last for k in range(len(words)))
        is_command = any(
            is_first and word.stem in self._phrases.commands for is_first, word in zip(begins, words, strict=True)
        )
        has_value = any(start <= slot.start and slot.end <= end and slot.kind != "person" for slot in said.slots)
        return is_command or has_value

    def _best(self, request: _Request, whole: Utterance) -> Meant | None:
        """Return the meaning of the longest, best known phrase in a request, or in a part of the `whole`."""
        stems = [word.stem for word in request.words]
        best: tuple[tuple[int, int], Meant] | None = None
        for gram, found in self._phrases.found.items():
            place = place_of(gram, stems)
            rank = (len(gram), len(found))
            if place is None or (best is not None and rank <= best[0]):
                continue
            here = replace(request, gram=gram, phrase=request.words[place : place + len(gram)])
            answer = self._meaning(here, found, whole)
            if answer is not None:
                best = (rank, answer)
        return best[1] if best is not None else None

    def _meaning(self, request: _Request, found: Sequence[Held], whole: Utterance) -> Meant | None:
        """Return the meaning of one phrase in a request, as it was at its time."""
        known = [one for one in found if not one.is_once]
        then = [one for one in known if one.is_of(request.now)] or known[:1]
        if not then or request.is_explained():
            return None
        if any(one.template.has_moments for one in then) and _says_when(request, whole):
            return None
        writing = [one for one in then if one.template.content is not None]
        if writing:
            return self._writing(request, writing) if not request.is_part or request.is_rest else None
        return self._doing(request, then)

    def _doing(self, request: _Request, found: Sequence[Held]) -> Meant | None:
        """Return the newest plan, when little is said beside the phrase."""
        words, phrase = request.words, request.phrase
        beside = [word.stem for word in words if word not in phrase and word.stem not in SMALL]
        if _EXCEPT & {word.stem for word in words}:
            return None
        known = {word for one in found for word in one.template.stems}
        new = [word for word in beside if word not in known and not word.endswith("ly")]  # "quickly" changes nothing
        most = _MOST_IN_PART if request.is_part else _MOST_BESIDE
        if any(word.isdigit() for word in new) or len(new) > most or self._commanded(request, words, known):
            return None  # "remind me of …" asks for something else, whatever stands in it
        if self._is_for_other_things(request, new) or _is_turned(request, found):
            return None
        everywhere = self._phrases.found[request.gram]
        newest = found[-1]
        steps = kept_steps(newest, found, request.own_words(), is_later=not newest.is_of(request.now))
        plan = of_part_of_day(filled(newest.template, steps, request.now, ""), everywhere, beside, request.now)
        whole = with_more(plan, everywhere, request.text, phrase)
        return Meant(whole, newest.template.id) if whole is not None else None

    def _is_for_other_things(self, request: _Request, new: Collection[str]) -> bool:
        """Return whether everybody's words are said of a new thing: "open up the shed" of who opens up the workshop."""
        is_common = request.gram in self._phrases.spoken and len(self._phrases.found[request.gram]) == 1
        if not is_common or request.phrase[-1].is_last:
            return False
        after = [word for word in request.words if word.start >= request.end and word.stem not in SMALL]
        return bool(after) and after[0].stem in new

    def _commanded(self, request: _Request, words: Sequence[Word], known: Collection[str]) -> bool:
        """Return whether a clause beside the phrase begins as requests do; "give me the evening look" is part of it."""
        for k, word in enumerate(words):
            is_first = k == 0 or words[k - 1].stem in _BEFORE_CLAUSES or words[k - 1].is_last
            if not is_first or word.stem not in self._phrases.commands or word in request.phrase or word.stem in known:
                continue
            between = [one for one in words if word.end <= one.start and one.end <= request.start]
            is_before = word.start <= request.start
            if word.stem not in _CARRIES or not is_before or any(one.stem not in SMALL for one in between):
                return True
        return False

    def _writing(self, request: _Request, found: Sequence[Held]) -> Meant | None:
        """Return the newest plan with the text of this request, when the phrase opens it."""
        words, gram = request.words, request.gram
        written = written_in(request.text, request.end)
        inside = words_of(written)
        if not inside or _ELSEWHERE & set(inside) or place_of(gram, inside) is not None:
            return None
        if not any(_reads(one, gram) for one in found) or self._asks_before(request, found):
            return None
        is_opened = (
            request.text[request.end :].lstrip().startswith(":") or request.words[0].stem in self._phrases.commands
        )
        if request.is_part and (request.phrase[0] is not request.words[0] or not is_opened):
            return None  # "dump it in the thesis note"
        outside = {word.stem for word in words if word.start < request.end or word.stem not in inside}
        newest, is_sent = sending(found, bool(SENDS & outside), self._tools)
        steps = kept_steps(newest, found, request.own_words(), is_later=not newest.is_of(request.now))
        if not is_sent:
            steps = [k for k in steps if effect_of_step(newest, k, self._tools) != "send"]
        return Meant(filled(newest.template, steps, request.now, written), newest.template.id)

    def _asks_before(self, request: _Request, found: Sequence[Held]) -> bool:
        """Return whether what stands before a phrase that opens a text asks for something else, or about it."""
        sentence = sentence_start(request.text, request.start)
        known = {word for one in found for word in one.words()} | SMALL
        before = [word for word in request.words if word.end <= request.start]
        near = [word.stem for word in before if sentence <= word.start and word.stem not in known]
        if (_EXCEPT | _ASKS) & set(near) or len(near) > _MOST_BEFORE or (near and opens(request.gram, found)):
            return True
        return self._commanded(request, before, known)


def _is_turned(request: _Request, found: Sequence[Held]) -> bool:
    """Return whether the phrase is said with the contrary of the particle that it was taught with: "let the cat out" of
    who taught to let it in."""
    said = _particle(request.words, request.words.index(request.phrase[0]), len(request.phrase))
    taught = {_particle_of(one.template, request.gram) for one in found}
    return said not in taught and any(is_contrary(said, one) for one in taught)


def _particle_of(template: Template, gram: Gram) -> str:
    place = place_of(gram, template.stems)
    return _particle(template.words, place, len(gram)) if place is not None else ""


def _particle(words: Sequence[Word], place: int, n: int) -> str:
    """Return the particle that belongs to the phrase of `n` words at a place, of the stretch between two marks."""
    first = max((k + 1 for k in range(place) if words[k].is_last), default=0)
    last = next((k + 1 for k in range(place + n - 1, len(words)) if words[k].is_last), len(words))
    stems = [word.stem for word in words]
    return nearest_particle(stems[first:place], stems[place + n : last])


def _part(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the part of a request between two joints that contains `[start:end]`."""
    joints = list(_JOINT.finditer(text))
    first = max((joint.end() for joint in joints if joint.end() <= start), default=0)
    last = min((joint.start() for joint in joints if joint.start() >= end), default=len(text))
    return first, last


def _says_when(request: _Request, whole: Utterance) -> bool:
    """Return whether the whole request says a time beside the phrase; then the macro's own times are not meant."""
    own = " ".join(word.stem for word in request.phrase)
    outside = (" ".join(words_of(slot.text)) for slot in whole.times)
    return any(said not in own and not set(said.split()) <= _THIS_DAY for said in outside)


def _reads(one: Held, gram: Gram) -> bool:
    """Return whether the phrase finds a demonstration's own text."""
    words = words_at(one.template.text)
    place = place_of(gram, [word.stem for word in words])
    if place is None:
        return False
    found = written_in(one.template.text, words[place + len(gram) - 1].end)
    return words_of(found) == words_of(one.template.written)
