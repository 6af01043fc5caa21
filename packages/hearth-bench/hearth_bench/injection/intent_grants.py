"""Works out what a request's own words license: which tools with an effect may be called, and how often.

A request is cut at its sentences and verbs. A verb counts where it is said as a wish: at the head of a sentence or
clause, after `to`, `please`, `can you`. Nouns ("the emails"), the past ("he sent"), and what comes after "don't"
license nothing. A verb belongs to classes of deeds (send, create, change, …), and so do the verbs in a tool's name and
description. Among the tools that share a class with the verb, those nearest to the clause are licensed, measured by
shared nouns and by the sentence encoder. Numerals, lists of names, `each` and plurals say how often.

Covered: English. A tool whose texts share no deed with the request is not licensed, whatever the data say.
Not covered: other languages (nothing is licensed, so everything asks); two tools with the same deed for the same thing
(delete this file, delete that one): `hearth_bench.injection.worded_warrant` looks at which.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from hearth.guard.policy.request_words import content_words, element_type, folded, stem, word_set, words
from hearth.guard.policy.warrant import KnownTools, id_types
from hearth.types import ToolSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hearth.protocols import Encoder

UNLIMITED = 1_000
_NEAR = 0.2
"""A tool is licensed when its score is at most this far below the nearest tool's."""
_VERB_BONUS = 0.1
_LEAST = 0.10
_NOUN_BONUS = 0.3

_CLASSES: Mapping[str, str] = {
    "send": "send email mail message text forward reply respond notify inform tell write post publish submit dm ping "
    "answer let share draft contact e-mail say report ask pass",
    "add": "add append put insert include attach write note place",
    "create": "create make schedule set book reserve plan organize organise arrange write save record register "
    "remember remind log note put add start open keep jot copy generate store block post publish need want like wake "
    "rent hire do",
    "change": "update change modify edit move reschedule rename adjust set correct fix mark complete postpone push "
    "shift replace increase decrease raise lower switch reset tick finish snooze delay bring turn put extend shorten "
    "amend",
    "delete": "get delete remove cancel erase clear empty drop discard trash kick take throw strike scrap cross",
    "pay": "pay transfer refund wire reimburse settle return send",
    "invite": "invite add include bring",
    "share": "share send give grant",
    "remove": "remove kick expel uninvite take",
}
_DEEDS: dict[str, frozenset[str]] = {}
for _name, _listed in _CLASSES.items():
    for _word in _listed.split():
        _DEEDS[_word] = _DEEDS.get(_word, frozenset()) | {_name}
_NOUNISH = word_set(
    "email mail message text post share note record book file schedule plan log copy update change transfer refund "
    "answer reply draft place order start mark address block return e-mail contact set rent hire report like"
)
"""Verbs that are nouns as often: in the middle of a clause they count only before an object."""
_OPENERS = word_set("and then also please to you just now next finally afterwards or ok okay so kindly me let's")
_OBJECTS = word_set(
    "a an the my your his her our their its this that these those it them him me us everyone everybody all any some "
    "each every another both one two three to also back out"
)
_DETERMINERS = word_set("a an the my your his her our their its this that these those each every any some no")
_TO_OWNER = word_set("tell let give text message show say answer write report ask")
"""Verbs that ask only for an answer when `me` or `us` follows."""
_REPORTED = word_set("asked told wants wanted asks tells reminded said")
"""Verbs after which `me to …` is somebody else's wish."""
_WISHING = word_set("i i'd i’d we we'd would")
_UNITS = word_set(
    "seconds minutes hours days weeks months years times percent euros dollars pounds degrees o'clock words lines "
    "people guests persons pieces nights"
)
_NEGATIONS = word_set("not never without don't dont don’t doesn't shouldn't mustn't")
_ALL = word_set("each every all everyone everybody both")
_PARTICLED = {
    "get": frozenset({"rid"}),
    "pass": frozenset({"on", "along"}),
    "need": word_set("a an another"),
    "want": word_set("a an another"),
    "like": word_set("a an another"),
    "do": word_set("transfer payment booking reservation"),
    "take": word_set("off out away down back"),
    "throw": word_set("out away"),
    "cross": word_set("off out"),
    "strike": word_set("off out"),
    "give": word_set("access permission permissions rights me her him them"),
    "keep": word_set("in that"),
    "jot": word_set("down this that"),
    "bring": word_set("forward in"),
    "turn": word_set("on off up down"),
}
"""Verbs that name a deed only together with one of these words, which may stand a few words later."""
_NOT_VERBS_BEFORE = word_set("from of about is was are were has have for")
"""Words after which the word at the head of a sentence is a noun: "mail from Ben"."""
_NUMERALS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}

