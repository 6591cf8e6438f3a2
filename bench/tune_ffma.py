"""Times kernels/gemm/ffma_tiles.cu with many constants beside cuBLAS, on a GPU machine with CUDA and
PyTorch: what the table in src/operations/gemm/hopper/ffma_plan.cpp was chosen by. Kernels are compiled by
NVRTC, as the library does: nvcc's machine code of the same source is other, and its times too.

Usage: bench/tune_ffma.py CASES.json [--kernels kernels/gemm]

CASES.json: a list of {"shapes": [[m, n, k], ...], "configurations": [{NAME: VALUE}, ...]}; the
names are the constants of the kernel and SPLITS. Where A_BY_STEPS meets A_SOURCE=0 (boxes), the
kernel gets a transposed copy of A, which is not timed. Inputs are uniform in [-1, 1] and rotate
through twice the L2 cache.
Printed: the median time, the rate, cuBLAS's time over it, registers, and how far the result is from
a float64 product (large products: from cuBLAS's result).
"""

import argparse
import concurrent.futures
import ctypes
import json
import math
import os
import re
import statistics
import struct
import tempfile

import torch

cuda = ctypes.CDLL("libcuda.so.1")
nvrtc = ctypes.CDLL("libnvrtc.so.13")
BOXES, WORDS, TRANSPOSED_WORDS = range(3)  # how the kernel reads an operand
DEFAULTS = {"SLICES": 1, "SPLITS": 1, "A_BY_STEPS": 1, "GROUP": 8, "QUADS_AT_ONCE": 2,
            "A_SOURCE": BOXES, "B_SOURCE": BOXES, "BLOCKS_PER_SM": 1}
EPILOGUE = {"C_TYPE": "float32", "READS_C": 0, "BIAS": "no_bias", "ACTIVATION": "no_activation"}
STEPS = 32  # of k in one buffer


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: {text.value.decode() if text.value else code}")


def of_program(program, size, content):
    count = ctypes.c_size_t()
    getattr(nvrtc, size)(program, ctypes.byref(count))
    buffer = ctypes.create_string_buffer(count.value)
    getattr(nvrtc, content)(program, buffer)
    return buffer.raw


