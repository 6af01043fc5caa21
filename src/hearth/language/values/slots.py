"""Finds the typed values in the text of a request."""

from __future__ import annotations

import datetime as dt
import functools
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hearth import patterns as re
from hearth.language.clauses import clauses
from hearth.language.temporal.repeats import REPEATS, TimeSaid, begun, carried, is_of_that_day, joined
from hearth.language.temporal.time_words import HOLIDAY_STARTS, MONTHS, WEEKDAYS, Said
from hearth.language.temporal.times import find_times
from hearth.language.tokens import Clause, Slot, Token, folded, listed, slot_at, tokens
from hearth.language.values.identifying import is_luhn, unpunctuated
from hearth.language.values.numbers import find_numbers
from hearth.types import Context, Entity, Plain

# ── Identifiers ───────────────────────────────────────────────────────────────────────────────────────────
# Finds phone numbers, e-mail and web addresses, file names and quoted text in a request.
#
# Each finder returns its slots in order and takes time linear in the length of the text: runs of characters are cut
# at white space first, and only short ones are looked at closely. Whether a file, an address or a number exists is
# not checked.

# ── Quoted text ───────────────────────────────────────────────────────────────────────────────────────────

_QUOTED = re.compile(
    r'"([^"\n]{1,2000})"|“([^”“\n]{1,2000})[”“]|„([^„“”\n]{1,2000})[“”]|«([^«»\n]{1,2000})»'
    r"|(?<![\w'])'(?=\S)([^'\n]{1,300}(?:'\w[^'\n]{0,300}){0,4})(?<=\S)'(?!\w)|‘([^‘’\n]{1,300}(?:’\w[^‘’\n]{0,300}){0,4})’(?!\w)"
)


def find_quoted(text: str) -> list[Slot]:
    """Find text in straight or curly quotation marks; `text` is what stands between them.

    When it is only an address or a file name, it is left to those finders.
    """
    slots = []
    for match in _QUOTED.finditer(text):
        inner = match[match.lastindex or 0]
        if not inner.strip():
            continue
        slots.append(slot_at("quoted", text, match.start(), match.end(), {"text": inner.strip()}))
        if _FILE_NAME.fullmatch(inner.strip()):
            start = match.start() + match[0].index(inner.strip())
            slots[-1] = slot_at("file", text, start, start + len(inner.strip()), _file_views(inner.strip()))
        elif _EMAIL.fullmatch(inner.strip()) or _URL.fullmatch(inner.strip()):
            slots.pop()
    return slots


# ── Addresses and files ───────────────────────────────────────────────────────────────────────────────────

_EXTENSIONS = listed(
    "pdf txt md rtf doc docx odt pages xls xlsx ods csv tsv numbers ppt pptx odp key html htm xml json "
    "jsonl yaml yml toml ini cfg conf log tex bib epub ics vcf eml mbox msg jpg jpeg png gif bmp tif tiff "
    "heic webp svg raw psd mp3 wav flac ogg m4a aac opus mp4 mkv avi mov webm wmv m4v mpg mpeg zip tar gz "
    "tgz bz2 xz 7z rar iso dmg exe deb rpm apk py js ts java c cpp h rs go rb sh bat ps1 sql db sqlite "
    "ipynb css scss onnx safetensors parquet npy pem crt bak tmp"
)
_EXTENSION = "(?:" + "|".join(sorted(_EXTENSIONS, key=len, reverse=True)) + ")"
_FILE_NAME = re.compile(rf"[^\\/:*?\"<>|\n]{{0,120}}[\w)\]-]\.{_EXTENSION}", re.IGNORECASE)
_FILE = re.compile(rf"(?:[\w.~+@-]+/){{0,30}}[\w][\w.+@()-]*\.{_EXTENSION}(?!\w)", re.IGNORECASE)
_PATH = re.compile(r"(?:~|\.{1,2})?/(?:[\w.~+@%-]+/)*[\w.~+@%-]*|[A-Za-z]:\\[^\s\"<>|?*]+")
_NAMED = re.compile(r"\b(?:called|named)\s+(?P<name>(?:[\w()'’-]+ ){1,5})\Z")
"""Words of a file's name before its last one: "a file called tyre prices.txt"."""
_LONGEST_NAME = 120
_FOLDER = re.compile(r"(?:[\w-]+/){1,30}")
_EMAIL = re.compile(
    r"[A-Za-z0-9](?:[\w.+-]{0,62}[\w+-])?@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}"
)
_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"“”]{1,2000}", re.IGNORECASE)
_DOMAIN = re.compile(
    r"(?:www\.[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,6}\.[a-z]{2,24}"
    r"|[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9-]{1,63}){0,6}\."
    r"(?:com|org|net|de|io|eu|uk|fr|nl|es|ch|info|dev|app|edu|gov|ca|pl|se|dk|jp|au|nz|ie|biz|cloud|page|wiki))"
    r"(?::\d{2,5})?(?:[/?#][^\s<>\"“”]{0,1000})?",
    re.IGNORECASE,
)
_CHUNK = re.compile(r"[^\s\"“”„«»<>]+")
_LONGEST_CHUNK = 2048


