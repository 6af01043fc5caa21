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
from hearth.memory.inquiry.money import WHOLE, money_in, money_text
from hearth.memory.inquiry.reading.answer_subjects import asks_who, is_pronoun, of_the_writer, who_told
from hearth.memory.inquiry.reading.value_owners import NOBODY, People, is_without, lines_of_others, worded_for
from hearth.memory.passages.passage_cutting import SENTENCE, sentence_at, unwrapped
from hearth.memory.passages.passage_store import Candidate, Passage
from hearth.memory.passages.text_tables import tables_in, with_heads
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
_HOURS = (
    r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\b\d{1,2} ?(?:to|till|until|-|–) ?\d{1,2}\b"
    r"|\b(?:noon|midnight|dusk|dawn|always|24 hours)\b"
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
_SHARE = r"\d\s?%|\bper ?cent\b|\b(?:half|halves|thirds?|quarters?|all|none)\b|\d/\d"
_NEEDED = tuple(
    (re.compile(_IN + asks, re.IGNORECASE), re.compile(form, re.IGNORECASE))
    for asks, form in (
        (
            r"how much (?:did|does|do|is|are|was|were|will|money)\b|what.*\b(?:cost|price|total|amount|fee|salary)\b"
            r"|what (?:do|does|did) (?:i|we) (?:still )?owe\b",
            rf"\A(?!.*(?:{_DAYS}))(?:.*(?<![A-Za-z\d])(?!(?:19|20)\d\d(?!\d|[.,]\d)){_NO_MEASURE}|.*\bfree\b)",
        ),
        (r"(?:what|which)\b(?=.*\brates?\b).*\b(?:interest|mortgage|loan|savings?|fixed|tax|vat)\b", _SHARE),
        (r"(?:what|which) (?:share|percentage|per ?cent|proportion)\b", _SHARE),
        (r"how many\b", rf"\A(?!.*(?:{_DAYS}))(?:.*(?:{_NUMBERS}))"),
        (
            r"how (?:high|tall|far|deep|wide|heavy)\b",
            r"\d\s?(?:m|cm|mm|km|kg|g|ft|feet|inch(?:es)?|miles?|met\w+|kilo\w*)\b|\A[\d.,]+\Z",
        ),
        (r"how long\b", r"\b(?:minute|hour|day|week|month|year|night|until|\d{4})|\d"),
        (
            rf"how much (?!{_PRICES})\w+ (?:do|does|did|is|are|have|has|had|will|would|should|can|must)\b",
            rf"\A(?!.*[€£$]).*(?:{_NUMBERS})",
        ),
        (r"how old\b", rf"\A(?!.*(?:{_DAYS}|\d{{1,2}}:))(?:.*(?:{_NUMBERS}))"),
        (r"how (?:much|often)\b", _NUMBERS + "|all|every|daily|week|month|year|always|never|once|twice"),
        (r"what(?:'s|’s|s| is| was)? .*\b(?:phone|telephone|mobile)(?: number)?\b", r"\d.*\d.*\d.*\d.*\d"),
        (
            r"what(?:'s|’s|s| is| was)? .*\b(?:number|code|pin)(?: (?:for|of|to|at|in) .*)?[\s?.!]*\Z",
            r"\A(?!.*[€£$]).*\d",
        ),
        (r"(?:what|which|how much|how high)\b.*\bpressure\b", r"\d\s?(?:bar|psi|kpa)\b"),
        (r"(?:what|which)(?:'s|’s|s| is| was)? .*\btemperature\b", r"\d\s?(?:°|degrees|c\b|f\b)|\A\d+\Z"),
        (r"what(?:'s|’s|s| is| was)? .*\be-?mail\b", r"@"),
        (r"what(?:'s|’s|s| is| was)? .*\baddress\b", r"\A(?!.*@)"),
        (r"who(?:m|se)?\b", r"\A(?!.*@)(?=.*[^\W\d_])"),
        (r"(?:at )?what time\b", _CLOCK),
        (r"(?:when|(?:what|which) (?:date|day|time|year|month))\b", _TIMES),
    )
)
"""What the words that answer must hold, by how the question begins."""
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
_PASSWORD = re.compile(r"\b(?:pass(?:word|code|phrase)s?|pwd?)\b", re.IGNORECASE)
"""Calls a value a password, in a question or a text: the name of the network beside it is none."""
_OTHER_CODE = re.compile(
    r"\b(?P<kind>sort|area|dialling|post|zip|account|phone|telephone|tel|mobile|card|vat|tax)"
    r"(?: (?:number|code|no))?[.:]? ?\Z",
    re.IGNORECASE,
)
"""Says before a number that it is of a kind that is always called so: "sort code 00-11-22"."""
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
_OF_DATE = re.compile(rf"on|the|from|to|at|of|and|\d[\d:./]*(?:st|nd|rd|th)?|{_MONTHS}|\w+day|am|pm", re.IGNORECASE)
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
_WHEN_HELD = re.compile(r"\b\w+day \d{1,2} [A-Z][a-z]+ \d{4}(?: (?:from|at) \d\d:\d\d)?(?: to \d\d:\d\d)?")
"""When an event is: no number of anything."""
_WHOLE_RANGE = re.compile(r"[€£$]\s?\d[\d,.]*\d? ?(?:to|or|-|–) ?[€£$]?\s?\d[\d,]*(?:\.\d+)?")
_WHOLE_NUMBER = re.compile(
    r"(?<![\w.,/-])(?:\+\d{1,3}(?:[ -]?\(?\d{1,6}\)?){2,5}|0\d{2,4}(?:[ -]\d{2,6}){1,4}|\(?\d{3}\)?[ -]\d{3}[ -]\d{4})"
    r"(?![\w/:-]|[.,]\d)"
)
"""A number of several groups, as telephones and accounts have."""
_WHOLE_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s<>|]*[\w/]")
_HOW_MUCH_OF = re.compile(
    rf"\s*how (?:much (?!{_PRICES})|many )(?P<of>[^\W\d_]+) (?:does|do|did|is|are|was|were|have|has|had|will"
    r"|would|should|goes?|can|must|to)\b",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"\bhow much\b.*\b(?:bill|invoice|rent|fee|fare|pay|paid|cost|owe|charge|price|money)s?\b|\s*how much (?:is|are|was"
    r"|were|will|does|do|did)\b(?!.*\b(?:weigh|eat|drink|sleep|use|need|hold|fit|grow|know|rain|left|time)s?\b)"
    r"|\bwhat\b.*\b(?:price|cost|fee|rent|fare)s?\b|\s*what (?:do|does|did) (?:i|we) (?:still )?owe\b",
    re.IGNORECASE,
)
"""Asks for a sum of money: where a text has any, other numbers in it are no answer."""
_OF_HOURS = re.compile(_HOURS, re.IGNORECASE)
_ASKS_CLOTHES = re.compile(r"\s*(?:what|which|how)\b.*\b(?:wear|worn|wearing|dress code|dressed)\b", re.IGNORECASE)
_CLOTHES = re.compile(
    r"\b(?:black|white|red|blue|green|yellow|pink|purple|orange|brown|grey|gr[ae]y|navy|smart|casual|formal|dark|dresses"
    r"|cloth\w*|shirts?|t-shirts?|trousers|jeans|shorts|skirts?|tights|suits?|tux\w*|ties?|scar(?:f|ves)|shoes|boots"
    r"|wellies|trainers|socks|gloves|hats?|caps?|coats?|jackets?|jumpers?|sweaters?|fleece|uniforms?|kits?|costumes?|gowns?"
    r"|aprons?|ribbons?|waterproofs?|overalls?|hi-?vis|helmets?|heels|pyjamas|swimsuits?)\b",
    re.IGNORECASE,
)
_OPEN = re.compile(r"\b(?:open|opens|opening|close|closes|closed|shut|shuts|hours|\w+days?)\b", re.IGNORECASE)
_ON_A_MATTER = re.compile(
    r"\b(?:decided?|agreed?|say|said|settled?|concluded?|planned) (?:about|on|regarding) (?:the |our |my )?"
    r"(?P<what>[\w'’-]+(?: [\w'’-]+)??)(?= (?:at|in|during|from|last|on)\b|[\s?.!]*\Z)",
    re.IGNORECASE,
)
"""Asks what somebody said on a matter, which the sentence that answers names."""
_TIMED = frozenset({"event", "reminder"})
_ENUMERATION = re.compile(r"(?:, (?:and )?[^,.;:!?\n|]{1,40}| and [^,.;:!?\n|]{1,40})+(?=[.;]?(?:\n|\Z))")
_AT_HOURS = re.compile(r" (?:from|at) \d\d:\d\d(?: to \d\d:\d\d)?")
_WHOLE_SAID = re.compile(
    r"\s*what\b.*\b(?:wear|worn|bring|pack)\b|\s*what\b.*\b(?:decided?|agreed?|say|said) (?:about|on)\b", re.IGNORECASE
)
"""Asks for what a few words of a sentence hardly tell."""
_OF_DUTY = re.compile(r"\b(?:due|have to|has to|need|needs|must|should|remind\w*)\b", re.IGNORECASE)
_OF_ARRIVING = re.compile(
    r"\b(?:must|should|have to|has to|need to|needs to|do|supposed to) (?:i|we|he|she|they)?\b ?(?:have to |need to )?"
    r"(?:be (?:at|in|on|there|back|ready)|arrive|set off|leave)\b",
    re.IGNORECASE,
)
_HAS_MONEY = re.compile(r"[€£$]\s?\d|\d\.\d\d(?![\d.])|\d\s?(?:€|£|kr|euros?|pounds?|dollars?|[A-Z]{3})(?!\w)")
_LEAST_ROWS = 2
"""With fewer rows there is nothing to choose."""
_BILL = re.compile(r"how much\b.*\b(?:bill|invoice|statement|receipt|order)\b", re.IGNORECASE)
_BILLED = frozenset({"bill", "invoi", "state", "recei", "order", "much", "total", "time", "last", "lates"})
"""Beginnings of words by which one's own bill is asked for, whatever it calls itself."""
_INSIDE = re.compile(
    r"[€£$]\0\d|\d(?:[.,:]\0|\0[.,:])\d|\w(?:[.@]\0|\0[.@])\w|\w(?:-\0|\0-)\d"
    r"|\b[^\W\d_](?:-\0|\0-)\w|\w\0\w"
)
"""Matches around a place, marked by a zero, that lies inside one word."""
_JOINED_BEFORE = re.compile(r"\w[\w-]*\Z")
_JOINED_AFTER = re.compile(r"[\w-]*\w")
_LONGEST_CODE = 64
_LINE = re.compile(r"[^\n]+")
_STATEMENT = re.compile(r"(?:[^.;]|[.](?=\w)|(?<=incl)[.])+")
_ALTOGETHER = re.compile(r"\b(?:all in|altogether|in total|in all|all told|total)\b", re.IGNORECASE)
_LINE_WORD = re.compile(r"[^\s|:–-][^\s|:]*")
_MOST_LABELLED = 8
"""Most words of a line that only names its value."""
_AMOUNT_BEHIND = re.compile(r"[:€£$\d]")
_OF_A_VALUE = re.compile(r"\s*(?:what|which|when|how much|how many)\b", re.IGNORECASE)
_LABEL = re.compile(
    r"(?m)^[^\S\n]*(?:[-*•·][^\S\n]+)?(?P<label>[^\W\d_][\w '’-]{1,30}):[^\S\n]+(?P<value>\S[^\n]{0,80}?)"
    rf"(?:[^\S\n]*$|(?<=\d\d)\.[^\S\n]+(?!(?i:{_MONTHS}))(?=[A-Z]))"
)
_STATED = re.compile(
    r"\b(?:the|my|our|your) (?P<label>[^\W\d_][\w '’-]{1,30}?) (?:is|are|becomes|will be|(?:rises|goes (?:up|down)"
    r"|increases|falls|drops) to|changes (?:on [^.;,\n]{3,20} )?to|(?:was|is|has been|has) changed to) "
    r"(?P<value>[^\s.,;](?:[^.,;\n]|(?<=\d),(?=\d)|(?<=\w)\.(?=\w)){0,60}?)(?= and |\.(?!\w)|,(?!\d)|[;\n]|\Z)",
    re.IGNORECASE,
)
_BESIDE = re.compile(r"\b(?P<label>[^\W\d_][\w-]{1,20}) ?[:=] ?(?P<value>[^\s,;]{3,60}?)(?=[.,;]?(?:\s|\Z))")
"""A name and its value in the midst of a line: "network is Oak pw: plum-88"."""
_SHOWN = {"phone": re.compile(r"\+?\d[\d ()/-]{6,20}\d")}
"""Words that a value need not stand beside, as its form says them."""
LABELLED = 0.85
"""The chance of a value whose line names it as the question does."""
_FULL_STOP = re.compile(r"(?:(?<=[^\W_][^\W_])|(?<=[#%)]))\.\Z")
_BREAK = re.compile(r"[.!?:][^\S\n]*\n|\n[^\S\n]*(?:[-*•·]\s|[^\W\d_][\w '’-]{0,30}:\s)|\n[^\S\n]*\n")
"""Where no answer goes on: a sentence that ends with its line, an item of a list, a line that names its value."""
_LABELLED_LINE = re.compile(
    r"(?m)^[^\S\n]*(?:[-*•·][^\S\n]+)?(?P<label>[^\W\d_](?:[\w'’.,&()/-]*[^\S\n]+){0,5}?[\w'’.,&()/-]*?)"
    r"(?::[^\S\n]+|[^\S\n]+[=–-][^\S\n]+|[^\S\n]+(?=[€£$\d]))(?P<value>\S[^\n]{0,80})$"
)
"""A line of a list that says what its value is: "Excess, pupil driving £500", "night: two of the white ones"."""
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
    chance *= _owned(question, passage, people) if text or not of_others else 0.0
    if text and _says_clothes(question, passage):
        chance = max(chance, _LEAST_MEANT)
    if passage.kind == "contact" and _asks_beyond_card(question, passage.read):
        chance *= LACKING
    elif chance < LABELLED and (value := _value_named(question, passage, of_others)) is not None:
        text, start, chance = *value, LABELLED
    if text and asks_who(question):
        text, start, chance = _person_meant(question, passage, text, start, chance)
    if _WHEN.match(question):
        text, start = _only_date(text, start)
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


