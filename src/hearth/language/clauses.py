"""Cuts a request into its clauses, and gives several things the verb that they share."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hearth.language.tokens import Clause, Slot, Token, listed, tokens
from hearth.types import Argument, Plan

# ── Clauses ───────────────────────────────────────────────────────────────────────────────────────────────
# Cuts a request into the parts that each ask for one thing, shows its form without its values, and what it forbids.
#
# A cut stands at the end of a sentence or line, and where a connecting word is followed by something that can begin a
# request: "… and email it to Ben", "…, then call her", "… and also what is on Monday". Never inside a slot, never in
# a list of nouns ("milk, eggs and bread"), and not in what the owner wants to be reminded of or said to others
# ("remind me to buy milk and call Anna" is one), unless a time ends it. Words are not parsed: a clause whose verb is
# missing from the tables is joined to the one before.
#
# Demonstrations teach what to do, and "don't add milk to the list" is most similar to adding milk. So a request that
# begins by forbidding is answered with nothing done; and a text that a plan writes begins with the denial that stands
# before it in the request ("tell Tom not to come" writes "not to come"). Covered: English, at the beginning of a
# request, after polite words. Not covered: a clause that forbids after another that asks ("add bread and don't add
# milk"), "I'd rather you didn't".

VERBS = frozenset(
    listed(
        "add remind send show find search tell give create make delete remove cancel move reschedule reply forward "
        "read open write save attach convert calculate compute remember forget play turn switch start stop pause "
        "resume rename append put check get pick buy pay postpone complete finish invite ask let notify inform confirm "
        "accept decline summarize summarise translate download upload share print draft clear mute wake look see "
        "compare count sort organize organise arrange archive restore undo explain describe analyze analyse detect "
        "generate edit resize crop extract classify transcribe identify recommend suggest provide apply use take bring "
        "pull ensure keep avoid lock unlock dim close ring dial phone unsubscribe subscribe block rate enroll register "
        "report replace split merge track fetch retrieve estimate define prepare fill sign visit clean wash water feed "
        "shift push jot erase scrap strike shut ditch chuck toss knock snooze mute pause dim raise lower"
    )
)
"""Words that begin a request and are hardly ever nouns in a list."""
_NOUN_VERBS = frozenset(
    listed(
        "call text mail email e-mail message note set book order list plan schedule name copy post log record time "
        "test change update review cook answer schedule mark file reserve watch view cut paint date question tag "
        "back match map search stream scan photograph address label drop pencil tick bin stick pop kill cross"
    )
)
"""Words that begin a request when an object follows and are nouns otherwise: "and book a table", "milk and a book"."""
_QUESTIONS = frozenset(listed("what what's whats whos who who's when where which how why whose"))
_AUXILIARIES = frozenset(listed("is are do does did can could will would should was were have has am"))
_SUBJECTS = frozenset(listed("i you it there the my we he she they this that any anyone anything your our me"))
_OBJECTS = frozenset(
    listed(
        "a an the my your his her our their its this that these those it them him me us everyone everybody all any "
        "some up out down off back another one two three what who whether if"
    )
)
DETERMINERS = frozenset(listed("the a an my our your his her their its this that these those"))
"""Words before a thing's name."""
STATES = frozenset(listed("on off up down out open shut closed locked unlocked"))
"""Words that say what a thing is to be, or is, without a verb."""
_JOINING = frozenset(listed("and & , but plus"))
_STRONG = frozenset(listed("then also afterwards afterward finally lastly additionally"))
_STRONG_OR_AFTER = _STRONG | {"after"}
_ASIDES = tuple(
    tuple(phrase.split())
    for phrase in (
        "oh", "separately", "by the way", "while you're at it", "while you are at it", "while i'm at it", "besides",
        "in addition", "on top of that", "one more thing", "secondly", "second", "third", "thirdly",
    )
)  # fmt: skip
"""Phrases that, after a connecting word, always introduce a new request."""
_WISHES = frozenset(
    listed(
        "timer timers reminder reminders alarm alarms event events appointment appointments meeting meetings note "
        "notes mail mails email emails message messages entry countdown list birthdays tasks"
    )
)
"""Nouns that ask without a verb: "a timer for 30 minutes, a reminder tomorrow at 10 and any mail from Ben"."""
_NOT_THEN = frozenset(listed("since until by back from till before even just if"))
_TELLING = frozenset(listed("tell ask inform let notify"))
_WRITING = frozenset(listed("text message write email mail note remember say reply answer"))
_BREAKS_CONTENT = frozenset(
    listed(
        "remind schedule show find search set create what what's who when where how list read tell add delete cancel"
    )
)
_OPENERS = frozenset(
    listed("if when after before once as while on in at unless because since until by for during every")
)
_LONGEST_LISTED = 20
_SHORTENED = frozenset(listed("mr mrs ms dr prof st no nr vs approx e.g i.e etc tel jan feb mar apr jun jul aug sep "
                              "sept oct nov dec mon tue wed thu fri sat sun inc ltd co"))  # fmt: skip
