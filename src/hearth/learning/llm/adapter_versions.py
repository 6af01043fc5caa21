"""Keep the versions of a language student: each a folder with its record; one of them is current, or none.

    FOLDER/1/  2/  3/      adapters as `learning.llm.distillation` writes them
    FOLDER/current.json    the number that plans, and those before it

A version becomes current only through the gate: judged on demonstrations held back from it, beside the current one.
Covered: a crash at any point leaves the old current one and no half version; a version that learnt something forgotten
is removed with its files, and the last one that never saw it becomes current. Not covered: two processes that change
the same folder (the home's lock keeps them apart).
"""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hearth.atomic_files import write_bytes
from hearth.errors import ConfigError, NotFound, PlannerError, RequestError, StoreError, StoreFullError
from hearth.formats.edge_protocol import MAX_ADAPTER_BYTES, Profile
from hearth.learning.llm.distillation import (
    LanguageOptions,
    LanguageRecord,
    Lessons,
    distill,
    folder_sha256,
    move,
    read_record,
    write_record,
)
from hearth.learning.versions import promotion_gate
from hearth.models.llm.huggingface import CURRENT, RECORD, HuggingFaceModel, check_speaks_alike
from hearth.planning.llm.line_planner import CompactPlanner
from hearth.protocols import GrammarModel
from hearth.types import Context, Demonstration, Plan, Request, ToolSpec

# ── One file to offer or take ──────────────────────────────────────────────────────────────────────────
# Pack a language adapter into one file, offered by a cloud and taken by a device: a tar of a few named files.
# The packed adapter is what `learning.llm.distillation` wrote, without the ids of its demonstrations, which are
# personal; the same adapter always gives the same bytes. Only a plain LoRA adapter is unpacked.
# Covered: names other than these (paths, links, pickles), a file twice or too large, a record or a configuration of
# another shape, peft options that load other models or import modules, an archive that is cut off; the folder appears
# whole or not at all. Not covered: whether it plans well (the gate judges), whether weights and tokenizer can be read
# (the libraries find out when the gate opens them: no code and no pickle of it is run).


_CONFIG, _WEIGHTS, _TOKENIZER = "adapter_config.json", "adapter_model.safetensors", "tokenizer.json"
_NEEDED = (RECORD, _CONFIG, _WEIGHTS)
_MOST_BYTES: Mapping[str, int] = {
    RECORD: 100_000,
    _CONFIG: 1_000_000,
    _WEIGHTS: MAX_ADAPTER_BYTES,
    _TOKENIZER: 50_000_000,
    "tokenizer_config.json": 1_000_000,
    "special_tokens_map.json": 100_000,
    "chat_template.jinja": 100_000,
}
"""The files of an adapter, with the largest size of each."""


class _Lora(BaseModel):
    """The part of peft's configuration that is kept; the rest must be empty or default."""

    model_config = ConfigDict(extra="allow", strict=True)

    peft_type: str = Field(pattern=r"^LORA$")
    task_type: str = Field(pattern=r"^CAUSAL_LM$")
    r: int = Field(ge=1, le=512)
    lora_alpha: float = Field(gt=0, le=100_000, allow_inf_nan=False)
    lora_dropout: float = Field(default=0.0, ge=0, lt=1, allow_inf_nan=False)
    bias: str = Field(default="none", pattern=r"^none$")
    inference_mode: bool = True
    use_rslora: bool = False
    fan_in_fan_out: bool = False
    target_modules: list[str] = Field(min_length=1, max_length=10_000)
    trainable_token_indices: dict[str, list[int]] | None = None


_SAYS_NOTHING: Mapping[str, object] = {"init_lora_weights": True, "megatron_core": "megatron.core"}
"""Keys of peft's whose default is not empty, with that default."""
_PASSED_OVER = ("base_model_name_or_path", "revision", "peft_version", "qalora_group_size")
"""Keys that say where it was made."""


def fingerprint_of(record: LanguageRecord, profile: Profile) -> str:
    """Return the fingerprint, as in a manifest, of devices it fits; those of other devices are numbered apart."""
    return f"lora {record.base_sha256} {profile}"


