"""`tilescope check --schedules`: kernels in order_dependent/ leave another result in another order,
and are found; correct kernels, rungs and programs are silent in 20 orders, or in `--orders N`.

The second line of a kernel in order_dependent/ is its launch. `--all` takes every correct kernel
there is, on all cores or in `--processes N` (make schedules); otherwise some of them, one by one.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from case_options import ALL

PROGRAM = os.environ.get("TILESCOPE", "tilescope")

ORDERS = 20  # of each correct kernel; or --orders N

# Rungs and their options; a group a line.
RUNGS = """
    matmul/exchanged_16 matmul/tiled_16 matmul/tiled_padded_32 matmul/corner_turning_32 --size 64
    matmul/gemv -m 100 -n 1 -k 100
    matmul/register_tile_1d matmul/register_tile_2d matmul/vector_loads matmul/double_buffered
        matmul/warp_tiles matmul/general matmul/ffma_tiles --size 100
    matmul/wgmma matmul/wgmma_stages matmul/specialised matmul/persistent matmul/cluster
        matmul/tensor_tiles matmul/mma_sync --precision bf16 --size 192
    matmul/unaligned_rows --precision bf16 -m 127 -n 191 -k 136
    matmul/narrow_tiles --precision bf16 -m 32 -n 192 -k 4096
    matmul/register_operand --precision tf32 --size 192
    matmul/split_tiles --precision fp32_fast --size 192
    reduce/modulo_tree reduce/halving_tree reduce/first_add reduce/shuffles reduce/vector
        reduce/one_pass reduce/fixed_order histogram/sectioned histogram/block_private
        histogram/copies histogram/vector histogram/lane_columns transpose/tiled transpose/padded transpose/vector
        blur/tiled blur/separable blur/running_sums blur/ring laplacian/tiled laplacian/marching
        laplacian/temporal reverse/shared reverse/in_place reverse/vector saxpb/grid_stride
        saxpb/in_flight scale/in_flight vector_add/in_flight
"""

# Correct kernels whose results depend on the order on purpose.
MEANT = {"cured/endless_wait",  # says whether it had to wait
         "silent/atomic_ref"}   # raises what it counts to three


def rungs():
    for group in re.sub(r"\n {8}", " ", RUNGS).strip().splitlines():
        names, options = re.fullmatch(r"([^-]*)(.*)", group.strip()).groups()
        for name in names.split():
            yield name, [name, *options.split()]


def check(*arguments, timeout=600):
    with tempfile.TemporaryDirectory() as place:  # some programs write files
        return subprocess.run([PROGRAM, "check", *map(str, arguments)], capture_output=True,
                              text=True, timeout=timeout, check=False, cwd=place)


def launch_of(kernel):
    line = kernel.read_text().splitlines()[1]
    return line.removeprefix("// launch: ").split()


def reports(done):
    return json.loads(done.stdout)["reports"]


class OrderDependent(unittest.TestCase):
    def test_there_are_enough(self):
        self.assertGreaterEqual(len(list(HERE.glob("order_dependent/*.cu"))), 30)

    def test_one_schedule_repeats_what_was_found(self):
        kernel = HERE / "order_dependent/missing_barrier.cu"
        launch = launch_of(kernel)
        found = [r for r in reports(check(kernel, *launch, "--schedules", 8, "--json", "-"))
                 if r["kind"] == "race"]
        self.assertTrue(found)
        for seed in found[0]["schedules"]:
            alone = reports(check(kernel, *launch, "--schedule", seed, "--json", "-"))
            self.assertIn("race", [r["kind"] for r in alone])

    def test_every_run_says_the_same(self):
        kernel = HERE / "order_dependent/stencil_of_blocks.cu"
        texts = {check(kernel, *launch_of(kernel), "--schedules", 12).stdout for _ in range(3)}
        self.assertEqual(len(texts), 1)

    def test_options_are_checked(self):
        for options in (["--schedules", "0"], ["--schedules", "4", "--schedule", "2"]):
            done = check("reduce/one_pass", *options)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)


def add_dependent(kernel):
    def found(self):
        done = check(kernel, *launch_of(kernel), "--schedules", 32, "--json", "-")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        results = [r for r in reports(done) if r["kind"] == "order-dependent-result"]
        self.assertTrue(results, [r["kind"] for r in reports(done)])
        for report in results:
            self.assertEqual(report["severity"], "warning")
            self.assertGreater(report["line"], 0)
            self.assertNotIn(0, report["schedules"])

    setattr(OrderDependent, f"test_{kernel.stem}", found)


class Silent(unittest.TestCase):
    """Correct kernels; notes are no defects."""

    processes = 0  # 0: each test runs its kernel itself
    kernels = {}   # name: arguments of `check`
    runs = {}      # name: the future of its run

    @classmethod
    def setUpClass(cls):
        if cls.processes == 0:
            return
        pool = concurrent.futures.ThreadPoolExecutor(cls.processes)
        cls.addClassCleanup(pool.shutdown, cancel_futures=True)
        ended = itertools.count(1)

        def tell(_):
            done = next(ended)
            if done % 20 == 0 or done == len(cls.kernels):
                print(f"{done} of {len(cls.kernels)} kernels ran", file=sys.stderr, flush=True)

        # Programs and rungs, at the end of the list, take longest.
        for name in reversed(cls.kernels):
            cls.runs[name] = pool.submit(run_in_orders, cls.kernels[name])
            cls.runs[name].add_done_callback(tell)


def run_in_orders(arguments):
    limit = [] if "--max-instructions" in arguments else ["--max-instructions", 20_000_000]
    return check(*arguments, "--schedules", ORDERS, *limit)


def add_silent(name, arguments):
    def silent(self):
        run = self.runs.get(name)
        done = run.result() if run else run_in_orders(arguments)
        if done.returncode == 2 and re.search("needs? a real GPU", done.stderr):
            self.skipTest(done.stderr)
        if name in MEANT:
            self.assertRegex(done.stdout, "(?m)^warning: order-dependent-result")
            self.assertNotRegex(done.stdout, "(?m)^error:")
            return
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    Silent.kernels[name] = arguments
    setattr(Silent, f"test_{name.replace('/', '_')}", silent)


def correct():
    """Names and arguments of `check` of all correct kernels and programs."""
    for folder in sorted(path.parent for path in HERE.glob("silent/*/kernel.cu")):
        yield f"silent/{folder.name}", [folder / "kernel.cu", "--launch", folder / "launch.json"]
    for folder in sorted(path.parent for path in HERE.glob("*/cured.cu")):
        launch = next(folder / name for name in ("cured.json", "launch.json")
                      if (folder / name).exists())
        options = folder / "options.txt"
        more = options.read_text().split() if options.exists() else []
        if "--schedules" in more:
            continue
        yield f"cured/{folder.name}", [folder / "cured.cu", "--launch", launch, *more]
    yield from rungs()
    for program in sorted((HERE.parent / "programs").glob("*/good.cu")):
        expect = json.loads((program.parent / "expect.json").read_text())
        if not expect.get("sources") and expect.get("launches") != 0:
            yield f"programs/{program.parent.name}", [program, *expect.get("options", [])]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--orders", type=int, default=ORDERS)
    options, sys.argv[1:] = parser.parse_known_args()
    ORDERS = options.orders
    if ALL:
        Silent.processes = options.processes
    for each in sorted(HERE.glob("order_dependent/*.cu")):
        add_dependent(each)
    for index, (name, arguments) in enumerate(correct()):
        if ALL or (name.startswith("silent/") and index % 3 == 2):
            add_silent(name, arguments)
    unittest.main()