def find_addresses(text: str) -> list[Slot]:
    """Find e-mail addresses, web addresses and files, each cut from a run of characters without white space."""
    slots = []
    for chunk in _CHUNK.finditer(text):
        run = chunk[0]
        if len(run) > _LONGEST_CHUNK or not ("." in run or "/" in run or "@" in run or "\\" in run):
            continue
        start = chunk.start()
        for offset, piece in _pieces(run):
            found = _address(piece)
            if found is not None:
                kind, first, last, views = found
                named = (
                    _NAMED.search(text, max(0, start - _LONGEST_NAME), start) if kind == "file" and not offset else None
                )
                if named is not None and "/" not in str(views["path"]):
                    slots.append(
                        slot_at(
                            "file",
                            text,
                            named.start("name"),
                            start + last,
                            _file_views(text[named.start("name") : start + last]),
                        )
                    )
                    continue
                slots.append(slot_at(kind, text, start + offset + first, start + offset + last, views))
    return slots


def _pieces(run: str) -> list[tuple[int, str]]:
    """Cut a run at commas and semicolons, unless it is one web address."""
    if "://" in run:
        return [(0, run)]
    pieces, place = [], 0
    for piece in re.split(r"([,;|])", run):
        if piece not in ("", ",", ";", "|"):
            pieces.append((place, piece))
        place += len(piece)
    return pieces


def _address(piece: str) -> tuple[str, int, int, dict[str, Plain]] | None:
    url = _URL.search(piece)
    if url is not None:
        end = url.start() + len(unpunctuated(url[0]))
        return "url", url.start(), end, {"url": piece[url.start() : end]}
    first = len(piece) - len(piece.lstrip("([{'‘`*"))
    body = unpunctuated(piece[first:])
    if not body:
        return None
    if "@" in body:
        email = _EMAIL.search(body[:400])
        if email is not None and (email.end() == len(body) or body[email.end()] not in "@.-_"):
            return "email", first + email.start(), first + email.end(), {"email": email[0]}
    file = _FILE.fullmatch(body)
    if file is not None:
        return "file", first, first + len(body), _file_views(body)
    domain = _DOMAIN.fullmatch(body)
    if domain is not None:
        return "url", first, first + len(body), {"url": f"https://{body}"}
    if _FOLDER.fullmatch(body) is not None:
        return "file", first, first + len(body), _file_views(body)
    if body[0] in "~./" or body[1:3] == ":\\":
        path = _PATH.fullmatch(body)
        if path is not None and sum(c.isalnum() for c in body) > 1:
            return "file", first, first + len(body), _file_views(body)
    return None


def _file_views(path: str) -> dict[str, Plain]:
    return {"path": path, "name": path.replace("\\", "/").rstrip("/").rpartition("/")[2]}


# ── Phone numbers ─────────────────────────────────────────────────────────────────────────────────────────

