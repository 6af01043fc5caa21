"""Parses what memory is asked: a question, or a matter, without the words that only lead to it; two asked as one.

Covered: "do you remember where I parked", "did I tell you Lotte's shoe size", "where did I say the tent is", "whats the
code"; "when is the MOT and what does it cost".
Not covered: three questions in one, a second one without a pronoun ("and by when"); languages other than English.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from hearth import patterns as re

_CALL = re.compile(
    r"\s*(?:(?:hey|hi|hello|ok|okay|so|well|and|now|please|hearth|sorry|um|uh)\b[,!.]?\s*)+|[\s,:;–-]+"
    r"|\s*(?:i (?:forgot|forget|can't remember|cannot remember|don't remember|don't know|wonder|want to know)"
    r"|jog my memory|remind me|tell me|refresh me(?: on)?|any idea)\b[,:]?\s*(?:again\b)?[,:]?",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"\s*(?:(?:can|could|would|will|do|did) you (?:please |still |happen to |even |perhaps )*"
    r"(?:tell me|remember|recall|know|remind me|say|look up|check)(?: again)?"
    r"|(?:did|have|had) (?:i|we) (?:ever |already )?(?:tell|told|say|said|mention|mentioned)(?: (?:to )?you)?"
    r"|(?:search|check|look(?: it)? up|look) (?:in |through )?(?:your|my|the) memory(?: for)?"
    r"|(?:according to|in|from) (?:your|my|the) memory)\b[,:]?\s*(?:if |whether |that |about |of )?",
    re.IGNORECASE,
)
_MATTER = re.compile(
    r"\s*(?:what (?:do|did|can|else do) you (?:still )?(?:know|remember|recall|have(?: stored)?)(?: stored)?"
    r"|what (?:did|have|had) (?:i|we) (?:ever |already )?(?:tell|told|say|said|mention|mentioned|talked?|discussed?)"
    r"(?: to)?(?: you)?|(?:did|have) (?:we|i) (?:ever )?(?:talk|talked|speak|spoken|discussed?)"
    r"|(?:is|was) there (?:something|anything) you (?:know|remember)"
    r"|(?:do you know |tell me |is there )?(?:anything|everything|something)(?: you know| you remember)?)"
    r"\b\s*(?:about|regarding|of|on|concerning|with)\s+",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r",?\s*\b(?:did|do) (?:i|we) (?:say|tell you|mention)(?: that)?\b"
    r"|,?\s*\b(?:i (?:told|said|mentioned|gave)(?: it| that| this)?(?: to)?(?: you)?"
    r"(?: once| before| already| in \w+| last \w+)?|again|do you know|you know|please|by the way)[\s?.!]*$",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\s*(?:(?:in|at|on|to|for|from|with|of|since|until|till|til|by) )?"
    r"(?:who|whom|whose|what|where|when|why|how|which)(?:'s|’s|'re|'d)?\b"
    r"|\s*(?:do|does|did|is|are|am|was|were|can|could|will|would|should|has|have|had|may|might)(?:n't)? \w",
    re.IGNORECASE,
)
_APOSTROPHE_LEFT_OUT = re.compile(r"\A((?:so |and |hey |ok )*(?:what|who|where|when|how))(s|re)\b", re.IGNORECASE)
_ORDERS = re.compile(
    r"(?:(?:please|can you|could you) )*(?:remind|add|set|create|make|put|play|call(?! me\b)|ring|show|find|search|look"
    r"|cancel|delete|remove|move|book|buy|open|close|turn|start|stop|schedule|draft|send|plan|write|mark|list|check|order"
    r"|update|change|wake|email|e-mail|mail|text|message|tell|ask|reply|forward|read|give|get|go|let|help|translate|convert"
    r"|count|calculate|save|store|note|rename|copy|share|print|undo|forget|postpone|invite|say|answer|switch|scan|clear"
    r"|archive|pay|transfer|unsubscribe|block|renew|repair|fix|collect|deliver|return|book|reserve|rent)\b"
    r"|(?:i|we) (?:want|need|would like|'d like) (?:you )?to\b",
    re.IGNORECASE,
)
_MOST_LEADS = 12
"""Most phrases that are taken off: "remind me" said ten thousand times is no lead."""
_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_OPENER = re.compile(
    r"\s*(?:(?:please )?(?:remember|note|don't forget)(?: that)?|hey|so|well|yes|ok|okay|actually|oh|fyi"
    r"|by the way)\b[,:]?\s*",
    re.IGNORECASE,
)


_THEN = (
    r"(?:(?:on|in|at|by|since|during|as of|back in) )?(?:the )?(?:yesterday|today|this (?:morning|week|month|year)"
    r"|last (?:night|\w+)|(?:\w+ ){1,2}ago|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)(?: \d{4})?"
    r"|\d{4}(?:-\d\d){0,2})"
)
_BELIEVED = re.compile(
    r"\s*what (?:did|had) you (?:believed?|think|thought|know|known|hold true|take to be true)"
    rf"(?: (?:about|of) (?P<whom>.+?))? (?P<when>{_THEN})(?:,? and why)?[\s?.!]*",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\s*what (?:did|has|have|was it that) (?P<name>[^\W\d_][\w'’-]*(?: [A-Z][\w'’-]*){0,2}) (?:just |last |recently )?"
    r"(?:say|said|write|wrote|written|(?:tell|told|write|wrote|written|text|texted|message|messaged|send|sent)"
    r"(?: to)? (?:me|us))"
    rf"(?P<chat> (?:in|on|over|by|via) (?:the |our )?(?:\w+ )?(?:chat|whatsapp|telegram|signal|text|group))?"
    rf"(?: last| lately| recently)?(?P<when> {_THEN})?[\s?.!]*",
    re.IGNORECASE,
)
_NOBODY = frozenset(("i", "we", "you", "he", "she", "it", "they", "people", "someone", "anybody", "anyone", "everyone"))


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    """The question, or the matter."""
    is_question: bool


def asked_of(words: str) -> Asked:
    """Find what is asked of memory in the owner's words."""
    text = _APOSTROPHE_LEFT_OUT.sub(r"\1'\2", " ".join(words.split()))
    for _ in range(_MOST_LEADS):
        shorter = text
        for lead in (_CALL, _LEADS):
            if found := lead.match(shorter):
                shorter = shorter[found.end() :]
        if matter := _MATTER.match(shorter):
            return Asked(shorter[matter.end() :].rstrip(" ?.!") or shorter, False)
        shorter = _ASIDE.sub("", shorter).strip(" ,")
        if shorter == text or not shorter:
            break
        text = shorter
    return Asked(text, _QUESTION.match(text) is not None)