_ENDS = frozenset(".!?;")


def clauses(text: str, slots: Sequence[Slot]) -> tuple[Clause, ...]:
    """Cut a request into clauses, in order; together they hold every slot.

    Args:
        text: The request.
        slots: What `find_slots` found in it.
    """
    said = tokens(text)
    in_slot = _in_slots(said, slots)
    cuts = _cuts(text, said, in_slot)
    found: list[Clause] = []
    starts = [slot.start for slot in slots]
    begin = 0
    for end, following in [*cuts, (len(said), len(said))]:
        first, last = begin, end
        while last > first and said[last - 1].low in ",;.!" and in_slot[last - 1] is None:
            last -= 1
        if last > first:
            start, stop = said[first].start, said[last - 1].end
            inside = tuple(slots[bisect_right(starts, start - 1) : bisect_right(starts, stop - 1)])
            found.append(Clause(start, stop, text[start:stop], inside))
        begin = following
    return tuple(found)


def _in_slots(said: Sequence[Token], slots: Sequence[Slot]) -> list[Slot | None]:
    """Return, for each token, the slot it lies in."""
    result: list[Slot | None] = []
    index = 0
    for token in said:
        while index < len(slots) and slots[index].end <= token.start:
            index += 1
        is_in = index < len(slots) and slots[index].start < token.end
        result.append(slots[index] if is_in else None)
    return result


def _cuts(text: str, said: Sequence[Token], in_slot: Sequence[Slot | None]) -> list[tuple[int, int]]:
    """Find where clauses end and where the next ones begin, as token indices."""
    cuts: list[tuple[int, int]] = []
    begin = index = 0
    has_request = is_content = False
    while index < len(said):
        cut = _end_of_sentence(text, said, in_slot, (begin, index))
        low = said[index].low
        if cut is None and in_slot[index] is None and (low in _JOINING or low in _STRONG or low == "after"):
            cut = _joint(said, in_slot, (begin, index), has_request=has_request, is_content=is_content)
        if cut is None or cut[0] <= begin:
            has_request = has_request or _is_request(said, in_slot, index)
            is_content = is_content or _begins_content(said, in_slot, begin, index)
            index += 1
            continue
        cuts.append(cut)
        begin = index = max(cut[1], index + 1) if cut[1] == cut[0] else cut[1]
        begin = cut[1]
        index = max(index, begin)
        has_request = is_content = False
    return cuts


def _end_of_sentence(
    text: str, said: Sequence[Token], in_slot: Sequence[Slot | None], places: tuple[int, int]
) -> tuple[int, int] | None:
    """Find a cut at a new line, at the dot of a slot or at a mark that ends a sentence."""
    begin, index = places
    if (
        index > begin
        and _is_new_line(text, said, index)
        and not _inside(in_slot, index)
        and not _goes_on(text, said, index)
    ):
        return index, index if in_slot[index] is not None else _past_bullet(said, index)
    if index > begin and _ends_with_dot(text, said, in_slot, index):
        return index, past_joining(said, index)
    is_mark = in_slot[index] is None and said[index].low in _ENDS
    if is_mark and (index == 0 or said[index - 1].low not in _ENDS):
        return _sentence_end(text, said, index)
    return None


