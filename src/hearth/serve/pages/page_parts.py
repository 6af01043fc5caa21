"""What every page is made of: templates that escape all they are given, fields that forms send, the home they read."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse

from hearth.errors import HearthError
from hearth.protocols import CallContext, Workspace
from hearth.serve.background.background_sync import NewMail, SyncState
from hearth.serve.desk import Caller
from hearth.serve.door import Phone
from hearth.serve.history import moment
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.types import ToolSpec

PAGE_WAITS_S = 3.0
"""How long a page waits for the agent, which may be waiting for an answer itself."""
MOST_DIGITS = 18
"""Of a number in a body: what is longer is none of ours, and would be slow to read."""


_BROWSER = Caller("page", is_owner=True)

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Home:
    """What the pages read: the home's folder and database, the tools, the time."""

    folder: Path
    store: Store
    specs: Mapping[str, ToolSpec]
    environ: Mapping[str, str]
    now: Callable[[], dt.datetime]
    call: CallContext
    """What a call would get; its folder is read."""
    sync_states: Callable[[], tuple[SyncState, ...]] = tuple
    """How what comes from elsewhere stands."""
    mail: NewMail | None = None
    """What came and was not seen."""

    def owned(self, key: str) -> Workspace:
        """Return the owner's folder, its writes journalled under a key."""
        return Folder(self.folder / "owner", self.store).for_call(key)

    @property
    def trace(self) -> Trace:
        """The record of what was asked and done."""
        return Trace(self.store)


class Templates:
    """The templates of `hearth.serve`."""

    def __init__(self, pages: tuple[tuple[str, str], ...]) -> None:
        """Prepare them; `pages` are title and path of each page that the head of every page leads to."""
        loader = jinja2.PackageLoader("hearth.serve")
        self._made = jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
        self._made.filters["moment"] = moment
        self._made.globals["pages"] = pages

    def fragment(self, template: str, **values: object) -> str:
        """Return a piece of a page."""
        return self._made.get_template(template).render(**values)

    def piece(self, template: str, **values: object) -> JSONResponse:
        """Answer a script with a piece of a page."""
        return JSONResponse({"html": self.fragment(template, **values)})

    def page(self, template: str, title: str, **values: object) -> HTMLResponse:
        """Return a whole page."""
        return HTMLResponse(self._made.get_template(template).render(title=title, **values))

    def fault(self, says: str, status: int) -> HTMLResponse:
        """Return a page that says what went wrong."""
        return HTMLResponse(self._made.get_template("fault.html").render(title="Not this", says=says), status)


async def fields(request: Request) -> dict[str, str]:
    """Read the body, an object of texts. Raises: HearthError."""
    try:
        given = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise HearthError(f"the body is no JSON ({error})") from None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise HearthError("the body is no object of texts")
    try:
        "".join(given.values()).encode()
    except UnicodeEncodeError:
        raise HearthError("the body holds half of a character; type it anew") from None
    return given


async def field(request: Request, name: str) -> str:
    """Read one of them. Raises: HearthError."""
    given = await fields(request)
    if name not in given:
        raise HearthError(f"the body lacks {name!r}")
    return given[name]


def number_in(text: str) -> int | None:
    """Return the number that a field holds; None when it holds none of ours."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def caller_of(request: Request) -> Caller:
    """Return who asks: the owner, at a browser of this machine or on a phone of that name."""
    phone: Phone | None = request.scope.get("hearth.phone")
    return _BROWSER if phone is None else Caller(phone.name, is_owner=True)


def is_phone(request: Request) -> bool:
    """Return whether a phone asks, which may do less than the computer itself."""
    return request.scope.get("hearth.phone") is not None


async def done_soon(work: Future[_Result]) -> _Result:
    """Wait for the desk a little; while it waits for an answer itself, say so and drop the work.

    Raises:
        HearthError: As the work; or it was not begun.
    """
    waiting = asyncio.wrap_future(work)
    done, _ = await asyncio.wait([waiting], timeout=PAGE_WAITS_S)
    if not done and work.cancel():
        raise HearthError("another request is being worked on, or waits for your answer; then try again")
    return await waiting
