"""Arrays of NumPy, PyTorch, CuPy and JAX: making the one that a call returns."""

from __future__ import annotations

import sys
from typing import Any, Sequence


def framework_of(array: Any) -> str:
    """The package whose array it is: "numpy", "torch", "cupy", "jax", or another package's name."""
    package = type(array).__module__.partition(".")[0]
    return "jax" if package == "jaxlib" else package


def new_array(like: Any, shape: Sequence[int], dtype: str | None = None) -> Any:
    """An array of the package and on the device of `like`, with elements that a call will write.

    `dtype` is a name such as "float32"; None: that of `like`.
    """
    framework = framework_of(like)
    if framework == "torch":
        torch = sys.modules["torch"]
        return like.new_empty(tuple(shape), dtype=getattr(torch, dtype) if dtype else like.dtype)
    if framework == "cupy":
        cupy = sys.modules["cupy"]
        with like.device:
            return cupy.empty(tuple(shape), dtype or like.dtype)
    import numpy

    return numpy.empty(tuple(shape), dtype or str(like.dtype))


def gpu_stream(array: Any) -> tuple[bool, int] | None:
    """Whether the array is PyTorch's, and the current stream of its GPU; None: it is on none."""
    framework = framework_of(array)
    if framework == "torch":
        if not array.is_cuda:
            return None
        return True, sys.modules["torch"]._C._cuda_getCurrentRawStream(array.get_device())
    if framework == "cupy":
        return False, sys.modules["cupy"].cuda.get_current_stream().ptr
    return None


def like_framework(like: Any, result: Any) -> Any:
    """The result as an array of the package of `like`: JAX has none that can be written."""
    if framework_of(like) == "jax":
        import jax.dlpack

        return jax.dlpack.from_dlpack(result)
    return result


def dtype_name(array: Any) -> str:
    """The element type as NumPy writes it."""
    return str(array.dtype).rpartition(".")[2]


def as_array(value: Any) -> Any:
    """An array for lists and numbers; arrays as they are."""
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        return value
    import numpy

    return numpy.asarray(value)
