"""Turns a text to the person who is told: "tell Ivy that she can come" writes "you can come" to Ivy.

A planner copies the words of the request, which speak of the one addressed as somebody else. Where the words follow a
telling ("tell", "let … know", "ask", "email …") and speak of one he or she, that is the one told, unless somebody else
was named before or the told is a mother and the words say "he". What is written is shown before it is sent.

Covered: he, she, him, her, his, hers, himself, herself with the verb beside them; mails, replies and forwards.
Not covered: "they" of one person; whether somebody who was not named is meant ("tell Ben she is asleep", of the baby).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hearth.language.text.tokens import listed
from hearth.types import Context, Plan, Request, Step

_TELLING = re.compile(
    r"\b(?:tell|let|ask|remind|inform|warn|text|message|msg|e-?mail|mail|write|reply|answer|forward|draft|send)\b"
    r"[^.!?\"“”]{0,60}\Z",
    re.IGNORECASE,
)
_TOLD_BY = {"draft_mail", "draft_reply", "draft_forward"}
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


def turned_to_told(plan: Plan, request: Request, context: Context) -> Plan:
    """Return the plan with its texts turned to whom they are written to; the same where nothing has to be turned."""
    others = {
        word.casefold()
        for entity in context.entities
        if entity.kind == "person"
        for name in (entity.name, *entity.aliases)
        for word in _WORD.findall(name)
    }
    return replace(plan, steps=tuple(_turned(step, plan.steps, request.text, others) for step in plan.steps))


def _turned(step: Step, steps: tuple[Step, ...], said: str, people: Iterable[str]) -> Step:
    text = step.arguments.get("text")
    if step.tool not in _TOLD_BY or not isinstance(text, str):
        return step
    start = said.casefold().find(text.casefold())
    if start < 0 or not _TELLING.search(said[:start].rstrip(" ,:")) or said[:start].rstrip()[-1:] in "\"'“‘":
        return step
    names = [steps[ref.step].arguments.get("name") for ref in step.refs() if 0 <= ref.step < len(steps)]
    told = " ".join(name for name in names if isinstance(name, str)) + " " + said[:start]
    turned = said_to(_ASKED_CONTRACTED.sub(r"\1 \2'\3", text), told, people)
    if _ASKING_SOMEBODY.search(said[:start].rstrip(" ,:")):
        turned = as_question(turned)
    return step if turned == text else replace(step, arguments={**step.arguments, "text": turned})


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
    if any(stem in set(people) | _MEN | _WOMEN and stem not in to for stem in stems[:first]):
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


def _turn(place: int, words: list[str], turned: dict[int, str]) -> None:
    """Note what becomes of a word for the one told, and of the verb beside it."""
    stem, _, ending = words[place].partition("'")
    after = words[place + 1] if place + 1 < len(words) else ""
    if stem in ("himself", "herself"):
        turned[place] = "yourself"
    elif stem == "hers" or (stem == "his" and (not after or after in _AFTER_OBJECT)):
        turned[place] = "yours"
    elif stem == "his" or (stem == "her" and after and after not in _AFTER_OBJECT):
        turned[place] = "your"
    elif stem in ("him", "her"):
        turned[place] = "you"
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
