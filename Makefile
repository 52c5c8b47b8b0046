# Two commands do everything: `make solve` and `make test`. Both set up what they need first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
DATA   ?= data
KERNEL_SOURCES := $(wildcard csrc/*.c csrc/*.h) csrc/build.py pyproject.toml constraints.txt

.PHONY: solve learn test lint sanitize bench build clean
.DEFAULT_GOAL := solve

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What the solver itself needs, with the kernels compiled in place.
$(VENV)/solver.installed: $(BIN)/python $(KERNEL_SOURCES)
	$(PIP) install -q -c constraints.txt -e '.[plot]'
	touch $@

# What tests and linters need on top.
$(VENV)/tests.installed: $(VENV)/solver.installed
	$(PIP) install -q -c constraints.txt -e '.[plot,parquet,train,test,lint]'
	touch $@

build: $(VENV)/solver.installed

# torch and what else training, grading and certifying need.
learn: $(VENV)/solver.installed
	$(PIP) install -q -c constraints.txt -e '.[plot,train]'

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

# The kernels under AddressSanitizer and UBSan, in an environment of their own, with the tests
# that drive them hardest. Python itself is not instrumented, hence the preload and no leak check.
SANITIZED := -O1 -g -std=c11 -Wall -Wextra -Werror -fsanitize=address,undefined \
             -fno-sanitize-recover=all -fno-omit-frame-pointer
sanitize: $(VENV)/tests.installed
	rm -rf build/sanitized && mkdir -p build/sanitized
	cp -r csrc solver tests cli.py pyproject.toml build/sanitized/
	[ ! -d azfit ] || cp -r azfit build/sanitized/
	rm -f build/sanitized/*/*.so
	cd build/sanitized && FADEFOUR_CFLAGS="$(SANITIZED)" ../../$(BIN)/python csrc/build.py >build.log
	cd build/sanitized && LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 ../../$(BIN)/python -m pytest -q -p no:cacheprovider $(SANITIZED_TESTS)
SANITIZED_TESTS := $(addprefix tests/test_,index.py audit.py table.py records.py search.py search_root.py sampler.py connect4_solver.py)

bench: $(VENV)/tests.installed
	$(BIN)/python bench/solver_speed.py --m5
	$(BIN)/python bench/search_speed.py
	$(BIN)/python bench/inference_speed.py --threads 1
	$(BIN)/python bench/network_search.py
	$(BIN)/python bench/self_play_speed.py
	$(BIN)/python bench/connect4_solver.py --limit 100
	$(BIN)/fadefour solve --table-only --data build/bench
	$(BIN)/python bench/sampler_speed.py --data build/bench

clean:
	rm -rf $(VENV) build *.egg-info solver/*.so azfit/*.so .pytest_cache .mypy_cache .ruff_cache
