"""Trains the network that ranks the first tiles of tensor_tiles once more, from measured plans.

Usage: bench/train_tile_network.py [--check] PLANS.json... > WEIGHTS
WEIGHTS is src/operations/gemm/hopper/tensor_tile_weights.cpp.

PLANS.json: what `build/bench/products --precision bf16 --plans --most 16 --random 20 --aligned 8
--seed S --samples 24 --budget 10 --json PLANS.json` writes on a GPU, for many seeds.

What is learned is the logarithm of a plan's measured time over that of the model, less the mean of
its product. What is made small is the squared error, and the time that is lost beside a product's fastest
plan where the choice is a softmax of what is expected.
Four networks of 16 units, from four random beginnings, are averaged, which is one of 64.

--check: trains on four fifths of the products and prints what the choice loses on the others, five
times, beside that of the model alone; writes no network.
"""

import argparse
import json
import sys
import textwrap

import numpy as np

UNITS, NETWORKS = 16, 4  # of a network; that are averaged
MOST_DEVIATIONS = 3.0  # as measured_over_expected() has it
TEMPERATURE = 0.012  # of the choice: a logarithm of times
NEAR = 0.15  # plans weigh by exp(-loss / NEAR)
SQUARED = 60.0  # of the squared error, beside the time that is lost
STEPS, RATE, LAST_RATE, DECAY = 500, 1e-2, 1e-4, 1e-3


class Plans:
    """Measured plans of tensor_tiles: features, logarithms of times, and whose product they are."""

    def __init__(self, paths):
        features, measured, expected, products = [], [], [], []
        count = 0
        for path in paths:
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)
            for row in rows:
                plans = [plan for plan in row["plans"] if plan.get("ms") and plan.get("features")]
                if len(plans) < 2:
                    continue
                for plan in plans:
                    expected.append(np.log(plan["features"][0]))
                    features.append(plan["features"][1:])
                    measured.append(np.log(plan["ms"]))
                    products.append(count)
                count += 1
        if count == 0:
            sys.exit("no product has two plans with features and times: were they measured with "
                     "--plans, in 16 bits?")
        self.features, self.products = np.array(features), np.array(products)
        self.measured, self.expected = np.array(measured), np.array(expected)

    def of(self, chosen):
        """Those of the products with `chosen`, renumbered."""
        part = object.__new__(Plans)
        rows = chosen[self.products]
        part.products = np.unique(self.products[rows], return_inverse=True)[1]
        for name in ("features", "measured", "expected"):
            setattr(part, name, getattr(self, name)[rows])
        return part

    def count(self):
        return self.products.max() + 1

    def lost(self):
        """The logarithm of each plan's time over that of its product's fastest."""
        least = np.full(self.count(), np.inf)
        np.minimum.at(least, self.products, self.measured)
        return self.measured - least[self.products]

    def lost_by_choice(self, correction):
        """What the plan loses that is expected to be fastest, on average over products."""
        expected, lost = self.expected + correction, self.lost()
        order = np.lexsort((expected, self.products))
        firsts = order[np.unique(self.products[order], return_index=True)[1]]
        return lost[firsts].mean()