_DIGIT_RUN = re.compile(r"(?<![\w.,:@#$€£/-])(?:\+|\(\+?)?\d(?:[\d()./ \u00a0\u2011–-]*\d)?")
_PHONE_WORDS = re.compile(
    r"\b(?:call|phone|number|dial|text|sms|tel|telephone|mobile|cell|fax|ring|whatsapp|landline)\b\W*(?:\w+\W+){0,4}$",
    re.IGNORECASE,
)
_DATE_SHAPE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}-\d\d-\d\d|\d+\.\d+")
_TEN_DIGITS = frozenset({"US", "CA"})


def find_phones(text: str, country: str) -> list[Slot]:
    """Find phone numbers as E.164 (`phone`); as their digits alone when the country is unknown.

    A run of digits is taken whole or not at all: no part of a card number, an IBAN or a longer run is a phone number.
    """
    slots = []
    for match in _DIGIT_RUN.finditer(text):
        start, end = match.span()
        if end - start < 6 or end - start > 40:
            continue
        if end < len(text) and (text[end].isalnum() or text[end] in "_:@%€"):
            end = start + len(text[start:end].rpartition(" ")[0].rstrip())
        number = _phone(text, start, end, country)
        rest, _, last = text[start:end].rpartition(" ")
        if number is None and rest and len(last) <= 2:  # "call 555-0199 2 times"
            end = start + len(rest.rstrip(" -–"))
            number = _phone(text, start, end, country)
        if number is not None:
            slots.append(slot_at("phone", text, start, end, {"phone": number}))
    return slots


def _phone(text: str, start: int, end: int, country: str) -> str | None:
    written = text[start:end]
    digits = "".join(c for c in written if c.isdecimal())
    if not 6 <= len(digits) <= 15 or _DATE_SHAPE.fullmatch(written):
        return None
    has_plus = written.lstrip("(").startswith("+")
    is_announced = has_plus or _PHONE_WORDS.search(text[max(0, start - 60) : start]) is not None
    if not (is_announced or digits[0] == "0" or (country.upper() in _TEN_DIGITS and len(digits) == 10)):
        return None
    if not has_plus and len(digits) >= 13 and is_luhn(digits):
        return None
    return _e164(written, digits, country.upper(), has_plus, is_announced)


def _e164(written: str, digits: str, country: str, has_plus: bool, is_announced: bool) -> str | None:
    import phonenumbers  # 40 ms; most requests hold no phone number

    if not has_plus and not country:
        return digits if is_announced or len(digits) >= 8 else None
    try:
        number = phonenumbers.parse(written, country or None)
    except phonenumbers.NumberParseException:
        return digits if is_announced and not has_plus else None
    if phonenumbers.is_valid_number(number):
        return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
    if phonenumbers.is_possible_number_with_reason(number) == phonenumbers.ValidationResult.IS_POSSIBLE:
        if is_announced or digits[0] == "0":
            return phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
        return None
    return digits if is_announced and not has_plus else None


# ── Slots ─────────────────────────────────────────────────────────────────────────────────────────────────
# Finds typed values in a request, without training: the same text, time and context give the same slots.
#
# Slots never overlap, stand in the order of the text, and `text[slot.start:slot.end] == slot.text`. No text raises an
# exception, and reading takes time linear in its length. English only: in other languages addresses, numbers, files,
# quoted text, known names and numeric dates are still found.
#
# A name that the owner knows is found in any case, by its full form, its first name or an alias, with or without a
# possessive `'s`, and with or without its accents. A name that is also an English word ("Will", "Mark", "May") counts
# only with its capital inside a sentence, or right after a word such as "call" or "with". Not covered: unknown names
# without a capital, and inflected or misspelled names.
#
# Views by kind, all plain data:
#
# * `time`: `datetime` (the one moment that stands for it), `date`, `start` and `end` (what was said, bounded: `end` is
#   exclusive; one of them is missing when that side is open), `time` when a clock time was said, `duration` for a range
#   of clock times and for what is counted from now (that has no `end`), `repeat` (`daily`, `weekly`, `monthly`,
#   `yearly`; `hourly`, `minutely`) with `repeat_every` (when not 1) and `repeat_days` (`MO`, …). How unsure English is
#     read: `language.temporal.time_words`, `language.temporal.dates`, `language.temporal.dates` and
#   `language.temporal.times`.
# * `duration`: `duration` (a month counts 30 days, a year 365), and `number` with `unit` when it is of one unit;
#   `datetime`, when it is over, of what something is snoozed for.
# * `number`: `number`, `integer` when whole; of a percentage also `unit` (`percent`) and `fraction`.
# * `quantity`: `number`, `integer` when whole, `unit` (a name pint knows, or an ISO 4217 currency). `unit`: `unit`.
# * `expression`: `expression`, a sum in signs.
# * `email`: `email`. `phone`: `phone` (E.164). `url`: `url`. `file`: `path`, `name`. `quoted`: `text`.
# * `person` and other entities: `name`, the entity's name; `candidates` when ambiguous. `unknown_person`: `name`.
# * Every kind has `text`: what was written, without quotation marks.

