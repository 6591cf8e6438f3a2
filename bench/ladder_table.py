#!/usr/bin/env python3
"""Turn the JSON of `tilescope ladder` into a Markdown table. Usage: ladder_table.py FILE.json ..."""
import json
import sys


def rate(value):
    for unit, scale in (("TFLOP/s", 1e12), ("GFLOP/s", 1e9)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g} FLOP/s"


def table(report):
    lines = [
        f"### {report['size']} on {report['device']['name']}",
        "",
        "| rung | median ms | fastest - slowest | rate | x cuBLAS | max error |",
        "|---|---|---|---|---|---|",
    ]
    for rung in report["rungs"]:
        if rung["verdict"] != "ok":
            lines.append(f"| {rung['name']} | {rung['verdict']}: {rung['reason']} | | | | |")
            continue
        lines.append(
            f"| {rung['name']} | {rung['time_ms']:.4g} "
            f"| {rung['fastest_ms']:.4g} - {rung['slowest_ms']:.4g} "
            f"| {rate(rung['flops_per_second'])} | {rung.get('speed_over_peer', 0):.3f} "
            f"| {rung['max_error']:.2e} |"
        )
    return "\n".join(lines) + "\n"


for path in sys.argv[1:]:
    with open(path) as file:
        print(table(json.load(file)))
