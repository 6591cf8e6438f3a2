"""tilescope.matmul() of NumPy arrays: the command's bits, shapes as NumPy's, errors of one line."""

import threading
import unittest

import numpy
import tilescope

import command

RANDOM = numpy.random.default_rng(7)


def draw(*shape, dtype="float32"):
    return RANDOM.uniform(-1, 1, shape).astype(dtype)


class Groups(unittest.TestCase):
    def test_products_of_different_shapes(self):
        shapes = [(3, 5, 7), (64, 33, 70), (1, 1, 1), (0, 4, 2), (5, 6, 0), (130, 66, 40)]
        for device in ("cpu", "emulated"):
            for dtype in ("float32", "float64", "float16"):
                a = [draw(m, k, dtype=dtype) for m, _, k in shapes]
                b = [draw(n, k, dtype=dtype).T for _, n, k in shapes]
                products = tilescope.matmul_grouped(a, b, device=device)
                for left, right, product in zip(a, b, products):
                    exact = left.astype("float64") @ right.astype("float64")
                    self.assertEqual((product.dtype, product.shape), (left.dtype, exact.shape))
                    numpy.testing.assert_allclose(product, exact, rtol=2e-3, atol=2e-2)

    def test_results_of_the_caller(self):
        a, b = [draw(4, 3), draw(9, 2)], [draw(3, 4), draw(2, 8)]
        out = [draw(4, 4), draw(9, 8)]
        expected = [2 * x @ y - z for x, y, z in zip(a, b, out)]
        results = tilescope.matmul_grouped(a, b, out, precision="fp32", alpha=2.0, beta=-1.0)
        for result, right, written in zip(results, expected, out):
            self.assertIs(result, written)
            numpy.testing.assert_allclose(written, right, rtol=1e-5, atol=1e-5)

    def test_mistakes(self):
        self.assertEqual(tilescope.matmul_grouped([], []), [])
        for a, b, out, message in (
                ([draw(2, 3)], [], None, "a has 1 matrices and b 0"),
                ([draw(2, 3)], [draw(2, 3)], None, "product 0: a has shape"),
                ([draw(2, 3)], [draw(3, 2)], [draw(3, 3)], r"out\[0\] has shape"),
                ([draw(2, 3), draw(2, 3, dtype="float64")], [draw(3, 2)] * 2, None,
                 "the matrices of A differ: product 0 has float32, product 1 float64")):
            with self.assertRaisesRegex(ValueError, message):
                tilescope.matmul_grouped(a, b, out)


class SameAsTheCommand(unittest.TestCase):
    def compare(self, a, b, *options, **keywords):
        keywords.setdefault("precision", "auto")
        expected = command.run(["matmul", "a.npy", "b.npy", "-o", "out.npy", *options], a=a, b=b)
        product = tilescope.matmul(a, b, **keywords)
        self.assertTrue(command.same_bits(product, expected), (a.shape, b.shape, options))

    def test_shapes(self):
        for m, n, k in [(1, 1, 1), (37, 29, 53), (128, 128, 128), (5, 300, 2), (64, 1, 100)]:
            self.compare(draw(m, k), draw(k, n))

    def test_precisions(self):
        a, b = draw(65, 70), draw(70, 33)
        for precision in ("fp32", "fp32_fast", "tf32", "bf16", "fp16", "fp64", "fp8_e4m3",
                          "fp8_e5m2"):
            self.compare(a, b, "--precision", precision, precision=precision)

    def test_whole_numbers(self):
        a = RANDOM.integers(-128, 128, (21, 70)).astype("int8")
        b = RANDOM.integers(-128, 128, (70, 12)).astype("int8")
        self.compare(a, b)
        for product in (tilescope.matmul(a, b), tilescope.matmul(a, b[:, 0], precision="int8")):
            self.assertEqual(product.dtype, "int32")
        self.assertTrue((tilescope.matmul(a, b) == a.astype("int32") @ b.astype("int32")).all())
        with self.assertRaisesRegex(ValueError, "int8 goes with int8 alone"):
            tilescope.matmul(a, draw(70, 3), out=draw(21, 3))

    def test_types(self):
        for left in ("float16", "float32", "float64"):
            for right in ("float16", "float32", "float64"):
                self.compare(draw(19, 40, dtype=left), draw(40, 23, dtype=right))

    def test_device_and_variant(self):
        a, b = draw(40, 50), draw(50, 30)
        self.compare(a, b, "--device", "emulated", "--variant", "tiled_16", device="emulated",
                     variant="tiled_16")
        self.compare(a, b, "--device", "emulated", "--precision", "bf16", device="emulated",
                     precision="bf16")

    def test_several_devices(self):
        devices = "emulated,emulated"
        self.compare(draw(600, 40), draw(40, 300), "--devices", devices, device=devices)

    def test_batches(self):
        self.compare(draw(4, 10, 20), draw(4, 20, 15))
        self.compare(draw(4, 10, 20), draw(20, 15))
        self.compare(draw(10, 20), draw(3, 20, 15))

    def test_without_elements(self):
        for m, n, k in [(0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0)]:
            self.compare(draw(m, k), draw(k, n))

    def test_epilogue(self):
        a, b, c, bias = draw(31, 20), draw(20, 17), draw(31, 17), draw(17)
        expected = command.run(
            ["matmul", "a.npy", "b.npy", "-o", "out.npy", "--alpha", 0.5, "--accumulate", "c.npy",
             "--beta", -2, "--bias", "bias.npy", "--activation", "gelu"], a=a, b=b, c=c, bias=bias)
        out = c.copy()
        result = tilescope.matmul(a, b, out=out, alpha=0.5, beta=-2, bias=bias, activation="gelu")
        self.assertIs(result, out)
        self.assertTrue(command.same_bits(out, expected))


