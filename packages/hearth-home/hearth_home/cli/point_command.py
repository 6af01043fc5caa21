"""`hearth edge point`: publish on the node's broker how much waits for the cloud."""

from __future__ import annotations

import datetime as dt
import os
import threading

import click

from hearth.cli.invocation import Invocation, as_json, print_json


@click.command()
@click.option("--node", envvar="HEARTH_EDGE_NODE", required=True, help="KubeEdge's name of this node.")
@as_json
@click.pass_obj
def point(invocation: Invocation, node: str, as_json: bool) -> int:
    """Publish the number of waiting messages, not their contents.

    Over KubeEdge's EventBus: to NODE/user/hearth/waiting of the broker in [home.mqtt], in messages below 512 bytes,
    for a rule that passes them on. Only `hearth edge sync` sends the messages themselves.
    """
    from hearth import config, errors
    from hearth.edge.enrolment import joined
    from hearth.edge.outbox import Outbox
    from hearth.guard.egress.gateway import Egress
    from hearth.storage.database import Store
    from hearth_home.kubeedge.twin_reporter import pointers
    from hearth_home.mqtt_broker import configured, connected

    home = invocation.home
    settings = config.read_settings(home / "hearth.toml")

    def clock() -> dt.datetime:
        return dt.datetime.now(settings.zone())

    with Store.open(home / "hearth.db") as store:
        at = joined(store, home)
        if at is None:
            raise errors.NotFound(
                "this home has not joined a cloud, so nothing waits; join one with `hearth edge join URL`"
            )
        found = pointers(Outbox(store, clock), at.instance, node, clock())
        broker = configured(settings.for_tools(os.environ)["home"])
        if found and broker is None:
            raise errors.ConfigError(
                "[home.mqtt] names no broker; on a KubeEdge node it is the one EventBus listens to"
            )
        if found and broker is not None:
            egress = Egress.from_settings(settings, store, clock)
            with connected(broker, egress, "how much waits for the cloud", threading.Event()) as session:
                for message in found:
                    session.publish(message)
    if as_json:
        print_json([{"topic": one.topic, "payload": one.payload.decode()} for one in found])
    else:
        click.echo(f"{len(found)} pointers published." if found else "Nothing waits; nothing was published.")
    return 0