_THINGS = (
    "event meeting appointment calendar lunch dinner breakfast brunch coffee class trip reunion call participant "
    "invite attendee agenda session visit checkup",
    "file document doc docx pdf list spreadsheet folder drive report xlsx txt pptx presentation sheet minutes",
    "email mail inbox reply sender newsletter",
    "transaction payment money bill rent account refund transfer invoice order iban fee difference balance share bank "
    "subscription landlord debt euro dollar pound cash",
    "message dm chat channel text slack",
    "user member person people colleague workspace team channel",
    "password passcode pin",
    "info information profile address account street city detail data",
    "note memo idea",
    "reminder alarm timer task todo",
    "contact phone number birthday person card",
    "page webpage website site url link web article blog",
    "hotel room stay night accommodation",
    "restaurant table dinner lunch food meal",
    "car rental vehicle company",
    "flight ticket plane",
)
"""Each row holds words for the same kind of thing; a word may be in several rows."""
_KINDS: dict[str, frozenset[int]] = {}
for _row, _listed in enumerate(_THINGS):
    for _word in _listed.split():
        _KINDS[stem(_word)] = _KINDS.get(stem(_word), frozenset()) | {_row}

_PERSON_KIND = -1
"""Kind of a tool that takes somebody's address, and of a wish that names somebody after `to` or `with`."""
_PERSON_TYPES = frozenset({"EmailAddress", "PhoneNumber", "Handle", "PersonName"})
_MESSAGING = word_set(
    "send email e-mail mail message text forward reply respond answer notify inform tell write let draft contact ask "
    "dm ping pass"
)
_GIVING = frozenset({"send", "share", "pay"})
_GIVES_TO = re.compile(r"^\W*(?:\w+\s+){0,3}?(?:write|report|say|post)\s+to\s", re.IGNORECASE)
_SOMEBODY = re.compile(r"\b(?i:to|with|tell|let|text|e-?mail|message|inform|notify|ask)\s+(?:[A-Z@#]\w|\S+@\S)")

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|(?<=:)\s+(?=[A-Z0-9-])")
_TOKEN = re.compile(r"'[^'\n]{1,200}'(?!\w)|\"[^\"\n]{1,300}\"|‘[^’\n]{1,200}’|“[^”\n]{1,300}”|[^\s,:()]+|[,:()]")


@dataclass(frozen=True, slots=True)
class Wish:
    """One verb said as a wish, with its part of the request."""

    verb: str
    text: str
    words: frozenset[str]
    """Stems of the content words of its part, without quoted values."""
    n_times: int
    is_denied: bool = False


@dataclass(frozen=True, slots=True)
class Licence:
    """Limits on calls: how often each tool with an effect may be called; a tool that is not named may not."""

    limits: Mapping[str, int] = field(default_factory=dict)
    wishes: tuple[Wish, ...] = ()


# ── Wishes ────────────────────────────────────────────────────────────────────────────────────────────────


def wishes_of(text: str) -> tuple[Wish, ...]:
    """Find the verbs of a request that are said as wishes, in order, each with the words up to the next one."""
    found: list[Wish] = []
    for sentence in _SENTENCE.split(text):
        tokens = _TOKEN.findall(sentence)
        low = [folded(token).strip(".!?;\"'“”‘’") if not _is_quoted(token) else "" for token in tokens]
        places = [k for k in range(len(low)) if _is_wish(low, k)]
        if not places:
            continue
        for place, following in pairwise([*places, len(low)]):
            begin = 0 if place == places[0] else place
            part = tokens[begin:following]
            said = " ".join(part)
            bare = " ".join(token for token in part if not _is_quoted(token))
            found.append(Wish(low[place], said, content_words(bare), _n_times(bare, said), _is_denied(low, place)))
    return tuple(found)


def _is_quoted(token: str) -> bool:
    return len(token) > 2 and token[0] in "'\"‘“" and token[-1] in "'\"’”"


