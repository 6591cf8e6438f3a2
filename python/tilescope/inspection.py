"""Kernels under the glass: check(), explain() and run() for Python.

    import numpy as np, tilescope
    x = np.arange(64, dtype=np.int32)
    print(tilescope.check("turn.cu", grid=1, block=64, args=(x,)))

The GPU is emulated; none is needed. Arrays are used in place: afterwards they hold the results.
"""

from __future__ import annotations

import os
import re
from typing import Any, Sequence

from . import _tilescope
from ._arguments import argument
from ._options import shown, whole, word
from ._report import Report


class KernelDefect(Exception):
    """A launch with findings. `result` is its CheckResult."""

    def __init__(self, result):
        super().__init__(str(result))
        self.result = result


class KernelWarning(UserWarning):
    """A launch with findings that are warnings."""


class Finding:
    """One defect: `kind`, `severity`, `file`, `line`, `kernel`, `message`, `cure`, and the other
    keys of a report's JSON, as attributes."""

    def __init__(self, record):
        self.__dict__.update(record)

    def __repr__(self):
        return f"<{self.severity}: {self.kind} at {self.file}:{self.line}: {self.message}>"


class Result(Report):
    """The report on a kernel or a program; str() is its text of 80 columns.

    `clean` is True if everything ran to its end and nothing was wrong, `failure` says why a launch
    did not end well, and `printed` is the text that kernels printed.
    """

    def __init__(self, native: _tilescope.Inspected) -> None:
        super().__init__(native.page)
        self.clean: bool = native.clean
        self.failure: str = native.failure
        self.printed: str = native.printed

    @property
    def json(self) -> dict[str, Any]:
        """The document of --json, as `data`."""
        return self.data


class CheckResult(Result):
    """The result of check()."""

    @property
    def findings(self) -> list[Finding]:
        """The defects, by kind, file and line."""
        return [Finding(record) for record in self.data["reports"]]


