"""A whole plug-in in one file: copy it into the `tools/` folder of your home and it is there.

    cp examples/one_file_tool.py ~/.local/share/hearth/tools/plants.py
    hearth ask "write in the plant diary that I watered the basil"
    hearth ask "when did I last water the basil?"

It keeps a small diary in the workspace, so every write is atomic, lands in the record and can be undone. The first
sentence of a docstring is what a planner reads; the examples are demonstrations from the first day.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

import hearth
from hearth.errors import NotFound

DIARY = "documents/plants.json"

Plant: TypeAlias = Literal["ficus", "basil", "orchid", "monstera"]
"""The plants of this flat. A parameter with choices is found in a request by their words."""


@dataclass(frozen=True, slots=True)
class Watering:
    plant: str
    day: dt.date


@hearth.tool(effect="change", answer="Written down: the {plant} was watered {day}.")
def note_watering(plant: Plant, call: hearth.CallContext) -> Watering:
    """Write down in the plant diary that a plant was watered today.

    Args:
        plant: Which plant.

    Examples:
        I watered the ficus
        write in the plant diary that I watered the basil
        note in the plant diary that the orchid was watered
    """
    watering = Watering(plant, call.now.date())
    diary = _diary(call) | {watering.plant: watering.day.isoformat()}
    call.workspace.write(DIARY, json.dumps(diary, indent=2, sort_keys=True).encode())
    return watering


@hearth.tool(answer="You last watered the {plant} {day}.")
def last_watering(plant: Plant, call: hearth.CallContext) -> Watering:
    """Look up in the plant diary when a plant was last watered.

    Args:
        plant: Which plant.

    Examples:
        when did I last water the ficus
        when was the basil watered
        how long ago did I water the orchid
    """
    diary = _diary(call)
    if plant not in diary:
        raise NotFound(f"no watering of the {plant} is written down; say “I watered the {plant}” when you did")
    return Watering(plant, dt.date.fromisoformat(diary[plant]))


def _diary(call: hearth.CallContext) -> dict[str, str]:
    if not call.workspace.exists(DIARY):
        return {}
    diary: dict[str, str] = json.loads(call.workspace.read(DIARY))
    return diary
