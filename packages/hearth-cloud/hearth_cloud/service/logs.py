"""Structured logs: one JSON object per line, about requests but without their content.

Covered: what this service logs, what uvicorn and libraries log through `logging` (level, name and, of errors, the kind
and the places in the code), also exceptions, whose messages may hold content of a request. Not covered: what a proxy in
front writes down.
"""

from __future__ import annotations

import datetime as dt
import json
import logging
import sys
import traceback
from typing import TextIO

_OURS = "hearth_cloud"
_SAFE = ("uvicorn.error",)
"""Loggers whose own messages are shown: about starting, stopping and broken connections."""


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, object] = {
            "at": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        told = getattr(record, "told", None)
        if isinstance(told, dict):
            said |= told
        elif record.name in _SAFE and not record.exc_info:
            said["event"] = "server"
            said["says"] = record.getMessage()[:300]
        else:
            said["event"] = "library"
        if record.exc_info and record.exc_info[1] is not None:
            said |= what_failed(record.exc_info[1])
        return json.dumps(said, ensure_ascii=True, default=str)


class Log:
    """The service's own events."""

    def __init__(self) -> None:
        self._logger = logging.getLogger(_OURS)

    def event(self, name: str, *, level: int = logging.INFO, **fields: str | int | float | None) -> None:
        """Log an event with numbers and names that are no content, such as edges, routes and codes."""
        if self._logger.isEnabledFor(level):
            self._logger.log(level, name, extra={"told": {"event": name, **fields}})

    def failed(self, where: str, error: BaseException, **fields: str | int | float | None) -> None:
        """Log a fault of this program: its kind and its places in the code, not its message."""
        self._logger.error(where, extra={"told": {"event": "fault", "where": where, **fields, **what_failed(error)}})


def what_failed(error: BaseException) -> dict[str, object]:
    """Return the kind and places of an error."""
    frames = traceback.extract_tb(error.__traceback__)[-8:]
    places = [f"{frame.filename.rpartition('site-packages/')[2]}:{frame.lineno}" for frame in frames]
    return {"error": type(error).__name__, "places": places}


def start_logging(level: str = "info", stream: TextIO | None = None) -> None:
    """Send everything that this process logs to `stream` (standard error) as JSON lines."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(_Line())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in (_OURS, "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True
