"""torch for scripts that were written for a GPU: "cuda" means host memory, and torch.cuda's
questions about the device are answered for the emulated one."""

import re
import types

import torch
from torch.overrides import TorchFunctionMode


def _moved(value):
    if isinstance(value, torch.device) and value.type == "cuda":
        return torch.device("cpu")
    if isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value):
        return "cpu"
    return value


class _HostMemory(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func == torch.Tensor.cuda:
            return args[0]
        if func == torch.Tensor.is_cuda.__get__:
            return True  # the device of launches reaches it
        return func(*map(_moved, args), **{key: _moved(v) for key, v in (kwargs or {}).items()})


class TorchOnHost:
    """start() and stop() put the answers in place and take them away."""

    def __init__(self, facts):
        properties = types.SimpleNamespace(
            name=facts["name"], major=facts["compute_major"], minor=facts["compute_minor"],
            multi_processor_count=facts["multiprocessors"], total_memory=facts["global_bytes"],
            shared_memory_per_block_optin=facts["shared_bytes_per_block"],
            regs_per_multiprocessor=facts["registers_per_block"], warp_size=32)
        self._answers = {
            "get_device_capability": lambda device=None: (properties.major, properties.minor),
            "get_device_properties": lambda device=None: properties,
            "get_device_name": lambda device=None: properties.name,
            "current_device": lambda: 0,
            "synchronize": lambda device=None: None}
        self._before = {name: getattr(torch.cuda, name) for name in self._answers}
        self._mode = _HostMemory()

    def start(self):
        for name, answer in self._answers.items():
            setattr(torch.cuda, name, answer)
        self._mode.__enter__()

    def stop(self):
        self._mode.__exit__(None, None, None)
        for name, answer in self._before.items():
            setattr(torch.cuda, name, answer)
