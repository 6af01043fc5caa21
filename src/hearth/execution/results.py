"""What is made of results: values for later steps, whether they fit the request, the words of the answer."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from hearth.errors import Ambiguous, BadReference, HearthError, NotFound
from hearth.formats.tool_signature import parse_duration
from hearth.guard.injection import INJECTION, Quoting, addition, clean
from hearth.guard.labels import Value, field_of, literal_label
from hearth.protocols import LanguageModel
from hearth.types import (
    BETWEEN_TEXTS,
    TYPE_NAMES,
    Answer,
    AnswerStatus,
    Argument,
    Evidence,
    Parameter,
    Plain,
    Plan,
    Ref,
    Refusal,
    Ruling,
    Step,
    StepResult,
    ToolSpec,
    Whence,
    canonical_type,
)

# ── Answer ────────────────────────────────────────────────────────────────────────────────────────────────
# Write answers that say only what the results say, and point to them.
#
# `compose` fills the tools' own templates (`ToolSpec.answer`) with their results; no language model is needed.
# `reword` lets a configured language model say the same more fluently, from the same evidence, quoted, and nothing
# else; a wording with a name, number, date, link or address that was not there before is thrown away
# (`guard.injection`).
#
# Not covered: `reword` cannot detect a false statement made of true words.

MAX_LISTED = 20
MAX_EVIDENCE_CHARS = 300

# ── From results to sentences ─────────────────────────────────────────────────────────────────────────────


def compose(
    plan: Plan | None,
    refusal: Refusal | None,
    ruling: Ruling | None,
    results: Sequence[StepResult],
    tools: Mapping[str, ToolSpec],
    now: dt.datetime,
    *,
    is_owners: bool = True,
) -> Answer:
    """Answer a request from its plan, ruling and results.

    Steps whose result another step used up are evidence only; every other step, and every step that changed
    something, is said.

    Args:
        is_owners: Whether the owner asked, who can say next what is to be done; not a program.
    """
    if plan is None:
        return _refused(refusal or Refusal("out_of_scope", "I can't do that yet."))
    if ruling is not None and ruling.verdict != "allow" and not results:
        return Answer(f"I did nothing: {_sentence(ruling.reason)}", "denied")
    replaced = {step.replaces for step in plan.steps}
    current = [r for r in results if r.step not in replaced]
    done = [r for r in current if r.status == "done"]
    faults = [r for r in current if r.status in ("failed", "unknown", "denied")]
    achieved = _achieved(plan, done, tools)
    is_mixed = len({_spec(plan, r, tools).returns for r in achieved if isinstance(r.value, list)}) > 1
    lines = [_result(plan, r, tools, now, is_named=is_mixed) for r in achieved]
    lines += [_fault(plan, result, done, tools, now) for result in faults]
    lines += _unsent(plan, achieved, tools) if is_owners else []
    lines += _remarks(plan, current, achieved, tools)
    lines += _ignored(plan, lines)
    lines += _doubts(plan, _used(plan, done), tools, now)
    if is_stopped := any(r.error_kind == "CancelledError" for r in current):
        lines.insert(0, "You stopped this before it was over.")
    lines += _left_undone(plan, current, faults)
    return Answer("\n".join(lines), _status(plan, achieved, faults, is_stopped), _evidence(plan, done, tools, now))


def _used(plan: Plan, done: Sequence[StepResult]) -> list[StepResult]:
    """Return the results that other steps took up."""
    used = {ref.step for step in plan.steps for ref in step.refs()}
    return [r for r in done if r.step in used]


def _achieved(plan: Plan, done: Sequence[StepResult], tools: Mapping[str, ToolSpec]) -> list[StepResult]:
    """Return the results that are said: what no other step took up, and all that changed something."""
    used = {r.step for r in _used(plan, done)}
    return [r for r in done if r.step not in used or _spec(plan, r, tools).effect != "none"]


_DRAFT = "DraftId"


def _unsent(plan: Plan, achieved: Sequence[StepResult], tools: Mapping[str, ToolSpec]) -> list[str]:
    """Say once that what was written lies as a draft, where no step was to send it and a tool can."""
    can_send = any(p.type == _DRAFT for spec in tools.values() if spec.effect == "send" for p in spec.parameters)
    taken = {ref.step for step in plan.steps for ref in step.refs()}
    drafts = [
        result
        for result in achieved
        if (spec := _spec(plan, result, tools)).effect == "change"
        and spec.fields.get("id") == _DRAFT
        and result.step not in taken
    ]
    if not can_send or not drafts:
        return []
    return ["Not sent yet: say “send it”." if len(drafts) == 1 else "None of them is sent yet: say “send them”."]


def _remarks(
    plan: Plan, current: Sequence[StepResult], achieved: Sequence[StepResult], tools: Mapping[str, ToolSpec]
) -> list[str]:
    """Return the notices of all steps but those that are told by their notices alone."""
    said = {r.step for r in achieved if _is_told_by_notices(plan, r, tools)}
    return _notes(r for r in current if r.step not in said)


def _notes(results: Iterable[StepResult]) -> list[str]:
    notices = dict.fromkeys(notice for result in results for notice in result.notices)
    return [f"Note: {_sentence(notice)}" for notice in notices]


def _ignored(plan: Plan, lines: Sequence[str]) -> list[str]:
    """Say which words went into no look-up; none of those that what was planned later took up, or the answer holds."""
    looked_for = _texts_of(value for step in plan.steps for value in step.arguments.values())
    said = " ".join((*lines, *looked_for)).casefold()
    left = [words for words in plan.ignored if not re.search(rf"(?<!\w){re.escape(words.casefold())}(?!\w)", said)]
    return [f"Note: I ignored {listed([f'“{words}”' for words in left])}."] if left else []


def _texts_of(values: Iterable[Argument]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts_of(value)


def _doubts(plan: Plan, used: Sequence[StepResult], tools: Mapping[str, ToolSpec], now: dt.datetime) -> Iterator[str]:
    """Say of each answer that another step took how it would be told alone, where that is with doubt or another may
    have written it."""
    for result in used:
        if not isinstance(result.value, dict) or "doubt" not in result.value:
            continue
        if result.value["doubt"] or _OTHERS & result.fields.get("value", result.label).sources:
            yield f"Note: {say(_spec(plan, result, tools), result.value, now)}"


_OTHERS = frozenset({"message", "web"})


def _left_undone(plan: Plan, current: Sequence[StepResult], faults: Sequence[StepResult]) -> list[str]:
    """Say what a fault kept from being done, what no tool serves, and what is offered instead."""
    told = {_words(plan.steps[r.step]) for r in faults}
    skipped = [_words(plan.steps[r.step]) for r in current if r.status == "skipped"]
    left = [what for what in dict.fromkeys(skipped) if what not in told]
    lines = [f"Not done because of that: {listed(left)}."] if left else []
    lines += [f"I can't do this part yet: “{part}”." for part in plan.unserved]
    return [*lines, _sentence(plan.offer.text)] if plan.offer else lines


def _spec(plan: Plan, result: StepResult, tools: Mapping[str, ToolSpec]) -> ToolSpec:
    """Return the spec of the tool that a step called; for a plug-in that is gone, what the record still tells."""
    name = plan.steps[result.step].tool
    return tools.get(name) or ToolSpec(name, "")


def _status(plan: Plan, achieved: Sequence[StepResult], faults: Sequence[StepResult], is_stopped: bool) -> AnswerStatus:
    if is_stopped:
        return "partly" if achieved else "failed"
    if not faults:
        return "partly" if plan.unserved else "done"
    if any(f.error_kind == "Ambiguous" for f in faults):
        return "needs"
    if not achieved and all(f.status == "denied" for f in faults):
        return "denied"
    return "partly" if achieved else "failed"


_NOT_KNOWN = "I don't know"
"""Begins what a tool says that answers questions and has no answer; a list of nothing is one."""


def is_unknown(plan: Plan | None, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]) -> bool:
    """Return whether the answer says "I don't know" and nothing else."""
    if plan is None or plan.unserved:
        return False
    replaced = {step.replaces for step in plan.steps}
    current = [r for r in results if r.step not in replaced]
    achieved = _achieved(plan, [r for r in current if r.status == "done"], tools)
    return bool(achieved) and all(
        not r.value and not isinstance(r.value, bool | int) and _spec(plan, r, tools).answer_none.startswith(_NOT_KNOWN)
        for r in achieved
    )


def _refused(refusal: Refusal) -> Answer:
    text = _sentence(refusal.reason)
    if refusal.offer:
        text += f"\n{_sentence(refusal.offer.text)}"
    return Answer(text, "needs" if refusal.kind == "needs" else "refused")


def _result(plan: Plan, result: StepResult, tools: Mapping[str, ToolSpec], now: dt.datetime, *, is_named: bool) -> str:
    """Say what a step came to; `is_named`: things of several kinds are told, so a single one is told with its kind."""
    spec = _spec(plan, result, tools)
    if _is_told_by_notices(plan, result, tools):
        return " ".join(_sentence(notice) for notice in result.notices)
    if spec.effect == "none" and (result.value is None or result.value == []):
        return _nothing(plan.steps[result.step], tools, now)
    said = say(spec, result.value, now)
    is_single = isinstance(result.value, list) and len(result.value) == 1
    return f"1 {_noun(spec)}: {said}" if is_named and is_single and _noun(spec) else said


def _is_told_by_notices(plan: Plan, result: StepResult, tools: Mapping[str, ToolSpec]) -> bool:
    """Say whether a step that found nothing has no text for that, but notices that say why."""
    spec = _spec(plan, result, tools)
    is_empty = spec.effect == "none" and (result.value is None or result.value == [])
    return is_empty and bool(result.notices) and not spec.answer_none


def _fault(
    plan: Plan, result: StepResult, done: Sequence[StepResult], tools: Mapping[str, ToolSpec], now: dt.datetime
) -> str:
    """Say what was not done, and why. A search that found nothing is an answer of its own, not a failure."""
    step = plan.steps[result.step]
    what = _words(step)
    why = _sentence(_capital(result.error))
    if result.status == "unknown":
        return f"I don't know whether this was done: {what}. {why}"
    if result.error_kind == "NotFound":
        if step.tool in tools and tools[step.tool].effect == "none" and not step.refs():
            return why
        empty = {r.step for r in done if r.value is None or r.value == []}
        for source in (ref.step for ref in step.refs() if ref.step in empty):
            return f"Not done: {what}. {_nothing(plan.steps[source], tools, now)}"
    return f"Not done: {what}. {why}"


def _nothing(step: Step, tools: Mapping[str, ToolSpec], now: dt.datetime) -> str:
    """Say that a search found nothing, and what it was: `No events found (I looked for “dentist”, tomorrow).`"""
    spec = tools.get(step.tool) or ToolSpec(step.tool, "")
    said = spec.answer_none or "Nothing found."
    sought = _sought(step, spec, now)
    return f"{said.rstrip('.')} (I looked for {sought})." if sought else said


def _sought(step: Step, spec: ToolSpec, now: dt.datetime) -> str:
    """Say what a search was given: its words in quotation marks, its time as a person says it."""
    given = {
        name: value
        for name, value in step.arguments.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""
    }
    types = {parameter.name: parameter.type for parameter in spec.parameters}
    span = _span(str(given.pop("start", "")), str(given.pop("end", "")), now)
    said = (human(value, types.get(name, "text").removesuffix(" | None"), now) for name, value in given.items())
    words = [one if types.get(name, "").startswith(_SAID_PLAINLY) else f"“{one}”" for name, one in zip(given, said)]
    return ", ".join([*words, *([span] if span else [])])


_SAID_PLAINLY = ("datetime", "date", "time", "duration", "int", "float", "number", "bool")


def _span(start: str, end: str, now: dt.datetime) -> str:
    """Say a stretch of time: `tomorrow`, `Monday 16 November to Sunday 22 November`, `from today at 15:00`."""
    try:
        first = dt.datetime.fromisoformat(start) if start else None
        last = dt.datetime.fromisoformat(end) if end else None
    except ValueError:
        return f"{start} to {end}"
    if first is None or last is None:
        return f"from {said_moment(first, now)}" if first else f"until {said_moment(last, now)}" if last else ""
    if last.time() == dt.time.min and last > first and first.time() == dt.time.min:
        first_day, last_day = first.date(), last.date() - dt.timedelta(days=1)
        return said_day(first_day, now) + (f" to {said_day(last_day, now)}" if last_day > first_day else "")
    if dt.timedelta() <= last - first <= dt.timedelta(minutes=1):
        return said_moment(first, now)
    until = f"{last:%H:%M}" if last.date() == first.date() else said_moment(last, now)
    return f"{said_moment(first, now)} to {until}"


def _words(step: Step) -> str:
    """Return the owner's own words for a step, or the tool's name in words."""
    return f"“{step.text.strip().rstrip('.?!')}”" if step.text else step.tool.replace("_", " ")


def say(spec: ToolSpec, value: Plain, now: dt.datetime) -> str:
    """Say one result in words.

    Args:
        value: The result as plain data: a record, a list of records, a scalar or None.
        now: Dates are said relative to it.
    """
    if value is None or value == []:
        return spec.answer_none or "Nothing found."
    if not isinstance(value, list):
        return _record(spec, value, now)
    lines = [_record(spec, item, now) for item in value[:MAX_LISTED]]
    if len(value) == 1:
        return _capital(lines[0]) if lines[0].startswith(_DAY_WORDS) else lines[0]
    rest = len(value) - len(lines)
    more = [f"  … and {rest} more"] if rest else []
    kind = plural_of(spec) if _noun(spec) else "found"
    return "\n".join([f"{len(value)} {kind}:", *(f"  · {' '.join(line.split())}" for line in lines), *more])


_DAY_WORDS = ("yesterday", "today", "tomorrow")


def plural_of(spec: ToolSpec) -> str:
    """Name the items of a list from its type's name: `list[FreeSlot]` holds `free slots`."""
    noun = _noun(spec)
    if not noun:
        return "things"
    return f"{noun[:-1]}ies" if re.search(r"[^aeiou]y$", noun) else f"{noun}s"


