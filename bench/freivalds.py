#!/usr/bin/env python3
"""Check C = A B for .npy files too large for a reference product. Needs NumPy.

Freivalds: for a random vector x of signs, C x = A (B x) up to rounding. If C differs from A B beyond
rounding in any row, one trial misses it with probability at most 1/2; `trials` independent ones with
at most 2^-trials. Then 1,000 random cells are compared with their float64 dot products, within
(k + 2) 2^-24 sum|a||b|. Usage: freivalds.py A.npy B.npy C.npy [trials]
"""
import sys

import numpy as np

ROWS = 2048


def times(matrix, vectors):
    """matrix @ vectors in float64, a panel of rows at a time."""
    panels = range(0, matrix.shape[0], ROWS)
    return np.concatenate([matrix[r : r + ROWS].astype("f8") @ vectors for r in panels])


a, b, c = (np.load(path, mmap_mode="r") for path in sys.argv[1:4])
trials = int(sys.argv[4]) if len(sys.argv) > 4 else 10
rng = np.random.default_rng(1)
x = rng.choice([-1.0, 1.0], (b.shape[1], trials))
difference = times(c, x) - times(a, times(b, x))
k = a.shape[1]
# Each element of C is off by at most (k + 2) u sum|a||b| <= (k + 2) u k for entries in [-1, 1], and
# typically by its square root; signs add n of them up.
typical = 2.0**-24 * k * np.sqrt(c.shape[1])
worst = np.abs(difference).max()
ok = np.isfinite(worst) and worst <= 8 * typical
print(f"Freivalds, {trials} trials: largest |C x - A (B x)| = {worst:.3g} (limit {8 * typical:.3g})")
wrong = 0
for row, column in zip(rng.integers(0, c.shape[0], 1000), rng.integers(0, c.shape[1], 1000)):
    left, right = a[row].astype("f8"), b[:, column].astype("f8")
    bound = (k + 2) * 2.0**-24 * (np.abs(left) @ np.abs(right))
    wrong += not abs(c[row, column] - left @ right) <= bound
print(f"1,000 cells: {wrong} wrong")
sys.exit(0 if ok and not wrong else 1)
