"""Makes every tool call, only as part of an allowed plan, and returns labelled plain data.

`rule` puts a plan to the policy and, once, to the owner; `call` runs one step of an allowed plan. A call that differs
from what was allowed (another tool, another literal value) is refused and nothing is called. Anything unknown when the
plan was allowed (the value of a reference, where it comes from, who it belongs to) is judged by `admit` on the real
values; where that asks, `confirm` puts the difference to the owner, and without an answer the call is refused.

Covered: which tool is called with which values; type and size of results; labels of results and of their fields;
everything a tool may raise, `SystemExit` and `KeyboardInterrupt` included.
Not covered: what a tool does inside its call (the workspace and the egress gateway watch that), how long it takes (the
executor's part), and code in this process that calls a tool's function itself.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from hearth.errors import BadResult, DeniedError, HearthError, NotFound, NotInEnum, ToolCrashed, WrongType
from hearth.formats.tool_signature import from_plain, to_plain
from hearth.guard.decision import (
    CHANGED,
    NEVER_CONSENTED,
    OF_A_PROGRAM,
    READS_ONLY,
    TOLD,
    Agreed,
    Call,
    Judge,
    Occasion,
    Records,
    Rights,
    told_reason,
)
from hearth.guard.egress.speculative_reads import Foreseen
from hearth.guard.injection import InjectionReader
from hearth.guard.labels import (
    KnownAddresses,
    MarkedMemory,
    Origin,
    PlannedStep,
    StepLabels,
    Value,
    acted_on,
    effect_on,
    is_made_of,
    join_all,
    refs_in,
    told,
)
from hearth.guard.policy.question import Agreement, Consent, Question, deciding, difference, is_fixed, question, quoted
from hearth.guard.policy.rules import Decision, Judgement, Policy, literals, strictest
from hearth.guard.referents import Referents, Resolved
from hearth.protocols import Approver, CallContext, Cause, Reply, Reverting, Tool
from hearth.storage.trace import CallRecord
from hearth.types import (
    OWNER,
    OWNERS_WORD,
    PUBLIC,
    TYPE_NAMES,
    Argument,
    Asked,
    Parameter,
    Plain,
    Plan,
    Ref,
    Referent,
    Ruling,
    Step,
    ToolSpec,
)

# ── Results of the declared type ──────────────────────────────────────────────────────────────────────────
# Converts a tool's result to plain data of the declared type and of bounded size, or raises BadResult.
#
# The size is counted before anything is encoded and counting stops at the limit, so a tool that returns gigabytes
# costs no more than one that returns a megabyte. Covered: size, nesting, text no file can hold, type of scalars,
# lists and record fields. Not covered: whether a value is true; None fits any type, as a signature's `| None` is not
# in the spec.

MAX_RESULT_BYTES = 1_000_000
MAX_INTEGER_BITS = 1024


def checked(value: object, spec: ToolSpec) -> Plain:
    """Return `value` as plain data.

    Raises:
        BadResult: Too large, not data, or not what `spec.returns` and `spec.fields` say; names the tool and the fault.
    """
    _check_size(value, spec.name)
    try:
        plain = to_plain(value)
    except BadResult as error:
        raise BadResult(f"{spec.name!r}: {error}") from None
    except RecursionError:
        raise BadResult(f"{spec.name!r} returned data nested too deeply to write down; flatten it") from None
    _check_type(plain, spec.returns, spec)
    return plain


def _check_size(value: object, tool: str) -> None:
    n_bytes = 0
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            n_bytes += len(item) + 2
            if not item.isascii() and n_bytes <= MAX_RESULT_BYTES:
                n_bytes += _n_utf8(item, tool) - len(item)
        elif isinstance(item, Mapping):
            n_bytes += 2 + 2 * len(item)
            if n_bytes <= MAX_RESULT_BYTES:
                waiting.extend(item.keys())
                waiting.extend(item.values())
        elif isinstance(item, list | tuple | set | frozenset):
            n_bytes += 2 + len(item)
            if n_bytes <= MAX_RESULT_BYTES:
                waiting.extend(item)
        elif isinstance(item, int) and item.bit_length() > MAX_INTEGER_BITS:
            raise BadResult(f"{tool!r} returned a whole number of {item.bit_length()} bits; at most {MAX_INTEGER_BITS}")
        elif names := getattr(type(item), "__dataclass_fields__", None):
            n_bytes += 2 + sum(len(name) + 4 for name in names)
            waiting.extend(getattr(item, name) for name in names)
        else:
            n_bytes += 8
        if n_bytes > MAX_RESULT_BYTES:
            raise BadResult(
                f"{tool!r} returned {_size(item)}; a result may hold at most {MAX_RESULT_BYTES:,} bytes, "
                "so ask for less (a shorter range, fewer records)"
            )


def _n_utf8(text: str, tool: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise BadResult(f"{tool!r} returned text with a lone surrogate, which no file can hold; return UTF-8") from None


def _size(item: object) -> str:
    if isinstance(item, str):
        return f"a text of {len(item):,} characters"
    if isinstance(item, Mapping | list | tuple | set | frozenset):
        return f"{len(item):,} items in one {type(item).__name__}, or more bytes than are allowed in all"
    return "more bytes than are allowed"


# ── Types ─────────────────────────────────────────────────────────────────────────────────────────────────


def _is_number(value: Plain) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _decodes_to(kind: str) -> Callable[[Plain], bool]:
    def check(value: Plain) -> bool:
        if not isinstance(value, str):
            return False
        try:
            from_plain(value, kind)
        except WrongType:
            return False
        return True

    return check


_FITS: Mapping[str, Callable[[Plain], bool]] = {
    **{
        kind: lambda value: isinstance(value, str)
        for kind in ("text", "EmailAddress", "PhoneNumber", "Url", "PersonName", "FilePath")
    },
    **{kind: _decodes_to(kind) for kind in ("date", "time", "datetime", "duration")},
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "boolean": lambda value: isinstance(value, bool),
    "none": lambda value: value is None,
}


def _check_type(value: Plain, kind: str, spec: ToolSpec) -> None:
    if value is None:
        return
    if kind.startswith("list["):
        if not isinstance(value, list):
            raise _wrong(spec, value, f"declared {spec.returns}")
        for item in value:
            _check_type(item, kind[5:-1], spec)
    elif spec.fields and kind not in TYPE_NAMES:
        _check_record(value, spec, kind)
    elif not _fits(value, kind):
        raise _wrong(spec, value, f"declared {spec.returns}")


def _check_record(item: Plain, spec: ToolSpec, kind: str) -> None:
    if not isinstance(item, dict):
        raise _wrong(spec, item, f"declared {spec.returns}, a record with {', '.join(spec.fields)}")
    for name, field_kind in spec.fields.items():
        if name not in item:
            declared = ", ".join(spec.fields)
            raise BadResult(f"{spec.name!r} returned {kind} records without {name!r}; declared {declared}")
        if not _fits(item[name], field_kind):
            raise _wrong(spec, item[name], f"declared {field_kind}", f" as {name!r}")


def _fits(value: Plain, kind: str) -> bool:
    if value is None:
        return True
    if kind.startswith("list["):
        return isinstance(value, list) and all(_fits(item, kind[5:-1]) for item in value)
    check = _FITS.get(kind)
    return check is None or check(value)


def _wrong(spec: ToolSpec, value: Plain, declared: str, place: str = "") -> BadResult:
    shown = repr(value[:60] if isinstance(value, str) else value)[:80]
    return BadResult(f"{spec.name!r} returned {shown} ({type(value).__name__}){place}; {declared}")


# ── Monitor ───────────────────────────────────────────────────────────────────────────────────────────────

MAX_ALLOWED_PLANS = 64
"""Most allowed plans that are remembered; the oldest is dropped first."""
MAX_CHANGE_CHARS = 80
"""Most characters of a value that are shown where it is not what it was."""


@dataclass(slots=True, eq=False)
class _Allowed:
    """A plan that may run, and what was agreed to."""

    plan: Plan
    steps: tuple[Step, ...]
    """A copy of the allowed steps, safe even if the caller changes its plan."""
    labels: tuple[StepLabels, ...]
    rulings: tuple[Ruling, ...]
    """Ruling on each step when the plan was allowed."""
    agreed: frozenset[int]
    """Steps that the owner saw and agreed to."""
    occasion: Occasion | None
    kept: dict[int, frozenset[str]] = field(default_factory=dict)
    """Steps whose agreement is to be kept once their values are known, with the rules that asked."""
    confirmed: dict[int, dict[str, Plain]] = field(default_factory=dict)
    """Steps that were asked about with their real values, and agreed to."""
    things: dict[int, Mapping[str, Value]] = field(default_factory=dict)
    """What the steps' literals named when the plan was allowed, as far as it was known."""
    resolved: dict[int, tuple[dict[str, Value], Resolved]] = field(default_factory=dict)
    """Arguments of admitted calls with the things they name, so that a call is made on what was judged."""
    admitted: set[int] = field(default_factory=set)
    """Steps that were admitted with the arguments in `resolved`, and whose call would be judged the very same; none
    once a result is known that was not known then."""
    touched: set[str] = field(default_factory=set)
    """Ids of things that this plan changed itself."""
    consents: dict[int, Consent] = field(default_factory=dict)
    """Steps that run by a standing consent, which is counted when they run."""
    is_readmitted: bool = False
    """Whether it was allowed before a crash."""
    only: frozenset[int] | None = None
    """The steps that may be called while the plan is not settled; None once it is."""


