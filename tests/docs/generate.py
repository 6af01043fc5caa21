"""Write the reference pages that are made from the code; `--check` fails when one is out of date.

python -m tests.docs.generate [--check]
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import textwrap
from typing import Any

import click
from pydantic import BaseModel

from hearth import cli, config, errors
from hearth.registry import load_tools
from hearth_cloud import cloud_settings as cloud
from tests import ROOT

REFERENCE = ROOT / "docs" / "reference"
NOTE = "<!-- Written by `python -m tests.docs.generate`; edit the code, not this page. -->\n"


def commands() -> str:
    """Every command with its help, and the exit codes."""
    context = click.Context(cli.hearth, info_name="hearth", terminal_width=100, help_option_names=["-h", "--help"])
    listed = _commands(cli.hearth, context)
    parts = [NOTE, "# Commands\n", "```text", cli.hearth.get_help(context).replace("\b", ""), "```\n"]
    for name, command in listed:
        parts += _command(name, command, context, "##")
    table = re.search(r"\| code.*\Z", inspect.getdoc(cli) or "", re.S)
    assert table is not None
    parts += [
        "## Exit codes\n",
        table[0] + "\n",
        "## Environment\n",
        "| variable | meaning |\n|---|---|\n| `HEARTH_HOME` | the home folder |\n| `HEARTH_CACHE` | where rebuildable files"
        " live |\n| `NO_COLOR` | set: no colours |\n",
    ]
    return "\n".join(parts)


def _commands(group: click.Group, context: click.Context) -> list[tuple[str, click.Command]]:
    """A group's commands: those written beside it, then the others by name, also of plug-ins; hidden ones are left out."""
    names = dict.fromkeys([*group.commands, *group.list_commands(context)])
    found = [(name, group.get_command(context, name)) for name in names]
    return [(name, command) for name, command in found if command is not None and not command.hidden]


def _command(name: str, command: click.Command, parent: click.Context, mark: str) -> list[str]:
    """One command's help and, of a group, those of its commands."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100)
    inner = _commands(command, context) if isinstance(command, click.Group) else []
    parts = [f"{mark} {context.command_path}\n", "```text", command.get_help(context), "```\n"]
    for name, one in inner:
        parts += _command(name, one, context, f"{mark}#")
    return parts


def settings() -> str:
    """Every table and key of `hearth.toml` with type, default and meaning."""
    parts = [NOTE, "# Settings: hearth.toml\n", inspect.getdoc(config) or "", ""]
    for field, info in config.Settings.model_fields.items():
        parts += _table(field, info.annotation, _described(config.Settings).get(field, ""))
    return "\n".join(parts)


def _table(name: str, annotation: Any, meaning: str) -> list[str]:
    if name == "policy":
        name, annotation = "policy.TOOL", config.Rule
    if name == "network.host":
        name = "network.host.NAME"
    if name == "calendar.subscription":
        name = "calendar.subscription.NAME"
    if name == "mcp.servers":
        name, annotation = "mcp.servers.NAME", config.McpServer
    model = config._table_of(annotation)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return [f"## [{name}.NAME]\n", meaning + "\n"]
    is_list = str(annotation).startswith("tuple[")
    lines = [f"## [[{name}]]\n" if is_list else f"## [{name}]\n", (inspect.getdoc(model) or "").split("\n\n")[0] + "\n"]
    described = _described(model)
    rows, inner = [], []
    for key, info in model.model_fields.items():
        if config._table_of(info.annotation) is not None:
            inner += _table(f"{name}.{key}", info.annotation, described.get(key, ""))
            continue
        default = "required" if info.is_required() else f"`{info.default!r}`"
        kind = re.sub(r"Annotated\[(\w+), .*? at 0x\w+>\)\]", r"\1", str(info.annotation))  # a check has no name
        kind = re.sub(r"typing\.|<class '|'>", "", kind)
        kind = re.sub(r"Annotated\[(\w+), .*\]", r"\1", kind)
        rows.append(f"| `{key}` | {kind.replace('|', '&#124;')} | {default} | {described.get(key, '')} |")
    if rows:
        lines += ["| key | type | default | meaning |", "|---|---|---|---|", *rows, ""]
    return lines + inner


def _described(model: type[BaseModel]) -> dict[str, str]:
    """Attribute docstrings of a class and those it extends: the string that follows a field."""
    sources = [inspect.getsource(one) for one in model.__mro__ if one.__module__ == model.__module__]
    found = [pair for text in sources for pair in re.findall(r'^    (\w+):[^\n]*\n    """(.*?)"""', text, re.S | re.M)]
    return {name: " ".join(text.split()) for name, text in found}


def cloud_settings() -> str:
    """Every table and key of `cloud.toml` with type, default and meaning."""
    parts = [NOTE, "# Settings of the service: cloud.toml\n", inspect.getdoc(cloud) or "", ""]
    for field, info in cloud.CloudSettings.model_fields.items():
        parts += _table(field, info.annotation, "")
    return "\n".join(parts)


def tools() -> str:
    """Every built-in tool with its parameters, result and effect."""
    parts = [NOTE, "# Tools\n", "What `hearth tools` lists. `reads` runs freely; `changes` can be undone and asks unless"
             " your policy allows it; `sends` leaves the device.\n"]  # fmt: skip
    specs = load_tools(None).specs
    for domain in dict.fromkeys(spec.domain for spec in specs.values()):
        parts.append(f"## {domain}\n")
        for spec in (s for s in specs.values() if s.domain == domain):
            effect = {"none": "reads", "change": "changes", "send": "sends"}[spec.effect]
            parts += [f"### {spec.name}\n", f"{spec.description} *{effect}* → `{spec.returns}`\n"]
            if spec.parameters:
                parts += ["| parameter | type | | meaning |", "|---|---|---|---|"]
                for p in spec.parameters:
                    kind = " &#124; ".join(p.enum) if p.enum else p.type
                    need = "required" if p.is_required else f"default `{p.default!r}`"
                    parts.append(f"| `{p.name}` | {kind} | {need} | {p.description} |")
                parts.append("")
            if spec.examples:
                parts += [*(f"- {example}" for example in spec.examples), ""]
    return "\n".join(parts)


def error_tree() -> str:
    """The error tree and every class's own line."""
    tree = textwrap.dedent((inspect.getdoc(errors) or "").split("The tree:")[1])
    return "\n".join([NOTE, "# Errors\n", (inspect.getdoc(errors) or "").split("The tree:")[0], tree, ""])


PAGES = {
    "cloud.md": cloud_settings,
    "cli.md": commands,
    "config.md": settings,
    "tools.md": tools,
    "errors.md": error_tree,
}


def outdated() -> list[str]:
    """Differences between the pages and the code."""
    found: list[str] = []
    for name, make in PAGES.items():
        path = REFERENCE / name
        old = path.read_text() if path.exists() else ""
        found += difflib.unified_diff(
            old.splitlines(), make().splitlines(), name, f"{name} (from the code)", lineterm=""
        )
    return found


def main() -> int:
    if "--check" in sys.argv:
        lines = outdated()
        print("\n".join(lines) or "The reference pages are up to date.")
        if lines:
            print("\nRun `make fix`.")
        return 1 if lines else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, make in PAGES.items():
        (REFERENCE / name).write_text(make().rstrip() + "\n")
        print(f"wrote docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
