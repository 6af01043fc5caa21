"""Standing answers: narrow, expiring, revocable, and never wider than what was agreed to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

import pytest

from hearth.errors import NotFound
from hearth.guard.labels import Value, label_of
from hearth.guard.policy.question import LASTS, Consents
from hearth.storage.database import Store
from hearth.testing import FIXED_NOW
from hearth.types import OWNER, Parameter, Plain, ToolSpec

PAY = ToolSpec(
    "pay",
    "Pay.",
    (
        Parameter("to", "list[EmailAddress]", is_sink=True),
        Parameter("amount", "number"),
        Parameter("text", "text", is_required=False),
        Parameter("speed", "text", is_required=False, enum=("slow", "fast")),
        Parameter("file", "FilePath", is_required=False),
    ),
    effect="send",
)
GOOD: dict[str, Plain] = {"to": ["anna@example.org", "ben@example.org"], "amount": 20, "text": "hi", "speed": "slow"}
MESSAGE = label_of("message")


def values(source: dict[str, str] | None = None, **changed: Plain) -> dict[str, Value]:
    found = {name: Value(data, OWNER) for name, data in {**GOOD, **changed}.items() if data is not None}
    for name, origin in (source or {}).items():
        found[name] = Value(found[name].data, OWNER.join(label_of(origin)))
    return found


@pytest.fixture
def consents(store: Store) -> Consents:
    return Consents(store)


@pytest.mark.parametrize(
    ("call", "is_covered"),
    [
        (lambda: values(), True),
        (lambda: values(text="something else", amount=5), True),
        (lambda: values(to=["BEN@example.org", "anna@example.org"]), True),
        (lambda: values(text=None), True),
        (lambda: values(amount=20.5), False),
        (lambda: values(amount=-100), False),
        (lambda: values(amount=-15), False),  # what is paid is not what is taken back
        (lambda: values(to=["anna@example.org"]), False),
        (lambda: values(to=["anna@example.org", "mallory@example.net"]), False),
        (lambda: values(to=["anna@example.org", "ben@еxample.org"]), False),
        (lambda: values(to=["anna@example.org", "ben@example.or\u212a"]), False),
        (lambda: values(speed="fast"), False),
        (lambda: values(speed=None), False),
        (lambda: values(file="a.txt"), False),
        (lambda: values({"text": "message"}), False),
        (lambda: values({"to": "web"}), False),
    ],
)
def test_what_an_agreement_covers(consents: Consents, call: Callable[[], dict[str, Value]], is_covered: bool) -> None:
    kept = consents.keep(PAY, values(), "allow", frozenset({"default"}), FIXED_NOW)
    found = consents.find(PAY, call(), "default", FIXED_NOW)
    assert (found == kept) == is_covered
    assert consents.find(PAY, call(), "warrant.licence", FIXED_NOW) is None, "another reason asks again"


def test_a_never_denies_the_same_values_whatever_their_source_amount_or_reason(consents: Consents) -> None:
    consents.keep(PAY, values(), "allow", frozenset({"default"}), FIXED_NOW)
    never = consents.keep(PAY, values(), "deny", frozenset({"default"}), FIXED_NOW)
    for call in (values(), values({"text": "web"}), values(amount=1e6)):
        assert consents.find(PAY, call, "label", FIXED_NOW) == never
    assert consents.find(PAY, values(to=["anna@example.org"]), "default", FIXED_NOW) is None
    more = values(to=["zoe@example.org", "Ben@example.org", "anna@example.org"])
    assert consents.find(PAY, more, "default", FIXED_NOW) == never


def test_a_never_holds_whether_a_default_is_spelled_out_or_not(consents: Consents) -> None:
    given = Parameter("change", "text", is_required=False, default="to", enum=("to", "up_by"))
    heat = ToolSpec(
        "heat", "Heat.", (Parameter("degrees", "number"), Parameter("room", "text"), given), effect="change"
    )
    plain = owners(degrees=30, room="hall")
    for first, other in (
        (plain, owners(degrees=25, room="hall", change="to")),
        (owners(degrees=9, room="attic", change="to"), owners(degrees=9, room="attic")),
    ):
        never = consents.keep(heat, first, "deny", frozenset({"r"}), FIXED_NOW)
        assert consents.find(heat, other, "r", FIXED_NOW) == never
    assert consents.find(heat, owners(degrees=30, room="hall", change="up_by"), "r", FIXED_NOW) is not None
    assert consents.find(heat, owners(degrees=30, room="cellar"), "r", FIXED_NOW) is None


DOOR = ToolSpec("unlock", "Unlock.", (Parameter("device", "text"), Parameter("note", "text")), effect="send")
NOTE = ToolSpec(
    "note", "Note.", (Parameter("text", "text"), Parameter("n", "integer", is_required=False)), effect="change"
)


def owners(**given: Plain) -> dict[str, Value]:
    return {name: Value(data, OWNER) for name, data in given.items()}


def test_a_text_that_names_what_is_acted_on_is_fixed_and_one_that_says_something_is_not(consents: Consents) -> None:
    kept = consents.keep(DOOR, owners(device="garage", note="a"), "allow", frozenset({"r"}), FIXED_NOW)
    assert consents.find(DOOR, owners(device="garage", note="b"), "r", FIXED_NOW) == kept
    assert consents.find(DOOR, owners(device="front door", note="a"), "r", FIXED_NOW) is None
    never = consents.keep(DOOR, owners(device="front door", note="a"), "deny", frozenset({"r"}), FIXED_NOW)
    assert consents.find(DOOR, owners(device="front door", note="c"), "r", FIXED_NOW) == never
    assert consents.find(DOOR, owners(device="back door", note="a"), "r", FIXED_NOW) is None


def test_a_never_about_words_alone_holds_for_the_same_words(consents: Consents) -> None:
    never = consents.keep(NOTE, owners(text="buy a gun"), "deny", frozenset({"r"}), FIXED_NOW)
    assert consents.find(NOTE, owners(text="buy a gun"), "x", FIXED_NOW) == never
    assert consents.find(NOTE, owners(text="buy milk"), "x", FIXED_NOW) is None
    assert never.said() == "note(text = buy a gun)"


def test_what_goes_with_a_draft_is_a_part_of_a_yes_and_none_of_a_never(consents: Consents) -> None:
    send = ToolSpec("send", "Send.", (Parameter("draft", "DraftId", is_sink=True),), effect="send")

    def draft(*files: str) -> dict[str, Value]:
        return {"draft": Value(["anna@example.org"], OWNER, files=files)}

    kept = consents.keep(send, draft("b.txt", "a.txt"), "allow", frozenset({"r"}), FIXED_NOW)
    assert kept.said() == "send(draft = anna@example.org, draft.files = a.txt, b.txt)"
    assert consents.find(send, draft("a.txt", "b.txt"), "r", FIXED_NOW) == kept
    for other in (draft(), draft("a.txt"), draft("a.txt", "b.txt", "c.txt")):
        assert consents.find(send, other, "r", FIXED_NOW) is None
    never = consents.keep(send, draft("a.txt"), "deny", frozenset({"r"}), FIXED_NOW)
    for any_of_them in (draft(), draft("a.txt"), draft("c.txt")):
        assert consents.find(send, any_of_them, "r", FIXED_NOW) == never


def test_an_agreement_ends_by_itself_or_by_being_taken_back(store: Store, consents: Consents) -> None:
    kept = consents.keep(PAY, values(), "allow", frozenset({"default"}), FIXED_NOW, "e1")
    assert consents.find(PAY, values(), "default", FIXED_NOW + LASTS - dt.timedelta(seconds=1)) == kept
    assert consents.find(PAY, values(), "default", FIXED_NOW + LASTS) is None
    again = Consents(store)
    assert again.all() == (kept,)
    again.used(kept)
    assert again.revoke(kept.number) == kept
    assert again.find(PAY, values(), "default", FIXED_NOW) is None
    assert not again.may_cover("pay", "default", FIXED_NOW)
    with pytest.raises(NotFound, match="there is no consent 1; `hearth policy consents` lists"):
        again.revoke(kept.number)
    assert Consents(store).all()[0].is_revoked
    assert Consents(store).all()[0].n_used == 1


def test_what_is_taken_back_in_another_process_counts_at_once(store: Store, consents: Consents) -> None:
    kept = consents.keep(PAY, values(), "allow", frozenset({"default"}), FIXED_NOW)
    assert consents.find(PAY, values(), "default", FIXED_NOW) == kept
    with Store.open(store.path) as elsewhere:  # `hearth policy consents revoke` while `hearth chat` runs
        assert Consents(elsewhere).revoke(kept.number) == kept
    assert consents.find(PAY, values(), "default", FIXED_NOW) is None


def test_it_says_what_it_covers(consents: Consents) -> None:
    kept = consents.keep(PAY, values(), "allow", frozenset({"default"}), FIXED_NOW)
    assert kept.said() == "pay(to = anna@example.org, ben@example.org, speed = slow, amount up to 20)"


def test_without_a_store_it_lasts_as_long_as_the_process() -> None:
    consents = Consents()
    kept = consents.keep(PAY, values(), "allow", frozenset({"default"}), FIXED_NOW)
    assert consents.find(PAY, values(), "default", FIXED_NOW) == kept
    assert consents.revoke(kept.number) == kept
    assert consents.all() == (replace(kept, is_revoked=True),)
    assert consents.find(PAY, values(), "default", FIXED_NOW) is None
    with pytest.raises(NotFound, match="there is no consent 1; "):
        consents.revoke(kept.number)
    again = consents.keep(PAY, values(), "allow", frozenset({"default"}), FIXED_NOW)
    assert again.number == 2  # a number is never given again
