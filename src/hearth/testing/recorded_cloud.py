"""A cloud that answers from a file, behind a real HTTP endpoint on this machine: for the demo and for tests.

    python -m hearth.testing.recorded_cloud FILE.json

Speaks as much of `formats.edge_protocol` as an edge needs that lets it teach and answer: hello, tasks, plans, answers.
The first line on standard output is JSON with its `url` and `token`; it ends when its standard input is closed, so that
it never outlives who started it. A request is matched as it comes, masked; words of the request reach the recorded plan
by the names of groups. What nothing matches is refused.

Not covered: anything a service must do: many edges, rates, storage, TLS (`hearth_cloud` is the service).
"""

from __future__ import annotations

import base64
import gzip
import http.server
import json
import re
import secrets
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hearth.errors import RequestError
from hearth.formats import edge_protocol

# ── Serving on this machine alone ──────────────────────────────────────────────────────────────────────
# Serves requests on this machine alone, for doubles of services that speak HTTP.


@contextmanager
def served_here(handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with `handler` on a free port, a thread for each request; yields the address, and ends it when left."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def tell(handler: http.server.BaseHTTPRequestHandler, status: int, body: bytes) -> None:
    """Answer the request that a handler has in hand with JSON."""
    handler.send_response(status)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


# ── The cloud ──────────────────────────────────────────────────────────────────────────────────────────


NAME = "recorded teacher"
MAX_BODY_BYTES = 2_000_000
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is answered to requests of one form."""

    asks: re.Pattern[str]
    given: Mapping[str, Any]
    """`PlanGiven` or `AnswerGiven` without its id; `{name}` stands for the group of that name."""


@dataclass(frozen=True, slots=True)
class Script:
    plans: Sequence[Recorded]
    answers: Sequence[Recorded]


def read_script(path: Path) -> Script:
    """Read recorded plans and answers. Raises: RequestError: The file is not of this form; names what is wrong."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        plans, answers = (
            tuple(Recorded(re.compile(one["asks"], re.IGNORECASE), one["given"]) for one in data[key])
            for key in ("plans", "answers")
        )
    except OSError as error:
        raise RequestError(f"cannot read the recorded answers in {str(path)!r}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, re.error) as error:
        raise RequestError(
            f"{str(path)!r} holds no recorded answers ({type(error).__name__}: {error}); expected an object with "
            "`plans` and `answers`, each a list of objects with `asks`, a regular expression, and `given`"
        ) from None
    return Script(plans, answers)


@dataclass
class RecordedCloud:
    """The endpoint; `url` and `token` are what an edge joins with, `asked` is what it was sent."""

    script: Script
    token: str = field(default_factory=lambda: f"hearth_{secrets.token_urlsafe(24)}")
    asked: list[dict[str, Any]] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    def hello(self) -> edge_protocol.Hello:
        raw = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return edge_protocol.Hello(
            server=NAME,
            oldest=edge_protocol.OLDEST,
            newest=edge_protocol.VERSION,
            public_key=base64.b64encode(raw).decode(),
            features=("plans", "answers"),
        )

    def answer(self, path: str, body: bytes) -> tuple[int, edge_protocol.Message]:
        """Answer a request that carried the token: the status and the message."""
        if path == "/v1/tasks":
            return 200, edge_protocol.TasksGiven(tasks=(), k=1)
        if path == "/v1/plans":
            return self._plan(edge_protocol.read(edge_protocol.PlanAsked, body))
        if path == "/v1/answers":
            question = edge_protocol.read(edge_protocol.AnswerAsked, body)
            self.asked.append(question.model_dump(mode="json"))
            given = _matched(self.script.answers, question.question)
            return 200, edge_protocol.AnswerGiven.model_validate(
                {"id": question.id, "text": "", "teacher": NAME, **(given or {})}
            )
        return 404, edge_protocol.Problem(code="missing", detail=f"there is nothing at {path!r} here")

    def _plan(self, asked: edge_protocol.PlanAsked) -> tuple[int, edge_protocol.Message]:
        if asked.tools:
            self._known.add(edge_protocol.tools_hash(asked.tools))
        elif asked.tools_sha256 not in self._known:
            return 409, edge_protocol.Problem(code="tools", detail="these tools are not known here; send them once")
        self.asked.append(asked.model_dump(mode="json", exclude={"tools"}))
        refusal = {"kind": "out_of_scope", "reason": "no plan is recorded for this"}
        given = _matched(self.script.plans, asked.request) or {"refusal": refusal}
        return 200, edge_protocol.PlanGiven.model_validate({"id": asked.id, "teacher": NAME, **given})


def _matched(recorded: Sequence[Recorded], text: str) -> dict[str, Any] | None:
    for one in recorded:
        if (match := one.asks.fullmatch(text.strip())) is not None:
            filled: dict[str, Any] = _filled(one.given, match.groupdict(default=""))
            return filled
    return None


def _filled(value: Any, groups: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _PLACE.sub(lambda place: groups.get(place[1], place[0]), value)
    if isinstance(value, Mapping):
        return {key: _filled(one, groups) for key, one in value.items()}
    return [_filled(one, groups) for one in value] if isinstance(value, list) else value


@contextmanager
def served(cloud: RecordedCloud) -> Iterator[str]:
    """Serve on a free port of this machine alone; yields the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            n_bytes = int(length) if length.isdecimal() else -1
            if not 0 <= n_bytes <= MAX_BODY_BYTES:
                self.close_connection = True
                self._say(413, edge_protocol.Problem(code="size", detail=f"at most {MAX_BODY_BYTES} bytes"))
                return
            self._answer(self.rfile.read(n_bytes))

        def _answer(self, body: bytes) -> None:
            if self.path == "/v1/hello":
                self._say(200, cloud.hello())
                return
            said = self.headers.get("Authorization", "").encode()
            if not secrets.compare_digest(said, f"Bearer {cloud.token}".encode()):
                self._say(401, edge_protocol.Problem(code="token", detail="this token is not known here"))
                return
            try:
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                self._say(*cloud.answer(self.path, body))
            except Exception as error:  # whatever was sent, the next request is answered
                self._say(422, edge_protocol.Problem(code="shape", detail=str(error)[:300]))

        def _say(self, status: int, message: edge_protocol.Message) -> None:
            tell(self, status, message.model_dump_json().encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the edge's ledger is the record."""

    with served_here(Handler) as address:
        yield address


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m hearth.testing.recorded_cloud FILE.json", file=sys.stderr)
        return 2
    try:
        cloud = RecordedCloud(read_script(Path(arguments[0])))
    except RequestError as error:
        print(error, file=sys.stderr)
        return 2
    with served(cloud) as url:
        print(json.dumps({"url": url, "token": cloud.token}), flush=True)
        while sys.stdin.read(4096):
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
