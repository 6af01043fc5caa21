"""What an owner's own words stand for: "goodnight" is the lamp, the door and seventeen degrees, since they taught it.

A demonstration by the owner (taught, corrected, or a success of theirs) holds a convention when its plan has values
that its request does not say: they cannot be read from words, only known. Its phrase is what such requests share and
others lack. A request that says the phrase, and little beside it, gets the newest such plan of its time: moments are
counted from now and, where the plan writes something, it writes what this request says ("tell the band that …").

Covered: one or several words, small typing errors, meanings that change (the newest holds), other business beside the
phrase in a demonstration (it is no part of the meaning), texts, days and parts of the day read anew.
Not covered: exceptions ("goodnight, but leave the lamp"), other business beside the phrase in a request (it is planned
otherwise), phrases that ordinary requests use as well, moments that a request says itself.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from hearth.planning.slots import find_slots
from hearth.planning.templates import (
    SENDS,
    SMALL,
    Template,
    Word,
    bare_of,
    filled,
    is_alike,
    is_moment,
    literals,
    template_of,
    words_at,
    words_of,
    written_in,
)
from hearth.types import Context, Demonstration, Plan, ToolSpec

OWNERS = ("owner", "success")
"""Sources of demonstrations that are in the owner's own words."""
CONFIDENCE = 0.9
"""Of a plan whose phrase stood for nothing else; as right on the development half of Q2A as it says."""
_LONGEST = 3
_LEAST_PURITY = 0.75
_MOST_BESIDE = 5
"""Telling words beside the phrase: with more, the request asks for something else, too."""
_MOST_BEFORE = 2
"""The same before a phrase that opens a text, in its sentence."""
_MOST_TEXT = 3
"""Words of a value that is named rather than written."""
_EXCEPT = frozenset(
    re.findall(
        r"[\w']+",
        "but except without not no don't dont leave keep only instead cancel stop what when who why how include mean "
        "means",
    )
)
"""A request with one of these beside the phrase says more than it, or asks about it."""
_ASKS = frozenset(re.findall(r"\w+", "did does has have had is are was were will would can could should which whose"))
"""Before a phrase that opens a text these ask about it."""
_ELSEWHERE = frozenset(re.findall(r"\w+", "attach attached attachment attaching below forward forwarded fwd"))
"""A text with one of these is about something that goes with it."""
_LEANS = SENDS | frozenset(
    re.findall(r"\w+", "him her it that them he she they those these this mail one other he's it's")
)
"""Words by which a request leans on the one before it."""
_BEFORE_CLAUSES = frozenset(re.findall(r"\w+", "and then also plus please pls you to now so ok can could"))
_CARRIES = frozenset(("do", "run", "give", "start"))
"""Before a phrase these ask for it."""
_DEFINES = re.compile(
    r"\s*[,.;:(=–—-]*\s*(?:and |which |for you |to you |by which |for me )*"
    r"(?:that'?s|that is|means|meaning|i mean|is what|i\.?e\.|aka|as in|=)(?=[\s,:])",
    re.IGNORECASE,
)
_MOST_DEFINED = 6
_NEWLY = re.compile(
    r"\bfrom (?:now on|today)(?: on)?,? (?:the )?(?P<phrase>\w+(?: \w+)?) (?:also )?(?:means?|includes?|is|are)\b",
    re.IGNORECASE,
)
"""A meaning that begins: "from now on the usual is …"."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A demonstration that holds a convention."""

    template: Template
    defined: tuple[str, ...] = ()
    """The phrase that the request explains ("close up, by which I mean …"); empty: it explains none."""
    is_short: bool = False
    """Whether it says some of its values, and is hardly more than its phrase ("fall check")."""
    is_once: bool = False
    """Whether it explains a phrase while asking for what belongs to that day: no plan to follow."""
    is_head: bool = False
    """Whether its values are said in the words that open its text ("garden diary: …")."""

    def words(self) -> list[str]:
        """The stems among which its phrase is: before a text that is written, of its sentence."""
        content, text = self.template.content, self.template.text
        if content is None or self.template.explains:
            return list(self.template.stems)
        start = _sentence_start(text, content.start)
        return [word.stem for word in self.template.words if start <= word.start and word.end <= content.start]

    def is_of(self, now: dt.datetime | None) -> bool:
        then = self.template.now
        return now is None or then is None or then <= now


