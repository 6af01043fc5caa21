"""A student as one file that Sedna can carry: it takes the place of `index.pkl` but is no pickle.

Sedna's local controller copies one file from a training's output to `deploy/index.pkl`, and its own workers unpickle
it, so whoever can write that file runs code on the node. Here the file is an archive of arrays and JSON, recognised by
its first bytes and checked against its own hashes; a pickle is refused. It holds no request, only rounded vectors and
hashed words, as in `planning.ranking.ranker`.

Covered: damage, pickles, other archives, members of other names, decompression bombs, too many bytes, a student that
rests on a file elsewhere. Not covered: who made it. What a hostile student plans is for the guard to check.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hearth.atomic_files import replacing
from hearth.errors import HearthError, StoreCorruptError, StoreError, StoreVersionError
from hearth.formats.plans import read_tools, tool_to_json
from hearth.learning.versions.promotion_gate import Described, Frontier, Task, by_sample
from hearth.planning.plan_drafting import Drafter
from hearth.planning.ranking.features import Reading
from hearth.planning.ranking.ranker import FILE_NAME as STUDENT_FILE
from hearth.planning.ranking.ranker import Ranker
from hearth.protocols import Encoder
from hearth.types import Demonstration, Plain, ToolSpec
from hearth.version import __version__

FILE_NAME = "model.hearth"
"""File that a training writes; Sedna's copy of it is called `index.pkl`."""
FORMAT = "hearth"
"""Format name in a Sedna `Model` that refers to such a file."""
MAX_FILE_BYTES = 1 << 30
_VERSION = 1
_INDEX, _TOOLS = "index.json", "tools.json"
_MEMBERS = (_INDEX, _TOOLS, STUDENT_FILE)
_ARCHIVE, _PICKLES = b"PK\x03\x04", (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")
_EPOCH = (1980, 1, 1, 0, 0, 0)
_N_NEAREST = 15


@dataclass(frozen=True, slots=True)
class Allocation:
    """The task a request belongs to."""

    task: str
    """Name of the most likely task; empty without any."""
    likeness: float
    """Similarity to its nearest sample, in [-1, 1]."""
    is_unseen: bool


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Manner(_Loose):
    """The style in which the training data were written; see `planning.plan_drafting`."""

    links_by_reference: bool = False
    listed_is_plan: bool = False
    is_single: bool = False


class _Frontier(_Loose):
    threshold: float = Field(allow_inf_nan=False)
    caught: float
    false_alarms: float


class _Index(_Loose):
    format: str
    version: int
    hearth: str = ""
    sha256: Mapping[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]]
    n_demonstrations: Annotated[int, Field(ge=0)]
    record: Mapping[str, Any] = Field(default_factory=dict)
    tasks: tuple[Mapping[str, Any], ...] = ()
    frontier: _Frontier | None = None
    manner: Manner = Manner()


@dataclass(frozen=True, slots=True)
class Model:
    """A student with the tasks it knows."""

    student: Ranker
    tools: Mapping[str, ToolSpec]
    tasks: tuple[Task, ...] = ()
    frontier: Frontier | None = None
    manner: Manner = field(default_factory=Manner)
    record: Mapping[str, object] = field(default_factory=dict)
    """Measurements made when the model was made."""

    @classmethod
    def of(
        cls,
        student: Ranker,
        tools: Mapping[str, ToolSpec],
        made: Described,
        manner: Manner,
        more: Mapping[str, object],
    ) -> Model:
        record = {**made.record(len(student)), **more}
        return cls(student, tools, made.tasks, made.frontier, manner, record)

    def drafter(self, cache: Path | None) -> Drafter:
        """Return the drafter that makes plans with this model."""
        filler = None
        if any(spec.parameters for spec in self.tools.values()):
            from hearth.planning.arguments.schema_filler import Filler  # loads a model of its own

            filler = Filler.open(cache)
        drafter = Drafter(self.student, filler)
        drafter.links_by_reference = self.manner.links_by_reference
        drafter.listed_is_plan = self.manner.listed_is_plan
        drafter.is_single = self.manner.is_single
        return drafter

    def allocate(self, readings: Sequence[Reading]) -> list[Allocation]:
        """Assign each request to a task, or say that its task was never seen."""
        owner = by_sample(self.tasks)
        return [allocated(self.student.nearest(one, _N_NEAREST), owner, self.frontier) for one in readings]


def allocated(nearest: Sequence[tuple[str, float]], owner: Mapping[str, str], frontier: Frontier | None) -> Allocation:
    """Allocate a request by its nearest samples (id, similarity), nearest first; samples vote by similarity."""
    known = [(owner[id], likeness) for id, likeness in nearest if id in owner]
    if not known:
        return Allocation("", -1.0, True)
    votes: Counter[str] = Counter()
    for name, likeness in known:
        votes[name] += float(np.exp(10 * (likeness - known[0][1])))  # type: ignore[assignment]
    task = min(votes, key=lambda name: (-votes[name], name))
    best = max(likeness for name, likeness in known if name == task)
    return Allocation(task, best, frontier is not None and known[0][1] < frontier.threshold)


def manner_of(taught: Sequence[Demonstration], before: Manner | None, student: Ranker) -> Manner:
    """Return the style of these demonstrations; with fewer than 20, that of the ones before them."""
    if before is not None and len(taught) < 20:
        return before
    seen = Drafter(student, None, taught)
    return Manner(
        links_by_reference=seen.links_by_reference, listed_is_plan=seen.listed_is_plan, is_single=seen.is_single
    )


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────