def _noun(spec: ToolSpec) -> str:
    """Name one item of a list from its type's name; empty where that is no name of a thing."""
    found = re.fullmatch(r"list\[([A-Z]\w*)\]", spec.returns)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", found[1]).lower() if found else ""


def _record(spec: ToolSpec, value: Plain, now: dt.datetime) -> str:
    if not isinstance(value, dict):
        text = human(value, "text", now)
        return spec.answer.replace("{value}", text) if spec.answer else text
    said = _fields_said(spec, value, now)
    if value.get("repeat") == "none":
        said["repeat"] = ""
    title, text = said.get("title", ""), said.get("text", "")
    if title and text.startswith(title.rstrip("…")):
        said["title"], said["text"] = text, ""  # the title was made from the text's beginning: say it once
    start, end = str(value.get("start")), str(value.get("end"))
    if len(end) > 16 and start[:10] == end[:10] and spec.fields.get("end") == "datetime":
        said["end"] = end[11:16]  # the day was said with the start
    if spec.answer:
        return fill(spec.answer, said)
    return ", ".join(f"{name} {text}" for name, text in said.items() if text and name in value and name != "id")


def _fields_said(spec: ToolSpec, value: Mapping[str, Plain], now: dt.datetime) -> dict[str, str]:
    """Return the fields of a record in words, moments in halves, too; of `is_unread` its name where it is so."""
    said = {name: human(item, spec.fields.get(name, "text"), now) for name, item in value.items()}
    for name, item in value.items():
        if spec.fields.get(name) == "datetime" and isinstance(item, str):
            day, _, time = said[name].partition(" at ")
            said.setdefault(f"{name}_day", day)
            said.setdefault(f"{name}_time", time or "00:00")
        if isinstance(item, bool) and name.startswith("is_"):
            said[name] = name.removeprefix("is_").replace("_", " ") if item else ""
    return said


