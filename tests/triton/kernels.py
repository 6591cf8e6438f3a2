"""Triton kernels of the kinds that its tutorials teach, for generate.py and triton_test.py."""
import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    y = tl.load(y_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + y, mask=inside)


@triton.jit
def overrun(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x + y, mask=at <= n)  # one element too many


@triton.jit
def softmax(x_ptr, out_ptr, rows, columns, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * stride + at, mask=at < columns, other=-float("inf"))
        raised = tl.exp(x - tl.max(x, axis=0))
        tl.store(out_ptr + row * stride + at, raised / tl.sum(raised, axis=0), mask=at < columns)


@triton.jit
def tile_product(a_ptr, b_ptr, c_ptr, m, n, k, row, column, M: tl.constexpr, N: tl.constexpr,
                 K: tl.constexpr):
    """The tile of C = A B at (row, column); all matrices row-major and f16."""
    rows = row + tl.arange(0, M)
    columns = column + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        left = k - start
        a = tl.load(a_ptr + rows[:, None] * k + (start + inner)[None, :],
                    mask=(rows[:, None] < m) & (inner[None, :] < left), other=0.0)
        b = tl.load(b_ptr + (start + inner)[:, None] * n + columns[None, :],
                    mask=(inner[:, None] < left) & (columns[None, :] < n), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total.to(tl.float16),
             mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
           GROUP: tl.constexpr):
    tile = tl.program_id(0)
    tiles_m = tl.cdiv(m, M)
    tiles_n = tl.cdiv(n, N)
    first = tile // (GROUP * tiles_n) * GROUP
    height = min(tiles_m - first, GROUP)
    row = first + tile % (GROUP * tiles_n) % height
    column = tile % (GROUP * tiles_n) // height
    tile_product(a_ptr, b_ptr, c_ptr, m, n, k, row * M, column * N, M, N, K)


@triton.jit
def persistent_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr,
                      K: tl.constexpr):
    tiles_n = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * tiles_n, tl.num_programs(0)):
        tile_product(a_ptr, b_ptr, c_ptr, m, n, k, tile // tiles_n * M, tile % tiles_n * N, M, N,
                     K)


@triton.jit
def grouped_gemm(addresses_ptr, sizes_ptr, groups, M: tl.constexpr, N: tl.constexpr,
                 K: tl.constexpr):
    """addresses: a, b, c of each group; sizes: m, n, k of each group."""
    tile = tl.program_id(0)
    end = 0
    for group in range(groups):
        m = tl.load(sizes_ptr + group * 3)
        n = tl.load(sizes_ptr + group * 3 + 1)
        k = tl.load(sizes_ptr + group * 3 + 2)
        a_ptr = tl.load(addresses_ptr + group * 3).to(tl.pointer_type(tl.float16))
        b_ptr = tl.load(addresses_ptr + group * 3 + 1).to(tl.pointer_type(tl.float16))
        c_ptr = tl.load(addresses_ptr + group * 3 + 2).to(tl.pointer_type(tl.float16))
        tiles_n = tl.cdiv(n, N)
        tiles = tl.cdiv(m, M) * tiles_n
        while tile < end + tiles:
            here = tile - end
            tile_product(a_ptr, b_ptr, c_ptr, m, n, k, here // tiles_n * M, here % tiles_n * N, M,
                         N, K)
            tile += tl.num_programs(0)
        end += tiles


@triton.jit
def layer_norm(x_ptr, out_ptr, scale_ptr, shift_ptr, mean_ptr, rstd_ptr, stride, n, eps,
               BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        x = tl.where(at < n, x - mean, 0.0)
        squares += x * x
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
        scale = tl.load(scale_ptr + at, mask=at < n).to(tl.float32)
        shift = tl.load(shift_ptr + at, mask=at < n).to(tl.float32)
        tl.store(out_ptr + at, ((x - mean) * rstd * scale + shift).to(tl.float16), mask=at < n)


@triton.jit
def layer_norm_backward(dy_ptr, x_ptr, scale_ptr, mean_ptr, rstd_ptr, dx_ptr, dscale_ptr, locks_ptr,
                        stride, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """dx of one row; the row's part of d scale is added under a lock, one for each group."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + row * stride + at, mask=inside, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + at, mask=inside, other=0).to(tl.float32)
    scale = tl.load(scale_ptr + at, mask=inside, other=0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    wdy = tl.where(inside, scale * dy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / n
    c2 = tl.sum(wdy, axis=0) / n
    tl.store(dx_ptr + row * stride + at, ((wdy - (xhat * c1 + c2)) * rstd).to(tl.float16),
             mask=inside)
    part = dy * xhat
    group = row % GROUPS
    while tl.atomic_cas(locks_ptr + group, 0, 1) == 1:
        pass
    into = dscale_ptr + group * n + at
    tl.store(into, tl.load(into, mask=inside) + part, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(locks_ptr + group, 0)


@triton.jit
def attention(q_ptr, k_ptr, v_ptr, out_ptr, scale, length, M: tl.constexpr, N: tl.constexpr,
              D: tl.constexpr):
    """Causal attention of one head: q, k, v and out are length x D, f16."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    depth = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :], mask=rows[:, None] < length, other=0.0)
    highest = tl.full((M,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((M,), dtype=tl.float32)
    out = tl.zeros((M, D), dtype=tl.float32)
    for start in range(0, tl.minimum((tl.program_id(0) + 1) * M, length), N):
        columns = start + tl.arange(0, N)
        k = tl.load(k_ptr + columns[None, :] * D + depth[:, None], mask=columns[None, :] < length,
                    other=0.0)
        score = tl.dot(q, k) * scale
        score = tl.where(columns[None, :] <= rows[:, None], score, -float("inf"))
        above = tl.maximum(highest, tl.max(score, axis=1))
        weight = tl.math.exp2(score - above[:, None])
        shrink = tl.math.exp2(highest - above)
        total = total * shrink + tl.sum(weight, axis=1)
        v = tl.load(v_ptr + columns[:, None] * D + depth[None, :], mask=columns[:, None] < length,
                    other=0.0)
        out = tl.dot(weight.to(tl.float16), v, out * shrink[:, None])
        highest = above
    tl.store(out_ptr + rows[:, None] * D + depth[None, :], (out / total[:, None]).to(tl.float16),
             mask=rows[:, None] < length)


@triton.jit
def descriptor_matmul(a_ptr, b_ptr, c_ptr, m, n, k, M: tl.constexpr, N: tl.constexpr,
                      K: tl.constexpr):
    """C = A B^T, persistent, with descriptors that the kernel makes; n and k count eights."""
    a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    b = tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    c = tl.make_tensor_descriptor(c_ptr, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    tiles_n = tl.cdiv(n, N)
    for tile in tl.range(tl.program_id(0), tl.cdiv(m, M) * tiles_n, tl.num_programs(0)):
        row = tile // tiles_n * M
        column = tile % tiles_n * N
        total = tl.zeros((M, N), dtype=tl.float32)
        for start in range(0, k, K):
            total = tl.dot(a.load([row, start]), b.load([column, start]).T, total)
        c.store([row, column], total.to(tl.float16))
