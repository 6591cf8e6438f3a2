"""tilescope matmul under mpirun: the bits are those of one CPU, for any shape and grid, and
mistakes end all ranks with one line."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import numpy as np

from launchers import TILESCOPE, InFolder, errors_of, launchers

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from case_options import ALL

LAUNCHERS = launchers()
GRIDS = {2: ["1x2", "2x1"], 3: ["1x3", "3x1"], 4: ["2x2", "4x1"], 6: ["2x3"]}


class RanksTest(InFolder):
    def save(self, name, rows, columns, dtype=np.float32, order="C", seed=1):
        values = np.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)
        np.save(self.path(name), np.asarray(values, order=order))

    def expect(self, *options):
        """C.npy of one CPU, as bytes."""
        subprocess.run([TILESCOPE, "matmul", "A.npy", "B.npy", "-o", "one.npy", "--device", "cpu",
                        *options], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        bits = self.bits("one.npy")
        os.unlink(self.path("one.npy"))
        return bits

    def multiply(self, launcher, ranks, *options):
        result = launcher.run(ranks, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu",
                              *options, cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn(f" on {ranks} ranks ", result.stdout.replace("\n  ", " "))
        return self.bits("C.npy")

    def errors_of(self, launcher, ranks, *arguments):
        return errors_of(launcher.run(ranks, *arguments, cwd=self.folder))


class Shapes(RanksTest):
    def test_random_shapes_and_grids(self):
        draw = np.random.default_rng(5)
        for number in range(60 if ALL else 8):
            m, k, n = (int(10 ** draw.uniform(0, 3)) for _ in range(3))
            ranks = int(draw.choice(list(GRIDS)))
            grid = str(draw.choice(GRIDS[ranks]))
            launcher = LAUNCHERS[number % len(LAUNCHERS)]
            with self.subTest(m=m, k=k, n=n, grid=grid, mpi=launcher.name):
                dtype = [np.float32, np.float64][number % 3 == 2]
                self.save("A.npy", m, k, dtype, order="CF"[number % 2])
                self.save("B.npy", k, n, dtype, order="CF"[number // 2 % 2], seed=2)
                exchange = ["--exchange"] if number % 4 else []
                self.assertEqual(self.multiply(launcher, ranks, "--grid", grid, *exchange),
                                 self.expect())

    def test_without_elements(self):
        for m, k, n in [(0, 5, 7), (5, 0, 7), (5, 7, 0), (1, 1, 1)]:
            with self.subTest(m=m, k=k, n=n):
                self.save("A.npy", m, k)
                self.save("B.npy", k, n)
                self.assertEqual(self.multiply(LAUNCHERS[0], 3), self.expect())
                self.assertEqual(self.multiply(LAUNCHERS[0], 3, "--exchange"), self.expect())

    def test_each_mpi(self):
        self.save("A.npy", 900, 1100)
        self.save("B.npy", 1100, 800)
        for launcher in LAUNCHERS:
            with self.subTest(mpi=launcher.name):
                self.assertEqual(self.multiply(launcher, 3, "--exchange"), self.expect())


class Alone(RanksTest):
    """A process without others is none of a job's ranks, and one that is told so neither."""

    def test_one_process(self):
        self.save("A.npy", 5, 5)
        self.save("B.npy", 5, 5)
        result = LAUNCHERS[0].run(1, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu",
                                  cwd=self.folder)
        self.assertEqual(result.returncode, 0)
        self.assertIn("cpu_blas on cpu", result.stdout)

    def test_one_rank_goes_on(self):
        """Options that only ranks take make a rank of it: `--resume` goes on with one, too."""
        self.save("A.npy", 300, 200)
        self.save("B.npy", 200, 310)
        for launcher in LAUNCHERS:
            for options in [["--resume"], ["--band", "100"], ["--grid", "1x1"], ["--exchange"]]:
                with self.subTest(mpi=launcher.name, options=options):
                    result = launcher.run(1, "matmul", "A.npy", "B.npy", "-o", "C.npy",
                                          "--device", "cpu", *options, cwd=self.folder)
                    self.assertEqual((result.returncode, result.stderr), (0, ""))
                    self.assertIn("on 1 rank (1 x 1)", result.stdout)
                    self.assertEqual(self.bits("C.npy"), self.expect())

    def test_told_so(self):
        os.environ["TILESCOPE_MPI"] = ""
        self.addCleanup(os.environ.pop, "TILESCOPE_MPI")
        self.save("A.npy", 5, 5)
        self.save("B.npy", 5, 5)
        result = LAUNCHERS[0].run(2, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--device", "cpu",
                                  cwd=self.folder)
        self.assertEqual(result.stdout.count("cpu_blas on cpu"), 2)

    def test_a_plugin_that_is_not_there(self):
        os.environ["TILESCOPE_MPI"] = "no.so"
        self.addCleanup(os.environ.pop, "TILESCOPE_MPI")
        code, lines = self.errors_of(LAUNCHERS[0], 2, "matmul", "A.npy", "B.npy", "-o", "C.npy")
        self.assertEqual(code, 3)
        self.assertRegex(lines[0], r"^tilescope: (Open MPI|MPICH) started this process, but lib\S* "
                                   r"cannot be opened \(.*\): install lib\S* and build again")

    def test_a_library_that_is_no_plugin(self):
        os.environ["TILESCOPE_MPI"] = os.path.join(os.path.dirname(TILESCOPE), "libcudart.so")
        self.addCleanup(os.environ.pop, "TILESCOPE_MPI")
        code, lines = self.errors_of(LAUNCHERS[0], 2, "matmul", "A.npy", "B.npy", "-o", "C.npy")
        self.assertEqual(code, 3)
        self.assertRegex(lines[0], r"\(\S*libcudart.so is no plugin of tilescope: it has no "
                                   r"tilescope_mpi_functions\): install ")

    @unittest.skipIf(len(LAUNCHERS) < 2, "needs two MPIs")
    def test_the_plugin_of_another_mpi(self):
        """Each process would take itself for the only rank, and write the same file."""
        os.environ["TILESCOPE_MPI"] = os.path.join(os.path.dirname(TILESCOPE),
                                                   "libtilescope_mpi_openmpi.so")
        self.addCleanup(os.environ.pop, "TILESCOPE_MPI")
        self.save("A.npy", 5, 5)
        self.save("B.npy", 5, 5)
        code, lines = self.errors_of(LAUNCHERS[1], 2, "matmul", "A.npy", "B.npy", "-o", "C.npy")
        self.assertEqual(code, 3)
        self.assertRegex(lines[0], r"^tilescope: MPICH started 2 processes, but \S*openmpi.so "
                                   r"\(Open MPI .*\) takes each for a job of its own: start them by")
        self.assertFalse(os.path.exists(self.path("C.npy")))


