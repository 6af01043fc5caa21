"""Write answers that say only what the results say, and point to them.

`compose` fills the tools' own templates (`ToolSpec.answer`) with their results; no language model is needed. `reword`
lets a configured language model say the same more fluently, from the same evidence, quoted, and nothing else; a wording
with a name, number, date, link or address that was not there before is thrown away (`guard.flow.injection`).

Not covered: `reword` cannot detect a false statement made of true words.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from hearth.errors import HearthError
from hearth.formats.tool_signature import parse_duration
from hearth.guard.flow.injection import INJECTION, Quoting, addition, clean
from hearth.protocols import LanguageModel
from hearth.types import Answer, AnswerStatus, Evidence, Plain, Plan, Refusal, Ruling, Step, StepResult, ToolSpec

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
    used = {ref.step for step in plan.steps for ref in step.refs()}
    achieved = [r for r in done if r.step not in used or _spec(plan, r, tools).effect != "none"]
    is_mixed = len({_spec(plan, r, tools).returns for r in achieved if isinstance(r.value, list)}) > 1
    lines = [_result(plan, r, tools, now, is_named=is_mixed) for r in achieved]
    lines += [_fault(plan, result, done, tools, now) for result in faults]
    lines += _unsent(plan, achieved, tools) if is_owners else []
    lines += _remarks(plan, current, achieved, tools)
    lines += _doubts(plan, [r for r in done if r.step in used], tools, now)
    if is_stopped := any(r.error_kind == "CancelledError" for r in current):
        lines.insert(0, "You stopped this before it was over.")
    lines += _left_undone(plan, current, faults)
    return Answer("\n".join(lines), _status(plan, achieved, faults, is_stopped), _evidence(plan, done, tools, now))


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
    """Return the sources a record itself names: source and words (`rests_on` of `edge.answers.ask_cloud`)."""
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
