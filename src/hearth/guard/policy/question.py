"""The one question per plan, and the yes that stands afterwards."""

from __future__ import annotations

import datetime as dt
import json
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TextIO

from hearth.errors import NotFound
from hearth.formats.plans import decode_argument, encode_argument
from hearth.formats.record_places import in_letters
from hearth.formats.terminal_text import drop_typed_ahead, moment_text
from hearth.guard.labels import (
    KnownAddresses,
    PlannedStep,
    StepLabels,
    Value,
    effect_on,
    has_lookalike_letters,
    item_type,
    normalised,
    origins,
    refs_in,
    standing_for,
    told,
)
from hearth.guard.policy.rules import Judgement
from hearth.language.values.identifying import plain, words
from hearth.protocols import Reply
from hearth.storage.database import Store
from hearth.storage.trace import label_from_text, label_text, parse_moment
from hearth.storage.trace import moment_text as stored_moment
from hearth.types import (
    WORDING,
    Argument,
    Asked,
    Effect,
    Label,
    Parameter,
    Plain,
    Plan,
    Ref,
    Referent,
    Ruling,
    Step,
    ToolSpec,
    Whence,
)

# ── Question ──────────────────────────────────────────────────────────────────────────────────────────────
# Writes one question per plan, in plain words: what happens, to which things, with which values, what can be undone.
#
# A `Question` is made once; it is what the terminal shows and the record keeps. Things are shown by their names with
# what tells them from others, addresses in letters with a warning where they imitate others, texts that are written
# or sent in full. Values are quoted with everything invisible made visible, so that none can pass for a part of the
# question. A value not known yet is named by the step and the field it will come from, with who may have written it.
# If a call turns out different from what was agreed to, only the difference is asked about, with the real values.
#
# Covered: every step of a plan with its things, values and their sources; of a text beyond `MAX_TEXT_CHARS` the rest
# is counted, and links, addresses, accounts and numbers in it are listed. Not covered: whether the owner reads it.

MAX_TEXT_CHARS = 2_000
"""Most characters of one value that are shown; more than most mails have."""
MAX_NAME_CHARS = 300
"""Most characters of a thing's name that are shown: its beginning and its end."""
MAX_NAMED = 100
"""Most things that are listed of steps that do the same to many, and most addresses of one thing."""
MAX_RECORDS = 3
"""Most records of one source that are named."""
MAX_TITLE_CHARS = 80
MAX_LIFTED = 50
"""Most identifiers that are listed of the part of a text that is not shown."""
MAX_LIKE_CHARS = 100
"""Most characters of a word with look-alike letters that are shown in ASCII."""
_TELLING = {"iban": 0, "card": 0, "account": 0, "url": 1, "email": 2, "phone": 3}
"""Kinds that say where money and readers go, in the order in which they are listed, before all others: many harmless
numbers hide none of them."""
_CONSEQUENCE: Mapping[Effect, str] = {
    "none": "only reads",
    "change": "changes your data; can be undone",
    "send": "cannot be undone",
}
_SOURCES = {
    "owner": "your request",
    "device": "your own records",
    "contacts": "your contacts",
    "message": "a message you received",
    "web": "a web page",
    "file": "a file",
    "sensor": "a sensor",
    "teacher": "the teacher",
    "model": "a language model",
    "memory": "memory",
    "injection": "a text that reads like an instruction to me",
}


@dataclass(frozen=True, slots=True)
class Deed:
    """One step, or several that do the same to one thing each."""

    heading: str
    details: tuple[str, ...] = ()
    """One argument each: what is shown of it, and where it comes from."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the owner is asked; `str` of it is what every surface shows and the record keeps."""

    opening: str
    deeds: tuple[Deed, ...]
    reason: str

    def __str__(self) -> str:
        lines = [self.opening] if self.opening else []
        for deed in self.deeds:
            lines += [deed.heading, *(f"       {detail}" for detail in deed.details)]
        return "\n".join([*lines, f"I ask because {shown(self.reason)}."])


def question(
    plan: Plan,
    tools: Mapping[str, ToolSpec],
    judgement: Judgement,
    behind: Mapping[str, Value] | None = None,
    book: KnownAddresses | None = None,
) -> Question:
    """Ask about a whole plan.

    Args:
        judgement: The judgement of this plan by `Policy.judge`. Steps already agreed to are left out.
        behind: Recipients that ids in the plan stand for ("send it"): shown in place of the id.
        book: Gives the names to whom those addresses belong.
    """
    asked = [index for index in range(len(plan.steps)) if judgement.steps[index].rule != "consent"]
    deeds = []
    for group in _grouped(plan, asked):
        details = [_details(PlannedStep(plan, index, tools), judgement, behind or {}, book) for index in group]
        spec = tools[plan.steps[group[0]].tool]
        effects = {effect_on(spec, judgement.things.get(index, {})) for index in group}
        consequence = _CONSEQUENCE["send" if "send" in effects else spec.effect]
        number = f"{group[0] + 1}." if len(group) == 1 else f"{group[0] + 1}–{group[-1] + 1}."
        times = f", {len(group)} times" if len(group) > 1 else ""
        deeds.append(Deed(f"  {number} {spec.name} ({consequence}){times}", tuple(_merged(details))))
    return Question("This is what I would do:", tuple(deeds), judgement.ruling.reason)


