"""Triton without a GPU: kernel[grid](...) runs on the emulated device, with checks.

    import tilescope.triton
    tilescope.triton.enable()          # then the script as it is, with torch tensors on the CPU

or, without touching the script:

    python -m tilescope.triton script.py

A launch with an error raises tilescope.KernelDefect, which names the line of Python; warnings are
Python's, of the class tilescope.KernelWarning.
"""

import contextlib
import os
import re
import sys
import time
import warnings

import triton
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from . import _tilescope
from ._triton_arguments import pointed_to, typed_arguments
from .inspection import KernelDefect, KernelWarning, extent, inspect_native

_MODES = ("check", "explain", "run")

# Warnings about instructions that Triton places, not the author of a kernel. They are in `results`.
_OF_TRITON = {"missing-mbarrier-fence"}


class _Utilities:
    """The functions that Triton asks of a device's own library."""

    def __init__(self, device):
        self.facts = _tilescope.device_facts(device)

    def get_device_properties(self, device=None):
        return {"max_shared_mem": self.facts["shared_bytes_per_block"],
                "max_num_regs": self.facts["registers_per_block"],
                "multiprocessor_count": self.facts["multiprocessors"],
                "warpSize": 32, "sm_clock_rate": self.facts["core_clock_khz"],
                "mem_clock_rate": self.facts["memory_clock_khz"],
                "mem_bus_width": self.facts["memory_bus_bits"]}

    def load_binary(self, name, kernel, shared, device):
        """Module, function, registers a thread, spilled bytes, threads a block at most. The
        registers are the most that such blocks can have: nothing has been compiled to machine
        code."""
        ptx = kernel.decode()
        threads = _threads(ptx) or 1024
        registers = min(255, self.facts["registers_per_block"] // threads)
        return name, (name, ptx), registers, 0, 1024

    def unload_module(self, module):
        pass

    def set_printf_fifo_size(self, size):
        pass


def _threads(ptx):
    """The threads of a block, as the kernel's directive says."""
    found = re.search(r"^\s*\.reqntid\s+([\d, ]+)", ptx, re.M)
    count = 1
    for number in found.group(1).split(",") if found else ():
        count *= int(number)
    return count if found else None


class _Launcher:
    """Launches one compiled kernel; Triton makes it from the kernel's source and metadata."""

    def __init__(self, source, metadata):
        self.metadata = metadata
        self.names = source.fn.arg_names if hasattr(source, "fn") else []
        self.types = list(source.signature.values())

    def __call__(self, grid_x, grid_y, grid_z, stream, function, packed_metadata, launch_metadata,
                 enter_hook, exit_hook, *args):
        driver = triton.runtime.driver.active
        if driver.is_dry or 0 in (grid_x, grid_y, grid_z):
            return
        name, ptx = function
        metadata = self.metadata
        clusters = getattr(metadata, "num_ctas", 1)
        blocks = grid_x * grid_y * grid_z * clusters
        names = self.names if len(self.names) == len(self.types) else [""] * len(self.types)
        arguments, tensors = typed_arguments(names, self.types, args,
                                             getattr(metadata, "tensordesc_meta", None))
        for own in ("global_scratch", "profile_scratch"):
            size = getattr(metadata, own + "_size", None)
            if size is not None:
                arguments.append(_tilescope.scratch_argument(size * blocks, own))
        launch = _tilescope.launch(
            name, extent((grid_x * clusters, grid_y, grid_z), "grid"),
            extent(_threads(ptx) or 32 * metadata.num_warps, "block"),
            arguments, pointed_to(tensors), metadata.shared, extent(clusters, "cluster"),
            getattr(metadata, "launch_cooperative_grid", False), [], [])
        if enter_hook is not None:
            enter_hook(launch_metadata)
        driver.launch(_tilescope.source_text(ptx, name + ".ptx", True), launch)
        if exit_hook is not None:
            exit_hook(launch_metadata)


class EmulatedDriver(DriverBase):
    """Triton's driver for Tilescope's emulated device.

    `launches` is the number of launches, `defects` that of launches with an error that were not
    raised; `results` holds the result of each if `keep` is set.
    """

    def __init__(self, mode="check", device="emulated", on_defect="raise", keep=False, **options):
        if mode not in _MODES:
            raise ValueError(f"mode: expected one of {', '.join(_MODES)}, got {mode!r}")
        if on_defect not in ("raise", "print", "keep"):
            raise ValueError(f"on_defect: expected raise, print or keep, got {on_defect!r}")
        super().__init__()
        self.mode, self.device, self.on_defect, self.keep = mode, device, on_defect, keep
        self.options = options
        self.utils = _Utilities(device)
        self.launcher_cls = _Launcher
        self.launches, self.defects, self.results, self.is_dry = 0, 0, [], False
        self._tuned = None
        facts = self.utils.facts
        self.capability = 10 * facts["compute_major"] + facts["compute_minor"]

    def launch(self, source, launch):
        result = inspect_native(self.mode, source, launch, self.device, **self.options)
        self.launches += 1
        self._tuned = None
        if self.keep:
            self.results.append(result)
        if result.printed:
            sys.stdout.write(result.printed)
        if self.mode == "run" and result.failure:
            raise RuntimeError(result.failure)
        if self.mode == "check" and not result.clean:
            self._tell(result)

    def _tell(self, result):
        is_error = not result.json["complete"] or any(
            finding.severity == "error" for finding in result.findings)
        if is_error and self.on_defect == "raise":
            raise KernelDefect(result)
        self.defects += is_error
        if self.on_defect == "keep":
            return
        if is_error:
            print(result, file=sys.stderr)
        elif any(finding.severity == "warning" and finding.kind not in _OF_TRITON
                 for finding in result.findings):
            warnings.warn(str(result), KernelWarning, stacklevel=4)

    # Triton's interface.
    @classmethod
    def is_active(cls):
        return True

    def map_python_to_cpp_type(self, ty):
        return "CUdeviceptr" if ty.startswith("*") else ty

    def get_current_target(self):
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self):
        return self.capability  # Triton keeps compiled kernels by this number

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=None):
        return 0

    def get_device_capability(self, device=None):
        return divmod(self.capability, 10)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_device_interface(self):
        return _DeviceInterface

    def get_benchmarker(self):
        """The autotuner's clock. Emulated time says nothing about a GPU, so the first configuration
        that can be compiled and launched wins, and the others are not compiled."""
        def benchmark(kernel_call, *, quantiles=None, **_):
            tuning = _tuning_of(kernel_call)
            milliseconds = 2.0
            if tuning is None or tuning is not self._tuned:
                self.is_dry = True
                try:
                    kernel_call()
                finally:
                    self.is_dry = False
                self._tuned, milliseconds = tuning, 1.0
            return [milliseconds] * len(quantiles) if quantiles else milliseconds
        return benchmark

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache):
        pass


