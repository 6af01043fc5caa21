"""Sums up a mail, a thread, a note, a document, a day or a week, without a language model.

Of a text the sentences are told that stand for most of it: near in meaning to all of it, early, with an amount or a
date, and unlike those already chosen. Of a thread each mail's own. A day or a week is stated from its records: events,
reminders, birthdays, mails and who of their senders waits for an answer.

Covered: what a request names by title, sender or matter; texts up to `N_MOST_SENTENCES` sentences.
Not covered: other words than the text's own, chats, what happened in rooms (`describe_period` of hearth-video).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hearth import patterns as re
from hearth.memory.inquiry.answer_reading import covered, ranked
from hearth.memory.inquiry.answer_telling import witness_of
from hearth.memory.inquiry.asking_mails import AskingMail, waiting_for
from hearth.memory.inquiry.record_answers import birthdays_in, events_in, hours_of, witness_of_event
from hearth.memory.search.collecting import said_date
from hearth.memory.search.passage_store import Passage, PassageStore, sentences_of, unwrapped
from hearth.memory.search.search_words import Period, key_set, keys_of, times_named
from hearth.protocols import CallContext, Encoder, HomeAnswer
from hearth.tools.mail.mailbox import SENT
from hearth.tools.memory import DOUBTED

N_TOLD = 3
"""Sentences of a summary."""
N_OF_A_THREAD = 8
N_MOST_SENTENCES = 200
N_LISTED, N_ASKING = 8, 4
N_MOST_QUOTED = 100
LEAD = 0.25
"""What the first sentence is worth, in likeness of meaning; the second half of it, and so on."""
FACT = 0.05
REPEATED = 0.5
LEAST_NAMED = 0.5
"""A text is what a request names only if it holds more than this share of the words."""
_SUMS_UP = re.compile(
    r"\s*(?:please )?(?:(?:can|could|would) you )?(?:(?:give|get|show|tell|send) me )?(?:(?:a|an|the|what(?:'s| is) "
    r"the) )?(?:quick |short |brief )?(?:summar(?:y|ise|ize)|sum up|run ?down|recap|gist|overview|digest|tl;?dr)\b(?: "
    r"(?:of|for|on|about))?\s*(?P<thing>[^?!]+)",
    re.IGNORECASE,
)
_WEEK = re.compile(r"(?:my|the|this|the coming|my coming) week\b", re.IGNORECASE)
_DAY = re.compile(r"(?:my|the) day\b", re.IGNORECASE)
_PERIOD = re.compile(
    r"(?:(?:my|the|this|next|last|coming|past) (?:(?:coming|next|last|past) )?(?:day|week|weekend|month)|today|tomorrow"
    r"|yesterday|(?:last |next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day)\s*\.?",
    re.IGNORECASE,
)
_KINDS = {"mail": "mail", "email": "mail", "e-mail": "mail", "message": "mail", "letter": "mail", "thread": "mail"}
_KINDS |= {"conversation": "mail", "note": "note", "notes": "note", "document": "document", "file": "document"}
_LEADS = re.compile(
    r"(?:the|my|our|this|that|all|latest|last|newest|from|about|on|with|of|regarding|mails?|e-?mails?|messages?|letters?"
    r"|threads?|conversations?|notes?|documents?|files?)\b\s*",
    re.IGNORECASE,
)
_MINUTES = re.compile(r"\b(?:meetings?|minutes|agreed|decided|settled|agreement|protocol)\b", re.IGNORECASE)
_DECIDED_LINE = re.compile(
    r"(?m)^[-*•·\s]*(?:(?:was |we )?(?:decided|agreed|resolved)|decisions?)\s*[:–]\s*(?P<what>\S[^\n]*)$", re.IGNORECASE
)
"""A line of minutes that says what was decided."""
_MATTER_OF_MEETING = re.compile(
    r"(?:(?P<place>.*?)\s*\b(?:about|on|over|regarding|concerning)\s+(?P<about>\S.*)"
    r"|(?P<first>\S.*?)\s+(?:at|in|during)\s+(?:the|our|my|last)\s.*)",
    re.IGNORECASE,
)
"""Says what was decided about, behind or before where: "the club about the mower", "the fees at the club"."""
_OF_TIME = key_set(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday next last this year month week spring summer autumn winter"
)
_NUMBERED = re.compile(r"\A\s*(?:[-*•·]|\(?\d{1,2}[.)]|[a-z][.)])\s+")
_LEAST_WORDS = 3
_REPLY = re.compile(r"(?:(?:re|fwd?|aw|wg)\s*:\s*)+", re.IGNORECASE)
_FACTS = re.compile(
    r"[€£$]\s?\d|\b\d{1,2}[:.]\d\d\b|\b\d{1,2} (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|\d{4}-\d\d"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be summed up."""

    thing: str
    """In the owner's words; of a text, those that name it."""
    kind: str
    """`period`; a kind of passage; `thread`; empty: any text."""


