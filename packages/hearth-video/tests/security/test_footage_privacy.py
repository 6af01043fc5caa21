"""What was seen at home stays there: labels, the door, the ledger, exports, mails; and so do the pixels."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
import small_video as room
from PIL import Image
from small_video import BLUE, GREEN, RED, START, Walk

from hearth.config import Host, Network
from hearth.errors import DeniedError, ToolError
from hearth.execution.executor import Executor
from hearth.formats.tool_signature import tool
from hearth.guard.egress.gateway import Egress
from hearth.guard.egress.ledger import Ledger
from hearth.guard.monitor import Monitor
from hearth.guard.policy.rules import Policy, Rule
from hearth.memory.transfer.archives import exported
from hearth.protocols import CallContext, Tool
from hearth.storage.database import Store
from hearth.storage.trace import Trace
from hearth.storage.workspace import Folder
from hearth.testing import FIXED_NOW, FixedApprover, ScriptedExpert, make_call
from hearth.tools.mail import mail
from hearth.types import Plan, Ref, Request, Step, StepResult
from hearth_video.experts.expert_values import Box, Face, Frame, Pixels
from hearth_video.footage import indexing, video_decode
from hearth_video.footage.footage_retention import PICTURES
from hearth_video.footage.pictures import still_pictures
from hearth_video.tools import video

WALKS = (Walk(RED, 5, 20), Walk(GREEN, 30, 50))
SEEN = [
    Step("find_video", {"room": "kitchen", "start": START.isoformat(), "end": room.at(60).isoformat()}),
    Step("detect_people", {"video": Ref(0, ("id",))}),
    Step("identify_people", {"people": Ref(1), "name": "Anna"}),
]


@tool(source="web")
def look_up(text: str, call: CallContext) -> str:
    """Look something up on the web."""
    with httpx.Client(transport=call.egress.transport("look something up")) as client:
        return client.get("http://127.0.0.1:9/", params={"q": text}).text


TOOLS: dict[str, Tool] = {t.spec.name: t for t in (*video.TOOLS, *mail.TOOLS, look_up)}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(indexing, "frames", room.drawn(WALKS, 60.0))
    with Store.open(tmp_path / "home" / "hearth.db") as store:
        room.put_recording(store, tmp_path / "kitchen.mp4", duration_s=60.0)
        room.enroll(store, "Anna", RED)
        yield store


class Home:
    """Runs plans on a home with footage."""

    def __init__(self, store: Store, approver: FixedApprover, policy: Policy, network: Network) -> None:
        self.store = store
        self.egress = Egress(("127.0.0.1",), store, lambda: FIXED_NOW, network=network)
        self.trace = Trace(store)
        self.folder = Folder(store.path.parent / "owner", store)
        self.monitor = Monitor(TOOLS, policy, approver)

    def run(self, *steps: Step) -> tuple[StepResult, ...]:
        def context(key: str, now: dt.datetime) -> CallContext:
            footage = room.library(self.store)
            owner = {"owner": {"name": "Mo", "email": "mo@example.org"}}
            return make_call(
                key, now, workspace=self.folder.for_call(key), egress=self.egress, footage=footage, settings=owner
            )

        executor = Executor(self.monitor, self.trace, context, self.folder)
        plan = Plan(steps)
        ruling = self.monitor.rule(plan)
        if ruling.verdict != "allow":
            raise DeniedError(ruling.reason)
        self.egress.purpose = "e1"
        self.trace.begin(Request("x", FIXED_NOW), "e1")
        self.trace.planned("e1", plan, None, None, 0.0)
        try:
            return executor.run("e1", plan, self.monitor.specs, FIXED_NOW)
        finally:
            executor.close()


ALL_ALLOWED = Policy({name: Rule("allow") for name in TOOLS})


def home(
    store: Store, *, says: bool = True, policy: Policy | None = None, network: Network | None = None
) -> tuple[Home, FixedApprover]:
    approver = FixedApprover(says)
    return Home(store, approver, policy or Policy(), network or Network()), approver


def test_who_was_seen_is_labelled_as_a_sensors_for_nobody_to_read(store: Store) -> None:
    results = home(store)[0].run(*SEEN)
    assert [result.status for result in results] == ["done"] * 3
    assert "Anna" in str(results[2].value)
    for result in results:
        assert "sensor" in result.label.sources
        assert result.label.readers == frozenset()
        assert not result.label.is_trusted


@pytest.mark.parametrize("is_readable", [False, True])
def test_no_host_gets_it_unless_the_owner_says_so(store: Store, is_readable: bool) -> None:
    network = Network(host={"127.0.0.1": Host(may_read=("sensor",))} if is_readable else {})
    here, _ = home(store, network=network)
    *_, result = here.run(*SEEN, Step("look_up", {"text": Ref(2, ("text",))}))
    assert result.status == "failed"
    if is_readable:  # it got as far as a port where nobody listens
        assert "sensor" not in result.error
    else:
        assert "was made from sensor, which it may not read; nothing was sent" in result.error


def mailed(**more: object) -> list[Step]:
    text = more.pop("text", Ref(2, ("text",)))
    arguments = {"to": ["a@example.org"], "text": text, **more}
    return [*SEEN, Step("draft_mail", arguments), Step("send_mail", {"draft": Ref(3, ("id",))})]  # type: ignore[arg-type]


def test_sending_a_sighting_by_mail_is_asked_and_says_what_leaves(store: Store) -> None:
    here, approver = home(store, says=False)
    with pytest.raises(DeniedError):
        here.run(*mailed())
    ((question, ruling),) = approver.questions
    assert ruling.verdict == "ask"
    assert "a@example.org" in question
    assert "would send something that cannot be taken back" in ruling.reason + question
    assert "identify people" in question or "identify_people" in question
    assert list(here.egress.ledger.entries(episode="e1")) == []


@pytest.mark.parametrize(
    "where", ["{home}/video/pictures/s1.jpg", "../video/pictures/s1.jpg", "../../video/pictures/s1.jpg"]
)
def test_a_picture_cannot_be_attached_even_where_everything_is_allowed(store: Store, where: str) -> None:
    here, _ = home(store, policy=ALL_ALLOWED)
    picture = store.path.parent / PICTURES / "s1.jpg"
    picture.parent.mkdir(parents=True)
    picture.write_bytes(b"\xff\xd8\xff pixels")
    results = here.run(*mailed(text="look", attachments=[where.format(home=store.path.parent)]))
    assert [result.status for result in results[3:]] == ["failed", "skipped"]
    assert not any(
        b"pixels" in file.read_bytes() for file in (store.path.parent / "owner").rglob("*") if file.is_file()
    )


def test_no_vector_and_no_picture_is_in_an_export_or_the_ledger(store: Store) -> None:
    here, _ = home(store, policy=ALL_ALLOWED, network=Network(host={"127.0.0.1": Host(may_read=("sensor",))}))
    here.run(*SEEN, Step("look_up", {"text": Ref(2, ("text",))}))
    secrets = [
        row["vector"] for row in store.query("SELECT vector FROM sighting_face UNION SELECT vector FROM person_face")
    ]
    secrets += [row["jpeg"] for row in store.query("SELECT jpeg FROM sighting_thumbnail")]
    secrets += [row["clothes"] for row in store.query("SELECT clothes FROM sighting")]
    assert len(secrets) > 4
    needles = [form for raw in secrets for form in (raw[:48], base64.b64encode(raw[:48]), raw[:48].hex().encode())]
    lines = "".join(exported(store)).encode()
    assert b"Anna walked through the kitchen" in lines
    ledger = Ledger(store)
    sent = b"".join(bytes(row[0] or b"") for row in store.query("SELECT payload FROM disclosure"))
    assert not [needle for needle in needles if needle in lines or needle in sent]
    assert not any(ledger.holding([needle]) for needle in needles)
    results = "".join(str(row[0]) for row in store.query("SELECT value_json FROM step")).encode()
    assert not [needle for needle in needles if needle in results]


def test_pictures_are_for_the_owners_eyes_on_this_device(store: Store) -> None:
    library = room.library(store)
    path = Path(library._written(Image.new("RGB", (8, 8)), "s1.jpg"))
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
    assert not path.is_relative_to(store.path.parent / "owner")


class FacesBeside:
    """Anna's face at the left, a stranger's at the right, wherever is looked; from near by, Anna's is found better."""

    card = ScriptedExpert.card

    def look(self, given: tuple[Frame, Box]) -> tuple[Face, ...]:
        frame, box = given
        is_near = box.width < frame.pixels.shape[1]
        poor = (0.8 * room.vector_of(RED) + 0.6 * room.vector_of(BLUE)).astype(np.float32)
        anna = Face(Box(10, 10, 30, 30), room.vector_of(RED) if is_near else poor, 0.9)
        return (anna, Face(Box(110, 10, 130, 30), room.vector_of(BLUE), 0.9))


def test_in_a_picture_only_the_faces_of_those_who_are_named_in_it_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange: list[Box] = []

    def draw(pixels: Pixels, people: list[still_pictures.Marked], caption: str, faces: list[Box]) -> Image.Image:
        assert people[0].name == "Anna"
        strange.extend(faces)
        return Image.fromarray(pixels)

    monkeypatch.setattr(still_pictures, "draw_sighting", draw)
    monkeypatch.setattr(video_decode, "frames", room.drawn(WALKS, 60.0))
    room.library(store).people("", START, room.at(60), threading.Event())
    library = room.library(store, seen_by=dataclasses.replace(room.experts(), identity=FacesBeside()))
    library.pictures(["s1"])
    assert set(strange) == {Box(110, 10, 130, 30)}
    strange.clear()
    library.pictures(["s1"], shows_strangers=True)
    assert strange == []
    with pytest.raises(ToolError, match="pip install"):
        room.library(store, seen_by=room.absent()).pictures(["s1"])  # nobody told apart: nothing is drawn