def train_one(inputs, plans, seed):
    """Weights (units x features), biases (units) and outputs (units) of one network."""
    random = np.random.RandomState(seed)
    count, products = plans.count(), plans.products
    lost = plans.lost()
    weight = np.exp(-lost / NEAR)

    def mean(values):
        sums = np.bincount(products, weight * values, count)
        return (sums / np.bincount(products, weight, count))[products]

    wanted = plans.measured - plans.expected
    wanted -= mean(wanted)
    weights = random.randn(UNITS, inputs.shape[1]) / np.sqrt(inputs.shape[1])
    biases, outputs = np.zeros(UNITS), 0.01 * random.randn(UNITS)
    parameters = [weights, biases, outputs]
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    for step in range(1, STEPS + 1):
        sums = inputs @ weights.T + biases
        units = np.maximum(sums, 0.0)
        correction = units @ outputs
        # The softmax of each product's plans, and the slope of what it loses.
        expected = (plans.expected + correction) / TEMPERATURE
        least = np.full(count, np.inf)
        np.minimum.at(least, products, expected)
        share = np.exp(least[products] - expected)
        share /= np.bincount(products, share, count)[products]
        by_choice = np.bincount(products, share * lost, count)[products]
        slope = -share * (lost - by_choice) / (TEMPERATURE * count)
        error = correction - wanted
        slope += SQUARED * weight * error / weight.sum()
        of_units = np.outer(slope, outputs) * (sums > 0.0)
        slopes = [of_units.T @ inputs + DECAY * weights, of_units.sum(0),
                  units.T @ slope + DECAY * outputs]
        rate = RATE * 0.5 * (1.0 + np.cos(np.pi * step / STEPS)) + LAST_RATE
        for p, one, two, g in zip(parameters, first, second, slopes):  # Adam
            one += 0.1 * (g - one)
            two += 0.02 * (g * g - two)
            p -= rate * one / (1.0 - 0.9**step) / (np.sqrt(two / (1.0 - 0.98**step)) + 1e-8)
    return weights, biases, outputs


def train(plans):
    """Mean and deviation of features, and the network: weights, biases, outputs."""
    mean, deviation = plans.features.mean(0), plans.features.std(0)
    deviation[deviation < 1e-6] = 1.0
    inputs = scaled(plans.features, mean, deviation)
    networks = [train_one(inputs, plans, seed) for seed in range(NETWORKS)]
    weights, biases, outputs = (np.concatenate(parts) for parts in zip(*networks))
    return mean, deviation, weights, biases, outputs / NETWORKS


def scaled(features, mean, deviation):
    return np.clip((features - mean) / deviation, -MOST_DEVIATIONS, MOST_DEVIATIONS)


def corrections(network, features):
    mean, deviation, weights, biases, outputs = network
    return np.maximum(scaled(features, mean, deviation) @ weights.T + biases, 0.0) @ outputs


def check(plans, parts=5):
    part_of = np.random.RandomState(0).permutation(plans.count()) % parts
    for part in range(parts):
        network = train(plans.of(part_of != part))
        others = plans.of(part_of == part)
        by_network = others.lost_by_choice(corrections(network, others.features))
        print(f"{others.count()} products: the model's choice loses "
              f"{100 * others.lost_by_choice(0.0):.2f}%, the network's {100 * by_network:.2f}%",
              flush=True)


def numbers(values):
    texts = [f"{value:.5g}" for value in values]
    row = ", ".join(t + ("F" if "." in t or "e" in t else ".0F") for t in texts)
    return "{" + row + "}"


def line(text, indent):
    return textwrap.fill(text, 100, initial_indent=" " * indent, subsequent_indent=" " * (indent + 1),
                         break_long_words=False)


def write(network, plans):
    mean, deviation, weights, biases, outputs = network
    rows = ",\n".join(line(numbers(row), 8) for row in weights)
    of = f"{len(plans.measured)} plans of {plans.count()} products"
    print(f"""// Written by bench/train_tile_network.py from {of}.
#include "operations/gemm/hopper/tensor_tile_network.hpp"

namespace tilescope::operations {{

// clang-format off
const TileNetwork tile_network{{
{line(".mean = " + numbers(mean), 4)},
{line(".deviation = " + numbers(deviation), 4)},
    .weights = {{{{
{rows},
    }}}},
{line(".biases = " + numbers(biases), 4)},
{line(".outputs = " + numbers(outputs), 4)},
}};
// clang-format on

}}  // namespace tilescope::operations""")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("plans", nargs="+")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    plans = Plans(arguments.plans)
    if arguments.check:
        check(plans)
    else:
        write(train(plans), plans)


main()
