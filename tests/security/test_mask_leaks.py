"""python -m pytest tests/security/test_mask_leaks.py

Nothing from the contact book stands in the bytes that reach a language model on another machine, whatever asks it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hearth
from hearth.config import MASKED_KINDS, LanguageModelSettings, Settings
from hearth.execution.results import reword
from hearth.guard.egress.gateway import Egress
from hearth.guard.egress.ledger import Ledger
from hearth.guard.egress.masking_door import MaskedModel, leaves_device, open_masked
from hearth.language.values.identifying import fold, plain, words
from hearth.learning.corrections import Budget, EndpointTeacher, Limits
from hearth.models.llm.scripted import ScriptedModel
from hearth.planning.llm import LanguagePlanner
from hearth.protocols import LanguageModel
from hearth.storage.database import Store
from hearth.storage.workspace import Home
from hearth.testing import FIXED_NOW
from hearth.types import Answer, Context, Entity, Evidence, Parameter, Plan, Refusal, Request, ToolSpec
from tests import ROOT
from tests.model_server import ModelServer

CARDS = """BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Mia Berger\r\nN:Berger;Mia;;;\r\nNICKNAME:Mimi\r\nORG:Quarzwerk GmbH\r
TEL:+49 30 5550123\r\nTEL:0171 5559876\r\nEMAIL:mia@berger.example\r\nADR:;;Lindenhof 7;Altstadt;;54321;Germany\r\nEND:VCARD\r  # noqa: E501
BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Dr. Zoë Okonkwo-Müller\r\nN:Okonkwo-Müller;Zoë;;Dr.;\r\nEND:VCARD\r
BEGIN:VCARD\r\nVERSION:3.0\r\nFN:王伟\r\nEND:VCARD\r\n"""
EVENTS = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20261120T100000Z\r\nSUMMARY:Lunch with "
    "Ottoline\r\n"
    "LOCATION:Trattoria Verbena\r\nATTENDEE;CN=Piet Kowalczyk:mailto:piet@k.example\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)
SECRETS = (
    *(
        "Mia",
        "Berger",
        "Mimi",
        "Quarzwerk",
        "5550123",
        "5559876",
        "Lindenhof",
        "Altstadt",
        "54321",
        "Okonkwo",
        "Müller",
        "Zoë",
    ),
    *("王伟", "Ottoline", "Verbena", "Kowalczyk", "Ada", "Quill", "berger.example", "Nordlicht"),
)
REQUESTS = (
    "write mia@berger.example hello from Mia",
    "tell mimi and Frau BERGER of Quarzwerk that Ada Quill comes to Lindenhof 7, 54321 Altstadt",
    "call mia\u200b or Mіa on 030 5550123, else (0171) 555-9876",
    "meet Zoe Okonkwo Mueller and 王伟 at the trattoria verbena",
    "Bergr, Mia; Ber-\nger; Okonkwo-Muller; zoë's sister; piet kowalczik is late for ottoline",
    "send project nordlicht to piet@k.example",
    "ask mia2 and Berger2026, see x.org/Mia%20Berger, nordlicht7",
)
TOOLS = {
    "draft_mail": ToolSpec(
        "draft_mail", "Draft a mail, as Mia likes it.", (Parameter("text", "text"),), effect="change"
    )
}


class Server(ModelServer):
    """Repeats every stand-in it is told in the one argument of its plan."""

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        return self.completion(self.answer(messages[-1]["content"]))

    def answer(self, said: str) -> str:
        try:
            request = json.loads(said)["request"]
        except (ValueError, TypeError):
            return "Mail drafted."
        node = {"task": "draft_mail", "arguments": [{"name": "text", "value": request}]}
        return json.dumps({"outcome": "plan", "task_nodes": [node], "task_steps": ["draft it"]})


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def model(server: Server, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LanguageModel]:
    # What the owner knows must not leave whether or not a tagger is installed.
    monkeypatch.setattr("hearth.guard.egress.masking_door.shipped_tag", lambda cache_dir: None)
    settings = Settings.model_validate(
        {
            "owner": {"name": "Ada Quill", "email": "ada@quill.example", "country": "DE"},
            "network": {"allow": ["127.0.0.1"]},
            "mask": {"words": ["Nordlicht"]},
        }
    )
    chosen = LanguageModelSettings(base_url=server.url, model="far", mask=MASKED_KINDS)
    for name, text in (("contacts/all.vcf", CARDS), ("calendar/1.ics", EVENTS)):
        path = tmp_path / "owner" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    egress = Egress.from_settings(settings, store, lambda: FIXED_NOW)
    model = open_masked(chosen, Home(tmp_path, settings, store, {}), egress)
    assert isinstance(model, MaskedModel)
    yield model
    model.close()


def left(server: Server) -> list[str]:
    """What of the owner's own reached the server, in any spelling."""
    sent = " ".join(body.decode() + json.dumps(json.loads(body), ensure_ascii=False) for body in server.received)
    said = set(words(plain(sent).text).folded)
    return [secret for secret in SECRETS if fold(secret) in said or secret.casefold() in sent.casefold()]


