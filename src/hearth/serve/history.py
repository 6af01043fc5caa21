"""Episodes as HTML: one, or many on the page and as a file."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from hearth.errors import HearthError, MissingExtraError
from hearth.formats.terminal_text import MEANINGS, argument_text, clean, mark, plan_lines, short
from hearth.types import Disclosure, Episode, Plain, Plan, StepResult, ToolSpec

# ── Episode report ────────────────────────────────────────────────────────────────────────────────────────
# One episode in the form that the templates show: texts cleaned and cut, the plan laid out, results as tables.

# ── The layout of a plan ───────────────────────────────────────────────────────────────────────────────
# Lay out the boxes and arrows of a plan: layers from top to bottom, every arrow points down.
# Pure geometry: it knows the sizes of boxes and their dependencies, not how a box looks.


GAP_X = 28.0
GAP_Y = 44.0
"""Pixels between boxes side by side (`GAP_X`) and between layers (`GAP_Y`)."""
MARGIN = 10.0
BEND_WIDTH = 24.0
"""Width reserved for an arrow that passes a layer."""


_Key: TypeAlias = "tuple[int, ...]"
"""`(step,)` for a box; `(source, target, layer)` for the bend of an arrow that passes a layer."""


@dataclass(frozen=True, slots=True)
class Box:
    """Place of one step, in pixels from the top left."""

    step: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Arrow:
    source: int
    target: int
    path: str
    """An SVG path from the bottom of the source to the top of the target."""


@dataclass(frozen=True, slots=True)
class Drawing:
    width: float
    height: float
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


@dataclass(slots=True)
class _Place:
    """A box, or the bend of an arrow that passes its layer."""

    width: float
    height: float
    layer: int
    x: float = 0.0
    """Position of its middle."""


def layout(needs: Sequence[frozenset[int]], sizes: Sequence[tuple[float, float]]) -> Drawing:
    """Place the steps of a plan.

    Args:
        needs: For each step the steps before it whose results it uses; a step needs earlier ones only.
        sizes: Width and height of each step's box, pixels.
    """
    layers = _layers(needs)
    places: dict[_Key, _Place] = {(k,): _Place(*sizes[k], layers[k]) for k in range(len(sizes))}
    routes: dict[tuple[int, int], list[_Key]] = {}
    for target, sources in enumerate(needs):
        for source in sorted(sources):
            bends: list[_Key] = [(source, target, layer) for layer in range(layers[source] + 1, layers[target])]
            for bend in bends:
                places[bend] = _Place(BEND_WIDTH, 0.0, bend[2])
            routes[source, target] = [(source,), *bends, (target,)]
    _place_across(places, list(routes.values()))
    tops, height = _tops(places)
    depths = [max(p.height for p in places.values() if p.layer == layer) for layer in range(len(tops))]
    width = max((p.x + p.width / 2 for p in places.values()), default=0.0) + MARGIN
    boxes = tuple(
        Box(k, p.x - p.width / 2, tops[p.layer], p.width, p.height)
        for k, p in ((k, places[(k,)]) for k in range(len(sizes)))
    )
    arrows = tuple(Arrow(*ends, _path([places[key] for key in route], tops, depths)) for ends, route in routes.items())
    return Drawing(width, height, boxes, arrows)


def _layers(needs: Sequence[frozenset[int]]) -> list[int]:
    """Return the length of the longest path to each step."""
    layers: list[int] = []
    for sources in needs:
        layers.append(max((layers[k] + 1 for k in sources), default=0))
    return layers


def _place_across(places: Mapping[_Key, _Place], routes: Sequence[Sequence[_Key]]) -> None:
    """Set `x`: each box under the middle of what it needs, boxes of a layer side by side."""
    above: dict[_Key, list[_Place]] = {key: [] for key in places}
    below: dict[_Key, list[_Place]] = {key: [] for key in places}
    for route in routes:
        for upper, lower in itertools.pairwise(route):
            above[lower].append(places[upper])
            below[upper].append(places[lower])
    rows: dict[int, list[_Key]] = {}
    for key, place in places.items():
        rows.setdefault(place.layer, []).append(key)
    for row in rows.values():
        _spread_layer(row, places, above)
    for layer in sorted(rows, reverse=True):
        _spread_layer(rows[layer], places, below)
    for layer in sorted(rows):
        _spread_layer(rows[layer], places, above)
    left = min((p.x - p.width / 2 for p in places.values()), default=0.0)
    for place in places.values():
        place.x += MARGIN - left


def _spread_layer(row: list[_Key], places: Mapping[_Key, _Place], neighbours: Mapping[_Key, Sequence[_Place]]) -> None:
    """Order one layer by the positions of its neighbours, and move it as near to them as the boxes' widths allow."""
    wanted = {
        key: sum(p.x for p in neighbours[key]) / len(neighbours[key]) if neighbours[key] else places[key].x
        for key in row
    }
    row.sort(key=lambda key: wanted[key])
    edge = float("-inf")
    for key in row:
        place = places[key]
        place.x = max(wanted[key], edge + place.width / 2)
        edge = place.x + place.width / 2 + GAP_X
    drift = sum(places[key].x - wanted[key] for key in row) / len(row)
    for key in row:
        places[key].x -= drift


