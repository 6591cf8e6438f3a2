"""The command's result for arrays: what the module's must equal, bit for bit."""

import os
import subprocess
import tempfile

import numpy

COMMAND = os.environ["TILESCOPE"]


def run(arguments, output="out.npy", **arrays):
    """Runs the command on NAME.npy for each array; returns the array that it writes to `output`,
    or what it prints if `output` is None."""
    with tempfile.TemporaryDirectory() as folder:
        for name, array in arrays.items():
            numpy.save(os.path.join(folder, name + ".npy"), array)
        done = subprocess.run([COMMAND, *map(str, arguments)], cwd=folder, capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{arguments}: {done.returncode}: {done.stderr}")
        return numpy.load(os.path.join(folder, output)) if output else done.stdout


def same_bits(ours, others):
    """Whether two arrays have one type, shape and every bit."""
    return (ours.dtype == others.dtype and ours.shape == others.shape
            and ours.tobytes() == others.tobytes())