def _only_date(text: str, start: int) -> tuple[str, int]:
    """Return the only date of words that say more: "3 May 2030" of "number 44, expires 3 May 2030"."""
    dates = list(_WHOLE_DATE.finditer(text))
    is_cut = len(dates) == 1 and re.search(r"\d", text[: dates[0].start()]) and not _OF_HOURS.search(text)
    return (dates[0].group(), start + dates[0].start()) if is_cut else (text, start)


def _says_clothes(question: str, passage: Passage) -> bool:
    """Return whether a passage says what to wear for what is asked, and speaks of all else that is."""
    asked = keys_of(question) - {key_of("wear"), key_of("clothes")}
    is_asked = _ASKS_CLOTHES.match(question) is not None and passage.kind not in _NAMING
    return is_asked and bool(asked) and asked <= keys_of(passage.read)


def _left_without_noun(chance: float, question: str, passage: Passage) -> float:
    """Return what is left of the probability of an answer where a passage names nothing like what is asked for."""
    if not lacks_noun(question, passage.read):
        return chance
    if passage.kind in _NAMING:
        return chance * (LACKING**2 if passage.kind == "contact" else LACKING)  # a card names all that it tells
    return min(chance, DOUBTED) if _WHOSE.match(question) else chance


def _owned(question: str, passage: Passage, people: People) -> float:
    """Return what is left of the probability of an answer where a passage is of another matter by its kind: it names
    nobody who is asked for, an event says nothing of what somebody is to do, a reminder only when to do a deed."""
    if is_without(question, passage, people):
        return LACKING
    asked, held = keys_of(question), keys_of(passage.read)
    if passage.kind == "event" and asks_deed(question) and not asked - people.known <= held | ON_A_CARD:
        return LACKING
    if passage.kind == "event" and _OF_ARRIVING.search(question):
        return LACKING  # it says when it begins, and not when one is to be there
    deed = telling_words(passage.title)[:1]
    is_when = passage.kind == "reminder" and _WHEN.match(question) is not None and _OF_DUTY.search(question) is None
    return LACKING if is_when and deed and key_of(deed[0]) not in asked else 1.0


