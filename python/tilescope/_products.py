"""Matrix products."""

from __future__ import annotations

from typing import Any

from . import _tilescope
from ._arrays import as_array, dtype_name, gpu_stream, like_framework, new_array

_FLOATING = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}


def _product_type(*names: str) -> str | None:
    """The widest type; float32 for the two 16-bit types, since neither holds the other."""
    if any(name not in _FLOATING for name in names):
        return None  # the call says which operand is none of them
    widest = max(names, key=_FLOATING.__getitem__)
    if _FLOATING[widest] == 2 and len(set(names)) > 1:
        return "float32"
    return widest


def _product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    if len(a) not in (2, 3) or len(b) not in (2, 3):
        raise ValueError(
            f"a has shape {a} and b {b}; expected lists, matrices or batches (1 to 3 dimensions)"
        )
    batches = {shape[0] for shape in (a, b) if len(shape) == 3 and shape[0] != 1}
    if a[-1] != b[-2] or len(batches) > 1:
        raise ValueError(f"a has shape {a} and b {b}: they have no product")
    product = (a[-2], b[-1])
    if len(a) == 2 and len(b) == 2:
        return product
    return (batches.pop() if batches else 1, *product)


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    precision: str = "auto",
    bias: Any = None,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    *,
    variant: str = "",
    device: str = "auto",
) -> Any:
    """activation(alpha * a @ b + beta * out + bias), as NumPy's matmul and with its shapes.

    a, b        lists, matrices or batches of matrices: NumPy arrays, or tensors of another package
                that speaks DLPack. float16, bfloat16, float32 and float64 may be mixed. Tensors of
                PyTorch and CuPy on a GPU stay there: the product is queued on the current stream.
    out         receives the product; without it a new array of a's package. With beta != 0 its
                elements are read first.
    precision   fp32, fp32_fast, tf32, bf16, fp16, fp64; auto: fp64 if an array is float64, else
                fp32
    bias        a list, added to each row of the product
    activation  "relu", "gelu" or None
    variant     a rung of the ladder, or a kernel that takes all options, such as "general"
    device      for arrays in host memory: auto, cuda, cuda:N, emulated or cpu

    Errors: ValueError for shapes, options and read-only arrays, TypeError for element types,
    DeviceError without a usable device.
    """
    a, b = as_array(a), as_array(b)
    left, right = tuple(a.shape), tuple(b.shape)
    a_is_list, b_is_list = len(left) == 1, len(right) == 1
    if a_is_list:
        a, left = a[None, :], (1, *left)
    if b_is_list:
        b, right = b[:, None], (*right, 1)
    shape = _product_shape(left, right)
    given = shape
    if a_is_list:
        given = given[:-2] + given[-1:]
    if b_is_list:
        given = given[:-1]
    if out is None:
        if beta != 0.0:
            raise ValueError("beta is the factor of out: pass the array to which to add")
        names = [dtype_name(a), dtype_name(b)]
        out = new_array(a, given, _product_type(*names))
    elif tuple(out.shape) != given:
        raise ValueError(f"out has shape {tuple(out.shape)}; the product has {given}")
    written = out if given == shape else out.reshape(shape)
    if bias is not None:
        bias = as_array(bias)
    on_gpu = gpu_stream(a)
    if on_gpu is not None:
        _tilescope.matmul_on_gpu(
            a, b, written, precision, bias, activation, alpha, beta, variant, *on_gpu
        )
        return out
    _tilescope.matmul(a, b, written, precision, bias, activation, alpha, beta, variant, device)
    return like_framework(a, out)