def _tops(places: Mapping[_Key, _Place]) -> tuple[list[float], float]:
    """Return the top of each layer, and the total height."""
    heights: dict[int, float] = {}
    for place in places.values():
        heights[place.layer] = max(heights.get(place.layer, 0.0), place.height)
    tops, y = [], MARGIN
    for layer in sorted(heights):
        tops.append(y)
        y += heights[layer] + GAP_Y
    return tops, (y - GAP_Y if tops else 0.0) + MARGIN


def _path(route: Sequence[_Place], tops: Sequence[float], depths: Sequence[float]) -> str:
    """Return the path of an arrow: curves between layers, straight down beside the boxes of a layer that it only
    passes."""
    first, *rest = route
    x, y = first.x, tops[first.layer] + first.height
    path = f"M{x:.1f},{y:.1f}"
    for place in rest:
        top = tops[place.layer]
        middle = (y + top) / 2
        path += f"C{x:.1f},{middle:.1f} {place.x:.1f},{middle:.1f} {place.x:.1f},{top:.1f}"
        x, y = place.x, top
        if place is not rest[-1]:
            y += depths[place.layer]
            path += f"V{y:.1f}"
    return path


# ── The episode ────────────────────────────────────────────────────────────────────────────────────────


MAX_DRAWN_STEPS = 12
MAX_ROWS = 6
MAX_COLUMNS = 6
MAX_CELL = 160
MAX_ANSWER = 4000
MAX_IMAGES, MAX_IMAGE_BYTES = 12, 2_000_000

_LINE_HEIGHT = 16.0
_CHARACTER_WIDTH = 7.3
_BOX_CHARACTERS = 34


def moment(at: dt.datetime) -> str:
    """Format a moment: `Fri 20 Nov, 09:05`."""
    return f"{at:%a} {at.day} {at:%b}, {at:%H:%M}"


def milliseconds(value_ms: float) -> str:
    """Format milliseconds: `7.4 ms`, `320 ms`, `2.1 s`."""
    if value_ms >= 1000:
        return f"{value_ms / 1000:.1f} s"
    return f"{value_ms:.0f} ms" if value_ms >= 20 else f"{value_ms:.1f} ms"


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
    when: str
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
        reading=short(episode.request.text, 2000) if episode.request.said and episode.request.text else "",
        status=episode.answer.status,
        answer=cut(clean(episode.answer.text), MAX_ANSWER),
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
        when=moment(episode.request.now),
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
    effects = []
    for step in plan.steps:
        effect = (
            {"none": "", "change": "changes", "send": "sends"}[tools[step.tool].effect] if step.tool in tools else ""
        )
        instead = f"instead of {mark(step.replaces)}" if step.replaces is not None else ""
        effects.append(", ".join(part for part in (effect, instead) if part))
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
        return cut("; ".join(_cell(item) for item in value), MAX_CELL)
    if isinstance(value, dict):
        return cut(", ".join(f"{key} {_cell(item)}" for key, item in value.items()), MAX_CELL)
    text = argument_text(value, MAX_CELL)
    return clean(text[1:-1] if isinstance(value, str) and text.startswith('"') else text)


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


