# The commands of a day's work; `make help` lists them. CMake does the building.

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

# make WERROR=ON TARGET: warnings are errors, as in .ci/run. LIGHT=ON: all rooms but emulator and
# observers are compiled at -O1, for tests that run once; a later build without it compiles them
# again.
# WITHOUT="base io" of `make test`: not the unit tests of these rooms, which ran elsewhere.
settings := $(if $(WERROR),-DTILESCOPE_WERROR=$(WERROR)) -DTILESCOPE_LIGHT=$(or $(LIGHT),OFF)
space := $(subst ,, )
without = '-DTILESCOPE_WITHOUT_TESTS=$(subst $(space),;,$(strip $(WITHOUT)))'
sanitized := build-sanitize$(if $(ROOMS),-rooms)
# ctest's own summary is the last thing that a test run prints. Output of failed tests only. One
# test more than there are cores: some wait (for mpirun, a timer, a disk).
ctest = ctest --output-on-failure --no-tests=error --parallel $(shell expr $$(nproc) + 1)

.PHONY: help setup build demo test test-slow schedules sanitize threads portable compilers format \
  check-format clean python test-frameworks wheel test-wheel

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## install what building needs and this machine lacks
	@tools/setup.sh build

build: setup ## the command, as build/tilescope
	@tools/build.sh default build $(settings) tilescope_cli

demo: build ## multiply, climb, explain a kernel, find a mistake
	@tools/demo.sh build/tilescope

test: ## build and run every test
	@tools/setup.sh test
	@tools/build.sh default build -DTILESCOPE_BUILD_TESTS=ON -DTILESCOPE_PYTHON=ON $(without) \
	  $(settings)
	@$(ctest) --test-dir build

test-slow: ## the long tests that `make test` leaves out: over an hour on two cores
	@tools/setup.sh test
	@tools/build.sh default build -DTILESCOPE_BUILD_TESTS=ON -DTILESCOPE_PYTHON=ON $(settings)
	@$(ctest) --test-dir build --build-config slow --label-regex '^slow$$'

python: ## the Python package, in build/python
	@tools/setup.sh python
	@tools/build.sh default build -DTILESCOPE_PYTHON=ON $(settings) tilescope_python
	@echo "PYTHONPATH=$(CURDIR)/build/python .deps/python/bin/python imports tilescope"

wheel: setup ## wheels of the Python package, in dist/ (PYTHON="python3.9 python3.12": for these)
	@tools/wheel.sh $(PYTHON)

test-wheel: ## install each wheel of dist/ in a fresh environment, find a race there (network)
	@python3 -B tests/wheel/fresh_install.py dist/tilescope-*.whl

# The interpreter may be one that has PyTorch already: make test-frameworks FRAMEWORKS=python3
test-frameworks: python ## tests with PyTorch, Triton, Numba and JAX (700 MB)
	@tools/frameworks.sh $(FRAMEWORKS)

schedules: ## run every correct kernel in 20 orders of warps, blocks and copies
	@tools/setup.sh test
	@tools/build.sh default build -DTILESCOPE_BUILD_TESTS=ON $(settings)
	@TILESCOPE=$(CURDIR)/build/tilescope TILESCOPE_CACHE=$(CURDIR)/build/test-cache \
	  python3 -B tests/cli_kernels/schedules_test.py --all

# Tests ask for more memory than there is: malloc returns null then, as without the sanitizer.
# ROOMS="base io": only these folders of src/, which need no others, and their tests; in minutes.
sanitize: ## the unit tests with AddressSanitizer and UBSan
	@tools/setup.sh test
	@tools/build.sh sanitize $(sanitized) '-DTILESCOPE_ROOMS=$(subst $(space),;,$(strip $(ROOMS)))' \
	  $(settings)
	@ASAN_OPTIONS=allocator_may_return_null=1 $(ctest) --test-dir $(sanitized) --label-regex unit

threads: ## tests of emulator and observers with ThreadSanitizer
	@tools/setup.sh test
	@tools/build.sh threads build-threads $(settings) test_emulator test_observe
	@TSAN_OPTIONS=suppressions=$(CURDIR)/tests/thread_sanitizer.txt \
	  $(ctest) --test-dir build-threads --tests-regex '^(emulator|observe)\.'

portable: setup ## one binary to copy: build-portable/tilescope
	@tools/build.sh portable build-portable $(settings)
	@ls -l build-portable/tilescope

compilers: ## build with every C++ compiler found here, count warnings
	@tools/setup.sh test
	@tools/compilers.sh

format: ## format every C++ file
	@tools/setup.sh format
	@tools/format.sh

check-format: ## say which files are not formatted
	@tools/setup.sh format
	@tools/format.sh --check

clean: ## remove everything that was built; .deps stays
	@rm -rf build build-sanitize build-sanitize-rooms build-threads build-portable build-compilers \
	  build-wheel dist
