"""Least privilege for one request: a call may do what the owner's words, or what they point at, license."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.formats.plans import literals
from hearth.guard.labels import Value, acted_on, is_made_of
from hearth.guard.policy.request_words import (
    ADDRESS_TYPES,
    AMOUNT_WORDS,
    DATE,
    Atom,
    Owner,
    Record,
    Result,
    SaidTimes,
    Sensitive,
    addresses,
    all_numbers,
    amounts,
    content_words,
    days_said,
    element_type,
    flat,
    folded,
    has_invisible,
    identity,
    is_in,
    is_structured,
    sensitive_values,
    stem,
    word_set,
    words,
)
from hearth.language.reading import Utterance
from hearth.types import Argument, Parameter, Plain, Plan, Ref, Request, Ruling, Step, ToolSpec

# ── Evidence ──────────────────────────────────────────────────────────────────────────────────────────────
# Collects what tools returned during one request, as evidence for where a value may come from.
#
# A record counts as the one the owner meant when the request names it (a title, a name, an address, an amount), when
# it is the only result of a call whose arguments are the request's own words, when a superlative in the request picks
# it from a list ("the largest file"), or when the request says all of them ("everyone in the channel"). When two
# records fit equally well, neither counts.
#
# What this request's own calls made or changed is evidence of nothing: a plan could write down what it then "finds".
#
# Covered: every record that `guard.policy.request_words` finds in the results. Not covered: prose (a body, a page, a
# file's text): no value in it is evidence for anything.

_UNIVERSAL = word_set("each every all everyone everybody both them")
_LARGEST = word_set("largest biggest longest highest greatest most maximum max heaviest larger bigger higher")
_SMALLEST = word_set("smallest shortest lowest least fewest minimum min lightest smaller lower")
_LATEST = word_set("latest newest recent last")
_EARLIEST = word_set("earliest oldest first next")
_BEST = word_set("best top highest-rated")
_WORST = word_set("worst lowest-rated")
_DEAREST = word_set("priciest expensive")
_CHEAPEST = word_set("cheapest")
_SUPERLATIVES = _LARGEST | _SMALLEST | _LATEST | _EARLIEST | _BEST | _WORST | _DEAREST | _CHEAPEST
_SIZE_FIELDS = word_set("size size_bytes length amount count n duration number")
_PRICE_FIELDS = word_set("price price_min price_max price_per_day price_per_person amount cost fee")
_PAID_FIELDS = word_set("amount total")
_RATING_FIELDS = word_set("rating score stars")
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_THAN = re.compile(r"\b\w+er\s+than\b")
"""A bound ("rated higher than 4") chooses nothing."""
_PAGES = frozenset(map(stem, word_set("link url website webpage page site article blog homepage")))
_GLUED = re.compile(r"(?<=[a-z0-9])\.(?=[A-Z][a-z]+ )")
"""A full stop with no space after it."""
_EACH_OF_OURS = re.compile(
    r"\b(?:each|every|all)\s+(?:\w+\s+){0,2}?(?:user|member|person|people|colleague|channel)s?\b|\bevery(?:one|body)\b"
)
_ONE_OF_OURS = re.compile(
    r"\b(?:a|an|the|which|what|whichever)\s+(?:\w+\s+){0,2}?(?:user|member|person|colleague|channel)\s+"
    r"(?:with|where|who|whose|that|which|having|in)\b|\b(?:which|what)\s+(?:user|member|person|channel)\b"
)
MAX_DEPTH = 3
"""Limit on following a call's arguments back through the calls that returned them."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One sentence of the request; each sentence may describe a record of its own."""

    text: str
    stems: frozenset[str]
    amounts: frozenset[float]
    days: frozenset[str]

    @classmethod
    def of(cls, text: str, today: dt.date) -> _Part:
        return cls(folded(text), content_words(text), frozenset(amounts(text)), days_said(text, today))

    def score(self, record: Record) -> float:
        """Score how much this sentence speaks of the record: shared words; whole names, addresses, amounts count
        more, words of its place less."""
        score = float(len(record.labels & self.stems)) + 0.5 * len(record.places & self.stems)
        if any(len(title) > 2 and is_in(title, self.text) for title in record.titles):
            score += 2
        if any(len(atom.value) > 4 and is_in(atom.value, self.text) for atom in record.atoms):
            score += 3
        if any(value in self.amounts and name in _PAID_FIELDS for name, value in record.measures.items()):
            score += 1.5
        if self.days and any(date[:10] in self.days for date in record.dates.values()):
            score += 1
        return score


_LONG_NUMBER = re.compile(r"(?<![\d+])\+?\d[\d ()./-]{5,24}\d(?!\d)")
"""A telephone number, an account or a reference, with the spaces and marks that people write into it."""


def _digits(text: str) -> str:
    """Return a long number without spaces and marks; empty for any other text."""
    return re.sub(r"[ ()./-]", "", text) if _LONG_NUMBER.fullmatch(text) else ""


