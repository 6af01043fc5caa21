"""Least privilege per request: limits each call to what the request licenses, even if a stranger controls the planner.

A warrant is the plan, made from the request before any data is read: its calls, how often each, and where each value
comes from. Every call is judged against it and against what tools returned so far (`guard.capability.evidence`).
Anything beyond it is asked.

    warrant = Warrant.of(request, KnownTools(specs), owner, plan)
    ruling = warrant.judge("send_mail", {"to": Value(["ben@example.com"], label)})
    warrant.observe("find_contact", arguments, result)

The rules, in order; each is named in the ruling:

- `tool`: the tool is not known to this warrant.
- `licence`: the plan does not call this tool, or not so often.
- `recipient`: a draft made by this request goes to somebody that it may not go to.
- `plan`: no step is this call with these literals and with values that its references returned. What a step takes from
  elsewhere than the plan says, and a recipient that the plan itself holds, is judged by what it is:
  an address, account or handle must stand in the request, or in a structured first-party field of a record the owner
  means, or belong to the one contact the request names, or be where an answer or a refund goes back to;
  the record acted on must be one the owner means, or made by an earlier call of this request;
  a link must stand in the request, or be one that somebody known posted in a message that it names;
  an amount is at most what the owner named or already pays, or what was received and is given back;
  a password must stand in the request.

Covered: a planner that an attacker took over after the plan; data in any field of a result; look-alike letters,
invisible characters.
Not covered: a plan that does what nobody asked for (the policy asks about its effects); the wording of a text to a
recipient the owner named (only links and addresses in fields where none belong); reading the owner's own records; a
record whose title a stranger wrote so that it alone fits the request best; several deeds that are each harmless.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hearth import patterns as re
from hearth.formats.plan_validation import literals
from hearth.guard.capability.evidence import Evidence
from hearth.guard.capability.parameter_roles import (
    ADDRESS_TYPES,
    AMOUNT_WORDS,
    Sensitive,
    element_type,
    is_structured,
    sensitive_values,
)
from hearth.guard.capability.record_extraction import Owner, Record, flat
from hearth.guard.capability.request_words import content_words, folded, identity, stem, word_set, words
from hearth.guard.flow.labels import Value, acted_on
from hearth.types import Argument, Plain, Plan, Ref, Request, Ruling, Step, ToolSpec

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
