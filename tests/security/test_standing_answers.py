"""What was answered for good covers no more than what was shown, and a "never" holds however a value comes."""

from __future__ import annotations

import pytest

from hearth.config import OrderedRule
from hearth.guard.labels import Value
from hearth.guard.policy.question import YesApprover
from hearth.guard.policy.rules import Policy, Rule
from hearth.protocols import Reply
from hearth.storage.database import Store
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover
from hearth.types import OWNER, Label, Plan, Ref, Ruling, Step
from tests.security.test_field_labels import ALLOWED, FIND, REPLY, SPECS, TO_SENDER, Home, card, mail

MALLORY = "mallory@example.net"
EVENT = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20261101T000000Z\r\n"
    "DTSTART:20261121T100000Z\r\nSUMMARY:board\r\nLOCATION:mallory@example.net\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.fixture
def home(store: Store, folder: Folder) -> Home:
    home = Home(store, folder)
    home.write("contacts/anna.vcf", card("anna", "Anna Weber", "anna@example.org"))
    home.write("mail/new/1.eml", mail(f"Mallory <{MALLORY}>"))
    home.run(Plan((Step("list_contacts"),)))
    return home


def asked(home: Home, policy: Policy, answer: str, plan: Plan) -> tuple[int, str]:
    """How many questions a plan takes, and what became of its last step."""
    home.approver = FixedApprover(answer)  # type: ignore[arg-type]
    home.use(policy)
    result = home.run(plan)[-1]
    return len(home.questions), result.status


def test_a_never_holds_where_only_the_run_brings_the_value_and_nobody_is_asked_again(home: Home) -> None:
    written_out = Plan((Step("draft_mail", {"to": [MALLORY], "text": "yes"}),))
    assert asked(home, Policy({}), "never", written_out) == (1, "denied")
    home.use(Policy({}))
    home.monitor.approver = YesApprover()
    assert home.run(TO_SENDER)[-1].status == "denied"
    assert "you said never to this (consent 1" in home.run(TO_SENDER)[-1].error
    other = Plan(
        (Step("find_contact", {"name": "Anna"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "x"}))
    )
    assert home.run(other)[-1].status == "done"


def test_an_always_for_sending_covers_no_text_from_elsewhere(home: Home) -> None:
    policy = Policy(ALLOWED | {"send_mail": Rule("ask")})
    send = Step("send_mail", {"draft": Ref(0, ("id",))})
    own = Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": "hi"}), send))
    again = Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": "bye"}), send))
    strangers = Plan(
        (
            FIND,
            Step("draft_mail", {"to": ["anna@example.org"], "text": Ref(0, ("text",))}),
            Step("send_mail", {"draft": Ref(1, ("id",))}),
        )
    )
    assert asked(home, policy, "always", own)[0] == 1
    assert asked(home, policy, "no", again) == (0, "failed")  # there is no server to send with
    assert asked(home, policy, "no", strangers) == (1, "denied")


def test_an_always_holds_for_the_list_it_was_said_of(home: Home) -> None:
    for name in ("shopping", "gifts"):
        home.use(Policy(ALLOWED))
        home.run(Plan((Step("add_to_list", {"list": name, "items": ["milk", "ring"]}),)))
    take = [
        Plan((Step("remove_from_list", {"list": n, "items": [i]}),))
        for n, i in (("shopping", "milk"), ("gifts", "ring"), ("shopping", "ring"))
    ]
    assert asked(home, Policy({}), "always", take[0]) == (1, "done")
    assert asked(home, Policy({}), "no", take[1]) == (1, "denied")
    assert asked(home, Policy({}), "no", take[2]) == (0, "done")
    assert home.records.consents.all()[0].said() == "remove_from_list(list = shopping)"