class Evidence:
    """Everything returned so far, compared with the words of one request."""

    def __init__(self, request: Request, owner: Owner) -> None:
        self.owner = owner
        self._wished = folded(request.text)
        self.said = said = _GLUED.sub(". ", request.text)
        self.text = folded(said)
        self._addresses = addresses(said)
        self._numbers = frozenset(filter(None, map(_digits, _LONG_NUMBER.findall(self.text))))
        self.stems = content_words(said)
        self._parts = tuple(_Part.of(part, request.now.date()) for part in _SENTENCE.split(said) if part.strip())
        self.times = SaidTimes(said, request.now.date())
        self.figures = all_numbers(said)
        self.words = frozenset(words(_THAN.sub(" ", self.text)))
        self.amounts = frozenset(amounts(said))
        self.results: list[Result] = []
        """What was there before: results of calls that read."""
        self.made: list[Result] = []
        """What this request's own calls made or changed, also where it was read again: evidence of nothing."""
        self._best: dict[str, frozenset[tuple[str, str]]] = {}
        self._meant: dict[tuple[int, str, str], bool] = {}
        """Cache of `is_meant`, cleared when a result comes in."""

    def add(self, spec: ToolSpec, arguments: Mapping[str, Plain], result: Value, *, is_made: bool) -> None:
        """Add the result of a call; `is_made` if it is, or tells of, something that this request made or changed."""
        (self.made if is_made else self.results).append(Result(spec, arguments, result, self.owner))
        self._best.clear()
        self._meant.clear()

    # ── What the request says ─────────────────────────────────────────────────────────────────────────────

    def names(self, value: str) -> bool:
        """Return whether the request holds `value` itself."""
        low = folded(value).strip()
        if has_invisible(value) or not low:
            return False
        if low.isdigit() and len(low) < 5:
            return re.search(rf"(?:\bid|\bnumber|\bno\.?|#)\s*'?\"?{low}\b", self.text) is not None
        return is_in(low, self.text) or identity(value) in self._addresses or _digits(low) in self._numbers

    def says(self, text: str) -> bool:
        """Return whether every content word of `text` is in the request."""
        return not has_invisible(text) and content_words(text) <= self.stems

    # ── Which records are meant ───────────────────────────────────────────────────────────────────────────

    def holding(self, value: str, *, is_made: bool = False) -> Iterator[tuple[Result, Record, Atom]]:
        """Yield where a value stands in what was there before, or in what this request made."""
        for low in dict.fromkeys((identity(value), folded(value))):
            for result in self.made if is_made else self.results:
                for record, atom in result.holders.get(low, ()):
                    yield result, record, atom

    def is_meant(self, result: Result, record: Record) -> bool:
        """Return whether the owner means `record`."""
        key = (id(result), *record.key)
        known = self._meant.get(key)
        if known is None:
            known = self._meant[key] = self._is_meant(result, record)
        return known

    def _is_meant(self, result: Result, record: Record) -> bool:
        return (
            self._is_described(record)
            or (len(result.records) == 1 and (self._is_asked_by_name(result) or self._is_asked_for(result)))
            or self._is_extreme(result, record)
            or (bool(_UNIVERSAL & set(words(self._wished))) and self._is_asked_by_name(result))
        )

    def _is_asked_for(self, result: Result) -> bool:
        """Return whether the request speaks of a call that has no words of its own, as in "the next event"."""
        return not _said(result.arguments) and bool(content_words(result.spec.name.replace("_", " ")) & self.stems)

    def _is_asked_by_name(self, result: Result, depth: int = 0) -> bool:
        """Return whether a call's arguments are the request's own words or come from records the owner means."""
        given = _said(result.arguments)
        if not given:
            return False
        return all(self.names(a) or (content_words(a) and self.says(a)) or self._comes_from(a, depth) for a in given)

    def _comes_from(self, value: str, depth: int) -> bool:
        """Return whether a value was read before: in a record the owner means, or in a first-party field of one that a
        call in the request's own words returned."""
        return depth < MAX_DEPTH and any(
            self._is_described(record)
            or self._is_extreme(result, record, depth + 1)
            or (atom.is_trusted and self._is_asked_by_name(result, depth + 1))
            for result, record, atom in self.holding(value)
        )

    def _is_described(self, record: Record) -> bool:
        """Return whether some sentence speaks of this record more than of any other of its kind."""
        return record.key in self._described(record.kind)

    def _described(self, kind: str) -> frozenset[tuple[str, str]]:
        """Keys of the records of a kind that some sentence speaks of more than of any other record of that kind."""
        known = self._best.get(kind)
        if known is None:
            everyone = {r.key: r for result in self.results if result.kind == kind for r in result.records}
            found = set()
            for part in self._parts:
                scores = [(part.score(record), key) for key, record in everyone.items()]
                best = max(scores, default=(0.0, ("", "")))
                if best[0] > 0 and sum(score >= best[0] for score, _ in scores) == 1:
                    found.add(best[1])
            known = self._best[kind] = frozenset(found)
        return known

    def _is_extreme(self, result: Result, record: Record, depth: int = 0) -> bool:
        """Return whether a superlative in the request picks `record` of this list, asked for whole or by name."""
        said, others = self.words, result.records
        if len(others) < 2 or not said & _SUPERLATIVES:
            return False
        if _said(result.arguments) and not self._is_asked_by_name(result, depth):
            return False
        for wanted, sign, fields in (
            (_LARGEST, 1, _SIZE_FIELDS | _RATING_FIELDS | _PRICE_FIELDS),
            (_SMALLEST, -1, _SIZE_FIELDS | _RATING_FIELDS | _PRICE_FIELDS),
            (_BEST, 1, _RATING_FIELDS),
            (_WORST, -1, _RATING_FIELDS),
            (_DEAREST, 1, _PRICE_FIELDS),
            (_CHEAPEST, -1, _PRICE_FIELDS),
        ):
            if said & wanted:
                for name in record.measures.keys() & self._measured_by(wanted, fields):
                    measured = [sign * other.measures[name] for other in others if name in other.measures]
                    if measured.count(max(measured)) == 1 and sign * record.measures[name] == max(measured):
                        return True
        for wanted, is_last in ((_LATEST, True), (_EARLIEST, False)):
            if said & wanted:
                for name, date in record.dates.items():
                    dates = [other.dates[name] for other in others if name in other.dates]
                    best = max(dates) if is_last else min(dates)
                    if dates.count(best) == 1 and date == best:
                        return True
        return False

    def _measured_by(self, superlatives: frozenset[str], fields: frozenset[str]) -> frozenset[str]:
        """Keep those of `fields` named after a superlative ("the highest rating"), or all if none is named."""
        spoken = {
            name
            for said in re.finditer(r"[\w-]+", self.text)
            if said.group() in superlatives
            for name in fields
            if stem(name.partition("_")[0]) in content_words(self.text[said.end() : said.end() + 24])
        }
        return frozenset(spoken) or fields

    # ── Choices left to a search among the owner's own people and channels ────────────────────────────────

    def is_delegated(self, value: str) -> bool:
        """Return whether the request leaves the choice among the owner's own people or channels to a search that finds
        `value`: every one of them, the one with the most of something, the one where something was said."""
        low = folded(value)
        if not self._is_ours(low):
            return False
        if _EACH_OF_OURS.search(self._wished):
            return True
        if not _ONE_OF_OURS.search(self.text):
            return False
        if self.words & (_LARGEST | _SMALLEST):
            return self._is_extreme_count(low)
        return self._is_spoken_of_in(low)

    def _is_ours(self, low: str) -> bool:
        """Return whether a handle is in the owner's directory: known, or listed unchanged by a first-party tool."""
        listed = (atom for result, _, atom in self.holding(low) if not result.spec.fields)
        return low in self.owner.contacts or any(atom.kind == "Handle" and atom.is_trusted for atom in listed)

    def _is_extreme_count(self, low: str) -> bool:
        """Return whether no other handle had more (or fewer) results under the same tool, or wrote more records."""
        sign = 1 if self.words & _LARGEST else -1
        counts: dict[str, Counter[str]] = {"": Counter()}
        for result in self.results:
            given = _strings(result.arguments)
            if len(given) == 1:
                counts.setdefault(result.spec.name, Counter())[folded(given[0])] = len(result.records)
            authors = [atom.value for record in result.records for atom in record.atoms if atom.is_author]
            counts[""].update(authors)
        return any(
            low in by_name and len(by_name) > 1 and sign * by_name[low] == max(sign * n for n in by_name.values())
            for by_name in counts.values()
        )

    def _is_spoken_of_in(self, low: str) -> bool:
        """Return whether what was read under this name holds at least two of the request's words."""
        return any(
            len(content_words(str(text)) & self.stems) > 1
            for result in self.results
            if low in map(folded, _strings(result.arguments))
            for text in result.texts
        )

    def is_link_posted(self, bare: str) -> bool:
        """Return whether the request speaks of pages or links, and somebody known put this one, whole, into a message
        that the owner means. Opening it tells others nothing that was read for this request: it was there before."""
        low = folded(bare)
        if not self.stems & _PAGES or has_invisible(bare):
            return False
        return any(
            any(is_in(low, folded(text)) for text in record.prose)
            and any(atom.is_author and self.owner.knows(atom.value) for atom in record.atoms)
            and self.is_meant(result, record)
            for result in self.results
            for record in result.records
        )


