"""The one-line message and the exit code when something is wrong."""

import json
import os
import resource
import signal
import subprocess
import time
import unittest

import numpy as np

import program

USAGE, NO_DEVICE, BAD_INPUT = 2, 3, 4


class BadInput(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.save("a.npy", np.ones((2, 3), np.float32))
        self.save("b.npy", np.ones((3, 4), np.float32))
        with open(self.path("a.npy"), "rb") as file:
            self.whole = file.read()

    def write(self, contents):
        with open(self.path("x.npy"), "wb") as file:
            file.write(contents)

    def assert_refused(self, message):
        """As the left operand and as the right one; nothing is written."""
        for operands in (("x.npy", "b.npy"), ("a.npy", "x.npy")):
            self.assert_fails(BAD_INPUT, message, "matmul", *operands, "-o", "c.npy")
        self.assertNotIn("c.npy", self.files())

    def test_truncated_data(self):
        self.write(self.whole[:-1])
        self.assert_refused("'x.npy': the file is truncated: shape (2, 3) of float32 needs 24 "
                            "bytes of data, and the file has 23; copy it again")

    def test_truncated_header(self):
        self.write(self.whole[:20])
        self.assert_refused("'x.npy': the .npy header is truncated: it needs 128 bytes, and the "
                            "file has 20; copy it again")

    def test_empty_file(self):
        self.write(b"")
        self.assert_refused("'x.npy': the file is empty, and a .npy file is needed")

    def test_wrong_magic(self):
        self.write(b"\x93NUMPX" + self.whole[6:])
        self.assert_refused("'x.npy': not a .npy file; save the array with numpy.save")

    def test_header_that_claims_more(self):
        self.write(self.whole.replace(b"(2, 3)", b"(2, 9)"))
        self.assert_refused("'x.npy': the file is truncated: shape (2, 9) of float32 needs 72 "
                            "bytes of data, and the file has 24; copy it again")

    def test_header_that_claims_less(self):
        self.write(self.whole.replace(b"(2, 3)", b"(2, 2)"))
        self.assert_refused("'x.npy': the file is longer than its header says: shape (2, 2) of "
                            "float32 needs 16 bytes of data, and the file has 24; save it with "
                            "numpy.save")

    def test_shape_beyond_any_memory(self):
        self.write(self.whole.replace(b"(2, 3), }            ", b"(3037000500, 3037000500), }"[:21]))
        result = self.run_program("matmul", "x.npy", "b.npy", "-o", "c.npy")
        self.assertEqual(result.code, BAD_INPUT)
        self.assertEqual(result.err.count("\n"), 1)

    def test_empty_arrays_whose_other_extents_wrap_around(self):
        """NumPy does not load them either."""
        side = 1 << 62
        text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (0, {side}, {side}), }}"
        text = text.ljust(117) + "\n"
        self.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode())
        self.assert_refused(f"'x.npy': the shape (0, {side}, {side}) of float32 does not fit in 63 "
                            "bits of bytes")

    def test_big_endian(self):
        self.save("x.npy", np.ones((3, 3), ">f4"))
        self.assert_refused("'x.npy': the element type '>f4' is big-endian, and little-endian is "
                            "needed; save a.astype('<f4')")

    def test_objects(self):
        self.save("x.npy", np.array([[1, "x"]], dtype=object))
        self.assert_refused("'x.npy': the element type '|O' holds Python objects; save numbers, "
                            "a.astype('<f4')")

    def test_integers(self):
        self.save("x.npy", np.ones((3, 3), np.int32))
        self.assert_refused("'x.npy': its elements are int32; matmul takes float16, float32 and "
                            "float64 (in NumPy: a.astype('<f4'))")

    def test_four_dimensions(self):
        self.save("x.npy", np.ones((2, 3, 4, 5), np.float32))
        self.assert_refused("'x.npy': a matrix is needed, with 2 dimensions, and shape (2, 3, 4, "
                            "5) has 4")

    def test_one_dimension(self):
        self.save("x.npy", np.ones(3, np.float32))
        self.assert_refused("'x.npy': a matrix is needed, with 2 dimensions, and shape (3,) has 1; "
                            "save a.reshape(1, -1) for a row or a.reshape(-1, 1) for a column")

    def test_missing_file(self):
        self.assert_refused("cannot read 'x.npy': no such file; check the name and the current "
                            "folder")

    def test_folder(self):
        os.mkdir(self.path("x.npy"))
        self.assert_refused("cannot read 'x.npy': it is a folder; name a file in it")

    def test_a_name_with_a_line_break_stays_on_one_line(self):
        self.save("two\nlines.npy", np.ones((3, 3), np.int32))
        self.assert_fails(BAD_INPUT, "'two\\x0alines.npy': its elements are int32; matmul takes "
                          "float16, float32 and float64 (in NumPy: a.astype('<f4'))",
                          "matmul", "two\nlines.npy", "b.npy", "-o", "c.npy")


