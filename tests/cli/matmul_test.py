"""tilescope matmul against NumPy: shapes from 0 to 700, all types, both orders."""

import unittest

import numpy as np

import program

UNIT_ROUNDOFF = {np.dtype(np.float16): 2.0**-11, np.dtype(np.float32): 2.0**-24,
                 np.dtype(np.float64): 2.0**-53}
SMALLEST = {np.dtype(np.float16): 2.0**-24, np.dtype(np.float32): 2.0**-149,
            np.dtype(np.float64): 2.0**-1074}
TYPES = [np.float16, np.float32, np.float64]

# m, k, n: what random shapes would not hit.
SPECIAL = [(1, 1, 1), (1, 700, 1), (1, 5, 700), (700, 5, 1), (1, 1, 700), (700, 1, 700),
           (0, 5, 7), (5, 0, 7), (5, 7, 0), (0, 0, 0), (0, 0, 5), (1, 0, 1),
           (2, 3, 5), (7, 11, 13), (97, 89, 83), (127, 131, 137), (251, 257, 263),
           (509, 503, 499), (691, 683, 677), (64, 64, 64), (256, 128, 512), (255, 257, 256)]


def shapes():
    random = np.random.default_rng(20)
    drawn = [tuple(int(extent) for extent in random.integers(1, 701, 3)) for _ in range(28)]
    return SPECIAL + drawn


def exact_product(a, b):
    """A B and |A| |B| with at least the precision that the bound speaks of."""
    wide = np.longdouble if np.float64 in (a.dtype, b.dtype) else np.float64
    return a.astype(wide) @ b.astype(wide), np.abs(a).astype(wide) @ np.abs(b).astype(wide)


def bound_of(a, b, exact, magnitude):
    """(k + 2) u sum |a| |b| for the sums, and one rounding to the type of the product."""
    product = np.result_type(a.dtype, b.dtype)
    summed = np.float64 if product == np.float64 else np.float32
    sums = (a.shape[1] + 2) * UNIT_ROUNDOFF[np.dtype(summed)] * magnitude
    if np.dtype(summed) == product:
        return sums
    return sums + UNIT_ROUNDOFF[product] * (np.abs(exact) + sums) + SMALLEST[product]


