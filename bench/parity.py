#!/usr/bin/env python3
"""Tilescope's counts beside Nsight Compute's, as two tables in Markdown, and whether they agree.

    bench/parity.py TILESCOPE [COUNTS.csv] [--update docs/parity.md]

COUNTS.csv is what bench/ncu_counts.sh wrote on a machine with a GPU (default: the stored one of an
H200). The emulator counts the same launches again, on any machine. Exit 1 when a bound is broken:
requests, sectors and FFMA of every rung must be equal, wavefronts and conflicts of shared memory
within 2% of the rung's wavefronts. --update writes the tables between the two marks of a document.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STORED = os.path.join(ROOT, "tests/data/ncu/matmul_h200.csv")
BEGIN, END = "<!-- parity: begin -->", "<!-- parity: end -->"
SHARED_BOUND = 0.02

WAVES = "l1tex__data_pipe_lsu_wavefronts_mem_shared"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared"
# Heading, ncu's metric, key of `explain --json`, whether it must be equal.
COUNTERS = [
    ("FFMA", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "ffma", True),
    ("DFMA", "smsp__sass_thread_inst_executed_op_dfma_pred_on.sum", "dfma", True),
    ("load req.", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "global_load_requests", True),
    ("load sect.", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "global_load_sectors", True),
    ("store req.", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "global_store_requests",
     True),
    ("store sect.", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "global_store_sectors",
     True),
    ("sh. load waves", f"{WAVES}_op_ld.sum", "shared_load_wavefronts", False),
    ("conflicts", f"{CONFLICTS}_op_ld.sum", "shared_load_conflicts", False),
    ("sh. store waves", f"{WAVES}_op_st.sum", "shared_store_wavefronts", False),
    ("conflicts", f"{CONFLICTS}_op_st.sum", "shared_store_conflicts", False),
]
ALL_WAVES = f"{WAVES}.sum"
BLOCK_SIZE = "launch__block_size"


def read_counts(path):
    """{(rung, m): {metric: value}} in the order of the file."""
    counts = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["rung"], int(row["m"]))
            counts.setdefault(key, {})[row["metric"]] = float(row["value"])
    return counts


def launch_of(rung, size, chip):
    """The arguments of `tilescope explain` for the launch that was measured."""
    if rung != "tiled_dynamic":
        return [f"matmul/{rung}", "--size", str(size)]
    # This rung asks the planner for its width, and planners change: take the width of the data.
    width = math.isqrt(int(chip[BLOCK_SIZE]))
    blocks = -(-size // width)
    array = f"f32[{size * size}]"
    return [os.path.join(ROOT, "kernels/matmul/11_tiled_dynamic.cu"), "--grid",
            f"{blocks},{blocks}", "--block", f"{width},{width}", "--shared",
            str(8 * width * width), "--arg", f"A={array}=random:1", "--arg",
            f"B={array}=random:2", "--arg", f"C={array}=zeros"] + ["--arg", f"i32:{size}"] * 3


def explain(tilescope, arguments):
    """The totals of `tilescope explain`, all launches of a run together, and how many those were."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts.json")
        done = subprocess.run([tilescope, "explain", *arguments, "--json", path],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"tilescope explain {' '.join(arguments)}: {done.stderr.strip()}")
        with open(path, encoding="utf-8") as file:
            counted = json.load(file)
    return {"launches": counted["launches"], "blocks": counted["blocks"], **counted["totals"]}


def cell(ours, chip):
    if ours == chip:
        return f"{ours:,.0f}"
    if chip == 0:
        return f"{ours:,.0f} / 0"
    return f"{ours:,.0f} / {chip:,.0f} ({100 * (ours - chip) / chip:+.2f}%)"


def compare(tilescope, counts):
    """(size, row of cells) of every rung, and the bounds that are broken."""
    rows, broken = [], []
    for (rung, size), chip in counts.items():
        totals = explain(tilescope, launch_of(rung, size, chip))
        cells = []
        for heading, metric, key, exact in COUNTERS:
            ours, theirs = totals[key], chip[metric]
            cells.append(cell(ours, theirs))
            allowed = 0 if exact else SHARED_BOUND * chip[ALL_WAVES]
            if abs(ours - theirs) > allowed:
                broken.append(f"{rung} at {size}: {key} is {ours:,}, ncu has {theirs:,.0f}")
        rows.append((size, [rung] + cells))
    return rows, broken


def put_between(path, begin, end, text):
    """Replaces what the document has between two marks."""
    with open(path, encoding="utf-8") as file:
        document = file.read()
    head, begun, rest = document.partition(begin)
    _, ended, tail = rest.partition(end)
    if not begun or not ended:
        sys.exit(f"{path}: the marks {begin} and {end} are not there")
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n" + text + end + tail)


def tables(rows):
    text = ""
    for size in sorted({size for size, _ in rows}, reverse=True):
        text += f"\n### {size} x {size} x {size}\n\n"
        text += "| rung | " + " | ".join(heading for heading, *_ in COUNTERS) + " |\n"
        text += "|---|" + "---:|" * len(COUNTERS) + "\n"
        for of_size, cells in rows:
            if of_size == size:
                text += "| " + " | ".join(cells) + " |\n"
    return text + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilescope")
    parser.add_argument("counts", nargs="?", default=STORED)
    parser.add_argument("--update", metavar="DOCUMENT")
    arguments = parser.parse_args()
    rows, broken = compare(arguments.tilescope, read_counts(arguments.counts))
    text = tables(rows)
    if arguments.update:
        put_between(arguments.update, BEGIN, END, text)
    else:
        print(text)
    equal = sum("/" not in cell for _, cells in rows for cell in cells[1:])
    print(f"{len(rows)} launches, {len(rows) * len(COUNTERS)} counts: {equal} equal, "
          f"{len(broken)} out of bounds", file=sys.stderr)
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
