"""Kernels of Numba on the emulated device."""

import unittest

import numpy
from numba import cuda

import tilescope


@cuda.jit
def scale(x, factor, n):
    i = cuda.grid(1)
    if i < n:
        x[i] *= factor


@cuda.jit
def transpose(x, z):
    row, column = cuda.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        z[column, row] = x[row, column]


class Numba(unittest.TestCase):
    def test_results_and_bounds(self):
        x = numpy.arange(100, dtype=numpy.float32)
        self.assertTrue(tilescope.check(scale, 1, 128, (x, 2.5, 100)).clean)
        self.assertEqual(x.tolist(), [2.5 * i for i in range(100)])
        findings = tilescope.check(scale, 1, 128, (x, 2.5, 101)).findings
        self.assertEqual({f.kind for f in findings}, {"out-of-bounds"})
        self.assertEqual({f.address for f in findings}, {"x[100]"})
        self.assertTrue(all(f.file.endswith("numba_test.py") for f in findings))

    def test_views(self):
        x = numpy.arange(600, dtype=numpy.float64).reshape(20, 30)[2:18, ::2]
        z = numpy.zeros((15, 16))
        self.assertTrue(tilescope.check(transpose, (2, 2), (8, 8), (x, z)).clean)
        self.assertTrue(numpy.array_equal(z, x.T))


if __name__ == "__main__":
    unittest.main()