class DefaultPrecision(unittest.TestCase):
    """That of the elements, and fp32_fast for float32."""

    def chosen(self, left, right, out, variant=""):
        a, b, c = draw(4, 5, dtype=left), draw(5, 3, dtype=right), draw(4, 3, dtype=out)
        return tilescope._tilescope.matmul(a, b, c, None, None, None, 1.0, 0.0, variant,
                                           "emulated").precision

    def test_it_follows_the_types(self):
        half, single, double = "float16", "float32", "float64"
        for types, precision in [((half, half, half), "fp16"), ((half, half, single), "fp16"),
                                 ((half, single, single), "fp32_fast"),
                                 ((single, single, single), "fp32_fast"),
                                 ((single, single, double), "fp64"),
                                 ((half, double, double), "fp64")]:
            self.assertEqual(self.chosen(*types), precision, types)

    def test_a_variant_has_its_own(self):
        self.assertEqual(self.chosen("float32", "float32", "float32", "tiled_16"), "fp32")

    def test_the_bits_are_those_of_the_precision(self):
        a, b = draw(64, 256, dtype="float16"), draw(256, 64, dtype="float16")
        named = [tilescope.matmul(a, b, precision=precision, device="emulated")
                 for precision in (None, "fp16", "auto")]
        self.assertTrue(command.same_bits(named[0], named[1]))
        self.assertFalse(command.same_bits(named[0], named[2]))  # summed in another order


