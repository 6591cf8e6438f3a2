"""Triton kernels with planted mistakes, and their cured twins."""
import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, n, BLOCK: tl.constexpr, CURED: tl.constexpr):
    """Moves each element one place down, which needs every block to have read before any writes."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    above = tl.load(x_ptr + at + 1, mask=at + 1 < n)
    if CURED:
        tl.store(x_ptr + n + at, above, mask=at + 1 < n)
    else:
        tl.store(x_ptr + at, above, mask=at + 1 < n)  # planted race


@triton.jit
def total(x_ptr, sum_ptr, n, BLOCK: tl.constexpr, CURED: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + at, mask=at < n, other=0.0), axis=0)
    if CURED:
        tl.atomic_add(sum_ptr, part)
    else:
        tl.store(sum_ptr, tl.load(sum_ptr) + part)  # planted lost update


@triton.jit
def copy_rows(x_ptr, z_ptr, rows, columns, stride, BLOCK: tl.constexpr, CURED: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns if CURED else at < stride
    x = tl.load(x_ptr + row * stride + at, mask=at < columns)
    tl.store(z_ptr + row * columns + at, x, mask=inside)  # planted overrun


@triton.jit
def load_descriptor(x, z_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    tile = x.load([0, COLUMNS])
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tl.store(z_ptr + rows[:, None] * COLUMNS + columns[None, :], tile)


@triton.jit
def types(out_ptr, i8: tl.int8, wide, real, flag, word: tl.uint32):
    tl.store(out_ptr, i8.to(tl.float64))
    tl.store(out_ptr + 1, wide.to(tl.float64))
    tl.store(out_ptr + 2, real.to(tl.float64))
    tl.store(out_ptr + 3, flag.to(tl.float64))
    tl.store(out_ptr + 4, word.to(tl.float64))


@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=64), triton.Config({"BLOCK": 256}),
                  triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def tuned(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
