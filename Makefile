PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready

.PHONY: help demo test test-fast lint bench-trees bench-gaps bench-forests bench-boosting bench-accuracy \
	bench-forest-accuracy bench-boosting-accuracy clean

help:
	@echo "make demo            fit and show trees on a data set that ships with the package"
	@echo "make test            run all tests"
	@echo "make test-fast       run the tests that take no more than a few seconds each"
	@echo "make lint            check style, format and types"
	@echo "make bench-trees     time tree growth beside other libraries"
	@echo "make bench-gaps      time growth with missing values, and pruning"
	@echo "make bench-forests   time forests beside other libraries, some five minutes"
	@echo "make bench-boosting  time gradient boosting beside other libraries, some fifteen minutes"
	@echo "make bench-accuracy  compare the accuracy of single trees with other libraries, some ten minutes"
	@echo "make bench-forest-accuracy  the same for forests, some twenty minutes"
	@echo "make bench-boosting-accuracy  the same for gradient boosting, some four hours, nearly all of them CatBoost's"
	@echo "make clean           remove the virtual environment and everything generated"

demo: $(READY)
	$(VENV)/bin/treewright demo

test: $(READY)
	$(VENV)/bin/python -m pytest -n 2

test-fast: $(READY)
	$(VENV)/bin/python -m pytest -n 2 -m "not slow"

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench-trees: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/trees.py

bench-gaps: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/gaps.py

bench-forests: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/forests.py

bench-boosting: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/boosting.py

bench-accuracy: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/accuracy.py

bench-forest-accuracy: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/accuracy.py --group forests

bench-boosting-accuracy: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/boosting_accuracy.py --cache $(VENV)/boosting-accuracy.json --again treewright

# The stamps are written last, so an installation that broke off is tried again.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --editable ".[test,lint]"
	@touch $@

$(BENCH_READY): $(READY)
	$(PIP) --editable ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name "*.egg-info" -type d -prune -exec rm -rf {} +
