# Two commands do everything: `make solve` and `make test`. Both set up what they need first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
DATA   ?= data
KERNEL_SOURCES := $(wildcard csrc/*.c csrc/*.h) csrc/build.py pyproject.toml constraints.txt

.PHONY: solve test lint sanitize bench build clean
.DEFAULT_GOAL := solve

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What the solver itself needs, with the kernels compiled in place.
$(VENV)/solver.installed: $(BIN)/python $(KERNEL_SOURCES)
	$(PIP) install -q -c constraints.txt -e '.[plot]'
	touch $@

# What tests and linters need on top.
$(VENV)/tests.installed: $(VENV)/solver.installed
	$(PIP) install -q -c constraints.txt -e '.[plot,parquet,test,lint]'
	touch $@

build: $(VENV)/solver.installed

solve: build
	$(BIN)/fadefour solve --data $(DATA)
	$(BIN)/fadefour merge --data $(DATA)
	$(BIN)/fadefour verify --data $(DATA)
	$(BIN)/fadefour summary --data $(DATA)

test: $(VENV)/tests.installed
	$(BIN)/python -m pytest

lint: $(VENV)/tests.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) build *.egg-info solver/*.so azfit/*.so .pytest_cache .mypy_cache .ruff_cache
