"""Tier two at run time: on a tiny pointer with drawn weights, without torch."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hearth.errors import StoreCorruptError
from hearth.models import sentence_encoder
from hearth.models.pointer import (
    MODEL_FILE,
    RECORD_FILE,
    TOOLS_FILE,
    LowerLayers,
    Pointer,
    ToolTable,
    beam,
    log_probability,
    plans,
    read_record,
)
from hearth.models.pointer_graph import pointer_graph, read_weights
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.models.transformer_layers import N_LAYERS, WIDTH, Shape, quantised, thinned, upper_weights
from hearth.types import ToolSpec

SHAPE = Shape(width=32, n_blocks=1, rank=4)
PUBLISHED, _ = sentence_encoder.map_weights(sentence_encoder.model_dir() / "model.safetensors")
TOOLS = {
    name: ToolSpec(name, text)
    for name, text in {
        "set_alarm": "Set an alarm for a time",
        "play_music": "Play a song",
        "book_flight": "Book a flight to a city",
        "send_mail": "Send an e-mail to a person",
    }.items()
}


def drawn_weights(shape: Shape, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    drawn, d = np.random.default_rng(seed), shape.width
    thin = [drawn.normal(size=(2, WIDTH)) * 0.01, drawn.normal(size=(WIDTH, 2))]
    weights: dict[str, Any] = {name: np.array(value) for name, value in upper_weights(PUBLISHED, shape).items()}
    weights["e5.o"] += thin[1] @ thin[0]
    turned = np.linalg.qr(drawn.normal(size=(WIDTH, WIDTH)))[0][:d] * (WIDTH / d) ** 0.5
    weights |= {"tk": turned, "tq": turned, "s1": np.array([12.0, 12.0])}
    weights |= {name: drawn.normal(size=d) * 0.1 for name in ("sc", "start", "end", "u", "set")}
    for block in range(shape.n_blocks):
        for name in ("cq", "sq", "sk", "sv", "co", "so"):
            weights[f"b{block}.{name}"] = drawn.normal(size=(d, d)) * d**-0.5
        for name in ("ck", "cv"):
            weights[f"b{block}.{name}"] = drawn.normal(size=(d, WIDTH)) * WIDTH**-0.5
        weights |= {
            f"b{block}.f1": drawn.normal(size=(2 * d, d)) * 0.1,
            f"b{block}.f2": drawn.normal(size=(d, 2 * d)) * 0.1,
        }
        weights |= {f"b{block}.f1b": np.zeros(2 * d), f"b{block}.f2b": np.zeros(d)}
        for name in ("n1", "n2", "n3"):
            weights |= {f"b{block}.{name}": np.ones(d), f"b{block}.{name}b": np.zeros(d)}
    weights |= {name: drawn.normal(size=(d, d)) * d**-0.5 for name in ("la", "lb", "ma", "mb")}
    weights |= {"no": np.ones(d), "nob": np.zeros(d), "setb": np.array(-2.0)}
    weights |= {"lscale": np.array(0.2), "mscale": np.array(0.1)}
    return {name: np.asarray(value, dtype=np.float32) for name, value in weights.items()}


def write_pointer(folder: Path, encoder: MiniLMEncoder) -> Path:
    weights = drawn_weights(SHAPE)
    folder.mkdir()
    table = ToolTable.of(TOOLS, encoder, weights.pop("tq"))
    table.save(folder / TOOLS_FILE)
    (folder / MODEL_FILE).write_bytes(pointer_graph(weights, PUBLISHED, SHAPE))
    files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in (MODEL_FILE, TOOLS_FILE)}
    record = {"fingerprint": "drawn", "files": files, "shape": asdict(SHAPE)}
    (folder / RECORD_FILE).write_text(json.dumps(record))
    return folder


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    return MiniLMEncoder.open()


@pytest.fixture
def folder(tmp_path: Path, encoder: MiniLMEncoder) -> Path:
    return write_pointer(tmp_path / "pointer", encoder)


def test_proposes_the_same_plans_for_the_same_request(folder: Path, encoder: MiniLMEncoder) -> None:
    pointer = Pointer.open(folder, TOOLS, encoder=encoder)
    alone = pointer.propose(["Wake me at seven"])[0]
    beside = pointer.propose(["Play some jazz", "Wake me at seven"])[1]
    assert alone == beside
    assert pointer.fingerprint == "drawn"
    assert len(alone.sequences) > 3
    assert all(set(tools) <= set(TOOLS) and len(set(tools)) == len(tools) for tools, _ in alone.sequences)
    scores = [score for _, score in alone.sequences]
    assert scores == sorted(scores, reverse=True)
    assert sum(np.exp(scores)) <= 1 + 1e-6
    assert all(0 <= p <= 1 for p in alone.tools.values())


def test_links_of_a_proposal_are_log_probabilities(folder: Path, encoder: MiniLMEncoder) -> None:
    proposal = Pointer.open(folder, TOOLS, encoder=encoder).propose(["Fly to Rome and tell Anna"])[0]
    for before in ["", *TOOLS]:
        total = sum(np.exp(log) for (a, _), log in proposal.link.items() if a == before)
        assert 0.9 < total <= 1 + 1e-5
    assert ("", "") not in proposal.link


def test_a_tool_that_was_not_there_in_training_is_found_by_its_text(folder: Path, encoder: MiniLMEncoder) -> None:
    more = TOOLS | {"water_plants": ToolSpec("water_plants", "Water the plants in the garden")}
    table = ToolTable.load(folder / TOOLS_FILE).for_tools(more, encoder)
    assert table.names == tuple(more)
    directions = table.queries() / np.linalg.norm(table.queries(), axis=1, keepdims=True)
    near = encoder.encode(["please water the plants"]) @ table.projection.T @ directions.T
    assert table.names[int(near.argmax())] == "water_plants"
    assert "water_plants" in Pointer.open(folder, more, encoder=encoder).propose(["Water my plants"])[0].tools


def test_a_changed_text_is_embedded_again(folder: Path, encoder: MiniLMEncoder) -> None:
    known = ToolTable.load(folder / TOOLS_FILE)
    changed = TOOLS | {"send_mail": ToolSpec("send_mail", "Post a parcel")}
    vectors = known.for_tools(changed, encoder).vectors
    assert np.abs(vectors[:3] - known.vectors[:3]).max() == 0
    assert np.abs(vectors[3] - known.vectors[3]).max() > 0.01


def test_without_tools_nothing_is_proposed(folder: Path, encoder: MiniLMEncoder) -> None:
    proposal = Pointer.open(folder, {}, encoder=encoder).propose(["Wake me"])[0]
    assert (dict(proposal.tools), proposal.sequences, dict(proposal.link)) == ({}, (), {})


def test_links_outside_the_graph_are_the_last_resort(folder: Path, encoder: MiniLMEncoder) -> None:
    graph = frozenset({("set_alarm", "play_music")})
    found = Pointer.open(folder, TOOLS, graph=graph, encoder=encoder).propose(["Wake me with music and fly"])[0]
    inside = [all(pair in graph for pair in itertools.pairwise(tools)) for tools, _ in found.sequences]
    assert inside == sorted(inside, reverse=True)
    assert sum(inside) == 5


@pytest.mark.parametrize("name", [MODEL_FILE, TOOLS_FILE, RECORD_FILE])
def test_a_damaged_file_is_refused(folder: Path, encoder: MiniLMEncoder, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:-20])
    with pytest.raises(StoreCorruptError, match=r"is damaged .*train it again or go back"):
        Pointer.open(folder, TOOLS, encoder=encoder)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / MODEL_FILE).unlink()
    with pytest.raises(StoreCorruptError, match=r"pointer\.onnx: No such file"):
        read_record(folder)


def test_lower_layers_are_those_of_the_published_encoder(encoder: MiniLMEncoder) -> None:
    """All six in int8, averaged, point where the sentence encoder points: .994 to .997, by the processor's kernels."""
    text = "Book a table for two at eight and tell Anna"
    states = LowerLayers.open(N_LAYERS).states(text)
    mean = states.mean(axis=0)
    assert float(mean / np.linalg.norm(mean) @ encoder.encode([text])[0]) > 0.99


