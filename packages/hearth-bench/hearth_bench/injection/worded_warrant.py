"""A warrant without a plan: what a request's own words license, for planners that show no plan.

Hearth's own planner always has a plan, which is its warrant (`hearth.guard.policy.warrant`). AgentDojo's tasks come
without one, so their calls are judged by the words (`hearth_bench.injection.intent_grants`) and by more rules:

- `name`: the words of a new title must come from the request or from names of records the owner means.
- `venue`: a place where something new is to be must be in the request's words, or in a record that it means.
- `query`: a query to the open web may use only the request's own words.
- `self`: the owner's own address is a recipient only where the request says so or a whole list is taken over.
- what is written or sent may hold no link, account, figure or time that the request does not.

Not covered: other languages than English.
"""

from __future__ import annotations

from collections.abc import Mapping

from hearth.guard.policy.request_words import (
    Owner,
    Sensitive,
    all_numbers,
    content_words,
    folded,
    has_invisible,
    identity,
    sensitive_values,
    stem,
    word_set,
)
from hearth.guard.policy.warrant import BACK, Case, Warrant, pointers
from hearth.types import Plain, Plan, Request, Ruling, ToolSpec
from hearth_bench.injection.intent_grants import Licence, WordedTools, is_thing
from hearth_bench.injection.worded_evidence import WordedEvidence, contradicts, figures

_REPETITIONS: Mapping[str, frozenset[str]] = {
    "dai": word_set("daily day everyday morning mornings evening evenings night"),
    "week": word_set(
        "weekly week weeks fortnightly biweekly fortnight monday tuesday wednesday thursday friday saturday sunday "
        "mondays tuesdays wednesdays thursdays fridays saturdays sundays"
    ),
    "month": word_set("monthly month months quarterly"),
    "year": word_set("yearly year annual annually birthday anniversary"),
    "annual": word_set("yearly year annual annually birthday anniversary"),
    "true": word_set("recurring repeat repeating repeated every each regular regularly daily weekly monthly yearly"),
}
_FILLERS = frozenset(map(stem, word_set("new update follow regarding summary hello hi thanks thank information info")))


class WordedWarrant(Warrant):
    """Limits that the words of one request set on calls."""

    def __init__(self, request: Request, tools: WordedTools, owner: Owner | None = None) -> None:
        self.licence: Licence = tools.licence(request.text)
        self._worded = WordedEvidence(request, owner or Owner(), [wish.text for wish in self.licence.wishes])
        super().__init__(self._worded, tools.known, Plan(()))
        self.limits = self.licence.limits

    def _judge_values(self, spec: ToolSpec, arguments: Mapping[str, Plain]) -> Ruling:
        for one in sensitive_values(spec, arguments):
            if reason := self._fault(Case(spec, one, arguments)):
                return Ruling("ask", reason, f"warrant.{_rule_of(one, reason)}")
        return Ruling("allow", f"the request asks for {spec.name} with these values", "warrant")

    def _fault(self, case: Case) -> str:
        if not case.text.strip():
            return ""
        match case.one.role:
            case "name":
                return self._name_fault(case)
            case "items":
                return self._items_fault(case)
            case "venue":
                is_told = self._worded.is_told_of(folded(case.text).strip())
                return self._content_fault(case) if is_told else self._items_fault(case)
            case "when":
                is_end = "end" in case.one.parameter or "until" in case.one.parameter
                is_other = self._evidence.times.contradict(case.text, is_end=is_end)
                return f"{case.shown} is not when the request says" if is_other else ""
            case "repeat":
                return self._repeat_fault(case)
            case "query":
                is_said = self._evidence.says(case.text)
                return "" if is_said else f"{case.shown} asks the web for words that are not the request's"
            case "content":
                return self._content_fault(case)
            case _:
                return super()._fault(case)

    def _name_fault(self, case: Case) -> str:
        if has_invisible(case.text):
            return f"{case.shown} holds invisible characters"
        unsaid = content_words(case.text) - self._evidence.stems - _FILLERS
        strange = {word for word in unsaid if not word.isdigit() and not is_thing(word)}
        if self._is_back:
            strange -= BACK
        if strange and (strange := strange - self._worded.labels()):
            return f"{case.shown} has words that are not the request's: {', '.join(sorted(strange)[:3])}"
        return self._content_fault(case)

    def _items_fault(self, case: Case) -> str:
        """Check that a list's items are the request's words, or in a record of the owner's that it means."""
        strange = content_words(case.text) - self._evidence.stems
        if strange and not self._worded.is_in_own_prose(folded(case.text)):
            return f"{case.shown} has words that are not the request's: {', '.join(sorted(strange)[:3])}"
        return self._content_fault(case)

    def _repeat_fault(self, case: Case) -> str:
        low = folded(case.text)
        if low in ("none", "false", "never", "once", "0"):
            return ""
        wanted = next((words for name, words in _REPETITIONS.items() if name in low), _REPETITIONS["true"])
        return "" if wanted & self._evidence.words else f"{case.shown} is not what the request says"

    def _content_fault(self, case: Case) -> str:
        evidence, is_outgoing = self._worded, case.spec.name in self._tools.outgoing
        if not is_outgoing and evidence.is_whole_prose(case.text):
            return ""  # "save what she wrote": the whole text, and nothing leaves
        for found in pointers(case.text):
            low = identity(found)
            if evidence.names(found) or self._is_named_contact(low) or self._is_from_meant_record(low):
                continue
            if is_outgoing or not evidence.is_in_own_prose(low):
                return f"{case.shown} holds {found[:60]!r}, which is not in the request"
        unsaid = [figure for figure in figures(case.text) if figure not in evidence.figures]
        if unsaid:
            known = evidence.numbers_of(is_outgoing=is_outgoing)
            if unsaid := [figure for figure in unsaid if figure not in known]:
                return f"{case.shown} holds the figure {unsaid[0]}, which is not in the request"
        own = all_numbers(case.text)
        if own and evidence.figures and not own & (evidence.figures | evidence.numbers_of(is_outgoing=is_outgoing)):
            return f"{case.shown} has other numbers than the request"
        if contradicts(evidence.times, case.text):
            return f"{case.shown} names another time than the request"
        if is_outgoing and evidence.copied_from_elsewhere(case.text):
            return f"{case.shown} holds a text from a record that the request does not mean"
        return ""


def _rule_of(one: Sensitive, reason: str) -> str:
    if reason.startswith("your own address"):
        return "self"
    return "target" if one.role == "place" else "link" if one.role == "content" else one.role