def test_an_always_does_not_hold_for_another_rule_with_the_same_name_or_place(home: Home) -> None:
    def rules(*several: dict[str, object]) -> Policy:
        ordered = [OrderedRule.model_validate({"tools": ["draft_mail"], "ruling": "ask", **one}) for one in several]
        return Policy.from_settings({}, SPECS, ordered)

    def draft(text: str) -> Plan:
        return Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": text}),))

    secret: dict[str, object] = {"when": {"text": {"matches": ".*secret.*"}}}
    assert asked(home, rules({}), "always", draft("hi")) == (1, "done")
    assert asked(home, rules({}), "no", draft("hello")) == (0, "done")
    assert asked(home, rules(secret, {}), "no", draft("the secret")) == (1, "denied")
    assert asked(home, rules({"name": "x"}), "always", draft("hi")) == (1, "done")
    assert asked(home, rules({**secret, "name": "x"}), "no", draft("the secret")) == (1, "denied")


@pytest.mark.parametrize("is_new_process", [False, True])
def test_a_draft_picked_by_its_id_is_asked_about_where_a_stranger_gets_it(home: Home, is_new_process: bool) -> None:
    drafted = home.run(REPLY)[-1].value
    assert isinstance(drafted, dict)
    if is_new_process:
        home.use(Policy(ALLOWED))
    sent = home.run(Plan((Step("send_mail", {"draft": str(drafted["id"])}),)))[-1]
    assert sent.status == "denied"
    assert len(home.questions) == 1
    assert MALLORY in home.questions[0]


def test_a_draft_picked_by_its_id_goes_to_somebody_known_unasked(home: Home) -> None:
    drafted = home.run(Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": "hi"}),)))[-1].value
    assert isinstance(drafted, dict)
    sent = home.run(Plan((Step("send_mail", {"draft": str(drafted["id"])}),)))[-1]
    assert (sent.status, home.questions) == ("failed", [])  # there is no server to send with


@pytest.mark.parametrize("ending", ["#20261125T110000", "#x", "#"])
def test_an_event_that_names_itself_like_a_time_of_yours_is_a_strangers(home: Home, ending: str) -> None:
    made = home.run(Plan((Step("add_event", {"title": "dentist", "start": "2026-11-25T10:00:00+00:00"}),)))
    value = made[0].value
    assert isinstance(value, dict)
    home.write("calendar/board.ics", EVENT.format(uid=f"{value['id']}{ending}").encode())
    plan = Plan(
        (Step("find_events", {"query": "board"}), Step("draft_mail", {"to": [Ref(0, ("place",))], "text": "x"}))
    )
    assert home.run(plan)[-1].status == "denied"
    assert MALLORY in home.questions[-1]


def test_an_always_for_sending_covers_no_other_file(home: Home) -> None:
    for name in ("menu.txt", "salary.txt"):
        home.write(f"documents/{name}", b"x")
    policy = Policy(ALLOWED | {"send_mail": Rule("ask")})

    def sending(**more: object) -> Plan:
        draft = Step("draft_mail", {"to": ["anna@example.org"], "text": "hi", **more})  # type: ignore[dict-item]
        return Plan((draft, Step("send_mail", {"draft": Ref(0, ("id",))})))

    assert asked(home, policy, "always", sending())[0] == 1
    assert asked(home, policy, "no", sending()) == (0, "failed")  # there is no server to send with
    assert asked(home, policy, "no", sending(attachments=["salary.txt"])) == (1, "denied")
    assert asked(home, policy, "always", sending(attachments=["menu.txt"]))[0] == 1
    assert "menu.txt" in home.questions[0]
    assert asked(home, policy, "no", sending(attachments=["menu.txt"])) == (0, "failed")
    assert asked(home, policy, "no", sending(attachments=["salary.txt"])) == (1, "denied")


def test_a_never_for_sending_holds_whatever_goes_with_it(home: Home) -> None:
    home.write("documents/menu.txt", b"x")
    policy = Policy(ALLOWED | {"send_mail": Rule("ask")})
    draft = home.run(Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": "hi"}),)))[-1].value
    assert isinstance(draft, dict)
    send = Step("send_mail", {"draft": Ref(0, ("id",))})
    plain = Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": "hi"}), send))
    home.records.consents.keep(
        SPECS["send_mail"], {"draft": Value(["anna@example.org"], OWNER)}, "deny", frozenset({"x"}), FIXED_NOW
    )
    more = Step("draft_mail", {"to": ["anna@example.org"], "text": "hi", "attachments": ["menu.txt"]})
    assert asked(home, policy, "once", plain)[1] == "denied"
    assert asked(home, policy, "once", Plan((more, send)))[1] == "denied"


def test_an_always_keeps_no_strangers_address_that_was_not_shown(home: Home) -> None:
    ask = Policy(ALLOWED | {"draft_mail": Rule("ask")})
    assert asked(home, ask, "always", TO_SENDER) == (1, "done")  # agreed to, this once
    assert MALLORY not in home.questions[0]
    assert home.records.consents.all() == ()
    anna = Plan((Step("find_contact", {"name": "Anna"}), Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "x"})))
    assert asked(home, ask, "always", anna) == (1, "done")
    assert home.records.consents.all()[0].said() == "draft_mail(to = anna@example.org)"


