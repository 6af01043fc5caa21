"""Report on a simulated fleet: sums over its parts as a document, a table and a CSV file.

Quality is that of the plan carried out: the student's where it was sure, the teacher's where it was asked. `own_exact`
is always the student's alone. "Last days" are the last four.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from hearth_bench.fleet.habits import owner_of
from hearth_bench.fleet.simulated_edge import MEASURES, STRATA
from hearth_bench.fleet.simulation import Fleet
from hearth_bench.fleet.simulation_parts import CHECKPOINTS, OF_NEWCOMERS, PROBED, Settings, Way, device_of, parts_of
from hearth_bench.run_record import origin

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
Floats = NDArray[np.float64]
LAST_DAYS = 4
_OF_REQUEST = tuple(name for name in MEASURES if name != "n")


class Lived:
    """Results of one way of learning, all parts together."""

    def __init__(self, fleet: Fleet, way: Way) -> None:
        parts = [np.load(fleet.parts_folder / part.name) for part in parts_of(fleet.settings, way)]
        self.way = way
        self.edges = np.concatenate([part["edges"] for part in parts])
        self.sums: Floats = np.concatenate([part["sums"] for part in parts])
        """Shape [n_edges, n_days, n_strata, 2, n_measures]."""
        self.cpu_s = float(sum(part["cpu_s"] for part in parts))
        self.probed: Floats = np.concatenate([part["probed"] for part in parts])
        self.fetched_bytes = np.concatenate([part["fetched_bytes"] for part in parts])

    @property
    def n_requests(self) -> int:
        return int(self.sums[..., 0].sum())

    def of(self, edges: NDArray[np.bool_]) -> Floats:
        """Return the sums over some edges."""
        return np.asarray(self.sums[edges].sum(axis=0))


def measures_of(sums: Floats) -> dict[str, Json]:
    """Return the number of requests and the mean of each measure, from sums with any number of leading axes."""
    flat = sums.reshape(-1, len(MEASURES)).sum(axis=0)
    n = float(flat[0])
    found: dict[str, Json] = {"n": int(n)}
    for name, value in zip(_OF_REQUEST, flat[1:], strict=True):
        digits = 9 if name == "usd" else 2 if name.endswith("_bytes") else 5
        found[name] = round(float(value) / n, digits) if n else None
    return found


def summary(fleet: Fleet, lived: Sequence[Lived]) -> dict[str, Json]:
    """Build the document without the fields that differ between runs."""
    settings = fleet.settings
    ways: dict[str, Json] = {one.way: _way(one, settings) for one in lived}
    document: dict[str, Json] = {
        "settings": cast("Json", settings.to_json()),
        "n_requests": {one.way: one.n_requests for one in lived},
        "always_asking_exact": round(1 - settings.cloud.teacher_errors, 4),
        "ways": ways,
        "numbers": numbers(lived, settings),
    }
    if (personal := next((one for one in lived if one.way == "personal"), None)) is not None:
        document["floor"] = _floor(personal)
    return document


def with_origin(document: Mapping[str, Json], lived: Sequence[Lived]) -> dict[str, Json]:
    """Add when and where the document was made, and what it cost."""
    timing: dict[str, Json] = {
        one.way: {"cpu_s": round(one.cpu_s, 1), "cpu_ms_a_request": round(1e3 * one.cpu_s / max(one.n_requests, 1), 3)}
        for one in lived
    }
    settings = cast("Mapping[str, Mapping[str, Json]]", document["settings"])
    cost: dict[str, Json] = {"seed": settings["habit"]["seed"], "cpu_s": round(sum(one.cpu_s for one in lived), 1)}
    return {**cast("dict[str, Json]", origin()), **cost, **document, "timing": timing}


def _floor(personal: Lived) -> dict[str, Json]:
    """Return the floor: the nearest of the owner's own demonstrations, its plan copied unchanged, nobody asked."""
    total = personal.sums.sum(axis=0)[-LAST_DAYS:]
    said = {key: measures_of(sums)["copied_exact"] for key, sums in (("all", total), ("conventions", total[:, :, 1]))}
    return {
        "last_days": {"exact": said["all"], "own_exact": said["all"], "asked": 0.0},
        "conventions_last_days": {"own_exact": said["conventions"]},
    }


