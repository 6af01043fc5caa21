"""Draw pictures of a simulated fleet from its document alone."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Document = Mapping[str, Any]
_COLOURS = {
    "personal": "#0b5fa5",
    "shared": "#c0392b",
    "merged": "#3a9d5d",
    "strangers": "#8c6bb1",
    "private": "#7f7f7f",
    "shipped": "#d08a1d",
}
_NAMES = {
    "personal": "a student of one's own",
    "shared": "one student for all",
    "merged": "own, begun with the merged prior",
    "strangers": "own, prior of other personas only",
    "private": "own, begun with the prior with noise",
    "shipped": "own, begun with what is shipped",
}
_FOR_COMPARISON = ("strangers", "private", "shipped")
"""Ways drawn only where new edges are compared."""
_GREY = "#555555"


def fleet_png(document: Document) -> bytes:
    """Draw six plots: quality, calls, conventions, requests never taught, strata, cost."""
    # matplotlib takes half a second to import; no other command needs it.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(16.5, 9.4), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    (quality, calls, said), (untaught, strata, cost) = figure.subplots(2, 3)
    everybody: Mapping[str, Document] = document["ways"]
    ways = {way: of for way, of in everybody.items() if way not in _FOR_COMPARISON}
    _draw_quality(quality, ways, document["always_asking_exact"])
    _draw_calls(calls, ways)
    _draw_conventions(said, ways)
    _draw_untaught(untaught, everybody)
    _draw_strata(strata, ways)
    _draw_cost(cost, ways)
    settings = document["settings"]
    habit, cloud = settings["habit"], settings["cloud"]
    figure.suptitle(
        f"{settings['n_edges']:,} simulated edges, {habit['n_days']} days, "
        f"{document['n_requests'].get('personal', 0):,} requests · teacher wrong in {cloud['teacher_errors']:.0%} · "
        f"habits by Zipf {habit['exponent']:g} · seed {habit['seed']} · commit {document.get('commit') or 'unknown'}",
        fontsize=12,
    )
    file = io.BytesIO()
    figure.savefig(file, format="png", metadata={"Software": None})
    return file.getvalue()


def _days(rows: Sequence[Mapping[str, Any]], name: str) -> tuple[list[int], list[float]]:
    kept = [row for row in rows if row[name] is not None]
    return [row["day"] for row in kept], [row[name] for row in kept]


def _line(
    axes: Axes, way: str, rows: Sequence[Mapping[str, Any]], name: str, style: str = "-", label: str = ""
) -> None:
    axes.plot(*_days(rows, name), style, color=_COLOURS[way], label=label or _NAMES[way], lw=1.9)


def _draw_quality(axes: Axes, ways: Mapping[str, Document], best: float) -> None:
    for way, of in ways.items():
        _line(axes, way, of["by_day"], "exact")
        _line(axes, way, of["by_day"], "own_exact", ":", f"  {_NAMES[way]}, without asking")
    axes.axhline(best, color=_GREY, ls="--", lw=1, label="always asking")
    axes.axhline(0.97 * best, color=_GREY, ls="-.", lw=0.8, label="97 % of it")
    if "personal" in ways:
        axes.plot(
            *_days(ways["personal"]["by_day"], "copied_exact"), color="#999999", lw=1, label="floor: nearest copied"
        )
    _finish(axes, "share of exact plans", "What was done, and what the student alone would have done")
    axes.set_ylim(0, 1.03)


def _draw_calls(axes: Axes, ways: Mapping[str, Document]) -> None:
    for way, of in ways.items():
        days, values = _days(of["by_day"], "asked")
        axes.plot(days, [100 * v for v in values], color=_COLOURS[way], label=_NAMES[way], lw=1.9)
    axes.axhline(15, color=_GREY, ls="--", lw=1, label="15 %")
    _finish(axes, "requests put to the cloud, %", "Cloud calls")
    axes.set_ylim(0, 103)


def _draw_conventions(axes: Axes, ways: Mapping[str, Document]) -> None:
    for way, of in ways.items():
        _line(axes, way, of["conventions_by_day"], "own_exact")
    _finish(axes, "share of exact plans, without asking", "Requests that rest on an owner's own convention")
    axes.set_ylim(0, 1.03)


def _draw_untaught(axes: Axes, ways: Mapping[str, Document]) -> None:
    measures = (("node_f1", "o-", "node F1"), ("tools", "^--", "right tools"), ("exact", "s:", "exact plans"))
    for way, of in ways.items():
        rows = of.get("never_taught_after", ())
        for measure, style, _ in measures if rows else ():
            counts, values = [row["requests"] for row in rows], [row[measure] for row in rows]
            label = _NAMES[way] if measure == "node_f1" else None
            axes.plot(counts, values, style, ms=4, lw=1.4, color=_COLOURS[way], label=label)
    for _, style, label in measures:
        axes.plot([], [], style, ms=4, lw=1.4, color=_GREY, label=label)
    axes.set_xscale("symlog", linthresh=5)
    ticks = [0, 5, 10, 20, 50, 100, 200]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.set(xlabel="requests lived", ylabel="on instructions never taught")
    axes.set_title("A new edge on what nobody was taught, without asking", fontsize=10)
    axes.set_ylim(0, 0.85)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7.5, ncols=2, loc="upper right")


def _draw_strata(axes: Axes, ways: Mapping[str, Document]) -> None:
    names = {"new": "never seen\nbefore", "other_words": "in other\nwords", "verbatim": "in the very\nwords"}
    shown = [way for way in ways if way in ("personal", "shared")]
    width = 0.8 / max(2 * len(shown), 1)
    for k, way in enumerate(shown):
        rows = ways[way]["last_days_by_stratum"]
        whole = sum(row["n"] for row in rows.values()) or 1
        for j, (measure, alpha) in enumerate((("own_exact", 1.0), ("asked", 0.45))):
            places = [place + (2 * k + j) * width - 0.4 + width / 2 for place in range(len(names))]
            values = [rows[name][measure] or 0 for name in names]
            label = f"{_NAMES[way]}: {'exact without asking' if j == 0 else 'asked'}"
            axes.bar(places, values, width, color=_COLOURS[way], alpha=alpha, label=label)
        for place, name in enumerate(names):
            x = place + (2 * k + 1) * width - 0.4
            axes.text(x, 1.03, f"{rows[name]['n'] / whole:.0%}", ha="center", fontsize=8, color=_COLOURS[way])
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set_ylim(0, 1.12)
    axes.set_title("Last days, by what the student had been taught (share of requests above)", fontsize=10)
    axes.grid(alpha=0.25, axis="y")
    axes.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)


def _draw_cost(axes: Axes, ways: Mapping[str, Document]) -> None:
    for way, of in ways.items():
        days, values = _days(of["by_day"], "usd")
        axes.plot(days, [1e3 * v for v in values], color=_COLOURS[way], label=f"{_NAMES[way]}: USD", lw=1.9)
    other = axes.twinx()
    for way, of in ways.items():
        days, up = _days(of["by_day"], "up_bytes")
        _, down = _days(of["by_day"], "down_bytes")
        other.plot(days, [a + b for a, b in zip(up, down, strict=True)], ":", color=_COLOURS[way], lw=1.4)
    other.set_ylabel("bytes up and down, a request (dotted)")
    other.set_ylim(bottom=0)
    _finish(axes, "USD for 1,000 requests", "Cost of asking")
    axes.set_ylim(bottom=0)


def _finish(axes: Axes, what: str, title: str) -> None:
    axes.set(xlabel="day", ylabel=what)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=7.5)


def fleet_html(document: Document, picture: bytes, table: Sequence[str]) -> str:
    """Build one self-contained HTML page."""
    shown = base64.b64encode(picture).decode()
    said = html.escape("\n".join(table))
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Fleet</title><style>body{font:15px sans-serif;"
        "max-width:1200px;margin:2em auto}img{max-width:100%}pre{overflow:auto;background:#f4f4f4;padding:1em}</style>"
        f"<h1>{document['settings']['n_edges']:,} simulated edges</h1><pre>{said}</pre>"
        f'<img alt="curves" src="data:image/png;base64,{shown}">'
        "<p>Owners are drawn, not observed; docs/explanation/fleet.md says what the model of them assumes.</html>\n"
    )
