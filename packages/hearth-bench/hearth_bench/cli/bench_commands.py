"""Define `hearth bench`: a few commands that run every measurement on the processor, offline."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

from hearth.cli.invocation import command_with
from hearth.errors import RequestError
from hearth.formats.terminal_text import clean
from hearth_bench.cli.job_commands import ray_engine, run_job, score
from hearth_bench.cli.report_commands import compare, report
from hearth_bench.suites.measured_paths import Paths

# Each command imports the suites, encoder and plotting it needs, so that `hearth --help` answers at once.

_FILE = click.Path(path_type=Path)


strict_option = click.option("--strict", is_flag=True, help="Stop at the first line that cannot be used.")
seed_option = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


@click.group()
def bench() -> None:
    """Measure how well plans are made, and how learning lasts."""


@bench.command(cls=command_with({"paths": Paths}))
@click.option("--train", type=_FILE, required=True, metavar="JSONL", help="Demonstrations to learn from.")
@click.option("--test", type=_FILE, required=True, metavar="JSONL", help="Requests with their right plans.")
@click.option("--tools", type=_FILE, required=True, metavar="JSON", help="The tools of the test requests.")
@click.option("--train-tools", type=_FILE, metavar="JSON", help="The tools of the demonstrations, if different.")
@click.option("--graph", type=_FILE, metavar="JSON", help="Links that are possible; others are not planned.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
@click.option(
    "--method",
    type=click.Choice(["student", "heads", "recall"]),
    default="student",
    show_default=True,
    help="The whole student, solved heads alone, or neighbours alone.",
)
@click.option("--fast", is_flag=True, help="Without tier two: under a minute.")
@strict_option
@seed_option
def planning(paths: Paths, out: Path, method: str, fast: bool, strict: bool, seed: int) -> None:
    """Learn from one file, plan another, compare.

    Prints a table and writes flat JSON. Where a test request lists its `tools`, only those are offered. Lines that
    cannot be used are named, skipped and counted.
    """
    from hearth.atomic_files import check_writable
    from hearth.cli.invocation import Progress
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth_bench.report.terminal_tables import planning_lines
    from hearth_bench.run_record import write_json
    from hearth_bench.suites.planning_suite import METHODS
    from hearth_bench.suites.suite_measurements import Files, measure_planning

    check_writable(out)
    progress = Progress(sys.stderr)
    files = Files.read(paths, is_strict=strict, progress=progress)
    chosen = next(known for known in METHODS if known == method)
    document = measure_planning(
        files, MiniLMEncoder.open(), method=chosen, seed=seed, is_fast=fast, progress=progress
    )  # fmt: skip
    write_json(out, document)
    click.echo(clean("\n".join([*planning_lines(document), f"{'written to':<14}{out}"])))


@dataclass(frozen=True, slots=True)
class _Stream:
    """How demonstrations come, and who learns them."""

    order: str
    rounds: int
    methods: str


@dataclass(frozen=True, slots=True)
class _Result:
    """Where the result goes, and its curves."""

    out: Path
    png: Path | None

    @property
    def picture(self) -> Path:
        return self.png or self.out.with_suffix(".png")


@bench.command(cls=command_with({"paths": Paths, "stream": _Stream, "result": _Result}))
@click.option("--train", type=_FILE, required=True, metavar="JSONL", help="Demonstrations to learn from.")
@click.option("--test", type=_FILE, required=True, metavar="JSONL", help="Requests with their right plans.")
@click.option("--tools", type=_FILE, required=True, metavar="JSON", help="The tools of both.")
@click.option(
    "--order",
    type=click.Choice(["domain", "shuffle", "file"]),
    default="domain",
    show_default=True,
    help="By domain of the first tool, shuffled, or as in the file.",
)
@click.option("--rounds", type=click.IntRange(min=1), default=10, show_default=True, help="Parts of the stream.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
@click.option("--png", type=_FILE, metavar="PNG", help="Where the curves go (default: beside OUT).")
@click.option(
    "--methods",
    default="",
    metavar="LIST",
    help="Beside the student: recall, heads, finetune, replay, with commas between (default: all).",
)
@click.option("--fast", is_flag=True, help="Without trained methods, on 150 test requests: under a minute.")
@strict_option
@seed_option
def continual(paths: Paths, stream: _Stream, result: _Result, fast: bool, strict: bool, seed: int) -> None:
    """Learn a stream round by round, testing all tasks after each.

    Prints a table, writes JSON (the student's keys at the top, each method's below) and curves as a picture.
    """
    from hearth.atomic_files import check_writable, write_bytes
    from hearth.cli.invocation import Progress
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth_bench.report.result_figures import continual_png
    from hearth_bench.report.terminal_tables import continual_lines
    from hearth_bench.run_record import write_json
    from hearth_bench.suites.continual_suite import ORDERS, STREAM_METHODS
    from hearth_bench.suites.suite_measurements import Files, Rounds, measure_continual

    named = [name.strip() for name in stream.methods.split(",") if name.strip()] or list(STREAM_METHODS)
    unknown = next((name for name in named if name not in STREAM_METHODS), None)
    if unknown is not None:
        raise click.UsageError(f"unknown method {unknown!r}; known are {', '.join(STREAM_METHODS)}")
    out, picture = result.out, result.picture
    if picture == out:
        raise RequestError(f"the result and its picture would both be {str(out)!r}; choose --png")
    check_writable(out)
    check_writable(picture)
    progress = Progress(sys.stderr)
    files = Files.read(paths, is_strict=strict, progress=progress)
    chosen = next(known for known in ORDERS if known == stream.order)
    in_rounds = Rounds(chosen, stream.rounds, [known for known in STREAM_METHODS if known in named])
    document = measure_continual(files, MiniLMEncoder.open(), in_rounds, seed=seed, is_fast=fast, progress=progress)
    write_json(out, document)
    write_bytes(picture, continual_png(document))
    click.echo(clean("\n".join([*continual_lines(document), f"{'written to':<14}{out}, {picture}"])))


@bench.command()
@click.option("--attacks", type=_FILE, required=True, metavar="JSON", help="Attacks by type, in BIPIA's form.")
@click.option("--contexts", type=_FILE, required=True, metavar="JSONL", help="Texts that they are put into.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
@click.option(
    "--pairs", type=click.IntRange(min=1), default=3000, show_default=True, help="About how many attacked texts."
)
@seed_option
def bipia(attacks: Path, contexts: Path, out: Path, pairs: int, seed: int) -> None:
    """Tell texts that hold an instruction from texts that do not.

    Each attack is put at the beginning, in the middle and at the end of some contexts; the contexts alone are the
    ordinary texts. Prints a table and writes flat JSON, with the same by type of attack and by position below.
    """
    from hearth.atomic_files import check_writable
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth_bench.run_record import write_json
    from hearth_bench.suites.bipia_suite import bipia_lines, measure_bipia

    check_writable(out)
    document = measure_bipia(attacks, contexts, MiniLMEncoder.open(), seed=seed, n_pairs=pairs)
    write_json(out, document)
    click.echo(clean("\n".join([*bipia_lines(document), f"{'written to':<14}{out}"])))


@bench.command()
@click.option(
    "--suite",
    type=click.Choice(["agentdojo", "own"]),
    required=True,
    help="AgentDojo's four suites, or Hearth's own tasks and attacks over its real tools.",
)
@click.option("--tasks", type=_FILE, metavar="JSONL", help="With own: another set than the shipped one.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
def injection(suite: str, tasks: Path | None, out: Path) -> None:
    """Replay tasks and attacks past the guard, as if the planner were hijacked.

    Prints a table between a floor (every write asks) and no guard, and writes flat JSON. No language model is asked.
    AgentDojo is an extra: `pip install --no-deps -r requirements-agentdojo.lock`.
    """
    from hearth.atomic_files import check_writable
    from hearth.cli.invocation import Progress
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth_bench.report.terminal_tables import injection_lines
    from hearth_bench.run_record import write_json
    from hearth_bench.suites.injection_suite import measure_agentdojo, measure_own

    check_writable(out)
    if tasks is not None and suite != "own":
        raise click.UsageError("--tasks goes with --suite own; AgentDojo brings its own tasks")
    progress = Progress(sys.stderr)
    encoder = MiniLMEncoder.open()
    if suite == "own":
        document = measure_own(encoder, tasks, progress=progress)
    else:
        document = measure_agentdojo(encoder, progress=progress)
    write_json(out, document)
    click.echo(clean("\n".join([*injection_lines(document), f"{'written to':<14}{out}"])))


@bench.command()
@click.option("--data", type=_FILE, required=True, metavar="FILE", help="Labelled texts: presidio's JSON, or JSONL.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
@click.option("--privacylens", type=_FILE, metavar="JSON", help="Cases of PrivacyLens, for what they would leak.")
@click.option("--no-tagger", is_flag=True, help="Forms and the owner's names alone.")
@seed_option
def privacy(data: Path, out: Path, privacylens: Path | None, no_tagger: bool, seed: int) -> None:
    """Mask labelled texts: what is found, what leaks, whether it comes back, how fast."""
    from hearth import config
    from hearth.atomic_files import check_writable
    from hearth.guard.deidentify.masker import shipped_tag
    from hearth_bench.report.terminal_tables import privacy_lines
    from hearth_bench.run_record import Stopwatch, origin, write_json
    from hearth_bench.suites.privacy_suite import measure_privacy, measure_privacylens

    check_writable(out)
    watch = Stopwatch()
    tag = None if no_tagger else shipped_tag(config.cache_folder())
    if tag is None and not no_tagger:
        click.echo("the tagger's file is missing: names nobody told of are found by cues alone", err=True)
    document = measure_privacy(data, tag, seed=seed)
    if privacylens is not None:
        document["privacylens"] = measure_privacylens(privacylens, tag)
    document |= watch.spent() | origin()
    write_json(out, document)
    click.echo(clean("\n".join([*privacy_lines(document), f"{'written to':<14}{out}"])))


@bench.command()
@click.option(
    "--data", type=_FILE, required=True, metavar="FILE", help="Questions, each with its document, one a line."
)
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
@click.option("--questions", type=click.IntRange(min=1), metavar="N", help="At most this many, drawn at random.")
@click.option("--held-out", is_flag=True, help="Only documents that nothing was trained or tuned on, of our own split.")
@click.option("--given-only", is_flag=True, help="Ask each question of its own document alone.")
@seed_option
def answers(data: Path, out: Path, questions: int | None, held_out: bool, given_only: bool, seed: int) -> None:
    """Answer questions over documents: the right words, yes or no, a number, or that none is there.

    A line is JSON: `id`, `context`, `question`, `kind` (extractive, abstain, yesno, count), `answers` (with `text`),
    and perhaps `source` and `context_title`; or a piece of a home with what its owner asks. Each question is asked of
    its own document, and of all together. Prints figures beside floors and writes flat JSON, with the same for each
    source below.
    """
    from hearth import config
    from hearth.atomic_files import check_writable
    from hearth.cli.invocation import Progress
    from hearth.memory.inquiry.answer_reading import AnswerReader
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth_bench.run_record import Stopwatch, origin, write_json
    from hearth_bench.suites.reading import home_pieces, question_file
    from hearth_bench.suites.reading.reading_suite import measure_reading, reading_lines

    check_writable(out)
    asked = home_pieces.read_documents(data)
    if held_out:
        asked = question_file.held_out(asked)
    if questions is not None:
        asked = question_file.drawn(asked, questions, seed)
    watch = Stopwatch()
    reader = AnswerReader(config.cache_folder(os.environ))
    progress = Progress(sys.stderr)
    document = measure_reading(asked, MiniLMEncoder.open(), reader, is_whole=not given_only, progress=progress)
    document |= question_file.described(data) | {"seed": seed, "is_held_out": held_out} | watch.spent() | origin()
    write_json(out, document)
    click.echo(clean("\n".join([*reading_lines(document), f"{'written to':<14}{out}"])))


@bench.command()
@click.option("--data", type=_FILE, metavar="FILE", help="Conversations in LoCoMo's form.")
@click.option("--prefeval", type=_FILE, metavar="DIR", help="Preferences and choices in PrefEval's form.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
def recall(data: Path | None, prefeval: Path | None, out: Path) -> None:
    """Find in memory what answers a question, and answer it.

    Each conversation is remembered and asked about, on its own and with all in one store: the share of the evidence
    among the first 5, 10, 20 and 50 events found, and whether the answers are right. Preferences are looked for among
    all of them. Our own changed preferences are always asked. Prints tables between floors and writes flat JSON.
    """
    from hearth import config
    from hearth.atomic_files import check_writable
    from hearth.memory.answers.question_answering import WordReader
    from hearth.memory.search.search_words import times_named
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth_bench.run_record import Stopwatch, origin, write_json
    from hearth_bench.suites.preferences_suite import (
        measure_changes,
        measure_preferences,
        preference_lines,
        read_preferences,
        shipped_changes,
    )
    from hearth_bench.suites.recall_suite import measure_recall, read_conversations, recall_lines

    check_writable(out)
    watch = Stopwatch()
    encoder, document, lines = MiniLMEncoder.open(), dict[str, object](), list[str]()
    if data is not None:
        reader = WordReader(config.cache_folder(os.environ))
        for said in measure_recall(read_conversations(data), encoder, times_named, reader):
            if isinstance(said, str):
                click.echo(clean(said), err=True)
            else:
                document, lines = dict(said), recall_lines(said)
    if prefeval is not None:
        document |= measure_preferences(read_preferences(prefeval), encoder)
    document |= measure_changes(shipped_changes(), encoder)
    newer = measure_changes(shipped_changes(is_newer=True), encoder)
    document |= {f"newer_{name}": value for name, value in newer.items()}
    document |= watch.spent() | origin()
    write_json(out, document)
    click.echo(clean("\n".join([*lines, *preference_lines(document), f"{'written to':<14}{out}"])))


@bench.command()
@click.option(
    "--split", type=click.Choice(["dev", "test"]), default="dev", show_default=True, help="Tune on dev, report test."
)
@click.option("--owner", "owners", multiple=True, help="Only this owner (may be given again).")
@click.option("--limit", "n_each", type=click.IntRange(min=1), metavar="N", help="Only the first N of each owner.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Owners side by side.")
@click.option(
    "--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help="Where owners run."
)
@click.option("--users", type=_FILE, metavar="DIR", help="Where each owner's plans stay.")
@click.option("--json", "out", type=_FILE, required=True, metavar="OUT", help="Where the result goes.")
def q2a(
    split: str,
    owners: tuple[str, ...],
    n_each: int | None,
    jobs: int,
    engine: str,
    users: Path | None,
    out: Path,
) -> None:
    """Plan what six invented owners ask, on the first day and after each two weeks of learning.

    Compares the planner untaught, taught by everybody's requests, and taught by each owner's own. The floor is the
    nearest plan, copied unchanged. Prints a table and writes flat JSON. Each owner has a separate process; --jobs and
    --engine ray (on a cluster whose machines see DIR) change nothing but the times.
    """
    import tempfile

    from hearth.atomic_files import check_writable
    from hearth.cli.invocation import Progress
    from hearth_bench.data.q2a_instructions import OWNERS
    from hearth_bench.ianvs.cases.local_processes import Conditions, LocalEngine
    from hearth_bench.run_record import Stopwatch, origin, write_json
    from hearth_bench.suites.q2a.q2a_suite import Part, q2a_document, q2a_lines
    from hearth_bench.suites.q2a.q2a_users import PROGRAM, users_side_by_side

    check_writable(out)
    if unknown := [one for one in owners if one not in OWNERS]:
        raise RequestError(f"no owner {unknown[0]!r} in Q2A; there are {', '.join(OWNERS)}")
    watch = Stopwatch()
    chosen = [one for one in OWNERS if one in owners] or list(OWNERS)
    which: Literal["dev", "test"] = "test" if split == "test" else "dev"
    conditions = Conditions(program=PROGRAM)
    side_by_side = ray_engine(jobs, conditions) if engine == "ray" else LocalEngine(jobs, conditions)
    part = Part(which, chosen, n_each or 0)
    with tempfile.TemporaryDirectory(prefix="hearth-q2a-") as made:
        found = users_side_by_side(side_by_side, users or Path(made), part, Progress(sys.stderr))
    document = q2a_document(found, which)
    document |= watch.spent() | origin()
    write_json(out, document)
    click.echo(clean("\n".join([*q2a_lines(document), f"{'written to':<14}{out}"])))


bench.add_command(run_job)
bench.add_command(score)
bench.add_command(report)
bench.add_command(compare)


@bench.command("prior-privacy")
@click.option("--founders", type=click.IntRange(2, 1_000), default=6, show_default=True)
@click.option("--each", type=click.IntRange(30, 400), default=100, show_default=True, help="Demonstrations of each.")
@click.option("--canaries", type=click.IntRange(10, 10_000), default=1_000, show_default=True)
@click.option("--epsilon", "epsilons", type=click.FloatRange(0.01, 100), multiple=True, help="Default: 4 and 16.")
@click.option("--json", "out", type=_FILE, metavar="OUT", help="Where the result goes.")
@seed_option
def prior_privacy(
    founders: int, each: int, canaries: int, epsilons: tuple[float, ...], out: Path | None, seed: int
) -> None:
    """Attack priors: who gave what, told from what is published.

    Exact sums, which are for one owner's devices, and priors with noise; .5 is a guess, 1 is certain.
    """
    from hearth.agent import shipped_demonstrations
    from hearth.atomic_files import check_writable
    from hearth.models.sentence_encoder import MiniLMEncoder
    from hearth.planning.ranking.ranker import PROFILES
    from hearth.registry import load_tools
    from hearth_bench.run_record import write_json
    from hearth_bench.suites.prior_privacy_suite import Attacked, measure_prior_privacy, privacy_lines

    if out is not None:
        check_writable(out)
    asked = Attacked(founders, each, canaries, epsilons or Attacked().epsilons, seed=seed)
    shown = [one for one in shipped_demonstrations() if one.plan.steps]
    if len(shown) < 2 * founders * each:
        raise RequestError(
            f"{founders} founders with {each} demonstrations each need {2 * founders * each:,}, half of them nobody's; "
            f"{len(shown):,} are shipped; take fewer"
        )
    specs = load_tools(None).specs
    document = measure_prior_privacy(MiniLMEncoder.open(), specs, shown, PROFILES["small"], asked)
    if out is not None:
        write_json(out, document)
    click.echo(clean("\n".join(privacy_lines(document))))
