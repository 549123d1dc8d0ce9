PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .venv-bench
BENCHMARKS ?=
SYSTEM ?= cache-service
PROVE ?= play --out proved/$(SYSTEM)
STAMP := $(VENV)/.installed
# Processes pytest spreads over; 0 runs in this one, where it compiles each kernel only once.
WORKERS ?= auto
PYTEST_ARGS ?=
FUZZ_EXAMPLES ?= 100000
LOCK_ARGS ?=
PIP := $(BIN)/pip -qq

# Kernels work on small matrices: BLAS threads would only fight each other.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test fuzz bench prove lint format lock clean fresh-kernels
.DEFAULT_GOAL := help

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) fresh-kernels  ## Set up if needed and run the demonstration
	@$(BIN)/trimtab demo

test: lint fresh-kernels  ## Set up if needed and run every check and test
	$(BIN)/pytest -n $(WORKERS) $(PYTEST_ARGS)

fuzz: $(STAMP) fresh-kernels  ## Fuzz specs, command lines and damaged stores, FUZZ_EXAMPLES in all
	TRIMTAB_FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/pytest -v -n $(WORKERS) tests/test_*fuzz.py

bench: $(BENCH)/.installed fresh-kernels  ## Measure everything against its rivals; writes benchmarks/RESULTS.md
	$(BENCH)/bin/python benchmarks/run.py $(BENCHMARKS)

prove: $(BENCH)/.installed fresh-kernels  ## Tune a real system (SYSTEM=cache-service or log-shipper)
	$(BENCH)/bin/python examples/$(SYSTEM)/run.py $(PROVE)

lint: $(STAMP)  ## Check style, format and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(STAMP)  ## Format the code and fix what can be fixed
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lock: $(STAMP)  ## Renew requirements/dev.txt (LOCK_ARGS=--upgrade for new versions)
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 \
		--extra dev --custom-compile-command "make lock" $(LOCK_ARGS) \
		--output-file requirements/dev.txt pyproject.toml

clean:  ## Remove the environment and everything generated
	rm -rf $(VENV) $(BENCH) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name '*.nbi' -delete -o -name '*.nbc' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Numba's cache sees edits of the file a kernel is in, not of a kernel it calls in
# another file: anything compiled before the newest source may be out of date.
fresh-kernels:
	@newest=$$(find src/trimtab -name '*.py' -exec ls -t {} + | head -n 1); \
	find src/trimtab -name '*.nb[ic]' ! -newer "$$newest" -delete

$(STAMP): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit( \
		"trimtab needs Python 3.11 or newer, but $(PYTHON) is %d.%d; run make PYTHON=python3.11" \
		% sys.version_info[:2])'
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --require-hashes -r requirements/dev.txt
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH)/.installed: pyproject.toml requirements/bench.txt
	@echo "Setting up $(BENCH) ..."
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/pip -qq install -r requirements/bench.txt -e .
	@touch $@
