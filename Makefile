# Two commands do everything: `make solve` and `make test`. Both set up what they need first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
DATA   ?= data
KERNEL_SOURCES := $(wildcard csrc/*.c csrc/*.h) csrc/build.py pyproject.toml constraints.txt

.PHONY: solve learn test lint sanitize tsan bench build clean
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

# The kernels under a sanitizer, in an environment of their own (folder, flags). Python itself is
# not instrumented, so the sanitizer's library is preloaded.
define instrumented
	rm -rf build/$(1) && mkdir -p build/$(1)
	cp -r csrc solver azfit tests cli.py pyproject.toml build/$(1)/
	rm -f build/$(1)/*/*.so
	cd build/$(1) && FADEFOUR_CFLAGS="$(2)" ../../$(BIN)/python csrc/build.py >build.log
endef
INSTRUMENTED_TESTS := ../../$(BIN)/python -m pytest -q --capture=no -p no:cacheprovider

# AddressSanitizer and UBSan, with the tests that drive the kernels hardest. Python leaks on purpose.
SANITIZED := -O1 -g -std=c11 -Wall -Wextra -Werror -fsanitize=address,undefined \
             -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZED_TESTS := $(addprefix tests/test_,index.py audit.py table.py records.py merging.py forged_records.py labels.py games.py \
                     threads.py search.py search_root.py sampler.py connect4_solver.py)
sanitize: $(VENV)/tests.installed
	$(call instrumented,sanitized,$(SANITIZED))
	cd build/sanitized && LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 $(INSTRUMENTED_TESTS) $(SANITIZED_TESTS)

# ThreadSanitizer, with everything that threads share. Nothing is suppressed. Its shadow memory
# needs addresses that are not too random: without setarch, set vm.mmap_rnd_bits to 28.
RACING := -O1 -g -std=c11 -march=native -Wall -Wextra -Werror -fsanitize=thread
tsan: $(VENV)/tests.installed
	$(call instrumented,tsan,$(RACING))
	cd build/tsan && $$(setarch -R true 2>/dev/null && echo setarch -R) \
	    env LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1 \
	    $(INSTRUMENTED_TESTS) tests/test_threads.py

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