def _way(one: Lived, settings: Settings) -> dict[str, Json]:
    total = one.sums.sum(axis=0)
    last = total[-LAST_DAYS:]
    devices = [device_of(int(edge)).name for edge in one.edges]
    personas = [owner_of(int(edge), settings.habit).persona for edge in one.edges]
    found: dict[str, Json] = {
        "n_edges": len(one.edges),
        "by_day": [{"day": day + 1, **measures_of(total[day])} for day in range(len(total))],
        "all_days": measures_of(total),
        "last_days": measures_of(last),
        "last_days_by_stratum": {name: measures_of(last[:, k]) for k, name in enumerate(STRATA)},
        "all_days_by_stratum": {name: measures_of(total[:, k]) for k, name in enumerate(STRATA)},
        "conventions_by_day": [{"day": day + 1, **measures_of(total[day, :, 1])} for day in range(len(total))],
        "conventions_last_days": measures_of(last[:, :, 1]),
        "last_days_by_device": _by(one, devices),
        "last_days_by_persona": _by(one, personas),
        "fetched_bytes_an_edge": float(one.fetched_bytes.sum())
        if one.way == "shared"
        else round(float(one.fetched_bytes.mean()), 1),
        "sent_bytes_an_edge": _sent(one),
    }
    if one.way == "shared":
        found["never_taught_by_day"] = [
            {"day": day + 1, **_probed(row)} for day, row in enumerate(one.probed) if row[0] > 0
        ]
    else:
        rows = [np.nansum(one.probed[:, k], axis=0) for k in range(len(CHECKPOINTS))]
        found["never_taught_after"] = [
            {"requests": n, **_probed(row)} for n, row in zip(CHECKPOINTS, rows, strict=True) if row[0]
        ]
    return found


def _sent(one: Lived) -> float:
    up = one.sums[..., MEASURES.index("up_bytes")].sum() / len(one.edges)
    return round(float(up), 1)


