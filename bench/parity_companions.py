#!/usr/bin/env python3
"""Tilescope's counts beside Nsight Compute's for the companion operations, as tables in Markdown.

    bench/parity_companions.py TILESCOPE [COUNTS.csv] [--update docs/parity.md]

COUNTS.csv is what bench/ncu_companions.sh wrote on a machine with a GPU (default: the stored one of
an H200). The emulator counts the same runs again, on any machine. Exit 1 when a bound is broken:
launches, blocks, FP32 operations, requests and sectors must be equal, wavefronts and conflicts of
shared memory within 2% of the rung's wavefronts. Runs whose deviation docs/parity.md explains are
held to it: only the counters named there may differ, and one that agrees again is reported, too.
--update writes the tables between the two marks of a document.
"""

import argparse
import csv
import os
import sys

from parity import ALL_WAVES, CONFLICTS, ROOT, SHARED_BOUND, WAVES, cell, explain, put_between

STORED = os.path.join(ROOT, "tests/data/ncu/companions_h200.csv")
BEGIN, END = "<!-- companions: begin -->", "<!-- companions: end -->"


def sass(operation):
    return f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum"


def l1(unit, operation):
    return f"l1tex__t_{unit}_pipe_lsu_mem_global_op_{operation}.sum"


# Heading, ncu's metric, key of `explain --json`, whether it must be equal.
COUNTERS = [
    ("launches", "launches", "launches", True),
    ("blocks", "launch__grid_size", "blocks", True),
    ("FFMA", sass("ffma"), "ffma", True),
    ("FADD", sass("fadd"), "fadd", True),
    ("FMUL", sass("fmul"), "fmul", True),
    ("load req.", l1("requests", "ld"), "global_load_requests", True),
    ("load sect.", l1("sectors", "ld"), "global_load_sectors", True),
    ("store req.", l1("requests", "st"), "global_store_requests", True),
    ("store sect.", l1("sectors", "st"), "global_store_sectors", True),
    ("atom req.", l1("requests", "atom"), "global_atomic_requests", True),
    ("atom sect.", l1("sectors", "atom"), "global_atomic_sectors", True),
    ("red req.", l1("requests", "red"), "global_reduction_requests", True),
    ("red sect.", l1("sectors", "red"), "global_reduction_sectors", True),
    ("sh. load waves", f"{WAVES}_op_ld.sum", "shared_load_wavefronts", False),
    ("conflicts", f"{CONFLICTS}_op_ld.sum", "shared_load_conflicts", False),
    ("sh. store waves", f"{WAVES}_op_st.sum", "shared_store_wavefronts", False),
    ("conflicts", f"{CONFLICTS}_op_st.sum", "shared_store_conflicts", False),
    ("sh. atom waves", f"{WAVES}_op_atom.sum", "shared_atomic_wavefronts", False),
    ("conflicts", f"{CONFLICTS}_op_atom.sum", "shared_atomic_conflicts", False),
]

# The deviations that docs/parity.md explains: (operation/rung, the options begin with) and keys.
EXPLAINED = {
    ("blur/separable", "-m 61 -n 77 --radius 5"): ("global_load_requests", "global_load_sectors"),
    ("laplacian/temporal", ""): ("ffma", "fmul"),
    ("histogram/sectioned", ""): ("global_reduction_sectors",),
    ("histogram/interleaved", ""): ("global_reduction_sectors",),
    ("reduce/modulo_tree", "--size 10007 --op argmax"): ("shared_store_wavefronts",
                                                            "shared_store_conflicts"),
}


def explained(rung, options, key):
    return any(rung == of and options.startswith(begin) and key in keys
               for (of, begin), keys in EXPLAINED.items())


def read_counts(path):
    """{(operation, rung, options): {metric: value}} in the order of the file."""
    counts = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["operation"], row["rung"], row["options"])
            counts.setdefault(key, {})[row["metric"]] = float(row["value"])
    return counts


def compare(tilescope, counts):
    """{problem: [(rung, [(ours, theirs) of every counter])]}, and the bounds that are broken."""
    problems, broken = {}, []
    for (operation, rung, options), chip in counts.items():
        totals = explain(tilescope, [f"{operation}/{rung}", *options.split()])
        pairs = []
        for _, metric, key, exact in COUNTERS:
            ours, theirs = totals[key], chip[metric]
            pairs.append((ours, theirs))
            allowed = 0 if exact else SHARED_BOUND * chip[ALL_WAVES]
            differs = abs(ours - theirs) > allowed
            if differs != explained(f"{operation}/{rung}", options, key):
                broken.append(f"{operation}/{rung} {options}: {key} is {ours:,}, "
                              f"ncu has {theirs:,.0f}"
                              + ("" if differs else ", and the difference explained is gone"))
        problems.setdefault(f"{operation} {options}", []).append((rung, pairs))
    return problems, broken


def tables(problems):
    text = ""
    for problem, rows in problems.items():
        # A counter that is 0 in all rungs of a problem needs no column.
        shown = [i for i in range(len(COUNTERS)) if any(any(pairs[i]) for _, pairs in rows)]
        text += f"\n### {problem}\n\n"
        text += "| rung | " + " | ".join(COUNTERS[i][0] for i in shown) + " |\n"
        text += "|---|" + "---:|" * len(shown) + "\n"
        for rung, pairs in rows:
            text += "| " + " | ".join([rung] + [cell(*pairs[i]) for i in shown]) + " |\n"
    return text + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilescope")
    parser.add_argument("counts", nargs="?", default=STORED)
    parser.add_argument("--update", metavar="DOCUMENT")
    arguments = parser.parse_args()
    problems, broken = compare(arguments.tilescope, read_counts(arguments.counts))
    if arguments.update:
        put_between(arguments.update, BEGIN, END, tables(problems))
    else:
        print(tables(problems))
    runs = [pairs for rows in problems.values() for _, pairs in rows]
    equal = sum(ours == theirs for pairs in runs for ours, theirs in pairs)
    print(f"{len(runs)} runs, {len(runs) * len(COUNTERS)} counts: {equal} equal, "
          f"{len(broken)} out of bounds", file=sys.stderr)
    for line in broken:
        print(line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
