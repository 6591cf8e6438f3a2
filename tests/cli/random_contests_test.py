"""bench/random_contests.py runs contests of two builds and compares them; a program that writes what
`products` does stands for it."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "bench/random_contests.py")

# Ratios rise with the seed; FACTOR and the rows that cuBLAS computed wrong are each build's own.
PRODUCTS = """#!{python}
import json, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rows = []
for i, ratio in enumerate([0.8, 1.0, 1.25]):
    row = dict(m=1000 * (i + 1), n=8, k=8, form="NT", batch=1, trouble="", wrong={wrong} and i == 1)
    rows.append(dict(row, dispatched=False, ratio=1.0, variant="cublas"))
    rows.append(dict(row, dispatched=True, variant="short_k",
                     ratio=0.0 if i == {without} else ratio * {factor} * int(options["--seed"]) / 10))
with open(options["--json"], "w") as file:
    json.dump(rows, file)
sys.exit({wrong})
"""


def random_contests(*arguments):
    done = subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()[2:], done.stderr


class RandomContests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def program(self, name, factor, without=-1, wrong=0):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(PRODUCTS.format(python=sys.executable, factor=factor, without=without,
                                       wrong=wrong))
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def test_two_builds_are_compared_on_the_products_that_both_have(self):
        folder = os.path.join(self.folder, "json")
        after, before = self.program("after", 1.1), self.program("before", 1.0, without=2)
        code, rows, errors = random_contests("run", folder, after, before, "fp32:8:10", "bf16:1:20",
                                             "--gpus", "2")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual(rows, [
            "| bf16 | 1 | 20 | 1.789 | 1.968 | 2 | 0, 0 | 1.760 (1,000 x 8 x 8 NT) |",
            "| fp32 | 8 | 10 | 0.894 | 0.984 | 2 | 1, 1 | 0.880 (1,000 x 8 x 8 NT) |"])
        self.assertEqual(random_contests("table", folder)[1], rows)

    def test_one_build(self):
        folder = os.path.join(self.folder, "json")
        self.assertEqual(random_contests("run", folder, self.program("after", 1.0), "fp32:8:10")[1],
                         ["| fp32 | 8 | 10 |  | 1.000 | 3 | 1 | 0.800 (1,000 x 8 x 8 NT) |"])

    def test_a_wrong_result_has_no_table(self):
        folder = os.path.join(self.folder, "json")
        code, rows, errors = random_contests("run", folder, self.program("after", 1.0, wrong=1),
                                             "fp32:8:10")
        self.assertEqual((code, rows), (1, []))
        self.assertIn("1 wrong results, such as 2,000 x 8 x 8 NT", errors)

    def test_losses_of_the_choice(self):
        path = os.path.join(self.folder, "plans.json")
        with open(path, "w") as file:
            json.dump([{"precision": "fp32", "cublas_ms": 1.0,
                        "plans": [{"ms": 1.21}, {"ms": 1.0}, {"trouble": "far slower"}]},
                       {"precision": "fp32", "plans": [{"ms": 1.0}, {"ms": 2.0}]},
                       {"precision": "fp32", "plans": [{"trouble": "far slower"}, {"ms": 2.0}]}],
                      file)
        self.assertEqual(random_contests("losses", path)[1], ["| fp32 | 2 | 10.0% | 1 | 0 |"])


if __name__ == "__main__":
    unittest.main()
