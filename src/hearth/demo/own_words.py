"""Twenty requests as people type them on a phone, what each of them means, and how many were understood.

Written before any of them was tried. What is meant is the tools and what the plan or the answer must hold; where more
is right than that, it is not said: an answer may hold more, and values that nobody asked about are not judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hearth.types import Episode


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A request in somebody's own words, and what is meant."""

    text: str
    tool: str
    """The tool that does it, the last of the plan; several that would be right are joined by a bar."""
    holds: tuple[str, ...] = ()
    """What the arguments or the answer must hold, whatever the case of its letters."""


TWENTY = (
    OwnWords("remind me to put the bins out tmrw night at 9", "add_reminder", ("put the bins out", "21:00")),
    OwnWords("alarm 6 45 tomorrow pls", "add_reminder", ("06:45",)),
    OwnWords("whats on thursday", "find_events"),
    OwnWords("when am i seeing jonas", "find_events|next_event|find_answer", ("lunch with jonas",)),
    OwnWords("did priya write anything about the budget", "find_mail|read_mail|find_answer", ("budget talk",)),
    OwnWords("when's karins birthday again", "find_contact|upcoming_birthdays|find_answer", ("karin",)),
    OwnWords("push the tram poster review back an hour", "move_event", ("tram poster review", "16:00")),
    OwnWords("cancel swimming with lina, she's got a cold", "cancel_event", ("swimming with lina",)),
    OwnWords("let mum know im running ten minutes late", "draft_mail|send_mail", ("ten minutes late", "ulrike")),
    OwnWords("need oat milk and candles", "add_to_list", ("oat milk", "candles")),
    OwnWords("whats the wifi pw at the allotment", "find_answer|find_notes", ("notice board",)),
    OwnWords("12 mins for the pasta", "set_timer", ("pasta", "12")),
    OwnWords("18% tip on 64 euros", "calculate", ("11.52",)),
    OwnWords("how many km is 3 miles", "convert_units|calculate", ("4.82",)),
    OwnWords("anything new from the library?", "find_mail", ("library",)),
    OwnWords("leos got a new number, 0151 23456789", "change_contact", ("leo", "15123456789")),
    OwnWords("jot down that the monstera needs a bigger pot", "add_note", ("the monstera needs a bigger pot",)),
    OwnWords("am i free saturday afternoon", "find_events|find_free_time"),
    OwnWords("how much does the electrician want for the sockets", "find_answer", ("334.75",)),
    OwnWords("block out monday 2 til 4 for the survey", "add_event", ("survey", "14:00", "16:00")),
)


def missed(episodes: Sequence[Episode]) -> tuple[str, ...]:
    """Return the words that were not done as meant; `episodes` are of the twenty, in their order."""
    return tuple(one.text for one, episode in zip(TWENTY, episodes, strict=True) if not is_as_meant(one, episode))


def is_as_meant(words: OwnWords, episode: Episode) -> bool:
    """Whether a request was done by a tool that is meant, on what is meant, or would have been with the owner's yes."""
    if episode.plan is None or not episode.plan.steps or episode.answer.status not in ("done", "denied"):
        return False
    told = " ".join((*(repr(dict(step.arguments)) for step in episode.plan.steps), episode.answer.text)).casefold()
    return episode.plan.steps[-1].tool in words.tool.split("|") and all(part in told for part in words.holds)
