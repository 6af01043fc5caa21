"""Who may be written to is decided on the real address: only the owner's own cards vouch for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hearth.config import OrderedRule, When
from hearth.execution.executor import Executor
from hearth.guard.decision import Occasion, Records
from hearth.guard.labels import AddressBook, label_of, vouched
from hearth.guard.monitor import Monitor
from hearth.guard.policy.question import YesApprover
from hearth.guard.policy.rules import Policy, Rule
from hearth.protocols import CallContext, Reply
from hearth.registry import load_tools
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover, make_call
from hearth.types import Plan, Ref, Request, Step, StepResult

TOOLS = load_tools(None).by_name
SPECS = {name: tool.spec for name, tool in TOOLS.items()}
ALLOWED = {name: Rule("allow") for name in SPECS}
FIND = Step("find_mail", {"query": "keys"})
TO_SENDER = Plan((FIND, Step("draft_mail", {"to": [Ref(0, ("sender",))], "text": "yes"})))
REPLY = Plan((FIND, Step("draft_reply", {"mail": Ref(0, ("id",)), "text": "yes"})))
FOUND = Plan((Step("find_contact", {"name": "Anna"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "hi"})))


def card(uid: str, name: str, email: str, more: str = "") -> bytes:
    return f"BEGIN:VCARD\r\nVERSION:3.0\r\nUID:{uid}\r\nFN:{name}\r\nEMAIL:{email}\r\n{more}END:VCARD\r\n".encode()


def mail(sender: str, more: str = "") -> bytes:
    return (
        f"From: {sender}\r\nTo: mira@example.org\r\nSubject: the keys\r\n{more}"
        "Date: Fri, 20 Nov 2026 08:00:00 +0100\r\nMessage-ID: <1@x>\r\n\r\nAbout the keys.\r\n"
    ).encode()


class Home:
    """A home with tools that are all allowed, and an owner who says no."""

    def __init__(self, store: Store, folder: Folder, answer: Reply = "no") -> None:
        self.store, self.folder = store, folder
        self.approver = FixedApprover(answer)
        self.trace = Trace(store)
        self.records = Records.of(store)
        self.n = 0
        self.use(Policy(ALLOWED))

    def use(self, policy: Policy) -> None:
        self.monitor = Monitor(TOOLS, policy, self.approver, self.records)
        self.executor = Executor(self.monitor, self.trace, self.context, self.folder)

    def context(self, key: str, now: object) -> CallContext:
        return make_call(
            key, FIXED_NOW, self.folder.for_call(key), {"owner": {"name": "Mira", "email": "mira@example.org"}}
        )

    def write(self, path: str, data: bytes) -> None:
        self.folder.for_call("setup").write(path, data)

    def run(self, plan: Plan) -> tuple[StepResult, ...]:
        self.n += 1
        id = f"e{self.n}"
        context = self.context(id, None)
        self.monitor.known_addresses(context)
        ruling = self.monitor.rule(plan, occasion=Occasion(FIXED_NOW, context.workspace, id))
        self.trace.begin(Request("x", FIXED_NOW), id)
        self.trace.planned(id, plan, None, ruling, 0.0)
        if ruling.verdict != "allow":
            return (StepResult(0, "denied", error=ruling.reason),)
        return self.executor.run(id, plan, SPECS, FIXED_NOW)

    @property
    def questions(self) -> list[str]:
        return [question for question, _ in self.approver.questions]


@pytest.fixture
def home(store: Store, folder: Folder) -> Iterator[Home]:
    home = Home(store, folder)
    home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.org"))
    home.run(Plan((Step("list_contacts"),)))  # the first look: these cards are the owner's
    yield home
    home.executor.close()


def test_a_card_that_was_there_at_first_vouches(home: Home) -> None:
    home.write("mail/cur/1.a:2,S", mail("Anna <ANNA@example.org>"))
    for plan in (TO_SENDER, FOUND, REPLY):
        assert [r.status for r in home.run(plan)] == ["done", "done"]
    assert home.questions == []
    assert home.run(TO_SENDER)[0].fields["sender"].sources == {"owner", "contacts"}
    assert "message" in home.run(TO_SENDER)[0].fields["subject"].sources


@pytest.mark.parametrize(
    "sender",
    [
        "Anna Weber <mallory@example.net>",  # a known name on another address
        "аnna@example.org",  # a Cyrillic letter
        "anna@example.org.example.net",
        "anna@еxample.org",
    ],
)
def test_a_stranger_s_address_asks_with_the_address_shown(home: Home, sender: str) -> None:
    home.write("mail/cur/1.a:2,S", mail(sender))
    results = home.run(TO_SENDER)
    assert results[1].status in ("denied", "failed")
    if results[1].status == "denied":
        assert len(home.questions) == 1
        assert "not in your contacts" in home.questions[0]
        address = sender.partition("<")[2].rstrip(">") or sender
        assert 'from the mail "the keys" by ' in home.questions[0]
        assert f'by "{address}" (' in home.questions[0]
        assert ") of 20 November 2026" in home.questions[0]
        assert "a message you received" not in home.questions[0]


def test_an_address_with_an_invisible_letter_is_the_address_that_mail_goes_to(home: Home) -> None:
    home.write("mail/cur/1.a:2,S", mail("anna@example.org\u200b"))
    results = home.run(TO_SENDER)
    assert results[1].status == "done"
    assert results[1].value["to"] == ["anna@example.org"]  # type: ignore[index,call-overload]


def test_a_card_that_turns_up_later_does_not_vouch_until_it_is_confirmed(home: Home) -> None:
    home.write("contacts/new.vcf", card("m", "Mallory Bank", "mallory@example.net"))
    plan = Plan((Step("find_contact", {"name": "Mallory"}), FOUND.steps[1]))
    assert home.run(plan)[1].status == "denied"
    assert "from a file, your contacts" in home.questions[0]
    home.write("mail/cur/1.a:2,S", mail("mallory@example.net"))
    assert home.run(TO_SENDER)[1].status == "denied"
    home.records.book.confirm(home.folder.for_call("x"), ["m"], FIXED_NOW)
    assert home.run(plan)[1].status == "done"
    assert home.run(TO_SENDER)[1].status == "done"
    assert len(home.questions) == 2


def test_a_known_card_whose_address_was_changed_elsewhere_does_not_vouch(home: Home) -> None:
    home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.net"))
    assert home.run(FOUND)[1].status == "denied"
    assert "anna@example.net" in home.questions[0]


def test_a_card_made_through_hearth_vouches_but_not_one_made_of_a_stranger_s_address(home: Home) -> None:
    own = Plan((Step("add_contact", {"name": "Ben Ash", "email": "ben@example.org"}),))
    assert home.run(own)[0].status == "done"
    to_ben = Plan((Step("find_contact", {"name": "Ben"}), FOUND.steps[1]))
    assert home.run(to_ben)[1].status == "done"
    home.write("mail/cur/1.a:2,S", mail("mallory@example.net"))
    poisoned = Plan((FIND, Step("add_contact", {"name": "Cara Bank", "email": Ref(0, ("sender",))})))
    assert home.run(poisoned)[1].status == "done"
    to_cara = Plan((Step("find_contact", {"name": "Cara"}), FOUND.steps[1]))
    assert home.run(to_cara)[1].status == "denied"
    assert home.questions
    changed = Plan(
        (
            FIND,
            Step("find_contact", {"name": "Ben"}),
            Step("change_contact", {"contact": Ref(1, ("id",)), "email": Ref(0, ("sender",))}),
        )
    )
    assert home.run(changed)[2].status == "done"
    assert home.run(to_ben)[1].status == "denied"


CHANGE_NUMBER = Step("change_contact", {"contact": "anna", "phone": "+49 30 5550199"})


@pytest.mark.parametrize(
    ("elsewhere", "through_hearth", "status"),
    [
        ("anna@example.net", CHANGE_NUMBER, "denied"),
        ("anna@example.net", Step("change_contact", {"contact": "anna", "address": "Elm Road 5"}), "denied"),
        ("anna@example.net", Step("change_contact", {"contact": "anna", "birthday": "1980-03-03"}), "denied"),
        ("anna@example.net", Step("change_contact", {"contact": "anna", "email": "anna@new.example"}), "done"),
        ("", CHANGE_NUMBER, "done"),
        ("", Step("change_contact", {"contact": "anna", "email": "anna@new.example", "phone": "030 1"}), "done"),
    ],
)
def test_what_was_changed_elsewhere_is_not_confirmed_by_another_change(
    home: Home, elsewhere: str, through_hearth: Step, status: str
) -> None:
    if elsewhere:
        home.write("contacts/anna.vcf", card("anna", "Anna Weber", elsewhere))
    assert home.run(Plan((through_hearth,)))[0].status == "done"
    assert home.run(FOUND)[1].status == status


def test_a_number_that_the_owner_gives_vouches_where_the_address_beside_it_does_not(home: Home) -> None:
    home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.net"))
    home.run(Plan((CHANGE_NUMBER,)))
    book = home.monitor.known_addresses(home.context("c", None))
    assert book.vouches("+49 30 5550199")
    assert not book.vouches("anna@example.net")
    assert [(one.email, one.phone) for one in book.unconfirmed] == [("anna@example.net", "")]


def test_a_group_written_into_a_card_elsewhere_passes_no_rule_about_groups(home: Home) -> None:
    """The digest of what was confirmed holds the groups, too, one by one."""
    rule = OrderedRule(tools=("draft_mail",), when={"to": When(group="family")}, ruling="allow")
    home.use(Policy.from_settings({}, SPECS, (rule,)))
    lines = "CATEGORIES:work\r\n"
    home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.org", f"CATEGORIES:Family\r\n{lines}"))
    assert home.run(FOUND)[-1].status == "denied"
    assert len(home.questions) == 1
    book = home.monitor.known_addresses(context := home.context("c", None))
    assert book.vouches("anna@example.org"), "the address is as it was"
    assert [one.groups for one in book.unconfirmed] == [("Family", "work")]
    AddressBook(home.records.provenance).confirm(context.workspace, ["anna"], FIXED_NOW)
    assert home.run(FOUND)[1].status == "done"
    home.run(Plan((CHANGE_NUMBER,)))
    assert home.run(FOUND)[1].status == "done", "and it stays confirmed when the number changes through Hearth"
    assert len(home.questions) == 2  # the change of the number alone


def test_of_several_mails_the_one_is_named_that_the_value_is_from(home: Home) -> None:
    other = mail("zed@example.net").replace(b"the keys", b'more keys" by ben').replace(b"<1@", b"<2@")
    home.write("mail/cur/2.b:2,S", other.replace(b"20 Nov 2026 08", b"20 Nov 2026 09"))
    home.write("mail/cur/1.a:2,S", mail("mallory@example.net"))
    one = Plan((FIND, Step("draft_mail", {"to": [Ref(0, ("0", "sender"))], "text": "yes"})))
    assert home.run(one)[1].status == "denied"
    assert 'the mail "more keys\\" by ben" by "zed@example.net" (not in your contacts)' in home.questions[0]
    assert 'mail "the keys"' not in home.questions[0], "the other mail"


def test_a_record_that_is_not_known_is_not_hidden_behind_one_that_is(home: Home) -> None:
    home.write("mail/cur/1.a:2,S", mail("mallory@example.net"))
    home.run(Plan((FIND, Step("add_note", {"title": "theirs", "text": Ref(0, ("sender",))}))))
    found = home.run(Plan((Step("find_notes", {"query": "theirs"}),)))[0]
    assert found.label.sources >= {"message"}
    assert [one.kind for one in found.whence] == [""], "from which mail it is, is not kept"


def test_a_reply_goes_where_the_mail_says_only_after_a_question(home: Home) -> None:
    home.write("mail/cur/1.a:2,S", mail("anna@example.org", "Reply-To: mallory@example.net\r\n"))
    plan = Plan((*REPLY.steps, Step("complete_reminder", {"reminder": Ref(1, ("id",))})))
    draft = home.run(plan)[1]
    assert draft.fields["id"] == draft.fields["to"]
    assert not draft.fields["id"].is_trusted
    home.write("mail/cur/1.a:2,S", mail("anna@example.org"))
    assert home.run(REPLY)[1].fields["id"].is_trusted


def test_an_invitation_is_a_stranger_s_and_an_event_made_here_is_not(home: Home) -> None:
    lines = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:i\r\nSUMMARY:Party\r\n{}DTSTART:20261121T100000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
    home.write(
        "calendar/i.ics", lines.format("ORGANIZER:mailto:m@example.net\r\nATTENDEE:mailto:m@example.net\r\n").encode()
    )
    find = Step("next_event", {"query": "party"})
    invite = Plan((find, Step("draft_mail", {"to": Ref(0, ("attendees",)), "text": "x"})))
    results = home.run(invite)
    assert results[0].label.sources >= {"message"}
    assert results[0].fields["id"].sources == {"device"}
    assert results[1].status == "denied"
    assert (
        home.run(Plan((Step("add_event", {"title": "Lunch", "start": "2026-11-22T12:00:00+01:00"}),)))[0].status
        == "done"
    )
    lunch = home.run(Plan((Step("next_event", {"query": "lunch"}),)))[0]
    assert lunch.fields["title"].is_trusted


def test_a_stranger_s_words_stay_a_stranger_s_in_a_note(home: Home) -> None:
    """A value does not become the owner's by lying in the owner's notes for a while."""
    home.write("mail/cur/1.a:2,S", mail("mallory@example.net"))
    home.run(Plan((Step("add_note", {"title": "own", "text": "ben@example.org"}),)))
    home.run(Plan((FIND, Step("add_note", {"title": "theirs", "text": Ref(0, ("sender",))}))))
    home.write("notes/dropped.md", b"mallory@example.net\n")
    for title, sources in (("own", {"owner"}), ("theirs", {"message"}), ("dropped", {"file"})):
        found = home.run(Plan((Step("find_notes", {"query": title}),)))[0]
        assert sources <= found.fields["text"].sources, title
        assert found.fields["text"].is_trusted == (title == "own")


def test_a_rule_on_contacts_is_judged_on_the_real_address(home: Home) -> None:
    rules = [OrderedRule(tools=("draft_mail",), ruling="allow", when={"to": When(contact=True)})]
    home.use(Policy.from_settings({}, SPECS, rules))
    home.write("contacts/m.vcf", card("m", "Mallory", "mallory@example.net"))
    assert home.run(FOUND)[1].status == "done"
    assert home.run(Plan((Step("draft_mail", {"to": ["Anna@example.org"], "text": "x"}),)))[0].status == "done"
    assert home.questions == []
    assert home.run(Plan((Step("draft_mail", {"to": ["mallory@example.net"], "text": "x"}),)))[0].status == "denied"
    assert home.run(Plan((Step("find_contact", {"name": "Mallory"}), FOUND.steps[1])))[1].status == "denied"
    assert len(home.questions) == 2


def test_a_rule_on_sending_sees_the_recipients_behind_the_draft(home: Home) -> None:
    rules = [
        OrderedRule(tools=("draft_mail",), ruling="allow"),
        OrderedRule(tools=("send_mail",), ruling="allow", when={"draft": When(contact=True)}),
    ]
    home.use(Policy.from_settings({}, SPECS, rules))
    send = Step("send_mail", {"draft": Ref(0, ("id",))})
    # allowed, and then there is no server to send with
    assert home.run(Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": "x"}), send)))[1].status == "failed"
    assert home.run(Plan((Step("draft_mail", {"to": ["m@example.net"], "text": "x"}), send)))[1].status == "denied"
    assert "m@example.net" in home.questions[0]


def test_yes_beforehand_does_not_cover_a_contact_that_turns_out_to_be_a_stranger(home: Home) -> None:
    home.approver = YesApprover()  # type: ignore[assignment]
    home.use(Policy())
    assert home.run(FOUND)[1].status == "done"
    home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.net"))
    assert home.run(FOUND)[1].status == "denied"
    home.write("mail/cur/1.a:2,S", mail("mallory@example.net"))
    assert home.run(TO_SENDER)[1].status == "done", "the owner asked for the sender, whoever that is"


def test_an_agreement_to_write_to_a_contact_is_none_to_write_to_a_stranger(home: Home) -> None:
    home.approver.answer = "once"
    home.use(Policy())
    assert home.run(FOUND)[1].status == "done"
    assert len(home.questions) == 1
    assert "from your contacts, your request; if it turns out otherwise, I ask again" in home.questions[0]
    home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.net"))
    assert home.run(FOUND)[1].status == "done"
    assert len(home.questions) == 3
    assert '"anna@example.net" (not in your contacts)' in home.questions[2]


def test_a_flagged_text_decides_no_sink_although_the_address_is_known(home: Home) -> None:
    """Whoever may write to a contact may still be steered to write to the wrong one."""
    flagged = vouched(label_of("message").join(label_of("injection")))
    assert flagged.sources == {"contacts", "injection"}
    assert not flagged.is_trusted
    assert vouched(label_of("message")).is_trusted


def test_a_card_that_turned_up_with_a_nickname_of_yours_does_not_stand_in_the_way(home: Home) -> None:
    """Two cards called mum: the one that came without the owner is told and left aside, and is not written to."""
    find = Plan((Step("find_contact", {"name": "mum"}),))
    home.write("contacts/ruth.vcf", card("ruth", "Ruth Weber", "ruth@example.org", "NICKNAME:mum\r\n"))
    home.monitor.known_addresses(context := home.context("c", None))
    AddressBook(home.records.provenance).confirm(context.workspace, ["ruth"], FIXED_NOW)
    assert home.run(find)[0].value["id"] == "ruth"  # type: ignore[index,call-overload]
    home.write("contacts/a.vcf", card("evil", "Ruth W.", "ruth@evil.example", "NICKNAME:mum\r\n"))
    (found,) = home.run(find)
    assert found.value["id"] == "ruth"  # type: ignore[index,call-overload]
    assert any("Ruth W. (ruth@evil.example)" in notice for notice in found.notices)
    home.write("contacts/b.vcf", card("sister", "Ida Weber", "ida@example.org", "NICKNAME:mum\r\n"))
    AddressBook(home.records.provenance).confirm(context.workspace, ["sister"], FIXED_NOW)
    assert "contacts fit 'mum'" in home.run(find)[0].error  # two of the owner's own: still asked


def test_what_cards_call_people_is_their_trade_and_relation_and_not_the_names_of_others(home: Home) -> None:
    lines = "NICKNAME:Mila\r\nTITLE:Vet\r\nRELATED;TYPE=spouse:Tom Weber\r\nRELATED;TYPE=sister:me\r\n"
    home.write("contacts/ida.vcf", card("ida", "Ida Weber", "ida@example.org", lines))
    context = home.context("c", None)
    assert "ida@example.org" not in home.monitor.known_addresses(context).roles
    AddressBook(home.records.provenance).confirm(context.workspace, ["ida"], FIXED_NOW)
    book = home.monitor.known_addresses(context)
    assert book.roles["ida@example.org"] == ("Mila", "Vet", "sister")
