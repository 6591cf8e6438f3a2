"""JSON on standard output or in a file: the keys that others rely on, numbers as numbers."""

import json
import math
import re
import unittest

import numpy as np

import program


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Json(program.ProgramTest):
    def json_of(self, *arguments, code=0):
        result = self.run_program(*arguments, "--json", "-")
        self.assertEqual(result.code, code, result.err)

        def refuse(constant):
            raise ValueError(f"{constant} is no JSON")
        return json.loads(result.out, parse_constant=refuse)

    def test_ladder(self):
        report = self.json_of("ladder", "matmul", "-m", "65", "-n", "33", "-k", "129", "--device",
                              "cpu", "--seed", "7")
        self.assertEqual(report["version"], 1)
        self.assertEqual(report["command"], "ladder")
        self.assertEqual(report["operation"], "matmul")
        self.assertEqual(report["size"], "65 x 33 x 129")
        self.assertEqual(report["seed"], 7)
        self.assertEqual(report["flops"], 2 * 65 * 33 * 129)
        self.assertEqual(report["device"]["id"], "cpu")
        rungs = {rung["name"]: rung for rung in report["rungs"]}
        self.assertEqual(len(rungs), len(report["rungs"]), "names are unique")
        self.assertGreaterEqual(len(rungs), 26)
        for rung in report["rungs"]:
            self.assertIn(rung["verdict"], ("ok", "skipped"))
            self.assertIsInstance(rung["reason"], str)
            if rung["verdict"] == "ok":
                self.assertEqual(rung["reason"], "")
                self.assertTrue(is_number(rung["time_ms"]) and rung["time_ms"] > 0)
                self.assertTrue(is_number(rung["max_error"]) and rung["max_error"] >= 0)
                self.assertTrue(math.isclose(rung["flops_per_second"],
                                             report["flops"] / (rung["time_ms"] * 1e-3)))
                self.assertLessEqual(rung["fastest_ms"], rung["time_ms"])
                self.assertLessEqual(rung["time_ms"], rung["slowest_ms"])
                self.assertGreaterEqual(rung["samples"], 9)
            else:
                self.assertNotEqual(rung["reason"], "")
                self.assertIsNone(rung["time_ms"])
                self.assertIsNone(rung["max_error"])
        self.assertEqual(rungs["cpu_reference"]["verdict"], "ok")
        self.assertEqual(rungs["cpu_blas"]["verdict"], "ok")
        self.assertEqual(rungs["cublas"]["verdict"], "skipped")

    def test_ladder_of_chosen_rungs(self):
        report = self.json_of("ladder", "matmul", "--size", "16", "--device", "cpu", "--variant",
                              "cpu_blas", "--variant", "tiled_checked", "--samples", "11")
        self.assertEqual([rung["name"] for rung in report["rungs"]],
                         ["cpu_blas", "tiled_checked_32"])
        self.assertGreaterEqual(report["rungs"][0]["samples"], 11)

    def test_ladder_in_a_precision(self):
        for precision in program.sample(("bf16", "fp16", "fp64", "tf32", "fp32_fast"), 2):
            report = self.json_of("ladder", "matmul", "--size", "40", "-n", "30", "--device",
                                  "emulated", "--precision", precision)
            self.assertEqual(report["size"], f"40 x 30 x 40 in {precision}")
            self.assertEqual(report["flops"], 2 * 40 * 30 * 40)
            size = {"bf16": 2, "fp16": 2, "fp64": 8}.get(precision, 4)
            self.assertEqual(report["compulsory_bytes"],
                             size * (40 * 40 + 40 * 30 + 40 * 30))
            rungs = {rung["name"]: rung for rung in report["rungs"]}
            self.assertEqual(rungs["general"]["verdict"], "ok", rungs["general"]["reason"])
            self.assertGreater(rungs["general"]["counts"]["global_load_requests"], 0)
            self.assertEqual(rungs["cublas"]["reason"], "needs a GPU")
            self.assertNotIn("wrong", {rung["verdict"] for rung in report["rungs"]})

    def test_ladder_of_nothing(self):
        report = self.json_of("ladder", "matmul", "-m", "0", "--size", "5", "--device", "cpu")
        self.assertEqual({rung["verdict"] for rung in report["rungs"]}, {"skipped"})

    def test_devices(self):
        report = self.json_of("devices")
        self.assertEqual(report["command"], "devices")
        cpu = [device for device in report["devices"] if device["id"] == "cpu"]
        self.assertEqual(len(cpu), 1)
        self.assertTrue(is_number(cpu[0]["global_bytes"]))
        self.assertRegex(report["nvrtc"], r"^1[23]\.\d+ \(.*libnvrtc")
        if not program.has_gpu():
            self.assertIsInstance(report["why_no_cuda"], str)

    def test_matmul(self):
        self.save("a.npy", np.ones((2, 3), np.float32))
        self.save("b.npy", np.ones((3, 4), np.float64))
        report = self.json_of("matmul", "a.npy", "b.npy", "-o", "c.npy", "--device", "cpu")
        self.assertEqual({key: report[key] for key in ("command", "m", "n", "k", "type", "device",
                                                       "variant", "output")},
                         {"command": "matmul", "m": 2, "n": 4, "k": 3, "type": "float64",
                          "device": "cpu", "variant": "cpu_blas", "output": "c.npy"})
        self.assertTrue(is_number(report["time_ms"]))

    def test_the_list_of_a_ladder(self):
        report = json.loads(self.run_program("ladder", "matmul", "--list", "--json", "-").out)
        self.assertEqual((report["command"], report["operation"]), ("ladder", "matmul"))
        self.assertIn({"name": "tiled_16", "idea": "tiles in shared memory",
                       "source": "matmul/06_tiled.cu"}, report["rungs"])

    def test_an_error_is_a_document_too(self):
        for arguments, code, kind in (
                (("matmul", "no.npy", "no.npy", "-o", "c.npy"), 4, "bad_input"),
                (("tiles", "--size", "-4"), 2, "usage"),
                (("tiles", "--unknown"), 2, "usage"),
                (("nothing",), 2, "usage"),
                (("devices", "--gpu", "none"), 2, "usage"),
                (("ladder", "matmul", "--device", "cuda:99"), 3, "no_device")):
            with self.subTest(" ".join(arguments)):
                for option in (("--json", "-"), ("--json=-",)):
                    result = self.run_program(*arguments, *option)
                    self.assertEqual(result.code, code)
                    report = json.loads(result.out)
                    self.assertEqual(report["version"], 1)
                    self.assertEqual(report["command"], arguments[0])
                    self.assertEqual(report["exit_code"], code)
                    self.assertEqual(report["error"]["kind"], kind)
                    self.assertEqual("tilescope: " + report["error"]["message"] + "\n", result.err)
                self.assertEqual(self.run_program(*arguments, "--json", "e.json").out, "")

    def test_a_file_beside_the_table(self):
        result = self.run_program("devices", "--json", "devices.json")
        self.assertEqual(result.code, 0)
        self.assertIn("cpu: ", result.out)
        with open(self.path("devices.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["command"], "devices")


class Table(program.ProgramTest):
    def test_fits_into_80_columns_without_colours(self):
        result = self.run_program("ladder", "matmul", "--size", "64", "--device", "cpu")
        self.assertEqual(result.code, 0)
        self.assertNotIn("\x1b", result.out + result.err)
        for line in result.out.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertRegex(result.out, r"\n2 rungs ok, 0 wrong, \d+ skipped\n")

    def test_list_names_every_rung_and_its_source(self):
        result = self.run_program("ladder", "matmul", "--list")
        self.assertRegex(result.out, r"(?m)^tiled_16 .* matmul/06_tiled\.cu$")
        self.assertRegex(result.out, r"(?m)^cublas ")

    def test_list_in_a_precision(self):
        result = self.run_program("ladder", "matmul", "--precision", "bf16", "--list")
        self.assertRegex(result.out, r"(?m)^general .* gemm/general\.cu$")
        self.assertRegex(result.out, r"(?m)^cublas ")
        self.assertNotIn("tiled", result.out)

    def test_the_roofline_of_a_precision_has_its_ceiling(self):
        for precision, ceiling in (("fp32", "fp32"), ("bf16", "bf16_tensor"),
                                   ("tf32", "tf32_tensor")):
            result = self.run_program("roofline", "matmul", "--precision", precision, "--size",
                                      "64", "--json", "-")
            self.assertEqual(result.code, 0, result.err)
            report = json.loads(result.out)
            self.assertEqual(report["ceilings"][0]["name"], ceiling)
            # Two operations for two elements.
            self.assertEqual(report["points"][0]["intensity_flops_per_byte"],
                             0.5 if precision == "bf16" else 0.25)
        result = self.run_program("roofline", "matmul", "--precision", "bf16", "--size", "64",
                                  "--rate", "tf32_tensor", "--json", "-")
        self.assertEqual(json.loads(result.out)["ceilings"][0]["name"], "tf32_tensor")

    def test_targets_in_a_precision(self):
        for command in ("check", "explain"):
            result = self.run_program(command, "matmul/general", "--precision", "bf16", "--size",
                                      "20")
            self.assertEqual(result.code, 0, result.err)
            self.assertIn(f"{command} matmul/general, 20 x 20 x 20 in bf16", result.out)
        result = self.run_program("occupancy", "matmul/general", "--precision", "fp16")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("matmul/general: 256 threads a block", result.out)

    def test_occupancy_is_that_of_the_product_not_of_what_prepares_it(self):
        target = ("occupancy", "matmul/tensor_tiles", "--precision", "bf16", "--size", "1001")
        result = self.run_program(*target)
        self.assertEqual(result.code, 0, result.err)
        kernels = re.search(r"launches ([\w, ]+);", result.out)[1].split(", ")
        self.assertGreater(len(kernels), 1, "operands of odd rows are copied first")
        shared = [int(text.replace(",", "")) for text in
                  re.findall(r"([\d,]+) B of shared\s+memory", result.out)]
        first = self.run_program(*target, "--kernel", kernels[0])
        self.assertEqual(first.code, 0, first.err)
        self.assertNotIn(f"{shared[0]:,} B of shared", first.out)
        self.assertGreater(shared[0], 48 * 1024, "the tiles in flight of a product")


if __name__ == "__main__":
    program.main()
