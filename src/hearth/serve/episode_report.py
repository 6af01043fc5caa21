"""Write one HTML file that shows what a run did, and why: readable offline, on a phone, in the dark and on paper.

Self-contained: no script, style, font or picture is loaded from anywhere, and a content security policy in the file
lets only the file's own script run, so that text from a mail or a web page stays text. A long run shows the first
episodes in full and all of them in a searchable table.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from hearth.errors import HearthError, MissingExtraError
from hearth.formats.plan_text import argument_text, mark, plan_lines
from hearth.serve.plan_layout import Arrow, layout
from hearth.terminal import MEANINGS, clean, short
from hearth.types import Disclosure, Episode, Plain, Plan, StepResult, ToolSpec

MAX_FULL = 200
"""Number of episodes shown in full; the table holds all."""
MAX_DRAWN_STEPS = 12
MAX_ROWS = 6
MAX_COLUMNS = 6
MAX_CELL = 160
MAX_ANSWER = 4000
MAX_TABLE_TEXT = 300
MAX_IMAGES, MAX_IMAGE_BYTES = 12, 2_000_000

_LINE_HEIGHT = 16.0
_CHARACTER_WIDTH = 6.7
_BOX_CHARACTERS = 34


def write_report(
    path: Path, episodes: Sequence[Episode], tools: Mapping[str, ToolSpec], meta: Mapping[str, object]
) -> None:
    """Write the report of a run, replacing the file at `path` atomically.

    Args:
        tools: Descriptions of the tools, to mark what changes or sends something.
        meta: Facts about the run, shown as they are (`wall_s` in seconds, `started` a moment).
    Raises:
        HearthError: The file cannot be written; one that was there is as before.
    """
    page = render_report(episodes, tools, meta)
    draft = path.with_name(f".{path.name}.part")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise HearthError(f"cannot write the report to {str(path)!r}: {error.strerror}; choose another place") from None


def render_report(episodes: Sequence[Episode], tools: Mapping[str, ToolSpec], meta: Mapping[str, object]) -> str:
    """Render the page as text."""
    try:  # imported only by a run that writes a report
        import jinja2
        from markupsafe import Markup
    except ModuleNotFoundError:
        raise MissingExtraError("the report of the demo", "pip install 'hearth-agent[demo]'") from None

    folder = files("hearth.serve") / "templates"
    parts = {name: (folder / name).read_text(encoding="utf-8") for name in ("report.css", "report.js")}
    loader = jinja2.PackageLoader("hearth.serve")
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    script_hash = base64.b64encode(hashlib.sha256(parts["report.js"].encode()).digest()).decode()
    return environment.get_template(
        "report.html"
    ).render(
        style=Markup(parts["report.css"]),  # noqa: S704 the package's own file
        script=Markup(parts["report.js"]),  # noqa: S704 the package's own file
        script_hash=script_hash,
        summary=_summary(episodes),
        facts=_facts(meta),
        shown=[shown_episode(number, episode, tools) for number, episode in enumerate(episodes[:MAX_FULL], 1)],
        rows=Markup(_embedded([_row(k, e, tools) for k, e in enumerate(episodes, 1)])),  # noqa: S704 `<` is escaped
        n_all=len(episodes),
        n_full=MAX_FULL,
        statuses=[status for status in MEANINGS if any(e.answer.status == status for e in episodes)],
        mark=mark,
    )


def outcome(episode: Episode) -> str:
    """Return a line that groups episodes that ended the same way, for counting."""
    if episode.refusal is not None:
        kinds = {"out_of_scope": "no tool for it", "needs": "something is missing", "unreadable": "cannot be read"}
        missing = f" ({', '.join(episode.refusal.missing)})" if episode.refusal.missing else ""
        offer = f"; offered {episode.refusal.offer.tool}" if episode.refusal.offer else ""
        return kinds[episode.refusal.kind] + missing + offer
    if episode.ruling is not None and episode.ruling.verdict != "allow":
        return short(episode.ruling.reason.split("; ask at a terminal")[0], 120)
    fault = next((r for r in episode.results if r.status in ("failed", "unknown", "denied")), None)
    if fault is not None and episode.plan is not None and fault.step < len(episode.plan.steps):
        return f"{episode.plan.steps[fault.step].tool}: {fault.error_kind or fault.status}"
    if episode.plan is not None and episode.plan.unserved:
        return "a part has no tool"
    return episode.answer.status


# ── The summary ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Share:
    status: str
    count: int
    percent: float
    meaning: str


@dataclass(frozen=True, slots=True)
class _Summary:
    n: int
    shares: tuple[_Share, ...]
    reasons: tuple[tuple[str, str, int, str], ...]
    """Status, reason, count, an example request."""
    n_reasons_more: int
    times: tuple[tuple[str, str, str], ...]
    """Name of the time, p50, p95."""
    disclosures: tuple[tuple[str, str, int, int], ...]
    """Host, reason, messages, bytes."""
    n_bytes: int
    tools: tuple[tuple[str, int], ...]


def _summary(episodes: Sequence[Episode]) -> _Summary:
    counts = Counter[str](e.answer.status for e in episodes)
    shares = tuple(
        _Share(status, counts[status], 100 * counts[status] / len(episodes), meaning)
        for status, meaning in MEANINGS.items()
        if counts[status]
    )
    unfinished = [e for e in episodes if e.answer.status != "done"]
    reasons = Counter((e.answer.status, outcome(e)) for e in unfinished)
    examples = {(e.answer.status, outcome(e)): short(e.request.typed, 90) for e in reversed(unfinished)}
    gone: dict[tuple[str, str], list[Disclosure]] = {}
    for episode in episodes:
        for disclosure in episode.disclosures:
            gone.setdefault((disclosure.host, disclosure.reason), []).append(disclosure)
    return _Summary(
        n=len(episodes),
        shares=shares,
        reasons=tuple((*key, count, examples[key]) for key, count in reasons.most_common(40)),
        n_reasons_more=max(len(reasons) - 40, 0),
        times=(
            _spread("a request", [e.duration_ms for e in episodes]),
            _spread("planning", [e.planning_ms for e in episodes]),
            _spread("a step", [r.duration_ms for e in episodes for r in e.results if r.status != "skipped"]),
        ),
        disclosures=tuple((*key, len(sent), sum(d.n_bytes for d in sent)) for key, sent in gone.items()),
        n_bytes=sum(d.n_bytes for e in episodes for d in e.disclosures),
        tools=tuple(Counter(s.tool for e in episodes if e.plan for s in e.plan.steps).most_common(60)),
    )


def _spread(what: str, times_ms: Sequence[float]) -> tuple[str, str, str]:
    ordered = sorted(times_ms)
    if not ordered:
        return what, "–", "–"
    p50, p95 = (ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] for percent in (50, 95))
    return what, milliseconds(p50), milliseconds(p95)


def milliseconds(value_ms: float) -> str:
    """Format milliseconds: `7.4 ms`, `320 ms`, `2.1 s`."""
    if value_ms >= 1000:
        return f"{value_ms / 1000:.1f} s"
    return f"{value_ms:.0f} ms" if value_ms >= 20 else f"{value_ms:.1f} ms"


def _facts(meta: Mapping[str, object]) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    for key, value in meta.items():
        name = key.removeprefix("n_").removesuffix("_s").replace("_", " ")
        if isinstance(value, dt.datetime):
            text = f"{value:%a} {value.day} {value:%b %Y, %H:%M}"
        elif key.endswith("_s") and isinstance(value, int | float):
            text = f"{value:.1f} s"
        else:
            text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        facts.append((name, clean(text)))
    return facts


# ── One episode ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Node:
    """A box of the drawing, ready to be written as SVG."""

    x: float
    y: float
    width: float
    height: float
    mark: str
    tool: str
    lines: tuple[str, ...]
    status: str
    effect: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A plan as boxes and arrows, sizes in pixels."""

    width: float
    height: float
    nodes: tuple[_Node, ...]
    arrows: tuple[Arrow, ...]