class Monitor:
    """The only caller of tools."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        policy: Policy,
        approver: Approver,
        records: Records | None = None,
        reader: InjectionReader | None = None,
        clock: Callable[[], dt.datetime] | None = None,
    ) -> None:
        """Set up the monitor.

        Args:
            records: State that outlives a request; without it, state is forgotten with the process.
            reader: Looks for instructions in what strangers wrote; without it, none are looked for.
            clock: As `Judge`.
        """
        self._reader = reader
        self._tools = dict(tools)
        self._policy = policy
        self.approver = approver
        """Who answers its questions."""
        self._records = records or Records()
        self._allowed: dict[int, _Allowed] = {}
        self.specs: Mapping[str, ToolSpec] = {name: tool.spec for name, tool in self._tools.items()}
        """The registered tools as everyone else may see them."""
        self._parameters: dict[str, dict[str, Parameter]] = {}
        self._referents = Referents(self._tools)
        self._judge = Judge(self.specs, policy, self._records, self._referents, clock)
        self._labelling = self._judge.labelling
        self._asked: list[Asked] = []
        self.foreseen: Foreseen | None = None
        """Results read for this request before its plan was settled."""
        self.rights: Rights = "all"
        """What whoever asked for this request may do."""

    # ── Ruling ────────────────────────────────────────────────────────────────────────────────────────────

    def note_origin(self, domain: str, records: Iterable[str], sources: frozenset[str], now: dt.datetime) -> None:
        """Remember what went into records that were changed beside the tools: another person's words, say."""
        before = {record: self._records.provenance.of(domain, record) for record in records}
        found = {record: Origin((one.sources if one else frozenset()) | sources) for record, one in before.items()}
        self._records.provenance.note(domain, found, now)

    def rule(
        self,
        plan: Plan,
        extends: Plan | None = None,
        occasion: Occasion | None = None,
        things: Mapping[int, Mapping[str, Value]] | None = None,
    ) -> Ruling:
        """Allow or deny `plan`; where the policy says ask, the owner is asked once for all of it.

        Args:
            extends: A plan allowed earlier, of which `plan` is a continuation with the same first steps: only the
                further steps are ruled on and asked about.
            occasion: The request it serves; by default that of `extends`. Without one, rules about time, contacts and
                rates are decided when a step is called.
            things: By step, what arguments that refer to results were found to be: the question shows them, and the
                owner agrees to them alone.
        Returns:
            A final ruling, never `ask`.
        """
        if self.rights == "reads" and any(self._changes(step) for step in plan.steps):
            return Ruling("deny", "whoever asked may only read here", READS_ONLY)
        before = self._settled(extends)
        if occasion is None and before is not None:
            occasion = before.occasion
        elif occasion is not None and occasion.warrant is None:
            self._labelling.forget_book()  # the owner may have changed contacts since the last request
        agreed: frozenset[int] = frozenset()
        kept: dict[int, frozenset[str]] = {}
        n_consented = 0
        if before is not None and plan.steps[: len(before.steps)] == before.steps:
            n_consented, agreed, kept = len(before.steps), before.agreed, dict(before.kept)
        judgement = self._judge.of_plan(plan, n_consented, occasion)
        judgement = self._judge.with_found(judgement, plan, things or {}, occasion)
        ruling = judgement.ruling
        if self.rights == "asks" and ruling.verdict == "allow" and any(map(self._changes, plan.steps[n_consented:])):
            ruling = Ruling("ask", "another program asks for it", OF_A_PROGRAM)
            judgement = replace(judgement, ruling=ruling)
        further = range(n_consented, len(plan.steps))
        if ruling.verdict == "ask":
            reply = self._ask(self._question(plan, judgement, occasion), ruling)
            ruling = self._after(reply, ruling, self._advice(judgement, plan, occasion))
            agreed |= frozenset(further)
            if reply == "always":
                kept |= self._answered_for_good(plan, judgement)
            elif reply == "never":
                self._keep_denials(plan, judgement, occasion)
        if ruling.verdict == "allow":
            allowed = self._remember(plan, judgement, agreed, occasion, kept)
            if not agreed.isdisjoint(further):
                self._keep_agreed(allowed, further, self._asked[-1])
        return ruling

    def _settled(self, plan: Plan | None) -> _Allowed | None:
        """Return what was agreed to of a plan; None where it was only looked up for, or is not known."""
        allowed = self._allowed.get(id(plan)) if plan is not None else None
        return allowed if allowed is not None and allowed.only is None else None

    def _answered_for_good(self, plan: Plan, judgement: Judgement) -> dict[int, frozenset[str]]:
        """Return the steps that an "always" is for, with the rules it answers."""
        asking = {
            k: self._judge.rules_answered(plan.steps[k].tool, r.rule)
            for k, r in enumerate(judgement.steps)
            if r.verdict == "ask"
        }
        return {k: rules for k, rules in asking.items() if not rules & NEVER_CONSENTED}

    def _question(self, plan: Plan, judgement: Judgement, occasion: Occasion | None) -> Question:
        """Put a plan into words, with what would be taken back before it."""
        book = self._labelling.book(occasion.workspace, occasion.now) if occasion is not None else None
        asked = question(plan, self.specs, judgement, self._labelling.stand_ins, book)
        if occasion is not None and occasion.takes_back:
            back = f"First I would take back what I did for {quoted(occasion.takes_back)}."
            asked = replace(asked, opening=f"{back}\n{asked.opening}")
        elif occasion is not None and occasion.undoes:
            back = f"To take back what I did for {quoted(occasion.undoes)}, I would do this:"
            asked = replace(asked, opening=back)
        return asked

    @staticmethod
    def _agreement(allowed: _Allowed, index: int, asked: Asked) -> Agreement:
        return Agreement(
            allowed.steps[index],
            allowed.rulings[index],
            asked,
            allowed.things.get(index, {}),
            index in allowed.agreed,
            allowed.kept.get(index, frozenset()),
            allowed.confirmed.get(index),
        )

    def _keep_agreed(self, allowed: _Allowed, steps: Iterable[int], asked: Asked) -> None:
        """Put on record what the owner just agreed to, before anything of it is done."""
        if allowed.occasion is not None and allowed.occasion.episode:
            kept = {index: self._agreement(allowed, index, asked) for index in steps}
            self._records.agreements.keep(allowed.occasion.episode, kept)

    def took_back(self, plan: Plan, things: Iterable[str]) -> None:
        """Note that what an allowed plan is done in the place of was taken back: these things are not as they were when
        the owner was asked, as the owner wanted, and what was read of them is read again."""
        self.foreseen = None
        if (allowed := self._allowed.get(id(plan))) is not None:
            allowed.touched.update(things)

    def _changes(self, step: Step) -> bool:
        return step.tool not in self.specs or self.specs[step.tool].effect != "none"

    def readmit(
        self, plan: Plan, recorded: Ruling, occasion: Occasion | None = None, past: Sequence[CallRecord] = ()
    ) -> Ruling:
        """Readmit a plan that was allowed before a crash. What was agreed to may be done again without a question, to
        the very things; what has changed since, and what no agreement is on record for, is asked about when it is
        called. Rules that now deny do deny.

        Args:
            recorded: The ruling in the trace.
            occasion: The request it serves, by whose episode agreements are found.
            past: The calls of it that were made. What they changed themselves is not asked about again; the caller
                leaves out calls whose changes others have changed since.
        """
        if recorded.verdict != "allow":
            return Ruling("deny", f"the plan was not allowed: {recorded.reason}", recorded.rule)
        judgement = self._judge.of_plan(plan, 0, occasion)
        over = {call.result.step for call in past if call.result is not None}
        denied = [r for k, r in enumerate(judgement.steps) if r.verdict == "deny" and k not in over]
        if denied or not judgement.steps:
            return strictest(denied) if denied else judgement.ruling
        rows = self._records.agreements.of(occasion.episode) if occasion is not None and occasion.episode else {}
        rows = {k: row for k, row in rows.items() if k < len(plan.steps) and row.is_for(plan.steps[k])}
        agreed = frozenset(k for k, row in rows.items() if row.is_planned)
        judgement = replace(
            judgement,
            steps=tuple(rows[k].ruling if k in agreed else ruling for k, ruling in enumerate(judgement.steps)),
            things={**judgement.things, **{k: row.things for k, row in rows.items()}},
        )
        kept = {k: row.kept for k, row in rows.items() if row.kept}
        allowed = self._remember(plan, judgement, agreed, occasion, kept)
        allowed.is_readmitted = True
        allowed.confirmed.update({k: dict(row.confirmed) for k, row in rows.items() if row.confirmed is not None})
        self._asked.extend(dict.fromkeys(row.asked for row in rows.values()))
        for call in past:
            self._take_up(allowed, call)
        return recorded

    def _take_up(self, allowed: _Allowed, call: CallRecord) -> None:
        """Take a call into account that was made before a crash."""
        started, result = call.started, call.result
        if started is None or result is None or result.status != "done":
            return  # what was cut off is as before: its changes were rolled back
        if started.effect != "none":
            allowed.touched.update(started.things)
        if started.tool in self.specs:
            arguments = {
                name: Value(value, started.labels.get(name, PUBLIC)) for name, value in started.arguments.items()
            }
            things = {"": Value(None, PUBLIC, things=tuple(map(Referent, started.things)))}
            found = Value(result.value, result.label, result.fields)
            self._observed(allowed, self.specs[started.tool], arguments, found, things)

    def foresee(self, plan: Plan, occasion: Occasion) -> frozenset[int]:
        """Find the steps of an unsettled plan that may already be called: they change and send nothing, the policy
        allows them without a question, and nobody counts their calls. No other step of it can be called."""
        judgement = self._judge.of_plan(plan, 0, occasion)
        free = frozenset(
            index
            for index, (step, ruling) in enumerate(zip(plan.steps, judgement.steps, strict=True))
            if ruling.verdict == "allow"
            and self.specs[step.tool].effect == "none"
            and not self._policy.rates(step.tool)
        )
        if free:
            self._remember(plan, judgement, frozenset(), occasion, {})
            self._allowed[id(plan)].only = free
        return free

    def rulings(self, plan: Plan) -> tuple[Ruling, ...]:
        """Return the policy's ruling on each step of an allowed plan; empty for any other plan."""
        allowed = self._allowed.get(id(plan))
        return allowed.rulings if allowed is not None else ()

    def take_asked(self) -> tuple[Asked, ...]:
        """Take the questions put to the owner since the last call of this."""
        asked, self._asked = tuple(self._asked), []
        return asked

    def _ask(self, asked: Question, ruling: Ruling) -> Reply:
        text = str(asked)
        reply = self.approver.approve(text, ruling)
        self._asked.append(Asked(text, reply))
        return reply

    @staticmethod
    def _after(reply: Reply, ruling: Ruling, advice: str) -> Ruling:
        if reply in ("once", "always"):
            return Ruling("allow", f"you agreed ({ruling.reason})", ruling.rule)
        if reply == "nobody":
            needs = " and needs" if ruling.rule == "default" else ", so it needs"
            return Ruling("deny", f"{ruling.reason}{needs} your yes{advice}", ruling.rule)
        return Ruling("deny", "you said no", ruling.rule)

    def _advice(self, judgement: Judgement, plan: Plan, occasion: Occasion | None) -> str:
        if occasion is not None and occasion.undoes:
            return "; say “undo that”, and I ask"
        asking = [
            step.tool
            for step, ruling in zip(plan.steps, judgement.steps, strict=True)
            if ruling.verdict == "ask" and self._policy.rule_tool(self.specs[step.tool]).verdict == "ask"
        ]
        if not asking:
            return "; ask at a terminal, or pass --yes"
        return f'; ask at a terminal, pass --yes, or write ruling = "allow" under [policy.{asking[0]}] in hearth.toml'

    def _keep_denials(self, plan: Plan, judgement: Judgement, occasion: Occasion | None) -> None:
        """Record a "never" for every step that was asked about and whose deciding values are known."""
        if occasion is None:
            return
        now = self._judge.moment(occasion.now)
        for index, ruling in enumerate(judgement.steps):
            step, spec = plan.steps[index], self.specs[plan.steps[index].tool]
            values = {**literals(step, judgement.labels[index].arguments), **judgement.things.get(index, {})}
            is_known = deciding(spec, step.arguments) <= values.keys()
            if ruling.verdict == "ask" and is_known:
                rules = frozenset({self._policy.key_of(spec.name, ruling.rule)})
                resolved = self._labelling.resolved(spec, values, occasion.workspace, occasion.now)
                self._records.consents.keep(spec, resolved, "deny", rules, now, occasion.episode)

    def _remember(
        self,
        plan: Plan,
        judgement: Judgement,
        agreed: frozenset[int],
        occasion: Occasion | None,
        kept: dict[int, frozenset[str]],
    ) -> _Allowed:
        steps = tuple(
            step.given({name: _copied(value) for name, value in step.arguments.items()}) for step in plan.steps
        )
        for tool in {step.tool for step in steps if self._policy.rates(step.tool)}:
            self._records.counts.watch(tool)
        found = _Allowed(plan, steps, judgement.labels, judgement.steps, agreed, occasion, kept)
        found.things.update(judgement.things)
        self._allowed[id(plan)] = found
        while len(self._allowed) > MAX_ALLOWED_PLANS:
            del self._allowed[next(iter(self._allowed))]
        return found

    # ── Real values ───────────────────────────────────────────────────────────────────────────────────────

    def admit(self, plan: Plan, index: int, arguments: Mapping[str, Value], context: CallContext) -> Ruling:
        """Rule on step `index` of an allowed plan with its real values: allow, deny, or ask if anything differs from
        what was agreed to. Nobody is asked and nothing is called.

        Raises:
            DeniedError: The call is not the one that was allowed.
            HearthError: What an argument names is not there, or is several things.
        """
        allowed, step = self._checked_step(plan, index, arguments)
        allowed.resolved.pop(index, None)  # what the words mean may have changed since it was last asked about
        allowed.admitted.discard(index)
        things = self._resolved(allowed, index, arguments, context)
        ruling = self._admitted(allowed, index, things, arguments, context)
        if ruling.verdict == "allow" and self._judge.is_lasting(self.specs[step.tool], things.values):
            allowed.admitted.add(index)
        return ruling

    def _admitted(
        self, allowed: _Allowed, index: int, things: Resolved, arguments: Mapping[str, Value], context: CallContext
    ) -> Ruling:
        """Rule on a call as `admit`, with what its words were last found to mean."""
        step = allowed.steps[index]
        if allowed.confirmed.get(index) == _agreed_to(things.values):
            return Ruling("allow", "you agreed to these values", "confirmed")
        is_agreed = index in allowed.agreed
        is_shown = is_agreed or index in allowed.confirmed
        if is_shown and (other := _now_other(allowed, index, things.values)):
            return Ruling("ask", other, CHANGED)
        if allowed.is_readmitted and not is_agreed and allowed.rulings[index].verdict == "ask":
            return allowed.rulings[index]
        warrant = allowed.occasion.warrant if allowed.occasion is not None else None
        seen = allowed.things.get(index, {})
        agreed = Agreed(allowed.rulings[index], not step.refs(), seen) if is_agreed else None
        call = Call(step, allowed.labels[index], things.values, arguments, context)
        found = self._judge.against(call, agreed=agreed, warrant=warrant)
        if found.consent is not None:
            allowed.consents[index] = found.consent
        rulings = found.rulings
        if not rulings:
            return Ruling("allow", "as it was allowed", "plan")
        ruling = strictest(rulings)
        if ruling.verdict == "ask":  # the most informative reason alone; the default rule is not one
            ruling = next((r for r in rulings if r.rule != "default"), rulings[0])
        return ruling

    def confirm(
        self, plan: Plan, index: int, arguments: Mapping[str, Value], context: CallContext, ruling: Ruling
    ) -> Ruling:
        """Ask the owner about one step with its real values, showing only the difference; return a final ruling.

        Args:
            ruling: The ruling of `admit`.
        """
        allowed, step = self._checked_step(plan, index, arguments)
        spec = self.specs[step.tool]
        things = self._resolved(allowed, index, arguments, context).values
        resolved = self._labelling.resolved(spec, things, context.workspace, context.now)
        book = self._labelling.book(context.workspace, context.now)
        is_seen = index in allowed.agreed
        asked = difference(PlannedStep(plan, index, self.specs), resolved, ruling, book, is_seen=is_seen)
        if allowed.occasion is not None and allowed.occasion.left_over:
            asked = replace(asked, opening=f"I was stopped while I did this: {quoted(allowed.occasion.left_over)}.")
        reply = self._ask(asked, ruling)
        final = self._after(reply, ruling, "; ask at a terminal")
        consents, episode = self._records.consents, allowed.occasion.episode if allowed.occasion else ""
        rules = self._judge.rules_answered(spec.name, ruling.rule)
        if reply == "always" and not rules & NEVER_CONSENTED:
            allowed.kept[index] = allowed.kept.get(index, frozenset()) | rules
        elif reply == "never":
            consents.keep(spec, resolved, "deny", rules, self._judge.moment(context.now), episode)
        if final.verdict == "deny":
            return Ruling("deny", f"{final.reason}: {ruling.reason}" if reply != "nobody" else final.reason, final.rule)
        allowed.confirmed[index] = _agreed_to(things)
        allowed.things[index] = {**allowed.things.get(index, {}), **things}
        self._keep_agreed(allowed, (index,), self._asked[-1])
        return final

    def acts_on(self, plan: Plan, index: int) -> tuple[str, ...]:
        """Return the ids of the things that an admitted step acts on."""
        allowed = self._allowed.get(id(plan))
        known = allowed.resolved.get(index) if allowed is not None else None
        return acted_on(self.specs[plan.steps[index].tool], known[1].values) if known else ()

    def tells(self, plan: Plan, index: int) -> tuple[str, ...]:
        """Return whom servers write to by themselves when an admitted step is made."""
        known = self._allowed[id(plan)].resolved.get(index) if id(plan) in self._allowed else None
        return told(known[1].values) if known is not None else ()

    def things_of(self, step: Step, arguments: Mapping[str, Value], context: CallContext) -> Mapping[str, Value]:
        """Return the arguments of a call with the things they name. Raises: HearthError: As `Referents.of_call`."""
        return self._referents.of_call(step.tool, arguments, context).values

    def judge(self, plan: Plan, occasion: Occasion | None = None) -> Judgement:
        """Judge `plan` as before the owner is asked. Nothing is asked."""
        return self._judge.of_plan(plan, 0, occasion)

    def explain_call(self, tool: str, arguments: Mapping[str, Value], context: CallContext) -> Decision:
        """Judge one call with these values, without regard to a plan. Nothing is called or asked."""
        return self._judge.explain_call(tool, arguments, context)

    def known_addresses(self, context: CallContext) -> KnownAddresses:
        """Read the owner's contacts again, as far as the guard trusts them."""
        self._labelling.forget_book()
        return self._labelling.book(context.workspace, context.now)

    # ── Calling ───────────────────────────────────────────────────────────────────────────────────────────

    def call(self, plan: Plan, index: int, arguments: Mapping[str, Value], context: CallContext) -> Value:
        """Call the tool of step `index` of an allowed plan.

        Args:
            arguments: By parameter name: the step's literals, and the results its references point at, with labels.
        Raises:
            DeniedError: The call is not the one that was allowed, or would have to be asked about first; nothing was
                called.
            NotFound, Ambiguous: What an argument names is not there, or is several things; nothing was called.
            WrongType, NotInEnum: A result bound to a parameter does not fit it; nothing was called.
            ToolCrashed: The tool raised something it does not declare.
            BadResult: The result is too large or not of the declared type.
            HearthError: As raised by the tool.
        """
        allowed, step = self._checked_step(plan, index, arguments)
        known = allowed.resolved.get(index)
        resolved = self._resolved(allowed, index, arguments, context)
        if index not in allowed.admitted or known is None or known[1] is not resolved:
            ruling = self._admitted(allowed, index, resolved, arguments, context)
            if ruling.verdict != "allow":
                raise DeniedError(ruling.reason)
        allowed.admitted.discard(index)  # for one call
        if self.rights == "reads" and self._changes(step):
            raise DeniedError("whoever asked may only read here")
        tool = self._tools[step.tool]
        if tool.spec.effect != "none" and allowed.only is None:
            self.foreseen = None  # what was read before this call may have changed after it
        elif (foreseen := self.foreseen) is not None and allowed.only is None:
            taken = foreseen.take(tool.spec.name, arguments)
            if taken is not None:
                context.notices.extend(taken[1])
                return self._observed(allowed, tool.spec, arguments, taken[0])
        if tool.spec.effect != "none":
            self._referents.check_still(tool.spec.name, resolved, context)
        decoded = self._decoded(tool.spec, resolved.received, context)
        self._before(allowed, index, tool.spec, resolved.values, context)
        cause = Cause(
            index,
            tool.spec.name,
            effect_on(tool.spec, resolved.values),
            allowed.rulings[index].rule,
            join_all(value.label for value in arguments.values()),
        )
        try:
            memory = MarkedMemory(context.memory, cause.label)
            unconfirmed = self._labelling.unconfirmed_ids(tool.spec, context.workspace, context.now)
            egress = context.egress.on_behalf(cause)
            result = tool.call(decoded, context.guarded(egress, memory, unconfirmed))
        except DeniedError as error:  # only the guard says this: from a tool it would deny that the call was made
            raise _crashed(tool.spec.name, error) from error
        except HearthError:
            raise
        except BaseException as error:  # in a worker thread even SystemExit and KeyboardInterrupt are the tool's own
            raise _crashed(tool.spec.name, error) from error
        if tool.spec.effect != "none":
            allowed.touched.update(acted_on(tool.spec, resolved.values))
        data = checked(result, tool.spec)
        labelled = self._labelling.labelled(tool.spec, data, arguments, context, memory.lent_to(data))
        if self._reader is not None:
            labelled = self._reader.looked_through(tool.spec, labelled, context.notices)
        return self._observed(allowed, tool.spec, arguments, labelled, resolved.values)

    def _observed(
        self,
        allowed: _Allowed,
        spec: ToolSpec,
        arguments: Mapping[str, Value],
        result: Value,
        things: Mapping[str, Value] | None = None,
    ) -> Value:
        """Note the result in the request's warrant and return it; what any plan of the request was admitted for without
        it is judged again."""
        allowed.admitted.clear()
        for other in self._allowed.values():
            if other.occasion is allowed.occasion:
                other.admitted.clear()
        if allowed.occasion is not None and allowed.occasion.warrant is not None:
            allowed.occasion.warrant.observe(spec.name, arguments, result, things)
        return result

    def _before(
        self, allowed: _Allowed, index: int, spec: ToolSpec, arguments: Mapping[str, Value], context: CallContext
    ) -> None:
        """Record what must be on record before a call: that it is made, and any standing consent given for it.

        An "always" said of the plan is kept only if the owner saw every stranger's value that references brought.
        """
        now = self._judge.moment(context.now)
        for called in (spec.name, *self._judge.set_off_by(arguments)):
            self._records.counts.note(called, now)
        if (consent := allowed.consents.pop(index, None)) is not None:
            self._records.consents.used(consent)
        rules = allowed.kept.pop(index, None)
        if rules:
            resolved = self._labelling.resolved(spec, arguments, context.workspace, context.now)
            if any(value.is_open for value in resolved.values()):
                return  # which thing it is was not known, so there is nothing to agree to for good
            if index not in allowed.confirmed and _unseen_strangers(spec, allowed.steps[index], resolved):
                return
            episode = allowed.occasion.episode if allowed.occasion is not None else ""
            self._records.consents.keep(spec, resolved, "allow", rules, now, episode)

    def rule_undo(self, undone: CallRecord, said: str, context: CallContext) -> Ruling:
        """Allow or deny that a call is taken back, by what that amounts to: setting a lock back may unlock a door.

        What a rule of the owner's denies is denied; asked about is what such a rule asks about, and what cannot be
        taken back itself. That a tool asks by default before it changes something counts for its own calls alone.

        Args:
            said: The request that is taken back, in its words.
        Returns:
            A final ruling, never `ask`.
        """
        assert undone.started is not None
        assert undone.result is not None
        tool = self._tools.get(undone.started.tool)
        amounts_to: tuple[Step, ...] = ()
        if isinstance(tool, Reverting):
            amounts_to = tool.undo_steps(undone.result.value)
        occasion = Occasion(context.now, context.workspace, call=context, undoes=said)
        if not amounts_to and tool is not None:
            tells, again = self._told_again(tool.spec, undone, context)
            if tells:
                return self._rule_telling(again or (Step(tool.spec.name),), tells, occasion)
        steps = tuple(step for step in amounts_to if step.tool in self.specs)  # no rule can be about others
        judged = self._judge.of_plan(Plan(steps), occasion=occasion).steps
        counted = [
            step
            for step, ruling in zip(steps, judged)
            if self.specs[step.tool].effect == "send" or (ruling.verdict != "allow" and ruling.rule != "default")
        ]
        if not counted:
            return Ruling("allow", "taking it back is your word")
        ruling = self.rule(Plan(tuple(counted), planner=OWNERS_WORD), occasion=occasion)
        if ruling.verdict == "allow":
            for step in counted:
                self._records.counts.note(step.tool, self._judge.moment(context.now))
        return ruling

    def _told_again(
        self, spec: ToolSpec, undone: CallRecord, context: CallContext
    ) -> tuple[tuple[str, ...], tuple[Step, ...]]:
        """Return whom servers write to when a call is taken back: whom they wrote to when it was made, and those whom
        the things that it made or changed are shared with now; and a change to each of these things."""
        assert undone.started is not None
        result = undone.result.value if undone.result is not None else None
        made = str(result["id"]) if isinstance(result, dict) and result.get("id") else ""
        found, steps = dict.fromkeys(undone.started.told), []
        kind = spec.fields.get("id")
        for id in dict.fromkeys(filter(None, (*undone.started.things, made))) if spec.effect == "change" else ():
            step = self._change_of(spec, kind, id)
            if step is not None:
                with suppress(HearthError):  # it is gone: who was told when that was done is known
                    named = {name: Value(id, OWNER) for name in step.arguments}
                    if others := told(self.things_of(step, named, context)):
                        found |= dict.fromkeys(others)
                        steps.append(step)
        return tuple(found), tuple(steps)

    def _change_of(self, spec: ToolSpec, kind: str | None, id: str) -> Step | None:
        """Return a change to a thing of the kind that a tool makes, by its id alone."""
        for other in (spec, *self.specs.values()):
            if kind and other.domain == spec.domain and other.effect == "change":
                for parameter in other.parameters:
                    if parameter.type == kind:
                        return Step(other.name, {parameter.name: id})
        return None

    def _rule_telling(self, again: tuple[Step, ...], tells: Sequence[str], occasion: Occasion) -> Ruling:
        """Allow or deny, as its own call would be, that something is taken back that a server tells others of."""
        plan = Plan(again, planner=OWNERS_WORD)
        judgement = self._judge.of_plan(plan, 0, occasion)
        denials = [judgement.ruling]
        for step in again:
            values = {name: Value(id, OWNER) for name, id in step.arguments.items() if isinstance(id, str)}
            if occasion.call is not None:
                denials.append(self._judge.explain_call(step.tool, values, occasion.call).ruling)
        if (denied := next((one for one in denials if one.verdict == "deny"), None)) is not None:
            return denied
        ruling = Ruling("ask", told_reason(tells), TOLD)
        judgement = replace(judgement, steps=(ruling,) * len(again), ruling=ruling)
        reply = self._ask(self._question(plan, judgement, occasion), ruling)
        return self._after(reply, ruling, self._advice(judgement, plan, occasion))

    def undo(self, tool_name: str, arguments: Mapping[str, Plain], result: Plain, context: CallContext) -> None:
        """Have a tool compensate a call the owner takes back; changes to files are the journal's part.

        Raises:
            NotFound: No such tool is registered any more.
            HearthError: It cannot be undone, according to the tool; ToolCrashed when it failed otherwise.
        """
        tool = self._tools.get(tool_name)
        if tool is None:
            raise NotFound(f"cannot undo {tool_name!r}: it is not registered any more; install its plug-in")
        decoded = self._decoded(tool.spec, arguments, context)
        try:
            tool.undo(decoded, result, context)
        except HearthError:
            raise
        except Exception as error:
            raise _crashed(tool_name, error) from error

    def _resolved(
        self, allowed: _Allowed, index: int, arguments: Mapping[str, Value], context: CallContext
    ) -> Resolved:
        """Return the arguments as they were judged: what was judged is what is called. Raises: HearthError."""
        known = allowed.resolved.get(index)
        if known is None or known[0] != arguments:
            known = dict(arguments), self._referents.of_call(allowed.steps[index].tool, arguments, context)
            allowed.resolved[index] = known
        return known[1]

    def _checked_step(self, plan: Plan, index: int, arguments: Mapping[str, Value]) -> tuple[_Allowed, Step]:
        allowed = self._allowed.get(id(plan))
        if allowed is None or not 0 <= index < len(allowed.steps):
            raise DeniedError(f"step {index + 1} belongs to no plan that was allowed; put the plan to `rule` first")
        step = allowed.steps[index]
        if allowed.only is not None and index not in allowed.only:
            raise DeniedError(f"{step.tool} may not be called before the plan is settled; put the plan to `rule` first")
        if arguments.keys() != step.arguments.keys():
            raise DeniedError(
                f"{step.tool} was allowed with the arguments {sorted(step.arguments)}, "
                f"but is called with {sorted(arguments)}"
            )
        for name, value in arguments.items():
            if not _matches(step.arguments[name], value.data):
                raise DeniedError(
                    f"{step.tool} was allowed with {name!r} = {step.arguments[name]!r}, "
                    f"but is called with {value.data!r}"
                )
        return allowed, step

    def _parameters_of(self, spec: ToolSpec) -> dict[str, Parameter]:
        known = self._parameters.get(spec.name)
        if known is None:
            known = self._parameters[spec.name] = {p.name: p for p in spec.parameters}
        return known

    def _decoded(self, spec: ToolSpec, arguments: Mapping[str, Plain], context: CallContext) -> dict[str, object]:
        parameters = self._parameters_of(spec)
        decoded: dict[str, object] = {}
        for name, value in arguments.items():
            parameter = parameters.get(name)
            if parameter is None:
                raise DeniedError(f"{spec.name} has no parameter {name!r}; it takes {', '.join(parameters) or 'none'}")
            if value is None and not parameter.is_required:
                continue
            if parameter.enum and value not in parameter.enum:
                raise NotInEnum(
                    f"{name!r} of {spec.name} is {value!r}; expected one of {', '.join(parameter.enum)}", parameter=name
                )
            decoded[name] = from_plain(value, parameter.type, context.now.tzinfo)
        return decoded


