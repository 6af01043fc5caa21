"""Names of people, places and firms in a text: the owner's own, strangers' after a cue, and which are nobody's secret.

Not covered: numbers and other identifiers by their form (`identifiers`), the trained tagger (`masker.OwnersMask`).
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hearth import patterns as re
from hearth.config import Settings
from hearth.formats.content_lines import Component, parse, read_folder, split_value
from hearth.language.values.identifying import Found, Words, fold, is_public, plain, words
from hearth.protocols import Workspace
from hearth.tools.pim.contacts import relations_in

# ── Common words ───────────────────────────────────────────────────────────────────────────────────────
# Common English words that names are made of, too: "Grundschule am Mauerpark", "the allotment club", "school". Alone
# they identify nobody, so a word of these counts as a name only where it is used as one. Words that are first names or
# surnames as often ("will", "baker", "church") are no part of this: those are weighed where they stand. Grammar of
# German, French, Spanish, Italian and Dutch is covered as far as names hold it; other words are English.


FUNCTION_WORDS = frozenset(
    "a about above across after again against all along already also although always am among an and another any "
    "anybody "
    "anyone anything are around as at away be because been before behind being below beside between both but by can "
    "could did do does doing done down during each either else enough even ever every everybody everyone everything "
    "few "
    "first for from get gets getting go goes going got had has have having he her here hers him his how i if in into "
    "is it "
    "its just last least less let like many me might mine more most much must my near neither never new next no nobody "
    "none nor not nothing now of off often on once one only onto or other others our ours out over own please quite "
    "rather really same shall she should since so some somebody someone something soon still such than that the their "
    "theirs them then there these they thing things this those through to today together tomorrow tonight too toward "
    "under until up upon us very via was we well were what when where whether which while who whom whose why with "
    "within "
    "without would yes yesterday yet you your yours two three four five six seven eight nine ten "
    "am an auf aus bei beim bis das dem den der des die du ein eine einem einen einer es fur im ist mit nach oder ohne "
    "seit uber um und unter vom von vor wie zu zum zur au aux avec ce ces chez dans de del dei della delle di du e el "
    "en "
    "est et il in la las le lo los nel nella o par pour sous su sul sur un una une uno y con da do dos het op "
    "te ter voor".split()
)
"""Words of grammar: a capital at the beginning of a sentence, or in "10 AM", makes no name of them."""
DETERMINERS = frozenset("the a an my our your his her their this that".split())
COMMON_NOUNS = frozenset(
    # places and institutions
    "academy agency airport apartment archive association bakery barbershop basement bathroom bedroom bookshop "
    "building bureau cabin cafe cafeteria campus canteen cellar center centre chapel cinema city clinic club college "
    "committee community company council country daycare dealership department deposit depot desk dispensary "
    "district downtown embassy emergency entrance estate factory farm firm flat floor foundation gallery garage garden "
    "gardens government group gym hallway hospital hostel hotel hotline household institute island kiosk "
    "kindergarten kitchen laboratory landfill laundry library locker lounge mall market ministry mosque museum "
    "neighborhood neighbourhood nursery office opera orchestra organisation organization parking parliament party "
    "pharmacy place playground playgroup police practice prison pub radio reception recycling registry rehab "
    "restaurant room salon sauna school schools shed shop society stadium station store studio supermarket "
    "surgery synagogue team theater theatre toilet town travel university village warehouse workshop yard zoo "
    "allotment choir band crew squad league union member members board staff management headquarters "
    # people by what they do
    "accountant adviser advisor agent architect assistant auntie babysitter bank boss broker caretaker "
    "childminder children cleaner client coach colleague concierge consultant contractor counsellor customer dad daddy "
    "daughter decorator dentist designer director doctor doorman editor electrician employer engineer expert "
    "family father gardener girl grandfather grandma grandmother grandpa guide hairdresser "
    "handyman husband inspector instructor insurance janitor kid kids landlady landlord lawyer leader lecturer "
    "librarian locksmith manager mechanic midwife minister mother mum mummy nanny neighbor neighbour nurse officer "
    "optician optometrist orthodontist owner parent parents pediatrician people pharmacist photographer "
    "physician physio physiotherapist plumber policeman principal professor psychologist roofer roommate "
    "secretary seller sister brother solicitor specialist student students supervisor surgeon surveyor teacher "
    "tenant therapist trainer translator treasurer tutor uncle vet veterinarian volunteer waiter wife woman worker "
    # what they do, have and teach
    "accident account activity administration advice aid air alarm animal animals appointment arts auction "
    "babies baby bags bake battery beauty bed benefit benefits bicycle bike bikes birthday "
    "blood board boat body book books boy boys bread breakfast broadband bus business cable cake calendar call "
    "camping car card care cars cat cats charity chat cheese chess children choice class classes cleaning "
    "clothes club coffee computer concert control cooking copy corner course credit crisis culture customer cycle "
    "cycling "
    "dance dancing data delivery dental design desk dining dinner doctor dog dogs door drama dress drink driving "
    "duty education electric electricity electronics email emergency energy engineering equipment "
    "evening event events exam exercise eye family fashion fire fitness flight flower flowers food football free "
    "friday fruit fun fund funeral furniture game games gas general gift group "
    "guitar happy hardware health heating help helpline history hobby home hour "
    "hours idea information internet italian job jobs junior kids knowledge language late leather "
    "legal lesson lessons letter life line list live living loan local lottery lunch "
    "machine mail main maintenance management maps math maths meal meals media medical medicine meeting menu message "
    "midnight mobile modern monday money month monthly morning mortgage motor movie music national "
    "nature network news newspaper night notes number numbers online open order organic outdoor paint paper "
    "parcel passport pay pension person pet pets phone photo photos piano picture pizza plan planning "
    "plastic play plumbing present print printing private program project property public "
    "quality quiz rail railway real recipe regional removal rent rental repair repairs rescue "
    "reservation riding road running salad saturday saving savings science sea second secret "
    "security senior service services shift shoes shopping show shuttle simple singing size sky sleep "
    "soap soccer social solar sound spa spanish special speech sport sports start stock storage "
    "strings sunday supply support swim swimming table tax taxes taxi tea tech technical technology "
    "telephone television tennis test thursday ticket tickets time times tour tourist towel toy toys track trade "
    "traffic "
    "train training trains transport trash travel tree trees trip truck tuesday tv vegetable vehicle video visit "
    "voice walk walking waste watch web wedding wednesday week weekend weekly welcome wifi "
    "women work working works world writing year yearly years yoga".split()
)
"""Nouns and adjectives of everyday talk that names of shops, clubs and schools are made of."""
COMMON_WORDS = FUNCTION_WORDS | COMMON_NOUNS


def common_core(key: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a name without a leading `the` or `my`, if one common word is left; else nothing.

    `("the", "school")` → `("school",)`; `("anna",)` and `("piano", "teacher")` → `()`.
    """
    core = tuple(key[1:] if len(key) > 1 and key[0] in DETERMINERS else key)
    return core if len(core) == 1 and core[0] in COMMON_WORDS else ()


