"""Arrays of NumPy, PyTorch, CuPy and JAX: their place, and the array that a call returns."""

from __future__ import annotations

import sys
from typing import Any, Sequence

from . import _tilescope


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
    if framework == "jax" and _jax_gpu(like) is not None:
        with sys.modules["jax"].default_device(like.device):
            return sys.modules["jax"].numpy.empty(tuple(shape), dtype or like.dtype)
    import numpy

    if dtype is None and framework == "numpy":
        return numpy.empty(tuple(shape), like.dtype)  # its name leaves out lengths and byte order
    return numpy.empty(tuple(shape), dtype or dtype_name(like))


def require_writable(out: Any, name: str = "out") -> None:
    """Raises TypeError for an `out` that is no array, or of JAX."""
    if framework_of(out) == "jax":
        raise TypeError(f"{name} is an array of JAX, which cannot be written; leave it out")
    if not hasattr(out, "shape"):
        raise TypeError(f"{name} is a {type(out).__name__}; expected a NumPy array, or a tensor "
                        "with DLPack")


def result_array(like: Any, out: Any, shape: Sequence[int]) -> Any:
    """`out`, or a new array if it is None. Raises TypeError for an `out` of JAX."""
    if out is None:
        return new_array(like, shape)
    require_writable(out)
    return out


def _jax_gpu(array: Any) -> int | None:
    """The number of the GPU on which an array of JAX lies. Raises TypeError within jax.jit."""
    if isinstance(array, sys.modules["jax"].core.Tracer):
        raise TypeError(
            "the array has no values while jax.jit or jax.grad traces; call tilescope outside, or "
            "by jax.pure_callback"
        )
    kind, number = array.__dlpack_device__()
    return number if kind == 2 else None


def gpu_queue(array: Any, device: str) -> _tilescope.GpuQueue | None:
    """Its package's current stream on the GPU of the array; None: it is in host memory.

    Raises UsageError for a `device` that is not the array's.
    """
    framework = framework_of(array)
    if framework == "torch":
        if not array.is_cuda:
            return None
        number = array.get_device()
        stream = sys.modules["torch"]._C._cuda_getCurrentRawStream(number)
    elif framework == "cupy":
        number = array.device.id
        with array.device:
            stream = sys.modules["cupy"].cuda.get_current_stream().ptr
    elif framework == "jax":
        number = _jax_gpu(array)
        if number is None:
            return None
        stream = _tilescope.own_stream(number)
    else:
        return None
    if device != "auto" and device not in ("cuda", f"cuda:{number}"):
        raise _tilescope.UsageError(
            f"device {device}: the arrays lie on cuda:{number}, where the work is done; copy them "
            "to the host for another device"
        )
    return _tilescope.GpuQueue(framework == "torch", stream)


def returned(like: Any, written: Any, out: Any = None) -> Any:
    """The result of a call: `out` if there is one, else the array that it wrote, as one of the
    package of `like`. JAX has no arrays that wait for other packages' work, so this waits there."""
    result = written if out is None else out
    if framework_of(like) != "jax":
        return result
    number = _jax_gpu(like)
    if number is not None:
        _tilescope.wait_for_own_stream(number)
        return result
    return result if out is not None else sys.modules["jax"].device_put(result, like.device)


def dtype_name(array: Any) -> str:
    """The element type as NumPy writes it."""
    return getattr(array.dtype, "name", None) or str(array.dtype).rpartition(".")[2]


def refuse_masked(value: Any) -> None:
    """Raises TypeError for a masked array of NumPy."""
    if type(value).__module__.startswith("numpy.ma"):
        raise TypeError("the mask of a masked array would be ignored; pass its filled()")


def as_array(value: Any) -> Any:
    """An array for lists, numbers and buffers; arrays as they are.

    Raises TypeError for a masked array of NumPy.
    """
    speaks_dlpack = hasattr(value, "__dlpack__")
    if speaks_dlpack or hasattr(value, "__array_interface__"):
        refuse_masked(value)
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            return value
    import numpy

    return numpy.from_dlpack(value) if speaks_dlpack else numpy.asarray(value)