@dataclass(frozen=True, slots=True)
class Believed:
    """ "What did you believe about Ana last Tuesday"."""

    whom: str
    """Name of a person; empty: everyone."""
    when: str


def believed_then(words: str) -> Believed | None:
    """Parse a question about the agent's beliefs of the past: about whom, and when; None for anything else."""
    found = _BELIEVED.fullmatch(" ".join(words.split()))
    return Believed(found["whom"] or "", found["when"]) if found else None


@dataclass(frozen=True, slots=True)
class SaidBy:
    """ "What did Tom write yesterday"."""

    name: str
    when: str
    is_in_chat: bool
    """True if a chat is named, and not only any way of writing."""


def said_by(words: str) -> SaidBy | None:
    """Parse a question about the words of somebody, whatever their subject; None for anything else."""
    found = _SAID.fullmatch(" ".join(words.split()))
    if found is None or found["name"].casefold() in _NOBODY:
        return None
    return SaidBy(found["name"], (found["when"] or "").strip(), found["chat"] is not None)


def gives_order(text: str) -> bool:
    """Return whether a text begins as an order does: "change the wifi password"."""
    return _ORDERS.match(text.strip()) is not None


_VALUE_ALONE = re.compile(
    r"(?!.*\b(?:i|we|you|he|she|it|they|is|are|was|were|has|have|had|got)\b)(?!.*\b(?:lost|forgot|changed|new)\b)"
    r"(?:[\w'’-]+ ){1,5}(?:number|code|pin|password|passcode|address|birthday|phone|e-?mail|size|price|name)\W*",
    re.IGNORECASE,
)
"""Names a value and says nothing of it: "the furnace man's phone number"."""


