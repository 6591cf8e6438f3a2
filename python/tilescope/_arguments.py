"""Arguments of kernels from Python's values."""

import ctypes
import struct

from . import _tilescope
from ._arrays import refuse_masked

_TYPES = {"i": "int", "u": "uint", "f": "float", "b": "bool"}


def reach(shape, strides):
    """The elements from an array's first to its last; strides in elements."""
    if any(n == 0 for n in shape):
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(shape, strides))


def memory(address, type_name, item_bytes, shape, strides, read_only=False, name=""):
    """An array in host memory, from its first to its last element; strides in elements. Elements
    of a type that kernels have no name for count as bytes. Raises ValueError for negative strides.
    """
    if any(s < 0 for s in strides):
        raise ValueError(f"{name or 'argument'}: the array runs backwards in memory; give a copy")
    count = reach(shape, strides)
    if type_name is None:
        type_name, count = "uint8", count * item_bytes
    return _tilescope.memory_argument(address, type_name, count, read_only, name)


def _dlpack_or_buffer(value, name):
    device = getattr(value, "__dlpack_device__", lambda: (1, 0))()
    if device[0] != 1:
        raise TypeError(f"{name or 'argument'}: the array is not in host memory; copy it to the "
                        "CPU")
    refuse_masked(value)
    try:
        array = _tilescope.describe(value.detach() if hasattr(value, "detach") else value)
    except TypeError:
        dtype = getattr(value, "dtype", None)
        raise TypeError(f"{name or 'argument'}: kernels take numbers in the machine's byte order, "
                        f"not elements of type {getattr(dtype, 'str', dtype)}") from None
    return memory(array["address"], array["type"], array["item_bytes"], array["shape"],
                  array["strides"], array["read_only"], name)


def argument(value, name=""):
    """The native argument for a value. Raises TypeError for a value that kernels cannot take, and
    for arrays that are not in host memory."""
    if value is None:
        return _tilescope.value_argument(bytes(8), "uint64", name)
    if isinstance(value, bool):
        return _tilescope.value_argument(bytes([value]), "bool", name)
    if isinstance(value, int):
        if not -2**63 <= value < 2**64:
            raise TypeError(f"{name or 'argument'}: {value} has more than 64 bits")
        if value >= 2**63:
            return _tilescope.value_argument(struct.pack("<Q", value), "uint64", name)
        return _tilescope.number_argument(value, name)
    if type(value) is float:
        return _tilescope.number_argument(value, name)
    if isinstance(value, (tuple, list)):
        return _tilescope.structure_argument([argument(member) for member in value], name)
    if isinstance(value, (bytes, ctypes.Structure)):
        return _tilescope.value_argument(bytes(value), "uint8", name)
    dtype = getattr(value, "dtype", None)
    if dtype is not None and getattr(value, "shape", None) == () and hasattr(value, "tobytes") and \
            not hasattr(value, "__setitem__"):  # a NumPy number
        kind = _TYPES.get(dtype.kind)
        type_name = "bool" if kind == "bool" else f"{kind}{8 * dtype.itemsize}" if kind else "uint8"
        return _tilescope.value_argument(value.tobytes(), type_name, name)
    if hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__") or isinstance(
            value, (bytearray, memoryview)):
        return _dlpack_or_buffer(value, name)
    raise TypeError(f"{name or 'argument'}: expected an array in host memory, a number, None, "
                    f"bytes or a tuple, got {type(value).__name__}")
