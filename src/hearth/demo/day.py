"""The requests of a demo: the owner's day in fourteen scenes, or those of a file."""

from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import invalidate_caches
from importlib.resources import as_file, files
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

import httpx

from hearth import config
from hearth.agent import Agent
from hearth.edge import enrolment
from hearth.edge.cloud_link import Link
from hearth.errors import HearthError, MissingExtraError, RegistryError, RequestError
from hearth.guard.egress.gateway import Egress
from hearth.guard.egress.ledger import Entry, Ledger
from hearth.learning.corrections import correct, learn_revision
from hearth.learning.unlearning import Receipt, Sought, find, forget
from hearth.learning.versions.learned_state import Offer, State
from hearth.protocols import Approver
from hearth.registry import CHECKS, INSTALL_COMMANDS, SCENES, blamed, load_parts
from hearth.serve.history import Chapter
from hearth.storage.database import Store
from hearth.types import Episode

# ── Request files ─────────────────────────────────────────────────────────────────────────────────────────
# Requests of a file, and doing one: JSONL or lines of text, anybody's.
#
# A line that cannot be read becomes a request with its fault; none stops the run.

MAX_LINE_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class FileRequest:
    """One request of a file, or the reason why the line holds none."""

    id: str
    text: str
    fault: str = ""
    follows: bool = False
    """True when it is said in conversation, after the one before: "no, as a reminder"."""


def read_requests(path: Path) -> Iterator[FileRequest]:
    """Requests of a file: JSONL with `user_request` (or `request`, `text`, `instruction`), or one request per line.

    Raises:
        RequestError: The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            for number, (raw, n_bytes) in enumerate(_lines(file), 1):
                if raw.strip():
                    yield _request(raw, n_bytes, f"{path.name}:{number}")
    except OSError as error:
        raise RequestError(f"cannot read the requests in {str(path)!r}: {error.strerror}") from None


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each line, cut a little beyond `MAX_LINE_BYTES`, and how long it is: a file may be one line of gigabytes."""
    while raw := file.readline(MAX_LINE_BYTES + 1):
        n_bytes = len(raw)
        rest = raw
        while len(rest) > MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES + 1)
            n_bytes += len(rest)
        yield raw, n_bytes


def _request(raw: bytes, n_bytes: int, place: str) -> FileRequest:
    if n_bytes > MAX_LINE_BYTES:
        return FileRequest(place, "", f"the line has {n_bytes} bytes; at most {MAX_LINE_BYTES} are read")
    try:
        text = raw.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        return FileRequest(place, "", f"not UTF-8 text at byte {error.start}; save the file as UTF-8")
    if text in ("[", "]") or text.startswith("[{"):
        return FileRequest(place, "", "part of a JSON array; write one JSON object per line, without brackets around")
    if not text.startswith("{"):
        return FileRequest(place, text)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return FileRequest(place, "", f"not JSON: {error}; write one object per line, the whole of it on that line")
    for key in ("user_request", "request", "text", "instruction"):
        if isinstance(data.get(key), str):
            return FileRequest(str(data.get("id") or place), data[key], follows=data.get("follows") is True)
    return FileRequest(
        place, "", f"no 'user_request' in it; it has {', '.join(map(repr, list(data)[:5])) or 'nothing'}"
    )


def shipped(text: bytes) -> tuple[FileRequest, ...]:
    """Read the requests of a file that comes with Hearth."""
    return tuple(_request(line, len(line), "shipped") for line in text.splitlines())


def run_one(agent: Agent, request: FileRequest) -> Episode:
    """Do one request of a file; a line that holds none is recorded with its fault."""
    if request.fault:
        return agent.refuse(agent.request("", id=request.id), f"{request.id}: {request.fault}")
    if not request.follows:
        return agent.run(agent.request(request.text, id=request.id))
    episode = agent.run(agent.request_after(request.text, id=request.id))
    if episode.request.revises:
        state = State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=agent.store)
        learn_revision(state, agent.recall, agent.trace.episode(episode.request.revises), episode)
    return episode


# ── Day ───────────────────────────────────────────────────────────────────────────────────────────────────
# The day of one owner in fourteen scenes: what Hearth is for, on one home, in one run.
#
# Each scene asks as an owner would, with keys, a voice or a photo, and every request goes through the whole agent. A
# scene that needs a part which is not installed is left out, with the reason; the others go on.
#
# Not covered: requests of your own (`hearth demo --requests`).