def _by(one: Lived, names: Sequence[str]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for name in sorted(set(names)):
        mine = np.array([other == name for other in names])
        found[name] = measures_of(one.of(mine)[-LAST_DAYS:])
    return found


def _probed(row: Floats) -> dict[str, Json]:
    """Return shares over the requests never taught.

    They are given for all requests, for those that use a convention, for those where asking back or refusing is right,
    and for the rest, which other owners may know as well.
    """
    of = dict(zip(PROBED, row.tolist(), strict=True))
    found: dict[str, Json] = {"n": int(of["n"])}
    for name in ("exact", "node_f1", "tools"):
        found[name] = round(of[name] / of["n"], 5)
    for sort in ("convention", "unplanned", "common"):
        n = of[f"n_{sort}"]
        found[f"n_{sort}"] = int(n)
        for name in ("exact", "node_f1", "tools"):
            if f"{name}_{sort}" in of:
                found[f"{name}_{sort}"] = round(of[f"{name}_{sort}"] / n, 5) if n else None
    return found


# ── What was asked of it ──────────────────────────────────────────────────────────────────────────────────


def numbers(lived: Sequence[Lived], settings: Settings) -> dict[str, Json]:
    """Answer the fleet's questions with the measured numbers."""
    by = {one.way: one for one in lived}
    found: dict[str, Json] = {}
    if "personal" in by:
        last = measures_of(by["personal"].sums.sum(axis=0)[-LAST_DAYS:])
        best = 1 - settings.cloud.teacher_errors
        found["calls_a_request_last_days"] = last["asked"]
        found["exact_last_days"] = last["exact"]
        exact = last["exact"]
        found["of_always_asking_last_days"] = round(exact / best, 5) if isinstance(exact, float) else None
    if "personal" in by and "shared" in by:
        found["conventions"] = _personal_beside_shared(by["personal"], by["shared"])
    if "personal" in by:
        found["newcomers"] = {way: _newcomers(by["personal"], by[way]) for way in OF_NEWCOMERS if way in by}
    return found


def _personal_beside_shared(personal: Lived, shared: Lived, n_draws: int = 1_000) -> dict[str, Json]:
    """Compare the exact plans of the personal and the shared student on conventions, over the last ten days.

    Only the students' own plans count; the interval is of 95 % over edges drawn again.
    """
    own = MEASURES.index("own_exact")
    days = slice(-10, None)
    mine, theirs = (one.sums[:, days, :, 1].sum(axis=(1, 2)) for one in (personal, shared))
    rng = np.random.Generator(np.random.PCG64(0))
    drawn = rng.integers(0, len(mine), size=(n_draws, len(mine)))

    def rate(sums: Floats) -> Floats:
        return np.asarray(sums[..., own] / np.maximum(sums[..., 0], 1))

    apart = np.array([float(rate(mine[k].sum(axis=0)) - rate(theirs[k].sum(axis=0))) for k in drawn])
    low, high = np.quantile(apart, [0.025, 0.975])
    of_mine, of_theirs = float(rate(mine.sum(axis=0))), float(rate(theirs.sum(axis=0)))
    return {
        "n": int(mine[:, 0].sum()),
        "personal_own_exact": round(of_mine, 5),
        "shared_own_exact": round(of_theirs, 5),
        "difference": round(of_mine - of_theirs, 5),
        "low": round(float(low), 5),
        "high": round(float(high), 5),
    }


def _newcomers(blank: Lived, begun: Lived) -> dict[str, Json]:
    """Compare a student begun with a prior after 20 requests with the same edge's blank one after 200.

    The requests are ones that neither was taught; only edges with 200 requests count.
    """
    chosen = np.isin(blank.edges, begun.edges)
    mine, theirs = blank.probed[chosen], begun.probed
    at_20, at_200 = CHECKPOINTS.index(20), CHECKPOINTS.index(200)
    whole = ~np.isnan(mine[:, at_200, 0]) & ~np.isnan(theirs[:, at_20, 0])
    found: dict[str, Json] = {"n_edges": int(whole.sum())}
    if not whole.any():
        return found
    for name, rows in (("blank_after_200", mine[whole, at_200]), ("blank_after_20", mine[whole, at_20]),
                       ("begun_after_20", theirs[whole, at_20]), ("begun_after_0", theirs[whole, 0])):  # fmt: skip
        found[name] = _probed(rows.sum(axis=0))
    found["begun_after_20_less_blank_after_200"] = _apart(theirs[whole, at_20], mine[whole, at_200])
    return found


def _apart(begun: Floats, blank: Floats, n_draws: int = 1_000) -> dict[str, Json]:
    """Return differences of shares with intervals of 95 % over edges drawn again."""
    rng = np.random.Generator(np.random.PCG64(0))
    drawn = rng.integers(0, len(begun), size=(n_draws, len(begun)))
    found: dict[str, Json] = {}
    for name in ("exact", "node_f1", "tools", "exact_common", "node_f1_common", "tools_common", "exact_convention"):
        sort = name.rpartition("_")[2]
        places = PROBED.index(name), PROBED.index(f"n_{sort}" if sort in ("common", "convention") else "n")

        def rate(rows: Floats, at: tuple[int, int] = places) -> Floats:
            return np.asarray(rows[..., at[0]] / np.maximum(rows[..., at[1]], 1))

        apart = rate(begun[drawn].sum(axis=1)) - rate(blank[drawn].sum(axis=1))
        low, high = np.quantile(apart, [0.025, 0.975])
        whole = float(rate(begun.sum(axis=0)) - rate(blank.sum(axis=0)))
        found[name] = [round(value, 5) for value in (whole, float(low), float(high))]
    return found


# ── Tables ────────────────────────────────────────────────────────────────────────────────────────────────


def lines(document: Mapping[str, Json]) -> list[str]:
    """Return the last days of each way as a table."""
    ways = cast("Mapping[str, Mapping[str, Mapping[str, float]]]", document["ways"])
    head = ["", "requests", "asked", "exact", "own exact", "own node F1", "conv. own exact", "usd / 1,000", "bytes out"]
    rows = [head]
    for way, of in ways.items():
        last, said = of["last_days"], of["conventions_last_days"]
        rows.append([
            way, f"{last['n']:,}", f"{last['asked']:.3f}", f"{last['exact']:.3f}", f"{last['own_exact']:.3f}",
            f"{last['own_node_f1']:.3f}", f"{said['own_exact'] or 0:.3f}", f"{1e3 * last['usd']:.3f}",
            f"{last['up_bytes']:.0f}",
        ])  # fmt: skip
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    found = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return [f"last {LAST_DAYS} days; always asking has {document['always_asking_exact']} exact", *found]


def csv_of(document: Mapping[str, Json]) -> str:
    """Return CSV: a row for each way and day, for all requests and for those with a convention."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["way", "requests_of", "day", "n", *_OF_REQUEST])
    ways = cast("Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]]", document["ways"])
    for way, of in ways.items():
        for name, key in (("all", "by_day"), ("conventions", "conventions_by_day")):
            for row in of[key]:
                table.writerow([way, name, row["day"], row["n"], *(row[m] for m in _OF_REQUEST)])
    return file.getvalue()
