"""Asks the owner: shows a question and takes the answer.

Covered: a terminal, nobody, and an owner who said yes beforehand.
Not covered: what is in the question (`guard.policy.question`); whether the owner reads it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TextIO

from hearth.protocols import Reply
from hearth.terminal import drop_typed_ahead
from hearth.types import Ruling

UNFORESEEN = "label.unforeseen"
"""The rule that asks about a value from an unforeseen source."""

ANSWERS: Mapping[str, Reply] = {
    "y": "once",
    "yes": "once",
    "a": "always",
    "always": "always",
    "n": "no",
    "no": "no",
    "": "no",
    "never": "never",
}
"""What a typed answer means."""
PROMPT = "Do it? [y]es, [a]lways when it is like this, [n]o, never: "


class TerminalApprover:
    """Asks on a terminal: writes the question to standard error, reads the answer from standard input.

    Anything but a clear yes is a no, and so is the end of input; where input is no terminal there is nobody to ask.
    What was typed before the question is no answer to it.
    """

    def __init__(self, answers: TextIO | None = None, shown: TextIO | None = None) -> None:
        self._answers = answers
        self._shown = shown

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the question holds the reason
        answers, shown = self._answers or sys.stdin, self._shown or sys.stderr
        if answers is None or not answers.isatty():
            return "nobody"
        drop_typed_ahead(answers)
        shown.write(f"{question}\n{PROMPT}")
        shown.flush()
        while line := answers.readline():
            answer = ANSWERS.get(line.strip().lower())
            if answer is not None:
                return answer
            shown.write("Please answer y, a, n or never: ")
            shown.flush()
        return "no"


class RefusingApprover:
    """An approver for when there is nobody to ask: nothing is approved."""

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the seam's signature
        return "nobody"


class YesApprover:
    """An approver for an owner who said yes to every plan beforehand (`--yes`). A rule that denies still denies.

    Not covered by that yes: an unforeseen stranger's value (a contact that turns out not to be the owner's own).
    """

    def approve(self, question: str, ruling: Ruling) -> Reply:  # noqa: ARG002 - the seam's signature
        return "nobody" if ruling.rule == UNFORESEEN else "once"
