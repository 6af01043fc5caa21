"""Builds the index of the owner's things while nobody asks for anything.

So the first question about 20,000 new mails finds them all, by their words and by their meaning. It has a thread and a
database connection of its own, and the desk goes on without it: a request begins at once, and shares the processor with
it only until the file or the few passages in hand are done (under a second, but for a document that is slow to read).
Then it stops, and goes on after the next quiet while. It waits for learning, too, and learning never for it.

It looks at the folder after something went on at the desk (a request, mail that came), else every quarter of an hour:
2,000 files are listed in a fiftieth of a second.

Covered: ending in the middle, a request in the middle, another process that does the same (each file is replaced in one
transaction), a full disk (the page says so; tried again at a later look). Not covered: a battery, which it does not
spare.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from hearth.errors import HearthError
from hearth.formats.terminal_text import clean
from hearth.memory.answers.home_answers import HomeAnswers, Stage
from hearth.memory.inquiry.answer_reading import AnswerReader
from hearth.protocols import CallContext
from hearth.serve.background.background_sync import ENDS_WITHIN_S, SyncState, let_go
from hearth.serve.desk import Desk
from hearth.storage.database import Store
from hearth.storage.fault_log import note_fault
from hearth.storage.workspace import Folder

AFTER_S = 10.0
"""How long nobody must have asked for anything."""
FOLDER_EVERY_S = 900.0
"""How often the folder is looked at where nothing went on at the desk: files may be put there by hand."""
_LOOK_EVERY_S = 30.0
_NAME = "Your things"
_SAID: Mapping[Stage, str] = {
    "files": "files read",
    "pictures": "files with pictures read",
    "meaning": "passages found by their meaning, too",
    "verdicts": "passages looked through for instructions",
}


class ReadingAhead:
    """What builds the index beside a home; made by `reading_ahead`."""

    def __init__(self, home: Path, desk: Desk, answers: HomeAnswers, call: CallContext, after_s: float) -> None:
        """Prepare it.

        Args:
            answers: On a database connection that nobody else uses.
            call: Whose workspace is read.
            after_s: How long nobody must have asked for anything.
        """
        self._home = home
        self._desk = desk
        self._answers = answers
        self._call = call
        self._after_s = after_s
        self._stopped = threading.Event()
        self._next_s = 0.0
        self._version: int | None = None
        """Of what the desk shows, when nothing was left."""
        self.states: tuple[SyncState, ...] = ()
        """How it stands, while there is something to tell."""

    def look(self, at_s: float) -> bool:
        """Build what is left, if nobody asks for anything and something may be; return whether it came to an end.

        Args:
            at_s: The monotonic clock.
        """
        version = self._desk.view.version
        if not self._desk.is_free or self._desk.quiet_s < self._after_s:
            return False
        if version == self._version and at_s < self._next_s:
            return True
        try:
            if not self._build():
                return False
            self.states = ()
        except HearthError as error:
            self.states = (SyncState(_NAME, clean(str(error)), is_fault=True),)
        except Exception as error:
            note_fault(self._home, error)
            says = "a fault of Hearth's own; `hearth doctor` tells of it"
            self.states = (SyncState(_NAME, says, is_fault=True),)
        self._version, self._next_s = version, at_s + FOLDER_EVERY_S
        return True

    def _build(self) -> bool:
        """Build until nothing is left, or somebody wants the agent; return whether nothing is left."""
        for step in self._answers.build(self._call.workspace, self._call.now.tzinfo):
            self.states = (SyncState(_NAME, f"{step.n_done:,} of {step.n_all:,} {_SAID[step.stage]}"),)
            if self._stopped.is_set() or not self._desk.is_free:
                return False
        if self.states:
            let_go()
        return True

    def follow(self) -> None:
        """Look again and again, until `stop`."""
        while not self._stopped.wait(_LOOK_EVERY_S):
            self.look(time.monotonic())

    def stop(self) -> None:
        """End what is being done, after the file or the passages in hand."""
        self._stopped.set()


@contextlib.contextmanager
def reading_ahead(home: Path, desk: Desk, call: CallContext) -> Iterator[ReadingAhead]:
    """Build the index while a home is quiet, until the block ends."""
    encoder, cache = desk.use(lambda agent: (agent.encoder, agent.opened.cache)).result()
    with Store.open(home / "hearth.db") as store:
        own = replace(call, workspace=Folder(home / "owner", store).for_call(""))
        ahead = ReadingAhead(home, desk, HomeAnswers(store, encoder, AnswerReader(cache)), own, AFTER_S)
        thread = threading.Thread(target=ahead.follow, name="hearth-reading-ahead", daemon=True)
        thread.start()
        try:
            yield ahead
        finally:
            ahead.stop()
            thread.join(ENDS_WITHIN_S)
