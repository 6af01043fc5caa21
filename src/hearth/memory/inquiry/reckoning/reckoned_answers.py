"""Tries the operations over the owner's records in turn; the first that knows all it needs answers."""

from __future__ import annotations

from dataclasses import replace

from hearth.memory.inquiry.reckoning.amount_steps import amounts_answer
from hearth.memory.inquiry.reckoning.dated_things import DatedThings
from hearth.memory.inquiry.reckoning.meant_moments import Moments, periods_meant
from hearth.memory.inquiry.reckoning.record_lists import lists_answer
from hearth.memory.inquiry.reckoning.repeated_times import length_answer, next_answer, times_answer
from hearth.memory.inquiry.reckoning.time_spans import age_answer, end_answer, span_answer
from hearth.memory.passages.passage_store import PassageStore
from hearth.protocols import CallContext, HomeAnswer

LONGEST_QUESTION = 300
"""Most characters of a question that is reckoned."""
_OF_TIMES = (age_answer, span_answer, end_answer, lists_answer, next_answer, times_answer, length_answer)


def reckoned_answer(question: str, passages: PassageStore, call: CallContext) -> HomeAnswer | None:
    """Reckon the answer to a question; None where no operation is asked for, or not all that it needs is known."""
    if len(question) > LONGEST_QUESTION:
        return None
    try:
        moments = Moments(DatedThings(passages, call, periods_meant(question, call.now)))
        told = next(
            (told for operation in (*_OF_TIMES, amounts_answer) if (told := operation(question, moments)) is not None),
            None,
        )
    except (OverflowError, ValueError):  # a time beyond the years 1 to 9999
        return None
    return replace(told, is_reckoned=True) if told is not None else None
