"""A simulated fleet of four edges and three days: the same each time, however it is run; what is measured was not taught."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hearth.agent import shipped_demonstrations
from hearth.errors import MissingExtraError, RequestError
from hearth.formats.plans import check_plan
from hearth.models.sentence_encoder import TokenVectors
from hearth.planning.ranking.ranker import PROFILES, Ranker
from hearth.planning.ranking.sufficient_statistics import encode
from hearth.types import Plan, Ref, Step, ToolSpec
from hearth_bench.cli.fleet_commands import fleet as command
from hearth_bench.data.q2a_instructions import OWNERS, split_of
from hearth_bench.fleet.fleet_figures import fleet_html, fleet_png
from hearth_bench.fleet.fleet_prior import LEAST, Arguments, Founders, Guide, Likely, shape_of, shaped
from hearth_bench.fleet.fleet_report import Lived, csv_of, lines, summary
from hearth_bench.fleet.habits import FIRST_DAY, Asked, Habit, Persona, life_of, owner_of, probes_of
from hearth_bench.fleet.simulated_edge import DEVICES, MEASURES, Cloud, Pupil, Texts, blank_heads, judged, taught
from hearth_bench.fleet.simulation import Fleet, simulate
from hearth_bench.fleet.simulation_parts import (
    CHECKPOINTS,
    PROBED,
    WAYS,
    Part,
    Settings,
    Way,
    heads_of,
    is_newcomer,
    parts_of,
    run_part,
)


class Letters:
    """An encoder of letters in threes; no model."""

    name, dim = "letters", 24

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([self._of(text) for text in texts], dtype=np.float32)

    def _of(self, text: str) -> np.ndarray:
        row = np.zeros(self.dim, dtype=np.float32)
        for k in range(len(text) - 2):
            row[hashlib.sha256(text[k : k + 3].lower().encode()).digest()[0] % self.dim] += 1
        return row / max(float(np.linalg.norm(row)), 1e-9)

    def encode_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        found = []
        for text in texts:
            whole = self._of(text)
            found.append(TokenVectors(whole, whole[None], np.array([[0, len(text)]], np.int32), np.ones(1, np.float32)))
        return found


SHIPPED = tuple(one for one in shipped_demonstrations() if one.plan.steps)[::24]
SMALL = Settings(4, Habit(seed=3, n_days=3, requests_a_day=5.0, n_variants=4))
NEWCOMERS = Settings(24, Habit(seed=3, n_days=2, requests_a_day=3.0, n_variants=4), n_probed=3)


@pytest.fixture(scope="module")
def personas() -> dict[str, Persona]:
    return {owner: Persona(owner, 4) for owner in OWNERS}


@pytest.fixture(scope="module")
def texts_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts read once for all tests here."""
    folder = tmp_path_factory.mktemp("fleet")
    Fleet(SMALL, folder).read_texts(Letters())
    return folder / "texts"


@pytest.fixture
def made(tmp_path: Path, texts_folder: Path, personas: dict[str, Persona]) -> Fleet:
    return of(tmp_path / "a", texts_folder, personas)


def of(
    folder: Path, texts: Path, personas: dict[str, Persona], settings: Settings = SMALL, ways: tuple[Way, ...] = WAYS
) -> Fleet:
    folder.mkdir()
    (folder / "texts").symlink_to(texts)
    found = Fleet(settings, folder, ways, SHIPPED)
    found.__dict__["personas"] = personas
    found.open(resumes=True)
    return found


def document_of(one: Fleet) -> str:
    return json.dumps(
        summary(one, [Lived(one, way) for way in one.ways if parts_of(one.settings, way)]), sort_keys=True
    )


# ── Habits ────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_of_the_split_test_or_dev_is_ever_asked_or_taught(personas: dict[str, Persona]) -> None:
    for persona in personas.values():
        asked = {sample.id for kind in persona.kinds for sample in kind.samples}
        assert {split_of(id) for id in asked} == {"stream"}
        assert {split_of(one.id) for one in persona.probes} == {"test"}
        said = {w.text for kind in persona.kinds for sample in kind.samples for w in persona.wordings(sample)}
        assert said.isdisjoint(probe.request.text for probe in persona.probes)


