"""tilescope with JAX in host memory: arrays of JAX come back, of every type; nothing is written."""

import unittest

import jax
import jax.numpy as jnp
import numpy
import tilescope

RANDOM = numpy.random.default_rng(31)


def draw(*shape, dtype="float32"):
    return jnp.asarray(RANDOM.integers(-8, 9, shape)).astype(dtype)


class Arrays(unittest.TestCase):
    def test_products(self):
        for dtype in ("float16", "bfloat16", "float32"):
            a, b = draw(30, 41, dtype=dtype), draw(41, 20, dtype=dtype)
            kept = numpy.array(a)
            product = tilescope.matmul(a, b)
            self.assertIsInstance(product, jax.Array)
            self.assertEqual((product.dtype, product.devices()), (a.dtype, a.devices()))
            exact = numpy.asarray(a, "float64") @ numpy.asarray(b, "float64")
            numpy.testing.assert_array_equal(product, jnp.asarray(exact).astype(dtype))
            numpy.testing.assert_array_equal(a, kept)

    def test_lists_and_batches(self):
        a, b = draw(5, 6, 7), draw(7)
        numpy.testing.assert_array_equal(tilescope.matmul(a, b), jnp.matmul(a, b))
        numpy.testing.assert_array_equal(tilescope.matmul(b, a[0].T), jnp.matmul(b, a[0].T))

    def test_every_type_round_trips(self):
        for dtype in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "bool", "float16",
                      "bfloat16", "float32"):
            x = draw(3, 4, dtype=dtype)
            result = tilescope.transpose(x)
            self.assertIsInstance(result, jax.Array)
            self.assertEqual(result.dtype, x.dtype)
            numpy.testing.assert_array_equal(result, x.T)

    def test_results(self):
        x = draw(6, 6)
        self.assertEqual(tilescope.reduce(x), float(x.sum()))
        self.assertEqual(int(tilescope.histogram(x, 4, (-9, 9)).sum()), 36)
        out = numpy.zeros((6, 6), "float32")
        self.assertIs(tilescope.matmul(x, x, out=out), out)
        numpy.testing.assert_array_equal(out, x @ x)

    def test_errors(self):
        x = draw(4, 4)
        for words, call in [
                ("cannot be written", lambda: tilescope.scale(x, 2, out=x)),
                ("cannot be written", lambda: tilescope.matmul(x, x, out=x)),
                ("complex64", lambda: tilescope.scale(x.astype("complex64"), 2)),
                ("traces", lambda: jax.jit(lambda y: tilescope.scale(y, 2))(x)),
                ("traces", lambda: jax.grad(lambda y: tilescope.matmul(y, y).sum())(x))]:
            with self.assertRaisesRegex(TypeError, words) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))

    def test_a_callback_within_jit(self):
        x = draw(8, 8)
        product = jax.jit(lambda y: jax.pure_callback(
            lambda z: numpy.asarray(tilescope.matmul(z, z)),
            jax.ShapeDtypeStruct(y.shape, y.dtype), y))(x)
        numpy.testing.assert_array_equal(product, x @ x)


if __name__ == "__main__":
    unittest.main()
