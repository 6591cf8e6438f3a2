"""The command under test, in a folder of its own. Shared by the tests in this folder."""

import atexit
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from case_options import ALL

TILESCOPE = os.environ.get("TILESCOPE", "build/tilescope")
NO_GPU = "no GPU here"


def sample(cases, count):
    """With `--all` all cases; otherwise so many of them at equal distances, from the first on."""
    cases = list(cases)
    return cases if ALL else [cases[i * len(cases) // count] for i in range(min(count, len(cases)))]


class Result:
    def __init__(self, completed):
        self.code = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr


class ProgramTest(unittest.TestCase):
    """Each test runs in a fresh folder; whatever the command leaves there is seen."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def files(self):
        return sorted(os.listdir(self.folder))

    def run_program(self, *arguments, **options):
        environment = dict(os.environ, **options.pop("env", {}))
        options.setdefault("stdout", subprocess.PIPE)
        return Result(subprocess.run(
            [os.path.abspath(TILESCOPE), *arguments], cwd=self.folder, env=environment, text=True,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, **options))

    def start_program(self, *arguments):
        return subprocess.Popen(
            [os.path.abspath(TILESCOPE), *arguments], cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def save(self, name, array):
        np.save(self.path(name), array)

    def load(self, name):
        return np.load(self.path(name))

    def assert_fails(self, code, message, *arguments, **options):
        """The command fails with `code`, nothing on stdout, and exactly this line on stderr."""
        result = self.run_program(*arguments, **options)
        self.assertEqual(result.err, "tilescope: " + message + "\n")
        self.assertEqual(result.code, code)
        self.assertEqual(result.out, "")


PLACE = tempfile.TemporaryDirectory(prefix="tilescope.")
atexit.register(PLACE.cleanup)


class SameFolderTest(ProgramTest):
    """The fresh folders have one name, so that equal programs of several tests are compiled once."""

    def setUp(self):
        self.folder = os.path.join(PLACE.name, "work")
        os.mkdir(self.folder)
        self.addCleanup(shutil.rmtree, self.folder)


def has_gpu():
    """Whether this machine has a GPU that the command sees."""
    completed = subprocess.run([os.path.abspath(TILESCOPE), "devices"], text=True,
                               stdout=subprocess.PIPE, check=True)
    return "\ncuda:0: " in "\n" + completed.stdout


def main():
    sys.dont_write_bytecode = True
    unittest.main()
