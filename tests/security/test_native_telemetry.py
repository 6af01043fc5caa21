"""Libraries written in C send nothing behind the network guard's back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, sys, time
from pathlib import Path
from hearth.models.sentence_encoder import MiniLMEncoder

encoder = MiniLMEncoder.open(Path(sys.argv[1]))
seen = set()
for _ in range(30):  # without the switch the first name look-up comes within three seconds
    encoder.encode(["water the plants"])
    for number in os.listdir("/proc/self/fd"):
        try:
            seen.add(os.readlink(f"/proc/self/fd/{number}").partition(":")[0])
        except OSError:
            pass
    time.sleep(0.1)
print("sockets" if "socket" in seen else "no sockets")
"""


def test_the_encoder_keeps_no_device_id_and_opens_no_socket(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "CI")}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, os.environ["HEARTH_CACHE"]],
        env={**kept, "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "no sockets\n"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
