"""Finds values that a cue word announces (accounts, documents, plates, secrets), and keys without a cue."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from hearth import patterns as re
from hearth.language.text.confusables import Words, fold
from hearth.language.text.span import Found, n_digits
from hearth.language.values.online_ids import unpunctuated

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
