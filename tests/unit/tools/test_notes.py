"""Notes and lists as Markdown files that an editor would also write."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from hearth.errors import Ambiguous, NotFound, SandboxError, ToolError
from hearth.formats.tool_signature import FunctionTool
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, InMemoryWorkspace, check_tool, make_call
from hearth.tools.notes import (
    add_note,
    add_to_list,
    append_to_note,
    delete_note,
    find_notes,
    read_list,
    remove_from_list,
)

Attempt = Callable[[], object]
NOTES: dict[str, bytes | str] = {
    "notes/wifi-at-the-allotment.md": "# Wifi at the allotment\n\nThe password is on the door.\n",
    "notes/sourdough.md": "---\ntags: [bread]\n---\n# Sourdough\n\nFeed the starter; keep it by the wifi router.\n",
    "notes/plain.md": "ask the baker about rye starter",
    "notes/house/heating.md": "# Heating\r\n\r\nNeeds 1.8 bar.\r\n",
    "notes/shopping.md": "# shopping\n\n- [ ] rye flour\n- [ ] 2 l milk\n- [x] coffee\n",
    "notes/picture.md": b"\x89PNG\0\0",
    "notes/.hidden.md": "wifi",
    "documents/wifi.md": "not a note",
}


@pytest.fixture
def call() -> CallContext:
    workspace = InMemoryWorkspace(NOTES)
    for days, path in enumerate(sorted(workspace.files)):
        workspace.times[path] = FIXED_NOW.astimezone(dt.UTC) - dt.timedelta(days=days)
    return make_call(workspace=workspace)


def text_of(path: str, call: CallContext) -> str:
    return call.workspace.read(f"notes/{path}.md").decode()


# ── Notes ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_without_title_is_its_text(call: CallContext) -> None:
    note = add_note("the spare key is with the neighbours on the second floor", call=call)
    assert note.id == "the-spare-key-is-with-the-neighbours-on-the"
    assert note.title == "the spare key is with…"
    assert note.modified == FIXED_NOW
    assert text_of(note.id, call) == "the spare key is with the neighbours on the second floor\n"


def test_a_note_with_title_gets_a_heading(call: CallContext) -> None:
    note = add_note("head torch for Jonas", title="gift ideas", call=call)
    assert (note.id, note.title, note.text) == ("gift-ideas", "gift ideas", "head torch for Jonas")
    assert text_of("gift-ideas", call) == "# gift ideas\n\nhead torch for Jonas\n"


def test_a_new_note_never_replaces_another(call: CallContext) -> None:
    ids = [add_note(f"text {n}", title="Sourdough", call=call).id for n in range(3)]
    assert ids == ["sourdough-2", "sourdough-3", "sourdough-4"]
    assert "Feed the starter" in text_of("sourdough", call)


@pytest.mark.parametrize(
    ("title", "id"),
    [
        ("Übergabe: Schlüssel & Zähler", "ubergabe-schlussel-zahler"),
        ("../../etc/passwd", "etc-passwd"),
        ("買い物メモ", "買い物メモ"),
        ("רשימה", "רשימה"),
        ("x" * 120, "x" * 60),
        ("買" * 120, "買" * 50),
    ],
)
def test_a_title_becomes_a_safe_file_name(title: str, id: str) -> None:
    note = add_note("text", title=title, call=make_call())
    assert note.id == id
    assert note.title == title
    assert len(f"{note.id}.md".encode()) < 200


def test_a_title_without_letters_is_named_by_its_call() -> None:
    ids = [add_note("text", title="🔥🔥", call=make_call(key=key)).id for key in ("k1", "k2", "k1")]
    assert ids[0] == ids[2] != ids[1]
    assert ids[0].startswith("note-")


@pytest.mark.parametrize(
    ("text", "title", "message"),
    [
        ("", "", "the note is empty"),
        (" \n ", "", "the note is empty"),
        ("a\0b", "", "NUL"),
        ("\udfff", "", "half of a character"),
        ("x" * 1_000_000, "", "has 1 MB; expected at most 999 kB"),
        ("x", "t" * 121, "title has 121 characters"),
        ("x", "a\x07b", "which is not text"),
    ],
)
def test_what_is_no_note(text: str, title: str, message: str) -> None:
    call = make_call()
    with pytest.raises(ToolError, match=message):
        add_note(text, title=title, call=call)
    assert call.workspace.list() == ()


def test_titles_and_texts_are_read_as_written(call: CallContext) -> None:
    found = {note.id: note for note in find_notes(call=call)}
    assert found["house/heating"].title == "Heating"
    assert found["house/heating"].text == "Needs 1.8 bar."
    assert found["sourdough"].title == "Sourdough"
    assert found["plain"].title == "ask the baker about rye…"
    assert found["plain"].text == "ask the baker about rye starter"
    assert ".hidden" not in found
    assert call.notices == ["notes/picture.md was left out: it is no text or larger than 1 MB."]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("the wifi", ["wifi-at-the-allotment", "sourdough"]),
        ("my note about sourdough", ["sourdough"]),
        ("starters", ["plain", "sourdough"]),
        ("HEATING bar", ["house/heating"]),
        ("notes", ["house/heating", "plain", "shopping", "sourdough", "wifi-at-the-allotment"]),
        ("wifi in the cellar", []),
    ],
)
def test_notes_are_found_best_first(query: str, expected: list[str], call: CallContext) -> None:
    assert [note.id for note in find_notes(query=query, call=call)] == expected


def test_a_long_note_is_shown_around_what_was_sought() -> None:
    text = "# Log\n\n" + "nothing here. " * 1000 + "the boiler was serviced. " + "nothing here. " * 1000
    call = make_call(workspace=InMemoryWorkspace({"notes/log.md": text}))
    [note] = find_notes(query="boiler", call=call)
    assert "the boiler was serviced" in note.text
    assert note.text.startswith("…")
    assert note.text.endswith("…")
    assert len(note.text) < 4_100
    [listed] = find_notes(call=call)
    assert len(listed.text) < 250, "in a list of all notes each is short"


def test_words_that_no_note_has_are_named(call: CallContext) -> None:
    assert [note.id for note in find_notes(query="note of the wifi volcano allotment", call=call)] == [
        "wifi-at-the-allotment"
    ]
    assert call.notices[1:] == ["Nothing has all of the words: I ignored “volcano”."]


def test_many_notes_are_cut_and_that_is_said() -> None:
    call = make_call(workspace=InMemoryWorkspace({f"notes/{n}.md": f"note {n} on bees" for n in range(60)}))
    assert len(find_notes(query="bees", call=call)) == 50
    assert call.notices == ["60 notes were found; the first 50 are given."]


def test_a_search_stops_when_cancelled(call: CallContext) -> None:
    call.cancelled.set()
    with pytest.raises(ToolError, match="stopped before all notes"):
        find_notes(call=call)


@pytest.mark.parametrize(
    ("id", "added", "expected"),
    [
        ("plain", "and about the oven", "ask the baker about rye starter\nand about the oven\n"),
        ("plain", "one\ntwo", "ask the baker about rye starter\n\none\ntwo\n"),
        ("shopping", "tea", "# shopping\n\n- [ ] rye flour\n- [ ] 2 l milk\n- [x] coffee\n- [ ] tea\n"),
        ("shopping", "* tea", "# shopping\n\n- [ ] rye flour\n- [ ] 2 l milk\n- [x] coffee\n* tea\n"),
    ],
)
def test_appending(id: str, added: str, expected: str, call: CallContext) -> None:
    append_to_note(id, added, call=call)
    assert text_of(id, call) == expected


def test_a_note_is_also_known_by_its_title(call: CallContext) -> None:
    assert append_to_note("Heating", "bled in May", call=call).id == "house/heating"
    add_note("second", title="Heating", call=call)
    with pytest.raises(Ambiguous, match="several notes are called 'Heating'"):
        append_to_note("Heating", "x", call=call)


def test_a_note_with_windows_line_ends_is_not_mixed(call: CallContext) -> None:
    append_to_note("house/heating", "bled in May", call=call)
    assert text_of("house/heating", call) == "# Heating\n\nNeeds 1.8 bar.\nbled in May\n"


@pytest.mark.parametrize(
    "id", ["nothing", "", "../documents/wifi", "../../etc/passwd", "documents/wifi", "plain.md", "\0"]
)
def test_an_unknown_note_is_refused(id: str, call: CallContext) -> None:
    attempts: tuple[Attempt, ...] = (lambda: append_to_note(id, "x", call=call), lambda: delete_note(id, call=call))
    for attempt in attempts:
        with pytest.raises((NotFound, SandboxError)):
            attempt()


def test_nothing_to_append_and_unreadable_notes_are_refused(call: CallContext) -> None:
    with pytest.raises(ToolError, match="nothing to add"):
        append_to_note("plain", " \n", call=call)
    with pytest.raises(ToolError, match="no text or larger than 1 MB; open it in an editor"):
        append_to_note("picture", "x", call=call)
    with pytest.raises(ToolError, match=r"the note has 1\.2 MB"):
        append_to_note(add_note("x" * 600_000, title="long", call=call).id, "y" * 600_000, call=call)


def test_deleting_answers_what_was_deleted(call: CallContext) -> None:
    assert delete_note("sourdough", call=call).title == "Sourdough"
    assert not call.workspace.exists("notes/sourdough.md")


# ── Lists ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["shopping", "the shopping list", "Shopping", "my Shopping List"])
def test_a_list_is_known_by_its_name(name: str, call: CallContext) -> None:
    assert read_list(name, call=call).name == "shopping"
    assert read_list(name, call=call).items == ["rye flour", "2 l milk"]


def test_a_note_in_prose_is_no_list_and_an_empty_list_is_one(call: CallContext) -> None:
    call.workspace.write("notes/boat.md", b"# Boat\n\nWe need rope, varnish and two fenders.\n")
    call.workspace.write("notes/tent.md", b"# Tent\n")
    with pytest.raises(NotFound, match="the note 'boat' is no list"):
        read_list("boat", call=call)
    assert read_list("tent", call=call).items == []


@pytest.mark.parametrize(("typed", "is_there"), [("shoping", True), ("the shpping list", True), ("chopping", False)])
def test_a_mistyped_list_is_the_one_that_is_there(typed: str, is_there: bool, call: CallContext) -> None:
    found = add_to_list(typed, ["tea"], call=call)
    assert (found.name.lower() == "shopping") is is_there


def test_items_are_added_once(call: CallContext) -> None:
    result = add_to_list("shopping", ["Rye  Flour", "eggs", "EGGS", "bread"], call=call)
    assert result.items == ["rye flour", "2 l milk", "eggs", "bread"]
    assert text_of("shopping", call) == (
        "# shopping\n\n- [ ] rye flour\n- [ ] 2 l milk\n- [x] coffee\n- [ ] eggs\n- [ ] bread\n"
    )
    assert call.notices == ["Rye Flour was on the list already.", "EGGS was on the list already."]


def test_a_ticked_item_is_opened_again(call: CallContext) -> None:
    assert add_to_list("shopping", ["coffee"], call=call).items == ["rye flour", "2 l milk", "coffee"]
    assert text_of("shopping", call).count("coffee") == 1


def test_adding_what_is_there_changes_nothing(call: CallContext) -> None:
    before = text_of("shopping", call)
    add_to_list("shopping", ["rye flour"], call=call)
    assert text_of("shopping", call) == before


def test_a_new_list_is_started() -> None:
    call = make_call()
    result = add_to_list("summer reading list", ["The Magic Mountain"], call=call)
    assert (result.name, result.items) == ("summer reading", ["The Magic Mountain"])
    assert text_of("summer-reading", call) == "# Summer reading\n\n- [ ] The Magic Mountain\n"
    assert read_list("summer reading", call=call) == result


def test_a_list_called_so_only_in_its_title_is_found() -> None:
    call = make_call(workspace=InMemoryWorkspace({"notes/einkauf.md": "# Shopping list\n\n* bread\n+ butter\n"}))
    assert read_list("shopping", call=call).items == ["bread", "butter"]
    assert add_to_list("shopping", ["tea"], call=call).items == ["bread", "butter", "tea"]
    assert len(call.workspace.list()) == 1


def test_items_are_taken_off_and_what_was_absent_is_said(call: CallContext) -> None:
    result = remove_from_list("shopping", ["milk", "bananas"], call=call)
    assert result.items == ["rye flour"]
    assert text_of("shopping", call) == "# shopping\n\n- [ ] rye flour\n- [x] coffee\n"
    assert call.notices == ["Not on the shopping list: bananas."]


@pytest.mark.parametrize(("said", "left"), [("rye flours", ["2 l milk"]), ("2 bottles of milk", ["rye flour"])])
def test_an_item_is_known_without_its_amount(said: str, left: list[str], call: CallContext) -> None:
    assert remove_from_list("shopping", [said], call=call).items == left


def test_a_longer_name_is_another_item() -> None:
    call = make_call(workspace=InMemoryWorkspace({"notes/shopping.md": "- [ ] milk chocolate\n"}))
    with pytest.raises(NotFound, match="'milk' not on the shopping list; on it: 'milk chocolate'"):
        remove_from_list("shopping", ["milk"], call=call)


@pytest.mark.parametrize(
    ("said", "taken"),
    [
        ("record player", "record player Elsie"),
        ("the gloves", "gloves for Jean"),
        ("trainers", "trainers Kit"),
        ("flour", "rye flour"),
        ("tea", ""),  # a tea pot is no tea
        ("bread", ""),  # there are two
        ("player", ""),
        ("gloves for Tom", ""),
    ],
)
def test_the_one_item_that_is_called_so_is_meant(said: str, taken: str) -> None:
    items = (
        "record player Elsie",
        "gloves for Jean",
        "trainers Kit",
        "rye flour",
        "tea pot",
        "rye bread",
        "brown bread",
    )
    files = {"notes/presents.md": "".join(f"- [ ] {item}\n" for item in items)}
    call = make_call(workspace=InMemoryWorkspace(files))
    if taken:
        assert remove_from_list("presents", [said], call=call).items == [item for item in items if item != taken]
        return
    with pytest.raises(NotFound, match="not on the presents list"):
        remove_from_list("presents", [said], call=call)


def test_an_empty_list_is_said_so(call: CallContext) -> None:
    remove_from_list("shopping", ["rye flour", "milk"], call=call)
    assert call.notices == ["Nothing is left on the shopping list."]
    other = make_call(workspace=call.workspace)
    assert read_list("shopping", call=other).items == []
    assert other.notices == ["Nothing is open on the shopping list."]


def test_an_unknown_list_names_the_known_ones(call: CallContext) -> None:
    attempts: tuple[Attempt, ...] = (
        lambda: read_list("packing", call=call),
        lambda: remove_from_list("packing", ["x"], call=call),
    )
    for attempt in attempts:
        with pytest.raises(NotFound, match="no list 'packing'; there are 'shopping'"):
            attempt()
    with pytest.raises(NotFound, match="there are no lists yet"):
        read_list("packing", call=make_call())


@pytest.mark.parametrize(
    ("name", "items", "message"),
    [
        ("", ["milk"], "does not say which list"),
        ("my list", ["milk"], "does not say which list"),
        ("shopping", [], "no item was given"),
        ("shopping", ["", " "], "no item was given"),
        ("shopping", ["x" * 301], "item has 301 characters"),
        ("shopping", ["a\0b"], "NUL"),
        ("shopping", [f"item {n}" for n in range(201)], "201 items were given; expected at most 200"),
        ("l" * 121, ["milk"], "name of the list has 121 characters"),
        ("shopping", "milk", "is not a list of items"),
        ("shopping", [3], "the item is 3; expected text"),
    ],
)
def test_what_cannot_go_on_a_list(name: str, items: list[str], message: str, call: CallContext) -> None:
    before = text_of("shopping", call)
    with pytest.raises(ToolError, match=message):
        add_to_list(name, items, call=call)
    assert text_of("shopping", call) == before


@pytest.mark.parametrize("item", ["- [x] bread", "🥖", "חלב", "line\nbreak", "# bread", "a" * 300])
def test_any_item_comes_back_as_one_line(item: str, call: CallContext) -> None:
    items = add_to_list("shopping", [item], call=call).items
    assert items[-1] == " ".join(item.split())
    assert read_list("shopping", call=call).items == items


# ── What every tool keeps ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (add_note, {"text": "new"}),
        (append_to_note, {"note": "a", "text": "more"}),
        (delete_note, {"note": "a"}),
        (add_to_list, {"list": "a", "items": ["x"]}),
        (add_to_list, {"list": "b", "items": ["x"]}),
        (remove_from_list, {"list": "a", "items": ["milk"]}),
    ],
)
def test_changes_are_taken_back_by_the_journal(
    tool: FunctionTool, arguments: dict[str, object], tmp_path: Path
) -> None:
    store = Store.open(tmp_path / "hearth.db")
    folder = Folder(tmp_path / "owner", store)
    folder.for_call("setup").write("notes/a.md", b"# a\n\n- [ ] milk\n")
    tool.call(arguments, make_call(key="k2", workspace=folder.for_call("k2")))
    assert folder.changes("k2")
    folder.undo("k2")
    left = folder.for_call("k3")
    assert left.list() == ("notes/a.md",)
    assert left.read("notes/a.md") == b"# a\n\n- [ ] milk\n"
    store.close()


def test_contract(call: CallContext) -> None:
    check_tool(add_note, {"text": "new", "title": "Title"}, call)
    check_tool(find_notes, {"query": "wifi"}, call)
    check_tool(append_to_note, {"note": "plain", "text": "more"}, call)
    check_tool(delete_note, {"note": "plain"}, call)
    check_tool(add_to_list, {"list": "shopping", "items": ["tea"]}, call)
    check_tool(read_list, {"list": "shopping"}, call)
    check_tool(remove_from_list, {"list": "shopping", "items": ["milk"]}, call)


def test_the_list_that_has_the_item_is_meant_where_none_is_named(call: CallContext) -> None:
    add_to_list("hardware", ["hinges"], call=call)
    assert remove_from_list("the", ["the hinges"], call=call).items == []
    with pytest.raises(ToolError, match="does not say which list"):
        remove_from_list("list", ["a thing on no list"], call=call)


def test_a_list_is_found_in_the_singular(call: CallContext) -> None:
    add_to_list("birthday cards", ["Ida"], call=call)
    assert add_to_list("birthday card", ["Bruno"], call=call).items == ["Ida", "Bruno"]


@pytest.mark.parametrize(
    ("heading", "title"), [("# Hi", "Hi"), ("## C#", "C"), ("# a # b #", "a # b"), ("# #", "#"), ("#  x  ", "x")]
)
def test_what_closes_a_heading_is_no_part_of_the_title(heading: str, title: str) -> None:
    call = make_call(workspace=InMemoryWorkspace({"notes/n.md": f"{heading}\n\nboiler\n".encode()}, now=FIXED_NOW))
    assert [one.title for one in find_notes(call, "boiler")] == [title]


PARTLY = {
    "notes/p1.md": "# Parish to do\n\n- [ ] agenda\n",
    "notes/shopping.md": "- [ ] oats\n",
    "notes/walk shopping.md": "# Walk shopping\n\n- [ ] boots\n",
}


def test_a_list_is_known_by_a_part_of_its_name() -> None:
    call = make_call(workspace=InMemoryWorkspace(dict(PARTLY)))
    assert read_list("the parish list", call=call).name == "parish to do"
    assert read_list("shopping", call=call).items == ["oats"]  # what is called just so goes first
    assert remove_from_list("parish", ["agenda"], call=call).items == []
    assert read_list("the shop list", call=call).name == "shopping"
    for other in ("sho", "shopkeeper"):
        with pytest.raises(NotFound, match="no list"):
            read_list(other, call=call)
    with pytest.raises(NotFound, match="no list 'parish council'"):
        read_list("parish council", call=call)
    call = make_call(workspace=InMemoryWorkspace({**PARTLY, "notes/p2.md": "# Parish walk\n\n- [ ] map\n"}))
    with pytest.raises(Ambiguous, match=r"2 lists fit 'parish': (parish to do|parish walk); .*; say which one"):
        read_list("parish", call=call)


def test_what_is_added_starts_a_list_unless_one_begins_so() -> None:
    call = make_call(workspace=InMemoryWorkspace(dict(PARTLY)))
    assert add_to_list("parish", ["minutes"], call=call).name == "parish to do"
    assert add_to_list("walk", ["map"], call=call).name == "walk shopping"
    assert add_to_list("to do", ["map"], call=call).name == "to do"
