"""Runs that may have only so much memory: they end, with the right result or with the reason."""

import resource

import numpy as np

import program

NO_DEVICE = 3
MiB = 1 << 20


class AddressSpace(program.ProgramTest):
    """Under ulimit -v. OpenBLAS would wait for ever for a buffer that it cannot have."""

    def run_within(self, megabytes, *arguments):
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * MiB, megabytes * MiB))
        return self.run_program(*arguments, preexec_fn=limit)

    def test_products(self):
        generator = np.random.default_rng(15)
        ends = []
        for rows in (300, 1500):
            a = generator.integers(-4, 5, (rows, rows)).astype(np.float32)
            self.save("a.npy", a)
            expected = a @ a
            for megabytes in (64, 80, 100, 120, 150, 180, 200, 240, 280, 320, 400, 520, 700, 2000):
                with self.subTest(rows=rows, megabytes=megabytes):
                    result = self.run_within(megabytes, "matmul", "a.npy", "a.npy", "-o", "c.npy",
                                             "--device", "cpu")
                    ends.append(result.code)
                    if result.code == 0:
                        self.assertTrue(np.array_equal(self.load("c.npy"), expected))
                        continue
                    self.assertEqual(result.code, NO_DEVICE, result.err)
                    self.assertRegex(result.err, r"^tilescope: [^\n]+\n$")
                    self.assertEqual(result.out, "")
        self.assertIn(0, ends)
        self.assertIn(NO_DEVICE, ends)
        self.assertEqual(self.files(), ["a.npy", "c.npy"])

    def test_lists(self):
        self.save("x.npy", np.ones(1 << 22, np.float32))
        for megabytes in (64, 100, 150, 2000):
            result = self.run_within(megabytes, "reduce", "x.npy", "--device", "cpu")
            self.assertIn(result.code, (0, NO_DEVICE), result.err)
            self.assertRegex(result.err, r"^(tilescope: [^\n]+\n)?$")

    def test_a_file_that_cannot_be_mapped(self):
        self.save("x.npy", np.ones(1 << 26, np.float32))
        result = self.run_within(150, "reduce", "x.npy", "--device", "cpu")
        self.assertEqual(result.code, NO_DEVICE)
        self.assertRegex(result.err, r"^tilescope: cannot map 'x.npy' \(\d+ bytes\) into memory: "
                         r"Cannot allocate memory; raise this process's limit \(ulimit -v\)\n$")


if __name__ == "__main__":
    program.main()
