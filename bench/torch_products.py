#!/usr/bin/env python3
"""tilescope.matmul beside torch.mm, for tensors that lie on the GPU.

    PYTHONPATH=build/python bench/torch_products.py [--random N] [--seed S]

Prints for each shape and precision the time on the device (median of rounds of 20 products), the
ratio (torch.mm's time over ours), the host's time for a call of each, the largest difference from
torch's float64 product relative to its largest element, and whether a captured graph and a second
stream give the same bits.
"""

import argparse
import random
import statistics
import time

import torch

import tilescope

SHAPES = [(64, 64, 64), (1024, 1024, 1024), (4096, 4096, 4096), (1000, 999, 1001), (16, 8192, 8192)]
TYPES = {"fp32": torch.float32, "fp32_fast": torch.float32, "tf32": torch.float32,
         "bf16": torch.bfloat16, "fp16": torch.float16}


def device_us(product, rounds=15, calls=20):
    """The median time on the device of one product, in microseconds."""
    times = []
    for _ in range(rounds):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            product()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / calls)
    return statistics.median(times)


def host_us(product, calls=50):
    """The host's time for one call, in microseconds, while the device has nothing to wait for."""
    times = []
    for _ in range(calls):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        product()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def same_bits_elsewhere(a, b, precision, c):
    """Whether a graph and another stream repeat the product to the bit."""
    results = [torch.full_like(c, float("nan")) for _ in range(2)]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        tilescope.matmul(a, b, out=results[0], precision=precision)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):  # what the graph needs on its stream is prepared before
        tilescope.matmul(a, b, out=results[1], precision=precision)
        stream.synchronize()
        results[1].fill_(float("nan"))
        with torch.cuda.graph(graph, stream=stream):
            tilescope.matmul(a, b, out=results[1], precision=precision)
    graph.replay()
    torch.cuda.synchronize()
    return [bool(torch.equal(c, result)) for result in results]


def compare(m, n, k, precision):
    a = torch.randn(m, k, device="cuda", dtype=TYPES[precision])
    b = torch.randn(k, n, device="cuda", dtype=TYPES[precision])
    ours, theirs = (torch.empty(m, n, device="cuda", dtype=TYPES[precision]) for _ in range(2))
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    products = [lambda: tilescope.matmul(a, b, out=ours, precision=precision),
                lambda: torch.mm(a, b, out=theirs)]
    for product in products:
        for _ in range(3):
            product()
    times = [device_us(product) for product in products]
    calls = [host_us(product) for product in products]
    exact = a.double() @ b.double()
    error = float((ours.double() - exact).abs().max() / exact.abs().max())
    stream, graph = same_bits_elsewhere(a, b, precision, ours)
    print(f"{f'{m} x {n} x {k}':20} {precision:10} {times[0]:9.2f} {times[1]:9.2f} "
          f"{times[1] / times[0]:6.3f} {calls[0]:7.1f} {calls[1]:7.1f} {error:9.1e} "
          f"{'yes' if stream else 'NO':>6} {'yes' if graph else 'NO':>5}", flush=True)
    return times[1] / times[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--random", type=int, default=0, help="as many shapes drawn at random too")
    parser.add_argument("--seed", type=int, default=1, help="of these shapes")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    shapes = SHAPES + [tuple(round(2 ** draw.uniform(4, 12.5)) for _ in range(3))
                       for _ in range(arguments.random)]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"{'shape':20} {'precision':10} {'us':>9} {'torch us':>9} {'ratio':>6} {'call':>7} "
          f"{'torch':>7} {'error':>9} {'stream':>6} {'graph':>5}")
    ratios = {precision: [] for precision in TYPES}
    for shape in shapes:
        for precision in TYPES:
            ratios[precision].append(compare(*shape, precision))
    for precision, values in ratios.items():
        print(f"{precision}: geometric mean {statistics.geometric_mean(values):.3f} of "
              f"{len(values)} shapes")


if __name__ == "__main__":
    main()
