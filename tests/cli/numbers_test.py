"""Numbers that are no sizes, and sizes that are no numbers, in every option that takes one."""

import re
import time

import numpy as np

import program

USAGE = 2
NO_NUMBERS = ("nan", "inf", "-1", "1e400", "0x10", "010", "", "99999999999999999999")

# A run of each command that takes numbers, without them.
COMMANDS = {
    "matmul": ["a.npy", "a.npy", "-o", "c.npy", "--device", "cpu"],
    "saxpb": ["--device", "cpu"],
    "scale": ["a.npy", "-o", "c.npy", "--device", "cpu"],
    "blur": ["a.npy", "-o", "c.npy", "--device", "cpu"],
    "laplacian": ["a.npy", "-o", "c.npy", "--device", "cpu"],
    "histogram": ["a.npy", "--device", "cpu"],
    "reduce": ["a.npy", "--device", "cpu"],
    "reverse": ["a.npy", "-o", "c.npy", "--device", "cpu"],
    "ladder": ["saxpb", "--device", "emulated", "--variant", "many_blocks"],
    "check": ["saxpb/many_blocks"],
    "explain": ["saxpb/many_blocks"],
    "tune": ["--device", "emulated", "--shape", "8x8x8"],
    "transfer": ["--play"],
    "occupancy": ["--threads", "128"],
    "roofline": ["--intensity", "1"],
    "tiles": [],
    "warps": ["i < 5"],
    "banks": ["x[threadIdx.x]"],
    "coalesce": ["x[threadIdx.x]"],
    "dram": [],
}

OPTION = re.compile(r"^ +(?:-\w, ?)?(--[\w-]+) (N|W|BYTES|X|GB/s)\b(?![\[\]x])", re.MULTILINE)


class Numbers(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.save("a.npy", np.ones((4, 4), np.float32))

    def options(self, command):
        return OPTION.findall(self.run_program(command, "--help").out)

    def test_what_is_no_number(self):
        tried, seen = 0, set()
        for command, arguments in COMMANDS.items():
            for option, kind in self.options(command):
                if option in seen:
                    continue  # one function adds it to several commands
                seen.add(option)
                for text in NO_NUMBERS:
                    if kind in ("X", "GB/s") and re.fullmatch(r"0x10|010|9+", text):
                        continue  # a rate has every notation of a real number
                    if option in ("--alpha", "--beta") and text == "-1":
                        continue
                    result = self.run_program(command, *arguments, f"{option}={text}")
                    with self.subTest(command=command, option=option, text=text):
                        self.assertEqual(result.code, USAGE, result.out + result.err)
                        self.assertEqual(result.out, "")
                        self.assertRegex(result.err, r"^tilescope: [^\n]+\n$")
                    tried += 1
        self.assertGreater(tried, 300)
        self.assertEqual(self.files(), ["a.npy"])

    def test_what_is_one(self):
        for arguments in (("ladder", "saxpb", "--list", "--size", "64"),
                          ("transfer", "--play", "--bytes", "64MiB", "--link", "1e2"),
                          ("transfer", "--play", "--bytes", "2gb", "--segment", "16 MiB"),
                          ("roofline", "--flops", "2e9", "--bytes", "8"),
                          ("reduce", "a.npy", "--device", "cpu", "--device-memory", "1KiB")):
            result = self.run_program(*arguments)
            self.assertEqual((result.code, result.err), (0, ""), arguments)

    def test_messages(self):
        for option, text, message in (
                ("--seed", "-1", '--seed: expected a whole number such as 64, got "-1"'),
                ("--size", "010", '--size: expected a whole number such as 64, got "010"'),
                ("--size", "abc", '--size: expected a whole number such as 64, got "abc"'),
                ("--size", "", "--size: its value is empty"),
                ("--samples", "1e3", '--samples: expected a whole number such as 64, got "1e3"'),
                ("--samples", "", "--samples: its value is empty"),
                ("--samples", "0", "--samples: Value 0 not in range 1 to 10000")):
            self.assert_fails(USAGE, message + "; see tilescope ladder --help", "ladder", "saxpb",
                              "--device", "emulated", option, text)
        for text, why in (("x", 'expected a whole number such as 64, got "x"'),
                          ("0x10", 'expected a whole number such as 64, got "0x10"'),
                          ("-3", "Value -3 not in range 1 to 10000000")):
            self.assert_fails(USAGE, f"--lanes: {why}; see tilescope explain --help", "explain",
                              "saxpb/vector", "--lanes", text)
        self.assert_fails(USAGE, "--memory: expected a positive number, got nan; see tilescope "
                          "transfer --help", "transfer", "--play", "--memory", "nan")
        self.assert_fails(USAGE, "--bytes: expected bytes such as 64MiB, got nan; see tilescope "
                          "transfer --help", "transfer", "--play", "--bytes", "nan")


class Segments(program.ProgramTest):
    def test_small_segments_take_no_minutes(self):
        begin = time.monotonic()
        result = self.run_program("transfer", "--play", "--segment", "4096")
        self.assertEqual(result.code, 0, result.err)
        self.assertLess(time.monotonic() - begin, 20)

    def test_too_many_segments(self):
        for segment in ("1", "4095"):
            result = self.run_program("transfer", "--play", "--segment", segment)
            self.assertEqual(result.code, USAGE)
            self.assertRegex(result.err, r"^tilescope: --bytes 768 MiB in segments of [^\n]+ makes "
                             r"[\d,]+ segments, more than 65,536; choose a larger --segment\n$")


if __name__ == "__main__":
    program.main()
