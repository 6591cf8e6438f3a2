#!/usr/bin/env python3
"""tilescope.matmul beside torch.mm, for tensors that lie on the GPU.

    PYTHONPATH=build/python bench/torch_products.py --set A --set B --random 40 --seed 7

Prints for each shape and precision the time of a product on the device, the ratio (torch.mm's time
over ours), and the host's time for a call of each. Times are medians of rounds in which the two
take turns; a round replays a captured graph of products whose operands rotate through twice the L2
cache, so that the host does not count. Elements of 32 rows are checked against float64 with the
bound of docs/matmul.md, before and after: a wrong product has no figures. Ends with 1 if there is
one.
"""

import argparse
import json
import random
import statistics
import sys
import time

import torch

import tilescope

SETS = {
    "A": [(1024,) * 3, (2048,) * 3, (4096,) * 3, (8192,) * 3, (16384,) * 3, (8192, 8192, 256),
          (256, 256, 65536), (16, 8192, 8192), (8192, 1, 8192)],
    "B": [(1000,) * 3, (1023,) * 3, (4095, 4097, 4099), (8191,) * 3, (127, 8190, 4001)],
}
TYPES = {"fp32": torch.float32, "fp32_fast": torch.float32, "tf32": torch.float32,
         "bf16": torch.bfloat16, "fp16": torch.float16}
ROUNDOFF = {"fp32": 2.0**-24, "fp32_fast": 2.0**-24}  # of sums; others: 2^-23
RESULT_ROUNDOFF = {torch.float32: 2.0**-24, torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11}
MOST_PRODUCTS = 64  # of a graph
ROUNDS = 6


class Operands:
    """A product's tensors, as many as twice the L2 cache holds."""

    def __init__(self, shape, precision):
        m, n, k = shape
        dtype = TYPES[precision]
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        bytes_of_one = dtype.itemsize * (m * k + k * n + m * n)
        count = min(max(2 * l2 // bytes_of_one + 1, 2), MOST_PRODUCTS)
        self.sets = [tuple(self.draw(extents, dtype) for extents in ((m, k), (k, n), (m, n)))
                     for _ in range(count)]
        self.precision = precision
        # cut as the tensor cores read them
        self.cut = (lambda x: (x.view(torch.int32) & -8192).view(torch.float32)) \
            if precision == "tf32" else (lambda x: x)

    @staticmethod
    def draw(extents, dtype):
        return torch.empty(extents, device="cuda").uniform_(-1, 1).to(dtype)

    def worst_share(self, product):
        """The largest error of 32 rows of the first and last set as a share of its bound."""
        worst = 0.0
        for a, b, c in (self.sets[0], self.sets[-1]):
            c.fill_(float("nan"))
            product(a, b, c)
            rows = torch.randperm(a.shape[0], device="cuda")[:32]
            exact, magnitude = torch.zeros(2, len(rows), b.shape[1], device="cuda",
                                           dtype=torch.float64)
            for begin in range(0, a.shape[1], 2048):
                steps = slice(begin, begin + 2048)
                left = self.cut(a[rows, steps]).double()
                right = self.cut(b[steps].contiguous()).double()
                exact += left @ right
                magnitude += left.abs() @ right.abs()
            bound = ((a.shape[1] + 2) * ROUNDOFF.get(self.precision, 2.0**-23) * magnitude
                     + RESULT_ROUNDOFF[c.dtype] * exact.abs())
            share = ((c[rows].double() - exact).abs() / bound).nan_to_num(float("inf"))
            worst = max(worst, float(share.max()))
        return worst


def graph_of(product, operands, stream):
    """One product of each set, captured; and how many there are."""
    graph = torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        product(*operands.sets[0])
    stream.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        for tensors in operands.sets:
            product(*tensors)
    return graph


def replay_us(graph, products, repeats):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(repeats):
        graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / products / repeats


def host_us(product, operands, calls=40):
    """The host's time for one call while the device has nothing to do."""
    times = []
    for i in range(calls):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        product(*operands.sets[i % len(operands.sets)])
        times.append((time.perf_counter() - begin) * 1e6)
        if sum(times) > 2e5:
            break
    return statistics.median(times)


def compare(shape, precision, stream):
    operands = Operands(shape, precision)
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    products = [lambda a, b, c: tilescope.matmul(a, b, out=c, precision=precision),
                lambda a, b, c: torch.mm(a, b, out=c)]
    row = {"m": shape[0], "n": shape[1], "k": shape[2], "precision": precision,
           "share_of_bound": operands.worst_share(products[0])}
    count = len(operands.sets)
    graphs = [graph_of(product, operands, stream) for product in products]
    first = [replay_us(graph, count, 1) for graph in graphs]
    repeats = max(1, min(40, int(10_000 / (max(first) * count))))  # 10 ms a round
    times = [[], []]
    for turn in range(ROUNDS):
        for i in ((0, 1), (1, 0))[turn % 2]:
            times[i].append(replay_us(graphs[i], count, repeats))
    row["us"], row["torch_us"] = map(statistics.median, times)
    row["ratio"] = row["torch_us"] / row["us"]
    row["call_us"], row["torch_call_us"] = (host_us(p, operands) for p in products)
    row["share_of_bound"] = max(row["share_of_bound"], operands.worst_share(products[0]))
    row["wrong"] = row["share_of_bound"] > 1
    return row


def line_of(row):
    shape = "{m} x {n} x {k}".format(**row)
    if row["wrong"]:
        return f"| {shape} | {row['precision']} | WRONG: {row['share_of_bound']:.3g} of the bound |"
    return ("| {shape} | {precision} | {us:.2f} | {torch_us:.2f} | {ratio:.3f} | {call_us:.1f} | "
            "{torch_call_us:.1f} | {share_of_bound:.2f} |").format(shape=shape, **row)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", choices=SETS, help="of bench/products")
    parser.add_argument("--random", type=int, default=0, help="as many shapes drawn at random too")
    parser.add_argument("--seed", type=int, default=1, help="of these shapes")
    parser.add_argument("--precision", action="append", choices=TYPES)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no shape after that time")
    parser.add_argument("--json", help="file for the rows")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    groups = {name: SETS[name] for name in arguments.set or []}
    groups["random"] = [tuple(round(2 ** draw.uniform(4, 12.5)) for _ in range(3))
                        for _ in range(arguments.random)]
    stream, begin, rows = torch.cuda.Stream(), time.monotonic(), []
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, tilescope "
          f"{tilescope.__version__}, seed {arguments.seed}\n")
    print("| m x n x k | precision | us | torch.mm | ratio | call | torch's call | of the bound |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for group, shapes in groups.items():
        for shape in shapes:
            for precision in arguments.precision or TYPES:
                if time.monotonic() - begin > arguments.seconds:
                    break
                rows.append({"set": group, **compare(shape, precision, stream)})
                print(line_of(rows[-1]), flush=True)
    print("\n| set | precision | shapes | ratio, geometric mean | least | call, median | most |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for group in groups:
        for precision in TYPES:
            right = [row for row in rows if not row["wrong"]
                     and (row["set"], row["precision"]) == (group, precision)]
            if right:
                ratios, calls = ([row[key] for row in right] for key in ("ratio", "call_us"))
                print(f"| {group} | {precision} | {len(right)} | "
                      f"{statistics.geometric_mean(ratios):.3f} | {min(ratios):.3f} | "
                      f"{statistics.median(calls):.1f} | {max(calls):.1f} |")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return any(row["wrong"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
