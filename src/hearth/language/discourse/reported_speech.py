"""Turns what is said of somebody into what is said to them: "that she can come" becomes "you can come".

Where the words speak of one he or she, that is the one told, unless somebody else was named before or the told is a
mother and the words say "he". "If you can come" becomes "Can you come?". Direct speech is found whole: "tell Tom yeah
I'll get you from college".

Covered: he, she, him, her, his, hers, himself, herself with the verb beside them. Not covered: "they" of one person;
whether somebody who was not named is meant ("tell Ben she is asleep", of the baby).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hearth import patterns as re
from hearth.language.reading import Utterance
from hearth.language.text.tokens import listed
from hearth.types import Context

_TELLING = re.compile(
    r"\b(?:tell|let|ask|remind|inform|warn|text|message|msg|e-?mail|mail|write|reply|answer|forward|draft|send)\b"
    r"[^.!?\"“”]{0,60}\Z",
    re.IGNORECASE,
)
_HE, _SHE = frozenset(listed("he him his himself")), frozenset(listed("she her hers herself"))
_MEN = frozenset(
    listed("dad daddy father grandad grandpa granddad grandfather brother son uncle nephew husband boyfriend mr")
)
_WOMEN = frozenset(
    listed("mum mom mummy mother gran grandma granny nan grandmother sister daughter aunt auntie niece wife")
    + listed("girlfriend mrs ms miss")
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_OF_YOU = {
    "is": "are",
    "was": "were",
    "has": "have",
    "does": "do",
    "isn't": "aren't",
    "wasn't": "weren't",
    "hasn't": "haven't",
    "doesn't": "don't",
}
_BETWEEN = frozenset(listed("also already always just never often only really still usually ever"))
_ASKING = frozenset(listed("can could will would shall should may might must do did had can't won't didn't"))
"""Words that are the verb of a person after them: "can he get someone out"."""
_NOT_VERBS = frozenset(listed("as this perhaps always sometimes thus yes less unless across besides"))
_PARTICIPLES = frozenset(listed("been got had done gone come become made left lost seen taken given forgotten won"))
_AFTER_OBJECT = frozenset(
    listed(
        "a about above after again all along already also always an and anyway around as at away back because before "
        "both but by down during for from he here how i if in into is it its just later my next no not now of off on "
        "once one onto or our out over quickly right she so some soon than that the their them then there these they "
        "this those though through till to today together tomorrow tonight too two under until up very was we what "
        "when where whether which while who why will with would yesterday you your"
    )
)
"""Words after which "her" was a person, not whose something is."""


def turned_to(text: str, before: str, told: str, people: Iterable[str]) -> str:
    """Return a text as it is said to the one told; unchanged where the words before tell nobody, or open a quotation.

    Args:
        before: The request up to the text.
        told: Words that name the one told, beside those.
        people: Words that are names of people, in lower case.
    """
    opening = before.rstrip(" ,:")
    if not _TELLING.search(opening) or before.rstrip()[-1:] in "\"'“‘":
        return text
    turned = said_to(_ASKED_CONTRACTED.sub(r"\1 \2'\3", text), f"{told} {before}", people)
    return as_question(turned) if _ASKING_SOMEBODY.search(opening) else turned


def said_to(text: str, told: str, people: Iterable[str]) -> str:
    """Return a text as it is said to the one it speaks of; unchanged where it speaks of nobody, or of two.

    Args:
        told: Words that name the one told.
        people: Words that are names of people, in lower case.
    """
    words = [(match, match[0].casefold().replace("’", "'")) for match in _WORD.finditer(text)]
    stems = [word.partition("'")[0] for _, word in words]
    spoken_of = [set(stems) & _HE, set(stems) & _SHE]
    to = {word.casefold() for word in _WORD.findall(told)}
    if bool(spoken_of[0]) == bool(spoken_of[1]) or to & (_WOMEN if spoken_of[0] else _MEN):
        return text
    own = _HE if spoken_of[0] else _SHE
    first = next(k for k, stem in enumerate(stems) if stem in own)
    others = [k for k in range(first) if stems[k] in set(people) | _MEN | _WOMEN and stems[k] not in to]
    if others and not _is_done_to(text, [match for match, _ in words], others[-1], first):
        return text  # somebody else was named, who may be meant
    turned: dict[int, str] = {}
    for place, stem in enumerate(stems):
        if stem in own:
            _turn(place, [word for _, word in words], turned)
    for place in sorted(turned, reverse=True):
        match = words[place][0]
        new = turned[place]
        new = new[:1].upper() + new[1:] if match[0][:1].isupper() else new
        text = text[: match.start()] + new + text[match.end() :]
    return text


_OF_DOING = frozenset(listed("will can could would should shall might must may"))


def _is_done_to(text: str, words: list[re.Match[str]], other: int, place: int) -> bool:
    """Return whether somebody named does something to the one spoken of, who is another: "and Ron will meet her"."""
    between = text[words[other].end() : words[place].start()].lower().split()
    before = words[other - 1][0].lower() if other else "and"
    after = words[place + 1][0].lower() if place + 1 < len(words) else ""
    is_doer = before in ("and", "but", "that", "so") and bool(between) and between[0] in _OF_DOING and len(between) <= 3
    return is_doer and words[place][0].lower() in ("her", "him") and (not after or after in _AFTER_OBJECT)


_DIRECT = re.compile(
    r"\s*(?:(?:please|can\s+you|could\s+you|ok|hey)\s+)*(?:(?P<tell>tell|text|message|msg|let)|"
    r"(?P<reply>reply|answer|respond|(?:write|e?mail)\s+back)(?:\s+to)?)\s+(?:(?:the|my)\s+)?(?P<rest>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_SPEECH = re.compile(
    r"(?P<knows>\s+know)?(?:\s+that)?\s*[:,]?\s+(?P<text>(?:yeah|yea|yep|yes|no|nope|nah|ok|okay|sure|sorry|thanks|thank\s+you|ta|cheers|hi|"
    r"hello|hey|happy|good|great|congrats|well\s+done|i|i['’]?(?:m|ll|ve|d)|im|ive|we|we['’](?:re|ll|ve|d)|it['’]?s|it|there['’]?s|"
    r"can['’]?t|won['’]?t|don['’]?t|see\s+you|running)\b.*)",
    re.IGNORECASE | re.DOTALL,
)
"""Words as they are said to somebody, after the name of who is told."""
_TOLD_THAT = re.compile(r"(?P<knows>\s+know)?(?:\s+that\b|\s*:)\s+(?P<text>\S.*)", re.IGNORECASE | re.DOTALL)
_REPLIED = re.compile(
    r"(?:\s+(?:that|saying(?:\s+that)?)\b\s*[:,]?|\s*[:,]|\s+[-–])\s+(?P<marked>\S.*)|\s+(?P<text>\S+(?:\s+\S.*)?)",
    re.IGNORECASE | re.DOTALL,
)
"""What is answered, after the name of whose mail it is."""
_NO_ANSWER = frozenset(
    listed(
        "about regarding re with and or from for in on at by to of if when whether who what where which how why mail "
        "mails email emails message messages letter invitation invite question last latest newest recent again too now "
        "please as who's privately quickly here"
    )
)
"""Words after a name with which no answer begins that nothing marks."""
_BY_HIMSELF = frozenset(listed("yes yeah yep no nope ok okay sure thanks sorry fine done great perfect"))


_NOBODY_NAMED = re.compile(
    r"\s*(?:(?:please|can\s+you|could\s+you|ok|hey|and)\s+)*(?:tell|text|message|msg|let|(?:reply|respond|write|write\s+back)\s+to|answer|"
    r"e?mail)\s+(?P<who>her|him|them)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What is to be written to somebody, in the words in which it was said."""

    name: str
    """Whom: the full name where it is one person's."""
    text: str
    is_reply: bool = False
    """It answers the last mail of that person."""
    is_marked: bool = False
    """It is no direct speech, but stands behind "that" or a colon."""


