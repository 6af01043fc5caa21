"""Define `hearth bench run`: run an Ianvs job without Ianvs."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth.cli.invocation import Number, command_with
from hearth.errors import MissingExtraError, RequestError
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth_bench.ianvs.cases.local_processes import Conditions, Engine
    from hearth_bench.ianvs.job import Checked, Job
    from hearth_bench.ianvs.job_runner import Ran

_FILE = click.Path(path_type=Path)
_N_NAMED = 10
"""Number of bad lines printed; all are counted."""


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a job is run."""

    resume: bool
    dry_run: bool
    """Read and check everything, and run nothing."""
    strict: bool
    seed: int


@dataclass(frozen=True, slots=True)
class _Place:
    """Where cases run, and within which bounds."""

    engine: str
    jobs: int
    limit: float
    network: bool


@click.command("run", cls=command_with({"manner": _Manner, "place": _Place}))
@click.argument("file", type=_FILE, metavar="JOB.YAML")
@click.option("--workspace", type=_FILE, metavar="DIR", help="Where results go, instead of the job's own.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Cases side by side.")
@click.option("--resume", is_flag=True, help="Leave out cases that are done and have not changed since.")
@click.option("--dry-run", is_flag=True, help="Read and check everything, name the cases, run none.")
@click.option(
    "--limit", type=Number(min=0, max=31_536_000), default=0.0, metavar="SECONDS", help="The most one case may take."
)
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Where cases run."
)
@click.option("--network", is_flag=True, help="Let the job's own modules open connections.")
@click.option("--strict", is_flag=True, help="Stop at the first line of data that cannot be used.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def run_job(file: Path, workspace: Path | None, manner: _Manner, place: _Place) -> int:
    """Run a benchmarking job of KubeEdge-Ianvs; neither it nor sedna is needed.

    Each case runs in a process of its own and keeps its settings, log, predictions and outcome; the ranking is written
    after each. Exit code 0: all is well; 6: some cases failed, a metric gave no number, or lines were skipped; 1:
    all cases failed; 130: stopped by Ctrl-C.
    """
    import gc

    from hearth_bench.ianvs.cases.local_processes import Conditions, LocalEngine

    chosen: Engine
    local: LocalEngine | None = None
    conditions = Conditions(place.limit, manner.seed, place.network)
    if place.engine == "ray":
        chosen = ray_engine(place.jobs, conditions)
    else:  # the engine's first process starts while the job is read
        chosen = local = LocalEngine(place.jobs, conditions, starts_now=not manner.dry_run)
    gc.freeze()  # what is imported stays; collecting it again and again takes longer than a small job
    try:
        return _run(file, workspace, chosen, manner)
    finally:
        if local is not None:
            local.close()


def _run(file: Path, workspace: Path | None, engine: Engine, manner: _Manner) -> int:
    from hearth_bench.ianvs.job import check_files, read_job

    job = read_job(file, workspace)
    for warning in job.warnings:
        click.echo(clean(f"beware: {warning}"), err=True)
    checked = check_files(job)
    n_passed_over = sum(facts.n_faults for facts in checked.data.values())
    if n_passed_over and manner.strict:
        raise RequestError(checked.faults[0])
    for fault in checked.faults[:_N_NAMED]:
        click.echo(clean(f"skipped: {fault}"), err=True)
    if n_passed_over > _N_NAMED:
        click.echo(f"skipped: {n_passed_over - _N_NAMED:,} more lines", err=True)
    if manner.dry_run:
        _say_plan(job, checked)
        return 6 if n_passed_over else 0
    from hearth.cli.invocation import Progress
    from hearth_bench.ianvs.job_runner import check_workspace, run_job

    check_workspace(job)
    ran = run_job(job, checked, engine, seed=manner.seed, resumes=manner.resume, progress=Progress(sys.stderr))
    return _say_result(job, ran, n_passed_over)


def _say_plan(job: Job, checked: Checked) -> None:
    lines = [f"job {job.name}, results in {job.workspace}"]
    for side, path in (("learn from", job.env.train), ("judged on", job.env.test)):
        facts = checked.data[str(path)]
        lines.append(f"{side:<12}{path}: {facts.n:,} samples, {facts.n_faults:,} bad lines, sha256 {facts.sha256[:12]}")
    lines.append(f"{'metrics':<12}{', '.join(metric.name for metric in job.env.metrics)}")
    lines.append(f"{len(job.cases):,} cases:")
    for number, case in enumerate(job.cases, 1):
        parts = [
            f"{m.type} {m.name}" + "".join(f" {name}={value}" for name, value in m.hyperparameters.items())
            for m in case.modules
        ]
        lines.append(f"  {number}. {case.name}: {case.paradigm}; {'; '.join(parts)}")
    click.echo(clean("\n".join(lines)))


def _say_result(job: Job, ran: Ran, n_passed_over: int) -> int:
    if ran.selected is not None and job.rank.prints:
        from hearth_bench.ianvs.rank import rank_table

        click.echo(clean(rank_table(ran.selected)))
    for name, why in ran.failed.items():
        click.echo(clean(f"failed: {name}: {why}"), err=True)
    for name, faults in ran.faults.items():
        for fault in faults:
            click.echo(clean(f"beware: {name}: {fault}"), err=True)
    for name, why in ran.absent.items():
        click.echo(clean(f"not measured: {name}: {why}"), err=True)
    resumed = f" ({ran.n_resumed} from before)" if ran.n_resumed else ""
    click.echo(clean(f"{len(ran.rows)} of {len(job.cases)} cases done{resumed}, in {job.workspace}"), err=True)
    if ran.was_stopped:
        click.echo(f"stopped; carry on with: hearth bench run {job.file} --resume", err=True)
        return 130
    if not ran.rows:
        return 1
    return 6 if ran.failed or ran.faults or n_passed_over else 0


def ray_engine(jobs: int, conditions: Conditions) -> Engine:
    """Return an engine on the cluster that `RAY_ADDRESS` names, else on a new one on this machine.

    Raises:
        MissingExtraError: Ray is not installed. RequestError: There is no cluster at the address.
    """
    try:
        from hearth_bench.ianvs.cases.ray_engine import RayEngine
    except ImportError:
        raise MissingExtraError("the engine 'ray'", "pip install 'hearth-bench[ray]'") from None
    return RayEngine(jobs, conditions, os.environ.get("RAY_ADDRESS", ""))


@click.command()
@click.option("--predicted", type=_FILE, required=True, metavar="JSONL", help="Plans to judge.")
@click.option("--gold", type=_FILE, required=True, metavar="JSONL", help="The right ones, with the same ids.")
@click.option("--tools", type=_FILE, required=True, metavar="JSON", help="The tools of both.")
@click.option("--graph", type=_FILE, metavar="JSON", help="Links that exist; others count as invented.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
@click.option("--similarity", is_flag=True, help="Compare steps by their embeddings too.")
@click.option("--strict", is_flag=True, help="Stop at the first line that cannot be used.")
def score(
    predicted: Path, gold: Path, tools: Path, graph: Path | None, out: Path, similarity: bool, strict: bool
) -> int:
    """Judge a file of plans, whoever made it, by all metrics of plans.

    Three groups (task decomposition, tool invocation, parameter prediction), and all of TaskBench's as its own program
    counts them. A request without a plan counts as an empty one. Exit code 6: some lines could not be used.
    """
    from hearth import config
    from hearth.atomic_files import check_writable
    from hearth_bench.run_record import write_json
    from hearth_bench.scoring.plan_scoring import score_file, score_lines

    check_writable(out)
    encoder = None
    if similarity:
        from hearth.models.sentence_encoder import MiniLMEncoder

        encoder = MiniLMEncoder.open(config.cache_folder(os.environ))
    document = score_file(predicted, gold, tools, graph, encoder=encoder, is_strict=strict)
    write_json(out, document)
    faults = document["faults"]
    assert isinstance(faults, list)
    for fault in faults[:_N_NAMED]:
        click.echo(clean(f"skipped: {fault}"), err=True)
    click.echo(clean("\n".join([*score_lines(document), "", f"written to {out}"])))
    return 6 if faults else 0
