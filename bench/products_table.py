#!/usr/bin/env python3
"""Turn the JSON of bench/products into Markdown tables. Usage: products_table.py FILE.json ..."""
import json
import math
import sys

ALIGNMENT = 64  # elements; extents of the aligned neighbour of an odd shape are multiples of it


def shape_of(row):
    return (row["m"], row["n"], row["k"])


def text_of(shape):
    return " x ".join(f"{extent:,}" for extent in shape)


def rate(row):
    return row["flops_per_second"] * 1e-12


def aligned(shape):
    """The nearest multiples of ALIGNMENT."""
    return tuple(max(ALIGNMENT, ALIGNMENT * round(extent / ALIGNMENT)) for extent in shape)


def by_shape(rows, wanted):
    """The timed rows that `wanted` chooses, the fastest where there are several."""
    found = {}
    for row in rows:
        shape = shape_of(row)
        if not wanted(row) or "ms" not in row:
            continue
        if shape not in found or row["ms"] < found[shape]["ms"]:
            found[shape] = row
    return found


def speed_table(name, rows):
    """Every shape of one precision: our choice, cuBLAS's best and default algorithm."""
    ours = by_shape(rows, lambda row: row["dispatched"])
    peers = by_shape(rows, lambda row: row["peer"])
    defaults = by_shape(rows, lambda row: row["variant"] == "cublas_default")
    lines = [f"### {name}", "",
             "| set | m x n x k | variant | ms | TFLOP/s | cuBLAS TFLOP/s | its default | ratio "
             "| of the aligned |", "|---|---|---|---|---|---|---|---|---|"]
    ratios = {}
    for shape, row in ours.items():
        peer = peers.get(shape)
        default = defaults.get(shape, peer)
        near = ours.get(aligned(shape))
        share = (f"{rate(row) / rate(near):.2f}" if near and near is not row and row["set"] == "B"
                 else "")
        ratio = peer["ms"] / row["ms"] if peer else None
        if ratio:
            ratios.setdefault(row["set"], []).append(ratio)
        cells = [row["set"], text_of(shape), row["variant"], f"{row['ms']:.4g}", f"{rate(row):.1f}",
                 f"{rate(peer):.1f}" if peer else "-", f"{rate(default):.1f}" if default else "-",
                 f"{ratio:.3f}" if ratio else "-", share]
        lines.append("| " + " | ".join(cells) + " |")
    lines += [""]
    for label, values in sorted(ratios.items()):
        if label == "given":
            continue
        mean = math.exp(sum(map(math.log, values)) / len(values))
        lines.append(f"Set {label}: geometric mean {mean:.3f} of {len(values)} shapes, least "
                     f"{min(values):.3f}.")
    return "\n".join(lines) + "\n"


def error_table(name, rows):
    """Errors against float64, relative to the sum of |a||b|, beside cuBLAS's on the same data."""
    lines = [f"### Errors, {name}", "",
             "| data | m x n x k | variant | largest | cuBLAS | mean | cuBLAS | no larger |",
             "|---|---|---|---|---|---|---|---|"]
    peers = by_shape(rows, lambda row: row["variant"] == "cublas")
    for shape, row in by_shape(rows, lambda row: row["dispatched"]).items():
        peer = peers.get(shape)
        if not peer:
            continue
        no_larger = all(row[key] <= peer[key] for key in ("largest_error", "mean_error"))
        lines.append(f"| {row['data']} | {text_of(shape)} | {row['variant']} "
                     f"| {row['largest_error']:.2e} | {peer['largest_error']:.2e} "
                     f"| {row['mean_error']:.2e} | {peer['mean_error']:.2e} "
                     f"| {'yes' if no_larger else 'NO'} |")
    return "\n".join(lines) + "\n"


def trouble(rows):
    """What was wrong or failed, a line each."""
    return [f"{row['precision']} {text_of(shape_of(row))} {row['variant']}: {row['trouble']}"
            for row in rows if row["trouble"] and (row["dispatched"] or row["wrong"])]


def main():
    """Prints a table for each file, errors where operands were not plainly uniform."""
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        name = rows[0]["precision"]
        if all(row["set"] == "given" for row in rows):
            print(error_table(name, rows))
        else:
            print(speed_table(name, rows))
        for line in trouble(rows):
            print(f"- {line}")


if __name__ == "__main__":
    main()