# ── People and things known by name ───────────────────────────────────────────────────────────────────


WORDS_THAT_ARE_NAMES = frozenset(
    listed(
        "will mark may april june august summer dawn joy faith hope grace rose lily daisy iris violet heather "
        "holly ivy amber ruby pearl jade crystal bill rob nick pat drew frank rich art dean jack earl duke "
        "guy gene jean don ray skip chase hunter cliff forest glen dale heath reed rusty sandy penny patience "
        "charity melody harmony robin martin jay bob tip buck chip chuck dick randy rick sally peg dot bea "
        "angel star sky ocean river rain storm winter autumn spring sunny misty eve noel christian christmas "
        "love king prince major judge page paige miles lance pierce wade trip ward gay basil ginger olive "
        "hazel myrtle clay flint stone rock stew max an min long young see can are case bell cook baker smith "
        "miller day short small brown white black green gray grey west north best price rice fish wolf fox "
        "bird lamb bush wood woods hill field ford bridge church temple wall gates banks rivers waters "
        "winters mason carpenter taylor tailor fisher hand"
    )
)
"""Names that are English words too; they need a capital inside the sentence or a cue."""

_BEFORE_A_PERSON = frozenset(
    listed(
        "call phone ring email e-mail mail text message tell ask invite with contact meet remind dial ping "
        "thank congratulate visit cc bcc inform notify answer whatsapp facetime"
    )
)
_BEFORE_AN_UNKNOWN = _BEFORE_A_PERSON | {"to", "from", "for"}
_WRITING = frozenset(
    listed(
        "mail mails email emails e-mail e-mails message messages letter letters text texts send sent forward "
        "reply write wrote invite invitation note call calls heard hear talk talked speak spoke give gave "
        "show answer draft drafts introduce pay transfer lend owe respond mention share news reminder contact "
        "address number birthday said"
    )
)
_NOT_A_NAME = frozenset(
    listed(
        "i i'm i'll i'd i've me my mine you your he she it we they his her their our the a an this that these "
        "those all any some everyone everybody someone somebody anyone work home school mom mum mummy dad "
        "daddy grandma grandpa mother father wife husband boss sister brother google amazon apple microsoft "
        "facebook netflix paypal ebay dhl ups fedex english german french spanish italian eur usd pdf tv ok "
        "please monday english linkedin github twitter youtube spotify"
    )
)
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "miss", "prof", "herr", "frau"})
_OWN = frozenset(
    listed(
        "number numbers phone mobile cell email e-mail mail mails emails message address birthday "
        "bday reply party house"
    )
)
_KINDS_OF_OWN = frozenset(listed("new old last latest next first phone mobile home work email other"))
_POSSESSIVES = frozenset({"'s", "'"})
_AUXILIARIES = frozenset(listed("you i we they he she it the there my this that be not"))


@dataclass(slots=True)
class _Names:
    """Index of a context's names by their first word: the words of each name and whom it may mean."""

    starts: dict[str, list[tuple[tuple[str, ...], tuple[Entity, ...], bool]]] = field(default_factory=dict)
    """First word → (all words, entities, is a full name), the longest first."""
    last: dict[str, list[Entity]] = field(default_factory=dict)
    """Last name → people; it counts after a title ("Mrs. Okoro")."""


