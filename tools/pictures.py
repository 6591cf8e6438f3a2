"""Draws docs/pictures/ anew: parts of pages, as Chromium shows them.

Usage: TILESCOPE=build/tilescope tools/pictures.py
"""

import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "cli"))
sys.dont_write_bytecode = True
import browser  # noqa: E402  the path above leads to it

TILESCOPE = os.path.abspath(os.environ.get("TILESCOPE", os.path.join(ROOT, "build", "tilescope")))
SUM = ("sum.cu", "--launch", "launch.json")
RUNGS = ("global_accumulator", "exchanged_32", "register_accumulator_32", "tiled_conflicts_32",
         "tiled_padded_32", "tiled_16", "vector_loads")
# Name, width and height, the command, and which part of the page alone is shown.
PICTURES = (
    ("bank_conflict", 760, 585, ("explain", "matmul/tiled_conflicts", "--tile", "32"),
     "#part2 > article:nth-of-type(1)"),
    ("race", 480, 505, ("check", *SUM), "#part1 > article:nth-of-type(1)"),
    ("block", 760, 365, ("explain", *SUM), "#part3 > figure"),
    ("ladder", 760, 345, ("ladder", "matmul", "--device", "emulated",
                          *(word for rung in RUNGS for word in ("--variant", rung))),
     "#part1 > figure:nth-of-type(1)"),
)
ALONE = """<script>
const part = document.querySelector({part!r});
document.body.replaceChildren(...document.querySelectorAll('svg.defs'), part);
document.body.style.padding = '0 8px';
</script></body>"""


def main():
    for name, width, height, words, part in PICTURES:
        with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
            page = os.path.join(folder, "page.html")
            subprocess.run([TILESCOPE, *words, "--html", page], stdout=subprocess.DEVNULL,
                           cwd=os.path.join(ROOT, "examples", "sum_with_a_race"), check=False)
            with open(page, encoding="utf-8") as file:
                text = file.read()
            with open(page, "w", encoding="utf-8") as file:
                file.write(text.replace("</body>", ALONE.format(part=part)))
            browser.picture(page, os.path.join(ROOT, "docs", "pictures", name + ".png"), width,
                            height)


if __name__ == "__main__":
    main()
