"""A local model taught through the command line, then planning in a home. Needs the extra `hf`: else skipped."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the extra hf: pip install 'hearth-agent[hf]'")
pytest.importorskip("peft", reason="needs the extra hf: pip install 'hearth-agent[hf]'")
pytest.importorskip("llguidance", reason="needs the extra hf: pip install 'hearth-agent[hf]'")

from hearth import cli
from hearth.learning.finetune.adapters import pack
from tests.story import with_few_demonstrations
from tests.tiny_models import make_llama

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TOOLS = {
    "nodes": [{"id": name, "desc": name.replace("_", " ")} for name in ("book_train", "water_plants", "cut_grass")]
}
SHOWN = [
    ("book a train to Bonn", "book_train"),
    ("a train to Ulm please", "book_train"),
    ("water the plants", "water_plants"),
    ("the plants need water", "water_plants"),
    ("cut the grass", "cut_grass"),
    ("the grass is high, cut it", "cut_grass"),
]


def hearth(*arguments: str | Path, code: int | tuple[int, ...] = 0) -> str:
    """Run a command line in this process: torch is imported once, and not by each of thirty."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        got = cli.run([*map(str, arguments)])
    assert got in (code if isinstance(code, tuple) else (code,)), out.getvalue() + err.getvalue()
    return out.getvalue() if code == 0 else out.getvalue() + err.getvalue()


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A state folder whose demonstrations were learnt, and a model with one adapter."""
    folder = tmp_path_factory.mktemp("taught")
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    lines = [
        {"id": f"d{k}", "user_request": request, "task_nodes": [{"task": tool}]}
        for k, (request, tool) in enumerate(SHOWN)
    ]
    (folder / "shown.jsonl").write_text("\n".join(map(json.dumps, lines)))
    paths = {"state": folder / "state", "model": make_llama(folder / "model", width=64), "more": folder / "more.jsonl"}
    hearth(
        "learn", "--fast", "--from", folder / "shown.jsonl", "--tools", folder / "tools.json", "--state", paths["state"]
    )
    return paths


def listed(state: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(hearth("adapters", "list", "--json", "--state", state))
    return found


def test_distil_list_rollback_promote_move_forget(taught: dict[str, Path], tmp_path: Path) -> None:
    state, model = taught["state"], taught["model"]
    assert "no adapter yet" in hearth("adapters", "list", "--state", state)
    assert "none to roll back" in hearth("adapters", "rollback", "--state", state, code=4)
    options = ("--epochs", "20", "--lr", "0.01", "--tool-tokens")
    made = json.loads(hearth("adapters", "distil", "--base", model, *options, "--json", "--state", state))
    assert made["is_current"], made["gate"]
    assert len(made["record"]["ids"]) + len(made["record"]["held"]) == len(SHOWN)
    assert made["record"]["base_sha256"]
    assert "taught already" in hearth("adapters", "distil", "--base", model, "--state", state, code=3)

    assert "the model alone" in hearth("adapters", "rollback", "--state", state)
    assert [v["is_current"] for v in listed(state)] == [False]
    hearth("adapters", "promote", "1", "--state", state)
    assert "no adapter 5; there are: 1" in hearth("adapters", "promote", "5", "--state", state, code=4)

    other = make_llama(tmp_path / "other", width=48, seed=3)
    hearth("adapters", "move", "1", "--base", other, "--state", state, code=(0, 1))  # as the gate says
    found = listed(state)
    assert found[-1]["record"]["base"] == str(other)
    assert found[-1]["record"]["parent"] == "1"

    taught_id = made["record"]["ids"][0]
    hearth("forget", "demonstration", taught_id, "--yes", "--state", state)
    assert listed(state) == []


def test_a_home_plans_with_the_adapter_in_use(home: Path, tmp_path: Path) -> None:
    """The whole way: settings name the model and `current`; a request recall does not know goes to it.

    What an untrained model makes of the home's own demonstrations is chance, which the processor's rounding decides; so
    the adapter is put in use whatever the gate says of them. The gate is judged by the tests before and after this one.
    """
    with_few_demonstrations(home, "33")  # a tiny model is slow to write hundreds of plans that are no use
    model = make_llama(home / "models" / "tiny", width=64)
    words = "zorble the quux|quux zorbling please|zorble a quux|do zorble quux now|zorble my quux|the quux zorbled"
    words += "|zorble zorble quux|quux zorble|can you zorble the quux|zorble this quux|zorble that quux please|quux to zorble"
    shown = [  # as many as leave the model no doubt: of four it made this or nothing, as rounding had it
        {"id": f"s{k}", "user_request": text, "task_nodes": [{"task": "current_time", "arguments": []}]}
        for k, text in enumerate(words.split("|"))
    ]
    (tmp_path / "shown.jsonl").write_text("\n".join(map(json.dumps, shown)))
    options = ("--epochs", "60", "--lr", "0.003", "--tool-tokens", "--from", tmp_path / "shown.jsonl")
    hearth("--home", home, "adapters", "distil", "--base", model, *options, code=(0, 1))
    hearth("--home", home, "adapters", "promote", "1")
    listing = json.loads(hearth("--home", home, "adapters", "list", "--json"))
    assert [(one["number"], one["is_current"]) for one in listing] == [(1, True)]
    settings = (home / "hearth.toml").read_text()
    table = '\n[models.language]\nkind = "huggingface"\npath = "models/tiny"\nadapter = "current"\n'
    (home / "hearth.toml").write_text(settings + table)
    found = json.loads(hearth("--home", home, "plan", "zorble the quux", "--json"))
    assert [node["task"] for node in found["task_nodes"]] == ["current_time"]
    assert found["planner"].startswith("compact:")


def test_an_adapter_made_elsewhere_is_judged_here_before_it_plans(taught: dict[str, Path], tmp_path: Path) -> None:
    """Packed as a cloud offers it: taken on the same model alone, as a version that the gate lets plan or not."""
    there, here, model = tmp_path / "there", tmp_path / "here", taught["model"]
    shown = taught["state"].parent / "shown.jsonl"
    for state in (there, here):
        hearth("learn", "--fast", "--from", shown, "--tools", taught["state"].parent / "tools.json", "--state", state)
    options = ("--epochs", "20", "--lr", "0.01", "--tool-tokens")
    made = json.loads(hearth("adapters", "distil", "--base", model, *options, "--json", "--state", there))
    data, _ = pack(there / "learned" / "adapters" / str(made["number"]))
    (tmp_path / "packed").write_bytes(data)

    other = make_llama(tmp_path / "other", width=48, seed=3)
    take = ("adapters", "take", tmp_path / "packed", "--state", here)
    assert "name the folder of that model with --base" in hearth(*take, "--base", other, code=78)
    assert listed(here) == []
    found = json.loads(hearth(*take, "--base", model, "--json", code=0))
    assert found["is_current"], found["gate"]
    assert found["gate"]["after"] > found["gate"]["before"]
    assert (found["record"]["ids"], found["record"]["base"]) == ([], str(model))
    assert "the model alone" in hearth("adapters", "rollback", "--state", here)

    noise = pack_of_noise(there / "learned" / "adapters" / str(made["number"]), tmp_path)
    hearth("adapters", "promote", "1", "--state", here)
    refused = hearth("adapters", "take", noise, "--state", here, "--base", model, code=1)
    assert "It is not in use" in refused
    assert [one["is_current"] for one in listed(here)] == [True, False]


def pack_of_noise(adapter: Path, tmp_path: Path) -> Path:
    """The same with weights that say nothing, and one that brings a chat form of its own."""
    from safetensors.numpy import load_file, save_file

    folder = tmp_path / "noise"
    shutil.copytree(adapter, folder)
    weights = load_file(folder / "adapter_model.safetensors")
    save_file({name: -30 * one for name, one in weights.items()}, folder / "adapter_model.safetensors")
    data, _ = pack(folder)
    (tmp_path / "noise.packed").write_bytes(data)
    return tmp_path / "noise.packed"
