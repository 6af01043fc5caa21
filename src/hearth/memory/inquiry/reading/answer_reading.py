"""Reads passages for the answer to a question: the words that say it, yes or no, and how likely it stands there at all.

The trained reader (`models.span_extractor`, with the adapter `READER_FILE`) reads the question and one
passage together. What it says of each passage is weighed with how the passage was found (`SIGNS`) by weights fitted on
public questions over documents that are not trained on (`data/passage_weights.json`, made by
`python -m hearth_bench.measure.memory.passage_weights`): so an answer carries the probability that it is one.

Not covered: answers that several passages give together, sums and counts (`record_answers`), other languages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hearth import patterns as re
from hearth.language.text.tokens import word_set
from hearth.memory.inquiry.money import money_in
from hearth.memory.inquiry.reading.answer_subjects import asks_who, is_pronoun, of_the_writer, who_told
from hearth.memory.inquiry.reading.value_owners import NOBODY, People, is_without, lines_of_others, worded_for
from hearth.memory.passages.passage_cutting import SENTENCE, sentence_at, unwrapped
from hearth.memory.passages.passage_store import Candidate, Passage
from hearth.memory.passages.text_tables import with_heads
from hearth.memory.search.fitted import fitted
from hearth.memory.search.terms import telling_words
from hearth.memory.search.word_forms import key_of, key_set, keys_of
from hearth.models.encoder.lora_encoder import Array
from hearth.models.span_extractor import ABSENT, NO, SPAN, YES, Answer, Form, Question, SpanReader
from hearth.tools.memory import DOUBTED

READER_FILE = "answer_reader.npz"
N_READ = 8
"""Most passages that are read for one question; some 20 ms each."""
N_BESIDE_MAILS = 2
"""Most passages of other kinds that are read beside mails alone."""
N_MOST_TOKENS = 40
SIGNS = ("bias", "margin", "span", "spread", "covered", "sentence", "unnamed", "cosine", "words", "lead")
"""What is weighed: see `_signs`."""
ORDER_SIGNS = ("words", "cosine", "covered")
"""By what passages are ordered before they are read: see `order_signs`."""
MOST_UNNAMED = 3
LEAST_SURE_YES = 0.95
"""From this probability on yes or no is said, where the reader has it of the passage and of the told sentence alone."""
_LEAVES_CHOICE = re.compile(r"\bor\b(?! not\b)", re.IGNORECASE)
_LIMITS = re.compile(
    r"\b(?:no|not|none|nobody|nothing|never|neither|nor|cannot|without|unless|except|only|hardly|instead|if|whether|but"
    r"|may|might|could|would|should|maybe|perhaps|probably|hopefully)\b|n['’]?t\b|\?",
    re.IGNORECASE,
)
"""Says that something is not so, or not wholly or surely."""
LEAST_SHARED = 0.5
"""A sentence that is told for yes or no holds more than this share of the question's words, by their beginnings."""
_FAR = 12.0
_NAME = re.compile(r"(?<!^)\b(?:[A-Z][\w'-]*|\d[\d.,]*)\b")
_YES_OR_NO = re.compile(
    r"\s*(?:is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must|isn't|aren't|doesn't"
    r"|don't|didn't|won't|hasn't|haven't)\b",
    re.IGNORECASE,
)


