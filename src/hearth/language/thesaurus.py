"""Words that mean the same, and the word that a misspelt one was to be."""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

# ── Thesaurus ─────────────────────────────────────────────────────────────────────────────────────────────
# Maps owners' everyday words to concepts: a small English thesaurus of actions and things.
#
# `concepts` maps the words of a request to a few dozen concepts (`do:delete`, `thing:mail`), so that requests which
# ask for the same thing in other words are alike. Concepts carry no meaning of their own: which tool one points to is
# learned from demonstrations and tool texts. Not covered: languages other than English, and words not listed, which
# add no concept.

ACTIONS = {
    "delete": "delete remove erase scrap drop bin trash discard dump ditch wipe lose toss shred|get rid of|throw out|"
    "throw away|throw … away|throw … out|take … off|take … out|take off|cross … off|cross off|strike … off|strike|"
    "kick out|can go|no longer need|not needed|don't need|dont need|do not need|off the|off my|off it|"
    "forget about|never mind|stop reminding|clear out|clean out|get … off|scratch … off|scratch",
    "cancel": "cancel|call off|call … off|not going|won't go|not coming|can't make|skip|take … out of|bow out",
    "finish": "complete tick finish done finished completed closed handled|check off|check … off|tick off|tick … off|"
    "mark … done|mark … as|mark as|dealt with|taken care of|as done|to done|as read|to read|to done|already|"
    "took care of|crossed … off",
    "move": "move reschedule shift postpone delay snooze rearrange|push … back|push back|push|put … off|put off|"
    "bring forward|bring … forward|change the time|another time|instead|is now|moved to|now on|move … to|"
    "should come|earlier|later",
    "add": "add put enter insert register include|jot in|stick … on|pop … on|throw … on|new|more|need",
    "make": "create make start set build begin open|set up|new",
    "arrange": "schedule book arrange organise organize plan block invite reserve hold|pencil in|pencil … in|set up|"
    "fit … in|put … in|put in|save the date",
    "find": "find show list display get search locate give see pull|look for|look up|look … up|search for|pull up|"
    "bring up|let me see|tell me|give me|show me|dig up|dig out|do i have|do we have|have i got|is there|are there|"
    "was there|anything|any|go through|fetch|check|run through|hunt down",
    "read": "read open view|read out|read … out|out loud|aloud|what does|say|says|in full|contents of|content of|"
    "show me the contents|whole text|go over",
    "tell": "tell email mail write inform notify message contact invite ask|let … know|drop … line|drop … note|"
    "drop … email|drop … mail|write to|get in touch|reach out|shoot … email|send … email|send … mail|send … message|"
    "by mail|by email|via email|via mail|mail to|email to|e-mail",
    "draft": "draft compose prepare write|write … mail|write … email|write up",
    "send": "send shoot dispatch|send it|send them|send that|send off|fire off|straight away|right away|shoot over|"
    "get … over to|sent",
    "reply": "reply answer respond|write back|get back to|a reply|an answer|in response|mail back",
    "forward": "forward relay share|pass … on|pass on|send … on|send on|forward on|on to",
    "copy": "copy duplicate clone|back up|back … up|make a copy|second copy|copy of|spare copy",
    "rename": "rename|change the name|call it|new name|name it",
    "change": "change update correct edit amend alter adjust modify fix use|set … to|has a new|have a new|"
    "from now on|new address|new number|new email|new phone|has moved|is now|not … any more|no longer",
    "note": "note jot scribble record log|write down|write … down|put down|note down|jot down|write … into|"
    "take a note|make a note|for the record",
    "append": "append extend|add … to the note|another line|add … to my note|write … into|put … into|add to|"
    "at the end of|more to",
    "remember": "remember memorise memorize|keep in mind|bear in mind|don't forget|do not forget|dont forget|"
    "future reference|should know|you know that|make a mental note|store the fact",
    "recall": "recall|did i tell|did i say|did i mention|did we|have i told|told you|what do you know|"
    "do you remember|you remember|remind me what|what do you remember|where did i|what did i|said about|talk about",
    "remind": "remind ping nudge alert prompt wake alarm|don't let me forget|do not let me forget|make sure i|"
    "get me up|wake me|give me a nudge|heads up",
    "convert": "convert|turn … into|in … to|how many … in|how many … are|how many … is|how much is … in|"
    "equal to|expressed in|what is … in|what's … in|to … from",
    "calculate": "calculate compute multiply divide subtract sum|work out|add up|how much is|divided by|"
    "multiplied by|times|plus|minus|percent of|square root|total of|figure out",
    "time": "time|count down|countdown|let me know when",
    "save": "save store keep|write … to|file away|put … in|put … into|hold on to",
    "buy": "buy order purchase shop pay|order me|get me|pick me up|sign me up|subscribe|online",
    "book_travel": "flight flights hotel taxi cab train ticket tickets restaurant table seats hostel airbnb uber ride "
    "rental cruise airline|book me|rent|check in",
    "play": "play listen watch stream pause skip shuffle|put on some|turn up|turn it up|turn down|turn the volume|"
    "volume|next song",
    "switch": "turn switch dim brighten lock unlock vacuum heat cool raise lower|turn on|turn off|turn … on|"
    "turn … off|switch on|switch off|set the … to",
    "call": "dial ring phone facetime skype whatsapp text sms|video call|call|give … a call|phone up|make it ring",
    "pay": "pay transfer wire withdraw deposit|send … euros|send … dollars|send … money",
    "travel": "drive navigate walk route directions traffic distance map|how do i get|how far|take me|way to",
    "explain": "explain translate define spell recommend suggest advise summarise summarize|what does … mean|who was|"
    "who is the|who won|what is the capital|why|how do|how does|should i|tell me a|tell me about|write me|sing|"
    "in english|into|meaning of",
    "post": "post tweet upload publish instagram facebook twitter tiktok like|post … on|share … on",
    "install": "install download update upgrade print scan restart reboot charge",
    "apply": "apply submit claim sue|file a|sign up|enrol|enroll|vote|register for",
}  # fmt: skip

