"""Finds what names a person or opens a door by its form: addresses of mail and machines, numbers, keys, dates of birth.

Every finder reads a plain text (`plain.Plain.text`) and its words, and takes time linear in it.
Covered: e-mail (also `name [at] host [dot] org`), web addresses and bare domains, IP and MAC addresses, phone numbers
of any country with a `+`, of the owner's country and of those around it without, IBANs in any case and spacing, cards
and any 13 to 19 digits, national numbers whose form is plain or whose cue is said, accounts, passports, licences,
plates and keys after their cue words in English, German, French, Spanish, Italian, Dutch and Portuguese, coordinates,
dates; addresses of mail and six figures or more as they are dictated.
Not covered: a short number without a cue or a telling form, handles of social networks.
Order, invoice and tracking numbers are left alone: they tell a shop who somebody is, and nobody else.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import functools
import ipaddress
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hearth.guard.phones import is_phone
from hearth.guard.plain import Words, fold


class Found(NamedTuple):
    """A stretch of a text that tells something. A tuple: many are made, and a frozen dataclass takes thrice as long."""

    start: int
    end: int
    kind: str
    """One of `config.MASK_KINDS`."""
    by: str = "form"
    """Which finder: `form`, `owner` (the owner's own names) or `tagger`."""


def find_identifiers(text: str, words: Words, country: str = "", *, dates: bool = True) -> list[Found]:
    """What stands in a plain text; stretches may overlap.

    Args:
        words: `plain.words(text)`.
        country: The owner's, ISO 3166, for phone numbers without a country; may be empty.
        dates: Whether also dates that are nobody's birthday are looked for.
    """
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
    cues = [] if _CUE_KEYS.isdisjoint(words.folded) else _cues(words)
    if cues:
        found += _after_cues(text, cues)
    if max(map(len, text.split()), default=0) >= 20 and _LONG_MIX.search(text):
        found += _keys(text)
    if _DIGIT.search(text):
        if not all(word.isalpha() or word.isdigit() for word in words.folded) or _GLUED.search(text):
            found += _lettered(text)
        found += _numbers(text, cues, country)
        if dates or any(kind == "birth_date" for kind, _, _ in cues):
            found += _dates(text, words, cues)
    return found


_DIGIT = re.compile(r"\d")
_DOTTED = re.compile(r"\.\w|://")
_GLUED = re.compile(r"[A-Z][ -]\d{2}|\d{8}[- ][A-Za-z]")

# ── Mail, web, machines ───────────────────────────────────────────────────────────────────────────────────

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
"""Domains that are words: after a full stop without a space they count only in a host of several names."""
_DOMAIN = re.compile(
    r"(?<![\w@.+-])(?:[^\W_][\w-]{0,62}\.){1,8}([^\W\d_]{2,24})(?![\w@-])(?::\d{2,5}(?!\d))?(?:[/?#][^\s<>\"“”«»]{0,2000})?"
)


def _sites(text: str) -> Iterator[Found]:
    for match in _URL.finditer(text) if "://" in text or "www" in text.lower() else ():
        yield Found(match.start(), match.start() + len(_unpunctuated(match[0])), "url")
    for match in _DOMAIN.finditer(text):
        tld, host = match[1].lower(), match[0].partition("/")[0]
        if tld not in _TLDS:
            continue
        if tld in _WORDS_TOO and host.count(".") < 2 and not (host.islower() and len(host) > 6 and match[1] == tld):
            continue
        yield Found(match.start(), match.start() + len(_unpunctuated(match[0])), "url")


def _unpunctuated(run: str) -> str:
    """Without the punctuation of the sentence around it; a closing bracket stays when its opening one is inside."""
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
"""Names that anybody's file has: they tell nothing, and plans need them."""
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\d|[^\W\d_])(?:/\d{1,2}(?!\d))?")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}(?:[0-9a-fA-F]{0,4}|(?:\d{1,3}\.){3}\d{1,3})(?![\w:])")
_MAC = re.compile(r"(?<![\w:-])(?:[0-9a-fA-F]{2}([:-]))(?:[0-9a-fA-F]{2}\1){4,6}[0-9a-fA-F]{2}(?![\w:-])")


