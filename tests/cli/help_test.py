"""Help texts: what users and scripts see of the command line. To accept a change on purpose:
TILESCOPE=build/tilescope tests/cli/help_test.py --update"""

import os
import re
import sys
import unittest

import program

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


def words(text):
    """The words alone: versions of CLI11 differ in spaces, line breaks and capitals."""
    return text.lower().split()


class Help(program.ProgramTest):
    def texts(self):
        """The help of the program and of every command that it lists."""
        overview = self.run_program("--help")
        self.assertEqual((overview.code, overview.err), (0, ""))
        listed = re.search(r"--version[^\n]*\n\n(.*)\nExit codes:", overview.out, re.S).group(1)
        found = {"tilescope": overview.out}
        for name in re.findall(r"^  (\w+)", listed, re.M):
            result = self.run_program(name, "--help")
            self.assertEqual((result.code, result.err), (0, ""))
            found[name] = result.out
        return found

    def test_is_as_recorded(self):
        texts = self.texts()
        recorded = {os.path.splitext(name)[0] for name in os.listdir(GOLDEN)}
        self.assertEqual(set(texts), recorded, "see the head of this file")
        for name, text in texts.items():
            with open(os.path.join(GOLDEN, name + ".txt"), encoding="utf-8") as file:
                self.assertEqual(words(text), words(file.read()), f"{name}: see the head of "
                                                                  "this file")

    def test_fits_into_80_columns(self):
        for name, text in self.texts().items():
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, f"{name}: {line}")

    def test_every_command_has_examples(self):
        for name, text in self.texts().items():
            self.assertIn("\nExamples:\n  tilescope ", text, name)

    def test_short_form_and_version(self):
        self.assertEqual(self.run_program("-h").out, self.run_program("--help").out)
        self.assertRegex(self.run_program("--version").out, r"^tilescope \d+\.\d+\.\d+\n$")


def update():
    test = Help("texts")
    test.setUp()
    os.makedirs(GOLDEN, exist_ok=True)
    for name in os.listdir(GOLDEN):
        os.remove(os.path.join(GOLDEN, name))
    for name, text in test.texts().items():
        with open(os.path.join(GOLDEN, name + ".txt"), "w", encoding="utf-8") as file:
            file.write(text)
    test.doCleanups()


if __name__ == "__main__":
    if "--update" in sys.argv:
        update()
    else:
        program.main()
