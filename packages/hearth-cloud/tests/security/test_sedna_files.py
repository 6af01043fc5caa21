"""What a worker of Sedna's is handed from outside: models, data sets. None of it runs code or reaches elsewhere.

python -m pytest -q packages/hearth-cloud/tests/security/test_sedna_files.py
"""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hearth.errors import HearthError, RequestError, StoreCorruptError, StoreError, StoreVersionError
from hearth.learning.versions.drafting import Drafts
from hearth.learning.versions.promotion_gate import describe, silent, tasks_of
from hearth.planning.ranking.ranker import Ranker
from hearth_cloud.sedna.sedna_dataset import read_samples
from hearth_cloud.sedna.sedna_model import Manner, Model, read_model, write_model
from tests.small_world import ENCODER, OPTIONS, TOOLS, lessons


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    student = Ranker(ENCODER, TOOLS, OPTIONS)
    student.learn(lessons(8))
    student.renew()
    path = tmp_path_factory.mktemp("model") / "model.hearth"
    made = describe(Drafts(student), tasks_of(Drafts(student), student.ids), student.ids, silent)
    write_model(path, Model.of(student, TOOLS, made, Manner(), {}))
    return path


def members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path: Path, parts: dict[str, bytes], how: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", how) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def test_a_good_one_is_read(good: Path) -> None:
    model = read_model(good, ENCODER)
    assert len(model.student) == 8
    assert set(model.tools) == set(TOOLS)


def test_it_holds_no_request(good: Path) -> None:
    whole = b"".join(members(good).values())
    for one in lessons(8):
        assert one.request.encode() not in whole


class _Hostile:
    def __init__(self, trap: Path) -> None:
        self.trap = trap

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, int]]:
        return os.mkdir, (str(self.trap), 0o700)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_not_opened(protocol: int, tmp_path: Path) -> None:
    trap, path = tmp_path / "trap", tmp_path / "index.pkl"
    path.write_bytes(pickle.dumps(_Hostile(trap), protocol))
    with pytest.raises(StoreCorruptError, match="is a pickle, which runs whatever code"):
        read_model(path, ENCODER)
    assert not trap.exists()
    pickle.loads(path.read_bytes())  # it would have sprung
    assert trap.exists()


def test_an_array_of_objects_is_not_unpickled(good: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    whole = io.BytesIO()
    header = np.frombuffer(json.dumps({"base": None}).encode(), dtype=np.uint8)
    np.savez(whole, header=header, pooled=np.array([_Hostile(trap)], dtype=object))
    with pytest.raises(StoreCorruptError):
        read_model(resigned(good, tmp_path / "x", student=whole.getvalue()), ENCODER)
    assert not trap.exists()


def resigned(good: Path, path: Path, *, student: bytes | None = None, index: dict[str, object] | None = None) -> Path:
    """The good one with another part, and hashes that fit: as who means harm would make it."""
    import hashlib

    parts = members(good)
    if student is not None:
        parts["student.npz"] = student
    document = {**json.loads(parts["index.json"]), **(index or {})}
    if index is None or "sha256" not in index:
        document["sha256"] = {n: hashlib.sha256(parts[n]).hexdigest() for n in ("student.npz", "tools.json")}
    parts["index.json"] = json.dumps(document).encode()
    return packed(path, parts)


def test_a_student_that_rests_on_another_file_is_refused(good: Path, tmp_path: Path) -> None:
    with np.load(io.BytesIO(members(good)["student.npz"])) as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    header = json.loads(parts["header"].tobytes())
    header["base"] = {"path": "../../../../etc", "sha256": "0" * 64}
    parts["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    whole = io.BytesIO()
    np.savez(whole, allow_pickle=False, **parts)
    with pytest.raises(StoreCorruptError, match="rests on a file elsewhere"):
        read_model(resigned(good, tmp_path / "x", student=whole.getvalue()), ENCODER)


def test_what_explodes_is_refused(good: Path, tmp_path: Path) -> None:
    parts = members(good)
    with pytest.raises(StoreCorruptError, match="is packed; Hearth packs nothing"):
        read_model(packed(tmp_path / "a", parts, zipfile.ZIP_DEFLATED), ENCODER)
    whole = io.BytesIO()
    np.savez_compressed(whole, header=np.zeros(50_000_000, dtype=np.uint8))
    with pytest.raises(StoreCorruptError, match=r"student\.npz is packed"):
        read_model(resigned(good, tmp_path / "b", student=whole.getvalue()), ENCODER)


def test_other_members_are_refused(good: Path, tmp_path: Path) -> None:
    for name in ("../../.bashrc", "/etc/passwd", "extra.py"):
        with pytest.raises(StoreCorruptError, match="it holds"):
            read_model(packed(tmp_path / "x", {**members(good), name: b"x"}), ENCODER)


@pytest.mark.parametrize(
    "index",
    [
        {"sha256": {"student.npz": "0" * 64, "tools.json": "0" * 64}},
        {"sha256": {"student.npz": "short"}},
        {"tasks": [{"name": "x"}]},
        {"frontier": {"threshold": "high"}},
        {"n_demonstrations": -1},
    ],
)
def test_an_index_that_lies_is_refused(index: dict[str, object], good: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreCorruptError):
        read_model(resigned(good, tmp_path / "x", index=index), ENCODER)


def test_another_version_is_said(good: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreVersionError, match="'hearth' 2; this Hearth reads 'hearth' 1"):
        read_model(resigned(good, tmp_path / "x", index={"version": 2}), ENCODER)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_a_torn_one_is_refused(share: float, good: Path, tmp_path: Path) -> None:
    raw = good.read_bytes()
    path = tmp_path / "x"
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(StoreCorruptError):
        read_model(path, ENCODER)


def test_every_flipped_byte_is_found_or_does_no_harm(good: Path, tmp_path: Path) -> None:
    raw, path = bytearray(good.read_bytes()), tmp_path / "x"
    for place in range(0, len(raw), max(1, len(raw) // 40)):
        changed = bytearray(raw)
        changed[place] ^= 0x40
        path.write_bytes(changed)
        try:
            model = read_model(path, ENCODER)
        except HearthError:
            continue
        assert model.student.ids == read_model(good, ENCODER).student.ids


def test_a_file_that_is_gone_or_a_folder_is_said(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(StoreError, match="cannot read the model"):
            read_model(path, ENCODER)


@pytest.mark.parametrize("name", ["../secret.jsonl", "/etc/passwd", "link.jsonl", "in/../../secret.jsonl"])
def test_samples_do_not_lead_out_of_the_data_set(name: str, tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"user_request": "a secret", "task_nodes": [{"task": "set_alarm"}]}\n')
    folder = tmp_path / "set"
    (folder / "in").mkdir(parents=True)
    (folder / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (folder / "data.txt").write_text(f"{name}\n")
    with pytest.raises(RequestError, match="leads out of the data set's folder"):
        read_samples(folder / "data.txt", None)


def test_a_line_without_end_fills_no_memory(tmp_path: Path) -> None:
    import resource

    file = tmp_path / "data.txt"
    with file.open("wb") as out:
        out.write(b'{"user_request": "x", "task_nodes": [{"task": "set_alarm"}]}\n')
        out.seek(300_000_000)
        out.write(b"x")
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(read_samples(file, None).entries) == 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 50_000
