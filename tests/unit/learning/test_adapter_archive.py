"""An adapter as one file: what goes in, and what is never taken out."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from hearth.errors import ConfigError, StoreFullError
from hearth.learning.finetune import adapters
from hearth.learning.finetune.adapters import (
    LanguageOptions,
    LanguageRecord,
    fingerprint_of,
    pack,
    read_packed,
    read_record,
    unpack,
)

RECORD = LanguageRecord(
    method="lora", base="/home/keeper/models/tiny", base_sha256="b" * 64, data_sha256="d" * 64, ids=("mia-1", "mia-2"),
    replayed=("mia-3",), seed=0, parent="4", options=asdict(LanguageOptions()), n_parameters=100, n_trained=10,
    n_left_out=0, n_updates=5, loss=0.5, cpu_s=1.0, made="2026-09-07T08:00:00+00:00", scores={"node_f1": 0.9},
    held=("mia-4",),
)  # fmt: skip
CONFIG: dict[str, Any] = {
    "peft_type": "LORA", "task_type": "CAUSAL_LM", "r": 8, "lora_alpha": 16, "lora_dropout": 0.05, "bias": "none",
    "inference_mode": True, "use_rslora": False, "fan_in_fan_out": False, "target_modules": ["q_proj"],
    "trainable_token_indices": {"embed_tokens": [1, 2]}, "auto_mapping": None, "megatron_config": None,
    "megatron_core": "megatron.core", "init_lora_weights": True, "base_model_name_or_path": "/home/keeper/models/tiny",
    "revision": None, "peft_version": "0.21.2", "qalora_group_size": 16, "loftq_config": {}, "use_dora": False,
}  # fmt: skip


def written(folder: Path, record: LanguageRecord = RECORD, **config: Any) -> Path:
    folder.mkdir()
    (folder / "record.json").write_text(json.dumps(asdict(record)))
    (folder / "adapter_config.json").write_text(json.dumps(CONFIG | config))
    (folder / "adapter_model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "README.md").write_text("base_model: /home/keeper/models/tiny")
    (folder / "adapter_model.bin").write_bytes(b"a pickle")
    return folder


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    data, _ = pack(written(tmp_path / "made"))
    (tmp_path / "packed").write_bytes(data)
    return tmp_path / "packed"


def test_what_is_packed_comes_out_again_without_whose_it_was(packed: Path, tmp_path: Path) -> None:
    record = unpack(packed, tmp_path / "adapters" / "1", "models/mine")
    folder = tmp_path / "adapters" / "1"
    names = ["adapter_config.json", "adapter_model.safetensors", "record.json", "tokenizer.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert read_record(folder) == record
    assert (record.base, record.base_sha256, record.seen, record.held) == ("models/mine", "b" * 64, frozenset(), ())
    assert (folder / "adapter_model.safetensors").read_bytes() == b"weights"
    config = json.loads((folder / "adapter_config.json").read_text())
    assert (config["r"], config["target_modules"]) == (8, ["q_proj"])
    assert "base_model_name_or_path" not in config
    for said in (b"mia", b"keeper", b"pickle"):
        assert said not in packed.read_bytes()


def test_the_same_adapter_gives_the_same_bytes(packed: Path, tmp_path: Path) -> None:
    again, record = pack(written(tmp_path / "elsewhere"))
    assert again == packed.read_bytes()
    assert fingerprint_of(record, "small") == f"lora {'b' * 64} small"


def test_a_folder_that_is_there_is_not_written_over(packed: Path, tmp_path: Path) -> None:
    unpack(packed, tmp_path / "1", "m")
    with pytest.raises(ConfigError, match="exists already"):
        unpack(packed, tmp_path / "1", "m")


def test_a_folder_that_cannot_be_written_leaves_nothing(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreFullError, match="nothing was taken"):
        unpack(packed, tmp_path / "file" / "1", "m")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"method": "full"}, "a whole model"),
        ({"base_sha256": ""}, "a name and not a folder"),
    ],
)
def test_what_is_no_adapter_of_a_folder_is_not_packed(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        pack(written(tmp_path / "made", replace(RECORD, **changes)))


@pytest.mark.parametrize("missing", ["record.json", "adapter_config.json", "adapter_model.safetensors"])
def test_half_an_adapter_is_not_packed(tmp_path: Path, missing: str) -> None:
    folder = written(tmp_path / "made")
    (folder / missing).unlink()
    with pytest.raises(ConfigError, match=missing):
        pack(folder)


def test_what_is_too_large_for_devices_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "MAX_ADAPTER_BYTES", 1_000)
    with pytest.raises(ConfigError, match="at most 1,000"):
        pack(written(tmp_path / "made"))


# ── What is never taken ───────────────────────────────────────────────────────────────────────────────────


def archived(files: Mapping[str, bytes], *more: tarfile.TarInfo, again: Mapping[str, bytes] | None = None) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, body in (*files.items(), *(again or {}).items()):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body))
        for member in more:
            archive.addfile(member)
    return data.getvalue()


def files(record: Mapping[str, Any] | None = None, config: Mapping[str, Any] | None = None) -> dict[str, bytes]:
    return {
        "record.json": json.dumps({**asdict(RECORD), **(record or {})}).encode(),
        "adapter_config.json": json.dumps({**CONFIG, **(config or {})}).encode(),
        "adapter_model.safetensors": b"weights",
    }


def link(name: str, to: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, to
    return member


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a way out": lambda: archived({**files(), "../../hearth.toml": b"x"}),
    "an absolute path": lambda: archived({**files(), "/etc/passwd": b"x"}),
    "a pickle": lambda: archived({**files(), "adapter_model.bin": b"x"}),
    "a program": lambda: archived({**files(), "modeling.py": b"x"}),
    "a link": lambda: archived(files(), link("tokenizer.json", "/etc/passwd")),
    "a file twice": lambda: archived(files(), again={"record.json": b"{}"}),
    "a large record": lambda: archived({**files(), "record.json": b" " * 200_000}),
    "no weights": lambda: archived({k: v for k, v in files().items() if "safetensors" not in k}),
    "cut off": lambda: archived({**files(), "tokenizer.json": b" " * 40_000})[:30_000],
    "packed with gzip": lambda: b"\x1f\x8b" + b"0" * 500,
    "nothing": lambda: b"",
    "noise": lambda: bytes(range(256)) * 40,
    "a whole model": lambda: archived(files({"method": "full"})),
    "no hash of a model": lambda: archived(files({"base_sha256": "../x"})),
    "a record of another shape": lambda: archived(files({"ids": "all"})),
    "options of another shape": lambda: archived(files({"options": {"rank": "many"}})),
    "no moment": lambda: archived(files({"made": "\x1b[2Jnow"})),
    "another way of peft": lambda: archived(files(config={"peft_type": "PROMPT_TUNING"})),
    "a module to import": lambda: archived(files(config={"megatron_config": {"a": 1}})),
    "another module to import": lambda: archived(files(config={"megatron_core": "os"})),
    "a class to import": lambda: archived(files(config={"auto_mapping": {"parent_library": "os"}})),
    "a decomposition": lambda: archived(files(config={"init_lora_weights": "eva"})),
    "a huge rank": lambda: archived(files(config={"r": 10**9})),
    "no number": lambda: archived({**files(), "adapter_config.json": b'{"peft_type": "LORA", "r": NaN}'}),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_can_be_more_than_an_adapter_is_not_taken(tmp_path: Path, what: str) -> None:
    (tmp_path / "packed").write_bytes(HOSTILE[what]())
    refused = r"no packed adapter|no adapter|not one|not plain LoRA|does not say|names no|whole model"
    with pytest.raises(ConfigError, match=refused):
        read_packed(tmp_path / "packed")
    with pytest.raises(ConfigError, match=refused):
        unpack(tmp_path / "packed", tmp_path / "1", "m")
    assert [path.name for path in tmp_path.iterdir()] == ["packed"]


def test_a_plain_one_is_taken(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(archived(files()))
    assert read_packed(tmp_path / "packed").base_sha256 == "b" * 64


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_packed(tmp_path / "none")
