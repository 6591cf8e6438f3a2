"""Operators of PyTorch, and a switch that sends a module's float32 products through them.

    import tilescope.torch                          # registers torch.ops.tilescope.*
    c = torch.ops.tilescope.mm(a, b, "fp32_fast")
    tilescope.torch.use_precision(model)            # its float32 products: fp32_fast

Operators have gradients, whose products have the same precision, and forms without data, so that
torch.compile keeps them in its graphs. Tensors lie on a GPU or in host memory.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ._products import matmul

__all__ = ["bmm", "linear", "mm", "use_precision"]


def _product_dtype(a: Tensor, b: Tensor) -> torch.dtype:
    return torch.promote_types(a.dtype, b.dtype)  # float32 for float16 and bfloat16


def _product(a: Tensor, b: Tensor, precision: str, bias: Optional[Tensor] = None) -> Tensor:
    return matmul(
        a.detach(),
        b.detach(),
        precision=precision,
        bias=None if bias is None else bias.detach().float().contiguous(),
    )


def _require_ranks(name: str, rank: int, *tensors: Tensor) -> None:
    for tensor in tensors:
        if tensor.dim() != rank:
            raise ValueError(
                f"tilescope::{name} takes tensors of {rank} dimensions, not {tensor.dim()}"
            )


@torch.library.custom_op("tilescope::mm", mutates_args=())
def mm(a: Tensor, b: Tensor, precision: str = "fp32_fast") -> Tensor:
    """The product of two matrices, as torch.mm."""
    _require_ranks("mm", 2, a, b)
    return _product(a, b, precision)


@mm.register_fake
def _(a: Tensor, b: Tensor, precision: str = "fp32_fast") -> Tensor:
    _require_ranks("mm", 2, a, b)
    torch._check(a.shape[1] == b.shape[0])
    return a.new_empty((a.shape[0], b.shape[1]), dtype=_product_dtype(a, b))


@torch.library.custom_op("tilescope::bmm", mutates_args=())
def bmm(a: Tensor, b: Tensor, precision: str = "fp32_fast") -> Tensor:
    """The products of two batches of matrices, as torch.bmm."""
    _require_ranks("bmm", 3, a, b)
    return _product(a, b, precision)


@bmm.register_fake
def _(a: Tensor, b: Tensor, precision: str = "fp32_fast") -> Tensor:
    _require_ranks("bmm", 3, a, b)
    torch._check(a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1])
    return a.new_empty((a.shape[0], a.shape[1], b.shape[2]), dtype=_product_dtype(a, b))


def _keep_operands(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, ctx.precision = inputs
    ctx.save_for_backward(a, b)


def _gradients(multiply: Callable[..., Tensor]) -> Callable[..., Any]:
    def backward(ctx: Any, gradient: Tensor) -> Any:
        a, b = ctx.saved_tensors
        of_a = of_b = None
        if ctx.needs_input_grad[0]:
            of_a = multiply(gradient, b.mT, ctx.precision).to(a.dtype)
        if ctx.needs_input_grad[1]:
            of_b = multiply(a.mT, gradient, ctx.precision).to(b.dtype)
        return of_a, of_b, None

    return backward


mm.register_autograd(_gradients(mm), setup_context=_keep_operands)
bmm.register_autograd(_gradients(bmm), setup_context=_keep_operands)


@torch.library.custom_op("tilescope::linear", mutates_args=())
def linear(
    x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, precision: str = "fp32_fast"
) -> Tensor:
    """x @ weight.T + bias, as torch.nn.functional.linear; the bias is added in the same pass."""
    rows = x.reshape(-1, x.shape[-1])
    return _product(rows, weight.mT, precision, bias).reshape(*x.shape[:-1], weight.shape[0])


@linear.register_fake
def _(
    x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, precision: str = "fp32_fast"
) -> Tensor:
    torch._check(x.shape[-1] == weight.shape[1])
    return x.new_empty((*x.shape[:-1], weight.shape[0]), dtype=_product_dtype(x, weight))


def _keep_layer(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, bias, ctx.precision = inputs
    ctx.bias_dtype = None if bias is None else bias.dtype
    ctx.save_for_backward(x, weight)


def _gradients_of_layer(ctx: Any, gradient: Tensor) -> Any:
    x, weight = ctx.saved_tensors
    rows = gradient.reshape(-1, gradient.shape[-1])
    of_x = of_weight = of_bias = None
    if ctx.needs_input_grad[0]:
        of_x = mm(rows, weight, ctx.precision).reshape(x.shape).to(x.dtype)
    if ctx.needs_input_grad[1]:
        of_weight = mm(rows.mT, x.reshape(-1, x.shape[-1]), ctx.precision).to(weight.dtype)
    if ctx.bias_dtype is not None and ctx.needs_input_grad[2]:
        of_bias = rows.sum(0).to(ctx.bias_dtype)
    return of_x, of_weight, of_bias, None


linear.register_autograd(_gradients_of_layer, setup_context=_keep_layer)


def _all_float32(*tensors: Any) -> bool:
    return all(isinstance(t, Tensor) and t.dtype == torch.float32 for t in tensors)


class _Products(TorchFunctionMode):
    """Sends float32 products that the code inside asks of PyTorch through the operators."""

    def __init__(self, precision: str) -> None:
        super().__init__()
        self.precision = precision

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.linear and 2 <= len(args) + len(kwargs) <= 3:
            return self._linear(func, *args, **kwargs)
        if not kwargs and len(args) == 2 and _all_float32(*args):
            ranks = (args[0].dim(), args[1].dim())
            if ranks == (2, 2) and func in _MATRIX_PRODUCTS:
                return mm(*args, self.precision)
            if ranks == (3, 3) and func in _BATCH_PRODUCTS and args[0].shape[0] == args[1].shape[0]:
                return bmm(*args, self.precision)
        return func(*args, **kwargs)

    def _linear(self, func: Any, input: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
        if _all_float32(input, weight) and input.dim() > 0:
            return linear(input, weight, bias, self.precision)
        return func(input, weight, bias)


_GENERAL = (torch.matmul, Tensor.matmul, Tensor.__matmul__)
_MATRIX_PRODUCTS = frozenset((*_GENERAL, torch.mm, Tensor.mm))
_BATCH_PRODUCTS = frozenset((*_GENERAL, torch.bmm, Tensor.bmm))


def use_precision(module: torch.nn.Module, precision: str = "fp32_fast") -> torch.nn.Module:
    """Sends the module's float32 products (linear layers, mm, bmm, matmul of matrices and batches)
    through tilescope, forwards and backwards. Returns the module, which is changed.

        model = tilescope.torch.use_precision(model)

    Products of other types, and of tensors of other ranks, stay as they are.
    """
    forward = module.forward

    def forward_with_precision(*args: Any, **kwargs: Any) -> Any:
        with _Products(precision):
            return forward(*args, **kwargs)

    module.forward = forward_with_precision
    return module
