"""Budgets of explain and check: --assert, --baseline, --suppress, and compare."""

import json
import os

import program

REPEATS = int(os.environ.get("TILESCOPE_REPEATS", "5"))

TRANSPOSE = """\
__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[32][PADDED];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
"""
LAUNCH = ["--grid", "2,2", "--block", "32,32", "--arg", "f32[4096]=iota", "--arg",
          "f32[4096]=zeros", "--arg", "i32:64"]

RACE = """\
__global__ void rotate(float* x) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = x[t];
  x[t] = tile[(t + 1) % 64];
}
"""
RACE_LAUNCH = ["--grid", "1", "--block", "64", "--arg", "f32[64]=iota"]


class Explained(program.ProgramTest):
    """A transposition whose tile has a column of padding, and the same without it."""

    def setUp(self):
        super().setUp()
        self.write(33)

    def write(self, padded, name="k.cu"):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(TRANSPOSE.replace("PADDED", str(padded)))

    def explain(self, *options):
        return self.run_program("explain", "k.cu", *LAUNCH, *options)

    def keep(self, name):
        result = self.explain("--json", name)
        self.assertEqual(result.code, 0, result.err)

    def json(self, *options):
        result = self.explain("--json", "-", *options)
        return result.code, json.loads(result.out)


class Assertions(Explained):
    def test_a_pass_says_what_ran(self):
        result = self.explain("--assert", "shared_load_conflicts == 0",
                              "--assert", "k.cu:8 sectors_per_request <= 4",
                              "--assert", "kernel:transpose barriers < 200 && launches == 1")
        self.assertIn("  holds shared_load_conflicts == 0\n"
                      "  holds k.cu:8 sectors_per_request <= 4\n"
                      "  holds kernel:transpose barriers < 200 && launches == 1\n"
                      "3 budgets hold; 1 launch, 4 blocks\n", result.out)
        self.assertEqual(result.code, 0)

    def test_a_failure_names_the_value_and_the_line(self):
        self.write(32)
        result = self.explain("--assert", "shared_load_conflicts == 0")
        self.assertIn("  FAILS shared_load_conflicts == 0: it is 3,968; most in k.cu:8 (3,968)\n",
                      result.out)
        self.assertEqual(result.code, 1)
        code, document = self.json("--assert", "shared_load_conflicts <= 0")
        budget, = document["budgets"]
        self.assertEqual((code, budget["holds"], budget["value"]), (1, False, 3968))

    def test_expressions(self):
        for text, holds in (("2 * (shared_load_wavefronts + 1) >= 2.5e2", True),
                            ("shared_load_wavefronts / shared_load_requests > 1", False),
                            ("barriers > 1 && barriers < 0 || barriers != 0", True),
                            ("local_load_sectors / local_load_requests <= 1", True),
                            ("k.cu:4 global_load_sectors == 4 * global_load_requests", True),
                            ("k.cu:2 barriers == 0", False)):
            self.assertEqual(self.explain("--assert", text).code, 0 if holds else 1, text)

    def test_every_counter_has_its_name(self):
        _, document = self.json()
        for name in document["totals"]:
            self.assertEqual(self.explain("--assert", f"{name} >= 0").code, 0, name)

    def test_mistakes_are_one_line(self):
        for text, message in (
                ("shared_load_conflict == 0", "there is no counter shared_load_conflict, did you mean "
                 "shared_load_conflicts?; tilescope explain --json has all"),
                ("barriers", "expected a comparison such as <= 4 at its end"),
                ("barriers <", "expected a counter or a number at its end"),
                ("barriers < 3 < 4", "expected one comparison, or several joined by && at its end"),
                ("barriers < 3 )", "expected an operator at ')'"),
                ("(barriers < 3", "expected ')' at its end"),
                ("1 == 1", "it names no counter"),
                ("k.cu:x barriers == 0", "expected FILE:LINE or kernel:NAME, got 'k.cu:x'")):
            self.assert_fails(2, f"--assert '{text}': {message}", "explain", "k.cu", *LAUNCH,
                              "--assert", text, "--json", "report.json")
        self.assertEqual(self.files(), ["k.cu"])

    def test_a_kernel_that_did_not_run_never_passes(self):
        result = self.explain("--assert", "kernel:other barriers == 0")
        self.assertIn("FAILS kernel:other barriers == 0: kernel other did not run", result.out)
        self.assertEqual(result.code, 1)

    def test_a_run_that_is_cut_short_never_passes(self):
        code, document = self.json("--assert", "barriers >= 0", "--max-instructions", "50")
        self.assertEqual((code, document["budgets"][0]["holds"]), (1, False))

    def test_there_is_json_when_it_fails_at_once(self):
        code, document = self.json("--assert", "nothing == 0")
        self.assertEqual((code, document["error"]["kind"]), (2, "usage"))