def _said(arguments: Mapping[str, Plain]) -> list[str]:
    """The words in a call's arguments, without times, numbers and switches."""
    return [text for text in _strings(arguments) if text.strip() and not DATE.match(text)]


def _strings(arguments: Mapping[str, Plain]) -> list[str]:
    return [item for value in arguments.values() for item in flat(value) if isinstance(item, str)]


# ── Warrant ───────────────────────────────────────────────────────────────────────────────────────────────
# Least privilege per request: limits each call to what the request licenses, even if a stranger controls the planner.
#
# A warrant is the plan, made from the request before any data is read: its calls, how often each, and where each
# value comes from. Every call is judged against it and against what tools returned so far (`guard.policy.warrant`).
# Anything beyond it is asked.
#
#     warrant = Warrant.of(request, KnownTools(specs), owner, plan)
#     ruling = warrant.judge("send_mail", {"to": Value(["ben@example.com"], label)})
#     warrant.observe("find_contact", arguments, result)
#
# The rules, in order; each is named in the ruling:
#
# - `tool`: the tool is not known to this warrant.
# - `licence`: the plan does not call this tool, or not so often.
# - `recipient`: a draft made by this request goes to somebody that it may not go to.
# - `plan`: no step is this call with these literals and with values that its references returned. What a step takes
#   from
#   elsewhere than the plan says, and a recipient that the plan itself holds, is judged by what it is:
#   an address, account or handle must stand in the request, or in a structured first-party field of a record the owner
#   means, or belong to the one contact the request names, or be where an answer or a refund goes back to;
#   the record acted on must be one the owner means, or made by an earlier call of this request;
#   a link must stand in the request, or be one that somebody known posted in a message that it names;
#   an amount is at most what the owner named or already pays, or what was received and is given back;
#   a password must stand in the request.
#
# Covered: a planner that an attacker took over after the plan; data in any field of a result; look-alike letters,
# invisible characters. Not covered: a plan that does what nobody asked for (the policy asks about its effects); the
# wording of a text to a recipient the owner named (only links and addresses in fields where none belong); reading the
# owner's own records; a record whose title a stranger wrote so that it alone fits the request best; several deeds
# that are each harmless.

