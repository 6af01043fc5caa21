"""What can be set in `hearth.toml`, where things are without it, and how its secrets are resolved."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, cast, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from hearth.errors import ConfigError
from hearth.types import Plain

# ── Folders ───────────────────────────────────────────────────────────────────────────────────────────────
# The places that settings do not name: the home folder, the cache, the machine's time zone.

KEY_FILE = "key.json"
"""Holds the key of an encrypted home, sealed (`storage.home_key`)."""


def has_key(home: Path) -> bool:
    """Return whether a home has a key: it is encrypted, or on its way there or back."""
    return (home / KEY_FILE).exists()


def home_folder(option: str | None, environ: Mapping[str, str]) -> Path:
    """Return the home folder: `--home`, else `$HEARTH_HOME`, else the platform's data directory."""
    chosen = (
        option
        or environ.get("HEARTH_HOME")
        or _platform_folder("XDG_DATA_HOME", ".local/share", "Library/Application Support", environ)
    )
    return Path(chosen).expanduser().absolute()


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of rebuildable files: `$HEARTH_CACHE`, else the platform's cache directory."""
    return Path(
        environ.get("HEARTH_CACHE") or _platform_folder("XDG_CACHE_HOME", ".cache", "Library/Caches", environ)
    ).expanduser()


def _platform_folder(variable: str, on_linux: str, on_macos: str, environ: Mapping[str, str]) -> Path:
    """Return Hearth's folder of one kind, by the XDG base directory specification, or as macOS places it."""
    if sys.platform == "darwin":
        return Path.home() / on_macos / "hearth"
    chosen = environ.get(variable, "")
    return (Path(chosen) if os.path.isabs(chosen) else Path.home() / on_linux) / "hearth"


def machine_zone(environ: Mapping[str, str]) -> ZoneInfo:
    """Return the machine's zone by its IANA name: `$TZ`, what /etc/localtime links to, /etc/timezone; else UTC."""
    with contextlib.suppress(OSError):
        names = [environ.get("TZ", "").removeprefix(":"), os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]]
        with contextlib.suppress(FileNotFoundError):
            names.append(Path("/etc/timezone").read_text(encoding="utf-8", errors="replace").strip())
        for name in names:
            if name:
                with contextlib.suppress(ZoneInfoNotFoundError, ValueError):
                    return ZoneInfo(name)
    return ZoneInfo("UTC")


# ── Secret settings ───────────────────────────────────────────────────────────────────────────────────────
# Resolves secrets of settings: `x_env` names a variable, `x_file` a file that only the owner can read.


def resolved(table: Mapping[str, object], where: str, environ: Mapping[str, str]) -> dict[str, object]:
    """Replace `x_env` and `x_file` by `x`."""
    result: dict[str, object] = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            result[key] = resolved(value, f"{where}.{key}", environ)
        elif key.endswith(("_env", "_file")):
            if value:
                result[key.rpartition("_")[0]] = secret(key, str(value), where, environ)
        else:
            result[key] = value
    return result


def secret(key: str, value: str, where: str, environ: Mapping[str, str]) -> str:
    """Return the secret that `key` (`…_env` or `…_file`) points to. Raises: ConfigError."""
    if key.endswith("_env"):
        if value not in environ:
            raise ConfigError(f"{where} {key} names the environment variable {value!r}, which is not set; export it")
        return environ[value]
    try:
        return Path(value).expanduser().read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where} {key}: cannot read {value!r} ({error}); write the secret into that file") from None


# ── Setting tables ────────────────────────────────────────────────────────────────────────────────────────
# The tables of `hearth.toml`, each key with its type, its bounds and what it means.


def _zone(name: str) -> str:
    if name:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError(f"{name!r} is not a time zone; write one such as 'Europe/Berlin'") from None
    return name


def _country(name: str) -> str:
    if name and not (len(name) == 2 and name.isalpha() and name.isupper()):
        raise ValueError(f"{name!r} is not a country code; write two capitals such as 'DE'")
    return name


