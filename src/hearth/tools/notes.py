"""Tools for the owner's notes: Markdown files in `notes/`, one per note, and checklists among them.

A note's title is its first heading, else the beginning of its text; its id is the file's name without `.md`. A new
note never replaces another. A list is a note whose items are Markdown tasks (`- [ ] milk`); ticked items stay.
Not covered: pictures and links in notes, lists inside lists, other programs' list formats.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NewType

from hearth import patterns as re
from hearth.errors import Ambiguous, NotFound, ToolError
from hearth.formats.record_places import RecordPlaces, heading_of
from hearth.formats.tool_signature import ID_IS_A_KEY, Names, tool
from hearth.language.thesaurus import Spelling
from hearth.language.tokens import Wanted, excerpt, fold, id_asked, ignored, names, same_name, stem, stems, wanted
from hearth.protocols import CallContext, Workspace
from hearth.tools.files import decoded, text_bytes
from hearth.types import FilePath, Referent

NoteId = NewType("NoteId", str)

ROOT = "notes"
N_MAX_NOTE_BYTES = 1_000_000
N_MAX_TITLE_CHARACTERS = 120
N_MAX_ITEM_CHARACTERS = 300
N_MAX_ITEMS = 200
N_MAX_SHOWN_CHARACTERS = 4_000
N_MAX_LISTED_CHARACTERS = 200
"""Number of characters shown of each note when all are listed."""
N_MAX_FOUND = 50


@dataclass(frozen=True, slots=True)
class Note:
    id: NoteId
    title: str
    text: str
    """Text without the title's line; of a long note, the part that was searched for."""
    modified: dt.datetime


@dataclass(frozen=True, slots=True)
class ItemList:
    name: str
    items: list[str]
    """Open items, in their order."""


_PLACES = RecordPlaces()
_GENERIC = frozenset(["note", "jotting", "written", "noted", "list"])

# ── Notes ─────────────────────────────────────────────────────────────────────────────────────────────────


