"""Decides, word by word, whether a request means the past or the future: whether a weekday is the last or the next.

Each part of a sentence decides for itself: in "Ben sent me the date, put it down for Friday" Friday lies ahead. What
one has ("what have I got on Friday") lies ahead; a thing that was moved lies where it was moved to. Nothing is parsed:
a verb that is missing from the tables leaves the tense as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hearth.language.text.tokens import listed

Tense = Literal["", "past", "told"]
"""Tense of the next times; `told`: past, in a request to enter or move something ("the call I missed on Monday")."""

_PAST = frozenset(
    listed(
        "did was were had sent received wrote said told happened went came arrived met took made missed "
        "saved modified changed edited created written recorded downloaded taken ran bought paid ate saw "
        "talked spoke worked replied promised logged spent been uploaded photographed finished completed "
        "shared mentioned asked heard attended visited scanned filmed stored added learned watched slept "
        "emailed e-mailed mailed texted messaged phoned forwarded posted pinged rang got turned lost"
    )
)
_AHEAD = frozenset(
    listed(
        "remind schedule book will plan arrange set wake am add put create move do have is are can should "
        "shall block reserve cancel what's enter pencil find show tell snooze postpone reschedule"
    )
)
"""Words that turn a part of a sentence to the future when they begin it."""
_COMMANDS = frozenset(
    listed(
        "send write draft reply forward read open get give call ring text email e-mail mail message note save delete "
        "search list look check mark push shift delay bring invite ask let make tick confirm pick buy order start stop"
    )
)
"""Words that do the same, except after a "did": "what did Ben send and write on Monday"."""
_SETTING = frozenset(
    listed(
        "remind schedule book plan arrange set add put create move block reserve enter pencil postpone reschedule make "
        "push shift delay bring note"
    )
)
_PRESENT = frozenset(
    listed(
        "is are am will shall must needs need wants want comes starts begins leaves goes i'm i'll we're "
        "we'll you're they're she'll he'll it'll they'll"
    )
)
_OWED = frozenset(listed("must mustn't will won't shall should to it'll they'll we'll i'll you'll he'll she'll"))
"""Words before "be" and a participle that look ahead: "must be paid", "has to be sent"."""
_HAD = frozenset(listed("any anything a an some time room space much anyone"))
_WOULD = frozenset(listed("i'd he'd she'd we'd they'd i'll he'll she'll we'll they'll"))
_SAYING = frozenset(listed("said told promised says agreed"))
_IS_AT = frozenset(listed("now on at not due going"))
_WHO_IS = frozenset(listed("it that she he there what who"))
_BEGINNINGS = frozenset(listed("and then , so but or plus - – — :"))
_NO_VERBS = frozenset(listed("please also me what when where who which how"))
_HAVE = frozenset(listed("have has i've we've you've they've haven't hasn't ive weve youve theyve do does whos who's"))
_QUESTIONS = frozenset(listed("what who where when which how"))
_MOVED = frozenset(
    listed(
        "moved pushed shifted postponed rescheduled delayed brought put changed booked scheduled set planned confirmed"
    )
)
_MOVED_TO = frozenset(listed("pulled shunted altered swapped shoved bumped"))
"""Verbs that move a thing only with "to", "back" or "forward"."""
_PLANS = frozenset(listed("calendar calendars diary diaries schedule schedules plans meetings appointments free"))
_LONGEST_PART = 12
_CALLED_BEFORE = frozenset(listed("me us on in at over during last this about earlier while"))
_FARTHEST_VERB = 5
"""Greatest distance, in words, of a present verb from the beginning of its part of a sentence."""


@dataclass(slots=True)
class _Reader:
    """State of the reading of a request."""

    words: Sequence[str]
    is_past: bool = False
    may_turn: bool = True
    """True while only "please" and the like has been said since a beginning."""
    is_inherited: bool = False
    """True while the part has had no verb of its own."""
    begins_at: int = 0
    is_did: bool = False
    is_setting: bool = False

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def turn_ahead(self, word: str) -> None:
        self.is_past = self.may_turn = self.is_inherited = self.is_did = False
        self.is_setting = word in _SETTING

    def read(self, index: int) -> None:
        word = self.words[index]
        if word in (".", "!", "?", ";"):
            self.turn_ahead("")
            self.may_turn, self.begins_at = True, index + 1
        elif word in _BEGINNINGS:
            self.may_turn, self.is_inherited, self.begins_at = True, True, index + 1
        elif word in ("can", "could", "will", "would") and self.word(index + 1) in ("you", "u", "we"):
            self.turn_ahead("")
            self.may_turn = True
        elif self.may_turn and (word in _AHEAD or (word in _COMMANDS and not self.is_did)):
            self.turn_ahead(word)
        elif self._is_past_at(index):
            self.is_past, self.may_turn, self.is_inherited, self.is_did = True, False, False, word == "did"
        elif self._is_ahead_at(index):
            self.is_past = self.is_inherited = False
        else:
            self.may_turn = self.may_turn and word in (*_NO_VERBS, "you")

    def _is_past_at(self, index: int) -> bool:
        word = self.words[index]
        if word == "got":
            return not self._is_had(index) and not self._is_moved_on(index)
        if self.word(index - 1) == "be" and not _OWED.isdisjoint(self.words[max(0, index - 4) : index - 1]):
            return False  # "it must be paid by Friday"; not "what could be heard on Sunday"
        if word == "had" and self.word(index + 1) == "better":
            return False  # "tea had better be Wednesday"
        if word == "promised" and not _HAVE.isdisjoint(self.words[max(0, index - 3) : index]):
            return False  # "have I promised anything for Wednesday"
        if word == "catch":
            return self.word(index + 1) in ("me", "us") and self.word(index + 2) == "up"  # "catch me up on Tuesday"
        if word == "compare":  # days are compared by what was seen, plans by what is to come
            return _PLANS.isdisjoint(self.words[index + 1 : index + 1 + _LONGEST_PART])
        if word == "called":
            return self.word(index + 1) in _CALLED_BEFORE and self.word(index - 1) not in ("list", "note", "event")
        return word in _PAST and not (word in _MOVED and self._is_ahead_at(index))

    def _is_had(self, index: int) -> bool:
        """Return whether "got" means "have": "have I got", "I've got", "what's Ben got"."""
        if index == self.begins_at and self.word(index + 1) in _HAD:
            return True  # "got any time on Thursday"
        before = self.words[max(0, index - 4) : index]
        if any(word in _HAVE for word in before) or before[-1:] == ["'s"]:
            return True
        return any(word == "'s" and self.word(index - n - 1) in _QUESTIONS for n, word in enumerate(before[::-1], 1))

    def _is_moved_on(self, index: int) -> bool:
        """Return whether "got" says that something was put somewhere else: "it got bumped to Monday"."""
        return self.word(index + 1).endswith("ed") and "to" in self.words[index + 2 : index + 7]

    def _is_ahead_at(self, index: int) -> bool:
        word = self.words[index]
        if word == "got":
            return self._is_had(index) or self._is_moved_on(index)
        if word in _MOVED_TO:
            return self.word(index + 1) in ("to", "until", "back", "forward")
        if word in _MOVED:
            return self.word(index - 1) == "been" or self.word(index + 1) in ("to", "until", "back", "forward")
        if self.is_setting and word in ("about", "of", "with", "to") and self.word(index + 1) in ("on", "for", "at"):
            return True  # "enter the party Ben wrote about on Friday"
        if word in _WOULD and any(one in _SAYING for one in self.words[max(0, index - 3) : index]):
            return True  # "I said I'd mind Otto on the 28th"
        if self.is_inherited and (word == "now" or (word == "'s" and self.word(index + 1) in _IS_AT)):
            return True  # "the coach rang, training's now Thursday"
        is_now = word in _PRESENT or (word == "'s" and self.word(index - 1) in _WHO_IS)
        return self.is_inherited and is_now and index - self.begins_at < _FARTHEST_VERB


def tenses(words: Sequence[str]) -> list[Tense]:
    """Return, for each word of a request, the tense of a time said there."""
    reader = _Reader(words)
    result: list[Tense] = []
    for index in range(len(words)):
        reader.read(index)
        result.append(("told" if reader.is_setting else "past") if reader.is_past else "")
    return result


# ── Records ───────────────────────────────────────────────────────────────────────────────────────────────

RECORDS = frozenset(
    listed(
        "mail mails email emails e-mail e-mails message messages photo photos picture pictures image images "
        "video videos recording recordings file files document documents note notes newsletter newsletters "
        "invoice invoices receipt receipts footage"
    )
)
"""Things that lie in the past: "mails from Monday" looks back."""
_MAILS = frozenset(listed("mails emails e-mails messages photos pictures videos recordings newsletters footage"))
_ONE_MAIL = frozenset(listed("mail email e-mail message"))
_BEFORE_MAILS = frozenset(
    listed(
        "find show list search any which what all delete archive count how many get me for up the my our new unread "
        "please can could you i we have still got do are is there were was from latest recent of every see"
    )
)
_DUE = frozenset(listed("must need needs due will should to send answer reply"))
_SPANS = frozenset(listed("between before after from since of in over during until"))


def is_of_records(words: Sequence[str], index: int, cue: str) -> bool:
    """Return whether the time that begins at a place says when mails, photos and the like came."""
    if cue in ("from", "of") and any(word in RECORDS for word in words[max(0, index - 3) : index]):
        return True
    if cue not in _SPANS:
        return False
    part: list[str] = []
    for word in reversed(words[max(0, index - _LONGEST_PART) : index]):
        if word in (".", "!", "?", ";", ",", "and", "then"):
            break
        part.append(word)
    part.reverse()
    for place, word in enumerate(part):
        is_one = word in _ONE_MAIL and place and part[place - 1] in ("any", "unread", "new", "which", "all")
        if word in _MAILS or is_one:
            return not any(after in _DUE for after in part[place + 1 :])
        if word not in _BEFORE_MAILS:
            return False
    return False
