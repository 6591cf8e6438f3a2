"""tilescope.check(), explain() and run(): kernels of every form, arrays in place, results as
objects."""

import ctypes
import os
import pathlib
import tempfile
import unittest

import numpy
import tilescope

TURN = """__global__ void turn(int* x) {
  __shared__ int tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  %s
  x[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
RACE, CURED = TURN % "", TURN % "__syncthreads();"
ADD = """__global__ void add(const float* x, const float* y, float* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] + y[i];
}
"""
PTX = pathlib.Path(__file__).parent.parent / "triton" / "ptx"


def integers(count=64):
    return numpy.arange(count, dtype=numpy.int32)


class Results(unittest.TestCase):
    def test_a_race_and_its_cured_twin(self):
        result = tilescope.check(RACE, 1, 64, (integers(),))
        self.assertFalse(result.clean)
        finding, = result.findings
        self.assertEqual((finding.kind, finding.severity, finding.line, finding.other["line"]),
                         ("race", "error", 3, 5))
        self.assertIn("__syncthreads()", finding.cure)
        self.assertIn("error: race at kernel.cu:3 and 5", str(result))
        self.assertEqual(result.json["reports"][0]["kind"], "race")
        x = integers()
        cured = tilescope.check(CURED, 1, 64, (x,))
        self.assertTrue(cured.clean)
        self.assertEqual(cured.findings, [])
        self.assertEqual(x.tolist(), list(range(63, -1, -1)), "the kernel worked on x itself")

    def test_counts(self):
        result = tilescope.explain(CURED, 1, 64, (integers(),))
        self.assertEqual(result.counts["global_load_sectors"], 8)
        self.assertEqual(result.counts["global_store_requests"], 2)
        lines = {line["line"]: line for line in result.lines}
        self.assertEqual(lines[3]["global_load_sectors"], 8)
        self.assertEqual(lines[5]["shared_load_wavefronts"], 2)

    def test_pages_for_notebooks(self):
        for command in (tilescope.check, tilescope.explain):
            page = command(RACE, 1, 64, (integers(),))._repr_html_()
            self.assertTrue(page.startswith("<iframe "))
            self.assertNotIn("<html", page, "the page is an attribute of the frame")
            self.assertIn("turn", page)

    def test_text_that_kernels_print(self):
        result = tilescope.run('__global__ void k() { printf("%d\\n", threadIdx.x); }', 1, 3)
        self.assertEqual(result.printed, "0\n1\n2\n")


class Kernels(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "turn.cu")
            path.write_text(RACE)
            for name in (path, str(path)):
                finding, = tilescope.check(name, 1, 64, (integers(),)).findings
                self.assertEqual(finding.file, str(path))

    def test_a_program_makes_its_own_launches(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "script.py")
            path.write_text("#!/usr/bin/env python3\nimport sys\nsys.exit(int(sys.argv[1]))\n")
            path.chmod(0o755)
            self.assertTrue(tilescope.run(path, args=("0",)).clean)
            failed = tilescope.run(path, args=(3,))
            self.assertEqual((failed.clean, failed.json["exit_code"]), (False, 3))

    def test_one_of_several_kernels_and_an_instance(self):
        source = ("template <int N> __global__ void fill(int* x) { x[threadIdx.x] = N; }\n"
                  "__global__ void zero(int* x) { x[threadIdx.x] = 0; }\n")
        x = integers(4)
        tilescope.run(source, 1, 4, (x,), name="fill<7>")
        self.assertEqual(x.tolist(), [7] * 4)
        with self.assertRaisesRegex(tilescope.UsageError, "several kernels"):
            tilescope.run(source, 1, 4, (x,))

    def test_a_kernel_of_cupy(self):
        class RawKernel:  # the attributes of CuPy's
            code = "extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = VALUE; }"
            name = "k"
            options = ("-DVALUE=5", "--std=c++17")
        x = integers(4)
        tilescope.run(RawKernel(), (1,), (4,), (x,))
        self.assertEqual(x.tolist(), [5] * 4)

    def test_a_rung(self):
        result = tilescope.explain("matmul/tiled_16")
        self.assertGreater(result.counts["ffma"], 0)

    def test_ptx_of_triton(self):
        text = (PTX / "overrun_90.ptx").read_text()
        x, z = (numpy.zeros(3000, numpy.float32) for _ in range(2))
        arguments = {"x": x, "y": x, "z": z, "n": 3000, "scratch": None, "profile": None}
        result = tilescope.check(text, 3, 128, arguments)
        finding, = result.findings
        self.assertEqual((finding.kind, finding.address), ("out-of-bounds", "z[3000]"))
        self.assertTrue(finding.file.endswith("kernels.py"))

    def test_what_is_no_kernel(self):
        with self.assertRaisesRegex(TypeError, "kernel: expected a source text, .*got int"):
            tilescope.check(3, 1, 64)
        with self.assertRaisesRegex(ValueError, "needs grid= and block="):
            tilescope.check(RACE, args=(integers(),))
        for grid in (0, (1, 2, 3, 4), "a"):
            with self.assertRaises((ValueError, TypeError)):
                tilescope.check(RACE, grid, 64, (integers(),))


MANY = """__global__ void k(int* x) {
  x[64 + threadIdx.x] = 1;
  x[128 + threadIdx.x] = 2;
  x[256 + threadIdx.x] = 3;
}
"""


class Parts(unittest.TestCase):
    """A part of the findings, of the blocks and of the launches."""

    def test_a_check_stops_after_enough_findings(self):
        every = tilescope.check(MANY, 1, 64, (integers(),))
        self.assertEqual(len(every.findings), 3)
        some = tilescope.check(MANY, 1, 64, (integers(),), max_findings=2)
        self.assertEqual([finding.line for finding in some.findings], [2, 3])
        self.assertFalse(some.clean)

    def test_blocks_are_counted_and_the_others_estimated(self):
        n = 6400
        x = numpy.ones(n, numpy.float32)
        arguments = (x, x, numpy.zeros(n, numpy.float32), n)
        every = tilescope.explain(ADD, 100, 64, arguments)
        some = tilescope.explain(ADD, 100, 64, arguments, blocks=20)
        self.assertEqual(some.counts["global_load_sectors"], every.counts["global_load_sectors"])
        self.assertNotIn("~", str(every))
        self.assertIn("~", str(some))
        with self.assertRaisesRegex(tilescope.UsageError, "blocks"):
            tilescope.explain(ADD, 100, 64, arguments, blocks="a few")

    def test_an_option_that_would_not_be_followed_is_refused(self):
        for command, options, reason in (
                (tilescope.run, {"schedules": 2}, r"schedules is an option of check\(\).* run\(\)"),
                (tilescope.explain, {"max_findings": 2}, "max_findings is an option of check"),
                (tilescope.check, {"blocks": 2}, "blocks is an option of explain"),
                (tilescope.check, {"launches": 0}, "launches is for programs"),
                (tilescope.check, {"resume": "kept"}, "resume is for programs")):
            with self.subTest(options=options), self.assertRaisesRegex(ValueError, reason):
                command(CURED, 1, 64, (integers(),), **options)


class Arguments(unittest.TestCase):
    def add(self, x, y, z, n):
        return tilescope.check(ADD, 2, 128, (x, y, z, n))

    def test_each_array_has_its_bounds(self):
        whole = numpy.ones(600, numpy.float32)
        x, y, z = whole[:200], whole[200:400], whole[400:]
        findings = self.add(x, z, y, 256).findings
        self.assertEqual(sorted(f.address for f in findings), ["x[200]", "y[200]", "z[200]"])
        self.assertEqual(z.tolist(), [1.0] * 200, "the overrun of y's memory did not reach z")

    def test_read_only_arrays_are_read(self):
        x = numpy.ones(200, numpy.float32)
        x.flags.writeable = False
        z = numpy.zeros(200, numpy.float32)
        self.assertTrue(self.add(x, x, z, 200).clean)
        self.assertEqual(z.tolist(), [2.0] * 200)
        with self.assertRaisesRegex(tilescope.UsageError, "writes z, whose memory is read-only"):
            self.add(z, z, x, 200)
        self.assertEqual(x.tolist(), [1.0] * 200)

    def test_views_reach_from_their_first_to_their_last_element(self):
        base = numpy.zeros((20, 30), numpy.float32)
        view = base[2:5, 3:7].T
        last = 2 * 30 + 3  # of the view, counted from base[2, 3]
        source = "__global__ void k(float* x, int i) { x[i] = 1; }"
        self.assertTrue(tilescope.check(source, 1, 1, (view, last)).clean)
        self.assertEqual(base[4, 6], 1)
        for outside in (last + 1, -1):
            findings = tilescope.check(source, 1, 1, (view, outside)).findings
            self.assertEqual([f.kind for f in findings], ["out-of-bounds"])

    def test_a_reversed_view_is_refused(self):
        with self.assertRaisesRegex(ValueError, "x: the array runs backwards in memory"):
            tilescope.check(RACE, 1, 64, {"x": integers()[::-1]})

    def test_empty_arrays(self):
        nothing = numpy.zeros(0, numpy.float32)
        kinds = {f.kind for f in self.add(nothing, nothing, nothing, 1).findings}
        self.assertEqual(kinds, {"out-of-bounds"})

    def test_types(self):
        for dtype, name in (("f2", "__half"), ("f8", "double"), ("i1", "signed char"),
                            ("u2", "unsigned short"), ("i8", "long long"), ("?", "bool")):
            x = numpy.zeros(8, dtype)
            include = "#include <cuda_fp16.h>\n" if name == "__half" else ""
            source = include + f"__global__ void k({name}* x) {{ x[threadIdx.x] = ({name})1; }}"
            self.assertTrue(tilescope.check(source, 1, 8, (x,)).clean, name)
            self.assertEqual(x.tolist(), [1] * 8, name)
            self.assertFalse(tilescope.check(source, 1, 9, (x,)).clean, name)

    def test_numbers_take_the_type_of_the_parameter(self):
        source = ("__global__ void k(double* x, signed char a, unsigned b, long long c, float d,"
                  " double e, bool f) {\n"
                  "  x[0] = a; x[1] = b; x[2] = c; x[3] = d; x[4] = e; x[5] = f;\n}")
        x = numpy.zeros(6)
        tilescope.run(source, 1, 1, (x, -5, 4_000_000_000, -1, 0.1, 7, True))
        self.assertEqual(x.tolist(), [-5, 4e9, -1, float(numpy.float32(0.1)), 7, 1])
        tilescope.run(source, 1, 1, (x, numpy.int8(3), numpy.uint32(2), numpy.int64(-9),
                                     numpy.float32(0.5), numpy.float64(0.25), numpy.bool_(False)))
        self.assertEqual(x.tolist(), [3, 2, -9, 0.5, 0.25, 0])
        with self.assertRaisesRegex(ValueError, '"300" is no value of'):
            tilescope.run(source, 1, 1, (x, 300, 0, 0, 0, 0, False))
        with self.assertRaisesRegex(ValueError, "not a floating-point number"):
            tilescope.run(source, 1, 1, (x, 0.5, 0, 0, 0, 0, False))

    def test_structures(self):
        source = ("struct S { float* x; int n; };\n"
                  "__global__ void k(S s, double2 d) { s.x[s.n] = d.x + d.y; }")
        x = numpy.zeros(4, numpy.float32)
        tilescope.run(source, 1, 1, ((x, numpy.int32(2)), (1.5, 2.0)))
        self.assertEqual(x.tolist(), [0, 0, 3.5, 0])

        class Pair(ctypes.Structure):
            _fields_ = [("x", ctypes.c_double), ("y", ctypes.c_double)]
        tilescope.run(source, 1, 1, ((x, numpy.int32(0)), Pair(4, 5)))
        self.assertEqual(x[0], 9)

    def test_what_is_no_argument(self):
        for wrong in ("text", object(), 2**64):
            with self.assertRaisesRegex(TypeError, "argument"):
                tilescope.check(RACE, 1, 64, (wrong,))

    def test_memory_of_a_device_is_refused(self):
        class OnDevice:  # DLPack's word for CUDA memory
            shape = (4,)

            def __dlpack_device__(self):
                return 2, 0

            def __dlpack__(self, **_):
                raise BufferError("not on the host")
        with self.assertRaisesRegex((TypeError, ValueError), "not in host memory"):
            tilescope.check(RACE, 1, 64, (OnDevice(),))


if __name__ == "__main__":
    os.environ.setdefault("NO_COLOR", "1")
    unittest.main()