# ── The owner's own names ──────────────────────────────────────────────────────────────────────────────
# Finds names of the owner's contacts, calendar and profile, which must not leave the device, however written.
# `gathered` reads the names; `OwnerNames` finds them. Finding takes time linear in the text, whatever the number of
# contacts: words are looked up, never compared one by one.
# Covered: full names, first and last names, nicknames, initials with a last name, last name first, companies with and
# without their legal form, streets, towns and codes of addresses, phone numbers by their last digits, names of guests
# and places of the calendar, the owner's own words (`[mask] words`); other case, accents, `ue` for `ü`, possessives,
# hyphens added or left out or at the end of a line, one letter wrong, missing, added or exchanged in names of six
# letters or more; names of three letters or more with digits around them (`Anna2`, `%20Berger`) and spelled out (`A n
# n a`, `A.n.n.a`). A common word that a card is called by or that its name holds ("the school", "Allotment *Club*")
# counts only where it is used as a name: with a capital within a sentence, or after "call", "tell", "a mail from";
# words of grammar in a name ("Schule *am* Park") count with the whole name only. First and last names of people count
# in lower case, too, whatever they mean.
# Not covered: a name that is also a word ("will", "mark"), in lower case where its neighbours do not decide; relations;
# notes and other free text of cards and events; two typing errors; names glued to other words (`AnnaMia`), cut
# (`An na`), written backwards or with digits for letters (`4nna`); a name that is also a word, with digits or spelled
# out.


@dataclass(frozen=True, slots=True)
class OwnName:
    """One way to write the name of someone or something the owner knows."""

    text: str
    kind: str
    """One of `config.MASK_KINDS`."""
    is_personal: bool = False
    """Whether it is known for a first or last name of a person: then it counts in lower case, even as a common word."""


# ── Gathering ─────────────────────────────────────────────────────────────────────────────────────────────


def gathered(workspace: Workspace, settings: Settings) -> tuple[OwnName, ...]:
    """Collect every name in the owner's contacts, calendar, profile and `[mask] words`; skip what cannot be read."""
    found: dict[OwnName, None] = {}
    owner = settings.owner
    found.update(dict.fromkeys(_of_owner(owner.name)))
    if owner.email:
        found[OwnName(owner.email, "email")] = None
    found.update(dict.fromkeys(OwnName(word, "secret") for word in settings.mask.words))
    for folder, pattern, read in (("contacts", "*.vcf", _of_cards), ("calendar", "*.ics", _of_events)):
        for _, data, fault in read_folder(workspace, folder, pattern):
            if not fault:
                found.update(dict.fromkeys(read(data)))
    return tuple(found)


@functools.lru_cache(maxsize=8)
def _of_owner(name: str) -> tuple[OwnName, ...]:
    return tuple(_of_person(name, is_personal=True))


@functools.lru_cache(maxsize=20_000)
def _of_cards(data: bytes) -> tuple[OwnName, ...]:
    """Read a file of cards; cached by content, so that the cache can never be out of date."""
    try:
        document = parse(data)
    except ValueError:
        return ()
    return tuple(name for card in document.components("VCARD") for name in _of_card(card))


def _of_card(card: Component) -> Iterator[OwnName]:
    organisation = [part.strip() for line in card.lines("ORG") for part in split_value(line.decoded(), ";")]
    yield from _of_holder(card, organisation)
    for line in card.lines("NICKNAME"):
        yield from (
            OwnName(text.strip(), "person") for text in split_value(line.decoded(), ",") if not relations_in(text)
        )
    for line in card.lines("RELATED"):
        text = line.text().strip()
        if text and not relations_in(text) and not text.startswith(("urn:", "http")):
            yield from _of_person(text)
    yield from (form for part in organisation if part for form in _of_organisation(part))
    for name, kind in (("EMAIL", "email"), ("TEL", "phone"), ("URL", "url")):
        yield from (OwnName(line.text().strip(), kind) for line in card.lines(name))
    for line in card.lines("ADR"):
        yield from _of_address([part.strip() for part in split_value(line.decoded(), ";")])