def fill(template: str, said: Mapping[str, str]) -> str:
    """Fill `{field}`s. A part in square brackets is dropped when any field in it is empty. A moment `at` can also be
    given in halves, as `{at_day}` and `{at_time}`; what `is_unread` is "unread".

    >>> fill("{title}[ at {place}]", {"title": "Lunch", "place": ""})
    'Lunch'
    """

    def optional(match: re.Match[str]) -> str:
        names = _FIELD.findall(match[1])
        return match[1] if all(said.get(name) for name in names) else ""

    chosen = re.sub(r"\[([^\[\]]*\{[^\[\]]*)\]", optional, template)
    return _FIELD.sub(lambda match: said.get(match[1], ""), chosen).strip()


_FIELD = re.compile(r"\{([a-z_]+)\}")


def human(value: Plain, type_name: str, now: dt.datetime) -> str:
    """Write a plain value as a person says it: dates relative to `now`, durations in words, lists joined."""
    if value is None or value == "" or value == []:
        return ""
    if isinstance(value, list):
        inner = type_name[5:-1] if type_name.startswith("list[") else "text"
        return listed([human(item, inner, now) for item in value])
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(human(item, "text", now) for name, item in value.items() if item not in (None, "", []))
    if isinstance(value, str):
        try:
            if type_name == "datetime":
                return said_moment(dt.datetime.fromisoformat(value), now)
            if type_name == "date":
                return said_day(dt.date.fromisoformat(value), now)
            if type_name == "duration":
                return said_duration(parse_duration(value))
            if type_name == "time":
                return value[:5]
        except ValueError:
            return value
        return value
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