_NUMBERS = (
    r"\d|\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|half|none|no)\b"
)
_MONTHS = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DAYS = rf"\b{_MONTHS}\b|day\b|\d:\d\d"
_CLOCK = (
    r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\b(?:noon|midday|midnight|half|quarter|o['’ ]?clock|morning|lunch\w*"
    r"|afternoon|evening|night|dawn|dusk|sun(?:rise|set))\b|\A(?:at |from |about |around |by |till |until )?"
    r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: ?(?:to|till|until|-|–) ?\d{1,2})?\Z"
)
_NO_MONEY = r"(?!.*(?:[€£$] ?\d|\d ?(?:€|£|kr\b|euros?\b|pounds?\b|dollars?\b)))"
_ASKS_HOURS = re.compile(
    r"\s*(?:when|(?:at )?what times?|(?:un)?till? (?:when|what time)|from when|how late|what (?:are|is)|how long)\b"
    r".*\b(?:open|opens|opening|close|closes|closed|shut|shuts|hours)\b",
    re.IGNORECASE,
)
"""Asks for the hours at which something is open."""
_TIMES = (
    rf"\A(?!.*\d{{5}}){_NO_MONEY}.*(?:\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat"
    r"|sun|today|tomorrow|yesterday|noon|midnight|morning|evening|afternoon|night|spring|summer|autumn|winter|christmas"
    r"|easter|week|month|year|day|centur|after|before|when|during|while|until|since))"
)
_IN = r"\s*(?:(?:on|in|at|by|until|till|since|from|for|of|after|to) )?"
_PRICES = r"(?:did|does|do|is|are|was|were|will|would|should|can|have|has|money|rent|cost|deposit|interest|tax)\b"
_NO_MEASURE = (
    r"(?<![\d.,])\d+(?:[.,]\d+)*(?![\d.,]*\s?(?:lit\w+|l|kg|g|lbs?|oz|km|k?m|cm|mm|inch\w*|feet|ft|miles?|hours?|hrs?"
    r"|min\w*|days?|weeks?|months?|years?|people|persons?|pieces?|kwh|watts?|degrees|ml)\b|[\d.,]*\s?[%°])"
)
"""A number of nothing that is measured: a price, if it is one."""
_NEEDED = tuple(
    (re.compile(_IN + asks, re.IGNORECASE), re.compile(form, re.IGNORECASE))
    for asks, form in (
        (
            r"how much (?:did|does|do|is|are|was|were|will|would|should|could|can|money)\b"
            r"|what.*\b(?:cost|price|total|amount|fee|salary)\b|what (?:do|does|did) (?:i|we) (?:still )?owe\b",
            rf"\A(?!.*(?:{_DAYS}))(?:.*(?<![A-Za-z\d])(?!(?:19|20)\d\d(?!\d|[.,]\d)){_NO_MEASURE}|.*\bfree\b)",
        ),
        (
            rf"how much (?!{_PRICES})\w+ (?:do|does|did|is|are|have|has|had|will|would|should|can|must)\b",
            rf"\A(?!.*[€£$]).*(?:{_NUMBERS})",
        ),
        (r"how (?:much|often)\b", _NUMBERS + "|all|every|daily|week|month|year|always|never|once|twice"),
        (r"(?:what|which|how much|how high)\b.*\bpressure\b", r"\d\s?(?:bar|psi|kpa)\b"),
        (r"what(?:'s|’s|s| is| was)? .*\baddress\b", r"\A(?!.*@)"),
        (r"who(?:m|se)?\b", r"\A(?!.*@)(?=.*[^\W\d_])"),
        (r"(?:at )?what time\b", _CLOCK),
        (r"(?:when|(?:what|which) (?:date|day|time|year|month))\b", _TIMES),
    )
)
"""What the words that answer must hold, by how the question begins: forms that are worth something on questions nobody
looked at (decision 33)."""
_HEAD_NOUN = re.compile(
    r"\s*(?:what(?:'s|’s|s| is| was| are)? (?:the|my|our|his|her|their|[\w-]+['’]s) (?P<of>[\w -]+?)(?: (?:of|for|from"
    r"|in|at|on) (?P<rest>.*))?|what (?:did|does|has) (?:the|my|our) (?P<who>\w+) (?:say|said|write|written|want"
    r"|think)\b.*|(?:what|which) (?P<kind>\w+) (?:do|does|did|is|was|will|has|have)\b.*)[\s?.!]*",
    re.IGNORECASE,
)
_WHOSE = re.compile(r"\s*what(?:'s|’s|s| is| was)? (?P<whose>[^\W\d_]+)['’]s ", re.IGNORECASE)
_KIND_OF_CODE = re.compile(
    r"\s*what(?:'s|’s|s| is| was) (?:the|my|our|his|her|their|[\w-]+['’]s) (?P<kind>(?:[\w-]+ ){1,3})?"
    r"(?P<what>number|code|pin|password|reference|iban)\b(?: (?:of|for|to) (?P<of>[^?.!]+))?",
    re.IGNORECASE,
)
_PLACE = re.compile(r" (?:in|at|on|near|from|until|since|after|before) ", re.IGNORECASE)
_SECRET = {
    "pin": re.compile(r"\b(?:pins?|passcode|code)\b", re.IGNORECASE),
    "password": re.compile(r"\b(?:pass\w+|pw|pwd|pins?|code|key)\b|:|/", re.IGNORECASE),
    "iban": re.compile(r"\biban\b|\b[A-Z]{2}\d{2}", re.IGNORECASE),
}
"""What must stand beside a secret: one that nothing calls so is some other number."""
_UNSAID = word_set(
    """amount cost day date fee name number price rent size sum time total value colour color kind sort"""
)
"""Nouns that what they name need not stand beside."""
_LEAST_MEANT = 0.4
"""The chance of a name that a pronoun may stand for: it is told, and with doubt."""
_WHEN = re.compile(r"\s*(?:by |until |till |from )?when\b", re.IGNORECASE)
LACKING = 0.4
"""What is left of the probability of an answer from a record that does not name what is asked for."""
ON_A_CARD = key_set(
    "phone number mobile cell email mail address birthday born birth date day year old age turn live work "
    "company employer firm organisation job street city town postcode zip reach call ring contact card details "
    "name full first last surname who whose note home when"
)
"""What a card of an address book tells of somebody."""
_DEED = re.compile(
    r"\s*(?:what|which)(?: \w+){0,3}? (?:would|did|does|do|can|could|should|will|has|have|had)\b"
    r"(?!.*\b(?:date|day|dates|deadline|time|times|month|year|week|when)\b)",
    re.IGNORECASE,
)
"""Asks what somebody does, likes or chose: no mere date answers that."""
_DEED_DONE = re.compile(
    r"\s*(?:and |so |ok |but )?(?:where|what|which \w+|how) (?:do|does|should|shall|can|could|must|will|would|am|are)"
    r" (?:i|we|you|they|people|everyone|everybody) (?:(?:have|need|supposed|meant|allowed|going) to |gonna )?"
    r"(?P<deed>[^\W\d_]{3,})\b",
    re.IGNORECASE,
)
_TO_BE_THERE = key_set(
    "go going be being meet meeting have having need see seeing attend come coming get getting turn head arrive do "
    "doing know find call mean want like think say spend pay owe eat"
)
"""Deeds that the record of an event tells of by its place and its time, or that are asked of other things."""
_NAMING = frozenset({"contact", "event", "reminder"})
"""Kinds of records that say what each of their values is; prose says it in other words."""
_WHOLE_DATE = re.compile(
    rf"(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)day,? )?(?:\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTHS}\b|\b{_MONTHS} "
    r"\d{1,2}\b(?!\d))(?:,? \d{4}\b)?",
    re.IGNORECASE,
)
_CLOCK_TIME = r"(?:\d{1,2}[:.]\d\d(?: ?[ap]m\b)?|\d{1,2} ?[ap]m\b|noon\b|midday\b|midnight\b)"
_WHOLE_MOMENT = re.compile(
    rf"{_WHOLE_DATE.pattern}(?:,|,? (?:at|from)| ·)? {_CLOCK_TIME}(?: ?(?:to|until|till|-|–) ?{_CLOCK_TIME})?"
    rf"|{_CLOCK_TIME},? (?:on )?(?:the )?{_WHOLE_DATE.pattern}",
    re.IGNORECASE,
)
"""A day with its time."""
_WHOLE_HOURS = re.compile(r"\d\d:\d\d to \d\d:\d\d")
"""The hours of an event: its end alone is no answer to when it is."""
_WHOLE_RANGE = re.compile(r"[€£$]\s?\d[\d,.]*\d? ?(?:to|or|-|–) ?[€£$]?\s?\d[\d,]*(?:\.\d+)?")
_WHOLE_NUMBER = re.compile(
    r"(?<![\w.,/-])(?:\+\d{1,3}(?:[ -]?\(?\d{1,6}\)?){2,5}|0\d{2,4}(?:[ -]\d{2,6}){1,4}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})"
    r"(?![\w/:-]|[.,]\d)"
)
"""A number of several groups, as telephones and accounts have."""
_WHOLE_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s<>|]*[\w/]")
_MONEY = re.compile(
    r"\bhow much\b.*\b(?:bill|invoice|rent|fee|fare|pay|paid|cost|owe|charge|price|money)s?\b|\s*how much (?:is|are|was"
    r"|were|will|does|do|did)\b(?!.*\b(?:weigh|eat|drink|sleep|use|need|hold|fit|grow|know|rain|left|time)s?\b)"
    r"|\bwhat\b.*\b(?:price|cost|fee|rent|fare)s?\b|\s*what (?:do|does|did) (?:i|we) (?:still )?owe\b",
    re.IGNORECASE,
)
"""Asks for a sum of money: where a text has any, other numbers in it are no answer."""
_OF_ARRIVING = re.compile(
    r"\b(?:must|should|have to|has to|need to|needs to|do|supposed to) (?:i|we|he|she|they)?\b ?(?:have to |need to )?"
    r"(?:be (?:at|in|on|there|back|ready)|arrive|set off|leave)\b",
    re.IGNORECASE,
)
_HAS_MONEY = re.compile(
    r"[€£$]\s?\d|\b[A-Z]{3}\s?\d|\d\.\d\d(?![\d.])|\d\s?(?:€|£|kr|euros?|pounds?|dollars?|[A-Z]{3})(?!\w)"
)
_INSIDE = re.compile(
    r"[€£$]\0\d|\d(?:[.,:]\0|\0[.,:])\d|\w(?:[.@]\0|\0[.@])\w|\w(?:-\0|\0-)\d"
    r"|\b[^\W\d_](?:-\0|\0-)\w|\w\0\w"
)
"""Matches around a place, marked by a zero, that lies inside one word."""
_JOINED_BEFORE = re.compile(r"\w[\w-]*\Z")
_JOINED_AFTER = re.compile(r"[\w-]*\w")
_LONGEST_CODE = 64
_FULL_STOP = re.compile(r"(?:(?<=[^\W_][^\W_])|(?<=[#%)]))\.\Z")
_BREAK = re.compile(r"[.!?:][^\S\n]*\n|\n[^\S\n]*(?:[-*•·]\s|[^\W\d_][\w '’-]{0,30}:\s)|\n[^\S\n]*\n")
"""Where no answer goes on: a sentence that ends with its line, an item of a list, a line that names its value."""
N_MOST_SPANS = 300