def _is_new_line(text: str, said: Sequence[Token], index: int) -> bool:
    return index > 0 and text.find("\n", said[index - 1].end, said[index].start) >= 0


def _goes_on(text: str, said: Sequence[Token], index: int) -> bool:
    """Return whether a line only names one more thing for the one before: "turn off the lamp", and below it "and the
    heater"."""
    if said[index].low not in _JOINING or index + 1 >= len(said) or said[index + 1].low not in DETERMINERS:
        return False
    stop = next((k for k in range(index + 1, len(said)) if _is_new_line(text, said, k)), len(said))
    return stop - index - 2 <= _LONGEST_LISTED and not any(t.low in VERBS | STATES for t in said[index + 1 : stop])


def _inside(in_slot: Sequence[Slot | None], index: int) -> bool:
    """Return whether the token continues the slot of the token before it."""
    return in_slot[index] is not None and in_slot[index] is in_slot[index - 1]


def _ends_with_dot(text: str, said: Sequence[Token], in_slot: Sequence[Slot | None], index: int) -> bool:
    """Return whether a sentence ended in the dot of "8 p.m."."""
    before = in_slot[index - 1]
    if before is None or in_slot[index] is before or not before.text.endswith("."):
        return False
    return before.end == said[index - 1].end and text[said[index].start].isupper()


def _begins_content(said: Sequence[Token], in_slot: Sequence[Slot | None], begin: int, index: int) -> bool:
    """Return whether content begins here: a message to others, or what the owner wants to be reminded of."""
    low = said[index].low
    if in_slot[index] is not None:
        return False
    if low in ("remind", "saying", "says"):
        return True
    if low not in ("that", "to", "if", "whether", ":"):
        return False
    for place in range(index - 1, max(begin, index - 8) - 1, -1):
        word = said[place].low
        if word in _TELLING:
            return said[place + 1].low not in ("me", "us")
        if word in _WRITING and in_slot[place] is None:
            return low in ("that", ":", "whether", "if") or (low == "to" and word == "remember")
    return False


def _past_bullet(said: Sequence[Token], index: int) -> int:
    if said[index].low in "-*•–" and index + 1 < len(said):
        return index + 1
    if said[index].low.isdecimal() and index + 2 < len(said) and said[index + 1].low in ".)":
        return index + 2
    return index


def _sentence_end(text: str, said: Sequence[Token], index: int) -> tuple[int, int] | None:
    """Find the cut at a full stop, question mark … before white space; the dot of an abbreviation does not count."""
    after = index + 1
    while after < len(said) and said[after].low in ".!?;":
        after += 1
    end = said[after - 1].end
    if after >= len(said) or not text[end : end + 1].isspace():
        return None
    if said[index].low == "." and index and (said[index - 1].low in _SHORTENED or len(said[index - 1].low) == 1):
        return None
    return after, past_joining(said, after)


def past_joining(said: Sequence[Token], index: int) -> int:
    """Return the index after the connecting words that begin a clause: "and then", "also", "after that,"."""
    start = index
    while index < len(said) and index - start < 9:
        low = said[index].low
        pair = (low, said[index + 1].low if index + 1 < len(said) else "")
        aside = _aside(said, index) if index > start else 0
        if aside:
            index += aside
        elif pair in (("after", "that"), ("after", "this"), ("after", "which"), ("as", "well")):
            index += 2
        elif low in _JOINING or low in _STRONG:
            index += 1
        else:
            break
    return index if index < len(said) else start


def _aside(said: Sequence[Token], index: int) -> int:
    """Return how many tokens an aside takes at a place: four for "while you're at it"."""
    for words in _ASIDES:
        if said[index].low == words[0] and tuple(token.low for token in said[index : index + len(words)]) == words:
            return len(words)
    return 0


