"""`hearth sedna`: run the workers of Sedna's jobs, configured by the environment variables that Sedna sets."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, Number, as_json, print_json
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    import httpx

    from hearth.config import Settings
    from hearth.guard.egress.gateway import Egress
    from hearth.storage.database import Store
    from hearth.types import ToolSpec
    from hearth_cloud.sedna.sedna_protocol import Environment, Kind, Status
    from hearth_cloud.sedna.sedna_training import Outcome

_OWNERS: dict[str, str] = {"train": "lifelonglearningjob", "eval": "lifelonglearningjob"}
follow_option = click.option(
    "--follow",
    "follow_s",
    type=Number(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Look for new requests so often until ended; 0 plans what there is and ends.",
)


@click.group()
def sedna() -> None:
    """Run a worker of a Sedna job.

    Sedna's environment variables say what to read and write: see docs/howto/deploy.md. By hand:
    TRAIN_DATASET_URL=samples.txt OUTPUT_URL=out hearth sedna train
    """


@sedna.command()
@click.option("--tools", "tools_file", type=click.Path(path_type=Path), help="Tools: a tool_desc.json.")
@as_json
@click.pass_obj
def train(invocation: Invocation, tools_file: Path | None, as_json: bool) -> int:
    """Learn TRAIN_DATASET_URL into OUTPUT_URL/model.hearth.

    With HAS_COMPLETED_INITIAL_TRAINING=true it goes on from the model that CLOUD_KB_INDEX names. Without --tools, the
    tools of Hearth itself are planned.
    """
    from hearth.cli.learning.learn_commands import Bars, open_encoder
    from hearth_cloud.sedna.sedna_training import train as run

    with _worker(invocation, "train") as (env, http):
        bars = Bars()
        try:
            outcome = run(env, open_encoder(), _tools(tools_file), bars)
        except errors.HearthError:
            _tell(env, http, "train", "failed", None)
            raise
        finally:
            bars.close()
        return _done(env, http, "train", outcome, as_json=as_json)


@sedna.command(name="eval")
@as_json
@click.pass_obj
def evaluate(invocation: Invocation, as_json: bool) -> int:
    """Measure MODEL_URLS on TEST_DATASET_URL; metrics go to OUTPUT_URL/metrics.json.

    Models that reach `model_threshold` are reported to be deployed, best first.
    """
    from hearth.cli.learning.learn_commands import Bars, open_encoder
    from hearth_cloud.sedna.sedna_training import evaluate as run

    with _worker(invocation, "eval") as (env, http):
        bars = Bars()
        try:
            outcome = run(env, open_encoder(), bars)
        except errors.HearthError:
            _tell(env, http, "eval", "failed", None)
            raise
        finally:
            bars.close()
        return _done(env, http, "eval", outcome, as_json=as_json)


@sedna.command()
@follow_option
@as_json
def infer(follow_s: float, as_json: bool) -> int:
    """Plan the requests of infer_dataset_url with the deployed model of MODEL_URLS.

    Plans go to RESULT_SAVED_URL, requests of tasks never seen to unseen_save_url. A new model counts from the next
    request on.
    """
    from hearth.cli.learning.learn_commands import open_encoder
    from hearth_cloud.sedna.sedna_planning import infer as run
    from hearth_cloud.sedna.sedna_protocol import Environment

    with _stopped_gently() as stop:
        outcome = run(Environment(os.environ), open_encoder(), _cache(), follow_s, stop)
    _show(outcome, as_json=as_json)
    return 0


@sedna.command(name="little-model")
@follow_option
@as_json
@click.pass_obj
def little_model(invocation: Invocation, follow_s: float, as_json: bool) -> int:
    """Plan the requests of infer_dataset_url with MODEL_URL; ask the big model, masked, about those it is unsure of.

    HEM_NAME and HEM_PARAMETERS say what is unsure, BIG_MODEL_IP and BIG_MODEL_PORT who is asked. Results go to
    RESULT_SAVED_URL; what left is in the ledger of the home.
    """
    from hearth.cli.learning.learn_commands import open_encoder
    from hearth.guard.egress.masking_door import MaskingDoor
    from hearth.storage.workspace import Home
    from hearth_cloud.sedna.sedna_model import read_model
    from hearth_cloud.sedna.sedna_planning import Hard, LittleModel, Planning
    from hearth_cloud.sedna.sedna_planning import little_model as run
    from hearth_cloud.sedna.sedna_protocol import DEFAULT_PORT, BigModel

    with _stopped_gently() as stop, contextlib.ExitStack() as stack:
        home = _Home.opened(invocation, stack)
        env = home.env
        hard = Hard.of(env)
        port = int(env.number("BIG_MODEL_PORT", DEFAULT_PORT, 1, 65535))
        host = env.get("BIG_MODEL_IP", "127.0.0.1")
        planning = Planning(read_model(env.path("MODEL_URL", "which model plans"), open_encoder()), _cache())
        door = MaskingDoor.of_owner(Home(invocation.home, home.settings, home.store, os.environ))
        http = stack.enter_context(home.client("the big model of Sedna"))
        little = LittleModel(planning, hard, BigModel(http, f"http://{_bracketed(host)}:{port}/{env.service}"), door)
        outcome = run(env, little, http, follow_s, stop)
    _show(outcome, as_json=as_json)
    return 0


@sedna.command(name="big-model")
@click.option("--check", is_flag=True, help="Read the model and end, without serving it.")
def big_model(check: bool) -> int:
    """Serve MODEL_URL as Sedna's big model: POST /SERVICE_NAME/predict on BIG_MODEL_BIND_PORT.

    The protocol has no tokens: let only the edge workers reach it (deploy/ has the network policy).
    """
    from hearth.cli.learning.learn_commands import open_encoder
    from hearth_cloud.sedna.big_model import serve
    from hearth_cloud.sedna.sedna_model import read_model
    from hearth_cloud.sedna.sedna_planning import Planning
    from hearth_cloud.sedna.sedna_protocol import DEFAULT_PORT, Environment

    env = Environment(os.environ)
    port = int(env.number("BIG_MODEL_BIND_PORT", DEFAULT_PORT, 1, 65535))
    host = env.get("BIG_MODEL_BIND_IP", "0.0.0.0")  # noqa: S104 a pod's only address; who may reach it is the cluster's
    model = read_model(env.path("MODEL_URL", "which model to serve"), open_encoder())
    line = f"{len(model.student)} demonstrations, {len(model.tools)} tools"
    if check:
        click.echo(line)
        return 0
    click.echo(f"serving {line} at http://{_bracketed(host)}:{port}/{env.service}/predict", err=True)
    serve(env.service, Planning(model, _cache()), host, port)
    return 0


@sedna.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--anew", is_flag=True, help="Begin the file again, without what was forgotten since.")
@as_json
@click.pass_obj
def export(invocation: Invocation, file: Path, anew: bool, as_json: bool) -> int:
    """Write what the home learnt from into FILE, for a Dataset of the format txt; later calls add what is new.

    These are the owner's own requests, as they were said: keep FILE on the owner's own node.
    """
    from hearth.cli.learning.learn_commands import opened_store
    from hearth.learning.demonstration_store import Buffer
    from hearth_cloud.sedna.sedna_dataset import export as run

    with opened_store(invocation.home) as store:
        done = run(Buffer(store).all(), file, anew=anew)
    if as_json:
        print_json({"written": done.n_written, "known": done.n_known, "kept_back": list(done.kept_back)})
    else:
        click.echo(f"{done.n_written} demonstrations added to {clean(str(file))}, {done.n_known} were in it.")
        for id in done.kept_back:
            click.echo(f"kept back: {clean(id)!r} is too long for Sedna to read", err=True)
    return 6 if done.kept_back else 0


# ── Shared ────────────────────────────────────────────────────────────────────────────────────────────────


class _Home:
    """A worker's home: its environment, settings and database (with the ledger)."""

    def __init__(self, env: Environment, settings: Settings, store: Store) -> None:
        self.env = env
        self.settings = settings
        self.store = store

    @classmethod
    def opened(cls, invocation: Invocation, stack: contextlib.ExitStack) -> _Home:
        from hearth import config
        from hearth.storage.database import HomeLock, Store
        from hearth_cloud.sedna.sedna_protocol import Environment

        home = invocation.home
        file = home / "hearth.toml"
        settings = config.read_settings(file) if file.exists() else config.parse_settings("", file)
        stack.enter_context(HomeLock(home))
        store = stack.enter_context(Store.open(home / "hearth.db"))
        return cls(Environment(os.environ), settings, store)

    def client(self, reason: str) -> httpx.Client:
        """Return an HTTP client that reaches the big model and the local controller named by Sedna's environment,
        nothing else."""
        import httpx

        return httpx.Client(transport=self.egress().transport(reason), timeout=30.0)

    def egress(self) -> Egress:
        from urllib.parse import urlsplit

        from hearth.config import Host
        from hearth.guard.egress.gateway import Egress
        from hearth_cloud.sedna.sedna_protocol import LC_SERVER

        controller = urlsplit(self.env.get("LC_SERVER", LC_SERVER)).hostname or "127.0.0.1"
        named = {host: Host(private=True) for host in (controller, self.env.get("BIG_MODEL_IP", "127.0.0.1"))}
        network = self.settings.network.model_copy(update={"host": {**named, **self.settings.network.host}})
        return Egress(named, self.store, lambda: dt.datetime.now(dt.UTC), network=network)


