"""Gathers what a home's requests teach, asking its teacher within its budget, for the next learning run.

Covered: who teaches (a file, the model in [models.teacher], the joined cloud, the model in [models.language]), each
after the owner's own word. Not covered: learning what was gathered (`learned_state`).
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections.abc import Iterator
from pathlib import Path

from hearth import config
from hearth.config import Settings
from hearth.edge.cloud_teacher import open_teacher
from hearth.guard.egress.gateway import Egress
from hearth.learning.learned_state import State
from hearth.learning.stream import LoopOptions, LoopReport, gather_waiting
from hearth.learning.teaching.teacher import (
    Budget,
    EndpointTeacher,
    FirstOf,
    Limits,
    MeteredTeacher,
    OwnerTeacher,
    RecordedTeacher,
)
from hearth.learning.versions.version_report import Progress
from hearth.planning.deferral.cascade import costs_of
from hearth.planning.retrieval.recall_planner import RecallPlanner
from hearth.protocols import Encoder, Teacher
from hearth.storage.open_home import Home
from hearth.storage.workspace import Folder
from hearth.tools.pim.contacts import entities
from hearth.types import Context


def gather(
    state: State, folder: Path, encoder: Encoder, progress: Progress, recorded: Path | None = None
) -> LoopReport | None:
    """Gather what the home's requests teach, asking its teacher within its budget, for the next learning run.

    Args:
        recorded: A file that answers instead of the teacher.
    Raises:
        ConfigError, RequestError: The teacher's settings or file cannot be used; nothing was asked.
    """
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
        planner = RecallPlanner(encoder, state.store, config.cache_folder(os.environ)) if teacher else None
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
    from hearth.guard.egress.masked_llm import MaskedModel, leaves_device, open_masked  # most runs need no model
    from hearth.models.llm.openai_endpoint import RemoteModel

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
    home = Home(folder, settings, state.store, os.environ)
    limits = Limits(
        said.questions_per_day,
        said.tokens_per_day,
        said.usd_per_day,
        usd_per_million_tokens=said.usd_per_million_tokens,
    )
    if settings.models.teacher is None:
        cloud = open_teacher(home, egress, context)
        if cloud is not None:
            with contextlib.closing(cloud):
                yield FirstOf([owner, MeteredTeacher(cloud, Budget(state.store, cloud.name, limits, clock))])
            return
    if chosen is None:
        yield None
        return
    where = "[models.teacher]" if settings.models.teacher else "[models.language]"
    model = open_masked(chosen, home, egress, where=where, reason="teacher")
    budget = Budget(state.store, f"{chosen.kind}:{chosen.base_url or chosen.path} {chosen.model}", limits, clock)
    with contextlib.ExitStack() as stack:
        if isinstance(model, RemoteModel | MaskedModel):
            stack.callback(model.close)
        told = Context() if leaves_device(chosen) else context
        yield FirstOf([owner, EndpointTeacher(model, budget, encoder, told, said.answers_per_question)])


def _context(state: State, folder: Path, settings: Settings) -> Context:
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
