"""Values of wrong types: one line that names the argument, whatever the call, and nothing that is
passed over in silence."""

import pathlib
import tempfile
import unittest

import numpy
import tilescope

MATRIX = numpy.ones((3, 3), "float32")
PIXELS = numpy.ones((3, 3), "uint8")
SCALED = """
#include <scale.hpp>
__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= SCALE; }
"""
TWICE = "__global__ void k(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] *= 2; }"


class Mistakes(unittest.TestCase):
    def fails(self, kind, line, call, *arguments, **options):
        with self.subTest(line=line):
            with self.assertRaises(kind) as caught:
                call(*arguments, **options)
            self.assertEqual(str(caught.exception), line)


class Products(Mistakes):
    def test_options(self):
        for name, value, expected in (("precision", 3, "text"), ("activation", 1.5, "text"),
                                      ("device", None, "text"), ("variant", None, "text"),
                                      ("alpha", "2", "a number"), ("beta", None, "a number"),
                                      ("alpha", 10**400, "a number")):
            shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
            self.fails(TypeError, f"{name} is {shown}; expected {expected}",
                       tilescope.matmul, MATRIX, MATRIX, **{name: value})
        self.fails(TypeError, "alpha is array([1., 2.]); expected a number",
                   tilescope.matmul_grouped, [MATRIX], [MATRIX], alpha=numpy.array([1.0, 2.0]))

    def test_numbers_of_other_packages_are_numbers(self):
        for two in (2, numpy.float32(2), numpy.int64(2), numpy.array(2.0)):
            numpy.testing.assert_array_equal(tilescope.matmul(MATRIX, MATRIX, alpha=two), 6)

    def test_results(self):
        self.fails(TypeError, "out is a list; expected a NumPy array, or a tensor with DLPack",
                   tilescope.matmul, MATRIX, MATRIX, out=[[0.0] * 3] * 3)
        self.fails(TypeError, "out[0] is a int; expected a NumPy array, or a tensor with DLPack",
                   tilescope.matmul_grouped, [MATRIX], [MATRIX], out=[5])

    def test_elements(self):
        self.fails(TypeError, "a has big-endian elements of type float32; expected the machine's "
                   "byte order: pass a.astype('float32')",
                   tilescope.matmul, MATRIX.astype(">f4"), MATRIX)
        for dtype, name in (("U2", "str64"), ([("x", "f4")], "void32"), ("M8[s]", "datetime64[s]")):
            self.fails(TypeError, f"a is a ndarray with elements of type {name}; expected float16, "
                       "bfloat16, float32, float64, bool or integers of 8 to 64 bits",
                       tilescope.matmul, numpy.zeros((3, 3), dtype), MATRIX)


class Companions(Mistakes):
    def test_values(self):
        big = 2**40
        for kind, line, call, arguments, options in (
                (TypeError, "a is '2'; expected a number", tilescope.saxpb, ("2", MATRIX, 1), {}),
                (TypeError, "b is None; expected a number", tilescope.saxpb, (2, MATRIX, None), {}),
                (TypeError, "factor is [1]; expected a number", tilescope.scale, (MATRIX, [1]), {}),
                (TypeError, "radius is 1.5; expected a whole number", tilescope.blur,
                 (PIXELS, 1.5), {}),
                (ValueError, f"radius is {big}; expected a number from -2147483648 to 2147483647",
                 tilescope.blur, (PIXELS, big), {}),
                (TypeError, "iterations is '3'; expected a whole number", tilescope.laplacian,
                 (MATRIX,), {"iterations": "3"}),
                (TypeError, "side is 'x'; expected a number", tilescope.laplacian, (MATRIX,),
                 {"side": "x"}),
                (TypeError, "op is None; expected text", tilescope.reduce, (MATRIX, None), {}),
                (TypeError, "bins is 4.0; expected a whole number", tilescope.histogram,
                 (PIXELS, 4.0), {}),
                (TypeError, "range is (1, 2, 3); expected two numbers", tilescope.histogram,
                 (PIXELS, 4, (1, 2, 3)), {}),
                (TypeError, "range is 'a'; expected a number", tilescope.histogram,
                 (PIXELS, 4, "ab"), {}),
                (TypeError, "device is 0; expected text", tilescope.reverse, (MATRIX[0],),
                 {"device": 0}),
                (TypeError, "variant is 0; expected text", tilescope.transpose, (MATRIX,),
                 {"variant": 0})):
            self.fails(kind, line, call, *arguments, **options)