def _machines(text: str, n_colons: int) -> Iterator[Found]:
    for match in _MAC.finditer(text):
        yield Found(match.start(), match.end(), "mac")
    if "::" in text or n_colons >= 7:
        for match in _IPV6.finditer(text):
            if _is_address(match[0]) and len(match[0]) > 3:
                yield Found(match.start(), match.end(), "ip")


@functools.lru_cache(maxsize=1_000)
def _is_address(text: str) -> bool:
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
    """`mia dot berger at berger dot de`, `zero three zero two double one …`: six figures and more."""
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
"""Somebody counts."""


# ── What a cue announces ──────────────────────────────────────────────────────────────────────────────────

_CUE_WORDS = {
    "phone": "phone phones telephone tel telefon telefono téléphone teléfono telefoon telefone mobile mobil mobiltelefon "  # noqa: E501
    "móvil movil handy handynummer telefonnummer mobilnummer rufnummer portable cell cellphone cellular fax telefax "
    "landline "
    "whatsapp sms buzz pager helpline extension ext text call calls called calling ring dial dialing desk hotline "
    "festnetz celular cellulare "
    "contact reach appelle appelez llama llámame ruf anrufen bel chiama ligue tlf tfn puh",
    "card": "card cards creditcard debit visa mastercard amex maestro kreditkarte karte carte tarjeta carta cartão kaart",  # noqa: E501
    "account": "account accounts acct konto kontonummer compte cuenta conto rekening conta kundennummer kundennr kunden "  # noqa: E501
    "client customer member membership mitgliedsnummer mitglied policy versicherungsnummer versichertennummer "
    "insurance "
    "patient iban bic swift routing blz sort sortcode bsb ifsc aba meter zählernummer contract vertragsnummer "
    "abonnement subscriber loyalty medicare medicaid employee staff student matrikelnummer matriculation "
    "personalnummer badge wallet vin imei iccid serial payroll pensioner",
    "national_id": "ssn social ssn sozialversicherungsnummer steuernummer steuer-id steuerid steueridentifikationsnummer "  # noqa: E501
    "tin ein itin tax nino nhs bsn sofinummer pesel nif nie dni cpf cnpj curp rfc aadhaar aadhar pan personnummer "
    "personalausweis personalausweisnummer ausweisnummer fødselsnummer cpr hetu codice fiscale sin ahv nir id identity "
    "identification identité identidad cédula cedula rut vat ustid ust-id umsatzsteuer-id uid siret siren cic",
    "document": "passport passports passeport reisepass reisepassnummer passnummer pasaporte passaporto paspoort "
    "passaporte licence license licenses licences dl driver drivers driver's führerschein führerscheinnummer permis "
    "patente licencia carnet rijbewijs carta conduire visa permit residence aufenthaltstitel",
    "plate": "plate plates numberplate registration kennzeichen nummernschild immatriculation matrícula matricula targa "  # noqa: E501
    "kenteken matrikel reg",
    "secret": "password passwords passwort kennwort passwd pwd passcode passphrase pin pincode puk cvv cvc cvv2 otp code "  # noqa: E501
    "codes secret token apikey api key keys bearer credentials contraseña clave motdepasse wachtwoord senha tan mdp "
    "zugangscode",
    "birth_date": "born birth birthday birthdate birthdays dob bday geboren geburtstag geburtsdatum geb né née naissance "  # noqa: E501
    "anniversaire nacido nacida nacimiento cumpleaños nato nata nascita compleanno geboortedatum verjaardag nascido "
    "nascida "
    "nascimento bornon",
}
_CUE_WORDS["number"] = "number numbers nummer numero número numéro nr"
"""A phone's, unless another cue stands before it."""
_CUES: dict[str, tuple[str, ...]] = {}
for _kind, _said in _CUE_WORDS.items():
    for _word in _said.split():
        _CUES[fold(_word)] = (*_CUES.get(fold(_word), ()), _kind)

_CUE_KEYS = frozenset(_CUES)

Cues = Sequence[tuple[str, int, int]]
"""Kind, start and end of each cue word, in order."""


def _cues(words: Words) -> list[tuple[str, int, int]]:
    return [
        (kind, words.starts[index], words.ends[index])
        for index, word in enumerate(words.folded)
        if word in _CUES
        for kind in _CUES[word]
    ]