@pytest.mark.parametrize("text", REQUESTS)
def test_a_plan_is_asked_for_without_a_name_and_comes_back_with_all_of_them(
    server: Server, model: LanguageModel, text: str
) -> None:
    context = Context("Ada Quill", (Entity("Mia Berger", "person", ("Mia", "Mimi")),), "DE")
    plan = LanguagePlanner(model).plan(Request(text, FIXED_NOW), context, TOOLS)
    assert isinstance(plan, Plan)
    assert plan.steps[0].arguments == {"text": text}
    assert left(server) == []


@pytest.mark.parametrize("text", REQUESTS)
def test_a_teacher_is_told_no_name(server: Server, model: LanguageModel, store: Store, text: str) -> None:
    teacher = EndpointTeacher(model, Budget(store, "far", Limits(), lambda: FIXED_NOW))
    (answer,) = teacher.label([Request(text, FIXED_NOW)], TOOLS)
    assert isinstance(answer, Plan)
    assert answer.steps[0].arguments == {"text": text}
    assert left(server) == []


def test_an_answer_is_reworded_without_a_name(server: Server, model: LanguageModel) -> None:
    text = "Mail to Mia Berger\nLindenhof 7, Altstadt drafted."
    answer = Answer(text, "done", tuple(Evidence(0, said, "draft_mail: 1") for said in REQUESTS))
    assert reword(answer, "write to Mimi", model).text == "Mail drafted."
    assert server.received
    assert left(server) == []


def test_the_ledger_says_what_stood_for_what(server: Server, model: LanguageModel, store: Store) -> None:
    LanguagePlanner(model).plan(Request("write mia@berger.example from Mia", FIXED_NOW), Context(), TOOLS)
    noted = [dict(entry.stands_for) for entry in Ledger(store).entries() if entry.stands_for]
    assert noted == [{"mail1@masked.example": "mia@berger.example", "Person1": "Mia"}]


@pytest.mark.parametrize(
    ("text", "secrets", "stays"),
    [
        ("remind me tomorrow at nine that the alarm code is 4217", ("4217",), "tomorrow at nine"),
        ("note that the door code is four two one seven, tomorrow at nine", ("four", "seven"), "tomorrow at nine"),
        ('remind me tomorrow that the wifi password is "blue otter 42"', ("otter", "42"), "tomorrow"),
        ("call mia on 030 5550123 tomorrow at nine", ("5550123", "030 555", "+4930"), "tomorrow at nine"),
        ("write mia@berger.example hello in 20 minutes", ("berger",), "20 minutes"),
    ],
)
def test_a_value_that_is_masked_in_the_request_is_told_nowhere_else(
    server: Server, model: LanguageModel, text: str, secrets: tuple[str, ...], stays: str
) -> None:
    context = Context("Ada Quill", (Entity("Mia Berger", "person", ("Mia", "Mimi")),), "DE")
    bare = ScriptedModel(['{"outcome": "needs", "reason": "?"}'])
    LanguagePlanner(bare).plan(Request(text, FIXED_NOW), context, TOOLS)
    assert any(secret in json.dumps(json.loads(bare.asked[0][0][1]["content"])["values"]) for secret in secrets)
    LanguagePlanner(model).plan(Request(text, FIXED_NOW), context, TOOLS)
    asked = json.loads(json.loads(server.received[0])["messages"][1]["content"])
    assert not any(secret in json.dumps(asked, ensure_ascii=False) for secret in secrets)
    assert stays in [value["said"] for value in asked["values"]]
    assert left(server) == []


