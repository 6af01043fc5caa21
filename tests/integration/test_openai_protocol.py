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


def function(name: str, description: str, required: tuple[str, ...] = (), **properties: str) -> dict[str, Any]:
    fields = {key: {"type": kind} for key, kind in properties.items()}
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return {"name": name, "description": description, "parameters": schema}


FUNCTIONS = [
    function("get_weather", "Get the current weather for a city", ("city",), city="string", days="integer"),
    function("turn_on_light", "Turn on a light in a room", ("room",), room="string", brightness="integer"),
]
TOOLS: Any = [{"type": "function", "function": one} for one in FUNCTIONS]
RESPONSE_TOOLS: Any = [{"type": "function", "strict": False, **one} for one in FUNCTIONS]


def called(answer: Any) -> list[tuple[str, dict[str, Any]]]:
    choice = answer.choices[0]
    calls = choice.message.tool_calls or []
    assert choice.finish_reason == ("tool_calls" if calls else "stop")
    return [(call.function.name, json.loads(call.function.arguments)) for call in calls]


def n_episodes(up: Served) -> int:
    return up.desk.use(lambda agent: len(agent.trace.episodes(1000))).result(20)


def with_results(messages: list[Any], answer: Any, *results: str) -> list[Any]:
    message = answer.choices[0].message
    told = [{"role": "tool", "tool_call_id": c.id, "content": r} for c, r in zip(message.tool_calls, results)]
    return [*messages, message.model_dump(exclude_none=True), *told]


def test_a_programs_own_function_is_called_and_its_result_told(up: Served, reader: openai.OpenAI) -> None:
    n_before = n_episodes(up)
    messages = said("what's the weather in Paris?")
    answer = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS)
    assert called(answer) == [("get_weather", {"city": "Paris"})]
    result = '{"sky": "clear", "celsius": 12}'
    told = reader.chat.completions.create(model="hearth", messages=with_results(messages, answer, result), tools=TOOLS)
    assert called(told) == []
    assert told.choices[0].message.content == "sky: clear, celsius: 12"
    assert n_episodes(up) == n_before, "nothing of it is the home's"


def test_what_fits_none_of_its_functions_is_hearths_own(reader: openai.OpenAI) -> None:
    own = reader.chat.completions.create(model="hearth", messages=said(READS), tools=TOOLS)
    assert called(own) == []
    plain = reader.chat.completions.create(model="hearth", messages=said(READS))
    assert own.choices[0].message.content == plain.choices[0].message.content
    none = reader.chat.completions.create(
        model="hearth", messages=said("what's the weather in Paris?"), tools=TOOLS, tool_choice="none"
    )
    assert "no plan is scripted" in (none.choices[0].message.content or "")


def test_several_calls_at_once_or_one_by_one(reader: openai.OpenAI) -> None:
    messages = said("get the weather for Rome and turn on the light in the hall")
    both = [("get_weather", {"city": "Rome"}), ("turn_on_light", {"room": "hall"})]
    at_once = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS)
    assert called(at_once) == both
    assert len({call.id for call in at_once.choices[0].message.tool_calls or ()}) == 2
    found = []
    for result in ("rain", "on"):
        answer = reader.chat.completions.create(
            model="hearth", messages=messages, tools=TOOLS, parallel_tool_calls=False
        )
        found += called(answer)
        messages = with_results(messages, answer, result)
    assert found == both
    last = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS)
    assert last.choices[0].message.content == "rain\non"


def test_what_is_not_said_is_asked_for_and_never_guessed(reader: openai.OpenAI) -> None:
    messages = said("how is the weather")
    asked = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS)
    question = asked.choices[0].message.content
    assert question == "To call get_weather I need to know city."
    messages += [{"role": "assistant", "content": question}, {"role": "user", "content": "Paris"}]
    answer = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS)
    assert called(answer) == [("get_weather", {"city": "Paris"})]
    told = reader.chat.completions.create(model="hearth", messages=with_results(messages, answer, "rain"), tools=TOOLS)
    assert (called(told), told.choices[0].message.content) == ([], "rain")