_N_KEPT = 8


def find_names(text: str, said: Sequence[Token], context: Context) -> list[Slot]:
    """Find slots of the context's entities (`name`, and `candidates` when ambiguous) and of unknown people (`name`)."""
    names = _indexed(context.entities)
    slots: list[Slot] = []
    index = 0
    while index < len(said):
        token = said[index]
        if token.kind == "word":
            is_beside = bool(slots) and slots[-1].kind == "person" and _is_joined(said, index, slots[-1].end)
            found = _known(text, said, index, names, is_beside=is_beside) or _titled(text, said, index, names)
            found = found or _unknown(text, said, index)
            if found is not None:
                slots.append(found[0])
                index = found[1]
                continue
        index += 1
    return slots


@functools.lru_cache(maxsize=_N_KEPT)
def _indexed(entities: tuple[Entity, ...]) -> _Names:
    """Return the index of a context; the last few are kept, because a context rarely changes between requests."""
    names = _Names()
    meant: dict[tuple[str, ...], tuple[dict[Entity, None], bool]] = {}
    for entity in entities:
        bare = _without_titles(entity)
        if entity.kind == "person" and len(bare) > 1:
            names.last.setdefault(bare[-1], []).append(entity)
        for words, is_full in _forms(entity, bare).items():
            if words and (len(words) > 1 or len(words[0]) > 1):
                people, was_full = meant.setdefault(words, ({}, False))
                people.setdefault(entity)
                meant[words] = (people, was_full or is_full)
    for words, (people, is_full) in list(meant.items()):
        if _may_own(words[-1], tuple(people)):  # "dexs number", as people type it; see `_counts` for "pats number"
            meant.setdefault((*words[:-1], f"{words[-1]}s"), (people, is_full))
    for words, (people, is_full) in meant.items():
        names.starts.setdefault(words[0], []).append((words, tuple(people), is_full))
    for options in names.starts.values():
        options.sort(key=lambda option: -len(option[0]))
    return names


def _without_titles(entity: Entity) -> tuple[str, ...]:
    full = tuple(token.low for token in tokens(entity.name))
    while entity.kind == "person" and len(full) > 1 and full[0] in {*_TITLES, "."}:
        full = full[1:]
    return full


def _forms(entity: Entity, bare: tuple[str, ...]) -> dict[tuple[str, ...], bool]:
    """Return the ways in which an entity is called, and whether each is a full name; `bare`: without titles."""
    full = tuple(token.low for token in tokens(entity.name))
    forms = {full[n:]: True for n in range(len(full) - len(bare) + 1)}
    for alias in entity.aliases:
        forms.setdefault(tuple(token.low for token in tokens(alias)), True)
    if entity.kind == "person" and len(bare) > 1:
        forms.setdefault(bare[:1], False)
    for words, is_full in list(forms.items()):
        forms.setdefault(tuple(map(folded, words)), is_full)  # "grainne" for Gráinne
    return forms


def _may_own(name: str, people: Sequence[Entity]) -> bool:
    """Return whether a name with an "s" and no apostrophe is taken for its possessive."""
    is_date = name in MONTHS or name in HOLIDAY_STARTS
    return len(name) > 2 and name.isalpha() and name[-1] != "s" and not is_date and people[0].kind == "person"


def _known(
    text: str, said: Sequence[Token], index: int, names: _Names, *, is_beside: bool = False
) -> tuple[Slot, int] | None:
    """Find a known name at a place; `is_beside`: another one stands before it, "clare and mark"."""
    for words, people, is_full in names.starts.get(said[index].low, ()):
        after = index + len(words)
        if tuple(token.low for token in said[index:after]) != words:
            continue
        if len(words) == 1 and not (is_beside or _counts(text, said, index, people[0])):
            continue
        exact = tuple(p for p in people if p.name.lower() == " ".join(words)) if is_full else ()
        meant = exact if len(exact) == 1 else people
        start, end = said[index].start, said[after - 1].end
        if said[after - 1].low in _POSSESSIVES:
            end, after = said[after - 2].end, after - 1
        name: Plain = meant[0].name if len(meant) == 1 else text[start:end]
        views: dict[str, Plain] = {"name": name}
        if len(meant) > 1:
            views["candidates"] = [person.name for person in meant]
        kind = meant[0].kind
        return Slot(kind, start, end, text[start:end], views, "", start, is_ambiguous=len(meant) > 1), after
    return None


