"""Identifiers in a plain text: what a cue announces, numbers and letters by their form, secrets by their words.

`masker` puts the finders in order; each takes time linear in the text.
Not covered: names (`names`), postal addresses.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hearth import patterns as re
from hearth.guard.deidentify.names import FUNCTION_WORDS
from hearth.language.values.identifying import (
    IPV4,
    Found,
    Words,
    fold,
    iban_length,
    is_address,
    is_iban,
    is_phone,
    is_spanish,
    n_digits,
    unpunctuated,
)

# ── After a cue ────────────────────────────────────────────────────────────────────────────────────────
# Finds values that a cue word announces (accounts, documents, plates, secrets), and keys without a cue.


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
"""A phone number, unless another cue stands before it."""
_CUES: dict[str, tuple[str, ...]] = {}
for _kind, _said in _CUE_WORDS.items():
    for _word in _said.split():
        _CUES[fold(_word)] = (*_CUES.get(fold(_word), ()), _kind)

_KNOWN = frozenset(_CUES)

Cues = Sequence[tuple[str, int, int]]
"""Kind, start and end of each cue word, in order."""


def find_cues(words: Words) -> list[tuple[str, int, int]]:
    """Find the cue words of a text, in order."""
    if _KNOWN.isdisjoint(words.folded):
        return []
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
_QUOTED_VALUE = re.compile(r"[^\n\"“”`]{3,200}[\"”`]")
_CLOSED_BY = {'"': '"', "“": "”", "`": "`"}
_PASSWORDS = frozenset({"password", "passwort", "kennwort", "passwd", "pwd", "passcode", "passphrase"})
"""What a mixed run of letters and digits may follow without a word between: "password hunter2"."""
_WORDS_AFTER_PIN = frozenset({"pin", "pincode", "puk", "cvv", "cvc", "cvv2", "otp", "code", "codes", "tan"})


def find_announced(text: str, cues: Cues) -> Iterator[Found]:
    """Find the value after each cue word, if it has the form of such a value."""
    for kind, start, end in cues:
        if kind in ("phone", "card", "birth_date", "number"):
            continue  # these are checked from the number's side, once it is found
        join = _JOIN.match(text, end)
        at = join.end() if join is not None else end
        cue, between = text[start:end].lower(), text[end:at]
        if kind == "secret":
            yield from _secret(text, at, cue, between)
        elif kind == "plate":
            value = _PLATE_VALUE.match(text, at)
            if value is not None and any(c.isalpha() for c in value[0]):
                yield Found(at, value.end(), kind)
        elif kind == "document":
            value = _DOCUMENT_VALUE.match(text, at)
            if value is not None and n_digits(value[0]) >= 4 and 5 <= len(value[0]) <= 24:
                yield Found(at, value.end(), kind)
        else:
            value = _ACCOUNT_VALUE.match(text, at)
            if value is not None and _is_account(value[0], kind, cue, between) and not DATE_AT.match(text, at):
                yield Found(at, value.end(), kind)


def _is_account(value: str, kind: str, cue: str, between: str) -> bool:
    n, is_numbered = n_digits(value), _NUMBERED.search(between) is not None
    if kind == "national_id" and cue in ("social", "tax", "id") and not _NUMBERED.search(cue + between):
        return False
    return n >= 5 or (n >= 4 and is_numbered)


def _secret(text: str, at: int, cue: str, between: str) -> Iterator[Found]:
    value = _SECRET_VALUE.match(text, at)
    if value is None:
        return
    run = unpunctuated(value[0]) if value[0][-1] in ".,;:)?" else value[0]
    if (
        between[-1:] in _CLOSED_BY
        and (quoted := _QUOTED_VALUE.match(text, at))
        and quoted[0][-1] == _CLOSED_BY[between[-1]]
    ):
        yield Found(at, quoted.end() - 1, "secret")
    elif cue in _WORDS_AFTER_PIN:
        pin = _PIN_VALUE.match(text, at)
        if pin is not None and _is_pin(pin[0], cue, between):
            yield Found(at, pin.end(), "secret")
    elif _is_password(run, cue, between):
        yield Found(at, at + len(run), "secret")


def _is_pin(value: str, cue: str, between: str) -> bool:
    if value.isdigit() and cue not in ("code", "codes"):
        return True
    is_mixed = len(value) >= 6 and any(c.isalpha() for c in value)
    return is_mixed or _NUMBERED.search(between) is not None


def _is_password(run: str, cue: str, between: str) -> bool:
    has_digit = any(c.isdigit() for c in run)
    if cue in _PASSWORDS and not between.strip() and len(run) >= 5 and has_digit and any(c.isalpha() for c in run):
        return True
    is_odd = has_digit or any(not c.isalnum() for c in run[1:-1]) or not (run.islower() or run.istitle())
    is_said = _SAID_SECRET.search(between) is not None
    return len(run) >= 3 and is_said and (is_odd or re.search(r"[:=\"'“`]", between) is not None)


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


def find_keys(text: str) -> Iterator[Found]:
    """Find keys and wallets by their form: long runs of characters that are not words."""
    if not _LONG_MIX.search(text):
        return
    for match in _PREFIXED.finditer(text):
        yield Found(match.start(), match.end(), "secret")
    for match in _LONG.finditer(text):
        run = match[0]
        if _WALLET.match(run) and n_digits(run) > 1:
            yield Found(match.start(), match.end(), "account")
        elif n_digits(run) >= 2 and any(c.isalpha() for c in run) and _entropy(run) > 3.4 and not _is_wordy(run):
            yield Found(match.start(), match.end(), "secret")


def _entropy(run: str) -> float:
    """Compute the entropy of a run, in bits per character."""
    return -sum(n / len(run) * math.log2(n / len(run)) for n in Counter(run).values())


def _is_wordy(run: str) -> bool:
    """Return whether a run is words joined by hyphens or underlines, or a date in a file name: not a key."""
    parts = re.split(r"[-_/+=]+", run)
    return all(part.isalpha() or part.isdigit() or len(part) < 5 for part in parts) and len(parts) > 1


DATE = re.compile(
    r"(?<!\d)(?<!\d[-/.])(?:(?:1[89]|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.](?:[0-2]?\d|"
    r"3[01])(?:[T ][0-2]?\d:[0-5]\d(?::[0-5]\d)?)?|"
    r"(?:[0-2]?\d|3[01])(?P<s>[-/.])(?:[0-2]?\d|3[01])(?P=s)(?:(?:1[89]|20)\d\d|\d\d))(?!\d|[-/.]\d)"
)
DATE_AT = re.compile(DATE.pattern.removeprefix(r"(?<!\d)(?<!\d[-/.])"))


# ── Numbers by their form ──────────────────────────────────────────────────────────────────────────────
# Classifies runs of digits: phones, cards, national numbers, coordinates, dates; not amounts, times and counts.


_RUN = re.compile(
    r"\d+(?:[ .()/\-–\u2011\u00a0\u2009\u202f]{1,3}\d+)*(?:(?: ?(?:x|ext\.?|extension|durchwahl|app\.?) ?|x)\d{1,6})?",
    re.IGNORECASE,
)
_MONTH = (
    "jan(?:uar[yi]?|vier|uari)?|feb(?:ruar[yi]?|ruari)?|f[ée]vrier|enero|febrero|gennaio|febbraio|m[äa]r(?:ch|z|s|zo)?|maart|"
    "apr(?:il|ile)?|avril|abril|may|mai|mayo|maggio|mei|june?|juni|juin|junio|giugno|july?|juli|juillet|julio|luglio|"
    "aug(?:ust|ustus)?|ao[ûu]t|agosto|sept?(?:ember|embre|iembre)?|settembre|oct(?:ober|obre|ubre)?|okt(?:ober)?|ottobre|"
    "nov(?:ember|embre|iembre)?|dec(?:ember)?|dez(?:ember|embro)?|d[ée]cembre|diciembre|dicembre"
)
_ORDINAL = (
    "(?:twenty[- ]|thirty[- ])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|"
    "thirteenth|fourteenth|fifteenth|sixteenth|seventeenth|eighteenth|nineteenth|twentieth|thirtieth"
)
_WRITTEN_DATE = re.compile(
    rf"(?<![\w.])(?:(?:[0-2]?\d|3[01])(?:st|nd|rd|th|er|\.|º)?(?: of| de)? (?:{_MONTH})\.?(?:,? (?:de )?(?:1[89]|"
    rf"20)\d\d)?|(?:{_ORDINAL})(?: of)? (?:{_MONTH}),? (?:1[89]|20)\d\d|"
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


_COUNTING = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SPOKEN_WORDS = frozenset((*_COUNTING, "zero", "oh", "o", "nought", "double", "triple"))
_SPOKEN_LEAST = 7
"""Fewest digits in words that are a number of somebody's: fewer are counted."""
_SPOKEN_GAP = re.compile(r"[ ,.\-–]{1,3}")