def difference(
    planned: PlannedStep,
    arguments: Mapping[str, Value],
    ruling: Ruling,
    book: KnownAddresses | None = None,
    *,
    is_seen: bool = True,
) -> Question:
    """Ask about how one step differs from what was agreed to, with its real values.

    Args:
        arguments: The arguments of the call, with the things they name, and recipients in place of the ids that stand
            for them.
        book: Gives the name to whom an address belongs.
        is_seen: The owner saw the plan; for a step that nobody was asked about so far, every value is shown.
    """
    spec = planned.spec
    details = []
    for name, value in arguments.items():
        is_sink, given = planned.is_sink(name), planned.step.arguments.get(name)
        if is_seen and not is_sink and not refs_in(given) and not value.things:
            continue  # it is as planned, and nothing depends on it
        said = _said_value(value, name, book)
        if is_sink and any(one.addressed for one in value.things):  # an id stands for its recipients
            said = f"{_said_recipients(value, name, book)}, {said}"
        else:
            said += _said_files(value) + ("" if is_sink else _said_answered(value, book))
        if refs_in(given):
            said += f", as {_said(given, planned.plan)}"
        details.append(f"{_called(planned, name)}: {said} [from {source_words(value.label, value.whence, book)}]")
    heading = f"Before I go on with {planned.index + 1}. {spec.name} ({_CONSEQUENCE[effect_on(spec, arguments)]}):"
    return Question("", (Deed(heading, tuple(details)),), ruling.reason)


# ── Steps ─────────────────────────────────────────────────────────────────────────────────────────────────


def _grouped(plan: Plan, indices: Sequence[int]) -> Iterator[list[int]]:
    """Yield runs of steps that call one tool with literals and differ in a single argument."""
    run: list[int] = []
    for index in indices:
        if run and index == run[-1] + 1 and _is_alike(plan.steps[run[0]], plan.steps[index]):
            run.append(index)
            continue
        if run:
            yield from [run] if len(run) > 2 else [[one] for one in run]
        run = [index]
    if run:
        yield from [run] if len(run) > 2 else [[one] for one in run]


def _is_alike(one: Step, other: Step) -> bool:
    if one.tool != other.tool or one.arguments.keys() != other.arguments.keys() or one.refs() or other.refs():
        return False
    return sum(one.arguments[name] != other.arguments[name] for name in one.arguments) <= 1