BACK = frozenset(map(stem, word_set("reply respond answer refund return reimburse")))
_BACK_PHRASES = re.compile(r"\b(?:send|pay|give|write|transfer)\b(?:\s+\w+){0,2}\s+back\b")
_SELF = re.compile(
    r"\b(?:to|for|with)\s+(?:me|myself)\b"
    r"|\b(?:e-?mail|send|forward|text|message|remind|cc|bcc|invite|include)\s+(?:it\s+to\s+)?(?:me|myself)\b"
    r"|\bmy\s+(?:own\s+)?(?:e-?mail|address|account|inbox|number|phone)\b"
)
_LINK = re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,11}:/{1,2}|hxxps?:|www\.)\S+|\b(?:[a-z0-9-]+\.)+[a-z]{2,24}(?:/\S*)?(?![\w@])",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?:[ ]?[A-Z0-9]{2,4}){3,8}\b", re.IGNORECASE)
_FILE_ENDINGS = word_set(
    "txt md pdf doc docx xls xlsx ppt pptx csv json xml html htm jpg jpeg png gif zip py ics vcf eml log"
)
_MESSAGE_FIELDS = word_set("text body content notes description message answer summary")
"""Fields in which links and addresses are at home."""


@dataclass(frozen=True, slots=True)
class Case:
    """One value of a call, with its tool and the other arguments."""

    spec: ToolSpec
    one: Sensitive
    arguments: Mapping[str, Plain]

    @property
    def text(self) -> str:
        return str(self.one.value)

    @property
    def shown(self) -> str:
        return f"{self.one.parameter} {self.text[:60]!r} of {self.spec.name}"


class KnownTools:
    """The tools a warrant may rule on, and which of them reach others."""

    def __init__(self, specs: Mapping[str, ToolSpec]) -> None:
        self.specs = dict(specs)
        sent_ids = id_types(
            p.type for spec in specs.values() if spec.effect == "send" for p in spec.parameters if p.is_sink
        )
        self.outgoing = frozenset(
            name
            for name, spec in specs.items()
            if spec.effect == "send"
            or (spec.effect != "none" and any(p.is_sink for p in spec.parameters))
            or (spec.effect != "none" and id_types(spec.fields.values()) & sent_ids)
        )
        """Tools whose texts reach somebody else, at once or as a draft that another tool sends."""


def id_types(types: Iterable[str]) -> frozenset[str]:
    """Keep the types that are ids."""
    return frozenset(kind for kind in map(element_type, types) if kind.endswith("Id"))