class Layouts(unittest.TestCase):
    """Strided operands are those of the dense copy, without the caller copying."""

    def test_strides(self):
        base, other = draw(60, 80), draw(80, 90)
        dense = tilescope.matmul(base[::2, ::4].copy(), other[::4, 5:40].copy())
        self.assertTrue(command.same_bits(
            tilescope.matmul(base[::2, ::4], other[::4, 5:40]), dense))
        reverse = tilescope.matmul(base[::-1, ::-1].copy(), other.copy())
        self.assertTrue(command.same_bits(tilescope.matmul(base[::-1, ::-1], other), reverse))

    def test_transposed_operands_are_as_the_command_reads_them(self):
        a, b = draw(20, 31), draw(45, 20)
        expected = command.run(["matmul", "a.npy", "b.npy", "-o", "out.npy", "--transpose-a",
                                "--transpose-b"], a=a, b=b)
        self.assertTrue(command.same_bits(tilescope.matmul(a.T, b.T), expected))

    def test_out_of_any_strides(self):
        a, b = draw(12, 20), draw(20, 9)
        # BLAS computes a column-major C as its transpose, whose sums it may add in another order.
        by_rows, by_columns = tilescope.matmul(a, b), tilescope.matmul(b.T, a.T).T
        for make, expected in (
                (lambda: numpy.zeros((24, 27), "float32")[::2, ::3], by_rows),
                (lambda: numpy.zeros((9, 12), "float32").T, by_columns),
                (lambda: numpy.zeros((12, 9), "float32")[::-1], by_rows)):
            out = make()
            tilescope.matmul(a, b, out=out)
            numpy.testing.assert_array_equal(out, expected)
        wide = numpy.full((24, 27), 7, "float32")
        tilescope.matmul(a, b, out=wide[::2, ::3])
        self.assertEqual(numpy.count_nonzero(wide == 7), wide.size - expected.size)

    def test_out_may_be_an_operand(self):
        a, b = draw(16, 16), draw(16, 16)
        expected = tilescope.matmul(a, b)
        tilescope.matmul(a, b, out=a)
        numpy.testing.assert_array_equal(a, expected)

    def test_lists(self):
        a, b, list_ = draw(3, 8, 5), draw(5, 9), draw(5)
        for left, right in [(list_, list_), (list_, b), (a, list_), (b.T, list_)]:
            product = tilescope.matmul(left, right)
            expected = numpy.matmul(left, right)
            self.assertEqual(product.shape, expected.shape)
            numpy.testing.assert_allclose(product, expected, rtol=1e-5, atol=1e-6)

    def test_read_only_operands(self):
        a, b = draw(4, 5), draw(5, 6)
        expected = tilescope.matmul(a, b)
        a.flags.writeable = False
        numpy.testing.assert_array_equal(tilescope.matmul(a, b), expected)


class Errors(unittest.TestCase):
    def fails(self, kind, *words, **arguments):
        with self.assertRaises(kind) as caught:
            tilescope.matmul(**arguments)
        text = str(caught.exception)
        self.assertNotIn("\n", text)
        for word in words:
            self.assertIn(word, text)

    def test_shapes(self):
        self.fails(ValueError, "(3, 4)", "(3, 4)", a=draw(3, 4), b=draw(3, 4))
        self.fails(ValueError, "1 to 3", a=draw(1, 2, 3, 4), b=draw(4, 4))
        self.fails(ValueError, "(2, 3, 4)", a=draw(2, 3, 4), b=draw(3, 4, 5))
        self.fails(ValueError, "out", "(3, 5)", a=draw(3, 4), b=draw(4, 5), out=draw(5, 3))
        self.fails(ValueError, "bias", "3 values", a=draw(3, 4), b=draw(4, 5), bias=draw(3))
        self.fails(ValueError, "bias", a=draw(3, 4), b=draw(4, 5), bias=draw(0))

    def test_types(self):
        self.fails(TypeError, "int32", a=draw(3, 4, dtype="int32"), b=draw(4, 5))
        self.fails(TypeError, "complex64", a=draw(3, 4, dtype="complex64"), b=draw(4, 5))
        self.fails(TypeError, "int8", a=draw(3, 4), b=draw(4, 5), bias=draw(5, dtype="int8"))

    def test_options(self):
        a, b = draw(3, 4), draw(4, 5)
        self.fails(ValueError, "fp32", a=a, b=b, precision="fp31")
        self.fails(ValueError, "gelu", a=a, b=b, activation="tanh")
        self.fails(ValueError, "tiled_16", a=a, b=b, variant="tiled_17", device="emulated")
        self.fails(ValueError, "beta", a=a, b=b, beta=1)
        self.fails(tilescope.UsageError, "tpu", a=a, b=b, device="tpu")
        self.fails(tilescope.UsageError, "batch", a=draw(2, 3, 4), b=b, device="emulated,emulated")

    def test_read_only_result(self):
        out = numpy.zeros((3, 5), "float32")
        out.flags.writeable = False
        self.fails(ValueError, "read-only", a=draw(3, 4), b=draw(4, 5), out=out)
        self.assertFalse(out.any())


class Threads(unittest.TestCase):
    def test_products_of_many_threads(self):
        problems = [(draw(60, 50), draw(50, 40)) for _ in range(8)]
        expected = [tilescope.matmul(a, b) for a, b in problems]
        results = [None] * len(problems)

        def multiply(i):
            for _ in range(20):
                results[i] = tilescope.matmul(*problems[i])

        threads = [threading.Thread(target=multiply, args=(i,)) for i in range(len(problems))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result, product in zip(results, expected):
            self.assertTrue(command.same_bits(result, product))


if __name__ == "__main__":
    unittest.main()
