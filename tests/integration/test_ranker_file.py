"""A ranker on disk: whole, the same to the last bit, small, and clear about what is wrong with a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hearth.errors import StatisticsError, StoreCorruptError, StoreError, StoreFullError, StoreVersionError
from hearth.planning.ranking.ranker import FILE_NAME, Ranker
from hearth.protocols import Proposal
from hearth.testing import HashEncoder
from hearth.types import Demonstration, Plan, Step
from tests.unit.planning.test_ranker import OPTIONS, TOOLS, demonstration, lessons

REQUESTS = ("find a train to Ulm, then book the train seat", "order a large pizza", "", "quite another thing")


class FixedProposer:
    """Always proposes one sequence."""

    fingerprint = "fixed"

    def __init__(self, *tools: str) -> None:
        self.proposal = Proposal(dict.fromkeys(tools, 0.9), ((tools, -0.1),), {})

    def propose(self, texts: Sequence[str]) -> list[Proposal]:
        return [self.proposal for _ in texts]


@pytest.fixture(scope="module")
def taught() -> Ranker:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    return ranker


def test_loaded_it_plans_the_same_to_the_last_bit(taught: Ranker, tmp_path: Path) -> None:
    taught.save(tmp_path / "new" / "folder")
    loaded = Ranker.load(tmp_path / "new" / "folder", HashEncoder(48), TOOLS)
    assert loaded.ids == taught.ids
    assert loaded.options == taught.options
    for text in REQUESTS:
        assert loaded.rank(text) == taught.rank(text)
    assert not loaded.heads.can_learn  # nothing was solved anew for it


def test_saved_again_unchanged_it_is_the_same_file(taught: Ranker, tmp_path: Path) -> None:
    taught.save(tmp_path / "a")
    Ranker.load(tmp_path / "a", HashEncoder(48), TOOLS).save(tmp_path / "b")
    one, other = (np.load(tmp_path / name / FILE_NAME) for name in "ab")
    assert sorted(one.files) == sorted(other.files)
    assert all(np.array_equal(one[name], other[name]) for name in one.files)


def test_loaded_it_goes_on_learning_and_forgetting(tmp_path: Path) -> None:
    first, whole = Ranker(HashEncoder(48), TOOLS, OPTIONS), Ranker(HashEncoder(48), TOOLS, OPTIONS)
    first.learn(lessons()[:40])
    first.save(tmp_path)
    loaded = Ranker.load(tmp_path, HashEncoder(48), TOOLS)
    loaded.remove("d3")
    loaded.learn(lessons()[40:])
    whole.learn([lesson for lesson in lessons() if lesson.id != "d3"])
    assert loaded.difference(whole) < 1e-6
    assert np.array_equal(loaded.heads.statistics()[0], whole.heads.statistics()[0])
    assert loaded.rank(REQUESTS[0]).candidates[0].tools == whole.rank(REQUESTS[0]).candidates[0].tools


def test_what_was_forgotten_is_not_in_the_file(taught: Ranker, tmp_path: Path) -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn([*lessons(), demonstration("secret-id", "order_pizza", "cancel_train", "set_alarm")])
    ranker.save(tmp_path)
    ranker.remove("secret-id")
    ranker.save(tmp_path)
    taught.save(tmp_path / "never")
    with np.load(tmp_path / FILE_NAME) as file, np.load(tmp_path / "never" / FILE_NAME) as never:
        header = file["header"].tobytes()
        assert b"secret-id" not in header
        assert b"l order_pizza > cancel_train" not in header
        for name in ("vectors", "words"):
            assert np.array_equal(file[name], never[name])


def test_requests_are_not_in_the_file(taught: Ranker, tmp_path: Path) -> None:
    taught.save(tmp_path)
    with np.load(tmp_path / FILE_NAME) as file:
        assert all(b"Ulm" not in file[name].tobytes() for name in file.files)


def test_an_untaught_student_is_saved_too(tmp_path: Path) -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.save(tmp_path)
    loaded = Ranker.load(tmp_path, HashEncoder(48), TOOLS)
    assert len(loaded) == 0
    assert loaded.rank(REQUESTS[0]) == ranker.rank(REQUESTS[0])
    loaded.learn(lessons())
    assert len(loaded) == 60


def test_texts_of_tools_are_encoded_once(taught: Ranker, tmp_path: Path) -> None:
    taught.save(tmp_path)
    asked: list[str] = []

    class Counting(HashEncoder):
        def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
            asked.extend(texts)
            return super().encode(texts)

    new = replace(TOOLS["set_alarm"], name="other", description="Quite another tool.")
    Ranker.load(tmp_path, Counting(48), {**TOOLS, "other": new})
    assert asked == ["other: Quite another tool.", "other"]


def test_an_adopted_model_is_let_go_of_again_and_never_saved(tmp_path: Path) -> None:
    ranker, plain = Ranker(HashEncoder(48), TOOLS, OPTIONS), Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    plain.learn(lessons())
    proposer = FixedProposer("order_pizza", "check_weather")
    right = {d.id: FixedProposer(*(step.tool for step in d.plan.steps)).proposal for d in lessons()}
    ranker.adopt(proposer, {**right, "unknown": proposer.proposal})
    assert ranker.rank("mumble").candidates[0].tools == ("order_pizza", "check_weather")
    with pytest.raises(StatisticsError, match="save it before it takes them"):
        ranker.save(tmp_path)
    assert not (tmp_path / FILE_NAME).exists()
    ranker.adopt(None, {})
    assert ranker.rank("mumble") == plain.rank("mumble")


def test_a_model_is_not_trusted_without_proof() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    before = ranker.rank(REQUESTS[0])
    ranker.adopt(FixedProposer("order_pizza"), {})
    assert ranker.rank(REQUESTS[0]) == before


def test_one_demonstration_counts_against_a_model_that_never_saw_it() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    right = {d.id: FixedProposer(*(step.tool for step in d.plan.steps)).proposal for d in lessons()}
    ranker.adopt(FixedProposer("order_pizza"), right)
    request = "zebra crossing lights at noon"
    assert ranker.rank(request).candidates[0].tools == ("order_pizza",)
    ranker.learn([Demonstration("new", request, Plan((Step("check_weather"), Step("book_train", after=(0,)))))])
    assert ranker.rank(request).candidates[0].tools == ("check_weather", "book_train")
    ranker.remove("new")
    assert ranker.rank(request).candidates[0].tools == ("order_pizza",)


def test_a_forgotten_demonstration_takes_its_proposal_along() -> None:
    ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
    ranker.learn(lessons())
    proposer = FixedProposer("order_pizza")
    ranker.adopt(proposer, {d.id: proposer.proposal for d in lessons()})
    ranker.remove("d7")
    assert "d7" not in ranker._held


# ── Bad files ─────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_saved_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot read a ranker from"):
        Ranker.load(tmp_path, HashEncoder(48), TOOLS)


@pytest.mark.parametrize("place", [40, 4000, -300])
def test_a_damaged_file_is_noticed(taught: Ranker, tmp_path: Path, place: int) -> None:
    taught.save(tmp_path)
    raw = bytearray((tmp_path / FILE_NAME).read_bytes())
    for k in range(24):
        raw[place + k] ^= 0xFF
    (tmp_path / FILE_NAME).write_bytes(raw)
    with pytest.raises((StoreCorruptError, StoreError)):
        Ranker.load(tmp_path, HashEncoder(48), TOOLS)


def test_a_file_of_another_version_is_not_read(taught: Ranker, tmp_path: Path) -> None:
    taught.save(tmp_path)
    with np.load(tmp_path / FILE_NAME) as file:
        parts = {name: file[name] for name in file.files}
    header = json.loads(parts["header"].tobytes()) | {"version": 3}
    parts["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / FILE_NAME, **parts)
    with pytest.raises(StoreVersionError, match="has version 3, this Hearth reads"):
        Ranker.load(tmp_path, HashEncoder(48), TOOLS)


def test_a_cut_file_is_noticed(taught: Ranker, tmp_path: Path) -> None:
    taught.save(tmp_path)
    raw = (tmp_path / FILE_NAME).read_bytes()
    (tmp_path / FILE_NAME).write_bytes(raw[: len(raw) // 2])
    with pytest.raises(StoreCorruptError, match="learn again from the demonstrations"):
        Ranker.load(tmp_path, HashEncoder(48), TOOLS)


def test_another_encoder_is_noticed(taught: Ranker, tmp_path: Path) -> None:
    taught.save(tmp_path)
    with pytest.raises(StoreVersionError, match="learn again from the demonstrations"):
        Ranker.load(tmp_path, HashEncoder(32), TOOLS)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_leaves_the_old_file(taught: Ranker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taught.save(tmp_path)
    before = (tmp_path / FILE_NAME).read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreFullError, match="it is as before"):
        taught.save(tmp_path)
    assert (tmp_path / FILE_NAME).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


_SAVER = """\
import sys
from pathlib import Path
from hearth.testing import HashEncoder
from hearth.planning.ranking.ranker import Ranker
from tests.unit.planning.test_ranker import OPTIONS, TOOLS, lessons
ranker = Ranker(HashEncoder(48), TOOLS, OPTIONS)
rows = lessons(400)
print("ready", flush=True)
for k in range(len(rows)):
    ranker.learn(rows[k : k + 1])
    ranker.save(Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_killed_while_saving_leaves_a_whole_file(tmp_path: Path) -> None:
    seen = 0
    for pause_s in (0.4, 0.9, 1.3):
        with subprocess.Popen([sys.executable, "-c", _SAVER, str(tmp_path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(pause_s)
            os.kill(process.pid, signal.SIGKILL)
        loaded = Ranker.load(tmp_path, HashEncoder(48), TOOLS)
        whole = Ranker(HashEncoder(48), TOOLS, OPTIONS)
        whole.learn(lessons(400)[: len(loaded)])
        assert loaded.ids == whole.ids
        assert loaded.difference(whole) < 1e-6
        seen += len(loaded)
    assert seen


def test_weights_for_other_signs_are_fitted_anew(taught: Ranker, tmp_path: Path) -> None:
    """A file of a Hearth that read fewer signs plans like one just taught, and does not fail in the middle."""
    taught.rank(REQUESTS[0])
    taught.save(tmp_path)
    with np.load(tmp_path / FILE_NAME) as file:
        parts = {name: file[name] for name in file.files}
    header = json.loads(parts["header"].tobytes())
    for k in range(3):
        if header["joining"][k] is not None:
            older = json.loads(json.dumps(header))
            older["joining"][k] = [part[:-2] for part in older["joining"][k]]
            parts["header"] = np.frombuffer(json.dumps(older).encode(), dtype=np.uint8)
            np.savez(tmp_path / FILE_NAME, **parts)
            loaded = Ranker.load(tmp_path, HashEncoder(48), TOOLS)
            for text in REQUESTS:
                assert [c.tools for c in loaded.rank(text).candidates] == [
                    c.tools for c in taught.rank(text).candidates
                ]
    parts["header"] = np.frombuffer(json.dumps({**header, "joining": header["joining"][:2]}).encode(), dtype=np.uint8)
    np.savez(tmp_path / FILE_NAME, **parts)
    assert Ranker.load(tmp_path, HashEncoder(48), TOOLS).rank(REQUESTS[0]).candidates
