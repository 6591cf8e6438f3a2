# The commands of a day's work; `make help` lists them. CMake does the building.

MAKEFLAGS += --no-print-directory
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c

jobs := $(shell nproc)
ccache := $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
# ctest's own summary is the last thing that a test run prints. Output of failed tests only.
space := $(subst ,, )
sanitized := build-sanitize$(if $(ROOMS),-rooms)
ctest = ctest --output-on-failure --no-tests=error --parallel $(jobs)

# $(call configure,PRESET,FOLDER): where that was not done yet; ninja configures again by itself when
# a CMake file changed. $(call build,PRESET,FOLDER): the same, and builds.
define configure
	@[ -f $(2)/build.ninja ] || cmake --preset $(1) $(ccache) --log-level=WARNING > $(2).log 2>&1 || \
	  { cat $(2).log >&2; exit 1; }
	@rm -f $(2).log
endef
define build
	$(call configure,$(1),$(2))
	@ninja -C $(2) -j $(jobs) $(if $(MAKE_TERMOUT),,--quiet)
endef

.PHONY: help setup build demo test sanitize threads portable format check-format clean

help: ## this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup: ## install what building needs and this machine lacks
	@tools/setup.sh

build: setup ## the command, as build/tilescope
	$(call build,default,build)

demo: build ## multiply, climb the ladder, explain a kernel, find a mistake
	@tools/demo.sh build/tilescope

test: build ## every test
	@$(ctest) --test-dir build

# ROOMS="base io": only these folders of src/, which need no others, and their tests; in minutes.
sanitize: setup ## the unit tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset sanitize -B $(sanitized) $(ccache) --log-level=WARNING \
	  -DTILESCOPE_ROOMS='$(subst $(space),;,$(strip $(ROOMS)))' > /dev/null
	@ninja -C $(sanitized) -j $(jobs) $(if $(MAKE_TERMOUT),,--quiet)
	@$(ctest) --test-dir $(sanitized) --label-regex unit

threads: setup ## the emulator's and its observers' tests with ThreadSanitizer
	$(call configure,threads,build-threads)
	@ninja -C build-threads -j $(jobs) $(if $(MAKE_TERMOUT),,--quiet) test_emulator test_observe
	@TSAN_OPTIONS=suppressions=$(CURDIR)/tests/thread_sanitizer.txt \
	  $(ctest) --test-dir build-threads --tests-regex '^(emulator|observe)\.'

portable: setup ## one binary to copy to other machines, as build-portable/tilescope
	$(call build,portable,build-portable)
	@ls -l build-portable/tilescope

format: ## format every C++ file
	@tools/format.sh

check-format: ## say which files are not formatted
	@tools/format.sh --check

clean: ## remove everything that was built; .deps stays
	@rm -rf build build-sanitize build-sanitize-rooms build-threads build-portable
