"""Whole programs under `tilescope run`, `check` and `explain`."""

import json
import os
import pty
import shutil
import signal
import subprocess
import time
import unittest

import program

NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
needs_nvcc = unittest.skipUnless(NVCC, "nvcc is not installed, which compiles whole programs")

ADD = """#include <cstdio>
#include <cstdlib>
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void twice(float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] *= 2;
}
int main(int argc, char** argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1000;
  size_t bytes = n * sizeof(float);
  float* h = (float*)malloc(bytes);
  for (int i = 0; i < n; ++i) h[i] = i;
  float *a, *b, *c;
  cudaMalloc(&a, bytes);
  cudaMalloc(&b, bytes);
  cudaMalloc(&c, bytes);
  cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, h, bytes, cudaMemcpyHostToDevice);
  int blocks = (n + 127) / 128;
  add<<<blocks, 128>>>(a, b, c, n);
  twice<<<blocks, 128>>>(c, n);
  twice<<<blocks, 128>>>(c, n);
  cudaMemcpy(h, c, bytes, cudaMemcpyDeviceToHost);
  int wrong = cudaGetLastError() != cudaSuccess;
  for (int i = 0; i < n; ++i) wrong += h[i] != 8.0f * i;
  printf("%d wrong of %d\\n", wrong, n);
  free(h);
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  return wrong ? 3 : 0;
}
"""


class Programs(program.SameFolderTest):
    def write(self, name, text, executable=False):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(self.path(name), 0o755)

    def json_of(self, *arguments, code):
        result = self.run_program(*arguments, "--json", "-")
        self.assertEqual(result.code, code, result.out + result.err)
        return json.loads(result.out)