def test_a_damaged_graph_in_the_cache_is_built_again(tmp_path: Path) -> None:
    first = LowerLayers.open(1, tmp_path).states("hello")
    (kept,) = tmp_path.rglob("lower-1-*.onnx")
    kept.write_bytes(b"no graph")
    assert np.array_equal(LowerLayers.open(1, tmp_path).states("hello"), first)


def test_weights_come_back_from_a_graph() -> None:
    weights = drawn_weights(SHAPE)
    weights.pop("tq")
    found = read_weights(pointer_graph(weights, PUBLISHED, SHAPE), PUBLISHED, SHAPE)
    assert found.keys() == weights.keys()
    for name, value in weights.items():
        assert np.abs(found[name].reshape(value.shape) - value).max() <= np.abs(value).max() / 250 + 1e-6, name


def test_a_thin_change_is_kept_whole_and_a_thick_one_as_near_as_may_be() -> None:
    drawn = np.random.default_rng(0)
    thin = (drawn.normal(size=(20, 3)) @ drawn.normal(size=(3, 30))).astype(np.float32)
    down, up = thinned(thin, 3)
    assert np.abs(up @ down - thin).max() < 1e-4
    down, up = thinned(thin, 2)
    assert 0 < np.linalg.norm(up @ down - thin) < np.linalg.norm(thin)