def _joint(
    said: Sequence[Token],
    in_slot: Sequence[Slot | None],
    places: tuple[int, int],
    *,
    has_request: bool,
    is_content: bool,
) -> tuple[int, int] | None:
    """Find a cut at connecting words when what follows can begin a request."""
    begin, index = places
    if not has_request and said[index].low not in (",", "and", "plus"):
        return None
    after = _past_connectors(said, in_slot, index)
    if after == index:
        return None
    connectors = {token.low for token in said[index:after]}
    if _joins_no_clauses(said, begin, index, connectors) or _ends_in_time(said, in_slot, index, after):
        return None
    has_aside = any(_aside(said, place) for place in range(index, after))
    is_strong = bool(connectors & _STRONG_OR_AFTER) or has_aside
    place = _past_manner(said, after)
    if place >= len(said):
        return None
    is_listed = _is_listed_time(in_slot, begin, index, place)
    if not (has_request or has_aside or is_listed):
        return None
    is_verb = in_slot[place] is None and _begins_request(said, in_slot, place, is_strong)
    is_sure = is_strong or "plus" in connectors
    if not (is_listed or is_verb or _is_wish(said, in_slot, (begin, index, place), is_sure)):
        return None
    if is_content and not is_strong and not _breaks_content(said, in_slot, index, place):
        return None if not _tells_another(said, in_slot, (begin, index, place)) else (index, after)
    return index, after


def _past_connectors(said: Sequence[Token], in_slot: Sequence[Slot | None], index: int) -> int:
    """Return the index after the connecting words; `index` itself where there are none, or a value holds one."""
    after = past_joining(said, index)
    return index if any(slot is not None for slot in in_slot[index:after]) else after


def _past_manner(said: Sequence[Token], place: int) -> int:
    """Return the index after "please", "just" …"""
    while place < len(said) and said[place].low in ("please", "just", "kindly", "maybe"):
        place += 1
    return place


def _joins_no_clauses(said: Sequence[Token], begin: int, index: int, connectors: set[str]) -> bool:
    """Return whether connecting words belong inside a clause: "when and where is it", "since then", "on Monday, …"."""
    if index == begin + 1 and said[begin].low in _QUESTIONS:
        return True
    if said[index].low == "then" and index and said[index - 1].low in _NOT_THEN:
        return True
    return connectors == {","} and said[begin].low in _OPENERS


def _ends_in_time(said: Sequence[Token], in_slot: Sequence[Slot | None], index: int, place: int) -> bool:
    """Return whether "then" and a time end the request, which is its own: "lunch on the saturday then at 1"."""
    while place < len(said) and in_slot[place] is None and said[place].low in ("at", "on", "from", "around", "about"):
        place += 1
    slot = in_slot[place] if place < len(said) else None
    if said[index].low != "then" or slot is None or slot.kind != "time":
        return False
    return all(in_slot[k] is slot or said[k].low in _ENDS for k in range(place, len(said)))


def _breaks_content(said: Sequence[Token], in_slot: Sequence[Slot | None], index: int, place: int) -> bool:
    """Return whether what is said to others ends here: before certain verbs, and after a time."""
    if said[place].low in _BREAKS_CONTENT or _is_for_list(said, place):
        return True
    slot = in_slot[index - 1]
    return slot is not None and slot.kind == "time"


def _tells_another(said: Sequence[Token], in_slot: Sequence[Slot | None], places: tuple[int, int, int]) -> bool:
    """Return whether somebody else is told here, who is named: "tell Ida that it fits and ask Ben if he comes". Where
    the first is told to do something, that may be to ask them: "tell Ida to come and ask Ben"."""
    begin, index, place = places
    slot = in_slot[place + 1] if place + 1 < len(said) else None
    if said[place].low not in _TELLING | _WRITING or slot is None or slot.kind != "person":
        return False
    opener = next((k for k in range(begin, index) if _begins_content(said, in_slot, begin, k)), None)
    told = {one.text.lower() for one in in_slot[begin:index] if one is not None and one.kind == "person"}
    return opener is not None and said[opener].low in ("that", ":") and slot.text.lower() not in told


