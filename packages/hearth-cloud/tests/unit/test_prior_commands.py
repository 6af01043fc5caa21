"""Beginning with what others learnt: a version like any other, behind the gate; given away masked, in rounds."""

from __future__ import annotations

import datetime as dt
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hearth.edge import federation
from hearth.edge.cloud_link import Link
from hearth.edge.outbox import Sharer
from hearth.errors import StatisticsError, StoreError
from hearth.formats import edge_protocol
from hearth.guard.deidentify.masker import Masker
from hearth.guard.egress.masking_door import MaskingDoor
from hearth.learning import demonstration_store as rows
from hearth.learning.demonstration_store import Entry
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions import drafting, promotion_gate
from hearth.learning.versions.drafting import begun, solved, take_prior
from hearth.learning.versions.learned_state import Offer, State
from hearth.learning.versions.promotion_gate import TaskChange, Verdict
from hearth.planning.ranking import sufficient_statistics
from hearth.planning.ranking.ranker import PROFILES, Ranker
from hearth.planning.ranking.sufficient_statistics import Statistics, decode, encode, merged
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import Demonstration, Label, Plan, Step
from hearth_cloud.cloud_settings import StatisticsSettings
from hearth_cloud.statistics.statistics_desk import Desk, Features
from hearth_cloud.storage.cloud_storage import Storage
from tests.merging_world import ENCODER, OPTIONS, PUBLIC, READING, edge, edges, ranker
from tests.small_world import PLANS, TOOLS, lessons
from tests.small_world import few_features as few_features

PRIOR = merged(edges(3).values())
ALARM = "tell me the weather forecast, then wake me with an alarm please"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "options_of", lambda _: OPTIONS)


def opened(folder: Path) -> State:
    return State.open(folder, ENCODER, Offer(TOOLS))


def first(state: State, text: str) -> tuple[str, ...]:
    found = solved(state).rank(text).candidates
    return found[0].tools if found else ()


def prior_in(state: State) -> str:
    found = solved(state).prior
    return found.digest if found is not None else ""


def weights(state: State) -> np.ndarray:
    return solved(state).heads.weights


# ── A version ─────────────────────────────────────────────────────────────────────────────────────────────