THINGS = {
    "reminder": "reminder reminders alarm alarms remind reminded reminding",
    "event": "event events appointment appointments meeting meetings calendar agenda diary plans lunch dinner "
    "breakfast brunch class lesson course concert interview coffee party wedding rehearsal session conference "
    "workshop visit "
    "training match game schedule entry date|on today|on tomorrow|coming up|my day|my week|my schedule|day off|"
    "going on|happening|busy|am i doing|take place|what's on|whats on|plans|did i have on",
    "free_time": "free gap gaps available availability slot slots|time for|have time|free time|work for me|spare|"
    "am i free|i'm free|fit in",
    "contact": "contact contacts phonebook|address book|phone number|telephone number|email address|number|address|"
    "reach|details|live|lives|company|works for|work for|who do i know|i know|phone",
    "birthday": "birthday birthdays|year older|turns|born|anniversary",
    "mail": "mail mails email emails e-mail e-mails message messages inbox mailbox newsletter unread|write to me|"
    "written to me|answered|sent me|wrote me|hear from|heard from|write back|post box",
    "draft": "draft drafts|unsent",
    "note": "note notes noted notebook jotted memo|write down|wrote down|written down|jot down|written about",
    "list": "list lists groceries shopping grocery checklist|to-do|to do list|out of|to buy|todo|run out",
    "file": "file files document documents folder pdf picture pictures photo photos image images video videos audio "
    "recording recordings spreadsheet spreadsheets letter contract manual scan report minutes documentation text "
    "certificate invoice speech recipe|text file|warranty|form|cv|plan",
    "image": "picture pictures photo photos image images snapshot screenshot photograph photographs",
    "video": "video videos clip clips film footage movie movies",
    "audio": "audio recording recordings voice memo sound mp3 song",
    "spreadsheet": "spreadsheet spreadsheets table sheet excel",
    "timer": "timer timers countdown stopwatch|count down|is up",
    "clock": "clock weekday|what time|time is it|the time|local time|what day|which day|date today|today's date|"
    "the date|got the time|day of the week",
    "until": "until till countdown|how many days|how many weeks|how many months|days left|how far away|how long|"
    "weeks to go|days to go|how soon|left until|away is",
    "unit": "metres meters kilometres kilometers miles feet inches centimetres centimeters grams kilograms kg ounces "
    "pounds litres liters cups gallons celsius fahrenheit minutes hours seconds degrees kilos tons pints yards mm cm "
    "km ml tablespoons teaspoons stone knots|unit|units",
    "sum": "square root percent percentage sum product|divided by|multiplied by|plus|minus|times|% of|percent of",
    "memory": "remember recall memory|keep in mind|told you|tell you|talked about|i said|did i say|"
    "future reference|you know about|i mention|mentioned",
    "attachment": "attach attached attachment attachments|attached to|with it attached",
    "next": "next|coming up next|upcoming|soonest|first thing",
    "last": "last latest newest recent|most recent",
    "texting": "sms whatsapp telegram messenger slack imessage dm signal|text message|a text|group chat",
    "music": "music song songs jazz album artist playlist podcast radio band tune spotify track",
    "home": "light lights lamp lamps heating heater radiator thermostat fan door doors lock window windows vacuum "
    "robot oven dishwasher fridge tv television telly blinds shutters curtains gate scene devices|"
    "coffee machine|front door",
    "room": "bedroom kitchen hallway hall garden basement cellar attic nursery porch terrace driveway garage bathroom|"
    "living room|dining room|front door|back door|at home",
    "seen": "anybody anyone somebody someone everybody camera footage visitors|who was|who came|who is in|who has been|"
    "who's been|was doing|were doing|doing at|doing in|came in|come in|came into|come into|was in the|was at the|"
    "been in the|happened in|went on in|happened at|going on in|how long was|how often did",
    "weather": "weather rain snow sunny forecast temperature umbrella|degrees outside",
    "news": "news headlines score scores stock stocks share election match|share price|opening hours",
    "money": "money bank account balance euros dollars bill bills savings card loan tax|credit card|bank account|rent",
    "shop": "flight hotel taxi restaurant table cinema movie pizza ticket tickets kettle shoes amazon delivery order "
    "seats takeaway car laptop",
    "chat": "joke poem story thanks hello hi assistant yourself great love|good night|how are you|who are you|"
    "your name|do you like",
    "place": "route traffic directions restaurant nearest near map station airport gym hospital|from here|nearby",
    "social": "facebook instagram twitter tiktok whatsapp photo video followers likes selfie youtube",
    "health": "headache doctor medicine dangerous ibuprofen pain symptoms calories diet sick",
}  # fmt: skip