def write_model(path: Path, model: Model) -> str:
    """Write the model file atomically.

    Returns:
        SHA-256 of the file.
    Raises:
        StoreFullError, StoreError: What was there is as before.
    """
    with tempfile.TemporaryDirectory(prefix="hearth-") as folder:
        model.student.save(Path(folder))
        student = (Path(folder) / STUDENT_FILE).read_bytes()
    tools = _json({"nodes": [tool_to_json(spec) for spec in model.tools.values()]})
    frontier = model.frontier
    index: dict[str, Plain | object] = {
        "format": FORMAT,
        "version": _VERSION,
        "hearth": __version__,
        "sha256": {STUDENT_FILE: _sha256(student), _TOOLS: _sha256(tools)},
        "n_demonstrations": len(model.student),
        "record": dict(model.record),
        "tasks": [task.to_json() for task in model.tasks],
        "frontier": None
        if frontier is None
        else {"threshold": frontier.threshold, "caught": frontier.caught, "false_alarms": frontier.false_alarms},
        "manner": model.manner.model_dump(),
    }
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as archive:
        for name, data in ((_INDEX, _json(index)), (_TOOLS, tools), (STUDENT_FILE, student)):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    _replace(path, whole.getvalue())
    return _sha256(whole.getvalue())


def _json(document: object) -> bytes:
    return (json.dumps(document, ensure_ascii=True, sort_keys=True, indent=1) + "\n").encode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _replace(path: Path, data: bytes) -> None:
    with replacing(path, "write the model") as file:
        file.write(data)


# ── Reading ───────────────────────────────────────────────────────────────────────────────────────────────


def read_model(path: Path, encoder: Encoder) -> Model:
    """
    Raises:
        StoreError: It cannot be read. StoreCorruptError: Not such a file, or damaged.
        StoreVersionError: Of another version of Hearth, or learnt with another encoder.
    """
    members = _members(path)
    try:
        index = _Index.model_validate_json(members[_INDEX])
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise _damaged(path, f"{_INDEX}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if index.format != FORMAT or index.version != _VERSION:
        raise StoreVersionError(
            f"{str(path)!r} is of the form {index.format!r} {index.version}; this Hearth reads {FORMAT!r} {_VERSION}"
        )
    for name in (STUDENT_FILE, _TOOLS):
        if index.sha256.get(name) != _sha256(members[name]):
            raise _damaged(path, f"{name} is not the one its index names")
    _check_arrays(path, members[STUDENT_FILE])
    try:
        tasks = tuple(Task.from_json(task) for task in index.tasks)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"{_INDEX}: tasks: {error!r}") from None
    frontier = index.frontier
    with tempfile.TemporaryDirectory(prefix="hearth-") as folder:
        (Path(folder) / _TOOLS).write_bytes(members[_TOOLS])
        (Path(folder) / STUDENT_FILE).write_bytes(members[STUDENT_FILE])
        try:
            tools = read_tools(Path(folder) / _TOOLS)
            student = Ranker.load(Path(folder), encoder, tools)
        except StoreVersionError:
            raise
        except HearthError as error:
            raise _damaged(path, str(error)) from None
    return Model(
        student,
        tools,
        tasks,
        Frontier(frontier.threshold, frontier.caught, frontier.false_alarms) if frontier else None,
        index.manner,
        index.record,
    )


def _damaged(path: Path, why: str) -> StoreCorruptError:
    return StoreCorruptError(f"{str(path)!r} is no model of Hearth's, or damaged: {why}; train it again")


def _members(path: Path) -> dict[str, bytes]:
    try:
        n_bytes = path.stat().st_size
        if n_bytes > MAX_FILE_BYTES:
            raise _damaged(path, f"it has {n_bytes:,} bytes; at most {MAX_FILE_BYTES:,} are read")
        raw = path.read_bytes()
    except OSError as error:
        raise StoreError(f"cannot read the model {str(path)!r}: {error.strerror}") from None
    if raw.startswith(_PICKLES):
        raise StoreCorruptError(
            f"{str(path)!r} is a pickle, which runs whatever code its writer put in; it was not opened. Hearth's own "
            f"file is an archive of arrays under Sedna's name; let `hearth sedna train` write it"
        )
    if not raw.startswith(_ARCHIVE):
        raise _damaged(path, f"it begins with {raw[:8]!r}")
    return _unpacked(path, raw)


def _unpacked(path: Path, raw: bytes) -> dict[str, bytes]:
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            infos = archive.infolist()
            names = sorted(info.filename for info in infos)
            if names != sorted(_MEMBERS):
                raise _damaged(path, f"it holds {names[:8]}; expected {sorted(_MEMBERS)}")
            for info in infos:
                if info.compress_type != zipfile.ZIP_STORED or info.file_size > len(raw):
                    raise _damaged(path, f"{info.filename} is packed; Hearth packs nothing")
            return {info.filename: archive.read(info) for info in infos}
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise _damaged(path, str(error)) from None


def _check_arrays(path: Path, student: bytes) -> None:
    """Refuse, before loading, arrays that unpack to more than they declare and a student that is partly stored
    elsewhere."""
    try:
        with zipfile.ZipFile(io.BytesIO(student)) as archive:
            if any(i.compress_type != zipfile.ZIP_STORED or i.file_size > len(student) for i in archive.infolist()):
                raise _damaged(path, f"{STUDENT_FILE} is packed; Hearth packs nothing")
        with np.load(io.BytesIO(student), allow_pickle=False) as arrays:
            header = json.loads(arrays["header"].tobytes().decode("utf-8", "surrogatepass"))
        if header.get("base"):
            raise _damaged(path, "its student rests on a file elsewhere")
    except (zipfile.BadZipFile, ValueError, KeyError, TypeError, EOFError, OSError, RecursionError) as error:
        raise _damaged(path, f"{STUDENT_FILE}: {error}") from None
