"""`hearth plan --batch`: plan a file of requests into a file of plans, in the same order; nothing is run.

Every line that holds a request gets one line, even without a plan; other lines are named and skipped. The result
appears whole at the end. Until then, finished plans are in `OUT.partial`: the same command resumes from there after
Ctrl-C, a crash or a full disk, and starts anew when its files or what was learnt have changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth import __version__, config
from hearth.atomic_files import check_writable, write_bytes
from hearth.cli.invocation import Progress, print_json
from hearth.cli.learning.learn_commands import opened_state
from hearth.errors import ConfigError, RequestError, StoreError, StoreFullError
from hearth.formats.plans import demonstration_from_json, plan_to_json, read_jsonl, read_tools, refusal_to_json
from hearth.formats.terminal_text import clean
from hearth.language.reading import MAX_CHARACTERS
from hearth.learning.versions.drafting import solved
from hearth.planning.arguments.schema_filler import Filler
from hearth.planning.plan_drafting import Drafter
from hearth.planning.ranking.ranker import Ranker
from hearth.types import Demonstration, Plain, Refusal, ToolSpec

if TYPE_CHECKING:
    from hearth.learning.versions.learned_state import State

_CHUNK = 64
"""Number of requests between two writes."""
_SHOWN_CHARACTERS = 200
_PARTLY = 6


@dataclass(frozen=True, slots=True)
class Asked:
    """One line with a request."""

    line: int
    request: Demonstration


@dataclass(frozen=True, slots=True)
class Batch:
    """The contents of a file of requests."""

    path: Path
    asked: tuple[Asked, ...]
    faults: tuple[str, ...]
    """Lines that were skipped, each with file, line and reason."""
    notes: tuple[str, ...]
    """Oddities that are planned all the same: ids used twice."""


@dataclass(frozen=True, slots=True)
class Summary:
    n_planned: int
    n_without_plan: int
    n_passed_over: int
    n_carried_on: int
    """Number of requests done by an earlier, interrupted run."""


def run_batch(requests: Path, out: Path, folder: Path, tools_file: Path | None, *, as_json: bool) -> int:
    """Plan a file of requests with what was learnt in `folder`, and print a summary.

    Returns:
        Exit code: 0, or 6 when lines were skipped.
    """
    if not (folder / "hearth.db").exists():
        raise ConfigError(f"nothing was learnt in {str(folder)!r} yet; teach it with `hearth learn --state DIR`")
    check_writable(out)
    given = read_tools(tools_file) if tools_file else None
    progress = Progress(sys.stderr)
    with opened_state(folder) as (state, _):
        tools = given if given is not None else dict(state.tools)
        batch = read_batch(requests, tools)
        for line in (*batch.notes, *(f"skipped: {fault}" for fault in batch.faults)):
            progress.say(clean(line))
        has_parameters = any(spec.parameters for spec in tools.values())
        taught = [entry.demonstration for entry in state.buffer.all()]
        filler = Filler.open(config.cache_folder(os.environ)).referring_like(taught) if has_parameters else None
        drafter = Drafter(solved(state), filler, taught)
        summary = plan_batch(batch, out, drafter, tools, key_of(batch, tools, state), progress)
    if as_json:
        print_json({**asdict(summary), "out": str(out), "passed_over": list(batch.faults), "notes": list(batch.notes)})
    else:
        left = [f"{summary.n_without_plan} without a plan"] if summary.n_without_plan else []
        left += [f"{summary.n_passed_over} lines skipped"] if summary.n_passed_over else []
        click.echo(clean(f"{summary.n_planned:,} plans{''.join(f', {one}' for one in left)} → {out}"))
    return _PARTLY if batch.faults else 0


def read_batch(path: Path, tools: Mapping[str, ToolSpec]) -> Batch:
    """Read requests: JSONL with `user_request`, and if wanted `id`, `now` and `tools`.

    Raises:
        RequestError: The file cannot be read, or holds no request at all.
    """
    faults: list[str] = []
    notes: list[str] = []
    asked: list[Asked] = []
    seen: dict[str, int] = {}
    for number, data in read_jsonl(path, faults):
        try:
            request = demonstration_from_json(data, f"{path.stem}-{number}")
            unknown = next((name for name in request.tools if name not in tools), None)
            if unknown is not None:
                raise RequestError(f"it lists the tool {unknown!r}, which is not in the tool file")
        except RequestError as error:
            faults.append(f"{path}:{number}: {error}")
            continue
        if request.id in seen:
            notes.append(
                f"{path}:{number}: the id {request.id!r} stands on line {seen[request.id]} already; both planned"
            )
        seen.setdefault(request.id, number)
        asked.append(Asked(number, request))
    if not asked:
        raise RequestError(f"{path}: holds no request{f'; the first fault: {faults[0]}' if faults else ''}")
    return Batch(path, tuple(asked), tuple(faults), tuple(notes))


def plan_batch(
    batch: Batch, out: Path, drafter: Drafter, tools: Mapping[str, ToolSpec], key: str, progress: Progress
) -> Summary:
    """Plan every request into `out`.

    Args:
        key: Hash of what the plans depend on; an unfinished file of another key is begun anew.
    Raises:
        RequestError: `out` cannot be written. StoreError, StoreFullError: Writing failed; what was done is kept.
    """
    check_writable(out)
    partial = out.with_name(f"{out.name}.partial")
    done = _resumed(partial, key)
    waiting = [one for one in batch.asked if one.line not in done]
    label = f"Planning {len(waiting):,} requests" + (f", {len(done):,} are done" if done else "")
    rows = dict(done)
    with progress.stage(label, len(waiting)) as advance, _Appending(partial, key, is_new=not done) as file:
        for start in range(0, len(waiting), _CHUNK):
            part = waiting[start : start + _CHUNK]
            fresh = dict(zip((one.line for one in part), _planned(part, drafter, tools)))
            file.append(fresh)
            rows |= fresh
            advance(len(part))
    ordered = [rows[one.line] for one in batch.asked]
    write_bytes(out, b"".join(_line(row) for row in ordered))
    partial.unlink(missing_ok=True)
    n_planned = sum(bool(row["task_nodes"]) for row in ordered)
    return Summary(n_planned, len(ordered) - n_planned, len(batch.faults), len(done))


def key_of(batch: Batch, tools: Mapping[str, ToolSpec], state: State) -> str:
    """Return a hash of all that the plans of a batch depend on: tools, what was learnt, tier two, the requests."""
    version = state.lineage.current()
    learnt = (sorted(state.buffer.ids().items()), version.adapter if version else "", sorted(state.graph or ()))
    whole = hashlib.sha256(f"{__version__}\n{sorted(tools.items())!r}\n{learnt!r}\n".encode())
    whole.update(batch.path.read_bytes())
    return whole.hexdigest()


def _planned(part: Sequence[Asked], drafter: Drafter, tools: Mapping[str, ToolSpec]) -> Iterator[dict[str, Plain]]:
    readable = [one.request for one in part if not _why_not(one.request.request)]
    rankings = iter(drafter.rank([r.request for r in readable], [r.tools for r in readable], tools))
    for one in part:
        request = one.request
        row: dict[str, Plain] = {"id": request.id, "user_request": request.request}
        reason = _why_not(request.request)
        if reason:
            refusal = Refusal("unreadable", reason, planner=Ranker.name)
            shown = request.request[:_SHOWN_CHARACTERS]
            yield {**row, "user_request": shown, "task_nodes": [], "refusal": refusal_to_json(refusal)}
            continue
        draft = drafter.draft(next(rankings), request.request, request.now, tools)
        row |= {"tools": [*request.tools]} if request.tools else {}
        row |= plan_to_json(draft.plan)
        if draft.missing:
            row["missing"] = [*draft.missing]
        yield row


def _why_not(text: str) -> str:
    if not text.strip():
        return "the request is empty"
    if len(text) > MAX_CHARACTERS:
        return f"the request is {len(text):,} characters long; up to {MAX_CHARACTERS:,} are read"
    return ""


# ── What is done so far ───────────────────────────────────────────────────────────────────────────────────


class _Appending:
    """The unfinished file: a first line with its key, then one line per request; each chunk is written to disk at
    once."""

    def __init__(self, path: Path, key: str, *, is_new: bool) -> None:
        self._path, self._key, self._is_new = path, key, is_new

    def __enter__(self) -> _Appending:
        if self._is_new:
            write_bytes(self._path, (json.dumps({"batch": self._key}) + "\n").encode())
        self._file = self._path.open("ab", buffering=0)  # so that a full disk is noticed at once
        return self

    def append(self, rows: Mapping[int, Mapping[str, Plain]]) -> None:
        waiting = memoryview(b"".join(_line([line, row]) for line, row in rows.items()))
        try:
            while waiting:
                waiting = waiting[self._file.write(waiting) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            kind = StoreFullError if error.errno in (28, 122) else StoreError
            raise kind(
                f"cannot write {str(self._path)!r}: {error.strerror}; run the command again to carry on"
            ) from None

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _line(document: object) -> bytes:
    """Return one line of JSON; half a surrogate pair, which UTF-8 cannot hold, is escaped as in the input."""
    try:
        return (json.dumps(document, ensure_ascii=False) + "\n").encode()
    except UnicodeEncodeError:
        return (json.dumps(document) + "\n").encode()


def _resumed(path: Path, key: str) -> dict[int, dict[str, Any]]:
    """Return what an earlier run of the same key had done, by line; a line cut off in the middle is ignored."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RequestError(f"cannot read {str(path)!r}: {error.strerror}; remove it to begin anew") from None
    done: dict[int, dict[str, Any]] = {}
    try:
        if json.loads(lines[0]) != {"batch": key}:
            return {}
        for line in lines[1:-1]:
            number, row = json.loads(line)
            done[int(number)] = dict(row)
    except (ValueError, TypeError):
        done = {}
    if done and lines[-1]:  # cut off while it was written: remove the torn line
        path.write_bytes(b"\n".join(lines[:-1]) + b"\n")
    return done