def _is_for_list(said: Sequence[Token], place: int) -> bool:
    """Return whether what follows says on or off which list something goes: "and put lemons on the shopping list"."""
    if said[place].low not in ("put", "add", "take", "remove", "get"):
        return False
    words = [token.low for token in said[place : place + _LONGEST_LISTED]]
    if "list" not in words:
        return False
    before = words[: words.index("list")]
    return bool({"on", "onto", "to", "off", "from"} & set(before[1:])) and "and" not in before[-3:]


def _is_wish(
    said: Sequence[Token], in_slot: Sequence[Slot | None], places: tuple[int, int, int], is_sure: bool
) -> bool:
    """Return whether a noun alone asks for something, as in the clause before it or after a strong connector."""
    begin, index, place = places
    slot, before = in_slot[place], in_slot[index - 1]
    if slot is not None:
        while place < len(said) and in_slot[place] is slot:
            place += 1
        return slot.kind == "duration" and place < len(said) and said[place].low in ("timer", "countdown")
    articles = ("a", "an", "any", "another", *(("my", "the") if is_sure else ()))
    if said[place].low not in articles or not any(
        token.low in _WISHES for token in said[place + 1 : place + (2 if is_sure else 3)]
    ):
        return said[place].low == "another" and is_sure
    is_after_time = before is not None and before.kind == "time"
    return is_sure or is_after_time or any(token.low in _WISHES for token in said[max(begin, index - 20) : index])


def _is_listed_time(in_slot: Sequence[Slot | None], begin: int, index: int, place: int) -> bool:
    """Return whether both places begin with their time: "Wednesday 6 pm choir, Thursday 7 pm quiz"."""
    first, slot = in_slot[begin], in_slot[place]
    if first is None or slot is None or in_slot[index - 1] is not None:
        return False
    return all(one.kind == "time" and one.is_timed and one.views.get("time") is not None for one in (first, slot))


def _begins_request(said: Sequence[Token], in_slot: Sequence[Slot | None], place: int, is_strong: bool) -> bool:
    low = said[place].low
    following = said[place + 1].low if place + 1 < len(said) else ""
    if low in ("phone", "email", "mail") and _is_detail(said, in_slot, place):
        return False
    if low in VERBS:
        return True
    if low in _NOUN_VERBS:
        has_object = place + 1 < len(in_slot) and in_slot[place + 1] is not None
        return has_object or following in _OBJECTS or (is_strong and following not in ("", ",", ".", "and"))
    if low in _QUESTIONS:
        return following != "" and following not in ".,;!?"
    if low in _AUXILIARIES:
        slot = in_slot[place + 1] if place + 1 < len(in_slot) else None
        is_of_person = slot is not None and slot.kind in ("person", "unknown_person") and low != "am"
        return following in _SUBJECTS or is_of_person or (slot is not None and is_strong)
    return is_strong and low in ("i", "i'd", "i'll", "let's", "we", "don't", "in", "on", "at")


def _is_request(said: Sequence[Token], in_slot: Sequence[Slot | None], index: int) -> bool:
    """Return whether a word shows that the clause so far already asks for something."""
    low = said[index].low
    if low in _WISHES and index and said[index - 1].low in ("a", "an", "any", "another"):
        return in_slot[index] is None
    return in_slot[index] is None and (
        low in VERBS or low in _NOUN_VERBS or low in _QUESTIONS or low in _AUXILIARIES or low in ("i", "i'd", "i'm")
    )


def _is_detail(said: Sequence[Token], in_slot: Sequence[Slot | None], place: int) -> bool:
    """Return whether a noun such as "email" names a contact's detail: "a contact for Ben with email ben@x.de and phone
    030 1234567" asks for no call.
    """
    slot = in_slot[place + 1] if place + 1 < len(in_slot) else None
    is_value = slot is not None and slot.kind in ("phone", "email")
    return is_value and any(token.low in ("with", "contact", "contacts") for token in said[max(0, place - 16) : place])


