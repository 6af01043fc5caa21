"""Whatever stands in results, a value from nowhere is never a recipient, and judging never depends on having judged."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from test_worded_warrant import warrant

from hearth.guard.policy.request_words import content_words, is_in, stem
from hearth.types import Plain
from tests.warrants import CONTACTS, judged

_LETTERS = st.text("abcdefghijklmnop", min_size=1, max_size=12)
_ADDRESSES = st.builds("{}@{}.test".format, _LETTERS, _LETTERS)
_TEXTS = st.text(max_size=60)


@given(address=_ADDRESSES, subject=_TEXTS, body=_TEXTS, request=_TEXTS)
def test_an_address_only_strangers_wrote_is_no_recipient(address: str, subject: str, body: str, request: str) -> None:
    mail: Plain = {"id": "m1", "sender": address, "cc": [address], "subject": subject, "text": f"{body} {address}"}
    made = warrant(f"Email Ben this: {request}", ("find_mail", {"query": "Ben"}, [mail]))
    if address in request or address in CONTACTS or "back" in request:
        return
    for _ in range(2):
        ruling = judged(made, "send_mail", {"to": [address], "subject": "", "text": "x"})
        assert ruling.verdict == "ask"


@given(value=_TEXTS, before=_TEXTS, after=_TEXTS)
def test_a_value_set_off_by_spaces_is_found(value: str, before: str, after: str) -> None:
    bare = value.strip()
    if bare:
        assert is_in(bare, f"{before} {bare} {after}")


@given(
    value=st.from_regex(r"[a-z]{1,8}@[a-z]{1,8}\.[a-z]{2,3}", fullmatch=True),
    more=st.from_regex(r"[a-z0-9]{1,4}", fullmatch=True),
)
def test_a_value_inside_a_longer_one_is_not(value: str, more: str) -> None:
    for longer in (more + value, value + more, f"{value}.{more}", f"{more}.{value}", f"{more}-{value}"):
        assert not is_in(value, f"send it to {longer} today")


@given(_TEXTS)
def test_stems_are_stable(text: str) -> None:
    for word in content_words(text):
        assert len(stem(word)) <= len(word)
