"""Commands about the guard: rules and standing answers, and the encryption of a home."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hearth import errors
from hearth.cli.invocation import Invocation, as_json, opened_agent, print_json
from hearth.cli.why_command import opened_record
from hearth.config.setting_tables import has_key
from hearth.formats.terminal_text import clean

if TYPE_CHECKING:
    from hearth.agent import Agent
    from hearth.config import OrderedRule, Settings
    from hearth.guard.policy.question import Consent, Consents
    from hearth.guard.policy.rules import Decision, Policy
    from hearth.storage.encryption import Turned
    from hearth.types import Plain, ToolSpec


# ── Policy commands ───────────────────────────────────────────────────────────────────────────────────────
# `hearth policy`: show the rules, explain them, and manage the owner's standing answers.


@click.group()
def policy() -> None:
    """Rules of hearth.toml: check them, list them, see which one decides; take back what you answered for good."""


@policy.command()
@as_json
@click.pass_obj
def check(invocation: Invocation, as_json: bool) -> int:
    """Check every rule without running anything: names, types, conditions, rules that can never count."""
    from hearth.errors import ConfigError

    try:
        settings, _, _ = _loaded(invocation)
    except ConfigError as error:
        if not as_json:
            raise
        print_json({"ok": False, "faults": str(error).splitlines()})
        return 78
    n_rules = len(settings.rule) + len(settings.policy)
    if as_json:
        print_json({"ok": True, "faults": [], "rules": n_rules})
    else:
        some = {0: "There are no rules.", 1: "1 rule is valid, and it can apply."}
        click.echo(some.get(n_rules, f"{n_rules} rules are valid, and each can apply."))
    return 0


@policy.command(name="list")
@as_json
@click.pass_obj
def list_rules(invocation: Invocation, as_json: bool) -> None:
    """List the rules in the order in which they are tried."""
    settings, specs, rules = _loaded(invocation)
    if as_json:
        ordered = [rule.model_dump(exclude_defaults=True, mode="json") for rule in settings.rule]
        tables = {name: rule.model_dump(mode="json") for name, rule in settings.policy.items()}
        defaults = {name: rules.rule_tool(spec).verdict for name, spec in specs.items() if name not in settings.policy}
        print_json({"rule": ordered, "policy": tables, "default": defaults})
        return
    for place, rule in enumerate(settings.rule):
        click.echo(f"{place + 1}. {clean(_rule_line(rule))}")
    for name, table in settings.policy.items():
        why = f"  ({clean(table.reason)})" if table.reason else ""
        click.echo(f"{_verdict(table.ruling)} {name}{why}")
    others = [name for name, spec in specs.items() if spec.effect != "none" and name not in settings.policy]
    click.secho(f"Everything else that changes or sends asks ({', '.join(others) or 'nothing is left'}).", dim=True)


@policy.command()
@click.argument("text", nargs=-1)
@click.option("--tool", metavar="NAME", help="Explain one call instead of a request.")
@click.option("--arg", "arguments", multiple=True, metavar="NAME=VALUE", help="With --tool; again for a list's items.")
@click.option("--from", "sources", multiple=True, metavar="NAME=SOURCE", help="With --tool: where a value comes from.")
@as_json
@click.pass_obj
def explain(
    invocation: Invocation,
    text: tuple[str, ...],
    tool: str | None,
    arguments: tuple[str, ...],
    sources: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say which rule decides about TEXT, or about one call, and why. Nothing is run and nobody is asked."""
    if (tool is None) == (not text):
        raise click.UsageError('say a request, or --tool NAME: hearth policy explain "send the draft"')
    if tool is None and (arguments or sources):
        raise click.UsageError("--arg and --from go with --tool")
    with opened_agent(invocation, yes=False) as agent:
        if tool is not None:
            document = _explain_call(agent, tool, _pairs(arguments, "--arg"), _pairs(sources, "--from"))
        else:
            document = _explain_request(agent, " ".join(text))
    if as_json:
        print_json(document)
        return 0
    for step in document["steps"]:
        click.echo(
            f"{_verdict(step['verdict'])} {step['step']}. {step['tool']}: {clean(step['reason'])} [{step['rule']}]"
        )
        for other in step["or"]:
            click.echo(f"       or {other['verdict']}, once the values are known: {clean(other['reason'])}")
        for tried in step["tried"]:
            outcome = {True: "counts", False: "does not count", None: "not known yet"}[tried["fits"]]
            click.secho(f"       {clean(tried['rule'])} {outcome}: {clean(tried['why'])}", dim=True)
    verdict = f"{_verdict(document['verdict'])} " if document["verdict"] else ""
    click.echo(f"{verdict}{clean(document['reason'])}")
    return 0


