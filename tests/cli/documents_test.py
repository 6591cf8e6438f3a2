"""The documents show what the command prints.

In examples/*/README.md every `$ tilescope ...` is run in the example's folder. In docs/check.md
every report must be one that a kernel in tests/cli_kernels gives (those are tests of their own).
`documents_test.py --update` rewrites the outputs of the examples.
"""

import os
import pathlib
import re
import subprocess
import sys
import unittest

import program

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
INDENT = "    "


def output_of(command, folder):
    words = command.split()
    done = subprocess.run([os.path.abspath(program.TILESCOPE), *words[1:]], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
    return done.stdout.rstrip("\n").split("\n")


def with_outputs(text, folder):
    """`text` with the current output of each command below it."""
    result, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        line = lines[at]
        at += 1
        result.append(line)
        if not line.startswith(INDENT + "$ tilescope "):
            continue
        while at < len(lines) and (lines[at].startswith(INDENT) or lines[at] == ""):
            if lines[at].startswith(INDENT + "$ "):
                break
            at += 1
        result += [INDENT + out if out else "" for out in output_of(line[len(INDENT) + 2:], folder)]
        result.append("")
    return "\n".join(result).rstrip("\n") + "\n"


class Documents(unittest.TestCase):
    maxDiff = None

    def test_examples(self):
        readmes = sorted(ROOT.glob("examples/*/README.md"))
        self.assertTrue(readmes)
        for readme in readmes:
            with self.subTest(readme=readme):
                text = readme.read_text(encoding="utf-8")
                self.assertIn(INDENT + "$ tilescope ", text)
                self.assertEqual(with_outputs(text, readme.parent), text)

    def test_check(self):
        known = "\n".join(path.read_text(encoding="utf-8")
                          for path in ROOT.glob("tests/cli_kernels/*/expected.txt"))
        text = (ROOT / "docs/check.md").read_text(encoding="utf-8")
        reports = re.findall(r"(?:^    .*\n)*^    (?:error|warning): .*\n(?:^    .*\n)*", text,
                             re.MULTILINE)
        self.assertGreater(len(reports), 12)
        for report in reports:
            plain = re.sub("^    ", "", report, flags=re.MULTILINE)
            self.assertIn(plain, known)

    def test_every_kind_is_described(self):
        source = (ROOT / "src/report/words/finding_words.cpp").read_text(encoding="utf-8")
        kinds = set(re.findall(r'Row\{K::\w+, "([a-z-]+)"', source))
        self.assertGreaterEqual(len(kinds), 19)
        text = (ROOT / "docs/check.md").read_text(encoding="utf-8")
        for kind in sorted(kinds):
            self.assertIn(f"`{kind}`", text)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        for document in sorted(ROOT.glob("examples/*/README.md")):
            document.write_text(with_outputs(document.read_text(encoding="utf-8"),
                                             document.parent), encoding="utf-8")
    else:
        program.main()
