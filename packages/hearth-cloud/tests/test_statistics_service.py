"""Statistics and priors over real HTTP: taken, turned away with reasons, merged, signed; and in secret rounds."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest
from cloud_fixtures import Clock, Serve, Served, wait_until
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import FastAPI

from hearth.edge.federation import Keys, Participant
from hearth.formats import edge_protocol
from hearth.planning.ranking.sufficient_statistics import Layout, Statistics, decode, encode, merged
from hearth.types import Plan, Step
from hearth_cloud.cloud_settings import CloudSettings, Limits, StatisticsSettings
from hearth_cloud.service import service, statistics_routes
from hearth_cloud.statistics import private_sums
from hearth_cloud.statistics.robust_merge import Seen, Terms, judged_alone
from hearth_cloud.statistics.shipped_statistics import Public
from hearth_cloud.statistics.statistics_desk import Desk, Features, PriorMaking
from hearth_cloud.storage.cloud_storage import Storage
from tests.merging_world import ENCODER, OPTIONS, PUBLIC, READING, edge, edges, poisoned, ranker
from tests.small_world import PLANS, TOOLS, lessons

GIVEN = edges(4)
LAYOUT = Layout("HashEncoder", 48, READING, tuple(sorted(PLANS)))
FEATURES = Features("HashEncoder", ENCODER.dim, {"small": READING}, LAYOUT.sequences)


def start(serve: Serve, clock: Clock, *, limits: Limits | None = None, **changed: Any) -> Served:
    said = {"mode": "plain", "owners": "one", "k": 3, "least": 10, "most": 60, "every_s": 1.0, **changed}
    settings = CloudSettings(statistics=StatisticsSettings.model_validate(said), limits=limits or Limits())
    served = serve(settings, clock=clock)
    app = served.server.config.app
    assert isinstance(app, FastAPI)
    cloud = served.cloud
    app.state.statistics = Desk(served.storage, settings.statistics, cloud.key, FEATURES)
    return served


def give(served: Served, edge: str, statistics: Statistics | bytes, token: str = "") -> httpx.Response:
    body = statistics if isinstance(statistics, bytes) else encode(statistics)
    with served.client(token or served.token(edge), **{edge_protocol.IDEMPOTENCY_HEADER: "s1"}) as client:
        return client.post("/v1/statistics", content=body)


def manifest(served: Served, token: str) -> edge_protocol.Manifest | None:
    with served.client(token) as client:
        answer = client.get("/v1/prior?profile=small")
    return edge_protocol.read(edge_protocol.Manifest, answer.content) if answer.status_code == 200 else None


def awaited(served: Served, token: str, n_edges: int) -> edge_protocol.Manifest:
    """The prior of so many edges, made after they were answered."""
    found: list[edge_protocol.Manifest | None] = [None]

    def is_there() -> bool:
        found[0] = manifest(served, token)
        return found[0] is not None and found[0].n_edges == n_edges

    wait_until(is_there)
    assert found[0] is not None
    return found[0]


def settled(served: Served) -> None:
    """Until no prior is being made."""
    app = served.server.config.app
    assert isinstance(app, FastAPI)
    app.state.statistics.publish(is_due=False)


def prior_of(served: Served, token: str) -> Statistics:
    told = manifest(served, token)
    assert told is not None
    told.check(served.cloud.public_key)
    with served.client(token) as client:
        body = client.get(f"/v1/blobs/{told.sha256}").content
    assert (len(body), told.fingerprint) == (told.n_bytes, LAYOUT.fingerprint)
    return decode(body)


def test_enough_edges_make_a_signed_prior_that_is_their_exact_sum(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock)
    token = served.token("reader")
    for place, (name, one) in enumerate(GIVEN.items()):
        answer = give(served, name, one)
        assert answer.json()["accepted"] == ["s1"], answer.text
        if place >= 2:
            awaited(served, token, place + 1)
        clock.wait(2)
    told = awaited(served, token, 4)
    assert (told.serial, told.n_edges, told.n_demonstrations, told.epsilon) == (2, 4, 160, None)
    total = merged(GIVEN.values())
    prior = prior_of(served, token)
    assert np.array_equal(prior.sums.gram, total.sums.gram)
    assert prior.sequences == total.sequences


def test_the_same_again_changes_nothing_and_newer_ones_take_the_place(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock)
    token = served.token("e")
    assert give(served, "e", GIVEN["edge-0"], token).json()["accepted"] == ["s1"]
    assert give(served, "e", GIVEN["edge-0"], token).json()["known"] == ["s1"]
    assert give(served, "e", GIVEN["edge-1"], token).json()["accepted"] == ["s1"]
    desk = Desk(served.storage, served.settings.statistics, served.cloud.key, FEATURES)
    (found,) = desk.contributions().values()
    assert found.digest == GIVEN["edge-1"].digest
    with served.client(token) as client:
        assert client.delete("/v1/statistics").json()["accepted"] == ["statistics"]
        assert client.delete("/v1/statistics").json()["accepted"] == []
    assert desk.contributions() == {}


def test_a_poisoner_is_not_in_the_prior(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock)
    for name, one in {**GIVEN, "edge-1": poisoned(1, "swapped")}.items():
        clock.wait(2)
        assert give(served, name, one).status_code == 200
    settled(served)
    prior = prior_of(served, served.token("reader"))
    honest = merged(one for name, one in GIVEN.items() if name != "edge-1")
    assert np.array_equal(prior.sums.gram, honest.sums.gram)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"", 409, "no statistics"),
        (b"{}", 409, "no statistics"),
        (encode(edge(1, 5).statistics(PUBLIC)), 200, "fewer than 10"),
        (encode(edge(1, 70).statistics(PUBLIC)), 200, "at most 60"),
        (encode(merged(GIVEN.values())), 200, "of 4 edges"),
        (encode(poisoned(1, "one tool")), 200, "'order_pizza' among them"),
        (encode(replace(GIVEN["edge-0"], encoder="another")), 409, "expected is one of"),
        (bytes(3_000_000), 413, "2,000,000|2000000"),
    ],
)
def test_what_cannot_be_taken_is_turned_away_with_the_reason(
    serve: Serve, clock: Clock, body: bytes, status: int, reason: str
) -> None:
    served = start(serve, clock, limits=Limits(statistics_bytes=2_000_000))
    answer = give(served, "e", body)
    assert answer.status_code == status
    assert any(one in answer.text for one in reason.split("|")), answer.text
    assert Desk(served.storage, served.settings.statistics, served.cloud.key, FEATURES).contributions() == {}


def test_a_prior_that_a_killed_process_owed_is_made_by_the_next(small_storage: Storage, clock: Clock) -> None:
    settings = StatisticsSettings(mode="plain", owners="one", k=3, least=10, most=60)
    key = Ed25519PrivateKey.generate()
    killed = Desk(small_storage, settings, key, FEATURES)
    for name, one in GIVEN.items():
        small_storage.add_token(name, name, name * 10, None)
        assert killed.take(name, "s", encode(one)).accepted  # and no more: it was killed before it published
    made = Desk(small_storage, settings, key, FEATURES).publish(is_due=True)[1]
    assert [one.n_edges for one in made] == [4]
    again = Desk(small_storage, settings, key, FEATURES).publish(is_due=True)
    assert again[1] == ()  # a start makes no second one of the same contributions
    killed.withdraw("edge-0")
    assert Desk(small_storage, settings, key, FEATURES).publish(is_due=True)[1] == ()  # too early, whoever asks
    clock.wait(3_601)
    assert [one.n_edges for one in Desk(small_storage, settings, key, FEATURES).publish(is_due=True)[1]] == [3]


def test_a_service_looks_by_itself_whether_a_prior_is_due(
    serve: Serve, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_WRITE_S", 0.01)
    monkeypatch.setattr(statistics_routes, "_then_publish", lambda _, answer: answer)  # killed there
    served = start(serve, clock)
    token = served.token("reader")
    for name, one in GIVEN.items():
        give(served, name, one)
    clock.wait(20)
    assert awaited(served, token, 4).serial >= 1


def test_no_token_and_two_agents_give_nothing(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock)
    with served.client("wrong") as client:
        assert client.post("/v1/statistics", content=b"x").status_code == 401
        assert client.get("/v1/prior").status_code == 401
    token = served.token("e")
    for instance in ("one", "two", "one"):
        with served.client(token, instance) as client:
            answer = client.post("/v1/statistics", content=encode(GIVEN["edge-0"]))
    assert answer.status_code == 409
    assert "two agents" in answer.text


def test_priors_of_many_owners_have_noise_and_say_what_it_costs(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock, owners="many", founders=4, epsilon=8.0)
    token = served.token("reader")
    for name, one in GIVEN.items():
        clock.wait(2)
        give(served, name, one)
    settled(served)
    told = awaited(served, token, 4)
    assert (told.serial, told.delta) == (1, 1e-6)  # none was made of three
    assert told.epsilon == pytest.approx(private_sums.epsilon_of(private_sums.rho_of(8.0, 1e-6) / 2, 1e-6), abs=1e-6)
    prior = prior_of(served, token)
    assert prior.is_noisy
    assert not np.array_equal(prior.sums.gram, merged(GIVEN.values()).sums.gram)
    with served.client(token) as client:
        terms = client.get("/v1/statistics").json()
    assert (terms["owners"], terms["founders"], terms["epsilon"], terms["delta"]) == ("many", 4, 8.0, 1e-6)


def test_there_is_no_prior_of_a_profile_that_is_none_or_was_not_made(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock)
    with served.client(served.token()) as client:
        assert client.get("/v1/prior?profile=huge").status_code == 422
        assert client.get("/v1/prior").status_code == 404


def test_a_service_that_takes_none_says_so(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock, mode="off")
    with served.client(served.token()) as client:
        hello = client.get("/v1/hello").json()
        assert "statistics" not in hello["features"]
        assert client.get("/v1/statistics").status_code == 409
    assert give(served, "e", GIVEN["edge-0"]).status_code == 409


# ── Rounds ────────────────────────────────────────────────────────────────────────────────────────────────


class Edge:
    """One edge's side of the rounds, turn by turn."""

    def __init__(self, served: Served, name: str, statistics: Statistics, least: int = 3) -> None:
        self.served, self.token = served, served.token(name)
        self.name, self.row = name, LAYOUT.row(statistics)
        self.participant = Participant(least=least)

    def ask(self, method: str, path: str = "", **more: Any) -> edge_protocol.RoundTold:
        with self.served.client(self.token) as client:
            answer = client.request(method, f"/v1/statistics/rounds{path}", **more)
        assert answer.status_code == 200, answer.text
        return edge_protocol.read(edge_protocol.RoundTold, answer.content)

    def join(self) -> edge_protocol.RoundTold:
        keys = self.participant.keys
        shown = {"sealing": text(keys.sealing), "masking": text(keys.masking)}
        return self.ask("POST", json={"id": "j", "profile": "small", **shown})

    def share(self) -> None:
        told = self.ask("GET")
        assert told.state == "shares"
        self.participant.round_id = told.round
        everyone = {name: Keys(*map(raw, keys)) for name, keys in told.everyone.items()}
        boxes = self.participant.share(everyone, told.threshold)
        self.ask("POST", f"/{told.round}/shares", json={"id": "s", "boxes": texts(boxes)})

    def send(self) -> None:
        told = self.ask("GET")
        assert told.state == "rows"
        hidden = self.participant.hide(self.row, {name: raw(box) for name, box in told.boxes.items()})
        self.ask("POST", f"/{told.round}/row", content=hidden.astype("<u8").tobytes())

    def open(self) -> None:
        told = self.ask("GET")
        assert told.state == "opening"
        seeds, keys = self.participant.open(told.arrived)
        self.ask("POST", f"/{told.round}/opening", json={"id": "o", "seeds": texts(seeds), "keys": texts(keys)})


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def raw(data: str) -> bytes:
    return base64.b64decode(data)


