"""Arrays of CuPy and JAX on a GPU: the bits of the same call from host memory, without a copy.

Skipped for a package that is missing or sees no GPU.
"""

import os
import unittest

import numpy
import tilescope

from gpu_calls import CALLS, draw, expected, same_bits

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


def cupy_on_gpu():
    try:
        import cupy

        return cupy if cupy.cuda.runtime.getDeviceCount() else None
    except Exception:  # of many kinds: no package, no driver
        return None


def jax_on_gpu():
    try:
        import jax

        return jax if jax.default_backend() == "gpu" else None
    except Exception:
        return None


cupy, jax = cupy_on_gpu(), jax_on_gpu()


@unittest.skipUnless(cupy, "no CuPy with a GPU")
class CuPy(unittest.TestCase):
    def test_results_are_those_of_host_memory(self):
        for name, call, operands in CALLS:
            with self.subTest(name):
                result = call(*map(cupy.asarray, operands))
                self.assertIsInstance(result, cupy.ndarray)
                self.assertTrue(same_bits(cupy.asnumpy(result), expected(call, operands)))

    def test_streams(self):
        busy = cupy.RawKernel(r"""extern "C" __global__ void spin() {
            long long begin = clock64(); while (clock64() - begin < 100000000LL) {} }""", "spin")
        for name, call, operands in CALLS:
            stream = cupy.cuda.Stream(non_blocking=True)
            arrays = [cupy.asarray(x) for x in operands]
            cupy.cuda.Device().synchronize()
            with stream:
                call(*arrays)
                stream.synchronize()
                busy((1,), (1,), ())
                result = call(*arrays)
                self.assertFalse(stream.done, name + " waited")
                stream.synchronize()
            self.assertTrue(same_bits(cupy.asnumpy(result), expected(call, operands)), name)

    def test_graph(self):
        a, b = cupy.asarray(draw(256, 256)), cupy.asarray(draw(256, 256))
        out = cupy.empty_like(a)
        stream = cupy.cuda.Stream(non_blocking=True)
        cupy.cuda.Device().synchronize()
        with stream:
            tilescope.matmul(a, b, out=out)
            stream.synchronize()
            stream.begin_capture()
            tilescope.matmul(a, b, out=out)
            graph = stream.end_capture()
            a[...] = a[::-1].copy()
            out.fill(0)
            graph.launch()
            stream.synchronize()
        reference = tilescope.matmul(cupy.asnumpy(a), cupy.asnumpy(b), device="cuda")
        self.assertTrue(same_bits(cupy.asnumpy(out), reference))

    def test_orders_and_other_packages(self):
        a, b = draw(80, 96), draw(96, 64)
        expected_product = tilescope.matmul(a, b, precision="fp32", device="cuda")
        product = tilescope.matmul(cupy.asfortranarray(cupy.asarray(a)), cupy.asarray(b),
                                   precision="fp32")
        numpy.testing.assert_allclose(cupy.asnumpy(product), expected_product, atol=1e-4)

    def test_errors(self):
        x = cupy.ones((8, 8), "float32")
        for kind, words, call in [
                (TypeError, "complex64", lambda: tilescope.matmul(x.astype("complex64"), x)),
                (ValueError, "b lies on cpu", lambda: tilescope.matmul(x, cupy.asnumpy(x))),
                (ValueError, "contiguous", lambda: tilescope.scale(x[:, ::2], 2)),
                (ValueError, "shares memory", lambda: tilescope.scale(x, 2, out=x)),
                (ValueError, "device cpu", lambda: tilescope.scale(x, 2, device="cpu"))]:
            with self.assertRaisesRegex(kind, words) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))


@unittest.skipUnless(jax, "no JAX with a GPU")
class Jax(unittest.TestCase):
    def test_results_are_those_of_host_memory(self):
        for name, call, operands in CALLS:
            arrays = [jax.numpy.asarray(x) for x in operands]
            if any(str(array.dtype) != str(x.dtype) for array, x in zip(arrays, operands)):
                continue  # 64 bits, which JAX makes only when told to
            result = call(*arrays)
            if not name.startswith(("reduce", "histogram")):
                self.assertIsInstance(result, jax.Array, name)
                self.assertEqual(result.devices(), arrays[0].devices(), name)
            self.assertTrue(same_bits(numpy.asarray(result, expected(call, operands).dtype),
                                      expected(call, operands)), name)
            for array, x in zip(arrays, operands):
                numpy.testing.assert_array_equal(numpy.asarray(array), x, err_msg=name)

    def test_operands_that_are_still_computed(self):
        x = jax.numpy.asarray(draw(4096, 4096))
        for _ in range(3):
            y = jax.numpy.sin(x @ x)
            numpy.testing.assert_array_equal(numpy.asarray(tilescope.scale(y, 2)),
                                             2 * numpy.asarray(y))

    def test_bfloat16(self):
        a = jax.numpy.asarray(draw(64, 64)).astype("bfloat16")
        product = tilescope.matmul(a, a)
        self.assertEqual(str(product.dtype), "bfloat16")
        numpy.testing.assert_allclose(
            numpy.asarray(product, "float32"),
            numpy.asarray(a, "float64") @ numpy.asarray(a, "float64"), rtol=1e-2, atol=1e-2)

    def test_errors(self):
        x = jax.numpy.ones((8, 8), "float32")
        for words, call in [("out", lambda: tilescope.scale(x, 2, out=x)),
                            ("traces", lambda: jax.jit(lambda y: tilescope.scale(y, 2))(x)),
                            ("traces", lambda: jax.grad(
                                lambda y: tilescope.matmul(y, y).sum())(x))]:
            with self.assertRaisesRegex(TypeError, words):
                call()


if __name__ == "__main__":
    unittest.main()