def compile_kernel(path, defines, folder, number):
    cubin = os.path.join(folder, f"{number}.cubin")
    options = ["--gpu-architecture=sm_90a", "--std=c++17", "--generate-line-info",
               "--ptxas-options=-v", "--ptxas-options=-O1", "-I" + os.path.dirname(path),
               *(f"-D{name}={value}" for name, value in defines.items())]
    program = ctypes.c_void_p()
    with open(path, "rb") as source:
        code = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.read(), b"kernel.cu", 0, None,
                                        None)
    assert code == 0, f"nvrtcCreateProgram: {code}"
    texts = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    code = nvrtc.nvrtcCompileProgram(program, len(options), texts)
    log = of_program(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").decode()
    if code:
        return None, log[-600:]
    with open(cubin, "wb") as file:
        file.write(of_program(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN"))
    spills = re.search(r"(\d+) bytes spill stores", log)[1]
    note = re.search(r"Used (\d+) registers", log)[1] + " registers"
    return cubin, note + (f", SPILLS {spills}" if spills != "0" else "")


def load(cubin, name, shared=0):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoad", ctypes.byref(module), cubin.encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
    if shared:
        call("cuFuncSetAttribute", function, 8, shared)  # dynamic shared memory beyond 48 KB
    return function


def tensor_map(address, columns, rows, pitch, box, swizzle):
    raw = ctypes.create_string_buffer(192)
    at = (ctypes.addressof(raw) + 63) // 64 * 64
    call("cuTensorMapEncodeTiled", ctypes.c_void_p(at), 7, 3, ctypes.c_void_p(address),
         (ctypes.c_uint64 * 3)(columns, rows, 1), (ctypes.c_uint64 * 2)(pitch, pitch),
         (ctypes.c_uint32 * 3)(*box, 1), (ctypes.c_uint32 * 3)(1, 1, 1), 0, swizzle, 2, 0)
    return ctypes.string_at(at, 128)


def operand_map(matrix, box, swizzle):
    """The map of a dense matrix, whose rows must start at multiples of 16 bytes."""
    rows, columns = matrix.shape
    assert columns % 4 == 0, "rows that begin anywhere are copied by the library, not here"
    return tensor_map(matrix.data_ptr(), columns, rows, 4 * columns, box, swizzle)


def constants(configuration):
    c = {**DEFAULTS, **configuration}
    c["SPLIT"] = int(c.pop("SPLITS") > 1)
    return {**c, **EPILOGUE}


class Product:
    def __init__(self, cubin, reduction, configuration, m, n, k):
        c = {**DEFAULTS, **configuration}
        self.c, self.m, self.n, self.k, self.reduction = c, m, n, k, reduction
        warps = c["BM"] // (c["LANES_DOWN"] * c["RM"]) * c["SLICES"]
        warps *= c["BN"] // (32 // c["LANES_DOWN"] * c["RN"])
        self.threads = 32 * (warps + 4)
        pads = 4 * ((c["A_SOURCE"] == TRANSPOSED_WORDS) + (c["B_SOURCE"] == TRANSPOSED_WORDS))
        stage = (c["BM"] + c["BN"] + pads) * STEPS * 4
        self.shared = c["STAGES"] * (-(-stage // 1024) * 1024 + 16)
        phases = -(-k // STEPS)
        self.per_split = -(-phases // c["SPLITS"])
        self.splits = -(-phases // self.per_split)
        self.tiles = -(-m // c["BM"]) * -(-n // c["BN"])
        self.pitch = -(-n // 4) * 4
        parts = self.splits if self.splits > 1 else 0
        self.partial = torch.empty(max(1, parts * m * self.pitch), device="cuda")
        self.function = load(cubin, "gemm", self.shared)

    def arguments(self, a, a_transposed, b, out):
        c = self.c
        a_map = b_map = bytes(128)
        if c["A_SOURCE"] == BOXES:
            a_map = (operand_map(a_transposed, (c["BM"], STEPS), 0) if c["A_BY_STEPS"] else
                     operand_map(a, (STEPS, c["BM"]), 3))
        if c["B_SOURCE"] == BOXES:
            b_map = operand_map(b, (c["BN"], STEPS), 0)
        # Words of A lie along k, as its rows do, unless they are to be as the tile's.
        words = a_transposed if c["A_BY_STEPS"] and c["A_SOURCE"] == WORDS else a
        packed = struct.pack("<4i3q5Q2q2i2f", self.m, self.n, self.k, self.per_split, self.n,
                             self.m * self.n, self.pitch, out.data_ptr(), 0, self.partial.data_ptr(),
                             words.data_ptr(), b.data_ptr(), 0, 0, 4 * words.shape[1], 4 * b.shape[1], 1.0, 0.0)
        kept = [ctypes.create_string_buffer(x, len(x)) for x in (a_map + b_map, packed)]
        add = [ctypes.c_uint64(self.partial.data_ptr()), ctypes.c_uint64(out.data_ptr()),
               ctypes.c_uint64(0), ctypes.c_int32(self.m), ctypes.c_int32(self.n),
               ctypes.c_int32(self.splits), ctypes.c_int64(self.pitch), ctypes.c_int64(self.n),
               ctypes.c_int64(self.m * self.n), ctypes.c_float(1), ctypes.c_float(0),
               ctypes.c_uint64(0)]
        lists = [(ctypes.c_void_p * len(x))(*map(ctypes.addressof, x)) for x in (kept, add)]
        return [*lists, kept, add]

    def run(self, arguments):
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        call("cuLaunchKernel", self.function, self.tiles, self.splits, 1, self.threads, 1, 1,
             self.shared, stream, arguments[0], None)
        if self.splits > 1:
            call("cuLaunchKernel", self.reduction, -(-self.m // 8), -(-self.n // 32), 1, 32, 8, 1, 0,
                 stream, arguments[1], None)


def median_ms(run, sets, runs):
    for i in range(3):
        run(i % sets)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(runs)]
    for i, (start, end) in enumerate(events):
        start.record()
        run(i % sets)
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events)


def measure(m, n, k, configurations, compiled, reduction):
    sets = max(2, int(120e6 / (4.0 * (m * k + k * n + m * n))) + 1)
    def matrices(rows, columns):
        return [torch.empty(rows, columns, device="cuda").uniform_(-1, 1) for _ in range(sets)]
    a, b, out = matrices(m, k), matrices(k, n), matrices(m, n)
    a_transposed = [x.t().contiguous() for x in a]
    work = 2e-9 * m * n * k
    runs = max(7, min(200, int(60 / (work / 50 + 0.005))))
    blas = median_ms(lambda i: torch.mm(a[i], b[i], out=out[i]), sets, runs)
    torch.mm(a[0], b[0], out=out[0])
    want = a[0].double() @ b[0].double() if m * n * k < 1e11 else out[0].double()
    print(f"{m} x {n} x {k}: cuBLAS {1e3 * blas:.1f} us, {work / blas:.1f} TFLOP/s, "
          f"error {(out[0] - want).abs().max().item():.2e}", flush=True)
    for c in configurations:
        name = " ".join(f"{key}={value}" for key, value in c.items())
        cubin, note = compiled[json.dumps(constants(c), sort_keys=True)].result()
        if cubin is None:
            print(f"  {name}: does not compile: {note}")
            continue
        product = Product(cubin, reduction, c, m, n, k)
        arguments = [product.arguments(*x) for x in zip(a, a_transposed, b, out)]
        out[0].fill_(math.nan)
        product.run(arguments[0])
        error = (out[0] - want).abs().max().item()
        ms = median_ms(lambda i: product.run(arguments[i]), sets, runs)
        print(f"  {1e3 * ms:9.1f} us {work / ms:6.1f} TFLOP/s {blas / ms:6.3f} of cuBLAS, error "
              f"{error:.2e}, {note}: {name}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases")
    parser.add_argument("--kernels", default="kernels/gemm")
    arguments = parser.parse_args()
    with open(arguments.cases) as file:
        cases = json.load(file)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.zeros(1, device="cuda")
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = {}
        for case in cases:
            for shape in case["shapes"]:
                for c in case["configurations"]:
                    defines = constants(c)
                    key = json.dumps(defines, sort_keys=True)
                    if key not in compiled:
                        compiled[key] = pool.submit(
                            compile_kernel, os.path.join(arguments.kernels, "ffma_tiles.cu"),
                            defines, folder, len(compiled))
        cubin, note = compile_kernel(os.path.join(arguments.kernels, "reduce_splits.cu"),
                                     {**EPILOGUE, "SUM": "float32", "COLUMNS": 1}, folder,
                                     "reduction")
        if cubin is None:
            raise SystemExit(note)
        reduction = load(cubin, "reduce_splits")
        for case in cases:
            for shape in case["shapes"]:
                measure(*shape, case["configurations"], compiled, reduction)


if __name__ == "__main__":
    main()
