"""tilescope matmul under mpirun on GPUs, which are emulated here: the bits are those of one GPU, for
any shape, grid and way on which panels move."""

import glob
import json
import os
import signal
import subprocess
import time
import unittest

import numpy as np

from launchers import TILESCOPE, InFolder, errors_of, launchers, processes

LAUNCHERS = launchers()
GRIDS = {2: ["1x2", "2x1"], 3: ["1x3", "3x1"], 4: ["2x2", "4x1"]}
HAS_GPU = bool(glob.glob("/dev/nvidia[0-9]*"))


class GpuRanks(InFolder):
    def save(self, name, *extents, dtype=np.float32, order="C", seed=1):
        values = np.random.default_rng(seed).standard_normal(extents).astype(dtype)
        np.save(self.path(name), np.asarray(values, order=order))

    def expect(self, *options):
        """C.npy of one emulated GPU, as bytes."""
        subprocess.run([TILESCOPE, "matmul", "A.npy", "B.npy", "-o", "one.npy", "--device",
                        "emulated", *options], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)
        bits = self.bits("one.npy")
        os.unlink(self.path("one.npy"))
        return bits

    def multiply(self, ranks, *options, launcher=LAUNCHERS[0]):
        """The report; C.npy is there."""
        result = launcher.run(ranks, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--device",
                              "emulated", "--json", "-", *options, cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        page = json.loads(result.stdout)
        self.assertEqual((page["ranks"], page["hosts"], page["rank_device"]), (ranks, 1, "emulated"))
        self.assertIn(f" on {ranks} ranks ", page["variant"])
        self.assertEqual(page["note"], "")
        return page

    def check(self, *options, ranks=3, grid=None):
        expected = self.expect(*options)
        for exchange in ([], ["--exchange"]):
            self.multiply(ranks, *options, *exchange, *(["--grid", grid] if grid else []))
            self.assertEqual(self.bits("C.npy"), expected)


class Shapes(GpuRanks):
    def test_random_shapes_and_grids(self):
        draw = np.random.default_rng(5)
        for number in range(8):
            m, k, n = (int(10 ** draw.uniform(0, 2.5)) for _ in range(3))
            ranks = int(draw.choice(list(GRIDS)))
            grid = str(draw.choice(GRIDS[ranks]))
            launcher = LAUNCHERS[number % len(LAUNCHERS)]
            with self.subTest(m=m, k=k, n=n, grid=grid, mpi=launcher.name):
                dtype = [np.float32, np.float64, np.float16][number % 3]
                self.save("A.npy", m, k, dtype=dtype, order="CF"[number % 2])
                self.save("B.npy", k, n, dtype=dtype, order="CF"[number // 2 % 2], seed=2)
                exchange = ["--exchange"] if number % 4 else []
                self.multiply(ranks, "--grid", grid, *exchange, launcher=launcher)
                self.assertEqual(self.bits("C.npy"), self.expect())

    def test_several_panels(self):
        self.save("A.npy", 300, 40)
        self.save("B.npy", 40, 1700, seed=2)
        self.check("--precision", "bf16", ranks=4, grid="2x2")

    def test_without_elements(self):
        for m, k, n in [(0, 5, 7), (5, 0, 7), (5, 7, 0), (1, 1, 1)]:
            with self.subTest(m=m, k=k, n=n):
                self.save("A.npy", m, k)
                self.save("B.npy", k, n)
                self.check()


class Ways(GpuRanks):
    def test_the_report_names_them(self):
        self.save("A.npy", 60, 50)
        self.save("B.npy", 50, 70)
        page = self.multiply(2, "--grid", "2x1")
        self.assertEqual(page["exchange"], "files")
        page = self.multiply(2, "--grid", "2x1", "--exchange")
        self.assertEqual((page["exchange"], page["exchange_note"]),
                         ("mpi", "not every rank has a GPU"))


class Options(GpuRanks):
    def setUp(self):
        super().setUp()
        self.save("A.npy", 90, 60)
        self.save("B.npy", 60, 130, seed=2)

    def test_precisions(self):
        for precision in ("bf16", "tf32", "fp32_fast", "fp64"):
            with self.subTest(precision=precision):
                self.check("--precision", precision)

    def test_epilogues(self):
        self.save("bias.npy", 130)
        self.save("C0.npy", 90, 130, seed=3)
        for order in "CF":
            self.check("--alpha", "-1.5", "--accumulate", "C0.npy", "--bias", "bias.npy",
                       "--activation", "gelu", "--beta", "0.5", "--order", order)

    def test_transposed_operands(self):
        self.save("A.npy", 60, 90)
        self.save("B.npy", 130, 60, seed=2)
        self.check("--transpose-a", "--transpose-b", ranks=4, grid="2x2")

    def test_batches(self):
        self.save("A.npy", 3, 40, 60)
        self.check()

    def test_bands(self):
        self.save("B.npy", 60, 900, seed=2)
        self.check(grid="1x3")
        expected = self.expect()
        self.multiply(2, "--band", "300", "--resume")
        self.assertEqual(self.bits("C.npy"), expected)
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.npy", "B.npy", "C.npy"])


class Deaths(GpuRanks):
    def test_another_number_of_ranks_goes_on(self):
        self.save("A.npy", 300, 400)
        self.save("B.npy", 400, 2304, seed=2)
        expected = self.expect()
        options = ("matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "emulated", "--band", "1",
                   "--resume")
        job = LAUNCHERS[0].start(2, *options, cwd=self.folder)
        while job.poll() is None and not self.journal_has_a_band():
            time.sleep(0.005)
        os.kill(processes(self.folder)[-1], signal.SIGKILL)
        job.communicate(timeout=60)
        self.assertTrue(self.journal_has_a_band(), "the product was complete too soon")
        result = LAUNCHERS[0].run(3, *options, cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.bits("C.npy"), expected)
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.npy", "B.npy", "C.npy"])

    def journal_has_a_band(self):
        try:
            return self.bits(".C.npy.journal").count(b"\n") > 1
        except OSError:
            return False


class Devices(GpuRanks):
    @unittest.skipIf(HAS_GPU, "there is a GPU")
    def test_no_gpu(self):
        self.save("A.npy", 20, 30)
        self.save("B.npy", 30, 10)
        code, lines = errors_of(LAUNCHERS[0].run(
            2, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cuda", cwd=self.folder))
        self.assertEqual(code, 3)
        self.assertRegex(lines[0], r"^tilescope: --device cuda: there is no GPU on \S+: \S+")
        self.assertEqual(len(lines), 1)

    @unittest.skipUnless(HAS_GPU, "there is no GPU")
    def test_two_ranks_share_a_gpu(self):
        """NCCL refuses them; MPI carries their panels then."""
        self.save("A.npy", 700, 900)
        self.save("B.npy", 900, 800)
        for grid in ("2x1", "1x2"):
            result = LAUNCHERS[0].run(2, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--device",
                                      "cuda:0", "--exchange", "--grid", grid, "--json", "-",
                                      cwd=self.folder)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(json.loads(result.stdout)["exchange"], "mpi")
            self.assertIn("note: GPUs exchange panels through MPI: ", result.stderr)
            subprocess.run([TILESCOPE, "matmul", "A.npy", "B.npy", "-o", "one.npy", "--device",
                            "cuda:0"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(self.bits("C.npy"), self.bits("one.npy"))


if __name__ == "__main__":
    unittest.main()
