"""Resolves secrets of settings: `x_env` names a variable, `x_file` a file that only the owner can read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hearth.errors import ConfigError


def resolved(table: Mapping[str, object], where: str, environ: Mapping[str, str]) -> dict[str, object]:
    """Replace `x_env` and `x_file` by `x`."""
    result: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            result[key] = resolved(value, f"{where}.{key}", environ)
        elif key.endswith(("_env", "_file")):
            if value:
                result[key.rpartition("_")[0]] = secret(key, str(value), where, environ)
        else:
            result[key] = value
    return result


def secret(key: str, value: str, where: str, environ: Mapping[str, str]) -> str:
    """Return the secret that `key` (`…_env` or `…_file`) points to. Raises: ConfigError."""
    if key.endswith("_env"):
        if value not in environ:
            raise ConfigError(f"{where} {key} names the environment variable {value!r}, which is not set; export it")
        return environ[value]
    try:
        return Path(value).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where} {key}: cannot read {value!r} ({error}); write the secret into that file") from None
