"""Lends connected devices between people of a household: by the lender's rule, exact names, nothing else.

A borrowed device is among the borrower's, who speaks with it over the lender's connection; the borrower's own rules say
what runs, asks or is denied. Covered: devices on a broker, twins, entities of Home Assistant. Not covered: devices that
are only written down, two people with different brokers, seeing in the lender's history what a borrower switched.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from hearth.config import HomeDevice, Settings
from hearth.language.text.exact_names import by_same_name, same_name
from hearth.language.text.keyword_match import fold


def with_borrowed(settings: Mapping[str, Settings]) -> tuple[dict[str, Settings], tuple[str, ...]]:
    """Return everybody's settings with what is lent to them, and why other things that are named are not.

    Args:
        settings: By the name of each person.
    """
    found = dict(settings)
    refused: list[str] = []
    known = by_same_name(settings)
    for lender, own in settings.items():
        for other, share in own.share.items():
            borrower = known.get(same_name(other))
            if borrower is None or borrower == lender:
                continue  # said where lists are agreed
            for name in share.devices:
                devices = [one for one in own.home.device if same_name(one.name) == same_name(name)]
                if len(devices) != 1:
                    n = "there is no" if not devices else "there is more than one"
                    refused.append(f"the device {name!r} of {lender}: {n} [[home.device]] of that name")
                    continue
                lent = _lent(found[borrower], own, devices[0])
                if isinstance(lent, str):
                    refused.append(f"the device {name!r} of {lender} for {borrower}: {lent}")
                else:
                    found[borrower] = lent
    return found, tuple(refused)


def _lent(to: Settings, own: Settings, device: HomeDevice) -> Settings | str:
    """Return somebody's settings with a device of another's, or why it is not lent."""
    if any((fold(one.room), fold(one.name)) == (fold(device.room), fold(device.name)) for one in to.home.device):
        return "they have one of that name in that room already"
    home = to.home
    if device.entity and own.home.assistant is not None:
        theirs = own.home.assistant
        if home.assistant is None:
            home = home.model_copy(update={"assistant": theirs.model_copy(update={"entities": (device.entity,)})})
        elif home.assistant.url != theirs.url:
            return "they have another Home Assistant"
        elif home.assistant.entities:
            entities = tuple(dict.fromkeys((*home.assistant.entities, device.entity)))
            home = home.model_copy(update={"assistant": home.assistant.model_copy(update={"entities": entities})})
        parts = urlsplit(theirs.url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 8123)
    elif (device.mqtt or device.twin) and own.home.mqtt is not None:
        broker = own.home.mqtt
        if home.mqtt is None:
            home = home.model_copy(update={"mqtt": broker.model_copy(update={"discover": False})})
        elif (home.mqtt.host, home.mqtt.port) != (broker.host, broker.port):
            return "they have another broker"
        host, port = broker.host, broker.port or (8883 if broker.security == "tls" else 1883)
    else:
        return "it is not connected, so there is nothing to lend"
    network = to.network
    hosts = {**network.host, **({host: own.network.host[host]} if host in own.network.host else {})}
    allow = tuple(dict.fromkeys((*network.allow, f"{f'[{host}]' if ':' in host else host}:{port}")))
    network = network.model_copy(update={"allow": allow, "host": hosts})
    home = home.model_copy(update={"device": (*home.device, device)})
    return to.model_copy(update={"home": home, "network": network})
