"""`tilescope explain`: the page, its JSON, and the findings of users' kernels."""

import json
import os
import unittest

import program

STRIDED = """\
__device__ float twice(float x) { return 2.0f * x; }

__global__ void strided(const float* in, float* out, int n) {
  __shared__ float part[64][32];
  const int i = threadIdx.x;
  part[i][0] = in[4 * i];
  __syncthreads();
  if (i % 2 == 0) {
    for (int k = 0; k < n; ++k) out[i] += twice(part[63 - i][0]);
  }
}
"""
LAUNCH = ("--grid", "1", "--block", "64", "--arg", "in=f32[256]=iota", "--arg",
          "out=f32[64]=zeros", "--arg", "i32:3")
COUNTERS = ("instructions", "thread_instructions", "global_load_requests", "global_load_sectors",
            "global_store_requests", "global_store_sectors", "global_reduction_sectors",
            "shared_load_wavefronts", "shared_store_wavefronts", "shared_atomic_wavefronts",
            "shared_load_conflicts", "shared_store_conflicts", "divergent_branches", "ffma")


class Explain(program.ProgramTest):
    def setUp(self):
        super().setUp()
        with open(self.path("strided.cu"), "w", encoding="utf-8") as file:
            file.write(STRIDED)

    def explain(self, *arguments, code=0):
        result = self.run_program("explain", *arguments)
        self.assertEqual(result.code, code, result.err)
        return result.out

    def json_of(self, *arguments):
        return json.loads(self.explain(*arguments, "--json", "-"))

    def test_json_of_a_users_kernel(self):
        report = self.json_of("strided.cu", *LAUNCH)
        self.assertEqual(report["version"], 1)
        self.assertEqual(report["command"], "explain")
        self.assertTrue(report["complete"])
        lines = {line["line"]: line for line in report["lines"]}
        for counts in [report["totals"], *report["lines"]]:
            for key in COUNTERS:
                self.assertIsInstance(counts[key], int, key)
        for line in report["lines"]:
            self.assertEqual(line["file"], "strided.cu")
            self.assertEqual(line["source"], STRIDED.splitlines()[line["line"] - 1])
        for key in COUNTERS:
            self.assertEqual(sum(line[key] for line in report["lines"]), report["totals"][key],
                             key)
        # Two warps load 32 floats 16 bytes apart, and store a column of a tile.
        self.assertEqual(lines[6]["global_load_requests"], 2)
        self.assertEqual(lines[6]["global_load_sectors"], 32)
        self.assertEqual(lines[6]["shared_store_wavefronts"], 64)
        self.assertEqual(lines[6]["shared_store_conflicts"], 62)
        kinds = {(finding["kind"], finding["line"]) for finding in report["findings"]}
        self.assertIn(("uncoalesced", 6), kinds)
        self.assertIn(("bank-conflict", 6), kinds)

    def test_json_in_a_file_is_the_same(self):
        page = self.explain("strided.cu", *LAUNCH, "--json", "counts.json")
        self.assertIn("findings", page)
        with open(self.path("counts.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), self.json_of("strided.cu", *LAUNCH))

    def test_the_page_fits_and_says_why(self):
        page = self.explain("strided.cu", *LAUNCH)
        for line in page.splitlines():
            self.assertLessEqual(len(line), 80, line)
        self.assertNotIn("\033", page, "colours are for terminals")
        words = " ".join(page.split())
        self.assertIn("The load of in[4 * i] takes 16.0 sectors a request where 4.0 would do: its "
                      "term 4 * i carries threadIdx.x, times 4", words)
        self.assertIn("Rows of 33 elements instead of 32 (one column of padding) cure it", words)
        self.assertIn("the even threads go one way, the odd ones the other", words)

    def test_our_own_sources_come_from_the_program(self):
        # Twice from different folders: the second finds the PTX of the first in the cache.
        for folder in ("one", "two"):
            os.mkdir(self.path(folder))
            result = self.run_program("explain", "matmul/tiled", "--size", "32", "--json",
                                      f"{folder}/counts.json")
            self.assertEqual(result.code, 0, result.err)
            self.assertIn("\nkernels/matmul/06_tiled.cu\n", result.out)
            self.assertIn("a_tile[ty][tx] = A[", result.out)
            with open(self.path(f"{folder}/counts.json"), encoding="utf-8") as file:
                files = {line["file"] for line in json.load(file)["lines"]}
            self.assertEqual(files, {"kernels/matmul/06_tiled.cu"})

    def test_every_line_of_headers_is_named(self):
        files = {line["file"] for line in
                 self.json_of("matmul/double_buffered", "--size", "128")["lines"]}
        self.assertEqual(files, {"kernels/matmul/16_double_buffered.cu",
                                 "kernels/matmul/async_copy.cuh"})

    def test_a_width_need_not_be_named(self):
        self.assertIn("matmul/tiled_16, 4 x 4 x 4", self.explain("matmul/tiled", "--size", "4"))
        self.assertIn("matmul/tiled_4,",
                      self.explain("matmul/tiled", "--size", "4", "--tile", "4"))
        result = self.run_program("explain", "matmul/tiled", "--tile", "5")
        self.assertEqual(result.code, 2)
        self.assertIn("tiled_5", result.err)

    def test_a_rung_of_one_block_gets_a_size_that_it_can_do(self):
        self.assertIn("matmul/one_block, 32 x 32 x 32", self.explain("matmul/one_block"))
        self.assertIn("saxpb/one_block, of 1,024", self.explain("saxpb/one_block"))
        result = self.run_program("explain", "matmul/one_block", "--size", "33")
        self.assertEqual(result.code, 2)
        self.assertIn("1024 elements", result.err)

    def test_lanes(self):
        drawn = self.explain("strided.cu", *LAUNCH, "--lanes", "6")
        self.assertIn("16 sectors, ideal 4", drawn)
        self.assertIn("32 wavefronts, ideal 1, 32-way", drawn)
        self.assertIn("0123456789abcdefghijklmnopqrstuv", drawn)

    def test_phases(self):
        drawn = self.explain("matmul/tiled", "--size", "4", "--tile", "2", "--phases")
        self.assertIn("(1,0)   A[1,2] -> a_tile[1,0], B[3,0] -> b_tile[1,0]", drawn)
        phases = self.json_of("matmul/tiled", "--size", "4", "--tile", "2", "--phases")["phases"]
        self.assertEqual(len(phases), 2)
        self.assertEqual(phases[1]["products"][0],
                         {"thread": 0, "sum": "C[0,0]", "left": "a_tile[0,0]",
                          "right": "b_tile[0,0]"})

    def test_findings_on_the_matmul_ladder(self):
        expected = {
            "one_block": set(),
            "global_accumulator": {("split-rows", 16)},
            "exchanged_16": {("uncoalesced", 17)},
            "exchanged_32": {("uncoalesced", 17)},
            "register_accumulator_32": set(),
            "tiled_conflicts_32": {("bank-conflict", 20), ("bank-conflict", 21),
                                   ("bank-conflict", 25), ("uncoalesced", 20),
                                   ("uncoalesced", 21), ("uncoalesced", 29)},
            "tiled_padded_32": {("uncoalesced", 22), ("uncoalesced", 23), ("uncoalesced", 31)},
            "tiled_2": {("partial-warps", 0), ("split-rows", 22), ("split-rows", 23)},
            "tiled_16": set(),
            "tiled_32": set(),
            "tiled_checked_32": set(),
            "corner_turning_32": set(),
            "register_tile_2d": {("bank-conflict", 38)},
            "vector_loads": set(),
        }
        for rung, kinds in expected.items():
            with self.subTest(rung):
                report = self.json_of(f"matmul/{rung}")
                self.assertEqual({(f["kind"], f["line"]) for f in report["findings"]}, kinds)

    def test_ptx_without_lines_is_its_own_source(self):
        with open(self.path("store.ptx"), "w", encoding="utf-8") as file:
            file.write(".version 8.0\n.target sm_80\n.address_size 64\n"
                       ".visible .entry store(.param .u64 out)\n{\n"
                       ".reg .b64 %rd<3>;\n"
                       "ld.param.u64 %rd1, [out];\n"
                       "cvta.to.global.u64 %rd2, %rd1;\n"
                       "st.global.u32 [%rd2], 7;\n"
                       "ret;\n}\n")
        page = self.explain("store.ptx", "--grid", "1", "--block", "32", "--arg",
                            "out=i32[1]=zeros")
        self.assertRegex(page, r"> +9 .* st\.global\.u32 \[%rd2\], 7;")

    def test_a_clean_kernel_has_no_findings(self):
        with open(self.path("copy.cu"), "w", encoding="utf-8") as file:
            file.write("__global__ void copy(const float* in, float* out) {\n"
                       "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                       "  out[i] = in[i];\n}\n")
        page = self.explain("copy.cu", "--grid", "2", "--block", "64", "--arg",
                            "in=f32[128]=iota", "--arg", "out=f32[128]=zeros")
        self.assertIn("findings\n  none: 100% of the global sectors are needed", page)


class EmulatedLadder(program.ProgramTest):
    def test_counts_instead_of_times(self):
        result = self.run_program("ladder", "matmul", "--device", "emulated", "--size", "64",
                                  "--variant", "tiled_16", "--variant", "register_accumulator_16",
                                  "--json", "rungs.json")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("These are counts of an emulated GPU, no times", result.out)
        with open(self.path("rungs.json"), encoding="utf-8") as file:
            naive, tiled = json.load(file)["rungs"]
        for rung in (naive, tiled):
            self.assertEqual(rung["verdict"], "ok")
            self.assertIsNone(rung["time_ms"])
            self.assertEqual(rung["counts"]["ffma"], 64 ** 3)
        self.assertEqual(naive["counts"]["global_load_requests"],
                         16 * tiled["counts"]["global_load_requests"])
        self.assertGreater(tiled["flops_per_requested_byte"],
                           7 * naive["flops_per_requested_byte"])

    def test_without_a_size_it_is_small(self):
        result = self.run_program("ladder", "matmul", "--device", "emulated", "--variant",
                                  "tiled_32")
        self.assertIn("matmul 128 x 128 x 128 on emulated:h200", result.out)


if __name__ == "__main__":
    unittest.main()
