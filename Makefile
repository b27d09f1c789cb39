PYTHON ?= python3
VENV := .venv
# Pip would compile thousands of modules that are never imported. Python compiles the others once, if it may write them.
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile
export PYTHONDONTWRITEBYTECODE :=
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready

.PHONY: help kernels demo test test-fast test-jit test-bounds soak lint bench-trees bench-missing bench-forests bench-boosting bench-prediction \
	bench-start bench-forms compare-forms bench-reading bench-defaults bench-peer-suites bench-busy bench-shap bench-dask bench-memory soak-dask bench-exports bench-model-files bench-accuracy bench-forest-accuracy bench-boosting-accuracy clean

help:
	@echo "make demo                     fit and show trees on shipped data sets; start here"
	@echo "make kernels                  compile the kernels into a shared library, if a source has changed"
	@echo "make test-fast                run the tests that take no more than a few seconds each"
	@echo "make test                     run all tests"
	@echo "make soak                     run all tests, with ten times as many examples and checks that take minutes; hours"
	@echo "make test-jit                 run a part of the tests with kernels that Numba compiles at run time"
	@echo "make test-bounds              run the tests of the kernels with every index checked; about 20 minutes"
	@echo "make lint                     check style, format and types"
	@echo "make bench-start              time from process start to first prediction, from a wheel; about 10 minutes"
	@echo "make bench-forms compare-forms              compare the shipped machine code with kernels that Numba compiles; about 5 minutes"
	@echo "make compare-forms            fit 397 models with every form of the kernels and compare the bits; about half an hour"
	@echo "make bench-reading            compare the speed of reading CSV files; about 2 minutes"
	@echo "make bench-defaults           compare the defaults of trees, forests and boosting: seconds and score"
	@echo "make bench-peer-suites        run scikit-learn's own tests against the learners, and count; about 15 minutes"
	@echo "make bench-trees              compare the speed of single trees with other libraries"
	@echo "make bench-missing            time growth with missing values, and pruning"
	@echo "make bench-forests            compare the speed of forests; about 5 minutes"
	@echo "make bench-boosting           compare the speed of gradient boosting; about 15 minutes"
	@echo "make bench-prediction         compare the speed of predictions, of many rows and one by one; about 5 minutes"
	@echo "make bench-shap               compare the speed of Shapley values; about 10 minutes"
	@echo "make bench-exports            time an exported model in DuckDB; about a minute"
	@echo "make bench-model-files        time loading a boosted model and a forest of a gigabyte; about 2 minutes"
	@echo "make bench-dask               compare fits on a Dask cluster of this machine; about 5 minutes"
	@echo "make bench-memory             fit files larger than memory, with a limit on memory; about 15 minutes, 10 GB of disk"
	@echo "make soak-dask                kill workers at fifty random moments of fits; about 8 minutes"
	@echo "make bench-busy               time fits on a busy machine and with a CPU quota; about 10 minutes"
	@echo "make bench-accuracy           compare the accuracy of single trees; about 10 minutes"
	@echo "make bench-forest-accuracy    compare the accuracy of forests; about 20 minutes"
	@echo "make bench-boosting-accuracy  compare the accuracy of gradient boosting; about 4 hours, mostly CatBoost"
	@echo "make clean                    remove the virtual environment and all generated files"

kernels: $(READY)
	$(VENV)/bin/python -m treewright.runtime.build --if-needed

# Without a C compiler the demo goes on with plain kernels.
demo: $(READY)
	-@$(VENV)/bin/python -m treewright.runtime.build --if-needed
	$(VENV)/bin/treewright demo

test: kernels
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m "not soak"

test-fast: kernels
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m "not slow and not soak"

soak: kernels
	TREEWRIGHT_SOAK=1 $(VENV)/bin/python -m pytest -n 2 --dist worksteal

test-jit: $(READY)
	TREEWRIGHT_FORM=jit $(VENV)/bin/python -m pytest -n 2 tests/engines tests/runtime tests/encoding -m "not slow and not soak"

test-bounds: $(READY)
	TREEWRIGHT_FORM=jit NUMBA_BOUNDSCHECK=1 $(VENV)/bin/python -m pytest -n 2 --dist worksteal -m "not soak" \
		tests/engines tests/encoding tests/tree tests/insight/shapley tests/scale

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench-trees: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/trees.py

bench-missing: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/missing_values.py

bench-forests: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/forests.py

bench-boosting: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/boosting.py

bench-start: $(READY)
	$(VENV)/bin/python benchmarks/start.py

bench-forms: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/forms.py

compare-forms: $(BENCH_READY)
	$(VENV)/bin/python -m treewright.runtime.build --all-levels
	TREEWRIGHT_FORM=library $(VENV)/bin/python benchmarks/digests.py --write $(VENV)/digests.json
	for level in x86-64-v2 x86-64-v3; do \
		TREEWRIGHT_FORM=library TREEWRIGHT_LEVEL=$$level $(VENV)/bin/python benchmarks/digests.py --compare $(VENV)/digests.json || exit 1; \
	done
	TREEWRIGHT_FORM=jit $(VENV)/bin/python benchmarks/digests.py --compare $(VENV)/digests.json
	TREEWRIGHT_FORM=plain $(VENV)/bin/python benchmarks/digests.py --compare $(VENV)/digests.json --seconds 20

bench-reading: $(BENCH_READY)
	$(VENV)/bin/python benchmarks/reading.py

bench-defaults: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/defaults.py

bench-peer-suites: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/peer_suites.py

bench-prediction: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/prediction.py

bench-shap: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/shapley.py

bench-exports: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/exports.py

bench-model-files: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/model_files.py

bench-dask: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/cluster.py

bench-memory: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/larger_than_memory.py

soak-dask: kernels
	$(VENV)/bin/python -m pytest tests/scale/test_dask.py -m soak

bench-busy: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/busy.py

bench-accuracy: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/accuracy.py

bench-forest-accuracy: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/accuracy.py --group forests

bench-boosting-accuracy: $(BENCH_READY) kernels
	$(VENV)/bin/python benchmarks/boosting_accuracy.py --cache $(VENV)/boosting-accuracy.json --again treewright

# The stamps are written last, so an installation that broke off is tried again.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) "hatchling>=1.25" editables
	$(PIP) --no-build-isolation --editable ".[test,lint]"
	@touch $@

$(BENCH_READY): $(READY)
	$(PIP) --no-build-isolation --editable ".[bench]"
	@touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	find . -name "*.egg-info" -type d -prune -exec rm -rf {} +