Signs = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the reader says of one passage."""

    candidate: Candidate
    text: str
    """The words that answer; empty: it finds none."""
    start: int
    """Place of the words in `candidate.passage.read`."""
    p_yes: float
    """That the answer is yes rather than no."""
    signs: Signs
    """One number for each of `SIGNS`."""
    chance: float
    """That the passage answers the question, in [0, 1]."""
    is_strangers: bool = False
    """Whether somebody may have written the passage whom the owner has no card of."""
    is_yes: bool | None = None
    """Whether the answer is yes or no, where the reader is sure of it; None: it is not, or something else is asked."""


class AnswerReader:
    """The shipped reader of answers; opened at first use."""

    def __init__(self, cache_dir: Path | None = None) -> None:
        self.cache_dir = cache_dir
        self._reader: SpanReader | None = None

    def read(self, question: str, text: str) -> Answer:
        """Ask the question of a text, whose tables are read with the names of their columns beside each cell.

        Raises: ConfigError, MissingExtraError: The reader cannot be opened.
        """
        if self._reader is None:
            with as_file(files("hearth.data") / READER_FILE) as path:
                self._reader = SpanReader.open(path, self.cache_dir)
        form = Form("answer", (Question(question),))
        headed, places = with_heads(text)
        if headed != text:
            said = self._reader.read(form, headed).answers[0]
            if said.spans.max(initial=0) >= len(headed.rstrip()):  # else the last rows no longer fit
                return _told_of(said, places)
        return self._reader.read(form, text).answers[0]

    def rest(self) -> None:
        """Hand its memory back; the next question opens it again."""
        self._reader = None


def _told_of(said: Answer, places: NDArray[np.int32]) -> Answer:
    """Return what is said of a text as it was, by the places of its characters: words that were added are no answer."""
    first, last = places[said.spans[:, 0]], places[said.spans[:, 1] - 1]
    is_told = (first >= 0) & (last >= 0)
    spans = np.stack([first, last + 1], axis=1)[is_told]
    return replace(said, start=said.start[is_told], end=said.end[is_told], spans=spans)


def asks_deed(question: str) -> bool:
    """Return whether a question asks what somebody does, likes or chose: "what would Maisie like for her birthday"."""
    return _DEED.match(question) is not None


def deed_asked(question: str) -> str:
    """Return the deed for which a question wants a place or a thing: "park" of "where do I park for the meeting"; empty
    where it only asks for the thing itself, as "where do I go for the meeting" does."""
    found = _DEED_DONE.match(question)
    return "" if found is None or key_of(found["deed"].casefold()) in _TO_BE_THERE else found["deed"].casefold()


def asks_hours(question: str) -> bool:
    """Return whether a question asks for the hours at which something is open: "till when is the library open"."""
    return _ASKS_HOURS.match(question) is not None


def asks_yes_or_no(question: str) -> bool:
    """Return whether a question is answered by yes or no."""
    return _YES_OR_NO.match(question) is not None


def read_passages(
    question: str, candidates: Sequence[Candidate], reader: AnswerReader, people: People = NOBODY
) -> list[Reading]:
    """Read the likeliest passages, and return what they say, the likeliest answer first.

    Args:
        people: By whose names lines are told apart that say the same of several.
    """
    chosen = _chosen(ranked(question, candidates))
    most_words = max((one.words for one in chosen), default=0.0)
    readings: list[Reading] = []
    place = 0  # among the passages that say anything of what is asked for, and do not only ask it
    for one in chosen:
        share = one.words / most_words if most_words else 0.0
        readings.append(_read(worded_for(question, one.passage, people), one, reader, people, (share, place)))
        text, start = readings[-1].text, readings[-1].start
        place += bool(text) and not sentence_at(one.passage.read, start).endswith("?")
    return sorted(readings, key=lambda reading: -reading.chance)


def _chosen(likeliest: Sequence[Candidate]) -> list[Candidate]:
    """Return the passages that are read: the likeliest, and where those are all mails, the likeliest of other kinds,
    too, which no number of mails can push aside."""
    first = list(likeliest[:N_READ])
    if any(one.passage.kind != "mail" for one in first):
        return first
    return first + [one for one in likeliest[N_READ:] if one.passage.kind != "mail"][:N_BESIDE_MAILS]


def _read(question: str, one: Candidate, reader: AnswerReader, people: People, rank: tuple[float, int]) -> Reading:
    """Read one passage.

    Args:
        rank: Its words against the best found, and its place in order.
    """
    passage = one.passage
    said = reader.read(question, passage.read)
    of_others = lines_of_others(question, passage, people)
    text, start, score = _span(question, said, passage, of_others)
    if asks_yes_or_no(question):
        start = _nearest_sentence(question, passage, start)
    signs = _signs(question, one, said, (start, score), rank)
    p_yes = _p_yes(said)
    chance = chance_of(signs) if _is_near(question, passage, start) else 0.0
    chance = _left_without_noun(chance, question, passage)
    if of_others and not text:
        chance = 0.0
    # An event says when it begins, and not when one is to be there.
    if is_without(question, passage, people) or (passage.kind == "event" and _OF_ARRIVING.search(question)):
        chance *= LACKING
    if passage.kind == "contact" and _asks_beyond_card(question, passage.read):
        chance *= LACKING
    if text and asks_who(question):
        text, start, chance = _person_meant(question, passage, text, start, chance)
    is_told = asks_yes_or_no(question) and chance >= least_chance()
    is_yes = _is_surely_yes(question, passage, start, p_yes, reader) if is_told else None
    return Reading(one, text, start, p_yes, signs, chance, is_yes=is_yes)


def _p_yes(said: Answer) -> float:
    kinds = np.exp(said.kinds)
    return float(kinds[YES] / max(1e-9, kinds[YES] + kinds[NO]))


def _is_surely_yes(question: str, passage: Passage, start: int, p_yes: float, reader: AnswerReader) -> bool | None:
    """Return whether the answer is yes or no, where the told sentence alone says the same as the passage; else None.

    By the passage alone the reader is wrong in one of eight cases that it is as sure of: it goes by other lines, too. A
    sentence that affirms all words of the question need only be likelier to say yes than no.
    """
    sentence = sentence_at(passage.read, start)
    if sentence.endswith("?") or _LEAVES_CHOICE.search(question):
        return None
    is_affirmed = keys_of(question) <= keys_of(sentence) and not _LIMITS.search(f"{question} {sentence}")
    least = 1 / 2 if is_affirmed and p_yes > 1 / 2 else LEAST_SURE_YES
    if max(p_yes, 1 - p_yes) < least:
        return None
    p_alone = _p_yes(reader.read(question, f"{passage.title}\n{sentence}" if passage.title else sentence))
    sure = min(p_yes, p_alone) if p_yes > 1 / 2 else min(1 - p_yes, 1 - p_alone)
    return p_yes > 1 / 2 if sure > 1 / 2 and sure >= least else None


def _left_without_noun(chance: float, question: str, passage: Passage) -> float:
    """Return what is left of the probability of an answer where a passage names nothing like what is asked for."""
    if passage.kind == "event" and (deed := deed_asked(question)) and key_of(deed) not in keys_of(passage.read):
        chance = min(chance, DOUBTED)  # where it takes place is not where to park for it
    if not lacks_noun(question, passage.read):
        return chance
    if passage.kind in _NAMING:
        return chance * (LACKING**2 if passage.kind == "contact" else LACKING)  # a card names all that it tells
    return min(chance, DOUBTED) if _WHOSE.match(question) else chance


def _person_meant(question: str, passage: Passage, text: str, start: int, chance: float) -> tuple[str, int, float]:
    """Return who answers, where that is told, and how likely: a pronoun is who it stands for, or else its sentence."""
    who = who_told(question, passage)
    if who is not None and who.name:
        return who.name, who.start, chance if who.is_sure else min(max(chance, _LEAST_MEANT), DOUBTED)
    if who is not None or is_pronoun(text):
        place = who.start if who is not None else start
        return sentence_at(passage.read, place) or text, place, min(chance, DOUBTED)
    return of_the_writer(text, passage.read[max(0, start - 4) : start], passage), start, chance


def _is_near(question: str, passage: Passage, start: int) -> bool:
    """Return whether the sentence at `start`, which would be told for yes or no, speaks of what is asked."""
    told = f"{passage.title} {passage.person} {sentence_at(passage.read, start)}"
    return not asks_yes_or_no(question) or covered(question, told) > LEAST_SHARED


def _nearest_sentence(question: str, passage: Passage, start: int) -> int:
    """Return where the sentence begins that says most of the question's words; `start` where none says more."""
    text = unwrapped(passage.read)
    best, most = start, covered(question, sentence_at(passage.read, start))
    for found in SENTENCE.finditer(text, len(text) - len(passage.text)):
        if (share := covered(question, found.group())) > most:
            best, most = found.start() + len(found.group()) - len(found.group().lstrip()), share
    return best


