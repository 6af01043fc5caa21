"""Masks a text: joins all that the finders find, gives stand-ins, and puts back what was masked."""

from __future__ import annotations

import bisect
import datetime as dt
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hearth import patterns as re
from hearth.config import MASKED_KINDS, Settings
from hearth.errors import UnknownStandInError
from hearth.guard.deidentify.identifier_finders import (
    find_announced,
    find_cues,
    find_dates,
    find_keys,
    find_lettered,
    find_numbers,
    find_said_secrets,
    find_spoken,
)
from hearth.guard.deidentify.names import OwnerNames, OwnName, find_cued_names, gathered, without_harmless
from hearth.language.values.identifying import KINDS as SPECIAL
from hearth.language.values.identifying import (
    Found,
    Words,
    find_online,
    find_special,
    fold,
    iban_digits,
    luhn_digit,
    plain,
    words,
)
from hearth.models.ner import TAGGER_FILE, Tagger
from hearth.protocols import Workspace
from hearth.types import Argument, Context, Entity, Plan, Refusal, Request

# ── Pattern finders ───────────────────────────────────────────────────────────────────────────────────────
# Finds personal data and secrets by their form: mail and network addresses, numbers, keys, postal addresses.
#
# Every finder reads a plain text (`finder_text.Plain.text`) and its words, and takes time linear in it. Covered:
# e-mail (also `name [at] host [dot] org`), web addresses and bare domains, IP and MAC addresses, phone numbers of any
# country with a `+`, of the owner's country and of those around it without, IBANs in any case and spacing, cards and
# any 13 to 19 digits, national numbers whose form is plain or whose cue is said, accounts, passports, licences,
# plates and keys after their cue words in English, German, French, Spanish, Italian, Dutch and Portuguese, pass
# phrases and codes by what is said of them, coordinates, dates; addresses of mail and six figures or more as they are
# dictated. Not covered: a short number without a cue or an unmistakable form, handles of social networks. Order,
# invoice and tracking numbers are left alone: they identify somebody to a shop, and to nobody else.
#
# Postal addresses are found by the form of the words: street names before, around or after their number in English,
# German, Dutch, Danish, Swedish, Norwegian, Finnish, French, Spanish, Portuguese, Italian, Polish, Czech, Hungarian,
# Greek and Turkish; flats and suites; post boxes and military post; postal codes if their form is plain (GB, CA, NL,
# `D-12345 Town`) or announced; the lines of flat, town, country and code that follow a street. Every form begins at a
# word for `street` in some language, or at a number, and covers a bounded stretch. Not covered: streets named without
# such a word or number, towns alone.

# ruff: noqa: SIM905 - lists of words read best as words


# ── Identifiers ───────────────────────────────────────────────────────────────────────────────────────


def find_identifiers(text: str, words: Words, country: str = "", *, dates: bool = True) -> list[Found]:
    """Find identifiers in a plain text; spans may overlap.

    Args:
        words: `finder_text.words(text)`.
        country: The owner's country, ISO 3166, for phone numbers without a country; may be empty.
        dates: Whether to find also dates that are not birth dates.
    """
    found = find_online(text, words)
    cues = find_cues(words)
    if cues:
        found += find_announced(text, cues)
    found += find_said_secrets(text, words)
    found += find_spoken(text, words)
    if max(map(len, text.split()), default=0) >= 20:
        found += find_keys(text)
    if _ANY_DIGIT.search(text):
        if not all(word.isalpha() or word.isdigit() for word in words.folded) or _GLUED_LETTERS.search(text):
            found += find_lettered(text)
        found += find_numbers(text, cues, country)
        if dates or any(kind == "birth_date" for kind, _, _ in cues):
            found += find_dates(text, words, cues)
    return found


_ANY_DIGIT = re.compile(r"\d")
_GLUED_LETTERS = re.compile(r"[A-Z][ -]\d{2}|\d{8}[- ][A-Za-z]")


# ── Postal addresses ──────────────────────────────────────────────────────────────────────────────────


_STREET_AFTER = (  # `12 Main Street`
    "street st str avenue ave av road rd lane ln drive dr court ct square sq squares place pl boulevard blvd way "
    "terrace ter "
    "crescent cres close grove gardens gdns parkway pkwy highway hwy circle cir trail trl alley mews row walk quay "
    "esplanade "
    "broadway turnpike pike plaza plz crossing junction ridge heights hollow glen vista pass path loop bypass causeway "
    "expressway freeway motorway ramp run spur streets roads drives avenues lanes courts"
).split()
_GLUED = (  # `Hauptstraße 12`
    "strasse straße gasse weg allee platz damm ufer steig chaussee straat laan gracht kade plein dijk singel hof steeg "
    "gade vej gata gatan gate vagen vegen veien veg vei torg torget katu tie polku kuja utca ter stigur braut vangur "
    "gotu "
    "tn utja caddesi sokak ulice ulica streets bakken stien alle plads toften parken"
).split()
_STREET_BEFORE = (  # `Rue de la Paix 5`
    "rue avenue boulevard place chemin impasse allee quai route passage cours square calle avenida avda plaza paseo "
    "carrer "
    "camino carretera via viale piazza corso vicolo largo strada rua travessa praca alameda estrada rodovia ulica ul "
    "aleja "
    "plac ulice namesti odos leoforos trg cesta bulevardul calea jalan sokak"
).split()
_SMALL = frozenset(
    "de du des la le les l d del della delle dei degli di da do dos das el los las al van von vom zum zur am an der "
    "den "
    "op ten ter the of and st san santa saint sainte sur sous y e et".split()
)
_AFTER_SET, _BEFORE_SET = frozenset(map(fold, _STREET_AFTER)), frozenset(map(fold, _STREET_BEFORE))
_GLUED_ENDS = tuple(sorted({fold(word) for word in _GLUED}, key=len, reverse=True))
_GLUED_WORDS = frozenset(fold(word) for word in [*_GLUED, "u", "str"]) - {"ter", "tie", "tn", "alle", "gate", "hof"}
_ORDINARY = frozenset(
    "weg hof ter tie run way pass place close court drive row walk path square circle st dr av ct pl loop route via "
    "passage "
    "cours calle largo corso cesta ridge pike spur".split()
)
"""Words of these lists that mostly mean something else: they count only with a number and a capital."""
_NOT_GLUED = frozenset(
    "private climate candidate update gate navigate investigate delegate aggregate mitigate meter letter water after "
    "center "
    "later better matter number computer winter poster chapter master filter theater quarter enter counter character "
    "printer "
    "butter sister register newsletter twitter daughter laughter tie necktie hottie cutie untie sweetie interstate "
    "irrigate "
    "litigate alternate surrogate floodgate tailgate alle parallel weg wegen tn walle valle halle".split()
)
_FIRST = frozenset("st the saint san la le el van von".split())
"""Small words that the name of a street may begin with."""
_GAPS = frozenset({" ", "-", "'", ". ", "’", "  "})
"""What may stand between the words of a street."""
_SHORT = frozenset("st str ave av rd ln dr ct sq pl blvd ter cres gdns pkwy hwy cir trl".split())
_STOP = frozenset(
    "at in on to from for with near by is are was my our your his her their this that next i we he she it they and "
    "or a an be "
    "me us him them live lives living located visit go going drive walk meet send ship deliver is der die das im bei "
    "nach aus "
    "mit und oder zur habe wohnt wohne wohnen corner across opposite behind off along down up take about than".split()
)