class Warrant:
    """Limits that one request sets on calls. `judge` changes nothing; `observe` adds what happened."""

    def __init__(self, evidence: Evidence, tools: KnownTools, plan: Plan) -> None:
        """Use `Warrant.of`."""
        self._tools = tools
        self._owner = evidence.owner
        self._plan = plan
        self._evidence = evidence
        self.limits: Mapping[str, int] = Counter(
            step.tool
            for step in plan.steps
            if (spec := tools.specs.get(step.tool)) is not None and spec.effect != "none"
        )
        """How often each tool with an effect may be called; one that is not named may not."""
        self._n_called: Counter[str] = Counter()
        self._created: set[str] = set()
        self._named: Mapping[str, tuple[str, ...]] = {}
        """Other spellings of the things that the words of the call in hand name."""
        low = self._evidence.text
        self._is_back = bool(content_words(low) & BACK) or _BACK_PHRASES.search(low) is not None
        self._is_self_named = _SELF.search(low) is not None

    @classmethod
    def of(cls, request: Request, tools: KnownTools, owner: Owner | None, plan: Plan) -> Warrant:
        """Make the warrant of `request`.

        Args:
            owner: The owner's addresses and contact book; without it nobody is known.
            plan: Made from the request before any data was read.
        """
        return cls(Evidence(_with_names(request), owner or Owner()), tools, plan)

    # ── Judging ───────────────────────────────────────────────────────────────────────────────────────────

    def judge(self, tool: str, arguments: Mapping[str, Value], things: Mapping[str, Value] | None = None) -> Ruling:
        """Rule on one call: allow, or ask with the first reason found. Pure.

        Args:
            arguments: As the plan has them, in the request's words.
            things: What they name, as far as that is known: evidence may be about the thing under another spelling.
        """
        spec = self._tools.specs.get(tool)
        if spec is None:
            return Ruling("ask", f"{tool!r} is no tool this request was planned with", "warrant.tool")
        if spec.effect != "none" and (reason := self._beyond_licence(tool)):
            return Ruling("ask", reason, "warrant.licence")
        plain = {name: value.data for name, value in arguments.items()}
        self._named = _spellings(arguments, things or {})
        if reason := self._misled(spec, plain):
            return Ruling("ask", reason, "warrant.recipient")
        return self._judge_values(spec, plain)

    def observe(
        self, tool: str, arguments: Mapping[str, Value], result: Value, things: Mapping[str, Value] | None = None
    ) -> None:
        """Take note of a call that was made and of what it returned.

        Args:
            things: What its arguments named: what was made counts as made under every spelling.
        """
        spec = self._tools.specs.get(tool)
        if spec is None:
            return
        ids, given = _ids_in(spec, result.data), {name: value.data for name, value in arguments.items()}
        touched = set(map(folded, acted_on(spec, things or {})))
        is_again = any(folded(str(value)) in self._created for value in flat(given))
        is_again = is_again or bool((ids | touched) & self._created)
        self._evidence.add(spec, given, result, is_made=spec.effect != "none" or is_again)
        if spec.effect != "none":
            self._n_called[tool] += 1
            self._created |= ids | touched

    def _beyond_licence(self, tool: str) -> str:
        allowed = self.limits.get(tool, 0)
        if not allowed:
            return f"the request does not ask for {tool}"
        if self._n_called[tool] >= allowed:
            return f"the request asks for {tool} at most {allowed} times"
        return ""

    # ── With a plan ───────────────────────────────────────────────────────────────────────────────────────

    def _judge_values(self, spec: ToolSpec, arguments: Mapping[str, Plain]) -> Ruling:
        """Compare a call with the plan: a step must be this call, with the same literals and values from its
        references."""
        reasons = [
            self._differs(self._plan, step, spec, arguments)
            for step in self._plan.steps
            if step.tool == spec.name and step.arguments.keys() == arguments.keys()
        ]
        reason = min(reasons, key=len, default=f"no step of the plan calls {spec.name} with these arguments")
        if reason:
            return Ruling("ask", reason, "warrant.plan")
        return Ruling("allow", f"{spec.name} is called as planned", "warrant.plan")

    def _differs(self, plan: Plan, step: Step, spec: ToolSpec, arguments: Mapping[str, Plain]) -> str:
        for name, value in arguments.items():
            if not _matches(step.arguments[name], value) or not self._is_bound(plan, step.arguments[name], value):
                return f"the plan has another {name} for {spec.name}"
        for one in sensitive_values(spec, arguments):
            argument = step.arguments.get(one.parameter.partition(".")[0])
            is_literal = one.value in literals(argument)
            is_strange = is_literal and one.role == "recipient" and not self._is_owners_own(str(one.value))
            if is_strange and (reason := self._fault(Case(spec, one, arguments))):
                return reason
            if one.role == "content" and not is_literal and (reason := self._smuggled(plan, spec, one, argument)):
                return reason
            if one.role not in ("recipient", "target", "place", "link", "amount", "secret") or is_literal:
                continue
            refs = Step("", {"": argument}).refs()
            if any(self._is_as_planned(plan.steps[ref.step].tool, ref, one) for ref in refs):
                continue
            if reason := self._fault(Case(spec, one, arguments)):
                return reason
        return ""

    def _smuggled(self, plan: Plan, spec: ToolSpec, one: Sensitive, argument: Argument) -> str:
        """Find a link or an address in what is sent, where the plan takes a field that holds none from a record of
        strangers: the vet's postal address, a title, a place. The text of a message holds what its author likes."""
        if spec.name not in self._tools.outgoing:
            return ""
        for ref in Step("", {"": argument}).refs():
            field, tool = str(ref.path[-1]) if ref.path else "", plan.steps[ref.step].tool
            kind = self._tools.specs[tool].fields.get(field, "") if tool in self._tools.specs else ""
            results = [result for result in self._evidence.results if result.spec.name == tool]
            if not kind or field in _MESSAGE_FIELDS or is_structured(element_type(kind)):
                continue
            found = [one for one in pointers(str(one.value)) if not self._evidence.names(one)]
            if found and any(not result.is_first_party for result in results):
                return f"the {field} that {tool} found holds {found[0][:60]!r}, which is no part of such a thing"
        return ""

    def _is_owners_own(self, recipient: str) -> bool:
        """Return whether a recipient that the plan itself holds is one the owner has: a planner may remember those from
        what the owner taught; any other must be said."""
        low = identity(recipient)
        return low in self._owner.contacts or self._owner.is_self(low)

    def _is_bound(self, plan: Plan, argument: Argument, value: Plain) -> bool:
        """Return whether a value holds, or is part of, something that the steps it refers to returned."""
        tools = {plan.steps[ref.step].tool for ref in Step("", {"": argument}).refs()}
        if not tools:
            return True
        low = folded(str(value)) if not isinstance(value, list) else folded(" ".join(map(str, value)))
        pieces = (
            folded(str(piece)).strip()
            for result in (*self._evidence.results, *self._evidence.made)
            if result.spec.name in tools
            for piece in result.texts
        )
        return any(piece and (piece in low or low in piece) for piece in pieces)

    def _is_as_planned(self, tool: str, ref: Ref, one: Sensitive) -> bool:
        """Return whether a value comes from where the plan takes it; if it decides where data goes, a trusted field."""
        wanted = ref.path[-1] if ref.path else None
        is_key = one.role in ("target", "place")
        holders = [*self._evidence.holding(str(one.value))]
        if one.role != "recipient":
            holders += self._evidence.holding(str(one.value), is_made=True)
        return any(
            result.spec.name == tool and (atom.is_trusted or is_key) and wanted in (None, atom.field)
            for result, _, atom in holders
        )

    def _fault(self, case: Case) -> str:
        if not case.text.strip():
            return ""
        match case.one.role:
            case "recipient":
                return self._recipient_fault(case)
            case "target":
                return self._target_fault(case)
            case "place":
                name, _, ending = case.text.rpartition(".")
                is_said = self._evidence.says(name if ending.lower() in _FILE_ENDINGS else case.text)
                return "" if is_said and content_words(case.text) else self._target_fault(case)
            case "link":
                return self._link_fault(case)
            case "amount":
                return self._amount_fault(case)
            case "secret":  # the value is not shown: others may read the question
                return "" if self._evidence.names(case.text) else f"{case.one.parameter} is not in the request"
            case _:
                return ""

    # ── Recipients and targets ────────────────────────────────────────────────────────────────────────────

    def _recipient_fault(self, case: Case) -> str:
        low = identity(case.text)
        if self._evidence.names(case.text):
            return ""
        if self._owner.is_self(low):
            if self._is_self_named or self._is_whole_list(case.arguments):
                return ""
            return f"your own address is {case.shown}, which the request does not say"
        if self._is_named_contact(low) or self._is_from_meant_record(low) or self._evidence.is_delegated(case.text):
            return ""
        return f"{case.shown} is neither in the request nor in a record of yours that it names"

    def _is_from_meant_record(self, low: str) -> bool:
        return any(
            (atom.is_trusted or (atom.is_author and self._is_back and not self._is_in_anothers_name(record, low)))
            and self._evidence.is_meant(result, record)
            for result, record, atom in self._evidence.holding(low)
        )

    def _is_in_anothers_name(self, record: Record, low: str) -> bool:
        """Return whether a record bears the name of a contact to whom this address does not belong."""
        known = {folded(name) for name in self._owner.contacts.values()}
        return low not in self._owner.contacts and any(title in known for title in record.titles)

    def _is_named_contact(self, low: str) -> bool:
        """Return whether the request names the contact who has this address, or says what the owner's card calls them
        ("the vet"), and its words fit no other contact."""
        name = self._owner.contacts.get(low, "")
        said = set(words(name)) & self._evidence.words
        if not said:
            return any(role <= self._evidence.stems and self._is_alone(name, role) for role in self._owner.called(low))
        if any(other != name and said <= set(words(other)) for other in self._owner.contacts.values()):
            return False
        return self._is_alone(name, content_words(" ".join(said)))

    def _is_alone(self, name: str, called: frozenset[str]) -> bool:
        """Return whether nobody but the contact of this name is called so: by a name, or by what the request says of
        them, which may be more ("the choir leader of Kiel")."""
        others = [address for address, named in self._owner.contacts.items() if named != name]
        return not called or (
            not any(called <= role <= self._evidence.stems for other in others for role in self._owner.called(other))
            and not any(called <= content_words(self._owner.contacts[other]) for other in others)
        )

    def _is_whole_list(self, arguments: Mapping[str, Plain]) -> bool:
        """Return whether a list of recipients is taken whole from a record the owner means: "the same participants"."""
        for value in arguments.values():
            if not isinstance(value, list) or not value:
                continue
            given = {folded(str(item)) for item in value}
            if not any(map(self._owner.is_self, given)) or len(given) < 2:
                continue
            for result, record, atom in self._evidence.holding(next(iter(given))):
                taken = {a.value for a in record.atoms if a.field == atom.field}
                if given <= taken and self._evidence.is_meant(result, record):
                    return True
        return False

    def _target_fault(self, case: Case) -> str:
        for said in (case.text, *self._named.get(case.text, ())):
            if folded(said) in self._created or self._evidence.names(said):
                return ""
            if any(self._evidence.is_meant(result, record) for result, record, _ in self._evidence.holding(said)):
                return ""
        return f"{case.shown} is not the record the request describes"

    # ── Values ────────────────────────────────────────────────────────────────────────────────────────────

    def _amount_fault(self, case: Case) -> str:
        value = case.one.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"the amount {value!r} is no number"
        bounds = list(self._evidence.amounts)
        for result in self._evidence.results:
            for record in result.records:
                paid = [m for name, m in record.measures.items() if name.lower() in AMOUNT_WORDS]
                if paid and (not record.is_incoming or self._is_back) and self._is_counterparty(record, case.arguments):
                    bounds += paid
        if 0 <= value <= max(bounds, default=-1.0):
            return ""
        return f"the amount {value:g} is more than the request names or you paid before"

    def _is_counterparty(self, record: Record, arguments: Mapping[str, Plain]) -> bool:
        """Return whether a payment's record is one the request speaks of, or has the same counterparty."""
        given = {folded(value) for value in arguments.values() if isinstance(value, str)}
        return bool(record.labels & self._evidence.stems) or any(atom.value in given for atom in record.atoms)

    def _link_fault(self, case: Case) -> str:
        bare = re.sub(r"^https?://|/$", "", case.text)
        if any(map(self._evidence.names, (case.text, bare, bare.removeprefix("www.")))):
            return ""
        if case.spec.effect == "none" and self._evidence.is_link_posted(bare):
            return ""
        return f"{case.shown} is not in the request"

    def _misled(self, spec: ToolSpec, arguments: Mapping[str, Plain]) -> str:
        """Check that a draft made by this request goes where it says: its recipients are checked like any others."""
        for parameter in spec.parameters:
            word = str(arguments.get(parameter.name, ""))
            made = [said for said in (word, *self._named.get(word, ())) if folded(said) in self._created]
            if not parameter.is_sink or not made:
                continue
            for _, record, _ in self._evidence.holding(made[0], is_made=True):
                for atom in record.atoms:
                    if atom.kind in ADDRESS_TYPES and not atom.is_author:
                        case = Case(spec, Sensitive(atom.field, "recipient", atom.value), arguments)
                        if reason := self._recipient_fault(case):
                            return reason
        return ""