def _person_meant(question: str, passage: Passage, text: str, start: int, chance: float) -> tuple[str, int, float]:
    """Return who answers, where that is told, and how likely: a pronoun is who it stands for, or else its sentence."""
    who = who_told(question, passage)
    if who is not None and who.name:
        likely = max(chance, LABELLED) if who.is_sure else min(max(chance, _LEAST_MEANT), DOUBTED)
        return who.name, who.start, likely
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
    likeliest = float(scores.max())
    for place in np.argsort(-scores, axis=None, kind="stable")[:N_MOST_SPANS]:
        first, last = np.unravel_index(int(place), scores.shape)
        if not np.isfinite(scores[first, last]):
            continue
        whole = fitting.whole(int(said.spans[first, 0]), int(said.spans[last, 1]))
        if whole is not None:
            start, end = _told_whole(question, passage, *whole)
            score = likeliest if fitting.is_led else float(scores[first, last])
            return _FULL_STOP.sub("", text[start:end].strip(" |\n")), start, score
    return "", 0, -_FAR


def _told_whole(question: str, passage: Passage, start: int, end: int) -> tuple[int, int]:
    """Widen words that are cut short: of opening hours and of what to wear to their sentence, of an event's day to its
    hours."""
    text = passage.read
    if _ASKS_HOURS.match(question) or _WHOLE_SAID.match(question):
        found = next((one for one in SENTENCE.finditer(unwrapped(text)) if one.start() <= start < one.end()), None)
        if found is not None and "|" not in found.group():
            blanks = len(found.group()) - len(found.group().lstrip(" \t-*•·"))
            cut = text.find("\n", start) if passage.kind == "note" else -1  # each line of a note is a matter of its own
            last = min(found.end(), cut) if cut > 0 else found.end()
            return max(found.start() + blanks, len(text) - len(passage.text)), last
    if asks_deed(question) and "," in text[start:end] and (rest := _ENUMERATION.match(text, end)) is not None:
        return start, rest.end()  # "microscope, mittens" of "microscope, mittens, a xylophone"
    if _ASKS_SEVERAL.match(question) and (rest := _MORE_ITEMS.match(text, end)) is not None:
        return start, rest.end()  # "amlodipine" of "morning: amlodipine, aspirin"
    if asks_who(question) and (name := _REST_OF_NAME.match(text, end)) is not None:
        return start, name.end()  # "Kathleen" of "Kathleen Barry"
    if passage.kind in _TIMED and re.match(r"\s*when\b", question, re.IGNORECASE):
        hours = _AT_HOURS.match(text, end)
        return start, hours.end() if hours else end
    return start, end


