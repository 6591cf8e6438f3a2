#!/usr/bin/env python3
"""One Markdown table of the ladders that bench/companions.sh has left in a folder, each rung beside
its peer and the copy, and the bars beside the rungs they are for.
Usage: companions_table.py FOLDER"""
import json
import pathlib
import re
import sys

# Name of the ladder, rung, and what it must reach: over the peer, the copy, or another rung.
BARS = [
    (r"(saxpb|vector_add)_2p28|scale_16384", "in_flight", {"peer": 1.0, "copy": 0.97}),
    (r"reduce_2p(28|30)", "one_pass", {"peer": 1.0}),
    (r"reduce_2p(16|20|24)", "one_pass", {"peer": 1.2}),
    (r"histogram_2p30_random", "byte_columns", {"peer": 1.5}),
    (r"histogram_2p30_(constant|zipf|sorted)", "byte_columns", {"peer": 1.0}),
    (r"histogram_\d+_bins", "lane_columns", {"peer": 2.0}),
    (r"transpose_16384", "vector", {"copy": 0.92}),
    (r"reverse_2p28", "vector", {"copy": 0.95}),
    (r"laplacian_16384", "marching", {"copy": 0.95}),
    (r"laplacian_8192_64_steps", "temporal", {"marching": 2.5}),
    (r"blur_8192_radius_[15]", "ring", {"copy": 0.8}),
]


def bars_of(name, rung):
    for pattern, bar_rung, bars in BARS:
        if rung == bar_rung and re.fullmatch(pattern, name):
            return bars
    return {}


def reached(rung, yardstick, report):
    if yardstick in ("peer", "copy"):
        return rung.get(f"speed_over_{yardstick}")
    for other in report["rungs"]:
        if other["name"] == yardstick and other["time_ms"]:
            return other["time_ms"] / rung["time_ms"]
    return None


def judged(rung, name, report):
    texts = []
    for yardstick, bar in bars_of(name, rung["name"]).items():
        value = reached(rung, yardstick, report)
        if value is None:
            texts.append(f"{bar} x {yardstick}: not measured")
        else:
            verdict = "reached" if value >= bar else "**missed**"
            texts.append(f"{bar} x {yardstick}: {value:.3f}, {verdict}")
    return "; ".join(texts)


def figure(value):
    return "" if value is None else f"{value:.3f}"


def rows(name, report):
    size = f"{report['operation']} {report['size']}"
    for rung in report["rungs"]:
        if rung["verdict"] != "ok":
            yield f"| {size} | {rung['name']} | {rung['verdict']}: {rung['reason']} | | | | |"
            continue
        if rung["time_ms"] is None:  # emulated: verified and counted
            yield f"| {size} | {rung['name']} | no time | | | | |"
            size = ""
            continue
        yield (
            f"| {size} | {rung['name']} | {rung['time_ms'] * 1e3:.4g} "
            f"| {rung['bytes_per_second'] * 1e-9:.0f} | {figure(rung.get('speed_over_peer'))} "
            f"| {figure(rung.get('speed_over_copy'))} | {judged(rung, name, report)} |"
        )
        size = ""


def main(folder):
    print("| problem | rung | median us | GB/s | x peer | x copy | bar |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for row in rows(path.stem, json.loads(path.read_text())):
            print(row)


main(sys.argv[1])
