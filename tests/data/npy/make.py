#!/usr/bin/env python3
"""Makes the arrays in this folder: python3 make.py (needs NumPy). The tests know their values."""
import io
import pathlib

import numpy as np
from numpy.lib import format as npy

here = pathlib.Path(__file__).parent


def counting(shape, dtype):
    """0, 1, 2, ... in row-major order; halves of them, less one, where the type has fractions."""
    count = int(np.prod(shape, dtype=np.int64))
    values = np.arange(count).reshape(shape)
    if np.dtype(dtype).kind == "f":
        values = values / 2 - 1
    return values.astype(dtype)


def save(name, array, version=None):
    with open(here / f"{name}.npy", "wb") as file:
        npy.write_array(file, array, version=version)


for dtype in ["float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64",
              "uint8", "uint16", "uint32", "uint64"]:
    save(f"c_{dtype}", counting((2, 3), dtype))
for dtype in ["float16", "float32", "float64"]:
    save(f"fortran_{dtype}", np.asfortranarray(counting((2, 3), dtype)))

save("number", counting((), "float32"))
save("list", counting((5,), "float32"))
save("cube", counting((2, 3, 4), "float32"))
save("cube_fortran", np.asfortranarray(counting((2, 3, 4), "int16")))
save("row_fortran", np.asfortranarray(counting((1, 7), "float32")))
save("column_fortran", np.asfortranarray(counting((7, 1), "float32")))
save("empty", counting((0, 3), "float32"))
save("empty_fortran", np.asfortranarray(counting((3, 0), "float64")))
save("empty_list", counting((0,), "float64"))
save("many_dimensions", counting((1,) * 32, "uint8"))
save("long_extent", np.zeros((100000, 0), dtype="uint8"))
save("version2", counting((2, 3), "float32"), version=(2, 0))
save("version3", counting((2, 3), "float32"), version=(3, 0))

# Not taken.
save("big_endian", counting((2, 3), ">f4"))
save("structured", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
save("nested", np.zeros(2, dtype=[("é", [("a", "<f4"), ("b", "<f8", (2, 2))])]), version=(3, 0))
save("object", np.array([[1, None]], dtype=object))
save("text", np.array(["a", "bc"]))
save("bytes", np.array([b"a", b"bc"]))
save("dates", np.zeros(2, dtype="<M8[s]"))
save("complex", counting((2, 3), "complex64"))
save("raw", np.zeros(2, dtype="V2"))
save("long_double", np.zeros(2, dtype="longdouble"))
buffer = io.BytesIO()
np.savez(buffer, a=np.zeros(2, "<f4"))
(here / "archive.npz").write_bytes(buffer.getvalue())