def _note_meant(note: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001 - a Resolver
    """Resolve the id or the title of a note. Raises: As `_existing`."""
    id, content = _existing(note, call)
    return replace(_referent(id, content), state=(("its text", _parts(id, content)[1]),))


def _list_meant(list: object, call: CallContext, given: Mapping[str, object]) -> Referent:
    """Resolve the name of a list that is there, or "the list" as the one that has the items. Raises: NotFound."""
    return _referent(*_existing_list(_list_of(list, given.get("items"), call), call))


def _any_list_meant(list: object, call: CallContext, given: Mapping[str, object]) -> Referent:  # noqa: ARG001
    """Resolve the name of a list; one that is not there is started under that name."""
    if (id := _list_added_to(list, call)) is not None:
        return _referent(*_existing(id, call))
    return Referent(_list_name(list), f"{_list_name(list)} (a new list)")


def _referent(id: NoteId, content: str) -> Referent:
    title = _parts(id, content)[0]
    return Referent(id, title, aliases=(_LIST_WORDS.sub("", _LIST_WORDS.sub("", title)).strip() or title,))


NoteMeant = Annotated[NoteId, Names(_note_meant)]
ExistingList = Annotated[str, Names(_list_meant)]
AnyList = Annotated[str, Names(_any_list_meant)]


@tool(effect="change", answer="Noted: {title}[: {text}]")
def add_note(text: str, call: CallContext, title: str = "") -> Note:
    """Write a new note for the owner.

    Args:
        text: What is noted.
        title: A heading, when the owner gives one.
    Examples:
        take a note: the spare key is with the neighbours on the second floor
        note down that the heating needs 1.8 bar
        make a note called "gift ideas" with the text "head torch for Jonas"
    """
    body = _body(text)
    heading = _line(title, "title", N_MAX_TITLE_CHARACTERS)
    if not body and not heading:
        raise ToolError("the note is empty; say what to write down")
    content = f"# {heading}\n\n{body}\n" if heading else f"{body}\n"
    id = _free_id(heading or _short_title(body, 9), call)
    _write(id, content, call)
    return _note(id, content, call.now)


@tool(unconfirmed="file", origins=ID_IS_A_KEY, answer="{title}[: {text}]", answer_none="I found no such note.")
def find_notes(call: CallContext, query: str = "") -> list[Note]:
    """Find notes by words of their title or text, the best match first; without words all notes, the newest first.

    Args:
        query: Words of the title or the text; all must occur.
    Examples:
        what did I write down about the wifi
        show my notes on sourdough
        which notes do I have
    """
    contents = list(_contents(call))
    if id := id_asked(query):
        return [Note(n, title, body, _modified(n, call)) for n, title, body in contents if n == id]
    words = wanted(query, _GENERIC)
    found = [one for one in (_ranked(words, *content, call) for content in contents) if one is not None]
    if not found and (known := words.known_in(f"{_name(id, title)} {body}" for id, title, body in contents)):
        found = [one for one in (_ranked(known, *content, call) for content in contents) if one is not None]
        if found:
            call.notices.append(ignored(query, known, _GENERIC))
    found.sort(key=lambda scored: (-scored[0], -scored[1].modified.timestamp(), scored[1].id))
    if len(found) > N_MAX_FOUND:
        call.notices.append(f"{len(found)} notes were found; the first {N_MAX_FOUND} are given.")
    return [note for _, note in found[:N_MAX_FOUND]]


def _contents(call: CallContext) -> Iterator[tuple[NoteId, str, str]]:
    """Yield id, title and text of each readable note. Raises: ToolError: It was stopped."""
    for id in _ids(call.workspace):
        if call.cancelled.is_set():
            raise ToolError("stopped before all notes were looked at; ask again")
        content = _content(id, call)
        if content is not None:
            yield (id, *_parts(id, content))


def _modified(id: NoteId, call: CallContext) -> dt.datetime:
    return call.workspace.modified(_path(id)).astimezone(call.now.tzinfo)


def _name(id: NoteId, title: str) -> str:
    return f"{title} {id.replace('-', ' ')}"


def _ranked(words: Wanted, id: NoteId, title: str, body: str, call: CallContext) -> tuple[int, Note] | None:
    """Return a note with how well it fits; None where it lacks a word."""
    missing = words.missing_in(_name(id, title))
    if missing and missing.missing_in(body):
        return None
    n_in_title = len(words.patterns) - len(missing.patterns)
    modified = _modified(id, call)
    listed = excerpt(" ".join(body.split()), words, N_MAX_LISTED_CHARACTERS)
    note = Note(id, title, excerpt(body, words, N_MAX_SHOWN_CHARACTERS) if words else listed, modified)
    return 10 * n_in_title + words.count_in(body), note


@tool(effect="change", unconfirmed="file", origins=ID_IS_A_KEY, answer="Added to the note {title}.")
def append_to_note(note: NoteMeant, text: str, call: CallContext) -> Note:
    """Add a text at the end of a note.

    Args:
        note: Which note.
        text: What to add.
    Examples:
        add "bring the drill" to my moving note
        append to the garden note: tulips planted by the fence
    """
    id, content = _existing(note, call)
    body = _body(text)
    if not body:
        raise ToolError("there is nothing to add to the note; say what")
    before = content.rstrip()
    marker = _MARKER.match(before.rpartition("\n")[2])
    if marker and "\n" not in body and not _ENTRY.match(body):
        # The note ends with a list: the addition becomes one more item of it.
        body = f"{marker[1]}[ ] {body}" if marker[2] else f"{marker[1]}{body}"
    content = f"{before}\n\n{body}\n" if "\n" in body else f"{before}\n{body}\n"
    _write(id, content, call)
    return _note(id, content, call.now)


@tool(effect="change", unconfirmed="file", origins=ID_IS_A_KEY, answer="Deleted the note {title}.")
def delete_note(note: NoteMeant, call: CallContext) -> Note:
    """Delete a note. It can be brought back with `hearth undo`.

    Args:
        note: Which note.
    Examples:
        delete my note about the old router
        get rid of the packing note
    """
    id, content = _existing(note, call)
    modified = _modified(id, call)
    call.workspace.delete(_path(id))
    return _note(id, content, modified)


# ── Lists ─────────────────────────────────────────────────────────────────────────────────────────────────


@tool(effect="change", unconfirmed="file", answer="Now on the {name} list:[ {items}.]")
def add_to_list(list: AnyList, items: list[str], call: CallContext) -> ItemList:
    """Put items on a list such as the shopping list; a list that does not exist is started.

    Args:
        list: Which list, e.g. "shopping" or "packing".
        items: What to put on it, one item each.
    Examples:
        add milk and eggs to the shopping list
        put batteries on my hardware store list
        we need oat milk, put it on the shopping list
    """
    wanted_items = _items(items)
    id = _list_added_to(list, call)
    if id is None:
        name = _list_name(list)
        id, lines = _free_id(name, call), [f"# {name[0].upper()}{name[1:]}", ""]
    else:
        lines = _existing(id, call)[1].rstrip().split("\n")
    known = {_same(entry.text): number for number, line in enumerate(lines) if (entry := _entry(line))}
    n_there = 0
    for item in wanted_items:
        number = known.get(_same(item))
        if number is None:
            known[_same(item)] = len(lines)
            lines.append(f"- [ ] {item}")
        elif (entry := _entry(lines[number])) and entry.is_done:
            lines[number] = lines[number].replace("[x]", "[ ]", 1).replace("[X]", "[ ]", 1)
        else:
            n_there += 1
            call.notices.append(f"{item} was on the list already.")
    if n_there < len(wanted_items):
        _write(id, "\n".join(lines) + "\n", call)
    return _item_list(id, lines)


@tool(unconfirmed="file", answer="On the {name} list:[ {items}.]")
def read_list(list: ExistingList, call: CallContext) -> ItemList:
    """Read a list such as the shopping list: what is still open on it.

    Args:
        list: Which list, e.g. "shopping".
    Examples:
        what's on my shopping list
        read me the packing list
    """
    id, content = _existing_list(list, call)
    result = _item_list(id, content.split("\n"))
    if _parts(id, content)[1].strip() and not any(map(_entry, content.split("\n"))):
        raise NotFound(f"the note {result.name!r} is no list; ask what it says, or name another list")
    if not result.items:
        call.notices.append(f"Nothing is open on the {result.name} list.")
    return result


@tool(effect="change", unconfirmed="file", answer="Still on the {name} list:[ {items}.]")
def remove_from_list(list: ExistingList, items: list[str], call: CallContext) -> ItemList:
    """Take items off a list such as the shopping list.

    Args:
        list: Which list, e.g. "shopping".
        items: What to take off, one item each.
    Examples:
        take bananas off the shopping list
        I have sunscreen and towels now, remove them from the packing list
    """
    unwanted = _items(items)
    id, content = _existing_list(_list_of(list, unwanted, call), call)
    lines = content.rstrip().split("\n")
    taken: set[int] = set()
    absent: tuple[str, ...] = ()
    for item in unwanted:
        place = _place_of(item, lines)
        if place is None:
            absent = (*absent, item)
        else:
            taken.add(place)
    left = [line for number, line in enumerate(lines) if number not in taken]
    result = _item_list(id, left)
    if not taken:
        raise NotFound(f"{names(absent)} not on the {result.name} list; on it: {names(result.items, 10) or 'nothing'}")
    if absent:
        call.notices.append(f"Not on the {result.name} list: {', '.join(absent)}.")
    if not result.items:
        call.notices.append(f"Nothing is left on the {result.name} list.")
    _write(id, "\n".join(left) + "\n", call)
    return result


@dataclass(frozen=True, slots=True)
class ListItem:
    """An item of a list, open or done."""

    text: str
    is_done: bool


_MARKER = re.compile(r"^(\s*[-*+]\s+)(\[[ xX]\]\s+)?")
_ENTRY = re.compile(r"\s*[-*+]\s+(?:\[([ xX])\]\s+)?(\S.*)")


def _entry(line: str) -> ListItem | None:
    match = _ENTRY.match(line)
    return ListItem(match[2].rstrip(), (match[1] or " ") in "xX") if match else None


def _same(item: str) -> str:
    """Return the key by which two items are equal."""
    return " ".join(fold(item).split())


def _place_of(item: str, lines: Sequence[str]) -> int | None:
    """Return the line of the item: the same words, else the one open item that matches except for an amount (`2 l
    milk`), else the one that is called by its own words and more ("record player Elsie")."""
    entries = [(n, entry) for n, line in enumerate(lines) if (entry := _entry(line))]
    exact = [n for n, entry in entries if _same(entry.text) == _same(item)]
    near = [n for n, entry in entries if not entry.is_done and _telling(entry.text) == _telling(item)]
    if exact or near:
        return exact[0] if exact else near[0] if len(near) == 1 else None
    longer = [n for n, entry in entries if not entry.is_done and _is_named(item, entry.text)]
    return longer[0] if len(longer) == 1 else None


_OF_IT = re.compile(r"\s*(?:[-–,:;(]|(?:for|from|of|with|in|at|to)\b|[A-Z0-9])|\s*\Z")
"""Begins what is only said of an item: whom it is for, from where, how much."""


def _is_named(said: str, text: str) -> bool:
    """Return whether an item is called by fewer of its words: "flour" is "rye flour", "gloves" are "gloves for Jean",
    but "milk" is no "milk chocolate"."""
    words = [stem(word) for word in re.findall(r"[\w'’-]+", _same(said)) if stem(word) not in _AMOUNTS]
    written = list(re.finditer(r"[\w'’-]+", text))
    whole = [stem(_same(word[0])) for word in written]
    if not words or len(whole) <= len(words):
        return False
    if whole[-len(words) :] == words:
        return True
    is_begun = whole[: len(words)] == words
    return is_begun and (len(words) > 1 or _OF_IT.match(text, written[len(words) - 1].end()) is not None)


_AMOUNT_NAMES = (
    "g kg mg l ml cl dl oz lb m cm mm x a an of the some pack bag bottle box can tin jar piece slice loaf carton bunch "
    "litre liter kilo"
)
_AMOUNTS = frozenset(_AMOUNT_NAMES.split())


def _telling(item: str) -> frozenset[str]:
    """Return the words of an item without its amount, in the singular."""
    said = frozenset(word for word in stems(item) if word not in _AMOUNTS and not word[0].isdigit())
    return said or stems(item)


def _items(items: object) -> tuple[str, ...]:
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise ToolError(f"{items!r} is not a list of items; give one text each")
    clean = tuple(dict.fromkeys(_line(item, "item", N_MAX_ITEM_CHARACTERS).rstrip(".,;") for item in items))
    clean = tuple(item for item in clean if item)
    if not clean:
        raise ToolError("no item was given; say what, e.g. 'milk'")
    if len(clean) > N_MAX_ITEMS:
        raise ToolError(f"{len(clean)} items were given; expected at most {N_MAX_ITEMS} at once")
    return clean


_HAS_ITEMS = re.compile(r"^\s*[-*+] \[[ xX]\] ", re.M)
_ANY_LIST = re.compile(r"\s*(?:the|(?:(?:my|the|our|a|that|this)\s+)?lists?)\s*", re.I)
_LIST_WORDS = re.compile(r"^(?:my|the|our|a|an)\s+|\s*\blist\s*$", re.I)


def _list_name(name: object) -> str:
    """Return the bare list name: `the shopping list` is `shopping`."""
    clean = _line(name, "name of the list", N_MAX_TITLE_CHARACTERS)
    short = _LIST_WORDS.sub("", _LIST_WORDS.sub("", clean)).strip()
    if not short:
        raise ToolError(f"{clean!r} does not say which list; give its name, e.g. 'shopping'")
    return short


def list_names(call: CallContext) -> tuple[str, ...]:
    """Return what the owner's lists are called."""
    return tuple(
        _LIST_WORDS.sub("", title).strip() or title for _, title, body in _contents(call) if _HAS_ITEMS.search(body)
    )


def _list_id(name: object, call: CallContext) -> NoteId | None:
    """Return the note that is this list, or None."""
    known = _ids(call.workspace)
    if name in known:
        return NoteId(str(name))
    sought = _slug(_list_name(name))
    for candidate in (sought, f"{sought}-list"):
        if candidate in known:
            return NoteId(candidate)
    found = _with_title(sought, call, is_list=True) or _alike(sought, call)
    if len(found) > 1:
        raise Ambiguous(f"several lists are called {name!r}: {names(found)}; say which one by its file's name")
    if not found and (meant := _as_meant(sought, known)) != sought:
        return _list_id(meant, call)
    return found[0] if found else None


def _alike(sought: str, call: CallContext) -> list[NoteId]:
    """Return the lists whose name has the same words, plural or not: "the Christmas card list"."""
    asked = stems(sought.replace("-", " "))
    return [id for id, title in _titles(call) if stems(title) == asked]


def _list_added_to(name: object, call: CallContext) -> NoteId | None:
    """Return the list of that name, or the one whose name begins with it; None where one is to be started."""
    if (id := _list_id(name, call)) is not None:
        return id
    begun = [id for id, title in _titles(call) if _slug(title).startswith(f"{_slug(_list_name(name))}-")]
    return begun[0] if len(begun) == 1 else None


_LEAST_BEGUN = 4
"""Letters of a list's name that are enough to tell it by its beginning."""


def _named_in_part(name: str, call: CallContext) -> NoteId | None:
    """Return the one list whose name has all the words of what was said: "the council list" is "council to do"; else
    the one whose name begins like it: "the shop" is "shopping".

    Raises:
        Ambiguous: Several have them.
    """
    asked, begun = stems(name), _slug(name)
    titles = _titles(call)
    fitting = {id: title for id, title in titles if asked and asked <= stems(title)}
    if not fitting and len(begun) >= _LEAST_BEGUN:
        fitting = {id: title for id, title in titles if _slug(title).startswith(begun)}
    if len(fitting) > 1:
        choices = "; ".join(title[0].lower() + title[1:] for title in fitting.values())
        raise Ambiguous(f"{len(fitting)} lists fit {name!r}: {choices}; say which one")
    return next(iter(fitting), None)


def _titles(call: CallContext) -> list[tuple[NoteId, str]]:
    """Return what the lists that have items are called, without "list"."""
    return [(id, _LIST_WORDS.sub("", title)) for id, title, body in _contents(call) if _HAS_ITEMS.search(body)]


def _list_of(list: object, items: object, call: CallContext) -> object:
    """Return the one list that has the items where "the list" does not say which, else the words as they are."""
    if not isinstance(list, str) or not _ANY_LIST.fullmatch(list) or not isinstance(items, Sequence):
        return list
    return _holding([str(item) for item in items], call) or list


def lists_with(items: Sequence[str], call: CallContext) -> dict[NoteId, str]:
    """Return the lists on which one of the items is open, and what they are called."""
    return {
        id: _LIST_WORDS.sub("", title).strip() or title
        for id, title, body in _contents(call)
        if _HAS_ITEMS.search(body) and any(_is_open_in(item, body) for item in items)
    }


def _holding(items: Sequence[str], call: CallContext) -> NoteId | None:
    """Return the one list on which an item stands; None where there is none, or several."""
    found = list(lists_with(items, call))
    return found[0] if len(found) == 1 else None


def _is_open_in(item: str, body: str) -> bool:
    lines = body.split("\n")
    place = _place_of(item, lines)
    entry = _entry(lines[place]) if place is not None else None
    return entry is not None and not entry.is_done


def _as_meant(slug: str, known: Sequence[NoteId]) -> str:
    """Return a slug with words that are clearly mistyped words of known notes mended: `shoping` is `shopping`."""
    own = frozenset(word for id in known for word in id.split("-"))
    meant = {word: Spelling.shipped().meant(word, own) for word in slug.split("-")}
    return "-".join(mended if mended in own else word for word, mended in meant.items())


def _with_title(sought: str, call: CallContext, *, is_list: bool = False) -> list[NoteId]:
    """Return the notes with that title, for a list without the words around its name."""
    listing = call.workspace.list(ROOT, "*.md")
    called = f"{is_list} {sought}"
    known = _PLACES.find(listing, called)
    if known is not None and _is_called(NoteId(known), sought, call, is_list=is_list):
        return [NoteId(known)]
    found = [id for id in _ids(call.workspace) if _is_called(id, sought, call, is_list=is_list)]
    if len(found) == 1:
        _PLACES.keep(listing, called, found[0])
    return found


def _is_called(id: NoteId, sought: str, call: CallContext, *, is_list: bool) -> bool:
    content = _content(id, call)
    title = _parts(id, content)[0] if content is not None else ""
    bare = _LIST_WORDS.sub("", _LIST_WORDS.sub("", title)) if is_list else title
    return bool(title) and _slug(bare) == sought


def _existing_list(name: object, call: CallContext) -> tuple[NoteId, str]:
    id = _list_id(name, call) or _named_in_part(_list_name(name), call)
    if id is None:
        lists = [
            _item_list(other, content.split("\n")).name
            for other in _ids(call.workspace)
            if (content := _content(other, call)) is not None and _HAS_ITEMS.search(content)
        ]
        known = f"there are {names(lists, 10)}" if lists else "there are no lists yet"
        raise NotFound(f"no list {_list_name(name)!r}; {known}")
    return _existing(id, call)


def _item_list(id: NoteId, lines: Sequence[str]) -> ItemList:
    title = _parts(id, "\n".join(lines))[0]
    name = _LIST_WORDS.sub("", title).strip() or title
    open_items = [entry.text for line in lines if (entry := _entry(line)) and not entry.is_done]
    return ItemList(name[0].lower() + name[1:] if name[1:2].islower() else name, open_items)


# ── Lists as a whole, for those that people share ─────────────────────────────────────────────────────────


def list_items(name: str, call: CallContext) -> dict[str, ListItem] | None:
    """Return the items of a list in their order, by a key that spelling does not change; None: there is no such list.

    Raises:
        Ambiguous: Several lists are called so. ToolError: It cannot be read.
    """
    id = _exact_list_id(name, call)
    if id is None:
        return None
    entries = [entry for line in _existing(id, call)[1].split("\n") if (entry := _entry(line))]
    return {_same(entry.text): entry for entry in entries}


def put_list_items(name: str, items: Mapping[str, ListItem], call: CallContext) -> tuple[str, str]:
    """Let a list hold just these items; other lines of it stay. Return its id and name.

    Raises:
        Ambiguous: Several lists are called so. ToolError: It cannot be read or written.
    """
    id = _exact_list_id(name, call)
    if id is None:
        said = _list_name(name)
        id, lines = _free_id(said, call), [f"# {said[0].upper()}{said[1:]}", ""]
    else:
        lines = _existing(id, call)[1].rstrip().split("\n")
    kept: list[str] = []
    known: set[str] = set()
    for line in lines:
        entry = _entry(line)
        if entry is None:
            kept.append(line)
        elif (item := items.get(_same(entry.text))) is not None and _same(entry.text) not in known:
            known.add(_same(entry.text))
            kept.append(line if item.is_done == entry.is_done else _item_line(item))
    kept += [_item_line(item) for key, item in items.items() if key not in known]
    _write(id, "\n".join(kept) + "\n", call)
    return id, _item_list(id, kept).name


def _exact_list_id(name: str, call: CallContext) -> NoteId | None:
    """Return the list of just this name; one that is only called alike is not what people share. Raises: Ambiguous."""
    sought = same_name(_list_name(name))
    titles = ((id, title) for id, title, _ in _contents(call))
    found = [id for id, title in titles if same_name(_LIST_WORDS.sub("", _LIST_WORDS.sub("", title))) == sought]
    if len(found) > 1:
        raise Ambiguous(f"several lists are called {name!r}: {names(found)}; only one can be shared")
    return found[0] if found else None


def _item_line(item: ListItem) -> str:
    return f"- [{'x' if item.is_done else ' '}] {item.text}"


# ── Files ─────────────────────────────────────────────────────────────────────────────────────────────────


def _ids(workspace: Workspace) -> tuple[NoteId, ...]:
    paths = workspace.list(ROOT, "*.md")
    return tuple(
        NoteId(path.removeprefix(ROOT + "/").removesuffix(".md")) for path in paths if "/." not in path[len(ROOT) :]
    )


def _path(id: str) -> FilePath:
    return FilePath(f"{ROOT}/{id}.md")


def _content(id: NoteId, call: CallContext) -> str | None:
    """Return the note's text, or None (with a notice) when it is too large or no text."""
    path = _path(id)
    if call.workspace.stat(path).size_bytes <= N_MAX_NOTE_BYTES:
        text = decoded(call.workspace.read(path))
        if text is not None:
            text = text.replace("\r\n", "\n")
            call.contents[id] = (_digest(text),)
            return text
    notice = f"{path} was left out: it is no text or larger than 1 MB."
    if notice not in call.notices:
        call.notices.append(notice)
    return None


def _existing(note: object, call: CallContext) -> tuple[NoteId, str]:
    """Return id and text of a note given by its id or its exact title.

    Raises:
        NotFound, Ambiguous: No note, or several. ToolError: It cannot be read.
    """
    if not isinstance(note, str) or not note.strip():
        raise NotFound(f"{note!r} is no note; give its id or title, as find_notes tells it")
    found = [id for id in _ids(call.workspace) if id == note] or _with_title(_slug(note), call)
    if len(found) > 1:
        raise Ambiguous(f"several notes are called {note!r}: {names(found)}; say which one by its id")
    if not found:
        raise NotFound(f"no note {note[:100]!r}; find_notes lists what is there")
    content = _content(found[0], call)
    if content is None:
        raise ToolError(f"{_path(found[0])!r} is no text or larger than 1 MB; open it in an editor")
    return found[0], content


def _write(id: NoteId, content: str, call: CallContext) -> None:
    call.workspace.write(_path(id), text_bytes(content, "note", N_MAX_NOTE_BYTES))
    call.contents[id] = (*call.contents.get(id, ())[:1], _digest(content))


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:32]