class Usage(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.save("a.npy", np.ones((2, 3), np.float32))
        self.save("b.npy", np.ones((3, 4), np.float32))

    def assert_matmul_fails(self, code, message, *options):
        self.assert_fails(code, message, "matmul", "a.npy", "b.npy", "-o", "c.npy", *options)
        self.assertEqual(self.files(), ["a.npy", "b.npy"])

    def test_shapes_that_do_not_multiply(self):
        self.assert_fails(USAGE, "'b.npy' is 3 x 4 and 'a.npy' is 2 x 3: the first's 4 columns "
                          "must equal the second's 2 rows",
                          "matmul", "b.npy", "a.npy", "-o", "c.npy")
        self.assertEqual(self.files(), ["a.npy", "b.npy"])

    def test_unknown_variant(self):
        self.assert_matmul_fails(USAGE, 'matmul has no variant "tield_16", did you mean tiled_16?; '
                                 "see tilescope ladder matmul --list", "--variant", "tield_16")

    def test_a_variant_with_a_line_break_stays_on_one_line(self):
        self.assert_matmul_fails(USAGE, 'matmul has no variant "a\\x0ab"; see tilescope ladder '
                                 "matmul --list", "--variant", "a\nb")

    def test_a_variant_that_the_device_does_not_have(self):
        self.assert_matmul_fails(
            USAGE, "variant tiled_16 does not run on the cpu device, which has cpu_blas; use "
            "--device cuda or emulated", "--variant", "tiled_16", "--device", "cpu")

    def test_rungs_for_comparison(self):
        for variant in ("cublas", "cpu_reference"):
            for device in ("cpu", "emulated"):
                self.assert_matmul_fails(
                    USAGE, f"variant {variant} is only a baseline of tilescope ladder matmul; "
                    "name a kernel, or no variant", "--variant", variant, "--device", device)
        self.assert_matmul_fails(USAGE, "variant cpu_blas does not run on emulated:h200; name a "
                                 "kernel, or use --device cpu", "--variant", "cpu_blas",
                                 "--device", "emulated")

    def test_unknown_device(self):
        result = self.run_program("matmul", "a.npy", "b.npy", "-o", "c.npy", "--device", "gpu")
        self.assertEqual(result.code, USAGE)
        self.assertRegex(result.err, r"^tilescope: --device gpu: no such device; use [^\n]+\n$")
        for name, text in (("emulated:", "emulated:"), ("a\nb", "a\\x0ab")):
            self.assert_matmul_fails(USAGE, f"--device {text}: no such device; use auto, cuda, "
                                     "cuda:N, emulated, emulated:GPU or cpu", "--device", name)

    def test_device_numbers(self):
        self.assert_matmul_fails(USAGE, '--device cuda:x: "x" is not a device number; use cuda:0, '
                                 "cuda:1, ...", "--device", "cuda:x")

    def test_no_gpu(self):
        if program.has_gpu():
            self.skipTest("this machine has a GPU")
        for command in (("matmul", "a.npy", "b.npy", "-o", "c.npy"), ("ladder", "matmul")):
            result = self.run_program(*command, "--device", "cuda")
            self.assertEqual(result.code, NO_DEVICE)
            self.assertEqual(result.out, "")
            self.assertRegex(result.err, r"^tilescope: [^\n]+--device cpu\n$")
        self.assertEqual(self.files(), ["a.npy", "b.npy"])

    def test_arguments(self):
        for arguments, named in (
                (("matmul", "a.npy", "b.npy", "-o", "c.npy", "--bogus"), "--bogus"),
                (("matmul", "a.npy", "b.npy", "-o", "c.npy", "extra"), "extra"),
                (("matmul", "a.npy", "b.npy", "-o", "c.npy", "--order", "X"), "--order"),
                (("matmul", "a.npy", "b.npy", "-o", "c.npy", "--precision", "x"), "--precision"),
                (("matmul", "a.npy", "b.npy"), "--output"),
                (("matmul", "a.npy"), "required"),
                (("ladder",), "required"),
                (("ladder", "matmul", "--size", "-1"), "--size"),
                (("ladder", "matmul", "--size", "ten"), "--size"),
                (("ladder", "matmul", "--size", "8", "--samples", "0"), "--samples"),
                (("ladder", "matmul", "--variant", "none"), '"none"'),
                (("ladder", "none"), "none"),
                (("ladder", "matmul", "--precision", "bf17"), "did you mean bf16?"),
                (("ladder", "matmul", "--precision", "auto"), "--precision auto"),
                (("ladder", "matmul", "--precision", "bf16", "--variant", "tiled_16"),
                 'matmul in bf16 has no variant "tiled_16"'),
                (("ladder", "saxpb", "--precision", "bf16"), "takes no --precision"),
                (("check", "matmul/cublas", "--precision", "bf16"), "is not a Tilescope kernel"),
                (("transfer", "--play", "--bytes", "-5"), "negative"),
                ((), "which command?"),
                (("--bogus",), "--bogus")):
            with self.subTest(arguments=arguments):
                result = self.run_program(*arguments)
                self.assertEqual(result.code, USAGE)
                self.assertEqual(result.out, "")
                self.assertRegex(result.err, r"^tilescope: [^\n]+\n$")
                self.assertIn(named, result.err)
        self.assertEqual(self.files(), ["a.npy", "b.npy"])

    def test_arguments_with_line_breaks_stay_on_one_line(self):
        self.assert_fails(USAGE, "The following argument was not expected: x\\x0ay; see tilescope "
                          "matmul --help", "matmul", "a.npy", "a.npy", "-o", "c.npy", "x\ny")
        self.assert_fails(USAGE, '--alpha: expected a number such as 0.5, got "1\\x1b[31m"; see '
                          "tilescope matmul --help", "matmul", "a.npy", "a.npy", "-o", "c.npy",
                          "--alpha", "1\x1b[31m")

    def test_numbers_that_would_become_0(self):
        for alpha in ("1e-400", "-0.000001e-330"):
            self.assert_fails(USAGE, f"--alpha: {alpha} is nearer to 0 than any number of 64 bits; "
                              "see tilescope matmul --help", "matmul", "a.npy", "a.npy", "-o",
                              "c.npy", f"--alpha={alpha}")
        for alpha in ("0", "-0.0", "0e9", "5e-324", "0x1p-3"):
            result = self.run_program("matmul", "a.npy", "a.npy", "--alpha", alpha, "--device",
                                      "cpu", "-o", "c.npy")
            self.assertNotIn("--alpha", result.err)

    def test_unknown_command(self):
        self.assert_fails(USAGE, 'there is no command "mamtul", did you mean matmul?; see '
                          "tilescope --help", "mamtul")
        self.assert_fails(USAGE, 'there is no command "xyzzy"; see tilescope --help', "xyzzy")


class Output(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.save("a.npy", np.ones((2, 2), np.float32))

    def assert_target_fails(self, code, message, target):
        before = self.files()
        self.assert_fails(code, message, "matmul", "a.npy", "a.npy", "-o", target)
        self.assertEqual(self.files(), before)

    def test_missing_folder(self):
        self.assert_target_fails(BAD_INPUT, "cannot write 'no/c.npy': the folder "
                                 f"'{self.path('no')}' does not exist; create it first", "no/c.npy")

    def test_folder(self):
        os.mkdir(self.path("c.npy"))
        self.assert_target_fails(BAD_INPUT, "cannot write 'c.npy': it is a folder; name a file in "
                                 "it", "c.npy")

    def test_device(self):
        self.assert_target_fails(BAD_INPUT, "cannot write '/dev/null': it is a device or pipe, and "
                                 "a regular file is needed", "/dev/null")

    def test_standard_output(self):
        self.assert_target_fails(USAGE, "cannot write '-': a file is needed, not standard output; "
                                 "name one ('./-' for one named '-')", "-")

    def test_read_only_folder(self):
        target = "/sys/c.npy"  # not even root may create files there
        if os.geteuid() != 0:
            os.mkdir(self.path("closed"), 0o500)
            target = self.path("closed/c.npy")
        result = self.run_program("matmul", "a.npy", "a.npy", "-o", target)
        self.assertEqual(result.code, BAD_INPUT)
        self.assertRegex(result.err, f"^tilescope: cannot write '{target}': (no permission to "
                                     "create files in|.* is on a read-only file system)[^\n]*; "
                                     "choose another folder\n$")

    def test_an_error_keeps_the_old_output(self):
        self.save("c.npy", np.zeros((2, 2), np.float32))
        result = self.run_program("matmul", "a.npy", "missing.npy", "-o", "c.npy")
        self.assertEqual(result.code, BAD_INPUT)
        self.assertTrue(np.array_equal(self.load("c.npy"), np.zeros((2, 2))))

    def test_full_standard_output(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for arguments in (("matmul", "a.npy", "a.npy", "-o", "c.npy"), ("devices",),
                              ("ladder", "matmul", "--list"), ("devices", "--json", "-"),
                              ("--help",), ("matmul", "--help"), ("--version",)):
                with self.subTest(arguments=arguments):
                    result = self.run_program(*arguments, stdout=full)
                    self.assertEqual(result.err, "tilescope: cannot write to standard output: No "
                                                 "space left on device\n")
                    self.assertEqual(result.code, BAD_INPUT)

    def test_a_reader_that_went_away(self):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "w") as closed:
            result = self.run_program("matmul", "a.npy", "a.npy", "-o", "c.npy", stdout=closed)
        self.assertIn(result.code, (-signal.SIGPIPE, BAD_INPUT))
        self.assertTrue(np.array_equal(self.load("c.npy"), np.full((2, 2), 2)))

    def test_standard_streams_that_are_closed(self):
        """No file takes their place, and with it what is meant for them."""
        self.save("c.npy", np.zeros((2, 2), np.float32))
        for closed in ((0,), (1,), (2,), (1, 2), (0, 1, 2)):
            with self.subTest(closed=closed):
                ends = subprocess.run(
                    [os.path.abspath(program.TILESCOPE), "matmul", "a.npy", "a.npy", "-o", "c.npy"],
                    cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                    preexec_fn=lambda: [os.close(number) for number in closed])
                self.assertEqual(ends.returncode, BAD_INPUT if 1 in closed else 0, ends.stderr)
                self.assertTrue(np.array_equal(self.load("c.npy"), np.full((2, 2), 2)))
                self.assertEqual(self.files(), ["a.npy", "c.npy"])
                ends = subprocess.run(
                    [os.path.abspath(program.TILESCOPE), "matmul", "no.npy", "a.npy", "-o",
                     "c.npy"], cwd=self.folder, timeout=60, stderr=subprocess.PIPE,
                    preexec_fn=lambda: [os.close(number) for number in closed])
                self.assertEqual(ends.returncode, BAD_INPUT)

    def test_messages_that_nobody_takes(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            ends = subprocess.run([os.path.abspath(program.TILESCOPE), "matmul", "no.npy", "a.npy",
                                   "-o", "c.npy"], cwd=self.folder, timeout=60, stderr=full)
        self.assertEqual(ends.returncode, BAD_INPUT)

    def test_json_file_that_cannot_be_written(self):
        result = self.run_program("devices", "--json", "no/x.json")
        self.assertEqual(result.code, BAD_INPUT)
        self.assertIn("cannot write 'no/x.json'", result.err)

    def test_past_the_limit_of_file_sizes(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        result = self.run_program("devices", "--json", "x.json", preexec_fn=limit)
        self.assertEqual(result.code, BAD_INPUT)
        self.assertIn("cannot write 'x.json'", result.err)
        self.assertNotIn("x.json", self.files())

    def test_json_of_names_that_are_no_text(self):
        name = os.fsencode(self.folder) + b"/k\xff.cu"
        with open(name, "w", encoding="utf-8") as file:
            file.write("__global__ void k(int* x) { x[0] = 1; }\n")
        result = self.run_program("check", b"k\xff.cu", "--grid", "1", "--block", "1", "--arg",
                                  "i32[1]=zeros", "--json", "-")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertEqual(json.loads(result.out)["target"], "k\ufffd.cu: k")


class Interrupted(program.ProgramTest):
    def wait_for_temporary(self, process):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None:
            if any(name.endswith(".tmp") for name in self.files()):
                return
            time.sleep(0.001)
        self.fail(f"no temporary file was seen; the command ended with {process.returncode}")

    def assert_leaves_nothing(self, number, code):
        """A signal that ends a product while it has a temporary file."""
        with self.subTest(signal=number):
            process = self.start_program("matmul", "a.npy", "a.npy", "-o", "c.npy", "--device",
                                         "cpu")
            self.wait_for_temporary(process)
            process.send_signal(number)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, code)
            self.assertEqual(self.files(), ["a.npy"])

    def test_signals_leave_nothing(self):
        rng = np.random.default_rng(1)
        self.save("a.npy", rng.uniform(-1, 1, (5000, 5000)))
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)):
            self.assert_leaves_nothing(number, code)
        # Others end it as they ever do.
        for number in (signal.SIGPIPE, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1):
            self.assert_leaves_nothing(number, -number)

    def test_the_ladder_stops_in_order(self):
        process = self.start_program("ladder", "matmul", "--size", "1500", "--device", "cpu",
                                     "--samples", "500")
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)  # the second one ends it at once
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)

    def test_the_ladder_stops_soon_while_the_cpu_multiplies(self):
        for rung in ("cpu_reference", "cpu_blas"):
            process = self.start_program("ladder", "matmul", "--size", "4000", "--device",
                                         "emulated", "--variant", rung)
            # In seconds of its processors: on a busy machine those of the clock say little.
            deadline = time.monotonic() + 60
            while self.seconds_of(process) < 2.0 and time.monotonic() < deadline:
                time.sleep(0.01)
            pressed, before = self.seconds_of(process), self.seconds_of_ended_ones()
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
            self.assertLess(self.seconds_of_ended_ones() - before - pressed, 1.0, rung)
            self.assertEqual(process.returncode, 130)
            self.assertIn("interrupted; the rungs above are complete", err)
            self.assertIn("0 rungs ok, 0 wrong, 0 skipped", out)

    @staticmethod
    def seconds_of(process):
        """That a running process has had of all processors, of both kinds."""
        with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
            user, system = file.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def seconds_of_ended_ones():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime


