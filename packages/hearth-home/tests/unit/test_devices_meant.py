"""Which device is meant where a room is somebody's."""

from __future__ import annotations

from hearth.testing import make_call
from hearth_home.tools.devices import Devices

HOME = {
    "device": [
        {"name": "heater", "room": "lounge", "kind": "heating"},
        {"name": "heater", "room": "dad's room", "kind": "heating"},
    ]
}


def test_a_room_that_is_somebodys_is_found_however_it_is_said() -> None:
    devices = Devices(make_call(settings={"home": HOME}))  # type: ignore[dict-item]
    for said in ("dad's room", "the heater in dad's room", "dad’s room heater", "dad's heater"):
        assert [one.room for one in devices.meant(said, "temperature")] == ["dad's room"], said
    assert [one.room for one in devices.meant("lounge", "temperature")] == ["lounge"]