def pack(folder: Path) -> tuple[bytes, LanguageRecord]:
    """Pack an adapter's folder into one file; also return the record that goes in it.

    Raises:
        ConfigError: It is no LoRA adapter of a model's folder, is too large, or cannot be read.
    """
    made = read_record(folder)
    if made.method != "lora" or not made.base_sha256:
        what = "a whole model" if made.method != "lora" else f"made on {made.base!r}, a name and not a folder"
        raise ConfigError(f"{str(folder)!r} is {what}; expected an adapter that was made on the folder of a model")
    record = replace(made, ids=(), replayed=(), held=(), parent="", scores={}, base=Path(made.base).name)
    files: dict[str, bytes] = {}
    for name in _MOST_BYTES:
        try:
            files[name] = (folder / name).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ConfigError(f"cannot read {str(folder / name)!r}: {error.strerror}; mend its permissions") from None
    files[RECORD] = TypeAdapter(LanguageRecord).dump_json(record)
    if _CONFIG in files:
        files[_CONFIG] = json.dumps(_lora(files[_CONFIG]), sort_keys=True).encode()
    _check(files.keys(), str(folder))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
    if len(packed.getvalue()) > MAX_ADAPTER_BYTES:
        raise ConfigError(
            f"the adapter in {str(folder)!r} has {len(packed.getvalue()):,} bytes, and devices take at most "
            f"{MAX_ADAPTER_BYTES:,}; make one of a lower rank"
        )
    return packed.getvalue(), record


def read_packed(file: Path) -> LanguageRecord:
    """Return the record of a packed adapter, after checking all of it. Raises: ConfigError: It is none; why."""
    return _record(_files(file))


def unpack(file: Path, folder: Path, base: str) -> LanguageRecord:
    """Unpack an adapter into a new folder, for the model `base` of this device.

    Raises:
        ConfigError: It is none, or the folder exists. StoreFullError: It cannot be written; nothing is left.
    """
    files = _files(file)
    record = replace(_record(files), base=base)
    if folder.exists():
        raise ConfigError(f"{str(folder)!r} exists already; choose a new folder for what is taken")
    beside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        beside.mkdir(parents=True)
        for name, data in files.items():
            with open(beside / name, "wb") as written:
                written.write(data)
                written.flush()
                os.fsync(written.fileno())
        write_record(beside, record)
        beside.replace(folder)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise StoreFullError(f"cannot write {str(folder)!r}: {error.strerror}; nothing was taken") from None
    return record