def find_spoken(text: str, words: Words) -> Iterator[Found]:
    """Find telephone and card numbers that are spelled out: "oh one five one, two three four five"."""
    first = n = 0
    for place, word in enumerate(words.folded):
        if word not in _SPOKEN_WORDS:
            n = 0
            continue
        is_next = n and _SPOKEN_GAP.fullmatch(text, words.ends[place - 1], words.starts[place])
        first, n = (first, n + 1) if is_next else (place, 1)
        is_last = place + 1 == len(words.folded) or words.folded[place + 1] not in _SPOKEN_WORDS
        if is_last and n >= _SPOKEN_LEAST and tuple(words.folded[first : place + 1]) != _COUNTING[:n]:
            yield Found(words.starts[first], words.ends[place], "account")


def find_numbers(text: str, cues: Cues, country: str) -> Iterator[Found]:
    """Find the meaning of runs of digits: IP addresses, coordinates, phones, cards, national numbers."""
    certain = [
        *(Found(m.start(), m.end(), "ip") for m in _ipv4(text) if is_address(m[0].partition("/")[0])),
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
    """Widen a run by a `+` or bracket before it; drop a first group of digits that belongs to a word or a decimal."""
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
    return IPV4.finditer(text) if text.count(".") > 2 else ()


def _without_dates(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The parts of a run between the dates in it."""
    parts, at = [], start
    for date in DATE.finditer(text, start, end):
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
    """Classify one run of digits: at most one number, or several when numbers stand side by side."""
    run = text[start:end]
    n = n_digits(run)
    cue = _cue_before(text, start, cues)
    is_international = run[0] == "+" or (run[:2] == "(+") or (run[:2] == "00" and n >= 10)
    if not is_international and (found := _by_form(text, start, end, cue)):
        yield from found
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


def _by_form(text: str, start: int, end: int, cue: str) -> list[Found]:
    """National numbers and cards, as far as the form of a run tells them."""
    run = text[start:end]
    n = n_digits(run)
    if not (cue in ("phone", "number") and n in (10, 11)) and any(form.fullmatch(run) for form in _NATIONAL):
        return [Found(start, end, "national_id")]
    if n == 12 and (cue == "card" or (run.isdigit() and run[0] != "0" and not _is_counted(text, start, cue))):
        return [Found(start, end, "card")]
    long = [m for m in _LONG_RUN.finditer(run) if 13 <= n_digits(m[0]) <= 23] if n >= 13 else []
    return [Found(start + match.start(), start + match.end(), "card") for match in long]


def _is_counted(text: str, start: int, cue: str) -> bool:
    """Return whether a word before the number marks it as that of an order, a flight, a page."""
    before = text[max(0, start - 40) : start].rpartition("\n")[2] if cue != "phone" else ""
    return bool(before) and _NO_PHONE_BEFORE.search(before) is not None


def _is_alone(text: str, start: int, end: int, n: int) -> bool:
    """Return whether a number has a line of its own, as in the answer to a question."""
    if not 7 <= n <= 13:
        return False
    return _LINE_END.match(text, end) is not None and _LINE_START.search(text, max(0, start - 8), start) is not None


_LINE_START, _LINE_END = re.compile(r"(?:\A|\n)[ \t>]{0,6}\Z"), re.compile(r"[ \t.]{0,4}(?:\n|\Z)")


def _cue_before(text: str, start: int, cues: Cues) -> str:
    """The kind of the nearest cue word within 40 characters before, on this line or at the end of the line before."""
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
        if kind == "birth_date" or "\n" in between.strip(" \t:\n") or _SENTENCE_ENDS.search(between):
            continue
        if kind != "number":
            return kind
        weak = "number"
    return weak


_SENTENCE_ENDS = re.compile(r"[;!] |[.?] .{25}", re.DOTALL)


def find_dates(text: str, words: Words, cues: Cues) -> Iterator[Found]:
    """Find dates; birth dates if a cue stands within 40 characters before. A bare year counts after `in`, `since`, …"""
    births = [(end, start) for kind, start, end in cues if kind == "birth_date"]
    place = 0
    dates = list(DATE.finditer(text)) if _DATE_LIKE.search(text) else []
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


# ── Letters and digits ─────────────────────────────────────────────────────────────────────────────────
# Finds numbers with letters in them: IBANs, and national numbers with an unmistakable form.


_IBAN = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]{2}|[A-Z]{2}[ -])\d\d(?:[ \u00a0.-]{0,2}[A-Za-z0-9]){11,30}")
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


def find_lettered(text: str) -> Iterator[Found]:
    """Find IBANs, and national numbers that their letters identify."""
    for match in _IBAN.finditer(text):
        end = _iban_end(match[0])
        if end:
            yield Found(match.start(), match.start() + end, "iban")
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            yield Found(match.start(), match.end(), kind)
    for match in _DNI.finditer(text):
        if is_spanish(match[1].upper().replace("-", ""), match[2].upper()):
            yield Found(match.start(), match.end(), "national_id")


def _iban_end(run: str) -> int:
    """Find where the IBAN at the beginning of a run ends; 0 when there is none.

    A wrong checksum does not clear it, as a mistyped IBAN still gives the account away; it must then look like one
    throughout.
    """
    length = iban_length(run[:2].upper())
    n = 0
    for index, character in enumerate(run):
        n += character.isalnum()
        if n == length:
            compact = re.sub(r"[^A-Za-z0-9]", "", run[: index + 1]).upper()
            follows = run[index + 1 : index + 2]
            looks_right = n_digits(compact) >= length // 2 and not follows.isalnum()
            return index + 1 if looks_right or is_iban(compact) else 0
    return 0


# ── Secrets by what is said of them ────────────────────────────────────────────────────────────────────
# Finds secrets by what is said of them: pass phrases of several words, codes of locks, what opens or unlocks a thing.
# What follows a word for a secret and `is`, `:` or the like is taken whole, to the end of its clause: how long a pass
# phrase is, and which words it is made of, cannot be known. Ordinary talk of secrets stays: "the password is wrong",
# "change the password", "set the alarm for 0730".
# Covered: pass phrases and the words of a seed, answers to security questions; digits in any grouping, also dictated,
# after a code, a combination, "opens with" and before "to log in" or "is your code". Takes time linear in the text.
# Not covered: a secret without such words around it, languages other than English beyond the commonest cues, a pass
# phrase that reads like talk of it ("the password is wrong again").


_MOST_TOKENS, _MOST_CHARS = 28, 300
"""Bounds of a pass phrase; the longest seeds have 24 words."""
_LEAST_DIGITS = 3

# ── Pass phrases ──────────────────────────────────────────────────────────────────────────────────────────

_KEYED = "wi-?fi|wlan|wpa2?|wep|network|router|encryption|decryption|recovery|licen[cs]e|product|backup|private|master"
_WORD_CUE = re.compile(
    rf"\b(?:pass[ -]?(?:word|phrase|code)s?|passwort|kennwort|passwd|pwd|pw|(?:{_KEYED}|security) key|"
    r"(?:seed|recovery|backup|mnemonic|secret|security|pass|magic|safe|code)[- ](?:phrase|words?)|codeword|mnemonic|"
    r"maiden name|(?:security|secret) (?:question )?answer|(?:security|secret) question['’]s answer|"
    r"answer to (?:the|my|our|his|her|a|your) (?:security|secret) question|login|logins|credentials|contraseña|"
    r"mot de passe|wachtwoord)\b(?:['’]s\b)?(?: \([^()\n]{1,20}\))?",
    re.IGNORECASE,
)
_OF = r"(?:[ \t]{1,2}(?:for|of|to|on|at|from|in|zum|für|vom)(?:[ \t]{1,2}[\w'’.-]{1,30}){1,6}?)?"
_IS = (
    r"(?:[ \t]{0,3}(?:=>|->|[:=])|[ \t]{1,3}(?:is|was|are|were|will be|should be|reads|ist|war|lautet|est|es|è)\b"
    r"(?:[ \t]{1,2}(?:now|still|currently|just|simply|actually|set to|"
    r"changed to))?[ \t]{0,2}[:=]?)[ \t]{0,3}\n?[ \t]{0,3}"
)
_CHOSEN = (
    r"(?:[ \t]{1,2}(?:that[ \t]{1,2})?(?:i|we|he|she|they|you)(?:['’](?:ve|m|re|d))?(?:[ \t]{1,2}[\w'’]{1,12}){0,2}?"
    r"[ \t]{1,2}(?:use|uses|used|chose|set|picked|made|have|has|got|gave|wrote|took|keep|want|wanted))?"
)
"""Who has the secret: "the pass phrase I use"."""
_SAID = re.compile(_OF + _CHOSEN + _IS, re.IGNORECASE)
_MIXED = r"(?=[^\s\d]{0,40}\d)(?=[^\sA-Za-z]{0,40}[A-Za-z])[^\s,;:?!]{5,40}"
"""A run of letters and digits, as passwords are."""
_BARE = re.compile(rf"{_OF}[ \t]{{1,2}}(?P<secret>{_MIXED})", re.IGNORECASE)
_FROM_TO = re.compile(
    rf"[ \t]{{1,2}}from[ \t]{{1,2}}(?P<old>\S{{1,40}})[ \t]{{1,2}}to[ \t]{{1,2}}(?P<new>{_MIXED})", re.IGNORECASE
)
_AS_PASSWORD = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|set|take|try|put|choose|chose|pick)[ \t]{1,2}(?P<secret>[^\s,;:?!]{4,40})[ \t]{1,2}as"
    r"[ \t]{1,2}(?:the|my|our|a|your|his|her)[ \t]{1,2}(?:[\w-]{1,15}[ \t]{1,2}){0,2}?"
    r"(?:pass[ -]?(?:word|phrase|code)|pin|pwd)\b",
    re.IGNORECASE,
)
_SET_TO = re.compile(r"[ \t]{1,2}to[ \t]{1,2}(?!(?:the|a|an|be|my|our|your)\b)", re.IGNORECASE)
_SETTING = re.compile(
    r"\b(?:chang(?:e|es|ed|ing)|(?:re)?set(?:s|ting)?|updat(?:e|es|ed|ing)|make|switch)\b", re.IGNORECASE
)
_TOKEN = re.compile(r"\S{1,80}")
_ENDING = '.,;:?!)"”'
"""Characters that end a clause when a blank follows them."""
_TURNS = frozenset("and but or so because if when while since then as though please thanks thank cheers".split())
_SURE_TURNS = frozenset("but because please thanks cheers though".split())
_AFTER_A_TURN = frozenset(
    "the my i you it we he she they your our his her their please can could will would then don dont do not remind "
    "tell "
    "call write send keep this that there what when where who how is pin code password passcode user username login "
    "email ask make let never always only also".split()
)
"""Words that begin a new clause after "and" and the like."""
_OTHER_CUES = frozenset("password passwort pin code username login".split())
"""Words that another secret begins with: "login nora77 password …"."""
_REQUESTS = frozenset("can could will would shall tell send ask remind give show text mail email let save note".split())
_ADDRESSEES = frozenset("you i we me him her us them it that this the my our".split())
_GRAMMAR = frozenset(
    "not no on in under at with by for from of to via behind inside near next as than like about above below between "
    "and or but so because if when while where what who whose how why which whether until since till too very quite "
    "rather really never always still already only also just again anymore here there now then today tomorrow "
    "yesterday tonight soon later last it i you we he she they me him her us them this these those is are was were be "
    "been being has have had do does did can could should would will must may might up out off over enough only all "
    "none nothing something anything somewhere everywhere".split()
)
_STATES = frozenset(
    "wrong right correct incorrect weak strong short long longer shorter old new good bad better worse best fine ok "
    "okay "
    "easy hard tricky difficult simple complex complicated safe unsafe secure insecure secret public private visible "
    "hidden empty blank missing lost gone stolen broken forgotten written known unknown valid invalid due ready unique "
    "different same similar identical usual default temporary permanent important necessary optional mandatory working "
    "failing expiring changing annoying confusing getting going coming case set kept taken given sent saved stored "
    "hashed found leaked shown hid stuck mine yours ours theirs free open closed available sensitive impossible "
    "possible obvious clear crazy stupid silly terrible great nice perfect useless useful fresh current previous slow "
    "fast down live stale true false one first second number part mess pain joke problem mystery must requirement "
    "thing bit lot word combination mix reminder string way name key page form screen button".split()
)
"""Words that tell how a secret is; beside a word of grammar, or alone, they are none."""
_DETERMINERS = frozenset("a an the my your his our their some any".split())
_COUNTED = frozenset("character characters chars letter letters digit digits symbols signs attempts tries".split())


def _phrases(text: str) -> Iterator[Found]:
    """Find what follows a word for a pass phrase."""
    for cue in _WORD_CUE.finditer(text):
        said = _SAID.match(text, cue.end())
        if said is None:
            yield from _unsaid(text, cue)
        elif found := _phrase(text, said.end()):
            yield found
    for match in _AS_PASSWORD.finditer(text):
        if fold(match["secret"]) not in _GRAMMAR | _DETERMINERS:
            yield Found(match.start("secret"), match.end("secret"), "secret")


def _unsaid(text: str, cue: re.Match[str]) -> Iterator[Found]:
    """Find a secret that no "is" leads to: "my password's Tr0mb", "the password for netflix hunter22", a new one."""
    if cue[0][-2:].casefold() in ("'s", "’s") and (blank := _BLANK.match(text, cue.end())) is not None:
        mixed = _MIXED_RUN.match(text, blank.end())
        if mixed is not None:
            yield Found(mixed.start(), mixed.end(), "secret")
        return
    is_setting = _SETTING.search(text, max(0, cue.start() - 40), cue.start()) is not None
    if is_setting and (changed := _FROM_TO.match(text, cue.end())) is not None:
        yield from (Found(changed.start(name), changed.end(name), "secret") for name in ("old", "new"))
    elif is_setting and (said := _SET_TO.match(text, cue.end())) is not None:
        if found := _phrase(text, said.end()):
            yield found
    elif (bare := _BARE.match(text, cue.end())) is not None:
        yield Found(bare.start("secret"), bare.end("secret"), "secret")


def _phrase(text: str, start: int) -> Found | None:
    """Find the pass phrase that begins at `start`, unless it is ordinary talk."""
    if text[start : start + 1] in _CLOSED_BY:
        end = text.find(_CLOSED_BY[text[start]], start + 1, start + _MOST_CHARS)
        return Found(start + 1, end, "secret") if end > start + 1 else None
    tokens = _clause(text, start)
    folded = [fold(text[at:end]).strip("\"'“”‘’`") for at, end in tokens]
    if not tokens or _is_talk(folded):
        return None
    return Found(tokens[0][0], tokens[-1][1], "secret")


def _clause(text: str, start: int) -> list[tuple[int, int]]:
    """Split what begins at `start` into the tokens of its clause. Words in a row with commas are one clause."""
    tokens: list[tuple[int, int]] = []
    at = start
    while len(tokens) < _MOST_TOKENS and at - start < _MOST_CHARS:
        token = _TOKEN.match(text, at)
        if token is None:
            break
        bare = token[0].rstrip(_ENDING) or token[0]
        if tokens and (bare in "-–—|" or bare[0] in "([{<" or token[0][-1] == ":"):
            break
        word, following = fold(bare), _next_word(text, token.end())
        if tokens and _begins_another(word, following):
            break
        if len(tokens) == 1 and _is_whole(text[slice(*tokens[0])], word, following):
            break
        kept = token[0] if token[0][-1] == "!" else bare
        tokens.append((token.start(), token.start() + len(kept)))
        is_ended = len(bare) < len(token[0]) and not (bare.isdigit() and token[0][-1] == "." and len(bare) < 3)
        if is_ended and not _is_listed(text, tokens, token.end()):
            break
        blank = _BLANK.match(text, token.end())
        if blank is None:
            break
        at = blank.end()
    return tokens


def _begins_another(word: str, following: str) -> bool:
    """Return whether a word within a clause begins another one: "… but call me", "… login nora"."""
    if word in _TURNS and (word in _SURE_TURNS or following in _AFTER_A_TURN):
        return True
    return word in _OTHER_CUES or (word in _REQUESTS and following in _ADDRESSEES)


def _is_whole(run: str, word: str, following: str) -> bool:
    """Return whether a run is all of a secret: "hunter2 for guests", "swordfish for the guests"."""
    if word == "and" or (word not in _GRAMMAR and word not in FUNCTION_WORDS):
        return False
    return not (run.isalpha() and (run.islower() or run.istitle())) or (
        word in ("for", "on", "at", "in") and following in _DETERMINERS
    )


_BLANK = re.compile(r"[ \t]{1,3}(?=\S)")
_MIXED_RUN = re.compile(_MIXED)
_NEXT_WORD = re.compile(r"[ \t]{1,3}(\w{1,30})[,.]?(?!\w)")


def _next_word(text: str, at: int) -> str:
    found = _NEXT_WORD.match(text, at)
    return fold(found[1]) if found else ""


_NEXT_LISTED = re.compile(r"[ \t]{1,3}[^\W\d_]{2,20},")


def _is_listed(text: str, tokens: Sequence[tuple[int, int]], end: int) -> bool:
    """Return whether the tokens are words of a list that goes on at `end`: each has a comma, and so has the next."""
    if any(text[after : after + 1] != "," or not text[at:after].isalpha() for at, after in tokens):
        return False
    return bool(_NEXT_LISTED.match(text, end)) or (len(tokens) > 2 and bool(_NEXT_WORD.match(text, end)))


def _is_talk(folded: Sequence[str]) -> bool:
    """Return whether the words tell of a secret, and are none: "wrong again", "on the fridge", "the same as ever"."""
    first, rest = folded[0], folded[1:]
    if first in _GRAMMAR:
        return True
    if first in _DETERMINERS:
        return not rest or rest[0] in _STATES or rest[0] in _GRAMMAR
    is_followed = bool(rest) and rest[0] not in _GRAMMAR
    if is_followed:
        return rest[0] in _COUNTED or (first in _STATES and rest[0] in _STATES)
    return first in _STATES or (len(first) > 4 and first.endswith(("ed", "able", "ible")) and first.isalpha())


# ── Codes ─────────────────────────────────────────────────────────────────────────────────────────────────

_LOCK = (
    "alarm|door|gate|garage|bike|bicycle|lock|unlock|padlock|safe|locker|vault|entry|entrance|access|security|phone|"
    "mobile|screen|sim|card|house|home|flat|apartment|building|key|keypad|lift|elevator|cellar|basement|shed|car|"
    "luggage|"
    "suitcase|cabinet|gym|office|front|back|verification|confirmation|login|backup|recovery|2fa|factor|authenticator|"
    "bank|banking|atm|voicemail|tablet|ipad|laptop|wi-?fi|guest|parental|parking|barrier|lockbox|reset|activation|"
    "pairing|bluetooth|disarm|box|tor|tür"
)
_CODE = r"(?:pass)?codes?|pins?|combination|combo|puk|otp|tan|geheimzahl"
_NUMBER_WORD = (
    r"(?:zero|oh|nought|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|"
    r"seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|double|triple)"
)
_DIGITS = (
    r"(?P<code>(?:[#*]?[A-Za-z]?\d{1,12}(?:(?:[ \t]?[-–/][ \t]?|[ \t])\d{1,6}){0,7}[A-Za-z]?[#*]?(?![\w:]|[.,]\d)|"
    rf"(?:{_NUMBER_WORD}[ ,-]{{1,2}}){{1,11}}{_NUMBER_WORD}\b))"
)
_ENDS = (
    r"(?=[ \t]{0,3}(?:\Z|[^\w \t]|(?:and|or|but|so|on|at|for|in(?! its\b| the (?:name|title))|to|then|when|if|now|"
    r"again|please|not|since|until|as|from|because|with|of|by|is|was|i|you|we|dont|don)\b))"
)
"""Behind a code no word that it counts: "opens with 300 dancers" tells of no lock."""
_OPENING = (
    r"(?:un)?lock(?:s|ed|ing)?|open(?:s|ed|ing)?|(?:dis)?arm(?:s|ed|ing)?|log(?:s|ged|ging)?[ -](?:in|on)|"
    r"sign(?:s|ed|ing)?[ -](?:in|on)|gets? in(?:to)?|lets? (?:me|you|us|him|her|them) in|enter(?:s|ed)?"
)
_CODES = re.compile(
    rf"\b(?:{_LOCK})[ -](?:{_CODE}|lock)(?:{_IS}|[ \t]{{1,3}}(?:no\.?[ \t]|number[ \t]|#[ \t]?)?){_DIGITS}{_ENDS}",
    re.IGNORECASE,
)
_CODE_OF = re.compile(rf"\b(?:{_CODE}){_OF}{_IS}[\"'“]?{_DIGITS}{_ENDS}", re.IGNORECASE)
_SPACED_PIN = re.compile(r"\b(?:pin|puk|passcode)[ \t]{1,3}(?P<code>\d(?:[ -]\d){2,7})(?![\w:]|[.,]\d)", re.IGNORECASE)
_COMBINATION = re.compile(
    r"\b(?:combination|combo)[ \t]{1,3}(?P<code>\d{1,2}(?:[ \t]?[-–/ ][ \t]?\d{1,2}){2,4}|\d{3,8})(?![\w:]|[.,]\d)",
    re.IGNORECASE,
)
_OPENS_WITH = re.compile(
    rf"\b(?:{_OPENING})(?:[ \t]{{1,2}}[\w'’-]{{1,20}}){{0,6}}?[ \t]{{1,2}}(?:with|using|via|by)[ \t]{{1,2}}"
    rf"(?:(?:the|my|our)[ \t]{{1,2}})?(?:(?:{_CODE}|number)[ \t]{{1,2}})?{_DIGITS}{_ENDS}",
    re.IGNORECASE,
)
_OPENS_BY_WORD = re.compile(
    r"\b(?:unlock(?:s|ed|ing)?|opens|opened|disarm(?:s|ed|ing)?|log(?:s|ged|ging)?[ -](?:in|on)|sign(?:s|ed|"
    r"ing)?[ -](?:in|on)|"
    r"gets? in(?:to)?)(?:[ \t]{1,2}[\w'’-]{1,20}){0,6}?[ \t]{1,2}(?:with|using|via|and)[ \t]{1,2}(?:the|my|"
    r"our)[ \t]{1,2}"
    r"(?:pass[ -]?)?(?:word|phrase|code)[ \t]{1,2}",
    re.IGNORECASE,
)
_CODE_FOR = re.compile(
    rf"\b(?:{_CODE})[ \t]{{1,2}}{_DIGITS}"
    r"(?=[ \t]{1,2}for[ \t]{1,2}(?:(?:the|my|our|your|his|her|their)[ \t]{1,2})?"
    rf"(?:[\w-]{{1,20}}[ \t]{{1,2}}){{0,2}}?(?:{_LOCK})\b)",
    re.IGNORECASE,
)
_CHANGED_TO = re.compile(
    rf"\b(?:{_CODE})\b(?:[ \t]{{1,2}}[\w'’-]{{1,20}}){{0,5}}?[ \t]{{1,2}}(?:to|into)[ \t]{{1,2}}{_DIGITS}{_ENDS}",
    re.IGNORECASE,
)
_KEYED_IN = re.compile(rf"\b(?:key|punch|tap)(?:s|ed|ing)? in[ \t]{{1,2}}{_DIGITS}{_ENDS}", re.IGNORECASE)
_USED_TO = re.compile(
    rf"\b(?:us(?:e|ing)|enter|type(?: in)?|key in|punch in|tap in|put in|"
    rf"try)[ \t]{{1,2}}(?:(?:the[ \t])?(?:{_CODE})[ \t])?"
    rf"{_DIGITS}(?=[ \t]{{1,2}}(?:to|at|on|onto|for|in|into|as|when)\b[^.!?\n]{{0,50}}?\b"
    r"(?:log|login|logging|sign|signing|unlock|"
    r"unlocking|open|opening|enter|entering|door|gate|garage|keypad|alarm|disarm|verify|verification|confirm|get in|"
    r"access|"
    r"code|pin|password|safe|lock|authenticate)\b)",
    re.IGNORECASE,
)
_IS_THE_CODE = re.compile(
    rf"(?<![\w.,:-]){_DIGITS}(?=[ \t]{{1,2}}(?:is|was|ist)[ \t]{{1,2}}(?:your|my|our|the|his|her|their|a)"
    rf"(?:[ \t]{{1,2}}[\w-]{{1,20}}){{0,4}}?[ \t]{{1,2}}(?:{_CODE}|password|passcode)\b)",
    re.IGNORECASE,
)


_CODE_FORMS = (
    *(_CODES, _CODE_OF, _SPACED_PIN, _COMBINATION, _OPENS_WITH, _USED_TO, _IS_THE_CODE),
    *(_CODE_FOR, _CHANGED_TO, _KEYED_IN),
)


def _codes(text: str) -> Iterator[Found]:
    """Find the digits that open something."""
    for form in _CODE_FORMS:
        for match in form.finditer(text):
            said = match["code"]
            if form is _CHANGED_TO and not _SETTING.search(text, max(0, match.start() - 40), match.start("code")):
                continue
            if n_digits(said) >= _LEAST_DIGITS or (said[:1].isalpha() and not n_digits(said)):
                yield Found(match.start("code"), match.end("code"), "secret")
    for match in _OPENS_BY_WORD.finditer(text):
        if found := _phrase(text, match.end()):
            yield found


# ── Both ──────────────────────────────────────────────────────────────────────────────────────────────────

_PHRASE_WORDS = frozenset(
    "password passwords passphrase passphrases passcode passcodes pass passwort kennwort passwd pwd pw key phrase "
    "phrases "
    "word words codeword mnemonic maiden answer question login logins credentials contrasena wachtwoord passe".split()
)
_CODE_WORDS = frozenset(
    "code codes passcode passcodes pin pins combination combo puk otp tan geheimzahl lock locks locked locking unlock "
    "unlocks unlocked unlocking open opens opened opening arm arms armed arming disarm disarms disarmed disarming log "
    "logs logged logging sign signs signed signing get gets let lets enter enters entered use using type key punch tap "
    "put try".split()
)


def find_said_secrets(text: str, words: Words) -> Iterator[Found]:
    """Find secrets by the words around them; spans may overlap. `words`: `finder_text.words(text)`."""
    if not _PHRASE_WORDS.isdisjoint(words.folded):
        yield from _phrases(text)
    if not _CODE_WORDS.isdisjoint(words.folded):
        yield from _codes(text)