def host_and_port(text: str) -> tuple[str, int]:
    """Read `host` or `host:port`; port 0 stands for any. Raises: ValueError: not an exact host name."""
    host, colon, port = text.strip().rpartition(":")
    if not colon or _is_address(text.strip()):
        host, port = text.strip(), "0"
    host = host.strip("[]").rstrip(".").lower()
    if not host.isascii():
        raise ValueError(_ascii_advice(text, host))
    if not re.fullmatch(r"[a-z0-9_.:-]+", host) or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(
            f"{text!r} is not a host; write an exact name such as 'mail.example.org' or 'mail.example.org:993', "
            "without wildcards or https://"
        )
    if not _is_address(host) and (":" in host or re.fullmatch(r"0x[0-9a-f]*|\d+", host.rpartition(".")[2])):
        raise ValueError(f"{text!r} is an address in a form that programs read differently; write it as '192.168.1.5'")
    return host, int(port)


def _ascii_advice(text: str, host: str) -> str:
    import idna  # comes with httpx; needed for this message alone

    try:
        plain = idna.encode(host, uts46=True).decode()
    except idna.IDNAError:
        return f"{text!r} holds letters that no host name has; type the name anew"
    return f"{text!r} holds letters that can pass for others; if it is the host you mean, write it as {plain!r}"


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _allowed(entries: tuple[str, ...]) -> tuple[str, ...]:
    for entry in entries:
        host_and_port(entry)
    return entries


def _hours(range: tuple[str, str] | None) -> tuple[str, str] | None:
    for text in range or ():
        try:
            dt.time.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a time of day; write one such as '08:00'") from None
    return range


_CLOCK = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"


def _quiet_hours(text: str) -> str:
    if text and not re.fullmatch(f"{_CLOCK}-(?:{_CLOCK}|24:00)", text):
        raise ValueError(f"{text!r} are no hours of the day; write them like '22:00-07:00', midnight as 00:00 or 24:00")
    return text


def _web_address(text: str) -> str:
    if text and not re.fullmatch(r"https?://[^\s/?#@]+(?:[/?#]\S*)?", text):
        raise ValueError(f"{text!r} is no address; write it like 'http://127.0.0.1:8000/notify/hearth'")
    return text


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Owner(_Table):
    """The person the agent serves."""

    name: str = ""
    """Name that signs drafts."""
    email: str = ""
    """Sender address of drafts."""
    time_zone: Annotated[str, AfterValidator(_zone)] = ""
    """IANA name of the time zone; empty: the machine's."""
    country: Annotated[str, AfterValidator(_country)] = ""
    """ISO 3166 code, for phone numbers and date order."""


class Rule(_Table):
    """The owner's rule for one tool, by its exact name."""

    ruling: Literal["allow", "ask", "deny"]
    """`allow` runs it, `ask` asks once per plan, `deny` never runs it."""
    reason: str = ""
    """Reason shown with every ruling that rests on this rule."""


class When(_Table):
    """Conditions on one argument for a rule to apply; anything left out is unrestricted."""

    one_of: tuple[str | bool | int | float, ...] | None = None
    """The value is exactly one of these."""
    min: int | float | str | dt.datetime | dt.date | dt.time | None = None
    """The value is at least this: a number, a date, a time, or a duration as text (`PT1H`)."""
    max: int | float | str | dt.datetime | dt.date | dt.time | None = None
    """The value is at most this."""
    matches: str | None = None
    """A regular expression that the whole text matches; expressions that could take forever are refused."""
    max_chars: int | None = Field(default=None, ge=0)
    """The text has at most so many characters."""
    max_items: int | None = Field(default=None, ge=0)
    """The list has at most so many items."""
    only_from: tuple[str, ...] | None = None
    """The value comes only from these sources (`owner`, `device`, `contacts`, `message`, `web`, `file`, …)."""
    not_from: tuple[str, ...] = ()
    """No part of the value comes from these sources."""
    contact: bool | None = Field(default=None, strict=True)
    """True: the value is an address or number of a confirmed card in your contacts; false: it is not."""
    group: str = ""
    """The value is an address or number of a confirmed card in this group (the card's categories)."""
    given: bool | None = Field(default=None, strict=True)
    """True: the argument is given; false: it is left out."""


class Rate(_Table):
    """A number of calls within a time."""

    calls: int = Field(ge=1, le=1_000_000)
    """Number of calls."""
    per: Literal["minute", "hour", "day", "week"]
    """Length of that time."""


