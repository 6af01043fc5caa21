"""`hearth mask`: show what of a text would leave the device, and what each pseudonym stands for."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.terminal import clean

if TYPE_CHECKING:
    from hearth.guard.egress.masking_door import Masked

MAX_BYTES = 50_000_000


@click.command()
@click.argument("text", nargs=-1)
@click.option(
    "--kinds",
    metavar="LIST",
    help="Which kinds, with commas between; `all` for every one (default: `kinds` under [mask] in hearth.toml).",
)
@click.option("--no-tagger", is_flag=True, help="Find by form and the owner's own names only.")
@as_json
@click.pass_obj
def mask(invocation: Invocation, text: tuple[str, ...], kinds: str | None, no_tagger: bool, as_json: bool) -> None:
    """Show what would leave of TEXT, and what each stand-in stands for.

    `-` or no TEXT reads standard input. Nothing is sent. In a home, its contacts, calendar and settings are used;
    without one, only what is found by form, and by the tagger if it is installed.
    """
    said = " ".join(text)
    if said in ("", "-"):
        raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise errors.RequestError(f"the text has more than {MAX_BYTES:,} bytes; give it in parts")
        said = raw.decode("utf-8", "surrogateescape")
    if not said.strip():
        raise click.UsageError("there is no text to mask; give one, or a file: hearth mask - < FILE")
    masked = _masked(invocation, said, kinds, no_tagger)
    if as_json:
        kinds_of = masked.stand_ins.kinds
        shown = [
            {"stand_in": name, "kind": kinds_of[name], "stands_for": value} for name, value in masked.values.items()
        ]
        print_json({"text": masked.text, "stand_ins": shown, "comes_back": masked.unmask(masked.text) == said})
        return
    click.echo(clean(masked.text))
    if not masked.values:
        click.echo("\nNothing in this text needs masking.", err=True)
        return
    click.echo("\nOn this device only:", err=True)
    width = max(map(len, masked.values))
    for name, value in masked.values.items():
        click.echo(f"  {name:<{width}}  {masked.stand_ins.kinds[name]:<12}  {clean(' '.join(value.split()))}", err=True)


def _masked(invocation: Invocation, said: str, kinds: str | None, no_tagger: bool) -> Masked:
    """Mask by the home's settings, or without a home by form alone. Raises: ConfigError, UsageError."""
    from hearth import config
    from hearth.guard.egress.masking_door import MaskingDoor, Part
    from hearth.models.ner import TAGGER_FILE
    from hearth.storage.database import Store
    from hearth.storage.open_home import Home
    from hearth.types import OWNER

    chosen: tuple[str, ...] | None = None
    if kinds is not None:
        chosen = (
            config.MASK_KINDS if kinds == "all" else tuple(kind.strip() for kind in kinds.split(",") if kind.strip())
        )
        unknown = next((kind for kind in chosen if kind not in config.MASK_KINDS), None)
        if unknown is not None:
            raise click.UsageError(f"unknown kind {unknown!r}; known are {', '.join(config.MASK_KINDS)}")
    if not no_tagger and not TAGGER_FILE.exists():
        click.echo("the tagger is not installed: names you do not know are found by cues alone", err=True)
    parts, cache = [Part(said, OWNER)], config.cache_folder(os.environ)
    if not (invocation.home / "hearth.toml").exists():
        kinds_found = chosen or config.MASKED_KINDS
        return MaskingDoor.of_nobody(cache, kinds_found, is_tagged=not no_tagger).masked(parts)
    settings = config.read_settings(invocation.home / "hearth.toml")
    with Store.open(invocation.home / "hearth.db") as store:
        home = Home(invocation.home, settings, store, os.environ)
        return MaskingDoor.of_owner(home, kinds=chosen or None, is_tagged=not no_tagger).masked(parts)
