"""Rewrites a request as it is meant where people correct themselves, say what it is about first, or ask in a tag.

"Forward it to Kath's... no, to Helen" goes to Helen. "I've got the brandy, you can take it off the list" takes the
brandy off the list. "It's cold in here. Put the heating up, would you?" is about the heating. The owner is shown the
reading.

Covered: a correction marked by "no", "sorry" or "I mean" beside a pause; the thing that the sentence before the order
is about; remarks and tags that ask for nothing. Not covered: corrections without a mark; what is said two sentences
before.

Source: Levelt 1983, Monitoring and self-repair in speech (reparandum, editing term, repair).
"""

from __future__ import annotations

from hearth import patterns as re
from hearth.language.discourse.relative_levels import with_its_level
from hearth.language.temporal.time_words import WEEKDAYS
from hearth.language.text.tokens import NUMBER_WORDS, listed

_EDITING = re.compile(
    r"\s*(?:\.\.\.|…|—|–|-\s|,|;)\s*(?:(?:oh|er|uh|um),?\s+)?"
    r"(?:(?P<sure>no,?\s+wait,?|wait,?\s+no,?|no,|sorry,?|scratch\s+that,?|(?:no,?\s+)?i\s+mean[,:]?|or\s+rather,?|"
    r"make\s+that)|no)\s+(?=\S)",
    re.IGNORECASE,
)
"""The pause and the words by which a speaker takes back what was just said."""
_RUN_OF_BLANKS = re.compile(r"\s{50,}")
"""Nobody types so many; readers of requests take them one by one."""
_PAUSE = re.compile(r"\.\.\.|…|—|–")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_MOST_TAKEN_BACK, _MOST_REPAIRS, _LONGEST = 6, 3, 1_000
_LIKE = 4
"""So many first letters make one word a correction of another: "puregym, no purefit"."""


def without_repairs(text: str) -> str:
    """Return the request with what the speaker took back left out."""
    for _ in range(_MOST_REPAIRS):
        repaired = _repaired_once(text)
        if repaired == text:
            break
        text = repaired
    return text


def _repaired_once(text: str) -> str:
    for match in _EDITING.finditer(text):
        before, after = text[: match.start()], text[match.end() :]
        words, first = list(_WORD.finditer(before)), _WORD.match(after)
        if not words or first is None:
            continue
        near = words[-_MOST_TAKEN_BACK:]
        is_marked = bool(match["sure"]) or _PAUSE.search(match[0]) is not None
        anchor = next((word for word in reversed(near) if word[0].lower() == first[0].lower()), None)
        if anchor is None and (_is_like(words[-1][0], first[0]) or _is_same_kind(words[-1][0], first[0])):
            anchor = words[-1]
        if anchor is None and is_marked and (len(words) == 1 or len(_WORD.findall(after)) == 1):
            anchor = words[-1]
        if anchor is not None and (is_marked or anchor is words[-1]):
            return before[: anchor.start()] + after
    return text


def _is_like(old: str, new: str) -> bool:
    return old.lower() != new.lower() and len(new) >= _LIKE and old[:_LIKE].lower() == new[:_LIKE].lower()


def _is_same_kind(old: str, new: str) -> bool:
    """Return whether both are weekdays, or both numbers."""
    both = {old.lower(), new.lower()}
    return both <= WEEKDAYS.keys() or all(word in NUMBER_WORDS or word.isdecimal() for word in both)