class OrderedRule(_Table):
    """One of the rules that are tried in order, before the tables of single tools; the first that fits decides."""

    name: str = ""
    """Name shown where the rule decides; empty: its number."""
    tools: tuple[str, ...]
    """Exact names of the tools that the rule applies to."""
    ruling: Literal["allow", "ask", "deny"]
    """`allow` runs it, `ask` asks once per plan, `deny` never runs it."""
    reason: str = ""
    """Reason shown with every ruling that rests on this rule."""
    when: Mapping[str, When] = Field(default_factory=dict)
    """Conditions by argument; all must hold."""
    between: Annotated[tuple[str, str] | None, AfterValidator(_hours)] = None
    """Hours of the day in your time zone, e.g. `["08:00", "20:00"]`; over midnight when the first is later."""
    weekdays: tuple[Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"], ...] | None = None
    """Days of the week."""
    at_most: Rate | None = None
    """The rule applies only up to this many calls of a tool; after that the next rule is tried."""
    more_than: Rate | None = None
    """The rule applies only beyond this many calls of a tool."""


class Server(_Table):
    """A mail server that the owner uses."""

    host: str
    """Name of the server; it must also be listed in `[network] allow`."""
    port: int = Field(ge=1, le=65535)
    """Port; usually 993 for IMAP, 465 or 587 for SMTP."""
    security: Literal["tls", "starttls", "none"] = "tls"
    """Encryption; `none` is accepted for this machine (loopback) only."""
    username: str = ""
    """User name; empty: no log-in."""
    password_env: str = ""
    """Environment variable that holds the password."""
    password_file: str = ""
    """File that holds the password."""


class Mail(_Table):
    """Mail servers; without them, mail is only the Maildir in the home folder."""

    imap: Server | None = None
    smtp: Server | None = None
    sync_s: float = Field(default=300, ge=0)
    """Time for which fetched data counts as fresh, in seconds."""


class Collection(_Table):
    """A CalDAV calendar or CardDAV address book."""

    url: str = ""
    """Address of the collection; empty: only the files in the home folder."""
    username: str = ""
    """User name; empty: no log-in."""
    password_env: str = ""
    """Environment variable that holds the password."""
    password_file: str = ""
    """File that holds the password."""
    sync_s: float = Field(default=300, ge=0)
    """Time for which fetched data counts as fresh, in seconds."""


_SubscriptionName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,29}$")]


class Subscription(_Table):
    """A calendar that others publish at an address (iCalendar); it is only read."""

    url: str = ""
    """Address of the feed, `https://…` or `webcal://…`; its host must be listed in `[network] allow`."""
    url_env: str = ""
    """Environment variable that holds the address, where the address itself is a secret."""
    url_file: str = ""
    """File that holds the address, where the address itself is a secret."""
    busy: bool = Field(default=False, strict=True)
    """Its events count as time that is taken."""
    sync_s: float = Field(default=3600, ge=300)
    """Time for which a fetched state counts as fresh, in seconds."""

    @model_validator(mode="after")
    def _is_one_address(self) -> Subscription:
        if sum(map(bool, (self.url, self.url_env, self.url_file))) != 1:
            raise ValueError("needs one of url, url_env and url_file")
        if self.url and not re.fullmatch(r"(?i)(https?|webcals?)://[^\s/?#@]+(?:[/?#]\S*)?", self.url):
            raise ValueError("its url is no address; write it like 'https://example.org/holidays.ics'")
        return self


class Calendar(Collection):
    """A CalDAV calendar, and calendars that others publish."""

    subscription: Mapping[_SubscriptionName, Subscription] = Field(default_factory=dict, max_length=50)
    """Published calendars by a name of yours: `[calendar.subscription.holidays]`."""


MaskKind = Literal[
    "person", "organisation", "place", "address", "email", "phone", "url", "file", "ip", "mac", "iban", "card",
    "account", "national_id", "document", "plate", "birth_date", "coordinates", "secret", "health", "religion",
    "politics", "sexuality", "union", "ethnicity", "finance", "children", "law", "date", "age", "group", "title",
]  # fmt: skip
"""Kinds of data that masking tells apart. `account` is any number of a customer, contract or device, `document` a
passport or licence, `secret` a password, key or code, `group` a nation, religion or party of people, `title` a job.
`health` to `ethnicity` are what the law calls special: illness and medicine, faith, conviction, love, union, origin;
`finance` is income, debt and the sums beside them, `children` what is told of a child, `law` crimes suffered or done,
courts' measures and asylum."""
MASK_KINDS: tuple[MaskKind, ...] = get_args(MaskKind)
MASKED_KINDS: tuple[MaskKind, ...] = tuple(kind for kind in MASK_KINDS if kind not in ("date", "age", "group", "title"))
"""Kinds masked by default: dates, ages, groups and jobs are kept, because plans need them."""