def _counts(text: str, said: Sequence[Token], index: int, entity: Entity) -> bool:
    """Return whether one word that may be a name is meant as a name here."""
    word = said[index].low
    if word.endswith("s") and word[:-1] in WORDS_THAT_ARE_NAMES and entity.kind == "person":
        return _owns_something(said, index)
    if entity.kind != "person" or (
        word not in WORDS_THAT_ARE_NAMES and word not in MONTHS and word not in WEEKDAYS and word not in HOLIDAY_STARTS
    ):
        return True
    before = said[index - 1].low if index else "."
    after = said[index + 1].low if index + 1 < len(said) else ""
    if word in MONTHS and before in ("in", "of", "on", "since", "until", "by", "this", "next", "last"):
        return False
    if before in _BEFORE_A_PERSON or after == "'s":
        return after not in _AUXILIARIES
    starts_sentence = before in (".", "!", "?", ";", ":", '"') or index == 0
    return text[said[index].start].isupper() and not starts_sentence and after not in _AUXILIARIES


def _is_joined(said: Sequence[Token], index: int, end: int) -> bool:
    """Return whether only "and" or a comma stands between `end` and a place."""
    return index > 1 and said[index - 1].low in ("and", "&", ",") and said[index - 2].end >= end > said[index - 2].start


def _owns_something(said: Sequence[Token], index: int) -> bool:
    """Return whether what people have follows a word: "pats new number"."""
    following = [token.low for token in said[index + 1 : index + 4]]
    while following and following[0] in _KINDS_OF_OWN:
        following = following[1:]
    return bool(following) and following[0] in _OWN


def _titled(text: str, said: Sequence[Token], index: int, names: _Names) -> tuple[Slot, int] | None:
    """Find people by title and last name: "Mrs. Okoro", "dr weber"."""
    if said[index].low not in _TITLES:
        return None
    place = index + 1
    if place < len(said) and said[place].low == ".":
        place += 1
    people = names.last.get(said[place].low, ()) if place < len(said) else ()
    if not people:
        return None
    start, end = said[index].start, said[place].end
    views: dict[str, Plain] = {"name": people[0].name if len(people) == 1 else text[said[place].start : end]}
    if len(people) > 1:
        views["candidates"] = [person.name for person in people]
    slot = Slot("person", start, end, text[start:end], views, "", start, is_ambiguous=len(people) > 1)
    return slot, place + 1


def _unknown(text: str, said: Sequence[Token], index: int) -> tuple[Slot, int] | None:
    """Find capitalised words right after "call", "with", "to" …, that are no name of the context."""
    if index == 0 or not _is_capital(text, said[index]) or not _is_place_of_person(text, said, index):
        return None
    after = index
    if said[index].low in _TITLES and index + 2 < len(said) and said[index + 1].low == ".":
        if not _is_capital(text, said[index + 2]):
            return None
        after = index + 2
    while after < len(said) and after - index < 4 and _is_capital(text, said[after]) and said[after].kind == "word":
        after += 1
    start, end = said[index].start, said[after - 1].end
    return Slot("unknown_person", start, end, text[start:end], {"name": text[start:end]}, "", start), after


def _is_place_of_person(text: str, said: Sequence[Token], index: int) -> bool:
    """Return whether a person is likely at a place: right after "call", "with" … or after another one there."""
    before = said[index - 1].low
    if before not in _BEFORE_AN_UNKNOWN:
        if not (before in ("and", "&", ",") and index > 1 and _is_capital(text, said[index - 2])):
            return False
        if not any(token.low in _BEFORE_AN_UNKNOWN for token in said[max(0, index - 6) : index - 1]):
            return False
    return before not in ("to", "from", "for", "and", ",", "&") or any(
        token.low in _WRITING or token.low in _BEFORE_A_PERSON for token in said[max(0, index - 12) : index]
    )


