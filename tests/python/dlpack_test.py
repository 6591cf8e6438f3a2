"""Arrays of other packages: every type, stride and extent through DLPack, and what is refused."""

import array
import unittest

import numpy
import tilescope

from exchanged import CUDA, VULKAN, Exchanged, bfloat16_values, bfloat16_words

RANDOM = numpy.random.default_rng(14)
# Code, bits and name of each element type; the memory of a test is words of that size.
TYPES = [("int", 8, "int8"), ("int", 16, "int16"), ("int", 32, "int32"), ("int", 64, "int64"),
         ("uint", 8, "uint8"), ("uint", 16, "uint16"), ("uint", 32, "uint32"),
         ("uint", 64, "uint64"), ("float", 16, "float16"), ("float", 32, "float32"),
         ("float", 64, "float64"), ("bool", 8, "bool")]
OTHERS = [("complex", 64, "complex64", 1), ("complex", 128, "complex128", 1),
          ("float8", 8, "float8_e4m3fn", 1), ("int", 4, "int4", 1), ("float", 32, "float32x2", 2)]


def words(bits, *shape):
    """Random words that every type can hold, even bool."""
    return RANDOM.integers(0, 2, shape).astype(f"uint{bits}")


def layouts(base):
    """Views of a matrix of 12 x 20: strided, negative, transposed, of stride 0, without elements."""
    row = numpy.lib.stride_tricks.as_strided(base, (6, 20), (0, base.itemsize))
    column = numpy.lib.stride_tricks.as_strided(base, (12, 5), (base.strides[0], 0))
    return [base, base[::2, 1::3], base[::-1], base[:, ::-1], base[::-2, ::-3], base.T,
            base.T[::-1, ::5], row, column, base[3:3], base[:, :0], base[5:6], base[:, 7:8]]