_UNIT = (
    r"(?:(?:apt|apartment|suite|ste|unit|flat|floor|fl|room|rm|building|bldg|house|level|lot|box|wohnung|whg|etage|"
    r"piso|esc|int|"
    r"interno|bte|lgh|hus|sal|door|block|tower|staircase|top|stiege|tür|porta|"
    r"puerta)\.? ?#? ?[A-Za-z]?-?\d{1,6}[A-Za-z]?|"
    r"#\d{1,6}|\d{1,2}(?:st|nd|rd|th) floor)"
)
_UNITS = re.compile(rf"(?:[,\s>|]{{0,4}}{_UNIT}(?!\w)){{1,3}}", re.IGNORECASE)
_TELLING_UNIT = re.compile(
    r"\b(?:apt|apartment|suite|ste|wohnung|whg|lgh|flat)\.? ?#? ?[A-Za-z]?-?\d{1,6}[A-Za-z]?(?!\w)", re.IGNORECASE
)
_NUMBER_BEFORE = re.compile(
    r"(?:(?<=\s)|(?<=^)|(?<=[(,:;>\"“/]))(?:(?:no|nr|n°|"
    r"#)\.? ?)?(?:\d{1,6} )?\d{1,6}[A-Za-z]?(?:[-/]\d{1,5}[A-Za-z]?)?,?"
    r"(?: (?:bis|ter|quater))?,?[ ]{1,2}\Z"
)
_NUMBER_AFTER = re.compile(
    r",?[ ]{1,2}(?:(?:no|nr|n°|nº|num|number)\.? ?)?\d{1,6} ?(?:[A-Za-z](?!\w))?(?:[-/]\d{1,5}[A-Za-z]?)?"
    r"(?!\w|[.:,]?\d|[ ]?(?:am|pm|uhr|o'clock|€|%))\.?",
    re.IGNORECASE,
)
_HOUSE_BEFORE = re.compile(r"(?:(?<=\s)|(?<=^)|(?<=[>]))\d{2,6} \Z")
_BOX = re.compile(
    r"\b(?:(?:\d{1,6} )?p\.? ?o\.? ?box|post(?:al)? ?(?:office )?box|postfach|postbox|postboks|postbus|apartado|"
    r"boîte postale|casella postale|caixa postal|private bag|gpo box|locked bag) ?#?\d{1,7}(?!\w)|"
    r"\b(?:psc|cmr|unit) \d{1,5},? box \d{1,5}(?:[,\s]{1,3}(?:apo|fpo|dpo),? (?:ae|ap|aa)(?: \d{5}(?:-\d{4})?)?)?|"
    r"\buss [A-Z]\w{2,20}[,\s]{1,3}(?:apo|fpo|dpo),? (?:ae|ap|aa)(?: \d{5}(?:-\d{4})?)?|"
    r"\b(?:apo|fpo|dpo),? (?:ae|ap|aa) \d{5}(?:-\d{4})?",
    re.IGNORECASE,
)
_CODES = re.compile(
    r"\b(?:GIR ?0AA|[A-Z]{1,2}\d[A-Z\d]? ?\d[ABD-HJLNP-UW-Z]{2}|"
    r"[ABCEGHJ-NPRSTVXY]\d[ABCEGHJ-NPRSTV-Z] ?\d[ABCEGHJ-NPRSTV-Z]\d|"
    r"[1-9]\d{3} [A-Z]{2}(?= [A-Z]\w|,|\.|$|\n)|[A-Z]{2} \d{5}(?:-\d{4})?|\d{5}-\d{3,4})(?!\w)|"
    r"\b(?:D|A|CH|F|B|L|DK|SE?|FIN?|NL|PL|CZ|SK|LT|LV|EE|HR|SI)-\d{4,5}(?:[ ][^\W\d_][\w.-]{2,30})?"
)
_CODE_CUE = re.compile(
    r"\b(?:zip(?: ?code)?|postcode|postal code|plz|postleitzahl|code postal|código postal|cap|postnummer)\b"
    r"[ ]?(?:is|ist|:|=|#|est)?[ ]?([A-Z]{0,2}-?\d{3,6}(?:[- ]\d{2,4})?(?: ?[A-Z]{2})?)(?!\w)",
    re.IGNORECASE,
)
_CAPITALS = r"[^\W\d_a-zà-ÿ][^\W\d_,]{0,30}(?:[ -][^\W\d_][^\W\d_,]{0,30}){0,3}"
_TAIL = re.compile(
    r"[,\s>|]{1,4}(?:(?:[A-Z]{1,3}-)?\d{3,6}(?:-\d{3,4}|"
    r" \d{2})?(?: [A-Z]{2})?[ ]{1,2}[^\W\d_][^\W\d_.'’-]{1,30}(?:[ -][^\W\d_a-zà-ÿ][^\W\d_.'’-]{1,30}){0,2}|"
    rf"(?:[,\s>|]{{0,4}}{_CAPITALS}){{1,3}}[,\s>|]{{1,4}}(?:[A-Z]{{1,3}}[ -])?"
    r"(?:\d{4,6}(?:-\d{3,4})?|\d{3} \d\d|\d\d-\d{3}|[A-Z]\d[A-Z] \d[A-Z]\d)(?!\w)|"
    r"[^\W\d_a-zà-ÿ][^\W\d_.'’-]{1,30}(?:[ -][^\W\d_a-zà-ÿ][^\W\d_.'’-]{1,30}){0,2},? [A-Z]{2}(?:,? \d{5}(?:-\d{4})?)?(?!\w))"  # noqa: E501
)
_CORNER = re.compile(r"(?:the )?corner of[ ]\Z", re.IGNORECASE)
_AND_STREET = re.compile(r" (?:and|&) (?=[^\W\d_a-zà-ÿ])")
_DIGIT = re.compile(r"\d")