class Ladders(Mistakes):
    def test_values(self):
        for kind, line, options in (
                (TypeError, "size is 2.5; expected a whole number", {"size": 2.5}),
                (TypeError, "size is 'x'; expected a whole number", {"size": "x"}),
                (TypeError, "type is 3; expected text", {"type": 3}),
                (TypeError, "seed is -1; expected a whole number from 0 on", {"seed": -1}),
                (ValueError, "samples is 0; expected a number from 1 to 10000", {"samples": 0}),
                (TypeError, "a name in variants is 3; expected text", {"variants": [3]})):
            self.fails(kind, line, tilescope.ladder, "saxpb", **options)
        self.fails(TypeError, "operation is None; expected text", tilescope.ladder, None)


class Kernels(Mistakes):
    def test_extents_are_whole_numbers(self):
        x = numpy.ones(4, "float32")
        for grid in (1.5, "1", numpy.ones(2)):
            self.fails(TypeError, f"grid is {grid!r}; expected a whole number",
                       tilescope.run, TWICE, grid, 4, (x, 4))
        numpy.testing.assert_array_equal(x, 1)
        tilescope.run(TWICE, numpy.int64(1), (4, 1), (x, 4))
        numpy.testing.assert_array_equal(x, 2)

    def test_options(self):
        for kind, line, options in (
                (TypeError, "shared is 'a'; expected a whole number", {"shared": "a"}),
                (ValueError, "shared is -1; expected a number from 0 to 4294967295",
                 {"shared": -1}),
                (ValueError, "schedules is 0; expected a number from 1 to 100000",
                 {"schedules": 0}),
                (TypeError, "max_findings is 'x'; expected a whole number", {"max_findings": "x"}),
                (ValueError, "max_instructions is -1; expected a number from 0 to "
                 "9223372036854775807", {"max_instructions": -1}),
                (TypeError, "device is None; expected text", {"device": None}),
                (TypeError, "name is 3; expected text", {"name": 3}),
                (TypeError, "defines is 'A=1'; expected a dictionary", {"defines": "A=1"})):
            self.fails(kind, line, tilescope.check, TWICE, 1, 4, (MATRIX[0], 3), **options)

    def test_arguments(self):
        def fails(line, args):
            self.fails(TypeError, line, tilescope.run, TWICE, 1, 4, args)

        fails("args is 5; expected a tuple of arguments, such as (x, 5)", 5)
        fails("args is '12'; expected a tuple of arguments, such as (x, 5)", "12")
        fails("args is array([1., 1., 1.], dtype=float32); expected a tuple of arguments, such as "
              "(x, 5)", MATRIX[0])
        fails("a name in args is 1; expected text", {1: MATRIX, 2: 3})
        fails("the mask of a masked array would be ignored; pass its filled()",
              (numpy.ma.masked_array(MATRIX), 3))
        for dtype in (">f4", "|O"):
            fails("argument: kernels take numbers in the machine's byte order, not elements of "
                  f"type {dtype}", (numpy.zeros(3, dtype), 3))

    def test_one_folder_of_headers_is_a_list_of_one(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "scale.hpp").write_text("#define SCALE 3\n")
            for include in (folder, pathlib.Path(folder), [folder]):
                x = numpy.ones(4, "float32")
                tilescope.run(SCALED, 1, 4, (x, 4), include=include)
                numpy.testing.assert_array_equal(x, 3)

    def test_a_target_with_its_own_launches_takes_none(self):
        for name, value in (("grid", 1), ("block", 4), ("args", (1,)), ("name", "k"),
                            ("shared", 16), ("cluster", 2), ("cooperative", True),
                            ("defines", {"A": 1}), ("include", ["."])):
            self.fails(ValueError, f"{name} is for kernels (.cu, .ptx, texts): 'saxpb/vector' is a "
                       "rung, which makes its own launches",
                       tilescope.check, "saxpb/vector", **{name: value})
        self.fails(ValueError, "grid is for kernels (.cu, .ptx, texts): './app' is a program, "
                   "which makes its own launches", tilescope.check, "./app", 1)
        self.assertTrue(tilescope.check("saxpb/vector").clean)


if __name__ == "__main__":
    unittest.main()
