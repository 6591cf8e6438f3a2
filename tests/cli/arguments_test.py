"""Rules for the arguments of every command, checked before any work begins."""

import json
import os

import numpy as np

import program

USAGE, BAD_INPUT = 2, 4


class EmptyValues(program.ProgramTest):
    """An unset variable of a shell (--alpha "$ALPHA") is neither a zero nor nothing at all."""

    def setUp(self):
        super().setUp()
        self.save("a.npy", np.ones((2, 2), np.float32))

    def test_values_of_options(self):
        for option in ("--alpha", "--accumulate", "--bias", "--variant", "--json", "--output"):
            output = [] if option == "--output" else ["-o", "c.npy"]
            self.assert_fails(USAGE, f"{option}: its value is empty; see tilescope matmul --help",
                              "matmul", "a.npy", "a.npy", *output, option, "")
        self.assert_fails(USAGE, "--size: its value is empty; see tilescope ladder --help",
                          "ladder", "matmul", "--device", "emulated", "--size", "")
        self.assert_fails(USAGE, "--type: its value is empty; see tilescope tune --help",
                          "tune", "--device", "emulated", "--shape", "8x8x8", "--type", "")
        self.assertEqual(self.files(), ["a.npy"])

    def test_one_of_several(self):
        self.assert_fails(USAGE, "--variant: its value is empty; see tilescope ladder --help",
                          "ladder", "matmul", "--variant", "tiled_16", "--variant", "")

    def test_no_bytes(self):
        for command in (("matmul", "a.npy", "a.npy", "-o", "c.npy"), ("reduce", "a.npy"),
                        ("reverse", "a.npy", "-o", "c.npy")):
            for nothing in ("0", "0GiB"):
                self.assert_fails(USAGE, "--device-memory: at least one byte is needed, not "
                                  f"{nothing}; see tilescope {command[0]} --help", *command,
                                  "--device-memory", nothing)
        self.assertEqual(self.files(), ["a.npy"])


class JsonFile(program.ProgramTest):
    """A file for --json is checked before the work, not after hours of it."""

    def setUp(self):
        super().setUp()
        self.save("a.npy", np.ones((2, 2), np.float32))

    def multiply(self, json):
        return ("matmul", "a.npy", "a.npy", "-o", "c.npy", "--json", json)

    def test_one_that_cannot_be_written(self):
        self.assert_fails(BAD_INPUT, f"cannot write 'no/x.json': the folder '{self.path('no')}' "
                          "does not exist; create it first", *self.multiply("no/x.json"))
        self.assert_fails(BAD_INPUT, "cannot write '.': it is a folder; name a file in it",
                          *self.multiply("."))
        self.assertEqual(self.files(), ["a.npy"])

    def test_one_that_is_an_operand_or_the_result(self):
        os.symlink("a.npy", self.path("link"))
        os.symlink("c.npy", self.path("to_come"))
        before = self.files()
        for json, other in (("c.npy", "c.npy"), ("./c.npy", "c.npy"), ("to_come", "c.npy"),
                            ("a.npy", "a.npy"), ("link", "a.npy"), (self.path("a.npy"), "a.npy")):
            with self.subTest(json=json):
                self.assert_fails(USAGE, f"--json '{json}' would overwrite '{other}', which this "
                                  "command reads or writes too; name another file",
                                  *self.multiply(json))
        self.assertEqual(self.files(), before)
        self.assertTrue(np.array_equal(self.load("a.npy"), np.ones((2, 2))))

    def test_a_kernel_and_its_launch(self):
        with open(self.path("k.cu"), "w", encoding="ascii") as file:
            file.write("__global__ void k(int* x) { x[0] = 1; }\n")
        self.assert_fails(USAGE, "--json 'k.cu' would overwrite 'k.cu', which this command reads "
                          "or writes too; name another file", "check", "k.cu", "--json", "k.cu")

    def test_names_that_are_no_files_do_not_matter(self):
        arguments = ("ladder", "matmul", "--device", "cpu", "--size", "4", "--json", "matmul")
        for _ in range(2):  # the second time there is such a file
            self.assertEqual(self.run_program(*arguments).code, 0)
        self.assertEqual(self.run_program(*self.multiply("x.json")).code, 0)
        self.assertEqual(self.run_program(*self.multiply("x.json")).code, 0)
        self.assertEqual(self.run_program(*self.multiply("-")).code, 0)
        self.assertEqual(self.files(), ["a.npy", "c.npy", "matmul", "x.json"])


class Factors(program.ProgramTest):
    """alpha and beta are float32 where sums are."""

    def setUp(self):
        super().setUp()
        self.save("a.npy", np.full((2, 2), 1e30, np.float64))
        self.save("b.npy", np.full((2, 2), 1.25e-31, np.float64))

    def product(self, *options):
        return ("matmul", "a.npy", "b.npy", "-o", "c.npy", *options)

    def test_out_of_range(self):
        for device in ("cpu", "emulated"):
            for precision in ("fp32", "bf16", "tf32", "fp32_fast", "fp16"):
                for value, text in (("1e39", "1e+39"), ("-1e-39", "-1e-39"), ("1e-50", "1e-50")):
                    options = ("--device", device, "--precision", precision, "--alpha", value)
                    self.assert_fails(
                        USAGE, f"alpha is {text}: in {precision} a factor is a float32, 0 or of a "
                        "size from 1.18e-38 to 3.4e+38; use fp64", *self.product(*options))
        self.assert_fails(
            USAGE, "beta is 1e+39: in fp32 a factor is a float32, 0 or of a size from 1.18e-38 to "
            "3.4e+38; use fp64", *self.product("--device", "cpu", "--precision", "fp32",
                                               "--accumulate", "a.npy", "--beta", "1e39"))

    def test_in_range(self):
        for device in ("cpu", "emulated"):
            for precision, alpha in (("fp64", 1e39), ("fp64", -1e-50), ("fp32", 3.4028235e38),
                                     ("fp32", 1.1754944e-38), ("fp32", 0)):
                result = self.run_program(*self.product("--device", device, "--precision",
                                                        precision, "--alpha", repr(alpha)))
                self.assertEqual((result.code, result.err), (0, ""))
                np.testing.assert_allclose(self.load("c.npy"), np.full((2, 2), alpha / 4), 1e-6)


class Operations(program.ProgramTest):
    """An operation has one name: that of the command that computes it."""

    def list(self, *arguments):
        result = self.run_program("ladder", *arguments, "--list", "--json", "-")
        self.assertEqual((result.code, result.err), (0, ""))
        return json.loads(result.out)

    def test_all_of_them(self):
        names = [operation["name"] for operation in self.list()["operations"]]
        self.assertIn("matmul", names)
        self.assertIn("reduce", names)
        text = self.run_program("ladder", "--list")
        self.assertEqual([line.split()[0] for line in text.out.splitlines()], names)
        for name in names:
            self.assertEqual(self.run_program(name, "--help").code, 0, name)
            self.assertEqual(self.list(name)["operation"], name)

    def test_the_earlier_name_of_reduce(self):
        self.assertEqual(self.list("reduction"), self.list("reduce"))
        result = self.run_program("check", "reduction/one_pass", "--size", "100")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("check reduce/one_pass", result.out)


if __name__ == "__main__":
    program.main()
