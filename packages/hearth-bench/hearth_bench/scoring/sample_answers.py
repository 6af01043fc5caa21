"""Read the answers of Ianvs samples: JSON in whatever wrapping a model or a benchmark puts around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hearth.errors import HearthError
from hearth.formats.plans import plan_from_json
from hearth.types import Plan


def unwrapped(value: Any) -> Any:
    """Unwrap a model's answer from lists of one, `completion`, and JSON written as text."""
    for _ in range(4):
        if isinstance(value, list) and len(value) == 1 and not isinstance(value[0], Mapping):
            value = value[0]
        elif isinstance(value, Mapping) and "completion" in value:
            value = value["completion"]
        elif isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):  # as TaskBench writes predictions
            value = value["result"]
        elif isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return value
        else:
            break
    return value


def plan_in(value: Any) -> Plan | None:
    """Return the plan in an answer or a prediction, however wrapped; None if it holds none."""
    value = unwrapped(value)
    if not isinstance(value, Mapping) or "task_nodes" not in value:
        return None
    try:
        return plan_from_json(value)
    except HearthError:
        return None