def _unseen_strangers(spec: ToolSpec, step: Step, resolved: Mapping[str, Value]) -> bool:
    """Return whether a value that a consent would fix came from a stranger by a reference: no question showed it."""
    for parameter in spec.parameters:
        value = resolved.get(parameter.name)
        if value is None or not refs_in(step.arguments.get(parameter.name)) or not is_fixed(spec, parameter):
            continue
        sources = join_all((value.label, *value.fields.values())) if value.files else value.label
        if sources.strangers:
            return True
    return False


def _agreed_to(things: Mapping[str, Value]) -> dict[str, Plain]:
    """What the owner agrees to: the values, and the names, texts and states of the things they are."""
    return {
        name: [
            value.data,
            *(text for one in value.things for text in (one.name, one.text, *sum(one.state, ()), *one.told)),
        ]
        for name, value in things.items()
    }


def _now_other(allowed: _Allowed, index: int, things: Mapping[str, Value]) -> str:
    """Say how a thing differs from the one that was agreed to under these words; empty where it does not."""
    for name, before in allowed.things.get(index, {}).items():
        value = things.get(name)
        if value is None:
            continue
        if said := _turned_out(name, before, value) if before.is_open else _other(name, before, value, allowed.touched):
            return said
    return ""


def _turned_out(name: str, words: Value, found: Value) -> str:
    """Say what is meant by words that the owner agreed to, unless they are what this thing alone is called."""
    said = words.data if isinstance(words.data, list) else [words.data]
    names = {text for one in found.things for text in (one.id, one.name, *one.spellings)}
    if not found.things or names.issuperset(map(str, said)):
        return ""
    return f"{name!r} turned out to be {_said(found)}"


