#!/usr/bin/env bash
# What `make demo` shows: a product of two files, and the ladder on the best device there is.
# Usage: tools/demo.sh TILESCOPE_BINARY
set -euo pipefail
tilescope=$(realpath "$1")
python=$(cd "$(dirname "$0")/.." && tools/find_numpy.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$python" - <<'PYTHON'
import numpy as np
rng = np.random.default_rng(1)
np.save("A.npy", rng.uniform(-1, 1, (1000, 999)).astype(np.float32))
np.save("B.npy", rng.uniform(-1, 1, (999, 1001)).astype(np.float32))
PYTHON

echo "\$ tilescope matmul A.npy B.npy -o C.npy"
"$tilescope" matmul A.npy B.npy -o C.npy
"$python" - <<'PYTHON'
import numpy as np
a, b, c = (np.load(name).astype(np.float64) for name in ("A.npy", "B.npy", "C.npy"))
bound = (a.shape[1] + 2) * 2.0**-24 * (np.abs(a) @ np.abs(b))
error = np.abs(c - a @ b)
assert np.all(error <= bound), "C.npy is not the product"
print(f"NumPy agrees: the largest error is {error.max():.1e}, each within its bound")
PYTHON

echo
echo "\$ tilescope ladder matmul"
"$tilescope" ladder matmul
