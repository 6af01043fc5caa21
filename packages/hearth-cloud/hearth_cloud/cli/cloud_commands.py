"""`hearth cloud`: run the service that teaches many devices, and manage the access tokens of these devices."""

from __future__ import annotations

import importlib.util
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth.cli.invocation import as_json, print_json
from hearth.errors import ConfigError, MissingExtraError
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.formats.edge_protocol import Profile
    from hearth_cloud.cloud_settings import CloudSettings
    from hearth_cloud.storage.cloud_storage import Storage

INSTALL_COMMAND = "pip install hearth-cloud"
_FEATURE = "the cloud service"
_SWITCH_S = 0.0005
"""Switch interval: a planning thread yields after this long to threads that read or answer. Python's own 5 ms would add
up."""
_BACKLOG = 2048
_FILES_BESIDE = 256
"""Open files beside connections: the database's, the encoder's."""
_KEEP_ALIVE_S = 75
_LOOK_S = 1.0


@click.group()
@click.option("--folder", metavar="DIR", help="Folder of the service (default: $HEARTH_CLOUD, else this one).")
@click.pass_context
def cloud(ctx: click.Context, folder: str | None) -> None:
    """Serve many devices: plans for masked requests, the tasks they share, a prior for new ones."""
    ctx.obj = Path(folder or os.environ.get("HEARTH_CLOUD") or ".").expanduser().resolve()


@cloud.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.pass_obj
def init(chosen: Path, folder: Path | None) -> None:
    """Make a folder with settings and a signing key, and the database."""
    _needs_extra()
    from hearth_cloud.cloud_settings import FILE, STARTER, read_cloud_settings
    from hearth_cloud.statistics.signing import make_key

    place = (folder or chosen).expanduser().resolve()
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not (place / FILE).exists():
            (place / FILE).write_text(STARTER, encoding="utf-8")
            click.echo(f"Wrote {place / FILE}")
    except OSError as error:
        raise ConfigError(f"cannot write to {str(place)!r}: {error.strerror}; choose another folder") from None
    settings = read_cloud_settings(place)
    key = settings.path(settings.service.key_file)
    if not key.exists():
        make_key(key)
        click.echo(f"Made the key that priors are signed with: {key}; keep a copy, edges trust this one alone")
    click.echo(f"Its fingerprint, for devices that join: {_fingerprint(settings)}")
    with _opened(settings) as storage:
        click.echo(f"The database is at version {storage.version()}.")
    click.echo(f"Try:\n  hearth cloud --folder {place} token new kitchen\n  hearth cloud --folder {place} serve")


@cloud.command()
@click.pass_obj
def check(folder: Path) -> None:
    """Check the settings, the key, the database and the teacher, without serving; print the key's fingerprint."""
    _needs_extra()
    from hearth_cloud.cloud_settings import read_cloud_settings
    from hearth_cloud.service.service import create_app

    settings = read_cloud_settings(folder)
    with _opened(settings) as storage:
        create_app(settings, storage)
        said = f"Ready: database at version {storage.version()}, {storage.n_demonstrations()} demonstrations"
    click.echo(f"{said}, plans by {settings.teacher.kind!r}.")
    click.echo(f"The key's fingerprint, which `hearth edge join` shows: {_fingerprint(settings)}")


@cloud.command()
@click.pass_obj
def fingerprint(folder: Path) -> None:
    """Print the fingerprint of the key alone, for a device's owner to compare or give to --fingerprint."""
    _needs_extra()
    from hearth_cloud.cloud_settings import read_cloud_settings

    click.echo(_fingerprint(read_cloud_settings(folder)))


@cloud.command()
@click.option("--host", help="Instead of the settings'.")
@click.option("--port", type=click.IntRange(0, 65535), help="Instead of the settings'; 0 takes any free one.")
@click.option("--log", type=click.Choice(["debug", "info", "warning", "error"]), default="info", show_default=True)
@click.option("--beside", is_flag=True, hidden=True, help="One of several processes at one port.")
@click.pass_obj
def serve(folder: Path, host: str | None, port: int | None, log: str, beside: bool) -> int:
    """Serve until told to stop (Ctrl-C, SIGTERM); what is under way is finished first."""
    _needs_extra()
    from hearth_cloud.cloud_settings import read_cloud_settings

    settings = read_cloud_settings(folder)
    service = settings.service
    is_one = service.workers == 1 or beside
    if service.tls_cert_file:
        _check_tls(settings)
    listening = _bound(host or service.host, service.port if port is None else port, shares=service.workers > 1)
    address = listening.getsockname()
    said = f"Serving at {_url(address, bool(service.tls_cert_file))}; Ctrl-C stops"
    if not is_one:
        command = [sys.executable, "-m", "hearth", "cloud", "--folder", str(folder)]
        found = subprocess.run([*command, "check"], stdout=2)  # in a process that ends, so this one stays small
        place = ["--host", str(address[0]), "--port", str(address[1]), "--log", log, "--beside"]
        return found.returncode or _watch([*command, "serve", *place], service.workers, said)
    listening.listen(_BACKLOG)  # connections made before the teacher is ready wait
    click.echo("listening" if beside else said, err=not beside)
    sys.stdout.flush()
    _serve(settings, listening, log)
    return 0


