"""Remembering once, finding it again, and forgetting when it is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.errors import ToolError
from hearth.formats.tool_signature import to_plain
from hearth.memory.answers.question_answering import Chances
from hearth.memory.answers.recollection import Recollection
from hearth.memory.event_memory import EventMemory
from hearth.memory.facts import FactStore
from hearth.protocols import CallContext, HomeAnswer, Memory
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW, InMemoryMemory, check_tool, make_call
from hearth.tools.memory import find_answer, remember, search_memory


@pytest.fixture(params=["double", "real"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    if request.param == "double":
        yield InMemoryMemory()
        return
    store = Store.open(tmp_path / "hearth.db")
    yield Recollection(EventMemory(store), FactStore(store))
    store.close()


def test_what_is_remembered_is_found(memory: Memory) -> None:
    call = make_call(memory=memory)
    item = remember("my locker number is 48.", call)
    assert (item.text, item.at) == ("my locker number is 48", FIXED_NOW)
    found = search_memory("locker", make_call(key="k2", memory=memory))
    assert [(hit.id, hit.text) for hit in found] == [(item.id, "my locker number is 48")]
    assert search_memory("boiler", call) == []


def test_the_same_key_remembers_once(memory: Memory) -> None:
    call = make_call(memory=memory)
    remember("Lotte is allergic to hazelnuts", call)
    remember("Lotte is allergic to hazelnuts", call)
    assert len(search_memory("Lotte", call)) == 1


def test_taking_back_forgets_and_may_be_repeated(memory: Memory) -> None:
    call = make_call(memory=memory)
    result = to_plain(remember("my shoe size is 39", call))
    remember.undo({}, result, call)
    assert search_memory("shoe", call) == []
    remember.undo({}, result, call)


@pytest.mark.parametrize("text", ["", "  \n"])
def test_nothing_to_remember_is_refused(text: str, memory: Memory) -> None:
    with pytest.raises(ToolError, match="nothing to remember"):
        remember(text, make_call(memory=memory))


def test_an_empty_query_is_refused(memory: Memory) -> None:
    with pytest.raises(ToolError, match="query is empty"):
        search_memory(" ", make_call(memory=memory))


@pytest.mark.parametrize(("text", "message"), [("x" * 1_000_000, "1000000 characters"), ("a\0b", "which is not text")])
def test_what_no_memory_should_hold_is_refused(text: str, message: str, memory: Memory) -> None:
    for act in (remember, search_memory):
        with pytest.raises(ToolError, match=message):
            act(text, make_call(memory=memory))
    assert search_memory("x", make_call(memory=memory)) == []


@pytest.mark.parametrize("text", ["🔥 is hot", "שלום עולם", "line one\nline two", "' OR 1=1 --"])
def test_any_text_comes_back_as_it_was(text: str, memory: Memory) -> None:
    call = make_call(memory=memory)
    assert remember(text, call).text == text


def test_contract() -> None:
    call = make_call()
    check_tool(remember, {"text": "the fuse box is behind the coats"}, call)
    check_tool(search_memory, {"query": "fuse"}, call)


def test_a_question_is_answered_with_the_words_it_rests_on(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chances, "is_enough", True)  # how near a meaning is, is not known without an encoder
    remember("I parked on level 2, next to pillar C14", make_call(memory=memory))
    words = "hey, where did I park?"
    found = search_memory("park", make_call(key="k2", memory=memory, words=words))
    assert [(item.person, item.at) for item in found] == [("you", FIXED_NOW)]
    if isinstance(memory, Recollection):
        assert (found[0].text, found[0].quote) == (
            "on level 2, next to pillar C14",
            "I parked on level 2, next to pillar C14",
        )
        assert search_memory("dentist", make_call(key="k3", memory=memory, words="when did I see the dentist")) == []


def test_words_that_do_not_hold_the_query_are_not_asked(memory: Memory) -> None:
    remember("the boiler knocks at night", make_call(memory=memory))
    found = search_memory("the boiler", make_call(key="k2", memory=memory, words="write that to the caretaker"))
    assert [item.text for item in found] == ["the boiler knocks at night"]


class _Waiting(InMemoryMemory):
    """Knows nothing, and that something waits."""

    names: tuple[str, ...] = ()

    def find_answer(self, question: str, call: CallContext) -> HomeAnswer:
        return HomeAnswer("unknown", "", "8 notes", waiting=self.names)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), []),
        (("Takeout.zip",), ["1 thing waits to be brought in (Takeout.zip)"]),
        (("a", "b", "c", "d"), ["4 things wait to be brought in (a, b, c, …)"]),
        (("x\u202e\x1b" + "y" * 200,), [f"1 thing waits to be brought in (x··{'y' * 36}…)"]),
    ],
)
def test_where_nothing_answers_what_waits_to_be_brought_in_is_said(names: tuple[str, ...], said: list[str]) -> None:
    memory = _Waiting()
    memory.names = names
    call = make_call(memory=memory)
    assert find_answer("what is the shed code", call) is None
    behind = ": say `hearth import PATH` (see `hearth doctor`)"
    assert call.notices == ["I looked through 8 notes", *(f"{one}{behind}" for one in said)]
