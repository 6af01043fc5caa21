"""Draw pictures of results from the result documents alone."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {
    "student": "#0b5fa5",
    "recall": "#3a9d5d",
    "heads": "#8c6bb1",
    "finetune": "#c0392b",
    "replay": "#e08e0b",
    "joint": "#555555",
}
_NAMES = {
    "student": "student",
    "recall": "recall only",
    "heads": "tier one only",
    "finetune": "fine-tuning, naive",
    "replay": "fine-tuning, replay",
    "joint": "joint training",
}


def continual_png(document: Mapping[str, Any]) -> bytes:
    """Draw all methods' learning curves, the student's R matrix and the cost of each round."""
    # matplotlib takes half a second to import; no other command needs it.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    methods: Mapping[str, Mapping[str, Any]] = document["methods"]
    figure = Figure(figsize=(15, 5), layout="constrained", dpi=110)
    FigureCanvasAgg(figure)
    curves, matrix, cost = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
    _draw_curves(curves, methods)
    _draw_matrix(matrix, document["r_matrix"])
    _draw_cost(cost, methods)
    figure.suptitle(
        f"{document['train']}: {document['n_train']:,} demonstrations in {document['n_rounds']} rounds, "
        f"order {document['order']} · {document['n']:,} test requests · commit {document['commit'] or 'unknown'}",
        fontsize=11,
    )
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _draw_curves(axes: Axes, methods: Mapping[str, Mapping[str, Any]]) -> None:
    for name, keys in methods.items():
        seen: Sequence[float] = keys["seen_node_f1"]
        if seen:
            axes.plot(range(1, len(seen) + 1), seen, marker="o", markersize=4, color=_COLOURS[name], label=_NAMES[name])
    if "joint" in methods:
        axes.axhline(methods["joint"]["final_node_f1"], color=_COLOURS["joint"], ls="--", label=_NAMES["joint"])
    axes.set(xlabel="rounds learnt", ylabel="node F1 on the tasks so far", title="Learning over the stream")
    axes.set_ylim(0, 1.03)
    axes.grid(alpha=0.25)
    axes.legend(loc="lower left", fontsize=9)
    axes.locator_params(axis="x", integer=True)


def _draw_matrix(axes: Axes, r_matrix: Sequence[Sequence[float]]) -> None:
    r = np.array(r_matrix)
    axes.imshow(r, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if len(r) <= 12:
        for i, j in np.ndindex(*r.shape):
            colour = "white" if r[i, j] > 0.6 else "black"
            axes.text(j, i, f"{r[i, j]:.2f}".lstrip("0"), ha="center", va="center", fontsize=7, color=colour)
        axes.set_xticks(range(len(r)), [str(k + 1) for k in range(len(r))])
        axes.set_yticks(range(len(r)), [str(k + 1) for k in range(len(r))])
    axes.set(xlabel="task tested", ylabel="after learning round", title="R matrix of the student (node F1)")


def _draw_cost(axes: Axes, methods: Mapping[str, Mapping[str, Any]]) -> None:
    for name, keys in methods.items():
        spent = keys["round_cpu_s"]
        if name != "joint":
            axes.plot(range(1, len(spent) + 1), np.maximum(spent, 1e-3), marker="o", markersize=4,
                      color=_COLOURS[name], label=_NAMES[name])  # fmt: skip
    axes.set_yscale("log")
    axes.set(xlabel="round", ylabel="CPU seconds", title="Cost of a round, encoding apart")
    axes.grid(alpha=0.25, which="both")
    axes.legend(loc="best", fontsize=9)
    axes.locator_params(axis="x", integer=True)