_BOX_WORDS = frozenset(
    "box pobox postfach postbox postboks postbus apartado postale postal boite bp bag psc cmr unit uss apo fpo dpo".split()  # noqa: E501
)
_UNIT_WORDS = frozenset("apt apartment suite ste wohnung whg lgh flat".split())
_CODE_WORDS = frozenset("zip zipcode postcode postal plz postleitzahl cap postnummer".split())
_CODE_LIKE = re.compile(r"\d(?: ?[A-Z]{2}\b|[A-Z]|-\d{3})|[A-Z](?:\d|-\d{4}| \d{5})")


class _Roles(dict[str, str]):
    """Cache of the roles a word may have in an address, filled on first use and cleared when it grows too large."""

    def __missing__(self, word: str) -> str:
        if len(self) > 50_000:
            self.clear()
        role = "a" if word in _AFTER_SET else ""
        if word in _BEFORE_SET:
            role += "b"
        elif len(word) > 5 and word.endswith(_GLUED_ENDS) and word not in _NOT_GLUED:
            role += "g"
        elif word in _GLUED_WORDS:
            role += "w"
        if len(word) <= 40:
            self[word] = role
        return role


_ROLES = _Roles()


def find_postal(text: str, words: Words) -> list[Found]:
    """Find addresses in a plain text; spans may overlap. `words`: `finder_text.words(text)`."""
    found: list[Found] = []
    if _DIGIT.search(text):
        if not _BOX_WORDS.isdisjoint(words.folded):
            found += (Found(m.start(), m.end(), "address") for m in _BOX.finditer(text))
        if not _UNIT_WORDS.isdisjoint(words.folded):
            found += (Found(m.start(), m.end(), "address") for m in _TELLING_UNIT.finditer(text))
        if _CODE_LIKE.search(text):
            found += (Found(m.start(), m.end(), "address") for m in _CODES.finditer(text))
        if not _CODE_WORDS.isdisjoint(words.folded):
            found += (Found(m.start(1), m.end(1), "address") for m in _CODE_CUE.finditer(text))
    for index, role in [(index, role) for index, word in enumerate(words.folded) if (role := _ROLES[word])]:
        if "a" in role:
            found += _street_after(text, words, index)
        if "b" in role:
            found += _street_before(text, words, index)
        elif "g" in role:
            found += _street_glued(text, words, index)
        elif "w" in role and index:
            found += _street_apart(text, words, index)
    return [_with_tail(text, one) for one in found]


def _is_capital(text: str, words: Words, index: int) -> bool:
    return not text[words.starts[index]].islower()


def _gap(text: str, words: Words, index: int) -> str:
    """The text between a word and the next, cut to four characters."""
    return text[words.ends[index] : min(words.starts[index + 1], words.ends[index] + 4)]


def _street_after(text: str, words: Words, index: int) -> Iterator[Found]:
    """Match `12 Main Street`, `221B Baker St.`, `Main Street` with capitals, `12 main street`."""
    first = _name_before(text, words, index)
    if first is None:
        return
    start, end = words.starts[first], words.ends[index]
    if words.folded[index] in _SHORT and text[end : end + 1] == ".":
        end += 1
    number = _NUMBER_BEFORE.search(text, max(0, start - 16), start)
    is_named = all(_is_capital(text, words, k) or words.folded[k] in _SMALL for k in range(first, index + 1))
    is_ordinary = words.folded[index] in _ORDINARY
    if number is not None:
        if is_named or not is_ordinary:
            yield Found(number.start(), end, "address")
        return
    after = _NUMBER_AFTER.match(text, end)
    if not is_named or (is_ordinary and after is None):
        return
    while first < index - 1 and words.folded[first] in _SMALL:
        first += 1
    yield Found(words.starts[first], after.end() if after is not None else end, "address")


def _name_before(text: str, words: Words, index: int) -> int | None:
    """Find the first word of the name that a word for a street stands behind; None without a name."""
    first, n_names = index, 0
    while first > 0 and index - first < 5 and _gap(text, words, first - 1) in _GAPS:
        word = words.folded[first - 1]
        is_ordinal = len(word) > 2 and word[-2:] in ("st", "nd", "rd", "th")
        if word in _STOP or (word[0].isdigit() and not is_ordinal):
            break
        n_names += word not in _SMALL
        first -= 1
    while first < index and words.folded[first] in _SMALL - _FIRST:
        first += 1
    return first if n_names else None


def _street_before(text: str, words: Words, index: int) -> Iterator[Found]:
    """Match `Rue de la Paix 5`, `5, rue de la Paix`, `Calle Mayor 3`, `Avenue Foch`: with a number or capitals."""
    last = _name_after(text, words, index)
    is_named = last > index and _is_capital(text, words, index) and words.folded[index] not in _ORDINARY
    start = words.starts[index]
    number = _NUMBER_BEFORE.search(text, max(0, start - 16), start)
    if last == index:
        if number is None or index + 1 >= len(words.folded) or _gap(text, words, index) not in (" ", ". "):
            return
        last = min(index + 2, len(words.folded) - 1)  # `12 rue pasteur`
        while last > index and words.folded[last][0].isdigit():
            last -= 1
    end = words.ends[last]
    after = _NUMBER_AFTER.match(text, end)
    if number is None and after is None and not is_named:
        return
    yield Found(number.start() if number is not None else start, after.end() if after is not None else end, "address")


def _name_after(text: str, words: Words, index: int) -> int:
    """Find the last word of the name that a word for a street stands before; `index` without a name."""
    last = index
    while last + 1 < len(words.folded) and last - index < 6 and _gap(text, words, last) in _GAPS:
        word = words.folded[last + 1]
        if not (word in _SMALL or _is_capital(text, words, last + 1)) or word[0].isdigit() or word in _STOP - _SMALL:
            break
        last += 1
    while last > index and words.folded[last] in _SMALL:
        last -= 1
    return last