def asked_for_summary(request: str) -> Wanted | None:
    """Parse a request for a summary of a text, a day or a week; None for anything else."""
    found = _SUMS_UP.match(request)
    if found is None:
        return None
    thing = found["thing"].strip(" .")
    if _PERIOD.fullmatch(thing):
        return Wanted(thing, "period")
    words = re.findall(r"[\w-]+", thing.casefold())
    kind = next((_KINDS[w] for word in words if (w := word.removesuffix("s")) in _KINDS), "")
    is_thread = not {"thread", "conversation"}.isdisjoint(words)
    named = _LEADS.sub("", thing) if kind else thing
    is_own = kind or re.match(r"(?:the|my|our) ", thing, re.IGNORECASE)
    return Wanted(named.strip(), "thread" if is_thread else kind) if is_own and named.strip() else None


def summary_of(
    wanted: Wanted, passages: PassageStore, call: CallContext, is_instruction: Callable[[str], bool]
) -> HomeAnswer | None:
    """Sum up what is wanted; None if nothing of the kind is found.

    Args:
        is_instruction: Whether a text reads like an instruction; sentences of strangers that do are left out.
    """
    if wanted.kind == "period":
        return _of_period(wanted.thing, passages, call)
    kinds = ("mail" if wanted.kind == "thread" else wanted.kind,) if wanted.kind else ("mail", "note", "document")
    found = ranked(wanted.thing, passages.find(wanted.thing, kinds))
    first = next((one.passage for one in found if covered(wanted.thing, one.passage.read) > LEAST_NAMED), None)
    if first is None:
        return None

    def told(passage: Passage, n: int) -> list[str]:
        text = "\n".join(one.text for one in passages.of_record(passage.record))
        return [
            s for s in chosen_sentences(text, n, passages.encoder) if passage.kind == "note" or not is_instruction(s)
        ]

    if wanted.kind == "thread":
        return _of_thread(_thread_of(first, passages), told)
    value = " ".join(told(first, N_TOLD))
    value = _ungreeted(value) if first.kind == "mail" else value
    return HomeAnswer("text", value.rstrip("."), "", (witness_of(first, ""),)) if value else None


_GREETING = re.compile(
    r"\s*(?:(?i:hi|hey|hello|hiya|dear|hallo|good (?:morning|afternoon|evening))"
    r"(?: (?!that\b|this\b|it\b|I\b)[\w'’.&-]+){0,4}"
    r"|(?i:morning|evening)(?: all| both| everyone| everybody)?)\s*(?:[,!]\s*|\n+\s*)"
)


def decision_of(
    by: str, matter: str, passages: PassageStore, call: CallContext, is_instruction: Callable[[str], bool]
) -> HomeAnswer | None:
    """Tell what was decided: where there are minutes of those who are named, their sentences that are nearest the
    matter, else a summary of what speaks of it; None if nothing does.

    Args:
        by: Who decided it, as it was said.
        matter: What about, or where; may be empty.
    """
    asked = f"{by} {matter}"
    if (decided := _decided_lines(asked, matter, passages, is_instruction)) is not None:
        return decided
    if (decided := _decided_item(asked, matter, passages, is_instruction)) is not None:
        return decided
    people = [word for word in re.findall(r"\b[A-Z][\w'’-]+", by) if word != "I"]
    minutes = [
        one.passage
        for one in ranked(asked, passages.find(asked, ("mail", "note", "document")))
        if _MINUTES.search(f"{one.passage.title} {one.passage.text}")
        and all(name.casefold() in f"{one.passage.person} {one.passage.read}".casefold() for name in people)
    ]
    if not (people and matter and minutes) or passages.encoder is None:
        if _MATTER_OF_MEETING.fullmatch(matter):
            return None  # a summary of the meeting does not say what was decided of that
        return summary_of(Wanted(matter, ""), passages, call, is_instruction)
    said = [
        (one, sentence)
        for one in minutes
        for sentence in sentences_of(one.text)
        if len(sentence.split()) >= _LEAST_WORDS and (one.kind == "note" or not is_instruction(sentence))
    ]
    if not said:
        return None
    vectors = passages.encoder.encode([matter, *(sentence for _, sentence in said)])
    passage, sentence = said[int(np.argmax(vectors[1:] @ vectors[0]))]
    return HomeAnswer("text", sentence.strip("-*•· ").rstrip("."), "", (witness_of(passage, sentence),))


