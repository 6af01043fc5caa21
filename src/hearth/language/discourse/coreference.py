"""Resolves what a request means after the one before: "same for tomorrow", "and Friday?", "her", "the second one".

Deterministic, from the last episodes alone. A request that only makes sense after another is read as a fuller one,
which is planned, remembered and learned from like any other; the owner is shown that reading. A record of the last
answer ("the second one", "it") enters a plan by its id, chosen by the owner's own words, never by a text in the record.

Covered: a revision ("no, I meant Friday", "as a reminder instead"), which is done in place of what was done; taking
that back; ellipsis that replaces the last time, person, place or name; "again"; pronouns for the one person of the last
request; a record by its place in the last answer, or the only one there.
Not covered: what lies further back than the last request; several people for one pronoun (it is left as it stands and
the planner asks); languages other than English; names of things that were only in an answer's text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from hearth import patterns as re
from hearth.formats.plans import only_reads, with_refs
from hearth.language.discourse.deeds_told import told_of_deed
from hearth.language.discourse.plain_request import (
    PLACES,
    answered,
    begins_like_request,
    chosen,
    list_said,
    with_mark_first,
)
from hearth.language.discourse.relative_anchors import (
    anchored,
    is_side_by_side,
    moment_shown,
    names_a_day,
    nearest_half_day,
    on_its_day,
    says_no_half,
)
from hearth.language.reading import Utterance
from hearth.language.temporal.time_words import WEEKDAYS
from hearth.language.tokens import BY_ID, NUMBER_WORDS, Slot, listed
from hearth.types import Argument, Context, Episode, Plain, Plan, Record, Ref, Refusal, Request, Step, ToolSpec

_OF_MEMORY = frozenset({"search_memory", "remember"})
WITHIN = dt.timedelta(minutes=15)
"""A request later than this is read by itself."""
_FILLERS = (
    r"\s*(?:(?:no|nope|nah|sorry|wait|oh|ok|okay|please|actually|hang\s+on|hold\s+on|hmm|um|uh|pardon(?:\s+me)?|"
    r"i\s+beg\s+your\s+pardon|my\s+mistake|that['’]?s\s+(?:all\s+)?(?:wrong|not\s+right|not\s+it)|wrong|i(?:'ve|\s+have|)\s+changed\s+my\s+mind|changed\s+my\s+mind)\b[,.!]?\s+)*"
)
_ELLIPSIS = re.compile(
    rf"{_FILLERS}"
    r"(?:(?:(?:do|add|make|and)\s+)?(?:the\s+)?same(?:\s+thing)?(?:\s+again)?|(?:and\s+)?(?:what|how)\s+about|and|n|"
    r"plus|also|(?:make|change)\s+(?:it|that)(?:\s+to)?|(?:it|that)(?:['’]?s|\s+is|\s+was|\s+should\s+be)(?:\s+for)?|"
    r"i\s+meant?|instead|rather|then|no|nope|nah|sorry|wait|actually)\b[\s,]*"
    r"(?P<rest>.*?)(?:,?\s+(?:instead|rather|too|as\s+well|then|please|i\s+meant?|(?:is|would\s+be|works|suits\s+me)\s+"
    r"(?:better|safer|easier|best)))*\s*[?.!]*\s*",
    re.IGNORECASE | re.DOTALL,
)
_REVISES = re.compile(
    r"\s*(?:(?:oh|ok|okay|please|and),?\s+)*"
    r"(?:no|nope|nah|sorry|wait|actually|rather|that['’]?s\s+(?:wrong|not\s+right)|i\s+meant?|(?:make|change)\s+(?:it|that)|i\s+beg\s+your\s+pardon|"
    r"my\s+mistake)\b(?!\s+thanks)"
    r"|.*\b(?:instead|rather)\s*[?.!]*\s*$",
    re.IGNORECASE | re.DOTALL,
)
"""What is said in place of the last request, not beside it."""
_TAKES_BACK = re.compile(
    rf"{_FILLERS}(?:(?:take|put|bring)\s+(?:it|that|them)\s+back|undo(?:\s+(?:it|that|this))?|scratch\s+that|"
    r"never\s*mind\s+that|revert(?:\s+(?:it|that))?)(?:,?\s+(?:again|please))*\s*[.!]*\s*",
    re.IGNORECASE,
)
_AS = re.compile(
    r"(?:(?:as|make\s+(?:it|that))\s+an?|(?:put\s+(?:it|that)\s+)?(?:on|in|to)\s+(?:my|the))\s+(?P<noun>[a-z]+)\s*[.!]*",
    re.IGNORECASE,
)
"""Another kind of thing: "as a reminder", "on my calendar"."""
_KINDS: Mapping[str, str] = {"calendar": "event", "diary": "event", "appointment": "event", "meeting": "event"}
"""Words of people for what tools call otherwise."""
_ASKS = re.compile(r"\s*(?:and\s+)?(?:what|how)\s+about\b", re.IGNORECASE)
_AGAIN = re.compile(
    r"\s*(?:(?:please\s+)?(?:(?:do\s+)?(?:it|that|the\s+same(?:\s+thing)?)\s+again|again|once\s+more|same\s+again|"
    r"repeat\s+(?:it|that)))(?:\s+please)?\s*[?.!]*\s*",
    re.IGNORECASE,
)
_NEEDS_NO_CUE = re.compile(r"(?:tomorrow|today|tonight|yesterday|next|this|last|in|the\s+day)\b", re.IGNORECASE)
_CUE = re.compile(r"(?:for|on|at|to|with|in|by|from|of|the|a|about)\s+", re.IGNORECASE)
_NTH = re.compile(
    rf"\b(?:the\s+)?(?:(?P<word>{'|'.join(PLACES)})(?:\s+(?:one|event|mail|message|note|reminder|file|contact|person|"
    r"entry|of\s+(?:them|those)))|(?:number|no\.?|#)\s*(?P<number>\d{1,3}))\b",
    re.IGNORECASE,
)
_QUALIFIED = re.compile(r"\s+(?:from|about|of|by|with|on|regarding|called|named|that|which)\b", re.IGNORECASE)
_BARE = re.compile(
    r"\s*(?:(?:please|ok(?:ay)?|and|then|now|no|just|what\s+about|how\s+about|i\s+mean|i\s+meant)[\s,]+)*",
    re.IGNORECASE,
)
"""What may stand before "the second one" where nothing is said of it."""
_IT = re.compile(
    r"\b(?:it|(?:that|this)\s+(?:one|event|mail|message|note|reminder|file|contact)|that(?=\s*(?:[.?!]|$|(?:to|by|for)\b)))\b",
    re.IGNORECASE,
)
_DEEDS = frozenset(
    listed(
        "cancel delete remove drop move shift postpone reschedule push change rename edit open read show reply answer "
        "forward mark copy complete finish tick check snooze send call put set make bring take"
    )
)
"""First words of a request that is about a record. "I like it" is not."""
_PERSON = re.compile(r"\b(?P<word>her|him|his|hers|them|their|she|he)\b", re.IGNORECASE)
_TOLD_WHOM = re.compile(
    r"\s*(?:(?:please|ok|okay|and|now|then|can\s+you|could\s+you)[\s,]+)*"
    r"(?:tell|text|message|msg|let|ask|e?mail|call|ring|phone|invite|answer|(?:write|reply|respond)(?:\s+back)?(?:\s+to)?)\s+",
    re.IGNORECASE,
)
"""Stands before whom something is told to, whoever else the words name."""
_GIVING = frozenset(
    listed(
        "tell send ask call remind give text mail email invite show write ring phone message meet visit thank with to "
        "for about from and see"
    )
)
"""After these words "her" is a receiver; before a thing it is a possessor."""
_NO_THINGS = _GIVING | frozenset(listed("that a an the at on in by i"))
_OWNED = frozenset(listed("birthday number address mail phone email"))
_POLITE = frozenset(listed("please can could would you and ok okay now then actually oh just so right hang on"))
_SAID_OF = {"his": True, "their": True, "hers": True}


@dataclass(frozen=True, slots=True)
class Reading:
    """A request as it is meant after the last one."""

    text: str
    records: tuple[Record, ...] = ()
    """Things that it is about and that the owner pointed at, in it or in the request that it is made from."""
    revises: str = ""
    """Episode in whose place it is done: "no, I meant Friday". With an empty text nothing else is wanted."""
    may_be_order: bool = False
    """It answers a question with what may as well be a request of its own: "turn the volume up"."""


def takes_back(text: str) -> bool:
    """Return whether a request asks that the one before be undone, and nothing else: "take that back"."""
    return _TAKES_BACK.fullmatch(text) is not None


def read_after(utterance: Utterance, recent: Sequence[Episode], tools: Mapping[str, ToolSpec]) -> Reading:
    """Read an utterance after `recent` episodes, newest first; unchanged when nothing in it refers back.

    "What about Friday?" refers to the last request that only looked something up, everything else to the very last.
    After the press of a button only that can be taken back.
    """
    text, now, context = utterance.text, utterance.now, utterance.context
    recent = [replace(one, request=Utterance.of(one.request, context)) for one in recent]  # each is read once
    said = next((one for one in recent if not one.request.is_pressed), None)
    if said is not None and (replied := _replied(utterance, said, tools)) is not None:
        return replied
    last = next((e for e in recent if dt.timedelta() <= now - e.request.now <= WITHIN and e.plan is not None), None)
    if last is None or last.plan is None:
        return Reading(text)
    changed = last.id if _can_be_taken_back(last, tools) else ""
    if changed and takes_back(text):
        return Reading("", revises=changed)
    if last.request.is_pressed:
        return Reading(text)  # nothing was said that this could go on from
    if _AGAIN.fullmatch(text):
        return Reading(last.request.text, last.request.records)
    if drafts := _drafts_meant(text, recent, now, tools):
        return Reading("send the drafts", drafts)
    if changed and (told := told_of_deed(text, last)):
        return Reading(told)
    marked = utterance.saying(with_mark_first(text))
    reading = _revised(marked, last, changed, tools) or _gone_on(marked, last, recent, tools)
    return reading or _referring(utterance, last, tools)


def _replied(utterance: Utterance, said: Episode, tools: Mapping[str, ToolSpec]) -> Reading | None:
    """Read an answer to what was asked back: a value that was missing, or which of several things is meant."""
    text, now = utterance.text, utterance.now
    if whole := answered(utterance, said):
        return Reading(whole, _still_meant(said.request, whole), may_be_order=begins_like_request(text))
    if (choice := chosen(text, said, now, tools)) is not None:
        return Reading(said.request.text, (*said.request.records, choice))
    return None


def _revised(utterance: Utterance, last: Episode, changed: str, tools: Mapping[str, ToolSpec]) -> Reading | None:
    """Read what is said in the place of the last request, or only completes its time."""
    text = utterance.text
    steps = last.plan.steps if last.plan is not None else ()
    if {step.tool for step in steps} <= _OF_MEMORY:
        right = corrected(last.request.text, text)
        return Reading(right) if right is not None else None
    if not changed:
        return None
    if (minutes := _MINUTES.search(text)) is not None and (at := moment_shown(last)) is not None:
        hour = at.hour + (minutes["way"].lower() == "to")
        text = f"{text[: minutes.start()]}{minutes[0].strip()} {hour % 12 or 12} {'am' if hour < 12 else 'pm'}"
    ellipsis = _ELLIPSIS.fullmatch(text)
    if completed := _completed(last.request, utterance.saying(text)):
        return Reading(completed, _still_meant(last.request, completed), changed)
    if ellipsis is None or not _REVISES.match(text):
        return None
    rest = _SAME_TIME.sub("", ellipsis["rest"])
    other = _filled(last.request, utterance.saying(rest)) or _as_another_kind(last, rest, utterance.context, tools)
    other = other or _with_fewer_items(last, rest)
    other = other or _exchanged(last.request.text, rest) or _in_its_text(last, utterance.saying(rest))
    return Reading(other, _still_meant(last.request, other), changed) if other else None


_CORRECTS = re.compile(
    r"\s*(?:no|nope|wrong|not quite|that's wrong|that is wrong|actually)\b[\s,.!:;–-]*(?:no\b[\s,]*)?"
    r"(?:it|that|he|she|they|those|these)(?:'s|’s|'re|’re| is| are)\s+(?P<value>(?!not\b|wrong\b|right\b).+)",
    re.IGNORECASE | re.DOTALL,
)
_THING_ASKED = re.compile(
    r"\s*(?:what|who|where|when|which)(?:'s|’s|'re| is| are)\s+(?P<thing>(?:my|our|the|[\w-]+['’]s)\b.+?)[\s?.!]*",
    re.IGNORECASE,
)
_THING_SAID = re.compile(
    r"\s*(?:(?:remember|note) (?:that )?)?(?P<thing>(?:my|our|the|[\w-]+['’]s)\b.+?) (?:is|are) .+", re.IGNORECASE
)


def corrected(said_before: str, text: str) -> str | None:
    """Rephrase "no, it's 48 now" after "what is my locker number" as "my locker number is 48 now"; None when nothing is
    corrected, or it is not clear what.
    """
    found = _CORRECTS.fullmatch(text)
    thing = _THING_ASKED.fullmatch(said_before) or _THING_SAID.fullmatch(said_before)
    return f"{thing['thing']} is {found['value'].strip()}" if found and thing else None


def _still_meant(request: Request, text: str) -> tuple[Record, ...]:
    """Return what was pointed at in a request and is still said in a text that was made from it: "move the event to
    Saturday" is about the event that was "the second one", whatever else is called so."""
    return tuple(record for record in request.records if record.is_said_in(text))