def ranked(question: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Order passages by how likely they are to answer, by weights fitted on questions over pieces of homes."""
    weights = [float(fitted("passage_weights")["retrieval"][name]) for name in ORDER_SIGNS]
    scores = [
        sum(weight * sign for weight, sign in zip(weights, signs, strict=True))
        for signs in order_signs(question, candidates)
    ]
    order = sorted(range(len(candidates)), key=lambda k: (-scores[k], candidates[k].passage.number))
    return [candidates[k] for k in order]


def order_signs(question: str, candidates: Sequence[Candidate]) -> list[tuple[float, float, float]]:
    """Return by what passages are ordered (`ORDER_SIGNS`): their words against the best found, their likeness of
    meaning, the share of the question's words that they hold."""
    most = max((one.words for one in candidates), default=0.0) or 1.0
    return [(one.words / most, one.cosine, covered(question, one.passage.read)) for one in candidates]


def covered(question: str, text: str) -> float:
    """The share of the question's content words that a text holds, by their beginnings."""
    asked = keys_of(question)
    return len(asked & keys_of(text)) / max(1, len(asked))


def _span(
    question: str, said: Answer, passage: Passage, of_others: Sequence[tuple[int, int]]
) -> tuple[str, int, float]:
    """Return the likeliest run of words behind the title that can be what is asked for, its place, and its
    log-probability; nothing where there is none."""
    text = passage.read
    is_said = said.spans[:, 0] >= len(text) - len(passage.text)
    n = len(said.spans)
    if not is_said.any():
        return "", 0, -_FAR
    scores = said.start[:, None] + said.end[None, :]
    length = np.arange(n)[None, :] - np.arange(n)[:, None]
    scores = np.where((length >= 0) & (length < N_MOST_TOKENS) & is_said[:, None], scores, -np.inf)
    if passage.kind in _NAMING and _MONEY.search(question) is not None and not money_in(text):
        return "", 0, -_FAR  # the digits of an event are its times
    fitting = _Fitting.of(question, passage, of_others)
    for place in np.argsort(-scores, axis=None, kind="stable")[:N_MOST_SPANS]:
        first, last = np.unravel_index(int(place), scores.shape)
        if not np.isfinite(scores[first, last]):
            continue
        whole = fitting.whole(int(said.spans[first, 0]), int(said.spans[last, 1]))
        if whole is not None:
            start, end = whole
            if _ASKS_SEVERAL.match(question) and (rest := _MORE_ITEMS.match(text, end)) is not None:
                end = rest.end()  # "amlodipine" of "morning: amlodipine, aspirin"
            return _FULL_STOP.sub("", text[start:end].strip(" |\n")), start, float(scores[first, last])
    return "", 0, -_FAR


_ASKS_SEVERAL = re.compile(
    r"\s*(?:(?:which|what) (?!(?:is|was|does|has|this)\b)(?:\w+ )?\w{2,}[^s\W]s\b"
    r"|what (?:do|does|did|should|must) \w+ (?:still |have to )*(?:need|buy|get|order|take)\b)",
    re.IGNORECASE,
)
_MORE_ITEMS = re.compile(r"(?:[ \t]*(?:,|\+|&|\band\b)[ \t]*[^\s,+&.;|][^,+&.;|\n]{0,40})+(?=\s*(?:[.;|\n]|$))")


@dataclass(frozen=True, slots=True)
class _Fitting:
    """What words of a passage must be like to be an answer to a question."""

    question: str
    text: str
    breaks: Sequence[int]
    """Places that no answer goes across."""
    flowing: str
    """The text with its lines joined where a sentence goes on."""
    needed: re.Pattern[str] | None
    """Matches within every answer to such a question."""
    is_priced: bool
    is_note: bool
    is_event: bool
    of_others: Sequence[tuple[int, int]]
    """Lines of somebody else than who is asked for."""

    @classmethod
    def of(cls, question: str, passage: Passage, of_others: Sequence[tuple[int, int]]) -> _Fitting:
        text, flowing = passage.read, unwrapped(passage.read)
        return cls(
            question,
            text,
            breaks=[found.start() + found.group().index("\n") for found in _BREAK.finditer(flowing)],
            flowing=flowing,
            needed=_needed_by(question),
            is_priced=_MONEY.search(question) is not None and bool(money_in(text)),
            is_note=passage.kind == "note",
            is_event=passage.kind == "event",
            of_others=of_others,
        )

    def whole(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where the whole of an answer stands that these words are of; None where they can be of none."""
        end = self._within_line(start, end)
        words = self.text[start:end]
        if any(start < one < end for one in self.breaks):
            return None
        if not self._is_in_place(start, end) or not self._is_of_kind(words):
            return None
        moment = (_WHOLE_MOMENT,) if _WHEN.match(self.question) else ()
        hours = (_WHOLE_HOURS,) if self.is_event else ()
        for whole in (_WHOLE_DATE, *moment, *hours, _WHOLE_RANGE, _WHOLE_NUMBER, _WHOLE_ADDRESS):
            start, end = _widened(whole, self.text, start, end)
        if self.needed is not None and not (self.needed.search(words) and self.needed.search(self.text[start:end])):
            return None
        return start, end

    def _within_line(self, start: int, end: int) -> int:
        """No answer goes on past a line, save where a sentence does; what is jotted down has a matter on each line."""
        line_end = (self.text if self.is_note else self.flowing).find("\n", start, end)
        return line_end if line_end > start else end

    def _is_in_place(self, start: int, end: int) -> bool:
        if "|" in self.text[start:end].strip(" |"):  # an answer stands in one cell of a table
            return False
        if any(first <= start < last for first, last in self.of_others):
            return False
        return not _cuts_word(self.text, start, end)

    def _is_of_kind(self, words: str) -> bool:
        return (not self.is_priced or _HAS_MONEY.search(words) is not None) and _says_more(words, self.question)


def _needed_by(question: str) -> re.Pattern[str] | None:
    """Return what the words that answer a question must hold; None where they may be anything."""
    return next((form for asks, form in _NEEDED if asks.match(question)), None)


def _cuts_word(text: str, start: int, end: int) -> bool:
    """Return whether a span begins or ends within a number, an address or a code: "85.00" of "£285.00", "otter-42" of
    "otter-42-goose"."""
    return any(
        _INSIDE.search(text[max(0, place - 2) : place] + "\0" + text[place : place + 2]) or _is_in_code(text, place)
        for place in (start, end)
    )


def _is_in_code(text: str, place: int) -> bool:
    """Return whether a place lies at a hyphen or underscore within words that these join, some of which has a digit."""
    before, after = _JOINED_BEFORE.search(text, max(0, place - _LONGEST_CODE), place), _JOINED_AFTER.match(text, place)
    if before is None or after is None or not (before.group()[-1] in "-_" or after.group()[0] in "-_"):
        return False
    return re.search(r"\d", before.group() + after.group()) is not None


def _says_more(words: str, question: str) -> bool:
    """Return whether words say anything that the question does not: "Password" answers no question for a password."""
    said = keys_of(words)
    if not said:  # "one" of "how many buns fit on one tray"
        return not set(words.casefold().split()) <= set(question.casefold().split())
    return not said <= keys_of(question) or asks_yes_or_no(question)


def _widened(whole: re.Pattern[str], text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span that ends in a date, range or number to all of it: "Thursday" in "Thursday 17 September 2026"."""
    for found in whole.finditer(text):
        if found.start() < end <= found.end():
            return min(start, found.start()), found.end()
    return start, end


def lacks_noun(question: str, text: str) -> bool:
    """Return whether a text names nothing like what is asked for: "salary" in "what is Amund's salary"."""
    found = _HEAD_NOUN.fullmatch(question)
    if found is None:
        return False
    named = found["of"] or found["who"] or found["kind"]
    # "The name of Darren's dog" asks for a dog; other values stand without what they are called.
    words = telling_words(found["rest"] or "") if named == "name" else telling_words(named)
    words = [word for word in words if word not in _UNSAID]
    held = keys_of(text)
    return bool(words) and key_of(words[-1]) not in held


def lacks_kind(question: str, text: str) -> bool:
    """Return whether a text says nothing of the kind of number or code asked for, or of what it is for: "national
    insurance" in "what is my national insurance number" where it has an insurance's."""
    found = _KIND_OF_CODE.match(question)
    if found is None:
        return False
    secret = _SECRET.get(found["what"].casefold())
    if secret is not None and not secret.search(text):
        return True
    held = keys_of(text)
    opened = telling_words(_PLACE.split(found["of"] or "")[0])[-1:]  # the safe of "the code of the shop's safe"
    return any(key_of(word) not in held for word in [*telling_words(found["kind"] or ""), *opened])


def _asks_beyond_card(question: str, text: str) -> bool:
    """Return whether a question asks of somebody what no card tells: "what did I lend Greta"."""
    return not keys_of(question) <= keys_of(text) | ON_A_CARD


def _signs(question: str, one: Candidate, said: Answer, span: tuple[int, float], rank: tuple[float, int]) -> Signs:
    """Compute the features by which a reading is weighed.

    How much likelier an answer is than none; how sure the words are, and how spread their beginnings and ends; the
    share of the question's words in the passage and in the answer's sentence; how many of the question's names and
    numbers the passage lacks; its likeness of meaning; its words against the best found; whether it was found first.

    Args:
        span: Where the answer begins, and its log-probability.
        rank: The passage's words against the best found, and its place in order.
    """
    text, kinds = one.passage.read, said.kinds
    is_polar = asks_yes_or_no(question)
    # "Did we agree on a date" may be answered by yes or by the date.
    answers = np.logaddexp.reduce([kinds[SPAN], kinds[YES], kinds[NO]]) if is_polar else kinds[SPAN]
    held = text.casefold()
    unnamed = sum(name.casefold() not in held for name in _NAME.findall(question))
    return (
        *(1.0, float(np.clip(answers - kinds[ABSENT], -_FAR, _FAR)), max(-_FAR, span[1])),
        *(_spread(said.start) + _spread(said.end), covered(question, text)),
        *(covered(question, sentence_at(text, span[0])), float(min(MOST_UNNAMED, unnamed))),
        *(one.cosine, rank[0], float(rank[1] == 0)),
    )


def _spread(logs: Array) -> float:
    """The entropy of a distribution, from its natural logarithms."""
    return float(-(np.exp(logs) * logs).sum())


def chance_of(signs: Sequence[float]) -> float:
    """The probability that a passage answers, from its signs."""
    weights = fitted("passage_weights")["answers"]
    raw = sum(float(weights[name]) * sign for name, sign in zip(SIGNS, signs, strict=True))
    return 1 / (1 + math.exp(-max(-50.0, min(50.0, raw))))


def chance_if_first(one: Reading) -> float:
    """The probability that a reading answers, were its passage the first that says anything of what is asked for: what
    two passages say is compared by this."""
    raw = chance_of(one.signs) if one.signs else 0.0
    return min(1.0, one.chance * chance_of((*one.signs[:-1], 1.0)) / raw) if raw else one.chance


def least_chance() -> float:
    """The least probability at which an answer is given rather than "I don't know"."""
    return float(fitted("passage_weights")["least_chance"])
