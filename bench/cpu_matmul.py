#!/usr/bin/env python3
"""The CPU path beside NumPy, and the start of the command. Needs a Python with NumPy.
Usage: bench/cpu_matmul.py TILESCOPE_BINARY [N]

Both multiply the same float32 matrices of N x N (2,000 by default), with as many BLAS threads as
there are cores, in turns; the median of 9. The bars are 1.2 times NumPy's time and 20 ms."""

import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def median(values):
    return sorted(values)[len(values) // 2]


def main():
    tilescope = os.path.abspath(sys.argv[1])
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
    random = np.random.default_rng(1)
    a, b = (random.uniform(-1, 1, (n, n)).astype(np.float32) for _ in range(2))
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder:
        np.save(folder + "/a.npy", a)
        np.save(folder + "/b.npy", b)
        a @ b  # starts BLAS's threads
        for _ in range(9):
            start = time.perf_counter()
            a @ b
            theirs.append((time.perf_counter() - start) * 1e3)
            time.sleep(0.3)  # BLAS's threads keep the cores busy while they wait for more
            report = subprocess.run(
                [tilescope, "matmul", "a.npy", "b.npy", "-o", "c.npy", "--device", "cpu", "--json",
                 "-"], cwd=folder, check=True, stdout=subprocess.PIPE)
            ours.append(json.loads(report.stdout)["time_ms"])
    starts = []
    for _ in range(41):
        start = time.perf_counter()
        subprocess.run([tilescope, "--help"], check=True, stdout=subprocess.DEVNULL)
        starts.append((time.perf_counter() - start) * 1e3)
    ratio = median(ours) / median(theirs)
    print(f"{n} x {n} float32: {median(ours):.1f} ms, NumPy {median(theirs):.1f} ms, "
          f"ratio {ratio:.2f} (bar 1.2)")
    print(f"--help: {median(starts):.1f} ms (bar 20)")
    return 0 if ratio <= 1.2 and median(starts) <= 20 else 1


if __name__ == "__main__":
    sys.exit(main())
