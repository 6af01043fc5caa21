"""Finds which demonstrations of the owner define a macro, and the phrase by which it is known.

A macro is a phrase of the owner's that stands for a fixed plan. A demonstration defines one when its plan has values
that its request does not say, or when it explains a phrase ("from now on the usual is …"). The phrase is what such
requests share and others lack; one that was heard once must be the whole of what was said.

Covered: phrases of up to three words, explained or not, typing errors, changed meanings.
Not covered: phrases that ordinary requests use as well, follow-ups ("ok, send that"), separated words ("close … up").
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from hearth.formats.plan_validation import literals
from hearth.planning.adaptation.templates import (
    SENDS,
    SMALL,
    Template,
    bare_of,
    is_alike,
    template_of,
    words_of,
)
from hearth.types import Demonstration, ToolSpec

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
        read = [words_of(text) for text in texts]
        begun = Counter(words[0] for words in read if len(words) > _SHORTEST)
        self.commands = frozenset(word for word, n in begun.items() if n > 1 and word not in SMALL)
        """Words that several of them begin with."""
        self.spoken = Counter(gram for words in read for gram in set(_grams(words)))
        self.opening = Counter(tuple(words[:n]) for words in read for n in range(1, _LONGEST + 1))
        self.bare = {tuple(map(bare_of, gram)) for gram in self.spoken}


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
        spoken, opening = self.others.spoken, self.others.opening
        self.held = [one for template in templates if (one := _held(template)) is not None]
        alike = _spellings([word for one in self.held for word in one.template.stems])
        said: dict[Gram, list[Held]] = {}
        for one in self.held:
            for gram in set(_grams([alike.get(word, word) for word in one.words()])):
                if one.may_be_known_by(gram):
                    said.setdefault(gram, []).append(one)
        beside = self._beside(own, templates, alike, said)
        self.spoken = frozenset(gram for gram in said if tuple(map(bare_of, gram)) in self.others.bare)
        """Phrases that others use, too."""
        self.found: Mapping[Gram, list[Held]] = _whole(
            {
                gram: found
                for gram, found in said.items()
                if _is_phrase(gram, found, (opening if opens(gram, found) else spoken)[gram], beside.get(gram, []))
            }
        )

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