def _street_glued(text: str, words: Words, index: int) -> Iterator[Found]:
    """Match `Hauptstraße 12`, `hersnapvej 18`; without a number, only a capitalised word with a plain ending."""
    word, end = words.folded[index], words.ends[index]
    while index and words.starts[index] - words.starts[index - 1] < 40 and _gap(text, words, index - 1) == "-":
        index -= 1
    start = words.starts[index]
    if text[end : end + 1] == "." and word.endswith("str"):
        end += 1
    after = _NUMBER_AFTER.match(text, end)
    is_street = word.endswith(("strasse", "straat", "gasse", "gatan", "gracht", "gade", "utca"))
    if after is None and not (is_street and _is_capital(text, words, index)):
        return
    number = _HOUSE_BEFORE.search(text, max(0, start - 9), start)
    yield Found(number.start() if number else start, after.end() if after else end, "address")


def _street_apart(text: str, words: Words, index: int) -> Iterator[Found]:
    """Match `Erzsébet tér 19`, `Alte Straße 5`, `Gamle vej 3`, `Piroska u. 97`."""
    end = words.ends[index] + (text[words.ends[index] : words.ends[index] + 1] == ".")
    after = _NUMBER_AFTER.match(text, end)
    if after is None:
        return
    first = index
    while (
        first
        and index - first < 4
        and _gap(text, words, first - 1) in (" ", "-", ". ")
        and _is_capital(text, words, first - 1)
    ):
        if words.folded[first - 1][0].isdigit() or words.folded[first - 1] in _STOP:
            break
        first -= 1
    if first == index:
        return
    number = _HOUSE_BEFORE.search(text, max(0, words.starts[first] - 9), words.starts[first])
    yield Found(number.start() if number else words.starts[first], after.end(), "address")


def _with_tail(text: str, found: Found) -> Found:
    """Extend an address by the flat, the code and the town that follow."""
    start, end = found.start, found.end
    units = _UNITS.match(text, end)
    if units is not None:
        end = units.end()
    tail = _TAIL.match(text, end)
    if tail is not None:
        end = tail.end()
    corner = _CORNER.search(text, max(0, start - 16), start)
    if corner is not None:
        start = corner.start()
        second = _AND_STREET.match(text, end)
        if second is not None:
            other = _CROSSING.match(text, second.end())
            end = other.end() if other is not None else end
    return Found(start, end, "address")


_CROSSING = re.compile(r"[^\W\d_a-zà-ÿ][\w'’-]{1,30}(?: [^\W\d_a-zà-ÿ][\w'’-]{0,30}){0,3}")


# ── Masker ────────────────────────────────────────────────────────────────────────────────────────────────
# Replaces everything that identifies somebody in texts that leave this device, and puts the values back into replies.
#
# `Masker` finds by form ("Pattern finders"), by the owner's own names and by cues (`names`), and by a trained tagger
# if there is one; whatever any of them finds is replaced. `Masked` holds the texts that may leave and restores what
# comes back: exactly what was masked, and in a model's answer also stand-ins that were slightly changed. A stand-in
# that was never given out is an error, and no plan is made from it. Covered: any text (half surrogate pairs,
# look-alike letters, invisible characters, stand-ins in the text itself), in time linear in it; several texts of one
# conversation with one set of stand-ins. Not covered: identity by description ("my sister's new boss"), facts of
# health or belief without a word of their field, names of unknown people if no tagger is installed or it errs, dates,
# ages, jobs and nations unless chosen, how a request is worded, and what the remaining shape gives away: that there
# is a telephone number, how long a card number is.

# ruff: noqa: SIM905 - lists of words read best as words


# ── Stand-ins ──────────────────────────────────────────────────────────────────────────────────────────
# Makes stand-ins that replace values in outgoing texts, of the same kind and shape, and maps them back. A person is
# `Person1` (`person1`, `PERSON1`, as the value is written), a company `Company1`, a place `Place1`, an address
# `Address1`; an e-mail address is one at a domain reserved for examples, a telephone number one of those reserved for
# fiction; a card keeps its length and gets a right check digit; an IBAN keeps its length and gets a right check number
# and a country code that does not exist; a number keeps its count of digits and their grouping; a date of birth is a
# date. They are dull on purpose: a model sees at once that a name was taken out, a plan made of them still passes its
# checks, and none can be mistaken for something said: a stand-in that a text already holds is never given out.
# `unmasked(masked(x)) == x` for any text: every stand-in is a word of its own, no stand-in occurs in the original text,
# and if two should still run into one, all are made anew from letters the text does not hold.
# Covered: a stand-in changed in case, with a genitive `s`, written apart (`Person 1`), with regrouped digits, an
# address without its `https://`, a date written the ISO way. Not covered: a stand-in translated, otherwise inflected
# or split.


DOMAIN = "masked.example"
"""Reserved for examples (RFC 2606)."""
_WORDS = {
    "person": "Person", "organisation": "Company", "place": "Place", "address": "Address", "account": "Id",
    "national_id": "Id", "document": "Id", "plate": "Plate", "secret": "Secret", "coordinates": "Coordinates",
    "file": "File", "group": "Group", **dict.fromkeys(SPECIAL, "Matter"), "title": "Job", "age": "Age", "date": "Date",
}  # fmt: skip
_FAMILIES = sorted(({word.lower() for word in _WORDS.values()} - {"file"}) | {"phone", "card", "iban", "ip", "mac"})
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
_STAND_IN = re.compile(
    rf"(?:https?://)?{_BEFORE}(?P<host>mail|site)(?P<n_host>\d{{1,9}})(?:@|\.){DOMAIN}/?{_AFTER}"
    rf"|{_BEFORE}(?P<word>{'|'.join(_FAMILIES)})(?:(?P<apart>[ _-])(?=\d{{1,3}}(?![ .-]?\d)))?(?P<n_word>\d{{1,9}})(?P<s>s)?{_AFTER}"  # noqa: E501
    rf"|{_BEFORE}file(?P<n_file>\d{{1,9}})(?P<suffix>\.[A-Za-z0-9]{{1,8}})?{_AFTER}"
    rf"|{_BEFORE}(?P<iban>ZZ\d\d(?:[ -]?\d){{8,60}}){_AFTER}"
    rf"|{_BEFORE}(?P<date>190\d-[01]\d-[0-3]\d|[0-3]?\d(?P<d>[./-])[0-3]?\d(?P=d)190\d)(?!\d)"
    r"|(?<![A-Za-z0-9_])(?P<ip>240\.\d{1,3}\.\d{1,3}\.\d{1,3}|"
    r"2001:db8::[0-9a-f]{1,4}(?::[0-9a-f]{1,4})?)(?![A-Za-z0-9_])"
    rf"|{_BEFORE}(?P<mac>02:00:5e:[0-9a-f]{{2}}:[0-9a-f]{{2}}:[0-9a-f]{{2}}){_AFTER}"
    rf"|(?:\+1[ .-]?|\+|{_BEFORE})\(?(?P<phone>[2-9]\d\d\)?[ .-]?555[ .-]?01\d\d){_AFTER}"
    rf"|{_BEFORE}(?P<digits>99\d(?:[ .\-/()]{{0,2}}\d){{3,60}}){_AFTER}",
    re.IGNORECASE | re.ASCII,
)
_AREAS = [str(area) for area in range(201, 990) if str(area)[1:] != "11" and str(area)[1] != "9" and area != 555]
_FIRST_DAYS = [
    dt.date(1900 + year, month, day) for year in range(10) for month in range(1, 13) for day in range(13, 29)
]
"""Days above the twelfth, so that it is clear which number is the month."""

