"""`tilescope check --format`: what other tools read, for one kernel of each kind of finding.

formats/KIND.txt has the output in each format. `formats_test.py --update` rewrites these files; read
the difference before keeping it. The documents are validated against the published schemas if
Python has jsonschema and xmlschema and the schemas can be had (TILESCOPE_SCHEMAS names a folder
with them; else they are downloaded).
"""

import html
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = os.environ.get("TILESCOPE", "tilescope")
FORMATS = ("gcc", "github", "sarif", "junit")

# Each kind of finding that a kernel alone can show, and the folder with such a kernel.
KERNELS = {
    "arrival-count": "arrival_count_too_small",
    "bad-barrier": "named_barrier_bad_count",
    "bad-call": "call_of_no_function",
    "bad-copy": "copy_of_20_bytes",
    "bad-operand": "barrier_for_no_producer",
    "barrier-mismatch": "barrier_in_branch",
    "barrier-unreached": "barrier_early_return",
    "bulk-source-reuse": "bulk_source_not_waited_for",
    "cluster-arrival": "cluster_arrives_twice",
    "cluster-exit": "cluster_exit_before_read",
    "cluster-memory": "cluster_wrong_rank",
    "cluster-not-started": "cluster_store_before_start",
    "early-overwrite": "copy_overtakes_readers",
    "endless-wait": "endless_wait",
    "expected-bytes": "expected_bytes_missing",
    "illegal-launch": "block_too_large",
    "local-arrive-remote": "local_arrive_on_mapped_address",
    "misaligned": "misaligned_double",
    "missing-acquire": "relaxed_flag",
    "missing-grid-wait": "grid_wait_missing",
    "missing-mbarrier-fence": "mbarrier_init_not_fenced",
    "missing-proxy-fence": "store_without_proxy_fence",
    "named-barrier-reuse": "named_barrier_two_counts",
    "null-pointer": "null_pointer",
    "order-dependent-result": "order_dependent_result",
    "out-of-bounds": "global_off_by_one",
    "phase-parity": "parity_not_flipped",
    "race": "race_within_warp",
    "read-only": "constant_written",
    "register-budget": "registers_beyond_pool",
    "tensor-map-in-use": "tensor_map_not_acquired",
    "tile-alignment": "tile_behind_header",
    "trap": "failed_assertion",
    "unfinished": "endless_loop",
    "unfinished-async-work": "load_never_waited_for",
    "unfinished-copy": "async_copy_not_waited_for",
    "uninitialised-read": "uninitialised_shared",
    "warp-mask": "shuffle_absent_lane",
    "warpgroup-mismatch": "warpgroup_of_three",
    "wgmma-order": "wgmma_without_fence",
    "wrong-space": "local_address_shared",
    "wrote-nothing": "wrote_nothing",
}

# A note, which makes no command fail: formats/NAME.cu and its launch.
NOTES = {"compiled-away": "compiled_away"}

# Whole programs, and the kinds of findings about host code that they show.
PROGRAMS = {
    "host": {"bad-free", "copy-bounds", "copy-direction", "copy-size", "double-free", "host-pointer",
             "uncovered-elements", "unsynchronised", "use-after-free"},
    "leak": {"leak"},
    "objects": {"bad-texture", "freed-memory", "outside-surface"},
    "unasked": {"unchecked-error"},
}
ALL = [*KERNELS, *NOTES, *PROGRAMS]
NVCC = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")

SCHEMAS = {
    "sarif-schema-2.1.0.json": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/"
                               "sarif-schema-2.1.0.json",
    "JUnit.xsd": "https://raw.githubusercontent.com/windyroad/JUnit-Schema/master/JUnit.xsd",
}


def command(folder, *words, code=1):
    done = subprocess.run([os.path.abspath(PROGRAM), "check", *words], cwd=folder, text=True,
                          capture_output=True, timeout=120,
                          env=dict(os.environ, SOURCE_DATE_EPOCH="0"))
    assert done.returncode == code, done.stderr
    return re.sub("0x[0-9a-f]{9,}", "0xADDRESS", done.stdout)  # the host's differ from run to run


