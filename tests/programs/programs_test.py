"""Complete CUDA programs and their faulty twins under `tilescope run` and `tilescope check`.

README.md describes the folders. `--shard I/N` runs every N-th of them, from the I-th on. A part of
the twins is checked, one for each kind of finding, and no program with CUDA's libraries, which take
long to compile, unless its twin is among them. `--all` checks all.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from case_options import ALL, shard

TILESCOPE = os.path.abspath(os.environ.get("TILESCOPE", "build/tilescope"))
LIBRARIES = "^#include <(cuda/|cooperative_groups|cub/|thrust/|curand)"
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


class Program:
    """A folder: good.cu, its faulty twins, and what is expected of them."""

    def __init__(self, folder):
        self.folder = folder
        self.expect = json.loads((folder / "expect.json").read_text())
        self.faulty = self.expect["faulty"]
        self.has_libraries = any(
            re.search(LIBRARIES, path.read_text(), re.M)
            for path in [*folder.glob("*.cu"), *folder.glob("*.h")])

    def command(self, first, replaced=None, replacement=None):
        """The sources and options of the program whose main() is in `first`."""
        sources = [first] + [replacement if source == replaced else source
                             for source in self.expect.get("sources", [])]
        return [str(self.folder / source) for source in sources] + self.expect.get("options", [])

    def twin(self, mistake):
        """The file with this mistake, and the command for it."""
        name = f"faulty_{mistake}.cu"
        replaced = self.faulty[mistake].get("replaces", "good.cu")
        if replaced == "good.cu":
            return self.folder / name, self.command(name)
        return self.folder / name, self.command("good.cu", replaced, name)


def programs():
    return [Program(path.parent) for path in sorted(HERE.glob("*/good.cu"))]


def chosen_twins():
    """The twins that are checked without `--all`, as (folder's name, mistake)."""
    chosen, kinds = set(), set()
    for program in sorted(programs(), key=lambda program: program.has_libraries):
        for mistake, expected in program.faulty.items():
            if expected["kind"] not in kinds:
                chosen.add((program.folder.name, mistake))
            kinds.add(expected["kind"])
    return chosen


def chosen_programs():
    """The programs that are run without `--all`."""
    with_twins = {name for name, _ in chosen_twins()}
    return [program for program in programs()
            if program.folder.name in with_twins or not program.has_libraries]


def tilescope(*arguments):
    """Runs the command in a fresh folder; also gives the sizes of the files it leaves there."""
    with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
        done = subprocess.run([TILESCOPE, *arguments], cwd=folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        return done, {path.name: path.stat().st_size for path in pathlib.Path(folder).iterdir()}


def marked_lines(path):
    """Where the finding belongs: the lines marked FOUND, or else that of the mistake itself."""
    lines = path.read_text().splitlines()
    for mark in ("// FOUND", "// MISTAKE"):
        numbers = {number for number, line in enumerate(lines, 1) if mark in line}
        if numbers:
            return numbers
    raise AssertionError(f"{path} marks no line")


def places(report):
    """The places that a report names, as (file name, line)."""
    both = [report] + ([report["other"]] if report.get("other") else [])
    return {(os.path.basename(place["file"]), place["line"]) for place in both}


class Folders(unittest.TestCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(programs()), 20)

    def test_every_faulty_twin_is_listed_and_marked(self):
        for program in programs():
            there = {path.stem[len("faulty_"):] for path in program.folder.glob("faulty_*.cu")}
            self.assertEqual(there, set(program.faulty), program.folder.name)
            self.assertTrue(there, f"{program.folder.name} has no faulty twin")
            for mistake in there:
                source = program.twin(mistake)[0].read_text()
                self.assertEqual(source.count("// MISTAKE"), 1, f"{program.folder.name}/{mistake}")

    def test_every_kind_has_a_chosen_twin(self):
        twins = {(program.folder.name, mistake): expected["kind"] for program in programs()
                 for mistake, expected in program.faulty.items()}
        self.assertEqual({twins[twin] for twin in chosen_twins()}, set(twins.values()))


@unittest.skipUnless(NVCC, "nvcc is not installed, which compiles whole programs")
class Programs(unittest.TestCase):
    maxDiff = None

    def assert_output(self, program, done, files):
        self.assertEqual(done.returncode, program.expect["exit"], done.stdout + done.stderr)
        rest = done.stdout
        for pattern in program.expect["output"]:
            found = re.search(f"^.*{pattern}.*$", rest, re.M)
            self.assertTrue(found, f"{pattern!r} is not in\n{rest}")
            rest = rest[found.end():]
        self.assertEqual(files, program.expect.get("files", {}))

    def run_good(self, program):
        done, files = tilescope("run", *program.command("good.cu"))
        self.assert_output(program, done, files)
        self.assertEqual(done.stderr, "")

    def check_good(self, program):
        done, _ = tilescope("check", "--json", "-", *program.command("good.cu"))
        # A check that saw no kernel does not pass.
        code = 1 if program.expect.get("launches") == 0 else 0
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        result = json.loads(done.stdout)
        self.assertEqual(result["reports"], [])
        self.assertTrue(result["complete"])

    def check_faulty(self, program, mistake):
        source, command = program.twin(mistake)
        expected = program.faulty[mistake]
        done, _ = tilescope("check", "--json", "-", *command)
        reports = json.loads(done.stdout)["reports"]
        seen = "\n".join(f"{r['severity']} {r['kind']} {sorted(places(r))}: {r['message']}"
                         for r in reports)
        wanted = {(source.name, line) for line in marked_lines(source)}
        self.assertTrue(any(r["kind"] == expected["kind"] and places(r) & wanted for r in reports),
                        f"no {expected['kind']} at {sorted(wanted)} in\n{seen}")
        allowed = {expected["kind"], *expected.get("also", [])}
        self.assertLessEqual({r["kind"] for r in reports}, allowed, seen)
        notes_only = all(r["severity"] == "note" for r in reports)
        self.assertEqual(done.returncode, expected.get("exit", 0 if notes_only else 1), seen)


def add_tests(program, twins):
    name = program.folder.name
    setattr(Programs, f"test_{name}_run", lambda self: self.run_good(program))
    setattr(Programs, f"test_{name}_check", lambda self: self.check_good(program))
    for mistake in program.faulty:
        if twins is None or (name, mistake) in twins:
            setattr(Programs, f"test_{name}_{mistake}",
                    lambda self, mistake=mistake: self.check_faulty(program, mistake))


if __name__ == "__main__":
    for each in shard(programs() if ALL else chosen_programs()):
        add_tests(each, None if ALL else chosen_twins())
    unittest.main()
