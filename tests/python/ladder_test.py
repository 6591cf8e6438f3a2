"""tilescope.ladder(), the command inside the module, other threads and Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import numpy
import tilescope

import command


class Ladders(unittest.TestCase):
    def test_it_is_the_command_s(self):
        ladder = tilescope.ladder("matmul", size=32, variants=["tiled_16", "exchanged_32"],
                                  device="emulated")
        document = json.loads(command.run(
            ["ladder", "matmul", "--size", 32, "--variant", "tiled_16", "--variant",
             "exchanged_32", "--device", "emulated", "--json", "-"], output=None))
        self.assertEqual(ladder.data, document)
        self.assertEqual([rung["name"] for rung in ladder], ["exchanged_32", "tiled_16"])
        self.assertEqual(ladder["tiled_16"]["verdict"], "ok")
        self.assertIn("tiled_16", str(ladder))
        self.assertIn("tiled_16", ladder._repr_html_())

    def test_errors(self):
        for arguments, word in [(("matmull",), "matmul"), (("matmul",), "bins")]:
            with self.assertRaisesRegex(ValueError, word):
                tilescope.ladder(*arguments, bins=3)
        with self.assertRaisesRegex(ValueError, "colour"):
            tilescope.ladder("matmul", colour=3)


class TheCommandInTheModule(unittest.TestCase):
    def run_module(self, *arguments):
        return subprocess.run([sys.executable, "-m", "tilescope", *arguments], text=True,
                              capture_output=True, check=False)

    def test_it_is_the_command(self):
        ours = self.run_module("banks", "--help")
        self.assertEqual((ours.returncode, ours.stdout),
                         (0, command.run(["banks", "--help"], output=None)))

    def test_exit_codes(self):
        wrong = self.run_module("bansk")
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn("did you mean banks?", wrong.stderr)
        self.assertEqual(self.run_module("reduce", "missing.npy").returncode, 4)


class OtherThreads(unittest.TestCase):
    def test_they_run_during_a_call(self):
        started, counted = threading.Event(), []

        def count():
            started.set()
            while len(counted) < 5:
                counted.append(time.monotonic())
                time.sleep(0.01)

        a = numpy.ones((1200, 1200), "float32")
        thread = threading.Thread(target=count)
        before = time.monotonic()
        thread.start()
        started.wait()
        tilescope.matmul(a, a, device="emulated", variant="tiled_16")
        after = time.monotonic()
        thread.join()
        self.assertTrue(before < counted[0] and counted[4] < after, (before, counted, after))


class Interrupted(unittest.TestCase):
    def test_ctrl_c_ends_a_long_call(self):
        code = """
            import numpy, tilescope
            a = numpy.ones((6000, 6000), "float32")
            print("ready", flush=True)
            try:
                tilescope.matmul(a, a, device="emulated", variant="tiled_16")
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], text=True,
                                   stdout=subprocess.PIPE, env=os.environ)
        self.assertEqual(process.stdout.readline(), "ready\n")
        time.sleep(1)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        try:
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
        self.assertEqual(rest, "interrupted\n")
        self.assertLess(time.monotonic() - begin, 30)


if __name__ == "__main__":
    unittest.main()
