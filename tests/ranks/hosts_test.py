"""Two machines, each with its own network address, name and folder: network namespaces on this one.
Only root may make them; elsewhere the test is skipped."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy as np

from launchers import OPEN_MPI, TILESCOPE, launchers

MPI = [launcher for launcher in launchers() if launcher.name == "openmpi"]
NAMES = [f"ts{os.getpid()}a", f"ts{os.getpid()}b"]
BRIDGE = f"ts{os.getpid()}"
PRODUCT = ("matmul", "A.npy", "B.npy", "-o", "C.npy")

# What Open MPI calls instead of ssh: HOST COMMAND. Both machines see their own folder at one path.
AGENT = """#!/bin/bash
name=$1
shift
exec ip netns exec "$name" unshare --uts --mount \\
  bash -c "hostname $name; mount --bind '{folder}/$name' '{folder}/work'; cd '{folder}/work'; $*"
"""

# mpirun and its child both put the child into a process group. On a loaded machine the child may run
# the agent before mpirun gets there, which then warns; the group is right all the same.
LATE_GROUP = re.compile(r"(?m)^.*plm:rsh: Warning: setpgid\(.*failed in parent with errno=.*\n")


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def make_machines():
    """Raises where this process may not."""
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("link", "set", BRIDGE, "up")
    for number, name in enumerate(NAMES, 1):
        ip("netns", "add", name)
        ip("link", "add", f"{name}v", "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("link", "set", f"{name}v", "master", BRIDGE, "up")
        ip("-n", name, "addr", "add", f"10.77.91.{number}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        ip("-n", name, "link", "set", "lo", "up")


def remove_machines():
    for name in NAMES:
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
    subprocess.run(["ip", "link", "del", BRIDGE], stderr=subprocess.DEVNULL)


class Hosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        for name in [*NAMES, "work"]:
            os.mkdir(self.path(name))
        self.agent = self.path("agent")
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT.format(folder=self.folder))
        os.chmod(self.agent, 0o755)
        draw = np.random.default_rng(1)
        for file, shape in (("A.npy", (500, 700)), ("B.npy", (700, 900))):
            np.save(self.path(NAMES[0], file), draw.standard_normal(shape).astype(np.float32))

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def multiply(self, *options):
        return self.run_ranks(*PRODUCT, *options)

    def run_ranks(self, *arguments):
        """One rank on the first machine, two on the second."""
        command = [MPI[0].program, "-n", "3", "--host", f"{NAMES[0]}:1,{NAMES[1]}:2", "--wdir",
                   self.path("work"), "--mca", "plm_rsh_agent", self.agent, "--mca",
                   "btl_tcp_if_include", "10.77.91.0/24", "--mca", "oob_tcp_if_include",
                   "10.77.91.0/24", TILESCOPE, *arguments]
        result = subprocess.run([self.agent, NAMES[0], *command], text=True, timeout=120,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=dict(os.environ, **OPEN_MPI))
        result.stderr = LATE_GROUP.sub("", result.stderr)
        return result

    def bits(self, file):
        with open(self.path(NAMES[0], file), "rb") as opened:
            return opened.read()

    def check(self, *options):
        result = self.multiply(*options)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("2 hosts", result.stdout.replace("\n  ", " "))
        subprocess.run([TILESCOPE, "matmul", "A.npy", "B.npy", "-o", "one.npy", "--device", "cpu"],
                       cwd=self.path(NAMES[0]), check=True, stdout=subprocess.DEVNULL)
        self.assertEqual(self.bits("C.npy"), self.bits("one.npy"))
        self.assertFalse(os.path.exists(self.path(NAMES[1], "C.npy")))

    def test_files_on_the_first_machine_alone(self):
        self.check()
        self.check("--resume", "--band", "200")

    def check_lists(self, resumes=False):
        """The commands on one list, beside one process."""
        for name, *arguments in (
                ("sum", "reduce", "x.npy"), ("place", "reduce", "x.npy", "--op", "argmax"),
                ("counts", "histogram", "x.npy", "--bins", "100"),
                ("saxpb", "saxpb", "x.npy", "-a", "0.3", "-b", "0.1", "-o", "y.npy")):
            with self.subTest(name=name):
                kept = ["--resume", *([] if name == "saxpb" else ["kept"]), "--band", "65536"]
                result = self.run_ranks(*arguments, *(kept if resumes else []), "--json", "-")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                page = json.loads(result.stdout)
                self.assertEqual((page["ranks"], page["hosts"]), (3, 2))
                if name == "saxpb":
                    arguments[-1] = "one.npy"
                one = subprocess.run([TILESCOPE, *arguments, "--device", "cpu", "--json", "-"],
                                     cwd=self.path(NAMES[0]), check=True, stdout=subprocess.PIPE)
                expected = json.loads(one.stdout)
                for key in ("value", "counts", "lower", "upper"):
                    self.assertEqual(page.get(key), expected.get(key))
        self.assertEqual(self.bits("y.npy"), self.bits("one.npy"))
        self.assertFalse(os.path.exists(self.path(NAMES[1], "y.npy")))

    def test_lists(self):
        draw = np.random.default_rng(2)
        np.save(self.path(NAMES[0], "x.npy"), draw.standard_normal(300001).astype(np.float32))
        self.check_lists()
        self.check_lists(resumes=True)
        shutil.copy(self.path(NAMES[0], "x.npy"), self.path(NAMES[1], "x.npy"))
        self.check_lists(resumes=True)
        with open(self.path(NAMES[1], "x.npy"), "r+b") as file:
            file.seek(5000)
            file.write(b"\x01")
        result = self.run_ranks("reduce", "x.npy")
        self.assertEqual(result.returncode, 4)
        work = self.path("work")
        self.assertIn(f"tilescope: rank 1: 'x.npy' in '{work}' on {NAMES[1]} is "
                      "another than rank 0's; give all ranks the same file\n", result.stderr)

    def test_emulated_gpus(self):
        """The second machine's ranks get their parts, and the addend, from the first."""
        draw = np.random.default_rng(4)
        for file, shape in (("A.npy", (90, 70)), ("B.npy", (70, 110)), ("C0.npy", (90, 110))):
            np.save(self.path(NAMES[0], file), draw.standard_normal(shape).astype(np.float32))
        options = ("--accumulate", "C0.npy", "--device", "emulated")
        for grid in ("3x1", "1x3"):
            result = self.multiply(*options, "--grid", grid)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            subprocess.run([TILESCOPE, "matmul", "A.npy", "B.npy", "-o", "one.npy", *options],
                           cwd=self.path(NAMES[0]), check=True, stdout=subprocess.DEVNULL)
            self.assertEqual(self.bits("C.npy"), self.bits("one.npy"))

    def test_files_on_both(self):
        for file in ("A.npy", "B.npy"):
            shutil.copy(self.path(NAMES[0], file), self.path(NAMES[1], file))
        self.check()

    def test_other_contents_are_found_before_the_work(self):
        for file in ("A.npy", "B.npy"):
            shutil.copy(self.path(NAMES[0], file), self.path(NAMES[1], file))
        with open(self.path(NAMES[1], "B.npy"), "r+b") as file:
            file.seek(5000)
            file.write(b"\x01")
        result = self.multiply()
        self.assertEqual(result.returncode, 4)
        work = self.path("work")
        self.assertIn(f"tilescope: rank 1: 'B.npy' in '{work}' on {NAMES[1]} is "
                      "another than rank 0's; give all ranks the same file\n", result.stderr)
        self.assertFalse(os.path.exists(self.path(NAMES[0], "C.npy")))


if __name__ == "__main__":
    if not MPI:
        print("skipped: Open MPI is not here (Debian: libopenmpi-dev, openmpi-bin)")
        sys.exit(0)
    try:
        make_machines()
    except (OSError, subprocess.CalledProcessError):
        print("skipped: this process may not make network namespaces (ip netns, as root)")
        remove_machines()
        sys.exit(0)
    try:
        unittest.main()
    finally:
        remove_machines()
