#!/usr/bin/env bash
# `make demo` shows, on any machine: a product of two files, the ladder on the best device there
# is, one kernel explained, and one with a mistake found out.
# Usage: tools/demo.sh TILESCOPE_BINARY
set -euo pipefail
tilescope=$(realpath "$1")
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
# Whole numbers: every sum is exact in float32, so the product can be checked exactly, and every
# element of it, without multiplying again: C x = A (B x) for a vector x of random numbers. A wrong
# row agrees with a chance of 2^-32.
cat > matrices.py <<'PYTHON'
import array, ast, random

def save(name, rows, columns):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head = head.ljust(117) + "\n"  # the data begin at a multiple of 64 bytes
    values = array.array("f", random.choices(range(-8, 9), k=rows * columns))
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode())
        values.tofile(file)

def load(name):  # its rows
    with open(name, "rb") as file:
        start = file.read(10)
        assert start[:7] == b"\x93NUMPY\1", "not a .npy file of version 1"
        head = ast.literal_eval(file.read(int.from_bytes(start[8:], "little")).decode())
        assert head["descr"] == "<f4" and not head["fortran_order"]
        rows, columns = head["shape"]
        values = array.array("f", file.read())
    assert len(values) == rows * columns and all(map(float.is_integer, values))
    return [values[i:i + columns] for i in range(0, len(values), columns)]

def times(matrix, vector):
    return [sum(map(int.__mul__, map(int, row), vector)) for row in matrix]
PYTHON
python3 -c 'from matrices import *; save("A.npy", 1000, 999); save("B.npy", 999, 1001)'
show matmul A.npy B.npy -o C.npy
python3 - <<'PYTHON'
from matrices import *
a, b, c = map(load, ("A.npy", "B.npy", "C.npy"))
x = [random.randrange(2**32) for _ in c[0]]
assert len(c) == len(a) and times(c, x) == times(a, times(b, x)), "C.npy is not the product"
print("Python agrees: C.npy is the product, exactly, in every element")
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