class Options(RanksTest):
    def check(self, *options, dtype=np.float32):
        self.save("A.npy", 400, 600, dtype)
        self.save("B.npy", 600, 500, dtype, seed=2)
        with self.subTest(options=options):
            expected = self.expect(*options)
            self.assertEqual(self.multiply(LAUNCHERS[0], 3, *options), expected)
            self.assertEqual(self.multiply(LAUNCHERS[0], 3, "--exchange", *options), expected)

    def test_arithmetic(self):
        self.check("--precision", "bf16")
        self.check("--precision", "tf32", "--order", "F")
        self.check(dtype=np.float64)
        self.check(dtype=np.float16)

    def test_epilogues(self):
        self.save("bias.npy", 1, 500)
        np.save(self.path("bias.npy"), np.load(self.path("bias.npy"))[0])
        self.save("C0.npy", 400, 500, seed=3)
        self.check("--alpha", "-1.5", "--accumulate", "C0.npy", "--bias", "bias.npy",
                   "--activation", "gelu")
        self.check("--accumulate", "C0.npy", "--beta", "0.5", "--order", "F", "--bias", "bias.npy")

    def test_transposed_operands(self):
        self.save("A.npy", 600, 400)
        self.save("B.npy", 500, 600, seed=2)
        options = ("--transpose-a", "--transpose-b")
        self.assertEqual(self.multiply(LAUNCHERS[0], 2, *options), self.expect(*options))

    def test_batches(self):
        draw = np.random.default_rng(1)
        np.save(self.path("A.npy"), draw.standard_normal((3, 70, 90)).astype(np.float32))
        np.save(self.path("B.npy"), draw.standard_normal((90, 80)).astype(np.float32))
        self.assertEqual(self.multiply(LAUNCHERS[0], 2), self.expect())
        self.assertEqual(self.multiply(LAUNCHERS[0], 2, "--exchange"), self.expect())

    def test_bands(self):
        self.save("A.npy", 400, 600)
        self.save("B.npy", 600, 500, seed=2)
        self.assertEqual(self.multiply(LAUNCHERS[0], 3, "--band", "100", "--exchange"),
                         self.expect())
        self.assertEqual(self.multiply(LAUNCHERS[0], 2, "--band", "100", "--resume"), self.expect())
        self.assertEqual(sorted(os.listdir(self.folder)), ["A.npy", "B.npy", "C.npy"])