def check(folder, form):
    options = folder / "options.txt"
    extra = options.read_text().split() if options.exists() else []
    return command(folder, "faulty.cu", "--launch", "launch.json", "--format", form, *extra)


def outputs(name):
    if name in PROGRAMS:
        return {form: command(HERE / "formats", f"{name}.cu", "--format", form)
                for form in FORMATS}
    if name in NOTES:
        return {form: command(HERE / "formats", f"{NOTES[name]}.cu", "--launch",
                              f"{NOTES[name]}.json", "--format", form, code=0)
                for form in FORMATS}
    return {form: check(HERE / KERNELS[name], form) for form in FORMATS}


def golden(texts):
    return "".join(f"--- {form}\n{text}" for form, text in texts.items())


def schema(name):
    """The path of a published schema, or None and the reason."""
    given = os.environ.get("TILESCOPE_SCHEMAS")
    if given:
        return pathlib.Path(given) / name
    kept = pathlib.Path(tempfile.gettempdir()) / f"tilescope-tests-{os.getuid()}" / name
    if not kept.exists():
        with urllib.request.urlopen(SCHEMAS[name], timeout=5) as answer:
            text = answer.read()
        kept.parent.mkdir(mode=0o700, exist_ok=True)
        kept.write_bytes(text)
    return kept


class Formats(unittest.TestCase):
    maxDiff = None

    def test_every_kind_of_a_kernel_is_here(self):
        seen = set()
        for path in HERE.glob("*/expected.txt"):
            seen |= set(re.findall(r"^(?:error|warning|note): ([a-z-]+)", path.read_text(), re.M))
        self.assertEqual(seen, set(KERNELS))

    def test_every_kind_has_its_outputs(self):
        text = (HERE.parent.parent / "src" / "report" / "words" / "finding_words.cpp").read_text()
        kinds = set(re.findall(r'Row\{K::\w+,\s*"([a-z-]+)"', text))
        self.assertGreater(len(kinds), 50)
        self.assertEqual(kinds, set(KERNELS) | set(NOTES) | set().union(*PROGRAMS.values()))

    @unittest.skipUnless(NVCC, "nvcc is not installed")
    def test_programs_are_as_expected(self):
        for name, kinds in PROGRAMS.items():
            with self.subTest(name):
                expected = (HERE / "formats" / f"{name}.txt").read_text()
                self.assertEqual(golden(outputs(name)), expected)
                gcc = expected.split("--- github\n")[0]
                self.assertEqual(set(re.findall(r"\[([a-z-]+)\]$", gcc, re.M)), kinds)

    def test_outputs_are_as_expected(self):
        for kind in [*KERNELS, *NOTES]:
            with self.subTest(kind):
                expected = (HERE / "formats" / f"{kind}.txt").read_text()
                self.assertEqual(golden(outputs(kind)), expected)
                self.assertIn(f"[{kind}]", expected)


