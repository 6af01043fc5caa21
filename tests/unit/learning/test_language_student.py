"""Language students: they learn, the same seed gives the same, records and versions say what they are. Needs `hf`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("torch", reason="needs the extra hf: pip install 'hearth-agent[hf]'")
pytest.importorskip("peft", reason="needs the extra hf: pip install 'hearth-agent[hf]'")
pytest.importorskip("llguidance", reason="needs the extra hf: pip install 'hearth-agent[hf]'")

from hearth.errors import ConfigError, NotFound, PlannerError, RequestError, StoreError
from hearth.learning.finetune import adapters as adapters_module
from hearth.learning.finetune.adapters import (
    Adapters,
    LanguageOptions,
    Lessons,
    Samples,
    data_sha256,
    distill,
    folder_sha256,
    move,
    read_record,
    scores,
    write_record,
)
from hearth.models.llm.local_models import HuggingFaceModel, current_adapter
from hearth.types import Demonstration, Plan, Step, ToolSpec
from tests.tiny_models import make_llama

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

TOOLS = {
    name: ToolSpec(name, f"{name.replace('_', ' ')}.", domain=domain)
    for name, domain in (
        ("book_train", "travel"),
        ("find_hotel", "travel"),
        ("send_mail", "mail"),
        ("water_plants", "garden"),
        ("cut_grass", "garden"),
    )
}
FULL = LanguageOptions(method="full", n_epochs=30, lr=5e-3, batch=6, tool_tokens=True, max_tokens=100)
LORA = LanguageOptions(n_epochs=30, lr=1e-2, rank=8, batch=6, replay=2.0, tool_tokens=True, max_tokens=100)


def mean_score(found: Mapping[str, float]) -> float:
    return sum(found.values()) / len(found)


def shown(id: str, request: str, *tools: str) -> Demonstration:
    steps = tuple(Step(tool, after=(k - 1,) if k else (), text=f"do {tool}") for k, tool in enumerate(tools))
    return Demonstration(id, request, Plan(steps))


EARLIER = [
    shown("e1", "book a train to Bonn", "book_train"),
    shown("e2", "a train to Ulm please", "book_train"),
    shown("e3", "find a hotel in Ulm", "find_hotel"),
    shown("e4", "a hotel for tomorrow", "find_hotel"),
    shown("e5", "mail the ticket to Ben", "send_mail"),
    shown("e6", "book a train and mail the ticket", "book_train", "send_mail"),
]
GARDEN = [
    shown("g1", "water the plants", "water_plants"),
    shown("g2", "the plants need water tomorrow", "water_plants"),
    shown("g3", "cut the grass", "cut_grass"),
    shown("g4", "water the plants then cut the grass", "water_plants", "cut_grass"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that was taught the earlier demonstrations as a whole."""
    folder = tmp_path_factory.mktemp("base")
    made = make_llama(folder / "made", width=64)
    distill(made, Lessons(EARLIER, TOOLS, seed=1), folder / "taught", options=FULL)
    return folder / "taught"


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapters") / "garden"
    distill(base, Lessons(GARDEN, TOOLS, EARLIER, 2), folder, options=LORA)
    return folder


def test_a_model_made_from_nothing_learns(base: Path) -> None:
    found = scores(HuggingFaceModel.open(base), EARLIER, TOOLS)
    assert mean_score(found) > 0.9, found
    record = read_record(base)
    assert record.method == "full"
    assert record.n_trained == record.n_parameters
    assert record.ids == ("e1", "e2", "e3", "e4", "e5", "e6")


def test_an_adapter_learns_new_tools_and_keeps_the_old(base: Path, adapter: Path) -> None:
    model = HuggingFaceModel.open(base, adapter=adapter)
    assert model.writes_plans
    assert not model.reads_tools
    assert mean_score(scores(model, GARDEN, TOOLS)) > 0.9
    assert mean_score(scores(model, EARLIER, TOOLS)) > 0.8
    assert mean_score(scores(HuggingFaceModel.open(base), GARDEN, TOOLS)) < 0.6
    record = read_record(adapter)
    assert record.n_trained < record.n_parameters / 2
    assert record.replayed == ("e1", "e2", "e3", "e4", "e5", "e6")
    assert record.base_sha256 == folder_sha256(base)
    assert record.data_sha256 == data_sha256([*GARDEN, *EARLIER])
    size = sum(path.stat().st_size for path in adapter.iterdir())
    assert size < 1_000_000


def test_the_same_seed_gives_the_same_weights(base: Path, adapter: Path, tmp_path: Path) -> None:
    distill(base, Lessons(GARDEN, TOOLS, EARLIER, 2), tmp_path / "again", options=LORA)
    one, two = ((f / "adapter_model.safetensors").read_bytes() for f in (adapter, tmp_path / "again"))
    assert one == two
    distill(base, Lessons(GARDEN, TOOLS, EARLIER, 3), tmp_path / "other", options=LORA)
    assert (tmp_path / "other" / "adapter_model.safetensors").read_bytes() != one