_BETWEEN = (
    r"(?:[ \t]{0,8}(?:'s|s)?[ \t]{0,8}(?:\((?:[^()\n]{0,20})\))?[ \t]{0,8}(?:number|numbers|num|nummer|nr|no|numero|"
    r"número|numéro|code|id|"
    r"identifier|card|#|n°|nº|security|licen[cs]e|plate|plates|registration|key|account|acct)\b\.?){0,3}"
    r"[ \t]{0,8}(?:is|was|are|be|ist|lautet|est|es|è|é|of|von|=>|=|:|#|-|–|\(|,)?[ \t]{0,8}(?:[:#=(]|is|"
    r"to)?[ \t]{0,8}\n?[ \t]{0,8}[\"'“‘`]?"
)
_JOIN = re.compile(_BETWEEN, re.IGNORECASE)
_NUMBERED = re.compile(
    r"number|num\b|nummer|nr|no\b|\bn[°ºr]|numero|número|numéro|[:#=]|\bis\b|\bist\b|\bid\b|\best?\b|code",
    re.IGNORECASE,
)
_ACCOUNT_VALUE = re.compile(
    r"(?=[A-Za-z]{0,6}[-/.]?\d)[A-Za-z]{0,6}[-/.]?\d(?:[\dA-Za-z]|[-/.](?=[\dA-Za-z])| (?=\d{2,}))*"
)
_DOCUMENT_VALUE = re.compile(
    r"(?=[A-Za-z]{0,5}[- ]?\d|[A-Za-z]+\d)[A-Z0-9a-z]{1,9}(?:[- ](?=[\dA-Z]*\d)[\dA-Z]{1,8}){0,4}"
)
_PLATE_VALUE = re.compile(r"(?=[A-ZÄÖÜ0-9 -]*\d)[A-ZÄÖÜ0-9]{1,4}(?:[- ]?[A-Z0-9]{1,4}){1,3}(?![\w])")
_SECRET_VALUE = re.compile(r"[^\s\"'“”’`,;]{3,200}")
_PIN_VALUE = re.compile(r"\d{3,10}(?!\w)|\d{3}[ -]\d{3}(?!\w)|(?=\w{0,12}\d)[A-Z0-9]{4,12}(?!\w)")
_SAID_SECRET = re.compile(r"[:=]|\bis\b|\bist\b|\best?\b|[\"'“`]")
_WORDS_AFTER_PIN = frozenset({"pin", "pincode", "puk", "cvv", "cvc", "cvv2", "otp", "code", "codes", "tan"})


def _after_cues(text: str, cues: Cues) -> Iterator[Found]:
    for kind, start, end in cues:
        if kind in ("phone", "card", "birth_date", "number"):
            continue  # these ask what was said before a number, once it is found
        join = _JOIN.match(text, end)
        at = join.end() if join is not None else end
        between = text[end:at]
        if kind == "secret":
            yield from _secret(text, start, end, at, between)
        elif kind == "plate":
            value = _PLATE_VALUE.match(text, at)
            if value is not None and any(c.isalpha() for c in value[0]):
                yield Found(at, value.end(), kind)
        elif kind == "document":
            value = _DOCUMENT_VALUE.match(text, at)
            if value is not None and _n_digits(value[0]) >= 4 and 5 <= len(value[0]) <= 24:
                yield Found(at, value.end(), kind)
        else:
            value = _ACCOUNT_VALUE.match(text, at)
            if value is None:
                continue
            n = _n_digits(value[0])
            said = text[start:end].lower()
            if n >= 5 or (n >= 4 and _NUMBERED.search(between)):
                if kind == "national_id" and said in ("social", "tax", "id") and not _NUMBERED.search(text[start:at]):
                    continue
                if not _DATE_AT.match(text, at):
                    yield Found(at, value.end(), kind)


def _secret(text: str, start: int, end: int, at: int, between: str) -> Iterator[Found]:
    value = _SECRET_VALUE.match(text, at)
    if value is None:
        return
    run = _unpunctuated(value[0]) if value[0][-1] in ".,;:)?" else value[0]
    if text[start:end].lower() in _WORDS_AFTER_PIN:
        digits = _PIN_VALUE.match(text, at)
        is_plain = text[start:end].lower() not in ("code", "codes") and digits is not None and digits[0].isdigit()
        if digits is not None and (is_plain or _NUMBERED.search(between)):
            yield Found(at, digits.end(), "secret")
        return
    is_odd = (
        any(c.isdigit() for c in run) or any(not c.isalnum() for c in run[1:-1]) or not (run.islower() or run.istitle())
    )
    if len(run) >= 3 and _SAID_SECRET.search(between) and (is_odd or re.search(r"[:=\"'“`]", between)):
        yield Found(at, at + len(run), "secret")