class Operands(unittest.TestCase):
    def test_every_type_and_layout(self):
        for code, bits, name in TYPES:
            for memory in layouts(words(bits, 12, 20)):
                x = Exchanged(memory, code, bits, name)
                result = tilescope.transpose(x)
                self.assertEqual(result.dtype.name, name)
                numpy.testing.assert_array_equal(result.view(memory.dtype), memory.T)

    def test_lists_of_every_type(self):
        for code, bits, name in TYPES:
            base = words(bits, 30)
            for memory in (base, base[::3], base[::-1], base[:0]):
                result = tilescope.reverse(Exchanged(memory, code, bits, name))
                numpy.testing.assert_array_equal(result.view(memory.dtype), memory[::-1])

    def test_bfloat16(self):
        values = RANDOM.integers(-8, 8, (12, 20)).astype("float32")
        for view in layouts(bfloat16_words(values)):
            x = Exchanged(view, "bfloat", 16, "bfloat16")
            out = numpy.zeros((view.shape[0], view.shape[0]), "float32")
            y = Exchanged(view.T, "bfloat", 16, "bfloat16")
            tilescope.matmul(x, y, out=out)
            exact = bfloat16_values(view.copy())
            numpy.testing.assert_array_equal(out, exact @ exact.T)

    def test_scales_of_8_bit_floats(self):
        words = RANDOM.integers(0x30, 0x40, (6, 150)).astype("uint8")  # e4m3: 0.5 up to 1.875
        values = (8 + (words & 7)) * 2.0 ** ((words >> 3) - 10.0)
        x = Exchanged(words, "float8_e4m3fn", 8, "float8_e4m3fn")
        y = Exchanged(words.T, "float8_e4m3fn", 8, "float8_e4m3fn")
        out = numpy.zeros((6, 6), "float32")
        by_row = numpy.exp2(numpy.arange(6.0))
        tilescope.matmul(x, y, out, scale_a=by_row, scale_b=0.25)
        numpy.testing.assert_allclose(out, 0.25 * by_row[:, None] * (values @ values.T), 1e-5)
        of_a = numpy.exp2(RANDOM.integers(-3, 4, (6, 2))).astype("float32")
        of_b = numpy.array([[4.0], [0.5]])
        tilescope.matmul(x, y, out, scale_a=of_a, scale_b=of_b)
        steps = numpy.arange(150) // 128
        left, right = values * of_a[:, steps], values.T * of_b[steps]
        numpy.testing.assert_allclose(out, left @ right, 1e-5)
        with self.assertRaisesRegex(ValueError, "the scales of A are 7 x 1"):
            tilescope.matmul(x, y, out, scale_a=numpy.ones(7))
        with self.assertRaisesRegex(ValueError, "scale_b has 3 dimensions"):
            tilescope.matmul(x, y, out, scale_b=numpy.ones((1, 1, 1)))
        with self.assertRaisesRegex(ValueError, "scales belong to 8-bit floats"):
            tilescope.matmul(values, values.T, scale_a=by_row)

    def test_products_of_every_layout(self):
        for bits, name in ((16, "float16"), (32, "float32"), (64, "float64")):
            base = RANDOM.integers(-8, 9, (12, 20)).astype(name)  # whose sums are exact
            for view in layouts(base):
                product = tilescope.matmul(Exchanged(view, "float", bits, name), view.T)
                numpy.testing.assert_array_equal(product, view.astype("int64") @ view.astype(
                    "int64").T)

    def test_batches(self):
        base = RANDOM.integers(-8, 9, (4, 6, 8)).astype("float32")
        one = numpy.broadcast_to(base[:1], (4, 6, 8))
        for view in (base[::-1], base[:, ::-1, ::2], base.transpose(0, 2, 1),
                     base.transpose(2, 0, 1), one, base[:0]):
            product = tilescope.matmul(Exchanged(view, "float", 32, "float32"),
                                       view.transpose(0, 2, 1))
            numpy.testing.assert_array_equal(product, view @ view.transpose(0, 2, 1))

    def test_strides_left_out_and_offsets(self):
        base = RANDOM.uniform(-1, 1, (5, 7)).astype("float32")
        for keywords in ({"compact": True}, {"byte_offset": 64},
                         {"compact": True, "byte_offset": 4}):
            x = Exchanged(base, "float", 32, "float32", **keywords)
            numpy.testing.assert_array_equal(tilescope.transpose(x), base.T)

    def test_numbers_without_dimensions(self):
        x = Exchanged(numpy.array(3, "int32"), "int", 32, "int32")
        self.assertEqual(tilescope.reduce(x), 3)
        self.assertEqual(tilescope.scale(numpy.array(2.5, "float32"), 2).shape, ())

    def test_memory_is_released_once(self):
        x = Exchanged(words(32, 4, 5), "float", 32, "float32")
        for calls in range(1, 4):
            tilescope.transpose(x)
            self.assertEqual((len(x.handed_out) > 0, x.released), (True, calls))
        with self.assertRaises(ValueError):
            tilescope.reverse(x)
        self.assertEqual(x.released, 4)

    def test_buffers(self):
        self.assertEqual(tilescope.reduce(array.array("i", [4, 5, 6])), 15)
        self.assertEqual(tilescope.reduce(memoryview(numpy.arange(5.0))[::2]), 6.0)
        self.assertEqual(tilescope.histogram(bytearray(b"aab"), bins=7, letters=True).sum(), 3)


class Results(unittest.TestCase):
    def test_they_are_written_in_place(self):
        for code, bits, name in TYPES:
            x = words(bits, 20, 12)
            whole = numpy.full((24, 40), 7, x.dtype)
            for view in (whole[::2, ::2], whole[-12:, 5:25], whole[11::-1, 19::-1],
                         whole[4:24, 8:20].T):
                whole[:] = 7
                out = Exchanged(view, code, bits, name)
                source = Exchanged(x, code, bits, name)
                self.assertIs(tilescope.transpose(source, out=out), out)
                numpy.testing.assert_array_equal(view, x.T)
                self.assertEqual(numpy.count_nonzero(whole == 7), whole.size - x.size)

    def test_products(self):
        a, b = (RANDOM.uniform(-1, 1, (12, 12)).astype("float32") for _ in range(2))
        expected = tilescope.matmul(a, b)
        for make in (lambda: numpy.zeros((12, 12), "float32"),
                     lambda: numpy.zeros((12, 12), "float32").T,
                     lambda: numpy.zeros((30, 40), "float32")[::-2, ::3][:12, :12]):
            out = make()
            tilescope.matmul(a, b, out=Exchanged(out, "float", 32, "float32", read_only=False))
            numpy.testing.assert_array_equal(out, expected)
        out = numpy.zeros((12, 12), "uint16")
        tilescope.matmul(a, b, out=Exchanged(out, "bfloat", 16, "bfloat16"))
        numpy.testing.assert_allclose(bfloat16_values(out), expected, rtol=2.0**-8)