class Mask(_Table):
    """Data replaced by pseudonyms before a request goes to a language model on another machine."""

    kinds: tuple[MaskKind, ...] = MASKED_KINDS
    """Kinds of data to replace; a model's own `mask` takes precedence."""
    words: tuple[str, ...] = ()
    """Further names and words that must never leave: projects, pets, nicknames."""
    keep: tuple[str, ...] = ()
    """Names from the contacts and the calendar that may leave unmasked."""


class LanguageModelSettings(_Table):
    """A language model: any OpenAI-compatible endpoint, or one on this machine."""

    kind: Literal["openai", "huggingface", "llamacpp"] = "openai"
    """`openai`: the endpoint at `base_url`; `huggingface`: a transformers model (extra `hf`); `llamacpp`: a GGUF file
    (extra `gguf`)."""
    base_url: str = ""
    """`openai` only: address of the endpoint, up to `/v1`, e.g. `http://127.0.0.1:11434/v1`."""
    model: str = ""
    """`openai` only: the model's name at that endpoint."""
    path: str = ""
    """`huggingface`: a folder or a name in the local Hugging Face cache; `llamacpp`: a GGUF file. Relative to the home
    folder."""
    adapter: str = ""
    """`huggingface` only: folder of a LoRA adapter that was trained to plan, or `current` for the one `hearth adapters`
    manages."""
    api_key_env: str = ""
    """Environment variable that holds the key."""
    api_key_file: str = ""
    """File that holds the key."""
    timeout_s: float = Field(default=60, gt=0)
    """Time limit for one answer, in seconds."""
    answers: bool = Field(default=True, strict=True)
    """Let the model word the answers, from the evidence alone; a model trained to plan words none."""
    mask: tuple[MaskKind, ...] | None = None
    """Kinds of data replaced in what this model is sent, instead of `[mask] kinds`; `[]` sends everything unmasked. A
    model on this machine is sent everything unmasked unless kinds are named here."""
    samples: int = Field(default=1, ge=1, le=9)
    """`[models.language]` only: number of plans requested for one question. From 3 on, the plan is taken that the
    answers agree on, and where they differ on what is to be changed or sent, you are asked. For a teacher see
    `answers_per_question`."""

    @model_validator(mode="after")
    def _is_whole(self) -> LanguageModelSettings:
        needed = ("base_url", "model") if self.kind == "openai" else ("path",)
        missing = [key for key in needed if not getattr(self, key)]
        if missing:
            raise ValueError(f"key {missing[0]!r} is missing; a model of kind {self.kind!r} needs it")
        if self.adapter and self.kind != "huggingface":
            raise ValueError(f"an adapter needs kind = 'huggingface', not {self.kind!r}; take one of them out")
        return self


class Models(_Table):
    """Models besides the shipped encoder."""

    language: LanguageModelSettings | None = None
    teacher: LanguageModelSettings | None = None
    """Model that is asked for plans to learn from; without it, the language model is."""


class Budget(_Table):
    """Daily limits for all hosts together; once used up, nothing more leaves until the next day."""

    bytes_per_day: int | None = Field(default=None, ge=0)
    """Bytes sent; unlimited if not set."""
    tokens_per_day: int | None = Field(default=None, ge=0)
    """Tokens, as servers count them; the answer that goes over is still taken."""
    usd_per_day: float | None = Field(default=None, ge=0)
    """Cost, from tokens and `usd_per_million_tokens` of the host."""


class Host(_Table):
    """Settings of one host."""

    ca_file: str = ""
    """PEM file of an additional certificate authority to trust for this host; certificates are checked in any case."""
    private: bool = Field(default=False, strict=True)
    """Allow the name to lead to a private address. Names such as `nas.local`, and addresses, may without it."""
    may_read: tuple[str, ...] = ()
    """Sources (`device`, `contacts`, `message`, `file`, …) whose data may be sent to this host by tools that only
    read."""
    usd_per_million_tokens: float = Field(default=0.0, ge=0)
    """Price of a million tokens."""
    bytes_per_day: int | None = Field(default=None, ge=0)
    """Limit as in [network.budget], for this host."""
    tokens_per_day: int | None = Field(default=None, ge=0)
    """Limit as in [network.budget], for this host."""
    usd_per_day: float | None = Field(default=None, ge=0)
    """Limit as in [network.budget], for this host."""


