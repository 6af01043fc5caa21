"""Tells what no tool should be made to serve: a feeling, a program to be written, a deed for every day, a manner.

Such a request has words that some tool's requests have, too ("write … budget.csv" would overwrite the file), so it is
read before anything is planned, and nothing of it leaves the device.

Covered: "I feel …" and "I'm …" with a feeling; programs, scripts, functions and macros to be written; things to be told
again and again by themselves. Not covered: feelings in other words than these, and what they are about; deeds of
devices that come again.
"""

from __future__ import annotations

from collections.abc import Sequence

from hearth import patterns as re
from hearth.language.text.tokens import Slot

_LOW = (
    "anxious|sad|depressed|lonely|overwhelmed|stressed(?: out)?|scared|hopeless|worthless|miserable|desperate|"
    "heartbroken|panicky"
)
_LOW_IF_FELT = f"{_LOW}|awful|terrible|afraid|down|low|empty|numb|lost|exhausted|burnt out|worried|bad|a failure"
"""Words that tell of a feeling only behind "feel": "I'm down for lunch" does not."""
_HOW = r"(?:\s+(?:so|such|really|very|quite|a bit|a little|pretty|just|kind of|like|all|completely|totally))*"
_FEELS = re.compile(
    r"\s*(?:(?:oh|hey|hi|hearth|well|honestly|today|right now)[\s,]+)*i"
    rf"(?:(?:'m|\s+am|'ve been|\s+have been)?\s+(?:feel|feeling){_HOW}\s+(?:{_LOW_IF_FELT})"
    rf"|(?:'m|\s+am|'ve been|\s+have been){_HOW}\s+(?:{_LOW}))\b(?P<more>[^?]*)[.!\s]*",
    re.IGNORECASE,
)
_ASKS_FOR = re.compile(
    r"\b(?:remind|add|write|mail|email|text|call|tell|put|note|set|book|cancel|move|play|turn|find|show|order)\b",
    re.IGNORECASE,
)
"""A feeling that comes with a request ("I'm sad, play something") is planned for what it asks."""
_IN_DANGER = re.compile(
    r"\b(?:kill(?:ing)? myself|end(?:ing)? my life|commit(?:ting)? suicide|suicidal|"
    r"want to die|don't want to live|do not want to live|"
    r"hurt(?:ing)? myself|harm(?:ing)? myself)\b",
    re.IGNORECASE,
)
_PROGRAM = re.compile(
    r"\s*(?:(?:please|can you|could you|would you|hearth)[\s,]+)*"
    r"(?:write|code|program|create|make|build|generate|implement)"
    r"\s+(?:me\s+|us\s+)?(?:an?|the|some|another)?\s*(?:\w+[\s-]+){0,3}?"
    r"(?P<what>script|program|code|function|macro|regex|one-?liner|algorithm|sql query)\b"
    r"(?!\s+(?:manager|review|meeting|of conduct))",
    re.IGNORECASE,
)
_MADE_OF = re.compile(
    r"\b(?:python|bash|shell|javascript|java|sql|excel|powershell|perl|ruby|c\+\+|rust|go|html)\b"
    r"|\b(?:that|which|to)\s+(?:\w+\s+){0,2}?(?:sums?|counts?|reads?|sorts?|parses?|computes?|prints?|renames?|converts?|"
    r"deletes?|checks?|calculates?|adds? up|filters?|downloads?)\b",
    re.IGNORECASE,
)
_BY_ITSELF = re.compile(
    r"\b(?:tell|show|read|give|send|text|mail|email|message|brief)\s+(?:me|us)\b(?!\s+to\b).*"
    r"\b(?:what|which|who|how|if|whether|about|the|my|our|an?)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Something that is to be told: "tell me every morning at 8" alone is a reminder of what was said before, and "tell me
to take my pills" asks for one."""
_ADJECTIVES = frozenset(("hourly", "daily", "weekly", "monthly", "yearly", "annual"))
"""Words that alone are no time at which something comes again: "the weekly weather"."""
_MANNER = re.compile(
    r"\b(?:(?:written|worded|phrased)\s+)?(?:in|with)\s+my\s+(?:usual|own|typical|normal|personal|everyday)?\s*"
    r"(?:style|tone|voice|words|way of writing|manner|wording)\b"
    r"|\b(?:the way|as|like)\s+i\s+(?:usually|always|normally|typically)\s+(?:write|do|say it|put it|would)\b",
    re.IGNORECASE,
)
_REMINDS = re.compile(
    r"\b(?:remind|wake)\b"
    r"|(?<!\bmy )(?<!\bthe )(?<!\bfirst )(?<!\bnext )\b(?:reminder|alarm|timer|event|appointment|calendar entry)\b",
    re.IGNORECASE,
)
"""Asks for something that comes again; "my first appointment" is only told of."""


def without_manner(text: str) -> tuple[str, str]:
    """Return a request without "in my usual style", and these words; they are no part of what is written.

    Returns:
        The request as it was and "" where nothing is said of the manner, or nothing else is.
    """
    said = _MANNER.search(text)
    if said is None:
        return text, ""
    rest = re.sub(r"\s{2,}", " ", text[: said.start()] + text[said.end() :]).strip(" ,")
    return (rest, said[0].strip(" ,")) if rest else (text, "")


def beyond_tools(text: str, slots: Sequence[Slot]) -> str:
    """Return what to answer to a request that no tool should be made to serve; empty for any other.

    Args:
        slots: The typed values in the request.
    """
    if _IN_DANGER.search(text):
        return (
            "I'm sorry that it is so hard. I am a program and cannot be with you, but somebody can, now: please call "
            "your emergency number (112 in Europe, 911 in North America) or a crisis line, or somebody you trust. "
            "Their numbers are in your contacts: ask me for one."
        )
    feels = _FEELS.fullmatch(text)
    if feels is not None and not _ASKS_FOR.search(feels["more"]):
        return (
            "I'm sorry that you feel like that. I am a program and cannot help with it as a person could. What I can "
            "do: find the number of somebody you would like to talk to, keep time free in your calendar, or write it "
            "down for you alone."
        )
    program = _PROGRAM.match(text)
    if program is not None and _MADE_OF.search(text):
        return (
            f"I can't write a {program['what'].lower()} yet, and I left your files alone. What I can do with numbers "
            "is work out a sum that you say."
        )
    repeats = any(
        slot.kind == "time" and "repeat" in slot.views and slot.text.lower() not in _ADJECTIVES for slot in slots
    )
    if repeats and _BY_ITSELF.search(text) and not _REMINDS.search(text):
        return (
            "I can't do something by myself at a time that comes again yet; I did nothing now. What I can do is remind "
            "you of it: say “every …, remind me to …”."
        )
    return ""
