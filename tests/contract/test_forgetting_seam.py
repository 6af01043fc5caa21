"""Every store of the home takes part in forgetting: each table and file says how, and no byte of a canary is left."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest

from hearth.guard.egress.ledger import Draft, Ledger
from hearth.guard.labels import Origin, Provenance
from hearth.learning import unlearning
from hearth.learning.unlearning import Sought, find, forget
from hearth.learning.versions.learned_state import State
from hearth.memory.event_memory import EventMemory
from hearth.memory.facts import FactStore, NewFact
from hearth.protocols import Held, Wanted
from hearth.storage import fault_log
from hearth.storage.database import FIRST_LOOK, Store
from hearth.storage.trace import Trace
from hearth.testing import FIXED_NOW, ScriptedHolder, check_holder
from hearth.types import OWNER, Answer, Demonstration, Episode, Plan, Request, Step
from tests.small_world import lessons, opened, shown

CANARY = "Quillfeather"
SAID = f"remind me of the {CANARY} affair with Xanthippe"
BY_RECORD = "with the request (`trace.RecordHolder`, triggers)"
BY_DEMONSTRATION = "with the demonstration (`taught_holder.TaughtHolder`; comparisons: `deferral.AgreementHolder`)"
FOOTAGE = "hearth-video's holder"
NO_WORDS = "holds no words of the owner's"
FORGOTTEN: dict[str, str] = {
    **dict.fromkeys(
        ("episode", "step", "large_value", "looked_at", "agreed_step", "cloud_answer", "journal"), BY_RECORD
    ),
    **dict.fromkeys(
        ("demonstration", "set_aside", "skill", "version", "version_change", "agreement"), BY_DEMONSTRATION
    ),
    **dict.fromkeys(("event", "event_vector", "event_words", "summary", "summary_line"), "memories"),
    **dict.fromkeys(("fact", "fact_event"), "memories"),
    "disclosure": "the bytes are erased (`ledger.LedgerHolder`); that they left stays",
    "outbox": "with the demonstration (trigger); questions that wait, all (`outbox.QuestionHolder`)",
    **dict.fromkeys(("passage", "passage_vector", "passage_words", "passage_file"), "holder `passages`"),
    "ring": "holder `rings`",
    "consent": "with the request, and holder `standing answers`",
    **dict.fromkeys(
        ("recording", "recording_chunk", "listened_chunk", "sighting", "sighting_activity", "sighting_face"), FOOTAGE
    ),
    **dict.fromkeys(("sighting_part", "sighting_thumbnail", "utterance", "sound_event"), FOOTAGE),
    **dict.fromkeys(
        ("person", "person_face", "activity_example"), "`hearth people forget`: a permission, not a memory"
    ),
    "camera": "`hearth video`: a setting",
    "phone": "`hearth phones`: a permission",
    "record_origin": "holder `origins`",
    "passage_forgotten": "keyed digests",
    "statistics_given": "digests",
    **dict.fromkeys(("meta", "sqlite_sequence", "teacher_use"), NO_WORDS),
    **dict.fromkeys(("edge_link", "edge_taken", "outbox_pace", "outbox_dropped"), NO_WORDS),
}
"""Table → how what it holds is forgotten. A new table needs a line, and most often a holder."""


def test_every_table_says_how_it_is_forgotten(store: Store) -> None:
    inner = ("_config", "_data", "_docsize", "_idx")
    tables = {row["name"] for row in store.query("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {name for name in tables if not name.endswith(inner)} == FORGOTTEN.keys()


def fill(state: State) -> None:
    """Put the canary into every store that this process can fill."""
    plan = Plan((Step("set_alarm", {"label": SAID}),))
    state.learn([*lessons(), Demonstration("secret", SAID, plan, tools=shown("x", "set_alarm").tools)], must_pass=False)
    trace = Trace(state.store)
    trace.begin(Request(SAID, FIXED_NOW), "e1")
    trace.finish(Episode("e1", Request(SAID, FIXED_NOW), plan, None, None, (), Answer(SAID, "done")))
    EventMemory(state.store).remember(SAID, kind="request", at=FIXED_NOW, label=OWNER, key="e1")
    FactStore(state.store).add(NewFact("me", "called", f"the {CANARY} heir"), FIXED_NOW)
    Ledger(state.store, lambda: FIXED_NOW).append(
        Draft("sent", "mail.example", "mail", payload=SAID.encode(), n_bytes=9)
    )
    at = FIXED_NOW.isoformat()
    with state.store.transaction() as cursor:
        for sql, *values in (
            (
                "INSERT INTO record_origin (domain, record, sources_json, at) VALUES ('notes', ?, '[]', ?)",
                *(f"{SAID.casefold().replace(' ', '-')}", at),
            ),
            ("INSERT INTO passage_file (path, fingerprint, fault) VALUES ('a', 'f', '')",),
            ("INSERT INTO ring (reminder, due, text, rings_at, state) VALUES ('r', ?, ?, ?, 'over')", at, SAID, at),
            (
                "INSERT INTO consent (tool, verdict, pattern_json, at, expires, episode) VALUES ('send_mail', 'allow', ?, ?, '9999', 'e0')",
                *(json.dumps({"subject": SAID}), at),
            ),
            (
                "INSERT INTO passage (path, record, kind, source, title, person, at, text) VALUES ('a', '', 'file', 'file', '', '', '', ?)",
                SAID,
            ),
            (
                "INSERT INTO outbox (kind, id, payload, at) VALUES ('question', 'q1', ?, ?)",
                json.dumps({"request": SAID}).encode(),
                at,
            ),
            ("INSERT INTO cloud_answer (form, answer, at) VALUES ('f', ?, ?)", SAID.encode(), at),
            (
                "INSERT INTO agreement (at, episode, request, planner, confidence, plan_json, teacher, teacher_json,"
                " is_right, share, is_drawn)"
                " VALUES (?, 'e1', ?, 'p', 1, '{}', 't', '{}', 1, 1, 1)",
                *(at, SAID),
            ),
            (
                "INSERT INTO skill (name, digest, state, plan_json, evidence_json, demonstrations_json, at)"
                " VALUES ('s', 'd', 'proposed', ?, ?, '[]', ?)",
                *(json.dumps({"label": SAID}), json.dumps({"rests_on": ["secret"]}), at),
            ),
        ):
            cursor.execute(sql, values)
    fault_log.note_fault(state.folder, ValueError(SAID))


def hold(folder: Path) -> list[str]:
    return [str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()]


@pytest.mark.parametrize(
    "sought", [Sought(matching=CANARY.lower()), Sought(wanted=Wanted(topic=CANARY), demonstrations=("secret",))]
)
def test_no_byte_of_a_canary_is_left_in_any_store(tmp_path: Path, sought: Sought) -> None:
    folder = tmp_path / "home"
    with opened(folder) as state:
        fill(state)
        assert set(hold(folder)) >= {"hearth.db", "faults.txt"} or "hearth.db-wal" in hold(folder)
        receipt = forget(state, find(state.store, sought))
        assert (receipt.found_in, receipt.failed) == ((), ())
        assert hold(folder) == []
        rows = {
            t: len(state.store.query(f"SELECT 1 FROM {t}"))
            for t in ("ring", "consent", "record_origin", "passage", "skill", "fact")
        }
        assert set(rows.values()) == {0}


def test_what_is_not_meant_stays(tmp_path: Path) -> None:
    with opened(tmp_path / "home") as state:
        fill(state)
        forget(state, find(state.store, Sought(matching="Xanthippe")))
        with state.store.transaction() as cursor:
            cursor.execute(
                "INSERT INTO ring (reminder, due, text, rings_at, state) VALUES ('r2', ?, 'water the figs', ?, 'over')",
                (FIXED_NOW.isoformat(), FIXED_NOW.isoformat()),
            )
        other = Wanted(since=FIXED_NOW + dt.timedelta(days=1))
        assert find(state.store, Sought(wanted=other)).is_empty
        forget(state, find(state.store, Sought(matching="nothing of the kind")))
        assert [row["text"] for row in state.store.query("SELECT text FROM ring")] == ["water the figs"]


@pytest.mark.parametrize("sought", [Sought(matching="*"), Sought(wanted=Wanted(topic="boiler"))])
def test_that_contacts_were_looked_at_before_is_never_forgotten(tmp_path: Path, sought: Sought) -> None:
    """Else whatever cards a stranger brought in meanwhile would be taken for those of the first look."""
    with opened(tmp_path / "home") as state:
        Provenance(state.store).note("contacts", {FIRST_LOOK: Origin(frozenset({"contacts"}))}, FIXED_NOW)
        Provenance(state.store).note("notes", {"the * boiler": Origin(frozenset({"message"}))}, FIXED_NOW)
        forget(state, find(state.store, sought))
        assert [row["record"] for row in state.store.query("SELECT record FROM record_origin")] == [FIRST_LOOK]


@pytest.mark.parametrize("with_record", [True, False])
def test_comparisons_that_are_shown_are_those_that_go(tmp_path: Path, with_record: bool) -> None:
    """By the words of a teacher's plan alone, too."""
    with opened(tmp_path / "home") as state:
        for plan in (SAID, "water the figs"):
            with state.store.transaction() as cursor:
                cursor.execute(
                    "INSERT INTO agreement (at, episode, request, planner, confidence, plan_json, teacher, teacher_json,"
                    " is_right, share, is_drawn) VALUES ('2026-01-01', '', 'as ever', 'p', 1, '{}', 't', ?, 1, 1, 1)",
                    [json.dumps({"label": plan})],
                )
        found = find(state.store, Sought(matching=CANARY, with_record=with_record))
        assert (found.n_agreements, forget(state, found).n_agreements) == (1, 1)
        left = [row["teacher_json"] for row in state.store.query("SELECT teacher_json FROM agreement")]
        assert left == [json.dumps({"label": "water the figs"})]
        assert hold(state.folder) == []


def test_the_contract_finds_a_holder_that_leaves_a_byte(store: Store) -> None:
    holder = ScriptedHolder({"e1": "Anna was here", "e2": "Ben was here"})
    (store.path.parent / "leaving.bin").write_bytes(b"\x00Anna was here\x00")
    with pytest.raises(AssertionError, match=r"the text 'Anna was here' is still in 'leaving\.bin'"):
        check_holder(lambda _: holder, store, Wanted(person="Anna"), Wanted(person="Ben"))


def test_a_found_thing_names_its_holder() -> None:
    assert unlearning.Found(held=(Held("rings"),)).is_empty