def test_going_on_from_an_adapter_begins_where_it_ended(base: Path, adapter: Path, tmp_path: Path) -> None:
    """One update with next to no learning rate: what the earlier adapter knew is there."""
    still = replace(LORA, n_epochs=0.01, lr=1e-9)
    record = distill(base, Lessons(EARLIER, TOOLS), tmp_path / "next", options=still, start_from=adapter)
    before = scores(HuggingFaceModel.open(base, adapter=adapter), GARDEN, TOOLS)
    after = scores(HuggingFaceModel.open(base, adapter=tmp_path / "next"), GARDEN, TOOLS)
    assert after == before
    assert record.parent == "garden"
    assert set(record.ids) == {d.id for d in (*EARLIER, *GARDEN)}


def test_an_adapter_moves_to_another_base_without_what_was_forgotten(adapter: Path, tmp_path: Path) -> None:
    other = make_llama(tmp_path / "other", seed=9, width=48)
    kept = [d for d in (*EARLIER, *GARDEN) if d.id != "g3"]
    record = move(adapter, other, kept, TOOLS, tmp_path / "moved")
    assert record.parent == "garden"
    assert record.base == str(other)
    assert "g3" not in record.seen
    assert record.ids == ("g1", "g2", "g4")
    assert len(record.replayed) == 6
    HuggingFaceModel.open(other, adapter=tmp_path / "moved")


# ── Bad input ─────────────────────────────────────────────────────────────────────────────────────────────


def test_an_adapter_of_another_base_is_refused(adapter: Path, tmp_path: Path) -> None:
    other = make_llama(tmp_path / "other", width=48)
    with pytest.raises(ConfigError, match=r"does not fit .*distil it again"):
        HuggingFaceModel.open(other, adapter=adapter)
    with pytest.raises(ConfigError, match="made for another base or rank"):
        distill(other, Lessons(GARDEN, TOOLS), tmp_path / "next", options=LORA, start_from=adapter)