# ── What is forbidden ─────────────────────────────────────────────────────────────────────────────────


_NOT = r"(?:do\s+not|don['’]?t|dont|never)"
_POLITE = r"(?:please|pls|plz|hey|hi|hearth|ok|okay|so|no|um|uh|oh|well|actually|just|now|and|but|sorry|right)"
_FORBIDS = re.compile(
    rf"^\W*(?:{_POLITE}\b\W*)*(?:{_NOT}(?:\s+(?:ever|you\s+dare))?"
    rf"|(?:there['’]?s\s+|there\s+is\s+)?no\s+need\s+to|you\s+(?:need\s+not|{_NOT}\s+(?:need|have)\s+to)"
    rf"|i\s+{_NOT}\s+want\s+you\s+to)\s+(?P<verb>[a-z]+)",
    re.IGNORECASE,
)
_ASKS_ALL_THE_SAME = frozenset(
    re.findall(r"\w+", "let forget miss worry mind hesitate need have want know think like care understand see mean")
)
"""Verbs after which "don't" forbids nothing that could be done: "don't let me forget", "don't worry"."""
_NO_LONGER = re.compile(r"\b(?:any\s?more|any\s+longer|again)\b", re.IGNORECASE)
"""Matches words that ask to end something that exists; such a request has to be planned."""
_BEFORE = re.compile(r"\b(?:not\s+to|never\s+to|do\s+not|don['’]?t|dont|not|never)\s+$", re.IGNORECASE)
_TEXTS = frozenset(("text", "title", "subject", "body", "message"))
"""Names of parameters that take text to be written."""


def forbids(text: str) -> bool:
    """Return whether a request asks that something be left undone, as far as the beginning tells."""
    found = _FORBIDS.match(text)
    if found is None or _NO_LONGER.search(text):
        return False
    return found["verb"].lower() not in _ASKS_ALL_THE_SAME


def with_denials(plan: Plan, text: str) -> Plan:
    """Return the plan with each text it writes preceded by the denial that stands before that text in the request."""
    low = text.lower()

    def whole(name: str, value: Argument) -> Argument:
        if name not in _TEXTS or not isinstance(value, str) or low.count(value.lower()) != 1:
            return value
        denial = _BEFORE.search(text[: low.index(value.lower())])
        return f"{denial[0].strip()} {value}" if denial else value

    steps = [replace(s, arguments={n: whole(n, v) for n, v in s.arguments.items()}) for s in plan.steps]
    return replace(plan, steps=tuple(steps))


# ── Shared verbs ──────────────────────────────────────────────────────────────────────────────────────────
# Finds several things in a row that one verb is said of, and says it of each: "turn off the lamp and the heater" is
# "turn off the lamp. turn off the heater".
#
# Covered: a row right behind the verb that an act begins with ("lock the front door and the side gate", "dim the
# lamp, the spots and the shelf to 20"); a row that an act begins with, before a state ("kitchen light and telly
# off"); a question for the state of a thing and of one behind it ("is the back door locked and the garage"). Not
# covered: rows behind other words ("the note about the car and the bike" is one note, "remind me to feed the cat and
# the dog" one reminder), acts that except something, "the front and back door", names that the owner knows with an
# "and" in them, things with a value in them, other languages than English. Whether both are one all the same ("the
# black and the white lamp"), words alone do not tell: whoever asks plans it both ways.

