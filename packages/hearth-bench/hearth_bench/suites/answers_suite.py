"""Measure whether answers from memory are right, and whether memory refuses when it does not know.

Answers are compared as LoCoMo does (Maharana et al. 2024): F1 over stemmed tokens without articles; for a question that
several events answer, the mean over the parts of the right answer. Times are also compared as times: right when the
overlap of both periods is at least half of their union. A question about what was never said is right when it is
refused: LoCoMo's adversarial ones (they name the wrong person), and questions of another conversation with this one's
names put in.

Covered: the extractive answers, with floors (the best event as a whole, as a search of files gives; its first sentence;
the best event by words alone; the whole conversation), with and without refusing.
Not covered: answers worded differently with the same meaning; questions of another conversation that this one happens
to answer count against it; "the week before 9 June" is read as the seven days before, a calendar week counts as wrong.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hearth.memory.answers.question_answering import MemoryAnswer, WordReader, answer_from
from hearth.memory.event_memory import EventMemory, Found
from hearth.memory.facts import MONTHS
from hearth.memory.search.search_words import Period, Stemmer, telling_words
from hearth.storage.database import Store

ADVERSARIAL, FOREIGN = 5, 0
"""Categories of questions that memory cannot answer."""
_LEFT_OUT = frozenset({"a", "an", "the", "and"})
_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?[ `]*)?({_MONTH})(?: (\d{{1,2}})(?:st|nd|rd|th)?)?,? (\d{{4}})", re.I
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")


@dataclass(frozen=True, slots=True)
class Answered:
    """One question with memory's answer."""

    category: int
    right: str
    """Right answer; empty: there is none."""
    said: MemoryAnswer
    forced: MemoryAnswer
    """Memory's answer if it may not refuse."""
    best: str
    """Words of the best event."""
    best_by_words: str
    everything: str
    """Text of the whole conversation."""


@dataclass(frozen=True, slots=True)
class Put:
    """A question that is put to a memory."""

    text: str
    now: dt.datetime
    category: int
    right: str
    best_by_words: str
    """What is found by its words alone, as a floor."""
    everything: str


def ask(memory: EventMemory, put: Put, reader: WordReader | None = None) -> Answered:
    """Ask one question."""
    text, now = put.text, put.now
    found: Sequence[Found] = memory.look_closely(text, limit=10, now=now)
    said = answer_from(memory, text, found, now, reader=reader)
    forced = said if said.kind != "unknown" else answer_from(memory, text, found, now, is_forced=True, reader=reader)
    best = found[0].text if found else ""
    return Answered(put.category, put.right, said, forced, best, put.best_by_words, put.everything)


class TokenF1:
    """LoCoMo's F1, with the full-text index's stems."""

    def __init__(self) -> None:
        self._stemmer = Stemmer()

    def __call__(self, said: str, right: str, is_listed: bool = False) -> float:
        """Return the F1, in [0, 1].

        Args:
            is_listed: `right` lists several things; return the mean over them of the best part of `said`.
        """
        if is_listed:
            parts, given = right.split(","), said.split(",")
            return sum(max(self._one(one, part) for one in given) for part in parts) / len(parts)
        return self._one(said, right)

    def _one(self, said: str, right: str) -> float:
        given, wanted = self._stemmer.stems([_plain(said), _plain(right)])
        n_shared = sum((given & wanted).values())
        return 2 * n_shared / (_size(given) + _size(wanted)) if n_shared else 0.0


def _size(stems: Counter[str]) -> int:
    return sum(stems.values())


def _plain(text: str) -> str:
    return " ".join(word for word in re.sub(r"[^\w\s]", "", text.lower()).split() if word not in _LEFT_OUT)


def answer_figures(asked: Sequence[Answered]) -> dict[str, float | int | None]:
    """Compute flat figures over all questions asked."""
    f1 = TokenF1()
    answerable = [one for one in asked if one.right]
    ways: dict[str, Callable[[Answered], str]] = {
        "": lambda one: "" if one.said.kind == "unknown" else one.said.text,
        "forced_": lambda one: one.forced.text,
        "floor_file_search_": lambda one: one.best_by_words,
        "floor_best_event_": lambda one: one.best,
        "floor_first_sentence_": lambda one: (_SENTENCE.findall(one.best) or [""])[0],
        "floor_everything_": lambda one: one.everything,
    }
    result: dict[str, float | int | None] = {"n_answerable": len(answerable)}
    for name, way in ways.items():
        scores = [f1(way(one), _wanted(one), one.category == 1) for one in answerable]
        result[f"{name}answer_f1"] = _mean(scores)
        for category, said in ((1, "multi_hop"), (2, "temporal"), (3, "open_domain"), (4, "single_hop")):
            picked = [score for score, one in zip(scores, answerable, strict=True) if one.category == category]
            result[f"{name}answer_f1_{said}"] = _mean(picked)
    dated = [(one, when) for one in answerable if one.category == 2 and (when := read_date(one.right)) is not None]
    result["n_dated"] = len(dated)
    result["answer_date_right"] = _mean([float(is_same_time(one.said.period, when)) for one, when in dated])
    result["forced_answer_date_right"] = _mean([float(is_same_time(one.forced.period, when)) for one, when in dated])
    for category, name in ((ADVERSARIAL, "adversarial"), (FOREIGN, "foreign")):
        none = [one for one in asked if one.category == category]
        result[f"n_{name}"] = len(none)
        result[f"{name}_refused"] = _mean([float(one.said.kind == "unknown") for one in none])
        result[f"{name}_auroc"] = auroc([one.said.chance for one in answerable], [one.said.chance for one in none])
    result["answerable_refused"] = _mean([float(one.said.kind == "unknown") for one in answerable])
    result["abstention_accuracy"] = _abstention_accuracy(
        answerable, [one for one in asked if one.category == ADVERSARIAL]
    )
    return result


