"""Runs of one character in what strangers and other programs write: no question takes longer for them.

Searches that take steps by the square of a run's length would need minutes for these texts, by the cube days; the
bounds are a hundred times what reading them takes.
"""

from __future__ import annotations

import time

import pytest

from hearth.memory.search.collecting import passages_in
from hearth.testing import FIXED_NOW, InMemoryWorkspace, make_call
from hearth.tools.mail.mime import clean_text
from hearth.tools.notes import find_notes, remove_from_list

BLANKS = " " * 100_000
LIMIT_S = 2.0


def test_a_note_with_a_run_of_blanks_is_read_like_any_other() -> None:
    files = {
        "notes/a.md": f"# A{BLANKS}B #\n\nboiler\n".encode(),
        "notes/shopping.md": f"# Shopping\n\n- [ ] milk{BLANKS}x\n- eggs\n".encode(),
    }
    call = make_call(workspace=InMemoryWorkspace(files, now=FIXED_NOW))
    began = time.process_time()
    assert [one.title[:3] for one in find_notes(call, "boiler")] == ["A  "]
    assert remove_from_list("shopping", ["eggs"], call=call).items[-1].startswith("milk")
    assert time.process_time() - began < LIMIT_S


@pytest.mark.parametrize(
    "top", [f"# A{BLANKS}B", f"#{BLANKS}#", f"{BLANKS}\n# A", f"---\n{BLANKS}\n# A{BLANKS}b", f"A{BLANKS}"]
)
def test_a_document_that_begins_with_a_run_of_blanks_is_kept_like_any_other(top: str) -> None:
    workspace = InMemoryWorkspace(
        {"documents/a.md": f"{top}\n\nThe boiler is in the cellar.\n".encode()}, now=FIXED_NOW
    )
    began = time.process_time()
    kept = list(passages_in("documents/a.md", workspace, FIXED_NOW.tzinfo).passages)
    assert time.process_time() - began < LIMIT_S
    assert "The boiler is in the cellar." in kept[-1].text


def test_a_mail_with_a_run_of_blanks_is_cleaned_like_any_other() -> None:
    blanks = BLANKS[:75_000]
    began = time.process_time()
    assert clean_text(f"a{blanks}! \n\tb \t\n\n\n\n\nc") == f"a{blanks}!\n\tb\n\n\nc"
    assert time.process_time() - began < LIMIT_S