def texts(many: Mapping[str, bytes]) -> dict[str, str]:
    return {name: text(data) for name, data in many.items()}


def joined(served: Served, clock: Clock) -> list[Edge]:
    found = [Edge(served, name, one) for name, one in GIVEN.items()]
    for one in found:
        assert one.join().state == "gathering"
    clock.wait(100)
    return found


def test_in_secret_the_service_sees_the_sum_alone(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock, mode="secret", gather_s=60.0, turn_s=30.0)
    found = joined(served, clock)
    for one in found:
        one.share()
    for one in found[:3]:
        one.send()
    clock.wait(31)
    for one in found[:3]:
        one.open()
    assert found[0].ask("GET").state == "done"
    token = served.token("reader")
    assert awaited(served, token, 3).n_demonstrations == 120
    total = merged(list(GIVEN.values())[:3])
    prior = prior_of(served, token)
    assert np.array_equal(prior.sums.gram, total.sums.gram)
    assert served.storage.parts("plain") == ()
    kept = served.storage.manifests("sum")
    assert len(kept) == 1
    assert "edge-" not in kept[0][1]
    assert "edge-" not in found[0].ask("GET").model_dump_json()


def test_a_round_that_loses_too_many_is_void_and_nothing_is_kept(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock, mode="secret", gather_s=60.0, turn_s=30.0)
    found = joined(served, clock)
    for one in found:
        one.share()
    for one in found[:2]:
        one.send()
    clock.wait(31)
    told = found[0].ask("GET")
    assert told.state == "void"
    assert "nothing was seen" in told.reason
    assert served.storage.manifests("sum") == ()
    found[0].participant = Participant(least=3)
    assert found[0].join().state == "gathering"


