"""The history: many episodes at once, on the page and as one file that a run leaves behind.

Both are the template `history.html`: on the page within its frame, in the file within one that stands alone. The file
loads no script, style, font or picture from anywhere, and a content security policy in it lets only its own script
run, so that text from a mail or a web page stays text; it is readable offline, on a phone, in the dark and on paper. Of
many episodes the first are shown in full and all of them in a table that is searched.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from hearth.errors import HearthError, MissingExtraError
from hearth.formats.terminal_text import MEANINGS, clean, plan_lines, short
from hearth.serve.episode_report import ShownEpisode, cut, milliseconds, moment, shown_episode
from hearth.types import Disclosure, Episode, ToolSpec

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