class Conventions:
    """The conventions among some demonstrations, oldest first; made anew when they change."""

    def __init__(
        self, own: Sequence[Demonstration], others: Iterable[str], tools: Mapping[str, ToolSpec] | None = None
    ) -> None:
        """Find what the owner's words stand for.

        Args:
            own: What the owner taught, oldest first.
            others: Requests of everybody else's demonstrations: a phrase they use is no convention.
            tools: What is on offer; without them nothing is known of what plans write.
        """
        self._tools = tools or {}
        templates = [made for d in own if (made := template_of(d, self._tools)) is not None]
        self._held = [one for template in templates if (one := _held(template)) is not None]
        alike = _spellings([word for one in self._held for word in one.template.stems])
        read = [words_of(text) for text in others]
        begun = Counter(words[0] for words in read if len(words) > 2)
        self._commands = frozenset(word for word, n in begun.items() if n > 1 and word not in SMALL)
        spoken = Counter(gram for words in read for gram in set(_grams(words)))
        opening = Counter(tuple(words[:n]) for words in read for n in range(1, _LONGEST + 1))
        said: dict[tuple[str, ...], list[_Held]] = {}
        for one in self._held:
            named, added = one.template.said_words(), one.template.added_words()
            for gram in set(_grams([alike.get(word, word) for word in one.words()])):
                telling = {word for word in gram if word not in SMALL}
                is_named = telling <= named or added & telling or (one.is_short and not named - SMALL <= telling)
                if one.is_head or not is_named:
                    said.setdefault(gram, []).append(one)
        ids = {one.template.id for one in self._held}
        constants = {template.id: template.constants() for template in templates}
        beside: dict[tuple[str, ...], list[frozenset[tuple[str, str, str]]]] = {}  # what else a phrase was said for
        for d in own:
            if d.id not in ids:
                for gram in set(_grams([alike.get(word, word) for word in words_of(d.request)])) & said.keys():
                    beside.setdefault(gram, []).append(constants.get(d.id, frozenset()))
        bare = {tuple(map(bare_of, gram)) for gram in spoken}
        self._spoken = frozenset(gram for gram in said if tuple(map(bare_of, gram)) in bare)
        phrases = {
            gram: found
            for gram, found in said.items()
            if _is_phrase(gram, found, (opening if _opens(gram, found) else spoken)[gram], beside.get(gram, []))
        }
        self._phrases: Mapping[tuple[str, ...], list[_Held]] = _whole(phrases)

    def __len__(self) -> int:
        return len(self._held)

    def meant(self, text: str, now: dt.datetime | None = None) -> tuple[Plan, str] | None:
        """The plan that a request stands for and the demonstration it rests on; None when it is no convention.

        Args:
            now: When it is asked; what was taught later is passed over where something older is known.
        """
        words = words_at(text)
        stems = [word.stem for word in words]
        best: tuple[tuple[int, int], tuple[Plan, str]] | None = None
        for gram, found in self._phrases.items():
            place = _place(gram, stems)
            rank = (len(gram), len(found))
            if place is None or (best is not None and rank <= best[0]):
                continue
            known = [one for one in found if not one.is_once]
            then = [one for one in known if one.is_of(now)] or known[:1]
            if not then:
                continue
            writing = [one for one in then if one.template.content is not None]
            phrase = words[place : place + len(gram)]
            if any(one.template.has_moments for one in then) and _says_when(text, phrase, now):
                continue
            if writing:
                answer = self._writing(gram, writing, text, words, phrase, now)
            else:
                answer = self._doing(gram, then, text, words, phrase, now)
            if answer is not None:
                best = (rank, answer)
        return best[1] if best is not None else None

    def _doing(
        self,
        gram: tuple[str, ...],
        found: Sequence[_Held],
        text: str,
        words: Sequence[Word],
        phrase: Sequence[Word],
        now: dt.datetime | None,
    ) -> tuple[Plan, str] | None:
        """The newest plan, when little is said beside the phrase."""
        beside = [word.stem for word in words if word not in phrase and word.stem not in SMALL]
        if _EXCEPT & {word.stem for word in words}:
            return None
        known = {word for one in found for word in one.template.stems}
        new = [word for word in beside if word not in known]
        if any(word.isdigit() for word in new) or len(new) > _MOST_BESIDE or self._commanded(words, phrase, known):
            return None  # "remind me of …" asks for something else, whatever stands in it
        if gram in self._spoken and len(self._phrases[gram]) == 1 and not phrase[-1].is_last:
            after = [word for word in words if word.start >= phrase[-1].end and word.stem not in SMALL]
            if after and after[0].stem in new:
                return None  # "open up the shed", where others say "open up", too
        newest = found[-1]
        steps = _kept(newest, found, {*gram, *(word.stem for word in phrase)}, is_later=not newest.is_of(now))
        plan = _of_part_of_day(filled(newest.template, steps, now, ""), self._phrases[gram], beside, now)
        whole = _with_more(plan, self._phrases[gram], text, phrase)
        return (whole, newest.template.id) if whole is not None else None

    def _commanded(self, words: Sequence[Word], phrase: Sequence[Word], known: Collection[str]) -> bool:
        """Whether a clause beside the phrase begins as requests do; "give me the evening look" is the phrase's own."""
        for k, word in enumerate(words):
            is_first = k == 0 or words[k - 1].stem in _BEFORE_CLAUSES or words[k - 1].is_last
            if not is_first or word.stem not in self._commands or word in phrase or word.stem in known:
                continue
            own = [one for one in words if word.end <= one.start and one.end <= phrase[0].start]
            if word.stem not in _CARRIES or word.start > phrase[0].start or any(o.stem not in SMALL for o in own):
                return True
        return False

    def _writing(
        self,
        gram: tuple[str, ...],
        found: Sequence[_Held],
        text: str,
        words: Sequence[Word],
        phrase: Sequence[Word],
        now: dt.datetime | None,
    ) -> tuple[Plan, str] | None:
        """The newest plan with what this request writes, when the phrase opens it."""
        start, end = phrase[0].start, phrase[-1].end
        written = written_in(text, end)
        inside = words_of(written)
        if not inside or _ELSEWHERE & set(inside) or _place(gram, inside) is not None:
            return None
        if not any(_reads(one, gram) for one in found):
            return None
        sentence = _sentence_start(text, start)
        known = {word for one in found for word in one.words()} | SMALL
        near = [word.stem for word in words if sentence <= word.start and word.end <= start and word.stem not in known]
        if (_EXCEPT | _ASKS) & set(near) or len(near) > _MOST_BEFORE or (near and _opens(gram, found)):
            return None
        if self._commanded([word for word in words if word.end <= start], phrase, known):
            return None
        outside = {word.stem for word in words if word.start < end or word.stem not in inside}
        newest, is_sent = _sending(found, bool(SENDS & outside), self._tools)
        steps = _kept(newest, found, {*gram, *(word.stem for word in phrase)}, is_later=not newest.is_of(now))
        if not is_sent:
            steps = [k for k in steps if _effect(newest, k, self._tools) != "send"]
        return filled(newest.template, steps, now, written), newest.template.id


