"""The recipes of docs/ci.md, run as they are printed there."""

import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import unittest

import program

PAGE = (pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "ci.md").read_text()
KERNELS = pathlib.Path(__file__).resolve().parent.parent / "cli_kernels"


def recipe(language, heading):
    """The first block in that language below the heading."""
    part = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.search(rf"^```{language}\n(.*?)^```$", part, re.S | re.M)[1]


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Repository(program.ProgramTest):
    """A repository with a faulty kernel, and tilescope in PATH."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("bin"))
        os.symlink(os.path.abspath(program.TILESCOPE), self.path("bin/tilescope"))
        os.mkdir(self.path("repository"))
        self.environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"],
                                GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull)
        self.git("init", "-q")
        self.git("config", "user.name", "a")
        self.git("config", "user.email", "a@b.c")
        self.put("faulty")
        self.git("add", "-A")

    def put(self, which):
        for source, name in ((f"{which}.cu", "rotate.cu"), ("launch.json", "rotate.launch.json")):
            shutil.copy(KERNELS / "race_within_warp" / source, self.path(f"repository/{name}"))

    def run_there(self, *command):
        return subprocess.run(command, cwd=self.path("repository"), env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)

    def git(self, *words):
        done = self.run_there("git", *words)
        return done.returncode, done.stdout

    def test_the_workflow_checks_every_kernel(self):
        lines = recipe("yaml", "GitHub Actions").split("\n")
        first = lines.index("      - name: Check every kernel") + 2
        self.assertEqual(lines[first - 1], "        run: |")
        step = []
        for line in lines[first:]:
            if line and not line.startswith(" " * 10):
                break
            step.append(line[10:])
        done = self.run_there("bash", "-eo", "pipefail", "-c", "\n".join(step))
        self.assertEqual(done.returncode, 1)
        self.assertIn("::error file=rotate.cu,line=5,endLine=5,title=race in rotate::", done.stdout)
        with open(self.path("repository/sarif/rotate.cu.sarif"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["runs"][0]["results"]), 1)
        self.put("cured")
        done = self.run_there("bash", "-eo", "pipefail", "-c", "\n".join(step))
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_hook_stops_a_commit(self):
        hook = pathlib.Path(self.path("repository/.git/hooks/pre-commit"))
        hook.write_text(recipe("sh", "A hook before each commit"))
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
        code, told = self.git("commit", "-qm", "a race")
        self.assertEqual(code, 1)
        self.assertIn("rotate.cu:5:3: error: ", told)
        self.put("cured")
        self.git("add", "-A")
        self.assertEqual(self.git("commit", "-qm", "no race"), (0, ""))

    def test_the_problem_matcher_takes_every_line(self):
        task, = json.loads(recipe("json", "A problem matcher for editors"))["tasks"]
        pattern = task["problemMatcher"]["pattern"]
        names = {"${relativeFile}": "rotate.cu", "${relativeFileDirname}": ".",
                 "${fileBasenameNoExtension}": "rotate"}
        command = task["command"]
        for name, value in names.items():
            command = command.replace(name, value)
        lines = self.run_there("bash", "-c", command).stdout.splitlines()
        found = [re.match(pattern["regexp"], line) for line in lines]
        self.assertTrue(all(found) and len(found) == 3, lines)
        self.assertEqual([(match[pattern["file"]], match[pattern["line"]], match[pattern["severity"]])
                          for match in found],
                         [("rotate.cu", "5", "error"), ("rotate.cu", "5", "note"),
                          ("rotate.cu", "6", "note")])


if __name__ == "__main__":
    program.main()