def _abstention_accuracy(answerable: Sequence[Answered], adversarial: Sequence[Answered]) -> float:
    """Return the share of questions that are answered where they can be, and refused where they cannot."""
    rightly = sum(one.said.kind != "unknown" for one in answerable) + sum(
        one.said.kind == "unknown" for one in adversarial
    )
    return round(rightly / max(1, len(answerable) + len(adversarial)), 4)


def _wanted(one: Answered) -> str:
    return one.right.split(";")[0] if one.category == 3 else one.right  # as LoCoMo does: the rest is the reason


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def auroc(above: Sequence[float], below: Sequence[float]) -> float | None:
    """Return the probability that one of `above` exceeds one of `below`; ties count half. None if one is empty."""
    if not above or not below:
        return None
    won = sum((a > b) + (a == b) / 2 for a in above for b in below)
    return round(won / (len(above) * len(below)), 4)


def is_same_time(said: Period | None, right: Period) -> bool:
    """Return whether the overlap of both periods is at least half of their union."""
    if said is None:
        return False
    start, end = max(said.start, right.start), min(said.end, right.end)
    whole = max(said.end, right.end) - min(said.start, right.start)
    return end > start and (end - start) / whole >= 0.5


def read_date(text: str) -> Period | None:
    """Read the time of a right answer: day, month, year or "the week before 9 June 2023"; None if it names none."""
    if found := _DATE.search(text):
        day, month, year = found[1] or found[3], MONTHS.index(found[2].lower()) + 1, int(found[4])
        start = dt.datetime(year, month, int(day or 1), tzinfo=dt.UTC)
        if day is None:
            return Period(start, (start + dt.timedelta(days=32)).replace(day=1))
        if before := re.search(r"\b(week|weekend|\w+day) (?:before|of|prior to)\s*$", text[: found.start()].lower()):
            return _before(before[1], start)
        return Period(start, start + dt.timedelta(days=1))
    if found := _YEAR.fullmatch(text.strip()):
        return Period(
            dt.datetime(int(found[1]), 1, 1, tzinfo=dt.UTC), dt.datetime(int(found[1]) + 1, 1, 1, tzinfo=dt.UTC)
        )
    return None


def _before(word: str, day: dt.datetime) -> Period | None:
    if word == "week":
        return Period(day - dt.timedelta(days=7), day)
    wanted = 5 if word == "weekend" else _DAYS.index(word) if word in _DAYS else None
    if wanted is None:
        return None
    start = day - dt.timedelta(days=(day.weekday() - wanted - 1) % 7 + 1)
    return Period(start, start + dt.timedelta(days=2 if word == "weekend" else 1))


def ranked_by_words(store: Store, question: str, *, limit: int) -> list[str]:
    """Return ids of events as FTS5 ranks them: BM25 of any telling word, ties in order of time."""
    words = dict.fromkeys(telling_words(question))
    rows = store.query(
        "SELECT id FROM event_words JOIN event ON event.number = event_words.rowid WHERE event_words MATCH ?"
        " ORDER BY bm25(event_words), event.number LIMIT ?",
        (" OR ".join(f'"{word}"' for word in words), limit),
    )
    return [row[0] for row in rows]


def with_names(question: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    """Replace one conversation's names in a question by another's."""
    swapped = dict(zip(theirs, ours, strict=False))
    pattern = "|".join(re.escape(name) for name in swapped)
    return re.sub(rf"\b(?:{pattern})\b", lambda m: swapped[m[0]], question) if pattern else question


def answer_lines(document: Mapping[str, object]) -> list[str]:
    """Format the figures for a reader."""
    ways = (
        ("floor: whole conversation", "floor_everything_"),
        ("floor: file search, whole turn", "floor_file_search_"),
        ("floor: best event as a whole", "floor_best_event_"),
        ("floor: its first sentence", "floor_first_sentence_"),
        ("answers, none refused", "forced_"),
        ("answers", ""),
    )
    names = ("", "_multi_hop", "_temporal", "_open_domain", "_single_hop")
    lines = [f"{'F1 of answers':<32}" + "".join(f"{n.replace('_', ' ').strip() or 'all':>12}" for n in names)]
    for label, prefix in ways:
        values = [document[f"{prefix}answer_f1{name}"] for name in names]
        lines.append(f"{label:<32}" + "".join(f"{'–' if v is None else str(v):>12}" for v in values))
    return [
        *lines,
        f"times right: {document['answer_date_right']} of {document['n_dated']} (none refused: "
        f"{document['forced_answer_date_right']})",
        f"refused: adversarial {document['adversarial_refused']}, "
        f"of another conversation {document['foreign_refused']}, "
        f"answerable {document['answerable_refused']}; AUROC {document['adversarial_auroc']} and "
        f"{document['foreign_auroc']}",
    ]
