"""The service over real HTTP on loopback: what it answers, to whom, how often."""

from __future__ import annotations

import base64
import gzip
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from cloud_fixtures import Clock, Serve, Served, wait_until
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from hearth.errors import PlannerError
from hearth.formats import edge_protocol
from hearth.types import Plan, Step
from hearth_cloud.cloud_settings import CloudSettings, Limits, Service, TasksSettings
from hearth_cloud.service.general_answers import RecordedAnswers
from hearth_cloud.service.teaching_queue import Asked, Queue, Recorded, given
from hearth_cloud.statistics.artifacts import MadeOf, offer
from hearth_cloud.storage.access_tokens import BELIEVED_S, issue

NOW = "2026-09-07T08:00:00+02:00"
TOOLS: list[dict[str, Any]] = [
    {"id": "find_video", "desc": "Find a video.", "parameters": [{"name": "room", "type": "text"}]},
    {"id": "lamp", "desc": "Switch a lamp.", "parameters": []},
]
LINE: dict[str, Any] = {
    "id": "d1",
    "user_request": "find the video of the kitchen",
    "task_steps": ["find it"],
    "task_nodes": [{"task": "find_video", "arguments": [{"name": "room", "value": "kitchen"}]}],
    "task_links": [],
}


class Counting:
    """A teacher that plans the lamp and counts how often it was asked."""

    name = "counting"
    n_threads = 1
    gains_by_batches = True

    def __init__(self, argument: str = "") -> None:
        self.batches: list[int] = []
        self.n_begun = 0
        self.may_go = threading.Event()
        self.may_go.set()
        self.fault: Exception | None = None
        self._argument = argument

    def plans(self, asked: Sequence[Asked]) -> list[edge_protocol.PlanGiven]:
        self.n_begun += len(asked)
        self.may_go.wait(10)
        self.batches.append(len(asked))
        if self.fault is not None:
            raise self.fault
        step = Step("find_video", {"room": self._argument}) if self._argument else Step("lamp")
        return [given(one.id, Plan((step,), 0.8), self.name) for one in asked]


def plan(id: str = "a1", request: str = "light please", **more: Any) -> dict[str, Any]:
    return {"id": id, "request": request, "now": NOW, "tools": TOOLS, **more}


def code(response: httpx.Response) -> str:
    return edge_protocol.read(edge_protocol.Problem, response.content).code


def waiting(served: Served) -> Queue[Asked, edge_protocol.PlanGiven]:
    assert served.cloud.plans is not None
    return served.cloud.plans


def recorded(tmp_path: Path) -> Recorded:
    path = tmp_path / "plans.jsonl"
    path.write_text(json.dumps(LINE))
    return Recorded(path)


# ── Who answers ───────────────────────────────────────────────────────────────────────────────────────────


def test_hello_needs_no_token_and_tells_the_key(serve: Serve) -> None:
    served = serve(teacher=Counting())
    with served.client() as client:
        hello = edge_protocol.read(edge_protocol.Hello, client.get("/v1/hello").content)
    Ed25519PublicKey.from_public_bytes(base64.b64decode(hello.public_key))
    assert (hello.oldest, hello.newest) == (edge_protocol.OLDEST, edge_protocol.VERSION)
    assert "plans" in hello.features
    assert "answers" not in hello.features


def test_health_and_numbers_for_anybody(serve: Serve) -> None:
    served = serve(teacher=Counting())
    with served.client(served.token()) as client:
        client.post("/v1/plans", json=plan())
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ready"}
        numbers = client.get("/metrics").text
        assert 'hearth_requests_total{route="/v1/plans",status="200"} 1.0' in numbers
        assert 'hearth_plans_total{how="made"} 1.0' in numbers
        assert "kitchen" not in numbers
        schema = client.get("/openapi.json").json()
    assert {"/v1/plans", "/v1/answers", "/v1/demonstrations", "/v1/tasks", "/v1/blobs/{sha256}"} <= set(schema["paths"])


