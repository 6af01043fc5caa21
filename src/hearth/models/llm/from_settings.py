"""Open the language model that `hearth.toml` names: at an endpoint, or on this machine. Nothing is asked of it yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hearth import config
from hearth.config import LanguageModelSettings
from hearth.models.llm.openai_endpoint import Endpoint, Patience
from hearth.protocols import Egress, LanguageModel

ADAPTERS = "learned/adapters"
"""Folder in which a home keeps the adapters made by `hearth adapters`."""


def open_language_model(
    chosen: LanguageModelSettings,
    home: Path,
    egress: Egress,
    environ: Mapping[str, str],
    *,
    where: str = "[models.language]",
    reason: str = "language model",
) -> LanguageModel:
    """Open the model that `chosen` names.

    Args:
        where: The table of `hearth.toml` that names it, for messages.
        reason: Reason noted in the egress ledger, for a model at an endpoint.
    Raises:
        ConfigError: No such model, or an address, key or file that cannot be used. MissingExtraError.
    """
    if chosen.kind == "huggingface":
        return _local(chosen, home)
    if chosen.kind == "llamacpp":
        from hearth.models.llm.llamacpp import LlamaCppModel  # as for transformers

        return LlamaCppModel.open(home / Path(chosen.path).expanduser(), timeout_s=chosen.timeout_s)
    from hearth.models.llm.openai_endpoint import (
        RemoteModel,  # with httpx, a fifth of a second that most starts need not pay
    )

    key = ""
    if chosen.api_key_env:
        key = config.secret("api_key_env", chosen.api_key_env, where, environ)
    elif chosen.api_key_file:
        key = config.secret("api_key_file", chosen.api_key_file, where, environ)
    transport = egress.transport(reason)
    endpoint = Endpoint(chosen.base_url, chosen.model, key, where)
    return RemoteModel(endpoint, transport, Patience(chosen.timeout_s), egress)


def _local(chosen: LanguageModelSettings, home: Path) -> LanguageModel:
    from hearth.models.llm.huggingface import HuggingFaceModel, current_adapter  # only those who name one wait for it

    folder = home / Path(chosen.path).expanduser()
    adapter = None
    if chosen.adapter == "current":
        adapter = current_adapter(home / ADAPTERS)
    elif chosen.adapter:
        adapter = home / Path(chosen.adapter).expanduser()
    return HuggingFaceModel.open(
        folder if folder.is_dir() else chosen.path, adapter=adapter, timeout_s=chosen.timeout_s
    )
