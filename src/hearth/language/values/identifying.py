"""Marks in a text by which somebody may be known: numbers with check digits, ways to reach them, health and faith."""

from __future__ import annotations

import functools
import importlib.resources
import ipaddress
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hearth import patterns as re
from hearth.language.tokens import folded

# ── Finder text ───────────────────────────────────────────────────────────────────────────────────────────
# Defines what finders in a text read and return: a plain text with the places of the original, and labelled spans.
#
# `plain` drops invisible characters and replaces look-alike letters with the Latin ones; `Plain.original` maps a
# place in `Plain.text` back to the original. Takes time linear in the text; accepts any text, lone surrogates
# included.
#
# Covered: zero-width characters, soft hyphens, direction marks, full-width and styled letters and digits, Cyrillic
# and Greek look-alikes, accents (when words are compared). Not covered: look-alikes made of several letters (`rn` for
# `m`), digits for letters (`M1a`).


class Found(NamedTuple):
    """A labelled span of a text. A tuple: many are made, and a frozen dataclass takes three times as long."""

    start: int
    end: int
    kind: str
    """One of `config.MASK_KINDS`."""
    by: str = "form"
    """Finder that made it: `form`, `owner` (the owner's own names) or `tagger`."""


def n_digits(text: str) -> int:
    """Count the digits in a text."""
    return sum(c.isdigit() for c in text)


_INVISIBLE = (
    "\u00ad\u034f\u061c\u180e"
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)
_HIDDEN = re.compile(f"[{_INVISIBLE}]")
_LOOKS_LIKE = dict(
    zip(
        "АВЕЅІЈКМНОРСТУХаеѕіјкорсухһԁԛԝҮүΑΒΕΖΗΙΚΜΝΟΡΤΥΧοıⅼ",
        "ABESIJKMHOPCTYXaesijkopcyxhdqwYyABEZHIKMNOPTYXoil",
        strict=True,
    )
)


class _Table(dict[int, str]):
    """A table for `str.translate`: the reading of each character, worked out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if character in _INVISIBLE:
            read = ""
        elif character in _LOOKS_LIKE:
            read = _LOOKS_LIKE[character]
        else:
            read = unicodedata.normalize("NFKC", character)
            if len(read) != 1 and not read.isalnum():
                read = character  # `¨` is a space and an accent: no letter is hidden in it
        self[code] = read
        return read


_TABLE = _Table()


@dataclass(frozen=True, slots=True)
class Plain:
    """A text as it is read, and the way back to its characters."""

    text: str
    places: array[int] | None
    """Place of each character in the original; None when no place differs."""

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Map the characters from `start` to `end` to their places in the original."""
        if self.places is None:
            return start, end
        return self.places[start], self.places[end - 1] + 1


def plain(text: str) -> Plain:
    """Normalise a text."""
    if text.isascii():
        return Plain(text, None)
    read = text.translate(_TABLE)
    if len(read) == len(text) and not _HIDDEN.search(text):
        return Plain(read, None)
    places = array("L")
    for index, character in enumerate(text):
        for _ in _TABLE[ord(character)]:
            places.append(index)
    return Plain(read, places)


# ── Words ─────────────────────────────────────────────────────────────────────────────────────────────────

