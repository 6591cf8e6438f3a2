"""Times one kernel file with many constants, on a GPU machine with nvcc: what the plans' constants
were chosen by.

Usage: bench/tune_kernels.py CASES.json [--kernels kernels]

CASES.json: a list of {"name", "file", "kernel", "defines": {NAME: VALUE}, "grid", "block",
"shared", "arguments", "bytes"}. An argument is "in:BYTES" (random), "out:BYTES", ["i32", value],
["i64", value] or ["f32", value]. Inputs and outputs rotate through three copies. Printed: the median
of 15 launches, the rate of `bytes` over it, registers, and whether the output equals that of the
first case with the same "group".
"""

import argparse
import concurrent.futures
import ctypes
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

SETS = 3
cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(text))
        raise RuntimeError(f"{name}: {text.value.decode() if text.value else code}")


def compile_case(case, kernels, folder):
    path = os.path.join(folder, f"{case['index']}.cubin")
    done = subprocess.run(
        ["nvcc", "-cubin", "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", "-I", kernels,
         "-I", os.path.dirname(case["file"]), "-Xptxas", "-v", "-o", path, case["file"],
         *(f"-D{name}={value}" for name, value in case["defines"].items())],
        capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr[-600:]
    registers = re.search(r"Used (\d+) registers", done.stderr)
    spills = re.search(r"(\d+) bytes spill stores", done.stderr)
    return path, f"{registers[1]} regs" + (f" SPILLS {spills[1]}" if spills and spills[1] != "0" else "")


class Memory:
    """Device buffers by what was asked for, so that cases of one size share them."""

    def __init__(self):
        self.buffers = {}

    def get(self, text):
        if text not in self.buffers:
            kind, size = text.split(":")
            addresses = []
            for copy in range(SETS):
                address = ctypes.c_uint64()
                call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(256, int(size))))
                if kind == "in":
                    data = random.Random(copy).randbytes(min(int(size), 1 << 26))
                    for at in range(0, int(size), len(data)):
                        call("cuMemcpyHtoD_v2", ctypes.c_uint64(address.value + at), data,
                             ctypes.c_size_t(min(len(data), int(size) - at)))
                else:
                    call("cuMemsetD8_v2", address, 0, ctypes.c_size_t(int(size)))
                addresses.append(address.value)
            self.buffers[text] = addresses
        return self.buffers[text]


def run_case(case, path, memory, answers):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoad", ctypes.byref(module), path.encode())
    call("cuModuleGetFunction", ctypes.byref(function), module, case["kernel"].encode())
    if case["shared"] > 48 * 1024:
        call("cuFuncSetAttribute", function, 8, case["shared"])
    output = next((a for a in case["arguments"] if str(a).startswith("out:")), None)

    def launch(copy):
        values = []
        for argument in case["arguments"]:
            if isinstance(argument, str):
                values.append(ctypes.c_uint64(memory.get(argument)[copy]))
            else:
                kind, value = argument
                values.append({"i32": ctypes.c_int32, "i64": ctypes.c_int64,
                               "f32": ctypes.c_float}[kind](value))
        pointers = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values))
        call("cuLaunchKernel", function, *case["grid"], *case["block"], case["shared"], None,
             pointers, None)

    size = int(output.split(":")[1]) if output else 0
    if output:
        call("cuMemsetD8_v2", ctypes.c_uint64(memory.get(output)[0]), 0, ctypes.c_size_t(size))
    launch(0)
    call("cuCtxSynchronize")
    verdict = ""
    if output and case.get("group"):
        result = ctypes.create_string_buffer(size)
        call("cuMemcpyDtoH_v2", result, ctypes.c_uint64(memory.get(output)[0]), ctypes.c_size_t(size))
        verdict = "same" if answers.setdefault(case["group"], result.raw) == result.raw else "DIFFERENT"
    events = [ctypes.c_void_p(), ctypes.c_void_p()]
    for event in events:
        call("cuEventCreate", ctypes.byref(event), 0)
    times = []
    for i in range(18):
        call("cuEventRecord", events[0], None)
        launch(i % SETS)
        call("cuEventRecord", events[1], None)
        call("cuEventSynchronize", events[1])
        took = ctypes.c_float()
        call("cuEventElapsedTime", ctypes.byref(took), *events)
        times.append(took.value)
    call("cuModuleUnload", module)
    return statistics.median(times[3:]), verdict


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cases")
    parser.add_argument("--kernels", default="kernels")
    arguments = parser.parse_args()
    cases = json.load(open(arguments.cases))
    for index, case in enumerate(cases):
        case["index"] = index
        case.setdefault("shared", 0)
    call("cuInit", 0)
    context, device = ctypes.c_void_p(), ctypes.c_int()
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    memory, answers = Memory(), {}
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(compile_case, case, arguments.kernels, folder) for case in cases]
        for case, job in zip(cases, jobs):
            path, note = job.result()
            if path is None:
                print(f"{case['name']:<48} does not compile: {note}")
                continue
            try:
                milliseconds, verdict = run_case(case, path, memory, answers)
            except RuntimeError as error:
                print(f"{case['name']:<48} {error} ({note})")
                continue
            rate = case["bytes"] / milliseconds / 1e6
            print(f"{case['name']:<48} {1e3 * milliseconds:9.1f} us {rate:8.1f} GB/s  {note} {verdict}",
                  flush=True)


if __name__ == "__main__":
    sys.exit(main())