class Names(unittest.TestCase):
    """A file whose name has signs that mean something in each of the formats."""

    NAME = "a\"b'c<d>&e %f,g.cu"

    def test_stand_in_every_format_as_they_are(self):
        source = HERE / "global_no_guard" / "faulty.cu"
        with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
            shutil.copy(source, os.path.join(folder, self.NAME))
            shutil.copy(source.with_name("launch.json"), folder)
            words = (self.NAME, "--launch", "launch.json")
            self.assertIn(f" at {self.NAME}:", command(folder, *words))
            gcc = command(folder, *words, "--format", "gcc")
            self.assertTrue(gcc.startswith(self.NAME + ":"), gcc)
            github = command(folder, *words, "--format", "github")
            self.assertIn("file=a\"b'c<d>&e %25f%2Cg.cu,line=", github)
            sarif = json.loads(command(folder, *words, "--format", "sarif"))
            result = sarif["runs"][0]["results"][0]
            place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            self.assertEqual(urllib.parse.unquote(place), self.NAME)
            self.assertRegex(place, r"^[\w.%'&,()-]*$")
            junit = xml.etree.ElementTree.fromstring(command(folder, *words, "--format", "junit"))
            self.assertIn(self.NAME, "".join(junit.itertext()))
            command(folder, *words, "--html", "page.html", "--json", "report.json")
            report = json.loads(pathlib.Path(folder, "report.json").read_text())
            self.assertEqual(report["reports"][0]["file"], self.NAME)
            page = pathlib.Path(folder, "page.html").read_text()
            self.assertNotIn(self.NAME, page)
            self.assertIn(self.NAME, html.unescape(page))

    def test_the_compiler_names_it_too(self):
        with tempfile.TemporaryDirectory(prefix="tilescope.") as folder:
            pathlib.Path(folder, 'a"b.cu').write_text("__global__ void k(int* x) { x[0] = y; }\n")
            done = subprocess.run([os.path.abspath(PROGRAM), "check", 'a"b.cu', "--grid", "1",
                                   "--block", "1", "--arg", "i32[1]=zeros"], cwd=folder, text=True,
                                  capture_output=True, timeout=120)
            self.assertEqual(done.returncode, 4)
            self.assertIn('a"b.cu(1): error: identifier "y" is undefined', done.stderr)


class Schemas(unittest.TestCase):
    """The expected outputs, which the other test compares with the real ones."""

    def each(self, form):
        for kind in ALL:
            text = (HERE / "formats" / f"{kind}.txt").read_text()
            part = re.search(rf"^--- {form}\n(.*?)(?=^--- |\Z)", text, re.S | re.M)
            with self.subTest(kind):
                yield part[1]

    def validator(self, module, name):
        try:
            found = importlib.import_module(module)
        except ImportError:
            self.skipTest(f"Python has no {module}")
        try:
            return found, schema(name)
        except OSError as error:
            self.skipTest(f"{name} cannot be had: {error}")

    def test_sarif_is_valid(self):
        jsonschema, path = self.validator("jsonschema", "sarif-schema-2.1.0.json")
        rules = jsonschema.Draft7Validator(json.loads(path.read_text()))
        for text in self.each("sarif"):
            self.assertEqual([error.message for error in rules.iter_errors(json.loads(text))], [])
        self.assertFalse(rules.is_valid({"version": "2.1.0", "runs": [{}]}))

    def test_junit_is_valid(self):
        xmlschema, path = self.validator("xmlschema", "JUnit.xsd")
        rules = xmlschema.XMLSchema(str(path))
        for text in self.each("junit"):
            self.assertEqual([error.reason for error in rules.iter_errors(text)], [])
        self.assertFalse(rules.is_valid("<testsuites><testsuite/></testsuites>"))

    def test_a_race_is_one_result_with_two_places(self):
        text = (HERE / "formats" / "race.txt").read_text()
        sarif = json.loads(text.split("--- sarif\n")[1].split("--- junit\n")[0])
        result, = sarif["runs"][0]["results"]
        lines = [place["physicalLocation"]["region"]["startLine"]
                 for place in result["relatedLocations"]]
        self.assertEqual(lines, [5, 6])


class Fingerprints(unittest.TestCase):
    def print_of(self, source):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "faulty.cu").write_text(source)
            (pathlib.Path(folder) / "launch.json").write_text(
                (HERE / "race_within_warp" / "launch.json").read_text())
            result, = json.loads(check(pathlib.Path(folder), "sarif"))["runs"][0]["results"]
        return result["partialFingerprints"]

    def test_they_survive_other_lines_and_no_other_change(self):
        source = (HERE / "race_within_warp" / "faulty.cu").read_text()
        self.assertEqual(self.print_of(source), self.print_of("// One more line.\n\n" + source))
        self.assertNotEqual(self.print_of(source), self.print_of(source.replace("+ 1", "+ 2")))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--update"]:
        (HERE / "formats").mkdir(exist_ok=True)
        for each in ALL:
            (HERE / "formats" / f"{each}.txt").write_text(golden(outputs(each)))
    else:
        unittest.main()
