"""Training of tier two on a few lessons; needs torch, but for the message when it is missing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from hearth.errors import MissingExtraError, RequestError, StoreCorruptError
from hearth.learning.finetune.lessons import AdapterOptions, Epoch, Lesson, Task, Trained, lesson_of, reflected
from hearth.learning.finetune.second_tier import train_pointer
from hearth.models.pointer import MODEL_FILE, Pointer, ToolTable
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth.testing import HashEncoder
from hearth.types import Demonstration, Plan, Step, ToolSpec

TOOLS = {
    name: ToolSpec(name, text)
    for name, text in {
        "set_alarm": "Set an alarm for a time",
        "play_music": "Play a song",
        "book_flight": "Book a flight to a city",
        "send_mail": "Send an e-mail to a person",
        "weather": "Look up the weather of a city",
    }.items()
}
SAID = {
    "set_alarm": "wake me at seven",
    "play_music": "play some jazz",
    "book_flight": "fly me to Rome",
    "send_mail": "write a mail to Anna",
    "weather": "tell me the weather in Oslo",
}
PAIRS = [(a, b) for a in TOOLS for b in TOOLS if a != b]
LESSONS = [
    Lesson(f"{a} {b}", f"Please {SAID[a]} and then {SAID[b]}.", (((a, b), 1.0),), (SAID[a], SAID[b])) for a, b in PAIRS
]
SMALL = AdapterOptions(
    n_epochs=24, n_epochs_more=1, rate=2e-3, batch=8, width=64, n_blocks=1, held_share=0.2, smoothing=0.01
)


@pytest.fixture(scope="module")
def encoder() -> MiniLMEncoder:
    return MiniLMEncoder.open()


def trained(
    lessons: Sequence[Demonstration | Lesson],
    folder: Path,
    encoder: MiniLMEncoder,
    options: AdapterOptions = SMALL,
    start_from: Path | None = None,
    replay: Sequence[Lesson] = (),
) -> tuple[list[Epoch], Trained]:
    pytest.importorskip("torch", reason="training of tier two needs the extra `train`")
    *epochs, last = train_pointer(Task(lessons, TOOLS, encoder, folder, options, 5, start_from, replay))
    assert isinstance(last, Trained)
    return [epoch for epoch in epochs if isinstance(epoch, Epoch)], last


# ── What needs no torch ───────────────────────────────────────────────────────────────────────────────────


def test_without_torch_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "hearth.learning.finetune.pointer_training", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'hearth-agent\[train\]'"):
        train_pointer(Task(LESSONS, TOOLS, HashEncoder(), tmp_path / "a"))


def test_a_demonstration_as_a_lesson() -> None:
    steps = (Step("set_alarm"), Step("weather", after=(0,)), Step("set_alarm", after=(1,)))
    demonstration = Demonstration("1", "Wake me", Plan(steps), task_steps=("alarm", "weather", "again"))
    assert lesson_of(demonstration) == Lesson("1", "Wake me", ((("set_alarm", "weather"), 1.0),), ("alarm", "weather"))
    assert lesson_of(replace(demonstration, task_steps=())) == Lesson(
        "1", "Wake me", ((("set_alarm", "weather"), 1.0),)
    )
    assert lesson_of(replace(demonstration, plan=Plan(()))) is None


def test_a_failed_plan_keeps_its_wrong_step_masked() -> None:
    assert reflected("1", "r", ("a", "x", "c"), ("a", "b", "c")) == Lesson(
        "1", "r", ((("a", "x", "b", "c"), 1.0),), wrong=frozenset({1})
    )


@pytest.mark.parametrize(
    ("failed", "corrected"), [(("a",), ("a", "b")), (("b", "a"), ("a", "b")), ((), ("a",)), (("a", "b"), ("a", "b"))]
)
def test_a_failed_plan_without_a_wrong_tool_teaches_the_right_one(
    failed: tuple[str, ...], corrected: tuple[str, ...]
) -> None:
    assert reflected("1", "r", failed, corrected) == Lesson("1", "r", ((corrected, 1.0),))


# ── Training ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, encoder: MiniLMEncoder) -> tuple[list[Epoch], Trained]:
    return trained(LESSONS, tmp_path_factory.mktemp("first") / "adapter", encoder)


def test_learns_what_it_was_taught(first: tuple[list[Epoch], Trained], encoder: MiniLMEncoder) -> None:
    epochs, last = first
    assert [epoch.number for epoch in epochs] == list(range(1, 26))
    assert epochs[-1].sequence_loss < epochs[0].sequence_loss / 1.5
    pointer = Pointer.open(last.folder, TOOLS, encoder=encoder)
    proposals = pointer.propose([lesson.request for lesson in LESSONS])
    sets = [set(p.sequences[0][0]) == set(lesson.plans[0][0]) for p, lesson in zip(proposals, LESSONS)]
    assert sum(sets) >= 16
    assert np.mean([min(p.tools.get(tool, 0.0) for tool in pair) for p, pair in zip(proposals, PAIRS)]) > 0.5


def test_holds_back_a_part_and_says_how_it_was_made(first: tuple[list[Epoch], Trained]) -> None:
    _, last = first
    assert len(last.held) == 4
    assert set(last.held) <= {lesson.id for lesson in LESSONS}
    record = last.record
    assert record["n_lessons"] == 20
    assert record["ids"] == sorted(lesson.id for lesson in LESSONS)
    assert record["seed"] == 5
    assert record["parent"] == ""
    assert len(str(record["lessons_sha256"])) == 64
    assert sorted(path.name for path in last.folder.iterdir()) == ["pointer.onnx", "record.json", "tools.npz"]
    assert [path.name for path in last.folder.parent.iterdir()] == ["adapter"]


def test_the_same_lessons_and_seed_give_the_same_file(tmp_path: Path, encoder: MiniLMEncoder) -> None:
    short = replace(SMALL, n_epochs=2)
    _, one = trained(LESSONS, tmp_path / "one", encoder, short)
    _, two = trained(LESSONS[::-1], tmp_path / "two", encoder, short)
    assert one.record["fingerprint"] == two.record["fingerprint"]
    assert one.held == two.held


def test_going_on_remembers_its_parent_and_what_it_knew(
    first: tuple[list[Epoch], Trained], tmp_path: Path, encoder: MiniLMEncoder
) -> None:
    _, last = first
    short = replace(SMALL, n_epochs=1, n_epochs_more=0, held_share=0.0)
    epochs, more = trained(LESSONS[:10], tmp_path / "more", encoder, short, last.folder, LESSONS[10:])
    assert more.record["parent"] == last.record["fingerprint"]
    assert more.record["n_lessons"] == 20
    assert more.held == {}
    assert epochs[0].sequence_loss < first[0][2].sequence_loss


def test_a_stopped_run_leaves_nothing(tmp_path: Path, encoder: MiniLMEncoder) -> None:
    pytest.importorskip("torch", reason="training of tier two needs the extra `train`")
    run = train_pointer(Task(LESSONS, TOOLS, encoder, tmp_path / "adapter", SMALL))
    next(run)
    run.close()  # type: ignore[attr-defined]
    assert list(tmp_path.iterdir()) == []


def test_soft_labels_rankings_and_wrong_steps_are_learnt_from(tmp_path: Path, encoder: MiniLMEncoder) -> None:
    """One request each; afterwards the teacher's preference shows."""
    soft = Lesson("soft", "Some jazz or the weather", ((("play_music",), 0.5), (("weather",), 0.5)))
    ranked = replace(LESSONS[0], id="ranked", ranking=((("set_alarm", "play_music"), 0.0), (("set_alarm",), -3.0)))
    wrong = reflected("wrong", "Fly me to Rome, no mails", ("send_mail",), ("book_flight",))
    lessons = [soft, ranked, wrong, *LESSONS[8:]]
    _, last = trained(lessons, tmp_path / "adapter", encoder, replace(SMALL, held_share=0.0, made_share=0.0))
    pointer = Pointer.open(last.folder, TOOLS, encoder=encoder)
    found = {one.id: pointer.propose([one.request])[0] for one in lessons}
    assert min(found["soft"].tools[tool] for tool in ("play_music", "weather")) > 0.2
    assert found["wrong"].tools["book_flight"] > found["wrong"].tools.get("send_mail", 0.0)
    assert dict(found["ranked"].sequences)["set_alarm", "play_music"] > dict(found["ranked"].sequences)["set_alarm",]


