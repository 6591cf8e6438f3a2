"""Reports in a notebook's page, seen by a browser: no style passes, and the frame is as high as the
report."""

import pathlib
import sys
import tempfile
import unittest

import numpy
import tilescope

sys.path.append(str(pathlib.Path(__file__).parent.parent / "cli"))

import browser  # noqa: E402

SAFE = "__global__ void add(int* x) { x[threadIdx.x] += 1; }"
RACE = """__global__ void turn(int* x) {
  __shared__ int tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  x[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
# A notebook with a style that would spoil a report, and a report's selectors of its own.
NOTEBOOK = """<!doctype html><style>
h1 {{ font-size: 77px; }} section, table, svg {{ display: none; }} body {{ width: 900px; }}
</style><body><h2 id="own">A cell</h2>{cells}"""
# The sizes of the cell's heading and of each frame, once the frames had time to grow.
SEEN = """new Promise(done => setTimeout(() => {
  const seen = [getComputedStyle(document.getElementById("own")).fontSize];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    const size = selector => {
      const found = page.querySelector(selector);
      return found ? getComputedStyle(found).fontSize + "/" + getComputedStyle(found).display : "-";
    };
    seen.push([frame.clientHeight, Math.round(page.body.getBoundingClientRect().bottom),
               page.body.clientWidth > page.documentElement.clientWidth, size("h1"),
               size("section")].join(" "));
  }
  done(seen);
}, 500))"""


@unittest.skipUnless(browser.BROWSER, browser.NO_BROWSER)
class Pages(unittest.TestCase):
    def test_frames(self):
        x = numpy.arange(64, dtype="int32")
        reports = [tilescope.check(SAFE, 1, 64, (x,)), tilescope.check(RACE, 1, 64, (x,)),
                   tilescope.ladder("matmul", size=64)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "notebook.html"
            path.write_text(NOTEBOOK.format(cells="".join(r._repr_html_() for r in reports)))
            chromium = browser.Browser()
            visit = browser.Visit(chromium, path)
            own, *frames = visit.run(SEEN)
            chromium.close()
        self.assertEqual(visit.console, [])
        self.assertEqual(visit.requests, [])
        self.assertEqual(own, "24px")
        self.assertEqual(len(frames), len(reports))
        most = 60 * 16
        for frame in frames:
            height, bottom, is_wider, heading, section = frame.split()
            self.assertEqual(int(height), min(int(bottom), most), frame)
            self.assertEqual(is_wider, "false")
            self.assertNotIn("77px", heading)
            self.assertNotIn("none", section)
        heights = [int(frame.split()[0]) for frame in frames]
        self.assertLess(heights[0], 500)
        self.assertEqual(heights[1], most)


if __name__ == "__main__":
    unittest.main()