def test_a_home_that_learnt_nothing_begins_with_the_prior_and_keeps_it(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        assert solved(state).heads.outputs == ()
        report = take_prior(state, PRIOR)
        assert report.version == 1
        assert first(state, ALARM) == ("check_weather", "set_alarm")
    with opened(tmp_path) as state:
        assert first(state, ALARM) == ("check_weather", "set_alarm")
        assert prior_in(state)
        assert take_prior(state, PRIOR).notes == ("it is the prior that is used already",)


def test_learning_and_forgetting_go_on_beside_it_exactly(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as state:
        take_prior(state, PRIOR)
        state.learn(lessons(30, 5_000))
        state.learn(lessons(10, 6_000))
        forget(state, find(state.store, Sought(demonstrations=[f"d{k}" for k in range(6_000, 6_010)])))
        forgotten = weights(state)
        assert state.lineage.versions()[-1].record["prior"] == f"prior-{PRIOR.digest[:16]}"
    with opened(tmp_path / "b") as state:
        take_prior(state, PRIOR)
        state.learn(lessons(30, 5_000))
        straight = weights(state)
        assert state.lineage.versions()[-1].record["prior"] == f"prior-{PRIOR.digest[:16]}"
    assert np.array_equal(forgotten, straight)


def test_removing_it_leaves_what_was_taught_here_to_the_last_bit(tmp_path: Path) -> None:
    with opened(tmp_path) as state:
        state.learn(lessons(30, 5_000))
        before = weights(state)
        assert take_prior(state, PRIOR).version == 2
        assert not np.array_equal(weights(state), before)
        assert take_prior(state, None, must_pass=False).version == 3
        assert np.array_equal(weights(state), before)
        assert take_prior(state, None).notes == ("there is none",)


def test_what_is_shipped_and_taught_here_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hearth.learning.versions.drafting.public_tools", lambda: PUBLIC)
    words = ("umbrella", "thunder", "velvet", "copper", "harbour", "lantern")
    shipped = [
        replace(one, source="shipped", request=f"{words[k % 6]} {one.request} {words[k // 6]}")
        for k, one in enumerate(lessons(30, 70_000))
    ]
    own = lessons(12, 5_000)
    whole = PRIOR.plus(ranker(shipped).statistics(PUBLIC))  # as a service publishes it
    with opened(tmp_path / "a") as state:
        state.learn([*shipped, *own])
        take_prior(state, whole, must_pass=False)
        assert prior_in(state) == replace(PRIOR, n_edges=whole.n_edges).digest
        assert take_prior(state, whole).notes == ("it is the prior that is used already",)
    with opened(tmp_path / "b") as state:  # one that does not hold them is taken as it is
        state.learn([*shipped, *own])
        take_prior(state, PRIOR, must_pass=False)
        assert prior_in(state) == PRIOR.digest
    with opened(tmp_path / "c") as state:  # and so is a whole one where nothing shipped was taught
        state.learn(own)
        take_prior(state, whole, must_pass=False)
        assert prior_in(state) == whole.digest


def test_going_back_takes_the_prior_of_that_version(tmp_path: Path) -> None:
    other = edge(8).statistics(PUBLIC)
    with opened(tmp_path) as state:
        state.learn(lessons(30, 5_000))
        without = weights(state)
        take_prior(state, PRIOR)
        with_it = weights(state)
        take_prior(state, other)
        state.rollback(2)
        assert np.array_equal(weights(state), with_it)
        state.rollback(1)
        assert not prior_in(state)
        assert np.array_equal(weights(state), without)
    with opened(tmp_path) as state:
        assert len(list((tmp_path / "learned").glob("prior-*"))) == 2
        assert np.array_equal(weights(state), without)


def test_the_gate_turns_a_prior_away_that_makes_a_task_worse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worse = Verdict(False, "it would make 1 task worse", 1.0, 0.5, 40, (TaskChange("trains", 1.0, 0.5, 40, True),))
    with opened(tmp_path) as state:
        state.learn(lessons(40, 5_000))
        before = weights(state)
        monkeypatch.setattr(promotion_gate, "judge", lambda *_, **__: worse)
        report = take_prior(state, PRIOR)
        assert (report.version, report.verdict) == (None, worse)
        assert np.array_equal(weights(state), before)
        assert not list((tmp_path / "learned").glob("*prior*"))
        assert take_prior(state, PRIOR, must_pass=False).version == 2


@pytest.mark.parametrize(
    ("before", "after", "is_worse", "passes"),
    [(0.9, 0.9, False, True), (0.9, 0.895, False, True), (0.9, 0.88, False, False), (0.9, 0.9, True, False)],
)
def test_a_prior_need_not_better_what_was_taught_here_only_not_worsen_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: float, after: float, is_worse: bool, passes: bool
) -> None:
    said = Verdict(False, "nothing", before, after, 40, (TaskChange("trains", before, after, 40, is_worse),))
    with opened(tmp_path) as state:
        state.learn(lessons(20, 5_000))
        monkeypatch.setattr(promotion_gate, "judge", lambda *_, **__: said)
        assert (take_prior(state, PRIOR).version is not None) == passes


def test_a_prior_of_other_features_is_left_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as state, pytest.raises(StatisticsError, match="same encoder and profile"):
        take_prior(state, replace(PRIOR, encoder="another"))
    with opened(tmp_path) as state:
        assert state.lineage.current() is None


@pytest.mark.parametrize("how", ["gone", "damaged"])
def test_without_its_file_the_home_knows_what_was_taught_here(tmp_path: Path, how: str) -> None:
    with opened(tmp_path) as state:
        state.learn(lessons(30, 5_000))
        before = weights(state)
        take_prior(state, PRIOR)
    (path,) = (tmp_path / "learned").glob("prior-*")
    path.unlink() if how == "gone" else path.write_bytes(b"?")
    with opened(tmp_path) as state:
        assert np.array_equal(weights(state), before)


def test_a_prior_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    name = sufficient_statistics.keep_prior(tmp_path / "p", PRIOR)
    assert sufficient_statistics.read_prior(tmp_path / "p" / name).digest == PRIOR.digest
    assert sufficient_statistics.keep_prior(tmp_path / "p", PRIOR) == name
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        sufficient_statistics.keep_prior(tmp_path / "file", PRIOR)
    with pytest.raises(StoreError, match="cannot read"):
        sufficient_statistics.read_prior(tmp_path / "nothing")


# ── Weights for beginners ─────────────────────────────────────────────────────────────────────────────────


def test_weights_fitted_on_public_demonstrations_come_with_the_prior() -> None:
    shown = [replace(d, plan=Plan((Step("order_pizza"),))) if k % 7 == 0 else d for k, d in enumerate(lessons(420))]
    public = ranker(shown)
    given = begun(PRIOR.plus(public.statistics(PUBLIC)), public, PUBLIC, is_in_prior=True)
    assert [len(part) for part in given.joining] == [3, 3]
    assert decode(encode(given)).joining == given.joining
    assert given.seen_by(READING).joining == given.joining
    assert given.plus(PRIOR).joining == ()
    new = ranker()
    new.take_prior(given)
    assert new.rank(ALARM).candidates[0].tools == ("check_weather", "set_alarm")
    assert new.rank(ALARM).confidence > 0.5
    new.learn(lessons(50, 5_000))
    assert new._joining is None  # enough of one's own: they are fitted on those


def test_too_few_public_demonstrations_fit_nothing() -> None:
    public = ranker(lessons(10, 70_000))
    assert begun(PRIOR, public, PUBLIC, is_in_prior=False).joining == ()


def test_profiles_see_the_same_requests_alike() -> None:
    small, medium, large = (PROFILES[name].reading for name in ("small", "medium", "large"))
    assert (small.n_words, medium.n_words, large.n_words) == (256, 1024, 2048)
    one = Ranker(ENCODER, TOOLS, PROFILES["medium"])
    one.learn(lessons(8))
    other = Ranker(ENCODER, TOOLS, PROFILES["small"])
    other.learn(lessons(8))
    seen = one.statistics(PUBLIC).seen_by(small)
    assert np.array_equal(seen.sums.gram, other.statistics(PUBLIC).sums.gram)
    assert other.heads.n_bits < one.heads.n_bits < Ranker(ENCODER, TOOLS).heads.n_bits


# ── Giving ────────────────────────────────────────────────────────────────────────────────────────────────

LAYOUT_FEATURES = Features("HashEncoder", ENCODER.dim, {"small": READING}, tuple(PLANS))


class DeskLink:
    """Leads one edge to a desk; keeps what was sent."""

    def __init__(self, desk: Desk, edge: str) -> None:
        self.desk, self.edge = desk, edge
        self.sent: list[bytes] = []

    def ask(self, method: str, path: str, model: Any, *, reason: str, id: str = "", body: bytes = b"") -> Any:
        self.sent.append(body)
        parts = path.removeprefix("/v1/statistics").removeprefix("/rounds").strip("/").split("/")
        if method == "DELETE":
            was = self.desk.withdraw(self.edge)
            return edge_protocol.Receipt(id="s", accepted=("s",) if was else ())
        if path == "/v1/statistics":
            return self.desk.terms
        if method == "GET":
            return self.desk.told(self.edge)
        if parts == [""]:
            return self.desk.join(self.edge, edge_protocol.read(edge_protocol.RoundAsked, body))
        round, turn = parts
        if turn == "shares":
            return self.desk.take_shares(self.edge, round, edge_protocol.read(edge_protocol.SharesSent, body))
        if turn == "row":
            return self.desk.take_row(self.edge, round, body)
        return self.desk.take_opening(self.edge, round, edge_protocol.read(edge_protocol.OpeningSent, body))

    def give(self, path: str, id: str, body: bytes) -> edge_protocol.Receipt:
        self.sent.append(body)
        return self.desk.take(self.edge, id, body)


@pytest.fixture
def make_desk(tmp_path: Path) -> Any:
    storage = Storage.open(f"sqlite:///{tmp_path / 'cloud.db'}")
    for k in range(4):
        storage.add_token(f"e{k}", f"e{k}", f"{k}" * 64, None)

    def make(**changed: Any) -> Desk:
        said = {
            "mode": "secret",
            "owners": "one",
            "k": 3,
            "least": 10,
            "most": 60,
            "gather_s": 1.0,
            "turn_s": 20.0,
            **changed,
        }
        settings = StatisticsSettings.model_validate(said)
        return Desk(storage, settings, Ed25519PrivateKey.generate(), LAYOUT_FEATURES)

    yield make
    storage.close()


def home(folder: Path, demonstrations: Sequence[Demonstration]) -> Store:
    folder.mkdir(parents=True)
    store = Store.open(folder / "hearth.db")
    label = Label(frozenset({"owner"}))
    with store.transaction() as cursor:
        rows.keep(cursor, [Entry(d, label) for d in demonstrations], None)
    return store


def given_by(store: Store, link: DeskLink, wait: Callable[[float], None] = lambda _: None) -> federation.Given:
    sharer = Sharer(store, "cloud.example", MaskingDoor(Masker()), TOOLS)
    blank = Ranker(ENCODER, TOOLS, OPTIONS)
    clock: Callable[[], dt.datetime] = lambda: FIXED_NOW  # noqa: E731
    return federation.give(cast(Link, link), store, blank, sharer, "small", federation.Pace(clock, wait))


@pytest.fixture(autouse=True)
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(federation, "public_tools", lambda: PUBLIC)


def own(n: int = 40, start: int = 0) -> list[Demonstration]:
    return [replace(d, source="owner") for d in lessons(n, start)]


def test_plainly_given_sums_hold_no_private_tool_and_no_shipped_demonstration(
    tmp_path: Path, make_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(federation, "public_tools", lambda: PUBLIC - {"cancel_train"})
    desk = make_desk(mode="plain")
    link = DeskLink(desk, "e0")
    extra = [replace(d, source="shipped") for d in lessons(5, 9_000)]
    with home(tmp_path / "h", [*own(60), *extra]) as store:
        found = given_by(store, link)
        assert (found.n_demonstrations, found.n_edges, found.reason) == (45, 1, "")
        (sums,) = desk.contributions().values()
        assert "cancel_train" not in sums.tools
        assert given_by(store, link).reason == ""
        assert len(desk.contributions()) == 1
    assert not any(b"cancel" in body for body in link.sent)
    assert federation.withdraw(cast(Link, link))
    assert not federation.withdraw(cast(Link, link))


def test_requests_are_masked_before_they_are_summed(tmp_path: Path, make_desk: Any) -> None:
    def about(address: str) -> Statistics:
        desk = make_desk(mode="plain")
        mine = [replace(d, request=f"{d.request} and write to {address}") for d in own(60)]
        with home(tmp_path / address, mine) as store:
            given_by(store, DeskLink(desk, "e0"))
        found: list[Statistics] = list(desk.contributions().values())
        return found[0]

    one, other = about("anna.lind@example.org"), about("bert.olsen@example.org")
    assert np.array_equal(one.sums.gram, other.sums.gram)


def test_values_said_are_stand_ins_before_they_are_summed() -> None:
    def summed_with(said: str) -> Statistics:
        return ranker([replace(d, request=f"{d.request} {said}") for d in own(30)]).statistics(PUBLIC)

    one, other = summed_with("and write to anna@a.example"), summed_with("and write to bert@b.org")
    assert np.array_equal(one.sums.gram, other.sums.gram)
    assert not np.array_equal(one.sums.gram, summed_with("and write to anna").sums.gram)


def test_with_too_few_nothing_leaves(tmp_path: Path, make_desk: Any) -> None:
    link = DeskLink(make_desk(mode="plain"), "e0")
    with home(tmp_path / "h", own(29)) as store:
        found = given_by(store, link)
    assert "30 are needed" in found.reason
    assert link.sent == [b""]


def test_a_service_that_asks_for_too_few_edges_or_names_private_tools_gets_nothing(
    tmp_path: Path, make_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with home(tmp_path / "h", own(40)) as store:
        link = DeskLink(make_desk(mode="secret", k=2), "e0")
        assert "asks for 3" in given_by(store, link).reason
        monkeypatch.setattr(federation, "public_tools", lambda: PUBLIC - {"set_alarm"})
        assert "not public" in given_by(store, DeskLink(make_desk(mode="secret"), "e0")).reason
        assert link.sent == [b""]


def test_in_secret_rounds_each_demonstration_is_given_once(tmp_path: Path, make_desk: Any) -> None:
    desk = make_desk(mode="secret")
    stores = [home(tmp_path / f"h{k}", own(40, 1_000 * k)) for k in range(4)]
    links = [DeskLink(desk, f"e{k}") for k in range(4)]
    found: dict[int, federation.Given] = {}

    def run(k: int) -> None:
        found[k] = given_by(stores[k], links[k], lambda s: time.sleep(min(s, 0.05)))

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [found[k] for k in range(4)] == [federation.Given(40, 4)] * 4
    (sums,) = desk.contributions().values()
    assert (sums.n_demonstrations, sums.n_edges) == (160, 4)
    assert not any(b"find a train" in body or b"d10000" in body for link in links for body in link.sent)
    assert "are needed" in given_by(stores[0], links[0]).reason
    for store in stores:
        store.close()


def test_a_round_that_never_fills_is_left_after_a_while(tmp_path: Path, make_desk: Any) -> None:
    with home(tmp_path / "h", own(40)) as store:
        found = given_by(store, DeskLink(make_desk(mode="secret"), "e0"))
        assert "nothing was seen" in found.reason
        assert store.query("SELECT 1 FROM statistics_given") == []


# ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_takes_a_file_and_removes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hearth.cli.learning import learn_commands as commands
    from hearth.cli.root import hearth

    class Opened:
        def __init__(self, folder: Path) -> None:
            self.state = opened(folder)

        def __enter__(self) -> tuple[State, None]:
            return self.state, None

        def __exit__(self, *_: object) -> None:
            self.state.close()

    monkeypatch.setattr(commands, "opened_state", Opened)
    path = tmp_path / "given.prior"
    path.write_bytes(encode(PRIOR))
    where = ["--state", str(tmp_path / "s")]
    (tmp_path / "s").mkdir()

    def run(*arguments: str, where: list[str] = where) -> Any:
        return CliRunner().invoke(hearth, ["learn", "prior", *arguments, *where], standalone_mode=False)

    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "hearth.toml").write_text("")
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))  # as the how-to says it: on the home, without --state
    assert json.loads(run(str(path), "--json", where=[]).output)["version"] == 1
    assert "only what was taught here" in run("--remove", where=[]).output
    assert "no prior was fetched" in str(run(where=[]).exception)

    taken = run(str(path), "--json")
    assert json.loads(taken.output)["n_edges"] == 3
    assert "used already" in run(str(path)).output
    assert "only what was taught here" in run("--remove").output
    assert isinstance(run(str(path), "--remove").exception, Exception)
    assert "no prior was fetched" in str(run().exception)
    path.write_bytes(b"?")
    assert isinstance(run(str(path)).exception, StatisticsError)
