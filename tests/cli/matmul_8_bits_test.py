"""tilescope matmul with operands of 8 bits: scaled floats, bits in bytes, whole numbers."""

import json
import unittest

import numpy as np

import program

# Significant bits, least exponent of a normal number, largest value.
FORMATS = {"fp8_e4m3": (4, -6, 448.0), "fp8_e5m2": (3, -14, 57344.0)}


def quantised(x, precision):
    """The matrix rounded to nearest even after a division by a power of two, and that power."""
    bits, least, largest = FORMATS[precision]
    scale = 2.0 ** np.ceil(np.log2(np.abs(x).max() / largest))
    y = x.astype(np.float64) / scale
    exponent = np.maximum(np.floor(np.log2(np.where(y == 0, 1.0, np.abs(y)))), least)
    step = 2.0 ** (exponent - (bits - 1))
    return np.round(y / step) * step, scale


def value_of_byte(byte):
    """A float8_e4m3fn that is finite."""
    exponent, mantissa = byte >> 3 & 15, byte & 7
    size = np.where(exponent, (8 + mantissa) * 2.0 ** (exponent - 10.0), mantissa * 2.0**-9)
    return np.where(byte & 128, -size, size)


class MatmulOf8Bits(program.ProgramTest):
    def multiply(self, a, b, *options):
        self.save("A.npy", a)
        self.save("B.npy", b)
        result = self.run_program("matmul", "A.npy", "B.npy", "-o", "C.npy", "--json", "-",
                                  *options)
        self.assertEqual((result.code, result.err), (0, ""), result.out)
        return self.load("C.npy"), json.loads(result.out)

    def refused(self, a, b, code, words, *options):
        self.save("A.npy", a)
        self.save("B.npy", b)
        result = self.run_program("matmul", "A.npy", "B.npy", "-o", "C.npy", *options)
        self.assertEqual(result.code, code, result.err)
        self.assertIn(words, result.err)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        self.assertNotIn("C.npy", self.files())

    def matrices(self, a_type=np.float32, b_type=np.float32):
        random = np.random.default_rng(8)
        return ((5.0 * random.standard_normal((33, 150))).astype(a_type),
                random.standard_normal((150, 21)).astype(b_type))

    def test_wider_matrices_are_scaled_and_rounded(self):
        for precision in FORMATS:
            for types in ((np.float32, np.float32), (np.float64, np.float16)):
                a, b = self.matrices(*types)
                for device in ("cpu", "emulated"):
                    c, report = self.multiply(a, b, "--precision", precision, "--device", device)
                    self.assertEqual(c.dtype, np.result_type(*types))
                    left, scale_a = quantised(a, precision)
                    right, scale_b = quantised(b, precision)
                    self.assertEqual((report["precision"], report["scale_a"], report["scale_b"]),
                                     (precision, scale_a, scale_b))
                    scale = scale_a * scale_b
                    bound = 152 * 2.0**-24 * (np.abs(left) @ np.abs(right)) * scale
                    self.assertTrue((np.abs(c - left @ right * scale) <= bound).all())

    def test_the_kernel_for_hopper_keeps_its_bound(self):
        a, b = self.matrices()
        for precision in FORMATS:
            c, report = self.multiply(a, b, "--precision", precision, "--device", "emulated",
                                      "--variant", "tensor_tiles")
            self.assertEqual(report["variant"], "tensor_tiles")
            (left, scale_a), (right, scale_b) = quantised(a, precision), quantised(b, precision)
            scale = scale_a * scale_b
            bound = (136 * 2.0**-13 + 152 * 2.0**-24) * (np.abs(left) @ np.abs(right)) * scale
            self.assertTrue((np.abs(c - left @ right * scale) <= bound).all())

    def test_bytes_hold_8_bit_floats(self):
        random = np.random.default_rng(9)
        a = random.integers(0, 0x7F, (9, 140)).astype(np.uint8)
        b = random.integers(0x80, 0xFF, (140, 12)).astype(np.uint8)
        left, right = value_of_byte(a), value_of_byte(b)
        for options in ((), ("--device", "emulated", "--variant", "general")):
            c, report = self.multiply(a, b, "--precision", "fp8_e4m3", "--alpha", "0.5", *options)
            self.assertEqual(c.dtype, np.float32)
            self.assertEqual((report["scale_a"], report["scale_b"]), (1.0, 1.0))
            bound = 142 * 2.0**-24 * (np.abs(left) @ np.abs(right))
            self.assertTrue((np.abs(c - left @ right / 2) <= bound).all())

    def test_scales_by_their_shapes(self):
        random = np.random.default_rng(11)
        m, n, k = 20, 140, 300
        a = random.integers(0x20, 0x48, (m, k)).astype(np.uint8)
        b = random.integers(0xA0, 0xC8, (k, n)).astype(np.uint8)
        steps, columns = np.arange(k) // 128, np.arange(n) // 128

        def factors(*shape):
            return np.exp2(random.uniform(-4, 4, shape)).astype(np.float32)

        number, rows, a_blocks = factors(), factors(m), factors(m, 3)
        by_column, b_blocks = factors(n).astype(np.float64), np.asfortranarray(factors(3, 2))
        for of_a, wide_a, of_b, wide_b in (
                (number, number, by_column, by_column), (rows, rows[:, None], number, number),
                (a_blocks, a_blocks[:, steps], b_blocks, b_blocks[np.ix_(steps, columns)])):
            self.save("SA.npy", of_a)
            self.save("SB.npy", of_b)
            left, right = value_of_byte(a) * wide_a, value_of_byte(b) * wide_b
            for options in ((), ("--device", "emulated"),
                            ("--device", "emulated", "--variant", "tensor_tiles")):
                c, _ = self.multiply(a, b, "--precision", "fp8_e4m3", "--scale-a", "SA.npy",
                                     "--scale-b", "SB.npy", *options)
                bound = (136 * 2.0**-13 + (k + 4) * 2.0**-24) * (np.abs(left) @ np.abs(right))
                self.assertTrue((np.abs(c - left @ right) <= bound).all(), options)

    def test_scales_that_do_not_fit(self):
        random = np.random.default_rng(12)
        a = random.integers(0x20, 0x48, (20, 300)).astype(np.uint8)
        b = random.integers(0x20, 0x48, (300, 140)).astype(np.uint8)
        scales = ("--precision", "fp8_e4m3", "--scale-a", "SA.npy")
        self.save("SA.npy", np.ones((20, 2), np.float32))
        self.refused(a, b, 2, "the scales of A are 20 x 2: expected 1 x 1, 20 x 1 or 20 x 3",
                     *scales)
        self.save("SA.npy", np.ones((1, 1, 1), np.float32))
        self.refused(a, b, 4, "scales have at most two dimensions, not 3", *scales)
        self.save("SA.npy", np.ones(33, np.float32))
        self.refused(*self.matrices(), 2, "scales belong to 8-bit floats", "--scale-a", "SA.npy")

    def test_whole_numbers_are_exact(self):
        random = np.random.default_rng(10)
        a = random.integers(-128, 128, (45, 333)).astype(np.int8)
        b = random.integers(-128, 128, (333, 17)).astype(np.int8)
        for options in (("--device", "cpu"), ("--device", "emulated"), ("--precision", "int8"),
                        ("--device", "emulated", "--variant", "tensor_tiles"), ("--order", "F")):
            c, report = self.multiply(a, b, *options)
            self.assertEqual(c.dtype, np.int32)
            self.assertEqual(report["precision"], "int8")
            self.assertTrue(np.array_equal(c, a.astype(np.int32) @ b.astype(np.int32)), options)

    def test_what_does_not_fit_is_refused_in_a_line(self):
        a, b = self.matrices()
        whole = np.ones((150, 21), np.int8)
        self.refused(a, b, 2, "in int8 matmul takes int8", "--precision", "int8")
        self.refused(a, whole, 2, "B is int8: int8 goes with int8 alone")
        self.refused(whole.T, whole, 2, "leave out alpha", "--alpha", "2")
        self.refused(a.astype(np.uint8), b.astype(np.uint8), 4, "--precision fp8_e4m3")
        self.refused(a, b, 2, "--precision fp8_e4m3 does not work with --device-memory",
                     "--precision", "fp8_e4m3", "--device", "emulated", "--device-memory", "1MiB")
        self.refused(whole.T, whole, 2, "a product of int8 does not work with --device-memory",
                     "--device", "emulated", "--device-memory", "1MiB")
        self.refused(a, b, 2, "one device computes such products",
                     "--precision", "fp8_e5m2", "--devices", "emulated,emulated")


if __name__ == "__main__":
    unittest.main()