class Baselines(Explained):
    def test_a_lost_column_of_padding_is_caught_at_its_line(self):
        self.keep("before.json")
        self.write(32)
        result = self.explain("--baseline", "before.json", "--json", "after.json")
        self.assertEqual(result.code, 1)
        self.assertIn("FAILS baseline 'before.json': shared_load_conflicts 0 -> 3,968; moved most "
                      "in k.cu:8 (0 -> 3,968);", " ".join(result.out.split()))
        moved = self.run_program("compare", "before.json", "after.json")
        self.assertEqual(moved.code, 0)
        self.assertIn("\nk.cu:8\n  out[y * n + x] = tile[threadIdx.x][threadIdx.y];\n", moved.out)
        self.assertLessEqual(max(map(len, moved.out.splitlines())), 80)
        document = json.loads(self.run_program("compare", "before.json", "after.json", "--json",
                                               "-").out)
        line, = document["lines"]
        self.assertEqual((line["line"], line["moves"][0]),
                         (8, {"counter": "shared_load_conflicts", "before": 0, "after": 3968}))
        self.assertEqual([one["kind"] for one in document["new_findings"]], ["bank-conflict"])
        annotated = self.explain("--baseline", "before.json", "--format", "gcc")
        self.assertRegex(annotated.out, r"k\.cu:8:3: error: baseline .*\[budget\]")

    def test_an_improvement_passes(self):
        self.write(32)
        self.keep("before.json")
        self.write(33)
        result = self.explain("--baseline", "before.json")
        self.assertEqual(result.code, 0)
        self.assertIn("1 budget holds; 1 launch, 4 blocks", result.out)

    def test_a_tolerance_allows_growth(self):
        self.keep("before.json")
        document = json.loads(self.read("before.json"))
        document["totals"]["instructions"] -= 100
        with open(self.path("fewer.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
        self.assertEqual(self.explain("--baseline", "fewer.json").code, 1)
        self.assertEqual(self.explain("--baseline", "fewer.json", "--tolerance",
                                      "instructions=5%").code, 0)
        self.assertEqual(self.explain("--baseline", "fewer.json", "--tolerance",
                                      "instructions=0.01%").code, 1)
        self.assert_fails(2, "--tolerance 'instructions=5': expected a counter of explain --json and "
                             "a share, such as instructions=5%", "explain", "k.cu", *LAUNCH,
                          "--baseline", "fewer.json", "--tolerance", "instructions=5")

    def test_an_unchanged_kernel_has_no_difference(self):
        self.keep("before.json")
        expected = self.read("before.json")
        for _ in range(REPEATS):
            self.keep("after.json")
            self.assertEqual(self.read("after.json"), expected)
        moved = self.run_program("compare", "before.json", "after.json")
        self.assertIn("no difference: 8 lines and 0 findings are the same", moved.out)

    def test_lines_that_moved_are_the_same_lines(self):
        self.keep("before.json")
        with open(self.path("k.cu"), "w", encoding="utf-8") as file:
            file.write("// One more line.\n" + TRANSPOSE.replace("PADDED", "33"))
        self.keep("after.json")
        moved = json.loads(self.run_program("compare", "before.json", "after.json", "--json", "-").out)
        self.assertTrue(moved["same"])

    def test_estimates_move_only_beyond_their_intervals(self):
        source = ("__global__ void spread(const float* in, float* out, int stride) {\n"
                  "  unsigned block = blockIdx.x * 2654435761u >> 24;\n"
                  "  out[blockIdx.x * 32 + threadIdx.x] = in[threadIdx.x * (block % 5) * stride];\n"
                  "}\n")
        with open(self.path("spread.cu"), "w", encoding="utf-8") as file:
            file.write(source)

        def keep(name, stride, *options):
            result = self.run_program(
                "explain", "spread.cu", "--grid", "400", "--block", "32", "--arg", "f32[2000]=iota",
                "--arg", "f32[12800]=zeros", "--arg", f"i32:{stride}", "--json", name, *options)
            self.assertEqual(result.code, 0, result.err)

        keep("exact.json", 2)
        keep("sample.json", 2, "--blocks", "60:1")
        keep("worse.json", 8, "--blocks", "60:1")
        keep("range.json", 2, "--blocks", "0-59")
        loads = [json.loads(self.read(name))["totals"]["global_load_sectors"]
                 for name in ("exact.json", "sample.json")]
        self.assertNotEqual(*loads)
        same = self.run_program("compare", "exact.json", "sample.json")
        self.assertIn("'sample.json' has estimates: only what moved beyond their 95% intervals is "
                      "listed, and no ratios", " ".join(same.out.split()))
        self.assertIn("no difference", same.out)
        moved = json.loads(self.run_program("compare", "sample.json", "worse.json", "--json",
                                            "-").out)
        self.assertEqual([move["counter"] for move in moved["totals"]][:1],
                         ["global_load_sectors"])
        self.assertTrue(moved["before"]["estimate"])
        self.assertIn("from a range of blocks: how far they are off is not known", " ".join(
            self.run_program("compare", "exact.json", "range.json").out.split()))
        self.assert_fails(4, "'sample.json': it has estimates of --blocks, and a baseline needs exact "
                             "counts", "explain", "k.cu", *LAUNCH, "--baseline", "sample.json")

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_other_baselines_are_refused_in_one_line(self):
        self.keep("before.json")
        self.write(33, "other.cu")
        command = ("explain", "other.cu", *LAUNCH, "--baseline", "before.json")
        self.assert_fails(2, "--baseline 'before.json': its target is k.cu: transpose, that of this "
                             "run is other.cu: transpose", *command, "--json", "report.json")
        document = json.loads(self.read("before.json"))
        for key, value, message in (
                ("version", 2, "version 1 of the report is needed, this is 2"),
                ("command", "ladder", "a report of explain or check is needed, this is of ladder"),
                ("lines", 7, "\"lines\" is not as tilescope writes it"),
                ("complete", False, "its run was cut short, which is no baseline")):
            with open(self.path("bad.json"), "w", encoding="utf-8") as file:
                json.dump(dict(document, **{key: value}), file)
            self.assert_fails(4, f"'bad.json': {message}", *command[:-1], "bad.json")
        self.assertEqual(self.files(), ["bad.json", "before.json", "k.cu", "other.cu"])


class Findings(program.ProgramTest):
    def check(self, *options, source=RACE):
        with open(self.path("k.cu"), "w", encoding="utf-8") as file:
            file.write(source)
        return self.run_program("check", "k.cu", *RACE_LAUNCH, *options)

    def suppress(self, document):
        with open(self.path("accepted.json"), "w", encoding="utf-8") as file:
            json.dump(document, file)
        return self.check("--suppress", "accepted.json")

    def test_known_findings_pass_and_new_ones_fail(self):
        self.assertEqual(self.check("--json", "before.json").code, 1)
        result = self.check("--baseline", "before.json", source="// Moved.\n" + RACE)
        self.assertEqual(result.code, 0, result.out)
        result = self.check("--baseline", "before.json", source=RACE.replace("+ 1", "+ 2"))
        self.assertEqual(result.code, 1)
        self.assertIn("FAILS baseline 'before.json': 1 new finding\n", result.out)

    def test_a_suppressed_finding_passes_and_is_told(self):
        result = self.suppress({"suppress": [
            {"kind": "race", "kernel": "rotate", "place": "k.cu:4", "reason": "a lesson"},
            {"kind": "leak", "reason": "old"}]})
        self.assertEqual(result.code, 0, result.out)
        self.assertIn("suppressed: 1 finding: race in rotate at k.cu:4 (a lesson)\n"
                      "not needed: the suppression of leak (old)\n", result.out)

    def test_a_suppression_takes_no_other_finding(self):
        for other in ({"kind": "misaligned"}, {"kind": "race", "kernel": "scale"},
                      {"kind": "race", "place": "k.cu:3"}, {"kind": "race", "place": "u.cu"}):
            result = self.suppress({"suppress": [dict(other, reason="none")]})
            self.assertEqual(result.code, 1, other)
            self.assertIn("not needed: ", result.out)

    def test_a_project_chooses_severities(self):
        self.assertEqual(self.suppress({"severity": {"race": "note"}}).code, 0)
        self.assertIn("\nwarning: race at k.cu:4 and 5\n",
                      self.suppress({"severity": {"race": "warning"}}).out)

    def test_mistakes_are_one_line(self):
        for document, message in (
                ({"suppres": []}, "unknown key \"suppres\"; the keys are suppress, severity"),
                ({"suppress": [{"kind": "races", "reason": "x"}]},
                 "there is no kind \"races\", did you mean race?"),
                ({"suppress": [{"kind": "race"}]},
                 "race is suppressed without a \"reason\"; say why"),
                ({"suppress": [{"kind": "race", "place": "k.cu:0", "reason": "x"}]},
                 "\"place\": expected FILE or FILE:LINE, got 'k.cu:0'"),
                ({"severity": {"race": "fatal"}}, "\"race\": expected error, warning or note")):
            result = self.suppress(document)
            self.assertEqual((result.code, result.out, result.err),
                             (4, "", f"tilescope: 'accepted.json': {message}\n"))

    def test_only_one_thing_goes_to_standard_output(self):
        result = self.check("--format", "gcc", "--json", "-")
        message = "--format and --json - both write to standard output; name a file for --json"
        self.assertEqual((result.code, result.err), (2, f"tilescope: {message}\n"))
        self.assertEqual(json.loads(result.out)["error"]["message"], message)


if __name__ == "__main__":
    program.main()