def _of_holder(card: Component, organisation: Sequence[str]) -> Iterator[OwnName]:
    """Read `FN` and `N`: whose card it is."""
    name_line = card.line("N")
    parts = [part.strip() for part in split_value(name_line.decoded(), ";")] if name_line is not None else []
    family, given, middle = (*parts, "", "", "")[:3]
    full = card.text("FN").strip()
    if full and full not in organisation:
        yield from _of_person(full, given, family)
    elif full:
        yield OwnName(full, "organisation")
    if given and family:
        yield OwnName(f"{given} {family}", "person")
        yield OwnName(f"{family} {given}", "person")
        yield OwnName(f"{given[0]} {family}", "person")
    is_personal = bool(family and given) and not COMMON_WORDS.issuperset(_key(f"{family} {given}"))
    for part in (family, given, *(more.strip() for more in middle.split(","))):
        if part:
            yield OwnName(part, "person", is_personal and (part != middle or fold(part) not in FUNCTION_WORDS))
            yield from _parts(part.replace("-", " ").split(), is_personal=is_personal)


def _of_person(full: str, given: str = "", family: str = "", *, is_personal: bool = False) -> Iterator[OwnName]:
    full = " ".join(full.split())
    if not full:
        return
    yield OwnName(full, "person", is_personal)
    if not given and not family:
        parts = [part for part in full.split() if fold(part).strip(".") not in _LED_BY]
        if len(parts) > 1:
            yield OwnName(" ".join(parts), "person")
            yield OwnName(f"{parts[-1]} {' '.join(parts[:-1])}", "person")
            yield OwnName(f"{parts[0][0]} {parts[-1]}", "person")
        long = [part for part in parts if len(part) > 2 and not relations_in(part)]
        yield from _parts(long, is_personal=is_personal) if len(parts) > 1 else ()


def _parts(parts: Sequence[str], *, is_personal: bool = False) -> Iterator[OwnName]:
    """The names in a name; a word of grammar is none without the others ("Schule am Park", "de la Cruz")."""
    yield from (OwnName(part, "person", is_personal) for part in parts if fold(part) not in FUNCTION_WORDS)


_LED_BY = frozenset("dr prof mr mrs ms miss sir frau herr mme mlle dott ing med dipl".split())
_LEGAL = re.compile(
    r"[,\s]+(?:gmbh(?: & co\.? kg)?|ag|kg|ohg|e\.?v\.?|mbh|ug|se|ltd\.?|limited|plc|llp|inc\.?|corp\.?|llc|co\.?|"
    r"s\.?a\.?|"
    r"s\.?a\.?r\.?l\.?|s\.?r\.?l\.?|s\.?p\.?a\.?|b\.?v\.?|n\.?v\.?|a/s|aps|ab|oy|sas)\s*\Z",
    re.IGNORECASE,
)


def _of_organisation(text: str) -> Iterator[OwnName]:
    yield OwnName(text, "organisation")
    if (short := _LEGAL.sub("", text)) != text and len(short) > 2:
        yield OwnName(short, "organisation")


def _of_address(parts: list[str]) -> Iterator[OwnName]:
    """Read `ADR`: box, more, street, town, region, code, country. The country alone identifies nobody."""
    box, more, street, town, region, code = [*parts, *[""] * 6][:6]
    for text in (box, more, street):
        for piece in (text, *(part.strip() for part in re.split(r"[\n,]", text))):
            if len(piece) > 3 and not piece.isdigit():
                yield OwnName(piece, "address")
                bare = re.sub(r"(?:^\s*\d[\w/-]*[\s,]+|[\s,]+\d[\w/-]*\s*$)", "", piece)
                if len(bare) > 5 and bare != piece:
                    yield OwnName(bare, "address")
    for text, kind in ((town, "place"), (region, "place")):
        if len(text) > 2:
            yield OwnName(text, kind)
    if len(code) > 3:
        yield OwnName(code, "address")


@functools.lru_cache(maxsize=5_000)
def _of_events(data: bytes) -> tuple[OwnName, ...]:
    try:
        document = parse(data)
    except ValueError:
        return ()
    found: list[OwnName] = []
    for calendar in document.components("VCALENDAR"):
        for event in calendar.components("VEVENT"):
            for line in (*event.lines("ATTENDEE"), *event.lines("ORGANIZER")):
                found += _of_person(line.parameter("CN") if "@" not in line.parameter("CN") else "")
                if line.value[:7].lower() == "mailto:":
                    found.append(OwnName(line.value[7:].strip(), "email"))
            found += _of_place(event.text("LOCATION").strip())
            found += (
                OwnName(match[1] or match[2], "person") for match in _IN_TITLE.finditer(event.text("SUMMARY")[:500])
            )
    return tuple(found)


_IN_TITLE = re.compile(
    r"\b(?:with|mit|avec|con|w/|Dr\.?|Herr|Frau|Mr\.?|Mrs\.?|"
    r"Ms\.?)\s+([^\W\d_a-zà-ÿ][\w'’-]+(?:\s[^\W\d_a-zà-ÿ][\w'’-]+){0,2})"
    r"|\b([^\W\d_a-zà-ÿ][\w-]+)['’]s\b"
)


