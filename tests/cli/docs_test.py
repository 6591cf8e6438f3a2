"""Commands that documents show are run, and print what the documents say they print.

A block is indented and begins with "$ tilescope"; a line "..." stands for any lines.
"""

import os
import re
import shlex
import unittest

import program

DOCUMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs")


def blocks(path):
    """(arguments, lines printed) of every command in a document."""
    found, current = [], None
    with open(path, encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if line.startswith("    $ tilescope "):
                current = (shlex.split(line[len("    $ tilescope "):]), [])
                found.append(current)
            elif current and (line.startswith("    ") or not line):
                current[1].append(line[4:])
            else:
                current = None
    for _, lines in found:
        while lines and not lines[-1]:
            lines.pop()
    return found


def pattern(lines):
    """What the printed text has to match as a whole."""
    text = ""
    for line in lines:
        text += r"(?:.*\n)*?" if line == "..." else re.escape(line) + r" *\n"
    return text


class Documents(program.ProgramTest):
    def test_explain(self):
        self.compare("explain.md", 4)

    def test_transfer(self):
        self.compare("transfer.md", 1)

    def compare(self, name, least):
        found = blocks(os.path.join(DOCUMENTS, name))
        self.assertGreaterEqual(len(found), least)
        for arguments, lines in found:
            with self.subTest(" ".join(arguments)):
                result = self.run_program(*arguments)
                self.assertEqual(result.code, 0, result.err)
                self.assertRegex(result.out, rf"\A{pattern(lines)}\Z")

    def test_the_comparison_notices(self):
        self.assertRegex("a\nb\nc\n", rf"\A{pattern(['a', '...', 'c'])}\Z")
        self.assertNotRegex("a\nb\nc\n", rf"\A{pattern(['a', 'c'])}\Z")
        self.assertNotRegex("a\nb\n", rf"\A{pattern(['...', 'a'])}\Z")


if __name__ == "__main__":
    unittest.main()