@pytest.mark.parametrize("version", ["", "0", "2", "one", "1.0", "-1", "9" * 40])
def test_another_version_of_the_protocol(serve: Serve, version: str) -> None:
    served = serve()
    headers = {edge_protocol.PROTOCOL_HEADER: version} if version else {}
    with httpx.Client(base_url=served.url, headers=headers, trust_env=False) as client:
        for path in ("/v1/hello", "/v1/tasks"):
            answer = client.get(path)
            assert (answer.status_code, code(answer)) == (426, "protocol")
            assert "expected 1" in answer.json()["detail"]


# ── Plans ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_recorded_plan_is_given_and_what_is_not_on_record_is_refused(serve: Serve, tmp_path: Path) -> None:
    served = serve(teacher=recorded(tmp_path))
    with served.client(served.token()) as client:
        got = edge_protocol.read(
            edge_protocol.PlanGiven, client.post("/v1/plans", json=plan(request=LINE["user_request"])).content
        )
        none = edge_protocol.read(
            edge_protocol.PlanGiven, client.post("/v1/plans", json=plan("a2", "something else")).content
        )
    assert got.id == "a1"
    assert got.plan is not None
    assert got.plan["task_nodes"] == LINE["task_nodes"]
    assert got.teacher == "file:plans.jsonl"
    assert none.plan is None
    assert none.refusal is not None
    assert "on record" in none.refusal.reason


def test_the_same_request_is_answered_from_memory_whoever_asks(serve: Serve) -> None:
    teacher = Counting()
    served = serve(teacher=teacher)
    with served.client(served.token("a")) as a, served.client(served.token("b")) as b:
        first = a.post("/v1/plans", json=plan("x1")).json()
        second = b.post("/v1/plans", json=plan("x2", now="2027-01-01T08:00:00+00:00")).json()
        other = b.post("/v1/plans", json=plan("x3", tools=TOOLS[1:])).json()
    assert (first["id"], second["id"], other["id"]) == ("x1", "x2", "x3")
    assert first["plan"] == second["plan"]
    assert sum(teacher.batches) == 2


@pytest.mark.parametrize(
    ("said", "n_asked"), [("kitchen", 1), ("2026-09-08T09:00:00+02:00", 2), ("09:00", 2), ("PT1H", 2)]
)
def test_an_answer_of_a_moment_is_not_kept_for_another(serve: Serve, said: str, n_asked: int) -> None:
    teacher = Counting(said)
    served = serve(teacher=teacher)
    with served.client(served.token()) as client:
        for now in (NOW, NOW, "2026-09-08T08:00:00+02:00"):
            client.post("/v1/plans", json=plan(now=now))
    assert sum(teacher.batches) == n_asked


def test_tools_are_sent_once_and_then_by_their_hash(serve: Serve) -> None:
    served = serve(teacher=Counting())
    short = plan("s", tools=[], tools_sha256=edge_protocol.tools_hash(TOOLS))
    with served.client(served.token()) as client:
        unknown = client.post("/v1/plans", json=short)
        assert (unknown.status_code, code(unknown)) == (409, "tools")
        assert client.post("/v1/plans", json=plan()).status_code == 200
        assert client.post("/v1/plans", json=short).json()["plan"]["task_nodes"][0]["task"] == "lamp"


def test_requests_that_arrive_together_are_planned_together(serve: Serve) -> None:
    teacher = Counting()
    teacher.may_go.clear()
    served = serve(teacher=teacher)
    with served.client(served.token()) as client, ThreadPoolExecutor(9) as pool:
        asked = [pool.submit(client.post, "/v1/plans", json=plan(f"a{k}", f"lamp {k}")) for k in range(9)]
        wait_until(lambda: teacher.n_begun + len(waiting(served)) == 9)
        teacher.may_go.set()
        answers = [one.result() for one in asked]
    assert [answer.json()["id"] for answer in answers] == [f"a{k}" for k in range(9)]
    assert sum(teacher.batches) == 9
    assert max(teacher.batches) >= 4


