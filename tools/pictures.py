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
# Name and width, the command, and the parts of the page that are shown.
PICTURES = (
    ("bank_conflict", 760, ("explain", "matmul/tiled_conflicts", "--tile", "32"),
     "svg.defs, #part2 > article:nth-of-type(1)"),
    ("race", 520, ("check", *SUM), "#part1 > article:nth-of-type(1)"),
    ("block", 760, ("explain", *SUM), "#part3 > h3, #part3 > figure"),
    ("ladder", 760, ("ladder", "matmul", "--device", "emulated",
                     *(word for rung in RUNGS for word in ("--variant", rung))),
     "#part1 > :nth-child(-n+5):not(h2)"),
)
ALONE = """
document.body.replaceChildren(...document.querySelectorAll({parts!r}));
document.body.style.padding = '8px';
"""


def main():
    chromium = browser.Browser()
    for name, width, words, parts in PICTURES:
        with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
            page = os.path.join(folder, "page.html")
            subprocess.run([TILESCOPE, *words, "--html", page], stdout=subprocess.DEVNULL,
                           cwd=os.path.join(ROOT, "examples", "sum_with_a_race"), check=False)
            shown = browser.Visit(chromium, page, width=width, height=100)
            shown.run(ALONE.format(parts=parts))
            with open(os.path.join(ROOT, "docs", "pictures", name + ".png"), "wb") as file:
                file.write(shown.picture())
            shown.close()
    chromium.close()


if __name__ == "__main__":
    main()