def _other(name: str, before: Value, value: Value, touched: set[str]) -> str:
    """Say how things differ from those that were agreed to, apart from what this plan did to them."""
    old, new = ([(one.id, one.name, one.text, one.state, one.told) for one in both.things] for both in (before, value))
    ids, were = [one[0] for one in new], [one[0] for one in old]
    if old != new and not (ids == were and touched.issuperset(ids)):
        was, now = _said(before), _said(value)
        if ids == were and was == now:
            return "; ".join(_changes_of(*pair) for pair in zip(before.things, value.things) if pair[0] != pair[1])
        if was == now:
            was, now = (", ".join(repr(one.id) for one in both.things) for both in (before, value))
        return f"{name!r} was {was} when you agreed, and is {now or 'not known'} now"
    if not new and before.data != value.data:
        return f"{name!r} was {before.data!r} when you agreed, and is {value.data!r} now"
    return ""


def _said(value: Value) -> str:
    return ", ".join(repr(one.said) for one in value.things)


def _changes_of(before: Referent, now: Referent) -> str:
    """Say what of a thing is not what it was when the owner agreed to it."""
    was, is_ = (
        {
            **dict(one.state),
            **({"what goes with it": one.text} if before.text != now.text else {}),
            **({"whom a server writes to": ", ".join(one.told)} if before.told != now.told else {}),
        }
        for one in (before, now)
    )
    changed = [
        f"{what} was {_cut(was.get(what, ''))} and is {_cut(is_.get(what, ''))}"
        for what in dict.fromkeys((*was, *is_))
        if was.get(what, "") != is_.get(what, "")
    ]
    return f"{now.said!r} is not what it was when you agreed: {', '.join(changed)}"