def _is_capital(text: str, token: Token) -> bool:
    """Return whether a word is written like a name: capital first, then at least one small letter."""
    word = text[token.start : token.end]
    if token.kind != "word" or token.low in _NOT_A_NAME or token.low in WEEKDAYS or token.low in MONTHS:
        return False
    return word[0].isupper() and len(word) > 1 and any(c.islower() for c in word) and token.low not in HOLIDAY_STARTS


# ── All values ────────────────────────────────────────────────────────────────────────────────────────


__all__ = ["Clause", "Slot", "clauses", "find_slots"]

_RANKS = {
    kind: rank
    for rank, kind in enumerate(
        listed("quoted email url file person time phone expression quantity duration number unit unknown_person")
    )
}
"""Rank of each kind: of overlapping slots of equal length the first kind wins."""
_CUE_WORDS = frozenset(
    listed(
        "at on in for of to from between within during over around about since until till before after by "
        "with without into as than under above below per every each near via cc"
    )
)


_ENDS_SENTENCE = re.compile(r"[.!?;\n]")
_THERE = re.compile(r"\b(?:there|that (?:day|morning|afternoon|evening|night))\b", re.IGNORECASE)
_MOST_TIMES = 8
"""Most times of a clause that are read together; more are a list, and each is read alone."""


def find_slots(text: str, now: dt.datetime, context: Context, said: Sequence[Token] | None = None) -> tuple[Slot, ...]:
    """Find the typed values in a request.

    Of overlapping values the longest is kept, then the most specific kind.

    Args:
        text: The request as the owner wrote it; any text.
        now: When it was asked, with time zone.
        context: Names the owner knows, and the country that decides phone numbers and the order of 3/4/2027.
        said: The tokens of the text, where they were found already.
    Raises:
        ValueError: `now` has no time zone.
    """
    if now.tzinfo is None:
        raise ValueError(f"the request's time {now.isoformat()!r} has no time zone; give it the owner's")
    said = tokens(text) if said is None else said
    times = begun(text, _without_attributes(find_times(text, said, now, context.country), said), now)
    found = [
        *find_quoted(text),
        *find_addresses(text),
        *find_names(text, said, context),
        *(time.slot for time in times),
        *find_phones(text, context.country),
        *find_numbers(text, said),
    ]
    kept = _apart(text, found)
    if len(times) > 1 or any(is_of_that_day(time) for time in times):
        kept = _times_joined(text, kept, times, now)
    return tuple(_finished(slot, said, place) for slot, place in _placed(kept, said))


_HOLIDAYS = frozenset(listed("christmas xmas easter halloween thanksgiving birthday"))
_OF_A_HOLIDAY = frozenset(
    listed(
        "card cards present presents gift gifts shopping tree trees decorations crackers pudding egg eggs jumper "
        "jumpers songs carols list"
    )
)
"""What is called by a holiday and names no day: "buy Easter eggs"."""
_NAMING = frozenset(listed("called named titled list lists"))
_MAILS = frozenset(listed("mail mails email emails e-mail e-mails message newsletter newsletters magazine post digest"))
_NO_NOUNS = _CUE_WORDS | frozenset(
    listed(
        "and or but please pls is are was will we i you he she they it what when who how do does did have has that so"
    )
)


def _without_attributes(times: Sequence[TimeSaid], said: Sequence[Token]) -> list[TimeSaid]:
    """Drop holidays that say what kind a thing is, beside another time or an article ("the Christmas card list"), or in
    a name ("a list called Easter eggs"); and rhythms that are a name's, too ("the Gardening Weekly email")."""
    kept: list[TimeSaid] = []
    starts = [token.start for token in said]
    for time in times:
        words = time.slot.text.lower().split()
        place = bisect_left(starts, time.slot.end)
        after = said[place] if place < len(said) else None
        if time.slot.kind == "time" and _names_a_paper(said, place, words):
            continue
        if words[-1] in _HOLIDAYS and len(words) == 1 and _is_in_name(said, place):
            continue
        is_before_noun = after is not None and after.kind == "word" and after.low not in _NO_NOUNS
        is_kind = words[0] in ("the", "my", "our", "a") or len(times) > 1
        if words[-1] in _HOLIDAYS and len(words) <= 2 and is_before_noun and is_kind:
            continue
        kept.append(time)
    return kept