def test_a_tool_added_after_training_can_be_proposed(
    first: tuple[list[Epoch], Trained], encoder: MiniLMEncoder
) -> None:
    more = TOOLS | {"water_plants": ToolSpec("water_plants", "Water the plants in the garden")}
    pointer = Pointer.open(first[1].folder, more, encoder=encoder)
    proposal = pointer.propose(["Please water the plants in the garden"])[0]
    assert proposal.tools.get("water_plants", 0.0) >= sorted(proposal.tools.values())[-2]


def test_what_was_learnt_of_a_tool_goes_with_its_name(
    first: tuple[list[Epoch], Trained], encoder: MiniLMEncoder
) -> None:
    table = ToolTable.load(first[1].folder / "tools.npz")
    assert np.abs(table.deltas).max() > 0
    turned = table.for_tools(dict(reversed(TOOLS.items())), encoder)
    assert np.array_equal(turned.deltas, table.deltas[::-1])


# ── Bad input ─────────────────────────────────────────────────────────────────────────────────────────────


def test_too_few_lessons_are_refused(tmp_path: Path, encoder: MiniLMEncoder) -> None:
    with pytest.raises(RequestError, match="3 lessons with known tools; training needs at least 4"):
        trained([*LESSONS[:3], Lesson("x", "Fry an egg", ((("fry_egg",), 1.0),))], tmp_path / "a", encoder)
    assert list(tmp_path.iterdir()) == []


