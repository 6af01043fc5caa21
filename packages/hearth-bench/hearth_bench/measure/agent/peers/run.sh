#!/bin/sh
# Make the environment of the peers that the agent loop is measured beside (about 400 MB with their dependencies).
# PYTHON chooses the interpreter: the benchmark gives its own, as one build may be a third faster than another.
# Ends with an error, and leaves nothing behind, when they cannot be installed here.
set -eu
cd "$(dirname "$0")"
python="${PYTHON:-$(command -v python3.11 || command -v python3)}"
if command -v uv >/dev/null 2>&1; then
  uv venv --quiet --clear --python "$python" .venv
  uv pip install --quiet --python .venv/bin/python -r requirements.txt || { rm -rf .venv; exit 1; }
else
  "$python" -m venv --clear .venv
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -r requirements.txt ||
    { rm -rf .venv; exit 1; }
fi
