"""The companion operations through explain and check: what each rung is there to show."""

import companions
import program


class Counts(companions.Companions):
    """What the rungs of the lectures are there to show."""

    def totals(self, rung, *options):
        return self.report("explain", rung, *options)["totals"]

    def per_request(self, rung, *options):
        totals = self.totals(rung, *options)
        return totals["global_load_sectors"] / totals["global_load_requests"]

    def test_strides_cost_sectors(self):
        self.assertEqual(self.per_request("saxpb/many_blocks", "--size", "4096"), 4)
        self.assertEqual(self.per_request("saxpb/strided_2", "--size", "4096"), 8)
        self.assertEqual(self.per_request("saxpb/strided_8", "--size", "4096"), 32)
        self.assertEqual(self.per_request("saxpb/strided_32", "--size", "4096"), 32)
        self.assertEqual(self.per_request("saxpb/vector", "--size", "4096"), 16)

    def test_a_warp_of_1000_elements_diverges(self):
        totals = self.totals("vector_add/one_thread_each", "--size", "1000")
        self.assertEqual((totals["branches"], totals["divergent_branches"]), (32, 1))

    def test_the_picture_s_right_edge_diverges(self):
        # 4 x 5 blocks of 8 warps; 12 of 16 columns at the right, where one warp has no row left.
        totals = self.totals("scale/picture", "-m", "62", "-n", "76")
        self.assertEqual((totals["branches"], totals["divergent_branches"]), (160, 31))
        self.assertEqual(self.per_request("scale/picture", "--size", "64"), 4)
        self.assertEqual(self.per_request("scale/exchanged", "--size", "64"), 16)

    def test_banks_of_a_transposed_tile(self):
        for rung, conflicts in (("tiled", 31), ("padded", 0), ("swizzled", 0), ("vector", 0)):
            totals = self.totals("transpose/" + rung, "--size", "64")
            self.assertEqual(totals["shared_load_conflicts"],
                             conflicts * totals["shared_load_requests"], rung)
            self.assertEqual(totals["shared_store_conflicts"], 0, rung)
        naive = self.totals("transpose/naive", "--size", "64")
        self.assertEqual(naive["global_store_sectors"], 32 * naive["global_store_requests"])

    def test_trees_diverge_less_and_less(self):
        divergent = [self.totals("reduce/" + rung, "--size", "100000")["divergent_branches"]
                     for rung in ("modulo_tree", "halving_tree", "first_add")]
        self.assertEqual(divergent, sorted(divergent, reverse=True))
        self.assertGreater(divergent[0], 5 * divergent[1])

    def test_histograms_of_equal_bytes(self):
        options = ("--size", "100000", "--data", "constant")
        for rung in ("block_private", "vector"):
            totals = self.totals("histogram/" + rung, *options)
            self.assertGreater(totals["shared_atomic_wavefronts"], 0, rung)
        columns = self.totals("histogram/lane_columns", *options)
        self.assertEqual(columns["shared_atomic_conflicts"], 0)
        self.assertEqual(columns["shared_atomic_wavefronts"], columns["shared_atomic_requests"])
        # Global atomics: one an element, then a few a block.
        interleaved = self.totals("histogram/interleaved", *options)
        self.assertGreaterEqual(interleaved["global_reduction_requests"], 100000 // 32)

    def test_steps_share_their_loads(self):
        options = ("--size", "256", "--iterations", "8")
        single = self.totals("laplacian/marching", *options)["global_load_sectors"]
        shared = self.totals("laplacian/temporal", *options)["global_load_sectors"]
        self.assertLess(4 * shared, single)

    def test_checks_are_silent(self):
        for rung, options in (("saxpb/many_blocks", ["--size", "1000"]),
                              ("reverse/shared", ["--size", "1000"]),
                              ("reverse/in_place", ["--size", "1001"]),
                              ("transpose/vector", ["-m", "62", "-n", "76"]),
                              ("blur/tiled", ["-m", "62", "-n", "76", "--radius", "5"]),
                              ("blur/ring", ["-m", "62", "-n", "76", "--radius", "5"]),
                              ("laplacian/temporal", ["-m", "62", "-n", "76", "--iterations", "10"]),
                              ("histogram/byte_columns", ["--size", "5000"]),
                              ("histogram/lane_columns", ["--size", "5000", "--bins", "1000"]),
                              ("reduce/modulo_tree", ["--size", "1000"]),
                              ("reduce/one_pass", ["--size", "50000"])):
            result = self.run_program("check", rung, *options)
            self.assertEqual((result.code, result.err), (0, ""), result.out)


if __name__ == "__main__":
    program.main()