def _gone_on(
    utterance: Utterance, last: Episode, recent: Sequence[Episode], tools: Mapping[str, ToolSpec]
) -> Reading | None:
    """Read what is asked beside the last request: "and Friday?", "and crisps"."""
    text = utterance.text
    ellipsis = _ELLIPSIS.fullmatch(text)
    if ellipsis is None:
        return None
    asked = last
    if _ASKS.match(text):
        asked = next((e for e in recent if e.plan is not None and only_reads(e.plan, tools)), last)
    if (full := _filled(asked.request, utterance.saying(ellipsis["rest"]))) is not None:
        return Reading(full, _still_meant(asked.request, full))
    if other := _as_another_kind(last, ellipsis["rest"], utterance.context, tools):
        return Reading(other)
    if _ADDS.match(text) and (other := _as_further_items(last, ellipsis["rest"], tools)):
        return Reading(other)
    return None


def _referring(utterance: Utterance, last: Episode, tools: Mapping[str, ToolSpec]) -> Reading:
    """Read a request of its own that refers back: by a time that counts on, a pronoun, a place in the last answer."""
    if counted := anchored(utterance, last):
        return _picked(utterance.saying(counted), last, tools)
    text = _on_the_list(utterance.text, last)
    person = _only_person(Utterance.of(last.request, utterance.context))
    match = _PERSON.search(text)
    meant: tuple[Record, ...] = ()
    if person and match and (_TOLD_WHOM.fullmatch(text[: match.start()]) or not _names_somebody(utterance)):
        meant = _still_meant(last.request, person)
        text = text[: match.start()] + _in_place(text, match, person) + text[match.end() :]
        text = re.sub(r"^\s*(?:and|also|n|plus)\s+", "", text, flags=re.IGNORECASE)
    read = _picked(utterance.saying(text), last, tools)
    return replace(read, records=(*meant, *read.records))