def test_calls_go_on_one_by_one_after_questions(reader: openai.OpenAI) -> None:
    messages = said("how is the weather and turn on the light")
    lines = [("get_weather", "city", "hamlet", "rain"), ("turn_on_light", "room", "hall", "on")]
    told = ""
    for name, needed, answer, result in lines:
        asked = reader.chat.completions.create(
            model="hearth", messages=messages, tools=TOOLS, parallel_tool_calls=False
        )
        question = asked.choices[0].message.content
        assert question == f"{told}To call {name} I need to know {needed}."
        messages += [{"role": "assistant", "content": question}, {"role": "user", "content": answer}]
        call = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS, parallel_tool_calls=False)
        assert called(call) == [(name, {needed: answer})]
        messages, told = with_results(messages, call, result), f"{result}\n"
    last = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS)
    assert last.choices[0].message.content == "rain\non"


def test_who_does_not_answer_asks_for_something_else(reader: openai.OpenAI) -> None:
    messages = said("how is the weather")
    question = "To call get_weather I need to know city."
    messages += [
        {"role": "assistant", "content": question},
        {"role": "user", "content": "turn on the light in the hall"},
    ]
    answer = reader.chat.completions.create(model="hearth", messages=messages, tools=TOOLS)
    assert called(answer) == [("turn_on_light", {"room": "hall"})]


def test_the_function_that_a_program_names(reader: openai.OpenAI) -> None:
    named: Any = {"type": "function", "function": {"name": "turn_on_light"}}
    answer = reader.chat.completions.create(
        model="hearth", messages=said("more light in the kitchen"), tools=TOOLS, tool_choice=named
    )
    assert called(answer) == [("turn_on_light", {"room": "kitchen"})]
    unknown: Any = {"type": "function", "function": {"name": "sing"}}
    with pytest.raises(openai.BadRequestError, match="'sing' is to be called"):
        reader.chat.completions.create(model="hearth", messages=said("sing"), tools=TOOLS, tool_choice=unknown)


def test_streamed_calls(reader: openai.OpenAI) -> None:
    with reader.chat.completions.stream(
        model="hearth", messages=said("weather in Oslo for 3 days"), tools=TOOLS
    ) as stream:
        assert called(stream.get_final_completion()) == [("get_weather", {"city": "Oslo", "days": 3})]


def test_a_response_calls_a_function_and_tells_its_result(reader: openai.OpenAI) -> None:
    history: Any = [{"role": "user", "content": "what's the weather in Paris?"}]
    answer = reader.responses.create(model="hearth", input=history, tools=RESPONSE_TOOLS)
    call: Any = answer.output[0]
    assert (call.type, call.name, json.loads(call.arguments)) == ("function_call", "get_weather", {"city": "Paris"})
    with reader.responses.stream(model="hearth", input=history, tools=RESPONSE_TOOLS) as stream:
        streamed: Any = stream.get_final_response().output[0]
    assert (streamed.name, streamed.arguments) == (call.name, call.arguments)
    history += [*answer.output, {"type": "function_call_output", "call_id": call.call_id, "output": "clear"}]
    assert reader.responses.create(model="hearth", input=history, tools=RESPONSE_TOOLS).output_text == "clear"


def test_functions_that_no_plan_can_express_are_left_out(reader: openai.OpenAI) -> None:
    strange = [
        {**FUNCTIONS[0], "parameters": {"properties": {"the city!": {"type": "string"}}}},
        {**FUNCTIONS[0], "parameters": {"properties": [1]}},
        {**FUNCTIONS[0], "parameters": {"properties": {f"p{k}": {} for k in range(500)}}},
    ]
    tools: Any = [{"type": "function", "function": one} for one in strange] + [{"type": "web_search"}]
    answer = reader.chat.completions.create(model="hearth", messages=said("weather in Paris"), tools=tools)
    assert called(answer) == []
    with pytest.raises(openai.BadRequestError, match="tools"):
        reader.chat.completions.create(model="hearth", messages=said("sing"), tools=TOOLS * 100)


COMPLETION = {
    "model": "hearth",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "sing"}]},
        {"role": "tool", "tool_call_id": "c", "content": '{"a": [1]}'},
    ],
    "stream": False,
    "stream_options": {"include_usage": True},
    "tools": TOOLS[:1],
    "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
    "parallel_tool_calls": False,
}
RESPONSE = {
    "model": "hearth",
    "input": [{"type": "message", "role": "user", "content": "sing"}],
    "stream": False,
    "tools": RESPONSE_TOOLS[:1],
}
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
