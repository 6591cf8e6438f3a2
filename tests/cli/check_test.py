"""`tilescope check`: its JSON, its exit codes, and that it leaves the run alone."""

import json
import unittest

import program

RACE = """__global__ void turn(const float* x, float* y, int n) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  if (t <= n) y[t] = tile[63 - t];
}
"""

SHAPE = ("--grid", "1", "--block", "64")
ARGUMENTS = ("--arg", "f32[64]=iota", "--arg", "f32[63]=uninitialised", "--arg", "i32:63")


class Check(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("turn.cu", RACE)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def json_of(self, *arguments, code):
        result = self.run_program("check", *arguments, "--json", "-")
        self.assertEqual(result.code, code, result.out + result.err)
        self.assertEqual(result.err, "")
        return json.loads(result.out)

    def test_reports(self):
        report = self.json_of("turn.cu", *SHAPE, *ARGUMENTS, code=1)
        self.assertEqual({key: report[key] for key in (
            "version", "command", "target", "device", "complete", "limitation", "launches",
            "blocks")}, {"version": 1, "command": "check", "target": "turn.cu: turn",
                         "device": "emulated:h200", "complete": True, "limitation": "",
                         "launches": 1, "blocks": 1})
        outside, race = report["reports"]
        self.assertEqual(outside["kind"], "out-of-bounds")
        self.assertEqual((outside["file"], outside["line"], outside["address"], outside["count"]),
                         ("turn.cu", 5, "y[63]", 1))
        self.assertIsNone(outside["other"])
        self.assertEqual({key: race[key] for key in race if key not in ("ptx_line", "other")}, {
            "kind": "race", "severity": "error", "file": "turn.cu", "line": 4,
            "kernel": "turn", "launch": 0,
            "source": "  tile[t] = x[t];", "action": "write of 4 bytes",
            "thread": {"block": [0, 0, 0], "thread": [0, 0, 0]}, "address": "tile[0]",
            "message": "threads of two warps access tile[0], and no barrier orders them",
            "cure": "put __syncthreads() between the two accesses", "count": 64,
            "phase": None, "called_from": []})
        self.assertEqual(race["other"]["line"], 5)
        self.assertEqual(race["other"]["action"], "read of 4 bytes")
        self.assertEqual(race["other"]["thread"], {"block": [0, 0, 0], "thread": [63, 0, 0]})

    def test_calls_of_an_inlined_line(self):
        self.write("calls.cu", "__device__ int at(const int* x, int i) { return x[i]; }\n"
                               "__device__ int next(const int* x, int i) { return at(x, i + 1); }\n"
                               "__global__ void k(const int* x, int* y) {\n"
                               "  y[threadIdx.x] = next(x, threadIdx.x);\n}\n")
        report = self.json_of("calls.cu", "--grid", "1", "--block", "4", "--arg", "i32[4]=iota",
                              "--arg", "i32[4]=zeros", code=1)
        found = report["reports"][0]
        self.assertEqual((found["line"], found["called_from"]),
                         (1, [{"file": "calls.cu", "line": 2}, {"file": "calls.cu", "line": 4}]))

    def test_warnings_may_be_allowed(self):
        self.write("silent.cu", "__global__ void silent(int* x, int n) { if (n > 99) x[0] = 1; }\n")
        shape = ("--grid", "1", "--block", "1", "--arg", "i32[1]=zeros", "--arg", "i32:1")
        for allow, code in (((), 1), (("--allow-warnings",), 0)):
            report = self.json_of("silent.cu", *shape, *allow, code=code)
            self.assertEqual([each["severity"] for each in report["reports"]], ["warning"])
        self.json_of("turn.cu", *SHAPE, *ARGUMENTS, "--allow-warnings", code=1)

    def test_a_launch_that_is_refused(self):
        report = self.json_of("turn.cu", "--grid", "1", "--block", "2000", *ARGUMENTS, code=1)
        self.assertFalse(report["complete"])
        self.assertEqual([r["kind"] for r in report["reports"]], ["illegal-launch"])
        found = self.json_of("turn.cu", *SHAPE, *ARGUMENTS, code=1)["reports"][0]
        self.assertEqual(set(report["reports"][0]), set(found))

    def test_nothing_found(self):
        self.write("fine.cu", "__global__ void k(int* y) { y[threadIdx.x] = 1; }\n")
        report = self.json_of("fine.cu", *SHAPE, "--arg", "i32[64]=uninitialised", code=0)
        self.assertEqual(report["reports"], [])

    def test_a_warning_is_found_too(self):
        self.write("none.cu", "__global__ void k(int* y, int n) { if (n) *y = 1; }\n")
        report = self.json_of("none.cu", *SHAPE, "--arg", "i32[1]=zeros", "--arg", "i32:0", code=1)
        self.assertEqual([(r["kind"], r["severity"]) for r in report["reports"]],
                         [("wrote-nothing", "warning")])
        self.assertIsNone(report["reports"][0]["thread"])

    def test_a_limit_of_instructions(self):
        self.write("long.cu", "__global__ void k(unsigned* x) {\n"
                              "  while (*x != 1u << 31) *x = 3 * *x + 1;\n}\n")
        report = self.json_of("long.cu", "--grid", "1", "--block", "1", "--arg", "u32[1]=zeros",
                              "--max-instructions", "10000", code=1)
        self.assertFalse(report["complete"])
        self.assertEqual([(r["kind"], r["line"]) for r in report["reports"]], [("unfinished", 2)])

    def test_names_and_text_in_any_language(self):
        name = "\u00fcbung </script> \u2713.cu".replace("/", "")
        self.write(name, "// \u7af6\u5408\n" + RACE.replace("  y", "  /* \u00e9 */ y"))
        result = self.run_program("check", name, *SHAPE, *ARGUMENTS)
        self.assertEqual(result.code, 1, result.err)
        self.assertIn(f"error: race at {name}:5 and 6\n    5 |   tile[t] = x[t];", result.out)
        report = self.json_of(name, *SHAPE, *ARGUMENTS, code=1)["reports"][0]
        self.assertEqual(report["file"], name)
        gcc = self.run_program("check", name, *SHAPE, *ARGUMENTS, "--format", "gcc").out
        self.assertTrue(gcc.startswith(f"{name}:"), gcc)

    def test_the_same_text_every_time(self):
        texts = {self.run_program("check", "turn.cu", *SHAPE, *ARGUMENTS).out for _ in range(5)}
        self.assertEqual(len(texts), 1)

    def test_a_rung(self):
        result = self.run_program("check", "matmul/tiled", "--tile", "16", "--size", "33")
        self.assertEqual(result.code, 0, result.err)
        self.assertIn("no defects found; 9 blocks", result.out)

    def test_ptx(self):
        self.write("k.ptx", """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .u64 %rd<3>;
  .reg .u32 %r<2>;
  ld.param.u64 %rd1, [p];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, 7;
  st.global.u32 [%rd2+16], %r1;
  ret;
}
""")
        report = self.json_of("k.ptx", "--grid", "1", "--block", "1", "--arg", "p=i32[4]=zeros",
                              code=1)
        found = report["reports"][0]
        self.assertEqual((found["kind"], found["file"], found["line"], found["ptx_line"],
                          found["address"]), ("out-of-bounds", "k.ptx", 10, 10, "p[4]"))
        self.assertEqual(found["source"], "  st.global.u32 [%rd2+16], %r1;")


if __name__ == "__main__":
    program.main()
