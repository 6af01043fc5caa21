"""Measure masking: how much identifying text stays on the device, what is masked needlessly, and what it costs.

Reads presidio-research's form (a JSON list of `full_text` with `spans`) and hand-labelled messages (JSONL, see
`hearth_bench.data.labelled_messages`). Each table has a floor (nothing masked), the finders one by one, and all of them
together.

Definitions, the same for every row: a labelled span is *masked* when at least 80 % of its characters are replaced;
*structured* types are those with a form of their own (`STRUCTURED`); structured recall is the share of their spans
masked, structured precision the share of replacements as an identifier (by form, cue or checksum) that lie mostly in a
labelled span of some structured type or date; character precision is the share of replaced characters other than spaces
that are labelled. A string *leaks* when its words, folded, stand side by side in the text that would be sent.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError

from hearth.config import MASK_KINDS, MASKED_KINDS
from hearth.errors import RequestError
from hearth.guard.deidentify.masker import Masker, Tag
from hearth.guard.deidentify.names import OwnerNames, OwnName
from hearth.language.values.identifying import Found, plain, words
from hearth_bench.data.labelled_messages import read_messages

MASKED_FROM = 0.8
N_FUZZED = 10_000
_KINDS_OF: Mapping[str, frozenset[str]] = {
    name: frozenset(kinds.split())
    for name, kinds in {
        "PERSON": "person",
        "ORGANIZATION": "organisation",
        "GPE": "place address",
        "LOCATION": "place address",
        "STREET_ADDRESS": "address place",
        "ADDRESS": "address place",
        "ZIP_CODE": "address",
        "TITLE": "title person",
        "NRP": "group",
        "AGE": "age",
        "DATE_TIME": "date birth_date",
        "DATE_OF_BIRTH": "birth_date date",
        "PHONE": "phone",
        "PHONE_NUMBER": "phone",
        "EMAIL": "email",
        "EMAIL_ADDRESS": "email",
        "URL": "url",
        "DOMAIN_NAME": "url",
        "IP": "ip",
        "IP_ADDRESS": "ip",
        "IBAN": "iban",
        "IBAN_CODE": "iban",
        "CARD": "card",
        "CREDIT_CARD": "card",
        "US_SSN": "national_id",
        "US_DRIVER_LICENSE": "document",
        "ID": "account national_id document mac plate",
        "PLATE": "plate",
        "COORDINATES": "coordinates",
        "PASSWORD": "secret",
        "USERNAME": "account",
    }.items()
}
"""Kinds as which each labelled type is rightly masked."""
STRUCTURED = frozenset(
    [
        "PHONE",
        "PHONE_NUMBER",
        "EMAIL",
        "EMAIL_ADDRESS",
        "URL",
        "DOMAIN_NAME",
        "IP",
        "IP_ADDRESS",
        "IBAN",
        "IBAN_CODE",
        "CARD",
        "CREDIT_CARD",
        "US_SSN",
        "US_DRIVER_LICENSE",
        "ID",
        "PLATE",
        "COORDINATES",
    ]
)
_IDENTIFIERS = frozenset(
    [
        "email",
        "url",
        "ip",
        "mac",
        "iban",
        "card",
        "phone",
        "national_id",
        "account",
        "document",
        "plate",
        "coordinates",
        "secret",
        "birth_date",
    ]
)
_NEAR_STRUCTURED = STRUCTURED | {"PASSWORD", "DATE_OF_BIRTH", "DATE_TIME", "USERNAME"}
_KNOWN_TYPES = {"PERSON": "person", "ORGANIZATION": "organisation", "PHONE": "phone", "PHONE_NUMBER": "phone"}


@dataclass(frozen=True, slots=True)
class Gold:
    """A labelled span."""

    start: int
    end: int
    type: str


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with its labelled spans."""

    text: str
    gold: tuple[Gold, ...]
    group: str = ""
    """Group of the texts made from one template."""


class _Span(BaseModel):
    entity_type: str
    start_position: int
    end_position: int


class _Document(BaseModel):
    full_text: str
    spans: list[_Span]
    template_id: int | str | None = None


_DOCUMENTS = TypeAdapter(list[_Document])