def _note(id: NoteId, content: str, modified: dt.datetime) -> Note:
    title, body = _parts(id, content)
    shown = body if len(body) <= N_MAX_SHOWN_CHARACTERS else body[:N_MAX_SHOWN_CHARACTERS] + "…"
    return Note(id, title, shown, modified)


def _parts(id: str, content: str) -> tuple[str, str]:
    """Return title and text: the first heading is the title, else the first words; a bare list has its file's name."""
    text = re.sub(r"\A---\n.*?\n---\n", "", content, count=1, flags=re.S).strip()
    first, _, rest = text.partition("\n")
    if title := heading_of(first):
        return title[:N_MAX_TITLE_CHARACTERS], rest.strip()
    is_list = _MARKER.match(first)
    return ("" if is_list else _short_title(text, 5)) or id.rpartition("/")[2].replace("-", " "), text


def _short_title(text: str, n_words: int) -> str:
    """Return the first words of the first line."""
    first = text.strip().partition("\n")[0]
    words = _MARKER.sub("", first).split()
    shown = " ".join(words[:n_words])
    return shown if len(words) <= n_words and len(shown) <= 60 else shown[:60].rstrip(" ,;:") + "…"


def _slug(text: str) -> str:
    return "-".join(re.findall(r"[^\W_]+", fold(text)))[:60].strip("-")