def test_too_many_that_wait_are_told_to_come_again(serve: Serve) -> None:
    teacher = Counting()
    teacher.may_go.clear()
    served = serve(CloudSettings(limits=Limits(waiting=2, batch=1)), teacher=teacher)
    with served.client(served.token()) as client, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(client.post, "/v1/plans", json=plan(f"a{k}", f"lamp {k}")) for k in range(8)]
        wait_until(lambda: sum(one.done() for one in asked) == 5)  # one is planned, two wait
        teacher.may_go.set()
        answers = [one.result() for one in asked]
    busy = [answer for answer in answers if answer.status_code == 503]
    assert len(busy) == 5
    assert {code(answer) for answer in busy} == {"busy"}
    assert {answer.headers["retry-after"] for answer in busy} == {"1"}


def test_a_plan_that_takes_too_long_is_not_waited_for(serve: Serve) -> None:
    teacher = Counting()
    teacher.may_go.clear()
    served = serve(CloudSettings(limits=Limits(wait_s=0.05)), teacher=teacher)
    with served.client(served.token()) as client:
        late = client.post("/v1/plans", json=plan())
        assert (late.status_code, code(late)) == (503, "busy")
        teacher.may_go.set()
        assert client.post("/v1/plans", json=plan("a2")).status_code == 200