def _tuning_of(kernel_call):
    """The arguments that the autotuner tunes for: one object for all configurations. None if this
    version of Triton keeps them elsewhere."""
    cells = zip(kernel_call.__code__.co_freevars, kernel_call.__closure__ or ())
    tuner = {name: cell.cell_contents for name, cell in cells}.get("self")
    return getattr(tuner, "nargs", None)


class _DeviceInterface:
    """The part of torch.cuda that Triton's timing uses."""

    class Event:
        def __init__(self, enable_timing=False):
            self.time = 0.0

        def record(self):
            self.time = time.perf_counter()

        def elapsed_time(self, other):
            return 1e3 * (other.time - self.time)

    @staticmethod
    def synchronize():
        pass

    @staticmethod
    def current_device():
        return triton.runtime.driver.active.get_current_device()


def _ptx_is_the_binary(backend=None, stages=None, options=None, language=None, capability=None):
    """Triton's hook into its compiler: PTX is not assembled. Without arguments it says what tells
    such kernels from others in Triton's cache."""
    if backend is None:
        return "tilescope: ptx", '"tilescope: ptx"'
    stages["cubin"] = lambda ptx, metadata: ptx.encode()
    return None


class _Enabled:
    """Triton's settings, and torch's, as they were before."""

    def __init__(self, facts):
        self.driver = triton.runtime.driver._active
        self.hook = knobs.runtime.add_stages_inspection_hook
        self.torch = None
        with contextlib.suppress(ImportError):
            from ._torch_on_host import TorchOnHost
            self.torch = TorchOnHost(facts)
            self.torch.start()

    def undo(self):
        triton.runtime.driver._active = self.driver
        knobs.runtime.add_stages_inspection_hook = self.hook
        if self.torch:
            self.torch.stop()