# ── Requests in an owner's own words ───────────────────────────────────────────────────────────────────
# Twenty requests as people type them on a phone, what each of them means, and how many were understood.
# Written before any of them was tried. What is meant is the tools and what the plan or the answer must hold; where
# more is right than that, it is not said: an answer may hold more, and values that nobody asked about are not judged.


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A request in somebody's own words, and what is meant."""

    text: str
    tool: str
    """The tool that does it, the last of the plan; several that would be right are joined by a bar."""
    holds: tuple[str, ...] = ()
    """What the arguments or the answer must hold, whatever the case of its letters."""


TWENTY = (
    OwnWords("remind me to put the bins out tmrw night at 9", "add_reminder", ("put the bins out", "21:00")),
    OwnWords("alarm 6 45 tomorrow pls", "add_reminder", ("06:45",)),
    OwnWords("whats on thursday", "find_events|find_reminders"),
    OwnWords("when am i seeing jonas", "find_events|next_event|find_answer", ("lunch with jonas",)),
    OwnWords("did priya write anything about the budget", "find_mail|read_mail|find_answer", ("budget talk",)),
    OwnWords("when's karins birthday again", "find_contact|upcoming_birthdays|find_answer", ("karin",)),
    OwnWords("push the tram poster review back an hour", "move_event", ("tram poster review", "16:00")),
    OwnWords("cancel swimming with lina, she's got a cold", "cancel_event", ("swimming with lina",)),
    OwnWords("let mum know im running ten minutes late", "draft_mail|send_mail", ("ten minutes late", "ulrike")),
    OwnWords("need oat milk and candles", "add_to_list", ("oat milk", "candles")),
    OwnWords("whats the wifi pw at the allotment", "find_answer|find_notes", ("notice board",)),
    OwnWords("12 mins for the pasta", "set_timer", ("pasta", "12")),
    OwnWords("18% tip on 64 euros", "calculate", ("11.52",)),
    OwnWords("how many km is 3 miles", "convert_units|calculate", ("4.82",)),
    OwnWords("anything new from the library?", "find_mail", ("library",)),
    OwnWords("leos got a new number, 0151 23456789", "change_contact", ("leo", "15123456789")),
    OwnWords("jot down that the monstera needs a bigger pot", "add_note", ("the monstera needs a bigger pot",)),
    OwnWords("am i free saturday afternoon", "find_events|find_free_time"),
    OwnWords("how much does the electrician want for the sockets", "find_answer|search_memory", ("334.75",)),
    OwnWords("block out monday 2 til 4 for the survey", "add_event", ("survey", "14:00", "16:00")),
)


def missed(episodes: Sequence[Episode]) -> tuple[str, ...]:
    """Return the words that were not done as meant; `episodes` are of the twenty, in their order."""
    return tuple(one.text for one, episode in zip(TWENTY, episodes, strict=True) if not is_as_meant(one, episode))


def is_as_meant(words: OwnWords, episode: Episode) -> bool:
    """Whether a request was done by a tool that is meant, on what is meant, or would have been with the owner's yes."""
    if episode.plan is None or not episode.plan.steps or episode.answer.status not in ("done", "denied"):
        return False
    told = " ".join((*(repr(dict(step.arguments)) for step in episode.plan.steps), episode.answer.text)).casefold()
    return episode.plan.steps[-1].tool in words.tool.split("|") and all(part in told for part in words.holds)


# ── A small teacher ────────────────────────────────────────────────────────────────────────────────────
# A small teacher for the demo home: a process of its own with recorded plans, joined as any cloud is.
# Only this machine reaches it, it ends with the run, and what goes to it passes the mask, the door and the ledger.


DAY_DATA = files("hearth.demo") / "data" / "day"
"""What the day needs: a PDF, a photo, a voice, tools, a teacher's plans."""
_ENDS_S = 5.0


