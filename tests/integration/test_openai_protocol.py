"""What the `openai` package gets from a home that is up."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from tests.served_home import ASKS, READS, Served, made, served


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(made(tmp_path_factory.mktemp("openai") / "home")) as running:
        yield running


@pytest.fixture(scope="module")
def reader(up: Served) -> Iterator[openai.OpenAI]:
    with client(up, up.token("reader")) as found:
        yield found


@pytest.fixture(scope="module")
def changer(up: Served) -> Iterator[openai.OpenAI]:
    with client(up, up.token("changer", may_change=True)) as found:
        yield found


def client(up: Served, token: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{up.address}/v1", api_key=token, max_retries=0, timeout=20)


def said(text: str) -> Any:
    return [{"role": "system", "content": "Be kind."}, {"role": "user", "content": text}]


def test_there_is_one_model(reader: openai.OpenAI) -> None:
    assert [model.id for model in reader.models.list()] == ["hearth"]
    assert reader.models.retrieve("hearth").owned_by == "this home"


def test_a_completion(reader: openai.OpenAI) -> None:
    answer = reader.chat.completions.create(model="hearth", messages=said(READS), temperature=0.2)
    assert answer.choices[0].finish_reason == "stop"
    assert "scripted" not in (answer.choices[0].message.content or "")
    assert answer.usage is not None
    assert answer.usage.prompt_tokens == 4


def test_content_in_parts(reader: openai.OpenAI) -> None:
    parts: Any = [{"role": "user", "content": [{"type": "text", "text": READS}]}]
    whole = reader.chat.completions.create(model="hearth", messages=parts)
    assert "scripted" not in (whole.choices[0].message.content or "")


def test_a_streamed_completion_says_the_same(reader: openai.OpenAI) -> None:
    chunks = list(
        reader.chat.completions.create(
            model="hearth", messages=said("sing"), stream=True, stream_options={"include_usage": True}
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == reader.chat.completions.create(model="hearth", messages=said("sing")).choices[0].message.content
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == len(text.split())


def test_the_stream_helper(reader: openai.OpenAI) -> None:
    with reader.chat.completions.stream(model="hearth", messages=said("sing")) as stream:
        found = stream.get_final_completion()
    assert "no plan is scripted for 'sing'" in (found.choices[0].message.content or "")


def test_a_response(reader: openai.OpenAI) -> None:
    answer = reader.responses.create(model="hearth", input="sing", instructions="Be kind.")
    assert answer.status == "completed"
    assert "no plan is scripted for 'sing'" in answer.output_text
    assert answer.usage is not None
    assert answer.usage.input_tokens == 1
    again = reader.responses.create(model="hearth", input=said("sing"))
    assert again.output_text == answer.output_text


def test_a_streamed_response(reader: openai.OpenAI) -> None:
    events = list(reader.responses.create(model="hearth", input="sing", stream=True))
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = list(dict.fromkeys(event.type for event in events))
    assert kinds == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    with reader.responses.stream(model="hearth", input="sing") as stream:
        assert stream.get_final_response().output_text == text


def test_who_has_no_token_gets_nothing(up: Served) -> None:
    with pytest.raises(openai.AuthenticationError):
        client(up, "hearth-guessed").chat.completions.create(model="hearth", messages=said(READS))


def test_a_revoked_token_is_none(up: Served) -> None:
    token = up.token("lost")
    assert client(up, token).models.list().data
    up.keys.key, up.keys.clients = up.keys._read()
    up.keys.revoke("lost")
    with pytest.raises(openai.AuthenticationError):
        client(up, token).models.list()


def test_another_model_is_not_here(reader: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="'hearth' is"):
        reader.chat.completions.create(model="gpt-5", messages=said(READS))
    with pytest.raises(openai.NotFoundError):
        reader.responses.create(model="gpt-5", input=READS)
    with pytest.raises(openai.NotFoundError):
        reader.models.retrieve("gpt-5")


def test_a_reading_client_changes_nothing(up: Served, reader: openai.OpenAI) -> None:
    for answer in (
        reader.chat.completions.create(model="hearth", messages=said(ASKS)).choices[0].message.content,
        reader.responses.create(model="hearth", input=ASKS).output_text,
    ):
        assert "may only read" in (answer or "")
    assert up.notes == []
    assert up.desk.view.asked is None


def test_a_client_that_may_change_waits_for_the_owner(up: Served, changer: openai.OpenAI) -> None:
    with up.answering("no") as asked:
        refused = changer.chat.completions.create(model="hearth", messages=said(ASKS))
    assert asked[0].caller == "changer"
    assert "Boiler" in asked[0].text
    assert up.notes == [], refused
    with up.answering("once"):
        done = changer.responses.create(model="hearth", input=ASKS)
    assert up.notes == ["boiler"], done.output_text
    up.desk.undo(None).result(20)
    with up.answering("once"):
        list(changer.responses.create(model="hearth", input=ASKS, stream=True))
    assert up.notes == ["boiler"]
    up.desk.undo(None).result(20)


def test_a_stream_lives_while_the_question_stands(up: Served, changer: openai.OpenAI) -> None:
    stream = iter(changer.responses.create(model="hearth", input=ASKS, stream=True))
    assert next(stream).type == "response.created"
    assert up.desk.answer(up.question().id, "nobody")
    assert list(stream)[-1].type == "response.completed"
    assert up.notes == []


COMPLETION = {
    "model": "hearth",
    "messages": [{"role": "user", "content": [{"type": "text", "text": "sing"}]}],
    "stream": False,
    "stream_options": {"include_usage": True},
}
RESPONSE = {"model": "hearth", "input": [{"type": "message", "role": "user", "content": "sing"}], "stream": False}
STRANGE: tuple[Any, ...] = (
    *(None, True, -1, 1e308, "", "x" * 250_000, [], {}, [None], {"": {}}, "\ud800", "\0\u202e", [[[[]]]], 10**40),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def mutated(document: Any, drawn: random.Random) -> bytes:
    """A body with one thing in it replaced or removed, or with some of its bytes changed."""
    document = copy.deepcopy(document)
    *path, last = drawn.choice([place for place in places(document) if place])
    holder = document
    for key in path:
        holder = holder[key]
    if drawn.random() < 0.2:
        del holder[last]
    else:
        holder[last] = drawn.choice(STRANGE)
    body = bytearray(json.dumps(document).encode())
    if drawn.random() < 0.3:
        for _ in range(drawn.randint(1, 4)):
            body[drawn.randrange(len(body))] = drawn.randrange(256)
        del body[drawn.choice([len(body), drawn.randrange(len(body))]) :]
    return bytes(body)


def test_no_body_is_a_fault_of_ours(up: Served) -> None:
    drawn = random.Random(20)
    headers = {"authorization": f"Bearer {up.token('fuzzer')}", "content-type": "application/json"}
    codes = set()
    with httpx.Client(base_url=up.address, headers=headers, timeout=20) as http:
        for kind, document in (("chat/completions", COMPLETION), ("responses", RESPONSE)):
            bodies = [b"", b"null", b"[]", b'"', b"[" * 200_000, b"\xff\xfe", b"{}" * 3]
            bodies += [mutated(document, drawn) for _ in range(200)]
            for body in bodies:
                answer = http.post(f"/v1/{kind}", content=body)
                assert answer.status_code < 500, (kind, body[:300], answer.text)
                codes.add(answer.status_code)
        assert http.post("/v1/responses", content=iter([b" " * 600_000] * 2)).status_code == 413
    assert {200, 400, 404} <= codes