class Network(_Table):
    """Network access: closed except for the hosts named here."""

    allow: Annotated[tuple[str, ...], AfterValidator(_allowed)] = ()
    """Allowed hosts as `host` or `host:port`, exact names."""
    connect_s: float = Field(default=10.0, gt=0)
    """Time limit for opening a connection, in seconds."""
    total_s: float = Field(default=600.0, gt=0)
    """Time limit for one whole answer, in seconds, however slowly it arrives."""
    answer_bytes: int = Field(default=100_000_000, gt=0)
    """Size limit of one answer, decompressed, in bytes."""
    budget: Budget = Budget()
    host: Mapping[str, Host] = Field(default_factory=dict)
    """Settings of single hosts, by name."""

    @model_validator(mode="after")
    def _names_hosts(self) -> Network:
        for name in self.host:
            if host_and_port(name)[1]:
                raise ValueError(f"[network.host.{name!r}] names a port; write the name alone")
        return self


class Planning(_Table):
    """Planning: required confidence and reading ahead."""

    ask_below: float = Field(default=0.7, ge=0, le=1)
    """A plan less confident than this is also put to the language model, if one is configured."""
    reads_ahead: bool = Field(default=True, strict=True)
    """While the language model is asked, start the reading steps of the device's own plan; reads that the final plan
    shares are not repeated."""


class Learning(_Table):
    """Limits on the cost of learning from a teacher, and the confidence a plan needs to run without asking one."""

    profile: Literal["small", "medium", "large"] = "large"
    """Size of the student that drafts plans for files and is summed for others: `small` fits a board with 512 MB."""
    risk: float = Field(default=0.1, gt=0, lt=1)
    """Largest share of the plans run without asking the teacher that may be wrong."""
    assurance: float = Field(default=0.9, gt=0, lt=1)
    """Confidence that this bound holds."""
    cost_per_question_usd: float = Field(default=0.002, ge=0)
    """Cost to you of one question to the teacher, money and privacy together."""
    cost_per_mistake_usd: float = Field(default=0.05, ge=0)
    """Cost to you of one wrong plan."""
    cost_per_second_usd: float = Field(default=0.0, ge=0)
    """Cost to you of a second of waiting for the teacher."""
    seconds_per_question: float = Field(default=2.0, ge=0)
    """Time that the teacher takes to answer."""
    compared_share: float = Field(default=0.05, ge=0, le=1)
    """Share of the sure plans that are still put to the teacher, chosen at random: only they show how often sure is
    wrong."""
    answers_per_question: int = Field(default=1, ge=1, le=16)
    """Number of answers drawn for one question, if the teacher's server can (`n`): differing plans are learnt by how
    often each came."""
    questions_per_day: int = Field(default=100, ge=0)
    """Requests that may leave this device per day for learning."""
    tokens_per_day: int = Field(default=1_000_000, ge=0)
    """Tokens that the teacher may use per day."""
    usd_per_day: float = Field(default=1.0, ge=0)
    """Cost of the teacher per day, at most."""
    usd_per_million_tokens: float = Field(default=0.0, ge=0)
    """Price of the teacher per million tokens."""
    settled_after_h: float = Field(default=24.0, ge=0)
    """Hours that an action must stand, neither undone nor corrected, before it is learnt from."""