_PARTICLES = frozenset(listed("on off up down out"))
_ASKING = frozenset(listed("is are was were"))
_POLITE_WORDS = frozenset(
    listed("please can could would will you kindly hey hi hello ok okay now just and then also so pls")
)
"""Words before the verb with which an act still begins with it."""
_NO_THINGS = frozenset(
    listed(
        "of to at in for with onto into about from by as is are was were be been will would should could can has have "
        "had do does did i you we he she it they them him me us no so if please pls then also too what who when where "
        "how why there here now just today tomorrow tonight oh ok okay once since while until both all"
    )
)
_EXCEPTING = frozenset(
    listed("but except excepting not never without other apart instead stop either or don't dont than")
)
"""Words that say of one of the things what is not said of the others."""
_LEADS_ON = frozenset(listed("to at in on for by"))
"""Words behind a row after which one value, or one more name, goes for all of it."""
_VALUES = frozenset(listed("time duration number quantity unit expression email phone url file quoted"))
_MOST_WORDS, _MOST_THINGS, _LONGEST = 4, 6, 500
"""Words of a thing's name; things in a row; characters of the act said of each."""


@dataclass(frozen=True, slots=True)
class SharedVerb:
    """Things in a row that one verb is said of."""

    things: tuple[str, ...]
    text: str
    """The whole text, with what is said of all said of each."""
    is_state_behind: bool
    """Whether what is said of them stands behind the last alone: "kitchen light and telly off"."""


def shared_verbs(
    text: str, said: Sequence[Token], acts: Sequence[Clause], mentions: Sequence[Slot]
) -> Iterator[SharedVerb]:
    """Yield the rows of things of a request, one for each act that has one.

    Args:
        said: The request's words.
        acts: Its parts that each ask for one thing.
        mentions: Its typed values, and all that is said in it that the context knows.
    """
    for act in acts:
        inside = said[bisect_left(said, act.start, key=_start) : bisect_left(said, act.end, key=_start)]
        row = _Row.in_act(inside, [slot for slot in mentions if act.start <= slot.start < act.end], text)
        if row is None:
            continue
        places = [(row.said[first].start, row.said[last - 1].end) for first, last in row.things]
        before = text[act.start : places[0][0]]
        behind = text[places[0][1] : row.said[row.behind].end] if row.behind else text[places[-1][1] : act.end]
        things = tuple(text[first:last] for first, last in places)
        of_each = ". ".join(f"{before}{thing}{behind}".strip() for thing in things)
        if len(things) <= _MOST_THINGS and len(of_each) <= _LONGEST:
            yield SharedVerb(things, text[: act.start] + of_each + text[act.end :], is_state_behind=not before.strip())


@dataclass(frozen=True, slots=True)
class _Row:
    said: Sequence[Token]
    things: list[tuple[int, int]]
    """First word of each and the one after its last."""
    behind: int = 0
    """Place of the state between the first thing and the other; 0 where there is none."""

    @classmethod
    def in_act(cls, said: Sequence[Token], mentions: Sequence[Slot], text: str) -> _Row | None:
        """Return the row of an act; None where it has none, or several things are known by one name."""
        if len(said) < 3 or any(token.low in _EXCEPTING for token in said):
            return None
        values = [slot for slot in mentions if slot.kind in _VALUES]
        valued = {k for k, token in enumerate(said) if any(s.start < token.end and token.start < s.end for s in values)}
        start = next((k for k, token in enumerate(said) if token.low not in _POLITE_WORDS), 0)
        if said[start].low in _ASKING:
            return cls._asked(said, start + 1, valued, text)
        row = cls._ordered(said, start, valued, text)
        joints = [said[first - 1].start for first, _ in row.things[1:]] if row is not None else []
        return None if any(slot.start < joint < slot.end for slot in mentions for joint in joints) else row

    @classmethod
    def _ordered(cls, said: Sequence[Token], start: int, valued: set[int], text: str) -> _Row | None:
        """Return the row behind the verb that stands at a word, or of what stands there before a state."""
        is_verb = said[start].low in VERBS
        if is_verb:
            start += 1 + (said[min(start + 1, len(said) - 1)].low in _PARTICLES)
        things = _things_from(said, start, valued, text)
        if len(things) < 2 or not _is_plain(said, things):
            return None
        end = things[-1][1]
        has_state = end < len(said) and said[end].low in STATES
        return cls(said, things) if (is_verb or has_state) and _is_all(said, end + has_state, valued) else None

    @classmethod
    def _asked(cls, said: Sequence[Token], start: int, valued: set[int], text: str) -> _Row | None:
        """Return the thing at a word whose state is asked for, and the one behind that state."""
        things = _things_from(said, start, valued, text)
        if len(things) != 1 or not _is_asked_again(said, things[0][1], valued, text):
            return None
        end = things[0][1]
        return cls(said, [things[0], (end + 2, len(said))], end)