def declares(text: str) -> bool:
    """Return whether a request states something, and does not only ask or order: "my locker is 48 now"."""
    for sentence in _SENTENCE.findall(text):
        opener = _OPENER.match(sentence)
        said = _APOSTROPHE_LEFT_OUT.sub(r"\1'\2", sentence[opener.end() if opener else 0 :].strip())
        is_asked = said.endswith("?") or _QUESTION.match(said) is not None
        if " " in said and not is_asked and _ORDERS.match(said) is None and _VALUE_ALONE.fullmatch(said) is None:
            return True
    return False


_CLAUSE = re.compile(
    r"\b(?:i|we|he|she|they|it|am|is|are|was|were|isn't|aren't|wasn't|has|have|had|hasn't|haven't|got|will|won't|can|can't"
    r"|does|doesn't|did|didn't|must|should)\b|['’](?:s an?|m|re|ve|ll)\b",
    re.IGNORECASE,
)
"""Words of a whole clause, which a mere heading lacks: "sales per buyer"."""


def states_in_a_clause(text: str) -> bool:
    """Return whether a request states something in a clause of its own, and does not only name a matter."""
    return declares(text) and _CLAUSE.search(text) is not None


# ── What is asked for without a question ──────────────────────────────────────────────────────────────────

VALUES = (
    r"address|addresses|phone number|number|code|passcode|password|pin|combination|wifi|date|day|time|opening hours"
    r"|hours|price|prices|cost|amount|total|bill|fee|rent|sum|name|size|birthday|e-?mail address|account number|iban"
    r"|reference|reference number|ref|order number|booking number|flight number|serial number|room number|deadline"
    r"|due date|dose|recipe|registration|reg|combo|tracking number|tracking no|policy number|balance|excess"
)
"""What a thing has, as people call it."""
_VALUE_OF = re.compile(
    rf"\s*(?:the |my |our )?(?:[\w'’-]+ ){{0,2}}?(?:{VALUES}) (?:of|for|from|to|in|at|on) .+", re.IGNORECASE
)


_VALUE_NAMED = re.compile(rf"\s*(?:[\w'’-]+ ){{0,4}}?(?:{VALUES})(?: [\w'’-]+){{0,2}}", re.IGNORECASE)
_TOPIC_FIRST = re.compile(
    r"\s*(?P<topic>[^,;:?–]{3,50}?)\s*[,;:–]\s*(?P<asks>(?:what|how|when|where|who|which)\b.+)", re.IGNORECASE
)
"""Says what a question is about before it: "flight home, what time does it leave"."""
_MATTER_OF = re.compile(r"(?:[\w'’-]+ ){1,3}(?:of|for) (?:the|my|our|[\w-]+['’]s) (?:[\w'’-]+ ?){1,4}", re.IGNORECASE)
_MATTER_NAMED = re.compile(r"(?:[\w'’-]+ ){1,7}[\w'’-]+ ?\?+")
_DETERMINED = re.compile(r"\s*(?:the|my|our|[\w-]+['’]s)\s", re.IGNORECASE)


def asks_for_value(text: str) -> bool:
    """Return whether a request only names a value: "code for the back gate", "key safe code?"."""
    words = text.rstrip(" ?.!")
    is_named = _VALUE_NAMED.fullmatch(words) is not None and " " in words.strip() and not gives_order(words)
    return _VALUE_OF.fullmatch(words) is not None or (is_named and not asked_of(words).is_question)


def names_matter(text: str) -> bool:
    """Return whether a request only names a matter and asks: "dad's allowance?", "colour of the hall"."""
    words = text.strip()
    if _TOPIC_FIRST.fullmatch(words) is not None and not (asked_of(words).is_question or gives_order(words)):
        return True
    is_named = _MATTER_NAMED.fullmatch(words) if words.endswith("?") else _MATTER_OF.fullmatch(words)
    return is_named is not None and not asked_of(words).is_question and not gives_order(words)