def test_a_folder_that_is_no_adapter_is_refused(base: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no adapter in"):
        HuggingFaceModel.open(base, adapter=tmp_path)
    with pytest.raises(ConfigError, match="name the folder of an adapter"):
        read_record(tmp_path)
    (tmp_path / "record.json").write_text('{"options": {"colour": 1}}')
    with pytest.raises(ConfigError, match="not the record of an adapter"):
        read_record(tmp_path)


def test_nothing_is_written_when_nothing_can_be_learnt(base: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(RequestError, match="no demonstration to learn from"):
        distill(base, Lessons([], TOOLS), out)
    with pytest.raises(RequestError, match="unknown tool 'fly'"):
        distill(base, Lessons([shown("x", "fly", "fly")], TOOLS), out)
    with pytest.raises(RequestError, match="at most 5 tokens"):
        distill(base, Lessons(GARDEN, TOOLS), out, options=replace(LORA, max_tokens=5))
    with pytest.raises(ConfigError, match="no model folder at"):
        distill(tmp_path / "nowhere", Lessons(GARDEN, TOOLS), out)
    assert not list(tmp_path.iterdir())


def test_an_earlier_folder_is_never_overwritten(base: Path, adapter: Path) -> None:
    before = (adapter / "record.json").read_bytes()
    with pytest.raises(ConfigError, match="exists already"):
        distill(base, Lessons(GARDEN, TOOLS), adapter, options=LORA)
    assert (adapter / "record.json").read_bytes() == before


def test_overlong_demonstrations_are_left_out_and_counted(base: Path, tmp_path: Path) -> None:
    long = shown("long", "water " * 500, "water_plants")
    record = distill(base, Lessons([*GARDEN, long], TOOLS), tmp_path / "out", options=replace(LORA, n_epochs=0.1))
    assert record.n_left_out == 1
    assert "long" not in record.ids


# ── Versions ──────────────────────────────────────────────────────────────────────────────────────────────


def judged_by(monkeypatch: pytest.MonkeyPatch, by_model: Mapping[str, float]) -> None:
    """Scores by the model's name instead of by asking it: the gate is what is looked at."""

    def fixed(
        model: HuggingFaceModel, held: list[Demonstration], tools: object, may_fail: bool = False
    ) -> dict[str, float]:
        return {d.id: by_model.get(model.name.rpartition("+")[2], 0.5) for d in held}

    monkeypatch.setattr(adapters_module, "scores", fixed)


def test_versions_are_listed_promoted_and_rolled_back(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_by(monkeypatch, {"1": 0.6, "2": 0.1})
    kept = Adapters(tmp_path / "adapters")
    quick = replace(LORA, n_epochs=0.1)
    assert kept.current() is None
    assert kept.versions() == ()
    first = kept.distil(base, Lessons(GARDEN, TOOLS, EARLIER), options=quick)
    assert first.verdict.is_promoted, first.verdict
    assert kept.current() == first.version
    assert first.version.record.scores["node_f1"] == 0.6

    second = kept.distil(base, Lessons([shown("x", "cut it", "cut_grass")], TOOLS, [*EARLIER, *GARDEN]), options=quick)
    assert not second.verdict.is_promoted
    assert "worse" in second.verdict.reason or "nothing would improve" in second.verdict.reason
    assert second.version.record.parent == "1"
    assert [(v.number, v.is_current) for v in kept.versions()] == [(1, True), (2, False)]

    kept.promote(2)
    assert current_adapter(tmp_path / "adapters") == tmp_path / "adapters" / "2"
    back = kept.rollback()
    assert back is not None
    assert back.number == 1
    assert kept.rollback() is None
    with pytest.raises(NotFound, match="none to roll back"):
        kept.rollback()
    with pytest.raises(NotFound, match="no adapter 7; there are: 1, 2"):
        kept.promote(7)


def test_held_back_demonstrations_are_not_learnt(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged_by(monkeypatch, {})
    lessons = Lessons(GARDEN, TOOLS, EARLIER)
    made = Adapters(tmp_path).distil(base, lessons, options=replace(LORA, n_epochs=0.1))
    record = made.version.record
    assert record.held
    assert not set(record.held) & record.seen
    assert len(record.held) + len(record.seen) == len(GARDEN) + len(EARLIER)
    again = Adapters(tmp_path).distil(base, lessons, options=replace(LORA, n_epochs=0.1))
    assert set(record.held) <= set(again.version.record.held)


def test_forgetting_removes_each_version_that_learnt_it(base: Path, adapter: Path, tmp_path: Path) -> None:
    kept = Adapters(tmp_path)
    quick = replace(LORA, n_epochs=0.1)
    first = distill(base, Lessons(EARLIER, TOOLS), tmp_path / "1", options=quick)
    write_record(tmp_path / "1", replace(first, held=("g1", "g2")))
    distill(base, Lessons(GARDEN, TOOLS, EARLIER), tmp_path / "2", options=quick, start_from=tmp_path / "1")
    distill(base, Lessons(GARDEN, TOOLS), tmp_path / "3", options=quick)
    for number in (3, 1, 2):
        kept.promote(number)
    assert kept.forget(["g1"]) == (2, 3)
    current = kept.current()
    assert current is not None
    assert current.number == 1
    assert current.record.held == ("g2",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "current.json"]
    assert kept.forget(["e1"]) == (1,)
    assert kept.current() is None


def test_a_model_that_writes_no_plan_at_all_is_said(base: Path) -> None:
    model = HuggingFaceModel.open(base, max_tokens=1)
    with pytest.raises(PlannerError, match="cut off after 1 tokens"):
        scores(model, EARLIER, TOOLS)
    assert mean_score(scores(model, EARLIER, TOOLS, may_fail=True)) == 0


def test_a_half_written_version_is_no_version(base: Path, tmp_path: Path) -> None:
    """Killed before the folder was named: nothing is listed, and the next one is made all the same."""
    kept = Adapters(tmp_path)
    (tmp_path / ".1.new").mkdir()
    (tmp_path / ".1.new" / "adapter_model.safetensors").write_bytes(b"half")
    assert kept.versions() == ()
    distill(base, Lessons(GARDEN, TOOLS), tmp_path / "1", options=replace(LORA, n_epochs=0.1))
    assert [v.number for v in kept.versions()] == [1]
    assert not (tmp_path / ".1.new").exists()


def test_a_damaged_list_of_what_was_current_says_so(tmp_path: Path) -> None:
    (tmp_path / "current.json").write_text("{")
    with pytest.raises(StoreError, match="remove it"):
        Adapters(tmp_path).current()
    with pytest.raises(ConfigError, match="remove it"):
        current_adapter(tmp_path)
    (tmp_path / "current.json").write_text(json.dumps({"past": []}))
    assert current_adapter(tmp_path) is None


def test_what_only_the_adapter_holds_is_replayed_first(base: Path) -> None:
    """Its own lessons would be lost in the crowd of what its base knows anyway."""
    crowd = [shown(f"c{k}", "a train", "book_train") for k in range(500)]
    tokenizer = HuggingFaceModel.open(base).tokenizer
    options = replace(LORA, replay=10.0)
    samples = Samples(tokenizer, TOOLS, options, Random(0), frozenset(d.id for d in GARDEN))
    seen = Counter(d.id for d in samples._replayed([*crowd, *GARDEN], 40))
    assert all(seen[d.id] == 1 for d in GARDEN)
    assert seen.total() == 40
    assert samples.n_batches(EARLIER[:1], crowd) == ceil(33 / options.batch), "one new one has company"
    assert Samples(tokenizer, TOOLS, replace(LORA, replay=0.0), Random(0)).n_batches(EARLIER, crowd) == 1
