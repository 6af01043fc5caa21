"""Decides whether a request is tried at all: it must be readable, and nothing that no tool should be made to serve.

It must be non-empty, not too long, text, and in English. A feeling, a program to be written, a deed for every day and a
manner have words that some tool's requests have, too ("write … budget.csv" would overwrite the file), so they are read
before anything is planned, and nothing of them leaves the device.

Covered: blank, oversized and binary-like texts, other scripts, and other languages in Latin script when most of their
words are strange to English; "I feel …" and "I'm …" with a feeling; programs, scripts, functions and macros to be
written; things to be told again and again by themselves. Not covered: a short request of a few words in another
language that could be English names, and English mixed with another language, both of which are tried like any other;
feelings in other words than these, and what they are about; deeds of devices that come again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from hearth import patterns as re
from hearth.language.text.thesaurus import KNOWN_WORDS
from hearth.language.text.tokens import Slot, listed

MAX_CHARACTERS = 20_000

_LANGUAGE_LIMIT = "I can only read English so far; please say it in English."
_SAMPLE = 4_000
"""Number of characters examined from the start of a request; they suffice to tell what it is."""
_MAX_ODD_SHARE = 0.1
_MAX_FOREIGN_SCRIPT_SHARE = 0.3

_ENGLISH = frozenset(
    listed(
        "a about after again all also am an and another any anything are around as ask at away back be because been "
        "before being best between both but buy by call came can can't cannot come could day days did do does doesn't "
        "doing done don't down each email end even every everything find first for from get give go going good got "
        "had has have he hello help her here him his home hour hours how i i'd i'll i'm i've if in into is isn't it "
        "it's its just keep know last late later left let like list long look made mail make many me meeting message "
        "might minutes more morning most much my name need never new next night no not note nothing now of off ok on "
        "one only open or other our out over own people please put read really remind right said same say see send "
        "set she should show so some someone something soon still stop such take tell than thank thanks that that's "
        "the their them then there these they thing things think this those three through time to today tomorrow "
        "tonight too two under until up us use very want was way we week weekend well went were what what's when "
        "where which while who whose why will with won't work would write yes yet you your"
    )
)
_FOREIGN = (
    frozenset(
        listed(
            # Frequent words of German, French, Spanish, Italian, Portuguese, Dutch, Polish, Swedish and Turkish.
            "der das und ist nicht ich mich mir mein meine meinen einen eine eines ein den dem zu für mit auf von "
            "morgen heute bitte wie wann wer uhr kannst du sie wir ihr auch noch nach bei wird erinnere schreibe le "
            "la les des une est je ne pas vous nous mon ma mes pour avec sur dans demain aujourd'hui quel quelle "
            "quand qui rappelle moi au aux du que ce cette s'il plaît plait el los las una es no por para con mi mis "
            "mañana hoy cuando cuándo qué quien quién recuérdame recuerdame del al que en lo un y de se favor cuál "
            "puedes il lo gli una di che non mio mia per con domani oggi quando ricordami sono della alle nel o os "
            "uma não nao meu minha amanhã amanha hoje lembra lembre às het een de van ik mij mijn niet voor met "
            "morgen vandaag wanneer herinner op naar aan om jest nie mi moje jutro dziś o w na z przypomnij co kiedy "
            "mnie och att jag mig min inte imorgon idag påminn vad när är för på bir ve bana benim yarın bugün ne "
            "zaman hatırlat için"
        )
    )
    - _ENGLISH
)


def why_unreadable(text: str) -> str:
    """Return why a request cannot be read, in words for the owner; empty when it can."""
    if len(text) > MAX_CHARACTERS:
        return (
            f"The request is {len(text):,} characters long; I read up to {MAX_CHARACTERS:,}. "
            "Put long text into a file and ask about that."
        )
    sample = text[:_SAMPLE]
    if not sample.strip():
        return "The request is empty; say what you would like done."
    odd = sum(unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") and c not in "\n\r\t" for c in sample)
    odd += sample.count("\ufffd")
    if odd > _MAX_ODD_SHARE * len(sample):
        return "The request looks like binary data, not like text; say in words what you would like done."
    letters = [c for c in sample if c.isalpha()]
    if not letters:
        has_digits = any(c.isdigit() for c in sample)
        return "" if has_digits else "The request holds no words; say what you would like done."
    foreign = sum(not unicodedata.name(c, "").startswith("LATIN") for c in letters)
    if foreign > _MAX_FOREIGN_SCRIPT_SHARE * len(letters):
        return _LANGUAGE_LIMIT
    return _LANGUAGE_LIMIT if _is_foreign(sample) else ""


def _is_foreign(text: str) -> bool:
    """Return whether most words of a text belong to another language."""
    words = re.findall(
        r"[^\W\d_]+(?:['’][^\W\d_]+)?", re.sub(r"\"[^\"]*\"|“[^”]*”", " ", text.lower()).replace("’", "'")
    )
    if len(words) < 3:
        return False
    n_english = sum(word in _ENGLISH or word in KNOWN_WORDS for word in words)
    n_foreign = sum(word in _FOREIGN for word in words)
    return n_foreign >= 2 and n_foreign > n_english and n_foreign + n_english >= 0.25 * len(words)


# ── What no tool serves ───────────────────────────────────────────────────────────────────────────────


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
    r"\b(?:tell|show|read|give|send|text|mail|email|message|brief)\s+(?:me|us)\b"
    r"(?!\s+(?:(?:at|on|by|every|tomorrow|tonight)\b[^,;.]*?\s)?to\s+(?!(?:my|our|the|his|her|their)\b)).*"
    r"\b(?:what|which|who|how|if|whether|about|the|my|our|an?)\b",
    re.IGNORECASE | re.DOTALL,
)
"""Something that is to be told: "tell me every morning at 8" alone is a reminder of what was said before, and "tell me
to take my pills", or "tell me at four to …", asks for one."""
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