def test_unusable_plans_and_candidates_are_passed_over(tmp_path: Path, encoder: MiniLMEncoder) -> None:
    ranking = ((("set_alarm",), 0.0), (("fry_egg",), 0.0), (("set_alarm", "set_alarm"), 0.0), ((), 0.0))
    odd = [
        replace(LESSONS[0], id="ranked", ranking=ranking),
        replace(LESSONS[0], id="twice", plans=((("set_alarm", "set_alarm"), 1.0),)),
        replace(LESSONS[0], id="empty", plans=(((), 1.0),)),
        replace(LESSONS[0], id="weightless", plans=((("set_alarm",), 0.0),)),
        replace(LESSONS[0], id="second gone", plans=((("set_alarm",), 1.0), (("fry_egg",), 1.0))),
        replace(LESSONS[0], id="long", request="Wake me. " * 100_000),
        replace(LESSONS[0], id="blank", request=""),
    ]
    epochs, last = trained([*odd, *LESSONS[:5]], tmp_path / "a", encoder, replace(SMALL, n_epochs=1, n_epochs_more=0))
    assert set(cast(list[str], last.record["ids"])) == {
        "ranked",
        "second gone",
        "long",
        "blank",
        *(one.id for one in LESSONS[:5]),
    }
    assert 0 < epochs[0].loss < 20


def test_a_folder_that_exists_is_refused(tmp_path: Path, encoder: MiniLMEncoder) -> None:
    with pytest.raises(RequestError, match="exists; name one that does not"):
        trained(LESSONS, tmp_path, encoder)


def test_a_damaged_parent_is_refused(
    first: tuple[list[Epoch], Trained], tmp_path: Path, encoder: MiniLMEncoder
) -> None:
    for path in first[1].folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / MODEL_FILE).write_bytes(b"")
    with pytest.raises(StoreCorruptError, match="is damaged"):
        trained(LESSONS, tmp_path / "more", encoder, start_from=tmp_path)
    assert not (tmp_path / "more").exists()
