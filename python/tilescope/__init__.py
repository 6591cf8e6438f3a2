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
from ._cuda_packages import find_cuda_packages
from ._ladder import ladder
from ._products import matmul, matmul_grouped
from ._report import Report
from .inspection import (
    CheckResult,
    ExplainResult,
    Finding,
    KernelDefect,
    KernelWarning,
    RunResult,
    check,
    explain,
    run,
)
from ._tilescope import (
    DeviceError,
    Error,
    InputError,
    UsageError,
    WrongResultError,
    __version__,
)

find_cuda_packages()
del find_cuda_packages

__all__ = [
    "CheckResult",
    "DeviceError",
    "Error",
    "ExplainResult",
    "Finding",
    "InputError",
    "KernelDefect",
    "KernelWarning",
    "Report",
    "RunResult",
    "UsageError",
    "WrongResultError",
    "__version__",
    "blur",
    "check",
    "explain",
    "histogram",
    "ladder",
    "laplacian",
    "matmul",
    "matmul_grouped",
    "reduce",
    "reverse",
    "run",
    "saxpb",
    "scale",
    "transpose",
    "vector_add",
]