Core = tuple[str, str]
"""Identity of a stand-in, however it is written: its family, and its number or digits."""


def cores_in(text: str) -> set[Core]:
    """Find every stand-in, and whatever looks like one, in a text."""
    return {core for match in _STAND_IN.finditer(text) for core in _cores(match)}


def _cores(match: re.Match[str]) -> list[Core]:
    """The cores of a match; a run of digits may begin with a stand-in, so each of its lengths counts."""
    core = _core(match)
    if core[0] not in ("digits", "iban"):
        return [core]
    return [(core[0], core[1][:n]) for n in range(6, len(core[1]) + 1)]


def _core(match: re.Match[str]) -> Core:
    if match["host"]:
        return match["host"].lower(), match["n_host"].lstrip("0")
    if match["word"]:
        return match["word"].lower(), match["n_word"].lstrip("0")
    if match["n_file"]:
        return "file", match["n_file"].lstrip("0")
    if match["iban"]:
        return "iban", re.sub(r"\D", "", match["iban"])
    if match["date"]:
        return "birth", (_read_date(match["date"]) or dt.date.min).isoformat()
    if match["ip"] or match["mac"]:
        return "machine", (match["ip"] or match["mac"]).lower()
    if match["phone"]:
        return "phone", re.sub(r"\D", "", match["phone"])
    return "digits", re.sub(r"\D", "", match["digits"])


def _read_date(text: str) -> dt.date | None:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    if numbers[0] > 1000:
        year, month, day = numbers
    else:
        day, month, year = numbers
        if month > 12:
            day, month = month, day
    try:
        return dt.date(year, month, day)
    except ValueError:
        return None


# ── Giving them out ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True)
class StandIns:
    """The stand-ins of one conversation: the same value always gets the same one, and no two values share one."""

    taken: set[Core] = field(default_factory=set)
    """Stand-ins that the texts already hold."""
    nonce: str = ""
    """If set, every stand-in is this word and a number: the surest form, and the dullest."""
    country: str = ""
    values: dict[str, str] = field(default_factory=dict)
    """Stand-in, as written → value."""
    kinds: dict[str, str] = field(default_factory=dict)
    """Stand-in → kind."""
    _by_value: dict[tuple[str, str], str] = field(default_factory=dict)
    _by_core: dict[Core, list[str]] = field(default_factory=dict)
    _numbers: dict[tuple[str, str], str] = field(default_factory=dict)
    _forms: dict[tuple[str, str], str] = field(default_factory=dict)
    _next: dict[str, int] = field(default_factory=dict)

    def of(self, kind: str, value: str) -> str:
        """The stand-in of a value."""
        known = self._by_value.get((kind, value))
        if known is not None:
            return known
        stand_in, core = self._made(kind, value)
        self.values[stand_in] = value
        self.kinds[stand_in] = kind
        self._by_value[kind, value] = stand_in
        self._by_core.setdefault(core, []).append(stand_in)
        return stand_in

    def _made(self, kind: str, value: str) -> tuple[str, Core]:
        if self.nonce:
            number = self._number("nonce")
            return f"{self.nonce}{number}", ("nonce", number)
        if kind == "email":
            number = self._number("mail")
            return f"mail{number}@{DOMAIN}", ("mail", number)
        if kind == "url":
            number = self._number("site")
            return f"{'https://' if '://' in value else ''}site{number}.{DOMAIN}", ("site", number)
        if kind in _NUMBERED and (made := self._of_digits(kind, value)) is not None:
            return made
        return self._word(_WORDS.get(kind, kind.capitalize()), value)

    def _word(self, word: str, value: str) -> tuple[str, Core]:
        """Make `Person1`, written as the value is; the same name in other letters gets the same number."""
        family = word.lower()
        if word == "File":
            number = self._number(family)
            suffix = re.search(r"\.[A-Za-z0-9]{1,8}\Z", value)
            return f"File{number}{suffix[0] if suffix else ''}", (family, number)
        form = value.lower() if value.islower() else value.upper() if value.isupper() and len(value) > 1 else ""
        shape = "lower" if form and value.islower() else "upper" if form else "title"
        folded = fold(plain(value).text)
        number = self._numbers.get((family, folded), "")
        if not number or (family, f"{number} {shape}") in self._forms:
            number = self._number(family)
            self._numbers.setdefault((family, folded), number)
        self._forms[family, f"{number} {shape}"] = value
        written = word.lower() if shape == "lower" else word.upper() if shape == "upper" else word
        return f"{written}{number}", (family, number)

    def _number(self, family: str) -> str:
        number = self._next.get(family, 0) + 1
        while (family, str(number)) in self.taken:
            number += 1
        self._next[family] = number
        return str(number)

    def _of_digits(self, kind: str, value: str) -> tuple[str, Core] | None:
        """Make a number of the same shape; None when none is left or the value has another shape."""
        for n in itertools.count(self._next.get(f"#{kind}", 0) + 1):
            self._next[f"#{kind}"] = n
            made = _NUMBERED[kind](n, value, self.country)
            if made is None:
                return None
            core = next((core for match in [_STAND_IN.fullmatch(made)] if match for core in [_core(match)]), None)
            if core is None:
                return None
            if core not in self.taken and core not in self._by_core:
                return made, core
        raise AssertionError("unreachable: counting does not end")

    # ── The way back ──────────────────────────────────────────────────────────────────────────────────────

    def restored(self, text: str) -> tuple[str, list[str]]:
        """Put the value of every stand-in back into a text; also list those in it that were never given out."""
        unknown: list[str] = []
        if not self.values:
            return text, [m[0] for m in _STAND_IN.finditer(text) if not self._is_taken(m)]
        if self.nonce:
            return re.sub(rf"{_BEFORE}{self.nonce}[0-9]+{_AFTER}", self._put_back_nonce(unknown), text), unknown

        def put_back(match: re.Match[str]) -> str:
            exact = self.values.get(match[0])
            if exact is not None:
                return exact
            value = self._value_of(match)
            if value is None:
                if not self._is_taken(match):
                    unknown.append(match[0])
                return match[0]
            return value

        return _STAND_IN.sub(put_back, text), unknown

    def _put_back_nonce(self, unknown: list[str]) -> Callable[[re.Match[str]], str]:
        def put_back(match: re.Match[str]) -> str:
            if match[0] not in self.values:
                unknown.append(match[0])
            return self.values.get(match[0], match[0])

        return put_back

    def _is_taken(self, match: re.Match[str]) -> bool:
        """Return whether a text held it before, or a model may have made it up: a short number, a date, `number 5`."""
        core = _core(match)
        if match["apart"] or (match["word"] and match[0][0].islower()):
            return True
        return core in self.taken or core[0] == "birth" or (core[0] == "digits" and len(core[1]) < 9)

    def _value_of(self, match: re.Match[str]) -> str | None:
        core = _core(match)
        if core[0] in ("digits", "iban") and core not in self._by_core:
            return self._of_longer(match, core)
        written = self._by_core.get(core)
        if not written:
            return None
        chosen = next((one for one in written if one == match[0]), None)
        chosen = chosen or next((one for one in written if one[:1] == match[0][:1]), written[0])
        value = self.values[chosen]
        if core[0] == "birth":
            return _said_like(match[0], value, self.country)
        if match["suffix"]:
            return re.sub(r"\.[A-Za-z0-9]{1,8}\Z", "", value) + match["suffix"]
        if match[0].endswith("/") and not chosen.endswith("/") and not value.endswith("/"):
            return f"{value}/"
        return f"{value}s" if match["s"] else value

    def _of_longer(self, match: re.Match[str], core: Core) -> str | None:
        """Match a run that begins with a stand-in and goes on with other digits set apart."""
        for n in range(len(core[1]) - 1, 5, -1):
            written = self._by_core.get((core[0], core[1][:n]))
            if written:
                seen = 0
                for index, character in enumerate(match[0]):
                    seen += character.isdigit()
                    if seen == n:
                        rest = match[0][index + 1 :]
                        return None if rest[:1].isdigit() else self.values[written[0]] + rest
        return None


