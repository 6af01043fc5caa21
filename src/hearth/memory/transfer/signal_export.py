"""Reads Signal's own export of chats: `main.jsonl`, which the apps write at "Export chat history".

Each line is a frame of Signal's backup format in protobuf's JSON: numbers of 64 bits as text, bytes in base64, names
as in `backup.proto`. The first is the head; people and groups (`recipient`) and their chats (`chat`) come before the
messages (`chatItem`) that name them by numbers, which mean something in this file only. The form is that of libsignal's
`JsonExporter` and `backup.proto` of 2026 (looked at: libsignal 0.103, Signal Desktop's `exportLocalPlaintextBackup`).

Covered: words of messages, edited ones as they are now, polls, answers to stories.
Not covered: pictures, voice messages, stickers, contacts, payments, calls and notices, which are counted; messages that
disappear, which Signal leaves out itself; encrypted backups.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

from hearth.memory.event_memory import NewEvent
from hearth.memory.transfer.import_sources import MAX_TEXT_CHARACTERS, MESSAGE, NOTHING, Bad, LeftOut, key_of, time_of

_LEFT_OUT = {
    "updateMessage": LeftOut.NOTICE,
    "remoteDeletedMessage": LeftOut.DELETED,
    "adminDeletedMessage": LeftOut.DELETED,
    "contactMessage": LeftOut.CARD,
    "paymentNotification": LeftOut.CARD,
    "giftBadge": LeftOut.CARD,
}


def is_signal_head(line: object) -> bool:
    """Return whether a JSON line opens an export of Signal."""
    return isinstance(line, dict) and "backupTimeMs" in line and "version" in line


class SignalExport:
    """Reads one export, line after line; keeps the names of people and chats."""

    def __init__(self) -> None:
        self._owner = "me"
        self._people: dict[str, tuple[str, str]] = {}
        """By the number in this file: what identifies them in every export, and their name."""
        self._chats: dict[str, str] = {}
        """By the number in this file: the number of whom the chat is with."""

    def take(self, frame: dict[str, Any], where: str) -> NewEvent | Bad | LeftOut:
        """Return the message of a line, or what the line is instead."""
        for name, value in frame.items():
            if not isinstance(value, dict):
                continue
            if name == "chatItem":
                return self._message(value, where)
            if name == "account":
                self._owner = _joined(value, "givenName", "familyName") or self._owner
            elif name == "recipient":
                self._people[str(value.get("id"))] = self._identity_and_name(value)
            elif name == "chat":
                self._chats[str(value.get("id"))] = str(value.get("recipientId"))
        return NOTHING

    def _message(self, item: dict[str, Any], where: str) -> NewEvent | Bad | LeftOut:
        text = _words(item)
        if not text:
            return next((why for kind, why in _LEFT_OUT.items() if kind in item), LeftOut.WORDLESS)
        at = time_of(item.get("dateSent"), dt.UTC)
        if at is None:
            return Bad(where, f"no time in `dateSent`: {item.get('dateSent')!r:.40}; expected milliseconds since 1970")
        chat_identity, chat = self._people.get(self._chats.get(str(item.get("chatId")), ""), ("", ""))
        identity, who = self._people.get(str(item.get("authorId")), ("", ""))
        if not identity or not chat_identity:
            return Bad(where, "a message by nobody, or in no chat, that the lines before it name")
        key = key_of("signal", chat_identity, identity, item.get("dateSent"), text)
        return NewEvent(key, text[:MAX_TEXT_CHARACTERS], "message", at, MESSAGE, who[:200], thread=f"chat {chat}"[:200])

    def _identity_and_name(self, recipient: dict[str, Any]) -> tuple[str, str]:
        contact, group = _dict(recipient, "contact"), _dict(recipient, "group")
        if contact:
            names = (
                _joined(_dict(contact, "nickname"), "given", "family"),
                _joined(contact, "systemGivenName", "systemFamilyName"),
                _joined(contact, "profileGivenName", "profileFamilyName"),
                f"+{contact['e164']}" if contact.get("e164") else "",
                str(contact.get("username") or ""),
            )
            name = next(filter(None, names), "somebody without a name")
            return str(contact.get("aci") or contact.get("e164") or contact.get("pni") or name), name
        if group:
            title = _dict(_dict(group, "snapshot"), "title").get("title")
            return str(group.get("masterKey") or title), str(title or "a group without a name")
        if "self" in recipient:
            return "self", self._owner
        return next(iter(recipient.keys() - {"id"}), ""), "Signal"


def _words(item: dict[str, Any]) -> str:
    """Return the words of a message; of a poll, its question and what may be chosen."""
    if poll := _dict(item, "poll"):
        options = poll.get("options")
        chosen = [
            str(one.get("option", ""))
            for one in (options if isinstance(options, list) else ())
            if isinstance(one, dict)
        ]
        return "\n".join([str(poll.get("question") or ""), *(f"- {one}" for one in chosen)]).strip()
    answer = _dict(_dict(item, "directStoryReplyMessage"), "textReply")
    text = _dict(_dict(item, "standardMessage") or answer, "text").get("body")
    return text.strip() if isinstance(text, str) else ""


def _dict(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _joined(value: dict[str, Any], *names: str) -> str:
    return " ".join(part.strip() for name in names if isinstance(part := value.get(name), str) and part.strip())