QUESTIONS = frozenset(
    [
        "what",
        "what's",
        "whats",
        "which",
        "where",
        "where's",
        "when",
        "when's",
        "who",
        "who's",
        "whos",
        "whose",
        "how",
        "how's",
        "why",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "have",
        "has",
        "am",
        "can't",
        "any",
        "anything",
        "got",
        "will",
        "would",
        "should",
    ]
)
POLITE = frozenset(
    [
        "please",
        "pls",
        "could",
        "can",
        "would",
        "will",
        "you",
        "i",
        "i'd",
        "like",
        "want",
        "to",
        "need",
        "hey",
        "hi",
        "hello",
        "ok",
        "okay",
        "so",
        "and",
        "also",
        "then",
        "now",
        "just",
        "well",
        "kindly",
        "let's",
        "lets",
        "let",
        "me",
        "us",
        "be",
        "sure",
        "by",
        "the",
        "way",
        "good",
        "morning",
        "evening",
        ",",
        ".",
        "!",
        "hearth",
    ]
)

MARKS = ("?", ":", "that", "about", "from", "saying")
"""Words that say nothing themselves but show what a request is made of: a message, a topic, a sender."""


def _table(
    entries: dict[str, str], prefix: str
) -> tuple[dict[str, list[str]], dict[str, list[tuple[tuple[str, ...], str]]]]:
    """Split a table into its single words and its phrases (by first word)."""
    single: dict[str, list[str]] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for name, text in entries.items():
        plain, *rest = text.split("|")
        for word in plain.split():
            single.setdefault(word, []).append(prefix + name)
        for phrase in rest:
            words = tuple(phrase.split())
            if len(words) == 1:
                single.setdefault(words[0], []).append(prefix + name)
            else:
                phrases.setdefault(words[0], []).append((words[1:], prefix + name))
    return single, phrases