def read_samples(path: Path) -> list[Sample]:
    """Read a file of either form. Raises: RequestError: It cannot be read, or a label lies outside its text."""
    if path.suffix == ".jsonl":
        return [
            Sample(message.text, tuple(Gold(span.start, span.end, span.type) for span in message.spans), message.kind)
            for message in read_messages(path)
        ]
    try:
        documents = _DOCUMENTS.validate_json(path.read_bytes())
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}; name a file of labelled texts") from None
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in fault["loc"])
        raise RequestError(
            f"{str(path)!r} at {place or 'its start'}: {fault['msg']}; expected a JSON list of objects with "
            f"full_text and "
            "spans (entity_type, start_position, end_position), or .jsonl of labelled messages"
        ) from None
    if not documents:
        raise RequestError(f"{str(path)!r} holds no text; expected one or more")
    samples = []
    for number, document in enumerate(documents):
        for span in document.spans:
            if not 0 <= span.start_position < span.end_position <= len(document.full_text):
                raise RequestError(
                    f"{str(path)!r} text {number}: a span from {span.start_position} to {span.end_position} in "
                    f"{len(document.full_text)} characters; expected 0 <= start < end <= length"
                )
        gold = tuple(Gold(span.start_position, span.end_position, span.entity_type) for span in document.spans)
        samples.append(Sample(document.full_text, gold, str(document.template_id)))
    return samples


def half_of(group: str) -> int:
    """Return 0 for texts that rules may be made on and 1 for the others, by a hash of the template's name."""
    return hashlib.sha256(group.encode()).digest()[0] % 2


# ── One row ───────────────────────────────────────────────────────────────────────────────────────────────


def measure_row(samples: Sequence[Sample], masker: Masker | None) -> dict[str, Any]:
    """Return recall, precision and cost of one way to mask; None masks nothing."""
    started = time.process_time()
    found = [masker.find(sample.text) if masker is not None else [] for sample in samples]
    seconds = time.process_time() - started
    n_characters = sum(len(sample.text) for sample in samples)
    counts = _Counts()
    for sample, spans in zip(samples, found):
        counts.add_labelled(sample, spans)
        counts.add_found(sample, spans)
    n = counts.labelled
    n_structured = sum(n[kind] for kind in n if kind in STRUCTURED)
    return {
        "masked_share": _share(counts.masked.total(), n.total()),
        "structured_recall": _share(sum(counts.masked[kind] for kind in n if kind in STRUCTURED), n_structured),
        "structured_precision": _share(counts.n_right_identifiers, counts.n_identifiers),
        "n_structured": n_structured,
        "documents_fully_masked": _share(counts.n_whole, len(samples)),
        "char_precision": _share(counts.n_labelled, counts.n_replaced),
        "chars_per_s": round(n_characters / seconds) if seconds and masker is not None else None,
        **counts.by_name(),
    }


@dataclass(slots=True)
class _Counts:
    """What one way to mask finds in some texts, beside what is labelled in them."""

    labelled: Counter[str] = field(default_factory=Counter)
    """By the label's type, as are the two that follow."""
    masked: Counter[str] = field(default_factory=Counter)
    typed: Counter[str] = field(default_factory=Counter)
    """Masked as what they are."""
    found: Counter[str] = field(default_factory=Counter)
    """By the kind found, as is what follows."""
    right: Counter[str] = field(default_factory=Counter)
    n_whole: int = 0
    """Texts whose labelled spans are all masked."""
    n_replaced: int = 0
    """Characters masked, without white space, and those of them that are labelled."""
    n_labelled: int = 0
    n_identifiers: int = 0
    n_right_identifiers: int = 0

    def add_labelled(self, sample: Sample, spans: Sequence[Found]) -> None:
        covered = _covered(sample.text, spans)
        is_whole = True
        for gold in sample.gold:
            share = sum(covered[gold.start : gold.end]) / (gold.end - gold.start)
            self.labelled[gold.type] += 1
            self.masked[gold.type] += share >= MASKED_FROM
            is_whole &= share >= MASKED_FROM
            of_kind = _covered(sample.text, [f for f in spans if f.kind in _KINDS_OF.get(gold.type, frozenset())])
            self.typed[gold.type] += sum(of_kind[gold.start : gold.end]) / (gold.end - gold.start) >= MASKED_FROM
        self.n_whole += is_whole

    def add_found(self, sample: Sample, spans: Sequence[Found]) -> None:
        covered, labelled = _covered(sample.text, spans), _covered(sample.text, sample.gold)
        solid = [index for index, hit in enumerate(covered) if hit and not sample.text[index].isspace()]
        self.n_replaced += len(solid)
        self.n_labelled += sum(labelled[index] for index in solid)
        near = _covered(sample.text, [gold for gold in sample.gold if gold.type in _NEAR_STRUCTURED])
        for span in spans:
            self.found[span.kind] += 1
            self.right[span.kind] += any(
                span.kind in _KINDS_OF.get(gold.type, frozenset()) and gold.start < span.end and span.start < gold.end
                for gold in sample.gold
            )
            if span.kind in _IDENTIFIERS and span.by != "tagger":
                self.n_identifiers += 1
                self.n_right_identifiers += sum(near[span.start : span.end]) * 2 >= span.end - span.start

    def by_name(self) -> dict[str, Any]:
        """Return the shares for each labelled type and each kind found."""
        n = self.labelled
        return {
            "by_type": {
                name: {
                    "n": n[name],
                    "recall": _share(self.masked[name], n[name]),
                    "typed_recall": _share(self.typed[name], n[name]),
                }
                for name in sorted(n)
            },
            "by_kind": {
                kind: {"n": self.found[kind], "precision": _share(self.right[kind], self.found[kind])}
                for kind in sorted(self.found)
            },
        }


