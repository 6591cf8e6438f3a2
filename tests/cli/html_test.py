"""`--html`: pages that a browser shows without a word on its console and without a request, and
that say everything without one too."""

import contextlib
import json
import os
import re
import shutil
import unittest

import browser
import program

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_pages")
# A source that would break a page that did not escape it.
HOSTILE = """\
// </script><script>alert("x")</script> <b> & 'quotes' -- \u00fcberall \u2713
__global__ void add(float* out, const float* in, int n) {
  __shared__ float part[1024];
  const int t = threadIdx.x;
  part[t * 32 % 1024] = in[t];  // "<img src=x onerror=alert(1)>"
  out[t] = part[(t + 1) * 32 % 1024];
}
"""
LAUNCH = ("--grid", "1", "--block", "32", "--arg", "out=f32[32]=zeros", "--arg",
          "in=f32[32]=iota", "--arg", "i32:32")
RACE = HOSTILE.replace("__shared__ float part[1024]", "__shared__ float part[64]").replace(
    "t * 32 % 1024", "t").replace("(t + 1) * 32 % 1024", "63 - t")
RACE_LAUNCH = ("--grid", "1", "--block", "64", "--arg", "out=f32[64]=zeros", "--arg",
               "in=f32[64]=iota", "--arg", "i32:64")
# The stride of round r is 2^r words: each round has twice the conflicts of the one before.
ROUNDS = """\
__global__ void rounds(float* out, int n) {
  __shared__ float part[1024];
  for (int r = 0; r < n; ++r) part[(threadIdx.x << r) % 1024] = r;
  out[threadIdx.x] = part[threadIdx.x];
}
"""
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
# Two kernels, the first launched twice: rounds with conflicts, warps that wait, strided accesses.
PROGRAM = """\
__global__ void gather(float* x, int n) {
  __shared__ float part[1024];
  for (int r = 0; r < 4; ++r) part[(threadIdx.x << r) % 1024] = r;
  if (threadIdx.x < 32) for (int i = 0; i < 8; ++i) part[threadIdx.x] += x[i];
  __syncthreads();
  if (threadIdx.x < n) x[threadIdx.x] = part[threadIdx.x];
}
__global__ void spread(float* x) { x[threadIdx.x * 4] += 1; }
int main() {
  float* x;
  cudaMalloc(&x, 4096);
  cudaMemset(x, 0, 4096);
  gather<<<4, 128>>>(x, 128);
  gather<<<8, 128>>>(x, 128);
  spread<<<1, 256>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}
"""
# Each page with the words of its command.
PAGES = {
    "explain": ("explain", "hostile.cu", *LAUNCH),
    "race": ("check", "race.cu", *RACE_LAUNCH),
    "ladder": ("ladder", "matmul", "--device", "emulated", "--variant", "one_block", "--variant",
               "exchanged_32", "--variant", "tiled_conflicts_32", "--variant", "tiled_padded_32"),
    "occupancy": ("occupancy", "--threads", "256", "--registers", "40", "--shared", "8192"),
    "roofline": ("roofline", "matmul", "--size", "1024"),
    "banks": ("banks", "--rows", "32", "--columns", "32"),
    "coalesce": ("coalesce", "A[threadIdx.x*8]"),
    "transfer": ("transfer", "--play"),
    "tiles": ("tiles", "--size", "1024"),
    "warps": ("warps", "threadIdx.x > 2", "--block", "20,10", "--grid", "8"),
    "dram": ("dram", "--gpu", "gtx280", "--prefetch", "4", "--array-ns", "40", "--banks", "8"),
    "memories": ("memories",),
}
# Scenes of engines and of barriers: faulty kernels, what is missing in each, and its columns.
KERNELS = os.path.join(os.path.dirname(os.path.dirname(GOLDEN)), "cli_kernels")
SCENES = {
    "store_without_proxy_fence": ("fence.proxy.async", ["thread (0,0,0)", "copy engine"]),
    "copy_overtakes_readers": ("a wait for the readers",
                               ["thread (63,0,0)", "thread (0,0,0)", "copy engine"]),
    "async_copy_not_waited_for": ("a wait for the copy", ["thread (0,0,0)", "asynchronous copy"]),
    "bulk_source_not_waited_for": ("a wait for the copy", ["thread (0,0,0)", "copy engine"]),
    "load_never_waited_for": ("a wait for the copy",
                              ["thread (0,0,0)", "copy engine", "full[0]"]),
    "store_never_committed": ("cp.async.bulk.commit_group", ["thread (0,0,0)", "copy engine"]),
    "wgmma_without_fence": ("wgmma.fence", ["thread (96,0,0)", "tensor cores"]),
    "wgmma_sums_before_wait": ("wgmma.wait_group", ["a thread", "tensor cores"]),
    "wgmma_operand_overwritten": ("wgmma.wait_group",
                                  ["thread (96,0,0)", "tensor cores", "thread (0,0,0)"]),
    "cluster_store_before_start": ("cluster.sync()", ["thread (0,0,0)", "block 1"]),
    "cluster_exit_before_read": ("cluster.sync()", ["thread (31,0,0)", "block 0"]),
    "mbarrier_init_not_fenced": ("a fence of the initialisation",
                                 ["thread (0,0,0)", "thread (32,0,0)", "full"]),
    "mbarrier_init_no_barrier": ("a barrier, __syncthreads()",
                                 ["thread (0,0,0)", "thread (1,0,0)", "full"]),
    "expected_bytes_missing": (None, ["thread (0,0,0)", "full", "copy engine"]),
    "arrival_count_too_large": (None, ["thread (0,0,0)", "empty[0]", "thread (32,0,0)"]),
    "parity_not_flipped": (None, ["thread (0,0,0)", "full[0]", "thread (32,0,0)"]),
    "phase_missed": (None, ["done", "thread (63,0,0)", "thread (0,0,0)"]),
}
GOLDEN_SCENES = ("copy_overtakes_readers", "parity_not_flipped")
for scene in GOLDEN_SCENES:
    PAGES[scene] = ("check", scene + ".cu", "--launch", scene + ".json")
