"""The files of a trained tier two: the model, and what it proposed for demonstrations held back from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hearth.atomic_files import write_bytes
from hearth.errors import StoreError, ToolError
from hearth.protocols import Proposal, Proposer
from hearth.storage.connections import opened_bytes, sealed_bytes
from hearth.types import ToolSpec

_HELD = "held.json"


def opened(folder: Path, tools: Mapping[str, ToolSpec], graph: frozenset[tuple[str, str]] | None) -> Proposer | None:
    """Open the trained model in `folder`; None when it is damaged: the rest plans without it."""
    from hearth.models.pointer import Pointer  # with onnxruntime's session, for those who trained one

    try:
        return Pointer.open(folder, tools, graph=graph)
    except StoreError:
        return None


def fault(folder: Path) -> str:
    """Say what is wrong with the files of a trained model: "gone", "damaged", or nothing."""
    if not folder.exists():
        return "gone"
    from hearth.models.pointer import read_record

    try:
        read_record(folder)
    except StoreError:
        return "damaged"
    return ""


def held(folder: Path) -> dict[str, Proposal]:
    """Return the model's proposals for demonstrations it had not learnt, by id."""
    try:
        data: Any = json.loads(opened_bytes(folder / _HELD))
        return {
            id: Proposal(
                tools,
                tuple((tuple(sequence), log) for sequence, log in sequences),
                {(a, b): value for a, b, value in links},
            )
            for id, (tools, sequences, links) in data.items()
        }
    except (OSError, ToolError, ValueError, TypeError, AttributeError):
        return {}


def write_held(folder: Path, proposals: Mapping[str, Proposal]) -> None:
    data = {
        id: [dict(p.tools), [[list(s), log] for s, log in p.sequences], [[*pair, v] for pair, v in p.link.items()]]
        for id, p in sorted(proposals.items())
    }
    write_bytes(folder / _HELD, sealed_bytes(folder / _HELD, json.dumps(data).encode()))
