"""The companion operations. In host memory arrays have any strides, and `out` may overlap an
operand. Tensors on a GPU are dense and stay there; the work is queued on the current stream."""

from __future__ import annotations

import math
from typing import Any

from . import _tilescope
from ._arrays import (
    as_array,
    dtype_name,
    framework_of,
    gpu_queue,
    new_array,
    result_array,
    returned,
)
from ._options import number, shown, whole, word


def _choice(x: Any, variant: str, device: str) -> _tilescope.Choice:
    word("device", device)
    return _tilescope.Choice(word("variant", variant), device, gpu_queue(x, device))


def _limits(range: Any) -> tuple[float, float] | None:
    """The two ends of a range. Raises TypeError."""
    if range is None:
        return None
    try:
        lower, upper = range
    except (TypeError, ValueError):
        raise TypeError(f"range is {shown(range)}; expected two numbers") from None
    return number("range", lower), number("range", upper)


def saxpb(
    a: float, x: Any, b: float, out: Any = None, *, variant: str = "", device: str = "auto"
) -> Any:
    """a * x + b for float32 or float64; a and b are rounded to the type of x."""
    x = as_array(x)
    written = result_array(x, out, x.shape)
    _tilescope.saxpb(
        number("a", a), x, number("b", b), written, _choice(x, variant, device)
    )
    return returned(x, written, out)


def vector_add(a: Any, b: Any, out: Any = None, *, variant: str = "", device: str = "auto") -> Any:
    """a + b for float32 or float64 arrays of one type and shape."""
    a, b = as_array(a), as_array(b)
    written = result_array(a, out, a.shape)
    _tilescope.vector_add(a, b, written, _choice(a, variant, device))
    return returned(a, written, out)


def scale(
    x: Any, factor: float, out: Any = None, *, variant: str = "", device: str = "auto"
) -> Any:
    """factor * x for float32 or float64; factor is rounded to the type of x."""
    x = as_array(x)
    written = result_array(x, out, x.shape)
    _tilescope.scale(x, number("factor", factor), written, _choice(x, variant, device))
    return returned(x, written, out)


def reverse(x: Any, out: Any = None, *, variant: str = "", device: str = "auto") -> Any:
    """The list x from its end, for elements of any type."""
    x = as_array(x)
    written = result_array(x, out, x.shape)
    _tilescope.reverse(x, written, _choice(x, variant, device))
    return returned(x, written, out)


def transpose(x: Any, out: Any = None, *, variant: str = "", device: str = "auto") -> Any:
    """The matrix x with rows and columns exchanged, copied; for elements of any type."""
    x = as_array(x)
    written = result_array(x, out, tuple(x.shape)[::-1])
    _tilescope.transpose(x, written, _choice(x, variant, device))
    return returned(x, written, out)


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
    iterations = whole("iterations", iterations)
    center, side = number("center", center), number("side", side)
    written = result_array(x, out, x.shape)
    _tilescope.laplacian(x, written, iterations, center, side, _choice(x, variant, device))
    return returned(x, written, out)


def blur(
    image: Any, radius: int = 1, out: Any = None, *, variant: str = "", device: str = "auto"
) -> Any:
    """The mean, rounded down, of the box of 2 radius + 1 pixels a side around each pixel.

    image is uint8: rows x columns, or rows x columns x channels (1 to 4).
    """
    image = as_array(image)
    written = result_array(image, out, image.shape)
    radius = whole("radius", radius, -(2**31), 2**31 - 1)
    _tilescope.blur(image, written, radius, _choice(image, variant, device))
    return returned(image, written, out)


def reduce(x: Any, op: str = "sum", *, variant: str = "", device: str = "auto") -> Any:
    """sum, min, max or argmax of float32, float64 or int32, over all elements.

    A number; for tensors of PyTorch and CuPy on a GPU an array without dimensions there.
    """
    x = as_array(x)
    word("op", op)
    choice = _choice(x, variant, device)
    if choice.queue is None:
        return _tilescope.reduce(x, op, choice)
    name = dtype_name(x)
    if op == "argmax" or (op == "sum" and name == "int32"):
        name = "int64"
    elif op == "sum":
        name = "float64"
    out = _raw_result(x, (), name)
    _tilescope.reduce_into(x, op, out, choice)
    if framework_of(x) == "jax":
        return _host_values(x, out, name)[0].item()
    return out


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
    Counts of tensors of PyTorch and CuPy on a GPU stay there, as int64 and uint64.
    """
    import numpy

    x = as_array(x)
    bins, range = whole("bins", bins), _limits(range)
    choice = _choice(x, variant, device)
    if choice.queue is None:
        counts, _ = _tilescope.histogram(x, bins, range, letters, choice)
        return numpy.array(counts, numpy.uint64)
    name = "uint32" if math.prod(x.shape) < 2**32 else "uint64"
    bins = max(bins, 0)  # the call refuses it
    framework = framework_of(x)
    if framework == "torch":  # whose unsigned types lack most operations
        out = new_array(x, (bins,), name[1:])
        _tilescope.histogram_into(x, bins, range, letters, out, choice)
        return out.long() & 0xFFFFFFFF if name == "uint32" else out
    out = _raw_result(x, (bins,), name)
    _tilescope.histogram_into(x, bins, range, letters, out, choice)
    counts = _host_values(x, out, name) if framework == "jax" else out
    return counts.astype("uint64")


def _raw_result(x: Any, shape: tuple[int, ...], name: str) -> Any:
    """Memory for a result on the GPU of x. JAX makes no arrays of 64 bits unless told to."""
    if framework_of(x) != "jax":
        return new_array(x, shape, name)
    words = 2 if name.endswith("64") else 1
    return new_array(x, (words * math.prod(shape),), "uint32")


def _host_values(x: Any, raw: Any, name: str) -> Any:
    """The values in the memory of _raw_result() for an array x of JAX, as NumPy's."""
    import numpy

    return numpy.asarray(returned(x, raw)).view(name)
