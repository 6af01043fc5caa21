"""`hearth people`: enrol people to be recognised in home video, with their consent, and forget them."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, print_json
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.storage.database import Store


@click.group()
def people() -> None:
    """The people who are recognised in home video.

    Nobody is recognised who was not enrolled, and nobody is enrolled without a yes. Of a photo, Hearth keeps only what
    tells the face from others; that never leaves this device.
    """


@people.command()
@click.argument("name")
@click.argument("photos", nargs=-1, required=True, metavar="PHOTO...", type=click.Path(path_type=Path))
@click.option("--consent", "consent_by", default="", metavar="WHO", help="Who said yes: NAME, or a parent for a child.")
@as_json
@click.pass_obj
def enroll(invocation: Invocation, name: str, photos: tuple[Path, ...], consent_by: str, as_json: bool) -> None:
    """Recognise NAME from photos that each show their face alone; three to five from different days do best.

    Without --consent you are asked who agreed. Further photos of somebody enrolled are added to theirs.
    """
    from hearth_video.experts.identity import IdentityExpert
    from hearth_video.footage.people import Consent, People
    from hearth_video.footage.sightings import name_anew

    if not consent_by and sys.stdin.isatty():
        click.echo(f"{clean(name)} will be recognised in your recordings, on this device only.", err=True)
        if click.confirm(f"Has {clean(name)} agreed to that?", default=False, err=True):
            consent_by = click.prompt("Who said yes", default=name, err=True)
    if not consent_by:
        raise errors.RequestError(
            f"nobody said yes to recognising {name!r}; ask them, then say who agreed with --consent WHO"
        )
    with _opened(invocation.home) as store:
        done = People(store).enroll(name, photos, IdentityExpert(), Consent(consent_by, dt.datetime.now(dt.UTC)))
        name_anew(store)
    if as_json:
        print_json(
            {
                "name": done.person.name,
                "n_photos": done.person.n_photos,
                "n_new": done.n_new,
                "qualities": [round(quality, 2) for quality in done.qualities],
                "consent_by": done.person.consent.by,
                "looks_like": list(done.looks_like),
            }
        )
        return
    for photo, quality in zip(photos, done.qualities):
        click.echo(f"  {clean(photo.name)}: {_said(quality)} ({quality:.2f})")
    n = done.person.n_photos
    click.echo(f"{clean(done.person.name)} is enrolled with {n} photo{'s' * (n != 1)}; {clean(consent_by)} agreed.")
    if n < 3:
        click.echo("More photos, from other days and in other light, would make it surer.")
    for other in done.looks_like:
        click.echo(f"Looks like {clean(other)}: where the face does not decide, neither is named.")


@people.command("list")
@as_json
@click.pass_obj
def list_people(invocation: Invocation, as_json: bool) -> None:
    """List who is enrolled, and who agreed when."""
    from hearth_video.footage.people import People

    with _opened(invocation.home) as store:
        found = People(store).list()
    if as_json:
        print_json(
            [
                {
                    "name": person.name,
                    "n_photos": person.n_photos,
                    "quality": round(person.quality, 2),
                    "enrolled_at": person.enrolled_at,
                    "consent_by": person.consent.by,
                    "consent_at": person.consent.at,
                }
                for person in found
            ]
        )
        return
    for person in found:
        photos = f"{person.n_photos} photo{'s' * (person.n_photos != 1)}"
        click.echo(
            f"{clean(person.name):<20} {photos}, best {person.quality:.2f};"
            f" {clean(person.consent.by)} agreed on {person.consent.at.astimezone():%Y-%m-%d}"
        )
    if not found:
        click.echo("Nobody is enrolled.")


@people.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Forget without asking.")
@as_json
@click.pass_obj
def forget(invocation: Invocation, name: str, yes: bool, as_json: bool) -> int:
    """Forget NAME's face for good: vectors and pictures leave the home, the name leaves what was seen."""
    from hearth_video.footage.footage_retention import remove_pictures
    from hearth_video.footage.people import People
    from hearth_video.footage.sightings import name_anew

    with _opened(invocation.home) as store:
        found = People(store)
        person = found.named(name)
        if not yes and not (
            sys.stdin.isatty() and click.confirm(f"Forget the face of {clean(person.name)} for good?", err=True)
        ):
            click.echo("Nothing was forgotten; --yes forgets it.", err=True)
            return 5
        n = found.forget(name)
        name_anew(store)
        remove_pictures(invocation.home)
    if as_json:
        print_json({"name": person.name, "n_vectors": n})
    else:
        click.echo(f"{clean(person.name)} is forgotten: {n} vector{'s' * (n != 1)} removed, the file written anew.")
        click.echo("Recordings and backups are as they were; `hearth video` removes recordings.")
    return 0


@contextlib.contextmanager
def _opened(home: Path) -> Iterator[Store]:
    from hearth.storage.database import Store

    if not (home / "hearth.toml").exists():
        raise errors.ConfigError(f"there is no home in {str(home)!r}; `hearth init` makes one")
    with Store.open(home / "hearth.db") as store:
        yield store


def _said(quality: float) -> str:
    return "very good" if quality >= 0.85 else "good" if quality >= 0.65 else "usable, a better one would help"