# ── History view ──────────────────────────────────────────────────────────────────────────────────────────
# The history: many episodes at once, on the page and as one file that a run leaves behind.
#
# Both are the template `history.html`: on the page within its frame, in the file within one that stands alone. The
# file loads no script, style, font or picture from anywhere, and a content security policy in it lets only its own
# script run, so that text from a mail or a web page stays text; it is readable offline, on a phone, in the dark and
# on paper. Of many episodes the first are shown in full and all of them in a table that is searched.

MAX_FULL = 200
"""Number of episodes that a file shows in full; the table holds all."""
MAX_OPEN = 15
"""A file of no more episodes than these shows them open."""
MAX_TABLE_TEXT = 300


@dataclass(frozen=True, slots=True)
class Chapter:
    """A part of a run under its heading: what was said beside its requests, and what came of them, in order."""

    title: str
    told: tuple[str | Episode, ...]


@dataclass(frozen=True, slots=True)
class _ShownChapter:
    title: str
    told: tuple[str | ShownEpisode, ...]


@dataclass(frozen=True, slots=True)
class HistoryView:
    """Many episodes in the form that the template uses."""

    summary: _Summary
    chapters: tuple[_ShownChapter, ...]
    """The first of them, in full; without headings, one chapter that has no title."""
    n_full: int
    """How many these are."""
    rows: str
    """All of them for the table, as JSON that can stand inside a script element."""
    n_all: int
    facts: tuple[tuple[str, str], ...] = ()
    """Of the run, by name."""
    leads_to: str = ""
    """Where an episode's own page is, before its id; empty where there is none."""
    words: str = ""
    """Only episodes that hold these are shown."""
    is_newest_first: bool = False
    is_open: bool = False


def history_view(
    episodes: Sequence[Episode],
    tools: Mapping[str, ToolSpec],
    *,
    n_full: int = MAX_FULL,
    leads_to: str = "",
    chapters: Sequence[Chapter] = (),
) -> HistoryView:
    """Return what is shown of episodes.

    Args:
        tools: Descriptions of the tools, to mark what changes or sends something.
        n_full: How many are shown in full.
        leads_to: As in `HistoryView`; with it, the newest stand first.
        chapters: The same episodes under headings.
    """
    from markupsafe import Markup  # with jinja2, which only what renders has

    rows = [_row(k, e, tools, is_brief=k > n_full) for k, e in enumerate(episodes, 1)]
    full = tuple(shown_episode(number, one, tools) for number, one in enumerate(episodes[:n_full], 1))
    by_id = {one.id: one for one in full}
    told = tuple(_ShownChapter(clean(one.title), _shown(one, by_id)) for one in chapters)
    return HistoryView(
        _summary(episodes),
        told or (_ShownChapter("", full),),
        len(full),
        Markup(_embedded(rows)),  # noqa: S704 `<` is escaped
        len(episodes),
        leads_to=leads_to,
        is_newest_first=bool(leads_to),
        is_open=not leads_to and len(episodes) <= MAX_OPEN,
    )


def _shown(chapter: Chapter, full: Mapping[str, ShownEpisode]) -> tuple[str | ShownEpisode, ...]:
    """Return what a chapter tells, without the episodes that are not shown in full."""
    parts = (clean(part) if isinstance(part, str) else full.get(part.id) for part in chapter.told)
    return tuple(part for part in parts if part is not None)


