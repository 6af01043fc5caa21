"""`hearth correct`, and asking the home's teacher for `hearth learn`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, opened_agent, print_json
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from hearth.agent import Agent
    from hearth.config import Settings
    from hearth.learning.learned_state import Progress, State
    from hearth.learning.stream import LoopReport
    from hearth.protocols import Encoder, Teacher
    from hearth.types import Context, Episode, Plan

MAX_PLAN_BYTES = 1_000_000


@click.command()
@click.argument("id")
@click.option(
    "--plan", "plan_file", type=click.Path(path_type=Path), help="The right plan: a JSON file with `task_nodes`."
)
@click.option("--say", help="What should have been said: its plan becomes the right one.")
@click.option("--nothing", is_flag=True, help="Nothing should have been done.")
@as_json
@click.pass_obj
def correct(
    invocation: Invocation, id: str, plan_file: Path | None, say: str | None, nothing: bool, as_json: bool
) -> int:
    """Teach the plan that request ID should have had.

    Without an option, the plan opens in $EDITOR. It counts from the next request on; what the wrong plan did stays done
    until `hearth undo`. Ids are listed by `hearth history`.
    """
    if sum((plan_file is not None, say is not None, nothing)) > 1:
        raise click.UsageError("--plan, --say and --nothing exclude each other; give one")
    from hearth.formats.plan_json import plan_to_json
    from hearth.formats.plan_text import plan_lines
    from hearth.learning.learned_state import State
    from hearth.learning.teaching.corrections import correct as teach

    with opened_agent(invocation, yes=False) as agent:
        episode = agent.trace.episode(id)
        if nothing:
            plan = None
        elif say is not None:
            plan = _said(agent, episode, say)
        elif plan_file is not None:
            plan = _read(plan_file)
        else:
            edited = _edited(agent, episode)
            if edited is None:
                click.echo("Nothing was changed, so nothing was learnt.", err=True)
                return 1
            plan = edited
        state = State.open(agent.home, agent.encoder, tools=agent.tools.specs, store=agent.store)
        entry = teach(state, agent.recall, episode, plan, agent.tools.specs)
        specs = agent.tools.specs
    if as_json:
        print_json({"id": entry.id, "user_request": episode.request.text, **plan_to_json(entry.demonstration.plan)})
        return 0
    click.echo(f"Learnt, as {entry.id}: “{clean(short(episode.request.text, 70))}”")
    steps = entry.demonstration.plan
    for line in plan_lines(steps, specs) if steps.steps else ["nothing is to be done"]:
        click.echo(f"  {clean(line)}")
    if any(result.status == "done" for result in episode.results):
        click.echo(f"  what was done then stays done; to take it back: hearth undo {episode.id}")
    return 0


def _said(agent: Agent, episode: Episode, text: str) -> Plan:
    """Plan another request as if said at the same time. Raises: RequestError."""
    from hearth.types import Plan, Request

    proposal = agent.plan(Request(text, episode.request.now), agent.tools.specs)
    if isinstance(proposal, Plan) and not proposal.unserved:
        return proposal
    reason = "a part of it is not served" if isinstance(proposal, Plan) else proposal.reason
    raise errors.RequestError(f"{text!r} is not planned either ({reason}); give the plan itself: --plan FILE")


def _read(path: Path) -> Plan:
    """Read a plan from a file. Raises: RequestError, PlanError."""
    try:
        size = path.stat().st_size
        if size > MAX_PLAN_BYTES:
            raise errors.RequestError(f"{path}: {size:,} bytes; a plan has at most {MAX_PLAN_BYTES:,}")
        return _parsed(path.read_bytes().decode("utf-8-sig"), str(path))
    except OSError as error:
        raise errors.RequestError(f"cannot read {str(path)!r}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise errors.RequestError(f"{path}: not UTF-8 text ({error.reason}); save it as UTF-8") from None


def _parsed(text: str, where: str) -> Plan:
    """Parse a plan from JSON; lines that begin with # are skipped. Raises: RequestError, PlanError."""
    from hearth.formats.plan_json import plan_from_json

    body = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise errors.RequestError(f"{where}: not JSON ({error}); mend it, or use --say") from None
    if not isinstance(data, dict) or "task_nodes" not in data:
        raise errors.RequestError(f"{where}: expected an object with `task_nodes` (docs/reference/plan-format.md)")
    return plan_from_json(data)


_HELP = """\
# Request {id}: {request}
# Make this the plan it should have had, save and close. Lines that begin with # are skipped.
# A value from an earlier call is "<node-0.field>". Tools and their arguments: hearth tools
"""


def _edited(agent: Agent, episode: Episode) -> Plan | None:
    """Let the owner edit the plan in an editor; None when it was left as it is. Raises: RequestError, PlanError."""
    from hearth.formats.plan_json import plan_to_json
    from hearth.types import Plan

    plan = episode.plan or Plan(())
    nodes = plan_to_json(plan)["task_nodes"] or [{"task": next(iter(agent.tools.specs), ""), "arguments": []}]
    head = _HELP.format(id=episode.id, request=" ".join(clean(episode.request.text).split()))
    before = head + json.dumps({"task_nodes": nodes}, ensure_ascii=False, indent=2) + "\n"
    after = click.edit(before, extension=".json")
    if after is None or after.strip() == before.strip():
        return None
    return _parsed(after, "the edited plan")


