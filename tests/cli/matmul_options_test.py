"""tilescope matmul's options against NumPy: precisions, factors, bias, activations, transposed
operands, batches; and the combinations that it refuses."""

import json
import math
import unittest

import numpy as np

import program

USAGE, BAD_INPUT = 2, 4
DEVICES = ("cpu", "emulated")


def gelu(x):
    return x / 2 * np.vectorize(math.erfc)(-x / math.sqrt(2))


def rounded(a, precision):
    """A float32 array as a precision multiplies it, in float64."""
    if precision == "fp16":
        return a.astype(np.float16).astype(np.float64)
    bits = a.view(np.uint32)
    if precision == "tf32":
        bits = bits & np.uint32(0xFFFFE000)
    if precision == "bf16":
        bits = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) & np.uint32(
            0xFFFF0000)
    return bits.view(np.float32).astype(np.float64)


class MatmulOptions(program.ProgramTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(7)
        self.a = random.uniform(-1, 1, (23, 37)).astype(np.float32)
        self.b = random.uniform(-1, 1, (37, 19)).astype(np.float32)
        self.c0 = random.uniform(-1, 1, (23, 19)).astype(np.float32)
        self.bias = random.uniform(-1, 1, 19).astype(np.float32)
        for name, array in (("A", self.a), ("B", self.b), ("C0", self.c0), ("bias", self.bias)):
            self.save(name + ".npy", array)

    def multiply(self, device, *options, a="A.npy", b="B.npy"):
        result = self.run_program("matmul", a, b, "-o", "C.npy", "--device", device, *options)
        self.assertEqual((result.code, result.err), (0, ""))
        return self.load("C.npy")

    def assert_close(self, c, expected, magnitude, k):
        """Within (k + 2) u of the sum of magnitudes, float32 sums and a float32 result."""
        self.assertEqual(c.dtype, np.float32)
        self.assertEqual(c.shape, expected.shape)
        bound = (k + 2) * 2.0**-24 * magnitude + 2.0**-24 * np.abs(expected)
        self.assertTrue((np.abs(c - expected) <= 1.13 * bound).all())

    def test_precisions(self):
        for device in DEVICES:
            for precision in ("auto", "fp32", "fp32_fast", "tf32", "bf16", "fp16"):
                with self.subTest(device=device, precision=precision):
                    a, b = rounded(self.a, precision), rounded(self.b, precision)
                    c = self.multiply(device, "--precision", precision)
                    self.assert_close(c, a @ b, np.abs(a) @ np.abs(b), 37)

    def test_float64_arithmetic_for_float32_matrices(self):
        exact = self.a.astype(np.longdouble) @ self.b.astype(np.longdouble)
        for device in DEVICES:
            c = self.multiply(device, "--precision", "fp64")
            self.assertEqual(c.dtype, np.float32)
            self.assertTrue((np.abs(c - exact) <= 2.0**-24 * np.abs(exact) * 1.001).all())

    def test_float32_arithmetic_for_float64_matrices(self):
        a = self.a.astype(np.float64) * (1 + 2.0**-30)
        self.save("A.npy", a)
        for device in DEVICES:
            c = self.multiply(device, "--precision", "fp32")
            self.assertEqual(c.dtype, np.float64)
            narrow = a.astype(np.float32).astype(np.float64)
            self.assert_close(c.astype(np.float32), narrow @ self.b.astype(np.float64),
                              np.abs(narrow) @ np.abs(self.b).astype(np.float64), 37)

    def test_everything_at_once(self):
        a, b = self.a.astype(np.float64), self.b.astype(np.float64)
        value = -1.5 * (a @ b) + 0.5 * self.c0 + self.bias
        magnitude = 1.5 * (np.abs(a) @ np.abs(b)) + 0.5 * np.abs(self.c0) + np.abs(self.bias)
        self.save("AT.npy", np.ascontiguousarray(self.a.T))
        self.save("BT.npy", np.asfortranarray(self.b.T))
        for device in DEVICES:
            for order in "CF":
                for name, function in (("relu", lambda x: np.maximum(x, 0)), ("gelu", gelu)):
                    with self.subTest(device=device, order=order, activation=name):
                        c = self.multiply(device, "--alpha", "-1.5", "--beta", "0.5",
                                          "--accumulate", "C0.npy", "--bias", "bias.npy",
                                          "--activation", name, "--order", order, "--transpose-a",
                                          "--transpose-b", a="AT.npy", b="BT.npy")
                        self.assertEqual(c.flags.f_contiguous, order == "F")
                        self.assert_close(c, function(value), magnitude, 37)
        self.assertTrue((self.load("C0.npy") == self.c0).all())

    def test_accumulating_adds_once_without_beta(self):
        c = self.multiply("cpu", "--accumulate", "C0.npy")
        self.assertTrue(np.allclose(c, self.a @ self.b + self.c0, atol=1e-4))

    def test_the_result_has_the_type_of_what_is_added_to(self):
        self.save("C0.npy", self.c0.astype(np.float64))
        self.assertEqual(self.multiply("cpu", "--accumulate", "C0.npy").dtype, np.float64)

    def test_nothing_to_sum_leaves_the_rest(self):
        self.save("A.npy", np.zeros((23, 0), np.float32))
        self.save("B.npy", np.zeros((0, 19), np.float32))
        for device in DEVICES:
            c = self.multiply(device, "--accumulate", "C0.npy", "--beta", "2", "--bias", "bias.npy")
            self.assertTrue((c == (2 * self.c0.astype(np.float64) + self.bias).astype(np.float32))
                            .all())

    def test_batches(self):
        random = np.random.default_rng(8)
        many_a = random.uniform(-1, 1, (3, 23, 37)).astype(np.float32)
        many_b = random.uniform(-1, 1, (3, 37, 19)).astype(np.float32)
        self.save("As.npy", many_a)
        self.save("Bs.npy", many_b)
        self.save("C0s.npy", np.ones((3, 23, 19), np.float32))
        for device in DEVICES:
            for a, b, names in ((many_a, many_b, ("As.npy", "Bs.npy")),
                                (self.a, many_b, ("A.npy", "Bs.npy")),
                                (many_a, self.b, ("As.npy", "B.npy"))):
                with self.subTest(device=device, names=names):
                    c = self.multiply(device, "--accumulate", "C0s.npy", a=names[0], b=names[1])
                    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
                    self.assert_close(c, wide_a @ wide_b + 1,
                                      np.abs(wide_a) @ np.abs(wide_b) + 1, 37)
        self.save("As.npy", np.ascontiguousarray(many_a.transpose(0, 2, 1)))
        c = self.multiply("cpu", "--transpose-a", a="As.npy", b="Bs.npy")
        self.assertTrue(np.allclose(c, many_a @ many_b, atol=1e-4))
        self.save("As.npy", np.zeros((0, 23, 37), np.float32))
        self.assertEqual(self.multiply("cpu", a="As.npy").shape, (0, 23, 19))
        for device in ("cpu", "emulated"):
            said = self.run_program("matmul", "As.npy", "B.npy", "-o", "C.npy", "--device", device)
            self.assertIn("0 x 23 x 19 float32, none (no products to sum)", said.out)

    def test_what_is_said(self):
        result = self.run_program("matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu",
                                  "--precision", "fp32_fast", "--alpha", "2", "--accumulate",
                                  "C0.npy", "--bias", "bias.npy", "--activation", "relu",
                                  "--json", "r.json")
        self.assertEqual(result.code, 0)
        said = " ".join(result.out.split())
        self.assertRegex(said, r"^C\.npy = relu\(2 \* A\.npy x B\.npy \+ C0\.npy \+ bias\.npy\): "
                               r"23 x 19 float32, cpu_blas \(fp32_fast\) on cpu in .*; "
                               r"computed as fp32$")
        with open(self.path("r.json"), encoding="utf-8") as file:
            said = json.load(file)
        self.assertEqual((said["precision"], said["note"], said["batch"], said["variant"]),
                         ("fp32_fast", "computed as fp32", 1, "cpu_blas"))

    def test_kernels_by_name(self):
        result = self.run_program("matmul", "A.npy", "B.npy", "-o", "C.npy", "--device",
                                  "emulated", "--variant", "general", "--json", "-")
        self.assertEqual(json.loads(result.out)["variant"], "general")

    # --- refusals ---------------------------------------------------------------------------------

    def assert_refused(self, code, message, *options):
        self.assert_fails(code, message, "matmul", "A.npy", "B.npy", "-o", "C.npy", *options)
        self.assertNotIn("C.npy", self.files())

    def test_what_does_not_go_together(self):
        self.assert_refused(USAGE, "--beta needs --accumulate C0.npy: it is the factor of the "
                            "matrix that the product is added to", "--beta", "2")
        self.assert_refused(USAGE, "--beta 0 would ignore --accumulate: leave both out",
                            "--beta", "0", "--accumulate", "C0.npy")
        self.assert_refused(USAGE, "--alpha and --beta must be finite, and one is nan",
                            "--alpha", "nan")
        for option, *options in (("precision bf16", "--precision", "bf16"),
                                 ("alpha", "--alpha", "2"), ("beta", "--accumulate", "C0.npy"),
                                 ("bias", "--bias", "bias.npy"),
                                 ("activation", "--activation", "relu")):
            self.assert_refused(USAGE, "variant tiled_16 computes A * B in fp32 or fp64 and "
                                f"nothing else: it takes no {option}; use general", "--variant",
                                "tiled_16", "--device", "emulated", *options)

    def test_products_in_tiles_are_plain(self):
        for option, *options in (("--precision bf16", "--precision", "bf16"),
                                 ("--alpha", "--alpha", "2"),
                                 ("--accumulate", "--accumulate", "C0.npy"),
                                 ("--bias", "--bias", "bias.npy"),
                                 ("--activation", "--activation", "relu"),
                                 ("--variant mma_sync", "--variant", "mma_sync")):
            self.assert_refused(USAGE, option + " does not work with --device-memory: products in "
                                "tiles are fp32 and A * B alone", "--device-memory", "1MiB",
                                "--device", "cpu", *options)
        c = self.multiply("cpu", "--device-memory", "1MiB", "--precision", "fp32")
        self.assertTrue((c == self.multiply("cpu")).all())

    def test_transposed_operands_in_tiles(self):
        self.save("A.npy", np.ascontiguousarray(self.a.T))
        c = self.multiply("cpu", "--device-memory", "1MiB", "--transpose-a")
        self.assertTrue(np.allclose(c, self.a @ self.b, atol=1e-4))

    def test_files_that_do_not_fit(self):
        self.assert_refused(USAGE, "'A.npy' transposed is 37 x 23 and 'B.npy' is 37 x 19: the "
                            "first's 23 columns must equal the second's 37 rows", "--transpose-a")
        self.assert_refused(USAGE, "'A.npy' has shape (23, 37) and the product (23, 19): the "
                            "matrix to which it is added must have the product's shape",
                            "--accumulate", "A.npy")
        self.save("bias.npy", np.ones(18, np.float32))
        self.assert_refused(USAGE, "'bias.npy' has 18 values: a bias needs one for each of the 19 "
                            "columns of the product", "--bias", "bias.npy")
        self.assert_refused(BAD_INPUT, "'C0.npy': a list is needed, with 1 dimension, and shape "
                            "(23, 19) has 2; save a.ravel()", "--bias", "C0.npy")
        self.save("bias.npy", np.ones(19, np.int32))
        self.assert_refused(BAD_INPUT, "'bias.npy': its elements are int32; matmul takes float16, "
                            "float32 and float64 (in NumPy: a.astype('<f4'))", "--bias",
                            "bias.npy")

    def test_batches_that_do_not_fit(self):
        self.save("A.npy", np.ones((3, 23, 37), np.float32))
        self.assert_refused(USAGE, "--order F is for one matrix: a batch is written in C order",
                            "--order", "F")
        self.assert_refused(USAGE, "a batch of matrices does not work with --device-memory: products "
                            "in tiles are fp32 and A * B alone", "--device-memory", "1MiB",
                            "--device", "cpu")
        self.save("B.npy", np.ones((2, 37, 19), np.float32))
        self.assert_refused(USAGE, "'A.npy' has 3 matrices and 'B.npy' has 2: batches need equally "
                            "many")
        self.save("A.npy", np.asfortranarray(np.ones((3, 23, 37), np.float32)))
        self.assert_refused(BAD_INPUT, "'A.npy': a batch of matrices must lie in C order, one "
                            "behind the other; save numpy.ascontiguousarray(a)")


if __name__ == "__main__":
    program.main()