def _covered(text: str, spans: Sequence[Found] | Sequence[Gold]) -> bytearray:
    hit = bytearray(len(text))
    for span in spans:
        hit[span.start : span.end] = b"\x01" * (span.end - span.start)
    return hit


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


# ── Leaks and the way back ────────────────────────────────────────────────────────────────────────────────


def known_third(samples: Sequence[Sample]) -> tuple[OwnName, ...]:
    """Choose about a third of the file's people, companies and telephone numbers, as if the owner knew them."""
    names = {
        OwnName(sample.text[gold.start : gold.end], _KNOWN_TYPES[gold.type])
        for sample in samples
        for gold in sample.gold
        if gold.type in _KNOWN_TYPES and gold.end - gold.start > 1  # nobody's contact is called `A`
    }
    chosen = [name for name in names if hashlib.sha256(name.text.encode("utf-8", "surrogatepass")).digest()[0] % 3 == 0]
    return tuple(sorted(chosen, key=lambda name: (name.kind, name.text)))


def leaks(samples: Sequence[Sample], masker: Masker, known: Sequence[OwnName]) -> tuple[int, int]:
    """Count the texts with a known name that still leak when masked, and all texts with one.

    A known name that also occurs unlabelled in the file, as a word ("will", an initial), counts only where it is
    labelled.
    """
    keys = {_key(name.text) for name in known} - {()}
    longest = max(map(len, keys), default=0)
    places = [_places(sample.text, keys, longest) for sample in samples]
    words_too = {
        key
        for sample, found in zip(samples, places)
        for key, start, end in found
        if not any(gold.start <= start and end <= gold.end for gold in sample.gold)
    }
    n_leaks = n_texts = 0
    for sample, found in zip(samples, places):
        said = [
            (start, end)
            for key, start, end in found
            if key not in words_too
            or any(gold.start <= start and end <= gold.end and gold.type in _KNOWN_TYPES for gold in sample.gold)
        ]
        if said:
            n_texts += 1
            covered = _covered(sample.text, masker.find(sample.text))
            solid = bytes(hit or c.isspace() for hit, c in zip(covered, sample.text))
            n_leaks += any(not all(solid[start:end]) for start, end in said) or any(
                key not in words_too for key, _, _ in _places(masker.mask(sample.text).text, keys, longest)
            )
    return n_leaks, n_texts


def _key(text: str) -> tuple[str, ...]:
    return tuple(words(plain(text).text).folded)


def _places(text: str, keys: set[tuple[str, ...]], longest: int) -> list[tuple[tuple[str, ...], int, int]]:
    """Return the places of known names in a text, however they are written."""
    read = plain(text)
    said = words(read.text)
    found = []
    for index in range(len(said.folded)):
        for n in range(1, min(longest, len(said.folded) - index) + 1):
            key = tuple(said.folded[index : index + n])
            if key in keys:
                found.append((key, *read.original(said.starts[index], said.ends[index + n - 1])))
    return found


