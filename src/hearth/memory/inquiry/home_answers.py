"""Answers questions from everything in the owner's folder, with the words an answer stands on and where they stand.

Before each question the folder's files are compared with those that were read: new and changed ones are read, and of
files that are gone nothing is left. Records are counted and compared (`record_answers`); for anything else the passages
that speak to the question are read (`answer_reading`). Where no answer is likely enough, it says where it looked.

Covered: mails by their names alone, other files by size and time; two processes at once (each file is replaced in one
transaction), files that change while they are read (they are read again at the next question), a full disk (the
question is answered from what is kept); a person whom a second record names (`people_meant`).
Not covered: what a provider has and has not been fetched yet; other answers joined from several passages.
"""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, TypeAlias

from hearth import patterns as re
from hearth.errors import NotFound, StoreError, ToolError
from hearth.language.acts.questions import two_questions
from hearth.language.text.tokens import word_set
from hearth.memory.inquiry.amounts.amount_changes import changed_by
from hearth.memory.inquiry.amounts.joint_amounts import joint_answer, share_answer, share_asked
from hearth.memory.inquiry.answer_telling import (
    LEAST_BESIDE,
    SAID_ABOUT,
    answer_of,
    beside_card,
    own_first,
    sentence_of,
)
from hearth.memory.inquiry.asked_operations import LEAST_TAKEN, OF_ROWS, AskedOperations, Understood
from hearth.memory.inquiry.awaited_mails import answer_from_letters
from hearth.memory.inquiry.date_answers import answer_from_dates, asked_of_dates
from hearth.memory.inquiry.money import money_in
from hearth.memory.inquiry.people_meant import (
    birthday_answer,
    card_answer,
    joined_answer,
    name_described,
    named_card_answer,
)
from hearth.memory.inquiry.reading.answer_reading import AnswerReader, Reading, least_chance, read_passages
from hearth.memory.inquiry.reading.asked_things import with_named
from hearth.memory.inquiry.reading.strangers import is_order_to_say, is_strangers, known_addresses
from hearth.memory.inquiry.reading.value_owners import People, people_of, with_apostrophes
from hearth.memory.inquiry.record_answers import answer_from_records, matter_of
from hearth.memory.inquiry.summaries import asked_for_summary, decision_of, summary_of
from hearth.memory.inquiry.table_answers import table_answer
from hearth.memory.passages.collecting import (
    FOLDERS,
    FilePassages,
    is_indexed,
    passages_in,
    place_by_known,
    unquoted_place_of,
)
from hearth.memory.passages.document_text import reads_pictures
from hearth.memory.passages.passage_store import Candidate, Passage, PassageStore
from hearth.memory.search.terms import STOP_WORDS, telling_words
from hearth.memory.search.time_mentions import times_named
from hearth.models.encoder.question_encoder import questions_for
from hearth.models.injection_classifier import Detector
from hearth.protocols import CallContext, Encoder, HomeAnswer, Workspace
from hearth.storage.database import Store
from hearth.tools.memory import DOUBTED, LEAST_SURE