def _explain_request(agent: Agent, text: str) -> dict[str, Any]:
    from hearth.types import Plan

    request = agent.request(text)
    proposal = agent.plan(request, agent.tools.specs)
    if not isinstance(proposal, Plan):
        reason = f"no plan: Hearth has none for this request, so no rule was tried: {proposal.reason}"
        return {"verdict": None, "reason": reason, "steps": []}
    judgement = agent.monitor.judge(proposal, occasion=agent.occasion(request, proposal))
    tools = [step.tool for step in proposal.steps]
    steps = [_step(k + 1, tools[k], decision) for k, decision in enumerate(judgement.decisions)]
    return {"verdict": judgement.ruling.verdict, "reason": judgement.ruling.reason, "steps": steps}


def _explain_call(
    agent: Agent, tool: str, given: dict[str, list[str]], sources: dict[str, list[str]]
) -> dict[str, Any]:
    from hearth.errors import NotFound
    from hearth.guard.labels import Value, join_all, label_of
    from hearth.guard.policy.rules import unknown_name
    from hearth.types import OWNER

    spec = agent.tools.specs.get(tool)
    if spec is None:
        raise NotFound(f"--tool {unknown_name(tool, agent.tools.specs, 'registered tool', '`hearth tools`')}")
    values = {}
    for name, texts in given.items():
        label = join_all(label_of(source) for source in sources[name]) if name in sources else OWNER
        values[name] = Value(_value(spec, name, texts), label)
    decision = agent.monitor.explain_call(tool, values, agent.call_context())
    step = _step(1, tool, decision)
    return {"verdict": decision.ruling.verdict, "reason": decision.ruling.reason, "steps": [step]}


def _value(spec: ToolSpec, name: str, texts: list[str]) -> Plain:
    """Convert typed text to the type of the argument."""
    from hearth.errors import NotFound, WrongType
    from hearth.formats.tool_signature import from_plain
    from hearth.guard.labels import item_type
    from hearth.guard.policy.rules import unknown_name

    parameter = spec.parameter(name)
    if parameter is None:
        known = [p.name for p in spec.parameters]
        raise NotFound(f"--arg {unknown_name(name, known, f'argument of {spec.name}', ', '.join(known) or 'none')}")
    kind = item_type(parameter.type)
    items: list[Plain] = []
    for text in texts:
        try:
            decoded = from_plain(float(text) if kind in ("integer", "number") else text, kind)
        except (WrongType, ValueError) as error:
            raise click.UsageError(f"--arg {name}={text}: {error}") from None
        items.append(decoded if isinstance(decoded, int | float | bool) else text)
    return items if parameter.type.startswith("list[") else items[-1]


