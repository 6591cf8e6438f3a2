"""Trains the networks that rank the first plans of a product once more, from measured plans.

Usage: bench/train_plan_networks.py [--check] [--keep KEPT.json]... [--fixed V]... [--variant V]
                                    PLANS.json... > WEIGHTS
WEIGHTS, below src/operations/gemm/, is hopper/tensor_tile_weights.cpp for products in 16 bits; for
those in tf32 hopper/tensor_tile_weights_tf32.cpp, and with `--variant register_operand`
hopper/register_tile_weights.cpp; for those in fp32 hopper/ffma_weights.cpp with `--variant
ffma_tiles`, and general/short_k_weights.cpp with `--variant short_k`. With `--variant short_k_mma`
and the others of its precision fixed, general/short_k_mma_weights.cpp or short_k_mma_weights_tf32.cpp.

PLANS.json: what `build/bench/products --precision bf16 --plans --most 16 --random 20 --aligned 8
--seed S --samples 24 --budget 10 --json PLANS.json` writes on a GPU, for many seeds.

What is learned is the logarithm of a plan's measured time over that of the model, less the mean of
its product. What is made small is the squared error, and the time that is lost beside a product's
fastest plan where the choice is a softmax of what is expected. So networks of two kernels are trained
together, and what they expect can be compared.
Four networks of 16 units, from four random beginnings, are averaged, which is one of 64.

--keep: plans that were not measured, which `products --dry-run --plans --json KEPT.json` lists: they
shall go on taking what today's library expects, so that products of another kind can be learned beside
those that are known.
--fixed: a variant whose network is not trained: its plans are expected to take what the library
expects. So are those of variants that have no network.
--check: trains on four fifths of the products and prints what the choice loses on the others, five
times, beside that of the models alone; writes no network.
"""

import argparse
import json
import os
import sys
import textwrap

# The matrices are small: several threads would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

# The networks' types, names and headers in src/operations/gemm, for each precision and variant.
NETWORKS_OF = {
    "16 bits": {"tensor_tiles": ("TileNetwork", "tile_network", "hopper/tensor_tile_network.hpp"),
                "short_k_mma": ("ShortKMmaNetwork", "short_k_mma_network",
                                "general/short_k_mma_network.hpp")},
    "tf32": {"tensor_tiles": ("TileNetwork", "tile_network_tf32", "hopper/tensor_tile_network.hpp"),
             "register_operand": ("RegisterNetwork", "register_network",
                                  "hopper/register_tile_network.hpp"),
             "short_k_mma": ("ShortKMmaNetwork", "short_k_mma_network_tf32",
                             "general/short_k_mma_network.hpp")},
    "fp32": {"ffma_tiles": ("FfmaNetwork", "ffma_network", "hopper/ffma_network.hpp"),
             "short_k": ("ShortKNetwork", "short_k_network", "general/short_k_network.hpp")},
}
VARIANTS = sorted({variant for networks in NETWORKS_OF.values() for variant in networks})
UNITS, NETWORKS = 16, 4  # of a network; that are averaged
MOST_DEVIATIONS = 3.0  # as PlanNetwork has it
TEMPERATURE = 0.012  # of the choice: a logarithm of times
NEAR = 0.15  # plans weigh by exp(-loss / NEAR)
SQUARED = 60.0  # of the squared error, beside the time that is lost
STEPS, RATE, LAST_RATE, DECAY = 500, 1e-2, 1e-4, 1e-3