def test_a_life_is_the_same_each_time_and_another_for_another_seed(personas: dict[str, Persona]) -> None:
    def said(edge: int, habit: Habit) -> list[tuple[str, object]]:
        owner = owner_of(edge, habit)
        return [(one.wording.id, one.plan) for one in life_of(owner, personas[owner.persona], habit)]

    assert said(1, SMALL.habit) == said(1, SMALL.habit)
    assert said(1, SMALL.habit) != said(7, SMALL.habit)  # the same persona
    assert said(1, SMALL.habit) != said(1, Habit(seed=4, n_days=3, requests_a_day=5.0, n_variants=4))


def test_every_right_plan_is_well_formed_and_of_its_day(personas: dict[str, Persona]) -> None:
    habit = Habit(seed=1, n_days=30, requests_a_day=4.0)
    for edge in range(6):
        owner = owner_of(edge, habit)
        persona = personas[owner.persona]
        for asked in life_of(owner, persona, habit):
            assert asked.now.date() == FIRST_DAY + dt.timedelta(days=asked.day)
            if asked.plan is not None:
                check_plan(asked.plan, persona.world.specs)


def test_what_is_asked_once_is_asked_once(personas: dict[str, Persona]) -> None:
    habit = Habit(seed=1, n_days=30, requests_a_day=20.0)
    owner = owner_of(0, habit)
    once = {kind.name for kind in personas[owner.persona].kinds if kind.is_once}
    asked = [one.kind for one in life_of(owner, personas[owner.persona], habit) if one.kind in once]
    assert len(asked) == len(set(asked)) > 3


def test_owners_of_one_persona_mean_different_things_unless_told_otherwise(personas: dict[str, Persona]) -> None:
    def meant(edge: int, *, own: bool) -> list[tuple[str, tuple[Step, ...]]]:
        habit = Habit(seed=1, n_days=30, requests_a_day=8.0, own_meanings=own)
        owner = owner_of(edge, habit)
        found = {}
        for one in probes_of(owner, personas[owner.persona], habit, 0):
            if one.is_convention and one.plan is not None:
                found[one.wording.sample.id] = one.plan.steps
        return sorted(found.items())

    assert meant(2, own=True) != meant(8, own=True)
    assert meant(2, own=False) == meant(8, own=False)


def test_a_value_said_stands_in_the_words_of_every_wording(personas: dict[str, Persona]) -> None:
    persona = personas["tomas"]
    sample = next(s for kind in persona.kinds for s in kind.samples if s.request.text.startswith("log: rev C"))
    ways = persona.wordings(sample)
    assert len(ways) > 2
    for way in ways:
        assert way.plan is not None
        assert str(way.plan.steps[1].arguments["text"]) in way.text
    assert len({way.plan.steps[1].arguments["text"] for way in ways if way.plan}) > 1


def test_what_a_device_lacks_is_not_asked(personas: dict[str, Persona]) -> None:
    habit = Habit(seed=1, n_days=10, requests_a_day=8.0)
    owner = owner_of(0, habit)
    asked = list(life_of(owner, personas[owner.persona], habit, frozenset({"add_to_list", "find_events"})))
    used = {step.tool for one in asked if one.plan for step in one.plan.steps}
    assert used <= {"add_to_list", "find_events"}
    assert asked


# ── One edge ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_teacher_is_wrong_as_often_as_said(personas: dict[str, Persona]) -> None:
    habit = Habit(seed=1, n_days=30, requests_a_day=20.0)
    owner = owner_of(3, habit)
    asked = list(life_of(owner, personas[owner.persona], habit))
    rng = np.random.Generator(np.random.PCG64(0))
    assert all(judged(taught(one, rng, 0.0), one).exact for one in asked)
    wrong = [not judged(taught(one, rng, 0.2), one).exact for one in asked]
    assert 0.15 < np.mean(wrong) < 0.25


