"""Reaches the `hearth up` that has a home, from another process of its owner.

`hearth up` writes its address into the home. It is believed, and given the home's key, only while the process that
wrote it holds the home's lock: a port that another program took over learns nothing.

Covered: finding it, asking, following a request, answering, undoing, plans. Not covered: homes on other machines.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ConfigDict, ValidationError

from hearth import errors
from hearth.atomic_files import replacing
from hearth.errors import ConfigError, HearthError, HomeBusyError
from hearth.guard.egress.audit_hook import Permit, permitted
from hearth.protocols import Reply
from hearth.serve.door import KEYS_FILE, Keys
from hearth.storage.database import lock_holder

ADDRESS_FILE = "serve.json"
_CONNECT_S = 2.0
_ANSWER_S = 60.0
"""Beyond what is waited for: the agent may be at a long step."""


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True)


class Question(_Document):
    """A question that stands."""

    id: str
    text: str
    rule: str = ""


class Standing(_Document):
    """How a request goes."""

    state: Literal["waiting", "working", "asked", "done", "failed"]
    question: Question | None = None
    episode: str = ""
    """Of `done`: the id under which it is recorded."""
    status: str = ""
    answer: str = ""
    fault: str = ""
    """Of `failed`: why; `fault_kind` is the error's class."""
    fault_kind: str = ""


class Undone(_Document):
    """What was taken back, and what had to be left."""

    id: str
    undone: tuple[str, ...]
    kept: tuple[str, ...]


class _Begun(_Document):
    number: int


class _Taken(_Document):
    counts: bool


class _Written(_Document):
    pid: int
    address: str


class _Fault(_Document):
    kind: str
    message: str


class HomeLink:
    """The line to a `hearth up`. Safe to use from several threads."""

    def __init__(self, address: str, key: str) -> None:
        place = urlsplit(address)
        self._permit = Permit(place.hostname or "", place.port or 80, is_private_fine=True)
        timeout = httpx.Timeout(_ANSWER_S, connect=_CONNECT_S)
        headers = {"authorization": f"Bearer {key}"}
        self._http = httpx.Client(base_url=f"{address}/v1/home/", headers=headers, timeout=timeout, trust_env=False)

    @classmethod
    def to(cls, home: Path) -> HomeLink | None:
        """Return a line to the `hearth up` that has this home; None when none has it."""
        try:
            written = _Written.model_validate_json((home / ADDRESS_FILE).read_bytes())
        except (OSError, ValidationError):
            return None
        if lock_holder(home) != written.pid:
            return None
        link = cls(written.address, Keys(home / KEYS_FILE).key)
        try:
            link.status()
        except HomeBusyError:
            link.close()
            return None
        return link

    def status(self) -> dict[str, object]:
        """Return what the home says of itself."""
        found: dict[str, object] = json.loads(self._sent("GET", "status"))
        return found

    def begin(self, text: str, *, may_change: bool, is_question: bool = False, caller: str = "terminal") -> int:
        """Put a request in line, and return its number.

        Args:
            may_change: What would change something is asked about; else it is refused.
            is_question: Look for the answer in the owner's things; nothing is planned.
        Raises:
            RequestError: It is empty or too long, or too many wait.
        """
        body = {"text": text, "may_change": may_change, "is_question": is_question, "caller": caller}
        return _Begun.model_validate_json(self._sent("POST", "requests", body)).number

    def standing(self, number: int, *, seen: str = "", within_s: float = 0.0) -> Standing:
        """Return how a request goes, as soon as it is done or asks another question than `seen`, or after a while.

        Raises:
            NotFound: No such request, or it is long ago.
        """
        return Standing.model_validate_json(self._sent("GET", f"requests/{number}?seen={seen}&within_s={within_s}"))

    def answer(self, id: str, reply: Reply) -> bool:
        """Answer a question; False when somebody else has."""
        return _Taken.model_validate_json(self._sent("POST", "answers", {"id": id, "reply": reply})).counts

    def undo(self, id: str | None) -> Undone:
        """Take back what an episode changed. Raises: NotFound."""
        return Undone.model_validate_json(self._sent("POST", "undo", {"id": id}))

    def plan(self, text: str, *, after_last: bool = True) -> dict[str, object]:
        """Return the plan for a request as `hearth plan --json` prints it; nothing runs.

        Args:
            after_last: Read it after what was said before; else it stands alone.
        """
        body = {"text": text, "after_last": after_last}
        found: dict[str, object] = json.loads(self._sent("POST", "plans", body))
        return found

    def correct(self, id: str, say: str, plan: Mapping[str, object] | None) -> dict[str, object]:
        """Teach what an episode should have been; return the demonstration as `hearth correct --json` prints it.

        Args:
            say: What should have been said; empty with a plan, and where nothing should have been done.
            plan: The right plan as JSON.
        Raises:
            NotFound, RequestError, PlanError: Nothing was learnt.
        """
        body = {"id": id, "say": say, "plan": plan}
        found: dict[str, object] = json.loads(self._sent("POST", "corrections", body))
        return found

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def _sent(self, method: str, path: str, body: object = None) -> bytes:
        """Raises: HearthError: What the home raised; HomeBusyError when it does not answer."""
        try:
            with permitted(self._permit):
                answer = self._http.request(method, path, json=body)
        except httpx.HTTPError as error:
            raise HomeBusyError(
                f"`hearth up` has this home and does not answer ({error or type(error).__name__}); see what it prints, "
                "or end it"
            ) from None
        if answer.status_code == 200:
            return answer.content
        raise _raised(answer)


def _raised(answer: httpx.Response) -> HearthError:
    try:
        fault = _Fault.model_validate_json(answer.content)
    except ValidationError:
        said = answer.text.strip()[:300]
        return ConfigError(f"`hearth up` answers {answer.status_code}: {said}; start it again")
    kind = getattr(errors, fault.kind, HearthError)
    is_plain = isinstance(kind, type) and issubclass(kind, HearthError) and kind.__init__ is HearthError.__init__
    return kind(fault.message) if is_plain else HearthError(fault.message)


@contextmanager
def announced(home: Path, address: str) -> Iterator[None]:
    """Write into the home where its `hearth up` is, for its owner alone, while the block runs."""
    path = home / ADDRESS_FILE
    path.unlink(missing_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with replacing(path, keeps_mode=True) as file:
        file.write(json.dumps({"pid": os.getpid(), "address": address}).encode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
