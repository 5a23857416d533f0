# `make check` and `make test` need only Python 3.11 or newer, pip and make.
# `make test-exhaustive` runs the slow tests; `make verify` computes all recorded results anew, which takes hours.
PYTHON ?= python3
BIN := .venv/bin

# Some machines forbid Python to keep what it compiles; then each of a thousand processes compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE

# If the machine has a browser, the tests of pages run in it.
BROWSER := $(firstword $(foreach name,chromium chromium-browser google-chrome chrome,$(shell command -v $(name) 2>/dev/null)))
comma := ,
EXTRAS := test$(if $(BROWSER),$(comma)browser)

# Python compiles a module when it is first imported: of the installed ones few are, and compiling all takes half a minute.
INSTALL := python -m pip install --quiet --disable-pip-version-check --no-compile

# The groups of tests run slowest first (conformance/tests/schedule.py). OPTIONS are added, such as --junitxml=tests.xml.
# Not `python -m pytest`: with this folder on its path, pytest would rewrite the assertions of the whole product.
PYTEST := $(BIN)/pytest -n auto --dist loadgroup --no-loadscope-reorder $(OPTIONS)

.PHONY: check test test-exhaustive test-all timings verify lint fuzz atlas benchmark clean

check: .venv/ready
	$(BIN)/check --bound 6

test: .venv/ready-for-tests
	$(PYTEST) -m "not exhaustive and not recorded"

test-exhaustive: .venv/ready-for-tests
	$(PYTEST) -m "exhaustive and not recorded"

# Both in one run, which collects the tests once and starts one session of Spark.
test-all: .venv/ready-for-tests
	$(PYTEST) -m "not recorded"

# Measures how long each test takes, from which follows how many of its parameters run when (conformance/tests/schedule.py).
# It starts with an empty cache, as CI does, takes a quarter of an hour, and keeps what it has measured if interrupted.
timings: .venv/ready-for-tests
	cache=$$(mktemp -d) && trap 'rm -rf "$$cache"' EXIT && \
		XDG_CACHE_HOME=$$cache $(PYTEST) -m "not recorded" --timings conformance/tests/timings.toml

# Computes all recorded results anew; `make verify SAMPLE=2`: two of them, drawn by SEED.
verify: .venv/ready-for-tests
	$(BIN)/python -m conformance.tests.verify $(if $(SAMPLE),--sample $(SAMPLE)) --seed $(SEED)

lint: .venv/ready-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p isrcheck

# Compares all engines on random programs: `make fuzz SECONDS=3600 SEED=2`.
SECONDS ?= 120
SEED ?= 1
fuzz: .venv/ready-for-tests
	$(BIN)/python -m isrcheck.conformance.fuzz --seconds $(SECONDS) --seed $(SEED)

# Searches a random sample of the recorded atlas again: `make atlas ATLAS_SECONDS=600 SEED=2`.
ATLAS_SECONDS ?= 15
atlas: .venv/ready-for-tests
	$(BIN)/python -m isrcheck.checker.atlas.sample --seconds $(ATLAS_SECONDS) --seed $(SEED)

benchmark: .venv/ready-for-benchmarks
	$(BIN)/python -m benchmarks.limit_loop
	$(BIN)/python -m benchmarks.encodings
	$(BIN)/python -m benchmarks.threads
	$(BIN)/python -m benchmarks.viewer
	$(BIN)/python -m benchmarks.peers 1

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("isrcheck needs Python 3.11 or newer, this is " + sys.version) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/ready: pyproject.toml | .venv/bin/python
	$(BIN)/$(INSTALL) --editable .
	touch $@

.venv/ready-for-tests: pyproject.toml | .venv/bin/python
	$(BIN)/$(INSTALL) --editable '.[$(EXTRAS)]'
	touch $@ .venv/ready

.venv/ready-for-benchmarks: pyproject.toml | .venv/bin/python
	$(BIN)/$(INSTALL) --editable '.[benchmark]'
	touch $@ .venv/ready

clean:
	rm -rf .venv
