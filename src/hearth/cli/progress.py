"""Report the progress of a long run on one stream; silent where there is none."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TextIO

import click

from hearth.terminal import clean


class Progress:
    """Shows stages with a bar on a terminal, one line each elsewhere."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._has_bar = False

    @contextlib.contextmanager
    def stage(self, label: str, n: int, *, counts: bool = True) -> Iterator[Callable[[int], None]]:
        """Run a stage of `n` parts; call the yielded function with how many more are done.

        Args:
            counts: Show counts, for parts that mean something to a person; else a share is shown.
        """
        if self._stream is None:
            yield lambda _: None
            return
        started = time.perf_counter()
        if self._stream.isatty():
            shows_count = counts and n > 1
            with click.progressbar(length=max(n, 1), label=label, file=self._stream, show_pos=shows_count) as bar:
                self._has_bar = True
                try:
                    yield bar.update
                    bar.update(0)
                finally:
                    self._has_bar = False
            return
        yield lambda _: None
        self.say(f"{label}: {time.perf_counter() - started:.1f} s")

    def say(self, text: str) -> None:
        """Print a line; terminal control characters are shown as visible signs."""
        if self._stream is not None:
            text = clean(text)
            click.echo(f"\r\x1b[K{text}" if self._has_bar else text, file=self._stream)  # replaces the bar


SILENT = Progress()
