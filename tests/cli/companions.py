"""The common part of the tests of the companion operations."""

import json

import numpy as np

import program


class Companions(program.ProgramTest):
    def succeed(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual((result.code, result.err), (0, ""), arguments)
        return result.out

    def report(self, *arguments):
        return json.loads(self.succeed(*arguments, "--json", "-"))

    def assert_near(self, result, exact, bound):
        self.assertEqual(result.shape, exact.shape)
        error = np.abs(result.astype(np.float64) - exact)
        self.assertTrue((error <= bound).all(), f"{error.max(initial=0)} beyond {np.max(bound)}")