def _inflected(entries: dict[str, list[str]]) -> dict[str, list[str]]:
    """Add the regular forms of each verb (`delete`: deletes, deleted, deleting)."""
    result = {word: list(names) for word, names in entries.items()}
    for word, names in entries.items():
        stem = word[:-1] if word.endswith("e") else word
        doubled = stem + stem[-1] if len(stem) < 5 and stem[-1] in "pgtnb" and stem[-2] in "aeiou" else stem
        for form in (word + "s", stem + "ed", stem + "ing", doubled + "ed", doubled + "ing"):
            result.setdefault(form, list(names))
    return result


_DO_WORDS, _DO_PHRASES = _table(ACTIONS, "do:")
_DO_WORDS = _inflected(_DO_WORDS)
_THING_WORDS, _THING_PHRASES = _table(THINGS, "thing:")
KNOWN_WORDS = frozenset({*_DO_WORDS, *_THING_WORDS, *QUESTIONS, *POLITE})
"""Words that are common in requests: a capital does not make a name of them."""
_TELLING = frozenset({*_DO_WORDS, *_DO_PHRASES, *_THING_WORDS, *_THING_PHRASES})
"""Words that are a concept or begin the phrase of one."""
_GAP = "…"
_MAX_GAP = 6


def concepts(words: Sequence[str]) -> set[str]:
    """Return the concepts of a request.

    Args:
        words: Its tokens in lower case, each typed value as `<kind>`.

    Returns:
        `do:…` and `thing:…` for what is mentioned, `lead:…` for the leading word (its first verb, or `ask`), and
        the kinds of the values in it (`has:<file>`, `has:<file>2` for two).
    """
    found: set[str] = set()
    led_by: tuple[int, set[str]] | None = None
    for place, word in enumerate(words):
        if word not in _TELLING:
            continue
        actions = set(_DO_WORDS.get(word, ())) | _matches(words, place, _DO_PHRASES)
        if word == "list" and place + 1 < len(words) and "do:find" in actions and not _is_leading(words, place):
            actions.discard("do:find")
        elif not (word == "list" and _is_leading(words, place)):
            found.update(_THING_WORDS.get(word, ()))
        found.update(_matches(words, place, _THING_PHRASES))
        found.update(actions)
        if led_by is None and actions and _is_leading(words, place):
            led_by = (place, actions)
    if led_by is not None:
        found.update("lead:" + name[3:] for name in led_by[1])
    first = next((w for w in words if w not in POLITE and not w.startswith("<")), "")
    if first in QUESTIONS or (words and words[0] in QUESTIONS):
        found.add("lead:ask")
    return found | _contents(words)


def _contents(words: Sequence[str]) -> set[str]:
    """Return the marks and the kinds of values that a request holds."""
    found = {"has:" + mark for mark in MARKS if mark in words}
    for kind in {w for w in words if w.startswith("<")}:
        found.add("has:" + kind)
        if sum(w == kind for w in words) > 1:
            found.add(f"has:{kind}2")
    return found


def _is_leading(words: Sequence[str], place: int) -> bool:
    """Return whether only polite words, prepositions and values stand before."""
    return all(w in POLITE or w.startswith("<") or w in _PREPOSITIONS for w in words[:place])


_PREPOSITIONS = frozenset(["on", "at", "in", "by", "for", "every", "from", "until", "till", "the"])


def _matches(words: Sequence[str], place: int, phrases: dict[str, list[tuple[tuple[str, ...], str]]]) -> set[str]:
    return {name for rest, name in phrases.get(words[place], ()) if _follows(words, place + 1, rest)}


