"""Everything a plug-in adds beside tools has a contract, and what is installed keeps it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import cast

import click
import pytest

from hearth import hooks
from hearth.registry import GROUPS, TOOLS, load_parts
from hearth.tools.pim.contacts import known_people

BESIDE_TOOLS = tuple(group for group in GROUPS if group != TOOLS)


def fits(contract: type, value: object) -> bool:
    """Whether a part can be called as its contract says: by position, with as many values."""
    if contract is hooks.Command:
        return isinstance(value, click.Command)
    n = len(inspect.signature(cast("Mapping[str, Callable[..., object]]", vars(contract))["__call__"]).parameters) - 1
    try:
        inspect.signature(cast("Callable[..., object]", value)).bind(*range(n))
    except TypeError:
        return False
    return True


def test_every_group_has_a_contract() -> None:
    assert tuple(hooks.CONTRACTS) == BESIDE_TOOLS


@pytest.mark.companions
@pytest.mark.parametrize("group", BESIDE_TOOLS)
def test_what_is_installed_keeps_it(group: str) -> None:
    parts = load_parts(group)
    assert parts.loaded
    assert parts.faults == ()
    assert [part.name for part in parts.loaded if not fits(hooks.CONTRACTS[group], part.value)] == []


@pytest.mark.companions
def test_the_types_of_what_is_installed_are_those_of_the_contracts() -> None:
    """The type checker reads these lines; they run, too."""
    from hearth_home.kubeedge.sync_listener import listen
    from hearth_home.sensor_watch import watch
    from hearth_home.tools.devices import known_devices
    from hearth_video.footage.footage_retention import FootageHolder
    from hearth_video.footage.library import Library
    from hearth_video.picture_writing import read_writing
    from hearth_video.video_check import check_video

    names: tuple[hooks.Entities, ...] = (known_people, known_devices)
    opened: tuple[hooks.OpenHolder | hooks.OpenFootage, ...] = (FootageHolder, Library)
    read: hooks.Reader = read_writing
    check: hooks.Check = check_video
    triggers: tuple[hooks.Listener | hooks.Watcher, ...] = (listen, watch)
    assert all(map(callable, (*names, *opened, read, check, *triggers)))


@pytest.mark.parametrize(
    ("contract", "value", "does"),
    [
        (hooks.Check, lambda home: "", True),
        (hooks.Check, lambda home, more: "", False),
        (hooks.Watcher, lambda home, environ, memory, stop, say: None, True),
        (hooks.Watcher, lambda home, environ, stop, say: None, False),
        (hooks.OpenHolder, lambda *, store: None, False),
        (hooks.Command, lambda: 0, False),
    ],
)
def test_one_that_takes_something_else_is_told(contract: type, value: object, does: bool) -> None:
    assert fits(contract, value) is does
