"""bench/train_tile_network.py learns what makes plans slower than their model says, and writes it as the
source that the library is built with."""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "bench/train_tile_network.py")
WEIGHTS = os.path.join(ROOT, "src/operations/gemm/hopper/tensor_tile_weights.cpp")
FEATURES = 36


def train(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True)


def measured_plans(products, plans=8):
    """Plans whose model does not know that their seventh feature makes them slower."""
    draw = random.Random(5)
    rows = []
    for _ in range(products):
        row = {"plans": [{"variant": "general", "plan": "", "cycles": 0.0, "ms": 1.0}]}
        for _ in range(plans):
            features = [draw.random() for _ in range(FEATURES)]
            cycles = 10000.0 * (1.0 + 0.05 * draw.random())
            ms = cycles / 1.8e6 * (1.0 + 0.2 * features[6])
            row["plans"].append({"variant": "tensor_tiles", "ms": ms, "features": [cycles, *features]})
        rows.append(row)
    return rows


class TileNetwork(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "plans.json")

    def write(self, rows):
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump(rows, file)

    def test_products_it_was_not_trained_on_lose_less(self):
        self.write(measured_plans(100))
        done = train("--check", self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        losses = re.findall(r"20 products: the model's choice loses ([\d.]+)%, the network's ([\d.]+)%",
                            done.stdout)
        self.assertEqual(len(losses), 5, done.stdout)
        for model, network in losses:
            self.assertLess(float(network), 0.5 * float(model))

    def test_the_source_has_every_number_and_is_the_same_each_time(self):
        self.write(measured_plans(20))
        done = train(self.path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("from 160 plans of 20 products", done.stdout)
        with open(WEIGHTS, encoding="utf-8") as file:
            built_with = file.read()
        number = r"-?[\d.]+(?:e-?\d+)?F\b"
        self.assertEqual(len(re.findall(number, done.stdout)), len(re.findall(number, built_with)))
        self.assertEqual(train(self.path).stdout, done.stdout)

    def test_files_without_features_are_one_line(self):
        self.write([{"plans": [{"variant": "general", "ms": 1.0}]}])
        done = train(self.path)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Ano product has two plans with features and times: .*\n\Z")


if __name__ == "__main__":
    unittest.main()