_ASKS_SEVERAL = re.compile(
    r"\s*(?:(?:which|what) (?!(?:is|was|does|has|this)\b)(?:\w+ )?\w{2,}[^s\W]s\b"
    r"|what (?:do|does|did|should|must) \w+ (?:still |have to )*(?:need|buy|get|order|take)\b)",
    re.IGNORECASE,
)
_MORE_ITEMS = re.compile(r"(?:[ \t]*(?:,|\+|&|\band\b)[ \t]*[^\s,+&.;|][^,+&.;|\n]{0,40})+(?=\s*(?:[.;|\n]|$))")
_REST_OF_NAME = re.compile(r"(?: [A-Z][\w'’-]+){1,2}")


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
    is_counted: bool
    """Something is counted, so that no time of an event can be meant."""
    is_of_deed: bool
    is_note: bool
    rows: Sequence[tuple[int, int]] | None
    """The rows of a table that are meant; None where none is told apart."""
    told: Sequence[tuple[int, int]] | None
    """The sentences that are meant; None where none is told apart."""
    passed_over: Sequence[tuple[int, int]]
    """Lines beside the one that is meant."""
    of_others: Sequence[tuple[int, int]]
    """Lines of somebody else than who is asked for."""

    @classmethod
    def of(cls, question: str, passage: Passage, of_others: Sequence[tuple[int, int]]) -> _Fitting:
        text, flowing = passage.read, unwrapped(passage.read)
        needed = _needed_by(question)
        is_priced = _MONEY.search(question) is not None and bool(money_in(text))
        told = _sentences_told(question, passage, is_priced=is_priced)
        is_whole = is_priced and told is not None
        return cls(
            question,
            text,
            breaks=[found.start() + found.group().index("\n") for found in _BREAK.finditer(flowing)],
            flowing=flowing,
            needed=needed,
            is_priced=is_priced,
            is_counted=passage.kind in _NAMING and _HOW_MUCH_OF.match(question) is not None,
            is_of_deed=asks_deed(question),
            is_note=passage.kind == "note",
            rows=_rows_meant(question, text),
            told=told,
            passed_over=[] if is_whole else _lines_passed_over(question, passage, _HAS_MONEY if is_priced else needed),
            of_others=of_others,
        )

    @property
    def is_led(self) -> bool:
        """Return whether words beside the answer tell it, whatever the reader says."""
        return bool(self.passed_over) or self.told is not None

    def whole(self, start: int, end: int) -> tuple[int, int] | None:
        """Return where the whole of an answer stands that these words are of; None where they can be of none."""
        end = self._within_line(start, end)
        words = self.text[start:end]
        if any(start < one < end for one in self.breaks):
            return None
        if not self._is_in_place(start, end) or not self._is_of_kind(words, start, end):
            return None
        moment = (_WHOLE_MOMENT,) if _WHEN.match(self.question) else ()
        for whole in (_WHOLE_DATE, *moment, _WHOLE_RANGE, _WHOLE_NUMBER, _WHOLE_ADDRESS):
            start, end = _widened(whole, self.text, start, end)
        if self.needed is not None and not (self.needed.search(words) and self.needed.search(self.text[start:end])):
            return None
        return start, end

    def _within_line(self, start: int, end: int) -> int:
        """What is jotted down has a matter on each line, and no number goes on in the next."""
        line_end = (self.text if self.is_note else self.flowing).find("\n", start, end)
        is_lined = self.is_note or self.needed is not None or "|" in _line_at(self.text, start)
        return line_end if is_lined and line_end > 0 else end

    def _is_in_place(self, start: int, end: int) -> bool:
        if "|" in self.text[start:end].strip(" |"):  # an answer stands in one cell of a table
            return False
        if self.rows is not None and "|" in _line_at(self.text, start) and not _is_in(self.rows, start):
            return False
        if self.told is not None and not _is_in(self.told, start):
            return False
        if _is_in(self.passed_over, start) or _is_in(self.of_others, start):
            return False
        return not _cuts_word(self.text, start, end)

    def _is_of_kind(self, words: str, start: int, end: int) -> bool:
        if self.is_counted and any(start < one.end() and one.start() < end for one in _WHEN_HELD.finditer(self.text)):
            return False
        if (self.is_of_deed and _is_mere_date(words)) or _is_of_other_kind(self.question, self.text, start):
            return False
        return (not self.is_priced or _HAS_MONEY.search(words) is not None) and _says_more(words, self.question)


