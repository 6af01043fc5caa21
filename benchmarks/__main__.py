"""All benchmarks that need nothing but this machine, one after another: `make bench`.

The agent loop beside its peers needs their packages: `benchmarks/peers/run.sh`.
"""

from __future__ import annotations

import subprocess
import sys

NAMES = ("encoder", "slots", "planning", "requests", "start", "guard")


def main() -> int:
    failed = []
    for name in NAMES:
        print(f"── {name} ──", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