def _pairs(options: tuple[str, ...], name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or not key:
            raise click.UsageError(f"{name} {option!r} is not NAME=VALUE")
        found.setdefault(key, []).append(value)
    return found


def _step(number: int, tool: str, decision: Decision) -> dict[str, Any]:
    return {
        "step": number,
        "tool": tool,
        "verdict": decision.ruling.verdict,
        "rule": decision.ruling.rule,
        "reason": decision.ruling.reason,
        "or": [{"verdict": r.verdict, "rule": r.rule, "reason": r.reason} for r in decision.possible],
        "tried": [{"rule": t.rule, "fits": t.fits, "why": t.why} for t in decision.tried],
    }


# ── What was answered for good ────────────────────────────────────────────────────────────────────────────


@policy.group(invoke_without_command=True)
@as_json
@click.pass_context
def consents(ctx: click.Context, as_json: bool) -> None:
    """List what you answered with "always" or "never"."""
    if ctx.invoked_subcommand is not None:
        return
    with _opened_consents(ctx.obj) as known:
        found = [consent for consent in known.all() if not consent.is_revoked]
    if as_json:
        print_json([_consent_json(consent) for consent in found])
        return
    for consent in found:
        said = "always" if consent.verdict == "allow" else "never"
        used = f", used {consent.n_used} times" if consent.n_used else ""
        click.echo(f"{consent.number}  {said} {clean(consent.said())}  until {consent.expires:%Y-%m-%d}{used}")
    if not found:
        click.echo("Nothing was answered for good.")


@consents.command()
@click.argument("number", type=click.IntRange(1, 2**62))
@click.pass_obj
def revoke(invocation: Invocation, number: int) -> None:
    """Take answer NUMBER back: from now on you are asked again."""
    with _opened_consents(invocation) as known:
        consent = known.revoke(number)
    click.echo(f"Taken back: {clean(consent.said())}; I will ask again.")


@policy.command()
@click.option("--confirm", "confirmed", multiple=True, metavar="NAME", help="Let this card vouch for its address.")
@click.option("--confirm-all", is_flag=True, help="Let every card vouch as it stands now.")
@as_json
@click.pass_obj
def contacts(invocation: Invocation, confirmed: tuple[str, ...], confirm_all: bool, as_json: bool) -> int:
    """List what cards in your contacts say that you did not: you are asked before anything is sent there."""
    from hearth.guard.labels import AddressBook, Provenance

    with opened_agent(invocation, yes=False) as agent:
        context = agent.call_context()
        found = agent.monitor.known_addresses(context).unconfirmed
        wanted = [c for c in found if confirm_all or c.name in confirmed or c.id in confirmed]
        if confirmed or confirm_all:
            book = AddressBook(Provenance(agent.store))
            names = book.confirm(context.workspace, [card.id for card in wanted], context.now)
            absent = set(confirmed) - {c.name for c in wanted} - {c.id for c in wanted}
            click.echo(f"Confirmed: {clean(', '.join(names)) or 'nothing'}.")
            for name in sorted(absent):
                click.echo(f"No card waits under the name {clean(name)!r}.", err=True)
            return 4 if absent else 0
    if as_json:
        print_json(
            [{"id": c.id, "name": c.name, "email": c.email, "phone": c.phone, "groups": list(c.groups)} for c in found]
        )
        return 0
    for card in found:
        groups = f"in {', '.join(card.groups)}" if card.groups else ""
        click.echo("  ".join(clean(said) for said in (card.name, card.email, card.phone, groups) if said))
    if not found:
        click.echo("Every card in your contacts is yours or was confirmed.")
    return 0


def _loaded(invocation: Invocation) -> tuple[Settings, dict[str, ToolSpec], Policy]:
    """Load settings, tools and checked rules. Raises: ConfigError."""
    from hearth.config import read_settings
    from hearth.guard.policy.rules import Policy
    from hearth.registry import load_tools

    path = invocation.home / "hearth.toml"
    settings = read_settings(path)
    specs = load_tools(invocation.home).specs
    return settings, specs, Policy.of(settings, specs, str(path))


@contextmanager
def _opened_consents(invocation: Invocation) -> Iterator[Consents]:
    from hearth.guard.policy.question import Consents

    with opened_record(invocation.home) as store:
        yield Consents(store)


def _rule_line(rule: OrderedRule) -> str:
    parts = [f"{name} {_when(when.model_dump(exclude_defaults=True))}" for name, when in rule.when.items()]
    if rule.between:
        parts.append(f"between {rule.between[0]} and {rule.between[1]}")
    if rule.weekdays is not None:
        parts.append(f"on {', '.join(rule.weekdays)}")
    if rule.at_most:
        parts.append(f"at most {rule.at_most.calls} times per {rule.at_most.per}")
    if rule.more_than:
        parts.append(f"more than {rule.more_than.calls} times per {rule.more_than.per}")
    when = f" when {'; '.join(parts)}" if parts else ""
    why = f"  ({rule.reason})" if rule.reason else ""
    name = f"{rule.name}: " if rule.name else ""
    return f"{name}{rule.ruling} {', '.join(rule.tools)}{when}{why}"


def _when(condition: dict[str, Any]) -> str:
    said = []
    for key, value in condition.items():
        shown = ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value).lower()
        said.append(f"{key.replace('_', ' ')} {shown}")
    return " and ".join(said)


def _consent_json(consent: Consent) -> dict[str, Any]:
    return {
        "number": consent.number,
        "tool": consent.tool,
        "answer": "always" if consent.verdict == "allow" else "never",
        "values": dict(consent.fixed),
        "amounts": dict(consent.amounts),
        "sources": {name: sorted(several) for name, several in consent.sources.items()},
        "at": consent.at,
        "expires": consent.expires,
        "episode": consent.episode,
        "used": consent.n_used,
    }