class Sizes(program.ProgramTest):
    """Extents whose numbers of elements no memory holds, or no integer."""

    def test_problems_of_a_ladder(self):
        for extents, matrix in (("-m -n -k", "2147483648 x 2147483648"),
                                ("-m -n", "2147483648 x 8192"),
                                ("-n -k", "8192 x 2147483648"),
                                ("-k", "8192 x 2147483648")):
            given = [word for option in extents.split() for word in (option, str(2 ** 31))]
            for command in (("ladder", "matmul"), ("check", "matmul/general", "--precision",
                                                   "bf16")):
                self.assert_fails(USAGE, f"{matrix}: at most 8589934592 elements", *command,
                                  "--device", "emulated", "--size", "8192", *given)

    @unittest.skipIf(os.cpu_count() == 1, "one core, one thread")
    def test_threads_that_the_system_does_not_start(self):
        def no_room_for_stacks():  # each thread would have one of 8 GiB
            resource.setrlimit(resource.RLIMIT_STACK, (8 << 30, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
        self.assert_fails(NO_DEVICE, "the system starts no more threads for this process; raise "
                          "its limit of processes (ulimit -u) or of memory (ulimit -v)", "check",
                          "matmul/tiled_16", "--size", "64", preexec_fn=no_room_for_stacks)

    def test_products_to_tune(self):
        largest, half = str(2 ** 63 - 1), str(2 ** 62)
        for shape in (f"1x1x{largest}", f"1x{largest}x1", f"{largest}x1x1", f"{half}x4x1",
                      f"{2 ** 31}x{2 ** 31}x{2 ** 31}", f"{largest}x{largest}x{largest}"):
            text = shape.replace("x", " x ")
            self.assert_fails(USAGE, f"a product of {text}, 1 times: a matrix would have more than "
                              "10^15 elements, which no memory holds", "tune", "--device",
                              "emulated", "--shape", shape)
        self.assert_fails(USAGE, f"a product of 4 x 4 x 4, {half} times: a matrix would have more "
                          "than 10^15 elements, which no memory holds", "tune", "--device",
                          "emulated", "--shape", "4x4x4", "--batch", half)


if __name__ == "__main__":
    program.main()
