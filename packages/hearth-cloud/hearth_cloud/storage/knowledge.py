"""The task knowledge base: demonstrations from edges, each taken exactly once, and the tasks that enough edges share.

Covered: ids given twice (in one message, or again later), lines of a wrong shape, too long, without a plan, of too many
steps; the same message sent again (same key, same body: the same answer; another body: refused); a process that is
killed in between (all of a message is taken, or nothing). Of a line, only the fields of the plan format are kept. Not
covered: whether what an edge sends was masked before, and whether its plans are right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from hearth.errors import PlanError, RequestError
from hearth.formats.edge_protocol import DemonstrationsSent, Receipt, TaskEntry, TasksGiven, Turned, is_id
from hearth.formats.plans import MAX_STEPS, demonstration_from_json, plan_to_json
from hearth.types import Demonstration
from hearth_cloud.problems import Fault
from hearth_cloud.storage.cloud_storage import Answered, Kept, Storage

MAX_LINE_BYTES = 32_000
MAX_REQUEST_CHARACTERS = 4_000
_MOST_NAME = 200
_N_TOOLS = 512


def take(storage: Storage, edge: str, key: str, sent: DemonstrationsSent, body: bytes) -> tuple[bytes, bool]:
    """Take demonstrations of an edge, once; return the receipt's bytes, and whether they were given before.

    Raises:
        Fault: 409: The key was used for another body. StoreError.
    """
    body_sha256 = hashlib.sha256(body).hexdigest()
    for _ in range(2):
        try:
            with storage.begin() as connection:
                before = storage.answered(connection, edge, key)
                if before is not None:
                    return _again(before, body_sha256, key), True
                receipt = _taken(storage, connection, edge, sent)
                said = receipt.model_dump_json().encode()
                storage.keep_answer(connection, edge, key, Answered(body_sha256, 200, said))
            return said, False
        except sa.exc.IntegrityError:
            continue  # the same message came twice at once, and the other was first
    raise Fault(503, "busy", "the same message is being taken; send it again", 1.0)


def _again(before: Answered, body_sha256: str, key: str) -> bytes:
    if before.body_sha256 != body_sha256:
        raise Fault(
            409,
            "idempotency",
            f"{key!r} was used for another message; a new message needs an id of its own, a repeated one the same body",
        )
    return before.body


def _taken(storage: Storage, connection: sa.Connection, edge: str, sent: DemonstrationsSent) -> Receipt:
    good: dict[str, Kept] = {}
    turned: dict[str, str] = {}
    for place, line in enumerate(sent.demonstrations):
        id = line.get("id")
        name = str(id) if isinstance(id, str | int) and not isinstance(id, bool) else ""
        if not is_id(name):
            turned.setdefault(f"#{place}", "it has no id; expected up to 100 of A-Z, a-z, 0-9, . _ : -")
            continue
        if name in good or name in turned:
            continue  # the first of an id counts
        try:
            good[name] = kept_of(name, line)
        except (RequestError, PlanError) as error:
            turned[name] = str(error)[:300]
    new = set(storage.keep_demonstrations(connection, edge, list(good.values())))
    return Receipt(
        id=sent.id,
        accepted=tuple(id for id in good if id in new),
        known=tuple(id for id in good if id not in new),
        refused=tuple(Turned(id=id, reason=reason) for id, reason in turned.items()),
    )


def kept_of(id: str, line: Mapping[str, Any]) -> Kept:
    """Return a line in the form in which it is stored. Raises: RequestError, PlanError: It cannot be; gives the reason
    without the content."""
    try:
        demonstration = demonstration_from_json(line, id)
    except RequestError:
        raise RequestError("it is no line of the plan format; expected user_request and task_nodes") from None
    if not demonstration.request.strip() or len(demonstration.request) > MAX_REQUEST_CHARACTERS:
        raise RequestError(f"its request has {len(demonstration.request):,} characters; expected 1 to 4,000")
    if not 1 <= len(demonstration.plan.steps) <= MAX_STEPS:
        raise RequestError(f"its plan has {len(demonstration.plan.steps)} steps; expected 1 to {MAX_STEPS}")
    tools = tuple(step.tool for step in demonstration.plan.steps)
    if any(not name or len(name) > _MOST_NAME for name in (*tools, *demonstration.tools)):
        raise RequestError(f"a tool's name is empty or longer than {_MOST_NAME} characters")
    try:
        text = json.dumps(_line(id, demonstration), ensure_ascii=True, allow_nan=False)
    except (ValueError, RecursionError):
        raise RequestError("it holds a number that is none, or is nested too deeply") from None
    if len(text) > MAX_LINE_BYTES or len(demonstration.tools) > _N_TOOLS:
        raise RequestError(f"it has {len(text):,} bytes; expected at most {MAX_LINE_BYTES:,}")
    return Kept(id, tools, text)


def _line(id: str, demonstration: Demonstration) -> dict[str, Any]:
    plan = plan_to_json(demonstration.plan)
    line: dict[str, Any] = {
        "id": id,
        "user_request": demonstration.request,
        "task_steps": list(demonstration.task_steps),
        "task_nodes": plan["task_nodes"],
        "task_links": plan["task_links"],
    }
    if demonstration.tools:
        line["tools"] = list(demonstration.tools)
    if demonstration.now is not None:
        line["now"] = demonstration.now.isoformat()
    return line


def tasks(storage: Storage, k: int) -> TasksGiven:
    """Return tasks that at least `k` edges share: their tools in order, and how many gave them."""
    return TasksGiven(
        tasks=tuple(
            TaskEntry(
                name=" > ".join(row.task)[:1000],
                tools=row.task,
                n_demonstrations=row.n_demonstrations,
                n_edges=row.n_edges,
            )
            for row in storage.tasks(k)
        ),
        k=k,
    )
