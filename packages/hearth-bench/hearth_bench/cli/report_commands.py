"""Define `hearth bench report` and `hearth bench compare`: report on runs from their files alone."""

from __future__ import annotations

from pathlib import Path

import click

from hearth.formats.terminal_text import clean

_FILE = click.Path(path_type=Path)
gold_option = click.option(
    "--gold", type=_FILE, metavar="JSONL", help="The right plans, where a RUN is a .jsonl of plans (same ids)."
)


@click.command()
@click.argument("runs", type=_FILE, nargs=-1, required=True, metavar="RUN…")
@click.option("--out", type=_FILE, required=True, metavar="DIR", help="Where the report goes; it is made.")
@gold_option
def report(runs: tuple[Path, ...], out: Path, gold: Path | None) -> int:
    """Write a report of runs: leaderboard, pictures, what went wrong.

    A RUN is a job's folder in the workspace of `hearth bench run` (or one case of it), the JSON of a suite, or a file
    of plans. DIR gets `leaderboard.csv`, `report.md` and `report.html`, one page that loads nothing. Exit code 6: some
    cases did not end well.
    """
    from hearth_bench.report.html_report import write_report
    from hearth_bench.report.runs import read_run

    read = [read_run(path, gold) for path in runs]
    for path in write_report(read, out):
        click.echo(clean(str(path)))
    n_failed = sum(bool(case.error) for run in read for case in run.cases)
    if n_failed:
        click.echo(f"{n_failed} cases did not end well; the report names them", err=True)
    return 6 if n_failed else 0


@click.command()
@click.argument("run_a", type=_FILE, metavar="RUN_A")
@click.argument("run_b", type=_FILE, metavar="RUN_B")
@gold_option
@click.option("--json", "out", type=_FILE, metavar="OUT", help="The same as JSON, with all samples that differ.")
@click.option("--png", type=_FILE, metavar="PNG", help="The intervals as a picture.")
@click.option("--draws", type=click.IntRange(min=100, max=1_000_000), default=10_000, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def compare(
    run_a: Path, run_b: Path, gold: Path | None, out: Path | None, png: Path | None, draws: int, seed: int
) -> None:
    """Compare two runs: which is better, where, and how sure that is.

    Samples are matched by what was asked, and differences are resampled from the pairs (paired bootstrap): A or B is
    better if the middle 95 % leave out zero, with ten pairs or more. Cases of the same name and hyperparameters are
    compared; if there are none, the best of each. RUNs are what `hearth bench report` takes.
    """
    from hearth.atomic_files import check_writable, write_bytes
    from hearth_bench.report.run_comparison import compare_runs, comparison_document, comparison_lines
    from hearth_bench.report.runs import read_run
    from hearth_bench.run_record import origin, write_json

    for path in (out, png):
        if path is not None:
            check_writable(path)
    found = compare_runs(read_run(run_a, gold), read_run(run_b, gold), seed=seed, n_draws=draws)
    click.echo(clean("\n\n".join("\n".join(comparison_lines(one)) for one in found)))
    if out is not None:
        write_json(out, {"benchmark": "compare", "comparisons": [comparison_document(c) for c in found], **origin()})
    if png is not None:
        from hearth_bench.report.report_figures import intervals_png
        from hearth_bench.report.run_comparison import interval_rows

        write_bytes(png, intervals_png(interval_rows(found[0]), f"{found[0].b} less {found[0].a}"))