def test_the_question_about_a_picked_draft_says_to_whom_it_goes(home: Home) -> None:
    home.write("documents/menu.txt", b"x")
    draft = Step("draft_mail", {"to": ["anna@example.org"], "text": "hi", "attachments": ["menu.txt"]})
    made = home.run(Plan((draft,)))[-1].value
    assert isinstance(made, dict)
    home.monitor._policy = home.monitor._judge.policy = Policy(ALLOWED | {"send_mail": Rule("ask")})
    assert home.run(Plan((Step("send_mail", {"draft": str(made["id"])}),)))[-1].status == "denied"
    assert 'to "anna@example.org"' in home.questions[0]
    assert "menu.txt" in home.questions[0]


def test_a_standing_answer_about_a_draft_holds_for_whom_it_goes_to_however_it_is_named(home: Home) -> None:
    policy = Policy(ALLOWED | {"send_mail": Rule("ask")})

    def picked(to: str) -> Plan:
        drafted = home.run(Plan((Step("draft_mail", {"to": [to], "text": "hi"}),)))[-1].value
        assert isinstance(drafted, dict)
        return Plan((Step("send_mail", {"draft": str(drafted["id"])}),))

    def answered(answer: str, to: str) -> tuple[int, str]:
        home.use(policy)
        home.approver = home.monitor.approver = FixedApprover(answer)  # type: ignore[arg-type]
        result = home.run(picked(to))[-1]
        return len(home.questions), result.status

    assert answered("always", "anna@example.org") == (1, "failed")  # there is no server to send with
    assert answered("no", "anna@example.org") == (0, "failed")
    assert answered("never", "ben@example.org") == (1, "denied")
    assert answered("once", "ben@example.org") == (0, "denied")
    assert [c.said() for c in home.records.consents.all()] == [
        "send_mail(draft = anna@example.org)",
        "send_mail(draft = ben@example.org)",
    ]


WITH_FILE = (
    "From: Mallory <{sender}>\r\nTo: mira@example.org\r\nSubject: the {word}\r\nMessage-ID: <{word}@x>\r\n"
    "Date: Fri, 20 Nov 2026 08:00:00 +0100\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n"
    "--b\r\nContent-Type: text/plain\r\n\r\nthe {word}\r\n--b\r\nContent-Type: text/plain\r\n"
    "Content-Disposition: attachment; filename={word}.txt\r\n\r\nx\r\n--b--\r\n"
)


def test_an_always_for_sending_covers_nothing_else_that_was_attached_to_a_mail(home: Home) -> None:
    for word in ("invoice", "contract"):
        home.write(f"mail/new/{word}.eml", WITH_FILE.format(sender=MALLORY, word=word).encode())
    policy = Policy(ALLOWED | {"send_mail": Rule("ask")})

    def forward(word: str) -> Plan:
        find = Step("find_mail", {"query": word})
        on = Step("draft_forward", {"mail": Ref(0, ("id",)), "to": ["anna@example.org"]})
        return Plan((find, on, Step("send_mail", {"draft": Ref(1, ("id",))})))

    made = home.run(Plan(forward("invoice").steps[:2]))[-1].value
    assert isinstance(made, dict)
    home.use(policy)
    home.run(Plan((Step("send_mail", {"draft": str(made["id"])}),)))
    assert "/invoice.txt" in home.questions[-1]
    assert asked(home, policy, "always", forward("invoice")) == (1, "failed")
    assert home.records.consents.all() == (), "what was attached was not shown"
    assert asked(home, policy, "no", forward("contract")) == (1, "denied")


