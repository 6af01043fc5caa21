"""Tools about Hearth itself: what it can do, and replies to a greeting, thanks, a goodbye, a no.

The abilities are read from the tools that are loaded, plug-ins included, never from a list kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast

from hearth.formats.tool_signature import tool
from hearth.protocols import CallContext
from hearth.types import Plain, ToolSpec

SETTINGS = "abilities"
"""The table of `CallContext.settings` that the agent fills with `abilities(specs)`."""
_REPLIES = {
    "greeting": "Hello! Ask me “what can you do?” to see what I am good for.",
    "thanks": "You're welcome.",
    "goodbye": "Goodbye.",
    "never mind": "All right, I left it at that.",
    "no": "What should be different? Say it like “no, on Friday”; “undo that” takes it back.",
}
_N_EXAMPLES = 4


@dataclass(frozen=True, slots=True)
class Abilities:
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    text: str


def abilities(tools: Mapping[str, ToolSpec]) -> dict[str, Plain]:
    """Return the data for `list_abilities`: names of the tools by domain, and a request for some of them."""
    by_domain: dict[str, list[Plain]] = {}
    examples: dict[str, Plain] = {}
    for spec in tools.values():
        if spec.domain != __name__.rpartition(".")[2]:
            by_domain.setdefault(spec.domain or "other", []).append(spec.name)
            if spec.examples:
                examples.setdefault(spec.domain, spec.examples[0])
    return {"domains": cast(Plain, by_domain), "examples": list(examples.values())[:_N_EXAMPLES]}


@tool(answer="{text}")
def list_abilities(call: CallContext) -> Abilities:
    """Tell what this assistant can do: which kinds of requests it serves, with examples.

    Examples:
        what can you do
        what are you able to do
        help
        which things can I ask you
    """
    known = call.settings.get(SETTINGS, {})
    domains = cast(Mapping[str, list[str]], known.get("domains", {}))
    lines = [f"{domain}: {', '.join(name.replace('_', ' ') for name in names)}" for domain, names in domains.items()]
    said = [f"“{example}”" for example in cast(list[str], known.get("examples", []))]
    if not lines:
        return Abilities("I can do nothing yet: no other tools are loaded.")
    return Abilities("\n".join(["I can help with", *lines, *([f"For example: {', '.join(said)}."] if said else [])]))


@tool(answer="{text}")
def reply_to(what: Literal["greeting", "thanks", "goodbye", "never mind", "no"] = "greeting") -> Reply:
    """Answer a greeting, thanks, a goodbye or a plain no with a friendly word.

    Args:
        what: What was said.
    Examples:
        hello
        hi there
        good morning
    """
    return Reply(_REPLIES[what])


TOOLS = (list_abilities, reply_to)
