"""The house rules that a compiler does not check: which room may include which, how long a file may
get, how many files a new rung takes, and that nothing in the tree names a private machine."""

import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# From the bottom up; rooms on one line do not know each other. docs/architecture.md explains.
FLOORS = [
    ["base"],
    ["expression", "io"],
    ["gpu"],
    ["ptx", "compile"],
    ["emulator"],
    ["observe"],
    ["device"],
    ["operations"],
    ["transfer"],
    ["distribute"],
    ["measure", "inspect", "ranks"],
    ["tuning"],
    ["report", "cudart"],
    ["capi", "cli"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
LONGEST_FILE = 450
LONGEST_FUNCTION = 80
OWN_SOURCES = ("src", "plugins", "python", "include", "kernels", "tests", "cmake", "tools",
               "examples", "bench")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def files(folder, endings):
    """Paths below `folder`, relative to the root, sorted."""
    found = []
    for where, _, names in os.walk(os.path.join(ROOT, folder)):
        found += [os.path.relpath(os.path.join(where, name), ROOT) for name in names
                  if name.endswith(endings)]
    return sorted(found)


def upward(path, text):
    """The #includes of a source file in src/ that point up or sideways."""
    room = path.split("/")[1]
    wrong = []
    for target in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
        other = target.split("/")[0]
        if other == "tilescope" or other == room:
            continue
        if other not in FLOOR_OF:
            wrong.append(f"{path}: {target} is in no room")
        elif FLOOR_OF[other] >= FLOOR_OF[room]:
            wrong.append(f"{path}: {room} may not include {target}")
    return wrong


class Layers(unittest.TestCase):
    def test_every_room_has_a_floor(self):
        rooms = [name for name in os.listdir(os.path.join(ROOT, "src"))
                 if os.path.isdir(os.path.join(ROOT, "src", name))]
        self.assertEqual(sorted(rooms), sorted(FLOOR_OF))

    def test_arrows_point_down(self):
        wrong = []
        for path in files("src", (".hpp", ".cpp")):
            wrong += upward(path, read(path))
        self.assertEqual(wrong, [])

    def test_the_public_interface_stands_alone(self):
        for path in files("include", ".hpp"):
            for target in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', read(path), re.M):
                self.assertTrue("/" not in target and "." not in target
                                or target.startswith("tilescope/"), f"{path} includes {target}")

    def test_the_check_finds_what_it_is_for(self):
        self.assertEqual(upward("src/ptx/a.cpp", '#include "base/b.hpp"\n#include "ptx/c.hpp"\n'
                                                 '#include <tilescope/error.hpp>\n'), [])
        self.assertEqual(upward("src/ptx/a.cpp", ' # include "device/b.hpp"\n'),
                         ["src/ptx/a.cpp: ptx may not include device/b.hpp"])
        self.assertEqual(upward("src/ptx/a.cpp", '#include "compile/b.hpp"'),
                         ["src/ptx/a.cpp: ptx may not include compile/b.hpp"])
        self.assertEqual(upward("src/emulator/a.cpp", '#include "nowhere/b.hpp"'),
                         ["src/emulator/a.cpp: nowhere/b.hpp is in no room"])


def circles(includes):
    """The sets of nodes that reach each other; `includes` maps each node to those it includes."""
    def reached(start):
        found, ahead = set(), [start]
        while ahead:
            for node in includes.get(ahead.pop(), ()):
                if node not in found:
                    found.add(node)
                    ahead.append(node)
        return found

    reach = {node: reached(node) for node in includes}
    return {tuple(sorted(other for other in reach[node] if node in reach.get(other, ())))
            for node in includes if node in reach[node]}


def inclusions(node_of, texts):
    """For each node the nodes that its files include; `texts` maps paths below src/ to text."""
    includes = {}
    for path, text in texts.items():
        node = node_of(path)
        includes.setdefault(node, set())
        for target in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
            if target in texts and node_of(target) != node:
                includes[node].add(node_of(target))
    return includes


def without_literals(text):
    """C++ without comments, strings and preprocessor lines; the rest stays on its line."""
    literal = re.compile(
        r"^ *#(?:[^\n]*\\\n)*[^\n]*|//[^\n]*|/\*.*?\*/|"
        r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
        r"'(?:\\.|[^'\\\n])+'", re.S | re.M)
    return literal.sub(lambda match: "\n" * match[0].count("\n"), text)


def long_functions(text):
    """First line and length of each function longer than LONGEST_FUNCTION lines."""
    found, open_braces, head = [], [], ""
    not_functions = re.compile(r"\s*(namespace|struct|class|enum|union|extern|do|else|try)\b|"
                               r"\s*(if|for|while|switch|catch)\s*(constexpr)?\s*\(|[^(]*=|[^(]*$")
    line = 1
    for token in re.findall(r"[{};\n]|[^{};\n]+", without_literals(text)):
        if token == "{":
            open_braces.append((line, not not_functions.match(head)))
        elif token == "}" and open_braces:
            first, is_function = open_braces.pop()
            if is_function and line - first + 1 > LONGEST_FUNCTION:
                found.append((first, line - first + 1))
        line += token == "\n"
        head = "" if token in "{};" else head + token
    return found


class Circles(unittest.TestCase):
    """Arrows run one way between the folders inside a room too, and between its files."""

    def texts(self):
        return {path[len("src/"):]: read(path) for path in files("src", (".hpp", ".cpp"))}

    def test_no_folders_include_each_other(self):
        self.assertEqual(circles(inclusions(os.path.dirname, self.texts())), set())

    def test_no_files_include_each_other(self):
        self.assertEqual(circles(inclusions(lambda path: path[:-4], self.texts())), set())

    def test_file_names_are_unique(self):
        folders = {}
        for path in self.texts():
            folders.setdefault(os.path.basename(path)[:-4], set()).add(os.path.dirname(path))
        self.assertEqual({name: where for name, where in folders.items() if len(where) > 1}, {})

    def test_the_check_finds_what_it_is_for(self):
        texts = {"a/x.hpp": "", "a/x.cpp": '#include "b/y.hpp"', "b/y.hpp": '#include "c/z.hpp"',
                 "b/y.cpp": "", "c/z.hpp": "", "c/z.cpp": '#include "a/x.hpp"'}
        self.assertEqual(circles(inclusions(os.path.dirname, texts)), {("a", "b", "c")})
        self.assertEqual(circles(inclusions(lambda path: path[:-4], texts)),
                         {("a/x", "b/y", "c/z")})
        del texts["c/z.cpp"]
        self.assertEqual(circles(inclusions(os.path.dirname, texts)), set())


class Opcodes(unittest.TestCase):
    """An instruction is one row of the list and one function: nobody else keeps a list of them."""

    # Their code differs from one operation to the next: lane kernels, and what is known of addresses.
    NAMED_IN = ("src/emulator/lanes/", "src/emulator/compiled/translator.cpp",
                "src/observe/address_values.cpp",
                "src/emulator/instructions/decode_move.cpp")

    def rows(self):
        """(enumerator, spelling, decoder) of each."""
        return re.findall(r'^OPCODE\((\w+), "([^"]+)", "[^"]*",\s+(\w+),', read("src/ptx/opcodes.def"),
                          re.M)

    def test_the_list_is_read_right(self):
        rows = self.rows()
        self.assertEqual(len(rows), read("src/ptx/opcodes.def").count("\nOPCODE("))
        self.assertIn(("and_", "and", "logic"), rows)
        self.assertEqual(len({spelling for _, spelling, _ in rows}), len(rows))

    def test_a_row_has_one_decoder(self):
        texts = [read(path) for path in files("src/emulator", ".cpp")]
        for decoder in {decoder for _, _, decoder in self.rows()}:
            defined = re.compile(rf"^(bool decode_{decoder}\(|TILESCOPE_VIDEO\({decoder},)", re.M)
            found = sum(len(defined.findall(text)) for text in texts)
            self.assertEqual(found, 1, f"decode_{decoder}")

    def test_facts_stand_in_the_row(self):
        for path in files("src", (".hpp", ".cpp")):
            if not path.startswith(self.NAMED_IN):
                named = set(re.findall(r"\bOpcode::(\w+)", read(path))) - {"unknown", "count_"}
                self.assertEqual(named, set(), f"{path} names operations")


class Files(unittest.TestCase):
    def test_none_is_too_long(self):
        for folder in OWN_SOURCES:
            for path in files(folder, (".hpp", ".cpp", ".cu", ".cuh", ".py", ".cmake", ".sh")):
                with self.subTest(path=path):
                    self.assertLessEqual(read(path).count("\n"), LONGEST_FILE)

    def test_no_function_is_too_long(self):
        for folder in ("src", "include", "tests", "bench", "examples"):
            for path in files(folder, (".hpp", ".cpp")):
                with self.subTest(path=path):
                    self.assertEqual(long_functions(read(path)), [])

    def test_the_check_of_lengths_finds_what_it_is_for(self):
        body = "  x();\n" * (LONGEST_FUNCTION - 2)
        short = "void f(\n    int x) {\n" + body + "}\n"
        self.assertEqual(long_functions(short), [])
        self.assertEqual(long_functions(short.replace(body, body + "  x();\n")),
                         [(2, LONGEST_FUNCTION + 1)])
        self.assertEqual(long_functions("struct S {\n" + "  int x;\n" * 100 + "};\n"), [])

    def test_none_names_a_machine(self):
        # In pieces, so that this file passes.
        patterns = ["/" + "work/", "/" + "root/", "/" + "home/[a-z]", "py" + "env", "/opt/" + "wheels",
                    r"build-" + "pkg", "/tmp/" + "brief", "/tmp/" + "mine"]
        machine = re.compile("|".join(patterns))
        text_files = ["README.md", "Makefile", "CMakeLists.txt", "CMakePresets.json", ".ci/run"]
        for folder in OWN_SOURCES + ("docs",):
            text_files += [path for path in files(folder, "")
                           if not path.endswith((".npy", ".png", ".pyc"))]
        for path in text_files:
            if not os.path.exists(os.path.join(ROOT, path)):
                continue
            for number, line in enumerate(read(path).splitlines(), 1):
                self.assertIsNone(machine.search(line), f"{path}:{number}: {line[:100]}")


class Words(unittest.TestCase):
    """What observers gather is data; only report/ puts it into words."""

    @staticmethod
    def phrases(text):
        """String literals that have a blank in them; those of #include and comments aside."""
        code = re.sub(r"//.*|^\s*#\s*include.*", "", text, flags=re.M)
        return [literal for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code) if " " in literal]

    def test_observers_write_no_sentences(self):
        found = {path: phrases for path in files("src/observe", (".hpp", ".cpp"))
                 if (phrases := self.phrases(read(path)))}
        self.assertEqual(found, {})

    def test_the_check_finds_what_it_is_for(self):
        self.assertEqual(self.phrases('#include "a b.hpp"\n// "a comment"\nf("x", "cuda_");'), [])
        self.assertEqual(self.phrases('f.cure = "keep the operand in range";'),
                         ["keep the operand in range"])


class Rungs(unittest.TestCase):
    """One kernel file and one row of the table make a rung: nothing else knows its name."""

    TABLE = "src/operations/matmul/matmul_variants.cpp"

    def rungs(self):
        rows = re.findall(r'\{\.name = "(\w+)",(.*?)(?=\n    \{\.name|\n\};)', read(self.TABLE),
                          re.S)
        kernels = {}
        for name, row in rows:
            source = re.search(r'\.source = "([^"]+)"', row)
            if source:
                kernels[name] = source.group(1)
        return kernels

    def test_the_table_is_read_right(self):
        kernels = self.rungs()
        self.assertEqual(kernels["tiled"], "matmul/06_tiled.cu")
        on_disk = {path[len("kernels/"):] for path in files("kernels/matmul", ".cu")}
        self.assertEqual(set(kernels.values()), on_disk)

    def test_a_rung_takes_one_kernel_file_and_one_row(self):
        # Another operation may have a rung of the same name in its own table.
        sources = {path: re.sub(r"//.*", "", read(path)) for path in files("src", (".hpp", ".cpp")) +
                   files("cmake", "") + ["CMakeLists.txt"]
                   if not path.startswith("src/operations/") or "/matmul/" in path}
        for name, kernel in self.rungs().items():
            knows_file = [path for path, text in sources.items() if kernel in text]
            self.assertEqual(knows_file, [self.TABLE], f"files that know {kernel}")
            literal = re.compile(r'"' + name + r'(_\d+)?"')
            knows_name = [path for path, text in sources.items() if literal.search(text)]
            self.assertEqual(knows_name, [self.TABLE], f"files that know \"{name}\"")

    def test_every_kernel_opens_with_its_idea(self):
        for path in files("kernels/matmul", ".cu"):
            head = read(path).split("extern", 1)[0]
            self.assertTrue(head.startswith("// "), path)
            for part in ("// Idea: ", "// Changes: ", "// Counter: ", " Launch: "):
                self.assertIn(part, head, f"{path} lacks {part}")


if __name__ == "__main__":
    unittest.main()