@needs_nvcc
class FromSource(Programs):
    def setUp(self):
        super().setUp()
        self.write("add.cu", ADD)

    def test_run_is_the_program_itself(self):
        result = self.run_program("run", "add.cu", "--", "500")
        self.assertEqual((result.out, result.err, result.code), ("0 wrong of 500\n", "", 0))

    def test_a_program_may_end_right_after_a_copy(self):
        self.write("set.cu", "__constant__ float factors[4];\n"
                             "__global__ void k(float* x) { x[threadIdx.x] = factors[0]; }\n"
                             "int main() {\n"
                             "  float given[4] = {1, 2, 3, 4};\n"
                             "  return cudaMemcpyToSymbol(factors, given, sizeof given);\n"
                             "}\n")
        self.assertEqual(self.run_program("run", "set.cu").code, 0)
        result = self.run_program("check", "set.cu", "--", "ignored")
        self.assertEqual(result.code, 1)  # nothing was checked
        self.assertEqual(result.err, "tilescope: note: no launch was seen: the program launched no "
                                     "kernel; --kernel, --grid, --block and --arg run one without "
                                     "main()\n")
        self.assertIn("\nno kernel was checked; 0 launches", result.out)

    def test_a_program_may_end_with_a_reset(self):
        self.write("add.cu", ADD.replace("  return wrong", "  cudaDeviceReset();\n  return wrong"))
        for command in ("run", "check", "explain"):
            result = self.run_program(command, "add.cu")
            self.assertEqual(result.code, 0, result.out + result.err)
            self.assertNotIn("ended the program", result.out)

    def test_a_main_in_a_header(self):
        kernel, main = ADD.split("int main", 1)
        os.mkdir(self.path("common"))
        self.write("common/driver.h", "#pragma once\nint main" + main)
        self.write("split.cu", kernel + '#include "driver.h"\n')
        result = self.run_program("check", "split.cu", "-I", "common", "--", "500")
        self.assertEqual((result.code, result.err), (0, "0 wrong of 500\n"))
        self.assertIn("\nno defects found; 3 launches of 2 kernels", result.out)

    def test_a_run_without_a_launch_never_passes(self):
        self.write("idle.cu", "__global__ void k(int* x) { x[threadIdx.x] = 1; }\n"
                              "int main(int count, char**) {\n"
                              "  int* x;\n"
                              "  cudaMalloc(&x, 128);\n"
                              "  if (count > 1) k<<<1, 32>>>(x);\n"
                              "  cudaDeviceSynchronize();\n"
                              "  return cudaFree(x);\n"
                              "}\n")
        for command in ("check", "explain"):
            for form in ("text", "gcc", "github", "sarif", "junit"):
                idle = self.run_program(command, "idle.cu", "--format", form)
                busy = self.run_program(command, "idle.cu", "--format", form, "--", "1")
                self.assertEqual((idle.code, busy.code), (1, 0), (command, form, busy.out))
                if form != "text":
                    self.assertIn("no kernel was launched", idle.out)
        self.assertIn("\n  none: no kernel was launched", self.run_program("explain", "idle.cu").out)
        self.assertEqual(self.run_program("run", "idle.cu").code, 0)

    def test_an_empty_main_leaves_the_kernels(self):
        self.write("child.cu", "__global__ void child(int* x) { x[threadIdx.x] = 1; }\n"
                               "__global__ void parent(int* x) { child<<<1, 32>>>(x); }\n"
                               "int main() { return 0; }\n")
        result = self.run_program("check", "child.cu", "--kernel", "parent", "--grid", "1",
                                  "--block", "1", "--arg", "i32[32]=zeros")
        self.assertIn("no defects found; 2 blocks", result.out, result.err)
        self.assert_fails(2, "'child.cu' has several kernels; name one with --kernel: child, parent",
                          "check", "child.cu")

    def test_architectures_that_are_asked_for(self):
        self.write("arch.cu", "#include <cstdio>\n__global__ void k() {\n#ifdef __CUDA_ARCH__\n"
                              "  printf(\"%d\\n\", __CUDA_ARCH__);\n#endif\n}\n"
                              "int main() { k<<<1, 1>>>(); return cudaDeviceSynchronize(); }\n")
        for words, compiled_for in (
                (["-arch", "sm_80"], 800), (["-arch=compute_86"], 860), (["-arch=native"], 900),
                (["-gencode", "arch=compute_80,code=sm_80", "-gencode=arch=compute_120,code=sm_120",
                  "-gencode", "arch=compute_86,code=[sm_86,compute_86]"], 860)):
            result = self.run_program("run", "arch.cu", *words)
            self.assertEqual((result.out, result.err), (f"{compiled_for}\n", ""), words)
        self.assert_fails(4, "nvcc fatal   : Unknown option '-W'", "run", "arch.cu", "-W")

    def test_instructions_of_one_architecture_need_no_guard(self):
        self.write("fence.cu", "#include <cstdio>\n__global__ void k() {\n"
                               "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
                               "  if (threadIdx.x == 0) printf(\"passed\\n\");\n}\n"
                               "int main() { k<<<1, 128>>>(); return cudaDeviceSynchronize(); }\n")
        for words in ([], ["-arch=sm_90a"], ["-gencode", "arch=compute_90a,code=sm_90a"]):
            result = self.run_program("run", "fence.cu", *words)
            self.assertEqual((result.out, result.err), ("passed\n", ""), words)
        result = self.run_program("run", "fence.cu", "-arch=sm_90")
        self.assertIn("Instruction 'wgmma.fence' not supported on .target 'sm_90'", result.err)
        self.assertEqual((result.code, result.out), (4, ""))

    def test_progress_on_a_terminal(self):
        self.write("long.cu", "__global__ void work(volatile int* x) { while (*x < 48000000) ++*x; }\n"
                              "int main() { int* d; cudaMalloc(&d, 4); cudaMemset(d, 0, 4);\n"
                              "work<<<1, 1>>>(d); cudaDeviceSynchronize(); cudaFree(d); }\n")
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal, os.fdopen(theirs, "wb") as screen:
            os.set_blocking(ours, False)
            done = subprocess.run([os.path.abspath(program.TILESCOPE), "run", "long.cu"],
                                  cwd=self.folder, stderr=screen, stdout=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL, timeout=120)
            shown = terminal.read(65536).decode()
        self.assertEqual((done.returncode, done.stdout), (0, b""))
        self.assertRegex(shown, r"^\r\x1b\[Kwork  0%  0 / 1\r.*\x1b\[K$")
        self.assertEqual(self.run_program("run", "long.cu").err, "")

    def test_run_ends_with_the_programs_exit_code(self):
        self.write("add.cu", ADD.replace("8.0f", "9.0f"))
        self.assertEqual(self.run_program("run", "add.cu").code, 3)

    def test_a_second_run_compiles_nothing(self):
        self.run_program("run", "add.cu")
        self.write("nvcc", "#!/bin/sh\nexit 1\n", executable=True)
        before = time.monotonic()
        self.assertEqual(self.run_program("run", "add.cu").code, 0)
        self.assertLess(time.monotonic() - before, 5.0)

    def test_a_changed_header_is_compiled_again(self):
        self.write("value.h", "#define VALUE 4\n")
        self.write("main.cu", '#include "value.h"\nint main() { return VALUE; }\n')
        self.assertEqual(self.run_program("run", "main.cu").code, 4)
        self.write("value.h", "#define VALUE 5\n")
        self.assertEqual(self.run_program("run", "main.cu").code, 5)

    def test_check_says_what_ran(self):
        result = self.run_program("check", "add.cu", "--", "1000")
        self.assertEqual(result.code, 0, result.out)
        self.assertRegex(result.out, r"\Acheck add.cu on emulated:h200\nno defects found; 3 launches "
                                     r"of 2 kernels, 24 blocks, [\d,]+ warp instructions\n\Z")
        self.assertEqual(result.err, "0 wrong of 1000\n")

    def test_check_finds_a_defect_of_a_kernel(self):
        self.write("add.cu", ADD.replace("if (i < n) c[i] *=", "if (i <= n) c[i] *="))
        report = self.json_of("check", "add.cu", code=1)
        [found] = report["reports"]
        self.assertEqual({key: found[key] for key in (
            "kind", "severity", "file", "line", "kernel", "launch", "address", "count")},
            {"kind": "out-of-bounds", "severity": "error", "file": "add.cu", "line": 9,
             "kernel": "twice", "launch": 1, "address": "c[1000]", "count": 4})
        self.assertEqual((report["complete"], report["launches"], report["exit_code"]),
                         (True, 3, 0))

    def test_check_finds_a_mistake_of_the_host(self):
        self.write("add.cu", ADD.replace("  cudaFree(b);\n", ""))
        report = self.json_of("check", "add.cu", code=1)
        [found] = report["reports"]
        self.assertEqual((found["kind"], found["severity"], found["file"], found["line"]),
                         ("leak", "warning", "add.cu", 18))
        self.assertIn("'b'", found["message"])
        self.assertEqual(self.run_program("check", "add.cu", "--allow-warnings").code, 0)

    def test_allocations_that_share_a_line(self):
        one_line = ("cudaMalloc(&a, bytes); cudaMalloc((void**)&b, bytes); "
                    "cudaMalloc((void**)&c, bytes);\n")
        separate = "".join(f"  cudaMalloc(&{name}, bytes);\n" for name in "abc")
        for line, name in ((one_line, "b"), ("if (n) " + one_line, "b"),
                           ("if (!n) cudaMalloc(&h, 1); " + one_line, "cudaMalloc in line 17")):
            self.write("add.cu", ADD.replace(separate, line).replace("  cudaFree(b);\n", ""))
            [found] = self.json_of("check", "add.cu", code=1)["reports"]
            self.assertIn(f"'{name}' is never freed: 4,000 bytes", found["message"])
            self.write("add.cu", ADD.replace(separate, line)
                       .replace("if (i < n) c[i] *=", "if (i <= n) c[i] *="))
            result = self.run_program("run", "add.cu")
            self.assertIn(f"past the end of '{name.replace('b', 'c')}' (4000", result.err)

    def test_a_note_does_not_fail(self):
        self.write("add.cu", ADD.replace("(n + 127) / 128", "n / 128"))
        report = self.json_of("check", "add.cu", code=0)
        [found] = report["reports"]
        self.assertEqual((found["kind"], found["severity"], found["line"]),
                         ("uncovered-elements", "note", 26))
        self.assertEqual(found["message"], "cudaMemcpy reads 4,000 bytes of 'c', and nothing ever "
                                           "wrote 416 of them; the first is byte 3,584")
        self.assertEqual(report["exit_code"], 3)

    def test_explain_sums_and_lists_launches(self):
        report = self.json_of("explain", "add.cu", code=0)
        self.assertEqual([(one["kernel"], one["grid"], one["block"], one["line"])
                          for one in report["launches"]],
                         [("add", [8, 1, 1], [128, 1, 1], 23),
                          ("twice", [8, 1, 1], [128, 1, 1], 24),
                          ("twice", [8, 1, 1], [128, 1, 1], 25)])
        for key in ("instructions", "global_load_sectors", "global_store_sectors"):
            self.assertEqual(sum(one["totals"][key] for one in report["launches"]),
                             report["totals"][key])
        self.assertEqual(report["totals"]["global_store_sectors"], 3 * 125)
        lines = {line["line"]: line for line in report["lines"]}
        self.assertEqual(lines[5]["global_load_sectors"], 2 * 125)
        self.assertEqual(lines[9]["global_load_sectors"], 2 * 125)

    def test_explain_of_one_launch(self):
        report = self.json_of("explain", "add.cu", "--launch", "1", code=0)
        self.assertEqual(len(report["launches"]), 3)
        self.assertEqual(report["totals"], report["launches"][1]["totals"])
        self.assertNotIn(5, {line["line"] for line in report["lines"]})
        self.assert_fails_with("no launch 3: the program has 3 launches, numbered from 0",
                               "explain", "add.cu", "--launch", "3", code=2)

    def assert_fails_with(self, message, *arguments, code):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, code, result.out + result.err)
        self.assertIn("tilescope: " + message, result.err)

    def test_explain_has_a_table_of_launches(self):
        result = self.run_program("explain", "add.cu")
        self.assertEqual(result.code, 0, result.err)
        self.assertRegex(result.out, r"launches\n +launch +line +kernel .*\n +0 +23 +add .*\n"
                                     r" +1 +24 +twice .*\n +2 +25 +twice ")
        self.assertLessEqual(max(map(len, result.out.splitlines())), 80)

    def test_options_go_to_nvcc(self):
        self.write("main.cu", '#include "v.h"\n#include <cmath>\nint other();\n'
                              "int main() { return V + W + other() + (__cplusplus >= 202002L); }\n")
        self.write("other.cpp", "int other() { return 8; }\n")
        os.mkdir(self.path("include"))
        self.write("include/v.h", "#define V 1\n")
        result = self.run_program("run", "main.cu", "other.cpp", "-I", "include", "-DW=2", "-std=c++20",
                                  "-O2", "-lm", "--use_fast_math")
        self.assertEqual((result.code, result.err), (12, ""))

    def test_separate_units(self):
        self.write("a.cu", "__device__ int f(int);\n__global__ void k(int* x) { *x = f(3); }\n"
                           "int main() { int* d; int h = 0; cudaMalloc(&d, 4); k<<<1, 1>>>(d);\n"
                           "cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost); return h; }\n")
        self.write("b.cu", "__device__ int f(int x) { return 2 * x; }\n")
        result = self.run_program("run", "a.cu", "b.cu", "-rdc=true")
        self.assertEqual((result.code, result.err), (6, ""))

    def test_kernels_that_launch_kernels_need_no_option(self):
        self.write("child.cu", "__global__ void child(int* x) { x[threadIdx.x] = 7; }\n"
                               "__global__ void k(int* x) { child<<<1, 4>>>(x); }\n"
                               "int main() {\n"
                               "  int *d, h[4];\n"
                               "  cudaMalloc(&d, 16);\n"
                               "  k<<<1, 1>>>(d);\n"
                               "  cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost);\n"
                               "  cudaFree(d);\n"
                               "  return h[3];\n"
                               "}\n")
        report = self.json_of("check", "child.cu", code=0)
        self.assertEqual((report["reports"], report["launches"], report["exit_code"]), ([], 2, 7))

    def test_a_kernel_that_a_macro_makes_and_a_main_that_does_nothing(self):
        self.write("made.cu", "#define MAKE(name) __global__ void name(int* x) { *x = 3; }\n"
                              "MAKE(three)\nint main() {}\n")
        shape = ("--grid", "1", "--block", "1", "--arg", "i32[1]=zeros")
        result = self.run_program("run", "made.cu", *shape)
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("three", result.out)
        result = self.run_program("check", "made.cu")
        self.assertEqual(result.code, 2)
        self.assertIn("--grid is missing", result.err)

    def test_errors_of_nvcc_are_shown(self):
        self.write("bad.cu", "int main() { return x; }\n")
        result = self.run_program("run", "bad.cu")
        self.assertEqual((result.code, result.out), (4, ""))
        self.assertIn('bad.cu(1): error: identifier "x" is undefined', result.err)

    def test_a_signal_is_said_in_one_line(self):
        self.write("abort.cu", "#include <cstdlib>\nint main() { abort(); }\n")
        result = self.run_program("run", "abort.cu")
        self.assertEqual(result.code, 128 + signal.SIGABRT)
        self.assertEqual(result.err, "tilescope: abort.cu: signal 6 (Aborted) ended the program\n")

    def test_findings_before_a_crash_are_kept(self):
        self.write("add.cu", ADD.replace("if (i < n) c[i] *=", "if (i <= n) c[i] *=").replace(
            "  free(h);", "  abort();"))
        report = self.json_of("check", "add.cu", code=128 + signal.SIGABRT)
        self.assertEqual([found["kind"] for found in report["reports"]], ["out-of-bounds"])
        self.assertEqual((report["complete"], report["signal"]), (False, signal.SIGABRT))

    def test_interrupting_reports_what_ran(self):
        self.write("long.cu", "#include <cstdio>\n"
                   "__global__ void k(int* x, int n) { if (threadIdx.x <= n) x[threadIdx.x] = n; }\n"
                   "__global__ void work(volatile int* x) { while (*x < 2000000000) ++*x; }\n"
                   "int main() { int* d; cudaMalloc(&d, 32 * 4); cudaMemset(d, 0, 128);\n"
                   "k<<<1, 64>>>(d, 32); cudaDeviceSynchronize(); fprintf(stderr, \"go\\n\");\n"
                   "work<<<1, 1>>>(d); cudaDeviceSynchronize(); }\n")
        self.run_program("run", "long.cu", "--max-instructions", "1000")  # compiled
        process = self.start_program("check", "long.cu")
        self.addCleanup(process.kill)
        self.assertEqual(process.stderr.readline(), "go\n")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("out-of-bounds at long.cu:2", out)
        self.assertIn("interrupted: the findings so far", out)

    def test_interrupting_a_later_schedule_reports_the_earlier_ones(self):
        self.write("orders.cu", "#include <cstdio>\n"
                   "__global__ void k(int* x, int n) { for (int i = 0; i < n; ++i) { "
                   "if (threadIdx.x <= n) x[threadIdx.x] = i; __syncthreads(); } }\n"
                   "int main() { int* d; cudaMalloc(&d, 32 * 4); fprintf(stderr, \"go\\n\");\n"
                   "k<<<1, 64>>>(d, 32); cudaDeviceSynchronize(); }\n")
        self.run_program("run", "orders.cu")  # compiled
        process = self.start_program("check", "orders.cu", "--schedules", "100000")
        self.addCleanup(process.kill)
        self.assertEqual(process.stderr.readline(), "go\n")
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("out-of-bounds at orders.cu:2", out)
        self.assertIn("interrupted: the findings so far", out)

    def test_kernel_options_make_it_a_kernel(self):
        result = self.run_program("check", "add.cu", "--kernel", "twice", "--grid", "1", "--block",
                                  "32", "--arg", "f32[32]=iota", "--arg", "i32:32")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("check add.cu: twice on", result.out)

    def test_words_for_a_program_do_not_fit_a_kernel(self):
        self.assert_fails(2, "'-lm' is for a whole program, with a main() and without --kernel, "
                             "--grid and --arg; 'add.cu' is run as a kernel",
                          "check", "add.cu", "--grid", "1", "-lm")

    def test_phases_are_of_a_kernel(self):
        self.assert_fails(2, "--phases is for one kernel, with --grid and --block",
                          "explain", "add.cu", "--phases")

    def test_an_executable(self):
        subprocess.run([NVCC, "-cudart", "shared", "-arch=compute_80", "-lineinfo", "-o",
                        self.path("add"), self.path("add.cu")], check=True)
        result = self.run_program("run", "./add", "700")
        self.assertEqual((result.out, result.err, result.code), ("0 wrong of 700\n", "", 0))
        self.assertIn("3 launches of 2 kernels", self.run_program("check", "./add").out)

    def test_a_static_run_time_is_refused(self):
        subprocess.run([NVCC, "-cudart", "static", "-o", self.path("add"), self.path("add.cu")],
                       check=True)
        self.assert_fails(4, "'./add' has a static CUDA run time; build it with: nvcc -cudart shared "
                             "-lineinfo -arch=compute_80 -Xcompiler -g1 ... (or give tilescope its "
                             "sources)", "check", "./add")


