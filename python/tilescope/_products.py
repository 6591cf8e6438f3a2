"""Matrix products."""

from __future__ import annotations

from typing import Any

from . import _tilescope
from ._arrays import as_array, dtype_name, gpu_queue, new_array, require_writable, returned
from ._options import number, word

_FLOATING = {"float8_e4m3fn": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4,
             "float64": 8}


def _product_type(*names: str) -> str | None:
    """The widest type; float32 for the two 16-bit types, since neither holds the other, and for two
    8-bit ones; int32 for whole numbers."""
    if all(name == "int8" for name in names):
        return "int32"
    if any(name not in _FLOATING for name in names):
        return None  # the call says which operand is none of them
    widest = max(names, key=_FLOATING.__getitem__)
    alike = sum(_FLOATING[name] == _FLOATING[widest] for name in names)
    if _FLOATING[widest] == 1 or (_FLOATING[widest] == 2 and alike > 1 and len(set(names)) > 1):
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


def _require_options(
    precision: str | None, activation: str | None, alpha: float, beta: float, device: str
) -> tuple[float, float]:
    """alpha and beta. Raises TypeError for options of wrong types."""
    for name, value in (("precision", precision), ("activation", activation)):
        if value is not None:
            word(name, value)
    word("device", device)
    return number("alpha", alpha), number("beta", beta)


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    precision: str | None = None,
    bias: Any = None,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    *,
    variant: str = "",
    device: str = "auto",
    scale_a: Any = None,
    scale_b: Any = None,
) -> Any:
    """activation(alpha * a @ b + beta * out + bias), as NumPy's matmul and with its shapes.

    a, b        lists, matrices or batches of matrices: NumPy arrays, or tensors of another package
                that speaks DLPack. float16, bfloat16, float32, float64, float8_e4m3fn and
                float8_e5m2 may be mixed; int8 goes with int8 alone, and gives int32. Arrays of
                PyTorch, CuPy and JAX on a GPU stay there: the product is queued on the current
                stream (for JAX, which has none, the call waits for it).
    out         receives the product; without it a new array of a's package. With beta != 0 its
                elements are read first.
    precision   fp32, fp32_fast, tf32, bf16, fp16, fp64, fp8_e4m3, fp8_e5m2, int8, or auto, the
                command's default: fp64 if an array is float64, else fp32. None: that of a and b if
                both are of one type of 8 or 16 bits, fp64 if an array is float64, else fp32_fast.
                For fp8_e4m3 and fp8_e5m2 arrays of wider types in host memory are divided by a
                power of two each and rounded; arrays of 8 bits are taken as they are, times
                scale_a and scale_b
    bias        a list, added to each row of the product
    activation  "relu", "gelu" or None
    variant     a rung of the ladder, or a kernel that takes all options, such as "general"
    device      for arrays in host memory: auto, cuda, cuda:N, emulated or cpu. Matrices may be
                shared among several: all (every GPU), or a list such as "cuda:0,cuda:1"
    scale_a     factors of a, where it has 8-bit floats: a number, a list with one for each row, or
                a matrix with one for each row and 128 columns. On a GPU: float32 arrays there
    scale_b     the same of b: a number, one for each column, or one for each 128 x 128 elements

    Errors: ValueError for shapes, options and read-only arrays, TypeError for element types,
    DeviceError without a usable device.
    """
    alpha, beta = _require_options(precision, activation, alpha, beta, device)
    word("variant", variant)
    a, b = as_array(a), as_array(b)
    for name, array in (("a", a), ("b", b)):
        if dtype_name(array) == "int32":  # a type of products alone
            raise TypeError(f"{name} is int32: matmul takes float16, bfloat16, float32, float64, "
                            "int8 and 8-bit floats")
    left, right = tuple(a.shape), tuple(b.shape)
    a_is_list, b_is_list = len(left) == 1, len(right) == 1
    if a_is_list:
        a, left = a[None, :], (1, *left)
    if b_is_list:
        b, right = b[:, None], (*right, 1)
    shape = _product_shape(left, right)
    without_lists = shape
    if a_is_list:
        without_lists = without_lists[:-2] + without_lists[-1:]
    if b_is_list:
        without_lists = without_lists[:-1]
    if out is None:
        if beta != 0.0:
            raise ValueError("beta is the factor of out: pass the array to which to add")
        written = new_array(a, shape, _product_type(dtype_name(a), dtype_name(b)))
    else:
        require_writable(out)
        if tuple(out.shape) != without_lists:
            raise ValueError(f"out has shape {tuple(out.shape)}; the product has {without_lists}")
        written = out if without_lists == shape else out.reshape(shape)
    if bias is not None:
        bias = as_array(bias)
    queue = gpu_queue(a, device)
    scales = [None if scale is None else as_array(scale) for scale in (scale_a, scale_b)]
    if queue is not None:
        _tilescope.matmul_on_gpu(
            a, b, written, precision, bias, activation, alpha, beta, variant, queue, *scales
        )
    else:
        _tilescope.matmul(
            a, b, written, precision, bias, activation, alpha, beta, variant, device, *scales
        )
    product = returned(a, written, out)
    return product if product is out or without_lists == shape else product.reshape(without_lists)


def matmul_grouped(
    a: Any,
    b: Any,
    out: Any = None,
    precision: str | None = None,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    *,
    device: str = "auto",
) -> list:
    """[activation(alpha * a[i] @ b[i] + beta * out[i]) for each i], in one launch.

    a, b        lists of matrices of any shapes, as many a as b: those of a mixture of experts, for
                example. All a have one element type, and so have all b. Arrays as matmul() takes
                them, on the host or on one GPU. Wider types are not scaled to 8-bit floats here
    out         a list of arrays of one type, which receive the products; without it new arrays.
                With beta != 0 their elements are read first.
    precision, activation, device   as for matmul()

    Errors: as matmul()'s; messages name the product.
    """
    alpha, beta = _require_options(precision, activation, alpha, beta, device)
    left, right = [as_array(one) for one in a], [as_array(one) for one in b]
    if len(left) != len(right):
        raise ValueError(f"a has {len(left)} matrices and b {len(right)}; expected as many")
    if not left:
        return []
    for i, (one, other) in enumerate(zip(left, right)):
        if len(one.shape) != 2 or len(other.shape) != 2 or one.shape[1] != other.shape[0]:
            raise ValueError(f"product {i}: a has shape {tuple(one.shape)} and b "
                             f"{tuple(other.shape)}: they are no matrices with a product")
    shapes = [(one.shape[0], other.shape[1]) for one, other in zip(left, right)]
    if out is None:
        if beta != 0.0:
            raise ValueError("beta is the factor of out: pass the arrays to which to add")
        dtype = _product_type(dtype_name(left[0]), dtype_name(right[0]))
        written = [new_array(one, shape, dtype) for one, shape in zip(left, shapes)]
    else:
        written = list(out)
        if len(written) != len(left):
            raise ValueError(f"out has {len(written)} arrays, and there are {len(left)} products")
        for i, (one, shape) in enumerate(zip(written, shapes)):
            require_writable(one, f"out[{i}]")
            if tuple(one.shape) != shape:
                raise ValueError(f"out[{i}] has shape {tuple(one.shape)}; the product has {shape}")
    queue = gpu_queue(left[0], device)
    if queue is not None:
        _tilescope.matmul_grouped_on_gpu(left, right, written, precision, activation, alpha, beta,
                                         queue)
    else:
        _tilescope.matmul_grouped(left, right, written, precision, activation, alpha, beta, device)
    return [returned(one, result) for one, result in zip(left, written)]
