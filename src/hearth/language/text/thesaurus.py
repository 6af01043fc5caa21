"""Maps owners' everyday words to concepts: a small English thesaurus of actions and things.

`concepts` maps the words of a request to a few dozen concepts (`do:delete`, `thing:mail`), so that requests which ask
for the same thing in other words are alike. Concepts carry no meaning of their own: which tool one points to is
learned from demonstrations and tool texts. Not covered: languages other than English, and words not listed, which add
no concept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