_TAG = re.compile(r"\s*,?\s+(?:would|will|can|could)\s+you\s*(?:please\s*)?[?.!]*\s*$", re.IGNORECASE)
_ORDER = (
    r"(?:so\s+|and\s+)?(?:(?:you|we)\s+can\s+|(?:would|could|can|will)\s+you\s+|please\s+|just\s+|pls\s+)*"
    r"(?P<order>(?P<verb>add|block|bin|cancel|change|check|clear|complete|cross|delete|drop|knock|lock|lower|mark|move|"
    r"mute|note|put|raise|remove|scrap|scratch|send|set|shut|snooze|strike|switch|take|tick|turn|write)\s+"
    r"(?P<it>it|that\s+one|this\s+one|that|this|them|those)\b(?P<rest>[^.;!?]*))[.!?]*\s*"
)
_ABOUT = re.compile(rf"(?P<remark>[^?]{{3,120}}?)\s*(?:[.;!,]|\s-)\s*{_ORDER}", re.IGNORECASE)
_DONE = listed(
    "got bought ordered done paid posted finished sent called fetched returned eaten used made collected booked read "
    "picked cleaned fixed washed watered cancelled had found taken"
)
_OF_DEED = re.compile(
    rf"(?:(?:i|we)(?:['’]ve|\s+have)?\s+)?(?:just\s+|already\s+|now\s+)?(?:{'|'.join(_DONE)})(?:\s+up)?\s+"
    r"(?P<thing>.+?)(?:\s+(?:now|already|today|yesterday|this\s+morning|at\s+last))*\s*",
    re.IGNORECASE,
)
_OF_STATE = re.compile(
    r"(?P<thing>(?:no\s+|the\s+|my\s+|our\s+|that\s+)?\S.*?)\s+(?:is|are|['’]s|was|were|has\s+been|have\s+been|looks?|seems?)\s+\S.*",
    re.IGNORECASE,
)
_NONE_OF = re.compile(r"no\s+(?P<thing>[^,]+)(?:,.*)?", re.IGNORECASE)
_ALONE = re.compile(r"(?P<thing>[\w'’ -]{3,40})\.\s*(?:\w+)?", re.IGNORECASE)
_NOBODY = frozenset(listed("it this that there he she they i we you what who all everything"))


def with_its_topic(text: str) -> str:
    """Return the order with the thing for "it" which the remark before it is about; the text where there is none."""
    match = _ABOUT.fullmatch(_TAG.sub("", text).strip())
    if match is None:
        return text
    thing = _thing_of(match["remark"].strip(" ,.;"))
    if not thing:
        return text
    verb, rest = match["verb"], match["rest"].strip(" ,")
    return f"{verb} {thing} {rest}".strip()


def _thing_of(remark: str) -> str:
    """Return what a remark is about: what was got, what is not as it should be, what was named alone."""
    for form in (_NONE_OF, _OF_DEED, _OF_STATE, _ALONE):
        found = form.fullmatch(remark)
        if found is not None and "," not in found["thing"]:
            thing = found["thing"].strip()
            words = thing.lower().split()
            if words and words[0] not in _NOBODY and len(words) <= 8:
                return thing
    return ""


_REMARK = re.compile(
    r"\s*(?:it['’]?s|it\s+is|that['’]?s|there['’]?s|i['’]?m|i\s+am|we['’]?re|god|phew|brr+)\b[^.!?\d]{0,60}[.!,]\s+",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"(?:please\s+|can\s+you\s+|could\s+you\s+|would\s+you\s+)?(?:put|turn|set|switch|open|close|shut|dim|make|lower|"
    r"raise|lock|unlock|play|start|stop|pull|let)\b",
    re.IGNORECASE,
)