def _said_like(written: str, value: str, country: str) -> str:
    """Write a date of birth as its stand-in was written: ISO if that was, else as the owner wrote it."""
    if not re.match(r"\d{4}-", written):
        return value
    date = read_birth_date(value, country)
    return date.isoformat() if date is not None else value


# ── Numbers of a shape ────────────────────────────────────────────────────────────────────────────────────


def _in_shape(value: str, digits: str) -> str:
    """Group `digits` as in `value`."""
    left = iter(digits)
    return "".join(next(left, "") if character.isdigit() else character for character in value)


def _phone(n: int, value: str, country: str) -> str | None:  # noqa: ARG001
    area, last = divmod(n - 1, 100)
    return f"+1 {_AREAS[area + 1]} 555 01{last:02d}" if area + 1 < len(_AREAS) else None


def _number(n: int, value: str, country: str) -> str | None:  # noqa: ARG001
    length = sum(character.isdigit() for character in value)
    head = "9990" if length >= 9 else "99"
    room = length - len(head)
    if length < 7 or len(str(n)) > room or not re.fullmatch(r"[\d .\-/()]+", value) or not value[0].isdigit():
        return None
    if re.search(r"[ .\-/()]{3}", value) or not value.isascii() or not value[-1].isdigit():
        return None
    return _in_shape(value, head + str(n).zfill(room))


def _card(n: int, value: str, country: str) -> str | None:  # noqa: ARG001
    digits = "".join(character for character in value if character.isdigit())
    if len(digits) < 12 or not re.fullmatch(r"\d(?:[ -]?\d)+", value) or not value.isascii():
        return None
    bare = "9999" + str(n).zfill(len(digits) - 5)
    return _in_shape(value, bare + luhn_digit(bare)) if len(bare) == len(digits) - 1 else None


def _iban(n: int, value: str, country: str) -> str | None:  # noqa: ARG001
    length = sum(character.isalnum() for character in value)
    if length < 13:
        return None
    rest = str(n).zfill(length - 4)
    return f"ZZ{iban_digits('ZZ', rest)}{rest}"


def _ip(n: int, value: str, country: str) -> str | None:  # noqa: ARG001
    if n >= 1 << 24:
        return None
    if ":" in value:
        return f"2001:db8::{n & 0xFFFF:x}" if n < 1 << 16 else f"2001:db8::{n >> 16:x}:{n & 0xFFFF:x}"
    return f"240.{n >> 16}.{n >> 8 & 255}.{n & 255}"


def _mac(n: int, value: str, country: str) -> str | None:  # noqa: ARG001
    return f"02:00:5e:{n >> 16:02x}:{n >> 8 & 255:02x}:{n & 255:02x}" if n < 1 << 24 else None


def _birth_date(n: int, value: str, country: str) -> str | None:
    if n > len(_FIRST_DAYS):
        return None
    date = _FIRST_DAYS[n - 1]
    shape = re.fullmatch(r"(\d{1,2})([./-])(\d{1,2})\2\d{2,4}", value)
    if shape is None:
        return date.isoformat()
    is_month_first = int(shape[3]) > 12 or (
        int(shape[1]) <= 12 and (country == "US" or (not country and shape[2] == "/"))
    )
    first, second = (date.month, date.day) if is_month_first else (date.day, date.month)
    return f"{first:02d}{shape[2]}{second:02d}{shape[2]}{date.year}"


_NUMBERED: Mapping[str, Callable[[int, str, str], str | None]] = {
    "phone": _phone,
    "card": _card,
    "iban": _iban,
    "ip": _ip,
    "mac": _mac,
    "birth_date": _birth_date,
    "account": _number,
    "national_id": _number,
    "document": _number,
}