_PREFIXED = re.compile(
    r"(?<![\w-])(?:sk-[\w-]{16,200}|sk_(?:live|test)_\w{10,200}|gh[pousr]_\w{20,200}|github_pat_\w{20,200}|"
    r"xox[abprs]-[\w-]{10,200}|"
    r"(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,60}|glpat-[\w-]{16,60}|hf_\w{20,60}|"
    r"eyJ[\w-]{8,2000}\.[\w-]{8,4000}\.[\w-]{4,2000})|"
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^-]{0,20000}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?"
)
_LONG_MIX = re.compile(r"[A-Za-z0-9_+/=-]{20}")
_LONG = re.compile(r"(?<![\w+/=.-])[A-Za-z0-9_+/=-]{20,512}(?![\w+/=-])")
_WALLET = re.compile(r"(?:0x[0-9a-fA-F]{40}|bc1[a-z0-9]{25,60}|[13][1-9A-HJ-NP-Za-km-z]{25,34})\Z")


def _keys(text: str) -> Iterator[Found]:
    for match in _PREFIXED.finditer(text):
        yield Found(match.start(), match.end(), "secret")
    for match in _LONG.finditer(text):
        run = match[0]
        if _WALLET.match(run) and _n_digits(run) > 1:
            yield Found(match.start(), match.end(), "account")
        elif _n_digits(run) >= 2 and any(c.isalpha() for c in run) and _entropy(run) > 3.4 and not _is_wordy(run):
            yield Found(match.start(), match.end(), "secret")


def _entropy(run: str) -> float:
    """Bits a character."""
    return -sum(n / len(run) * math.log2(n / len(run)) for n in Counter(run).values())


def _is_wordy(run: str) -> bool:
    """Words joined by hyphens or underlines, a date in a file name: no key."""
    parts = re.split(r"[-_/+=]+", run)
    return all(part.isalpha() or part.isdigit() or len(part) < 5 for part in parts) and len(parts) > 1


def _n_digits(text: str) -> int:
    return sum(c.isdigit() for c in text)


# ── Numbers with letters in them ──────────────────────────────────────────────────────────────────────────

_IBAN = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]{2}|[A-Z]{2}[ -])\d\d(?:[ \u00a0.-]{0,2}[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS = {
    "AD": 24,
    "AE": 23,
    "AL": 28,
    "AT": 20,
    "AZ": 28,
    "BA": 20,
    "BE": 16,
    "BG": 22,
    "BH": 22,
    "BR": 29,
    "BY": 28,
    "CH": 21,
    "CR": 22,
    "CY": 28,
    "CZ": 24,
    "DE": 22,
    "DJ": 27,
    "DK": 18,
    "DO": 28,
    "EE": 20,
    "EG": 29,
    "ES": 24,
    "FI": 18,
    "FK": 18,
    "FO": 18,
    "FR": 27,
    "GB": 22,
    "GE": 22,
    "GI": 23,
    "GL": 18,
    "GR": 27,
    "GT": 28,
    "HR": 21,
    "HU": 28,
    "IE": 22,
    "IL": 23,
    "IQ": 23,
    "IS": 26,
    "IT": 27,
    "JO": 30,
    "KW": 30,
    "KZ": 20,
    "LB": 28,
    "LC": 32,
    "LI": 21,
    "LT": 20,
    "LU": 20,
    "LV": 21,
    "LY": 25,
    "MC": 27,
    "MD": 24,
    "ME": 22,
    "MK": 19,
    "MN": 20,
    "MR": 27,
    "MT": 31,
    "MU": 30,
    "NI": 28,
    "NL": 18,
    "NO": 15,
    "OM": 23,
    "PK": 24,
    "PL": 28,
    "PS": 29,
    "PT": 25,
    "QA": 29,
    "RO": 24,
    "RS": 22,
    "RU": 33,
    "SA": 24,
    "SC": 31,
    "SD": 18,
    "SE": 24,
    "SI": 19,
    "SK": 24,
    "SM": 27,
    "SO": 23,
    "ST": 25,
    "SV": 28,
    "TL": 23,
    "TN": 24,
    "TR": 26,
    "UA": 29,
    "VA": 22,
    "VG": 24,
    "XK": 20,
    "YE": 30,
}
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "national_id",
        re.compile(
            r"\b(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D](?!\w)", re.I
        ),
    ),
    ("national_id", re.compile(r"\b[A-Z]{6}\d\d[A-EHLMPR-T]\d\d[A-Z]\d{3}[A-Z](?!\w)", re.I)),  # codice fiscale
    ("national_id", re.compile(r"\b[A-Z]{4}\d{6}[HM][A-Z]{5}[A-Z0-9]\d(?!\w)", re.I)),  # CURP
    ("national_id", re.compile(r"\b[A-Z]{5}\d{4}[A-Z](?!\w)")),  # PAN
    ("national_id", re.compile(r"\b\d\d ?[0-3]\d[01]\d\d\d ?[A-Z] ?\d{3}(?!\w)")),  # German social insurance
    ("national_id", re.compile(r"\b[0-3]\d[01]\d{3}[-+A]\d{3}[0-9A-FHJ-NPR-Y](?!\w)")),  # hetu
    ("plate", re.compile(r"\b[A-Z]{2}\d\d ?[A-Z]{3}(?!\w)|\b[A-Z]{2}-\d{3}-[A-Z]{2}(?!\w)")),
    ("account", re.compile(r"\b(?=[A-Z0-9]*\d[A-Z0-9]*\d)(?=[A-Z0-9]*[A-HJ-NPR-Z])[A-HJ-NPR-Z0-9]{17}(?!\w)")),  # VIN
)
_DNI = re.compile(r"\b([XYZ]-?\d{7}|\d{8})[- ]?([A-Z])(?!\w)", re.I)
_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"