def _merged(details: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Yield one line for each argument of steps that are alike: what they share once, what differs as a list."""
    for name in details[0]:
        several = list(dict.fromkeys(one[name] for one in details))
        if len(several) > 1:
            head = f"{name}: "
            listed = [text.removeprefix(head) for text in several[:MAX_NAMED]]
            more = f" and {len(several) - MAX_NAMED} more" if len(several) > MAX_NAMED else ""
            yield f"{name}, {len(several)} of them: {', '.join(listed)}{more}"
        else:
            yield several[0]


def _details(
    planned: PlannedStep, judgement: Judgement, behind: Mapping[str, Value], book: KnownAddresses | None
) -> dict[str, str]:
    """What is shown of each argument of one step."""
    things, labels = judgement.things.get(planned.index, {}), judgement.labels[planned.index]
    found: dict[str, str] = {}
    for name in dict.fromkeys((*planned.step.arguments, *things)):
        value, thing, is_sink = planned.step.arguments.get(name), things.get(name), planned.is_sink(name)
        known = behind.get(value) if is_sink and isinstance(value, str) else None
        if known is not None:
            also = ""
            if thing is not None and thing.things:
                known, also = standing_for(thing, known), f", {_said_value(thing, name, book)}"
            said = _said_recipients(known, name, book) + also
        elif thing is not None:
            said = _said_value(thing, name, book) + ("" if is_sink else _said_answered(thing, book))
        else:
            said = _said(value, planned.plan, name, book)
        source = _source(planned, name, labels, thing, known, book)
        found[name] = f"{_called(planned, name)}: {said}" + (f" [{source}]" if source else "")
    return found


def _called(planned: PlannedStep, name: str) -> str:
    return f"{name} (decides where it goes)" if planned.is_sink(name) else name


def _source(
    planned: PlannedStep,
    name: str,
    labels: StepLabels,
    thing: Value | None,
    known: Value | None,
    book: KnownAddresses | None,
) -> str:
    """Say where an argument comes from; empty where it is the owner's own word, or the tool's default.

    Args:
        thing: What the argument names, if that was looked up.
        known: The recipients that it stands for.
    """
    value, label = planned.step.arguments.get(name), labels.arguments.get(name)
    if thing is not None and refs_in(value):
        return f"from {source_words(thing.label, thing.whence, book)}"  # looked up before the question
    if label is None:
        return ""  # left out in the request: the tool's own default
    if known is not None:
        return f"from {source_words(known.label, known.whence, book)}"
    is_sink = planned.is_sink(name)
    if is_sink and labels.expected(name).is_trusted and not label.is_trusted:
        return f"from {source_words(labels.expected(name))}; if it turns out otherwise, I ask again"
    if is_sink and (strangers := origins(planned, name)):
        unless = ", unless it is a contact of yours" if labels.may_turn_out_trusted(name) else ""
        return f"a stranger may have written this: {', '.join(strangers)}{unless}"
    is_brought = value is not None and (bool(refs_in(value)) or name in planned.step.unsaid)
    said_in = planned.step.said_in.get(name)
    return (
        f"from {source_words(label, (said_in,) if said_in else (), book)}"
        if is_brought and planned.spec.effect != "none"
        else ""
    )


# ── Values ────────────────────────────────────────────────────────────────────────────────────────────────


def source_words(label: Label, whence: Sequence[Whence] = (), book: KnownAddresses | None = None) -> str:
    """Name the sources of a value in words, strangers first, and of those the records, where they are known."""
    said: list[str] = []
    for name in (*sorted(label.strangers), *sorted(label.sources - label.strangers)):
        of = [one for one in whence if one.source == name]
        named = list(dict.fromkeys(_said_record(one, book) for one in of if one.kind))
        more = [f"{len(named) - MAX_RECORDS} more"] if len(named) > MAX_RECORDS else []
        unknown = [] if named and all(one.kind for one in of) else [_SOURCES.get(name, name)]
        said += [*named[:MAX_RECORDS], *more, *unknown]
    return ", ".join(dict.fromkeys(said)) or "nowhere in particular"


def _said_record(one: Whence, book: KnownAddresses | None) -> str:
    """Name a stranger's record: the mail "Invoice 12" by "billing@pasture.example" of 3 March 2026."""
    title = one.title if len(one.title) <= MAX_TITLE_CHARS else f"{one.title[:MAX_TITLE_CHARS]}…"
    by = (said_address(one.by, book) if "@" in one.by else quoted(one.by)) if one.by else "nobody who is named"
    written = f" by {by}" if one.kind == "mail" else ""
    day = f" of {one.at.day} {one.at:%B} {one.at.year}" if one.at is not None else ""
    return f"the {one.kind} {quoted(title)}{written}{day}"


def _said_recipients(value: Value, name: str, book: KnownAddresses | None) -> str:
    return f"to {_said_plain(value.data, name, book)}{_said_files(value)}"


def _said_files(value: Value) -> str:
    return f", with the files {', '.join(map(quoted, value.files))}" if value.files else ""


def _said_answered(value: Value, book: KnownAddresses | None) -> str:
    """Say whom something goes to that is written to a thing: an answer to a mail, which says itself whom to."""
    to = list(dict.fromkeys(address for one in value.things for address in one.addressed))
    n_more = len(to) - MAX_NAMED
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"; it goes to {', '.join(said_address(one, book) for one in to[:MAX_NAMED])}{more}" if to else ""


def _said_value(value: Value, name: str, book: KnownAddresses | None) -> str:
    if value.is_open:
        return f"{_said_plain(value.data, name, None)} (which one that is, I do not know yet)"
    if value.things:
        return ", ".join(_said_thing(one, book) for one in value.things)
    return _said_plain(value.data, name, book)


def _said_thing(thing: Referent, book: KnownAddresses | None) -> str:
    if "@" in thing.id and thing.said == in_letters(thing.id):
        return said_address(thing.id, book)
    said, half = thing.said, MAX_NAME_CHARS // 2
    if len(said) <= MAX_NAME_CHARS:
        name = quoted(said)
    elif said == thing.id:  # it names no record: the words are all there is
        name = _whole(said)
    else:  # what tells it from others, a time or a place, stands behind its title
        name = f"{quoted(f'{said[:half]} … {said[-half:]}')} (between them {_left_out(said[half:-half])})"
    carried = f": {_whole(thing.text)}" if thing.text else ""
    n_more = len(thing.told) - MAX_NAMED
    if thing.told:
        addresses = ", ".join(said_address(one, book) for one in thing.told[:MAX_NAMED])
        carried += f"; the calendar server may write to {addresses}" + (f" and {n_more} more" if n_more > 0 else "")
    return name + carried


def _said_plain(value: Plain, name: str, book: KnownAddresses | None) -> str:
    if isinstance(value, list):
        return ", ".join(_said_plain(item, name, book) for item in value) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{quoted(key)} = {_said_plain(item, key, book)}" for key, item in value.items())
    if not isinstance(value, str):
        return str(value)
    if book is not None and "@" in value and name not in WORDING:
        return said_address(value, book)
    return moment_text(value) or (_whole(value) if name in WORDING else quoted(value))


def _said(value: Argument, plan: Plan, name: str = "", book: KnownAddresses | None = None) -> str:
    if isinstance(value, Ref):
        what = f"the {'.'.join(value.path)}" if value.path else "the result"
        return f"{shown(what)} from {value.step + 1} ({plan.steps[value.step].tool})"
    if isinstance(value, list):
        return ", ".join(_said(item, plan, name, book) for item in value) or "nothing"
    if isinstance(value, dict):
        return ", ".join(f"{quoted(key)} = {_said(item, plan, key, book)}" for key, item in value.items())
    return _said_plain(value, name, book)


def said_address(address: str, book: KnownAddresses | None) -> str:
    """An address in letters, whose it is, and where its letters may be taken for others, a warning with its ASCII."""
    letters = in_letters(address)
    notes = []
    if letters != address or has_lookalike_letters(letters):
        look = "WARNING, its letters may look like others; " if has_lookalike_letters(letters) else ""
        notes.append(f"{look}in ASCII {ascii(address)[1:-1]}")
    if book is not None:
        name = book.name_of(address)
        notes.append(f"{quoted(name)} in your contacts" if name else "not in your contacts")
    return f"{_in_quotes(letters)} ({'; '.join(notes)})" if notes else _in_quotes(letters)


def shown(text: str) -> str:
    """Make everything invisible in `text` visible, as an escape; a reason may hold a value."""
    return "".join(_visible(c, before) for before, c in zip(f" {text}", text))


def _visible(character: str, before: str) -> str:
    """Show one character; the sign that makes the picture before it coloured belongs to that picture."""
    if character.isascii():
        return character if character.isprintable() else repr(character)[1:-1]
    is_of_picture = character == "\ufe0f" and unicodedata.category(before) in ("So", "Sm")
    is_hidden = unicodedata.category(character) in _INVISIBLE or character in _BLANK or _is_variation(character)
    if not is_hidden or is_of_picture:
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _is_variation(character: str) -> bool:
    """Return whether a character only chooses a form of the one before it, and looks like nothing."""
    code = ord(character)
    return 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F


_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3000\u3164\uffa0" + "".join(map(chr, range(0x2000, 0x200B))))
"""Letters and spaces that look like nothing, or like an ordinary space."""


def quoted(text: str) -> str:
    """Put `text` in quotation marks on one line, with nothing invisible in it; see `MAX_TEXT_CHARS`."""
    return _in_quotes(text) + _notes(text)


def _in_quotes(text: str) -> str:
    part = text[:MAX_TEXT_CHARS]
    inner = "".join(f"\\{c}" if c in '"\\' else _visible(c, before) for before, c in zip(f" {part}", part))
    return f'"{inner}{"…" if len(text) > MAX_TEXT_CHARS else ""}"'


def _whole(text: str) -> str:
    """A text that is written or sent: on one line in quotation marks, or each of its lines behind a bar."""
    if "\n" not in text.strip():
        return quoted(text)
    lines = text[:MAX_TEXT_CHARS].split("\n")
    cut = "…" if len(text) > MAX_TEXT_CHARS else ""
    return "".join(f"\n         | {shown(line)}" for line in lines) + cut + _notes(text)


def _notes(text: str) -> str:
    """What a reader of the shown part would miss: right-to-left letters, and what is in the rest."""
    notes = []
    if any(unicodedata.bidirectional(c) in ("R", "AL") for c in text):
        notes.append("holds right-to-left letters, so it may read in another order than it is")
    if not text.isascii() and (alike := list(dict.fromkeys(filter(_is_lookalike, _WORD.findall(text))))):
        named = ", ".join(f"{ascii(word[:MAX_LIKE_CHARS])[1:-1]}" for word in alike[:MAX_LIFTED])
        more = f" and {len(alike) - MAX_LIFTED} more" if len(alike) > MAX_LIFTED else ""
        notes.append(f"WARNING, letters that look like others; in ASCII {named}{more}")
    rest = text[MAX_TEXT_CHARS:]
    if rest:
        notes.append(f"and {_left_out(rest)}")
    return f" ({'; '.join(notes)})" if notes else ""


def _left_out(rest: str) -> str:
    """Say how much of a text is not shown, and what in it tells where money and readers go."""
    lifted = list(_identifiers(rest))
    more = f" and {len(lifted) - MAX_LIFTED} more" if len(lifted) > MAX_LIFTED else ""
    named = f", with {', '.join(lifted[:MAX_LIFTED])}{more} in them" if lifted else ""
    return f"{len(rest)} more characters{named}"


_WORD = re.compile(r"\S+")
_LINK = re.compile(r"://|@|\w\.\w")
_ALIKE = ("CYRILLIC", "ARMENIAN", "CHEROKEE", "LISU", "FULLWIDTH")
"""Scripts with letters that look like those of this one."""


def _is_lookalike(word: str) -> bool:
    """Return whether one word or link mixes letters of this script with some that look like them."""
    if word.isascii():
        return False
    bare = word.partition("://")[2] or word
    scripts = (*_ALIKE, "GREEK") if _LINK.search(word) else _ALIKE  # "kΩ" is a word
    has_latin = any(c.isascii() and c.isalpha() for c in bare)
    return has_latin and any(unicodedata.name(c, "").startswith(scripts) for c in bare if not c.isascii())


def _identifiers(text: str) -> Iterable[str]:
    """Accounts, links, addresses and numbers in a text, as they stand there."""
    from hearth.guard.deidentify.masker import find_identifiers  # most requests need no question

    read = plain(text)
    found = find_identifiers(read.text, words(read.text), dates=False)
    found.sort(key=lambda one: (_TELLING.get(one.kind, len(_TELLING)), one.start))
    return dict.fromkeys(f"“{shown(read.text[one.start : one.end])}”" for one in found)


# ── Who answers ────────────────────────────────────────────────────────────────────────────────────────
# Asks the owner: shows a question and takes the answer.
# Covered: a terminal, nobody, and an owner who said yes beforehand.
# Not covered: what is in the question (`guard.policy.question`); whether the owner reads it.


UNFORESEEN = "label.unforeseen"
"""The rule that asks about a value from an unforeseen source."""

ANSWERS: Mapping[str, Reply] = {
    "y": "once", "yes": "once", "a": "always", "always": "always", "n": "no", "no": "no", "": "no", "never": "never",
}  # fmt: skip
"""What a typed answer means."""
PROMPT = "Do it? [y]es, [a]lways when it is like this, [n]o, never: "


class TerminalApprover:
    """Asks on a terminal: writes the question to standard error, reads the answer from standard input.

    Anything but a clear yes is a no, and so is the end of input; where input is no terminal there is nobody to ask.
    What was typed before the question is no answer to it.
    """

    def __init__(self, answers: TextIO | None = None, shown: TextIO | None = None) -> None:
        self._answers = answers
        self._shown = shown

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the question holds the reason
        answers, shown = self._answers or sys.stdin, self._shown or sys.stderr
        if answers is None or not answers.isatty():
            return "nobody"
        drop_typed_ahead(answers)
        shown.write(f"{question}\n{PROMPT}")
        shown.flush()
        while line := answers.readline():
            answer = ANSWERS.get(line.strip().lower())
            if answer is not None:
                return answer
            shown.write("Please answer y, a, n or never: ")
            shown.flush()
        return "no"


class RefusingApprover:
    """An approver for when there is nobody to ask: nothing is approved."""

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the seam's signature
        return "nobody"


class YesApprover:
    """An approver for an owner who said yes to every plan beforehand (`--yes`). A rule that denies still denies.

    Not covered by that yes: an unforeseen stranger's value (a contact that turns out not to be the owner's own).
    """

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the seam's signature
        return "nobody" if ruling.rule == UNFORESEEN else "once"


# ── Consents ──────────────────────────────────────────────────────────────────────────────────────────────
# Keeps the owner's standing answers, "always this" and "never this": narrow, expiring, listed and revocable.
#
# A consent holds for one tool, the same things wherever a value decides what is acted on (recipients, records, files,
# devices, choices; for a draft, its recipients and files), amounts not above the one agreed to, no source that was
# not there then, and the same reason for asking: the same rule by content, not by name. A value that stands for
# recipients (a draft) has the sources of everything they get. Free text and times may differ. A consent never lifts a
# `deny`. A "never" belongs to no rule, overrides every yes, and holds whatever the files, amounts and sources; where
# nothing decides what is acted on (a note), it holds for the very same words.
#
# Covered: everything above; a consent that has expired or was revoked counts for nothing. Not covered: what a text
# says; what another program makes of a draft; how often a consent is used (rules with a rate count that); another
# thing that takes the place of one agreed to, under its very name.

LASTS = dt.timedelta(days=30)
AMOUNT_TYPES = frozenset({"integer", "number"})
FREE_TYPES = frozenset({"text", "date", "time", "datetime", "duration"})
"""Types whose values may differ from one time to the next, if they are neither a sink nor an enum."""
_FILES = ".files"
"""Suffix to an argument's name: the files that go with what it stands for. No parameter has a dot in its name."""
_TOLD = ".told"
"""The same: whom a server writes to by itself."""
_SETS = ".sets"
"""The same: the calls that a thing sets off, so that a scene that became another one is asked about again."""


@dataclass(frozen=True, slots=True)
class Consent:
    """One standing answer."""

    number: int
    tool: str
    verdict: Literal["allow", "deny"]
    fixed: Mapping[str, Plain]
    """Values that must be the same, by argument."""
    amounts: Mapping[str, float]
    """The most that was agreed to, by argument."""
    sources: Mapping[str, frozenset[str]]
    """Sources that each argument may come from."""
    rules: frozenset[str]
    """The rules that asked; another one asks again."""
    at: dt.datetime
    expires: dt.datetime
    episode: str = ""
    n_used: int = 0
    is_revoked: bool = False

    def covers(self, spec: ToolSpec, arguments: Mapping[str, Value], rule: str, now: dt.datetime) -> bool:
        """Return whether a call is covered by this answer."""
        if self.is_revoked or now >= self.expires or spec.name != self.tool:
            return False
        if self.verdict == "deny":
            return self._refuses(spec, arguments)
        if any(value.is_open for value in arguments.values()):
            return False
        fixed, amounts = pattern_of(spec, arguments)
        return (
            rule in self.rules
            and fixed == self.fixed
            and amounts.keys() == self.amounts.keys()
            and all(_is_within(amount, self.amounts[name]) for name, amount in amounts.items())
            and arguments.keys() <= self.sources.keys()
            and all(_sources(value) <= self.sources[name] for name, value in arguments.items())
        )

    def _refuses(self, spec: ToolSpec, arguments: Mapping[str, Value]) -> bool:
        """Return whether a "never" is about these things, or about some of them: all that it was said of must be there.
        One said before things were resolved is about their names. What is left out and what is spelled out as it is by
        default are the same."""
        defaults = {p.name: _normal(p.default) for p in spec.parameters if not p.is_required}
        wanted = {**defaults, **refused(spec, arguments)}
        told = {name: value for name, value in self.fixed.items() if defaults.get(name) != value} or self.fixed
        return bool(told) and all(
            name in wanted
            and _is_among(self.fixed[name], wanted[name], arguments[name].things if name in arguments else ())
            for name in told
        )

    def said(self) -> str:
        """Describe the consent in one line, for a list."""
        parts = [f"{name} = {_shown(value)}" for name, value in self.fixed.items()]
        parts += [f"{name} up to {amount:g}" for name, amount in self.amounts.items()]
        return f"{self.tool}({', '.join(parts)})"


def _is_among(agreed: Plain, value: Plain, things: Sequence[Referent]) -> bool:
    """Return whether a value is the one that was agreed on, or holds all its things beside others, by whatever name."""
    if agreed == value:
        return True
    one, other = (each if isinstance(each, list) else [each] for each in (agreed, value))
    named = {text for thing in things for text in (thing.name, *thing.spellings, *thing.aliases)}
    return bool(one) and all(thing not in (None, "") and (thing in other or thing in named) for thing in one)


def _is_within(amount: float, agreed: float) -> bool:
    """Return whether an amount is not above the agreed one, and of the same sign: paying is not taking back."""
    return 0 <= amount <= agreed or agreed <= amount <= 0


def _shown(value: Plain) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def is_fixed(spec: ToolSpec, parameter: Parameter) -> bool:
    """Return whether a value decides what is acted on, so that a consent holds for this value only."""
    kind = item_type(parameter.type)
    if parameter.is_sink or parameter.enum or kind not in AMOUNT_TYPES | FREE_TYPES:
        return True
    return (kind == "text" and parameter.name not in WORDING) or parameter is _naming(spec)


def deciding(spec: ToolSpec, names: Iterable[str]) -> frozenset[str]:
    """Select the arguments that a "never" holds for: the fixed ones, or all if none is fixed."""
    given = [p for p in spec.parameters if p.name in set(names)]
    return frozenset(p.name for p in given if is_fixed(spec, p)) or frozenset(p.name for p in given)


def refused(spec: ToolSpec, arguments: Mapping[str, Value]) -> dict[str, Plain]:
    """The values of a call that a "never" holds for, normalised."""
    wanted = deciding(spec, arguments)
    return {name: _normal(value.data) for name, value in arguments.items() if name in wanted}


def _naming(spec: ToolSpec) -> Parameter | None:
    """The text parameter that names the record a tool acts on, if no id does: which list, say."""
    if not spec.unconfirmed or any(parameter.type.endswith("Id") for parameter in spec.parameters):
        return None
    return next((p for p in spec.parameters if p.is_required and p.type == "text"), None)


def pattern_of(spec: ToolSpec, arguments: Mapping[str, Value]) -> tuple[dict[str, Plain], dict[str, float]]:
    """The values of a call that a consent fixes, normalised, and its amounts."""
    fixed: dict[str, Plain] = {}
    amounts: dict[str, float] = {}
    for parameter in spec.parameters:
        value = arguments.get(parameter.name)
        if value is None:
            continue
        if is_fixed(spec, parameter):
            fixed[parameter.name] = _normal(value.data)
            if value.files:
                fixed[f"{parameter.name}{_FILES}"] = [*sorted(value.files)]
            if written_to := told({parameter.name: value}):
                fixed[f"{parameter.name}{_TOLD}"] = [*sorted(written_to)]
            if set_off := [_said_step(step) for one in value.things for step in one.sets_off]:
                fixed[f"{parameter.name}{_SETS}"] = [*sorted(set_off)]
        elif item_type(parameter.type) in AMOUNT_TYPES:
            items = value.data if isinstance(value.data, list) else [value.data]
            numbers = [float(item) for item in items if isinstance(item, int | float)]
            amounts[parameter.name] = max(numbers, key=abs, default=0.0)
    return fixed, amounts


def _said_step(step: Step) -> str:
    given = (f"{name}={json.dumps(literal, default=str)}" for name, literal in sorted(step.arguments.items()))
    return f"{step.tool}({', '.join(given)})"


def _sources(value: Value) -> frozenset[str]:
    """Sources of a value and of all that goes with it: a draft stands for recipients, its text comes from elsewhere."""
    return value.label.sources.union(*(label.sources for label in value.fields.values()))


def _normal(value: Plain) -> Plain:
    """Normalise addresses to ignore case, and lists to ignore order and repeats."""
    if isinstance(value, list):
        items = sorted((_normal(item) for item in value), key=repr)
        return [item for k, item in enumerate(items) if not k or item != items[k - 1]]
    return normalised(value) if isinstance(value, str) and "@" in value else value


class Consents:
    """The standing answers of a home; without a store they last as long as the process."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._known: list[Consent] | None = None
        self._version = -1

    def all(self) -> tuple[Consent, ...]:
        """Every consent, also expired and revoked ones, oldest first."""
        if self._known is None:
            rows = self._store.query("SELECT * FROM consent ORDER BY number") if self._store is not None else []
            self._known = [_read(row) for row in rows]
        return tuple(self._known)

    def find(self, spec: ToolSpec, arguments: Mapping[str, Value], rule: str, now: dt.datetime) -> Consent | None:
        """Find the consent that covers a call; denials first. One that another process revoked covers none."""
        for _ in range(2):
            found = [c for c in self.all() if c.tool == spec.name and c.covers(spec, arguments, rule, now)]
            if not found or not self._is_outdated():
                break
        return min(found, key=lambda consent: consent.verdict != "deny", default=None)

    def may_cover(self, tool: str, rule: str, now: dt.datetime) -> bool:
        """Return whether some consent could allow a call of a tool whose values are not known yet."""
        return any(
            c.tool == tool and c.verdict == "allow" and not c.is_revoked and now < c.expires and rule in c.rules
            for c in self.all()
        )

    def _is_outdated(self) -> bool:
        """Return whether another process wrote since the last check; then all are read again at the next need."""
        if self._store is None:
            return False
        before, self._version = self._version, self._store.query("PRAGMA data_version")[0][0]
        if before == self._version:
            return False
        self._known = None
        return True

    def keep(
        self,
        spec: ToolSpec,
        arguments: Mapping[str, Value],
        verdict: Literal["allow", "deny"],
        rules: frozenset[str],
        now: dt.datetime,
        episode: str = "",
    ) -> Consent:
        """Record a new consent. Raises: StoreError: Nothing is kept."""
        fixed, amounts = pattern_of(spec, arguments)
        if verdict == "deny":
            fixed = refused(spec, arguments)
        sources = {name: _sources(value) for name, value in arguments.items()}
        known = self.all()
        number = max((consent.number for consent in known), default=0) + 1
        consent = Consent(number, spec.name, verdict, fixed, amounts, sources, rules, now, now + LASTS, episode)
        if self._store is not None:
            pattern = {
                "fixed": fixed,
                "amounts": amounts,
                "sources": {name: sorted(several) for name, several in sources.items()},
                "rules": sorted(rules),
            }
            times = stored_moment(now), stored_moment(consent.expires)
            with self._store.transaction() as cursor:
                cursor.execute(
                    "INSERT INTO consent (number, tool, verdict, pattern_json, at, expires, episode)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (number, spec.name, verdict, json.dumps(pattern), *times, episode),
                )
        self._known = [*known, consent]
        return consent

    def used(self, consent: Consent) -> None:
        """Count one use. Raises: StoreError."""
        if self._store is not None:
            with self._store.transaction(is_synced=False) as cursor:
                cursor.execute("UPDATE consent SET n_used = n_used + 1 WHERE number = ?", (consent.number,))

    def revoke(self, number: int) -> Consent:
        """Revoke a consent. Raises: NotFound: No valid consent has that number."""
        found = next((c for c in self.all() if c.number == number and not c.is_revoked), None)
        if found is None:
            raise NotFound(f"there is no consent {number}; `hearth policy consents` lists the ones there are")
        if self._store is not None:
            with self._store.transaction() as cursor:
                cursor.execute("UPDATE consent SET is_revoked = 1 WHERE number = ?", (number,))
            self._known = None
        else:
            self._known = [replace(c, is_revoked=True) if c.number == number else c for c in self.all()]
        return found


def _read(row: Any) -> Consent:
    pattern = json.loads(row["pattern_json"])
    return Consent(
        number=row["number"],
        tool=row["tool"],
        verdict=row["verdict"],
        fixed=pattern["fixed"],
        amounts=pattern["amounts"],
        sources={name: frozenset(several) for name, several in pattern["sources"].items()},
        rules=frozenset(pattern["rules"]),
        at=parse_moment(row["at"]),
        expires=parse_moment(row["expires"]),
        episode=row["episode"],
        n_used=row["n_used"],
        is_revoked=bool(row["is_revoked"]),
    )


# ── What was agreed to of one request ──────────────────────────────────────────────────────────────────
# Keeps what the owner agreed to of a request that is being carried out, so that a crash between the yes and the step
# loses nothing of it: after it, only what was agreed to is done, to the very things that were shown.
# A row for each step, with the step itself, the things it named, what they were like, and the question. It is on disk
# before the step begins, and goes with the end of the request; the question and its answer stay in the record.
# Covered: plans and single calls that were asked about; a step that is another one now has no agreement.
# Not covered: what was asked in another process's memory only; standing answers (`guard.policy.question`).


@dataclass(frozen=True, slots=True)
class Agreement:
    """The owner's yes to one step."""

    step: Step
    ruling: Ruling
    """The ruling it was shown with."""
    asked: Asked
    things: Mapping[str, Value]
    """What its arguments named when it was shown, as far as that was known."""
    is_planned: bool = True
    """Whether it was agreed to with its plan; a single call may be asked about that no question was about before."""
    kept: frozenset[str] = frozenset()
    """The rules that asked, where the answer was "always"."""
    confirmed: Mapping[str, Plain] | None = None
    """Its real values, where it was asked about with these."""

    def is_for(self, step: Step) -> bool:
        return _step_text(self.step) == _step_text(step)


class Agreements:
    """The agreements of requests that are not over yet; without a store they last as long as the process."""

    def __init__(self, store: Store | None = None) -> None:
        self._store = store
        self._known: dict[tuple[str, int], Agreement] = {}

    def keep(self, episode: str, agreements: Mapping[int, Agreement]) -> None:
        """Record the owner's yes to steps of a request; on disk with the next record of a step, before which nothing is
        done. Raises: StoreError."""
        if self._store is None:
            self._known |= {(episode, index): one for index, one in agreements.items()}
            return
        rows = [(episode, index, _dumps(one)) for index, one in agreements.items()]
        with self._store.transaction(is_synced=False) as cursor:
            cursor.executemany(
                "INSERT INTO agreed_step (episode, step, what_json) VALUES (?, ?, ?)"
                " ON CONFLICT (episode, step) DO UPDATE SET what_json=excluded.what_json",
                rows,
            )

    def of(self, episode: str) -> dict[int, Agreement]:
        """The agreements to steps of a request that is not over, by step. Raises: StoreError."""
        if self._store is None:
            return {index: one for (id, index), one in self._known.items() if id == episode}
        rows = self._store.query("SELECT step, what_json FROM agreed_step WHERE episode=? ORDER BY step", (episode,))
        return {row["step"]: _loads(row["what_json"]) for row in rows}


# ── Rows ──────────────────────────────────────────────────────────────────────────────────────────────────


def _step_text(step: Step) -> str:
    return json.dumps(_step(step), sort_keys=True)


def _step(step: Step) -> list[Any]:
    arguments = {name: encode_argument(value) for name, value in step.arguments.items()}
    return [step.tool, arguments, sorted(step.after), step.replaces]


def _dumps(one: Agreement) -> str:
    return json.dumps(
        {
            "step": _step(one.step),
            "ruling": [one.ruling.verdict, one.ruling.reason, one.ruling.rule],
            "asked": [one.asked.question, one.asked.answer],
            "things": {name: _value(value) for name, value in one.things.items()},
            "is_planned": one.is_planned,
            "kept": sorted(one.kept),
            "confirmed": one.confirmed,
        }
    )


def _value(value: Value) -> dict[str, Any]:
    things = [
        [o.id, o.name, list(o.spellings), list(o.aliases), o.text, list(map(list, o.state)), list(o.told)]
        for o in value.things
    ]
    return {"data": value.data, "label": label_text(value.label), "things": things, "is_open": value.is_open}


def _loads(text: str) -> Agreement:
    data = json.loads(text)
    tool, arguments, after, replaces = data["step"]
    return Agreement(
        step=Step(
            tool, {name: decode_argument(value) for name, value in arguments.items()}, tuple(after), "", replaces
        ),
        ruling=Ruling(*data["ruling"]),
        asked=Asked(*data["asked"]),
        things={name: _read_value(value) for name, value in data["things"].items()},
        is_planned=data["is_planned"],
        kept=frozenset(data["kept"]),
        confirmed=data["confirmed"],
    )


def _read_value(data: Mapping[str, Any]) -> Value:
    things = tuple(
        Referent(
            id,
            name,
            tuple(spellings),
            tuple(aliases),
            text,
            tuple((what, was) for what, was in state),
            told=tuple(addresses for several in told for addresses in several),
        )
        for id, name, spellings, aliases, text, state, *told in data["things"]
    )
    return Value(data["data"], label_from_text(data["label"]), things=things, is_open=data["is_open"])