def _ungreeted(said: str) -> str:
    """Return what a mail says without its greeting: "Hey you lot, somebody has to write it down"."""
    rest = said[found.end() :] if (found := _GREETING.match(said)) is not None else said
    return rest[:1].upper() + rest[1:] if rest else said


def _decided_lines(
    asked: str, matter: str, passages: PassageStore, is_instruction: Callable[[str], bool]
) -> HomeAnswer | None:
    """Tell the lines of a record that begin with "decided:" or the like: those that say something of the matter, else
    all of the record that is called by it; None where none has such lines."""
    wanted = keys_of(matter)
    found = [one.passage for one in ranked(asked, passages.find(asked, ("mail", "note", "document")))]
    for passage in sorted(found, key=lambda one: one.kind == "mail"):  # a mail may be a stranger's
        lines = [
            found
            for found in _DECIDED_LINE.finditer(passage.text)
            if passage.kind == "note" or not is_instruction(found.group())
        ]
        about = [found for found in lines if wanted & (keys_of(found["what"]) - keys_of(passage.title))]
        if about or (lines and wanted <= keys_of(passage.title)):
            told = [found["what"].strip().rstrip(".;") for found in about or lines]
            witnesses = tuple(witness_of(passage, " ".join(found.group().split())) for found in about or lines)
            return HomeAnswer("list" if len(told) > 1 else "text", "; ".join(told), "", witnesses)
    return None


def _decided_item(
    asked: str, matter: str, passages: PassageStore, is_instruction: Callable[[str], bool]
) -> HomeAnswer | None:
    """Tell the line of minutes that speaks of the matter ("the mower" of "what was decided about the mower"); with
    doubt of a text that is not called minutes. None where no line says half of the matter, beside what names the
    meeting itself."""
    about = _MATTER_OF_MEETING.fullmatch(matter)
    topic = (about["about"] or about["first"]) if about is not None else matter
    rows: list[tuple[int, float, bool, bool, Passage, str]] = []
    for found in ranked(asked, passages.find(asked, ("mail", "note", "document"))):
        passage = found.passage
        wanted = keys_of(topic) - keys_of(f"{passage.title} {passage.person}") - _OF_TIME
        is_called = _MINUTES.search(passage.title) is not None
        for line in unwrapped(passage.text).split("\n"):
            n = len(wanted & keys_of(line))
            is_decided = _MINUTES.search(line) is not None
            is_told = n and 2 * n >= len(wanted) and len(line.split()) > _LEAST_WORDS and (is_called or is_decided)
            if is_told and (passage.kind == "note" or not is_instruction(line)):
                rows.append((n, covered(asked, passage.read), is_called, is_decided, passage, line))
    if not rows:
        return None
    *_, is_called, _, passage, line = max(rows, key=lambda row: row[:4])
    said = sentences_of(_NUMBERED.sub("", line))
    first = next((k for k, one in enumerate(said) if len(one.split()) >= _LEAST_WORDS), 0)  # behind "Mower."
    told = said[first : first + N_TOLD]
    quote = " ".join(told)
    return HomeAnswer("text", quote.rstrip("."), "", (witness_of(passage, quote),), 1.0 if is_called else DOUBTED)


def chosen_sentences(text: str, n: int, encoder: Encoder | None) -> list[str]:
    """Choose the sentences that stand for most of a text, in its order."""
    sentences = [one for one in dict.fromkeys(sentences_of(text)) if len(one.split()) >= _LEAST_WORDS][
        :N_MOST_SENTENCES
    ]
    if len(sentences) <= n:
        return sentences
    worth = np.array([LEAD / (k + 1) + FACT * bool(_FACTS.search(one)) for k, one in enumerate(sentences)])
    likeness = np.eye(len(sentences))
    if encoder is not None:
        vectors = encoder.encode(sentences)
        likeness = np.asarray(vectors @ vectors.T, np.float64)
        worth = worth + likeness.mean(axis=1)
    told: list[int] = []
    while len(told) < n:
        repeats = likeness[:, told].max(axis=1) if told else np.zeros(len(sentences))
        score = worth - REPEATED * np.maximum(repeats, 0)
        score[told] = -np.inf
        told.append(int(np.argmax(score)))
    return [sentences[k] for k in sorted(told)]