_OF_DEVICES = (
    r"lights?|lamps?|blinds?|curtains?|shutters?|doors?|gates?|windows?|garage|heating|heater|heat|radiators?|thermostat|"
    r"temperature|tv|telly|television|radio|music|volume|sound|speakers?|fan|fans|oven|kettle|everything"
)
_ORDER_TO_A_DEVICE = re.compile(
    r"\s*(?:(?:please|pls|can|could|would|will|you|just|hey|quick)\b,?\s+)*(?:"
    r"(?:turn|switch|dim|mute|lock|unlock|crank|brighten)\s+[^,.;?!]+"
    rf"|(?:close|shut|open|lower|raise|pull|put|set|make|get)\s+[^,.;?!]*\b(?:{_OF_DEVICES})\b[^,.;?!]*"
    rf"|[^,.;?!]*\b(?:{_OF_DEVICES})\s+(?:on|off|up|down|open|shut|louder|quieter|warmer|cooler|brighter|dimmer)"
    r")",
    re.IGNORECASE,
)
_SENSES = r"(?:hear|see|sleep|think|focus|concentrate|read|breathe|study|work)"
_REMARK_AFTER = re.compile(
    r"\s*,\s*(?:(?:cos|coz|cause|because|since|as)\s+)?(?:"
    r"(?:(?:i|we|he|she|they|it|that|there)['’]?(?:m|re|s)|i\s+am|(?:we|they)\s+are|(?:he|she|it|that|there)\s+is)\s+"
    r"(?!(?:the|my|our|in|on|at|by|near|next|under|over|called|named|for|one)\b)"
    rf"|(?:(?:i|we|he|she|they)\s+)?(?:can['’]?t|cannot|can\s+(?:barely|hardly)|couldn['’]?t|could\s+not)\s+{_SENSES}\b"
    r"|(?:(?:the|my|our)\s+)?[a-z'’-]+(?:\s+[a-z'’-]+)?(?:['’]s|\s+(?:is|are))\s+(?:(?:so|too|still|all|already|trying\s+to)\s+)*"
    r"(?:asleep|sleeping|sleep|awake|here|home|loud|cold|hot|warm|dark|bright|leaving|freezing|boiling|noisy|watching|ill|sick)\b"
    r")[^,.;!?\d]{0,60}[.!\s]*\Z",
    re.IGNORECASE,
)
_NO_REMARK = re.compile(
    r"\b(?:and|then|also|but|not|instead|unless|if|when|until|till|after|before|please|pls|one|except|turn|switch|"
    r"put|set|make|remind|at)\b|\btoo[.!\s]*\Z",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\s*(?:sorry,?\s+)?(?:i\s+)?(?:can['’]?t|cannot|don['’]?t|do\s+not)\s+(?:really\s+)?remember\b[\s,.…–-]*(?:if\s+)?"
    r"(?=(?:did|have|has)\s)",
    re.IGNORECASE,
)


def without_remarks(text: str) -> str:
    """Return the request without what asks for nothing: a remark on how things are before or after an order to a device
    ("turn the tv down, the kids are asleep"), "would you?", and "can't remember" before a question.
    """
    said = _DOUBT.sub("", text, count=1) if _DOUBT.match(text) else text
    order = _ORDER_TO_A_DEVICE.match(said)
    if (
        order is not None
        and len(order[0].split()) >= 2
        and (after := _REMARK_AFTER.match(said, order.end())) is not None
    ):
        said = said if _NO_REMARK.search(after[0]) else order[0]
    if (tag := _TAG.search(said)) is not None and len(said[: tag.start()].split()) >= 2:
        said = said[: tag.start()]
    remark = _REMARK.match(said)
    if remark is not None and _ORDERS.match(said, remark.end()):
        said = said[remark.end() :]
    return said


_GAPPED = re.compile(
    r"(?P<before>.*?\b)(?P<verb>turn|switch|put)\s+(?P<one>(?:(?!\b(?:and|on|off)\b)[^,.;?!])+?)\s+(?P<way>on|off)\s*,?\s+"
    r"(?:and|but)\s+(?P<other>(?:the|my|our)\s+(?:(?!\b(?:and|on|off)\b)[^,.;?!])+?)\s+(?P<other_way>on|off)\b(?P<after>.*)",
    re.IGNORECASE | re.DOTALL,
)


def without_gaps(text: str) -> str:
    """Return "turn the fan off and the lamp on" with its verb said again."""
    found = _GAPPED.fullmatch(text)
    if found is None:
        return text
    one, other = f"{found['one']} {found['way']}", f"{found['other']} {found['other_way']}"
    return f"{found['before']}{found['verb']} {one} and {found['verb'].lower()} {other}{found['after']}"