class Ladder(RanksTest):
    """`ladder distributed`: measured by ranks, played without them."""

    RUNGS = ["broadcast_all", "ring", "summa", "summa_overlapped", "replicated"]

    def climb(self, launcher, ranks, *options):
        command = ("ladder", "distributed", "--samples", "1", "--json", "-", *options)
        result = launcher.run(ranks, *command, cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_measured(self):
        for launcher in LAUNCHERS:
            with self.subTest(mpi=launcher.name):
                page = self.climb(launcher, 3, "--rows", "211", "--columns", "190", "--inner", "97")
                self.assertTrue(page["measured"])
                self.assertEqual([rung["name"] for rung in page["rungs"]], self.RUNGS)
                for rung in page["rungs"]:
                    self.assertEqual(rung["verdict"], "ok", rung)
                    self.assertGreater(rung["predicted_ms"], 0.0)

    def test_fewer_rows_than_ranks(self):
        """Ranks whose first blocks are empty have a rate all the same."""
        page = self.climb(LAUNCHERS[0], 2, "--size", "1")
        for rung in page["rungs"]:
            self.assertLess(rung["predicted_ms"], 100.0, rung)

    def test_nothing_to_multiply(self):
        page = self.climb(LAUNCHERS[0], 3, "--size", "10", "--inner", "0")
        self.assertEqual({rung["verdict"] for rung in page["rungs"]}, {"ok"})

    def test_played(self):
        result = subprocess.run([TILESCOPE, "ladder", "distributed", "--ranks", "36", "--size",
                                 "20000", "--json", "-", "--html", self.path("page.html")],
                                text=True, stdout=subprocess.PIPE, check=True)
        page = json.loads(result.stdout)
        self.assertFalse(page["measured"])
        times = {rung["name"]: rung["time_ms"] for rung in page["rungs"]}
        self.assertEqual(list(times), self.RUNGS)
        self.assertLess(times["summa_overlapped"], times["summa"])
        self.assertLess(times["summa"], times["broadcast_all"])
        self.assertEqual({point["ranks"] for point in page["scaling"]}, {1, 4, 16, 36})
        self.assertIn("Strong scaling", self.bits("page.html").decode())

    def test_mistakes(self):
        code, lines = self.errors_of(LAUNCHERS[0], 2, "ladder", "distributed", "--variant", "suma")
        self.assertEqual((code, lines), (2, ["tilescope: --variant suma: distributed has no such "
                                             "rung, did you mean summa?"]))
        code, lines = self.errors_of(LAUNCHERS[0], 2, "ladder", "distributed", "--precision", "bf16")
        self.assertEqual((code, lines), (2, ["tilescope: --precision bf16: ranks climb this ladder "
                                             "in fp32"]))


class Mistakes(RanksTest):
    def setUp(self):
        super().setUp()
        self.save("A.npy", 20, 30)
        self.save("B.npy", 30, 10)

    def test_one_line_and_the_exit_code(self):
        product = ("matmul", "A.npy", "B.npy", "-o", "C.npy")
        for code, message, arguments in [
                (2, "a grid of 2 x 2 has 4 ranks, and there are 3", (*product, "--grid", "2x2")),
                (2, "--grid 2: expected rows x columns, such as 2x3", (*product, "--grid", "2")),
                (2, "--band -3: expected a number of columns", (*product, "--band", "-3")),
                (2, "--device gpu: no such device; use auto, cuda, cuda:N, emulated, emulated:GPU or "
                    "cpu", (*product, "--device", "gpu")),
                (2, "--variant does not work with ranks of mpirun",
                 (*product, "--variant", "general")),
                (4, "cannot read 'no.npy': no such file; check the name and the current folder",
                 ("matmul", "A.npy", "no.npy", "-o", "C.npy")),
                (2, "'B.npy' is 30 x 10 and 'A.npy' is 20 x 30: the first's 10 columns must equal "
                 "the second's 20 rows", ("matmul", "B.npy", "A.npy", "-o", "C.npy"))]:
            with self.subTest(message=message):
                found = self.errors_of(LAUNCHERS[0], 3, *arguments)
                self.assertEqual(found, (code, ["tilescope: " + message]))
                self.assertEqual(sorted(os.listdir(self.folder)), ["A.npy", "B.npy"])

    def test_other_files_in_a_rank_s_folder(self):
        """Ranks of one machine need not see the same files."""
        own = self.path("own")
        os.mkdir(own)
        self.save("own/A.npy", 20, 30, seed=3)
        self.save("own/B.npy", 30, 10)
        launcher = LAUNCHERS[0]
        for command in (("matmul", "A.npy", "B.npy", "-o", "C.npy"), ("reduce", "A.npy")):
            with self.subTest(command=command[0]):
                found = errors_of(launcher.run_in_folders([self.folder, own, own], *command))
                self.assertEqual(found[0], 4)
                self.assertRegex(found[1][0], rf"^tilescope: rank 1: 'A.npy' in '{own}' on \S+ is "
                                              r"another than rank 0's; give all ranks the same file$")
                self.assertFalse(os.path.exists(self.path("C.npy")))
        shutil.copy(self.path("A.npy"), own)
        result = launcher.run_in_folders([self.folder, own], "matmul", "A.npy", "B.npy", "-o",
                                         "C.npy", "--device", "cpu")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(self.bits("C.npy"), self.expect())

    def test_ranks_need_a_launcher(self):
        result = subprocess.run([TILESCOPE, "matmul", "A.npy", "B.npy", "-o", "C.npy", "--grid",
                                 "1x1"], cwd=self.folder, text=True, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "tilescope: --grid is for ranks that mpirun started, and "
                                        "there are none\n")


if __name__ == "__main__":
    unittest.main()
