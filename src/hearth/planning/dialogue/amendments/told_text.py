"""Turns a text to the person who is told: "tell Ivy that she can come" writes "you can come" to Ivy.

A planner copies the words of the request, which speak of the one addressed as somebody else. Where the words follow a
telling ("tell", "let … know", "ask", "email …") and speak of one he or she, that is the one told, unless somebody else
was named before or the told is a mother and the words say "he". What is written is shown before it is sent.

Covered: he, she, him, her, his, hers, himself, herself with the verb beside them; mails, replies and forwards.
Not covered: "they" of one person; whether somebody who was not named is meant ("tell Ben she is asleep", of the baby).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hearth.errors import PlanError
from hearth.formats.plan_validation import check_plan
from hearth.language.reading import Utterance
from hearth.language.text.tokens import listed
from hearth.types import OWNERS_WORD, Context, Plan, Ref, Refusal, Request, Step, ToolSpec

_TELLING = re.compile(
    r"\b(?:tell|let|ask|remind|inform|warn|text|message|msg|e-?mail|mail|write|reply|answer|forward|draft|send)\b"
    r"[^.!?\"“”]{0,60}\Z",
    re.IGNORECASE,
)
_SPOKEN = 0.9
"""Chance that what is told in direct speech is to be written so: what is written is shown."""
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


def turned_to_told(plan: Plan, said: Utterance) -> Plan:
    """Return the plan with its texts turned to whom they are written to; the same where nothing has to be turned."""
    others = {
        word.casefold()
        for entity in said.context.entities
        if entity.kind == "person"
        for name in (entity.name, *entity.aliases)
        for word in _WORD.findall(name)
    }
    return replace(plan, steps=tuple(_turned(step, plan.steps, said.text, others) for step in plan.steps))


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
_FIND, _DRAFT, _FIND_MAIL, _REPLY = "find_contact", "draft_mail", "find_mail", "draft_reply"
_NOBODY_NAMED = re.compile(
    r"\s*(?:(?:please|can\s+you|could\s+you|ok|hey|and)\s+)*(?:tell|text|message|msg|let|(?:reply|respond|write|write\s+back)\s+to|answer|"
    r"e?mail)\s+(?P<who>her|him|them)\b",
    re.IGNORECASE,
)


def _may_be_speech(found: Plan | Refusal, text: str) -> bool:
    """Return whether what was found leaves it open that the whole text is told: it writes another, or nothing."""
    if isinstance(found, Refusal):
        return found.kind == "out_of_scope" and found.planner != OWNERS_WORD
    writing = [step for step in found.steps if step.tool == _DRAFT]
    if len(writing) != 1 or _TOLD_BY & {step.tool for step in found.steps} != {_DRAFT}:
        return False
    return writing[0].arguments.get("text") != text and not writing[0].arguments.get("attachments")


def _may_be_reply(found: Plan | Refusal) -> bool:
    """Return whether what was found leaves it open what is replied: the owner did not teach it, and nothing is sent."""
    if isinstance(found, Refusal):
        return found.planner != OWNERS_WORD
    return not any(":" in id for id in found.rests_on) and all(step.tool != "send_mail" for step in found.steps)


def said_directly(request: Utterance, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | Refusal | None:
    """Return the plan to write what is told in direct speech, whole: "tell Tom yeah I'll get you from college", "reply
    to Tom no that is too early"; the question who is told where only "her" says so.

    None where the words are no such speech to somebody known, ask for more beside it, or are understood whole.
    """
    if (asked := _who_is_told(request, found)) is not None:
        return asked
    match = _DIRECT.fullmatch(request.text)
    if match is None or not {_FIND, _DRAFT, _FIND_MAIL, _REPLY} <= tools.keys():
        return None
    rest = match["rest"]
    said, name = _person_named(rest, request.context)
    if not said or _asks_for_more(request, match.start("rest") + len(said)):
        return None
    steps: tuple[Step, ...]
    if match["reply"] is not None:
        text = _replied(rest[len(said) :])
        if not text or not _may_be_reply(found):
            return None
        steps = (Step(_FIND_MAIL, {"sender": name}), Step(_REPLY, {"mail": Ref(0, ("id",)), "text": text}))
    else:
        speech = _SPEECH.fullmatch(rest[len(said) :])
        if speech is None and isinstance(found, Refusal):
            speech = _TOLD_THAT.fullmatch(rest[len(said) :])
        if speech is None or (match["tell"].lower() == "let" and speech["knows"] is None):
            return None
        text = speech["text"].strip()
        if not _may_be_speech(found, text):
            return None
        steps = (Step(_FIND, {"name": name}), Step(_DRAFT, {"to": [Ref(0, ("email",))], "text": text}))
    try:
        return check_plan(Plan(steps, confidence=_SPOKEN, planner=found.planner), tools)
    except PlanError:
        return None


def _who_is_told(request: Request, found: Plan | Refusal) -> Refusal | None:
    """Return the question who "her" is, where somebody else who is named would be written to."""
    match = _NOBODY_NAMED.match(request.text)
    if match is None or isinstance(found, Refusal) or any(":" in id for id in found.rests_on):
        return None
    if request.records or not any(step.tool in _TOLD_BY for step in found.steps):
        return None
    reason = f"Who is “{match['who'].lower()}”? I need to know that to draft a mail."
    return Refusal("needs", reason, (f"{_FIND}.name",), planner=found.planner)


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


def _asks_for_more(request: Utterance, told: int) -> bool:
    """Return whether something is asked for beside what is told, which begins at `told`."""
    text = f"{request.text[:told].rstrip(' ,:')}: {request.text[told:].lstrip(' ,:-')}"
    return len(request.saying(text).acts) > 1


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