class MemoryKept(_Table):
    """Limits on how long events are kept and how much space they take; applied by `hearth memory tend`."""

    whole_days: int = Field(default=90, ge=7)
    """Days that events are kept whole, then as daily summaries of what they said."""
    daily_days: int = Field(default=365, ge=7)
    """Days that daily summaries are kept, then as monthly ones."""
    keep_days: Mapping[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """Days after which events of certain kinds are dropped without a summary, as in `{observation = 14}`."""
    budget_mb: int = Field(default=500, ge=10)
    """Largest size in megabytes of the database and the files beside it; if exceeded, older events are summarised
    sooner."""
    propose: bool = Field(default=False, strict=True)
    """Let `hearth memory tend` have the model in [models.language] read what was said and propose facts."""


class Video(_Table):
    """Home video: how it is indexed, and how long results are kept; the recordings stay your own files."""

    frames_per_s: float = Field(default=2.0, gt=0, le=30)
    """Pictures per second that are indexed."""
    longest_side_px: int = Field(default=1280, ge=320, le=4096)
    """Longest side of the indexed pictures; larger ones are scaled down first."""
    keep_thumbnails_days: int = Field(default=30, ge=0)
    """Days that small pictures of the people seen are kept; 0 keeps none."""
    keep_faces_days: int = Field(default=90, ge=0)
    """Days that face vectors are kept; within this time, people enrolled later can still be named."""
    keep_sightings_days: int = Field(default=365, ge=1)
    """Days that sightings (who, when, where and doing what) are kept."""
    keep_heard_days: int = Field(default=90, ge=1)
    """Days that speech and sounds heard are kept; after that the recording is not listened to again."""


Shared = Literal["demonstrations", "statistics"]
Taken = Literal["prior", "adapter"]


class Edge(_Table):
    """Exchange with the cloud this device joined (`hearth edge join`)."""

    teaches: bool = Field(default=False, strict=True)
    """Ask the cloud, masked, for plans that no planner here is sure of: while you wait, and in `hearth learn`."""
    share: tuple[Shared, ...] = ()
    """Data that `hearth edge sync` sends without asking you: masked `demonstrations`, `statistics` of the student."""
    take: tuple[Taken, ...] = ()
    """Data that `hearth edge sync` fetches: the merged `prior`, an `adapter`. You apply it with `hearth learn prior`
    and `hearth adapters take`."""
    answers: bool = Field(default=False, strict=True)
    """Ask the cloud questions of general knowledge that no tool serves, masked and without anything about health. Its
    proposals are combined here with the facts known about you."""
    timeout_s: float = Field(default=20.0, gt=0, le=3600)
    """Time limit for one answer of the cloud, in seconds."""
    waiting: int = Field(default=10_000, ge=10, le=10_000_000)
    """Largest number of waiting messages; beyond that the oldest are dropped, first those that can be made again."""
    waiting_mb: float = Field(default=20.0, gt=0, le=100_000)
    """Largest size of the waiting messages, in megabytes."""


class HomeDevice(_Table):
    """A device of the owner's home."""

    name: str = Field(min_length=1, max_length=100)
    """Name you use for it: `ceiling lamp`."""
    room: str = Field(default="", max_length=100)
    """Room it is in."""
    kind: Literal["lamp", "plug", "fan", "tv", "speaker", "heating", "blinds", "door", "lock", "sensor"]
    """Kind of device; `door` is one that opens by itself (a garage, a gate), `lock` the lock of a door, `sensor` only
    measures."""
    mqtt: Annotated[str, Field(pattern=r"^$|^[a-z_]+\.[A-Za-z0-9_-]+$")] = ""
    """The matching device on the broker, as `hearth devices list` shows it: `light.kitchen`."""
    twin: Annotated[str, Field(pattern=r"^$|^[a-z0-9-]{1,63}/[a-z0-9.-]{1,253}$")] = ""
    """The matching KubeEdge device twin: `default/cellar-lamp`."""

    entity: Annotated[str, Field(pattern=r"^$|^[a-z0-9_]+\.[a-z0-9_]+$")] = ""
    """The matching entity of Home Assistant (`[home.assistant]`): `light.kitchen`."""

    @model_validator(mode="after")
    def _is_one_thing(self) -> HomeDevice:
        if sum(map(bool, (self.mqtt, self.twin, self.entity))) > 1:
            raise ValueError(f"{self.name!r} is more than one of mqtt, twin and entity; name the one it is")
        return self


_Prefix = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$", max_length=100)]


class HomeBroker(_Table):
    """The MQTT broker that devices of the home are connected to (`hearth-home[mqtt]`)."""

    host: str = Field(min_length=1)
    """Name of the broker; it must also be listed in `[network] allow`."""
    port: int = Field(default=0, ge=0, le=65535)
    """Port; 0: 8883 with TLS, 1883 without."""
    security: Literal["tls", "none"] = "tls"
    """Encryption; `none` is accepted for this machine (loopback), and within the house where there is no password."""
    username: str = ""
    """User name; empty: no log-in."""
    password_env: str = ""
    """Environment variable that holds the password."""
    password_file: str = ""
    """File that holds the password."""
    discover: bool = Field(default=True, strict=True)
    """Use devices that announce themselves by Home Assistant's discovery; false: only devices that you name."""
    discovery_prefix: _Prefix = "homeassistant"
    """Topic prefix under which devices announce themselves."""
    confirm_s: float = Field(default=5.0, gt=0, le=20)
    """Time that a device has to confirm an order, in seconds."""
    keep_every_s: float = Field(default=900.0, ge=60)
    """Interval, in seconds, in which `hearth devices watch` remembers a reading that hardly changes."""


class HomeAssistantServer(_Table):
    """A Home Assistant whose entities are devices of the home (`hearth-home[assistant]`)."""

    url: str = Field(pattern=r"^https?://[^\s/?#@]+/?$")
    """Address of Home Assistant, `https://home.example` or `http://homeassistant.local:8123`; its host must also be
    listed in `[network] allow`."""
    token_env: str = ""
    """Environment variable that holds a long-lived access token."""
    token_file: str = ""
    """File that holds a long-lived access token."""
    unencrypted: bool = Field(default=False, strict=True)
    """Let the token go through the home's own network without TLS: whoever listens there can read it."""
    entities: tuple[Annotated[str, Field(pattern=r"^[a-z0-9_]+\.[a-z0-9_]+$")], ...] = ()
    """Entities that are used; empty: all lights, switches, fans, climate, covers, locks, media players and sensors that
    are not hidden there."""
    confirm_s: float = Field(default=5.0, gt=0, le=20)
    """Time that a device has to confirm an order, in seconds; with a broker, its own counts."""
    keep_every_s: float = Field(default=900.0, ge=60)
    """Interval, in seconds, in which `hearth devices watch` remembers a reading that hardly changes."""


class Home(_Table):
    """Devices of the owner's home; for those that are not connected, Hearth keeps the states itself."""

    device: tuple[HomeDevice, ...] = ()
    """Devices, one `[[home.device]]` each."""
    mqtt: HomeBroker | None = None
    assistant: HomeAssistantServer | None = None
    scene: Mapping[str, Mapping[str, str | float]] = Field(default_factory=dict)
    """Scenes as `[home.scene.NAME]`: a device, as you would say it, and `on`, `off`, `open`, `closed`, `locked` or a
    number."""

    @model_validator(mode="after")
    def _tells_apart(self) -> Home:
        seen: set[tuple[str, str]] = set()
        for one in self.device:
            key = (one.room.lower(), one.name.lower())
            if key in seen:
                raise ValueError(
                    f"names {one.name!r} in {one.room or 'no room'!r} twice; give each device its own name"
                )
            seen.add(key)
            if (one.mqtt or one.twin) and self.mqtt is None:
                raise ValueError(
                    f"{one.name!r} is connected by MQTT, but there is no [home.mqtt]; write its host there"
                )
            if one.entity and self.assistant is None:
                raise ValueError(f"{one.name!r} is an entity, but there is no [home.assistant]; write its url there")
        return self


class Serve(_Table):
    """What `hearth up` offers: a page for browsers, reminders that ring."""

    host: str = "127.0.0.1"
    """Address it listens on; anything but a loopback address can be reached by others in the network."""
    port: int = Field(default=8470, ge=0, le=65535)
    """0 takes a free one."""
    names: tuple[str, ...] = ()
    """Further names by which browsers may ask for the page, `hearth.home` say; an unknown name is turned away."""
    desktop: bool = Field(default=True, strict=True)
    """Reminders are also shown by the desktop (`notify-send`), where there is one."""
    quiet_hours: Annotated[str, AfterValidator(_quiet_hours)] = ""
    """Like `22:00-07:00`: in these hours nothing rings that is late. What was set for a time in them rings."""
    tell_mail: Literal["nobody", "known", "everybody"] = "known"
    """Whose new mail is told of, on the page and by the desktop: that of people in your contacts, everybody's, or
    nobody's."""
    learn_after_s: float = Field(default=900, ge=0)
    """Seconds of quiet after which what waits is learnt, as by `hearth learn`; a request stops that. 0: never."""
    phones_port: int | None = Field(default=None, ge=0, le=65535)
    """Port for phones in the home's network, with TLS, 8471 say; none: no phone is let in."""
    phones_host: str = "0.0.0.0"  # noqa: S104 - phones come from elsewhere; each needs a key of its own
    """Address to listen at for them."""
    phones_show_reminders: bool = Field(default=False, strict=True)
    """A reminder's text may stand on a phone's lock screen, and go to `apprise_url`; false: it says that one rings."""
    apprise_url: Annotated[str, AfterValidator(_web_address)] = ""
    """Where an Apprise API server takes notifications, `http://127.0.0.1:8000/notify/hearth` say; it hands them on to
    whatever you chose there. Its host must be allowed under [network]."""
    wyoming_port: int | None = Field(default=None, ge=0, le=65535)
    """Port for voice satellites (Wyoming protocol), 10500 say; none: they are not served."""
    wyoming_host: str = "127.0.0.1"
    """Address for them. The protocol knows no keys: whoever reaches it may ask for what you may read."""
    wyoming_may_change: bool = Field(default=False, strict=True)
    """What is said may change things, too, once you say yes on the page; false: it only reads."""


class McpServer(_Table):
    """One server, by its name: `[mcp.servers.files]`. Its tools are called `files__…`."""

    command: tuple[str, ...] = ()
    """Program and arguments of a server that is started for each call."""
    url: str = ""
    """Address of a server that runs elsewhere, in place of a command; its host must be allowed under [network]."""
    token_env: str = ""
    """Environment variable that holds the token for an address."""
    token_file: str = ""
    """File that holds the token for an address."""
    env: tuple[str, ...] = ()
    """Environment variables that the program is given, beside a few that every program needs."""
    reads: tuple[str, ...] = ()
    """Tools, by the server's names, that only read, as you judge it: they run without asking. All others ask."""
    timeout_s: float = Field(default=30.0, gt=0, le=600)
    """Time for one call, the start of the program included, in seconds."""

    @model_validator(mode="after")
    def _is_somewhere(self) -> McpServer:
        if bool(self.command) == bool(self.url):
            raise ValueError("has a command and a url, or neither; write one of the two")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError(f"its url is {self.url!r}; expected one that begins with https://")
        return self


_ServerName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,19}$")]


