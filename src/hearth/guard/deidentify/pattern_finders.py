"""Finds personal data and secrets by their form: mail and network addresses, numbers, keys, postal addresses.

Every finder reads a plain text (`finder_text.Plain.text`) and its words, and takes time linear in it.
Covered: e-mail (also `name [at] host [dot] org`), web addresses and bare domains, IP and MAC addresses, phone numbers
of any country with a `+`, of the owner's country and of those around it without, IBANs in any case and spacing, cards
and any 13 to 19 digits, national numbers whose form is plain or whose cue is said, accounts, passports, licences,
plates and keys after their cue words in English, German, French, Spanish, Italian, Dutch and Portuguese, pass phrases
and codes by what is said of them, coordinates, dates; addresses of mail and six figures or more as they are dictated.
Not covered: a short number without a cue or an unmistakable form, handles of social networks. Order, invoice and
tracking numbers are left alone: they identify somebody to a shop, and to nobody else.

Postal addresses are found by the form of the words: street names before, around or after their number in English,
German, Dutch, Danish, Swedish, Norwegian, Finnish, French, Spanish, Portuguese, Italian, Polish, Czech, Hungarian,
Greek and Turkish; flats and suites; post boxes and military post; postal codes if their form is plain (GB, CA, NL,
`D-12345 Town`) or announced; the lines of flat, town, country and code that follow a street. Every form begins at a
word for `street` in some language, or at a number, and covers a bounded stretch. Not covered: streets named without
such a word or number, towns alone.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import re
from collections.abc import Iterator

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
from hearth.language.text.finder_text import Found, Words, fold
from hearth.language.values.contact_ids import find_online

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


_AFTER = (  # `12 Main Street`
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
_BEFORE = (  # `Rue de la Paix 5`
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
_AFTER_SET, _BEFORE_SET = frozenset(map(fold, _AFTER)), frozenset(map(fold, _BEFORE))
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
