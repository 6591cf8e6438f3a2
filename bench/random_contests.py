#!/usr/bin/env python3
"""Products drawn at random, by one build or two, and what follows from their JSON.

    bench/random_contests.py run FOLDER AFTER [BEFORE] fp32:8:68001 bf16:1:68301 [--gpus 2]
    bench/random_contests.py table FOLDER
    bench/random_contests.py losses PLANS.json...

AFTER and BEFORE are programs build/bench/products. A contest is PRECISION:ALIGNED:SEED; what stands
behind `--` goes to every one, such as `-- --k-range 16:260`. `run` compiles each contest's kernels
first (--samples 1), several contests at once, then measures contest by contest on each of the first
--gpus GPUs, both builds right behind each other on one GPU and in turns of order, and prints the
table of FOLDER's JSON.

`table` compares the products that both builds have and cuBLAS computed right: the geometric mean of
cuBLAS's time over ours, the number below 0.9, the least. `losses` reads what `products --plans --json`
wrote: how much longer the library's choice, the first plan, takes than the fastest one."""

import argparse
import concurrent.futures
import glob
import json
import os
import subprocess
import sys
from statistics import geometric_mean


def form_of(row):
    batch = f" {row['batch']} times" if row["batch"] > 1 else ""
    return f"{row['m']:,} x {row['n']:,} x {row['k']:,} {row['form']}{batch}"


def ratios(path):
    """cuBLAS's time over ours, by product. Wrong results of ours are an error."""
    with open(path) as file:
        rows = [row for row in json.load(file) if row["dispatched"] and not row["trouble"]]
    wrong = [form_of(row) for row in rows if row["wrong"]]
    if wrong:
        sys.exit(f"{path}: {len(wrong)} wrong results, such as {wrong[0]}")
    return {form_of(row): row["ratio"] for row in rows if row["ratio"]}


def products_command(program, contest, options, path):
    precision, aligned, seed = contest.split(":")
    return [program, "--precision", precision, "--aligned", aligned, "--seed", seed, "--random",
            str(options.random), *options.more, "--json", path]


def compile_kernels(program, contest, options, gpu):
    command = products_command(program, contest, options, os.devnull)
    subprocess.run([*command, "--samples", "1", "--budget", "1"], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, env=dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu)),
                   timeout=options.timeout * 10)


def measure(program, contest, options, gpu, path):
    command = products_command(program, contest, options, path)
    command += ["--budget", str(options.budget), "--seconds", str(options.seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu)),
                          timeout=options.timeout)
    if done.returncode not in (0, 1):  # 1: a wrong result, which the table tells
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}")


def run(options):
    os.makedirs(options.folder, exist_ok=True)
    builds = {"after": options.after}
    if ":" not in options.contests[0]:
        builds["before"] = options.contests.pop(0)
    jobs = [(program, contest) for contest in options.contests for program in builds.values()]
    with concurrent.futures.ThreadPoolExecutor(max(os.cpu_count() // 2, 1)) as pool:
        list(pool.map(lambda job: compile_kernels(job[1][0], job[1][1], options,
                                                  job[0] % options.gpus), enumerate(jobs)))

    def on_gpu(gpu):
        for number, contest in enumerate(options.contests[gpu::options.gpus]):
            for name in sorted(builds, reverse=number % 2 == 0):
                path = os.path.join(options.folder, contest.replace(":", "_") + f".{name}.json")
                measure(builds[name], contest, options, gpu, path)

    with concurrent.futures.ThreadPoolExecutor(options.gpus) as pool:
        list(pool.map(on_gpu, range(options.gpus)))
    table(options)


def table(options):
    print("| precision | aligned | seed | before | after | products | below 0.9 | least, after |")
    print("|---|---|---|---|---|---|---|---|")
    for path in sorted(glob.glob(os.path.join(options.folder, "*.after.json"))):
        after, before = ratios(path), {}
        path_before = path.replace(".after.json", ".before.json")
        if os.path.exists(path_before):
            before = ratios(path_before)
            after = {form: ratio for form, ratio in after.items() if form in before}
            before = {form: before[form] for form in after}
        if not after:
            sys.exit(f"{path}: no product with a ratio")
        columns = os.path.basename(path).removesuffix(".after.json").rsplit("_", 2)
        columns.append(f"{geometric_mean(before.values()):.3f}" if before else "")
        columns += [f"{geometric_mean(after.values()):.3f}", str(len(after)),
                    ", ".join(str(sum(ratio < 0.9 for ratio in of.values()))
                              for of in (before, after) if of)]
        least = min(after, key=after.get)
        print(f"| {' | '.join(columns)} | {after[least]:.3f} ({least}) |")


def losses(options):
    print("| precision | products | the choice loses | the choice below 0.9 | the fastest below 0.9 |")
    print("|---|---|---|---|---|")
    by_precision = {}
    for path in options.plans:
        with open(path) as file:
            for row in json.load(file):
                by_precision.setdefault(row["precision"], []).append(row)
    for precision, rows in by_precision.items():
        rows = [row for row in rows if "ms" in row["plans"][0]]  # none if it could not be timed
        chosen = [row["plans"][0]["ms"] for row in rows]
        fastest = [min(plan["ms"] for plan in row["plans"] if "ms" in plan) for row in rows]
        loss = geometric_mean([c / f for c, f in zip(chosen, fastest)]) - 1
        below = [sum(row["cublas_ms"] < 0.9 * ms for row, ms in zip(rows, times)
                     if row.get("cublas_ms")) for times in (chosen, fastest)]
        print(f"| {precision} | {len(rows)} | {loss:.1%} | {below[0]} | {below[1]} |")


def main():
    arguments, more = sys.argv[1:], []
    if "--" in arguments:
        cut = arguments.index("--")
        arguments, more = arguments[:cut], arguments[cut + 1:]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.set_defaults(act=run, more=more)
    running.add_argument("folder")
    running.add_argument("after")
    running.add_argument("contests", nargs="+", help="[BEFORE] PRECISION:ALIGNED:SEED ...")
    running.add_argument("--gpus", type=int, default=1)
    running.add_argument("--random", type=int, default=40)
    running.add_argument("--budget", type=float, default=30)
    running.add_argument("--seconds", type=float, default=14)
    running.add_argument("--timeout", type=float, default=60)
    of_folder = commands.add_parser("table")
    of_folder.set_defaults(act=table)
    of_folder.add_argument("folder")
    of_plans = commands.add_parser("losses")
    of_plans.set_defaults(act=losses)
    of_plans.add_argument("plans", nargs="+")
    options = parser.parse_args(arguments)
    options.act(options)


if __name__ == "__main__":
    main()
