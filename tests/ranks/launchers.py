"""mpirun of each MPI for which the build made a plugin."""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TILESCOPE = os.path.abspath(os.environ.get("TILESCOPE", "build/tilescope"))

# As root, and with more ranks than cores, Open MPI wants to be told that this is meant.
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


class InFolder(unittest.TestCase):
    """Tests that run in a folder of their own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def bits(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()


class Launcher:
    def __init__(self, name, program):
        self.name, self.program = name, program

    def command(self, ranks, *arguments):
        return [self.program, "-n", str(ranks), TILESCOPE, *arguments]

    def run(self, ranks, *arguments, cwd, timeout=120):
        return subprocess.run(self.command(ranks, *arguments), cwd=cwd, text=True, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=dict(os.environ, **OPEN_MPI))

    def run_in_folders(self, folders, *arguments, timeout=120):
        """One rank in each folder."""
        command = [self.program]
        for folder in folders:
            command += [":"] if len(command) > 1 else []
            command += ["-n", "1", "-wdir", folder, TILESCOPE, *arguments]
        return subprocess.run(command, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, **OPEN_MPI))

    def start(self, ranks, *arguments, cwd):
        return subprocess.Popen(self.command(ranks, *arguments), cwd=cwd, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=dict(os.environ, **OPEN_MPI))


def processes(folder):
    """The process numbers of ranks that work in `folder`."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            if (os.readlink(path + "/cwd") == folder and
                    os.readlink(path + "/exe").split(" ")[0] == TILESCOPE):
                found.append(int(path.rsplit("/", 1)[1]))
        except OSError:  # it has ended
            pass
    return sorted(found)


def errors_of(done):
    """The exit code, and the lines that are ours: launchers add their own."""
    return done.returncode, re.findall(r"^tilescope: .*$", done.stderr, re.M)


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
