"""Numbers on the command line: within bounds, and numbers at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth import cli
from hearth.config import parse_settings
from hearth.errors import ConfigError

LIMITS = [
    ("edge", "sync", "--every"),
    ("edge", "run", "--sync-every"),
    ("edge", "run", "--tend-every"),
    ("edge", "run", "--learn-every"),
    ("edge", "run", "--quiet"),
    ("edge", "health", "--max-age"),
    ("edge", "give", "--minutes"),
    ("devices", "watch", "--seconds"),
    ("adapters", "distil", "--lr"),
    ("bench", "run", "--limit"),
    ("fleet", "simulate", "--requests"),
]


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "-inf", "-1", "1e300", "soon", ""])
@pytest.mark.parametrize("command", LIMITS, ids=" ".join)
def test_what_is_no_number_to_count_with_is_refused(
    command: tuple[str, ...], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*command, text]) == 2
    said = capsys.readouterr().err
    assert f"'{command[-1]}'" in said
    assert "range" in said or "expected" in said or "not a valid number" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("text", ["0.5", "60", "86400"])
def test_a_number_is_taken(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["edge", "health", "--max-age", text, "--health", "/nowhere/health.json"]) != 2
    assert "no health file" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["timeout_s", "waiting_mb", "waiting"])
@pytest.mark.parametrize("value", ["inf", "nan", "-1", "1e300"])
def test_settings_of_the_edge_are_numbers_too(tmp_path: Path, key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=rf"edge\.{key}"):
        parse_settings(f"[edge]\n{key} = {value}\n", tmp_path / "hearth.toml")


def test_settings_that_are_numbers(tmp_path: Path) -> None:
    text = "[edge]\ntimeout_s = 5\nwaiting_mb = 1.5\nwaiting = 100\n"
    assert parse_settings(text, tmp_path / "hearth.toml").edge.waiting_mb == 1.5