@contextmanager
def teacher_joined(home: Path) -> Iterator[str]:
    """Start the teacher and join it; yields its address.

    Args:
        home: A demo home that no agent has open.
    Raises:
        HearthError: It did not start, or could not be joined; the home works without.
    """
    with as_file(DAY_DATA / "teacher.json") as script:
        process = subprocess.Popen(
            [sys.executable, "-m", "hearth.testing.recorded_cloud", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            yield _joined(home, process)
        finally:
            _end(process)


def _joined(home: Path, process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    if not line:
        raise HearthError(f"the teacher did not start: {process.stderr.read().strip()[-300:]}")
    said = json.loads(line)
    url, token = enrolment.checked_url(said["url"]), said["token"]
    entry = httpx.URL(url).netloc.decode()
    enrolment.change(home / "hearth.toml", entry, {"teaches": True, "answers": True})
    settings = config.read_settings(home / "hearth.toml")
    with Store.open(home / "hearth.db") as store:
        door = Egress.from_settings(settings, store, lambda: dt.datetime.now(settings.zone()))
        with Link(url, door, None, "joining") as link:
            hello = link.hello()
        name = enrolment.name_for(store, home, url, hello.public_key)
        now = dt.datetime.now(settings.zone())
        enrolment.join(store, home, enrolment.Cloud(url, hello.server, hello.public_key), name, token, now)
    return url


def _end(process: subprocess.Popen[str]) -> None:
    """End the teacher: it ends by itself when its input does."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(_ENDS_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# ── The scenes ─────────────────────────────────────────────────────────────────────────────────────────


_HOME_VIDEO = "video"
"""Name of home video's parts."""
EVENING = "The evening: what left the device, and what was learnt"
FORGOTTEN = "hazelnut"
"""What the last scene forgets: nothing else in the home holds this word."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that is typed."""

    text: str
    follows: bool = False
    """True when it is said in conversation, after the one before."""


@dataclass(frozen=True, slots=True)
class Hear:
    """A request that is spoken, from a file of sound."""

    file: str


@dataclass(frozen=True, slots=True)
class Join:
    """The owner joins a teacher; the home is opened anew with it."""


@dataclass(frozen=True, slots=True)
class Keep:
    """The owner says that the last plan was right (`hearth correct`): it counts from the next request on."""


@dataclass(frozen=True, slots=True)
class Count:
    """Say how many of the scene's requests, which are the twenty in own words, were done as they were meant."""


@dataclass(frozen=True, slots=True)
class Film:
    """What plug-ins add to the home, and the requests about it: home video."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Everything that holds a text goes."""

    text: str


Act: TypeAlias = Ask | Hear | Join | Keep | Count | Film | Forget


@dataclass(frozen=True, slots=True)
class Scene:
    """One scene of the day."""

    key: str
    title: str
    acts: tuple[Act, ...]
    needs_experts: bool = False
    """Whether it needs what looks and listens (`hearth-video[experts]`), which may still be being installed."""


SCENES_OF_THE_DAY = (
    Scene(
        "morning",
        "The day begins: what it holds",
        (Ask("give me an overview of today"), Ask("and of tomorrow?", follows=True)),
    ),
    Scene(
        "question",
        "A question answered from a mail, and one from a PDF",
        (Ask("how much is the invoice for the sockets"), Ask("how long is the warranty on the sockets")),
    ),
    Scene(
        "conversation",
        "A change of plans, in conversation",
        (
            Ask("move the haircut to Thursday at 5 pm"),
            Ask("no, on Friday", follows=True),
            Ask("make that half past five", follows=True),
        ),
    ),
    Scene(
        "asked_back",
        "What was not said is asked, not guessed",
        (Ask("remind me to ring the dentist"), Ask("tomorrow at ten", follows=True)),
    ),
    Scene("own_words", "Twenty requests as people type them", (*(Ask(words.text) for words in TWENTY), Count())),
    Scene("stranger", "A stranger's mail that tries to instruct", (Ask("read me the latest mail from Parcelino"),)),
    Scene(
        "teacher",
        "What the device cannot plan: masked, asked of a teacher, learnt, and planned alone the second time",
        (
            Join(),
            Ask("make it known among the poster review guests that we start without Karin"),
            Keep(),
            Ask("make it known among the print approval guests that I will be late"),
        ),
    ),
    Scene(
        "general",
        "A general question, joined with what only this device knows",
        (Ask("Lina is allergic to hazelnuts"), Ask("what could I cook for Lina tonight?")),
    ),
    Scene(
        "correction",
        "A correction, which holds at once for a sibling",
        (
            Ask("put down the boiler service for Monday at 3 pm"),
            Ask("no, as a reminder", follows=True),
            Ask("put down the window cleaner for Tuesday at 10 am"),
        ),
    ),
    Scene(
        "repair", "A tool fails, and the plan goes on another way", (Ask("when does the next tram leave at the park"),)
    ),
    Scene(
        "photo",
        "A photo is dropped in",
        (Ask("what does the receipt in market.jpg say? put the total on my expenses list"),),
        needs_experts=True,
    ),
    Scene("voice", "A request is spoken", (Hear("spoken.flac"),), needs_experts=True),
    Scene(
        "video", "Home video: when, who, doing what, how many, and whether anybody fell", (Film(),), needs_experts=True
    ),
    Scene(
        "forget",
        "Forgetting, with a receipt and the proof",
        (Ask("what is Lina allergic to?"), Forget(FORGOTTEN), Ask("what is Lina allergic to?")),
    ),
)
"""In the order they are played: what needs the experts for video comes late, as these may be being installed."""

AddScene: TypeAlias = Callable[[Agent, Path, dt.datetime, Path | None], Iterable[str | FileRequest]]
"""An entry point of the group `hearth.scenes`: it adds to the demo home, yielding lines to say as it goes on, and the
requests to be asked when it is done. Its arguments: the agent, a folder to write to, the present moment, and a
recording of the owner's own."""


def add_props(home: Path, now: dt.datetime) -> None:
    """Put what the day needs into a demo home: a PDF, a photo, a list, a timetable, and two tools of the owner's."""
    owner = home / "owner"
    places = {
        "sockets-quote.pdf": owner / "documents" / "sockets-quote.pdf",
        "market.jpg": owner / "documents" / "market.jpg",
        "tram-timetable.csv": owner / "documents" / "tram-timetable.csv",
        "trams.py.txt": home / "tools" / "trams.py",
    }
    for name, place in places.items():
        place.write_bytes((DAY_DATA / name).read_bytes())
        place.chmod(0o644)
    day = now - dt.timedelta(days=3)
    with (home / "hearth.toml").open("a", encoding="utf-8") as settings:
        settings.write(
            "\n# A teacher is asked what nobody here can plan, not what is only unsure.\n[planning]\nask_below = 0.4\n"
        )
    (owner / "notes" / "expenses.md").write_text(
        f"# Expenses\n\n- [ ] {day:%d.%m.} cinema: 24.00 EUR\n", encoding="utf-8"
    )


# ── Playing ───────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a scene says beside its requests."""

    lines: tuple[str, ...]
    of: str = ""
    """The episode that it is about; empty: none alone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request is about to be done; saying it now is all the progress there is to see while it runs."""

    text: str


Shown: TypeAlias = Said | Asked | Episode


@dataclass
class Day:
    """Plays scenes on one home; `episodes` holds what was done, by scene. Close it: it holds home and teacher."""

    home: Path
    approver: Approver
    environ: Mapping[str, str]
    clock: Callable[[], dt.datetime] | None = None
    """The machine's by default."""
    footage: Path | None = None
    """A recording of the owner's own, to be asked about."""
    episodes: dict[str, list[Episode]] = field(default_factory=dict)
    story: dict[str, list[Shown]] = field(default_factory=dict)
    """What each scene showed, in order."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Scenes that were not played, with the reason."""
    taught: set[str] = field(default_factory=set)
    """Ids of episodes that the owner corrected."""
    receipt: Receipt | None = None
    forgotten: set[str] = field(default_factory=set)
    """Ids of episodes that are forgotten: what is written of the day does not repeat them."""
    _resources: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        """Open the home. Raises: As `Agent.open`."""
        self.agent = self.opened()

    def opened(self) -> Agent:
        return Agent.open(self.home, self.approver, environ=self.environ, clock=self.clock)

    def close(self) -> None:
        """Give the home free, and end the teacher."""
        self.agent.close()
        self._resources.close()

    def play(self, scene: Scene) -> Iterator[Shown]:
        """Play a scene, yielding what there is to show as it happens. What cannot be had leaves the scene out."""
        story = self.story.setdefault(scene.key, [])
        for shown in self._played(scene):
            story.append(shown)
            yield shown

    def _played(self, scene: Scene) -> Iterator[Shown]:
        done = self.episodes.setdefault(scene.key, [])
        missing = self._missing() if scene.needs_experts else ""
        try:
            for act in scene.acts:
                if not missing:
                    yield from self._act(scene, act, done)
                elif isinstance(act, Film):
                    yield from self._film(scene, done, without=_HOME_VIDEO)
        except MissingExtraError as error:
            missing = str(error)
        if missing:
            self.left_out[scene.key] = missing
            yield Said((f"left out: {missing}",))

    def _missing(self) -> str:
        """Return what is missing for looking and listening; empty where nothing is."""
        invalidate_caches()  # the experts may have been installed since this process began
        check = next((part for part in load_parts(CHECKS).loaded if part.name == _HOME_VIDEO), None)
        if check is None or self.agent.footage is None:
            return f"home video is not installed; to have it: {INSTALL_COMMANDS['hearth-video']}"
        try:
            said = str(check.invoke(self.agent.home))
        except HearthError as error:
            said = str(error)
        return said.partition("; ")[2] if "are not installed" in said else ""

    def _act(self, scene: Scene, act: Act, done: list[Episode]) -> Iterator[Shown]:
        match act:
            case Ask(text, follows):
                yield from self._ask(FileRequest(f"{scene.key}-{len(done) + 1}", text, follows=follows), done)
            case Hear(file):
                yield from self._hear(scene, file, done)
            case Join():
                yield self._join()
            case Keep():
                yield self._keep(done)
            case Count():
                yield self._count(done)
            case Film():
                yield from self._film(scene, done)
            case Forget(text):
                yield self._forget(text)

    def _ask(self, request: FileRequest, done: list[Episode]) -> Iterator[Shown]:
        yield Asked(request.text)
        n_before = self.agent.n_demonstrations
        episode = run_one(self.agent, request)
        done.append(episode)
        yield episode
        if sent := self._as_sent(episode):
            yield Said((f"went out as: “{sent}”",), episode.id)
        if self.agent.n_demonstrations > n_before and episode.request.revises:
            self.taught.add(episode.request.revises)
            yield Said(("learnt: this is what such a request means, from the next one on",), episode.id)

    def _as_sent(self, episode: Episode) -> str:
        """Return the words of a request as they left the device; empty where none did."""
        for entry in Ledger(self.agent.store).entries(episode=episode.id) if episode.disclosures else ():
            with suppress(ValueError):
                said = json.loads((entry.payload or b"").partition(b"\r\n\r\n")[2])
                if isinstance(said, dict) and (text := said.get("request") or said.get("question")):
                    return str(text)
        return ""

    def _hear(self, scene: Scene, file: str, done: list[Episode]) -> Iterator[Shown]:
        assert self.agent.footage is not None, "`play` left the scene out"
        with as_file(DAY_DATA / file) as path:
            heard = self.agent.footage.spoken(path)
        yield Said((f"heard in {file}: “{heard}”",))
        yield from self._ask(FileRequest(f"{scene.key}-{len(done) + 1}", heard), done)

    def _join(self) -> Said:
        """Join the teacher with the home closed, as `hearth edge join` does; without it the scene shows a refusal."""
        before = self.agent
        before.close()
        try:
            address = self._resources.enter_context(teacher_joined(before.home))
            said = f"a teacher with recorded plans, in a process of its own, was joined: {address}"
        except HearthError as error:
            said = f"no teacher: {error}"
        self.agent = self.opened()
        return Said((said,))

    def _keep(self, done: list[Episode]) -> Said:
        episode = done[-1]
        if episode.plan is None:
            return Said(("nothing was planned, so nothing is learnt",))
        correct(self._state(), self.agent.recall, episode, episode.plan, self.agent.tools.specs)
        return Said((f"learnt: you said that this plan was right (`hearth correct {episode.id}`)",), episode.id)

    def _count(self, done: list[Episode]) -> Said:
        misses = missed(done)
        right = f"{len(done) - len(misses)} of {len(done)} were planned as they were meant"
        return Said((right + (f"; not: {', '.join(f'“{words}”' for words in misses)}" if misses else ""),))

    def _film(self, scene: Scene, done: list[Episode], without: str = "") -> Iterator[Shown]:
        """Add what plug-ins have for the demo home, but for the one named `without`, and ask about it."""
        scenes = load_parts(SCENES)
        if scenes.faults:
            yield Said(tuple(f"not loaded: {fault}" for fault in scenes.faults))
        for part in scenes.loaded:
            if part.name == without:
                continue
            line = f"adding {part.name} to the home …"
            yield Said((line,))
            requests: list[FileRequest] = []
            try:
                with blamed(f"{part.name!r} of {part.origin}"):
                    add = cast("AddScene", part.invoke)
                    for one in add(self.agent, self.home / "recordings", self.agent.clock(), self.footage):
                        if isinstance(one, FileRequest):
                            requests.append(one)
                        else:
                            line = one
                            yield Said((line,))
            except RegistryError as error:
                line, requests = f"left out: {error}", []
                yield Said((line,))
            if not requests:
                self.left_out.setdefault(scene.key, line)
            for request in requests:
                yield from self._ask(request, done)

    def _forget(self, text: str) -> Said:
        found = find(self.agent.store, Sought(matching=text))
        parts = [
            _counted(len(found.events), "memory", "memories"),
            _counted(len(found.attached.facts), "fact", "facts"),
            _counted(len(found.episodes), "recorded request", "recorded requests"),
            _counted(len(found.demonstrations), "example that was learnt", "examples that were learnt"),
        ]
        receipt = self.receipt = forget(self._state(), found)
        self.forgotten.update(id for id, _ in found.episodes)
        n_files, n_holding = holding(self.agent.home, text)
        return Said(
            (
                f"forgotten with `hearth forget --matching {text}`: {', '.join(parts)}",
                "receipt: a file in the folder receipts says what was removed, without repeating it; on record stays "
                f"that {_counted(receipt.n_erased, 'message', 'messages')} went to the teacher, not what they said",
                f"proof: {n_files} files of the home were searched byte by byte, and {n_holding} hold “{text}”",
            )
        )

    def _state(self) -> State:
        agent = self.agent
        return State.open(agent.home, agent.encoder, Offer(agent.tools.specs), store=agent.store)

    # ── The end of the day ────────────────────────────────────────────────────────────────────────────────

    def all_episodes(self) -> list[Episode]:
        return [episode for scene in SCENES_OF_THE_DAY for episode in self.episodes.get(scene.key, ())]

    def chapters(self) -> tuple[Chapter, ...]:
        """Tell the day for its report, scene by scene, without what was forgotten in it."""
        scenes = [scene for scene in SCENES_OF_THE_DAY if scene.key in self.story]
        told = [Chapter(scene.title, tuple(self._told(self.story[scene.key]))) for scene in scenes]
        return (*told, Chapter(EVENING, tuple(self.evening())))

    def _told(self, story: Sequence[Shown]) -> Iterator[str | Episode]:
        n_forgotten = 0
        for shown in story:
            match shown:
                case Said(lines, of) if of not in self.forgotten:
                    yield from map(self._without_forgotten, lines)
                case Episode() if shown.id not in self.forgotten:
                    yield shown
                case Episode():
                    n_forgotten += 1
        if n_forgotten:
            yield f"forgotten, and so not repeated here: {_counted(n_forgotten, 'request', 'requests')} of this scene"

    def _without_forgotten(self, line: str) -> str:
        return re.sub(re.escape(FORGOTTEN), "…", line, flags=re.IGNORECASE) if self.receipt else line

    def evening(self) -> list[str]:
        """Say what left the device on this day, and how the day's learning went."""
        lines = []
        for entry in self.sent():
            erased = "" if entry.payload is not None else "  (bytes forgotten)"
            lines.append(f"{entry.at[11:19]}  {entry.host:<16} {entry.n_bytes:>7,} bytes  {entry.reason}{erased}")
        return [*(lines or ["nothing left the device"]), *self.curve()]

    def sent(self) -> tuple[Entry, ...]:
        """What left the device today."""
        return tuple(entry for entry in Ledger(self.agent.store).entries() if entry.kind == "sent")

    def curve(self) -> tuple[str, ...]:
        """The learning curve of the day: a mark for each request, and what it means."""
        marks, counts = [], dict.fromkeys(_MARKS, 0)
        for episode in self.all_episodes():
            mark = self._mark(episode)
            counts[mark] += 1
            marks.append(mark)
        told = ", ".join(f"{mark} {_MARKS[mark]} ({n})" for mark, n in counts.items() if n)
        return ("".join(marks), told)

    def _mark(self, episode: Episode) -> str:
        if episode.id in self.taught:
            return "▂"
        if episode.plan is None or episode.answer.status in ("failed", "needs", "refused"):
            return "▁"
        if episode.plan.planner.startswith("cloud:"):
            return "▄"
        return "▆" if episode.disclosures else "█"


_MARKS = {
    "█": "planned on this device alone",
    "▆": "planned on this device, the cloud asked, too",
    "▄": "planned by the teacher, and learnt",
    "▂": "corrected by the owner, and learnt",
    "▁": "not planned, or not done",
}


def _counted(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def holding(folder: Path, text: str) -> tuple[int, int]:
    """Count the files below a folder, and those that hold a text, whatever the case of its letters."""
    wanted = text.casefold().encode()
    n_files = n_holding = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            n_files += 1
            n_holding += wanted in path.read_bytes().lower()
    return n_files, n_holding