def _needed_by(question: str) -> re.Pattern[str] | None:
    """Return what the words that answer a question must hold; None where they may be anything."""
    return next((form for asks, form in _NEEDED if asks.match(question)), None)


def _is_in(stretches: Sequence[tuple[int, int]], place: int) -> bool:
    return any(first <= place < last for first, last in stretches)


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


def _is_mere_date(words: str) -> bool:
    return all(_OF_DATE.fullmatch(word) for word in re.split(r"[\s,–-]+", words) if word)


def _line_at(text: str, place: int) -> str:
    return text[text.rfind("\n", 0, place) + 1 :].partition("\n")[0]


def _value_named(question: str, passage: Passage, of_others: Sequence[tuple[int, int]]) -> tuple[str, int] | None:
    """Find the value that a bill, a cell or a label gives to what is asked for, and its place; none of another."""
    value = _billed(question, passage) or _celled(question, passage) or _labelled(question, passage)
    return value if value is not None and not _is_in(of_others, value[1]) else None


def _billed(question: str, passage: Passage) -> tuple[str, int] | None:
    """Find the amount that a bill of several amounts states for what is asked, and its place: the only one whose label
    is said in the question ("Electricity: £57.16" for the electricity bill), else the whole. None of another's bill.
    """
    lines = [(found, money_in(found.group())) for found in _LINE.finditer(passage.read)]
    lines = [(found, amounts) for found, amounts in lines if amounts]
    asked = keys_of(question)
    held = keys_of(f"{passage.person} {passage.read}")
    is_bill = len(lines) > 1 or any(WHOLE.search(line.group()) for line, _ in lines)
    if _BILL.search(question) is None or not is_bill or not asked - _BILLED <= held:
        return None
    labels = [keys_of(_AMOUNT_BEHIND.split(found.group())[0]) for found, _ in lines]
    named = [line for line, label in zip(lines, labels, strict=True) if label and label <= asked]
    chosen = named if len(named) == 1 else [line for line in lines if WHOLE.search(line[0].group())]
    if not chosen:
        return None
    line, amounts = chosen[-1]
    value, currency, place = amounts[-1]
    return money_text(value, currency), line.start() + place


