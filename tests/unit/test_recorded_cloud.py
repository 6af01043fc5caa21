"""A cloud that answers from a file: behind real HTTP, masked requests matched, anything else turned away."""

from __future__ import annotations

import datetime as dt
import json
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from hearth.errors import RequestError
from hearth.formats import edge_protocol
from hearth.testing import FIXED_NOW
from hearth.testing.recorded_cloud import RecordedCloud, read_script, served

SCRIPT = {
    "plans": [
        {
            "asks": "tell (?P<whom>.+) that (?P<text>.+)",
            "given": {
                "plan": {"task_nodes": [{"task": "t", "arguments": [{"name": "to", "value": "{whom}: {text} {no}"}]}]}
            },
        }
    ],
    "answers": [{"asks": ".*dinner.*", "given": {"text": "Soup.", "items": [{"name": "Soup", "tags": ["leek"]}]}}],
}
TOOLS = ({"id": "t", "desc": "d", "parameters": []},)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.json"
    path.write_text(json.dumps(SCRIPT))
    return path


def asked(request: str, **more: object) -> bytes:
    fields = {"id": "q1", "request": request, "now": FIXED_NOW, "tools": TOOLS, **more}
    return edge_protocol.PlanAsked.model_validate(fields).model_dump_json().encode()


def test_plans_and_answers_are_those_of_the_file(script: Path) -> None:
    cloud = RecordedCloud(read_script(script))
    with served(cloud) as url, httpx.Client(headers={"authorization": f"Bearer {cloud.token}"}) as client:
        assert "plans" in client.get(f"{url}/v1/hello").json()["features"]
        given = client.post(f"{url}/v1/plans", content=asked("Tell Person-1 that dinner is ready")).json()
        value = given["plan"]["task_nodes"][0]["arguments"][0]["value"]
        assert value == "Person-1: dinner is ready {no}", "a group that is not there stays as it is written"
        again = client.post(f"{url}/v1/plans", content=asked("sing", tools=(), tools_sha256="0" * 64))
        assert (again.status_code, again.json()["code"]) == (409, "tools")
        refused = client.post(f"{url}/v1/plans", content=asked("sing")).json()
        assert refused["refusal"]["kind"] == "out_of_scope"
        answer = edge_protocol.AnswerAsked(id="a1", question="what for dinner?").model_dump_json()
        assert client.post(f"{url}/v1/answers", content=answer).json()["items"][0]["name"] == "Soup"
    assert [one.get("request") or one.get("question") for one in cloud.asked] == [
        "Tell Person-1 that dinner is ready",
        "sing",
        "what for dinner?",
    ]


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/plans", b"{}", {}, 401),
        ("/v1/plans", b"{}", {"authorization": "Bearer x"}, 401),
        ("/v1/plans", b"{}", {"token": "yes"}, 422),
        ("/v1/plans", b"\x00\xff", {"token": "yes", "content-encoding": "gzip"}, 422),
        ("/v1/nothing", b"", {"token": "yes"}, 404),
    ],
)
def test_what_is_no_message_is_turned_away(
    script: Path, path: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    cloud = RecordedCloud(read_script(script))
    if headers.pop("token", ""):
        headers["authorization"] = f"Bearer {cloud.token}"
    with served(cloud) as url, httpx.Client() as client:
        answer = client.post(url + path, content=body, headers=headers)
        assert answer.status_code == status
        assert client.get(f"{url}/v1/hello").status_code == 200, "the next one is answered"
    assert cloud.asked == []


def test_a_body_that_is_too_large_is_not_read(script: Path) -> None:
    cloud = RecordedCloud(read_script(script))
    with served(cloud) as url, socket.create_connection(("127.0.0.1", httpx.URL(url).port or 0), timeout=20) as line:
        line.sendall(b"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"plans": [{"asks": "("}], "answers": []}', '{"plans": 1, "answers": 2}']
)
def test_a_file_that_is_no_script_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(text)
    with pytest.raises(RequestError, match="holds no recorded answers"):
        read_script(path)
    with pytest.raises(RequestError, match="cannot read"):
        read_script(tmp_path / "gone.json")


def test_it_is_a_process_that_ends_with_its_input(script: Path) -> None:
    command = [sys.executable, "-m", "hearth.testing.recorded_cloud", str(script)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        said = json.loads(process.stdout.readline())
        hello = httpx.get(f"{said['url']}/v1/hello", timeout=dt.timedelta(seconds=20).total_seconds())
        assert hello.json()["server"] == "recorded teacher"
        process.stdin.close()
        assert process.wait(20) == 0
