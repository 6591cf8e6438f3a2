"""tilescope tune: what it prints, keeps, lists and forgets, on the emulated GPU."""

import atexit
import json
import os
import tempfile
import time
import unittest

import numpy as np

import program

PRODUCT = ("tune", "--device", "emulated", "--precision", "fp16", "--shape", "32x32x32")
COMPILED = tempfile.TemporaryDirectory(prefix="tilescope.")
atexit.register(COMPILED.cleanup)
FILE = "tuned/emulated-nvidia-h200-sm_90-132-sms.json"


def link_files(source, target):
    """Both folders have the same file afterwards where `source` has one; folders are left alone."""
    for name in os.listdir(source):
        path, link = os.path.join(source, name), os.path.join(target, name)
        if os.path.isfile(path) and not os.path.exists(link):
            os.link(path, link)


class Tune(program.ProgramTest):
    """Each test has a cache of its own: what is tuned is there. Compiled kernels, which are too, are
    those of the tests before: each is compiled once."""

    def setUp(self):
        super().setUp()
        cache = self.path("cache")
        self.env = {"TILESCOPE_CACHE": cache}
        os.mkdir(cache)
        link_files(COMPILED.name, cache)
        self.addCleanup(link_files, cache, COMPILED.name)

    def tune(self, *arguments, **env):
        return self.run_program("tune", *arguments, env=dict(self.env, **env))

    def stored(self):
        with open(os.path.join(self.path("cache"), FILE), encoding="utf-8") as file:
            return json.load(file)

    def write(self, text):
        os.makedirs(os.path.join(self.path("cache"), "tuned"), exist_ok=True)
        with open(os.path.join(self.path("cache"), FILE), "w", encoding="utf-8") as file:
            file.write(text)

    def product(self, **env):
        """What matmul reports for the product of PRODUCT."""
        rng = np.random.default_rng(1)
        self.save("a.npy", rng.random((32, 32)).astype(np.float16))
        result = self.run_program("matmul", "a.npy", "a.npy", "-o", "c.npy", "--device", "emulated",
                                  "--precision", "fp16", "--json", "-", env=dict(self.env, **env))
        self.assertEqual(result.code, 0, result.err)
        return json.loads(result.out), result.err

    def choose(self, variant):
        """The product as if this had been measured to be the fastest."""
        self.assertEqual(self.tune(*PRODUCT[1:]).code, 0)
        document = self.stored()
        (entry,) = document["products"].values()
        entry["variant"], entry["plan"] = variant, ""
        self.write(json.dumps(document))

    def test_table(self):
        result = self.tune(*PRODUCT[1:])
        self.assertEqual((result.code, result.err), (0, ""))
        lines = result.out.splitlines()
        self.assertEqual(lines[0], "tune on emulated:h200 (NVIDIA H200)")
        self.assertTrue(lines[1].startswith("32x32x32 fp16, A float16 by rows of 32"), lines[1])
        self.assertRegex(result.out, r"\nmma_sync +- +[\d.]+ [mu]s +[\d.]+ +(chosen|model's)\n")
        self.assertRegex(result.out, r"\ngeneral +- +[\d.]+ [mu]s +[\d.]+ *(chosen|slower|)\n")
        self.assertIn("kept in", result.out)
        for line in lines:
            self.assertTrue(len(line) <= 80 or "/" in line, line)

    def test_json(self):
        result = self.tune(*PRODUCT[1:], "--json", "-")
        document = json.loads(result.out)
        self.assertEqual((document["version"], document["command"]), (1, "tune"))
        (product,) = document["products"]
        variants = [one["variant"] for one in product["candidates"]]
        self.assertEqual(variants[:2], ["mma_sync", "general"])
        with_plans = {"short_k_mma", "short_k"}  # of which a model ranks each
        self.assertEqual(set(variants[2:]), with_plans)
        self.assertEqual(sum(one["chosen"] for one in product["candidates"]), 1)
        for one in product["candidates"]:
            self.assertIn(one["verdict"], ("ok", "slower"))
            self.assertGreater(one["time_ms"], 0.0)
            self.assertEqual(one["predicted_ms"] is not None, one["variant"] in with_plans)
        self.assertEqual(product["file"], os.path.join(self.path("cache"), FILE))

    def test_matmul_takes_what_is_on_file_and_says_so(self):
        self.assertEqual(self.product()[0]["note"], "")
        self.choose("general")
        document, err = self.product()
        self.assertEqual((document["variant"], document["note"], err), ("general", "tuned", ""))
        document, err = self.product(TILESCOPE_AUTOTUNE="0")
        self.assertEqual((document["variant"], document["note"], err), ("mma_sync", "", ""))

    def test_the_same_file_gives_the_same_bits(self):
        self.choose("general")
        first = (self.product(), self.load("c.npy"))[1]
        again = (self.product(), self.load("c.npy"))[1]
        self.assertEqual(first.tobytes(), again.tobytes())

    def test_a_damaged_file_is_one_line(self):
        self.write('{"version": 1,')
        document, err = self.product()
        self.assertEqual(document["variant"], "mma_sync")
        self.assertRegex(err, r"^tilescope: note: tuned plans are not used: '.*' is damaged; "
                              r"tilescope tune rewrites it\n$")
        listed = self.tune("--list")
        self.assertEqual((listed.code, listed.out), (0, "nothing is tuned\n"))
        self.assertEqual(listed.err, err)
        self.assertEqual(self.tune(*PRODUCT[1:]).err, err)
        self.assertEqual(self.product()[1], "")

    def test_times_of_other_kernels_are_silently_left_alone(self):
        self.choose("general")
        document = self.stored()
        document["kernels"] = "0123456789abcdef"
        self.write(json.dumps(document))
        report, err = self.product()
        self.assertEqual((report["variant"], err), ("mma_sync", ""))
        self.assertIn("is of other kernels than this version's", self.tune("--list").err)

    def test_names_from_a_file_are_no_control_sequences(self):
        self.choose("general")
        document = self.stored()
        for product in document["products"].values():
            product["variant"] = "\x1b[31mred\n"
        self.write(json.dumps(document))
        self.assertRegex(self.tune("--list").out, r"\\x1b\[31mred\\x0a( [^\n:]+)?: ")

    def test_list_and_forget(self):
        self.assertEqual(self.tune("--list").out, "nothing is tuned\n")
        self.tune("--device", "emulated", "--precision", "fp16", "--precision", "bf16",
                  "--shape", "32x32x32", "--shape", "16x32x48")
        listed = self.tune("--list")
        self.assertTrue(listed.out.startswith("emulated NVIDIA H200, sm_90, 132 SMs\n  16x32x48 "))
        self.assertEqual(listed.out.count("model's mma_sync: "), 4)

        def names(*arguments):
            products = json.loads(self.tune("--list", "--json", "-", *arguments).out)["tuned"]
            return [one["product"].split(",")[0] for one in products]

        self.assertEqual(names(), ["16x32x48 bf16", "16x32x48 fp16", "32x32x32 bf16",
                                   "32x32x32 fp16"])
        self.assertEqual(names("--precision", "bf16"), ["16x32x48 bf16", "32x32x32 bf16"])
        self.assertEqual(self.tune("--forget", "--precision", "bf16", "--shape", "32x32x32").out,
                         "1 product forgotten\n")
        self.assertEqual(self.tune("--forget", "--shape", "16x32x48").out, "2 products forgotten\n")
        self.assertEqual(names(), ["32x32x32 fp16"])
        self.assertEqual(self.tune("--forget").out, "1 product forgotten\n")
        self.assertEqual(names(), [])
        self.assertEqual(os.listdir(os.path.join(self.path("cache"), "tuned")),
                         [os.path.basename(FILE) + ".lock"])

    def test_no_keep(self):
        self.assertIn("; not kept\n", self.tune(*PRODUCT[1:], "--no-keep").out)
        self.assertEqual(self.tune("--list").out, "nothing is tuned\n")

    def test_options_of_the_product(self):
        result = self.tune(*PRODUCT[1:], "--type", "float32", "--batch", "2", "--transpose-b",
                           "--accumulate", "--bias", "--activation", "relu")
        self.assertEqual((result.code, result.err), (0, ""))
        name = " ".join(result.out.split("candidate ")[0].split("\n", 1)[1].split())
        self.assertEqual(name, "32x32x32 fp16, batch 2, A float16 by rows of 32 + 1024, B float16 "
                               "by columns of 32 + 1024, C float32 by rows of 32 + 1024, adds to "
                               "C, bias of columns, relu")

    def test_errors(self):
        cpu = ("the cpu device has one way to multiply: there is nothing to tune; use --device "
               "cuda, or emulated")
        self.assert_fails(3, cpu, "tune", "--device", "cpu", "--shape", "8x8x8", env=self.env)
        self.assert_fails(2, "no product: give --shape MxNxK, such as --shape 4096x4096x4096; "
                          "--list shows tuned products", "tune", env=self.env)
        for shape in ("8x8", "8x8x0", "8x8x8x8", "axbxc", "8x8x-8", "x8x8"):
            self.assert_fails(2, f"--shape {shape}: give MxNxK, extents of at least 1, such as "
                              "1000x999x1001", "tune",
                              "--shape", shape, env=self.env)
        self.assert_fails(2, "--list and --forget exclude each other", "tune", "--list", "--forget",
                          env=self.env)

    def test_what_cannot_be_kept_is_not_measured(self):
        with open(self.path("file"), "w", encoding="ascii"):
            pass
        began = time.monotonic()
        result = self.run_program("tune", "--device", "emulated", "--precision", "bf16", "--shape",
                                  "1500x1500x1500", env={"TILESCOPE_CACHE": self.path("file")})
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(result.code, 4)
        self.assertRegex(result.err, f"^tilescope: cannot write '{self.path('file')}/tuned/[^\n]+"
                                     "\n$")

    def test_nowhere_to_keep_it(self):
        result = self.run_program(*PRODUCT, env={"TILESCOPE_CACHE": ""})
        self.assertEqual(result.code, 4)
        self.assertEqual(result.err, "tilescope: cannot keep tuned plans: there is no cache; set "
                                     "TILESCOPE_CACHE to a folder, or give --no-keep\n")
        self.assertEqual(result.out, "")
        self.assertEqual(self.run_program(*PRODUCT, "--no-keep", env={"TILESCOPE_CACHE": ""}).code,
                         0)


if __name__ == "__main__":
    program.main()
