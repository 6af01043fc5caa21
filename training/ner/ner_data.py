"""Make sentences with and without names to train the tagger on, from forms written for Hearth, filled afresh each time.

A form is a line of `data/tagger_forms.txt`; values come from `training.ner.ner_values`. Each sentence is then varied as
people write: without capitals or punctuation as dictated, in capitals, with typing errors, several to a text. Plain
requests (`plain`) are whole texts without any name. Everything follows from the generator passed in.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.ner.ner_values import KIND_OF_SLOT, Values, chosen

FORMS_FILE = Path(__file__).parents[1] / "data" / "tagger_forms.txt"
_SECTION = re.compile(r"== (\S+) ==")
_PART = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text; `kind` is empty if it is no name."""

    text: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    text: str
    spans: tuple[tuple[int, int, str], ...]
    """First character, the one after the last, and kind; in order, not overlapping."""


@dataclass(frozen=True, slots=True)
class Shares:
    """Frequencies of forms and variations."""

    plain: float = 0.25
    """Share of forms without names."""
    request: float = 0.06
    """Share of public requests without names."""
    foreign: float = 0.13
    """Share of forms in languages other than English."""
    several: float = 0.22
    """Share of texts of two to five sentences."""
    lower: float = 0.14
    """Share of texts without capital letters; half of them without punctuation."""
    upper: float = 0.03
    value_lower: float = 0.07
    """Share of values in small letters in a sentence that keeps its capitals."""
    value_upper: float = 0.03
    slip: float = 0.05
    """Share of texts with typing errors outside names."""


def read_forms(path: Path = FORMS_FILE) -> dict[str, list[str]]:
    """Read forms by section: a language, `LANGUAGE.lower` (dictated), `LANGUAGE.plain` (without names)."""
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        heading = _SECTION.fullmatch(line.strip())
        if heading:
            section = found.setdefault(heading[1], [])
        elif line and not line.startswith("# "):
            section.append(line.replace("\\n", "\n"))
    return found


def is_held_form(form: str) -> bool:
    """Return whether a form is kept out of training, to choose by: one in twelve."""
    return hashlib.sha256(form.encode()).digest()[0] % 12 == 0


class Sentences:
    """Draws examples."""

    def __init__(self, values: Values, requests: Sequence[str] = (), shares: Shares | None = None) -> None:
        """Create a source of examples; `requests` are texts without names."""
        self._values = values
        self._forms = read_forms()
        self._requests = requests
        self._shares = shares or Shares()

    def example(self, rng: random.Random, *, held: bool = False, wear: bool = True) -> Example:
        """Draw one text. With `held`, use forms kept out of training; without `wear`, leave the form unvaried."""
        shares = self._shares
        chance = rng.random()
        if self._requests and chance < shares.request:
            pieces = [Piece(rng.choice(self._requests))]
        else:
            language = "en" if rng.random() > shares.foreign else rng.choice(("de", "fr", "es", "it"))
            is_plain = chance < shares.request + shares.plain
            pieces = self._sentence(rng, language, is_plain, held)
            if rng.random() < shares.several:
                for _ in range(rng.randint(1, 4)):
                    pieces.append(Piece(rng.choice((" ", " ", "\n", "\n\n", ". ", ", "))))
                    pieces += self._sentence(rng, language, is_plain or rng.random() < shares.plain, held)
        if wear:
            pieces = self._worn(pieces, rng)
        return _joined(pieces)

    def _sentence(self, rng: random.Random, language: str, is_plain: bool, held: bool) -> list[Piece]:
        sections = [f"{language}.plain"] if is_plain else [language, f"{language}.lower"]
        forms = [f for s in sections for f in self._forms.get(s, ()) if is_held_form(f) == held]
        if not forms:  # some languages have no form held back
            return self._sentence(rng, "en", is_plain, held)
        form = chosen(rng.choice(forms), rng)
        pieces = []
        place = 0
        for slot in _PART.finditer(form):
            value = self._values.draw(slot[1], rng, language)
            pieces += [Piece(form[place : slot.start()]), Piece(value.strip(), KIND_OF_SLOT.get(slot[1], ""))]
            place = slot.end()
        pieces.append(Piece(form[place:]))
        return pieces

    def _worn(self, pieces: Sequence[Piece], rng: random.Random) -> list[Piece]:
        shares = self._shares
        chance = rng.random()
        if chance < shares.lower:
            dictated = rng.random() < 0.5
            return [Piece(_dictated(p) if dictated else p.text.lower(), p.kind) for p in pieces]
        if chance < shares.lower + shares.upper:
            return [Piece(p.text.upper(), p.kind) for p in pieces]
        worn = []
        capital = rng.random() < 0.6
        slips = rng.random() < shares.slip
        for index, piece in enumerate(pieces):
            text = piece.text
            if piece.kind:
                case = rng.random()
                if case < shares.value_lower:
                    text = text.lower()
                elif case < shares.value_lower + shares.value_upper:
                    text = text.upper()
            elif slips:
                text = _slipped(text, rng)
            if capital and index == 0 and text[:1].islower():
                text = text[0].upper() + text[1:]
            worn.append(Piece(text, piece.kind))
        if capital and rng.random() < 0.5 and worn[-1].text[-1:].isalnum():
            worn.append(Piece("."))
        return worn