def _follows(words: Sequence[str], place: int, rest: Sequence[str]) -> bool:
    for index, wanted in enumerate(rest):
        if wanted == _GAP:
            tail = rest[index + 1 :]
            return any(_follows(words, p, tail) for p in range(place + 1, min(place + 1 + _MAX_GAP, len(words))))
        if place >= len(words) or words[place] != wanted:
            return False
        place += 1
    return True


def all_concepts() -> Iterable[str]:
    """Return every name `concepts` may give, without the `has:` ones."""
    actions = [f"{kind}:{name}" for name in ACTIONS for kind in ("do", "lead")]
    return [*actions, "lead:ask", *(f"thing:{name}" for name in THINGS)]


# ── Spelling ──────────────────────────────────────────────────────────────────────────────────────────────
# Mends words typed wrongly, so that a request is read as it was meant: "remnid", "shoping", "tommorow".
#
# A word is mended when it is of no known vocabulary (common English, the words of this field, the owner's own names)
# and one known word is clearly the likeliest to have been meant: a noisy channel with a price for each slip of the
# hand and a rank for how common words are. Where nothing is clear, the word stays. Capitals inside a request, digits,
# addresses and what stands in quotation marks are never touched.
#
# Covered: the apostrophe left out behind a name; one slip in a word of four to seven letters, two in a longer one if
# a word of this field or of the owner's was meant. Not covered: right words in a wrong place ("by milk"), words glued
# together, languages other than English.
#
# Source: Kernighan, Church & Gale 1990 (a noisy channel for spelling); Damerau 1964 (four kinds of slips).

LEAST_LETTERS, MOST_LETTERS = 4, 24
_MOST_STRANGE = 200
"""Number of different unknown words of a text that are looked at."""
_TWO_SLIPS_LETTERS = 7
"""Least length of a word in which two slips are thought of."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CHUNK = re.compile(r"\S+")
_QUOTED = re.compile(r"\"[^\"]{0,500}\"|“[^”]{0,500}”")
_NO_WORD = re.compile(r"[@/\\_\d]|\.\w")
"""Matches in what holds no words of a language: addresses, paths, codes."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ENDINGS = ("'s", "s", "es", "n't", "'ll", "'re", "'ve", "'d")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SWAPPED, _MISSED, _TWICE, _ADDED, _NEIGHBOUR, _OTHER = 1.0, 1.5, 1.0, 2.2, 2.0, 3.5
"""Prices of slips: letters swapped, one missed, one typed twice, one too many, the next key, any other."""
_FIRST_LETTER = 4.5
"""Price of a slip at the first letter, where they are rare."""
_OWN_RANK = 100
"""Rank of a word of the owner's, as if it were among the commonest."""
_CLEARLY = 0.7
"""Least difference of the best word's price and the next one's."""
_DEAREST = 11.0
"""Price above which a word is taken for one that is not known rather than for a slip."""


@dataclass(frozen=True, slots=True)
class Mended:
    """A text with its words mended."""

    text: str
    typed: Mapping[str, str]
    """Mended words that are none of the owner's own, each with what was typed."""

    def as_typed(self, value: str) -> str:
        """Return words of the mended text as the owner typed them, but for the owner's own names."""
        return _WORD.sub(lambda match: self.typed.get(match[0], match[0]), value) if self.typed else value


AS_TYPED = Mended("", {})
"""Nothing was mended."""


_MOST_GLUED = 80
"""Most letters of a word that is looked at for words without spaces between them."""
_MOST_RANK = 10_000
"""Words of such a rank or a higher one are too rare to be taken for a part of it."""
_EACH_PART = 2.0
"""Price of each of those beside its rank: few long words are likelier than many short ones."""
_FAR_COMMONER = 15
"""So many times as common is the whole form of a word that others write as it is spoken, too."""


