"""GPU kernels you can see through: products and companion operations, ladders, checks.

    import numpy, tilescope
    c = tilescope.matmul(a, b, precision="bf16")
    print(tilescope.ladder("matmul", size=128))

Everything runs on machines without a GPU too. Errors are subclasses of tilescope.Error and of the
exception that Python has for the case, with one line of text.
"""

from ._companions import (
    blur,
    histogram,
    laplacian,
    reduce,
    reverse,
    saxpb,
    scale,
    transpose,
    vector_add,
)
from ._ladder import ladder
from ._products import matmul
from ._report import Report
from ._tilescope import (
    DeviceError,
    Error,
    InputError,
    UsageError,
    WrongResultError,
    __version__,
)

__all__ = [
    "DeviceError",
    "Error",
    "InputError",
    "Report",
    "UsageError",
    "WrongResultError",
    "__version__",
    "blur",
    "histogram",
    "ladder",
    "laplacian",
    "matmul",
    "reduce",
    "reverse",
    "saxpb",
    "scale",
    "transpose",
    "vector_add",
]
