"""Keep the cloud's answers by masked request, so that the same question is not asked, paid for and disclosed twice.

"Call Anna" and "call Ben" leave the device as one masked form, so one answer serves both: the plan is kept as it came,
with pseudonyms, and gets the owner's own values when it is read. An answer with a date, or with a time of day that the
request does not contain, is right for its day only and is not kept.

Covered: tools that changed since (their hash is part of the form), answers that are old, a record that grows.
Not covered: a cloud that would answer better by now; `KEPT` bounds for how long. Forgetting anything empties the
record: a form is masked, but what a mask missed must not outlive it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterator

from hearth.errors import WireError
from hearth.formats import edge_protocol
from hearth.storage.database import Store

KEPT = dt.timedelta(days=30)
N_KEPT = 2_000
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}|\b\d{1,2}:\d{2}\b")


class Answered:
    """Answers of one cloud to masked forms."""

    def __init__(self, store: Store, host: str) -> None:
        """Open the record for one cloud; answers of other hosts are not used."""
        self._store = store
        self._host = host

    def find(self, asked: edge_protocol.PlanAsked, now: dt.datetime) -> edge_protocol.PlanGiven | None:
        """Return the answer to the same form, under this question's id; None if there is none or it is too old."""
        rows = self._store.query("SELECT answer, at FROM cloud_answer WHERE form = ?", (self._form(asked),))
        if not rows or not dt.timedelta(0) <= now - dt.datetime.fromisoformat(rows[0]["at"]) <= KEPT:
            return None
        try:
            given = edge_protocol.read(edge_protocol.PlanGiven, rows[0]["answer"])
        except WireError:  # written by another version
            return None
        return given.model_copy(update={"id": asked.id, "n_tokens": 0})

    def keep(self, asked: edge_protocol.PlanAsked, given: edge_protocol.PlanGiven, now: dt.datetime) -> None:
        """Keep a plan, or the answer that no tool serves the request, unless it holds a date or time of its own."""
        if given.plan is None and (given.refusal is None or given.refusal.kind != "out_of_scope"):
            return
        said = set(_MOMENT.findall(asked.request))
        if any(set(_MOMENT.findall(text)) - said for text in _texts(given.plan)):
            return
        with self._store.transaction() as cursor:
            cursor.execute(
                "INSERT OR REPLACE INTO cloud_answer (form, answer, at) VALUES (?, ?, ?)",
                (self._form(asked), given.model_dump_json().encode(), now.isoformat()),
            )
            cursor.execute(
                "DELETE FROM cloud_answer WHERE form NOT IN (SELECT form FROM cloud_answer ORDER BY at DESC LIMIT ?)",
                (N_KEPT,),
            )

    def _form(self, asked: edge_protocol.PlanAsked) -> str:
        words = " ".join(asked.request.split())
        parts = json.dumps([self._host, words, asked.tools_sha256])
        return hashlib.sha256(parts.encode(errors="surrogatepass")).hexdigest()


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