_WORD = re.compile(r"[\u2e80-\U0003ffff]|[^\W_\u2e80-\U0003ffff]+(?:[\u0300-\u036f]+[^\W_\u2e80-\U0003ffff]*)*")
"""Matches a word; each Chinese, Japanese or Korean letter is one, since a name may begin and end anywhere."""
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_SPECIAL = str.maketrans({"ß": "ss", "ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})


class Words:
    """The words of a plain text, folded, and their places in it, which are worked out when first asked for."""

    __slots__ = ("_places", "_text", "folded")

    def __init__(self, text: str, folded: list[str]) -> None:
        """Build it with `words` instead."""
        self.folded = folded
        self._text = text
        self._places: tuple[list[int], list[int]] | None = None

    @property
    def starts(self) -> list[int]:
        return self._found()[0]

    @property
    def ends(self) -> list[int]:
        return self._found()[1]

    def _found(self) -> tuple[list[int], list[int]]:
        if self._places is None:
            spans = [match.span() for match in (_ASCII_WORD if self._text.isascii() else _WORD).finditer(self._text)]
            self._places = [start for start, _ in spans], [end for _, end in spans]
        return self._places


def words(text: str) -> Words:
    """Split a plain text into its words: runs of letters and digits."""
    if text.isascii():
        return Words(text, _ASCII_WORD.findall(text.lower()))
    return Words(text, [fold(word) for word in _WORD.findall(text)])


def fold(word: str) -> str:
    """Fold a word for comparison: lower case, without accents, look-alikes and invisible characters."""
    return word.lower() if word.isascii() else _folded(word) if len(word) <= 64 else _folded.__wrapped__(word)


@functools.lru_cache(maxsize=8_000)
def _folded(word: str) -> str:
    apart = unicodedata.normalize("NFKD", word.translate(_TABLE).casefold())
    return "".join(c for c in apart if not unicodedata.combining(c)).translate(_SPECIAL)


# ── Contact ids ───────────────────────────────────────────────────────────────────────────────────────────
# Finds by form what somebody is reached by: addresses of mail, pages and machines, also dictated ones, and file
# names; tells whether a run of digits is a phone number. For requests `identifiers` finds such values typed and ready
# to use.
#
# Whether a run of digits is a phone number is told by its form, by numbering plans, by the word before it. Covered:
# international form with `+` or `00` for every country; national and local forms of the owner's country and its
# neighbours (of common countries if the owner's is not known); any plausible form after a cue word. Not covered:
# short codes (112, 22 33 44 without a cue).

# ruff: noqa: SIM905 - lists of words read best as words


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


# ── Special categories ────────────────────────────────────────────────────────────────────────────────────
# Finds what tells of somebody's health, belief, politics, love, union or origin, of their means or of a child.
#
# By words of the field: conditions, symptoms, medicines (by name and by the endings that the INN gives them),
# treatments, faiths and their feasts, parties and convictions, orientations, unions, ethnic groups (GDPR article 9);
# income, debt and the sums named in the same sentence; care, school and custody of children; violence and crime,
# suffered or done, what courts and prisons do about it, and asylum. Only what is told of somebody counts, not the
# field itself: a doctor, an appointment, a church as a building, a price stay. Covered: English; plurals; two-word
# conditions. Not covered: what is told between the lines ("I can't keep food down"), typing errors, other languages,
# a sum without a word of income or debt beside it.

# ruff: noqa: SIM905 - lists of words read best as words


KINDS = ("health", "religion", "politics", "sexuality", "union", "ethnicity", "finance", "children", "law")

_WORDS: Mapping[str, str] = {
    "health": "abortion abscess acne adderall addicted addiction adhd advil aids alcoholic alcoholism allergic "
    "allergies allergy alzheimer alzheimers ambien amnesia amoxicillin anaemia anaemic anemia anemic "
    "aneurysm angina anorexia anorexic antibiotic antibiotics antidepressant antidepressants anxiety "
    "aphasia appendicitis arrhythmia arthritis asperger aspirin asthma asthmatic ativan autism autistic "
    "benadryl biopsy bipolar bleeding botox bronchitis bulimia bulimic bypass cancer carcinoma cataract "
    "cataracts celiac chemo chemotherapy chickenpox chlamydia cholera cholesterol cirrhosis codeine "
    "coeliac colitis coma concerta concussion conjunctivitis constipated constipation contraceptive "
    "contraceptives cortisone covid crohn crohns cyst cystitis deaf dementia depressed depression "
    "dermatitis detox diabetes diabetic dialysis diarrhea diarrhoea diazepam digoxin disability disabled "
    "dyslexia dyslexic eczema embolism emphysema endometriosis epilepsy epileptic estradiol estrogen "
    "fentanyl fever feverish fibroids fibromyalgia flu fracture fractured gabapentin gastritis glaucoma "
    "gonorrhea gout haemophilia haemorrhoids hallucinations heparin hepatitis hernia herpes hiv humira "
    "hydrocodone hypertension hyperthyroidism hypoglycemia hypothyroidism ibuprofen imodium impotence "
    "impotent incontinence incontinent infertile infertility influenza insomnia insulin ivf jaundice "
    "ketamine kidney leukaemia leukemia lexapro lithium lupus lyme lymphoma lyrica malaria mammogram "
    "mastectomy measles melanoma melatonin meningitis menopause menstruation metformin methadone "
    "methotrexate migraine migraines miscarriage miscarried mono morphine mumps naloxone naproxen nausea "
    "nauseous neuropathy nexium nicotine obese obesity ocd osteoporosis overdose ovulating ovulation "
    "oxycodone ozempic pancreatitis paracetamol paralysed paralysis paranoia paranoid parkinson "
    "parkinsons paxil penicillin pepto periods phobia pmdd pms pneumonia postpartum prednisolone "
    "prednisone pregabalin pregnancy pregnant prep prozac psoriasis psychosis psychotic ptsd rabies rash "
    "rehab relapse rheumatism ritalin rubella salbutamol scabies schizophrenia schizophrenic sciatica "
    "scoliosis seizure seizures sepsis seroquel shingles sober sobriety std steroid steroids sti "
    "stillbirth stroke suboxone suicidal suicide syphilis tachycardia tamoxifen testosterone tetanus "
    "thrombosis thyroid tinnitus tonsillitis tramadol transfusion truvada tuberculosis tumor tumors "
    "tumour tumours tylenol ulcer ulcers valium vasectomy ventolin vertigo viagra vomited vomiting "
    "vyvanse warfarin wegovy xanax xarelto zoloft zyrtec "
    "amputated amputation amputee anaphylactic anaphylaxis antenatal antihistamine antihistamines autoimmune "
    "backache benign blister blisters bloating bmi boils breathless bruised bruises bruising bunion bunions burnout "
    "catheter concussed copd counselling cpap cramp cramps crutches defibrillator dehydrated dehydration dentures "
    "dermatologist diarrhoeal disabled dizziness dizzy dyscalculia dyspraxia earache ecg ectopic ekg epidural "
    "epipen fainted fainting frostbite gallstones gestational gingivitis haemorrhage hallucinating headache "
    "headaches heartburn hospitalised hospitalized hrt hungover hypochondria hysterectomy ibs immunosuppressed "
    "incurable indigestion infected infection infections inflamed inflammation inhaler inhalers inoculation "
    "intolerance intolerant iud lactating laxative laxatives lump lumps malignant medicated medication medications "
    "menopausal metastases metastasis mri myocarditis neurologist norovirus nosebleed nosebleeds numbness oncology "
    "opioid opioids osteoarthritis overweight pacemaker painkiller painkillers palpitations palsy perimenopausal "
    "pessary polyps postnatal prediabetes prediabetic premature prenatal prescription prescriptions prosthesis "
    "prosthetic psychotherapy radiotherapy reflux remission salmonella self-harm sickle-cell sinusitis sleepwalking "
    "smear spasm spasms sprain sprained ssri ssris stammer stent stents stillborn stitches stutter stutters "
    "surgeries surgery swollen symptom symptoms terminally tetany toothache tourettes transplant trimester "
    "ultrasound underweight uti vaccinated vaccination vaccinations wheezing wheezy x-ray x-rays "
    "oncologist psychiatrist psychologist psychotherapist urologist gynaecologist gynecologist rheumatologist "
    "haematologist hematologist endocrinologist gastroenterologist nephrologist cardiologist proctologist mastectomies "
    "overdosed overdosing dieting binge-eating sedated comatose stillbirths miscarry miscarrying hospitalisation "
    "hospitalization quadriplegic paraplegic blindness deafness",
    "religion": "adventist agnostic atheist baptised baptism baptist bible buddhism buddhist catholic catholicism "
    "christian christianity confession confirmed eucharist evangelical gurdwara halal hindu hinduism imam "
    "islam islamic jew jewish jews judaism kosher lutheran mass methodist mormon mosque mosques muslim "
    "muslims orthodox pentecostal prayer prayers protestant quaker quran rabbi ramadan rosary sabbath "
    "scientologist scientology shabbat shia sikh sikhism sunni synagogue torah yom zen",
    "politics": "afd fidesz podemos psoe snp syriza "
    "anarchist brexiteer cdu communism communist conservatives csu democrat democrats fascist fdp "
    "feminist gop labour leftist liberals libertarian maga marxist monarchist nationalist republican "
    "republicans socialist socialists spd tories tory ukip",
    "sexuality": "asexual bisexual bisexuality cisgender gay gays hetero heterosexual homosexual homosexuality "
    "intersex lesbian lesbians lgbt lgbtq nonbinary pansexual polyamorous queer transgender transsexual",
    "union": "union strike picketing shop-steward strike-fund unionise unionised unionising unionist unionists "
    "unionize unionized unionizing unison usdaw verdi",
    "finance": "alimony arrears bailiff bankrupt bankruptcy benefits bursary creditor creditors creditworthiness "
    "debt debts dividend dividends earnings evicted eviction foreclosure garnished garnishment inheritance "
    "inherited insolvency insolvent jobseeker lender loan loans mortgage mortgages overdraft overdrawn payday payslip "
    "payslips pension pensions redundancy remortgage salaries salary savings severance stipend wage wages welfare "
    "401k alimonies annuities annuity bailiffs collateral defaulted furlough furloughed guarantor indebted invested "
    "investments moneylender moonlighting payroll penniless pensioner refinance refinanced refinancing "
    "repayment repayments repossessed repossession royalties scholarship scholarships underpaid",
    "children": "adopted adoption bedwetting breastfeed breastfeeding bullied bullying childcare childminder custody "
    "daycare detention expelled fostering creche crèche kindergarten newborn nursery paediatrician "
    "paediatric pediatrician pediatric potty preschool preschooler stepchild stepdaughter stepson toddler "
    "toddlers truancy truant "
    "babysitter babysitters bottle-feeding diaper diapers fostered headteacher "
    "homeschooled homeschooling nannies nanny "
    "nappies nappy orphan orphaned paternity playgroup preemie stepchildren stepkids surrogacy teething tantrum "
    "tantrums tutoring weaning",
    "law": "asylum refugee refugees deported deportation deport raped rapes raping rapist molested molesting molester "
    "molestation assaulted stalked stalker stalking mugged mugging burgled burglarised burglarized trafficked "
    "blackmailed "
    "blackmailer paedophile pedophile parole paroled probation imprisoned imprisonment incarcerated incarceration "
    "jailed "
    "acquitted indicted indictment felony misdemeanor misdemeanour manslaughter shoplifting embezzlement embezzled "
    "perjury arrested convicted ex-convict",
    "ethnicity": "aboriginal afro-american arab arabs ashkenazi biracial black-british caucasian chicano hispanic "
    "inuit kurd kurdish latina latino latinx maori mixed-race native-american roma romani sinti tamil "
    "tutsi uyghur zulu",
}
_PHRASES: Mapping[str, str] = {
    "health": r"(?:blood pressure|blood sugar|cholesterol)(?: \w{2,7}){0,2}? \d{2,3}(?:(?: over |/)\d{2,3})?|"
    r"blood (?:group|type) (?:\w+ )??(?-i:AB|A|B|O)(?: ?(?:rh )?(?:pos(?:itive)?|neg(?:ative)?|[+-]))?|"
    r"(?:(?:going|go|goes|went|gone|back|been|send|sent) to|in|start(?:s|ed|ing)?|need(?:s|ed)?) (?:couples )?therapy|"
    r"(?:my|his|her|their|our) therapy|smok(?:e|es|ed|ing) (?:weed|pot|crack|meth|dope|joints?)|"
    r"(?:transition(?:ing)?|gender) (?:appointment|clinic|surgery)|gender transition|(?:on|taking|starting) hormones|"
    r"lost (?:the|our|her|my|their) baby|blood pressure|blood sugar|blood clot|panic attacks?|heart (?:attack|"
    r"disease|failure|condition)|"
    r"multiple sclerosis|eating disorder|nervous breakdown|mental (?:illness|breakdown)|"
    r"morning sickness|sleep apn(?:o)?ea|urinary infection|yeast infection|cystic fibrosis|"
    r"down syndrome|burn(?:ed)? out|in labou?r|birth control|morning-after pill|c-section|hot flushes|"
    r"sick leave|test(?:ed)? positive|therapy session|psychiatric (?:ward|clinic|hospital)|"
    r"hearing aids?|wheelchair|"
    r"(?<=my )(?:period|cycle|psychiatrist|therapist|oncologist|gyn(?:a)?ecologist|urologist)|"
    r"diagnos(?:ed|is)|on medication|"
    r"(?:broke|broken|fractured|dislocated|twisted|tore|torn|pulled|shattered) (?:my "
    r"|his |her |their |a |an )?(?:\w+ )?"
    r"(?:leg|arm|wrist|ankle|hip|ribs?|collarbone|nose|toe|finger|foot|hand|elbow|shoulder|knee|ligaments?|hamstring|"
    r"meniscus|tendon|muscle|back|jaw|tooth|achilles)|"
    r"(?:bad|sore|stiff|aching|weak|dodgy) (?:back|knees?|hips?|heart|throat|neck|hearing|eyesight|shoulders?)|"
    r"(?:blood|urine|stool|hearing|eye|allergy|pregnancy|genetic|hiv|std|sti|smear|paternity) "
    r"(?:tests?|results?|work|count)|"
    r"(?:ct|pet|mri|bone|brain|heart|liver|kidney|thyroid|breast|ultrasound) scans?|pap smear|root canal|"
    r"(?:hip|knee|heart|back|eye|brain|gastric|cataract|gallbladder|hernia|bypass|plastic|cosmetic|dental) "
    r"(?:operation|replacement|transplant|valve|sleeve|implants?|procedure)|operated on|"
    r"(?:slipped|herniated) dis[ck]|hay fever|food poisoning|stomach (?:bug|flu|ulcer|cramps|pains?)|cold sores?|"
    r"(?:chest|back|knee|joint|tooth|neck|hip|abdominal|period|nerve|muscle|stomach|belly|tummy) "
    r"(?:pains?|aches?|infection)|"
    r"(?:chronic|terminal|mental|kidney|liver|lung|skin|bowel|autoimmune|thyroid|gum|eye|sexually transmitted) "
    r"(?:pain|fatigue|illness|disease|condition|infection|health issues?|health problems?)|"
    r"(?:lactose|gluten|nut|peanut|dairy|wheat)[- ](?:intoleran(?:t|ce)|allerg(?:y|ic|ies))|allergic to|"
    r"\d+(?:[.,]\d+)? ?(?:mg|mcg|µg)\b|(?:sleeping|water|birth control|iron|diet) (?:pills?|tablets?)|"
    r"(?:blood thinners?|beta[- ]blockers?|nicotine patch(?:es)?|antabuse)|\d+ weeks (?:pregnant|along)|"
    r"baby is due|due date is|gave birth|"
    r"(?:trying for|expecting|lost) a baby|fertility (?:clinic|treatment)|egg donor|sperm (?:donor|count)|"
    r"(?:mental|physical|poor|bad) health|(?:quit|quitting|stopped|stop) (?:drinking|smoking)|"
    r"alcoholics anonymous|aa meetings?|drinking problem|drug (?:problem|test|habit|abuse)|"
    r"(?:hard of hearing|short-sighted|long-sighted|partially sighted|registered blind|going blind)|"
    r"(?:physio|occupational|speech|radiation|hormone|group|couples|grief)[- ]?therap(?:y|ist)|long covid|"
    r"(?:admitted to|discharged from|rushed to) (?:the )?(?:hospital|hospice|a&e|intensive care|the ward|icu)|"
    r"intensive care|palliative care|hospice|off sick|signed off|sick note|sick leave|throwing up|threw up|"
    r"(?:heart|brain|knee|hip|back|eye|cataract|spinal|spine|bypass|gastric|bariatric|plastic|cosmetic|jaw|shoulder|"
    r"hand|"
    r"foot|ankle|wrist|lung|liver|kidney|bowel|stomach|throat|thyroid|breast|prostate|hernia|laser|open[- ]heart|"
    r"keyhole|"
    r"dental|oral|emergency|weight[- ]loss|gender|transplant|cancer|tumou?r) (?:surger(?:y|ies)|operations?)|"
    r"lumps? (?:in|on|under) (?:(?:my|his|her|their|the|one|a) )?(?:\w+ )?(?:breasts?|neck|armpit|throat|testicles?|"
    r"chest|"
    r"arm|leg|groin|head|back|skin|thyroid|side)|(?:found|felt|feel|has|have|had|noticed) (?:a|another|the|"
    r"some) (?:\w+ )?lumps?"
    r"(?! (?:sum|of))|"
    # Harm to oneself, and the wish to die.
    r"self[- ](?:harm(?:s|ed|ing)?|injur(?:y|ies|ing)|inflicted)|"
    r"end(?:s|ed|ing)? (?:it all|(?:my|his|her|their|your) (?:own )?li(?:fe|ves))|"
    r"(?:tak(?:e|es|en|ing)|took) (?:my|his|her|their|your) (?:own )?li(?:fe|ves)(?! (?:jacket|vest|insurance|story|"
    r"savings))|"
    r"(?:do(?:es)?n['’]?t|do(?:es)? not|did(?:n['’]t| not)|no longer) want(?:s|ed)? to (?:live|be alive|go on living)|"
    r"(?:want(?:s|ed|ing)?|wish(?:es|ed|ing)?) (?:to die|to be dead|(?:i|he|she|they) (?:was|were) dead)|"
    r"better off dead|"
    r"(?:no|any|nothing) (?:reason |point )?(?:to live for|(?:to|in) (?:live|living))|slit (?:my|his|her|"
    r"their) wrists?|"
    r"(?:lost|lose|losing|gained?|gaining|put on|putting on|shed) (?:weight|\d{1,3} ?(?:kg|kilos?|pounds?|lbs?|"
    r"stone)\b)|"
    r"\d{1,3} ?(?:kg|kilos?|pounds?|lbs?|stone) (?:overweight|too heavy|underweight)|weight[- ]loss (?:clinic|jabs?|"
    r"injections?)",
    "religion": r"communion|(?:for|during|until|observ(?:e|ing)|gave up .{2,30} for|fast(?:s|ing)? (?:in|"
    r"for)) (?-i:Lent)|"
    r"(?:go|goes|went|going) to (?:mass|church|synagogue|temple)|(?:sunday|midnight|holy) mass|"
    r"bar mitzvah|bat mitzvah|holy communion|first communion|jehovah'?s witness(?:es)?|born[- ]again|"
    r"yom kippur|rosh hashanah|(?:friday|morning|evening) prayers?|"
    r"eid al-\w+|sunday school|bible (?:study|group)|prayer (?:group|meeting)",
    "politics": r"(?:green|labour|pirate|conservative|communist|democratic|republican) party|left[- ]wing|"
    r"right[- ]wing|far[- ](?:left|right)|pro-life|pro-choice|party conference|(?:i|we) vote(?:d)? for|"
    r"(?:lib dems?|sinn f[ée]in|plaid cymru|die linke|the greens)|"
    r"(?<=vote )(?:labour|green|left)|(?<=votes )(?:labour|green|left)|(?<=voted )(?:labour|green|left)",
    "sexuality": r"coming out (?=as|to)|same-sex|gender dysphoria|sex life|pride (?:march|parade)|"
    r"non-binary",
    "union": r"(?:trade|labou?r|teachers'?|nurses'?|workers'?) union|"
    r"(?<=join the )union|(?<=joined the )union|(?<=left the )union|(?<=leave the )union|(?<=in the )union|"
    r"union (?:dues|rep|meeting|member(?:ship)?)|"
    r"shop steward|works council|strike (?:fund|ballot|vote)|on strike",
    "finance": r"credit (?:score|rating|check|history)|child (?:benefit|support|maintenance)|housing benefit|"
    r"unemployment benefits?|universal credit|income support|minimum wage|bank balance|net worth|student loan|"
    r"tax (?:arrears|debt)|(?:monthly|annual|yearly|gross|net|take-home) (?:income|pay)|"
    r"(?:(?<=my )|(?<=our )|(?<=his )|(?<=her )|(?<=their ))(?:income|pay|earnings|bonus|raise|commission|allowance|"
    r"finances|investments|inheritance|shares|stocks|portfolio|tax return|tax refund|payout|settlement)|"
    r"debt collectors?|food bank|pawn shop|laid off|"
    r"pay (?:rise|raise|cut)|(?:sick|maternity|paternity|overtime|holiday|back|severance) pay|hourly (?:rate|wage)|"
    r"(?:before|after) tax|tax bracket|credit (?:card )?(?:debt|bill|balance|limit)|credit card bills?|"
    r"bank (?:statements?|loans?|account)|(?:current|savings|joint|checking) account|account balance|"
    r"(?:unpaid|overdue|outstanding) (?:bills?|rent|wages|balance|loans?|taxes)|"
    r"(?:behind|late) (?:on|with) (?:the|my|our|his|her|their) (?:rent|mortgage|payments?|bills?|instal?lments?|loan)|"
    r"(?:can't|cannot|can not|couldn't|could not) (?:afford|pay (?:the|my|our) (?:rent|bills?|mortgage))|"
    r"short of (?:money|cash)|in the red|maxed out|trust fund|life insurance|payday loan|car loan|home loan|"
    r"monthly instal?lments?|(?:lost|losing) (?:my|his|her|their) job|on benefits|on the dole|job ?seeker'?s allowance|"
    r"(?:disability|housing|carer'?s|family|parental) (?:allowance|benefits?)|means[- ]tested|child tax credits?|"
    r"(?:won|win|wins|winning) (?:\w+ ){0,5}?(?:(?:in|on|at) )?(?:the )?(?:lottery|lotto|jackpot|pools|casino|"
    r"sweepstake)|"
    r"lott(?:ery|o) (?:win|winnings?|winners?|jackpot|prize)|scratch ?card win(?:nings)?|gambling (?:debts?|losses)|"
    r"(?:lost|lose|loses|losing|gambled) (?:\w+ ){0,4}(?:gambling|betting|at the casino|at poker)|"
    r"(?:fired|sacked|dismissed|firing|sacking) (?:me|him|her|us|them)|(?:getting|being|got|get|gets) (?:fired|sacked|"
    r"laid off|"
    r"made redundant)|made redundant|unemployed|jobless|out of work|wrongful dismissal|unfair dismissal|"
    r"severance (?:pay|package)|"
    r"(?:gave|given|handed|got) (?:me |him |her |us |them |my |his |her |their )(?:notice|the sack|the boot)|"
    r"in my will|tax debts?|(?:weeks?|months?|days?|fallen|falling|fell|get|getting|am|are|is|be) behind (?:on|with) "
    r"(?:the |my |our |his |her |their )?(?:rent|mortgage|bills|payments?|instal+ments?|maintenance)|"
    r"left (?:me|us|him|her|them) (?:about |over )?[€$£]? ?\d[\d.,]*(?: ?(?:k|grand|thousand|million|euros?|"
    r"pounds?|dollars?))?",
    "law": r"sex offenders?|(?:get(?:s|ting)?|got|am|are|is|being|be|been|were|we['’]re|i['’]m) divorced|"
    r"(?:my|our|his|her|their|the) divorce|divorc(?:e|ing) (?:him|her|me|papers|lawyer|settlement|proceedings|hearing)|"
    r"filed? for divorce|rapes?(?![- ]?(?:seed|oil|field))|(?:on|violated|broke) probation|probation officer|"
    r"(?:sexual(?:ly)?|"
    r"domestic|physical(?:ly)?|child) (?:abus(?:e|ed|es|ing)|assault(?:s|ed|ing)?|violence|harass(?:ed|ment)|"
    r"offences?|offenders?)|sexual offences?|hate crimes?|date[- ]rape|"
    r"battered (?:wife|wives|women|woman)|women['’]s (?:shelter|refuge)|(?:restraining|non-molestation|protection|"
    r"expulsion) order|"
    r"victim(?:s)? of (?:a |an )?(?:rape|crime|abuse|violence|assault|fraud|stalking|domestic|trafficking)|"
    r"victim support|"
    r"(?:in|to|from|out of) (?:prison|jail)(?! break)|prison (?:sentence|term|visit)|(?:suspended|custodial) sentence|"
    r"criminal (?:record|charges?|offence|offense|conviction|case)|(?:a|by) court order|court[- ]ordered|"
    r"community service|electronic tag|ankle monitor|"
    r"(?:on|out on|granted|refused|posted) bail|"
    r"(?:convicted|accused|charged|guilty|suspected|acquitted) (?:of|with) (?:\w+)|drunk[- ]driving|drink[- ]driving|"
    r"dui|"
    r"(?:police|officers?) (?:\w+ )?(?:searched|raided|arrested|questioned)|under arrest|house search|search warrant|"
    r"(?:asylum|refugee) (?:hearing|application|claim|status|seekers?|interview|appeal|case)|residence permit|"
    r"immigration (?:hearing|lawyer|status|appeal|detention)|undocumented|illegal immigrants?|overstayed (?:my|his|"
    r"her|their) visa|"
    r"(?:leave|permission) to remain|(?:my|our|his|her|their) visa (?:runs out|expires?|expired|was|is|has)",
    "children": r"foster (?:child|care|parents?|son|daughter|family)|parents' evening|"
    r"school (?:report|nurse|counsellor)|"
    r"special needs|learning difficulties|(?<=in )(?:year|grade|class) \d{1,2}|"
    r"(?:first|second|third|fourth|fifth|sixth)[- ]grader?|nursery school|play ?group|"
    r"social services|youth welfare|wets? the bed|child "
    r"(?:protection|psychologist|minder|care)|(?:potty|toilet) training|"
    r"(?:class|form|head|maths|primary|kindergarten) teacher|after[- ]school "
    r"(?:club|care)|school (?:fees|place|refusal)|"
    r"(?:suspended|excluded|expelled|kicked out|sent home|picked up|bullied) "
    r"(?:from|at|by) (?:\w+ )?(?:school|nursery)|"
    r"(?:repeat(?:s|ing|ed)?|skip(?:s|ping|ped)?) (?:a|the|first|second|third|fourth|fifth|sixth) (?:year|grade)|"
    r"(?:son|daughter|kid|child|boy|girl|kids|children|twins|stepson|stepdaughter|grandson|granddaughter)(?:'s|s'|') "
    r"(?:teacher|school|class|grades?|nursery|behaviou?r|report|homework|exams?|father|mother|custody|tutor|therapist)|"
    r"(?:(?<=my )|(?<=our "
    r"))(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ]years?[- ]olds?|"
    r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ]years?[- ]old "
    r"(?=son|daughter|boy|girl)",
    "ethnicity": r"half[- ](?-i:[A-Z][a-z]+(?:ian|ean|ese|ish|can|man|nch|tch|eek|qi|li|ni))|"
    r"(?:ethnic|racial) (?:minority|origin|group)|"
    r"native american|african[- ]american|mixed race|"
    r"jewish descent",
}
_FAMILY = "mum|mom|dad|husband|wife|son|daughter|brother|sister|mother|father|gran|grandma|grandpa"
_SOMEBODY = (
    rf"(?:i|you|he|she|we|they|who|{_FAMILY}|partner|boyfriend|girlfriend|ex|stepfather|stepdad|uncle|boss|friend|"
    r"neighbou?r|(?-i:[A-Z][a-z]+))"
)
_LED = {
    # An operation and a lump: the words alone are a practice, a machine's work and a piece of sugar.
    "surgery surgeries operation operations": (
        "health",
        rf"(?:(?:my|his|her|their|our|(?:{_FAMILY})['’]s) |(?:has|have|had|having|needs?|needed|needing|after|before|"
        r"undergo(?:es|ing)?|underwent|recovering from|recover from|in for|going in for|scheduled for) (?:a |an |the |"
        r"another |my |his |her |their )?)(?:surger(?:y|ies)|operations?(?! (?:manual|mode|room)))",
    ),
    # The weight of a body, with the number.
    "weight weigh weighs weighed weighing": (
        "health",
        rf"body weight|(?:my|his|her|(?:{_FAMILY}|(?-i:[A-Z][a-z]+))['’]s) (?:current |present |target )?weight "
        r"(?:is|was|has|went|of|dropped|rose|loss|gain|at|now)(?: (?:still|now|to|down|up|at|about|around|over|"
        r"under)){0,2}"
        r"(?: \d{2,3}(?:[.,]\d)?)?(?: ?(?:kg|kgs|kilos?|pounds?|lbs?|stone))?|"
        rf"{_SOMEBODY} weigh(?:s|ed|ing)? (?:in at |about |around |only |just |over |under |nearly )?"
        r"\d{2,3}(?:[.,]\d)?(?: ?(?:kg|kgs|kilos?|pounds?|lbs?|stone))?",
    ),
    "myself himself herself themselves themself yourself ourselves": (
        "health",
        r"(?:kill(?:s|ed|ing)?|harm(?:s|ed|ing)?|hurt(?:s|ing)?|cut(?:s|ting)?|burn(?:s|ed|t|ing)?|hang(?:s|ed|ing)?|"
        r"hung|"
        r"shot|shoot(?:s|ing)?|starv(?:e|es|ed|ing)|injur(?:e|es|ed|ing)|poison(?:s|ed|ing)?|drown(?:s|ed|ing)?) "
        r"(?:myself|himself|herself|themselves|themself|yourself|ourselves)",
    ),
    # Work that somebody lost; a kiln and a shot are fired, too.
    "fired sacked dismissed let laid made": (
        "finance",
        rf"{_SOMEBODY}(?:['’](?:ve|s|d|m|re))? (?:has |have |had |just |almost |nearly |might |may |will |am |is )?"
        r"(?:was|were|been|got|gets?|getting|be|being|am|is|are) (?:just |finally |almost |nearly |being |getting )?"
        r"(?:fired|sacked|dismissed|let go|laid off|made redundant)",
    ),
    # Blows, and worse: by somebody on somebody, unless in a game.
    "beat beats beating beaten hit hits hitting slap slaps slapped punches punched kicks kicked choke chokes choked "
    "strangles strangled abuses abused rapes raped threaten threatens threatened stalks stalked gropes groped molests "
    "molested battered stabbed assaulted attacked robbed harassed kidnapped hostage": (
        "law",
        rf"{_SOMEBODY} (?:\w+ ){{0,2}}?(?:beats?|beating|hits?|hitting|slaps?|slapped|punche[sd]|kicks|kicked|"
        rf"chok(?:es?|ed)|"
        r"strangle[sd]|abuse[sd]|rape[sd]|threaten(?:s|ed)?|stalk(?:s|ed)|gropes?|groped|molest(?:s|ed)) "
        r"(?:me|him|her|us|them|his wife|her husband|my \w+|the (?:kids|children))(?! (?:at|in|to) (?:chess|tennis|"
        r"golf|"
        r"cards|football|it|poker|scrabble|the (?:game|race|finish|train|punch))| back| up (?:on|for|about))|"
        r"(?:was|were|am|is|been|being|got|gets?) (?:\w+ )?(?:beaten(?: up)?(?! (?:at|in|to|by \d))|battered|abused|"
        r"groped|"
        r"strangled|choked|stabbed|assaulted|attacked by|threatened by|robbed|harassed|kidnapped|held hostage)|"
        r"beaten by (?:my|his|her|their)",
    ),
}
"""Phrases with somebody in them: words of which each holds one → its kind and form. Looked for only beside them."""
_MEDICINE = re.compile(
    r"[a-z]{3,}(?:cillin|mycin|micin|floxacin|cycline|azole|oprazole|sartan|statin|pril|olol|dipine|azepam|azolam|"
    r"zodone|"
    r"triptyline|oxetine|traline|alopram|faxine|gliptin|gliflozin|glutide|tidine|setron|triptan|mab|tinib|vir|oxaban|"
    r"parin|barbital|caine|cort|sone|solone)\b"
)
_NO_MEDICINE = frozenset("april olol reservoir elixir vir comparin person cocaine".split())
_DISEASE = re.compile(
    r"[a-z]{3,}(?:itis|aemia|emia|opathy|algia|ectomy|otomy|oscopy|phobia|plegia|sclerosis|carcinoma)\b"
)
_NO_DISEASE = frozenset("academia bohemia epidemia".split())
_KIND_OF = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_PHRASE = re.compile(
    r"\b(?=\w)(?:" + "|".join(f"(?P<{kind}>(?:{form})\\b)" for kind, form in _PHRASES.items()) + ")", re.IGNORECASE
)
_LED_BY = tuple(
    (frozenset(words.split()), kind, re.compile(rf"\b(?:{form})\b", re.IGNORECASE))
    for words, (kind, form) in _LED.items()
)
_LEADING = frozenset().union(*(words for words, _, _ in _LED_BY))
_OFTEN_ELSE = frozenset(
    "mono prep zen mass confirmed periods bleeding kidney stroke roma labour trump black liberals union strike "
    "benefits savings redundancy welfare dividend dividends adopted expelled detention infection lump lumps premature "
    "smear stitches transplant symptoms symptom surgery surgeries intolerance blister blisters invested "
    "collateral orphan defaulted probation stalking felony".split()
)
"""Words that mean something else as often; they count beside another word of their field only."""
_IDIOM = re.compile(
    r"\b(?:depressions? in the (?:lawn|road|ground|floor|grass|mattress|seat)|debts? of gratitude|fever pitch|"
    r"cancer (?:zodiac|star ?sign|horoscope)|(?:zodiac|star) ?sign (?:is )?cancer|kindergarten cop|"
    r"addicted to (?:this|that|the) (?:\w+ )?(?:series|show|song|podcast|book|novel|game|band|soap))\b",
    re.IGNORECASE,
)
"""Turns of speech that hold a word of a field and tell nothing of anybody."""
_AMOUNT = re.compile(
    r"(?:[€$£¥]|\b(?:EUR|USD|GBP|CHF)) ?\d(?:[\d.,' ]*\d)?k?\b|\b\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d\d)?\b|"
    r"\b\d+(?:[.,]\d+)?k?(?= ?(?:[€$£¥]|euros?|dollars?|pounds?|francs?|quid|grand|EUR|USD|GBP|CHF)(?!\w))|"
    r"\b(?!(?:19|20)\d\d\b)\d{3,}\b",
    re.IGNORECASE,
)
_OWING = re.compile(
    r"\bow(?:e|es|ed|ing)\b|\bearn(?:s|ed|ing)?\b|\bborrow(?:s|ed|ing)?\b|\blent\b|\bpays? me\b|\bin debt\b|"
    r"\b(?:i|he|she|they|we|who) makes? (?=[€$£]?\d)|\b(?:get|gets|got|getting|be|am|is|are) paid\b|\btakes? home\b|"
    r"\bpaid (?:back|off)\b|\bpay(?:ing)? (?:back|off)\b|\bovercharged\b|\bpays? (?:him|her|them|us)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\d)[^.!?\n]*)*")


def find_special(text: str, words: Words) -> list[Found]:
    """Find words that tell of a special category; kinds as in `KINDS`.

    Args:
        words: `finder_text.words(text)`.
    """
    found: list[Found] = []
    unsure: list[Found] = []
    for word, start, end in zip(words.folded, words.starts, words.ends, strict=True):
        kind = _kind_of(word)
        if kind:
            (unsure if word in _OFTEN_ELSE else found).append(Found(start, end, kind))
    for match in _PHRASE.finditer(text):
        found.append(Found(match.start(), match.end(), str(match.lastgroup)))
    if not _LEADING.isdisjoint(words.folded):
        for held, kind, form in _LED_BY:
            if not held.isdisjoint(words.folded):
                found += (Found(match.start(), match.end(), kind) for match in form.finditer(text))
    sure = {one.kind for one in found}
    n_unsure = Counter(one.kind for one in unsure)
    found += [one for one in unsure if one.kind in sure or n_unsure[one.kind] > 1]
    if found and (idioms := [idiom.span() for idiom in _IDIOM.finditer(text)]):
        found = [one for one in found if not any(start <= one.start and one.end <= end for start, end in idioms)]
    found += _sums(text, found)
    return sorted(found, key=lambda one: one.start)


def _sums(text: str, found: Sequence[Found]) -> Iterator[Found]:
    """Find the sums in sentences that speak of income or debt."""
    told = [one.start for one in found if one.kind == "finance"]
    if not told and not _OWING.search(text):
        return
    for sentence in _SENTENCE.finditer(text):
        if _OWING.search(sentence[0]) or any(sentence.start() <= place < sentence.end() for place in told):
            for amount in _AMOUNT.finditer(text, sentence.start(), sentence.end()):
                yield Found(amount.start(), amount.end(), "finance")


def _kind_of(word: str) -> str:
    kind = _KIND_OF.get(word) or (_KIND_OF.get(word[:-1]) if word.endswith("s") and len(word) > 4 else None)
    if kind:
        return kind
    if len(word) > 6 and word.isalpha():
        if _MEDICINE.fullmatch(word) and word not in _NO_MEDICINE:
            return "health"
        if _DISEASE.fullmatch(word) and word not in _NO_DISEASE:
            return "health"
    return ""


# ── Check digits ──────────────────────────────────────────────────────────────────────────────────────────
# Check digits of cards, accounts and national numbers, by python-stdnum and the registry of IBANs that it carries.
#
# It is loaded when the first number is checked (8 ms): most texts hold none. Its errors do not leave this module:
# what it cannot read has no right check digit.


def is_luhn(digits: str) -> bool:
    """Check the digits in a text, of any script, as a card's (ISO/IEC 7812-1, annex B)."""
    from stdnum import luhn

    return luhn.is_valid(_plain(digits))


def luhn_digit(bare: str) -> str:
    """Return the check digit to append to a card's digits."""
    from stdnum import luhn

    return luhn.calc_check_digit(bare)


def is_iban(compact: str) -> bool:
    """Check letters and digits as those of an IBAN, whatever country and length it has (ISO 7064, mod 97-10)."""
    from stdnum.iso7064 import mod_97_10

    return mod_97_10.is_valid(compact[4:] + compact[:4])


def iban_digits(country: str, rest: str) -> str:
    """Return the two check digits that stand between an IBAN's country and the rest of it."""
    from stdnum.iso7064 import mod_97_10

    return mod_97_10.calc_check_digits(rest + country)


@functools.cache
def iban_length(country: str) -> int:
    """Return how long the IBANs of a country are; 0 where it has none."""
    from stdnum import numdb

    parts = [n for _, said in numdb.get("iban").info(country) for n in re.findall(r"(\d+)!", said.get("bban", ""))]
    return 4 + sum(map(int, parts)) if parts else 0


def is_spanish(number: str, letter: str) -> bool:
    """Check the letter of a DNI (eight digits) or NIE (`X`, `Y` or `Z` and seven)."""
    from stdnum.es import dni, nie

    check = dni.calc_check_digit if number.isdecimal() else nie.calc_check_digit
    try:
        return check(number) == letter
    except (ValueError, LookupError):  # stdnum's own errors are ValueErrors
        return False


def _plain(digits: str) -> str:
    return "".join(str(int(digit)) for digit in digits if digit.isdecimal())


# ── Public names ──────────────────────────────────────────────────────────────────────────────────────────
# Knows names that everybody knows: countries, large cities, well-known firms and sights.
#
# Countries and cities are those of the IANA time zone database that `tzdata` packages, with the large cities that
# share a zone with another; firms and sights are a short list of our own. Such a name says nothing of anybody by
# itself. Not covered: other languages than English; smaller towns; firms known in one country alone.

# ruff: noqa: SIM905 - lists of words read best as words


LARGE_CITIES: Mapping[str, str] = {
    "Africa/Algiers": "oran",
    "Africa/Cairo": "alexandria, giza",
    "Africa/Casablanca": "rabat, marrakesh, marrakech, fez",
    "Africa/Johannesburg": "cape town, durban, pretoria, soweto",
    "Africa/Lagos": "abuja, ibadan, kano",
    "Africa/Nairobi": "mombasa",
    "America/Bogota": "medellin, cali",
    "America/Chicago": "dallas, houston, austin, san antonio, new orleans, minneapolis, st louis, milwaukee, "
    "nashville, memphis, kansas city, oklahoma city, cst, cdt, central time",
    "America/Denver": "salt lake city, colorado springs, albuquerque, mst, mdt, mountain time",
    "America/Edmonton": "calgary",
    "America/Los_Angeles": "san francisco, san diego, san jose california, seattle, portland, las vegas, sacramento, "
    "oakland, silicon valley, la, sf, pst, pdt, pacific time",
    "America/Mexico_City": "guadalajara, puebla",
    "America/New_York": "nyc, boston, washington, washington dc, miami, atlanta, philadelphia, orlando, pittsburgh, "
    "baltimore, charlotte, cleveland, tampa, est, edt, eastern time",
    "America/Sao_Paulo": "rio de janeiro, rio, brasilia, belo horizonte, porto alegre, curitiba",
    "America/Toronto": "montreal, ottawa, quebec",
    "America/Vancouver": "victoria",
    "Asia/Dubai": "abu dhabi, sharjah",
    "Asia/Ho_Chi_Minh": "hanoi, da nang, hue",
    "Europe/Istanbul": "turkey, ankara, izmir, antalya",
    "Asia/Jakarta": "bandung, surabaya",
    "Asia/Karachi": "lahore, islamabad",
    "Asia/Kolkata": "mumbai, bombay, delhi, new delhi, bangalore, bengaluru, chennai, hyderabad, pune, calcutta, ist",
    "Asia/Makassar": "bali, denpasar",
    "Asia/Riyadh": "jeddah, mecca, medina",
    "Asia/Seoul": "busan",
    "Asia/Shanghai": "china, beijing, peking, shenzhen, guangzhou, chengdu, wuhan, xian, hangzhou, nanjing",
    "Asia/Jerusalem": "haifa",
    "Asia/Tokyo": "osaka, kyoto, yokohama, nagoya, sapporo, kobe, fukuoka, hiroshima, jst",
    "Atlantic/Canary": "tenerife, las palmas, gran canaria",
    "Australia/Brisbane": "gold coast, cairns",
    "Australia/Sydney": "canberra, newcastle, aest",
    "Europe/Berlin": "munich, muenchen, hamburg, cologne, koeln, koln, frankfurt, stuttgart, dusseldorf, duesseldorf, "
    "leipzig, dresden, hanover, hannover, nuremberg, bremen, bonn, dortmund, essen, cet, cest",
    "Europe/Brussels": "antwerp, ghent, bruges",
    "Europe/Amsterdam": "rotterdam, the hague, utrecht, eindhoven",
    "Europe/Lisbon": "portugal, porto",
    "Europe/London": "manchester, edinburgh, glasgow, birmingham, liverpool, leeds, bristol, cardiff, oxford, "
    "cambridge, uk, britain, england, scotland, wales, bst",
    "Europe/Madrid": "spain, barcelona, valencia, seville, sevilla, malaga, bilbao, palma",
    "Europe/Moscow": "st petersburg, saint petersburg",
    "Europe/Paris": "lyon, marseille, nice, toulouse, bordeaux, strasbourg, lille, nantes",
    "Europe/Rome": "milan, milano, naples, napoli, florence, venice, turin, bologna, palermo, genoa, pisa",
    "Europe/Stockholm": "gothenburg, malmo",
    "Europe/Vienna": "salzburg, graz, linz, innsbruck",
    "Europe/Warsaw": "krakow, cracow, gdansk, wroclaw, poznan",
    "Europe/Zurich": "geneva, basel, bern, lausanne",
    "Pacific/Auckland": "new zealand, wellington, christchurch, queenstown",
    "Europe/Kyiv": "ukraine",
    "Pacific/Honolulu": "hawaii, maui",
}

_COUNTRIES = (
    "UK, USA, US, EU, England, Scotland, Wales, Northern Ireland, Great Britain, America, Holland, Czech Republic, "
    "Korea, Congo, Samoa, Burma, Swaziland, Europe, Asia, Africa, Australia, Antarctica, Scandinavia, the Alps, the "
    "Balkans, the Baltic, the Mediterranean, the Sahara, the Himalayas, the Middle East, Bosnia, Trinidad, "
    "Svalbard, Ivory Coast"
)
_MORE_CITIES = (
    "Washington, Bern, Brasilia, Canberra, Ottawa, Beijing, New Delhi, Delhi, Hanoi, Wellington, Pretoria, Ankara, "
    "Islamabad, Abuja, Rabat, Yamoussoukro, Astana, Jerusalem, Barcelona, Seville, Valencia, Munich, Hamburg, "
    "Cologne, Frankfurt, Dresden, Leipzig, Milan, Venice, Florence, Naples, Turin, Edinburgh, Glasgow, Geneva, "
    "Basel, Zurich, Rotterdam, The Hague, Antwerp, Lyon, Marseille, Nice, Porto, Krakow, Salzburg, Gothenburg, "
    "Bergen, San Francisco, Seattle, Boston, Miami, Las Vegas, Montreal, Osaka, Kyoto, Mumbai, New York City, "
    "Hollywood"
)
_FIRMS = (
    "Adidas, Adobe, Airbnb, Airbus, Aldi, Alphabet, Amazon, AMD, American Express, Apple, Audi, BBC, BMW, Boeing, "
    "Booking, Bosch, Burger King, Canon, Cisco, CNN, Coca-Cola, Costco, Dell, DHL, Disney, eBay, Facebook, FedEx, "
    "Ferrari, Fiat, Ford, Google, Gucci, H&M, Honda, HP, Huawei, Hyundai, IBM, IKEA, Instagram, Intel, Kia, Lego, "
    "LG, Lidl, LinkedIn, Lufthansa, Mastercard, McDonald's, McDonalds, Mercedes, Mercedes-Benz, Meta, Microsoft, "
    "Mozilla, Nestle, Netflix, Nike, Nintendo, Nokia, Nvidia, OpenAI, Oracle, Panasonic, PayPal, Pepsi, Peugeot, "
    "Philips, Porsche, Reddit, Renault, Ryanair, Samsung, SAP, Shell, Siemens, Skoda, Skype, Sony, SpaceX, Spotify, "
    "Starbucks, Subway, Tesla, TikTok, Toyota, Twitter, Uber, UPS, Visa, Volkswagen, Volvo, VW, Walmart, WhatsApp, "
    "Wikipedia, X, Yahoo, YouTube, Zalando, Zara, Zoom"
)
_SIGHTS = (
    "Eiffel Tower, Colosseum, Big Ben, Louvre, Buckingham Palace, Brandenburg Gate, Statue of Liberty, Taj Mahal, "
    "Great Wall, Sagrada Familia, Vatican, Kremlin, White House, Mount Everest, Everest, Matterhorn, Nile, Amazon "
    "River, Danube, Rhine, Thames, Atlantic, Pacific, North Sea, Champions League, World Cup, Olympics, Oscars, "
    "Eurovision, NATO, UNESCO, NASA, United Nations, European Union"
)
_ALSO_PEOPLE = frozenset(
    "adelaide aden alexandria asia austin beulah brooklyn cali carolina casey chad charlotte chelsea creston "
    "dakota dallas darwin davis dawson denver florence french geneva georgia houston israel jordan kenya knox la "
    "lima luis madeira madison mahe marengo marie mawson mercedes milan nice orlando palmer philips phoenix "
    "regina rep rio roma salvador samara santiago savannah sf shell sofia stanley sydney troll valencia vera "
    "verona victoria vincennes vincent virginia winamac x".split()
)
"""Names of people as well: as likely somebody's as not."""
_SPLIT = re.compile(r"\s*(?:,|/|&|\band\b|\bor\b)\s*", re.IGNORECASE)


def is_public(name: str) -> bool:
    """Return whether `name` is known to everybody, or several such names ("Canada and Mexico").

    >>> is_public("Paris"), is_public("Canada and Mexico"), is_public("Crewe")
    (True, True, False)
    """
    known = _known()
    return _key(name) in known or all(_key(part) in known for part in _SPLIT.split(name))


@functools.lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    files = importlib.resources.files("tzdata").joinpath("zoneinfo")
    names: list[str] = []
    for line in files.joinpath("iso3166.tab").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            country = line.partition("\t")[2]
            names += [country, re.sub(r"\s*\(.*?\)", "", country), *re.findall(r"\((.*?)\)", country)]
    for line in files.joinpath("zone.tab").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            zone = line.split("\t")[2]
            if zone.count("/") == 1 and not zone.startswith("Antarctica/"):  # stations, and small towns in Indiana
                names.append(zone.rpartition("/")[2].replace("_", " "))
    for listed in (_COUNTRIES, _MORE_CITIES, _FIRMS, _SIGHTS, *LARGE_CITIES.values()):
        names += listed.split(",")
    return frozenset(key for name in names if (key := _key(name))) - _ALSO_PEOPLE


def _key(name: str) -> str:
    return " ".join(folded(name).removesuffix("'s").removesuffix("’s").split()).removeprefix("the ").strip(" .")