_enabled = None


def enable(mode="check", device="emulated", on_defect="raise", **options):
    """Launches of Triton kernels run on the emulated device from now on; returns the driver.

    Until disable(), "cuda" means host memory to torch. Launches are in order, one at a time.
    mode: "check" (findings), "explain" (counts, see emulated()) or "run" (faster: nothing looks
    on). device: "emulated:GPU", such as "emulated:a100". on_defect: "raise" KernelDefect,
    "print" the report to standard error, or "keep" quiet and count. Options: schedules,
    max_instructions.
    Errors: ValueError for a mode or what to do on a defect; tilescope.Error for a device.
    """
    global _enabled
    if not hasattr(knobs.runtime, "add_stages_inspection_hook"):
        raise ImportError(f"Triton {triton.__version__} has no hook into its stages; "
                          "Tilescope needs 3.6 or newer")
    driver = EmulatedDriver(mode, device, on_defect, **options)
    disable()
    _enabled = _Enabled(driver.utils.facts)
    knobs.runtime.add_stages_inspection_hook = _ptx_is_the_binary
    triton.runtime.driver.set_active(driver)
    return driver


def disable():
    """Launches go where they went before enable()."""
    global _enabled
    if _enabled is not None:
        _enabled.undo()
        _enabled = None


@contextlib.contextmanager
def emulated(mode="check", device="emulated", on_defect="raise", **options):
    """enable() for the lines of a `with`; its driver's `results` holds each launch's result.

        with tilescope.triton.emulated("explain") as driver:
            kernel[grid](x, y, n, BLOCK=1024)
        print(driver.results[0])
    """
    driver = enable(mode, device, on_defect, keep=True, **options)
    try:
        yield driver
    finally:
        disable()


def inspect(command, kernel, grid, args, device="emulated", meta=None, **options):
    """check(), explain() or run() of a Triton kernel; `meta` has its keyword arguments."""
    with emulated(command, device, "keep", **options) as driver:
        kernel[tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)](*args, **(meta or {}))
    return driver.results[-1]


def _main(words):
    """Runs a script as `python script.py ...` does, with launches on the emulated device."""
    import runpy
    mode = words.pop(0)[2:] if words and words[0][2:] in _MODES else "check"
    if not words or words[0].startswith("-"):
        sys.exit("usage: python -m tilescope.triton [--check|--explain|--run] script.py [ARGS]")
    with emulated(mode) if mode == "explain" else contextlib.nullcontext() as kept:
        driver = kept or enable(mode)
        sys.argv = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        try:
            runpy.run_path(words[0], run_name="__main__")
        except KernelDefect as defect:
            sys.exit(f"{defect}")
        for result in driver.results:
            print(result)
    count = f"{driver.launches} launch{'' if driver.launches == 1 else 'es'}"
    print(f"tilescope: {count}, no defects" if mode == "check" else
          f"tilescope: {count}", file=sys.stderr)


if __name__ == "__main__":
    _main(sys.argv[1:])
