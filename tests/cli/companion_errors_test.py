"""The commands of the companion operations on files and options that do not fit: one line each."""

import os
import stat

import numpy as np

import companions
import program


def uniform(shape, dtype):
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(dtype)


class BadInput(companions.Companions):
    COMMANDS = [("saxpb",), ("scale",), ("reverse",), ("transpose",), ("laplacian",), ("reduce",),
                ("histogram",), ("blur",)]

    def output(self, command):
        return [] if command in ("reduce", "histogram") else ["-o", "out.npy"]

    def fails(self, code, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, code, (arguments, result.err))
        self.assertEqual((result.err.count("\n"), result.out), (1, ""), arguments)
        self.assertTrue(result.err.startswith("tilescope: "), result.err)
        self.assertNotIn("internal", result.err)
        return result.err

    def test_files_that_are_none(self):
        self.save("whole.npy", uniform((5, 5), np.float32))
        with open(self.path("whole.npy"), "rb") as file:
            whole = file.read()
        with open(self.path("short.npy"), "wb") as file:
            file.write(whole[:-1])
        os.mkdir(self.path("folder.npy"))
        for (command,) in self.COMMANDS:
            for name in ("short.npy", "missing.npy", "folder.npy"):
                message = self.fails(4, command, name, *self.output(command))
                self.assertIn(name, message)
        self.assertEqual(self.files(), ["folder.npy", "short.npy", "whole.npy"])

    def test_types_that_do_not_fit(self):
        self.save("x.npy", np.zeros((4, 4), np.complex64))
        for (command,) in self.COMMANDS:
            self.fails(4, command, "x.npy", *self.output(command))
        self.save("x.npy", np.zeros((4, 4), np.int64))
        for command in ("saxpb", "scale", "laplacian", "reduce", "histogram", "blur"):
            self.assertIn("int64", self.fails(4, command, "x.npy", *self.output(command)))

    def test_shapes_that_do_not_fit(self):
        self.save("list.npy", uniform(7, np.float32))
        self.save("grid.npy", uniform((3, 4), np.float32))
        for command in ("transpose", "laplacian"):
            self.fails(4, command, "list.npy", "-o", "out.npy")
        self.fails(4, "reverse", "grid.npy", "-o", "out.npy")
        self.assertIn("alike", self.fails(4, "vector_add", "list.npy", "grid.npy", "-o", "out.npy"))
        self.save("picture.npy", np.zeros((3, 4, 5), np.uint8))
        self.fails(4, "blur", "picture.npy", "-o", "out.npy")
        self.assertNotIn("out.npy", self.files())

    def test_outputs_that_cannot_be_written(self):
        self.save("x.npy", uniform(7, np.float32))
        os.mkdir(self.path("folder"))
        self.fails(4, "reverse", "x.npy", "-o", "folder")
        self.fails(4, "reverse", "x.npy", "-o", "no/such/folder/y.npy")
        if os.geteuid() == 0:
            return  # root may write everywhere
        os.chmod(self.path("folder"), stat.S_IRUSR | stat.S_IXUSR)
        self.fails(4, "reverse", "x.npy", "-o", "folder/y.npy")
        os.chmod(self.path("folder"), stat.S_IRWXU)

    def test_options_that_do_not_fit(self):
        self.save("x.npy", uniform((4, 4), np.float32))
        self.save("p.npy", np.zeros((4, 4), np.uint8))
        for arguments in [("blur", "p.npy", "-o", "o.npy", "--radius", "65"),
                          ("blur", "p.npy", "-o", "o.npy", "--radius", "-1"),
                          ("histogram", "p.npy", "--bins", "0"),
                          ("histogram", "p.npy", "--bins", "65537"),
                          ("histogram", "p.npy", "--range", "5,5"),
                          ("histogram", "p.npy", "--range", "0.5,5"),
                          ("histogram", "x.npy", "--range", "1,-1"),
                          ("histogram", "x.npy", "--text"),
                          ("laplacian", "x.npy", "-o", "o.npy", "--iterations", "0"),
                          ("reduce", "x.npy", "--op", "product"),
                          ("reduce", "x.npy", "--variant", "no_such"),
                          ("reduce", "x.npy", "--device", "cpu", "--variant", "one_pass"),
                          ("saxpb",), ("saxpb", "x.npy"),
                          ("saxpb", "x.npy", "--nvals", "5", "-o", "o.npy"),
                          ("scale", "x.npy"), ("vector_add", "x.npy", "-o", "o.npy")]:
            self.fails(2, *arguments)
        self.assertEqual(self.files(), ["p.npy", "x.npy"])


if __name__ == "__main__":
    program.main()
