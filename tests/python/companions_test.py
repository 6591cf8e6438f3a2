"""The companion operations on NumPy arrays: the command's bits, every type and stride, errors."""

import unittest

import numpy
import tilescope

import command

RANDOM = numpy.random.default_rng(8)
TYPES = ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
         "uint32", "uint64", "bool")


def draw(*shape, dtype="float32"):
    return RANDOM.uniform(-100, 100, shape).astype(dtype)


class SameAsTheCommand(unittest.TestCase):
    def same(self, ours, arguments, **arrays):
        self.assertTrue(command.same_bits(ours, command.run(arguments, **arrays)), arguments)

    def test_elementwise(self):
        for dtype in ("float32", "float64"):
            x, y = draw(7, 33, dtype=dtype), draw(7, 33, dtype=dtype)
            for device in ("cpu", "emulated"):
                on = {"device": device}
                self.same(tilescope.saxpb(1.5, x, -3, **on),
                          ["saxpb", "x.npy", "-a", 1.5, "-b", -3, "-o", "out.npy",
                           "--device", device], x=x)
                self.same(tilescope.vector_add(x, y, **on),
                          ["vector_add", "x.npy", "y.npy", "-o", "out.npy", "--device", device],
                          x=x, y=y)
                self.same(tilescope.scale(x, 0.1, **on),
                          ["scale", "x.npy", "-f", 0.1, "-o", "out.npy", "--device", device], x=x)

    def test_grids(self):
        x = draw(21, 34)
        self.same(tilescope.laplacian(x, iterations=5, center=0.2, side=0.2),
                  ["laplacian", "x.npy", "-o", "out.npy", "--iterations", 5, "--center", 0.2,
                   "--side", 0.2], x=x)
        for image in (draw(20, 31, dtype="uint8"), draw(9, 12, 3, dtype="uint8")):
            self.same(tilescope.blur(image, 2),
                      ["blur", "x.npy", "-o", "out.npy", "--radius", 2], x=image)

    def test_histograms(self):
        for x, bins, range_ in [(draw(500, dtype="uint8"), 16, None),
                                (draw(500, dtype="int16"), 100, (-50, 50)),
                                (draw(500), 10, (-1.0, 60.0))]:
            options = ["--range", f"{range_[0]},{range_[1]}"] if range_ else []
            self.same(tilescope.histogram(x, bins, range_),
                      ["histogram", "x.npy", "--bins", bins, *options, "-o", "out.npy"], x=x)

    def test_reductions(self):
        for dtype in ("float32", "float64", "int32"):
            x = draw(50, 30, dtype=dtype)
            self.assertEqual(tilescope.reduce(x, "max"), x.max())
            self.assertEqual(tilescope.reduce(x, "min"), x.min())
            self.assertEqual(tilescope.reduce(x, "argmax"), x.argmax())
            self.assertAlmostEqual(tilescope.reduce(x), x.sum(dtype="float64"), delta=1e-3)
        self.assertIsInstance(tilescope.reduce(numpy.arange(5, dtype="int32")), int)


class Arrays(unittest.TestCase):
    """Elements of every type, with any strides, arrive and come back."""

    def test_types(self):
        for dtype in TYPES:
            x = RANDOM.integers(0, 2 if dtype == "bool" else 100, (5, 8)).astype(dtype)
            numpy.testing.assert_array_equal(tilescope.transpose(x), x.T)
            numpy.testing.assert_array_equal(tilescope.reverse(x[0]), x[0][::-1])

    def test_strides(self):
        base = draw(12, 30)
        for x in (base[::2], base[:, ::3], base[::-1, 4:9], base.T, base[3:3], base[:, :0]):
            numpy.testing.assert_array_equal(tilescope.transpose(x), x.T)
            numpy.testing.assert_array_equal(tilescope.scale(x, 2), 2 * x)
        numpy.testing.assert_array_equal(tilescope.reverse(base[2, ::4]), base[2, ::4][::-1])

    def test_results_of_any_strides(self):
        x, whole = draw(6, 5), numpy.full((10, 18), 9, "float32")
        out = whole[::2, ::3]
        self.assertIs(tilescope.transpose(x, out=out), out)
        numpy.testing.assert_array_equal(out, x.T)
        self.assertEqual(numpy.count_nonzero(whole == 9), whole.size - x.size)

    def test_in_place(self):
        x = draw(40)
        expected = x[::-1].copy()
        tilescope.reverse(x, out=x)
        numpy.testing.assert_array_equal(x, expected)
        y = draw(9, 9)
        expected = y.T.copy()
        tilescope.transpose(y, out=y)
        numpy.testing.assert_array_equal(y, expected)

    def test_buffers_without_dlpack(self):
        self.assertEqual(tilescope.reduce(numpy.frombuffer(bytes(8), "int32")), 0)
        self.assertEqual(tilescope.reduce([1.0, 2.0, 4.0]), 7.0)


class Errors(unittest.TestCase):
    def fails(self, kind, words, call, *arguments, **keywords):
        with self.assertRaises(kind) as caught:
            call(*arguments, **keywords)
        self.assertNotIn("\n", str(caught.exception))
        for word in words.split():
            self.assertIn(word, str(caught.exception))

    def test_they_name_the_argument(self):
        x = draw(4, 5)
        self.fails(TypeError, "x complex64", tilescope.scale, x.astype("complex64"), 2)
        self.fails(TypeError, "b float64 a float32", tilescope.vector_add, x, x.astype("float64"))
        self.fails(ValueError, "b (4, 4)", tilescope.vector_add, x, draw(4, 4))
        self.fails(ValueError, "x 2 dimensions expected 1", tilescope.reverse, x)
        self.fails(ValueError, "out (5, 4)", tilescope.transpose, x, out=draw(4, 5))
        self.fails(TypeError, "image uint8", tilescope.blur, x)
        self.fails(ValueError, "channels 5", tilescope.blur, draw(2, 2, 5, dtype="uint8"))
        self.fails(ValueError, "mean", tilescope.reduce, x, "mean")
        self.fails(ValueError, "range", tilescope.histogram, x, 10)
        self.fails(tilescope.UsageError, "radius", tilescope.blur, draw(4, 4, dtype="uint8"), 99)

    def test_read_only_results(self):
        out = draw(4, 5)
        out.flags.writeable = False
        self.fails(ValueError, "out read-only", tilescope.scale, draw(4, 5), 2, out=out)


if __name__ == "__main__":
    unittest.main()