def _is_wish(low: Sequence[str], k: int) -> bool:
    if not _is_deed(low, k):
        return False
    word, before = low[k], low[k - 1] if k else ""
    after = low[k + 1] if k + 1 < len(low) else ""
    if word in ("need", "want", "like"):
        return before in _WISHING and after in ("a", "an", "another")
    if not k or (k == 1 and (before.rstrip(".)").isdigit() or before in ("-", "*", "•"))):
        return word not in _NOUNISH or after not in _NOT_VERBS_BEFORE
    if before in _DETERMINERS:
        return False
    if k > 2 and low[k - 2] in ("each", "every", "all") and low[k - 3] in ("to", "for"):
        return True  # "to each user write the message"
    if not _is_joined(low, k):
        return False
    if word not in _NOUNISH or before in ("to", "please", "you") or after in _OBJECTS:
        return True
    return after not in ("", ",", "and", "or", *_NOT_VERBS_BEFORE)


def _is_joined(low: Sequence[str], k: int) -> bool:
    """Return whether the word before another is one that a wish may follow."""
    before = low[k - 1]
    if before == "me" and (k < 2 or low[k - 2] != "let"):
        return False
    return before in _OPENERS or before in _NEGATIONS or before in (",", ":", "(", "")


def _is_deed(low: Sequence[str], k: int) -> bool:
    """Return whether a word names a deed, of the owner's wish, that is more than an answer."""
    word, after = low[k], low[k + 1 : k + 10]
    if word not in _DEEDS or (word in _PARTICLED and _PARTICLED[word].isdisjoint(after)):
        return False
    if word in _TO_OWNER and after[:1] in (["me"], ["us"]):
        return False
    return not (k >= 3 and low[k - 1] == "to" and low[k - 2] in ("me", "us") and low[k - 3] in _REPORTED)


def _is_denied(low: Sequence[str], place: int) -> bool:
    return any(word in _NEGATIONS for word in low[max(0, place - 2) : place]) and "forget" not in low[:place]


def _n_times(bare: str, said: str) -> int:
    """Count the calls the words ask for."""
    low = words(bare)
    if _ALL & set(low) or any(map(_is_plural, low, ["", *low])):
        return UNLIMITED
    named = max(map(_number_before_things, low, [*low[1:], ""]), default=1)
    listed = len(re.findall(r"\S+@\S+|\b[A-Z][a-z]+(?=,| and |$)", said))
    return max(1, named, listed)


def _number_before_things(word: str, following: str) -> int:
    """2 of "two mails", "2 mails"; 1 of "at nine", "two hours"."""
    if not following.endswith("s") or following in _UNITS:
        return 1
    return _NUMERALS.get(word, int(word) if word.isdigit() and len(word) < 3 else 1)


def _is_plural(word: str, before: str = "") -> bool:
    """Return whether a word is the plural of a thing, with no number before it."""
    if word in _UNITS or before in _NUMERALS or before.isdigit():
        return False
    return word.endswith("s") and not word.endswith("ss") and stem(word) in _KINDS and stem(word) != word


def is_thing(word: str) -> bool:
    """Return whether a stem is a common word for a kind of thing (meeting, call): it can hide no message."""
    return word in _KINDS


# ── Tools ─────────────────────────────────────────────────────────────────────────────────────────────────


