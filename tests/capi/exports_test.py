"""libtilescope.so exports the functions of tilescope.h and nothing else."""

import os
import re
import subprocess
import unittest

LIBRARY = os.environ["TILESCOPE_LIBRARY"]
HEADER = os.environ["TILESCOPE_HEADER"]


def exported():
    listed = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", LIBRARY], check=True,
                            capture_output=True, text=True).stdout
    symbols = [line.split()[:2] for line in listed.splitlines()]
    return {name.split("@")[0] for name, kind in symbols if kind != "A"}  # A: the version's name


def declared():
    with open(HEADER, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return set(re.findall(r"\b(tilescope_\w+)\(", text))


class Exports(unittest.TestCase):
    def test_only_the_functions_of_the_header(self):
        self.assertEqual(exported(), declared())

    def test_there_are_some(self):
        self.assertGreater(len(declared()), 30)
        self.assertIn("tilescope_gemm", declared())


if __name__ == "__main__":
    unittest.main()