# ── The home's teacher, for `hearth learn` ────────────────────────────────────────────────────────────────


def gather(
    state: State, folder: Path, encoder: Encoder, progress: Progress, recorded: Path | None = None
) -> LoopReport | None:
    """Gather what the home's requests teach, asking its teacher within its budget, for the next learning run.

    Args:
        recorded: A file that answers instead of the teacher.
    Raises:
        ConfigError, RequestError: The teacher's settings or file cannot be used; nothing was asked.
    """
    import datetime as dt

    from hearth import config
    from hearth.learning.stream import LoopOptions, gather_waiting
    from hearth.planning.arguments.schema_filler import Filler
    from hearth.planning.deferral.cascade import costs_of
    from hearth.planning.learned_planner import LearnedPlanner

    settings = config.read_settings(folder / "hearth.toml")
    now = dt.datetime.now(settings.zone())
    context = _context(state, folder, settings)
    options = LoopOptions(
        dt.timedelta(hours=settings.learning.settled_after_h),
        settings.learning.compared_share,
        settings.planning.ask_below,
        costs_of(settings),
    )
    report: LoopReport | None = None
    with _teacher(state, folder, settings, encoder, context, recorded) as teacher:
        planner = LearnedPlanner(state.student, Filler.open(config.cache_folder(os.environ))) if teacher else None
        for stage in gather_waiting(state, teacher, now=now, options=options, planner=planner, context=context):
            progress(stage.name, stage.done, max(stage.total, 1))
            report = stage.report
    return report


@contextlib.contextmanager
def _teacher(
    state: State, folder: Path, settings: Settings, encoder: Encoder, context: Context, recorded: Path | None
) -> Iterator[Teacher | None]:
    """Open a teacher: the file, else the model in [models.teacher], else the joined cloud where [edge] lets it teach,
    else the model in [models.language]; each comes after what the owner taught for the same words. None without any."""
    import datetime as dt

    from hearth.edge.cloud_teacher import open_teacher
    from hearth.guard.deidentify.masked_llm import MaskedModel, leaves_device, open_masked
    from hearth.guard.egress.gateway import Egress
    from hearth.learning.teaching.teacher import (
        Budget,
        EndpointTeacher,
        FirstOf,
        Limits,
        MeteredTeacher,
        OwnerTeacher,
        RecordedTeacher,
    )
    from hearth.models.llm.openai_endpoint import RemoteModel
    from hearth.storage.workspace import Folder
    from hearth.types import Context

    owner = OwnerTeacher(state.store)
    language = settings.models.language
    if language is not None and language.adapter:
        language = None  # the model is a student itself
    chosen = settings.models.teacher or language
    if recorded is not None:
        yield FirstOf([owner, RecordedTeacher(recorded)])
        return
    said, zone = settings.learning, settings.zone()

    def clock() -> dt.datetime:
        return dt.datetime.now(zone)

    egress = Egress.from_settings(settings, state.store, clock)
    home = Folder(folder / "owner", state.store).for_call("")
    limits = Limits(
        said.questions_per_day,
        said.tokens_per_day,
        said.usd_per_day,
        usd_per_million_tokens=said.usd_per_million_tokens,
    )
    if settings.models.teacher is None:
        cloud = open_teacher(state.store, folder, settings, egress, home, os.environ, context)
        if cloud is not None:
            with contextlib.closing(cloud):
                yield FirstOf([owner, MeteredTeacher(cloud, Budget(state.store, cloud.name, limits, clock))])
            return
    if chosen is None:
        yield None
        return
    where = "[models.teacher]" if settings.models.teacher else "[models.language]"
    model = open_masked(chosen, settings, folder, home, egress, os.environ, where=where, reason="teacher")
    budget = Budget(state.store, f"{chosen.kind}:{chosen.base_url or chosen.path} {chosen.model}", limits, clock)
    with contextlib.ExitStack() as stack:
        if isinstance(model, RemoteModel | MaskedModel):
            stack.callback(model.close)
        told = Context() if leaves_device(chosen) else context
        yield FirstOf([owner, EndpointTeacher(model, budget, encoder, told, said.answers_per_question)])


def _context(state: State, folder: Path, settings: Settings) -> Context:
    from hearth.storage.workspace import Folder
    from hearth.tools.pim.contacts import entities
    from hearth.types import Context

    names = entities(Folder(folder / "owner", state.store).for_call(""))
    return Context(settings.owner.name, names, settings.owner.country)


def gathered_lines(report: LoopReport) -> list[str]:
    """Format what gathering did, for a person."""
    lines = []
    if report.n_done:
        lines.append(f"{report.n_done} of your requests were done and not taken back: learnt from")
    if report.n_asked:
        agreed = f", who agreed with {report.n_agreed} of {report.n_compared} plans" if report.n_compared else ""
        lines.append(f"{report.n_answered} of {report.n_asked} questions were answered by the teacher{agreed}")
    if report.unasked:
        lines.append(report.unasked)
    return lines