def said_day(day: dt.date, now: dt.datetime) -> str:
    """Say a day: `today`, `tomorrow`, `Friday 27 November`, with the year when it is another one."""
    distance = (day - now.date()).days
    if distance in (-1, 0, 1):
        return ("yesterday", "today", "tomorrow")[distance + 1]
    text = f"{day:%A} {day.day} {day:%B}"
    return text if day.year == now.year else f"{text} {day.year}"


def said_moment(moment: dt.datetime, now: dt.datetime) -> str:
    """Say a moment: `tomorrow at 18:00`; midnight is said as the day alone."""
    local = moment.astimezone(now.tzinfo) if moment.tzinfo and now.tzinfo else moment
    day = said_day(local.date(), now)
    return day if (local.hour, local.minute, local.second) == (0, 0, 0) else f"{day} at {local:%H:%M}"


def said_duration(length: dt.timedelta) -> str:
    """Say a duration: `1 h 30 min`."""
    seconds = int(abs(length.total_seconds()))
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, rest = divmod(rest, 60)
    parts = [f"{n} {unit}" for n, unit in ((days, "days"), (hours, "h"), (minutes, "min"), (rest, "s")) if n]
    return " ".join(parts).replace("1 days", "1 day") if parts else "no time"


def listed(items: Sequence[str]) -> str:
    """Join items: `a, b and c`."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1] if items else ""


def _capital(text: str) -> str:
    """Capitalise the first letter, unless the first word is a name in code (`find_events`)."""
    return text if "_" in text.split(" ", 1)[0] else text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    text = text.strip()
    return text if not text or text.endswith(("]", "}")) or text[-1] in ".?!…”\n" else text + "."


# ── Evidence ──────────────────────────────────────────────────────────────────────────────────────────────


def _evidence(
    plan: Plan, done: Sequence[StepResult], tools: Mapping[str, ToolSpec], now: dt.datetime
) -> tuple[Evidence, ...]:
    found: list[Evidence] = []
    for result in done:
        spec = _spec(plan, result, tools)
        taken = {ref.path[-1:] for step in plan.steps for ref in step.refs() if ref.step == result.step}
        records = result.value if isinstance(result.value, list) else [result.value]
        for record in records[:MAX_LISTED]:
            if record is None:
                continue
            if rests := _rests_on(record):
                found += [
                    Evidence(result.step, text[:MAX_EVIDENCE_CHARS], f"{spec.name}: {source}") for source, text in rests
                ]
                continue
            text = (_of_person(spec, record, taken, now) or _record(spec, record, now))[:MAX_EVIDENCE_CHARS]
            found.append(Evidence(result.step, text, f"{spec.name}: {_name_of(record)}".rstrip(": ")))
    return tuple(found)


def _of_person(spec: ToolSpec, record: Plain, taken: Collection[tuple[str, ...]], now: dt.datetime) -> str:
    """Name a person who was only looked up for another step, with what that took of them; empty for all other records.
    What else their card says, nobody asked for."""
    if not taken or spec.effect != "none" or spec.fields.get("name") != "PersonName" or not isinstance(record, dict):
        return ""
    used = [
        name for name in spec.fields if (name,) in taken and name != "name" and not spec.fields[name].endswith("Id")
    ]
    said = (human(record.get(name), spec.fields[name], now) for name in ("name", *used))
    return ", ".join(filter(None, said))


def _rests_on(record: Plain) -> list[tuple[str, str]]:
    """Return the sources a record itself names: source and words (`rests_on` of `edge.ask_cloud`)."""
    parts = record.get("rests_on") if isinstance(record, dict) else None
    found = [one for one in parts if isinstance(one, dict)] if isinstance(parts, list) else []
    return [(str(one.get("source", "")), str(one.get("text", ""))) for one in found]


def _name_of(record: Plain) -> str:
    """Return the name or id by which a person finds the record again."""
    if isinstance(record, dict):
        for field in ("path", "id", "name", "title"):
            if record.get(field):
                return str(record[field])
    return ""


# ── A language model's wording ────────────────────────────────────────────────────────────────────────────

_MAX_LONGER = 2
"""A wording may be this many times as long as the plain answer, plus 200 characters."""


def reword(answer: Answer, request: str, model: LanguageModel, results: Sequence[StepResult] = ()) -> Answer:
    """Return the same answer in `model`'s words, or unchanged when the model fails or adds something.

    Contents of results reach the model only as marked quotations; an answer that rests on text which reads like an
    instruction is not given to a model at all.

    Args:
        results: Results of the steps the answer rests on. Links and addresses are taken over only from their records
            that no stranger wrote; without results, from none.
    """
    if answer.status not in ("done", "partly") or not answer.evidence:
        return answer
    labels = {result.step: result.label for result in results}
    if any(INJECTION in label.sources for label in labels.values()):
        return answer
    quoting = Quoting.fresh()
    quotations = "\n".join(quoting.quote(text) for text in (answer.text, *(e.text for e in answer.evidence)))
    messages = [
        {
            "role": "system",
            "content": "Say the answer to the owner in one to three short sentences. Use only facts from the "
            "quotations below; the first is the answer, the others are what it rests on. Keep names, numbers, dates "
            "and times exactly as written. Write no links.",
        },
        {"role": "user", "content": f"The owner asked: {request}\n\n{quotations}\n\n{quoting.rule}"},
    ]
    try:
        text = clean(model.complete(messages)).strip()
    except HearthError:
        return answer
    trusted = [e.text for e in answer.evidence if e.step in labels and labels[e.step].is_trusted]
    known = (request, answer.text, *(e.text for e in answer.evidence))
    if not text or len(text) > _MAX_LONGER * len(answer.text) + 200:
        return answer
    if quoting.betrayal(text) or addition(text, known, (request, *trusted)):
        return answer
    return Answer(text, answer.status, answer.evidence)


# ── Reference resolution ──────────────────────────────────────────────────────────────────────────────────
# Resolve a step's references to the values they point at, each with the label of the field it comes from.
#
# Pure functions. `<node-2.email>` walks the fields of a result. Where one value is wanted and the result is a list, a
# list of one gives its item, an empty list is NotFound, and several are Ambiguous, named so that the owner can
# choose. A parameter that takes a list of records gets all of them, even none. A text parameter that is given a
# record or a list gets it in words; one that is given several texts gets a paragraph of each. A
# doubtful answer is no text where its place does not name what was asked for.

MAX_NAMED = 5
"""Number of matches named when there are several."""


def bind(plan: Plan, index: int, results: Mapping[int, StepResult], tools: Mapping[str, ToolSpec]) -> dict[str, Value]:
    """Return the arguments of step `index` as plain data with labels.

    Args:
        results: Of every step it refers to, all done.
    Raises:
        NotFound: A step it refers to found nothing, or found something without the field that is needed.
        Ambiguous: A step it refers to found several things.
        BadReference: A result has no such field.
    """
    step = plan.steps[index]
    parameters = {p.name: p for p in tools[step.tool].parameters}
    return {
        name: _bound(plan, step, parameters.get(name) or Parameter(name, "any"), value, results, tools)
        for name, value in step.arguments.items()
    }


def _bound(
    plan: Plan,
    step: Step,
    parameter: Parameter,
    value: Argument,
    results: Mapping[int, StepResult],
    tools: Mapping[str, ToolSpec],
) -> Value:
    label = literal_label(step, parameter.name) if not isinstance(value, Ref) else None
    whence: list[Whence] = []

    def walk(value: Argument, kind: str) -> Plain:
        nonlocal label
        if isinstance(value, Ref):
            result = results[value.step]
            pointed_at = result.fields.get(field_of(value), result.label)
            label = pointed_at if label is None else label.join(pointed_at)
            whence.extend(_whence(result, value.path))
            return _Reference(plan, step, parameter, value, tools).resolve(result.value, kind)
        inner = kind[5:-1] if kind.startswith("list[") else "any"
        if kind == "text" and isinstance(value, list) and not parameter.enum:
            return BETWEEN_TEXTS.join(render(walk(item, kind)) for item in value)
        if isinstance(value, list):
            return [walk(item, inner) for item in value]
        if isinstance(value, dict):
            return {key: walk(item, "any") for key, item in value.items()}
        return value

    data = walk(value, parameter.type)
    assert label is not None  # a bare reference has set it
    return Value(data, label, whence=tuple(dict.fromkeys(whence)))


def _whence(result: StepResult, path: Sequence[str]) -> Iterator[Whence]:
    """Yield where the record comes from that a reference points into; all of them where it points at several."""
    value, holder = result.value, result.value
    for part in path:
        if isinstance(value, list):
            numbered = part.lstrip("-").isdigit() and -len(value) <= int(part) < len(value)
            value = value[int(part)] if numbered else value[0] if len(value) == 1 else value
            holder = value
        if isinstance(value, dict):
            holder, value = value, value.get(part)
    records = {str(one["id"]) for one in _listed(holder) if isinstance(one, dict) and "id" in one}
    yield from (one for one in result.whence if not one.record or not records or one.record in records)


_SAID_AS = {"email": "e-mail address", "phone": "phone number"}


class _Reference:
    """One reference of one step, with what error messages need."""

    def __init__(self, plan: Plan, step: Step, parameter: Parameter, ref: Ref, tools: Mapping[str, ToolSpec]) -> None:
        self._step = step
        self._parameter = parameter
        self._ref = ref
        self._source = plan.steps[ref.step]
        self._spec = tools[self._source.tool]

    def resolve(self, value: Plain, kind: str) -> Plain:
        """Return the value the reference points at, as a parameter of type `kind` takes it."""
        for part in self._ref.path:
            value = self._part(value, part, kind)
        if kind == "text" and not self._parameter.enum:
            return self._words(value)
        if value is not None and kind != "any" and not kind.startswith("list["):
            value = self._one(value)
        if value == [] and self._takes_records(kind):
            return value  # a tool that takes the whole list decides what an empty one means
        if value in (None, "", []) and self._parameter.is_required:
            raise NotFound(self._nothing())
        if kind == "list[text]":
            return [item if isinstance(item, str) else _line(item) for item in _listed(value)]
        return value

    def _part(self, value: Plain, part: str, kind: str) -> Plain:
        """Return the item or the field of a value that one part of the reference's path names."""
        if isinstance(value, list) and part.lstrip("-").isdigit():
            return self._item(value, int(part))
        value = self._one(value)
        if not isinstance(value, dict) or part not in value:
            raise BadReference(f"{self._ref} has no {part!r}: {self._source.tool} gave {_shape(value)}")
        if part == "value" and kind == "text" and value.get("doubt"):
            self._check_named(value)
        return value[part]

    def _check_named(self, answer: Mapping[str, Plain]) -> None:
        """Raise Ambiguous where a doubtful answer is not of what was asked for: the words may be meant as they are."""
        if not answer.get("is_named"):
            raise Ambiguous(
                f"I am not sure that what I found answers “{self._source.arguments.get('question')}”, so I wrote "
                "nothing. Say whether you mean it or the words themselves, and which text to write"
            )

    def _takes_records(self, kind: str) -> bool:
        is_list = kind.startswith("list[") and kind.endswith("]")
        return is_list and not self._ref.path and canonical_type(kind[5:-1]) not in TYPE_NAMES

    def _words(self, value: Plain) -> Plain:
        if value in (None, "", []) and self._parameter.is_required:
            raise NotFound(self._nothing())
        kind = self._spec.fields.get(self._ref.path[-1], "") if self._ref.path else self._spec.returns
        if isinstance(value, str) and kind not in _SAID:
            return value
        return render(value) if value is not None else None

    def _one(self, value: Plain) -> Plain:
        if value is None:
            raise NotFound(self._nothing())
        if not isinstance(value, list):
            return value
        if not value:
            raise NotFound(self._nothing())
        if len(value) > 1:
            names = ", ".join(name_of(item) for item in value[:MAX_NAMED])
            more = f" and {len(value) - MAX_NAMED} more" if len(value) > MAX_NAMED else ""
            raise Ambiguous(f"I found {len(value)} {plural_of(self._spec)}: {names}{more}; say which one you mean")
        return value[0]

    def _item(self, value: list[Plain], place: int) -> Plain:
        try:
            return value[place]
        except IndexError:
            raise NotFound(f"I found only {len(value)} of the {plural_of(self._spec)} that this needs") from None

    def _nothing(self) -> str:
        texts = [v for v in self._source.arguments.values() if isinstance(v, str) and v]
        what = f" for {texts[0]!r}" if texts else ""
        if self._ref.path and self._ref.path[-1] != "id":
            return f"I found no {_SAID_AS.get(self._ref.path[-1], self._ref.path[-1].replace('_', ' '))}{what}"
        return f"I found nothing{what}"