def _serve(settings: CloudSettings, listening: socket.socket, log: str) -> None:
    import uvicorn

    from hearth_cloud.service.access.connection_limits import Bounds, Connection
    from hearth_cloud.service.logs import start_logging
    from hearth_cloud.service.service import create_app

    service, limits = settings.service, settings.limits
    start_logging(log)
    _allow_connections(limits.connections)
    sys.setswitchinterval(_SWITCH_S)
    options: dict[str, Any] = {}
    if service.tls_cert_file:
        options["ssl_certfile"] = str(settings.path(service.tls_cert_file))
        options["ssl_keyfile"] = str(settings.path(service.tls_key_file)) if service.tls_key_file else None
    config = uvicorn.Config(
        create_app(settings),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=max(1, round(service.shutdown_s)),
        http=partial(Connection, bounds=Bounds(limits.header_s, limits.send_s, limits.connections)),  # type: ignore[arg-type]
        ws="none",
        proxy_headers=bool(service.proxies),
        forwarded_allow_ips=list(service.proxies),
        backlog=_BACKLOG,
        **options,
    )
    uvicorn.Server(config).run([listening])


def _allow_connections(n: int) -> None:
    """Raise this process's limit of open files to what the settings' connections need, as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n + _FILES_BESIDE if hard == resource.RLIM_INFINITY else min(n + _FILES_BESIDE, hard)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _check_tls(settings: CloudSettings) -> None:
    """Check the service's TLS files. Raises: ConfigError: Files of [service] hold no certificate with its key."""
    import ssl

    service = settings.service
    key = settings.path(service.tls_key_file) if service.tls_key_file else None
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(settings.path(service.tls_cert_file), key)
    except OSError as error:  # an SSLError is one
        said = error.strerror or type(error).__name__
        raise ConfigError(
            f"tls_cert_file {service.tls_cert_file!r} under [service] cannot be used with its key ({said}); expected "
            "PEM files of both that this user can read"
        ) from None


def _watch(command: list[str], n: int, said: str) -> int:
    """Run several processes that listen at one port, and restart any that ends by itself. Each has a socket of its own,
    so the kernel shares connections out among them (on a shared socket, whoever wakes first takes all that wait)."""
    is_over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_over.set())
    with tempfile.TemporaryDirectory(prefix="hearth-cloud-") as numbers:
        environ = os.environ | {"PROMETHEUS_MULTIPROC_DIR": numbers}

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(command, stdout=subprocess.PIPE, env=environ)

        running = [start() for _ in range(n)]
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()  # it listens now
        click.echo(said, err=True)
        while not is_over.wait(_LOOK_S):
            for k, process in enumerate(running):
                if process.poll() is not None:
                    running[k] = start()
        for process in running:
            process.terminate()
        for process in running:
            process.wait()
    return 0


def _bound(host: str, port: int, *, shares: bool) -> socket.socket:
    """Return a bound socket that does not listen yet. Raises: ConfigError: It cannot listen there.

    Args:
        shares: Others of this user's processes may listen at the same port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shares:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        bound.bind((host, port))
        if not shares:
            bound.listen(1)  # fails here when another process listens at the port
    except (OSError, UnicodeError) as error:
        bound.close()
        said = getattr(error, "strerror", None) or str(error)
        raise ConfigError(
            f"cannot listen at {host!r} port {port}: {said}; set another host or port under [service]"
        ) from None
    return bound


def _url(address: tuple[Any, ...], is_tls: bool) -> str:
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    return f"http{'s' if is_tls else ''}://{host}:{address[1]}"


# ── Tokens ────────────────────────────────────────────────────────────────────────────────────────────────


@cloud.group()
def token() -> None:
    """Make, list and revoke devices' tokens."""


@token.command("new")
@click.argument("name")
@click.option("--days", type=int, metavar="N", help="Until it expires (default: it does not).")
@click.option("--replace", is_flag=True, help="Revoke the token this device has.")
@click.pass_obj
def new(folder: Path, name: str, days: int | None, replace: bool) -> None:
    """Make a token for the device NAME. It is shown only now; only its hash is kept."""
    _needs_extra()
    from hearth_cloud.cloud_settings import read_cloud_settings
    from hearth_cloud.storage.access_tokens import issue

    with _opened(read_cloud_settings(folder)) as storage:
        made = issue(storage, name, days, replaces=replace)
    click.echo(made.text)
    if sys.stdout.isatty():
        until = f"until {made.expires:%Y-%m-%d}" if made.expires else "until it is revoked"
        click.echo(f"Holds {until}. On the device: hearth edge join URL TOKEN", err=True)