def test_a_model_that_makes_up_a_stand_in_makes_no_plan(server: Server, model: LanguageModel) -> None:
    server.answer = lambda said: json.dumps(  # type: ignore[method-assign]
        {
            "outcome": "plan",
            "task_nodes": [{"task": "draft_mail", "arguments": [{"name": "text", "value": "to Person9"}]}],
        }
    )
    with pytest.raises(hearth.errors.PlannerError, match="'Person9', which stands for nothing"):
        LanguagePlanner(model).plan(Request("write to Mia", FIXED_NOW), Context(), TOOLS)


@pytest.mark.parametrize(
    "answer",
    [
        '{"outcome": "plan", "task_nodes": [{"task": "Person1 mail1@masked.example", "arguments": []}]}',
        '{"outcome": "Person1", "missing": ["Person1"], "nearest_tool": "mail1@masked.example"}',
        '{"outcome": "plan", "Person1": {"mail1@masked.example": []}}',
        '```json\n{"outcome": "plan", "reason": "to\\nPerson1\\tmail1@masked.example"}\n```',
        json.dumps({"outcome": "plan", "reason": "to\nPerson1" * 900}),
        json.dumps({"outcome": "plan", "task_nodes": [{"task": "draft_mail", "arguments": [{"name": "a\nPerson1"}]}]}),
        "no object, but\nPerson1 and mail1@masked.example",
    ],
)
def test_a_model_is_not_told_whom_its_own_stand_ins_stood_for_when_it_is_asked_again(
    server: Server, model: LanguageModel, answer: str
) -> None:
    server.answer = lambda said: answer  # type: ignore[method-assign]
    with pytest.raises(hearth.errors.PlannerError):
        LanguagePlanner(model).plan(Request("write mia@berger.example hello from Mia", FIXED_NOW), Context(), TOOLS)
    assert len(server.received) == 2
    assert left(server) == []


# ── There is no way round ─────────────────────────────────────────────────────────────────────────────────


def test_language_models_are_opened_behind_the_mask_only() -> None:
    callers = {"open_language_model": set[str](), "RemoteModel": set[str]()}
    packages = [ROOT / "src" / "hearth", *(ROOT / "packages").glob("*/hearth_*")]
    for path in (path for package in packages for path in package.rglob("*.py")):
        for name, found in callers.items():
            if re.search(rf"(?<!def )(?<!class )(?<!\")\b{name}\(", path.read_text()):
                found.add(str(path.relative_to(ROOT)))
    # What the service hands its model was masked on the devices it came from: it holds no owner's names to mask by.
    openers = {
        "src/hearth/models/llm/openai_endpoint.py",
        "packages/hearth-cloud/hearth_cloud/service/service.py",
        "packages/hearth-bench/hearth_bench/measure/learning/few_shot.py",  # the instructions of invented owners
    }
    assert callers == {
        "open_language_model": {"src/hearth/guard/egress/masking_door.py"},
        "RemoteModel": openers,
    }


@pytest.mark.parametrize(
    ("chosen", "leaves"),
    [
        ({"base_url": "https://api.example/v1", "model": "m"}, True),
        ({"base_url": "http://192.168.1.5:11434/v1", "model": "m"}, True),
        ({"base_url": "http://127.0.0.1.example/v1", "model": "m"}, True),
        ({"base_url": "http://127.0.0.1:11434/v1", "model": "m"}, False),
        ({"base_url": "http://localhost/v1", "model": "m"}, False),
        ({"kind": "llamacpp", "path": "m.gguf"}, False),
    ],
)
def test_what_is_another_machine(chosen: dict[str, Any], leaves: bool) -> None:
    assert leaves_device(LanguageModelSettings.model_validate(chosen)) is leaves


def test_a_refusal_speaks_of_the_owners_names(server: Server, model: LanguageModel) -> None:
    server.answer = lambda said: json.dumps({"outcome": "needs", "reason": "Which Person1 do you mean?"})  # type: ignore[method-assign]
    answer = LanguagePlanner(model).plan(Request("write to Mia", FIXED_NOW), Context(), TOOLS)
    assert isinstance(answer, Refusal)
    assert answer.reason == "Which Mia do you mean?"