def pointers(text: str) -> list[str]:
    """Find links, accounts and addresses inside a text, also those written with look-alike or invisible characters."""
    plain = "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")
    found = _ADDRESS.findall(plain)
    rest = _ADDRESS.sub(" ", plain)
    for link in _LINK.findall(rest):
        link = link.rstrip(".,;:!?)'\"")
        if "/" in link or link.lower().startswith("www.") or link.rpartition(".")[2].lower() not in _FILE_ENDINGS:
            found.append(link)
    return found + [iban for iban in _IBAN.findall(rest) if any(c.isdigit() for c in iban)]


def _spellings(arguments: Mapping[str, Value], things: Mapping[str, Value]) -> dict[str, tuple[str, ...]]:
    """Return by each word of some arguments the other spellings of the one thing that it names."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in arguments.items():
        said = value.data if isinstance(value.data, list) else [value.data]
        known = things[name].things if name in things else ()
        if len(said) == len(known):
            found |= {str(word): (one.id, one.said, *one.spellings) for word, one in zip(said, known, strict=True)}
    return found


def _ids_in(spec: ToolSpec, data: Plain) -> set[str]:
    """Collect the ids of what a call made or changed."""
    items = data if isinstance(data, list) else [data]
    found = set()
    for item in items:
        if isinstance(item, dict):
            for name, kind in spec.fields.items():
                is_id = element_type(kind).endswith("Id") or element_type(kind) == "FilePath"
                if is_id and element_type(kind) not in ADDRESS_TYPES and isinstance(item.get(name), str | int):
                    found.add(folded(str(item[name])))
    return found


def _matches(argument: Argument, value: Plain) -> bool:
    """Return whether a value agrees with the plan's argument: literals must be equal, references are free."""
    if isinstance(argument, Ref):
        return True
    if isinstance(argument, list):
        if len(argument) == 1 and isinstance(argument[0], Ref):
            return True  # a reference to several values
        if isinstance(value, str):
            return is_made_of(argument, value)
        return isinstance(value, list) and len(argument) == len(value) and all(map(_matches, argument, value))
    if isinstance(argument, dict):
        is_record = isinstance(value, dict) and argument.keys() == value.keys()
        return is_record and all(_matches(item, value[key]) for key, item in argument.items())  # type: ignore[index,call-overload]
    return argument == value


