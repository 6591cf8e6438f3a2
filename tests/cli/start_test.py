"""A start does not open the compiler if the cache holds everything that it would compile."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

from program import TILESCOPE


class Start(unittest.TestCase):
    def opened(self, folder):
        """The shared libraries that a product opens, by the loader's own report."""
        environment = {**os.environ, "LD_DEBUG": "files", "TILESCOPE_CACHE": str(folder / "cache")}
        done = subprocess.run([os.path.abspath(TILESCOPE), "matmul", "A.npy", "A.npy", "-o", "C.npy",
                               "--device", "emulated"], cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr[-1000:])
        return done.stderr

    def test_the_compiler_is_opened_only_to_compile(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            numpy.save(folder / "A.npy", numpy.ones((40, 40), numpy.float32))
            first = self.opened(folder)
            if "file=" not in first:
                self.skipTest("this loader does not report what it opens")
            self.assertIn("libnvrtc", first)
            self.assertNotIn("libnvrtc", self.opened(folder))


if __name__ == "__main__":
    unittest.main()
