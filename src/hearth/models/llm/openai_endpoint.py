"""A language model at an endpoint that speaks OpenAI's protocol, and the choice of one by `hearth.toml`."""

from __future__ import annotations

import datetime as dt
import email.utils
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from pydantic import BaseModel, Field, ValidationError

from hearth import config
from hearth.config import LanguageModelSettings
from hearth.errors import ConfigError, HearthError, PlannerError
from hearth.protocols import Egress, LanguageModel

# ── OpenAI endpoint ───────────────────────────────────────────────────────────────────────────────────────
# Use a language model behind any OpenAI-compatible `/chat/completions`, local or remote, through a given transport.
#
# Covered: one deadline for a whole answer with its retries, a bound on its size, back-off that honours Retry-After,
# servers that do not know JSON schemas; the API key appears in no message. Not covered: which hosts may be reached
# (the transport decides), what the text means, a server that sends its header byte by byte.

MAX_REPLY_BYTES = 4_000_000
BACK_OFF_S = 0.5
"""Wait before the second attempt; doubled before each further one."""

_FORMATS = ("json_schema", "json_object", "plain")
"""Ways to ask for JSON, from the one that constrains most to the one every server knows."""
_DRAWN_AT = 0.7
"""Temperature at which several answers are drawn."""


class _Part(BaseModel):
    text: str = ""


class _Message(BaseModel):
    content: str | list[_Part] | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    total_tokens: int = Field(default=0, ge=0)


class _Completion(BaseModel):
    choices: list[_Choice]
    usage: _Usage | None = None


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    retry_after: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model on a server, as the settings name it."""

    base_url: str
    """Up to and with `/v1`, e.g. `http://127.0.0.1:11434/v1`."""
    model: str
    api_key: str = field(default="", repr=False)
    """Empty when the server wants none."""
    table: str = "[models.language]"
    """Where in which settings it is named, for messages."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an answer is waited for."""

    timeout_s: float = 60.0
    """For one answer in all: attempts, waits between them, reading."""
    n_retries: int = 2
    """Further attempts after status 429, 5xx or a broken connection."""
    sleep: Callable[[float], object] = time.sleep
    """Waits the seconds it is given; replaced in tests."""
    clock: Callable[[], float] = time.monotonic
    """Seconds from any origin; replaced in tests."""


