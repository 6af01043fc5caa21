"""`hearth mcp` over standard input and output with scripted plans: `python -m tests.mcp_home HOME [OPTIONS]`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from hearth import cli
from hearth.config import Settings
from hearth.serve import desk
from hearth.testing import HashEncoder
from tests.served_home import scripted


class ScriptedDesk(desk.Desk):
    """A desk whose agent plans by the script."""

    @classmethod
    def open(
        cls, home: Path, environ: Mapping[str, str], *, encoder: object = None, settings: Settings | None = None
    ) -> desk.Desk:
        opened = super().open(home, environ, encoder=HashEncoder(384), settings=settings)
        opened.use(scripted).result()
        return opened


if __name__ == "__main__":
    desk.Desk = ScriptedDesk  # type: ignore[misc]
    sys.exit(cli.run(["--home", sys.argv[1], "mcp", *sys.argv[2:]]))
