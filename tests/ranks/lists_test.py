"""reduce, histogram and saxpb under mpirun: the results of one process, to the bit, for any number of
ranks and any length, and mistakes end all ranks with one line."""

import json
import os
import signal
import subprocess
import time
import unittest

import numpy as np

from launchers import TILESCOPE, InFolder, errors_of, launchers, processes

LAUNCHERS = launchers()
SECTION = 65536  # elements that stay together


class Lists(InFolder):
    def save(self, count, dtype=np.float32, seed=1, name="x.npy"):
        """Values whose sum differs in almost every order of additions."""
        draw = np.random.default_rng(seed)
        if np.issubdtype(dtype, np.integer):
            info = np.iinfo(dtype)
            values = draw.integers(info.min, info.max, count, dtype, endpoint=True)
        else:
            values = np.ldexp(draw.random(count) - 0.5, draw.integers(0, 30, count)).astype(dtype)
        np.save(self.path(name), values)
        return values

    def alone(self, *arguments):
        """The report of one process on the CPU."""
        done = subprocess.run([TILESCOPE, *arguments, "--device", "cpu", "--json", "-"], text=True,
                              cwd=self.folder, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def together(self, ranks, *arguments, launcher=LAUNCHERS[0]):
        """The report of ranks. It differs from one process's in the place alone."""
        done = launcher.run(ranks, *arguments, "--json", "-", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        page = json.loads(done.stdout)
        self.assertEqual((page["ranks"], page["hosts"]), (ranks, 1))
        self.assertIn(f" on {ranks} ranks", page["variant"])
        return page

    def same(self, page, expected, keys):
        self.assertEqual({key: page[key] for key in keys}, {key: expected[key] for key in keys})


class Reduce(Lists):
    def check(self, ranks, *options, launcher=LAUNCHERS[0]):
        expected = self.alone("reduce", "x.npy", *options)
        page = self.together(ranks, "reduce", "x.npy", *options, launcher=launcher)
        self.same(page, expected, ("op", "shape", "type", "value_text", "value"))
        return page

    def test_sums_of_any_number_of_ranks(self):
        for number, count in enumerate([5 * SECTION + 4321, SECTION + 1, 1001, 1, 0]):
            for dtype in (np.float32, np.float64, np.int32):
                self.save(count, dtype)
                ranks = [2, 3, 4, 5][(number + np.dtype(dtype).num) % 4]
                with self.subTest(count=count, dtype=dtype, ranks=ranks):
                    self.check(ranks)
        self.save(7 * SECTION - 1)
        for ranks in range(2, 6):
            self.check(ranks)

    def test_the_order_shows(self):
        values = self.save(5 * SECTION + 4321)
        self.assertNotEqual(self.check(3)["value"], float(values.astype(np.float64).cumsum()[-1]))

    def test_one_rank_is_one_process(self):
        self.save(3 * SECTION + 5)
        done = LAUNCHERS[0].run(1, "reduce", "x.npy", "--device", "cpu", "--json", "-",
                                cwd=self.folder)
        self.assertEqual(json.loads(done.stdout)["value"], self.check(2)["value"])

    def test_extremes(self):
        values = self.save(4 * SECTION + 77, np.float64)
        for option in ("min", "max", "argmax"):
            self.check(3, "--op", option)
        values[SECTION + 3] = values[3 * SECTION + 1] = np.nan
        np.save(self.path("x.npy"), values)
        self.assertEqual(self.check(4, "--op", "argmax")["value"], SECTION + 3)
        self.assertEqual(self.check(4, "--op", "max")["value_text"], "nan")
        self.save(3 * SECTION, np.int32)
        self.check(3, "--op", "min")
        np.save(self.path("x.npy"), np.full(3 * SECTION, -2.5, np.float32))
        self.assertEqual(self.check(3, "--op", "argmax")["value"], 0)

    def test_each_mpi(self):
        self.save(3 * SECTION + 1)
        for launcher in LAUNCHERS:
            with self.subTest(mpi=launcher.name):
                self.check(3, launcher=launcher)

    def test_emulated_gpus(self):
        """The sum's bits are those of a CPU on GPUs too: of ranks, and of one process."""
        self.save(3 * SECTION + 3)
        expected = self.alone("reduce", "x.npy")
        page = self.together(2, "reduce", "x.npy", "--device", "emulated")
        self.same(page, expected, ("value_text", "value"))
        self.assertEqual(page["rank_device"], "emulated")
        for devices in ("emulated", "emulated,emulated", "emulated,emulated:t4,emulated"):
            done = subprocess.run([TILESCOPE, "reduce", "x.npy", "--devices", devices, "--json",
                                   "-"], text=True, cwd=self.folder, stdout=subprocess.PIPE,
                                  check=True)
            page = json.loads(done.stdout)
            self.same(page, expected, ("value_text", "value"))
            self.assertEqual((page["device"], page["variant"]), (devices, "fixed_order"))


class Histogram(Lists):
    KEYS = ("elements", "counted", "type", "bins", "lower", "upper", "counts")

    def check(self, ranks, *options, launcher=LAUNCHERS[0]):
        arguments = ("histogram", "x.npy", *options)
        page = self.together(ranks, *arguments, launcher=launcher)
        self.same(page, self.alone(*arguments), self.KEYS)

    def test_any_number_of_ranks(self):
        for ranks in range(2, 6):
            self.save(5 * SECTION + 999, np.uint8, seed=ranks)
            self.check(ranks)
            self.save(5 * SECTION + 1, np.float32, seed=ranks)
            self.check(ranks, "--bins", "1000")
            self.check(ranks, "--bins", "7", "--range", "-1,1")

    def test_short_lists(self):
        for count in (0, 1, SECTION - 1):
            self.save(count, np.float64)
            self.check(3)
            self.save(count, np.int16)
            self.check(3, "--bins", "65536")

    def test_files_of_bytes(self):
        self.save(3 * SECTION, np.uint16)
        self.check(3, "--bytes", launcher=LAUNCHERS[-1])

    def test_counts_in_a_file(self):
        self.save(2 * SECTION, np.uint8)
        self.together(2, "histogram", "x.npy", "-o", "ranks.npy")
        self.alone("histogram", "x.npy", "-o", "one.npy")
        self.assertEqual(self.bits("ranks.npy"), self.bits("one.npy"))

    def test_several_emulated_gpus(self):
        self.save(SECTION, np.float32)
        done = subprocess.run([TILESCOPE, "histogram", "x.npy", "--devices", "emulated,emulated",
                               "--json", "-"], text=True, cwd=self.folder, stdout=subprocess.PIPE,
                              check=True)
        self.same(json.loads(done.stdout), self.alone("histogram", "x.npy"), self.KEYS)


class Saxpb(Lists):
    OPTIONS = ("-a", "0.3", "-b", "0.7")

    def test_any_number_of_ranks(self):
        for ranks, count in ((2, 3 * SECTION + 1), (3, 3 * SECTION), (4, 1), (5, 0),
                             (5, 6 * SECTION - 3)):
            for dtype in (np.float32, np.float64):
                with self.subTest(ranks=ranks, count=count, dtype=dtype):
                    self.save(count, dtype)
                    self.alone("saxpb", "x.npy", *self.OPTIONS, "-o", "one.npy")
                    self.together(ranks, "saxpb", "x.npy", *self.OPTIONS, "-o", "ranks.npy",
                                  launcher=LAUNCHERS[ranks % len(LAUNCHERS)])
                    self.assertEqual(self.bits("ranks.npy"), self.bits("one.npy"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["one.npy", "ranks.npy", "x.npy"])

    def test_several_emulated_gpus(self):
        self.save(SECTION + 17, np.float32)
        for devices in ("emulated", "emulated,emulated,emulated"):
            subprocess.run([TILESCOPE, "saxpb", "x.npy", *self.OPTIONS, "--devices", devices, "-o",
                            devices + ".npy"], cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
        self.assertEqual(self.bits("emulated.npy"), self.bits("emulated,emulated,emulated.npy"))


class Mistakes(Lists):
    def check(self, code, message, *arguments):
        with self.subTest(message=message):
            found = errors_of(LAUNCHERS[0].run(3, *arguments, cwd=self.folder))
            self.assertEqual(found, (code, ["tilescope: " + message]))
            self.assertEqual(sorted(os.listdir(self.folder)), ["x.npy"])

    def test_one_line_and_the_exit_code(self):
        self.save(10)
        fixed = "--variant does not work with {}: sums are added up in a fixed order"
        self.check(4, "cannot read 'no.npy': no such file; check the name and the current folder",
                   "reduce", "no.npy")
        self.check(2, fixed.format("ranks of mpirun"), "reduce", "x.npy", "--variant", "one_pass")
        self.check(2, "--devices does not work with ranks of mpirun", "histogram", "x.npy",
                   "--devices", "all")
        self.check(2, "--device-memory does not work with ranks of mpirun", "saxpb", "x.npy", "-o",
                   "y.npy", "--device-memory", "1MiB")
        self.check(2, "--nvals does not work with ranks of mpirun", "saxpb", "--nvals", "7")
        self.check(2, "saxpb of a file needs -o/--output", "saxpb", "x.npy")
        self.check(4, f"cannot write 'no/y.npy': the folder '{self.path('no')}' does not exist; "
                      "create it first", "saxpb", "x.npy", "-o", "no/y.npy")
        self.save(10, np.int32)
        self.check(4, "'x.npy': its elements are int32; saxpb takes float32, float64 (in NumPy: "
                      "x.astype('float32'))", "saxpb", "x.npy", "-o", "y.npy")
        self.save(0)
        self.check(2, "an empty list has no max", "reduce", "x.npy", "--op", "max")
        np.save(self.path("x.npy"), np.array([1.0, np.inf], np.float32))
        self.check(4, "'x.npy': its elements reach from 1 to inf; give a --range LO,HI",
                   "histogram", "x.npy")

    def test_without_ranks(self):
        self.save(10)
        for message, arguments in [
                ("--devices does not work with --device-memory",
                 ("reduce", "x.npy", "--devices", "emulated", "--device-memory", "1MiB")),
                ("the cpu device takes no part in a sharded list: use GPUs, or emulated",
                 ("histogram", "x.npy", "--range", "0,1", "--devices", "cpu")),
                ("--resume is for ranks that mpirun started, and there are none",
                 ("reduce", "x.npy", "--resume", "kept")),
                ("--band is for ranks that mpirun started, and there are none",
                 ("saxpb", "x.npy", "-o", "y.npy", "--band", "7")),
                ("--devices is for a file, not for --nvals",
                 ("saxpb", "--nvals", "7", "--devices", "emulated"))]:
            with self.subTest(message=message):
                done = subprocess.run([TILESCOPE, *arguments], cwd=self.folder, text=True,
                                      stderr=subprocess.PIPE)
                self.assertEqual((done.returncode, done.stderr), (2, f"tilescope: {message}\n"))


class Deaths(Lists):
    def test_a_killed_rank_ends_all_and_leaves_nothing(self):
        self.save(200 * SECTION)
        job = LAUNCHERS[0].start(3, "saxpb", "x.npy", "--niters", "2000", "-o", "y.npy",
                                 "--device", "cpu", cwd=self.folder)
        while job.poll() is None and len(processes(self.folder)) < 3:
            time.sleep(0.01)
        os.kill(processes(self.folder)[-1], signal.SIGKILL)
        job.communicate(timeout=60)
        self.assertNotEqual(job.returncode, 0)
        for _ in range(100):
            if os.listdir(self.folder) == ["x.npy"]:
                break
            time.sleep(0.05)
        self.assertEqual(os.listdir(self.folder), ["x.npy"])


if __name__ == "__main__":
    unittest.main()