class RemoteModel:
    """Satisfies `protocols.LanguageModel`. Close it to give connections back."""

    def __init__(
        self,
        endpoint: Endpoint,
        transport: httpx.BaseTransport,
        patience: Patience = Patience(),
        egress: Egress | None = None,
    ) -> None:
        """Prepare the model; nothing is sent yet.

        Args:
            transport: The way out, e.g. `Egress.transport`.
            egress: Is told what each answer cost, towards the host's budget.
        Raises:
            ConfigError: The address or the key cannot be used.
        """
        self.name = endpoint.model
        self.n_tokens = 0
        """Tokens of the last question and its answer, as the server counted them; 0 when it does not say."""
        self._table = endpoint.table
        self._url = url_of(endpoint.base_url, endpoint.table)
        self._where = str(self._url.copy_with(query=None)).removesuffix("/chat/completions")
        self._key = _checked_key(endpoint.api_key, endpoint.table)
        self._patience = patience
        self._egress = egress
        self._client = httpx.Client(transport=transport, trust_env=False, follow_redirects=False)
        self._format = 0
        self._has_temperature = True

    def __repr__(self) -> str:
        return f"RemoteModel({self._where!r}, {self.name!r})"

    def close(self) -> None:
        self._client.close()

    def complete(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None) -> str:
        """Answer `messages`, constrained to `schema` as far as the server can; the text is not checked against it.

        A feature that a server refuses with status 400 or 422 (a JSON schema, a JSON mode, a temperature) is left out
        from then on.

        Raises:
            PlannerError: Unreachable, refused, over its limits, not answered in time, or no chat completion.
        """
        return self._answers(messages, schema, 1)[0]

    def sample(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None = None, n: int = 1
    ) -> tuple[str, ...]:
        """Draw up to `n` answers for one question; a server that does not know `n` gives one.

        An answer that was cut off or is empty is skipped while another is whole.

        Raises:
            PlannerError: As `complete`.
        """
        return self._answers(messages, schema, n)

    def _answers(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, object] | None, n: int
    ) -> tuple[str, ...]:
        deadline = self._patience.clock() + self._patience.timeout_s
        form, has_temperature = self._format, self._has_temperature
        while True:
            reply = self._attempts(self._body(messages, schema, form, has_temperature, n), deadline)
            if reply.status in (400, 422):
                if n > 1 and re.search(r"\bn\b", self._detail(reply)):
                    n = 1
                    continue
                if has_temperature and "temperature" in self._detail(reply).lower():
                    has_temperature = False
                    continue
                if schema is not None and form + 1 < len(_FORMATS):
                    form += 1
                    continue
            if reply.status != 200:
                raise self._refused(reply)
            self._format, self._has_temperature = form, has_temperature
            return self._texts(reply.body)

    def _body(
        self,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, object] | None,
        form: int,
        has_temperature: bool,
        n: int,
    ) -> bytes:
        sent = [dict(message) for message in messages]
        body: dict[str, object] = {"model": self.name, "messages": sent, "stream": False}
        if has_temperature:
            body["temperature"] = _DRAWN_AT if n > 1 else 0
        if n > 1:
            body["n"] = n
        if schema is not None and _FORMATS[form] == "json_schema":
            json_schema = {"name": "answer", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": json_schema}
        elif schema is not None:
            if _FORMATS[form] == "json_object":
                body["response_format"] = {"type": "json_object"}
            order = f"Answer with one JSON object that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
            if sent and sent[0].get("role") == "system":
                sent[0]["content"] = f"{sent[0]['content']}\n\n{order}"
            else:
                sent.insert(0, {"role": "system", "content": order})
        return json.dumps(body).encode()

    # ── Sending ───────────────────────────────────────────────────────────────────────────────────────────

    def _attempts(self, body: bytes, deadline: float) -> _Reply:
        """Return the first reply that is no transient failure. Raises: PlannerError."""
        for attempt in range(self._patience.n_retries + 1):
            reply, problem = None, ""
            try:
                reply = self._send(body, deadline)
                if reply.status != 429 and reply.status < 500:
                    return reply
            except httpx.ConnectTimeout:
                problem = "no connection in time"
            except httpx.TimeoutException:
                raise self._too_late() from None
            except httpx.RequestError as error:
                problem = _one_line(str(error)) or type(error).__name__
            except HearthError as error:
                raise PlannerError(f"the language model at {self._where!r} was not asked: {error}") from error
            wait_s = BACK_OFF_S * 2**attempt
            if reply is not None:
                wait_s = max(wait_s, _retry_after_s(reply.retry_after))
            if attempt == self._patience.n_retries or self._patience.clock() + wait_s >= deadline:
                if reply is not None:
                    raise self._refused(reply)
                raise PlannerError(
                    f"cannot reach the language model at {self._where!r} ({problem}) after {attempt + 1} attempts; "
                    f"check that it runs and that base_url in {self._table} is right"
                )
            self._patience.sleep(wait_s)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _send(self, body: bytes, deadline: float) -> _Reply:
        left_s = deadline - self._patience.clock()
        if left_s <= 0:
            raise self._too_late()
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        timeout = httpx.Timeout(left_s, connect=min(left_s, 10.0))
        with self._client.stream("POST", self._url, content=body, headers=headers, timeout=timeout) as response:
            received = bytearray()
            for chunk in response.iter_bytes():
                received += chunk
                if len(received) > MAX_REPLY_BYTES:
                    raise PlannerError(
                        f"the language model at {self._where!r} sent more than {MAX_REPLY_BYTES:,} bytes; "
                        "a plan is far smaller, so the rest was not read; check what runs there"
                    )
                if self._patience.clock() > deadline:
                    raise self._too_late()
            return _Reply(response.status_code, response.headers.get("Retry-After", ""), bytes(received))

    # ── What came back ────────────────────────────────────────────────────────────────────────────────────

    def _texts(self, body: bytes) -> tuple[str, ...]:
        """Return every whole answer. Raises: PlannerError: There is none; says what is wrong with the first."""
        try:
            completion = _Completion.model_validate_json(body)
        except ValidationError:
            raise PlannerError(
                f"the language model at {self._where!r} answered with no chat completion: {self._excerpt(body)!r}; "
                f"check that base_url in {self._table} ends where /chat/completions follows"
            ) from None
        self.n_tokens = completion.usage.total_tokens if completion.usage else 0
        if self._egress is not None and self.n_tokens > 0:
            self._egress.spent(self._url.host, self.n_tokens, "answer of a language model")
        if not completion.choices:
            raise PlannerError(f"the language model at {self._where!r} gave no choices; try again or use another model")
        found: list[str] = []
        fault: PlannerError | None = None
        for choice in completion.choices:
            try:
                found.append(self._text(choice))
            except PlannerError as error:
                fault = fault or error
        if not found and fault is not None:
            raise fault
        return tuple(found)

    def _text(self, choice: _Choice) -> str:
        content = choice.message.content
        text = "".join(part.text for part in content) if isinstance(content, list) else content or ""
        if choice.finish_reason == "length":
            raise PlannerError(
                f"the answer of {self.name!r} was cut off after {len(text)} characters; "
                "raise the server's output limit or ask for less at once"
            )
        if not text.strip():
            reason = self._scrubbed(choice.message.refusal or choice.finish_reason or "no reason given")
            raise PlannerError(
                f"{self.name!r} gave an empty answer ({reason}); say it differently or use another model"
            )
        return text

    def _refused(self, reply: _Reply) -> PlannerError:
        status, detail = reply.status, self._detail(reply)
        where, said = f"the language model at {self._where!r}", f"status {status}{': ' + detail if detail else ''}"
        if status in (401, 403):
            return PlannerError(f"{where} refused the key ({said}); check api_key_env or api_key_file in {self._table}")
        if status == 404:
            return PlannerError(
                f"{where} knows no model {self.name!r} or no such address ({said}); "
                f"check model and base_url in {self._table}"
            )
        if status == 429:
            wait_s = _retry_after_s(reply.retry_after)
            when = f"in {wait_s:.0f} s" if wait_s else "later"
            return PlannerError(f"{where} is over its limit ({said}); try again {when}")
        if status >= 500:
            return PlannerError(f"{where} failed ({said}) on every attempt; look at its log or try again later")
        if status < 400:
            return PlannerError(
                f"{where} answered with {said} instead of a completion; redirects are not followed, "
                f"so give the final address as base_url in {self._table}"
            )
        return PlannerError(f"{where} did not accept the request ({said}); check model in {self._table}")

    def _too_late(self) -> PlannerError:
        return PlannerError(
            f"the language model at {self._where!r} did not answer within {self._patience.timeout_s:g} s; "
            f"raise timeout_s in {self._table} or use a smaller model"
        )

    def _detail(self, reply: _Reply) -> str:
        """Return the server's message about an error, in one short line."""
        try:
            error = json.loads(reply.body)["error"]
            text = str(error["message"] if isinstance(error, dict) else error)
        except (ValueError, KeyError, TypeError, RecursionError):
            return self._excerpt(reply.body)
        return self._scrubbed(text)

    def _excerpt(self, body: bytes) -> str:
        return self._scrubbed(body[:2000].decode("utf-8", "replace"))

    def _scrubbed(self, text: str) -> str:
        if self._key:
            text = text.replace(self._key, "***")
        return _one_line(text)


def _one_line(text: str) -> str:
    """Return at most 200 printable characters: nothing a server says may steer a terminal."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= 200 else f"{line[:199]}…"


def url_of(base_url: str, table: str) -> httpx.URL:
    """Return the address of `/chat/completions`. Raises: ConfigError (never showing a password)."""
    try:
        url = httpx.URL(base_url.strip())
        if url.port is not None and not 0 < url.port < 65_536:
            raise httpx.InvalidURL(f"there is no port {url.port}")
    except httpx.InvalidURL as error:
        raise ConfigError(f"base_url in {table} is not an address ({error}); write {_EXAMPLE_URL}") from None
    if url.userinfo:
        raise ConfigError(
            f"base_url in {table} holds a user name or password; take it out and name the key in api_key_env"
        )
    if url.scheme not in ("http", "https") or not url.host:
        raise ConfigError(
            f"base_url in {table} has the scheme {url.scheme!r} and the host {url.host!r}; "
            f"expected an address such as {_EXAMPLE_URL}"
        )
    return url.copy_with(path=f"{url.path.rstrip('/')}/chat/completions", fragment=None)


_EXAMPLE_URL = "'http://127.0.0.1:11434/v1'"


def _checked_key(api_key: str, table: str) -> str:
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the API key of {table} ({len(key)} characters) holds a line break or a character that no key "
            "has; copy it again into the variable or file that api_key_env or api_key_file names"
        )
    return key


def _retry_after_s(header: str) -> float:
    """Return the seconds asked for by a Retry-After header (a number or a date); 0 for none or nonsense."""
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        at = email.utils.parsedate_to_datetime(header)
    except (ValueError, TypeError, OverflowError):
        return 0.0
    if at.tzinfo is None:
        at = at.replace(tzinfo=dt.UTC)
    return max(0.0, (at - dt.datetime.now(dt.UTC)).total_seconds())


# ── From settings ─────────────────────────────────────────────────────────────────────────────────────────
# Open the language model that `hearth.toml` names: at an endpoint, or on this machine. Nothing is asked of it yet.

ADAPTERS = "learned/adapters"
"""Folder in which a home keeps the adapters made by `hearth adapters`."""


def open_language_model(
    chosen: LanguageModelSettings,
    home: Path,
    egress: Egress,
    environ: Mapping[str, str],
    *,
    where: str = "[models.language]",
    reason: str = "language model",
) -> LanguageModel:
    """Open the model that `chosen` names.

    Args:
        where: The table of `hearth.toml` that names it, for messages.
        reason: Reason noted in the egress ledger, for a model at an endpoint.
    Raises:
        ConfigError: No such model, or an address, key or file that cannot be used. MissingExtraError.
    """
    if chosen.kind == "huggingface":
        return _local(chosen, home)
    if chosen.kind == "llamacpp":
        from hearth.models.llm.local_models import LlamaCppModel  # as for transformers

        return LlamaCppModel.open(home / Path(chosen.path).expanduser(), timeout_s=chosen.timeout_s)

    key = ""
    if chosen.api_key_env:
        key = config.secret("api_key_env", chosen.api_key_env, where, environ)
    elif chosen.api_key_file:
        key = config.secret("api_key_file", chosen.api_key_file, where, environ)
    transport = egress.transport(reason)
    endpoint = Endpoint(chosen.base_url, chosen.model, key, where)
    return RemoteModel(endpoint, transport, Patience(chosen.timeout_s), egress)


def _local(chosen: LanguageModelSettings, home: Path) -> LanguageModel:
    from hearth.models.llm.local_models import HuggingFaceModel, current_adapter  # only those who name one wait for it

    folder = home / Path(chosen.path).expanduser()
    adapter = None
    if chosen.adapter == "current":
        adapter = current_adapter(home / ADAPTERS)
    elif chosen.adapter:
        adapter = home / Path(chosen.adapter).expanduser()
    return HuggingFaceModel.open(
        folder if folder.is_dir() else chosen.path, adapter=adapter, timeout_s=chosen.timeout_s
    )
