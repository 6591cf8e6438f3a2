"""functions.def against the library that was built, and against CUDA's own where there is one."""

import glob
import os
import re
import subprocess
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIBRARY = os.environ.get("CUDART", os.path.join(ROOT, "build/libcudart.so.13"))
ROW = re.compile(r"^FUNCTION\((\w+), (\w+)\)$", re.M)


def rows():
    with open(os.path.join(ROOT, "src/cudart/functions.def"), encoding="utf-8") as file:
        return ROW.findall(file.read())


def rows_of_12():
    with open(os.path.join(ROOT, "src/cudart/cuda12/functions12.def"), encoding="utf-8") as file:
        return re.findall(r"^FUNCTION12\((\w+), (\w+)\)$", file.read(), re.M)


def of_version(version, library):
    """The functions that a library exports under a version of CUDA."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    found = (line.split()[2].split("@") for line in lines if line.split()[1] == "T")
    return {parts[0] for parts in found if parts[-1] == f"libcudart.so.{version}"}


def sources(folder):
    text = ""
    for path in sorted(glob.glob(os.path.join(ROOT, "src/cudart", folder, "*.cpp"))):
        with open(path, encoding="utf-8") as file:
            text += file.read()
    return text


def defined(text):
    return set(re.findall(r"^(?:extern \"C\" )?(?:const )?[\w*]+[ *]+(_*cuda\w+)\(", text, re.M))


class Functions(unittest.TestCase):
    def test_rows_are_sorted_and_known(self):
        names = [name for name, _ in rows()]
        self.assertEqual(names, sorted(set(names)))
        self.assertLessEqual({state for _, state in rows()}, {"done", "refused"})

    def test_the_library_exports_the_table(self):
        self.assertEqual(of_version(13, LIBRARY), {name for name, _ in rows()})

    def test_the_functions_of_cuda_12_are_these_and_its_own(self):
        self.assertEqual(of_version(12, LIBRARY),
                         {name for name, _ in rows()} | {name for name, _ in rows_of_12()})
        known = {name for name, _ in rows()}
        for name, target in rows_of_12():
            self.assertTrue(target == "own" or target in known, name)

    def test_a_row_that_is_done_has_a_definition(self):
        twice = defined(sources("streamed"))
        known = defined(sources("api")) | twice
        for name, state in rows():
            plain = re.sub(r"_pt[sd][zs]$", "", name)
            is_defined = plain in (known if plain == name else twice)
            self.assertEqual(state == "done", is_defined, name)

    def test_nothing_is_missing_beside_cudas_library(self):
        own = "/usr/local/cuda/lib64/libcudart.so.13"
        if not os.path.exists(own):
            self.skipTest(f"no {own}")
        self.assertEqual(of_version(13, own) - of_version(13, LIBRARY), set())


if __name__ == "__main__":
    unittest.main()