def _says_more(words: str, question: str) -> bool:
    """Return whether words say anything that the question does not: "Password" answers no question for a password."""
    said = keys_of(words)
    if not said:  # "one" of "how many buns fit on one tray"
        return not set(words.casefold().split()) <= set(question.casefold().split())
    return not said <= keys_of(question) or asks_yes_or_no(question)


def _labelled(question: str, passage: Passage) -> tuple[str, int] | None:
    """Find the value that a passage gives to what is asked for, and its place: "Password: plum-88", "the code is 12".

    Its label is said in the question, and all else that the question says stands in the passage or its title.
    """
    if _OF_A_VALUE.match(question) is None:
        return None
    asked = keys_of(question)
    unsaid = asked - keys_of(passage.read)
    if not unsaid <= _SHOWN.keys():
        return None
    needed = _needed_by(question)
    behind = len(passage.read) - len(passage.text)
    is_of_deed = asks_deed(question)
    of_title = keys_of(passage.title)
    labelled = [one for form in (_LABEL, _STATED, _BESIDE) for one in form.finditer(passage.read, behind)]
    # What the title says, too, tells no line apart: "Insurer" of "Home insurance".
    for found in sorted(labelled, key=lambda one: keys_of(one["label"]) <= of_title):
        label = keys_of(found["label"])
        is_shown = all(_SHOWN[word].fullmatch(found["value"]) for word in unsaid)
        is_told = not (is_of_deed and _is_mere_date(found["value"]))
        if label and label <= asked and is_shown and is_told and (needed is None or needed.search(found["value"])):
            return found["value"], found.start("value")
    if unsaid or passage.kind in _NAMING:
        return None
    return _opened(asked, passage, behind, needed)


