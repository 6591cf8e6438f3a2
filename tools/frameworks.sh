#!/usr/bin/env bash
# Runs tests/frameworks with the Python package of build/python.
# Usage: tools/frameworks.sh [PYTHON]; without one, an environment in .deps/frameworks, into which
# PyTorch for the CPU, Triton, Numba and JAX are fetched. PYTHON must be of the version for which the
# package was built. Tests on a GPU are skipped where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${1:-.deps/frameworks/bin/python}
if [ $# -eq 0 ] && [ ! -e "$python" ]; then
  echo "fetching PyTorch for the CPU and the other packages into .deps/frameworks" >&2
  rm -rf .deps/frameworks.new
  .deps/python/bin/python -m venv .deps/frameworks.new
  # Where the first index is out of reach pip takes the other's PyTorch, with CUDA (3 GB).
  .deps/frameworks.new/bin/python -m pip --quiet --disable-pip-version-check install --retries 1 \
    numpy torch triton numba jax \
    --index-url https://download.pytorch.org/whl/cpu --extra-index-url https://pypi.org/simple || {
    echo "PyTorch could not be fetched; FRAMEWORKS=PYTHON names an interpreter that has it" >&2
    exit 3
  }
  mv .deps/frameworks.new .deps/frameworks
fi
export PYTHONPATH=$PWD/build/python TILESCOPE=$PWD/build/tilescope
for test in tests/frameworks/*_test.py; do
  echo "$test" >&2
  "$python" -B "$test"
done
