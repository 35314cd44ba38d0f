# Everything a fresh machine with Python >= 3.10 and make needs. `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2
OLD_VENV ?= .venv-old
OLD_STAMP := $(OLD_VENV)/.installed
LOWEST_PYTHON ?= $(shell python3.10 -c "import sys; print(sys.executable)" 2>/dev/null || echo $(PYTHON))
LOWEST_VENV ?= .venv-lowest
LOWEST_STAMP := $(LOWEST_VENV)/.installed
OLD_TRANSFORMERS_VENV ?= .venv-old-transformers
OLD_TRANSFORMERS_STAMP := $(OLD_TRANSFORMERS_VENV)/.installed

# Modules are compiled once, not in each of the processes that the tests start.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-quick test-registry check test-old-datasets test-lowest test-old-transformers bench clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

demo: $(STAMP)  ## the main job on the embedded synthetic sample, offline
	$(BIN)/python -m finetune demo --output_dir demo-output --overwrite

test: $(STAMP)  ## all tests, on two processes
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

test-quick: $(STAMP)  ## the tests without those that train, browse or start many processes: under a minute
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not registry"

test-registry: $(STAMP)  ## whether the Spaces' requirements can be installed, asked of the registry of packages
	$(BIN)/python -m pytest tests -m registry

check: $(STAMP)  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(OLD_STAMP): constraints-old.txt
	$(PYTHON) -m venv $(OLD_VENV)
	$(OLD_VENV)/bin/python -m pip install --quiet -c constraints-old.txt datasets==3.6.0 jinja2 pytest xxhash
	touch $@

# The newest datasets writes the exported folder, the old one reads it.
test-old-datasets: export NYT_H_EXPORTED = $(OLD_VENV)/exported
test-old-datasets: $(OLD_STAMP) $(STAMP)  ## the same rows on the last major that runs loading scripts
	$(BIN)/python -m pytest tests/dataset/test_majors.py -k exported
	$(OLD_VENV)/bin/python -m pytest $(addprefix tests/dataset/test_,majors.py bags.py loading.py bad_input.py sources.py)

$(LOWEST_STAMP): constraints-lowest.txt pyproject.toml
	$(LOWEST_PYTHON) -m venv $(LOWEST_VENV)
	$(LOWEST_VENV)/bin/python -m pip install --quiet -c constraints-lowest.txt -e . pytest hypothesis scikit-learn
	touch $@

# Families of tests that touch each library: arrays, statistics, Arrow, datasets, evaluate, cards.
LOWEST_TESTS := $(addprefix tests/metric/test_,family.py golden.py tracks.py ranking.py evaluate_module.py requirements.py) \
  tests/metric/significance/test_comparison.py $(addprefix tests/dataset/test_,majors.py script.py) \
  tests/dataset/corpus_tools/test_conversion.py tests/cards/test_cards.py
test-lowest: $(LOWEST_STAMP)  ## metric, data set and cards on the oldest versions that pyproject.toml allows
	$(LOWEST_VENV)/bin/python -m pytest $(LOWEST_TESTS)

$(OLD_TRANSFORMERS_STAMP): constraints-old-transformers.txt pyproject.toml
	$(PYTHON) -m venv $(OLD_TRANSFORMERS_VENV)
	$(OLD_TRANSFORMERS_VENV)/bin/python -m pip install --quiet -c constraints-old-transformers.txt -e ".[finetune,plots]" \
	  pytest pytest-xdist hypothesis
	touch $@

# The demo, the loss of accumulated batches, going on, and models that are saved and loaded, with and without the package.
OLD_TRANSFORMERS_TESTS := $(addprefix tests/finetune/test_,demo.py transformers_versions.py) \
  $(addprefix tests/finetune/training/test_,training_loss.py going_on.py) \
  $(addprefix tests/finetune/model/test_,relation_pipeline.py modeling.py)
test-old-transformers: $(OLD_TRANSFORMERS_STAMP)  ## fine-tuning on the oldest transformers that pyproject.toml allows
	$(OLD_TRANSFORMERS_VENV)/bin/python -m pytest -n $(WORKERS) $(OLD_TRANSFORMERS_TESTS)

bench: $(STAMP)  ## the benchmarks that need no data: metric, mentions, dataset (nothing else should run)
	$(BIN)/python -m benchmarks.metric
	$(BIN)/python -m benchmarks.mentions
	$(BIN)/python -m benchmarks.dataset

clean:
	rm -rf $(VENV) $(OLD_VENV) $(LOWEST_VENV) $(OLD_TRANSFORMERS_VENV) demo-output build *.egg-info