def _celled(question: str, passage: Passage) -> tuple[str, int] | None:
    """Find the cell of a table that a question names by its row and by the head of its column, and its place; None
    where other words are asked, or several rows or columns are meant."""
    if _OF_A_VALUE.match(question) is None and not asks_who(question):
        return None
    asked = keys_of(question)
    for table in tables_in(passage.read):
        heads = [keys_of(cell.text) for cell in table.head]
        # A column is called by all words of its head, and of two by the more: "watch officer" of a week.
        columns = [k for k, head in enumerate(heads) if head and head <= asked]
        longest = max((len(heads[k]) for k in columns), default=0)
        columns = [k for k in columns if len(heads[k]) == longest] or [
            k for k, head in enumerate(heads) if asked & head
        ]
        of_row = asked.difference(*heads) if len(columns) == 1 else set()
        meant = [row for row in table.rows if of_row and of_row <= keys_of(" ".join(cell.text for cell in row))]
        if len(table.rows) >= _LEAST_ROWS and len(meant) == 1 and meant[0][columns[0]].text:
            return meant[0][columns[0]].text, meant[0][columns[0]].start
    return None


def _opened(asked: set[str], passage: Passage, behind: int, needed: re.Pattern[str] | None) -> tuple[str, int] | None:
    """Find the only short line that opens with words of the question and goes on with a value, and its place:
    "Booking reference PRL 88213"."""
    found = []
    for line in _LINE.finditer(passage.read, behind):
        words = list(_LINE_WORD.finditer(line.group()))
        n = next((k for k, word in enumerate(words) if key_of(word.group().casefold()) not in asked), len(words))
        n += 0 < n < len(words) and words[n].group() in ("is", "are")
        value = line.group()[words[n].start() :].strip() if 0 < n < len(words) <= _MOST_LABELLED else ""
        if (
            "|" not in value
            and re.search(r"\d", value)
            and not re.search(r"[.!?;]\s", value)
            and (needed is None or needed.search(value))
        ):
            found.append((_FULL_STOP.sub("", value), line.start() + words[n].start()))
    return found[0] if len(found) == 1 else None


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


def _is_of_other_kind(question: str, text: str, start: int) -> bool:
    """Return whether the words before a value call it another kind of code than the one asked for: "sort code"."""
    if _KIND_OF_CODE.match(question) is None:
        return False
    before = _OTHER_CODE.search(text[max(0, start - 40) : start])
    return before is not None and key_of(before["kind"].casefold()) not in keys_of(question)


def _rows_meant(question: str, text: str) -> list[tuple[int, int]] | None:
    """Return where the rows of a table lie that hold most words of the question; None where a text has no table, or no
    row holds more of them than another."""
    lines = [found for found in _LINE.finditer(text) if "|" in found.group()]
    if len(lines) <= _LEAST_ROWS:
        return None
    asked = keys_of(question)
    n_held = [len(asked & keys_of(found.group())) for found in lines[1:]]
    most = max(n_held)
    if most == min(n_held):
        return None
    return [found.span() for found, n in zip(lines[1:], n_held, strict=True) if n == most]


def _sentences_told(question: str, passage: Passage, *, is_priced: bool) -> list[tuple[int, int]] | None:
    """Return where the sentences lie that can tell what is asked: hours, a day, clothes, a password, what was said on a
    matter, a number. None where nothing of the kind is asked, or no sentence can."""
    text = passage.read
    if _ASKS_HOURS.match(question) and not asks_yes_or_no(question):
        said = [one.span() for one in SENTENCE.finditer(unwrapped(text)) if _says_hours(one.group())]
        return said or None
    if _WHEN.match(question) and passage.kind not in _NAMING and "|" not in text:
        return _timed_sentences(question, passage)
    if _ASKS_CLOTHES.match(question):
        said = [one.span() for one in SENTENCE.finditer(unwrapped(text)) if _CLOTHES.search(one.group())]
        said = [span for span in said if not text[slice(*span)].rstrip().endswith("?")]
        return said or None
    if _PASSWORD.search(question):
        said = [one.span() for one in SENTENCE.finditer(unwrapped(text)) if _PASSWORD.search(one.group())]
        return said or None
    if (matter := _ON_A_MATTER.search(question)) is not None:
        wanted = keys_of(matter["what"])
        said = [
            one.span()
            for one in SENTENCE.finditer(unwrapped(text), len(text) - len(passage.text))
            if wanted <= keys_of(one.group())
        ]
        return said or None
    return _sentences_measured(question, passage, is_priced=is_priced)


