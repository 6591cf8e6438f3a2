"""Triton kernels on the emulated device: right, silent where they are right, and planted mistakes
at their lines of Python."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch

import tilescope
import tilescope.triton

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "triton"))
import kernels  # noqa: E402
import planted  # noqa: E402

PLANTED = (HERE / "planted.py").read_text().split("\n")


def line_of(text):
    return next(i for i, line in enumerate(PLANTED, 1) if text in line)


class OnDevice(unittest.TestCase):
    device = "emulated"

    def setUp(self):
        torch.manual_seed(3)
        self.driver = tilescope.triton.enable(device=self.device)

    def tearDown(self):
        tilescope.triton.disable()

    def close(self, result, expected, tolerance=0.0):
        self.assertTrue(torch.allclose(result.double(), expected.double(), tolerance, tolerance))

    def defect(self, kernel, grid, *args, **meta):
        with self.assertRaises(tilescope.KernelDefect) as raised:
            kernel[grid](*args, **meta)
        return raised.exception.result.findings


class Right(OnDevice):
    def test_vector_add(self):
        x, y = torch.rand(3000), torch.rand(3000)
        z = torch.empty_like(x)
        kernels.vector_add[(3,)](x, y, z, 3000, BLOCK=1024)
        self.close(z, x + y)
        self.assertEqual(self.driver.launches, 1)

    def test_softmax_of_a_view(self):
        x = torch.randn(20, 300)[:, :200]
        z = torch.zeros(20, 300)[:, :200]
        kernels.softmax[(4,)](x, z, 20, 200, 300, BLOCK=256)
        self.close(z, torch.softmax(x, 1), 1e-5)

    def test_matmul(self):
        a, b = torch.randn(100, 70).half(), torch.randn(70, 90).half()
        c = torch.empty(100, 90, dtype=torch.float16)
        for kernel, grid, meta in ((kernels.matmul, 4, {"GROUP": 4}),
                                   (kernels.persistent_matmul, 3, {})):
            c.zero_()
            kernel[(grid,)](a, b, c, 100, 90, 70, M=64, N=64, K=32, **meta)
            self.close(c, a.double() @ b.double(), 1e-2)

    def test_layer_norm(self):
        x = torch.randn(7, 700).half()
        scale, shift = torch.rand(700).half(), torch.rand(700).half()
        z, mean, rstd = torch.empty_like(x), torch.empty(7), torch.empty(7)
        kernels.layer_norm[(7,)](x, z, scale, shift, mean, rstd, 700, 700, 1e-5, BLOCK=512)
        self.close(z, torch.layer_norm(x, (700,), scale, shift), 1e-2)

    def test_matrices_by_addresses_in_memory(self):
        sizes = [(70, 40, 33), (64, 66, 64)]
        a = [torch.randn(m, k).half() for m, n, k in sizes]
        b = [torch.randn(k, n).half() for m, n, k in sizes]
        c = [torch.zeros(m, n).half() for m, n, k in sizes]
        addresses = torch.tensor([t.data_ptr() for group in zip(a, b, c) for t in group])
        shapes = torch.tensor(sizes, dtype=torch.int32)
        kernels.grouped_gemm[(4,)](addresses, shapes, 2, M=64, N=64, K=32)
        for left, right, product in zip(a, b, c):
            self.close(product, left.double() @ right.double(), 1e-2)

    def test_numbers(self):
        out = torch.zeros(5, dtype=torch.float64)
        planted.types[(1,)](out, -7, 1 << 40, 0.1, True, 4_000_000_000)
        self.close(out, torch.tensor([-7, 2.0**40, 0.1, 1, 4e9]), 1e-7)

    def test_the_first_configuration_that_fits_is_chosen(self):
        x = torch.zeros(1000)
        planted.tuned[lambda meta: (-(-1000 // meta["BLOCK"]),)](x, 1000)
        self.assertTrue(torch.equal(x, torch.ones(1000)), "one launch, not one for each")
        self.assertEqual(planted.tuned.best_config.kwargs["BLOCK"], 256)

    def test_scripts_for_a_gpu_run_in_host_memory(self):
        x = torch.ones(10, device="cuda")
        self.assertEqual((x.device.type, x.is_cuda, x.cuda().device.type), ("cpu", True, "cpu"))
        major, minor = torch.cuda.get_device_capability()
        self.assertEqual(10 * major + minor, self.driver.capability)
        tilescope.triton.disable()
        self.assertFalse(x.is_cuda)


class RightOnAmpere(Right):
    device = "emulated:a100"


class Descriptors(OnDevice):
    def test_made_by_the_host(self):
        from triton.tools.tensor_descriptor import TensorDescriptor
        x, z = torch.randn(40, 64), torch.zeros(16, 32)
        planted.load_descriptor[(1,)](TensorDescriptor.from_tensor(x, [16, 32]), z, ROWS=16,
                                      COLUMNS=32)
        self.close(z, x[:16, 32:])

    def test_made_by_the_kernel(self):
        a, b = torch.randn(128, 64).half(), torch.randn(128, 64).half()
        c = torch.zeros(128, 128).half()
        kernels.descriptor_matmul[(3,)](a, b, c, 128, 128, 64, M=64, N=64, K=64)
        self.close(c, a.double() @ b.double().T, 2e-2)


class Wrong(OnDevice):
    def test_an_overrun(self):
        x, z = torch.rand(5, 100), torch.zeros(5, 90)
        # Behind each row but the last lies the next, which another block writes.
        findings = self.defect(planted.copy_rows, (5,), x, z, 5, 90, 100, BLOCK=128, CURED=False)
        self.assertEqual({f.kind for f in findings}, {"out-of-bounds", "race"})
        finding, = (f for f in findings if f.kind == "out-of-bounds")
        self.assertEqual((finding.kind, finding.line), ("out-of-bounds", line_of("overrun")))
        self.assertEqual(os.path.basename(finding.file), "planted.py")
        self.assertRegex(finding.message, r"z_ptr\[450\] misses z_ptr, which has 450 elements")
        planted.copy_rows[(5,)](x, z, 5, 90, 100, BLOCK=128, CURED=True)
        self.close(z, x[:, :90])

    def test_a_race(self):
        x = torch.rand(1024)
        findings = self.defect(planted.shift, (4,), x, 1024, BLOCK=256, CURED=False)
        self.assertEqual({finding.kind for finding in findings}, {"race"})
        lines = {line for finding in findings for line in (finding.line, finding.other["line"])}
        self.assertEqual(lines, {line_of("above = "), line_of("planted race")})
        twice = torch.rand(2048)
        planted.shift[(4,)](twice, 1024, BLOCK=256, CURED=True)

    def test_a_lost_update(self):
        x, result = torch.rand(1000), torch.zeros(1)
        findings = self.defect(planted.total, (4,), x, result, 1000, BLOCK=256, CURED=False)
        self.assertIn(("race", line_of("lost update")), {(f.kind, f.line) for f in findings})
        result.zero_()
        planted.total[(4,)](x, result, 1000, BLOCK=256, CURED=True)
        self.close(result, x.sum().reshape(1), 1e-5)

    def test_defects_can_be_printed(self):
        driver = tilescope.triton.enable(on_defect="print")
        x, z = torch.rand(5, 100), torch.zeros(5, 90)
        planted.copy_rows[(5,)](x, z, 5, 90, 100, BLOCK=128, CURED=False)
        self.assertEqual((driver.launches, driver.defects), (1, 1))

    def test_tensors_elsewhere_and_words_that_are_unknown(self):
        with self.assertRaisesRegex(ValueError, "argument x_ptr: the tensor is on meta"):
            x, z = torch.empty(4, device="meta"), torch.zeros(4)
            kernels.vector_add[(1,)](x, z, z, 4, BLOCK=16)
        with self.assertRaisesRegex(ValueError, "mode: expected one of"):
            tilescope.triton.enable("chek")
        with self.assertRaises(tilescope.UsageError):
            tilescope.triton.enable(device="emulated:none")


class Inspected(unittest.TestCase):
    def test_counts_of_a_kernel(self):
        x, y = torch.rand(3072), torch.rand(3072)
        z = torch.empty_like(x)
        result = tilescope.explain(kernels.vector_add, 3, args=(x, y, z, 3072),
                                   meta={"BLOCK": 1024})
        self.assertEqual(result.counts["global_store_sectors"], 3072 * 4 // 32)
        self.assertTrue(torch.equal(z, x + y))
        self.assertFalse(tilescope.check(planted.copy_rows, 5, args=(x, y, 60, 50, 60),
                                         meta={"BLOCK": 64, "CURED": False}).clean)

    def test_a_script_as_it_is(self):
        script = ("import sys, torch\nsys.path.insert(0, sys.argv[1])\nimport planted\n"
                  "x, z = torch.rand(5, 100, device='cuda'), torch.zeros(5, 90, device='cuda')\n"
                  "planted.copy_rows[(5,)](x, z, 5, 90, 100, BLOCK=128, CURED=len(sys.argv) > 2)\n")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "script.py")
            path.write_text(script)
            words = [sys.executable, "-m", "tilescope.triton", str(path), str(HERE)]
            faulty = subprocess.run(words, capture_output=True, text=True, check=False)
            cured = subprocess.run(words + ["cured"], capture_output=True, text=True, check=False)
        self.assertEqual(faulty.returncode, 1)
        self.assertIn(f"planted.py:{line_of('overrun')}", faulty.stderr)
        self.assertEqual(cured.returncode, 0, cured.stderr)
        self.assertIn("1 launch, no defects", cured.stderr)


class Tensors(unittest.TestCase):
    """Tensors of torch as arguments of a kernel in CUDA C++."""

    def test_types_and_layouts(self):
        source = "__global__ void k(const unsigned short* x, unsigned short* z, int n) {\n" \
                 "  if (threadIdx.x < n) z[threadIdx.x] = x[threadIdx.x];\n}\n"
        x = torch.rand(64).bfloat16().requires_grad_(True)
        z = torch.zeros(64, dtype=torch.bfloat16)
        self.assertTrue(tilescope.check(source, 1, 64, (x, z, 64)).clean)
        self.assertTrue(torch.equal(z, x.detach()))
        finding, = tilescope.check(source, 1, 64, (x[:60], z, 64)).findings
        self.assertEqual(finding.address, "x[60]")


if __name__ == "__main__":
    unittest.main()
