"""Reads a request once: what was said, in words and values, for whoever decides about it.

`read` mends the spelling; the rest is found when it is first asked for, and kept. An utterance is a request and is
carried in its place, so that nobody searches the same text again; a planner that knows requests only takes it as one.

Covered: any text, empty, very long and binary ones too; what cannot be read says why. Not covered: words glued together
or spelt out, what was said before (`planning.dialogue`), which tool is meant (`planning`), languages but English.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from hearth import patterns as re
from hearth.language.acts.admissibility import why_unreadable
from hearth.language.acts.clauses import clauses, forbids
from hearth.language.acts.questions import (
    Asked,
    Believed,
    SaidBy,
    asked_of,
    asks_for_value,
    believed_then,
    declares,
    names_matter,
    question_of,
    said_by,
)
from hearth.language.text.spelling import AS_TYPED, LEAST_LETTERS, Mended, Spelling, words_in_text
from hearth.language.text.tokens import Clause, Slot, Token, tokens
from hearth.language.text.word_match import folded
from hearth.language.values.slots import find_slots
from hearth.types import Context, Entity, Request

_OR = re.compile(r"\s*,?\s*\bor\s+(?:(?:at|on|for|to)\s+)?", re.IGNORECASE)
_THINGS = ("room", "device")
_MAKES_A_CARD = re.compile(
    r"(?:new|(?:add|create|make|save|store)\s+(?:an?\s+)?(?:new\s+)?)\s*contact\b(?!\s+(?:to|details?|info)\b)(?:\s*:)?(?:\s+(?:for|called|named))?"
    r"|(?:add|save|store|put)\b(?=\s+(?:(?!['’]s\b).)*\b(?:(?:to|in|into)\s+(?:my\s+|the\s+)?(?:contacts|address\s+book)"
    r"|as\s+an?\s+(?:new\s+)?contact)\b)",
    re.IGNORECASE,
)
_LONGEST_CARD = 500
"""Characters within which a request says that a card is made."""
_NEW_NAME = re.compile(
    r"\s+(?P<name>[^\W\d_][\w'’.-]*(?:\s+[^\W\d_][\w'’.-]*){0,3}?)(?=\s*(?:[,;:(]|$|\+?\d|\S+@)|[.!?]\s*$"
    r"|\s+(?:with|and|to|in|into|as|on|at|from|phone|tel|mobile|number|e?mail|address|born|birthday|his|her|their|please)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LeftOpen:
    """Several people of whom a request leaves it open which is meant."""

    start: int
    end: int
    said: tuple[str, ...]
    """As the request calls them."""
    names: tuple[str, ...]
    """The whole name of each."""


@dataclass(frozen=True)  # without slots: what is found is kept in the instance
class Utterance(Request):
    """A request with its reading. `replace` with another text makes another utterance, read anew."""

    context: Context = field(default_factory=Context)
    """Names that the owner knows, and the country they write in."""
    mended: Mended = AS_TYPED
    """The words that were mended, each with what was typed."""

    @classmethod
    def of(cls, request: Request, context: Context) -> Utterance:
        """Return a request as it stands, to be read; the same if it is an utterance of this context."""
        if isinstance(request, Utterance) and request.context is context:
            return request
        return cls(
            request.text,
            request.now,
            request.id,
            request.said,
            request.records,
            request.revises,
            request.asked_by,
            context,
            request.mended if isinstance(request, Utterance) else AS_TYPED,
        )

    def saying(self, text: str) -> Utterance:
        """Return another text as said at the same time, in the same context; the same where the text is."""
        return self if text == self.text else replace(self, text=text)

    def as_typed(self, value: str) -> str:
        """Return words of the text as the owner typed them, but for the owner's own names."""
        return self.mended.as_typed(value)

    # ── What is found once ────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def unreadable(self) -> str:
        """Why it cannot be read, in words for the owner; empty when it can, as all that was mended."""
        return "" if self.text == self.mended.text and self.text else why_unreadable(self.text)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Words, numbers and marks, in order."""
        return tuple(tokens(self.text))

    @cached_property
    def known(self) -> Context:
        """What counts as a name among the values: no rooms and devices, so that they stay words ("the lights in the
        kitchen" is one thing). Where a card is made, its name is the only one: others may have the first name of "new
        contact Ida Berg"."""
        made = _MAKES_A_CARD.search(self.text[:_LONGEST_CARD])
        left_out = _THINGS if made is None else (*_THINGS, "person")
        known = tuple(entity for entity in self.context.entities if entity.kind not in left_out)
        new = _NEW_NAME.match(self.text, made.end()) if made is not None else None
        return replace(self.context, entities=(*known, Entity(new["name"], "person")) if new is not None else known)

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """Typed values, in order, never overlapping; see `known` for the names among them."""
        return find_slots(self.text, self.now, self.known, self.tokens)

    @cached_property
    def mentions(self) -> tuple[Slot, ...]:
        """The same with rooms and devices: everything said that the context knows, each with its name."""
        if all(entity.kind not in _THINGS for entity in self.context.entities):
            return self.slots
        return find_slots(self.text, self.now, self.context, self.tokens)

    @cached_property
    def times(self) -> tuple[Slot, ...]:
        """The slots that are times."""
        return tuple(slot for slot in self.slots if slot.kind == "time")

    @cached_property
    def acts(self) -> tuple[Clause, ...]:
        """The parts that each ask for one thing, in order; together they hold every slot."""
        return clauses(self.text, self.slots)

    @cached_property
    def alternatives(self) -> tuple[Slot, Slot] | None:
        """Two values of one kind between which the choice is left: "at 5 or 6"."""
        pairs = (pair for pair in pairwise(self.slots) if _OR.fullmatch(self.text[pair[0].end : pair[1].start]))
        return next(((one, other) for one, other in pairs if one.kind == other.kind), None)

    @cached_property
    def people_left_open(self) -> LeftOpen | None:
        """The row of known people between whom the choice is left: "Joe, Martin or Helen"."""
        if " or " not in self.text.lower():
            return None
        people = [entity for entity in self.context.entities if entity.kind == "person"]
        names = [(name, entity.name) for entity in people for name in (entity.name, *entity.aliases) if name]
        called = {form: whole for name, whole in names for form in (name.casefold(), folded(name))}
        one = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
        last = rf"(?:{one}|[^\W\d_]+)"  # who is not known is meant by one word
        row = re.compile(rf"(?<!\w)(?:{one})(?:\s*,\s*(?:{one}))*\s*,?\s+or\s+{last}(?!\w)", re.IGNORECASE)
        found = row.search(self.text) if called else None
        if found is None:
            return None
        said = tuple(re.split(r"\s*,\s*(?:or\s+)?|\s+or\s+", found[0], flags=re.IGNORECASE))
        return LeftOpen(found.start(), found.end(), said, tuple(called.get(name.casefold(), name) for name in said))

    @cached_property
    def asked(self) -> Asked:
        """What is asked, without the words that only lead to it."""
        return asked_of(self.text)

    @cached_property
    def asks_for_value(self) -> bool:
        """Whether it only names a value: "code for the back gate"."""
        return asks_for_value(self.text)

    @cached_property
    def names_matter(self) -> bool:
        """Whether it only names a matter and asks: "dad's allowance?"."""
        return names_matter(self.text)

    @cached_property
    def question(self) -> str:
        """It as a question of the owner's things: "wifi password at home" asks what it is."""
        return question_of(self.text)

    @cached_property
    def said_by(self) -> SaidBy | None:
        """Whose words it asks for."""
        return said_by(self.text)

    @cached_property
    def believed_then(self) -> Believed | None:
        """Which beliefs of the past it asks for."""
        return believed_then(self.text)

    @cached_property
    def declares(self) -> bool:
        """Whether it states something, and does not only ask or order."""
        return declares(self.text)

    @cached_property
    def forbids(self) -> bool:
        """Whether it asks that something be left undone, as far as the beginning tells."""
        return forbids(self.text)


def read(request: Request, context: Context, taught: Collection[str] = ()) -> Utterance:
    """Read a request: slips of the hand are mended; names that the owner knows, and words they taught, stay.

    Args:
        taught: Words of what the owner taught, in lower case.
    Returns:
        The utterance; of one that was read in this context already, itself. What cannot be read is not mended either:
        "bitte" is no misspelt "bite".
    """
    said = Utterance.of(request, context)
    if said is request or said.unreadable:
        return said
    named = {entity: (entity.name, *entity.aliases) for entity in context.entities}
    own = frozenset(word for names in named.values() for name in names for word in words_in_text(name)).union(taught)
    called = (name for entity, names in named.items() if entity.kind == "person" for name in names)
    people = frozenset(word for name in called for word in words_in_text(name) if len(word) >= LEAST_LETTERS - 1)
    mended = Spelling.shipped().mended(request.text, own, people)
    if mended.text == request.text:
        return said
    return replace(said, text=mended.text, said=request.typed if mended.typed else request.said, mended=mended)
