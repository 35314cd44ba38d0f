# Everything a fresh machine with Python >= 3.11 and make needs. `make demo` and `make test` set themselves up.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check bench clean

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $@

demo: $(STAMP)  ## the main job on the embedded synthetic sample, offline
	$(BIN)/python -m finetune demo --output_dir demo-output --overwrite

test: $(STAMP)  ## all tests
	$(BIN)/python -m pytest

check: $(STAMP)  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) demo-output build *.egg-info