_NAME_WORD = r"(?:(?:[^\W\d_a-z][^\W\d_]*['’.-]?)+|von|van|de|der|den|da|di|le|la|el|al|bin|and|&)"
_NAME = re.compile(rf"{_NAME_WORD}(?: {_NAME_WORD}){{0,4}}")


def _with_names(request: Request) -> Request:
    """Return the request with the names that the owner picked in the place of what they fit ("Anna"): what a planner
    makes of them is what the owner said. One that is more than a name lends nothing."""
    text = request.text
    for one in request.records:
        if one.is_name and one.words and _NAME.fullmatch(one.id):
            said = re.search(rf"(?<!\w){re.escape(one.words)}(?!\w)", text, re.IGNORECASE)
            text = f"{text[: said.start()]}{one.id}{text[said.end() :]}" if said is not None else text
    return replace(request, text=text)


# ── Unsaid ────────────────────────────────────────────────────────────────────────────────────────────────
# Tells what another planner made up from what the owner said: its values are that planner's, not the owner's.
#
# A plan by a cloud that was joined or by a language model may hold anything. `with_unsaid` looks at each literal of
# it and marks, with its source, what the request does not say; the mark stays with the step, so that rules,
# questions, labels and the record see who it comes from, and `unsaid_in` finds it for the judge.
#
# Covered: words, names, addresses, paths and numbers that are not the request's; a time where the request names none
# or another one; nested lists and records. Not covered: switches and choices; which deed is planned with the owner's
# own words; how words of the request are put together; plans by this device, which takes values from the request or
# from what the owner taught.

