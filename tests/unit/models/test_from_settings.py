"""The language model that the settings name, or a sentence that says why not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hearth.config import LanguageModelSettings
from hearth.errors import ConfigError, MissingExtraError
from hearth.models.llm.local_models import HuggingFaceModel, LlamaCppModel, current_adapter
from hearth.models.llm.openai_endpoint import ADAPTERS, RemoteModel, open_language_model
from hearth.testing import ClosedEgress


def opened(home: Path, **chosen: str) -> object:
    return open_language_model(LanguageModelSettings.model_validate(chosen), home, ClosedEgress(), {"KEY": "secret"})


def test_an_endpoint_with_its_key(tmp_path: Path) -> None:
    model = opened(tmp_path, base_url="http://127.0.0.1:9/v1", model="m", api_key_env="KEY")
    assert isinstance(model, RemoteModel)
    assert "secret" not in repr(model)
    with pytest.raises(ConfigError, match="'NO_KEY', which is not set"):
        opened(tmp_path, base_url="http://127.0.0.1:9/v1", model="m", api_key_env="NO_KEY")


def test_paths_count_from_the_home(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "a.gguf").write_bytes(b"no")
    with pytest.raises(ConfigError, match=r"models/a\.gguf' is no GGUF file"):
        opened(tmp_path, kind="llamacpp", path="models/a.gguf")
    (tmp_path / "models" / "b").mkdir()
    with pytest.raises(ConfigError, match=r"models/b' holds no config\.json"):
        opened(tmp_path, kind="huggingface", path="models/b")


@pytest.mark.parametrize("missing", ["torch", "transformers", "peft", "llguidance"])
def test_without_the_extra_the_pip_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hearth-agent\[hf\]'"):
        HuggingFaceModel.open(tmp_path)


def test_without_llama_cpp_the_pip_command_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gguf").write_bytes(b"GGUF" + bytes(20))
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'hearth-agent\[gguf\]'"):
        LlamaCppModel.open(tmp_path / "a.gguf")


def test_the_current_adapter(tmp_path: Path) -> None:
    folder = tmp_path / ADAPTERS
    assert current_adapter(folder) is None
    folder.mkdir(parents=True)
    (folder / "current.json").write_text(json.dumps({"past": [1, 3]}))
    assert current_adapter(folder) == folder / "3"
    (folder / "current.json").write_text(json.dumps({"past": ["x"]}))
    with pytest.raises(ConfigError, match="remove it, then `hearth adapters promote` one"):
        current_adapter(folder)
