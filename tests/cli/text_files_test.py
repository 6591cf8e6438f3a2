"""Files of text as other programs write them: with a byte order mark, or damaged."""

import json

import program

USAGE, BAD_INPUT = 2, 4
MARK = b"\xef\xbb\xbf"
LAUNCH = ("--grid", "1", "--block", "1", "--arg", "i32[1]=zeros")
PTX = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x) {
  .reg .b64 %a<2>;
  ld.param.u64 %a0, [x];
  cvta.to.global.u64 %a1, %a0;
  st.global.u32 [%a1], 7;
  ret;
}
"""


class TextFiles(program.ProgramTest):
    def write(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())


class ByteOrderMarks(TextFiles):
    def assert_fine(self, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual((result.code, result.err), (0, ""))

    def test_sources(self):
        self.write("k.cu", MARK + b"__global__ void k(int* x) { x[0] = 1; }\n")
        self.write("k.ptx", MARK + PTX)
        for name in ("k.cu", "k.ptx"):
            self.assert_fine("check", name, *LAUNCH)
        self.assert_fine("occupancy", "k.cu", "--threads", "32")
        result = self.run_program("explain", "k.cu", *LAUNCH)
        self.assertIn("  __global__ void k(int* x)", result.out)
        self.assertNotIn("\ufeff", result.out)

    def test_headers(self):
        kernel = b'#include "n.h"\n__global__ void k(int* x) { x[0] = N; }\n'
        self.write("n.h", MARK + b"#define N 5\n")
        for mark in (b"", MARK):
            self.write("k.cu", mark + kernel)
            self.assert_fine("check", "k.cu", *LAUNCH)

    def test_a_header_that_changes(self):
        """The names of headers are found behind the mark, so a kept kernel is not taken."""
        self.write("k.cu", MARK + b'#include "n.h"\n__global__ void k(int* x) { x[0] = N; }\n')
        for value in ("5", "6"):
            self.write("n.h", f"#define N {value}\n")
            result = self.run_program("run", "k.cu", "--device", "emulated", *LAUNCH, "--show", "1")
            self.assertEqual(result.code, 0, result.err)
            self.assertRegex(result.out, rf"\b{value}\b")

    def test_json(self):
        self.write("k.cu", "__global__ void k(int* x) { x[0] = 1; }\n")
        self.write("l.json", MARK + json.dumps({"grid": 1, "block": 1,
                                                "args": ["i32[1]=zeros"]}).encode())
        self.assert_fine("check", "k.cu", "--launch", "l.json")
        self.write("g.json", MARK + b'{"based_on": "l4"}')
        self.assert_fine("tiles", "--gpu", "g.json")


class Damaged(TextFiles):
    def assert_one_line(self, code, message, *arguments):
        result = self.run_program(*arguments)
        self.assertEqual(result.code, code, result.err)
        self.assertEqual(result.out, "")
        self.assertRegex(result.err, r"^tilescope: [^\n]+\n$")
        self.assertNotIn("json.exception", result.err)
        self.assertNotIn("internal error", result.err)
        self.assertIn(message, result.err)

    def test_no_json(self):
        self.write("k.cu", "__global__ void k(int* x) { x[0] = 1; }\n")
        for text in (b"", b"{", b"{,", b"\xff\xfe{\0}\0", b"[" * 100_000, b'{"a": 1e400}', b"{}}",
                     b'{"grid": "\xff"}'):
            self.write("bad.json", text)
            for command in (("check", "k.cu", "--launch"), ("roofline", "--results"),
                            ("tiles", "--gpu")):
                with self.subTest(text=text[:20], command=command[0]):
                    self.assert_one_line(BAD_INPUT, "expected JSON: ", *command, "bad.json")
        self.write("bad.json", "{\n  \"grid\" 4\n}")
        self.assert_one_line(BAD_INPUT, "'bad.json': expected JSON: line 2, column ", "check",
                             "k.cu", "--launch", "bad.json")

    def test_no_object(self):
        self.write("k.cu", "__global__ void k(int* x) { x[0] = 1; }\n")
        self.write("bad.json", "[1, 2]")
        for command in (("roofline", "--results"), ("tiles", "--gpu")):
            self.assert_one_line(BAD_INPUT, "expected a JSON object {...}, got array [1,2]",
                                 *command, "bad.json")
        self.assert_one_line(BAD_INPUT, "\"launches\": expected a list of launches {...}",
                             "check", "k.cu", "--launch", "bad.json")

    def test_results_of_other_types(self):
        ladder = {"command": "ladder", "flops": 1, "compulsory_bytes": 1}
        for document, message in (
                ({"command": 5}, "not a file of tilescope ladder"),
                ({"command": "ladder", "flops": "x"}, '"flops": expected a number, got "x"'),
                (dict(ladder, rungs=[5]), '"rungs": expected objects'),
                (dict(ladder, rungs=[{"verdict": "ok", "flops_per_second": []}]),
                 '"flops_per_second": expected a number, got []'),
                ({"command": "explain", "totals": 3}, '"totals": expected an object'),
                ({"command": "explain", "totals": {"ffma": "many"}}, '"ffma": expected a number')):
            self.write("r.json", json.dumps(document))
            self.assert_one_line(BAD_INPUT, message, "roofline", "--results", "r.json")

    def test_a_gpu_based_on_itself(self):
        self.write("self.json", '{"based_on": "self.json"}')
        self.assert_one_line(BAD_INPUT, "name a GPU of the table", "tiles", "--gpu", "self.json")


if __name__ == "__main__":
    program.main()