# ── What holds a convention ───────────────────────────────────────────────────────────────────────────────


def is_fixed(template: Template) -> bool:
    """Whether a plan has values that its request does not say, and no other ones."""
    has_some = False
    for index, step in enumerate(template.plan.steps):
        for name, value in step.arguments.items():
            if literals(value) and not template.is_content(index, name):
                if (index, name) not in template.unsaid:
                    return False
                has_some = True
    return has_some


def _held(template: Template) -> _Held | None:
    """The convention of a demonstration: of one that explains itself, also with values that it says."""
    if is_fixed(template):
        return _Held(template, _defined(template))
    if template.explains and template.constants() and (template.content is not None or not _has_text(template)):
        return _Held(template, _defined(template), is_once=template.content is not None and bool(template.unsaid))
    if _is_short(template):
        return _Held(template, is_short=True)
    content = template.content
    if content is None or not template.constants() or template.unsaid or _says_a_moment(template):
        return None
    head = [word.stem for word in template.words if word.end <= content.start and word.stem not in SMALL]
    named = {word for _, _, value in template.constants() for word in words_of(value)}
    return _Held(template, is_head=True) if 0 < len(head) <= _LONGEST and named <= {*head, *SMALL} else None


def _is_short(template: Template) -> bool:
    """Whether a request is hardly more than a phrase, and its plan says more than it; a number said is none of it."""
    values = [x for step in template.plan.steps for value in step.arguments.values() for x in literals(value)]
    is_numbered = any(isinstance(x, int | float) and not isinstance(x, bool) for x in values)
    telling = [word for word in template.stems if word not in SMALL]
    return bool(template.unsaid) and template.content is None and len(telling) <= _LONGEST and not is_numbered


def _defined(template: Template) -> tuple[str, ...]:
    """The last words before "that is"."""
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
    """Whether a value is a text of its own, as of a mail: such a plan is for once."""
    values = [value for step in template.plan.steps for value in step.arguments.values()]
    return any(isinstance(x, str) and len(x.split()) > _MOST_TEXT for value in values for x in literals(value))


