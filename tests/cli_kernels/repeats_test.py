"""1,000 repeats of an unchanged kernel: every report is the same, byte for byte, and none differs from
the first as its baseline. Blocks run on several threads, which end in another order each time."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ.get("TILESCOPE", "tilescope"))
REPEATS = 1000
# Blocks that compete for the same bins, and threads of two blocks that race for one word.
KERNEL = """\
__global__ void histogram(const int* x, int* bins, int* last, int n) {
  __shared__ int own[64];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&own[x[i] & 63], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += blockDim.x) atomicAdd(&bins[i], own[i]);
  if (threadIdx.x == 0) *last = blockIdx.x;
}
"""
LAUNCH = {"grid": 24, "block": 96,
          "args": ["i32[5000]=random", "i32[64]=zeros", "i32[1]=zeros", "i32:5000"]}


class Repeats(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "k.cu").write_text(KERNEL)
        (self.folder / "k.json").write_text(json.dumps(LAUNCH))

    def report(self, command, *words):
        done = subprocess.run([PROGRAM, command, "k.cu", "--launch", "k.json", *words],
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout

    def repeat(self, command, code, of):
        first = self.report(command, "--json", "-")
        self.assertEqual(first[0], code)
        self.assertTrue(of(json.loads(first[1])))
        (self.folder / "first.json").write_text(first[1])
        compared = self.report(command, "--json", "-", "--baseline", "first.json")
        self.assertEqual(compared[0], 0, compared[1])
        for number in range(REPEATS):
            self.assertEqual(self.report(command, "--json", "-", "--baseline", "first.json"),
                             compared, f"repeat {number} of {command}")

    def test_counts_never_differ(self):
        self.repeat("explain", 0, lambda report: report["totals"]["shared_atomic_wavefronts"] > 0)

    def test_findings_never_differ(self):
        self.repeat("check", 1, lambda report: [one["kind"] for one in report["reports"]] == ["race"])

    def test_a_change_is_seen(self):
        (self.folder / "first.json").write_text(self.report("explain", "--json", "-")[1])
        (self.folder / "k.cu").write_text(KERNEL.replace("x[i] & 63", "x[i] % 2 * 32"))
        self.assertEqual(self.report("explain", "--baseline", "first.json")[0], 1)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