class Refusals(unittest.TestCase):
    def fails(self, kind, text, call, *arguments, **keywords):
        with self.assertRaises(kind) as caught:
            call(*arguments, **keywords)
        self.assertNotIn("\n", str(caught.exception))
        for word in text.split():
            self.assertIn(word, str(caught.exception))

    def test_other_types(self):
        for code, bits, name, lanes in OTHERS:
            memory = numpy.zeros((3, 4), "complex128")
            x = Exchanged(memory, code, bits, name, lanes=lanes)
            self.fails(TypeError, f"x {name} expected", tilescope.transpose, x,
                       out=numpy.zeros((4, 3)))
            self.fails(TypeError, f"b {name} expected", tilescope.matmul, numpy.ones((2, 3)), x)
        for x in (numpy.zeros((2, 2), ">f4"), numpy.zeros((2, 2), "O"), numpy.zeros((2, 2), "U3"),
                  numpy.zeros((2, 2), "M8[s]"), numpy.zeros((2, 2), "f4,i4")):
            self.fails(TypeError, "x expected", tilescope.transpose, x, out=numpy.zeros((2, 2)))

    def test_other_devices(self):
        ones = numpy.ones((4, 4), "float32")
        for device, name in (((CUDA, 0), "cuda:0"), ((CUDA, 3), "cuda:3"),
                             ((VULKAN, 0), "device type 7")):
            x = Exchanged(ones, "float", 32, "float32", device=device)
            for call in (tilescope.transpose, tilescope.reduce, tilescope.laplacian):
                self.fails(ValueError, f"x {name} host", call, x)
            self.fails(ValueError, f"b {name} host", tilescope.vector_add, ones, x)
            self.fails(ValueError, f"out {name} host", tilescope.scale, ones, 2, out=x)
            self.fails(ValueError, f"b {name} host", tilescope.matmul, ones, x)
            self.fails(ValueError, f"out {name} host", tilescope.matmul, ones, ones, out=x)
        self.assertTrue((ones == 1).all())

    def test_read_only_results(self):
        ones, out = numpy.ones((4, 4), "float32"), numpy.zeros((4, 4), "float32")
        locked = Exchanged(out, "float", 32, "float32", read_only=True)
        self.fails(ValueError, "out read-only", tilescope.scale, ones, 2, out=locked)
        self.fails(ValueError, "out read-only", tilescope.matmul, ones, ones, out=locked)
        frozen = out.view()
        frozen.flags.writeable = False
        self.fails(ValueError, "out read-only", tilescope.transpose, ones, out=frozen)
        self.assertFalse(out.any())
        numpy.testing.assert_array_equal(tilescope.scale(locked, 2), 2 * out)

    def test_results_that_repeat_elements(self):
        ones = numpy.ones((4, 4), "float32")
        row = numpy.lib.stride_tricks.as_strided(numpy.zeros(4, "float32"), (4, 4), (0, 4))
        self.fails(ValueError, "out repeats", tilescope.scale, ones, 2, out=row)
        self.fails(ValueError, "out repeats", tilescope.matmul, ones, ones, out=row)

    def test_shapes(self):
        x = Exchanged(numpy.ones((4, 5), "float32"), "float", 32, "float32")
        self.fails(ValueError, "(4, 5) (4, 5)", tilescope.matmul, x, x)
        self.fails(ValueError, "x 2 dimensions", tilescope.reverse, x)
        self.fails(ValueError, "out (4, 5)", tilescope.transpose, x, out=x)
        self.fails(ValueError, "b (5, 4)", tilescope.vector_add, x, numpy.ones((5, 4), "float32"))

    def test_objects_that_are_no_arrays(self):
        ones = numpy.ones((2, 2), "float32")
        for other in (object(), {"a": 1}, None):
            with self.assertRaises(TypeError) as caught:
                tilescope.vector_add(ones, other)
            self.assertNotIn("\n", str(caught.exception))
        self.fails(TypeError, "mask filled", tilescope.scale, numpy.ma.masked_array(ones), 2)


if __name__ == "__main__":
    unittest.main()
