# Two commands for a newcomer: `make run` judges a real control plane, `make test` proves the suite itself.
# Both need Python >= 3.11 and nothing else: what is missing (Go, Kubernetes, etcd, KWOK) is fetched or built once.

PYTHON ?= python3
CLUSTER ?= embedded:1.35
PROFILE ?= core
VERSION ?= 1.35
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml src/hintbound/__init__.py

.DEFAULT_GOAL := help
.PHONY: help run test lint types unit matrix behaviours lock wheel bench soak mutants clean-runs regressions nightly kind kind-page kind-image kind-environment clean

help:
	@echo "make run     judge $(CLUSTER) by the profile $(PROFILE); CLUSTER=... and PROFILE=... change that"
	@echo "make test    the suite's own tests, lint, types"
	@echo "make bench   the benchmarks, as JSON lines"
	@echo "make kind    judges kind clusters of $(VERSION), gates on and off, against embedded ones; starts Docker if need be"
	@echo "make kind-image  builds a kind node image of $(VERSION) where no image registry is reached"
	@echo "make clean-runs N=30  whether suites and checks stay silent where nothing is broken"
	@echo "make regressions  plays public bugs on releases with and without them: docs/track-record.md"
	@echo "make nightly all versions and gates, twenty equal runs, the benchmarks"

run: $(VENV)/run.stamp
	$(BIN)/hintbound run --cluster $(CLUSTER) --profile $(PROFILE)

test: lint types unit

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports --no-logo

types: $(VENV)/dev.stamp
	$(BIN)/mypy

unit: $(VENV)/dev.stamp
	@# Beforehand, because a build takes longer than a test may.
	$(BIN)/hintbound assets fetch --faulty-scheduler $(TESTED) etcd kwok >/dev/null
	$(BIN)/pytest
TESTED := 1.34 1.35 1.37

matrix: $(VENV)/run.stamp
	$(BIN)/hintbound matrix

regressions: $(VENV)/dev.stamp
	$(BIN)/python tools/track_record.py

behaviours: $(VENV)/run.stamp
	$(BIN)/hintbound list behaviours --format yaml > suites/behaviours.yaml.new
	mv suites/behaviours.yaml.new suites/behaviours.yaml

wheel: $(VENV)/run.stamp
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

bench: $(VENV)/dev.stamp
	$(BIN)/python benchmarks/ready.py
	$(BIN)/python benchmarks/core.py
	$(BIN)/python benchmarks/proxy.py

soak: $(VENV)/run.stamp
	$(BIN)/python benchmarks/equal_runs.py --runs 20 --cluster $(CLUSTER)

mutants: $(VENV)/dev.stamp
	$(BIN)/python tools/kill_matrix.py $(MUTANT)

clean-runs: $(VENV)/run.stamp
	$(BIN)/python benchmarks/clean_runs.py --runs $(N)
N := 30

nightly: $(VENV)/dev.stamp
	.ci/nightly

kind: kind-environment
	tools/kind-node/engine run .ci/kind $(VERSION)

kind-page: kind-environment
	tools/kind-node/engine run .ci/kind $(VERSION) docs/kind.md

kind-image: $(VENV)/run.stamp
	@$(BIN)/python tools/kind-node/image $(VERSION)

kind-environment: $(VENV)/dev.stamp $(VENV)/kind.stamp

lock: $(VENV)/dev.stamp
	$(BIN)/uv pip compile $(LOCKED) pyproject.toml requirements/build.in -o requirements/run.lock
	$(BIN)/uv pip compile $(LOCKED) pyproject.toml requirements/build.in --group dev -c requirements/run.lock -o requirements/dev.lock
	$(BIN)/uv pip compile $(LOCKED) pyproject.toml requirements/build.in --extra kind -c requirements/run.lock -o requirements/kind.lock
LOCKED := --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The stamps say which lock file the environment holds.
$(VENV)/run.stamp: requirements/run.lock $(SOURCES)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "hintbound: it needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; exit 254; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/run.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements/dev.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.lock
	touch $@

$(VENV)/kind.stamp: $(VENV)/run.stamp requirements/kind.lock
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/kind.lock
	touch $@