def read_birth_date(text: str, country: str) -> dt.date | None:
    """Read the day that a numeric or English date with a year means; None when that is unclear."""
    numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]
    month = re.search(r"[a-z]{3,}", text.lower())
    try:
        if month is not None and len(numbers) == 2:
            return dt.date(numbers[1], _MONTHS.index(month[0][:3]) + 1, numbers[0])
        if len(numbers) != 3 or month is not None:
            return None
        if numbers[0] > 1000:
            return dt.date(*numbers)
        first, second, year = numbers
        year += 0 if year > 99 else 1900 if year > 25 else 2000
        is_month_first = second > 12 or (first <= 12 and (country == "US" or (not country and "/" in text)))
        return dt.date(year, first, second) if is_month_first else dt.date(year, second, first)
    except (ValueError, TypeError):
        return None


_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]


# ── Kinds and ranks ───────────────────────────────────────────────────────────────────


Tag = Callable[[Sequence[str]], list[list[Found]]]
"""A trained tagger: finds names in plain texts, with the kinds of `config.MASK_KINDS`."""

_RANKS = {
    kind: rank
    for rank, kind in enumerate(
        "iban card email url mac ip coordinates national_id document birth_date address phone secret account plate "
        "file "
        "person organisation health religion politics sexuality union ethnicity finance children law "
        "place date age group title".split()
    )
}
"""Rank of each kind: of overlapping spans, the kind that comes first here names the joined span."""
_UNSPACED = "\u0e00"
"""From this character on, scripts mostly write words without spaces between them."""


# ── What may leave, and the way back ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Masked:
    """Texts that may leave the device, with the stand-ins that restore them."""

    texts: tuple[str, ...]
    stand_ins: StandIns
    """Stand-ins and their values; never leave the device."""

    @property
    def text(self) -> str:
        """The text, when there is only one."""
        (text,) = self.texts
        return text

    @property
    def values(self) -> Mapping[str, str]:
        """Stand-in → the value it replaces."""
        return self.stand_ins.values

    def everywhere(self) -> Masked:
        """Return the texts without any value that has a stand-in: a name alone is not always found where it stands."""
        by_value = {value.casefold(): name for name, value in self.values.items() if len(value.strip()) > 1}
        if not by_value:
            return self

        def put(found: re.Match[str]) -> str:
            return found[0] if found[0] in self.values else by_value.get(found[0].casefold(), found[0])

        words = "|".join(map(re.escape, sorted({*self.values, *by_value}, key=len, reverse=True)))
        held = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
        return replace(self, texts=tuple(held.sub(put, text) for text in self.texts))

    def unmask(self, text: str) -> str:
        """Return `text` with the value of every stand-in put back."""
        return self.stand_ins.restored(text)[0]

    def restore(self, text: str, who: str) -> str:
        """Put the values back into a text by `who`, a model.

        Raises:
            UnknownStandInError: The text names one that was never given out.
        """
        restored, unknown = self.stand_ins.restored(text)
        if unknown:
            given = ", ".join(list(self.values)[:8]) or "none"
            raise UnknownStandInError(
                f"{who!r} speaks of {unknown[0]!r}, which stands for nothing it was told (it was given: {given}); "
                "its answer is not used. Ask again, or use a larger model"
            )
        return restored

    def unmask_answer(self, answer: Plan | Refusal) -> Plan | Refusal:
        """Put the owner's values back into a plan or refusal for the masked text. Raises: UnknownStandInError."""
        who = answer.planner or "the planner"
        if isinstance(answer, Refusal):
            return replace(answer, reason=self.restore(answer.reason, who))
        steps = tuple(
            replace(
                step,
                arguments={name: self._restored(value, who) for name, value in step.arguments.items()},
                text=self.restore(step.text, who),
            )
            for step in answer.steps
        )
        return replace(answer, steps=steps, unserved=tuple(self.restore(part, who) for part in answer.unserved))

    def _restored(self, value: Argument, who: str) -> Argument:
        if isinstance(value, str):
            return self.restore(value, who)
        if isinstance(value, list):
            return [self._restored(item, who) for item in value]
        if isinstance(value, dict):
            return {self.restore(key, who): self._restored(item, who) for key, item in value.items()}
        return value

    def names(self) -> Context:
        """Context for a planner about the owner's world: the stand-ins of people, and nothing else."""
        people = (name for name, kind in self.stand_ins.kinds.items() if kind == "person")
        return Context(entities=tuple(Entity(name, "person") for name in people))

    def request(self, request: Request) -> Request:
        """Return `request` as it may leave: its masked text, without the caller's id."""
        return replace(request, text=self.text, id="")


# ── Masking ───────────────────────────────────────────────────────────────────────────────────────────────


