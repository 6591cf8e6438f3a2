"""PyTorch's tensors on a GPU: the bits of the same call from host memory, streams, graphs, errors.

Skipped where PyTorch has no GPU.
"""

import copy
import ctypes
import threading
import unittest

import numpy
import tilescope
import tilescope.torch
import torch

from gpu_calls import CALLS, expected, same_bits, unaligned_products

KERNEL, MEMSET = 0, 2  # CUgraphNodeType


def on_gpu(operands):
    return [torch.from_numpy(x).cuda() for x in operands]


def nodes_of(graph):
    """The types of a captured graph's nodes."""
    driver = ctypes.CDLL("libcuda.so.1")
    handle = ctypes.c_void_p(graph.raw_cuda_graph())
    count = ctypes.c_size_t()
    if driver.cuGraphGetNodes(handle, None, ctypes.byref(count)) != 0:
        raise AssertionError("cuGraphGetNodes failed")
    nodes = (ctypes.c_void_p * count.value)()
    driver.cuGraphGetNodes(handle, nodes, ctypes.byref(count))
    types = []
    for node in nodes:
        kind = ctypes.c_int(-1)
        driver.cuGraphNodeGetType(ctypes.c_void_p(node), ctypes.byref(kind))
        types.append(kind.value)
    return types


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Tensors(unittest.TestCase):
    def test_results_are_those_of_host_memory(self):
        for name, call, operands in CALLS:
            with self.subTest(name):
                result = call(*on_gpu(operands))
                self.assertTrue(result.is_cuda)
                self.assertTrue(same_bits(result.cpu().numpy(), expected(call, operands)))

    def test_rows_at_any_address(self):
        for name, call, operands, bound in unaligned_products():
            with self.subTest(name):
                result = call(*on_gpu(operands)).cpu().numpy().astype("float64")
                exact = numpy.matmul(*(x.astype("float64") for x in operands))
                self.assertTrue((abs(result - exact) <= bound).all())

    def test_operands_change(self):
        """A prepared call takes the addresses of each call."""
        for name, call, operands in CALLS:
            first, second = on_gpu(operands), on_gpu([x[..., ::-1].copy() for x in operands])
            results = [call(*first), call(*second), call(*first)]
            self.assertTrue(torch.equal(results[0], results[2]), name)
            reference = expected(call, [x.cpu().numpy() for x in second])
            self.assertTrue(same_bits(results[1].cpu().numpy(), reference), name)

    def test_bfloat16(self):
        a, b = (torch.empty(100, 100).uniform_(-1, 1).bfloat16() for _ in range(2))
        product = tilescope.matmul(a.cuda(), b.cuda())
        self.assertEqual(product.dtype, torch.bfloat16)
        self.assertTrue(torch.equal(product.cpu(), tilescope.matmul(a, b, device="cuda")))
        self.assertTrue(torch.equal(tilescope.transpose(a.cuda()).cpu(), a.T))

    def test_strides_of_products(self):
        a, b = torch.randn(120, 90, device="cuda"), torch.randn(64, 90, device="cuda")
        product = tilescope.matmul(a, b.T, precision="fp32")
        dense = tilescope.matmul(a, b.T.contiguous(), precision="fp32")
        self.assertLess(float((product - dense).abs().max()), 1e-4)
        whole = torch.full((120, 80), 7.0, device="cuda")
        self.assertIs(tilescope.matmul(a, b.T, out=whole[:, :64], precision="fp32").dtype,
                      torch.float32)
        self.assertTrue(torch.equal(whole[:, :64], product))
        self.assertTrue(bool((whole[:, 64:] == 7).all()))
        columns = a[:, ::2]
        with self.assertRaisesRegex(ValueError, "strides"):
            tilescope.matmul(columns, b[:, :45].T)

    def test_without_elements(self):
        empty = torch.empty(0, 5, device="cuda")
        self.assertEqual(tilescope.matmul(empty, torch.ones(5, 3, device="cuda")).shape, (0, 3))
        self.assertEqual(tilescope.scale(empty, 2).shape, (0, 5))
        self.assertEqual(tilescope.transpose(empty).shape, (5, 0))
        zero = tilescope.matmul(torch.ones(4, 0, device="cuda"), torch.ones(0, 3, device="cuda"))
        self.assertFalse(bool(zero.any()))
        self.assertEqual(float(tilescope.reduce(empty)), 0.0)


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Operators(unittest.TestCase):
    def test_a_module_learns_as_with_pytorch(self):
        torch.manual_seed(5)
        model = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(),
                                    torch.nn.Linear(96, 32)).cuda()
        x = torch.randn(128, 64, device="cuda", requires_grad=True)

        def gradients(module, values):
            module.zero_grad()
            module(values).square().sum().backward()
            return [p.grad.double().cpu() for p in module.parameters()]

        exact = gradients(copy.deepcopy(model).double(), x.detach().double())
        for module in (tilescope.torch.use_precision(copy.deepcopy(model)),
                       torch.compile(tilescope.torch.use_precision(copy.deepcopy(model)),
                                     backend="aot_eager")):
            for found, wanted in zip(gradients(module, x), exact):
                error = float((found - wanted).abs().max() / wanted.abs().max())
                self.assertLess(error, 1e-5)


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Streams(unittest.TestCase):
    def test_work_is_queued_on_the_current_stream(self):
        for name, call, operands in CALLS:
            tensors, stream = on_gpu(operands), torch.cuda.Stream()
            torch.cuda.synchronize()
            with torch.cuda.stream(stream):
                call(*tensors)  # prepares
                stream.synchronize()
                torch.cuda._sleep(100_000_000)  # clocks: 50 ms or more
                result = call(*tensors)
                self.assertFalse(stream.query(), name + " waited")
            self.assertTrue(torch.cuda.current_stream().query(), name + " used another stream")
            stream.synchronize()
            self.assertTrue(same_bits(result.cpu().numpy(), expected(call, operands)), name)

    def test_two_streams_and_two_threads(self):
        wrong = []

        def work(stream, calls):
            with torch.cuda.stream(stream):
                for name, call, operands in calls:
                    tensors = on_gpu(operands)
                    results = [call(*tensors) for _ in range(20)]
                    stream.synchronize()
                    if any(not torch.equal(result, results[0]) for result in results):
                        wrong.append(name)
                    if not same_bits(results[0].cpu().numpy(), references[name]):
                        wrong.append(name)

        references = {name: expected(call, operands) for name, call, operands in CALLS}
        threads = [threading.Thread(target=work, args=(torch.cuda.Stream(), order))
                   for order in (CALLS, CALLS[::-1])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Graphs(unittest.TestCase):
    def test_capture_and_replay(self):
        """Capturing forbids allocations and waiting; the graph has kernels and fills, no copies."""
        stream = torch.cuda.Stream()
        for name, call, operands in CALLS:
            tensors = on_gpu(operands)
            graph = torch.cuda.CUDAGraph(keep_graph=True)
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                call(*tensors)
            stream.synchronize()
            with torch.cuda.graph(graph, stream=stream):
                result = call(*tensors)
            if not name.startswith("histogram"):  # whose counts PyTorch widens by its own kernels
                self.assertLessEqual(set(nodes_of(graph)), {KERNEL, MEMSET}, name)
            others = [x[..., ::-1].copy() for x in operands]
            for tensor, other in zip(tensors, others):
                tensor.copy_(torch.from_numpy(other))
            for _ in range(2):
                result.fill_(1)
                graph.replay()
            torch.cuda.synchronize()
            self.assertTrue(same_bits(result.cpu().numpy(), expected(call, others)), name)


@unittest.skipUnless(torch.cuda.is_available(), "no GPU")
class Errors(unittest.TestCase):
    def fails(self, kind, words, call, *arguments, **keywords):
        with self.assertRaises(kind) as caught:
            call(*arguments, **keywords)
        self.assertNotIn("\n", str(caught.exception))
        for word in words.split():
            self.assertIn(word, str(caught.exception))

    def test_they_name_the_argument(self):
        x, host = torch.ones(64, 64, device="cuda"), torch.ones(64, 64)
        self.fails(ValueError, "b cpu a cuda:0", tilescope.vector_add, x, host)
        self.fails(ValueError, "b cuda:0 host", tilescope.vector_add, host, x)
        self.fails(ValueError, "out cpu", tilescope.scale, x, 2, out=host)
        self.fails(ValueError, "b cpu a cuda:0", tilescope.matmul, x, host)
        self.fails(ValueError, "b cuda:0 host", tilescope.matmul, host, x)
        self.fails(tilescope.UsageError, "device cpu cuda:0", tilescope.scale, x, 2, device="cpu")
        self.fails(tilescope.UsageError, "device emulated cuda:0", tilescope.matmul, x, x,
                   device="emulated")
        self.fails(ValueError, "x contiguous", tilescope.scale, x[:, ::2], 2)
        self.fails(ValueError, "x contiguous", tilescope.scale, x.T, 2)
        self.fails(ValueError, "x contiguous", tilescope.scale, x[:, :1].expand(64, 64), 2)
        self.fails(ValueError, "16", tilescope.scale, x.flatten()[1:], 2)
        self.fails(ValueError, "shares memory", tilescope.scale, x, 2, out=x)
        self.fails(ValueError, "shares memory", tilescope.matmul, x, x, out=x)
        self.fails(ValueError, "out (64, 64)", tilescope.transpose, x, out=x[:32])
        self.fails(TypeError, "out float64", tilescope.scale, x, 2, out=x.double())
        self.fails(TypeError, "complex64", tilescope.matmul, x.cfloat(), x)
        self.fails(TypeError, "gradient", tilescope.matmul, x.clone().requires_grad_(), x)
        self.fails(TypeError, "negated", tilescope.scale, x.cfloat().conj().imag, 2)
        self.fails(TypeError, "bias", tilescope.matmul, x, x, bias=x[0].half())


if __name__ == "__main__":
    unittest.main()
