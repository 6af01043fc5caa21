"""Replaces everything that identifies somebody in texts that leave this device, and puts the values back into replies.

`Masker` finds by form (`pattern_finders`, `postal_addresses`), by the owner's own names (`contact_names`), by cues
(`cued_names`) and by a trained tagger if there is one; whatever any of them finds is replaced. `Masked` holds the texts
that may leave and restores what comes back: exactly what was masked, and in a model's answer also stand-ins that were
slightly changed. A stand-in that was never given out is an error, and no plan is made from it.
Covered: any text (half surrogate pairs, look-alike letters, invisible characters, stand-ins in the text itself), in
time linear in it; several texts of one conversation with one set of stand-ins. Not covered: identity by description
("my sister's new boss"), facts of health or belief without a word of their field, names of unknown people if no tagger
is installed or it errs, dates, ages, jobs and nations unless chosen, how a request is worded, and what the remaining
shape gives away: that there is a telephone number, how long a card number is.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from hearth.config import MASKED_KINDS
from hearth.errors import UnknownStandInError
from hearth.guard.deidentify.names.contact_names import OwnerNames
from hearth.guard.deidentify.names.cued_names import find_cued_names
from hearth.guard.deidentify.names.harmless_names import without_harmless
from hearth.guard.deidentify.pattern_finders import find_identifiers
from hearth.guard.deidentify.postal_addresses import find_postal
from hearth.guard.deidentify.pseudonyms import StandIns, cores_in
from hearth.language.text.confusables import plain, words
from hearth.language.text.span import Found
from hearth.language.values.special_categories import KINDS as SPECIAL
from hearth.language.values.special_categories import find_special
from hearth.types import Argument, Context, Entity, Plan, Refusal, Request

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