class OtherTargets(Programs):
    def test_a_program_without_cuda(self):
        self.write("script", "#!/bin/sh\necho \"$1\"\nexit 7\n", executable=True)
        result = self.run_program("run", "./script", "--", "two words")
        self.assertEqual((result.out, result.code), ("two words\n", 7))
        result = self.run_program("check", "./script", "hello")
        self.assertEqual(result.code, 1)
        self.assertEqual(result.err, "hello\ntilescope: note: no launch was seen: the program did not "
                                     "call the shared CUDA run time\n")
        self.assertIn("the program ended with exit code 7\nno kernel was checked; 0 launches of 0 kernels",
                      result.out)

    def test_a_python_script(self):
        self.write("script.py", "import sys\nprint(sys.argv[1:])\n")
        result = self.run_program("run", "script.py", "--", "a", "-b")
        self.assertEqual((result.out, result.code), ("['a', '-b']\n", 0))

    def test_what_cannot_be_executed(self):
        self.write("notes.txt", "hello\n")
        self.assert_fails(4, "'notes.txt' is no source (.cu, .cpp, .c) and cannot be executed; chmod "
                             "+x makes a program or script executable", "run", "notes.txt")

    def test_without_nvcc_one_line_says_what_to_do(self):
        self.write("main.cu", "int main() {}\n")
        result = self.run_program("run", "main.cu", env={
            "PATH": "", "CUDA_HOME": self.folder, "TILESCOPE_CACHE": self.folder})
        if result.code == 3:  # else there is one in /usr/local/cuda or .deps
            self.assertIn("nvcc not found, which compiles whole programs; run tools/setup.sh "
                          "program", result.err)

    def test_unknown_options_are_still_refused(self):
        self.write("main.cu", "int main() {}\n")
        result = self.run_program("check", "main.cu", "--jsn", "-")
        self.assertEqual(result.code, 2)
        self.assertIn("--jsn", result.err)


if __name__ == "__main__":
    program.main()