def told_in(said: Utterance) -> Told | None:
    """Return what is told in direct speech, whole; None where nobody known is told, or more is asked for beside it."""
    match = _DIRECT.fullmatch(said.text)
    if match is None:
        return None
    rest = match["rest"]
    words, name = _person_named(rest, said.context)
    if not words or _asks_for_more(said, match.start("rest") + len(words)):
        return None
    after = rest[len(words) :]
    if match["reply"] is not None:
        text = _replied(after)
        return Told(name, text, is_reply=True) if text else None
    speech = _SPEECH.fullmatch(after)
    is_marked = speech is None
    speech = speech or _TOLD_THAT.fullmatch(after)
    if speech is None or (match["tell"].lower() == "let" and speech["knows"] is None):
        return None
    return Told(name, speech["text"].strip(), is_marked=is_marked)


def unnamed_in(text: str) -> str:
    """Return the "her", "him" or "them" who is told, in lower case; empty where somebody is named."""
    match = _NOBODY_NAMED.match(text)
    return match["who"].lower() if match is not None else ""


def _person_named(said: str, context: Context) -> tuple[str, str]:
    """Return the name with which words begin, as it was said, and whose it is: the full name where it is one person's;
    both empty where they begin with no known name."""
    meant: dict[str, dict[str, None]] = {}
    for entity in context.entities:
        for name in (entity.name, *entity.aliases) if entity.kind == "person" else ():
            meant.setdefault(name.casefold(), {})[entity.name] = None
    fitting = [name for name in meant if re.match(rf"{re.escape(name)}(?!['’]?\w)", said, re.IGNORECASE)]
    if not fitting:
        return "", ""
    longest = max(fitting, key=len)
    name = said[: len(longest)]
    return name, next(iter(meant[longest])) if len(meant[longest]) == 1 else name