Naming: TypeAlias = Literal["not", "partly", "wholly"]
LEAST_NEAR = 0.05
"""Below this chance of what a passage says, its place is not worth a look."""
_LEAST_ALONE = 0.5
"""Below this chance of what one passage says, two are joined."""
LEAST_ORDER = -3.0
"""A stranger's sentence that is an answer reads like an instruction from this score of the detector on: nine of ten
that steer an answer do, one of two hundred ordinary ones."""
_QUOTED = 0.6
"""The most that what is only quoted counts: it is told with doubt."""
READING_VERSION = 5
"""Raise it with every change to how files become passages: all are read again."""
MOST_WAITING_S = 20.0
"""How long a question waits for files that were never read; what is left is read before the next one."""
MOST_WAITING_TO_PLAN_S = 3.0
MOST_WAITING_FOR_PICTURES_S = 5.0
"""Of those seconds: for pictures in mails, which are read when all else is."""
_WITHOUT_PICTURES = ":pictures wait"
"""Behind the fingerprint of a file in which pictures are still to be read."""
_BY_STRANGERS = frozenset({"mail", "document", "event"})
_DEFINITE = re.compile(r"\b(?:the|this|that|our|my)\s+((?:[\w'’-]+\s+){0,2}[\w'’-]+)", re.IGNORECASE)
_LIGHT = word_set(
    "much many long often cost costs take takes need needs have has had get gets go goes come comes give gives say "
    "says said does did make makes put want wants back again there"
)
"""Words of questions that what answers them need not hold."""
_LEAST_ASKED = 2
_DECIDED = re.compile(
    r"\s*(?:what|which(?: \w+){1,2}) (?:did|have|has|was|were|is)(?P<by> .*)"
    r"\b(?:decid|agree|discuss|conclud|settle|resolv|choos|chose|pick|vote|elect)\w*"
    r"(?: (?:in|at|on|about|during|with|for))*(?: (?:the|our|my|that|last))*(?P<of> .*|)",
    re.IGNORECASE,
)
_PLURALS = {"mail": "mails", "note": "notes", "document": "documents", "event": "events", "contact": "cards"}
_PLURALS |= {"reminder": "reminders"}


