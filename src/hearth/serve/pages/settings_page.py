"""The page that tells every setting with what it means, and changes those of one value.

A change is shown first, with what stood there, and is made once it was said yes to; it is checked as the file is, and
the file is whole at each moment. It counts from the next start, which the page can bring about.

Covered: settings of one value or a list of texts. Not covered: mail servers, devices, rules and the like, which are
written in hearth.toml; changing anything from a phone.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import get_args

from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth import config
from hearth.config import setting_tables, settings_edit
from hearth.config.settings_edit import Editable
from hearth.errors import DeniedError, RequestError
from hearth.formats.terminal_text import clean
from hearth.serve.desk import Desk
from hearth.serve.pages.page_parts import Home, Templates, field, fields, is_phone


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as the page tells it."""

    name: str
    value: str
    is_own: bool
    """The owner set it; else it is what it is by itself."""
    meaning: str
    how: Editable | None
    """How it is changed on the page; None: by hand."""


class SettingsPage:
    """The routes of this page."""

    def __init__(self, desk: Desk, home: Home, templates: Templates, restart: Callable[[], None] | None) -> None:
        """Make them.

        Args:
            restart: Starts the home anew with what the file says; None where that cannot be done from here.
        """
        self._desk = desk
        self._home = home
        self._templates = templates
        self._restart = restart
        self._path = home.folder / "hearth.toml"

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/settings", self.settings),
            Route("/settings/form", self.form, methods=["POST"]),
            Route("/settings/try", self.try_out, methods=["POST"]),
            Route("/settings/set", self.change, methods=["POST"]),
            Route("/settings/restart", self.restart, methods=["POST"]),
        ]

    async def settings(self, request: Request) -> Response:
        """Every setting with its value and what it means."""
        found = await run_in_threadpool(config.read_settings, self._path)
        return self._templates.page(
            "settings.html", "Settings", tables=told(found), path=str(self._path), is_changeable=not is_phone(request),
            can_restart=self._restart is not None,
        )  # fmt: skip

    async def form(self, request: Request) -> Response:
        """What a setting is changed with."""
        setting = settings_edit.named(await self._asked_for(request))
        found = await run_in_threadpool(config.read_settings, self._path)
        own = next((one for _, _, rows in told(found) for one in rows if one.name == setting.name), None)
        if own is None:  # of a table that the file has not: a mail server, say
            raise RequestError(f"{setting.name} needs others beside it; write them by hand in {self._path.name}")
        value = _value_at(found, setting.name)
        return self._templates.piece("setting_form.html", one=own, how=setting, value=_typed_as(value))

    async def try_out(self, request: Request) -> Response:
        """Show a change, and what it takes to make it."""
        given = await self._given(request)
        setting = settings_edit.named(given.get("name", ""))
        value = None if given.get("default") else settings_edit.typed(setting, given.get("value", ""))
        change = await run_in_threadpool(settings_edit.changed, self._path, setting, value)
        found = await run_in_threadpool(config.read_settings, self._path)
        after = config.parse_settings(change.text, self._path)
        return self._templates.piece(
            "setting_change.html", change=change, before=_said(_value_at(found, setting.name)),
            after=_said(_value_at(after, setting.name)), typed=given.get("value", ""), is_default=value is None,
        )  # fmt: skip

    async def change(self, request: Request) -> Response:
        """Make a change that was shown."""
        given = await self._given(request)
        setting = settings_edit.named(given.get("name", ""))
        value = None if given.get("default") else settings_edit.typed(setting, given.get("value", ""))

        def write() -> None:
            change = settings_edit.changed(self._path, setting, value)
            settings_edit.write(self._path, change, given.get("digest", ""))

        await run_in_threadpool(write)
        shown = self._templates.fragment(
            "setting_changed.html", name=setting.name, can_restart=self._restart is not None
        )
        return JSONResponse({"says": f"{setting.name} is changed; it counts from the next start.", "html": shown})

    async def restart(self, request: Request) -> Response:
        """Start the home anew, so that changes count."""
        await self._given(request)
        if self._restart is None:
            raise RequestError("this home is started anew where it was started, at the terminal or by its service")
        if self._desk.view.turns:
            raise RequestError("a request is being worked on, or waits for your answer; then start anew")
        self._restart()
        return JSONResponse({"says": "Hearth starts anew; a moment.", "again": "/settings"})

    async def _given(self, request: Request) -> dict[str, str]:
        """Raises: DeniedError: From a phone."""
        if is_phone(request):
            raise DeniedError("settings are changed at the computer itself, not from a phone")
        return await fields(request)

    async def _asked_for(self, request: Request) -> str:
        await self._given(request)
        return await field(request, "name")


# ── Settings and what they mean ───────────────────────────────────────────────────────────────────────────


def told(model: BaseModel) -> list[tuple[str, str, list[Setting]]]:
    """Return each table with what it is about and its settings, in order; those of rules and lists are left to their
    own pages."""
    found: list[tuple[str, str, list[Setting]]] = []
    for name, table in model:
        if isinstance(table, BaseModel):
            found.append((name, inspect.getdoc(type(table)) or "", _settings(table, name)))
    return found


def _settings(table: BaseModel, where: str) -> list[Setting]:
    known = _meanings()
    meanings = {name: said for kind in type(table).__mro__ for name, said in known.get(kind.__name__, {}).items()}
    rows: list[Setting] = []
    for name, value in table:
        if isinstance(value, BaseModel):
            rows += _settings(value, f"{where}.{name}")
        else:
            rows.append(
                Setting(
                    f"{where}.{name}",
                    _said(value),
                    name in table.model_fields_set,
                    meanings.get(name) or _about(type(table).model_fields[name].annotation),
                    settings_edit.editable(f"{where}.{name}"),
                )
            )
    return rows


def _about(annotation: object) -> str:
    """Return what a table says of itself that may be left out."""
    for kind in get_args(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return ""


def _said(value: object) -> str:
    if value is None or value in ("", (), {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list | frozenset | set | Mapping):
        return ", ".join(clean(str(one)) for one in value)[:500]
    return clean(str(value))[:500]


@functools.cache
def _meanings() -> dict[str, dict[str, str]]:
    """Read what stands below each setting in `config.setting_tables`, by class and name."""
    tree = ast.parse(inspect.getsource(setting_tables))
    found: dict[str, dict[str, str]] = {}
    for table in tree.body:
        if isinstance(table, ast.ClassDef):
            own = found.setdefault(table.name, {})
            for before, after in zip(table.body, table.body[1:]):
                is_field = isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name)
                is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                if is_field and is_text:
                    own[before.target.id] = " ".join(str(after.value.value).split())  # type: ignore[attr-defined]
    return found


def _value_at(model: BaseModel, name: str) -> object:
    found: object = model
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _typed_as(value: object) -> str:
    """Return a value as it is typed into a form."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "\n".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