_ON_IT = re.compile(
    r"(?P<order>\s*(?:(?:please|pls|can\s+you|could\s+you|and|ok|okay|now|then|also)[\s,]+)*"
    r"(?:add|put|stick|pop|chuck|get|take|remove|cross|tick|check|strike|scratch|knock|drop|delete)\s+"
    r"(?!(?:it|that|this|them|him|her|me)\b)[^.;:?!]{1,80}?\s(?:on\s*to|onto|on|to|off|from)\s+)"
    r"(?:it|that|there|this)(?P<rest>(?:\s*,?\s+(?:please|pls|too|as\s+well|also|then|now|thanks))*\s*[.!]*\s*)",
    re.IGNORECASE,
)
"""Puts something on what was spoken of, or takes it off: "take the oats off it"."""


def _on_the_list(text: str, last: Episode) -> str:
    """Return a request with the list that the last one read or changed in the place of "it"; the same for any other."""
    steps = last.plan.steps if last.plan is not None else ()
    done = {result.step for result in last.results if result.status == "done"}
    lists = [step.arguments.get("list") if k in done else None for k, step in enumerate(steps)]
    found = _ON_IT.fullmatch(text)
    if found is None or len({str(one) for one in lists}) != 1 or not isinstance(lists[0], str) or not lists[0]:
        return text
    name = re.sub(r"\A(?:the|my|our)\s+|\s+list\Z", "", lists[0], flags=re.IGNORECASE)
    return f"{found['order']}the {list_said(name)} list{found['rest']}"


def _completed(last: Request, utterance: Utterance) -> str:
    """Return the last request with how often, or at what time of the day, where only that is said: "every week"."""
    said = utterance.text.strip(" .!?")
    news, olds = utterance.saying(said).mentions, Utterance.of(last, utterance.context).times
    if len(news) != 1 or news[0].kind != "time" or news[0].cue_start > 0 or news[0].end < len(said) or not olds:
        return ""
    new, old = news[0], olds[-1]
    moment = str(old.views.get("datetime", ""))
    if "repeat" in new.views and moment and "repeat" not in old.views:
        day = dt.datetime.fromisoformat(moment)
        often = f"every {day:%A}" if re.fullmatch(r"(?:every )?week(?:ly)?", new.text, re.IGNORECASE) else new.text
        often = often if often.lower().startswith("every") else f"every {often}"
        clock = f" at {day:%H:%M}" if "time" in old.views and "time" not in new.views else ""
        return f"{last.text[: old.cue_start]}{often}{clock}{last.text[old.end :]}"
    if "time" in new.views and not names_a_day(new) and "time" not in old.views and names_a_day(old):
        return f"{last.text[: old.end]} at {new.views['time']}{last.text[old.end :]}"
    return ""


_MINUTES = re.compile(
    r"\b(?:half|quarter|five|ten|twenty)\s+(?P<way>past|to)(?=\s*(?:instead|rather|please|is\s+better)?\s*[.!]*\s*$)",
    re.IGNORECASE,
)
"""Minutes whose hour stays: "make that half past"."""
_SAME_TIME = re.compile(r"[\s,]*\b(?:(?:but|and)\s+)?(?:at\s+)?(?:the\s+)?same\s+time\b", re.IGNORECASE)
"""Says no more than what is left out says: the clock time stays."""
_MOST_WORDS_MEANT = 4


def _in_its_text(last: Episode, rest: Utterance) -> str:
    """Return the last request with the thing at the end of its text exchanged: "I meant the library" for "the bank"."""
    words = rest.text.strip(" .!?").split()
    is_other = not words or words[0].lower() in _DEEDS | _GIVING | _OTHER_DEEDS or len(words) > _MOST_WORDS_MEANT
    if is_other or rest.mentions or last.plan is None:
        return ""
    said = last.request.text
    texts = [value for step in last.plan.steps for value in step.arguments.values() if isinstance(value, str)]
    for value in sorted((text for text in texts if " " in text and text in said), key=len, reverse=True):
        old = value.split()
        determiners = [k for k, word in enumerate(old) if word.lower() in ("the", "a", "an", "my", "our", "some")]
        first = determiners[-1] if determiners and words[0].lower() in ("the", "a", "an", "my", "our", "some") else -1
        return said.replace(value, " ".join([*(old[:first]), *words]), 1)
    things = [*(record.words for record in last.request.records), *(f"the {text}" for text in texts)]
    if words[0].lower() in ("the", "my", "our"):
        return next((said.replace(thing, " ".join(words), 1) for thing in things if thing and thing in said), "")
    return ""