def _dictated(piece: Piece) -> str:
    """Convert to small letters without punctuation; addresses and numbers keep theirs."""
    text = piece.text.lower()
    return text if piece.kind in ("identifier", "date") else re.sub(r"[,!?;:\"]|\.(?=\s|$)", "", text)


def _slipped(text: str, rng: random.Random) -> str:
    letters = list(text)
    for place in range(1, len(letters) - 1):
        if letters[place].isalpha() and letters[place + 1].isalpha() and rng.random() < 0.03:
            slip = rng.random()
            if slip < 0.4:
                letters[place], letters[place + 1] = letters[place + 1], letters[place]
            elif slip < 0.7:
                letters[place] = ""
            else:
                letters[place] *= 2
    return "".join(letters)


def _joined(pieces: Sequence[Piece]) -> Example:
    """Join pieces into a text with spans; empty values leave no span."""
    text = ""
    spans: list[tuple[int, int, str]] = []
    for piece in pieces:
        if piece.kind and piece.text.strip():
            spans.append((len(text), len(text) + len(piece.text), piece.kind))
        text += piece.text
    return Example(text, tuple(spans))


def without_names(requests: Sequence[str], values: Values) -> list[str]:
    """Select requests with no sign of a name: no capital inside, no listed name or place, no long number, no address
    word."""
    names = {
        w.lower() for part in ("first", "last", "place", "org", "street") for v in values.words[part] for w in v.split()
    }
    names |= values.known_words()
    names -= set(values.words["common"])
    capitals = set(values.words["plaincapital"])
    return [r for r in requests if _is_plain(r, names, capitals)]


_ADDRESS = re.compile(r"\d{5}|\b(?:mr|mrs|ms|dr|street|avenue|st|rd|named|called)\b", re.IGNORECASE)


def _is_plain(request: str, names: set[str], plain_capitals: set[str]) -> bool:
    if not 8 < len(request) < 400 or _ADDRESS.search(request):
        return False
    words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", request)
    capitals = [w for before, w in zip(("", *words), words) if w[:1].isupper() and before and w not in plain_capitals]
    after_stop = set(re.findall(r"[.!?:\n\"]\s*([A-Z]\w*)", request))
    if any(w not in after_stop for w in capitals):
        return False
    return not any(re.sub(r"['’]s$", "", w).lower() in names for w in words)


def skeleton(example_text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Reduce a text to its form: spans become marks, digits, punctuation and case are dropped."""
    shown, place = [], 0
    for a, b, _ in sorted(spans):
        shown += [example_text[place:a], " 0 "]
        place = max(place, b)
    shown.append(example_text[place:])
    return " ".join(re.findall(r"[^\W\d_]+|0", "".join(shown).lower()))
