"""The command's result for arrays: what the module's must equal, bit for bit."""

import ctypes
import os
import subprocess
import tempfile

import numpy

COMMAND = os.environ["TILESCOPE"]


def environment():
    """The command's: with the CPU kernels of OpenBLAS that this process has. NumPy may have started
    the same library before the module, which chooses by features: OpenBLAS alone goes by model."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = {line.split()[-1] for line in maps if "/libopenblas" in line}
    values = dict(os.environ)
    for path in loaded:
        core = ctypes.CDLL(path).openblas_get_corename
        core.restype = ctypes.c_char_p
        values["OPENBLAS_CORETYPE"] = core().decode()
    return values


def run(arguments, output="out.npy", **arrays):
    """Runs the command on NAME.npy for each array; returns the array that it writes to `output`,
    or what it prints if `output` is None."""
    with tempfile.TemporaryDirectory() as folder:
        for name, array in arrays.items():
            numpy.save(os.path.join(folder, name + ".npy"), array)
        done = subprocess.run([COMMAND, *map(str, arguments)], cwd=folder, env=environment(),
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr}")
        return numpy.load(os.path.join(folder, output)) if output else done.stdout


def same_bits(ours, others):
    """Whether two arrays have one type, shape and every bit."""
    return (ours.dtype == others.dtype and ours.shape == others.shape
            and ours.tobytes() == others.tobytes())