def test_an_id_that_a_list_gives_says_nothing_of_whom_a_draft_goes_to(home: Home) -> None:
    context = home.context("x", None)
    spec = SPECS["send_mail"]
    for sources, is_strangers in (({"owner"}, True), ({"device"}, True), ({"owner", "contacts"}, False)):
        given = {"draft": Value("Drafts/1.H2.hearth", Label(frozenset(sources)))}
        resolved = home.monitor._labelling.resolved(spec, given, context.workspace, context.now)
        assert bool(resolved["draft"].label.strangers) is is_strangers


def test_the_kelvin_sign_is_no_k(home: Home) -> None:
    home.write("contacts/kim.vcf", card("kim", "Kim", "kim@example.org"))
    home.run(Plan((Step("list_contacts"),)))
    home.records.book.confirm(home.folder.for_call("x"), ["kim"], FIXED_NOW)
    known = home.monitor.known_addresses(home.context("x", None))
    assert known.vouches(["KIM@example.org"])
    assert not known.vouches(["\u212aim@example.org"])


def test_a_call_that_an_always_may_cover_and_does_not_is_asked_about_with_all_its_values(home: Home) -> None:
    home.write("documents/salary.txt", b"x")
    ask = Policy(ALLOWED | {"draft_mail": Rule("ask")})

    def to_anna(**more: object) -> Plan:
        draft = Step("draft_mail", {"to": [Ref(0, ("email",))], "text": "hi", **more})  # type: ignore[dict-item]
        return Plan((Step("find_contact", {"name": "Anna"}), draft))

    assert asked(home, ask, "always", to_anna()) == (1, "done")
    assert asked(home, ask, "no", to_anna()) == (0, "done")
    assert asked(home, ask, "no", to_anna(attachments=["salary.txt"])) == (1, "denied")
    assert 'attachments: "salary.txt"' in home.questions[0]


def test_a_never_holds_when_somebody_is_named_twice(home: Home) -> None:
    never = Plan((Step("draft_mail", {"to": [MALLORY], "text": "yes"}),))
    assert asked(home, Policy({}), "never", never) == (1, "denied")
    twice = Plan((Step("draft_mail", {"to": [MALLORY, MALLORY.upper()], "text": "yes"}),))
    assert asked(home, Policy({}), "once", twice) == (0, "denied")
    assert asked(home, Policy({}), "once", Plan((Step("draft_mail", {"to": ["anna@example.org"], "text": "x"}),))) == (
        1,
        "done",
    )


def test_a_draft_of_an_earlier_process_is_asked_about_by_whom_it_goes_to_and_one_that_nobody_made_is_a_file_s(
    home: Home,
) -> None:
    policy = Policy(ALLOWED | {"send_mail": Rule("ask")})
    to_anna = Step("draft_mail", {"to": ["anna@example.org"], "text": "hi " * 40_000})  # too large to stand in a row
    ids = []
    for _ in range(3):
        made = home.run(Plan((to_anna,)))[-1].value
        assert isinstance(made, dict)
        ids.append(str(made["id"]))
    send = [Plan((Step("send_mail", {"draft": id}),)) for id in ids]
    assert asked(home, policy, "always", send[0]) == (1, "failed")  # there is no server to send with
    assert 'to "anna@example.org"' in home.questions[0]
    assert asked(home, policy, "no", send[1]) == (0, "failed")
    home.store.query("UPDATE step SET is_undone = 1 WHERE value_json IS NOT NULL OR value_hash IS NOT NULL")
    assert asked(home, policy, "no", send[2]) == (1, "denied")
    assert ids[2] in home.questions[0]


