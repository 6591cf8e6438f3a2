"""Ranks that are killed: the others end soon, nothing is left over, and another number of ranks
goes on with what is finished."""

import os
import tempfile
import time
import unittest

import numpy as np

from killing import LAUNCHER, Killing

PRODUCT = ("matmul", "A.npy", "B.npy", "-o", "C.npy", "--band", "200", "--exchange")


class Faults(Killing):
    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.TemporaryDirectory(prefix="tilescope.")
        cls.addClassCleanup(cls.store.cleanup)
        draw = np.random.default_rng(3)
        for name, shape in (("A.npy", (1000, 1500)), ("B.npy", (1500, 3000))):
            np.save(os.path.join(cls.store.name, name),
                    draw.standard_normal(shape).astype(np.float32))
        cls.seconds = float("inf")
        for _ in range(2):  # the first one begins cold
            begin = time.monotonic()
            result = LAUNCHER.run(2, *PRODUCT, cwd=cls.store.name)
            cls.seconds = min(cls.seconds, time.monotonic() - begin)
            assert result.returncode == 0, result.stderr
            cls.expected = cls.result(cls.store.name)
            os.unlink(os.path.join(cls.store.name, "C.npy"))

    @staticmethod
    def result(folder):
        with open(os.path.join(folder, "C.npy"), "rb") as file:
            return file.read()

    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        self.addCleanup(folder.cleanup)
        for name in ("A.npy", "B.npy"):
            os.link(os.path.join(self.store.name, name), os.path.join(folder.name, name))
        return os.path.realpath(folder.name)

    def test_nothing_is_left_over(self):
        self.each_kill(1, self.seconds, self.left_over)

    def test_others_go_on(self):
        self.each_kill(2, self.seconds, self.go_on)

    def left_over(self, launcher, ranks, which, after):
        folder = self.folder()
        interrupted = self.killed(launcher, folder, ranks, which, after, *PRODUCT)
        # mpirun may have been killed behind the last band: the result is complete then.
        if "C.npy" in self.files_soon(folder, ["A.npy", "B.npy"], ["A.npy", "B.npy", "C.npy"]):
            self.assertEqual(self.result(folder), self.expected)
        return interrupted

    def go_on(self, launcher, ranks, which, after):
        folder = self.folder()
        interrupted = self.killed(launcher, folder, ranks, which, after, *PRODUCT, "--resume")
        result = launcher.run(5 - ranks, *PRODUCT, "--resume", cwd=folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.result(folder), self.expected)
        self.files_soon(folder, ["A.npy", "B.npy", "C.npy"])
        return interrupted

    def test_another_product_is_not_resumed(self):
        folder = self.folder()
        journal = os.path.join(folder, ".C.npy.journal")
        while not os.path.exists(journal):
            self.killed(LAUNCHER, folder, 2, 1, lambda: os.path.exists(journal), *PRODUCT, "--resume")
            if os.path.exists(os.path.join(folder, "C.npy")):  # it ended first
                os.unlink(os.path.join(folder, "C.npy"))
        result = LAUNCHER.run(2, *PRODUCT, "--resume", "--alpha", "2", cwd=folder)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"(?m)^tilescope: '.*journal' belongs to another product")


if __name__ == "__main__":
    unittest.main()