def test_a_teacher_that_fails_says_nothing_of_itself(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    teacher = Counting()
    teacher.fault = PlannerError("cannot reach http://10.0.0.7 with key sk-1234")
    served = serve(teacher=teacher)
    with served.client(served.token()) as client:
        answer = client.post("/v1/plans", json=plan())
    assert (answer.status_code, code(answer)) == (503, "busy")
    assert "10.0.0.7" not in answer.text
    assert "sk-1234" not in capfd.readouterr().err


def test_a_fault_of_the_service_is_an_answer_without_content(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    teacher = Counting()
    teacher.fault = ValueError("light please")
    served = serve(teacher=teacher)
    with served.client(served.token()) as client:
        answer = client.post("/v1/plans", json=plan())
        assert (answer.status_code, code(answer)) == (500, "fault")
        assert client.get("/v1/tasks").status_code == 200
    assert "light please" not in answer.text
    assert all("light please" not in record.getMessage() for record in caplog.records)


def test_a_service_without_a_teacher_says_so(serve: Serve) -> None:
    served = serve()
    with served.client(served.token()) as client:
        for path, body in (("/v1/plans", plan()), ("/v1/answers", {"id": "q", "question": "why"})):
            answer = client.post(path, json=body)
            assert (answer.status_code, code(answer)) == (404, "no_teacher")


def test_general_knowledge_from_a_file(serve: Serve, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    items = [{"name": "Ratatouille", "tags": ["tomato", "garlic"]}]
    path.write_text(json.dumps({"question": "What to cook?", "text": "Vegetables.", "items": items}))
    served = serve(answering=RecordedAnswers(path))
    with served.client(served.token()) as client:
        answer = edge_protocol.read(
            edge_protocol.AnswerGiven,
            client.post("/v1/answers", json={"id": "q1", "question": "what to COOK?"}).content,
        )
        unknown = client.post("/v1/answers", json={"id": "q2", "question": "who am I?"})
    assert (answer.id, answer.text, answer.items[0].tags) == ("q1", "Vegetables.", ("tomato", "garlic"))
    assert (unknown.status_code, code(unknown)) == (404, "no_answer")


# ── Demonstrations and tasks ──────────────────────────────────────────────────────────────────────────────


def sent(id: str, *lines: dict[str, Any]) -> dict[str, Any]:
    return {"id": id, "demonstrations": list(lines)}


def test_demonstrations_are_taken_once_and_every_id_is_told(serve: Serve) -> None:
    served = serve()
    bad = {**LINE, "id": "d3", "task_nodes": []}
    nameless = {**LINE, "id": "no name"}
    with served.client(served.token()) as client:
        first = client.post("/v1/demonstrations", json=sent("m1", LINE, {**LINE, "id": 2}, LINE, bad, nameless)).json()
        again = client.post("/v1/demonstrations", json=sent("m2", LINE, {**LINE, "id": "d4"})).json()
    assert (first["accepted"], first["known"]) == (["d1", "2"], [])
    assert [one["id"] for one in first["refused"]] == ["d3", "#4"]
    assert (again["accepted"], again["known"], again["refused"]) == (["d4"], ["d1"], [])
    assert served.storage.n_demonstrations() == 3


def test_a_message_sent_again_has_its_effect_once_and_the_same_answer(serve: Serve) -> None:
    served = serve()
    body = json.dumps(sent("m1", LINE)).encode()
    headers = {"content-type": "application/json", edge_protocol.IDEMPOTENCY_HEADER: "key-1"}
    with served.client(served.token()) as client, ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/demonstrations", content=body, headers=headers), range(6)))
        assert {(answer.status_code, answer.content) for answer in answers} == {(200, answers[0].content)}
        assert answers[0].json()["accepted"] == ["d1"]
        other = client.post("/v1/demonstrations", json=sent("m1", {**LINE, "id": "d2"}), headers=headers)
        assert (other.status_code, code(other)) == (409, "idempotency")
    assert served.storage.n_demonstrations() == 1


def test_keys_of_two_edges_have_nothing_to_do_with_each_other(serve: Serve) -> None:
    served = serve()
    for edge in ("a", "b"):
        with served.client(served.token(edge)) as client:
            assert client.post("/v1/demonstrations", json=sent("m1", {**LINE, "user_request": edge})).status_code == 200
    assert served.storage.n_demonstrations() == 2


def test_what_the_plan_format_does_not_know_is_not_kept(serve: Serve) -> None:
    served = serve()
    with served.client(served.token()) as client:
        client.post("/v1/demonstrations", json=sent("m1", {**LINE, "owner": "Mia Example", "said": "unmasked"}))
    ((_, line),) = served.storage.demonstrations()
    assert "Mia" not in line
    assert "unmasked" not in line
    assert json.loads(line)["task_nodes"] == LINE["task_nodes"]


def test_tasks_are_told_when_enough_edges_share_them(serve: Serve) -> None:
    served = serve(CloudSettings(tasks=TasksSettings(k=2)))
    rare = {**LINE, "id": "d9", "task_nodes": [{"task": "my_own_tool", "arguments": []}]}
    for edge in ("a", "b"):
        with served.client(served.token(edge)) as client:
            client.post("/v1/demonstrations", json=sent("m1", LINE, *([rare] if edge == "a" else [])))
            told = edge_protocol.read(edge_protocol.TasksGiven, client.get("/v1/tasks").content)
    assert told.k == 2
    assert [(task.tools, task.n_edges) for task in told.tasks] == [(("find_video",), 2)]


# ── Blobs ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_download_goes_on_where_it_was_cut_off(serve: Serve) -> None:
    served = serve()
    data = bytes(range(256)) * 10_000
    sha256 = offer(served.storage, served.cloud.key, "prior", "large", data, MadeOf("f")).sha256
    with served.client(served.token()) as client:
        whole = client.get(f"/v1/blobs/{sha256}")
        rest = client.get(f"/v1/blobs/{sha256}", headers={"range": "bytes=1500000-"})
        part = client.get(f"/v1/blobs/{sha256}", headers={"range": "bytes=10-19"})
        beyond = client.get(f"/v1/blobs/{sha256}", headers={"range": f"bytes={len(data)}-"})
        odd = client.get(f"/v1/blobs/{sha256}", headers={"range": "lines=1-2"})
        missing = client.get(f"/v1/blobs/{'0' * 64}")
        assert client.get("/v1/blobs/..%2Fx").status_code == 404
    assert whole.content == odd.content == data
    assert (rest.status_code, rest.content) == (206, data[1_500_000:])
    assert rest.headers["content-range"] == f"bytes 1500000-{len(data) - 1}/{len(data)}"
    assert part.content == data[10:20]
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, f"bytes */{len(data)}")
    assert missing.status_code == 404


# ── Tokens, agents, rates ─────────────────────────────────────────────────────────────────────────────────


def test_only_a_token_that_holds_is_let_in(serve: Serve) -> None:
    served = serve()
    good = served.token()
    for bad in ("", "hearth_" + "A" * 43, good[:-1], good + "x", "x" * 10_000, "naïve"):
        headers = {b"Authorization": f"Bearer {bad}".encode()} if bad else {}
        with served.client() as client:
            answer = client.get("/v1/tasks", headers=headers)
        assert (answer.status_code, code(answer)) == (401, "token")
        assert answer.headers["www-authenticate"] == "Bearer"
    with served.client(good) as client:
        assert client.get("/v1/tasks").status_code == 200


def test_a_revoked_and_an_expired_token(serve: Serve, clock: Clock) -> None:
    served = serve(clock=clock)
    short = issue(served.storage, "attic", 1).text
    with served.client(served.token()) as kitchen, served.client(short) as attic:
        assert (kitchen.get("/v1/tasks").status_code, attic.get("/v1/tasks").status_code) == (200, 200)
        served.storage.revoke("kitchen")
        clock.wait(BELIEVED_S)
        revoked = kitchen.get("/v1/tasks")
        assert (revoked.status_code, "revoked" in revoked.json()["detail"]) == (401, True)
        clock.wait(86_400)
        expired = attic.get("/v1/tasks")
        assert (expired.status_code, "expired" in expired.json()["detail"]) == (401, True)


def test_two_agents_with_one_token_are_told_and_give_nothing_more(serve: Serve) -> None:
    served = serve(teacher=Counting())
    token = served.token()
    with served.client(token, "agent-a") as a, served.client(token, "agent-b") as b:
        assert a.post("/v1/demonstrations", json=sent("m1", LINE)).status_code == 200
        assert b.get("/v1/tasks").headers.get(edge_protocol.NOTICE_HEADER) is None  # a device that was set up anew
        told = a.post("/v1/plans", json=plan())
        assert (told.status_code, told.headers[edge_protocol.NOTICE_HEADER]) == (200, "two-agents")
        for client in (a, b):
            refused = client.post("/v1/demonstrations", json=sent("m2", {**LINE, "id": "d2"}))
            assert (refused.status_code, code(refused)) == (409, "identity")
            assert refused.headers[edge_protocol.NOTICE_HEADER] == "two-agents"
    assert served.storage.n_demonstrations() == 1


@pytest.mark.parametrize("replaces", [True, False])
def test_a_new_token_in_the_place_of_one_that_two_used_is_taken(serve: Serve, clock: Clock, replaces: bool) -> None:
    served = serve(teacher=Counting())
    token = served.token()
    with served.client(token, "agent-a") as a, served.client(token, "agent-b") as b:
        for client in (a, b, a, b):
            client.get("/v1/tasks")
        assert a.post("/v1/demonstrations", json=sent("m1", LINE)).status_code == 409
    if not replaces:
        served.storage.revoke("kitchen")
    clock.wait(1)
    fresh = issue(served.storage, "kitchen", None, replaces=replaces).text
    clock.wait(6)
    with served.client(fresh, "agent-a") as a:
        assert [a.post("/v1/demonstrations", json=sent(f"m{k}", LINE)).status_code for k in (2, 3)] == [200, 200]


def test_who_still_comes_with_the_token_that_was_replaced_marks_nobody(serve: Serve, clock: Clock) -> None:
    served = serve(teacher=Counting(), clock=clock)
    with served.client(served.token(), "agent-a") as old:
        assert old.get("/v1/tasks").status_code == 200
        fresh = issue(served.storage, "kitchen", None, replaces=True).text
        with served.client(fresh, "agent-b") as new:
            for k in range(6):  # by turns, while the old one is believed
                clock.wait(BELIEVED_S / 8)
                mine, others = new.get("/v1/tasks"), old.get("/v1/tasks")
                assert (mine.status_code, mine.headers.get(edge_protocol.NOTICE_HEADER)) == (200, None)
                assert (others.status_code, others.headers.get(edge_protocol.NOTICE_HEADER)) == (200, None)
                assert new.post("/v1/demonstrations", json=sent(f"m{k}", LINE)).status_code == 200
            clock.wait(BELIEVED_S)
            assert old.get("/v1/tasks").status_code == 401
            clock.wait(120)
            assert new.post("/v1/demonstrations", json=sent("m9", LINE)).status_code == 200
            with served.client(fresh, "agent-c") as copied:  # with the new one two are noticed as ever
                copied.get("/v1/tasks")
            clock.wait(120)
            assert new.post("/v1/demonstrations", json=sent("m10", LINE)).status_code == 409


def test_more_than_the_rate_is_told_when_to_come_again(serve: Serve, clock: Clock) -> None:
    served = serve(CloudSettings(limits=Limits(requests_per_s=0.5, burst=2)), clock=clock)
    with served.client(served.token("a")) as a, served.client(served.token("b")) as b:
        assert [a.get("/v1/tasks").status_code for _ in range(3)] == [200, 200, 429]
        last = a.get("/v1/tasks")
        assert (code(last), last.headers["retry-after"], last.json()["retry_after_s"]) == ("rate", "2", 2.0)
        assert b.get("/v1/tasks").status_code == 200
        clock.wait(2)
        assert a.get("/v1/tasks").status_code == 200


def test_a_used_up_day_ends_at_midnight(serve: Serve, clock: Clock) -> None:
    served = serve(
        CloudSettings(limits=Limits(plans_per_day=1, demonstrations_per_day=2)), teacher=Counting(), clock=clock
    )
    with served.client(served.token()) as client:
        assert client.post("/v1/plans", json=plan()).status_code == 200
        assert client.post("/v1/plans", json=plan("a2")).status_code == 200  # from memory: costs nothing
        spent = client.post("/v1/plans", json=plan("a3", "another"))
        assert (spent.status_code, code(spent)) == (429, "quota")
        assert spent.json()["retry_after_s"] == pytest.approx(15.5 * 3600)
        lines = [{**LINE, "id": f"d{k}"} for k in range(3)]
        assert code(client.post("/v1/demonstrations", json=sent("m1", *lines))) == "quota"
        assert client.post("/v1/demonstrations", json=sent("m1", *lines[:2])).status_code == 200
        clock.wait(16 * 3600)
        assert client.post("/v1/plans", json=plan("a3", "another")).status_code == 200


def test_used_up_counts_survive_the_service(serve: Serve) -> None:
    settings = CloudSettings(limits=Limits(plans_per_day=1))
    served = serve(settings, teacher=Counting())
    token = served.token()
    with served.client(token) as client:
        client.post("/v1/plans", json=plan())
    today = ("kitchen", served.storage.now().date().isoformat(), "plans")
    served.server.should_exit = True
    wait_until(lambda: served.storage.use({today: 0})[today] == 1)
    second = serve(settings, teacher=Counting())
    with second.client(token) as client:
        assert code(client.post("/v1/plans", json=plan("a2", "another"))) == "quota"


# ── Sizes ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_packed_requests_are_read(serve: Serve) -> None:
    served = serve(teacher=Counting())
    packed = gzip.compress(json.dumps(plan()).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    with served.client(served.token()) as client:
        assert client.post("/v1/plans", content=packed, headers=headers).status_code == 200


# ── Sedna ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_sedna_asks_for_plans_in_its_own_way(serve: Serve) -> None:
    served = serve(CloudSettings(service=Service(sedna_service="planner")), teacher=Counting())
    question = {"request": "light please", "tools": TOOLS}
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.get("/planner").status_code == 200
        answer = client.post("/planner/predict", json={"data": [question, question], "callback": None})
        wrong = client.post("/planner/predict", json={"data": "light"})
        assert client.post("/other/predict", json={"data": []}).status_code == 426
    (first, second) = answer.json()["result"]
    assert first["plan"]["task_nodes"][0]["task"] == second["plan"]["task_nodes"][0]["task"] == "lamp"
    assert wrong.status_code == 422


def test_nothing_answers_sedna_where_no_service_is_named(serve: Serve) -> None:
    served: Served = serve(teacher=Counting())
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.post("/planner/predict", json={"data": ["light"]}).status_code == 426