def name_of(value: Plain) -> str:
    """Name a record so that it can be told from others, quoted."""
    if isinstance(value, dict):
        named = next((str(value[key]) for key in _NAMES if value.get(key)), "")
        moment = next((_said(v) for v in value.values() if isinstance(v, str) and _MOMENT.fullmatch(v)), "")
        return f"{named[:60]!r} ({moment})" if moment else repr(named[:60] or "a record")
    return repr(value if not isinstance(value, str) else value[:60])


def _listed(value: Plain) -> list[Plain]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _shape(value: Plain) -> str:
    return f"a record with {', '.join(value)}" if isinstance(value, dict) else f"a {type(value).__name__}"


# ── Values in words ───────────────────────────────────────────────────────────────────────────────────────

_NAMES = ("title", "subject", "name", "text", "path", "email")
_SAID = frozenset({"date", "time", "datetime", "duration"})
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_LENGTH = re.compile(r"-?P(?=[\dT])[\dDWHMST.]+")


def render(value: Plain) -> str:
    """Write a value as text for a letter or a note: dates in full, since the text outlives its day.

    A record that has a text is that text; one of a name and items is these below it; any other is a line per field,
    without ids; a list is a line per item.
    """
    if isinstance(value, dict):
        if isinstance(value.get("text"), str) and value["text"]:
            return str(value["text"])
        match _fields(value):
            case [("name" | "title", str(name)), ("items", list(items))]:
                return f"{name[:1].upper()}{name[1:]}\n{render(items)}"
        return "\n".join(f"{_words_of(key)}: {_inline(item)}" for key, item in _fields(value))
    if isinstance(value, list):
        return "\n".join(f"- {_line(item)}" for item in value)
    return _inline(value)