def test_a_sum_that_cannot_be_is_thrown_away(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock, mode="secret", gather_s=60.0, turn_s=30.0)
    found = joined(served, clock)
    found[1].row = found[1].row * np.uint64(1000)
    for turn in ("share", "send", "open"):
        for one in found:
            getattr(one, turn)()
    assert found[0].ask("GET").state == "void"
    assert served.storage.manifests("sum") == ()


def test_what_does_not_belong_in_a_round_is_turned_away(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock, mode="secret", gather_s=60.0, turn_s=30.0)
    found = joined(served, clock)
    told = found[0].ask("GET")
    rounds = "/v1/statistics/rounds"
    with served.client(served.token("stranger")) as stranger:
        for path, body in (
            (f"/{told.round}/shares", {"id": "s", "boxes": {}}),
            (f"/{told.round}/opening", {"id": "s", "seeds": {}}),
            ("/nothing/shares", {"id": "s", "boxes": {}}),
        ):
            assert stranger.post(f"{rounds}{path}", json=body).status_code == 409
        assert stranger.get(rounds).json()["state"] == "none"
    with served.client(found[0].token) as mine:
        assert mine.post(f"{rounds}/{told.round}/row", content=b"short").status_code == 409
        bad = {"id": "s", "boxes": dict.fromkeys(told.everyone, "AAAA")}
        assert mine.post(f"{rounds}/{told.round}/shares", json=bad).status_code == 409
        worse = {"id": "s", "boxes": {"../x": "AAAA"}}
        assert mine.post(f"{rounds}/{told.round}/shares", json=worse).status_code == 422
        wrong = {"id": "j", "profile": "huge", "sealing": "x", "masking": "y"}
        assert mine.post(rounds, json=wrong).status_code == 422
    assert give(served, "stranger", GIVEN["edge-0"], served.token("other")).status_code == 409