def test_merged_statistics_equal_those_of_learning_at_once(texts_folder: Path, personas: dict[str, Persona]) -> None:
    texts = of(texts_folder.parent / "m", texts_folder, personas).read_texts(Letters())
    device = DEVICES[0]
    lessons = [(k, ("find_mail", "read_mail") if k % 2 else ("turn_on",)) for k in range(40)]
    at_once = heads_of(lessons, texts, device)
    first, second = (heads_of(lessons[a:b], texts, device) for a, b in ((0, 13), (13, 40)))
    merged = blank_heads(texts, device)
    merged.merge(first)
    merged.merge(second)
    for mine, theirs in zip(merged.statistics(), at_once.statistics(), strict=True):
        assert np.array_equal(mine, theirs)


def a_guide(likely: Sequence[object], tools: dict[str, ToolSpec], text: str) -> Guide:
    return Guide({text: likely}, Arguments(SHIPPED), tools)


def test_a_prior_tells_which_tools_and_the_request_tells_their_arguments(
    texts_folder: Path, personas: dict[str, Persona]
) -> None:
    ground = of(texts_folder.parent / "p", texts_folder, personas).ground(Letters())
    texts: Texts = ground.texts
    asked = replace_text(next(ground.life(1)), 'mail mum "back by six" and send it')
    vectors = np.vstack([texts.vectors, np.zeros((1, texts.vectors.shape[1]), np.float32)])
    features = {name: np.vstack([rows, np.zeros((1, rows.shape[1]))]) for name, rows in texts.features.items()}
    texts = replace(texts, place={**texts.place, asked.wording.text: len(texts.place)}, vectors=vectors)
    texts = replace(texts, features=features)
    tools = ground.personas["mara"].world.specs
    chosen = ("find_contact", "draft_mail", "send_mail")
    guide = a_guide([[list(chosen), [[0, 1], [1, 2]], 0.4]], tools, asked.wording.text)
    begun = Pupil(texts, DEVICES[0], guide=guide).propose(asked)
    assert begun is not None
    contact, draft, send = begun.plan.steps
    assert (contact.tool, draft.tool, send.tool) == chosen
    assert contact.arguments["name"] == "mum"
    assert draft.arguments["to"] == [Ref(0, ("email",))]
    assert draft.arguments["text"] == "back by six"
    assert send.arguments == {"draft": Ref(1, ("id",))}
    assert begun.sureness < 0.01  # it never runs unasked
    assert Pupil(texts, DEVICES[0]).propose(asked) is None


def replace_text(asked: Asked, text: str) -> Asked:
    return replace(asked, wording=replace(asked.wording, text=text))


def test_a_prior_gives_way_to_what_is_remembered_and_surer(texts_folder: Path, personas: dict[str, Persona]) -> None:
    ground = of(texts_folder.parent / "q", texts_folder, personas).ground(Letters())
    asked = next(one for one in ground.life(1) if one.plan is not None)
    text, tools = asked.wording.text, ground.personas["mara"].world.specs

    def proposed(confidence: float, about: Asked, plan: Plan) -> str:
        pupil = Pupil(ground.texts, DEVICES[2], guide=a_guide([[["list_abilities"], [], confidence]], tools, text))
        pupil.learn(about, plan, "a")
        found = pupil.propose(asked)
        assert found is not None
        return found.id

    def sureness(about: Asked, plan: Plan) -> float:
        pupil = Pupil(ground.texts, DEVICES[2])
        pupil.learn(about, plan, "a")
        found = pupil.propose(asked)
        return found.sureness if found is not None else 0.0

    others = [one for edge in (1, 3) for one in ground.life(edge) if one.kind != asked.kind and one.plan is not None]
    far = min(others, key=lambda one: sureness(one, Plan(())))
    assert sureness(far, Plan(())) < 0.3
    assert proposed(1.0, asked, asked.plan or Plan(())) == "a"  # taught in these very words: surer
    assert proposed(0.6, far, far.plan or Plan(())) == ""
    assert proposed(0.8, far, Plan(())) == ""
    assert proposed(0.4, far, Plan(())) == "a"  # to do nothing is likelier than these tools