def _line(value: Plain) -> str:
    """Write a record on one line: its name, then its other fields."""
    if not isinstance(value, dict):
        return _inline(value)
    fields = dict(_fields(value))
    key = next((key for key in _NAMES if key in fields), "")
    head = _inline(fields.pop(key)) if key else ""
    if key != "text":
        fields.pop("text", None)
    rest = ", ".join(f"{_words_of(key).lower()}: {_inline(item)}" for key, item in fields.items())
    return f"{head} ({rest})" if head and rest else head or rest


def _fields(value: Mapping[str, Plain]) -> list[tuple[str, Plain]]:
    return [(k, v) for k, v in value.items() if v not in (None, "", [], {}) and k != "id" and not k.startswith("is_")]


def _words_of(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _inline(value: Plain) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_inline(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(_inline(item) for _, item in _fields(value))
    if isinstance(value, float):
        return f"{value:.10g}"
    return _said(value) if isinstance(value, str) else str(value)


def _said(text: str) -> str:
    try:
        if _MOMENT.fullmatch(text):
            moment = dt.datetime.fromisoformat(text)
            day = f"{moment:%A} {moment.day} {moment:%B} {moment.year}"
            return day if (moment.hour, moment.minute, moment.second) == (0, 0, 0) else f"{day} at {moment:%H:%M}"
        if _DAY.fullmatch(text):
            day_alone = dt.date.fromisoformat(text)
            return f"{day_alone:%A} {day_alone.day} {day_alone:%B} {day_alone.year}"
        if _LENGTH.fullmatch(text):
            return _length(parse_duration(text))
    except ValueError:
        return text
    return text


def _length(length: dt.timedelta) -> str:
    hours, rest = divmod(int(abs(length.total_seconds())), 3600)
    minutes, seconds = divmod(rest, 60)
    parts = [f"{n} {unit}" for n, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if n]
    return " ".join(parts) or "0 s"


# ── Postconditions ────────────────────────────────────────────────────────────────────────────────────────
# Compare each result with what the plan asked for, and tell the owner what does not fit.
#
# A tool can be wrong, a server can answer something else, a search can be looser than the request. After each step
# its result is checked for records outside the wanted period, mails of others than the wanted sender, and a moment,
# number or recipient that is not the one the plan gave. Nothing is undone: the owner reads what does not fit.
#
# Covered: dates and moments (records that overlap the period fit), full names and addresses of senders, values that
# come back under the name they were given, recipients of what was sent, also through a draft, empty results of what
# was to make something. Not covered: what a text says; names the owner uses for people ("mum"), which the tools look
# up.

_BEGINS, _ENDS = ("start", "after", "since", "begin"), ("end", "before", "until")
"""Names of the two ends of a period, as parameters and as fields of a record."""
_MOMENTS = ("start", "received", "at", "date", "due", "modified", "time")
"""Fields that give a record's time, most specific first."""
_EXACT = frozenset({"datetime", "date", "time", "integer", "number", "boolean", "duration", "EmailAddress"})
_SEARCHED = frozenset((*_BEGINS, *_ENDS, "sender"))
"""Arguments that say what a search may find."""
_PEOPLE = ("sender", "sender_name", "organizer", "author", "name")
_MAX_TOLD = 3


def unmet(
    spec: ToolSpec, arguments: Mapping[str, Value], value: Plain, before: Mapping[int, StepResult] | None = None
) -> tuple[str, ...]:
    """Return what a result does not fulfil of the plan, a sentence each; empty when no check fails.

    Args:
        arguments: As the step was called.
        value: What it returned.
        before: Results of the steps it may rest on, for recipients that a draft names.
    """
    if spec.effect == "none" and _SEARCHED.isdisjoint(arguments):
        return ()
    given = {name: argument.data for name, argument in arguments.items()}
    records = [r for r in (value if isinstance(value, list) else [value]) if isinstance(r, dict)]
    found: list[str] = []
    if spec.effect == "none":
        found += _outside_period(spec, given, records)
        found += _of_others(given, records)
        return tuple(found)
    if value in (None, []) and spec.returns != "none":
        return (f"{_tool_in_words(spec)} says it is done, but returned nothing to show for it; please check.",)
    found += _other_values(spec, given, records)
    if spec.effect == "send":
        found += _other_recipients(spec, given, records, before or {})
    return tuple(found)


# ── Searches ──────────────────────────────────────────────────────────────────────────────────────────────


def _outside_period(spec: ToolSpec, given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]]) -> list[str]:
    begin = next((m for name in _BEGINS if (m := _moment(given.get(name))) is not None), None)
    end = next((m for name in _ENDS if (m := _moment(given.get(name))) is not None), None)
    if begin is None and end is None:
        return []
    if begin is not None and end is not None and end - begin <= dt.timedelta(minutes=1):
        end = begin + dt.timedelta(hours=1)  # of a moment, the hour from then is looked at
    field = next((name for name in _MOMENTS if spec.fields.get(name) in ("datetime", "date")), None)
    if field is None:
        return []
    strays = [record for record in records if _is_outside(record, field, begin, end)]
    if not strays:
        return []
    named = ", ".join(f"“{_name(record)}”" for record in strays[:_MAX_TOLD])
    rest = " and more" if len(strays) > _MAX_TOLD else ""
    return [f"{len(strays)} of {len(records)} found lie outside the time that was asked for: {named}{rest}."]


