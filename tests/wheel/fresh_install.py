"""Installs wheels in fresh environments, with nothing but the package index, and finds a race.

    python3 tests/wheel/fresh_install.py dist/tilescope-*.whl

Each wheel is tried with each Python of this machine that it serves, with one at least. No compiler,
no toolkit and no other Tilescope is in reach: PATH has the environment alone, HOME is empty. From
nothing to the first finding in a minute, and again within half a second. Prints the times; ends
with 1 if a claim does not hold.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

RACE = """__global__ void turn(int* d, int n) {
  __shared__ int s[64];
  int t = threadIdx.x, tr = n - t - 1;
  s[t] = d[t];
  d[t] = s[tr];
}
"""
LAUNCH = ["--grid", "1", "--block", "64", "--arg", "i32[64]=iota", "--arg", "i32:64"]
MOST_SECONDS, MOST_WARM_SECONDS = 60.0, 0.5

PRODUCT = """
import numpy, sys, tilescope
a = numpy.arange(12, dtype="float32").reshape(3, 4)
assert (tilescope.matmul(a, a.T) == a @ a.T).all()
print(tilescope.__version__, "with Python", sys.version.split()[0])
"""


FIND_PYTHONS = pathlib.Path(__file__).parents[2] / "tools" / "find_pythons.sh"


def pythons():
    """The interpreters of this machine by the minor number of their series."""
    found = subprocess.run([FIND_PYTHONS], capture_output=True, text=True, check=True)
    print_series = "import sys; print(sys.version_info[1])"
    return {int(subprocess.check_output([python, "-c", print_series])): python
            for python in found.stdout.split("\n") if python}


def serves(wheel, minor):
    """Whether the wheel's tag fits Python 3.MINOR."""
    built_for, interface = re.search(r"-cp3(\d+)-(\w+)-", os.path.basename(wheel)).groups()
    return minor >= int(built_for) if interface == "abi3" else minor == int(built_for)


def try_wheel(wheel, python):
    """In one environment: installs, finds, finds again, multiplies. Prints the times."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.monotonic()
        environment = os.path.join(folder, "environment")
        subprocess.run([python, "-m", "venv", environment], check=True)
        programs = os.path.join(environment, "bin")
        variables = {"PATH": programs, "HOME": folder, "TILESCOPE_CUDA": "wheels"}

        def run(*words):
            return subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True,
                                  check=False)

        installed = run(os.path.join(programs, "python"), "-m", "pip", "install", "--quiet",
                        "--disable-pip-version-check", wheel + "[cu13]")
        if installed.returncode != 0:
            sys.exit("pip failed: " + installed.stderr)
        with open(os.path.join(folder, "race.cu"), "w", encoding="utf-8") as file:
            file.write(RACE)
        command = [os.path.join(programs, "tilescope"), "check", "race.cu", *LAUNCH]
        found = run(*command)
        first = time.monotonic() - begin
        if found.returncode != 1 or "race at race.cu:4 and 5" not in found.stdout:
            sys.exit(f"no race found: {found.returncode}: {found.stdout}{found.stderr}")
        warm = []
        for _ in range(5):
            begin = time.monotonic()
            again = run(*command)
            warm.append(time.monotonic() - begin)
            if again.returncode != 1 or again.stdout != found.stdout:
                sys.exit(f"another answer the second time: {again.stdout}{again.stderr}")
        product = run(os.path.join(programs, "python"), "-c", PRODUCT)
        if product.returncode != 0:
            sys.exit("the module: " + product.stderr)
        print(f"tilescope {product.stdout.strip()}: first finding after {first:.1f} s, "
              f"again after {sorted(warm)[2]:.2f} s", flush=True)
        if first > MOST_SECONDS or sorted(warm)[2] > MOST_WARM_SECONDS:
            sys.exit(f"at most {MOST_SECONDS:.0f} s and {MOST_WARM_SECONDS} s are promised")


def main(wheels):
    here = pythons()
    for wheel in map(os.path.abspath, wheels):
        served = [minor for minor in sorted(here) if serves(wheel, minor)]
        if not served:
            sys.exit(f"{os.path.basename(wheel)}: no Python of this machine takes it")
        for minor in served:
            try_wheel(wheel, here[minor])


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: fresh_install.py WHEEL...")
    main(sys.argv[1:])
