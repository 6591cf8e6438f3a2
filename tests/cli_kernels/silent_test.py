"""Correct kernels of many kinds: `tilescope check` must say nothing about them, and must speak up
when one mistake is made in them.

A folder in silent/ is one test:
  kernel.cu      the kernel as it should be
  launch.json    how it is launched
  mistakes.json  mistakes to make: a text that is replaced by another

In kernels with CUDA's headers, which take long to compile, mistakes are made only with `--all`.
"""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from cli_kernels_test import ALL, has_headers

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("TILESCOPE", "tilescope")


def check(source, launch):
    return subprocess.run(
        [PROGRAM, "check", source, "--launch", launch, "--max-instructions", "10000000"],
        capture_output=True, text=True, timeout=120, check=False)


class Silent(unittest.TestCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(list(HERE.glob("silent/*/kernel.cu"))), 40)


def add(folder):
    def silent(self):
        done = check(folder / "kernel.cu", folder / "launch.json")
        self.assertIn("no defects found", done.stdout, done.stdout + done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    setattr(Silent, f"test_{folder.name}", silent)
    mistakes = folder / "mistakes.json"
    if not mistakes.exists() or (has_headers(folder / "kernel.cu") and not ALL):
        return
    for mistake in json.loads(mistakes.read_text()):
        def spoken(self, mistake=mistake):
            text = (folder / "kernel.cu").read_text()
            self.assertIn(mistake["replace"], text)
            with tempfile.TemporaryDirectory() as place:
                faulty = pathlib.Path(place, "faulty.cu")
                faulty.write_text(text.replace(mistake["replace"], mistake["by"], 1))
                done = check(faulty, folder / "launch.json")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertRegex(done.stdout, r"\n(error|warning): [a-z-]+ at ")

        setattr(Silent, f"test_{folder.name}_{mistake['name']}", spoken)


if __name__ == "__main__":
    for each in sorted(path.parent for path in HERE.glob("silent/*/kernel.cu")):
        add(each)
    unittest.main()