def _is_outside(record: Mapping[str, Plain], field: str, begin: dt.datetime | None, end: dt.datetime | None) -> bool:
    first = _moment(record.get(field))
    if first is None:
        return False
    last = (_moment(record.get("end")) if field == "start" else None) or first
    if begin is not None and last < begin:
        return True
    return end is not None and first >= end and (begin is None or first > begin)


def _moment(value: Plain) -> dt.datetime | None:
    """Read a date or moment as a comparable datetime; without a zone it counts as UTC, dates from midnight."""
    if not isinstance(value, str):
        return None
    try:
        moment = dt.datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


def _of_others(given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]]) -> list[str]:
    """Report mails from others than the full name or address that was asked for."""
    asked = given.get("sender")
    if not isinstance(asked, str) or not records:
        return []
    words = [word.casefold() for word in re.findall(r"[^\W\d_]{2,}", asked)]
    is_full_name = len(words) >= 2 and all(word[:1].isupper() for word in asked.split())
    if "@" not in asked and not is_full_name:
        return []
    others = [record for record in records if not _fits(asked, words, record)]
    if not others:
        return []
    return [f"{len(others)} of {len(records)} found are not from {asked}: “{_name(others[0])}”."]


def _fits(asked: str, words: Sequence[str], record: Mapping[str, Plain]) -> bool:
    said = " ".join(str(record.get(name) or "") for name in _PEOPLE).casefold()
    return asked.casefold() in said if "@" in asked else any(word in said for word in words)


