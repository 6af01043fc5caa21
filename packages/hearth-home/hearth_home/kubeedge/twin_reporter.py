"""Publish how much waits here on `NODE/user/hearth/waiting` of the node's broker, from where KubeEdge forwards it.

EventBus carries values below 512 bytes, so a pointer says only which edge, of what kind and how many; the waiting items
are sent by `hearth edge sync`, over HTTPS, masked and with a token. A KubeEdge rule posts the pointer to the service
(deploy/kubeedge).

Covered: names of nodes that would be another topic; size. Not covered: who reads the node's broker, which belongs to
the node.
"""

from __future__ import annotations

import datetime as dt
import re

from hearth.edge.outbox import KINDS, Outbox
from hearth.errors import ConfigError
from hearth.formats.edge_protocol import Pointer
from hearth.protocols import Message

_NODE = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
TOPIC = "hearth/waiting"


def topic_of(node: str) -> str:
    """Return the topic on which EventBus takes messages from a node's programs to the cloud. Raises: ConfigError: No
    name of a node."""
    if not _NODE.fullmatch(node):
        raise ConfigError(f"{node[:80]!r} is no name of a node; expected lower-case letters, digits, - and .")
    return f"{node}/user/{TOPIC}"


def pointers(outbox: Outbox, edge: str, node: str, now: dt.datetime) -> tuple[Message, ...]:
    """Return the messages to publish: one pointer for each kind of which something waits.

    Args:
        edge: The edge's name, drawn at random on joining.
        now: With time zone.
    Raises:
        ConfigError: `node` is no name of a node.
    """
    topic, counts = topic_of(node), outbox.counts()
    found = []
    for kind in KINDS:
        if n := counts.get((kind, "waiting"), 0):
            found.append(Message(topic, Pointer(edge=edge, kind=kind, waiting=n, at=now).to_bytes(), False))
    return tuple(found)