def test_terms_name_public_sequences_and_no_others(serve: Serve, clock: Clock) -> None:
    served = start(serve, clock, mode="secret")
    with served.client(served.token()) as client:
        terms = edge_protocol.read(edge_protocol.StatisticsTerms, client.get("/v1/statistics").content)
    assert terms.sequences == LAYOUT.sequences
    assert (terms.mode, terms.k, terms.least, terms.most) == ("secret", 3, 10, 60)


def test_priors_are_made_on_both_databases(storage: Storage, clock: Clock) -> None:
    settings = StatisticsSettings(mode="plain", owners="one", k=3, least=10, most=60)
    desk = Desk(storage, settings, Ed25519PrivateKey.generate(), FEATURES)
    for name, one in GIVEN.items():
        storage.add_token(name, name, name.ljust(64, "0"), None)
        assert desk.take(name, "s", encode(one)).accepted == ("s",)
    found, made = desk.publish()
    assert (found.kept, len(made)) == (tuple(f"edge {name}" for name in GIVEN), 1)
    assert desk.publish(is_due=True)[1] == ()
    assert desk.prior("small") == made[0].model_dump_json()


def desk_of_many(storage: Storage, **changed: Any) -> Desk:
    said = {"mode": "plain", "k": 2, "founders": 2, "least": 10, "most": 60, "epsilon": 4.0, "priors": 2, **changed}
    return Desk(storage, StatisticsSettings.model_validate(said), Ed25519PrivateKey.generate(), FEATURES)


def given_to(desk: Desk, storage: Storage, names: Iterable[str]) -> None:
    for name in names:
        storage.add_token(name, name, name.ljust(64, "0"), None)
        desk.take(name, "s", encode(GIVEN[name]))