def test_int8_is_near_and_a_row_of_zeros_stays() -> None:
    weight = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float32)
    weight[2] = 0
    small, scale = quantised(weight)
    assert np.abs((small * scale).T - weight).max() <= np.abs(weight).max() / 250
    assert not small[:, 2].any()


@given(st.integers(1, 4), st.integers(0, 10_000))
def test_a_wide_beam_finds_every_plan(n_tools: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    link, pair = drawn.normal(size=(2, n_tools + 1, n_tools + 1)).astype(np.float32)
    found = dict(beam(link, pair, n=200))
    plans = [p for n in range(1, n_tools + 1) for p in itertools.permutations(range(n_tools), n)]
    assert found.keys() == set(plans)
    for plan in plans:
        assert found[plan] == pytest.approx(_log_probability(plan, link, pair), abs=1e-4)
        assert log_probability(plan, link, pair) == pytest.approx(found[plan], abs=1e-4)
    assert sum(map(np.exp, found.values())) == pytest.approx(1, abs=1e-4)


def test_a_tool_that_is_wanted_by_itself_is_not_left_out() -> None:
    """The sequence would rather stop after the first; each tool's own odds speak for both."""
    link = np.array([[0, 0, 1], [0, 0, 1], [2, 0, 0]], dtype=np.float32)
    pair = np.zeros((3, 3), dtype=np.float32)
    assert beam(link, pair)[0][0] == (0,)
    assert plans(np.array([3.0, 3.0], dtype=np.float32), link, pair)[0][0] == (0, 1)
    assert plans(np.array([3.0, -3.0], dtype=np.float32), link, pair)[0][0] == (0,)


@given(st.integers(1, 10), st.integers(0, 10_000))
def test_ranked_plans_are_a_distribution_and_hold_the_likeliest_set(n_tools: int, seed: int) -> None:
    drawn = np.random.default_rng(seed)
    link, pair = drawn.normal(size=(2, n_tools + 1, n_tools + 1)).astype(np.float32)
    wanted = (2 * drawn.normal(size=n_tools)).astype(np.float32)
    found = plans(wanted, link, pair)
    assert sum(np.exp(log) for _, log in found) == pytest.approx(1, abs=1e-5)
    assert [log for _, log in found] == sorted((log for _, log in found), reverse=True)
    assert len({path for path, _ in found}) == len(found)
    best = sorted(range(n_tools), key=lambda tool: -wanted[tool])
    likeliest = frozenset(tool for tool in best[:5] if wanted[tool] > 0) or frozenset(best[:1])
    assert likeliest in {frozenset(path) for path, _ in found}


def _log_probability(plan: tuple[int, ...], link: NDArray[np.float32], pair: NDArray[np.float32]) -> float:
    n = len(link) - 1
    total, last = 0.0, n
    for at, tool in enumerate([*plan, n]):
        z = link[last] + sum((pair[before] for before in plan[:at]), np.zeros(n + 1))
        free = [k for k in range(n + 1) if k not in plan[:at] and (at or k < n)]
        total += z[tool] - np.log(np.exp(z[free]).sum())
        last = tool
    return float(total)
