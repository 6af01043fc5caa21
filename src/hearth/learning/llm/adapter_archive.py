"""Pack a language adapter into one file, offered by a cloud and taken by a device: a tar of a few named files.

The packed adapter is what `learning.llm.distillation` wrote, without the ids of its demonstrations, which are personal;
the same adapter always gives the same bytes. Only a plain LoRA adapter is unpacked.

Covered: names other than these (paths, links, pickles), a file twice or too large, a record or a configuration of
another shape, peft options that load other models or import modules, an archive that is cut off; the folder appears
whole or not at all. Not covered: whether it plans well (the gate judges), whether weights and tokenizer can be read
(the libraries find out when the gate opens them: no code and no pickle of it is run).
"""

from __future__ import annotations

import datetime as dt
import io
import json
import os
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from hearth.errors import ConfigError, StoreFullError
from hearth.formats.edge_protocol import MAX_ADAPTER_BYTES, Profile
from hearth.learning.llm.distillation import LanguageRecord, read_record, write_record
from hearth.learning.llm.prompts import LanguageOptions
from hearth.models.llm.huggingface import RECORD

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
