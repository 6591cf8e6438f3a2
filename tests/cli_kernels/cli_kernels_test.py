"""Small faulty kernels and their cured twins: what `tilescope check` says of each.

A folder here is one test:
  faulty.cu     the kernel with one mistake
  cured.cu      the same without it
  launch.json   how both are launched
  cured.json    the cured launch, where the mistake is in the launch
  options.txt   further options of the command, for both
  expected.txt  what the command prints for faulty.cu, and how it exits

`cli_kernels_test.py --update` rewrites every expected.txt; read the difference before keeping it.
`--shard I/N` runs every N-th of the folders, from the I-th on. Of kernels with CUDA's headers, which
take long to compile, the first with each kind of finding is run; `--all` runs all.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from case_options import ALL, shard

PROGRAM = os.environ.get("TILESCOPE", "tilescope")


def check(folder, source, launch):
    options = folder / "options.txt"
    extra = options.read_text().split() if options.exists() else []
    done = subprocess.run(
        [PROGRAM, "check", source, "--launch", launch, *extra],
        cwd=folder, capture_output=True, text=True, timeout=120)
    return done


def report(folder):
    done = check(folder, "faulty.cu", "launch.json")
    return f"{done.stdout}{done.stderr}exit {done.returncode}\n"


def folders():
    return sorted(path.parent for path in HERE.glob("*/faulty.cu"))


def has_headers(source):
    """Whether a kernel has headers of CUDA, which take seconds to compile."""
    return re.search(r"^#include <", source.read_text(), re.M) is not None


def findings(folder):
    """What is expected to be said of faulty.cu, as (severity, kind)."""
    return set(re.findall(r"^(error|warning|note): ([a-z-]+) at ",
                          (folder / "expected.txt").read_text(), re.M))


def chosen_folders():
    """The folders that are run without `--all`."""
    chosen, seen = [], set()
    for folder in sorted(folders(), key=lambda folder: has_headers(folder / "faulty.cu")):
        if not has_headers(folder / "faulty.cu") or not findings(folder) <= seen:
            chosen.append(folder)
        seen |= findings(folder)
    return sorted(chosen)


class Kernels(unittest.TestCase):
    maxDiff = None

    def test_there_are_enough(self):
        self.assertGreaterEqual(len(folders()), 75)

    def test_every_kind_of_finding_is_run(self):
        def kinds(some):
            return set().union(*map(findings, some))
        self.assertEqual(kinds(chosen_folders()), kinds(folders()))


def add(folder):
    def faulty(self):
        expected = (folder / "expected.txt").read_text()
        self.assertEqual(report(folder), expected)
        self.assertTrue(expected.endswith("exit 1\n"), "a mistake must make check fail")
        self.assertLessEqual(max(map(len, expected.splitlines())), 80)

    def cured(self):
        launch = "cured.json" if (folder / "cured.json").exists() else "launch.json"
        done = check(folder, "cured.cu", launch)
        self.assertIn("no defects found", done.stdout, done.stdout + done.stderr)
        self.assertEqual(done.returncode, 0)

    setattr(Kernels, f"test_{folder.name}", faulty)
    setattr(Kernels, f"test_{folder.name}_cured", cured)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--update"]:
        for each in folders():
            if not sys.argv[2:] or each.name in sys.argv[2:]:
                (each / "expected.txt").write_text(report(each))
    else:
        for each in shard(folders() if ALL else chosen_folders()):
            add(each)
        unittest.main()