class Mcp(_Table):
    """Servers of the Model Context Protocol whose tools Hearth may use."""

    servers: Mapping[_ServerName, McpServer] = Field(default_factory=dict)
    """Servers by name."""


class Share(_Table):
    """What is shared with one other person of the household, by their name there: `[share.Jo]`."""

    lists: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = ()
    """Lists of yours by name; each is shared once the other names it, too, for you."""
    devices: tuple[Annotated[str, Field(min_length=1, max_length=100)], ...] = ()
    """Connected devices of yours, by their name in `[[home.device]]`; the other's own rules judge what they ask of
    them."""


class Settings(_Table):
    """The whole of `hearth.toml`."""

    owner: Owner = Owner()
    policy: Mapping[str, Rule] = Field(default_factory=dict)
    rule: tuple[OrderedRule, ...] = ()
    """Rules tried in order, one `[[rule]]` each."""
    models: Models = Models()
    mask: Mask = Mask()
    network: Network = Network()
    planning: Planning = Planning()
    learning: Learning = Learning()
    memory: MemoryKept = MemoryKept()
    video: Video = Video()
    mail: Mail = Mail()
    calendar: Calendar = Calendar()
    contacts: Collection = Collection()
    home: Home = Home()
    edge: Edge = Edge()
    serve: Serve = Serve()
    mcp: Mcp = Mcp()
    share: Mapping[Annotated[str, Field(min_length=1, max_length=60)], Share] = Field(default_factory=dict)
    """What people of the household share, by the other's name: `[share.Jo]`. Nothing else is."""
    tools: Mapping[str, Mapping[str, object]] = Field(default_factory=dict)
    """Settings of plug-in tools, one table each."""
    _lines: Mapping[str, int] = PrivateAttr(default_factory=dict)

    def line_of(self, table: str) -> int:
        """Return the line of `policy.NAME`, or of `rule.N` (from 0), in the file it was read from; 0 when not known."""
        return self._lines.get(table, 0)

    def zone(self) -> ZoneInfo:
        """The owner's time zone: as configured, else the machine's, else UTC."""
        if self.owner.time_zone:
            return ZoneInfo(self.owner.time_zone)
        return machine_zone(os.environ)

    def for_tools(self, environ: Mapping[str, str]) -> Mapping[str, Mapping[str, Plain]]:
        """Return settings tables as tools get them, with secrets resolved.

        Raises:
            ConfigError: A secret's variable is not set, or its file cannot be read.
        """
        tables: dict[str, Mapping[str, Plain]] = {
            name: cast(Mapping[str, Plain], resolved(getattr(self, name).model_dump(), f"[{name}]", environ))
            for name in ("owner", "mail", "calendar", "contacts", "home")
        }
        for name, table in self.tools.items():
            tables[name] = cast(Mapping[str, Plain], resolved(dict(table), f"[tools.{name}]", environ))
        return tables
