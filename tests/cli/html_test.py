"""`--html`: pages that a browser shows without a word on its console and without a request, and
that say everything without one too."""

import json
import os
import re
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
}


class Pages(program.ProgramTest):
    def setUp(self):
        super().setUp()
        for name, text in (("hostile.cu", HOSTILE), ("race.cu", RACE)):
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

    def page(self, *words):
        """The text of the page that a command writes."""
        result = self.run_program(*words, "--html", "page.html")
        self.assertIn(result.code, (0, 1), result.err)
        with open(self.path("page.html"), encoding="utf-8") as file:
            return file.read(), result


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

    def test_sources_are_escaped(self):
        for words in (PAGES["explain"], PAGES["race"]):
            text, _ = self.page(*words)
            self.assertNotIn("<script>alert", text)
            self.assertNotIn("<img", text)
            self.assertIn("&lt;/script&gt;&lt;script&gt;alert(&quot;x&quot;)", text)
            self.assertIn("\u00fcberall \u2713", text)

    def test_the_conflict_is_drawn(self):
        text, _ = self.page(*PAGES["explain"])
        self.assertIn("32 words wait for this one bank", text)
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

    def test_files_that_cannot_be_written(self):
        self.assert_fails(4, f"cannot write 'no/page.html': the folder '{self.path('no')}' does not "
                             "exist; create it first",
                          *PAGES["occupancy"], "--html", "no/page.html")
        self.assert_fails(2, "--html 'hostile.cu' would overwrite 'hostile.cu', which this command "
                             "reads or writes too; name another file",
                          *PAGES["explain"], "--html", "hostile.cu")
        self.assertEqual(self.files(), ["hostile.cu", "race.cu"])


@unittest.skipUnless(browser.BROWSER, browser.NO_BROWSER)
class Browser(Pages):
    """The same pages in Chromium. `UPDATE_GOLDEN=1` writes the expected outlines anew."""

    def test_in_a_browser(self):
        for name, words in PAGES.items():
            with self.subTest(page=name):
                self.page(*words)
                seen = browser.visit(self.path("page.html"))
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

    def test_the_browser_reports_what_a_bad_page_does(self):
        with open(self.path("bad.html"), "w", encoding="utf-8") as file:
            file.write('<!DOCTYPE html><script>console.log("x")</script>'
                       '<img src="http://127.0.0.1:9/x.png">')
        seen = browser.visit(self.path("bad.html"))
        self.assertNotEqual(seen.console, [])
        self.assertNotEqual(seen.requests, [])


if __name__ == "__main__":
    program.main()
