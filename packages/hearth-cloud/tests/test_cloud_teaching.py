"""Who teaches: a student, one merged of statistics, a language model; and what is kept of answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
from cloud_fixtures import Clock, Serve

from hearth.errors import EgressError, PlannerError, RequestError, StatisticsError
from hearth.formats import edge_protocol
from hearth.formats.edge_protocol import AnswerAsked, Manifest, PlanGiven
from hearth.formats.plans import demonstration_from_json
from hearth.models.llm.scripted import ScriptedModel
from hearth.planning.arguments.schema_filler import Filler
from hearth.planning.ranking.ranker import PROFILES, ProfileName, Ranker
from hearth.planning.ranking.sufficient_statistics import decode, encode
from hearth.testing import FIXED_NOW, HashEncoder
from hearth.types import Demonstration, Parameter, Plan, Refusal, Request, Step, ToolSpec
from hearth_cloud.cloud_settings import CloudSettings, TeacherSettings
from hearth_cloud.outbound import NamedHosts
from hearth_cloud.service.general_answers import ModelAnswers, RecordedAnswers
from hearth_cloud.service.teaching_queue import (
    Answers,
    Asked,
    MergedTeacher,
    ModelTeacher,
    StudentTeacher,
    Toolset,
    Toolsets,
    given,
)
from hearth_cloud.storage.cloud_storage import Storage

TOOLS = {
    "lamp_on": ToolSpec("lamp_on", "Switch a lamp on."),
    "find_video": ToolSpec("find_video", "Find a video of a day.", (Parameter("day", "date", "which day"),)),
    "show": ToolSpec("show", "Show something on the screen.", (Parameter("what", "text"),)),
}
OFFERED = Toolset("0" * 64, TOOLS)
SAID = {
    "lamp_on": ["switch the lamp on", "lamp on please", "turn the lamp on now", "light the lamp for me"],
    "find_video": [
        "find the video of yesterday",
        "look for the video of monday",
        "find yesterday's video",
        "the video of today please",
    ],
}


def demonstrations() -> list[Demonstration]:
    found = []
    for tool, texts in SAID.items():
        for k in range(12):
            line = {
                "id": f"{tool}-{k}",
                "user_request": f"{texts[k % 4]} {'again ' * (k // 4)}".strip(),
                "task_nodes": [{"task": tool}],
            }
            found.append(demonstration_from_json(line))
    return found


def student(profile: ProfileName = "small") -> Ranker:
    taught = Ranker(HashEncoder(), TOOLS, PROFILES[profile])
    taught.learn(demonstrations())
    return taught


def ask(text: str, id: str = "a", offered: Toolset = OFFERED) -> Asked:
    return Asked(id, Request(text, FIXED_NOW, id), offered)


def tools_of(answer: PlanGiven) -> list[str]:
    assert answer.plan is not None, answer.refusal
    return [node["task"] for node in answer.plan["task_nodes"]]


# ── A student ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_student_plans_many_requests_as_it_plans_each() -> None:
    teacher = StudentTeacher(student(), Filler(None, None))
    texts = ["switch the lamp on please", "find the video of monday", "turn the lamp on"]
    together = teacher.plans([ask(text, f"a{k}") for k, text in enumerate(texts)])
    alone = [teacher.plans([ask(text, f"a{k}")])[0] for k, text in enumerate(texts)]
    assert together == alone
    assert [tools_of(one) for one in together] == [["lamp_on"], ["find_video"], ["lamp_on"]]
    assert [one.id for one in together] == ["a0", "a1", "a2"]


def test_several_threads_plan_as_one_does() -> None:
    alone, shared = StudentTeacher(student(), Filler(None, None)), StudentTeacher(student(), Filler(None, None))
    fewer = Toolset("1" * 64, {"lamp_on": TOOLS["lamp_on"]})
    batches = [
        [ask(text, f"{k}-{n}", OFFERED if (k + n) % 2 else fewer) for n, text in enumerate(SAID["find_video"])]
        for k in range(24)
    ]
    wanted = [alone.plans(batch) for batch in batches]
    assert shared.n_threads > 1
    with ThreadPoolExecutor(shared.n_threads) as pool:
        assert list(pool.map(shared.plans, batches)) == wanted


def test_what_the_student_cannot_fill_is_left_to_the_edge() -> None:
    (filled,) = StudentTeacher(student(), Filler(None, None)).plans([ask("find the video of 2026-09-03")])
    (left,) = StudentTeacher(student(), None).plans([ask("find the video of 2026-09-03")])
    assert filled.plan is not None
    assert filled.plan["task_nodes"][0]["arguments"] == [{"name": "day", "value": "2026-09-03"}]
    assert filled.missing == ()
    assert tools_of(left) == ["find_video"]
    assert left.missing == ("find_video.day",)


def test_requests_with_different_tools_in_one_batch() -> None:
    teacher = StudentTeacher(student(), None)
    fewer = Toolset("1" * 64, {"lamp_on": TOOLS["lamp_on"]})
    answers = teacher.plans([ask("find the video", "a"), ask("find the video", "b", fewer), ask("lamp on", "c", fewer)])
    assert tools_of(answers[0]) == ["find_video"]
    assert {tool for answer in answers[1:] for tool in tools_of(answer)} == {"lamp_on"}


def test_what_cannot_be_planned_is_refused() -> None:
    teacher = StudentTeacher(student(), None)
    blank, none = teacher.plans([ask("   "), ask("lamp on", offered=Toolset("2" * 64, {}))])
    assert blank.refusal is not None
    assert blank.refusal.kind == "unreadable"
    assert none.refusal is not None
    assert none.refusal.kind == "out_of_scope"


def test_offerings_share_what_was_learnt_and_leave_the_student_alone() -> None:
    base = student()
    before = base.rank("switch the lamp on")
    base.offering({"show": TOOLS["show"]}, {})
    assert base.rank("switch the lamp on") == before
    assert set(base.tools) == set(TOOLS)


@pytest.mark.parametrize("profile", ["small", "medium"])
def test_a_student_of_a_prior_alone_plans_as_one_that_took_it(profile: ProfileName) -> None:
    prior = decode(encode(student(profile).statistics(set(TOOLS))))
    taking = Ranker(HashEncoder(), TOOLS, PROFILES[profile])
    taking.take_prior(prior)
    alone = Ranker.of_prior(HashEncoder(), PROFILES[profile], prior)
    alone.set_tools(TOOLS)
    assert not alone.heads.can_learn
    assert np.array_equal(alone.heads.solved(), taking.heads.solved())
    for text in ("lamp on please", "the video of monday", "something else"):
        assert alone.rank(text) == taking.rank(text)


def test_a_prior_over_other_features_makes_no_student() -> None:
    prior = student("small").statistics(set(TOOLS))
    with pytest.raises(StatisticsError, match="over features"):
        Ranker.of_prior(HashEncoder(), PROFILES["medium"], prior)


def put_prior(storage: Storage, serial: int, taught: Ranker) -> None:
    data = encode(taught.statistics(set(TOOLS)))
    manifest = Manifest(
        kind="prior",
        sha256=storage.put_blob(data),
        n_bytes=len(data),
        fingerprint=taught.fingerprint,
        serial=serial,
        made=FIXED_NOW,
    )
    storage.put_manifest("prior small", serial, manifest.model_dump_json(), manifest.sha256)


def test_the_newest_prior_is_taken_up_while_it_serves(small_storage: Storage, clock: Clock) -> None:
    teacher = MergedTeacher(small_storage, HashEncoder(), "small", None, clock.monotonic)
    (nothing,) = teacher.plans([ask("lamp on")])
    assert nothing.refusal is not None
    assert "merged" in nothing.refusal.reason
    put_prior(small_storage, 1, student())
    clock.wait(31)
    (first,) = teacher.plans([ask("switch the lamp on")])
    assert "lamp_on" in tools_of(first)
    assert first.teacher == teacher.name == "merged prior 1"
    more = student()
    more.learn([demonstration_from_json({"id": "n", "user_request": "show it", "task_nodes": [{"task": "show"}]})])
    put_prior(small_storage, 2, more)
    clock.wait(31)
    for _ in range(200):
        if teacher.plans([ask("lamp on")])[0].teacher == "merged prior 2":
            break
    assert teacher.name == "merged prior 2"


# ── A language model ──────────────────────────────────────────────────────────────────────────────────────


def test_a_language_model_plans() -> None:
    reply = json.dumps({"outcome": "plan", "task_nodes": [{"task": "lamp_on", "arguments": []}], "task_steps": ["on"]})
    (answer,) = ModelTeacher([ScriptedModel([reply])]).plans([ask("lamp on")])
    assert tools_of(answer) == ["lamp_on"]
    assert answer.teacher == "scripted"


def test_a_language_model_that_is_down() -> None:
    with pytest.raises(PlannerError):
        ModelTeacher([ScriptedModel([PlannerError("away")])]).plans([ask("lamp on")])


def test_a_language_model_answers_and_is_asked_again_for_another_form() -> None:
    good = json.dumps({"text": "Soup.", "items": [{"name": "Soup", "text": "", "tags": ["leek"]}]})
    model = ScriptedModel(["I would say soup", f"```json\n{good}\n```"])
    answer = ModelAnswers([model]).answer(AnswerAsked(id="q", question="what to cook?"))
    assert answer is not None
    assert (answer.text, answer.items[0].tags) == ("Soup.", ("leek",))
    assert len(model.asked) == 2
    with pytest.raises(PlannerError, match="two attempts"):
        ModelAnswers([ScriptedModel(["no", "{}"])]).answer(AnswerAsked(id="q", question="what?"))


def test_a_recorded_answer_that_is_none_is_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"question": "a", "text": "b"}\n{"question": 5, "text": "b"}\n')
    with pytest.raises(RequestError, match=r"answers\.jsonl:2"):
        RecordedAnswers(path)


@pytest.mark.parametrize(
    ("url", "may"),
    [
        ("https://model.example/v1/chat/completions", True),
        ("https://model.example:443/v1", True),
        ("http://model.example/v1", False),
        ("https://model.example:8443/v1", False),
        ("https://model.example.evil.org/v1", False),
        ("https://other.example/v1", False),
    ],
)
def test_only_the_named_host_is_reached(url: str, may: bool) -> None:
    reached = httpx.MockTransport(lambda request: httpx.Response(200))
    way = NamedHosts(httpx.URL("https://model.example/v1"), reached)
    with httpx.Client(transport=way, trust_env=False) as client:
        if may:
            assert client.get(url).status_code == 200
        else:
            with pytest.raises(EgressError, match=r"cloud\.toml"):
                client.get(url)


# ── What is kept ──────────────────────────────────────────────────────────────────────────────────────────


def test_answers_are_bounded_end_and_belong_to_their_teacher(clock: Clock) -> None:
    kept = Answers(2, 60, clock.monotonic)
    for k in range(3):
        kept.keep(ask(f"r{k}"), given("x", Plan((Step("lamp_on"),)), "t"))
    assert kept.get(ask("r0"), "t") is None
    found = kept.get(ask("r2", "new id"), "t")
    assert found is not None
    assert found.id == "new id"
    assert kept.get(ask("r2"), "another") is None
    clock.wait(60)
    assert kept.get(ask("r2"), "t") is None


@pytest.mark.parametrize(("refusal", "is_kept"), [("out_of_scope", True), ("needs", True), ("unreadable", False)])
def test_which_refusals_are_kept(clock: Clock, refusal: str, is_kept: bool) -> None:
    kept = Answers(2, 60, clock.monotonic)
    kept.keep(ask("r"), given("x", Refusal(refusal, "no"), "t"))  # type: ignore[arg-type]
    assert (kept.get(ask("r"), "t") is not None) is is_kept


def test_toolsets_are_bounded() -> None:
    sets = Toolsets()
    many = {f"t{k}": ToolSpec(f"t{k}", "") for k in range(500)}
    hashes = [f"{k:064x}" for k in range(60)]
    for sha256 in hashes:
        sets.keep(Toolset(sha256, many))
    assert sets.get(hashes[0]) is None
    assert sets.get(hashes[-1]) is not None


def test_the_teacher_that_settings_name_is_opened(
    tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def encoder(environ: object) -> HashEncoder:
        opened.append("encoder")
        return HashEncoder()

    monkeypatch.setattr("hearth_cloud.service.service._encoder", encoder)
    taught = student()
    taught.save(tmp_path / "student")
    settings = CloudSettings(teacher=TeacherSettings(kind="student", path=str(tmp_path / "student"), arguments="edge"))
    served = serve(settings)
    nodes: Sequence[dict[str, object]] = [{"id": name, "desc": spec.description} for name, spec in TOOLS.items()]
    with served.client(served.token()) as client:
        answer = client.post(
            "/v1/plans", json={"id": "a", "request": "switch the lamp on", "now": FIXED_NOW.isoformat(), "tools": nodes}
        )
    assert tools_of(edge_protocol.read(PlanGiven, answer.content)) == ["lamp_on"]
    assert opened == ["encoder"]