def test_when_the_budget_is_spent_no_prior_is_made_whoever_asks(small_storage: Storage) -> None:
    desk, names = desk_of_many(small_storage), sorted(GIVEN)
    given_to(desk, small_storage, names[:2])
    (first,) = desk.publish()[1]
    assert desk.publish()[1] == ()  # the next one waits for twice as many
    given_to(desk, small_storage, names[2:])
    (second,) = desk_of_many(small_storage).publish()[1]  # another process, the same budget
    assert second.epsilon == pytest.approx(4.0, abs=1e-6)
    assert first.epsilon == pytest.approx(private_sums.epsilon_of(private_sums.rho_of(4.0, 1e-6) / 2, 1e-6))
    small_storage.put_manifest(
        "prior small", 9, first.model_copy(update={"n_edges": 1}).model_dump_json(), first.sha256
    )
    assert desk.publish()[1] == ()
    assert not private_sums.is_left(small_storage, private_sums.Budget(4.0, 1e-6, 2))


def test_of_several_replicas_one_merges_and_the_budget_is_spent_once(storage: Storage, clock: Clock) -> None:
    """On both databases: as many desks as replicas, all told at once that a prior is due."""
    desks = [desk_of_many(storage, priors=1) for _ in range(4)]
    given_to(desks[0], storage, GIVEN)
    with ThreadPoolExecutor(4) as threads:
        made = [one for found in threads.map(lambda desk: desk.publish(is_due=True)[1], desks) for one in found]
    assert len(made) == 1
    assert private_sums.spent(storage) == pytest.approx(private_sums.rho_of(4.0, 1e-6))
    assert all(desk.publish(is_due=True)[1] == () for desk in desks)
    withdrawn = desk_of_many(storage, owners="one")
    withdrawn.withdraw("edge-0")
    clock.wait(3_601)
    assert storage.lease("merging", "killed", 60.0)
    assert withdrawn.publish(is_due=True)[1] == ()  # the one that merges holds it up,
    clock.wait(61)
    assert [one.n_edges for one in withdrawn.publish(is_due=True)[1]] == [3]  # but not for ever


def test_fewer_than_the_founders_make_none(small_storage: Storage) -> None:
    desk = desk_of_many(small_storage, founders=5)
    given_to(desk, small_storage, GIVEN)
    assert desk.publish()[1] == ()
    assert private_sums.spent(small_storage) == 0.0


def test_whether_one_is_taken_does_not_depend_on_another_where_noise_has_to_hide_it() -> None:
    public = ranker(lessons(200, 80_000)).statistics(PUBLIC)
    given = {**GIVEN, "edge-1": poisoned(1, "swapped")}
    terms = Terms(most=60, least=10)
    anchor = Seen.of(public)
    judged = [judged_alone(name, one, terms, anchor) for name, one in given.items()]
    assert {one.edge for one in judged if not one.reason} == set(given) - {"edge-1"}


def test_public_demonstrations_are_in_the_prior_and_judge_what_is_given(small_storage: Storage, clock: Clock) -> None:
    shown = [replace(d, id=f"p{d.id}") for d in lessons(400, 80_000)]
    shown = [replace(d, plan=Plan((Step("order_pizza"),))) if k % 7 == 0 else d for k, d in enumerate(shown)]
    public = Public.of(ENCODER, TOOLS, shown, PUBLIC, (OPTIONS, OPTIONS))
    settings = StatisticsSettings(mode="plain", owners="one", k=2, least=10, most=60)
    key = Ed25519PrivateKey.generate()
    offered = replace(FEATURES, sequences=(*LAYOUT.sequences, ("order_pizza",)))
    desk = Desk(small_storage, settings, key, offered, PriorMaking(lambda: public))
    given = {"a": GIVEN["edge-0"], "b": poisoned(1, "swapped"), "c": GIVEN["edge-2"]}
    for name, one in given.items():
        small_storage.add_token(name, name, name * 64, None)
        desk.take(name, "s", encode(one))
    found, (told,) = desk.publish()
    assert found.quarantined == ("edge b",)
    assert (told.n_edges, told.n_demonstrations) == (2, 480)
    prior = decode(small_storage.read_blob(told.sha256))
    exact = merged([given["a"], given["c"], public.given])
    assert np.array_equal(prior.sums.gram, exact.sums.gram)
    assert len(prior.joining) == 2
