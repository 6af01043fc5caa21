"""What memory is asked: a question, or a matter; without the words that only lead to it.

Covered: "do you remember where I parked", "did I tell you Lotte's shoe size", "where did I say the tent is".
Not covered: two questions in one; languages other than English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hearth.memory.statements import statements

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
    r"\s*(?:(?:in|at|on|to|for|from|with|of|since|until|by) )?"
    r"(?:who|whom|whose|what|where|when|why|how|which)(?:'s|’s|'re|'d)?\b"
    r"|\s*(?:do|does|did|is|are|am|was|were|can|could|will|would|should|has|have|had|may|might)(?:n't)? \w",
    re.IGNORECASE,
)
_DECLARES = re.compile(
    r"(?:(?i:i|we|he|she|they|it|my|our|his|her|their|the|this|that|these|those|there|mum|mom|dad|grandma|grandpa)"
    r"|[A-Z][\w'’-]+)(?:'\w+|’\w+)?\s+\S"
)
_ORDERS = re.compile(
    r"[A-Z]\w+\s+(?:me|us|my|the|a|an|all|every|this|that|it)\b|I (?:want|need|would like) (?:you )?to\b"
)


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    """The question, or the matter."""
    is_question: bool


def asked_of(words: str) -> Asked:
    """What is asked of memory in the owner's words."""
    text = " ".join(words.split())
    while True:
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


def declares(text: str) -> bool:
    """Whether a request states something, and does not only ask or order: "my locker is 48 now"."""
    return any(
        is_whole and _DECLARES.match(said) is not None and _ORDERS.match(said) is None
        for said, _, is_whole in statements(text)
    )