def _is_in_name(said: Sequence[Token], after: int) -> bool:
    """Return whether a holiday before place `after` is part of what something is called."""
    before = said[after - 2].low if after > 1 else ""
    following = said[after].low if after < len(said) else ""
    return following in _OF_A_HOLIDAY or (before in _NAMING and following != "")


def _names_a_paper(said: Sequence[Token], after: int, words: Sequence[str]) -> bool:
    """Return whether a rhythm is in the name of what writes mails: "from Gardening Weekly"."""
    if len(words) != 1 or words[0] not in REPEATS:
        return False
    near = [token.low for token in said[after : after + 3]]
    is_sender = "from" in [token.low for token in said[max(0, after - 4) : max(0, after - 1)]]
    return is_sender or any(word in _MAILS for word in near)


def _times_joined(text: str, kept: list[Slot], times: Sequence[TimeSaid], now: dt.datetime) -> list[Slot]:
    """Return the slots with the times of each clause read together.

    "That morning" is of a day that the clauses or the sentences before it name; where none is, it is no slot.
    """
    by_start = {time.slot.start: time for time in times}
    vague = {start for start, time in by_start.items() if is_of_that_day(time)}
    result: dict[int, Slot] = {}
    day = last = None
    end = 0
    for clause in clauses(text, kept):
        if _ENDS_SENTENCE.search(text, max(0, end - 1), clause.start):
            last, day = day or last, None
        end = clause.end
        of_clause = [
            by_start[slot.start] for slot in clause.slots if slot.kind == "time" and by_start[slot.start].slot == slot
        ]
        is_vague = not vague.isdisjoint(time.slot.start for time in of_clause)
        before = day or last if is_vague else _day_for(clause.text, day)
        if (2 if before is None else 1) <= len(of_clause) <= _MOST_TIMES:
            result.update((slot.start, slot) for slot in joined(text, of_clause, now, before))
        day = carried(of_clause, now) or day
    unplaced = {start for start in vague if result.get(start, by_start[start].slot) is by_start[start].slot}
    return [result.get(slot.start, slot) for slot in kept if slot.kind != "time" or slot.start not in unplaced]


def _day_for(clause: str, day: Said | None) -> Said | None:
    """Return the day of the clauses before it if a clause may be of it: the day has an hour, or is pointed at."""
    return day if day is None or day.clock is not None or _THERE.search(clause) else None


def _apart(text: str, found: list[Slot]) -> list[Slot]:
    """Drop overlapping slots: the longest is kept, then the most specific."""
    taken = bytearray(len(text))
    kept = []
    for slot in sorted(found, key=lambda s: (s.start - s.end, _RANKS.get(s.kind, 4), s.start)):
        if taken.find(1, slot.start, slot.end) < 0:
            taken[slot.start : slot.end] = b"\x01" * (slot.end - slot.start)
            kept.append(slot)
    kept.sort(key=lambda s: s.start)
    return kept


def _placed(slots: Sequence[Slot], said: Sequence[Token]) -> list[tuple[Slot, int]]:
    """Pair each slot with the index of the token before it (-1: none)."""
    result = []
    index = 0
    for slot in slots:
        while index < len(said) and said[index].end <= slot.start:
            index += 1
        result.append((slot, index - 1))
    return result


def _finished(slot: Slot, said: Sequence[Token], before: int) -> Slot:
    """Return the slot with its cue, and its text as a view."""
    views = {"text": slot.text, **slot.views}
    ahead = {"text": slot.text, **slot.ahead} if slot.ahead else {}
    cue, cue_start = slot.cue, slot.cue_start if slot.cue else slot.start
    if not cue and before >= 0 and said[before].low in _CUE_WORDS:
        cue, cue_start = said[before].low, said[before].start
    return replace(slot, views=views, cue=cue, cue_start=cue_start, ahead=ahead)