def _asks_for_more(said: Utterance, told: int) -> bool:
    """Return whether something is asked for beside what is told, which begins at `told`."""
    text = f"{said.text[:told].rstrip(' ,:')}: {said.text[told:].lstrip(' ,:-')}"
    return len(said.saying(text).acts) > 1


def _replied(said: str) -> str:
    """Return what is answered; empty where the words say of which mail, or nothing."""
    match = _REPLIED.fullmatch(said)
    if match is None:
        return ""
    if match["marked"] is not None:
        return match["marked"].strip()
    words = [word.casefold().strip(".,!?") for word in match["text"].split()]
    is_answer = words[0] not in _NO_ANSWER and (len(words) > 1 or words[0] in _BY_HIMSELF)
    return match["text"].strip() if is_answer else ""


_ASKING_SOMEBODY = re.compile(r"\b(?:ask|asking)\b[^.!?\"“”]{0,60}\Z", re.IGNORECASE)
_ASKED_CONTRACTED = re.compile(r"\A(if|whether) (he|she|they|we)(s|re)\b", re.IGNORECASE)
_ASKED = re.compile(
    r"(?:if|whether)\s+(?P<who>you|we|i|they|it)(?:['’](?P<short>re|ve|ll|d|s)|\s+(?P<verb>(?:can|could|will|would|shall|"
    r"should|may|might|must|are|is|am|were|was|have|has|had|do|does|did)(?:n['’]t)?))?\s+(?P<rest>\S.*?)[.?!\s]*",
    re.IGNORECASE | re.DOTALL,
)
_LONG = {"re": "are", "ve": "have", "ll": "will", "d": "would", "s": "is"}


def as_question(text: str) -> str:
    """Return "if you can come" as "Can you come?"; unchanged where it is no such question, or about somebody else."""
    asked = _ASKED.fullmatch(text)
    if asked is None:
        return text
    who = "I" if asked["who"].lower() == "i" else asked["who"].lower()
    verb = asked["verb"] or _LONG.get((asked["short"] or "").lower(), "")
    verb = verb or ("does" if who == "it" else "do")
    rest = asked["rest"]
    if verb == "does":
        return text  # "if it fits": its verb would have to be turned, too
    return f"{verb[:1].upper()}{verb[1:].lower()} {who} {rest}?"


_YOUR_OBJECT = {
    "himself": "yourself",
    "herself": "yourself",
    "hers": "yours",
    "his": "yours",
    "him": "you",
    "her": "you",
}


def _turn(place: int, words: list[str], turned: dict[int, str]) -> None:
    """Note what becomes of a word for the one told, and of the verb beside it."""
    stem, _, ending = words[place].partition("'")
    after = words[place + 1] if place + 1 < len(words) else ""
    if stem in ("his", "her") and after and after not in _AFTER_OBJECT:
        turned[place] = "your"
    elif stem in _YOUR_OBJECT:
        turned[place] = _YOUR_OBJECT[stem]
    elif ending == "s":
        following = next((word for word in words[place + 1 :] if word not in _BETWEEN), "")
        has = following in _PARTICIPLES or (following.endswith("ed") and len(following) > 4)
        turned[place] = "you've" if has else "you're"
    else:
        turned[place] = f"you'{ending}" if ending else "you"
        before = words[place - 1] if place else ""
        if not ending and before in _OF_YOU:
            turned[place - 1] = _OF_YOU[before]
        elif not ending:
            verb = next((k for k in range(place + 1, len(words)) if words[k] not in _BETWEEN), None)
            if verb is not None and before not in _ASKING:
                turned[verb] = _of_you(words[verb])


def _of_you(verb: str) -> str:
    if verb in _OF_YOU:
        return _OF_YOU[verb]
    if not verb.endswith("s") or verb.endswith("ss") or len(verb) < 4 or verb in _NOT_VERBS:
        return verb
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    return verb[:-2] if verb.endswith(("ches", "shes", "sses", "xes", "oes", "zzes")) else verb[:-1]