def _of_place(text: str) -> Iterator[OwnName]:
    if not text or len(text) > 200 or "://" in text:
        return
    kind = "address" if re.search(r"\d", text) else "place"
    if fold(text) not in _ROOMS:
        yield OwnName(text, kind)
    for piece in re.split(r"\s*[,\n]\s*", text):
        if len(piece) > 3 and piece != text and not piece.isdigit() and fold(piece) not in _ROOMS:
            yield OwnName(piece, "address" if re.search(r"\d", piece) else "place")


_ROOMS = frozenset(
    "home work office kitchen bedroom bathroom living room garden garage hall hallway basement attic school online "
    "zoom teams "
    "phone video call tbd tba room meeting room remote balcony terrace dining room study nursery zuhause buro "
    "kuche".split()
) | {"living room", "meeting room", "dining room", "video call"}
"""Places that everybody has: they identify nobody, and plans need them."""

# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────

_WORDS_TOO = frozenset(
    "will mark may april june august summer dawn joy hope grace rose amber "
    "pearl bill drew art jack guy skip chase "
    "patience tip chip "
    "star sky ocean river rain storm winter autumn spring sunny misty love "
    "king major wade trip ward ginger stone "
    "rock max an min long young see can are case bell cook miller day short small brown white black green gray "
    "grey west north south east best price rice fish bird lamb bush wood woods hill field bridge church temple wall "
    "gates banks rivers waters winters tailor hand reading nice bath orange apple target shell gap "
    "boots next visa oracle amazon meta uber square block ring nest hall park lake banks house homes little good man "
    "power bank "
    "the and for you not all new one two now old see way who did get let say she too use her him his how its our out "
    "has had was "
    "von van der den die das und mit auf ist ein eine del las los les des mas que por wie was kurz lang klein gross "
    "koch weiss "
    "schwarz braun bauer jung alt berg stein vogel fuchs sommer winter morgen abend sonntag freitag montag major "
    "minor lane "
    "street road mobile home work office team sun sol viola pages notes call mail time date list".split()
)
_CUES = frozenset(
    "call phone ring email mail text message tell ask invite with contact meet remind dial ping thank congratulate "
    "visit cc bcc "
    "inform notify answer whatsapp facetime from for to dear hi hello hey and mr mrs ms dr herr frau von an mit fur "
    "ruf frag "
    "sag schreib name is by about see via".split()
)
_AUXILIARIES = frozenset("i you we they he she it the there my this that be not a an me us your his her their".split())
_BEFORE_A_WORD = _AUXILIARIES | frozenset(
    "who what which that there here to in of on at by since until next last every each no so very too and or but then "
    "also please just only still never always for is are was were as than if when s".split()
)
"""Words that mark a name-like word after them as an ordinary word, in text without capitals."""
_DATED = frozenset("jan feb mar apr may jun jul aug sep oct nov dec".split())
"""Names of months: with digits, these are dates."""
_LEAST_FUZZY, _MOST_FUZZY = 6, 30
"""Fewest and most letters of a name in which one letter may be wrong."""


@dataclass(slots=True)
class _Index:
    starts: dict[str, list[tuple[tuple[str, ...], str]]] = field(default_factory=dict)
    """First word → all words and kind, the longest first."""
    joined: dict[str, str] = field(default_factory=dict)
    """Names of several words, written as one word → kind."""
    deletes: dict[str, set[str]] = field(default_factory=dict)
    """A word of a person's name with one letter removed → such words."""
    common: set[tuple[str, ...]] = field(default_factory=set)
    """Names that are one common word, as far as they are no person's first or last name."""
    numbers: set[str] = field(default_factory=set)
    """Last seven digits of phone numbers."""

    def add(self, key: tuple[str, ...], kind: str, *, is_sure: bool) -> None:
        """Add one way to write a name; one that is sure counts even as a common word."""
        whole = "".join(key)
        if not is_sure and common_core(key):
            self.common.add(key)
        self.starts.setdefault(key[0], []).append((key, kind))
        if len(key) > 1 and len(whole) > 5:
            self.joined.setdefault(whole, kind)
        is_fuzzy = len(key) == 1 and kind == "person" and _LEAST_FUZZY <= len(whole) <= _MOST_FUZZY
        if is_fuzzy and whole.isalpha() and key not in self.common:
            for less in (whole, *_without_one(whole)):
                self.deletes.setdefault(less, set()).add(whole)

    def is_near(self, word: str) -> bool:
        """Return whether a word differs from a longer name by one letter."""
        if not _LEAST_FUZZY - 1 <= len(word) <= _MOST_FUZZY or word in _WORDS_TOO:
            return False
        near = set[str]()
        for less in (word, *_without_one(word)):
            near |= self.deletes.get(less, set())
        return any(name[0] == word[0] and _is_one_off(word, name) for name in near)

    def is_telling(self, word: str) -> bool:
        """Return whether a word may begin a name, in any of the ways it may be written."""
        if word in self.starts or (len(word) > 5 and word in self.joined):
            return True
        if (len(word) > 3 and word[-1] == "s" and word[:-1] in self.starts) or self.is_near(word):
            return True
        return not word.isalpha() and bool(self.numbered(word))

    def genitive(self, word: str) -> str:
        """The kind of a name that is this word without its last "s"; empty if none is."""
        bare = word[:-1]
        if word[-1] != "s" or bare in _WORDS_TOO:
            return ""
        return next((kind for key, kind in self.starts.get(bare, ()) if len(key) == 1 and key not in self.common), "")

    def numbered(self, word: str) -> str:
        """The kind of a name with digits before or after it; empty if the rest is not a name."""
        bare = word.strip("0123456789")
        if len(bare) < 3 or not bare.isalpha() or bare in _DATED:
            return ""
        return self.whole(bare)

    def whole(self, word: str) -> str:
        """The kind of a name that is this word, or several words as one; empty if none is, or it is a plain word
        too."""
        if word in _WORDS_TOO or (word,) in self.common:
            return ""
        return self.joined.get(word) or next((kind for key, kind in self.starts.get(word, ()) if len(key) == 1), "")