def _verdict(verdict: str) -> str:
    return click.style(f"{verdict:<5}", fg={"allow": "green", "ask": "yellow", "deny": "red"}[verdict])


# ── Encrypt commands ──────────────────────────────────────────────────────────────────────────────────────
# `hearth encrypt` and `hearth decrypt`: the home under a key from the system's keyring or a passphrase, and back.

NEW_PASSPHRASE = "HEARTH_NEW_PASSPHRASE"  # noqa: S105 - the name of a variable
"""Variable that holds the passphrase to be set, for scripts."""


@click.command()
@click.option("--keyring", "in_keyring", is_flag=True, help="Keep the key in the system's keyring: nothing to type.")
@click.option(
    "--files/--no-files",
    "with_files",
    default=None,
    help="Encrypt your folder, too (default: the database only). Other programs can then no longer read it.",
)
@click.option("--new-key", is_flag=True, help="Encrypt everything anew under another key and passphrase.")
@as_json
@click.pass_obj
def encrypt(invocation: Invocation, in_keyring: bool, with_files: bool | None, new_key: bool, as_json: bool) -> None:
    """Encrypt the home: its database, and with --files your folder, too.

    The passphrase is asked for, or taken from $HEARTH_NEW_PASSPHRASE; from then on each start of Hearth asks for it, or
    takes it from $HEARTH_HOME_PASSPHRASE, or from the system's keyring. A recovery code is shown once: write it down.
    Stopped or killed in the middle nothing is lost, and the same command finishes it. On a home that is encrypted it
    also takes in files that came in plain since.
    """
    from hearth.storage import encryption

    home = invocation.home
    if not has_key(home):
        if new_key:
            raise errors.RequestError(f"{str(home)!r} is not encrypted, so there is no key to change")
        turned = encryption.encrypt(home, _new_secret(in_keyring), with_files=bool(with_files), progress=_progress)
    elif new_key:
        turned = encryption.change_key(home, _new_secret(in_keyring), _progress)
    elif in_keyring:
        raise errors.RequestError("the home is encrypted already; `hearth encrypt --new-key --keyring` changes its key")
    elif with_files is not None:
        turned = encryption.set_files(home, with_files=with_files, progress=_progress)
    else:
        turned = encryption.finish(home, _progress)
    _tell(home, turned, as_json=as_json)


@click.command()
@as_json
@click.pass_obj
def decrypt(invocation: Invocation, as_json: bool) -> None:
    """Make an encrypted home plain again and remove its key. Killed in the middle, the same command finishes it."""
    from hearth.storage import encryption

    _tell(invocation.home, encryption.decrypt(invocation.home, _progress), as_json=as_json)


def _new_secret(in_keyring: bool) -> str | None:
    """Return a new passphrase; None for the keyring. Raises: RequestError: Nobody can be asked for one."""
    if in_keyring:
        return None
    if NEW_PASSPHRASE in os.environ:
        return os.environ[NEW_PASSPHRASE]
    if not sys.stdin.isatty():
        raise errors.RequestError(f"no passphrase: run this at a terminal, set {NEW_PASSPHRASE}, or pass --keyring")
    said: str = click.prompt("New passphrase (four words or more)", hide_input=True, confirmation_prompt=True, err=True)
    return said


def _progress(doing: str) -> None:
    if sys.stderr.isatty():
        click.echo(f"turning over {clean(doing)} …", err=True)


def _tell(home: Path, turned: Turned, *, as_json: bool) -> None:
    is_encrypted = has_key(home)
    if as_json:
        print_json({"home": str(home), "is_encrypted": is_encrypted, **asdict(turned)})
        return
    what = ["the database"] if turned.is_database_turned else []
    what += [f"{turned.n_files} file{'' if turned.n_files == 1 else 's'}"] if turned.n_files else []
    done = " and ".join(what) or "nothing had to be done"
    click.echo(f"{clean(str(home))} is {'encrypted' if is_encrypted else 'plain'}: {done}.")
    for name in turned.too_large:
        click.echo(f"left as it is, larger than any tool can read: {clean(name)}", err=True)
    if turned.recovery_code:
        click.echo(f"\nRecovery code, shown this once: {turned.recovery_code}")
        click.echo(
            "It opens the home where the passphrase or the keyring is lost: type it in place of the passphrase. Keep "
            "it on paper, apart from this device. Without both, nobody can open the home again."
        )