class Masker:
    """Replaces everything that identifies somebody."""

    def __init__(
        self,
        kinds: Iterable[str] = MASKED_KINDS,
        *,
        names: OwnerNames | None = None,
        tag: Tag | None = None,
        country: str = "",
        forms: bool = True,
        keep: Iterable[str] = (),
    ) -> None:
        """Keep the settings; nothing is read yet.

        Args:
            kinds: Kinds to replace; see `config.MASK_KINDS`.
            names: The owner's own names.
            tag: The trained tagger; without one, names of unknown people are found by cues alone.
            country: The owner's country, for numbers and dates; may be empty.
            forms: Whether to find by form; without it, only names and tagger count (for measuring).
            keep: Words that stay even if a tagger takes them for names.
        """
        self.kinds = frozenset(kinds)
        self._names = names
        self._tag = tag
        self._country = country
        self._forms = forms
        self._keep = frozenset(word.casefold() for word in keep)

    def masker(self) -> Masker:
        """Return itself: the names of this masker do not change."""
        return self

    def mask(self, *texts: str, told: Sequence[bool] = (), kinds: Sequence[str] = ()) -> Masked:
        """Mask the texts of one conversation, in order. The same value has the same stand-in in all of them.

        Args:
            told: For each text, whether it is part of a model's instructions: there only the owner's names count, and
                not where they are part of a tool's name. Without it, no text is.
            kinds: For each text, the kind that it is as a whole, or "": replaced even where nothing is found in it.
        """
        found = [self._told(text) if told and told[index] else self.find(text) for index, text in enumerate(texts)]
        taken = set().union(*(cores_in(text) for text in texts))
        stand_ins = StandIns(taken, country=self._country)
        masked = tuple(_replaced(text, spans, stand_ins) for text, spans in zip(texts, found))
        if any(stand_ins.restored(out) != (text, []) for text, out in zip(texts, masked)):
            stand_ins = StandIns(taken, _nonce(texts), self._country)
            masked = tuple(_replaced(text, spans, stand_ins) for text, spans in zip(texts, found))
        if kinds:
            masked = tuple(
                stand_ins.of(kind, text) if kind and text == out and text.strip() else out
                for text, out, kind in zip(texts, masked, kinds, strict=True)
            )
        return Masked(masked, stand_ins)

    def _told(self, text: str) -> list[Found]:
        own = Masker(self.kinds, names=self._names, forms=False)
        return [one for one in own.find(text) if "_" not in text[one.start : one.end]]

    def find(self, text: str) -> list[Found]:
        """Find the spans to replace: disjoint, in order, of whole words."""
        read = plain(text)
        said = words(read.text)
        found: list[Found] = []
        if self._forms:
            found += find_identifiers(read.text, said, self._country, dates="date" in self.kinds)
            found += find_postal(read.text, said)
            if not self.kinds.isdisjoint(SPECIAL):
                found += find_special(read.text, said)
            if "person" in self.kinds:
                found += find_cued_names(read.text, said)
        if self._names:
            found += self._names.find(read.text, said)
        if self._tag is not None:
            tagged = _without_numbers_known_better(self._tag([read.text])[0], found)
            found += without_harmless(read.text, tagged, found)
        kept = [one for one in found if one.kind in self.kinds and one.end > one.start]
        if self._keep:
            kept = [
                one for one in kept if one.by == "owner" or read.text[one.start : one.end].casefold() not in self._keep
            ]
        if read.places is not None:
            kept = [Found(*read.original(one.start, one.end), one.kind, one.by) for one in kept]
        return _apart(text, kept)


def _without_numbers_known_better(tagged: Sequence[Found], found: Sequence[Found]) -> list[Found]:
    """Keep tagged names, and those tagged numbers that overlap no span found by form."""
    known = sorted((one.start, one.end) for one in found)
    ends = list(itertools.accumulate((end for _, end in known), max))
    kept = []
    for one in tagged:
        place = bisect.bisect_left(known, (one.end, 0))
        if one.kind != "account" or place == 0 or ends[place - 1] <= one.start:
            kept.append(one)
    return kept


def _apart(text: str, found: Collection[Found]) -> list[Found]:
    """Join spans that overlap and widen them to whole words, so that each stand-in is a word of its own."""
    if not found:
        return []
    joined: list[Found] = []
    for one in sorted(found, key=lambda one: (one.start, -one.end)):
        last = joined[-1] if joined else None
        if last is not None and one.start < last.end:
            best = min(last, one, key=lambda f: (_RANKS.get(f.kind, 99), f.start - f.end))
            joined[-1] = Found(last.start, max(last.end, one.end), best.kind, best.by)
        else:
            joined.append(one)
    whole: list[Found] = []
    for one in joined:
        start, end = _trimmed(text, one.start, one.end)
        if start >= end:
            continue
        low = whole[-1].end if whole else 0
        if end <= low:
            continue
        start = max(start, low)
        while start > low and _is_word(text[start - 1]):
            start -= 1
        while end < len(text) and _is_word(text[end]):
            end += 1
        if whole and start == low:  # if side by side, their stand-ins would run into one word
            whole[-1] = whole[-1]._replace(end=max(low, end))
        else:
            whole.append(Found(start, end, one.kind, one.by))
    return whole


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and (text[start].isspace() or text[start] in ",;>|"):
        start += 1
    return start, end


def _is_word(character: str) -> bool:
    return (character.isalnum() or character == "_") and character < _UNSPACED


def _replaced(text: str, spans: Sequence[Found], stand_ins: StandIns) -> str:
    parts: list[str] = []
    at = 0
    for span in spans:
        parts += [text[at : span.start], stand_ins.of(span.kind, text[span.start : span.end])]
        at = span.end
    return "".join([*parts, text[at:]])


def _nonce(texts: Sequence[str]) -> str:
    """Make up a word that none of the texts holds."""
    folded = [text.casefold() for text in texts]
    for letters in itertools.product("bcdfghjklmnpqrstvwxz", repeat=5):
        word = f"X{''.join(letters)}"
        if not any(word.casefold() in text for text in folded):
            return word
    raise AssertionError("unreachable: no text holds every word of five letters")


# ── The mask of a home ─────────────────────────────────────────────────────────────────────────────────


_KINDS = {"identifier": "account"}
"""Kinds of the tagger → the names masking has for them."""


def shipped_tag(cache_dir: Path | None = None) -> Tag | None:
    """The tagger that comes with Hearth, loaded on first use; None if its file is missing.

    Raises:
        ConfigError, MissingExtraError: (on use) Its file is damaged, or the encoder's weights are absent.
    """
    if not TAGGER_FILE.exists():
        return None

    def tag(texts: Sequence[str]) -> list[list[Found]]:
        return [
            [Found(span.start, span.end, _KINDS.get(span.kind, span.kind), "tagger") for span in spans]
            for spans in Tagger.shipped(cache_dir).spans(texts)
        ]

    return tag


class OwnersMask:
    """The mask for one home and one destination, with the owner's names as they are now."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        kinds: Sequence[str],
        *,
        tag: Tag | None = None,
        names: Sequence[OwnName] = (),
    ) -> None:
        """Keep the settings; nothing is read yet.

        Args:
            tag: A trained tagger; see `Masker`.
            names: Names to find beside those of contacts, calendar and settings.
        """
        self._workspace = workspace
        self._settings = settings
        self._kinds = tuple(kinds)
        self._tag = tag
        self._more = tuple(names)
        self._names: tuple[tuple[OwnName, ...], OwnerNames] | None = None

    def masker(self) -> Masker:
        """Read the names again; the finder is rebuilt only if they changed."""
        names = (*gathered(self._workspace, self._settings), *self._more)
        if self._names is None or self._names[0] != names:
            self._names = (names, OwnerNames(names, self._settings.mask.keep))
        return Masker(
            self._kinds,
            names=self._names[1],
            tag=self._tag,
            country=self._settings.owner.country,
            keep=self._settings.mask.keep,
        )
