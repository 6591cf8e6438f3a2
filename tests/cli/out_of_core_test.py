"""Products with less memory than they need: the same bits, also after many violent ends.

3,000 x 2,000 x 2,500 with 4 MiB, on the cpu device and in the emulator.
"""

import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

import numpy

from program import TILESCOPE

M, N, K = 3000, 2000, 2500
KILLS = 10


def command(folder, device, *options):
    return [os.path.abspath(TILESCOPE), "matmul", "A.npy", "B.npy", "--device", device, *options]


class OutOfCore(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        generator = numpy.random.default_rng(5)
        cls.a = generator.uniform(-1, 1, (M, K)).astype(numpy.float32)
        cls.b = generator.uniform(-1, 1, (K, N)).astype(numpy.float32)
        numpy.save(cls.folder / "A.npy", cls.a)
        numpy.save(cls.folder / "B.npy", cls.b)
        exact = cls.a.astype(numpy.float64) @ cls.b.astype(numpy.float64)
        magnitude = numpy.abs(cls.a).astype(numpy.float64) @ numpy.abs(cls.b).astype(numpy.float64)
        cls.exact, cls.bound = exact, (K + 2) * 2.0**-24 * magnitude

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def run_to_the_end(self, device, *options):
        done = subprocess.run(command(self.folder, device, *options), cwd=self.folder,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_no_bit_depends_on_the_limit(self):
        for device in ("cpu", "emulated"):
            with self.subTest(device):
                whole, tiles = f"whole_{device}.npy", f"tiles_{device}.npy"
                self.run_to_the_end(device, "-o", whole)
                self.assertTrue((numpy.abs(numpy.load(self.folder / whole) - self.exact)
                                 <= self.bound).all())
                seconds = self.killed_and_resumed(device, tiles)
                self.assertEqual((self.folder / whole).read_bytes(),
                                 (self.folder / tiles).read_bytes(), f"after {seconds} s in all")

    def killed_and_resumed(self, device, output):
        """Runs to the end through KILLS kills at random moments; nothing is shown as C before."""
        generator = random.Random(11)
        limits = ("--device-memory", "4MiB", "--resume", "-o", output)
        longest = 0.4 if device == "cpu" else 2.5
        start, killed = time.monotonic(), 0
        while killed < KILLS:
            process = subprocess.Popen(command(self.folder, device, *limits), cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(generator.uniform(0.01, longest))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                killed += 1
                continue
            # It was faster than the moment: what it made must be right; begin again.
            self.assertEqual(process.returncode, 0)
            os.remove(self.folder / output)
        self.run_to_the_end(device, *limits)
        return time.monotonic() - start

    def test_a_limit_below_one_tile_says_what_it_takes(self):
        for device in ("cpu", "emulated"):
            done = subprocess.run(
                command(self.folder, device, "--device-memory", "4KiB", "-o", "never.npy"),
                cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("KiB", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertFalse((self.folder / "never.npy").exists())

    def test_no_place_for_the_result(self):
        read_only = self.folder / "read_only"
        read_only.mkdir(mode=0o500)
        for output in ("read_only/C.npy", "missing/C.npy", "/dev/full/C.npy"):
            if os.geteuid() == 0 and output.startswith("read_only"):
                continue  # root writes everywhere
            done = subprocess.run(
                command(self.folder, "cpu", "--device-memory", "4MiB", "-o", output),
                cwd=self.folder, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