def _free_id(title: str, call: CallContext) -> NoteId:
    """Return a file name for a new note, from its title; never that of another note."""
    # Letters of three bytes and more make long names: the limit of a file name is counted in bytes.
    slug = (
        _slug(title).encode()[:150].decode(errors="ignore")
        or f"note-{hashlib.sha256(call.key.encode()).hexdigest()[:8]}"
    )
    number, id = 1, slug
    while call.workspace.exists(_path(id)):
        number += 1
        id = f"{slug}-{number}"
    return NoteId(id)


def _body(text: object) -> str:
    if not isinstance(text, str):
        raise ToolError(f"the text of the note is {text!r}; expected text")
    text_bytes(text, "text of the note", N_MAX_NOTE_BYTES - 1000)
    return text.replace("\r\n", "\n").strip()


def _line(text: object, what: str, n_max: int) -> str:
    """Return text as one line. Raises: ToolError: Too long, or no text."""
    if not isinstance(text, str):
        raise ToolError(f"the {what} is {text!r}; expected text")
    clean = " ".join(text.split())
    if len(clean) > n_max:
        raise ToolError(f"the {what} has {len(clean)} characters; expected at most {n_max}; shorten it")
    text_bytes(clean, what, 10_000)
    wrong = next((c for c in clean if c < " " or c == "\x7f"), "")
    if wrong:
        raise ToolError(f"the {what} holds the character {wrong!r}, which is not text; leave it out")
    return clean


TOOLS = (add_note, find_notes, append_to_note, delete_note, add_to_list, read_list, remove_from_list)