def _lettered(text: str) -> Iterator[Found]:
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0])
        if end:
            yield Found(match.start(), match.start() + end, "iban")
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            yield Found(match.start(), match.end(), kind)
    for match in _DNI.finditer(text):
        number = match[1].upper().replace("-", "").translate(str.maketrans("XYZ", "012"))
        if _DNI_LETTERS[int(number) % 23] == match[2].upper():
            yield Found(match.start(), match.end(), "national_id")


def _iban_end(run: str) -> int:
    """Where the IBAN at the beginning of a run ends; 0 when there is none.

    A wrong checksum does not save it: mistyped, it still tells the account. It must then look like one throughout.
    """
    length = _IBAN_LENGTHS.get(run[:2].upper(), 0)
    n = 0
    for index, character in enumerate(run):
        n += character.isalnum()
        if n == length:
            compact = re.sub(r"[^A-Za-z0-9]", "", run[: index + 1]).upper()
            follows = run[index + 1 : index + 2]
            if _is_iban(compact) or (_n_digits(compact) >= length // 2 and not follows.isalnum()):
                return index + 1
            return 0
    return 0


def _is_iban(compact: str) -> bool:
    digits = "".join(str(int(c, 36)) for c in compact[4:] + compact[:4])
    return int(digits) % 97 == 1


# ── Runs of digits ────────────────────────────────────────────────────────────────────────────────────────

_RUN = re.compile(
    r"\d+(?:[ .()/\-–\u2011\u00a0\u2009\u202f]{1,3}\d+)*(?:(?: ?(?:x|ext\.?|extension|durchwahl|app\.?) ?|x)\d{1,6})?",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?<!\d)(?<!\d[-/.])(?:(?:1[89]|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|"
    r"3[01])(?:[T ][0-2]?\d:[0-5]\d(?::[0-5]\d)?)?|"
    r"(?:[0-2]?\d|3[01])(?P<s>[-/.])(?:[0-2]?\d|3[01])(?P=s)(?:(?:1[89]|20)\d\d|\d\d))(?!\d|[-/.]\d)"
)
_DATE_AT = re.compile(_DATE.pattern.removeprefix(r"(?<!\d)(?<!\d[-/.])"))
_MONTH = (
    "jan(?:uar[yi]?|vier|uari)?|feb(?:ruar[yi]?|ruari)?|f[ée]vrier|enero|febrero|gennaio|febbraio|m[äa]r(?:ch|z|s|zo)?|maart|"
    "apr(?:il|ile)?|avril|abril|may|mai|mayo|maggio|mei|june?|juni|juin|junio|giugno|july?|juli|juillet|julio|luglio|"
    "aug(?:ust|ustus)?|ao[ûu]t|agosto|sept?(?:ember|embre|iembre)?|settembre|oct(?:ober|obre|ubre)?|okt(?:ober)?|ottobre|"
    "nov(?:ember|embre|iembre)?|dec(?:ember)?|dez(?:ember|embro)?|d[ée]cembre|diciembre|dicembre"
)
_WRITTEN_DATE = re.compile(
    rf"(?<![\w.])(?:(?:[0-2]?\d|3[01])(?:st|nd|rd|th|er|\.|º)?(?: of| de)? (?:{_MONTH})\.?(?:,? (?:de )?(?:1[89]|"
    rf"20)\d\d)?|"
    rf"(?:{_MONTH})\.? (?:[0-2]?\d|3[01])(?:st|nd|rd|th)?(?:,? (?:1[89]|20)\d\d)?)(?![\w])",
    re.IGNORECASE,
)
_MONTH_STARTS = frozenset(
    "jan feb fev ene gen mar maa apr avr abr may mai mag mei jun jui giu jul lug aug aou ago sep set oct okt ott nov "
    "dec dez dic".split()
)
_DATE_LIKE = re.compile(r"\d[-/.]\d")
_YEAR = re.compile(r"\b(?:1[89]|20)\d\d(?![\w/-]|[.,]\d| \d)")
_DECIMALS = r"[-+]?\d{1,3}\.\d{3,15}"
_COORDINATES = re.compile(
    rf"(?<![\w.])(?:{_DECIMALS}°?[ ]?[NSns]?[,;]?[ ]{{0,2}}{_DECIMALS}°?[ ]?[EWOewo]?(?![\w.]\d)|"
    r"[-+]?\d{1,3}(?:\.\d+)?° ?(?:\d{1,2}(?:\.\d+)?['′’] ?)?(?:\d{1,2}(?:\.\d+)?(?:\"|″|''|”) ?)?[NSEWO](?:[,; ]{0,3}"
    r"[-+]?\d{1,3}(?:\.\d+)?° ?(?:\d{1,2}(?:\.\d+)?['′’] ?)?(?:\d{1,2}(?:\.\d+)?(?:\"|″|''|”) ?)?[NSEWO])?|"
    r"[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,3}(?!\w))"
)
_LONG_RUN = re.compile(r"\d(?:[ \-.–\u00a0\u2011]?\d){11,22}")
_NATIONAL: tuple[re.Pattern[str], ...] = (
    re.compile(r"\d{3}[- ]\d\d[- ]\d{4}"),  # SSN
    re.compile(r"\d{3}\.\d{3}\.\d{3}-\d\d|\d\d\.\d{3}\.\d{3}/\d{4}-\d\d"),  # CPF, CNPJ
    re.compile(r"756\.\d{4}\.\d{4}\.\d\d"),  # AHV
    re.compile(r"\d\d\.\d\d\.\d\d-\d{3}\.\d\d"),  # Belgium
    re.compile(r"[2-9]\d{3} \d{4} \d{4}"),  # Aadhaar
    re.compile(r"\d{6}-[1-4]\d{6}"),  # Korea
    re.compile(r"(?:19|20)?\d\d[01]\d[0-3]\d[-+]\d{4}|[0-3]\d[01]\d{3}-\d{4}"),  # personnummer, CPR
    re.compile(r"[12] \d\d [01]\d \d[\dAB] \d{3} \d{3}(?: \d\d)?"),  # NIR
    re.compile(r"\d\d/\d{3}/\d{4,5}|\d{3}/\d{4}/\d{4}"),  # Steuernummer
)
_AMOUNT_BEFORE = re.compile(r"(?:[$€£¥₹]|\b(?:usd|eur|gbp|chf|rs\.?|inr|jpy)) ?\Z", re.IGNORECASE)
_AMOUNT_AFTER = re.compile(
    r"\s?(?:[$€£¥₹%°]|(?:usd|eur|euros?|dollars?|pounds?|chf|people|users|times|points|km|kg|mb|gb|ms|seconds?|"
    r"minutes?|hours?|"
    r"days?|weeks?|months?|years?|miles?|meters?|steps|pages?|words?|characters|rows|calories|views|items)\b)",
    re.IGNORECASE,
)
_GROUPED = re.compile(r"[1-9]\d{0,2}([ .\u00a0\u202f])\d{3}(?:\1\d{3})*\Z")
_NO_PHONE_BEFORE = re.compile(
    r"\b(?:order|invoice|tracking|ticket|booking|reservation|flight|isbn|issn|ean|doi|article|item|sku|version|"
    r"bestellung|"
    r"bestellnummer|rechnung|rechnungsnummer|sendungsnummer|commande|facture|pedido|factura|zip|zipcode|postcode|plz|"
    r"year|"
    r"page|room|case|ref|reference|id|amount|total|sum|chapter|section|line|port|build|error|part|model)\b"
    r"[ \w.#:-]{0,14}\Z",
    re.IGNORECASE,
)
_AFTER_PHONE = re.compile(
    r"[ ]?(?:is|ist|est|es) (?:my|the|our|his|her|meine|mon|mi) (?:\w{2,10} ){0,2}(?:number|phone|mobile|cell|nummer|"
    r"numéro|número)|"
    r"[ ]?[-–(\[ ]{0,2}(?:office|fax|mobile|mobil|home|work|cell|tel|phone|privat|desk|direct)\b",
    re.IGNORECASE,
)


def _numbers(text: str, cues: Cues, country: str) -> Iterator[Found]:
    certain = [
        *(Found(m.start(), m.end(), "ip") for m in _ipv4(text) if _is_address(m[0].partition("/")[0])),
        *(Found(m.start(), m.end(), "coordinates") for m in _coordinates(text)),
    ]
    yield from certain
    blocked = sorted((found.start, found.end) for found in certain)
    place = 0
    for run in _RUN.finditer(text):
        start, end = _whole_run(text, run.start(), run.end())
        if end - start < 6:
            continue
        while place < len(blocked) and blocked[place][1] <= start:
            place += 1
        if place < len(blocked) and blocked[place][0] < end:
            continue
        for first, last in _without_dates(text, start, end):
            yield from _number(text, first, last, cues, country)


def _whole_run(text: str, start: int, end: int) -> tuple[int, int]:
    """With the `+` or bracket before it; without a first group of digits that belongs to a word or a decimal."""
    while start < end:
        first = start
        while first and start - first < 3 and text[first - 1] in "+( ":
            first -= 1
        while first < start and text[first] == " ":
            first += 1
        if text[first:start].strip("(") not in ("", "+", "+ "):
            first = start
        before = text[first - 1] if first else " "
        if not (before.isalnum() or before in "_@#") and not (
            before in ".,-" and first > 1 and text[first - 2].isdigit()
        ):
            return first, end
        while start < end and text[start].isdigit():
            start += 1
        while start < end and not text[start].isdigit():
            start += 1
    return end, end


def _coordinates(text: str) -> Iterable[re.Match[str]]:
    is_likely = "°" in text or ("+" in text and _PLUS_CODE.search(text)) or ("." in text and _DECIMAL.search(text))
    return _COORDINATES.finditer(text) if is_likely else ()


_PLUS_CODE, _DECIMAL = re.compile(r"\+[2-9CFGHJMPQRVWX]{2}"), re.compile(r"\d\.\d{3}")


def _ipv4(text: str) -> Iterable[re.Match[str]]:
    return _IPV4.finditer(text) if text.count(".") > 2 else ()


def _without_dates(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of a run between the dates in it."""
    parts, at = [], start
    for date in _DATE.finditer(text, start, end):
        parts.append((at, date.start()))
        at = date.end()
    parts.append((at, end))
    return [part for part in (_trimmed(text, *part) for part in parts) if part[1] - part[0] >= 6]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    while end > start and not text[end - 1].isdigit():
        end -= 1
    while start < end and text[start] in " ./)-–\u00a0":
        start += 1
    return start, end


def _number(text: str, start: int, end: int, cues: Cues, country: str) -> Iterator[Found]:
    """What one run of digits is: at most one thing, or several when numbers stand side by side."""
    run = text[start:end]
    n = _n_digits(run)
    cue = _cue_before(text, start, cues)
    is_international = run[0] == "+" or (run[:2] == "(+") or (run[:2] == "00" and n >= 10)
    if not is_international:
        for pattern in _NATIONAL:
            if pattern.fullmatch(run) and not (cue in ("phone", "number") and n in (10, 11)):
                yield Found(start, end, "national_id")
                return
        if n == 12 and (cue == "card" or (run.isdigit() and run[0] != "0" and not _is_counted(text, start, cue))):
            yield Found(start, end, "card")
            return
        if n >= 13:
            long = [m for m in _LONG_RUN.finditer(run) if 13 <= _n_digits(m[0]) <= 23]
            if long:
                for match in long:
                    yield Found(start + match.start(), start + match.end(), "card")
                return
    if n < 6 or n > 18 or _AMOUNT_BEFORE.search(text, max(0, start - 5), start) or _AMOUNT_AFTER.match(text, end):
        return
    if _is_counted(text, start, cue):
        return
    is_cued = cue in ("phone", "number") or _AFTER_PHONE.match(text, end) is not None or _is_alone(text, start, end, n)
    if is_cued and not is_international and _GROUPED.match(run) and cue not in ("phone", "number"):
        return
    if is_phone(run, country, is_cued=is_cued, is_international=is_international):
        yield Found(start, end, "phone")


def _is_counted(text: str, start: int, cue: str) -> bool:
    """Whether a word before it says that it is the number of an order, a flight, a page."""
    before = text[max(0, start - 40) : start].rpartition("\n")[2] if cue != "phone" else ""
    return bool(before) and _NO_PHONE_BEFORE.search(before) is not None


def _is_alone(text: str, start: int, end: int, n: int) -> bool:
    """Whether a number has a line of its own, as in the answer to a question."""
    if not 7 <= n <= 13:
        return False
    return _LINE_END.match(text, end) is not None and _LINE_START.search(text, max(0, start - 8), start) is not None


_LINE_START, _LINE_END = re.compile(r"(?:\A|\n)[ \t>]{0,6}\Z"), re.compile(r"[ \t.]{0,4}(?:\n|\Z)")


def _cue_before(text: str, start: int, cues: Cues) -> str:
    """The kind of the nearest cue word within 40 characters before, on this line or at the end of the one before."""
    low, high = 0, len(cues)
    while low < high:
        middle = (low + high) // 2
        if cues[middle][2] <= start:
            low = middle + 1
        else:
            high = middle
    weak = ""
    for kind, _, end in reversed(cues[max(0, low - 6) : low]):
        if start - end > 40:
            break
        between = text[end:start]
        if kind == "birth_date" or "\n" in between.strip(" \t:\n") or _ENDS.search(between):
            continue
        if kind != "number":
            return kind
        weak = "number"
    return weak


_ENDS = re.compile(r"[;!] |[.?] .{25}", re.DOTALL)


def _dates(text: str, words: Words, cues: Cues) -> Iterator[Found]:
    """Dates; of birth where a cue says so within 40 characters before. A bare year counts after `in`, `since`, …"""
    births = [(end, start) for kind, start, end in cues if kind == "birth_date"]
    place = 0
    dates = list(_DATE.finditer(text)) if _DATE_LIKE.search(text) else []
    if any(word[:3] in _MONTH_STARTS for word in words.folded):
        dates += _WRITTEN_DATE.finditer(text)
    for match in sorted(dates, key=re.Match.start):
        while place + 1 < len(births) and births[place + 1][0] <= match.start():
            place += 1
        is_birth = bool(births) and 0 <= match.start() - births[place][0] <= 40
        is_birth = is_birth and re.search(r"\d{4}|[/.-]\d\d\Z", match[0]) is not None
        yield Found(match.start(), match.end(), "birth_date" if is_birth else "date")
    for match in _YEAR.finditer(text):
        if match.start() == 0 or text[match.start() - 1] != " ":
            continue
        before = text[max(0, match.start() - 24) : match.start()]
        if births and re.search(
            r"\b(?:born|geboren|née?|nacid[oa]|nat[oa]|nascid[oa])(?: in| im| en| nel| em)? \Z", before, re.I
        ):
            yield Found(match.start(), match.end(), "birth_date")
        elif re.search(
            r"\b(?:in|during|since|until|from|to|of|year|seit|im|en|desde|nel|depuis) \Z", before, re.IGNORECASE
        ):
            yield Found(match.start(), match.end(), "date")
