"""What is said to `hearth chat` itself: take back, correct, look back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hearth import errors
from hearth.terminal import clean, short

if TYPE_CHECKING:
    from hearth.cli.serve.asking import Asking

_N_HISTORY = 10
HELP = """\
  /undo            take back what was changed last; again, the change before it
  /wrong WORDS     that was wrong: WORDS are what I should have understood; without them, nothing was to be done
  /history         what was asked lately
  /why             how the last answer came about
  an empty line    ends"""


def is_aside(line: str) -> bool:
    """Say whether a line is to the chat itself."""
    return line.startswith("/") or line.strip().lower() in ("undo", "help")


def answer_aside(home: Asking, line: str, last: str) -> None:
    """Do what a line to the chat itself says; what cannot be done is said, and the chat goes on.

    Args:
        last: Id of the last request of this chat; empty: there was none.
    """
    word, _, rest = line.strip().removeprefix("/").partition(" ")
    try:
        if word.lower() == "undo":
            _undo(home)
        elif word.lower() == "wrong":
            _correct(home, _needed(last), rest.strip())
        elif word.lower() == "history":
            _history(home)
        elif word.lower() == "why":
            for said in home.why(_needed(last)):
                click.echo(clean(said))
        else:
            click.echo(HELP)
    except errors.HearthError as error:
        click.echo(f"hearth: {clean(str(error))}", err=True)


def _needed(last: str) -> str:
    if not last:
        raise errors.RequestError("nothing was asked in this chat yet; `hearth history` lists what was asked before")
    return last


def _undo(home: Asking) -> None:
    report = home.undo(None)
    click.echo(f"“{clean(short(home.typed(report.episode), 70))}”")
    for line in report.undone:
        click.echo(f"  undone: {clean(line)}")
    for line in report.kept:
        click.echo(f"  not undone: {clean(line)}")


def _correct(home: Asking, id: str, say: str) -> None:
    lines = home.correct(id, say)
    click.echo(f"Learnt: “{clean(short(home.typed(id), 70))}” means")
    for line in lines:
        click.echo(f"  {clean(line)}")
    click.echo("What was done then stays done; /undo takes it back.")


def _history(home: Asking) -> None:
    episodes = home.history(_N_HISTORY)
    for episode in reversed(episodes):
        click.echo(f"{episode.request.now:%H:%M}  {episode.answer.status:<8} {clean(short(episode.request.typed, 70))}")
    if not episodes:
        click.echo("Nothing was asked yet.")