class Plans:
    """Plans with features: logarithms of times, whose product they are, and the rows of each variant."""

    def __init__(self, fixed):
        self.fixed = fixed
        self.products, self.measured, self.expected = [], [], []
        self.features, self.rows = {}, {}  # of each variant
        self.precision, self.count = None, 0

    def read(self, path, is_measured):
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        for row in rows:
            time = "ms" if is_measured else "cycles"
            plans = [plan for plan in row["plans"] if plan.get(time) and plan.get("features")]
            if len(plans) < 2:
                continue
            precision = row["precision"] if row["precision"] in NETWORKS_OF else "16 bits"
            if precision != (self.precision or precision):
                sys.exit(f"{path}: {row['precision']}: the products before are in {self.precision}")
            self.precision = precision
            for plan in plans:
                if plan["variant"] in self.fixed or plan["variant"] not in NETWORKS_OF[precision]:
                    self.expected.append(np.log(plan["cycles"]))
                else:
                    self.rows.setdefault(plan["variant"], []).append(len(self.products))
                    self.features.setdefault(plan["variant"], []).append(plan["features"][1:])
                    self.expected.append(np.log(plan["features"][0]))
                self.measured.append(np.log(plan[time]))
                self.products.append(self.count)
            self.count += 1

    def complete(self):
        if self.count == 0:
            sys.exit("no product has two plans with features and times: were they measured with "
                     "--plans, in a precision that has networks?")
        for name in ("products", "measured", "expected"):
            setattr(self, name, np.array(getattr(self, name)))
        self.features = {variant: np.array(of) for variant, of in self.features.items()}
        self.rows = {variant: np.array(of) for variant, of in self.rows.items()}
        return self

    def of(self, chosen):
        """Those of the products with `chosen`, renumbered."""
        part = object.__new__(Plans)
        kept = chosen[self.products]
        place = np.cumsum(kept) - 1
        part.products = np.unique(self.products[kept], return_inverse=True)[1]
        part.count = part.products.max() + 1
        part.measured, part.expected = self.measured[kept], self.expected[kept]
        part.rows = {variant: place[rows[kept[rows]]] for variant, rows in self.rows.items()}
        part.features = {variant: self.features[variant][kept[rows]]
                         for variant, rows in self.rows.items()}
        return part

    def least(self, values):
        """The least value of each plan's product."""
        least = np.full(self.count, np.inf)
        np.minimum.at(least, self.products, values)
        return least[self.products]

    def sums(self, values):
        return np.bincount(self.products, values, self.count)[self.products]

    def lost(self):
        """The logarithm of each plan's time over that of its product's fastest."""
        return self.measured - self.least(self.measured)

    def lost_by_choice(self, correction):
        """What the plan loses that is expected to be fastest, on average over products."""
        expected, lost = self.expected + correction, self.lost()
        order = np.lexsort((expected, self.products))
        firsts = order[np.unique(self.products[order], return_index=True)[1]]
        return lost[firsts].mean()


class Network:
    """Of one variant: scales of its features, weights, biases and outputs of units, and an offset."""

    def __init__(self, features, random):
        self.mean, self.deviation = features.mean(0), features.std(0)
        self.deviation[self.deviation < 1e-6] = 1.0
        count = features.shape[1]
        self.parameters = [random.randn(UNITS, count) / np.sqrt(count), np.zeros(UNITS),
                           0.01 * random.randn(UNITS), np.zeros(1)]
        self.first = [np.zeros_like(p) for p in self.parameters]
        self.second = [np.zeros_like(p) for p in self.parameters]

    def scaled(self, features):
        inputs = (features - self.mean) / self.deviation
        return np.clip(inputs, -MOST_DEVIATIONS, MOST_DEVIATIONS)

    def corrections(self, features):
        weights, biases, outputs, offset = self.parameters
        return np.maximum(self.scaled(features) @ weights.T + biases, 0.0) @ outputs + offset

    def forward(self, inputs):
        weights, biases, outputs, offset = self.parameters
        self.sums = inputs @ weights.T + biases
        return np.maximum(self.sums, 0.0) @ outputs + offset

    def step(self, number, inputs, slope):
        """One of Adam's, down the `slope` of what forward(inputs) returned."""
        weights, _, outputs, _ = self.parameters
        of_units = np.outer(slope, outputs) * (self.sums > 0.0)
        slopes = [of_units.T @ inputs + DECAY * weights, of_units.sum(0),
                  np.maximum(self.sums, 0.0).T @ slope + DECAY * outputs, slope.sum()]
        rate = RATE * 0.5 * (1.0 + np.cos(np.pi * number / STEPS)) + LAST_RATE
        for p, one, two, g in zip(self.parameters, self.first, self.second, slopes):
            one += 0.1 * (g - one)
            two += 0.02 * (g * g - two)
            p -= rate * one / (1.0 - 0.9**number) / (np.sqrt(two / (1.0 - 0.98**number)) + 1e-8)