class Spelling:
    """Knows words, and what was meant by one it does not know."""

    def __init__(self, familiar: Sequence[str], common: Sequence[str]) -> None:
        """Keep the vocabulary, in lower case and the commonest first.

        Args:
            familiar: Words of this field.
            common: English words beside them.
        """
        self._familiar = frozenset(familiar)
        self._ranks = {word: rank for rank, word in enumerate((*familiar, *common), start=1)}

    @classmethod
    @functools.cache
    def shipped(cls) -> Spelling:
        """Return the words that come with Hearth; `training.word_list_make` counts them."""
        familiar, _, common = (files("hearth.data") / "words.txt").read_text().partition("\n\n")
        return cls(familiar.split(), common.split())

    def strange(self, text: str, own: Collection[str] = ()) -> frozenset[str]:
        """Return the words of a text, in lower case, that might be mended: those of no known vocabulary.

        Args:
            own: As in `mended`.
        """
        words = frozenset(own)
        said = {match[0].lower().replace("’", "'") for match in itertools.islice(_plain_words(text), _MOST_STRANGE)}
        return frozenset(w for w in said if LEAST_LETTERS <= len(w) <= MOST_LETTERS and not self._is_known(w, words))

    def mended(self, text: str, own: Collection[str] = (), people: Collection[str] = ()) -> Mended:
        """Return `text` with what is clearly mistyped mended; it stays as it is where nothing is.

        Args:
            own: The owner's words in lower case: names, lists, devices.
            people: Words of the names of people, in lower case: "gareths quote" is Gareth's.
        """
        parts: list[str] = []
        done, kept = 0, dict[str, str]()
        words = frozenset(own)
        known: dict[str, str] = {}
        for match in _plain_words(text):
            typed, low = match[0], match[0].lower().replace("’", "'")
            if low[:-1] in people and low.endswith("s") and low not in words and low not in self._ranks:
                parts += [text[done : match.start()], (said := f"{typed[:-1]}'{typed[-1]}")]
                done, kept[said] = match.end(), typed
                continue
            if typed != low and not (typed == typed.capitalize() and match.start() == 0):
                continue
            if low not in known:
                known[low] = self.meant(low, words) if len(known) < _MOST_STRANGE else low
            meant = known[low]
            if meant == low:
                continue
            said = meant.capitalize() if typed[0].isupper() else meant
            parts += [text[done : match.start()], said]
            done = match.end()
            if meant not in own:
                kept[said] = typed
        return Mended("".join([*parts, text[done:]]), kept)

    def meant(self, word: str, own: frozenset[str] = frozenset()) -> str:
        """Return the word that was meant: `word` itself when it is known, or when no other is clearly meant."""
        if self._is_clipped(word, own):
            return f"{word}g"
        if not LEAST_LETTERS <= len(word) <= MOST_LETTERS or self._is_known(word, own):
            return word
        prices = dict(self._one_slip(word, own))
        if len(word) >= _TWO_SLIPS_LETTERS:
            for other in self._familiar | own:
                price = two_slips_price(word, other) if other not in prices else math.inf
                if price < math.inf:
                    prices[other] = price + math.log(self._rank(other, own) or 1)
        ranked = sorted(prices.items(), key=lambda item: (item[1], item[0]))
        if not ranked or ranked[0][1] > _DEAREST:
            return word
        is_clear = len(ranked) == 1 or ranked[1][1] - ranked[0][1] >= _CLEARLY
        return ranked[0][0] if is_clear else word

    def parts_of(self, word: str) -> tuple[str, ...]:
        """Return the likeliest words that make up one of no known vocabulary without spaces between them: "whatson".

        Empty where it is known, too long to be looked at, or not made of known words alone.
        """
        if len(word) > _MOST_GLUED or self._is_known(word, frozenset()):
            return ()
        best: list[tuple[float, tuple[str, ...]] | None] = [(0.0, ())]
        for end in range(1, len(word) + 1):
            found = []
            for start in range(max(0, end - MOST_LETTERS), end):
                before, part = best[start], word[start:end]
                spelt = (part, f"{part[:-1]}'{part[-1]}") if len(part) > 1 or part in ("a", "i") else ()
                rank = min((self._ranks[one] for one in spelt if one in self._ranks), default=_MOST_RANK)
                if before is not None and rank < _MOST_RANK:
                    found.append((before[0] + math.log(rank) + _EACH_PART, (*before[1], part)))
            best.append(min(found, default=None))
        return best[-1][1] if best[-1] is not None else ()

    def _is_clipped(self, word: str, own: frozenset[str]) -> bool:
        """Return whether a word is written as it is spoken, without the g of its end: "lookin", but not "basin"."""
        if not word.endswith("in") or not LEAST_LETTERS < len(word) < MOST_LETTERS or word in own:
            return False
        whole, rank = self._rank(f"{word}g", own), self._rank(word, own)
        return whole is not None and (rank is None or whole * _FAR_COMMONER <= rank)

    def _is_known(self, word: str, own: frozenset[str]) -> bool:
        if self._rank(word, own) is not None:
            return True
        if any(self._rank(f"{word[:-k]}'{word[-k:]}", own) is not None for k in (1, 2)):
            return True  # "isnt"
        stems = (word.removesuffix(end) for end in _ENDINGS if word.endswith(end))
        return any(len(stem) > 2 and self._rank(stem, own) is not None for stem in stems)

    def _rank(self, word: str, own: frozenset[str]) -> int | None:
        rank = self._ranks.get(word)
        return min(rank or _OWN_RANK, _OWN_RANK) if word in own else rank

    def _one_slip(self, word: str, own: frozenset[str]) -> Iterator[tuple[str, float]]:
        best: dict[str, float] = {}
        for other, price in _slips(word):
            rank = self._rank(other, own)
            if rank is not None:
                best[other] = min(best.get(other, math.inf), price + math.log(max(rank, 1)))
        yield from best.items()


