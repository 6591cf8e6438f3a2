"""reduce, histogram and saxpb with --resume whose ranks are killed: another number of ranks continues,
with the bits of an undisturbed run, and nothing is left over."""

import fcntl
import json
import os
import tempfile
import time
import unittest

import numpy as np

from killing import ALL, KILLS, LAUNCHER, LAUNCHERS, Killing
from launchers import errors_of

SECTION = 65536  # elements that stay together
COUNT = 80 * SECTION + 123
COMMANDS = {
    "reduce": ("reduce", "x.npy", "--resume", "kept"),
    "histogram": ("histogram", "x.npy", "--bins", "7", "-o", "y.npy", "--resume", "kept"),
    "saxpb": ("saxpb", "x.npy", "-a", "0.3", "-b", "0.7", "-o", "y.npy", "--resume")}
# Emulated ranks take longer, and so are killed at more different moments.
OPTIONS = ("--band", str(2 * SECTION), "--device", "emulated", "--json", "-")
STEPS = {"reduce": 1, "histogram": 3, "saxpb": 1}  # a histogram looks for its range first
BANDS = 41


class ListFaults(Killing):
    @classmethod
    def setUpClass(cls):
        cls.store = tempfile.TemporaryDirectory(prefix="tilescope.")
        cls.addClassCleanup(cls.store.cleanup)
        cls.save(cls.store.name)
        cls.expected, cls.seconds = {}, {}
        for name, command in COMMANDS.items():
            begin = time.monotonic()
            result = LAUNCHER.run(2, *command, *OPTIONS, cwd=cls.store.name)
            cls.seconds[name] = time.monotonic() - begin
            assert result.returncode == 0, result.stderr
            cls.expected[name] = cls.result(cls.store.name, result)

    @staticmethod
    def save(folder, seed=3):
        """Values whose sum differs in almost every order of additions."""
        draw = np.random.default_rng(seed)
        values = np.ldexp(draw.random(COUNT) - 0.5, draw.integers(0, 30, COUNT))
        np.save(os.path.join(folder, "x.npy"), values.astype(np.float32))

    @staticmethod
    def result(folder, run):
        """What the command found, and the file that it wrote, which is removed."""
        page = json.loads(run.stdout)
        path, bits = os.path.join(folder, "y.npy"), None
        if os.path.exists(path):
            with open(path, "rb") as file:
                bits = file.read()
            os.unlink(path)
        return [page.get(key) for key in ("value", "counts", "lower", "upper")], bits

    def folder(self):
        folder = tempfile.TemporaryDirectory(prefix="tilescope.")
        self.addCleanup(folder.cleanup)
        os.link(os.path.join(self.store.name, "x.npy"), os.path.join(folder.name, "x.npy"))
        return os.path.realpath(folder.name)

    def finish(self, launcher, folder, ranks, name):
        """Continues, compares, and returns the number of bands that were there."""
        result = launcher.run(ranks, *COMMANDS[name], *OPTIONS, cwd=folder)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.result(folder, result), self.expected[name])
        self.files_soon(folder, ["x.npy"])
        page = json.loads(result.stdout)
        self.assertEqual((page["ranks"], page["bands"]), (ranks, STEPS[name] * BANDS))
        return page["bands_kept"]

    def killed_behind(self, folder, name, lines):
        """Kills a rank once the journal has some lines behind its first. Returns their number."""
        path = os.path.join(folder, ".y.npy.journal" if name == "saxpb" else "kept")

        def kept():
            try:
                with open(path, "rb") as file:
                    return max(file.read().count(b"\n") - 1, 0)
            except FileNotFoundError:
                return 0

        interrupted = self.killed(LAUNCHER, folder, 2, 1, lambda: kept() >= lines, *COMMANDS[name],
                                  *OPTIONS)
        self.assertTrue(interrupted)
        return kept()

    def test_others_go_on(self):
        for seed, name in enumerate(COMMANDS):
            def act(launcher, ranks, which, after):
                folder = self.folder()
                interrupted = self.killed(launcher, folder, ranks, which, after, *COMMANDS[name],
                                          *OPTIONS)
                self.finish(launcher, folder, [1, 5 - ranks][ranks % 2], name)
                return interrupted

            with self.subTest(command=name):
                # Each command is killed once here, and rank 0, mpirun and another rank once.
                self.each_kill(seed, self.seconds[name], act, KILLS if ALL else 1)

    def test_what_is_kept_is_not_computed_again(self):
        for name, lines in (("reduce", 5), ("histogram", 2 * BANDS + 3), ("saxpb", 5)):
            with self.subTest(command=name):
                folder = self.folder()
                kept = self.killed_behind(folder, name, lines)
                self.assertEqual(self.finish(LAUNCHERS[-1], folder, 3, name), kept)

    def refused(self, folder, command, code, message, *options):
        """A command that must not continue, and must leave everything as it is."""
        files = [path for path in (os.path.join(folder, entry) for entry in os.listdir(folder))
                 if not path.endswith("x.npy")]
        before = {path: self.bits(path) for path in files}
        found = errors_of(LAUNCHER.run(2, *command, *OPTIONS, *options, cwd=folder))
        self.assertEqual(found, (code, ["tilescope: " + message.format(folder)]))
        self.assertEqual({path: self.bits(path) for path in files}, before)

    @staticmethod
    def bits(path):
        with open(path, "rb") as file:
            return file.read()

    def test_what_does_not_fit_is_refused(self):
        other = ("'kept' belongs to another computation (other inputs, operation or options); "
                 "remove it to start over")
        folder = self.folder()
        self.killed_behind(folder, "reduce", 3)
        path = os.path.join(folder, "kept")
        self.refused(folder, COMMANDS["reduce"], 2, other, "--op", "max")
        self.refused(folder, COMMANDS["histogram"], 2, other)
        with open(path, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.refused(folder, COMMANDS["reduce"], 2,
                         "'kept' is being written by another process; wait for it")
        text = self.bits(path)
        place = text.index(b"\n", text.index(b"\n") + 1) + 40  # in the third line
        with open(path, "wb") as file:
            file.write(text[:place] + bytes([text[place] ^ 1]) + text[place + 1:])
        self.refused(folder, COMMANDS["reduce"], 4, "'{}/kept' is damaged in line 3; remove it to start over")
        with open(path, "wb") as file:
            file.write(text + b"7 77 a line that was cut sho")
        self.assertEqual(self.finish(LAUNCHER, folder, 3, "reduce"), text.count(b"\n") - 1)

        with open(path, "wb") as file:
            file.write(text)
        os.unlink(os.path.join(folder, "x.npy"))
        self.save(folder, seed=4)
        self.refused(folder, COMMANDS["reduce"], 2, other)
        with open(path, "wb") as file:
            file.write(b"a letter")
        self.refused(folder, COMMANDS["reduce"], 4, "'kept' holds no partial results; name another file")

    def test_another_saxpb_is_refused(self):
        folder = self.folder()
        self.killed_behind(folder, "saxpb", 3)
        saxpb = COMMANDS["saxpb"]
        other = [word.replace("0.7", "0.8") for word in saxpb]
        self.refused(folder, other, 2, "'{}/.y.npy.journal' belongs to another saxpb (other inputs, "
                     "sizes, limit or variant); remove it to start over")
        journal = os.path.join(folder, ".y.npy.journal")
        with open(journal, "ab") as file:
            file.write(b"1x\n")
        line = self.bits(journal).count(b"\n")
        self.refused(folder, saxpb, 4, f"'{{}}/.y.npy.journal' is damaged in line {line}; remove it "
                     "to start over")

    def test_mistakes_leave_nothing(self):
        with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
            folder = os.path.realpath(folder)
            np.save(os.path.join(folder, "x.npy"), np.zeros(0, np.float32))
            for code, message, options in (
                    (2, "an empty list has no max", ("--op", "max", "--resume", "kept")),
                    (4, "cannot write 'no/kept': the folder '{}/no' does not exist; create it first",
                     ("--resume", "no/kept")),
                    (2, "--band is for --resume", ("--band", "7"))):
                with self.subTest(message=message):
                    found = errors_of(LAUNCHER.run(2, "reduce", "x.npy", *options, cwd=folder))
                    self.assertEqual(found, (code, ["tilescope: " + message.format(folder)]))
                    self.assertEqual(os.listdir(folder), ["x.npy"])
            for name, command in COMMANDS.items():
                result = LAUNCHER.run(2, *command, cwd=folder)
                self.assertEqual((result.returncode, result.stderr), (0, ""), name)
                self.assertEqual([file for file in os.listdir(folder) if file != "y.npy"],
                                 ["x.npy"])


if __name__ == "__main__":
    unittest.main()