def _things_from(said: Sequence[Token], start: int, valued: set[int], text: str) -> list[tuple[int, int]]:
    """Return the things in a row that begins at a word; of the last comma on, only what a joining word follows."""
    found: list[tuple[int, int]] = []
    n_joined = 0
    while start < len(said):
        first = start + (said[start].low in DETERMINERS)
        stop = first
        while stop < len(said) and _is_naming(said, stop, valued, text):
            stop += 1
        if not 0 < _n_words(said[first:stop]) <= _MOST_WORDS:
            break
        found.append((start, stop))
        is_joined = _joins(said, stop, text)
        if is_joined:
            n_joined = len(found) + 1
        elif stop == len(said) or said[stop].low != ",":
            break
        start = stop + 1 + (not is_joined and _joins(said, stop + 1, text))
        n_joined = len(found) + 1 if start == stop + 2 else n_joined
    return found[: max(n_joined, 1)]


def _is_asked_again(said: Sequence[Token], end: int, valued: set[int], text: str) -> bool:
    """Return whether behind a thing there is its state, and then one more thing and nothing else."""
    if end + 2 >= len(said) or said[end].low not in STATES or not _joins(said, end + 1, text):
        return False
    others = _things_from(said, end + 2, valued, text)
    return len(others) == 1 and others[0][1] == len(said)


def _is_all(said: Sequence[Token], end: int, valued: set[int]) -> bool:
    """Return whether behind a row no more is said than goes for all of it: a state, one value, a place."""
    rest = [k for k in range(end, len(said)) if said[k].low not in ("please", "pls", "too", "now")]
    if not rest:
        return True
    others = [k for k in rest if k not in valued]
    is_led = said[rest[0]].low in _LEADS_ON or rest[0] in valued
    names_more = any(not said[k].low[0].isalnum() or said[k].low in {*VERBS, "and", "n", "plus"} for k in others)
    return is_led and not names_more and len(others) <= _MOST_WORDS


def _is_plain(said: Sequence[Token], things: Sequence[tuple[int, int]]) -> bool:
    """Return whether each is named by itself: not "the front and back door", where the first has the only article."""
    articles = [said[first].low in DETERMINERS for first, _ in things]
    return all(articles) or not articles[0]


def _joins(said: Sequence[Token], place: int, text: str) -> bool:
    """Return whether a word joins what stands before it and behind: not in "B&B"."""
    if not 0 < place < len(said) - 1 or said[place].low not in ("and", "n", "&", "plus"):
        return False
    return text[said[place].start - 1].isspace() and text[said[place].end].isspace()


def _is_naming(said: Sequence[Token], place: int, valued: set[int], text: str) -> bool:
    low = said[place].low
    if low in ("-", "'s") and place:  # "brother-in-law", "Ann's"
        return said[place].start == said[place - 1].end and (low != "-" or not text[said[place].end :][:1].isspace())
    if place and said[place - 1].low == "-" and low[0].isalpha():
        return place not in valued
    is_word = low[0].isalpha() and low not in ("and", "n", "plus")
    return is_word and place not in valued and low not in VERBS | STATES | _NO_THINGS | DETERMINERS


def _n_words(said: Sequence[Token]) -> int:
    """Return how many words there are, what hyphens hold together as one."""
    words = sum(token.low[0].isalpha() for token in said)
    return words - sum(token.low == "-" for token in said)


def _start(token: Token) -> int:
    return token.start