def write_report(
    path: Path,
    episodes: Sequence[Episode],
    tools: Mapping[str, ToolSpec],
    meta: Mapping[str, object],
    *,
    chapters: Sequence[Chapter] = (),
    home: Path | None = None,
) -> None:
    """Write the report of a run, replacing the file at `path` atomically.

    Args:
        tools: Descriptions of the tools, to mark what changes or sends something.
        meta: Facts about the run, shown as they are (`wall_s` in seconds, `started` a moment).
        chapters: The same episodes under headings.
        home: The home they are of, which the report calls by its name: where it lies on this machine is not told.
    Raises:
        HearthError: The file cannot be written; one that was there is as before.
    """
    page = render_report(episodes, tools, meta, chapters)
    if home is not None:
        page = _without_place(page, home)
    draft = path.with_name(f".{path.name}.part")
    try:
        draft.write_text(page, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise HearthError(f"cannot write the report to {str(path)!r}: {error.strerror}; choose another place") from None


def _without_place(page: str, home: Path) -> str:
    """Return a rendered page in which the home is called by its name, as text and as JSON."""
    from markupsafe import escape

    for written in (str, lambda text: str(escape(text)), lambda text: _embedded([text])[2:-2]):
        page = page.replace(written(str(home)), written(home.name))
    return page


def render_report(
    episodes: Sequence[Episode],
    tools: Mapping[str, ToolSpec],
    meta: Mapping[str, object],
    chapters: Sequence[Chapter] = (),
) -> str:
    """Render the page as text."""
    try:  # imported only by a run that writes a report
        import jinja2
        from markupsafe import Markup
    except ModuleNotFoundError:
        raise MissingExtraError("the report of the demo", "pip install 'hearth-agent[demo]'") from None

    folder = files("hearth.serve") / "static"
    style, script = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "history.js"))
    loader = jinja2.PackageLoader("hearth.serve")
    environment = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("history.html").render(
        frame="report.html",
        title=f"{len(episodes)} request{'' if len(episodes) == 1 else 's'}",
        heading="Hearth at work",
        view=replace(history_view(episodes, tools, chapters=chapters), facts=_facts(meta)),
        style=Markup(style),  # noqa: S704 the package's own file
        script=Markup(script),  # noqa: S704 the package's own file
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
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


@dataclass(frozen=True, slots=True)
class _Share:
    status: str
    before: int
    """How many requests have one of the statuses before it: where its part of the bar begins."""
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


def _shares(episodes: Sequence[Episode]) -> list[_Share]:
    counts = Counter[str](e.answer.status for e in episodes)
    shares: list[_Share] = []
    for status, meaning in MEANINGS.items():
        if counts[status]:
            before = sum(share.count for share in shares)
            shares.append(_Share(status, before, counts[status], 100 * counts[status] / len(episodes), meaning))
    return shares


def _summary(episodes: Sequence[Episode]) -> _Summary:
    unfinished = [e for e in episodes if e.answer.status != "done"]
    reasons = Counter((e.answer.status, outcome(e)) for e in unfinished)
    examples = {(e.answer.status, outcome(e)): short(e.request.typed, 90) for e in reversed(unfinished)}
    gone: dict[tuple[str, str], list[Disclosure]] = {}
    for episode in episodes:
        for disclosure in episode.disclosures:
            gone.setdefault((disclosure.host, disclosure.reason), []).append(disclosure)
    return _Summary(
        n=len(episodes),
        shares=tuple(_shares(episodes)),
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


def _facts(meta: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
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
    return tuple(facts)


def _row(number: int, episode: Episode, tools: Mapping[str, ToolSpec], *, is_brief: bool) -> list[object]:
    """Return number, request, status, tools, milliseconds, reason, answer, plan, moment, id; answer and plan only of
    those that are not shown in full."""
    steps = episode.plan.steps if episode.plan is not None else ()
    plan = plan_lines(episode.plan, tools) if is_brief and episode.plan is not None else []
    return [
        number,
        short(episode.request.typed, MAX_TABLE_TEXT),
        episode.answer.status,
        " ".join(step.tool for step in steps),
        round(episode.duration_ms, 1),
        "" if episode.answer.status == "done" else outcome(episode),
        cut(clean(episode.answer.text), MAX_TABLE_TEXT) if is_brief else "",
        cut(clean("\n".join(plan)), 2 * MAX_TABLE_TEXT),
        moment(episode.request.now),
        episode.id,
    ]


def _embedded(rows: Iterator[object] | Sequence[object]) -> str:
    """Return JSON that can stand inside a script element: nothing in it can end the element."""
    text = json.dumps(list(rows), ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")
