"""The calls that tests on a GPU make, with operands drawn on the host."""

import numpy
import tilescope

RANDOM = numpy.random.default_rng(21)


def draw(*shape, dtype="float32"):
    scale = 1 if dtype.startswith("float") else 100
    return (RANDOM.uniform(-1, 1, shape) * scale).astype(dtype)


def image(*shape):
    return RANDOM.integers(0, 256, shape).astype("uint8")


# Name, call, operands; every companion operation, and launches with memory between them.
COMPANIONS = [
    ("saxpb", lambda x, **on: tilescope.saxpb(1.5, x, -3, **on), [draw(1000, 33)]),
    ("saxpb double", lambda x, **on: tilescope.saxpb(1.5, x, -3, **on),
     [draw(4097, dtype="float64")]),
    ("vector_add", tilescope.vector_add, [draw(70_001), draw(70_001)]),
    ("scale", lambda x, **on: tilescope.scale(x, 0.1, **on), [draw(123, 77)]),
    ("reverse", tilescope.reverse, [draw(10_007, dtype="int16")]),
    ("transpose", tilescope.transpose, [draw(300, 517)]),
    ("transpose bytes", tilescope.transpose, [image(65, 1000)]),
    ("transpose bool", tilescope.transpose, [image(33, 65) > 99]),
    ("laplacian", tilescope.laplacian, [draw(200, 333)]),
    ("laplacian repeated", lambda x, **on: tilescope.laplacian(
        x, iterations=7, center=0.2, side=0.2, **on), [draw(129, 190)]),
    ("blur", lambda x, **on: tilescope.blur(x, 3, **on), [image(120, 333)]),
    ("blur colours", lambda x, **on: tilescope.blur(x, 2, **on), [image(90, 120, 3)]),
    ("reduce", tilescope.reduce, [draw(100_001)]),
    ("reduce integers", tilescope.reduce, [draw(100_001, dtype="int32")]),
    ("reduce max", lambda x, **on: tilescope.reduce(x, "max", **on), [draw(5000, 7)]),
    ("reduce argmax", lambda x, **on: tilescope.reduce(x, "argmax", **on), [draw(50_000)]),
    ("histogram", lambda x, **on: tilescope.histogram(x, 64, (-1, 1), **on), [draw(99_999)]),
    ("histogram bytes", tilescope.histogram, [image(512, 33)]),
]
PRODUCTS = [
    ("fp32", "float32", (200, 300, 152)), ("fp32_fast", "float32", (2048, 2048, 1024)),
    ("tf32", "float32", (256, 128, 512)), ("bf16", "float32", (256, 256, 256)),
    ("fp16", "float16", (1024, 512, 256)), ("fp64", "float64", (100, 90, 80)),
    (None, "float32", (129, 64, 32)), (None, "float16", (64, 64, 64)),
]
# Rows that do not begin at multiples of 16 bytes: other kernels may take them than those from host
# memory, whose copies have aligned rows.
UNALIGNED = [(None, "float16", (333, 77, 1001)), ("tf32", "float32", (129, 65, 33)),
             (None, "float32", (129, 65, 33)), ("bf16", "float32", (1023, 511, 33))]


def products():
    """Name, call and operands of products of every precision, plain and with everything."""
    for precision, dtype, (m, n, k) in PRODUCTS:
        yield (f"{precision} {m} x {n} x {k}",
               lambda a, b, p=precision, **on: tilescope.matmul(a, b, precision=p, **on),
               [draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)])
    yield "batch", tilescope.matmul, [draw(5, 40, 72), draw(5, 72, 24)]
    yield "matrix beside a batch", tilescope.matmul, [draw(5, 40, 72), draw(72, 24)]
    yield "list", tilescope.matmul, [draw(72), draw(72, 24)]
    yield ("bias and activation", lambda a, b, bias, **on: tilescope.matmul(
        a, b, bias=bias, activation="gelu", alpha=0.5, **on),
        [draw(65, 72), draw(72, 130), draw(130)])


CALLS = [*COMPANIONS, *products()]


def unaligned_products():
    """Name, call, operands and the bound of each element, twice the largest of docs/matmul.md."""
    for precision, dtype, (m, n, k) in UNALIGNED:
        a, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype)
        roundoff = {None: 2.0**-23, "tf32": 2.0**-9, "bf16": 2.0**-7}[precision]  # of operands too
        magnitude = abs(a.astype("float64")) @ abs(b.astype("float64"))
        yield (f"{precision} {m} x {n} x {k}",
               lambda x, y, p=precision, **on: tilescope.matmul(x, y, precision=p, **on), [a, b],
               2 * ((k + 2) * 2.0**-23 + roundoff) * magnitude
               + 2 * numpy.finfo(dtype).eps * abs(a.astype("float64") @ b.astype("float64")))


def expected(call, operands):
    """The result for arrays in host memory on the same GPU, as NumPy's."""
    return numpy.asarray(call(*operands, device="cuda"))


def same_bits(result, reference):
    """Whether a NumPy array has the elements of another. A number, and integers, may have another
    type."""
    if result.shape != reference.shape:
        return False
    if reference.ndim == 0:
        return result.item() == reference.item()
    if reference.dtype.kind in "iu":
        return bool((result.astype("int64") == reference.astype("int64")).all())
    return result.dtype == reference.dtype and result.tobytes() == reference.tobytes()