def _can_be_taken_back(last: Episode, tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether the last request changed something here and sent nothing."""
    if last.plan is None:
        return False
    done = [last.plan.steps[result.step].tool for result in last.results if result.status == "done"]
    effects = {tools[tool].effect for tool in done if tool in tools}
    return "change" in effects and "send" not in effects


def _as_another_kind(last: Episode, rest: str, context: Context, tools: Mapping[str, ToolSpec]) -> str:
    """Return the last request as one for another kind of record: "as a reminder" after an event was made."""
    match = _AS.fullmatch(rest)
    if match is None or last.plan is None:
        return ""
    noun = _KINDS.get(match["noun"].lower(), match["noun"].lower())
    if f"add_{noun}" not in tools:
        return ""
    made = next((step for step in reversed(last.plan.steps) if step.tool.startswith("add_")), None)
    if made is None or made.tool == f"add_{noun}":
        return ""
    said, slots = last.request.text, Utterance.of(last.request, context).times
    texts = [value for value in made.arguments.values() if isinstance(value, str) and value and value in said]
    times = [f"{slot.cue} {slot.text}".strip() for slot in slots]
    return " ".join([f"add a {noun} {max(texts, key=len)}", *times]) if texts else ""


_ADDS = re.compile(r"\s*(?:oh,?\s+|ok,?\s+)?(?:and|n|plus|also)\b", re.IGNORECASE)
_OTHER_DEEDS = frozenset(
    listed(
        "add buy get pick do have be go is are was were do does did can could would will shall should what when where "
        "who whose which how why if don't tell turn switch play pay book order find look list search start stop wake "
        "lock unlock open close dim clean wash fix write note remember forget let please i i'm he she we they you"
    )
)
_MOST_ITEM_WORDS = 8


def _as_further_items(last: Episode, rest: str, tools: Mapping[str, ToolSpec]) -> str:
    """Return the last request with other things in the place of those it added to a list: "and crisps"."""
    rest = re.sub(r"^(?:and|also|plus)\s+", "", rest, flags=re.IGNORECASE)
    words = re.findall(r"[^\W\d_]+", rest.lower())
    if not words or len(words) > _MOST_ITEM_WORDS or words[0] in _DEEDS | _GIVING | _OTHER_DEEDS or last.plan is None:
        return ""
    said = last.request.text
    for step in last.plan.steps:
        spec = tools.get(step.tool)
        for name, value in step.arguments.items() if spec is not None and spec.effect == "change" else ():
            parameter = spec.parameter(name) if spec is not None else None
            if parameter is None or parameter.type != "list[text]" or not isinstance(value, list) or not value:
                continue
            places = [said.lower().find(str(item).lower()) for item in value]
            if min(places) >= 0:
                end = max(place + len(str(item)) for place, item in zip(places, value))
                return said[: min(places)] + rest + said[end:]
    return ""


_WITHOUT = re.compile(
    r"(?:but\s+)?(?:not|without|leave\s+out|skip|minus)\s+(?:the\s+|any\s+)?(?P<thing>\S.*)", re.IGNORECASE
)


def _with_fewer_items(last: Episode, rest: str) -> str:
    """Return the last request without one of the things that it put on a list: "not the crisps"."""
    match = _WITHOUT.fullmatch(rest.strip(" .!?"))
    if match is None or last.plan is None:
        return ""
    said = last.request.text
    for step in last.plan.steps:
        for value in step.arguments.values():
            items = [str(item) for item in value] if isinstance(value, list) else []
            left = [item for item in items if match["thing"].lower() not in (item.lower(), f"{item.lower()}s")]
            places = [said.find(item) for item in items]
            if left and len(left) == len(items) - 1 and min(places) >= 0:
                end = max(place + len(item) for place, item in zip(places, items))
                return f"{said[: min(places)]}{' and '.join(left)}{said[end:]}"
    return ""


_BOUNDS = frozenset(listed("a an the my our some to for on in at of from with and or by"))


_ARTICLES = frozenset(listed("a an the my our some"))
_OPPOSITES = {"on": "off", "off": "on", "up": "down", "down": "up", "open": "close", "close": "open"}


def _exchanged(said: str, rest: str) -> str:
    """Return what was said with the words in it that `rest` stands for exchanged; empty when none begins or ends alike.

    "to the hardware list" for "to the shopping list", "oat milk" for "milk".
    """
    old, new = said.rstrip(" .!?").split(), rest.split()
    if len(old) < 2 or not new:
        return ""
    old_words, new_words = ([word.lower().strip(",;:") for word in words] for words in (old, new))
    if len(new) == 1 and (opposite := _OPPOSITES.get(new_words[0])) in old_words:
        place = old_words.index(str(opposite))
        return " ".join([*old[:place], *new, *old[place + 1 :]])
    if new_words[0] in _CUE_WORDS and new_words[0] in old_words[1:] and len(new) > 1:
        first, last = _beginning_alike(old_words, new_words)
    elif new_words[-1] in old_words[1:] and new_words[-1] not in _BOUNDS:
        first, last = _ending_alike(old_words, new_words)
    else:
        return ""
    return " ".join([*old[:first], *new, *old[last + 1 :]])


def _beginning_alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the first and last of the old words from the cue on with which the new ones begin: "to the hardware
    list"."""
    first = max(k for k, word in enumerate(old) if word == new[0])
    ends = [k for k in range(first + 1, len(old)) if old[k] == new[-1]]
    ends += [k - 1 for k in range(first + 2, len(old)) if old[k] in _CUE_WORDS]
    return first, ends[0] if ends else len(old) - 1


def _ending_alike(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """Return the first and last of the old words up to the one with which the new ones end: "oat milk"."""
    first = last = max(k for k, word in enumerate(old) if word == new[-1])
    while first > 1 and last - first + 1 < len(new) and old[first - 1] not in _BOUNDS:
        first -= 1
    if first > 1 and new[0] in _ARTICLES and old[first - 1] in _ARTICLES:
        first -= 1
    return first, last


# ── Ellipsis ──────────────────────────────────────────────────────────────────────────────────────────────


def _filled(last: Request, utterance: Utterance) -> str | None:
    """Replace values of the last request with those said now; None when these say something else."""
    rest, then = utterance.text, Utterance.of(last, utterance.context)
    if (later := _counted_on(then, rest)) is not None:
        return later
    olds = then.mentions
    slots: Sequence[Slot] = ()
    for form in _forms(rest, olds):
        slots = utterance.saying(form).mentions
        is_whole = slots and not re.sub(r"[\s,]|\band\b", "", _CUE.sub("", _without(form, slots)))
        if is_whole and (form == rest or all(any(_is_alike(old, slot) for old in olds) for slot in slots)):
            break
    else:
        return None
    text = last.text
    for slot in slots:
        before = [old for old in then.saying(text).mentions if _is_alike(old, slot)]
        if before:
            old = _said_alike(before, slot)
            start = old.cue_start if old.kind == "time" and _NEEDS_NO_CUE.match(slot.text) else old.start
            text = text[:start] + _said_for(old, slot) + text[old.end :]
        else:
            cue = slot.cue or ("" if slot.kind == "time" else "for")
            text = f"{text.rstrip(' .!?')} {cue} {slot.text}".replace("  ", " ")
    return text


def _forms(rest: str, olds: Sequence[Slot]) -> list[str]:
    """Return what was said, in the ways in which it may be read: "sat" is a day, "eleven" an hour or a length."""
    kinds = {slot.kind for slot in olds}
    short = rest.strip(" .,!?")
    bare = _CUE.sub("", short, count=1) if _CUE.match(short) else short
    forms = [f"on {bare}", f"at {bare}"] if "time" in kinds and len(bare.split()) <= 3 else []
    if _BARE_HOURS.fullmatch(bare) and forms:
        is_range = any("time" in old.views and "duration" in old.views for old in olds)  # not 10 to 11 for 10:50
        return [f"{'from' if is_range else 'at'} {bare}", rest]
    lengths = [re.sub(r"^\S+\s*", "", old.text) for old in olds if old.kind == "duration"]
    if lengths and re.fullmatch(r"\d+|[a-z]+(?:[- ][a-z]+)?", short, re.IGNORECASE):
        forms.append(f"{short} {lengths[-1]}")
    has_number = bool(kinds & {"number", "quantity"})
    return [rest, *forms] if has_number or not _BARE_NUMBER.fullmatch(bare) else [*forms, rest]


_NUMBER = "|".join(sorted(NUMBER_WORDS, key=len, reverse=True))
_BARE_NUMBER = re.compile(rf"\d{{1,2}}(?:[.:]\d\d)?|(?:{_NUMBER})(?:[ -](?:{_NUMBER}))?", re.I)
_BARE_HOURS = re.compile(
    rf"(?:\d{{1,2}}(?:[.:]\d\d)?|{_NUMBER})\s*(?:-|–|to|till?|until)\s*(?:\d{{1,2}}(?:[.:]\d\d)?|{_NUMBER})\s*(?:[ap]m)?",
    re.I,
)
_AFTER_IT = re.compile(
    r"(?:the\s+)?(?P<what>[a-z]+)\s+after(?:\s+(?:that|it|next))?\s*[?.!]*|the\s+following\s+(?P<next>[a-z]+)\s*[?.!]*",
    re.IGNORECASE,
)


def _counted_on(last: Utterance, rest: str) -> str | None:
    """Return the last request with its day counted on: "and the Friday after", "the day after"."""
    match = _AFTER_IT.fullmatch(rest)
    what = (match["what"] or match["next"]).lower() if match is not None else ""
    days = [slot for slot in last.times if "datetime" in slot.views]
    if not days or (what not in WEEKDAYS and what not in ("day", "week", "weekend")):
        return None
    old = days[-1]
    was = dt.datetime.fromisoformat(str(old.views["datetime"])).date()
    if (n_days := _n_days(old)) > 1 and what in ("week", "weekend"):
        first = was + dt.timedelta(days=7)
        last_day = first + dt.timedelta(days=n_days - 1)
        days_said = f"from {first.day} {first:%B %Y} to {last_day.day} {last_day:%B %Y}"
        start = old.start if old.cue.lower() == "on" else old.cue_start  # "what's on"
        return f"{last.text[:start]}{days_said}{last.text[old.end :]}"
    if what == "weekend":
        return None
    ahead = {"day": 1, "week": 7}.get(what) or (WEEKDAYS[what] - was.weekday() - 1) % 7 + 1
    day = was + dt.timedelta(days=ahead)
    clock = f" at {dt.datetime.fromisoformat(str(old.views['datetime'])):%H:%M}" if "time" in old.views else ""
    start = old.cue_start
    return f"{last.text[:start]}on {day.day} {day:%B %Y}{clock}{last.text[old.end :]}"


def _n_days(slot: Slot) -> int:
    """Return how many days a time spans."""
    start, end = (
        dt.datetime.fromisoformat(str(slot.views.get(name, slot.views["datetime"]))) for name in ("start", "end")
    )
    return max(1, (end.date() - start.date()).days)


def _without(text: str, slots: Sequence[Slot]) -> str:
    for slot in reversed(slots):
        text = text[: slot.start] + text[slot.end :]
    return re.sub(rf"\b(?:{'|'.join(_CUE_WORDS)})\b", "", text)


_CUE_WORDS = ("for", "on", "at", "to", "with", "in", "by", "from", "of", "about")


def _is_alike(old: Slot, new: Slot) -> bool:
    people = {"person", "unknown_person", "email"}
    return old.kind == new.kind or {old.kind, new.kind} <= people or {old.kind, new.kind} <= {"number", "quantity"}


def _said_alike(olds: Sequence[Slot], new: Slot) -> Slot:
    """Return the value that a new one stands in the place of: of several times the day of a day, the hours of hours."""
    if new.kind == "time" and names_a_day(new) != ("time" in new.views):
        alike = [
            old
            for old in olds
            if names_a_day(old) == names_a_day(new) and ("time" in old.views) == ("time" in new.views)
        ]
        alike = alike or [old for old in olds if (names_a_day(old) if names_a_day(new) else "time" in old.views)]
        olds = alike or olds
    return olds[-1]


def _said_for(old: Slot, new: Slot) -> str:
    """Complete a new time with the old one: "at 10" keeps the day, "tomorrow" the hour."""
    if old.kind != "time" or new.kind != "time" or "repeat" in new.views:
        return new.text
    is_clock, is_day = "time" in new.views, names_a_day(new)
    if is_clock and "duration" in new.views and not is_day and (hours := _hours_said(old, new)):
        return hours
    if is_clock and not is_day:
        return _clock_on_old_day(old, new)
    return _day_at_old_clock(old, new) if is_day and not is_clock else new.text


def _hours_said(old: Slot, new: Slot) -> str:
    """Return new hours from … to … on the old day, in the half of the day in which the old ones begin; empty where the
    old time names no day."""
    said, until = (dt.datetime.fromisoformat(str(new.views[name])) for name in ("start", "end"))
    start = f"{said:%H:%M}"
    if "time" in old.views and says_no_half(new):
        start = nearest_half_day(start, str(old.views["time"]))
    end = dt.datetime.fromisoformat(f"{said.date()}T{start}") + (until - said)
    day = (
        dt.datetime.fromisoformat(str(old.views["datetime"])) if names_a_day(old) and "datetime" in old.views else None
    )
    on = f"{day.day} {day:%B %Y} " if day is not None else ""
    return f"{on}from {start} to {end:%H:%M}"


def _hours_from(old: Slot, new: Slot) -> str:
    """Return the old hours from … to … as they begin at a new clock time."""
    began, ended = (dt.datetime.fromisoformat(str(old.views[name])) for name in ("start", "end"))
    clock = str(new.views["time"])
    start = nearest_half_day(clock, f"{began:%H:%M}") if says_no_half(new) else clock
    begins = dt.datetime.combine(began.date(), dt.time.fromisoformat(start), began.tzinfo)
    on = f"{began.day} {began:%B %Y} " if names_a_day(old) else ""
    return f"{on}from {begins:%H:%M} to {begins + (ended - began):%H:%M}"


def _clock_on_old_day(old: Slot, new: Slot) -> str:
    """Complete a clock time with the old day, in the half of the day that is nearer to the old clock time; what was to
    last from one hour to another lasts as long."""
    if {"duration", "start", "end"} <= old.views.keys() and "repeat" not in old.views:
        return _hours_from(old, new)
    said = new.text
    if "time" in old.views and says_no_half(new):
        said = nearest_half_day(str(new.views["time"]), str(old.views["time"]))
    at = f"at {said}" if re.match(r"\d|noon|midnight|half|quarter", said, re.IGNORECASE) else said
    if "repeat" in old.views:
        return f"{re.sub(r' at .*', '', old.text)} {at}"
    moment = str(old.views.get("datetime", ""))
    if moment and names_a_day(old):
        when = dt.datetime.fromisoformat(moment)
        return f"{when.day} {when:%B %Y} {at}"
    return said


def _day_at_old_clock(old: Slot, new: Slot) -> str:
    """Complete a day with the old clock time."""
    moment = str(old.views.get("datetime", ""))
    said = new.text
    if said.lower().startswith("the ") and "date" in new.views:
        date = dt.date.fromisoformat(str(new.views["date"]))
        said = f"{date.day} {date:%B %Y}"
    elif moment and names_a_day(old):
        said = _nearest_weekday(new, moment)
    if "time" not in old.views and (part := _PART.search(old.text)) is not None and not _PART.search(said):
        said = f"{said} {part[0]}"
    if "repeat" in old.views or not moment or "time" not in old.views:
        return said
    if "duration" in old.views:
        ends = (dt.datetime.fromisoformat(str(old.views[name])) for name in ("start", "end"))
        return f"{said} from " + " to ".join(f"{end:%H:%M}" for end in ends)
    return f"{said} at {dt.datetime.fromisoformat(moment):%H:%M}"


_PART = re.compile(r"\b(?:morning|afternoon|evening|night)\b", re.IGNORECASE)


def _nearest_weekday(new: Slot, moment: str) -> str:
    """Return a weekday said in the place of a day far ahead as the date that is nearest to that day."""
    plain = WEEKDAYS.get(new.text.strip().lower())
    if plain is None:
        return new.text
    said, old = dt.date.fromisoformat(str(new.views["date"])), dt.datetime.fromisoformat(moment).date()
    weeks = max(0, round((old - said).days / 7))
    day = said + dt.timedelta(weeks=weeks)
    return f"{day:%A}" if day == said else f"{day.day} {day:%B %Y}"


# ── People ────────────────────────────────────────────────────────────────────────────────────────────────


def _only_person(last: Utterance) -> str:
    names = {str(slot.views.get("name", slot.text)) for slot in last.slots if slot.kind in ("person", "unknown_person")}
    return names.pop() if len(names) == 1 else ""


def _names_somebody(utterance: Utterance) -> bool:
    return any(slot.kind in ("person", "unknown_person", "email") for slot in utterance.slots)


def _in_place(text: str, match: re.Match[str], person: str) -> str:
    """Return the name, as a possessive if the pronoun was one: "her number", but not "tell her"."""
    word = match["word"].lower()
    if word != "her":
        return f"{person}'s" if word in _SAID_OF else person
    before = re.findall(r"\w+", text[: match.start()].lower())
    after = re.match(r"\s+(\w+)", text[match.end() :])
    is_given = bool(before) and before[-1] in _GIVING
    word_after = after[1].lower() if after is not None else ""
    owns = bool(word_after) and word_after not in _NO_THINGS
    return f"{person}'s" if word_after in _OWNED or (owns and not is_given) else person


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────


def _it_meant(text: str) -> re.Match[str] | None:
    """Return the "it" that a deed is done to."""
    match = _IT.search(text) if _first_word(text) in _DEEDS | _SETTING else None
    if match is not None and not _is_object(text[: match.start()]):
        return None  # "reply to Ida that Friday is fine and put it in the diary" has something of its own
    return match


_THE_ONE = re.compile(
    r"\bthe\s+(?P<noun>event|mail|note|reminder|file|contact)(?=\s*(?:[.,?!]|$|(?:to|by|for|till|until|on|at|back|off|please)\b))",
    re.IGNORECASE,
)


def _noun_meant(text: str, kind: str) -> re.Match[str] | None:
    """Return "the reminder" that a deed is done to, where a thing of that kind was shown."""
    match = _THE_ONE.search(text) if _first_word(text) in _DEEDS else None
    if match is None or not _is_object(text[: match.start()]):
        return None
    return (
        match if match["noun"].lower() == ("file" if kind == "FilePath" else kind.removesuffix("Id").lower()) else None
    )


def _replied_to_it(text: str) -> str:
    """Return "reply that Friday is fine" as "reply to it that Friday is fine"."""
    reply = _REPLIES.match(text)
    if reply is None:
        return text
    said = text[reply.end() :]
    return f"{reply[0].rstrip()} to it{'' if re.match(r':|that|saying|with', said, re.IGNORECASE) else ':'} {said}"


def _place(nth: re.Match[str], n: int) -> int | None:
    """Return which of `n` records "the second one" is, from 0 or, for the last, from -1; None where there is none."""
    place = int(nth["number"]) - 1 if nth["number"] else PLACES[nth["word"].lower()]
    return place if nth["number"] != "0" and -n <= place < n else None


def _named_so(text: str, match: re.Match[str], noun: str, tools: Mapping[str, ToolSpec]) -> str:
    """Return what was said with the noun of the record in the place of "it" or "the second one"."""
    before, after = text[: match.start()], text[match.end() :]
    if _BARE.fullmatch(before) and not after.strip(" .!?"):
        # No more than "the second one" was said: who picks a thing wants to see it.
        before, after = "read " if f"read_{noun}" in tools else "show ", ""
    return f"{before}the {noun}{after}"


_Shown: TypeAlias = tuple[list[Mapping[str, Plain]], str, str]
"""Records of an answer, the type of their id and the field that holds it."""


def _picked(utterance: Utterance, last: Episode, tools: Mapping[str, ToolSpec]) -> Reading:
    """Pick a record of the last answer, by its place or as the only one."""
    text = utterance.text
    shown = _shown(last, tools, text)
    match = _it_meant(text) or _noun_meant(text, shown[1] if shown is not None else "")
    if shown is not None and shown[1] == "MailId" and len(shown[0]) == 1 and _REPLIES.match(text) is not None:
        text = _replied_to_it(text)
        match = _IT.search(text)
    if match is not None and (shown is None or shown[1] not in _taken(tools)):
        thing = _talked_of(last)
        return Reading(f"{text[: match.start()]}{thing}{text[match.end() :]}" if thing else text)
    return _picked_of(utterance.saying(text), shown, match, tools) if shown is not None else Reading(text)


def _picked_of(
    utterance: Utterance, shown: _Shown, match: re.Match[str] | None, tools: Mapping[str, ToolSpec]
) -> Reading:
    """Pick one of the records that were shown: by "the second one", or the only one by the word that means it."""
    text, (records, kind, field) = utterance.text, shown
    if (nth := _NTH.search(text)) is not None and _QUALIFIED.match(text, nth.end()):
        return Reading(text)  # "the latest mail from Ida" is another one
    place = _place(nth, len(records)) if nth is not None else 0 if len(records) == 1 else None
    match = nth or match
    if place is None or match is None:
        return Reading(text)
    noun = "file" if kind == "FilePath" else kind.removesuffix("Id").lower()
    said = _named_so(text, match, noun, tools)
    said = on_its_day(utterance.saying(said), records[place])
    id = records[place].get(field)
    return Reading(said, (Record(kind, id, f"the {noun}"),)) if isinstance(id, str) else Reading(text)


_SETTING = frozenset(listed("turn switch dim lower raise"))
_BEFORE_IT = frozenset(listed("to back on off up down for with from about all again also maybe"))
_REPLIES = re.compile(
    r"\s*(?:(?:please|ok|okay|and|now|then|can\s+you|could\s+you)[\s,]+)*(?:reply|answer|respond|write\s+back|email\s+back)\b"
    r"(?=\s*(?::|that\b|saying\b|with\b|yes\b|no\b))\s*",
    re.IGNORECASE,
)
"""An answer to the mail that was read, which it does not name: "reply that 1 pm is great"."""
_SUBJECT = re.compile(
    r"\s*(?:when|where|what|how\s+\w+)(?:['’]s|\s+is|\s+are)\s+(?P<thing>(?:the|my|our)\s+[^?]{2,60}?)\s*[?.!]*",
    re.IGNORECASE,
)


def _taken(tools: Mapping[str, ToolSpec]) -> set[str]:
    """Return the types of records that changing tools take."""
    return {p.type for spec in tools.values() if spec.effect != "none" for p in spec.parameters}


def _talked_of(last: Episode) -> str:
    """Return what "it" is where no record was shown: the device that was set, or what was asked about."""
    if last.plan is not None and isinstance(device := last.plan.steps[-1].arguments.get("device"), str):
        return device if device.lower().startswith(("the ", "my ")) else f"the {device}"
    asked = _SUBJECT.fullmatch(last.request.text)
    return asked["thing"] if asked is not None else ""


def _first_word(text: str) -> str:
    words = re.findall(r"[^\W\d_]+", text.lower())
    return next((word for word in words if word not in _POLITE), "")


def _is_object(before: str) -> bool:
    """Return whether a pronoun after these words is what their one verb is about."""
    words = [word for word in re.findall(r"[^\W\d_]+", before.lower()) if word not in _POLITE]
    return all(word in _BEFORE_IT for word in words[1:])


def _shown(last: Episode, tools: Mapping[str, ToolSpec], text: str = "") -> _Shown | None:
    """Return the records of the last step that gave any; of lists shown side by side, those of the kind that `text`
    names, else the first."""
    if last.plan is None:
        return None
    shown = list(_lists_shown(last, tools))
    if is_side_by_side(last):
        shown.reverse()
        nouns = [one[1].removesuffix("Id").lower() for one in shown]
        words = set(re.findall(r"[^\W\d_]+", text.lower()))
        shown = [one for noun, one in zip(nouns, shown) if {noun, f"{noun}s"} & words] or shown
    return shown[0] if shown else None


def _lists_shown(last: Episode, tools: Mapping[str, ToolSpec]) -> Iterator[_Shown]:
    """Yield the records of each step that gave any, the last first, with the type of their id and its field."""
    assert last.plan is not None
    for result in reversed(last.results):
        spec = tools.get(last.plan.steps[result.step].tool)
        if result.status != "done" or spec is None:
            continue
        values = result.value if isinstance(result.value, list) else [result.value]
        records: list[Mapping[str, Plain]] = [value for value in values if isinstance(value, dict)]
        fields = spec.fields.items()  # any id but its own could stand in for other words of the plan
        field = next((n for n, kind in fields if kind == "FilePath" or (n == "id" and kind.endswith("Id"))), "")
        if records and field:
            yield records, spec.fields[field], field


_POLITELY = (
    r"\s*(?:(?:please|pls|ok|okay|yes|yep|good|great|perfect|fine|and|now|then|so|just|actually|oh|right|alright|can\s+you|could\s+you|"
    r"you\s+can)[\s,.!]+)*"
)
_LOOKS_AT = re.compile(
    r"\s*(?:(?:what|who|whom|whose|where|when|which|how|is|are|was|does|do)\b.*"
    r"|(?:(?:show|tell|give|read|open)(?:\s+me)?(?:\s+(?:about|more\s+(?:about|of)))?\s+)?the\s+(?:event|reminder|note|contact))"
    r"\s*[?.!]*\s*",
    re.IGNORECASE | re.DOTALL,
)
"""Asks about a record, or only names it."""


def shown_again(request: Request, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan to show the record that was picked, where a request only names it or asks something of it; None where what
    was found takes the record itself, or no tool finds one of its kind by its id."""
    record = next((one for one in request.records if one.kind in _FOUND_BY_ID), None)
    if record is None or _LOOKS_AT.fullmatch(request.text) is None:
        return None
    if isinstance(found, Plan) and (
        not only_reads(found, tools)
        or any(p.type == record.kind for s in found.steps for p in tools[s.tool].parameters)
    ):
        return None
    for name, spec in tools.items():
        is_finder = spec.effect == "none" and spec.returns.startswith("list[") and spec.parameter("query") is not None
        if is_finder and spec.fields.get("id") == record.kind and record.kind in _FOUND_BY_ID:
            step = Step(name, {"query": f"{BY_ID}{record.id}"}, text=request.text)
            return Plan((step,), confidence=1.0, planner="memory")
    return None


_FOUND_BY_ID = frozenset({"EventId", "ReminderId", "NoteId", "ContactId"})


_DONE_TO_IT = re.compile(
    rf"{_POLITELY}(?P<verb>[a-z]+)\s+the\s+(?P<noun>[a-z]+)(?:\s+(?:off|out|now|then|please|as\s+(?:it\s+)?is))*\s*[.!?]*\s*",
    re.IGNORECASE,
)


def done_to_record(request: Request, found: Plan | Refusal, tools: Mapping[str, ToolSpec]) -> Plan | None:
    """Plan what is said to be done to the record that was picked, where nothing was found for it: "send it" after a
    draft. None where no tool of that verb takes such a record and no more."""
    said = _DONE_TO_IT.fullmatch(request.text)
    is_several = len(request.records) > 1
    if said is None or isinstance(found, Plan) or (found.kind != "out_of_scope" and not is_several):
        return None
    steps: list[Step] = []
    for record in request.records:
        for name, spec in tools.items() if record.words.lower() == f"the {said['noun'].lower()}" else ():
            needed = [one for one in spec.parameters if one.is_required]
            takes_it = [one.type for one in needed] == [record.kind]
            if takes_it and spec.effect != "none" and name.partition("_")[0] == said["verb"].lower():
                steps.append(Step(name, {needed[0].name: record.id}, text=request.text))
                break
    return Plan(tuple(steps), confidence=1.0, planner="memory") if steps else None


_SEND_ALL = re.compile(
    rf"{_POLITELY}(?:send|post|fire)\s+(?:off\s+)?(?:them(?:\s+(?:all|both|two))?|both(?:\s+of\s+them|\s+(?:mails|emails|drafts))?"
    r"|all(?:\s+(?:of\s+them|(?:the\s+)?(?:mails|emails|drafts)))?|those|the\s+(?:two\s+|three\s+)?(?:mails|emails|drafts))"
    r"(?:\s+(?:off|out|now|then|please|as\s+they\s+are))*\s*[.!?]*\s*",
    re.IGNORECASE,
)


def _drafts_meant(
    text: str, recent: Sequence[Episode], now: dt.datetime, tools: Mapping[str, ToolSpec]
) -> tuple[Record, ...]:
    """Return the drafts of which "send them" speaks: those made one after another, none of which was sent; none where
    they are fewer than two."""
    if _SEND_ALL.fullmatch(text) is None:
        return ()
    ids: list[str] = []
    for episode in recent:
        if episode.plan is None or not dt.timedelta() <= now - episode.request.now <= WITHIN:
            break
        done = [(tools.get(episode.plan.steps[r.step].tool), r.value) for r in episode.results if r.status == "done"]
        made = [
            value.get("id")
            for spec, value in done
            if spec is not None and _makes_a_draft(spec) and isinstance(value, dict)
        ]
        if not made or any(spec is not None and spec.effect == "send" for spec, _ in done):
            break
        ids = [*(one for one in made if isinstance(one, str)), *ids]
    return tuple(Record(_DRAFT, id, "the drafts") for id in dict.fromkeys(ids)) if len(ids) > 1 else ()


_DRAFT = "DraftId"


def _makes_a_draft(spec: ToolSpec) -> bool:
    return spec.effect == "change" and spec.fields.get("id") == _DRAFT


def with_records(plan: Plan, records: Sequence[Record], tools: Mapping[str, ToolSpec]) -> Plan:
    """Put what was pointed at wherever the plan takes its id, or says the name that it was picked for; searches that
    nothing needs any more are dropped."""
    if not records:
        return plan
    steps = []
    for step in plan.steps:
        kinds = {p.name: p.type for p in tools[step.tool].parameters}
        new = dict(step.arguments)
        for record in records:
            put = {name: _in_its_place(value, record) for name, value in new.items() if _takes(kinds[name], record)}
            is_put = any(new[name] == one.id for name in put for one in records)
            if all(put[name] == new[name] for name in put) and not record.is_name and not is_put:
                put = {name: record.id for name in put if kinds[name] == record.kind}
            new |= put
        steps.append(replace(step, arguments=new))
    return _pruned(replace(plan, steps=tuple(steps)), plan, tools)


def _takes(kind: str, record: Record) -> bool:
    return kind in (record.kind, f"list[{record.kind}]")


def _in_its_place(value: Argument, record: Record) -> Argument:
    """Return an argument with the record in the place of the words that stand for it."""
    if isinstance(value, list):
        return [_in_its_place(item, record) for item in value]
    return record.id if isinstance(value, str) and value.casefold() == record.words.casefold() else value


def _pruned(plan: Plan, before: Plan, tools: Mapping[str, ToolSpec]) -> Plan:
    """Drop reading steps that served another one before and serve none now."""
    served = {ref.step for step in before.steps for ref in step.refs()}
    gone: set[int] = set()
    while True:
        by_data = {ref.step for k, step in enumerate(plan.steps) if k not in gone for ref in step.refs()}
        idle = {k for k in served - by_data - gone if tools[plan.steps[k].tool].effect == "none"}
        if not idle:
            break
        gone |= idle
    place = {k: n for n, k in enumerate(k for k in range(len(plan.steps)) if k not in gone)}
    steps = tuple(
        replace(
            step,
            arguments={
                name: with_refs(value, lambda ref: Ref(place[ref.step], ref.path))
                for name, value in step.arguments.items()
            },
            after=tuple(place[k] for k in step.after if k in place),
        )
        for k, step in enumerate(plan.steps)
        if k not in gone
    )
    return replace(plan, steps=steps)
