"""Kernels of Numba: compiled to PTX for the emulated device, with the parameters that Numba makes
of arrays."""

import inspect

from . import _tilescope


def ptx_and_arguments(kernel, args, device):
    """The PTX for arguments of these types, and the values of its parameters by their names."""
    import numpy
    from numba import cuda, typeof

    facts = _tilescope.device_facts(device)
    ptx, _ = cuda.compile_ptx(kernel.py_func, tuple(typeof(value) for value in args), device=False,
                              cc=(facts["compute_major"], facts["compute_minor"]), lineinfo=True,
                              fastmath=bool(kernel.targetoptions.get("fastmath")))
    values = {}
    for name, value in zip(inspect.signature(kernel.py_func).parameters, args):
        if not isinstance(value, numpy.ndarray):
            values[name] = value
            continue
        values[name + ".meminfo"] = values[name + ".parent"] = None
        values[name + ".size"], values[name + ".itemsize"] = value.size, value.itemsize
        values[name] = value
        for what, numbers in (("shape", value.shape), ("strides", value.strides)):
            for i, number in enumerate(numbers):
                values[f"{name}.{what}[{i}]"] = number
    return ptx, values