def test_a_prior_proposes_only_tools_that_the_device_has(personas: dict[str, Persona]) -> None:
    tools = {name: spec for name, spec in personas["mara"].world.specs.items() if spec.domain != "video"}
    kept = [[["find_video"], [], 0.9], [["list_abilities"], [], 0.2]]
    assert a_guide(kept, tools, "x").likely("x") == Likely(("list_abilities",), (), 0.2)
    assert a_guide(kept[:1], tools, "x").likely("x") is None


def test_what_a_founder_gives_holds_no_value_and_no_text_and_needs_many(personas: dict[str, Persona]) -> None:
    plan = Plan(
        (Step("find_contact", {"name": "Zebedee"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "Q"}))
    )
    shape = shape_of(plan)
    assert "Zebedee" not in shape
    assert [step.needs() for step in shaped("", shape).plan.steps] == [frozenset(), frozenset({0})]
    student = Ranker(Letters(), personas["mara"].world.specs, PROFILES["small"])
    some = [("mail Zebedee", shape)] * (LEAST - 1)
    assert Founders({1: some}, {1: "mara"}).statistics(student) == {}
    enough = [*some, some[0]]
    given = Founders({1: enough, 2: enough}, {1: "mara", 2: "sam"}).statistics(student)
    assert {persona: one.n_demonstrations for persona, one in given.items()} == {"mara": LEAST, "sam": LEAST}
    assert given["mara"].sequences == {("find_contact", "draft_mail"): LEAST}
    assert b"Zebedee" not in encode(given["mara"])