def _cut(text: str) -> str:
    said = " ".join(text.split())
    return (repr(said) if len(said) <= MAX_CHANGE_CHARS else f"{said[:MAX_CHANGE_CHARS]!r}…") if said else "empty"


def _copied(argument: Argument) -> Argument:
    if isinstance(argument, list):
        return [_copied(item) for item in argument]
    if isinstance(argument, dict):
        return {key: _copied(item) for key, item in argument.items()}
    return argument


def _matches(argument: Argument, value: Plain) -> bool:
    """Return whether a bound value agrees with the plan: literals must be equal, references are free."""
    if isinstance(argument, Ref):
        return True
    if isinstance(argument, list):
        if isinstance(value, str):
            return is_made_of(argument, value)
        return isinstance(value, list) and len(argument) == len(value) and all(map(_matches, argument, value))
    if isinstance(argument, dict):
        return (
            isinstance(value, dict)
            and argument.keys() == value.keys()
            and all(_matches(item, value[key]) for key, item in argument.items())
        )
    return type(argument) is type(value) and argument == value


def _crashed(tool: str, error: BaseException) -> ToolCrashed:
    message = str(error).strip().partition("\n")[0][:200]
    said = f": {message}" if message else ""
    return ToolCrashed(f"{tool!r} failed with {type(error).__name__}{said}; this is a fault of the tool, not of yours")