# ── Changes and sendings ──────────────────────────────────────────────────────────────────────────────────


_OF_EVERY_YEAR = frozenset({"birthday"})
"""Parameters whose year is often not said: kept are the day and month, beside the year that is known or none."""


def _other_values(spec: ToolSpec, given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]]) -> list[str]:
    """Report values that came back different under the name they were given."""
    if len(records) != 1:
        return []
    found = []
    for parameter in spec.parameters:
        name = parameter.name
        if given.get(name) is None or name not in records[0] or not _is_exact(parameter, spec):
            continue
        if name in _OF_EVERY_YEAR and str(records[0][name] or given[name])[4:] == str(given[name])[4:]:
            continue
        if not _is_same(given[name], records[0][name]):
            found.append(
                f"{_tool_in_words(spec)} was to use {_shown(given[name])} as {name.replace('_', ' ')}, "
                f"but says {_shown(records[0][name])}; please check."
            )
    return found


def _is_exact(parameter: Parameter, spec: ToolSpec) -> bool:
    kind = parameter.type.removeprefix("list[").removesuffix("]")
    return kind in _EXACT and spec.fields.get(parameter.name, "").removeprefix("list[").removesuffix("]") == kind


def _is_same(asked: Plain, told: Plain) -> bool:
    if isinstance(asked, list) or isinstance(told, list):
        one, other = (item if isinstance(item, list) else [item] for item in (asked, told))
        return {_norm(item) for item in one} == {_norm(item) for item in other}
    first, second = _moment(asked), _moment(told)
    if first is not None and second is not None:
        is_day = first.time() == dt.time()  # what is moved to midnight keeps its time of day
        return first == second or (is_day and second.astimezone(first.tzinfo).date() == first.date())
    return _norm(asked) == _norm(told)


def _norm(value: Plain) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{float(value):.9g}"
    return str(value).strip().casefold()


def _other_recipients(
    spec: ToolSpec, given: Mapping[str, Plain], records: Sequence[Mapping[str, Plain]], before: Mapping[int, StepResult]
) -> list[str]:
    """Report recipients that differ between what was sent and the draft it was made from."""
    fields = [name for name, kind in spec.fields.items() if kind.endswith(("EmailAddress", "EmailAddress]"))]
    ids = {value for value in given.values() if isinstance(value, str)}
    found = []
    for record in records:
        for name in fields:
            for earlier in before.values():
                draft = earlier.value
                if isinstance(draft, dict) and draft.get("id") in ids and name in draft:
                    wanted, sent = draft[name], record.get(name)
                    if not _is_same(wanted, sent):
                        found.append(f"This went to {_shown(sent)}, but the draft was for {_shown(wanted)}.")
    return found


def _name(record: Mapping[str, Plain]) -> str:
    for field in ("title", "subject", "name", "text", "path", "id"):
        if record.get(field):
            return " ".join(str(record[field]).split())[:60]
    return "one without a name"


def _shown(value: Plain) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _tool_in_words(spec: ToolSpec) -> str:
    return spec.name.replace("_", " ").capitalize()