_HOSTILE = [
    "Person1",
    "person 2",
    "PERSON_3",
    "Company1",
    "+1 202 555 0100",
    "+1 202 555 01",
    "9999 0000 0000 0012",
    "9990000001",
    "99",
    "0",
    "12",
    " 12",
    "ZZ39000000000000000001",
    "mail1@masked.example",
    "site1.masked.example",
    "https://site2.masked.example/",
    ".",
    "@",
    "masked.example",
    "1900-01-13",
    "13.01.1900",
    "240.0.0.1",
    "2001:db8::1",
    "02:00:5e:00:00:01",
    "File1.pdf",
    "Id1",
    "Xbbbbb1",
    "Xbbbbb",
    "\u200b",
    "�",
    "é",
    "е",
    "М",
    "́",
    "王伟",
    "ß",
    "\n",
    "\t",
    " ",
    "-",
    "/",
    "(",
    ")",
    "'s",
    "s",
    "_",
    "🙂",
    "�",
    "\u202e",
    "\x00",
]


def fuzzed(samples: Sequence[Sample], n: int, seed: int) -> Iterator[str]:
    """Yield texts made of pieces of the samples, stand-ins and hostile characters; some are decoded wrongly."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    pieces = [sample.text[gold.start : gold.end] for sample in samples for gold in sample.gold] or ["x"]
    for _ in range(n):
        parts = []
        for _ in range(draw.randint(1, 14)):
            chance = draw.random()
            if chance < 0.35:
                parts.append(draw.choice(pieces))
            elif chance < 0.75:
                parts.append(draw.choice(_HOSTILE))
            elif chance < 0.9:
                text = draw.choice(samples).text
                start = draw.randrange(len(text) + 1)
                parts.append(text[start : start + draw.randint(1, 40)])
            else:
                parts.append(chr(draw.choice([draw.randrange(32, 127), draw.randrange(128, 0xD800)])))
            parts.append(draw.choice(["", " ", "", " ", "\n"]))
        text = "".join(parts)
        if text and draw.random() < 0.1:
            raw = bytearray(text.encode("utf-8", "surrogatepass"))
            raw[draw.randrange(len(raw))] = draw.randrange(256)
            text = bytes(raw).decode("utf-8", "surrogateescape")
        yield text


def round_trips(texts: Iterator[str], masker: Masker) -> tuple[int, int]:
    """Return how many texts are restored exactly, and how many there are."""
    n_exact = n = 0
    for text in texts:
        masked = masker.mask(text)
        n_exact += masked.unmask(masked.text) == text
        n += 1
    return n_exact, n


# ── The whole ─────────────────────────────────────────────────────────────────────────────────────────────


def measure_privacy(path: Path, tag: Tag | None, *, seed: int = 0, n_fuzzed: int = N_FUZZED) -> dict[str, Any]:
    """Measure all rows of one file. Top-level keys are for all finders except the owner's names, with every kind
    masked.

    `leak_rate` is that of the owner's names, as if a third of the people, companies and numbers in the file were known.
    """
    samples = read_samples(path)
    tag = _remembered(tag) if tag is not None else None
    known = known_third(samples)
    names = OwnerNames(known)
    maskers: dict[str, Masker | None] = {
        "floor: nothing masked": None,
        "forms": Masker(MASK_KINDS),
        "forms, a third known": Masker(MASK_KINDS, names=names),
    }
    if tag is not None:
        maskers["forms, tagger"] = Masker(MASK_KINDS, tag=tag)
        maskers["forms, a third known, tagger"] = Masker(MASK_KINDS, names=names, tag=tag)
        maskers["kinds of the settings: forms, tagger"] = Masker(MASKED_KINDS, tag=tag)
    else:
        maskers["kinds of the settings: forms"] = Masker(MASKED_KINDS)
    rows = {name: measure_row(samples, masker) for name, masker in maskers.items()}
    for name in list(rows)[4:]:
        rows[name]["chars_per_s"] = None  # the tagger's answers were kept from the row before
    head = "forms, tagger" if tag is not None else "forms"
    with_names = Masker(MASK_KINDS, names=names)  # forms and names alone: a tagger may only add
    n_leaks, n_texts = leaks(samples, Masker(MASK_KINDS, names=names, tag=tag), known)
    n_exact, n = round_trips(fuzzed(samples, n_fuzzed, seed), with_names)
    n_exact_texts, n_whole = round_trips((sample.text for sample in samples), with_names)
    halves = _halves(samples, maskers[head])
    top = {key: rows[head][key] for key in ("masked_share", "structured_recall", "structured_precision")}
    return {
        **top,
        "leak_rate": _share(n_leaks, n_texts),
        "roundtrip_exact": _share(n_exact + n_exact_texts, n + n_whole),
        "chars_per_s": rows["forms, a third known"]["chars_per_s"],
        "chars_per_s_tagger": rows[head]["chars_per_s"] if tag is not None else None,
        "char_precision": rows[head]["char_precision"],
        "documents_fully_masked": rows[head]["documents_fully_masked"],
        "masked_share_settings": next(row for name, row in rows.items() if name.startswith("kinds"))["masked_share"],
        "by_type": rows[head]["by_type"],
        "by_kind": rows[head]["by_kind"],
        "has_tagger": tag is not None,
        "n_texts": len(samples),
        "n_spans": sum(len(sample.gold) for sample in samples),
        "n_known": len(known),
        "n_texts_with_known": n_texts,
        "n_fuzzed": n,
        "seed": seed,
        "data": path.name,
        "data_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "halves": halves,
        "rows": {name: {k: v for k, v in row.items() if k not in ("by_type", "by_kind")} for name, row in rows.items()},
    }


def _remembered(tag: Tag) -> Tag:
    """Wrap the tagger so that it is asked about each text only once."""
    answers: dict[str, list[Found]] = {}

    def remembered(texts: Sequence[str]) -> list[list[Found]]:
        for text in texts:
            if text not in answers:
                answers[text] = tag([text])[0]
        return [answers[text] for text in texts]

    return remembered


def _halves(samples: Sequence[Sample], masker: Masker | None) -> dict[str, Any]:
    """Measure the templates that rules were made on and the others apart; nothing if the texts have no templates."""
    if not any(sample.group.isdigit() for sample in samples):
        return {}
    keys = ("masked_share", "structured_recall", "structured_precision", "char_precision", "n_structured", "by_type")
    found = {}
    for half, name in enumerate(("made_on", "not_looked_at")):
        row = measure_row([sample for sample in samples if half_of(sample.group) == half], masker)
        found[name] = {key: row[key] for key in keys}
    return found


# ── PrivacyLens ───────────────────────────────────────────────────────────────────────────────────────────

_NAMED = re.compile(
    r"(?<![.!?] )(?<!^)\b[^\W\d_a-zà-ÿ][\w'’-]{2,}(?: [^\W\d_a-zà-ÿ][\w'’-]+){0,3}|\b\S+@\S+\.\w+|\b\d[\d-]{3,}\d\b"
)


_PRIVACYLENS_ROWS: tuple[tuple[str, bool | None, bool], ...] = (
    ("floor: nothing masked", None, False),
    ("forms", False, False),
    ("forms, profile", True, False),
    ("forms, profile, tagger", True, True),
)


def measure_privacylens(path: Path, tag: Tag | None) -> dict[str, Any]:
    """Count how many names and numbers in PrivacyLens' sensitive statements occur in the text that would be sent.

    That text is the instruction and all that was read on the way. The owner's profile holds the user's name; no contact
    is known. A statement's meaning is not measured: it may reveal something without any name.
    """
    cases = json.loads(path.read_bytes())
    rows: dict[str, Any] = {}
    for name, uses_names, uses_tag in _PRIVACYLENS_ROWS:
        if uses_tag and tag is None:
            continue
        n = n_leaked = n_items = n_items_leaked = 0
        for case in cases:
            way = case["trajectory"]
            text = f"{way['user_instruction']}\n{way['executable_trajectory']}"
            own = [OwnName(part, "person") for part in (way["user_name"], *way["user_name"].split())]
            sent = text
            if uses_names is not None:
                masker = Masker(names=OwnerNames(own) if uses_names else None, tag=tag if uses_tag else None)
                sent = masker.mask(text).text
            said, out = _folded(text), _folded(sent)
            for item in way["sensitive_info_items"]:
                told = [key for match in _NAMED.finditer(item) if (key := _folded(match[0])) and key in said]
                left = sum(key in out for key in told)
                n += len(told)
                n_leaked += left
                n_items += bool(told)
                n_items_leaked += bool(told) and left == len(told)
        rows[name] = {
            "strings": n,
            "leaked": _share(n_leaked, n),
            "items": n_items,
            "items_leaked": _share(n_items_leaked, n_items),
        }
    return rows


def _folded(text: str) -> str:
    return f" {' '.join(words(plain(text).text).folded)} "