_VERBLESS = re.compile(
    rf"\s*(?P<what>(?:(?:the|my|our)\s+)?(?:(?!(?:turn|switch|put|set|make|get|leave|keep|dim|is|are|was|did|has|have|when|what|"
    rf"who|where|why|how|remind|tell|if|open|close|shut|lock|unlock|raise|lower|pull)\b)[\w'’-]+\s+){{0,3}}?(?:{_OF_DEVICES}))\s+"
    r"(?P<way>on|off|up|down)(?=\s+(?:to|by|and|then)\b)",
    re.IGNORECASE,
)
_TAKEN_BACK_WHOLE = re.compile(
    r".{3,200}?(?:\s+-+\s*|\s*[—–…,;]\s*|\s*\.\.\.\s*|\s+)(?:no|nah|nope|actually|oh)\b,?\s+(?:(?:wait|just|actually|better),?\s+)+"
    r"(?=(?:add|put|set|remind|send|email|tell|move|cancel|book|turn|switch|make(?!\s+(?:it|that)\b)|write|note|delete|remove|take|call|ask)\b)",
    re.IGNORECASE | re.DOTALL,
)
_OWNED_PLURAL = re.compile(
    r"\b(birthday|number|email|address|postcode)s\s+(?=(?:now\s+)?(?:\d|\+|the\s+\d))", re.IGNORECASE
)
_BIRTHDAY = re.compile(r"\bb-?day(?P<plural>['’]?s)?\b", re.IGNORECASE)
_NEW_LIST = re.compile(
    r"\s*(?:please\s+)?(?:(?:start|make|create|begin|open|set\s+up)\s+(?:me\s+)?(?:a|an|another)\s+(?:new\s+)?|(?:a\s+)?new\s+)list\s+"
    r"(?:called|named|titled)?\s*(?P<name>(?!(?:for|of|with|to|and|on)\b)[^,.;:?]{2,40}?)\s*(?:\bwith|:)\s+(?P<items>\S.*?)"
    r"(?:\s+(?:on|in)\s+it)?\s*[.!]*\s*",
    re.IGNORECASE,
)
_IN_THE_DIARY = re.compile(
    r"(?P<order>\s*(?:(?:please|can\s+you|could\s+you)\s+)*(?:put|pop|stick|add|write|enter|note|jot)(?:\s+down)?\s+"
    r"(?:in|into|on|to)\s+(?:my|the|our)\s+(?:diary|calendar))(?!\s*(?:[:,;.?!]|$|(?:that|for|on|at|and|app)\b))",
    re.IGNORECASE,
)
"""Where something goes, said before what it is: "put in the diary chess with Ida"."""
_MEALTIME = re.compile(r"\b(lunch|dinner|tea)\s+time\b", re.IGNORECASE)


def with_verb(text: str) -> str:
    """Return an order to a device that begins with the device as one that begins with a verb: "heating up to 21"."""
    found = _VERBLESS.match(text)
    return f"turn {text.lstrip()}" if found is not None else text


def without_first_try(text: str) -> str:
    """Return the order that stands in the place of one before it: "put … - nah just put gin on the list"."""
    found = _TAKEN_BACK_WHOLE.match(text)
    return text[found.end() :] if found is not None else text


def with_list_named(text: str) -> str:
    """Return a new list as what is put on it: "start a list called beach with towels on it" adds towels to a list."""
    found = _NEW_LIST.fullmatch(text)
    return text if found is None else f"add {found['items']} to the {found['name']} list"


def as_written(text: str) -> str:
    """Return what is typed short or without its mark as it is meant: "her birthdays 3 June", "monday dinner time"."""
    text = _IN_THE_DIARY.sub(r"\g<order>:", text, count=1) if _IN_THE_DIARY.match(text) else text
    text = _BIRTHDAY.sub(lambda found: f"birthday{found['plural'] or ''}", text)
    return _MEALTIME.sub(r"\1time", _OWNED_PLURAL.sub(r"\1 is ", text))


def plainly(text: str) -> str:
    """Return a request as it is meant; unchanged where it is plain already. A run of blanks is one."""
    text = _RUN_OF_BLANKS.sub(" ", text)
    if len(text) > _LONGEST:
        return text
    said = without_remarks(with_its_topic(without_repairs(without_first_try(with_list_named(as_written(text))))))
    return with_its_level(with_verb(without_gaps(said)))
