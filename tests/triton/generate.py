"""Compiles kernels.py to ptx/NAME_CC.ptx, which triton_test.py runs. Needs Triton but no GPU:

    pip install triton && python generate.py
"""

import pathlib
import re

import kernels
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HERE = pathlib.Path(__file__).parent
SINGLE, HALF, INTEGER, ADDRESSES = "*fp32", "*fp16", "i32", "*i64"
PRODUCT = [HALF, HALF, HALF, INTEGER, INTEGER, INTEGER]
TILE = {"M": 64, "N": 64, "K": 32}

# The types of each kernel's parameters, and its constants.
KERNELS = {
    "vector_add": ([SINGLE, SINGLE, SINGLE, INTEGER], {"BLOCK": 1024}),
    "overrun": ([SINGLE, SINGLE, SINGLE, INTEGER], {"BLOCK": 1024}),
    "softmax": ([SINGLE, SINGLE, INTEGER, INTEGER, INTEGER], {"BLOCK": 256}),
    "matmul": (PRODUCT, {**TILE, "GROUP": 4}),
    "persistent_matmul": (PRODUCT, TILE),
    "descriptor_matmul": (PRODUCT, {"M": 64, "N": 64, "K": 64}),
    "grouped_gemm": ([ADDRESSES, "*i32", INTEGER], TILE),
    "layer_norm": ([HALF] * 4 + [SINGLE] * 2 + [INTEGER, INTEGER, "fp32"], {"BLOCK": 512}),
    "layer_norm_backward": ([HALF] * 3 + [SINGLE] * 2 + [HALF, SINGLE, "*i32", INTEGER, INTEGER],
                            {"GROUPS": 2, "BLOCK": 512}),
    "attention": ([HALF] * 4 + ["fp32", INTEGER], {"M": 64, "N": 64, "D": 64}),
}


def compact(ptx):
    """Without comments, without debug sections that name no function, and with short paths."""
    ptx = re.sub(r"[ \t]*//[^\n]*", "", ptx)
    ptx = re.sub(r"\.section\s+\.debug_(abbrev|info|macinfo)\s*\{.*?\}\n", "", ptx, flags=re.S)
    ptx = re.sub(r'(\.file\s+\d+) "[^"]*?(kernels\.py|triton/language/\w+\.py)"', r'\1 "\2"', ptx)
    return re.sub(r"\n\s*\n+", "\n", ptx).lstrip("\n")


def generate(name, types, constants, capability):
    function = getattr(kernels, name)
    signature = dict(zip(function.arg_names, types + ["constexpr"] * len(constants)))
    aligned = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(types) if t[0] == "*"}
    compiled = triton.compile(ASTSource(function, signature, constexprs=constants, attrs=aligned),
                              target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    scratch = compiled.metadata.global_scratch_size
    head = (f"// Made by generate.py with Triton {triton.__version__}. Shared memory: "
            f"{compiled.metadata.shared} bytes; scratch: {scratch} bytes a block.\n")
    (HERE / "ptx" / f"{name}_{capability}.ptx").write_text(head + compact(compiled.asm["ptx"]))


if __name__ == "__main__":
    for kernel, (parameters, fixed) in KERNELS.items():
        for target in (80, 90):
            if kernel != "descriptor_matmul" or target == 90:  # it needs bulk tensor copies
                generate(kernel, parameters, fixed, target)
