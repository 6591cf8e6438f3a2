"""The arguments of a Triton launch, packed as its compiled kernels take them."""

import gc
import re
import struct

from . import _tilescope
from ._arguments import memory, reach

_FORMATS = {"fp16": "<e", "fp32": "<f", "f32": "<f", "fp64": "<d"}
_ELEMENTS = {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
             "uint8", "uint16", "uint32", "uint64", "bool"}


def _packed(kind, value):
    """A number as bytes."""
    if kind in _FORMATS:
        return struct.pack(_FORMATS[kind], float(value))
    if kind == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", float(value)))[0]
        return struct.pack("<H", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
    bits = int(re.fullmatch(r"[iu](\d+)", kind).group(1))
    size = max(bits, 8) // 8
    return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")


def _whole(tensor):
    """The tensor that holds the elements: Triton wraps some."""
    return tensor.base if hasattr(tensor, "base") and not hasattr(tensor, "stride") else tensor


def _array(tensor, name):
    tensor = _whole(tensor)
    kind = getattr(getattr(tensor, "device", None), "type", "cpu")
    if kind != "cpu":
        raise ValueError(f"argument {name}: the tensor is on {kind}; the emulated device takes "
                         "tensors on the CPU")
    element = str(tensor.dtype).rpartition(".")[2]
    return memory(tensor.data_ptr(), element if element in _ELEMENTS else None,
                  tensor.element_size(), tuple(tensor.shape), tuple(tensor.stride()), False, name)


def _tensor_map(descriptor, layout):
    """The 128 bytes of a tensor map."""
    shape = list(descriptor.shape)
    if layout["fp4_padded"]:
        shape[-1] *= 2
    if layout.get("is_im2col"):
        raise NotImplementedError("tensor maps of im2col mode are not supported")
    return _tilescope.tensor_map(
        descriptor.base.data_ptr(), layout["elem_type"],
        bool(getattr(descriptor, "round_f32_to_tf32", False)), layout["elem_size"], shape,
        list(descriptor.strides), list(layout["block_size"]), layout["swizzle"],
        descriptor.padding == "nan")


class _Packer:
    def __init__(self, layouts):
        self.layouts = list(layouts or ())
        self.arguments, self.tensors, self.in_place = [], [], []

    def number(self, kind, value, name):
        self.arguments.append(_tilescope.value_argument(_packed(kind, value), "bits", name))

    def pointer(self, value, name):
        if hasattr(value, "data_ptr"):
            self.tensors.append(_whole(value))
            self.arguments.append(_array(value, name))
        else:
            self.number("u64", value or 0, name)

    def descriptor(self, value, name):
        """A tensor map, or without one its parts: as Triton's own launcher passes them."""
        if self.layouts:
            self.arguments.append(_tilescope.value_argument(_tensor_map(value, self.layouts.pop(0)),
                                                         "bits", name))
            self.in_place.append(_whole(value.base))
        else:
            self.pointer(value.base, name)
            for part in (*value.shape, *value.strides):
                self.number("i64", part, name)
            self.number("i1", value.padding == "nan", name)
            if hasattr(value, "round_f32_to_tf32"):
                self.number("i1", value.round_f32_to_tf32, name)
        for part in value.shape:
            self.number("i32", part, name)
        for part in value.strides:
            self.number("i64", part, name)

    def add(self, kind, value, name):
        if isinstance(kind, tuple):
            for i, (inner, part) in enumerate(zip(kind, value)):
                self.add(inner, part, f"{name}[{i}]")
        elif kind.startswith("*"):
            self.pointer(value, name)
        elif kind.startswith("tensordesc"):
            self.descriptor(value, name)
        elif kind != "constexpr":
            self.number(kind, value, name)


def typed_arguments(names, types, values, layouts):
    """Native arguments, and the tensors among them: those by pointer, those by tensor map."""
    packer = _Packer(layouts)
    for name, kind, value in zip(names, types, values):
        packer.add(kind, value, name)
    return packer.arguments, (packer.tensors, packer.in_place)


def _span(tensor):
    array = _whole(tensor)
    start = array.data_ptr()
    return start, start + reach(array.shape, array.stride()) * array.element_size()


def _live_tensors(addresses):
    """Tensors of the program that start at one of these addresses."""
    import torch
    return [value for value in gc.get_objects()
            if issubclass(type(value), torch.Tensor) and value.device.type == "cpu"
            and value.data_ptr() in addresses]


def pointed_to(tensors):
    """Arrays that keep their addresses, since the kernel finds them by tensor maps or by addresses
    in memory: in a tensor of 64-bit integers."""
    by_pointer, in_place = tensors
    addresses = set()
    for tensor in by_pointer:
        if str(tensor.dtype) in ("torch.int64", "torch.uint64") and tensor.numel() < 1 << 16:
            addresses.update(value for value in tensor.flatten().tolist() if value >= 1 << 16)
    spans = [_span(tensor) for tensor in in_place]
    if addresses:
        spans += [_span(tensor) for tensor in _live_tensors(addresses)]
    # Arguments that overlap them must lie inside.
    spans = sorted(span for span in spans if span[0] < span[1])
    for span in sorted(_span(tensor) for tensor in by_pointer):
        if any(span[0] < end and start < span[1] for start, end in spans):
            spans = sorted(spans + [span])
    merged = []
    for start, end in spans:
        if merged and start < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [_tilescope.memory_argument(start, "uint8", end - start, False, f"tensor {i + 1}")
            for i, (start, end) in enumerate(merged)]
