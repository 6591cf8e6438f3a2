"""bench/train_plan_networks.py learns what makes plans slower than their model says, and writes it as the
source that the library is built with. With --all also of one kernel, and beside a fixed one."""

import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from case_options import ALL

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "bench/train_plan_networks.py")
FEATURES = {"tensor_tiles": 36, "register_operand": 38, "ffma_tiles": 44, "short_k": 36}


def train(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True)


def measured_plans(products, variants=("tensor_tiles",), precision="bf16", plans=8, seed=5):
    """Plans whose model does not know that their seventh feature makes them slower, nor that those
    of the last variant are a tenth slower than others."""
    draw = random.Random(seed)
    rows = []
    for _ in range(products):
        row = {"precision": precision,
               "plans": [{"variant": "general", "plan": "", "cycles": 0.0, "ms": 1.0}]}
        for i in range(plans):
            variant = variants[i % len(variants)]
            features = [draw.random() for _ in range(FEATURES[variant])]
            cycles = 10000.0 * (1.0 + 0.05 * draw.random())
            ms = cycles / 1.8e6 * (1.0 + 0.2 * features[6])
            if i % len(variants) > 0:
                ms *= 1.1
            row["plans"].append({"variant": variant, "ms": ms, "cycles": cycles,
                                 "features": [cycles, *features]})
        rows.append(row)
    return rows


class PlanNetworks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def written(self, rows, name="plans.json"):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(rows, file)
        return path

    def losses(self, *arguments):
        done = train("--check", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        losses = re.findall(r"\d+ products: the model's choice loses ([\d.]+)%, the network's ([\d.]+)%",
                            done.stdout)
        self.assertEqual(len(losses), 5, done.stdout)
        return [(float(model), float(network)) for model, network in losses]

    @unittest.skipUnless(ALL, "takes long")
    def test_products_it_was_not_trained_on_lose_less(self):
        for model, network in self.losses(self.written(measured_plans(100))):
            self.assertLess(network, 0.5 * model)

    def test_two_kernels_are_compared(self):
        rows = measured_plans(100, ("tensor_tiles", "register_operand"), "tf32")
        for model, network in self.losses(self.written(rows)):
            self.assertLess(network, 0.5 * model)

    @unittest.skipUnless(ALL, "takes long")
    def test_a_fixed_kernel_goes_on_taking_what_is_expected_of_it(self):
        rows = measured_plans(100, ("tensor_tiles", "register_operand"), "tf32")
        for plan in (plan for row in rows for plan in row["plans"]):
            if plan["variant"] == "tensor_tiles":
                # The library's network knows it, so only the other kernel is to be learned.
                plan["cycles"] = 1.8e6 * plan["ms"]
        path = self.written(rows)
        for model, network in self.losses(path, "--fixed", "tensor_tiles", "--variant",
                                          "register_operand"):
            self.assertLess(network, 0.5 * model)
        done = train("--fixed", "tensor_tiles", "--variant", "tensor_tiles", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no plan of tensor_tiles has features and a time", done.stderr)

    def test_networks_of_fp32_are_of_two_kernels(self):
        path = self.written(measured_plans(20, ("ffma_tiles", "short_k"), "fp32"))
        for variant, kind in (("ffma_tiles", "FfmaNetwork ffma_network"),
                              ("short_k", "ShortKNetwork short_k_network")):
            done = train("--variant", variant, path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"const {kind}{{", done.stdout)

    def test_kept_plans_go_on_taking_what_is_expected(self):
        kept = measured_plans(200, seed=6)
        for plan in (plan for row in kept for plan in row["plans"]):
            # The library of today knows better than its model.
            plan["cycles"] = 1.8e6 * plan.pop("ms")
        few, kept_path = self.written(measured_plans(10)), self.written(kept, "kept.json")
        lost_alone = sum(network for _, network in self.losses(few))
        lost_beside = sum(network for _, network in self.losses(few, "--keep", kept_path))
        self.assertLess(lost_beside, 0.5 * lost_alone)

    def assert_is_the_source(self, rows, plans, name, *arguments):
        done = train(*arguments, self.written(rows))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"from {plans} of 160 plans of 20 products", done.stdout)
        with open(os.path.join(ROOT, "src/operations/gemm/hopper", name), encoding="utf-8") as file:
            built_with = file.read()
        number = r"-?[\d.]+(?:e-?\d+)?F\b"
        self.assertEqual(len(re.findall(number, done.stdout)), len(re.findall(number, built_with)))
        self.assertEqual(done.stdout.splitlines()[1:7], built_with.splitlines()[1:7])
        self.assertEqual(train(*arguments, self.written(rows)).stdout, done.stdout)

    def test_the_source_has_every_number_and_is_the_same_each_time(self):
        self.assert_is_the_source(measured_plans(20), 160, "tensor_tile_weights.cpp")

    def test_networks_of_two_kernels_are_two_files(self):
        rows = measured_plans(20, ("tensor_tiles", "register_operand"), "tf32")
        self.assert_is_the_source(rows, 80, "tensor_tile_weights_tf32.cpp")
        self.assert_is_the_source(rows, 80, "register_tile_weights.cpp", "--variant", "register_operand")

    def test_a_kernel_without_plans_is_one_line(self):
        done = train("--variant", "register_operand", self.written(measured_plans(2)))
        self.assertEqual((done.returncode, done.stderr),
                         (1, "no plan of register_operand has features and a time\n"))

    def test_files_without_features_are_one_line(self):
        done = train(self.written([{"precision": "bf16", "plans": [{"variant": "general", "ms": 1.0}]}]))
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Ano product has two plans with features and times: .*\n\Z")

    def test_files_of_two_precisions_are_one_line(self):
        one = self.written(measured_plans(2))
        other = self.written(measured_plans(2, precision="tf32"), "tf32.json")
        done = train(one, other)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\A.*tf32.json: tf32: the products before are in 16 bits\n\Z")


if __name__ == "__main__":
    unittest.main()
