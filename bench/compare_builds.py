#!/usr/bin/env python3
"""Is one build of Tilescope as fast as another? Measures both in turns on one machine and prints
medians and their ratio, group by group:

    instructions  what the emulator executes for a launch, counted by valgrind (no noise)
    emulator      CPU time of launches on one host thread
    start-up      time until small commands have ended
    products      products on the GPU, as the library dispatches them

    bench/compare_builds.py BASE_BUILD NEW_BUILD [--groups G ...] [--rounds N] [--json FILE]

Both folders are built with -DTILESCOPE_BUILD_BENCHMARKS=ON. A ratio of 1.02 says that the new build
takes 2% more; the last column is the ratio of the best rounds. Exit code 1 if the geometric mean of
a group is above --most (1.02).
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

RUNGS = ["global_accumulator", "tiled_16", "register_tile_2d", "warp_tiles"]
WATCHES = ["nobody", "counts", "checks"]
SHAPES = ["1024x1024x1024", "4096x4096x4096", "8192x8192x8192", "1000x1000x1000", "1023x1023x1023",
          "127x8190x4001"]
UNITS = {"instructions": "millions"}  # else ms


def instructions(build, cache):
    """Millions of host instructions of one launch each, products of 64 x 64. Valgrind's CPU has no
    AVX-512: lanes run as x86-64-v3."""
    counts = {}
    environment = dict(os.environ, TILESCOPE_CACHE=cache, TILESCOPE_BENCH_SIZE="64")
    for name in (f"{rung}/{watch}" for rung in RUNGS for watch in WATCHES):
        command = [f"{build}/bench/emulator_speed", f"--benchmark_filter=^{name}$",
                   "--benchmark_format=json", "--benchmark_min_time=0.000001"]
        # Once without valgrind: it compiles the kernel, which valgrind would do in minutes.
        subprocess.run(command, check=True, capture_output=True, env=environment)
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             # The whole name: those of its lambdas begin with it and would end the collection.
             "--toggle-collect=tilescope::emulator::Machine::launch(*LaunchOptions const&)",
             *command],
            check=True, capture_output=True, text=True, env=environment)
        launches = json.loads(run.stdout)["benchmarks"][0]["iterations"]
        collected = re.search(r"Collected : (\d+)", run.stderr)
        counts[name] = int(collected[1]) / launches / 1e6
    return counts


def emulator(build, cache):
    """Milliseconds of CPU time of each benchmark of the emulator."""
    run = subprocess.run(
        [f"{build}/bench/emulator_speed", f"--benchmark_filter=({'|'.join(RUNGS)})/",
         "--benchmark_format=json", "--benchmark_min_time=0.5"],
        check=True, capture_output=True, text=True, env=dict(os.environ, TILESCOPE_CACHE=cache))
    return {row["name"].split("/iterations")[0]: row["cpu_time"]
            for row in json.loads(run.stdout)["benchmarks"]}


def start_up(build, cache):
    """Milliseconds until small commands have ended, best of six; kernels are compiled before."""
    environment = dict(os.environ, TILESCOPE_CACHE=cache)
    commands = {"version": ["--version"], "help": ["ladder", "--help"],
                "occupancy": ["occupancy", "--gpu", "H200", "--threads", "256", "--registers", "32"],
                "explain": ["explain", "matmul/tiled_16", "--size", "32"]}
    times = {}
    for name, arguments in commands.items():
        best = math.inf
        for _ in range(6):
            begin = time.perf_counter()
            subprocess.run([f"{build}/tilescope", *arguments], check=True, env=environment,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            best = min(best, time.perf_counter() - begin)
        times[name] = best * 1e3
    return times


def products(build, cache):
    """Milliseconds of products on the GPU, as the library dispatches them."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        arguments = [word for shape in SHAPES for word in ("--shape", shape)]
        subprocess.run([f"{build}/bench/products", "--device", "cuda", *arguments,
                        "--json", file.name], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, TILESCOPE_CACHE=cache))
        rows = json.load(open(file.name, encoding="utf-8"))
    return {f"{row['precision']} {row['m']}x{row['n']}x{row['k']}": row["ms"]
            for row in rows if not row["peer"] and "ms" in row}


GROUPS = {"instructions": instructions, "emulator": emulator, "start-up": start_up,
          "products": products}


def measure(group, builds, rounds):
    """{benchmark: ([base's values], [new's values])}, the builds in turns."""
    values = {}
    rounds = 1 if group == "instructions" else rounds
    with tempfile.TemporaryDirectory() as caches:
        for turn in range(rounds):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                for name, value in GROUPS[group](builds[side], f"{caches}/{side}").items():
                    values.setdefault(name, ([], []))[side].append(value)
    return values


def report(group, rounds, values):
    """Prints the group's table; returns the geometric mean of its ratios."""
    unit = UNITS.get(group, "ms")
    print(f"\n{group}\n\n| | before {unit} | after {unit} | ratio | best |\n|---|---|---|---|---|")
    ratios = []
    for name, (base, new) in values.items():
        before, after = statistics.median(base), statistics.median(new)
        ratios.append(after / before)
        print(f"| {name} | {before:.3f} | {after:.3f} | {ratios[-1]:.3f} "
              f"| {min(new) / min(base):.3f} |")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\n{group}: geometric mean {mean:.3f}, greatest {max(ratios):.3f}, {rounds} rounds")
    return mean


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--groups", nargs="+", choices=GROUPS,
                        default=["instructions", "emulator", "start-up"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--most", type=float, default=1.02)
    parser.add_argument("--json", help="every value")
    options = parser.parse_args()
    everything, slower = {}, False
    for group in options.groups:
        values = everything[group] = measure(group, (options.base, options.new), options.rounds)
        slower |= report(group, len(next(iter(values.values()))[0]), values) > options.most
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(everything, file, indent=1)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