class MatmulAgainstNumPy(program.ProgramTest):
    def multiply(self, a, b, *options):
        self.save("A.npy", a)
        self.save("B.npy", b)
        result = self.run_program("matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu",
                                  *options)
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertEqual(self.files(), ["A.npy", "B.npy", "C.npy"])
        return self.load("C.npy")

    def check(self, a, b, *options):
        c = self.multiply(a, b, *options)
        self.assertEqual(c.dtype, np.result_type(a.dtype, b.dtype))
        self.assertEqual(c.shape, (a.shape[0], b.shape[1]))
        exact, magnitude = exact_product(a, b)
        error = np.abs(c.astype(exact.dtype) - exact)
        wrong = np.argwhere(~(error <= bound_of(a, b, exact, magnitude)))
        self.assertEqual(len(wrong), 0, f"{a.dtype} {a.shape} x {b.dtype} {b.shape}: {wrong[:3]}")
        return c

    def test_every_shape(self):
        all_shapes = shapes()
        self.assertGreaterEqual(len(all_shapes), 40)
        random = np.random.default_rng(21)
        for i, (m, k, n) in program.sample(enumerate(all_shapes), 16):
            # Every pair of types and every triple of orders comes up, each with many shapes.
            a_type, b_type = TYPES[i % 3], TYPES[(i // 3) % 3]
            a_order, b_order, c_order = ("CF"[(i >> bit) & 1] for bit in range(3))
            a = np.asarray(random.uniform(-1, 1, (m, k)), dtype=a_type, order=a_order)
            b = np.asarray(random.uniform(-1, 1, (k, n)), dtype=b_type, order=b_order)
            with self.subTest(m=m, k=k, n=n, a=a_type.__name__ + a_order,
                              b=b_type.__name__ + b_order, c=c_order):
                c = self.check(a, b, "--order", c_order)
                if min(c.shape) > 1:
                    self.assertTrue(c.flags.c_contiguous if c_order == "C" else
                                    c.flags.f_contiguous)

    def test_every_pair_of_types_in_every_order(self):
        random = np.random.default_rng(22)
        for a_type in TYPES:
            for b_type in TYPES:
                for orders in range(8):
                    a_order, b_order, c_order = ("CF"[(orders >> bit) & 1] for bit in range(3))
                    a = np.asarray(random.uniform(-1, 1, (37, 41)), dtype=a_type, order=a_order)
                    b = np.asarray(random.uniform(-1, 1, (41, 29)), dtype=b_type, order=b_order)
                    with self.subTest(a=a_type.__name__ + a_order, b=b_type.__name__ + b_order,
                                      c=c_order):
                        self.check(a, b, "--order", c_order)

    def test_small_integers_are_exact(self):
        random = np.random.default_rng(23)
        for a_type in TYPES:
            a = random.integers(-3, 4, (50, 60)).astype(a_type)
            b = random.integers(-3, 4, (60, 70)).astype(a_type)
            c = self.multiply(a, b)
            self.assertTrue(np.array_equal(c, a.astype(np.float64) @ b.astype(np.float64)))

    def test_versions_of_the_format(self):
        a, b = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
        self.save("B.npy", b)
        for version in ((1, 0), (2, 0), (3, 0)):
            with open(self.path("A.npy"), "wb") as file:
                np.lib.format.write_array(file, a, version=version)
            result = self.run_program("matmul", "A.npy", "B.npy", "-o", "C.npy")
            self.assertEqual(result.code, 0, result.err)
            self.assertTrue(np.array_equal(self.load("C.npy"), a @ b))

    def test_nothing_to_sum_is_zero(self):
        c = self.multiply(np.ones((3, 0), np.float32), np.ones((0, 4), np.float32))
        self.assertTrue(np.array_equal(c, np.zeros((3, 4), np.float32)))

    def test_nan_and_infinity_propagate(self):
        a = np.ones((3, 3), np.float32)
        b = np.ones((3, 3), np.float32)
        a[0, 1] = np.nan
        b[1, 2] = np.inf
        a[2, 1] = 0
        c = self.multiply(a, b)
        self.assertTrue(np.isnan(c[0]).all())
        self.assertTrue(np.array_equal(c[1], [3, 3, np.inf]))
        self.assertTrue(np.isnan(c[2, 2]), "0 times infinity")
        self.assertTrue(np.array_equal(c[2, :2], [2, 2]))

    def test_an_overflow_of_float16_is_infinity(self):
        a = np.full((1, 2), 300, np.float16)
        c = self.multiply(a, np.full((2, 1), -300, np.float16))
        self.assertEqual(c[0, 0], -np.inf)

    def test_sums_of_float16_are_not_rounded_in_between(self):
        # Summed in float16, 2048 + 1 would stay 2048.
        a = np.ones((1, 4000), np.float16)
        c = self.multiply(a, np.ones((4000, 1), np.float16))
        self.assertEqual(c[0, 0], 4000)

    def test_an_input_may_be_the_output(self):
        a = np.arange(9, dtype=np.float32).reshape(3, 3)
        self.save("A.npy", a)
        result = self.run_program("matmul", "A.npy", "A.npy", "-o", "A.npy")
        self.assertEqual(result.code, 0, result.err)
        self.assertTrue(np.array_equal(self.load("A.npy"), a @ a))
        self.assertEqual(self.files(), ["A.npy"])

    def test_the_summary(self):
        self.save("A.npy", np.ones((2, 3), np.float32))
        self.save("B.npy", np.ones((3, 4), np.float64))
        result = self.run_program("matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu")
        self.assertRegex(result.out, r"^C\.npy = A\.npy x B\.npy: 2 x 4 float64, cpu_blas on cpu "
                                     r"in [0-9.]+ [mun]?s, [0-9.]+ [kMG]FLOP/s\n$")
        self.assertEqual(result.err, "")

    def test_several_devices_give_the_bits_of_one(self):
        random = np.random.default_rng(7)
        self.save("A.npy", random.standard_normal((37, 61)).astype(np.float32))
        self.save("B.npy", random.standard_normal((61, 700)).astype(np.float32))
        common = ("matmul", "A.npy", "B.npy", "--variant", "general", "-o")
        one = self.run_program(*common, "one.npy", "--device", "emulated")
        self.assertEqual((one.code, one.err), (0, ""))
        for order in "CF":
            three = self.run_program(*common, "three.npy", "--order", order,
                                     "--devices", "emulated,emulated,emulated:t4")
            self.assertEqual((three.code, three.err), (0, ""))
            self.assertRegex(three.out, r"general on\s+emulated,emulated,emulated:t4 in ")
            self.assertTrue(np.array_equal(self.load("one.npy"), self.load("three.npy")))

    def test_several_devices_refuse_what_they_cannot_do(self):
        self.save("A.npy", np.ones((2, 3, 3), np.float32))
        self.save("B.npy", np.ones((3, 3), np.float32))
        product = ("matmul", "B.npy", "B.npy", "-o", "C.npy", "--devices")
        for arguments, message in (
                ((*product, "emulated", "--resume"), "--devices does not work with --resume"),
                ((*product, "emulated", "--device-memory", "1GiB"), "with --device-memory"),
                ((*product, "cpu"), "the cpu device takes no part"),
                ((*product, "emulated,"), "no such device"),
                (("matmul", "A.npy", "B.npy", "-o", "C.npy", "--devices", "emulated"),
                 "not for a batch")):
            result = self.run_program(*arguments)
            self.assertEqual(result.code, 2, result.err)
            self.assertIn(message, result.err)
            self.assertEqual(result.err.count("\n"), 1, result.err)
            self.assertEqual(self.files(), ["A.npy", "B.npy"])


if __name__ == "__main__":
    program.main()