def _thread_of(first: Passage, passages: PassageStore) -> list[Passage]:
    """Return one passage of each mail of a thread, the oldest first."""
    subject = _REPLY.sub("", first.title).casefold()
    mails: dict[str, Passage] = {}
    for one in passages.all(("mail",), subject) or [first]:
        if _REPLY.sub("", one.title).casefold() == subject:
            mails.setdefault(one.record, one)
    return sorted(mails.values() or [first], key=lambda one: one.at.timestamp() if one.at else 0.0)


def _of_thread(mails: Sequence[Passage], told: Callable[[Passage, int], list[str]]) -> HomeAnswer | None:
    lines = []
    for one in mails[-N_OF_A_THREAD:]:
        by = "you" if one.record.startswith(f"{SENT}/") else one.person
        day = f", {one.at:%A} {one.at.day} {one.at:%B}" if one.at is not None else ""
        lines += [f"{by}{day}: {' '.join(sentences)}" for sentences in [told(one, 1)] if sentences]
    witnesses = tuple(witness_of(one, "") for one in reversed(mails))
    value = " ".join(lines).rstrip(".")
    return HomeAnswer("text", value, "", witnesses[:N_OF_A_THREAD]) if value else None


# ── Days and weeks ────────────────────────────────────────────────────────────────────────────────────────


def _of_period(words: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    period = _period(words, call)
    if period is None:
        return None
    events = events_in(call, period.start, period.end)
    reminders = [one for one in passages.all(("reminder",)) if period.holds(one.at) and not one.text.endswith("(done)")]
    mails = {one.record: one for one in passages.all(("mail",)) if period.holds(one.at) and not _is_sent(one)}
    born = birthdays_in(period, call)
    # Somebody who wrote weeks ago still waits this week; of another week only its own mails are meant.
    waiting = [one for one in waiting_for(call, passages) if period.holds(call.now) or period.holds(one.witness.at)]
    said = [
        _listed("event", [f"{one.title} ({hours_of(one)})" for one in events]),
        _listed("reminder", [f"{one.title} ({one.at:%A} {one.at:%H:%M})" for one in reminders if one.at is not None]),
        _listed("birthday", [one.quote.partition(":")[0] for one in born]),
        _listed("mail", sorted({one.person for one in mails.values()})).replace(": ", " from ", 1),
        _waiting_said(waiting),
    ]
    told = [f"\n· {one}" for one in said if one]
    witnesses = (
        *(witness_of_event(one, call) for one in events),
        *(witness_of(one, one.text) for one in reminders),
        *born,
        *(one.witness for one in waiting),
        *(witness_of(one, one.title) for one in mails.values()),
    )
    return HomeAnswer(
        "list", f"{_period_said(period)}:{''.join(told) or ' nothing stands in your things'}", "", witnesses
    )


def _waiting_said(waiting: Sequence[AskingMail]) -> str:
    told = _listed("mail", [f"{one.sender}: “{_short(one.witness.quote)}”" for one in waiting], N_ASKING)
    verb = "waits" if len(waiting) == 1 else "wait"
    return told.replace(": ", f" {verb} for your answer: ", 1)


def _period_said(period: Period) -> str:
    last = period.end - dt.timedelta(minutes=1)
    return said_date(period.start) + (f" to {said_date(last)}" if last.date() != period.start.date() else "")


def _period(words: str, call: CallContext) -> Period | None:
    today = call.now.replace(hour=0, minute=0, second=0, microsecond=0)
    if _DAY.match(words):
        return Period(today, today + dt.timedelta(days=1))
    if _WEEK.match(words):
        return Period(today, today + dt.timedelta(days=7))
    named = times_named(words, call.now, str(call.settings.get("owner", {}).get("country") or ""))
    return named[0] if named else None


def _listed(noun: str, things: Sequence[str], n_most: int = N_LISTED) -> str:
    if not things:
        return ""
    more = f" and {len(things) - n_most} more" if len(things) > n_most else ""
    return f"{len(things)} {noun}{'s' if len(things) > 1 else ''}: {'; '.join(things[:n_most])}{more}"


def _short(text: str) -> str:
    return text if len(text) <= N_MOST_QUOTED else f"{text[: N_MOST_QUOTED - 1].rstrip()}…"


def _is_sent(mail: Passage) -> bool:
    return mail.record.startswith(f"{SENT}/")