def _files(file: Path) -> dict[str, bytes]:
    """Return the files of a packed adapter, each checked. Raises: ConfigError."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(file, mode="r:") as archive:
            for member in archive:
                name, most = member.name, _MOST_BYTES.get(member.name, -1)
                if not member.isreg() or member.issparse() or most < 0 or name in found:
                    raise _none(file, f"it holds {name[:80]!r}, which has no place in one, or has it twice")
                if member.size > most:
                    raise _none(file, f"its {name} has {member.size:,} bytes; expected at most {most:,}")
                body = archive.extractfile(member)
                found[name] = body.read() if body is not None else b""
                if len(found[name]) != member.size:
                    raise _none(file, f"its {name} is cut off")
    except OSError as error:
        raise ConfigError(f"cannot read {str(file)!r}: {error.strerror or error}") from None
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _none(file, str(error)[:200]) from None
    _check(found.keys(), str(file))
    found[_CONFIG] = json.dumps(_lora(found[_CONFIG])).encode()
    return found


def _check(names: Any, where: str) -> None:
    """Check that all needed files are there. Raises: ConfigError."""
    if missing := [name for name in _NEEDED if name not in names]:
        raise ConfigError(f"{where!r} is no adapter: {', '.join(missing)} is missing; it was not taken")


def _record(files: Mapping[str, bytes]) -> LanguageRecord:
    """Read and check the record. Raises: ConfigError."""
    try:
        record = TypeAdapter(LanguageRecord).validate_json(files[RECORD])
        TypeAdapter(LanguageOptions).validate_python(record.options)
    except ValidationError as error:
        raise ConfigError(f"the adapter's {RECORD} is not one: {_first(error)}; it was not taken") from None
    if record.method != "lora":
        raise ConfigError(
            f"the adapter's {RECORD} is of a whole model, made with method {record.method[:40]!r}; it was not taken"
        )
    if len(record.base_sha256) != 64 or not set(record.base_sha256) <= set(_HEX):
        raise ConfigError(f"the adapter's {RECORD} names no model that it was made on; it was not taken")
    try:
        made = dt.datetime.fromisoformat(record.made).isoformat(timespec="seconds")
    except ValueError:
        raise ConfigError(f"the adapter's {RECORD} does not say when it was made; it was not taken") from None
    # It comes from others: nothing here may rest on ids and scores that are not this home's.
    return replace(record, ids=(), replayed=(), held=(), parent="", scores={}, made=made)


_HEX = "0123456789abcdef"


def _lora(data: bytes) -> dict[str, Any]:
    """Return the kept part of an `adapter_config.json`. Raises: ConfigError: It is more or other than plain LoRA."""
    try:
        config = _Lora.model_validate_json(data)
    except ValidationError as error:
        raise ConfigError(f"the adapter's {_CONFIG} is not plain LoRA: {_first(error)}; it was not taken") from None
    for name, value in (config.model_extra or {}).items():
        if name not in _PASSED_OVER and value and value != _SAYS_NOTHING.get(name):
            raise ConfigError(f"the adapter's {_CONFIG} is not plain LoRA: {name[:60]!r} is set; it was not taken")
    return config.model_dump(include=set(_Lora.model_fields))


def _first(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))[:100] or 'it'}: {first['msg'][:200]}"


def _none(file: Path, why: str) -> ConfigError:
    return ConfigError(f"{str(file)!r} is no packed adapter: {why}; it was not taken")


# ── Versions ───────────────────────────────────────────────────────────────────────────────────────────


N_HELD = 40
"""Most demonstrations held back to judge a version by; at most a fifth of them."""
_NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
"""Time assumed for a demonstration without one."""


@dataclass(frozen=True, slots=True)
class AdapterVersion:
    number: int
    folder: Path
    record: LanguageRecord
    is_current: bool


@dataclass(frozen=True, slots=True)
class Distilled:
    """Outcome of teaching: the version, and whether it plans now."""

    version: AdapterVersion
    verdict: promotion_gate.Verdict


class Adapters:
    """The versions below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    # ── What there is ─────────────────────────────────────────────────────────────────────────────────────

    def versions(self) -> tuple[AdapterVersion, ...]:
        """Return all versions, oldest first. Raises: ConfigError: A record cannot be read."""
        return tuple(map(self.version, self._numbers()))

    def version(self, number: int) -> AdapterVersion:
        """Return one version. Raises: NotFound: No such version; names those there are."""
        if number not in self._numbers():
            known = ", ".join(map(str, self._numbers())) or "none"
            raise NotFound(f"no adapter {number}; there are: {known}")
        return AdapterVersion(number, self._of(number), read_record(self._of(number)), self._past()[-1:] == [number])

    def current(self) -> AdapterVersion | None:
        """Return the version that plans; None: the base alone does."""
        past = self._past()
        return self.version(past[-1]) if past else None

    # ── Making one ────────────────────────────────────────────────────────────────────────────────────────

    def distil(
        self,
        base: str | Path,
        lessons: Lessons,
        *,
        options: LanguageOptions | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Distilled:
        """Teach a new version, going on from the current one when its base is the same, and judge it.

        Raises:
            As `learning.llm.distillation.distill`; nothing of the version is left then.
        """
        now = self.current()
        if now is not None and (now.record.base != str(base) or now.record.method != "lora"):
            now = None
        known = _by_id([*lessons.replay, *lessons.new])
        tasks = tasks_of(known.values(), lessons.tools)
        held = _held(lessons.new, known, tasks, now.record if now is not None else None)
        new, replay = ([d for d in some if d.id not in held] for some in (lessons.new, lessons.replay))
        number = self._next()
        taught, start = replace(lessons, new=new, replay=replay), now.folder if now is not None else None
        distill(base, taught, self._of(number), options=options, start_from=start, progress=progress)
        return self._judged(number, [known[id] for id in sorted(held)], tasks, lessons.tools, base)

    def move(
        self,
        number: int,
        base: str | Path,
        buffer: Sequence[Demonstration],
        tools: Mapping[str, ToolSpec],
        *,
        progress: Callable[[int, int], object] | None = None,
    ) -> Distilled:
        """Make version `number` anew on another base, from its demonstrations still in `buffer`, and judge it.

        Raises:
            NotFound: No such version. RequestError: Nothing of what it learnt is kept. As
                `learning.llm.distillation.move`.
        """
        old = self.version(number)
        known = _by_id(buffer)
        if not known.keys() & set(old.record.ids):
            raise RequestError(f"nothing of what adapter {number} learnt is still kept; teach the new base anew")
        tasks = tasks_of(known.values(), tools)
        held = [known[id] for id in sorted(known.keys() - old.record.seen)[:N_HELD]]
        made = self._next()
        move(old.folder, base, buffer, tools, self._of(made), progress=progress)
        return self._judged(made, held, tasks, tools, base)

    def take(self, file: Path, base: Path, buffer: Sequence[Demonstration], tools: Mapping[str, ToolSpec]) -> Distilled:
        """Make a version of a packed adapter that was made elsewhere on the same model, and judge it by `buffer`.

        Raises:
            ConfigError: It is none, was made on another model, or speaks in another form. MissingExtraError.
            PlannerError: It wrote not a single plan. StoreFullError. Nothing of the version is left then.
        """
        record = read_packed(file)
        if not base.is_dir() or folder_sha256(base) != record.base_sha256:
            raise ConfigError(
                f"the adapter was made on the model {record.base[:100]!r} (SHA-256 {record.base_sha256[:12]}…), which "
                f"{str(base)!r} is not; name the folder of that model with --base"
            )
        now = self.current()
        known = _by_id(buffer)
        tasks = tasks_of(known.values(), tools)
        unseen = known.keys() - (now.record.seen if now else frozenset()) or known.keys()
        able = {name: [id for id in ids if id in unseen] for name, ids in tasks.items()}
        held = [known[id] for id in sorted(promotion_gate.choose(able, min(N_HELD, len(unseen))))]
        number = self._next()
        unpack(file, self._of(number), str(base))
        try:
            check_speaks_alike(self._of(number), base)
            return self._judged(number, held, tasks, tools, base)
        except BaseException:
            shutil.rmtree(self._of(number))
            raise

    def _judged(
        self,
        number: int,
        held: Sequence[Demonstration],
        tasks: Mapping[str, Sequence[str]],
        tools: Mapping[str, ToolSpec],
        base: str | Path,
    ) -> Distilled:
        """Judge a version beside the one that plans; if the gate lets it, it plans from now on."""
        made, before = self.version(number), self.current()
        after = scores(_opened(made), held, tools)
        old = scores(_opened(before) if before else HuggingFaceModel.open(base), held, tools, may_fail=True)
        verdict = promotion_gate.judge(old, after, tasks, taught_new=True)
        measured = {"node_f1_before": verdict.before, "node_f1": verdict.after, "n": float(verdict.n)}
        rounded = {name: round(value, 4) for name, value in measured.items()}
        write_record(made.folder, replace(made.record, scores=rounded, held=tuple(d.id for d in held)))
        if verdict.is_promoted:
            self.promote(number)
        return Distilled(self.version(number), verdict)

    # ── Which one plans ───────────────────────────────────────────────────────────────────────────────────

    def promote(self, number: int) -> None:
        """Make `number` the version that plans; the owner may do so against the gate. Raises: NotFound."""
        self.version(number)
        self._write([*(n for n in self._past() if n != number), number])

    def rollback(self, number: int | None = None) -> AdapterVersion | None:
        """Let the version before the current one plan again, or `number`; None: the base alone.

        Raises:
            NotFound: Nothing is current, or no such version.
        """
        past = self._past()
        if number is not None:
            self.promote(number)
        elif not past:
            raise NotFound(
                "no adapter plans, so there is none to roll back; `hearth adapters list` shows what there is"
            )
        else:
            self._write(past[:-1])
        return self.current()

    def forget(self, ids: Iterable[str]) -> tuple[int, ...]:
        """Remove each version that learnt one of `ids`, or went on from such a one; return which."""
        wanted = frozenset(ids)
        gone: list[int] = []
        for version in self.versions():
            if wanted & version.record.seen or version.record.parent in map(str, gone):
                gone.append(version.number)
        self._write([n for n in self._past() if n not in gone])  # first: the version that plans must not miss its files
        for number in gone:
            shutil.rmtree(self._of(number))
        for version in self.versions():
            if wanted & set(version.record.held):
                held = tuple(id for id in version.record.held if id not in wanted)
                write_record(version.folder, replace(version.record, held=held))
        return tuple(gone)

    # ── Files ─────────────────────────────────────────────────────────────────────────────────────────────

    def _of(self, number: int) -> Path:
        return self._folder / str(number)

    def _numbers(self) -> list[int]:
        if not self._folder.is_dir():
            return []
        return sorted(int(path.name) for path in self._folder.iterdir() if path.name.isdecimal() and path.is_dir())

    def _next(self) -> int:
        return max([*self._numbers(), *self._past(), 0]) + 1

    def _past(self) -> list[int]:
        """Return the numbers that were current, the present one last."""
        try:
            return [int(n) for n in json.loads((self._folder / CURRENT).read_bytes())["past"]]
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StoreError(
                f"cannot read {str(self._folder / CURRENT)!r} ({error}); remove it, then `hearth adapters promote`"
            ) from None

    def _write(self, past: Sequence[int]) -> None:
        write_bytes(self._folder / CURRENT, (json.dumps({"past": list(past)}) + "\n").encode())


def scores(
    model: GrammarModel,
    demonstrations: Sequence[Demonstration],
    tools: Mapping[str, ToolSpec],
    *,
    may_fail: bool = False,
) -> dict[str, float]:
    """Return the Node-F1 of the plan that `model` writes for each demonstration, by id; no plan counts as an empty one.
    Args: may_fail: Whether a model that writes not a single plan is scored, too: one that was not taught yet.
    Raises: PlannerError: It wrote not a single plan."""
    planner = CompactPlanner(model)
    found, n_written = dict[str, float](), 0
    failed: PlannerError | None = None
    for d in demonstrations:
        offered = {name: tools[name] for name in d.tools if name in tools} or tools
        try:
            plan = planner.plan(Request(d.request, d.now or _NOON), Context(), offered)
            n_written += 1
        except PlannerError as error:
            plan, failed = Plan(()), error
        planned = [step.tool for step in plan.steps] if isinstance(plan, Plan) else []
        found[d.id] = promotion_gate.node_f1(planned, [step.tool for step in d.plan.steps])
    if failed is not None and not n_written and not may_fail:
        raise failed
    return found


def tasks_of(demonstrations: Iterable[Demonstration], tools: Mapping[str, ToolSpec]) -> dict[str, list[str]]:
    """Group ids by the domain of the plan's first tool, or by that tool where tools have no domains."""
    tasks: dict[str, list[str]] = {}
    for d in demonstrations:
        first = tools[d.plan.steps[0].tool] if d.plan.steps else None
        tasks.setdefault((first.domain or first.name) if first else "(none)", []).append(d.id)
    return tasks


def _held(
    new: Sequence[Demonstration],
    known: Mapping[str, Demonstration],
    tasks: Mapping[str, Sequence[str]],
    before: LanguageRecord | None,
) -> frozenset[str]:
    """Choose ids to judge by, from all tasks: those `before` held back, none it learnt, at most a fifth of the new."""
    learnt = before.seen if before else frozenset()
    able = {name: [id for id in ids if id not in learnt] for name, ids in tasks.items()}
    chosen = promotion_gate.choose(able, min(N_HELD, len(known) // 5))
    earlier = frozenset(before.held) & known.keys() if before else frozenset()
    fresh = {d.id for d in new} - earlier
    return (
        earlier
        | (frozenset(chosen) - fresh)
        | frozenset(promotion_gate.drawn(fresh & frozenset(chosen), len(fresh) // 5))
    )


def _by_id(demonstrations: Sequence[Demonstration]) -> dict[str, Demonstration]:
    return {d.id: d for d in demonstrations}


def _opened(version: AdapterVersion) -> HuggingFaceModel:
    if version.record.method == "full":
        return HuggingFaceModel.open(version.folder)
    base = Path(version.record.base) if Path(version.record.base).is_dir() else version.record.base
    return HuggingFaceModel.open(base, adapter=version.folder)
