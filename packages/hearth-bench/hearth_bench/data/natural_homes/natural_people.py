"""Read the homes of three invented people and what each of them asks.

The requests were written before anybody looked at the demonstrations, each person's in another way of speaking. A third
of each person's requests, drawn by a hash of their words, is blind: it is never printed, only counted.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from hearth.demo.demo_home import HomeContent, write_home
from hearth.errors import RequestError

Side = Literal["dev", "blind"]
SIDES: tuple[Side, ...] = ("dev", "blind")
PEOPLE = ("margaret", "jordan", "rick")
MOMENT = dt.datetime.fromisoformat("2026-11-24T10:15")
"""A Tuesday, by each person's own clock."""
KINDS = (
    "reminder", "timer", "calendar", "look", "mail", "contact", "list", "note", "file", "sum", "device", "question",
    "memory", "several", "followup", "lacking", "unserved",
)  # fmt: skip
_WAYS = frozenset({"effects", "answer", "without", "ask", "asked", "refuse"})
_FIRST_STATES: Mapping[str, Mapping[str, object]] = {
    "lock": {"is_locked": True},
    "door": {"position": 0},
    "blinds": {"position": 100},
    "heating": {"is_on": True, "temperature": 18.0},
    "speaker": {"is_on": False, "volume": 50.0},
}
_SAID_STATES: Mapping[str, Mapping[str, object]] = {"on": {"is_on": True}, "open": {"position": 100}}


@dataclass(frozen=True, slots=True)
class NaturalRequest:
    """What one person says, in one turn or several, and the ways in which it may rightly end."""

    id: str
    person: str
    kind: str
    turns: tuple[str, ...]
    ways: tuple[Mapping[str, Any], ...]
    side: Side


def read_requests_of(person: str) -> list[NaturalRequest]:
    """Read a person's requests. Raises: RequestError: A line is wrong; names it."""
    text = (files(__package__) / f"{person}_requests.jsonl").read_text(encoding="utf-8")
    lines = [_checked(person, number, line) for number, line in enumerate(text.splitlines(), 1)]
    digests = [hashlib.sha256(f"{person}: {' / '.join(_turns(line))}".encode()).hexdigest() for line in lines]
    blind = set(sorted(digests)[: len(digests) // 3])
    return [
        NaturalRequest(
            f"{person[0]}-{digest[:6]}",
            person,
            line["kind"],
            _turns(line),
            tuple(line["right"] if isinstance(line["right"], list) else [line["right"]]),
            "blind" if digest in blind else "dev",
        )
        for line, digest in zip(lines, digests)
    ]


def read_conversations() -> list[NaturalRequest]:
    """Read the conversations of all three people: revisions and follow-ups, two or three turns each.

    They were written before anything was tuned on them; half of them, drawn by a hash of their words, are blind.
    """
    text = (files(__package__) / "conversations.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    digests = [hashlib.sha256(f"{line['person']}: {' / '.join(_turns(line))}".encode()).hexdigest() for line in lines]
    blind = set(sorted(digests)[: len(digests) // 2])
    return [
        NaturalRequest(
            f"c-{digest[:6]}",
            line["person"],
            "followup",
            _turns(line),
            tuple(line["right"] if isinstance(line["right"], list) else [line["right"]]),
            "blind" if digest in blind else "dev",
        )
        for line, digest in zip(lines, digests)
    ]


def _turns(line: Mapping[str, Any]) -> tuple[str, ...]:
    return (line["say"],) if isinstance(line["say"], str) else tuple(line["say"])


def _checked(person: str, number: int, text: str) -> dict[str, Any]:
    line: dict[str, Any] = json.loads(text)
    if set(line) != {"kind", "say", "right"} or line["kind"] not in KINDS:
        raise RequestError(f"{person}_requests.jsonl:{number}: expected `kind` (one of {KINDS}), `say` and `right`")
    for way in line["right"] if isinstance(line["right"], list) else [line["right"]]:
        if not way or not set(way) <= _WAYS:
            raise RequestError(f"{person}_requests.jsonl:{number}: a way has {sorted(way)}; known are {sorted(_WAYS)}")
    return line


def data_hash() -> str:
    """Return a hash of all homes and requests."""
    digest = hashlib.sha256()
    for person in PEOPLE:
        for name in (f"{person}.toml", f"{person}_requests.jsonl"):
            digest.update((files(__package__) / name).read_bytes())
    return digest.hexdigest()[:16]


def conversations_hash() -> str:
    """Return a hash of all conversations and of the homes in which they are held."""
    text = (files(__package__) / "conversations.jsonl").read_bytes()
    return hashlib.sha256(data_hash().encode() + text).hexdigest()[:16]


def moment_of(person: str) -> dt.datetime:
    """Return the moment at which a person asks, in the person's zone."""
    return MOMENT.replace(tzinfo=ZoneInfo(_home_of(person)["owner"]["time_zone"]))


def write_person_home(person: str, home: Path) -> None:
    """Write a person's home into an empty folder. Raises: ConfigError: The folder holds something."""
    data = _home_of(person)
    texts = {entry["path"]: (entry["text"].strip() + "\n").encode() for entry in data["text"]}
    owner, devices = data["owner"], data["device"]
    content = HomeContent(
        owner, _settings(owner, devices), data["contact"], data["event"], data["reminder"], data["mail"], texts
    )
    write_home(home, content, moment_of(person))
    states = {f"{one['room']}/{one['name']}": _state(one) for one in devices}
    path = home / "owner" / "home" / "devices.json"
    path.parent.mkdir()
    path.write_text(json.dumps(states, indent=1, sort_keys=True))


def _home_of(person: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / f"{person}.toml").read_text(encoding="utf-8"))


def _settings(owner: Mapping[str, Any], devices: Sequence[Mapping[str, Any]]) -> str:
    lines = ["[owner]", *(f'{key} = "{owner[key]}"' for key in ("name", "email", "time_zone", "country"))]
    for one in devices:
        lines += ["", "[[home.device]]", *(f'{key} = "{one[key]}"' for key in ("name", "room", "kind"))]
    return "\n".join(lines) + "\n"


def _state(device: Mapping[str, Any]) -> dict[str, object]:
    first = _FIRST_STATES.get(device["kind"], {"is_on": False})
    return {**first, **_SAID_STATES.get(device.get("state", ""), {})}
