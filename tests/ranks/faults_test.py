"""Ranks that are killed: the others end soon, nothing is left over, and another number of ranks
goes on with what is finished."""

import glob
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy as np

from launchers import launchers, processes

LAUNCHERS = launchers()
LAUNCHER = LAUNCHERS[0]
KILLS = 20 if "--all" in sys.argv else 3
PRODUCT = ("matmul", "A.npy", "B.npy", "-o", "C.npy", "--band", "200", "--exchange")


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.TemporaryDirectory(prefix="tilescope.")
        cls.addClassCleanup(cls.store.cleanup)
        draw = np.random.default_rng(3)
        for name, shape in (("A.npy", (1000, 1500)), ("B.npy", (1500, 3000))):
            np.save(os.path.join(cls.store.name, name),
                    draw.standard_normal(shape).astype(np.float32))
        begin = time.monotonic()
        result = LAUNCHER.run(2, *PRODUCT, cwd=cls.store.name)
        cls.seconds = time.monotonic() - begin
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

    def killed(self, launcher, folder, ranks, which, after, *options):
        """Starts the product, kills one of its processes, and waits for the end of all. `which`: a
        rank, or None for mpirun. Returns whether the product was not complete by then."""
        job = launcher.start(ranks, *PRODUCT, *options, cwd=folder)
        deadline = time.monotonic() + after
        while time.monotonic() < deadline and job.poll() is None:
            time.sleep(0.005)
        running = processes(folder)
        victim = job.pid if which is None else running[which] if which < len(running) else None
        if victim is not None and job.poll() is None:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:  # it has just ended
                pass
        errors = self.end_of(launcher, job, folder)
        for _ in range(600):  # ranks end soon after their launcher
            if not processes(folder):
                break
            time.sleep(0.05)
        self.assertEqual(processes(folder), [], "ranks go on")
        is_open_mpi = launcher.name == "openmpi"
        if is_open_mpi and victim is not None and which is not None and job.returncode != 0:
            self.assertRegex(errors, r"process rank \d+ .* exited on signal 9")
        return job.returncode != 0

    def end_of(self, launcher, job, folder):
        """Waits for the launcher, returns what it said."""
        try:
            return job.communicate(timeout=30)[1]
        except subprocess.TimeoutExpired:
            if launcher.name != "openmpi":
                raise
            # Open MPI 4.1.4's mpirun can wait for itself in PMIx_server_finalize(), without a rank.
            self.assertEqual(processes(folder), [], "ranks go on")
            job.kill()
            print(f"{job.args[0]} hung after all ranks had ended", file=sys.stderr)
            return job.communicate()[1]

    def each_kill(self, seed, act):
        """Acts until KILLS products were interrupted: by the death of rank 0, of mpirun and of
        another rank in turn, at random moments, under each MPI. `act` says whether its product was;
        one that was complete by then does not count."""
        draw = random.Random(seed)
        interrupted = 0
        for number in range(5 * KILLS):
            if interrupted == KILLS:
                return
            ranks = draw.choice([2, 3])
            which = [0, None, ranks - 1][number % 3]
            after = draw.uniform(0.0, 1.0) * self.seconds
            launcher = LAUNCHERS[number // 3 % len(LAUNCHERS)]
            with self.subTest(number=number, mpi=launcher.name, ranks=ranks, which=which,
                              after=after):
                interrupted += act(launcher, ranks, which, after)
        self.assertEqual(interrupted, KILLS)

    def test_nothing_is_left_over(self):
        self.each_kill(1, self.left_over)

    def test_others_go_on(self):
        self.each_kill(2, self.go_on)

    def left_over(self, launcher, ranks, which, after):
        folder = self.folder()
        interrupted = self.killed(launcher, folder, ranks, which, after)
        # mpirun may have been killed behind the last band: the result is complete then.
        if "C.npy" in self.files_soon(folder, ["A.npy", "B.npy"], ["A.npy", "B.npy", "C.npy"]):
            self.assertEqual(self.result(folder), self.expected)
        return interrupted

    def go_on(self, launcher, ranks, which, after):
        folder = self.folder()
        interrupted = self.killed(launcher, folder, ranks, which, after, "--resume")
        result = launcher.run(5 - ranks, *PRODUCT, "--resume", cwd=folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.result(folder), self.expected)
        self.files_soon(folder, ["A.npy", "B.npy", "C.npy"])
        return interrupted

    def files_soon(self, folder, *allowed):
        """The files of the folder: one of `allowed`, once what a killed rank left is removed."""
        for _ in range(100):
            files = sorted(os.listdir(folder))
            if files in allowed:
                return files
            time.sleep(0.05)
        self.fail(f"left over: {files}")

    def test_another_product_is_not_resumed(self):
        folder = self.folder()
        while not glob.glob(os.path.join(folder, ".C.npy.journal")):
            self.killed(LAUNCHER, folder, 2, 1, self.seconds * 0.7, "--resume")
            if os.path.exists(os.path.join(folder, "C.npy")):
                os.unlink(os.path.join(folder, "C.npy"))
        result = LAUNCHER.run(2, *PRODUCT, "--resume", "--alpha", "2", cwd=folder)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, r"(?m)^tilescope: '.*journal' belongs to another product")


if __name__ == "__main__":
    sys.argv = [argument for argument in sys.argv if argument != "--all"]
    unittest.main()