class _Seen(dict[str, bool]):
    """Cache of the words that may begin a name, filled on first use and cleared when it grows too large."""

    def __init__(self, index: _Index) -> None:
        super().__init__()
        self._index = index

    def __missing__(self, word: str) -> bool:
        if len(self) > 50_000:
            self.clear()
        is_telling = self._index.is_telling(word)
        if len(word) <= 40:
            self[word] = is_telling
        return is_telling


class OwnerNames:
    """Finds the owner's names in a text."""

    def __init__(self, names: Iterable[OwnName], keep: Iterable[str] = ()) -> None:
        """Index the names; a few thousand take a tenth of a second.

        Args:
            keep: Words the owner wants to leave as they are.
        """
        kept = {_key(text) for text in keep}
        index = self._index = _Index()
        names = tuple(names)
        sure = {
            key for name in names if name.is_personal or name.kind == "secret" for key in _spellings(name.text) if key
        }
        seen = set[tuple[tuple[str, ...], str]]()
        for name in names:
            if name.kind == "phone":
                digits = re.sub(r"\D", "", name.text)
                if len(digits) >= 6:
                    index.numbers.add(digits[-7:])
            for key in _spellings(name.text):
                is_known = key in kept or (key, name.kind) in seen
                if not is_known and len("".join(key)) > 1 and name.kind not in ("phone", "email"):
                    seen.add((key, name.kind))
                    index.add(key, name.kind, is_sure=key in sure)
        for options in index.starts.values():
            options.sort(key=lambda option: -len(option[0]))
        self._seen = _Seen(index)

    def __bool__(self) -> bool:
        return bool(self._index.starts or self._index.numbers)

    def find(self, text: str, said: Words) -> list[Found]:
        """Find the owner's names in a plain text, in order. `said`: `finder_text.words(text)`."""
        found: list[Found] = []
        seen, folded = self._seen, said.folded
        done = 0
        for at in [at for at, word in enumerate(folded) if seen[word]]:
            if at < done:
                continue
            one = self._exact(text, said, at) if folded[at] in self._index.starts else None
            one = one or self._varied(text, said, at)
            if one is not None:
                kind, done = one
                found.append(Found(said.starts[at], said.ends[done - 1], kind, "owner"))
        if ("-" in text or not text.isascii()) and _HYPHEN_LIKE.search(text):
            found += self._hyphenated(text, said)
        found += self._spelled(text)
        if self._index.numbers:
            found += self._phones(text)
        return _joined_people(text, found)

    def _exact(self, text: str, said: Words, at: int) -> tuple[str, int] | None:
        folded = said.folded
        for key, kind in self._index.starts[folded[at]]:
            after = at + len(key)
            if len(key) > 1 and (tuple(folded[at:after]) != key or not _are_near(text, said, at, after)):
                continue
            if key in self._index.common:
                if not _is_used_as_name(text, said, at, after):
                    continue
            elif len(key) == 1 and not _counts(text, said, at, kind):
                continue
            return kind, after
        return None

    def _varied(self, text: str, said: Words, at: int) -> tuple[str, int] | None:
        """Match a name written as one word, with a genitive `s`, or with one wrong letter."""
        folded = said.folded
        word = folded[at]
        if word in self._index.joined and len(word) > 5:
            return self._index.joined[word], at + 1
        if word in _WORDS_TOO:
            return None
        if not word.isalpha() and (kind := self._index.numbered(word)):
            return kind, at + 1
        first = text[said.starts[at]]
        if not first.islower() and (kind := self._index.genitive(word)):
            return kind, at + 1
        if not self._index.is_near(word):
            return None
        is_cued = at > 0 and folded[at - 1] in _CUES
        if first.islower() and not (is_cued and len(word) >= _LEAST_FUZZY):
            return None
        if (
            not is_cued
            and len(word) < 8
            and _starts_sentence(text, said.starts[at])
            and not _next_is_capital(text, said, at)
        ):
            return None
        return "person", at + 1

    def _hyphenated(self, text: str, said: Words) -> Iterator[Found]:
        """Find names cut by a hyphen, also at the end of a line."""
        folded, starts, joined = said.folded, self._index.starts, self._index.joined
        for at in range(len(folded) - 1):
            if text[said.ends[at]] not in _HYPHENS or not _HYPHEN.fullmatch(text, said.ends[at], said.starts[at + 1]):
                continue
            whole = folded[at] + folded[at + 1]
            kinds = [kind for key, kind in starts.get(whole, ()) if len(key) == 1 and len(whole) > 3]
            if whole in joined or kinds:
                yield Found(said.starts[at], said.ends[at + 1], joined.get(whole) or kinds[0], "owner")

    def _spelled(self, text: str) -> Iterator[Found]:
        """Find names spelled letter by letter: `A n n a`, `M.i.a  B.e.r.g.e.r`."""
        for run in _SPELLED.finditer(text):
            if kind := self._said(run[0]):
                yield Found(run.start(), run.end(), kind, "owner")
                continue
            for word in _SPELLED_WORD.finditer(run[0]):
                start = 2 * (word[0][0] in "aAI" and not self._said(word[0]))  # a leading "a" or "I" may be a word
                if kind := self._said(word[0][start:]):
                    yield Found(run.start() + word.start() + start, run.start() + word.end(), kind, "owner")

    def _said(self, run: str) -> str:
        letters = fold("".join(_LETTER.findall(run)))
        return self._index.whole(letters) if len(letters) > 2 else ""

    def _phones(self, text: str) -> Iterator[Found]:
        for run in _DIGITS.finditer(text):
            if re.sub(r"\D", "", run[0])[-7:] in self._index.numbers:
                start = run.start()
                while start and run.start() - start < 2 and text[start - 1] in "+(":
                    start -= 1
                yield Found(start, run.end(), "phone", "owner")