def question_of(text: str) -> str:
    """Return a request as a question of the owner's things: "wifi password at home" asks what it is."""
    asked = asked_of(text)
    words = asked.text.rstrip(" ?.!")
    if (said := _DID_SAY.fullmatch(words)) is not None:
        return f"{said['asks']} did {said['who']} say {said['rest']}"
    if not asked.is_question and (found := _TOPIC_FIRST.fullmatch(words)) is not None:
        return f"{found['asks']} {found['topic']}"
    if asked.is_question or not (asks_for_value(words) or names_matter(text)):
        return words
    return f"what is {words}" if _DETERMINED.match(words) else f"what is the {words}"


# ── Of whom it is asked ───────────────────────────────────────────────────────────────────────────────────

_ASKED_OF_ANYONE = re.compile(
    r"\s*(?:(?:how|where|what|which \w+|who|when|why) )?(?:can|could|should|would|will|shall|might|may|must)\b"
    r"|\s*(?:how|why) (?:do|does|did)? ?(?:i|we|you|one)\b(?! (?:like|take|prefer|drink|eat|want|usually|get to|pay)\b)"
    r"|.*\b(?:you|your|tomorrow|tonight|right now|online|on the web)\b",
    re.IGNORECASE,
)
_WHO = re.compile(r"\s*[Ww]ho(?:'s|’s| is) [A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}[\s?.!]*")
"""Matches a question about a person's name alone; only people the owner spoke of are known, nobody else."""
_ASKS_WHAT = re.compile(
    r"\s*(?:(?:by |until |till |til |since |from |at )?(?:what|who|whom|whose|where|when|which|how)\b"
    r"|(?:did|has|have|does) \w)",
    re.IGNORECASE,
)
_DID_SAY = re.compile(
    r"\s*(?:did|has|have|does) (?P<who>[^?]{2,40}?)"
    r" (?:say|said|mention|mentioned|tell (?:me|us)|told (?:me|us)|write|written)"
    r" (?P<asks>what (?:time|day|date)|what|when|where|who|how much|how many|how long|which \w+) (?P<rest>[^?]+)",
    re.IGNORECASE,
)
"""Asks for what somebody said, as if it were whether: "did Gwen say what time it starts"."""


def asks_what(text: str) -> bool:
    """Return whether a question asks what, who, when, where, which or how, or whether somebody did something."""
    return _ASKS_WHAT.match(text) is not None


def asks_who_is(text: str) -> bool:
    """Return whether a question is about a person's name alone; only people the owner spoke of are known."""
    return _WHO.fullmatch(text) is not None


def is_of_anyone(text: str, known: Set[str]) -> bool:
    """Return whether a question asks what one may or should do, and not what somebody known can or will."""
    found = _MODAL.match(text)
    after = spaced(text[found.end() :]) if found else ""
    return _ASKED_OF_ANYONE.match(text) is not None and not any(after.startswith(name) for name in known)


_MODAL = re.compile(
    r"\s*(?:(?:how|where|what|which \w+|who|when|why) )?(?:can|could|should|would|will|may|might|must)\b", re.I
)


def spaced(text: str) -> str:
    """Return the words in lower case, with a space around each."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


# ── Two questions in one ──────────────────────────────────────────────────────────────────────────────


_ASKED_BY = r"(?:by when|what|when|where|who|how|which)"
_TWO_IN_ONE = re.compile(
    rf"\s*(?P<first>{_ASKED_BY}\b[^?]*?(?:\b(?:is|are|was|were)|['’]s)\s+(?P<thing>(?:the|my|our|[\w-]+['’]s)\s+[^?,]+?)),?"
    rf" and (?P<second>{_ASKED_BY}\b[^?]*\b(?:it|they|them)\b[^?]*)[?.\s]*",
    re.IGNORECASE,
)
_PRONOUNS = tuple(re.compile(rf"\b{word}\b", re.IGNORECASE) for word in ("it", "them", "they"))
"""What stands for the thing, the likeliest first: "when do they take it"."""


def two_questions(question: str) -> tuple[str, str] | None:
    """Split a question into two, each of which stands alone; None where it is one."""
    found = _TWO_IN_ONE.fullmatch(question)
    if found is None:
        return None
    pronoun = next(form for form in _PRONOUNS if form.search(found["second"]))
    return found["first"], pronoun.sub(found["thing"], found["second"], count=1)
