"""Commands under mpirun of which a process is killed."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

from launchers import launchers, processes

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from case_options import ALL

LAUNCHERS = launchers()
LAUNCHER = LAUNCHERS[0]
KILLS = 20 if ALL else 3


class Killing(unittest.TestCase):
    def killed(self, launcher, folder, ranks, which, after, *arguments):
        """Starts a command, kills one of its processes when `after` seconds have passed, or when
        after() is true, and waits for the end of all. `which`: a rank, or None for mpirun. Returns
        whether the command was not complete by then."""
        files = set(os.listdir(folder))
        job = launcher.start(ranks, *arguments, cwd=folder)
        deadline = None if callable(after) else time.monotonic() + after
        is_time = after if callable(after) else lambda: time.monotonic() >= deadline
        while not is_time() and job.poll() is None:
            time.sleep(0.005)
        running = processes(folder)
        victim = job.pid if which is None else running[which] if which < len(running) else None
        # Ranks make files once mpirun knows all of them. It may not name one that dies before.
        is_known = not set(os.listdir(folder)) <= files
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
            self.assertIn("1 process returned\na non-zero exit code", errors)
            if is_known:
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

    def each_kill(self, seed, seconds, act, kills=KILLS):
        """Acts until `kills` commands, which take `seconds`, were interrupted: by the death of rank 0,
        of mpirun and of another rank in turn, at random moments, under each MPI. `act` says whether
        its command was; one that was complete by then does not count."""
        draw = random.Random(seed)
        interrupted = 0
        for number in range(seed, seed + 5 * kills):
            if interrupted == kills:
                return
            ranks = draw.choice([2, 3])
            which = [0, None, ranks - 1][number % 3]
            after = draw.uniform(0.0, 1.0) * seconds
            launcher = LAUNCHERS[number // 3 % len(LAUNCHERS)]
            with self.subTest(number=number, mpi=launcher.name, ranks=ranks, which=which,
                              after=after):
                interrupted += act(launcher, ranks, which, after)
        self.assertEqual(interrupted, kills)

    def files_soon(self, folder, *allowed):
        """The files of the folder: one of `allowed`, once what a killed rank left is removed."""
        for _ in range(100):
            files = sorted(os.listdir(folder))
            if files in allowed:
                return files
            time.sleep(0.05)
        self.fail(f"left over: {files}")