def train_once(plans, seed):
    """A network for each variant."""
    random = np.random.RandomState(seed)
    networks = {variant: Network(of, random) for variant, of in plans.features.items()}
    inputs = {variant: networks[variant].scaled(of) for variant, of in plans.features.items()}
    lost = plans.lost()
    weight = np.exp(-lost / NEAR)
    wanted = plans.measured - plans.expected

    def less_mean(values):
        return values - plans.sums(weight * values) / plans.sums(weight)

    wanted = less_mean(wanted)
    correction = np.zeros(len(lost))
    for number in range(1, STEPS + 1):
        for variant, rows in plans.rows.items():
            correction[rows] = networks[variant].forward(inputs[variant])
        # The softmax of each product's plans, and the slope of what it loses.
        expected = (plans.expected + correction) / TEMPERATURE
        share = np.exp(plans.least(expected) - expected)
        share /= plans.sums(share)
        slope = -share * (lost - plans.sums(share * lost)) / (TEMPERATURE * plans.count)
        slope += SQUARED * weight * (less_mean(correction) - wanted) / weight.sum()
        for variant, rows in plans.rows.items():
            networks[variant].step(number, inputs[variant], slope[rows])
    return networks


def train(plans):
    """The network of each variant, joined from NETWORKS of them."""
    several = [train_once(plans, seed) for seed in range(NETWORKS)]
    joined = several[0]
    for variant, network in joined.items():
        parts = [networks[variant].parameters for networks in several]
        weights, biases, outputs = (np.concatenate([p[i] for p in parts]) for i in range(3))
        network.parameters = [weights, biases, outputs / NETWORKS, np.mean([p[3] for p in parts])]
    return joined


def corrections(networks, plans):
    correction = np.zeros(len(plans.measured))
    for variant, rows in plans.rows.items():
        correction[rows] = networks[variant].corrections(plans.features[variant])
    return correction


def check(plans, measured, parts=5):
    """Only the first `measured` products are judged."""
    part_of = np.random.RandomState(0).permutation(plans.count) % parts
    is_measured = np.arange(plans.count) < measured
    for part in range(parts):
        networks = train(plans.of(part_of != part))
        others = plans.of((part_of == part) & is_measured)
        by_network = others.lost_by_choice(corrections(networks, others))
        print(f"{others.count} products: the model's choice loses "
              f"{100 * others.lost_by_choice(0.0):.2f}%, the network's {100 * by_network:.2f}%",
              flush=True)


def number(value):
    text = f"{value:.4g}"
    return text + ("F" if "." in text or "e" in text else ".0F")


def line(text, indent):
    return textwrap.fill(text, 100, initial_indent=" " * indent, subsequent_indent=" " * (indent + 1),
                         break_long_words=False)


def source_of(network, kind, name):
    def numbers(values):
        return "{" + ", ".join(map(number, values)) + "}"

    weights, biases, outputs, offset = network.parameters
    rows = ",\n".join(line(numbers(row), 8) for row in weights)
    return f"""const {kind} {name}{{
{line(".mean = " + numbers(network.mean), 4)},
{line(".deviation = " + numbers(network.deviation), 4)},
    .weights = {{{{
{rows},
    }}}},
{line(".biases = " + numbers(biases), 4)},
{line(".outputs = " + numbers(outputs), 4)},
    .offset = {number(offset)},
}};"""


def write(networks, plans, variant):
    kind, name, header = NETWORKS_OF[plans.precision][variant]
    of = f"{len(plans.rows[variant])} of {len(plans.measured)} plans of {plans.count} products"
    print(f"""// Written by bench/train_plan_networks.py from {of}.
#include "operations/gemm/{header}"

namespace tilescope::operations {{

// clang-format off
{source_of(networks[variant], kind, name)}
// clang-format on

}}  // namespace tilescope::operations""")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plans", nargs="+")
    parser.add_argument("--keep", action="append", default=[])
    parser.add_argument("--fixed", action="append", default=[], choices=VARIANTS)
    parser.add_argument("--variant", default="tensor_tiles", choices=VARIANTS)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    plans = Plans(arguments.fixed)
    for path in arguments.plans:
        plans.read(path, True)
    measured = plans.count
    for path in arguments.keep:
        plans.read(path, False)
    plans.complete()
    if arguments.variant not in plans.rows:
        sys.exit(f"no plan of {arguments.variant} has features and a time")
    if arguments.check:
        check(plans, measured)
    else:
        write(train(plans), plans, arguments.variant)


main()