def _sentences_measured(question: str, passage: Passage, *, is_priced: bool) -> list[tuple[int, int]] | None:
    """Return where the sentences lie that tell a number of what is counted or measured: "brandy" of "how much brandy
    goes in"; of a price those that state the whole. None where no such thing is asked, or no sentence does."""
    text = passage.read
    asked = _HOW_MUCH_OF.match(question)
    if asked is None:
        return _totals_meant(question, passage) if is_priced else None
    of = key_of(asked["of"].casefold())
    found = [one.span() for one in SENTENCE.finditer(unwrapped(text)) if of in keys_of(one.group())]
    return [(a, b) for a, b in found if re.search(_NUMBERS, text[a:b], re.IGNORECASE)] or None


def _timed_sentences(question: str, passage: Passage) -> list[tuple[int, int]] | None:
    """Return where the sentences lie that name a time and say most of what is asked beside the title; None where none
    says any of it."""
    text, needed = passage.read, _needed_by(question)
    asked = keys_of(question) - keys_of(f"{passage.title} {passage.person}")
    found = [
        (len(asked & keys_of(one.group())), one.span())
        for one in SENTENCE.finditer(unwrapped(text), len(text) - len(passage.text))
        if needed is not None and needed.search(one.group())
    ]
    most = max((n for n, _ in found), default=0)
    return [span for n, span in found if n == most] if most else None


def _says_hours(sentence: str) -> bool:
    """Return whether a sentence says from when to when something is open."""
    return _OF_HOURS.search(sentence) is not None and _OPEN.search(sentence) is not None


def _totals_meant(question: str, passage: Passage) -> list[tuple[int, int]] | None:
    """Return where a passage of several amounts states the whole, if the question asks for it or names none of them."""
    lines = [found for found in _LINE.finditer(passage.read) if _HAS_MONEY.search(found.group())]
    units = [
        (line.start() + one.start(), line.start() + one.end(), one.group())
        for line in lines
        for one in _STATEMENT.finditer(line.group())
        if _HAS_MONEY.search(one.group())
    ]
    wholes = [(start, end) for start, end, said in units if WHOLE.search(said)]
    asked = keys_of(question) - keys_of(f"{passage.title} {passage.person}")
    is_told_apart = any(asked & keys_of(said) for _, _, said in units) and not _ALTOGETHER.search(question)
    return wholes if wholes and len(units) > len(wholes) and not is_told_apart else None


def _lines_passed_over(question: str, passage: Passage, needed: re.Pattern[str] | None) -> list[tuple[int, int]]:
    """Return where the lines of a list lie whose labels say less of the question than another's, which can answer.

    What the title says is said of every line. Of amounts that the question does not tell apart, the whole is meant.
    """
    text = passage.read
    asked = keys_of(question) - keys_of(passage.title)
    behind = len(text) - len(passage.text)
    lines = [
        found for found in _LABELLED_LINE.finditer(text, behind) if needed is None or needed.search(found["value"])
    ]
    # "Check-out" and "check-in" differ by a word that tells nothing elsewhere.
    n_held = [len(asked & keys_of(found.group())) + _is_said(found["label"], question) for found in lines]
    most = max(n_held, default=0)
    if not most and needed is _HAS_MONEY and any(WHOLE.search(found["label"]) for found in lines):
        n_held, most = [int(WHOLE.search(found["label"]) is not None) for found in lines], 1
    return [found.span() for found, n in zip(lines, n_held, strict=True) if n < most]


def _is_said(label: str, question: str) -> bool:
    """Return whether a question says a label of several words as it stands."""
    words, said = (" ".join(re.findall(r"[^\W_]+", text.casefold())) for text in (label, question))
    return " " in words and f" {words} " in f" {said} "


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


def least_chance() -> float:
    """The least probability at which an answer is given rather than "I don't know"."""
    return float(fitted("passage_weights")["least_chance"])