@token.command("list")
@as_json
@click.pass_obj
def list_(folder: Path, as_json: bool) -> None:
    """List the tokens: whose, since when, until when, and whether each is valid."""
    _needs_extra()
    from hearth_cloud.cloud_settings import read_cloud_settings
    from hearth_cloud.storage.access_tokens import state_of

    with _opened(read_cloud_settings(folder)) as storage:
        rows, now = storage.tokens(), storage.now()
        agents = storage.n_agents()
    if as_json:
        print_json(
            [
                {
                    "id": row.id,
                    "edge": row.edge,
                    "made": row.made.isoformat(),
                    "expires": row.expires.isoformat() if row.expires else None,
                    "state": state_of(row, now),
                    "agents": agents.get(row.id, 0),
                }
                for row in rows
            ]
        )
        return
    for row in rows:
        until = f"until {row.expires:%Y-%m-%d}" if row.expires else "no end"
        n = agents.get(row.id, 0)
        used = "never used" if not n else "used" if n == 1 else f"used by {n} agents"
        click.echo(f"{clean(row.edge):<24} {state_of(row, now):<8} made {row.made:%Y-%m-%d}, {until}, {used}")
    if not rows:
        click.echo("No tokens yet: hearth cloud token new NAME")


@token.command()
@click.argument("name")
@click.pass_obj
def revoke(folder: Path, name: str) -> None:
    """Revoke the token of the device NAME; it is refused within seconds."""
    _needs_extra()
    from hearth_cloud.cloud_settings import read_cloud_settings

    with _opened(read_cloud_settings(folder)) as storage:
        n = storage.revoke(name)
    click.echo(f"{n} token{'s' if n != 1 else ''} of {name} revoked.")


@cloud.command()
@click.argument("adapter", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(["small", "medium", "large"]),
    help="Of which devices (default: all).",
)
@click.pass_obj
def offer(folder: Path, adapter: Path, profiles: tuple[Profile, ...]) -> None:
    """Offer the language ADAPTER (a folder of `hearth adapters`) to devices, signed.

    It replaces the one before. A device with an older one is offered this one at its next sync, and takes it only if
    its owner says so. To go back, offer the older one again.
    """
    _needs_extra()
    from typing import get_args

    from hearth.formats.edge_protocol import Profile
    from hearth.learning.finetune.adapters import fingerprint_of, pack
    from hearth_cloud.cloud_settings import read_cloud_settings
    from hearth_cloud.statistics import artifacts
    from hearth_cloud.statistics.signing import read_key

    settings = read_cloud_settings(folder)
    key = read_key(settings.path(settings.service.key_file))
    data, record = pack(adapter)
    with _opened(settings) as storage:
        for profile in dict.fromkeys(profiles or get_args(Profile)):
            fingerprint = fingerprint_of(record, profile)
            made = artifacts.offer(storage, key, "adapter", profile, data, artifacts.MadeOf(fingerprint))
            click.echo(f"Offered to {profile}: number {made.serial}, {made.n_bytes:,} bytes, {made.sha256[:12]}…")
    click.echo(f"It is for the model {clean(record.base)} (SHA-256 {record.base_sha256[:12]}…) alone.")


@cloud.command()
@click.argument("name")
@click.confirmation_option(prompt="Forget all that this device gave, and its tokens?")
@click.pass_obj
def forget(folder: Path, name: str) -> None:
    """Forget the device NAME: its demonstrations, its statistics that wait, its tokens.

    Earlier priors keep what was merged of it; later ones are made without it.
    """
    _needs_extra()
    from hearth_cloud.cloud_settings import read_cloud_settings

    with _opened(read_cloud_settings(folder)) as storage:
        n = storage.drop_edge(name)
    click.echo(f"Forgot {name}: {n} demonstrations.")


def _fingerprint(settings: CloudSettings) -> str:
    """Return the fingerprint of the service's key. Raises: ConfigError: The key cannot be read."""
    from hearth.edge.enrolment import fingerprint
    from hearth_cloud.statistics.signing import public_key_of, read_key

    return fingerprint(public_key_of(read_key(settings.path(settings.service.key_file))))


def _opened(settings: CloudSettings) -> Storage:
    """Open the service's storage. Raises: StoreError, ConfigError."""
    from hearth_cloud.storage.storage_place import StoragePlace

    return StoragePlace.of(settings).open()


def _needs_extra() -> None:
    """Check that all the service needs is installed. Raises: MissingExtraError."""
    parts = ("alembic", "fastapi", "prometheus_client", "sqlalchemy", "uvicorn")
    if any(sys.modules.get(part, part) is None or importlib.util.find_spec(part) is None for part in parts):
        raise MissingExtraError(_FEATURE, INSTALL_COMMAND)
