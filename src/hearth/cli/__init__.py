"""The command-line interface `hearth`: every command prints for a person, or one JSON document with `--json`.

In: the command line. Out: text or JSON, and an exit code.
Here: `root` (the group `hearth`, asking and looking back), `invocation` (what commands share: options, progress, how
they are loaded when they are called, also those of plug-ins), `asking` (requests and corrections go to the `hearth up`
that has the home, else to an agent here), `why_command` (with the ledger), `guard_commands`, `edge_commands`,
`up_command` (with who may come in), `mcp_commands`; rooms `learning` and `memory` hold the commands about those rooms.
Not here: decisions; a command calls the room that takes them. Commands of companions are in their packages.

Exit codes (also in docs/reference/cli.md):

| code | meaning |
|---|---|
| 0 | done |
| 1 | a step failed; what was done is said |
| 2 | the command line is wrong |
| 3 | refused: Hearth can't do that yet, or can't read the request |
| 4 | something is missing or ambiguous: an answer from the owner is needed |
| 5 | denied by policy, or not approved |
| 6 | partly done |
| 7 | not known: the answer is "I don't know"; an empty list is an answer, and `done` |
| 70 | a fault in Hearth |
| 74 | the home's files cannot be read or written (full disk, damaged database) |
| 75 | another agent runs on this home; try again later |
| 78 | `hearth.toml` is missing or wrong |
| 130 | stopped by Ctrl-C; finished steps stay recorded |

`hearth chat` ends with 0 whatever its requests came to: each answer says so itself.
"""

from hearth.cli.root import ERROR_CODES, NOT_KNOWN_CODE, STATUS_CODES, hearth, main, run

__all__ = ["ERROR_CODES", "NOT_KNOWN_CODE", "STATUS_CODES", "hearth", "main", "run"]