if NVCC:
    PAGES["program"] = ("explain", "program.cu")


class Pages(program.ProgramTest):
    def setUp(self):
        super().setUp()
        for name, text in (("hostile.cu", HOSTILE), ("race.cu", RACE), ("program.cu", PROGRAM)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

        for scene in GOLDEN_SCENES:
            folder = os.path.join(KERNELS, scene)
            shutil.copy(os.path.join(folder, "faulty.cu"), self.path(scene + ".cu"))
            shutil.copy(os.path.join(folder, "launch.json"), self.path(scene + ".json"))

    def page(self, *words):
        """The text of the page that a command writes."""
        result = self.run_program(*words, "--html", "page.html")
        self.assertIn(result.code, (0, 1), result.err)
        with open(self.path("page.html"), encoding="utf-8") as file:
            return file.read(), result

    def explain_kernel(self, text, *launch):
        with open(self.path("hostile.cu"), "w", encoding="utf-8") as file:
            file.write(text)
        return self.page("explain", "hostile.cu", *launch)[0]

    def explain_rounds(self, text=ROUNDS):
        return self.explain_kernel(text, "--grid", "1", "--block", "32", "--arg",
                                   "out=f32[32]=zeros", "--arg", "i32:4")


class Html(Pages):
    def test_pages_stand_alone(self):
        for name, words in PAGES.items():
            with self.subTest(page=name):
                text, result = self.page(*words)
                self.assertNotRegex(text, r"(src|href)=\"(?!#)")
                self.assertNotIn("http:", text)
                self.assertNotIn("https:", text)
                self.assertNotIn("@import", text)
                self.assertLess(len(text.encode()), 300_000)
                # The text of the terminal is inside, for those who want no pictures.
                pre = re.findall(r'<pre class="text" tabindex="0">(.*?)</pre>', text, re.S)[-1]
                for entity, c in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'"),
                                  ("&amp;", "&")):
                    pre = pre.replace(entity, c)
                self.assertEqual(pre.strip(), result.out.strip())

    def test_the_page_of_a_long_kernel_is_small(self):
        """Two hundred lines of unrolled loops, with loops at the edges, vectors and conflicts."""
        source = os.path.join(os.path.dirname(GOLDEN), "register_tiled_gemm.cu")
        matrix = "f32[40000]=random"
        text, result = self.page(
            "explain", source, "--grid", "3,3", "--block", "256", "--arg", matrix, "--arg", matrix,
            "--arg", matrix, "--arg", "i32:190", "--arg", "i32:190", "--arg", "i32:200",
            "--arg", "f32:1.5", "--arg", "f32:0.5")
        self.assertEqual(result.code, 0, result.err)
        self.assertLess(len(text.encode()), 300_000)
        # Small, but whole: every line, the PTX, six accesses with their rounds, the block.
        with open(source, encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(len(re.findall(r'<tr id="s1-', text)), len(lines))
        self.assertGreater(text.count("fma.rn.f32"), 256)
        self.assertEqual(text.count('<article class="access">'), 6)
        self.assertGreater(text.count("<figcaption>round"), 15)
        self.assertIn("its warps between barriers", text)

    def test_sources_are_escaped(self):
        for words in (PAGES["explain"], PAGES["race"]):
            text, _ = self.page(*words)
            self.assertNotIn("<script>alert", text)
            self.assertNotIn("<img", text)
            self.assertIn("&lt;/script&gt;&lt;script&gt;alert(&quot;x&quot;)", text)
            self.assertIn("\u00fcberall \u2713", text)

    def test_the_conflict_is_drawn(self):
        text, _ = self.page(*PAGES["explain"])
        self.assertIn("32 threads want this one bank:", text)
        data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', text)[1])
        self.assertEqual(len(data["counters"]), len(data["totals"]))
        at = data["counters"].index("shared_store_conflicts")
        self.assertEqual(data["totals"][at], 31)
        self.assertEqual(data["lines"]["5"][at], 31)

    def test_a_page_without_conflicts_has_no_red(self):
        with open(self.path("hostile.cu"), "w", encoding="utf-8") as file:
            file.write(HOSTILE.replace("t * 32 % 1024", "t").replace("(t + 1) * 32 % 1024", "t"))
        text, _ = self.page(*PAGES["explain"])
        self.assertNotIn("wire bad", text)
        self.assertNotIn("turn bad", text)
        self.assertIn('class="wire"', text)

    def test_the_race_is_drawn(self):
        text, _ = self.page(*PAGES["race"])
        self.assertIn("missing: a barrier, __syncthreads()", text)
        self.assertIn('<a href="#f1">Picture</a>', text)
        with open(self.path("race.cu"), "w", encoding="utf-8") as file:
            file.write(RACE.replace("  out[t]", "  __syncthreads();\n  out[t]"))
        text, result = self.page(*PAGES["race"])
        self.assertEqual(result.code, 0, result.out)
        self.assertNotIn("missing:", text)

    def check_kernel(self, kernel, which):
        """The first scene of a kernel's page, and its exit code."""
        folder = os.path.join(KERNELS, kernel)
        text, result = self.page("check", os.path.join(folder, which + ".cu"), "--launch",
                                 os.path.join(folder, "launch.json"))
        scene = re.search(r'<article class="race" id="f1">(.*?)</article>', text, re.S)
        return scene and scene[1], result.code

    def test_engines_and_phases_have_columns(self):
        for kernel, (missing, columns) in program.sample(SCENES.items(), 6):
            with self.subTest(kernel):
                scene, code = self.check_kernel(kernel, "faulty")
                self.assertEqual(code, 1)
                heads = re.findall(r'class="thread"/><text[^>]*>(.*?)</text>', scene)
                self.assertEqual(heads, columns)
                shown = re.findall(r">missing: (.*?)</text>", scene)
                self.assertEqual(shown, [missing] if missing else [])
                self.assertEqual(self.check_kernel(kernel, "cured"), (None, 0))

    def test_a_phase_says_what_has_come(self):
        scene, _ = self.check_kernel("arrival_count_too_large", "faulty")
        for words in ("phase 0", "1 of 32 arrivals", "waits for ever"):
            self.assertIn(f">{words}</text>", scene)
        scene, _ = self.check_kernel("expected_bytes_missing", "faulty")
        for words in ("brings 1,024 bytes", "1,024 of 0 bytes"):
            self.assertIn(f">{words}</text>", scene)

    def test_the_warps_of_a_block_are_drawn(self):
        # 200 threads in rows of 20: warps begin within rows, and the last one lacks 24.
        text, _ = self.page(*PAGES["warps"])
        labels = re.findall(r'class="end small">(.*?)</text>', text)
        self.assertEqual(labels, [f"warp {i}" for i in range(7)])
        boxes = {kind: sum(path.count("z") for path in
                           re.findall(rf'<path d="([^"]*)" class="{kind}"', text))
                 for kind in ("warp even", "warp odd", "padding")}
        self.assertEqual(boxes, {"warp even": 96 + 8, "warp odd": 96, "padding": 24})
        text, _ = self.page("warps", "--block", "256")
        self.assertIn("every lane of every warp has a thread", text)
        self.assertNotIn('class="padding"', text)

    def test_rounds_of_a_loop_are_frames(self):
        captions = re.findall(r"<figcaption>(round.*?)</figcaption>", self.explain_rounds())
        self.assertEqual([caption.split(",")[0] for caption in captions],
                         ["round 1", "round 2", "round 3", "round 4"])
        for ways, caption in zip((1, 2, 4, 8), captions):
            self.assertIn(f"{ways} turn", caption)
        # Rounds that look the same are one frame, which is the access itself.
        text = self.explain_rounds(ROUNDS.replace("<< r", ""))
        self.assertEqual(re.findall(r"<figcaption>(round.*?)</figcaption>", text), [])

    def test_the_course_of_a_block(self):
        uneven = """\
__global__ void uneven(float* out, int n) {
  __shared__ float part[128];
  part[threadIdx.x] = 0;
  if (threadIdx.x < 32) for (int i = 0; i < n; ++i) part[i] += out[i];
  __syncthreads();
  out[threadIdx.x] = part[127 - threadIdx.x];
}
"""
        launch = ("--grid", "1", "--block", "128", "--arg", "out=f32[128]=ones", "--arg", "i32:8")
        text = self.explain_kernel(uneven, *launch)
        self.assertIn("Block (0,0,0) of uneven: its warps between barriers", text)
        waits = re.findall(r'class="span waiting"><title>(.*?)</title>', text)
        self.assertEqual(waits, ["waits at hostile.cu:5"] * 3)  # the other warps, for the first
        text = self.explain_kernel(uneven.replace("  __syncthreads();\n", "").replace(
            "  if (threadIdx.x < 32) for", "  if (n < 0) for"), *launch)
        self.assertNotIn("its warps between barriers", text)

    def test_lines_and_instructions_are_linked(self):
        text, _ = self.page(*PAGES["explain"])
        linked = re.findall(r'<a href="#(s1-\d+)" data-l="(\d+)">(.*?)\n</a>', text, re.S)
        self.assertIn("st.shared.f32", "".join(code for _, line, code in linked if line == "5"))
        for anchor, line, _ in linked:
            self.assertEqual(anchor, "s1-" + line)
            self.assertIn(f'<tr id="{anchor}"', text)

    @unittest.skipUnless(NVCC, "nvcc is not installed")
    def test_a_program_has_the_pictures_of_its_kernels(self):
        text, _ = self.page(*PAGES["program"])
        code = re.search(r"Instructions \(PTX\)</h4><pre>(.*?)</pre>", text, re.S)[1]
        self.assertEqual(re.findall("// (.*)", code), ["gather", "spread"])
        self.assertIn("st.shared", re.search(r'data-l="3">(.*?)</a>', code, re.S)[1])
        self.assertIn("st.global", "".join(re.findall(r'data-l="8">(.*?)</a>', code, re.S)))
        captions = re.findall(r"<figcaption>(round.*?)</figcaption>", text)
        self.assertEqual([caption.split(",")[0] for caption in captions],
                         ["round 1", "round 2", "round 3", "round 4"])
        self.assertIn("Block (0,0,0) of gather: its warps between barriers", text)
        waits = re.findall(r'class="span waiting"><title>(.*?)</title>', text)
        self.assertEqual(waits, ["waits at program.cu:5"] * 3)
        # One launch alone.
        text, _ = self.page(*PAGES["program"], "--launch", "2")
        self.assertNotIn("its warps between barriers", text)
        self.assertNotIn("st.shared", re.search(r"</h4><pre>(.*?)</pre>", text, re.S)[1])

    def test_two_reports_are_compared(self):
        self.run_program(*PAGES["explain"], "--json", "before.json")
        with open(self.path("hostile.cu"), "w", encoding="utf-8") as file:
            file.write(HOSTILE.replace("t * 32 % 1024", "t * 33 % 1024"))
        self.run_program(*PAGES["explain"], "--json", "after.json")
        text, _ = self.page("compare", "before.json", "after.json")
        self.assertIn("<h3>shared store conflicts</h3>", text)
        self.assertRegex(text, r"<h2 id=\"head\d+\">hostile.cu:5")
        text, _ = self.page("compare", "after.json", "after.json")
        self.assertNotIn("<svg", text)

    def test_files_that_cannot_be_written(self):
        missing, before = self.path("no"), self.files()
        self.assert_fails(4, f"cannot write 'no/page.html': the folder '{missing}' does not exist; "
                             "create it first",
                          *PAGES["occupancy"], "--html", "no/page.html")
        self.assert_fails(2, "--html 'hostile.cu' would overwrite 'hostile.cu', which this command "
                             "reads or writes too; name another file",
                          *PAGES["explain"], "--html", "hostile.cu")
        self.assertEqual(self.files(), before)


class BrowserPages(Pages):
    """Pages that a browser opens."""

    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    @contextlib.contextmanager
    def visit(self, name="page.html", **look):
        seen = browser.Visit(self.browser, self.path(name), **look)
        try:
            yield seen
        finally:
            seen.close()


@unittest.skipUnless(browser.BROWSER, browser.NO_BROWSER)
class Browser(BrowserPages):
    """The same pages in Chromium. `UPDATE_GOLDEN=1` writes the expected outlines anew."""

    def test_in_a_browser(self):
        for name, words in PAGES.items():
            with self.subTest(page=name):
                self.page(*words)
                with self.visit() as seen:
                    self.assertEqual(seen.console, [])
                    self.assertEqual(seen.requests, [])
                outline = browser.outline(seen.document)
                path = os.path.join(GOLDEN, name + ".txt")
                if os.environ.get("UPDATE_GOLDEN"):
                    os.makedirs(GOLDEN, exist_ok=True)
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(outline)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(outline, file.read())

    def done_in_browser(self, script):
        """What `script`, run behind the page's own, returns."""
        with self.visit() as seen:
            result = seen.run(f"(() => {{{script}}})()")
            self.assertEqual(seen.console, [])
        return result

    def test_counters_are_chosen(self):
        self.page(*PAGES["explain"])
        heat, columns, told, focused, lit = self.done_in_browser("""
            const heat = document.querySelector('select');
            heat.value = 'global_store_sectors';
            heat.dispatchEvent(new Event('change'));
            const hot = [...document.querySelectorAll('tr[style]')].map(row => row.id);
            const columns = () => document.querySelectorAll('.lines thead th').length;
            const before = columns();
            document.querySelector('.choice input:not(:checked)').click();
            document.querySelector('#s1-1').focus();
            for (let i = 0; i < 3; ++i) {
              document.activeElement.dispatchEvent(
                new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true}));
            }
            const focused = document.activeElement.id;
            document.querySelector('#s1-5').click();
            const lit = [...document.querySelectorAll('.code .on')].map(code => code.textContent);
            return [hot, columns() - before, document.querySelector('.told').textContent,
              focused, lit.some(code => code.includes('st.shared'))];
        """)
        self.assertEqual(heat, ["s1-6"])
        self.assertEqual(columns, 1)
        self.assertIn("line 5: ", told)
        self.assertIn("shared store conflicts 31 (100.0%)", told)
        self.assertEqual(focused, "s1-4")
        self.assertTrue(lit)

    def test_tables_are_sorted(self):
        self.page(*PAGES["ladder"])
        orders = self.done_in_browser("""
            const all = selector => [...document.querySelectorAll(selector)];
            const button = all('button').find(b => b.innerText === 'waves');
            const names = () => all('tbody th').map(head => head.innerText);
            button.click();
            const down = names();
            button.click();
            return [down, names(), button.parentElement.getAttribute('aria-sort')];
        """)
        self.assertEqual(orders[0][:2], ["tiled_conflicts_32", "tiled_padded_32"])
        self.assertEqual(orders[1][-2:], ["tiled_padded_32", "tiled_conflicts_32"])
        self.assertEqual(orders[2], "ascending")

    def test_the_slider_turns_rounds(self):
        self.explain_rounds()
        shown = self.done_in_browser("""
            const shown = () => [...document.querySelectorAll('.frames figure')]
              .filter(figure => !figure.hidden).map(figure => figure.innerText.trim());
            const slider = document.querySelector('input[type=range]');
            const first = shown();
            slider.value = 3;
            slider.dispatchEvent(new Event('input'));
            return [first, shown(), slider.getAttribute('aria-valuetext')];
        """)
        self.assertEqual([len(each) for each in shown[:2]], [1, 1])
        self.assertIn("8 turns", shown[0][0])
        self.assertIn("round 2", shown[1][0])
        self.assertIn("round 2", shown[2])

    def test_the_browser_reports_what_a_bad_page_does(self):
        with open(self.path("bad.html"), "w", encoding="utf-8") as file:
            file.write('<!DOCTYPE html><script>console.log("x")</script>'
                       '<img src="http://127.0.0.1:9/x.png">')
        with self.visit("bad.html") as seen:
            self.assertNotEqual(seen.console, [])
            self.assertEqual(seen.requests, ["http://127.0.0.1:9/x.png"])


if __name__ == "__main__":
    program.main()
