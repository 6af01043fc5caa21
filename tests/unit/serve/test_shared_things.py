"""What people of a household share: by rules on both sides, exact names, nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hearth.config import Settings, parse_settings
from hearth.errors import Ambiguous
from hearth.serve.served import MOST_ITEMS, SharedList, agreed_lists, merged_lists, with_borrowed
from hearth.testing import make_call
from hearth.tools.notes import ListItem, list_items, put_list_items, read_list

DEVICES = """
[network]
allow = ["broker.lan"]
[network.host."broker.lan"]
private = true
[home.mqtt]
host = "broker.lan"
username = "hearth"
password_env = "BROKER"
[home.assistant]
url = "https://ha.lan"
token_env = "HA"
[[home.device]]
name = "floor lamp"
room = "living room"
kind = "lamp"
mqtt = "light.floor"
[[home.device]]
name = "front door"
kind = "lock"
entity = "lock.front"
[[home.device]]
name = "old lamp"
kind = "lamp"
"""


def settings(text: str) -> Settings:
    return parse_settings(text, Path("hearth.toml"))


def lists(**people: dict[str, list[str]]) -> tuple[tuple[SharedList, ...], tuple[str, ...]]:
    texts = {
        name: "\n".join(f'[share."{other}"]\nlists = {shared!r}' for other, shared in said.items())
        for name, said in people.items()
    }
    return agreed_lists({name: settings(text) for name, text in texts.items()})


def test_a_list_is_shared_once_both_name_it() -> None:
    found, refused = lists(Mira={"Jo": ["Shopping"]}, Jo={"mira": ["shopping"]})
    assert found == (SharedList("Shopping", ("Jo", "Mira")),)
    assert refused == ()


@pytest.mark.parametrize(
    ("people", "says"),
    [
        ({"Mira": {"Jo": ["shopping"]}, "Jo": {}}, "Jo does not share it with Mira"),
        ({"Mira": {"Jo": ["shopping"]}, "Jo": {"Mira": ["presents"]}}, "Jo does not share it with Mira"),
        ({"Mira": {"Ben": ["shopping"]}, "Jo": {}}, "nobody else of that name lives here"),
        ({"Mira": {"Mira": ["shopping"]}}, "nobody else of that name lives here"),
    ],
)
def test_what_one_side_says_alone_is_not_shared(people: dict[str, dict[str, list[str]]], says: str) -> None:
    found, refused = lists(**people)
    assert found == ()
    assert says in refused[0]


@pytest.mark.parametrize("order", [("Jose", "José"), ("José", "Jose")])
def test_a_list_is_shared_with_exactly_whom_it_names(order: tuple[str, str]) -> None:
    both = {name: {"Mira": ["shopping"]} for name in order}
    found, refused = lists(**both, Mira={"José": ["shopping"]})
    assert found == (SharedList("shopping", ("José", "Mira") if "José" < "Mira" else ("Mira", "José")),)
    assert refused == ("the list 'shopping' of Jose: Mira does not share it with Jose",)
    found, _ = lists(**both, Mira={"Jose\u0301": ["shopping"]})  # the same letters, stored otherwise
    assert len(found) == 1


def test_a_list_is_shared_under_exactly_its_name() -> None:
    found, refused = lists(Mira={"Jo": ["café"]}, Jo={"Mira": ["cafe"]})
    assert (found, len(refused)) == ((), 2)


def test_whom_two_names_may_mean_shares_nothing() -> None:
    people = {"Mira": {"Jo": ["x"]}, "Ｍira": {"Jo": ["x"]}, "Jo": {"Mira": ["x"]}}
    found, refused = lists(**people)
    assert found == ()
    assert "nobody else of that name" in " ".join(refused)


def test_nobody_sees_anothers_list_through_a_third() -> None:
    said = ["shopping"]
    chain = {"Mira": {"Jo": said}, "Jo": {"Mira": said, "Ben": said}, "Ben": {"Jo": said}}
    found, refused = lists(**chain)
    assert found == ()
    assert "Ben and Mira would see each other's" in refused[0]
    chain["Mira"]["Ben"] = chain["Ben"]["Mira"] = said
    found, refused = lists(**chain)
    assert [one.people for one in found] == [("Ben", "Jo", "Mira")]
    assert refused == ()


def items(*texts: str) -> dict[str, ListItem]:
    return {text.lower().strip("x "): ListItem(text.strip("x "), text.endswith("x")) for text in texts}


def test_changes_of_several_sides_are_all_taken_over() -> None:
    base = items("milk", "eggs", "bread")
    shared = merged_lists(base, base, items("milk", "bread", "rice"))  # one took eggs off and put rice on
    shared = merged_lists(shared, base, items("milk x", "eggs", "bread"))  # the other ticked milk
    assert list(shared) == ["milk", "bread", "rice"]
    assert shared["milk"].is_done
    assert merged_lists(shared, shared, {}) == {}


def test_in_any_order_what_was_not_touched_stays() -> None:
    drawn = random.Random(7)
    words = [f"item {n}" for n in range(20)]
    for _ in range(200):
        base = items(*drawn.sample(words, 8))
        sides = [items(*drawn.sample(words, drawn.randint(0, 10))) for _ in range(3)]
        shared = base
        for side in drawn.sample(sides, 3):
            shared = merged_lists(shared, base, side)
        gone = {key for key in base if any(key not in side for side in sides)}
        new = {key for side in sides for key in side if key not in base}
        assert set(shared) == (set(base) - gone) | new


def test_a_list_keeps_its_other_lines() -> None:
    call = make_call("k")
    call.workspace.write("notes/shopping.md", b"# Shopping\n\nfor Friday\n\n- [ ] milk\n- [x] eggs\n\nend\n")
    found = list_items("shopping", call)
    assert found == items("milk", "eggs x")
    put_list_items("shopping", items("eggs", "rice"), call)
    assert call.workspace.read("notes/shopping.md") == b"# Shopping\n\nfor Friday\n\n- [ ] eggs\n\nend\n- [ ] rice\n"
    assert list_items("presents", call) is None
    put_list_items("presents", items("book"), call)
    assert read_list("presents", call).items == ["book"]


@pytest.mark.parametrize("called", ["café", "shoping", "shoppings", "my cafe list"])
def test_a_list_that_is_only_called_alike_is_not_the_shared_one(called: str) -> None:
    call = make_call("k")
    call.workspace.write("notes/own.md", f"# {called}\n\n- [ ] a surprise for Jo\n".encode())
    shared = "cafe" if "caf" in called else "shopping"
    found = list_items(shared, call)
    assert found is None or called == "my cafe list"
    put_list_items(shared, items("milk"), call)
    assert (b"milk" in call.workspace.read("notes/own.md")) == (called == "my cafe list")


def test_of_two_lists_of_one_name_neither_is_shared() -> None:
    call = make_call("k")
    for id in ("a", "b"):
        call.workspace.write(f"notes/{id}.md", b"# Shopping\n\n- [ ] milk\n")
    with pytest.raises(Ambiguous, match="only one can be shared"):
        list_items("shopping", call)


def test_nothing_is_cut_off_a_long_list() -> None:
    many = {f"item {n}": ListItem(f"item {n}", False) for n in range(2 * MOST_ITEMS)}
    assert merged_lists(many, many, many) == many


def test_a_connected_device_is_lent_by_its_name_alone() -> None:
    mira = settings(DEVICES + '[share.Jo]\ndevices = ["Floor lamp", "front door"]\n')
    found, refused = with_borrowed({"Mira": mira, "Jo": settings("")})
    assert refused == ()
    jo = found["Jo"]
    assert [one.name for one in jo.home.device] == ["floor lamp", "front door"]
    assert jo.home.mqtt is not None
    assert not jo.home.mqtt.discover
    assert jo.home.assistant is not None
    assert jo.home.assistant.entities == ("lock.front",)
    assert jo.network.allow == ("broker.lan:8883", "ha.lan:443")
    assert jo.network.host["broker.lan"].private
    assert found["Mira"] == mira
    assert jo.policy == {}, "rules are not lent"


@pytest.mark.parametrize(
    ("jo", "lends", "says"),
    [
        ("", "old lamp", "is not connected"),
        ("", "lamp", "there is no [[home.device]]"),
        ('[home.mqtt]\nhost = "other.lan"\n', "floor lamp", "another broker"),
        ('[home.assistant]\nurl = "https://other.lan"\ntoken_env = "X"\n', "front door", "another Home Assistant"),
        ('[[home.device]]\nname = "Floor lamp"\nroom = "Living room"\nkind = "lamp"\n', "floor lamp", "already"),
    ],
)
def test_what_cannot_be_lent_is_said(jo: str, lends: str, says: str) -> None:
    mira = settings(DEVICES + f'[share.Jo]\ndevices = ["{lends}"]\n')
    before = settings(jo)
    found, refused = with_borrowed({"Mira": mira, "Jo": before})
    assert says in refused[0]
    assert found["Jo"] == before


def test_a_device_is_lent_to_exactly_whom_it_names() -> None:
    mira = settings(DEVICES + '[share."José"]\ndevices = ["floor lamp"]\n')
    for order in (("José", "Jose"), ("Jose", "José")):
        found, _ = with_borrowed({"Mira": mira, **{name: settings("") for name in order}})
        assert found["Jose"] == settings("")
        assert [one.name for one in found["José"].home.device] == ["floor lamp"]


def test_of_two_devices_of_one_name_neither_is_lent() -> None:
    second = '[[home.device]]\nname = "floor lamp"\nroom = "bedroom"\nkind = "lamp"\nmqtt = "light.bed"\n'
    mira = settings(DEVICES + second + '[share.Jo]\ndevices = ["floor lamp"]\n')
    found, refused = with_borrowed({"Mira": mira, "Jo": settings("")})
    assert found["Jo"] == settings("")
    assert "more than one" in refused[0]


def test_nothing_is_lent_to_somebody_else() -> None:
    mira = settings(DEVICES + '[share.Jo]\ndevices = ["floor lamp"]\n')
    found, _ = with_borrowed({"Mira": mira, "Jo": settings(""), "Ben": settings("")})
    assert found["Ben"] == settings("")