_LETTER = re.compile(r"[^\W\d_]")
_SPELLED = re.compile(r"(?<![^\W_])[^\W\d_](?:[ \t.,_*·-]{1,3}[^\W\d_](?![^\W_])){2,60}")
_SPELLED_WORD = re.compile(r"[^\W\d_](?:[ .,_*·-][^\W\d_])*")
"""Letters with one character between them; words are set further apart."""
_DIGITS = re.compile(r"\d(?:[ ().\-/\u00a0]{0,2}\d){5,18}")
_HYPHENS = "-\u2010\u2011\u2012\u2013"
_HYPHEN_LIKE = re.compile(r"[-\u2010-\u2013](?:\r?\n|\w)")
_HYPHEN = re.compile(r"-(?:\r?\n[ \t]{0,8})?|[\u2010\u2011\u2012\u2013]")
_NEAR = re.compile(r"(?:[ \t]{0,3}[.,'’\-\u2010\u2011/&]?[ \t]{0,3}\n?[ \t]{0,3}|\W{0,3})")


def _are_near(text: str, said: Words, at: int, after: int) -> bool:
    return all(_NEAR.fullmatch(text, said.ends[k], said.starts[k + 1]) for k in range(at, after - 1))


def _counts(text: str, said: Words, at: int, kind: str) -> bool:
    """Return whether one word that may be a name is meant as a name here."""
    word = said.folded[at]
    is_small = text[said.starts[at]].islower()
    if kind == "secret":
        return True  # the owner's own words never leave, whatever they mean
    if word not in _WORDS_TOO:
        return kind == "person" or not is_small or len(word) > 3
    after = said.folded[at + 1] if at + 1 < len(said.folded) else ""
    before = said.folded[at - 1] if at else ""
    if is_small:
        if kind != "person" or after in _AUXILIARIES:
            return False
        if before in _CUES - {"to", "and", "is", "for", "see", "about", "by"}:
            return True
        is_dictated = text[max(0, said.starts[at] - 80) : said.ends[at] + 80].islower()
        return is_dictated and before not in _BEFORE_A_WORD
    if text[said.ends[at] : said.ends[at] + 2] in ("'s", "’s"):
        return True
    if not _starts_sentence(text, said.starts[at]) or after not in _AUXILIARIES:
        return True
    return bool(text[said.ends[at] : said.starts[at + 1]].strip())


_ADDRESSED = frozenset(
    "call calls called calling phone phoned ring rang tell tells told ask asks asked email emailed mail mailed text "
    "texted message messaged invite invited contact contacted meet meets met thank inform informed notify notified "
    "remind "
    "answer ping whatsapp facetime visit with cc bcc dear".split()
)
"""Words that a person follows, or somebody who is called by what they do."""
_WRITTEN = frozenset(
    "call calls mail mails email emails message messages text texts letter letters write writes wrote written send "
    "sends "
    "sent sending reply replies replied forward forwarded forwards heard hear news note answer answered said say says "
    "talk "
    "talked speak spoke invitation invitations phone money pay paid transfer owe owes".split()
)
"""Words that make of what follows "to", "from" or "by" whoever is written to or writes."""


def _is_used_as_name(text: str, said: Words, at: int, after: int) -> bool:
    """Return whether a common word that somebody is called by, also with `the` or `my` before it, is a name here."""
    core = after - 1
    shown = text[said.starts[core] : said.ends[core]]
    if (
        shown[0].isupper()
        and not (len(shown) > 1 and shown.isupper())
        and not _starts_sentence(text, said.starts[core])
    ):
        return True
    if said.folded[core] in FUNCTION_WORDS:
        return False
    while at > 0 and said.folded[at - 1] in DETERMINERS:
        at -= 1
    before = said.folded[max(0, at - 7) : at]
    if not before:
        return False
    return before[-1] in _ADDRESSED or (before[-1] in ("to", "from", "by") and not _WRITTEN.isdisjoint(before))


def _starts_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - 4) : start].rstrip(" \t\"'“”„(")
    return not before or before[-1] in ".!?\n:;"


def _next_is_capital(text: str, said: Words, at: int) -> bool:
    return at + 1 < len(said.starts) and text[said.starts[at + 1]].isupper()


def _joined_people(text: str, found: list[Found]) -> list[Found]:
    """Join first and last names side by side into one name."""
    found.sort(key=lambda one: one.start)
    joined: list[Found] = []
    for one in found:
        last = joined[-1] if joined else None
        if last and last.kind == one.kind == "person" and _is_one_name(text, last, one):
            joined[-1] = Found(last.start, one.end, "person", "owner")
        else:
            joined.append(one)
    return joined


