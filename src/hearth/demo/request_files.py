"""Requests of a file, and doing one: JSONL or lines of text, anybody's.

A line that cannot be read becomes a request with its fault; none stops the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hearth.agent import Agent
from hearth.errors import RequestError
from hearth.learning.corrections import learn_revision
from hearth.learning.learned_state import Offer, State
from hearth.types import Episode

MAX_LINE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class FileRequest:
    """One request of a file, or the reason why the line holds none."""

    id: str
    text: str
    fault: str = ""
    follows: bool = False
    """True when it is said in conversation, after the one before: "no, as a reminder"."""


def read_requests(path: Path) -> Iterator[FileRequest]:
    """Requests of a file: JSONL with `user_request` (or `request`, `text`, `instruction`), or one request per line.

    Raises:
        RequestError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, (raw, n_bytes) in enumerate(_lines(file), 1):
                if raw.strip():
                    yield _request(raw, n_bytes, f"{path.name}:{number}")
    except OSError as error:
        raise RequestError(f"cannot read the requests in {str(path)!r}: {error.strerror}") from None


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each line, cut a little beyond `MAX_LINE_BYTES`, and how long it is: a file may be one line of gigabytes."""
    while raw := file.readline(MAX_LINE_BYTES + 1):
        n_bytes = len(raw)
        rest = raw
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES + 1)
            n_bytes += len(rest)
        yield raw, n_bytes


def _request(raw: bytes, n_bytes: int, place: str) -> FileRequest:
    if n_bytes > MAX_LINE_BYTES:
        return FileRequest(place, "", f"the line has {n_bytes} bytes; at most {MAX_LINE_BYTES} are read")
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        return FileRequest(place, "", f"not UTF-8 text at byte {error.start}; save the file as UTF-8")
    if text in ("[", "]") or text.startswith("[{"):
        return FileRequest(place, "", "part of a JSON array; write one JSON object per line, without brackets around")
    if not text.startswith("{"):
        return FileRequest(place, text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return FileRequest(place, "", f"not JSON: {error}; write one object per line, the whole of it on that line")
    for key in ("user_request", "request", "text", "instruction"):
        if isinstance(data.get(key), str):
            return FileRequest(str(data.get("id") or place), data[key], follows=data.get("follows") is True)
    return FileRequest(
        place, "", f"no 'user_request' in it; it has {', '.join(map(repr, list(data)[:5])) or 'nothing'}"
    )


def shipped(text: bytes) -> tuple[FileRequest, ...]:
    """Read the requests of a file that comes with Hearth."""
    return tuple(_request(line, len(line), "shipped") for line in text.splitlines())


def run_one(agent: Agent, request: FileRequest) -> Episode:
    """Do one request of a file; a line that holds none is recorded with its fault."""
    if request.fault:
        return agent.refuse(agent.request("", id=request.id), f"{request.id}: {request.fault}")
    if not request.follows:
        return agent.run(agent.request(request.text, id=request.id))
    episode = agent.run(agent.request_after(request.text, id=request.id))
    if episode.request.revises:
        state = State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=agent.store)
        learn_revision(state, agent.recall, agent.trace.episode(episode.request.revises), episode)
    return episode