def _sentence_start(text: str, place: int) -> int:
    return max((match.end() for match in _SENTENCE.finditer(text, 0, place)), default=0)


_SENTENCE = re.compile(r"[.!?;](?=\s)|\n")


def _opens(gram: tuple[str, ...], found: Sequence[_Held]) -> bool:
    """Whether the phrase is the first thing said, and a text follows."""
    return all(one.template.content is not None and _place(gram, one.words()) == 0 for one in found)


def _says_when(text: str, phrase: Sequence[Word], now: dt.datetime | None) -> bool:
    """Whether a request says a time beside the phrase: then the times of the convention are not meant."""
    if now is None:
        return False
    slots = (slot for slot in find_slots(text, now, Context()) if slot.kind == "time")
    outside = (slot for slot in slots if slot.end <= phrase[0].start or slot.start >= phrase[-1].end)
    return any(not set(words_of(slot.text)) <= _THIS_DAY for slot in outside)


_THIS_DAY = frozenset(("today", "tonight", "this", "now", "morning", "afternoon", "evening", "night", "the"))


def _says_a_moment(template: Template) -> bool:
    return any(is_moment(one) for step in template.plan.steps for v in step.arguments.values() for one in literals(v))


def _grams(words: Sequence[str]) -> Iterable[tuple[str, ...]]:
    for n in range(1, _LONGEST + 1):
        for start in range(len(words) - n + 1):
            gram = tuple(words[start : start + n])
            if not SMALL.issuperset(gram):
                yield gram


def _is_phrase(
    gram: tuple[str, ...],
    found: Sequence[_Held],
    n_spoken: int,
    beside: Sequence[frozenset[tuple[str, str, str]]],
) -> bool:
    """Said of one convention and hardly of anything else; a phrase heard once must be the whole of what was said.

    Args:
        n_spoken: How many requests of others have it.
        beside: The constants of the owner's other plans whose requests have it: what explains it shares some.
    """
    groups = [[other for other in found if _are_alike(one, other)] for one in found]
    alike = max(groups, key=len)
    constants = frozenset[tuple[str, str, str]]().union(*(one.template.constants() for one in alike))
    n_explained = sum(bool(constants & one) for one in beside)
    is_defined = any(one.defined == gram for one in alike)
    n_elsewhere = 0 if is_defined else n_spoken
    if len(alike) + n_explained < _LEAST_PURITY * (len(found) + len(beside) + n_elsewhere):
        return False
    if any(one.is_head for one in found):
        heads = {tuple(word for word in one.words() if word not in SMALL) for one in found if one.is_head}
        return heads == {tuple(word for word in gram if word not in SMALL)}
    telling = {word for word in gram if word not in SMALL}
    if len(found) > 1 or is_defined:
        return not _LEANS.issuperset(telling)
    if found[0].template.content is None and (_has_text(found[0].template) or telling <= _all_words(found[0].template)):
        return False  # a text of that day, or a thing by its name
    if n_explained:
        return not _LEANS.issuperset(telling)
    return _may_be_heard_once(found[-1].template, {word for word in found[-1].words() if word not in SMALL}, gram)


def _whole(phrases: Mapping[tuple[str, ...], list[_Held]]) -> dict[tuple[str, ...], list[_Held]]:
    """Without parts of phrases: "tell the" of what was always "tell the house"."""
    telling = {gram: frozenset(word for word in gram if word not in SMALL) for gram in phrases}
    ids = {gram: [one.template.id for one in found] for gram, found in phrases.items()}
    return {
        gram: found
        for gram, found in phrases.items()
        if not any(telling[gram] < telling[other] and ids[gram] == ids[other] for other in phrases)
    }


def _may_be_heard_once(template: Template, telling: Set[str], gram: tuple[str, ...]) -> bool:
    """Whether one demonstration is enough: its request is the phrase, leans on no other ("ok, send that"), and its
    plan holds no text of that day."""
    if not telling <= set(gram) or _LEANS & {*template.stems}:
        return False
    return template.content is not None or not _has_text(template)


def _are_alike(one: _Held, other: _Held) -> bool:
    """Whether two plans share a constant; of those that write nothing it is enough that they begin alike."""
    if one.template.constants() & other.template.constants():
        return True
    if one.template.content is not None or other.template.content is not None:
        return False
    return one.template.plan.steps[0].tool == other.template.plan.steps[0].tool


def _reads(one: _Held, gram: tuple[str, ...]) -> bool:
    """Whether a demonstration's own text is found by the phrase."""
    words = words_at(one.template.text)
    place = _place(gram, [word.stem for word in words])
    if place is None:
        return False
    found = written_in(one.template.text, words[place + len(gram) - 1].end)
    return words_of(found) == words_of(one.template.written)