@dataclass(frozen=True, slots=True)
class _Table:
    """A step's result as rows; a single text stands in one cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    n_more: int = 0


@dataclass(frozen=True, slots=True)
class _Outcome:
    mark: str
    tool: str
    status: str
    time: str
    error: str
    n_attempts: int
    sources: str
    table: _Table | None
    images: tuple[tuple[str, str], ...] = ()
    """Pictures the step made: a data URL, and what it shows."""


@dataclass(frozen=True, slots=True)
class ShownEpisode:
    """One episode in the form that the templates use."""

    number: int
    id: str
    request: str
    reading: str
    """The request in full, where what was typed meant more than it said."""
    status: str
    answer: str
    evidence: tuple[tuple[str, str, str], ...]
    picture: Picture | None
    plan_text: str
    planner: str
    ruling: str
    reason: str
    refusal: str
    missing: str
    outcomes: tuple[_Outcome, ...]
    disclosures: tuple[tuple[str, str, int], ...]
    time: str
    planning: str
    rounds: int
    unserved: tuple[str, ...] = field(default=())


def shown_episode(number: int, episode: Episode, tools: Mapping[str, ToolSpec]) -> ShownEpisode:
    """Return what the page shows of an episode: texts cleaned and cut, the plan laid out, results as tables."""
    plan, refusal, ruling = episode.plan, episode.refusal, episode.ruling
    is_drawn = plan is not None and len(plan.steps) <= MAX_DRAWN_STEPS
    return ShownEpisode(
        number=number,
        id=episode.id,
        request=clean(episode.request.typed)[:2000] or "(empty)",
        reading=short(episode.request.text, 2000) if episode.request.said else "",
        status=episode.answer.status,
        answer=_cut(clean(episode.answer.text), MAX_ANSWER),
        evidence=tuple((mark(e.step), short(e.source, 120), short(e.text, 240)) for e in episode.answer.evidence[:20]),
        picture=picture_of(plan, episode.results, tools) if plan is not None and is_drawn else None,
        plan_text="\n".join(clean(line) for line in plan_lines(plan, tools)) if plan is not None else "",
        planner=f"{plan.planner or 'unknown'}, confidence {plan.confidence:.2f}" if plan is not None else "",
        ruling=ruling.verdict if ruling else "",
        reason=clean(ruling.reason) if ruling else "",
        refusal=refusal.kind.replace("_", " ") if refusal else "",
        missing=", ".join(refusal.missing) if refusal else "",
        outcomes=tuple(_outcome(episode, result) for result in episode.results),
        disclosures=tuple((d.host, d.reason, d.n_bytes) for d in episode.disclosures),
        time=milliseconds(episode.duration_ms),
        planning=milliseconds(episode.planning_ms),
        rounds=episode.rounds,
        unserved=tuple(clean(part) for part in plan.unserved) if plan is not None else (),
    )


def picture_of(plan: Plan, results: Sequence[StepResult], tools: Mapping[str, ToolSpec]) -> Picture | None:
    """Lay out boxes and arrows; None for a plan whose steps are not in order of their needs."""
    needs = [step.needs() for step in plan.steps]
    if any(not 0 <= source < index for index, sources in enumerate(needs) for source in sources):
        return None
    statuses = {result.step: result.status for result in results}
    texts: list[tuple[str, ...]] = []
    for step in plan.steps:
        said = [f"{name}: {argument_text(value, 60)}" for name, value in step.arguments.items()]
        more = [f"and {len(said) - 4} more"] if len(said) > 4 else []
        texts.append((*(short(line, _BOX_CHARACTERS) for line in said[:4]), *more))
    effects = [
        {"none": "", "change": "changes", "send": "sends"}[tools[step.tool].effect] if step.tool in tools else ""
        for step in plan.steps
    ]
    sizes = []
    for step, lines, effect in zip(plan.steps, texts, effects, strict=True):
        longest = max([len(line) for line in lines] + [len(step.tool) + len(effect) + 7])
        sizes.append((longest * _CHARACTER_WIDTH + 26, (len(lines) + 1) * _LINE_HEIGHT + 18))
    drawing = layout(needs, sizes)
    nodes = tuple(
        _Node(
            box.x,
            box.y,
            box.width,
            box.height,
            mark(box.step),
            plan.steps[box.step].tool,
            texts[box.step],
            statuses.get(box.step, ""),
            effects[box.step],
        )
        for box in drawing.boxes
    )
    return Picture(drawing.width, drawing.height, nodes, drawing.arrows)


def _outcome(episode: Episode, result: StepResult) -> _Outcome:
    steps = episode.plan.steps if episode.plan else ()
    return _Outcome(
        mark=mark(result.step),
        tool=steps[result.step].tool if result.step < len(steps) else "?",
        status=result.status,
        time=milliseconds(result.duration_ms) if result.status != "skipped" else "",
        error=clean(result.error),
        n_attempts=result.n_attempts,
        sources=", ".join(sorted(result.label.sources)),
        table=_table(result.value) if result.status == "done" else None,
        images=_images(result.value) if result.status == "done" and "sensor" in result.label.sources else (),
    )


def _images(value: Plain) -> tuple[tuple[str, str], ...]:
    """Return the pictures that records of footage name, embedded in the page; unreadable ones are left out."""
    found: list[tuple[str, str]] = []
    for record in value if isinstance(value, list) else [value]:
        path = Path(str(record.get("path") or record.get("timeline") or "")) if isinstance(record, dict) else Path()
        kind = {".png": "image/png", ".jpg": "image/jpeg"}.get(path.suffix)
        if kind is None or not isinstance(record, dict) or len(found) >= MAX_IMAGES:
            continue
        try:
            if path.stat().st_size <= MAX_IMAGE_BYTES:
                data = base64.b64encode(path.read_bytes()).decode()
                found.append((f"data:{kind};base64,{data}", short(str(record.get("text", "")), 160)))
        except OSError:
            continue
    return tuple(found)


def _table(value: Plain) -> _Table:
    """Turn a result into a table: one row per record, empty columns and ids left out."""
    items = value if isinstance(value, list) else [value]
    records = [item for item in items if isinstance(item, dict)]
    if not items or len(records) != len(items):
        texts = [_cell(item) for item in items[:MAX_ROWS]] or ["nothing found"]
        return _Table((), tuple((text,) for text in texts), max(len(items) - MAX_ROWS, 0))
    names = [
        name
        for name in dict.fromkeys(key for record in records for key in record)
        if name != "id" and any(record.get(name) not in (None, "", [], {}) for record in records)
    ][:MAX_COLUMNS]
    rows = tuple(tuple(_cell(record.get(name)) for name in names) for record in records[:MAX_ROWS])
    return _Table(tuple(names), rows, max(len(records) - MAX_ROWS, 0))


def _cell(value: Plain) -> str:
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, list):
        return _cut("; ".join(_cell(item) for item in value), MAX_CELL)
    if isinstance(value, dict):
        return _cut(", ".join(f"{key} {_cell(item)}" for key, item in value.items()), MAX_CELL)
    text = argument_text(value, MAX_CELL)
    return clean(text[1:-1] if isinstance(value, str) and text.startswith('"') else text)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ── All episodes, for the table that is searched ──────────────────────────────────────────────────────────


def _row(number: int, episode: Episode, tools: Mapping[str, ToolSpec]) -> list[object]:
    """Return number, request, status, tools, milliseconds, reason, answer, plan; the last two only beyond the full
    episodes."""
    steps = episode.plan.steps if episode.plan is not None else ()
    is_brief = number > MAX_FULL
    plan = plan_lines(episode.plan, tools) if is_brief and episode.plan is not None else []
    return [
        number,
        short(episode.request.typed, MAX_TABLE_TEXT),
        episode.answer.status,
        " ".join(step.tool for step in steps),
        round(episode.duration_ms, 1),
        "" if episode.answer.status == "done" else outcome(episode),
        _cut(clean(episode.answer.text), MAX_TABLE_TEXT) if is_brief else "",
        _cut(clean("\n".join(plan)), 2 * MAX_TABLE_TEXT),
    ]


def _embedded(rows: Iterator[object] | Sequence[object]) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element."""
    text = json.dumps(list(rows), ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")
