"""The companion operations. Each takes arrays of any strides; `out` may overlap an operand."""

from __future__ import annotations

from typing import Any

from . import _tilescope
from ._arrays import as_array, like_framework, new_array


def _result(like: Any, out: Any, shape: Any = None) -> Any:
    return new_array(like, like.shape if shape is None else shape) if out is None else out


def saxpb(
    a: float, x: Any, b: float, out: Any = None, *, variant: str = "", device: str = "auto"
) -> Any:
    """a * x + b for float32 or float64; a and b are rounded to the type of x."""
    x = as_array(x)
    out = _result(x, out)
    _tilescope.saxpb(a, x, b, out, variant, device)
    return like_framework(x, out)


def vector_add(a: Any, b: Any, out: Any = None, *, variant: str = "", device: str = "auto") -> Any:
    """a + b for float32 or float64 arrays of one type and shape."""
    a, b = as_array(a), as_array(b)
    out = _result(a, out)
    _tilescope.vector_add(a, b, out, variant, device)
    return like_framework(a, out)


def scale(
    x: Any, factor: float, out: Any = None, *, variant: str = "", device: str = "auto"
) -> Any:
    """factor * x for float32 or float64; factor is rounded to the type of x."""
    x = as_array(x)
    out = _result(x, out)
    _tilescope.scale(x, factor, out, variant, device)
    return like_framework(x, out)


def reverse(x: Any, out: Any = None, *, variant: str = "", device: str = "auto") -> Any:
    """The list x from its end, for elements of any type."""
    x = as_array(x)
    out = _result(x, out)
    _tilescope.reverse(x, out, variant, device)
    return like_framework(x, out)


def transpose(x: Any, out: Any = None, *, variant: str = "", device: str = "auto") -> Any:
    """The matrix x with rows and columns exchanged, copied; for elements of any type."""
    x = as_array(x)
    out = _result(x, out, tuple(x.shape)[::-1])
    _tilescope.transpose(x, out, variant, device)
    return like_framework(x, out)


def laplacian(
    x: Any,
    out: Any = None,
    *,
    iterations: int = 1,
    center: float = -4.0,
    side: float = 1.0,
    variant: str = "",
    device: str = "auto",
) -> Any:
    """Steps of center * x + side * (sum of the four neighbours), with zeros outside the grid.

    x is a matrix of float32 or float64. center = 1 - 4 r with side = r is a step of diffusion.
    """
    x = as_array(x)
    out = _result(x, out)
    _tilescope.laplacian(x, out, iterations, center, side, variant, device)
    return like_framework(x, out)


def blur(
    image: Any, radius: int = 1, out: Any = None, *, variant: str = "", device: str = "auto"
) -> Any:
    """The mean, rounded down, of the box of 2 radius + 1 pixels a side around each pixel.

    image is uint8: rows x columns, or rows x columns x channels (1 to 4).
    """
    image = as_array(image)
    out = _result(image, out)
    _tilescope.blur(image, out, radius, variant, device)
    return like_framework(image, out)


def reduce(x: Any, op: str = "sum", *, variant: str = "", device: str = "auto") -> int | float:
    """sum, min, max or argmax of float32, float64 or int32, over all elements."""
    return _tilescope.reduce(as_array(x), op, variant, device)


def histogram(
    x: Any,
    bins: int = 256,
    range: tuple[float, float] | None = None,  # as NumPy names it
    *,
    letters: bool = False,
    variant: str = "",
    device: str = "auto",
) -> Any:
    """How many elements fall into each of `bins` bins of equal width, as a NumPy array of uint64.

    range is (lower, upper): lower included, upper excluded for integers and included for floats;
    without it all values of an integer type. letters counts text in uint8, four letters a bin.
    """
    import numpy

    counts, _ = _tilescope.histogram(as_array(x), bins, range, letters, variant, device)
    return numpy.array(counts, numpy.uint64)
