"""Names the list that is meant by "the list": the one that was just used, else the only one there is.

"Add sherry to the shopping list", then "what's on the list now" or "take sherry off, I've got some". The owner is shown
the reading. Not covered: "it" and "them" for a list; which of several lists is meant where none was used before.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from hearth.types import Episode

WITHIN = dt.timedelta(minutes=15)
"""A list that was used longer ago is not meant any more."""
_THE_LIST = re.compile(
    r"\b(?:the|my|our|that|this)\s+list\b(?!\s+(?:of|for|called|named|with|about)\b|['’]s\s+name)", re.IGNORECASE
)
_OFF = re.compile(
    r"\s*(?:(?:please|ok|okay|and|now|oh|can\s+you|could\s+you)[\s,]+)*(?:take|cross|strike|knock|scratch|tick)\s+"
    r"(?P<what>(?!(?:it|that|them|this|the\s+day)\b)[^,.;?!]{1,60}?)\s+off"
    r"(?:\s+(?:again|too|as\s+well|please))*(?:\s*[,.;–-]?\s*(?:(?:i|we|he|she|they)(?:['’]?(?:ve|m|re|s|d))?)\s+(?!need\b)[^,.;?!]*)?\s*[.!]*\s*",
    re.IGNORECASE,
)
_LONGEST = 2_000
_LISTS = frozenset({"add_to_list", "remove_from_list", "read_list"})


def on_its_list(text: str, recent: Sequence[Episode], now: dt.datetime, names: Sequence[str]) -> str:
    """Return a request with the list named that it means; unchanged where that is not clear.

    Args:
        recent: What was asked before, newest first.
        names: The lists that are there.
    """
    talked = _list_used(recent, now)
    name = talked or (names[0] if len(names) == 1 else "")
    if not name or len(text) > _LONGEST:
        return text
    if (said := _THE_LIST.search(text)) is not None:
        return f"{text[: said.start()]}the {name} list{text[said.end() :]}"
    off = _OFF.fullmatch(text) if talked else None
    return text if off is None else f"take {off['what']} off the {name} list"


def _list_used(recent: Sequence[Episode], now: dt.datetime) -> str:
    """Return the name of the list that was used last; empty where none was lately."""
    for episode in recent:
        if episode.plan is None or not dt.timedelta() <= now - episode.request.now <= WITHIN:
            continue
        for step in reversed(episode.plan.steps):
            name = step.arguments.get("list")
            if step.tool in _LISTS and isinstance(name, str):
                return re.sub(r"^(?:the|my|our)\s+|\s+list$", "", name, flags=re.IGNORECASE)
    return ""
