#!/usr/bin/env python3
"""Is one build of Tilescope as fast as another? Runs both in turns on one machine and prints the
ratio of their best times: the emulator, start-up, and, with a GPU, products.

    bench/compare_builds.py BASE_BUILD NEW_BUILD [--rounds N] [--products] [--json FILE]

Both folders are built with -DTILESCOPE_BUILD_BENCHMARKS=ON. A ratio of 1.02 says that the new build
takes 2% longer. Exit code 1 if the geometric mean of a group is above --most (1.02).
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

RUNGS = "global_accumulator/|tiled_16/|register_tile_2d/|warp_tiles/"
SHAPES = ["1024x1024x1024", "4096x4096x4096", "8192x8192x8192", "1000x1000x1000", "1023x1023x1023",
          "127x8190x4001"]


def emulator(build):
    """Best milliseconds of CPU time of each benchmark of the emulator."""
    run = subprocess.run(
        [f"{build}/bench/emulator_speed", f"--benchmark_filter={RUNGS}",
         "--benchmark_format=json", "--benchmark_min_time=0.5"],
        check=True, capture_output=True, text=True)
    return {"emulator " + row["name"].split("/iterations")[0]: row["cpu_time"]
            for row in json.loads(run.stdout)["benchmarks"]}


def start_up(build, cache):
    """Milliseconds until small commands have ended; kernels are compiled before."""
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
        times["start-up " + name] = best * 1e3
    return times


def products(build, cache):
    """Milliseconds of products on the GPU, as the library dispatches them."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        arguments = [word for shape in SHAPES for word in ("--shape", shape)]
        subprocess.run([f"{build}/bench/products", "--device", "cuda", *arguments,
                        "--json", file.name], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, TILESCOPE_CACHE=cache))
        rows = json.load(open(file.name, encoding="utf-8"))
    return {f"products {row['precision']} {row['m']}x{row['n']}x{row['k']}": row["ms"]
            for row in rows if not row["peer"] and "ms" in row}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--products", action="store_true", help="on the GPU too")
    parser.add_argument("--most", type=float, default=1.02)
    parser.add_argument("--json", help="every best time")
    options = parser.parse_args()
    best = {"base": {}, "new": {}}
    with tempfile.TemporaryDirectory() as caches:
        for turn in range(options.rounds):
            builds = [("base", options.base), ("new", options.new)]
            for name, build in builds if turn % 2 == 0 else reversed(builds):
                times = {**emulator(build), **start_up(build, f"{caches}/{name}")}
                if options.products:
                    times.update(products(build, f"{caches}/{name}"))
                for what, time_ms in times.items():
                    best[name][what] = min(time_ms, best[name].get(what, math.inf))
    groups = {}
    print(f"{'':<52} {'base ms':>10} {'new ms':>10} {'ratio':>6}")
    for what, base_ms in best["base"].items():
        new_ms = best["new"][what]
        groups.setdefault(what.split()[0], []).append(new_ms / base_ms)
        print(f"{what:<52} {base_ms:>10.3f} {new_ms:>10.3f} {new_ms / base_ms:>6.3f}")
    slower = False
    for group, ratios in groups.items():
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        slower |= mean > options.most
        print(f"{group}: geometric mean {mean:.3f}, greatest {max(ratios):.3f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(best, file, indent=1)
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