class ExplainResult(Result):
    """The result of explain()."""

    @property
    def counts(self) -> dict[str, int]:
        """The counts of all launches together, by their names in JSON: `global_load_sectors`."""
        return self.data["totals"]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The counts of each source line: dictionaries with `file`, `line` and counts."""
        return self.data["lines"]


class RunResult(Result):
    """The result of run()."""


_COMMANDS = {"check": (_tilescope.check, CheckResult),
             "explain": (_tilescope.explain, ExplainResult), "run": (_tilescope.run, RunResult)}


def extent(value, what):
    """A grid, block or cluster: a number, or up to three."""
    numbers = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    numbers = [whole(what, n) for n in numbers]
    if not 1 <= len(numbers) <= 3 or not all(0 < n < 2**32 for n in numbers):
        raise ValueError(f"{what}: expected one to three positive numbers, got {shown(value)}")
    return _tilescope.Dim3(*numbers, *[1] * (3 - len(numbers)))


def is_ptx(text):
    return re.search(r"^\s*\.version\s+\d", text, re.M) is not None


def _file_target(path, arguments):
    if path.endswith((".cu", ".cuh", ".ptx")):
        if not path.endswith(".cu") or arguments is None or not _tilescope.has_main(path):
            return _tilescope.SourceFile(path)
    return _tilescope.Program([path], [str(word) for word in arguments or ()])


def _target(kernel, grid, args):
    """The native target, and the name of the kernel in it."""
    if isinstance(kernel, os.PathLike):
        kernel = os.fspath(kernel)
    if isinstance(kernel, str):
        if re.search(r"\n|__global__", kernel):
            ptx = is_ptx(kernel)
            return _tilescope.source_text(kernel, "kernel.ptx" if ptx else "kernel.cu", ptx), ""
        if re.fullmatch(r"\w+/\w+", kernel) and not os.path.exists(kernel):
            return _tilescope.LadderRung(kernel), ""
        return _file_target(kernel, args if grid is None else None), ""
    text = getattr(kernel, "code", None)
    if isinstance(text, str) and isinstance(getattr(kernel, "name", None), str):  # CuPy's RawKernel
        return _tilescope.source_text(text, "kernel.cu", False), kernel.name
    raise TypeError("kernel: expected a source text, a file, a program, or a kernel of CuPy, "
                    f"Triton or Numba, got {type(kernel).__name__}")


def _cupy_options(kernel):
    """The defines and folders among the compiler options of a RawKernel."""
    defines, folders = [], []
    for option in getattr(kernel, "options", None) or ():
        if option.startswith("-D"):
            name, _, value = option[2:].partition("=")
            defines.append((name, value or "1"))
        elif option.startswith("-I"):
            folders.append(option[2:])
    return defines, folders


def _require_taken(command, target, schedules, max_findings, launches, blocks, resume):
    """ValueError for an option that this command, or a target of this kind, would not follow."""
    for name, value, unset, only in (("schedules", schedules, 1, "check"),
                                     ("max_findings", max_findings, 0, "check"),
                                     ("resume", resume, "", "check"),
                                     ("blocks", blocks, "", "explain")):
        if value != unset and command != only:
            raise ValueError(f"{name} is an option of {only}(), and this is {command}()")
    for name, value in (("launches", launches), ("resume", resume)):
        if value and not isinstance(target, _tilescope.Program):
            raise ValueError(f"{name} is for programs: a kernel is one launch")


def inspect_native(command, target, launch, device="emulated", schedules=1, max_instructions=0,
                   max_findings=0, launches="", blocks="", resume=""):
    """Runs a command on native values; a Result."""
    launches, blocks, resume = str(launches), str(blocks), os.fspath(resume)
    word("device", device)
    schedules = whole("schedules", schedules, 1, 100_000)
    max_findings = whole("max_findings", max_findings, 0, 2**63 - 1)
    max_instructions = whole("max_instructions", max_instructions, 0, 2**63 - 1)
    _require_taken(command, target, schedules, max_findings, launches, blocks, resume)
    function, result = _COMMANDS[command]
    return result(function(target, launch, _tilescope.options(
        device, max_instructions, schedules, max_findings, launches, blocks, resume)))


def _require_own_launch(kernel, target, **given):
    """ValueError for a part of a launch that is given to a target with launches of its own."""
    for name, is_given in given.items():
        if is_given:
            what = "program" if isinstance(target, _tilescope.Program) else "rung"
            raise ValueError(f"{name} is for kernels (.cu, .ptx, texts): {shown(kernel)} is a "
                             f"{what}, which makes its own launches")


def _named_arguments(args):
    """Pairs of names and values."""
    if isinstance(args, dict):
        return [(word("a name in args", name), value) for name, value in args.items()]
    return [("", value) for value in args]


def _require_list(args):
    """TypeError for one argument that is no list of arguments."""
    is_array = hasattr(args, "__dlpack__") or hasattr(args, "__array_interface__")
    if is_array or isinstance(args, (str, bytes)) or not hasattr(args, "__iter__"):
        raise TypeError(f"args is {shown(args)}; expected a tuple of arguments, such as (x, 5)")


def _inspect(command, kernel, grid, block, args, *, name="", shared=0, cluster=1,
             cooperative=False, defines=None, include=(), **options):
    if hasattr(kernel, "warmup") and hasattr(kernel, "arg_names"):
        from . import triton
        return triton.inspect(command, kernel, grid, args, **options)
    if hasattr(kernel, "py_func") and hasattr(kernel, "targetoptions"):
        from ._numba import ptx_and_arguments
        kernel, args = ptx_and_arguments(kernel, args, options.get("device", "emulated"))
    _require_list(args)
    target, own_name = _target(kernel, grid, args)
    if isinstance(target, (_tilescope.Program, _tilescope.LadderRung)):
        _require_own_launch(
            kernel, target, grid=grid is not None, block=block is not None, name=bool(name),
            shared=shared != 0, cluster=cluster != 1, cooperative=bool(cooperative),
            defines=bool(defines), include=bool(include),
            args=isinstance(target, _tilescope.LadderRung) and bool(list(args)))
        return inspect_native(command, target, _tilescope.no_launch(), **options)
    if grid is None or block is None:
        raise ValueError("a kernel needs grid= and block=: how many blocks, and threads in each")
    own_defines, folders = _cupy_options(kernel)
    if not isinstance(defines or {}, dict):
        raise TypeError(f"defines is {shown(defines)}; expected a dictionary")
    if isinstance(include, (str, os.PathLike)):
        include = [include]
    launch = _tilescope.launch(
        word("name", name) or own_name, extent(grid, "grid"), extent(block, "block"),
        [argument(value, what) for what, value in _named_arguments(args)], [],
        whole("shared", shared, 0, 2**32 - 1),
        extent(cluster, "cluster"), bool(cooperative),
        own_defines + [(key, str(value)) for key, value in (defines or {}).items()],
        folders + [os.fspath(folder) for folder in include])
    return inspect_native(command, target, launch, **options)


def check(kernel: Any, grid: Any = None, block: Any = None, args: Sequence[Any] = (),
          **options: Any) -> CheckResult:
    """Runs a kernel on the emulated GPU and returns its defects: a CheckResult.

    kernel: CUDA C++ or PTX as text or file, a CuPy RawKernel, a Triton or Numba kernel, one of
    Tilescope's own ("matmul/tiled_16"), or a program (.cu with a main(), executable, script), whose
    command line is `args`.
    grid, block: blocks, and threads a block: a number or up to three; a program has none.
    args: one for each parameter. NumPy arrays, torch tensors and other arrays in host memory are
    used in place, numbers take the parameter's type, None is a null pointer, a tuple a structure. A
    dictionary names them for reports, in the parameters' order.
    Options: name (of the kernel), shared (bytes), cluster, cooperative, defines (a dictionary),
    include (folders), device ("emulated:GPU"), schedules (orders to run in), max_instructions,
    max_findings (after which to stop). Of programs: launches ("0,10-12,smooth:2": those to check,
    the others run at full speed), resume (a file that keeps what is known: a check that was cut
    short goes on from there).
    Errors: TypeError and ValueError for arguments, tilescope.Error for kernels and launches.
    """
    return _inspect("check", kernel, grid, block, args, **options)


def explain(kernel: Any, grid: Any = None, block: Any = None, args: Sequence[Any] = (),
            **options: Any) -> ExplainResult:
    """Runs a kernel on the emulated GPU and counts what the chip would count on each line: an
    ExplainResult. Arguments as check(), and the option blocks (64, "5%" or "0-63": the blocks to
    count; the counts of all are estimated)."""
    return _inspect("explain", kernel, grid, block, args, **options)


def run(kernel: Any, grid: Any = None, block: Any = None, args: Sequence[Any] = (),
        **options: Any) -> RunResult:
    """Runs a kernel, and returns a RunResult; the results are in the arrays. With device="cuda"
    on a GPU. Arguments as check(). Raises RuntimeError if an emulated launch fails."""
    result = _inspect("run", kernel, grid, block, args, **options)
    if result.failure:
        raise RuntimeError(result.failure)
    return result


__all__ = ["CheckResult", "ExplainResult", "Finding", "KernelDefect", "KernelWarning", "Result",
           "RunResult", "check", "explain", "run"]