def _is_one_name(text: str, first: Found, second: Found) -> bool:
    gap = text[first.end : second.start]
    return gap in (" ", "-", "  ") or (gap == ". " and first.end - first.start == 1)


@functools.lru_cache(maxsize=60_000)
def _spellings(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of a name, folded; also with `ue` for `ü`, and `u` for `ue`."""
    key = _key(text)
    found = {key: None}
    lower = text.lower()
    if any(c in lower for c in "äöüøåæ"):
        for table in (_GERMAN, _NORDIC):
            found[_key(lower.translate(table))] = None
    if any(two in lower for two in ("ae", "oe", "ue")):
        found[tuple(word.replace("ae", "a").replace("oe", "o").replace("ue", "u") for word in key)] = None
    return tuple(found)


_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_NORDIC = str.maketrans({"ø": "oe", "å": "aa", "æ": "ae", "ö": "o", "ä": "a", "ü": "u"})


def _key(text: str) -> tuple[str, ...]:
    return tuple(words(plain(text).text).folded)


def _without_one(word: str) -> set[str]:
    return {word[:k] + word[k + 1 :] for k in range(len(word))}


def _is_one_off(a: str, b: str) -> bool:
    """Return whether one letter is wrong, missing or added, or two neighbours are exchanged."""
    if a == b:
        return True
    if len(a) == len(b):
        wrong = [k for k in range(len(a)) if a[k] != b[k]]
        return len(wrong) == 1 or (
            len(wrong) == 2 and wrong[1] == wrong[0] + 1 and a[wrong[0]] == b[wrong[1]] and a[wrong[1]] == b[wrong[0]]
        )
    if abs(len(a) - len(b)) != 1:
        return False
    long, short = (a, b) if len(a) > len(b) else (b, a)
    return short in _without_one(long)


# ── Names after a cue ──────────────────────────────────────────────────────────────────────────────────
# Finds names of unknown people by the words around them: `Dear Frau Okoro`, `my name is …`, `call Ben`. Takes time
# linear in the text. Covered: titles, salutations, signatures, `Name:` fields, verbs that take a person, in English,
# German, French, Spanish and Italian, when the name is written with capitals (after `my name is` also without).
# Not covered: any other name; a trained tagger finds those.


_TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir madam lady lord mx herr frau herrn fraulein dipl m mme mlle monsieur "
    "madame sr sra "
    "srta don dona senor senora sig signor signora signorina dott dottoressa avv ing pastor father rev reverend judge".split()  # noqa: E501
)
_BEFORE_A_PERSON = frozenset(
    "call phone ring email e-mail mail text message tell ask invite contact meet remind dial ping thank visit cc bcc "
    "inform "
    "notify whatsapp facetime dear hi hello hey hallo liebe lieber bonjour cher chere hola querido querida ciao caro "
    "cara "
    "ruf frag sag treffe besuche appelle appeler llama regards cheers thanks sincerely love yours gruss grusse "
    "cordialement "
    "saludos saluti".split()
)
_NAMING = tuple(
    tuple(words.split())
    for words in (
        *("my name is", "name is", "i am called", "ich heisse", "mein name ist", "je m appelle", "me llamo"),
        *("mi chiamo", "full name", "first name", "last name", "called", "name"),
    )
)
_FIELDS = frozenset({("name",), ("full", "name"), ("first", "name"), ("last", "name")})
"""Those that only a colon makes a name follow."""
_LAST_WORDS = frozenset(phrase[-1] for phrase in _NAMING)
_ALL_CUES = _TITLES | _BEFORE_A_PERSON | _LAST_WORDS
_NO_NAMES = frozenset(
    "i me my mine you your he she it we us they them him her his their our the a an this that these those all any "
    "some everyone "
    "everybody anyone someone mom mum dad mama papa grandma grandpa home work school team support customer service "
    "monday tuesday "
    "wednesday thursday friday saturday sunday january february march april may june july august september october "
    "november "
    "december today tomorrow tonight now please back again about when if to for at on in of and or is are was were "
    "will do does "
    "google amazon apple microsoft facebook netflix paypal siri alexa english german french spanish italian pdf tv "
    "ok madam sir "
    "friends family folks there world all team herr frau mr mrs ms dr number taxi uber doctor dentist police".split()
)
_NEXT = re.compile(r"[ \t]{1,2}|\.[ ]?|[-'’]|:[ \t]{0,3}\n?[ \t]{0,3}|[ ]?[,!][ ]?\n[ \t]{0,3}|,? ?\n[ \t]{0,3}")
_WITHIN = re.compile(r" {1,2}|[-'’]|\. ?")
_PARTICLES = frozenset("von van der den de del della di da dos du la le al bin ibn ben mac mc o d zu zum af".split())


def find_cued_names(text: str, said: Words) -> list[Found]:
    """Find the names with a cue before them in a plain text. `said`: `finder_text.words(text)`."""
    return list(_found(text, said))


def _found(text: str, said: Words) -> Iterator[Found]:
    folded = said.folded
    if _ALL_CUES.isdisjoint(folded):
        return
    for index, word in enumerate(folded):
        if word not in _ALL_CUES or index + 1 == len(folded):
            continue
        last = index
        if word in _TITLES and (len(word) > 1 or text[said.starts[index]].isupper()):
            last = _name_end(text, said, index + 1, is_titled=True)
        elif word in _BEFORE_A_PERSON:
            if folded[index + 1] not in _TITLES:
                last = _name_end(text, said, index + 1)
        elif word in _LAST_WORDS and (phrase := _naming(text, said, index)):
            last = _name_end(text, said, index + 1, is_small=len(phrase) > 1)
        if last > index:
            yield Found(said.starts[index + 1], said.ends[last], "person")


def _naming(text: str, said: Words, index: int) -> tuple[str, ...]:
    """Find the words up to `index` that say that a name follows; empty when none do."""
    for phrase in _NAMING:
        if tuple(said.folded[max(0, index + 1 - len(phrase)) : index + 1]) == phrase and (
            phrase not in _FIELDS or ":" in text[said.ends[index] : said.starts[index + 1]]
        ):
            return phrase
    return ()


def _name_end(text: str, said: Words, first: int, *, is_titled: bool = False, is_small: bool = False) -> int:
    """Find the last word of the name that begins at `first`; `first - 1` when there is none."""
    if not _NEXT.fullmatch(text, said.ends[first - 1], said.starts[first]):
        return first - 1
    last, n_names = first - 1, 0
    for index in range(first, min(first + 5, len(said.folded))):
        if index > first and not _WITHIN.fullmatch(text, said.ends[index - 1], said.starts[index]):
            break
        word = text[said.starts[index] : said.ends[index]]
        if said.folded[index] in _PARTICLES and index + 1 < len(said.folded) and n_names < 3:
            continue
        if not word.isalpha() or said.folded[index] in _NO_NAMES:
            break
        is_small_name = is_small and index == first and len(word) > 2 and text.islower()
        if not is_small_name and not _is_capitalised(word, text, may_be_initial=n_names > 0, is_titled=is_titled):
            break
        if (
            index > first
            and text[said.ends[index - 1] : said.starts[index]] == ". "
            and len(said.folded[index - 1]) > 2
        ):
            break
        last, n_names = index, n_names + 1
    return last


def _is_capitalised(word: str, text: str, *, may_be_initial: bool, is_titled: bool) -> bool:
    """Return whether a word has the capitals of a name; all capitals count after a title, or where all is in them."""
    if not word[0].isupper():
        return False
    if len(word) == 1:
        return may_be_initial or is_titled
    return is_titled or not word.isupper() or text.isupper()


# ── Names that are nobody's secret ─────────────────────────────────────────────────────────────────────
# Keeps what a tagger took for a name and is none of anybody: public names, times, and common words. Only what the
# tagger alone found is looked at: what is the owner's (the section above) or has a telling form stays masked. A public
# name ("the capital of Australia") stays masked where its sentence tells where somebody lives or comes from.
# Not covered: public names and common words in other languages than English.


_LOOKED_AT = frozenset({"place", "organisation", "address"})
_TIMES = frozenset(
    "one two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty fifty half "
    "quarter past to o'clock noon midnight am pm monday tuesday wednesday thursday friday saturday sunday weekend "
    "january february march july september october november december today tomorrow tonight morning afternoon evening "
    "night the a an at in on of and or next last first second room".split()
)
_COMMON = _TIMES | frozenset(
    "my our your his her their this that hall school church choir club college university hospital clinic surgery "
    "pharmacy doctor doctors dentist vet bank post station airport bus train tram taxi stop platform museum "
    "library theatre theater cinema restaurant cafe bar pub bakery shop store supermarket market gym pool park "
    "playground beach lake river town city village centre center fair party group team band class course meeting "
    "council government police court army hotel hostel parking car company firm agency insurance landlord "
    "neighbour neighbours internet website app phone calendar mail home work office".split()
)
_AT_HOME = re.compile(
    r"\b(?:liv(?:e|es|ed|ing)|resid(?:e|es|ed|ing)|mov(?:e|es|ed|ing)|raised|grew up|born|based|stationed|hometown|"
    r"settled|emigrated|fled|stay(?:s|ed|ing)?|address|flat|apartment|house|home|"
    r"(?:am|is|are|was|were|come|comes|came|i'm|she's|he's|they're) from|"
    r"work(?:s|ed|ing)? (?:at|for|in)|employ(?:er|ed)|my (?:boss|job|account|bank|contract))\b",
    re.IGNORECASE,
)


def without_harmless(text: str, tagged: Sequence[Found], known: Sequence[Found]) -> list[Found]:
    """Leave out of `tagged` what is harmless.

    Args:
        known: What was found otherwise: by the owner's names, by form or by cue.
    """
    return [one for one in tagged if one.kind not in _LOOKED_AT or not _is_harmless(text, one, known)]


def _is_harmless(text: str, one: Found, known: Sequence[Found]) -> bool:
    if any(other.start < one.end and one.start < other.end for other in known):
        return False
    name = text[one.start : one.end]
    common = _TIMES if one.kind == "address" else _COMMON
    if all(word in common for word in re.findall(r"[\w']+", fold(name))):
        return True
    if (
        not name[:1].isupper()
        or not is_public(name)
        or (one.kind == "place" and text[one.end - 2 : one.end + 2].count("'s"))
    ):
        return False  # what has something of its own is somebody, as a rule
    start = max(text.rfind(mark, 0, one.start) for mark in ".!?\n") + 1
    sentence = re.compile(r"[^.!?\n]*").match(text, start)
    return sentence is None or not _AT_HOME.search(sentence[0])
