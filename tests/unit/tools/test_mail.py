"""Mail in a Maildir: found, read, drafted; what must not get into a header does not."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import re
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth.errors import NotFound, ToolError
from hearth.formats.tool_signature import FunctionTool
from hearth.protocols import CallContext
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, InMemoryWorkspace, check_tool, make_call
from hearth.tools.mail.mail import (
    checked_address,
    delete_mail,
    draft_forward,
    draft_mail,
    draft_reply,
    find_mail,
    mark_read,
    owner,
    read_mail,
    send_mail,
)
from hearth.tools.mail.mailbox import place_of, places
from hearth.types import Plain
from tests.work import calls_of

SETTINGS: dict[str, dict[str, Plain]] = {
    "owner": {"name": "Nora Falk", "email": "nora@falk.example"},
    "mail": {"imap": None, "smtp": None, "sync_s": 300},
}


def mail_file(
    sender: str,
    subject: str,
    text: str,
    days_ago: float = 1,
    html: bool = False,
    reply_to: str = "",
    to: str = "nora@falk.example",
) -> bytes:
    message = EmailMessage()
    message["From"] = sender
    message["To"] = to
    message["Subject"] = subject
    message["Date"] = FIXED_NOW - dt.timedelta(days=days_ago)
    message["Message-ID"] = f"<{ascii(subject)[1:-1].replace(' ', '.')}@x.example>"
    if reply_to:
        message["Reply-To"] = reply_to
    message.set_content(text, subtype="html" if html else "plain")
    return message.as_bytes()


def with_attachment() -> bytes:
    message = email.message_from_bytes(mail_file("Tax office <tax@x.example>", "Your invoice", "See attached.", 9))
    whole = EmailMessage()
    for name in ("From", "To", "Subject", "Date", "Message-ID"):
        whole[name] = str(message[name])
    whole.set_content("See attached.")
    whole.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="invoice.pdf")
    return whole.as_bytes()


FILES: dict[str, bytes | str] = {
    "mail/cur/1.A.h:2,S": mail_file("Anna Berg <anna@berg.example>", "The keys", "They are under the mat.", 3),
    "mail/new/2.B.h": mail_file(
        "Anna Berg <anna@berg.example>", "Sunday", "<p>Lake or <b>forest</b>?</p>", 1, html=True
    ),
    "mail/cur/3.C.h:2,FS": mail_file(
        "Brandt Immobilien <brandt@haus.example>", "Treppenhaus", "Grüße. Fahrräder weg!", 2
    ),
    "mail/cur/4.D.h:2,": mail_file("Garden club <club@garden.example>", "Newsletter", "Bulbs and keys.", 40),
    "mail/cur/5.E.h:2,S": with_attachment(),
    "mail/.Work/cur/6.F.h:2,S": mail_file("Ben <ben@work.example>", "Roof report", "All good.", 5),
    "mail/.Sent/cur/7.G.h:2,S": mail_file("nora@falk.example", "The keys", "sent", 1, to="anna@berg.example"),
    "mail/.Trash/cur/8.H.h:2,S": mail_file("spam@x.example", "The keys", "trash", 1),
    "mail/cur/1763000000.I.h:2,S": b"\xff\xfe broken mail without any header",
    "mail/tmp/9.J.h": mail_file("tmp@x.example", "half", "written"),
    "mail/cur/.hidden": b"x",
    "contacts/brandt.vcf": "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Rainer Brandt\r\nN:Brandt;Rainer;;;\r\n"
    "EMAIL:brandt@haus.example\r\nTITLE:landlord\r\nEND:VCARD\r\n",
    "documents/roof.txt": "tiles",
    "documents/big.bin": bytes(21_000_000),
}


@pytest.fixture
def call() -> CallContext:
    return make_call(workspace=InMemoryWorkspace(FILES), settings=SETTINGS)


def subjects(call: CallContext, **arguments: object) -> list[str]:
    return [mail.subject for mail in find_mail(call, **arguments)]


# ── Finding ───────────────────────────────────────────────────────────────────────────────────────────────


def test_received_mail_is_listed_newest_first(call: CallContext) -> None:
    everything = ["Sunday", "Treppenhaus", "The keys", "Roof report", "Your invoice", "Newsletter", "(no subject)"]
    assert subjects(call) == everything, "not what was sent, drafted or thrown away"
    mail = find_mail(call)[0]
    assert mail.id == "INBOX/2.B.h"
    assert (mail.sender, mail.sender_name) == ("anna@berg.example", "Anna Berg")
    assert mail.received == FIXED_NOW - dt.timedelta(days=1)
    assert mail.received.tzinfo is FIXED_NOW.tzinfo
    assert mail.text == "Lake or forest?"
    assert mail.is_unread


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"query": "the keys"}, ["The keys", "Newsletter"]),
        ({"query": "keys", "sender": "Anna"}, ["The keys"]),
        ({"query": "fahrrader"}, ["Treppenhaus"]),
        ({"query": "GRÜSSE"}, ["Treppenhaus"]),
        ({"query": "garden"}, ["Newsletter"]),
        ({"query": "email about the forest"}, ["Sunday"]),
        ({"query": "forest fire"}, []),
        ({"query": "newsletter of the garden club with dates"}, ["Newsletter"]),
        ({"sender": "garden club ad"}, ["Newsletter"]),
        ({"sender": "my landlord"}, ["Treppenhaus"]),
        ({"sender": "Rainer"}, ["Treppenhaus"]),
        ({"sender": "anna@berg.example"}, ["Sunday", "The keys"]),
        ({"sender": "the garden club"}, ["Newsletter"]),
        ({"sender": "ann"}, []),
        ({"unread_only": True}, ["Sunday", "Newsletter"]),
        (
            {"start": FIXED_NOW - dt.timedelta(days=3), "end": FIXED_NOW - dt.timedelta(days=1)},
            ["Treppenhaus", "The keys"],
        ),
        ({"query": "roof report"}, ["Roof report"]),
    ],
)
def test_mail_is_found(arguments: dict[str, object], expected: list[str], call: CallContext) -> None:
    assert subjects(call, **arguments) == expected


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"query": "that newsletter of the garden club"}, []),
        ({"query": "that email of the garden club with bulbs and otters"}, ["I ignored “otters”."]),
        ({"query": "ad", "sender": "the garden club"}, ["I ignored “ad”."]),
    ],
)
def test_words_that_no_mail_has_are_named(arguments: dict[str, object], told: list[str], call: CallContext) -> None:
    assert subjects(call, **arguments) == ["Newsletter"]
    assert call.notices == [f"Nothing has all of the words: {one}" for one in told]


def test_a_mail_without_a_date_has_the_time_of_its_file(call: CallContext) -> None:
    mail = find_mail(call)[-1]
    assert mail.received == dt.datetime.fromtimestamp(1763000000, dt.UTC)
    assert mail.sender_name == "unknown sender"


def test_a_date_in_the_future_puts_no_mail_above_the_others(call: CallContext) -> None:
    call.workspace.write("mail/new/1763000001.x", mail_file("spam@x.example", "Win", "now", days_ago=-3000))
    assert subjects(call)[-2:] == ["Win", "(no subject)"]


def test_a_large_mailbox_is_searched_with_work_in_step_with_its_size(tmp_path: Path) -> None:
    def mailbox(n_mails: int) -> CallContext:
        folder = tmp_path / str(n_mails)
        (folder / "mail" / "cur").mkdir(parents=True)
        for n in range(n_mails):
            raw = mail_file(
                f"Änna {n} <anna{n}@x.example>", f"Grüße {n}", f"<p>Hallo <b>{n}</b></p>" * 40, n / 24, html=True
            )
            (folder / "mail" / "cur" / f"{n}.x:2,S").write_bytes(raw)
        return make_call(workspace=Folder(folder, store).for_call(f"k{n_mails}"))

    with Store.open(tmp_path / "hearth.db") as store:
        first, again = {}, {}
        for n in (20, 125, 500):  # the first fills caches
            call = mailbox(n)
            first[n] = calls_of(lambda call=call, n=n: subjects(call, query=f"{n - 7}"))  # type: ignore[misc]
            again[n] = calls_of(lambda call=call, n=n: subjects(call, sender=f"Änna {n - 9}"))  # type: ignore[misc]
            assert subjects(call, query=f"{n - 7}") == [f"Grüße {n - 7}"]
            assert subjects(call, sender=f"Änna {n - 9}")[-1] == f"Grüße {n - 9}"
    assert first[500] < 4 * 1.25 * first[125]
    assert again[500] < 4 * 1.25 * again[125]
    assert again[500] < first[500] / 5, "heads are parsed once"


def test_only_so_many_are_given() -> None:
    files = {f"mail/new/{n}.x": mail_file("a@x.example", f"number {n}", "bees", n + 1) for n in range(60)}
    call = make_call(workspace=InMemoryWorkspace(files))
    assert subjects(call, query="bees") == [f"number {n}" for n in range(50)]
    assert call.notices == ["More than 50 mails were found; the newest 50 are given."]


def test_a_found_text_is_an_excerpt_and_a_read_one_is_whole() -> None:
    text = "nothing here. " * 500 + "the boiler is new. " + "nothing here. " * 500
    call = make_call(workspace=InMemoryWorkspace({"mail/new/1.x": mail_file("a@x.example", "long", text)}))
    [mail] = find_mail(call, query="boiler")
    assert "the boiler is new" in mail.text
    assert len(mail.text) < 600
    assert read_mail(mail.id, call=call).text.startswith("nothing here. nothing here.")


def test_a_changed_file_is_parsed_again(call: CallContext) -> None:
    call.workspace.write("mail/new/2.B.h", mail_file("x@x.example", "Monday", "changed"))
    assert subjects(call)[0] == "Monday"


def test_a_search_stops_when_cancelled(call: CallContext) -> None:
    call.cancelled.set()
    with pytest.raises(ToolError, match="stopped before all mails"):
        find_mail(call)


def test_there_may_be_no_mail_at_all() -> None:
    assert find_mail(make_call()) == []


# ── Reading, marking, deleting ────────────────────────────────────────────────────────────────────────────


def test_reading_leaves_the_mail_as_it_was(call: CallContext) -> None:
    before = dict(files_of(call))
    mail = read_mail("INBOX/5.E.h", call=call)
    assert mail.text == "See attached."
    assert call.notices == ["Attached: invoice.pdf."]
    assert files_of(call) == before


def test_a_very_long_mail_is_cut_and_that_is_said() -> None:
    call = make_call(workspace=InMemoryWorkspace({"mail/new/1.x": mail_file("a@x.example", "long", "word " * 10_000)}))
    assert len(read_mail("INBOX/1.x", call=call).text) == 20_000
    assert call.notices == ["The mail is longer; its first 20,000 characters were read."]


@pytest.mark.parametrize(
    "id",
    ["INBOX/none", "none", "", "/", "Sent/1.A.h", "../owner/1.A.h", ".Sent/7.G.h", "INBOX/../1.A.h", "a\0/b", "INBOX/"],
)
def test_an_unknown_mail_is_refused(id: str, call: CallContext) -> None:
    attempts: tuple[Callable[[], object], ...] = (
        lambda: read_mail(id, call=call),
        lambda: mark_read(id, call=call),
        lambda: delete_mail(id, call=call),
        lambda: draft_reply(id, "x", call=call),
        lambda: draft_forward(id, ["a@x.example"], call=call),
    )
    for attempt in attempts:
        with pytest.raises(NotFound, match=r"no mail .* find_mail lists"):
            attempt()


def test_marking_keeps_the_id_and_the_other_flags(call: CallContext) -> None:
    assert not mark_read("INBOX/2.B.h", call=call).is_unread
    assert "mail/cur/2.B.h:2,S" in files_of(call)
    assert "mail/new/2.B.h" not in files_of(call)
    before = dict(files_of(call))
    mark_read("INBOX/3.C.h", call=call)
    assert files_of(call) == before
    assert subjects(call, unread_only=True) == ["Newsletter"]
    assert read_mail("INBOX/2.B.h", call=call).subject == "Sunday"


def test_deleted_mail_goes_to_the_trash_once(call: CallContext) -> None:
    mail = delete_mail("INBOX/2.B.h", call=call)
    assert mail.id == "Trash/2.B.h"
    assert "Sunday" not in subjects(call)
    with pytest.raises(ToolError, match="in the trash already"):
        delete_mail(mail.id, call=call)


# ── Writing ───────────────────────────────────────────────────────────────────────────────────────────────


def files_of(call: CallContext) -> dict[str, bytes]:
    assert isinstance(call.workspace, InMemoryWorkspace)
    return call.workspace.files


def written(id: str, call: CallContext) -> EmailMessage:
    raw = call.workspace.read(place_of(id, call.workspace).path)
    assert raw.isascii()
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert not message.defects
    return message


def test_a_draft_is_a_mail_in_the_drafts_folder(call: CallContext) -> None:
    draft = draft_mail(["karin@x.example"], "Ich komme später, 10 Minuten", call=call, attachments=["roof.txt"])
    assert draft.id.startswith("Drafts/")
    assert draft.subject == "Ich komme später, 10 Minuten"
    assert draft.text == "Ich komme später, 10 Minuten\n\nNora Falk"
    assert draft.attachments == ["documents/roof.txt"]
    message = written(draft.id, call)
    assert message["From"] == "Nora Falk <nora@falk.example>"
    assert message["To"] == "karin@x.example"
    assert message["Date"].datetime == FIXED_NOW
    body = message.get_body()
    assert body is not None
    assert body.get_content() == draft.text + "\n"
    [attached] = message.iter_attachments()
    assert (attached.get_filename(), attached.get_content()) == ("roof.txt", "tiles")
    assert place_of(draft.id, call.workspace).flags == "DS"
    assert "Ich komme" not in str(subjects(call)), "drafts are not received mail"


def test_the_same_call_writes_the_same_draft_and_another_another(call: CallContext) -> None:
    drafts = []
    for key in ("k1", "k1", "k2"):
        other = make_call(key=key, workspace=InMemoryWorkspace(FILES), settings=SETTINGS)
        draft = draft_mail(["karin@x.example"], "hello", call=other, attachments=["roof.txt"])
        drafts.append((draft.id, files_of(other)[place_of(draft.id, other.workspace).path]))
    assert drafts[0] == drafts[1]
    assert drafts[0][0] != drafts[2][0]
    assert drafts[0][1] != drafts[2][1]


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("I'll be late.", "I'll be late"),
        ("First line\nsecond", "First line"),
        ("word " * 40, "word word word word word word word word word word…"),
        ("Hi Karin, the van is stuck so i wont make it til 6, can u tell the others", "the van is stuck"),
        ("Can we meet on Friday? I have the keys.", "Can we meet on Friday"),
        ("Dear Karin,\n\nThe invoice is open", "The invoice is open"),
        ("at 5.30 it starts, come", "at 5.30 it starts, come"),
        ("Hello Karin!", "Hello Karin!"),
        ("- Mass for the anniversary (start: 10 o'clock, side altar)\n- tea", "Mass for the anniversary…"),
        ("The keys (note: two of them) are here", "The keys (note: two of them) are here"),
        ("Rota for June: I take the first week", "Rota for June"),
        ("…", "…"),
    ],
)
def test_a_draft_without_subject_takes_its_first_words(text: str, subject: str, call: CallContext) -> None:
    draft = draft_mail(["karin@x.example"], text, call=call)
    assert draft.subject == subject
    assert " ".join(written(draft.id, call)["Subject"].split()) == subject


def test_a_signed_text_is_not_signed_again(call: CallContext) -> None:
    assert draft_mail(["a@x.example"], "See you\nNora", call=call).text == "See you\nNora"
    assert draft_mail(["a@x.example"], "See you, Nora Falk", call=call).text == "See you, Nora Falk"


def test_a_reply_answers_the_sender_and_quotes(call: CallContext) -> None:
    draft = draft_reply("INBOX/1.A.h", "thank you", call=call)
    assert (draft.to, draft.subject) == (["anna@berg.example"], "Re: The keys")
    assert draft.text == "thank you\n\nNora Falk"
    message = written(draft.id, call)
    assert message.get_content() == (
        "thank you\n\nNora Falk\n\nOn 17.11.2026 at 09:30, Anna Berg wrote:\n> They are under the mat.\n"
    )
    assert message["In-Reply-To"] == message["References"] == "<The.keys@x.example>"


def test_a_reply_goes_where_the_mail_asks_and_that_is_said(call: CallContext) -> None:
    raw = mail_file("shop@x.example", "Re: order", "hi", reply_to="elsewhere@y.example")
    call.workspace.write("mail/new/20.x", raw)
    draft = draft_reply("INBOX/20.x", "hello", call=call)
    assert (draft.to, draft.subject) == (["elsewhere@y.example"], "Re: order")
    assert call.notices == ["The mail came from shop@x.example and asks for replies to elsewhere@y.example."]


def test_a_reply_that_goes_to_more_than_its_sender_is_said(call: CallContext) -> None:
    raw = mail_file("shop@x.example", "Re: order", "hi", reply_to="shop@x.example, elsewhere@y.example")
    call.workspace.write("mail/new/20.x", raw)
    assert draft_reply("INBOX/20.x", "hello", call=call).to == ["shop@x.example", "elsewhere@y.example"]
    assert "asks for replies to shop@x.example, elsewhere@y.example" in call.notices[0]
    call.workspace.write("mail/new/20.x", mail_file("shop@x.example", "Re: order", "hi", reply_to="shop@x.example"))
    call.notices.clear()
    assert draft_reply("INBOX/20.x", "hello", call=call).to == ["shop@x.example"]
    assert call.notices == []


def test_a_reply_to_an_own_mail_goes_to_its_recipients(call: CallContext) -> None:
    assert draft_reply("Sent/7.G.h", "one more thing", call=call).to == ["anna@berg.example"]


def test_a_mail_from_nobody_cannot_be_answered(call: CallContext) -> None:
    with pytest.raises(ToolError, match="names no sender to reply to"):
        draft_reply("INBOX/1763000000.I.h", "x", call=call)


def test_a_forward_carries_text_and_files(call: CallContext) -> None:
    draft = draft_forward("INBOX/5.E.h", ["leo@x.example"], call=call, text="for you")
    assert draft.subject == "Fwd: Your invoice"
    assert draft.text == "for you\n\nNora Falk"
    body = written(draft.id, call).get_body()
    assert body is not None
    assert body.get_content() == (
        "for you\n\nNora Falk\n\n---------- Forwarded message ----------\nFrom: Tax office <tax@x.example>\n"
        "Date: 11.11.2026 09:30\nSubject: Your invoice\nTo: nora@falk.example\n\nSee attached.\n"
    )
    other = make_call("k2", workspace=call.workspace, settings=SETTINGS)
    assert draft_forward("INBOX/1.A.h", ["leo@x.example"], call=other).text == ""
    [attached] = written(draft.id, call).iter_attachments()
    assert (attached.get_filename(), attached.get_content()) == ("invoice.pdf", b"%PDF-1.7")
    assert call.notices == ["The draft carries along: 'invoice.pdf'."]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"to": []}, "nobody to write to"),
        ({"to": [""]}, "nobody to write to"),
        ({"to": "anna@x.example"}, "not a list of addresses"),
        ({"to": ["anna"]}, "'anna' is not an e-mail address"),
        ({"to": ["a@x.example\nBcc: evil@x.example"]}, "not an e-mail address"),
        ({"to": ["a@x.example\r\n"]}, None),
        ({"to": ["a@x.example, b@x.example"]}, "not an e-mail address"),
        ({"to": ["A <a@x.example>\nBcc: <e@x.example>"]}, "not an e-mail address"),
        ({"to": ["a@x.example\0"]}, "not an e-mail address"),
        ({"to": ["a b@x.example"]}, "not an e-mail address"),
        ({"to": ["@x.example"]}, "not an e-mail address"),
        ({"to": ["ä@x.example"]}, "not an e-mail address"),
        ({"to": [f"a{n}@x.example" for n in range(51)]}, "51 recipients; expected at most 50"),
        ({"to": [7]}, "7 is not an e-mail address"),
        ({"text": " \n"}, "the mail is empty"),
        ({"text": "a\0b"}, "NUL"),
        ({"text": "\ud800"}, "half of a character"),
        ({"text": "x" * 1_000_000}, "text of the mail has 1 MB; expected at most 500 kB"),
        ({"subject": "hi\nBcc: evil@x.example"}, "more than one line"),
        ({"subject": "hi\rBcc: evil@x.example"}, "more than one line"),
        ({"subject": "s" * 301}, "subject has 301 characters"),
        ({"attachments": ["none.txt"]}, "no file 'none.txt'"),
        ({"attachments": ["../mail/cur/1.A.h:2,S"]}, "leaves your documents"),
        ({"attachments": ["big.bin"]}, "has 21 MB; a mail carries at most 20 MB"),
    ],
)
def test_what_cannot_be_drafted(arguments: dict[str, object], message: str | None, call: CallContext) -> None:
    before = dict(files_of(call))
    whole = {"to": ["a@x.example"], "text": "hello", **arguments}
    if message is None:
        assert draft_mail.call(whole, call)
        return
    with pytest.raises(ToolError, match=re.escape(message)):
        draft_mail.call(whole, call)
    assert files_of(call) == before


def test_attachments_are_counted_together(call: CallContext) -> None:
    for name in ("a.bin", "b.bin"):
        call.workspace.write(f"documents/{name}", bytes(11_000_000))
    with pytest.raises(ToolError, match="the attachments have 22 MB; a mail carries at most 20 MB"):
        draft_mail(["a@x.example"], "hello", call=call, attachments=["a.bin", "b.bin"])


def test_without_an_own_address_nothing_is_written() -> None:
    call = make_call(workspace=InMemoryWorkspace(FILES), settings={"owner": {"name": "Nora", "email": ""}})
    with pytest.raises(ToolError, match=r'put email = "you@example.org" under \[owner\] in hearth.toml'):
        draft_mail(["a@x.example"], "hello", call=call)


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("anna@example.org", "anna@example.org"),
        (" anna@example.org ", "anna@example.org"),
        ("Anna <anna@example.org>", "anna@example.org"),
        ("o'neil+x@sub.example.org", "o'neil+x@sub.example.org"),
        ("anna@münchen.example", "anna@xn--mnchen-3ya.example"),
        ("root@localhost", "root@localhost"),
    ],
)
def test_addresses_are_made_plain(said: str, plain: str) -> None:
    assert checked_address(said) == plain


@given(st.text(max_size=60))
def test_no_address_can_hold_a_second_line(text: str) -> None:
    try:
        address = checked_address(text)
    except ToolError:
        return
    assert re.fullmatch(r"[!-~]+@[A-Za-z0-9.-]+", address)
    assert "\n" not in address
    assert "," not in address


@given(name=st.text(max_size=40), subject=st.text(max_size=60), text=st.text(min_size=1, max_size=80))
def test_no_header_can_be_injected(name: str, subject: str, text: str) -> None:
    settings: dict[str, dict[str, Plain]] = {"owner": {"name": name, "email": "nora@falk.example"}}
    call = make_call(settings=settings)
    try:
        draft = draft_mail(["a@x.example"], text, call=call, subject=subject)
    except ToolError:
        return
    message = written(draft.id, call)
    assert [key for key in message if key not in ("MIME-Version", "Content-Type", "Content-Transfer-Encoding")] == [
        "From", "To", "Subject", "Date", "Message-ID",
    ]  # fmt: skip
    assert [a.addr_spec for a in message["From"].addresses] == ["nora@falk.example"]
    assert [a.addr_spec for a in message["To"].addresses] == ["a@x.example"]


def test_a_strangers_subject_cannot_inject_a_header_into_a_reply(call: CallContext) -> None:
    call.workspace.write(
        "mail/new/21.x",
        b"From: a@x.example\nSubject: =?utf-8?q?hi=0D=0ABcc:_evil@x.example?=\n"
        b"Message-ID: <x\r\n Bcc: evil@x.example>\nReferences: <r@x> <\xc3\xa9@x>\n\tBcc: <evil@x.example>\n\nbody\n",
    )
    message = written(draft_reply("INBOX/21.x", "hello", call=call).id, call)
    assert "Bcc" not in message
    assert message["Subject"] == "Re: hi Bcc: evil@x.example"


def test_the_owner_must_have_a_real_address() -> None:
    with pytest.raises(ToolError, match="'nora' is not an e-mail address"):
        owner({"owner": {"email": "nora"}})


# ── Sending without a server ──────────────────────────────────────────────────────────────────────────────


def test_without_a_server_it_is_said_what_to_configure(call: CallContext) -> None:
    draft = draft_mail(["a@x.example"], "hello", call=call)
    before = dict(files_of(call))
    with pytest.raises(ToolError, match=r"(?s)the mail stays a draft; put into hearth.toml:\n\[mail.smtp\]\nhost = "):
        send_mail(draft.id, call=call)
    assert files_of(call) == before


def test_only_a_draft_can_be_sent(call: CallContext) -> None:
    for id in ("INBOX/1.A.h", "Sent/7.G.h", "Drafts/none"):
        with pytest.raises(NotFound, match=r"no draft .* it may have been sent or deleted"):
            send_mail(id, call=call)


@pytest.mark.parametrize(("host", "is_good"), [("127.0.0.1", True), ("localhost", True), ("mail.example.org", False)])
def test_no_password_crosses_an_open_network(host: str, is_good: bool, call: CallContext) -> None:
    server: Plain = {"host": host, "port": 25, "security": "none", "username": "n", "password": "p"}
    settings: dict[str, dict[str, Plain]] = {**SETTINGS, "mail": {"smtp": server}}
    other = make_call(workspace=call.workspace, settings=settings)
    draft = draft_mail(["a@x.example"], "hello", call=other)
    expected = (
        "network door is closed" if is_good else 'security = "none" under .mail.smtp. is for servers on this machine'
    )
    with pytest.raises(Exception, match=expected):
        send_mail(draft.id, call=other)


# ── What every tool keeps ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        (draft_mail, {"to": ["a@x.example"], "text": "hello"}),
        (draft_reply, {"mail": "INBOX/1.x", "text": "hello"}),
        (draft_forward, {"mail": "INBOX/1.x", "to": ["a@x.example"]}),
        (mark_read, {"mail": "INBOX/1.x"}),
        (delete_mail, {"mail": "INBOX/1.x"}),
    ],
)
def test_changes_are_taken_back_by_the_journal(
    tool: FunctionTool, arguments: dict[str, object], tmp_path: Path
) -> None:
    store = Store.open(tmp_path / "hearth.db")
    folder = Folder(tmp_path / "owner", store)
    raw = mail_file("anna@x.example", "keys", "mat")
    folder.for_call("setup").write("mail/new/1.x", raw)
    tool.call(arguments, make_call(key="k2", workspace=folder.for_call("k2"), settings=SETTINGS))
    assert folder.changes("k2")
    folder.undo("k2")
    left = folder.for_call("k3")
    assert left.list() == ("mail/new/1.x",)
    assert left.read("mail/new/1.x") == raw
    store.close()


def test_contract(call: CallContext) -> None:
    del files_of(call)["documents/big.bin"]
    check_tool(find_mail, {"query": "keys", "sender": "Anna"}, call)
    check_tool(read_mail, {"mail": "INBOX/2.B.h"}, call)
    check_tool(draft_mail, {"to": ["a@x.example"], "text": "hello", "attachments": ["roof.txt"]}, call)
    check_tool(draft_reply, {"mail": "INBOX/2.B.h", "text": "hello"}, call)
    check_tool(draft_forward, {"mail": "INBOX/5.E.h", "to": ["a@x.example"]}, call)
    check_tool(mark_read, {"mail": "INBOX/2.B.h"}, call)
    check_tool(delete_mail, {"mail": "INBOX/2.B.h"}, call)
    assert draft_mail.spec.parameter("to").is_sink  # type: ignore[union-attr]
    assert not send_mail.spec.is_idempotent
    assert {t.spec.source for t in (find_mail, read_mail)} == {"message"}


def test_other_programs_files_are_left_alone(call: CallContext) -> None:
    found = {place.path for place in places(call.workspace)}
    assert not {path for path in found if "/tmp/" in path or "hidden" in path}
