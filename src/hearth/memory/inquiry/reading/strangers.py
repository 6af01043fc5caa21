"""Tells what strangers wrote from what is the owner's own or by people on his cards, and which of their sentences order
somebody to say something.

Notes, documents, reminders, cards, own events and sent mails are the owner's; a mail is its sender's, by the address.

Covered: a known name over an unknown address; orders to the assistant or to anybody to say or answer something.
Not covered: a forged address, an order in the sentence before, a false statement in plain words: its source is named.
"""

from __future__ import annotations

from hearth import patterns as re
from hearth.errors import ToolError
from hearth.formats.addresses import canonical_address
from hearth.memory.passages.passage_store import Passage
from hearth.protocols import CallContext, Workspace
from hearth.tools.mail.mailbox import SENT
from hearth.tools.mail.mime import read_head
from hearth.tools.pim.cards import read_cards

_ORDERED = (
    r"(?:\A\W*|[,;:–-]\s+|\b(?:please|kindly)\s+|\byou (?:must|should|shall|will|have to|need to|are to|can only)\s+)"
    r"(?:(?:now|always|only|simply|just|never)\s+)*"
)
_TO_SAY = re.compile(
    rf"{_ORDERED}(?:(?:say|tell|respond|confirm|inform|assure)\b(?:[^.;?]*\b(?:that|is|are|was|were)\b|\s*:| with\b)"
    r"|(?:answer|reply|state|report|claim|repeat) (?:[\w'’]+ ){0,4}?(?:that|with)\b"
    r"|(?:let|make sure(?: that)?|see that) (?!me\b|us\b|you\b)(?:[\w'’]+ ){1,4}?knows?\b"
    r"(?! (?:if|when|whether|what|how|who|where|why|by|before)\b)(?:[^.;?]*\b(?:that|is|are|was|were)\b|\s*:))"
    r"|\b(?:whenever|when|if)\b[^.;:?]*\b(?:asks?|asked|wants? to know|wonders?)\b[^.;:?]*:",
    re.IGNORECASE,
)
"""An order to say something, with what is to be said."""
_TO_ASSISTANT = re.compile(
    r"\A\W*(?:(?:dear|hey|hi|hello|attention|(?:note |message )?(?:to|for)) (?:the |my |your |any )?(?:ai )?"
    r"(?:assistant|agent|bot|model)\s*[,:;!–-]|(?:(?:dear|hey|hi|hello|to|for) )?(?:an? |the )?(?:ai|hearth|chatbot"
    r"|language model|llm)\b(?: (?:assistant|agent|bot|model|system))?\s*[,:;!–-]|(?:assistant|agent|bot)\s*,)",
    re.IGNORECASE,
)
"""Speaks to the assistant."""


def known_addresses(call: CallContext) -> frozenset[str]:
    """Return the addresses of the owner and of all on his cards."""
    cards = (card.email for file in read_cards(call.workspace).values() for card in file.cards)
    own = str(call.settings.get("owner", {}).get("email") or "")
    return frozenset(filter(None, map(_canonical, (*cards, own))))


def is_strangers(passage: Passage, known: frozenset[str], workspace: Workspace) -> bool:
    """Return whether somebody may have written a passage whom the owner has no card of."""
    if passage.kind == "mail":
        if passage.record.startswith(f"{SENT}/"):
            return False
        try:
            return _canonical(read_head(workspace.read(passage.path)).sender) not in known
        except ToolError:
            return True  # gone meanwhile
    return passage.source not in ("file", "device") and _canonical(passage.person) not in known


def is_order_to_say(sentence: str) -> bool:
    """Return whether a sentence speaks to the assistant, or orders somebody to say what stands in it."""
    return _TO_ASSISTANT.search(sentence) is not None or _TO_SAY.search(sentence) is not None


def _canonical(address: str) -> str:
    """Return an address in the one spelling; empty for what is none."""
    try:
        return canonical_address(address).casefold()
    except ValueError:
        return ""
