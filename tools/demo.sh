#!/usr/bin/env bash
# What `make demo` shows, on any machine: a product of two files, the ladder on the best device there
# is, one kernel explained, and one with a mistake found out.
# Usage: tools/demo.sh TILESCOPE_BINARY
set -euo pipefail
tilescope=$(realpath "$1")
python=$(cd "$(dirname "$0")/.." && tools/find_numpy.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

say() { printf '\n== %s\n' "$1"; }
show() {  # prints the command, then runs it
  echo
  echo "\$ tilescope $*" | fold -sw 76 | sed '$!s/$/\\/; 2,$s/^/    /'
  "$tilescope" "$@"
}

say "1. Multiply two matrices of any shape"
"$python" - <<'PYTHON'
import numpy as np
rng = np.random.default_rng(1)
np.save("A.npy", rng.uniform(-1, 1, (1000, 999)).astype(np.float32))
np.save("B.npy", rng.uniform(-1, 1, (999, 1001)).astype(np.float32))
PYTHON
show matmul A.npy B.npy -o C.npy
"$python" - <<'PYTHON'
import numpy as np
a, b, c = (np.load(name).astype(np.float64) for name in ("A.npy", "B.npy", "C.npy"))
bound = (a.shape[1] + 2) * 2.0**-24 * (np.abs(a) @ np.abs(b))
error = np.abs(c - a @ b)
assert np.all(error <= bound), "C.npy is not the product"
print(f"NumPy agrees: the largest error is {error.max():.1e}, each within its bound")
PYTHON

say "2. The same product as a ladder of kernels, every element of each verified"
show ladder matmul

say "3. Why a rung is slow: its source, with what a profiler counts on each line"
show explain matmul/tiled_conflicts

say "4. A kernel with a mistake: is part[t + half] there when it is read?"
cat > sums.cu <<'CUDA'
__global__ void sums(const float* in, float* out) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  part[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
  }
  if (t == 0) out[blockIdx.x] = part[0];
}
CUDA
if show check sums.cu --grid 4 --block 256 --arg in=f32[1024]=iota --arg out=f32[4]=zeros; then
  echo "demo: check should have found the missing barrier" >&2
  exit 1
fi

say "Next: tilescope --help, README.md, docs/explain.md"
