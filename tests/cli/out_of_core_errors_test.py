"""Products with less memory than they need, and what can happen meanwhile: an input that is cut
short, a full disk, Ctrl-C, a second run, a journal of something else."""

import contextlib
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import numpy

from program import TILESCOPE

# Enough tiles and seconds for something to happen in between.
M, N, K = 1400, 1200, 500
MEMORY = "256KiB"


class OutOfCoreErrors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.inputs = pathlib.Path(cls.temporary.name)
        generator = numpy.random.default_rng(6)
        numpy.save(cls.inputs / "A.npy", generator.uniform(-1, 1, (M, K)).astype(numpy.float32))
        numpy.save(cls.inputs / "B.npy", generator.uniform(-1, 1, (K, N)).astype(numpy.float32))
        subprocess.run([os.path.abspath(TILESCOPE), "matmul", "A.npy", "B.npy", "--device",
                        "emulated", "-o", "C.npy"], cwd=cls.inputs, check=True, timeout=120,
                       stdout=subprocess.DEVNULL)
        cls.expected = (cls.inputs / "C.npy").read_bytes()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for name in ("A.npy", "B.npy"):
            shutil.copy2(self.inputs / name, self.folder)

    def start(self, *options, memory=MEMORY, output="C.npy", **settings):
        process = subprocess.Popen(
            [os.path.abspath(TILESCOPE), "matmul", "A.npy", "B.npy", "--device", "emulated",
             "--device-memory", memory, "-o", output, *options],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        return process

    def journal_lines(self):
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / ".C.npy.journal").read_text().count("\n")
        return 0

    def wait_until(self, process, happened):
        """Where the disk is slow the whole product may be computed before the first tile is on it:
        so the process stands still most of the time, while what it has written gets there."""
        deadline = time.monotonic() + 60
        while not happened():
            self.assertIsNone(process.poll(), "it ended before anything could happen")
            self.assertLess(time.monotonic(), deadline)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.005)

    def wait_for_a_tile(self, process):
        self.wait_until(process, lambda: self.journal_lines() > 1)

    def end(self, process, code, *words):
        """It ends with `code` and one line on standard error that has all of `words`."""
        errors = process.communicate(timeout=120)[1]
        self.assertEqual(process.returncode, code, errors)
        self.assertEqual(errors.count("\n"), 1, errors)
        for word in words:
            self.assertIn(word, errors)
        return errors

    def finish(self, output="C.npy"):
        """The same command goes on and ends with the right result and nothing else."""
        errors = self.start("--resume", output=output).communicate(timeout=120)[1]
        self.assertEqual(errors, "")
        self.assertEqual((self.folder / output).read_bytes(), self.expected)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith(".")])

    def names(self):
        return sorted(os.listdir(self.folder))

    def cut_during_a_run(self, *options, name="A.npy", ready):
        path = self.folder / name
        stamp, contents = path.stat(), path.read_bytes()
        process = self.start(*options)
        self.wait_until(process, ready)
        os.truncate(path, len(contents) // 3)
        self.end(process, 4, name, "run again when nothing writes to it")
        self.assertFalse((self.folder / "C.npy").exists())
        path.write_bytes(contents)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))

    def test_an_input_cut_short_loses_no_finished_tile(self):
        for name in ("A.npy", "B.npy"):
            with self.subTest(name):
                self.cut_during_a_run("--resume", name=name,
                                      ready=lambda: self.journal_lines() > 1)
                self.assertGreater(self.journal_lines(), 1)
                self.finish()
                os.remove(self.folder / "C.npy")

    def test_an_input_cut_short_leaves_nothing_without_resume(self):
        self.cut_during_a_run(
            ready=lambda: any(name.endswith(".tmp") for name in os.listdir(self.folder)))
        self.assertEqual(self.names(), ["A.npy", "B.npy"])

    def test_an_input_that_was_written_to_is_another_product(self):
        process = self.start("--resume")
        self.wait_for_a_tile(process)
        process.kill()
        process.wait()
        a = numpy.load(self.folder / "A.npy")
        a[0, 0] += 1
        numpy.save(self.folder / "A.npy", a)
        before = (self.folder / ".C.npy.journal").read_bytes()
        self.end(self.start("--resume"), 2, ".C.npy.journal", "another product", "remove it")
        self.assertEqual((self.folder / ".C.npy.journal").read_bytes(), before)

    def test_a_journal_of_another_shape_or_limit(self):
        process = self.start("--resume")
        self.wait_for_a_tile(process)
        process.kill()
        process.wait()
        self.end(self.start("--resume", memory="300KiB"), 2, "another product")
        shape = numpy.load(self.folder / "A.npy")[: M // 2]
        kept = self.folder / "kept.npy"
        shutil.copy2(self.folder / "A.npy", kept)
        numpy.save(self.folder / "A.npy", shape)
        self.end(self.start("--resume"), 2, "another product")
        os.replace(kept, self.folder / "A.npy")
        self.finish()

    def test_a_journal_that_is_none(self):
        for contents in (b"\n", b"tilescope-journal 1 \n1\n", b"\xff\0\xfe\n1\n"):
            (self.folder / ".C.npy.journal").write_bytes(contents)
            self.end(self.start("--resume"), 2, "another product")
        # Without an end of line it was killed while it wrote the first.
        for contents in (b"", b"tilescope-jour", b"\0" * 4096):
            (self.folder / ".C.npy.journal").write_bytes(contents)
            self.finish()
            os.remove(self.folder / "C.npy")

    def test_ctrl_c_keeps_what_is_done(self):
        process = self.start("--resume")
        self.wait_for_a_tile(process)
        process.send_signal(signal.SIGINT)
        self.end(process, 130, "interrupted with", "the same command continues")
        self.assertFalse((self.folder / "C.npy").exists())
        self.finish()

    def test_ctrl_c_without_resume_leaves_nothing(self):
        process = self.start()
        self.wait_until(process, lambda: any(n.endswith(".tmp") for n in os.listdir(self.folder)))
        time.sleep(0.3)  # the first tile has begun
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.names(), ["A.npy", "B.npy"])

    def test_what_is_in_the_way_of_its_files_is_named(self):
        for name in (".C.npy.journal", ".C.npy.partial"):
            with self.subTest(name):
                (self.folder / name).mkdir()
                before = self.names()
                self.end(self.start("--resume"), 4, "tilescope: cannot write 'C.npy': '",
                         f"{name}' is in the way (Is a directory); remove it")
                self.assertEqual(self.names(), before)
                (self.folder / name).rmdir()

    def test_the_result_has_the_permissions_of_what_it_replaces(self):
        output = self.folder / "C.npy"
        output.touch()
        output.chmod(0o600)
        process = self.start("--resume")
        self.wait_until(process, lambda: (self.folder / ".C.npy.partial").exists())
        partial = (self.folder / ".C.npy.partial").stat()
        self.assertEqual(partial.st_mode & 0o077, 0, "nor may others read it meanwhile")
        process.communicate(timeout=120)
        self.assertEqual(output.read_bytes(), self.expected)
        self.assertEqual(output.stat().st_mode & 0o777, 0o600)

    def test_two_runs_at_once(self):
        first = self.start("--resume")
        self.wait_for_a_tile(first)
        self.end(self.start("--resume"), 2, "C.npy", "another process")
        self.assertEqual(first.communicate(timeout=120)[1], "")
        self.assertEqual((self.folder / "C.npy").read_bytes(), self.expected)
        self.assertEqual(self.names(), ["A.npy", "B.npy", "C.npy"])

    def test_a_limit_on_the_size_of_files(self):
        for options in ((), ("--resume",)):
            with self.subTest(options):
                limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
                self.end(self.start(*options, preexec_fn=limit), 4, "C.npy", "ulimit -f", "100000")
                self.assertEqual(self.names(), ["A.npy", "B.npy"])

    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(disk)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            self.skipTest("mounting a small file system is not permitted")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        (disk / "C.npy").write_bytes(b"kept")
        for options in ((), ("--resume",)):
            with self.subTest(options):
                self.end(self.start(*options, output="disk/C.npy"), 4, "disk/C.npy",
                         "no space left")
                self.assertEqual(os.listdir(disk), ["C.npy"])
                self.assertEqual((disk / "C.npy").read_bytes(), b"kept")


if __name__ == "__main__":
    unittest.main()
