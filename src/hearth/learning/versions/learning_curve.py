"""Draw the learning curve: the score of each version and the number of its demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hearth.errors import MissingExtraError, NotFound, StoreError
from hearth.learning.versions.lineage import Version


def draw(versions: Sequence[Version], path: Path) -> None:
    """Write a PNG (or the format the name's ending says: SVG, PDF).

    Raises:
        NotFound: There is no version yet. StoreError: The file cannot be written, or its ending is unknown.
    """
    if not versions:
        raise NotFound("nothing was learnt yet, so there is no curve; `hearth learn` makes the first version")
    try:  # a quarter of a second to import, for this one command
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ModuleNotFoundError:
        raise MissingExtraError("the picture of the curve", "pip install 'hearth-agent[plots]'") from None

    numbers = [version.number for version in versions]
    scores = [_number(version, "node_f1") for version in versions]
    counts = [_number(version, "n") for version in versions]
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(numbers, scores, marker="o", color="tab:blue", label="Node-F1 of samples judged as if not taught")
    for version in versions:
        if version.parent is not None and version.parent != version.number - 1:
            axes.axvline(version.number, color="0.8", linestyle=":", zorder=0)
    axes.set_xlabel("version")
    axes.set_ylabel("Node-F1")
    axes.set_ylim(0, 1.02)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(alpha=0.3)
    beside = axes.twinx()
    beside.bar(numbers, counts, width=0.5, color="tab:orange", alpha=0.25, label="demonstrations")
    beside.set_ylabel("demonstrations")
    beside.yaxis.set_major_locator(MaxNLocator(integer=True))
    lines = [axes.get_legend_handles_labels(), beside.get_legend_handles_labels()]
    axes.legend(
        [h for handles, _ in lines for h in handles], [t for _, texts in lines for t in texts], loc="lower right"
    )
    axes.set_title("What was learnt")
    try:
        figure.savefig(path, dpi=120, metadata={"Software": None} if path.suffix.lower() == ".png" else None)
    except (OSError, ValueError) as error:
        raise StoreError(f"cannot write the picture {str(path)!r}: {error}; name a .png or .svg file") from None


def _number(version: Version, name: str) -> float:
    value = version.record.get(name)
    return float(value) if isinstance(value, int | float) else float("nan")
