"""tilescope with PyTorch: tensors without a copy, operators with gradients, torch.compile."""

import unittest

import numpy
import tilescope
import tilescope.torch
import torch
from torch import nn

TYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def draw(*shape, dtype=torch.float32, requires_grad=False):
    values = torch.empty(shape, dtype=torch.float64).uniform_(-1, 1).to(dtype)
    return values.requires_grad_(requires_grad)


class Tensors(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(11)

    def test_products_are_those_of_numpy(self):
        a, b = draw(30, 41), draw(41, 20)
        product = tilescope.matmul(a, b)
        self.assertIsInstance(product, torch.Tensor)
        numpy.testing.assert_array_equal(product.numpy(), tilescope.matmul(a.numpy(), b.numpy()))

    def test_types(self):
        for left in TYPES:
            for right in TYPES:
                a, b = draw(9, 14, dtype=left), draw(14, 6, dtype=right)
                product = tilescope.matmul(a, b, precision="fp64")
                self.assertEqual(product.dtype, torch.promote_types(left, right))
                exact = a.double() @ b.double()
                self.assertTrue(torch.equal(product, exact.to(product.dtype)) or torch.allclose(
                    product.double(), exact, rtol=1e-2 if product.dtype.itemsize == 2 else 1e-6))

    def test_out_is_written_in_place(self):
        a, b = draw(8, 9), draw(9, 5)
        whole = torch.full((16, 10), 7.0)
        out = whole[::2, ::2]
        self.assertIs(tilescope.matmul(a, b, out=out), out)
        self.assertTrue(torch.equal(out, tilescope.matmul(a, b)))
        self.assertEqual(int((whole == 7).sum()), whole.numel() - out.numel())

    def test_strides_and_empty_tensors(self):
        a, b = draw(20, 12), draw(20, 8)
        expected = tilescope.matmul(a.T.contiguous(), b)
        self.assertTrue(torch.equal(tilescope.matmul(a.T, b), expected))
        self.assertEqual(tilescope.matmul(draw(0, 5), draw(5, 3)).shape, (0, 3))
        self.assertFalse(tilescope.matmul(draw(4, 0), draw(0, 3)).any())

    def test_every_type_round_trips(self):
        for dtype in (*TYPES, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8,
                      torch.bool):
            values = torch.arange(12).reshape(3, 4).to(dtype)
            self.assertTrue(torch.equal(tilescope.transpose(values), values.T), dtype)
            self.assertTrue(torch.equal(tilescope.transpose(values.T[::2]), values.T[::2].T), dtype)

    def test_two_tensors_of_bfloat16_take_bf16(self):
        a, b = draw(64, 256, dtype=torch.bfloat16), draw(256, 64, dtype=torch.bfloat16)
        named = [tilescope.matmul(a, b, precision=precision, device="emulated")
                 for precision in (None, "bf16", "fp32")]
        self.assertTrue(torch.equal(named[0], named[1]))
        out = [torch.empty(64, 64) for _ in range(3)]
        for precision, result in zip((None, "bf16", "fp32"), out):
            tilescope.matmul(a, b, out=result, precision=precision, device="emulated")
        self.assertTrue(torch.equal(out[0], out[1]))
        self.assertFalse(torch.equal(out[0], out[2]))  # summed in another order

    def test_a_negated_view_is_refused(self):
        negated = torch.tensor([[1 + 2j, 3 - 4j]]).conj().imag
        self.assertTrue(negated.is_neg())
        with self.assertRaisesRegex(TypeError, "negated view"):
            tilescope.transpose(negated)
        self.assertTrue(torch.equal(tilescope.transpose(negated.resolve_neg()), negated.T))

    def test_a_gradient_is_not_lost_in_silence(self):
        with self.assertRaisesRegex(TypeError, "gradient"):
            tilescope.matmul(draw(3, 3, requires_grad=True), draw(3, 3))

    def test_other_types_are_refused(self):
        with self.assertRaisesRegex(TypeError, "complex64"):
            tilescope.matmul(torch.zeros(2, 2, dtype=torch.complex64), draw(2, 2))


class Operators(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(12)

    def test_they_pass_the_checks_of_pytorch(self):
        a, b = draw(5, 7, requires_grad=True), draw(7, 4, requires_grad=True)
        torch.library.opcheck(torch.ops.tilescope.mm.default, (a, b))
        torch.library.opcheck(torch.ops.tilescope.bmm.default,
                              (draw(2, 5, 7, requires_grad=True), draw(2, 7, 4)))
        for bias in (None, draw(4, requires_grad=True)):
            torch.library.opcheck(torch.ops.tilescope.linear.default,
                                  (draw(3, 5, 7, requires_grad=True),
                                   draw(4, 7, requires_grad=True), bias))

    def test_gradients(self):
        def double(*shape):
            return draw(*shape, dtype=torch.float64, requires_grad=True)

        self.assertTrue(torch.autograd.gradcheck(
            lambda a, b: torch.ops.tilescope.mm(a, b, "fp64"), (double(4, 5), double(5, 3))))
        self.assertTrue(torch.autograd.gradcheck(
            lambda a, b: torch.ops.tilescope.bmm(a, b, "fp64"),
            (double(2, 4, 5), double(2, 5, 3))))

    def test_errors(self):
        with self.assertRaises(ValueError):
            torch.ops.tilescope.mm(draw(2, 2, 2), draw(2, 2))
        with self.assertRaises(ValueError):
            torch.ops.tilescope.mm(draw(2, 3), draw(2, 3))

    def test_torch_compile_keeps_them(self):
        graphs = []

        def keep(graph, example_inputs):
            graphs.append(graph)
            return graph.forward

        compiled = torch.compile(lambda a, b: torch.relu(torch.ops.tilescope.mm(a, b)),
                                 backend=keep, fullgraph=True)
        a, b = draw(6, 7), draw(7, 5)
        self.assertTrue(torch.equal(compiled(a, b), torch.relu(torch.ops.tilescope.mm(a, b))))
        self.assertIn("tilescope.mm", graphs[0].code)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(12, 16), nn.Linear(16, 3, bias=False)

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        return self.second(hidden) @ torch.ones(3, 2)


class Switch(unittest.TestCase):
    def calls(self, work):
        """The operators of tilescope that `work` runs."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            work()
        return [event.name for event in profile.events() if event.name.startswith("tilescope::")]

    def test_products_of_a_module(self):
        torch.manual_seed(13)
        model, x = Model(), draw(4, 5, 12)
        expected = model(x)
        gradient_x = x.clone().requires_grad_()
        model(gradient_x).sum().backward()
        expected_gradients = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        self.assertIs(tilescope.torch.use_precision(model), model)
        self.assertTrue(torch.allclose(model(x), expected, rtol=1e-5, atol=1e-6))
        names = self.calls(lambda: model(x))
        self.assertEqual(names.count("tilescope::linear"), 2)
        model(x.clone().requires_grad_()).sum().backward()
        for parameter, gradient in zip(model.parameters(), expected_gradients):
            self.assertTrue(torch.allclose(parameter.grad, gradient, rtol=1e-4, atol=1e-5))

    def test_other_types_stay(self):
        model = tilescope.torch.use_precision(Model().double())
        self.assertEqual(self.calls(lambda: model.first(draw(2, 12, dtype=torch.float64))), [])

    def test_the_code_outside_stays(self):
        tilescope.torch.use_precision(Model())
        self.assertEqual(self.calls(lambda: draw(3, 3) @ draw(3, 3)), [])


if __name__ == "__main__":
    unittest.main()