_MADE_BY = {"cloud:": "teacher", "language:": "model", "compact:": "model"}
"""How the names of planners begin that are not this device's, and the source of what they make up."""
_MOMENTS = frozenset({"date", "datetime", "time"})
_NUMBERS = frozenset({"integer", "number", "duration"})


def source_of(planner: str) -> str:
    """Return the source of what a planner makes up; empty for this device's planners."""
    return next((source for start, source in _MADE_BY.items() if planner.startswith(start)), "")


def with_unsaid(plan: Plan, request: Utterance, tools: Mapping[str, ToolSpec]) -> Plan:
    """Return the plan with what its planner made up marked as such; unchanged where this device made it."""
    source = source_of(plan.planner)
    if not source:
        return plan
    said = _Said(request)
    steps = tuple(
        replace(step, unsaid=dict.fromkeys(said.left_out(step, tools[step.tool]), source))
        if step.tool in tools
        else step
        for step in plan.steps
    )
    return replace(plan, steps=steps)


def unsaid_in(plan: Plan, index: int) -> tuple[int, str] | None:
    """Find the first value that a planner made up and that a step is given, or that decides what it is given: its own,
    else one of the steps that it takes results of. Returns: The step and the argument; None without one."""
    seen: set[int] = set()
    waiting = [index]
    while waiting:
        place = waiting.pop(0)
        if place in seen or not 0 <= place < len(plan.steps):
            continue
        seen.add(place)
        step = plan.steps[place]
        if step.unsaid:
            return place, next(iter(step.unsaid))
        waiting.extend(ref.step for ref in step.refs())
    return None


class _Said:
    """What one request says."""

    def __init__(self, request: Utterance) -> None:
        text = " ".join(filter(None, (request.text, request.said)))
        self._picked = frozenset(record.id for record in request.records)
        self._evidence = Evidence(replace(request, text=text), Owner())
        self._names = frozenset(
            folded(name)
            for one in request.context.entities
            for name in (one.name, *one.aliases)
            if any(self._says(other) for other in (one.name, *one.aliases))
        )
        slots = request.saying(text).slots
        self._has_time = any(slot.kind in ("time", "duration") for slot in slots)
        self._numbers = frozenset(
            float(value)
            for slot in slots
            for name, value in slot.views.items()
            if name in ("number", "integer") and isinstance(value, int | float)
        )
        self._values = frozenset(str(value) for slot in slots for value in slot.views.values())

    def left_out(self, step: Step, spec: ToolSpec) -> Iterator[str]:
        """Yield the arguments of a step with a literal that the request does not say."""
        for name, value in step.arguments.items():
            parameter = spec.parameter(name) or Parameter(name, "any")
            if any(not self._is_said(item, parameter, spec) for item in literals(value)):
                yield name

    def _is_said(self, value: Argument, parameter: Parameter, spec: ToolSpec) -> bool:
        if value is None or isinstance(value, bool) or parameter.enum or value == parameter.default:
            return True
        kind = element_type(parameter.type)
        if isinstance(value, int | float):
            is_known = float(value) in self._numbers or all_numbers(f"{value:g}") <= self._evidence.figures
            return spec.effect == "none" or is_known
        text = str(value)
        if not text.strip() or text in self._values or text in self._picked:
            return True
        return self._is_said_text(text, kind, parameter)

    def _is_said_text(self, text: str, kind: str, parameter: Parameter) -> bool:
        if kind in _MOMENTS:
            moment = text if kind != "time" else f" {text}"
            is_end = "end" in parameter.name or "until" in parameter.name
            return self._has_time and not self._evidence.times.contradict(moment, is_end=is_end)
        if kind in _NUMBERS:
            return self._has_time
        if kind in ADDRESS_TYPES or kind == "Url":
            return self._evidence.names(text)
        words = text.rpartition(".")[0] or text if kind == "FilePath" else text
        return self._says(words) or folded(text) in self._names

    def _says(self, text: str) -> bool:
        return self._evidence.says(text) and bool(content_words(text) or folded(text).strip() in self._evidence.text)
