"""mpirun of each MPI for which the build made a plugin."""

import os
import shutil
import subprocess
import sys

TILESCOPE = os.path.abspath(os.environ.get("TILESCOPE", "build/tilescope"))

# As root, and with more ranks than cores, Open MPI wants to be told that this is meant.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class Launcher:
    def __init__(self, name, program):
        self.name, self.program = name, program

    def command(self, ranks, *arguments):
        return [self.program, "-n", str(ranks), TILESCOPE, *arguments]

    def run(self, ranks, *arguments, cwd, timeout=120):
        return subprocess.run(self.command(ranks, *arguments), cwd=cwd, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dict(os.environ, **OPEN_MPI))

    def start(self, ranks, *arguments, cwd):
        return subprocess.Popen(self.command(ranks, *arguments), cwd=cwd, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=dict(os.environ, **OPEN_MPI))


def launchers():
    """Those that can be used here; else the test is skipped with the reason."""
    folder = os.path.dirname(TILESCOPE)
    found = []
    for name in ("openmpi", "mpich"):
        program = shutil.which(f"mpirun.{name}")
        if program and os.path.exists(os.path.join(folder, f"libtilescope_mpi_{name}.so")):
            found.append(Launcher(name, program))
    if not found:
        print("skipped: no MPI with a plugin (Debian: libopenmpi-dev, openmpi-bin)")
        sys.exit(0)
    return found
