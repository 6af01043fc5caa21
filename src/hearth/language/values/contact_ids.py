"""Finds by form what somebody is reached by: addresses of mail, pages and machines, also dictated ones, and file names;
tells whether a run of digits is a phone number. For requests `identifiers` finds such values typed and ready to use.

Whether a run of digits is a phone number is told by its form, by numbering plans, by the word before it. Covered:
international form with `+` or `00` for every country; national and local forms of the owner's country and its
neighbours (of common countries if the owner's is not known); any plausible form after a cue word.
Not covered: short codes (112, 22 33 44 without a cue).
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Iterator

from hearth import patterns as re
from hearth.language.text.finder_text import Found, Words

# ── Mail, pages, machines, files ──────────────────────────────────────────────────────────────────────


def find_online(text: str, words: Words) -> list[Found]:
    """Find addresses of mail, pages and machines, and names of files."""
    found: list[Found] = []
    if "@" in text or ((")" in text or "]" in text or "}" in text) and _AT_WORD.search(text)):
        found += _mails(text)
    if _DOTTED.search(text):
        found += _sites(text)
        if _EXTENSION.search(text):
            files = (m for m in _FILE.finditer(text) if not _ANY_FILE.fullmatch(m[0]))
            found += (Found(m.start(), m.end(), "file") for m in files)
    n_colons = text.count(":")
    if n_colons > 1 or text.count("-") > 4:
        found += _machines(text, n_colons)
    if not _SPOKEN.isdisjoint(words.folded):
        found += _spoken(words)
    return found


_DOTTED = re.compile(r"\.\w|://")
_LOCAL = re.compile(r"[\w.%+'!#$&*/=?^`{|}~-]+\Z")
_HOST = re.compile(r"(?:\w(?:[\w-]{0,62}\w)?\.){1,8}[^\W\d_](?:[\w-]{0,22}\w)|\[[0-9a-fA-F:.]{2,45}\]")
_AT_WORD = re.compile(r"[\[({] ?at ?[\])}]", re.IGNORECASE)
_SPELT = re.compile(
    r"[\w.+-]{1,64} ?[\[({] ?at ?[\])}] ?[\w-]{1,63}(?:(?: ?[\[({] ?dot ?[\])}] ?|\.)[\w-]{2,63}){1,5}", re.IGNORECASE
)


def _mails(text: str) -> Iterator[Found]:
    at = text.find("@")
    while at >= 0:
        host = _HOST.match(text, at + 1)
        local = _LOCAL.search(text, max(0, at - 64), at)
        if host is not None and local is not None:
            start = local.start() + len(local[0]) - len(local[0].lstrip("'.`{|/*=?&!#"))
            if text[max(0, start - 7) : start].lower() == "mailto:":
                start -= 7
            if start < at:
                yield Found(start, host.end(), "email")
        at = text.find("@", at + 1)
    if _AT_WORD.search(text):
        for match in _SPELT.finditer(text):
            yield Found(match.start(), match.end(), "email")


_URL = re.compile(r"(?:[a-zA-Z][a-zA-Z+.-]{1,9}://|(?<![\w.@-])www\d?\.)[^\s<>\"“”«»]{1,4000}")
_TLDS = frozenset(
    "com org net edu gov mil int info biz name io dev app ai cloud page wiki blog shop store online site tech xyz "
    "club live "
    "email news media agency digital studio design world space website example test invalid local onion london "
    "berlin paris "
    "de uk fr nl es ch at be it pl se dk fi no pt ie cz sk hu ro bg gr hr si rs lt lv ee lu li is ru ua by tr il ae "
    "sa eg "
    "ma tn ng ke za gh et jp cn hk tw kr in pk bd lk th vn ph id sg my au nz ca mx br ar cl co pe uy ve eu asia us "
    "tv cc "
    "me gg fm la ws sh vc ly gl st im mobi travel museum jobs post tel cat bank law pro".split()
)
_WORDS_TOO = frozenset(
    "it at be in is no my me us to so am by id name post live news world space design law pro la".split()
)
"""Top-level domains that are words: after a full stop without a space they count only in a host of several names."""
_DOMAIN = re.compile(
    r"(?<![\w@.+-])(?:[^\W_][\w-]{0,62}\.){1,8}([^\W\d_]{2,24})(?![\w@-])(?::\d{2,5}(?!\d))?(?:[/?#][^\s<>\"“”«»]{0,2000})?"
)


def _sites(text: str) -> Iterator[Found]:
    for match in _URL.finditer(text) if "://" in text or "www" in text.lower() else ():
        yield Found(match.start(), match.start() + len(unpunctuated(match[0])), "url")
    for match in _DOMAIN.finditer(text):
        tld, host = match[1].lower(), match[0].partition("/")[0]
        if tld not in _TLDS:
            continue
        if tld in _WORDS_TOO and host.count(".") < 2 and not (host.islower() and len(host) > 6 and match[1] == tld):
            continue
        yield Found(match.start(), match.start() + len(unpunctuated(match[0])), "url")


def unpunctuated(run: str) -> str:
    """Strip the punctuation of the sentence around it; a closing bracket stays when its opening one is inside."""
    while run:
        last = run[-1]
        if last in ".,;:!?'’*`…|\\" or (last in ")]}" and run.count(last) > run.count("([{"[")]}".index(last)])):
            run = run[:-1]
        elif run.endswith(("'s", "’s")):
            run = run[:-2]
        else:
            break
    return run


_EXTENSIONS = (
    "pdf|txt|md|rtf|docx?|odt|pages|xlsx?|ods|csv|tsv|pptx?|odp|html?|xml|jsonl?|ya?ml|toml|ini|log|tex|bib|epub|ics|vcf|"
    "eml|mbox|msg|jpe?g|png|gif|bmp|tiff?|heic|webp|svg|psd|mp3|wav|flac|ogg|m4a|aac|mp4|mkv|avi|mov|webm|mpe?g|zip|tar|gz|"
    "7z|rar|iso|sqlite|db|ipynb|kdbx|pem|crt|key|bak"
)
_EXTENSION = re.compile(rf"\.(?:{_EXTENSIONS})(?![\w@])", re.IGNORECASE)
_FILE = re.compile(
    rf"(?<![\w.~+@%/\\-])(?:(?:~|\.{{1,2}})?/|"
    rf"[A-Za-z]:\\)?(?:[\w.~+@%-]{{1,100}}[/\\]){{0,12}}[\w(][\w.+@()-]{{0,120}}\.(?:{_EXTENSIONS})(?![\w@])",
    re.IGNORECASE,
)
_ANY_FILE = re.compile(
    r"(?:example|sample|test|demo|image|img|photo|picture|pic|audio|video|file|document|doc|text|input|output|data|recording|"
    r"song|music|movie|clip|speech|voice|sound|content|untitled|screenshot|logo|background|readme|index|report|notes|table|"
    r"presentation|slides|invoice|summary)[\d_-]{0,6}\.\w{2,8}",
    re.IGNORECASE,
)
"""Matches file names that anybody may have: they identify nobody, and plans need them."""
IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d|[^\W\d_])(?:/\d{1,2}(?!\d))?")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}(?:[0-9a-fA-F]{0,4}|(?:\d{1,3}\.){3}\d{1,3})(?![\w:])")
_MAC = re.compile(r"(?<![\w:-])(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4,6}[0-9a-fA-F]{2}(?![\w:-])")


def _machines(text: str, n_colons: int) -> Iterator[Found]:
    for match in _MAC.finditer(text):
        yield Found(match.start(), match.end(), "mac")
    if "::" in text or n_colons >= 7:
        for match in _IPV6.finditer(text):
            if is_address(match[0]) and len(match[0]) > 3:
                yield Found(match.start(), match.end(), "ip")


@functools.lru_cache(maxsize=1_000)
def is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# ── As it is dictated ─────────────────────────────────────────────────────────────────────────────────────

_SPOKEN_DOTS = frozenset("dot punkt point punto".split())
_SPOKEN_ATS = frozenset("at arobase arroba chiocciola klammeraffe".split())
_SPOKEN_DIGITS = frozenset(
    "zero oh one two three four five six seven eight nine double triple null eins zwei zwo drei vier funf sechs "
    "sieben acht neun un deux trois quatre cinq sept huit neuf cero uno dos tres cuatro cinco seis siete ocho nueve "
    "due tre quattro cinque sei sette otto nove".split()
)
_SPOKEN = _SPOKEN_DOTS | _SPOKEN_DIGITS
_LEAST_SPOKEN = 6


def _spoken(words: Words) -> Iterator[Found]:
    """Find dictated addresses and numbers of six or more figures: `mia dot berger at berger dot de`, `zero three zero
    two double one …`.
    """
    folded, starts, ends = words.folded, words.starts, words.ends
    for at, word in enumerate(folded):
        if word in _SPOKEN_ATS and at and at + 3 <= len(folded) - 1 and folded[at + 2] in _SPOKEN_DOTS:
            first, last = at - 1, at + 1
            while first > 1 and folded[first - 1] in _SPOKEN_DOTS | {"underscore", "dash", "minus", "hyphen"}:
                first -= 2
            while last + 2 < len(folded) and folded[last + 1] in _SPOKEN_DOTS:
                last += 2
            yield Found(starts[first], ends[last], "email")
    at = 0
    while at < len(folded):
        last = at
        while last < len(folded) and (
            folded[last] in _SPOKEN_DIGITS or (last > at and folded[last].isdigit() and len(folded[last]) < 3)
        ):
            last += 1
        if (
            last - at >= _LEAST_SPOKEN
            and len(set(folded[at:last])) > 2
            and not _COUNTING.search(" ".join(folded[at:last]))
        ):
            yield Found(starts[at], ends[last - 1], "phone" if last - at < 13 else "card")
        at = max(last, at + 1)


_COUNTING = re.compile(
    r"\b(?:one two three four|four three two one|eins zwei drei vier|un deux trois quatre|uno dos tres cuatro)\b"
)
"""Matches counting aloud, which is not a number."""


# ── Phone numbers ─────────────────────────────────────────────────────────────────────────────────────


_AROUND: dict[str, str] = {
    "DE": "AT CH NL BE LU FR DK PL CZ",
    "AT": "DE CH IT HU SI CZ SK LI",
    "CH": "DE AT FR IT LI",
    "FR": "BE CH DE ES IT LU MC GB",
    "BE": "NL FR DE LU",
    "NL": "BE DE",
    "LU": "BE DE FR",
    "GB": "IE FR",
    "IE": "GB",
    "ES": "PT FR",
    "PT": "ES",
    "IT": "CH FR AT SI",
    "US": "CA MX",
    "CA": "US",
    "MX": "US",
    "AU": "NZ",
    "NZ": "AU",
    "DK": "SE DE NO",
    "SE": "NO DK FI",
    "NO": "SE DK",
    "FI": "SE EE",
    "PL": "DE CZ SK",
    "CZ": "DE AT PL SK",
    "IN": "PK BD",
}
_COMMON = "US GB DE FR ES IT NL AT CH BE IE PT SE NO DK FI PL CZ HU AU NZ IN BR MX JP".split()
_NORTH_AMERICAN = re.compile(
    r"(?:(?:\+|00)?1[ .-]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[ .-])\d{3}[ .-]\d{4}(?: ?(?:x|ext\.?) ?\d{1,6})?\Z", re.I
)
_DASHED = re.compile(r"(?:\d{2,4}-){2,4}\d{2,4}\Z|\d{3}-\d{4}\Z|\(\d{2,5}\)[ -]?\d{2,4}(?:[ -]\d{2,5}){1,3}\Z")
"""Groups separated by hyphens, or after a code in brackets."""
_EXTENSION_NUMBER = re.compile(r" ?(?:x|ext\.?|extension|durchwahl|app\.?) ?\d{1,6}\Z", re.I)
_GROUPED = re.compile(r"[1-9]\d{0,2}([ .\u00a0\u202f])\d{3}(?:\1\d{3})*\Z")


@functools.lru_cache(maxsize=4_000)
def is_phone(run: str, country: str, *, is_cued: bool, is_international: bool) -> bool:
    """Return whether a run of digits with its separators is a phone number.

    Args:
        country: The owner's country, ISO 3166; may be empty.
        is_cued: A word such as `call` or `Tel.` stands before it.
        is_international: The run begins with `+` or `00`.
    """
    bare = _EXTENSION_NUMBER.sub("", run)
    digits = re.sub(r"\D", "", bare)
    if is_international:
        return 7 <= len(digits) <= 17
    if is_cued:
        return 6 <= len(digits) <= 17
    if bare != run and len(digits) >= 6:
        return True
    if _NORTH_AMERICAN.match(run) or _DASHED.match(run):
        return True
    if not 7 <= len(digits) <= 14:
        return False
    if _GROUPED.match(run):  # 612 345 678 may also be an amount
        return country in _NO_TRUNK and len(digits) >= 9 and _is_valid(bare, country)
    has_trunk = digits[0] == "0" or bare[0] == "("
    n_groups = len(re.findall(r"\d+", bare))
    if not has_trunk and not (country in _NO_TRUNK and len(digits) >= 8) and not (n_groups >= 3 and len(digits) >= 9):
        return False
    regions = [country, *_AROUND.get(country, "").split()] if country else _COMMON
    return any(_is_valid(bare, region) for region in regions)


_NO_TRUNK = frozenset({"US", "CA", "NO", "DK", "ES", "PL", "CZ", "PT", "GR", "MX", "IN"})
"""Countries whose national numbers do not begin with 0."""


def _is_valid(run: str, region: str) -> bool:
    import phonenumbers  # 20 ms; most texts hold no phone number

    try:
        return bool(phonenumbers.is_valid_number(phonenumbers.parse(run, region)))
    except phonenumbers.NumberParseException:
        return False