def test_a_never_holds_for_somebody_among_others_and_under_a_tag(home: Home) -> None:
    policy = Policy(ALLOWED | {"draft_mail": Rule("ask")})

    def draft(*to: str) -> Plan:
        return Plan((Step("draft_mail", {"to": list(to), "text": "hi"}),))

    assert asked(home, policy, "never", draft("anna@example.org")) == (1, "denied")
    for to in (("zoe@example.org", "anna@example.org"), ("anna+news@example.org",), ("Anna@Example.org",)):
        assert asked(home, policy, "once", draft(*to))[1] == "denied", to
    assert asked(home, policy, "once", draft("zoe@example.org")) == (1, "done")


def changed_draft(home: Home, before: bytes, after: bytes) -> None:
    """Another program writes to the one draft there is."""
    (file,) = (home.folder.root / "mail/.Drafts/cur").iterdir()
    data = file.read_bytes()
    assert before in data
    file.write_bytes(data.replace(before, after, 1))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"Subject:", b"Bcc: mallory@example.net\nSubject:"),
        (b"Subject:", b'Cc: "anna@example.org" <mallory@example.net>\nSubject:'),
        (b"To: anna@example.org", b"To: anna@example.org, mallory@example.net"),
        (b"To: anna@example.org", b"Bcc: mallory@example.net"),
    ],
)
def test_an_always_covers_nobody_whom_another_program_wrote_into_a_draft(
    home: Home, before: bytes, after: bytes
) -> None:
    policy = Policy(ALLOWED | {"send_mail": Rule("ask")})
    draft = Step("draft_mail", {"to": ["anna@example.org"], "text": "hi", "subject": "hi"})
    assert asked(home, policy, "always", Plan((draft, Step("send_mail", {"draft": Ref(0, ("id",))})))) == (1, "failed")
    for file in (home.folder.root / "mail/.Drafts/cur").iterdir():
        file.unlink()
    for changed in (True, False):
        made = home.run(Plan((draft,)))[-1].value
        assert isinstance(made, dict)
        if changed:
            changed_draft(home, before, after)
        n_asked, status = asked(home, policy, "no", Plan((Step("send_mail", {"draft": str(made["id"])}),)))
        assert (n_asked, status) == ((1, "denied") if changed else (0, "failed"))
        if changed:
            assert '"mallory@example.net" (not in your contacts)' in home.questions[-1].partition("“")[0]
            assert "[from a file," in home.questions[-1], "nobody knows who wrote it there"
        for file in (home.folder.root / "mail/.Drafts/cur").iterdir():
            file.unlink()


class _Meddling(FixedApprover):
    """Says yes while another program changes the draft that the question is about."""

    def __init__(self, home: Home, before: bytes, after: bytes) -> None:
        super().__init__("once")
        self._change = (home, before, after)

    def approve(self, question: str, ruling: Ruling) -> Reply:
        reply = super().approve(question, ruling)
        if len(self.questions) == 1:
            changed_draft(*self._change)
        return reply if len(self.questions) == 1 else "no"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [(b"\nhi", b"\nI quit", "I quit"), (b"Subject:", b"Bcc: mallory@example.net\nSubject:", MALLORY)],
)
def test_what_changes_while_a_question_stands_is_shown_in_the_next(
    home: Home, before: bytes, after: bytes, shown: str
) -> None:
    rule = OrderedRule.model_validate({"tools": ["send_mail"], "when": {"draft": {"contact": False}}, "ruling": "ask"})
    home.use(Policy.from_settings(dict.fromkeys(SPECS, Rule("allow")), SPECS, [rule]))
    home.approver = home.monitor.approver = approver = _Meddling(home, before, after)
    draft = Step("draft_mail", {"to": ["zoe@example.org"], "text": "hi", "subject": "hi"})
    results = home.run(Plan((draft, Step("send_mail", {"draft": Ref(0, ("id",))}))))
    assert results[-1].status == "denied"
    first, second = (question for question, _ in approver.questions)
    assert shown not in first
    assert shown in second
    assert "when you agreed" in second