@contextlib.contextmanager
def _worker(invocation: Invocation, kind: Kind) -> Iterator[tuple[Environment, httpx.Client]]:
    """Open a worker's environment and an HTTP client for its local controller."""
    with contextlib.ExitStack() as stack:
        home = _Home.opened(invocation, stack)
        yield home.env, stack.enter_context(home.client(f"report of a {kind} worker to Sedna"))


def _done(env: Environment, http: httpx.Client, kind: Kind, outcome: Outcome, *, as_json: bool) -> int:
    fault = _tell(env, http, kind, "completed", outcome)
    _show(outcome, as_json=as_json, told=not fault)
    return 0


def _tell(env: Environment, http: httpx.Client, kind: Kind, status: Status, outcome: Outcome | None) -> str:
    """Report to the local controller; a failure to report is told to the user, and the work stands."""
    from hearth_cloud.sedna.sedna_protocol import Told, report

    results = outcome.results if outcome else ()
    info = outcome.info if outcome else None
    fault = report(env, http, Told(kind, status, _OWNERS[kind], results, info))
    if fault:
        click.echo(f"not reported: {clean(fault)}", err=True)
    return fault


def _show(outcome: Outcome, *, as_json: bool, told: bool | None = None) -> None:
    if as_json:
        more = {} if told is None else {"reported": told}
        print_json({"results": list(outcome.results), **outcome.info, "notes": list(outcome.notes), **more})
    else:
        for note in outcome.notes:
            click.echo(clean(note))


def _tools(file: Path | None) -> dict[str, ToolSpec]:
    from hearth.formats.plans import read_tools
    from hearth.registry import load_tools

    tools = read_tools(file) if file else load_tools(None).specs
    if not tools:
        raise errors.RegistryError(f"{file}: describes no tool; expected one or more")
    return tools


def _cache() -> Path:
    from hearth import config

    return config.cache_folder(os.environ)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@contextlib.contextmanager
def _stopped_gently() -> Iterator[threading.Event]:
    """Give an event that is set when the process is told to end (SIGTERM, Ctrl-C); the current batch is finished
    first."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