# ── The fleet ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_settings_give_the_same_document_whatever_was_interrupted(
    made: Fleet, tmp_path: Path, texts_folder: Path, personas: dict[str, Persona], monkeypatch: pytest.MonkeyPatch
) -> None:
    simulate(made, Letters())
    again = of(tmp_path / "b", texts_folder, personas)
    real = run_part
    done: list[str] = []

    def dies(part: Part, *more: object) -> Path:
        if part.way == "shared" and "shared-0000.npz" not in done:
            done.append(part.name)
            raise KeyboardInterrupt
        return real(part, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("hearth_bench.fleet.simulation.run_part", dies)
    with pytest.raises(KeyboardInterrupt):
        simulate(again, Letters())
    assert [path.name for path in again.parts_folder.iterdir()] == ["personal-0000.npz"]
    before = (again.parts_folder / "personal-0000.npz").read_bytes()
    simulate(again, Letters())
    assert (again.parts_folder / "personal-0000.npz").read_bytes() == before  # it was not run again
    assert document_of(again) == document_of(made)


def test_strata_share_all_requests_and_every_number_adds_up(made: Fleet, personas: dict[str, Persona]) -> None:
    simulate(made, Letters())
    personal = Lived(made, "personal")
    asked = [
        sum(
            1 for _ in life_of(owner_of(k, SMALL.habit), personas[owner_of(k, SMALL.habit).persona], SMALL.habit, tools)
        )
        for k in range(4)
        for tools in [made.ground(Letters()).tools(k)]
    ]
    assert personal.n_requests == sum(asked)
    sums = personal.sums
    for name in ("own_exact", "exact", "asked", "corrected", "compared"):
        assert (sums[..., MEASURES.index(name)] <= sums[..., 0]).all()
    assert (sums[..., MEASURES.index("compared")] <= sums[..., MEASURES.index("asked")]).all()
    asked_cells = sums[..., MEASURES.index("asked")] > 0
    assert (sums[..., MEASURES.index("up_bytes")][asked_cells] > 100).all()
    assert (sums[..., MEASURES.index("up_bytes")][~asked_cells] == 0).all()


def test_an_untaught_edge_asks_and_what_it_asked_is_right(made: Fleet) -> None:
    simulate(made, Letters())
    first_day = Lived(made, "personal").sums[:, 0].sum(axis=(0, 2))
    asked, exact = (first_day[..., MEASURES.index(name)].sum() for name in ("asked", "exact"))
    assert asked > 0.5 * first_day[..., 0].sum()
    assert exact > 0.9 * first_day[..., 0].sum()


def test_newcomers_begin_with_what_founders_learnt(
    tmp_path: Path, texts_folder: Path, personas: dict[str, Persona], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hearth_bench.fleet.fleet_prior.LEAST", 3)
    made = of(tmp_path / "n", texts_folder, personas, NEWCOMERS)
    simulate(made, Letters())
    merged = Lived(made, "merged")
    assert [is_newcomer(int(edge)) for edge in merged.edges] == [True] * len(merged.edges) == [True] * 6
    blank = Lived(made, "personal")
    lived = blank.probed[np.isin(blank.edges, merged.edges)][:, 0]
    at_0 = merged.probed[:, CHECKPOINTS.index(0)]
    place = {name: k for k, name in enumerate(PROBED)}
    assert (
        np.nansum(at_0[:, place["node_f1"]]) > np.nansum(lived[:, place["node_f1"]]) == 0
    )  # at once, before any request
    sorts = [place[f"n_{sort}"] for sort in ("convention", "unplanned", "common")]
    assert np.array_equal(at_0[0, sorts].sum(), at_0[0, place["n"]])
    assert (merged.fetched_bytes > 100_000).all()
    assert (Lived(made, "shipped").fetched_bytes == 0).all()
    document = summary(made, [Lived(made, way) for way in WAYS])
    text = "\n".join(lines(document))
    assert all(way in text for way in WAYS)
    assert csv_of(document).count("\n") == 1 + len(WAYS) * 2 * 2
    picture = fleet_png({**document, "commit": "x"})
    assert picture.startswith(b"\x89PNG")
    assert "data:image/png" in fleet_html(document, picture, ["<b>"])
    assert "&lt;b&gt;" in fleet_html(document, picture, ["<b>"])


@pytest.mark.slow
def test_two_processes_give_the_result_of_one(tmp_path: Path, texts_folder: Path, personas: dict[str, Persona]) -> None:
    settings = Settings(26, Habit(seed=3, n_days=1, requests_a_day=1.0, n_variants=4), n_probed=1)
    assert len(parts_of(settings, "personal")) == 2
    one, two = (
        of(tmp_path / name, texts_folder, personas, settings, ("personal", "shared", "merged"))
        for name in ("one", "two")
    )
    simulate(one, Letters())
    simulate(two, Letters(), n_processes=2)
    assert document_of(one) == document_of(two)


def test_a_folder_of_other_settings_is_refused(made: Fleet) -> None:
    other = Fleet(Settings(5, SMALL.habit), made.folder)
    with pytest.raises(RequestError, match="n_edges 4 instead of 5"):
        other.open(resumes=True)


def test_a_folder_with_parts_wants_resume(made: Fleet) -> None:
    (made.parts_folder / "personal-0000.npz").write_bytes(b"")
    with pytest.raises(RequestError, match="add --resume"):
        made.open(resumes=False)
    made.open(resumes=True)


def test_ray_that_is_not_installed_is_said(made: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"hearth-bench\[ray\]"):
        simulate(made, Letters(), engine="ray")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--ways", "personal,theirs"], "unknown way 'theirs'"),
        (["--ways", ""], "unknown way"),
        (["--ways", "merged"], "add personal"),
        (["--edges", "0"], "0 is not in the range"),
        (["--days", "90"], "90 is not in the range"),
        (["--teacher-errors", "2"], "2.0 is not in the range"),
    ],
)
def test_bad_options_are_refused(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(command, ["simulate", *arguments])
    assert result.exit_code == 2
    assert says in result.output


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, hearth_bench.cli.fleet_commands; print([m for m in ('numpy', 'matplotlib', 'hearth_bench.fleet') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_wrong_plan_is_judged_wrong(personas: dict[str, Persona]) -> None:
    owner = owner_of(1, SMALL.habit)
    for asked in life_of(owner, personas[owner.persona], SMALL.habit):
        assert not judged(None, asked).exact
        assert not judged(Plan((Step("list_abilities"),)), asked).exact
        assert judged(asked.plan or Plan(()), asked).exact


def test_settings_name_what_they_are() -> None:
    assert SMALL.to_json()["cloud"] == {**SMALL.to_json()["cloud"], "sure": Cloud().sure}  # type: ignore[dict-item]
