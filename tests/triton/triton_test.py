"""Triton's code as it comes: generate.py's PTX runs, its results are right, `check` is silent, and
a planted overrun is shown at its line of Python."""

import pathlib
import re
import shutil
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "cli"))
import program  # noqa: E402

TYPES = {"float32": "f32", "float16": "f16", "int32": "i32"}
RANDOM = np.random.default_rng(7)


def half(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float16)


def single(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


class Triton(program.ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copy(HERE / "kernels.py", self.folder)

    def argument(self, name, value, out):
        if not isinstance(value, np.ndarray):
            return f"{'i32' if isinstance(value, int) else 'f32'}:{value}"
        self.save(f"{name}.npy", value.ravel())
        save = f">{name}_out.npy" if name in out else ""
        return f"{name}={TYPES[str(value.dtype)]}[{value.size}]=@{name}.npy{save}"

    def launch(self, command, kernel, capability, grid, arguments, out=(), ptx=None):
        ptx = ptx or HERE / "ptx" / f"{kernel}_{capability}.ptx"
        shared, scratch = map(int, re.findall(r"(\d+) bytes", ptx.read_text().split("\n")[0]))
        spelled = [self.argument(name, value, out) for name, value in arguments.items()]
        # Triton's own parameters: memory that the kernel may use, and a profiler's.
        spelled += [f"u8[{scratch * grid}]=uninitialised" if scratch else "u64:0", "u64:0"]
        return self.run_program(
            command, str(ptx), "--device", "emulated", "--kernel", kernel, "--grid", str(grid),
            "--block", "128", "--shared", str(shared),
            *(word for each in spelled for word in ("--arg", each)))

    def verify(self, kernel, grid, arguments, expected, tolerance=0.0, capabilities=(80, 90)):
        """Runs and checks; `expected` has the results by the arguments' names."""
        for capability in capabilities:
            with self.subTest(kernel, capability=capability):
                result = self.launch("run", kernel, capability, grid, arguments, expected)
                self.assertEqual((result.code, result.err), (0, ""), result.out)
                for name, values in expected.items():
                    got = self.load(f"{name}_out.npy").astype(np.float64)
                    np.testing.assert_allclose(got, values.ravel(), tolerance, tolerance, name)
                result = self.launch("check", kernel, capability, grid, arguments)
                self.assertEqual((result.code, result.err), (0, ""), result.out)
                self.assertNotIn("error:", result.out)
                self.assertNotIn("warning:", result.out)

    def test_vector_add(self):
        x, y = single(3000), single(3000)
        self.verify("vector_add", 3, {"x": x, "y": y, "z": np.zeros_like(x), "n": 3000},
                    {"z": x + y})

    def test_overrun_is_shown_at_its_line_of_python(self):
        x = single(3000)
        arguments = {"x": x, "y": x, "z": np.zeros_like(x), "n": 3000}
        source = (HERE / "kernels.py").read_text().split("\n")
        line = next(i for i, text in enumerate(source, 1) if "too many" in text)
        for capability in (80, 90):
            result = self.launch("check", "overrun", capability, 3, arguments)
            self.assertEqual((result.code, result.err), (1, ""))
            self.assertIn(f"error: out-of-bounds at kernels.py:{line}\n", result.out)
            self.assertIn("z[3000] misses z, which has 3,000 elements", result.out)
            self.assertIn("1 error;", result.out)

    def test_a_descriptor_of_another_swizzle_is_found(self):
        text = (HERE / "ptx" / "descriptor_matmul_90.ptx").read_text()
        by_128, by_64 = 0x4000004000000000, 0x8000004000000000
        self.assertIn(str(by_128), text)
        other = pathlib.Path(self.folder, "other.ptx")
        other.write_text(text.replace(str(by_128), str(by_64)))
        a, b = half(128, 128), half(128, 128)
        arguments = {"a": a, "b": b, "c": np.zeros_like(a), "m": 128, "n": 128, "k": 128}
        result = self.launch("check", "descriptor_matmul", 90, 4, arguments, ptx=other)
        self.assertEqual((result.code, result.err), (1, ""))
        self.assertIn("error: tile-alignment at kernels.py:", result.out)
        self.assertRegex(result.out, r"operand [AB] says a swizzle of 64 bytes, and the tile was\s+"
                                     r"copied with a swizzle of 128 bytes")
        self.assertIn("1 error;", result.out)

    def test_softmax(self):
        x = single(7, 200)
        raised = np.exp(x - x.max(1, keepdims=True))
        self.verify("softmax", 3,
                    {"x": x, "z": np.zeros_like(x), "rows": 7, "columns": 200, "stride": 200},
                    {"z": raised / raised.sum(1, keepdims=True)}, 1e-5)

    def product(self, kernel, grid):
        a, b = half(150, 70), half(70, 100)
        self.verify(kernel, grid,
                    {"a": a, "b": b, "c": np.zeros((150, 100), np.float16), "m": 150, "n": 100,
                     "k": 70}, {"c": a.astype(float) @ b.astype(float)}, 2e-3)

    def test_matmul(self):
        self.product("matmul", 6)

    def test_persistent_matmul(self):
        self.product("persistent_matmul", 4)

    def test_layer_norm(self):
        rows, columns = 5, 700
        x, scale, shift = half(rows, columns), half(columns), half(columns)
        wide = x.astype(float)
        mean, rstd = wide.mean(1), 1 / np.sqrt(wide.var(1) + 1e-5)
        self.verify("layer_norm", rows,
                    {"x": x, "z": np.zeros_like(x), "scale": scale, "shift": shift,
                     "mean": np.zeros(rows, np.float32), "rstd": np.zeros(rows, np.float32),
                     "stride": columns, "n": columns, "eps": 1e-5},
                    {"z": (wide - mean[:, None]) * rstd[:, None] * scale + shift, "mean": mean,
                     "rstd": rstd}, 2e-3)

    def test_layer_norm_backward(self):
        rows, columns = 5, 300
        x, dy, scale = half(rows, columns), half(rows, columns), half(columns)
        wide = x.astype(float)
        mean, rstd = wide.mean(1), 1 / np.sqrt(wide.var(1) + 1e-5)
        xhat, wdy = (wide - mean[:, None]) * rstd[:, None], dy.astype(float) * scale
        dx = wdy - xhat * (xhat * wdy).mean(1, keepdims=True) - wdy.mean(1, keepdims=True)
        part = dy.astype(float) * xhat
        self.verify("layer_norm_backward", rows,
                    {"dy": dy, "x": x, "scale": scale, "mean": mean.astype(np.float32),
                     "rstd": rstd.astype(np.float32), "dx": np.zeros_like(x),
                     "dscale": np.zeros((2, columns), np.float32), "locks": np.zeros(2, np.int32),
                     "stride": columns, "n": columns},
                    {"dx": dx * rstd[:, None],
                     "dscale": np.stack([part[0::2].sum(0), part[1::2].sum(0)])}, 2e-3)

    def test_attention(self):
        length, depth = 150, 64
        q, k, v = half(length, depth), half(length, depth), half(length, depth)
        scale = 1.4426950408889634 / 8
        score = q.astype(float) @ k.astype(float).T * scale
        score[np.triu_indices(length, 1)] = -np.inf
        weight = np.exp2(score - score.max(1, keepdims=True))
        self.verify("attention", 3,
                    {"q": q, "k": k, "v": v, "out": np.zeros_like(q), "scale": scale,
                     "length": length},
                    {"out": weight / weight.sum(1, keepdims=True) @ v.astype(float)}, 4e-3)


if __name__ == "__main__":
    program.main()
