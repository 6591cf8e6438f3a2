"""The companion commands with less device memory than their arrays need."""

import json
import os
import signal
import time
import unittest

import numpy

from program import ProgramTest

COUNT = 20011


class Streamed(ProgramTest):
    def setUp(self):
        super().setUp()
        self.x = numpy.random.default_rng(9).uniform(-1, 1, COUNT).astype(numpy.float32)
        self.save("x.npy", self.x)
        self.save("y.npy", self.x[::-1].copy())

    def result(self, *arguments):
        return json.loads(self.ok(*arguments, "--json", "-"))

    def ok(self, *arguments):
        done = self.run_program(*arguments)
        self.assertEqual((done.code, done.err), (0, ""))
        return done.out

    def bytes_of(self, name):
        with open(os.path.join(self.folder, name), "rb") as file:
            return file.read()

    def test_arrays_are_the_same_bytes(self):
        for command in (("saxpb", "x.npy", "-a", "3", "-b", "0.1"), ("scale", "x.npy", "-f", "0.3"),
                        ("vector_add", "x.npy", "y.npy"), ("reverse", "x.npy")):
            with self.subTest(command[0]):
                self.ok(*command, "--device", "emulated", "-o", "whole.npy")
                said = self.result(*command, "--device", "emulated", "-o", "chunks.npy",
                                   "--device-memory", "16KiB")
                self.assertRegex(said["variant"], r" in \d\d+ chunks$")
                self.assertEqual(self.bytes_of("whole.npy"), self.bytes_of("chunks.npy"))

    def test_counts_and_reductions(self):
        limited = ("--device", "emulated", "--device-memory", "16KiB")
        counts = self.result("histogram", "x.npy", "--bins", "20", *limited)
        numpy_counts = numpy.histogram(self.x, 20)[0]
        self.assertEqual(counts["counted"], COUNT)
        self.assertLessEqual(abs(numpy_counts - counts["counts"]).max(), 1)  # at a bin's edge
        self.assertEqual(self.result("reduce", "x.npy", "--op", "argmax", *limited)["value"],
                         int(self.x.argmax()))
        total = self.result("reduce", "x.npy", *limited)["value"]
        exact = self.x.astype(numpy.float64)
        self.assertAlmostEqual(total, exact.sum(), delta=2**-20 * abs(exact).sum())
        self.assertEqual(total, self.result("reduce", "x.npy", *limited)["value"])

    def test_the_cpu_has_no_such_limit(self):
        said = self.result("reduce", "x.npy", "--op", "max", "--device", "cpu",
                           "--device-memory", "1")
        self.assertEqual(said["value"], float(self.x.max()))
        self.assertEqual(said["variant"], "cpu")

    def test_an_input_cut_short_and_an_interruption_leave_nothing(self):
        for happen, code, words in ((lambda p: os.truncate(self.path("long.npy"), 5000), 4,
                                     "'long.npy' was cut short"),
                                    (lambda p: p.send_signal(signal.SIGINT), 130, "")):
            self.save("long.npy", numpy.zeros(1 << 22, numpy.float32))
            before = self.files()
            process = self.start_program("saxpb", "long.npy", "-o", "out.npy", "--device",
                                         "emulated", "--device-memory", "4KiB")
            while not any(name.endswith(".tmp") for name in self.files()):
                self.assertIsNone(process.poll())
                time.sleep(0.005)
            happen(process)
            errors = process.communicate(timeout=100)[1]
            self.assertEqual(process.returncode, code, errors)
            self.assertIn(words, errors)
            self.assertEqual(self.files(), before)

    def test_limits_that_cannot_be(self):
        for options, words in (
                (("reduce", "x.npy", "--device-memory", "20"), "raise the limit"),
                (("histogram", "x.npy", "--device-memory", "1KiB"), "raise the limit"),
                (("saxpb", "--nvals", "9", "--device-memory", "1KiB"), "--nvals")):
            done = self.run_program(*options, "--device", "emulated")
            self.assertEqual(done.code, 2, done.err)
            self.assertEqual(done.err.count("\n"), 1)
            self.assertIn(words, done.err)


if __name__ == "__main__":
    unittest.main()