class HomeAnswers:
    """The owner's things as an answering machine; one for each process and home."""

    def __init__(self, store: Store, encoder: Encoder | None, reader: AnswerReader) -> None:
        self._questions = questions_for(encoder, reader.cache_dir)
        self.passages = PassageStore(store, encoder, self._questions)
        self._encoder = encoder
        self._reader = reader
        self._operations = AskedOperations(encoder)
        self._detector: Detector | None = None

    def rest(self) -> None:
        """Hand back the memory of what the first question opened; the next one opens it again."""
        self._reader.rest()
        if self._questions is not None:
            self._questions.rest()

    # ── Reading the folder ────────────────────────────────────────────────────────────────────────────────

    def refresh(self, workspace: Workspace, zone: dt.tzinfo | None) -> Iterator[tuple[int, int]]:
        """Read what is new or changed and drop what is gone; yield how many files are done, and of how many.

        Stopped anywhere, what was read is kept. Raises: StoreError: The disk is full, say.
        """
        known = self.passages.fingerprints()
        found: dict[str, str] = {}
        for path in (path for folder in FOLDERS for path in workspace.list(folder) if is_indexed(path)):
            try:
                # A mail's file is never written again under its name: so one of 20,000 is not asked for its time.
                known_as = "" if path.startswith("mail/") else workspace.stat(path).fingerprint
                found[path] = f"{READING_VERSION}:{known_as}"
            except ToolError:
                continue  # gone meanwhile
        if gone := known.keys() - found.keys():
            self.passages.drop(sorted(gone))
        new = [
            path
            for path, fingerprint in found.items()
            if known.get(path, "").removesuffix(_WITHOUT_PICTURES) != fingerprint
        ]
        for n, path in enumerate(new, 1):
            self._read(path, found[path], workspace, zone)
            yield n, len(new)

    def read_pictures(self, workspace: Workspace, zone: dt.tzinfo | None) -> Iterator[tuple[int, int]]:
        """Read the pictures that wait in files that were read; yield how many files are done, and of how many.

        They wait in mails until all else is read, and anywhere until something is installed that reads them. Stopped
        anywhere, what was read is kept. Raises: StoreError: The disk is full, say.
        """
        if not reads_pictures():
            return
        known = self.passages.fingerprints()
        waiting = [path for path, fingerprint in known.items() if fingerprint.endswith(_WITHOUT_PICTURES)]
        for n, path in enumerate(waiting, 1):
            self._read(path, known[path].removesuffix(_WITHOUT_PICTURES), workspace, zone, with_pictures=True)
            yield n, len(waiting)

    def _read(
        self, path: str, fingerprint: str, workspace: Workspace, zone: dt.tzinfo | None, *, with_pictures: bool = False
    ) -> None:
        """Read a file and keep what it says, or why it cannot be read; nothing of one that is gone meanwhile."""
        try:
            read = passages_in(path, workspace, zone, with_pictures=with_pictures)
        except NotFound:
            return
        except ToolError as error:
            read = FilePassages((), str(error))
        except (ValueError, OverflowError, RecursionError) as error:
            read = FilePassages((), f"damaged: {error}")
        kept_as = fingerprint + (_WITHOUT_PICTURES if read.is_waiting else "")
        self.passages.put(path, kept_as, read.passages, read.fault)

    def looked_at(self) -> str:
        """Say in how many things an answer is looked for: `26 mails, 8 notes and 4 documents`."""
        return things_text(self.passages.counts()) or "nothing: the home is empty"

    def names_thing(self, question: str, workspace: Workspace, zone: dt.tzinfo | None) -> Naming:
        """Return how a question names one of the owner's things: "the electricity bill" by several words of one title,
        all that are said of it, or by a single word; wholly, too, where one passage holds all that is asked about."""
        said = [
            [word for word in telling_words(found[1]) if len(word) > 2 and word not in STOP_WORDS]
            for found in _DEFINITE.finditer(question)
        ]
        named = [word for words in said for word in words]
        asked = [word for word in telling_words(question) if word not in STOP_WORDS | _LIGHT]
        is_telling = len(asked) >= _LEAST_ASKED and _DEFINITE.search(question) is not None
        if not (named or is_telling):
            return "not"
        self._look(workspace, zone, MOST_WAITING_TO_PLAN_S)
        if is_telling and self.passages.holds_all(asked):
            return "wholly"
        if any(len(words) > 1 and self.passages.has_title(words, every=True) for words in said):
            return "wholly"
        return "partly" if self.passages.has_title(named) else "not"

    def _look(self, workspace: Workspace, zone: dt.tzinfo | None, limit_s: float) -> int:
        """Read what is new until `limit_s` is over; return how many files are left."""
        began = time.monotonic()
        for n, n_all in self.refresh(workspace, zone):
            if time.monotonic() - began > limit_s:
                return n_all - n
        limit_s = min(limit_s, time.monotonic() - began + MOST_WAITING_FOR_PICTURES_S)
        for n, n_all in self.read_pictures(workspace, zone):
            if time.monotonic() - began > limit_s:
                return n_all - n
        return 0

    # ── Answering ─────────────────────────────────────────────────────────────────────────────────────────

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Answer a question from the owner's things.

        Returns:
            Kind `unknown` where nothing says it; `text` then says where it looked.
        """
        return with_named(question, self._answer(question, call))

    def _answer(self, question: str, call: CallContext) -> HomeAnswer:
        self._read_newest(call)
        if (wanted := asked_for_summary(question)) is not None:
            summed = summary_of(wanted, self.passages, call, self._is_instruction)
            return summed or HomeAnswer("unknown", "", self.looked_at(), chance=0.0)
        if (both := self._answer_both(question, call)) is not None:
            return both
        found = self._worked_out(question, call) or self._read_or_understood(question, call)
        joined = joined_answer(question, self.passages, call) if found.chance < _LEAST_ALONE else None
        return joined or found

    def _read_or_understood(self, question: str, call: CallContext) -> HomeAnswer:
        """Answer a question that no parser knows: by reading, or as what it is understood to ask for, if likelier."""
        read = self._read_answer(question, call)
        understood = self._operations.understood(question)
        if understood is None or not understood.said():
            return read
        worked_out = self._as_understood(question, understood, call)
        return worked_out if worked_out is not None and worked_out.chance > read.chance else read

    def _as_understood(self, question: str, understood: Understood, call: CallContext) -> HomeAnswer | None:
        """Work out what a question is understood to ask for; with doubt where rows were counted or added although a
        word of the question that the owner's things hold, too, is in no part of what was understood ("beans")."""
        asked = asked_of_dates(question)
        if asked is not None and asked.operation == "until" and understood.operation == "birthdays":
            return None  # days to the birthday of somebody unknown: the list of all birthdays is no answer
        found = self._worked_out(understood.said(), call)
        if found is None:
            return None
        chance = min(found.chance, round(understood.chance, 4))
        named = matter_of(f"{understood.matter} {understood.when}").casefold().split()
        left_out = [word.casefold() for word in matter_of(question).split() if word.casefold() not in named]
        if understood.operation in OF_ROWS and any(self.passages.holds_all([word]) for word in left_out):
            chance = min(chance, DOUBTED)
        return replace(found, chance=chance)

    def own_chance(self, question: str) -> float:
        """Return the chance that a question is for what stands in the owner's things, by how people ask of theirs."""
        return self._operations.own_chance(question)

    def works_out(self, question: str, call: CallContext) -> str:
        """Return the operation that a question is understood to ask for (`asked_operations`), if the owner's things
        surely answer it; empty where nothing is to be worked out, or nothing can."""
        understood = self._operations.understood(question)
        if understood is None or understood.chance < LEAST_TAKEN or not understood.said():
            return ""
        self._look(call.workspace, call.now.tzinfo, MOST_WAITING_TO_PLAN_S)
        found = self._as_understood(question, understood, call)
        return understood.operation if found is not None and found.chance >= LEAST_SURE else ""

    def _worked_out(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Compute an answer over the owner's records; None where no parser knows the question, or not all that it needs
        is there."""
        computed = (
            answer_from_letters(question, self.passages, call)
            or answer_from_dates(question, call)
            or answer_from_records(question, self.passages, call)
            or changed_by(question, self.passages)
            or card_answer(question, call)
            or birthday_answer(question, call)
        )
        if computed is not None and computed.kind == "amount":
            return self._doubted(computed, question, call)
        return computed or self._reckoned(question, call) or self._days_until(question, call)

    def _read_newest(self, call: CallContext) -> None:
        """Read what is new in the folder, and note in the call what is left."""
        try:
            if n_left := self._look(call.workspace, call.now.tzinfo, MOST_WAITING_S):
                call.notices.append(f"{n_left:,} files are not read yet; ask again for what they say")
        except StoreError as error:
            call.notices.append(f"The newest files could not be read: {error}")

    def _reckoned(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Reckon an answer; from what may not be meant, it gives way to what is surely read elsewhere."""
        reckoned = self._reckon(question, call)
        # An amount that is read is not the one to be worked out.
        if reckoned is None or reckoned.chance >= LEAST_SURE or reckoned.kind == "amount":
            return reckoned
        read = self._read_answer(question, call)
        return read if read.chance >= LEAST_SURE and not _is_of(read, reckoned) else reckoned

    def _reckon(self, question: str, call: CallContext) -> HomeAnswer | None:
        from hearth.memory.inquiry.reckoning.reckoned_answers import reckoned_answer  # most requests need none of it

        return reckoned_answer(question, self.passages, call)

    def _doubted(self, computed: HomeAnswer, question: str, call: CallContext) -> HomeAnswer:
        """Doubt an amount that texts state where another is reckoned; the rows of a table are all there are."""
        if computed.chance < LEAST_SURE or any("|" in one.quote for one in computed.witnesses):
            return computed
        reckoned = self._reckon(question, call)
        if reckoned is None or money_in(reckoned.value)[:1] == money_in(computed.value)[:1]:
            return computed
        return replace(computed, chance=DOUBTED)

    def _days_until(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Count the days to a time that some passage names: "how many days until the policy runs out"."""
        asked = asked_of_dates(question)
        if asked is None or asked.operation != "until":
            return None
        found = self._read_answer(f"when does {asked.matter}", call)
        days = [one.start for one in times_named(found.value, call.now) if one.start > call.now]
        if found.kind != "date" or len(days) != 1:
            return None
        n = (days[0].astimezone(call.now.tzinfo).date() - call.now.date()).days
        return replace(found, kind="number", value=f"{n} day{'s' if n != 1 else ''}")

    def _people(self, call: CallContext) -> People:
        names = [one.title for one in self.passages.all(("contact",))]
        return people_of(str(call.settings.get("owner", {}).get("name") or ""), names)

    def _answer_both(self, question: str, call: CallContext) -> HomeAnswer | None:
        """Answer two questions that are asked as one, and say which of them nothing answers."""
        parts = two_questions(question)
        if parts is None:
            return None
        found = [self.find_answer(part, call) for part in parts]
        known = [one for one in found if one.kind != "unknown"]
        if not known:
            return None
        said = [
            f"nothing says “{part}”" if one.kind == "unknown" else one.value
            for part, one in zip(parts, found, strict=True)
        ]
        witnesses = tuple(witness for one in known for witness in one.witnesses)
        return HomeAnswer("text", "; ".join(said), "", witnesses, min(one.chance for one in known))

    def _read_answer(self, question: str, call: CallContext) -> HomeAnswer:
        """Answer a question from the passages that speak of it."""
        if (share := share_asked(question)) is not None:
            told = share_answer(share, self._readings(share.question, call))
            if told is not None and told.chance >= least_chance():
                return told
        name = name_described(question, call)
        readings = [one for one in self._readings(question, call) if not name or not _is_another_card(one, name)]
        best = readings[0] if readings else None
        if (rows := self._of_tables(question, readings)) is not None:
            return rows
        if (best is None or best.chance < LEAST_SURE) and (matter := _DECIDED.match(question)) is not None:
            told = decision_of(matter["by"], matter["of"].strip(" ?."), self.passages, call, self._is_instruction)
            if told is not None:
                return told
        if best is None or best.chance < least_chance():
            return self._unknown(readings, name)
        if best.is_strangers and (card := named_card_answer(question, call)) is not None:
            return beside_card(card, best, call.now)
        if (joint := joint_answer(question, readings)) is not None:
            return joint
        return answer_of(question, readings, call.now)

    def _of_tables(self, question: str, readings: Sequence[Reading]) -> HomeAnswer | None:
        """Return what a table among the passages tells, where that is likelier than what is read; with doubt of one
        that a stranger may have written, and nothing that reads like an instruction."""
        if self._encoder is None or not readings:
            return None
        told = table_answer(question, [one.candidate.passage for one in readings], self.passages, self._encoder)
        if told is None or told.chance <= max(readings[0].chance, least_chance()):
            return None
        record = told.witnesses[0].record if told.witnesses else ""
        if not any(one.is_strangers for one in readings if one.candidate.passage.record == record):
            return told
        if self._is_instruction(" ".join((told.value, *(one.quote for one in told.witnesses)))):
            return None
        witnesses = tuple(replace(one, is_strangers=True) for one in told.witnesses)
        return replace(told, witnesses=witnesses, chance=min(told.chance, _QUOTED))

    def _readings(self, question: str, call: CallContext) -> list[Reading]:
        """Read the passages that speak of a question, the likeliest answer first."""
        people = self._people(call)
        question = with_apostrophes(question, people)
        found = self.passages.find(question)
        if _DECIDED.match(question) or SAID_ABOUT.match(question):
            # The record of an event says when and where, and nothing of what was said there.
            found = [one for one in found if one.passage.kind != "event"]
        known = known_addresses(call)
        read = [
            replace(one, is_strangers=is_strangers(one.candidate.passage, known, call.workspace))
            for one in self._telling(read_passages(question, found, self._reader, people))
        ]
        quoted = [self._as_quotation(one) if self._is_order(one) else one for one in read]
        return own_first(question, sorted(quoted, key=lambda one: -one.chance))

    def _unknown(self, readings: Sequence[Reading], name: str) -> HomeAnswer:
        """Say that nothing answers, and what comes nearest: else the card of whom the question describes."""
        chance = readings[0].chance if readings else 0.0
        nearest = self._nearest(readings) or (f"card “{name}”" if name else "")
        return HomeAnswer("unknown", "", self.looked_at(), (), round(chance, 4), nearest)

    def _nearest(self, readings: Sequence[Reading]) -> str:
        """Return the likeliest place of an answer that is too unlikely to be told, where it is worth a look: in no
        words of a stranger's, and in none that read like an instruction."""
        best = readings[0] if readings else None
        if best is None or best.chance < LEAST_NEAR:
            return ""
        passage = best.candidate.passage
        is_quotable = not best.is_strangers and not self._is_instruction(f"{passage.title} {passage.person}")
        return place_by_known(passage) if is_quotable else unquoted_place_of(passage)

    def words_in(self, question: str, text: str) -> str:
        """Return the words of a text that answer a question; empty if it hardly does."""
        passage = Passage("", "memory", "memory", "", "", None, text, 0, "")
        (reading,) = read_passages(question, [Candidate(passage, 1.0, 0.5)], self._reader)
        return reading.text.strip(" ,;:") if reading.chance >= least_chance() else ""

    def _telling(self, readings: list[Reading]) -> list[Reading]:
        """Leave out sentences that only ask, and what strangers may have written that reads like an instruction."""
        return [
            one
            for one in readings
            if not sentence_of(one).endswith("?")
            and (
                one.chance < LEAST_BESIDE
                or one.candidate.passage.kind not in _BY_STRANGERS
                or not self._is_instruction(one.candidate.passage.text)
            )
        ]

    def _is_order(self, one: Reading) -> bool:
        """Return whether a stranger's answer stands in an order: to the assistant, or to say something."""
        if not one.is_strangers or one.chance < LEAST_BESIDE:
            return False
        sentence = sentence_of(one)
        return is_order_to_say(sentence) or self._instruction_score(sentence) > LEAST_ORDER

    @staticmethod
    def _as_quotation(one: Reading) -> Reading:
        """Return a reading that tells its whole sentence, with doubt: what an order says is no answer."""
        return replace(one, text=f"“{sentence_of(one)}”", is_yes=None, chance=min(one.chance, _QUOTED))

    def _is_instruction(self, text: str) -> bool:
        score = self._instruction_score(text)
        return self._detector is not None and score > self._detector.threshold

    def _instruction_score(self, text: str) -> float:
        """Score how much a text reads like an instruction; the least there is without an encoder."""
        if self._encoder is None:
            return -math.inf
        if self._detector is None:
            self._detector = Detector.open(self._encoder)
        return self._detector.judge([text])[0].score


def _is_of(read: HomeAnswer, reckoned: HomeAnswer) -> bool:
    """Return whether what is read stands in a record that was reckoned with; of a series, in any of its times."""
    records = {one.record.partition("#")[0] for one in reckoned.witnesses}
    return any(one.record.partition("#")[0] in records for one in read.witnesses[:1])


def things_text(counts: Mapping[str, int]) -> str:
    """Say how many records there are of each kind: `26 mails, 8 notes and 4 documents`."""
    said = [
        f"{counts[kind]} {kind if counts[kind] == 1 else name}" for kind, name in _PLURALS.items() if kind in counts
    ]
    return " and ".join(filter(None, (", ".join(said[:-1]), *said[-1:])))


def _is_another_card(one: Reading, name: str) -> bool:
    """Return whether a reading is of a card that is not of that name."""
    passage = one.candidate.passage
    return passage.kind == "contact" and passage.title != name