# ── What of a plan is meant ───────────────────────────────────────────────────────────────────────────────


def _kept(newest: _Held, found: Sequence[_Held], phrase: Set[str], *, is_later: bool) -> list[int]:
    """The steps that belong to the convention: those that another such plan has, and those of which nothing is said
    beside the phrase; with what they need.

    Args:
        is_later: It was taught after the request: what it explains did not hold yet.
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
    kept = {k for k in range(len(steps)) if _key(template, k) in others or not beside & _words_for(template, k)}
    if template.content is not None:
        kept.add(template.content.step)
    while True:
        needed = kept | {need for k in kept for need in steps[k].needs()}
        needed |= {k for k, step in enumerate(steps) if template.content and template.content.step in step.needs()}
        if needed == kept:
            break
        kept = needed
    return sorted(kept) or list(range(len(steps)))


def _key(template: Template, index: int) -> tuple[object, ...]:
    step = template.plan.steps[index]
    values = [(name, str(literals(v))) for name, v in step.arguments.items() if not template.is_content(index, name)]
    return (step.tool, *sorted((name, text) for name, text in values if not re.search(r"\d{4}-\d\d-\d\d", text)))


def _all_words(template: Template) -> set[str]:
    return set[str]().union(*(_words_for(template, k) for k in range(len(template.plan.steps))))


def _words_for(template: Template, index: int) -> set[str]:
    """The words by which a step would be asked for: of its tool's name and of its values."""
    step = template.plan.steps[index]
    words = set(words_of(step.tool.replace("_", " ")))
    for name, value in step.arguments.items():
        if not template.is_content(index, name):
            words.update(word for one in literals(value) for word in words_of(str(one)))
    return words - SMALL


def _effect(one: _Held, index: int, tools: Mapping[str, ToolSpec]) -> str:
    spec = tools.get(one.template.plan.steps[index].tool)
    return spec.effect if spec is not None else "change"


def _sending(found: Sequence[_Held], is_asked: bool, tools: Mapping[str, ToolSpec]) -> tuple[_Held, bool]:
    """The demonstration to follow, and whether its sending is kept: it is where sending is asked for, or was taught
    for a request that did not ask."""
    sends = {
        one.template.id: any(_effect(one, k, tools) == "send" for k in range(len(one.template.plan.steps)))
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


def _with_more(plan: Plan, found: Sequence[_Held], text: str, phrase: Sequence[Word]) -> Plan | None:
    """The plan with what the request adds to its list ("basics, and beer"), where the owner was seen to add to it.

    Returns:
        None: something is added, and nobody knows to what.
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
    """A thing to add, without what only goes with the asking."""
    words = words_at(re.split(r"[.;!?]|\b(?:for|please|pls|on the|to the)\b", part)[0])
    return part[words[0].start : words[-1].end] if words and len(words) <= _MOST_ADDED else ""


_MOST_ADDED = 5


_PARTS_OF_DAY = (("morning", 4, 12), ("afternoon", 12, 17), ("evening", 17, 22), ("night", 22, 28))


def _of_part_of_day(plan: Plan, found: Sequence[_Held], said: Sequence[str], now: dt.datetime | None) -> Plan:
    """The plan with the part of the day that is said, else that it is, where demonstrations differ in just that."""
    names = [name for name, _, _ in _PARTS_OF_DAY]
    used = {
        name for one in found for _, _, value in one.template.constants() for name in names if name in value.split()
    }
    if len(used) < 2 or now is None:
        return plan
    here = next((name for name in names if name in said), "")
    here = here or next(name for name, first, end in _PARTS_OF_DAY if first <= (now.hour - 4) % 24 + 4 < end)
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


# ── Words that read alike ─────────────────────────────────────────────────────────────────────────────────


def _spellings(words: Sequence[str]) -> dict[str, str]:
    """Each word that reads like an earlier one, with that one: an error of typing is no word of its own."""
    known: list[str] = []
    found: dict[str, str] = {}
    for word in dict.fromkeys(words):
        first = next((one for one in known if is_alike(one, word)), None)
        if first is None:
            known.append(word)
        else:
            found[word] = first
    return found


def _place(gram: tuple[str, ...], words: Sequence[str]) -> int | None:
    for start in range(len(words) - len(gram) + 1):
        if all(is_alike(a, b) for a, b in zip(gram, words[start:], strict=False)):
            return start
    return None