def _plain_words(text: str) -> Iterator[re.Match[str]]:
    """Find the words that are neither quoted nor part of an address, a path or a code."""
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    place = 0
    for chunk in _CHUNK.finditer(text):
        while place < len(quoted) and quoted[place][1] <= chunk.start():
            place += 1
        is_quoted = place < len(quoted) and quoted[place][0] < chunk.end()
        if not is_quoted and not _NO_WORD.search(chunk[0]):
            yield from _WORD.finditer(text, *chunk.span())


def words_in_text(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case."""
    yield from (match[0].lower().replace("’", "'") for match in _WORD.finditer(text))


def one_slip_from(word: str) -> frozenset[str]:
    """Return every text that differs from `word` by one slip of the hand."""
    return frozenset(other for other, _ in _slips(word)) - {word}


def _slips(word: str) -> Iterator[tuple[str, float]]:
    """Yield every text from which one slip of the hand makes `word`, with the price of that slip."""
    for k in range(len(word) + 1):
        before, after = word[:k], word[k:]
        at_first = _FIRST_LETTER if k == 0 else 0.0
        if len(after) > 1 and after[0] != after[1]:
            yield before + after[1] + after[0] + after[2:], _SWAPPED + at_first
        if after:
            is_twice = k > 0 and word[k - 1] == after[0]
            yield before + after[1:], (_TWICE if is_twice else _ADDED) + at_first
            near = _neighbours().get(after[0], "")
            for letter in _LETTERS:
                if letter != after[0]:
                    yield before + letter + after[1:], (_NEIGHBOUR if letter in near else _OTHER) + at_first
        for letter in _LETTERS:
            is_twice = k > 0 and word[k - 1] == letter
            yield before + letter + after, (_TWICE if is_twice else _MISSED) + at_first


def two_slips_price(word: str, other: str) -> float:
    """Return the price of two slips between words of the same first letter; infinite for more, or for none."""
    if abs(len(word) - len(other)) > 2 or word[0] != other[0]:
        return math.inf
    before = list(range(len(other) + 1))
    older: list[int] = []
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > 2:
            return math.inf
        older, before = before, row
    return 2 * _NEIGHBOUR if before[-1] == 2 else math.inf


@functools.cache
def _neighbours() -> Mapping[str, str]:
    """Return the keys beside each key."""
    found: dict[str, str] = {}
    for r, row in enumerate(_ROWS):
        for k, key in enumerate(row):
            around = [row[k - 1 : k], row[k + 1 : k + 2]]
            around += [_ROWS[o][max(k - 1, 0) : k + 2] for o in (r - 1, r + 1) if 0 <= o < len(_ROWS)]
            found[key] = "".join(around)
    return found
