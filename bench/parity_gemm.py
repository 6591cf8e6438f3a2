#!/usr/bin/env python3
"""Tilescope's counts beside Nsight Compute's for the GEMM rungs, as tables in Markdown.

    bench/parity_gemm.py TILESCOPE [COUNTS.csv] [--update docs/parity.md]

COUNTS.csv is what bench/ncu_gemm.sh wrote on a machine with a GPU (default: the stored one of an
H200). The emulator counts the same runs again, on any machine. The bounds are in
tests/observe/gemm_counts_test.cpp; this only shows. --update writes the tables between the two
marks of a document.
"""

import argparse
import csv
import os

from parity import CONFLICTS, ROOT, WAVES, cell, explain, put_between

STORED = os.path.join(ROOT, "tests/data/ncu/gemm_h200.csv")
BEGIN, END = "<!-- gemm: begin -->", "<!-- gemm: end -->"
LSU = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
LOADED = "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld_dest_"

# Heading, ncu's metrics (added up), key of `explain --json`.
COUNTERS = [
    ("FFMA", ["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"], "ffma"),
    ("tensor instr.", ["sm__inst_executed_pipe_tensor_op_gmma.sum"], "tensor_instructions"),
    ("tensor op.", ["sm__ops_path_tensor.sum"], "tensor_flops"),
    ("wgmma waves", [f"{WAVES}_op_gmma.sum"], "tensor_shared_wavefronts"),
    ("load req.", [LSU.format("requests", "ld")], "global_load_requests"),
    ("load sect.", [LSU.format("sectors", "ld")], "global_load_sectors"),
    ("store req.", [LSU.format("requests", "st")], "global_store_requests"),
    ("store sect.", [LSU.format("sectors", "st")], "global_store_sectors"),
    ("bulk loads", ["smsp__inst_executed_op_tma_ld.sum"], "bulk_load_requests"),
    ("sect.", [LOADED + "self.sum", LOADED + "multicast.sum"], "bulk_load_sectors"),
    ("bulk stores", ["smsp__inst_executed_op_tma_st.sum"], "bulk_store_requests"),
    ("sect.", ["l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum"],
     "bulk_store_sectors"),
    ("sh. load waves", [f"{WAVES}_op_ld.sum"], "shared_load_wavefronts"),
    ("conflicts", [f"{CONFLICTS}_op_ld.sum"], "shared_load_conflicts"),
    ("sh. store waves", [f"{WAVES}_op_st.sum"], "shared_store_wavefronts"),
    ("conflicts", [f"{CONFLICTS}_op_st.sum"], "shared_store_conflicts"),
]


def read_counts(path):
    """{(rung, precision, m, n, k): {metric: value}} in the order of the file."""
    counts = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = tuple(row[name] for name in ("rung", "precision", "m", "n", "k"))
            counts.setdefault(key, {})[row["metric"]] = int(row["value"])
    return counts


def chips(counts, metrics, rung):
    if rung == "mma_sync":  # one warp at a time
        metrics = [metric.replace("tensor_op_gmma", "tensor_op_hmma") for metric in metrics]
    return sum(counts.get(metric, 0) for metric in metrics)


def table(tilescope, precision, rows):
    """`rows`: those of one precision, (rung, m, n, k) and the chip's counts."""
    lines = []
    for (rung, m, n, k), counts in rows:
        ours = explain(tilescope, [f"matmul/{rung}", "--precision", precision, "-m", m, "-n", n,
                                   "-k", k, "--device", "emulated:h200"])
        pairs = [(ours[key], chips(counts, metrics, rung)) for _, metrics, key in COUNTERS]
        lines.append((f"{rung}, {m} x {n} x {k}", pairs))
    kept = [i for i in range(len(COUNTERS)) if any(any(pairs[i]) for _, pairs in lines)]
    text = ["| rung | " + " | ".join(COUNTERS[i][0] for i in kept) + " |",
            "|---|" + "---:|" * len(kept)]
    for name, pairs in lines:
        text.append(f"| {name} | " + " | ".join(cell(*pairs[i]) for i in kept) + " |")
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tilescope")
    parser.add_argument("counts", nargs="?", default=STORED)
    parser.add_argument("--update", metavar="DOCUMENT")
    arguments = parser.parse_args()
    by_precision = {}
    for (rung, precision, *size), counts in read_counts(arguments.counts).items():
        by_precision.setdefault(precision, []).append(((rung, *size), counts))
    text = "\n\n".join(f"### {precision}\n\n{table(arguments.tilescope, precision, rows)}"
                       for precision, rows in by_precision.items())
    if arguments.update:
        put_between(arguments.update, BEGIN, END, text)
    else:
        print(text)


if __name__ == "__main__":
    main()
