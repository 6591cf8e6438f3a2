"""The compiled module shows nothing but its entry point, and the package everything that it names."""

import subprocess
import unittest

import tilescope


class Module(unittest.TestCase):
    def test_exports(self):
        listed = subprocess.run(["nm", "-D", "--defined-only", "--format=posix",
                                 tilescope._tilescope.__file__], check=True, capture_output=True,
                                text=True)
        names = [line.split()[0] for line in listed.stdout.splitlines()]
        self.assertEqual(names, ["PyInit__tilescope"])

    def test_names(self):
        for name in tilescope.__all__:
            self.assertTrue(hasattr(tilescope, name), name)


if __name__ == "__main__":
    unittest.main()