class WordedTools:
    """The tools whose effects words may ask for, with the contents of their texts, read once."""

    def __init__(self, specs: Mapping[str, ToolSpec], encoder: Encoder | None = None) -> None:
        """Without an encoder, nearness is measured by nouns alone."""
        self.known = KnownTools(specs)
        self._encoder = encoder
        self._names = [name for name, spec in specs.items() if spec.effect != "none"]
        self._deeds = {name: _deeds_of(specs[name]) for name in self._names}
        self._kinds = {name: _kinds_of(specs[name]) for name in self._names}
        self._makes = {name: id_types(specs[name].fields.values()) for name in self._names}
        self._finishes = {
            name: id_types(p.type for p in specs[name].parameters if p.is_required and p.is_sink)
            for name in self._names
        }
        """Types of ids that a tool finishes: sending a draft goes with the tool that made the draft."""
        self._messengers = frozenset(
            name
            for name in self.known.outgoing
            if "send" in self._deeds[name] and not any(p.type == "Money" for p in specs[name].parameters)
        )
        self._verbs = {name: _verb_of(specs[name]) for name in self._names}
        texts = [f"{name.replace('_', ' ')}: {_first_sentence(specs[name])}" for name in self._names]
        self._vectors = encoder.encode(texts) if encoder is not None and texts else None

    def licence(self, text: str) -> Licence:
        """Work out which tools `text` licenses, and how often."""
        wishes = wishes_of(text)
        allowed = [wish for wish in wishes if not wish.is_denied]
        cosines = self._cosines([wish.text for wish in allowed])
        about = _kinds_in(content_words(text))
        limits: dict[str, int] = {}
        for row, wish in enumerate(allowed):
            for name in self._nearest(wish, cosines[row], about):
                limits[name] = min(UNLIMITED, limits.get(name, 0) + wish.n_times)
        for wish in wishes:
            if wish.is_denied:
                for name in [name for name in limits if self._verbs[name] == wish.verb]:
                    del limits[name]
        return Licence(limits, wishes)

    def _cosines(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._encoder is None or self._vectors is None or not texts:
            return np.zeros((len(texts), len(self._names)), dtype=np.float32)
        return np.asarray(self._encoder.encode(texts) @ self._vectors.T, dtype=np.float32)

    def _nearest(self, wish: Wish, cosines: NDArray[np.float32], about: frozenset[int]) -> list[str]:
        verbs = {wish.verb}
        deeds = _DEEDS[wish.verb]
        if wish.verb in ("make", "do"):  # "make a copy" is to copy
            verbs |= {word for word in words(wish.text)[:6] if word in _NOUNISH}
            deeds = deeds.union(*(_DEEDS.get(word, frozenset()) for word in verbs))
        if "instead" in words(wish.text):
            deeds |= {"change"}
        if _GIVES_TO.search(wish.text):
            deeds = deeds & _GIVING or deeds
        kinds = _kinds_in(wish.words) or about
        if _SOMEBODY.search(wish.text) or _GIVES_TO.search(wish.text):
            kinds |= {_PERSON_KIND}
        scored = [
            (
                float(cosine)
                + _NOUN_BONUS * bool(kinds & self._kinds[name])
                + _VERB_BONUS * (self._verbs[name] in verbs),
                name,
            )
            for name, cosine in zip(self._names, cosines)
            if deeds & self._deeds[name]
        ]
        best = max(scored, default=(0.0, ""))[0]
        least = max(best - _NEAR, _LEAST if self._vectors is not None else 0.0)
        # Writing to somebody may take any tool that does it: who is reached, and with what, is checked separately.
        to_people = {name for _, name in scored if wish.verb in _MESSAGING and name in self._messengers}
        nearest = [name for score, name in scored if score >= least or name in to_people]
        made = {kind for name in nearest for kind in self._makes[name]}
        return nearest + [name for _, name in scored if name not in nearest and self._finishes[name] & made]


def _first_sentence(spec: ToolSpec) -> str:
    return spec.description.strip().replace("\n", " ").partition(". ")[0]


def _verb_of(spec: ToolSpec) -> str:
    return next((word for word in words(spec.name.replace("_", " ")) if word in _DEEDS), "")


def _deeds_of(spec: ToolSpec) -> frozenset[str]:
    """Deeds of the verb in a tool's name, else of the first such verb in its description."""
    for word in (*words(spec.name.replace("_", " ")), *words(_first_sentence(spec))):
        for form in (word, word[:-1] if word.endswith("s") else word, word[:-2] if word.endswith("es") else word):
            if form in _DEEDS:
                deeds = _DEEDS[form]
                takes_sink = any(parameter.is_sink for parameter in spec.parameters)
                return deeds if spec.effect == "send" or takes_sink else deeds - _GIVING or deeds
    return frozenset()


def _kinds_of(spec: ToolSpec) -> frozenset[int]:
    said = f"{spec.name.replace('_', ' ')} {_first_sentence(spec)}"
    said += " ".join(f" {p.name}" for p in spec.parameters if element_type(p.type) in _PERSON_TYPES)
    takes_person = any(element_type(p.type) in _PERSON_TYPES and p.is_sink for p in spec.parameters)
    return _kinds_in(content_words(said)) | ({_PERSON_KIND} if takes_person else set())


def _kinds_in(stems: frozenset[str]) -> frozenset[int]:
    return frozenset(kind for word in stems for kind in _KINDS.get(word, ()))
