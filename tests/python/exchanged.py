"""Arrays that speak DLPack and nothing else, made of NumPy's memory: every field is the test's."""

import ctypes

import numpy


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("rank", ctypes.c_int32),
                ("type", _Type), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("context", ctypes.c_void_p), ("deleter", _DELETER), ("flags", ctypes.c_uint64),
                ("tensor", _Tensor)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

HOST, CUDA, VULKAN = 1, 2, 7
CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "complex": 5, "bool": 6, "float8": 7,
         "float8_e4m3fn": 10}


class Dtype:
    def __init__(self, name):
        self.name = name


class Exchanged:
    """`memory` (a NumPy array of any type of the element's size) as a tensor of another package.

    code, bits, lanes   the element type as DLPack writes it
    dtype               its name, which a package tells apart from DLPack
    compact             strides are left out, as dense tensors may
    read_only           in the form of DLPack 1.0, which says so
    """

    def __init__(self, memory, code, bits, dtype, *, lanes=1, device=(HOST, 0), compact=False,
                 read_only=None, byte_offset=0):
        self.memory, self.dtype, self.shape = memory, Dtype(dtype), memory.shape
        self.type, self.device = _Type(CODES[code], bits, lanes), device
        self.compact, self.read_only, self.byte_offset = compact, read_only, byte_offset
        self.handed_out = {}
        self.released = 0

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **_):
        extents = (ctypes.c_int64 * self.memory.ndim)(*self.memory.shape)
        steps = (ctypes.c_int64 * self.memory.ndim)(
            *(stride // self.memory.itemsize for stride in self.memory.strides))
        tensor = _Tensor(self.memory.ctypes.data - self.byte_offset, _Device(*self.device),
                         self.memory.ndim, self.type, extents,
                         None if self.compact else steps, self.byte_offset)

        def release(_):
            self.released += 1

        deleter = _DELETER(release)
        if self.read_only is None:
            managed, name = _Managed(tensor, None, deleter), b"dltensor"
        else:
            managed = _Versioned(1, 0, None, deleter, int(self.read_only), tensor)
            name = b"dltensor_versioned"
        self.handed_out[id(managed)] = (managed, deleter, extents, steps)
        return _new_capsule(ctypes.addressof(managed), name, None)


def bfloat16_words(values):
    """float32 values that bfloat16 holds, as its words."""
    return (values.astype("float32").view("uint32") >> 16).astype("uint16")


def bfloat16_values(words):
    return (words.astype("uint32") << 16).view("float32").reshape(numpy.shape(words))
